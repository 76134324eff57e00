"""The one door to slow work: exactly one answer, on the right thread, and none for closed receivers."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QThread
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from gui import tasks, turns
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


def test_of_the_progress_that_comes_while_the_window_is_busy_only_the_last_is_told(owner: Owner, qtbot: QtBot) -> None:
    told: list[tuple[int, int | None]] = []
    ended = threading.Event()

    def work(progress: tasks.Progress) -> None:
        for total in (30, 20, 10):
            progress(total, total)  # the last of so many is never held back
        ended.set()

    task = owner.run(work)
    task.progressed.connect(lambda done, total: told.append((done, total)))
    assert ended.wait(60)
    qtbot.waitUntil(lambda: bool(owner.heard))
    assert told == [(10, 10)]


def test_answers_that_come_together_have_a_turn_of_the_window_each(
    owner: Owner, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "SHARE", 0)  # the window takes long for each
    gate = threading.Barrier(3)

    def work(progress: tasks.Progress) -> None:
        progress.put("part")
        gate.wait(60)

    for _ in range(2):
        owner.run(work)
    gate.wait(60)
    tasks.tasks._pool.waitForDone()
    heard = []
    while len(owner.heard) < 2:
        QCoreApplication.processEvents()
        heard.append(len(owner.heard) + len(owner.parts))
    assert sorted({*heard} - {0}) == [1, 2, 3, 4]


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


class Page(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.order: list[str] = []

    def paintEvent(self, event: QPaintEvent) -> None:
        self.order.append("drawn")


@pytest.mark.parametrize("computes", [False, True])
def test_work_that_computes_for_long_begins_once_its_page_is_drawn(computes: bool, qtbot: QtBot) -> None:
    page = Page()
    qtbot.addWidget(page)
    page.show()
    qtbot.waitUntil(lambda: "drawn" in page.order)
    page.order.clear()
    begun = threading.Event()
    page.update()
    task = tasks.run(
        lambda _: (page.order.append("worked"), begun.set()),
        done=lambda _: page.order.append("done"),
        failed=lambda _: None,
        owner=page,
        title="Reading",
        computes=computes,
    )
    assert task in tasks.tasks.running
    if not computes:
        assert begun.wait(60)  # while the window is busy
    qtbot.waitUntil(lambda: len(page.order) == 3)
    assert page.order == (["drawn", "worked", "done"] if computes else ["worked", "drawn", "done"])
    assert task not in tasks.tasks.running


def test_work_for_a_page_that_is_only_drawn_with_the_answer_begins_at_once(qtbot: QtBot) -> None:
    page = Page()
    qtbot.addWidget(page)
    page.setUpdatesEnabled(False)
    page.show()
    begun, done = threading.Event(), threading.Event()
    tasks.run(
        lambda _: begun.set(),
        done=lambda _: done.set(),
        failed=lambda _: None,
        owner=page,
        title="Reading",
        computes=True,
    )
    assert begun.wait(60)  # while the window is busy
    qtbot.waitUntil(done.is_set)


def test_long_work_that_is_stopped_before_it_began_ends_as_stopped(owner: Owner, qtbot: QtBot) -> None:
    task = tasks.run(
        lambda progress: progress(0, None), done=owner.done, failed=owner.failed, cancelled=owner.cancelled,
        owner=owner, computes=True,
    )  # fmt: skip
    task.cancel()
    qtbot.waitUntil(lambda: bool(owner.heard))
    assert owner.heard == ["cancelled"]
