"""Two times of a collection, compared: what happened to each document."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from gui.style import symbols, zooming
from gui.views.compare.times_panel import LOOKS, TimesPanel
from model.errors import Unreachable
from model.over_time.as_of import Compared, Difference
from model.session import Session
from model.session.through_time import ThroughTime
from tests.gui.refusals import denied, try_again

NS = "insurance.contracts"
as_of_both = ThroughTime.as_of_both


def broken(*given: Any) -> Iterator[Compared]:
    """Stands for a comparison that breaks off behind its first document."""
    yield next(as_of_both(*given))
    raise Unreachable("The sample did not answer in time; try again.")


def shown(session: Session, qtbot: QtBot, height: int = 500) -> TimesPanel:
    """The panel with its first time; the second one is now."""
    panel = TimesPanel(session, NS)
    qtbot.addWidget(panel)
    panel.resize(1100, height)
    panel.show()
    panel.first.put(dt.datetime(2026, 11, 18, 20, tzinfo=dt.UTC))
    return panel


def visible(panel: TimesPanel) -> set[str]:
    """The words that are read in it."""
    return {label.text() for label in panel.findChildren(QLabel) if label.isVisible()}


@pytest.mark.parametrize("change", LOOKS)
def test_what_became_of_a_document_is_told_by_a_word_with_a_symbol_and_never_in_the_accent(change: Difference) -> None:
    badge = LOOKS[change]
    assert badge.text
    assert badge.symbol in (*symbols.CHANGES, "conflict")
    assert not badge.ink.startswith("acc")


def test_rows_of_a_comparison_that_broke_off_do_not_stand_for_it(
    home: Path, qtbot: QtBot, idle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Session.open("sample:") as session:
        panel = shown(session, qtbot)
        panel.then.put(dt.datetime(2026, 11, 20, 20, tzinfo=dt.UTC))
        with monkeypatch.context() as patched:
            patched.setattr(ThroughTime, "as_of_both", broken)
            panel.compare()
            idle()
            assert panel.model.rows == []
            assert not panel.said.isVisible()
        try_again(panel.states)
        idle()
        assert len(panel.model.rows) > 1
        assert panel.said.isVisible()


@pytest.mark.deep
def test_a_comparison_that_is_read_again_stays_until_all_is_there_with_what_is_chosen(
    home: Path, qtbot: QtBot, idle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Session.open("sample:") as session:
        panel = shown(session, qtbot, 330)
        told: list[Compared | None] = []
        panel.chosen.connect(told.append)
        panel.compare()
        idle()
        at = next(at for at, row in enumerate(panel.model.rows) if at > 2 and row.change == "changed")
        panel.list.setCurrentIndex(panel.model.index(at, 0))
        panel.list.verticalScrollBar().setValue(40)
        chosen, rows, counts = panel.row, list(panel.model.rows), panel.counts.copy()
        assert chosen is not None
        assert told[-1] == chosen
        assert panel.list.verticalScrollBar().value() == 40

        def stays(*, said: str) -> None:
            assert (panel.row, panel.model.rows, panel.counts) == (chosen, rows, counts)
            assert panel.list.verticalScrollBar().value() == 40
            assert panel.states.kind == "content"
            assert said in visible(panel)
            assert told == []

        told.clear()
        panel.refresh()
        stays(said=panel.said.text())
        idle()
        stays(said=panel.said.text())
        with monkeypatch.context() as patched:
            patched.setattr(ThroughTime, "as_of_both", broken)
            panel.refresh()
            idle()
        assert any("did not answer" in text for text in visible(panel))
        assert (panel.row, panel.model.rows, told) == (chosen, rows, [])
        panel.refresh()
        panel.stop()
        idle()
        stays(said="Reading was stopped; this was read before it.")
        assert session.edit(NS, chosen.id, set={"notes": "Called."}).kind == "applied"
        panel.refresh()
        idle()
        assert panel.row is not None
        assert panel.row.id == chosen.id
        assert panel.row.after != chosen.after
        assert told == [panel.row]
        assert panel.list.verticalScrollBar().value() == 40


@pytest.mark.deep
def test_a_comparison_that_may_not_be_read_again_is_listed_no_more(
    home: Path, qtbot: QtBot, idle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Session.open("sample:") as session:
        panel = shown(session, qtbot)
        told: list[Compared | None] = []
        panel.chosen.connect(told.append)
        panel.compare()
        idle()
        assert told[-1] is not None
        monkeypatch.setattr(ThroughTime, "as_of_both", denied)
        panel.refresh()
        idle()
        assert panel.states.kind == "failed"
        assert panel.model.rows == []
        assert told[-1] is None


@pytest.mark.deep
def test_with_large_text_the_words_below_a_time_do_not_lie_over_its_line(
    home: Path, qtbot: QtBot, idle: Callable[[], None]
) -> None:
    zooming.apply(200)
    try:
        with Session.open("sample:") as session:
            panel = TimesPanel(session, "insurance.contracts")
            qtbot.addWidget(panel)
            panel.resize(590, 300)
            panel.show()
            panel.first.put(dt.datetime(1996, 11, 25, 20, tzinfo=dt.UTC))
            panel.then.put(dt.datetime(1997, 11, 25, 20, tzinfo=dt.UTC))
            panel.compare()
            idle()
            panel.resize(590, panel.minimumSizeHint().height())
            assert panel.states.kind == "empty"
            qtbot.waitUntil(lambda: panel.first.said.y() > panel.first.geometry().bottom())
            assert panel.first.height() >= panel.first.minimumSizeHint().height()
    finally:
        zooming.apply(100)
