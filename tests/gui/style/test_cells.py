"""One way to draw lists: what a cell tells eyes and screen readers."""

from __future__ import annotations

import math
import threading
from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, QRectF, Qt
from PySide6.QtGui import (
    QContextMenuEvent,
    QCursor,
    QGuiApplication,
    QHelpEvent,
    QImage,
    QPainter,
    QPaintEvent,
    QRegion,
    QTextDocument,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QHeaderView, QLineEdit, QStyleOptionHeader, QStyleOptionViewItem, QToolTip
from pytestqt.qtbot import QtBot

from gui import tasks, turns
from gui.paging import Pager, RowsModel, refill
from gui.style import cells, icons, preferences, symbols, theme, wording, zooming
from gui.style.cells import Badge, Cell, CellDelegate, CellTree, Index, Span, full_width, plain, value
from gui.style.clear_cross import ClearCross
from gui.style.states import tool
from gui.window import status_line
from gui.window.status_line import StatusLine
from gui.window.status_line import _Elided as Elided
from tests.gui.dragging import size_column

MARKS = [("archive", "present", False), ("none", "missing", False)]


class Names(RowsModel[str]):
    headers = ("Name", "Size")
    right_headers = frozenset({1})

    def key(self, row: str) -> str:
        return row

    def cell(self, index: Index) -> Cell:
        return plain(self.rows[index.row()]) if index.column() == 0 else value("2.1 KB", right=True)


class Marked(Names):
    def cell(self, index: Index) -> Cell:
        return Cell(spans=(Span("net"),), change="replace", badges=(Badge("merged"),))


def tree(qtbot: QtBot, model: Names) -> CellTree:
    made = CellTree(row_height=28)
    made.setModel(model)
    _show(qtbot, made, 400)
    return made


def test_a_screen_reader_hears_the_change_before_the_words() -> None:
    model = Marked()
    model.fill(["net"])
    said = model.data(model.index(0, 1), Qt.ItemDataRole.AccessibleTextRole)
    assert said == "changed net merged"


def test_a_screen_reader_hears_the_whole_row_where_the_arrows_move_and_a_cell_elsewhere() -> None:
    class Scans(Names):
        headers = ("Scan", "", "Findings", "Took")
        spoken_at = 1

        def cell(self, index: Index) -> Cell:
            return (plain("Monday"), plain("insurance"), plain("31"), Cell(accessible="it took 5 s"))[index.column()]

    model = Scans()
    model.fill(["one"])
    said = [model.data(model.index(0, at), Qt.ItemDataRole.AccessibleTextRole) for at in range(4)]
    assert said == ["Monday", "insurance, Scan: Monday, Findings: 31, it took 5 s", "31", "it took 5 s"]


def test_numbers_stand_right_and_so_does_their_header() -> None:
    model = Names()
    side = model.headerData(1, Qt.Orientation.Horizontal, Qt.ItemDataRole.TextAlignmentRole)
    assert side & Qt.AlignmentFlag.AlignRight
    assert (
        not model.headerData(0, Qt.Orientation.Horizontal, Qt.ItemDataRole.TextAlignmentRole)
        & Qt.AlignmentFlag.AlignRight
    )


def test_a_refresh_keeps_selection_and_place(qtbot: QtBot) -> None:
    model = Names()
    model.fill([f"K-{number}" for number in range(100)])
    view = tree(qtbot, model)
    view.setCurrentIndex(model.index(40, 0))
    view.verticalScrollBar().setValue(500)
    refill(view, model, ["K-new", *(f"K-{number}" for number in range(100))])
    assert model.at(view.currentIndex()) == "K-40"
    assert view.verticalScrollBar().value() == 500


def test_a_list_that_gets_the_focus_before_anything_is_chosen_chooses_its_first_row(qtbot: QtBot) -> None:
    model = Names()
    model.fill(["a", "b"])
    view = tree(qtbot, model)
    view.setTreePosition(1)
    view.setFocus()
    qtbot.waitUntil(view.hasFocus)
    assert view.currentIndex() == model.index(0, 1)
    assert view.selectionModel().isRowSelected(0)


@pytest.mark.parametrize("key", [Qt.Key.Key_Control, Qt.Key.Key_Shift])
def test_a_key_that_is_still_held_down_adds_nothing_to_what_is_chosen_by_itself(qtbot: QtBot, key: Qt.Key) -> None:
    model = Names()
    model.fill([f"K-{number}" for number in range(6)])
    view = tree(qtbot, model)
    view.setSelectionMode(CellTree.SelectionMode.ExtendedSelection)
    view.setCurrentIndex(model.index(4, 0))
    held = Qt.KeyboardModifier.ControlModifier if key == Qt.Key.Key_Control else Qt.KeyboardModifier.ShiftModifier
    window = view.windowHandle()
    assert window is not None
    QTest.keyPress(window, key, held)
    try:
        assert QGuiApplication.keyboardModifiers() == held
        view.setCurrentIndex(model.index(1, 0))
        assert [index.row() for index in view.selectionModel().selectedRows()] == [1]
    finally:
        QTest.keyRelease(window, key)


def test_the_menu_that_is_asked_for_by_key_is_that_of_the_current_row(qtbot: QtBot) -> None:
    model = Names()
    shown = tree(qtbot, model)
    model.fill([f"row {n}" for n in range(60)])
    asked: list[str] = []
    shown.customContextMenuRequested.connect(lambda at: asked.append(model.rows[shown.indexAt(at).row()]))
    for row, column in ((0, 0), (3, 1), (50, 0)):
        shown.setCurrentIndex(model.index(row, column))
        shown.verticalScrollBar().setValue(0)
        shown.setColumnHidden(column, column == 1)  # as columns are that give way in a narrow window
        where = shown.inputMethodQuery(Qt.InputMethodQuery.ImCursorRectangle).center()  # where Qt has such a menu
        by_key = QContextMenuEvent.Reason.Keyboard
        QApplication.sendEvent(shown, QContextMenuEvent(by_key, where, shown.mapToGlobal(where)))
    assert asked == ["row 0", "row 3", "row 50"]
    there = shown.visualRect(model.index(49, 0)).center()
    by_mouse = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, there, shown.viewport().mapToGlobal(there))
    QApplication.sendEvent(shown.viewport(), by_mouse)
    assert asked[-1] == "row 49"


