"""A newcomer's first minutes, by keys alone: from the first window to a resolved conflict in one field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QWidget
from pytestqt.qtbot import QtBot

from gui.pages.collection_page import CollectionPage
from gui.pages.document_pages import DocumentPage, MergePage
from gui.style import focus_ring
from gui.style.sheet import Sheet
from gui.window.window import Window
from model import text
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from tests.gui.field_support import open_paths
from tests.gui.window.windows import (
    ID,
    NS,
    adopt,
    document,
    each_kind,
    filled_page,
    new_window,
    told,
    wait_idle,
    with_traces,
)

ENOUGH = 40  # presses of Tab


@pytest.fixture(scope="module")
def shared(homes: Path) -> Iterator[Session]:
    """A sample that tests which write nothing share, with an entry of the journal and a draft."""
    made = Session.open("sample:", home=homes / "keys")
    with_traces(made)
    close = made.close
    yield made
    close()


def here(window: Window) -> QWidget:
    """The focused widget, which a person can see."""
    found = window.focusWidget()
    assert found is not None
    assert found.isVisible()
    assert not found.visibleRegion().isEmpty(), found
    return found


def press(window: Window, key: Qt.Key, held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """One key, where the focus is."""
    QTest.keyClick(here(window), key, held)


def tab_to(window: Window, is_it: Callable[[QWidget], bool]) -> None:
    """Press Tab until the focus is there."""
    for _ in range(ENOUGH):
        if is_it(here(window)):
            return
        press(window, Qt.Key.Key_Tab)
    raise AssertionError("Tab never came there")


@pytest.mark.deep
@pytest.mark.slice
def test_a_newcomer_resolves_a_conflict_in_the_field_that_the_hint_names_by_keys_alone(qtbot: QtBot) -> None:
    window = new_window(qtbot)
    control = Qt.KeyboardModifier.ControlModifier
    tab_to(window, lambda w: isinstance(w, QAbstractButton) and w.text().startswith("Lose a race"))
    press(window, Qt.Key.Key_Space)
    wait_idle(qtbot, lambda: any("another value" in said for said in told(window)))
    page = document(window)
    node = page.editor.model.node(page.editor.tree.currentIndex())
    assert node is not None
    path = page.editor.model.path(node)
    assert text.path_text(path) in told(window)[-1]

    for letter in "mine":  # on the chosen row, as the hint says; from the first letter on its editor has the focus
        QTest.keyClick(here(window), letter)
    press(window, Qt.Key.Key_Return)
    wait_idle(qtbot, lambda: window.sessions[0].history.version(NS, Value.of(ID)).v == Value.of(15))
    press(window, Qt.Key.Key_S, control)
    wait_idle(qtbot, lambda: page.prompt is not None)
    assert page.prompt is not None
    assert open_paths(page.prompt.conflict) == [path]
    assert here(window) is page.prompt.buttons["review"]
    press(window, Qt.Key.Key_Return)
    wait_idle(qtbot, lambda: isinstance(window.workspace.page, MergePage))
    merge = window.workspace.page
    assert isinstance(merge, MergePage)
    qtbot.waitUntil(lambda: merge.resolver.unresolved == 1)
    assert here(window) is merge.resolver.table
    press(window, Qt.Key.Key_2, control)
    wait_idle(qtbot, lambda: merge.resolver.unresolved == 0)
    press(window, Qt.Key.Key_S, control)
    wait_idle(qtbot, lambda: isinstance(window.workspace.page, DocumentPage))
    after = window.sessions[0].history.version(NS, Value.of(ID))
    assert after.v == Value.of(16)
    assert after.content is not None
    assert canonical.get(after.content, path) == Value.of("mine")
    assert any("v16" in said for said in told(window))
    assert focus_ring.takes(here(window))


def test_every_pane_of_a_page_is_reached_by_f6_and_every_control_by_tab(qtbot: QtBot) -> None:
    window = new_window(qtbot)
    tab_to(window, lambda w: isinstance(w, QAbstractButton) and w.text() == "Open the sample")
    press(window, Qt.Key.Key_Return)
    wait_idle(qtbot, lambda: isinstance(window.workspace.page, CollectionPage))
    page = window.workspace.page
    assert isinstance(page, CollectionPage)
    wait_idle(qtbot, lambda: page.diff.comparison is not None)  # from then on all of its panes are there
    panes = [pane for pane in page.panes() if pane.isVisible() and pane.isEnabled()]
    seen = []
    for _ in range(len(panes) + 2):
        press(window, Qt.Key.Key_F6)
        seen.append(here(window))
    for pane in panes:
        assert any(pane is one or pane.isAncestorOf(one) for one in seen), pane
    keys = {QKeySequence(action.shortcut()).toString() for action in window.actions_.by_id.values()}
    assert {"F10", "F6", "F1", "Ctrl+K"} <= keys


def unseen(qtbot: QtBot, window: Window) -> list[str]:
    """The stops of Tab in what is in front at which nothing tells where the focus is."""
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    sheets = [one for one in window.findChildren(Sheet) if one.isVisible()]
    scope: QWidget = sheets[-1] if sheets else window
    stops = [one for one in scope.findChildren(QWidget) if focus_ring.takes(one) and one.focusProxy() is None]
    found = []
    for at, stop in enumerate(stops):
        stop.setFocus(Qt.FocusReason.TabFocusReason)
        box = QRect(stop.mapTo(window, QPoint()), stop.size()).adjusted(-8, -8, 8, 8)
        seen = window.grab(box).toImage()
        stops[at - 1].setFocus(Qt.FocusReason.TabFocusReason)
        if window.grab(box).toImage() == seen:
            found.append(f"{type(stop).__name__} {stop.accessibleName()!r}")
    return found


@pytest.mark.parametrize("kind", each_kind())
def test_the_focus_is_seen_at_every_stop_of_a_page(qtbot: QtBot, shared: Session, kind: str) -> None:
    window = new_window(qtbot)
    adopt(qtbot, window, shared)
    page = filled_page(qtbot, window, shared, kind)
    assert page.kind == kind
    if isinstance(page, DocumentPage):
        qtbot.waitUntil(lambda: page.editor.is_loaded)
        page.editor.find("active")
        page.editor.revert_all()
    assert unseen(qtbot, window) == []


@pytest.mark.deep
def test_the_focus_is_seen_in_a_sheet_that_scrolls(qtbot: QtBot, shared: Session) -> None:
    window = new_window(qtbot, 1024, 640)
    adopt(qtbot, window, shared)
    sheet = window.commands.state_layout(shared, "insurance.claims")
    wait_idle(qtbot, lambda: bool(sheet.form.rows))
    assert unseen(qtbot, window) == []
