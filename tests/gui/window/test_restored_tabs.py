"""The tabs of the last run: only the one in front is made at once."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.pages.collection_page import CollectionPage
from gui.pages.document_pages import DocumentPage
from gui.pages.history_pages import BlamePage
from gui.pages.page_request import PageRequest
from gui.pages.sleeping_page import SleepingPage
from gui.window.tab_area import TabArea
from gui.window.window import Window
from model.values.canonical import Value
from tests.gui.window.windows import ID, NS, press, wait_idle


def reopened(window: Window, front: int = 1) -> TabArea:
    """The area with three tabs that were kept and closed, as the next run gets them."""
    session, area = window.sessions[-1], window.workspace.tab_area
    for page in list(area.pages):
        area.close_page(page)
    for asked in (
        PageRequest("collection", "insurance.claims"),
        PageRequest("document", NS, Value.of(ID)),
        PageRequest("blame", NS, Value.of(ID)),
    ):
        area.open(session, asked)
    area.show_page(area.pages[front])
    kept = area.memory(session)
    for page in list(area.pages):
        area.close_page(page)
    assert area.restore(session, kept) == 3
    return area


@pytest.mark.deep
def test_only_the_tab_in_front_is_made_and_the_others_when_they_are_shown(window: Window, qtbot: QtBot) -> None:
    area = reopened(window)
    assert [type(page) for page in area.pages] == [SleepingPage, DocumentPage, SleepingPage]
    assert area.page is area.pages[1]
    titles = [area.tabs.bar.tabText(at) for at in range(3)]
    assert titles == ["claims", ID, f"Blame: {ID}"]
    press(window, "Ctrl+Tab")
    qtbot.waitUntil(lambda: isinstance(area.page, BlamePage))
    assert [type(page) for page in area.pages] == [SleepingPage, DocumentPage, BlamePage]
    assert window.focusWidget() is not None
    page = window.workspace.open(window.sessions[-1], PageRequest("collection", "insurance.claims"))
    assert isinstance(page, CollectionPage)
    assert area.pages[0] is page
    assert [area.tabs.bar.tabText(at) for at in range(3)] == titles
    wait_idle(qtbot)


@pytest.mark.deep
def test_a_tab_that_was_not_looked_at_is_kept_and_closed_like_any(window: Window, qtbot: QtBot) -> None:
    area = reopened(window)
    session = window.sessions[-1]
    assert [one["kind"] for one in area.memory(session)] == ["collection", "document", "blame"]
    area.close_page(area.pages[2])
    press(window, "Ctrl+Shift+T")
    qtbot.waitUntil(lambda: isinstance(area.page, BlamePage))
    QTest.mouseClick(area.tabs.bar, Qt.MouseButton.LeftButton, pos=area.tabs.bar.tabRect(0).center())
    qtbot.waitUntil(lambda: isinstance(area.page, CollectionPage))
    assert area.page is area.pages[0]
    wait_idle(qtbot)
