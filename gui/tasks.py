"""The one door to slow work: run it in a pool, report progress, cancel it, and answer on the UI thread.

::

    task = tasks.run(work, done=self._shown, failed=self._failed, owner=self)

``work`` is a plain callable that takes a :class:`Progress`: the model's checkpoint and its stream of partial results.
Exactly one of ``done``, ``failed``, ``cancelled`` follows, on the UI thread, and none once the owner is gone or the
task was superseded: with ``key`` given, a later task of the same owner and key makes the earlier one's answers void.
An answer that nobody wants any more is closed, where it is something to close.
"""

from __future__ import annotations

import itertools
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from msgspec import Struct
from PySide6.QtCore import QObject, QRunnable, QThreadPool, QTimer, Signal, Slot
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from gui import turns
from gui.language import tr, translated
from model.errors import Cancelled, Refused, Unreachable
from model.text.pace import Pace

T = TypeVar("T")

Unit: TypeAlias = Literal["rows", "bytes"]
OFTEN = 0.05  # seconds between two reports of progress
DRAWN = 16  # milliseconds until a page is drawn that begins to compute: drawing beside it takes twice as long


@runtime_checkable
class Closable(Protocol):
    """A result that holds a connection or a file."""

    def close(self) -> None:
        """Release it."""


class _Relay(QObject):
    """Carries results to the UI thread, each with its task's number."""

    progressed = Signal(object, object, object)
    parted = Signal(object, object)
    ended = Signal(object, object)


class Progress:
    """The work's side of a task: it calls this as a checkpoint, and puts partial results into it."""

    def __init__(self, relay: _Relay, number: int) -> None:
        self._relay, self._number = relay, number
        self._said = 0.0
        self.stop = threading.Event()

    def __call__(self, done: int, total: int | None = None) -> None:
        """Report progress; raises ``Cancelled`` once a person asked to stop."""
        if self.stop.is_set():
            raise Cancelled
        now = time.monotonic()
        if now - self._said >= OFTEN or done == total:  # a checkpoint per item must not flood the window
            self._said = now
            self._relay.progressed.emit(self._number, done, total)

    def put(self, part: Any) -> None:
        """Pass a partial result to ``partial`` on the UI thread; raises ``Cancelled`` like a checkpoint."""
        if self.stop.is_set():
            raise Cancelled
        self._relay.parted.emit(self._number, part)


class _Job(QRunnable):
    # An object whose last reference a worker drops dies in the worker; a widget that dies there crashes the program.
    # So a job knows no Qt object but the one relay, and hands the work itself back with the answer.
    def __init__(self, work: Callable[[Progress], Any], progress: Progress, relay: _Relay, number: int) -> None:
        super().__init__()
        self._parcel: list[Any] = [work]
        self._progress, self._relay, self._number = progress, relay, number

    def run(self) -> None:
        # An exception in a QRunnable would only be printed; everything is caught and carried to the UI thread.
        parcel = self._parcel
        try:
            parcel += ["done", parcel[0](self._progress)]
        except Cancelled:
            parcel += ["cancelled", None]
        except BaseException as error:
            parcel += ["failed", error]
        if isValid(self._relay):
            self._relay.ended.emit(self._number, parcel)


class Task(QObject):
    """Running work; lives on the UI thread."""

    progressed = Signal(object, object)
    finished = Signal()

    def __init__(
        self, number: int, title: str, owner: QObject, key: str, progress: Progress, unit: Unit, reads: bool
    ) -> None:
        super().__init__()
        self.reads = reads
        self.number, self.title, self.owner, self.key = number, title, owner, key
        self.running = True
        self.began = time.monotonic()
        self.superseded = False
        self.progress = progress
        self.unit = unit
        self.pace = Pace()
        self.done: int | None = None
        self.total: int | None = None

    def reached(self, done: int, total: int | None) -> None:
        """Note the progress of the work."""
        self.done, self.total = done, total
        self.pace.reached(done, total)
        self.progressed.emit(done, total)

    def cancel(self) -> None:
        """Ask the work to stop at its next checkpoint."""
        self.progress.stop.set()

    def drop(self) -> None:
        """Ask it to stop, and ignore all its answers: nobody waits for them."""
        self.superseded = True
        self.cancel()


class _Answers(Struct):
    task: Task
    done: Callable[[Any], object]
    failed: Callable[[BaseException], object]
    cancelled: Callable[[], object] | None
    partial: Callable[[Any], object] | None

    @property
    def wanted(self) -> bool:
        return not self.task.superseded and isValid(self.task.owner)


