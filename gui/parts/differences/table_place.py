"""The place in a comparison: which rows are expanded, which one is current, and how far it is scrolled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QModelIndex, QPoint

from model.values.canonical import Path

if TYPE_CHECKING:
    from gui.parts.differences.diff_model import DiffModel
    from gui.parts.differences.diff_node import DiffNode
    from gui.parts.differences.diff_table import DiffTable

RowKey: TypeAlias = tuple[bool, Path]
"""Identifies a row across comparisons of later versions: whether it is a fold, and its path."""


class TablePlace:
    """A table's place, which is found again in a later version."""

    def __init__(self, table: DiffTable) -> None:
        model, current = table.rows, table.currentIndex()
        upper = table.indexAt(QPoint(1, 0))
        self._current, self._column = _key(model.node(current)), max(0, current.column())
        self._upper, self._above = _key(model.node(upper)), table.visualRect(upper).top()
        self._scrolled = table.verticalScrollBar().value()
        self._change: RowKey | None = None
        self._fetched: dict[RowKey | None, int] = {None: model.rowCount()}
        self._turned: set[RowKey | None] = set()  # rows expanded or collapsed by hand
        for node in _rows(table):
            index = model.index_of(node)
            self._fetched[_key(node)] = len(node.kids)
            if model.number_of(index) == model.current:
                self._change = _key(node)
            if model.hasChildren(index) and table.isExpanded(index) != node.opens:
                self._turned.add(_key(node))

    def find(self, table: DiffTable) -> bool:
        """Restore the place in a table; False if both the current row and the current change are gone."""
        model = table.rows
        found: dict[RowKey | None, DiffNode] = {}
        self._fetch(model, QModelIndex(), None)
        for node in _rows(table):
            key, index = _key(node), model.index_of(node)
            found.setdefault(key, node)
            self._fetch(model, index, key)
            if key in self._turned:
                table.setExpanded(index, not node.opens)
        change, current, upper = (found.get(key) for key in (self._change, self._current, self._upper))
        if change is not None:
            model.go(model.number_of(model.index_of(change)) or 0)
        if current is None:
            return False
        chosen = table.selectionModel()
        chosen.setCurrentIndex(model.index_of(current, self._column), chosen.SelectionFlag.NoUpdate)
        bar = table.verticalScrollBar()
        table.doItemsLayout()
        bar.setValue(self._scrolled)
        if upper is not None:
            bar.setValue(bar.value() + table.visualRect(model.index_of(upper)).top() - self._above)
        return True

    def _fetch(self, model: DiffModel, index: QModelIndex, key: RowKey | None) -> None:
        """Fetch as many rows inside one row as there were."""
        while model.rowCount(index) < self._fetched.get(key, 0) and model.canFetchMore(index):
            model.fetchMore(index)


def _key(node: DiffNode | None) -> RowKey | None:
    if node is None:
        return None
    at = node.parent if node.kind == "fold" and node.parent is not None else node
    return node.kind == "fold", at.path


def _rows(table: DiffTable) -> Iterator[DiffNode]:
    """The fetched rows, each before the rows inside it; those may be fetched in between."""
    model = table.rows
    stack = [model.index(row, 0) for row in reversed(range(model.rowCount()))]
    while stack:
        index = stack.pop()
        node = model.node(index)
        if node is not None:
            yield node
            stack.extend(model.index(row, 0, index) for row in reversed(range(model.rowCount(index))))
