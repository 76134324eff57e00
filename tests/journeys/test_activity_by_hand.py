"""A person asks who changed what, by mouse and keys, while others keep writing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymongo.database
import pytest
from bson import ObjectId
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from gui.pages import page_registry
from gui.pages.activity_page import ActivityPage
from gui.pages.collection_page import CollectionPage
from gui.window.opening import Opening
from gui.window.window import Window
from model.localserver import LocalServer
from model.over_time import tail
from model.values.canonical import Value
from tests.gui.activity_scenes import DAY, orders, widen
from tests.gui.conftest import look
from tests.gui.window.windows import new_window, open_source, press, wait_idle, window_over

__all__ = ["look"]  # a fixture

Db = pymongo.database.Database[dict[str, Any]]
NONE, LEFT = Qt.KeyboardModifier.NoModifier, Qt.MouseButton.LeftButton


@pytest.fixture
def window(qtbot: QtBot, database: Db, server_uri: str, tmp_path: Path) -> Window:
    """A window over the orders, with their collection in front."""
    return window_over(qtbot, server_uri, *orders(database, tmp_path))


def activity(qtbot: QtBot, window: Window) -> ActivityPage:
    wait_idle(qtbot, lambda: isinstance(window.workspace.page, ActivityPage) and not window.workspace.page.is_behind)
    page = window.workspace.page
    assert isinstance(page, ActivityPage)
    widen(page.panel)
    wait_idle(qtbot)
    return page


def rows(page: ActivityPage) -> list[str]:
    return [f"{row.id.python()}{'' if row.v is None else row.v.python()} {row.author}" for row in page.panel.rows]


def point_at(view: Any, index: QModelIndex, double: bool = False) -> None:
    viewport: QWidget = view.viewport()
    place = view.visualRect(index).center()
    QTest.mouseClick(viewport, LEFT, NONE, place)
    if double:
        QTest.mouseDClick(viewport, LEFT, NONE, place)


def compared(qtbot: QtBot, window: Window) -> tuple[object, object]:
    def versions() -> tuple[object, object] | None:
        page = window.workspace.page
        if not isinstance(page, CollectionPage):
            return None
        a, b = page.timeline.chosen()
        if page.diff.comparison is None or a is None or b is None or a.v is None or b.v is None:
            return None
        return a.v.python(), b.v.python()

    wait_idle(qtbot, lambda: versions() is not None)
    found = versions()
    assert found is not None
    return found


@pytest.mark.deep
@pytest.mark.slice
def test_by_keys_from_a_collection_to_the_change_of_an_author(qtbot: QtBot, window: Window) -> None:
    press(window, "Ctrl+Shift+G")
    page = activity(qtbot, window)
    assert len(rows(page)) == 7
    assert window.isActiveWindow()
    press(window, "Ctrl+F")
    press(window, "Tab")
    press(window, "Tab")
    QTest.keyClicks(window.focusWidget(), "be")
    press(window, "Return")  # takes the name that is offered
    press(window, "Return")
    wait_idle(qtbot, lambda: rows(page) == ["A4 ben", "B4 ben", "A2 ben"])
    for _ in range(9):
        if window.focusWidget() is page.panel.tree:
            break
        press(window, "F6")
    press(window, "Down")
    press(window, "Down")
    press(window, "Return")
    assert compared(qtbot, window) == (2, 4)


@pytest.mark.deep
@pytest.mark.slice
def test_by_mouse_from_the_sidebar_to_a_day_and_the_comparison(qtbot: QtBot, window: Window, database: Db) -> None:
    sidebar = window.workspace.sidebar
    node = sidebar.model.roots[0].find(f"{database.name}.orders")
    assert node is not None
    menu = {action.text(): action for action in sidebar.menu_for(node).actions()}
    menu["Activity"].trigger()
    page = activity(qtbot, window)
    strip = page.panel.strip
    point_at(strip, strip.days.index(1, 0))
    assert rows(page) == ["A2 ben", "B1 ann"]
    model = page.panel.model
    point_at(page.panel.tree, model.index(0, 0, model.index(0, 0)), double=True)
    assert compared(qtbot, window) == (1, 2)


@pytest.mark.deep
@pytest.mark.slice
def test_what_is_written_meanwhile_comes_by_itself_and_by_asking(qtbot: QtBot, window: Window, database: Db) -> None:
    press(window, "Ctrl+Shift+G")
    page = activity(qtbot, window)
    ns = f"{database.name}.orders"
    assert window.sessions[0].edit(ns, "A", set={"total": 5}).kind == "applied"
    wait_idle(qtbot, lambda: len(rows(page)) == 8)
    assert page.panel.rows[0].v == Value.of(5)
    row = {"docId": "C", "v": 1, "_w": ObjectId(), "changedAt": DAY[8], "changedBy": "eve", "total": 1}
    database["orders"].insert_one(row)
    press(window, "F5")
    wait_idle(qtbot, lambda: len(rows(page)) == 9)
    assert "C1 eve" in rows(page)


@pytest.mark.deep
@pytest.mark.slice
def test_the_page_of_a_document_comes_back_in_the_next_run(qtbot: QtBot, window: Window) -> None:
    window.actions_.trigger("activity-document")
    page = activity(qtbot, window)
    assert {row.id for row in page.panel.rows} == {page.id}
    assert page_registry.remembered(page_registry.kept(page.memory())) == page.memory()


def test_the_page_of_a_connection_reads_all_of_its_collections(qtbot: QtBot, tmp_path: Path) -> None:
    with LocalServer() as server:  # of its own: others write to those that all tests share
        with pymongo.MongoClient[dict[str, Any]](server.uri) as client:
            _, file = orders(client["shop"], tmp_path)
        window = new_window(qtbot)
        open_source(qtbot, window, Opening(server.uri, profile=str(file)))
        window.actions_.trigger("activity")
        whole = activity(qtbot, window)
        assert (whole.ns, whole.id) == ("", None)
        wait_idle(qtbot, lambda: len(rows(whole)) == 7)
        window.close_quietly()


@pytest.mark.deep
@pytest.mark.slice
def test_arrow_keys_choose_between_what_was_and_live_and_the_focus_is_in_sight(qtbot: QtBot, window: Window) -> None:
    press(window, "Ctrl+Shift+G")
    page = activity(qtbot, window)
    page.panel.modes.button(0).setFocus()
    press(window, "Right")
    qtbot.waitUntil(lambda: page.is_live)
    assert page.live is not None
    assert window.focusWidget() is page.live.modes.button(1)
    press(window, "Left")
    qtbot.waitUntil(lambda: not page.is_live)
    assert window.focusWidget() is page.panel.modes.button(0)


@pytest.mark.deep
@pytest.mark.slice
def test_live_a_new_version_comes_by_itself_and_opens_in_its_timeline(
    qtbot: QtBot, window: Window, database: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "EVERY", 0.05)
    monkeypatch.setattr(tail, "SHARE", 0)
    press(window, "Ctrl+Shift+G")
    page = activity(qtbot, window)
    page.panel.modes.button(1).click()
    qtbot.waitUntil(lambda: page.is_live)
    live = page.live
    assert live is not None
    qtbot.waitUntil(lambda: live.since is not None)
    database["orders"].insert_one({"docId": "A", "v": 5, "_w": ObjectId(), "changedAt": DAY[8], "changedBy": "cyd"})
    qtbot.waitUntil(lambda: len(live.model.rows) == 1)
    row = live.model.rows[0]
    assert (row.id.python(), row.author, page.on_show()) == ("A", "cyd", ())
    point_at(live.view, live.model.index(0, 0), double=True)
    wait_idle(qtbot, lambda: isinstance(window.workspace.page, CollectionPage) and window.workspace.page.id is not None)
    opened = window.workspace.page
    assert isinstance(opened, CollectionPage)
    qtbot.waitUntil(lambda: (b := opened.timeline.chosen()[1]) is not None and b.v == Value.of(5))
    assert opened.id == Value.of("A")
    qtbot.waitUntil(lambda: not live.is_reading)
    assert not live.is_due  # nobody sees it
    window.workspace.tab_area.show_page(page)
    qtbot.waitUntil(lambda: live.is_reading or live.is_due)
    live.modes.button(0).click()
    qtbot.waitUntil(lambda: not page.is_live)
    assert not page.is_live
    qtbot.waitUntil(lambda: not live.is_reading and not live.is_due)
    wait_idle(qtbot, lambda: rows(page)[0] == "A5 cyd")
