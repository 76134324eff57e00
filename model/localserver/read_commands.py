"""The commands that read: find, getMore, killCursors, aggregate, count, distinct, explain."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct, field

from model.errors import Unreadable
from model.localserver import pipelines, wire
from model.localserver.projections import compile_projection
from model.localserver.store import Collection, Sort, Store
from model.localserver.time_limit import TimeLimit
from model.localserver.wire import Command
from model.mql import order
from model.mql.command_error import CommandError
from model.mql.filters import compile_filter
from model.mql.order import Element
from model.values import canonical as c

BATCH_BYTES = 16 * 1024 * 1024
REPLY_BYTES = 4 * 1024 * 1024  # for several documents: a reply is copied a few times on its way
FIRST_BATCH = 101
_LARGEST = wire.MESSAGE_LIMIT - 1_000_000
_KEPT_CURSORS = 500


class _Cursor(Struct):
    ns: str
    documents: Iterator[bytes]
    lock: threading.Lock = field(default_factory=threading.Lock)


class Cursors:
    """The open cursors of clients; if there are very many, the oldest are dropped."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[int, _Cursor] = {}

    def first(self, ns: str, documents: Iterator[bytes], count: int | None, single: bool) -> bytes:
        """The reply with the first batch; a cursor stays open if there is more."""
        cursor = _Cursor(ns, documents)
        batch, more = self._batch(cursor, FIRST_BATCH if count is None else count)
        number = 0
        if more and not single:
            with self._lock:
                number = random.getrandbits(62) | 1
                self._open[number] = cursor
                while len(self._open) > _KEPT_CURSORS:
                    del self._open[next(iter(self._open))]
        return wire.cursor_reply(ns, number, batch, first=True)

    def next(self, command: Command) -> bytes:
        """The reply to ``getMore``."""
        number, count = command.integer("getMore"), command.integer("batchSize")
        with self._lock:
            cursor = self._open.get(number)
        if cursor is None or cursor.ns != f"{command.database}.{command.text('collection')}":
            raise CommandError(43, f"cursor id {number} not found")
        with cursor.lock:
            try:
                batch, more = self._batch(cursor, count or None)
            except BaseException:
                self.kill([number])
                raise
        if not more:
            self.kill([number])
        return wire.cursor_reply(cursor.ns, number if more else 0, batch, first=False)

    def kill(self, numbers: list[int]) -> list[int]:
        """Drop cursors; returns those that existed."""
        with self._lock:
            return [number for number in numbers if self._open.pop(number, None) is not None]

    def _batch(self, cursor: _Cursor, count: int | None) -> tuple[list[bytes], bool]:
        """The requested documents, as many as fit into one reply; and whether there are more."""
        batch: list[bytes] = []
        size = 0
        while count is None or len(batch) < count:
            raw = next(cursor.documents, None)
            if raw is None:
                return batch, False
            if len(raw) > _LARGEST:
                raise CommandError(10334, f"BSONObj size: {len(raw)} is invalid: a reply cannot hold it")
            size += len(raw) + 16
            if batch and size > REPLY_BYTES:
                cursor.documents = itertools.chain([raw], cursor.documents)
                return batch, True
            batch.append(raw)
        ahead = next(cursor.documents, None)
        if ahead is None:
            return batch, False
        cursor.documents = itertools.chain([ahead], cursor.documents)
        return batch, True


