"""The place of each version on the strip, and the drawing of the visible part.

Positions count from the new end, so that older versions that arrive later move nothing. By version, marks are one
pitch apart; by time, at their times, but never on top of one another. All sizes scale with the system font.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPainterPath, QPen

from gui.language import tr
from gui.parts.versions_model import VersionMark, VersionsModel
from gui.style import symbols, theme

MARGIN = 52  # from the edge to the first and last mark
COMFORT = 68  # a pitch with room for names, dates and counts
WIDEST = 132
NARROWEST = 60  # the room of an author
LINE, TOP, BLOCK = 45, 5, 96  # heights in the strip: the line, the flags, all
NAME, DATE, AUTHOR = range(3)  # the texts below the line
TEXTS = (71, 88)  # the middles of name and date
CLOSE_TEXTS, HIGHER = (65, 78, 91), 4  # with authors, for which everything is drawn higher
_CLOSE = 22  # from a mark's middle to the edge of a gap beside it


class StripGeometry:
    """The places of the marks, in pixels from the old end of the content; rows count from the newest."""

    def __init__(self, model: VersionsModel) -> None:
        self.model = model
        self.by_time = False
        self.width = 0.0
        self.pitch = float(COMFORT)
        self._zoomed = 0.0  # the pitch that a person chose; 0: as many as fit comfortably
        self._away: list[float] = []  # by time: each row's distance from the newest
        self._made_for: tuple[int, float] = (-1, 0.0)

    def set_by_time(self, on: bool) -> None:
        """Set whether distance means time."""
        self.by_time = on

    def zoom(self, factor: float) -> None:
        """Change the pitch, from barely separate marks up to twice the comfortable pitch."""
        self._zoomed = min(theme.px(160), max(theme.px(8), self.pitch * factor))

    def forget(self) -> None:
        """Start again with another document or other sizes."""
        self._away, self._made_for = [], (-1, 0.0)

    def measure(self, room: int) -> None:
        """Take the view's width and the number of marks."""
        count = len(self.model.marks)
        inner = room - 2 * theme.px(MARGIN)
        fit = inner / max(1, count - 1)
        self.pitch = self._zoomed or max(theme.px(COMFORT), min(theme.px(WIDEST), fit))
        self.width = 2 * theme.px(MARGIN) + max(0, count - 1) * self.pitch
        if self.by_time and count > 1:
            span = max(inner, self.width - 2 * theme.px(MARGIN)) if not self._zoomed else (count - 1) * self.pitch
            if self._made_for != (count, span):
                self._place(span)
            self.width = 2 * theme.px(MARGIN) + self._away[-1]

    def _place(self, span: float) -> None:
        """Place rows by time: proportionally, but at least a mark's width apart."""
        marks = self.model.marks
        times = [mark.newest.at.timestamp() if mark.newest.at else None for mark in marks]
        known = [t for t in times if t is not None]
        scale = span / max(1.0, known[0] - known[-1]) if known else 0.0
        least, wide, halo = 2.6 * self.radius, float(theme.px(44)), 3.4 * self.radius
        near = [
            wide if older.missing or newer.missing else halo if newer.newest.current or older.newest.current else least
            for newer, older in pairwise(marks)
        ]
        latest = known[0] if known else 0.0
        for _ in range(4 if len(marks) < 2000 else 1):
            away = [0.0]
            for apart, t in zip(near, times[1:], strict=True):
                at = (latest - t) * scale if t is not None else 0.0
                away.append(max(away[-1] + apart, at))
            if away[-1] <= span + 1 or sum(near) >= span:
                break
            scale *= span / away[-1]  # marks that had to be set apart took room: the rest gets less
        self._away, self._made_for = away, (len(marks), span)

    @property
    def radius(self) -> float:
        """The radius of a mark; smaller if they are crowded."""
        return float(min(theme.px(8), max(theme.px(2.5), self.pitch * 0.32)))

    def x(self, row: int) -> float:
        """The middle of a row's mark."""
        away = self._away[row] if self.by_time and row < len(self._away) else row * self.pitch
        return self.width - theme.px(MARGIN) - away

    def last_before(self, x: float) -> int:
        """The newest row whose mark is left of ``x``; -1 if there is none."""
        away = self.width - theme.px(MARGIN) - x
        if self.by_time and self._away:
            row = bisect.bisect_left(self._away, away)
        else:
            row = max(0, math.ceil(away / self.pitch))
        return row if row < len(self.model.marks) else -1

    def nearest(self, x: float) -> int:
        """The row with the nearest mark; -1 if there is none."""
        count = len(self.model.marks)
        if not count:
            return -1
        left = self.last_before(x)
        near = [row for row in (left - 1 if left >= 0 else count - 1, left) if 0 <= row < count]
        return min(near, key=lambda row: abs(self.x(row) - x))

    def hit(self, x: float) -> int:
        """The row for a click at ``x``; -1 between marks that are far apart."""
        row = self.nearest(x)
        if row < 0:
            return -1
        left, right = self.reach(row)
        return row if self.x(row) - left <= x <= self.x(row) + right else -1

    def reach(self, row: int) -> tuple[float, float]:
        """The extent of a row to the left and to the right of its middle."""
        here, marks = self.x(row), self.model.marks
        if marks[row].missing:
            most = theme.px(MARGIN - 12)
            older = here - self.x(row + 1) - theme.px(_CLOSE) if row + 1 < len(marks) else most
            newer = self.x(row - 1) - here - theme.px(_CLOSE) if row else most
            return max(theme.px(4), older), max(theme.px(4), newer)
        most = theme.px(36)
        older = (here - self.x(row + 1)) / 2 if row + 1 < len(marks) else most
        newer = (self.x(row - 1) - here) / 2 if row else most
        return min(most, older), min(most, newer)

    def middle(self, row: int) -> float:
        """The middle of a row's label: its mark, or the middle of a gap."""
        left, right = self.reach(row) if self.model.marks[row].missing else (0.0, 0.0)
        return self.x(row) + (right - left) / 2

    def box(self, row: int, height: int) -> QRectF:
        """A row's place in the content, labels included."""
        left, right = self.reach(row)
        return QRectF(self.x(row) - left, self.above(height), left + right, theme.px(BLOCK))

    @property
    def texts(self) -> tuple[int, ...]:
        """The middles of the texts below the line: names, dates and, if any version has one, authors."""
        return CLOSE_TEXTS if self.model.authors else TEXTS

    def above(self, height: int) -> float:
        """The space above the line and its labels, which are centred in a view that is too high."""
        spare = height - theme.px(BLOCK)
        higher = theme.px(HIGHER) if self.model.authors else 0
        return (spare // 2 if spare > theme.px(30) else 0) - higher

    def visible(self, offset: int, room: int) -> range:
        """The rows to draw, with one more at each side for the lines that leave the view."""
        first = self.last_before(offset + room + theme.px(MARGIN) * 2)
        if first < 0:
            return range(0)
        last = self.last_before(offset - theme.px(MARGIN) * 2)
        count = len(self.model.marks)
        return range(max(0, first - 1), count if last < 0 else min(count, last + 2))

    def flag(self, which: str, offset: int, room: QSize, row: int | None = None) -> QRectF | None:
        """The box of flag ``a`` or ``b`` in the view; at the edge if its mark is out of sight."""
        chosen = (self.model.a if which == "a" else self.model.b) if row is None else row
        if chosen is None or chosen >= len(self.model.marks):
            return None
        x = self.x(chosen) - offset
        if row is None and self.model.a == self.model.b:
            x += theme.px(12) * (-1 if which == "a" else 1)
        half = theme.px(11)
        x = min(max(x, half + theme.px(4)), room.width() - half - theme.px(4))
        return QRectF(round(x - half), self.above(room.height()) + theme.px(TOP), 2 * half, theme.px(20))


def paint(
    painter: QPainter, layout: StripGeometry, offset: int, room: QSize, focused: int, dragged: Mapping[str, int]
) -> None:
    """Draw the visible part. ``dragged`` says over which row a flag is held, ``focused`` the row with the ring."""
    rows = layout.visible(offset, room.width())
    if not rows:
        return
    top = layout.above(room.height())
    painter.save()
    painter.translate(-offset, top)
    _line(painter, layout, rows)
    for row in rows:
        if layout.model.marks[row].missing:
            _gap(painter, layout, row)
    _marks(painter, layout, rows, focused)
    _labels(painter, layout, rows, offset, offset + room.width())
    if layout.model.watched:
        _turns(painter, layout, rows)
    painter.restore()
    for which in ("a", "b"):
        _flag(painter, layout, which, offset, room, dragged.get(which))


def _line(painter: QPainter, layout: StripGeometry, rows: range) -> None:
    model, y = layout.model, theme.px(LINE)
    a, b = model.a, model.b
    low, high = (min(a, b), max(a, b)) if a is not None and b is not None else (0, 0)
    counts_fit = 2.4 * theme.px(24)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    edge = layout.radius + theme.px(4)
    pills: list[tuple[float, int, bool]] = []
    for row in rows:
        if row + 1 >= len(model.marks):
            break
        newer, older = model.marks[row], model.marks[row + 1]
        left = layout.x(row + 1) + (layout.reach(row + 1)[1] if older.missing else edge)
        right = layout.x(row) - (layout.reach(row)[0] if newer.missing else edge)
        if newer.newest.current and not newer.missing:
            right -= layout.radius * 0.7
        chosen = low <= row < high
        thick = theme.px(3 if chosen else 2)
        if right > left:
            painter.fillRect(
                QRectF(round(left), y - thick // 2, round(right) - round(left), thick),
                theme.colour("acc" if chosen else "hatch"),
            )
        changed = newer.newest.changed
        if changed is not None and not newer.missing and not older.missing:
            distance = layout.x(row) - layout.x(row + 1)
            if distance >= counts_fit:
                pills.append(((layout.x(row) + layout.x(row + 1)) / 2, changed, chosen))
    font = theme.mono(11)
    for x, changed, chosen in pills:
        pill(painter, QPointF(x, y), f"{changed:,}" if changed < 10_000 else f"{changed // 1000}k", font, chosen)


def pill(painter: QPainter, middle: QPointF, words: str, font: QFont, chosen: bool, edge: str = "border") -> float:
    """Draw a number on the line, which says how many fields changed there. Returns its width."""
    height = theme.px(19 if edge == "border" else 16)
    width = max(theme.px(21 if edge == "border" else 17), QFontMetricsF(font).horizontalAdvance(words) + theme.px(12))
    box = QRectF(middle.x() - width / 2, middle.y() - height / 2, width, height)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme.colour("acc" if chosen else edge), 1))
    painter.setBrush(theme.colour("surface"))
    painter.drawRoundedRect(box, height / 2, height / 2)
    painter.setFont(font)
    painter.setPen(theme.colour("text2"))
    painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), words)
    painter.restore()
    return width


