"""Lists the newest versions, for layouts where every version is a document of its own.

The newest version of a document is the one with the highest number; it is chosen before any filter is applied. A list
walks the ids in the index on id and version and leaps over long histories, or it streams the keys of matching
versions and keeps those that are the newest. It never loads all versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from msgspec import Struct, field

from model.errors import NotFound
from model.foundation.collection_profile import CollectionProfile
from model.mql.order import value_key
from model.server.known_types import takes_types
from model.server.retry import Port, Terms
from model.storage.field_reader import FieldReader
from model.storage.reserved_fields import Own, number_of, same_version
from model.values import canonical as c
from model.values.canonical import Value
from model.values.kinds import KINDS

MOST = 2000
"""The most keys of one query."""

FAR = 100
"""With this many versions of one document, a new query that starts behind them is cheaper than reading past them."""

LEAP = 3
"""Keys to read after each such leap."""

TOGETHER = 200
"""The most documents to read in one query for a list."""

KEPT = 10_000
"""Documents whose newest version is remembered while a list is made."""

BRACKETS = tuple(
    tuple(kind.code for kind in alike)
    for _, alike in groupby(sorted(KINDS, key=attrgetter("rank")), key=attrgetter("rank"))
)
"""Types in a server's sort order; ``$gt`` compares only within one bracket."""

ALL_TYPES = tuple(kind for types in BRACKETS for kind in types)
_COMMON = (
    c.STRING, c.INT32, c.INT64, c.DOUBLE, c.BOOLEAN, c.DATE, c.OBJECT_ID, c.OBJECT, c.ARRAY, c.NULL, c.BINARY,
    c.REGEX, c.TIMESTAMP,
)  # fmt: skip
RARE = tuple(kind for kind in ALL_TYPES if kind not in _COMMON)
"""Types whose numbers some servers refuse."""


class _Pace(Struct):
    """How many keys the next query requests, by the number of versions of earlier documents."""

    wanted: int
    length: float = 1.0  # versions per document, as far as known
    alike: bool = False  # whether all earlier documents had equally many
    limit: int = 0
    _found: int = 0
    _ended: int = 0  # documents that this query has read completely
    _versions: int = 0  # their versions
    _longest: int = 0  # the most versions among them

    def __post_init__(self) -> None:
        self._ask(MOST)

    def ended(self, versions: int) -> None:
        """Note a document that was passed, with its number of versions; 0 if some were leapt over."""
        self._found += 1
        self._ended += versions > 0
        self._versions += versions
        self._longest = max(self._longest, versions)

    def cut(self, versions: int) -> None:
        """Note that a query ended after this many versions of a document that may have more."""
        if self._ended:
            self.length = self._versions / self._ended
            self.alike = self.length == self._longest
        else:
            self.length = max(self.length, versions)
        most = MOST if self._ended else FAR + LEAP  # lengths are unknown until the first document has ended
        self._ended = self._versions = self._longest = 0
        self._ask(most)

    def _ask(self, most: int) -> None:
        # A fifth more than expected, because histories differ; the rest is another query.
        left, room = self.wanted - self._found % self.wanted, 1.0 if self.alike else 1.2
        self.limit = LEAP if self.length > FAR else min(most, round(room * left * self.length) + LEAP)


class _Keys(Struct):
    """The last key of a document and the one before it; ``waits`` if its first key, the highest, is not listed yet."""

    last: bytes = b""
    prior: bytes = b""
    waits: bool = False


class _Run(Struct):
    """Documents whose ids the server finds equal, such as 1 and 1.0, with the highest version of each."""

    heads: dict[Value, bytes] = field(default_factory=dict)
    told: set[Value] = field(default_factory=set)
    doubled: set[Value] = field(default_factory=set)  # whose highest number is stored twice
    passed: int = 0

    @property
    def last(self) -> Value | None:
        """An id from this batch, or None if it is empty."""
        return next(reversed(self.heads), None)

    @property
    def leapable(self) -> bool:
        """Whether a query can start behind them."""
        return bool(self.heads) and all(leapable(id) and not _has_twins(id) for id in self.heads)

    def take(self, id: Value, key: bytes, down: bool) -> bytes:
        """Record the highest key of a document, if ``key`` holds one; returns no key."""
        if key and id not in self.told and not (down and id in self.heads):
            self.heads[id] = key
        return b""

    def untold(self) -> Iterator[tuple[Value, bytes]]:
        """The documents not listed yet; marks them as listed."""
        for id, key in self.heads.items():
            if id not in self.told:
                self.told.add(id)
                yield id, key


