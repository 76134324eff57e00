"""Change streams over the log of changes: ``aggregate`` with ``$changeStream``, and ``getMore`` that waits.

They cover a collection, a database, or (in ``admin``, with ``allChangesForCluster``) everything. A stream is only a
place in the log from which it reads on. Source: "Change Events" in the MongoDB manual.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from threading import Lock

from bson.int64 import Int64
from bson.timestamp import Timestamp
from msgspec import Struct

from model.localserver import pipelines, wire
from model.localserver.change_log import ChangeLog, LoggedChange, Point
from model.localserver.read_commands import BATCH_BYTES, FIRST_BATCH, Cursors, ReadCommands
from model.localserver.store import Store
from model.localserver.wire import Command
from model.mql import order
from model.mql.command_error import CommandError
from model.mql.filters import compile_filter
from model.mql.order import Element
from model.values import canonical as c
from model.values.canonical import Value

STAGE = "$changeStream"
_WAIT_MS = 1000
_SCANNED = 1000  # changes looked at in one go
_ALLOWED = ("$match", "$project", "$addFields", "$set", "$unset", "$replaceRoot", "$replaceWith")
_OPTIONS = {
    "resumeAfter", "startAfter", "startAtOperationTime", "fullDocument", "fullDocumentBeforeChange",
    "allChangesForCluster", "showExpandedEvents",
}  # fmt: skip
_LARGEST = BATCH_BYTES + 16 * 1024  # bytes of the largest event, which cannot be split over several replies
_NOTHING = Value(c.NULL, b"")


class _OpenStream(Struct):
    ns: str
    database: str  # "" for all
    collection: str  # "" for all of the database
    after: str  # the option fullDocument
    before: str
    stages: list[tuple[str, Element]]
    point: Point
    lock: Lock


class ChangeStreams(ReadCommands):
    """The reading commands of a replica set, whose cursors may be change streams."""

    def __init__(self, store: Store, cursors: Cursors, log: ChangeLog) -> None:
        super().__init__(store, cursors)
        self.log = log
        self._open: dict[int, _OpenStream] = {}
        self._guard = Lock()

    def aggregate(self, command: Command) -> bytes:
        """``aggregate``; the first batch of a change stream never waits."""
        pipeline = command.get("pipeline")
        stages = pipelines.stages_of(pipeline) if pipeline is not None and pipeline[0] == c.ARRAY else []
        if not stages or stages[0][0] != STAGE:
            return super().aggregate(command)
        stream = self._stream(command, stages)
        size = order.field(command.document("cursor"), b"batchSize\x00")
        count = int(order.number(*size)) if size is not None and size[0] in order.NUMBERS else FIRST_BATCH
        batch, open_still = self._batch(stream, count)
        number = random.getrandbits(62) | 1 if open_still else 0
        if number:
            with self._guard:
                self._open[number] = stream
        return self._reply(stream, number, batch, "firstBatch")

    def get_more(self, command: Command) -> bytes:
        """``getMore``; on a change stream it waits for news, for ``maxTimeMS`` or a second."""
        number = command.integer("getMore")
        stream = self._open.get(number)
        if stream is None:
            return super().get_more(command)
        if stream.ns != f"{command.database}.{command.text('collection')}":
            raise CommandError(43, f"cursor id {number} not found")
        until = time.monotonic() + (command.integer("maxTimeMS") or _WAIT_MS) / 1000
        count = command.integer("batchSize") or FIRST_BATCH
        with stream.lock:
            try:
                batch, open_still = self._batch(stream, count)
                while not batch and open_still and number in self._open:
                    if not self.log.wait(stream.point.number, until):
                        break
                    batch, open_still = self._batch(stream, count)
            except CommandError:
                self._forget([number])
                raise
        if not open_still:
            self._forget([number])
        return self._reply(stream, number if open_still else 0, batch, "nextBatch")

    def kill_cursors(self, command: Command) -> bytes:
        """``killCursors``."""
        given = command.get("cursors")
        mine = self._forget([int(order.number(*e)) for e in order.items(given[1])] if given else [])
        if not mine:
            return super().kill_cursors(command)
        return wire.pack(cursorsKilled=mine, cursorsNotFound=[], cursorsAlive=[], cursorsUnknown=[], ok=1.0)

    def _forget(self, numbers: list[int]) -> list[int]:
        with self._guard:
            return [number for number in numbers if self._open.pop(number, None) is not None]

    def _reply(self, stream: _OpenStream, number: int, batch: list[bytes], name: str) -> bytes:
        cursor = {
            name: c.array(map(Value.document, batch)),
            "id": Int64(number),
            "ns": stream.ns,
            "postBatchResumeToken": Value.document(self.log.token(stream.point)),
        }
        return wire.pack(cursor=cursor, ok=1.0)

    # --- the request

    def _stream(self, command: Command, stages: list[tuple[str, Element]]) -> _OpenStream:
        for name, _ in stages[1:]:
            if name not in _ALLOWED:
                raise CommandError(20, f"{name} is not permitted in a $changeStream pipeline")
        given = stages[0][1]
        if given[0] != c.OBJECT:
            raise CommandError(6188500, "$changeStream must take a nested object")
        options = dict(c.fields(given[1]))
        if unknown := set(options) - _OPTIONS:
            raise CommandError(40415, f"BSON field '$changeStream.{min(unknown)}' is an unknown field.")
        asked = Command(0, False, False, STAGE, command.database, options)
        target = command.get("aggregate")
        one = target is not None and target[0] == c.STRING
        name = command.text("aggregate") if one else ""
        everything = asked.flag("allChangesForCluster")
        stream = _OpenStream(
            ns=f"{command.database}.{name or '$cmd.aggregate'}",
            database="" if everything else command.database,
            collection=name,
            after=asked.text("fullDocument") if "fullDocument" in options else "default",
            before=asked.text("fullDocumentBeforeChange") if "fullDocumentBeforeChange" in options else "off",
            stages=stages[1:],
            point=Point(0, 0),
            lock=Lock(),
        )
        if stream.after not in ("default", "updateLookup", "whenAvailable", "required"):
            raise CommandError(2, f"Enumeration value '{stream.after}' for field 'fullDocument' is not a valid value.")
        if stream.before not in ("off", "whenAvailable", "required"):
            raise CommandError(2, f"'{stream.before}' for field 'fullDocumentBeforeChange' is not a valid value.")
        list(pipelines.run(self.store, command.database, (), stream.stages))  # refuses a wrong stage at once
        stream.point = self._start(asked, stream)
        return stream

    def _start(self, asked: Command, stream: _OpenStream) -> Point:
        ways = [name for name in ("resumeAfter", "startAfter", "startAtOperationTime") if asked.get(name)]
        if len(ways) > 1:
            raise CommandError(40674, f"Only one of {' and '.join(ways)} may be given to a $changeStream")
        if ways == ["startAtOperationTime"]:
            found = asked.get(ways[0])
            assert found is not None
            at = Value(*found).python()
            if not isinstance(at, Timestamp):
                raise CommandError(14, "startAtOperationTime must be a timestamp")
            return Point(self.log.before(at), 0)
        if not ways:
            return Point(self.log.last, 0)
        point = self.log.point(asked.document(ways[0]))
        if ways == ["resumeAfter"] and point.events > 1:
            raise CommandError(
                260, "Attempting to resume a change stream using 'resumeAfter' is not allowed from an invalidate."
            )
        return point

    # --- the events

    def _batch(self, stream: _OpenStream, count: int) -> tuple[list[bytes], bool]:
        """The events after the stream's place, which moves on; and whether there may be more."""
        batch: list[bytes] = []
        size = 0
        if stream.point.events == 1:
            # It resumes after the end of its collection: the only event left says so.
            last = self.log.change(stream.point.number)
            if last is not None and self._ends(stream, last):
                return self._end(stream, last)
        for change in self.log.behind(stream.point.number, _SCANNED):
            if len(batch) >= count or size > BATCH_BYTES // 2:
                break
            if not _concerns(stream, change):
                stream.point = Point(change.number, 0)
                continue
            stream.point = Point(change.number)
            for event in self._shown(stream, self._event(stream, change)):
                if len(event) > _LARGEST:
                    raise CommandError(10334, f"BSONObj size: {len(event)} is invalid. First element: _id")
                batch.append(event)
                size += len(event)
            if self._ends(stream, change):
                ended, open_still = self._end(stream, change)
                return batch + ended, open_still
        return batch, True

    def _ends(self, stream: _OpenStream, change: LoggedChange) -> bool:
        if not _concerns(stream, change):
            return False
        return change.kind == ("drop" if stream.collection else "dropDatabase") and bool(stream.database)

    def _end(self, stream: _OpenStream, change: LoggedChange) -> tuple[list[bytes], bool]:
        stream.point = Point(change.number, 2)
        event = [
            ("_id", Value.document(self.log.token(stream.point))),
            ("operationType", Value.of("invalidate")),
            ("clusterTime", Value.of(change.at)),
            ("wallTime", Value.of(change.wall)),
        ]
        return list(self._shown(stream, c.document(event))), False

    def _shown(self, stream: _OpenStream, event: bytes) -> Iterator[bytes]:
        for shown in pipelines.run(self.store, stream.database, [event], stream.stages):
            if order.field(shown, b"_id\x00") != order.field(event, b"_id\x00"):
                raise CommandError(280, "Encountered an event whose _id field, the resume token, was modified")
            yield shown

    def _event(self, stream: _OpenStream, change: LoggedChange) -> bytes:
        ns = {"db": change.database, **({"coll": change.collection} if change.collection else {})}
        out = [
            ("_id", Value.document(self.log.token(stream.point))),
            ("operationType", Value.of(change.kind)),
            ("clusterTime", Value.of(change.at)),
            ("wallTime", Value.of(change.wall)),
        ]
        images = self._keeps_images(change)
        if change.kind in ("insert", "replace"):
            out.append(("fullDocument", Value.document(change.after or c.EMPTY)))
        elif change.kind == "update" and stream.after == "updateLookup":
            out.append(("fullDocument", self._now(change)))
        elif change.kind == "update" and stream.after != "default":
            out.append(("fullDocument", _image(change.after, images, stream.after)))
        out.append(("ns", Value.of(ns)))
        if (id := change.id) is not None:
            out.append(("documentKey", Value.document(c.document([("_id", id)]))))
        if change.kind == "update":
            out.append(("updateDescription", Value.document(_description(change))))
        if change.kind in ("update", "replace", "delete") and stream.before != "off":
            out.append(("fullDocumentBeforeChange", _image(change.before, images, stream.before)))
        return c.document(out)

    def _now(self, change: LoggedChange) -> Value:
        """The document at the time of reading, which may be later than the change."""
        collection, id = self.store.get(change.database, change.collection), change.id
        if collection is not None and id is not None:
            for raw in pipelines.matching(collection, compile_filter(c.document([("_id", id)]))):
                return Value.document(raw)
        return _NOTHING

    def _keeps_images(self, change: LoggedChange) -> bool:
        collection = self.store.get(change.database, change.collection)
        asked = c.get(collection.options, ("changeStreamPreAndPostImages", "enabled")) if collection else None
        return asked is not None and asked.python() is True


