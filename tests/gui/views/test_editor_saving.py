"""How an edit is kept, its JSON, what saving sends, and how a save ends."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gui import turns
from gui.parts.fields.field_model import TYPE, VALUE
from gui.views.edit.editor_panel import EditorPanel
from model import text
from model.errors import Unreachable
from model.foundation.records import Outcome
from model.values.canonical import Value
from tests.gui.document_scenes import ID, LOST, MINE, NS, OPENED, UNKNOWN, Desk, put, shown, theirs
from tests.gui.field_support import Open, cell, get, node, open_paths, type_into
from tests.gui.refusals import denied, try_again

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


@pytest.mark.deep
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


def test_that_nothing_is_sent_is_said_at_once_and_no_late_preview_follows(
    opened: Open, desk: Desk, qtbot: QtBot
) -> None:
    panel = opened(desk)
    nothing = "Nothing is changed, so nothing is sent."
    qtbot.waitUntil(lambda: not turns.turns.waiting)
    assert not panel._preview.isActive()
    assert panel.side.explanation.text() == nothing
    type_into(panel, ("billing", "interval"), "quarterly")
    assert panel._preview.isActive()  # a person who types on is asked about nothing
    qtbot.waitUntil(lambda: bool(panel.side.code.whole))
    sending = panel.side._sending
    panel.undo()
    qtbot.waitUntil(lambda: not turns.turns.waiting)
    assert not panel._preview.isActive()
    assert panel.side.explanation.text() == nothing
    assert sending is not None
    panel._previewed(sending)  # asked before that
    assert panel.side.explanation.text() == nothing


@pytest.mark.deep
def test_what_saving_sends_moves_no_button_as_it_comes_a_moment_after_an_edit(
    opened: Open, desk: Desk, qtbot: QtBot
) -> None:
    panel = opened(desk)
    panel.resize(1400, 900)
    type_into(panel, ("billing", "interval"), "quarterly")
    qtbot.waitUntil(lambda: bool(panel.side.code.whole))
    sending = panel.side._sending
    assert sending is not None
    places, heights = set(), set()
    for lines in (2, 25, 6):
        code = "\n".join(["contracts.update_one("] * lines)
        panel.side.show_sending(replace(sending, pymongo=code, short_pymongo=code))
        for _ in range(5):
            QApplication.processEvents()
        places.add(panel.side.copy.mapTo(panel, QPoint()).y())
        heights.add(panel.side.code.height())
    assert len(places) == 1
    assert len(heights) == 3


@pytest.mark.deep
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
    qtbot.waitUntil(lambda: _locked(panel)["v"] == "13")


def _locked(panel: EditorPanel) -> dict[str, str]:
    """What the rows of the fields show that the layout keeps for itself."""
    rows = [row for row in panel.model.root.children or () if row.kind == "locked"]
    return {row.name: "".join(span.text for span in cell(panel, (row.name,), VALUE).spans) for row in rows}


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
    assert [text.path_text(path) for path in open_paths(conflict)] == ["billing.interval"]
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
    panel._load_failed(Unreachable("desk did not answer within 5 s; check that it is up."))
    assert panel.notices.lines["reload"].text.startswith("The document could not be read again: desk did not")


def test_an_unknown_outcome_holds_saving_until_it_is_settled(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed")
    desk.answers = [UNKNOWN]
    panel.save()
    qtbot.waitUntil(lambda: "doubt" in panel.notices.lines)
    line = panel.notices.lines["doubt"]
    assert line.text == f"It is not known whether v13 was saved. {LOST}"
    assert line.kind == "unknown"
    assert [made.text() for made in line.buttons] == ["Check again", "Copy the write token"]
    assert "waits until the outcome" in panel.save_reason
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


def test_a_conflict_is_about_the_edit_on_screen_and_says_that_it_changed_while_it_was_sent(
    opened: Open, desk: Desk, qtbot: QtBot
) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed")
    desk.answers = [UNKNOWN]
    panel.save()
    qtbot.waitUntil(lambda: "doubt" in panel.notices.lines)
    type_into(panel, ("status",), "lapsed, as agreed")
    type_into(panel, ("notes",), "called", end=False)
    desk.move(theirs)
    desk.settles = [Outcome("conflict", NS, ID, "Somebody was faster.")]
    with qtbot.waitSignal(panel.conflict_found) as found:
        panel.notices.lines["doubt"].buttons[0].click()
    assert found.args is not None
    conflict = found.args[0]
    assert conflict.mine == panel.content == put(OPENED, status="lapsed, as agreed", notes="called")
    assert conflict.typed_on
    with qtbot.waitSignal(panel.saved):
        panel.act_on(conflict, "overwrite")
    assert desk.content == panel.content == conflict.mine
    type_into(panel, ("status",), "again")
    desk.move(theirs)
    with qtbot.waitSignal(panel.conflict_found) as found:
        panel.save()
    assert found.args is not None
    assert not found.args[0].typed_on


def test_during_a_save_the_foot_says_so_and_not_that_the_edit_is_unsaved(
    opened: Open, desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed")
    assert panel.foot.said.text() == "Unsaved: 1 field, from v12"
    answering, save = Event(), desk.save

    def slow(*asked: Any) -> Outcome:
        assert answering.wait(60)
        return save(*asked)

    monkeypatch.setattr(desk, "save", slow)
    with qtbot.waitSignal(panel.saved):
        panel.save()
        assert panel.foot.said.text() == "Saving: 1 field, from v12…"
        type_into(panel, ("notes",), "called")
        assert panel.foot.said.text() == "Saving… What you typed since is unsaved"
        answering.set()
    assert panel.foot.said.text() == "Unsaved: 1 field, from v13"


def test_an_edit_that_was_taken_back_while_it_was_sent_asks_nothing(opened: Open, desk: Desk, qtbot: QtBot) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed")
    desk.answers = [UNKNOWN]
    panel.save()
    qtbot.waitUntil(lambda: "doubt" in panel.notices.lines)
    panel.revert_all()
    desk.move(theirs)
    desk.settles = [Outcome("conflict", NS, ID, "Somebody was faster.")]
    panel.conflict_found.connect(lambda _: pytest.fail("nothing is left to be saved"))
    panel.notices.lines["doubt"].buttons[0].click()
    qtbot.waitUntil(lambda: panel.content == desk.content)


def test_what_is_typed_while_a_copy_is_saved_stays_an_edit_of_this_document(
    opened: Open, desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = opened(desk)
    type_into(panel, ("status",), "lapsed")
    desk.move(theirs)
    with qtbot.waitSignal(panel.conflict_found) as found:
        panel.save()
    assert found.args is not None
    with qtbot.waitSignal(panel.saved):
        panel.act_on(found.args[0], "save_new")
        type_into(panel, ("notes",), "called")
    assert get(desk.created[0][0], "notes").python() != "called"
    assert get(panel.content, "notes").python() == "called"
    assert panel.is_dirty


@pytest.mark.deep
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


@pytest.mark.deep
def test_a_missing_index_that_forbids_writing_is_said_once(opened: Open, desk: Desk) -> None:
    desk.writable, desk.reason = False, "shop.things has no unique index on docId and v."
    desk.missing = desk.reason
    panel = opened(desk)
    assert "index" in panel.notices.lines
    assert "writable" not in panel.notices.lines


def test_a_read_only_connection_shows_and_refuses_with_the_reason(opened: Open, desk: Desk) -> None:
    desk.read_only = True
    panel = opened(desk)
    assert not panel.tree.edit_cell(panel.model.find(("status",)))
    assert not panel.head.add.isEnabled()
    assert panel.foot.save.toolTip() == "This connection is read-only"
    assert not cell(panel, ("status",), TYPE).caret  # there is no type to choose


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


def met(panel: EditorPanel, qtbot: QtBot) -> Any:
    """What saving meets."""
    with qtbot.waitSignal(panel.conflict_found) as found:
        panel.save()
    assert found.args is not None
    return found.args[0]


def test_taking_the_databases_keeps_my_edit_within_undo(
    lost: Callable[[], EditorPanel], desk: Desk, qtbot: QtBot
) -> None:
    panel = lost()
    conflict = met(panel, qtbot)
    with qtbot.waitSignal(panel.loaded):
        panel.act_on(conflict, "take")
    assert panel.content == desk.content
    assert not panel.is_dirty
    panel.undo()
    assert panel.content == MINE
    assert panel.head.base.said == "from v14"


def test_overwriting_swaps_against_the_newest_version_and_not_against_a_newer_one(
    lost: Callable[[], EditorPanel], desk: Desk, qtbot: QtBot
) -> None:
    panel = lost()
    conflict = met(panel, qtbot)
    desk.move(lambda content: put(content, status="lapsed"))
    with qtbot.waitSignal(panel.conflict_found) as again:
        panel.act_on(conflict, "overwrite")
    assert again.args is not None
    with qtbot.waitSignal(panel.saved):
        panel.act_on(again.args[0], "overwrite")
    assert desk.content == MINE
    assert desk.v == 16


def test_saving_as_a_new_document_leaves_this_one_as_the_database_has_it(
    lost: Callable[[], EditorPanel], desk: Desk, qtbot: QtBot
) -> None:
    panel = lost()
    conflict = met(panel, qtbot)
    with qtbot.waitSignal(panel.saved):
        panel.act_on(conflict, "save_new")
    assert desk.created == [(MINE, None)]
    assert panel.content == desk.content
    assert not panel.is_dirty


def test_a_deleted_document_is_created_again_from_the_edit(
    lost: Callable[[], EditorPanel], desk: Desk, qtbot: QtBot
) -> None:
    panel = lost()
    desk.content = None
    conflict = met(panel, qtbot)
    assert conflict.kind == "deleted"
    with qtbot.waitSignal(panel.saved):
        panel.act_on(conflict, "create_again")
    assert desk.content == MINE
    assert not panel.is_dirty


def test_nothing_is_saved_without_an_answer_and_typing_goes_on(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    panel.say_answering(False)
    type_into(panel, ("status",), "lapsed")
    assert panel.is_dirty
    assert panel.save_reason.endswith("does not answer now, so nothing can be written.")
    assert not panel.foot.save.isEnabled()
    panel.say_answering(True)
    assert panel.save_reason == ""


def test_no_field_is_added_to_a_document_that_is_not_there(
    qtbot: QtBot, desk: Desk, idle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(desk, "open", denied)
        panel = EditorPanel(desk.as_session(), NS, ID)
        shown(qtbot, panel)
        assert not panel.head.add.isEnabled()
        idle()
        assert not panel.head.add.isEnabled()
    try_again(panel.states)
    idle()
    assert panel.head.add.isEnabled()
    monkeypatch.setattr(desk, "open", denied)
    panel.reload()
    idle()
    assert not panel.head.add.isEnabled()
