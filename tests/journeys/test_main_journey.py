"""The whole job in a real window, on every server: browse, compare, edit, be overtaken, merge, save, undo, clean up.

Plain PyMongo, which knows nothing of the product, checks what the window claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import bson
import pymongo
import pytest
from bson import Decimal128, ObjectId
from bson.raw_bson import RawBSONDocument
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.messages import Question
from gui.pages.collection_page import CollectionPage
from gui.pages.document_pages import DocumentPage, MergePage
from gui.pages.page_request import PageRequest
from gui.pages.tool_pages import JournalPage, PendingPage
from gui.parts.fields.field_model import VALUE
from gui.window.window import Window
from model.localserver import sample
from model.values.canonical import FORGIVING, Value
from tests.gui.conftest import idle, look

__all__ = ["idle", "look"]  # fixtures

ID = "K-204117"
Documents = pymongo.collection.Collection[dict[str, Any]]


@pytest.fixture
def story(client: pymongo.MongoClient[dict[str, Any]], database_name: str) -> pymongo.database.Database[dict[str, Any]]:
    """Some contracts with their histories and some counters of the sample, put on the server by a plain client."""
    database = client.get_database(database_name, codec_options=FORGIVING)
    wanted = {"insurance.contracts": 40, "insurance.contracts_history": None, "insurance.stats": None}
    kept: set[object] = set()
    for ns, indexes, documents in sample.build():
        if ns not in wanted:
            continue
        collection = database[ns.partition(".")[2]]
        raws = [bytes(raw) for raw in documents]
        if ns == "insurance.contracts":
            raws = [raw for raw in raws if b"K-2041" in raw[:40]][: wanted[ns]]
            kept = {bson.decode(raw, FORGIVING)["_id"] for raw in raws}
        elif ns == "insurance.contracts_history":
            raws = [raw for raw in raws if bson.decode(raw, FORGIVING)["docId"] in kept]
        collection.insert_many([RawBSONDocument(raw) for raw in raws])
        for keys, unique in indexes:
            collection.create_index(keys, unique=unique)
    return database


@pytest.fixture
def window(
    qtbot: QtBot, idle: Callable[[], None], story: object, server_uri: str, database_name: str
) -> Iterator[Window]:
    """A window that was connected by typing the address."""
    made = Window()
    made.resize(1440, 900)
    made.show()
    qtbot.waitExposed(made)
    QTest.keyClicks(made.workspace.welcome.uri, server_uri)
    QTest.keyClick(made.workspace.welcome.uri, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: bool(made.sessions))
    idle()
    yield made
    made.close_quietly()


def content(document: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in document.items() if name not in ("_id", "docId", "v", "_w", "_versioned_id")}


def overtake(database: pymongo.database.Database[dict[str, Any]], version: int, **change: Any) -> None:
    """What a second client does: keep the current version in the archive, then swap."""
    now = database.contracts.find_one({"_id": ID, "v": version})
    assert now is not None
    kept = {"docId": now["_id"]} | {name: part for name, part in now.items() if name != "_id"}
    database.contracts_history.insert_one(kept)
    sets = {name.replace("__", "."): part for name, part in change.items()}
    swapped = database.contracts.update_one(
        {"_id": ID, "v": version, "_w": now["_w"]}, {"$set": {**sets, "v": version + 1, "_w": ObjectId()}}
    )
    assert swapped.modified_count == 1


def type_into(page: DocumentPage, path: tuple[str | int, ...], said: str) -> None:
    tree = page.editor.tree
    assert tree.edit_cell(page.editor.model.find(path, VALUE))
    field = tree.editor.widget
    assert field is not None
    field.selectAll()
    QTest.keyClicks(field, said)
    QTest.keyClick(field, Qt.Key.Key_Return)


def answer(window: Window) -> None:
    asked = next(made for made in window.findChildren(Question) if made.isVisible())
    asked.verb.click()


def test_the_whole_job_from_the_address_to_the_clean_up(
    window: Window,
    story: pymongo.database.Database[dict[str, Any]],
    database_name: str,
    qtbot: QtBot,
    idle: Callable[[], None],
) -> None:
    ns = f"{database_name}.contracts"
    session = window.sessions[0]

    # Browse: the collection, its documents with their histories, one document's timeline.
    window.workspace.open(session, PageRequest("collection", ns))
    idle()
    page = window.workspace.tab_area.page
    assert isinstance(page, CollectionPage)
    assert page.browser.info is not None
    assert page.browser.info.layout == "archive"
    page.browser.set_filter('{ _id: "K-204117" }')
    idle()
    assert [row.id for row in page.browser.model.rows] == [Value.of(ID)]
    page.browser.select(Value.of(ID))
    idle()
    versions = page.timeline.model.versions
    assert len(versions) == 14
    assert [v.v for v in versions if v.state == "missing"] == [Value.of(v) for v in (6, 5, 4)]
    assert [v.v for v in versions if v.state == "damaged"] == [Value.of(9)]

    # Compare v3 with v7: what is shown is what a plain client finds different.
    page.show_document(Value.of(ID), Value.of(3), Value.of(7))
    idle()
    a = story.contracts_history.find_one({"docId": ID, "v": 3})
    b = story.contracts_history.find_one({"docId": ID, "v": 7})
    assert a is not None
    assert b is not None
    a, b = content(a), content(b)
    shown = page.diff.model.plan
    assert shown is not None
    differing = {name for name in {**a, **b} if a.get(name) != b.get(name)} - {"changedAt", "changedBy"}
    assert {str(op.path[0]) for op in shown.changes} - {"changedBy"} == differing

    # Edit three fields, and be overtaken by a second client in two of them.
    window.workspace.open(session, PageRequest("document", ns, Value.of(ID)))
    idle()
    document = window.workspace.tab_area.page
    assert isinstance(document, DocumentPage)
    qtbot.waitUntil(lambda: document.editor.is_loaded)
    type_into(document, ("billing", "interval"), '"quarterly"')
    type_into(document, ("deductible",), "250.00")
    type_into(document, ("notes",), '"Roof redone 2024. Call ahead."')
    idle()
    overtake(story, 14, billing__interval="half-yearly", deductible=Decimal128("300.00"), holder__phone="+49 40 1")
    overtaken = story.contracts.find_one({"_id": ID})
    document.editor.save()
    idle()
    assert story.contracts.find_one({"_id": ID}) == overtaken  # nothing was written
    assert document.prompt is not None
    assert window.focusWidget() is document.prompt.buttons["review"]
    document.prompt.buttons["review"].click()
    idle()

    # Resolve field by field; saving is held until nothing is open.
    merge = window.workspace.tab_area.page
    assert isinstance(merge, MergePage)
    assert merge.resolver.unresolved == 2
    assert not merge.resolver.head.save.isEnabled()
    resolution = merge.resolver.resolution
    rows = {resolution.decision(row).path: row for row in range(resolution.asked)}
    merge.resolver.choose(rows[("billing", "interval")], "mine")
    idle()
    merge.resolver.choose(rows[("deductible",)], "theirs")
    idle()
    assert merge.resolver.unresolved == 0
    place = merge.resolver.place
    assert place in (("billing", "interval"), ("deductible",))
    merge.resolver.save()
    idle()
    merged = window.workspace.tab_area.page
    assert isinstance(merged, DocumentPage)
    assert merged.editor.model.path(merged.editor.model.node(merged.editor.tree.currentIndex())) == place
    saved = story.contracts.find_one({"_id": ID})
    assert saved is not None
    assert (saved["v"], saved["billing"]["interval"], saved["deductible"]) == (16, "quarterly", Decimal128("300.00"))
    assert (saved["notes"], saved["holder"]["phone"]) == ("Roof redone 2024. Call ahead.", "+49 40 1")
    archived = story.contracts_history.find_one({"docId": ID, "v": 15})
    assert archived is not None
    assert overtaken is not None
    assert content(archived) == content(overtaken)
    assert story.contracts_history.count_documents({"docId": ID, "v": 15}) == 1

    # Undo from the journal: a new version with the old content.
    journal = window.workspace.open(session, PageRequest("journal"))
    idle()
    assert isinstance(journal, JournalPage)
    entry = journal.panel.entry
    assert entry is not None
    assert (entry.action, entry.kind) == ("merge", "applied")
    journal.panel.undo.click()
    idle()
    undone = story.contracts.find_one({"_id": ID})
    assert undone is not None
    assert undone["v"] == 17
    without = {"changedBy", "changedAt"}
    assert {k: v for k, v in content(undone).items() if k not in without} == {
        k: v for k, v in content(overtaken).items() if k not in without
    }

    # Finish the stale tokens: each counter goes up by what its tokens stand for, a young one stays.
    before = {d["_id"]: d for d in story.stats.find()}
    pending = window.workspace.open(session, PageRequest("pending", f"{database_name}.stats"))
    idle()
    assert isinstance(pending, PendingPage)
    ticked = pending.panel.model.ticked()
    assert len(ticked) == 5
    pending.panel.go.click()
    answer(window)
    idle()
    finished = {token.python() for token in (row.token for row in ticked)}
    for id, was in before.items():
        now = story.stats.find_one({"_id": id})
        assert now is not None
        gone = [token for token in was.get("pending", []) if token in finished]
        assert now.get("pending", []) == [token for token in was.get("pending", []) if token not in finished]
        assert now.get("count", 0) == (was.get("count") or 0) + len(gone)
        assert set(gone) <= set(now.get("applied", []))