def test_the_chosen_row_stays_in_sight_in_a_lower_list(qtbot: QtBot) -> None:
    model = Names()
    model.fill([f"K-{number}" for number in range(100)])
    view = tree(qtbot, model)
    view.setCurrentIndex(model.index(4, 0))
    view.resize(400, 100)
    assert view.viewport().rect().contains(view.visualRect(model.index(4, 0)).center())
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum())
    view.resize(400, 90)
    assert view.verticalScrollBar().value() > 1000  # what was out of sight before is not run after


@pytest.mark.parametrize("height", [90, 131])
def test_a_row_that_is_brought_into_sight_leaves_no_half_row_below_the_header(qtbot: QtBot, height: int) -> None:
    model = Names()
    model.fill([f"K-{at:03}" for at in range(200)])
    made = tree(qtbot, model)
    made.resize(300, made.header().height() + height)
    for at in (7, 8, 40, 39, 3, 150):
        made.scrollTo(model.index(at, 0))
        box = made.visualRect(model.index(at, 0))
        assert made.visualRect(made.indexAt(QPoint(0, 0))).top() == 0
        assert box.top() >= 0
        assert box.bottom() < made.viewport().height()


@pytest.mark.parametrize("height", [34, 90, 131])
def test_at_the_end_of_a_list_a_whole_row_stands_below_the_header_too(qtbot: QtBot, height: int) -> None:
    model = Names()
    model.fill([f"K-{at:03}" for at in range(200)])
    made = tree(qtbot, model)
    made.resize(300, made.header().height() + height)
    last = model.index(199, 0)

    def is_whole() -> bool:
        first = made.visualRect(made.indexAt(QPoint(0, 0)))
        return first.top() == 0 <= made.visualRect(last).top() <= made.viewport().height() - first.height()

    made.setCurrentIndex(last)
    assert is_whole()
    made.updateGeometries()
    made.resize(300, made.height() - 5)
    assert is_whole()
    made.verticalScrollBar().setValue(0)
    made.verticalScrollBar().setValue(made.verticalScrollBar().maximum())
    assert is_whole()
    model.fill(["K-000"])
    qtbot.waitUntil(lambda: made.verticalScrollBar().maximum() == 0)


