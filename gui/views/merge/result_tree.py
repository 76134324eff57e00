"""The result of a merge as a tree: its fields, the side of each, and room to type where nothing is decided."""

from __future__ import annotations

from msgspec.structs import replace
from PySide6.QtCore import QModelIndex, QObject
from PySide6.QtWidgets import QHeaderView, QWidget

from gui.language import tr
from gui.parts.fields.field_model import ACTION, SYMBOL_COLUMN, TYPE, VALUE, FieldModel
from gui.parts.fields.field_nodes import FieldNode
from gui.parts.fields.field_tree import TYPE_WIDTH, FieldTree
from gui.style.cells import Badge, Cell, Index, Span, plain
from gui.views.merge.resolution import Resolution, Result
from model import text
from model.merge import Decision
from model.values.canonical import Path

WIDE = (44, 308, 160, TYPE_WIDTH, 320)
NARROW = (44, 190, 160, 110, 170)  # the widths in a window of 1024 pixels


class ResultModel(FieldModel):
    """The fields of the result; the last column shows which side each came from."""

    headers = ("", tr("Field"), tr("Value"), tr("Type"), tr("Where it comes from"))

    def __init__(self, parent: QObject | None = None, zone: str = "UTC") -> None:
        super().__init__(parent, zone)
        self.resolution: Resolution | None = None
        self.result: Result | None = None
        self._typed: frozenset[Path] = frozenset()

    def show_result(self, resolution: Resolution, result: Result) -> None:
        """Show another result."""
        self.resolution, self.result = resolution, result
        self._typed = frozenset(path for path, _ in resolution.now.typed)
        self.set_content(result.content, result.changes)

    def waiting(self, node: FieldNode) -> Decision | None:
        """The open decision about this field itself."""
        if node.kind != "field" or self.result is None or self.resolution is None:
            return None
        row = self.result.places.get(self.path(node))
        decision = self.resolution.decision(row) if row is not None else None
        return decision if decision is not None and decision.open else None

    def can_edit(self, node: FieldNode, column: int) -> bool:
        return column == VALUE and super().can_edit(node, column)

    def drawn(self, node: FieldNode, column: int) -> Cell:
        if node.kind == "group":
            return super().drawn(node, column)
        waiting = self.waiting(node)
        if waiting is not None and waiting.kind != "order":
            return self._undecided(waiting, node, column)
        if column == SYMBOL_COLUMN and waiting is not None:
            return Cell(change="conflict", bar="warn", indent=4, accessible=tr("not decided"))
        if column == TYPE:
            return plain(node.value.kind, "text2", size=12)
        if column == ACTION:
            return plain(self.whose(node), "text2", size=12)
        if column == VALUE and self.change_of(node) is None:
            cell = super().drawn(node, column)
            return replace(cell, spans=tuple(replace(span, token="text2") for span in cell.spans))
        return super().drawn(node, column)

    def _undecided(self, decision: Decision, node: FieldNode, column: int) -> Cell:
        if column == SYMBOL_COLUMN:
            return Cell(change="conflict", bar="warn", indent=4, accessible=tr("not decided"))
        if column == VALUE:
            said = Span(tr("not decided: choose above or type a value"), "warn")
            return Cell(spans=(said,), size=13, ground="warnT")
        if column == TYPE:
            kinds = {v.kind for v in (decision.base, decision.mine, decision.theirs) if v is not None}
            return plain(kinds.pop() if len(kinds) == 1 else "", "text2", size=12)
        if column == ACTION:
            return Cell(badges=(Badge(tr("Choose one"), "warn", "warnT", "conflict"),))
        return replace(
            super().drawn(node, column), accessible=tr("{path}, not decided", path=text.path_text(self.path(node)))
        )

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008 (Qt's signature)
        node = self.node(parent)
        waiting = self.waiting(node) if node is not None else None
        return (waiting is None or waiting.kind == "order") and super().hasChildren(parent)

    def whose(self, node: FieldNode) -> str:
        """The side that a field came from, in words."""
        result = self.result
        if result is None:
            return ""
        path = self.path(node)
        change = self.change_of(node)
        if change is None:
            within = node.value.is_container and (
                result.changes.inside.get(path) or any(at[: len(path)] == path for at in result.places)
            )
            if within:
                return ""
            return tr("unchanged")
        if path in self._typed:
            return tr("typed by you")
        row = result.places.get(path)
        if row is not None and self.resolution is not None:
            action = self.resolution.decision(row).action
            if not isinstance(action, str):
                return tr("typed by you")
        by_theirs = not any(c.touches_now(path) for c in result.from_theirs.all)
        by_mine = not any(c.touches_now(path) for c in result.from_mine.all)
        if by_theirs and by_mine:
            return tr("from both")
        return tr("from the database") if by_theirs else tr("from your edit") if by_mine else tr("merged from both")


class ResultTree(FieldTree):
    """The editor's tree for a result; typing into an undecided field starts empty."""

    def __init__(self, model: ResultModel, parent: QWidget | None = None) -> None:
        super().__init__(model, parent)
        self.result = model
        header = self.header()
        header.setSectionResizeMode(VALUE, QHeaderView.ResizeMode.Stretch)
        self.resize_columns(WIDE)
        self.setAccessibleName(tr("Result"))

    def edit_cell(self, index: Index, kind: str = "", start: str | None = None, wrong: str = "") -> bool:
        node = self.result.node(index)
        waiting = self.result.waiting(node) if node is not None else None
        if waiting is not None and start is None:
            side = waiting.mine if waiting.mine is not None else waiting.theirs
            kind, start = kind or (side.kind if side is not None else "String"), ""
        return super().edit_cell(index, kind, start, wrong)

    has_actions = False

    def narrow(self, is_narrow: bool) -> None:
        """With little room the columns beside the value get narrower."""
        widths = NARROW if is_narrow else WIDE
        if widths != self._given:  # a person's widths stay until then
            self.resize_columns(widths)
