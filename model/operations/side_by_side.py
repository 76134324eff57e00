"""Two collections side by side: what is the same, what changed, and what only one of them has.

Both are read once, in the order of a key, so memory does not grow with them. Documents whose stored bytes are equal
are never decoded. Where both layouts keep versions, the histories of a differing pair tell which side is behind. With a
filter, the documents are those that match on either side: one that matches on one side only is looked up on the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from model.diff.comparison_rules import EXACT, ComparisonRules, Names, written
from model.errors import NotFound, Refused
from model.foundation.records import Checkpoint, Version, no_checkpoint
from model.layouts.base import Layout
from model.layouts.history_batches import together
from model.mql.order import Key, value_key
from model.server.retry import Terms
from model.storage.newest_query import PageQuery
from model.storage.reserved_fields import number_of
from model.text.names import id_name
from model.values import canonical as c
from model.values.canonical import Value

Change: TypeAlias = Literal["changed", "ahead", "behind", "diverged", "only here", "only there"]
"""How the first collection stands to the second."""

ALL = 2**31 - 1
STEP = 1000  # documents between two checkpoints
TOGETHER = 200  # documents looked up on the other side in one query, or whose histories are read together
PATIENCE = 10_000  # equal documents after which those that wait for others are told all the same
PAUSE: Literal["pause"] = "pause"


class Standing(Struct, frozen=True):
    """How one document of both collections differs; a side without it has neither id, version nor mark."""

    key: Value
    change: Change
    here: Value | None = None  # its id on each side
    there: Value | None = None
    v: Value | None = None  # its current version on each side, if it has one
    w: Value | None = None
    since: Value | None = None  # the last version that both have with the same content
    mark: str = ""  # the hash of its content on each side
    other_mark: str = ""


_FLIPPED: dict[Change, Change] = {
    "ahead": "behind", "behind": "ahead", "only here": "only there", "only there": "only here"
}  # fmt: skip


def flipped(each: Standing) -> Standing:
    """How the document stands seen from the other side."""
    change = _FLIPPED.get(each.change, each.change)
    return Standing(
        each.key, change, each.there, each.here, each.w, each.v, each.since, each.other_mark, each.mark
    )  # fmt: skip


class Side(Struct, frozen=True):
    """One collection of a comparison, with the key by which its documents are paired."""

    layout: Layout
    keeps_history: bool
    key: Names = ()  # () means the id
    filter: Terms | None = None  # the documents that are compared; None: all

    @property
    def name(self) -> str:
        """The key in words."""
        return written(self.key or (self.layout.profile.id,))

    def rows(self) -> Iterator[bytes]:
        """The current documents as stored, in the order of the key."""
        layout, p = self.layout, self.layout.profile
        if self.filter:
            order = {".".join(self.key) or p.id: 1}
            return (row.raw for row in layout.page(PageQuery(self.filter, order, limit=ALL)))
        if self.key:
            order = {".".join(self.key): 1}
            if layout.own_documents:
                return (row.raw for row in layout.page(PageQuery(sort=order, limit=ALL)))
            inside = self._inside(".".join(self.key))
            return layout.server.aggregate(layout.ns, [*self._without(), {"$sort": {inside: 1}}])
        if layout.own_documents or p.id_parts:
            return (row.raw for row in layout.page(PageQuery(limit=ALL)))
        fields = {p.prev: 0} if "prev" in layout.roles else None
        return layout.server.find(layout.ns, sort={p.id: 1}, projection=fields)

    def having(self, keys: Sequence[Value]) -> dict[Key, bytes]:
        """The current documents with these keys, as stored, by what equal keys have in common; whether they match the
        filter or not.
        """
        found: dict[Key, bytes] = {}
        wanted = set(map(value_key, keys))
        for raw in self._having(keys):
            key = self.value(raw)
            if value_key(key) in wanted and found.setdefault(value_key(key), raw) is not raw:
                raise self.repeated(key)
        return found

    def _having(self, keys: Sequence[Value]) -> Iterator[bytes]:
        layout, path = self.layout, ".".join(self.key) or self.layout.profile.id
        if layout.holds_changes and not self.key:  # a filter would have to fold every document
            for key in keys:
                with suppress(NotFound):
                    yield layout.document(layout.version(key).raw or c.EMPTY)
        else:
            query = PageQuery({"$or": [{path: {"$eq": key}} for key in keys]}, limit=ALL)
            yield from (row.raw for row in layout.page(query))

    def repeated(self, key: Value) -> Refused:
        """The refusal of a key that several documents have."""
        return Refused(
            f"{self.layout.ns} has {id_name(key)} in {self.name} several times, so documents cannot be paired by it; "
            "take a key that is unique."
        )

    def _inside(self, path: str) -> str:
        return f"{self.layout.profile.current}.{path}" if self._is_embedded else path

    def _without(self) -> list[dict[str, dict[str, int]]]:
        return [{"$project": {self.layout.profile.prev: 0}}] if "prev" in self.layout.roles else []

    @property
    def _is_embedded(self) -> bool:
        return {"prev", "current"} <= set(self.layout.roles)

    def id(self, raw: bytes) -> Value:
        """The id of a stored document."""
        return c.get(raw, (self.layout.profile.id,)) or Value.of(None)

    def value(self, raw: bytes) -> Value:
        """The key of a stored document; null if it lacks one. Raises ``Refused`` for an array."""
        if not self.key:
            return self.id(raw)
        found = c.get(self.layout.document(raw), self.key) or Value.of(None)
        if found.type == c.ARRAY:
            raise Refused(
                f"{self.layout.ns} has an array in {self.name}, in {id_name(self.id(raw))}, so documents cannot be "
                "paired by it; take another key."
            )
        return found


class SideBySide(Struct):
    """A comparison: an iterator over what differs; :attr:`same`, :attr:`counts` and :attr:`half` grow while it is
    read.
    """

    here: Side
    there: Side
    rules: ComparisonRules = EXACT
    step: Checkpoint = no_checkpoint
    same: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    half: int = 0
    """The documents that match the filter on one side only, and are there on both."""

    def __iter__(self) -> Iterator[Standing]:
        for each in self._settled():
            if each is None:
                self.same += 1
            else:
                self.counts[each.change] = self.counts.get(each.change, 0) + 1
                yield each

    def _settled(self) -> Iterator[Standing | None]:
        """The differing documents, None for one that is the same, in the order of the key."""
        filtered = bool(self.here.filter or self.there.filter)
        waiting: list[_Met] = []
        asked = 0  # of those, for which the server is asked: many together
        for each in self._merged():
            if each != PAUSE:
                waiting.append(each if filtered else self._standing(each))
                asked += isinstance(each, _ByHistory) or (filtered and isinstance(each, _Alone))
            if each == PAUSE or not asked or asked == TOGETHER or len(waiting) == STEP:
                yield from self._decided(self._looked_up(waiting))
                waiting, asked = [], 0
        yield from self._decided(self._looked_up(waiting))

    def _looked_up(self, waiting: Sequence[_Met]) -> Iterator[Standing | _ByHistory | None]:
        """Each document, paired with the one on the other side that does not match the filter, if there is one."""
        met: list[dict[Key, bytes]] = []
        for side, other in ((self.here, self.there), (self.there, self.here)):
            keys = [each.key for each in waiting if isinstance(each, _Alone) and each.side is side]
            met.append(other.having(keys) if keys else {})
        for each in waiting:
            forth = isinstance(each, _Alone) and each.side is self.here
            raw = met[not forth].get(value_key(each.key)) if isinstance(each, _Alone) else None
            if isinstance(each, _Alone) and raw is not None:
                self.half += 1
                yield self._pair(each.key, each.raw, raw) if forth else self._pair(each.key, raw, each.raw)
            else:
                yield self._standing(each)

    def _decided(self, met: Iterable[Standing | _ByHistory | None]) -> Iterator[Standing | None]:
        """Each document; where both sides keep its history, these tell which one is ahead."""
        several = list(met)
        pairs = [each.pair for each in several if isinstance(each, _ByHistory)]
        heres = together(self.here.layout, [pair.here for pair in pairs if pair.here is not None])
        theres = together(self.there.layout, [pair.there for pair in pairs if pair.there is not None])
        for each in several:
            if not isinstance(each, _ByHistory):
                yield each
                continue
            (here, one), (there, other) = next(heres), next(theres)
            change, since = standing(versions_of(one, here), versions_of(other, there))
            same = each.is_alike and change == "changed"
            yield None if same else replace(each.pair, change=change, since=since)

    def _standing(self, each: _Met) -> Standing | _ByHistory | None:
        return self._alone(each.side, each.key, each.raw) if isinstance(each, _Alone) else each

    def _merged(self) -> Iterator[_Met | Literal["pause"]]:
        left, right = _Reader(self.here), _Reader(self.there)
        # Equal bytes of one layout have equal keys; keys that may repeat must all be looked at.
        quick = not self.here.key and self._are_alike

        done = 0
        while True:
            if quick and (equal := self._run_of_equal(left, right)):
                done += equal
                if equal == PATIENCE:
                    yield PAUSE
                    continue
            a, b = left.raw, right.raw
            if a is None and b is None:
                break
            done += 1
            if done % STEP == 0:
                self.step(done, None)
            order = -1 if b is None else 1 if a is None else _compared(left.key, right.key)
            if order < 0:
                assert a is not None
                yield _Alone(self.here, left.key, a)
            elif order > 0:
                assert b is not None
                yield _Alone(self.there, right.key, b)
            else:
                assert a is not None
                assert b is not None
                yield self._pair(left.key, a, b)
            if order <= 0:
                left.advance()
            if order >= 0:
                right.advance()
        self.step(done, done)

    @property
    def _are_alike(self) -> bool:
        """Whether both layouts read equal bytes as the same document."""
        one, other = self.here.layout, self.there.layout
        return type(one) is type(other) and one.own == other.own and one.profile.id == other.profile.id

    def _run_of_equal(self, left: _Reader, right: _Reader) -> int:
        """Pass the next documents whose bytes are equal on both sides; returns their number."""
        a, b, rows, others = left.raw, right.raw, left.rows, right.rows
        count = 0
        while a == b and a is not None and count < PATIENCE:
            count += 1
            if count % STEP == 0:
                self.step(self.same + count, None)
            a, b = next(rows, None), next(others, None)
        if count:
            self.same += count
            left.put(a)
            right.put(b)
        return count

    def _alone(self, side: Side, key: Value, raw: bytes) -> Standing:
        id, v, mark = side.id(raw), _version(side, raw), c.hash_of(side.layout.content(raw))
        if side is self.here:
            return Standing(key, "only here", here=id, v=v, mark=mark)
        return Standing(key, "only there", there=id, w=v, other_mark=mark)

    def _pair(self, key: Value, a: bytes, b: bytes) -> Standing | _ByHistory | None:
        if a == b:
            return None
        one, other = self.here.layout.content(a), self.there.layout.content(b)
        v, w = _version(self.here, a), _version(self.there, b)
        keys = self.here.layout.profile.keys
        alike = one == other or (bool(self.rules) and self.rules.same(Value.document(one), Value.document(other), keys))
        both = self.here.keeps_history and self.there.keeps_history
        if alike and not (both and v != w):
            return None
        here, there = self.here.id(a), self.there.id(b)
        pair = Standing(key, "changed", here, there, v, w, None, c.hash_of(one), c.hash_of(other))
        return _ByHistory(pair, alike) if both else pair


class _ByHistory(NamedTuple):
    """A pair of documents of which both sides keep the history."""

    pair: Standing
    is_alike: bool


class _Alone(NamedTuple):
    """A document that has no other beside it among those that were read."""

    side: Side
    key: Value
    raw: bytes


_Met: TypeAlias = Standing | _ByHistory | _Alone | None


class _Reader:
    """The rows of one side, one at a time, which must come in ascending order of their keys."""

    def __init__(self, side: Side) -> None:
        self.side, self.rows = side, iter(side.rows())
        self._before: Value | None = None
        self._key: Value | None = None
        self.raw: bytes | None = next(self.rows, None)

    @property
    def key(self) -> Value:
        """The key of the current row."""
        if self._key is None:
            assert self.raw is not None
            self._key = self.side.value(self.raw)
            if self._before is not None:
                self._check(self._before, self._key)
        return self._key

    def put(self, raw: bytes | None) -> None:
        """Continue with this row, after others that nobody looked at."""
        self.raw, self._key, self._before = raw, None, None

    def advance(self) -> None:
        """Go to the next row."""
        self._before, self._key = self.key, None
        self.raw = next(self.rows, None)
        if self.raw is not None and self.side.key:
            _ = self.key  # a repeated key is refused although only one side has it

    def _check(self, before: Value, now: Value) -> None:
        order, ns, name = _compared(before, now), self.side.layout.ns, self.side.name
        if order == 0:
            raise self.side.repeated(now)
        if order > 0:
            raise Refused(
                f"{ns} sorts {name} otherwise, perhaps by a collation, so it cannot be compared in that order; take "
                "another key."
            )


def _compared(a: Value, b: Value) -> int:
    if a == b:
        return 0
    one, other = value_key(a), value_key(b)
    return -1 if one < other else 1 if one > other else 0


def _version(side: Side, raw: bytes) -> Value | None:
    layout = side.layout
    if not side.keeps_history or not layout.numbered:
        return None
    p = layout.profile
    return c.get(raw, (p.current, p.version)) if side._is_embedded else c.get(raw, (p.version,))


def versions_of(layout: Layout, id: Value) -> dict[object, Version]:
    """The versions of a document that are there, by number, oldest first."""
    try:
        found = [each for each in layout.history(id, contents="all") if each.content is not None and each.v is not None]
    except NotFound:
        return {}
    # What never became current is no version of it yet, and may still go.
    return {number_key(each.v): each for each in reversed(found) if each.landed and not each.aside}


def number_key(v: Value | None) -> object:
    """What a version is looked up by in :func:`versions_of`."""
    return v if v is None or (number := number_of(v)) is None else number


def standing(here: Mapping[object, Version], there: Mapping[object, Version]) -> tuple[Change, Value | None]:
    """How one history stands to another, and the last version that both have with the same content."""
    since: Value | None = None
    common: object = None
    for number, version in here.items():
        other = there.get(number)
        if other is None:
            continue
        if other.content != version.content:
            break
        common, since = number, version.v
    later = _after(here, common), _after(there, common)
    if since is None or all(later):
        return "diverged", since
    return ("ahead" if later[0] else "behind" if later[1] else "changed"), since


def _after(history: Mapping[object, Version], number: object) -> bool:
    """Whether a history, oldest first, goes on after a version."""
    return bool(history) and next(reversed(history)) != number
