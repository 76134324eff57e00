"""A part of a page that is made a moment after what is looked at first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from gui import turns
from gui.style import boxes

P = TypeVar("P", bound=QWidget)


class LaterPart(QWidget, Generic[P]):
    """The place of a part, which is made there in a turn of its own, or as soon as something needs it.

    To make all of a page at once would stop the window for too long. ``make`` gets the parent.
    """

    def __init__(self, make: Callable[[QWidget], P], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._make = make
        self._part: P | None = None
        self._column = boxes.column(self)
        turns.later(self, self.get)

    @property
    def is_made(self) -> bool:
        """Whether the part is there."""
        return self._part is not None

    def get(self) -> P:
        """The part, made now if it is not there yet; Qt shows it after the present events."""
        if self._part is None:
            self._part = self._make(self)
            self._column.addWidget(self._part)
            self._reached_here(self._part)
        return self._part

    def _reached_here(self, part: QWidget) -> None:
        """Let Tab reach the part where it stands, and not behind all that was made before it."""
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # only what takes the focus has a place in that order
        before: QWidget = self
        for each in part.findChildren(QWidget):
            if each.focusPolicy() != Qt.FocusPolicy.NoFocus and each.window() is self.window():
                QWidget.setTabOrder(before, each)
                before = each
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
