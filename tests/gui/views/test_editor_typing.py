"""Typing into fields, adding and removing them, and undoing that."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from gui.parts.fields.field_model import ACTION, FIELD, SYMBOL_COLUMN, TYPE, VALUE
from gui.parts.fields.field_nodes import FieldNode
from gui.views.edit.editor_panel import EditorPanel
from model import text
from model.values import canonical
from model.values.canonical import Value
from tests.gui.document_scenes import OPENED, Desk, put
from tests.gui.field_support import Open, cell, get, node, type_into

# --- typing


def test_a_typed_value_changes_that_field_and_nothing_else(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    type_into(panel, ("billing", "interval"), '"quarterly"')
    assert panel.content == put(OPENED, billing__interval="quarterly")
    assert cell(panel, ("billing", "interval"), SYMBOL_COLUMN).change == "replace"
    assert cell(panel, ("billing", "interval"), ACTION).text == "Revert"
    assert panel.foot.said.text() == "Unsaved: 1 field, from v12"
    assert panel.save_reason == ""


def test_numbers_keep_their_type_and_every_digit(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    type_into(panel, ("billing", "count"), "9007199254740993")
    type_into(panel, ("premium", "net"), "438.600000000000000000000000000001")
    assert get(panel.content, "billing", "count") == text.parsed("9007199254740993", "Int64")
    assert get(panel.content, "premium", "net") == text.parsed("438.600000000000000000000000000001", "Decimal128")


def test_what_is_no_value_of_its_type_stays_open_with_the_reason_below(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    type_into(panel, ("premium", "net"), "12,50")
    assert panel.tree.editor.line == "Not a Decimal128: use a point"
    assert panel.tree.has_editor
    assert panel.content == OPENED
    panel.save()
    assert desk.sent == []
    editor = panel.tree.editor.widget
    assert editor is not None
    editor.selectAll()
    QTest.keyClicks(editor, "12.50")
    assert panel.tree.editor.line == ""
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert text.shown(get(panel.content, "premium", "net")) == "12.50"


def test_what_is_being_typed_can_be_saved_at_once(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    panel = opened(desk)
    told: list[bool] = []
    panel.dirty_changed.connect(told.append)
    type_into(panel, ("status",), '"lapsed"', end=False)
    assert told == [True]  # or the window's Ctrl+S would not be there to be pressed
    assert panel.foot.save.isEnabled()
    assert panel.foot.said.text() == "Unsaved: 1 field, from v12"
    assert panel.foot.kept.text() == ""
    panel.save()
    qtbot.waitUntil(lambda: len(desk.sent) == 1)
    assert desk.sent[0][1] == put(OPENED, status="lapsed")
    type_into(panel, ("status",), '"gone"', end=False)
    QTest.keyClick(panel.tree.editor.widget, Qt.Key.Key_Escape)
    assert not panel.foot.save.isEnabled()


def test_escape_leaves_a_field_as_it_was(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "gone", end=False)
    QTest.keyClick(panel.tree.editor.widget, Qt.Key.Key_Escape)
    assert not panel.tree.has_editor
    assert panel.content == OPENED


def test_going_elsewhere_takes_what_was_typed(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), '"lapsed"', end=False)
    panel.head.finder.setFocus()
    qtbot.waitUntil(lambda: not panel.tree.has_editor)
    assert panel.content == put(OPENED, status="lapsed")


@pytest.mark.parametrize("way", ["left", "right", "current"])
@pytest.mark.parametrize("typed", ['"lapsed"', "12,50"])
def test_no_typed_text_is_lost_as_another_row_becomes_the_current_one(
    opened: Open, desk: Desk, qtbot: QtBot, way: str, typed: str
) -> None:
    panel, path = opened(desk), ("status",) if typed == '"lapsed"' else ("premium", "net")
    type_into(panel, path, typed, end=False)
    other = panel.model.find(("product",), FIELD)
    if way == "current":
        panel.tree.setCurrentIndex(other)
    else:
        button = Qt.MouseButton.LeftButton if way == "left" else Qt.MouseButton.RightButton
        QTest.mouseClick(panel.tree.viewport(), button, pos=panel.tree.visualRect(other).center())
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    if typed == '"lapsed"':
        qtbot.waitUntil(lambda: not panel.tree.has_editor)
        assert get(panel.content, "status").python() == "lapsed"
    else:
        qtbot.waitUntil(lambda: panel.tree.editor.line == "Not a Decimal128: use a point")
        assert panel.tree.editor.text == typed


def test_a_type_is_changed_at_once_where_the_value_stays_the_same(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    panel.tree.retype(node(panel, "deductible"), "Decimal128")
    assert get(panel.content, "deductible") == text.parsed("150.0", "Decimal128")
    assert cell(panel, ("deductible",), SYMBOL_COLUMN).change == "retype"
    assert cell(panel, ("deductible",), TYPE).weight == 600


def test_a_type_that_cannot_hold_the_value_asks_for_a_new_one(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    panel.tree.retype(node(panel, "status"), "Int32")
    assert panel.tree.editor.line.startswith("Not an Int32")
    assert panel.content == OPENED
    editor = panel.tree.editor.widget
    assert editor is not None
    editor.selectAll()
    QTest.keyClicks(editor, "5")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert get(panel.content, "status") == Value.of(5)


@pytest.mark.deep
def test_an_int64_too_fine_for_a_double_is_not_rounded_behind_ones_back(opened: Open, desk: Desk) -> None:
    desk.content = canonical.put(OPENED, ("billing", "count"), text.parsed("9007199254740993", "Int64"))
    panel = opened(desk)
    panel.tree.retype(node(panel, "billing", "count"), "Double")
    assert panel.tree.editor.line.startswith("Not exact as Double")
    assert panel.content == desk.content


def test_the_type_can_be_chosen_while_a_value_is_typed(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    type_into(panel, ("deductible",), "250.00", end=False)
    panel.tree.retype(node(panel, "deductible"), "Decimal128")
    QTest.keyClick(panel.tree.editor.widget, Qt.Key.Key_Return)
    assert get(panel.content, "deductible") == text.parsed("250.00", "Decimal128")


@pytest.mark.deep
def test_the_types_drop_down_by_key_and_show_the_one_that_is(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    panel = opened(desk)
    panel.tree.setCurrentIndex(panel.model.find(("deductible",)))
    QTest.keyClick(panel.tree, Qt.Key.Key_F4)
    menu = QApplication.activePopupWidget()
    assert menu is not None
    assert [a.text() for a in menu.actions() if a.isChecked()] == ["Double"]
    QTest.keyClick(menu, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: QApplication.activePopupWidget() is None)


def test_a_field_is_renamed_in_place_and_never_to_a_name_that_is_taken(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    type_into(panel, ("billing", "iban"), "method", FIELD)
    assert "already" in panel.tree.editor.line
    editor = panel.tree.editor.widget
    assert editor is not None
    editor.selectAll()
    QTest.keyClicks(editor, "account")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert [name for name, _ in canonical.fields(get(panel.content, "billing").data)] == [
        "method", "account", "interval", "count",
    ]  # fmt: skip


@pytest.mark.deep
def test_text_with_line_breaks_is_typed_into_several_lines_and_keeps_every_character(opened: Open, desk: Desk) -> None:
    said = "first\nsecond\u00a0with a no-break space\n\tthird"
    desk.content = put(OPENED, notes=said)
    panel = opened(desk)
    assert panel.tree.edit_cell(panel.model.find(("notes",)))
    editor = panel.tree.editor.widget
    assert editor is not None
    QTest.keyClicks(editor, "> ")
    QTest.keyClick(editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert get(panel.content, "notes").python() == "> " + said


# --- adding, removing, moving


def test_a_new_field_is_named_and_given_a_value_in_one_step(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    panel.tree.setCurrentIndex(panel.model.find(("billing", "method")))
    panel.head.add.click()
    editor = panel.tree.editor.widget
    assert editor is not None
    QTest.keyClicks(editor, "reference")
    QTest.keyClick(editor, Qt.Key.Key_Tab)
    editor = panel.tree.editor.widget
    assert editor is not None
    QTest.keyClicks(editor, "RF18")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert canonical.fields(get(panel.content, "billing").data)[-1] == ("reference", Value.of("RF18"))
    panel.undo()
    assert panel.content == OPENED


def test_elements_are_added_moved_duplicated_and_removed(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    panel.menus.duplicate(node(panel, "tags", 0))
    panel.menus.move(node(panel, "tags", 2), -1)
    assert get(panel.content, "tags").python() == ["household", "paperless", "household"]
    panel.menus.remove(node(panel, "tags", 0))
    assert get(panel.content, "tags").python() == ["paperless", "household"]
    for _ in range(3):
        panel.undo()
    assert panel.content == OPENED


@pytest.mark.deep
def test_a_removed_field_stays_in_sight_until_it_is_saved_and_comes_back_where_it_was(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    panel.tree.setCurrentIndex(panel.model.find(("product",)))
    QTest.keyClick(panel.tree, Qt.Key.Key_Delete)
    assert canonical.get(panel.content, ("product",)) is None
    assert cell(panel, ("product",), SYMBOL_COLUMN).change == "remove"
    panel.tree.revert_asked.emit(node(panel, "product"))
    assert panel.content == OPENED
    assert not panel.is_dirty


# --- undo, revert


def test_every_step_is_undone_and_done_again_exactly(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed")
    panel.tree.retype(node(panel, "deductible"), "Decimal128")
    panel.menus.remove(node(panel, "holder", "address"))
    last = panel.content
    for _ in range(3):
        panel.undo()
    assert panel.content == OPENED
    assert not panel.is_dirty
    for _ in range(3):
        panel.redo()
    assert panel.content == last


def test_one_field_is_reverted_and_the_others_stay(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed")
    type_into(panel, ("billing", "interval"), "monthly")
    index = panel.model.find(("status",), ACTION)
    panel.tree.scrollTo(index)
    QTest.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=panel.tree.visualRect(index).center())
    assert panel.content == put(OPENED, billing__interval="monthly")


def test_everything_is_reverted_as_one_step(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed")
    type_into(panel, ("notes",), "x")
    edited = panel.content
    panel.side.revert_all.click()
    assert panel.content == OPENED
    panel.undo()
    assert panel.content == edited


def test_json_that_is_being_typed_can_be_saved_at_once(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    panel = opened(desk)
    told: list[bool] = []
    panel.dirty_changed.connect(told.append)
    panel.show_json(True)
    panel.json.text.setPlainText(panel.json.text.typed().replace('"active"', '"lapsed"'))
    assert told == [True]
    panel.save()
    qtbot.waitUntil(lambda: len(desk.sent) == 1)
    assert desk.sent[0][1] == put(OPENED, status="lapsed")


@pytest.mark.deep
def test_a_large_text_is_read_before_it_is_saved(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    desk.content = put(OPENED, notes="long " * 60_000)
    panel = opened(desk)
    panel.show_json(True)
    qtbot.waitUntil(lambda: '"active"' in panel.json.text.typed())
    panel.json.text.setPlainText(panel.json.text.typed().replace('"active"', '"lapsed"'))
    panel.save()
    assert desk.sent == []  # it would be what was there before
    qtbot.waitUntil(lambda: not panel.json.is_typing)
    panel.save()
    qtbot.waitUntil(lambda: len(desk.sent) == 1)
    assert desk.sent[0][1] == put(desk.content, status="lapsed")


@pytest.mark.parametrize("long", [0, pytest.param(60_000, marks=pytest.mark.deep)])
def test_json_that_is_being_typed_is_discarded_with_the_rest(
    long: int, opened: Open, desk: Desk, qtbot: QtBot, idle: Callable[[], None]
) -> None:
    desk.content = put(OPENED, notes="long " * long)
    panel = opened(desk)
    panel.show_json(True)
    qtbot.waitUntil(lambda: '"active"' in panel.json.text.typed())
    panel.json.text.setPlainText(panel.json.text.typed().replace('"active"', '"lapsed"'))
    if long:
        panel.json.flush()  # it is read in a task, whose answer is still to come
    panel.discard()
    panel.json.flush()  # as after the pause
    idle()
    assert panel.content == desk.content
    assert not panel.is_dirty
    assert '"active"' in panel.json.text.typed()


@pytest.mark.deep
def test_a_large_text_that_is_being_typed_is_in_the_draft_when_the_tab_closes(
    opened: Open, desk: Desk, qtbot: QtBot
) -> None:
    desk.content = put(OPENED, notes="long " * 60_000)
    panel = opened(desk)
    panel.show_json(True)
    qtbot.waitUntil(lambda: '"active"' in panel.json.text.typed())
    panel.json.text.setPlainText(panel.json.text.typed().replace('"active"', '"lapsed"'))
    panel.keep_now()
    assert panel.content == put(desk.content, status="lapsed")


def test_a_character_types_over_the_value_and_esc_brings_it_back(desk: Desk, opened: Open) -> None:
    panel = opened(desk)
    index = panel.model.find(("status",), VALUE)
    panel.tree.setCurrentIndex(index)
    before = panel.content
    QTest.keyClicks(panel.tree, "l")
    editor = panel.tree.editor.widget
    assert isinstance(editor, QLineEdit)
    assert editor.text() == "l"
    assert panel.is_dirty
    QTest.keyClick(editor, Qt.Key.Key_Escape)
    assert panel.content == before
    QTest.keyClicks(panel.tree, "L")
    editor = panel.tree.editor.widget
    assert editor is not None
    QTest.keyClicks(editor, "apsed")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert canonical.get(panel.content, ("status",)) == Value.of("Lapsed")


@pytest.mark.deep
def test_a_character_types_over_a_name_where_that_is_chosen(desk: Desk, opened: Open) -> None:
    panel = opened(desk)
    panel.tree.setCurrentIndex(panel.model.find(("status",), FIELD))
    QTest.keyClicks(panel.tree, "s")
    editor = panel.tree.editor.widget
    assert editor is not None
    QTest.keyClicks(editor, "tate")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert canonical.get(panel.content, ("status",)) is None
    assert canonical.get(panel.content, ("state",)) is not None


def test_a_character_on_a_container_or_a_locked_field_changes_nothing(desk: Desk, opened: Open) -> None:
    panel = opened(desk)
    for path in (("billing",), ("_id",)):
        panel.tree.setCurrentIndex(panel.model.find(path, VALUE))
        assert panel.tree.currentIndex().isValid()
        QTest.keyClicks(panel.tree, "x")
        assert not panel.tree.has_editor
    assert not panel.is_dirty


@pytest.mark.deep
def test_a_field_is_moved_out_of_its_object_and_into_the_one_above(desk: Desk, opened: Open) -> None:
    panel = opened(desk)
    alt = Qt.KeyboardModifier.AltModifier
    before = get(panel.content, "billing", "interval")
    panel.tree.setCurrentIndex(panel.model.find(("billing", "interval"), VALUE))
    QTest.keyClick(panel.tree, Qt.Key.Key_Left, alt)
    assert get(panel.content, "interval") == before
    assert canonical.get(panel.content, ("billing", "interval")) is None
    assert panel.model.path(node_at(panel)) == ("interval",)
    QTest.keyClick(panel.tree, Qt.Key.Key_Right, alt)
    assert canonical.get(panel.content, ("interval",)) is None
    assert get(panel.content, "billing", "interval") == before
    panel.undo()
    panel.undo()
    assert panel.content == OPENED


def test_a_field_is_not_moved_onto_another_of_its_name(desk: Desk, opened: Open) -> None:
    panel = opened(desk)
    type_into(panel, ("billing", "interval"), "status", column=FIELD)
    told: list[str] = []
    panel.menus.told.connect(told.append)
    before = panel.content
    panel.menus.carry(node(panel, "billing", "status"), inward=False)
    assert panel.content == before
    assert told == ["There is a field called status already; rename one of them first"]


def node_at(panel: EditorPanel) -> FieldNode:
    found = panel.model.node(panel.tree.currentIndex())
    assert found is not None
    return found
