"""The sidebar's tree: connections, their databases, their collections, and archives below their collections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field
from PySide6.QtCore import QModelIndex

from gui.language import tr, translated
from gui.style import wording
from gui.style.cells import Badge, Cell, CellModel, Index, Span

if TYPE_CHECKING:
    from model.foundation.records import CollectionInfo
    from model.session import Session
    from model.userdata.connections import SavedConnection

BADGE = tr("Click the badge to see the grounds, or to state another layout")
Kind = Literal["connection", "database", "collection", "others", "message"]


class SourceNode(Struct, eq=False):
    """A line of the tree."""

    kind: Kind
    name: str
    parent: SourceNode | None = None
    session: Session | None = None
    saved: SavedConnection | None = None
    info: CollectionInfo | None = None
    children: list[SourceNode] = field(default_factory=list)
    loaded: bool = False  # whether the children are known
    trouble: str = ""

    @property
    def key(self) -> str:
        """Identifies a line across a refresh."""
        own = self.info.ns if self.info is not None else f"{self.kind}:{self.name}"
        return own if self.parent is None else f"{self.parent.key}\n{own}"

    def find(self, ns: str) -> SourceNode | None:
        """The collection's line below this one."""
        for child in self.children:
            if child.info is not None and child.info.ns == ns:
                return child
            if (found := child.find(ns)) is not None:
                return found
        return None

    def with_key(self, key: str) -> SourceNode | None:
        """The line with this key: this one, or one below it."""
        if self.key == key:
            return self
        below = (child.with_key(key) for child in self.children if key.startswith(child.key))
        return next((found for found in below if found is not None), None)


def plan(infos: Iterable[CollectionInfo], databases: Iterable[str], parent: SourceNode) -> list[SourceNode]:
    """The lines of a connection's databases, by name, with archives below their collections."""
    made = {name: SourceNode("database", name, parent, parent.session, loaded=True) for name in sorted(databases)}
    lines: dict[str, SourceNode] = {}
    ordered = sorted(infos, key=lambda info: info.ns)
    for info in ordered:
        db, _, name = info.ns.partition(".")
        home = made.setdefault(db, SourceNode("database", db, parent, parent.session, loaded=True))
        lines[info.ns] = SourceNode("collection", name, home, parent.session, info=info)
    for info in ordered:
        line = lines[info.ns]
        owner = lines.get(info.belongs_to or "")
        if owner is not None and owner is not line:
            line.parent = owner
        assert line.parent is not None
        line.parent.children.append(line)
    return [made[name] for name in sorted(made)]


def add_unseen(lines: list[SourceNode], unseen: Mapping[str, str], parent: SourceNode) -> None:
    """Show below a connection's databases what this user may not list."""
    homes = {line.name: line for line in lines if line.kind == "database"}
    for place, why in unseen.items():
        if place in homes:
            homes[place].children.append(SourceNode("message", translated(why), homes[place]))
        elif not place:
            lines.append(SourceNode("message", translated(why), parent))


