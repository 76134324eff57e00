"""The one door to slow work: exactly one answer, on the right thread, and none for the dead."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QThread
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from gui import footprint, tasks
from model.errors import Cancelled, Refused


class Owner(QObject):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[object] = []
        self.parts: list[object] = []

    def done(self, what: object) -> None:
        assert QThread.isMainThread()
        self.heard.append(("done", what))

    def failed(self, error: BaseException) -> None:
        self.heard.append(("failed", error))

    def cancelled(self) -> None:
        self.heard.append("cancelled")

    def part(self, what: object) -> None:
        assert QThread.isMainThread()
        self.parts.append(what)

    def run(self, work: Callable[[tasks.Progress], object], key: str = "") -> tasks.Task:
        return tasks.run(
            work, done=self.done, failed=self.failed, cancelled=self.cancelled, partial=self.part, owner=self, key=key
        )


@pytest.fixture
def owner() -> Owner:
    return Owner()


def test_the_result_arrives_once_on_the_window_s_thread(owner: Owner, qtbot: QtBot) -> None:
    owner.run(lambda _: threading.get_ident() != threading.main_thread().ident)
    qtbot.waitUntil(lambda: bool(owner.heard))
    assert owner.heard == [("done", True)]


def test_an_error_arrives_as_itself(owner: Owner, qtbot: QtBot) -> None:
    error = Refused("no")

    def work(_: tasks.Progress) -> None:
        raise error

    owner.run(work)
    qtbot.waitUntil(lambda: bool(owner.heard))
    assert owner.heard == [("failed", error)]


def test_parts_arrive_in_order_before_the_end(owner: Owner, qtbot: QtBot) -> None:
    def work(progress: tasks.Progress) -> str:
        for number in range(50):
            progress.put(number)
        return "end"

    owner.run(work)
    qtbot.waitUntil(lambda: bool(owner.heard))
    assert owner.parts == list(range(50))


def test_cancelling_ends_the_work_at_its_next_checkpoint(owner: Owner, qtbot: QtBot) -> None:
    started, seen = threading.Event(), threading.Event()

    def work(progress: tasks.Progress) -> None:
        started.set()
        assert seen.wait(60)
        progress(1, 2)

    task = owner.run(work)
    assert started.wait(60)
    task.cancel()
    seen.set()
    qtbot.waitUntil(lambda: bool(owner.heard))
    assert owner.heard == ["cancelled"]


def test_a_later_task_of_the_same_key_silences_the_earlier_one(owner: Owner, qtbot: QtBot) -> None:
    gate = threading.Event()

    def slow(progress: tasks.Progress) -> str:
        assert gate.wait(60)
        return "old"

    owner.run(slow, key="documents")
    owner.run(lambda _: "new", key="documents")
    qtbot.waitUntil(lambda: bool(owner.heard))
    gate.set()
    qtbot.waitUntil(lambda: not tasks.tasks.running)
    assert owner.heard == [("done", "new")]


def test_a_dead_owner_hears_nothing(qtbot: QtBot) -> None:
    gate = threading.Event()
    owner = Owner()
    heard = owner.heard
    owner.run(lambda _: gate.wait(60))
    owner.deleteLater()
    QCoreApplication.sendPostedEvents(owner, QEvent.Type.DeferredDelete)
    gate.set()
    qtbot.waitUntil(lambda: not tasks.tasks.running)
    assert heard == []


def test_an_answer_that_comes_too_late_is_closed(qtbot: QtBot) -> None:
    class Connection:
        closed = False

        def close(self) -> None:
            self.closed = True

    wanted, late, begun, go = Connection(), Connection(), threading.Event(), threading.Event()

    def work(_: tasks.Progress) -> Connection:
        begun.set()
        go.wait(60)
        return late

    owner = Owner()
    owner.run(lambda _: wanted)
    qtbot.waitUntil(lambda: bool(owner.heard))
    task = owner.run(work)
    begun.wait(60)
    task.drop()
    go.set()
    qtbot.waitUntil(lambda: late.closed)
    assert (owner.heard, wanted.closed) == ([("done", wanted)], False)


def test_a_refusal_is_told_in_its_own_words_and_a_defect_is_not() -> None:
    assert tasks.describe(Refused("Type the address."))[0] == "Type the address."
    sentence, details = tasks.describe(ValueError("inner"))
    assert "inner" not in sentence
    assert "inner" in details
    assert issubclass(Cancelled, Exception)


class _Knot:
    def __init__(self) -> None:
        self.own = self


def test_a_heap_that_a_task_made_is_not_looked_through_while_somebody_works(qapp: object) -> None:
    sweeper = next(iter(QApplication.instance().findChildren(tasks.Sweeper)))  # type: ignore[union-attr]
    gc.collect()
    heap = [[n] for n in range(tasks.MANY * 2)]
    before = gc.get_freeze_count()
    sweeper.sweep()
    assert gc.get_freeze_count() - before > tasks.MANY
    assert len(heap) == tasks.MANY * 2


def test_memory_is_returned_once_between_a_task_and_the_next(qapp: object, monkeypatch: pytest.MonkeyPatch) -> None:
    sweeper = next(iter(QApplication.instance().findChildren(tasks.Sweeper)))  # type: ignore[union-attr]
    returned: list[int] = []
    monkeypatch.setattr(footprint, "give_back", lambda: returned.append(sweeper._quiet))
    monkeypatch.setattr(tasks, "IDLE", 1000)
    sweeper._quiet = 0
    for _ in range(3 * tasks.RESTED):
        sweeper.sweep()
    assert returned == [tasks.RESTED]


def test_nothing_long_is_swept_while_somebody_types(qapp: object, qtbot: QtBot) -> None:
    sweeper = next(iter(QApplication.instance().findChildren(tasks.Sweeper)))  # type: ignore[union-attr]
    line = QLineEdit()
    qtbot.addWidget(line)
    sweeper._quiet = 0
    for _ in range(tasks.IDLE - 1):
        sweeper.sweep()
    qtbot.keyClick(line, Qt.Key.Key_A)
    sweeper.sweep()
    assert sweeper._quiet == 1
    for _ in range(tasks.IDLE):
        sweeper.sweep()
    qtbot.keyClick(line, Qt.Key.Key_A)
    assert sweeper._quiet > tasks.IDLE  # told of no more, as there is nothing to be put off


def test_nothing_long_is_swept_while_a_window_is_resized(qapp: object, qtbot: QtBot) -> None:
    sweeper = next(iter(QApplication.instance().findChildren(tasks.Sweeper)))  # type: ignore[union-attr]
    line = QLineEdit()
    qtbot.addWidget(line)
    line.show()
    sweeper._quiet = 0
    for _ in range(tasks.IDLE - 1):
        sweeper.sweep()
    line.resize(line.width() + 20, line.height())
    sweeper.sweep()
    assert sweeper._quiet == 1


def test_garbage_is_collected_once_nobody_is_at_the_window(qapp: object) -> None:
    sweeper = next(iter(QApplication.instance().findChildren(tasks.Sweeper)))  # type: ignore[union-attr]
    knot = weakref.ref(_Knot())
    gc.freeze()
    sweeper._quiet = tasks.IDLE - 1
    sweeper.sweep()
    assert knot() is None