class Tasks(QObject):
    """All running work; the status bar listens."""

    changed = Signal()
    progressed = Signal(object)  # Task
    unreachable = Signal()  # work ended because a server did not answer

    def __init__(self) -> None:
        super().__init__()
        self._answers: dict[int, _Answers] = {}
        self._reached: dict[int, tuple[int, int | None]] = {}  # by task, what has not been told yet
        self._numbers = itertools.count(1)
        self._relay = _Relay()
        self._relay.progressed.connect(self._progress_came)
        self._relay.parted.connect(self._part_came)
        self._relay.ended.connect(self._end_came)
        self._pool = QThreadPool()
        self._pool.setMaxThreadCount(8)

    @property
    def running(self) -> list[Task]:
        """The running work, oldest first."""
        return [answers.task for answers in self._answers.values()]

    def run(
        self,
        work: Callable[[Progress], Any],
        *,
        done: Callable[[Any], object],
        failed: Callable[[BaseException], object],
        owner: QObject,
        cancelled: Callable[[], object] | None = None,
        partial: Callable[[Any], object] | None = None,
        title: str = "",
        key: str = "",
        unit: Unit = "rows",
        reads: bool = False,
        computes: bool = False,
    ) -> Task:
        """Start work; one of ``done``, ``failed``, ``cancelled`` follows on the UI thread, none once ``owner`` is
        gone.

        ``title`` is shown in the status bar while it runs, with the progress in ``unit``; ``key`` replaces the
        owner's task with that key. Work that only ``reads`` is stopped as the tab of its owner closes; work that
        ``computes`` for long begins once its page was drawn, unless that is drawn only with the answer.
        """
        if key:
            self.drop(owner, key)
        number = next(self._numbers)
        progress = Progress(self._relay, number)
        task = Task(number, title, owner, key, progress, unit, reads)
        self._answers[number] = _Answers(task, done, failed, cancelled, partial)
        self.changed.emit()
        job = _Job(work, progress, self._relay, number)
        if computes and not (isinstance(owner, QWidget) and not owner.updatesEnabled()):  # which is not drawn now
            QTimer.singleShot(DRAWN, self, lambda: self._pool.start(job))
        else:
            self._pool.start(job)
        return task

    def drop(self, owner: QObject, key: str) -> None:
        """Stop this owner's work with this key, and ignore its answers."""
        for task in self.running:
            if task.owner is owner and task.key == key:
                task.drop()

    # Answers come together while the window is busy, and each fills and draws a part of it; so each waits for a turn.
    @Slot(object, object, object)
    def _progress_came(self, number: int, done: int, total: int | None) -> None:
        if number not in self._reached:
            turns.later(self, partial(self._progressed, number))
        self._reached[number] = done, total

    def _progressed(self, number: int) -> None:
        reached = self._reached.pop(number)
        if number in self._answers:
            self._answers[number].task.reached(*reached)
            self.progressed.emit(self._answers[number].task)

    @Slot(object, object)
    def _part_came(self, number: int, part: Any) -> None:
        turns.later(self, partial(self._parted, number, part))

    @Slot(object, object)
    def _end_came(self, number: int, parcel: list[Any]) -> None:
        turns.later(self, partial(self._ended, number, parcel))

    def _parted(self, number: int, part: Any) -> None:
        answers = self._answers.get(number)
        if answers is not None and answers.wanted and answers.partial is not None:
            answers.partial(part)

    def _ended(self, number: int, parcel: list[Any]) -> None:
        _, how, what = parcel
        parcel.clear()  # the worker may still hold the list
        answers = self._answers.pop(number, None)
        if answers is None:
            return
        answers.task.running = False
        self.changed.emit()
        answers.task.finished.emit()
        if how == "failed" and isinstance(what, Unreachable):
            self.unreachable.emit()
        if not answers.wanted:
            # Nobody takes the result: release what it holds.
            if how == "done" and isinstance(what, Closable):
                what.close()
            return
        if how == "done":
            answers.done(what)
        elif how == "failed":
            answers.failed(what)
        elif answers.cancelled is not None:
            answers.cancelled()

    def stop_all(self, wait_ms: int = 5000) -> None:
        """Ask everything to stop and wait for it, when the last window closes."""
        for task in self.running:
            task.drop()
        self._pool.waitForDone(wait_ms)

    def of(self, owner: QObject) -> list[Task]:
        """The running work of an owner and its parts."""
        found = []
        for task in self.running:
            part: QObject | None = task.owner if isValid(task.owner) else None
            while part is not None and part is not owner:
                part = part.parent()
            if part is owner:
                found.append(task)
        return found

    def stop_reading(self, owner: QObject) -> None:
        """Stop what an owner and its parts only read, when its tab closes; what they write goes on to its end."""
        for task in self.of(owner):
            if task.reads:
                task.drop()

    def stop_of(self, owner: QObject) -> None:
        """Ask the work of an owner and its parts to stop, without waiting, when one of several windows closes."""
        for task in self.of(owner):
            task.drop()


def portions(found: Iterable[T], seconds: float, most: int = 400) -> Iterator[list[T]]:
    """What is found, in parts to pass on: after so many ``seconds``, or ``most`` of it; the last may be empty."""
    some: list[T] = []
    due = time.monotonic() + seconds
    for each in found:
        some.append(each)
        if len(some) >= most or time.monotonic() > due:
            yield some
            some, due = [], time.monotonic() + seconds
    yield some


def describe(error: BaseException) -> tuple[str, str]:
    """A sentence for people, and details to copy: a refusal says what to do, anything else is a bug."""
    details = "".join(traceback.format_exception(error))
    if isinstance(error, Refused):
        return translated(str(error)), details
    return (
        tr("Something went wrong inside Palimpsest; nothing more was written. Copy the details and report them."),
        details,
    )


tasks = Tasks()
run = tasks.run
drop = tasks.drop
