"""The diff panel: changes by key and button, states without rows, copying, restoring, large documents."""

from __future__ import annotations

import datetime as dt
import json
import threading
from typing import Any

import bson
import pytest
from bson import Decimal128, ObjectId
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt
from PySide6.QtGui import QGuiApplication, QPaintEvent, QRegion
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QStyleOptionHeader, QWidget
from pytestqt.qtbot import QtBot

from gui.parts.differences.diff_grouping import Plan
from gui.parts.differences.diff_model import FIELD, SYMBOL, TYPE, A, B
from gui.parts.differences.overview import TALL
from gui.parts.values.value_pane import ValueDialog
from gui.style import preferences, symbols, theme, zooming
from gui.style.cells import CELL, Cell, full_width
from gui.tasks import tasks
from gui.views.compare import diff_panel, ignored_paths
from gui.views.compare.diff_panel import DiffPanel, restorable
from gui.views.compare.diff_tools import Counts
from gui.views.compare.hidden_sheet import HiddenSheet
from model.diff.comparison_rules import EXACT
from model.errors import NotFound
from model.foundation.records import Version
from model.history.comparison import Comparison
from model.values import canonical
from model.values.canonical import Value
from tests.gui.dragging import size_column
from tests.gui.fake_session import ID, UNREACHABLE, Told, compared, number, told
from tests.gui.menus import offered
from tests.gui.parts.test_diff_model import walk


class Shown:
    """A shown panel over versions with these contents, v1 first; the last is the current one."""

    def __init__(self, qtbot: QtBot, *contents: dict[str, Any]) -> None:
        self.source = Told({ID: []})
        self.qtbot = qtbot
        for n, content in enumerate(contents, 1):
            one = told(n, stored="document" if n == len(contents) else "archive", current=n == len(contents))
            self.source.histories[ID].insert(0, one)
            self.source.contents[one.v] = canonical.encode(content)
        self.panel = DiffPanel(self.source.as_session(), "insurance.contracts")
        self.panel.set_ab_choices(self.source.histories[ID])
        qtbot.addWidget(self.panel)
        self.panel.resize(1167, 420)
        self.panel.show()

    def one(self, n: int) -> Version:
        """A version by its number."""
        return next(v for v in self.source.histories[ID] if v.v == number(n))

    def compare(self, a: int | None, b: int) -> None:
        """Compare two versions and wait for the rows."""
        self.panel.compare(ID, None if a is None else self.one(a), self.one(b))
        self.settle()

    def settle(self) -> None:
        """Wait until nothing runs."""
        self.qtbot.waitUntil(lambda: not tasks.running)

    def bars(self) -> list[str]:
        """The fields of the rows with the accent bar."""
        model = self.panel.model
        found, stack = [], [model.index(row, 0) for row in range(model.rowCount())]
        while stack:
            index = stack.pop()
            cell = index.siblingAtColumn(SYMBOL).data(CELL)
            if isinstance(cell, Cell) and cell.bar:
                found.append(str(index.siblingAtColumn(FIELD).data()))
            stack.extend(model.index(row, 0, index) for row in range(model.rowCount(index)))
        return found


