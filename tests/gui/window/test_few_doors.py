"""How many doors the window has: entries of the menus that a right click opens."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from gui.pages.activity_page import ActivityPage
from gui.pages.history_pages import BlamePage
from gui.pages.page_request import PageRequest
from gui.parts.fields.field_model import VALUE
from gui.window.window import Window
from model.values.canonical import Value
from tests.gui.window.windows import ID, NS, collection, document, wait_idle

MOST = 8


def entries(menu: QMenu | None) -> list[str]:
    """What is seen at once when the menu opens; a submenu is one entry."""
    assert menu is not None
    return [action.text() for action in menu.actions() if not action.isSeparator() and action.isVisible()]


@pytest.mark.deep
def test_a_menu_of_a_right_click_has_eight_entries_at_most(window: Window, qtbot: QtBot) -> None:
    session = window.sessions[-1]
    page = collection(window)
    wait_idle(qtbot, lambda: page.diff.comparison is not None)
    rows = page.browser.model.rows
    differing = page.diff.table.currentIndex()
    menus = {
        "a document": page.browser.menu_for(rows[0]),
        "several documents": page.browser.menu_for_many(rows[:3]),
        "a version": page.timeline.menu(0),
        "an older version": page.timeline.menu(3),
        "a difference": page.diff.menu(page.diff.model.node(differing)),
    }
    sidebar = window.workspace.sidebar
    connection = sidebar.model.roots[0]
    for place in ("insurance.contracts", "insurance.contracts_history", "reporting.texts"):
        node = connection.find(place)
        assert node is not None
        menus[place] = sidebar.menu_for(node)
    menus |= {"a connection": sidebar.menu_for(connection), "a database": sidebar.menu_for(connection.children[0])}
    window.workspace.open(session, PageRequest("document", NS, Value.of(ID)))
    wait_idle(qtbot, lambda: document(window).editor.is_loaded)
    editor = document(window).editor
    for path in (("status",), ("holder",), ("riders",), ("riders", 0), ("riders", 0, "premium")):
        menus[f"the field {path}"] = editor.menus.menu(editor.model.node(editor.model.find(path, VALUE)))
    blame = window.workspace.open(session, PageRequest("blame", NS, Value.of(ID)))
    assert isinstance(blame, BlamePage)
    wait_idle(qtbot)
    menus["a field's last change"] = blame.panel.menu(blame.panel.model.rows[0])
    activity = window.workspace.open(session, PageRequest("activity", NS))
    assert isinstance(activity, ActivityPage)
    wait_idle(qtbot, lambda: bool(activity.panel.rows))
    menus["a change"] = activity.panel.menu(activity.panel.rows[0])
    long = {what: found for what, menu in menus.items() if len(found := entries(menu)) > MOST}
    assert not long
