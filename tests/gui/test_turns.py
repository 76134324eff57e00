"""The turns of the window's thread: in order, one after the other, and none for an owner that is gone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QObject, QTimer
from pytestqt.qtbot import QtBot

from gui import turns


class Desk(QObject):
    """What happened in the window, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def note(self, what: str) -> Callable[[], None]:
        return lambda: self.heard.append(what)

    def customEvent(self, event: QEvent) -> None:
        self.heard.append("event")

    def post(self) -> None:
        QCoreApplication.postEvent(self, QEvent(QEvent.Type.User))


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_calls_are_made_later_and_in_order(desk: Desk, qtbot: QtBot) -> None:
    for what in "abc":
        turns.later(desk, desk.note(what))
    assert desk.heard == []
    qtbot.waitUntil(lambda: desk.heard == ["a", "b", "c"])


def test_between_two_long_calls_the_window_hears_events(
    desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "SHARE", 0)  # each call is long

    def first() -> None:
        desk.heard.append("a")
        desk.post()

    turns.later(desk, first)
    turns.later(desk, desk.note("b"))
    qtbot.waitUntil(lambda: len(desk.heard) == 3)
    assert desk.heard == ["a", "event", "b"]


def test_after_a_long_call_keys_come_before_the_next_one(
    desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "SHARE", 0)

    def first() -> None:
        """Timers that are due come one after the other, before what the system sends."""
        desk.heard.append("a")
        QTimer.singleShot(0, desk, lambda: QTimer.singleShot(0, desk, desk.note("key")))

    turns.later(desk, first)
    turns.later(desk, desk.note("b"))
    qtbot.waitUntil(lambda: len(desk.heard) == 3)
    assert desk.heard == ["a", "key", "b"]


def test_short_calls_share_a_turn(desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "SHARE", 60)
    turns.later(desk, desk.post)
    turns.later(desk, desk.note("a"))
    qtbot.waitUntil(lambda: len(desk.heard) == 2)
    assert desk.heard == ["a", "event"]


def test_a_call_that_has_more_to_do_is_made_again_after_the_others(desk: Desk, qtbot: QtBot) -> None:
    rows = ["row 1", "row 2", "row 3"]

    def fill() -> bool:
        desk.heard.append(rows.pop(0))
        return bool(rows)

    turns.later(desk, fill)
    turns.later(desk, desk.note("answer"))
    qtbot.waitUntil(lambda: not rows)
    assert desk.heard == ["row 1", "answer", "row 2", "row 3"]


def test_an_owner_that_is_gone_is_not_called(desk: Desk, qtbot: QtBot) -> None:
    gone = Desk()
    heard = gone.heard
    turns.later(gone, gone.note("a"))
    turns.later(desk, desk.note("b"))
    gone.deleteLater()
    QCoreApplication.sendPostedEvents(gone, QEvent.Type.DeferredDelete)
    qtbot.waitUntil(lambda: desk.heard == ["b"])
    assert heard == []


def test_an_error_in_one_call_does_not_keep_the_others_waiting(desk: Desk, qtbot: QtBot) -> None:
    def fail() -> None:
        raise ValueError

    turns.later(desk, fail)
    turns.later(desk, desk.note("b"))
    with qtbot.capture_exceptions() as errors:
        qtbot.waitUntil(lambda: desk.heard == ["b"])
    assert [kind for kind, *_ in errors] == [ValueError]


def test_the_others_go_on_in_an_event_loop_inside_a_call(desk: Desk, qtbot: QtBot) -> None:
    loop = QEventLoop()

    def ask() -> None:
        loop.exec()
        desk.heard.append("asked")

    turns.later(desk, ask)
    turns.later(desk, desk.note("b"))
    turns.later(desk, loop.quit)
    qtbot.waitUntil(lambda: "asked" in desk.heard)
    assert desk.heard == ["b", "asked"]
