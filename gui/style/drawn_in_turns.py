"""A part of a window that was not drawn for a while draws its lists and texts one after the other.

All of them in one turn of the event loop would stop the window for longer than any of them.
"""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QCoreApplication, QEvent, QTimer
from PySide6.QtWidgets import QAbstractScrollArea, QScrollArea, QWidget
from shiboken6 import isValid


def draw(part: QWidget) -> None:
    """Let a part draw again, after ``part.setUpdatesEnabled(False)``: each list and each text in a turn of its own."""
    views = [
        view
        for view in part.findChildren(QAbstractScrollArea)
        if view.isVisible() and not isinstance(view, QScrollArea)  # those hold the others
    ]
    for view in views:
        view.setUpdatesEnabled(False)
    part.setUpdatesEnabled(True)
    _draw_next(views)


def _draw_next(views: list[QAbstractScrollArea]) -> None:
    while views:
        view = views.pop(0)
        if isValid(view):
            view.setUpdatesEnabled(True)
            QCoreApplication.sendPostedEvents(view.window(), QEvent.Type.UpdateRequest)
            QTimer.singleShot(0, partial(_draw_next, views))
            return
