"""An edit as a write: operators for just the changes, else a replacement, else a pipeline.

Operators leave fields alone that they do not name, so that one which an unversioned writer bumps in the same document
survives. They cannot express every edit: the order of present fields stays, new ones go to the end, and several new
ones in one document are added in an order of the server's own (by name, since MongoDB 5). Other edits write the
document whole, and are then guarded by the whole content that was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from msgspec import Struct

from model.errors import Refused
from model.server import guards
from model.server.retry import Terms
from model.values import canonical as c
from model.values.canonical import Value
from model.values.kinds import NUMBERS
from model.values.leaves import addressable

UNSET = Value.of("")
GUARDED = 64 << 10
"""Bytes of old values that an edit by operators is guarded by beside version and token; larger ones are left out."""


class Operators(Struct, frozen=True):
    """The values that an edit sets and unsets, by dotted path, and those before (None: nothing)."""

    sets: dict[str, Value]
    unsets: tuple[str, ...]
    before: dict[str, Value | None]

    def body(self, others: Mapping[str, Value | None], prefix: str = "") -> dict[str, Any]:
        """The update document; ``others`` are set too, None unsets them; ``prefix`` goes before each path."""
        sets = self.sets | {path: value for path, value in others.items() if value is not None}
        unsets = [*self.unsets, *(path for path, value in others.items() if value is None)]
        body: dict[str, Any] = {"$set": {f"{prefix}{path}": value for path, value in sets.items()}} if sets else {}
        if unsets:
            body["$unset"] = {f"{prefix}{path}": UNSET for path in unsets}
        return body

    def guard(self, prefix: str = "") -> dict[str, Any]:
        """The clauses that the values to replace are still as they were read; large ones are left out."""
        clauses: dict[str, Any] = {}
        room = GUARDED
        for path, value in self.before.items():
            room -= len(value.data) if value is not None else 0
            if room >= 0:
                clauses |= guards.nested(f"{prefix}{path}", value)
        return clauses


def operators(old: bytes, new: bytes, retypes: bool = False) -> Operators | None:
    """The operators that make ``new`` of ``old`` exactly; None where there are none.

    A change between numbers that are equal, such as 1 to 1.0, has none that can be sent: there are servers that keep
    the old one, and none says beforehand that it does. ``retypes`` names it all the same.
    """
    sets: dict[str, Value] = {}
    unsets: list[str] = []
    before: dict[str, Value | None] = {}
    if not _compare(old, new, "", retypes, sets, unsets, before):
        return None
    return Operators(sets, tuple(unsets), before)


def _compare(
    old: bytes,
    new: bytes,
    prefix: str,
    retypes: bool,
    sets: dict[str, Value],
    unsets: list[str],
    before: dict[str, Value | None],
) -> bool:
    if (pairs := _pairs(old, new)) is None:
        return False
    gone, differing = pairs
    for name, value in gone:
        if not _reachable(name, prefix):
            return False
        unsets.append(prefix + name)
        before[prefix + name] = value
    for name, former, value in differing:
        if not _reachable(name, prefix):
            return False
        path = prefix + name
        if former is not None and former.type == value.type == c.OBJECT and former.data != c.EMPTY:
            inner: tuple[dict[str, Value], list[str], dict[str, Value | None]] = ({}, [], {})
            if _compare(former.data, value.data, path + ".", retypes, *inner):
                sets.update(inner[0])
                unsets.extend(inner[1])
                before.update(inner[2])
                continue
        if not retypes and former is not None and equal_numbers(former, value):
            return False
        sets[path] = value
        before[path] = former
    return True


def _pairs(old: bytes, new: bytes) -> tuple[list[tuple[str, Value]], list[tuple[str, Value | None, Value]]] | None:
    """The fields that go, and those that differ or come, with both values; None where the order cannot be kept."""
    if c.walker is not None and (walked := c.walker.changed(old, 0, new, 0)) is not None and walked[1]:
        return [], [
            (c.name_of(name), Value(was, old[a:b]), Value(now, new[start:stop]))
            for (name, was, a, b), (_, now, start, stop) in walked[0]
        ]
    was, now = c.fields(old), c.fields(new)
    old_values, new_values = dict(was), dict(now)
    if len(old_values) != len(was) or len(new_values) != len(now):
        return None  # a name twice: no path can say which
    kept = [name for name, _ in was if name in new_values]
    added = [name for name, _ in now if name not in old_values]
    if [name for name, _ in now] != kept + added or not _order_is_kept(added):
        return None
    differing = [(name, old_values.get(name), value) for name, value in now if old_values.get(name) != value]
    return [(name, value) for name, value in was if name not in new_values], differing


def _reachable(name: str, prefix: str) -> bool:
    # "a.0" is a field of a document and an element of an array; only the top is a document for certain.
    return addressable(name) and not (prefix and name.isdigit())


def _order_is_kept(added: list[str]) -> bool:
    if len(added) < 2:
        return True
    plain = sorted(name.encode("utf-8", "surrogateescape") for name in added)
    return not any(name.isdigit() for name in added) and plain == [
        name.encode("utf-8", "surrogateescape") for name in added
    ]


def dotted(name: str) -> Refused:
    """The refusal of a document with such a name on a server that cannot tell it from a path.

    mongo-java-server applies half of an update to such a document, then fails.
    """
    return Refused(
        f"This server cannot tell a name with a dot in it, such as {name!r}, from a path, and may damage a document "
        "that has one; nothing was written."
    )


def equal_numbers(a: Value, b: Value) -> bool:
    """Whether two values are equal, or differ only in number types, zeros after the point or the sign of zero."""
    if a.is_container and a.type == b.type:
        mine, theirs = c.fields(a.data), c.fields(b.data)
        return [n for n, _ in mine] == [n for n, _ in theirs] and all(
            x == y or equal_numbers(x, y) for (_, x), (_, y) in zip(mine, theirs, strict=True)
        )
    if a.type not in NUMBERS or b.type not in NUMBERS:
        return a == b
    if a.type == b.type and a.type in (c.INT32, c.INT64):
        return a.data == b.data
    try:
        return Decimal(str(a.python())) == Decimal(str(b.python()))
    except InvalidOperation:
        return False


# --- writing whole


class Whole(Struct, frozen=True):
    """A document written whole: as a replacement, or in a pipeline where a replacement may not hold its names."""

    raw: bytes

    @property
    def pipeline(self) -> bool:
        """Whether a top-level name begins with a dollar, which no replacement may hold."""
        return any(name.startswith("$") for name, _ in c.fields(self.raw))

    @property
    def kind(self) -> Any:
        """The kind of the write."""
        return "update" if self.pipeline else "replace"

    @property
    def body(self) -> bytes | list[Terms]:
        """The body of the write."""
        if self.pipeline:
            # Without the ``_id``, which stays: there are servers that store a second one.
            return [{"$replaceWith": {"$literal": Value.document(c.without(self.raw, ("_id",)))}}]
        return self.raw


def check_size(raw: bytes) -> None:
    """Raise ``Refused`` where a document is larger than any server takes."""
    if len(raw) > guards.LARGEST:
        raise Refused(
            f"The document would be {len(raw) / (1 << 20):.1f} MB, and a server takes 16 MB at most; make it smaller."
        )


def is_surely_taken(*parts: bytes) -> bool:
    """Whether a document made of all these parts, and of little else, is one that servers take, with room to spare."""
    return sum(map(len, parts)) < guards.LARGEST // 2


# --- the stored content


def differences(sent: bytes, stored: bytes, before: bytes) -> str:
    """One sentence on how the server changed a content that was sent; "" where it stored just that.

    Fields that the edit did not touch (equal in ``before`` and ``sent``) may have been changed by others.
    """
    if sent == stored:
        return ""
    if reordered(sent, stored):
        return "The server stored the fields in another order than they were sent in."
    other: list[str] = []
    bumped: list[str] = []
    _differ(sent, stored, before, "", other, bumped)
    said = []
    if other:
        said.append(f"The server stored {_listed(other)} differently from what was sent.")
    if bumped:
        said.append(f"{_listed(bumped)} changed meanwhile without a new version, and was kept.")
    return " ".join(said)


def _differ(sent: bytes, stored: bytes, before: bytes, prefix: str, other: list[str], bumped: list[str]) -> None:
    mine, theirs, was = dict(c.fields(sent)), dict(c.fields(stored)), dict(c.fields(before))
    for name in dict.fromkeys((*mine, *theirs, *was)):
        sides = [mine.get(name), theirs.get(name), was.get(name)]
        if sides[0] == sides[1]:
            continue
        inner = [side.data for side in sides if side is not None and side.type == c.OBJECT]
        if len(inner) == 3:
            _differ(inner[0], inner[1], inner[2], f"{prefix}{name}.", other, bumped)
        else:
            (bumped if sides[0] == sides[2] else other).append(prefix + name)


def reordered(a: bytes, b: bytes) -> bool:
    """Whether two contents differ in the order of fields only, at any depth."""
    return a != b and _in_name_order(Value(c.OBJECT, a)) == _in_name_order(Value(c.OBJECT, b))


def _in_name_order(value: Value) -> object:
    if value.type == c.OBJECT:
        return sorted(((name, _in_name_order(inner)) for name, inner in c.fields(value.data)), key=repr)
    if value.type == c.ARRAY:
        return [_in_name_order(inner) for inner in c.items(value)]
    return (value.type, value.data)


def _listed(names: list[str]) -> str:
    unique = list(dict.fromkeys(names))
    return ", ".join(unique[:3]) + (f" and {len(unique) - 3} more" if len(unique) > 3 else "")
