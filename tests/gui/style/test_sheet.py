"""A dialog in the window: what is behind it is darkened at once and drawn again after the dialog."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from gui import turns
from gui.style import live_resize
from gui.style.sheet import Sheet

drawn: list[str] = []


class Behind(QPlainTextEdit):
    colour = Qt.GlobalColor.white

    def paintEvent(self, event: QPaintEvent) -> None:
        drawn.append("behind")
        QPainter(self.viewport()).fillRect(event.rect(), self.colour)


class Dialog(Sheet):
    def paintEvent(self, event: QPaintEvent) -> None:
        drawn.append("dialog")
        super().paintEvent(event)


def test_a_dialog_is_drawn_first_and_what_changed_behind_it_is_seen_after_it(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, behind = QWidget(), Behind()
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    column.addWidget(behind)
    window.resize(700, 500)
    window.show()
    qtbot.waitUntil(lambda: "behind" in drawn)
    qtbot.waitUntil(lambda: live_resize.drawn(window) is not None)
    with monkeypatch.context() as mac:
        mac.setattr(QGuiApplication, "platformName", lambda: "cocoa")
        assert live_resize.drawn(window) is None
    drawn.clear()
    dialog = Dialog(window, 200)
    QVBoxLayout(dialog).addWidget(QLabel("a question"))
    behind.colour = Qt.GlobalColor.red
    behind.viewport().update()
    dialog.open()
    qtbot.waitUntil(lambda: "behind" in drawn)
    assert drawn[0] == "dialog"

    qtbot.waitUntil(lambda: not turns.turns.waiting)
    shown, wanted = live_resize.drawn(window), window.grab().toImage()
    assert shown is not None
    places = [(x, y) for x in range(0, 700, 7) for y in range(0, 500, 7)]
    assert [shown.pixelColor(x, y).name() for x, y in places] == [wanted.pixelColor(x, y).name() for x, y in places]
    assert wanted.pixelColor(30, 30).red() > 2 * wanted.pixelColor(30, 30).green()


def test_a_window_that_was_not_drawn_yet_has_no_picture(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(700, 500)
    assert live_resize.drawn(window) is None
    dialog = Dialog(window, 200)
    QVBoxLayout(dialog).addWidget(QLabel("a question"))
    drawn.clear()
    dialog.open()
    window.show()
    qtbot.waitUntil(lambda: "dialog" in drawn)