class NewestQuery:
    """The newest versions of one collection; ``newest`` reads one of them, whatever types its numbers have."""

    def __init__(self, server: Port, profile: CollectionProfile, newest: Callable[[Value], bytes]) -> None:
        self.server, self.profile, self.newest = server, profile, newest
        self._ids, self._numbers = FieldReader(profile.id), FieldReader(profile.version)
        self._types = TypeNumbers()
        self._seen = _Pace(1)  # versions per document, as the last list found them

    @property
    def _keys(self) -> dict[str, int]:
        """The fields to read of each version: its key, and the marker of a tombstone."""
        p = self.profile
        return {name: 1 for name in (p.id, p.version, p.deleted) if name}

    def picked(self, filter: Terms | None, sort: Terms | None, any_version: bool, wanted: int) -> Iterator[bytes]:
        """The keys of the newest versions to list, in order."""
        p = self.profile
        if (not filter or any_version) and (not sort or list(sort) == [p.id]):
            down = sort is not None and _is_descending(sort)
            for raw in self.heads(filter, down, wanted):
                if not filter:
                    yield raw
                elif (id := c.get(raw, (p.id,))) is not None:
                    yield self.newest(id)
            return
        keys = self._keys
        seen: set[Value] = set()
        heads: dict[Value, Value | None] = {}
        order: Terms = sort or {p.id: 1, p.version: 1}
        for raw in self.server.find(self.profile.ns, filter, sort=order, projection=keys):
            id = c.get(raw, (p.id,))
            if id is None or id in seen:
                continue
            if id not in heads:
                if len(heads) > KEPT:
                    heads.clear()
                heads[id] = self._head(id)
            if any_version or heads[id] == c.get(raw, ("_id",)):
                seen.add(id)
                yield raw

    def _head(self, id: Value) -> Value | None:
        """The physical id of a document's newest version; normally reads one key in the index."""
        p = self.profile
        filter, order = {p.id: {"$eq": id}}, {p.id: 1, p.version: -1}
        found = list(self.server.find(self.profile.ns, filter, order, {p.id: 1, p.version: 1}, limit=2))
        if found and not self._are_twins(*found):
            raw, v = found[0], c.get(found[0], (p.version,))
            if c.get(raw, (p.id,)) == id and v is not None and v.type in (c.INT32, c.INT64, c.DATE):
                return c.get(raw, ("_id",))
        try:
            return c.get(self.newest(id), ("_id",))
        except NotFound:
            return None

    def heads(self, filter: Terms | None, down: bool = False, wanted: int = TOGETHER) -> Iterator[bytes]:
        """The key of the highest matching version of each document, by id; asks for about ``wanted`` at once.

        A query reads as many keys as these documents probably have, in the order of the index on id and version:
        ascending, the last version of a document is its highest. Long histories are leapt over.
        """
        p, keys = self.profile, self._keys
        order = {p.id: -1, p.version: -1} if down else {p.id: 1, p.version: 1}
        behind: Terms | None = None
        skip = 0
        run, before, pace = _Run(), _Run(), _Pace(wanted, self._seen.length, self._seen.alike)
        last, keys_of = Value(0, b""), _Keys()  # the id of the previous key, and the keys of its document
        while True:
            rows, where = 0, _both(filter, behind)
            for raw in self.server.find(p.ns, where, sort=order, projection=keys, skip=skip, limit=pace.limit):
                rows += 1
                at = self._ids.spans(raw)[0]
                if at is None:
                    continue
                if at[0] == last.type and raw[at[1] : at[2]] == last.data:
                    run.passed, keys_of.prior, keys_of.last = run.passed + 1, keys_of.last, raw
                    if down and keys_of.waits:  # the second key of a document whose first is its highest
                        yield from self._settled(run, last, keys_of)
                    continue
                yield from self._settled(run, last, keys_of, down)
                keys_of = _Keys(raw, b"", down)
                id, before_it = Value(at[0], raw[at[1] : at[2]]), last
                last = id
                if run.heads and not _are_equal(id, before_it):
                    pace.ended(run.passed)
                    yield from self._unlisted(run)
                    run, before = _Run(), run
                run.passed += 1
                run.take(id, raw, down)
            if not down:
                yield from self._settled(run, last, keys_of, down)
            if rows < pace.limit:
                yield from self._unlisted(run)
                return
            pace.cut(run.passed)
            self._seen = pace
            # Three ways to read on: leap over the rest of this document; start after the documents before it and skip
            # what was read since; or, if no filter can start there, skip all rows read so far.
            if run.leapable and (down or run.passed > FAR or pace.limit == LEAP):
                yield from (self._highest(filter, of) or key for of, key in run.untold())
                behind, skip = self._after_run(run, down), 0
                run.passed = 0
            elif before.leapable:
                behind, skip = self._after_run(before, down), run.passed
                before = _Run()
            else:
                skip += rows

    def _unlisted(self, run: _Run) -> Iterator[bytes]:
        """The keys of the documents of a run that were not listed yet."""
        return (self.newest(of) if of in run.doubled else self._corrected(key, of) for of, key in run.untold())

    def _settled(self, run: _Run, id: Value, keys: _Keys, down: bool = True) -> Iterator[bytes]:
        """Record the highest key of a document whose keys end here, and if it is stored twice: which is the newest is
        then read from the documents. Returns the keys to list now.
        """
        if (keys.waits or not down) and keys.prior and self._are_twins(keys.prior, keys.last):
            run.doubled.add(id)
        if not down:
            run.take(id, keys.last, down)
            return iter(())
        keys.waits = False
        return self._unlisted(run)

    def _are_twins(self, key: bytes, *others: bytes) -> bool:
        v, *more = (self._numbers.values(each)[0] for each in (key, *others))
        return any(same_version(v, each) for each in more)

    def _highest(self, filter: Terms | None, id: Value) -> bytes | None:
        """The key of the highest matching version of one document."""
        p = self.profile
        where = _both(filter, {p.id: {"$eq": id, "$type": -1 if id.type == c.MIN_KEY else id.type}})
        order = {p.id: -1, p.version: -1}
        found = list(self.server.find(p.ns, where, sort=order, projection=self._keys, limit=2))
        if not found:
            return None
        return self.newest(id) if self._are_twins(*found) else self._corrected(found[0], id)

    def _after_run(self, run: _Run, down: bool) -> Terms:
        """The filter for documents behind a run, and for equal ids of another type."""
        name, last = self.profile.id, run.last
        assert last is not None
        behind = beyond(name, last, down, self._known_types)
        listed = {id.type for id in run.heads}
        unlisted = [kind for kind in _TYPED if last.type in _TYPED and kind not in listed]
        others = [kind for kind in unlisted if kind in self._known_types()] if unlisted else []
        return {"$or": [{name: {"$eq": last, "$type": others}}, *behind["$or"]]} if others else behind

    def _known_types(self) -> Sequence[int]:
        return self._types.known(self.server, self.profile.ns)

    def _corrected(self, key: bytes, id: Value) -> bytes:
        at = self._numbers.spans(key)[0]
        if at is not None and at[0] in (c.INT32, c.INT64, c.DATE):
            return key
        return self.newest(id)  # the server sorts a text above every number


