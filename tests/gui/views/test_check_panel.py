"""The page with what a server guarantees."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from gui.style import theme
from gui.views.tools.check_panel import CheckPanel
from model.foundation.guarantee import Guarantee
from model.foundation.records import Checkpoint
from model.localserver import LocalServer
from model.session import Session
from model.session.trust import Trust


@pytest.mark.deep
def test_a_second_press_measures_again_and_never_lands_on_what_stands_beside(
    qtbot: QtBot, idle: Callable[[], None]
) -> None:
    with LocalServer() as server, Session.open(server.uri) as session:
        whole = QWidget()
        qtbot.addWidget(whole)
        panel, beside = CheckPanel(session), QPushButton("Allow writes")
        column = QVBoxLayout(whole)
        column.addWidget(panel)
        column.addWidget(beside)
        whole.resize(900, 600)
        whole.show()
        whole.activateWindow()
        qtbot.waitUntil(whole.isActiveWindow)
        panel.run.setFocus()
        QTest.keyClick(panel.run, Qt.Key.Key_Space)
        assert not beside.hasFocus()
        idle()
        assert panel.run.hasFocus()
        assert panel._summary.text().startswith(f"{session.source} was measured on ")
        assert panel._summary.text().endswith("; nothing unsafe was found.")


def until_stopped(_: Session, quick: bool, checkpoint: Checkpoint) -> Iterator[Guarantee]:
    """A measurement that finds nothing and ends when it is stopped."""
    while True:
        checkpoint(0, None)
        threading.Event().wait(0.01)
    yield


def test_no_verdict_stands_above_a_measurement_that_runs_or_has_failed(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Trust, "check", until_stopped)
    with LocalServer() as server, Session.open(server.uri) as session:
        panel = CheckPanel(session)
        qtbot.addWidget(panel)
        panel._add(Guarantee("swaps", "Atomic swaps", "safe", "Each of them.", ""))
        panel._done(None)
        source = session.source
        assert "nothing unsafe was found" in panel._summary.text()
        panel.states._put("failed", "warning-circle", "err", "No", "", [])
        assert panel._summary.text() == f"{source} was not measured to the end this time."
        panel.states.show_content()
        assert "nothing unsafe was found" in panel._summary.text()
        panel.refresh()
        assert panel._summary.text() == (
            f"{source} is being measured now. The results below are of the previous measurement."
        )
        panel.reading.stop()
        qtbot.waitUntil(lambda: panel.run.isEnabled(), timeout=60_000)
        assert "nothing unsafe" not in panel._summary.text()


def test_the_sample_is_named_without_its_colon_in_a_sentence(qtbot: QtBot) -> None:
    with Session.open("sample:") as session:
        panel = CheckPanel(session)
        qtbot.addWidget(panel)
        assert panel._summary.text() == "The sample was not measured yet."


def test_nothing_is_measured_where_nothing_may_be_written_and_one_button_offers_it(qtbot: QtBot) -> None:
    with LocalServer() as server, Session.open(server.uri) as session:
        session.trust.read_only = True
        panel = CheckPanel(session)
        qtbot.addWidget(panel)
        assert not panel.run.isEnabled()
        assert "read-only" in panel.run.toolTip()
        session.trust.read_only = False
        panel.say_writable()
        assert panel.run.isEnabled()
        assert panel.run.toolTip() == ""
        assert [each.text() for each in panel.findChildren(QPushButton) if each.text() == "Measure"] == ["Measure"]


def test_sentences_without_room_beside_their_titles_stand_below_them(qtbot: QtBot) -> None:
    with LocalServer() as server, Session.open(server.uri) as session:
        panel = CheckPanel(session)
        qtbot.addWidget(panel)
        panel.resize(900, 600)
        panel.show()
        said = "Inserted and replaced documents keep the order of their fields; an update appends new ones in its own."
        for title, verdict in (("Fields keep their order", "safe"), ("Retried writes are applied once", "unknown")):
            panel._add(Guarantee(title, title, verdict, said, "State the order in the index as well."))

        def place(text: str) -> QRect:
            label = next(one for one in panel._rows.findChildren(QLabel) if one.text() == text)
            return QRect(label.mapTo(panel._rows, QPoint()), label.size())

        title = place("Fields keep their order")
        qtbot.waitUntil(lambda: place(said).x() > title.right() and place(said).width() > theme.px(400))
        panel.resize(460, 600)
        qtbot.waitUntil(lambda: place(said).y() > place("Fields keep their order").bottom())
        qtbot.waitUntil(lambda: place(said).width() > theme.px(380))
        assert place("State the order in the index as well.").y() > place(said).bottom()
        panel.resize(900, 600)
        qtbot.waitUntil(lambda: place(said).x() > place("Fields keep their order").right())
