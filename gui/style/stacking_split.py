"""Two parts side by side, or one below the other in a narrow window."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

from gui.style import theme


class StackingSplit(QSplitter):
    """Two parts side by side, or one below the other if there is less than ``room``.

    ``above`` is the index of the part that is then on top: the one that people came for.
    """

    turned = Signal(bool)  # whether they are now one below the other

    def __init__(
        self,
        *parts: QWidget,
        sizes: Sequence[float],
        room: float,
        above: int = 0,
        most: float = 1,
        parent: QWidget | None = None,
    ) -> None:
        """``most`` limits the first part's share of the width, unless a person moved the divider."""
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setChildrenCollapsible(False)
        self._beside, self._sizes, self._room, self._above = parts, sizes, room, above
        self._most, self._by_hand = most, False
        self.splitterMoved.connect(self._moved)
        for part in parts:
            self.addWidget(part)
        self.setSizes([theme.px(size) for size in sizes])

    @property
    def is_low(self) -> bool:
        """Whether the parts are one below the other."""
        return self.orientation() == Qt.Orientation.Vertical

    def minimumSizeHint(self) -> QSize:
        """The least size, at which one part is below the other."""
        least = super().minimumSizeHint()
        return QSize(
            max(part.minimumSizeHint().expandedTo(part.minimumSize()).width() for part in self._beside), least.height()
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_low = self.width() < theme.px(self._room)
        if is_low == self.is_low:
            self._keep_to_share()
            return
        self.setOrientation(Qt.Orientation.Vertical if is_low else Qt.Orientation.Horizontal)
        self.insertWidget(0, self._beside[self._above if is_low else 0])
        self.setSizes([self.height() // 2] * 2 if is_low else [theme.px(size) for size in self._sizes])
        self._keep_to_share()
        self.turned.emit(is_low)

    def _moved(self, *_: int) -> None:
        self._by_hand = True

    def _keep_to_share(self) -> None:
        if self._most < 1 and not self.is_low and not self._by_hand:
            first = min(theme.px(self._sizes[0]), round(self.width() * self._most))
            self.setSizes([first, self.width() - first - self.handleWidth()])
