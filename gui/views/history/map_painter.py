"""Draws the change map: fields, cells, counts.

Everything is drawn from a :class:`~gui.views.history.map_sizes.MapSizes` and a scroll offset, on any painter, so that
the widgets and a saved picture share it. A newer change is drawn over older ones: one in force is full and extends to
the right edge, an overwritten one is pale. :mod:`gui.views.history.map_axis` draws the head above the cells.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable
from typing import TypeAlias

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPainterPath, QPen

from gui.language import tr
from gui.style import preferences, theme, wording
from gui.views.history.map_model import MapMark, MapModel, MapRow
from gui.views.history.map_sizes import MapSizes

HEAD = 119  # periods, sizes, axis
YEARS, MONTHS = dt.timedelta(days=730), dt.timedelta(days=92)  # a longer span is named by its years, or its months
AXIS = 106  # the middle of the column names in the head
SYMBOLS_FROM = 12  # columns of at least this width show symbols
# operation -> tokens of its colour, of a pale cell and of that cell's border
INK = {
    "set": ("chg", "chgS", "chgM"),
    "reorder": ("chg", "chgS", "chgM"),
    "add": ("add", "addS", "addM"),
    "remove": ("rem", "surface", "rem"),
    "retype": ("typ", "typS", "typM"),
}
LEFT = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
RIGHT = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight)


# --- cells


def matrix(painter: QPainter, model: MapModel, sizes: MapSizes, box: QRectF) -> None:
    """Draw the cells in ``box``; the background stays, because the crosshair is below the cells."""
    width, height = sizes.column, sizes.row
    first, last = max(0, int(box.left() // width)), min(len(model.versions) - 1, int(box.right() // width))
    top, end = max(0, int(box.top() // height)), min(len(model.rows), int(box.bottom() // height) + 1)
    if last < first or end <= top:
        return
    gaps = model.gaps(first, last)
    painter.save()
    period_lines(painter, model, sizes, first, last, top * height, end * height)
    for start, stop in gaps:
        shape = QRectF(start * width, top * height, (stop + 1 - start) * width, (end - top) * height)
        gap_ground(painter, shape)
    for at in range(top, end):
        row = model.rows[at]
        if at and model.order == "document" and separated(model.rows[at - 1], row):
            left, right = max(box.left(), 0), min(box.right() + 1, len(model.versions) * width)
            painter.fillRect(QRectF(left, at * height, right - left, 1), theme.colour("border"))
        _row(painter, model, sizes, row, at * height + height / 2, first, last, gaps)
    painter.restore()


def separated(above: MapRow, below: MapRow) -> bool:
    """Whether a line separates two rows: a sub-document begins or ends there."""
    a, b = above.track.key, below.track.key
    return len(a) > 1 or len(b) > 1 if a[:1] != b[:1] else False


def gap_ground(painter: QPainter, box: QRectF) -> None:
    """Draw the background of missing versions."""
    painter.fillRect(box, theme.colour("sunken"))
    _diagonals(painter, box, theme.colour("border"), 6)
    edge = theme.colour("border")
    painter.fillRect(QRectF(box.left(), box.top(), 1, box.height()), edge)


def _diagonals(painter: QPainter, box: QRectF, ink: QColor, step: float) -> None:
    """Thin diagonal lines, aligned over the whole map."""
    painter.save()
    painter.setClipRect(box, Qt.ClipOperation.IntersectClip)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(ink, max(1.0, theme.px(11) / 10)))
    gap = theme.px(step)
    x = box.left() - box.height() - (box.left() - box.height() + box.bottom()) % gap
    while x < box.right():
        painter.drawLine(QPointF(x, box.bottom()), QPointF(x + box.height(), box.top()))
        x += gap
    painter.restore()


def _row(
    painter: QPainter,
    model: MapModel,
    sizes: MapSizes,
    row: MapRow,
    y: float,
    first: int,
    last: int,
    gaps: list[tuple[int, int]],
) -> None:
    left, right = first * sizes.column, (last + 1) * sizes.column
    thick = theme.px(2)
    line = round(y - thick / 2)
    still = not row.marks
    pale = theme.colour("border")
    pale.setAlphaF(1.0 if theme.is_strong() else 0.75)
    for start, end in row.spans:
        x0 = sizes.middle(start)
        x1 = (
            (model.newest + 1) * sizes.column
            if end == model.newest and row.track.now is not None
            else sizes.middle(end)
        )
        pieces = [(x0, x1)] if still else _without(x0, x1, gaps, sizes)
        for a, b in pieces:
            a, b = max(a, left), min(b, right)
            if b > a:
                painter.fillRect(QRectF(a, line, b - a, thick), theme.colour("hatch") if still else pale)
    newest = row.marks[-1] if row.marks else None
    if newest is not None and newest.op != "remove" and row.track.now is not None:
        a, b = max(sizes.middle(newest.column), left), min((model.newest + 1) * sizes.column, right)
        if b > a:
            painter.fillRect(QRectF(a, line, b - a, thick), theme.colour(INK[newest.op][0]))
    if row.ring is not None and first <= row.ring <= last:
        _ring(painter, QPointF(sizes.middle(row.ring), y), sizes)
    for mark in row.marks:
        if mark.column >= first and mark.first <= last:
            _mark(painter, sizes, mark, y)


def _without(x0: float, x1: float, gaps: list[tuple[int, int]], sizes: MapSizes) -> list[tuple[float, float]]:
    pieces: list[tuple[float, float]] = []
    at = x0
    for start, end in gaps:
        a, b = start * sizes.column - 1, (end + 1) * sizes.column + 2
        if at < a and x1 > a:
            pieces.append((at, a))
            at = b
        elif a <= at < b:
            at = b
    if x1 > at:
        pieces.append((at, x1))
    return pieces


def _ring(painter: QPainter, centre: QPointF, sizes: MapSizes) -> None:
    r = min(theme.px(3.2), sizes.column / 2 - 1)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme.colour("btn"), max(1.4, theme.px(15) / 10)))
    painter.setBrush(theme.colour("surface"))
    painter.drawEllipse(centre, r, r)
    painter.restore()


def side(sizes: MapSizes) -> int:
    """The side of a full cell."""
    return min(theme.px(12), sizes.column - theme.px(3), sizes.row - theme.px(4))


def _mark(painter: QPainter, sizes: MapSizes, mark: MapMark, y: float) -> None:
    if mark.first < mark.column:
        a, b = mark.first * sizes.column, (mark.column + 1) * sizes.column
        gap_bar(painter, QRectF(a + 2, round(y - theme.px(5.5)), b - a - 3, theme.px(11)), mark.op)
        return
    cell(painter, QPointF(sizes.middle(mark.column), y), mark.op, mark.force, side(sizes), sizes.zoom >= SYMBOLS_FROM)


def gap_bar(painter: QPainter, box: QRectF, op: str) -> None:
    """Draw a change that happened within a gap, over the gap and the next version."""
    ink = theme.colour(INK[op][0])
    shape = QPainterPath()
    shape.addRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), theme.px(2.5), theme.px(2.5))
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillPath(shape, theme.colour("surface"))
    painter.setClipPath(shape, Qt.ClipOperation.IntersectClip)
    _diagonals(painter, box, theme.colour(INK[op][0] if op == "remove" else INK[op][2]), 4)
    painter.restore()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    ink.setAlphaF(0.75)
    painter.setPen(QPen(ink, max(1.0, theme.px(12) / 10)))
    painter.drawPath(shape)
    painter.restore()


def cell(painter: QPainter, centre: QPointF, op: str, force: bool, side: int, with_symbol: bool = True) -> None:
    """Draw a change with its symbol: full if it is in force, pale with a border if it was overwritten."""
    ink, pale, edge = (theme.colour(token) for token in INK[op])
    left, top = round(centre.x() - side / 2), round(centre.y() - side / 2)
    box = QRectF(left, top, side, side)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    radius = side / 5
    if op == "remove":
        painter.setPen(QPen(ink, max(1.3, theme.px(14) / 10)))
        painter.setBrush(pale)
        painter.drawRoundedRect(box.adjusted(0.6, 0.6, -0.6, -0.6), radius, radius)
    elif force:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink)
        painter.drawRoundedRect(box, radius, radius)
    else:
        painter.setPen(QPen(edge, 1))
        painter.setBrush(pale)
        painter.drawRoundedRect(box.adjusted(0, 0, 0, 0), radius * 1.3, radius * 1.3)
    if with_symbol:
        sign = QColor(theme.colour("surface")) if force and op != "remove" else ink
        _sign(painter, box, op, sign)
    painter.restore()


def _sign(painter: QPainter, box: QRectF, op: str, ink: QColor) -> None:
    u = box.width() / 12
    x, y = box.center().x(), box.center().y()
    pen = QPen(ink, max(1.2, 1.5 * u))
    painter.setPen(pen)
    if op in ("add", "remove"):
        painter.drawLine(QPointF(x - 3.5 * u, y), QPointF(x + 3.5 * u, y))
        if op == "add":
            painter.drawLine(QPointF(x, y - 3.5 * u), QPointF(x, y + 3.5 * u))
    elif op == "retype":
        for sign in (-1, 1):
            painter.drawLine(QPointF(x - 3.6 * u, y + 1.7 * u * sign), QPointF(x + 3.6 * u, y + 1.7 * u * sign))
            painter.drawLine(
                QPointF(x - 3.6 * u * sign, y + 1.7 * u * sign), QPointF(x - 1.4 * u * sign, y + 3.7 * u * sign)
            )
    elif op == "reorder":
        for sign in (-1, 1):
            painter.drawLine(QPointF(x + 2 * u * sign, y - 3.2 * u), QPointF(x + 2 * u * sign, y + 3.2 * u))


Period: TypeAlias = tuple[tuple[int, ...], str]
"""What tells a year, a month or a day from others, and its name."""


def period_of(model: MapModel) -> Callable[[dt.datetime], Period]:
    """The period of a time: its year, month or day, whichever fits the span of all versions."""
    ends = [next((one.at for one in each if one.at), None) for each in (model.versions, reversed(model.versions))]
    span = abs(ends[1] - ends[0]) if ends[0] is not None and ends[1] is not None else dt.timedelta(0)

    def of(at: dt.datetime) -> Period:
        there = preferences.local(at)
        if span > YEARS:
            return (there.year,), str(there.year)
        if span > MONTHS:
            return (there.year, there.month), wording.month(at)
        return (there.year, there.month, there.day), wording.day(at)

    return of


def periods(model: MapModel, first: int, last: int) -> list[tuple[int, str]]:
    """(column, name) of the versions in a range of columns that are the first of a year, a month or a day."""
    made: list[tuple[int, str]] = []
    period = period_of(model)
    before = (model.versions[column].at for column in range(first - 1, -1, -1))
    dated = next((at for at in before if at is not None), None)
    known = None if dated is None else period(dated)[0]
    for column in range(first, last + 1):
        at = model.versions[column].at
        if at is None:
            continue
        here, name = period(at)
        if here != known:
            made.append((column, name))
            known = here
    return made


def period_lines(
    painter: QPainter, model: MapModel, sizes: MapSizes, first: int, last: int, top: float, bottom: float
) -> None:
    for column, _ in periods(model, first, last):
        if column:
            painter.fillRect(QRectF(column * sizes.column, top, 1, bottom - top), theme.colour("border"))


# --- beside the cells


def fields(
    painter: QPainter, model: MapModel, sizes: MapSizes, offset: float, width: float, height: float, current: int
) -> None:
    """Draw the field names, with parents muted; ``current`` is the crosshair's row, or -1."""
    font = theme.mono(12)
    metrics = QFontMetricsF(font)
    left, room = theme.px(16), width - theme.px(16) - theme.px(12)
    for at, y in _rows(model, sizes, offset, height):
        row = model.rows[at]
        if at == current:
            painter.fillRect(QRectF(0, y, width, sizes.row), theme.colour("accTint"))
        if at and model.order == "document" and separated(model.rows[at - 1], row):
            painter.fillRect(QRectF(left, y, width - left, 1), theme.colour("border"))
        lead, own = row.label
        whole = metrics.horizontalAdvance(lead + own)
        if whole > room:
            short = metrics.elidedText(lead + own, Qt.TextElideMode.ElideMiddle, room)
            kept = len(own) if short.endswith(own) else 0
            lead, own = (short[: len(short) - kept], short[len(short) - kept :]) if kept else ("", short)
        painter.setFont(font)
        painter.setPen(theme.colour("text3"))
        box = QRectF(left, y, room + 4, sizes.row)
        painter.drawText(box, LEFT, lead)
        painter.setPen(theme.colour("text"))
        painter.drawText(box.adjusted(metrics.horizontalAdvance(lead), 0, 0, 0), LEFT, own)


