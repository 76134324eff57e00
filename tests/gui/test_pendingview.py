"""The clean-up of pending tokens in a real window over the sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from gui.messages import Question
from gui.tools.pendingview import PendingPanel
from model import canonical
from model.canonical import Value
from model.session import Session

NS = "insurance.stats"


@pytest.fixture
def session() -> Iterator[Session]:
    with Session.open("sample:") as made:
        yield made


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
    raw = session.version(NS, Value.of(id)).raw
    assert raw is not None
    counter = canonical.get(raw, ("count",))
    return None if counter is None else counter.python()


def test_old_tokens_are_ticked_and_young_ones_cannot_be(panel: PendingPanel) -> None:
    rows = panel.model.rows
    assert sum(row.stale for row in rows) == 5
    young = [row for row in rows if not row.stale]
    assert len(young) == 1
    assert not panel.model.can_tick(young[0])
    assert panel.go.text() == "Finish 5 tokens"
    assert "5 would be finished" in panel.report.text()
    assert "1 left out, too young" in panel.report.text()


def test_the_write_is_shown_before_anything_is_sent(panel: PendingPanel, session: Session) -> None:
    assert "$pull" in panel.code.toPlainText()
    assert '"$ne"' in panel.code.toPlainText()
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
    assert [token.stale for token in session.pending(NS)] == [False]
    assert not panel.go.isEnabled()
    entries = [end.entry for end in panel.model.ends.values() if end.entry is not None]
    assert len(entries) == 5
    panel._undo(entries)
    idle()
    assert {row.token for row in session.pending(NS) if row.stale} == {row.token for row in chosen}
    assert {id: count(session, id.python()) or 0 for id in before} == {id: n or 0 for id, n in before.items()}


def test_space_unticks_and_the_button_counts(panel: PendingPanel, qtbot: QtBot) -> None:
    panel.list.setFocus()
    at = next(i for i, row in enumerate(panel.model.rows) if panel.model.can_tick(row))
    panel.list.setCurrentIndex(panel.model.index(at, 0))
    qtbot.keyClick(panel.list, Qt.Key.Key_Space)
    assert panel.go.text() == "Finish 4 tokens"
    qtbot.keyClick(panel.list, Qt.Key.Key_Space)
    assert panel.go.text() == "Finish 5 tokens"


def test_a_read_only_session_says_why_nothing_can_be_finished(
    session: Session, qtbot: QtBot, idle: Callable[[], None]
) -> None:
    session.read_only = True
    made = PendingPanel(session, NS)
    qtbot.addWidget(made)
    idle()
    assert not made.go.isEnabled()
    assert "read-only" in made.go.toolTip()


def test_a_collection_without_tokens_says_so(session: Session, qtbot: QtBot, idle: Callable[[], None]) -> None:
    assert [end.kind for end in session.finish([t for t in session.pending(NS) if t.stale])] == ["applied"] * 5
    made = PendingPanel(session, NS)
    qtbot.addWidget(made)
    made.ages.setCurrentIndex(2)
    idle()
    assert made.states.state.title == "No token is that old"
