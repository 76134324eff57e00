"""Fields by which the rows of one document depend on one another, so that a new row changes what is right in others.

A flag of the newest row has to be taken from the row before, the end of a row's time has to be set there, and a link
names it. A layout that does not know of such a field would leave two rows with the flag, or none with an end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from model.recognition.field_names import FLAGS, OPERATIONS, WORDS, bare
from model.recognition.sampling import Document
from model.storage.outlines import is_flagged
from model.storage.reserved_fields import time_of
from model.values import canonical as c
from model.values.canonical import Value

FEWEST, ROWS = 4, 6  # documents or links, and rows in all, from which on a tie is believed
EVENTS = OPERATIONS - frozenset(("type", "kind", "method", "command"))
NEVER = 9000  # the year from which on a date stands for "still valid"
Rows = Sequence[Document]


def tie(chains: Sequence[Rows], own: Collection[str], partial: bool = False) -> str:
    """How a field ties the rows of a document to one another, as a clause; "" if none does.

    ``chains`` are the rows of some documents, oldest first, each to its newest; ``own`` are fields that the layout
    keeps right. ``partial`` rows omit what has not changed.
    """
    several = [rows for rows in chains if len(rows) > 1]
    names = dict.fromkeys(path for rows in several for row in rows for path, _ in _scalars(row, own))
    for path in names:
        values = [[row.get(path[0]) if len(path) == 1 else c.get(row.raw, path) for row in rows] for rows in several]
        if said := _tied(path, several, values, partial):
            return said
    return ""


def _tied(path: Sequence[str], several: Sequence[Rows], values: Sequence[Sequence[Value | None]], partial: bool) -> str:
    """What one field says of other rows, as a clause; "" if it says nothing."""
    name = ".".join(path)
    enough = len(values) > 1 and sum(map(len, values)) >= ROWS
    named = _is_called_flag(path[-1], values)
    if (len(values) >= FEWEST or named) and all(map(_flags_newest, values)):
        return f"{name} marks the newest row alone, and has to be taken from the row before"
    if named and not partial and _firsts_differ([each[::-1] for each in values]):
        return f"{name} marks the newest row alone, and has to be taken from the row before"
    if enough and not (partial and any(each[-1] is None for each in values)) and all(map(_ends_others, values)):
        return f"{name} is set in every row but the newest, and has to be set in the row before"
    if all(map(_links, several, values)) and sum(map(len, values)) - len(values) >= FEWEST:
        return f"{name} is the _id of the row before"
    if enough and bare(path[-1]) in EVENTS and _firsts_differ(values):
        return f"{name} says what each row did, and does so otherwise in the first"
    return ""


def _is_called_flag(name: str, values: Sequence[Sequence[Value | None]]) -> bool:
    """Whether a field has the name of a flag.

    If ordinary fields have that name too, it must be true or false, or have one value in the newest rows of several
    documents and one in all others.
    """
    if bare(name) not in FLAGS or bare(name) not in WORDS:
        return bare(name) in FLAGS
    newest, others = {each[-1] for each in values}, {value for each in values for value in each[:-1]}
    if all(value is None or value.type == c.BOOLEAN for value in newest | others):
        return True
    return len(values) > 1 and len(newest) == len(others) == 1


def _firsts_differ(values: Sequence[Sequence[Value | None]]) -> bool:
    """Whether the first rows of all documents have one value that no other row has."""
    firsts = {each[0] for each in values}
    return len(firsts) == 1 and None not in firsts and not any(firsts & {*each[1:]} for each in values)


def _flags_newest(values: Sequence[Value | None]) -> bool:
    return is_flagged(values[-1]) and not any(map(is_flagged, values[:-1]))


def _ends_others(values: Sequence[Value | None]) -> bool:
    return _is_open(values[-1]) and not any(map(_is_open, values[:-1]))


def _is_open(value: Value | None) -> bool:
    """Whether a field says nothing yet; any kind but a date or an ObjectId is taken to say nothing."""
    if value is None or value.type not in (c.DATE, c.OBJECT_ID):
        return True
    at = time_of(value) if value.type == c.DATE else None
    return value.type == c.DATE and (at is None or at.year >= NEVER)


def _links(rows: Rows, values: Sequence[Value | None]) -> bool:
    return all(value is not None and value == row.get("_id") for row, value in zip(rows, values[1:], strict=False))


def _scalars(row: Document, own: Collection[str]) -> Iterator[tuple[tuple[str, ...], Value]]:
    for name, value in row.fields.items():
        if name in own:
            continue
        if value.type != c.OBJECT:
            yield (name,), value
            continue
        yield from (((name, inner), each) for inner, each in c.fields(value.data) if each.type != c.OBJECT)
