"""A list of documents read from their histories: filtered, ordered, page by page.

Histories are read as pages need them; ordering and counting need all of them. Contents are read again for each page.
A list that failed stays failed: to try again, make a new one.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from model.errors import NotFound, Refused, Unreadable
from model.foundation.records import Checkpoint, Doubt, Page, Row, Version, no_checkpoint
from model.layouts.base import Layout
from model.mql import order
from model.server.retry import Terms
from model.values import canonical as c
from model.values.canonical import Value

SOME = 0.5  # seconds for which a page continues counting


class HistoryList:
    """One list; may be used from several threads."""

    def __init__(
        self,
        layout: Layout,
        rows: Iterator[Row | None],
        seen: Callable[[Value, Version], bytes],
        sort: Terms | None = None,
        said: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """List ``rows``, which have no documents; None stands for a history without a row.

        ``seen`` returns a row's version as people see it; ``said`` returns notes, once everything is read.
        """
        self._layout, self._rest, self._seen, self._said = layout, rows, seen, said
        self._sort = [(order.path_of(name), way == -1) for name, way in (sort or {}).items()]
        self._rows: list[Row] = []
        self._keys: list[tuple[order.Key, ...]] = []
        self._read_so_far = 0
        self._whole = False
        self._broken: Refused | None = None
        self._lock = threading.Lock()

    @property
    def doubts(self) -> Counter[Doubt]:
        """How many of the documents read so far cannot be proven, by reason."""
        return Counter(each.doubt for each in self._rows if each.doubt is not None)

    @property
    def notes(self) -> list[str]:
        """Notes for people, once the whole list is read."""
        return list(self._said()) if self._whole else []

    def only(self, rows: Sequence[Row]) -> HistoryList:
        """A list of some of its rows."""
        return HistoryList(self._layout, iter(rows), self._seen)

    def page(self, skip: int, limit: int, checkpoint: Checkpoint = no_checkpoint) -> Page:
        """A page; its total is None if counting takes longer than half a second."""
        started = time.monotonic()
        with self._lock:
            self._read(None if self._sort else skip + limit + 1, checkpoint)
            until = time.monotonic() + SOME
            while not self._whole and time.monotonic() < until:
                self._read(len(self._rows) + 1, checkpoint, until)
            rows, whole, known = self._rows[skip : skip + limit], self._whole, len(self._rows)
        shown = tuple(map(self._with_document, rows))
        note = "" if whole else "N/A: the histories are still being read."
        taken = round((time.monotonic() - started) * 1000)
        return Page(shown, skip, known if whole else None, note, known > skip + limit, taken)

    def count(self, checkpoint: Checkpoint = no_checkpoint) -> int:
        """The number of documents in the list, for which all of it is read."""
        with self._lock:
            self._read(None, checkpoint)
            return len(self._rows)

    def all(self, checkpoint: Checkpoint = no_checkpoint) -> Iterator[Row]:
        """The rows of the whole list, without their documents."""
        self.count(checkpoint)
        yield from self._rows

    def proven(self, skip: int = 0, limit: int = 0, checkpoint: Checkpoint = no_checkpoint) -> Iterator[Row]:
        """The proven documents of the list, with contents; a ``limit`` of 0 means all."""
        self.count(checkpoint)
        for each in self._rows[skip : skip + limit if limit else None]:
            if each.doubt is None and each.version is not None:
                content = self._layout.version(each.id, each.version).content or c.EMPTY
                raw = c.document([("_id", each.id), *c.fields(content)])
                yield each.but(bytes=len(raw), raw=raw)

    def _read(self, wanted: int | None, checkpoint: Checkpoint, until: float = float("inf")) -> None:
        """Read on until this many documents are known, or all."""
        while not self._whole and (wanted is None or len(self._rows) < wanted) and time.monotonic() < until:
            # Between two histories, so that a stopped list can continue.
            checkpoint(self._read_so_far, None)
            if self._broken is not None:
                raise self._broken  # an iterator that raised would seem to have ended
            try:
                row = next(self._rest)
            except StopIteration:
                self._whole = True
                self._put_in_order()
                return
            except Refused as error:
                self._broken = error
                raise
            self._read_so_far += 1
            if row is not None:
                if self._sort:
                    raw = self._with_document(row).raw
                    self._keys.append(tuple(order.sort_key(raw, path, descends) for path, descends in self._sort))
                self._rows.append(row)

    def _put_in_order(self) -> None:
        if not self._sort:
            return
        places = list(range(len(self._rows)))
        for at, (_, descends) in reversed(list(enumerate(self._sort))):
            places.sort(key=lambda place, at=at: self._keys[place][at], reverse=descends)  # type: ignore[misc]
        self._rows = [self._rows[place] for place in places]
        self._keys = []

    def _with_document(self, row: Row) -> Row:
        """A row with its document; only the id if its content is unknown."""
        raw = c.document([("_id", row.id)])
        if row.version is not None:
            with suppress(NotFound, Unreadable):
                version = self._layout.version(row.id, row.version)
                raw = self._seen(row.id, version) if version.content is not None else raw
        return row.but(bytes=len(raw), raw=raw)
