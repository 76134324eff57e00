"""Writes whose answer is lost: what the views say of them, and what they look for afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from gui.messages import MessageLine, Question, area
from gui.pages.document_writes import DocumentWrites
from gui.tour.outage import Outage
from gui.views.repair.repair_panel import RepairPanel
from gui.views.tools.journal_panel import JournalPanel
from gui.views.tools.pending_panel import PendingPanel
from model.errors import Refused, Unreachable
from model.session import Session
from model.session.way_back import WayBack

NS = "insurance.contracts"
EDITED = "K-204118"


@pytest.fixture
def session() -> Iterator[Session]:
    with Session.open("sample:") as made:
        yield made


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The entries of the journal that somebody looked for again."""
    found: list[str] = []
    look_again = WayBack.look_again

    def noted(session: Session, entry: str) -> object:
        found.append(entry)
        return look_again(session, entry)

    monkeypatch.setattr(WayBack, "look_again", noted)
    return found


def shown(qtbot: QtBot, panel: QWidget, idle: Callable[[], None]) -> None:
    qtbot.addWidget(panel)
    panel.resize(1100, 700)
    panel.show()
    idle()


def doubt(panel: QWidget) -> MessageLine:
    (line,) = [each for each in area(panel).lines if each.kind == "unknown"]
    return line


def check_again(panel: QWidget, idle: Callable[[], None]) -> None:
    """Press the button of the message about what is not known."""
    doubt(panel).buttons[0].click()
    idle()


def in_doubt(session: Session) -> list[str]:
    """The writes of which the journal does not know the end, the newest first."""
    return [each.id for each in session.journal.entries() if each.kind == "unknown"]


def test_a_delete_in_doubt_is_told_with_its_document(
    qtbot: QtBot, session: Session, idle: Callable[[], None], asked: list[str]
) -> None:
    page, outage = QWidget(), Outage(session)
    shown(qtbot, page, idle)
    writes = DocumentWrites(session, NS, page)
    writes.delete(session.documents.find_id(NS, EDITED))
    idle()
    outage.lose_write(NS)
    page.findChildren(Question)[-1].verb.click()
    idle()
    assert doubt(page).text.startswith(f"{EDITED}: It is not known whether the delete was applied.")
    outage.end()
    check_again(page, idle)
    assert asked == in_doubt(session)
    assert doubt(page).text == f"The write to {EDITED} is not in the database so far, and may still arrive."


def test_check_again_after_an_undo_looks_for_the_undo(
    qtbot: QtBot, session: Session, idle: Callable[[], None], asked: list[str]
) -> None:
    edited = session.edit(NS, EDITED, set={"status": "suspended"})
    panel, outage = JournalPanel(session), Outage(session)
    shown(qtbot, panel, idle)
    outage.lose_write(NS)
    panel.undo.click()
    idle()
    assert doubt(panel).text.startswith(f"{EDITED}: It is not known whether the undo was applied.")
    assert session.journal.entries()[0].detail.startswith("It is not known whether the undo was applied.")
    outage.end()
    check_again(panel, idle)
    assert asked == in_doubt(session) != [edited.entry]
    assert doubt(panel).text.startswith(f"The write to {EDITED} is not in the database so far")


@pytest.mark.deep
def test_check_again_looks_for_each_dropped_token(
    qtbot: QtBot, session: Session, idle: Callable[[], None], asked: list[str]
) -> None:
    panel, outage = PendingPanel(session), Outage(session)
    shown(qtbot, panel, idle)
    outage.lose_write()
    panel._write("drop", panel.model.ticked(), True)
    idle()
    assert doubt(panel).text.startswith("It is not known whether 1 token was dropped. ")
    assert "does not answer" in doubt(panel).text
    outage.end()
    check_again(panel, idle)
    assert asked == in_doubt(session)
    assert doubt(panel).text == "It is not known whether 1 token was dropped."


@pytest.mark.deep
def test_check_again_looks_for_each_repair(
    qtbot: QtBot, session: Session, idle: Callable[[], None], asked: list[str]
) -> None:
    panel, outage = RepairPanel(session, [NS]), Outage(session)
    shown(qtbot, panel, idle)
    panel.choose(("A3",))
    idle()
    outage.lose_write(f"{NS}_history")
    panel.apply()
    idle()
    assert doubt(panel).text == "It is not known whether 1 repair arrived."
    outage.end()
    check_again(panel, idle)
    assert asked == in_doubt(session)
    assert doubt(panel).text == "It is not known whether 1 repair arrived."


def test_a_silent_server_keeps_nobody_from_the_journal(session: Session) -> None:
    outage = Outage(session)
    outage.silence()
    assert session.journal.entries() == []
    with pytest.raises(Unreachable):
        session.documents.page(NS)
    outage.deny()
    with pytest.raises(Refused, match="cannot be used"):
        session.journal.entries()
