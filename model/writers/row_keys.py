"""The profile keys that say how another program's rows are read: checks them and converts them to profile fields.

Profiles and the presets of :mod:`.writers` use the same keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from model.foundation.collection_profile import CollectionProfile, LockField, Operation
from model.foundation.hash_recipe import HashRecipe
from model.patches import FORMS
from model.writers.row_template import read_template
from model.writers.writers import preset

PATHS = ("archive_id", "version", "order", "at", "author", "reason", "content", "elements", "parts", "changes")
"""The keys that are paths into rows; "" if there is none."""


def fields_of_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
    """The profile fields for some keys of :data:`READERS`; raises ``ValueError`` with the key and what it allows."""
    found: dict[str, Any] = {}
    for key, value in keys.items():
        if key == "layout":
            continue
        try:
            found |= (READERS.get(key) or _path)(key, value)  # a preset may also say the field with the id
        except ValueError as error:
            raise ValueError(f"{key} {error}") from None
    return found


def profile_of(writer: str, ns: str, archive: str, where: Mapping[str, str] | None = None) -> CollectionProfile:
    """The profile of a collection whose history a known program writes into ``archive``."""
    known = preset(writer)
    fields = {"version": "", "at": "", "hash": "", "token": ""} | fields_of_keys(known.keys)
    fields["where"] = dict(where or {})
    return CollectionProfile(ns, known.keys["layout"], archive, writer=writer, **fields)


def known_keys(writer: str, ns: str) -> dict[str, Any]:
    """The profile keys of a preset for a collection; raises ``Refused`` for an unknown program.

    ``where`` is omitted if only the data can tell which rows belong to the collection.
    """
    known = preset(writer)
    db, _, name = ns.partition(".")
    found = {"archive": f"{db}." + known.archive.replace("{name}", name), **known.keys}
    if "*" in known.keys.get("where", {}).values():
        del found["where"]
    return found


def table_of(profile: CollectionProfile) -> dict[str, Any]:
    """The keys of :data:`READERS` in which a profile differs from its preset, or without one from the defaults."""
    default = profile_of(profile.writer, profile.ns, "") if profile.writer else _PLAIN
    found: dict[str, Any] = {}
    for name in READERS:
        value = getattr(profile, name)
        if value != getattr(default, name):
            found[name] = in_toml(value)
    return found


def in_toml(value: Any) -> Any:
    """A profile field in the form of its TOML key."""
    if isinstance(value, Operation):
        return {"field": value.field, "insert": list(value.insert), "remove": list(value.remove)}
    if isinstance(value, LockField):
        return {"field": value.field, "how": value.how}
    if isinstance(value, HashRecipe):
        return value.table
    return list(value) if isinstance(value, tuple) else value


def _path(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, str) or "\x00" in value or any(not step for step in value.split(".") if value):
        raise ValueError(f'must be a path such as "d._id", not {value!r}')
    return {key: value}


def _words(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(said, str) for said in value.values()):
        raise ValueError('must be written { path = "text" }')
    return {key: dict(value)}


def _one_of(*allowed: str) -> Callable[[str, Any], dict[str, Any]]:
    def read(key: str, value: Any) -> dict[str, Any]:
        if value not in allowed:
            raise ValueError(f"must be {', '.join(map(repr, allowed[:-1]))} or {allowed[-1]!r}, not {value!r}")
        return {key: value}

    return read


def _template(key: str, value: Any) -> dict[str, Any]:
    return {key: read_template(value)}


def _guard(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) != {"field", "how"} or value["how"] not in _HOW:
        ways = ", ".join(f'"{how}"' for how in _HOW[:-1]) + f' or "{_HOW[-1]}"'
        raise ValueError(f'must be {{ field = "…", how = … }}, where how is {ways}')
    name = value["field"]
    steps = name.split(".") if isinstance(name, str) else [""]
    if any(not step or step.startswith("$") for step in steps) or steps[0] == "_id":
        raise ValueError(f"must name a field by its path, without dollars, not {name!r}")
    return {key: LockField(name, value["how"])}


def _hash_recipe(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError('must be written { algorithm = "sha1", over = "bson", keys = "stored", encoding = "hex" }')
    return {key: HashRecipe.read(value)}


_HOW = ("inc", "uuid", "time", "closed", "none")


def _operation(key: str, value: Any) -> dict[str, Any]:
    if (
        not isinstance(value, dict)
        or not isinstance(value.get("field"), str)
        or set(value)
        - {
            "field",
            "insert",
            "remove",
        }
    ):
        raise ValueError('must be written { field = "o", insert = "i", remove = "r" }')
    said = {}
    for name in ("insert", "remove"):
        words = value.get(name, [])
        words = [words] if isinstance(words, str) else words
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError(f"{name} must be a text or a list of texts")
        said[name] = tuple(words)
    return {key: Operation(value["field"], said["insert"], said["remove"])}


def _names(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise ValueError('must list the names of fields in quotes, as in ["__v"]')
    return {key: tuple(value)}


READERS: dict[str, Callable[[str, Any], dict[str, Any]]] = {
    **dict.fromkeys(PATHS, _path),
    "where": _words,
    "current_where": _words,
    "operation": _operation,
    "ignored": _names,
    "kept": _one_of("all", "earlier"),
    "direction": _one_of("forward", "backward", "onward"),
    "patch": _one_of("", *FORMS),
    "notation": _one_of("", "json"),
    "edit": _one_of("no", "current", "both"),
    "guard": _guard,
    "hash_recipe": _hash_recipe,
    **dict.fromkeys(("row", "holder", "renewed"), _template),
}

_PLAIN = CollectionProfile("")
