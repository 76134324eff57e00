"""The whole change map as one image, drawn from its arguments alone, so that a task can do it."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, QSize
from PySide6.QtGui import QImage, QPainter

from gui.style import theme
from gui.views.history import map_axis, map_painter
from gui.views.history.map_model import MapModel
from gui.views.history.map_sizes import MapSizes

LONGEST, MOST = 30_000, 150_000_000  # pixels per side, and in all


def whole(model: MapModel, sizes: MapSizes, names: int, cells: int, counts: int, ratio: float) -> QImage:
    """Draw it; ``names``, ``cells`` and ``counts`` are widths. A too large image becomes less sharp."""
    head, tall = theme.px(map_painter.HEAD), len(model.rows) * sizes.row
    wide, high = names + cells + counts, head + tall + theme.px(8)
    ratio = max(0.1, min(ratio, LONGEST / max(wide, high), (MOST / (wide * high)) ** 0.5))
    made = QImage(QSize(round(wide * ratio), round(high * ratio)), QImage.Format.Format_RGB32)
    made.setDevicePixelRatio(ratio)
    made.fill(theme.colour("surface"))
    painter = QPainter(made)
    map_axis.scale(painter, model, names)
    painter.save()
    painter.translate(names, 0)
    map_axis.head(painter, model, sizes, 0, cells, -1)
    painter.translate(0, head)
    map_painter.matrix(painter, model, sizes, QRectF(0, 0, len(model.versions) * sizes.column, tall))
    painter.translate(cells, 0)
    map_painter.counts(painter, model, sizes, 0, counts, tall, -1)
    painter.translate(0, -head)
    map_painter.counts_head(painter)
    painter.restore()
    painter.save()
    painter.translate(0, head)
    map_painter.fields(painter, model, sizes, 0, names, tall, -1)
    painter.restore()
    painter.fillRect(QRect(0, head - 1, wide, 1), theme.colour("border"))
    painter.end()
    return made
