"""A write reaches every open view of its document: other pages, the page that sent it, other windows."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTreeView
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from gui.pages.collection_page import CollectionPage
from gui.pages.document_pages import DocumentPage, MergePage
from gui.pages.history_pages import BlamePage, ChangeMapPage
from gui.pages.page_request import CollectionStart, PageRequest
from gui.pages.repair_pages import RepairPage
from gui.pages.tool_pages import DraftsPage, JournalPage, PendingPage
from gui.parts.differences.diff_model import FIELD
from gui.parts.differences.diff_table import DiffTable
from gui.parts.fields.field_model import VALUE
from gui.window.opening import Opening
from gui.window.window import Window
from model.foundation.records import Version
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from tests.gui.window.windows import ID, NS, adopt, new_window, open_sample, open_source, told, wait_idle

DOCUMENT = Value.of(ID)


@pytest.fixture
def window(qtbot: QtBot) -> Window:
    made = new_window(qtbot)
    open_sample(qtbot, made)
    return made


def editor_page(window: Window, qtbot: QtBot) -> DocumentPage:
    page = window.workspace.open(window.sessions[0], PageRequest("document", NS, DOCUMENT))
    assert isinstance(page, DocumentPage)
    wait_idle(qtbot, lambda: page.editor.is_loaded)
    return page


def put(page: DocumentPage, name: str, typed: str) -> None:
    tree = page.editor.tree
    assert tree.edit_cell(page.editor.model.find((name,), VALUE))
    field = tree.editor.widget
    assert field is not None
    field.selectAll()
    QTest.keyClicks(field, typed)
    assert tree.commit()


def still(window: Window) -> bool:
    return not any(page.is_behind for page in window.workspace.tab_area.pages)


def stands_on(page: DocumentPage, now: Version) -> bool:
    editor = page.editor
    return editor.base is not None and (editor.base.v, editor.content) == (now.v, now.content)


@pytest.mark.deep
def test_undo_takes_the_editor_along_and_says_which_content_is_there(window: Window, qtbot: QtBot) -> None:
    session, page = window.sessions[0], editor_page(window, qtbot)
    put(page, "status", '"lapsed"')
    page.editor.save()
    wait_idle(qtbot, lambda: not page.dirty)
    line = next(line for line in window.messages.lines if line.text.startswith("Saved as v15"))
    line.buttons[0].click()
    wait_idle(qtbot, lambda: any("Undone" in text for text in told(window)))
    assert "Undone: v16 has the content of v14." in told(window)
    wait_idle(qtbot, lambda: stands_on(page, session.history.version(NS, DOCUMENT)))
    put(page, "status", '"paused"')
    page.editor.save()
    wait_idle(qtbot, lambda: not page.dirty)
    assert page.prompt is None  # no conflict with oneself
    assert session.history.version(NS, DOCUMENT).v == Value.of(17)


@pytest.mark.deep
def test_undo_in_the_message_before_a_delete_says_that_the_document_is_gone(window: Window, qtbot: QtBot) -> None:
    session, page = window.sessions[0], editor_page(window, qtbot)
    put(page, "status", '"lapsed"')
    page.editor.save()
    wait_idle(qtbot, lambda: any(text.startswith("Saved as v15") for text in told(window)))
    assert session.writing.delete(NS, DOCUMENT, session.history.version(NS, DOCUMENT)).kind == "applied"
    wait_idle(qtbot, lambda: page.editor.states.kind == "failed")
    line = next(line for line in window.messages.lines if line.text.startswith("Saved as v15"))
    line.buttons[0].click()
    wait_idle(qtbot, lambda: any("was deleted since; undo its deletion first" in text for text in told(window)))
    assert not any(isinstance(each, MergePage) for each in window.workspace.tab_area.pages)


def test_a_clean_editor_follows_and_one_with_an_edit_shows_the_badge(window: Window, qtbot: QtBot) -> None:
    session, page = window.sessions[0], editor_page(window, qtbot)
    session.colleague.change(NS, DOCUMENT)
    wait_idle(qtbot, lambda: stands_on(page, session.history.version(NS, DOCUMENT)))
    put(page, "status", '"lapsed"')
    session.colleague.change(NS, DOCUMENT)
    wait_idle(qtbot, lambda: page.editor.is_behind)
    assert page.editor.head.now.accessibleName() == "v16 in the database"
    assert canonical.get(page.editor.content, ("status",)) == Value.of("lapsed")


@pytest.mark.deep
def test_a_history_follows_when_somebody_writes_a_row_of_its_archive(window: Window, qtbot: QtBot) -> None:
    session = window.sessions[0]
    page = window.workspace.open(session, PageRequest("map", NS, DOCUMENT))
    assert isinstance(page, ChangeMapPage)
    wait_idle(qtbot, lambda: page.panel.model.chain is not None)
    archive = f"{NS}_history"
    (row,) = session.documents.page(archive, f'{{ "docId": "{ID}", "v": 1 }}').rows
    before = page.panel.model.chain.versions
    assert session.colleague.change(archive, row.id).kind == "applied"
    now = session.history.chain(NS, DOCUMENT).versions
    assert now != before
    wait_idle(qtbot, lambda: page.panel.model.chain.versions == now)


@pytest.mark.deep
def test_an_edit_that_was_undone_over_a_newer_version_can_be_redone_and_the_badge_stays(
    window: Window, qtbot: QtBot
) -> None:
    session, page = window.sessions[0], editor_page(window, qtbot)
    put(page, "status", '"lapsed"')
    session.colleague.change(NS, DOCUMENT)
    wait_idle(qtbot, lambda: page.editor.is_behind)
    page.editor.undo()
    wait_idle(qtbot)
    assert not page.editor.is_dirty
    assert page.editor.head.now.said == "v15 in the database"
    page.editor.redo()
    assert canonical.get(page.editor.content, ("status",)) == Value.of("lapsed")
    page.editor.undo()
    session.colleague.change(NS, DOCUMENT)  # what is written after the undo is followed again
    wait_idle(qtbot, lambda: stands_on(page, session.history.version(NS, DOCUMENT)))


@pytest.mark.deep
def test_an_open_cell_is_not_taken_away_and_the_editor_follows_once_it_is_closed(window: Window, qtbot: QtBot) -> None:
    session, page = window.sessions[0], editor_page(window, qtbot)
    tree = page.editor.tree
    assert tree.edit_cell(page.editor.model.find(("status",), VALUE))
    session.colleague.change(NS, DOCUMENT)
    wait_idle(qtbot, lambda: page.editor.is_behind)
    assert tree.has_editor
    tree.give_up()
    wait_idle(qtbot, lambda: stands_on(page, session.history.version(NS, DOCUMENT)))


@pytest.mark.deep
@pytest.mark.slice
def test_every_page_of_two_windows_follows_one_save(window: Window, qtbot: QtBot) -> None:
    session, page = window.sessions[0], editor_page(window, qtbot)
    other = new_window(qtbot)
    adopt_beside(qtbot, other, session)
    opened = [
        each.workspace.open(session, PageRequest(kind, NS, DOCUMENT))
        for each, kinds in ((window, ("map", "journal")), (other, ("blame", "journal")))
        for kind in kinds
    ]
    second = editor_page(other, qtbot)
    browsed = other.workspace.open(session, PageRequest("collection", NS, DOCUMENT))
    wait_idle(qtbot)
    put(page, "status", '"lapsed"')
    page.editor.save()
    wait_idle(qtbot, lambda: not page.dirty and still(window) and still(other))
    now = session.history.version(NS, DOCUMENT)
    assert stands_on(page, now)
    assert stands_on(second, now)
    for each in opened:
        if isinstance(each, ChangeMapPage):
            assert each.panel.model.versions[-1].v == now.v
        elif isinstance(each, BlamePage):
            assert any(row.version.v == now.v for row in each.panel.model.rows)
        else:
            assert isinstance(each, JournalPage)
            assert each.panel.model.rows[0].kind == "applied"
    assert isinstance(browsed, CollectionPage)
    assert browsed.browser.row is not None
    assert browsed.browser.row.version == now.v
    _, b = browsed.timeline.chosen()
    assert b is not None
    assert b.v == now.v
    assert browsed.diff.comparison is not None
    assert browsed.diff.comparison.b.v == now.v


def adopt_beside(qtbot: QtBot, window: Window, session: Session) -> None:
    """Show a session in a second window, which leaves closing it to the first."""
    close = session.close
    adopt(qtbot, window, session)
    window._sessions.all.remove(session)
    session.close = close  # type: ignore[method-assign]
    window._sessions.all.append(session)


@pytest.mark.deep
def test_two_versions_that_were_chosen_stay_and_only_the_current_one_follows(window: Window, qtbot: QtBot) -> None:
    session = window.sessions[0]
    start = CollectionStart(a=Value.of(11), b=Value.of(14))
    page = window.workspace.open(session, PageRequest("collection", NS, DOCUMENT, start))
    assert isinstance(page, CollectionPage)
    wait_idle(qtbot, lambda: page.diff.comparison is not None)
    session.colleague.change(NS, DOCUMENT)
    wait_idle(qtbot, lambda: page.timeline.model.versions[0].v == Value.of(15))
    assert [one.v for one in page.timeline.chosen() if one is not None] == [Value.of(11), Value.of(15)]
    page.show_document(DOCUMENT, Value.of(3), Value.of(7))
    wait_idle(qtbot)
    shown = page.diff.comparison
    session.colleague.change(NS, DOCUMENT)
    wait_idle(qtbot, lambda: page.timeline.model.versions[0].v == Value.of(16))
    assert [one.v for one in page.timeline.chosen() if one is not None] == [Value.of(3), Value.of(7)]
    assert page.diff.comparison is shown  # nothing of it is another now, so not even the place in it is lost


@pytest.mark.deep
def test_a_deleted_row_leaves_the_choice_where_it_stood(window: Window, qtbot: QtBot) -> None:
    session = window.sessions[0]
    page = window.workspace.open(session, PageRequest("collection", NS))
    assert isinstance(page, CollectionPage)
    wait_idle(qtbot)
    page.browser.list.setCurrentIndex(page.browser.model.index(5, 0))
    wait_idle(qtbot)
    row, following = page.browser.model.rows[5], page.browser.model.rows[6]
    session.writing.delete(NS, row.id, session.history.version(NS, row.id))
    wait_idle(qtbot, lambda: page.browser.model.row_of(row.id) < 0)
    assert page.browser.row is not None
    assert page.browser.row.id == following.id


@pytest.mark.deep
def test_the_list_of_drafts_follows_an_edit_and_its_saving(window: Window, qtbot: QtBot) -> None:
    drafts = window.workspace.open(window.sessions[0], PageRequest("drafts"))
    assert isinstance(drafts, DraftsPage)
    page = editor_page(window, qtbot)
    put(page, "status", '"lapsed"')
    wait_idle(qtbot, lambda: len(drafts.panel.model.rows) == 1)
    page.editor.save()
    wait_idle(qtbot, lambda: not drafts.panel.model.rows)


@pytest.mark.deep
def test_the_numbers_in_the_sidebar_are_of_the_connection_in_front(
    window: Window, qtbot: QtBot, tmp_path: Path
) -> None:
    entries = window.workspace.sidebar.entries

    def counted() -> tuple[int, int]:
        return entries["journal"].count, entries["repair"].count

    page = editor_page(window, qtbot)
    put(page, "status", '"lapsed"')
    wait_idle(qtbot, lambda: counted() == (1, 7))
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "orders.bson").write_bytes(canonical.encode({"_id": 1}))
    dump = open_source(qtbot, window, Opening(str(tmp_path)))
    window.workspace.open(dump, PageRequest("drafts"))
    wait_idle(qtbot, lambda: counted() == (1, 0))  # drafts are of all connections
    window.workspace.open(window.sessions[0], PageRequest("drafts"))
    wait_idle(qtbot, lambda: counted() == (1, 7))


@pytest.mark.deep
def test_a_draft_that_is_discarded_in_the_list_while_its_text_is_typed_leaves_the_focus_in_the_list(
    window: Window, qtbot: QtBot
) -> None:
    page = editor_page(window, qtbot)
    put(page, "status", '"lapsed"')
    assert page.editor.tree.edit_cell(page.editor.model.find(("status",), VALUE))
    drafts = window.workspace.open(window.sessions[0], PageRequest("drafts"))
    assert isinstance(drafts, DraftsPage)
    wait_idle(qtbot, lambda: len(drafts.panel.model.rows) == 1)
    drafts.panel.list.setFocus()
    drafts.panel._discard()
    wait_idle(qtbot, lambda: not page.dirty)
    assert page.editor.tree.editor.typing is None
    assert drafts.isAncestorOf(QApplication.focusWidget())


@pytest.mark.deep
def test_every_page_of_a_collection_is_read_anew_when_it_is_taken_for_another_layout(
    window: Window, qtbot: QtBot
) -> None:
    session = window.sessions[0]
    blame = window.workspace.open(session, PageRequest("blame", NS, DOCUMENT))
    assert isinstance(blame, BlamePage)
    wait_idle(qtbot, lambda: bool(blame.panel.model.rows))
    editor = editor_page(window, qtbot).editor
    assert editor.base is not None
    assert editor.base.v == Value.of(14)
    assert len({row.version.v for row in blame.panel.model.rows}) > 1
    window.workspace.sidebar.set_layout(session, NS, "plain")
    wait_idle(qtbot, lambda: len({row.version.v for row in blame.panel.model.rows}) == 1)
    wait_idle(qtbot, lambda: editor.base is not None and editor.base.v is None)


@pytest.mark.deep
def test_text_that_is_still_typed_into_a_field_stays_when_somebody_deletes_the_document(
    window: Window, qtbot: QtBot
) -> None:
    session, page = window.sessions[0], editor_page(window, qtbot)
    tree = page.editor.tree
    assert tree.edit_cell(page.editor.model.find(("status",), VALUE))
    QTest.keyClicks(tree.editor.widget, '"lapsed"')
    session.writing.delete(NS, DOCUMENT, session.history.version(NS, DOCUMENT))
    wait_idle(qtbot, lambda: page.editor.is_behind)
    assert page.editor.head.now.accessibleName() == "deleted in the database"
    assert tree.editor.widget is not None
    assert tree.editor.widget.isVisible()
    assert tree.commit()
    assert page.dirty


@pytest.mark.deep
def test_text_that_is_no_value_keeps_no_focus_when_another_page_comes_in_front(window: Window, qtbot: QtBot) -> None:
    page = editor_page(window, qtbot)
    tree = page.editor.tree
    assert tree.edit_cell(page.editor.model.find(("deductible",), VALUE))
    QTest.keyClicks(tree.editor.widget, "no number")
    tree.editor.left()  # the page goes between the loss of the focus and what follows from it
    window.workspace.open(window.sessions[0], PageRequest("drafts"))
    wait_idle(qtbot, lambda: tree.editor.line != "")
    focused = QApplication.focusWidget()
    assert focused is not None
    assert focused.isVisible()


@pytest.mark.deep
def test_an_edit_of_a_document_that_somebody_deletes_stays_and_says_so(window: Window, qtbot: QtBot) -> None:
    session, page = window.sessions[0], editor_page(window, qtbot)
    put(page, "status", '"lapsed"')
    session.writing.delete(NS, DOCUMENT, session.history.version(NS, DOCUMENT))
    wait_idle(qtbot, lambda: page.editor.is_behind)
    assert page.editor.head.now.accessibleName() == "deleted in the database"
    assert page.dirty


@pytest.mark.deep
def test_a_merge_is_made_anew_as_soon_as_the_document_moves_again(window: Window, qtbot: QtBot) -> None:
    session, page = window.sessions[0], editor_page(window, qtbot)
    put(page, "status", '"lapsed"')
    session.colleague.change(NS, DOCUMENT)
    wait_idle(qtbot, lambda: page.editor.is_behind)
    base = page.editor.base
    assert base is not None
    conflict = session.writing.conflict(NS, DOCUMENT, base, page.editor.content)
    merge = window.workspace.open(session, PageRequest("merge", NS, DOCUMENT, conflict, "instead"))
    wait_idle(qtbot)
    session.colleague.change(NS, DOCUMENT)
    resolver = merge.resolver  # type: ignore[attr-defined]
    wait_idle(qtbot, lambda: resolver.resolution.conflict.theirs.v == Value.of(16))
    assert "moved again" in resolver.notices.lines["moved"].text


@pytest.mark.deep
def test_findings_go_down_as_they_are_repaired_the_quarantine_is_listed_and_undo_brings_them_back(
    window: Window, qtbot: QtBot
) -> None:
    session = window.sessions[0]
    other = new_window(qtbot)
    adopt_beside(qtbot, other, session)
    asked = PageRequest("repair", "insurance.contracts")
    pages = [each.workspace.open(session, asked) for each in (window, other)]
    for page in pages:
        assert isinstance(page, RepairPage)
        wait_idle(qtbot, lambda page=page: page.panel.plan is not None)  # type: ignore[misc]
    mine, others = (page.panel for page in pages if isinstance(page, RepairPage))
    total, number = mine.pane.total, pages[1].waiting
    assert total == number > 0
    mine.pane.tree.choose(("A3",))
    wait_idle(qtbot)
    phantoms = len(mine.model.ticked())
    assert phantoms
    mine.apply()
    wait_idle(qtbot, lambda: mine.pane.total == total - phantoms)
    wait_idle(qtbot, lambda: others.pane.total == total - phantoms)
    assert pages[1].waiting == total - phantoms
    for each in (window, other):  # the first removal has made this collection
        sidebar = each.workspace.sidebar
        wait_idle(
            qtbot, lambda sidebar=sidebar: "insurance.quarantine" in {info.ns for info in sidebar.ns_known(session)}
        )  # type: ignore[misc]
    entry = session.journal.entries(1)[0]
    session.way_back.undo(entry.id)
    wait_idle(qtbot, lambda: mine.pane.total == others.pane.total == total - phantoms + 1)


@pytest.mark.deep
def test_a_clean_editor_says_that_its_document_is_gone_though_another_window_has_a_draft(
    window: Window, qtbot: QtBot
) -> None:
    session = window.sessions[0]
    other = new_window(qtbot)
    adopt_beside(qtbot, other, session)
    clean, page = editor_page(other, qtbot), editor_page(window, qtbot)
    put(page, "status", '"lapsed"')
    wait_idle(qtbot, lambda: session.drafts.get(session.source, NS, DOCUMENT) is not None)
    session.writing.delete(NS, DOCUMENT, session.history.version(NS, DOCUMENT))
    wait_idle(qtbot, lambda: clean.editor.states.kind == "failed")
    assert page.editor.head.now.accessibleName() == "deleted in the database"


def indexes(tree: QTreeView) -> list[QModelIndex]:
    """The rows in sight."""
    found, index = [], tree.indexAt(tree.viewport().rect().topLeft())
    while index.isValid() and tree.visualRect(index).top() < tree.viewport().height():
        found.append(index)
        index = tree.indexBelow(index)
    return found


def fields_at(table: DiffTable) -> list[str]:
    """The fields of the rows in sight."""
    return [str(at.siblingAtColumn(FIELD).data()) for at in indexes(table)]


@pytest.mark.deep
def test_a_comparison_that_follows_a_new_version_keeps_its_row_its_place_and_what_stands_open(
    window: Window, qtbot: QtBot
) -> None:
    session = window.sessions[0]
    start = CollectionStart(a=Value.of(3), b=Value.of(14))
    page = window.workspace.open(session, PageRequest("collection", NS, DOCUMENT, start))
    assert isinstance(page, CollectionPage)
    wait_idle(qtbot, lambda: page.diff.comparison is not None)
    table, model = page.diff.table, page.diff.model
    page.diff.do_next_change()
    model.fetchMore(fold := model.index(model.rowCount() - 1, 0))
    table.expand(fold)
    closed = next(at for at in (model.index(row, 0) for row in range(model.rowCount())) if table.isExpanded(at))
    name = closed.siblingAtColumn(FIELD).data()
    table.collapse(closed)
    table.setCurrentIndex(model.index(2, FIELD, fold))
    table.verticalScrollBar().setValue(table.verticalScrollBar().maximum() - 31)
    before, field, bar = fields_at(table), table.currentIndex().data(), table.verticalScrollBar().value()
    assert bar > 0
    session.colleague.change(NS, DOCUMENT)
    wait_idle(qtbot, lambda: page.diff.comparison is not None and page.diff.comparison.b.v == Value.of(15))
    assert table.currentIndex().data() == field
    assert fields_at(table)[1:] == before[1:]
    rows = [model.index(row, 0) for row in range(model.rowCount())]
    assert not any(table.isExpanded(at) for at in rows if at.siblingAtColumn(FIELD).data() == name)
    assert table.isExpanded(rows[-1])


@pytest.mark.deep
def test_undo_in_the_message_of_a_closed_tab_says_how_it_ended_and_the_page_goes_with_it(
    window: Window, qtbot: QtBot
) -> None:
    session, page = window.sessions[0], editor_page(window, qtbot)
    put(page, "status", '"lapsed"')
    page.editor.save()
    wait_idle(qtbot, lambda: any(text.startswith("Saved as v15") for text in told(window)))
    window.workspace.tab_area.close_page(page)
    line = next(line for line in window.messages.lines if line.text.startswith("Saved as v15"))
    line.buttons[0].click()
    wait_idle(qtbot, lambda: "Undone: v16 has the content of v14." in told(window))
    assert session.history.version(NS, DOCUMENT).v == Value.of(16)
    assert isValid(page)  # the message has the way back of the undo
    for line in list(window.messages.lines):
        line.leave()
    qtbot.waitUntil(lambda: not isValid(page))


@pytest.mark.deep
def test_undo_in_the_message_of_a_closed_tab_becomes_a_merge_where_the_document_moved_on(
    window: Window, qtbot: QtBot
) -> None:
    session, page = window.sessions[0], editor_page(window, qtbot)
    put(page, "status", '"lapsed"')
    page.editor.save()
    wait_idle(qtbot, lambda: any(text.startswith("Saved as v15") for text in told(window)))
    window.workspace.tab_area.close_page(page)
    assert session.colleague.change(NS, DOCUMENT).kind == "applied"
    line = next(line for line in window.messages.lines if line.text.startswith("Saved as v15"))
    line.buttons[0].click()
    wait_idle(qtbot, lambda: isinstance(window.workspace.tab_area.page, MergePage))


@pytest.mark.deep
def test_no_row_of_an_edit_moves_as_somebody_else_saves(window: Window, qtbot: QtBot) -> None:
    session, page = window.sessions[0], editor_page(window, qtbot)
    put(page, "status", '"lapsed"')
    tree, model = page.editor.tree, page.editor.model
    tree.expand(model.find(("billing",)).siblingAtColumn(0))
    tree.verticalScrollBar().setValue(60)
    rows = [(str(at.siblingAtColumn(FIELD).data()), tree.visualRect(at).top()) for at in indexes(tree)]
    token = model.find(("_w",), VALUE).data()
    session.colleague.change(NS, DOCUMENT)
    wait_idle(qtbot, lambda: page.editor.is_behind)
    assert [(str(at.siblingAtColumn(FIELD).data()), tree.visualRect(at).top()) for at in indexes(tree)] == rows
    assert model.find(("_w",), VALUE).data() == token  # of the version that the edit began from


@pytest.mark.deep
def test_pages_of_a_whole_connection_follow_as_it_lists_other_databases(window: Window, qtbot: QtBot) -> None:
    session, sidebar = window.sessions[0], window.workspace.sidebar
    sidebar.look_at(session, "insurance")
    page = window.workspace.open(session, PageRequest("pending"))
    assert isinstance(page, PendingPage)
    wait_idle(qtbot)
    assert {token.ns for token in page.panel.tokens} == {"insurance.stats"}
    sidebar.look_at(session, "")
    wait_idle(qtbot)
    assert {token.ns for token in page.panel.tokens} == {"insurance.stats", "insurance_2019.stats"}


def test_after_another_program_deleted_it_one_looks_at_what_is_left_and_the_history_goes_on(
    window: Window, qtbot: QtBot
) -> None:
    session, page = window.sessions[0], editor_page(window, qtbot)
    put(page, "status", '"lapsed"')
    assert session.writing.delete(NS, DOCUMENT, session.history.version(NS, DOCUMENT)).kind == "applied"
    wait_idle(qtbot, lambda: page.editor.head.now.said == "deleted in the database")
    page.editor.save()
    wait_idle(qtbot, lambda: page.prompt is not None)
    assert page.prompt is not None
    page.prompt.buttons["history"].click()
    wait_idle(qtbot, lambda: isinstance(window.workspace.tab_area.page, CollectionPage))
    collection = window.workspace.tab_area.page
    assert isinstance(collection, CollectionPage)
    wait_idle(qtbot, lambda: collection.timeline.isVisible() and collection.timeline.model.rowCount() > 10)
    page = editor_page(window, qtbot)
    assert page.dirty
    page.editor.save()
    wait_idle(qtbot, lambda: page.prompt is not None)
    assert page.prompt is not None
    page.prompt.buttons["create_again"].click()
    wait_idle(qtbot, lambda: not page.dirty)
    there = session.history.version(NS, DOCUMENT)
    assert there.v == Value.of(15)
    assert canonical.get(there.content or b"", ("status",)) == Value.of("lapsed")
    assert [each.v.python() for each in session.history.versions(NS, DOCUMENT) if each.v][:3] == [15, 14, 13]
