"""A document's fields as a tree that keeps its shape when the fields change.

New content is fitted onto the existing rows: expanded rows stay expanded, the chosen row stays chosen, nothing
scrolls.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QModelIndex, QObject, Qt, Signal

from gui.language import tr
from gui.parts.fields.edit_changes import Change, EditChanges, marked
from gui.parts.fields.field_nodes import FieldEntry, FieldNode, rows_kept
from gui.style import symbols
from gui.style.cells import Badge, Cell, CellModel, Index, Span, plain
from gui.style.cells import value as mono
from gui.style.wording import by_size, many, size
from model import text
from model.errors import Refused, Unreadable
from model.values.canonical import ARRAY, BINARY, CODE, EMPTY, OBJECT, STRING, SYMBOL, Path, Value, elements, name_of

if TYPE_CHECKING:
    from gui.parts.fields.edit_steps import Spot
    from model.session.query_help import FieldSurvey, FieldUse

SYMBOL_COLUMN, FIELD, VALUE, TYPE, ACTION, LAST_SET = range(6)
ENOUGH, RULE = 5, 0.9  # documents needed for a rule about types, and the share of them that must follow it
LONG = 1024  # bytes; of a longer value only the beginning is shown
HUGE = 1024 * 1024  # bytes; of a larger value only the size is shown until asked for


class FieldModel(CellModel):
    """The tree of one content."""

    value_set = Signal(object, object)  # FieldNode, Value: set by other means than typing into the tree
    fitting = Signal()
    """Rows are about to come, go and move."""
    fitted = Signal()
    """They have."""
    headers: tuple[str, ...] = ("", tr("Field"), tr("Value"), tr("Type"), "", tr("Last set by"))

    def __init__(self, parent: QObject | None = None, zone: str = "UTC") -> None:
        super().__init__(parent)
        self.zone = zone
        self.neighbours: dict[str, FieldUse] = {}
        self.may_edit = True  # set by the view: a cell that cannot be edited gets no caret
        self._keys = count(1)
        self._nodes: dict[int, FieldNode] = {}
        self.changes: EditChanges | None = None
        self._renames = False
        self.last_set: dict[Path, Cell] = {}
        self.before: tuple[tuple[str, Value], ...] = ()
        self.behind: tuple[tuple[str, Value], ...] = ()
        self.root = self._made(None, 0, FieldEntry("field", "", Value(OBJECT, EMPTY), 0))
        self.root.children = []

    # --- content

    @property
    def content(self) -> bytes:
        """The shown document, without locked fields."""
        return self.root.value.data

    def set_locked(self, before: Sequence[tuple[str, Value]], behind: Sequence[tuple[str, Value]] = ()) -> None:
        """Set the top-level fields that are shown with a lock, above and below the others."""
        if (now := (tuple(before), tuple(behind))) != (self.before, self.behind):
            self.before, self.behind = now
            self.fitting.emit()
            self._fit(self.root, self.root.value, always=True)
            self.fitted.emit()

    @property
    def locked_names(self) -> frozenset[str]:
        """The top-level names that the layout keeps for itself."""
        return frozenset(name for name, _ in (*self.before, *self.behind))

    def set_content(self, content: bytes, changes: EditChanges | None) -> None:
        """Show other content and its changes; remaining rows keep their place, selection and expansion."""
        was = self.changes
        afresh = changes is None or was is None or changes.base is not was.base or bool(changes.gone or was.gone)
        self.changes = changes
        # In a step of the same edit, a field that has gone may have another name now.
        self._renames = changes is not None and was is not None and changes.base is was.base
        self.fitting.emit()
        self._fit(self.root, Value(OBJECT, content), always=afresh)
        self._renames = False
        self.refresh()
        self.fitted.emit()

    def refresh(self) -> None:
        """Draw every row again, with new texts."""
        for node in self._nodes.values():
            node.cells.clear()
        if self.root.children:
            last = self.index(len(self.root.children) - 1, len(self.headers) - 1)
            self.dataChanged.emit(self.index(0, 0), last)

    def _made(self, parent: FieldNode | None, row: int, entry: FieldEntry) -> FieldNode:
        node = FieldNode(
            next(self._keys), parent, row, entry.kind, entry.name, entry.value, entry.position, entry.end, entry.lost
        )
        self._nodes[node.key] = node
        return node

    def _inside(self, node: FieldNode) -> list[FieldEntry]:
        """The entries for the rows below a node; at the top, with the locked fields around them."""
        made = node.inside()
        if node is self.root:
            before = [FieldEntry("locked", name, value, -1) for name, value in self.before]
            behind = [FieldEntry("locked", name, value, -1) for name, value in self.behind]
            made = [*before, *made, *behind]
        return made

    def _fit(self, node: FieldNode, value: Value, always: bool = False) -> None:
        """Make a node's rows fit a value; rows that still fit stay."""
        if node.value == value and not always:
            return
        was, node.value = node.value, value
        node.cells.clear()
        if node.kind != "group":
            node.look(self.path(node), self.changes)
        if node.children is None:
            return
        new = self._inside(node) if value.is_container else []
        by_value = value.type == ARRAY and not node.is_long
        # The fields of an object are none of the elements of a list that stands in its place.
        same = was.type == value.type
        self._arrange(node, rows_kept(node.children if same else (), new, by_value, self._renames), new)
        for child, entry in zip(node.children, new, strict=True):
            # The rows below a group are fields of its container; those below a field are its own.
            if child.kind != entry.kind and "group" in (child.kind, entry.kind):
                self._close(child)
            if (child.kind, child.name, child.end) != (entry.kind, entry.name, entry.end):
                child.kind, child.name, child.end = entry.kind, entry.name, entry.end
                child.cells.clear()
            child.position, child.lost = entry.position, entry.lost
            self._fit(child, entry.value, always)

    def _arrange(self, node: FieldNode, kept: Sequence[int | None], new: Sequence[FieldEntry]) -> None:
        """Bring a node's rows into the order of its entries: ``kept`` names the row of each, None a new one."""
        assert node.children is not None
        stay = {at for at in kept if at is not None}
        order = [node.children[at] for at in kept if at is not None]
        # From the last to the first, so that the numbers of the others stay right.
        for first, end in reversed(_runs([at for at in range(len(node.children)) if at not in stay])):
            self._take_rows(node, first, end)
        if order != node.children:
            self._order_rows(node, order)
        for first, end in _runs([i for i, at in enumerate(kept) if at is None]):
            self._put_rows(node, first, new[first:end])

    def _order_rows(self, node: FieldNode, order: list[FieldNode]) -> None:
        self.layoutAboutToBeChanged.emit()
        was = self.persistentIndexList()
        node.children = order
        self._number(node, 0)
        now = [
            self.createIndex(found.row, at.column(), found.key) for at in was if (found := self.node(at)) is not None
        ]
        self.changePersistentIndexList(was, now)
        self.layoutChanged.emit()

    def _close(self, node: FieldNode) -> None:
        """Forget the rows below a node; they are made again when it is expanded."""
        if node.children:
            self._take_rows(node, 0, len(node.children))
        node.children, node.walk, node.ghosts = None, None, {}

    def _take_rows(self, node: FieldNode, first: int, end: int) -> None:
        assert node.children is not None
        self.beginRemoveRows(self._index(node), first, end - 1)
        for child in node.children[first:end]:
            self._forget(child)
        del node.children[first:end]
        self._number(node, first)
        self.endRemoveRows()

    def _put_rows(self, node: FieldNode, first: int, entries: Sequence[FieldEntry]) -> None:
        assert node.children is not None
        self.beginInsertRows(self._index(node), first, first + len(entries) - 1)
        node.children[first:first] = [self._made(node, first + i, entry) for i, entry in enumerate(entries)]
        self._number(node, first)
        self.endInsertRows()

    def _number(self, node: FieldNode, first: int) -> None:
        for i in range(first, len(node.children or ())):
            assert node.children is not None
            node.children[i].row = i

    def _forget(self, node: FieldNode) -> None:
        self._nodes.pop(node.key, None)
        for child in node.children or ():
            self._forget(child)

    # --- finding rows

    def node(self, index: Index) -> FieldNode | None:
        """The node of a row; None if there is no row."""
        return self._nodes.get(index.internalId()) if index.isValid() else None

    def path(self, node: FieldNode) -> Path:
        """Its path from the top."""
        steps: list[str | int] = []
        here: FieldNode | None = node
        while here is not None and here is not self.root:
            if here.kind != "group":
                steps.append(here.name)
            here = here.parent
        return tuple(reversed(steps))

    def spot(self, node: FieldNode) -> Spot | None:
        """Its positions from the top of the content; None if the row is not a field of the content."""
        if node.kind != "field" or node.key not in self._nodes:
            return None
        steps: list[int] = []
        here: FieldNode | None = node
        while here is not None and here is not self.root:
            if here.kind == "field":
                steps.append(here.position)
            elif here.kind != "group":
                return None
            here = here.parent
        return tuple(reversed(steps))

    def change_of(self, node: FieldNode) -> Change | None:
        """The change of this field itself, not of fields inside it."""
        if node.lost is not None or self.changes is None or node.kind != "field":
            return node.lost
        return self.changes.at.get(self.path(node))

    def find(self, path: Path, column: int = VALUE) -> QModelIndex:
        """The row for a path, made if it does not exist yet; an invalid index if the path leads nowhere."""
        node = self.root
        for step in path:
            self.open(node)
            if node.is_long and (at := node.position_of(step)) >= 0:
                groups = [child for child in node.children or () if child.kind == "group"]
                node = next((group for group in groups if at < group.end), groups[-1])
                self.open(node)
            named = [child for child in node.children or () if child.name == step and child.kind != "group"]
            if not named:
                return QModelIndex()
            node = next((child for child in named if child.kind != "ghost"), named[0])
        return self._index(node, column)

    def index_of(self, node: FieldNode, column: int = VALUE) -> QModelIndex:
        """The index of a node that still has a row."""
        return self._index(node, column) if node.key in self._nodes else QModelIndex()

    def _index(self, node: FieldNode, column: int = 0) -> QModelIndex:
        return QModelIndex() if node is self.root else self.createIndex(node.row, column, node.key)

    def open(self, node: FieldNode) -> None:
        """Make the rows below a node."""
        if node.children is None:
            if node.kind != "group":
                node.look(self.path(node), self.changes)
            node.children = []
            entries = self._inside(node)
            if entries:
                self._put_rows(node, 0, entries)

    def set_open(self, index: Index, is_open: bool) -> None:
        """Note whether a container is expanded: if so it shows its number of fields, else it lists them."""
        node = self.node(index)
        if node is not None and node.is_open != is_open:
            node.is_open = is_open
            self._redraw(node)

    def load_anyway(self, index: Index) -> None:
        """Show a value even though it is larger than 1 MB."""
        node = self.node(index)
        if node is not None:
            node.load_anyway = True
            self._redraw(node)

    def _redraw(self, node: FieldNode) -> None:
        node.cells.clear()
        self.dataChanged.emit(self._index(node), self._index(node, len(self.headers) - 1))

    # --- Qt's interface

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008 (Qt's signature)
        above = self.root if not parent.isValid() else self.node(parent)
        there = above.children if above is not None else None
        if there is None or not 0 <= row < len(there) or not 0 <= column < len(self.headers):
            return QModelIndex()
        return self.createIndex(row, column, there[row].key)

    def parent(self, index: Index) -> QModelIndex:  # type: ignore[override]
        node = self.node(index)
        above = node.parent if node is not None else None
        return QModelIndex() if above is None else self._index(above)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        if parent.column() > 0:
            return 0
        node = self.root if not parent.isValid() else self.node(parent)
        return len(node.children or ()) if node is not None else 0

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        node = self.root if not parent.isValid() else self.node(parent)
        if node is None or (parent.isValid() and parent.column() > 0):
            return False
        return bool(node.children) if node.children is not None else node.holds_any

    def canFetchMore(self, parent: Index) -> bool:
        node = self.root if not parent.isValid() else self.node(parent)
        return node is not None and node.children is None and node.holds_any

    def fetchMore(self, parent: Index) -> None:
        node = self.root if not parent.isValid() else self.node(parent)
        if node is not None:
            self.open(node)

    def flags(self, index: Index) -> Qt.ItemFlag:
        node = self.node(index)
        if node is None:
            return Qt.ItemFlag.NoItemFlags
        made = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        if not node.value.is_container:
            made |= Qt.ItemFlag.ItemNeverHasChildren
        return made | Qt.ItemFlag.ItemIsEditable if self.can_edit(node, index.column()) else made

    def setData(self, index: Index, said: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Accept a value's text as if it were typed: screen readers and voice control set cells this way."""
        node = self.node(index)
        if role != Qt.ItemDataRole.EditRole or node is None or not isinstance(said, str):
            return False
        if index.column() != VALUE or not self.can_edit(node, VALUE):
            return False
        try:
            made = text.parsed(said, node.value.kind, self.zone)
        except Refused:
            return False
        self.value_set.emit(node, made)
        return True

    def can_edit(self, node: FieldNode, column: int) -> bool:
        """Whether a cell can be edited."""
        if node.kind != "field":
            return False
        if column == FIELD:
            return isinstance(node.name, str)
        return column == VALUE and (node.load_anyway or not _is_huge(node.value))

    def can_retype(self, node: FieldNode) -> bool:
        """Whether a row's type can be changed."""
        return self.can_edit(node, VALUE)

    # --- neighbours

    def set_neighbours(self, survey: FieldSurvey) -> None:
        """Hint at the names and types in other documents of the collection, if those are enough to judge by."""
        self.neighbours = {use.path: use for use in survey.fields} if survey.documents >= ENOUGH else {}
        self.refresh()

    def usual_kind(self, path: Path) -> str:
        """The type that a field has in other documents; "" if they lack the field, or have no common type."""
        use = self.neighbours.get(".".join(step for step in path if isinstance(step, str)))
        if use is None or not path or isinstance(path[-1], int):
            return ""
        kind, number = use.types[0]
        return kind if number >= ENOUGH and number >= use.documents * RULE and kind != "Null" else ""

    def usual_names(self, container: Path) -> list[str]:
        """The names that other documents have at this place."""
        above = "".join(f"{step}." for step in container if isinstance(step, str))
        found = (path[len(above) :] for path in self.neighbours if path.startswith(above))
        return [name for name in found if name and "." not in name]

    def _unusual(self, node: FieldNode) -> str:
        """The usual type of a row's field, if this row has another one."""
        if node.kind != "field" or not self.neighbours:
            return ""
        path = self.path(node)
        usual = self.usual_kind(path)
        use = self.neighbours.get(".".join(step for step in path if isinstance(step, str)))
        common = use is not None and any(kind == node.value.kind and n > 1 for kind, n in use.types)
        return usual if usual and not common and usual != node.value.kind else ""

    # --- the texts of a row

    def cell(self, index: Index) -> Cell:
        node = self.node(index)
        if node is None:
            return Cell()
        made = node.cells.get(index.column())
        if made is None:
            made = node.cells[index.column()] = self.drawn(node, index.column())
        return made

    def drawn(self, node: FieldNode, column: int) -> Cell:
        """Make one cell; it is kept until the row changes."""
        if node.kind == "group":
            return self._group(node, column)
        change = self.change_of(node)
        if column == LAST_SET:
            if change is not None:
                return plain(tr("your edit"), "text3", size=12)
            return self.last_set.get(self.path(node), Cell()) if node.kind == "field" else Cell()
        if column == SYMBOL_COLUMN:
            return self._symbol(node, change)
        if column == FIELD:
            return self._field(node, change)
        if column == VALUE:
            return self._value(node, change)
        if column == TYPE:
            return self._type(node, change)
        return self._action(node, change)

    def _group(self, node: FieldNode, column: int) -> Cell:
        """A part of a long container: from which field to which."""
        walk, is_array = node.walked(), node.value.type == ARRAY
        if column == FIELD:
            ends = [node.position, node.end - 1]
            names = [f"{at:,}" if is_array else text.name_text(name_of(walk[at][0])) for at in ends]
            said = " … ".join(names)
            return replace(mono(f"[{said}]" if is_array else said, "text2"), middle=True)
        if column == VALUE:
            inside = self._changed_inside(node)
            badges = (
                (Badge(tr("{changes} inside", changes=many(inside, "change")), "chg", "chgT", "replace"),)
                if inside
                else ()
            )
            left = node.end - node.position
            said = many(left, "element") if is_array else many(left, "field")
            return plain(said, "text2", size=12, badges=badges)
        return Cell()

    def _changed_inside(self, node: FieldNode) -> int:
        """How many changes a collapsed group hides."""
        if self.changes is None or node.is_open or node.parent is None:
            return 0
        path = self.path(node)
        steps = [c.path[len(path)] for c in self.changes.all if len(c.path) > len(path) and c.path[: len(path)] == path]
        places = (node.parent.position_of(step) for step in steps)
        return sum(node.position <= place < node.end for place in places)

    def _symbol(self, node: FieldNode, change: Change | None) -> Cell:
        if change is not None:
            return Cell(change=change.op, indent=4, accessible=symbols.CHANGES[change.op][3])
        return Cell()

    def _field(self, node: FieldNode, change: Change | None) -> Cell:
        name = f"[{node.name}]" if isinstance(node.name, int) else text.name_text(node.name)
        token = "text" if node.kind == "field" else "text2"
        return mono(name, token, accessible=self._words(node, change))

    def _words(self, node: FieldNode, change: Change | None) -> str:
        """The whole row for a screen reader."""
        words = [text.path_text(self.path(node)) or tr("document"), _seen(node, self.zone)[0], node.value.kind]
        if node.kind == "locked":
            words.append(tr("locked"))
        if change is not None:
            words.append(symbols.CHANGES[change.op][3])
        return ", ".join(words)

    def _value(self, node: FieldNode, change: Change | None) -> Cell:
        shown, length = _seen(node, self.zone)
        said = self._words(node, change)
        badges: tuple[Badge, ...] = (Badge(size(length)),) if length else ()
        token = "text2" if node.value.is_container or node.kind != "field" else "text"
        if change is None:
            badges += self._below(node)
            return mono(shown, token, badges=badges, accessible=said)
        ground, strong = symbols.CHANGES[change.op][1], symbols.CHANGES[change.op][2]
        spans: tuple[Span, ...] = (Span(shown, token),)
        if change.old is not None and change.new is not None and not node.value.is_container and length == 0:
            if change.old.type != node.value.type and change.op != "retype":
                spans = (Span(shown, mark=strong),)
            elif change.op in ("replace", "text") and not change.old.is_container:
                spans = marked(node.value, change.old, self.zone, strong, token)
        return replace(mono("", token, badges=badges, ground=ground, accessible=said), spans=spans)

    def _below(self, node: FieldNode) -> tuple[Badge, ...]:
        """The mark of a collapsed container with changes inside."""
        if self.changes is None or node.is_open or not node.value.is_container or node.kind != "field":
            return ()
        number = self.changes.inside.get(self.path(node), 0)
        return (
            (Badge(tr("{changes} inside", changes=many(number, "change")), "chg", "chgT", "replace"),) if number else ()
        )

    def _type(self, node: FieldNode, change: Change | None) -> Cell:
        caret = self.may_edit and self.can_retype(node) and not node.value.is_container
        if usual := self._unusual(node):
            spans = (Span(node.value.kind, "text2"), Span(tr("  usually {usual}", usual=usual), "warn"))
            said = tr("{kind}, in other documents of this collection {usual}", kind=node.value.kind, usual=usual)
            return Cell(spans=spans, size=12, caret=caret, tip=said, accessible=said)
        if change is None:
            return plain(node.value.kind, "text2", size=12, caret=caret)
        retyped = change.old is not None and change.old.type != node.value.type
        ground = symbols.CHANGES[change.op][1] if retyped or change.op in ("add", "remove") else ""
        return plain(
            node.value.kind,
            "text" if retyped else "text2",
            size=12,
            caret=caret,
            ground=ground,
            weight=600 if retyped else 400,
        )

    def _action(self, node: FieldNode, change: Change | None) -> Cell:
        if node.kind == "locked":
            return Cell(icon="lock-simple", tip=tr("The layout keeps this field for itself"), accessible=tr("locked"))
        if not node.load_anyway and _is_huge(node.value):
            return plain(tr("Load anyway"), "text2", size=12, accessible=tr("Load anyway"))
        if change is not None:
            return plain(tr("Revert"), "text2", size=12, icon="arrow-counter-clockwise", tip=tr("Revert this field"))
        return Cell()


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """The first and the number behind the last of each run of numbers in a row."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number:
            runs[-1] = (runs[-1][0], number + 1)
        else:
            runs.append((number, number + 1))
    return runs


def _is_huge(value: Value) -> bool:
    return value.type in (STRING, BINARY, CODE, SYMBOL) and len(value.data) > HUGE


def _seen(node: FieldNode, zone: str) -> tuple[str, int]:
    """A value on one line, and its length in bytes if that is shown beside it, else 0."""
    value = node.value
    if value.is_container:
        try:
            if node.is_open:
                return by_size(sum(1 for _ in elements(value.data)), value.type == ARRAY), 0
            return text.shown(value, zone, 200), 0
        except Unreadable:  # somewhere inside
            return tr("cannot be read"), len(value.data)
    length = len(value.data)
    if _is_huge(value) and not node.load_anyway:
        return tr("{kind} of {length}, not loaded", kind=value.kind, length=size(length)), 0
    said = length > LONG and value.type not in (STRING, BINARY)  # these end with their size anyway
    return text.shown(value, zone, 200), length if said else 0
