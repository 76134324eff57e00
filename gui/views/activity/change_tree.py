"""The view of the changes: headings that expand, several rows selected together, Return for the comparison."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from itertools import chain, islice

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QHeaderView

from gui import copying, turns
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
from gui.views.activity.change_columns import MEASURED, ChangeColumns, needs, shared
from model.session.through_time import Activity

WIDTHS = (180, 110, 140, 160, 72, 116, 320, 160)
NARROW = (172, 84, 112, 110, 60, 104, 170, 100)  # at 1024 pixels, so that the fields are useful
TIME = 120  # the first column if days are the headings
ROOM = 1080
ROW = 28
AT_ONCE, SHARE = 60, 0.01  # changes that expand at once where fewer fill the view; seconds of each later turn
AHEAD = 60  # headings; more are not in sight together


class ChangeTree(CellTree):
    """The tree of an :class:`ActivityModel`; a heading stands for all changes below it."""

    opened = Signal()
    picked_changed = Signal()

    def __init__(self, model: ActivityModel) -> None:
        super().__init__(row_height=ROW)
        self._changes = model
        self._closed: set[Hashable] = set()  # headings that a person collapsed
        self._filling = False
        self._first: Hashable = None  # the row chosen because it was the newest
        self._next = 0  # the first heading that is not expanded yet
        self._is_expanding = False  # a turn is due in which more are
        self._there: set[int] = set()  # the columns with texts
        self._words: dict[int, int] = {}  # the widths that their texts need
        self._shares: ChangeColumns | None = None  # a person's widths stay until these change
        self.setModel(model)
        self.setAccessibleName(tr("Changes, newest first"))
        self.setSelectionMode(CellTree.SelectionMode.ExtendedSelection)
        self.setExpandsOnDoubleClick(False)
        self.setRootIsDecorated(True)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(FIELDS, QHeaderView.ResizeMode.Stretch)
        self.verticalScrollBar().valueChanged.connect(self._say_day)
        self.collapsed.connect(self._collapsed)
        self.expanded.connect(self._expanded)
        self.doubleClicked.connect(self._double)
        self.selectionModel().selectionChanged.connect(self.picked_changed)
        self._fit()

    # --- content

    def put(self, rows: Sequence[Activity], by: int, collections: bool, reasons: bool) -> None:
        """Show changes; selection, collapsed headings and scroll position stay."""
        model = self._changes
        picked = {model.key_at(index) for index in self.selectionModel().selectedRows()}
        current, column = model.key_at(self.currentIndex()), max(0, self.currentIndex().column())
        top, offset = self._top()
        self._filling = True
        if by != model.by:
            self._closed = set()
        is_new = model.put(rows, by, collections)
        left_out = {AUTHOR: {BY}, ONE_DOCUMENT: {DOCUMENT, COLLECTION}}.get(by, set())
        left_out |= {at for at, there in ((COLLECTION, collections), (REASON, reasons)) if not there}
        there = set(range(len(model.headers))) - left_out
        if not is_new and there == self._there:
            self._filling = False
            return
        self._there = there
        self._measure_words()
        self._fit()
        places = model.places({key for key in (*picked, current, top) if key is not None})
        headings = (place.internalId() - 1 if place.internalId() else place.row() for place in places.values())
        needed = max(headings, default=0)
        self._expand_first(needed)
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
        self._say_day()
        self.picked_changed.emit()
        if not self._is_expanding:
            self._is_expanding = True
            turns.later(self, self._expand_more)

    def _expand_first(self, needed: int) -> None:
        """Expand the headings up to a needed one, and those that fill the view below it."""
        model = self._changes
        self.scheduleDelayedItemsLayout()  # else each heading that expands lays out all rows again
        self._next, left = 0, max(AT_ONCE, self.viewport().height() // theme.px(ROW))
        while self._next < len(model.groups) and (left > 0 or self._next <= needed):
            left -= len(model.groups[self._next].rows) if self._next >= needed else 0
            self._expand_next()
        self.executeDelayedItemsLayout()
        for at in range(len(model.groups)):
            self.setFirstColumnSpanned(at, QModelIndex(), True)

    def _expand_next(self) -> None:
        group = self._changes.groups[self._next]
        self.setExpanded(self._changes.index(self._next, 0), ("group", group.key) not in self._closed)
        self._next += 1

    def _expand_more(self) -> bool:
        """Expand further headings below those in sight, as to lay out thousands of rows takes long; False: that was
        all.
        """
        end = time.monotonic() + SHARE
        sight = self.viewport()
        below = self.visualRect(self._changes.index(self._next, 0)).top() > sight.height()
        is_held = not sight.updatesEnabled()  # as the whole page is, while it is made
        still = below or is_held
        sight.setAttribute(Qt.WidgetAttribute.WA_UpdatesDisabled, still)  # unlike the setter, it draws nothing
        self._expand_to(self._next)
        while self._next < len(self._changes.groups) and time.monotonic() < end:
            self._expand_to(self._next)
        sight.setAttribute(Qt.WidgetAttribute.WA_UpdatesDisabled, is_held)
        self._is_expanding = self._next < len(self._changes.groups)
        return self._is_expanding

    def _expand_to(self, last: int) -> None:
        """Expand all headings up to a number."""
        self._filling = True
        while self._next <= min(last, len(self._changes.groups) - 1):
            self._expand_next()
        self._filling = False

    def _expand_for(self, event: QKeyEvent) -> None:
        """Expand the headings to which a key may lead; other keys, and the modifiers of shortcuts, do not wait."""
        words = event.text().isprintable() and event.text().strip()  # they lead to a row that begins with them
        if words or event.key() == Qt.Key.Key_End or event.matches(QKeySequence.StandardKey.SelectAll):
            self._expand_to(len(self._changes.groups))
        elif event.key() in (Qt.Key.Key_Down, Qt.Key.Key_PageDown):
            here = self.currentIndex()
            heading = here.parent() if here.parent().isValid() else here
            self._expand_to(heading.row() + AHEAD)

    def _top(self) -> tuple[Hashable, int]:
        """The row at the upper edge, and how far below the edge it begins; None if the view is at its top."""
        if not self.verticalScrollBar().value():
            return None, 0
        index = self.indexAt(self.viewport().rect().topLeft())
        return self._changes.key_at(index.siblingAtColumn(0)), self.visualRect(index).top()

    def _say_day(self) -> None:
        """Show in the header the day of the rows at the upper edge, if their heading was scrolled away."""
        top = self.indexAt(self.viewport().rect().topLeft())
        group = self._changes.group(top.parent()) if self._changes.by == DAY else None
        self._changes.say_day(group.name if group is not None else "")

    def _collapsed(self, index: QModelIndex) -> None:
        if not self._filling:
            self._closed.add(self._changes.key_at(index))

    def _expanded(self, index: QModelIndex) -> None:
        if not self._filling:
            self._closed.discard(self._changes.key_at(index))

    # --- selection

    def picked(self) -> list[Activity]:
        """The selected changes, each once, in the order shown; a heading counts as all below it."""
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
        """The current change; None on a heading."""
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
        self._expand_for(event)
        if event.matches(QKeySequence.StandardKey.Copy):
            copying.put(self.copied())
            return
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            self._double(self.currentIndex())
            return
        super().keyPressEvent(event)

    def copied(self) -> str:
        """The selected rows as lines of text, with tabs between the cells."""
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

    def _rescale(self) -> None:
        super()._rescale()
        self._measure_words()
        self._shares = None
        self._fit()

    def _measure_words(self) -> None:
        rows = islice(chain.from_iterable(group.rows for group in self._changes.groups), MEASURED)
        cells = ((at, self._changes.cell_of(row, at)) for row in rows for at in self._there if at != FIELDS)
        self._words = needs(cells)
        if WHEN in self._words:
            self._words[WHEN] += 2 * self.indentation()

    def _fit(self) -> None:
        room = self.viewport().width()
        given = [theme.px(width) for width in (NARROW if room < theme.px(ROOM) else WIDTHS)]
        if self._changes.by == DAY:
            given[WHEN] = theme.px(TIME)
        heads = [self._head_width(at) for at in range(len(given))]
        shares = shared(room, given, heads, self._words, self._there)
        if shares == self._shares:
            return
        self._shares = shares
        for at in range(len(given)):
            self.setColumnHidden(at, at not in shares.shown)
        self.header().setStretchLastSection(FIELDS not in shares.shown)  # fields take the rest if they are shown
        for at, width in shares.widths:
            if at != FIELDS:
                self.header().resizeSection(at, width)
