"""Recognises ``log``: rows that clearly record changes, events or states of documents in another collection.

The proof has three parts: rows look like records and hold little else; they name documents of another collection by
``_id``; and they record these documents' own fields. Rows of orders, bookings and messages also name other documents,
but record nothing about them. Events of an event store need no such documents: their streams identify them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from bson import ObjectId
from msgspec import Struct

from model.errors import NotAllowed, Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.recognition.field_names import (
    ABOUT_RECORDS,
    AUTHORS,
    BEFORE_AND_AFTER,
    CHANGES,
    ENDS,
    FIELD_PLACES,
    OPERATIONS,
    PAYLOADS,
    PLACES,
    STREAMS,
    TIMES,
    VERSIONS,
    bare,
    can_play_a_role,
    words,
)
from model.recognition.metadata_fields import author_field
from model.recognition.sampling import (
    ID_TYPES,
    Document,
    Proposal,
    Sample,
    listed,
    matching,
    of,
    read,
    share,
    take,
    usual_names,
)
from model.server.retry import Port
from model.values import canonical as c
from model.values.canonical import Value

MOST = 0.9  # the share of rows that must be records, name documents, or have a field
SOME = 0.5  # with this share of records, the other rows are not versions
ASKED = 12  # documents to look up
FEWEST = 5  # of these that must exist: fewer are found by chance, above all by small numbers
NAMED = 0.6  # the share of these that must exist: a log outlives its documents
KNOWN = 0.6  # the share of recorded names that the documents must have
LOOKED_AT = 8  # documents whose states are read
CURRENT = 0.8  # the share of these whose newest state must equal the document
FEW = 4  # states of one document
LIKELIEST = 3  # large collections to look up, if only their fields suggest them
FOLLOWED = 8  # collections with named documents whose states are read, most similar first
BESIDE = 2  # fields that may accompany a record, besides those about it and the document's id


class RecordedChange(Struct, frozen=True):
    """What one row records: the fields that hold it, and the names of the document's fields in it."""

    kept_in: frozenset[str]
    names: frozenset[str]  # empty if unknown
    ends: bool = False  # the row says only that a document was created or deleted


def record_in(document: Document) -> RecordedChange | None:
    """The change or event that a row clearly records, judged by its field names; None for other rows."""
    if not _may_record(tuple(document.fields)) and all(value.type != c.ARRAY for value in document.fields.values()):
        return None
    return next((made for tell in _RECORDS if (made := tell(document)) is not None), None)


@lru_cache(1000)
def _may_record(names: tuple[str, ...]) -> bool:
    """Whether a row with fields of these names may record a change or event, even if none of them is an array."""
    told = {bare(name) for name in names}
    return not told.isdisjoint(CHANGES | ENDS | PAYLOADS) or any({*pair} <= told for pair in BEFORE_AND_AFTER)


def _patch(document: Document) -> RecordedChange | None:
    """A diff, a patch, or a list of changes."""
    for name, value in document.fields.items():
        names = _changed(value) if bare(name) in CHANGES or _lists_changes(value) else None
        if names is not None:
            return RecordedChange(frozenset({name}), names)
    return None


def _before_and_after(document: Document) -> RecordedChange | None:
    """A record with the old and the new value in two fields."""
    by_name = {bare(name): name for name in reversed(document.fields)}
    for before, after in BEFORE_AND_AFTER:
        if before in by_name and after in by_name and (made := _between(document, by_name[before], by_name[after])):
            return made
    return None


def _coming_or_going(document: Document) -> RecordedChange | None:
    """A record that a document was created or deleted."""
    for name, value in document.fields.items():
        if bare(name) in ENDS and value.type in (c.OBJECT, c.BOOLEAN):
            return RecordedChange(frozenset({name}), frozenset(), ends=True)
    return None


