"""The titles of the window, of its tabs and at the head of a page say a name once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from gui.pages.base import Page
from gui.pages.page_request import PageRequest
from gui.parts.document_name import DocumentName
from gui.style import theme
from gui.views.history.map_parts import Said
from gui.window.window import Window
from tests.gui.window.windows import ID, every_page, wait_idle

NAMES = (ID, "contracts", "claims", "the sample")
HEAD = 40  # u; a label whose top is lower tells what the page shows
SAYS_TWO = ("pair",)  # its head says which of the two documents is A


def head_said(page: Page) -> Iterator[str]:
    """The words at the head of a page; the fields and buttons there are none."""
    for each in page.findChildren(QWidget):
        at_head = each.isVisible() and each.mapTo(page, QPoint()).y() < theme.px(HEAD)
        if at_head and isinstance(each, QLabel | DocumentName | Said):
            yield each.text() if isinstance(each, QLabel) else each.text


@pytest.mark.deep
def test_no_title_says_a_name_twice(window: Window, qtbot: QtBot) -> None:
    session = window.sessions[-1]
    for asked in every_page(session):
        page = window.workspace.open(session, asked)
        wait_idle(qtbot)
        tab = page.title
        assert all(window.windowTitle().count(name) <= 1 for name in NAMES), window.windowTitle()
        assert all(tab.count(name) <= 1 for name in NAMES), tab
        named = [name for name in NAMES if name in tab and asked.kind not in SAYS_TWO]
        assert not [said for said in head_said(page) if any(name in said for name in named)], asked.kind
    window.workspace.open(session, PageRequest("activity"))
    assert window.windowTitle() == "Who changed what in the sample – Palimpsest"
