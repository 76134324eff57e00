"""A page that is made while a person looks for a collection, and filled once one is chosen."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QEnterEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from gui.pages.collection_page import CollectionPage
from gui.pages.page_request import PageRequest
from gui.window.palette import Palette
from gui.window.window import Window
from tests.gui.window.windows import new_window, open_sample, sheet, wait_idle


def made_ahead(window: Window, qtbot: QtBot) -> CollectionPage:
    """The page that waits for a collection, with all of its parts."""
    area = window.workspace.tab_area
    qtbot.waitUntil(lambda: area._ahead is not None and area._ahead._comparison_part.is_made)
    made = area._ahead
    assert made is not None
    return made


def palette_of(window: Window) -> Palette:
    window.commands.do_palette()
    found = sheet(window)
    assert isinstance(found, Palette)
    return found


def test_a_collection_found_in_the_palette_fills_the_page_made_meanwhile(window: Window, qtbot: QtBot) -> None:
    palette = palette_of(window)
    made = made_ahead(window, qtbot)
    palette.input.setText("insurance claims")
    qtbot.keyClick(palette.input, Qt.Key.Key_Return)
    wait_idle(qtbot)
    assert window.workspace.page is made
    assert made.ns == made.browser.ns == made.timeline.ns == made.diff.ns == "insurance.claims"
    assert made.title == "claims"
    assert made.browser.list.accessibleName() == "Documents of insurance.claims"
    assert made.browser.model.rows
    assert made.browser.row is not None
    assert made.timeline.shown_id == made.browser.row.id
    assert made.memory().ns == "insurance.claims"
    assert window.workspace.tab_area._ahead is None


def test_what_is_remembered_of_a_collection_is_that_of_the_one_chosen(window: Window, qtbot: QtBot) -> None:
    palette_of(window).reject()
    made = made_ahead(window, qtbot)
    session = window.workspace.session
    assert session is not None
    beside = window.workspace.open(session, PageRequest("collection", "insurance.customers", way="beside"))
    assert beside is made
    wait_idle(qtbot)
    made.browser.bar.input.setText('{ "name": { "$exists": true } }')
    qtbot.keyClick(made.browser.bar.input, Qt.Key.Key_Return)
    wait_idle(qtbot)
    made.browser.bar.columns_chosen.emit("name")
    other = CollectionPage(session, "insurance.customers")
    qtbot.addWidget(other)
    assert [each.filter for each in other.browser.bar.past.ran()] == ['{ "name": { "$exists": true } }']
    assert other.browser.bar.query.fields == "name"
    made.browser.bar.columns_chosen.emit("")
    made.browser.bar.past.forget_ran()


def test_a_page_that_waits_is_no_tab_is_not_seen_and_takes_no_key(window: Window, qtbot: QtBot) -> None:
    area = window.workspace.tab_area
    before = area.pages.copy()
    point = QPointF(5, 5)
    QApplication.sendEvent(window.workspace.sidebar, QEnterEvent(point, point, point))
    made = made_ahead(window, qtbot)
    wait_idle(qtbot)
    assert area.pages == before
    assert not made.isVisible()
    seen: set[QWidget] = set()
    here: QWidget | None = window
    while here is not None and here not in seen:
        seen.add(here)
        window.focusNextChild()
        here = QApplication.focusWidget()
        assert here is None or not made.isAncestorOf(here)


@pytest.mark.parametrize("kind", ["activity", "repair"])
def test_a_page_of_another_kind_leaves_it_waiting(window: Window, qtbot: QtBot, kind: str) -> None:
    palette_of(window).reject()
    made = made_ahead(window, qtbot)
    session = window.workspace.session
    assert session is not None
    page = window.workspace.open(session, PageRequest(kind, "insurance.agents"))
    wait_idle(qtbot)
    assert window.workspace.tab_area._ahead is made
    window.workspace.tab_area.close_page(page)


def test_it_is_made_anew_for_a_connection_marked_as_production_since(window: Window, qtbot: QtBot) -> None:
    palette_of(window).reject()
    made = made_ahead(window, qtbot)
    session = window.workspace.session
    assert session is not None
    window.workspace.tab_area._production = lambda _: True
    page = window.workspace.open(session, PageRequest("collection", "insurance.agents"))
    assert isinstance(page, CollectionPage)
    assert page is not made
    assert page.production
    wait_idle(qtbot)


def test_it_goes_with_its_connection(qtbot: QtBot) -> None:
    window = new_window(qtbot)
    open_sample(qtbot, window)
    palette_of(window).reject()
    made = made_ahead(window, qtbot)
    window.commands.do_disconnect()
    qtbot.waitUntil(lambda: not isValid(made))
    assert window.workspace.tab_area._ahead is None
