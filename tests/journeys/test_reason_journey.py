"""A person states in a real window why a version is made, and by whom: at an edit, a merge and a restore.

Plain PyMongo reads what the database then holds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymongo.database
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.pages.collection_page import CollectionPage
from gui.pages.document_pages import DocumentPage, MergePage
from gui.pages.page_request import PageRequest
from gui.parts.author_sheet import AuthorSheet
from gui.views.compare.restore_sheet import RestoreSheet
from gui.window.opening import Opening
from gui.window.window import Window
from model.values.canonical import Value
from tests.gui.conftest import look
from tests.gui.field_support import type_into
from tests.gui.window.windows import PATIENCE, new_window, open_source, sheet, wait_idle

__all__ = ["look"]  # a fixture

Db = pymongo.database.Database[dict[str, Any]]


@pytest.fixture
def window(qtbot: QtBot, look: object) -> Window:
    return new_window(qtbot)


def opened(qtbot: QtBot, window: Window, uri: str, database: Db, folder: Path, author_is: str = "login") -> str:
    """Connect to two versions of one order, with a profile that names fields for author and reason."""
    database["orders"].insert_many([{"docId": "A", "v": v, "total": v * 10, "note": "n"} for v in (1, 2)])
    database["orders"].create_index([("docId", 1), ("v", 1)], unique=True)
    ns = f"{database.name}.orders"
    profile = folder / "profile.toml"
    profile.write_text(
        f'[[collection]]\nns = "{ns}"\nlayout = "versions"\nid = "docId"\ntoken = ""\n'
        f'author = "who"\nauthor_is = "{author_is}"\nreason = "why"\n'
    )
    open_source(qtbot, window, Opening(uri, profile=str(profile)))
    return ns


def newest(database: Db) -> dict[str, Any]:
    return next(database["orders"].find({"docId": "A"}).sort("v", -1).limit(-1))


def edited(qtbot: QtBot, window: Window, ns: str, total: str) -> DocumentPage:
    """The document's page with another total typed."""
    page = window.workspace.open(window.sessions[0], PageRequest("document", ns, Value.of("A")))
    assert isinstance(page, DocumentPage)
    wait_idle(qtbot, lambda: page.editor.is_loaded)
    assert page.editor.foot.reason.isHidden()
    type_into(page.editor, ("total",), total)
    assert not page.editor.foot.reason.isHidden()
    return page


@pytest.mark.deep
@pytest.mark.slice
def test_an_edit_a_merge_and_a_restore_say_why(
    qtbot: QtBot, window: Window, server_uri: str, database: Db, tmp_path: Path
) -> None:
    ns = opened(qtbot, window, server_uri, database, tmp_path)
    page = edited(qtbot, window, ns, "21")
    QTest.keyClicks(page.editor.foot.reason, "the customer called")
    wait_idle(qtbot)
    QTest.keyClick(page.editor.foot.reason, Qt.Key.Key_Return)
    wait_idle(qtbot, lambda: newest(database)["v"] == 3)
    assert newest(database)["why"] == "the customer called"
    wait_idle(qtbot, lambda: not page.editor.is_dirty)
    assert page.editor.foot.reason.text() == ""

    # Somebody else is faster with the same field: the reason goes along into the merge.
    type_into(page.editor, ("total",), "33")
    QTest.keyClicks(page.editor.foot.reason, "a second ")
    QTest.keyClicks(page.editor.foot.reason, "call")
    database["orders"].insert_one({"docId": "A", "v": 4, "total": 40, "note": "n"})
    page.editor.foot.save.click()
    wait_idle(qtbot, lambda: page.prompt is not None)
    assert page.prompt is not None
    page.prompt.buttons["review"].click()
    wait_idle(qtbot, lambda: isinstance(window.workspace.page, MergePage))
    merge = window.workspace.page
    assert isinstance(merge, MergePage)
    qtbot.waitUntil(lambda: merge.resolver.unresolved == 1, timeout=PATIENCE)
    assert merge.resolver.head.reason.text() == "a second call"
    QTest.keyClick(window, Qt.Key.Key_2, Qt.KeyboardModifier.ControlModifier)
    wait_idle(qtbot, lambda: merge.resolver.unresolved == 0 and not merge.resolver.save_reason)
    merge.resolver.save()
    wait_idle(qtbot, lambda: newest(database)["v"] == 5)
    assert (newest(database)["total"], newest(database)["why"]) == (33, "a second call")

    # A restore offers what was given before.
    listed = window.workspace.open(window.sessions[0], PageRequest("collection", ns))
    assert isinstance(listed, CollectionPage)
    wait_idle(qtbot, lambda: bool(listed.timeline.model.versions))
    listed.writes.restore(Value.of("A"), Value.of(1))
    wait_idle(qtbot, lambda: bool(window.findChildren(RestoreSheet)))
    asked = sheet(window)
    assert isinstance(asked, RestoreSheet)
    asked.reason.setFocus()
    QTest.keyClicks(asked.reason, "a s")
    assert [each.word for each in asked.reason.offered] == ["a second call"]
    QTest.keyClick(asked.reason, Qt.Key.Key_Return)
    assert asked.reason.text() == "a second call"
    QTest.keyClick(asked.reason, Qt.Key.Key_Return)
    wait_idle(qtbot, lambda: newest(database)["v"] == 6)
    assert (newest(database)["total"], newest(database)["why"]) == (10, "a second call")


@pytest.mark.deep
@pytest.mark.slice
def test_a_name_is_asked_once_where_the_profile_says_so(
    qtbot: QtBot, window: Window, server_uri: str, database: Db, tmp_path: Path
) -> None:
    ns = opened(qtbot, window, server_uri, database, tmp_path, "asked")
    page = edited(qtbot, window, ns, "21")
    page.editor.foot.save.click()
    asked = sheet(window)
    assert isinstance(asked, AuthorSheet)
    assert not asked.sign.isEnabled()
    QTest.keyClicks(asked.line, "Ada Lovelace")
    QTest.keyClick(asked.line, Qt.Key.Key_Return)
    wait_idle(qtbot, lambda: newest(database)["v"] == 3)
    assert newest(database)["who"] == "Ada Lovelace"
    assert "why" not in newest(database)
    wait_idle(qtbot, lambda: not page.editor.is_dirty)
    type_into(page.editor, ("total",), "22")
    page.editor.foot.save.click()
    wait_idle(qtbot, lambda: newest(database)["v"] == 4)
    assert newest(database)["who"] == "Ada Lovelace"
    window.actions_.trigger("sign-as")
    again = sheet(window)
    assert isinstance(again, AuthorSheet)
    assert again.line.text() == "Ada Lovelace"
    again.reject()