def _operation(document: Document) -> RecordedChange | None:
    """A record with a word for what happened, and next to it or in one field with it what changed."""
    kind = next((name for name, value in document.fields.items() if bare(name) in OPERATIONS and _is_kind(value)), None)
    place = next(
        (name for name, value in document.fields.items() if bare(name) in FIELD_PLACES and value.type == c.STRING), None
    )
    for name, value in document.fields.items():
        if bare(name) not in PAYLOADS or value.type != c.OBJECT:
            continue
        if kind is not None and place is not None:
            return RecordedChange(frozenset({kind, place, name}), frozenset(_first_of(document.fields[place])))
        if kind is not None:
            return RecordedChange(frozenset({kind, name}), frozenset(_names(value)))
        if (inner := read(value.data)) is not None and _event_in(inner) is not None:
            return RecordedChange(frozenset({name}), frozenset())
    return None


_RECORDS = (_patch, _before_and_after, _coming_or_going, _operation)
"""The kinds of records, tried in this order."""


def _event_in(document: Document) -> Value | None:
    """The word for what happened, if a document has one and a payload; else None."""
    payload = any(bare(name) in PAYLOADS for name in document.fields)
    kinds = [value for name, value in document.fields.items() if bare(name) in OPERATIONS and _is_kind(value)]
    return kinds[0] if payload and kinds else None


def _all_recorded(sample: Sample) -> list[RecordedChange | None]:
    """The records of all rows; an empty list of changes counts, if other rows have changes in that field."""
    if not _may_record(tuple(sample.names)) and c.ARRAY not in sample.kinds:
        return [None] * len(sample.documents)
    made = [record_in(d) for d in sample.documents]
    lists = {name for each in made if each is not None for name in each.kept_in}
    for at, (document, each) in enumerate(zip(sample.documents, made, strict=True)):
        empty = [n for n in lists if (v := document.get(n)) is not None and v.type == c.ARRAY and not _items(v)]
        if each is None and empty:
            made[at] = RecordedChange(frozenset(empty), frozenset(), ends=True)
    return made


def records(sample: Sample, own: frozenset[str] = frozenset()) -> bool:
    """Whether rows record changes or events, with little else; fields named in ``own`` are ignored."""
    made = zip(sample.documents, sample.once(_all_recorded), strict=True)
    found = [each for d, each in made if each is not None and _alone(d, each, own)]
    changes = sum(not each.ends for each in found)
    return changes >= SOME * len(found) and len(found) >= SOME * len(sample.documents) > 0


def _alone(
    document: Document, record: RecordedChange, own: frozenset[str] = frozenset(), most: int = BESIDE + 1
) -> bool:
    """Whether a row holds little but the record and fields about it."""
    about = TIMES | AUTHORS | VERSIONS | OPERATIONS | ABOUT_RECORDS | {n for pair in BEFORE_AND_AFTER for n in pair}
    beside = [
        name
        for name, value in document.fields.items()
        if name not in record.kept_in
        and name not in own
        and name not in ("_id", "__v")
        and bare(name) not in about
        and value.type not in (c.NULL, c.DATE)
    ]
    return len(beside) <= most


def _changed(value: Value) -> frozenset[str] | None:
    """The names of the fields in a diff or patch; None if it is neither."""
    if value.type == c.OBJECT:
        return frozenset(_names(value))
    if value.type != c.ARRAY:
        return None
    steps = [each for each in _items(value) if each.type == c.OBJECT]
    if not steps:
        return None
    found = set()
    for step in steps:
        inside = read(step.data)
        for name, at in inside.fields.items() if inside is not None else ():
            if bare(name) in PLACES and at.type in (c.STRING, c.ARRAY):
                found |= _first_of(at)
                break
    return frozenset(found) if found else None


def _lists_changes(value: Value) -> bool:
    """Whether each element of an array names a field with an old and a new value, whatever the array is called."""
    inside = [read(each.data) for each in _items(value) if each.type == c.OBJECT] if value.type == c.ARRAY else []
    told = [{bare(name) for name in each.fields} for each in inside if each is not None]
    return bool(told) and all(
        not names.isdisjoint(PLACES) and any({before, after} <= names for before, after in BEFORE_AND_AFTER)
        for names in told
    )


