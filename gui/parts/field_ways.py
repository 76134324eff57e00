"""The ways from a field to its history, and to the versions at which a condition on it turns, for menus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import SignalInstance
from PySide6.QtWidgets import QMenu

from gui.language import tr
from gui.parts.field_conditions import condition_on
from gui.style import wording
from model import text

if TYPE_CHECKING:
    from model.values.canonical import Path, Value


def add_ways(
    menu: QMenu, path: Path, value: Value | None, v: Value | None, field: SignalInstance, find: SignalInstance
) -> None:
    """Add both to a menu; ``field`` gets the path and the version that it is in, ``find`` a filter to begin from."""
    name = wording.item(text.path_text(path))
    history = menu.addAction(tr("History of {name}", name=name))
    history.setToolTip(wording.tip(history.text()))
    history.triggered.connect(lambda: field.emit(path, v))
    filter = condition_on(path, value)
    menu.addAction(tr("Find when this became true…")).triggered.connect(lambda: find.emit(filter))