def _gap(painter: QPainter, layout: StripGeometry, row: int) -> None:
    left, right = layout.reach(row)
    half = theme.px(14)
    box = QRectF(round(layout.x(row) - left), theme.px(LINE) - half, round(left + right), 2 * half)
    gap(painter, box)


def gap(painter: QPainter, box: QRectF) -> None:
    """Draw a hatched gap in the line, dashed at both ends."""
    symbols.hatch(painter, box, "sunken")
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    pen = QPen(theme.colour("ctl"), theme.px(14) / 10)
    pen.setDashPattern([4, 2.5])
    painter.setPen(pen)
    for x in (box.left(), box.right()):
        painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))
    painter.restore()


def _marks(painter: QPainter, layout: StripGeometry, rows: range, focused: int) -> None:
    model, y = layout.model, theme.px(LINE)
    radius = layout.radius * 1000 / theme.px(1000)  # the symbols scale it to the font themselves
    for row in rows:
        mark = model.marks[row]
        centre = QPointF(round(layout.x(row)), y)
        if not mark.missing:
            one = mark.newest
            chosen = row in (model.a, model.b)
            symbols.version_mark(painter, centre, one.stored, one.state, one.current, chosen, radius)
        if row == focused:
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(theme.colour("acc"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            left, right = layout.reach(row) if mark.missing else (theme.px(17), theme.px(17))
            half = theme.px(17)
            painter.drawRoundedRect(
                QRectF(centre.x() - left, y - half, left + right, 2 * half), theme.px(6), theme.px(6)
            )
            painter.restore()


def _labels(painter: QPainter, layout: StripGeometry, rows: range, first: float, last: float) -> None:
    """Draw names, dates and authors; if they are crowded, the important ones first and others as far as there is room.

    No label is drawn that the view's edges, ``first`` and ``last``, would cut: the rest would look like another name.
    """
    model, edge, spare = layout.model, theme.px(16), theme.px(6)
    for line, middle in enumerate(layout.texts):
        taken: list[tuple[float, float]] = []
        labels = []
        for row in rows:
            words, token, font = _words(layout, row, line)
            width = QFontMetricsF(font).horizontalAdvance(words)
            wanted = layout.middle(row) - width / 2
            left = min(max(wanted, edge), max(layout.width - width - edge, edge))
            # Moved in from the strip's end, below another version's mark: that version's own label comes first.
            end = left if left < wanted else left + width
            astray = left != wanted and layout.nearest(end) != row
            labels.append((astray, _rank(model, row, line), left, width, words, token, font))
        for _, _, left, width, words, token, font in sorted(labels, key=lambda label: label[:2]):
            cut = left < first or left + width > last
            if not words or cut or any(left < end + spare and left + width > start - spare for start, end in taken):
                continue
            taken.append((left, left + width))
            painter.setFont(font)
            painter.setPen(theme.colour(token))
            box = QRectF(left - 1, theme.px(middle - 9), width + 2, theme.px(18))
            painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), words)