def _first_of(path: Value) -> set[str]:
    """The first name of a path: ``/qty``, ``a.b``, or a list."""
    if path.type == c.STRING:
        parts = [part for part in str(path.python()).replace(".", "/").split("/") if part]
        return set(parts[:1])
    inside = _items(path) if path.type == c.ARRAY else []
    return {str(inside[0].python())} if inside and inside[0].type == c.STRING else set()


def _between(document: Document, before: str, after: str) -> RecordedChange | None:
    """A change with old and new: two states, or two values and the name of their field."""
    values = [document.get(name) for name in (before, after)]
    states = [value for value in values if value is not None and value.type == c.OBJECT]
    if states and all(value is None or value.type in (c.OBJECT, c.NULL) for value in values):
        return RecordedChange(frozenset({before, after}), frozenset(name for each in states for name in _names(each)))
    for name, value in document.fields.items():
        if bare(name) in PLACES and name not in (before, after) and value.type == c.STRING:
            return RecordedChange(frozenset({before, after, name}), frozenset(_first_of(value)))
    return None


def _is_kind(value: Value | None) -> bool:
    """Whether a text may say what happened; a text with a slash is an address."""
    return value is not None and value.type == c.STRING and b"/" not in value.data


def _names(value: Value) -> list[str]:
    try:
        return [name for name, _ in c.fields(value.data) if not name.startswith(("_", "$"))]
    except Unreadable:
        return []


def _items(value: Value) -> list[Value]:
    try:
        return c.items(value)
    except Unreadable:
        return []


# --- whose documents


class _Target(Struct, frozen=True):
    """The documents that rows name under a path."""

    path: str
    samples: tuple[Sample, ...]
    found: Mapping[Value, Document]
    asked: int

    @property
    def names(self) -> frozenset[str]:
        """The names of their fields."""
        inside = [d for each in self.samples for d in each.documents] + list(self.found.values())
        return frozenset(name for d in inside for name in d.fields)

    @property
    def called(self) -> str:
        """The collections' names, for a sentence."""
        return listed([each.name for each in self.samples])


def recorded(server: Port, sample: Sample, others: Sequence[Sample]) -> Proposal | None:
    """``log`` if rows record changes or events of documents in ``others``, or hold a state in one of their fields.

    None if they do not.
    """
    inside = [name for name, shape in sample.shapes.items() if name != "_id" and shape.share(c.OBJECT) >= MOST]
    return _changes(server, sample, others) or _states(server, sample, others, inside)


def states_at_top(server: Port, sample: Sample, others: Sequence[Sample]) -> Proposal | None:
    """``log`` if rows themselves are states of documents in ``others``, without a number to order them."""
    return _states(server, sample, others, [""])


def _changes(server: Port, sample: Sample, others: Sequence[Sample]) -> Proposal | None:
    made = sample.once(_all_recorded)
    told = [each for each in made if each is not None]
    if not told or len(told) < MOST * len(made) or sum(each.ends for each in told) > SOME * len(told):
        return None
    for target in _targets(server, sample, others, SOME):
        names = target.names
        recorded = [(d, each) for d, each in zip(sample.documents, made, strict=True) if each is not None]
        fitting = [_alone(d, each) and _is_about(each, names) for d, each in recorded]
        if sum(fitting) >= MOST * len(fitting):
            kinds = sorted({name for _, each in recorded for name in each.kept_in})
            why = (
                f"Its rows record changes in {listed(kinds[:3])}, of fields that the documents of {target.called} have"
            )
            return _proposed(sample, target, why)
    return None


