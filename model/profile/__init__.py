"""A team's statement of its layouts: a TOML file in its own code, which replaces recognition."""

from __future__ import annotations

import datetime as dt
import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from model.diff.comparison_rules import names_from_text
from model.errors import NotFound, Refused, Unreadable
from model.foundation.collection_profile import CollectionProfile, Watch
from model.foundation.input_files import LARGEST_PROFILE, whole_text
from model.foundation.toml_text import tables
from model.history.following import condition
from model.layouts.registry import LAYOUTS, NAMES, declared, fields_of, has_archive, stated
from model.profile.profile_keys import ROWS, ProfileKey, keys_of
from model.storage.composite_ids import name_of
from model.writers import row_keys
from model.writers.writers import preset

__all__ = ["CollectionProfile", "Profile", "duration", "stated"]

_SHORT = 64 << 10  # characters of a profile in which the line of a watch is looked for
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


_USUAL = {"archive_id": "docId", "version": "v", "hash": "_versioned_id", "numbering": "next"}


class Profile(Struct, frozen=True, dict=True):
    """The collections that a file states."""

    collections: tuple[CollectionProfile, ...] = ()
    file: FilePath | None = None
    """The full path of the file; None if it was not read from a file."""

    @classmethod
    def load(cls, path: str | FilePath) -> Profile:
        """Read a TOML file; raises ``Refused`` naming the file, the collection and the wrong key."""
        try:
            text = whole_text(path, LARGEST_PROFILE)
            data = tables(text)
        except FileNotFoundError:
            raise NotFound(f"There is no profile {path}; check the path.") from None
        except OSError as error:
            raise Refused(f"The profile {path} cannot be read: {error.strerror or error}.") from None
        except UnicodeDecodeError:
            raise Refused(f"The profile {path} is not UTF-8 text; save it as UTF-8.") from None
        except ValueError as error:  # for a number of thousands of digits, the error is not one of TOML's own
            raise Refused(f"The profile {path} is not valid TOML: {error}.") from None
        except RecursionError:
            raise Refused(
                f"The profile {path} is nested too deeply; no key of it needs more than two levels."
            ) from None
        return replace(cls.read(data, str(path), text), file=FilePath(os.path.realpath(path)))

    @classmethod
    def read(cls, data: Mapping[str, Any], name: str, text: str = "") -> Profile:
        """The profile in decoded TOML; messages call it ``name``, and tell the line of ``text`` with a bad filter."""
        unknown = sorted(set(data) - {"collection"})
        if unknown:
            raise Refused(f"{name}: there is no key {unknown[0]!r} here; collections are stated in [[collection]].")
        tables = data.get("collection", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise Refused(f"{name}: write [[collection]] with two brackets, once for each collection.")
        found = tuple(
            _collection(table, f"{name}, collection {number}", _lines(text, number - 1))
            for number, table in enumerate(tables, 1)
        )
        seen: set[str] = set()
        for each in found:
            if each.ns in seen:
                raise Refused(f"{name}: {each.ns} is stated twice; keep one of them.")
            seen.add(each.ns)
        return cls(found)

    def get(self, ns: str) -> CollectionProfile | None:
        """The file's statement on a collection; None if it has none."""
        return self._by_name.get(ns)

    @cached_property
    def _by_name(self) -> dict[str, CollectionProfile]:
        return {each.ns: each for each in reversed(self.collections)}


def as_stated(profile: CollectionProfile) -> CollectionProfile:
    """The part of a profile that a file can state: a hash recipe only if it is the only one that fits."""
    recipe = None if profile.hash_rivals else profile.hash_recipe
    return replace(profile, hash_recipe=recipe, hash_rivals=(), hash_doubt="", seals_author=False, token_doubt="")


def table(profile: CollectionProfile) -> dict[str, Any]:
    """A collection as its table in the file, without ``ns``; :meth:`Profile.read` reads it back.

    It includes the names that the layout uses by default, so that a reader need not know them.
    """
    default = stated(profile.ns, profile.layout)
    found: dict[str, Any] = {"layout": profile.layout, **fields_of(profile)}
    found.pop("guard", None)
    if profile.id_parts:
        found["id"] = list(profile.id_parts)
    for name in _TEXTS:
        if getattr(profile, name) != getattr(default, name) and not (name == "id" and profile.id_parts):
            found[name] = getattr(profile, name)
    if not (profile.token or profile.token_unsaid) and "token" in declared(profile.layout).roles:
        found["token"] = ""
    found |= _composed(profile, default)
    if not _is_written(profile.layout):
        used = {"layout", *(key.name for key in keys(profile.layout))}
        return {name: value for name, value in found.items() if name in used}
    # For another program's rows, the other keys are paths, which row_keys writes.
    kept: dict[str, Any] = {name: found[name] for name in ("layout", "id", "archive") if name in found}
    watched = {"watch": found["watch"]} if profile.watches else {}
    watched |= {"unordered": list(profile.unordered)} if profile.unordered else {}
    watched |= {"author_is": profile.author_is} if profile.author_is != default.author_is else {}
    return {**kept, **({"writer": profile.writer} if profile.writer else {}), **row_keys.table_of(profile), **watched}


def _composed(profile: CollectionProfile, default: CollectionProfile) -> dict[str, Any]:
    """The keys of a table whose values are spans, lists or tables."""
    found: dict[str, Any] = {}
    for way in ("include", "exclude"):
        if names := getattr(profile, f"hash_{way}"):
            found["hash_fields"] = {way: list(names)}
    if (recipe := as_stated(profile).hash_recipe) is not None:
        found["hash_recipe"] = recipe.table
    if profile.grace != default.grace:
        found["grace"] = span(profile.grace)
    if profile.keys != default.keys:
        # The first key is always _id, which a file does not state.
        found["keys"] = list(profile.keys[1:])
    if profile.unordered:
        found["unordered"] = list(profile.unordered)
    if profile.guard is not None and profile.guard.how:
        found["guard"] = {"field": profile.guard.field, "how": profile.guard.how}
    if profile.watches:
        found["watch"] = [{"name": each.name, "filter": each.filter} for each in profile.watches]
    if profile.targets:
        found["targets"] = {counter: f"{ns}:{name}" for counter, (ns, name) in profile.targets.items()}
    return found


def keys(layout: str) -> tuple[ProfileKey, ...]:
    """The keys that a layout or a pattern uses and that a profile can state."""
    return tuple(key for key in keys_of(layout) if _reader(key.name, layout) is not None)


def minimal(profile: CollectionProfile, told: Iterable[str] = ()) -> dict[str, Any]:
    """:func:`table` without keys that only repeat the layout's defaults, unless they are among ``told``."""
    default, found = whole(stated(profile.ns, profile.layout)), whole(profile)
    own = {name for name in found if found[name] != default.get(name)}
    if _is_written(profile.layout):  # its writer's preset has the defaults
        own = {name for name in table(profile) if name != "id" or name in own}
    wanted = {"layout", *told, *own}
    if "token" in declared(profile.layout).roles and not (profile.token or profile.token_unsaid):
        wanted.add("token")  # if left out, it would be looked for in the documents
    used = ("layout", *(key.name for key in keys(profile.layout)))
    return {name: found[name] for name in used if name in wanted and name in found}


def whole(profile: CollectionProfile) -> dict[str, Any]:
    """:func:`table` with all of the layout's defaults."""
    said = {name: getattr(profile, name) for name in _TEXTS}
    if _is_written(profile.layout):
        said |= {name: row_keys.in_toml(getattr(profile, name)) for name in (*row_keys.READERS, "writer")}
        said = {name: value for name, value in said.items() if value is not None}
    return {**said, "grace": span(profile.grace), **table(profile)}


def state(ns: str, entry: Mapping[str, Any]) -> CollectionProfile:
    """The profile of one collection from its table, without ``ns``; raises ``Refused`` as :meth:`Profile.read` does."""
    try:
        return _collection({**entry, "ns": ns}, "")
    except Refused as refusal:
        raise Refused(str(refusal).removeprefix(f" ({ns}): ")) from None


def trouble_with(key: str, value: Any, layout: str = "") -> str:
    """Why a key of a layout cannot have a value, in a few words such as "must not be empty"; "" if it can."""
    reader = _reader(key, layout)
    if reader is None:
        return "is not a key"
    try:
        reader(key, value)
    except ValueError as error:
        return str(error)
    return ""


class _BadFilter(ValueError):
    """A watch has a filter that cannot be read."""

    def __init__(self, number: int, said: str) -> None:
        super().__init__(said)
        self.number = number


def _lines(text: str, collection: int) -> Callable[[int], str]:
    """Finds the line with the filter of a collection's watch, as words such as ``, line 12``; "" without its text."""

    def line(watch: int) -> str:
        lines = text.splitlines() if len(text) <= _SHORT else []  # each beginning is parsed
        for end in range(1, len(lines) + 1):  # the shortest beginning of the file that has the filter
            try:
                stated = tomllib.loads("\n".join(lines[:end]))["collection"]
                if "filter" in stated[collection]["watch"][watch]:
                    return f", line {end}"
            except (tomllib.TOMLDecodeError, LookupError, TypeError):
                continue
        return ""

    return line


def _collection(table: Mapping[str, Any], where: str, line: Callable[[int], str] = lambda _: "") -> CollectionProfile:
    ns = table.get("ns")
    if not isinstance(ns, str) or not _is_namespace(ns):
        raise Refused(f"{where}: ns must name a collection as database.collection.")
    where = f"{where} ({ns})"
    told, table = tuple(table), _with_preset(table, ns, where)
    layout = table.get("layout", "plain")
    if not isinstance(layout, str) or layout not in NAMES:
        raise Refused(f"{where}: there is no layout {layout!r}; the layouts are {', '.join(NAMES)}.")
    fields: dict[str, Any] = {}
    for key, value in table.items():
        if key in ("ns", "layout"):
            continue
        reader = _reader(key, layout)
        if reader is None:
            raise Refused(f"{where}: {_unused(key, layout) if key in ROWS else _unknown(key, layout)}")
        try:
            read = reader(key, value)
        except _BadFilter as error:
            raise Refused(f"{where}{line(error.number)}: {error}.") from None
        except ValueError as error:
            raise Refused(f"{where}: {key} {error}.") from None
        why = _unused(key, layout) if key in told else ""
        if why and not _is_harmless(key, value, layout):
            raise Refused(f"{where}: {why}")
        fields |= {} if why else read
    profile = stated(ns, layout, **fields)
    profile = replace(profile, token_unsaid="token" not in table and "token" in declared(layout).roles)
    _check(profile, where)
    return profile


def _unknown(key: str, layout: str) -> str:
    """A sentence on an unknown key: the most similar one, else those of the layout."""
    near = difflib.get_close_matches(key, ["ns", "layout", *ROWS], 1, 0.6)
    if near:
        return f"there is no key {key!r}; the nearest is {near[0]}."
    return f"there is no key {key!r}; {layout} has {_names_of(layout)}."


def _unused(key: str, layout: str) -> str:
    """Why a key has no effect in a layout, one sentence; "" if it has one."""
    used = key in ("ns", "layout") or any(each.name == key for each in keys(layout))
    return "" if used else f"{key} does nothing in the layout {layout}; {layout} has {_names_of(layout)}."


def _is_harmless(key: str, value: Any, layout: str) -> bool:
    """Whether a key without effect has just its usual value, as in a table that lists all keys.

    A table for another program's history may keep its keys when it is used for another such layout.
    """
    if _is_written(layout):
        return key in row_keys.READERS
    usual = {**{name: name for name in ("current", "prev", "removed", "pending", "applied", "processed")}, **_USUAL}
    return bool(value == usual.get(key))


def _names_of(layout: str) -> str:
    return ", ".join(each.name for each in keys(layout))


def _with_preset(table: Mapping[str, Any], ns: str, where: str) -> Mapping[str, Any]:
    """The table, completed by the preset of its writer if it names one; its own keys win."""
    writer = table.get("writer")
    if writer is None or writer == "":  # the window states "none of those"
        return table
    if not isinstance(writer, str):
        raise Refused(f"{where}: writer must be the name of a program in quotes.")
    try:
        known = row_keys.known_keys(writer, ns)
    except Refused as error:
        raise Refused(f"{where}: {error}") from None
    # Other programs' rows have none of the usual names, unless the preset or the table says so.
    made = {"version": "", "hash": "", "token": ""} | known | dict(table)
    if "where" in preset(writer).keys and "where" not in made:
        path = next(iter(preset(writer).keys["where"]))
        raise Refused(f'{where}: {writer} keeps several collections in one; say which by where = {{ "{path}" = "…" }}.')
    return made


def _is_written(layout: str) -> bool:
    """Whether another program writes the rows of a layout, so that its keys are paths in them."""
    kind = LAYOUTS.get(layout)
    return kind is not None and kind.written_by_others


def _reader(key: str, layout: str) -> Callable[[str, Any], dict[str, Any]] | None:
    """The function that reads a key in this layout; None if there is no such key."""
    return (row_keys.READERS.get(key) if _is_written(layout) else None) or _READERS.get(key)


def _check(profile: CollectionProfile, where: str) -> None:
    if has_archive(profile.layout) and profile.archive == profile.ns and not profile.elements:
        raise Refused(f"{where}: archive must be another collection than ns.")
    kind = declared(profile.layout)
    _check_paths(profile, where)
    covers_id = profile.hash_recipe is not None and profile.hash_recipe.id
    if covers_id and not ("hash" in kind.roles and profile.id == "_id"):
        raise Refused(f"{where}: a hash_recipe covers _id only in the layout hashed, where the id is _id.")
    if profile.edit == "both" and not profile.row:
        raise Refused(f'{where}: edit = "both" needs row, the fields of the row that an edit writes.')
    if profile.id_parts and not kind.own_documents:
        such = ", ".join(name for name, layout in LAYOUTS.items() if layout.own_documents)
        raise Refused(f"{where}: id may list several fields only where versions are documents ({such}); name one.")
    _check_names(profile, where)


def _check_paths(profile: CollectionProfile, where: str) -> None:
    """Refuse paths into sub-documents where no layout reads them."""
    kind = declared(profile.layout)
    if profile.version.startswith("_id.") and not (kind.keyed_in_id or _is_written(profile.layout)):
        raise Refused(f"{where}: version may stand inside of _id only where the layout is versions.")
    if "." in profile.id and not (kind.about_others or (kind.keyed_in_id and profile.key_in_id)):
        such = ", ".join(name for name, layout in LAYOUTS.items() if layout.about_others)
        raise Refused(f"{where}: id may be a path into sub-documents in a {such} alone; name a field at the top.")


def _check_names(profile: CollectionProfile, where: str) -> None:
    """Refuse a field that two keys name, unless they look for it in different places."""
    elsewhere = ["archive", "archive_id", *declared(profile.layout).inside]
    if _is_written(profile.layout):  # a program may use the version's number as its lock
        elsewhere.append("guard")
    names = [(role, name) for role, name in fields_of(profile).items() if role not in elsewhere]
    if profile.deleted and any(key.name == "deleted" for key in keys_of(profile.layout)):
        names.append(("deleted", profile.deleted))
    seen: dict[str, str] = {}
    names += [("id", part) for part in profile.id_parts]
    for role, name in names:
        if name in seen:
            raise Refused(f"{where}: {role} and {seen[name]} cannot both be {name!r}.")
        seen[name] = role


def _is_namespace(ns: str) -> bool:
    db, _, collection = ns.partition(".")
    return bool(db and collection)


def _name(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, str):
        raise ValueError("must be a field's name in quotes")
    if not value:
        if key in ("token", "removed", "deleted", "at", "author", "reason", "hash"):
            return {key: ""}
        raise ValueError("must not be empty")
    if key == "version" and value.startswith("_id."):
        return {key: "_id." + _name("part", value.removeprefix("_id."))["part"]}
    if "." in value or value.startswith("$") or "\x00" in value:
        raise ValueError(f"must be the name of a field at the top, without dots or dollars, not {value!r}")
    if value == "_id" and key not in ("id", "archive_id"):
        raise ValueError("cannot be _id")
    return {key: value}


def _path(key: str, value: Any) -> dict[str, Any]:
    """A field's name, or a path to one inside sub-documents."""
    if not isinstance(value, str) or "." not in value:
        return _name(key, value)
    for name in value.split("."):
        _name(key, name)
    return {key: value}


def _id(key: str, value: Any) -> dict[str, Any]:
    """A field's name, or a list of the paths that make up an id."""
    if not isinstance(value, list):
        return _path(key, value)
    for part in value:
        _path("part", part)
    if len(value) < 2 or len(set(value)) < len(value):
        raise ValueError('must be one name, or list several different ones, as in ["tenant", "number"]')
    return {key: name_of(value), "id_parts": tuple(value)}


def _namespace(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, str) or not _is_namespace(value):
        raise ValueError("must name a collection as database.collection")
    return {key: value}


def _duration(key: str, value: Any) -> dict[str, Any]:
    return {key: duration(value)}


def duration(value: Any) -> dt.timedelta:
    """The span of a text such as ``24h``, ``90m`` or ``7d``; raises ``ValueError`` saying how to write it."""
    found = re.fullmatch(r"\s*(\d+)\s*([smhd])\s*", value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"must be a number with s, m, h or d, such as 24h, not {value!r}")
    try:
        return dt.timedelta(**{_UNITS[found[2]]: int(found[1])})
    except OverflowError:
        raise ValueError(f"is too long: {value}") from None


def span(value: dt.timedelta) -> str:
    """A span as :func:`duration` reads it, in the largest unit that is exact."""
    seconds = int(value.total_seconds())
    whole = {unit: seconds // size for unit, size in _SECONDS.items() if seconds % size == 0}
    unit = next(iter(whole))
    return f"{whole[unit]}{unit}"


def _numbering(key: str, value: Any) -> dict[str, Any]:
    if value in ("next", "loop", "time") or (
        isinstance(value, str) and value.startswith("counter:") and _is_namespace(value.removeprefix("counter:"))
    ):
        return {key: value}
    raise ValueError(f'must be "next", "loop", "time" or "counter:database.collection", not {value!r}')


def _author_is(key: str, value: Any) -> dict[str, Any]:
    if value in ("login", "asked") or (
        isinstance(value, str) and value.removeprefix("name:").strip() not in ("", value)
    ):
        return {key: value}
    raise ValueError(f'must be "login", "asked" or "name:" with a name, as in "name:Import", not {value!r}')


def _after_gap(key: str, value: Any) -> dict[str, Any]:
    if value in ("", "whole"):
        return {key: value}
    raise ValueError(f'must be "whole", or "" if such a version holds only changes, not {value!r}')


def _hash_fields(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in ("include", "exclude"):
        raise ValueError('must be { include = ["…"] } or { exclude = ["…"] }')
    way, names = next(iter(value.items()))
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"{way} must list the names of fields in quotes")
    return {f"hash_{way}": tuple(names)}


def _keys(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name and "\x00" not in name for name in value):
        raise ValueError('must list the names of fields in quotes, as in ["sku"]')
    return {key: tuple(dict.fromkeys(("_id", *value)))}


def _unordered(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, list) or not all(isinstance(path, str) for path in value):
        raise ValueError('must list paths of arrays in quotes, as in ["tags", "riders.codes"]')
    for path in value:
        try:
            if not names_from_text(path):
                raise ValueError(f"must name fields, not {path!r}")
        except Unreadable as error:
            raise ValueError(f"has a path that cannot be read: {str(error).rstrip('.')}") from None
    return {key: tuple(value)}


def _watch(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, list) or not all(
        isinstance(each, dict)
        and set(each) == {"name", "filter"}
        and all(isinstance(said, str) and said.strip() for said in each.values())
        for each in value
    ):
        raise ValueError("must be stated in [[collection.watch]], each with a name and a filter in quotes")
    watches = tuple(Watch(each["name"].strip(), each["filter"]) for each in value)
    seen: set[str] = set()
    for number, each in enumerate(watches):
        if each.name in seen:
            raise ValueError(f'has "{each.name}" twice; give each condition its own name')
        seen.add(each.name)
        try:
            condition(each.filter)
        except (Refused, Unreadable) as error:
            raise _BadFilter(number, f'watch "{each.name}": {str(error).rstrip(".")}') from None
    return {"watches": watches}


def _targets(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError('must be written { counter = "database.collection:field" }')
    targets = {}
    for counter, target in value.items():
        ns, _, name = target.rpartition(":") if isinstance(target, str) else ("", "", "")
        if not (_is_namespace(ns) and name):
            raise ValueError(f"{counter!r} must be a text such as shop.invoices:number")
        targets[counter] = (ns, name)
    return {key: targets}


_NAMES = (
    "archive_id", "id", "version", "token", "current", "prev", "removed", "deleted", "hash", "at", "author", "reason",
)  # fmt: skip
_TEXTS = (*_NAMES, "archive", "counter", "pending", "applied", "processed", "numbering", "author_is", "after_gap")
"""Keys whose value stands in a file as it stands in a profile."""
_READERS: dict[str, Callable[[str, Any], dict[str, Any]]] = {
    **dict.fromkeys((*_NAMES, "processed"), _name),
    **dict.fromkeys(("counter", "pending", "applied"), _path),
    "id": _id,
    "archive": _namespace,
    "hash_fields": _hash_fields,
    "hash_recipe": row_keys.READERS["hash_recipe"],
    "numbering": _numbering,
    "after_gap": _after_gap,
    "author_is": _author_is,
    "grace": _duration,
    "targets": _targets,
    "guard": row_keys.READERS["guard"],
    "keys": _keys,
    "unordered": _unordered,
    "watch": _watch,
    "writer": lambda key, value: {key: value},
}
