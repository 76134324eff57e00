"""Two times of a collection, compared: how what became of a document is shown."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from gui.style import symbols, zooming
from gui.views.compare.times_panel import LOOKS, TimesPanel
from model.errors import Unreachable
from model.over_time.as_of import Compared, Difference
from model.session import Session
from tests.gui.refusals import try_again


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
        panel = TimesPanel(session, "insurance.contracts")
        qtbot.addWidget(panel)
        panel.resize(1100, 500)
        panel.show()
        panel.first.put(dt.datetime(2026, 11, 18, 20, tzinfo=dt.UTC))
        panel.then.put(dt.datetime(2026, 11, 20, 20, tzinfo=dt.UTC))
        panel.compare()
        idle()
        whole = len(panel.model.rows)
        assert whole > 1
        as_of_both = Session.as_of_both

        def broken(*given: Any) -> Iterator[Compared]:
            yield next(as_of_both(*given))
            raise Unreachable("The sample did not answer in time; try again.")

        with monkeypatch.context() as patched:
            patched.setattr(Session, "as_of_both", broken)
            panel.refresh()
            idle()
            assert panel.model.rows == []
            assert not panel.said.isVisible()
        try_again(panel.states)
        idle()
        assert len(panel.model.rows) == whole
        assert panel.said.isVisible()


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
