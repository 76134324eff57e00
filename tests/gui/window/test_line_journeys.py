"""What people do in a window over the sample by mouse and key, judged by what can be read there."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

from gui.pages.collection_page import CollectionPage
from gui.pages.page_request import PageRequest
from gui.pages.pair_page import PairPage
from gui.parts.differences.diff_model import FIELD
from gui.parts.differences.diff_table import DiffTable
from gui.parts.fields.field_model import TYPE, VALUE
from gui.style.cells import CELL, CellTree
from gui.views.browse.query_options import QueryOptions
from gui.views.compare.restore_sheet import RestoreSheet
from gui.views.edit.editor_panel import EditorPanel
from gui.window.window import Window
from model.diff import diff
from model.text.file_documents import documents_of
from model.values import canonical
from model.values.canonical import Value
from tests.gui.window.hands import button, choose, click, click_head, click_row, read, strike
from tests.gui.window.windows import ID, NS, collection, document, press, sheet, told, wait_idle

ACCESSIBLE = Qt.ItemDataRole.AccessibleTextRole
SHIFT, CONTROL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


def column(table: CellTree, head: str) -> list[str]:
    """What a column of a table says, row by row."""
    model, across = table.model(), Qt.Orientation.Horizontal
    (at,) = [n for n in range(model.columnCount()) if model.headerData(n, across) == head]
    return [model.index(row, at).data(CELL).text for row in range(model.rowCount())]


def click_version(page: CollectionPage, name: str) -> int:
    """Click a version in the list of them; its row."""
    click(page.timeline.as_list)
    model = page.timeline.list.model()
    (row,) = [n for n in range(model.rowCount()) if model.index(n, 0).data(ACCESSIBLE).startswith(f"{name}, ")]
    page.timeline.list.scrollTo(model.index(row, 1))
    click_row(page.timeline.list, model.index(row, 1))
    return row


@pytest.mark.deep
def test_a_click_on_an_older_version_compares_it_with_the_newest(window: Window, qtbot: QtBot) -> None:
    page = collection(window)
    wait_idle(qtbot, lambda: page.diff.comparison is not None)
    model = page.timeline.list.model()
    row = click_version(page, "v12")
    wait_idle(qtbot, lambda: model.index(row, 0).data(ACCESSIBLE).endswith("chosen as A"))
    qtbot.waitUntil(lambda: page.diff.model.titles[0].startswith("v12"))
    assert model.index(0, 0).data(ACCESSIBLE).endswith("chosen as B")
    heads = [str(page.diff.model.headerData(n, Qt.Orientation.Horizontal)) for n in range(5)]
    assert any(head.startswith("A   v12") for head in heads)
    assert any(head.startswith("B   v14") for head in heads)


@pytest.mark.deep
def test_saving_with_nothing_changed_says_so_and_writes_nothing(window: Window, qtbot: QtBot) -> None:
    session = window.sessions[0]
    window.workspace.open(session, PageRequest("document", NS, Value.of(ID)))
    page = document(window)
    wait_idle(qtbot, lambda: page.editor.is_loaded)
    page.editor.tree.setFocus()
    before = session.history.version(NS, Value.of(ID)).v
    press(window, "Ctrl+S")
    wait_idle(qtbot)
    assert session.history.version(NS, Value.of(ID)).v == before
    assert told(window) == ["Nothing is changed"]


@pytest.mark.deep
def test_a_question_is_put_together_by_hand_explained_and_asked_again(window: Window, qtbot: QtBot) -> None:
    page = collection(window)
    browser, bar = page.browser, page.browser.bar
    wait_idle(qtbot, lambda: browser.page is not None)
    click(bar.input)
    wait_idle(qtbot)  # the fields are known
    strike(window, "{ gros")
    press(window, "Tab")
    strike(window, "{ $gt")
    press(window, "Down")
    press(window, "Return")
    strike(window, "400 } }")
    assert bar.input.text() == '{ "premium.gross": { $gte: 400 } }'
    press(window, "Return")
    wait_idle(qtbot)
    few = browser.pager.text
    assert few.endswith(" documents")
    assert few != "1–25 of 2,483 documents"

    for _ in range(2):
        click_head(browser.list.header(), browser.model.columns.index("version"))
        wait_idle(qtbot)
    versions = [int(said.lstrip("v")) for said in column(browser.list, "Version")]
    assert versions == sorted(versions, reverse=True)

    click(bar.shape_button)
    choose(qtbot, "Columns…")
    asked = sheet(window)
    assert isinstance(asked, QueryOptions)
    wait_idle(qtbot, lambda: bool(asked.model.rows))
    strike(window, "premium.gross")
    qtbot.waitUntil(lambda: [use.path for use in asked.model.rows] == ["premium.gross"])
    field = asked.model.index(0, 0)
    assert field.siblingAtColumn(1).data(ACCESSIBLE) == "Decimal128"
    click_row(asked.list, field)
    for box, number in ((asked.skip, "2"), (asked.limit, "30")):
        click(box)
        strike(window, number)
    click(button(asked, "Run"))
    wait_idle(qtbot)
    assert browser.pager.text == "1–25 of 30 documents"
    assert bar.shape_button.text().endswith(", skip 2, limit 30")
    assert all(float(said) >= 400 for said in column(browser.list, "premium.gross"))
    whole = browser.ran

    click(button(bar, "Explain this query, and the indexes"))
    wait_idle(qtbot, lambda: "Scans" in read(sheet(window)))
    said = read(sheet(window))
    assert "Scans 2,483 documents" in said
    assert 'Index missing: { v: -1, "premium.gross": 1 }.' in said
    press(window, "Escape")

    click(button(bar, "Earlier and saved queries"))
    choose(qtbot, "Save this query…")
    strike(window, "dear ones")
    press(window, "Return")
    click(bar.input)
    press(window, "Ctrl+A")
    strike(window, '{ "status": "lapsed" }')
    press(window, "Return")
    wait_idle(qtbot)
    assert browser.ran.filter == '{ "status": "lapsed" }'
    press(window, "Down")
    choose(qtbot, "dear ones:  ")
    wait_idle(qtbot)
    assert browser.ran == whole
    click(button(bar, "Earlier and saved queries"))
    choose(qtbot, '{ "status": "lapsed" }')
    wait_idle(qtbot)
    assert browser.ran.filter == '{ "status": "lapsed" }'


@pytest.mark.deep
def test_rows_are_picked_by_mouse_exported_compared_deleted_by_a_plan_and_brought_back(
    window: Window, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, session = collection(window), window.sessions[0]
    browser, model = page.browser, page.browser.model
    wait_idle(qtbot, lambda: browser.page is not None)
    click_row(browser.list, model.index(1, 0))
    click_row(browser.list, model.index(3, 0), SHIFT)
    ids = [row.id for row in model.rows[1:4]]
    before = [session.history.version(NS, id).raw for id in ids]
    assert "3 picked" in read(browser.pager)

    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "three.jsonl"), ""))
    press(window, "Shift+F10")
    choose(qtbot, "Export 3 documents…")
    wait_idle(qtbot, lambda: any(said.startswith("3 documents, ") for said in told(window)))
    assert [canonical.get(raw, ("_id",)) for raw in documents_of(tmp_path / "three.jsonl")] == ids

    press(window, "Shift+F10")
    choose(qtbot, "Delete 3 documents…")
    wait_idle(qtbot)
    assert column(sheet(window).findChild(CellTree), "Document") == [f"{id.python()}" for id in ids]
    assert "3 documents would be deleted, each only if it is still as listed here." in read(sheet(window))
    assert sheet(window).focusWidget() is button(sheet(window), "Cancel")
    click(button(sheet(window), "Delete 3 documents"))
    wait_idle(qtbot, lambda: "3 documents deleted" in told(window))
    wait_idle(qtbot, lambda: not set(ids) & {row.id for row in model.rows})
    click(button(window.messages, "Undo the whole run"))
    wait_idle(qtbot, lambda: "Undone: 3 documents as before" in told(window))
    assert [session.history.version(NS, id).raw for id in ids] == before
    wait_idle(qtbot, lambda: set(ids) <= {row.id for row in model.rows})

    click_row(browser.list, model.index(1, 0))
    click_row(browser.list, model.index(3, 0), CONTROL)
    press(window, "Shift+F10")
    choose(qtbot, "Compare the two")
    pair = window.workspace.page
    assert isinstance(pair, PairPage)
    wait_idle(qtbot, lambda: pair.panel.diff.comparison is not None)
    assert (pair.panel.left.id, pair.panel.right.id) == (ids[0], ids[2])


@pytest.mark.deep
def test_documents_come_in_by_pasting_and_by_a_file_and_go_with_undo(
    window: Window, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, session = collection(window), window.sessions[0]
    wait_idle(qtbot, lambda: page.browser.page is not None)
    page.browser.list.setFocus()
    press(window, "Ctrl+Shift+N")
    QApplication.clipboard().setText('{ "_id": "A-1", "premium": { "gross": { "$numberDecimal": "12.50" } } }')
    press(window, "Ctrl+A")
    press(window, "Ctrl+V")
    click(button(sheet(window), "Insert 1 document"))
    wait_idle(qtbot, lambda: page.browser.model.row_of(Value.of("A-1")) >= 0)
    made = session.history.version(NS, Value.of("A-1"))
    assert made.v == Value.of(1)
    gross = canonical.get(made.content or b"", ("premium", "gross"))
    assert gross is not None
    assert gross.kind == "Decimal128"

    (path := tmp_path / "in.jsonl").write_text('{"_id": "A-1"}\n{"_id": "A-2"}\n{"_id": "A-3"}\n', "utf-8")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    press(window, "Ctrl+K")
    strike(window, "import documents")
    press(window, "Return")
    wait_idle(qtbot)
    said = read(sheet(window))
    assert "Nothing has been written yet." in said
    assert column(sheet(window).findChildren(CellTree)[-1], "Document") == ["A-1"]
    click(button(sheet(window), "Insert 2 documents"))
    wait_idle(qtbot, lambda: any(said.startswith("2 documents inserted, 1 refused") for said in told(window)))
    wait_idle(qtbot, lambda: page.browser.model.row_of(Value.of("A-3")) >= 0)
    (line,) = [line for line in window.messages.lines if line.text.startswith("2 documents inserted")]
    click(button(line, "Undo the whole run"))
    wait_idle(qtbot, lambda: page.browser.model.row_of(Value.of("A-3")) < 0)
    assert page.browser.model.row_of(Value.of("A-1")) >= 0


def opened(window: Window, qtbot: QtBot, id: str) -> EditorPanel:
    window.workspace.open(window.sessions[0], PageRequest("document", NS, Value.of(id)))
    editor = document(window).editor
    wait_idle(qtbot, lambda: editor.is_loaded)
    return editor


@pytest.mark.deep
@pytest.mark.slice
def test_fields_are_edited_in_the_tree_and_as_json_replaced_moved_retyped_and_saved(
    window: Window, qtbot: QtBot
) -> None:
    editor, session, id = opened(window, qtbot, "K-204111"), window.sessions[0], Value.of("K-204111")
    tree, model, written = editor.tree, editor.model, editor.json.text
    before = session.history.version(NS, id).content

    click_row(tree, model.find(("status",), VALUE))
    click(button(editor.head, "Both"))
    strike(window, "lapsed")
    press(window, "Return")
    assert written.textCursor().block().text().strip() == '"status": "lapsed",'
    click(written.viewport(), written.cursorRect(written.document().find('"Household')).center())
    qtbot.waitUntil(lambda: tree.currentIndex() == model.find(("product",), tree.currentIndex().column()))
    press(window, "End")
    press(window, "Left")
    press(window, "Left")
    strike(window, " 2")
    wait_idle(qtbot, lambda: model.find(("product",), VALUE).data(CELL).text == '"Household Plus 2"')
    click(button(editor.head, "Tree"))

    click_row(tree, model.find(("product",), VALUE))
    press(window, "Ctrl+F")
    strike(window, "Hamburg")
    press(window, "Ctrl+H")
    strike(window, "Altona")
    click(button(editor.replacing, "Replace all"))
    assert "Replaced in 1 field" in read(editor.replacing)
    press(window, "Escape")

    editor.reveal(("premium", "net"))
    press(window, "F4")
    choose(qtbot, "Double\t623.65")
    wait_idle(qtbot)
    kind = model.find(("premium", "net"), TYPE)
    assert kind.data(ACCESSIBLE) == "Double, in other documents of this collection Decimal128"
    press(window, "F4")
    choose(qtbot, "Int32\tnot exact")
    assert "623.65" in editor.tree.editor.text
    press(window, "Escape")
    press(window, "Alt+Left")
    assert model.find(("net",), tree.currentIndex().column()) == tree.currentIndex()

    press(window, "Ctrl+S")
    wait_idle(qtbot, lambda: any("v4" in said for said in told(window)))
    after = session.history.version(NS, id).content
    assert before is not None
    assert after is not None
    assert {op.path for op in diff(before, after)} == {
        ("status",), ("product",), ("holder", "address", "city"), ("premium", "net"), ("net",), ("changedBy",),
    }  # fmt: skip
    assert canonical.get(after, ("product",)) == Value.of("Household Plus 2")
    assert canonical.get(after, ("holder", "address", "city")) == Value.of("Altona")
    assert canonical.get(after, ("net",)).kind == "Double"


@pytest.mark.deep
def test_what_cannot_be_undone_looks_so_and_the_write_that_decides_is_in_sight(window: Window, qtbot: QtBot) -> None:
    window.resize(1280, 720)
    editor = opened(window, qtbot, "K-204109")
    undo = editor.foot.undo
    assert not undo.isEnabled()
    faded = undo.grab().toImage()
    click_row(editor.tree, editor.model.find(("status",), VALUE))
    strike(window, "lapsed")
    press(window, "Return")
    wait_idle(qtbot, undo.isEnabled)
    assert undo.grab().toImage() != faded
    press(window, "Ctrl+B")
    code = editor.side.code
    wait_idle(qtbot, lambda: '"lapsed"' in code.toPlainText())
    seen = code.cursorForPosition(QPoint(4, 4))
    seen.setPosition(
        code.cursorForPosition(code.viewport().rect().bottomRight()).position(), QTextCursor.MoveMode.KeepAnchor
    )
    said = seen.selectedText()
    assert said.startswith("# the swap")
    assert "find_one_and_update(" in said
    assert '"status": "lapsed"' in said


@pytest.mark.deep
def test_only_the_ticked_fields_of_an_older_version_come_back(window: Window, qtbot: QtBot) -> None:
    page, session, id = collection(window), window.sessions[0], Value.of(ID)
    wait_idle(qtbot, lambda: page.diff.comparison is not None)
    now, old = (
        session.history.version(NS, id),
        session.history.version(NS, id, session.catalogue.reading.find_version(NS, id, "11")),
    )
    click_version(page, "v11")
    wait_idle(qtbot, lambda: page.diff.model.titles[0].startswith("v11"))
    click(button(page.diff, "Restore from A…"))
    wait_idle(qtbot, lambda: bool(window.findChildren(RestoreSheet)))
    asked = sheet(window)
    click(button(asked, "7 of 7 fields ticked"))
    table = asked.findChild(DiffTable)
    assert table is not None
    shown = table.model()
    (row,) = [n for n in range(shown.rowCount()) if shown.index(n, FIELD).data() == "billing.interval"]
    click_row(table, shown.index(row, FIELD))
    click(button(asked, "Restore 1 change"))
    wait_idle(qtbot, lambda: any("v15" in said for said in told(window)))
    after = session.history.version(NS, id).content or b""
    way = ("billing", "interval")
    assert canonical.get(after, way) == canonical.get(old.content or b"", way)
    assert canonical.get(after, ("riders",)) == canonical.get(now.content or b"", ("riders",))
