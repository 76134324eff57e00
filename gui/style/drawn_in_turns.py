"""A part of a window that was not drawn for a while draws its lists and texts one after the other.

All of them in one turn of the event loop would stop the window for longer than any of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtGui import QRegion
from PySide6.QtWidgets import QAbstractScrollArea, QHeaderView, QScrollArea, QWidget
from shiboken6 import isValid

from gui import turns
from gui.style import one_pass


@contextmanager
def held(part: QWidget) -> Iterator[None]:
    """Let a part draw nothing while it is filled, and then each list and each text in a turn of its own."""
    part.setUpdatesEnabled(False)
    try:
        yield
    finally:
        draw(part)


def draw_below(cover: QWidget) -> None:
    """Draw a window again below a part that covers it: each list and each text in a turn of its own."""
    window = cover.window()
    rest = QRegion(window.rect())
    regions = []
    for view in _views(window):
        if not cover.isAncestorOf(view):
            regions.append(rest & one_pass.place(view, window))
            rest -= regions[-1]
    regions.append(rest)

    def draw_next() -> bool:
        window.repaint(regions.pop())
        return bool(regions)

    turns.later(cover, draw_next)


def draw(part: QWidget) -> None:
    """Let a part draw again, after ``part.setUpdatesEnabled(False)``: each list and each text in a turn of its own."""
    left: list[QAbstractScrollArea] | None = None

    def draw_next() -> bool:
        nonlocal left
        if left is None:
            left = _views(part)
            for view in left:
                view.setUpdatesEnabled(False)
            one_pass.draw(part, left)
        else:
            left = [view for view in left if isValid(view)]
            if left:
                one_pass.draw(left.pop(0))
        return bool(left)

    turns.later(part, draw_next)


def _views(part: QWidget) -> list[QAbstractScrollArea]:
    return [
        view
        for view in part.findChildren(QAbstractScrollArea)
        if view.isVisible() and not isinstance(view, QScrollArea | QHeaderView)  # those hold others, these are in one
    ]
