"""Two parts beside one another that stand below one another where a narrow window has no room for both."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

from gui.style import theme


class StackingSplit(QSplitter):
    """Two parts beside one another, or below one another where there is less than ``room``.

    ``above`` is the place of the part that comes first then: what people came for.
    """

    turned = Signal(bool)  # whether they are below one another now

    def __init__(self, *parts: QWidget, sizes: Sequence[float], room: float, above: int = 0) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setChildrenCollapsible(False)
        self._beside, self._sizes, self._room, self._above = parts, sizes, room, above
        for part in parts:
            self.addWidget(part)
        self.setSizes([theme.px(size) for size in sizes])

    @property
    def is_low(self) -> bool:
        """Whether the parts are below one another."""
        return self.orientation() == Qt.Orientation.Vertical

    def minimumSizeHint(self) -> QSize:
        """The least size, in which the parts are below one another."""
        least = super().minimumSizeHint()
        return QSize(
            max(part.minimumSizeHint().expandedTo(part.minimumSize()).width() for part in self._beside), least.height()
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_low = self.width() < theme.px(self._room)
        if is_low == self.is_low:
            return
        self.setOrientation(Qt.Orientation.Vertical if is_low else Qt.Orientation.Horizontal)
        self.insertWidget(0, self._beside[self._above if is_low else 0])
        self.setSizes([self.height() // 2] * 2 if is_low else [theme.px(size) for size in self._sizes])
        self.turned.emit(is_low)
