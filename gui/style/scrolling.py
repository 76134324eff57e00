"""Parts that scroll if the window is too low for them."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QScrollArea, QWidget

from gui.style import theme


def put_viewport(area: QAbstractScrollArea) -> None:
    """Give an area a viewport like the one that Qt made for it.

    To hand that one to Python, the bindings would first make the classes of all widgets there are, to see which of them
    it is: ten milliseconds of a start, and memory that nothing needs.
    """
    made = QWidget()
    made.setObjectName("qt_scrollarea_viewport")
    made.setBackgroundRole(QPalette.ColorRole.Base)
    made.setAutoFillBackground(True)
    area.setViewport(made)


class FromTop(QScrollArea):
    """An area that shows its beginning until a person acts in it, whatever the program focuses."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        put_viewport(self)
        self.untouched = True

    def begin(self) -> None:
        """Show the beginning, as of new content."""
        self.untouched = True
        self.horizontalScrollBar().setValue(0)
        self.verticalScrollBar().setValue(0)

    def focusNextPrevChild(self, next: bool) -> bool:
        """Qt's version scrolls as well, even when a hidden or disabled control passes its focus on."""
        return QWidget.focusNextPrevChild(self, next)


class Scrolling(QScrollArea):
    """A part with the height it wants if there is room; else it scrolls."""

    def __init__(self, inside: QWidget) -> None:
        super().__init__()
        self.setObjectName("bare")
        self.viewport().setObjectName("bare")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidgetResizable(True)
        self.setWidget(inside)
        inside.setAutoFillBackground(False)  # the line above turns it on
        self._inside = inside

    def sizeHint(self) -> QSize:
        return QSize(self._inside.sizeHint().width(), self._wanted)

    @property
    def _wanted(self) -> int:
        """The height at which nothing scrolls, at the present width."""
        layout = self._inside.layout()
        if layout is None or not layout.hasHeightForWidth():
            return self._inside.sizeHint().height()
        return layout.totalHeightForWidth(max(self.width(), self._least_width))

    @property
    def _least_width(self) -> int:
        return self._inside.minimumSizeHint().width() + self.verticalScrollBar().sizeHint().width()

    @property
    def is_cut(self) -> bool:
        """Whether there is too little room to show all."""
        return self.height() < self._wanted

    def minimumSizeHint(self) -> QSize:
        return QSize(self._least_width, min(theme.px(96), self._wanted))
