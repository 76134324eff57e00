"""The view of a comparison's rows: guides, a gap between the sides, columns that share the width, keys for changes."""

from __future__ import annotations

import math
from weakref import WeakKeyDictionary

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QPointF, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QFontMetricsF, QKeyEvent, QKeySequence, QPainter, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QStyleOptionViewItem, QWidget

from gui.language import tr
from gui.parts.differences import diff_cells, diff_copies
from gui.parts.differences.diff_model import FIELD, SYMBOL, TYPE, A, B, DiffModel
from gui.parts.differences.diff_node import DiffNode
from gui.style import preferences, symbols, theme
from gui.style.cells import CELL, MEASURED, Cell, CellDelegate, CellTree, Index, full_width, raised, value
from gui.style.zooming import OWN_WIDTHS
from model.values.canonical import Value

INDENT, GAP = 16, 4
CLOSER = 4  # how far a field moves out of its cell, towards its chevron
_SYMBOL_WIDTH = 40
_SHARES = (0.2, 0.32, 0.32, 0.16)  # field, A, B, type
_MOST_FOR_NAMES = 0.3  # of the width, which names may take before they are cut
_LONG = 400  # up to this width, values take room that other columns do not need
_TYPE_WIDTH = 176  # room for a change of type, unless a person chose a width


class SidesDelegate(CellDelegate):
    """Leaves a gap between the two sides, draws fields close to their chevrons, and absent values faintly."""

    @staticmethod
    def _is_inline(index: QModelIndex | QPersistentModelIndex) -> bool:
        model = index.model()
        return isinstance(model, DiffModel) and model.inline

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        rect: QRect = option.rect
        column, table = index.column(), self.parent()
        if column == A and not self._is_inline(index):
            rect.setRight(rect.right() - theme.px(GAP))
        elif column == FIELD and isinstance(table, DiffTable):
            rect.setLeft(rect.left() - theme.px(CLOSER))
            node = table.rows.node(index)
            if node is not None and node.kind in ("fold", "broken"):  # the other cells of this row are empty
                rect.setRight(table.viewport().width())
        cell = index.data(CELL)
        if isinstance(cell, Cell) and cell.hatch:
            symbols.hatch(painter, QRectF(rect), token="border")
        elif isinstance(cell, Cell) and column == SYMBOL:
            if cell.bar:
                painter.fillRect(QRect(rect.left(), rect.top(), theme.px(3), rect.height()), theme.colour(cell.bar))
            if cell.change:
                symbols.change(painter, QRectF(rect), cell.change)
        else:
            super().paint(painter, option, index)


