"""The new versions of some collections as they arrive: by a change stream, or by polling if the server has none.

Callers ask :meth:`Tail.more` again and again; nothing is read otherwise. An answer contains only the newest rows
since the last one, so that memory does not grow with the writers' pace. A broken stream resumes after the last
reported event; if the server cannot do that, a note says so.
"""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from msgspec import Struct, field

from model.errors import NotAllowed, Refused, Unreadable
from model.feed import change_event
from model.feed.change_event import ChangeEvent
from model.layouts.base import Layout
from model.over_time.activity import Activity
from model.over_time.told_version import Place, ToldVersion, completed
from model.over_time.version_events import TOLD, VersionEvents
from model.over_time.version_poll import VersionPoll, outermost
from model.server.change_stream import Changes, HistoryLost, NoChanges, Take, TooLarge
from model.server.port import Port, Terms
from model.storage.reserved_fields import legible_field
from model.values.canonical import Value

MOST = 5_000
"""The most rows of one answer, the newest."""
WAIT_MS = 300  # how long an answer waits if nothing arrives
SPELL = 0.1  # seconds until an answer with rows is returned
EVERY = 2.0  # seconds between two polls
SHARE = 20  # after a poll, the server is left alone for SHARE times as long as it took
REST = 300.0  # seconds of rest after which it starts anew, because too much may have happened meanwhile
APART = 20  # collections that get their own streams if the database's stream is denied
LOOKED_UP = 500  # versions per answer whose author or id is looked up if the event lacks it
POLLED = "New versions are looked for every two seconds; those that come and go between two looks are missed."
_ENDS = ("drop", "rename", "dropDatabase")


class TailPort(Port, Protocol):
    """The server's interface for tailing."""

    def changes(
        self,
        ns: str,
        after: bytes | None = None,
        wait_ms: int = 1000,
        images: bool = False,
        take: Take = "many",
        stages: Sequence[Terms] | None = None,
    ) -> Changes:
        """The changes of a collection, a database or (for "") everything, as events that passed the stages."""


class TailBatch(Struct, frozen=True):
    """The new versions since the last answer: the newest of ``came`` versions, oldest first."""

    rows: tuple[Activity, ...] = ()
    came: int = 0
    notes: tuple[str, ...] = ()  # sentences to show once
    pause: float = 0.0  # seconds until it makes sense to ask again
    behind: float = 0.0  # seconds since the last one was written, if more are waiting

    @property
    def left_out(self) -> int:
        """How many arrived that are not among the rows."""
        return self.came - len(self.rows)


class _Stream(Struct):
    """A change stream, open or not; the token is the place after the last event."""

    place: str  # a collection, a database or ""
    open: Changes | None = None
    token: bytes | None = None
    at: dt.datetime | None = None  # of the last event, or when it was first opened


class _Gathered(Struct):
    """What one answer has collected so far; ``told`` keeps only as many as it may return."""

    told: deque[ToldVersion]
    came: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, told: ToldVersion) -> None:
        self.told.append(told)
        self.came += 1

    def note(self, said: str) -> None:
        """Add a note that is not there yet: a stream may give cause for many equal ones."""
        if said not in self.notes:
            self.notes.append(said)


