"""Hints from other documents of the collection: names and types."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bson import Decimal128
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu
from pytestqt.qtbot import QtBot

from gui import tasks
from gui.parts.fields.field_model import FIELD, TYPE, VALUE
from gui.views.edit.editor_panel import EditorPanel
from model.localserver import LocalServer
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from tests.gui.document_scenes import shown


@pytest.fixture
def panel(qtbot: QtBot) -> Iterator[EditorPanel]:
    """The editor of a document with a number as text, beside twenty that are alike."""
    with LocalServer() as server:
        alike = [{"_id": n, "net": Decimal128("1.50"), "count": n, "at": {"city": "Ulm"}} for n in range(20)]
        odd = {"_id": "odd", "net": Decimal128("2.50"), "count": "5", "at": {}}
        server.load("shop.items", [canonical.document(_pairs(each)) for each in [*alike, odd]])
        with Session.open(server.uri) as session:
            made = EditorPanel(session, "shop.items", Value.of("odd"))
            shown(qtbot, made)
            qtbot.waitUntil(lambda: made.is_loaded)
            yield made
            made.close()


def _pairs(each: dict[str, object]) -> list[tuple[str, Value]]:
    return [(name, Value.of(value)) for name, value in each.items()]


def wait(qtbot: QtBot, panel: EditorPanel) -> None:
    qtbot.waitUntil(lambda: bool(panel.model.neighbours) and not tasks.tasks.running)


def test_a_type_that_no_neighbour_has_is_said_beside_it(panel: EditorPanel, qtbot: QtBot) -> None:
    panel.tree.setFocus()
    panel.tree.edit_cell(panel.model.find(("net",), VALUE))
    wait(qtbot, panel)
    panel.tree.give_up()
    said = panel.model.find(("count",), TYPE).data(Qt.ItemDataRole.AccessibleTextRole)
    assert said == "String, in other documents of this collection Int32"
    assert panel.model.find(("net",), TYPE).data(Qt.ItemDataRole.AccessibleTextRole) == "Decimal128"


def test_names_of_neighbours_are_offered_and_bring_their_type(panel: EditorPanel, qtbot: QtBot) -> None:
    panel.tree.setFocus()
    panel.tree.setCurrentIndex(panel.model.find(("at",), FIELD))
    panel.menus.add(panel.model.node(panel.tree.currentIndex()), inside=True)
    wait(qtbot, panel)
    editor = panel.tree.editor.widget
    assert isinstance(editor, QLineEdit)
    offer = editor.completer()
    assert offer is not None
    assert [offer.completionModel().index(0, 0).data()] == ["city"]
    panel.tree.give_up()
    panel.undo()
    panel.menus.remove(panel.model.node(panel.model.find(("net",))))  # type: ignore[arg-type]
    panel.menus.add()
    editor = panel.tree.editor.widget
    assert isinstance(editor, QLineEdit)
    editor.selectAll()
    QTest.keyClicks(editor, "net")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    found = canonical.get(panel.content, ("net",))
    assert found is not None
    assert found.kind == "Decimal128"


def test_the_types_say_what_the_value_would_be_where_that_is_exact(panel: EditorPanel, qtbot: QtBot) -> None:
    panel.tree.setFocus()
    panel.tree.choose_kind(panel.model.find(("net",), TYPE))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    said = dict(action.text().partition("\t")[::2] for action in menu.actions())
    assert said["Decimal128"] == ""
    assert said["Double"] == "2.5"
    assert said["Int32"] == "not exact"
    assert said["String"] == '"2.50"'
    assert said["Null"] == ""
    menu.close()
