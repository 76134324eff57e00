"""Menus in tests: what a menu offers, with what its submenus hold."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu


def offered(menu: QMenu) -> dict[str, QAction]:
    """The entries by their text, those of submenus among them."""
    return {action.text(): action for action in _entries(menu)}


def _entries(menu: QMenu) -> Iterator[QAction]:
    for action in menu.actions():
        inner = action.menu()
        if isinstance(inner, QMenu):
            yield from _entries(inner)
        elif not action.isSeparator():
            yield action


def choose(menu: QMenu, text: str) -> None:
    """Choose an entry, as a person does who finds it in the menu or a submenu."""
    offered(menu)[text].trigger()
