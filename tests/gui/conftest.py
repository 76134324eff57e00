"""What every test of the window needs: the application with its theme, and waiting without sleeping."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gui import app, tasks, turns
from gui.style import preferences
from gui.views.edit.editor_panel import EditorPanel
from tests.gui.document_scenes import ID, NS, Desk, shown
from tests.gui.field_support import Open

AWAY = QPoint(-50, -50)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The offscreen platform warns about every window with a minimum size; any other warning of Qt is a failure."""
    for item in items:
        item.add_marker(pytest.mark.qt_log_ignore("This plugin does not support", extend=True))


@pytest.fixture(autouse=True)
def look(qapp: QApplication, home: object) -> Iterator[None]:
    """The theme in force, preferences of this test's own, the pointer on no window, and nothing left running after."""
    QCursor.setPos(AWAY)  # Qt tells the next window of a pointer that another test left over it
    preferences.forget()
    preferences.put("zone", "Europe/Berlin")
    preferences.put("motion", "less")
    preferences.put("page_size", 25)  # to draw a list is most of what a window costs
    app.application()
    yield
    tasks.tasks.stop_all()
    for widget in QApplication.topLevelWidgets():
        widget.hide()
        widget.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    preferences.forget()


@pytest.fixture
def idle(qtbot: QtBot) -> Callable[[], None]:
    """Waits until no task is running, and all of a page is made."""

    def wait() -> None:
        qtbot.waitUntil(lambda: not tasks.tasks.running and not turns.turns.waiting)

    return wait


@pytest.fixture
def desk(home: Path) -> Desk:
    """A session in memory over one document that others can move."""
    return Desk(home)


@pytest.fixture
def opened(qtbot: QtBot, idle: Callable[[], None]) -> Open:
    """Opens the editor on the desk's document."""

    def make(desk: Desk) -> EditorPanel:
        panel = EditorPanel(desk.as_session(), NS, ID)
        shown(qtbot, panel)
        qtbot.waitUntil(lambda: panel.is_loaded)
        idle()
        panel.tree.setFocus()
        return panel

    return make
