"""The course of a number or date over the versions, as a step line: each value holds until the next."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.language import tr
from gui.style import preferences, symbols, theme, wording
from model import text
from model.errors import Refused
from model.session.history_reading import Chain, SeenValue, Track
from model.values.canonical import DATE, Value
from model.values.kinds import NUMBERS

HEIGHT, SIDE, TOP, FOOT = 148, 16, 16, 26


class PlotPoint(Struct, frozen=True):
    """One version's value; ``y`` is None if the field is missing; ``gap``: versions before it are missing."""

    age: int
    at: dt.datetime | None
    y: float | None
    value: Value | None
    is_set: bool
    gap: bool


def points(chain: Chain, track: Track) -> tuple[PlotPoint, ...]:
    """A field's points, oldest first; none if its values cannot be drawn on one line, or are too few."""
    values = chain.values(track)
    kinds = {seen.type for _, seen in values if seen is not None}
    if not kinds or not (kinds.issubset(NUMBERS) or kinds == {DATE}):
        return ()
    set_at = {change.age for change in track.changes}
    made = []
    before: int | None = None
    for age, seen in reversed(values):
        value = seen.value if seen is not None else None
        gap = before is not None and before - age > 1
        made.append(PlotPoint(age, chain.versions[age].at, _number(seen), value, age in set_at or before is None, gap))
        before = age
    return tuple(made) if len({one.y for one in made if one.y is not None}) > 1 else ()


