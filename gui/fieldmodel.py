"""A document's fields as a tree, read from raw bytes as far as it is opened; it keeps its shape when they change.

Rows are nodes. A new content is fitted onto the rows that are there, so that what is open stays open, the chosen row
stays chosen, and nothing scrolls. Long containers hand out their rows a thousand at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from PySide6.QtCore import QModelIndex, QObject, Qt

from gui import symbols
from gui.cells import Badge, Cell, CellModel, Index, Span, plain
from gui.cells import value as mono
from gui.changes import Change, Changes, marked
from gui.draft import Spot
from gui.wording import many, size
from model import text
from model.canonical import ARRAY, BINARY, CODE, EMPTY, OBJECT, STRING, SYMBOL, Path, Value, fields

SYMBOL_COLUMN, FIELD, VALUE, TYPE, ACTION = range(5)
CHUNK = 1000
LONG = 1024  # bytes: only the beginning is shown
HUGE = 1024 * 1024  # bytes: only the size is shown until asked for


@dataclass(eq=False)
class Node:
    """One row. ``kind``: field, ghost (removed; still shown) or locked (the layout keeps it for itself)."""

    key: int
    parent: Node | None
    row: int
    kind: str
    name: str | int
    value: Value
    position: int  # among the content's fields; meaningless but for a field
    lost: Change | None = None  # a ghost's change
    entries: list[_Entry] | None = None  # everything inside, once opened
    children: list[Node] = field(default_factory=list)  # what of it has rows
    is_open: bool = False
    load_anyway: bool = False
    cells: dict[int, Cell] = field(default_factory=dict)


@dataclass(frozen=True)
class _Entry:
    kind: str
    name: str | int
    value: Value
    position: int
    lost: Change | None = None


class FieldModel(CellModel):
    """The tree of one content; see the module's docstring."""

    headers = ("", "Field", "Value", "Type", "")

    def __init__(self, parent: QObject | None = None, zone: str = "UTC") -> None:
        super().__init__(parent)
        self.zone = zone
        self._keys = count(1)
        self._nodes: dict[int, Node] = {}
        self.changes: Changes | None = None
        self.before: tuple[tuple[str, Value], ...] = ()
        self.behind: tuple[tuple[str, Value], ...] = ()
        self.root = self._made(None, 0, _Entry("field", "", Value(OBJECT, EMPTY), 0))
        self.root.entries = []

    # --- content

    @property
    def content(self) -> bytes:
        """The document shown, without what is locked."""
        return self.root.value.data

    def set_locked(self, before: Sequence[tuple[str, Value]], behind: Sequence[tuple[str, Value]] = ()) -> None:
        """The top-level fields that are shown with a lock, above and below the others."""
        self.before, self.behind = tuple(before), tuple(behind)

    def set_content(self, content: bytes, changes: Changes | None) -> None:
        """Show another content and what it changed; rows that stay keep their place, selection and what is open."""
        was = self.changes
        afresh = changes is None or was is None or changes.base is not was.base or bool(changes.gone or was.gone)
        self.changes = changes
        self._fit(self.root, Value(OBJECT, content), always=afresh)
        self.refresh()

    def refresh(self) -> None:
        """Draw every row again; what it says is worked out anew."""
        for node in self._nodes.values():
            node.cells.clear()
        if self.root.children:
            last = self.index(len(self.root.children) - 1, len(self.headers) - 1)
            self.dataChanged.emit(self.index(0, 0), last)

    def _made(self, parent: Node | None, row: int, entry: _Entry) -> Node:
        node = Node(next(self._keys), parent, row, entry.kind, entry.name, entry.value, entry.position, entry.lost)
        self._nodes[node.key] = node
        return node

    def _inside(self, node: Node) -> list[_Entry]:
        """What a container holds: fields, ghosts in their place, and at the top what is locked."""
        if not node.value.is_container:
            return []
        is_array = node.value.type == ARRAY
        pairs = fields(node.value.data)
        names: list[str | int] = [*range(len(pairs))] if is_array else [name for name, _ in pairs]
        kind = node.kind
        made = [_Entry(kind, name, value, i) for i, (name, (_, value)) in enumerate(zip(names, pairs, strict=True))]
        if kind == "field" and self.changes is not None:
            ghosts = self.changes.ghosts(self.path(node), names)
            for place in sorted(ghosts, reverse=True):
                lost = [_Entry("ghost", c.path[-1], c.old, -1, c) for c in ghosts[place] if c.old is not None]
                made[place:place] = lost
        if node is self.root:
            before = [_Entry("locked", name, value, -1) for name, value in self.before]
            behind = [_Entry("locked", name, value, -1) for name, value in self.behind]
            made = [*before, *made, *behind]
        return made

    def _fit(self, node: Node, value: Value, always: bool = False) -> None:
        """Make a node's rows those of a value, with as few comings and goings as there are."""
        if node.value == value and not always:
            return
        node.value = value
        node.cells.clear()
        if node.entries is None:
            return
        old, new = node.children, self._inside(node)
        had_all = len(old) == len(node.entries)
        node.entries = new
        shown = new if had_all and len(new) <= max(len(old), CHUNK) + 1 else new[: max(len(old), CHUNK)]
        same = _by_value if value.type == ARRAY else _by_name
        shorter = min(len(old), len(shown))
        head = next((i for i in range(shorter) if not same(old[i], shown[i])), shorter)
        most = shorter - head
        tail = next((i for i in range(most) if not same(old[-1 - i], shown[-1 - i])), most)
        keep = min(len(old), len(shown)) - tail  # rows up to here stay, whatever they are called now
        if len(old) > len(shown):
            self._take_rows(node, keep, len(old) - tail)
        elif len(shown) > len(old):
            self._put_rows(node, keep, shown[keep : len(shown) - tail])
        for i, entry in enumerate(shown):
            child = node.children[i]
            child.position, child.lost = entry.position, entry.lost
            if (child.kind, child.name) != (entry.kind, entry.name):
                child.kind, child.name = entry.kind, entry.name
                child.cells.clear()
            self._fit(child, entry.value, always)

    def _take_rows(self, node: Node, first: int, end: int) -> None:
        self.beginRemoveRows(self._index(node), first, end - 1)
        for child in node.children[first:end]:
            self._forget(child)
        del node.children[first:end]
        self._number(node, first)
        self.endRemoveRows()

    def _put_rows(self, node: Node, first: int, entries: Sequence[_Entry]) -> None:
        self.beginInsertRows(self._index(node), first, first + len(entries) - 1)
        node.children[first:first] = [self._made(node, first + i, entry) for i, entry in enumerate(entries)]
        self._number(node, first)
        self.endInsertRows()

    def _number(self, node: Node, first: int) -> None:
        for i in range(first, len(node.children)):
            node.children[i].row = i

    def _forget(self, node: Node) -> None:
        self._nodes.pop(node.key, None)
        for child in node.children:
            self._forget(child)

    # --- where things are

    def node(self, index: Index) -> Node | None:
        """The node of a row; None for no row."""
        return self._nodes.get(index.internalId()) if index.isValid() else None

    def path(self, node: Node) -> Path:
        """Its names from the top."""
        steps: list[str | int] = []
        here: Node | None = node
        while here is not None and here is not self.root:
            steps.append(here.name)
            here = here.parent
        return tuple(reversed(steps))

    def spot(self, node: Node) -> Spot | None:
        """Its positions from the top of the content; None for what is not in it."""
        steps: list[int] = []
        here: Node | None = node
        while here is not None and here is not self.root:
            if here.kind != "field":
                return None
            steps.append(here.position)
            here = here.parent
        return tuple(reversed(steps))

    def change_of(self, node: Node) -> Change | None:
        """What was changed about this very field."""
        if node.lost is not None or self.changes is None or node.kind != "field":
            return node.lost
        return self.changes.at.get(self.path(node))

    def find(self, path: Path, column: int = VALUE) -> QModelIndex:
        """The row of a path, made on the way where it has none yet; an invalid index where the path leads nowhere."""
        node = self.root
        for step in path:
            self._open(node)
            entries = node.entries or []
            wanted = [i for i, entry in enumerate(entries) if entry.name == step]
            real = [i for i in wanted if entries[i].kind != "ghost"] or wanted
            if not real:
                return QModelIndex()
            while len(node.children) <= real[0]:
                self._more(node)
            node = node.children[real[0]]
        return self._index(node, column)

    def index_of(self, node: Node, column: int = VALUE) -> QModelIndex:
        """The index of a node that still has a row."""
        return self._index(node, column) if node.key in self._nodes else QModelIndex()

    def _index(self, node: Node, column: int = 0) -> QModelIndex:
        return QModelIndex() if node is self.root else self.createIndex(node.row, column, node.key)

    def _open(self, node: Node) -> None:
        if node.entries is None:
            node.entries = self._inside(node)
            if node.entries:
                self._more(node)

    def _more(self, node: Node) -> None:
        shown = len(node.children)
        self._put_rows(node, shown, (node.entries or [])[shown : shown + CHUNK])

    def set_open(self, index: Index, is_open: bool) -> None:
        """An opened container says how many fields it has; a closed one what they are."""
        node = self.node(index)
        if node is not None and node.is_open != is_open:
            node.is_open = is_open
            self._redraw(node)

    def load_anyway(self, index: Index) -> None:
        """Show a value although it is above 1 MB."""
        node = self.node(index)
        if node is not None:
            node.load_anyway = True
            self._redraw(node)

    def _redraw(self, node: Node) -> None:
        node.cells.clear()
        self.dataChanged.emit(self._index(node), self._index(node, len(self.headers) - 1))

    # --- what Qt asks

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008 (Qt's signature)
        above = self.root if not parent.isValid() else self.node(parent)
        if above is None or not 0 <= row < len(above.children) or not 0 <= column < len(self.headers):
            return QModelIndex()
        return self.createIndex(row, column, above.children[row].key)

    def parent(self, index: Index) -> QModelIndex:  # type: ignore[override]
        node = self.node(index)
        above = node.parent if node is not None else None
        return QModelIndex() if above is None else self._index(above)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        if parent.column() > 0:
            return 0
        node = self.root if not parent.isValid() else self.node(parent)
        return len(node.children) if node is not None else 0

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        node = self.root if not parent.isValid() else self.node(parent)
        if node is None or (parent.isValid() and parent.column() > 0):
            return False
        return bool(node.entries) if node.entries is not None else _holds_any(node)

    def canFetchMore(self, parent: Index) -> bool:
        node = self.root if not parent.isValid() else self.node(parent)
        if node is None:
            return False
        return len(node.children) < len(node.entries) if node.entries is not None else _holds_any(node)

    def fetchMore(self, parent: Index) -> None:
        node = self.root if not parent.isValid() else self.node(parent)
        if node is None:
            return
        if node.entries is None:
            self._open(node)
        elif len(node.children) < len(node.entries):
            self._more(node)

    def flags(self, index: Index) -> Qt.ItemFlag:
        base = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        node = self.node(index)
        editable = node is not None and self.can_edit(node, index.column())
        return base | Qt.ItemFlag.ItemIsEditable if editable else base

    def can_edit(self, node: Node, column: int) -> bool:
        """Whether a cell can be typed into."""
        if node.kind != "field" or (node.parent is not self.root and self.spot(node) is None):
            return False
        if column == FIELD:
            return isinstance(node.name, str)
        return column == VALUE and (node.load_anyway or not _is_huge(node.value))

    def can_retype(self, node: Node) -> bool:
        """Whether a row's type can be chosen."""
        return self.can_edit(node, VALUE)

    # --- what a row says

    def cell(self, index: Index) -> Cell:
        node = self.node(index)
        if node is None:
            return Cell()
        made = node.cells.get(index.column())
        if made is None:
            made = node.cells[index.column()] = self.drawn(node, index.column())
        return made

    def drawn(self, node: Node, column: int) -> Cell:
        """Work out one cell; the result is kept until the row changes."""
        change = self.change_of(node)
        if column == SYMBOL_COLUMN:
            return self._symbol(node, change)
        if column == FIELD:
            return self._field(node, change)
        if column == VALUE:
            return self._value(node, change)
        if column == TYPE:
            return self._type(node, change)
        return self._action(node, change)

    def _symbol(self, node: Node, change: Change | None) -> Cell:
        if change is not None:
            return Cell(change=change.op, indent=4, accessible=symbols.CHANGES[change.op][3])
        return Cell()

    def _field(self, node: Node, change: Change | None) -> Cell:
        name = f"[{node.name}]" if isinstance(node.name, int) else text.name_text(node.name)
        token = "text" if node.kind == "field" else "text2"
        return mono(name, token, accessible=self._words(node, change))

    def _words(self, node: Node, change: Change | None) -> str:
        """The whole row for a screen reader."""
        words = [text.path_text(self.path(node)) or "document", _seen(node, self.zone)[0], node.value.kind]
        if node.kind == "locked":
            words.append("locked")
        if change is not None:
            words.append(symbols.CHANGES[change.op][3])
        return ", ".join(words)

    def _value(self, node: Node, change: Change | None) -> Cell:
        shown, length = _seen(node, self.zone)
        badges: tuple[Badge, ...] = (Badge(size(length)),) if length else ()
        token = "text2" if node.value.is_container or node.kind != "field" else "text"
        if change is None:
            badges += self._below(node)
            return mono(shown, token, badges=badges)
        ground, strong = symbols.CHANGES[change.op][1], symbols.CHANGES[change.op][2]
        spans: tuple[Span, ...] = (Span(shown, token),)
        if change.old is not None and change.new is not None and not node.value.is_container and length == 0:
            if change.old.type != node.value.type and change.op != "retype":
                spans = (Span(shown, token, strong),)
            elif change.op in ("replace", "text") and not change.old.is_container:
                spans = marked(shown, text.shown(change.old, self.zone), strong, token)
        return replace(mono("", token, badges=badges, ground=ground), spans=spans)

    def _below(self, node: Node) -> tuple[Badge, ...]:
        """A closed container says that something inside it was changed."""
        if self.changes is None or node.is_open or not node.value.is_container or node.kind != "field":
            return ()
        number = self.changes.inside.get(self.path(node), 0)
        return (Badge(f"{many(number, 'change')} inside", "chg", "chgT", "replace"),) if number else ()

    def _type(self, node: Node, change: Change | None) -> Cell:
        caret = self.can_retype(node) and not node.value.is_container
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

    def _action(self, node: Node, change: Change | None) -> Cell:
        if node.kind == "locked":
            return Cell(icon="lock-simple", tip="The layout keeps this field for itself", accessible="locked")
        if not node.load_anyway and _is_huge(node.value):
            return plain("Load anyway", "text2", size=12, accessible="Load anyway")
        if change is not None:
            return plain("Revert", "text2", size=12, icon="arrow-counter-clockwise", tip="Revert this field")
        return Cell()


def _by_name(node: Node, entry: _Entry) -> bool:
    return node.kind == entry.kind and node.name == entry.name


def _by_value(node: Node, entry: _Entry) -> bool:
    return node.kind == entry.kind and node.value == entry.value


def _holds_any(node: Node) -> bool:
    return node.value.is_container and len(node.value.data) > len(EMPTY)


def _is_huge(value: Value) -> bool:
    return value.type in (STRING, BINARY, CODE, SYMBOL) and len(value.data) > HUGE


def _seen(node: Node, zone: str) -> tuple[str, int]:
    """A value on one line, and its length in bytes where that is said beside it, else 0."""
    value = node.value
    if value.is_container:
        return text.short(value) if node.is_open else text.shown(value, zone, 200), 0
    length = len(value.data)
    if _is_huge(value) and not node.load_anyway:
        return f"{value.kind} of {size(length)}, not loaded", 0
    return text.shown(value, zone, 200), length if length > LONG and value.type != STRING else 0
