"""The ledger beside an archive, in ``<archive>_feed``: the place of the feed, and the versions it could not archive.

It is stored on the server, not with the person who runs the feeder: any computer can continue the feed, a backup of
the archive includes the matching place, and every reader can tell how far the feed has come. A replica set writes
both in one order, so a failover that takes back rows also takes back the place after them.

The place is one document, ``{_id: <ns>, token, at, saved, way, whole, _w}``, and moves by swaps on its token ``_w``.
Two feeders on one collection do no harm: each moves the place only past events that it has handled, at worst
backwards.

A version that cannot be archived gets a document, ``{_id: {ns, id, v, what}, at, detail}``, before the place moves.
So does the last version of a deleted document, with the event's ``token``, which identifies the delete.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Literal

from bson import ObjectId

from model.errors import Refused, Unreachable
from model.server import guards
from model.server.retry import End, Port, Write, run
from model.storage.feed_state import DELETED, IN_PLACE, SUFFIX, TAKEN_BACK, Place, note_key, place_in
from model.values import canonical as c
from model.values.canonical import Value

What = Literal["changed in place", "another content", "lost", "deleted", "taken back"]
_NULL = Value(c.NULL, b"")


class Ledger:
    """The feed's own collection, limited to one fed collection."""

    def __init__(self, server: Port, ns: str, archive: str) -> None:
        self.server, self.about = server, ns
        self.ns = archive + SUFFIX
        self._key = Value.of(ns)
        self._mark: Value | None = None

    def read(self) -> Place | None:
        """The place that was kept last; None if there is none."""
        raw = self._raw()
        self._mark = None if raw is None else c.get(raw, ("_w",))
        if raw is None:
            return None
        return place_in(raw)

    def _raw(self) -> bytes | None:
        return next(iter(self.server.find(self.ns, guards.by_id(self._key), limit=1)), None)

    def save(self, place: Place) -> bool:
        """Keep a place; False if another feeder has moved it since; the next call replaces that."""
        # The mark of this very save: two feeders of one collection notice each other by it.
        mine = Value.of(ObjectId())
        fields = {
            "token": _NULL if place.token is None else Value.document(place.token),
            "at": Value.of(place.at),
            "saved": Value.of(dt.datetime.now(dt.UTC)),
            "way": Value.of(place.way),
            "whole": Value.of(place.whole),
            "_w": mine,
        }
        if self._mark is None:
            write = Write(self.ns, "insert", {}, c.document([("_id", self._key), *fields.items()]), "where the feed is")
        else:
            where = guards.by_id(self._key) | guards.exact("_w", self._mark)
            write = Write(self.ns, "update", where, {"$set": fields}, "where the feed is")
        end = run(self.server, write, lambda: self._is(mine))
        if end.kind == "applied":
            self._mark = mine
            return True
        if end.kind == "conflict":
            self.read()
            return False
        raise trouble(end)

    def _is(self, mark: Value) -> bool:
        raw = self._raw()
        return raw is not None and c.get(raw, ("_w",)) == mark

    # --- what could not be archived

    def note(
        self,
        id: Value | None,
        v: Value | None,
        what: What,
        detail: str,
        at: dt.datetime | None = None,
        token: bytes | None = None,
    ) -> bool:
        """Note that a version is not in the archive, and why; returns whether that is new. ``token`` is the event's."""
        key = self._note_key(id, v, what)
        pairs = [("_id", key), ("at", Value.of(at or dt.datetime.now(dt.UTC))), ("detail", Value.of(detail))]
        if token is not None:
            pairs.append(("token", Value.document(token)))
        write = Write(self.ns, "insert", {}, c.document(pairs), "what happened beside the archive")
        end = run(self.server, write, lambda: self._noted(key))
        # A conflict means that the note is there, from another feeder or an earlier run: it has the key as its `_id`.
        if end.kind in ("applied", "conflict"):
            return end.kind == "applied"
        raise trouble(end)

    def changed_in_place(self, id: Value, v: Value) -> bool:
        """Whether this version, or an unknown one, is noted as changed without a new number."""
        return any(self._noted(self._note_key(id, version, IN_PLACE)) for version in (v, None))

    def knows_delete(self, id: Value, versions: Sequence[Value], token: bytes) -> bool:
        """Whether the delete with this event token is noted at one of a document's versions."""
        keys = [self._note_key(id, v, DELETED) for v in versions]
        found = self.server.find(self.ns, {"_id": {"$in": keys}}) if keys else ()
        return any(c.get(raw, ("token",)) == Value.document(token) for raw in found)

    def was_taken_back(self, id: Value, v: Value) -> bool:
        """Whether an archived version is noted as lost by its document."""
        return self._noted(self._note_key(id, v, TAKEN_BACK))

    def was_deleted(self, id: Value, versions: Sequence[Value]) -> bool:
        """Whether the document was deleted after one of these versions; if it exists, it was created again."""
        keys = [self._note_key(id, v, DELETED) for v in versions]
        return any(True for _ in self.server.find(self.ns, {"_id": {"$in": keys}}, projection={"_id": 1}, limit=1))

    def _note_key(self, id: Value | None, v: Value | None, what: What) -> Value:
        return note_key(self.about, id or _NULL, v or _NULL, what)

    def _noted(self, key: Value) -> bool:
        return (
            next(iter(self.server.find(self.ns, guards.by_id(key), projection={"_id": 1}, limit=1)), None) is not None
        )


def trouble(end: End) -> Refused:
    """A failed write as an error to raise; after an unknown outcome, one that invites to try again."""
    error = end.reply.error if end.reply is not None else None
    if end.kind == "unknown":
        return Unreachable(end.sentence or "The server did not say how a write ended; try again.")
    return error or Refused(end.sentence)
