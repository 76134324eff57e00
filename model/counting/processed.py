"""Apply-once lists: the entries that have raised a total; each raises it only once.

One write does both, if the entry is not in the list yet::

    {_id, processed: {$nin: [e]}}   →   {$inc: {total: n}, $addToSet: {processed: e}}

The list makes it safe to send an entry twice, today or next year; if an outcome is unknown, the list tells. The write
must not be an upsert: if the entry is already in the list, each upsert would create another document. A missing
document is inserted with its first entry, under the unique index of its key; a writer who loses that race sends the
update above.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from bson import ObjectId
from msgspec import Struct

from model import text
from model.errors import NotFound, Refused, Unreadable
from model.foundation.records import Outcome
from model.server.guards import by_id, exact, refuse_twin
from model.server.retry import End, Port, Write, run
from model.storage.foreign_guard import raised_with
from model.text.names import id_name
from model.values import canonical as c
from model.values.canonical import Value
from model.values.kinds import NUMBERS

TRIES = 20
_ENTRIES = (c.STRING, c.OBJECT_ID, c.BINARY, c.DATE, c.INT32, c.INT64)

Way: TypeAlias = Literal["forth", "back"]


class Tally(Struct, frozen=True):
    """One entry that raises one total: its document, the field that identifies it, and the amount."""

    ns: str
    key_field: str
    key: Value
    listed: str  # the list's field
    total: str
    entry: Value
    by: int
    lock: str = ""  # another program's lock field, which rises by one with each entry


def read(server: Port, of: Tally) -> bytes | None:
    """The document of a key, None if there is none; raises ``Refused`` if there are several (class P1)."""
    found = [raw for raw in server.find(of.ns, {of.key_field: {"$eq": of.key}}, limit=3) if _key(raw, of) == of.key]
    if len(found) > 1:
        raise Refused(
            f"{of.ns} holds several documents for {id_name(of.key)}, so it is not known which one counts; settle that "
            "first."
        )
    return found[0] if found else None


def _key(raw: bytes, of: Tally) -> Value | None:
    return c.get(raw, (of.key_field,))


def hindrance(of: Tally, raw: bytes | None) -> str:
    """Why this cannot be applied once, one sentence; "" if it can."""
    if of.entry.type not in _ENTRIES:
        return (
            f"An entry is a text, a number, a date, an ObjectId or a UUID; {text.shown(of.entry)} is a {of.entry.kind}."
        )
    if of.total.partition(".")[0] in ("_id", of.key_field, of.listed) or "" in of.total.split("."):
        return f"{of.total} is not a total; name the field that is to be raised."
    if raw is None:
        return ""
    listed, total = c.get(raw, (of.listed,)), total_in(raw, of)
    if listed is not None and listed.type != c.ARRAY:
        return f"{of.listed} of {id_name(of.key)} is a {listed.kind}, not a list; mend it by hand."
    if total is not None and total.type not in NUMBERS:
        shown = text.shown(total)
        return f"{of.total} of {id_name(of.key)} is {shown}, which is not a number; set it with an edit."
    return ""


def total_in(raw: bytes, of: Tally) -> Value | None:
    """The total of a document; like on a server, its name may be a path."""
    return c.get(raw, tuple(of.total.split(".")))


def has(raw: bytes, of: Tally) -> bool:
    """Whether the entry is in the list, compared like a server does: 1 and 1.0 are one entry."""
    listed = c.get(raw, (of.listed,))
    if listed is None or listed.type != c.ARRAY:
        return False
    return any(each == of.entry or _as_number(each) == _as_number(of.entry) is not None for each in c.items(listed))


def _as_number(value: Value) -> object:
    if value.type not in NUMBERS:
        return None
    number = value.python()
    if value.type != c.DECIMAL128:
        return number
    decimal = number.to_decimal()
    return None if decimal.is_nan() else decimal


def forth(of: Tally, raw: bytes) -> Write:
    """The guarded update of a document that was read."""
    # The list is tested and changed in the write that raises the total, so sending it twice counts once.
    guard = _guard(of, raw) | {of.listed: {"$nin": [of.entry]}}
    body = {"$inc": {of.total: of.by}, "$addToSet": {of.listed: of.entry}}
    return Write(of.ns, "update", guard, _with_lock(of, raw, body), "raise the total once")


def back(of: Tally, raw: bytes) -> Write:
    """The inverse of :func:`forth`: removes the entry from the list, and its amount from the total."""
    guard = _guard(of, raw) | {of.listed: of.entry}
    body = {"$inc": {of.total: -of.by}, "$pull": {of.listed: of.entry}}
    return Write(of.ns, "update", guard, _with_lock(of, raw, body), "take an entry back")


def _with_lock(of: Tally, raw: bytes, body: Mapping[str, object]) -> dict[str, object]:
    return raised_with(body, of.lock if of.lock and c.get(raw, (of.lock,)) is not None else "")


def _guard(of: Tally, raw: bytes) -> dict[str, object]:
    physical = c.get(raw, ("_id",))
    if physical is None:
        raise Unreadable(f"{id_name(of.key)} cannot be read, so it is not written.")
    return by_id(physical) | ({} if of.key_field == "_id" else exact(of.key_field, of.key))


def new_document(of: Tally) -> Write:
    """The insert of a key's document with its first entry; a unique index on the key accepts one of several."""
    key = [("_id", of.key)] if of.key_field == "_id" else [("_id", Value.of(ObjectId())), (of.key_field, of.key)]
    made = c.put(c.document(key), tuple(of.total.split(".")), Value.of(of.by))
    made = c.put(made, (of.listed,), c.array([of.entry]))
    return Write(of.ns, "insert", {}, made, "the document with its first entry", (of.key_field,))


