"""The table of actions: every entry does something, every key means one thing."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from itertools import chain
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu, QWidget
from pytestqt.qtbot import QtBot

from gui.actions import LACKING, MENUS, Actions
from gui.pages.page_registry import ACTIONS, PAGES
from gui.style import wording
from gui.window.window_commands import WindowCommands
from tests import support
from tests.gui.menus import offered

# Conventions that people bring along.
EXPECTED = {
    "refresh": {"Ctrl+R", "F5"}, "save": {"Ctrl+S"}, "find": {"Ctrl+F"}, "find-next": {"F3"},
    "previous-change": {"Ctrl+Up"}, "next-change": {"Ctrl+Down"},
    "previous-conflict": {"Ctrl+PgUp"}, "next-conflict": {"Ctrl+PgDown"},
    "take-opened": {"Ctrl+1"}, "take-mine": {"Ctrl+2"}, "take-database": {"Ctrl+3"},
    "take-opened-all": {"Ctrl+Shift+1"}, "take-mine-all": {"Ctrl+Shift+2"}, "take-database-all": {"Ctrl+Shift+3"},
    "undo": {"Ctrl+Z"}, "redo": {"Ctrl+Shift+Z"}, "compare": {"Ctrl+D"}, "history": {"Ctrl+Shift+H"},
    "new-tab": {"Ctrl+T"}, "close-tab": {"Ctrl+W"}, "next-tab": {"Ctrl+Tab"}, "next-pane": {"F6"},
}  # fmt: skip


IDS = sorted(item.id for item in ACTIONS if item.id)


def rows() -> dict[str, set[str]]:
    """The files with a row for each id: in the dictionary that a ``handlers`` of a page, view or window returns."""
    found: dict[str, set[str]] = defaultdict(set)
    sources = {path: path.read_text("utf-8") for path in (support.ROOT / "gui").rglob("*.py")}
    for path, source in sources.items():
        for node in ast.walk(ast.parse(source)) if "def handlers(" in source else ():
            if isinstance(node, ast.FunctionDef) and node.name == "handlers":
                for made in (each for each in ast.walk(node) if isinstance(each, ast.Dict)):
                    for key in made.keys:
                        if isinstance(key, ast.Constant):
                            found[str(key.value)].add(path.name)
    return found


def test_every_action_has_a_row_or_opens_a_page() -> None:
    choices = {item.id for item in ACTIONS if item.choices}
    known = {item.id for row in PAGES.values() for item in row.actions} | set(rows()) | choices
    assert not [id for id in IDS if id not in known]


def test_every_row_is_of_an_action() -> None:
    assert not {id: places for id, places in rows().items() if id not in IDS}


def test_every_key_means_one_thing() -> None:
    keys = Counter(QKeySequence(key).toString() for item in ACTIONS for key in item.keys)
    assert not [key for key, times in keys.items() if times > 1]
    assert "" not in keys


def test_the_keys_are_the_ones_that_people_know() -> None:
    found = {item.id: set(item.keys) for item in ACTIONS if item.id in EXPECTED}
    assert found == EXPECTED


def test_every_menu_has_entries() -> None:
    assert {item.menu for item in ACTIONS} == set(MENUS)


def test_the_menus_are_short(qtbot: QtBot) -> None:
    window = QMainWindow()
    qtbot.addWidget(window)
    Actions(window, ACTIONS).fill(window.menuBar())
    menus = [menu for action in window.menuBar().actions() if isinstance(menu := action.menu(), QMenu)]
    assert len(menus) == len(MENUS)
    assert sum(len(offered(menu)) for menu in menus) <= 60


def test_a_choice_is_among_actions_of_the_palette_and_possible_where_one_of_them_is(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    actions = Actions(window, ACTIONS)
    unlisted = {item.id for item in ACTIONS if not item.listed}
    choices = {item.id: item.choices for item in ACTIONS if item.choices}
    assert unlisted.issuperset(chain.from_iterable(choices.values()))
    actions.update({"several"}, {})
    assert actions.by_id["choose-export"].isEnabled()
    actions.update({}, {})
    assert (actions.why("choose-export"), actions.why("choose-activity")) == (LACKING["list"], LACKING["session"])


def test_an_action_is_enabled_by_facts_and_says_why_it_is_not(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    actions = Actions(window, ACTIONS)
    actions.update({"document", "readable"}, {"writable": "staging is open read-only"})
    assert actions.by_id["history"].isEnabled()
    assert not actions.by_id["delete"].isEnabled()
    assert actions.by_id["delete"].toolTip() == "staging is open read-only"
    actions.update({"document", "readable", "writable"}, {})
    assert actions.by_id["delete"].isEnabled()
    assert actions.by_id["delete"].toolTip() == "Delete"  # Qt's own: the text


def test_actions_are_gone_through_again_where_facts_or_reasons_are_others_but_ticks_always(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    actions = Actions(window, ACTIONS)
    tips: list[str] = []
    monkeypatch.setattr(wording, "tip", lambda said: tips.append(said) or said)
    ticked = next(item for item in ACTIONS if item.checked)
    actions.update({"document", ticked.checked}, {})
    once = len(tips)
    actions.by_id[ticked.id].setChecked(False)  # as a click does
    actions.update({ticked.checked, "document"}, {})
    assert actions.by_id[ticked.id].isChecked()
    assert len(tips) == once == len(actions.by_id)
    actions.update({ticked.checked, "document"}, {"writable": "staging is open read-only"})
    assert len(tips) == 2 * once
    assert actions.by_id["delete"].toolTip() == "staging is open read-only"


def test_a_page_comes_before_the_window(qtbot: QtBot) -> None:
    class Workspace(QWidget):
        page: object = None
        toggle_sidebar = made = Mock()

    workspace: Any = Workspace()
    qtbot.addWidget(workspace)
    commands = WindowCommands(workspace, Mock(), Mock(), Mock())
    item = next(item for item in ACTIONS if item.id == "refresh")
    with_none = commands.call_for(item)
    workspace.page = SimpleNamespace(handlers=lambda: {"refresh": "page"})
    assert (with_none, commands.call_for(item)) == (commands.do_refresh, "page")


def test_every_need_has_a_sentence_for_its_lack() -> None:
    assert {need for item in ACTIONS for need in item.needs} <= set(LACKING)


def test_every_menu_has_a_letter_of_its_own() -> None:
    assert len({name[0] for name in MENUS}) == len(MENUS)
