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
        return QSize(self._inside.sizeHint().width(), self._wanted)

    @property
    def _wanted(self) -> int:
        """The height at which nothing scrolls, at the width of now."""
        layout = self._inside.layout()
        if layout is None or not layout.hasHeightForWidth():
            return self._inside.sizeHint().height()
        return layout.totalHeightForWidth(max(self.width(), self._least_width))

    @property
    def _least_width(self) -> int:
        return self._inside.minimumSizeHint().width() + self.verticalScrollBar().sizeHint().width()

    @property
    def is_cut(self) -> bool:
        """Whether there is no room for all."""
        return self.height() < self._wanted

    def minimumSizeHint(self) -> QSize:
        return QSize(self._least_width, min(theme.px(96), self._wanted))
