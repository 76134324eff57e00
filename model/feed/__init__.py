"""The feeder: keeps the archives of ``stream`` collections up to date from change streams, or by polling.

It guarantees: a version is archived once, under the archive's unique index on id and version; an archived version is
never changed; the place from which it goes on moves past an event only when its version is in the archive, or is noted
beside it as one that can never be (``model.feed.ledger``). It may be killed anywhere and started anywhere.

Nothing of this goes to the journal, unlike everything else that is written from here. The journal is for a
person's writes, which may be taken back; a feeder writes thousands of rows a day that nobody edits and nobody should
take back, and they would bury the edits. The journal's intent that outlives the process is here the kept place: a
write that was on its way when a feeder died is done again, and found done.
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
"""Seconds between two looks, by polling."""
_AWAIT_MS = 1000
_ONCE_MS = 250
_BEHIND = 60.0  # seconds of lag that are worth a word, and between two such words
_PAUSES = (1.0, 2.0, 5.0, 10.0, 30.0)  # seconds between tries to reach the server again


def feed(
    server: FeedPort,
    layouts: Sequence[Layout],
    once: bool = False,
    every: float = EVERY,
    stop: threading.Event | None = None,
    wait_ms: int | None = None,
) -> Iterator[Fed]:
    """Feed these collections until ``stop`` is set, or with ``once`` until nothing waits any more.

    With ``once`` any trouble is raised as ``Refused``; else a server that is away is waited for. ``wait_ms`` is how
    long an empty stream is waited on.
    """
    stop = stop or threading.Event()
    wait = wait_ms if wait_ms is not None else _ONCE_MS if once else max(50, _AWAIT_MS // max(1, len(layouts)))
    turns = [_Turn(CollectionFeed(server, layout, wait, once, stop.is_set), every) for layout in layouts]
    try:
        while not stop.is_set():
            for turn in turns:
                if not stop.is_set() and turn.due(once):
                    yield from turn.take(once)
            if once and all(turn.feed.idle for turn in turns):
                return
            if (pause := min(turn.pause() for turn in turns)) > 0:
                stop.wait(pause)
    except Cancelled:
        return  # stopped while there was nothing to tell
    finally:
        for turn in turns:
            turn.feed.close()


def fed_layouts(found: Iterable[Layout]) -> list[Layout]:
    """The layouts that can be fed; raises ``Refused`` for one that cannot, and where there is none."""
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
    """One collection among those that are fed in turn."""

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
        """One step, and a word where the feed falls behind, catches up, or cannot reach the server."""
        try:
            yield from self.feed.step()
            self._failed = 0
        except Unreachable as error:
            self.feed.broken()
            if once:
                raise
            if not self._failed:
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
