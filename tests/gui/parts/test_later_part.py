"""Parts of a page that are made after what is looked at first: in order, once, and earlier where they are needed."""

from __future__ import annotations

from functools import partial

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtWidgets import QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from gui import turns
from gui.parts.later_part import LaterPart
from gui.style import boxes


class Desk(QWidget):
    """A page of two parts, of which the second can ask for the first."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[str] = []
        self.seen: list[bool] = []  # whether the first part was in sight as the second was made
        column = boxes.column(self)
        self.first, self.second = LaterPart(self._first, self), LaterPart(self._second, self)
        column.addWidget(self.first)
        column.addWidget(self.second)

    def _first(self, parent: QWidget) -> QLabel:
        self.made.append("first")
        return QLabel("first", parent)

    def _second(self, parent: QWidget) -> QLabel:
        self.made.append("second")
        self.seen.append(self.first.get().isVisible())
        return QLabel("second", parent)


def shown(qtbot: QtBot) -> Desk:
    made = Desk()
    qtbot.addWidget(made)
    made.show()
    return made


def test_parts_are_made_one_after_the_other_once_the_page_is_shown(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "SHARE", 0)  # each takes long
    desk = shown(qtbot)
    assert (desk.made, desk.first.is_made) == ([], False)
    qtbot.waitUntil(lambda: desk.second.is_made and desk.second.get().isVisible())
    assert desk.made == ["first", "second"]
    assert desk.seen == [True]


def test_a_part_that_is_needed_is_made_at_once_and_not_again(qtbot: QtBot) -> None:
    desk = shown(qtbot)
    part = desk.second.get()
    assert part.text() == "second"
    assert desk.made == ["second", "first"]
    qtbot.waitUntil(lambda: part.isVisible() and not turns.turns.waiting)
    assert desk.made == ["second", "first"]
    assert desk.second.get() is part


def test_tab_reaches_a_part_where_it_stands_whenever_it_was_made(qtbot: QtBot) -> None:
    page = QWidget()
    qtbot.addWidget(page)
    column = boxes.column(page)

    def two(name: str, parent: QWidget) -> QWidget:
        part = QWidget(parent)
        row = boxes.row(part)
        for side in ("left", "right"):
            row.addWidget(QPushButton(f"{name} {side}", part))
        return part

    upper, lower = (LaterPart(partial(two, name), page) for name in ("upper", "lower"))
    last = QPushButton("last", page)
    for each in (upper, lower, last):
        column.addWidget(each)
    below = lower.get()  # made first
    buttons = [*upper.get().findChildren(QPushButton), *below.findChildren(QPushButton), last]
    with qtbot.waitActive(page):
        page.show()
    qtbot.waitUntil(lambda: all(each.isVisible() for each in buttons))
    buttons[0].setFocus()
    seen = []
    for _ in buttons:
        qtbot.keyClick(page.focusWidget(), Qt.Key.Key_Tab)
        seen.append(page.focusWidget())
    assert [each.text() for each in seen] == ["upper right", "lower left", "lower right", "last", "upper left"]


def test_a_page_that_was_closed_makes_no_part(qtbot: QtBot) -> None:
    desk = Desk()
    made = desk.made
    desk.deleteLater()
    QCoreApplication.sendPostedEvents(desk, QEvent.Type.DeferredDelete)
    qtbot.waitUntil(lambda: not turns.turns.waiting)
    assert made == []