def _number(seen: SeenValue | None) -> float | None:
    if seen is None or seen.value is None:
        return None
    if seen.type == DATE:
        return float(int.from_bytes(seen.value.data, "little", signed=True))
    try:
        found = float(str(seen.value.python()))
    except (Refused, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


class FieldPlot(QWidget):
    """The line. ``chosen`` carries the age of the version that was clicked."""

    chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.points: tuple[PlotPoint, ...] = ()
        self.by_time = False
        self.current = -1  # the marked age
        self._names: dict[int, str] = {}
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        theme.signals.changed.connect(self.updateGeometry)

    def put(self, chain: Chain, track: Track) -> None:
        """Draw a field; the widget hides if there is nothing to draw."""
        self.points = points(chain, track)
        self._names = {one.age: wording.version(chain.versions[one.age].v) for one in self.points}
        self.setVisible(bool(self.points))
        if self.points:
            low, high = self._ends()
            said = [
                tr(
                    "Values from {label} to {label2} over {points:,} versions",
                    label=self._label(low),
                    label2=self._label(high),
                    points=len(self.points),
                )
            ]
            said.append(tr("they are listed below"))
            self.setAccessibleName("; ".join(said))
        self.update()

    @property
    def has_times(self) -> bool:
        """Whether every version has a date."""
        return bool(self.points) and all(one.at is not None for one in self.points)

    def set_by_time(self, on: bool) -> None:
        """Place the versions by date, or side by side."""
        self.by_time = on
        self.update()

    def mark(self, age: int) -> None:
        """Mark the version of this age; -1 is none."""
        self.current = age
        self.update()

    def _ends(self) -> tuple[PlotPoint, PlotPoint]:
        there = [one for one in self.points if one.y is not None]
        return min(there, key=lambda one: one.y or 0.0), max(there, key=lambda one: one.y or 0.0)

    def _label(self, point: PlotPoint) -> str:
        return "" if point.value is None else text.shown(point.value, preferences.zone(), 40)

    def sizeHint(self) -> QSize:
        return QSize(theme.px(400), theme.px(HEIGHT))

    # --- geometry

    def _box(self) -> QRectF:
        metrics = QFontMetricsF(theme.mono(11))
        left = (
            SIDE + max((metrics.horizontalAdvance(self._label(one)) for one in self._ends()), default=0) + theme.px(8)
        )
        wide = self.width() - left - theme.px(SIDE + 8)
        return QRectF(left, theme.px(TOP), max(1.0, wide), self.height() - theme.px(TOP + FOOT))

    def places(self) -> list[QPointF]:
        """The position of each point; for one without a value only x counts."""
        box = self._box()
        low, high = (one.y or 0.0 for one in self._ends())
        times = [one.at.timestamp() for one in self.points if one.at is not None]
        by_time = self.by_time and self.has_times and max(times) > min(times)
        made = []
        for i, one in enumerate(self.points):
            share = i / max(1, len(self.points) - 1)
            if by_time:
                share = (times[i] - min(times)) / (max(times) - min(times))
            y = box.bottom() - ((one.y or low) - low) / ((high - low) or 1.0) * box.height()
            made.append(QPointF(box.left() + share * box.width(), y))
        return made

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.points:
            x = event.position().x()
            there = [(abs(place.x() - x), one) for place, one in zip(self.places(), self.points, strict=True)]
            self.chosen.emit(min((each for each in there if each[1].is_set), key=lambda each: each[0])[1].age)

    # --- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.points:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box, places = self._box(), self.places()
        low, high = self._ends()
        painter.setFont(theme.mono(11))
        for y, one in ((box.top(), high), (box.bottom(), low)):
            painter.fillRect(QRectF(box.left(), round(y), box.width(), 1), theme.colour("border"))
            painter.setPen(theme.colour("text3"))
            right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            painter.drawText(QRectF(0, y - 10, box.left() - theme.px(8), 20), right, self._label(one))
        for (a, _), (b, later) in pairwise(zip(places, self.points, strict=True)):
            if later.gap:
                symbols.hatch(painter, QRectF(a.x(), box.top(), b.x() - a.x(), box.height()))
        self._marked(painter, box, places)
        self._line(painter, places, box)
        self._feet(painter, box, places)
        painter.end()

    def _marked(self, painter: QPainter, box: QRectF, places: Sequence[QPointF]) -> None:
        for place, one in zip(places, self.points, strict=True):
            if one.age == self.current:
                wide = theme.px(12)
                ground = QRectF(place.x() - wide / 2, box.top() - 6, wide, box.height() + 12)
                painter.fillRect(ground, theme.colour("accTint"))

    def _line(self, painter: QPainter, places: Sequence[QPointF], box: QRectF) -> None:
        path = QPainterPath()
        drawing = False
        for i, (place, one) in enumerate(zip(places, self.points, strict=True)):
            if one.y is None:
                drawing = False
                continue
            if drawing and not one.gap:
                path.lineTo(place.x(), path.currentPosition().y())
                path.lineTo(place)
            else:
                path.moveTo(place)
            drawing = True
            after = self.points[i + 1] if i + 1 < len(self.points) else None
            if after is not None and (after.y is None or after.gap):
                end = place.x() + (places[i + 1].x() - place.x()) * (0.5 if after.gap else 1)
                path.lineTo(end, place.y())
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(theme.colour("text2"), 1.5))
        painter.drawPath(path)
        for place, one in zip(places, self.points, strict=True):
            if one.is_set and one.y is not None:
                chosen = one.age == self.current
                painter.setPen(QPen(theme.colour("acc" if chosen else "surface"), 2 if chosen else 1.5))
                painter.setBrush(theme.colour("chg"))
                painter.drawEllipse(place, theme.px(4), theme.px(4))

    def _feet(self, painter: QPainter, box: QRectF, places: Sequence[QPointF]) -> None:
        """The versions' names below, as many as fit."""
        painter.setFont(theme.font(11))
        painter.setPen(theme.colour("text3"))
        metrics, busy = QFontMetricsF(theme.font(11)), -1.0
        for place, one in zip(places, self.points, strict=True):
            words = wording.day(one.at) if self.by_time and one.at is not None else self._names[one.age]
            wide = metrics.horizontalAdvance(words)
            left = min(place.x() - wide / 2, self.width() - wide - 2)
            if left < busy:
                continue
            busy = left + wide + theme.px(12)
            painter.drawText(QPointF(left, box.bottom() + theme.px(18)), words)
