"""What drew nothing for a while is drawn in one pass: nothing twice, and nothing left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QLabel, QPlainTextEdit, QSplitter, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from gui.style import one_pass


class Drawn(QObject):
    """Counts how often each widget is drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.times = Counter[QObject]()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.times[watched] += event.type() == QEvent.Type.Paint
        return False


@pytest.fixture
def drawn(qtbot: QtBot) -> Iterator[Drawn]:
    made = Drawn()
    application = QApplication.instance()
    assert application is not None
    application.installEventFilter(made)
    yield made
    application.removeEventFilter(made)


class Page(QWidget):
    """A window with an opaque page, in which parts that are not opaque hold others."""

    def __init__(self) -> None:
        super().__init__()
        self.part = QWidget(self)
        page = QWidget(self.part)
        page.setAutoFillBackground(True)
        for inside, around in ((self.part, self), (page, self.part)):
            QVBoxLayout(around).addWidget(inside)
        split = QSplitter(page)
        QVBoxLayout(page).addWidget(split)
        self.text, side = QPlainTextEdit("text"), QWidget()
        column = QVBoxLayout(side)
        self.labels = [QLabel("one"), QLabel("two")]
        for label in self.labels:
            column.addWidget(label)
        split.addWidget(side)
        split.addWidget(self.text)


@pytest.fixture
def page(qtbot: QtBot) -> Page:
    made = Page()
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    QApplication.processEvents()
    return made


def test_each_widget_is_drawn_once(page: Page, drawn: Drawn) -> None:
    page.part.setUpdatesEnabled(False)
    drawn.times.clear()
    one_pass.draw(page.part)
    QApplication.processEvents()
    inside = [each for each in page.part.findChildren(QWidget) if drawn.times[each]]
    assert {*page.labels, page.text, page.text.viewport()} <= {*inside}
    assert {each: drawn.times[each] for each in inside} == dict.fromkeys(inside, 1)


def test_a_part_that_is_left_out_is_not_drawn_before_it_is_its_turn(page: Page, drawn: Drawn) -> None:
    page.part.setUpdatesEnabled(False)
    page.text.setUpdatesEnabled(False)
    drawn.times.clear()
    one_pass.draw(page.part, [page.text])
    QApplication.processEvents()
    assert [drawn.times[each] for each in page.labels] == [1, 1]
    assert not drawn.times[page.text.viewport()]
    one_pass.draw(page.text)
    QApplication.processEvents()
    assert [drawn.times[each] for each in page.labels] == [1, 1]
    assert drawn.times[page.text.viewport()] == 1


def test_what_marks_the_place_is_neither_seen_nor_drawn(page: Page, drawn: Drawn) -> None:
    for _ in range(2):
        page.part.setUpdatesEnabled(False)
        one_pass.draw(page.part)
    (cover,) = page.findChildren(QWidget, "cover")
    assert not cover.isVisible()
    assert not drawn.times[cover]
    assert page.childAt(page.rect().center()) is not cover
