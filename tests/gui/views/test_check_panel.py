"""The page with what a server guarantees."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from gui.views.tools.check_panel import CheckPanel
from model.localserver import LocalServer
from model.session import Session


@pytest.mark.deep
def test_a_second_press_measures_again_and_never_lands_on_what_stands_beside(
    qtbot: QtBot, idle: Callable[[], None]
) -> None:
    with LocalServer() as server, Session.open(server.uri) as session:
        whole = QWidget()
        qtbot.addWidget(whole)
        panel, beside = CheckPanel(session), QPushButton("Allow writes")
        column = QVBoxLayout(whole)
        column.addWidget(panel)
        column.addWidget(beside)
        whole.resize(900, 600)
        whole.show()
        whole.activateWindow()
        qtbot.waitUntil(whole.isActiveWindow)
        panel.run.setFocus()
        QTest.keyClick(panel.run, Qt.Key.Key_Space)
        assert not beside.hasFocus()
        idle()
        assert panel.run.hasFocus()
        assert panel._summary.text() == f"Nothing unsafe was found in {session.source}, measured just now."
