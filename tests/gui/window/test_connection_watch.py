"""A connection that is lost and returns, and one whose server does not separate writers."""

from __future__ import annotations

from collections.abc import Iterator

import pymongo
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from gui import tasks
from gui.messages import MessageLine, Question
from gui.pages.collection_page import CollectionPage
from gui.pages.page_request import PageRequest
from gui.pages.tool_pages import CheckPage
from gui.window import connection_watch
from gui.window.connection_watch import ConnectionWatch
from gui.window.opening import Opening
from gui.window.window import Window
from model.errors import Unreachable
from model.foundation.records import ServerFacts
from model.localserver import LocalServer
from model.session import Session
from tests.gui.window.windows import document, new_window, open_source, wait_idle
from tests.servers.door import Door
from tests.servers.torn import torn_server

NS = "shop.things"


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    monkeypatch.setattr(connection_watch, "SECOND", 20)
    monkeypatch.setattr(connection_watch, "EVERY", 50)
    with LocalServer() as server, Door(server.uri) as made:
        with pymongo.MongoClient(server.uri) as client:
            client.shop.things.insert_many([{"_id": f"a{n}", "v": 1, "n": n} for n in range(3)])
        yield made


@pytest.fixture
def window(qtbot: QtBot) -> Window:
    return new_window(qtbot)


def lines(window: Window, words: str) -> list[MessageLine]:
    return [line for line in window.messages.lines if words in line.text]


def offered(qtbot: QtBot, window: Window) -> MessageLine:
    """The offer to measure, after a press on the advice in the status line."""
    assert window.status.advice.text() == "Server not measured yet"
    qtbot.mouseClick(window.status.advice, Qt.MouseButton.LeftButton)
    (line,) = lines(window, "has not been measured yet")
    return line


def badge_of(window: Window, session: Session) -> str:
    """What the sidebar says of a connection."""
    root = window.workspace.sidebar._root(session)
    assert root is not None
    (badge,) = window.workspace.sidebar.model.cell(window.workspace.sidebar.model.index_of(root)).badges
    return badge.text


def press(qtbot: QtBot, line: MessageLine, name: str) -> None:
    (found,) = [each for each in line.buttons if each.text() == name]
    qtbot.mouseClick(found, Qt.MouseButton.LeftButton)


def opened(qtbot: QtBot, window: Window, uri: str) -> tuple[Session, CollectionPage]:
    session = open_source(qtbot, window, Opening(uri, "staging"))
    wait_idle(qtbot, lambda: bool(window.workspace.sidebar.ns_known(session)))
    page = window.workspace.open(session, PageRequest("collection", NS))
    qtbot.waitUntil(lambda: len(page.browser.model.rows) == 3)
    return session, page


def test_a_lost_connection_is_a_state_and_what_was_read_stays_until_it_is_back(
    qtbot: QtBot, window: Window, door: Door
) -> None:
    session, page = opened(qtbot, window, door.uri)
    checked = window.workspace.open(session, PageRequest("check"))
    assert isinstance(checked, CheckPage)
    assert checked.panel.run.isEnabled()
    window.workspace.tab_area.show_page(page)
    door.shut()
    window.workspace.sidebar._read_failed(session, Unreachable("staging does not answer."))  # before the watch hears it
    assert [line.kind for line in window.messages.lines].count("failed") == 1
    qtbot.waitUntil(lambda: window.workspace.lost.isVisible())
    assert "failed" not in [line.kind for line in window.messages.lines]
    assert "staging is not connected" in window.workspace.lost.text
    assert "as of" in window.workspace.lost.text
    assert "not connected" in window.title._all_facts
    assert checked.panel.run.toolTip() == "staging does not answer now, so nothing can be measured."
    assert not checked.panel.run.isEnabled()
    assert badge_of(window, session) == "not connected"
    assert "writable" not in page.facts()
    assert page.reasons()["writable"] == "staging does not answer now, so nothing can be written."
    page.do_refresh()
    qtbot.waitUntil(lambda: "As of" in page.browser.states._busy._text.text())
    assert len(page.browser.model.rows) == 3
    assert page.browser.states.kind == "content"
    with qtbot.waitSignal(window.workspace.sidebar.read_ended):
        window.workspace.sidebar.refresh()
    assert not [
        line for line in window.messages.lines if line.kind == "failed"
    ]  # as the line above the tabs says already
    with pymongo.MongoClient(door._target) as client:
        client.shop.things.insert_one({"_id": "b", "v": 1, "n": 9})
        client.shop.others.insert_one({"_id": "c"})
    door.open()
    qtbot.waitUntil(lambda: not window.workspace.lost.isVisible())
    assert lines(window, "staging is connected again")
    qtbot.waitUntil(lambda: "shop.others" in [info.ns for info in window.workspace.sidebar.ns_known(session)])
    assert badge_of(window, session) == "connected"
    qtbot.waitUntil(lambda: len(page.browser.model.rows) == 4)
    assert session in window.sessions
    assert checked.panel.run.isEnabled()
    assert "writable" in page.facts()


