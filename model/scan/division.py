"""Divides a scan into parts at ids that independent processes find alike.

Each process divides a collection alone, perhaps hours later, while applications write. So a bound cannot be a
position: it is the id with the lowest digest among those near a position, which stays the same while documents around
it are added and removed. On a cluster whose shard key starts with the id, nearby chunk boundaries are used, so that a
part is read from few shards.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

from msgspec import Struct

from model.errors import Refused, Unreachable
from model.mql.order import value_key
from model.server.port import Port, Terms
from model.storage.newest_query import leapable
from model.storage.reserved_fields import legible_field
from model.values import canonical as c
from model.values.canonical import Value

NEAR = 0.05
"""The share by which a part may be longer or shorter than the others."""

LOOKED_AT = 10_000
"""The most ids among which a bound is chosen."""

COUNTED = 20
"""The most stretches per part whose documents are counted: adjacent chunks form one stretch."""


class Division(Struct, frozen=True):
    """A collection to divide, and the indexed field in whose order it is read."""

    server: Port
    ns: str
    name: str
    documents: int  # approximate count

    def bounds(self, of: int) -> list[Value] | None:
        """The ids that start each part but the first, in order; None if it cannot be read in parts.

        Raises the errors of :meth:`.Port.find`.
        """
        edges = self._edges()
        if len(edges) > COUNTED * of:
            # Each edge costs a count, and a large cluster has hundreds of thousands of chunks.
            edges = [edges[len(edges) * number // (COUNTED * of)] for number in range(COUNTED * of)]
        ends = list(accumulate(self._counts(edges))) if edges else [self.documents]  # of each stretch between edges
        near = ends[-1] / of * NEAR
        found: list[Value] = []
        for number in range(1, of):
            at = ends[-1] * number // of
            which = min(bisect_right(ends, at), len(ends) - 1)
            begins = ends[which - 1] if which else 0
            since = edges[which - 1] if which else None
            before = edges[which] if which < len(edges) else None
            # A bound between two chunks lets each part ask the shards that hold its ids, and no others.
            if since is not None and at - begins <= near:
                bound: Value | None = since
            elif before is not None and ends[which] - at <= near:
                bound = before
            else:
                some = max(1, min(LOOKED_AT, int(near)))
                bound = self._chosen(_between(self.name, since, before), at - begins, some)
            if bound is None or not leapable(bound):
                return None
            found.append(bound)
        return found

    def _chosen(self, within: Terms | None, at: int, some: int) -> Value | None:
        """The id with the lowest digest near a position: it stays while others are added and removed."""
        shown = {self.name: 1} if self.name == "_id" else {self.name: 1, "_id": 0}  # fields of the index
        # The server skips in the index alone, because nothing but the indexed field is asked for.
        skip = max(0, at - some // 2)
        rows = self.server.find(self.ns, within, sort={self.name: 1}, projection=shown, skip=skip, limit=some)
        ids = [id for raw in rows if (id := legible_field(raw, self.name)) is not None and leapable(id)]
        return min(ids, key=lambda id: hashlib.sha1(bytes((id.type,)) + id.data).digest(), default=None)

    # --- on a sharded cluster

    def _edges(self) -> list[Value]:
        """The chunk boundaries, in order; [] if they do not follow the order of ids, or may not be read.

        Source: "Config Database" in the MongoDB manual. From 5.0 on chunks name their collection by UUID, before that
        by namespace.
        """
        if self.server.facts().topology != "sharded":
            return []
        try:
            rows = self._chunks_by_id()
        except Unreachable:
            raise
        except Refused:  # a user may be allowed to read documents but not this
            return []
        # The first chunk begins at MinKey, which bounds nothing.
        found = [v for raw in rows if (v := c.get(raw, ("min", self.name))) is not None and v.type != c.MIN_KEY]
        if not all(map(leapable, found)) or len({value_key(id)[0] for id in found}) > 1:
            return []  # no filter selects the documents between ids of two types
        return [id for before, id in pairwise([None, *found]) if id is not None and id != before]

    def _chunks_by_id(self) -> list[bytes]:
        """The chunks of a collection that is sharded by ranges of the id; [] of another one."""
        row = next(self.server.find("config.collections", {"_id": self.ns}, limit=1), None)
        key = None if row is None else c.get(row, ("key",))
        first = None if key is None else next(iter(c.fields(key.data)), None)
        if row is None or first is None or first[0] != self.name or value_key(first[1]) != _UP:
            return []
        whose = c.get(row, ("uuid",))
        rows = [] if whose is None else self._chunks({"uuid": whose})
        return rows or self._chunks({"ns": self.ns})

    def _chunks(self, whose: Terms) -> list[bytes]:
        return list(self.server.find("config.chunks", whose, sort={"min": 1}, projection={"min": 1}))

    def _counts(self, edges: Sequence[Value]) -> list[int]:
        """The approximate number of documents before the first boundary, and between each boundary and the next."""
        ends = pairwise([*edges, None])
        counts = [self.server.count(self.ns, _between(self.name, since, before), None) or 0 for since, before in ends]
        return [max(0, self.documents - sum(counts)), *counts]


_UP = value_key(Value.of(1))  # shells write 1.0


def _between(name: str, since: Value | None, before: Value | None) -> Terms | None:
    ends = {end: id for end, id in (("$gte", since), ("$lt", before)) if id is not None}
    return {name: ends} if ends else None
