"""Finds the fields that a program was told to leave out of its rows: documents have them, and no row records them.

Such a field is content of the documents, but the history tells nothing of it. Without being named in ``ignored`` it
would make each document differ from its newest row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress

from model.errors import Refused
from model.foundation.collection_profile import CollectionProfile
from model.patches import DoesNotApply, document_of
from model.recognition.sampling import Document, Sample
from model.server.retry import Port
from model.values import canonical as c
from model.values.canonical import Value
from model.writers.last_changes import names_in
from model.writers.written_history import WrittenHistory, history_by_rows
from model.writers.written_rows import WrittenRow
from model.writers.written_states import begun_before, states_of, stripped

MANY = 5  # documents that must have such a field, unless there are fewer
SEVERAL = 3  # states that rows hold themselves, before these tell what rows record
LONGEST = 400  # rows of a document that is examined


def left_out(
    server: Port, profile: CollectionProfile, ids: Sequence[Value], documents: Sample, rows: Sequence[Document]
) -> tuple[str, ...]:
    """The paths of such fields; () if there are none.

    Examined are a few documents with all their states, and the states that sampled ``rows`` hold themselves.
    """
    written = history_by_rows(server, profile)
    lacking: set[str] = set()
    recorded: set[str] = set()
    for id in ids:
        with suppress(Refused):
            lacks, records = _told(written, id)
            lacking |= lacks
            recorded |= records
    held = [snapshot for row in rows if (snapshot := WrittenRow(row.raw, profile).snapshot) is not None]
    if len(held) >= SEVERAL:
        recorded |= {path for each in held for path in _paths(document_of(each))}
        lacking |= {path for each in documents.documents for path in _paths(stripped(each.raw, profile))}
    lacking -= recorded
    outermost = {path for path in lacking if not any(path.startswith(f"{other}.") for other in lacking)}
    counted = Counter(path for each in documents.documents for path in {*_paths(each.raw)} & outermost)
    return tuple(sorted(path for path, count in counted.items() if count >= min(MANY, len(documents.documents))))


def _told(written: WrittenHistory, id: Value) -> tuple[set[str], set[str]]:
    """The paths of a document that none of its states has, and those that one has; raises ``Refused`` if it is gone."""
    p = written.profile
    now = stripped(written.current.content(written.current.raw(id)), p)
    rows = written.rows.of(id)
    if not rows or len(rows) > LONGEST:
        return set(), set()
    if begun_before(rows, p):  # its states have all that the document has, whether it was recorded or not
        try:
            return set(), {*names_in(rows, p)}
        except DoesNotApply:
            return set(), set()
    states = (each.content for each in states_of(rows, p, now, id) if each.content is not None)
    recorded = {path for state in states for path in _paths(state)}
    return {*_paths(now)} - recorded, recorded


def _paths(raw: bytes, above: str = "") -> Iterator[str]:
    """The path of each field in a document, through objects and the elements of arrays."""
    for name, value in c.fields(raw):
        if "." in name or not name:
            continue
        yield f"{above}{name}"
        inner = [value] if value.type == c.OBJECT else c.items(value) if value.type == c.ARRAY else ()
        for each in inner:
            if each.type == c.OBJECT:
                yield from _paths(each.data, f"{above}{name}.")
