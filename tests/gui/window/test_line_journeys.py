"""What a person comes for, done by mouse and key in a window over the sample, and judged by what can be read there."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.pages.page_request import PageRequest
from gui.window.window import Window
from model.values.canonical import Value
from tests.gui.window.windows import ID, NS, collection, document, press, told, wait_idle

ACCESSIBLE = Qt.ItemDataRole.AccessibleTextRole


def test_a_click_on_an_older_version_compares_it_with_the_newest(window: Window, qtbot: QtBot) -> None:
    page = collection(window)
    wait_idle(qtbot, lambda: page.diff.comparison is not None)
    versions = page.timeline.list
    model = versions.model()
    (row,) = [n for n in range(model.rowCount()) if model.index(n, 0).data(ACCESSIBLE).startswith("v12, ")]
    at = versions.visualRect(model.index(row, 1)).center()
    QTest.mouseClick(versions.viewport(), Qt.MouseButton.LeftButton, pos=at)
    wait_idle(qtbot, lambda: model.index(row, 0).data(ACCESSIBLE).endswith("chosen as A"))
    qtbot.waitUntil(lambda: page.diff.model.titles[0].startswith("v12"))
    assert model.index(0, 0).data(ACCESSIBLE).endswith("chosen as B")
    heads = [str(page.diff.model.headerData(n, Qt.Orientation.Horizontal)) for n in range(5)]
    assert any(head.startswith("A   v12") for head in heads)
    assert any(head.startswith("B   v14") for head in heads)


def test_saving_with_nothing_changed_says_so_and_writes_nothing(window: Window, qtbot: QtBot) -> None:
    session = window.sessions[0]
    window.workspace.open(session, PageRequest("document", NS, Value.of(ID)))
    page = document(window)
    wait_idle(qtbot, lambda: page.editor.is_loaded)
    page.editor.tree.setFocus()
    before = session.version(NS, Value.of(ID)).v
    press(window, "Ctrl+S")
    wait_idle(qtbot)
    assert session.version(NS, Value.of(ID)).v == before
    assert told(window) == ["Nothing is changed"]
