"""The journal and the drafts in a real window over the sample."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from gui.messages import area
from gui.parts.differences import diff_grouping
from gui.style import boxes, theme
from gui.style.cells import CELL, Cell
from gui.views.tools import drafts_panel, journal_panel
from gui.views.tools.drafts_panel import DraftsPanel
from gui.views.tools.journal_panel import JournalPanel
from model.foundation.records import Draft
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from tests.gui.refusals import denied, going_on, press, try_again

NS = "insurance.contracts"
ID = Value.of("K-204118")


@pytest.fixture
def session() -> Iterator[Session]:
    with Session.open("sample:") as made:
        yield made


@pytest.fixture
def panel(session: Session, qtbot: QtBot, idle: Callable[[], None]) -> JournalPanel:
    assert session.edit(NS, "K-204118", set={"status": "suspended"}).kind == "applied"
    made = JournalPanel(session)
    qtbot.addWidget(made)
    made.resize(1100, 700)
    made.show()
    idle()
    return made


def words(panel: JournalPanel, column: int) -> str:
    cell = panel.model.index(0, column).data(CELL)
    assert isinstance(cell, Cell)
    return " ".join([cell.text, *(badge.text for badge in cell.badges)]).strip()


def test_an_edit_stands_in_the_journal_with_what_it_changed(panel: JournalPanel) -> None:
    assert [words(panel, at) for at in (2, 3, 4, 5, 6)] == ["Edit", "K-204118", NS, "v1 → v2", "Applied"]
    assert panel.changes.plan is not None
    assert [op.path for op in panel.changes.plan.changes] == [("status",), ("changedBy",)]


def test_an_older_entry_stays_chosen_and_open_while_others_are_written(
    session: Session, qtbot: QtBot, idle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_panel, "PAGE", 3)
    for number in range(12):
        assert session.edit(NS, "K-204118", set={"premium.gross": 100 + number, "notes": f"{number}"}).kind == "applied"
    panel = JournalPanel(session)
    qtbot.addWidget(panel)
    panel.resize(1100, 420)
    panel.show()
    idle()
    while panel.model.more:
        panel.list.scrollToBottom()
        idle()
    assert len(panel.model.rows) == 12
    panel.list.setCurrentIndex(panel.model.index(11, 0))
    idle()
    chosen, place = panel.entry, panel.list.verticalScrollBar().value()
    assert chosen is not None
    assert place > 0
    compared: list[object] = []
    monkeypatch.setattr(panel, "_compared", compared.append)
    assert session.edit(NS, "K-204118", set={"notes": "again"}).kind == "applied"
    panel.refresh()
    idle()
    assert len(panel.model.rows) == 13
    assert not panel.model.more
    assert panel.entry == chosen
    assert panel.list.verticalScrollBar().value() == place
    assert not compared  # what it changed is on show as it was
    assert session.way_back.undo(panel.model.rows[0].id).kind == "applied"
    panel.list.setCurrentIndex(panel.model.index(0, 0))
    idle()
    compared.clear()
    panel.refresh()
    idle()
    assert words(panel, 6).startswith("Applied")
    assert panel.model.rows[1].undone_by
    assert panel.entry == panel.model.rows[1]
    assert compared  # it was undone meanwhile


@pytest.mark.deep
def test_what_one_write_changed_is_not_shown_under_the_name_of_the_next(
    panel: JournalPanel, idle: Callable[[], None]
) -> None:
    entry = panel.model.rows[0]
    panel.model.add(
        [replace(entry, id="another", had_before=False, has_after=False, detail="Kept no content.")], more=False
    )
    panel.list.setCurrentIndex(panel.model.index(1, 0))
    idle()
    panel.list.setCurrentIndex(panel.model.index(0, 0))
    panel.list.setCurrentIndex(panel.model.index(1, 0))  # before the first is compared
    idle()
    assert panel._inner.kind == "empty"
    assert panel._inner.state._title.text() == "This write kept no content"


def test_at_1024_the_last_columns_are_still_there(panel: JournalPanel, qtbot: QtBot) -> None:
    panel.resize(976, 560)
    for view in (panel.list, panel.tree):
        header, last = view.header(), view.header().count() - 1
        qtbot.waitUntil(lambda h=header, n=last, v=view: h.sectionPosition(n) + 100 < v.viewport().width())
    (badge,) = panel.model.cell(panel.model.index(0, 6)).badges
    assert badge.text == "Applied"


def test_in_a_narrow_window_buttons_leave_room_for_what_became_of_a_write(panel: JournalPanel, qtbot: QtBot) -> None:
    panel.resize(420, 640)
    qtbot.waitUntil(lambda: panel.copy.y() > panel._what.geometry().bottom())
    assert panel._detail_text.width() >= theme.px(boxes.BESIDE_BUTTONS)


def test_undo_is_a_new_version_with_the_old_content(
    panel: JournalPanel, session: Session, idle: Callable[[], None]
) -> None:
    panel.undo.click()
    idle()
    now = session.history.version(NS, ID)
    assert now.v == Value.of(3)
    first = session.history.version(NS, ID, Value.of(1))
    assert now.content is not None
    assert first.content is not None
    assert canonical.without(now.content, {"changedBy"}) == canonical.without(first.content, {"changedBy"})
    assert panel.model.rows[0].action == "undo"
    assert panel.model.rows[1].undone_by == panel.model.rows[0].id
    panel.list.setCurrentIndex(panel.model.index(1, 0))
    assert not panel.undo.isEnabled()
    assert "undone already" in panel.undo.toolTip()


@pytest.mark.deep
def test_undoing_what_others_changed_since_is_offered_as_a_merge(
    panel: JournalPanel, session: Session, qtbot: QtBot, idle: Callable[[], None]
) -> None:
    assert session.colleague.change(NS, ID).kind == "applied"
    before = session.history.version(NS, ID).raw
    panel.undo.click()
    idle()
    assert session.history.version(NS, ID).raw == before
    undone = panel.entry
    (line,) = area(panel).lines
    assert session.edit(NS, "K-118240", set={"status": "suspended"}).kind == "applied"
    panel.refresh()
    idle()
    panel.list.setCurrentIndex(panel.model.index(0, 0))  # what is looked at meanwhile is not what is merged
    assert panel.entry is not None
    assert panel.entry.document == '"K-118240"'
    with qtbot.waitSignal(panel.conflict_found) as found:
        line.buttons[0].click()
    assert found.args is not None
    assert found.args[0] == undone
    assert found.args[1].theirs.raw == before


@pytest.mark.deep
def test_each_token_of_a_document_is_kept_with_the_counter_that_it_met(
    session: Session, qtbot: QtBot, idle: Callable[[], None]
) -> None:
    stale = [token for token in session.tokens.pending("insurance.stats") if token.stale and token.counter is None]
    assert [end.kind for end in session.tokens.finish(stale)] == ["applied", "applied"]
    made = JournalPanel(session)
    qtbot.addWidget(made)
    idle()
    counted = [entry.contents()[1] for entry in made.model.rows]
    assert [canonical.get(raw or b"", ("count",)) for raw in counted] == [Value.of(2), Value.of(1)]
    pending = next(row for row in range(made.changes.rowCount()) if made.changes.index(row, 1).data() == "pending")
    assert made.tree.isExpanded(made.changes.index(pending, 0))


def test_a_session_that_wrote_nothing_says_so(session: Session, qtbot: QtBot, idle: Callable[[], None]) -> None:
    made = JournalPanel(session)
    qtbot.addWidget(made)
    idle()
    assert made.states.state.title == "Nothing was written to the sample from here"


def test_drafts_are_listed_opened_and_discarded(session: Session, qtbot: QtBot, idle: Callable[[], None]) -> None:
    base = session.history.version(NS, ID)
    assert base.content is not None
    content = canonical.put(base.content, ("status",), Value.of("suspended"))
    session.drafts.keep(Draft(session.source, NS, ID, base.v, base.content, content, dt.datetime.now(dt.UTC)))
    made = DraftsPanel(session)
    qtbot.addWidget(made)
    idle()
    assert [(row[0].id, row[1]) for row in made.model.rows] == [(ID, 1)]
    with qtbot.waitSignal(made.open_asked) as asked:
        made.open.click()
    assert asked.args is not None
    assert asked.args[0].content == content
    made.reading.show_failed(OSError("no"))
    assert not made.open.isEnabled()
    assert not made.discard.isEnabled()
    made.refresh()
    idle()
    assert made.open.isEnabled()
    assert made.discard.isEnabled()
    made._discard()
    idle()
    assert session.drafts.all() == []
    assert made.states.state.title == "There are no drafts"


def test_writes_to_an_earlier_sample_are_told_from_those_to_this_one(
    panel: JournalPanel, session: Session, qtbot: QtBot, idle: Callable[[], None]
) -> None:
    with Session.open("sample:") as another:
        assert another.edit(NS, "K-204118", set={"status": "lapsed"}).kind == "applied"
    panel.refresh()
    idle()
    assert words(panel, 6) == "Earlier data, gone"
    cell = panel.model.index(1, 6).data(CELL)
    assert [badge.text for badge in cell.badges] == ["Applied"]
    assert panel.model.index(0, 3).data(CELL).spans[0].token == "text3"
    assert not panel.undo.isEnabled() or panel.entry != panel.model.rows[0]


def test_nothing_is_undone_without_an_answer(panel: JournalPanel) -> None:
    assert panel.undo.isEnabled()
    panel.say_answering(False)
    assert not panel.undo.isEnabled()
    assert not panel.check.isEnabled()
    assert panel.undo.toolTip() == "The sample does not answer now, so nothing can be written."
    panel.say_answering(True)
    assert panel.undo.isEnabled()


def test_lists_that_could_not_be_read_are_named(
    session: Session, qtbot: QtBot, idle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session.journal, "entries", denied)
    monkeypatch.setattr(session.drafts, "all", denied)
    shown = [JournalPanel(session), DraftsPanel(session)]
    for each in shown:
        qtbot.addWidget(each)
    idle()
    titles = [each.states.state.title for each in shown]
    assert titles == ["The journal could not be read", "The drafts could not be read"]


def test_a_comparison_that_failed_can_be_tried_again(
    panel: JournalPanel, idle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(diff_grouping, "plan", denied)
        for row in (-1, 0):  # chosen anew
            panel.list.setCurrentIndex(panel.model.index(row, 0))
        idle()
    try_again(panel._inner)
    idle()
    assert panel._inner.kind == "content"


def test_a_comparison_that_takes_long_can_be_stopped(
    panel: JournalPanel, qtbot: QtBot, idle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    panel._inner.show_empty("")  # what is on show would stay while another is read
    with monkeypatch.context() as patched:
        patched.setattr(diff_grouping, "plan", going_on)
        for row in (-1, 0):  # chosen anew
            panel.list.setCurrentIndex(panel.model.index(row, 0))
        qtbot.waitUntil(lambda: panel._inner.kind == "loading")
        press(panel._inner, "Stop")
        idle()
    assert panel._inner.state.title == "The comparison was stopped"
    press(panel._inner, "Compare again")
    idle()
    assert panel._inner.kind == "content"


def test_reading_many_drafts_can_be_stopped(
    session: Session, qtbot: QtBot, idle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = session.history.version(NS, ID).content
    assert content is not None
    for id in ("K-204118", "K-204119"):
        session.drafts.keep(Draft(session.source, NS, Value.of(id), None, content, content, dt.datetime.now(dt.UTC)))
    held = threading.Event()
    with monkeypatch.context() as patched:
        patched.setattr(drafts_panel, "changed_fields", lambda *_: int(held.wait()))
        made = DraftsPanel(session)
        qtbot.addWidget(made)
        qtbot.waitUntil(lambda: made.states.kind == "loading")
        press(made.states, "Stop")
        held.set()
        idle()
    assert made.states.state.title == "Reading was stopped"
    press(made.states, "Read again")
    idle()
    assert len(made.model.rows) == 2