class Tail:
    """Follows some collections; may be used from several threads, which wait for one another."""

    def __init__(self, server: TailPort, layouts: Sequence[Layout], most: int = MOST) -> None:
        self._server, self._most = server, most
        self._events: Mapping[str, VersionEvents] = {layout.ns: VersionEvents(layout) for layout in layouts}
        self._lock = threading.Lock()
        self._streams: list[_Stream] = []
        self._polls: list[VersionPoll] = []
        self._next_look = 0.0
        self._began = False
        self._rested: dt.datetime | None = None

    @property
    def places(self) -> tuple[str, ...]:
        """The followed collections."""
        return tuple(self._events)

    def more(self) -> TailBatch:
        """The versions that arrived since the last time, or none after a short wait.

        Raises the errors of reading; the next call continues after what was returned, if the server can.
        """
        with self._lock:
            found = _Gathered(deque(maxlen=self._most))
            try:
                self._open(found)
                behind = self._read(found)
                self._look(found)
            except Refused:
                self._close()
                if not found.came and not found.notes:
                    raise
                behind = 0.0  # raised again next time, if it persists
            return TailBatch(self._completed(list(found.told)), found.came, tuple(found.notes), self._pause(), behind)

    def rest(self) -> None:
        """Close the streams; asks nothing until :meth:`more`, which continues from here."""
        with self._lock:
            # The first rest counts: a second one adds nothing to how long nobody has looked.
            self._rested = self._rested or dt.datetime.now(dt.UTC)
            self._close()

    def _close(self) -> None:
        for stream in self._streams:
            if stream.open is not None:
                stream.open.close()
                stream.open = None

    # --- beginning, and going on

    def _open(self, found: _Gathered) -> None:
        self._wake(found)
        if not self._began:
            self._streams = [_Stream(place) for place in self._together(list(self._events))]
            self._polls = []
        while closed := next((stream for stream in self._streams if stream.open is None), None):
            try:
                self._open_one(closed, found)
            except NoChanges as error:
                self._streams.remove(closed)
                self._go_without(closed.place, error, found)
        self._began = True

    def _wake(self, found: _Gathered) -> None:
        """After a long rest start anew, and note that."""
        rested, self._rested = self._rested, None
        now = dt.datetime.now(dt.UTC)
        # Thousands of old rows would come one after the other before the first new one is seen.
        if rested is not None and (now - rested).total_seconds() > REST:
            self._began = False
            found.notes.append(_missed(rested, now))

    def _open_one(self, stream: _Stream, found: _Gathered) -> None:
        wait = max(20, WAIT_MS // len(self._streams))
        stages = self._stages(stream.place)
        try:
            stream.open = self._server.changes(stream.place, stream.token, wait, stages=stages)
        except HistoryLost:
            if stream.token is None or stream.at is None:
                raise
            found.notes.append(_missed(stream.at, dt.datetime.now(dt.UTC)))
            stream.open = self._server.changes(stream.place, None, wait, stages=stages)
        stream.token = stream.open.token or stream.token
        stream.at = stream.at or dt.datetime.now(dt.UTC)

    def _go_without(self, place: str, error: NoChanges, found: _Gathered) -> None:
        """Follow the parts of a place separately if its stream is denied; else by polling."""
        inside = self._inside(place)
        # A right may be granted on one collection only; a server without streams has none on its parts either.
        parts = self._parts(place, inside) if error.denied else []
        if parts and len(self._streams) + len(parts) <= APART:
            self._streams += [_Stream(part) for part in parts]
            return
        polls = [VersionPoll(self._events[ns], self._events[ns].layout.server) for ns in inside]
        # Said once: with many collections the reason is the same sentence.
        if polls and not self._polls:
            found.notes += [str(error), POLLED]
        self._polls += polls
        self._next_look = 0.0

    def _inside(self, place: str) -> list[str]:
        return [ns for ns in self._events if place in ("", ns, ns.partition(".")[0])]

    @staticmethod
    def _together(names: Sequence[str]) -> list[str]:
        """The single place that contains all of these collections."""
        databases = {ns.partition(".")[0] for ns in names}
        return [names[0] if len(names) == 1 else databases.pop() if len(databases) == 1 else ""] if names else []

    @staticmethod
    def _parts(place: str, inside: Sequence[str]) -> list[str]:
        if "." in place:
            return []
        return list(inside) if place else sorted({ns.partition(".")[0] for ns in inside})

    def _stages(self, place: str) -> list[Terms]:
        """Stages that keep only events of the followed collections, and only the fields that a row needs."""
        inside = self._inside(place)
        stages: list[Terms] = []
        if "." not in place:
            here: dict[str, list[str]] = {}
            for ns in inside:
                here.setdefault(ns.partition(".")[0], []).append(ns.partition(".")[2])
            which = [{"ns.db": db, "ns.coll": {"$in": names}} for db, names in here.items()]
            # Events that end a place name it in another way, so they pass whatever they name.
            stages.append({"$match": {"$or": [*which, {"operationType": {"$in": [*_ENDS, "invalidate"]}}]}})
        if len(inside) == 1 and self._events[inside[0]].layout.holds_changes:
            return stages  # all fields of a row show what it changed
        wanted = [path for ns in inside for path in self._events[ns].fields]
        fields = ["_id", *TOLD, *(f"fullDocument.{path}" for path in outermost(wanted))]
        return [*stages, {"$project": dict.fromkeys(fields, 1)}]

    # --- reading

    def _read(self, found: _Gathered) -> float:
        """Read the streams; returns how many seconds this is behind the writers."""
        began, behind = time.monotonic(), 0.0
        for stream in list(self._streams):
            while stream.open is not None:
                raw = self._next(stream, found)
                if raw is None:
                    break
                try:
                    event = change_event.read(raw)
                except Unreadable as error:
                    found.note(str(error))
                    # The place moves past an event that cannot be read, or it would come again for ever.
                    stream.token, stream.at = stream.open.token, dt.datetime.now(dt.UTC)
                else:
                    stream.token, stream.at = event.token, event.at
                    self._take(event, found)
                if stream.open.ended:
                    stream.open.close()
                    stream.open = None
                elif time.monotonic() - began >= SPELL:
                    behind = max(behind, (dt.datetime.now(dt.UTC) - stream.at).total_seconds())
                    break
        self._streams = self._streams[1:] + self._streams[:1]  # so that each comes first in turn
        return behind

    def _next(self, stream: _Stream, found: _Gathered) -> bytes | None:
        assert stream.open is not None
        try:
            raw = stream.open.next()
        except (HistoryLost, TooLarge) as error:
            stream.open.close()
            stream.open, since = None, stream.at or dt.datetime.now(dt.UTC)
            # From now on, not from the last place: that one is gone, or the event behind it is too large again.
            stream.token, stream.at = None, None
            said = _missed(since, dt.datetime.now(dt.UTC))
            found.notes += [str(error), said] if isinstance(error, TooLarge) else [said]
            return None
        except NoChanges:
            self._began = False  # no longer allowed: the next call finds another way
            raise
        if raw is None:
            stream.token, stream.at = stream.open.token or stream.token, dt.datetime.now(dt.UTC)
        return raw

    def _take(self, event: ChangeEvent, found: _Gathered) -> None:
        if event.kind in _ENDS:
            gone = [ns for ns in self._events if event.ns in (ns, ns.partition(".")[0])]
            renamed = event.kind == "rename"
            found.notes += [f"{ns} was renamed." if renamed else f"{ns} was dropped." for ns in gone]
            return
        events = self._events.get(event.ns)
        if events is not None and event.lacks:
            found.note(f"The server tells of a change in {event.ns} ({event.kind}), but not {event.lacks}.")
        row = events.of(event) if events is not None else None
        if events is not None and row is not None:
            unnamed = event.document is None and not events.names_id
            found.add(ToldVersion(row, event.key, unnamed, events.unsaid(event)))

    def _look(self, found: _Gathered) -> None:
        if not self._polls or time.monotonic() < self._next_look:
            return
        began = time.monotonic()
        for poll in list(self._polls):
            try:
                for row in poll.look():
                    found.add(ToldVersion(row))
            except NotAllowed as error:
                self._polls.remove(poll)
                found.notes.append(f"{poll.ns} is not followed: {error}")
            if poll.why_not:
                self._polls.remove(poll)
                found.notes.append(poll.why_not)
        now = time.monotonic()
        # A slow server is asked the less often, so that looking takes a twentieth of its time at most.
        self._next_look = now + max(EVERY, SHARE * (now - began))

    def _pause(self) -> float:
        if self._streams:
            return 0.0
        return max(0.0, self._next_look - time.monotonic()) if self._polls else EVERY

    # --- what an event does not say

    def _completed(self, told: list[ToldVersion]) -> tuple[Activity, ...]:
        """The rows, with facts that their events lack taken from the current documents."""
        wanted: dict[str, dict[Value, None]] = {}
        # The newest ones, which are on show; of thousands, older ones scroll by unread.
        for each in told[-LOOKED_UP:]:
            if each.key is not None and (each.unnamed or each.unsaid):
                wanted.setdefault(each.row.ns, {})[each.key] = None
        now: dict[Place, Activity] = {}
        for ns, keys in wanted.items():
            now |= {(ns, key): row for key, row in self._now(ns, list(keys))}
        return tuple(completed(told, now))

    def _now(self, ns: str, keys: Sequence[Value]) -> Iterator[tuple[Value, Activity]]:
        """The current versions of some stored documents."""
        events = self._events[ns]
        fields = dict.fromkeys(outermost(events.fields), 1)
        for raw in events.layout.server.find(ns, {"_id": {"$in": list(keys)}}, projection=fields, limit=len(keys)):
            if (key := legible_field(raw, "_id")) is not None:
                yield key, events.in_row(raw)


def _missed(since: dt.datetime, until: dt.datetime) -> str:
    return (
        f"Versions from {since:%Y-%m-%d %H:%M:%S} to {until:%Y-%m-%d %H:%M:%S} UTC are not shown here: the activity of "
        "that time has them."
    )
