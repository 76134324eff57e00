"""A server that accepts and then says nothing: every page says so within the time-outs, and the window stays alive."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from gui.messages import MessageArea
from gui.pages.document_pages import MergePage
from gui.pages.page_request import CollectionStart, PageRequest, PairStart, TakingBackStart
from gui.pages.pair_page import PairPage
from gui.pages.repair_pages import TakingBackPage
from gui.parts.document_side import DocumentSide
from gui.style.states import StateStack
from gui.tasks import Tasks
from gui.window.opening import Opening
from gui.window.window import Window
from model.operations.taking_back import Chosen
from model.server.server import Server
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from tests.gui.window.windows import new_window, open_source, wait_idle
from tests.hosted.bench import SHOP, Bench, fill
from tests.hosted.matrix import MODEL
from tests.servers.stalling import StallingServer

LIMITS = ("socketTimeoutMS", "connectTimeoutMS", "serverSelectionTimeoutMS")
SILENCE = 0.6
"""Seconds after which an answer is given up."""
ID, OTHER, NS = Value.of("K-1"), Value.of("K-2"), SHOP["archive"]
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


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The threads that asked a server for something."""
    found: list[threading.Thread] = []
    reach = Server._reach
    monkeypatch.setattr(Server, "_reach", lambda port: (found.append(threading.current_thread()), reach(port)))
    return found


def failed(page: QWidget) -> list[str]:
    """What a page says where it could not read something."""
    return [stack.state.help for stack in page.findChildren(StateStack) if stack.kind == "failed"]


def words(page: QWidget) -> str:
    """What can be read on a page."""
    return " ".join(label.text() for label in page.findChildren(QLabel) if label.isVisible())


def pair(session: Session) -> PageRequest:
    left, right = (DocumentSide(session, NS, id) for id in (ID, OTHER))
    return PageRequest("pair", NS, OTHER, PairStart(left, right))


TAKING_BACK = PageRequest("taking-back", NS, start=TakingBackStart((Chosen(ID, (Value.of(3),)),)))


@pytest.mark.deep
def test_every_page_tells_of_a_silent_server_and_none_holds_up_the_window(
    qtbot: QtBot, server: StallingServer, tmp_path: Path, asking: list[threading.Thread]
) -> None:
    window, session = over(qtbot, server, tmp_path)
    server.stall()
    asking.clear()
    reading = (*READING, pair(session), TAKING_BACK)
    for asked in (*reading, *QUIET):
        page = window.workspace.open(session, asked)
        wait_idle(qtbot)
        said = failed(page)
        assert bool(said) == (asked in reading), asked
        for each in said:
            assert each.endswith(("try again.", "firewalls.")), (asked, each)
    assert asking
    assert threading.main_thread() not in asking


@pytest.mark.deep
@pytest.mark.parametrize("after", [0, 2])
def test_a_merge_that_is_saved_to_a_server_that_falls_silent_says_so_and_stays(
    qtbot: QtBot, server: StallingServer, tmp_path: Path, asking: list[threading.Thread], after: int
) -> None:
    window, session = over(qtbot, server, tmp_path)
    base = session.history.version(NS, ID, Value.of(1))
    mine = canonical.put(base.content or canonical.EMPTY, ("mine",), Value.of(1))
    page = window.workspace.open(session, PageRequest("merge", NS, ID, session.writing.conflict(NS, ID, base, mine)))
    assert isinstance(page, MergePage)
    wait_idle(qtbot, lambda: not page.resolver.save_reason)
    asking.clear()
    server.stall(after)
    page.resolver.save()
    wait_idle(qtbot)
    assert asking
    assert threading.main_thread() not in asking
    assert "Nothing was saved." in words(page) or "It is not known whether" in words(page), words(page)
    assert window.workspace.page is page


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("after", [1, pytest.param(3, marks=pytest.mark.deep)])
def test_taking_back_from_a_server_that_falls_silent_ends_and_says_so(
    qtbot: QtBot, server: StallingServer, tmp_path: Path, asking: list[threading.Thread], after: int
) -> None:
    window, session = over(qtbot, server, tmp_path)
    page = window.workspace.open(session, TAKING_BACK)
    assert isinstance(page, TakingBackPage)
    wait_idle(qtbot, page.panel.go.isEnabled)
    asking.clear()
    server.stall(after)
    page.panel.go.click()
    wait_idle(qtbot)
    assert asking
    assert threading.main_thread() not in asking
    assert not page.panel.busy
    assert not [end for end in page.panel.model.ends.values() if end.kind not in ("refused", "unknown")]
    told = [line.text for area in window.findChildren(MessageArea) for line in area.lines]
    assert any("did not answer in time" in each or "not known" in each for each in told), told


@pytest.mark.deep
def test_two_documents_side_by_side_are_read_again_from_a_server_that_falls_silent(
    qtbot: QtBot, server: StallingServer, tmp_path: Path, asking: list[threading.Thread]
) -> None:
    window, session = over(qtbot, server, tmp_path)
    page = window.workspace.open(session, pair(session))
    assert isinstance(page, PairPage)
    wait_idle(qtbot, lambda: page.panel.diff.comparison is not None)
    asking.clear()
    server.stall()
    page.panel.refresh()
    wait_idle(qtbot)
    assert threading.main_thread() not in asking
    assert "did not answer in time; try again." in words(page)
    assert page.panel.diff.comparison is not None  # what was read before stays, and says of when it is
    server.wake()
    page.panel.refresh()
    wait_idle(qtbot, lambda: "did not answer" not in words(page))


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
