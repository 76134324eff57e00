"""How a scan reads a collection: in the order of its ids, resumed after a lost cursor, never much at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice, repeat
from operator import contains
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct, field

from model.errors import NotAllowed, Refused, Unreachable, Unreadable
from model.foundation.records import Checkpoint, no_checkpoint
from model.mql.order import Key, value_key
from model.server.retry import Port, Terms
from model.storage.newest_query import TypeNumbers, beyond, leapable
from model.text.names import id_name
from model.values import canonical as c
from model.values.canonical import Value

T = TypeVar("T")

STEP = 100  # documents between two calls of the checkpoint
LONGEST_REST = 0.5  # seconds
TRIES = 3


class OrderedReading(Struct):
    """Where a scan starts to read, how fast it reads, and how far it has come."""

    port: Port
    checkpoint: Checkpoint = no_checkpoint
    gentle: bool = False
    total: int | None = None
    documents: int = 0  # stored documents read so far
    histories: int = 0  # documents of the current collection, each once with all its versions
    after: Value | None = None  # start after this id, if the collection is read in the order of its ids
    part: tuple[Value | None, Value | None] | None = None  # ids from the first to before the second; None: no limit
    types: TypeNumbers = field(default_factory=TypeNumbers)
    _done: Value | bytes | None = None
    in_order: bool = True  # documents arrive in the order of their ids, so a scan can resume after one
    _began: float = field(default_factory=time.monotonic)

    @property
    def last(self) -> Value | None:
        """The last id that is done; None if the collection must be read from its start."""
        return physical_of(self._done) if isinstance(self._done, bytes) else self._done

    @last.setter
    def last(self, done: Value | bytes | None) -> None:
        # A document stands for its id, which is needed only once in a thousand documents.
        self._done = done

    def looked(self) -> None:
        """Count a document; a gentle scan then rests as long as it has worked, at most ``LONGEST_REST``."""
        self.documents += 1
        if self.documents % STEP:
            return
        self.checkpoint(self.documents, None if self.total is None else max(self.total, self.documents))
        if self.gentle:
            now = time.monotonic()
            time.sleep(min(LONGEST_REST, now - self._began))
            self._began = time.monotonic()

    def within(self, rows: Iterator[bytes], name: str) -> Iterator[bytes]:
        """The documents that belong to the part to be read; an unreadable one goes with its successor.

        The server sorts an array by its least element, but a query finds it by any element.
        """
        return rows if self.part is None else self._in(self.part, rows, name)

    def _in(self, part: tuple[Value | None, Value | None], rows: Iterator[bytes], name: str) -> Iterator[bytes]:
        since, before = (None if end is None else value_key(end) for end in part)
        array = bytes((c.ARRAY,)) + c.name_bytes(name) + b"\x00"
        while some := list(islice(rows, STEP)):
            last = _place(some[-1], name)
            if before is None or (
                last is not None and not _reaches(last, before)
            ):  # then all earlier unreadable ones belong here too
                if since is None or not any(map(contains, some, repeat(array))):
                    yield from some
                else:
                    yield from (raw for raw in some if array not in raw or _is_since(_place(raw, name), since))
                continue
            unread: list[bytes] = []
            for raw in chain(some, rows):
                place = _place(raw, name)
                if place is None:
                    unread.append(raw)
                    continue
                if _reaches(place, before):
                    return
                yield from unread
                unread = []
                if since is None or _is_since(place, since):
                    yield raw
            yield from unread


def _is_since(place: Key | None, since: Key) -> bool:
    return place is None or not place or _reaches(place, since)


def _place(raw: bytes, name: str) -> Key | None:
    """A document's position in the order of a field, () if it has no such field; None if it cannot be read."""
    try:
        id = c.get(raw, (name,))
        if id is None:
            return ()
        return min(map(value_key, c.items(id)), default=()) if id.type == c.ARRAY else value_key(id)
    except Unreadable:
        return None


class OtherOrder(Exception):
    """The server's sort order is unknown here, so two of its answers cannot be joined."""


class BrokenOff(Exception):
    """A read ended early; the reason is a sentence."""


class EqualIds(NamedTuple, Generic[T]):
    """The results for documents whose ids the server finds equal. Equal ids share one object."""

    key: Key
    items: list[tuple[Value, T]]


def is_indexed(port: Port, ns: str, name: str) -> bool:
    """Whether an index returns documents in the order of a field; False if indexes may not be listed."""
    if name == "_id":
        return True
    try:
        found = port.indexes(ns)
    except NotAllowed:
        return False
    for index in found:
        keys = dict(index.get("key") or {})
        # A partial or sparse index leaves documents out, a hidden one is not used, and a collation sorts in another
        # order.
        plain = not any(index.get(part) for part in ("partialFilterExpression", "sparse", "hidden", "collation"))
        if plain and next(iter(keys), None) == name and keys[name] in (1, -1):
            return True
    return False


