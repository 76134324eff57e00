"""Several documents of a list at once: selected, exported, compared, deleted, imported, pasted, and undone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from gui.messages import MessageLine, Question
from gui.pages.collection_page import CollectionPage
from gui.pages.page_request import PageRequest
from gui.pages.pair_page import PairPage
from gui.pages.repair_pages import TakingBackPage
from gui.pages.tool_pages import JournalPage
from gui.style import preferences
from gui.views.browse.delete_sheet import DeleteSheet
from gui.views.browse.insert_sheet import InsertSheet
from gui.views.edit.new_document import NewDocument
from gui.window.opening import Opening
from gui.window.window import Window
from model.text.file_documents import documents_of
from model.values import canonical
from model.values.canonical import Value
from tests.gui.menus import offered
from tests.gui.window.windows import NS, collection, new_window, open_sample, open_source, sheet, told, wait_idle


@pytest.fixture
def window(qtbot: QtBot) -> Window:
    made = new_window(qtbot)
    open_sample(qtbot, made)
    return made


def pick(window: Window, qtbot: QtBot, count: int) -> CollectionPage:
    """Pick the first documents of the list with the keyboard."""
    page = collection(window)
    page.browser.list.setCurrentIndex(page.browser.model.index(0, 0))
    page.browser.list.setFocus()
    for _ in range(count - 1):
        qtbot.keyClick(page.browser.list, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    wait_idle(qtbot)
    model = page.browser.model
    assert [model.row_of(row.id) for row in page.browser.picked] == list(range(count))
    return page


def message(window: Window, begins: str, qtbot: QtBot) -> MessageLine:
    """The message that begins so, once it is there."""

    def there() -> list[MessageLine]:
        return [line for line in window.messages.lines if line.text.startswith(begins)]

    qtbot.waitUntil(lambda: bool(there()))
    wait_idle(qtbot)
    return there()[0]


def undo(line: MessageLine) -> None:
    next(made for made in line.buttons if made.text() == "Undo the whole run").click()


# --- picking


@pytest.mark.deep
def test_several_documents_are_picked_with_shift_and_the_menu_speaks_of_all_of_them(
    window: Window, qtbot: QtBot
) -> None:
    page = pick(window, qtbot, 3)
    assert page.browser._picked_words.text() == "3 picked"
    menu = page.browser.menu_for_many(page.browser.picked)
    assert list(offered(menu)) == [
        "Copy the ids",
        "Copy 3 documents as Extended JSON",
        "Export 3 documents…",
        "Change 3 documents…",
        "Remove earlier versions…",
        "Delete 3 documents…",
    ]
    menu.actions()[0].trigger()
    assert QGuiApplication.clipboard().text().splitlines() == [row.id.python() for row in page.browser.picked]
    assert window.actions_.by_id["delete-picked"].isEnabled()
    assert not window.actions_.by_id["compare-picked"].isEnabled()


@pytest.mark.deep
def test_picked_documents_stay_picked_through_a_refresh(window: Window, qtbot: QtBot) -> None:
    page = pick(window, qtbot, 3)
    before = [row.id for row in page.browser.picked]
    session = window.sessions[0]
    session.writing.create(NS, canonical.encode({"status": "new"}), Value.of("A-0"))  # now the first of the list
    page.browser.refresh()
    wait_idle(qtbot, lambda: page.browser.model.row_of(Value.of("A-0")) == 0)
    assert [row.id for row in page.browser.picked] == before


@pytest.mark.deep
def test_with_one_document_the_menu_leads_to_its_history_and_writes(window: Window) -> None:
    page = collection(window)
    found = offered(page.browser.menu_for(page.browser.model.rows[2]))
    assert {"Open", "Export…", "Who changed what", "Look for damage", "Duplicate…", "Delete…"} <= set(found)


@pytest.mark.deep
def test_two_picked_documents_are_compared(window: Window, qtbot: QtBot) -> None:
    page = pick(window, qtbot, 2)
    window.actions_.trigger("compare-picked")
    shown = window.workspace.tab_area.page
    assert isinstance(shown, PairPage)
    wait_idle(qtbot, lambda: shown.panel.diff.comparison is not None)
    first, second = (row.id for row in page.browser.picked)
    assert (shown.panel.left.id, shown.panel.right.id) == (first, second)
    assert shown.panel.diff.model.count > 0


@pytest.mark.deep
def test_one_change_in_the_picked_documents_or_in_all_that_the_filter_finds(window: Window, qtbot: QtBot) -> None:
    page = pick(window, qtbot, 3)
    window.actions_.trigger("change-many")
    shown = window.workspace.tab_area.page
    assert isinstance(shown, TakingBackPage)
    assert [row.id for row in shown.panel.model.rows] == [row.id for row in page.browser.picked]
    assert shown.title.startswith("Change documents: ")
    window.workspace.open(window.sessions[0], page.memory())
    page.browser.list.setCurrentIndex(page.browser.model.index(0, 0))
    found = page.browser.picked
    window.actions_.trigger("change-many")
    wait_idle(qtbot, lambda: window.workspace.tab_area.page is not page)
    assert isinstance(window.workspace.tab_area.page, TakingBackPage)
    assert len(window.workspace.tab_area.page.panel.model.rows) > len(found)


# --- export


@pytest.mark.deep
def test_picked_documents_are_exported_as_they_are_stored(
    window: Window, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = pick(window, qtbot, 3)
    asked = (str(tmp_path / "three"), "CSV with the type of each column (*.csv)")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: asked)
    window.actions_.trigger("export-picked")
    message(window, "3 documents, ", qtbot)
    back = list(documents_of(tmp_path / "three.csv"))
    assert [canonical.get(raw, ("_id",)) for raw in back] == [row.id for row in page.browser.picked]


# --- delete


def test_picked_documents_are_deleted_by_a_plan_and_come_back_with_undo(window: Window, qtbot: QtBot) -> None:
    page = pick(window, qtbot, 3)
    session, gone = window.sessions[0], [row.id for row in page.browser.picked]
    before = {id: session.history.version(NS, id).raw for id in gone}
    window.actions_.trigger("delete-picked")
    asked = sheet(window)
    assert isinstance(asked, DeleteSheet)
    assert asked.focusWidget() is asked.cancel
    wait_idle(qtbot, lambda: len(asked.model.rows) == 3)
    assert asked.go.text() == "Delete 3 documents"
    asked.go.click()
    line = message(window, "3 documents deleted", qtbot)
    wait_idle(qtbot, lambda: not set(gone) & {row.id for row in page.browser.model.rows})
    undo(line)
    message(window, "Undone: 3 documents as before", qtbot)
    assert {id: session.history.version(NS, id).raw for id in gone} == before
    wait_idle(qtbot, lambda: set(gone) <= {row.id for row in page.browser.model.rows})


@pytest.mark.deep
def test_a_document_that_moved_after_the_plan_stays_and_is_counted(window: Window, qtbot: QtBot) -> None:
    page = pick(window, qtbot, 2)
    session, moved = window.sessions[0], page.browser.picked[0].id
    window.actions_.trigger("delete-picked")
    asked = sheet(window)
    assert isinstance(asked, DeleteSheet)
    wait_idle(qtbot, lambda: len(asked.model.rows) == 2)
    assert session.colleague.change(NS, moved).kind == "applied"
    asked.go.click()
    line = message(window, "1 document deleted, 1 changed meanwhile and stayed", qtbot)
    assert session.history.version(NS, moved).content
    assert [made.text() for made in line.buttons] == ["Undo the whole run"]


@pytest.mark.deep
def test_many_documents_ask_for_the_name_of_the_collection(window: Window, qtbot: QtBot) -> None:
    page = collection(window)
    preferences.put("page_size", 50)
    wait_idle(qtbot, lambda: len(page.browser.model.rows) == 50)
    page.browser.list.setFocus()
    page.browser.list.selectAll()
    window.actions_.trigger("delete-picked")
    asked = sheet(window)
    assert isinstance(asked, DeleteSheet)
    wait_idle(qtbot, lambda: len(asked.model.rows) == 50)
    assert not asked.go.isEnabled()
    qtbot.keyClicks(asked.field, "contracts")
    assert asked.go.isEnabled()
    asked.cancel.click()
    assert window.sessions[0].documents.count(NS)[0] == 2483


def test_read_only_nothing_is_offered_that_writes(window: Window, qtbot: QtBot) -> None:
    window.sessions[0].trust.read_only = True
    page = pick(window, qtbot, 2)
    window.update_state()
    assert not window.actions_.by_id["delete-picked"].isEnabled()
    assert not window.actions_.by_id["import"].isEnabled()
    assert "Delete 2 documents…" not in offered(page.browser.menu_for_many(page.browser.picked))


# --- import


def file(tmp_path: Path, *documents: dict[str, object]) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(json.dumps(each) for each in documents), "utf-8")
    return path


@pytest.mark.deep
@pytest.mark.slice
def test_a_file_is_imported_by_a_plan_as_first_versions_and_taken_back(
    window: Window, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = window.sessions[0]
    price = {"gross": {"$numberDecimal": "12.50"}}
    path = file(tmp_path, {"_id": "A-1", "v": 9, "premium": price}, {"_id": "A-2"}, {"_id": "K-204117", "status": "x"})
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    window.actions_.trigger("import")
    asked = sheet(window)
    assert isinstance(asked, InsertSheet)
    wait_idle(qtbot, lambda: asked.go.isEnabled())
    assert asked.go.text() == "Insert 2 documents"
    assert asked.staying.rows == [("K-204117", "A document with this id is already there.")]
    assert "version 1" in asked.report.text()
    types = {use.path: asked.fields.cell(asked.fields.index(at, 1)).text for at, use in enumerate(asked.fields.rows)}
    assert types["premium.gross"] == "Decimal128"
    assert types["v"] == "left out: the layout's own"
    asked.go.click()
    line = message(window, "2 documents inserted, 1 refused", qtbot)
    found = session.history.version(NS, Value.of("A-1"))
    assert found.v == Value.of(1)
    assert canonical.get(found.content or b"", ("premium", "gross")).kind == "Decimal128"  # type: ignore[union-attr]
    page = collection(window)
    wait_idle(qtbot, lambda: page.browser.model.row_of(Value.of("A-1")) >= 0)
    undo(line)
    message(window, "Undone: 2 documents as before", qtbot)
    wait_idle(qtbot, lambda: page.browser.model.row_of(Value.of("A-1")) < 0)


@pytest.mark.deep
def test_a_file_that_cannot_be_read_says_where_and_nothing_can_be_inserted(
    window: Window, qtbot: QtBot, tmp_path: Path
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"_id": 1}\n{"_id": }\n')
    asked = collection(window).batches.read_file(str(path))
    wait_idle(qtbot, lambda: asked.states.kind == "failed")
    assert "Line 2" in asked.states.state.help
    assert not asked.go.isEnabled()


@pytest.mark.deep
def test_a_stopped_import_says_what_it_did_and_can_be_taken_back(window: Window, qtbot: QtBot, tmp_path: Path) -> None:
    session = window.sessions[0]
    path = file(tmp_path, *({"_id": f"A-{n}"} for n in range(400)))
    asked = collection(window).batches.read_file(str(path))
    wait_idle(qtbot, lambda: asked.go.isEnabled())
    asked.go.click()
    qtbot.waitUntil(lambda: any("Inserting" in said for said in told(window)))
    qtbot.waitUntil(lambda: session.journal.entries(5) != [])
    running = next(line for line in window.messages.lines if "Inserting" in line.text)
    next(made for made in running.buttons if made.text() == "Stop").click()
    line = message(window, "Stopped: ", qtbot)
    left = session.documents.count(NS, '{ "_id": { "$regex": "^A-" } }')[0]
    assert left is not None
    assert 0 < left < 400
    undo(line)
    message(window, "Undone: ", qtbot)
    assert session.documents.count(NS, '{ "_id": { "$regex": "^A-" } }')[0] == 0


# --- pasting


@pytest.mark.deep
def test_several_documents_pasted_as_json_go_through_the_same_plan(window: Window, qtbot: QtBot) -> None:
    window.workspace.open(window.sessions[0], PageRequest("collection", "insurance.agents"))
    wait_idle(qtbot)
    window.actions_.trigger("new-document")
    asked = sheet(window)
    assert isinstance(asked, NewDocument)
    asked.editor.setPlainText("[{ _id: 'Z-1', n: NumberLong(7) }, { _id: 'Z-2' }]")
    asked.insert.click()
    qtbot.waitUntil(lambda: isinstance(sheet(window), InsertSheet))
    plan = sheet(window)
    assert isinstance(plan, InsertSheet)
    wait_idle(qtbot, lambda: plan.go.isEnabled())
    plan.go.click()
    message(window, "2 documents inserted", qtbot)
    found = window.sessions[0].history.version("insurance.agents", Value.of("Z-1"))
    assert canonical.get(found.content or b"", ("n",)).kind == "Int64"  # type: ignore[union-attr]


@pytest.mark.deep
def test_one_document_pasted_with_its_id_keeps_it(window: Window, qtbot: QtBot) -> None:
    window.actions_.trigger("new-document")
    asked = sheet(window)
    assert isinstance(asked, NewDocument)
    asked.editor.setPlainText('{ "_id": "A-7", "status": "new" }')
    asked.id.setText("A-8")
    asked.insert.click()
    assert asked.trouble.text().startswith("Its _id is not the one in the line above")
    asked.id.clear()
    asked.insert.click()
    wait_idle(qtbot, lambda: bool(told(window)))
    made = window.sessions[0].history.version(NS, Value.of("A-7"))
    assert made.v == Value.of(1)
    assert canonical.get(made.content or b"", ("status",)) == Value.of("new")


# --- the journal


@pytest.mark.deep
def test_a_run_is_taken_back_from_the_journal_long_after_its_message_is_gone(window: Window, qtbot: QtBot) -> None:
    page = pick(window, qtbot, 2)
    session, gone = window.sessions[0], [row.id for row in page.browser.picked]
    run = session.batches.delete(session.batches.deletion(NS, gone))
    assert [outcome.kind for outcome in run] == ["applied", "applied"]
    journal = window.workspace.open(session, PageRequest("journal"))
    assert isinstance(journal, JournalPage)
    panel = journal.panel
    wait_idle(qtbot, lambda: panel.entry is not None and panel.entry.run == run.id)
    panel.undo_run.click()
    question = sheet(window)
    assert isinstance(question, Question)
    assert run.id in question.text
    question.verb.click()
    message(window, f"2 writes of {run.id} taken back", qtbot)
    assert all(session.history.version(NS, id).content for id in gone)
    panel.list.setCurrentIndex(panel.model.index(len(panel.model.rows) - 1, 0))
    wait_idle(qtbot)
    assert panel.undo_run.isVisible()


@pytest.mark.deep
def test_a_write_of_its_own_has_no_run_to_take_back(window: Window, qtbot: QtBot) -> None:
    session = window.sessions[0]
    assert session.edit(NS, "K-204118", set={"status": "lapsed"}).kind == "applied"
    journal = window.workspace.open(session, PageRequest("journal"))
    assert isinstance(journal, JournalPage)
    wait_idle(qtbot, lambda: journal.panel.entry is not None)
    assert not journal.panel.undo_run.isVisible()


# --- between lists


def paste(window: Window, qtbot: QtBot) -> InsertSheet:
    """Paste into the list in front, and wait for the question."""
    qtbot.keyClick(collection(window).browser.list, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: bool(window.findChildren(InsertSheet)))
    asked = sheet(window)
    assert isinstance(asked, InsertSheet)
    wait_idle(qtbot)
    return asked


def show(window: Window, qtbot: QtBot, ns: str, at: int = -1) -> CollectionPage:
    """Bring a collection of a connection to the front, with the focus in its list."""
    window.workspace.open(window.sessions[at], PageRequest("collection", ns))
    wait_idle(qtbot, lambda: collection(window).browser.page is not None)
    collection(window).browser.list.setFocus()
    return collection(window)


@pytest.mark.deep
def test_documents_are_copied_in_one_list_and_pasted_into_another_one_whole(window: Window, qtbot: QtBot) -> None:
    page = show(window, qtbot, "insurance.agents")
    page.browser.bar.set_fields("name")  # the list reads a part of each document
    wait_idle(qtbot)
    pick(window, qtbot, 2)
    rows = [row.id for row in page.browser.picked]
    qtbot.keyClick(page.browser.list, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    wait_idle(qtbot)
    assert told(window)[-1].startswith("Copied as Extended JSON: 2 documents")
    session = window.sessions[-1]
    whole = [session.history.last("insurance.agents", id).raw for id in rows]
    show(window, qtbot, "reporting.kpi")
    asked = paste(window, qtbot)
    assert asked.report.text().startswith("2 documents of 2 would be inserted.")
    asked.go.click()
    message(window, "2 documents inserted", qtbot)
    assert [session.history.last("reporting.kpi", id).raw for id in rows] == whole


@pytest.mark.deep
def test_a_pasted_document_never_takes_the_place_of_the_one_that_has_its_id(window: Window, qtbot: QtBot) -> None:
    page = pick(window, qtbot, 1)
    qtbot.keyClick(page.browser.list, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    wait_idle(qtbot)
    asked = paste(window, qtbot)
    assert "1 document has an id that is taken: the document that has it stays as it is." in asked.report.text()
    assert not asked.go.isEnabled()
    asked.reject()


@pytest.mark.deep
def test_documents_are_pasted_into_another_connection_unless_it_is_read_only(
    window: Window, qtbot: QtBot, tmp_path: Path
) -> None:
    page = show(window, qtbot, "insurance.agents")
    pick(window, qtbot, 1)
    qtbot.keyClick(page.browser.list, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    wait_idle(qtbot)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "orders.bson").write_bytes(canonical.encode({"_id": 1}))
    open_source(qtbot, window, Opening(str(tmp_path)))
    there = show(window, qtbot, "shop.orders")
    qtbot.keyClick(there.browser.list, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert not window.findChildren(InsertSheet)
    assert told(window)[-1].endswith("is open read-only")
    window.connecting.reopen_into_memory(window.sessions[-1])
    wait_idle(qtbot, lambda: len(window.sessions) == 2)
    there = show(window, qtbot, "shop.orders")
    asked = paste(window, qtbot)
    asked.go.click()
    message(window, "1 document inserted", qtbot)
    assert len(there.browser.model.rows) == 2


@pytest.mark.deep
def test_a_clipboard_without_documents_is_said_to_have_none(window: Window, qtbot: QtBot) -> None:
    collection(window).browser.list.setFocus()
    QGuiApplication.clipboard().setText(" ")
    qtbot.keyClick(collection(window).browser.list, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert told(window)[-1] == "There is no document on the clipboard"
    QGuiApplication.clipboard().setText("K-204117")
    asked = paste(window, qtbot)
    assert not asked.go.isEnabled()
    asked.reject()
