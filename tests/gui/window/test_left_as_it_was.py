"""A server that was open before: its tab comes back before its collections are recognised again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pymongo
import pytest
from pytestqt.qtbot import QtBot

from gui import rest, tasks
from gui.pages.collection_page import CollectionPage
from gui.window.opening import PATIENCE, Opening
from gui.window.sidebar import Sidebar
from gui.window.whole_picture import WholePicture
from gui.window.window import Window
from model.catalogue.catalogue import Catalogue
from model.foundation.records import Checkpoint, CollectionInfo
from model.localserver import LocalServer
from tests.gui.window.windows import new_window, open_source, told, wait_idle

NS = "shop.orders"


@pytest.fixture
def going(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Collections are recognised only while this is set."""
    go, recognised = threading.Event(), Catalogue.collections
    go.set()

    def held(self: Catalogue, db: str | None, checkpoint: Checkpoint) -> Iterator[CollectionInfo]:
        while not go.wait(0.01):
            checkpoint(0, None)
        return recognised(self, db, checkpoint)

    monkeypatch.setattr(Catalogue, "collections", held)
    monkeypatch.setattr(rest, "LONGEST", 50)
    yield go
    go.set()


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer() as made:
        yield made


@pytest.fixture
def client(qtbot: QtBot, server: LocalServer, going: threading.Event) -> Iterator[pymongo.MongoClient[dict[str, Any]]]:
    """A server that a window of an earlier run had open, with a collection in its tab."""
    with pymongo.MongoClient[dict[str, Any]](server.uri) as made:
        made["shop"]["orders"].insert_many(
            {"_id": n, "current": {"v": 3, "total": n}, "prev": [{"v": v, "total": v} for v in (1, 2)]}
            for n in range(20)
        )
        made["shop"]["notes"].insert_many({"_id": n, "text": "x"} for n in range(20))
        window = new_window(qtbot)
        session = open_source(qtbot, window, Opening(server.uri, "shop"))
        window.workspace.sidebar.collection_asked.emit(session, NS, False)
        wait_idle(qtbot)
        window.close_quietly()
        going.clear()
        yield made


def opened(qtbot: QtBot, server: LocalServer) -> tuple[Window, CollectionPage]:
    """The window of this run, once the page that came back has its documents."""
    window = new_window(qtbot)
    window.open(Opening(server.uri, "shop"))
    qtbot.waitUntil(lambda: isinstance(window.workspace.page, CollectionPage))
    page = window.workspace.page
    assert isinstance(page, CollectionPage)
    qtbot.waitUntil(lambda: bool(page.browser.model.rows) and not any(task.title for task in tasks.tasks.running))
    return window, page


def badges(sidebar: Sidebar) -> dict[str, str]:
    return {info.ns: info.layout for infos in sidebar.infos.values() for info in infos}


AS_LEFT = {NS: "embedded", "shop.notes": "plain"}


def test_the_tab_and_the_badges_come_back_before_anything_is_recognised(
    qtbot: QtBot, server: LocalServer, client: pymongo.MongoClient[dict[str, Any]], going: threading.Event
) -> None:
    window, page = opened(qtbot, server)
    sidebar = window.workspace.sidebar
    assert badges(sidebar) == AS_LEFT
    assert page.browser.info is not None
    assert page.browser.info.layout == "embedded"
    assert len(page.browser.model.rows) == 20
    assert all(info.documents is None for infos in sidebar.infos.values() for info in infos)
    going.set()
    wait_idle(qtbot, lambda: all(info.documents == 20 for infos in sidebar.infos.values() for info in infos))
    assert badges(sidebar) == AS_LEFT
    assert len(page.browser.model.rows) == 20
    assert not told(window)
    window.close_quietly()


def test_layouts_that_changed_since_replace_those_that_were_shown(
    qtbot: QtBot, server: LocalServer, client: pymongo.MongoClient[dict[str, Any]], going: threading.Event
) -> None:
    client["shop"]["notes"].delete_many({})
    client["shop"]["notes"].insert_many({"_id": n, "v": 3, "text": "x"} for n in range(20))
    window, page = opened(qtbot, server)
    assert badges(window.workspace.sidebar) == AS_LEFT
    orders = client["shop"]["orders"]
    orders.delete_many({})
    orders.insert_many({"_id": n, "text": "no history"} for n in range(20))
    going.set()
    wait_idle(qtbot, lambda: badges(window.workspace.sidebar)[NS] == "plain")
    wait_idle(qtbot, lambda: page.browser.info is not None and page.browser.info.layout == "plain")
    window.close_quietly()


def test_a_connection_closed_meanwhile_is_not_recognised(
    qtbot: QtBot, server: LocalServer, client: pymongo.MongoClient[dict[str, Any]], going: threading.Event
) -> None:
    window, _ = opened(qtbot, server)
    (session,) = window.sessions
    window.connecting.disconnect_session(session)
    going.set()
    waited: list[bool] = []
    rest.later(window, lambda: waited.append(True))
    wait_idle(qtbot, lambda: bool(waited))
    assert not window.workspace.sidebar.infos
    assert not told(window)
    window.close_quietly()


def test_a_page_that_comes_back_late_is_still_seen_whole(
    qtbot: QtBot, server: LocalServer, client: pymongo.MongoClient[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    window = Window(source_follows=True)
    qtbot.addWidget(window, before_close_func=lambda made: made.close_quietly())
    given: list[int] = []
    await_it = WholePicture.await_it

    def awaited(whole: WholePicture, milliseconds: int) -> None:
        if whole.parent() is window.workspace:
            given.append(milliseconds)
        await_it(whole, milliseconds)

    monkeypatch.setattr(WholePicture, "await_it", awaited)
    window.open(Opening(server.uri, "shop"))
    qtbot.waitUntil(lambda: isinstance(window.workspace.page, CollectionPage))
    assert given == [PATIENCE, PATIENCE]
    qtbot.waitUntil(lambda: not window.workspace.is_awaited)
    assert given == [PATIENCE, PATIENCE]
    page = window.workspace.page
    assert isinstance(page, CollectionPage)
    assert len(page.browser.model.rows) == 20
    window.close_quietly()
