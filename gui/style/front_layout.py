"""Parts of which one is in front, and that leave no empty room below it."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QStackedLayout


class FrontLayout(QStackedLayout):
    """One of several parts; it needs the height of the part in front, and not that of those behind it."""

    def minimumSize(self) -> QSize:
        least, front = super().minimumSize(), self.currentWidget()
        if front is None:
            return least
        return QSize(least.width(), front.minimumSizeHint().expandedTo(front.minimumSize()).height())

    def hasHeightForWidth(self) -> bool:
        front = self.currentWidget()
        return front is not None and front.hasHeightForWidth()

    def heightForWidth(self, width: int) -> int:
        front = self.currentWidget()
        return -1 if front is None else front.heightForWidth(width)
