"""The findings at the left: classes by their effect on people, each with its badge and its count."""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct, field
from PySide6.QtCore import QModelIndex, QRect, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QHeaderView, QWidget

from gui.language import tr, translated
from gui.style import theme, wording
from gui.style.cells import Cell, CellModel, CellTree, Index, Span, full_width
from gui.views.repair.repair_words import code_badge
from model.session.repairs import CLASSES, GROUPS, class_of

ROW = 28  # u


class _Node(Struct):
    codes: tuple[str, ...]
    name: str
    count: int
    parent: _Node | None = None
    children: list[_Node] = field(default_factory=list)

    @property
    def row(self) -> int:
        return self.parent.children.index(self) if self.parent is not None else 0


class ClassModel(CellModel):
    """Groups with their classes."""

    headers = (tr("Findings"), "")
    right_headers = frozenset({1})

    def __init__(self) -> None:
        super().__init__()
        self._root = _Node((), "", 0)

    def put(self, counts: Mapping[str, int]) -> None:
        """Show the number of findings of each class; existing rows only get new counts.

        A class whose findings are all repaired stays, with zero.
        """
        wanted = [(group, [c for c in CLASSES if CLASSES[c].group == group and c in counts]) for group in GROUPS]
        wanted = [(group, codes) for group, codes in wanted if codes]
        shape = [(node.name, [kid.codes[0] for kid in node.children]) for node in self._root.children]
        if shape != wanted:
            self.beginResetModel()
            old, self._root = self._root, _Node((), "", 0)  # Qt holds bare pointers to the old rows until then
            for group, codes in wanted:
                above = _Node(tuple(codes), group, 0, self._root)
                self._root.children.append(above)
                above.children = [_Node((code,), CLASSES[code].title, 0, above) for code in codes]
            self._count(counts)
            self.endResetModel()
            del old
        else:
            self._count(counts)
            for at, node in enumerate(self._root.children):
                above_index = self.index(at, 0)
                self.dataChanged.emit(above_index, self.index(at, 1))
                last = self.index(len(node.children) - 1, 1, above_index)
                self.dataChanged.emit(self.index(0, 0, above_index), last)

    def _count(self, counts: Mapping[str, int]) -> None:
        for group in self._root.children:
            for each in group.children:
                each.count = counts.get(each.codes[0], 0)
            group.count = sum(each.count for each in group.children)

    def codes(self, index: Index) -> tuple[str, ...]:
        """The classes of a row: one, or all of a group."""
        return self._node(index).codes if index.isValid() else ()

    def index_of(self, codes: tuple[str, ...]) -> QModelIndex:
        """The row of some classes; an invalid index if there is none."""
        for at, group in enumerate(self._root.children):
            if group.codes == codes and len(codes) > 1:
                return self.index(at, 0)
            for below, each in enumerate(group.children):
                if each.codes == codes:
                    return self.index(below, 0, self.index(at, 0))
        return QModelIndex()

    def first(self) -> QModelIndex:
        """The first class."""
        return self.index(0, 0, self.index(0, 0)) if self._root.children else QModelIndex()

    def _node(self, index: Index) -> _Node:
        found = index.internalPointer() if index.isValid() else self._root
        return found if isinstance(found, _Node) else self._root

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008 (Qt's default)
        kids = self._node(parent).children
        return self.createIndex(row, column, kids[row]) if 0 <= row < len(kids) else QModelIndex()

    def parent(self, index: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]  # noqa: B008
        above = self._node(index).parent
        if above is None or above is self._root:
            return QModelIndex()
        return self.createIndex(above.row, 0, above)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(self._node(parent).children)

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        return bool(self._node(parent).children)

    def cell(self, index: Index) -> Cell:
        node = self._node(index)
        group = bool(node.children)
        if index.column() == 1:
            return Cell(spans=(Span(wording.count(node.count), "text2" if group else "text"),), right=True)
        if group:
            said = f"{translated(node.name)}: {wording.many(node.count, 'finding')}"
            return Cell(spans=(Span(translated(node.name), weight=600),), accessible=said)
        said = f"{node.codes[0]}, {translated(node.name)}: {wording.many(node.count, 'finding')}"
        return Cell(
            spans=(Span(translated(node.name)),),
            badges=(code_badge(class_of(node.codes[0])),),
            badges_left=True,
            accessible=said,
        )


class ClassTree(CellTree):
    """The view; a chosen row is a class, or a group with all of its classes."""

    chosen = Signal(object)  # codes

    def __init__(self, model: ClassModel, parent: QWidget | None = None) -> None:
        super().__init__(parent, row_height=ROW)
        self._classes = model
        self.setModel(model)
        self.setHeaderHidden(True)
        self.setIndentation(theme.px(12))
        self.setAccessibleName(tr("Findings by class"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Fixed)
        self.selectionModel().currentRowChanged.connect(self._moved)
        model.modelReset.connect(self._reset)
        for changed in (model.modelReset, model.dataChanged, theme.signals.changed):
            changed.connect(self._fit_counts)
        self._kept: tuple[str, ...] = ()

    def _fit_counts(self) -> None:
        """Give the names the room that the counts leave."""
        groups = (self._classes.index(at, 1) for at in range(self._classes.rowCount()))
        wide = max((full_width(self._classes.cell(group)) for group in groups), default=0.0)
        self.header().resizeSection(1, math.ceil(wide))

    def drawBranches(self, painter: QPainter, rect: QRect, index: Index) -> None:
        # Away from the window's edge, and close to its text: groups have no icon in between.
        super().drawBranches(painter, rect.translated(theme.px(5), 0), index)

    def _moved(self, now: QModelIndex, _: QModelIndex) -> None:
        codes = self._classes.codes(now)
        if codes and codes != self._kept:
            self._kept = codes
            self.chosen.emit(codes)

    def _reset(self) -> None:
        self.expandAll()
        there = self._classes.index_of(self._kept)
        if there.isValid():
            self.setCurrentIndex(there)

    def choose(self, codes: tuple[str, ...] = ()) -> None:
        """Choose some classes, or the first if they are not there."""
        there = self._classes.index_of(codes) if codes else QModelIndex()
        wanted = there if there.isValid() else self._classes.first()
        self._kept = ()  # emit ``chosen`` even if the choice is the same: its findings are new
        if wanted == self.currentIndex():
            self._moved(wanted, wanted)
        else:
            self.setCurrentIndex(wanted)
