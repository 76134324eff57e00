"""The rows of a comparison as an item model: symbol, field, A, B, type; fetched in chunks as they are reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from PySide6.QtCore import QModelIndex, QObject, Qt, Signal

from gui.language import tr
from gui.parts.differences import diff_cells
from gui.parts.differences.diff_node import DiffNode, kids_of, open_root
from gui.style import preferences, symbols, wording
from gui.style.cells import SHORTER, Cell, CellModel, Index, Span, plain, spoken
from model import text
from model.diff import Move, Reorder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gui.parts.differences.diff_grouping import Plan

SYMBOL, FIELD, A, B, TYPE = range(5)


class DiffModel(CellModel):
    """A :class:`Plan` as rows; ``opened`` names new rows that should be expanded."""

    headers = ("", tr("Field"), "A", "B", tr("Type"))
    spoken_at = FIELD
    opened = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.plan: Plan | None = None
        self.only_changes = True
        self.inline = False
        self.room = 40  # characters that fit into a value column
        self.titles = ("A", "B")
        self._shorter: tuple[Sequence[str], Sequence[str]] = ((), ())
        self.current = -1
        self._current_node: DiffNode | None = None
        self._root: DiffNode | None = None
        self._old: list[DiffNode | None] = []
        self._adding = False

    # --- filling

    def show(
        self,
        plan: Plan | None,
        titles: tuple[str, str],
        only_changes: bool,
        shorter: tuple[Sequence[str], Sequence[str]] = ((), ()),
    ) -> None:
        """Show another comparison from its first change; ``shorter`` are titles for less room, as many of A as of B."""
        self.beginResetModel()
        # Qt holds bare pointers to the old rows until the reset has ended.
        self._old = [self._root]
        self.plan, self.titles, self._shorter, self.only_changes = plan, titles, shorter, only_changes
        self._title()
        self._current_node, self.current = None, -1
        self._root = None if plan is None else open_root(plan, only_changes)
        if self._root is not None:
            self._root.add(self._root.peek())
        self.endResetModel()
        self._old.clear()
        if self._root is not None:
            self._tell_open(self._root.kids)

    def _title(self) -> None:
        self.headers = ("", tr("Field"), *self._headings(*self.titles), tr("Type"))

    def _headings(self, a: str, b: str) -> tuple[str, str]:
        """The headings of the two columns; those of one column for both stand in the first."""
        a, b = f"A   {text.plain(a)}", f"B   {text.plain(b)}"
        return (f"{a}   →   {b}", "") if self.inline else (a, b)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == SHORTER:
            shorter = zip(*self._shorter, strict=True) if section in (A, B) else ()
            return [self._headings(*each)[section - A] for each in shorter]
        if role == Qt.ItemDataRole.ToolTipRole and section in (A, B) and orientation == Qt.Orientation.Horizontal:
            return wording.tip(self.headers[section])  # what a narrow column leaves out
        return super().headerData(section, orientation, role)

    def set_inline(self, on: bool) -> None:
        """Show both values in the column of A, or each in its own."""
        if on != self.inline:
            self.inline = on
            self._title()
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, A, B)
            self.redraw()

    def set_room(self, characters: int) -> None:
        """Set how many characters fit into a value column; long values are cut around their first difference by it."""
        characters = max(12, characters)
        if characters != self.room:
            self.room = characters
            self.redraw()

    def redraw(self) -> None:
        """Make all texts again: the zone or the width changed."""
        stack = [self._root] if self._root is not None else []
        while stack:
            node = stack.pop()
            node.cells.clear()
            stack.extend(node.kids)
        if self._root is not None and self._root.kids:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._root.kids) - 1, TYPE))

    def _tell_open(self, nodes: list[DiffNode]) -> None:
        for node in nodes:
            if node.opens:
                self.opened.emit(self.index_of(node))

    # --- the current change

    @property
    def count(self) -> int:
        """The number of changes."""
        return 0 if self.plan is None else len(self.plan.changes)

    def go(self, number: int) -> QModelIndex:
        """Make a change current and fetch rows up to it; returns its row."""
        if not 0 <= number < self.count or self._root is None:
            return QModelIndex()
        before, self.current = self._current_node, number
        node = self._current_node = self._reach(number)
        for touched in (before, node):
            if touched is not None:
                self._touch(touched)
        return self.index_of(node) if node is not None else QModelIndex()

    def _touch(self, node: DiffNode) -> None:
        node.cells.pop(SYMBOL, None)
        index = self.index_of(node)
        self.dataChanged.emit(index, index)

    def _reach(self, number: int) -> DiffNode | None:
        here = self._root
        while here is not None:
            if here is not self._root and here.op is not None and here.place is not None:
                own = 1 + (here.place.also is not None)
                if here.place.first <= number < here.place.first + own:
                    return here
            here = self._kid_with(here, number)
        return None

    def _kid_with(self, node: DiffNode, number: int) -> DiffNode | None:
        seen = 0
        while True:
            for kid in node.kids[seen:]:
                place = kid.place
                if place is not None and place.first <= number < place.first + place.count:
                    return kid
            seen = len(node.kids)
            if not self._fetch(node):
                return None

    def number_of(self, index: Index) -> int | None:
        """The number of the change in a row; None if there is none, or it is hidden."""
        node = self.node(index)
        if node is None or node.place is None or node.op is None or not node.place.count:
            return None
        return node.place.first

    def numbers_in(self, index: Index) -> range:
        """The numbers of the changes in a row and inside it."""
        node = self.node(index)
        place = None if node is None else node.place
        return range(0) if place is None else range(place.first, place.first + place.count)

    def next_from(self, index: Index) -> int:
        """The number of the change that follows a row or is below it; without a row, of the one after the current."""
        return self.current + 1 if self._is_change(index) else self._first_at(index)

    def previous_from(self, index: Index) -> int:
        """The number of the change before a row."""
        return (self.current if self._is_change(index) else self._first_at(index)) - 1

    def _is_change(self, index: Index) -> bool:
        return self.node(index) is None or self.number_of(index) is not None

    def _first_at(self, index: Index) -> int:
        """The number of changes above a row that is not a change itself."""
        node = here = self.node(index)
        while node is not None and node is not self._root:
            place = node.place
            if place is not None and place.count:
                own = 0 if node is here or node.op is None else 1 + (place.also is not None)
                return place.first + own
            above = node.parent
            for kid in reversed(above.kids[: node.at] if above is not None else []):
                if kid.place is not None and kid.place.count:
                    return kid.place.first + kid.place.count
            node = above
        return 0

    # --- Qt's interface

    def node(self, index: Index) -> DiffNode | None:
        """The row at an index; None if there is no index."""
        found = index.internalPointer() if index.isValid() else None
        return found if isinstance(found, DiffNode) else None

    def index_of(self, node: DiffNode, column: int = 0) -> QModelIndex:
        """The index of a row."""
        return self.createIndex(node.at, column, node)

    def _node_or_root(self, index: Index) -> DiffNode | None:
        return self.node(index) if index.isValid() else self._root

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008 (Qt's default)
        above = self._node_or_root(parent)
        if above is None or not 0 <= row < len(above.kids) or not 0 <= column <= TYPE:
            return QModelIndex()
        return self.createIndex(row, column, above.kids[row])

    def parent(self, index: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]  # noqa: B008
        node = self.node(index)
        if node is None or node.parent is None or node.parent is self._root:
            return QModelIndex()
        return self.createIndex(node.parent.at, 0, node.parent)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        above = self._node_or_root(parent)
        return 0 if above is None or parent.column() > 0 else len(above.kids)

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        if not parent.isValid():
            return self._root is not None and bool(self._root.kids)
        node = self.node(parent)
        return node is not None and parent.column() == 0 and node.has_kids

    def canFetchMore(self, parent: Index) -> bool:
        node = self._node_or_root(parent)
        if node is None or parent.column() > 0 or self._adding:
            return False
        return node.more or (not node.kids and node is not self._root and node.kind != "fold" and node.has_kids)

    def fetchMore(self, parent: Index) -> None:
        node = self._node_or_root(parent)
        if node is not None:
            self._fetch(node)

    def _fetch(self, node: DiffNode) -> bool:
        if not node.kids and not node.more and node.kind != "fold" and node.has_kids:
            node.begin(kids_of(node, self.only_changes))
        found = node.peek()
        if not found:
            return False
        where = QModelIndex() if node is self._root else self.index_of(node)
        # While it takes in these rows a view asks for more, until the stack overflows: let it ask later.
        self._adding = True
        try:
            self.beginInsertRows(where, len(node.kids), len(node.kids) + len(found) - 1)
            node.add(found)
            self.endInsertRows()
        finally:
            self._adding = False
        self._tell_open(found)
        return True

    # --- drawing

    def cell(self, index: Index) -> Cell:
        node = self.node(index)
        if node is None:
            return Cell()
        column = index.column()
        kept = node.cells.get(column)
        if isinstance(kept, Cell):
            return kept
        if column in (A, B) and node.kind not in ("fold", "broken"):
            node.cells[A], node.cells[B] = self._sides(node)
        else:
            node.cells[column] = self._other(node, column)
        made = node.cells[column]
        assert isinstance(made, Cell)
        return made

    def row_said(self, index: Index) -> str:
        node = self.node(index)
        lead = f"{node.label}, " if node is not None else ""
        said = [spoken(self.cell(index.sibling(index.row(), at))) for at in (FIELD, A, B, TYPE)]
        return ", ".join(
            dict.fromkeys(part for part in (said[0], *(word.removeprefix(lead) for word in said[1:])) if part)
        )

    def _sides(self, node: DiffNode) -> tuple[Cell, Cell]:
        if self.inline:
            both = diff_cells.inline(node, preferences.zone(), self.room)
            return both, replace(both, spans=())
        a, b = diff_cells.sides(node, preferences.zone(), self.room)
        names, field = self.titles, node.label
        return (
            replace(a, accessible=f"{field}, {names[0]}: {a.accessible or a.text}"),
            replace(b, accessible=f"{field}, {names[1]}: {b.accessible or b.text}"),
        )

    def _other(self, node: DiffNode, column: int) -> Cell:
        if column == SYMBOL:
            op = node.op
            bar = "acc" if node is self._current_node else ""
            if node.is_hidden:
                return Cell(accessible=tr("hidden"), tip=tr("Hidden: not among the changes"))
            words = symbols.CHANGES[op.op][3] if op is not None else ""
            also = node.place.also if node.place is not None else None
            if also is not None:
                words += tr(" and {changes}", changes=symbols.CHANGES[also.op][3])
            return Cell(
                change=op.op if op is not None else "", bar=bar, accessible=words or tr("not changed"), tip=words
            )
        if column == FIELD:
            return self._field(node)
        if column == TYPE and node.kind not in ("fold", "broken"):
            return diff_cells.type_cell(node)
        return Cell()

    def _field(self, node: DiffNode) -> Cell:
        if node.kind == "fold":
            words = wording.many(node.count, "unchanged field")
            return plain(words, "text2", size=12)
        if node.kind == "broken":
            return plain(node.label, "err", size=12)
        if node.parent is self._root and not node.path:
            words = tr("order of the fields") if isinstance(node.op, Reorder) else tr("the whole document")
            return plain(words, "text2", size=12)
        token = "text3" if node.is_hidden else "text2" if node.kind == "same" else "text"
        spans = [Span(node.label, token)]
        if node.kind == "hidden":
            return Cell(spans=(spans[0], Span(tr("  hidden"), "text3", sans=True)), mono=True, size=12)
        if isinstance(node.op, Move) and node.path_a is not None:
            spans.append(Span(tr(" was [{path_a}]", path_a=node.path_a[-1]), "text3"))
        return Cell(spans=tuple(spans), mono=True, size=12, middle=len(spans) == 1, accessible=self._words(node))

    def _words(self, node: DiffNode) -> str:
        op = node.op
        if op is not None:
            what = symbols.CHANGES[op.op][3]
        else:
            inside = wording.many(node.place.count, "change") if node.place is not None and node.place.count else ""
            what = tr("{inside} inside", inside=inside) if inside else ""
        return f"{node.label}, {what}" if what else node.label
