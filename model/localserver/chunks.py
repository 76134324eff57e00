"""The chunks of a sharded collection: ranges of its shard key, each on one shard, as ``config.chunks`` lists them.

The in-process server holds all documents itself. Source: "Ranged Sharding" and "Config Database" in the MongoDB manual.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from uuid import UUID

from bson.binary import Binary

from model.values import canonical as c
from model.values.canonical import Value

FIRST = "shard 1"


def rows(fields: Sequence[str], edges: Sequence[tuple[Sequence[object], str]], uuid: UUID) -> Iterator[bytes]:
    """The rows of ``config.chunks`` for a collection.

    ``edges`` are the key values, of all or the first fields, at which a chunk begins, each with its shard. The chunk
    before them is on ``FIRST``.
    """
    ends = [_bound(fields, (), c.MIN_KEY), *(_bound(fields, values) for values, _ in edges)]
    shards = [FIRST, *(shard for _, shard in edges)]
    whose = Value.of(Binary.from_uuid(uuid))
    pairs = pairwise([*ends, _bound(fields, (), c.MAX_KEY)])
    for number, ((since, before), shard) in enumerate(zip(pairs, shards, strict=True)):
        id = [("_id", Value.of(f"{uuid} {number}")), ("uuid", whose)]
        bounds = [("min", Value.document(since)), ("max", Value.document(before))]
        yield c.document([*id, *bounds, ("shard", Value.of(shard))])


def _bound(fields: Sequence[str], values: Sequence[object], rest: int = c.MIN_KEY) -> bytes:
    given = [Value.of(each) for each in values]
    return c.document(zip(fields, [*given, *[Value(rest, b"")] * (len(fields) - len(given))], strict=True))
