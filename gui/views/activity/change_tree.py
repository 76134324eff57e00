"""The view of the changes: headings that open and close, rows that are picked together, Return for the comparison."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QHeaderView

from gui import copying
from gui.language import tr
from gui.style import theme
from gui.style.cells import CellTree
from gui.views.activity.activity_model import (
    AUTHOR,
    BY,
    COLLECTION,
    DAY,
    DOCUMENT,
    FIELDS,
    ONE_DOCUMENT,
    REASON,
    WHEN,
    ActivityModel,
)
from model.over_time.activity import Activity

WIDTHS = (180, 110, 140, 160, 72, 116, 320, 160)
NARROW = (172, 84, 112, 110, 60, 104, 170, 100)  # at 1024 pixels, so that the fields say something
TIME = 120  # the first column where the days are headings
ROOM = 1080


class ChangeTree(CellTree):
    """The tree of an :class:`ActivityModel`; a heading stands for all changes below it."""

    opened = Signal()
    picked_changed = Signal()

    def __init__(self, model: ActivityModel) -> None:
        super().__init__(row_height=28)
        self._changes = model
        self._closed: set[Hashable] = set()  # headings that a person has closed
        self._filling = False
        self._first: Hashable = None  # the row that was chosen for being the newest
        self._sized_for: tuple[bool, int] | None = None  # a person's widths stay until one of them changes
        self.setModel(model)
        self.setAccessibleName(tr("Changes, newest first"))
        self.setSelectionMode(CellTree.SelectionMode.ExtendedSelection)
        self.setExpandsOnDoubleClick(False)
        self.setRootIsDecorated(True)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(FIELDS, QHeaderView.ResizeMode.Stretch)
        self.collapsed.connect(self._collapsed)
        self.expanded.connect(self._expanded)
        self.doubleClicked.connect(self._double)
        self.selectionModel().selectionChanged.connect(self.picked_changed)
        self._fit()

    # --- what is shown

    def put(self, rows: Sequence[Activity], by: int, collections: bool, reasons: bool) -> None:
        """Show changes; what was picked, closed and scrolled to stays."""
        model = self._changes
        picked = {model.key_at(index) for index in self.selectionModel().selectedRows()}
        current, column = model.key_at(self.currentIndex()), max(0, self.currentIndex().column())
        top, offset = self._top()
        self._filling = True
        if by != model.by:
            self._closed = set()
        model.put(rows, by, collections)
        self._fit()
        self.expandAll()  # at once: each heading opened alone lays all rows out again
        for at, group in enumerate(model.groups):
            self.setFirstColumnSpanned(at, QModelIndex(), True)
            if ("group", group.key) in self._closed:
                self.collapse(model.index(at, 0))
        self.setColumnHidden(BY, by == AUTHOR)
        self.setColumnHidden(DOCUMENT, by == ONE_DOCUMENT)
        self.setColumnHidden(COLLECTION, not collections or by == ONE_DOCUMENT)
        self.setColumnHidden(REASON, not reasons)
        places = model.places()
        chosen = QItemSelection()
        for key in picked & places.keys():
            chosen.select(places[key], places[key])
        flags = QItemSelectionModel.SelectionFlag
        self.selectionModel().select(chosen, flags.ClearAndSelect | flags.Rows)
        if current in places and current != self._first:
            index = places[current].siblingAtColumn(column)
            self.selectionModel().setCurrentIndex(index, flags.NoUpdate)
        elif model.groups:
            self.setCurrentIndex(model.index(0, 0, model.index(0, 0)))
            self._first = model.key_at(self.currentIndex())
        if top in places and self.verticalScrollBar().value():
            self.scrollTo(places[top], CellTree.ScrollHint.PositionAtTop)
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() - offset)
        self._filling = False
        self.picked_changed.emit()

    def _top(self) -> tuple[Hashable, int]:
        """The row at the upper edge, and how far below the edge it begins; None where the view is at its top."""
        if not self.verticalScrollBar().value():
            return None, 0
        index = self.indexAt(self.viewport().rect().topLeft())
        return self._changes.key_at(index.siblingAtColumn(0)), self.visualRect(index).top()

    def _collapsed(self, index: QModelIndex) -> None:
        if not self._filling:
            self._closed.add(self._changes.key_at(index))

    def _expanded(self, index: QModelIndex) -> None:
        if not self._filling:
            self._closed.discard(self._changes.key_at(index))

    # --- what is picked

    def picked(self) -> list[Activity]:
        """The changes that are picked, each once, in the order shown; a heading stands for all below it."""
        found: dict[Hashable, Activity] = {}
        indexes = sorted(self.selectionModel().selectedRows(), key=self._order)
        for index in indexes:
            for row in self._changes.rows_at(index):
                found.setdefault((row.ns, row.id, row.v), row)
        return list(found.values())

    def _order(self, index: QModelIndex) -> tuple[int, int]:
        group = self._changes.group(index)
        return (index.row(), -1) if group is not None else (index.parent().row(), index.row())

    @property
    def current(self) -> Activity | None:
        """The change with the focus; None on a heading."""
        return self._changes.at(self.currentIndex())

    # --- keys and the mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._first = None
        super().mousePressEvent(event)

    def _double(self, index: QModelIndex) -> None:
        if self._changes.group(index) is not None:
            self.setExpanded(index.siblingAtColumn(0), not self.isExpanded(index.siblingAtColumn(0)))
        else:
            self.opened.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._first = None
        if event.matches(QKeySequence.StandardKey.Copy):
            copying.put(self.copied())
            return
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            self._double(self.currentIndex())
            return
        super().keyPressEvent(event)

    def copied(self) -> str:
        """The picked rows as lines of text, with tabs between the cells."""
        model = self._changes
        lines = []
        for index in sorted(self.selectionModel().selectedRows(), key=self._order):
            cells = [index.siblingAtColumn(at) for at in range(model.columnCount()) if not self.isColumnHidden(at)]
            lines.append("\t".join(model.cell(each).text for each in cells).rstrip("\t"))
        return "\n".join(lines)

    # --- widths

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _restyle(self) -> None:
        super()._restyle()
        self._sized_for = None
        self._fit()

    def _fit(self) -> None:
        narrow = self.viewport().width() < theme.px(ROOM)
        if (narrow, self._changes.by) == self._sized_for:
            return
        self._sized_for = (narrow, self._changes.by)
        for at, width in enumerate(NARROW if narrow else WIDTHS):
            width = TIME if at == WHEN and self._changes.by == DAY else width
            if at != FIELDS:
                self.header().resizeSection(at, theme.px(width))
