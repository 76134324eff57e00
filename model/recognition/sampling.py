"""The basis of recognition: bounded samples of raw documents, indexes, and the shape of each field in a sample.

No collection is ever loaded. A sample has at most :data:`SAMPLED` documents and about :data:`SAMPLE_BYTES`; values
are cut from the bytes and decoded only if a number or time is needed. Documents that cannot be decoded are counted
and left out.
"""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, pairwise
from operator import attrgetter
from typing import Any, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from model.errors import OF_CIRCUMSTANCE, NotAllowed, Refused, TooMuch, Unreachable, Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.hash_recipe import hashed_kinds, shape_of
from model.recognition.evidence import Grounds
from model.recognition.field_names import can_play_a_role
from model.server.retry import Port, Terms
from model.storage.gaps import SECONDS
from model.storage.reserved_fields import WHOLE_NUMBERS, number_of, place_of, places_of, whole_number
from model.values import canonical as c
from model.values.canonical import Value

T = TypeVar("T")

SAMPLED = 60
WHOLE = 200  # a collection with so few documents is read completely, and never queried again
WHOLE_BYTES = 256 << 10  # their bytes at most
FEW = 3  # of each part, if the first document is large
SAMPLE_BYTES = 4 << 20
CHAIN_LENGTH = 60  # the newest versions of one document to read
TOGETHER = 400  # versions read in one query for several documents
PART = 20  # of longer histories: the oldest, and as many from the middle on
CHAIN_BYTES = 1 << 20
NOTHING: list[dict[str, Any]] = []
JOINED_BYTES = 16 << 20  # of the beginnings of collections that are read in one command
JOINED = 180  # pipelines in one command, which may have at most 1000 stages
LOOKED_UP = 120  # on a server that looks them up, as some of these take at most 500 stages
SEEDS = 3  # collections, of which one must have a document to look them up from
AT_ONCE = 20_000  # rows in one answer, or as many as it has room for
WITHIN_MS = 1500  # for one look-up; without an index it may scan the whole collection

HASHED = (c.STRING, c.BINARY)
_FRACTIONS = (c.DOUBLE, c.DECIMAL128)
_TYPE, _FIELDS = attrgetter("type"), attrgetter("fields")
SIGN = 0x80
"""The last byte of a negative number is at least that."""
ID_TYPES = (c.STRING, c.OBJECT_ID, c.INT32, c.INT64, c.BINARY, c.DOUBLE, c.DECIMAL128)


class Document(Struct, frozen=True, eq=False, dict=True):
    """A stored document, and its top-level fields by name; the first of duplicate names counts."""

    raw: bytes

    @cached_property
    def fields(self) -> dict[str, Value]:
        """The fields in stored order."""
        return _fields(self.raw)

    def get(self, name: str) -> Value | None:
        """A field, or None."""
        return self.fields.get(name)

    def place(self, name: str) -> int | None:
        """The position that a field gives the document among versions."""
        return place_of(self.fields.get(name))


def _fields(raw: bytes) -> dict[str, Value]:
    pairs = c.fields(raw)
    found = dict(pairs)
    if len(found) < len(pairs):
        found = dict(reversed(pairs))
        return {name: found[name] for name, _ in pairs}
    return found


class SampledIndex(Struct, frozen=True):
    """The fields of an index that holds all documents, in order, and whether it is unique."""

    names: tuple[str, ...]
    unique: bool


class SampledChain(Struct, frozen=True, eq=False, dict=True):
    """Documents that are versions of one another if the guess is right, oldest first."""

    documents: tuple[Document, ...]
    places: tuple[int, ...]
    newest: bool = True  # the last one is the newest of all
    unplaced: int = 0  # further documents with that id but without a valid version
    holes: frozenset[int] = frozenset()  # positions before which documents were not read

    @property
    def steps(self) -> Iterator[tuple[Document, Document]]:
        """Each version with its successor, if nothing between them was left out."""
        return (pair for at, pair in enumerate(pairwise(self.documents), 1) if at not in self.holes)

    @cached_property
    def stretches(self) -> tuple[tuple[int, ...], ...]:
        """The positions, split where documents were not read."""
        found: list[list[int]] = [[]]
        for at, place in enumerate(self.places):
            if at in self.holes:
                found.append([])
            found[-1].append(place)
        return tuple(map(tuple, found))

    def below(self, place: int) -> SampledChain:
        """The chain without the versions from ``place`` on."""
        count = sum(each < place for each in self.places)
        holes = frozenset(hole for hole in self.holes if hole < count)
        return replace(self, documents=self.documents[:count], places=self.places[:count], holes=holes)