def _states(server: Port, sample: Sample, others: Sequence[Sample], places: Sequence[str]) -> Proposal | None:
    """``log`` if a field of the rows holds whole states of other documents, and the newest one is current."""
    ids = sample.once(_ids_named, MOST)
    near = [other for other in others if other.ns != sample.ns and not _lacks_all(other, ids)] if ids else []
    for kept_in in places if near else ():
        states = [state for d in sample.documents if (state := _state(d, kept_in)) is not None]
        alike = _alike(usual_names(states) if kept_in else sample.usual, near)
        named = ((other, target) for other in alike for target in _targets(server, sample, [other]))
        little = (
            (other, target) for other, target in named if _holds_little_else(sample, target, kept_in, other.usual)
        )
        for other, target in islice(little, FOLLOWED):
            if _are_states(server, sample, target, kept_in, other.usual):
                place = f"in {kept_in}" if kept_in else "at the top"
                return _proposed(sample, target, f"Its rows hold states of the documents of {other.name} {place}")
    return None


def _alike(names: frozenset[str], others: Sequence[Sample]) -> Iterator[Sample]:
    """The collections whose documents have nearly these names, most similar first.

    Of large ones, which must be queried, only the likeliest.
    """
    shares = {other.ns: len(names & other.usual) / len(names | other.usual) for other in others if other.usual}
    alike = [other for other in others if shares.get(other.ns, 0) >= KNOWN]
    alike.sort(key=lambda each: -shares[each.ns])
    large = {each.ns for each in [each for each in alike if each.whole is None][:LIKELIEST]}
    return (other for other in alike if other.whole is not None or other.ns in large)


def _state(document: Document, kept_in: str) -> Document | None:
    if not kept_in:
        return document
    value = document.get(kept_in)
    return read(value.data) if value is not None and value.type == c.OBJECT else None


def _holds_little_else(sample: Sample, target: _Target, kept_in: str, names: frozenset[str]) -> bool:
    """Whether rows hold little but the state of a document with these names, and fields about it."""
    top = target.path.partition(".")[0]
    return sample.once(_all_alone, frozenset({kept_in, top} if kept_in else {top, *names}))


def _all_alone(sample: Sample, held: frozenset[str]) -> bool:
    return all(_alone(d, RecordedChange(held, frozenset()), most=1) for d in sample.documents)


def _are_states(server: Port, sample: Sample, target: _Target, kept_in: str, names: frozenset[str]) -> bool:
    """Whether a document's newest row equals the document, and an earlier row differs."""
    at = _time(sample)
    newest = {at: -1, "_id": -1} if at else {"_id": -1}
    current = several = changed = 0
    looked_at = min(len(target.found), LOOKED_AT)
    for n, (id, document) in enumerate(list(target.found.items())[:LOOKED_AT]):
        if current + looked_at - n < CURRENT * looked_at:
            return False
        rows, _ = matching(server, sample.ns, {target.path: {"$eq": id}}, limit=FEW, sort=newest)
        told = [state for row in rows if (state := _state(row, kept_in)) is not None]
        values = [tuple(state.get(name) for name in sorted(names)) for state in told]
        now = tuple(document.get(name) for name in sorted(names))
        current += bool(values) and sum(a == b for a, b in zip(values[0], now, strict=True)) >= KNOWN * len(now)
        several += len(values) > 1
        changed += len(set(values)) > 1
    return current >= CURRENT * looked_at and several >= looked_at / 3 and 2 * changed >= several


def _is_about(record: RecordedChange, names: frozenset[str]) -> bool:
    return not record.names or len(record.names & names) >= KNOWN * len(record.names)


def _targets(server: Port, sample: Sample, others: Sequence[Sample], most: float = MOST) -> Iterator[_Target]:
    """The paths under which at least a share ``most`` of the rows names documents of other collections, with these."""
    named, ids = sample.once(_named, most), sample.once(_ids_named, most)
    there = {
        other.ns: _looked_up(server, other, named)
        for other in others
        if other.ns != sample.ns and other.documents and not _lacks_all(other, ids)
    }
    for path, asked in named.items():
        found: dict[Value, Document] = {}
        where: list[Sample] = []
        for other in others:
            here = there.get(other.ns, {}).get(path, {})
            where += [other] if here else []
            found |= here
        if len(found) >= max(FEWEST, NAMED * len(asked)):
            yield _Target(path, tuple(where), found, len(asked))