def _both(filter: Terms | None, behind: Terms | None) -> Terms | None:
    return {"$and": [filter, behind]} if filter and behind else filter or behind


def _is_descending(sort: Terms) -> bool:
    value = next(iter(sort.values()))
    return (number_of(value) if isinstance(value, Value) else int(value)) == -1


_UNLIKE = (c.STRING, c.OBJECT_ID, c.INT32, c.INT64, c.DATE)
"""Types whose values a server finds equal only if they are identical."""
_TYPED = (c.INT32, c.INT64, c.DOUBLE, c.DECIMAL128)


def _are_equal(id: Value, other: Value) -> bool:
    """Whether a server finds two different ids equal."""
    return (id.type != other.type or id.type not in _UNLIKE) and value_key(id) == value_key(other)


def _has_twins(id: Value) -> bool:
    """Whether a server may find another id of the same type equal to this one: 0.0 and -0.0, 1.0 and 1.00, {a: 1}."""
    if id.is_container:
        return any(_has_twins(each) or each.type in _TYPED for each in c.items(id))
    return id.type == c.DECIMAL128 or (id.type == c.DOUBLE and id.python() == 0)


def leapable(id: Value) -> bool:
    """Whether :func:`beyond` can express the ids behind this one. No filter finds ids greater than NaN."""
    if id.type in (c.DOUBLE, c.DECIMAL128) and value_key(id)[1] == 0:
        return False
    # A comparison with a pattern, an array or null does not mean what it says: they match, contain or include missing.
    return any(id.type in types for types in BRACKETS) and id.type not in (c.REGEX, c.ARRAY, c.NULL, c.UNDEFINED)


