"""A person reads documents: plain ones, archive rows, a single version, pictures and long texts."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from gui.pages.collection_page import CollectionPage
from gui.pages.page_request import PageRequest
from gui.parts.values.value_pane import ValueDialog
from gui.parts.versions_model import SIZE
from gui.style import preferences, wording
from gui.window.window import Window
from model.session import Session
from model.values.canonical import Value
from tests.gui.window.windows import collection, document, wait_idle


def show(qtbot: QtBot, window: Window, ns: str, id: object = None) -> CollectionPage:
    session = window.sessions[0]
    window.workspace.open(session, PageRequest("collection", ns, None if id is None else Value.of(id)))
    page = collection(window)
    wait_idle(qtbot, lambda: page.id is not None and (id is None or page.id == Value.of(id)))
    return page


def words(page: CollectionPage) -> str:
    return " ".join(label.text() for label in page.findChildren(QLabel) if label.isVisible())


def test_a_plain_document_is_read_field_by_field(qtbot: QtBot, window: Window) -> None:
    page = show(qtbot, window, "insurance.agents", "A-02")
    tree = page.diff.document.tree
    assert tree.isVisible()
    assert not page.timeline.isVisible()
    assert "are the same" not in words(page)
    model = tree.model()
    names = [model.index(row, 1).data() for row in range(model.rowCount())]
    assert names[:3] == ["_id", "name", "region"]
    assert model.index(1, 2).data() == '"Lars Thomsen"'
    assert model.index(names.index("commission"), 3).data() == "Double"
    assert page.diff.document.said.text() == "172 B as stored"
    page.diff.document.edit.click()
    wait_idle(qtbot)
    assert window.workspace.tab_area.page is not page
    assert window.workspace.tab_area.page is not None
    assert window.workspace.tab_area.page.kind == "document"


@pytest.mark.deep
def test_a_row_of_an_archive_names_its_document_and_leads_to_its_history(qtbot: QtBot, window: Window) -> None:
    page = show(qtbot, window, "insurance.contracts_history")
    model = page.browser.model
    at = next(i for i, row in enumerate(model.rows) if row.version == Value.of(4))
    page.browser.list.setCurrentIndex(model.index(at, 0))
    wait_idle(qtbot)
    said = [model.index(at, column).data() for column in range(2)]
    assert said == ["K-118240", "v4"]
    assert page.diff.document.name.text() == "K-118240 v4"
    window.resize(1280, 720)
    wait_idle(qtbot)
    columns = {name: page.browser.list.columnWidth(at) for at, name in enumerate(model.columns)}
    assert columns["preview"] > max(columns["id"], columns["health"])
    assert not page.timeline.isVisible()
    menu = page.browser.menu_for(model.rows[at])
    next(action for action in menu.actions() if action.text() == "Show K-118240 v4 in contracts").trigger()
    wait_idle(qtbot, lambda: collection(window) is not page)
    there = collection(window)
    wait_idle(qtbot, lambda: there.diff.comparison is not None)
    assert there.ns == "insurance.contracts"
    wait_idle(qtbot, lambda: [one.v for one in there.timeline.chosen() if one] == [Value.of(4), Value.of(60)])


@pytest.mark.deep
def test_columns_that_come_while_a_divider_is_dragged_are_not_taken_for_sized_by_a_person(
    qtbot: QtBot, window: Window
) -> None:
    QTest.mousePress(window.status, Qt.MouseButton.LeftButton)
    page = show(qtbot, window, "insurance.contracts_history")
    QTest.mouseRelease(window.status, Qt.MouseButton.LeftButton)
    assert preferences.remembered(f"widths/{','.join(page.browser.model.columns)}", None) is None


@pytest.mark.deep
def test_the_size_in_the_editor_is_that_of_the_stored_document(qtbot: QtBot, window: Window, sample: Session) -> None:
    row = sample.documents.page("insurance.customers", limit=1).rows[0]  # the history is inside
    raw = sample.history.version("insurance.customers", row.id).raw or b""
    window.workspace.open(window.sessions[0], PageRequest("document", "insurance.customers", row.id))
    page = document(window)
    wait_idle(qtbot, lambda: page.editor.is_loaded)
    assert wording.size(len(raw)) != wording.size(len(page.editor.content))
    assert wording.size(len(raw)) in page.status()[0]


def test_the_hash_in_a_row_of_an_archive_is_no_damage_of_the_row(sample: Session) -> None:
    row = sample.documents.page("insurance.contracts_history", limit=1).rows[0]
    assert sample.history.version("insurance.contracts_history", row.id).state == "present"


@pytest.mark.deep
def test_a_picture_is_shown_below_and_in_a_window_of_its_own(qtbot: QtBot, window: Window) -> None:
    page = show(qtbot, window, "reporting.bson_types", "Binary")
    view = page.diff.document
    view.reveal(("picture",))
    qtbot.keyClick(view.tree, Qt.Key.Key_Space)
    wait_idle(qtbot, lambda: view.value.isVisible() and not view.value.sides.left.picture.isHidden())
    view.value.sides.larger.click()
    dialog = window.findChild(ValueDialog)
    assert dialog is not None
    wait_idle(qtbot, lambda: dialog.pane.sides.left.value is not None)
    assert dialog.height() > window.height() * 0.8
    assert dialog.pane.sides.left.value == view.value.sides.left.value
    dialog.reject()


@pytest.mark.deep
def test_a_long_text_gets_most_of_the_room(qtbot: QtBot, window: Window) -> None:
    page = show(qtbot, window, "reporting.texts", "letter")
    view = page.diff.document
    view.reveal(("subject",))
    qtbot.keyClick(view.tree, Qt.Key.Key_Space)
    wait_idle(qtbot)
    low = view.value.height()
    view.reveal(("body",))
    wait_idle(qtbot, lambda: view.value.height() > view.tree.height())
    assert view.value.height() > low


@pytest.mark.deep
def test_a_line_drawn_by_hand_stays_where_it_is(qtbot: QtBot, window: Window) -> None:
    page = show(qtbot, window, "reporting.texts", "letter")
    view = page.diff.document
    view.reveal(("subject",))
    qtbot.keyClick(view.tree, Qt.Key.Key_Space)
    wait_idle(qtbot)
    before = view.value.height()
    view._split.splitterMoved.emit(100, 1)
    view.reveal(("body",))
    wait_idle(qtbot)
    assert view.value.height() == before


@pytest.mark.deep
def test_sizes_of_versions_are_those_of_the_stored_documents(qtbot: QtBot, window: Window) -> None:
    session, layouts = window.sessions[0], set()
    for info in session.catalogue.collections():
        row = next(iter(session.documents.page(info.ns).rows), None) if info.keeps_history else None
        if row is None or info.layout in layouts:
            continue
        layouts.add(info.layout)
        for one in session.history.versions(info.ns, row.id, changed=False):
            if one.state == "present":
                whole = session.history.version(info.ns, row.id, one.v)
                assert whole.raw is not None
                assert one.stored_bytes == len(whole.raw), (info.ns, one.v)
    assert {"archive", "embedded", "flagged", "deltas"} <= layouts
    page = show(qtbot, window, "insurance.contracts", "K-204117")
    sizes = page.timeline.model
    current = session.history.version("insurance.contracts", Value.of("K-204117"))
    cell = sizes.cell(sizes.index(0, SIZE))
    assert cell.text == wording.size(len(current.raw or b""))
    assert cell.text != wording.size(len(current.content or b""))
    assert cell.tip == f"as stored; the content alone is {wording.size(len(current.content or b''))}"