def needs_index(server: Port, of: Tally) -> str:
    """Why no document can be created for a key, one sentence; "" if one can."""
    if of.key_field == "_id":
        return ""
    for index in server.indexes(of.ns):
        if index.get("unique") and list(index["key"]) == [of.key_field] and not index.get("partialFilterExpression"):
            return ""
    return (
        f"{of.ns} has no unique index on {of.key_field}, so two could make the document of {id_name(of.key)} at once; "
        "create the index, or the document, first."
    )


def apply(server: Port, of: Tally, create: bool = False) -> Outcome:
    """Raise the total unless the entry is in the list; ``create`` creates a missing document.

    ``skipped``: the entry was in the list already, nothing was written.
    """
    try:
        for _ in range(TRIES):
            raw = read(server, of)
            if why := hindrance(of, raw):
                return Outcome("refused", of.ns, of.key, why)
            if raw is not None and has(raw, of):
                return _success(server, of, "skipped")
            if raw is None and not create:
                raise NotFound(f"There is no document {id_name(of.key)} in {of.ns}; create it, or check the key.")
            if raw is None and (why := needs_index(server, of)):
                return Outcome("refused", of.ns, of.key, why)
            if raw is None:
                refuse_twin(server, of.ns, of.key_field, of.key)
            end = run(server, new_document(of) if raw is None else forth(of, raw), lambda: _is_listed(server, of))
            if end.kind != "conflict":
                return _ended(server, of, end)
    except Refused as error:
        return Outcome("refused", of.ns, of.key, str(error))
    return Outcome("refused", of.ns, of.key, f"Others write {id_name(of.key)} all the time; try again.")


def _is_listed(server: Port, of: Tally) -> bool:
    raw = read(server, of)
    return raw is not None and has(raw, of)


def take_back(server: Port, of: Tally) -> Outcome:
    """Undo :func:`apply`, if the entry is still in the list."""
    try:
        raw = read(server, of)
        if raw is None or not has(raw, of):
            said = f"{text.shown(of.entry)} is not in {of.listed} of {id_name(of.key)} any more; nothing was written."
            return Outcome("conflict", of.ns, of.key, said)
        end = run(server, back(of, raw), lambda: not _is_listed(server, of))
    except Refused as error:
        return Outcome("refused", of.ns, of.key, str(error))
    if end.kind == "conflict":
        return Outcome("conflict", of.ns, of.key, f"{id_name(of.key)} changed in this moment; nothing was written.")
    return _ended(server, of, end, "back")


def _ended(server: Port, of: Tally, end: End, way: Way = "forth") -> Outcome:
    if end.kind == "applied":
        return _success(server, of, "applied", way)
    said = f"It is not known whether {text.shown(of.entry)} was applied. " if end.kind == "unknown" else ""
    return Outcome(end.kind, of.ns, of.key, said + end.sentence)


def _success(server: Port, of: Tally, kind: Literal["applied", "skipped"], way: Way = "forth") -> Outcome:
    entry, owner, value = text.shown(of.entry), id_name(of.key), None
    try:
        raw = read(server, of)
        value = total_in(raw, of) if raw is not None else None
        now = f"{of.total} is {'missing' if value is None else text.shown(value)} now"
    except Refused:
        now = f"{of.total} could not be read again"
    if kind == "skipped":
        said = f"{entry} of {owner} was applied already, nothing was written: {now}."
        return Outcome(kind, of.ns, of.key, said, value=value)
    said = f"{entry} of {owner} was taken back: {now}." if way == "back" else f"{entry} of {owner} is applied: {now}."
    return Outcome(kind, of.ns, of.key, said, value=value)


def to_fields(of: Tally) -> dict[str, str]:
    """What the journal keeps of an entry to look for it and take it back."""
    return {
        "entry": text.value_text(of.entry),
        "key_field": of.key_field,
        "listed": of.listed,
        "total": of.total,
        "by": str(of.by),
        "lock": of.lock,
    }


def from_fields(ns: str, key: Value, kept: dict[str, str]) -> Tally:
    """The inverse of :func:`to_fields`."""
    entry = text.value_from_text(kept["entry"])
    names, by, lock = (kept["listed"], kept["total"]), int(kept["by"]), kept.get("lock", "")
    return Tally(ns, kept["key_field"], key, *names, entry, by, lock)


def found(server: Port, of: Tally) -> bool:
    """Whether the entry is in the list."""
    return _is_listed(server, of)
