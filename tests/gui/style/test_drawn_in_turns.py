"""Lists and texts that are drawn one after the other."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QPlainTextEdit, QScrollArea, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from gui.style import drawn_in_turns


class Text(QPlainTextEdit):
    drawn: list[tuple[str, list[bool]]]

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        texts = self.window().findChildren(Text)
        self.drawn.append((self.objectName(), [each.updatesEnabled() for each in texts]))


def test_each_is_drawn_before_the_next_one_may_be(qtbot: QtBot) -> None:
    Text.drawn = []
    window = QWidget()
    qtbot.addWidget(window)
    column, area = QVBoxLayout(window), QScrollArea()
    column.addWidget(area)
    board = QWidget()
    inner = QVBoxLayout(board)
    for name in ("a", "b", "c"):
        text = Text()
        text.setObjectName(name)
        inner.addWidget(text)
    area.setWidget(board)
    window.resize(400, 600)
    window.show()
    qtbot.waitUntil(lambda: len(Text.drawn) >= 3)
    window.setUpdatesEnabled(False)
    Text.drawn.clear()
    drawn_in_turns.draw(window)
    qtbot.waitUntil(lambda: {name for name, _ in Text.drawn} == {"a", "b", "c"})
    first = dict(reversed(Text.drawn))
    assert sorted(map(sum, first.values())) == [1, 2, 3]


def test_what_fails_while_a_part_is_filled_does_not_leave_it_undrawn(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    text = QPlainTextEdit(window)
    window.show()
    seen = []

    def fill() -> None:
        with drawn_in_turns.held(window):
            seen.append(text.updatesEnabled())
            raise ValueError("half filled")

    with pytest.raises(ValueError, match="half"):
        fill()
    assert seen == [False]
    qtbot.waitUntil(lambda: window.updatesEnabled() and text.updatesEnabled())


def test_a_window_that_had_just_got_another_size_is_drawn(qtbot: QtBot) -> None:
    Text.drawn = []
    window = QWidget()
    qtbot.addWidget(window)
    QVBoxLayout(window).addWidget(Text())
    window.show()
    qtbot.waitUntil(lambda: bool(Text.drawn))
    window.resize(700, 600)
    window.setUpdatesEnabled(False)
    QCoreApplication.processEvents()  # what Qt posted to draw it comes now, when nothing may be drawn
    Text.drawn.clear()
    drawn_in_turns.draw(window)
    qtbot.waitUntil(lambda: bool(Text.drawn))


def test_one_that_is_gone_does_not_hold_up_the_others(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    gone, stays = QPlainTextEdit(window), QPlainTextEdit(window)
    window.show()
    window.setUpdatesEnabled(False)
    drawn_in_turns.draw(window)
    gone.setParent(None)
    gone.deleteLater()
    qtbot.waitUntil(stays.updatesEnabled)
