"""The parts beside the strip: the legend, the list of versions, and the document's name in the header."""

from __future__ import annotations

import math

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QHeaderView, QStyleOptionViewItem, QWidget

from gui.language import tr, translated
from gui.parts.versions_model import (
    AUTHOR,
    CHANGED,
    HASH,
    MARK,
    OPERATION,
    REASON,
    SIZE,
    STORED,
    VERSION,
    WATCHED,
    VersionsModel,
)
from gui.style import symbols, theme
from gui.style.cells import CellDelegate, CellTree
from gui.views.timeline import strip_geometry

ROW = 24  # u; the height of a row
LINE = 22  # u; the height of a line of the legend
UNBOUNDED = 1 << 20  # pixels
WIDTHS = (26, 170, 150, 120, 200, 100, 240, 220, 90, 90, 90)


class StripLegend(QWidget):
    """The meaning of the shapes on the strip: those that occur."""

    def __init__(self, model: VersionsModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._quiet = False
        self._fit()
        theme.signals.changed.connect(self.update)

    def quiet(self, on: bool) -> None:
        """Leave the room empty while something else is said beside it."""
        self._quiet = on
        self.again()

    def again(self) -> None:
        """Show the shapes that occur now."""
        self._fit()
        self.updateGeometry()
        self.update()

    def entries(self) -> list[tuple[str, str]]:
        """Kind and word of each shape that occurs."""
        kinds = self._model.kinds
        places, conditions = {place for place, _ in kinds}, {state for _, state in kinds}
        made: list[tuple[str, str]]
        made = [(place, translated(place)) for place in ("document", "archive", "prev", "delta") if place in places]
        made += [(state, translated(state)) for state in ("unproven", "missing", "damaged") if state in conditions]
        made += [("watch", tr("watched condition turned"))] if self._model.watched else []
        return [*made, ("count", tr("fields changed"))] if self._model.counted else made

    def sizeHint(self) -> QSize:
        return QSize(self._lay_out()[-1][0], theme.px(LINE))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def height_for(self, width: int) -> int:
        """The height of all lines at a width, in pixels."""
        return theme.px(LINE) * (self._lay_out(width)[-1][1] + 1)

    def _fit(self) -> None:
        self.setFixedHeight(self.height_for(self.width()))

    def _lay_out(self, room: int = UNBOUNDED) -> list[tuple[int, int]]:
        """For each entry its left edge and its line, and then the right end; in as many lines as ``room`` requires."""
        metrics, places, x, line = QFontMetricsF(theme.font(11)), list[tuple[int, int]](), theme.px(8), 0
        for kind, words in self.entries():
            wide = math.ceil(_lead(kind) + metrics.horizontalAdvance(words) + theme.px(2))
            if places and x + wide > room:
                x, line = theme.px(8), line + 1
            places.append((x, line))
            x += wide + theme.px(16)
        return [*places, (x, line)]

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        high = theme.px(LINE)
        for (kind, words), (x, line) in zip(self.entries(), self._lay_out(self.width()), strict=False):
            if self._quiet:
                break
            y = line * high
            self._symbol(painter, x, y + high / 2, kind)
            painter.setFont(theme.font(11))
            painter.setPen(theme.colour("text2"))
            box = QRectF(x + _lead(kind), y, self.width(), high)
            painter.drawText(box, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), words)
        painter.end()

    def _symbol(self, painter: QPainter, x: float, y: float, kind: str) -> None:
        middle = QRectF(x, y - theme.px(8), theme.px(16), theme.px(16)).center()
        if kind == "count":
            strip_geometry.pill(painter, middle + QPointF(theme.px(4), 0), "n", theme.mono(10), False, "ctl")
        elif kind == "watch":
            symbols.turn(painter, middle, True, True)
        elif kind == "missing":
            symbols.hatch(
                painter, QRectF(x + theme.px(2), y - theme.px(6), theme.px(12), theme.px(12)), step=4, token="ctl"
            )
        elif kind == "document":
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour("acc"))
            painter.drawEllipse(middle, theme.px(5), theme.px(5))
            painter.restore()
        else:
            place = next((k for k, s in self._model.kinds if s == kind), kind)
            state = kind if kind in ("damaged", "unproven") else "present"
            symbols.version_mark(painter, middle, place, state, False, False, 5)


def _lead(kind: str) -> int:
    """The pixels from the beginning of a shape to its word."""
    return theme.px(28 if kind == "count" else 20)


class _MarkDelegate(CellDelegate):
    """Draws a version's mark in the first column of the list."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().paint(painter, option, index)
        model = index.model()
        if index.column() != MARK or not isinstance(model, VersionsModel):
            return
        mark = model.marks[index.row()]
        box = QRectF(option.rect)
        if mark.missing:
            side = theme.px(12)
            symbols.hatch(painter, QRectF(box.center().x() - side / 2, box.center().y() - side / 2, side, side), step=4)
            return
        one, chosen = mark.newest, index.row() in (model.a, model.b)
        symbols.version_mark(painter, box.center(), one.stored, one.state, one.current, chosen, 4.5)


class VersionList(CellTree):
    """The versions as a list, newest first; it has the signals of :class:`gui.views.timeline.strip.Strip`."""

    a_asked = Signal(int)
    b_asked = Signal(int)
    menu_asked = Signal(int, QPoint)

    def __init__(self, model: VersionsModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setItemDelegate(_MarkDelegate(self, ROW))
        self._history = model
        self.as_list(model, tr("Versions, newest first"))
        model.chosen.connect(self.viewport().update)
        self.header().setSectionResizeMode(MARK, QHeaderView.ResizeMode.Fixed)
        self.resize_columns(WIDTHS, dispensable=(SIZE, HASH, STORED, OPERATION))

    def fit(self) -> None:
        """Show the columns that are not empty."""
        history = self._history
        for column, filled in (
            (AUTHOR, history.authors),
            (REASON, history.reasons),
            (OPERATION, history.operations),
            (WATCHED, history.watched),
            (CHANGED, history.counted),
        ):
            self.setColumnHidden(column, not filled)
        self.fit_columns()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        index, where = self.menu_place(event)
        if index.isValid():
            self.menu_asked.emit(index.row(), self.viewport().mapToGlobal(where))

    def _take(self, row: int, modifiers: Qt.KeyboardModifier) -> None:
        other = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
        if self._history.version_at(row) is not None:
            (self.a_asked if self._history.is_a(row, bool(modifiers & other)) else self.b_asked).emit(row)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and index.isValid():
            self._take(index.row(), event.modifiers())

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if self.currentIndex().column() == MARK or not self.currentIndex().isValid():
            row = self.currentIndex().row() if self.currentIndex().isValid() else self._history.b or 0
            self.setCurrentIndex(self._history.index(row, VERSION))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row = self.currentIndex().row()
        if event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter) and row >= 0:
            self._take(row, event.modifiers())
        elif event.key() in (Qt.Key.Key_A, Qt.Key.Key_B) and not event.modifiers() and row >= 0:
            if self._history.version_at(row) is not None:
                (self.a_asked if event.key() == Qt.Key.Key_A else self.b_asked).emit(row)
        else:
            super().keyPressEvent(event)
