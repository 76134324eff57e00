"""A badge that stands on its own in a row of widgets."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy

from gui.style import symbols, theme
from gui.style.states import PlainLabel
from model.text import plain


class Pill(PlainLabel):
    """A badge as a widget: words in a token's colours, with a symbol where one is given.

    It is a label, so that screen readers read it as text.
    """

    def __init__(self, said: str = "", ink: str = "typ", ground: str = "typT", symbol: str = "") -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.put(said, ink, ground, symbol)
        theme.signals.changed.connect(self.updateGeometry)

    def put(self, said: str, ink: str = "typ", ground: str = "typT", symbol: str = "") -> None:
        """Say something else; nothing hides it."""
        self.said, self._ink, self._ground, self._symbol = plain(said), ink, ground, symbol
        self.setAccessibleName(self.said)
        if self.parent() is not None or not said:  # shown without a parent it would be a window
            self.setVisible(bool(said))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(int(symbols.badge_width(self.said, self._symbol)) + 1, theme.px(18))

    def paintEvent(self, event: QPaintEvent) -> None:
        symbols.badge(QPainter(self), 0, self.height() / 2, self.said, self._ink, self._ground, self._symbol)
