"""The limited log of changes that a replica set keeps, which change streams read and resume from.

A change is noted under its collection's lock, so the log has the order in which changes took effect. Each log has a
name in its tokens: a token of another log is as lost as that of a change no longer kept.
"""

from __future__ import annotations

import datetime as dt
import secrets
import threading
import time
from collections import deque
from itertools import islice
from typing import Literal, TypeAlias

from bson.timestamp import Timestamp
from msgspec import Struct

from model.mql.command_error import CommandError
from model.values import canonical as c
from model.values.canonical import Value

Kind: TypeAlias = Literal["insert", "update", "replace", "delete", "drop", "dropDatabase"]

MOST = 10_000  # changes
MOST_BYTES = 64 << 20
LOST = 286


class LoggedChange(Struct, frozen=True):
    """A change of one document, or the end of a collection or database (``collection`` is "" for the latter)."""

    number: int  # from 1 on, without gaps
    at: Timestamp
    wall: dt.datetime
    kind: Kind
    database: str
    collection: str
    before: bytes | None
    after: bytes | None

    @property
    def id(self) -> Value | None:
        """The document's ``_id``."""
        raw = self.after if self.after is not None else self.before
        return None if raw is None else c.get(raw, ("_id",))


class Point(Struct, frozen=True):
    """A place in the log: after a change and some of its events; 0 events if the stream shows none of it."""

    number: int
    events: int = 1  # 2: after the event on the collection's end, too


class ChangeLog:
    """The log of changes, without the oldest ones; several threads can use it."""

    def __init__(self, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        self._name = secrets.token_hex(4).upper()
        self._most, self._most_bytes = most, most_bytes
        self._changes: deque[LoggedChange] = deque()
        self._bytes = 0
        self._last = 0
        self._at = Timestamp(0, 0)
        self._stopped = False
        self._news = threading.Condition()

    @property
    def last(self) -> int:
        """The number of the newest change; 0 before the first."""
        with self._news:
            return self._last

    def now(self) -> Timestamp:
        """The time of the newest change, or the clock's if later: a stream that starts after it misses nothing new."""
        with self._news:
            return self._at if self._at.time >= int(time.time()) else Timestamp(int(time.time()), 0)

    def note(self, kind: Kind, ns: str, before: bytes | None = None, after: bytes | None = None) -> None:
        """Add a change; for ``dropDatabase``, ``ns`` is the database's name."""
        database, _, collection = ns.partition(".")
        with self._news:
            seconds = max(int(time.time()), self._at.time)
            self._at = Timestamp(seconds, self._at.inc + 1 if seconds == self._at.time else 1)
            self._last += 1
            wall = dt.datetime.now(dt.UTC)
            self._changes.append(LoggedChange(self._last, self._at, wall, kind, database, collection, before, after))
            self._bytes += len(before or b"") + len(after or b"")
            while len(self._changes) > self._most or (self._bytes > self._most_bytes and len(self._changes) > 1):
                gone = self._changes.popleft()
                self._bytes -= len(gone.before or b"") + len(gone.after or b"")
            self._news.notify_all()

    def behind(self, number: int, most: int) -> list[LoggedChange]:
        """Some changes after a number; raises ``CommandError`` 286 if the next one is no longer kept."""
        with self._news:
            first = self._last - len(self._changes) + 1
            if number < first - 1 or number > self._last:
                raise _lost()
            return list(islice(self._changes, number + 1 - first, number + 1 - first + most))

    def change(self, number: int) -> LoggedChange | None:
        """A change, or None if it is no longer kept."""
        with self._news:
            first = self._last - len(self._changes) + 1
            return self._changes[number - first] if first <= number <= self._last else None

    def wait(self, number: int, until: float) -> bool:
        """Wait for a change after a number, until a time of the monotonic clock; returns whether there is one."""
        with self._news:
            while self._last <= number and not self._stopped:
                left = until - time.monotonic()
                if left <= 0:
                    return False
                self._news.wait(left)
            return self._last > number

    def stop(self) -> None:
        """End all waiting."""
        with self._news:
            self._stopped = True
            self._news.notify_all()

    # --- tokens

    def token(self, point: Point) -> bytes:
        """The resume token of a place in the log."""
        text = f"82{self._name}{point.number:016X}{point.events:02X}"
        return c.document([("_data", Value.of(text))])

    def point(self, token: bytes) -> Point:
        """The place that a token stands for; raises ``CommandError`` if it is no longer kept, or no token."""
        found = c.get(token, ("_data",))
        text = found.python() if found is not None and found.type == c.STRING else ""
        if not isinstance(text, str) or len(text) != 28 or not text.startswith("82"):
            raise CommandError(260, "Bad resume token: its _data is missing or of the wrong type")
        try:
            point = Point(int(text[10:26], 16), int(text[26:], 16))
        except ValueError:
            raise CommandError(50811, f"resume token string was not a valid hex string: {text}") from None
        if text[2:10] != self._name:
            raise _lost()
        self.behind(point.number, 0)
        return point

    def before(self, at: Timestamp) -> int:
        """The number of the last change before a time; raises ``CommandError`` 286 if the log starts later."""
        with self._news:
            first = self._last - len(self._changes) + 1
            earlier = [change.number for change in self._changes if change.at < at]
            if earlier:
                return earlier[-1]
            if first > 1:
                raise _lost()
            return 0


def _lost() -> CommandError:
    return CommandError(
        LOST, "Resume of change stream was not possible, as the resume point may no longer be in the oplog."
    )