@pytest.mark.deep
def test_an_edit_made_without_a_connection_is_kept_and_saved_once_it_is_back(
    qtbot: QtBot, window: Window, door: Door
) -> None:
    session, _ = opened(qtbot, window, door.uri)
    session.catalogue.set_layout(NS, "plain")
    window.workspace.open(session, PageRequest("document", NS, session.documents.find_id(NS, "a1")))
    page = document(window)
    qtbot.waitUntil(lambda: page.editor.is_loaded)
    door.shut()
    qtbot.waitUntil(lambda: window.workspace.lost.isVisible())
    tree = page.editor.tree
    assert tree.edit_cell(page.editor.model.find(("n",)))
    field = tree.editor.widget
    assert field is not None
    field.selectAll()
    QTest.keyClicks(field, "41")
    QTest.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: page.dirty)
    assert page.editor.save_reason == "staging does not answer now, so nothing can be written."
    assert not page.editor.foot.save.isEnabled()
    page.do_save()
    assert page.dirty
    qtbot.waitUntil(lambda: bool(session.drafts.all()))
    door.open()
    qtbot.waitUntil(lambda: not window.workspace.lost.isVisible())
    assert page.dirty  # coming back does not take the edit away
    assert page.editor.save_reason == ""
    page.do_save()
    qtbot.waitUntil(lambda: not page.dirty)
    with pymongo.MongoClient(door._target) as client:
        assert client.shop.things.find_one({"_id": "a1"})["n"] == 41


