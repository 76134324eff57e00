"""An archive row above the current version, in every view that lists versions: marked, and not counted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from gui.views.activity.activity_model import WHAT
from gui.views.activity.activity_panel import ActivityPanel
from gui.views.history.blame_panel import BlamePanel
from gui.views.timeline.timeline_panel import TimelinePanel
from model.session import Session
from model.values.canonical import Value
from tests.gui import document_scenes

NS = "insurance.contracts"
ABOVE = "K-204120"
"""The document at v8 with a v9 in its archive."""


@pytest.fixture
def session(home: Path) -> Iterator[Session]:
    with Session.open("sample:", home=home) as made:
        yield made


@pytest.fixture
def id(session: Session) -> Value:
    return session.documents.find_id(NS, ABOVE)


def test_the_activity_says_that_it_never_landed_and_counts_and_takes_back_the_others(
    qtbot: QtBot, session: Session, id: Value, idle: Callable[[], None]
) -> None:
    panel = ActivityPanel(session, NS, id)
    document_scenes.shown(qtbot, panel)
    qtbot.waitUntil(lambda: bool(panel.summary.text()))
    idle()
    above = [row for row in panel.rows if not row.landed]
    assert [row.v for row in above] == [Value.of(9)]
    landed = len(panel.rows) - 1
    assert panel.summary.text() == f"{landed} changes of 1 document"
    assert "not counted: 1 version above the current one, which never landed" in panel.doubts.text()
    assert sum(count for _, count in panel.newest.days) == landed
    index = next(iter(panel.model.places([(NS, id, Value.of(9))]).values()))
    assert panel.model.cell(index.siblingAtColumn(WHAT)).text == "never landed"
    headings = [panel.model.cell(panel.model.index(at, 0)).text for at in range(panel.model.rowCount())]
    counted = [re.search(r"   (\d+|no) changes?$", heading) for heading in headings]
    assert sum(int(found[1]) for found in counted if found and found[1] != "no") == landed
    panel.tree.setCurrentIndex(index)
    assert not panel.take_back_button.isEnabled()


def test_timeline_and_blame_leave_it_out_of_their_counts(
    qtbot: QtBot, session: Session, id: Value, idle: Callable[[], None]
) -> None:
    timeline = TimelinePanel(session, NS)
    document_scenes.shown(qtbot, timeline)
    timeline.show_document(id)
    idle()
    assert timeline.model.marks[0].under == "never landed"
    assert timeline.model.summary().startswith("8 versions; 1 above the current one, never landed")
    blame = BlamePanel(session, NS, id)
    document_scenes.shown(qtbot, blame)
    idle()
    assert blame.summary.text().endswith("; v9 never landed and is left out")
