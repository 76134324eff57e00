"""A window that is too low or too narrow for its page: the page scrolls and its rows wrap; nothing is squeezed."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from gui.pages.collection_page import CollectionPage
from gui.pages.page_request import PageRequest
from gui.style import theme
from tests.gui.window.windows import NS, new_window, open_sample, wait_idle


def _has_room(part: QWidget) -> bool:
    return part.height() >= part.minimumSizeHint().height()


def test_a_page_is_never_squeezed_below_its_parts_and_scrolls_instead(qtbot: QtBot) -> None:
    window = new_window(qtbot)
    session = open_sample(qtbot, window)
    page = window.workspace.open(session, PageRequest("collection", NS))
    assert isinstance(page, CollectionPage)
    wait_idle(qtbot, lambda: bool(page.timeline.model.versions))
    area = window.workspace.tab_area.findChild(QScrollArea, "pageview")
    assert area is not None
    bar = area.verticalScrollBar()
    assert bar.maximum() == 0
    window.resize(theme.px(720), theme.px(480))
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    for part in (page.browser.bar, page.timeline.strip, page.diff.tools):
        qtbot.waitUntil(partial(_has_room, part))
    assert page.browser.bar.input.width() >= theme.px(200)
    assert page.diff.tools.restore.geometry().right() <= page.diff.tools.width()
    plain = window.workspace.open(session, PageRequest("drafts"))
    qtbot.waitUntil(lambda: plain.height() == area.viewport().height())  # not as high as the page behind it
    window.resize(1440, 900)
    window.workspace.tab_area.show_page(page)
    qtbot.waitUntil(lambda: bar.maximum() == 0)