def test_the_same_rows_again_do_not_reset_the_list(qtbot: QtBot) -> None:
    model = Names()
    model.fill(["a", "b"])
    resets: list[bool] = []
    model.modelReset.connect(lambda: resets.append(True))
    model.fill(["a", "b"])
    assert not resets


def test_a_row_that_was_filled_anew_under_the_pointer_is_drawn_anew_when_the_pointer_leaves_it(qtbot: QtBot) -> None:
    model = Names()
    model.fill(["net", "gross", "tax"])
    view = tree(qtbot, model)
    seen, drawn = view.viewport(), QRegion()
    first, middle, last = (view.visualRect(model.index(row, 0)).center() for row in range(3))

    class Watch(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            nonlocal drawn
            if isinstance(event, QPaintEvent):
                drawn = drawn.united(event.region())
            return False

    def move(to: QPoint) -> None:
        QCursor.setPos(seen.mapToGlobal(to))
        qtbot.mouseMove(seen, to)
        qtbot.waitUntil(lambda: drawn.contains(to))

    view.setFocus()
    view.activateWindow()
    qtbot.waitUntil(lambda: view.hasFocus() and not (view._soon.isActive() or turns.turns.waiting))
    watch = Watch()
    seen.installEventFilter(watch)
    move(first)
    drawn = QRegion()
    model.beginResetModel()
    model.endResetModel()
    qtbot.waitUntil(lambda: drawn.contains(first) and not (view._soon.isActive() or turns.turns.waiting))
    drawn = QRegion()
    move(last)
    assert drawn.contains(first)
    assert not drawn.contains(middle)


def test_further_rows_are_asked_for_once_and_added_below() -> None:
    model = Names()
    model.fill(["a"], more=True)
    asked: list[bool] = []
    model.wanted.connect(lambda: asked.append(True))
    assert model.canFetchMore(QModelIndex())
    model.fetchMore(QModelIndex())
    model.fetchMore(QModelIndex())
    assert asked == [True]
    model.add(["b"], more=False)
    assert model.rows == ["a", "b"]
    assert not model.canFetchMore(QModelIndex())


def test_every_symbol_and_mark_draws_something() -> None:
    for draw in [
        *(lambda p, op=op: symbols.change(p, p.viewport().toRectF(), op) for op in (*symbols.CHANGES, "conflict")),
        *(
            lambda p, s=stored, t=state: symbols.version_mark(p, p.viewport().toRectF().center(), s, t, False)
            for stored in ("document", "archive", "prev", "delta")
            for state in ("present", "unproven", "damaged")
        ),
        lambda p: symbols.badge(p, 0, 12, "2 missing", "warn", "warnT", "conflict"),
        lambda p: symbols.miniature(
            p, p.viewport().toRectF(), [("archive", "present", False), ("none", "missing", False)]
        ),
    ]:
        image = QImage(64, 24, QImage.Format.Format_ARGB32_Premultiplied)
        image.fill(theme.colour("surface"))
        blank = image.copy()
        painter = QPainter(image)
        draw(painter)
        painter.end()
        assert image != blank


def test_the_foot_says_which_rows_are_shown(qtbot: QtBot) -> None:
    pager = Pager("document", 50)
    qtbot.addWidget(pager)
    pager.show_page(0, 50, 2318, "", True, 41)
    assert pager.text == "1–50 of 2,318 documents"
    assert pager._page_text.text() == "Page 1 of 47"
    pager.show_page(2300, 18, 2318, "", False, 41)
    assert not pager._on.isEnabled()
    pager.show_page(0, 50, None, "Counting took longer than 1 s", True, 41)
    assert pager.text == "1–50 of N/A"
    assert pager._took.text() == "Counting took longer than 1 s"
    assert pager._on.isEnabled()


def test_a_button_of_the_foot_stays_where_it_is_whether_or_not_the_pages_were_counted(qtbot: QtBot) -> None:
    pager = Pager("document", 50)
    qtbot.addWidget(pager)
    export = tool("export", "Export")
    pager.add_tool(export)
    pager.resize(900, 40)
    pager.show()
    places = set()
    for total in (None, 40, None, 2318, None):
        pager.show_page(0, 40, total, "", False, 41)
        QApplication.processEvents()
        places.add(export.x())
    assert max(places) - min(places) < export.width() // 2


def test_what_is_cut_off_is_told_where_the_pointer_rests_whatever_stands_beside_it() -> None:
    bare = plain("both changed it")
    signs: list[dict[str, Any]] = [
        {"badges": (Badge("Choose one"),)},
        {"icon": "info"},
        {"tick": True},
        {"caret": True},
        {"indent": 8},
    ]
    for more in signs:
        assert full_width(replace(bare, **more)) > full_width(bare)


def test_a_tick_box_stands_for_none_some_and_all(qtbot: QtBot) -> None:
    drawn = [icons.tick(*of).pixmap(16, 16).toImage() for of in ((0, 3), (2, 3), (3, 3))]
    edges = [image.pixelColor(8, 2).name() for image in drawn]
    assert edges[0] != edges[1] == edges[2] == theme.colour("acc").name()
    assert drawn[1] != drawn[2]


def test_a_value_of_many_runs_that_is_cut_between_two_of_them_says_so() -> None:
    from gui.style.cells import _elided, _width

    look = (True, 12.0, 400)
    spans = (Span("1a", mark="chgS"), Span(" "), Span("1b", mark="chgS"), Span(" "), Span("1c"))
    for room in range(1, int(_width(look, "1a 1b 1c"))):
        shown = _elided(spans, look, room, False)
        assert "".join(span.text for span in shown).endswith("…") or room < _width(look, "…")
        assert not any(span.mark for span in shown if span.text in ("", "…"))  # no colour without a character


def test_a_mistake_in_the_middle_of_an_id_is_seen_because_both_ends_are_shown(qtbot: QtBot) -> None:
    from gui.style.cells import _elided

    spans = _elided((Span("a" * 200 + "the-end"),), (True, 12, 400), 200, True)
    assert spans[0].text.startswith("aaa")
    assert spans[0].text.endswith("the-end")
    assert "…" in spans[0].text


def test_a_sentence_is_broken_between_words_where_one_line_is_too_narrow(qtbot: QtBot) -> None:
    said = Cell(spans=(Span("you removed it, the database changed it"),), size=12, wrap=True)

    def rows_with_ink(width: int) -> int:
        image = QImage(width, 36, QImage.Format.Format_RGB32)
        image.fill(theme.colour("surface"))
        painter = QPainter(image)
        CellDelegate()._text(painter, image.rect().toRectF(), said)
        painter.end()
        ground = theme.colour("surface").rgb()
        return sum(any(image.pixel(x, y) != ground for x in range(width)) for y in range(36))

    assert rows_with_ink(400) < 16 < rows_with_ink(140)


def test_a_value_that_looks_like_markup_is_told_as_it_is(qtbot: QtBot) -> None:
    class Marked(Names):
        def cell(self, index: Index) -> Cell:
            return value('"see <b>this</b> & that" ' * 20)

    model = Marked()
    model.fill(["a"])
    view = tree(qtbot, model)
    at = view.visualRect(model.index(0, 0)).center()
    event = QHelpEvent(QEvent.Type.ToolTip, at, view.viewport().mapToGlobal(at))
    view.itemDelegate().helpEvent(event, view, QStyleOptionViewItem(), model.index(0, 0))
    shown = QTextDocument()
    shown.setHtml(QToolTip.text())
    assert shown.toPlainText().startswith('"see <b>this</b> & that"')
    QToolTip.hideText()


def test_an_id_that_looks_like_markup_is_told_as_it_is_below_the_window(qtbot: QtBot) -> None:
    label = Elided()
    qtbot.addWidget(label)
    label.setText("insurance.contracts / K-<b>204117</b>")
    label.resize(60, 20)
    label.show()
    shown = QTextDocument()
    shown.setHtml(label.toolTip())
    assert shown.toPlainText() == "insurance.contracts / K-<b>204117</b>"


def test_names_in_menus_keep_their_ampersand_and_stay_short() -> None:
    assert wording.item("Hide R&D") == "Hide R&&D"
    long = wording.item(f"Hide {'x' * 300}.end")
    assert len(long) == 61
    assert long.endswith(".end")


class _Long(Names):
    headers = ("Name", "Found", "Said")

    def cell(self, index: Index) -> Cell:
        return plain(self.rows[index.row()] if index.column() == 1 else "short")


def _show(qtbot: QtBot, made: CellTree, width: int) -> None:
    qtbot.addWidget(made)
    made.resize(width, 200)
    made.show()


def test_a_column_whose_words_would_be_cut_takes_the_room_that_the_last_one_does_not_need(qtbot: QtBot) -> None:
    model = _Long()
    made = CellTree()
    made.as_list(model, "Rows")
    made.narrow_below(100, (60, 60), (60, 60))
    _show(qtbot, made, 1000)
    model.fill(["what was found is said in a few words more"])
    qtbot.waitUntil(lambda: made.columnWidth(1) > 200)
    cell = model.cell(model.index(0, 1))
    assert made.columnWidth(1) >= full_width(cell)
    size_column(made, 1, 90)
    model.fill(["another row that is as long as the first one was"])
    made.resize(1010, 200)
    assert made.columnWidth(1) == 90
    made.resize(320, 200)
    assert made.columnWidth(1) == 90


def test_a_list_that_is_too_narrow_for_its_columns_takes_from_the_empty_ones_first_and_shows_all(qtbot: QtBot) -> None:
    model = _Long()
    made = CellTree()
    made.as_list(model, "Rows", (200, 200, 200))
    made.header().setStretchLastSection(False)
    _show(qtbot, made, 900)
    model.fill(["twenty-four letters of it"])
    qtbot.waitUntil(lambda: [made.columnWidth(at) for at in range(3)] == [200, 200, 200])
    made.resize(420, 200)
    room = made.viewport().width()
    qtbot.waitUntil(lambda: sum(made.columnWidth(at) for at in range(3)) <= room)
    assert made.columnWidth(1) >= full_width(model.cell(model.index(0, 1))) > made.columnWidth(0)
    made.resize(900, 200)
    assert [made.columnWidth(at) for at in range(3)] == [200, 200, 200]


def test_words_that_would_be_cut_in_the_last_column_take_the_empty_room_of_the_others(qtbot: QtBot) -> None:
    class Lasting(_Long):
        def cell(self, index: Index) -> Cell:
            return plain(self.rows[index.row()] if index.column() == 2 else "short")

    model = Lasting()
    made = CellTree()
    made.as_list(model, "Rows", (160, 160))
    _show(qtbot, made, 420)
    model.fill(["twenty-four letters of it"])
    last = full_width(model.cell(model.index(0, 2)))
    qtbot.waitUntil(lambda: made.columnWidth(2) >= last)
    assert made.columnWidth(0) + made.columnWidth(1) + made.columnWidth(2) <= made.viewport().width()
    assert made.columnWidth(0) >= full_width(model.cell(model.index(0, 0)))


def test_a_long_header_takes_no_room_from_words_that_would_then_be_cut(qtbot: QtBot) -> None:
    class Headed(_Long):
        headers = ("Class", "Over the many scans that were made", "Since the first of the many scans")

        def cell(self, index: Index) -> Cell:
            return plain("None or several current" if index.column() == 0 else "1")

    model = Headed()
    made = CellTree()
    made.as_list(model, "Rows")
    made.narrow_below(900, (190, 80), (190, 80))
    _show(qtbot, made, 360)
    model.fill(["one row"])
    wanted = full_width(model.cell(model.index(0, 0)))
    qtbot.waitUntil(lambda: made.columnWidth(0) >= wanted)
    assert made.columnWidth(0) >= wanted


class _Told(Names):
    """Rows of several texts."""

    headers = ("Entry", "When", "Name", "Ended")

    def cell(self, index: Index) -> Cell:
        said = self.rows[index.row()].split("|")[index.column()]
        return plain(said, middle=index.column() == 2)


class QuietDelegate(CellDelegate):
    """Paints nothing."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        return


def _listed(qtbot: QtBot, width: int, row: str) -> tuple[CellTree, _Told]:
    made, model = CellTree(), _Told()
    made.as_list(model, "Rows")
    made.narrow_below(100, (60, 60, 60), (150, 150, 150), dispensable=(0,))
    qtbot.addWidget(made)
    made.resize(width, 200)
    made.show()
    model.fill([row])
    qtbot.waitUntil(lambda: not (made._soon.isActive() or turns.turns.waiting))
    return made, model


def _cut(made: CellTree, model: _Told) -> list[str]:
    seen = [at for at in range(len(model.headers)) if not made.isColumnHidden(at)]
    return [cell.text for at in seen if full_width(cell := model.cell(model.index(0, at))) > made.columnWidth(at)]


def test_a_short_column_keeps_no_room_that_the_words_of_another_need(qtbot: QtBot) -> None:
    made, model = _listed(qtbot, 430, "5|23 November 2026 07:19|K-204117|would be removed")
    assert not _cut(made, model)
    assert made.columnWidth(0) < 60  # though a column that is cut keeps more


def test_an_id_is_cut_in_its_middle_before_the_words_beside_it_are_cut(qtbot: QtBot) -> None:
    made, model = _listed(qtbot, 900, "5|23 November 2026 07:19|claim-2026-11-23-000417|would be removed")
    needs = [math.ceil(full_width(model.cell(model.index(0, at)))) for at in range(4)]
    made.resize(sum(needs[1:]) - 20, 200)
    assert _cut(made, model) == ["claim-2026-11-23-000417"]
    made.resize(sum(needs) + 90, 200)  # room for headers too, but less than the columns are given
    assert not _cut(made, model)


def test_columns_are_fitted_to_words_that_come_into_rows_that_are_there(qtbot: QtBot) -> None:
    made, model = _listed(qtbot, 560, "5|23 Nov|K-204117|")
    model.rows[0] = "5|23 November 2026 07:19:12 h|K-204117|would be removed"
    model.touch(0)
    qtbot.waitUntil(lambda: not _cut(made, model))
    assert sum(made.columnWidth(at) for at in range(4)) == made.viewport().width()


class _Counted(_Told):
    """Rows that say which of their cells was worked out how often."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[tuple[int, int]] = Counter()

    def cell(self, index: Index) -> Cell:
        self.asked[index.row(), index.column()] += 1
        return super().cell(index)


@pytest.fixture
def counted(qtbot: QtBot) -> tuple[CellTree, _Counted]:
    """A list in sight, of which only measuring asks for cells, and its rows."""
    made, model = CellTree(delegate=QuietDelegate()), _Counted()
    made.as_list(model, "Rows", (60, 60, 60))
    qtbot.addWidget(made)
    made.resize(560, 200)
    made.show()
    model.fill([f"{at}|23 Nov|K-{at}|ended" for at in range(5)])
    qtbot.waitUntil(lambda: not (made._soon.isActive() or turns.turns.waiting))
    return made, model


def test_words_are_measured_once_and_again_only_in_rows_that_have_others(counted: tuple[CellTree, _Counted]) -> None:
    made, model = counted
    for width in (500, 450, 560):
        made.resize(width, 200)
        made.fit_columns()
    assert model.asked == dict.fromkeys(((row, at) for row in range(5) for at in range(4)), 1)
    model.asked.clear()
    model.rows[2] = "2|23 November 2026|K-2|ended"
    model.touch(2)
    made.fit_columns()
    assert model.asked == dict.fromkeys(((2, at) for at in range(4)), 1)
    assert not _cut(made, model)


@pytest.mark.parametrize("way", ["insertion", "removal", "another zone", "another zoom"])
def test_words_are_measured_again_after(way: str, counted: tuple[CellTree, _Counted]) -> None:
    made, model = counted
    model.asked.clear()
    if way == "insertion":
        model.add(["5|23 November 2026 07:19|K-5|ended"])
    elif way == "removal":
        model.fill(model.rows[:3])
    elif way == "another zone":
        preferences.signals.changed.emit("zone")
    else:
        theme.signals.scaled.emit()
    made.fit_columns()
    assert set(model.asked.values()) == {1}
    assert len(model.asked) == len(model.rows) * 4


def test_a_list_that_nobody_sees_is_measured_once_it_is_shown(counted: tuple[CellTree, _Counted]) -> None:
    made, model = counted
    made.hide()
    model.asked.clear()
    model.fill(["0|23 November 2026 07:19:12 h|K-0|would be removed"])
    made.fit_columns()
    assert not model.asked
    made.show()
    assert not _cut(made, model)


def test_a_column_that_can_be_done_without_goes_where_others_would_be_cut_and_comes_back(qtbot: QtBot) -> None:
    made, model = _listed(qtbot, 400, "the number of it|23 November 2026 07:19|K-204117|would be removed")
    assert made.isColumnHidden(0)
    assert not _cut(made, model)
    made.resize(700, 200)
    assert not made.isColumnHidden(0)
    assert not _cut(made, model)


def test_the_last_column_in_sight_takes_the_rest_and_that_is_nobody_sizing_it(qtbot: QtBot) -> None:
    made, model = _listed(qtbot, 700, "5|23 Nov|K-204117|would be removed")
    made.setColumnHidden(3, True)  # another one takes the rest now, which no person did
    made.resize(640, 200)
    assert sum(made.columnWidth(at) for at in range(3)) == made.viewport().width()
    model.rows[0] = "5|23 November 2026 07:19|K-204117|"
    model.touch(0)
    qtbot.waitUntil(lambda: not _cut(made, model))


@pytest.mark.parametrize("zoom", [100, 200])
def test_a_header_that_has_the_room_it_needs_is_drawn_whole(qtbot: QtBot, zoom: int) -> None:
    class Headed(Names):
        headers = ("Documents", "Version", "Counted since", "")

    zooming.apply(zoom)
    try:
        made, model = CellTree(), Headed()
        made.as_list(model, "Rows")
        qtbot.addWidget(made)
        made.resize(1200, 200)
        made.show()
        header = made.header()
        header.setSortIndicatorShown(True)
        header.setSortIndicator(2, Qt.SortOrder.AscendingOrder)
        for at in range(3):
            header.resizeSection(at, made._head_width(at))
        cut = header.grab().toImage()
        header.setTextElideMode(Qt.TextElideMode.ElideNone)
        assert header.grab().toImage() == cut
        header.resizeSection(0, header.sectionSize(0) - theme.px(20))
        whole = header.grab().toImage()
        header.setTextElideMode(Qt.TextElideMode.ElideRight)
        assert header.grab().toImage() != whole
    finally:
        zooming.apply(100)


def test_the_last_parts_of_a_header_go_before_any_word_of_it_is_cut(qtbot: QtBot) -> None:
    class Headed(Names):
        headers = ("Name", "A   v11, current, 03 Nov 2026 10:14", "", "")

    made = CellTree()
    made.as_list(Headed(), "Rows")
    qtbot.addWidget(made)
    made.resize(1200, 200)
    made.show()
    header = made.header()
    said = []
    for less in (0, 10, 120, 180):
        header.resizeSection(1, made._head_width(1) - less)
        drawn = QStyleOptionHeader()
        header.initStyleOptionForIndex(drawn, 1)
        said.append(drawn.text)
    assert said == [Headed.headers[1], "A   v11, current", "A   v11", "A   v11"]


def test_a_word_behind_a_value_gives_way_before_nothing_is_left_of_the_value() -> None:
    def drawn(said: str, width: int) -> QImage:
        made = QImage(width, 24, QImage.Format.Format_ARGB32_Premultiplied)
        made.fill(theme.colour("surface"))
        painter = QPainter(made)
        cell = Cell(spans=(Span(said), Span("  Decimal128", sans=True)), mono=True, size=12)
        CellDelegate()._text(painter, QRectF(made.rect()), cell)
        painter.end()
        return made

    assert drawn("250.00", 84) != drawn("150.00", 84)
    assert drawn("{ code: 1, and much more of it }", 200) == drawn("{ code: 1, and much less of it }", 200)


def test_the_sign_of_a_cut_stands_alone() -> None:
    look = (True, 12.0, 400)
    for said, is_middle in (('"insurance.contracts_hist…"', False), ("insurance.contracts.stats", True)):
        cuts = {cells._cut(look, said, room, is_middle) for room in range(20, 220)}
        assert len(cuts) > 10
        assert not [each for each in cuts if "……" in each or "…." in each]


def test_words_of_the_status_line_that_were_cut_are_whole_once_there_is_room(qtbot: QtBot) -> None:
    line = StatusLine()
    qtbot.addWidget(line)
    line.put(["insurance.contracts", "Archive layout: earlier versions in contracts_history"], ["Europe/Berlin"])
    line.resize(600, 28)
    line.show()
    first, cut, zone = line.findChildren(Elided)
    qtbot.waitUntil(lambda: cut.text().endswith("…"))
    assert cut.toolTip() == cut.accessibleName()
    line.resize(1200, 28)
    qtbot.waitUntil(lambda: cut.text() == cut.accessibleName())
    assert not cut.toolTip()
    assert (first.text(), zone.text()) == (first.accessibleName(), zone.accessibleName())
    line.resize(600, 28)
    qtbot.waitUntil(lambda: cut.text().endswith("…"))
    qtbot.waitUntil(lambda: cut.width() == cut.room)
    assert zone.x() - cut.geometry().right() <= theme.px(16) + 2  # no room is left free beside words that are cut
    line.resize(460, 28)
    qtbot.waitUntil(cut.isHidden)  # a letter or two of it would say nothing
    assert not first.isHidden()


def test_the_cross_of_a_line_grows_with_the_text_and_empties_it(qtbot: QtBot) -> None:
    line = QLineEdit()
    cross = ClearCross(line)
    qtbot.addWidget(line)
    line.show()
    assert cross.isHidden()
    qtbot.keyClicks(line, "words")
    try:
        for percent in (100, 200):
            zooming.apply(percent)
            line.resize(theme.px(200), line.sizeHint().height())
            qtbot.waitUntil(lambda: cross.width() == theme.px(22) == line.textMargins().right())
            assert cross.iconSize().height() == theme.px(14)
            assert abs(cross.geometry().center().y() - line.rect().center().y()) <= 1
            assert line.width() - cross.geometry().right() <= theme.px(6)
    finally:
        zooming.apply(100)
    qtbot.mouseClick(cross, Qt.MouseButton.LeftButton)
    assert not line.text()
    assert cross.isHidden()


def test_a_header_has_room_before_long_words_of_the_column_that_takes_the_rest(qtbot: QtBot) -> None:
    class Headed(Names):
        headers = ("A long name of a column", "Words")

        def cell(self, index: Index) -> Cell:
            return plain("many words " * 30 if index.column() else "short")

    made, model = CellTree(), Headed()
    made.as_list(model, "Rows", (60,))
    model.fill(["row"])
    made.header().setStretchLastSection(False)
    made.header().setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
    qtbot.addWidget(made)
    made.resize(380, 200)
    made.show()
    made.fit_columns()
    assert made.columnWidth(0) >= made._head_width(0)


def test_texts_that_come_for_rows_out_of_sight_move_no_column(qtbot: QtBot) -> None:
    model = Names()
    made = CellTree()
    made.as_list(model, "names", (80, 60))
    _show(qtbot, made, 400)
    model.fill([f"row {n}" for n in range(90)])
    qtbot.waitUntil(lambda: not (made._soon.isActive() or made._later.isActive() or turns.turns.waiting))
    for row, moves in ((80, False), (0, True)):
        model.dataChanged.emit(model.index(row, 0), model.index(row, 1))
        assert made._later.isActive() is moves


def test_work_that_is_over_soon_is_not_named(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    line = StatusLine()
    qtbot.addWidget(line)
    go = threading.Event()
    monkeypatch.setattr(status_line, "BRIEF", 60.0)
    tasks.run(lambda _: go.wait(), done=print, failed=print, owner=line, title="Reading orders")
    line._count()
    assert line.tasks.text() == "No tasks running"
    monkeypatch.setattr(status_line, "BRIEF", 0.0)
    line._count()
    assert line.tasks.text() == "Reading orders"
    go.set()
    qtbot.waitUntil(lambda: line.tasks.text() == "No tasks running")
