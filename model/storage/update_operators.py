"""An edit as a write: operators for the changes alone, else a replacement, else a pipeline.

Operators leave other fields alone, so a field that an unversioned writer changes in this document survives. They
cannot express every edit: existing fields keep their order, new ones go to the end, and several new ones in a
document are added in the server's order (by name, since MongoDB 5). Other edits write the whole document, and are
guarded by the whole content that was read.
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
from model.values.canonical import Path, Value
from model.values.kinds import NUMBERS
from model.values.leaves import addressable

# Servers ignore the value of an `$unset`; this is the one that their manuals use.
UNSET = Value.of("")
GUARDED = 64 << 10
"""The most bytes of old values that guard an edit by operators besides version and token; larger values are omitted."""


class Operators(Struct, frozen=True):
    """The values that an edit sets and unsets, by dotted path, and the old values (None: missing)."""

    sets: dict[str, Value]
    unsets: tuple[str, ...]
    before: dict[str, Value | None]

    def body(self, others: Mapping[str, Value | None], prefix: str = "") -> dict[str, Any]:
        """The update document; ``others`` are added, None unsets; ``prefix`` precedes each path."""
        sets = self.sets | {path: value for path, value in others.items() if value is not None}
        unsets = [*self.unsets, *(path for path, value in others.items() if value is None)]
        body: dict[str, Any] = {"$set": {f"{prefix}{path}": value for path, value in sets.items()}} if sets else {}
        if unsets:
            body["$unset"] = {f"{prefix}{path}": UNSET for path in unsets}
        return body

    def guard(self, prefix: str = "") -> dict[str, Any]:
        """The clauses that replaced values are still as they were read; large values are omitted."""
        clauses: dict[str, Any] = {}
        room = GUARDED
        for path, value in self.before.items():
            room -= len(value.data) if value is not None else 0
            if room >= 0:
                clauses |= guards.nested(f"{prefix}{path}", value)
        return clauses


def operators(old: bytes, new: bytes, retypes: bool = False) -> Operators | None:
    """The operators that turn ``old`` into exactly ``new``; None if there are none.

    A change between equal numbers, such as 1 to 1.0, cannot be sent: some servers keep the old number, and none says
    so beforehand. ``retypes`` includes it nevertheless.
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
            # Collected apart: if a change further in cannot be expressed, none of them is sent and the object is set
            # whole.
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
    """The removed fields, and the changed or new ones with both values; None if the order cannot be kept."""
    if c.walker is not None and (walked := c.walker.changed(old, 0, new, 0)) is not None and walked[1]:
        return [], [
            (c.name_of(name), Value(was, old[a:b]), Value(now, new[start:stop]))
            for (name, was, a, b), (_, now, start, stop) in walked[0]
        ]
    was, now = c.fields(old), c.fields(new)
    old_values, new_values = dict(was), dict(now)
    if len(old_values) != len(was) or len(new_values) != len(now):
        return None  # a duplicate name: no path can tell which is meant
    kept = [name for name, _ in was if name in new_values]
    added = [name for name, _ in now if name not in old_values]
    if [name for name, _ in now] != kept + added or not _order_is_kept(added):
        return None
    differing = [(name, old_values.get(name), value) for name, value in now if old_values.get(name) != value]
    return [(name, value) for name, value in was if name not in new_values], differing


def _reachable(name: str, prefix: str) -> bool:
    # "a.0" can be a field of a document or an element of an array; only the top level is certainly a document.
    return addressable(name) and not (prefix and name.isdigit())


def _order_is_kept(added: list[str]) -> bool:
    if len(added) < 2:
        return True
    plain = sorted(name.encode("utf-8", "surrogateescape") for name in added)
    # A server adds the new fields of one $set in the order of their names, and names of digits in an order of its own.
    return not any(name.isdigit() for name in added) and plain == [
        name.encode("utf-8", "surrogateescape") for name in added
    ]


def dotted(name: str) -> Refused:
    """The refusal of a document with such a name, on a server that mistakes it for a path.

    mongo-java-server applies half of an update to such a document, then fails.
    """
    return Refused(
        f"This server cannot tell a name with a dot in it, such as {name!r}, from a path, and may damage a document "
        "that has one; nothing was written."
    )


