"""A server that accepts and then says nothing: every page says so within the time-outs, and the window stays alive."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from gui.pages.page_request import CollectionStart, PageRequest
from gui.style.states import StateStack
from gui.tasks import Tasks
from gui.window.opening import Opening
from gui.window.window import Window
from model.server.server import Server
from model.session import Session
from model.values.canonical import Value
from tests.gui.window.windows import new_window, open_source, wait_idle
from tests.hosted.bench import SHOP, Bench, fill
from tests.hosted.matrix import MODEL
from tests.servers.stalling import StallingServer

LIMITS = ("socketTimeoutMS", "connectTimeoutMS", "serverSelectionTimeoutMS")
SILENCE = 0.6
"""Seconds after which an answer is given up."""
ID, NS = Value.of("K-1"), SHOP["archive"]
READING = [
    PageRequest("collection", NS, ID, CollectionStart(pane="indexes")),
    *(PageRequest(kind, NS, ID) for kind in ("document", "blame", "activity", "repair")),
    PageRequest("pending", "shop.pending"),
]
QUIET = [
    PageRequest("bisect", NS, ID),
    *(PageRequest(kind) for kind in ("drafts", "journal", "check")),
]
"""Pages that ask a server nothing before somebody says what."""


@pytest.fixture
def server() -> Iterator[StallingServer]:
    with StallingServer() as made:
        fill(made, MODEL)
        yield made


def over(qtbot: QtBot, server: StallingServer, folder: Path) -> tuple[Window, Session]:
    window = new_window(qtbot)
    limits = (f"&{name}={SILENCE * 1000:.0f}" for name in LIMITS)
    return window, open_source(qtbot, window, Opening(server.uri + "".join(limits), profile=Bench("", folder).profile))


def test_every_page_tells_of_a_silent_server_and_none_holds_up_the_window(
    qtbot: QtBot, server: StallingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, session = over(qtbot, server, tmp_path)
    server.stall()
    asking: list[threading.Thread] = []
    reach = Server._reach
    monkeypatch.setattr(Server, "_reach", lambda port: (asking.append(threading.current_thread()), reach(port)))
    pages = [(asked, window.workspace.open(session, asked)) for asked in (*READING, *QUIET)]
    wait_idle(qtbot)
    assert asking
    assert threading.main_thread() not in asking
    for asked, page in pages:
        states = [stack for stack in page.findChildren(StateStack) if stack.kind == "failed"]
        assert bool(states) == (asked in READING), asked
        for each in states:
            assert each.state.help.endswith(("try again.", "firewalls.")), (asked, each.state.help)


def test_a_window_that_waits_for_a_silent_server_is_gone_once_it_is_closed(
    qtbot: QtBot, server: StallingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, session = over(qtbot, server, tmp_path)
    server.stall()
    window.workspace.open(session, PageRequest("blame", NS, ID))
    seen: list[bool] = []
    stop_all = Tasks.stop_all
    monkeypatch.setattr(Tasks, "stop_all", lambda tasks: (seen.append(window.isVisible()), stop_all(tasks)))
    window.close_quietly()
    assert seen == [False]
