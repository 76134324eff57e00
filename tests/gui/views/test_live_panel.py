"""New versions in the window: they appear by themselves, nothing moves under the pointer, a hidden panel is idle."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from typing import Any

import pymongo
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QEnterEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gui import tasks
from gui.style.cells import full_width
from gui.views.activity import live_model
from gui.views.activity.activity_model import COLLECTION, DOCUMENT, FIELDS, WHAT, WHEN
from gui.views.activity.live_panel import LivePanel
from model.localserver import LocalServer
from model.over_time import tail
from model.session import Session
from tests.guarded_server import GuardedServer
from tests.model.command_log import CommandLog, listening

NS = "shop.orders"
Client = pymongo.MongoClient[dict[str, Any]]


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "WAIT_MS", 20)


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer(replica_set="rs0", history=50_000) as made:
        yield made


@pytest.fixture
def client(server: LocalServer) -> Iterator[Client]:
    with pymongo.MongoClient(server.uri) as made:
        made["shop"]["orders"].create_index([("docId", 1), ("v", 1)], unique=True)
        made["shop"]["orders"].insert_many([{"docId": f"K-{n}", "v": v, "n": n} for n in range(5) for v in (1, 2)])
        yield made


@pytest.fixture
def log() -> Iterator[CommandLog]:
    with listening() as made:
        yield made


@pytest.fixture
def session(server: LocalServer, client: Client, log: CommandLog) -> Iterator[Session]:
    with Session.open(server.uri) as made:
        yield made
        tasks.tasks.stop_all()


def shown(qtbot: QtBot, session: Session, place: str = NS) -> LivePanel:
    """The panel, which follows already."""
    panel = LivePanel(session, place, place)
    qtbot.addWidget(panel)
    panel.resize(1300, 700)
    panel.show()
    qtbot.waitUntil(lambda: panel.since is not None)
    return panel


def write(client: Client, *names: str, v: int = 3) -> None:
    client["shop"]["orders"].insert_many([{"docId": name, "v": v, "n": 0} for name in names])


def ids(panel: LivePanel) -> list[object]:
    return [row.id.python() for row in panel.model.rows]


def point(panel: LivePanel) -> None:
    """Put the pointer on the list."""
    middle = QPointF(panel.view.viewport().rect().center())
    QApplication.sendEvent(panel.view.viewport(), QEnterEvent(middle, middle, middle))


def leave(panel: LivePanel) -> None:
    QApplication.sendEvent(panel.view.viewport(), QEvent(QEvent.Type.Leave))


def test_new_versions_appear_by_themselves_the_newest_first(qtbot: QtBot, session: Session, client: Client) -> None:
    panel = shown(qtbot, session)
    assert panel.stack.state.title == "Nothing was written yet"
    write(client, "K-1", "K-2")
    qtbot.waitUntil(lambda: ids(panel) == ["K-2", "K-1"])
    write(client, "K-9", v=1)
    qtbot.waitUntil(lambda: ids(panel) == ["K-9", "K-2", "K-1"])
    cells = [panel.model.cell(panel.model.index(0, column)).text for column in (DOCUMENT, WHAT, FIELDS)]
    assert (panel.stack.kind, cells) == ("content", ["K-9", "created", ""])
    assert panel.view.isColumnHidden(COLLECTION)
    assert panel.summary.accessibleName().startswith("3 versions since ")


def test_the_collections_of_a_database_are_followed_together_and_named(
    qtbot: QtBot, session: Session, client: Client
) -> None:
    client["shop"]["bills"].insert_many([{"docId": f"B-{n}", "v": v, "n": n} for n in range(5) for v in (1, 2)])
    panel = shown(qtbot, session, "shop")
    write(client, "K-1")
    client["shop"]["bills"].insert_one({"docId": "B-1", "v": 3})
    qtbot.waitUntil(lambda: ids(panel) == ["B-1", "K-1"])
    assert not panel.view.isColumnHidden(COLLECTION)
    assert panel.model.cell(panel.model.index(0, COLLECTION)).text == "shop.bills"


@pytest.mark.deep
def test_hidden_or_paused_it_reads_nothing_and_goes_on_where_it_was(
    qtbot: QtBot, session: Session, client: Client, log: CommandLog
) -> None:
    panel = shown(qtbot, session)
    write(client, "K-1")
    qtbot.waitUntil(lambda: ids(panel) == ["K-1"])
    for n, (rest, go_on) in enumerate(((panel.hide, panel.show), (panel.pause_button.click, panel.pause_button.click))):
        rest()
        qtbot.waitUntil(lambda: not panel.is_reading)
        qtbot.waitUntil(lambda: not tasks.tasks.running)
        log.clear()
        for v in range(3, 203):
            write(client, f"K-2{n}", v=v)
        QApplication.processEvents()
        assert (log.names, panel.is_due, panel.is_reading, tasks.tasks.running) == ([], False, False, [])
        go_on()
        qtbot.waitUntil(lambda n=n: panel.came == 1 + (n + 1) * 200)
        assert len(panel.model.rows) == 1 + (n + 1) * 200
    assert "paused" not in panel.summary.accessibleName()


def test_a_pause_says_since_when(qtbot: QtBot, session: Session, client: Client) -> None:
    panel = shown(qtbot, session)
    panel.pause_button.click()
    assert "; paused at " in panel.summary.accessibleName()
    assert panel.pause_button.text() == "Go on"


@pytest.mark.parametrize("how", ["pointer", "chosen", "scrolled"])
def test_while_a_person_looks_at_a_row_nothing_moves_and_what_waits_is_counted(
    qtbot: QtBot, session: Session, client: Client, how: str
) -> None:
    panel = shown(qtbot, session)
    write(client, *(f"K-{n}" for n in range(100)))
    qtbot.waitUntil(lambda: len(panel.model.rows) == 100)
    before = ids(panel)
    if how == "pointer":
        point(panel)
    elif how == "chosen":
        panel.view.setFocus()
        panel.view.setCurrentIndex(panel.model.index(2, 0))
    else:
        panel.view.verticalScrollBar().setValue(200)
    write(client, "L-1", "L-2")
    qtbot.waitUntil(lambda: panel.new_button.text() == "2 new" and panel.new_button.isVisible())
    write(client, "L-3")
    qtbot.waitUntil(lambda: panel.new_button.text() == "3 new")
    assert ids(panel) == before
    if how == "pointer":
        leave(panel)
    elif how == "chosen":
        QTest.keyClick(panel.view, Qt.Key.Key_Escape)
    else:
        panel.view.verticalScrollBar().setValue(0)
    assert ids(panel) == ["L-3", "L-2", "L-1", *before]
    assert not panel.new_button.isVisible()


def test_the_count_leads_to_the_newest_wherever_the_pointer_is(qtbot: QtBot, session: Session, client: Client) -> None:
    panel = shown(qtbot, session)
    write(client, *(f"K-{n}" for n in range(100)))
    qtbot.waitUntil(lambda: len(panel.model.rows) == 100)
    panel.view.verticalScrollBar().setValue(400)
    point(panel)
    write(client, "L-1")
    qtbot.waitUntil(panel.new_button.isVisible)
    panel.new_button.click()
    assert (ids(panel)[0], panel.view.verticalScrollBar().value()) == ("L-1", 0)


def test_the_list_does_not_choose_a_row_by_itself_when_it_gets_the_focus(
    qtbot: QtBot, session: Session, client: Client
) -> None:
    panel = shown(qtbot, session)
    write(client, "K-1")
    qtbot.waitUntil(lambda: len(panel.model.rows) == 1)
    panel.activateWindow()
    panel.view.setFocus()
    QApplication.processEvents()
    assert not panel.view.currentIndex().isValid()
    QTest.keyClick(panel.view, Qt.Key.Key_Down)
    assert panel.view.currentIndex().row() == 0


@pytest.mark.deep
def test_thousands_come_in_a_few_insertions_of_which_the_newest_are_kept_and_the_rest_counted(
    qtbot: QtBot, session: Session, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_model, "KEPT", 200)
    monkeypatch.setattr(live_model, "OVER", 50)
    panel = shown(qtbot, session)
    inserted: list[int] = []
    panel.model.rowsInserted.connect(lambda _, first, last: inserted.append(last - first + 1))
    panel.model.modelReset.connect(lambda: inserted.append(len(panel.model.rows)))
    began = time.monotonic()
    for v in range(3, 23):
        write(client, *(f"K-{n}" for n in range(150)), v=v)
    qtbot.waitUntil(lambda: panel.came == 3000)
    panel.show_newest()
    model = panel.model
    assert len(model.rows) <= 250
    assert len(model.rows) + len(model.waiting) + model.fell_out == 3000
    assert [row.v.python() for row in model.rows[:150] if row.v is not None] == [22] * 150
    assert len(inserted) <= 10 * (time.monotonic() - began) + 2, "ten a second at most, not one for each version"
    assert "versions before them were dropped" in panel.fell_out.text()
    assert panel.foot.isVisible()


def test_return_and_a_double_click_open_the_version(qtbot: QtBot, session: Session, client: Client) -> None:
    panel = shown(qtbot, session)
    write(client, "K-1", "K-2")
    qtbot.waitUntil(lambda: len(panel.model.rows) == 2)
    asked: list[Any] = []
    panel.open_asked.connect(asked.append)
    place = panel.view.visualRect(panel.model.index(1, 0)).center()
    for click in (QTest.mouseClick, QTest.mouseDClick):
        click(panel.view.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, QPoint(place))
    QTest.keyClick(panel.view, Qt.Key.Key_Return)
    assert [(row.id.python(), row.v.python()) for row in asked] == [("K-1", 3)] * 2
    menu = panel.menu(asked[0])
    assert [action.text() for action in menu.actions()][:2] == ["Show v3", "Open K-1"]


def test_a_server_that_hangs_up_is_said_and_followed_again_without_a_loss(qtbot: QtBot) -> None:
    with GuardedServer({"ann": "pw"}, replica_set="rs0") as door, Client(door.store.uri) as client:
        rows = [{"docId": f"K-{n}", "v": v, "n": n} for n in range(5) for v in (1, 2)]
        client["shop"]["orders"].insert_many(rows)
        address = f"mongodb://ann:pw@{door.host}/?directConnection=true&retryReads=false"
        with Session.open(address) as session:
            panel = shown(qtbot, session)
            door.hangs_up_on["getMore"] = door.hangs_up_on["aggregate"] = 2
            write(client, "K-1")
            qtbot.waitUntil(lambda: "cut" in panel.notices.lines or panel.came == 1)
            qtbot.waitUntil(lambda: panel.came == 1 and "cut" not in panel.notices.lines)
            assert ids(panel) == ["K-1"]
            panel.hide()
            tasks.tasks.stop_all()


def test_while_the_server_does_not_answer_no_versions_are_promised(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, session)
    qtbot.waitUntil(lambda: panel.stack.kind == "empty")
    assert "as they come" in panel.stack.state.help
    panel.notices.put("notes", "note", "They are looked for every two seconds.")
    panel.say_answering(False)
    assert panel.stack.state.title == "New versions cannot be read now"
    assert "as they come" not in panel.stack.state.help
    assert panel.notices.lines["notes"].isHidden()
    panel.say_answering(True)
    assert "as they come" in panel.stack.state.help
    assert not panel.notices.lines["notes"].isHidden()


def test_a_collection_that_keeps_no_versions_cannot_be_followed(qtbot: QtBot, session: Session, client: Client) -> None:
    client["shop"]["notes"].insert_many([{"_id": n, "text": "x"} for n in range(5)])
    panel = LivePanel(session, "shop.notes", "shop.notes")
    qtbot.addWidget(panel)
    panel.show()
    qtbot.waitUntil(lambda: panel.stack.kind == "empty")
    assert panel.stack.state.title == "There is nothing to follow"
    assert not panel.is_due


def test_with_little_room_the_time_of_an_earlier_day_is_whole(qtbot: QtBot, session: Session, client: Client) -> None:
    panel = shown(qtbot, session)
    panel.resize(976, 560)  # in a window of 1024
    write(client, "K-1")
    qtbot.waitUntil(lambda: bool(panel.model.rows))
    panel.model.rows[0] = replace(panel.model.rows[0], at=dt.datetime(2025, 11, 20, 13, 50, tzinfo=dt.UTC))
    cell = panel.model.cell(panel.model.index(0, WHEN))
    assert "2025" in cell.text
    assert full_width(cell) <= panel.view.columnWidth(WHEN)


def test_every_time_of_the_list_has_its_seconds(qtbot: QtBot, session: Session, client: Client) -> None:
    write(client, "K-7")
    panel = shown(qtbot, session)
    write(client, "K-8")
    qtbot.waitUntil(lambda: bool(panel.model.rows))
    for at in (dt.datetime(2024, 3, 1, 10, 0, 0, tzinfo=dt.UTC), dt.datetime.now(dt.UTC).replace(second=0)):
        cell = live_model.live_cell(replace(panel.model.rows[0], at=at), WHEN)
        assert cell.text.endswith(":00")
        assert cell.text.count(":") == 2