class SourceModel(CellModel):
    """The lines as an item model; ``needle`` hides collections whose names do not contain each of its words."""

    headers = (tr("Connections"),)

    def __init__(self) -> None:
        super().__init__()
        self.roots: list[SourceNode] = []
        self.needle = ""
        self.current: tuple[Session | None, str] = (None, "")
        self.silent: set[int] = set()  # sessions, by id(), whose server does not answer

    # --- what is shown

    def shown(self, node: SourceNode | None) -> list[SourceNode]:
        """The lines below one, or at the top, without those hidden by the search."""
        lines = self.roots if node is None else node.children
        if not self.needle:
            return lines
        return [line for line in lines if self._matches(line)]

    def finds(self, node: SourceNode) -> bool:
        """Whether a line is a collection in whose name, ``db.collection``, each searched word occurs."""
        return node.info is not None and all(word in node.info.ns.lower() for word in self.needle.split())

    def _matches(self, node: SourceNode) -> bool:
        if self.finds(node):
            return True
        return any(self._matches(child) for child in node.children)

    def node(self, index: Index) -> SourceNode | None:
        """The line at an index."""
        found = index.internalPointer() if index.isValid() else None
        return found if isinstance(found, SourceNode) else None

    def index_of(self, node: SourceNode) -> QModelIndex:
        """The index of a line; invalid if the search hides it."""
        lines = self.shown(node.parent)
        return self.createIndex(lines.index(node), 0, node) if node in lines else QModelIndex()

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008 (Qt's default)
        lines = self.shown(self.node(parent))
        return self.createIndex(row, column, lines[row]) if 0 <= row < len(lines) and column == 0 else QModelIndex()

    def parent(self, index: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]  # noqa: B008
        node = self.node(index)
        return QModelIndex() if node is None or node.parent is None else self.index_of(node.parent)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(self.shown(self.node(parent)))

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        node = self.node(parent)
        if node is not None and node.kind == "connection" and not node.loaded:
            return True  # expanding it connects
        return bool(self.shown(node))

    # --- changes

    def put_roots(self, roots: list[SourceNode]) -> None:
        """Show these connections."""
        self.beginResetModel()
        self.roots = roots
        self.endResetModel()

    def put_children(self, node: SourceNode, children: list[SourceNode]) -> None:
        """Set the lines below one."""
        node.loaded = True
        if self.needle:
            self.beginResetModel()
            node.children = children
            self.endResetModel()
            return
        here = self.index_of(node)
        if node.children:
            self.beginRemoveRows(here, 0, len(node.children) - 1)
            node.children = []
            self.endRemoveRows()
        if children:
            self.beginInsertRows(here, 0, len(children) - 1)
            node.children = children
            self.endInsertRows()

    def search(self, needle: str) -> None:
        """Show only collections whose names contain the words."""
        self.beginResetModel()
        self.needle = needle.strip().lower()
        self.endResetModel()

    def set_current(self, session: Session | None, ns: str) -> None:
        """Mark the collection of the current page; the view redraws itself."""
        self.current = (session, ns)

    # --- the look of a line

    def cell(self, index: Index) -> Cell:
        node = self.node(index)
        if node is None:
            return Cell()
        if node.kind == "connection":
            return _connection(node, id(node.session) in self.silent)
        if node.kind == "database":
            return Cell(spans=(Span(node.name, "text2" if self.current[1].partition(".")[0] != node.name else "text"),),
                        icon="database", accessible=tr(
"database {name}", name=node.name))  # fmt: skip
        if node.kind == "others":
            tip = tr("The address names one database; show all that this user may see")
            return Cell(spans=(Span(node.name, "text2"),), icon="dots-three", tip=tip)
        if node.kind == "message" or node.info is None:
            return Cell(spans=(Span(node.name, "text3"),), size=12)
        return self._collection(node, node.info)

    def _collection(self, node: SourceNode, info: CollectionInfo) -> Cell:
        here = self.current == (node.session, info.ns)
        if info.belongs_to:
            owner = info.belongs_to.partition(".")[2]
            return Cell(spans=(Span(node.name, "text" if here else "text2"),), icon="arrow-bend-down-right",
                        tip=translated(info.why), accessible=tr(
"{name}, archive of {owner}", name=node.name, owner=owner))  # fmt: skip
        if not info.layout:  # only its name is known so far
            said = tr("collection {name}, not read yet", name=node.name)
            return Cell(spans=(Span(node.name),), icon="table", icon_token="acc" if here else "text2", accessible=said)
        counted = "" if info.documents is None else f"\n{wording.many(info.documents, 'document')}"
        also = (
            tr("\nFits as well: {alternatives}", alternatives=", ".join(info.alternatives)) if info.alternatives else ""
        )
        numbered = tr("\nNumbers: {numbering}", numbering=info.numbering) if info.numbering else ""
        numbered += tr("\nHash: {hashing}", hashing=info.hashing) if info.hashing else ""
        by = tr(", written by {writer}", writer=info.writer) if info.writer else ""
        return Cell(
            spans=(Span(node.name),),
            icon="table",
            icon_token="acc" if here else "text2",
            badges=(Badge(info.writer or info.layout),),
            badges_right=True,
            tip=f"{info.layout}: {translated(info.about)}\n{translated(info.why)}{counted}{also}{numbered}\n{BADGE}",
            accessible=tr("collection {name}, layout {layout}{by}", name=node.name, layout=info.layout, by=by),
        )


def _connection(node: SourceNode, silent: bool) -> Cell:
    source = node.session.source if node.session is not None else node.saved.uri if node.saved is not None else ""
    icon = "flask" if source == "sample:" else "hard-drives" if "://" in source else "folder"
    if node.session is not None:
        session = node.session
        kind = "" if session.is_local else session.facts.called
        badge = (
            Badge(tr("read-only"), "warn", "warnT", "lock-simple")
            if session.trust.read_only
            else Badge(tr("connected"), "acc", "accTint")
        )
        if session.is_local and not session.trust.read_only:
            badge = Badge(tr("in memory"), "acc", "accTint")
        if silent:
            badge = Badge(tr("not connected"), "warn", "warnT", "conflict")
        said = f"{node.name}, {(tr('not connected') if silent else tr('connected'))}" + (
            tr(", read-only") if session.trust.read_only else ""
        )
        tip = "\n".join(filter(None, (session.source, kind)))
        spans = (Span(node.name, "text", weight=600),)
        return Cell(spans=spans, icon=icon, badges=(badge,), badges_right=True, tip=tip, accessible=said)
    badges: tuple[Badge, ...] = ()
    if source == "sample:":
        badges = (Badge(tr("in memory")),)
    elif "://" not in source:
        badges = (Badge(tr("file")),)
    elif node.saved is not None and node.saved.read_only:
        badges = (Badge(tr("read-only"), "warn", "warnT", "lock-simple"),)
    tip = node.trouble or tr("{source}\nOpen it to connect", source=source)
    return Cell(spans=(Span(node.name, "text2"),), icon=icon, badges=badges, badges_right=True, tip=tip,
                accessible=tr(
"{name}, not connected", name=node.name))  # fmt: skip
