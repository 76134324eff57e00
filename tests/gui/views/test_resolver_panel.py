"""The resolver: open and merged decisions, choices that can be undone, a database that changes again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from unittest.mock import Mock

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gui import language, messages
from gui.messages import area
from gui.parts.fields.field_model import ACTION, SYMBOL_COLUMN, VALUE
from gui.style import theme
from gui.style.cells import CELL, Cell, full_width
from gui.views.merge.decision_table import BASE, DECISION, FIELD, MINE, SYMBOL, THEIRS
from gui.views.merge.resolution import Resolution, drawn, leaves
from gui.views.merge.resolver_panel import ResolverPanel
from model import text
from model.errors import Refused
from model.foundation.records import Draft, Outcome
from model.values import canonical
from model.values.canonical import Value
from model.writing.edit import Conflict
from tests.gui import document_scenes as desks
from tests.gui.document_scenes import ID, NS, OPENED, UNKNOWN, Desk, decimal, put, shown, theirs

CTRL = Qt.KeyboardModifier.ControlModifier


def met(desk: Desk, change: Callable[[bytes], bytes] = theirs, mine: bytes = desks.MINE, by: int = 2) -> Conflict:
    base = desk.version(NS, ID)
    desk.move(change, by)
    return desk.conflict(NS, ID, base, mine)


@pytest.fixture
def panel(qtbot: QtBot, desk: Desk) -> ResolverPanel:
    return merged(qtbot, desk, met(desk))


def merged(qtbot: QtBot, desk: Desk, conflict: Conflict) -> ResolverPanel:
    made = ResolverPanel(desk.as_session(), NS, ID, conflict)
    shown(qtbot, made, 1392, 795)
    made.table.setFocus()
    return made


def at(panel: ResolverPanel, row: int, column: int) -> Cell:
    found = panel.rows.index(row, column).data(CELL)
    assert isinstance(found, Cell)
    return found


def fields(panel: ResolverPanel) -> list[str]:
    return [at(panel, row, FIELD).text for row in range(panel.rows.rowCount())]


def result(panel: ResolverPanel, path: tuple[str | int, ...], column: int = VALUE) -> Cell:
    found = panel.model.find(path, column).data(CELL)
    assert isinstance(found, Cell)
    return found


def get(content: bytes, *path: str | int) -> object:
    found = canonical.get(content, path)
    assert found is not None
    return text.shown(found)


# --- what is shown


@pytest.mark.parametrize("spoken", ["en", "de"])
def test_what_was_decided_fits_in_one_line(qtbot: QtBot, desk: Desk, spoken: str) -> None:
    language.choose(spoken)
    try:
        panel = merged(qtbot, desk, met(desk))
        panel.resize(1166, 795)  # beside the sidebar of a window 1440 wide
        QApplication.sendPostedEvents()
        room = panel.table.columnWidth(DECISION)
        cells = [at(panel, row, DECISION) for row in range(panel.rows.rowCount() - 1)]
        assert [(cell.text, full_width(cell)) for cell in cells if full_width(cell) > room] == []
    finally:
        language.choose("en")


def test_conflicts_stand_first_and_what_merged_by_itself_says_whose_it_is(panel: ResolverPanel) -> None:
    assert fields(panel) == [
        "deductible",
        "billing.interval",
        "holder.phone",
        "riders[2]",
        "notes",
        "24 unchanged",
    ]
    assert at(panel, 0, SYMBOL).change == "conflict"
    assert at(panel, 0, SYMBOL).bar == "warn"
    for column in (BASE, MINE, THEIRS):
        assert at(panel, 0, column).ground == "warnT"
        assert at(panel, 0, column).radio is False
    assert at(panel, 0, BASE).text == "150.0  Double"
    assert at(panel, 0, DECISION).badges[0].text == "Choose one"
    assert at(panel, 0, DECISION).text == "both changed it"
    assert at(panel, 2, THEIRS).tick
    assert at(panel, 2, THEIRS).ground == "accTint"
    assert at(panel, 2, DECISION).text == "Only the database"
    assert at(panel, 3, BASE).text == "not there"
    assert at(panel, 4, MINE).tick
    assert at(panel, 4, DECISION).text == "Only you"


def test_saving_waits_for_the_last_choice_and_says_how_many_are_missing(panel: ResolverPanel) -> None:
    assert panel.head.title.text() == "Merge your edit"
    assert panel.head.count.said == "2 unresolved"
    assert panel.head.save.text() == "Save as v15"
    assert not panel.head.save.isEnabled()
    assert panel.head.save.toolTip() == "2 fields still to decide"
    panel.save()  # as Ctrl+S does, which is there whatever waits
    assert [line.text for line in messages.area(panel).lines] == ["2 fields still to decide"]
    panel.choose(0, "mine")
    assert panel.head.count.said == "1 unresolved"
    panel.choose(1, "theirs")
    assert panel.head.count.said == "All resolved"
    assert panel.head.save.isEnabled()


def test_the_result_shows_where_each_field_comes_from(panel: ResolverPanel) -> None:
    assert result(panel, ("status",), ACTION).text == "unchanged"
    assert result(panel, ("holder", "phone"), ACTION).text == "from the database"
    assert result(panel, ("notes",), ACTION).text == "from your edit"
    assert result(panel, ("riders", 2), ACTION).text == "from the database"
    assert result(panel, ("riders", 2), SYMBOL_COLUMN).change == "add"
    assert result(panel, ("deductible",)).text == "not decided: choose above or type a value"
    assert result(panel, ("deductible",), ACTION).badges[0].text == "Choose one"
    assert panel.result_head.against.text() == "what would be saved as v15, against v14"
    assert "in 2 fields still to decide" in panel.result_head.differs.accessibleName()


def test_what_both_added_differently_has_a_row_to_decide(qtbot: QtBot, desk: Desk) -> None:
    conflict = met(desk, lambda content: put(content, agent="t.okafor"), put(OPENED, agent="r.alvarez"))
    panel = merged(qtbot, desk, conflict)
    assert at(panel, 0, DECISION).text == "both added it"
    assert result(panel, ("agent",)).text == "not decided: choose above or type a value"
    panel.choose(0, "mine")
    assert result(panel, ("agent",)).text == '"r.alvarez"'


# --- choosing


def test_everything_works_by_keys(panel: ResolverPanel, qtbot: QtBot, desk: Desk) -> None:
    assert panel.table.currentIndex().row() == 0
    assert panel.bar.which.text() == "Conflict 1 of 2"
    QTest.keyClick(panel.table, Qt.Key.Key_2, CTRL)
    assert at(panel, 0, MINE).radio is True
    assert at(panel, 0, DECISION).text == "Yours"
    QTest.keyClick(panel.table, Qt.Key.Key_PageDown, CTRL)
    assert panel.bar.which.text() == "Conflict 2 of 2"
    QTest.keyClick(panel.table, Qt.Key.Key_Right)
    QTest.keyClick(panel.table, Qt.Key.Key_Space)
    assert at(panel, 1, THEIRS).radio is True
    with qtbot.waitSignal(panel.saved) as saved:
        QTest.keyClick(panel.table, Qt.Key.Key_S, CTRL)
    assert saved.args is not None
    assert saved.args[0].kind == "applied"
    content = desk.content
    assert content is not None
    assert get(content, "deductible") == "250.00"
    assert get(content, "billing", "interval") == '"monthly"'
    assert get(content, "holder", "phone") == '"+49 40 555 0192"'
    assert get(content, "notes") == '"Roof redone 2024. Call ahead."'
    assert desk.v == 15


def test_each_choice_is_one_step_and_undo_brings_the_conflict_back(panel: ResolverPanel) -> None:
    panel.choose(0, "mine")
    panel.choose(1, "base")
    panel.choose(1, "theirs")
    assert panel.unresolved == 0
    panel.undo()
    assert at(panel, 1, BASE).radio is True
    panel.undo()
    assert at(panel, 1, DECISION).badges[0].text == "Choose one"
    panel.undo()
    assert panel.unresolved == 2
    assert not panel.head.undo.isEnabled()
    for _ in range(3):
        panel.redo()
    assert at(panel, 1, THEIRS).radio is True


def test_with_shift_a_way_is_taken_for_everything_unresolved_in_one_step(panel: ResolverPanel) -> None:
    panel.choose(0, "base")
    panel.undo()
    panel.choose(0, "theirs")
    panel.choose_all("mine")
    assert at(panel, 0, THEIRS).radio is True
    assert at(panel, 1, MINE).radio is True
    panel.undo()
    assert panel.unresolved == 1
    panel.undo()
    panel.choose_all("theirs")
    assert panel.unresolved == 0
    panel.undo()
    assert panel.unresolved == 2


def test_a_click_takes_a_side_where_a_choice_is_due_and_only_there(panel: ResolverPanel) -> None:
    def click(row: int, column: int) -> None:
        box = panel.table.visualRect(panel.rows.index(row, column))
        QTest.mouseClick(panel.table.viewport(), Qt.MouseButton.LeftButton, pos=box.topLeft() + QPoint(16, 18))

    click(0, THEIRS)
    assert at(panel, 0, THEIRS).radio is True
    click(2, MINE)
    assert at(panel, 2, DECISION).badges[0].text == "Merged"


def test_what_merged_by_itself_can_be_decided_otherwise_and_put_back(panel: ResolverPanel) -> None:
    panel.table.go(2, MINE)
    QTest.keyClick(panel.table, Qt.Key.Key_Return)
    assert at(panel, 2, DECISION).badges[0].text == "Changed"
    assert result(panel, ("holder", "phone")).text == '"+49 40 555 0117"'
    QTest.keyClick(panel.table, Qt.Key.Key_Delete)
    assert at(panel, 2, DECISION).badges[0].text == "Merged"
    assert result(panel, ("holder", "phone")).text == '"+49 40 555 0192"'


def test_a_value_of_ones_own_can_be_typed_into_the_result(panel: ResolverPanel, qtbot: QtBot, desk: Desk) -> None:
    assert panel.tree.edit_cell(panel.model.find(("deductible",)))
    editor = panel.tree.editor.widget
    assert editor is not None
    QTest.keyClicks(editor, "200,00")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert panel.tree.editor.line == "Not a Decimal128: use a point"
    editor.selectAll()
    QTest.keyClicks(editor, "200.00")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert at(panel, 0, DECISION).text == "Yours, typed: 200.00"
    assert result(panel, ("deductible",), ACTION).text == "typed by you"
    panel.undo()
    assert panel.unresolved == 2
    panel.redo()
    assert panel.tree.edit_cell(panel.model.find(("status",)))
    editor = panel.tree.editor.widget
    assert editor is not None
    editor.selectAll()
    QTest.keyClicks(editor, '"lapsed"')
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert result(panel, ("status",), ACTION).text == "typed by you"
    panel.choose(1, "mine")
    with qtbot.waitSignal(panel.saved):
        panel.save()
    assert desk.content is not None
    assert get(desk.content, "deductible") == "200.00"
    assert get(desk.content, "status") == '"lapsed"'


def test_both_is_offered_only_where_both_can_be_had(qtbot: QtBot, desk: Desk) -> None:
    def tagged(content: bytes, word: str) -> bytes:
        return put(content, tags=["household", word, "paperless"])

    panel = merged(qtbot, desk, met(desk, lambda c: tagged(c, "loyal"), tagged(OPENED, "young")))
    assert panel.unresolved == 1
    assert panel.bar.ways["both"].isVisible()
    panel.bar.ways["both"].click()
    assert panel.unresolved == 0
    assert result(panel, ("tags",)).text == "[ 4 ]"
    other = merged(qtbot, Desk(desk.drafts._folder.parent), met(Desk(desk.drafts._folder.parent)))
    assert not other.bar.ways["both"].isVisible()


def test_json_shows_the_same_result(panel: ResolverPanel) -> None:
    panel.choose_all("mine")
    panel.show_json(True)
    shown_content = text.from_text(panel.json.toPlainText())
    assert get(shown_content, "deductible") == "250.00"
    panel.choose(0, "theirs")
    assert get(text.from_text(panel.json.toPlainText()), "deductible") == "150.00"


# --- saving


def test_a_merge_that_ends_as_the_database_has_it_has_nothing_to_save(panel: ResolverPanel) -> None:
    panel.choose_all("theirs")
    panel.choose(4, "theirs")
    assert panel.save_reason == "The result is what is in the database already"


def test_a_saved_merge_leaves_no_draft(panel: ResolverPanel, desk: Desk, qtbot: QtBot) -> None:
    conflict = panel.resolution.conflict
    at_time = conflict.base.at
    assert at_time is not None
    desk.drafts.keep(Draft(desk.source, NS, ID, conflict.base.v, OPENED, desks.MINE, at_time))
    panel.choose_all("mine")
    with qtbot.waitSignal(panel.saved):
        panel.save()
    assert desk.draft() is None


def test_what_is_chosen_while_a_merge_is_saved_becomes_a_draft_of_the_saved_version(
    panel: ResolverPanel, desk: Desk, qtbot: QtBot
) -> None:
    panel.choose_all("mine")
    with qtbot.waitSignal(panel.saved):
        panel.save()
        panel.choose(0, "theirs")
    kept = desk.draft()
    assert kept is not None
    assert get(desk.content or b"", "deductible") == get(kept.base_content, "deductible") == "250.00"
    assert get(kept.content, "deductible") == "150.00"


def test_an_edit_that_came_without_a_draft_gets_one(panel: ResolverPanel, desk: Desk, idle: Callable[[], None]) -> None:
    assert "Your edit is kept" in panel.head.line.text()
    idle()
    panel.draft.flush()
    kept = desk.draft()
    assert kept is not None
    assert kept.content == desks.MINE


@pytest.mark.parametrize("end", ["saved", "saved and chosen on", "discarded"])
def test_a_draft_of_another_edit_stays(qtbot: QtBot, desk: Desk, idle: Callable[[], None], end: str) -> None:
    conflict, another = met(desk), put(OPENED, status="lapsed")
    at_time = dt.datetime(2026, 11, 20, 9, 0, tzinfo=dt.UTC)
    desk.drafts.keep(Draft(desk.source, NS, ID, conflict.base.v, OPENED, another, at_time))
    panel = merged(qtbot, desk, conflict)
    idle()
    assert "kept" not in panel.head.line.text()
    with qtbot.waitSignal(getattr(panel, end.partition(" ")[0])):
        if end != "discarded":
            panel.choose_all("mine")
            panel.save()
            if end != "saved":
                panel.choose(0, "theirs")
        else:
            panel.discard()
    idle()
    kept = desk.draft()
    assert kept is not None
    assert kept.content == another


def test_a_draft_of_another_edit_stays_though_the_merge_is_discarded_before_it_is_known_whose_it_is(
    qtbot: QtBot, desk: Desk
) -> None:
    conflict, another = met(desk), put(OPENED, status="lapsed")
    at_time = dt.datetime(2026, 11, 20, 9, 0, tzinfo=dt.UTC)
    desk.drafts.keep(Draft(desk.source, NS, ID, conflict.base.v, OPENED, another, at_time))
    panel = ResolverPanel(desk.as_session(), NS, ID, conflict)
    qtbot.addWidget(panel)
    panel.discard()
    kept = desk.draft()
    assert kept is not None
    assert kept.content == another


def test_a_draft_that_cannot_be_read_is_not_said_to_be_of_another_edit(
    qtbot: QtBot, desk: Desk, idle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    conflict = met(desk)
    at_time = dt.datetime(2026, 11, 20, 9, 0, tzinfo=dt.UTC)
    desk.drafts.keep(Draft(desk.source, NS, ID, conflict.base.v, OPENED, conflict.mine, at_time))
    path = desk.drafts._path(desk.source, NS, ID)
    before = path.read_bytes()
    monkeypatch.setattr(desk.drafts, "get", Mock(side_effect=Refused("The draft may not be read.")))
    panel = merged(qtbot, desk, conflict)
    idle()
    assert panel.draft.said == "The draft cannot be read"
    panel.discard()
    assert path.read_bytes() == before


def test_when_the_database_moves_again_the_choices_that_still_fit_are_kept(
    panel: ResolverPanel, desk: Desk, qtbot: QtBot
) -> None:
    panel.choose(0, "mine")
    panel.choose(1, "mine")
    desk.move(lambda content: put(content, billing__interval="weekly", status="lapsed"))
    panel.save()
    qtbot.waitUntil(lambda: "moved" in panel.notices.lines)
    assert desk.v == 15
    assert panel.unresolved == 1
    assert at(panel, 0, MINE).radio is True
    assert at(panel, 1, DECISION).badges[0].text == "Choose one"
    assert panel.head.save.text() == "Save as v16"
    assert panel.notices.lines["moved"].text == (
        "The database moved again while you decided, v14 → v15. Nothing was written. "
        "1 of your 2 choices still applies. 1 field to decide."
    )
    panel.choose(1, "theirs")
    with qtbot.waitSignal(panel.saved):
        panel.save()
    assert desk.content is not None
    assert get(desk.content, "status") == '"lapsed"'
    assert get(desk.content, "billing", "interval") == '"weekly"'


def test_refresh_tells_that_nothing_moved_and_merges_anew_where_something_did(
    panel: ResolverPanel, desk: Desk, idle: Callable[[], None]
) -> None:
    panel.choose_all("mine")
    panel.look_again()
    idle()
    assert [line.text for line in area(panel).lines] == ["The database is still at v14"]
    assert panel.unresolved == 0
    desk.move(lambda content: put(content, status="lapsed"))
    panel.look_again()
    idle()
    assert "v14 → v15" in panel.notices.lines["moved"].text
    assert "status" in fields(panel)
    assert panel.unresolved == 0  # what was decided still fits


def test_when_it_is_deleted_meanwhile_the_page_is_told_and_the_edit_can_be_created_again(
    panel: ResolverPanel, desk: Desk, qtbot: QtBot
) -> None:
    panel.choose_all("mine")
    desk.content = None
    with qtbot.waitSignal(panel.moved) as moved:
        panel.save()
    assert moved.args is not None
    assert moved.args[0].kind == "deleted"
    with qtbot.waitSignal(panel.moved) as moved:
        panel.look_again()  # which asks about the edit before anything was decided
    assert moved.args is not None
    assert moved.args[0].mine == panel.resolution.document()
    with qtbot.waitSignal(panel.saved):
        panel.act_on(moved.args[0], "create_again")
    assert desk.content is not None
    assert get(desk.content, "deductible") == "250.00"


def test_an_unknown_outcome_holds_saving_here_too(panel: ResolverPanel, desk: Desk, qtbot: QtBot) -> None:
    panel.choose_all("mine")
    desk.answers = [UNKNOWN]
    panel.save()
    qtbot.waitUntil(lambda: "doubt" in panel.notices.lines)
    assert panel.notices.lines["doubt"].text.startswith("It is not known whether v15 was saved")
    assert "waits until the outcome" in panel.save_reason
    desk.settles = [Outcome("applied", NS, ID, "It had arrived.", version=Value.of(15))]
    with qtbot.waitSignal(panel.saved):
        panel.notices.lines["doubt"].buttons[0].click()


def test_the_head_says_nothing_was_written_only_where_that_is_known(
    panel: ResolverPanel, desk: Desk, qtbot: QtBot
) -> None:
    assert "nothing was written" in panel.head.line.text().casefold()
    panel.choose_all("mine")
    desk.answers = [UNKNOWN]
    panel.save()
    qtbot.waitUntil(lambda: "doubt" in panel.notices.lines)
    assert "written" not in panel.head.line.text()
    low = panel.notices.mapTo(panel, panel.notices.rect().bottomLeft()).y()
    assert low <= panel.split.y()  # below the button that it holds back, in sight


def test_headers_with_no_room_for_their_words_say_fewer(panel: ResolverPanel) -> None:
    panel.resize(1400, 700)
    assert panel.rows.headers[2].startswith("When you opened it")
    panel.resize(760, 700)
    assert panel.rows.headers[2].startswith("Opened")


def test_a_refusal_keeps_every_decision(panel: ResolverPanel, desk: Desk, qtbot: QtBot) -> None:
    panel.choose_all("mine")
    desk.answers = [Outcome("refused", NS, ID, "The server is read-only now.")]
    panel.save()
    qtbot.waitUntil(lambda: "refused" in panel.notices.lines)
    assert panel.unresolved == 0
    with qtbot.waitSignal(panel.saved):
        panel.save()


# --- names, large merges


def test_cells_have_names_that_say_field_side_value_and_state(panel: ResolverPanel) -> None:
    role = Qt.ItemDataRole.AccessibleTextRole
    assert panel.rows.index(0, MINE).data(role) == "deductible, your edit: 250.00  Decimal128, not decided"
    panel.choose(0, "theirs")
    assert panel.rows.index(0, MINE).data(role) == "deductible, your edit: 250.00  Decimal128, not taken"
    assert panel.rows.index(0, THEIRS).data(role) == "deductible, in the database: 150.00  Decimal128, taken"
    second = panel.rows.index(2, FIELD).data(role)
    assert second.startswith("holder.phone, Only the database, when you opened it: ")
    assert panel.rows.index(0, FIELD).data(role) == (
        "deductible, The database's, when you opened it: 150.0  Double, your edit: 250.00  Decimal128,"
        " in the database: 150.00  Decimal128"
    )


def test_a_long_result_is_written_as_json_beside_the_window_and_the_last_one_stands(
    qtbot: QtBot, desk: Desk, idle: Callable[[], None]
) -> None:
    assert desk.content is not None
    desk.content = put(desk.content, notes="word " * 20_000)
    mine = put(desk.content, status="lapsed")
    panel = merged(qtbot, desk, met(desk, lambda content: put(content, status="suspended"), mine))
    panel.show_json(True)
    assert panel.json.toPlainText() == ""
    idle()
    assert '"status": "active"' in panel.json.toPlainText()
    panel.choose(0, "mine")
    panel.choose(0, "theirs")
    idle()
    assert '"status": "suspended"' in panel.json.toPlainText()


def test_a_large_merge_is_worked_out_beside_the_window(qtbot: QtBot, desk: Desk, idle: Callable[[], None]) -> None:
    desk.content = put(OPENED, many=[{"_id": i, "n": i, "words": "x" * 20} for i in range(8000)])
    base = desk.version(NS, ID)
    mine = canonical.put(
        canonical.put(desk.content, ("many", 7, "n"), Value.of(-1)), ("deductible",), decimal("250.00")
    )
    desk.move(lambda content: canonical.put(theirs(content), ("many", 7, "n"), Value.of(-2)), 2)
    panel = merged(qtbot, desk, desk.conflict(NS, ID, base, mine))
    idle()
    assert panel.unresolved == 2
    assert result(panel, ("many", 7, "n")).text == "not decided: choose above or type a value"
    panel.choose_all("mine")
    idle()
    assert result(panel, ("many", 7, "n")).text == "-1"


def test_thousands_of_conflicts_are_decided_in_one_step(desk: Desk) -> None:
    desk.content = canonical.document((f"f{i}", Value.of(i)) for i in range(3000))
    base = desk.version(NS, ID)
    mine = put_all(desk.content, -1)
    desk.move(lambda content: put_all(content, -2))
    resolution = Resolution(desk.conflict(NS, ID, base, mine))
    assert resolution.asked == 3000
    assert resolution.choose_all("mine") == 3000
    assert drawn(resolution).content == mine
    assert resolution.undo()
    assert resolution.unresolved == 3000


def put_all(content: bytes, number: int) -> bytes:
    value = Value.of(number)
    pairs = [(name, value if name[0] == "f" and name[1:].isdigit() else old) for name, old in canonical.fields(content)]
    return canonical.document(pairs)


def test_fields_are_counted_by_what_holds_a_value() -> None:
    assert leaves(Value.document(OPENED)) == 28


def test_at_1024_the_result_still_says_where_each_field_comes_from(qtbot: QtBot, desk: Desk) -> None:
    panel = ResolverPanel(desk.as_session(), NS, ID, met(desk))
    shown(qtbot, panel, 976, 560)
    header, at = panel.tree.header(), panel.model.find(("holder", "phone"), ACTION)
    for width in (976, 960):
        panel.resize(width, 560)
        assert header.sectionSize(ACTION) >= header.sectionSizeHint(ACTION)
        assert header.sectionSize(ACTION) >= full_width(at.data(CELL))


def test_in_a_very_narrow_panel_the_sides_have_the_room_and_the_rows_of_buttons_wrap(
    qtbot: QtBot, panel: ResolverPanel
) -> None:
    table = panel.table
    assert panel.rows.headers[THEIRS] == "In the database   v14"
    table.go(0, DECISION)
    panel.resize(theme.px(453), theme.px(600))
    qtbot.waitUntil(lambda: table.isColumnHidden(DECISION))
    assert panel.rows.headers[THEIRS] == "Database v14"
    assert table.currentIndex().column() == THEIRS
    QTest.keyClick(table, Qt.Key.Key_Right)
    assert table.currentIndex().column() == THEIRS
    assert all(table.columnWidth(side) >= theme.px(80) for side in (BASE, MINE, THEIRS))
    for bar, last in ((panel.head.bar, panel.head.save), (panel.bar.bar, panel.bar.down)):
        qtbot.waitUntil(lambda bar=bar, last=last: last.mapTo(bar, QPoint()).y() + last.height() < bar.height())
        assert last.mapTo(bar, QPoint()).x() + last.width() <= bar.width()
    assert panel.head.title.text() == "Merge your edit"
    assert panel.head.undo.text() == ""
    assert panel.head.discard.y() > panel.head.line.geometry().bottom()  # which has the first line to itself
    cells = [at(panel, row, side) for row in range(panel.rows.rowCount() - 1) for side in (BASE, MINE, THEIRS)]
    typed = [cell for cell in cells if len(cell.spans) > 1 and cell.spans[-1].text.strip() in ("Double", "Decimal128")]
    assert typed
    assert all(cell.wrap for cell in typed)  # the type is in a line of its own
    panel.resize(1392, 795)
    qtbot.waitUntil(lambda: not table.isColumnHidden(DECISION))
    assert panel.head.undo.text() == "Undo"


def test_nothing_is_saved_without_an_answer_and_what_is_decided_stays(panel: ResolverPanel) -> None:
    panel.choose_all("mine")
    left = panel.unresolved
    panel.say_answering(False)
    assert panel.save_reason.endswith("does not answer now, so nothing can be written.")
    assert not panel.head.save.isEnabled()
    panel.say_answering(True)
    assert panel.unresolved == left
    assert not panel.save_reason.endswith("written.")
