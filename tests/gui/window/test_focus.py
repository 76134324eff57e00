"""The focus stays where the person is: after dialogs, closed tabs, controls that are disabled, hidden or deleted."""

from __future__ import annotations

from typing import Literal

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot

from gui import messages
from gui.pages.page_request import CollectionStart, PageRequest
from gui.style import preferences
from gui.window.window import Window
from model.values.canonical import Value
from tests.gui.window.windows import ID, NS, collection, document, new_window, open_sample, sheet, wait_idle


@pytest.fixture
def window(qtbot: QtBot) -> Window:
    made = new_window(qtbot)
    open_sample(qtbot, made)
    return made


def focused() -> QWidget:
    here = QApplication.focusWidget()
    assert here is not None
    return here


@pytest.mark.parametrize("folded", [False, pytest.param(True, marks=pytest.mark.deep)])
def test_while_collections_are_read_the_keys_find_one_and_what_is_typed_goes_on(qtbot: QtBot, folded: bool) -> None:
    window = new_window(qtbot)
    preferences.put("sidebar", "folded" if folded else "open")
    window.connecting.open_sample()
    qtbot.waitUntil(lambda: bool(window.sessions))
    area, search = window.workspace.tab_area, window.workspace.sidebar.search
    assert area.page is None  # the collections are being read
    if folded:
        assert area.empty.isAncestorOf(focused())
        wait_idle(qtbot, lambda: area.page is not None)
        assert area.isAncestorOf(focused())
        return
    assert focused() is search
    qtbot.keyClicks(search, "cla")
    wait_idle(qtbot, lambda: area.page is not None)
    assert focused() is search
    qtbot.keyClicks(focused(), "ims")
    assert search.text() == "claims"


@pytest.mark.deep
def test_a_control_that_is_disabled_leaves_the_focus_to_its_own_panel(window: Window, qtbot: QtBot) -> None:
    window.workspace.open(window.sessions[0], PageRequest("document", NS, Value.of(ID)))
    page = document(window)
    wait_idle(qtbot, lambda: page.editor.is_loaded)
    page.editor.foot.save.setEnabled(True)
    page.editor.foot.save.setFocus()
    page.editor.foot.save.setEnabled(False)
    assert focused() is page.editor.tree


@pytest.mark.deep
def test_a_control_that_is_deleted_or_whose_panel_is_disabled_leaves_it_there_too(window: Window, qtbot: QtBot) -> None:
    page = collection(window)
    page.browser.bar.input.setFocus()
    page.browser.bar.setEnabled(False)
    qtbot.waitUntil(lambda: QApplication.focusWidget() is page.browser.list)
    page.browser.bar.setEnabled(True)
    made = QWidget(page.timeline)
    made.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    made.show()
    made.setFocus()
    made.deleteLater()
    qtbot.waitUntil(lambda: page.timeline.isAncestorOf(QApplication.focusWidget() or window))


@pytest.mark.deep
def test_a_tab_gives_the_focus_back_to_where_it_was(window: Window, qtbot: QtBot) -> None:
    page = collection(window)
    page.browser.bar.input.setFocus()
    window.workspace.open(window.sessions[0], PageRequest("journal"))
    wait_idle(qtbot)
    window.commands.do_previous_tab()
    assert focused() is page.browser.bar.input
    window.commands.do_next_tab()
    window.commands.do_close_tab()
    assert focused() is page.browser.bar.input


def test_a_dialog_gives_the_focus_back_and_never_to_the_switch_of_writes(window: Window, qtbot: QtBot) -> None:
    page = collection(window)
    page.timeline.as_list.setFocus()
    page.do_new_document()
    asked = sheet(window)
    page.timeline.as_list.hide()  # what had the focus is gone by the time the dialog is closed
    asked.reject()
    assert page.timeline.isAncestorOf(focused())
    window.title.badge.setFocus(Qt.FocusReason.TabFocusReason)
    window.title.badge.hide()
    assert page.isAncestorOf(focused())


