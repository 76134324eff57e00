"""The texts in the picture of a window: everything its widgets paint, from any origin."""

from __future__ import annotations

import html
import re

from PySide6.QtCore import QBuffer, QPoint
from PySide6.QtGui import QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

_TEXT = re.compile(r"<text[^>]*>(.*?)</text>", re.DOTALL)


def painted(window: QWidget) -> list[str]:
    """Each run of characters of one look that is painted, shortened as it is there."""
    drawing = QBuffer()
    drawing.open(QBuffer.OpenModeFlag.WriteOnly)
    made = QSvgGenerator()
    made.setOutputDevice(drawing)
    made.setSize(window.size())
    painter = QPainter(made)
    window.render(painter, QPoint(0, 0))
    painter.end()
    return [html.unescape(found) for found in _TEXT.findall(drawing.data().toStdString())]
