"""Numbers handed out in sequence: from a counter document, or one above the highest number that exists.

A counter is a document ``{_id: name, seq: n}``. It moves by a swap on its exact value, so no number is handed out
twice. If the outcome of a swap is unknown, nobody gets its number: the swap's guard is a value that never comes back,
so a late arrival only skips that number. Numbers are never lowered and gaps never filled.

Without a counter, the next number follows from the highest in a collection, and a unique index accepts only one of
several writers who try it. If the document with the highest number is deleted, that number is used again; a counter
never repeats one.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from model import text
from model.errors import OF_CIRCUMSTANCE, Refused
from model.foundation.records import Outcome
from model.recognition.patterns import waiting_list
from model.server.guards import by_id, exact, refuse_twin
from model.server.known_types import takes_types
from model.server.retry import Port, Write, run
from model.storage.foreign_guard import raised_with
from model.storage.reserved_fields import number_of, whole_number
from model.text.names import id_name
from model.values import canonical as c
from model.values.canonical import Value

TRIES = 100
DOUBTS = 2
"""How often the outcome of a counter's swap may be unknown before giving up; each time costs at most one number."""
_MOST = 2**63 - 1
_MOST_DOUBLE = 2**53
_NUMBERS = (c.DOUBLE, c.INT32, c.INT64)


class Counter(Struct, frozen=True):
    """One counter: its collection, its document's id, and the field with the last number handed out."""

    ns: str
    name: Value
    field: str
    lock: str = ""  # another program's lock field, which rises by one with each number


def read(server: Port, of: Counter) -> bytes | None:
    """The counter's document; None if there is none."""
    for raw in server.find(of.ns, {"_id": of.name}):
        if c.get(raw, ("_id",)) == of.name:
            return raw
    return None


def following(of: Counter, raw: bytes | None, above: int = 0) -> tuple[Value, Write]:
    """The next number of a counter, higher than ``above``, and the write that takes it; raises ``Refused``."""
    if raw is not None and (waiting := waiting_list(raw)):
        raise Refused(
            f"{id_name(of.name)} in {of.ns} is not a sequence: tokens wait in its list {waiting}, so {of.field} counts "
            "events. Count one with `palimpsest count`."
        )
    path = tuple(of.field.split("."))
    last = c.get(raw, path) if raw is not None else None
    number = number_of(last)
    if raw is not None and (last is None or last.type not in _NUMBERS or number is None):
        shown = "missing" if last is None else text.shown(last)
        raise Refused(
            f"{of.field} of the counter {id_name(of.name)} in {of.ns} is {shown}, which is not a whole number."
        )
    # Above both: a counter may be behind the numbers in use, as after an import.
    drawn = _as(last, max(number or 0, above) + 1, of)
    if raw is None:
        made = c.put(c.document([("_id", of.name)]), path, drawn)
        return drawn, Write(of.ns, "insert", {}, made, "a new counter", ())
    guard = by_id(of.name) | exact(of.field, last)
    # Only if the document has the lock: a program that never made one does not look for it.
    lock = of.lock if of.lock and c.get(raw, (of.lock,)) is not None else ""
    return drawn, Write(of.ns, "update", guard, raised_with({"$set": {of.field: drawn}}, lock), "the next number")


def _as(last: Value | None, number: int, of: Counter) -> Value:
    if number > (_MOST_DOUBLE if last is not None and last.type == c.DOUBLE else _MOST):
        raise Refused(f"The counter {id_name(of.name)} in {of.ns} has handed out the largest number there is.")
    if last is not None and last.type == c.DOUBLE:  # the type that the shell writes numbers in
        return Value.of(float(number))
    return whole_number(number, last)


def draw(server: Port, of: Counter, above: int = 0, create: bool = False) -> Outcome:
    """Hand out the next number, as the outcome's ``value``; ``create`` creates a missing counter."""
    doubts = 0
    try:
        for _ in range(TRIES):
            raw = read(server, of)
            if raw is None and not create:
                return Outcome("refused", of.ns, of.name, missing(of))
            if raw is None:
                refuse_twin(server, of.ns, "_id", of.name)
            number, write = following(of, raw, above)
            # Without a question whether it landed: two writers take equal numbers in equal ways, so nobody could tell
            # whose it was.
            end = run(server, write, None)
            if end.kind == "applied":
                said = f"{id_name(of.name)} handed out {text.shown(number)}."
                return Outcome("applied", of.ns, of.name, said, value=number)
            if end.kind == "unknown":
                doubts += 1
            if end.kind == "refused" or doubts == DOUBTS:
                return _without_number(of, end.sentence, doubts)
    except Refused as error:
        return _without_number(of, str(error), doubts)
    return _without_number(of, "Others change it all the time; try again.", doubts)


def missing(of: Counter) -> str:
    """The sentence for a missing counter."""
    return f"There is no counter {id_name(of.name)} in {of.ns}; create it, or check its name."


def _without_number(of: Counter, why: str, doubts: int) -> Outcome:
    if not doubts:
        return Outcome("refused", of.ns, of.name, why)
    said = (
        f"No number was handed out, and it is not known whether {id_name(of.name)} moved. {why} The next one is good."
    )
    return Outcome("unknown", of.ns, of.name, said)


def highest(server: Port, ns: str, field: str) -> tuple[int, Value | None]:
    """The highest number in a field, or 0; raises ``Refused`` if it is not a whole number."""
    for raw in _with_a_number(server, ns, field):
        value = c.get(raw, (field,))
        number = number_of(value)
        if value is None or value.type not in _TYPES or number is None:
            shown = "a list" if value is None else text.shown(value)
            raise Refused(f"The highest {field} in {ns} is {shown}, and no whole number follows that; mend it first.")
        return number, value
    return 0, None


def _with_a_number(server: Port, ns: str, field: str) -> list[bytes]:
    """The document with the highest number in a field, or none; works on a server that does not know decimals too."""

    def of(types: Sequence[int]) -> list[bytes]:
        # By type, because a server sorts every text, and even an empty list, in its own place among all types.
        return [*server.find(ns, {field: {"$type": [*types]}}, sort={field: -1}, projection={field: 1}, limit=1)]

    try:
        return of(_TYPES)
    except OF_CIRCUMSTANCE:
        raise
    except Refused:
        if takes_types(server, ns, [c.DECIMAL128]):
            raise
        return of(_NUMBERS)


def after(server: Port, ns: str, field: str) -> Value:
    """The number after the highest one, in its type; raises ``Refused``."""
    number, value = highest(server, ns, field)
    if number >= (_MOST_DOUBLE if value is not None and value.type == c.DOUBLE else _MOST):
        raise Refused(f"{ns} holds the largest number there is in {field}; mend that first.")
    return (
        Value.of(float(number + 1)) if value is not None and value.type == c.DOUBLE else whole_number(number + 1, value)
    )


_TYPES = (*_NUMBERS, c.DECIMAL128)