def test_what_becomes_ready_behind_an_open_palette_gets_the_focus_after_it(window: Window, qtbot: QtBot) -> None:
    page = collection(window)
    page.browser.bar.input.setFocus()
    window.commands.do_palette()
    asked = sheet(window)
    assert focused() is asked.first()
    page.browser.list.setFocus()  # as it does once it is read
    assert focused() is asked.first()
    qtbot.keyClicks(focused(), "journal")
    assert asked.input.text() == "journal"
    qtbot.keyClick(focused(), Qt.Key.Key_Escape)
    assert focused() is page.browser.list


@pytest.mark.deep
def test_a_message_gives_the_focus_of_the_switch_to_the_page(window: Window, qtbot: QtBot) -> None:
    page = collection(window)
    messages.tell(window, "A message")
    line = window.messages.lines[-1]
    window.title.badge.setFocus()
    line.findChildren(QAbstractButton)[-1].setFocus()
    assert focused().window() is window
    line.leave()
    qtbot.waitUntil(lambda: page.isAncestorOf(focused()))


@pytest.mark.deep
def test_another_page_in_front_closes_the_menu_of_the_page_behind_it(window: Window, qtbot: QtBot) -> None:
    window.workspace.open(window.sessions[0], PageRequest("document", NS, Value.of(ID)))
    page = document(window)
    wait_idle(qtbot, lambda: page.editor.is_loaded)
    menu = QMenu(page.editor.tree)
    menu.addAction("Rename")
    menu.popup(page.editor.tree.mapToGlobal(page.editor.tree.rect().center()))
    qtbot.waitUntil(menu.isVisible)
    window.workspace.open(window.sessions[0], PageRequest("journal"))
    assert not menu.isVisible()
    wait_idle(qtbot)


@pytest.mark.deep
def test_the_last_tab_leaves_the_focus_beside_the_tabs(window: Window, qtbot: QtBot) -> None:
    collection(window).browser.list.setFocus()
    window.commands.do_close_tab()
    assert focused() is window.workspace.tab_area.tabs.plus


@pytest.mark.deep
def test_compare_leads_to_the_differences_as_soon_as_they_are_there(window: Window, qtbot: QtBot) -> None:
    window.workspace.open(window.sessions[0], PageRequest("document", NS, Value.of(ID)))
    wait_idle(qtbot, lambda: document(window).editor.is_loaded)
    window.workspace.tab_area.close_page(window.workspace.tab_area.pages[0])
    document(window).do_compare()
    page = collection(window)
    assert not page.diff.isAncestorOf(focused())
    assert focused().isVisible()
    wait_idle(qtbot, lambda: page.diff.model.plan is not None)
    assert focused() is page.diff.table
    page.browser.list.setFocus()
    page.do_history()
    assert focused() is page.timeline.strip


@pytest.mark.deep
@pytest.mark.parametrize("pane", ["compare", "history"])
def test_a_part_without_the_document_that_was_asked_for_leaves_the_focus_where_it_is_seen(
    window: Window, qtbot: QtBot, pane: Literal["compare", "history"]
) -> None:
    window.workspace.open(window.sessions[0], PageRequest("journal"))
    window.workspace.tab_area.close_page(window.workspace.tab_area.pages[0])
    wait_idle(qtbot)
    for _ in range(2):
        gone = PageRequest("collection", NS, Value.of("K-0"), CollectionStart(pane=pane))
        window.workspace.open(window.sessions[0], gone)
        wait_idle(qtbot)
        assert focused().isVisible()
        assert collection(window).browser.isAncestorOf(focused())


@pytest.mark.deep
def test_another_document_chosen_meanwhile_does_not_take_the_focus_from_the_list(window: Window, qtbot: QtBot) -> None:
    page = collection(window)
    page.browser.list.setFocus()
    page.diff.clear()
    page.do_compare()
    page.browser.list.setCurrentIndex(page.browser.model.index(1, 0))
    wait_idle(qtbot, lambda: page.diff.model.plan is not None)
    page.browser.list.setCurrentIndex(page.browser.model.index(0, 0))
    wait_idle(qtbot)
    assert focused() is page.browser.list