class Sample(Struct, frozen=True, eq=False, dict=True):
    """Some documents of a collection, and its indexes."""

    ns: str
    ask_count: Callable[[], int | None]
    documents: tuple[Document, ...]
    unreadable: int
    ask_indexes: Callable[[], tuple[SampledIndex, ...]]
    whole: tuple[bytes, ...] | None = None
    """All documents of a small collection as stored; None if not all were read."""

    @cached_property
    def count(self) -> int | None:
        """The number of documents in the collection, counted on first use; None if that takes too long."""
        return self.ask_count()

    @cached_property
    def indexes(self) -> tuple[SampledIndex, ...]:
        """The indexes, read on first use: most collections are recognised without them."""
        return self.ask_indexes()

    @property
    def names(self) -> Iterable[str]:
        """The names of all fields in the sampled documents."""
        return self._values

    @cached_property
    def usual(self) -> frozenset[str]:
        """The names that most documents have, except those with a leading underscore."""
        return _usual({name: len(found) for name, found in self._values.items()}, len(self.documents))

    def every(self, name: str) -> frozenset[Value] | None:
        """The values of a top-level field in all documents of a small collection; None if not all were read."""
        return None if self.whole is None else self.once(_every, name)

    @cached_property
    def ids(self) -> frozenset[Value] | None:
        """Every ``_id`` of a small collection; None if not all documents were read."""
        return self.every("_id")

    @cached_property
    def name(self) -> str:
        """The collection's name without its database."""
        return self.ns.partition(".")[2]

    @cached_property
    def _told(self) -> dict[Any, Any]:
        return {}

    def once(self, tell: Callable[..., T], *more: Any) -> T:
        """A function's result for this sample, computed once for all comparisons with other samples."""
        told, key = self._told, (tell, more)
        if key not in told:
            told[key] = tell(self, *more)
        found: T = told[key]
        return found

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """Each field of the sampled documents that can play a role, in order of appearance."""
        total, values = len(self.documents), self._values.items()
        return {name: Shape(name, tuple(found), total) for name, found in values if can_play_a_role(name)}

    @cached_property
    def types(self) -> dict[str, tuple[int, ...]]:
        """The BSON types with which each field occurs in the sampled documents, ascending."""
        return {name: tuple(sorted({*map(_TYPE, found)})) for name, found in self._values.items()}

    def is_in_all(self, name: str) -> bool:
        """Whether every sampled document has a field."""
        return len(self._values.get(name, ())) == len(self.documents)

    @cached_property
    def kinds(self) -> frozenset[int]:
        """The BSON types of all fields in the sampled documents."""
        return frozenset(map(_TYPE, chain.from_iterable(self._values.values())))

    def column(self, name: str) -> tuple[Value | None, ...]:
        """A field in each sampled document, None where it is missing."""
        return self.once(_column, name)

    def places(self, name: str) -> tuple[int | None, ...]:
        """The position that a field gives each sampled document among versions."""
        return self.once(_places, name)

    @cached_property
    def _values(self) -> Mapping[str, Sequence[Value]]:
        fields: list[dict[str, Value]] = [*map(_FIELDS, self.documents)]
        if len(shapes := {*map(tuple, fields)}) == 1:  # as in most collections
            return dict(zip(*shapes, zip(*map(dict.values, fields), strict=True), strict=True))
        values: dict[str, list[Value]] = defaultdict(list)
        for each in fields:
            for name, value in each.items():
                values[name].append(value)
        return values

    def unique_with(self, version: str) -> tuple[str, ...]:
        """The fields that form a unique index with ``version`` and nothing else."""
        pairs = (index.names for index in self.indexes if index.unique and len(index.names) == 2)
        return tuple(next(n for n in names if n != version) for names in pairs if version in names)

    def leads_index(self, name: str) -> bool:
        """Whether a look-up by this field can use an index."""
        return name == "_id" or any(index.names[0] == name for index in self.indexes)

    def is_unique(self, name: str) -> bool:
        """Whether an index makes this field unique."""
        return name == "_id" or any(index.unique and index.names == (name,) for index in self.indexes)


