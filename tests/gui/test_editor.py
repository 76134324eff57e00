"""The editor: typing into fields and JSON, what is kept, and what becomes of a save."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gui.edit.editor import EditorPanel
from gui.edit.fieldmodel import ACTION, FIELD, SYMBOL_COLUMN, TYPE, VALUE
from gui.edit.fieldnodes import Node
from gui.look import preferences
from gui.look.cells import CELL, Cell
from model import canonical, text
from model.canonical import Value
from model.errors import Unreachable
from model.records import Outcome
from tests.gui.desk import ID, MINE, NS, OPENED, UNKNOWN, Desk, put, shown, theirs

Open = Callable[[Desk], EditorPanel]


@pytest.fixture
def desk(home: Path) -> Desk:
    return Desk(home)


@pytest.fixture
def opened(qtbot: QtBot, idle: Callable[[], None]) -> Open:
    def make(desk: Desk) -> EditorPanel:
        panel = EditorPanel(desk.as_session(), NS, ID)
        shown(qtbot, panel)
        qtbot.waitUntil(lambda: panel.is_loaded)
        idle()
        panel.tree.setFocus()
        return panel

    return make


def node(panel: EditorPanel, *path: str | int) -> Node:
    found = panel.model.node(panel.model.find(path))
    assert found is not None, path
    return found


def cell(panel: EditorPanel, path: tuple[str | int, ...], column: int) -> Cell:
    found = panel.model.find(path, column).data(CELL)
    assert isinstance(found, Cell)
    return found


def type_into(
    panel: EditorPanel, path: tuple[str | int, ...], said: str, column: int = VALUE, end: bool = True
) -> None:
    assert panel.tree.edit_cell(panel.model.find(path, column))
    editor = panel.tree.editor.widget
    assert editor is not None
    editor.selectAll()
    QTest.keyClicks(editor, said)
    if end:
        QTest.keyClick(editor, Qt.Key.Key_Return)


def get(content: bytes, *path: str | int) -> Value:
    found = canonical.get(content, path)
    assert found is not None
    return found


# --- what is shown


def test_the_document_is_shown_as_fields_with_the_layouts_own_ones_locked(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    names = [panel.model.index(row, FIELD).data() for row in range(panel.model.rowCount())]
    assert names[:3] == ["_id", "v", "status"]
    assert names[-1] == "_w"
    assert cell(panel, ("_id",), ACTION).icon == "lock-simple"
    assert not panel.tree.edit_cell(panel.model.find(("v",)))
    assert not panel.is_dirty
    assert panel.save_reason == "Nothing is changed"
    assert cell(panel, ("billing", "interval"), TYPE).caret


def test_dates_are_shown_in_the_zone_and_kept_to_the_millisecond(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    assert cell(panel, ("period", "from"), VALUE).text == "2024-04-01 00:00 CEST"
    assert panel.tree.edit_cell(panel.model.find(("period", "from")))
    QTest.keyClick(panel.tree.editor.widget, Qt.Key.Key_Return)
    assert panel.content == OPENED


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


# --- the tree keeps its shape


def test_what_is_open_and_chosen_stays_so_while_the_content_changes(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    panel.tree.expand(panel.model.find(("riders",), 0))
    panel.tree.expand(panel.model.find(("riders", 1), 0))
    panel.tree.setCurrentIndex(panel.model.find(("riders", 1, "code")))
    panel.menus.remove(node(panel, "riders", 0))
    assert panel.tree.isExpanded(panel.model.find(("riders",), 0))
    chosen = panel.model.node(panel.tree.currentIndex())
    assert chosen is not None
    assert text.shown(chosen.value) == '"BIKE"'
    panel.reload()


def test_a_refresh_ends_no_edit(opened: Open, desk: Desk, idle: Callable[[], None]) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed")
    type_into(panel, ("notes",), "half a senten", end=False)
    desk.move(lambda content: put(content, product="Other"))
    panel.reload()
    idle()
    assert panel.tree.has_editor
    assert panel.tree.editor.text == "half a senten"
    assert get(panel.content, "status").python() == "lapsed"
    assert panel.head.base.said == "from v12"
    assert panel.head.now.said == "v13 in the database"


def test_a_document_that_nobody_edits_follows_the_database(opened: Open, desk: Desk, idle: Callable[[], None]) -> None:
    panel = opened(desk)
    desk.move(lambda content: put(content, product="Other"))
    panel.reload()
    idle()
    assert get(panel.content, "product").python() == "Other"
    assert panel.head.base.said == "from v13"


def test_an_array_of_many_thousand_elements_is_shown_in_groups_of_a_thousand(opened: Open, desk: Desk) -> None:
    desk.content = canonical.put(OPENED, ("many",), Value.of([*range(5000)]))
    panel = opened(desk)
    parent = panel.model.find(("many",), 0)
    panel.tree.expand(parent)
    groups = [panel.model.index(row, FIELD, parent).data() for row in range(panel.model.rowCount(parent))]
    assert groups == ["[0 … 999]", "[1,000 … 1,999]", "[2,000 … 2,999]", "[3,000 … 3,999]", "[4,000 … 4,999]"]
    assert panel.model.find(("many", 4321)).data() == "4321"
    type_into(panel, ("many", 4321), "-1")
    assert get(panel.content, "many", 4321) == Value.of(-1)
    closed = panel.model.index(4, FIELD, panel.model.find(("many",), 0))
    panel.tree.collapse(closed.siblingAtColumn(0))
    found = closed.siblingAtColumn(VALUE).data(CELL)
    assert isinstance(found, Cell)
    assert [badge.text for badge in found.badges] == ["1 change inside"]


def test_elements_of_long_arrays_come_and_go_without_closing_what_is_open(opened: Open, desk: Desk) -> None:
    desk.content = canonical.put(OPENED, ("many",), Value.of([*range(1001)]))
    panel = opened(desk)
    panel.reveal(("many", 1000))
    panel.menus.remove(node(panel, "many", 3))
    assert len(canonical.items(get(panel.content, "many"))) == 1000
    assert panel.tree.isExpanded(panel.model.find(("many",), 0))
    assert panel.model.find(("many", 999)).data() == "1000"
    assert cell(panel, ("many", 999), FIELD).text == "[999]"
    panel.undo()
    assert panel.content == desk.content
    assert panel.model.find(("many", 1000)).data() == "1000"


def test_long_strings_show_their_beginning_and_huge_ones_their_size(opened: Open, desk: Desk) -> None:
    desk.content = put(OPENED, long="x" * 3000, huge="y" * (2 << 20))
    panel = opened(desk)
    assert "2.9 KB" in cell(panel, ("long",), VALUE).text
    assert cell(panel, ("huge",), VALUE).text == "String of 2.0 MB, not loaded"
    assert cell(panel, ("huge",), ACTION).text == "Load anyway"
    assert not panel.tree.edit_cell(panel.model.find(("huge",)))
    panel.model.load_anyway(panel.model.find(("huge",)))
    assert cell(panel, ("huge",), ACTION).text == ""


# --- finding


def test_fields_are_found_by_name_and_value_one_after_the_other(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    panel.find("PREMIUM")
    paths = []
    for _ in range(2):
        chosen = panel.model.node(panel.tree.currentIndex())
        assert chosen is not None
        paths.append(panel.model.path(chosen))
        panel.find_next()
    assert paths == [("premium",), ("riders", 0, "premium")]
    assert panel.head.finder.accessibleDescription() == "1 of 2"
    panel.find("elbch")
    chosen = panel.model.node(panel.tree.currentIndex())
    assert chosen is not None
    assert panel.model.path(chosen) == ("holder", "address", "street")
    panel.find("nowhere at all")
    assert panel.head.finder.accessibleDescription() == "none"


# --- drafts


def test_the_draft_is_kept_a_moment_after_each_change_and_forgotten_once_reverted(
    opened: Open, desk: Desk, qtbot: QtBot
) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed")
    qtbot.waitUntil(lambda: desk.draft() is not None)
    kept = desk.draft()
    assert kept is not None
    assert (kept.base_v, kept.base_content, kept.content) == (Value.of(12), OPENED, panel.content)
    qtbot.waitUntil(lambda: panel.foot.kept.text().startswith("Draft kept "))
    panel.undo()
    qtbot.waitUntil(lambda: desk.draft() is None)


def test_a_tab_that_closes_keeps_even_what_was_just_being_typed(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed", end=False)
    panel.close()
    kept = desk.draft()
    assert kept is not None
    assert get(kept.content, "status").python() == "lapsed"


def test_a_draft_comes_back_with_the_version_it_began_from(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed")
    panel.keep_now()
    panel.close()
    desk.move(theirs, by=2)
    again = opened(desk)
    assert again.is_dirty
    assert again.foot.said.text() == "Unsaved: 1 field, from v12"
    assert again.head.now.said == "v14 in the database"
    with qtbot.waitSignal(again.conflict_found) as found:
        again.save()
    assert desk.sent == []
    assert found.args is not None
    assert found.args[0].kind == "changed"


# --- JSON


def test_json_is_the_same_draft(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed")
    panel.show_json(True)
    assert text.from_text(panel.json.text.typed()) == panel.content
    panel.json.text.setPlainText(panel.json.text.typed().replace("lapsed", "ended"))
    qtbot.waitUntil(lambda: panel.content == put(OPENED, status="ended"))
    panel.show_json(False)
    assert cell(panel, ("status",), VALUE).text == '"ended"'


def test_json_that_is_no_document_says_where_and_keeps_what_was_typed(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    panel = opened(desk)
    panel.show_json(True)
    broken = panel.json.text.typed().replace('"active",', '"active"')
    panel.json.text.setPlainText(broken)
    qtbot.waitUntil(lambda: bool(panel.json.error))
    assert panel.json.line.isVisible()
    assert "ine 3" in panel.json.line.text()
    assert panel.save_reason == "The JSON text is not a document yet"
    assert panel.content == OPENED
    panel.show_json(False)
    assert panel.notices.lines["json"].isVisible()
    assert not panel.tree.edit_cell(panel.model.find(("status",)))
    panel.show_json(True)
    assert panel.json.text.typed() == broken
    panel.drop_text()
    assert text.from_text(panel.json.text.typed()) == OPENED
    assert panel.tree.may_edit


def test_relaxed_json_changes_no_type_that_nobody_touched(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    panel = opened(desk)
    panel.show_json(True)
    panel.json.notations.button(1).click()
    assert '"count": 7' in panel.json.text.typed()
    panel.json.text.setPlainText(panel.json.text.typed().replace('"yearly"', '"monthly"'))
    qtbot.waitUntil(lambda: panel.content == put(OPENED, billing__interval="monthly"))


# --- the side pane


def test_the_side_pane_lists_each_change_and_what_saving_sends(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    panel = opened(desk)
    type_into(panel, ("billing", "interval"), "quarterly")
    panel.tree.retype(node(panel, "deductible"), "Decimal128")
    rows = panel.side.list.rows
    said = [rows.data(rows.index(row)) for row in range(rows.rowCount())]
    assert said == [
        "deductible, type only: 150.0 → 150.0",
        'billing.interval, changed: "yearly" → "quarterly"',
    ]
    qtbot.waitUntil(lambda: panel.side.code.whole.startswith("contracts.update_one"))
    panel.side.languages.button(1).click()
    assert panel.side.code.whole.startswith("db.contracts.updateOne")
    panel.side.copy.click()
    assert QApplication.clipboard().text() == panel.side.code.whole


def test_the_side_pane_folds_by_itself_where_there_is_little_room(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    assert panel.side.isVisible()
    panel.resize(976, 560)
    assert not panel.side.isVisible()
    panel.head.unfold.click()
    assert panel.side.isVisible()
    panel.toggle_fold()
    assert not panel.side.isVisible()


# --- saving


def test_a_save_that_is_applied_leaves_nothing_unsaved_and_no_draft(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed")
    panel.keep_now()
    with qtbot.waitSignal(panel.saved) as saved:
        QTest.keyClick(panel.tree, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    assert saved.args is not None
    assert saved.args[0].kind == "applied"
    assert desk.content == put(OPENED, status="lapsed")
    assert not panel.is_dirty
    qtbot.waitUntil(lambda: desk.draft() is None)
    qtbot.waitUntil(lambda: panel.head.base.said == "from v13")


def test_what_was_saved_can_be_undone_as_a_further_edit(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed")
    with qtbot.waitSignal(panel.loaded):
        panel.save()
    panel.undo()
    assert panel.content == OPENED
    assert panel.is_dirty
    with qtbot.waitSignal(panel.saved):
        panel.save()
    assert desk.v == 14


def test_a_lost_race_is_signalled_and_the_edit_stays(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    panel = opened(desk)
    type_into(panel, ("billing", "interval"), "quarterly")
    desk.move(theirs, by=2)
    edited = panel.content
    with qtbot.waitSignal(panel.conflict_found) as found:
        panel.save()
    assert found.args is not None
    conflict = found.args[0]
    assert [text.path_text(path) for path in conflict.both] == ["billing.interval"]
    assert panel.content == edited
    assert panel.is_dirty


def test_a_refusal_is_said_in_a_line_and_the_edit_stays(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed")
    desk.answers = [Outcome("refused", NS, ID, "The user may only read insurance.contracts.")]
    panel.save()
    qtbot.waitUntil(lambda: "refused" in panel.notices.lines)
    assert "may only read" in panel.notices.lines["refused"].text
    assert panel.is_dirty
    desk.answers = [Unreachable("desk did not answer within 5 s; check that it is up.")]
    panel.save()
    qtbot.waitUntil(lambda: "refused" in panel.notices.lines)
    assert "did not answer" in panel.notices.lines["refused"].text
    assert panel.save_reason == ""


def test_an_unknown_outcome_holds_saving_until_it_is_settled(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed")
    desk.answers = [UNKNOWN]
    panel.save()
    qtbot.waitUntil(lambda: "doubt" in panel.notices.lines)
    line = panel.notices.lines["doubt"]
    assert line.text.startswith("It is not known whether v13 was saved")
    assert line.kind == "unknown"
    assert [made.text() for made in line.buttons] == ["Check again", "Copy the write token"]
    assert "held" in panel.save_reason
    line.buttons[1].click()
    assert QApplication.clipboard().text() == "691f0a4e"
    panel.save()
    assert len(desk.sent) == 1
    desk.content, desk.v = panel.content, 13
    desk.settles = [Outcome("applied", NS, ID, "It had arrived.", version=Value.of(13))]
    with qtbot.waitSignal(panel.saved):
        panel.notices.lines["doubt"].buttons[0].click()
    assert "doubt" not in panel.notices.lines
    assert not panel.is_dirty


def test_an_unknown_outcome_that_did_not_arrive_can_be_saved_again(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed")
    desk.answers = [UNKNOWN]
    panel.save()
    qtbot.waitUntil(lambda: "doubt" in panel.notices.lines)
    desk.settles = [Outcome("conflict", NS, ID, "It did not arrive.")]
    panel.notices.lines["doubt"].buttons[0].click()
    qtbot.waitUntil(lambda: "refused" in panel.notices.lines)
    assert panel.save_reason == ""
    with qtbot.waitSignal(panel.saved):
        panel.save()
    assert desk.v == 13


def test_a_missing_index_holds_saving_and_offers_to_create_it(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    desk.missing = "Two people could save the same version, because the unique index on docId and v is not there."
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed")
    assert panel.save_reason == desk.missing
    assert not panel.foot.save.isEnabled()
    assert panel.foot.save.toolTip() == desk.missing
    line = panel.notices.lines["index"]
    assert line.buttons[0].text() == "Create the index…"


def test_a_read_only_connection_shows_and_refuses_with_the_reason(opened: Open, desk: Desk) -> None:
    desk.read_only = True
    panel = opened(desk)
    assert not panel.tree.edit_cell(panel.model.find(("status",)))
    assert not panel.head.add.isEnabled()
    assert panel.foot.save.toolTip() == "This connection is read-only"


def test_a_document_that_cannot_be_written_says_why(opened: Open, desk: Desk) -> None:
    desk.writable = False
    panel = opened(desk)
    assert "does not decode" in panel.notices.lines["writable"].text
    assert not panel.foot.save.isEnabled()


def test_a_document_that_is_not_there_says_so(desk: Desk, qtbot: QtBot) -> None:
    desk.content = None
    panel = EditorPanel(desk.as_session(), NS, ID)
    shown(qtbot, panel)
    qtbot.waitUntil(lambda: panel.states.kind == "failed")
    assert panel.states.state.title == "K-204117 is not there"


# --- what was chosen about a conflict


@pytest.fixture
def lost(opened: Open, desk: Desk, qtbot: QtBot) -> Callable[[], EditorPanel]:
    def make() -> EditorPanel:
        panel = opened(desk)
        panel.menus._apply(MINE, "edit", None)
        desk.move(theirs, by=2)
        return panel

    return make


def test_taking_the_databases_keeps_my_edit_within_undo(
    lost: Callable[[], EditorPanel], desk: Desk, qtbot: QtBot
) -> None:
    panel = lost()
    with qtbot.waitSignal(panel.conflict_found) as found:
        panel.save()
    assert found.args is not None
    with qtbot.waitSignal(panel.loaded):
        panel.act_on(found.args[0], "take")
    assert panel.content == desk.content
    assert not panel.is_dirty
    panel.undo()
    assert panel.content == MINE
    assert panel.head.base.said == "from v14"


def test_overwriting_swaps_against_the_newest_version_and_not_against_a_newer_one(
    lost: Callable[[], EditorPanel], desk: Desk, qtbot: QtBot
) -> None:
    panel = lost()
    with qtbot.waitSignal(panel.conflict_found) as found:
        panel.save()
    assert found.args is not None
    desk.move(lambda content: put(content, status="lapsed"))
    with qtbot.waitSignal(panel.conflict_found) as again:
        panel.act_on(found.args[0], "overwrite")
    assert again.args is not None
    with qtbot.waitSignal(panel.saved):
        panel.act_on(again.args[0], "overwrite")
    assert desk.content == MINE
    assert desk.v == 16


def test_saving_as_a_new_document_leaves_this_one_as_the_database_has_it(
    lost: Callable[[], EditorPanel], desk: Desk, qtbot: QtBot
) -> None:
    panel = lost()
    with qtbot.waitSignal(panel.conflict_found) as found:
        panel.save()
    assert found.args is not None
    with qtbot.waitSignal(panel.saved):
        panel.act_on(found.args[0], "save_new")
    assert desk.created == [(MINE, None)]
    assert panel.content == desk.content
    assert not panel.is_dirty


def test_a_deleted_document_is_created_again_from_the_edit(
    lost: Callable[[], EditorPanel], desk: Desk, qtbot: QtBot
) -> None:
    panel = lost()
    desk.content = None
    with qtbot.waitSignal(panel.conflict_found) as found:
        panel.save()
    assert found.args is not None
    assert found.args[0].kind == "deleted"
    with qtbot.waitSignal(panel.saved):
        panel.act_on(found.args[0], "create_again")
    assert desk.content == MINE
    assert not panel.is_dirty


# --- keyboard and names


def test_every_row_has_an_accessible_name_with_path_value_type_and_change(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    type_into(panel, ("billing", "interval"), "monthly")
    named = panel.model.find(("billing", "interval"), FIELD).data(Qt.ItemDataRole.AccessibleTextRole)
    assert named == 'billing.interval, "monthly", String, changed'
    locked = panel.model.find(("_id",), FIELD).data(Qt.ItemDataRole.AccessibleTextRole)
    assert locked == '_id, "K-204117", String, locked'


def test_the_menu_of_a_field_offers_what_can_be_done_with_it(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    menu = panel.menus.menu(node(panel, "riders", 0))
    labels = [action.text() for action in menu.actions() if action.text()]
    assert labels == [
        "Edit value", "Rename", "Change type…", "Add element behind", "Add field inside", "Duplicate", "Move up",
        "Move down", "Remove", "Revert this field", "Copy value as Extended JSON", "Copy field as Extended JSON",
        "Copy path", "Copy document as Extended JSON", "Expand all", "Collapse all",
    ]  # fmt: skip
    next(a for a in menu.actions() if a.text() == "Copy path").trigger()
    assert QApplication.clipboard().text() == "riders[0]"
    next(a for a in menu.actions() if a.text() == "Copy value as Extended JSON").trigger()
    assert text.value_from_text(QApplication.clipboard().text()) == get(OPENED, "riders", 0)
    menu.deleteLater()


def test_tab_goes_from_one_value_to_the_next_that_can_be_typed(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    type_into(panel, ("product",), "Other", end=False)
    QTest.keyClick(panel.tree.editor.widget, Qt.Key.Key_Tab)
    here = panel.tree.editor.typing
    assert here is not None
    assert panel.model.path(here.node) == ("holder", "customerId")


def test_a_click_on_the_caret_drops_the_types_down(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    panel = opened(desk)
    index = panel.model.find(("status",), TYPE)
    box = panel.tree.visualRect(index)
    QTest.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(box.right() - 10, box.center().y()))
    menu = QApplication.activePopupWidget()
    assert menu is not None
    next(a for a in menu.actions() if a.text() == "Null").trigger()
    menu.close()
    assert get(panel.content, "status").kind == "Null"


def test_the_draft_of_a_document_that_is_gone_opens_and_meets_that_on_saving(
    opened: Open, desk: Desk, qtbot: QtBot, idle: Callable[[], None]
) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed")
    panel.close()
    desk.content = None
    again = opened(desk)
    assert again.head.now.said == "deleted in the database"
    with qtbot.waitSignal(again.conflict_found) as found:
        again.save()
    assert found.args is not None
    assert found.args[0].kind == "deleted"
    again.act_on(found.args[0], "discard")
    qtbot.waitUntil(lambda: again.states.kind == "failed")
    assert desk.draft() is None
    assert not again.is_dirty


def test_a_value_that_is_whole_elsewhere_is_asked_for_with_space(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    panel = opened(desk)
    panel.tree.setCurrentIndex(panel.model.find(("notes",)))
    with qtbot.waitSignal(panel.whole_asked) as asked:
        QTest.keyClick(panel.tree, Qt.Key.Key_Space)
    assert asked.args == [get(OPENED, "notes"), ("notes",)]


def test_a_change_of_zone_is_seen_at_once(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    preferences.put("zone", "UTC")
    assert cell(panel, ("period", "from"), VALUE).text == "2024-03-31 22:00 UTC"


def test_columns_stay_as_wide_as_they_were_made(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    panel.tree.setColumnWidth(FIELD, 260)
    panel.close()
    assert opened(desk).tree.columnWidth(FIELD) == 260