class ReadCommands:
    """The handlers of the reading commands, by name."""

    def __init__(self, store: Store, cursors: Cursors) -> None:
        self.store = store
        self.cursors = cursors

    def collection(self, command: Command) -> Collection | None:
        """The collection that a command names."""
        return self.store.get(command.database, command.text(command.name))

    def find(self, command: Command) -> bytes:
        """``find``."""
        _plain_collation(command)
        matcher = compile_filter(command.document("filter"))
        projection = compile_projection(command.document("projection"))
        sort = pipelines.parse_sort(command.document("sort"))
        skip, limit = command.integer("skip"), command.integer("limit")
        single = command.flag("singleBatch") or limit < 0
        if skip < 0:
            raise CommandError(51024, "BSON field 'skip' value must be >= 0")
        if command.flag("tailable"):
            raise CommandError(2, "error processing query: tailable cursor requested on non capped collection")
        allowed = _allowed(command)
        collection = self.collection(command)
        documents = pipelines.matching(collection, matcher, sort, allowed)
        if skip or limit:
            documents = islice(documents, skip, skip + abs(limit) if limit else None)
        if projection is not None:
            documents = map(projection, documents)
        count = command.integer("batchSize") if command.get("batchSize") else None
        reply = self.cursors.first(f"{command.database}.{command.text('find')}", documents, count, single)
        allowed.lift()
        return reply

    def get_more(self, command: Command) -> bytes:
        """``getMore``."""
        return self.cursors.next(command)

    def kill_cursors(self, command: Command) -> bytes:
        """``killCursors``."""
        given = command.get("cursors")
        numbers = [int(order.number(*e)) for e in order.items(given[1])] if given else []
        gone = self.cursors.kill(numbers)
        lost = [number for number in numbers if number not in gone]
        return wire.pack(cursorsKilled=gone, cursorsNotFound=lost, cursorsAlive=[], cursorsUnknown=[], ok=1.0)

    def aggregate(self, command: Command) -> bytes:
        """``aggregate``."""
        _plain_collation(command)
        target = command.get("aggregate")
        whole = target is not None and target[0] != c.STRING
        name = "$cmd.aggregate" if whole else command.text("aggregate")
        collection = None if whole else self.store.get(command.database, name)
        if command.flag("explain"):
            return _explained(f"{command.database}.{name}", collection, *pipelines.beginning(command.get("pipeline")))
        pipeline, allowed = command.get("pipeline"), _allowed(command)
        documents = pipelines.aggregate(self.store, command.database, collection, pipeline, allowed)
        cursor = command.document("cursor")
        size = order.field(cursor, b"batchSize\x00")
        count = int(order.number(*size)) if size is not None and size[0] in order.NUMBERS else None
        reply = self.cursors.first(f"{command.database}.{name}", documents, count, single=False)
        allowed.lift()
        return reply

    def count(self, command: Command) -> bytes:
        """``count``."""
        matcher = compile_filter(command.document("query"))
        collection = self.collection(command)
        skip, limit = command.integer("skip"), abs(command.integer("limit"))
        if collection is not None and collection.unread:
            raise CommandError(50, "operation exceeded time limit: the file of the dump was not read to its end")
        if matcher.everything and collection is not None:
            total = collection.count
        else:
            total = sum(1 for _ in pipelines.matching(collection, matcher, (), _allowed(command)))
        total = max(0, total - skip)
        return wire.pack(n=min(total, limit) if limit else total, ok=1.0)

    def distinct(self, command: Command) -> bytes:
        """``distinct``."""
        path = order.path_of(command.text("key"))
        values: dict[order.Key, Element] = {}
        matcher = compile_filter(command.document("query"))
        for raw in pipelines.matching(self.collection(command), matcher, (), _allowed(command)):
            for element in _reached(raw, path):
                if element is None:
                    continue
                for e in order.items(element[1]) if element[0] == c.ARRAY else [element]:
                    values.setdefault(order.key(*e), e)
        array = c.array(c.Value(*e) for _, e in sorted(values.items(), key=lambda pair: pair[0]))
        if len(array.data) > BATCH_BYTES:
            raise CommandError(17217, "distinct too big, 16mb cap")
        return wire.pack(values=array, ok=1.0)

    def explain(self, command: Command) -> bytes:
        """``explain``: which index a find or pipeline would use, and how many documents it would look at."""
        inner = dict(c.fields(command.document("explain")))
        name = next(iter(inner), "")
        asked = Command(0, False, False, name, command.database, inner)
        ns = f"{command.database}.{asked.text(name) if name else ''}"
        if name == "aggregate":
            return _explained(ns, self.collection(asked), *pipelines.beginning(asked.get("pipeline")))
        if name not in ("find", "count", "distinct"):
            return _explained(ns, None, c.EMPTY, ())
        sort = pipelines.parse_sort(asked.document("sort"))
        return _explained(ns, self.collection(asked), asked.document("filter" if name == "find" else "query"), sort)


def _reached(raw: bytes, path: tuple[bytes, ...]) -> list[Element | None]:
    try:
        return order.reach(raw, path)
    except Unreadable:
        return []


def _allowed(command: Command) -> TimeLimit:
    return TimeLimit(command.integer("maxTimeMS"))


def _explained(ns: str, collection: Collection | None, filter: bytes, sort: Sort) -> bytes:
    stage: dict[str, object] = {"stage": "EOF"}
    examined = returned = 0
    name = ""
    if collection is not None:
        matcher = compile_filter(filter)
        found, ordered, name = collection.find(matcher, sort, own=False)
        for _, raw in found:
            examined += 1
            returned += matcher.matches(raw)
        index = collection.indexes.get(name)
        keys = {"keyPattern": dict(index.keys)} if index is not None else {}
        stage = {"stage": "IXSCAN", "indexName": name, **keys} if name else {"stage": "COLLSCAN"}
        if name:
            stage = {"stage": "FETCH", "inputStage": stage}
        if not ordered:
            stage = {"stage": "SORT", "inputStage": stage}
    return wire.pack(
        queryPlanner={"plannerVersion": 1, "namespace": ns, "winningPlan": stage, "rejectedPlans": []},
        executionStats={
            "executionSuccess": True,
            "nReturned": returned,
            "totalKeysExamined": examined if name else 0,
            "totalDocsExamined": examined,
        },
        ok=1.0,
    )


def _plain_collation(command: Command) -> None:
    locale = order.field(command.document("collation"), b"locale\x00")
    if locale is not None and locale[1][4:-1] != b"simple":
        raise CommandError(2, "Collations are not supported here; leave the collation out")
