"""Parts that scroll where a window is too low for them."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from gui.style import theme


class FromTop(QScrollArea):
    """An area that is seen from its beginning until somebody acts in it, whatever the program focuses meanwhile."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.untouched = True

    def begin(self) -> None:
        """Show the beginning, as of content that nobody has seen yet."""
        self.untouched = True
        self.horizontalScrollBar().setValue(0)
        self.verticalScrollBar().setValue(0)

    def focusNextPrevChild(self, next: bool) -> bool:
        """Qt's own also scrolls, even where a control that is hidden or disabled hands its focus on."""
        return QWidget.focusNextPrevChild(self, next)


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
        bar = self.verticalScrollBar().sizeHint().width()
        return QSize(self._inside.minimumSizeHint().width() + bar, theme.px(96))
