"""A person takes back an import: chosen in the activity, tried, written, decided, and undone as one run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymongo.database
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.messages import Question
from gui.pages.activity_page import ActivityPage
from gui.pages.collection_page import CollectionPage
from gui.pages.document_pages import DocumentPage, MergePage
from gui.pages.history_pages import FieldPage
from gui.pages.page_request import FieldStart, PageRequest
from gui.pages.repair_pages import TakingBackPage
from gui.pages.tool_pages import JournalPage
from gui.views.activity.activity_model import AUTHOR
from gui.window.window import Window
from model.values.canonical import Value
from tests.gui.activity_scenes import imported, newest, widen
from tests.gui.conftest import look
from tests.gui.window.windows import press, wait_idle, window_over

__all__ = ["look"]  # a fixture

Db = pymongo.database.Database[dict[str, Any]]
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def window(qtbot: QtBot, database: Db, server_uri: str, tmp_path: Path) -> Window:
    """A window over the orders, with their collection in front."""
    return window_over(qtbot, server_uri, *imported(database, tmp_path))


def plan(qtbot: QtBot, window: Window) -> TakingBackPage:
    wait_idle(qtbot, lambda: isinstance(window.workspace.page, TakingBackPage))
    page = window.workspace.page
    assert isinstance(page, TakingBackPage)
    wait_idle(qtbot, lambda: len(page.panel.model.drawn) == len(page.panel.model.rows))
    return page


@pytest.mark.deep
@pytest.mark.slice
def test_an_import_is_taken_back_from_its_heading_and_undone_from_the_journal(
    qtbot: QtBot, window: Window, database: Db
) -> None:
    before = newest(database)
    press(window, "Ctrl+Shift+G")
    wait_idle(qtbot, lambda: isinstance(window.workspace.page, ActivityPage))
    activity = window.workspace.page
    assert isinstance(activity, ActivityPage)
    widen(activity.panel)
    wait_idle(qtbot, lambda: len(activity.panel.rows) == 11)
    QTest.mouseClick(activity.panel.grouping.button(AUTHOR), LEFT)
    model, tree = activity.panel.model, activity.panel.tree
    at = next(n for n, group in enumerate(model.groups) if group.name == "import")
    QTest.mouseClick(
        tree.viewport(), LEFT, Qt.KeyboardModifier.NoModifier, tree.visualRect(model.index(at, 0)).center()
    )
    QTest.mouseClick(activity.panel.take_back_button, LEFT)
    page = plan(qtbot, window)
    assert page.panel.go.text() == "Take back in 2 documents"
    QTest.mouseClick(page.panel.go, LEFT)
    wait_idle(qtbot, lambda: len(page.panel.model.ends) == 2)
    written = newest(database)
    assert written == {**before, "A": {"v": 4, "total": 1, "city": "Ulm"}, "D": {"v": 3, "total": 7}}
    journal = window.workspace.open(window.sessions[0], PageRequest("journal"))
    assert isinstance(journal, JournalPage)
    wait_idle(qtbot, lambda: len(journal.panel.model.rows) == 2)
    QTest.mouseClick(journal.panel.undo_run, LEFT)
    (question,) = window.findChildren(Question)
    QTest.mouseClick(question.verb, LEFT)
    wait_idle(qtbot, lambda: "city" in newest(database)["D"])
    assert {id: {**row, "v": 0} for id, row in newest(database).items()} == {
        id: {**row, "v": 0} for id, row in before.items()
    }


@pytest.mark.deep
@pytest.mark.slice
def test_one_version_is_taken_back_from_the_timeline_and_a_later_edit_decided_by_keys(
    qtbot: QtBot, window: Window, database: Db
) -> None:
    collection = window.workspace.page
    assert isinstance(collection, CollectionPage)
    collection.show_document(Value.of("B"))
    wait_idle(qtbot, lambda: collection.timeline.shown_id == Value.of("B"))
    row = collection.timeline.model.row_of(Value.of(2))
    assert row is not None
    menu = collection.timeline.menu(row)
    assert menu is not None
    words = {action.text(): action for action in menu.actions()}
    first = collection.timeline.menu(len(collection.timeline.model.marks) - 1)
    assert first is not None
    (created,) = [action for action in first.actions() if action.text() == "Take back v1…"]
    assert not created.isEnabled()
    words["Take back v2…"].trigger()
    page = plan(qtbot, window)
    assert not page.panel.go.isEnabled()
    QTest.mouseClick(page.panel.decide, LEFT)
    wait_idle(qtbot, lambda: isinstance(window.workspace.page, MergePage))
    merge = window.workspace.page
    assert isinstance(merge, MergePage)
    press(window, "Ctrl+2")
    press(window, "Ctrl+S")
    wait_idle(qtbot, lambda: isinstance(window.workspace.page, DocumentPage))
    assert newest(database)["B"] == {"v": 4, "total": 2, "city": "Bonn"}
    window.workspace.tab_area.show_page(page)
    wait_idle(qtbot, lambda: not page.is_behind)
    assert page.panel.model.said(page.panel.model.rows[0])[2] == "Nothing to take back"


@pytest.mark.deep
@pytest.mark.slice
def test_one_change_of_a_field_is_taken_back_from_its_history(qtbot: QtBot, window: Window, database: Db) -> None:
    session = window.sessions[0]
    start = FieldStart(("total",))
    page = window.workspace.open(session, PageRequest("field", f"{database.name}.orders", Value.of("A"), start))
    assert isinstance(page, FieldPage)
    wait_idle(qtbot, lambda: len(page.panel.model.rows) == 2)
    assert page.panel.take_back_button.isEnabled(), "the newest change is chosen"
    page.panel.settings.setCurrentIndex(page.panel.model.index(1, 1))
    assert not page.panel.take_back_button.isEnabled(), "it was there from the start"
    page.panel.settings.setCurrentIndex(page.panel.model.index(0, 1))
    QTest.mouseClick(page.panel.take_back_button, LEFT)
    taking = plan(qtbot, window)
    assert taking.panel.fields.text() == "total"
    QTest.mouseClick(taking.panel.go, LEFT)
    wait_idle(qtbot, lambda: len(taking.panel.model.ends) == 1)
    assert newest(database)["A"] == {"v": 4, "total": 1, "city": "Ulm"}


@pytest.mark.deep
@pytest.mark.slice
def test_the_field_of_the_activitys_filter_comes_along(qtbot: QtBot, window: Window) -> None:
    press(window, "Ctrl+Shift+G")
    wait_idle(qtbot, lambda: isinstance(window.workspace.page, ActivityPage))
    activity = window.workspace.page
    assert isinstance(activity, ActivityPage)
    widen(activity.panel)
    wait_idle(qtbot, lambda: len(activity.panel.rows) == 11)
    activity.panel.filter.path.setText("city")
    QTest.keyClick(activity.panel.filter.path, Qt.Key.Key_Return)
    wait_idle(qtbot, lambda: 0 < len(activity.panel.rows) < 11)
    activity.panel.tree.selectAll()
    QTest.mouseClick(activity.panel.take_back_button, LEFT)
    taking = plan(qtbot, window)
    assert {row.paths for row in taking.panel.model.rows} == {(("city",),)}
    assert taking.panel.fields.text() == "city"
