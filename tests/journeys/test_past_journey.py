"""The past of a collection, two moments compared, and deleted documents, in a real window by mouse and keys.

What the window shows is compared with the versions that plain PyMongo wrote.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import bson
import pymongo
import pymongo.database
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from gui.pages.collection_page import CollectionPage
from gui.pages.page_request import PageRequest
from gui.pages.times_page import TimesPage
from gui.style import theme
from gui.style.cells import CELL
from gui.views.browse.time_sheet import TimeSheet
from gui.views.compare.restore_sheet import RestoreSheet
from gui.window.opening import Opening
from gui.window.window import Window
from tests.gui.conftest import idle, look
from tests.gui.window.windows import PATIENCE, new_window, open_source, sheet, wait_idle

__all__ = ["idle", "look"]  # fixtures

Db = pymongo.database.Database[dict[str, Any]]
DAY = [dt.datetime(2026, 3, day, 12, tzinfo=dt.UTC) for day in range(1, 10)]


@pytest.fixture
def window(qtbot: QtBot, look: object) -> Window:
    return new_window(qtbot)


@pytest.fixture
def page(qtbot: QtBot, window: Window, database: Db, server_uri: str, tmp_path: Path) -> CollectionPage:
    """Orders over six days: of B a version is missing, C was deleted by ann, D came late, E had its clock put back."""
    rows = [
        ("A", 1, 0, "ann", {"total": 1}),
        ("A", 2, 1, "ben", {"total": 2, "rush": True}),
        ("A", 3, 4, "ann", {"total": 3}),
        ("B", 1, 0, "ann", {"total": 10}),
        ("B", 3, 5, "ann", {"total": 30}),
        ("C", 1, 0, "ben", {"total": 5}),
        ("C", 2, 4, "ann", {"_deleted": True}),
        ("D", 1, 5, "ben", {"total": 8}),
        ("E", 1, 0, "ben", {"total": 100}),
        ("E", 2, 5, "ben", {"total": 101}),
        ("E", 3, 1, "ben", {"total": 102}),
        ("E", 4, 6, "ben", {"total": 103}),
    ]
    for id, v, day, who, content in rows:
        database["orders"].insert_one({"docId": id, "v": v, "changedAt": DAY[day], "changedBy": who, **content})
    database["orders"].create_index([("docId", 1), ("v", 1)], unique=True)
    profile = tmp_path / "profile.toml"
    profile.write_text(
        f'[[collection]]\nns = "{database.name}.orders"\nlayout = "versions"\nid = "docId"\n'
        'token = ""\nat = "changedAt"\nauthor = "changedBy"\n'
    )
    session = open_source(qtbot, window, Opening(server_uri, profile=str(profile)))
    made = window.workspace.open(session, PageRequest("collection", f"{database.name}.orders"))
    assert isinstance(made, CollectionPage)
    wait_idle(qtbot, lambda: made.browser.page is not None)
    return made


def click(widget: QWidget) -> None:
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton)


def click_button(within: QWidget, name: str) -> None:
    """Click the button in sight with these words."""
    (found,) = [each for each in within.findChildren(QPushButton) if each.isVisible() and each.text() == name]
    click(found)


def pick(qtbot: QtBot, name: str) -> None:
    """Choose a line of the menu that is open, with the mouse."""
    qtbot.waitUntil(lambda: isinstance(QApplication.activePopupWidget(), QMenu), timeout=PATIENCE)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    (action,) = [each for each in menu.actions() if each.text() == name]
    QTest.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(action).center())


def listed(page: CollectionPage) -> dict[object, dict[str, str]]:
    """The cells of each row, by the id of its document."""
    model = page.browser.model
    return {
        row.id.python(): {name: model.index(at, n).data(CELL).text or model.index(at, n).data(CELL).accessible
                          for n, name in enumerate(model.columns)}
        for at, row in enumerate(model.rows)
    }  # fmt: skip


def banner(page: CollectionPage) -> str:
    lines = page.browser.notices.lines
    return lines["times"].text if "times" in lines else ""


def go_to(qtbot: QtBot, page: CollectionPage, typed: str) -> None:
    """Type a time into the sheet that is open, and press Return."""
    asked = sheet(page.window())
    assert isinstance(asked, TimeSheet)
    asked.line.selectAll()
    QTest.keyClicks(asked.line, typed)
    assert f"{typed} has no zone and is taken as {typed}:00 Europe/Berlin." in asked.line.said.text()
    QTest.keyClick(asked.line, Qt.Key.Key_Return)
    wait_idle(qtbot, lambda: bool(page.browser.ran.moment) and bool(banner(page)))


@pytest.mark.deep
@pytest.mark.slice
def test_the_collection_of_a_time_is_read_by_mouse_and_what_cannot_be_proven_is_marked(
    qtbot: QtBot, page: CollectionPage, tmp_path: Path
) -> None:
    click(page.browser.bar.time_button)
    pick(qtbot, "As of a time…")
    go_to(qtbot, page, "2026-03-03 13:00")
    wait_idle(qtbot, lambda: page.timeline.chosen()[0] is not None)
    found = listed(page)
    assert list(found) == ["A", "B", "C", "E"]
    assert {id: row["version"] for id, row in found.items()} == {"A": "v2", "B": "v1", "C": "v1", "E": "v3"}
    assert found["A"]["proof"] == "Proven"
    assert "A version is missing" in found["B"]["proof"]
    assert "A clock ran backwards" in found["E"]["proof"]
    said = banner(page)
    assert "03 Mar 2026 13:00 (Europe/Berlin), to be read only." in said
    assert "2 documents cannot be proven." in said
    assert page.browser.bar.time_button.accessibleName() == "03 Mar 2026 13:00: other times"
    assert "writable" not in page.facts()
    assert page.reasons()["writable"] == "The list shows a past state; go back to now first"

    # The history of the row has the version of that time chosen, beside what is current now.
    a, b = page.timeline.chosen()
    assert a is not None
    assert b is not None
    assert (a.v.python(), b.v.python()) == (2, 3)  # type: ignore[union-attr]

    # Filter, order and export are of that time as well.
    page.browser.set_filter('{ "rush": true }')
    wait_idle(qtbot, lambda: page.browser.ran.filter != "" and "had no rush" in banner(page))
    assert list(listed(page)) == ["A"]
    assert "3 of 4 documents had no rush then." in banner(page)
    page.browser.bar.set_filter("")
    page.browser.bar.set_sort("total descending")
    wait_idle(qtbot, lambda: len(page.browser.model.rows) == 4)
    assert list(listed(page)) == ["E", "B", "C", "A"]
    file = tmp_path / "then.bson"
    page.exporter.write(page.browser.ran, str(file))
    wait_idle(qtbot, file.exists)
    assert [each["_id"] for each in bson.decode_all(file.read_bytes())] == ["C", "A"], "the others are not proven"

    click_button(page.browser.notices, "Back to now")
    wait_idle(qtbot, lambda: page.browser.ran.is_of_now and not banner(page))
    assert set(listed(page)) == {"A", "B", "D", "E"}
    assert "writable" in page.facts()


@pytest.mark.deep
@pytest.mark.slice
def test_a_time_is_reached_by_keys_and_one_in_the_future_is_said(qtbot: QtBot, page: CollectionPage) -> None:
    page.browser.list.setFocus()
    QTest.keyClick(page.window(), Qt.Key.Key_Y, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    asked = sheet(page.window())
    assert isinstance(asked, TimeSheet)
    assert asked.line.hasFocus()
    QTest.keyClicks(asked.line, "soon")
    assert asked.line.said.text().startswith("soon is not a time; write it as ")
    assert not asked.show_then.isEnabled()
    QTest.keyClick(asked.line, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(asked.line, "2199-01-01T00:00Z")
    QTest.keyClick(asked.line, Qt.Key.Key_Return)
    wait_idle(qtbot, lambda: "That is in the future, so the documents are shown as they are now." in banner(page))
    assert set(listed(page)) == {"A", "B", "D", "E"}
    page.browser.list.setFocus()
    QTest.keyClick(page.browser.list, Qt.Key.Key_Return)
    assert page.window().focusWidget() is page.timeline.strip
    page.window().actions_.trigger("back-to-now")  # type: ignore[attr-defined]
    wait_idle(qtbot, lambda: page.browser.ran.is_of_now)


@pytest.mark.deep
@pytest.mark.slice
def test_two_times_are_compared_and_each_document_leads_to_its_comparison(qtbot: QtBot, page: CollectionPage) -> None:
    window = page.window()
    assert isinstance(window, Window)
    click(page.browser.bar.time_button)
    pick(qtbot, "Compare two times…")
    wait_idle(qtbot, lambda: isinstance(window.workspace.tab_area.page, TimesPage))
    times = window.workspace.tab_area.page
    assert isinstance(times, TimesPage)
    assert not times.panel.run.isEnabled()
    window.resize(2560, 900)
    assert max(times.panel.first.width(), times.panel.then.width()) == theme.px(480)
    window.resize(1440, 900)
    times.panel.first.setFocus()
    QTest.keyClicks(times.panel.first, "2026-03-02T13:00Z")
    times.panel.then.setText("2026-03-02T14:00+01:00")
    assert not times.panel.run.isEnabled()
    assert "Both are the same time" in times.panel.run.toolTip()
    times.panel.then.clear()
    QTest.keyClicks(times.panel.then, "2026-03-06T13:00Z")
    QTest.keyClick(times.panel.then, Qt.Key.Key_Return)
    wait_idle(qtbot, lambda: times.diff.comparison is not None)
    assert {row.id.python(): row.change for row in times.panel.model.rows} == {
        "A": "changed", "B": "unproven", "C": "removed", "D": "added", "E": "unproven",
    }  # fmt: skip
    assert "1 added, 1 removed, 1 changed, 2 not proven." in times.panel.said.text()
    comparison = times.diff.comparison
    assert comparison is not None
    assert (comparison.a.v.python(), comparison.b.v.python()) == (2, 3)  # type: ignore[union-attr]
    offered = times.diff.restore, times.diff.arrows.buttons["a"]
    assert all(each.isVisible() and each.isEnabled() for each in offered)
    window.commands.do_allow_writes()
    assert not any(each.isVisible() and each.isEnabled() for each in offered)

    row = times.panel.model.index([each.id.python() for each in times.panel.model.rows].index("D"), 0)
    times.panel.list.scrollTo(row)
    QTest.mouseClick(
        times.panel.list.viewport(), Qt.MouseButton.LeftButton, pos=times.panel.list.visualRect(row).center() + QPoint()
    )
    wait_idle(qtbot, lambda: times.diff.is_alone)
    times.panel.list.setFocus()
    QTest.keyClick(times.panel.list, Qt.Key.Key_Up)
    wait_idle(qtbot, lambda: times.id is not None and times.id.python() == "C")
    QTest.keyClick(times.panel.list, Qt.Key.Key_Home)
    wait_idle(qtbot, lambda: times.diff.comparison is not None)
    QTest.keyClick(times.panel.list, Qt.Key.Key_Return)
    wait_idle(qtbot, lambda: window.workspace.tab_area.page is page)
    a, b = page.timeline.chosen()
    assert a is not None
    assert b is not None
    assert (a.v.python(), b.v.python()) == (2, 3)  # type: ignore[union-attr]


@pytest.mark.deep
@pytest.mark.slice
def test_deleted_documents_are_listed_with_who_and_when_and_restored(
    qtbot: QtBot, page: CollectionPage, database: Db
) -> None:
    click(page.browser.bar.time_button)
    pick(qtbot, "Deleted documents")
    wait_idle(qtbot, lambda: page.browser.ran.deleted and bool(page.timeline.model.versions))
    (found,) = listed(page).values()
    assert (found["id"], found["version"], found["author"], found["gone"]) == ("C", "v1", "ann", "05 Mar 2026 13:00")
    assert "deleted" in page.facts()
    click_button(page.browser.notices, "Restore…")
    wait_idle(qtbot, lambda: bool(page.window().findChildren(RestoreSheet)))
    asked = sheet(page.window())
    assert isinstance(asked, RestoreSheet)
    click(asked.verb)
    wait_idle(qtbot, lambda: not page.browser.model.rows)
    assert page.browser.states.state.title == "No deleted document is known in orders"
    newest = next(database["orders"].find({"docId": "C"}).sort("v", -1).limit(-1))
    assert (newest["v"], newest["total"]) == (3, 5)
    page.window().actions_.trigger("deleted")  # type: ignore[attr-defined]
    wait_idle(qtbot, lambda: page.browser.ran.is_of_now)
    assert set(listed(page)) == {"A", "B", "C", "D", "E"}
