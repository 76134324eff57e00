"""The head of the change map: years, months or days, sizes as a step line, and the axis of versions."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from gui.language import tr
from gui.style import theme, wording
from gui.views.history.map_model import MapModel
from gui.views.history.map_painter import (
    AXIS,
    HEAD,
    LEFT,
    RIGHT,
    gap_ground,
    period_lines,
    period_of,
    periods,
    version_name,
)
from gui.views.history.map_sizes import MapSizes

PERIODS, TOP, FLOOR = 16, 26, 86  # the middle of the years or days, the top and bottom of the chart


def ceiling(model: MapModel) -> int:
    """The size at the chart's top, in bytes: twice a power of two, above the largest version."""
    largest = max((one.bytes or 0 for one in model.versions), default=0)
    step = 16
    while step * 2 < largest:
        step *= 2
    return step * 2


def head(painter: QPainter, model: MapModel, sizes: MapSizes, offset: float, width: float, current: int) -> None:
    """Draw periods, sizes and axis above the cells; ``current`` is the crosshair's column, or -1."""
    first = max(0, int(offset // sizes.column))
    last = min(len(model.versions) - 1, int((offset + width) // sizes.column))
    if last < first:
        return
    painter.save()
    painter.translate(-offset, 0)
    top, floor = theme.px(TOP), theme.px(FLOOR)
    end = len(model.versions) * sizes.column
    left, right = max(0.0, offset), min(end, offset + width)
    for start, stop in model.gaps(first, last):
        box = QRectF(start * sizes.column, top, (stop + 1 - start) * sizes.column, floor + theme.px(12) - top)
        gap_ground(painter, box)
    if current >= 0:
        band = QRectF(current * sizes.column, top, sizes.column, theme.px(HEAD) - top)
        painter.fillRect(band, theme.colour("accTint"))
    for y in (top, (top + floor) / 2, floor):
        painter.fillRect(QRectF(left, round(y), right - left, 1), theme.colour("border"))
    _steps(painter, model, sizes, first, last, current)
    period_lines(painter, model, sizes, first, last, top - theme.px(4), theme.px(HEAD))
    font = theme.font(12, 600)
    painter.setFont(font)
    painter.setPen(theme.colour("text2"))
    metrics = QFontMetricsF(font)
    for x, name in period_names(model, sizes, first, last, offset):
        if x + metrics.horizontalAdvance(name) > offset + width:
            continue  # half a day's name would look like another one
        painter.drawText(QRectF(x, 0, theme.px(120), theme.px(PERIODS) * 2), LEFT, name)
    _axis(painter, model, sizes, first, last, current, (offset, offset + width))
    painter.restore()


def period_names(model: MapModel, sizes: MapSizes, first: int, last: int, offset: float) -> list[tuple[float, str]]:
    """The years, months or days, as fits the span of all versions, and their positions.

    One that began left of the visible part is named at the edge, or not at all.
    """
    starts = [(max(offset, column * sizes.column), name) for column, name in periods(model, first, last)]
    dated = next((at for one in reversed(model.versions[: first + 1]) if (at := one.at) is not None), None)
    if dated is not None and (not starts or starts[0][0] > offset):
        starts.insert(0, (offset, period_of(model)(dated)[1]))
    metrics, edge, gap = QFontMetricsF(theme.font(12, 600)), theme.px(5), theme.px(2)
    wide = {name: metrics.horizontalAdvance(name) + gap for _, name in starts}
    if len(starts) > 1 and starts[0][0] == offset > 0 and offset + wide[starts[0][1]] > starts[1][0]:
        del starts[0]
    made: list[tuple[float, str]] = []
    busy = offset
    for x, name in starts:
        if x + edge >= busy:
            made.append((x + edge, name))
            busy = x + edge + wide[name]
    return made


def _steps(painter: QPainter, model: MapModel, sizes: MapSizes, first: int, last: int, current: int) -> None:
    top, floor = theme.px(TOP), theme.px(FLOOR)
    most = ceiling(model)
    tint = QColor(theme.colour("text"))
    tint.setAlphaF(0.07)
    ink = theme.colour("text2")
    thick = max(1.5, theme.px(16) / 10)
    before: float | None = None
    dot: QPointF | None = None
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    lines: list[QRectF] = []
    for column in range(max(0, first - 1), last + 1):
        size = model.versions[column].bytes if model.versions[column].state != "missing" else None
        if size is None:
            before = None
            continue
        y = round(floor - (floor - top) * size / most)
        x = column * sizes.column
        painter.fillRect(QRectF(x, y, sizes.column, floor - y), tint)
        lines.append(QRectF(x, y - thick / 2, sizes.column, thick))
        if before is not None and before != y:
            lines.append(QRectF(x - thick / 2, min(before, y) - thick / 2, thick, abs(before - y) + thick))
        before = y
        if column == current:
            dot = QPointF(sizes.middle(column), y)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for box in lines:
        painter.fillRect(box, ink)
    if dot is not None:
        painter.setPen(QPen(theme.colour("surface"), theme.px(2)))
        painter.setBrush(theme.colour("acc"))
        painter.drawEllipse(dot, theme.px(5), theme.px(5))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def _axis(
    painter: QPainter, model: MapModel, sizes: MapSizes, first: int, last: int, current: int, seen: tuple[float, float]
) -> None:
    """Name versions within ``seen``, the visible part; no name is cut at its edge."""
    font, y = theme.mono(12), theme.px(AXIS)
    metrics = QFontMetricsF(font)
    count = len(model.versions)
    foot = theme.px(HEAD) - 1
    for column in range(first, last + 1):
        one = model.versions[column]
        if one.state == "missing":
            continue
        tall = theme.px(5)
        token = "err" if one.state == "damaged" else "warn" if one.state == "unproven" else "hatch"
        wide = theme.px(2) if token == "hatch" else theme.px(4)
        painter.fillRect(QRectF(round(sizes.middle(column) - wide / 2), foot - tall, wide, tall), theme.colour(token))
    taken: list[tuple[float, float]] = []

    def say(column: float, words: str, token: str, font: QFont) -> None:
        wide = metrics.horizontalAdvance(words)
        x = column * sizes.column + sizes.column / 2 - wide / 2
        x = min(max(x, theme.px(2)), max(theme.px(2), count * sizes.column - wide - theme.px(1)))
        room = theme.px(5)
        if x < seen[0] or x + wide > seen[1]:
            return  # the rest of it would look like another name
        if any(x < b + room and x + wide > a - room for a, b in taken):
            return
        taken.append((x, x + wide))
        painter.setFont(font)
        painter.setPen(theme.colour(token))
        painter.drawText(QRectF(x, y - theme.px(10), wide + 2, theme.px(20)), LEFT, words)

    if first <= current <= last:
        taken.append(_flag(painter, model, sizes, current, y, seen))
    for start, stop in model.gaps(first, last):
        if (stop + 1 - start) * sizes.column >= metrics.horizontalAdvance(tr("gap")) + 4:
            say((start + stop) / 2, tr("gap"), "text2", font)
    ends = [column for column in (0, count - 1) if first - 8 <= column <= last + 8]
    for column in [*ends, *_labelled(model, sizes, max(0, first - 8), min(count - 1, last + 8), metrics)]:
        if model.versions[column].state != "missing":
            say(column, version_name(model, column), "text2", font)


def _labelled(model: MapModel, sizes: MapSizes, first: int, last: int, metrics: QFontMetricsF) -> Iterable[int]:
    """The named columns: round numbers, or every n-th if versions are not numbers."""
    room = metrics.horizontalAdvance("v000") + theme.px(14)
    step = next((s for s in (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500) if s * sizes.column >= room), 1000)
    for column in range(first, last + 1):
        name = version_name(model, column)
        number = int(name[1:]) if name[:1] == "v" and name[1:].isdigit() else column
        if number % step == 0:
            yield column


def _flag(
    painter: QPainter, model: MapModel, sizes: MapSizes, column: int, y: float, seen: tuple[float, float]
) -> tuple[float, float]:
    font = theme.mono(12, 600)
    words = version_name(model, column)
    wide = QFontMetricsF(font).horizontalAdvance(words) + theme.px(14)
    count = len(model.versions)
    end = min(count * sizes.column, seen[1])
    x = max(min(sizes.middle(column) - wide / 2, end - wide), seen[0], 0)
    box = QRectF(round(x), y - theme.px(9), round(wide), theme.px(18))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.colour("acc"))
    painter.drawRoundedRect(box, theme.px(4), theme.px(4))
    painter.setFont(font)
    painter.setPen(theme.colour("accText"))
    painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), words)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    return box.left(), box.right()


def scale(painter: QPainter, model: MapModel, width: float) -> None:
    """Draw the title, the scale and the column's header to the left of the chart."""
    painter.setFont(theme.font(12, 500))
    painter.setPen(theme.colour("text2"))
    left, top, floor = theme.px(16), theme.px(TOP), theme.px(FLOOR)
    painter.drawText(QRectF(left, top - theme.px(3), width, theme.px(20)), LEFT, tr("Size"))
    most = ceiling(model)
    painter.setFont(theme.mono(11))
    for share, words in ((0.0, wording.size(most)), (0.5, wording.size(most // 2)), (1.0, "0")):
        words = words.replace(".0 ", " ")
        y = top + (floor - top) * share
        painter.drawText(QRectF(0, y - theme.px(9), width - theme.px(8), theme.px(18)), RIGHT, words)
    painter.setFont(theme.font(11, 600))
    painter.setPen(theme.colour("text3"))
    painter.drawText(QRectF(left, theme.px(AXIS) - theme.px(10), width, theme.px(20)), LEFT, tr("Field"))
