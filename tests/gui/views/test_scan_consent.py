"""The first scan of a server asks for scope and pace, says how much that is, and remembers the answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bson
import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from gui import tasks
from gui.pages.repair_pages import HealthPage, RepairPage
from gui.views.repair.scan_consent import Agreement
from model.foundation.address import Address
from model.localserver.local_server import LocalServer
from model.session import Session

NS = "shop.orders"


@pytest.fixture
def session(home: Path) -> Iterator[Session]:
    with LocalServer() as server:
        for name in ("orders", "customers"):
            server.load(f"shop.{name}", [bson.encode({"_id": at, "name": f"n{at}"}) for at in range(300)])
        server.load("audit.log", [bson.encode({"_id": 1})])
        with Session.open(server.uri) as made:
            made.is_near = False
            yield made


def idle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not tasks.tasks.running)


def shown(qtbot: QtBot, page: QWidget) -> None:
    qtbot.addWidget(page)
    page.resize(1300, 760)
    page.show()
    idle(qtbot)


def repairs(qtbot: QtBot, session: Session, place: str, production: bool = False) -> RepairPage:
    page = RepairPage(session, place, production=production)
    shown(qtbot, page)
    return page


def test_the_question_needs_no_room_for_the_findings_that_follow_it(qtbot: QtBot, session: Session) -> None:
    page = repairs(qtbot, session, NS)
    asked = page.panel.consent
    assert asked is not None
    assert page.panel.minimumSizeHint().height() == asked.minimumSizeHint().height()


def test_nothing_is_scanned_before_scope_and_pace_are_agreed_and_the_answer_is_remembered(
    qtbot: QtBot, session: Session
) -> None:
    page = repairs(qtbot, session, NS, production=True)
    asked = page.panel.consent
    assert asked is not None
    assert asked.isVisible()
    assert asked.gently, "gentle is the pace for production"
    assert asked.estimate.text() == "1 collection, 300 documents: a few seconds"
    assert not session.health.scans()
    asked.scope.setCurrentIndex(asked.scope.findData("shop"))
    asked.scope.activated.emit(1)
    idle(qtbot)
    assert asked.estimate.text() == "2 collections, 600 documents: a few seconds"
    asked.go.click()
    idle(qtbot)
    assert page.ns == "shop"
    assert page.panel.scanner.gently
    assert page.panel.scanner.whole
    assert [scan.place for scan in session.health.scans()] == ["shop"]
    assert Agreement.kept(session) == Agreement(("shop",), True)
    again = repairs(qtbot, session, NS)
    assert again.panel.consent is None
    assert again.panel.scanner.gently, "the pace is remembered too"
    assert again.panel.scanner.whole


def test_a_wider_scope_is_asked_for_again_and_not_now_closes_the_page(qtbot: QtBot, session: Session) -> None:
    Agreement(("shop",), False).keep(session)
    page = repairs(qtbot, session, "")
    assert page.panel.consent is not None
    assert not page.panel.consent.gently
    with qtbot.waitSignal(page.closed):
        page.panel.consent.declined.emit()
    assert not session.health.scans()


def test_the_health_page_asks_as_well(qtbot: QtBot, session: Session) -> None:
    page = HealthPage(session, "audit")
    shown(qtbot, page)
    page.panel.scan()
    idle(qtbot)
    asked = page.panel.consent
    assert asked is not None
    page.do_refresh()
    asked.declined.emit()
    assert page.panel.consent is None
    assert page.panel.again.isEnabled()
    page.panel.scan()
    assert page.panel.consent is not None
    page.panel.consent.go.click()
    idle(qtbot)
    assert [scan.place for scan in session.health.scans()] == ["audit"]


@pytest.mark.parametrize("production", [False, True])
def test_a_server_on_this_computer_is_only_asked_for_in_production(
    qtbot: QtBot, session: Session, production: bool
) -> None:
    session.is_near = True
    page = repairs(qtbot, session, NS, production)
    assert (page.panel.consent is not None) == production
    assert page.panel.scanner.whole != production


@pytest.mark.parametrize(
    ("address", "near"),
    [
        ("mongodb://localhost/", True),
        ("mongodb://127.0.0.1:27018,[::1]:27017/?replicaSet=a", True),
        ("mongodb://%2Ftmp%2Fmongodb.sock/", True),
        ("mongodb://localhost,db.example/", False),
        ("mongodb+srv://localhost/", False),
    ],
)
def test_a_server_is_near_where_all_its_hosts_are_this_computer(address: str, near: bool) -> None:
    parsed = Address.parse(address)
    assert parsed is not None
    assert parsed.is_near == near
