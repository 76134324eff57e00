"""A part of the window that is not drawn before what it shows is whole."""

from __future__ import annotations

import threading

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from gui import tasks, turns
from gui.pages.collection_page import CollectionPage
from gui.pages.page_request import PageRequest
from gui.window import tab_area
from gui.window.whole_picture import WholePicture
from tests.gui.window import windows

LONG = 60_000  # milliseconds


@pytest.fixture
def part(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    return made


def test_it_is_drawn_once_what_is_read_for_it_and_its_turns_are_over(part: QWidget, qtbot: QtBot) -> None:
    go, inner, made = threading.Event(), QWidget(part), list[bool]()

    def arrived(_: object) -> None:
        turns.later(part, lambda: made.append(part.updatesEnabled()))

    tasks.run(lambda _: go.wait(), done=arrived, failed=print, owner=inner, title="Reading")
    whole = WholePicture(part)
    whole.await_it(LONG)
    assert not part.updatesEnabled()
    assert not QWidget(part).updatesEnabled()  # nor is what is made meanwhile
    go.set()
    qtbot.waitUntil(part.updatesEnabled)
    assert made == [False]
    assert not whole.is_awaited


def test_work_of_others_and_work_without_a_name_is_not_waited_for(part: QWidget, qtbot: QtBot) -> None:
    other, go = QWidget(), threading.Event()
    qtbot.addWidget(other)
    tasks.run(lambda _: go.wait(), done=print, failed=print, owner=other, title="Reading")
    tasks.run(lambda _: go.wait(), done=print, failed=print, owner=part)
    WholePicture(part).await_it(LONG)
    qtbot.waitUntil(part.updatesEnabled)
    go.set()


def test_what_takes_longer_is_drawn_as_it_comes(part: QWidget, qtbot: QtBot) -> None:
    go = threading.Event()
    tasks.run(lambda _: go.wait(), done=print, failed=print, owner=part, title="Reading")
    whole = WholePicture(part)
    whole.await_it(20)
    qtbot.waitUntil(part.updatesEnabled)
    assert not go.is_set()
    go.set()
    whole.await_it(LONG)  # it can be asked for again
    assert not part.updatesEnabled()
    qtbot.waitUntil(part.updatesEnabled)


class Drawn(QObject):
    """Counts the rows of a page's list whenever that is drawn."""

    def __init__(self, page: CollectionPage) -> None:
        super().__init__(page)
        self.rows = list[int]()
        self._list = page.browser.list
        self._list.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            self.rows.append(self._list.model().rowCount())
        return False


def test_a_page_that_is_opened_is_first_seen_with_its_rows(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    window = windows.new_window(qtbot)
    session = windows.open_sample(qtbot, window)
    monkeypatch.setattr(tab_area, "PATIENCE", LONG)
    page = window.workspace.open(session, PageRequest("collection", "insurance.customers"))
    assert isinstance(page, CollectionPage)
    drawn = Drawn(page)
    qtbot.waitUntil(lambda: bool(drawn.rows))
    assert drawn.rows[0] > 0


def test_a_part_of_a_part_that_is_kept_is_drawn_with_it(part: QWidget, qtbot: QtBot) -> None:
    go, inner = threading.Event(), QWidget(part)
    tasks.run(lambda _: go.wait(), done=print, failed=print, owner=part, title="Reading")
    outer, whole = WholePicture(part), WholePicture(inner)
    outer.await_it(LONG)
    whole.await_it(1)
    assert not whole.is_awaited
    assert not inner.updatesEnabled()
    go.set()
    qtbot.waitUntil(inner.updatesEnabled)
    assert not outer.is_awaited


@pytest.mark.parametrize("at_once", [True, False])
def test_a_window_in_which_nothing_was_seen_is_drawn_at_once(part: QWidget, qtbot: QtBot, at_once: bool) -> None:
    column = QVBoxLayout(part)
    texts = [QPlainTextEdit(), QPlainTextEdit()]
    for each in texts:
        column.addWidget(each)
    drawn = [Paints(each.viewport()) for each in texts]
    part.show()
    qtbot.waitUntil(lambda: all(each.seen for each in drawn))
    whole = WholePicture(part, at_once)
    whole.await_it(LONG)
    for each in drawn:
        each.seen = False
    whole.show_now()
    assert [each.seen for each in drawn] == [at_once, at_once]
    qtbot.waitUntil(lambda: all(each.seen for each in drawn))


class Paints(QObject):
    """Whether a widget was drawn."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.seen = False
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.seen = self.seen or event.type() == QEvent.Type.Paint
        return False
