"""The editor: what it shows of a document, how it keeps its layout, finding, keys and names."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import pytest
from bson import Code, Decimal128
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gui.parts.fields.field_model import ACTION, FIELD, TYPE, VALUE
from gui.style import preferences, theme
from gui.style.cells import CELL, Cell, full_width
from gui.views.edit.editor_panel import EditorPanel
from gui.views.edit.editor_parts import BOTH
from model import text
from model.foundation.records import Opened
from model.values import canonical
from model.values.canonical import Value
from tests.gui.document_scenes import ID, NS, OPENED, Desk, put, shown
from tests.gui.dragging import size_column
from tests.gui.field_support import Open, cell, get, node, type_into
from tests.gui.menus import choose, offered
from tests.gui.refusals import press

# --- what is shown


def test_the_document_is_shown_as_fields_with_the_layouts_own_ones_locked(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    names = [panel.model.index(row, FIELD).data() for row in range(panel.model.rowCount())]
    assert names[:3] == ["_id", "v", "status"]
    assert names[-1] == "_w"
    assert cell(panel, ("_id",), ACTION).icon == "lock-simple"
    assert not panel.tree.edit_cell(panel.model.find(("v",)))
    assert not panel.is_dirty
    assert panel.save_reason == panel.foot.kept.text() == "Nothing is changed"
    panel.foot.show_state(False, 0, "v12", "Somebody else has changed the rules of this collection")
    assert panel.foot.kept.text() == ""
    assert cell(panel, ("billing", "interval"), TYPE).caret


def test_dates_are_shown_in_the_zone_and_kept_to_the_millisecond(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    assert cell(panel, ("period", "from"), VALUE).text == "2024-04-01 00:00 CEST"
    assert panel.tree.edit_cell(panel.model.find(("period", "from")))
    QTest.keyClick(panel.tree.editor.widget, Qt.Key.Key_Return)
    assert panel.content == OPENED


def test_a_reading_that_takes_long_is_stopped_at_once_and_begun_again(
    qtbot: QtBot, desk: Desk, idle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, read = Event(), Desk.open

    def slowly(self: Desk, ns: str, id: Value) -> Opened:
        answers.wait()
        return read(self, ns, id)

    monkeypatch.setattr(Desk, "open", slowly)
    panel = EditorPanel(desk.as_session(), NS, ID)
    shown(qtbot, panel)
    qtbot.waitUntil(lambda: panel.states.kind == "loading")
    press(panel.states, "Stop")
    assert panel.states.state.title == "Reading was stopped"
    answers.set()
    idle()
    assert not panel.is_loaded
    press(panel.states, "Read again")
    qtbot.waitUntil(lambda: panel.is_loaded)
    assert panel.states.kind == "content"


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
    tabs = [tab.mapTo(panel, QPoint()) for tab in panel.head.views.buttons()]
    desk.move(lambda content: put(content, product="Other"))
    panel.reload()
    idle()
    assert [tab.mapTo(panel, QPoint()) for tab in panel.head.views.buttons()] == tabs, "moved under the pointer"
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


@pytest.mark.deep
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


@pytest.mark.deep
def test_a_long_array_does_not_hide_what_stands_below_it(opened: Open, desk: Desk) -> None:
    desk.content = put(OPENED, many=list(range(51)), few=[1, 2])
    panel = opened(desk)
    opens = {name: panel.tree.isExpanded(panel.model.find((name,), 0)) for name in ("many", "few", "holder")}
    assert opens == {"many": False, "few": True, "holder": True}


@pytest.mark.deep
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
    assert list(offered(menu)) == [
        "Edit value", "Rename", "Change type…", "Revert this field", "Add element behind", "Add field inside",
        "Duplicate", "Move up", "Move down", "Move into the field above", "Move out", "Remove",
        "Copy value as Extended JSON", "Copy field as Extended JSON",
        "Copy path", "Copy document as Extended JSON", "History of riders[0]", "Find when this became true…",
    ]  # fmt: skip
    choose(menu, "Copy path")
    assert QApplication.clipboard().text() == "riders[0]"
    choose(menu, "Copy value as Extended JSON")
    assert text.value_from_text(QApplication.clipboard().text()) == get(OPENED, "riders", 0)
    menu.deleteLater()


def test_tab_goes_from_one_value_to_the_next_that_can_be_typed(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    type_into(panel, ("product",), "Other", end=False)
    QTest.keyClick(panel.tree.editor.widget, Qt.Key.Key_Tab)
    here = panel.tree.editor.typing
    assert here is not None
    assert panel.model.path(here.node) == ("holder", "customerId")


@pytest.mark.deep
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


@pytest.mark.deep
def test_columns_stay_as_wide_as_they_were_made(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    size_column(panel.tree, FIELD, 260)
    panel.close()
    assert opened(desk).tree.columnWidth(FIELD) == 260


@pytest.mark.deep
def test_columns_that_give_way_in_a_narrow_window_are_not_kept_as_if_they_were_chosen(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    panel.resize(1400, 700)
    wide = panel.tree.columnWidth(FIELD)
    panel.resize(560, 700)
    panel.head.last_set.click()
    panel.resize(1400, 700)
    assert panel.tree.columnWidth(FIELD) == wide
    panel.close()
    again = opened(desk)
    again.resize(1400, 700)
    assert again.tree.columnWidth(FIELD) == wide


@pytest.mark.deep
def test_types_are_whole_again_once_there_is_room_for_them_beside_the_text(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    tree = panel.tree
    panel.show_view(BOTH)
    for width, hidden in ((800, [TYPE, ACTION]), (1130, [ACTION])):
        panel.resize(width, 700)
        QApplication.processEvents()
        assert [at for at in (FIELD, VALUE, TYPE, ACTION) if tree.isColumnHidden(at)] == hidden
    fitted = tree.columnWidth(TYPE)
    tree.fit_columns()
    assert tree.columnWidth(TYPE) == fitted


@pytest.mark.deep
@pytest.mark.parametrize(("value", "most"), [(Decimal128("1.50"), 120), ({"by": Code("x", {"a": 1})}, 160)])
def test_the_column_of_types_is_no_wider_than_the_longest_type_of_the_rows_needs(
    opened: Open, desk: Desk, value: object, most: int
) -> None:
    desk.content = put(OPENED, value=value)
    panel = opened(desk)
    panel.resize(1000, 700)
    tree, model = panel.tree, panel.model
    tree.expandAll()
    tree.fit_columns()
    QApplication.processEvents()
    rows = [model.find(("value", "by") if isinstance(value, dict) else ("value",)), model.find(("product",))]
    room = tree.columnWidth(TYPE)
    assert all(full_width(model.cell(row.siblingAtColumn(TYPE))) <= room for row in rows)
    assert room <= theme.px(most)


@pytest.mark.deep
def test_in_a_wide_window_finding_stands_beside_the_buttons_and_the_side_pane_grows(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    panel.resize(1400, 700)
    narrow = panel.side.width()
    panel.resize(2400, 700)
    gap = panel.head.add.mapTo(panel, QPoint()).x() - panel.head.finder.geometry().right()
    assert gap <= theme.px(16)
    assert panel.side.width() > narrow + theme.px(200)