def runs(
    reading: OrderedReading, ns: str, name: str, take: Callable[[bytes], tuple[Value, T] | None], behind: Value | None
) -> Iterator[EqualIds[T]]:
    """The results of ``take`` for each document, in the order of a field, grouped by equal values.

    ``take`` returns None to leave a document out. A lost cursor is reopened after the last complete group. Raises
    ``BrokenOff`` and ``OtherOrder``.
    """
    tries = 0
    before: Key | None = None
    if behind is not None and not leapable(behind):
        behind = None  # nothing can be asked for after a mark, so start over
    while True:
        try:
            for run in _runs_behind(reading, ns, name, take, behind, before):
                yield run
                # A group that was told is done: a reopened cursor begins behind it.
                tries, before, behind = 0, run.key, run.items[-1][0]
            return
        except NotAllowed:
            raise
        except Refused as error:
            tries += 1
            if tries == TRIES and isinstance(error, Unreachable):
                raise
            if tries == TRIES or (behind is not None and not leapable(behind)):
                done = "at its beginning" if behind is None else f"behind {id_name(behind)}"
                raise BrokenOff(f"Reading {ns} broke off {done}: {error}") from None


def _runs_behind(
    reading: OrderedReading,
    ns: str,
    name: str,
    take: Callable[[bytes], tuple[Value, T] | None],
    behind: Value | None,
    before: Key | None,
) -> Iterator[EqualIds[T]]:
    """As :func:`runs`, by one cursor behind a value; ``before`` is the key of the run that was read last."""
    key: Key | None = None
    items: list[tuple[Value, T]] = []
    where = _wanted(reading, ns, name, behind)
    latest: Value | None = None
    for raw in reading.within(reading.port.find(ns, where, sort={name: 1}), name):
        reading.looked()
        taken = take(raw)
        if taken is None:
            continue
        id = taken[0]
        if id is latest:
            items.append(taken)
            continue
        if latest is not None and id.data == latest.data and id.type == latest.type:
            items.append((latest, taken[1]))
            continue
        latest = id
        now = value_key(id)
        if key is not None and now != key:
            yield EqualIds(key, items)
            before, items = key, []
        # The server's order differs from the one computed here, as by a collation, so two sources cannot be joined by
        # it.
        if before is not None and _above(before, now):
            raise OtherOrder
        key = now
        items.append(taken)
    if key is not None:
        yield EqualIds(key, items)


def _above(a: Key, b: Key) -> bool:
    try:
        return a > b
    except TypeError:  # only a server can compare these values
        return False


def _reaches(a: Key, b: Key) -> bool:
    return a == b or _above(a, b)


def _wanted(reading: OrderedReading, ns: str, name: str, behind: Value | None) -> Terms | None:
    """The filter for the documents to read: those after an id, else those from the start of the part."""
    since, before = reading.part or (None, None)
    last = since if behind is None else behind
    if last is None:
        return None
    end = "$gte" if behind is None else "$gt"
    if before is not None and value_key(before)[0] == value_key(last)[0]:
        # No other type sorts between them, so a router asks only the shards with these ids.
        return {name: {end: last, "$lt": before}}
    return beyond(name, last, False, lambda: reading.types.known(reading.port, ns), end)


def all_of(
    reading: OrderedReading, ns: str, projection: Terms | None = None, last: Value | None = None
) -> Iterator[bytes]:
    """Every document in the order of ``_id``, after ``last`` if given; raises ``BrokenOff``.

    A lost cursor is reopened after the last document. If the server cannot sort by ``_id`` in time, documents come in
    its own order.
    """
    if last is not None and not leapable(last):
        last = None  # nothing can be asked for after a mark, so start over
    tries, begun = 0, last is not None
    reading.in_order = True
    latest: bytes | None = None
    while True:
        try:
            where = _wanted(reading, ns, "_id", last)
            # The last try goes without an order: a server may not be able to sort a large collection in time.
            reading.in_order = last is not None or tries < TRIES - 1 or reading.part is not None
            order = {"_id": 1} if reading.in_order else None
            for raw in reading.within(reading.port.find(ns, where, sort=order, projection=projection), "_id"):
                reading.looked()
                begun = True
                yield raw
                if reading.in_order:
                    latest = raw
            return
        except NotAllowed:
            raise
        except Refused as error:
            if latest is not None:
                reached, latest = physical_of(latest), None
                tries = tries if _is_repeated(last, reached) else 0
                last = reached
            tries += 1
            if tries == TRIES and isinstance(error, Unreachable):
                raise
            stuck = begun if last is None else not leapable(last)
            if tries == TRIES or stuck:
                done = (
                    f"behind {id_name(last)}" if last is not None else "in its middle" if begun else "at its beginning"
                )
                raise BrokenOff(f"Reading {ns} broke off {done}: {error}") from None


def _is_repeated(last: Value | None, reached: Value | None) -> bool:
    """Whether a cursor behind an id came no further: a server may answer each time with what was read before."""
    return last is not None and reached is not None and _reaches(value_key(last), value_key(reached))


def physical_of(raw: bytes) -> Value | None:
    """The `_id`; None if the document cannot be read that far."""
    try:
        return c.get(raw, ("_id",))
    except Refused:
        return None


def by_ids(port: Port, ns: str, name: str, ids: Sequence[Value]) -> Iterator[tuple[Value, bytes]]:
    """The documents with exactly these ids, each with its id."""
    wanted = set(ids)
    one: Any = {"$eq": ids[0]} if len(ids) == 1 else {"$in": list(ids)}
    for raw in port.find(ns, {name: one}):
        try:
            id = c.get(raw, (name,))
        except Refused:
            continue
        # `$in` also returns ids that the server finds equal.
        if id in wanted and id is not None:
            yield id, raw