class Shape(Struct, frozen=True, eq=False, dict=True):
    """The values of one field in the documents of a sample."""

    name: str
    values: tuple[Value, ...]
    total: int  # documents in the sample

    @cached_property
    def types(self) -> dict[int, int]:
        """How often each BSON type occurred."""
        every = [*map(_TYPE, self.values)]
        return {kind: every.count(kind) for kind in dict.fromkeys(every)}

    @cached_property
    def distinct(self) -> int:
        """How many different values occurred."""
        return len(set(self.values))

    def of_types(self, types: Collection[int]) -> Sequence[Value]:
        """Those of its values that have one of these types."""
        if all(map(types.__contains__, self.types)):
            return self.values
        return [v for v in self.values if v.type in types]

    def share(self, *types: int) -> float:
        """The share of sampled documents that have the field with one of these types."""
        if not self.total:
            return 0.0
        if not types:
            return len(self.values) / self.total
        if len(types) == 1:
            return self.types.get(types[0], 0) / self.total
        return sum([times for kind, times in self.types.items() if kind in types]) / self.total

    @cached_property
    def numbered(self) -> float:
        """The share of sampled documents in which it is a whole number from 0."""
        if self.types.keys().isdisjoint(WHOLE_NUMBERS):
            return 0.0
        fits = sum([v.type in WHOLE_NUMBERS and v.data[-1] < SIGN for v in self.values])
        return fits / self.total if self.total else 0.0

    @cached_property
    def broken(self) -> float:
        """The share of sampled documents in which it is a number with a fraction, as amounts are and ids are not."""
        if self.types.keys().isdisjoint(_FRACTIONS):
            return 0.0
        fractions = sum(1 for v in self.values if v.type in _FRACTIONS and number_of(v) is None)
        return fractions / self.total if self.total else 0.0

    @cached_property
    def sealing(self) -> float:
        """The share of sampled documents in which it looks like a hash."""
        if self.types.keys().isdisjoint(HASHED):
            return 0.0
        kinds = hashed_kinds()  # by which most values fall out without a call
        found = [v for v in self.values if (v.type, len(v.data)) in kinds and shape_of(v) is not None]
        return len(found) / self.total if self.total else 0.0


def usual_names(documents: Sequence[Document]) -> frozenset[str]:
    """The names that most of these documents have, except those with a leading underscore."""
    return _usual(Counter(chain.from_iterable(d.fields for d in documents)), len(documents))


def _usual(counts: Mapping[str, int], total: int) -> frozenset[str]:
    # Names with an underscore mostly belong to a framework, and every collection of it would look like the others.
    return frozenset(name for name, n in counts.items() if 2 * n > total and not name.startswith("_"))


def _column(sample: Sample, name: str) -> tuple[Value | None, ...]:
    shape = sample.shapes.get(name)
    if shape is not None and len(shape.values) == len(sample.documents):
        return shape.values
    return tuple([document.fields.get(name) for document in sample.documents])


def _places(sample: Sample, name: str) -> tuple[int | None, ...]:
    return tuple(places_of(sample.column(name)))


def _every(sample: Sample, name: str) -> frozenset[Value]:
    whole, shape = sample.whole or (), sample.shapes.get(name)
    if len(whole) == len(sample.documents):
        return frozenset(shape.values if shape is not None else ())
    return frozenset(v for raw in whole if (d := read(raw)) is not None and (v := d.get(name)) is not None)


def is_hash(value: Value | None) -> bool:
    """Whether a value has the type and length of a hash."""
    return shape_of(value) is not None


# --- taking samples

KEPT_BYTES = 128 << 20  # of all samples of a database together