def _turns(painter: QPainter, layout: StripGeometry, rows: range) -> None:
    """Draw where watched conditions turned: a triangle above the mark, or beside its flag, and the name if it fits.

    At the edge of the strip the name is at the left.
    """
    model, y = layout.model, theme.px(TOP + 9)
    font = theme.font(11)
    metrics = QFontMetricsF(font)
    lead, flag = theme.px(8), theme.px(14)
    taken = [(layout.x(row) - flag, layout.x(row) + flag) for row in (model.a, model.b) if row is not None]
    for row in sorted(rows, key=lambda row: _rank(model, row)):
        turns = model.turns_at(row)
        if not turns:
            continue
        one, x = turns[0], layout.x(row)
        words = one.watch + ("" if one.proven else "?") + (f" +{len(turns) - 1}" if len(turns) > 1 else "")
        room = min(metrics.horizontalAdvance(words), theme.px(110))
        beside = flag + lead if row in (model.a, model.b) else 0
        to_left = x + beside + lead + room > layout.width
        x += -beside if to_left else beside
        symbols.turn(painter, QPointF(x, y), one.holds, one.proven)
        left = x - lead - room if to_left else x + lead
        if any(left < end and left + room > start for start, end in taken):
            continue
        taken.append((left - lead, left + room + lead))
        painter.setFont(font)
        painter.setPen(theme.colour("text2"))
        shown = metrics.elidedText(words, Qt.TextElideMode.ElideRight, room)
        box = QRectF(left, y - theme.px(9), room + 2, theme.px(18))
        painter.drawText(box, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), shown)


