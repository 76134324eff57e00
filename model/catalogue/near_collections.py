"""Finds the collections that are related to one, by their names and a glimpse into each, in one command.

A collection's layout depends on others: its history, the documents whose history it is, the targets of its fields. A
collection is excluded only if its name does not suggest a relation and either no id leads from one to the other among
the rows examined, or their fields have too little in common for versions, states or changes. In doubt all collections
are examined: a glimpse that a server cannot give excludes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import accumulate, chain

from bson import ObjectId
from msgspec import Struct

from model.catalogue.find_writers import signed
from model.errors import Refused, Unreadable
from model.recognition.field_names import AUTHORS, STREAMS, TIMES, bare, is_version_name, words
from model.recognition.find_archives import is_past_of
from model.recognition.find_logs import record_in
from model.recognition.key_candidates import is_id_name, names_a_part
from model.recognition.sampling import (
    ID_TYPES,
    SAMPLED,
    WHOLE,
    Beginning,
    Document,
    Sample,
    begin,
    read,
    read_first,
    together,
)
from model.server.retry import Port, Terms
from model.values import canonical as c
from model.values.canonical import Value
from model.values.kinds import NUMBERS
from model.writers.writers import presets
from model.writers.written_rows import PLACE

ROWS = 4  # first rows of each, and as many last ones
NAMED = 6  # values under each path that may be ids elsewhere
PATHS = 20  # the number of such paths
READ = 30  # documents searched for them
MET = 24  # documents of one collection that have such ids
LONGEST_ID = 200  # bytes
ALIKE = 0.4  # the share of names in rows that a document must have too, if they may be its versions
LIKE = 0.2  # the share of equal values under common names, if only numbers relate rows and documents
MOST_BYTES = 8 << 20  # of all glimpses
MOST = 12  # collections with related names: if there are more, names mean nothing


class Glimpses(Struct, frozen=True):
    """Some rows of collections, and most of the samples of those that are to be sampled."""

    rows: Mapping[str, Sample]
    begun: Mapping[str, Beginning]
    ends: Mapping[str, Sequence[bytes]]
    """The last documents of large collections to sample, and some from the middle."""


def named_near(name: str, names: Set[str]) -> list[str] | None:
    """The collections whose names make them another's history or the reverse, also by a second step.

    None if there are too many.
    """
    shared = {each.archive for each in presets().values() if not PLACE.search(each.archive)}
    found = {name}
    for _ in range(2):
        found |= {other for other in names - found if any(_is_beside(other, each) for each in found)}
    found |= shared & names
    return sorted(found - {name}) if len(found) <= MOST else None


def _is_beside(one: str, other: str) -> bool:
    """Whether one of two collections is named as the history of the other."""
    if is_past_of(one, other) or is_past_of(other, one):
        return True
    patterns = [each.archive for each in presets().values() if "{name}" in each.archive]
    return any(a == pattern.replace("{name}", b) for pattern in patterns for a, b in ((one, other), (other, one)))


def named_after_documents(sample: Sample, names: Set[str]) -> set[str]:
    """The collections that a program names after a field of these documents."""
    found: set[str] = set()
    for known in presets().values():
        place = PLACE.search(known.archive)
        if place is not None and place[1] != "name":
            values = [v for d in sample.documents if (v := d.get(place[1])) is not None and v.type == c.STRING]
            found |= {PLACE.sub(lambda _, v=v: str(v.python()), known.archive) for v in values}  # type: ignore[misc]
    return found & names


def glimpses(server: Port, begun: Sequence[str], others: Sequence[str], most: int) -> Glimpses | None:
    """The beginnings of some collections and a glimpse into others, in one command; None if the server cannot do it.

    If documents are large it stops early: the ends of collections are then read separately.
    """
    last: list[Terms] = [{"$sort": {"_id": -1}}]
    parts: list[tuple[str, list[Terms]]] = []
    for ns in others:
        parts += [(ns, [{"$limit": ROWS}]), (ns, [*last, {"$limit": ROWS}])]
    firsts = len(parts)
    parts += [(ns, [{"$sort": {"_id": 1}}, {"$limit": WHOLE + 1}]) for ns in begun]
    for ns in begun:
        parts += [(ns, [*last, {"$limit": SAMPLED // 3}]), (ns, [{"$sample": {"size": SAMPLED // 3}}])]
    found: list[list[bytes]] = [[] for _ in parts]
    complete, left = len(parts), MOST_BYTES
    try:
        for at, raw in together(server, parts):
            found[at].append(raw)
            left -= len(raw)
            if left < 0:
                complete = at
                break
    except (Refused, Unreadable, ValueError, IndexError):
        complete = -1  # some servers cannot join collections
    if complete < firsts and others:
        return None
    rows = {ns: _glimpsed(ns, [*found[2 * at], *found[2 * at + 1]]) for at, ns in enumerate(others)}
    beginnings, ends = {}, {}
    try:
        for at, ns in enumerate(begun):
            first, end = firsts + at, firsts + len(begun) + 2 * at
            is_read = first <= complete
            beginnings[ns] = _begun(found[first], first < complete, most) if is_read else begin(server, ns, most)
            if end + 1 < complete and not beginnings[ns].whole:
                ends[ns] = [*found[end], *found[end + 1]]
    except Refused:
        return None
    return Glimpses(rows, beginnings, ends)


def _begun(rows: Sequence[bytes], complete: bool, most: int) -> Beginning:
    """The first rows of a collection, as many as its sample begins with, up to about half of the sample's bytes."""
    limit = read_first(rows[:2], most)
    sizes = accumulate(map(len, rows), initial=0)
    kept = tuple(raw for raw, before in zip(rows[:limit], sizes, strict=False) if before <= most // 2)
    return Beginning(kept, complete and len(kept) == len(rows) < limit)


def _glimpsed(ns: str, rows: Sequence[bytes]) -> Sample:
    documents = tuple(document for raw in dict.fromkeys(rows) if (document := read(raw)) is not None)
    return Sample(ns, lambda: None, documents, 0, lambda: ())


def those_named(
    server: Port, sample: Sample, seen: Glimpses, rows: Sequence[bytes]
) -> tuple[Mapping[str, Sequence[Document]], Sequence[Document]] | None:
    """The documents elsewhere that ``rows`` of this collection name, and those here that rows elsewhere name.

    Reads them in one command; None if the server cannot do it.
    """
    (asked, counts), here = _asked(rows) if seen.rows else ([], []), _named_in(seen.rows.values(), sample)
    parts: list[tuple[str, list[Terms]]] = []
    if asked or counts:
        named_there = {"$match": {"_id": {"$in": [*asked, *counts]}}}
        # Small numbers are ids in many collections: whatever they name is read beside the rest.
        parts += [(ns, [named_there, {"$limit": MET + len(counts)}]) for ns in seen.rows]
    if here:
        parts.append((sample.ns, [{"$match": {"_id": {"$in": here}}}, {"$limit": len(here)}]))
    named: dict[str, list[Document]] = {ns: [] for ns in seen.rows}
    ours: list[Document] = []
    left = MOST_BYTES
    try:
        for at, raw in together(server, parts):
            left -= len(raw)
            if left < 0:
                return None
            if (document := read(raw)) is not None:
                (ours if here and at == len(parts) - 1 else named[parts[at][0]]).append(document)
    except (Refused, Unreadable, ValueError, IndexError):
        return None
    return named, ours


def _named_in(others: Iterable[Sample], sample: Sample) -> list[Value]:
    """The values in rows elsewhere that may be ids of documents here; empty if all documents here were read."""
    if sample.whole is not None:
        return []
    likely = (row for other in others if _may_be_about(other, sample) for row in other.documents)
    named = chain.from_iterable(_readings(value) for row in likely for _, value in _values(row))
    return list(dict.fromkeys(named))


# --- the values by which documents name one another


def _asked(rows: Sequence[bytes]) -> tuple[list[Value], list[Value]]:
    """Values in documents that may be ids of others, some under each path; apart, those that may as well count a part
    or measure it.
    """
    by_path: dict[tuple[str, bool], dict[Value, None]] = {}
    for raw in rows[:: max(1, len(rows) // READ)]:
        document = read(raw)
        for path, value in _values(document) if document is not None else ():
            name, is_number = path.rpartition(".")[2], value.type in NUMBERS
            if path != "_id" and not (is_number and (is_version_name(name) or name.startswith("__"))):
                by_path.setdefault((path, is_number and names_a_part(name)), {})[value] = None
    found: tuple[dict[Value, None], dict[Value, None]] = ({}, {})
    for (_, counts), values in list(by_path.items())[:PATHS]:
        each = list(values)
        some = each[:: max(1, len(each) // NAMED)][:NAMED]
        found[counts].update(dict.fromkeys(chain.from_iterable(map(_readings, some))))
    return list(found[False]), [value for value in found[True] if value not in found[False]]


def _values(document: Document) -> Iterator[tuple[str, Value]]:
    """The values that may be ids, with their paths: top level, in sub-documents and in array elements."""
    for name, value in document.fields.items():
        if value.type in ID_TYPES and len(value.data) <= LONGEST_ID:
            yield name, value
        elif value.type == c.OBJECT:
            yield from _inside(name, value)
        elif value.type == c.ARRAY:
            try:
                elements = c.items(value)[:ROWS]
            except Unreadable:
                continue
            for element in elements:
                yield from _inside(name, element) if element.type == c.OBJECT else ()


def _inside(name: str, value: Value) -> Iterator[tuple[str, Value]]:
    inner = read(value.data)
    for each, inside in inner.fields.items() if inner is not None else ():
        if inside.type in ID_TYPES and len(inside.data) <= LONGEST_ID:
            yield f"{name}.{each}", inside


def _readings(value: Value) -> Iterator[Value]:
    """A value, and if it is text, the ObjectId that it may spell."""
    yield value
    digits = value.data[4:-1].decode("ascii", "replace") if value.type == c.STRING else ""
    if len(digits) == 24 and ObjectId.is_valid(digits):
        yield Value.of(ObjectId(digits))


# --- whether they have to do with one another


def related(
    sample: Sample, seen: Glimpses, named: Mapping[str, Sequence[Document]], ours: Sequence[Document]
) -> list[str]:
    """The collections that may be related to this one, judged from :func:`those_named`."""
    held = [read(raw) for raw in sample.whole] if sample.whole is not None else sample.documents
    here = _named_by([*(document for document in held if document is not None), *ours])
    found = []
    for ns, other in seen.rows.items():
        there = _named_by([*other.documents, *named[ns]])
        if _are_about(other, here) or _are_about(sample, there):
            found.append(ns)
    return found


def _named_by(documents: Sequence[Document]) -> dict[Value, list[Document]]:
    """Documents by each value by which rows may name them: ids, unique fields, and a stream's id."""
    values: dict[str, list[tuple[Value, Document]]] = {}
    for document in documents:
        for name, value in document.fields.items():
            if value.type in ID_TYPES:
                values.setdefault(name, []).append((value, document))
    found: dict[Value, list[Document]] = {}
    for name, each in values.items():
        if name == "_id" or STREAMS & {*words(name)} or _tell_apart(name, [value for value, _ in each]):
            for value, document in each:
                found.setdefault(value, []).append(document)
    return found


def _tell_apart(name: str, values: Sequence[Value]) -> bool:
    """Whether a field may identify documents: its values are unique, and numbers have the name of an id."""
    numbers = any(value.type in NUMBERS for value in values)
    return len({*values}) == len(values) and (is_id_name(name) or not numbers)


def _are_about(rows: Sample, documents: Mapping[Value, Sequence[Document]]) -> bool:
    """Whether rows may be versions, states or changes of the documents that they name."""
    by_path: dict[str, list[tuple[Value, Document, Document]]] = {}
    for row in rows.documents:
        for path, value in _values(row):
            if path != "_id" and not is_version_name(path):
                for reading in _readings(value):
                    by_path.setdefault(path, []).extend(
                        (value, row, named) for named in documents.get(reading, ()) if named is not row
                    )
    pairs = [each for met in by_path.values() for each in met]
    if not pairs:
        return False
    if any(record_in(row) is not None for _, row, _ in pairs) or any(signed(rows, each) for each in presets().values()):
        return True
    if any(STREAMS & {*words(name)} for name in rows.shapes):
        return True
    return any(_are_kin(met) for met in by_path.values() if met)


def _are_kin(pairs: Sequence[tuple[Value, Document, Document]]) -> bool:
    """Whether rows resemble the documents that one of their fields names.

    Small numbers match something everywhere, so such rows must also have values in common with their documents.
    """
    if not any(_have_names_in_common(row, document) for _, row, document in pairs):
        return False
    if any(value.type not in NUMBERS for value, _, _ in pairs):
        return True
    same = total = 0
    for _, row, document in pairs:
        both = row.fields.keys() & document.fields.keys() - {"_id"}
        total += len(both)
        same += sum(row.fields[name] == document.fields[name] for name in both)
    return same >= LIKE * total


def _have_names_in_common(row: Document, document: Document) -> bool:
    """Whether a row has the fields of a document, or a part of it is nearly a whole document."""
    whole, ours = _telling(document.fields), _telling(row.fields)
    if len(ours & whole) >= ALIKE * len(ours):
        return True
    inside = (read(value.data) for value in row.fields.values() if value.type == c.OBJECT)
    states = (_telling(each.fields) for each in inside if each is not None)
    return any(names and len(names & whole) >= ALIKE * len(names | whole) for names in states)


def _telling(fields: Mapping[str, Value]) -> Set[str]:
    """The characteristic names of a thing, without those for time and author that everything has."""
    return {name for name in fields if not name.startswith("_") and bare(name) not in TIMES | AUTHORS}


def _may_be_about(rows: Sample, documents: Sample) -> bool:
    """Whether rows may be about such documents, judged by their fields alone."""
    if any(record_in(row) is not None for row in rows.documents):
        return True
    if any(signed(rows, known) for known in presets().values()):
        return True
    if any(STREAMS & {*words(name)} for each in (rows, documents) for name in each.shapes):
        return True
    kinds = {frozenset(document.fields): document for document in documents.documents}.values()
    return any(_have_names_in_common(row, document) for row in rows.documents for document in kinds)
