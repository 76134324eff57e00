"""The timeline: the marks on the strip, choosing versions, and histories of any length."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import (
    QAccessible,
    QContextMenuEvent,
    QGuiApplication,
    QImage,
    QMouseEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from gui import language
from gui.parts.versions_model import (
    AT,
    AUTHOR,
    HASH,
    MARK,
    OPERATION,
    REASON,
    SIZE,
    STORED,
    VERSION,
    WATCHED,
    VersionsModel,
    turn_words,
)
from gui.style import preferences, theme
from gui.style.cells import CELL, Cell, full_width
from gui.views.timeline import strip_geometry
from gui.views.timeline.strip import HEIGHT
from gui.views.timeline.timeline_panel import TimelinePanel
from model.foundation.records import Version, WatchTurn
from model.values.canonical import Value
from tests.gui.dragging import size_column
from tests.gui.drawn_words import DrawnWords
from tests.gui.fake_session import ID, MARTA, UNREACHABLE, Told, number, story, told
from tests.gui.menus import offered


class Watched:
    """A shown panel, and what it has told."""

    def __init__(self, qtbot: QtBot, source: Told, width: int = 1167) -> None:
        self.source = source
        self.panel = TimelinePanel(source.as_session(), "insurance.contracts")
        self.pairs: list[tuple[Version | None, Version]] = []
        self.loaded: list[list[Version]] = []
        self.panel.compared.connect(lambda a, b: self.pairs.append((a, b)))
        self.panel.loaded.connect(self.loaded.append)
        qtbot.addWidget(self.panel)
        self.panel.resize(width, 150)
        self.panel.show()
        self.qtbot = qtbot

    def read(self, id: Value = ID, keep: bool = False) -> None:
        """Read a history to its end."""
        with self.qtbot.waitSignal(self.panel.loaded):
            self.panel.show_document(id, keep)

    @property
    def ab(self) -> tuple[str, str]:
        """The names under the flags."""
        a, b = self.panel.chosen()
        return tuple("" if one is None or one.v is None else f"v{one.v.python()}" for one in (a, b))  # type: ignore[return-value]

    def at(self, name: str) -> QPoint:
        """Where a mark is in the strip's view."""
        model = self.panel.model
        row = next(i for i, mark in enumerate(model.marks) if mark.name == name)
        strip = self.panel.strip
        strip.scrollTo(model.index(row, 0))
        return QPoint(strip.visualRect(model.index(row, 0)).center().x(), strip.height() // 2)

    def click(self, name: str, *modifiers: Qt.KeyboardModifier) -> None:
        """Click a mark."""
        held = modifiers[0] if modifiers else Qt.KeyboardModifier.NoModifier
        self.qtbot.mouseClick(self.panel.strip.viewport(), Qt.MouseButton.LeftButton, held, self.at(name))


@pytest.fixture
def marta(qtbot: QtBot) -> Watched:
    made = Watched(qtbot, Told())
    made.read()
    return made


def cell(model: VersionsModel, row: int, column: int) -> Cell:
    found = model.index(row, column).data(CELL)
    assert isinstance(found, Cell)
    return found


def test_missing_versions_are_one_break_with_their_numbers(marta: Watched) -> None:
    names = [mark.name for mark in reversed(marta.panel.model.marks)]
    assert names == ["v1", "v2", "v3", "v4–v6 missing", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14"]
    assert marta.panel.model.summary() == "14 versions, 11 kept, 3 missing"
    gap = next(mark for mark in marta.panel.model.marks if mark.missing)
    assert gap.under == "retention or loss"
    damaged = next(mark for mark in marta.panel.model.marks if mark.name == "v9")
    assert damaged.under == "hash differs"
    assert marta.panel.model.marks[0].under == "current"


def test_one_missing_version_is_named_alone(qtbot: QtBot) -> None:
    watched = Watched(qtbot, Told({ID: story(3, missing=(2,))}))
    watched.read()
    assert [mark.name for mark in watched.panel.model.marks] == ["v3", "v2 missing", "v1"]


def test_an_archive_that_is_behind_is_told_beside_the_name_and_at_the_current_version(qtbot: QtBot) -> None:
    behind = "archive 2 versions behind; its feed has reached 2026-11-21 14:02:11 UTC"
    versions = story(3, missing=(2,))
    versions[0] = versions[0].but(detail=behind)
    versions[1] = versions[1].but(detail="not in the archive yet")
    watched = Watched(qtbot, Told({ID: versions}))
    watched.read()
    panel = watched.panel
    shown = [label for label in panel.findChildren(QLabel) if label.toolTip() == behind]
    assert [label.text() for label in shown] == ["3 versions, 2 kept, 1 missing; archive 2 versions behind"]
    assert panel.model.marks[0].words.endswith(f", {behind}")
    assert panel.model.marks[1].under == "not in the archive yet"


def test_the_newest_and_the_one_before_it_are_compared_at_first(marta: Watched) -> None:
    assert marta.ab == ("v13", "v14")
    assert [(a.v, b.v) for a, b in marta.pairs if a is not None] == [(number(13), number(14))]
    assert [len(all) for all in marta.loaded] == [14]


def test_a_click_makes_an_older_version_a_and_with_shift_or_control_b(marta: Watched) -> None:
    marta.click("v8")
    assert marta.ab == ("v8", "v14")
    marta.click("v11", Qt.KeyboardModifier.ShiftModifier)
    assert marta.ab == ("v8", "v11")
    marta.click("v3")
    assert marta.ab == ("v3", "v11")
    marta.click("v12")
    assert marta.ab == ("v3", "v12")
    marta.click("v13", Qt.KeyboardModifier.ControlModifier)
    assert marta.ab == ("v13", "v12")


def test_a_version_is_shown_by_itself_until_two_are_chosen(marta: Watched) -> None:
    marta.panel.show_alone(5)
    assert marta.ab == ("", "v9")
    assert marta.pairs[-1] == (None, marta.panel.model.marks[5].newest)
    marta.read(keep=True)
    assert marta.ab == ("", "v9")
    marta.click("v12")
    assert marta.ab == ("", "v12")
    marta.click("v8")
    assert marta.ab == ("v8", "v12")


def test_a_missing_version_cannot_be_chosen(marta: Watched) -> None:
    marta.click("v4–v6 missing")
    assert marta.ab == ("v13", "v14")


def test_a_damaged_version_can_be_chosen(marta: Watched) -> None:
    marta.click("v9")
    assert marta.ab == ("v9", "v14")


def test_a_flag_is_dragged_to_another_version(marta: Watched) -> None:
    strip = marta.panel.strip
    start = marta.at("v13") - QPoint(0, 30)
    target = marta.at("v7")
    view = strip.viewport()
    marta.qtbot.mousePress(view, Qt.MouseButton.LeftButton, pos=start)
    marta.qtbot.mouseMove(view, QPoint((start.x() + target.x()) // 2, start.y()))
    # QTest moves carry no pressed button: the strip is told by hand.
    for x in (start.x() - 20, target.x()):
        where = QPointF(x, start.y())
        event = QMouseEvent(
            QMouseEvent.Type.MouseMove, where, view.mapToGlobal(where), Qt.MouseButton.NoButton,
            Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier,
        )  # fmt: skip
        QApplication.sendEvent(view, event)
    marta.qtbot.mouseRelease(view, Qt.MouseButton.LeftButton, pos=QPoint(target.x(), start.y()))
    assert marta.ab == ("v7", "v14")


def test_the_keyboard_reaches_every_version(marta: Watched) -> None:
    strip, press = marta.panel.strip, marta.qtbot.keyClick
    strip.setFocus()
    press(strip, Qt.Key.Key_Home)
    assert strip.currentIndex().row() == 11
    press(strip, Qt.Key.Key_Space)
    assert marta.ab == ("v1", "v14")
    press(strip, Qt.Key.Key_End)
    press(strip, Qt.Key.Key_Left)
    press(strip, Qt.Key.Key_Left)
    press(strip, Qt.Key.Key_Space, Qt.KeyboardModifier.ShiftModifier)
    assert marta.ab == ("v1", "v12")
    press(strip, Qt.Key.Key_Right)
    press(strip, Qt.Key.Key_A)
    assert marta.ab == ("v13", "v12")


def test_screen_readers_meet_a_list_newest_first(marta: Watched) -> None:
    found = QAccessible.queryAccessibleInterface(marta.panel.strip)
    assert found.text(QAccessible.Text.Name) == "Versions, newest first"
    model = marta.panel.model
    words = [model.index(row, 0).data(Qt.ItemDataRole.AccessibleTextRole) for row in range(model.rowCount())]
    assert words[0] == "v14, current, 26 Mar 2024 09:00, stored in document, 5 fields changed, chosen as B"
    assert words[1].endswith("chosen as A")
    assert "v4–v6 missing, retention or loss" in words
    assert "v9, 21 Mar 2024 09:00, stored in archive, damaged: hash differs, 5 fields changed" in words
    assert found.childCount() == len(model.marks)
    assert found.child(0).text(QAccessible.Text.Name) == words[0]


def test_the_list_form_is_newest_first_and_chooses_too(marta: Watched) -> None:
    panel = marta.panel
    panel.as_list.setChecked(True)
    assert panel.list.isVisible()
    model = panel.model
    assert [cell(model, row, VERSION).text for row in range(3)] == ["v14", "v13", "v12"]
    assert [badge.text for badge in cell(model, 0, VERSION).badges] == ["B"]
    assert cell(model, 0, HASH).badges[0].text == f"{14:040x}"[:8]
    panel.list.setCurrentIndex(model.index(4, VERSION))
    marta.qtbot.keyClick(panel.list, Qt.Key.Key_Space)
    assert marta.ab == ("v10", "v14")
    where = panel.list.visualRect(model.index(2, VERSION)).center()
    marta.qtbot.mouseClick(panel.list.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier, where)
    assert marta.ab == ("v10", "v12")


def test_who_made_a_version_and_why_stand_beside_it_where_a_version_says_so(qtbot: QtBot) -> None:
    plain = story(4)
    watched = Watched(qtbot, Told({ID: plain}))
    watched.read()
    assert watched.panel.list.isColumnHidden(REASON)
    watched.source.histories[ID] = [plain[0].but(author="ann", reason="typo"), *plain[1:]]
    watched.read()
    assert [cell(watched.panel.model, 0, column).text for column in (AUTHOR, REASON)] == ["ann", "typo"]
    assert watched.panel.model.words(0).startswith("v4, current")
    assert "by ann, reason: typo" in watched.panel.model.words(0)
    assert not watched.panel.list.isColumnHidden(REASON)


def test_what_a_program_did_and_a_draft_stand_beside_a_version(qtbot: QtBot) -> None:
    plain = story(4)
    watched = Watched(qtbot, Told({ID: plain}))
    watched.read()
    assert watched.panel.list.isColumnHidden(OPERATION)
    watched.source.histories[ID] = [plain[0], plain[1].but(operation="update", detail="draft"), *plain[2:]]
    watched.read()
    assert not watched.panel.list.isColumnHidden(OPERATION)
    assert cell(watched.panel.model, 1, OPERATION).text == "update"
    assert [badge.text for badge in cell(watched.panel.model, 1, STORED).badges] == ["draft"]
    assert watched.panel.model.marks[1].under == "draft"
    assert "operation: update" in watched.panel.model.words(1)


def test_columns_that_come_and_go_leave_the_others_the_room_that_there_is(qtbot: QtBot) -> None:
    plain = story(4)
    watched = Watched(qtbot, Told({ID: plain}), width=1300)
    watched.read()
    watched.source.histories[ID] = [one.but(author="ann", operation="update") for one in plain]
    watched.read()
    watched.panel.as_list.click()
    header = watched.panel.list.header()
    qtbot.waitUntil(lambda: watched.panel.list.viewport().width() > 1200)
    assert [header.sectionSize(column) for column in (AUTHOR, OPERATION, STORED)] == [120, 100, 220]


def test_dates_are_in_the_chosen_zone(marta: Watched) -> None:
    assert cell(marta.panel.model, 0, AT).text == "26 Mar 2024 09:00"
    preferences.put("zone", "Asia/Tokyo")
    assert cell(marta.panel.model, 0, AT).text == "26 Mar 2024 17:00"


def test_the_only_version_is_told_without_another(qtbot: QtBot) -> None:
    watched = Watched(qtbot, Told({ID: story(1)}))
    watched.read()
    assert [(a, b.v) for a, b in watched.pairs] == [(None, number(1))]
    assert watched.panel.model.summary() == "1 version"


def test_a_document_without_versions_is_told_once(qtbot: QtBot) -> None:
    plain = [Version(None, None, None, "document", "present", True, "ab", 10)]
    watched = Watched(qtbot, Told({ID: plain}))
    watched.read()
    assert [(a, b.v) for a, b in watched.pairs] == [(None, None)]
    assert watched.panel.model.marks[0].name == "current"


def test_by_time_marks_stand_at_their_dates_and_never_on_each_other(marta: Watched) -> None:
    strip = marta.panel.strip
    marta.panel.by_time.click()
    assert marta.panel.by_time.isChecked()
    xs = [strip.visualRect(marta.panel.model.index(row, 0)).center().x() for row in range(12)]
    assert xs == sorted(xs, reverse=True)
    assert min(a - b for a, b in pairwise(xs)) > 12


@pytest.mark.parametrize("length", [2, 60, 1200])
def test_it_opens_at_the_new_end_whatever_its_length(qtbot: QtBot, length: int) -> None:
    watched = Watched(qtbot, Told({ID: story(length)}))
    watched.read()
    bar = watched.panel.strip.horizontalScrollBar()
    assert bar.value() == bar.maximum()
    assert len(watched.panel.model.marks) == length
    newest = watched.panel.strip.visualRect(watched.panel.model.index(0, 0))
    assert watched.panel.strip.viewport().rect().contains(newest.center())
    watched.panel.grab()


@pytest.mark.deep
def test_a_hundred_thousand_versions_are_read_in_chunks_and_only_the_visible_are_drawn(qtbot: QtBot) -> None:
    history = [
        told(n, stored="document" if n == 100_000 else "archive", current=n == 100_000) for n in range(100_000, 0, -1)
    ]
    watched = Watched(qtbot, Told({ID: history}))
    watched.read()
    strip, model = watched.panel.strip, watched.panel.model
    assert len(model.marks) == 100_000
    drawn = strip._layout.visible(strip.horizontalScrollBar().value(), strip.viewport().width())
    assert len(drawn) < 40
    strip.setFocus()
    qtbot.keyClick(strip, Qt.Key.Key_Home)
    assert strip.horizontalScrollBar().value() == 0
    drawn = strip._layout.visible(0, strip.viewport().width())
    assert 99_999 in drawn
    assert len(drawn) < 40
    watched.panel.by_time.click()
    watched.panel.grab()
    watched.panel.set_ab(number(3), number(70_000))
    assert watched.ab == ("v3", "v70000")


def test_older_versions_that_arrive_later_move_nothing(qtbot: QtBot) -> None:
    source = Told({ID: story(3000)})
    source.before_gate = 800
    source.gate.clear()
    watched = Watched(qtbot, source)
    watched.panel.show_document(ID)
    qtbot.waitUntil(lambda: len(watched.panel.model.marks) >= 800)
    strip = watched.panel.strip
    strip.scrollTo(watched.panel.model.index(300, 0))
    before = strip.visualRect(watched.panel.model.index(300, 0)).x()
    with qtbot.waitSignal(watched.panel.loaded):
        source.gate.set()
    assert strip.visualRect(watched.panel.model.index(300, 0)).x() == before
    assert len(watched.panel.model.marks) == 3000


def test_what_is_shown_stays_until_the_next_document_arrives(marta: Watched) -> None:
    other = Value.of("K-204118")
    marta.source.histories[other] = story(5)
    marta.source.gate.clear()
    marta.panel.show_document(other)
    assert marta.panel.model.summary() == "14 versions, 11 kept, 3 missing"
    marta.qtbot.waitUntil(lambda: not marta.panel._stop.isHidden())
    assert "K-204118" in marta.panel._busy.text()
    with marta.qtbot.waitSignal(marta.panel.loaded):
        marta.source.gate.set()
    assert marta.panel.model.summary() == "5 versions"
    assert marta.panel._stop.isHidden()


def test_reading_can_be_stopped_and_what_has_arrived_stays(qtbot: QtBot) -> None:
    source = Told({ID: story(900)})
    source.before_gate = 500
    source.gate.clear()
    watched = Watched(qtbot, source)
    watched.panel.show_document(ID)
    qtbot.waitUntil(lambda: len(watched.panel.model.marks) >= 400 and not watched.panel._stop.isHidden())
    with qtbot.waitSignal(watched.panel.loaded):
        watched.panel._stop.click()
    assert 400 <= len(watched.panel.model.marks) <= 500
    assert "reading was stopped" in watched.panel._summary.text()


def test_a_failure_says_what_to_do_and_can_be_tried_again(qtbot: QtBot) -> None:
    source = Told()
    source.fails = UNREACHABLE
    watched = Watched(qtbot, source)
    with qtbot.waitSignal(watched.panel.cleared):
        watched.panel.show_document(ID)
    assert watched.panel._note.title.text() == "The versions of K-204117 could not be read"
    assert "staging did not answer" in watched.panel._note.help.text()
    source.fails = None
    with qtbot.waitSignal(watched.panel.loaded):
        watched.panel._again()
    assert watched.ab == ("v13", "v14")
    assert watched.panel.strip.isVisible()


def test_versions_that_cannot_be_read_again_from_a_silent_server_stay(marta: Watched) -> None:
    cleared: list[None] = []
    marta.panel.cleared.connect(lambda: cleared.append(None))
    marta.panel.set_ab(number(2), number(8))
    marta.source.fails = UNREACHABLE
    marta.panel.show_document(ID, keep=True)
    marta.qtbot.waitUntil(lambda: marta.panel._summary.text().endswith("could not be read again"))
    assert "staging did not answer" in marta.panel._summary.toolTip()
    assert marta.ab == ("v2", "v8")
    assert marta.panel.strip.isVisible()
    assert not cleared
    marta.source.fails = None
    marta.read(keep=True)
    assert marta.panel._summary.text() == marta.panel.model.summary()
    assert not marta.panel._summary.toolTip()


def test_a_refresh_keeps_the_chosen_versions_and_the_place(marta: Watched) -> None:
    marta.click("v8")
    marta.panel.set_ab(number(2), number(8))
    marta.source.histories[ID] = [told(15, stored="document", current=True), *(
        told(n, state="missing") if n in (4, 5, 6) else told(n) for n in range(14, 0, -1)
    )]  # fmt: skip
    marta.read(keep=True)
    assert marta.ab == ("v2", "v8")
    assert marta.panel.model.marks[0].name == "v15"
    marta.read()
    assert marta.ab == ("v14", "v15")


def test_a_refresh_keeps_the_marks_of_the_keys_and_the_place_in_the_list(qtbot: QtBot) -> None:
    watched = Watched(qtbot, Told({ID: story(60)}))
    watched.read()
    panel, model = watched.panel, watched.panel.model

    def names() -> list[str]:
        rows = (panel.strip.currentIndex(), panel.list.currentIndex(), panel.list.indexAt(QPoint()))
        return [model.marks[index.row()].name for index in rows]

    panel.as_list.click()
    panel.strip.setCurrentIndex(model.index(model.row_of(number(30)) or 0, 0))
    panel.list.setCurrentIndex(model.index(model.row_of(number(20)) or 0, VERSION))
    panel.list.scrollTo(model.index(model.row_of(number(21)) or 0, 0), panel.list.ScrollHint.PositionAtTop)
    assert names() == ["v30", "v20", "v21"]
    watched.source.histories[ID] = story(62)
    watched.read(keep=True)
    assert watched.ab == ("v61", "v62")
    assert names() == ["v30", "v20", "v21"]
    panel.list.setCurrentIndex(model.index(0, VERSION))  # which B stands at, that follows
    watched.source.histories[ID] = story(63)
    watched.read(keep=True)
    assert names() == ["v30", "v63", "v63"]


def test_versions_asked_for_before_they_arrive_are_chosen_when_they_do(qtbot: QtBot) -> None:
    watched = Watched(qtbot, Told())
    with qtbot.waitSignal(watched.panel.loaded):
        watched.panel.show_document(ID)
        watched.panel.set_ab(number(2), number(9))
    assert watched.ab == ("v2", "v9")
    assert [(a.v if a else None, b.v) for a, b in watched.pairs] == [(number(2), number(9))]


def test_no_document_says_what_to_do(marta: Watched) -> None:
    marta.panel.show_document(None)
    assert marta.panel._note.isVisible()
    assert marta.panel._note.title.text() == "No document is chosen"
    assert marta.panel.chosen() == (None, None)


def test_the_menu_offers_comparison_restore_and_the_hash(marta: Watched) -> None:
    asked: list[tuple[object, object, object]] = []
    marta.panel.restore_asked.connect(lambda *all: asked.append(all))
    row = marta.panel.model.row_of(number(8))
    assert row is not None
    menu = marta.panel.menu(row)
    assert menu is not None
    actions = offered(menu)
    actions["Compare with current"].trigger()
    assert marta.ab == ("v8", "v14")
    actions["Copy hash"].trigger()
    assert QGuiApplication.clipboard().text() == f"{8:040x}"
    actions["Restore v8…"].trigger()
    assert asked == [(ID, number(8), None)]
    gap = next(i for i, mark in enumerate(marta.panel.model.marks) if mark.missing)
    assert marta.panel.menu(gap) is None
    menu.deleteLater()


def test_restore_is_not_offered_where_it_cannot_be_done(marta: Watched) -> None:
    menu = marta.panel.menu(0)
    assert menu is not None
    assert not next(a for a in menu.actions() if a.text().startswith("Restore")).isEnabled()
    marta.source.read_only = True
    other = marta.panel.menu(3)
    assert other is not None
    action = next(a for a in other.actions() if a.text().startswith("Restore"))
    assert (action.isEnabled(), action.toolTip()) == (False, "This connection is read-only.")
    menu.deleteLater()
    other.deleteLater()


def test_the_menu_key_asks_for_the_menu_of_the_current_mark(marta: Watched) -> None:
    strip = marta.panel.strip
    strip.setFocus()
    asked: list[int] = []
    strip.menu_asked.disconnect()
    strip.menu_asked.connect(lambda row, _: asked.append(row))
    strip.setCurrentIndex(marta.panel.model.index(2, 0))
    QApplication.sendEvent(strip.viewport(), QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(), QPoint()))
    assert asked == [2]


def test_the_wheel_scrolls_and_with_control_spreads_the_marks(qtbot: QtBot) -> None:
    watched = Watched(qtbot, Told({ID: story(200)}))
    watched.read()
    strip = watched.panel.strip
    bar = strip.horizontalScrollBar()

    def turn(by: int, held: Qt.KeyboardModifier) -> None:
        where = QPointF(300, 50)
        event = QWheelEvent(
            where, strip.viewport().mapToGlobal(where), QPoint(), QPoint(0, by), Qt.MouseButton.NoButton, held,
            Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.sendEvent(strip.viewport(), event)

    turn(120, Qt.KeyboardModifier.NoModifier)
    assert bar.value() < bar.maximum()
    wide = bar.maximum()
    row = strip.indexAt(QPoint(300, 50)).row()
    turn(-120, Qt.KeyboardModifier.ControlModifier)
    assert bar.maximum() < wide
    assert abs(strip.indexAt(QPoint(300, 50)).row() - row) <= 1
    for _ in range(30):
        turn(-120, Qt.KeyboardModifier.ControlModifier)
    watched.panel.grab()


def test_the_legend_names_only_the_shapes_that_are_there(marta: Watched) -> None:
    words = [word for _, word in marta.panel._legend.entries()]
    assert words == ["document", "archive", "missing", "damaged", "fields changed"]
    marta.source.histories[ID] = [told(1, stored="prev", current=False)]
    marta.read()
    assert [word for _, word in marta.panel._legend.entries()] == ["prev"]


def test_the_legend_takes_a_line_of_its_own_rather_than_leave_a_shape_out(marta: Watched, qtbot: QtBot) -> None:
    panel = marta.panel
    panel.show()
    for wide, line in ((1400, False), (760, True), (1400, False)):
        panel.resize(wide, panel.height())
        qtbot.waitUntil(lambda line=line: panel._below.isVisible() == line)
        assert panel._legend.isVisible() != line
        shown = panel._below if line else panel._legend
        qtbot.waitUntil(lambda shown=shown: shown.width() >= shown.sizeHint().width())
    panel.resize(400, panel.height())
    qtbot.waitUntil(lambda: panel._below.height() == 2 * theme.px(22))  # and as many as all of it takes


def test_nothing_is_told_twice(marta: Watched) -> None:
    marta.panel.set_ab(number(13), number(14))
    assert len(marta.pairs) == 1
    assert len(MARTA) == 14


def turn(v: int, holds: bool, before: int, watch: str = "Overdue", id: Value = ID) -> WatchTurn:
    missing = v - before - 1
    return WatchTurn("insurance.contracts", id, watch, holds, number(v), None, None, None, number(before), missing)


def test_the_turns_of_watched_conditions_stand_at_their_versions_in_words(qtbot: QtBot) -> None:
    source = Told()
    source.turns = [turn(2, True, 1), turn(7, False, 3), turn(11, True, 10), turn(11, True, 10, "No premium")]
    watched = Watched(qtbot, source)
    watched.read()
    panel, model = watched.panel, watched.panel.model
    qtbot.waitUntil(lambda: model.watched)
    said = {
        mark.name: cell(model, row, MARK).accessible
        for row, mark in enumerate(model.marks)
        if "“" in (cell(model, row, MARK).accessible or "")
    }
    assert set(said) == {"v2", "v7", "v11"}
    assert said["v2"].endswith("“Overdue” holds from here on")
    assert said["v7"].endswith("“Overdue” ceased to hold between v3 and v7, not proven")
    assert "“Overdue” holds from here on, “No premium” holds from here on" in said["v11"]
    for row in range(len(model.marks)):
        for one in model.turns_at(row):
            assert turn_words(one) in (cell(model, row, MARK).tip or "")
            assert turn_words(one) in cell(model, row, WATCHED).text
    assert ("watch", "watched condition turned") in panel._legend.entries()
    panel.as_list.click()
    assert not panel.list.isColumnHidden(WATCHED)


def test_a_turn_is_drawn_by_its_shape_and_only_with_its_document(qtbot: QtBot) -> None:
    other = Value.of("K-2")
    source = Told({ID: story(6), other: story(6)})
    watched = Watched(qtbot, source)

    def drawn(*turns: WatchTurn) -> QImage:
        source.turns = list(turns)
        with qtbot.waitSignal(watched.panel.loaded):
            watched.panel.show_document(ID)
        model = watched.panel.model
        qtbot.waitUntil(lambda: [t for row in range(6) for t in model.turns_at(row)] == source.turns)
        return watched.panel.strip.grab().toImage()

    none, holds, ceases, unsure = drawn(), drawn(turn(3, True, 2)), drawn(turn(3, False, 2)), drawn(turn(3, True, 1))
    assert [a == b for a, b in combinations((none, holds, ceases, unsure), 2)] == [False] * 6
    watched.read(other)
    assert not watched.panel.model.watched


def test_a_condition_that_cannot_be_judged_is_told_beside_the_versions(qtbot: QtBot) -> None:
    source = Told()
    source.turns = [turn(2, True, 1, id=Value.of("K-2"))]  # of another document; the session says why this one has none
    watched = Watched(qtbot, source)
    watched.read()
    panel = watched.panel
    qtbot.waitUntil(lambda: panel._summary.text().endswith("; watched conditions are not known"))
    assert panel._summary.toolTip() == "The condition is not understood."


def test_every_column_of_the_list_is_seen_in_a_narrow_window_until_a_person_sizes_one(qtbot: QtBot) -> None:
    said = [one.but(author="rk-204", reason="by phone", operation="update") for one in story(6)]
    watched = Watched(qtbot, Told({ID: said}), width=976)
    watched.read()
    watched.panel.as_list.click()
    header, view = watched.panel.list.header(), watched.panel.list.viewport()
    qtbot.waitUntil(lambda: view.width() > 900)
    assert watched.panel.list.isColumnHidden(WATCHED)
    assert header.sectionViewportPosition(HASH) + header.sectionSize(HASH) <= view.width()
    assert header.sectionSize(HASH) >= 76
    size_column(watched.panel.list, VERSION, 300)
    watched.panel.resize(960, 150)
    assert header.sectionSize(VERSION) == 300


def test_in_a_narrow_list_of_versions_dates_and_names_stay_whole(qtbot: QtBot) -> None:
    said = [one.but(author="rk-204", reason="by phone") for one in story(6)]
    watched = Watched(qtbot, Told({ID: said}), width=660)  # a window of 1440 pixels with text at 200 %
    watched.read()
    watched.panel.as_list.click()
    made, model = watched.panel.list, watched.panel.model

    def cut() -> list[int]:
        seen = [column for column in range(len(model.headers)) if not made.isColumnHidden(column)]
        return [
            column
            for column in seen
            for row in range(len(model.marks))
            if full_width(model.cell(model.index(row, column))) > made.columnWidth(column)
            or made.columnViewportPosition(column) + made.columnWidth(column) > made.viewport().width()
        ]

    qtbot.waitUntil(lambda: made.isColumnHidden(SIZE) and not cut())
    watched.panel.resize(1300, 300)
    qtbot.waitUntil(lambda: not made.isColumnHidden(SIZE) and not cut())


def test_a_label_of_the_last_version_never_displaces_that_of_the_one_before(qtbot: QtBot) -> None:
    above = "above the current version"
    versions = story(6)
    versions[0] = versions[0].but(state="damaged", detail=above, current=False)
    versions[1] = versions[1].but(current=True)
    watched = Watched(qtbot, Told({ID: versions}), width=500)
    watched.read()
    layout = watched.panel.strip._layout
    marks = layout.model.marks
    layout.model.choose(0, 2)
    painter = DrawnWords()
    strip_geometry._labels(painter, layout, range(6), 0, layout.width)
    painter.end()
    assert marks[1].under in painter.said
    assert above not in painter.said  # at the edge of the strip it would stand below the version before


def test_each_version_has_its_author_below_its_date(qtbot: QtBot) -> None:
    signed = [one.but(author=f"{n}-person@insurance.example" if n else None) for n, one in enumerate(story(40))]
    watched = Watched(qtbot, Told({ID: signed}), width=900)
    watched.read()
    strip = watched.panel.strip
    assert strip.horizontalScrollBar().isVisible()
    painter = DrawnWords()
    strip_geometry._labels(painter, strip._layout, range(40), 0, strip._layout.width)
    painter.end()
    people = {words: box for words, box in painter.said.items() if "-" in words}
    assert len(people) == 39
    boxes = sorted(people.values(), key=lambda box: box.left())
    assert all(a.right() < b.left() for a, b in pairwise(boxes))  # long names are cut, none is left out
    lowest = max(box.center().y() + theme.px(7) for box in boxes)
    assert lowest + strip._layout.above(theme.px(HEIGHT)) <= strip.viewport().height()


def test_a_label_that_the_edge_of_the_view_would_cut_is_not_drawn(qtbot: QtBot) -> None:
    watched = Watched(qtbot, Told({ID: story(6)}), width=900)
    watched.read()
    layout = watched.panel.strip._layout
    whole, cut = DrawnWords(), DrawnWords()
    strip_geometry._labels(whole, layout, range(6), 0, layout.width)
    edge = whole.said["v2"].center().x()
    strip_geometry._labels(cut, layout, range(6), edge, layout.width)
    assert {"v1", "v2"} <= whole.said.keys()
    assert not {"v1", "v2"} & cut.said.keys()
    assert "v3" in cut.said
    for painter in (whole, cut):
        painter.end()


@pytest.mark.parametrize("code", ["en", "de"])
def test_a_gap_leaves_the_dates_beside_it_in_sight_and_is_missing_only_once(qtbot: QtBot, code: str) -> None:
    language.choose(code)
    try:
        for width in (960, 1040, 1167):
            watched = Watched(qtbot, Told({ID: MARTA}), width=width)
            watched.read()
            layout = watched.panel.strip._layout
            marks = layout.model.marks
            painter = DrawnWords()
            strip_geometry._labels(painter, layout, range(len(marks)), 0, layout.width)
            painter.end()
            (gap,) = [at for at, mark in enumerate(marks) if mark.missing]
            assert {marks[gap - 1].under, marks[gap + 1].under} <= painter.said.keys()
            said = [words for words in painter.said if language.tr("missing")[:4] in words]
            assert len(said) <= 1
            assert [words for words in painter.said if marks[gap].span in words]
    finally:
        language.choose("en")
