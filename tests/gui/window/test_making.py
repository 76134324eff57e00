"""The cost of making a window and its pages: how often each part is styled on its way into the window."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from gui.pages.page_registry import PAGES
from gui.pages.page_request import PageRequest
from gui.window.window import Window
from model.values.canonical import Value


class Styled(QObject):
    """Counts the widgets that are styled anew: each one is, with all that is in it, when it comes into another."""

    def __init__(self) -> None:
        super().__init__()
        self.many = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.many += event.type() == QEvent.Type.StyleChange and isinstance(watched, QWidget)
        return False


@pytest.fixture
def styled(qtbot: QtBot) -> Iterator[Styled]:
    made = Styled()
    application = QApplication.instance()
    assert application is not None
    application.installEventFilter(made)
    yield made
    application.removeEventFilter(made)


def test_a_window_is_made_from_its_frame_inwards(styled: Styled, qtbot: QtBot) -> None:
    made = Window()
    qtbot.addWidget(made)
    assert 0 < styled.many < 1.5 * len(made.findChildren(QWidget)), styled.many


ALONE = ("merge", "pair", "taking-back")
"""Kinds of page that begin with what another page hands over."""


@pytest.mark.deep
@pytest.mark.slice
def test_a_page_is_made_where_it_is_shown(window: Window, styled: Styled) -> None:
    for kind in (kind for kind in PAGES if kind not in ALONE):
        asked = PageRequest(kind, "insurance.agents")
        if PAGES[kind].one_per == "document":
            asked = PageRequest(kind, "insurance.contracts", Value.of("K-204111"))
        styled.many = 0
        page = window.workspace.open(window.sessions[0], asked)
        assert 0 < styled.many < 3 * len(page.findChildren(QWidget)), (kind, styled.many)