def _rank(model: VersionsModel, row: int, line: int = NAME) -> tuple[int, int]:
    """The rank of a row's label: the chosen, the current, the damaged, gaps, then every 64th, 32nd … row.

    What may have become of a gap's versions is said where the dates of others leave room.
    The lowest set bit of the row's number decides, so that the choice stays while the strip scrolls.
    """
    mark = model.marks[row]
    if row in (model.a, model.b):
        return 0, row
    if mark.newest.current:
        return 1, row
    if mark.newest.state == "damaged":
        return 2, row
    if mark.missing:
        return 3 if line == NAME else 5, row
    return 4, -(row & -row) if row else -(1 << 40)


def _words(layout: StripGeometry, row: int, line: int) -> tuple[str, str, QFont]:
    mark: VersionMark = layout.model.marks[row]
    chosen = row in (layout.model.a, layout.model.b)
    damaged = mark.newest.state == "damaged"
    if line == NAME:
        font = theme.mono(12, 600 if chosen else 400)
        if not mark.missing:
            return mark.name, "text" if chosen else "text2", font
        return mark.name if _has_room(layout, row) else mark.span, "text2", font
    font = theme.font(11)
    if line == AUTHOR:
        here = layout.middle(row)
        half = min((layout.pitch - theme.px(8)) / 2, min(here, layout.width - here) - theme.px(16))
        room = max(theme.px(NARROWEST), 2 * half)
        by = "" if mark.missing else mark.newest.author or ""
        return QFontMetricsF(font).elidedText(by, Qt.TextElideMode.ElideRight, room), "text2", font
    if mark.missing:
        return mark.under if _has_room(layout, row) else tr("missing"), "text3", font
    return mark.under, "err" if damaged else "text3", font