class DiffTable(CellTree):
    """The rows of a :class:`DiffModel`. Space shows the whole value, Ctrl+Up and Ctrl+Down another change."""

    value_asked = Signal()
    next_asked = Signal()
    previous_asked = Signal()
    escaped = Signal()
    menu_asked = Signal(QModelIndex, QPoint)

    def __init__(self, model: DiffModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setItemDelegate(SidesDelegate(self))
        self.rows = model
        self.beside = 0.0  # the width of the words in a list above that share the names' column
        self._laying = False
        self._to_open: list[QPersistentModelIndex] = []
        self._sides: WeakKeyDictionary[DiffNode, tuple[str, float]] = WeakKeyDictionary()
        """For each row, the zone that it was measured in, and the width at which both its values can be read."""
        self._opening = False
        self.setModel(model)
        self.setTreePosition(FIELD)
        self.setIndentation(theme.px(INDENT))
        self.setAccessibleName(tr("Differences"))
        header = self.header()
        header.setProperty(OWN_WIDTHS, True)
        header.setStretchLastSection(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(SYMBOL, QHeaderView.ResizeMode.Fixed)
        header.setMinimumSectionSize(theme.px(40))
        header.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.column_sized.connect(self._resized_by_hand)
        kept = preferences.remembered("diff-columns")
        fits = isinstance(kept, list) and len(kept) == len(_SHARES) and all(isinstance(n, float | int) for n in kept)
        self._shares: tuple[float, ...] = tuple(float(n) for n in kept) if fits else ()
        self._looking = QTimer(self)
        self._looking.setSingleShot(True)
        self._looking.setInterval(0)
        self._looking.timeout.connect(self._fetch_seen)
        model.opened.connect(self._opened)
        model.modelReset.connect(self._soon.start)
        model.rowsInserted.connect(self._look_later)
        self.verticalScrollBar().valueChanged.connect(self._look_later)
        self.expanded.connect(self._look_later)

    # --- columns

    def _rescale(self) -> None:
        super()._rescale()
        self._sides.clear()  # the font changed
        self.setIndentation(theme.px(INDENT))
        self._share()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._look_later()

    def fit_columns(self) -> None:
        """Share the view's width among the columns; later, while the rows stand still."""
        self._is_fit_due = self.still is not None
        if not self._is_fit_due:
            self._share()

    def widths(self, room: int) -> list[int]:
        """The widths of symbol, field, A, B and type if they have this room together.

        Unless a person chose widths, a column that is cut takes what the others do not need of their shares.
        """
        symbol = theme.px(_SYMBOL_WIDTH)
        room -= symbol
        shares = self._shares or _SHARES
        last = 0 if self._shares else min(theme.px(_TYPE_WIDTH), room // 4)
        inner = room - last if last > room * shares[-1] else room
        total = sum(shares[:-1]) if inner < room else sum(shares)
        widths = [max(theme.px(60), int(inner * share / total)) for share in shares]
        widths[-1] = max(theme.px(60), room - sum(widths[:-1]))
        return [symbol, *(widths if self._shares else self._fitted(widths, room))]

    def _fitted(self, given: list[int], room: int) -> list[int]:
        """The given widths, changed so that nothing is cut: first names, up to a limit, then values and types."""
        names, side, types = self._needed()
        field, a, b, last = given
        most = max(min(names, field), min(names, int(room * _MOST_FOR_NAMES)))
        least = theme.px(60)
        made = [most, least, least, min(types, last)]
        for wanted in (
            (most, min(side, a), min(side, b), min(types, last)),
            (most, side, side, types),
            (names, side, side, types),
            (field, a, b, last),
        ):
            made = raised(made, list(map(max, made, wanted)), room)
        made[-1] = max(least, made[-1] + room - sum(made))
        return made

    def _needed(self) -> tuple[int, int, int]:
        """The widths at which the names, values and types of the first rows are not cut, nor the headers."""
        names, side, types = max(self.beside, self._head_width(FIELD)), 0.0, float(self._head_width(TYPE))
        long = theme.px(_LONG)
        index = self.rows.index(0, FIELD)
        for _ in range(MEASURED):
            if not index.isValid():
                break
            depth, above = 1, index.parent()
            while above.isValid():
                depth, above = depth + 1, above.parent()
            node = self.rows.node(index)
            if node is not None and node.kind not in ("fold", "broken"):
                names = max(names, depth * self.indentation() + full_width(self.rows.cell(index)))
                types = max(types, full_width(self.rows.cell(index.siblingAtColumn(TYPE))))
                side = max(side, self._side_of(node)) if side < long else side
            index = self.indexBelow(index)
        side = max(min(side + theme.px(GAP), long), *(min(self._head_width(at), long) for at in (A, B)))
        return math.ceil(names), math.ceil(side), math.ceil(types)

    def _side_of(self, node: DiffNode) -> float:
        zone = preferences.zone()
        kept = self._sides.get(node)
        if kept is None or kept[0] != zone:
            kept = self._sides[node] = zone, self._side_needed(node)
        return kept[1]

    def _side_needed(self, node: DiffNode) -> float:
        """The width at which both values of a row can be read.

        The cells cannot be measured for it: they are cut around a difference, to the width that this returns.
        """
        if node.place is not None and (node.place.inside or node.place.reorder is not None):
            return 0.0
        slots = [slot for slot in (node.a, node.b) if slot is not None]
        if any(end - start > _LONG for _, _, start, end in slots):
            return theme.px(_LONG)
        zone = preferences.zone()
        said = [diff_cells.shown(Value(kind, raw[start:end]), zone) for raw, kind, start, end in slots]
        return max((full_width(value(words)) for words in said), default=0.0)

    def _share(self) -> None:
        """Share the width among the columns."""
        if not hasattr(self, "_shares"):  # Qt calls it while the base class is being made
            return
        symbol, *widths = self.widths(self.viewport().width())
        inline = self.rows.inline
        self._laying = True
        self.header().setSectionHidden(B, inline)
        self.header().resizeSection(SYMBOL, symbol)
        if inline:
            widths[1:3] = [widths[1] + widths[2], 0]
        for column, width in zip((FIELD, A, B, TYPE), widths, strict=True):
            if width:
                self.header().resizeSection(column, width)
        self._laying = False
        letter = QFontMetricsF(theme.mono(12)).horizontalAdvance("0")
        self.rows.set_room(int((widths[1] - theme.px(16 + GAP)) / letter))

    def set_inline(self, on: bool) -> None:
        """Show both values in one column, or side by side."""
        self.rows.set_inline(on)
        self._share()

    def _resized_by_hand(self, column: int, old: int, new: int) -> None:
        """Resize the neighbour as well, so that the columns always fill the width."""
        if self._laying:
            return
        header = self.header()
        inline = self.rows.inline
        if column < TYPE:
            self._laying = True
            least, beside = theme.px(60), TYPE if inline and column == A else column + 1
            header.resizeSection(beside, max(least, header.sectionSize(beside) + old - new))
            self._laying = False
        sizes = [float(header.sectionSize(each)) for each in (FIELD, A, B, TYPE)]
        if inline:  # remember the common width as that of two equal columns
            sizes[1:3] = [sizes[1] / 2, sizes[1] / 2]
        self._shares = tuple(sizes)
        preferences.remember("diff-columns", [round(share / sum(self._shares), 4) for share in self._shares])
        self._share()

    # --- expanded rows, and rows reached by scrolling

    def _opened(self, index: QModelIndex) -> None:
        # Rows may be inserted before its turn, hence persistent.
        self._to_open.append(QPersistentModelIndex(index))
        if self._opening:
            return
        # Expanding fetches rows, which asks to expand further ones: a queue instead of recursion.
        self._opening = True
        while self._to_open:
            here = QModelIndex(self._to_open.pop(0))  # type: ignore[call-overload]
            if here.isValid():
                if self.rows.rowCount(here) == 0:
                    self.rows.fetchMore(here)
                self.expand(here)
        self._opening = False
        self._soon.start()

    def _look_later(self) -> None:
        self._looking.start()

    def _fetch_seen(self) -> None:
        """Fetch more rows of each container whose last row is in sight; Qt does so only for the outermost."""
        model, height = self.rows, self.viewport().height()
        index = self.indexAt(self.viewport().rect().topLeft())
        wanted: list[QModelIndex] = []
        while index.isValid() and self.visualRect(index).top() <= height + theme.px(240):
            above = index.parent()
            if index.row() == model.rowCount(above) - 1 and model.canFetchMore(above):
                wanted.append(above)
            index = self.indexBelow(index)
        # Only after the walk: fetching moves the rows below.
        for above in wanted:
            model.fetchMore(above)

    # --- keys and menu

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        index, where = self.menu_place(event)
        if index.isValid():
            self.menu_asked.emit(index, self.viewport().mapToGlobal(where))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        control = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if event.key() == Qt.Key.Key_Down and control:
            self.next_asked.emit()
        elif event.key() == Qt.Key.Key_Up and control:
            self.previous_asked.emit()
        elif event.matches(QKeySequence.StandardKey.Copy):
            node = self.rows.node(self.currentIndex())  # Qt would copy the drawn text, which is cut to the column
            if node is not None and node.kind not in ("fold", "broken"):
                diff_copies.copy_cell(self, node, self.currentIndex().column(), self.rows.inline)
        elif event.key() == Qt.Key.Key_Space:
            self.value_asked.emit()
        elif event.key() == Qt.Key.Key_Escape:
            self.escaped.emit()
        else:
            super().keyPressEvent(event)

    # --- painting

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        for index in (previous, current):
            if index.isValid():  # the focus ring begins left of the cell, where Qt would leave a piece of it
                self.viewport().update(self.visualRect(index).adjusted(-theme.px(CLOSER), 0, 0, 0))

    def drawBranches(self, painter: QPainter, rect: QRect, index: Index) -> None:
        step = theme.px(INDENT)
        depth, above = 0, index.parent()
        while above.isValid():
            depth, above = depth + 1, above.parent()
        left = rect.right() + 1 - (depth + 1) * step
        for level in range(max(0, depth - 64), depth):  # deeper guides would be out of sight
            guide = QRect(left + level * step + theme.px(12), rect.top(), 1, rect.height())
            painter.fillRect(guide, theme.colour("border"))
        first = QModelIndex(index).siblingAtColumn(0)  # type: ignore[arg-type]
        if self.rows.hasChildren(first):
            middle = QPointF(left + depth * step + theme.px(12) + 0.5, rect.top() + rect.height() / 2)
            symbols.chevron(painter, middle, self.isExpanded(first))
