"""The ring around the button that keys have focused."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication, QPushButton, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from gui.style import focus_ring
from gui.style.focus_ring import _Ring


def test_no_ring_is_drawn_past_the_edge_at_which_its_button_is_cut(qtbot: QtBot) -> None:
    focus_ring.install(QApplication.instance())  # type: ignore[arg-type]
    window = QWidget()
    qtbot.addWidget(window)
    area, board = QScrollArea(window), QWidget()
    board.resize(200, 400)
    button = QPushButton("Read again", board)
    button.setGeometry(20, 130, 120, 40)
    area.setWidget(board)
    area.setGeometry(0, 0, 240, 150)
    window.resize(240, 300)
    window.show()
    qtbot.waitExposed(window)
    ring = _Ring(button)
    foot = area.mapTo(window, area.viewport().geometry().bottomLeft()).y()
    assert ring.geometry().bottom() > foot
    assert ring._free.boundingRect().bottom() + ring.y() == foot
    board.move(0, -60)
    assert ring._free.boundingRect() == ring.rect()
    ring.leave()


def test_a_button_that_is_not_drawn_yet_has_no_ring(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    button = QPushButton("Save", window)
    window.show()
    window.setUpdatesEnabled(False)
    ring = _Ring(button)
    assert ring.isHidden()
    window.setUpdatesEnabled(True)
    qtbot.waitUntil(ring.isVisible)
