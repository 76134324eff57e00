"""A person follows a field: from a menu to its history, and on to when a condition became true."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QPushButton
from pytestqt.qtbot import QtBot

from gui.pages.base import Page
from gui.pages.history_pages import BisectPage, BlamePage, FieldPage
from gui.pages.page_request import ConditionStart, FieldStart, PageRequest
from gui.parts.fields.field_values import condition_on
from gui.window.window import Window
from model.values.canonical import Path as FieldPath
from model.values.canonical import Value
from tests.gui.window.windows import collection, document, wait_idle

NS, ID = "insurance.contracts", "K-118240"


def show(qtbot: QtBot, window: Window, request: PageRequest) -> Page:
    page = window.workspace.open(window.sessions[0], request)
    assert page is not None
    wait_idle(qtbot)
    return page


def field_page(qtbot: QtBot, window: Window, path: FieldPath, id: str = ID) -> FieldPage:
    page = show(qtbot, window, PageRequest("field", NS, Value.of(id), FieldStart(path)))
    assert isinstance(page, FieldPage)
    wait_idle(qtbot, lambda: page.panel.chain is not None and bool(page.panel.model.rows))
    wait_idle(qtbot)
    return page


def choose(menu: QMenu, words: str) -> None:
    """Choose a line of a menu."""
    next(action for action in menu.actions() if action.text() == words).trigger()


def front(window: Window) -> Page:
    page = window.workspace.tab_area.page
    assert page is not None
    return page


@pytest.mark.deep
def test_a_search_that_finds_no_field_says_why_nothing_is_shown(qtbot: QtBot, window: Window) -> None:
    panel = field_page(qtbot, window, ("premium", "gross")).panel
    panel.search.setText("nothing like it")
    assert panel._inner.state.help.startswith("No version has a field with “nothing like it” in its name.")
    panel.search.clear()
    assert panel._inner.kind == "content"


def test_the_history_of_a_number_is_a_list_and_a_line(qtbot: QtBot, window: Window) -> None:
    panel = field_page(qtbot, window, ("premium", "gross")).panel
    assert panel.name.text() == "premium.gross"
    assert panel.summary.text() == "15 changes in 57 versions"
    rows = [[panel.model.index(row, column).data() for column in range(1, 6)] for row in range(panel.model.rowCount())]
    assert rows[0] == ["v57", "12 Feb 2026 11:01", "portal", "561.37", "587.02"]
    assert rows[11] == ["v17–v20", "24 Jul 2018 15:52", "ab-117", "339.95", "352.60"]
    assert rows[-1] == ["v1", "12 Feb 2014 09:49", "rk-204", "there from the start", "312.40"]
    assert panel.plot.isVisible()
    assert [one.y for one in panel.plot.points if one.is_set][-1] == 587.02
    assert sum(one.gap for one in panel.plot.points) == 1
    assert panel.plot.accessibleName() == "Values from 312.40 to 587.02 over 57 versions; they are listed below"


@pytest.mark.deep
def test_a_click_on_the_line_chooses_the_setting_and_enter_compares(qtbot: QtBot, window: Window) -> None:
    panel = field_page(qtbot, window, ("premium", "gross")).panel
    at = next(i for i, one in enumerate(panel.plot.points) if one.age == 60 - 43)
    place = panel.plot.places()[at].toPoint() + QPoint(1, 30)
    qtbot.mouseClick(panel.plot, Qt.MouseButton.LeftButton, pos=place)
    assert panel.model.index(panel.settings.currentIndex().row(), 1).data() == "v43"
    assert panel.plot.current == 60 - 43
    assert panel.compare_button.text() == "Compare v42 and v43"
    qtbot.keyClick(panel.settings, Qt.Key.Key_Return)
    wait_idle(qtbot, lambda: front(window).kind == "collection")
    page = collection(window)
    wait_idle(qtbot, lambda: [one.v for one in page.timeline.chosen() if one] == [Value.of(42), Value.of(43)])


@pytest.mark.deep
def test_dates_are_drawn_by_time_and_texts_are_not_drawn(qtbot: QtBot, window: Window) -> None:
    page = field_page(qtbot, window, ("period", "to"))
    panel = page.panel
    assert panel.plot.isVisible()
    before = panel.plot.places()
    panel.by_time.click()
    assert panel.plot.places() != before
    panel.show_field(("status",))
    wait_idle(qtbot, lambda: panel.name.text() == "status")
    assert not panel.plot.isVisible()
    assert not panel.by_time.isVisible()
    panel.show_field(("premium",))  # holds others: they are listed
    wait_idle(qtbot, lambda: panel.search.text() == "premium.")
    names = [panel.fields.index(row, 0).data() for row in range(panel.fields.rowCount())]
    assert names == ["premium.net", "premium.tax", "premium.gross", "premium.discount"]


@pytest.mark.deep
def test_a_field_that_is_gone_says_so_and_a_long_value_is_copied_whole(qtbot: QtBot, window: Window) -> None:
    panel = field_page(qtbot, window, ("notes",)).panel
    assert panel.name.text() == "notes"
    column = 5
    row = next(i for i, one in enumerate(panel.model.rows) if one.made.after is not None)
    panel.settings.setCurrentIndex(panel.model.index(row, column))
    QGuiApplication.clipboard().setText("")
    qtbot.keyClick(panel.settings, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    wait_idle(qtbot, lambda: QGuiApplication.clipboard().text() != "")
    panel.search.setText("premium.discount")
    assert panel.summary.text().endswith("not in the current version")


@pytest.mark.deep
def test_a_search_that_finds_no_field_says_so_and_shows_all_again(qtbot: QtBot, window: Window) -> None:
    panel = field_page(qtbot, window, ("status",)).panel
    many = panel.fields.rowCount()
    panel.search.setFocus()
    qtbot.keyClicks(panel.search, "nobody")

    def offered() -> list[QPushButton]:
        return [
            each for each in panel.findChildren(QPushButton) if each.isVisible() and each.text() == "Show all fields"
        ]

    qtbot.waitUntil(lambda: len(offered()) == 1)
    assert not panel.settings.isVisible()
    offered()[0].click()
    assert panel.fields.rowCount() == many > 1
    assert panel.settings.isVisible()
    assert panel.model.rows


def test_a_condition_is_found_from_the_field_and_turns_are_compared(qtbot: QtBot, window: Window) -> None:
    panel = field_page(qtbot, window, ("status",)).panel
    panel.find_button.click()
    wait_idle(qtbot, lambda: isinstance(front(window), BisectPage))
    page = front(window)
    assert isinstance(page, BisectPage)
    wait_idle(qtbot, lambda: page.panel.found is not None)
    assert page.panel.input.text() == '{ "status": "reinstated" }'
    page.panel.input.setText("{ 'premium.gross': { $gte: 400 } }")
    qtbot.keyClick(page.panel.input, Qt.Key.Key_Return)
    wait_idle(qtbot, lambda: page.panel.ran.startswith("{ 'premium"))
    model = page.panel.model
    assert [model.index(0, column).data() for column in range(3)] == ["v26", "12 Feb 2020 11:54", "ab-117"]
    assert page.panel.summary.text() == "It holds now; 1 turn in 57 versions that can be read"
    qtbot.keyClick(page.panel.list, Qt.Key.Key_Return)
    wait_idle(qtbot, lambda: front(window).kind == "collection")
    there = collection(window)
    wait_idle(qtbot, lambda: [one.v for one in there.timeline.chosen() if one] == [Value.of(25), Value.of(26)])


@pytest.mark.deep
def test_a_condition_that_never_turns_or_is_not_understood_says_so(qtbot: QtBot, window: Window) -> None:
    page = show(qtbot, window, PageRequest("bisect", NS, Value.of(ID), ConditionStart("{ nothing: 1 }")))
    assert isinstance(page, BisectPage)
    wait_idle(qtbot, lambda: page.panel.found is not None)
    assert page.panel.stack.state.title == "It never turns"
    page.panel.ask("{ status: { $nonsense: 1 } }")
    wait_idle(qtbot, page.panel.trouble.isVisible)
    assert "$nonsense" in page.panel.trouble.text()
    page.panel.ask("")
    assert page.panel.trouble.text() == "Type a condition first."


@pytest.mark.deep
def test_the_fields_of_the_document_are_offered_where_a_condition_is_typed(qtbot: QtBot, window: Window) -> None:
    page = show(qtbot, window, PageRequest("bisect", NS, Value.of(ID)))
    assert isinstance(page, BisectPage)
    line = page.panel.input
    line.setFocus()
    qtbot.keyClicks(line, "{ premium.g")
    assert [each.word for each in line.offered] == ["premium.gross"]
    qtbot.keyClick(line, Qt.Key.Key_Tab)
    qtbot.keyClicks(line, "{ $gte: 400 } }")
    qtbot.keyClick(line, Qt.Key.Key_Return)
    wait_idle(qtbot, lambda: page.panel.found is not None)
    assert page.panel.model.index(0, 0).data() == "v26"


def choose_in_blame(qtbot: QtBot, window: Window, id: Value, entry: str) -> None:
    """Open the blame of a document, and choose an entry of the menu of ``status``."""
    blame = show(qtbot, window, PageRequest("blame", NS, id))
    assert isinstance(blame, BlamePage)
    wait_idle(qtbot, lambda: bool(blame.panel.model.rows))
    choose(blame.panel.menu(next(one for one in blame.panel.model.rows if one.path == ("status",))), entry)


@pytest.mark.deep
def test_menus_of_fields_lead_to_their_history(qtbot: QtBot, window: Window) -> None:
    session, id = window.sessions[0], Value.of("K-204117")
    page = show(qtbot, window, PageRequest("document", NS, id))
    editor = document(window).editor
    wait_idle(qtbot, lambda: editor.is_loaded)
    node = editor.model.node(editor.model.find(("premium", "gross")))
    choose(editor.menus.menu(node), "History of premium.gross")
    wait_idle(qtbot, lambda: isinstance(front(window), FieldPage))
    field = front(window)
    assert isinstance(field, FieldPage)
    wait_idle(qtbot, lambda: field.panel.name.text() == "premium.gross")
    choose_in_blame(qtbot, window, id, "History of status")
    wait_idle(qtbot, lambda: isinstance(front(window), FieldPage))
    choose_in_blame(qtbot, window, id, "Find when this became true…")
    wait_idle(qtbot, lambda: isinstance(front(window), BisectPage))
    window.workspace.open(session, PageRequest("collection", NS, id))
    listed = collection(window)
    wait_idle(qtbot, lambda: listed.diff.comparison is not None and listed.diff.id == id)
    changed = listed.diff.model.node(listed.diff.table.currentIndex())
    assert changed is not None
    menu = listed.diff.menu(changed)
    choose(menu, next(a.text() for a in menu.actions() if a.text().startswith("History of ")))
    wait_idle(qtbot, lambda: isinstance(front(window), FieldPage))
    assert page is not front(window)


def test_a_condition_to_begin_from_leaves_out_places_in_arrays() -> None:
    assert condition_on(("riders", 2, "code"), Value.of("GLASS")) == '{ "riders.code": "GLASS" }'
    assert condition_on(("n",), Value.of(5)) == '{ "n": 5 }'
    assert condition_on(("n",), None) == '{ "n": { "$exists": true } }'
