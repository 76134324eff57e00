"""Help in the window: F1 on the page in front, the menu, the palette; the page of keys is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.actions import MENUS
from gui.pages.page_registry import ACTIONS, PAGES, topic_of
from gui.pages.page_request import PageRequest
from gui.window.key_sheet import VIEWS
from gui.window.palette import Palette
from gui.window.window import Window
from model.session import Session
from resources import manual
from tests.gui.window.windows import adopt, new_window, sheet, wait_idle
from tests.resources.manual_text import NAMES, rows, section

ITEMS = {item.id: item for item in ACTIONS}


@pytest.fixture
def window(qtbot: QtBot) -> Window:
    return new_window(qtbot)


def opened(window: Window, qtbot: QtBot) -> str:
    """The topic that the manual shows now."""
    help = window.commands.help
    assert help is not None
    wait_idle(qtbot, lambda: bool(help.view.document().toPlainText()))
    assert help.isVisible()
    return help.topic


@pytest.mark.deep
def test_f1_explains_the_page_in_front_and_the_first_page_of_the_manual_where_there_is_none(
    window: Window, qtbot: QtBot, homes: Path
) -> None:
    QTest.keyClick(window, Qt.Key.Key_F1)
    assert opened(window, qtbot) == manual.FIRST == topic_of(None)
    with Session.open("sample:", home=homes / "help") as session:
        close, session.close = session.close, lambda: None  # type: ignore[method-assign]
        adopt(qtbot, window, session)
        for kind in ("collection", "journal", "check"):
            ns = "insurance.contracts" if kind == "collection" else ""
            window.workspace.open(session, PageRequest(kind, ns))
            wait_idle(qtbot)
            window.activateWindow()
            window.actions_.trigger("help")
            assert opened(window, qtbot) == PAGES[kind].topic
        session.close = close  # type: ignore[method-assign]


def test_the_manual_closes_with_the_window_and_opens_where_it_was_left(window: Window, qtbot: QtBot) -> None:
    window.actions_.trigger("manual")
    assert opened(window, qtbot) == manual.FIRST
    help = window.commands.help
    assert help is not None
    help.open_topic("git")
    help.close()
    window.actions_.trigger("manual")
    assert opened(window, qtbot) == "git"
    window.close()
    assert not help.isVisible()


def test_the_palette_finds_the_pages_of_the_manual(window: Window, qtbot: QtBot) -> None:
    window.commands.do_palette()
    palette = sheet(window)
    assert isinstance(palette, Palette)
    qtbot.keyClicks(palette.input, "classes of dam")
    qtbot.keyClick(palette.input, Qt.Key.Key_Return)
    assert opened(window, qtbot) == "damage"


def test_the_page_of_keys_names_those_of_the_menus_and_of_the_views() -> None:
    page = manual.page("keyboard")
    told = {
        heading: {what: re.findall(r"`([^`]+)`", f"`{keys}`") for what, keys in rows(text, "what", "keys")}
        for heading in manual.headings("keyboard")[1:]
        for text in [section(page, f"## {heading}")]
    }
    there = {
        menu: {item.text.rstrip("…"): list(item.keys) for item in ACTIONS if item.menu == menu and item.keys}
        for menu in MENUS
    }
    there |= {name: {what: keys.split(", ") for what, keys in lines} for name, lines in VIEWS}
    assert told == {name: lines for name, lines in there.items() if lines}
    assert f"`{ITEMS['shortcuts'].keys[0]}` shows them" in page


def test_every_menu_and_button_that_a_page_names_is_there() -> None:
    said = {
        (menu, text, name)
        for name in NAMES
        for menu, text in re.findall(r"`(\w+) › ([^`]+)`", " ".join(manual.page(name).split()))
    }
    assert len(said) > 10
    known = {(item.menu, item.text) for item in ACTIONS if item.id and item.listed}
    assert {each for each in said if each[:2] not in known} == set()
