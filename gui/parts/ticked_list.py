"""A list of rows with ticks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHeaderView

from gui.language import tr
from gui.style.cells import Cell, CellTree, Index

T = TypeVar("T")
TICK = 0


class Ticked(Protocol[T]):
    """The ticks of a model's rows."""

    def at(self, index: Index) -> T | None: ...

    def can_tick(self, row: T) -> bool: ...

    def is_on(self, row: T) -> bool:
        """Whether a press removes the tick."""
        ...

    def tick(self, rows: Sequence[T], on: bool) -> None: ...


def tick_cell(can: bool, on: bool) -> Cell:
    """A row's tick box; empty if the row cannot be ticked."""
    said = (tr("ticked") if on else tr("not ticked")) if can else tr("cannot be ticked")
    state = Qt.CheckState.Checked if on else Qt.CheckState.Unchecked
    return Cell(check=state if can else None, indent=8, accessible=said)


class TickedList(CellTree, Generic[T]):
    """The view. Space ticks, and so does a press on the box."""

    def __init__(self, model: QAbstractItemModel, ticks: Ticked[T], name: str) -> None:
        super().__init__(row_height=28)
        self._ticks = ticks
        self.as_list(model, name)
        self.setSelectionMode(CellTree.SelectionMode.ExtendedSelection)
        self.clicked.connect(self._clicked)

    def fit(self, narrow: Sequence[int], wide: Sequence[int], dispensable: Sequence[int] = ()) -> None:
        """Set the column widths for a window of 1024 pixels and for a wider one, and the dispensable columns."""
        self.narrow_below(900, narrow, wide, dispensable)
        self.header().setSectionResizeMode(TICK, QHeaderView.ResizeMode.Fixed)

    def _clicked(self, index: QModelIndex) -> None:
        if index.column() == TICK:
            self._toggle([index])

    def _toggle(self, indexes: Sequence[QModelIndex]) -> None:
        ticks = self._ticks
        rows = [row for index in indexes if (row := ticks.at(index)) is not None and ticks.can_tick(row)]
        ticks.tick(rows, on=not all(ticks.is_on(row) for row in rows))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space:
            self._toggle(self.selectionModel().selectedRows(0) or [self.currentIndex().siblingAtColumn(0)])
        else:
            super().keyPressEvent(event)
