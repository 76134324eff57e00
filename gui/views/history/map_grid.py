"""The cells of a change map as an item view, with fixed field names, axis and counts around them.

The drawing is cached in tiles, so that moving the crosshair and scrolling repaint nothing; only the crosshair and the
ring are drawn at each paint. Each cell is an item with an accessible name.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeAlias

from PySide6.QtCore import QEvent, QModelIndex, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetricsF,
    QHelpEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QGridLayout,
    QHBoxLayout,
    QScrollBar,
    QSizePolicy,
    QTableView,
    QToolTip,
    QWidget,
)

from gui.language import tr
from gui.style import theme, wording
from gui.style.states import hair
from gui.views.history import map_axis, map_painter, map_picture, map_sizes
from gui.views.history.map_model import MapModel

TILE = 512  # pixels
TILES = 48
COUNTS = 184  # the width of the counts at the right
PERIOD = 76  # the least width of the matrix: a day must fit above two versions as well
NAMES = (96, 232)  # the least and the usual width of the names


class MapGrid(QTableView):
    """The cells. ``opened`` asks to compare at the current cell, ``wanted_value`` to show its whole value."""

    opened = Signal()
    wanted_value = Signal()
    zoom_asked = Signal(int)
    moved = Signal()

    def __init__(self, model: MapModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.map = model
        self.sizes = map_sizes.MapSizes()
        self._tiles: OrderedDict[tuple[int, int], QPixmap] = OrderedDict()
        self._made_for: tuple[object, ...] = ()
        self.setModel(model)
        self.setFrameShape(QTableView.Shape.NoFrame)
        self.setShowGrid(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setAutoScroll(False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Change map: fields down, versions across"))
        for header in (self.horizontalHeader(), self.verticalHeader()):
            header.setMinimumSectionSize(1)
            header.hide()
        self.fit()

    def fit(self, zoom: float | None = None) -> None:
        """Take the sizes from the theme, and optionally another zoom."""
        if zoom is not None:
            self.sizes = map_sizes.MapSizes(zoom)
        self.horizontalHeader().setDefaultSectionSize(self.sizes.column)
        self.verticalHeader().setDefaultSectionSize(self.sizes.row)
        self.horizontalScrollBar().setSingleStep(self.sizes.column)
        self.verticalScrollBar().setSingleStep(self.sizes.row)
        self.viewport().update()

    @property
    def wide(self) -> int:
        """The width of all columns."""
        return len(self.map.versions) * self.sizes.column

    @property
    def high(self) -> int:
        """The height of all rows."""
        return len(self.map.rows) * self.sizes.row

    def sizeHint(self) -> QSize:
        return QSize(max(theme.px(80), self.wide), theme.px(200))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme.px(80), theme.px(60))

    def go(self, row: int, column: int) -> None:
        """Make a cell current, or the nearest one that exists."""
        if self.map.rows and self.map.versions:
            row = min(max(row, 0), len(self.map.rows) - 1)
            column = min(max(column, 0), len(self.map.versions) - 1)
            self.setCurrentIndex(self.map.index(row, column))
            self.scrollTo(self.map.index(row, column))

    def currentChanged(self, current: QModelIndex, previous: QModelIndex) -> None:  # type: ignore[override]
        super().currentChanged(current, previous)
        self.viewport().update()
        self.moved.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        here = self.currentIndex()
        seen = here.isValid() and QRect(QPoint(), event.oldSize()).contains(self.visualRect(here).center())
        down = self.verticalScrollBar()
        at_end = 0 < down.maximum() == down.value()
        super().resizeEvent(event)
        if at_end:
            down.setValue(down.maximum())  # as the last row does when something opens below,
        if seen:
            self.scrollTo(here)  # and the crosshair

    # --- keys and mouse

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, here = event.key(), self.currentIndex()
        if not here.isValid() or not self.map.rows:
            event.ignore()
            return
        control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        move = (CONTROL_MOVES if control else MOVES).get(key) or MOVES.get(key)
        if move is not None:
            self.go(*move(self, here.row(), here.column()))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not control:
            self.opened.emit()
        elif key == Qt.Key.Key_Space:
            self.wanted_value.emit()
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus) and not control:
            self.zoom_asked.emit(-1 if key == Qt.Key.Key_Minus else 1)
        else:
            event.ignore()

    def first_mark(self, row: int) -> int:
        """The column of the oldest change of a field."""
        marks = self.map.rows[row].marks
        return marks[0].column if marks else 0

    def last_mark(self, row: int) -> int:
        """The column of the newest change of a field."""
        marks = self.map.rows[row].marks
        return marks[-1].column if marks else self.map.newest

    def mark_before(self, row: int, column: int) -> int:
        """The column of the change before another, else that column."""
        return max((m.column for m in self.map.rows[row].marks if m.column < column), default=column)

    def mark_after(self, row: int, column: int) -> int:
        """The column of the change after another, else that column."""
        return min((m.column for m in self.map.rows[row].marks if m.column > column), default=column)

    @property
    def page(self) -> int:
        """The number of rows that Page Up and Page Down move by."""
        return max(1, self.viewport().height() // self.sizes.row - 1)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.indexAt(event.position().toPoint()).isValid():
            self.opened.emit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            if event.angleDelta().y():
                self.zoom_asked.emit(1 if event.angleDelta().y() > 0 else -1)
            event.accept()
            return
        super().wheelEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip:
            return True  # the line below the map says the same
        return super().viewportEvent(event)

    # --- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), theme.colour("surface"))
        x0, y0 = self.horizontalScrollBar().value(), self.verticalScrollBar().value()
        here = self.currentIndex()
        sizes = self.sizes
        if here.isValid():
            tint = theme.colour("accTint")
            painter.fillRect(QRect(0, here.row() * sizes.row - y0, self.viewport().width(), sizes.row), tint)
            painter.fillRect(QRect(here.column() * sizes.column - x0, -y0, sizes.column, self.high), tint)
        self._draw_tiles(painter, event.rect(), x0, y0)
        if here.isValid():
            self._draw_ring(painter, here, x0, y0)
        painter.end()

    def _draw_tiles(self, painter: QPainter, rect: QRect, x0: int, y0: int) -> None:
        ratio = max(1.0, painter.deviceTransform().m11())
        made_for = (self.map.revision, self.sizes, theme.tokens(), theme.px(100), ratio)
        if made_for != self._made_for:
            self._tiles.clear()
            self._made_for = made_for
        right, bottom = min(rect.right() + x0, self.wide - 1), min(rect.bottom() + y0, self.high - 1)
        for ty in range((rect.top() + y0) // TILE, bottom // TILE + 1):
            for tx in range((rect.left() + x0) // TILE, right // TILE + 1):
                painter.drawPixmap(QPoint(tx * TILE - x0, ty * TILE - y0), self._tile(tx, ty, ratio))

    def _tile(self, tx: int, ty: int, ratio: float) -> QPixmap:
        found = self._tiles.get((tx, ty))
        if found is None:
            found = QPixmap(QSize(round(TILE * ratio), round(TILE * ratio)))
            found.setDevicePixelRatio(ratio)
            found.fill(Qt.GlobalColor.transparent)
            painter = QPainter(found)
            painter.translate(-tx * TILE, -ty * TILE)
            map_painter.matrix(painter, self.map, self.sizes, QRectF(tx * TILE, ty * TILE, TILE, TILE))
            painter.end()
            self._tiles[tx, ty] = found
            while len(self._tiles) > TILES:
                self._tiles.popitem(last=False)
        else:
            self._tiles.move_to_end((tx, ty))
        return found

    def _draw_ring(self, painter: QPainter, here: QModelIndex, x0: int, y0: int) -> None:
        sizes = self.sizes
        mark = self.map.rows[here.row()].by_column.get(here.column())
        first, last = (mark.first, mark.column) if mark else (here.column(), here.column())
        side = map_painter.side(sizes) + theme.px(4)
        y = here.row() * sizes.row + sizes.row / 2 - y0
        wide = (last - first) * sizes.column + side
        box = QRectF(round(sizes.middle(first) - side / 2) - x0, round(y - side / 2), wide, side)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.colour("acc" if self.hasFocus() else "ctl"), 2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box, theme.px(4), theme.px(4))


_Move: TypeAlias = Callable[[MapGrid, int, int], tuple[int, int]]

MOVES: dict[int, _Move] = {
    Qt.Key.Key_Home: lambda grid, row, column: (row, grid.first_mark(row)),
    Qt.Key.Key_End: lambda grid, row, column: (row, grid.last_mark(row)),
    Qt.Key.Key_Left: lambda grid, row, column: (row, column - 1),
    Qt.Key.Key_Right: lambda grid, row, column: (row, column + 1),
    Qt.Key.Key_Up: lambda grid, row, column: (row - 1, column),
    Qt.Key.Key_Down: lambda grid, row, column: (row + 1, column),
    Qt.Key.Key_PageUp: lambda grid, row, column: (row - grid.page, column),
    Qt.Key.Key_PageDown: lambda grid, row, column: (row + grid.page, column),
}
"""Where a key leads from a row and a column."""
CONTROL_MOVES: dict[int, _Move] = {
    Qt.Key.Key_Left: lambda grid, row, column: (row, grid.mark_before(row, column)),
    Qt.Key.Key_Right: lambda grid, row, column: (row, grid.mark_after(row, column)),
    Qt.Key.Key_Home: lambda grid, row, column: (0, column),
    Qt.Key.Key_End: lambda grid, row, column: (len(grid.map.rows) - 1, column),
}
"""Where a key leads with Ctrl held."""


class _GridSide(QWidget):
    """A strip beside the cells, which passes scrolling and clicks to them."""

    _vertical = False  # on the class as well: Qt still sends events to a widget whose attributes are gone

    def __init__(self, grid: MapGrid, draw: Callable[[QPainter, QWidget], None], vertical: bool) -> None:
        super().__init__()
        self._grid, self._draw, self._vertical = grid, draw, vertical
        grid.moved.connect(self.update)
        bar = grid.verticalScrollBar() if vertical else grid.horizontalScrollBar()
        bar.valueChanged.connect(self.update)
        theme.signals.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(event.rect(), theme.colour("surface"))
        self._draw(painter, self)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        grid, here = self._grid, self._grid.currentIndex()
        if event.button() != Qt.MouseButton.LeftButton or not grid.map.rows:
            return
        if self._vertical:
            row = (round(event.position().y()) + grid.verticalScrollBar().value()) // grid.sizes.row
            if row < len(grid.map.rows):
                grid.go(row, here.column() if here.isValid() else grid.map.newest)
        else:
            column = (round(event.position().x()) + grid.horizontalScrollBar().value()) // grid.sizes.column
            if column < len(grid.map.versions):
                grid.go(here.row() if here.isValid() else 0, column)
        grid.setFocus(Qt.FocusReason.MouseFocusReason)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._grid.wheelEvent(event)

    def event(self, event: QEvent) -> bool:
        if self._vertical and isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            row = (event.pos().y() + self._grid.verticalScrollBar().value()) // self._grid.sizes.row
            rows = self._grid.map.rows
            QToolTip.showText(event.globalPos(), wording.tip(rows[row].name) if 0 <= row < len(rows) else "", self)
            return True
        return super().event(event)


class MapView(QWidget):
    """Cells, names, axis and counts together."""

    def __init__(self, model: MapModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = model
        self._zoomed = False  # by a person; until then a short history fills the width
        self.grid = MapGrid(model)
        self.corner = _GridSide(self.grid, self._draw_corner, False)
        self.head = _GridSide(self.grid, self._draw_head, False)
        self.names = _GridSide(self.grid, self._draw_names, True)
        self.counts = _GridSide(self.grid, self._draw_counts, True)
        self.counts_head = _GridSide(self.grid, self._draw_counts_head, False)
        for still in (self.corner, self.counts_head):
            still.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.bar = QScrollBar(Qt.Orientation.Vertical)
        self._follow_bar()
        layout = QGridLayout()
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.corner, 0, 0)
        layout.addWidget(self.head, 0, 1)
        layout.addWidget(self.counts_head, 0, 2)
        layout.addWidget(hair(), 1, 0, 1, 3)
        layout.addWidget(self.names, 2, 0)
        layout.addWidget(self.grid, 2, 1)
        layout.addWidget(self.counts, 2, 2)
        layout.setColumnStretch(2, 1)
        layout.setRowStretch(2, 1)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addLayout(layout, 1)
        row.addWidget(self.bar)
        self.setFocusProxy(self.grid)
        model.modelReset.connect(self.fit)
        theme.signals.changed.connect(self.fit)
        self.fit()

    def _follow_bar(self) -> None:
        inner = self.grid.verticalScrollBar()
        inner.rangeChanged.connect(self._ranged)
        inner.valueChanged.connect(self.bar.setValue)
        self.bar.valueChanged.connect(inner.setValue)
        self.bar.hide()

    def _ranged(self, low: int, high: int) -> None:
        inner = self.grid.verticalScrollBar()
        self.bar.setPageStep(inner.pageStep())
        self.bar.setSingleStep(inner.singleStep())
        self.bar.setRange(low, high)
        self.bar.setVisible(high > low)
        self._fit_names()

    # --- sizes

    def fit(self) -> None:
        """Fit to the number of fields and versions, and to the font."""
        self.grid.fit(None if self._zoomed else self._filling())
        head = theme.px(map_painter.HEAD) - 1
        for one in (self.corner, self.head, self.counts_head):
            one.setFixedHeight(head)
        for one in (self.counts, self.counts_head):
            one.setMinimumWidth(theme.px(COUNTS))
        self._fit_names()
        for one in (self.head, self.names, self.counts):
            one.update()
        self.corner.update()

    @property
    def wide(self) -> int:
        """The width of the whole matrix with its head."""
        return max(self.grid.wide, theme.px(PERIOD))

    def _filling(self) -> float:
        """The column width at which a short history fills the room between names and counts."""
        versions = len(self.model.versions)
        if not versions:
            return map_sizes.USUAL
        room = self.width() - self._names_need() - theme.px(COUNTS) - theme.px(12)  # the scroll bar's
        return max(map_sizes.USUAL, min(map_sizes.FILLING, (room // versions) / theme.px(100) * 100))

    @property
    def widest(self) -> float:
        """The zoom beyond which columns stop growing."""
        return max(map_sizes.WIDEST, self._filling())

    def _names_need(self) -> int:
        """The width of the names, within their limits."""
        metrics = QFontMetricsF(theme.mono(12))
        longest = max((metrics.horizontalAdvance("".join(row.label)) for row in self.model.rows[:2000]), default=0.0)
        return max(theme.px(NAMES[0]), min(round(longest) + theme.px(28), round(self.width() * 0.26), theme.px(360)))

    def _fit_names(self) -> None:
        need, usual = self._names_need(), theme.px(NAMES[1])
        bar = 0 if self.bar.isHidden() else self.bar.sizeHint().width()  # correct even before the view is shown
        spare = self.width() - self.wide - theme.px(COUNTS) - bar
        wide = min(max(need, spare), max(need, usual))
        for one in (self.corner, self.names):
            one.setFixedWidth(wide)
        self.grid.setMaximumWidth(self.wide)
        self.head.setMaximumWidth(self.wide)
        self.grid.updateGeometry()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        bar = self.grid.horizontalScrollBar()
        at_end = bar.value() >= bar.maximum()
        if not self._zoomed:
            self.grid.fit(self._filling())
        self._fit_names()
        if at_end:
            self.show_newest()

    def zoom(self, by: int) -> None:
        """Make columns wider or narrower by two pixels; the crosshair's column, else the middle, stays in place."""
        grid, bar = self.grid, self.grid.horizontalScrollBar()
        self._zoomed = True
        step = 2 if grid.sizes.zoom + by <= map_sizes.WIDEST else grid.sizes.zoom / 8
        wanted = min(self.widest, max(map_sizes.NARROWEST, grid.sizes.zoom + step * by))
        here = grid.currentIndex()
        column = here.column() if here.isValid() else (bar.value() + grid.width() // 2) // grid.sizes.column
        away = column * grid.sizes.column - bar.value()
        grid.fit(wanted)
        self.fit()
        grid.updateGeometries()
        bar.setValue(column * grid.sizes.column - away)
        self.head.update()

    def show_newest(self) -> None:
        """Scroll to the newest version."""
        if (layout := self.layout()) is not None:
            layout.activate()
        self.grid.updateGeometries()
        bar = self.grid.horizontalScrollBar()
        bar.setValue(bar.maximum())

    # --- painting

    def redraw(self) -> None:
        """Draw everything again; the crosshair and the scroll position stay."""
        self.model.revision += 1
        for one in (self.grid.viewport(), self.head):
            one.update()

    @property
    def _row(self) -> int:
        return self.grid.currentIndex().row()

    @property
    def _column(self) -> int:
        return self.grid.currentIndex().column()

    def _draw_corner(self, painter: QPainter, side: QWidget) -> None:
        map_axis.scale(painter, self.model, side.width())

    def _draw_head(self, painter: QPainter, side: QWidget) -> None:
        offset = self.grid.horizontalScrollBar().value()
        map_axis.head(painter, self.model, self.grid.sizes, offset, side.width(), self._column)

    def _draw_names(self, painter: QPainter, side: QWidget) -> None:
        offset, height = self.grid.verticalScrollBar().value(), self.grid.viewport().height()
        painter.setClipRect(QRect(0, 0, side.width(), height))
        map_painter.fields(painter, self.model, self.grid.sizes, offset, side.width(), height, self._row)

    def _draw_counts(self, painter: QPainter, side: QWidget) -> None:
        offset, height = self.grid.verticalScrollBar().value(), self.grid.viewport().height()
        painter.setClipRect(QRect(0, 0, side.width(), height))
        map_painter.counts(painter, self.model, self.grid.sizes, offset, side.width(), height, self._row)

    def _draw_counts_head(self, painter: QPainter, side: QWidget) -> None:
        map_painter.counts_head(painter)

    def picture(self, ratio: float = 2.0) -> Callable[[], QImage]:
        """A call that draws the whole map as it is now, visible or not; for a task, because it takes seconds."""
        model, sizes, wide = self.model.still(), self.grid.sizes, self.wide
        names, counts = self.names.width(), self.counts.width()
        return lambda: map_picture.whole(model, sizes, names, wide, counts, ratio)
