"""Reads the histories of many documents in a few queries instead of several for each.

A layout reads one document at a time through its port. Here the stored documents for several ids are read first, with
one query per collection. A special port then answers the layout from these, and passes all other questions to the
server. So a history from a batch is read by the same code as a single one, and is identical.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, TypeAlias, cast

from model.errors import Refused, Unreachable, Unreadable
from model.layouts.base import Layout
from model.mql.filters import predicate
from model.server.retry import Port, Terms, bson_of
from model.storage.field_reader import FieldReader
from model.storage.numbering import VersionPlace
from model.storage.reserved_fields import place_of
from model.storage.row_paths import value_at
from model.values import canonical as c
from model.values.canonical import Value

FIRST, MOST = 4, 64
"""Documents in the first batch, and in the largest."""
ROOM = 8 << 20
"""Bytes of stored documents that a batch may hold."""
FRESH = 5.0
"""Seconds until the server is asked again, so that slow callers do not get outdated documents."""

_ALONE = (c.NULL, c.UNDEFINED, c.REGEX, c.ARRAY)
"""Types of ids for which ``$in`` and ``$eq`` find different documents."""


def together(layout: Layout, ids: Iterable[Value]) -> Iterator[tuple[Value, Layout]]:
    """Each id with a layout to read its history from; several documents share a few queries.

    It is one layout object: read a document before taking the next id. Raises ``Unreachable``.
    """
    if not layout.places:
        yield from ((id, layout) for id in ids)
        return
    rows = _HeldRows(layout)
    # A second layout object, bound to the rows: whoever else holds the given one goes on asking the server.
    bound = type(layout)(cast(Port, rows), layout.profile)
    rest, waiting = iter(ids), list[Value]()
    size, most = FIRST, MOST
    while True:
        waiting += islice(rest, max(0, size - len(waiting)))
        if not waiting:
            return
        some = waiting[:size]
        if not rows.hold(some):
            # Too large to hold: fewer documents at once from now on, at last each by itself.
            size = most = size // 2
            continue
        yield from ((id, bound) for id in some)
        del waiting[:size]
        size = min(2 * size, most)


_Held: TypeAlias = dict[tuple[str, Value], list[bytes]]
"""The stored documents by collection and id, in the server's order."""


class _HeldRows:
    """A port that answers from the stored documents that it holds; the server answers everything else."""

    def __init__(self, layout: Layout) -> None:
        self._server, self._places = layout.server, layout.places
        self._names = _identity(layout)
        self._held: _Held = {}
        self._until = 0.0

    # A port has many methods, and only find is answered differently.
    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    def hold(self, ids: Sequence[Value]) -> bool:
        """Read the stored documents of these ids, replacing those held so far; False if they are too large.

        A single document is left to the server, as are ids for which ``$in`` is not reliable.
        """
        self._held = {}
        asked = [id for id in ids if id.type not in _ALONE]
        # One document gains nothing, and is read as its layout does it, perhaps only in part.
        if len(asked) < 2:
            return True
        try:
            found = self._read(asked)
        except Unreachable:
            raise
        except Refused:
            return True  # then each document is read alone, and reports why it cannot be read
        if found is None:
            return False
        self._held, self._until = found, time.monotonic() + FRESH
        return True

    def _read(self, ids: Sequence[Value]) -> _Held | None:
        found: _Held = {(place.ns, id): [] for place in self._places for id in ids}
        room = ROOM
        for place in self._places:
            with closing(self._all(place, ids)) as rows:
                for id, raw in rows:
                    # Counted while it streams, so that a batch of large histories is given up before it fills the
                    # memory.
                    room -= len(raw)
                    if room < 0:
                        return None
                    # `$in` also finds ids that are equal in another type, such as 1.0 for 1; nobody asked for these.
                    if (held := found.get((place.ns, id))) is not None:
                        held.append(raw)
        # Between the queries of two collections a writer may have moved a version from one to the other.
        if len(self._places) > 1:
            for id in self._moved(ids, found):
                for place in self._places:
                    # It is left to the server, which reads it alone.
                    del found[place.ns, id]
        return found

    def _all(
        self, place: VersionPlace, ids: Sequence[Value], fields: Terms | None = None
    ) -> Generator[tuple[Value, bytes], None, None]:
        for raw in self._server.find(place.ns, {**place.where, place.id: {"$in": list(ids)}}, projection=fields):
            try:
                id = value_at(raw, place.id)
            except Unreadable:
                continue
            if id is not None:
                yield id, raw

    def _moved(self, ids: Sequence[Value], found: _Held) -> list[Value]:
        """The documents that changed between the two reads, so that the collections would contradict each other."""
        place, names = self._places[0], self._names
        now: dict[Value, list[bytes]] = {}
        for id, raw in self._all(place, ids, dict.fromkeys((place.id, *names), 1) if names else None):
            now.setdefault(id, []).append(self._identity(raw))
        return [id for id in ids if list(map(self._identity, found[place.ns, id])) != now.get(id, [])]

    def _identity(self, raw: bytes) -> bytes:
        return c.only(raw, self._names) if self._names else raw

    def find(
        self,
        ns: str,
        filter: Terms | None = None,
        sort: Terms | None = None,
        projection: Terms | None = None,
        skip: int = 0,
        limit: int = 0,
        max_ms: int | None = None,
        batch: int = 0,
    ) -> Iterator[bytes]:
        """The matching documents as stored, as :meth:`.Port.find` says."""
        # A projection is left to the server, because its rules for paths and arrays are intricate.
        if self._held and filter and not (projection or skip) and time.monotonic() < self._until:
            rows = self._answer(ns, filter, sort)
            if rows is not None:
                return iter(rows[:limit] if limit else rows)
        return self._server.find(ns, filter, sort, projection, skip, limit, max_ms, batch)

    def _answer(self, ns: str, filter: Terms, sort: Terms | None) -> list[bytes] | None:
        """The held documents that a query finds, in its order; None if the server must be asked."""
        place = next((place for place in self._places if place.ns == ns), None)
        if place is None or any(filter.get(name) != said for name, said in place.where.items()):
            return None
        one = filter.get(place.id)
        id = one.get("$eq") if isinstance(one, Mapping) and len(one) == 1 else None
        rows = self._held.get((ns, id)) if isinstance(id, Value) else None
        rest = {name: part for name, part in filter.items() if name != place.id and name not in place.where}
        if rows is not None and rest:
            try:
                meets = predicate(bson_of(rest), "")
                rows = [raw for raw in rows if meets(raw)]
            except Refused:
                return None
        return _sorted(rows, place, sort) if rows is not None and sort else rows


def _identity(layout: Layout) -> tuple[str, ...]:
    """The fields that change with each version of a current document; () if all fields must be compared."""
    p = layout.profile
    return () if layout.written_by_others else tuple(filter(None, (p.version, p.token)))


def _sorted(rows: list[bytes], place: VersionPlace, sort: Terms) -> list[bytes] | None:
    """Documents in the order of their versions; None for another order, or one that only a server can tell."""
    names = list(sort)
    if len(names) != 2 or names[0] != place.id:
        return None
    version = FieldReader(names[1])
    versions = [version.legible(raw)[0] for raw in rows]
    kinds = {v.type if v is not None else 0 for v in versions}
    # Doubles, decimals and mixed types are sorted by the server, which knows how.
    if not (kinds <= {c.INT32, c.INT64} or kinds <= {c.DATE}):
        return None
    order = sorted(range(len(rows)), key=lambda at: place_of(versions[at]) or 0, reverse=sort[names[1]] == -1)
    return [rows[at] for at in order]
