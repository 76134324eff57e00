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
    _draw_next(part.window(), views)


def _draw_next(window: QWidget, views: list[QAbstractScrollArea]) -> None:
    if not isValid(window):
        return
    left = [view for view in views if isValid(view)]
    if left:
        left.pop(0).setUpdatesEnabled(True)
    # Not left to Qt: its own request may have come while nothing was drawn, and it makes no other one.
    QCoreApplication.sendEvent(window, QEvent(QEvent.Type.UpdateRequest))
    if left:
        QTimer.singleShot(0, partial(_draw_next, window, left))
