"""The chunks of a sharded collection: ranges of its shard key, each on one shard, as a router knows them.

The in-process server holds all documents itself; it only records which shards a router would have asked. Source:
"Ranged Sharding" and "Config Database" in the MongoDB manual.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from uuid import UUID

from bson.binary import Binary
from msgspec import Struct

from model.mql.filters import Matcher
from model.mql.order import ABOVE_ALL, Key, key
from model.values import canonical as c
from model.values.canonical import Value

FIRST = "shard 1"
_REMEMBERED = 10_000


class Chunk(Struct, frozen=True):
    """A range of the shard key, with its lower bound but without the upper one, and its shard."""

    since: bytes
    before: bytes
    shard: str


class Chunks:
    """The chunks of one collection, and the shards that its latest reads would have gone to."""

    def __init__(self, fields: Sequence[str], edges: Sequence[tuple[Sequence[object], str]]) -> None:
        """``edges`` are the key values, of all or the first fields, at which a chunk begins, each with its shard.

        The chunk before them is on ``FIRST``.
        """
        ends = [_bound(fields, (), c.MIN_KEY), *(_bound(fields, values) for values, _ in edges)]
        shards = [FIRST, *(shard for _, shard in edges)]
        pairs = pairwise([*ends, _bound(fields, (), c.MAX_KEY)])
        self.chunks = [Chunk(since, before, shard) for (since, before), shard in zip(pairs, shards, strict=True)]
        self.asked: deque[frozenset[str]] = deque(maxlen=_REMEMBERED)
        self._field = fields[0]
        self._within = len(fields) > 1  # one value of the first field may be in several chunks

    def send(self, matcher: Matcher) -> None:
        """Record the shards that may have documents for a filter: all of them if it does not use the key."""
        self.asked.append(frozenset(each.shard for each in self.chunks if self._has(each, matcher)))

    def _has(self, chunk: Chunk, matcher: Matcher) -> bool:
        since, before = self._key(chunk.since), self._key(chunk.before)
        equal = matcher.equal.get(self._field)
        if equal is not None and not any(since <= each and self._begins(each, before) for each in equal):
            return False
        for operator, end in matcher.bounds.get(self._field, ()):
            bracket = (end[:1], (end[0] + 1,))  # operators compare values of one type
            if operator in ("$gt", "$gte"):
                reached = self._begins(end, before) and since < bracket[1]
            else:
                reached = (since < end or (operator == "$lte" and since == end)) and bracket[0] < before
            if not reached:
                return False
        return True

    def _begins(self, value: Key, before: Key) -> bool:
        return value <= before if self._within else value < before

    def _key(self, bound: bytes) -> Key:
        value = Value(c.NULL, b"") if (found := c.get(bound, (self._field,))) is None else found
        return ABOVE_ALL if value.type == c.MAX_KEY else key(value.type, value.data)

    def rows(self, uuid: UUID) -> Iterator[bytes]:
        """The rows of ``config.chunks``."""
        whose = Value.of(Binary.from_uuid(uuid))
        for number, each in enumerate(self.chunks):
            bounds = [("min", Value.document(each.since)), ("max", Value.document(each.before))]
            id = [("_id", Value.of(f"{uuid} {number}")), ("uuid", whose)]
            yield c.document([*id, *bounds, ("shard", Value.of(each.shard))])


def _bound(fields: Sequence[str], values: Sequence[object], rest: int = c.MIN_KEY) -> bytes:
    given = [Value.of(each) for each in values]
    return c.document(zip(fields, [*given, *[Value(rest, b"")] * (len(fields) - len(given))], strict=True))
