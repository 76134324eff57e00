"""A scan for the window: running with its progress, paused, stopped so that it can be continued, or done."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal

from gui import tasks
from gui.language import tr
from gui.style import wording
from model.errors import Refused
from model.foundation.findings import Finding, Unchecked
from model.session import Session
from model.session.health import counted
from model.session.scans import Mark, Summary
from model.values.canonical import Value

OFTEN = 0.1  # seconds between two batches of findings
HELD = 0.05  # seconds between two checks whether a paused scan may continue


class Scanner(QObject):
    """Runs scans of some places of one source, one at a time.

    It scans without a :class:`.Reading`: a scan can be held and continued, and its findings are shown meanwhile.
    """

    found = Signal()  # more findings
    progressed = Signal(object, object)
    ended = Signal()  # done or stopped: see :attr:`whole`
    failed = Signal(object)

    def __init__(
        self, session: Session, places: Sequence[str], ids: Sequence[Value] | None = None, gently: bool = False
    ) -> None:
        super().__init__()
        self.session = session
        self._places, self._ids = tuple(places), ids
        self.gently = gently
        self.findings: list[Finding] = []
        self.unchecked: list[Unchecked] = []
        self.at: dt.datetime | None = None
        """When the last scan ended."""
        self.documents = 0
        self.seconds = 0.0
        self.whole = False
        """Whether it was completed."""
        self.broken = False
        """Whether an error ended it."""
        self.in_vain = False
        """Whether nothing could be checked although there was something to check."""
        self._mark: Mark | None = None
        self._last: tuple[list[Finding | Unchecked], Summary, Mark] | None = None  # of the scan that ended
        self._task: tasks.Task | None = None
        self._free = threading.Event()
        self._free.set()

    def put_places(self, places: Sequence[str]) -> None:
        """Scan other places from the next scan on."""
        self._places = tuple(places)

    @property
    def running(self) -> bool:
        """Whether a scan is running, paused or not."""
        return self._task is not None and self._task.running

    @property
    def held(self) -> bool:
        """Whether it is paused."""
        return self.running and not self._free.is_set()

    @property
    def can_go_on(self) -> bool:
        """Whether it was interrupted after its first step."""
        return not self.running and self._mark is not None and (self.documents > 0 or not self.broken)

    def begin(self, go_on: bool = False) -> None:
        """Start a scan, or continue a stopped one."""
        mark = self._mark if go_on else None
        if not go_on:
            self.findings, self.unchecked, self.documents, self.seconds = [], [], 0, 0.0
        self._mark, self.whole, self.broken = None, False, False
        self._free.set()
        self._last = None
        session, places, ids, free = self.session, self._places, self._ids, self._free
        pace = "gentle" if self.gently else "fast"
        documents, seconds, before = self.documents, self.seconds, Counter(each.code for each in self.findings)
        unchecked = tuple(self.unchecked)

        def remember(summary: Summary, watched: Mapping[str, Mapping[str, int]]) -> None:
            """Store a scan's summary for the health page; a continued scan includes its part from before the stop."""
            whole = replace(
                summary,
                documents=documents + summary.documents,
                seconds=seconds + summary.seconds,
                counts=before + Counter(summary.counts),
                unchecked=unchecked + summary.unchecked,
            )
            if whole.whole or whole.documents:
                with suppress(Refused):  # if the file cannot be used, the health page says so
                    session.health.keep(counted(dt.datetime.now(dt.UTC), places, ids, whole, watched))

        def look(progress: tasks.Progress) -> None:
            def step(done: int, total: int | None) -> None:
                progress(done, total)
                while not free.wait(HELD):
                    progress(done, total)  # raises if the scan is to stop

            scan = session.scans.scan(places, ids, "gentle" if pace == "gentle" else "fast", step, None, mark)
            watched = session.time.watched(places, ids, step, pace == "gentle")
            parcel: list[Finding | Unchecked] = []
            said = time.monotonic()
            try:
                for each in scan:
                    parcel.append(each)
                    if time.monotonic() - said >= OFTEN:
                        progress.put((parcel, None, None))
                        parcel, said = [], time.monotonic()
                for _ in watched:
                    pass
            finally:
                # A stopped task cannot pass on anything; its findings come through this list.
                self._last = (parcel, scan.summary, scan.mark)
                remember(scan.summary, watched.holding)

        self._task = tasks.run(
            look,
            done=self._done,
            failed=self._broke,
            cancelled=self._stopped,
            partial=self._part,
            owner=self,
            key="scan",
            title=tr("Looking for damage in {places}", places=", ".join(self._places) or wording.source(session.name)),
            computes=True,
        )
        self._task.progressed.connect(self.progressed)

    def hold(self, on: bool) -> None:
        """Pause the scan, or continue it."""
        if on:
            self._free.clear()
        else:
            self._free.set()

    def stop(self) -> None:
        """Stop the scan; :meth:`begin` can continue it."""
        if self._task is not None:
            self._task.cancel()

    def _part(self, part: tuple[list[Finding | Unchecked], object, object]) -> None:
        self._take(part[0])
        self.found.emit()

    def _take(self, found: Sequence[Finding | Unchecked]) -> None:
        self.findings += [each for each in found if isinstance(each, Finding)]
        self.unchecked += [each for each in found if isinstance(each, Unchecked)]

    def _finish(self, whole: bool) -> None:
        if self._last is not None:
            found, summary, mark = self._last
            self._take(found)
            self.in_vain = summary.in_vain and not self.documents
            self.documents += summary.documents
            self.seconds += summary.seconds
            self._mark = None if whole else mark
        self.at, self.whole = dt.datetime.now(dt.UTC), whole

    def _done(self, _: None) -> None:
        self._finish(True)
        self.ended.emit()

    def _stopped(self) -> None:
        self._finish(False)
        self.ended.emit()

    def _broke(self, error: BaseException) -> None:
        self._finish(False)
        self.broken = True
        self.failed.emit(error)