@pytest.mark.deep
def test_trying_now_does_not_wait_for_the_pause(
    qtbot: QtBot, window: Window, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(qtbot, window, door.uri)
    monkeypatch.setattr(connection_watch, "PAUSES", (100_000,))
    door.shut()
    qtbot.waitUntil(lambda: window.workspace.lost.isVisible() and window.workspace.lost.now.isEnabled())
    door.open()
    qtbot.mouseClick(window.workspace.lost.now, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not window.workspace.lost.isVisible())


def test_disconnecting_from_a_lost_server_ends_the_watch(qtbot: QtBot, window: Window, door: Door) -> None:
    session, _ = opened(qtbot, window, door.uri)
    door.shut()
    qtbot.waitUntil(lambda: window.workspace.lost.isVisible())
    leave = [each for each in window.workspace.lost.findChildren(QPushButton) if each.text() == "Disconnect"]
    qtbot.mouseClick(leave[0], Qt.MouseButton.LeftButton)
    assert session not in window.sessions
    assert window.workspace.at_welcome


@pytest.mark.deep
def test_a_server_is_measured_once_and_only_after_a_word(qtbot: QtBot, window: Window, door: Door) -> None:
    session, _ = opened(qtbot, window, door.uri)
    assert not window.messages.lines, "advice covers nothing until somebody asks for it"
    asked = offered(qtbot, window)
    assert session.trust.measured is None
    press(qtbot, asked, "Measure")
    qtbot.waitUntil(lambda: bool(lines(window, "keeps writers apart")))
    window.connecting.disconnect_session(session)
    opened(qtbot, window, door.uri)
    assert window.status.advice.isHidden()


@pytest.mark.deep
def test_not_now_is_remembered(qtbot: QtBot, window: Window, door: Door) -> None:
    session, _ = opened(qtbot, window, door.uri)
    press(qtbot, offered(qtbot, window), "Not now")
    window.connecting.disconnect_session(session)
    opened(qtbot, window, door.uri)
    assert window.status.advice.isHidden()


@pytest.mark.deep
def test_an_unsafe_server_is_warned_of_and_edited_only_after_its_name_is_typed(
    qtbot: QtBot, window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    with torn_server(monkeypatch) as server, Door(server.uri) as door:
        with pymongo.MongoClient(server.uri) as client:
            client.shop.things.insert_many([{"_id": f"a{n}", "v": 1, "n": n} for n in range(3)])
        session, _ = opened(qtbot, window, door.uri)
        press(qtbot, offered(qtbot, window), "Measure")
        qtbot.waitUntil(lambda: bool(lines(window, "is unsafe to write to")))
        assert not session.writing.open(NS, session.documents.find_id(NS, "a1")).writable
        press(qtbot, lines(window, "is unsafe to write to")[0], "Allow editing…")
        (question,) = window.findChildren(Question)
        assert not question.verb.isEnabled()
        assert question.field is not None
        question.field.setText("staging")
        question.verb.click()
        assert session.writing.open(NS, session.documents.find_id(NS, "a1")).writable
        window.connecting.disconnect_session(session)


@pytest.mark.deep
def test_the_page_shows_every_promise_with_what_to_do(qtbot: QtBot, window: Window, door: Door) -> None:
    opened(qtbot, window, door.uri)
    window.actions_.trigger("check")
    page = window.workspace.tab_area.page
    assert isinstance(page, CheckPage)
    assert page.panel.found == []
    page.panel.run.click()
    qtbot.waitUntil(lambda: len(page.panel.found) == 9 and page.panel.run.isEnabled())
    shown = [each.accessibleName() for each in page.panel.findChildren(type(page.panel._summary))]
    assert any(name.startswith("Atomic swaps: Holds.") for name in shown)
    assert any("Change streams: Limited." in name and "feeding" not in name for name in shown)


def test_with_large_text_the_words_on_a_lost_connection_have_the_width_of_the_line(qtbot: QtBot) -> None:
    with LocalServer() as server, Session.open(server.uri) as session:
        watch = connection_watch.ConnectionWatch(session)
        watch.lost = watch.seen
        line = connection_watch.LostLine()
        qtbot.addWidget(line)
        line.put(watch)
        line.resize(464, 120)
        qtbot.waitUntil(lambda: line.now.y() >= line._text.geometry().bottom())
        assert line._text.width() > 380
        line.resize(1400, 60)
        qtbot.waitUntil(lambda: line.now.y() < line._text.geometry().bottom())
        watch.deleteLater()


def test_two_connections_that_are_lost_do_not_keep_each_other_asking(
    qtbot: QtBot, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_watch, "SECOND", 10**6)  # none asks in its own time
    asked: list[Session] = []
    ask = Session.refresh_facts

    def counted(session: Session) -> ServerFacts:
        asked.append(session)
        return ask(session)

    monkeypatch.setattr(Session, "refresh_facts", counted)
    with Session.open(door.uri) as one, Session.open(door.uri) as other:
        watches = [ConnectionWatch(one), ConnectionWatch(other)]
        door.shut()
        qtbot.waitUntil(lambda: all(each.lost is not None for each in watches))
        asked.clear()
        watches[0].ask()  # as a person does
        qtbot.waitUntil(lambda: not watches[0]._asking)
        qtbot.waitUntil(lambda: not tasks.tasks.running)
        assert asked == [one]
        for each in watches:
            each.deleteLater()