def _named(sample: Sample, most: float) -> Mapping[str, Sequence[Value]]:
    """Some of the values under each path that may name documents."""
    named: dict[str, Sequence[Value]] = {}
    for path in _paths(sample, most):
        shape = sample.shapes.get(path)
        values: Sequence[Value]
        if shape is not None:
            values = shape.of_types(ID_TYPES)
        else:
            there = (_at(d, path) for d in sample.documents)
            values = [v for v in there if v is not None and v.type in ID_TYPES]
        asked = list(dict.fromkeys(values))
        if asked and len(values) >= most * len(sample.documents):
            named[path] = asked[:: max(1, len(asked) // ASKED)][:ASKED]
    return named


def _ids_named(sample: Sample, most: float) -> frozenset[Value]:
    """All ids that are looked up for the rows of a sample."""
    values = [v for ids in sample.once(_named, most).values() for v in ids]
    return frozenset((*values, *map(_as_id, values)))


def _lacks_all(sample: Sample, ids: frozenset[Value]) -> bool:
    """Whether a small collection has no document with any of these ids, so that it need not be asked."""
    there = sample.ids
    return there is not None and ids.isdisjoint(there)


def _looked_up(
    server: Port, other: Sample, named: Mapping[str, Sequence[Value]]
) -> Mapping[str, Mapping[Value, Document]]:
    """The documents named under each path; one query for all, unless the answer is long."""

    def by_id(ids: Sequence[Value]) -> tuple[Mapping[Value | None, Document], bool]:
        each = list(dict.fromkeys([*ids, *map(_as_id, ids)]))
        met, whole = matching(server, other.ns, {"_id": {"$in": each}}, limit=len(each))
        return {d.get("_id"): d for d in met}, whole

    try:
        together, whole = by_id([id for ids in named.values() for id in ids]) if named else ({}, True)
        found: dict[str, Mapping[Value, Document]] = {}
        for path, ids in named.items():
            met = together if whole else by_id(ids)[0]
            found[path] = {id: d for id in ids if (d := met.get(id) or met.get(_as_id(id))) is not None}
    except NotAllowed:
        return {}
    return found


def _as_id(value: Value) -> Value:
    """The ObjectId that a text spells; any other value unchanged."""
    text = value.data[4:-1].decode("ascii", "replace") if value.type == c.STRING else ""
    return Value.of(ObjectId(text)) if len(text) == 24 and ObjectId.is_valid(text) else value


def _paths(sample: Sample, most: float) -> Iterator[str]:
    """Fields that may name a document, also one level deeper; the rows' own ``_id`` only by its parts."""
    for name, shape in sample.shapes.items():
        if name != "_id" and shape.share(*ID_TYPES) >= most and shape.share(*ID_TYPES, c.NULL) >= MOST:
            yield name
    for name, shape in sample.shapes.items():
        if shape.share(c.OBJECT) >= MOST:
            inside = [read(value.data) for value in shape.values if value.type == c.OBJECT][:ASKED]
            for inner in dict.fromkeys(n for each in inside if each is not None for n in each.fields):
                values = [each.get(inner) for each in inside if each is not None]
                if can_play_a_role(inner) and all(v is not None and v.type in ID_TYPES for v in values):
                    yield f"{name}.{inner}"


def _at(document: Document, path: str) -> Value | None:
    try:
        return c.get(document.raw, tuple(path.split(".")))
    except Unreadable:
        return None


def _proposed(sample: Sample, target: _Target, why: str) -> Proposal:
    at = _time(sample)
    author = author_field(None, sample.documents, {"_id", target.path}, at)
    profile = CollectionProfile(sample.ns, "log", id=target.path, version="", token="", hash="", at=at, author=author)
    said = f"{why}; {target.path} names {of(len(target.found), target.asked, 'document')} looked up there"
    about = tuple(each.ns for each in target.samples)
    return Proposal(profile, 0.85, f"{said}.", ("plain",), about)


# --- event stores


def streamed(sample: Sample, others: Sequence[Sample]) -> Proposal | None:
    """``log`` if rows are the numbered events of streams, or snapshots of such streams; else None.

    Events differ from states of documents in that what happened changes from row to row.
    """
    if (streams := sample.once(_streams)) is not None:
        id, number = streams
        return _stream_log(sample, id, number, f"the events of the streams in {id}, numbered by {number} in each")
    for other in others:
        if sample.ns == other.ns or (streams := other.once(_streams)) is None or streams[0] not in sample.shapes:
            continue
        id = streams[0]
        known = {d.get(id) for d in other.documents}
        number = next((n for n, shape in sample.shapes.items() if n != id and shape.numbered >= MOST), "")
        if number and sum(d.get(id) in known for d in sample.documents) >= NAMED * len(sample.documents):
            return _stream_log(
                sample, id, number, f"snapshots of the streams in {id}, whose events are in {other.name}"
            )
    return None


def _stream_log(sample: Sample, id: str, number: str, said: str) -> Proposal:
    profile = CollectionProfile(sample.ns, "log", id=id, version="", token="", hash="", at=_time(sample), order=number)
    return Proposal(profile, 0.85, f"Its rows are {said}.", ("plain",))


def _streams(sample: Sample) -> tuple[str, str] | None:
    """The fields that identify streams and number their events; None if rows are not events."""
    streams = [
        id
        for id, ids in sample.shapes.items()
        if id != "_id" and STREAMS & set(words(id)) and ids.share(*ID_TYPES) >= MOST
    ]
    happened = [_operation_word(d) for d in sample.documents] if streams else []
    if sum(each is not None for each in happened) < MOST * len(happened):
        return None
    for id in streams:
        for number, numbers in sample.shapes.items():
            if number != id and numbers.numbered >= MOST and (several := _numbered(sample, id, number)):
                kinds = [{happened[at] for at in stream} for stream in several]
                if 2 * sum(len(each) > 1 for each in kinds) >= len(several):
                    return id, number
    return None


def _operation_word(document: Document) -> Value | None:
    """The word for what happened, if the row has it next to a payload or in one field with it; else None."""
    kinds = [
        value
        for name, value in document.fields.items()
        if bare(name) in OPERATIONS and bare(name) != "type" and _is_kind(value)
    ]
    for name, value in document.fields.items():
        if bare(name) in PAYLOADS:
            if kinds:
                return kinds[0]
            inner = read(value.data) if value.type == c.OBJECT else None
            if inner is not None and (kind := _event_in(inner)) is not None:
                return kind
            return document.get("type")
    return None


def _numbered(sample: Sample, id: str, number: str) -> list[list[int]]:
    """The rows of each stream with several, as positions in the sample; empty if two rows share a number."""
    streams: dict[Value, dict[Value, int]] = {}
    for at, d in enumerate(sample.documents):
        stream, place = d.get(id), d.get(number)
        if stream is None or place is None:
            continue
        if place in streams.setdefault(stream, {}):
            return []
        streams[stream][place] = at
    several = [list(each.values()) for each in streams.values() if len(each) > 1]
    return several if sum(map(len, several)) >= SOME * len(sample.documents) else []


def _time(sample: Sample) -> str:
    """The date named as a time that every row has; "" if the rows' own ObjectIds tell it as well."""
    dates = [n for n, s in sample.shapes.items() if s.share(c.DATE) >= MOST and bare(n) in TIMES]
    return max(dates, key=lambda name: (len(set(sample.shapes[name].values)), name != "updatedAt"), default="")


def picked(server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
    """The path that best names documents of another collection, whatever the rows record."""
    db = sample.ns.partition(".")[0]
    samples = [take(server, f"{db}.{name}", share(len(others))) for name in others[:20]]
    target = next(iter(_targets(server, sample, samples)), None)
    return None if target is None else _proposed(sample, target, "")
