"""A line for a moment, and what it shows of the moment."""

from __future__ import annotations

import datetime as dt

from pytestqt.qtbot import QtBot

from gui.parts.time_line import TimeLine


def test_a_low_line_says_the_time_itself_and_only_doubts_in_words(qtbot: QtBot) -> None:
    line = TimeLine("First time", low=True)
    qtbot.addWidget(line)
    line.setText("2026-11-18 21:00:00")
    assert line.accessibleDescription() == "18 Nov 2026 21:00, Europe/Berlin."
    qtbot.addWidget(line.said)
    line.said.resize(line.said.fontMetrics().horizontalAdvance("18 Nov 2026 21:00, Eur"), 20)
    line.said.show()
    assert line.said.text() == "18 Nov 2026 21:00"  # the zone goes before the time is cut
    line.setText("2026-10-25 02:30")
    assert line.accessibleDescription().startswith("25 Oct 2026 02:30, Europe/Berlin. ")
    assert "has no zone" not in line.accessibleDescription()


def test_a_time_that_is_put_into_a_line_is_as_short_as_it_can_be(qtbot: QtBot) -> None:
    line = TimeLine("First time")
    qtbot.addWidget(line)
    for at in (dt.datetime(2026, 11, 18, 20, 0, tzinfo=dt.UTC), dt.datetime(2026, 11, 18, 20, 0, 7, tzinfo=dt.UTC)):
        line.put(at)
        assert line.text().count(":") == (2 if at.second else 1)
        moment = line.moment
        assert moment is not None
        assert moment.at == at
