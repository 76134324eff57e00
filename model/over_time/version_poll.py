"""The new versions of one collection on a server without change streams, if finding them is cheap.

If every version is a document and ``_id`` is an ObjectId, one short query finds those inserted since the last poll.
Any other collection is compared with the last poll, if it is small. Versions that appear and disappear between two
polls are missed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from bson import ObjectId

from model.over_time.activity import Activity
from model.over_time.version_events import VersionEvents
from model.server.port import Port, Terms
from model.storage.reserved_fields import legible_field
from model.values import canonical as c
from model.values.canonical import Value

FEW = 2_000  # documents to compare with the last poll by the layout's own fields
FEW_WHOLE = 200  # documents to compare completely, if the layout has no such fields
AT_ONCE = 5_000  # rows of one poll
LATE = 5  # seconds that a row may be older than one that came before it: writers' clocks make the ids
LOOK_MS = 2_000


class VersionPoll:
    """Polls for new versions of one collection. The first poll only notes what exists."""

    def __init__(self, events: VersionEvents, server: Port) -> None:
        self._events, self._server = events, server
        self.ns = events.ns
        self.why_not = ""
        """Why the collection is not polled, one sentence; "" if it is."""
        self._looked = False
        self._last: Value | None = None  # the greatest ``_id``
        self._late: set[Value] = set()  # rows already reported that the next poll will see again
        self._marks: dict[Value, tuple[bytes, Value]] = {}  # by ``_id``, with the document's id
        self._by_id = events.layout.own_documents

    def look(self) -> list[Activity]:
        """The versions that arrived since the last poll; raises the errors of reading."""
        if self.why_not:
            return []
        if self._by_id and not self._looked:
            self._begin_by_id()
        found = list(self._inserted() if self._by_id else self._compared())
        first, self._looked = not self._looked, True
        return [] if first else found

    # --- by the order of ids

    def _begin_by_id(self) -> None:
        rows = self._server.find(self.ns, sort={"_id": -1}, projection={"_id": 1}, limit=1, max_ms=LOOK_MS)
        newest = next((legible_field(raw, "_id") for raw in rows), None)
        self._by_id = newest is None or newest.type == c.OBJECT_ID
        self._last = newest

    def _inserted(self) -> Iterator[Activity]:
        """The rows after the last one, and slightly earlier ones that were not reported yet."""
        since: dict[str, Any] = {}
        if self._last is not None:
            since = {"_id": {"$gt": _before(self._last)}}
        again: set[Value] = set()
        newest, edge = self._last, None if self._last is None else _before(self._last)
        for raw in self._rows(since, {"_id": 1}, AT_ONCE):
            key = legible_field(raw, "_id")
            if key is None or key.type != c.OBJECT_ID:
                continue
            again.add(key)
            if newest is None or key.data > newest.data:
                newest = key
            if key not in self._late:
                yield self._events.in_row(raw)
        self._last = newest
        edge = None if newest is None else _before(newest)
        self._late = {key for key in again if edge is None or key.data > edge.data}

    # --- by comparing

    def _compared(self) -> Iterator[Activity]:
        most = FEW if self._events.version else FEW_WHOLE
        rows = list(self._rows({}, None, most + 1))
        if len(rows) > most:
            self.why_not = f"{self.ns} is not followed: with over {most:,} documents it is too large to be compared."
            self._marks.clear()
            return
        before, self._marks = self._marks, {}
        for raw in rows:
            key = legible_field(raw, "_id")
            if key is None:
                continue
            id, mark = self._events.id_of(raw), hashlib.sha1(raw, usedforsecurity=False).digest()
            self._marks[key] = (mark, id)
            was = before.get(key)
            if was is None or was[0] != mark:
                yield self._events.in_row(raw, "created" if was is None else "edited")
        if not self._events.layout.own_documents:
            for key, (_, id) in before.items():
                if key not in self._marks:
                    yield Activity(self.ns, id, None, None, None, None, "deleted")

    def _rows(self, filter: Terms, sort: Terms | None, limit: int) -> Iterator[bytes]:
        fields = dict.fromkeys(outermost(self._events.fields), 1) if self._events.version else None
        return self._server.find(self.ns, filter, sort, fields, limit=limit, max_ms=LOOK_MS)


def outermost(paths: list[str]) -> list[str]:
    """The paths that are not below another of them, each once, because a projection rejects nested ones."""
    alone = dict.fromkeys(paths)
    return [each for each in alone if not any(each.startswith(f"{other}.") for other in alone)]


def _before(id: Value) -> Value:
    """The ObjectId some seconds before another one."""
    seconds = max(0, int.from_bytes(id.data[:4], "big") - LATE)
    return Value.of(ObjectId(seconds.to_bytes(4, "big") + bytes(8)))