def share(collections: int) -> int:
    """The bytes available for one sample among this many collections."""
    return min(SAMPLE_BYTES, KEPT_BYTES // max(1, collections))


class Beginning(Struct, frozen=True):
    """The first documents of a collection by ``_id``, and whether there are no others."""

    rows: tuple[bytes, ...]
    whole: bool


def begin(server: Port, ns: str, most: int = SAMPLE_BYTES) -> Beginning:
    """The first documents (all, of a small collection) in one command; raises the errors of :meth:`.Port.find`."""
    found: list[bytes] = []
    left = most // 2
    # By `_id`, which always has an index: in any other order a large collection might be sorted first.
    for raw in server.find(ns, sort={"_id": 1}, limit=WHOLE + 1, max_ms=WITHIN_MS, batch=WHOLE + 1):
        found.append(raw)
        left -= len(raw)
        if left < 0:
            return Beginning(tuple(found), False)
    return Beginning(tuple(found), len(found) <= WHOLE)


_AT, _ROW = b"\x10at\x00", b"\x03row\x00"


def together(server: Port, parts: Sequence[tuple[str, Sequence[Terms]]]) -> Iterator[tuple[int, bytes]]:
    """The rows of pipelines over collections of one database, each with its pipeline's number, in order.

    Reads them in one command, or a few if there are very many. Raises the errors of :meth:`.Port.aggregate`, for
    example if a server cannot join collections.
    """
    for start in range(0, len(parts), JOINED):
        some = parts[start : start + JOINED]
        rows = _united(server, some, start)
        try:
            first = next(rows, None)
        except OF_CIRCUMSTANCE:
            raise
        except Refused as refused:
            # Servers without `$unionWith` have `$lookup`, with which one document gathers the rows of all.
            for at, row in _looked_up(server, some, refused):
                yield start + at, row
            continue
        if first is not None:
            yield first
            yield from rows


def _united(server: Port, parts: Sequence[tuple[str, Sequence[Terms]]], start: int) -> Iterator[tuple[int, bytes]]:
    told: list[tuple[str, list[Terms]]] = [
        # Each row says from which pipeline it is, because one answer has those of all.
        (ns, [*stages, {"$replaceRoot": {"newRoot": {"at": at, "row": "$$ROOT"}}}])
        for at, (ns, stages) in enumerate(parts, start)
    ]
    (first, pipeline), *more = told
    unions = [{"$unionWith": {"coll": ns.partition(".")[2], "pipeline": stages}} for ns, stages in more]
    at, head = 0, b"none yet"
    for raw in server.aggregate(first, [*pipeline, *unions], max_ms=WITHIN_MS, batch=AT_ONCE):
        # Cut out without an object for each if it stands as usual, mostly behind one of the same pipeline.
        if raw[4:17] != head and raw.startswith(_AT, 4) and raw.startswith(_ROW, 12):
            at, head = int.from_bytes(raw[8:12], "little"), raw[4:17]
        if raw[4:17] == head and int.from_bytes(raw[17:21], "little") == len(raw) - 18:
            yield at, raw[17:-1]
        else:
            number, row = (value for _, value in c.fields(raw))
            yield number.python(), row.data


def _looked_up(
    server: Port, parts: Sequence[tuple[str, Sequence[Terms]]], refused: Refused
) -> Iterator[tuple[int, bytes]]:
    for start in range(0, len(parts), LOOKED_UP):
        some = parts[start : start + LOOKED_UP]
        lookups = [
            {"$lookup": {"from": ns.partition(".")[2], "pipeline": stages, "as": str(at)}}
            for at, (ns, stages) in enumerate(some, start)
        ]
        # It takes some document, which the first collection lacks if it is empty.
        for ns in list(dict.fromkeys(ns for ns, _ in parts))[:SEEDS]:
            gathered = server.aggregate(ns, [{"$limit": 1}, {"$project": {"_id": 1}}, *lookups], max_ms=WITHIN_MS)
            if (document := next(gathered, None)) is not None:
                break
        else:
            raise refused
        for name, rows in c.fields(document):
            if name != "_id":
                yield from ((int(name), row.data) for row in c.items(rows))


def beginnings(server: Port, places: Sequence[str], most: int = SAMPLE_BYTES) -> Mapping[str, Beginning]:
    """The first documents of several collections of one database, as :func:`take` reads them, in two commands.

    Collections of large documents are left out, and all where a server cannot join collections or takes too long.
    """
    found: dict[str, Beginning] = {}
    limits: dict[str, int] = {}
    for ns, rows in _joined_firsts(server, dict.fromkeys(places, 2)).items():
        first, whole = _begun(rows, 2, most // 3)
        if whole:
            found[ns] = Beginning(tuple(first), True)
        elif max(map(len, first)) * ((limit := read_first(first, most)) - 1) <= min(WHOLE_BYTES, most // 4):
            limits[ns] = limit
    for ns, rows in _joined_firsts(server, limits).items():
        first, whole = _begun(rows, limits[ns], most // 2)
        found[ns] = Beginning(tuple(first), whole)
    return found


def _joined_firsts(server: Port, limits: Mapping[str, int]) -> Mapping[str, Sequence[bytes]]:
    """The first rows of several collections by ``_id``, up to a limit of each; only of those read completely."""
    places, left = list(limits), JOINED_BYTES
    parts: list[tuple[str, list[Terms]]] = [(ns, [{"$sort": {"_id": 1}}, {"$limit": limits[ns]}]) for ns in places]
    found: list[list[bytes]] = [[] for _ in places]
    complete = len(parts)
    try:
        for at, raw in together(server, parts) if len(parts) > 1 else ():
            found[at].append(raw)
            left -= len(raw)
            if left < 0:
                complete = at
                break
    except Unreachable:
        raise
    except (Refused, Unreadable, ValueError, IndexError):
        return {}
    return dict(zip(places[:complete], found, strict=False)) if len(parts) > 1 else {}


def take(
    server: Port,
    ns: str,
    most: int = SAMPLE_BYTES,
    begun: Beginning | None = None,
    further: Sequence[bytes] | None = None,
) -> Sample:
    """A sample of a collection: the first and last documents by ``_id``, and some between them if it is large.

    Few documents are sampled completely, up to about ``most`` bytes. A small collection takes one or two commands.
    Raises ``Unreachable`` and ``NotAllowed``; other failed queries are skipped. ``begun`` is what was already read,
    ``further`` the last documents and some between of a large one.
    """
    kept = _Taken(server, ns)
    first, whole = (list(begun.rows), begun.whole) if begun is not None else _first(server, ns, most)
    # Each part has its own bytes, so that a large document at the start leaves room for the last ones.
    third = SAMPLED // 3
    if whole:
        kept.add(_spread_evenly(first, third), most, distinct=True)
        return kept.sample(lambda: len(first), first)
    small = not first or len(first[0]) <= most // 3
    if len(first) <= SAMPLED and (count := kept.count()) is not None and count <= SAMPLED:
        if not kept.add(first if small or begun is not None else _by_id(server, ns, 1, SAMPLED), most // 2):
            kept.add(_by_id(server, ns, -1, SAMPLED), most // 2)
    else:
        part = third if small else FEW
        kept.add(first[:part], most // 3)
        if further is not None:
            kept.add(further, 2 * most // 3)
        else:
            kept.add(_by_id(server, ns, -1, part), most // 3)
            kept.add(_picked(server, ns, part), most // 3)
    if not kept.found:
        # In no order: without an index on `_id`, as in a capped collection or on another server, a sort may take too
        # long.
        kept.add(server.find(ns, limit=SAMPLED, max_ms=WITHIN_MS), most)
    return kept.sample(kept.count)


def _asked_once(ask: Callable[[], T]) -> Callable[[], T]:
    """The answer of a question that is asked on first use; ``functools.cache`` takes longer to make for each sample."""
    found: list[T] = []

    def told() -> T:
        if not found:
            found.append(ask())
        return found[0]

    return told


class _Taken:
    """The documents taken from a collection so far, each once."""

    def __init__(self, server: Port, ns: str) -> None:
        self._server, self._ns = server, ns
        self.found: dict[bytes, bytes] = {}
        self.count = _asked_once(partial(counted, server, ns))  # a method of its own would keep the rows in a cycle

    def add(self, rows: Iterable[bytes], budget: int, distinct: bool = False) -> bool:
        """Add rows up to this many bytes; returns whether these were all. None of ``distinct`` ones comes twice."""
        if distinct and isinstance(rows, list) and sum(map(len, rows)) <= budget:
            self.found.update(zip(rows, rows, strict=True))
            return True
        with contextlib.suppress(_Passed):
            for raw in _within(iter(rows)):
                self.found.setdefault(raw if distinct else _key(raw), raw)
                budget -= len(raw)
                if budget < 0:
                    return False
        return True

    def sample(self, count: Callable[[], int | None], whole: Sequence[bytes] | None = None) -> Sample:
        """The sample of everything added; ``whole`` is the complete collection, if it was read."""
        documents = [document for raw in self.found.values() if (document := read(raw)) is not None]
        held = None if whole is None or len(documents) < min(len(whole), SAMPLED) else tuple(whole)
        ask = _asked_once(partial(_indexes, self._server, self._ns))
        return Sample(self._ns, count, tuple(documents), len(self.found) - len(documents), ask, held)


def counted(server: Port, ns: str) -> int | None:
    """The number of documents in a collection; None if that takes too long or is forbidden."""
    with contextlib.suppress(NotAllowed):
        return gently(lambda: server.count(ns, max_ms=WITHIN_MS), None)
    return None


def _by_id(server: Port, ns: str, way: int, limit: int) -> Iterator[bytes]:
    return server.find(ns, sort={"_id": way}, limit=limit, max_ms=WITHIN_MS)


def _first(server: Port, ns: str, most: int) -> tuple[list[bytes], bool]:
    """The first documents, and whether there are no others; two are read first to learn how large they are."""
    first, whole = _read(_by_id(server, ns, 1, 2), 2, most // 3)
    if whole or (first and len(first[0]) > most // 3):
        return first, whole
    limit = read_first(first, most)
    return _read(_by_id(server, ns, 1, limit), limit, most // 2)


def read_first(first: Sequence[bytes], most: int) -> int:
    """How many documents to read first, judged by the sizes of two."""
    return 1 + (WHOLE if WHOLE * max(map(len, first), default=0) <= min(WHOLE_BYTES, most // 4) else SAMPLED)


def _spread_evenly(rows: Sequence[bytes], third: int) -> Sequence[bytes]:
    """The first and last rows, and as many evenly from between; all rows if there are few."""
    between = range(third, len(rows) - third)
    if len(between) <= third:
        return rows
    return [*rows[:third], *rows[-third:], *(rows[between[n * len(between) // third]] for n in range(third))]


def _read(rows: Iterator[bytes], limit: int, budget: int) -> tuple[list[bytes], bool]:
    """Rows up to this many bytes, and whether there are no others."""
    found: list[bytes] = []
    with contextlib.suppress(_Passed):
        for raw in _within(rows):
            found.append(raw)
            budget -= len(raw)
            if budget < 0:
                return found, False
        return found, len(found) < limit
    return found, False


def _begun(rows: Sequence[bytes], limit: int, budget: int) -> tuple[list[bytes], bool]:
    """What :func:`_read` returns for rows that are there."""
    return (list(rows), len(rows) < limit) if sum(map(len, rows)) <= budget else _read(iter(rows), limit, budget)


def _picked(server: Port, ns: str, size: int) -> Iterator[bytes]:
    return server.aggregate(ns, [{"$sample": {"size": size}}], max_ms=WITHIN_MS)


def _indexes(server: Port, ns: str) -> tuple[SampledIndex, ...]:
    try:
        found = gently(lambda: server.indexes(ns), NOTHING)
        # A partial index keeps nothing unique but what it holds, and leads to nothing else; a hidden one leads nowhere.
        return tuple(_index(each) for each in found if not (each.get("partialFilterExpression") or each.get("hidden")))
    except NotAllowed:
        return ()


def _key(raw: bytes) -> bytes:
    try:
        name, kind, start, stop = next(c.elements(raw))
    except (Unreadable, StopIteration):
        return raw
    return bytes((kind,)) + raw[start:stop] if name == b"_id" else raw


class _Passed(Exception):
    """Raised for a query that the server cannot answer, to skip it."""


def _within(rows: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from rows
    except (Unreachable, NotAllowed):
        raise
    except Refused:
        raise _Passed from None


def gently(ask: Callable[[], T], otherwise: T) -> T:
    """The answer, or ``otherwise`` if the server has none; lost connections and missing rights still raise."""
    try:
        return ask()
    except (Unreachable, NotAllowed):
        raise
    except Refused:
        return otherwise


def read(raw: bytes) -> Document | None:
    """A document whose fields can be read, or None."""
    document = Document(raw)
    try:
        # Where the property would keep them: there are thousands of documents, and asking it takes as long.
        vars(document)["fields"] = _fields(raw)
    except Unreadable:
        return None
    return document


def _index(description: Mapping[str, object]) -> SampledIndex:
    key = description.get("key")
    names = tuple(map(str, key)) if isinstance(key, Mapping) else ()
    return SampledIndex(names or ("",), bool(description.get("unique")))


def matching(
    server: Port,
    ns: str,
    filter: Terms,
    limit: int = CHAIN_LENGTH,
    projection: Terms | None = None,
    sort: Terms | None = None,
) -> tuple[list[Document], bool]:
    """Matching documents, and whether there are no others; limited in number, bytes and time."""
    found: list[Document] = []
    left = CHAIN_BYTES
    try:
        # One more than wanted shows whether there are others.
        found_there = server.find(ns, filter, sort, projection, limit=limit + 1, max_ms=WITHIN_MS, batch=limit + 1)
        for raw in _within(found_there):
            if len(found) == limit or left < 0:
                return found, False
            left -= len(raw)
            if (document := read(raw)) is not None:
                found.append(document)
    except _Passed:
        return found, False
    return found, True


def chain_of(documents: Iterable[Document], version: str, newest: bool = True) -> SampledChain:
    """The documents with a valid version, in the order of versions."""
    several = list(documents)
    placed = sorted(((place, n, d) for n, d in enumerate(several) if (place := d.place(version)) is not None))
    ordered = tuple(d for _, _, d in placed)
    return SampledChain(ordered, tuple(place for place, _, _ in placed), newest, len(several) - len(placed))


def scattered(documents: Iterable[Document], version: str) -> SampledChain:
    """Sampled documents of one chain: the versions between them are unknown."""
    made = chain_of(documents, version, newest=False)
    return replace(made, holes=frozenset(range(len(made.documents))))


def read_chains(
    server: Port,
    ns: str,
    id: str,
    version: str,
    ids: Sequence[Value],
    singly: int = 100,
    heights: Mapping[Value, int] | None = None,
) -> Iterator[tuple[Value, SampledChain]]:
    """The versions of some documents: short histories in one query, long ones in parts.

    Reads at most ``singly`` long ones one by one, because without an index each scans the collection. With an index,
    ``heights`` estimates the highest number of each, and long ones too are read in one command.
    """
    # A number from a billion on is a time, not a count of versions.
    long = heights is not None and sum(place for place in heights.values() if place < SECONDS) > TOGETHER
    found, whole = matching(server, ns, {id: {"$in": list(ids)}}, TOGETHER) if ids and not long else ([], not ids)
    if whole:
        for value in ids:
            if told := [d for d in found if d.get(id) == value]:
                yield value, chain_of(told, version)
        return
    each_alone = _OneByOne(server, ns, id, version)
    joined = None
    if heights is not None:
        joined = gently(lambda: _Joined(server, ns, id, version, {value: heights.get(value, 0) for value in ids}), None)
    for value in ids[:singly]:
        if (chain := _long_chain(joined or each_alone, value, version)) is not None:
            yield value, chain


def _long_chain(parts: _Stretches, value: Value, version: str) -> SampledChain | None:
    """The versions of one document: the newest, and of a long history also the oldest and some from the middle."""
    newest, whole = parts.newest(value)
    if not newest:
        return None
    if whole:
        return chain_of(newest, version)
    several = [chain_of(each, version) for each in (parts.oldest(value), newest)]
    # From the middle too: numbers may be whole at both ends of a history and repeat between them.
    if (place := _middle(*several)) is not None:
        between = chain_of(parts.middle(value, _like(place, newest[0].get(version))), version)
        if between.places and between.places[0] < several[-1].places[0]:
            several.insert(1, between)
    joined = several[0]
    for each in several[1:]:
        joined = _behind(joined, each)
    return joined


def _middle(oldest: SampledChain, newest: SampledChain) -> int | None:
    """A position between two stretches of a chain; None if there is none."""
    low, high = oldest.places, newest.places
    return (low[-1] + high[0]) // 2 if low and high and high[0] - low[-1] > 1 else None


_Stretch = tuple[Value, Terms, int, int]
"""A document's id, which of its versions, in which order, and how many."""


class _Stretches(Protocol):
    """Reads stretches of the histories of some documents."""

    def newest(self, value: Value) -> tuple[Sequence[Document], bool]:
        """The newest versions of a document, and whether there are no others."""

    def oldest(self, value: Value) -> Sequence[Document]:
        """The oldest versions."""

    def middle(self, value: Value, start: Value) -> Sequence[Document]:
        """Some versions from about a position on."""


class _OneByOne:
    """Reads each stretch of a history on request."""

    def __init__(self, server: Port, ns: str, id: str, version: str) -> None:
        self._server, self._ns, self._id, self._version = server, ns, id, version

    def newest(self, value: Value) -> tuple[Sequence[Document], bool]:
        """The newest versions of a document, and whether there are no others."""
        return self._read(value, {}, -1, CHAIN_LENGTH)

    def oldest(self, value: Value) -> Sequence[Document]:
        """The oldest versions."""
        return self._read(value, {}, 1, PART)[0]

    def middle(self, value: Value, start: Value) -> Sequence[Document]:
        """Some versions from a position on."""
        return self._read(value, {self._version: {"$gte": start}}, 1, PART)[0]

    def _read(self, value: Value, where: Terms, way: int, limit: int) -> tuple[Sequence[Document], bool]:
        filter, sort = {self._id: {"$eq": value}, **where}, {self._id: 1, self._version: way}
        found, whole = matching(self._server, self._ns, filter, limit, sort=sort)
        return [d for d in found if d.get(self._id) == value], whole


class _Joined:
    """Reads all stretches of many histories in one command; raises as :func:`together` does.

    The middle of a history is estimated from its highest number, or from others' if these are not times.
    """

    def __init__(self, server: Port, ns: str, id: str, version: str, heights: Mapping[Value, int]) -> None:
        self._server, self._ns, self._id, self._version = server, ns, id, version
        self._alone = _OneByOne(server, ns, id, version)
        wanted: list[_Stretch] = []
        highest = max(heights.values(), default=0)
        for value, height in heights.items():
            wanted += [(value, {}, -1, CHAIN_LENGTH + 1), (value, {}, 1, PART)]
            middle = height // 2 if height // 2 > PART else highest // 2
            if PART < middle < SECONDS // 2:
                wanted.append((value, {version: {"$gte": whole_number(middle)}}, 1, PART))
        found = self._read(wanted)
        self._newest = {each[0]: rows for each, rows in zip(wanted, found, strict=True) if each[2] < 0}
        self._oldest = {each[0]: rows for each, rows in zip(wanted, found, strict=True) if each[2] > 0 and not each[1]}
        self._middles = {each[0]: rows for each, rows in zip(wanted, found, strict=True) if each[1]}

    def newest(self, value: Value) -> tuple[Sequence[Document], bool]:
        """The newest versions of a document, and whether there are no others."""
        found = self._newest[value]
        return self._exactly(value, found[:CHAIN_LENGTH]), len(found) <= CHAIN_LENGTH

    def oldest(self, value: Value) -> Sequence[Document]:
        """The oldest versions."""
        return self._exactly(value, self._oldest[value])

    def middle(self, value: Value, start: Value) -> Sequence[Document]:
        """Some versions from about a position on."""
        found = self._middles.get(value)
        return self._alone.middle(value, start) if found is None else self._exactly(value, found)

    def _exactly(self, value: Value, found: Sequence[Document]) -> Sequence[Document]:
        # Exactly this id: the server also returns those that it finds equal.
        return [document for document in found if document.get(self._id) == value]

    def _read(self, wanted: Sequence[_Stretch]) -> list[list[Document]]:
        parts: list[tuple[str, list[Terms]]] = []
        for value, where, way, most in wanted:
            match: Terms = {self._id: {"$eq": value}, **where}
            order: Terms = {self._id: 1, self._version: way}
            parts.append((self._ns, [{"$match": match}, {"$sort": order}, {"$limit": most}]))
        found: list[list[Document]] = [[] for _ in wanted]
        left = 8 * CHAIN_BYTES
        for at, raw in together(self._server, parts):
            left -= len(raw)
            if left < 0:
                raise TooMuch(f"The histories sampled in {self._ns} are too large to be read together.")
            if (document := read(raw)) is not None:
                found[at].append(document)
        return found


def _like(place: int, version: Value | None) -> Value:
    if version is not None and version.type == c.DATE:
        return Value(c.DATE, place.to_bytes(8, "little", signed=True))
    return whole_number(place)


def _behind(first: SampledChain, then: SampledChain) -> SampledChain:
    """Two stretches of one chain; the second starts above the first, or within it."""
    known = {document.raw for document in first.documents}
    new = [at for at, document in enumerate(then.documents) if document.raw not in known]
    touching = len(new) < len(then.documents)
    hole = frozenset() if touching or not new else frozenset({len(first.documents)})
    return SampledChain(
        first.documents + tuple(then.documents[at] for at in new),
        first.places + tuple(then.places[at] for at in new),
        then.newest,
        first.unplaced + then.unplaced,
        first.holes | hole,
    )


SUREST = 0.98
"""The highest confidence from a sample, which never proves a whole collection."""


class Proposal(Struct, frozen=True):
    """A layout that fits a collection."""

    profile: CollectionProfile
    confidence: float
    why: str
    alternatives: tuple[str, ...] = ()
    about: tuple[str, ...] = ()  # log: the collections of the documents that rows are about
    rows: tuple[str, ...] = ()  # the collections with rows, if each document has its own
    grounds: Grounds = Grounds()  # the evidence for confidence and why
    doubt: str = ""  # plain: why nothing should be written by it, one sentence


def on_grounds(profile: CollectionProfile, grounds: Grounds, alternatives: tuple[str, ...] = ()) -> Proposal:
    """The proposal of a layout with the confidence of its evidence."""
    return Proposal(profile, round(grounds.confidence, 2), grounds.why, alternatives, grounds=grounds)


# --- sentences

SHARES = {
    "document": (
        "the one document", "all {whole} documents", "{part} of {whole} documents", "none of {whole} documents"
    ),
    "id": ("the one id", "all {whole} ids", "{part} of {whole} ids", "none of {whole} ids"),
}  # fmt: skip
"""Words for a share of things, as whole phrases, so that each can be translated."""


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def of(part: int, whole: int, noun: str) -> str:
    """``2 of 3 documents``, ``all 3 documents``, ``the one document``; the noun is a key of ``SHARES``."""
    one, every, some, none = SHARES[noun]
    said = (every if whole > 1 else one) if part == whole else some if part else none
    return said.format(part=part, whole=whole)