def equal_numbers(a: Value, b: Value) -> bool:
    """Whether two values are equal except for number types, zeros after the point and the sign of zero."""
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
    """A document written as a whole: as a replacement, or by a pipeline if its names are not allowed in one."""

    raw: bytes

    @property
    def pipeline(self) -> bool:
        """Whether a top-level name starts with a dollar, which a replacement must not contain."""
        return any(name.startswith("$") for name, _ in c.fields(self.raw))

    @property
    def kind(self) -> Any:
        """The kind of the write."""
        return "update" if self.pipeline else "replace"

    @property
    def body(self) -> bytes | list[Terms]:
        """The body of the write."""
        if self.pipeline:
            # Without ``_id``, which stays anyway: some servers would store a second one.
            return [{"$replaceWith": {"$literal": Value.document(c.without(self.raw, ("_id",)))}}]
        return self.raw


def check_size(raw: bytes) -> None:
    """Raise ``Refused`` if a document is too large for every server."""
    if len(raw) > guards.LARGEST:
        raise Refused(
            f"The document would be {len(raw) / (1 << 20):.1f} MB, and a server takes 16 MB at most; make it smaller."
        )


def is_surely_taken(*parts: bytes) -> bool:
    """Whether a document made of these parts, and little else, certainly fits a server's limit."""
    return sum(map(len, parts)) < guards.LARGEST // 2


# --- the stored content


def stands(base: bytes | None, sent: bytes, now: bytes) -> bool | None:
    """Whether what an edit changed is there: all of it, nothing of it (False), or some of it (None).

    The edit was to make ``sent`` of ``base``, the content of a document that keeps no versions.
    """
    if now == sent:
        return True
    # Nothing is sent here, so a change between equal numbers can be looked for like any other.
    changes = _changes(base, sent, retypes=True) if base is not None else ()
    there = [c.get(now, path) == value for path, _, value in changes]
    if not there:
        return None
    return True if all(there) else None if any(there) else False


def is_left_alone(base: bytes, sent: bytes, now: bytes) -> bool:
    """Whether a value that an edit was to change is still that of ``base``, although others may be what was sent."""
    # A server may keep a number that is equal to the one sent, so those tell nothing.
    return any(c.get(now, path) == was for path, was, _ in _changes(base, sent, retypes=False))


def _changes(base: bytes, sent: bytes, retypes: bool) -> list[tuple[Path, Value | None, Value | None]]:
    """What an edit changes: path, value before and value after (None: missing).

    Of one that no operators express, such as one that moves fields: whole fields of the document, none of them if a
    name is there twice.
    """
    if (edit := operators(base, sent, retypes)) is not None:
        after = {**edit.sets, **dict.fromkeys(edit.unsets)}
        return [(tuple(path.split(".")), was, after[path]) for path, was in edit.before.items()]
    was, now = dict(c.fields(base)), dict(c.fields(sent))
    if len(was) != len(c.fields(base)) or len(now) != len(c.fields(sent)):
        return []
    found: list[tuple[Path, Value | None, Value | None]] = []
    for name in {**was, **now}:
        old, new = was.get(name), now.get(name)
        equal = old is not None and new is not None and not retypes and equal_numbers(old, new)
        if old != new and not equal:
            found.append(((name,), old, new))
    return found


def differences(sent: bytes, stored: bytes, before: bytes) -> str:
    """One sentence on how the server changed a content; "" if it stored exactly what was sent.

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
    """Whether two contents differ only in the order of fields, at any depth."""
    return a != b and _in_name_order(Value(c.OBJECT, a)) == _in_name_order(Value(c.OBJECT, b))


def _in_name_order(value: Value) -> object:
    if value.type == c.OBJECT:
        # By `repr`, because the values of a repeated name may have kinds that Python cannot compare.
        return sorted(((name, _in_name_order(inner)) for name, inner in c.fields(value.data)), key=repr)
    if value.type == c.ARRAY:
        return [_in_name_order(inner) for inner in c.items(value)]
    return (value.type, value.data)


def _listed(names: list[str]) -> str:
    unique = list(dict.fromkeys(names))
    return ", ".join(unique[:3]) + (f" and {len(unique) - 3} more" if len(unique) > 3 else "")
