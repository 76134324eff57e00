"""A part of a form that scrolls where a window is too low for it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from gui.style import theme


class Scrolling(QScrollArea):
    """A part that is as high as it wants to be where there is room, and scrolls where there is not."""

    def __init__(self, inside: QWidget) -> None:
        super().__init__()
        self.setObjectName("bare")
        self.viewport().setObjectName("bare")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidgetResizable(True)
        self.setWidget(inside)
        inside.setAutoFillBackground(False)  # which the line above asks for
        self._inside = inside

    def sizeHint(self) -> QSize:
        return self._inside.sizeHint()

    def minimumSizeHint(self) -> QSize:
        return QSize(self._inside.minimumSizeHint().width(), theme.px(96))
