"""Self-painted parts of the change map's panel: the legend, and a line in several weights."""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.language import tr
from gui.style import boxes, symbols, theme, wording
from gui.style.cells import Span
from gui.views.history import map_painter

LEGEND = (
    ("force", tr("set here, in force now")),
    ("set", tr("overwritten since")),
    ("add", tr("added")),
    ("remove", tr("removed")),
    ("retype", tr("type only")),
    ("gap", tr("somewhere in a gap")),
    ("missing", tr("version missing")),
)


class MapLegend(QWidget):
    """The legend, in as many lines as needed; screen readers are told the meaning at each cell."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        row = boxes.wrapping(self, x=0, y=6, gap=0)
        self.meanings = [_Meaning(kind, said) for kind, said in LEGEND]
        for meaning in self.meanings:
            row.addWidget(meaning)
        row.addStretch(1)


class _Meaning(QWidget):
    """A mark with its meaning."""

    def __init__(self, kind: str, said: str) -> None:
        super().__init__()
        self._kind, self._said = kind, said
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.signals.changed.connect(self._restyle)

    def _restyle(self) -> None:
        self.updateGeometry()
        self.update()

    @property
    def _lead(self) -> int:
        return theme.px({"force": 40, "gap": 26}.get(self._kind, 20))

    def sizeHint(self) -> QSize:
        words = QFontMetricsF(theme.font(11)).horizontalAdvance(self._said)
        return QSize(self._lead + ceil(words) + theme.px(20), theme.px(18))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._sample(painter, self._kind, self.height() / 2)
        painter.setFont(theme.font(11))
        painter.setPen(theme.colour("text2"))
        painter.drawText(QRectF(self.rect()).adjusted(self._lead, 0, 0, 0), map_painter.LEFT, self._said)
        painter.end()

    def _sample(self, painter: QPainter, kind: str, middle: float) -> None:
        side, x = theme.px(12), 0.0
        centre = QRectF(x, middle - side / 2, side, side).center()
        if kind == "gap":
            map_painter.gap_bar(
                painter, QRectF(round(x), round(middle - theme.px(5.5)), theme.px(20), theme.px(11)), "set"
            )
        elif kind == "missing":
            symbols.hatch(painter, QRectF(round(x), round(middle - side / 2), side, side), "", 4, "ctl")
        elif kind == "force":
            thick = theme.px(2)
            painter.fillRect(QRectF(x, round(middle - thick / 2), theme.px(32), thick), theme.colour("chg"))
            map_painter.cell(painter, centre, "set", True, side)
        else:
            map_painter.cell(painter, centre, kind, kind in ("add", "retype"), side)


class Said(QWidget):
    """One line of text in several weights, elided at its end."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.spans: tuple[Span, ...] = ()
        theme.signals.changed.connect(self.update)

    def put(self, *spans: Span) -> None:
        """Show other words."""
        self.spans = tuple(span for span in spans if span.text)
        self.setAccessibleName(self.text)
        self.setToolTip(wording.tip(self.text))
        self.update()

    @property
    def text(self) -> str:
        """The words alone."""
        return " ".join(span.text for span in self.spans)

    def sizeHint(self) -> QSize:
        return QSize(theme.px(200), theme.px(20))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme.px(80), theme.px(20))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        x, room = 0.0, float(self.width())
        for span in self.spans:
            font = theme.font(12, span.weight or 400) if span.sans else theme.mono(12, span.weight or 400)
            metrics = QFontMetricsF(font)
            shown = metrics.elidedText(span.text, Qt.TextElideMode.ElideRight, room - x)
            painter.setFont(font)
            painter.setPen(theme.colour(span.token))
            wide = metrics.horizontalAdvance(shown)
            painter.drawText(QRectF(x, 0, wide + 2, self.height()), map_painter.LEFT, shown)
            x += wide + theme.px(8)
            if x >= room or shown != span.text:
                break
        painter.end()
