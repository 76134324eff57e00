"""Replacing words in the values of a document: types and names stay, and it is one step."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from gui.views.edit.field_finder import replaced
from model import text
from tests.gui.document_scenes import OPENED, Desk
from tests.gui.field_support import Open, get

MANY = text.loose(
    '{s: "monthly, Monthly", n: 5, l: NumberLong("5"), d: NumberDecimal("5.0"), monthly: "x", '
    'o: {a: ["monthly", {b: "not"}], w: ISODate("2024-01-01T00:00:00Z")}, c: {$code: "monthly"}}'
)


def test_parts_of_texts_are_replaced_and_names_are_not() -> None:
    made, count = replaced(MANY, "monthly", "$1 \\d", "UTC")
    assert count == 2
    assert get(made, "s").python() == "$1 \\d, $1 \\d"
    assert get(made, "o", "a", 0).python() == "$1 \\d"
    assert get(made, "monthly") == get(MANY, "monthly")
    assert get(made, "c") == get(MANY, "c")


def test_other_values_are_replaced_whole_and_keep_their_type() -> None:
    made, count = replaced(MANY, "5", "7", "UTC")
    assert count == 2
    assert get(made, "n") == text.parsed("7", "Int32")
    assert get(made, "l") == text.parsed("7", "Int64")
    assert get(made, "d") == get(MANY, "d")
    assert replaced(MANY, "5", "seven", "UTC") == (MANY, 0)
    assert replaced(MANY, "", "x", "UTC") == (MANY, 0)


@pytest.mark.parametrize("only", [("o", "a", 0), ("o", "a"), ("s",), ("o",)])
def test_one_field_alone_is_replaced(only: tuple[str | int, ...]) -> None:
    made, count = replaced(MANY, "monthly", "weekly", "UTC", only)
    assert count == (1 if only in (("o", "a", 0), ("s",)) else 0)
    assert (made == MANY) == (count == 0)


def test_ctrl_h_replaces_in_the_editor_and_one_undo_takes_it_back(desk: Desk, opened: Open) -> None:
    panel = opened(desk)
    panel.find("a")
    QTest.keyClick(panel.tree, Qt.Key.Key_H, Qt.KeyboardModifier.ControlModifier)
    assert panel.replacing.isVisible()
    assert panel.replacing.field.hasFocus()
    QTest.keyClicks(panel.replacing.field, "A")
    panel.replacing.all.click()
    assert panel.content != OPENED
    assert panel.replacing.said.text().startswith("Replaced in ")
    panel.undo()
    assert panel.content == OPENED
    QTest.keyClick(panel.replacing.field, Qt.Key.Key_Escape)
    assert not panel.replacing.isVisible()
    assert panel.tree.hasFocus()


def test_escape_leads_from_both_fields_to_what_is_in_sight(desk: Desk, opened: Open) -> None:
    panel = opened(desk)
    panel.show_json(True)
    panel.focus_find()
    QTest.keyClick(panel.head.finder, Qt.Key.Key_Escape)
    assert panel.json.text.hasFocus()
    panel.find("a")
    panel.focus_replace()
    QTest.keyClick(panel.replacing.field, Qt.Key.Key_Escape)
    assert panel.json.text.hasFocus()
    panel.show_tree()
    panel.states.show_empty("Nothing to edit")
    panel.focus_find()
    QTest.keyClick(panel.head.finder, Qt.Key.Key_Escape)
    here = QApplication.focusWidget()
    assert here is not None
    assert here.isVisible()


def test_what_replaces_is_typed_below_what_is_looked_for(desk: Desk, opened: Open, qtbot: QtBot) -> None:
    panel = opened(desk)
    finder, field = panel.head.finder, panel.replacing.field

    def left(widget: QWidget) -> int:
        return widget.mapTo(panel, QPoint()).x()

    panel.focus_replace()
    for width in (1100, 1400):
        panel.resize(width, 700)
        qtbot.waitUntil(lambda: left(field) == left(finder))
        assert field.width() == finder.width()
    panel.resize(420, 700)
    qtbot.waitUntil(lambda: panel.replacing.width() < 1100)
    assert left(panel.replacing.all) + panel.replacing.all.width() <= panel.width()


def test_enter_replaces_the_chosen_field_and_goes_to_the_next(desk: Desk, opened: Open) -> None:
    panel = opened(desk)
    panel.find("active")
    node = panel.model.node(panel.tree.currentIndex())
    assert node is not None
    assert panel.model.path(node) == ("status",)
    panel.focus_replace()
    panel.replacing.field.setText("lapsed")
    QTest.keyClick(panel.replacing.field, Qt.Key.Key_Return)
    assert get(panel.content, "status").python() == "lapsed"
    assert panel.replacing.said.text() == "Replaced in 1 field"