class Painted(QObject):
    """What of a widget is painted from now on."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.region = QRegion()
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            self.region += event.region()
        return False

    def whole(self, rect: QRect) -> bool:
        """Whether all of a rectangle was."""
        return QRegion(rect).subtracted(self.region).isEmpty()


@pytest.fixture
def shown(qtbot: QtBot) -> Shown:
    made = Shown(
        qtbot,
        {"a": 1, "p": {"net": 1, "gross": 2, "x": 0}, "r": [{"_id": 1}, {"_id": 2}], "t": "yes"},
        {"a": 1, "p": {"net": 5, "gross": 6, "x": 0}, "r": [{"_id": 1}], "t": "no", "new": True},
    )
    made.compare(1, 2)
    return made


def test_it_counts_the_changes_and_stands_on_the_first(shown: Shown) -> None:
    panel = shown.panel
    assert panel.counts.words == ["1 added", "1 removed", "3 changed"]
    assert panel.tools.position.text() == "Change 1 of 5"
    assert shown.bars() == ["net"]
    assert not panel.up.isEnabled()
    headers = [panel.model.headerData(n, Qt.Orientation.Horizontal) for n in (A, B)]
    assert headers == ["A   v1, 13 Mar 2024 09:00", "B   v2, current, 14 Mar 2024 09:00"]


def test_the_headings_say_who_made_both_versions_and_why(shown: Shown) -> None:
    by = {1: ("rk-204", "opened"), 2: ("ab-117", "the customer called")}
    told = shown.source.histories[ID]
    told[:] = [told[2 - n].but(author=by[n][0], reason=by[n][1]) for n in (2, 1)]
    shown.panel.set_ab_choices(told)
    shown.compare(1, 2)
    headings = (
        "A   v1, 13 Mar 2024 09:00, by rk-204, opened",
        "B   v2, current, 14 Mar 2024 09:00, by ab-117, the customer called",
    )
    model = shown.panel.model
    for role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
        assert [model.headerData(n, Qt.Orientation.Horizontal, role) for n in (A, B)] == list(headings)


def test_narrow_headings_keep_who_it_was_the_longest(shown: Shown) -> None:
    told = shown.source.histories[ID]
    told[:] = [one.but(author="ab-117", reason="the customer called") for one in told]
    shown.panel.set_ab_choices(told)
    shown.compare(1, 2)
    header, said = shown.panel.table.header(), list[str]()
    for width in range(600, 20, -5):
        header.resizeSection(A, width)
        drawn = QStyleOptionHeader()
        header.initStyleOptionForIndex(drawn, A)
        said.append(drawn.text)
    assert list(dict.fromkeys(said)) == [
        "A   v1, 13 Mar 2024 09:00, by ab-117, the customer called",
        "A   v1, 13 Mar 2024, by ab-117, the customer called",
        "A   v1, 13 Mar 2024, by ab-117",
        "A   v1, by ab-117",
        "A   v1",
    ]
    assert shown.panel.box_a.toolTip() == "v1, 13 Mar 2024 09:00, by ab-117, the customer called"


def test_narrow_tools_stay_in_one_line_and_say_in_tooltips_what_gave_way(shown: Shown) -> None:
    tools = shown.panel.tools
    assert (tools.only.text(), tools.only.toolTip()) == ("Only changes", "")
    shown.panel.resize(620, 400)
    high = tools.height()
    assert (tools.only.text(), tools.only.toolTip(), tools.position.text()) == ("", "Only changes", "1 of 5")
    assert tools.position.accessibleName() == tools.position.toolTip() == "Change 1 of 5"
    shown.panel.resize(1200, 400)
    assert (tools.only.text(), tools.position.text()) == ("Only changes", "Change 1 of 5")
    assert tools.height() == high


def test_parents_with_changes_stand_open(shown: Shown) -> None:
    table, model = shown.panel.table, shown.panel.model
    opened = {
        str(model.index(row, FIELD).data()): table.isExpanded(model.index(row, 0)) for row in range(model.rowCount())
    }
    assert opened == {"p": True, "r": True, "t": False, "new": False, "3 unchanged fields": False}


def test_keys_and_buttons_lead_through_the_changes(shown: Shown) -> None:
    panel = shown.panel
    shown.qtbot.mouseClick(panel.down, Qt.MouseButton.LeftButton)
    assert shown.bars() == ["gross"]
    for _ in range(3):
        shown.qtbot.keyClick(panel.table, Qt.Key.Key_Down, Qt.KeyboardModifier.ControlModifier)
    assert panel.tools.position.text() == "Change 5 of 5"
    assert shown.bars() == ["new"]
    assert not panel.down.isEnabled()
    panel.do_next_change()
    assert panel.tools.position.text() == "Change 5 of 5"
    shown.qtbot.keyClick(panel.table, Qt.Key.Key_Up, Qt.KeyboardModifier.ControlModifier)
    assert shown.bars() == ["t"]


def test_a_click_on_a_changed_row_makes_it_the_current_change(shown: Shown) -> None:
    panel = shown.panel
    index = panel.model.go(3)
    panel.model.go(0)
    where = panel.table.visualRect(index.siblingAtColumn(B)).center()
    shown.qtbot.mouseClick(panel.table.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert panel.tools.position.text() == "Change 4 of 5"


def test_the_next_change_is_the_one_after_the_row_that_the_arrows_are_at(shown: Shown) -> None:
    panel = shown.panel
    panel.table.setFocus()
    for _ in range(3):  # past the array's own row
        QTest.keyClick(panel.table, Qt.Key.Key_Down)
    assert (shown.bars(), panel.tools.position.text()) == (["[1]"], "Change 3 of 5")
    panel.do_next_change()
    assert shown.bars() == ["t"]


@pytest.mark.deep
def test_the_ring_around_a_field_leaves_nothing_behind(shown: Shown) -> None:
    table = shown.panel.table
    table.setFocus()
    shown.panel.do_next_change()
    before = table.visualRect(table.currentIndex())
    QApplication.processEvents()
    painted = Painted(table.viewport())
    shown.panel.do_next_change()
    shown.qtbot.waitUntil(lambda: painted.whole(before))
    assert painted.whole(before.adjusted(-4, 0, 0, 0))


@pytest.mark.deep
def test_a_change_out_of_sight_comes_to_the_middle(qtbot: QtBot) -> None:
    shown = Shown(qtbot, {f"f{n}": 0 for n in range(200)}, {f"f{n}": 1 for n in range(200)})
    shown.compare(1, 2)
    table = shown.panel.table
    while not table.verticalScrollBar().value():
        shown.panel.do_next_change()
    assert table.visualRect(table.currentIndex()).bottom() < table.viewport().height() * 0.7


def test_all_fields_can_be_shown_and_the_current_change_stays(shown: Shown) -> None:
    shown.panel.do_next_change()
    shown.panel.only.setChecked(False)
    assert shown.bars() == ["gross"]
    names = [shown.panel.model.index(row, FIELD).data() for row in range(shown.panel.model.rowCount())]
    assert names == ["a", "p", "r", "t", "new"]
    shown.panel.only.setChecked(True)
    assert shown.bars() == ["gross"]


def test_equal_versions_say_so_and_can_still_be_read(qtbot: QtBot) -> None:
    shown = Shown(qtbot, {"a": 1}, {"a": 1})
    shown.compare(1, 2)
    panel = shown.panel
    assert panel._stack.state.title == "v1 and v2 are the same"
    assert panel.tools.position.text() == ""
    panel.only.setChecked(False)
    assert panel.table.isVisible()
    assert panel.model.index(0, FIELD).data() == "a"


def test_a_version_by_itself_is_shown_as_fields_with_their_types(qtbot: QtBot) -> None:
    shown = Shown(qtbot, {"a": 1, "p": {"net": Decimal128("2.50")}, "text": "x" * 3000})
    shown.compare(None, 1)
    panel, tree = shown.panel, shown.panel.document.tree
    assert tree.isVisible()
    assert not panel.tools.isVisible()
    rows = [[tree.model().index(row, column).data() for column in (1, 2, 3)] for row in range(3)]
    assert rows[:2] == [["a", "1", "Int32"], ["p", "{ 1 field }", "Object"]]
    assert rows[2][0::2] == ["text", "String"]
    inside = tree.model().index(0, 2, tree.model().index(1, 0))
    assert inside.data() == "2.50"
    assert panel.comparison is None
    assert panel.why_not_restore() == "One version is shown by itself."
    tree.setCurrentIndex(tree.model().index(0, 2))
    qtbot.keyClick(tree, Qt.Key.Key_F2)
    qtbot.keyClick(tree, Qt.Key.Key_Delete)
    assert not tree.has_editor
    assert tree.model().index(0, 1).data() == "a"


@pytest.mark.deep
def test_the_whole_value_of_a_version_by_itself_opens_below(qtbot: QtBot) -> None:
    shown = Shown(qtbot, {"a": 1, "text": "word " * 3000})
    shown.compare(None, 1)
    view = shown.panel.document
    view.reveal(("text",))
    qtbot.keyClick(view.tree, Qt.Key.Key_Space)
    shown.settle()
    assert view.value.isVisible()
    assert view.value.sides.left.text.toPlainText().startswith("word word")
    qtbot.keyClick(view.tree, Qt.Key.Key_Up)
    shown.settle()
    assert view.value.sides.left.text.toPlainText() == "1"
    qtbot.keyClick(view.tree, Qt.Key.Key_Space)
    assert not view.value.isVisible()


@pytest.mark.deep
def test_a_part_that_was_closed_stays_closed_when_its_version_is_read_again(shown: Shown) -> None:
    shown.compare(None, 2)
    tree, model = shown.panel.document.tree, shown.panel.document.model
    parts = [model.find((name,)).siblingAtColumn(0) for name in ("p", "r")]
    assert [tree.isExpanded(part) for part in parts] == [True, True]
    tree.collapse(parts[0])
    shown.compare(None, 2)
    parts = [model.find((name,)).siblingAtColumn(0) for name in ("p", "r")]
    assert [tree.isExpanded(part) for part in parts] == [False, True]


def test_a_comparison_takes_the_place_of_a_version_by_itself_and_back(shown: Shown) -> None:
    panel = shown.panel
    panel.table.setFocus()
    shown.compare(None, 1)
    assert panel.document.tree.hasFocus()
    assert panel.document.said.text().endswith("as stored")
    asked: list[tuple[object, object]] = []
    panel.ab_chosen.connect(lambda a, b: asked.append((a, b)))
    panel.document.compare.click()
    assert asked == [(number(1), number(2))]
    shown.compare(1, 2)
    assert panel.table.isVisible()
    assert panel.tools.isVisible()
    assert shown.bars() == ["net"]


def test_a_failure_takes_the_place_of_the_rows_and_can_be_tried_again(shown: Shown) -> None:
    shown.source.fails = NotFound("There is no version 2 any more; refresh the list.")
    shown.compare(1, 2)
    assert shown.panel._stack.state.title == "These versions could not be compared"
    shown.source.fails = None
    shown.panel._again()
    shown.settle()
    assert shown.panel.table.isVisible()


@pytest.mark.deep
def test_a_version_by_itself_that_is_gone_leaves_the_focus_on_the_way_out(shown: Shown) -> None:
    shown.compare(None, 1)
    shown.panel.document.tree.setFocus()
    shown.source.fails = NotFound("There is no version 2 any more; refresh the list.")
    shown.compare(None, 2)
    here = QApplication.focusWidget()
    assert isinstance(here, QPushButton)
    assert here.isVisible()
    assert here.text() == "Try again"


def test_without_a_connection_what_was_compared_stays(shown: Shown) -> None:
    shown.source.fails = UNREACHABLE
    shown.compare(2, 1)
    assert shown.panel.table.isVisible()
    assert shown.bars() == ["net"]
    assert shown.panel.box_a.version is not None
    assert shown.panel.box_a.version.v == number(1)


def test_old_rows_stay_while_new_ones_are_made(shown: Shown) -> None:
    seen: list[int] = []
    shown.source.on_compare = lambda: seen.append(shown.panel.model.rowCount())
    shown.compare(2, 1)
    assert seen == [5]
    assert shown.panel.box_a.version == shown.one(2)


def test_the_boxes_offer_every_version_that_is_there(shown: Shown) -> None:
    shown.panel.set_ab_choices([*shown.source.histories[ID], told(0, state="missing")])
    assert shown.panel.box_a.count() == 2
    assert shown.panel.box_a.itemText(0) == "v2   current, 14 Mar 2024 09:00"
    asked: list[tuple[object, object]] = []
    shown.panel.ab_chosen.connect(lambda a, b: asked.append((a, b)))
    shown.panel.box_a.activated.emit(0)
    shown.panel.swap.click()
    assert asked == [(number(2), number(2)), (number(2), number(1))]


@pytest.mark.deep
def test_a_box_drops_down_at_once_however_many_versions_there_are(shown: Shown) -> None:
    many = [told(n, stored="document", current=n == 100_000) for n in range(100_000, 0, -1)]
    shown.panel.set_ab_choices(many)
    box = shown.panel.box_a
    box.setFocus()
    box.showPopup()
    popup = box._popup
    assert popup is not None
    assert popup.isVisible()
    assert popup.currentIndex().row() == 99_999
    picked: list[Version] = []
    box.picked.connect(picked.append)
    shown.qtbot.keyClick(popup, Qt.Key.Key_Home)
    shown.qtbot.keyClick(popup, Qt.Key.Key_Return)
    assert [one.v for one in picked] == [number(100_000)]
    box.showPopup()
    assert box._popup is not None
    shown.qtbot.keyClick(box._popup, Qt.Key.Key_Escape)
    assert len(picked) == 1


def test_space_shows_the_whole_value_below_and_takes_it_away(shown: Shown) -> None:
    panel = shown.panel
    panel.table.setFocus()
    shown.qtbot.keyClick(panel.table, Qt.Key.Key_Space)
    shown.settle()
    assert panel.value.isVisible()
    assert panel.value.sides.title.text() == "p.net"
    assert (panel.value.sides.left.text.toPlainText(), panel.value.sides.right.text.toPlainText()) == ("1", "5")
    panel.do_next_change()
    shown.settle()
    assert panel.value.sides.left.text.toPlainText() == "2"
    shown.qtbot.keyClick(panel.table, Qt.Key.Key_Space)
    assert not panel.value.isVisible()
    shown.qtbot.keyClick(panel.table, Qt.Key.Key_Space)
    shown.qtbot.keyClick(panel.table, Qt.Key.Key_Escape)
    assert not panel.value.isVisible()


@pytest.mark.deep
def test_after_a_change_is_hidden_the_one_behind_it_is_the_next(qtbot: QtBot) -> None:
    shown = Shown(qtbot, dict.fromkeys("abcd", 1), dict.fromkeys("abcd", 2))
    shown.compare(1, 2)
    for _ in range(2):
        shown.panel.do_next_change()
    assert shown.bars() == ["c"]
    shown.panel.hide_path(("c",))
    shown.settle()
    assert shown.bars() == ["d"]
    shown.panel.show_again(None)
    shown.settle()
    shown.compare(2, 1)
    assert shown.bars() == ["a"]  # another comparison begins at its first change


@pytest.mark.deep
def test_from_a_row_without_a_change_the_changes_beside_it_are_reached(qtbot: QtBot) -> None:
    old: dict[str, Any] = {"a": 1, "b": {"x": 1, "y": 1, "z": 1}, "c": 1, "d": 1}
    shown = Shown(qtbot, old, {**old, "a": 2, "b": {"x": 1, "y": 2, "z": 1}, "d": 2})
    panel, model = shown.panel, shown.panel.model
    shown.compare(1, 2)
    panel.only.setChecked(False)
    at = {str(index.siblingAtColumn(FIELD).data()): index.siblingAtColumn(FIELD) for index in walk(model)}
    for row, before, after in (("b", "a", "y"), ("x", "a", "y"), ("z", "y", "d"), ("c", "y", "d")):
        for call, name in ((panel.do_previous_change, before), (panel.do_next_change, after)):
            panel.table.setCurrentIndex(at[row])
            call()
            assert shown.bars() == [name], row


def test_path_values_and_changes_can_be_copied(shown: Shown) -> None:
    node = shown.panel.model.node(shown.panel.model.go(0))
    assert node is not None
    menu = shown.panel.menu(node)
    found, clipboard = offered(menu), QGuiApplication.clipboard()
    found["Copy path"].trigger()
    assert clipboard.text() == "p.net"
    found["Copy value of B"].trigger()
    assert json.loads(clipboard.text()) == {"$numberInt": "5"}
    found["Copy this change"].trigger()
    assert json.loads(clipboard.text()) == {
        "op": "replace", "path": ["p", "net"], "from": {"$numberInt": "1"}, "to": {"$numberInt": "5"},
    }  # fmt: skip
    found["Copy the diff as JSON rows"].trigger()
    shown.settle()
    assert [json.loads(line)["op"] for line in clipboard.text().splitlines()] == [
        "replace", "replace", "remove", "replace", "add",
    ]  # fmt: skip
    menu.deleteLater()


def test_copy_takes_the_whole_value_under_the_cursor_not_what_is_drawn_of_it(qtbot: QtBot) -> None:
    old, new = "long " * 200, "long " * 199 + "short"
    shown = Shown(qtbot, {"said": old, "gone": 1}, {"said": new})
    shown.compare(1, 2)
    model, table = shown.panel.model, shown.panel.table
    rows = {str(index.siblingAtColumn(FIELD).data()): index for index in walk(model)}

    def copied(field: str, column: int) -> str:
        QGuiApplication.clipboard().setText("what was there before")
        table.setCurrentIndex(rows[field].siblingAtColumn(column))
        QTest.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
        return QGuiApplication.clipboard().text()

    assert copied("said", A) == old
    assert copied("said", B) == new
    assert copied("said", FIELD) == "said"
    assert copied("gone", B) == "what was there before"
    shown.panel.set_inline(True)
    assert copied("said", A) == new
    assert json.loads(copied("gone", A)) == {"$numberInt": "1"}


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("Copy the diff as text", "~ p.net: 1 -> 5\n~ p.gross: 2 -> 6\n- r[1]"),
        ("Copy the diff as JSON Patch", '[{"op": "replace", "path": "/p/net", "value": 5}, '),
        ("Copy the diff as DeepDiff has it", '{"dictionary_item_added": {"root'),
    ],
)
def test_the_whole_diff_is_copied_as_text_and_as_a_patch(shown: Shown, form: str, begins: str) -> None:
    offered(shown.panel.tools.copies)[form].trigger()
    shown.settle()
    assert QGuiApplication.clipboard().text().startswith(begins)


# --- in one column


def cells(shown: Shown, column: int) -> dict[str, Cell]:
    """The cells of a column by their fields."""
    model = shown.panel.model
    found, stack = {}, [model.index(row, 0) for row in range(model.rowCount())]
    while stack:
        index = stack.pop()
        cell = index.siblingAtColumn(column).data(CELL)
        assert isinstance(cell, Cell)
        found[str(index.siblingAtColumn(FIELD).data())] = cell
        stack.extend(model.index(row, 0, index) for row in range(model.rowCount(index)))
    return found


@pytest.mark.deep
def test_both_values_stand_in_one_column_where_that_is_wanted(shown: Shown, qtbot: QtBot) -> None:
    panel = shown.panel
    panel.inline.click()
    middle = panel.inline.grab().toImage()
    assert middle.pixelColor(5, 5).name() == theme.colour("sel").name()  # it is seen to be pressed
    assert panel.table.isColumnHidden(B)
    inline = cells(shown, A)
    assert inline["net"].text == "1  →  5"
    assert [span.text for span in inline["net"].spans if span.struck] == ["1"]
    assert inline["[1]"].spans[0].struck
    assert (inline["new"].text, inline["new"].ground) == ("true", "addT")
    assert inline["r"].text == "[ 2 ]  →  [ 1 ]"
    assert inline["net"].accessible == "1 became 5"
    header = panel.table.header()
    widths = sum(header.sectionSize(n) for n in range(5) if not header.isSectionHidden(n))
    assert widths == panel.table.viewport().width()
    again = Shown(qtbot, {"a": 1}, {"a": 2})
    again.compare(1, 2)
    assert again.panel.inline.isChecked()  # remembered
    again.panel.inline.click()
    assert not again.panel.table.isColumnHidden(B)
    assert cells(again, B)["a"].text == "2"


@pytest.mark.deep
def test_what_two_texts_share_is_said_once(qtbot: QtBot) -> None:
    shown = Shown(qtbot, {"t": "Roof redone 2019. Call ahead."}, {"t": "Roof redone 2024. Call first."})
    shown.compare(1, 2)
    shown.panel.inline.click()
    spans = cells(shown, A)["t"].spans
    assert "".join(s.text for s in spans if not s.struck) == '"Roof redone 2024. Call first."'
    assert "".join(s.text for s in spans if s.mark != "addS") == '"Roof redone 2019. Call ahead."'


@pytest.mark.deep
@pytest.mark.parametrize("more", [0, 3000])
def test_in_one_column_a_long_value_shows_what_came_as_well_as_what_went(qtbot: QtBot, more: int) -> None:
    words = " ".join(f"Sentence {n} says that it was found sound." for n in range(60))
    old, new = words.replace("4 says", "4 told"), words.replace("4 says", "4 mentioned") + "x" * more
    data = bytes(range(250)) * 4
    shown = Shown(qtbot, {"t": old, "b": data}, {"t": new, "b": data[:20] + b"\xff" + data[21:] + b"!" * more})
    shown.compare(1, 2)
    shown.panel.inline.click()
    for name, gone, came in (("t", "told", "mentioned"), ("b", "14", "ff")):
        spans = cells(shown, A)[name].spans
        at = next(i for i, span in enumerate(spans) if span.text == gone)
        assert (spans[at].struck, spans[at + 1].text, spans[at + 1].mark) == (True, came, "addS")
        assert sum(len(span.text) for span in spans[:at]) < 80


# --- hidden fields


def test_a_path_can_be_hidden_and_shown_again(shown: Shown, qtbot: QtBot) -> None:
    panel = shown.panel
    node = panel.model.node(panel.model.go(0))
    assert node is not None
    menu = panel.menu(node)
    offered(menu)["Hide p.net"].trigger()
    shown.settle()
    assert panel.tools.position.text() == "Change 1 of 4"
    assert panel.tools.hidden.text() == "1 hidden"
    assert "p.gross" in cells(shown, A)  # the only change that is left there
    again = Shown(qtbot, {"p": {"net": 1}}, {"p": {"net": 2}})
    again.compare(1, 2)
    assert again.panel._stack.state.title == "v1 and v2 differ in hidden fields only"
    again.panel.do_hidden_fields()
    sheet = again.panel.findChild(HiddenSheet)
    assert sheet is not None
    sheet.rows[("p", "net")].click()
    again.settle()
    assert again.panel.tools.position.text() == "Change 1 of 1"
    assert not again.panel.tools.hidden.isVisible()
    menu.deleteLater()


@pytest.mark.deep
def test_a_hidden_field_of_elements_is_hidden_in_all_of_them_and_nothing_else_shifts(qtbot: QtBot) -> None:
    shown = Shown(
        qtbot,
        {"r": [{"_id": n, "seen": 0, "v": n} for n in range(4)]},
        {"r": [{"_id": 9, "v": 9}, *({"_id": n, "seen": 1, "v": n + n % 2} for n in range(4))]},
    )
    shown.compare(1, 2)
    shown.panel.hide_path(("r", 2, "seen"))
    shown.settle()
    assert shown.panel.tools.hidden.text() == "4 hidden"
    assert [op.path for op in shown.panel.model.plan.changes] == [("r", 0), ("r", 1, "v"), ("r", 3, "v")]  # type: ignore[union-attr]
    shown.panel.only.setChecked(False)
    model = shown.panel.model
    for n in range(3):
        node = model.node(model.go(n))
        assert node is not None
        assert not node.is_hidden
    hidden = [index for index in walk(model) if (node := model.node(index)) is not None and node.kind == "hidden"]
    assert len(hidden) == 4
    for index in hidden:
        node = model.node(index)
        assert node is not None
        assert (node.value("a"), node.value("b")) == (Value.of(0), Value.of(1))
        assert model.number_of(index) is None


@pytest.mark.deep
def test_an_element_is_restored_with_its_array_where_the_current_version_was_not_compared(qtbot: QtBot) -> None:
    riders = [{"_id": 1, "x": 1}, {"_id": 2, "x": 2}]
    later = [{"_id": 9, "x": 0}, {"_id": 1, "x": 1}, {"_id": 2, "x": 5}]  # at the old place stands another one now
    shown = Shown(qtbot, {"r": riders, "n": 1}, {"r": later[1:], "n": 2}, {"r": later, "n": 2})
    asked: list[object] = []
    shown.panel.restore_asked.connect(lambda *all: asked.append(all[2]))
    for a, b in ((1, 2), (1, 3)):
        shown.compare(a, b)
        for row in walk(shown.panel.model):
            node = shown.panel.model.node(row)
            if node is not None and node.op is not None and node.path[-1] in ("x", "n"):
                found = offered(shown.panel.menu(node))
                next(each for name, each in found.items() if name.startswith("Restore ")).trigger()
    assert asked == [[("r",)], [("n",)], [("r",)], [("n",)]]


def test_restore_asks_for_all_of_a_or_for_one_field(shown: Shown) -> None:
    asked: list[tuple[object, object, object]] = []
    shown.panel.restore_asked.connect(lambda *all: asked.append(all))
    shown.panel.restore.click()
    node = shown.panel.model.node(shown.panel.model.go(0))
    assert node is not None
    menu = shown.panel.menu(node)
    offered(menu)["Restore p.net from A…"].trigger()
    assert asked == [(ID, number(1), None), (ID, number(1), [("p", "net")])]
    menu.deleteLater()


@pytest.mark.deep
def test_while_another_document_is_read_nothing_of_it_is_restored(shown: Shown) -> None:
    asked: list[object] = []
    shown.panel.restore_asked.connect(lambda id, *rest: asked.append(id))
    other = Value.of("K-204118")
    shown.source.histories[other] = shown.source.histories[ID]
    shown.panel.compare(other, shown.one(1), shown.one(2))
    shown.panel.restore.click()
    shown.settle()
    shown.panel.restore.click()
    assert asked == [ID, other]


def test_an_element_that_came_or_went_is_restored_with_its_array(shown: Shown) -> None:
    paths = []
    for n in range(5):
        node = shown.panel.model.node(shown.panel.model.go(n))
        assert node is not None
        paths.append(restorable(node))
    assert paths == [("p", "net"), ("p", "gross"), ("r",), ("t",), ("new",)]


def test_elements_that_stand_elsewhere_are_restored_with_their_array(qtbot: QtBot) -> None:
    ids = [ObjectId() for _ in range(3)]
    before = [{"_id": ids[0], "n": 1}, {"_id": ids[1], "n": 2}]
    after = [{"_id": ids[2], "n": 0}, {"_id": ids[0], "n": 1}, {"_id": ids[1], "n": 3}]
    shown = Shown(qtbot, {"r": before}, {"r": after})
    shown.compare(1, 2)
    node = shown.panel.model.node(shown.panel.model.go(1))
    assert node is not None
    assert (node.path_a, node.path_b) == (("r", 1, "n"), ("r", 2, "n"))
    assert restorable(node) == ("r",)


def test_restore_is_off_where_it_cannot_be_done_and_says_why(shown: Shown) -> None:
    shown.source.read_only = True
    shown.compare(1, 2)
    assert not shown.panel.restore.isEnabled()
    assert shown.panel.restore.toolTip() == "This connection is read-only."
    shown.source.read_only = False
    shown.compare(2, 1)
    assert shown.panel.restore.toolTip() == "A is the current version; choose an earlier one."


def test_dates_follow_the_chosen_zone_at_once(qtbot: QtBot) -> None:
    when = dt.datetime(2026, 11, 3, 9, 14, tzinfo=dt.UTC)
    shown = Shown(qtbot, {"d": when}, {"d": when + dt.timedelta(hours=1)})
    shown.compare(1, 2)
    assert shown.panel.model.index(0, A).data() == "2026-11-03 10:14 CET"
    preferences.put("zone", "Asia/Tokyo")
    assert shown.panel.model.index(0, A).data() == "2026-11-03 18:14 JST"


def test_nothing_is_left_after_clearing(shown: Shown) -> None:
    shown.panel.clear()
    assert shown.panel.model.rowCount() == 0
    assert shown.panel.counts.words == []
    assert shown.panel._stack.state.title == "Nothing is compared yet"
    assert not shown.panel._stack.state.help.startswith("Choose")  # there may be no document to choose


@pytest.mark.deep
def test_columns_keep_what_a_person_gave_them(shown: Shown, qtbot: QtBot) -> None:
    header = shown.panel.table.header()
    size_column(shown.panel.table, FIELD, 400)
    assert sum(header.sectionSize(n) for n in range(5)) == shown.panel.table.viewport().width()
    again = Shown(qtbot, {"a": 1}, {"a": 2})
    again.compare(1, 2)
    assert abs(again.panel.table.header().sectionSize(FIELD) - 400) < 8


@pytest.mark.deep
def test_rows_of_a_long_list_come_as_it_is_scrolled(qtbot: QtBot) -> None:
    before = [{"_id": n, "v": 0, "w": 0} for n in range(2000)]
    shown = Shown(qtbot, {"list": before, "z": 0}, {"list": [{"_id": n, "v": 1, "w": 1} for n in range(2000)], "z": 1})
    shown.compare(1, 2)
    panel = shown.panel
    inner = panel.model.index(0, 0)
    first = panel.model.rowCount(inner)
    assert first < 500
    bar = panel.table.verticalScrollBar()
    bar.setValue(bar.maximum())
    qtbot.waitUntil(lambda: panel.model.rowCount(inner) > first)
    index = panel.model.go(3999)
    assert index.siblingAtColumn(FIELD).data() == "w"


def test_large_documents_are_compared_elsewhere_and_few_rows_are_made(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = [{"_id": n, "name": f"{n:08d}" * 12, "deep": {"a": n, "b": "x" * 40}} for n in range(15_000)]
    shown = Shown(qtbot, {"items": items}, {"items": [*items[:9000], {**items[9000], "name": "other"}, *items[9001:]]})
    threads: list[int] = []
    made = diff_panel.plan

    def watched(*given: Any) -> Plan:
        threads.append(threading.get_ident())
        return made(*given)

    monkeypatch.setattr(diff_panel, "plan", watched)
    shown.source.on_compare = lambda: threads.append(threading.get_ident())
    shown.compare(1, 2)
    assert len(threads) == 2
    assert threading.get_ident() not in threads
    model = shown.panel.model
    assert model.index(0, FIELD).data() == "items[9000].name"
    assert model.index(1, FIELD).data() == "15,001 unchanged fields"
    shown.panel.only.setChecked(False)
    inner = model.index(0, 0)
    assert [model.index(row, FIELD, inner).data() for row in (99, 100, 101)] == [
        "[99]", "8,900 unchanged fields", "[9000]",
    ]  # fmt: skip
    assert model.rowCount(inner) < 1000


def test_versions_without_content_are_no_crash(qtbot: QtBot) -> None:
    shown = Shown(qtbot, {"a": 1})
    pair = compared({"x": 1}, {"x": 2})
    broken = Comparison(told(1), pair.b, pair.diff)
    shown.panel._plan_again(broken)
    shown.settle()
    assert shown.panel._stack.state.title == "These versions could not be compared"


@pytest.mark.deep
def test_showing_a_field_again_leaves_what_another_tab_has_hidden_meanwhile(shown: Shown) -> None:
    panel = shown.panel
    panel.hide_path(("t",))
    shown.settle()
    other = DiffPanel(shown.source.as_session(), "insurance.contracts")
    shown.qtbot.addWidget(other)
    other.hide_path(("new",))
    panel.show_again(("t",))
    shown.settle()
    assert ignored_paths.kept(shown.source.source, "insurance.contracts").patterns == (("new",),)
    assert panel.counts.words == ["1 removed", "3 changed"]
    other.do_hidden_fields()
    (listed,) = other.findChildren(HiddenSheet)
    assert list(listed.rows) == [("new",)]
    listed.reject()


def test_the_only_version_says_why_it_cannot_be_shown(qtbot: QtBot) -> None:
    shown = Shown(qtbot, {"a": 1})
    (one,) = shown.source.histories[ID]
    damaged = one.but(state="damaged", detail="its delta does not decode")
    shown.source.histories[ID] = [damaged]
    shown.source.contents[one.v] = None  # type: ignore[assignment]
    shown.panel.compare(ID, None, damaged)
    shown.settle()
    said = shown.panel._stack.state
    assert said._title.text() == "This version could not be shown"
    assert said._help.text() == "v1 cannot be shown: its delta does not decode."


def test_the_overview_shows_where_each_change_is_and_leads_there(shown: Shown) -> None:
    panel = shown.panel
    marks = panel.overview.marks
    assert [op for op, _ in marks] == ["replace", "replace", "remove", "replace", "add"]
    assert [down for _, down in marks] == sorted(down for _, down in marks)
    assert panel.overview.isVisible()
    place = QPoint(8, round(panel.overview.y_of(3)) + 1)
    shown.qtbot.mouseClick(panel.overview, Qt.MouseButton.LeftButton, pos=place)
    assert shown.bars() == ["t"]
    assert panel.tools.position.text() == "Change 4 of 5"
    shown.qtbot.waitUntil(lambda: panel.overview.seen == (0, 4))
    # All rows are in sight: each mark stands beside its row.
    for change in range(5):
        row = panel.table.visualRect(panel.model.go(change))
        middle = panel.overview.mapFromGlobal(panel.table.viewport().mapToGlobal(row.center())).y()
        assert abs(panel.overview.y_of(change) + theme.px(TALL) / 2 - middle) <= 1


@pytest.mark.deep
def test_the_overview_brackets_the_changes_in_sight(qtbot: QtBot) -> None:
    long = {f"f{n:03}": n for n in range(200)}
    shown = Shown(qtbot, long, {name: -value - 1 for name, value in long.items()})
    shown.compare(1, 2)
    overview = shown.panel.overview
    qtbot.waitUntil(lambda: overview.seen[0] == 0 and 3 < overview.seen[1] < 40)
    shown.panel._go(199)
    qtbot.waitUntil(lambda: overview.seen[1] == 199)
    assert overview.seen[0] > 100


def test_equal_versions_have_no_overview(qtbot: QtBot) -> None:
    shown = Shown(qtbot, {"a": 1}, {"a": 1})
    shown.compare(1, 2)
    shown.panel.only.setChecked(False)
    assert not shown.panel.overview.isVisible()


def test_a_comparison_is_read_in_words(shown: Shown) -> None:
    shown.panel.read_in_words()
    shown.settle()
    dialog = shown.panel.window().findChild(ValueDialog)
    assert dialog is not None
    shown.settle()
    said = dialog.pane.sides.left.text.toPlainText().splitlines()
    assert said[0] == "From v1, 13 Mar 2024 09:00, to v2, 14 Mar 2024 09:00"
    assert 't changed from "yes" to "no".' in said
    assert len(said) == 2 + 5
    assert dialog.pane.sides.left.caption.text() == "5 changes"  # what it is made of, not the type and size of a text
    dialog.reject()


def test_a_delta_that_is_copied_leads_from_a_to_b(shown: Shown) -> None:
    QGuiApplication.clipboard().setText("")
    shown.panel.copies.whole("delta")
    shown.qtbot.waitUntil(lambda: QGuiApplication.clipboard().text() != "")
    there: dict[str, Any] = {}
    exec(QGuiApplication.clipboard().text(), there)
    a, b = (shown.source.contents[number(n)] for n in (1, 2))
    assert bson.encode(there["apply"](bson.decode(a))) == b


def test_nothing_is_restored_without_an_answer(shown: Shown) -> None:
    panel = shown.panel
    assert panel.restore.isEnabled()
    panel.say_answering(False)
    assert not panel.restore.isEnabled()
    assert panel.why_not_restore() == "This connection does not answer now."
    panel.say_answering(True)
    assert panel.restore.isEnabled()


def test_a_cut_value_takes_the_room_that_names_and_types_leave(qtbot: QtBot) -> None:
    shown = Shown(qtbot, {"a": ObjectId(b"a" * 12)}, {"a": ObjectId(b"b" * 12)})
    shown.panel.resize(760, 420)
    shown.compare(1, 2)
    table = shown.panel.table
    table.fit_columns()
    needed = full_width(table.rows.cell(table.rows.index(0, A)))
    assert table.viewport().width() * 0.32 < needed <= min(table.columnWidth(A), table.columnWidth(B))
    assert table.columnWidth(TYPE) >= table._head_width(TYPE)


@pytest.mark.deep
def test_values_are_measured_once_and_again_at_another_zoom_or_zone(
    shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown.compare(1, 2)
    table = shown.panel.table
    measured: list[object] = []
    monkeypatch.setattr(table, "_side_needed", lambda node: measured.append(node) or 10.0)
    table.fit_columns()
    assert not measured
    zooming.apply(125)
    at_zoom = len(measured)
    assert at_zoom
    preferences.put("zone", "Asia/Tokyo")
    table.fit_columns()
    in_zone = len(measured)
    assert in_zone > at_zoom
    table.fit_columns()
    assert len(measured) == in_zone


@pytest.mark.deep
def test_another_zoom_is_no_width_that_a_person_gave(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    shown.compare(1, 2)
    table = shown.panel.table
    monkeypatch.setattr(table, "widths", lambda _: [40, 200, 300, 300, 200])  # also at the other zoom
    table.fit_columns()
    zooming.apply(125)
    zooming.apply(100)
    assert preferences.remembered("diff-columns") is None
    assert [table.columnWidth(at) for at in (FIELD, A, B, TYPE)] == [200, 300, 300, 200]


def test_folded_fields_are_said_over_the_whole_row(qtbot: QtBot) -> None:
    shown = Shown(qtbot, {"a": 1} | {f"f{n}": n for n in range(12)}, {"a": 2} | {f"f{n}": n for n in range(12)})
    shown.panel.resize(400, 420)
    shown.compare(1, 2)
    table = shown.panel.table
    fold = table.rows.index(1, FIELD)
    assert fold.data() == "12 unchanged fields"
    assert full_width(table.rows.cell(fold)) > table.columnWidth(FIELD) - table.indentation()
    row = table.visualRect(fold.siblingAtColumn(A))
    drawn = table.viewport().grab().toImage()
    ground = drawn.pixel(row.right() - 2, row.top() + 2)
    assert any(drawn.pixel(row.left() + 2 + x, row.center().y()) != ground for x in range(60))


def test_the_badges_of_all_changes_have_room(qtbot: QtBot) -> None:
    counts = Counts()
    qtbot.addWidget(counts)
    counts.put({"add": 10, "remove": 1})
    few = counts.minimumSizeHint().width()
    counts.put({"add": 10, "remove": 1, "replace": 4, "retype": 1, "text": 2})
    badges = [symbols.badge_width(label.split(" ")[0], "add") for label in counts.words]
    assert counts.minimumSizeHint().width() >= sum(badges) > few


def test_a_and_b_are_greyed_before_anything_is_compared(qtbot: QtBot) -> None:
    panel = DiffPanel(Told({ID: []}).as_session(), "insurance.contracts")
    qtbot.addWidget(panel)
    assert not panel.box_a.isEnabled()
    assert not panel.box_b.isEnabled()


def test_rules_leave_out_what_does_not_count_and_say_so(qtbot: QtBot) -> None:
    one = {"n": 1, "tags": ["a", "b"], "t": "one  two", "x": 1}
    shown = Shown(qtbot, one, {"n": 1.0, "tags": ["b", "a"], "t": "one two", "x": 2})
    shown.compare(1, 2)
    panel = shown.panel
    assert panel.rule_line.isHidden()
    before = panel.model.count
    panel.tools.rule_menu.aboutToShow.emit()
    offered(panel.tools.rule_menu)["Numbers by value"].trigger()
    shown.settle()
    nodes = (panel.model.node(panel.model.index(row, 0)) for row in range(panel.model.rowCount()))
    tags = next(node for node in nodes if node is not None and node.path[:1] == ("tags",))
    offered(panel.menu(tags))["Ignore the order of tags"].trigger()
    shown.settle()
    assert panel.model.count == before - 2  # the text and x still differ
    said = "Compared by rules: tags in any order, numbers by value."
    assert (panel.rule_line.text(), panel.rule_line.isHidden()) == (said, False)
    offered(panel.tools.copies)["Copy the diff as text"].trigger()
    shown.settle()
    assert QGuiApplication.clipboard().text().startswith(f"{said}\n~ t: ")
    offered(panel.tools.copies)["Copy the diff as JSON Patch"].trigger()  # exact all the same
    shown.settle()
    assert '"path": "/n"' in QGuiApplication.clipboard().text()
    panel.use(EXACT)
    shown.settle()
    assert (panel.model.count, panel.rule_line.isHidden()) == (before, True)


def test_a_version_from_a_kept_state_says_since_when_in_the_heading() -> None:
    kept = dt.datetime(2026, 11, 29, 17, 30, tzinfo=dt.UTC)
    version = Version(Value.of(7), None, None, "delta", "present", False, None, None)
    assert not any("as kept on" in said for said in diff_panel._titles(version, "A"))
    wide, *_ = diff_panel._titles(version.but(kept_on=kept), "A")
    assert wide.startswith("A v7, as kept on ")
    assert "2026" in wide
