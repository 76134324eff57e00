"""The feeder: keeps the archives of ``stream`` collections up to date, from change streams or by polling.

It guarantees three things. A version is archived only once, because the archive has a unique index on id and version.
An archived version never changes. The place from which the feed continues moves past an event only after its version
was archived, or noted in the ledger as impossible to archive (``model.feed.ledger``). A feeder may be killed at any
moment, and continue on any computer.

Unlike all other writes, the feeder's are not in the journal. The journal is for a person's writes, which may be taken
back. A feeder writes thousands of rows a day, which would bury the edits, and nobody should take them back. It needs
no record of its intent either: a write that was on its way when a feeder died is sent again, and finds its row.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence

from model.errors import Cancelled, Refused, Unreachable
from model.feed.collection_feed import CollectionFeed, FeedPort
from model.feed.fed import Fed
from model.layouts.base import Layout

__all__ = ["EVERY", "Fed", "fed_layouts", "feed"]

EVERY = 10.0
"""Seconds between two looks at a collection, when polling."""
_AWAIT_MS = 1000
_ONCE_MS = 250
_BEHIND = 60.0  # seconds of lag that are worth a note, and the time between two such notes
_PAUSES = (1.0, 2.0, 5.0, 10.0, 30.0)  # seconds between attempts to reach the server again


def feed(
    server: FeedPort,
    layouts: Sequence[Layout],
    once: bool = False,
    every: float = EVERY,
    stop: threading.Event | None = None,
    wait_ms: int | None = None,
) -> Iterator[Fed]:
    """Feed these collections until ``stop`` is set, or with ``once`` until nothing is left to feed.

    With ``once``, any trouble is raised as ``Refused``; else the feeder waits for an unreachable server. ``wait_ms``
    is how long it waits at an empty stream.
    """
    stop = stop or threading.Event()
    # Several streams are read in turn, so the time that one may wait is shared among them.
    wait = wait_ms if wait_ms is not None else _ONCE_MS if once else max(50, _AWAIT_MS // max(1, len(layouts)))
    turns = [_Turn(CollectionFeed(server, layout, wait, once, stop.is_set), every) for layout in layouts]
    try:
        while not stop.is_set():
            for turn in turns:
                if not stop.is_set() and turn.due(once):
                    yield from turn.take(once)
            # Only together: while one stream is drained, another one may have received more.
            if once and all(turn.feed.idle for turn in turns):
                return
            if (pause := min(turn.pause() for turn in turns)) > 0:
                stop.wait(pause)
    except Cancelled:
        return  # stopped while there was no news
    finally:
        for turn in turns:
            turn.feed.close()


def fed_layouts(found: Iterable[Layout]) -> list[Layout]:
    """The layouts that can be fed; raises ``Refused`` if one cannot, or if there is none."""
    layouts = []
    for layout in found:
        if not layout.fed:
            raise Refused(
                f"{layout.ns} is taken for {layout.name}, and only stream collections are fed: state it as stream in "
                "the profile, or say --layout stream."
            )
        layouts.append(layout)
    if not layouts:
        raise Refused('No collection is stated as stream: name one, or give --profile FILE with layout = "stream".')
    return layouts


class _Turn:
    """One of the collections that are fed in turn."""

    def __init__(self, feed: CollectionFeed, every: float) -> None:
        self.feed, self.every = feed, every
        self._next = 0.0
        self._failed = 0
        self._behind = False
        self._spoke = time.monotonic()

    def due(self, once: bool) -> bool:
        return not (once and self.feed.idle) and self.pause() <= 0

    def pause(self) -> float:
        """Seconds until the next step."""
        return max(0.0, self._next - time.monotonic())

    def take(self, once: bool) -> Iterator[Fed]:
        """Take one step; also tell if the feed falls behind, catches up, or cannot reach the server."""
        try:
            yield from self.feed.step()
            self._failed = 0
        except Unreachable as error:
            self.feed.broken()
            if once:
                raise
            if not self._failed:
                # Once for each break, not for each attempt: a server may be away for days.
                yield Fed("note", self.feed.ns, f"{error} Trying again.")
            self._next = time.monotonic() + _PAUSES[min(self._failed, len(_PAUSES) - 1)]
            self._failed += 1
            return
        except Refused:
            self.feed.broken()
            raise
        if self.feed.polling:
            self._next = time.monotonic() + self.every
        yield from self._lag()

    def _lag(self) -> Iterator[Fed]:
        lag, now = self.feed.lag(), time.monotonic()
        if lag is None:
            return
        if lag > _BEHIND and now - self._spoke > _BEHIND:
            self._behind, self._spoke = True, now
            yield Fed("note", self.feed.ns, f"{self.feed.rows.ns} is {_span(lag)} behind.", lag=lag)
        elif self._behind and self.feed.idle:
            self._behind, self._spoke = False, now
            yield Fed("note", self.feed.ns, f"{self.feed.rows.ns} has caught up.", lag=lag)


def _span(seconds: float) -> str:
    if seconds < 7200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.0f} hours" if seconds < 172800 else f"{seconds / 86400:.0f} days"