def _concerns(stream: _OpenStream, change: LoggedChange) -> bool:
    if stream.database and change.database != stream.database:
        return False
    return not stream.collection or change.collection == stream.collection


def _image(raw: bytes | None, kept: bool, wanted: str) -> Value:
    if kept and raw is not None:
        return Value.document(raw)
    if wanted == "required":
        raise CommandError(47, "Change stream was configured to require a pre- or post-image, and none was kept")
    return _NOTHING


def _description(change: LoggedChange) -> bytes:
    """The changes of an update: fields by path, arrays whole."""
    updated: list[tuple[str, Value]] = []
    removed: list[str] = []
    _differ(change.before or c.EMPTY, change.after or c.EMPTY, "", updated, removed)
    return c.document(
        [
            ("updatedFields", Value.document(c.document(updated))),
            ("removedFields", c.array(map(Value.of, removed))),
            ("truncatedArrays", c.array(())),
        ]
    )


def _differ(before: bytes, after: bytes, prefix: str, updated: list[tuple[str, Value]], removed: list[str]) -> None:
    old, new = dict(c.fields(before)), dict(c.fields(after))
    removed.extend(prefix + name for name in old if name not in new)
    for name, value in new.items():
        was = old.get(name)
        if was is not None and was.type == value.type == c.OBJECT:
            _differ(was.data, value.data, f"{prefix}{name}.", updated, removed)
        elif was != value:
            updated.append((prefix + name, value))
