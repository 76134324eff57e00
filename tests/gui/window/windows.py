"""A window over the sample, for tests of the whole."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from gui import tasks, turns
from gui.pages.base import Page
from gui.pages.collection_page import CollectionPage
from gui.pages.document_pages import DocumentPage
from gui.pages.page_registry import PAGES
from gui.pages.page_request import ConditionStart, FieldStart, PageRequest, PairStart, TakingBackStart
from gui.parts.document_side import DocumentSide
from gui.style.sheet import Sheet
from gui.window.opening import Opened, Opening
from gui.window.window import Window
from model.foundation.records import Draft
from model.operations.taking_back import Chosen
from model.session import Session
from model.values import canonical
from model.values.canonical import Value

NS = "insurance.contracts"
ID = "K-204117"
PATIENCE = 60_000  # milliseconds, for what is waited for without pytest-qt
READ_ON_DEMAND = frozenset(("check", "repair", "health", "times", "collections"))


def wait_idle(qtbot: QtBot, until: Callable[[], bool] = lambda: True) -> None:
    """Wait until nothing is being done, all pages are whole, and something holds."""
    qtbot.waitUntil(lambda: not tasks.tasks.running and not turns.turns.waiting and until())


def new_window(qtbot: QtBot, width: int = 1440, height: int = 900) -> Window:
    """A window at the welcome page."""
    made = Window()
    qtbot.addWidget(made, before_close_func=lambda window: window.close_quietly())
    made.resize(width, height)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    return made


def open_source(qtbot: QtBot, window: Window, opening: Opening) -> Session:
    """Open a source and wait for its collections."""
    before = len(window.sessions)
    window.open(opening)
    wait_idle(qtbot, lambda: len(window.sessions) > before)
    return window.sessions[-1]


def window_over(qtbot: QtBot, uri: str, ns: str, profile: Path) -> Window:
    """A window over a server whose documents a profile tells, with a collection in front and a document chosen."""
    made = new_window(qtbot)
    session = open_source(qtbot, made, Opening(uri, profile=str(profile)))
    made.workspace.sidebar.collection_asked.emit(session, ns, False)
    wait_idle(qtbot, lambda: isinstance(made.workspace.page, CollectionPage) and made.workspace.page.id is not None)
    return made


def press(window: Window, keys: str) -> None:
    """Strike keys where the focus is."""
    at = QKeySequence(keys)[0]
    QTest.keyClick(window.focusWidget() or window, at.key(), at.keyboardModifiers())


def open_sample(qtbot: QtBot, window: Window) -> Session:
    """Open the sample and wait for its first page."""
    window.connecting.open_sample()
    wait_idle(qtbot, lambda: bool(window.sessions) and window.workspace.tab_area.page is not None)
    return window.sessions[-1]


def adopt(qtbot: QtBot, window: Window, session: Session) -> None:
    """Show a session that several tests share; whoever made it closes it. Making the sample takes a second."""
    session.close = _stay_open  # type: ignore[method-assign]
    window.connecting.opener.opened.emit(Opened(session, Opening(session.source, session.name)))
    wait_idle(qtbot, lambda: window.workspace.tab_area.page is not None)


def _stay_open() -> None:
    pass


def collection(window: Window) -> CollectionPage:
    """The page in front, which is a collection's."""
    page = window.workspace.tab_area.page
    assert isinstance(page, CollectionPage)
    return page


def document(window: Window) -> DocumentPage:
    """The page in front, which is a document's."""
    page = window.workspace.tab_area.page
    assert isinstance(page, DocumentPage)
    return page


def sheet(window: QWidget) -> Sheet:
    """The dialog that is open."""
    shown = [found for found in window.findChildren(Sheet) if found.isVisible()]
    assert len(shown) == 1, [found.accessibleName() for found in shown]
    return shown[0]


def told(window: Window) -> list[str]:
    """The messages at the foot of the window."""
    return [line.text for line in window.messages.lines]


def every_page(session: Session) -> Iterator[PageRequest]:
    """A request for each kind of page, with what it begins with."""
    id = session.documents.find_id(NS, ID)
    yield PageRequest("collection", NS, id)
    yield from (PageRequest(kind, NS, id) for kind in ("document", "blame", "map"))
    yield PageRequest("bisect", NS, id, ConditionStart('{ "premium.gross": { "$gte": 450 } }'))
    yield PageRequest("field", NS, id, FieldStart(("premium", "gross")))
    other = session.documents.find_id(NS, "K-204111")
    yield PageRequest("pair", NS, id, PairStart(DocumentSide(session, NS, id), DocumentSide(session, NS, other)))
    base = session.history.version(NS, id, session.catalogue.reading.find_version(NS, id, "12"))
    mine = canonical.put(base.content or canonical.EMPTY, ("deductible",), Value.of(250))
    yield PageRequest("merge", NS, id, session.writing.conflict(NS, id, base, mine))
    yield PageRequest("times", NS)
    yield PageRequest("collections", NS)
    yield from (PageRequest(kind, "insurance.claims") for kind in ("activity", "migrate"))
    yield PageRequest(
        "taking-back", NS, None, TakingBackStart((Chosen(id, (session.catalogue.reading.find_version(NS, id, "14"),)),))
    )
    yield from (PageRequest(kind) for kind in ("pending", "drafts", "journal", "check"))
    yield from (PageRequest(kind, "insurance") for kind in ("repair", "health"))


def each_kind(*quick: str) -> list[Any]:
    """Every kind of page there is, as parameters of a test: some of them always, the others in deep runs."""
    assert set(quick) <= set(PAGES)
    return [pytest.param(kind, marks=() if kind in quick else pytest.mark.deep) for kind in PAGES]


def filled_page(qtbot: QtBot, window: Window, session: Session, kind: str) -> Page:
    """A page of a kind in front, with everything in it that it has to tell about the sample."""
    page = window.workspace.open(session, next(asked for asked in every_page(session) if asked.kind == kind))
    wait_idle(qtbot)
    if kind in READ_ON_DEMAND:
        page.do_refresh()
        wait_idle(qtbot)
    return page


def with_traces(session: Session) -> None:
    """Let the sample have an entry of the journal and a draft, of which pages tell."""
    id = session.documents.find_id(NS, "K-204111")
    session.edit(NS, "K-204111", set={"status": "lapsed"})
    base = session.history.version(NS, id)
    content = canonical.put(base.content or canonical.EMPTY, ("status",), Value.of("active"))
    session.drafts.keep(Draft(session.source, NS, id, base.v, base.content, content, dt.datetime.now(dt.UTC)))
