"""The clean-up of pending tokens in a real window over the sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from gui import tasks
from gui.messages import Question, area
from gui.pages.tool_pages import PendingPage
from gui.style import icons, theme
from gui.tasks import Progress
from gui.views.tools.pending_panel import PendingPanel
from gui.views.tools.token_question import TokenQuestion, to_type
from gui.window.opening import Opened, Opening
from model.errors import Cancelled, Unreachable
from model.foundation.records import Checkpoint, Kind, Outcome, PendingToken
from model.session import Session
from model.session.left_tokens import LeftTokens
from model.session.way_back import WayBack
from model.values import canonical
from model.values.canonical import Value
from tests.gui.refusals import denied, going_on, silent, try_again
from tests.gui.window.windows import new_window, wait_idle

NS = "insurance.stats"


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session.open("sample:")
    close = made.close
    yield made
    close()  # where a test has given it to a window too, that does not close it


@pytest.fixture
def panel(session: Session, qtbot: QtBot, idle: Callable[[], None]) -> PendingPanel:
    made = PendingPanel(session, NS)
    qtbot.addWidget(made)
    made.resize(1100, 760)
    made.show()
    idle()
    return made


def question(panel: PendingPanel) -> Question:
    return next(asked for asked in panel.window().findChildren(Question) if asked.isVisible())


def count(session: Session, id: str) -> object:
    raw = session.history.version(NS, Value.of(id)).raw
    assert raw is not None
    counter = canonical.get(raw, ("count",))
    return None if counter is None else counter.python()


@pytest.mark.deep
def test_old_tokens_are_ticked_and_young_ones_are_not(panel: PendingPanel) -> None:
    rows = panel.model.rows
    assert sum(row.stale for row in rows) == 5
    young = [row for row in rows if not row.stale]
    assert len(young) == 1
    assert not panel.model.is_ticked(young[0])
    assert panel.go.text() == "Finish 5 tokens"
    assert "5 would be finished" in panel.report.text()
    assert "1 left out, too young" in panel.report.text()


def test_the_write_is_shown_before_anything_is_sent(panel: PendingPanel, session: Session) -> None:
    assert "$pull" in panel.preview.code.toPlainText()
    assert '"$ne"' in panel.preview.code.toPlainText()
    assert not session.journal.entries()


def test_finishing_asks_then_reports_each_and_undo_brings_the_tokens_back(
    panel: PendingPanel, session: Session, qtbot: QtBot, idle: Callable[[], None]
) -> None:
    chosen = panel.model.ticked()
    before = {row.id: count(session, row.id.python()) for row in chosen}
    panel.go.click()
    question(panel).verb.click()
    idle()
    assert [end.kind for end in panel.model.ends.values()] == ["applied"] * 5
    assert "5 finished" in panel.report.text()
    for id in before:
        tokens = sum(row.amount for row in chosen if row.id == id)
        assert count(session, id.python()) == (before[id] or 0) + tokens
    assert [token.stale for token in session.tokens.pending(NS)] == [False]
    assert not panel.go.isEnabled()
    entries = [end.entry for end in panel.model.ends.values() if end.entry is not None]
    assert len(entries) == 5
    panel._undo(entries)
    idle()
    assert {row.token for row in session.tokens.pending(NS) if row.stale} == {row.token for row in chosen}
    assert {id: count(session, id.python()) or 0 for id in before} == {id: n or 0 for id, n in before.items()}


def test_space_unticks_and_the_button_counts(panel: PendingPanel, qtbot: QtBot) -> None:
    panel.list.setFocus()
    at = next(i for i, row in enumerate(panel.model.rows) if panel.model.is_ticked(row))
    panel.list.setCurrentIndex(panel.model.index(at, 0))
    qtbot.keyClick(panel.list, Qt.Key.Key_Space)
    assert panel.go.text() == "Finish 4 tokens"
    qtbot.keyClick(panel.list, Qt.Key.Key_Space)
    assert panel.go.text() == "Finish 5 tokens"


def test_a_read_only_session_says_why_nothing_can_be_finished(
    session: Session, qtbot: QtBot, idle: Callable[[], None]
) -> None:
    session.trust.read_only = True
    made = PendingPanel(session, NS)
    qtbot.addWidget(made)
    idle()
    assert not made.go.isEnabled()
    assert "read-only" in made.go.toolTip()


def test_a_collection_without_tokens_says_so(session: Session, qtbot: QtBot, idle: Callable[[], None]) -> None:
    assert [end.kind for end in session.tokens.finish([t for t in session.tokens.pending(NS) if t.stale])] == [
        "applied"
    ] * 5
    made = PendingPanel(session, NS)
    qtbot.addWidget(made)
    made.ages.setCurrentIndex(2)
    idle()
    assert made.states.state.title == "No token is that old"


def young_row(panel: PendingPanel) -> PendingToken:
    return next(row for row in panel.model.rows if not row.stale)


def ask(panel: PendingPanel, which: str) -> Question:
    (panel.go if which == "finish" else panel.drop).click()
    return question(panel)


@pytest.mark.parametrize("which", ["finish", "drop"])
def test_a_young_token_is_touched_only_once_its_collection_has_been_typed(
    panel: PendingPanel, session: Session, qtbot: QtBot, idle: Callable[[], None], which: str
) -> None:
    young = young_row(panel)
    panel.model.tick(panel.model.rows, False)
    panel.model.tick([young], True)
    asked = ask(panel, which)
    assert "inside the grace period" in asked.text
    assert asked.field is not None
    assert not asked.verb.isEnabled()
    asked.field.setText("insurance.stat")
    assert not asked.verb.isEnabled()
    asked.field.setText(NS)
    asked.verb.click()
    idle()
    assert [end.kind for end in panel.model.ends.values()] == ["applied"]
    assert young.token not in [token.token for token in session.tokens.pending(NS)]


@pytest.mark.deep
def test_cancelling_the_question_writes_nothing(
    panel: PendingPanel, session: Session, idle: Callable[[], None]
) -> None:
    panel.model.tick([young_row(panel)], True)
    ask(panel, "finish").cancel.click()
    idle()
    assert not session.journal.entries()


@pytest.mark.deep
def test_dropping_leaves_the_total_and_undo_brings_the_tokens_back(
    panel: PendingPanel, session: Session, idle: Callable[[], None]
) -> None:
    chosen = panel.model.ticked()
    before = {row.id: count(session, str(row.id.python())) for row in chosen}
    asked = ask(panel, "drop")
    assert "5 in all" in asked.text
    assert asked.verb.text() == "Drop 5 tokens"
    assert asked.field is None
    asked.verb.click()
    idle()
    assert "5 dropped" in panel.report.text()
    assert {panel.model.verdict(row)[2] for row in chosen} == {"Dropped"}
    assert {id: count(session, str(id.python())) for id in before} == before
    assert [token.stale for token in session.tokens.pending(NS)] == [False]
    panel._undo([end.entry for end in panel.model.ends.values() if end.entry is not None])
    idle()
    assert {token.token for token in session.tokens.pending(NS) if token.stale} == {row.token for row in chosen}


@pytest.mark.deep
def test_a_production_connection_asks_for_the_name_also_for_old_tokens(panel: PendingPanel) -> None:
    panel.set_production(True)
    asked = ask(panel, "finish")
    assert asked.field is not None
    asked.field.setText(NS)
    assert asked.verb.isEnabled()


def test_of_several_collections_the_number_is_typed() -> None:
    from msgspec.structs import replace

    with Session.open("sample:") as session:
        token = next(iter(session.tokens.pending(NS)))
    other = replace(token, ns="insurance.other")
    assert to_type([token, other], production=True) == "2"
    assert to_type([token] * 300, production=False) is None, "one document is not many"
    many = [replace(token, id=Value.of(n)) for n in range(100)]
    assert to_type(many, production=False) == NS


def test_the_preview_says_what_finishing_and_dropping_each_do(
    panel: PendingPanel, session: Session, idle: Callable[[], None]
) -> None:
    at = next(i for i, row in enumerate(panel.model.rows) if row.stale and row.counter is not None)
    panel.list.setCurrentIndex(panel.model.index(at, 0))
    idle()
    row = panel.model.rows[at]
    assert row.counter is not None
    now = str(row.counter.python())
    after = str(row.counter.python() + 1)
    fields = {name: rest for name, *rest in panel.preview.model.rows}
    assert fields["count"] == [now, after, now]
    assert fields["pending"][1:] == ["", ""]
    assert fields["applied"] == ["", fields["pending"][0], ""]
    assert "$inc" in panel.preview.code.toPlainText()
    panel.preview.dropping.click()
    idle()
    assert "$inc" not in panel.preview.code.toPlainText()
    assert "will not be counted" in panel.preview.code.toPlainText()


@pytest.mark.deep
def test_the_preview_of_a_token_does_not_come_back_once_none_is_chosen(
    panel: PendingPanel, idle: Callable[[], None]
) -> None:
    panel.preview.show_token(panel.model.rows[0])
    panel.preview.show_token(None)  # before the first is worked out
    idle()
    assert not panel.preview.model.rows
    assert panel.preview.code.toPlainText() == ""
    assert not panel.preview._copy.isEnabled()


def test_filters_narrow_the_list_and_what_is_finished(panel: PendingPanel) -> None:
    panel.search.setText("calls")
    assert {str(row.id.python()).split()[1] for row in panel.model.rows} == {"calls"}
    assert panel.go.text() == "Finish 3 tokens"
    panel.search.setText("nothing like it")
    assert panel.states.state.title == "No token matches these filters"
    assert panel.states.state.help.startswith("6 tokens are pending, and none of them passes the filters above.")
    assert panel.search.isVisible()
    panel._show_all()
    panel.kinds.setCurrentIndex(2)
    assert [row.stale for row in panel.model.rows] == [False]
    panel.kinds.setCurrentIndex(0)
    assert len(panel.model.rows) == 6


@pytest.mark.deep
def test_all_older_than_an_age_are_looked_at_and_then_finished(
    panel: PendingPanel, session: Session, idle: Callable[[], None]
) -> None:
    panel.older.click()
    sheet = next(each for each in panel.window().findChildren(TokenQuestion) if each.isVisible())
    sheet.age.setText("soon")
    assert not sheet.go.isEnabled()
    sheet.age.setText("7 days")
    assert sheet.go.text() == "Look at 5 tokens"
    sheet.go.click()
    assert question(panel).verb.text() == "Finish 5 tokens"
    question(panel).verb.click()
    idle()
    assert [token.stale for token in session.tokens.pending(NS)] == [False]


@pytest.mark.deep
def test_an_age_that_reaches_into_the_grace_period_has_to_be_typed_for(panel: PendingPanel) -> None:
    panel.older.click()
    sheet = next(each for each in panel.window().findChildren(TokenQuestion) if each.isVisible())
    sheet.age.setText("1m")
    assert "inside the grace period" in sheet.said.text()
    sheet.go.click()
    assert question(panel).field is not None


def test_stopping_leaves_the_rest_and_says_how_far_it_came(
    panel: PendingPanel, session: Session, idle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = LeftTokens.finish

    def one_then_stop(self: Session, tokens: object, checkpoint: Checkpoint, confirmed: bool = False) -> object:
        for at, outcome in enumerate(real(self, tokens, checkpoint, confirmed)):  # type: ignore[arg-type]
            yield outcome
            if at == 1:
                raise Cancelled

    monkeypatch.setattr(LeftTokens, "finish", one_then_stop)
    ask(panel, "finish").verb.click()
    idle()
    assert "2 finished" in panel.report.text()
    assert panel.go.text() == "Finish 3 tokens"


def test_while_tokens_are_finished_nothing_is_read_and_stop_stops_the_finishing(
    panel: PendingPanel, qtbot: QtBot, idle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def one_then_on(_: Session, tokens: Sequence[PendingToken], progress: Progress, *__: object) -> Iterator[Outcome]:
        yield Outcome("applied", NS, tokens[0].id, "It is finished.")
        progress.stop.wait()
        raise Cancelled

    monkeypatch.setattr(LeftTokens, "finish", one_then_on)
    asked = ask(panel, "finish")
    panel.refresh()  # its answer comes after the first token is written
    asked.verb.click()
    qtbot.waitUntil(lambda: len(panel.model.ends) == 1)
    panel.refresh()
    assert not panel._again.isEnabled()
    assert not panel.go.isEnabled()
    qtbot.waitUntil(lambda: [task.key for task in tasks.tasks.running] == ["write"])
    assert panel.busy
    assert panel.states.kind == "content"
    assert len(panel.model.ends) == 1
    assert panel.cancel.text() == "Stop"
    panel.cancel.click()
    idle()
    assert not panel.busy
    assert "1 finished" in panel.report.text()
    assert panel._again.isEnabled()


@pytest.mark.deep
def test_once_a_silent_server_answers_again_the_report_stays(
    session: Session, qtbot: QtBot, idle: Callable[[], None]
) -> None:
    page = PendingPage(session, NS)
    qtbot.addWidget(page)
    page.show()
    idle()
    panel, reports = page.panel, []
    panel._one_ended((panel.tokens[0], Outcome("unknown", NS, panel.tokens[0].id, ""), "finish"))
    for _ in range(2):
        page.after_silence()
        idle()
        reports.append(panel.report.text())
        panel.model.ends = {}
    assert [said.partition(":")[0] for said in reports] == ["Report", "Dry run"]


@pytest.mark.deep
def test_a_write_of_somebody_else_leaves_how_the_tokens_ended_and_one_that_is_undone_is_pending_again(
    panel: PendingPanel, session: Session, idle: Callable[[], None]
) -> None:
    keys = [panel.model.key(row) for row in panel.model.rows]
    panel.go.click()
    question(panel).verb.click()
    idle()
    panel.follow()
    idle()
    assert "5 finished" in panel.report.text()
    assert [panel.model.key(row) for row in panel.model.rows] == keys
    entries = [end.entry for end in panel.model.ends.values() if end.entry is not None]
    session.way_back.undo(entries[0])
    panel.follow()
    idle()
    assert "4 finished" in panel.report.text()
    assert [panel.model.key(row) for row in panel.model.rows] == keys
    assert len(panel.model.ticked()) == 1
    panel.refresh()
    idle()
    assert len(panel.model.rows) == len(keys) - 4
    assert panel.report.text().startswith("Dry run")


@pytest.mark.deep
@pytest.mark.parametrize("last", ["unknown", "applied"])
def test_a_server_that_falls_silent_is_told_once_with_the_write_in_doubt_or_by_itself(
    panel: PendingPanel, idle: Callable[[], None], monkeypatch: pytest.MonkeyPatch, last: Kind
) -> None:
    def one_then_silence(_: Session, tokens: Sequence[PendingToken], *__: object) -> Iterator[Outcome]:
        yield Outcome(last, NS, tokens[0].id, "So it ended.")
        raise Unreachable("db:27017 does not answer.")

    monkeypatch.setattr(LeftTokens, "finish", one_then_silence)
    ask(panel, "finish").verb.click()
    idle()
    (line,) = [each.text for each in area(panel).lines if "does not answer" in each.text]
    assert line.startswith("It is not known whether 1 token was finished.") == (last == "unknown")


@pytest.mark.deep
def test_an_undo_that_breaks_off_says_so_and_not_that_tokens_were_finished(
    panel: PendingPanel, idle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    panel.model.ends = {panel.model.key(token): Outcome("applied", NS, token.id, "") for token in panel.model.ticked()}
    monkeypatch.setattr(WayBack, "undo", silent)
    panel._undo(["one"])
    idle()
    (line,) = [each.text for each in area(panel).lines]
    assert "did not answer" in line


@pytest.mark.deep
def test_the_window_hands_on_that_a_connection_is_production(session: Session, qtbot: QtBot) -> None:
    window = new_window(qtbot)
    session.close = lambda: None  # type: ignore[method-assign]
    window.connecting.opener.opened.emit(Opened(session, Opening(session.source, session.name, production=True)))
    wait_idle(qtbot, lambda: window.workspace.tab_area.page is not None)
    window.workspace.sidebar.entry_asked.emit("pending")
    wait_idle(qtbot)
    page = window.workspace.tab_area.page
    assert isinstance(page, PendingPage)
    page.panel.go.click()
    assert question(page.panel).field is not None


def test_tokens_of_one_counter_are_counted_one_behind_the_other(panel: PendingPanel) -> None:
    model = panel.model
    ours = [row for row in model.rows if row.id == Value.of("2025-10-31 calls")]
    said = [f"Would make count {n} → {n + 1}" for n in (302, 303, 304)]
    assert [model.verdict(row)[2] for row in ours] == [*said, "Inside the grace period: left out"]
    model.tick([ours[0]], False)
    assert [model.verdict(row)[2] for row in ours[1:3]] == said[:2]


def test_the_tick_of_the_list_is_full_only_where_every_token_is_ticked(panel: PendingPanel) -> None:
    def drawn() -> QImage:
        return panel._all.icon().pixmap(20, 16).toImage()

    some = drawn()
    assert panel._all.text() == "5 of 6 tokens ticked"
    panel.model.tick(panel.model.rows, True)
    assert drawn() != some
    whole = icons.tick(1, 1).pixmap(20, 16).toImage()
    assert drawn() == whole
    first = panel.model.rows[0]
    panel.model.ends[panel.model.key(first)] = Outcome("unknown", NS, first.id, "The connection was lost.")
    panel.say_writable()
    assert panel._all.text() == "5 of 6 tokens ticked"
    assert drawn() == some


@pytest.mark.deep
def test_the_tick_of_the_list_stands_below_those_of_its_rows(panel: PendingPanel) -> None:
    def left_edge(widget: QWidget, top: int) -> int:
        drawn = panel.grab().toImage()
        y = widget.mapTo(panel, QPoint(0, top)).y()
        accent = theme.colour("acc").rgb()
        return next(x for x in range(6, 60) if drawn.pixel(x, y) == accent)  # right of the bar of the chosen row

    row = panel.list.visualRect(panel.model.index(0, 0)).center().y() + 5
    of_row, of_list = left_edge(panel.list.viewport(), row), left_edge(panel._all, panel._all.height() // 2 + 5)
    assert of_row == of_list


@pytest.mark.deep
def test_the_preview_s_fields_stand_below_their_header(panel: PendingPanel) -> None:
    cell = panel.preview.model.cell(panel.preview.model.index(0, 0))
    assert cell.indent == 8  # the padding that a header's first section has beyond a cell's


def offered(panel: PendingPanel) -> list[str]:
    """What the foot offers to do to tokens."""
    return [each.text() for each in (panel.go, panel.drop, panel.older, panel._save) if each.isEnabled()]


def test_nothing_is_offered_for_tokens_that_could_not_be_read_again(
    panel: PendingPanel, session: Session, idle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(offered(panel)) == 4
    with monkeypatch.context() as patched:
        patched.setattr(LeftTokens, "pending", denied)
        panel.refresh()
        idle()
        assert offered(panel) == []
        assert panel.report.text() == ""
        assert panel.states.state.title == "The pending tokens could not be read"
    try_again(panel.states)
    idle()
    assert "5 would be finished" in panel.report.text()
    assert len(offered(panel)) == 4


def test_a_reading_that_is_stopped_before_anything_was_listed_says_so(
    panel: PendingPanel, idle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(LeftTokens, "pending", denied)
        panel.refresh()
        idle()
    monkeypatch.setattr(LeftTokens, "pending", going_on)
    try_again(panel.states)
    panel.reading.stop()
    idle()
    assert panel.states.state.title == "Reading was stopped"
    assert offered(panel) == []


def test_nothing_is_finished_without_an_answer(panel: PendingPanel) -> None:
    panel.say_answering(False)
    assert [each.isEnabled() for each in (panel.go, panel.drop, panel.older)] == [False] * 3
    assert panel.go.toolTip() == "The sample does not answer now, so nothing can be written."
    assert not panel._again.isEnabled()
    assert panel._again.toolTip() == "The sample does not answer now, so nothing can be read."
    panel.say_answering(True)
    assert panel.go.isEnabled()
    assert panel._again.isEnabled()


@pytest.mark.deep
def test_the_search_is_as_high_as_the_boxes_beside_it(panel: PendingPanel) -> None:
    assert panel.search.height() == panel.ages.height() == panel.kinds.height()
