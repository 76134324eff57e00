"""A person takes single differences of a comparison into the draft of the document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QCursor
from pytestqt.qtbot import QtBot

from gui.pages.collection_page import CollectionPage
from gui.pages.document_pages import DocumentPage
from gui.pages.page_request import PageRequest
from gui.views.compare.diff_panel import DiffPanel
from gui.window.window import Window
from model.session import Session
from model.values import canonical
from model.values.canonical import Path as FieldPath
from model.values.canonical import Value
from tests.gui.window.windows import adopt, collection, document, new_window, wait_idle

NS, ID = "insurance.contracts", Value.of("K-204117")


@pytest.fixture
def sample(homes: Path) -> Iterator[Session]:
    made = Session.open("sample:", home=homes / "taking")
    yield made
    Session.close(made)  # the window has taken its own over


@pytest.fixture
def window(qtbot: QtBot, sample: Session) -> Window:
    made = new_window(qtbot)
    adopt(qtbot, made, sample)
    return made


def compare(qtbot: QtBot, window: Window, a: int, b: int) -> CollectionPage:
    window.workspace.open(window.sessions[0], PageRequest("collection", NS, ID))
    page = collection(window)
    wait_idle(qtbot, lambda: page.diff.comparison is not None and page.diff.id == ID)
    page.timeline.set_ab(Value.of(a), Value.of(b))
    wait_idle(qtbot, lambda: page.diff.comparison is not None and page.diff.comparison.a.v == Value.of(a))
    return page


def go_to(panel: DiffPanel, path: FieldPath) -> None:
    number = next(i for i, op in enumerate(panel._plan.changes if panel._plan else ()) if op.path == path)
    panel._go(number)


def edited(qtbot: QtBot, window: Window) -> DocumentPage:
    wait_idle(qtbot, lambda: isinstance(window.workspace.tab_area.page, DocumentPage))
    page = document(window)
    wait_idle(qtbot, lambda: page.editor.is_loaded)
    return page


def test_an_arrow_takes_one_value_after_the_other_and_undo_takes_it_back(
    qtbot: QtBot, window: Window, sample: Session
) -> None:
    now, old = sample.history.version(NS, ID), sample.history.version(NS, ID, Value.of(11))
    page = compare(qtbot, window, 11, 14)
    go_to(page.diff, ("premium", "gross"))
    arrow = page.diff.arrows.buttons["a"]
    assert arrow.isVisible()
    assert not page.diff.arrows.buttons["b"].isVisible()
    row = page.diff.table.visualRect(page.diff.table.currentIndex())
    assert row.top() - 2 <= arrow.y() <= row.bottom()
    arrow.click()
    editor = edited(qtbot, window).editor
    path: FieldPath = ("premium", "gross")
    wait_idle(qtbot, lambda: editor.is_dirty)
    assert canonical.get(editor.content, path) == canonical.get(old.content or b"", path)
    assert canonical.put(editor.content, path, canonical.get(now.content or b"", path) or Value.of(0)) == now.content
    page = compare(qtbot, window, 11, 14)
    go_to(page.diff, ("billing", "interval"))
    page.diff.table.setFocus()
    qtbot.keyClick(page.diff.table, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    editor = edited(qtbot, window).editor
    wait_idle(qtbot, lambda: editor.changed_count == 2)
    assert sample.history.version(NS, ID).content == now.content
    editor.undo()
    editor.undo()
    assert editor.content == now.content


@pytest.mark.deep
def test_where_a_is_the_current_version_the_arrow_leads_from_b(qtbot: QtBot, window: Window, sample: Session) -> None:
    page = compare(qtbot, window, 14, 11)
    go_to(page.diff, ("premium", "gross"))
    assert page.diff.arrows.buttons["b"].isVisible()
    assert not page.diff.arrows.buttons["a"].isVisible()
    assert page.diff.why_not_take("a") == "A is the current version, which the draft begins from."
    page.diff.arrows.buttons["b"].click()
    editor = edited(qtbot, window).editor
    wait_idle(qtbot, lambda: editor.is_dirty)
    old = sample.history.version(NS, ID, Value.of(11)).content or b""
    assert canonical.get(editor.content, ("premium", "gross")) == canonical.get(old, ("premium", "gross"))


@pytest.mark.deep
def test_another_comparison_under_the_pointer_takes_the_arrow_away_until_the_pointer_moves(
    qtbot: QtBot, window: Window, sample: Session
) -> None:
    page = compare(qtbot, window, 11, 14)
    arrow, seen = page.diff.arrows.buttons["a"], page.diff.table.viewport()
    go_to(page.diff, ("premium", "gross"))
    QCursor.setPos(arrow.mapToGlobal(arrow.rect().center()))
    sample.colleague.change(NS, ID)
    wait_idle(qtbot, lambda: page.diff.comparison is not None and page.diff.comparison.b.v == Value.of(15))
    assert page.diff.table.currentIndex().isValid()
    assert not arrow.isVisible()
    QCursor.setPos(seen.mapToGlobal(QPoint(4, 4)))
    qtbot.mouseMove(seen, QPoint(4, 4))
    wait_idle(qtbot, arrow.isVisible)


@pytest.mark.deep
def test_nothing_is_taken_where_nothing_may_be_written(qtbot: QtBot, window: Window, sample: Session) -> None:
    page = compare(qtbot, window, 11, 14)
    sample.trust.read_only = True
    page.diff.say_writable()
    go_to(page.diff, ("premium", "gross"))
    assert not page.diff.arrows.buttons["a"].isVisible()
    assert page.diff.why_not_take("a") == "This connection is read-only."
    asked: list[object] = []
    page.diff.take_asked.connect(lambda *said: asked.append(said))
    page.diff.take("a")
    assert asked == []
