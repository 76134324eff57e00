"""How two collections are set up differently: their indexes, validators and other options, a sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from model import text
from model.browsing.indexes_in_use import keys_text
from model.errors import Refused, Unreachable
from model.server.port import Port, bson_of
from model.text.display import cut
from model.text.names import split
from model.values import canonical as c
from model.values.canonical import Value

NO_TRAITS = "plain"
LONGEST = 200  # characters of a side in a sentence
_SAME = frozenset(["v", "key", "name", "ns", "background", "textIndexVersion", "2dsphereIndexVersion"])
"""What says nothing of how an index works, or is its own part of a sentence."""
_DEFAULTS: Mapping[str, object] = {"validationLevel": "strict", "validationAction": "error", "validator": {}}
_IGNORED = frozenset(["uuid", "idIndex", "autoIndexId", "flags"])


class SetupDifference(Struct, frozen=True):
    """One index or option; a side is None if it does not have it."""

    what: Literal["index", "option"]
    name: str  # the keys of an index as typed, or the name of the option
    here: str | None
    there: str | None

    @property
    def said(self) -> str:
        """It as one sentence."""
        if self.what == "option":
            return f"Option {self.name}: {_short(self.here)} here, {_short(self.there)} there."
        name = self.name
        traits = self.here if self.here is not None else self.there
        traits = "" if traits == NO_TRAITS else f", {_short(traits)}"
        if self.there is None:
            return f"Index {name}{traits} is only here."
        if self.here is None:
            return f"Index {name}{traits} is only there."
        return f"Index {self.name}: {_short(self.here)} here, {_short(self.there)} there."


class SetUp(Struct, frozen=True):
    """The indexes of a collection with their traits, by keys; and its options."""

    indexes: tuple[tuple[str, str], ...] = ()
    options: Mapping[str, str] = {}

    @property
    def is_bare(self) -> bool:
        """Whether it has nothing but the index on ``_id``."""
        return len(self.indexes) < 2 and not self.options


def set_up(port: Port, ns: str) -> SetUp:
    """How a collection is set up; raises ``Refused`` if that may not be seen."""
    indexes = sorted((keys_text(spec.get("key", {})), _traits(spec)) for spec in port.indexes(ns))
    db, name = split(ns)
    found = next(((kind, options) for each, kind, options in port.collections(db) if each == name), ("", {}))
    kind, options = found
    told = {
        each: _text(value)
        for each, value in options.items()
        if each not in _IGNORED and value != _DEFAULTS.get(each) and value is not False
    }
    return SetUp(tuple(indexes), told | ({"type": kind} if kind not in ("", "collection") else {}))


def differences(here: SetUp, there: SetUp) -> Iterator[SetupDifference]:
    """What only one of them has, and what differs."""
    for keys in sorted({keys for keys, _ in (*here.indexes, *there.indexes)}):
        mine, theirs = ([traits for each, traits in side.indexes if each == keys] for side in (here, there))
        alike = [traits for traits in mine if traits in theirs]
        mine, theirs = ([traits for traits in side if traits not in alike] for side in (mine, theirs))
        for at in range(max(len(mine), len(theirs))):
            one, other = (side[at] if at < len(side) else None for side in (mine, theirs))
            yield SetupDifference("index", keys, one, other)
    for name in sorted({*here.options, *there.options}):
        if (one := here.options.get(name)) != (other := there.options.get(name)):
            yield SetupDifference("option", name, one, other)


def compared(here: tuple[Port, str, bool], there: tuple[Port, str, bool]) -> tuple[tuple[SetupDifference, ...], str]:
    """What differs between two collections, and a sentence on what could not be compared, else "".

    Each is a port, the collection, and whether it is read from a file, which may not tell how it was set up.
    """
    try:
        one, other = (set_up(port, ns) for port, ns, _ in (here, there))
    except Unreachable:
        raise
    except Refused as error:
        return (), f"Indexes and options are not compared: {error}"
    found = tuple(differences(one, other))
    for side, (_, ns, is_file) in ((one, here), (other, there)):
        if found and is_file and side.is_bare:
            return (), f"Indexes and options are not compared, as the file of {ns} names none."
    return found, ""


def _traits(spec: Mapping[str, Any]) -> str:
    """How an index works, besides its keys."""
    said = []
    for name, value in sorted(spec.items()):
        if name in _SAME or value is False or (name == "unique" and spec.get("name") == "_id_"):
            continue
        said.append(name if value is True else f"{name} {_text(value)}")
    return ", ".join(said) or NO_TRAITS


def _text(value: Any) -> str:
    """A value as typed, with the fields of documents in the order of their names."""
    found = c.get(bson_of({"": _plain(value)}), ("",))
    return text.relaxed_value(found if found is not None else Value.of(None))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(value[name]) for name in sorted(value)}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _short(said: str | None) -> str:
    """What a side has, in a sentence."""
    return "none" if said is None else cut(said, LONGEST)
