"""The one door to slow work: run it in a pool, report progress, cancel it, and answer on the UI thread.

::

    task = tasks.run(work, done=self._shown, failed=self._failed, owner=self)

``work`` is a plain callable that takes a :class:`Progress`: the model's checkpoint and its stream of partial results.
Exactly one of ``done``, ``failed``, ``cancelled`` follows, on the UI thread, and none once the owner is gone or the
task was superseded: with ``key`` given, a later task of the same owner and key makes the earlier one's answers void.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal, Slot
from shiboken6 import isValid

from model.errors import Cancelled, Refused

OFTEN = 0.05  # seconds between two reports of progress


class Progress:
    """What the work sees: call it as a checkpoint, ``put`` partial results."""

    def __init__(self, relay: _Relay) -> None:
        self._relay = relay
        self._said = 0.0
        self.stop = threading.Event()

    def __call__(self, done: int, total: int | None = None) -> None:
        """Report progress; raises ``Cancelled`` once the person has asked to stop."""
        if self.stop.is_set():
            raise Cancelled
        now = time.monotonic()
        if now - self._said >= OFTEN or done == total:  # a checkpoint an item must not flood the window
            self._said = now
            self._relay.progressed.emit(done, total)

    def put(self, part: Any) -> None:
        """Hand a partial result to ``partial`` on the UI thread; raises ``Cancelled`` like a checkpoint."""
        if self.stop.is_set():
            raise Cancelled
        self._relay.parted.emit(part)


class _Relay(QObject):
    progressed = Signal(object, object)
    parted = Signal(object)
    ended = Signal(str, object)


class _Job(QRunnable):
    def __init__(self, work: Callable[[Progress], Any], relay: _Relay, progress: Progress) -> None:
        super().__init__()
        self._work, self._relay, self._progress = work, relay, progress

    def run(self) -> None:
        # A raising QRunnable only prints; everything is caught and carried to the UI thread.
        try:
            how, what = "done", self._work(self._progress)
        except Cancelled:
            how, what = "cancelled", None
        except BaseException as error:
            how, what = "failed", error
        if isValid(self._relay):
            self._relay.ended.emit(how, what)


class Task(QObject):
    """Work under way; lives on the UI thread."""

    progressed = Signal(object, object)
    finished = Signal()

    def __init__(self, title: str, owner: QObject, key: str) -> None:
        super().__init__()
        self.title, self.owner, self.key = title, owner, key
        self.running = True
        self.superseded = False
        self._relay = _Relay()
        self.progress = Progress(self._relay)

    def cancel(self) -> None:
        """Ask the work to stop at its next checkpoint."""
        self.progress.stop.set()


class Tasks(QObject):
    """All work under way; the status bar listens."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.running: list[Task] = []
        self._pool = QThreadPool()
        self._pool.setMaxThreadCount(8)

    def run(
        self,
        work: Callable[[Progress], Any],
        *,
        done: Callable[[Any], None],
        failed: Callable[[BaseException], None],
        owner: QObject,
        cancelled: Callable[[], None] | None = None,
        partial: Callable[[Any], None] | None = None,
        title: str = "",
        key: str = "",
    ) -> Task:
        """Start work; see the module's docstring. ``title`` is shown in the status bar while it runs."""
        if key:
            for other in self.running:
                if other.owner is owner and other.key == key:
                    other.superseded = True
                    other.cancel()
        task = Task(title, owner, key)

        def alive() -> bool:
            return not task.superseded and isValid(owner)

        def part(value: Any) -> None:
            if alive() and partial is not None:
                partial(value)

        def end(how: str, what: Any) -> None:
            task.running = False
            if task in self.running:
                self.running.remove(task)
            self.changed.emit()
            task.finished.emit()
            if not alive():
                return
            if how == "done":
                done(what)
            elif how == "failed":
                failed(what)
            elif cancelled is not None:
                cancelled()

        relay = task._relay
        relay.progressed.connect(task.progressed)
        relay.parted.connect(_Receiver(task, part).take)
        relay.ended.connect(_Ender(task, end).take)
        self.running.append(task)
        self.changed.emit()
        self._pool.start(_Job(work, relay, task.progress))
        return task

    def stop_all(self, wait_ms: int = 5000) -> None:
        """Ask everything to stop and wait for it; used when the window closes."""
        for task in list(self.running):
            task.superseded = True
            task.cancel()
        self._pool.waitForDone(wait_ms)


class _Receiver(QObject):
    # A QObject on the UI thread, so that the connection is queued across threads; the task is its parent.
    def __init__(self, task: Task, call: Callable[[Any], None]) -> None:
        super().__init__(task)
        self._call = call

    @Slot(object)
    def take(self, part: Any) -> None:
        self._call(part)


class _Ender(QObject):
    def __init__(self, task: Task, call: Callable[[str, Any], None]) -> None:
        super().__init__(task)
        self._call = call

    @Slot(str, object)
    def take(self, how: str, what: Any) -> None:
        self._call(how, what)


def describe(error: BaseException) -> tuple[str, str]:
    """A sentence for people and the details to copy: a refusal says what to do, anything else is a bug."""
    details = "".join(traceback.format_exception(error))
    if isinstance(error, Refused):
        return str(error), details
    return (
        "Something went wrong inside Palimpsest; nothing more was written. Copy the details and report them.",
        details,
    )


tasks = Tasks()
run = tasks.run