def version_name(model: MapModel, column: int) -> str:
    """A column's version as people read it."""
    return wording.version(model.versions[column].v) or (tr("current") if model.versions[column].current else "")


def counts_head(painter: QPainter) -> None:
    """Draw the headers of the columns at the right."""
    painter.setFont(theme.font(11, 600))
    painter.setPen(theme.colour("text3"))
    y = theme.px(AXIS) - theme.px(10)
    first, second = heads()
    painter.drawText(first.translated(0, y), LEFT, tr("Last set"))
    painter.drawText(second.translated(0, y), RIGHT, tr("Changes"))


def heads() -> tuple[QRectF, QRectF]:
    """The places of the headers at the right: the second one ends beside its numbers, or as far as the first needs."""
    metrics = QFontMetricsF(theme.font(11, 600))
    first = QRectF(theme.px(16), 0, math.ceil(metrics.horizontalAdvance(tr("Last set"))), theme.px(20))
    wide = math.ceil(metrics.horizontalAdvance(tr("Changes")))
    left = max(theme.px(131) - wide, first.right() + theme.px(8))
    return first, QRectF(left, 0, wide, theme.px(20))


def counts(
    painter: QPainter, model: MapModel, sizes: MapSizes, offset: float, width: float, height: float, current: int
) -> None:
    """Draw which version last set each field, and how often it changed, as number and bar."""
    font = theme.mono(12)
    bar_left, bar_room = theme.px(113), theme.px(53)
    for at, y in _rows(model, sizes, offset, height):
        row = model.rows[at]
        if at == current:
            painter.fillRect(QRectF(0, y, width, sizes.row), theme.colour("accTint"))
        if at and model.order == "document" and separated(model.rows[at - 1], row):
            painter.fillRect(QRectF(0, y, width - theme.px(16), 1), theme.colour("border"))
        quiet = not row.count
        painter.setFont(font)
        painter.setPen(theme.colour("text3" if quiet else "text"))
        if model.versions:
            words = version_name(model, row.last_column)
            painter.drawText(QRectF(theme.px(16), y, theme.px(70), sizes.row), LEFT, words)
        painter.setPen(theme.colour("text3" if quiet else "text2"))
        painter.drawText(QRectF(0, y, theme.px(106), sizes.row), RIGHT, wording.count(row.count))
        if row.count:
            long = max(theme.px(3), bar_room * row.count / max(1, model.most))
            box = QRectF(bar_left, y + round((sizes.row - theme.px(6)) / 2), round(long), theme.px(6))
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour("btn"))
            painter.drawRoundedRect(box, theme.px(2), theme.px(2))
            painter.restore()


def _rows(model: MapModel, sizes: MapSizes, offset: float, height: float) -> Iterable[tuple[int, float]]:
    first = max(0, int(offset // sizes.row))
    for at in range(first, min(len(model.rows), int((offset + height) // sizes.row) + 1)):
        yield at, at * sizes.row - offset
