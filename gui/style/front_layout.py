"""A stack that leaves no empty room below its front part."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QStackedLayout


class FrontLayout(QStackedLayout):
    """One of several parts is in front; only that one decides the height."""

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
