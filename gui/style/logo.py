"""The mark: four lines of writing, the older ones paler and worn, drawn as vectors."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from gui.style import theme
from gui.style.vector_engine import VectorEngine

# top, opacity, and (left, width) of each stroke, in a square of 56
LINES = (
    (12, 0.35, ((11, 20), (35, 10))),
    (21, 0.5, ((11, 8), (23, 22))),
    (30, 0.68, ((11, 26), (41, 4))),
    (39, 1.0, ((11, 34),)),
)


def paint(painter: QPainter, rect: QRectF) -> None:
    """Draw the mark into a square."""
    unit = rect.width() / 56
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.colour("acc"))
    painter.drawRoundedRect(rect, 12 * unit, 12 * unit)
    ink = theme.colour("accText")
    for top, opacity, strokes in LINES:
        ink.setAlphaF(opacity)
        painter.setBrush(ink)
        for left, width in strokes:
            box = QRectF(rect.left() + left * unit, rect.top() + top * unit, width * unit, 4 * unit)
            painter.drawRoundedRect(box, 2 * unit, 2 * unit)
    painter.restore()


class _LogoEngine(VectorEngine):
    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        paint(painter, QRectF(rect))

    def clone(self) -> QIconEngine:
        return _LogoEngine()


def icon() -> QIcon:
    """The mark as the window's icon."""
    return QIcon(_LogoEngine())


class Logo(QWidget):
    """The mark as a widget."""

    def __init__(self, size: float = 56, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedSize(theme.px(size), theme.px(size))
        theme.signals.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        paint(QPainter(self), QRectF(self.rect()))