def _has_room(layout: StripGeometry, row: int) -> bool:
    """Whether both lines below a gap fit; else they are shortened together, so that "missing" is said once."""
    mark = layout.model.marks[row]
    left, right = layout.reach(row)
    name = QFontMetricsF(theme.mono(12)).horizontalAdvance(mark.name)
    under = QFontMetricsF(theme.font(11)).horizontalAdvance(mark.under)
    return max(name, under) < left + right + theme.px(8)


def _flag(painter: QPainter, layout: StripGeometry, which: str, offset: int, room: QSize, over: int | None) -> None:
    box = layout.flag(which, offset, room, over)
    if box is None:
        return
    chosen = over if over is not None else (layout.model.a if which == "a" else layout.model.b)
    assert chosen is not None
    x = layout.x(chosen) - offset
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.colour("acc"))
    path = QPainterPath()
    path.addRoundedRect(box, theme.px(4), theme.px(4))
    painter.drawPath(path)
    notch, foot = QPainterPath(), theme.px(4)
    if x < box.left():  # out of sight: the flag points towards its mark
        notch.moveTo(box.left() - foot + 1, box.center().y())
        notch.lineTo(box.left() + 1, box.center().y() - foot)
        notch.lineTo(box.left() + 1, box.center().y() + foot)
    elif x > box.right():
        notch.moveTo(box.right() + foot - 1, box.center().y())
        notch.lineTo(box.right() - 1, box.center().y() - foot)
        notch.lineTo(box.right() - 1, box.center().y() + foot)
    else:
        tip = min(max(x, box.left() + foot + 1), box.right() - foot - 1)
        notch.moveTo(tip - foot, box.bottom() - 0.5)
        notch.lineTo(tip + foot, box.bottom() - 0.5)
        notch.lineTo(tip, box.bottom() + foot - 0.5)
    notch.closeSubpath()
    painter.drawPath(notch)
    painter.setFont(theme.font(12, 600))
    painter.setPen(theme.colour("accText"))
    painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), which.upper())
    painter.restore()
