"""The titles of the window, of its tabs and at the head of a page say a name once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bson
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from gui.pages.base import Page
from gui.pages.page_request import PageRequest
from gui.parts.document_name import DocumentName
from gui.style import theme
from gui.views.history.map_parts import Said
from gui.window.opening import Opening
from gui.window.window import Window
from model.session import Session
from tests.gui.window.windows import ID, adopt, every_page, new_window, open_source, wait_idle

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


def test_tabs_of_one_name_say_the_database_or_the_connection_that_tells_them_apart(
    qtbot: QtBot, sample: Session, tmp_path: Path
) -> None:
    window = new_window(qtbot)
    adopt(qtbot, window, sample)
    area, there = window.workspace.tab_area, tmp_path / "insurance"

    def titles() -> list[str]:
        return [area.tabs.bar.tabText(at) for at in range(area.tabs.bar.count())]

    window.workspace.open(sample, PageRequest("collection", "insurance_2019.contracts", way="beside"))
    wait_idle(qtbot)
    assert titles() == ["contracts – insurance", "contracts – insurance_2019"]
    there.mkdir()
    (there / "contracts.bson").write_bytes(bson.encode({"_id": 1}))
    other = open_source(qtbot, window, Opening(str(tmp_path), name="a dump"))
    window.workspace.open(other, PageRequest("collection", "insurance.contracts"))
    wait_idle(qtbot)
    assert titles() == [
        "contracts – insurance, the sample",
        "contracts – insurance_2019, the sample",
        "contracts – insurance, a dump",
    ]
    assert area.tabs.bar.tabToolTip(2) == "insurance.contracts / 1 – a dump"
    for page in area.pages[1:]:
        area.close_page(page)
    assert titles() == ["contracts"]