class TypeNumbers:
    """The types that a server's filters may name: a server may refuse the number of a type that it cannot store.

    The server is asked once, and only if such a filter is needed; its version or product name proves nothing.
    """

    def __init__(self) -> None:
        self._known: Sequence[int] | None = None

    def known(self, server: Port, ns: str) -> Sequence[int]:
        """The types, tested by queries for one document; raises their errors, except those about an unknown type."""
        if self._known is None:
            rest = (kind for kind in ALL_TYPES if kind not in RARE)
            every = (*RARE, *rest)  # rare ones first: some servers check no number after one that matches
            whole = takes_types(server, ns, every)
            self._known = every if whole else [kind for kind in every if takes_types(server, ns, [kind])]
        return self._known


def _number(kind: int) -> int:
    return -1 if kind == c.MIN_KEY else kind


def beyond(name: str, last: Value, down: bool, types: Callable[[], Sequence[int]], end: str = "") -> Terms:
    """The filter for ids that a server sorts behind an id: later ones of its type, and all ids of later types.

    Only types that the server knows are named. ``end`` is the operator for the comparison, by default the strict one.
    """
    at = next(i for i, each in enumerate(BRACKETS) if last.type in each)
    rest = [kind for each in (BRACKETS[:at] if down else BRACKETS[at + 1 :]) for kind in each]
    known = types() if rest else ()
    # `$gt` stays within one type, so the types behind have to be named.
    numbers = [_number(kind) for kind in rest if kind in known]
    beyond: list[Terms] = [{name: {end or ("$lt" if down else "$gt"): last}}]
    return {"$or": beyond + [{name: {"$type": number}} for number in numbers]}


class PageQuery(Struct, frozen=True):
    """Current documents in the requested order; the filter tests the newest version of each.

    ``any_version`` lists a document if any of its versions matches. ``deleted``, without filter and order, adds
    deleted documents with a history at the end. One row beyond the page shows whether there are more.
    """

    filter: Terms | None = None
    sort: Terms | None = None
    projection: Terms | None = None
    skip: int = 0
    limit: int = 50
    any_version: bool = False
    deleted: bool = False


def with_own(projection: Terms | None, own: Own, *more: str) -> Terms | None:
    """The fields that a person asked for, plus those that a row always needs."""
    if not projection:
        return None
    names = (*own.names, *more)
    keeps = any(truthy(value) for name, value in projection.items() if name != "_id")
    if not keeps:
        return {name: value for name, value in projection.items() if name not in names} or None
    return {name: value for name, value in projection.items() if name not in names} | dict.fromkeys(sorted(names), 1)


def truthy(value: Any) -> bool:
    """Whether a projection includes a field, by this value."""
    return bool(value.python() if isinstance(value, Value) else value)
