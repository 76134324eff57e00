"""A painter that records the words it draws, each with its place."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter


class DrawnWords(QPainter):
    """What is drawn as text, and where."""

    def __init__(self) -> None:
        self.image = QImage(10, 10, QImage.Format.Format_ARGB32)
        super().__init__(self.image)
        self.said: dict[str, QRectF] = {}

    def drawText(self, box: QRectF, flags: int, words: str) -> None:  # type: ignore[override]
        self.said[words] = box
