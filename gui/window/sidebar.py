"""The left side: connections and their collections, a search, and the entries for drafts, tokens and journal.

It folds to a rail of icons. Expanded lines stay expanded across a refresh and a search.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import (
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPoint,
    Qt,
    Signal,
)
from PySide6.QtGui import QEnterEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gui import copying, messages, rest, tasks
from gui.language import tr, translated
from gui.pages.page_registry import PAGES
from gui.style import boxes, icons, preferences, theme, wording
from gui.style.states import hair, tool, words
from gui.window.sidebar_parts import EntryButton, SidebarTree
from gui.window.source_model import SourceModel, SourceNode, add_unseen, plan
from gui.window.things_box import ThingsBox
from model.errors import Refused, Unreachable
from model.session import Session
from model.userdata.connections import SavedConnection

if TYPE_CHECKING:
    from PySide6.QtCore import QVariantAnimation

    from model.foundation.records import CollectionInfo

WIDTH = 273  # including the line at its right
SHARE = 0.27  # of the window, which it is never wider than
RAIL = 48
FOLD = 120  # milliseconds
AS_THEY_COME = 0.3  # seconds between two looks at collections that are being read
ROOMY = 720  # u; a lower sidebar has no room for the things to try beside its tree
LEFT = "things/left"  # whether a person closed the things to try
ENTRIES = {row.kind: row.entry for row in PAGES.values() if row.entry is not None}


_Found: TypeAlias = "tuple[Session, list[str], list[CollectionInfo]]"  # a connection, its databases and collections


def _list_collections(session: Session, named_first: bool, progress: tasks.Progress) -> tuple[_Found, bool]:
    """The collections of a connection, if ``named_first`` first by their names, then as they are recognised.

    False with them: they are as they were left, and to be recognised once nobody waits for more.
    """
    databases = session.catalogue.databases()
    progress.put((session, databases, []))
    known: dict[str, CollectionInfo] = {}
    told = time.monotonic()

    def learn(info: CollectionInfo) -> None:
        nonlocal told
        known[info.ns] = info
        if time.monotonic() - told >= AS_THEY_COME:
            progress.put((session, databases, list(known.values())))
            told = time.monotonic()

    if named_first:
        for database in databases:
            progress(len(known))
            with contextlib.suppress(Refused):  # told by what follows
                for info in session.catalogue.named(database):
                    learn(info)
        if known and all(info.layout for info in known.values()):
            return (session, databases, list(known.values())), False
        progress.put((session, databases, list(known.values())))
    recognised = []
    for info in session.catalogue.collections(None, progress):
        learn(info)
        recognised.append(info)
    return (session, databases, recognised), True


class Sidebar(QWidget):
    """The tree of connections and the entries below it. Uses sessions only in tasks."""

    looked_at = Signal()  # a person points at it or types there, and may soon ask for a collection
    collection_asked = Signal(object, str, bool)  # session, ns, in a new tab
    connection_asked = Signal(object)  # SavedConnection
    connect_asked = Signal()
    disconnect_asked = Signal(object)  # session
    edit_asked = Signal(object)  # SavedConnection
    forget_asked = Signal(object)  # SavedConnection
    activity_asked = Signal(object, str)  # session, and a collection, a database or ""
    layout_asked = Signal(object, str)  # session, ns
    sheet_asked = Signal(object, str, str)  # session, ns, and which of its sheets
    layout_changed = Signal(object, str)  # session, ns
    databases_changed = Signal(object)  # session: it now lists one of its databases, or all
    listed = Signal()  # more collections, or layouts, are known
    read_ended = Signal(object)  # session: its collections are shown, or it was said why not
    recognised = Signal(object)  # session: what is shown was read in this session
    entry_asked = Signal(str)  # the kind of a page
    fold_changed = Signal(bool)
    unfold_asked = Signal()
    thing_asked = Signal(object)  # Thing

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        boxes.ground(self, "sidebar")
        self._saved: list[SavedConnection] = []
        self._sessions: list[Session] = []
        self._said: dict[int, tuple[bool, bool]] = {}  # of each session, by id(): whether it is read-only, and silent
        self._opened: set[str] = set()
        self.infos: dict[int, list[CollectionInfo]] = {}
        self._coming: list[Session] = []  # their collections are being read for the first time
        self._as_left: list[Session] = []  # their collections are shown as they were left, and wait to be recognised
        self._told: dict[int, messages.MessageLine] = {}  # by connection: the message that its server does not answer
        self.folded = False
        self.entries: dict[str, EntryButton] = {}
        self.model = SourceModel()
        self.tree = SidebarTree()
        self.tree.setModel(self.model)
        self.tree.expanded.connect(self._expanded)
        self.tree.collapsed.connect(self._collapsed)
        self.tree.entered_anew.connect(self._entered)
        self.tree.badge_clicked.connect(self._badge_clicked)
        self.tree.customContextMenuRequested.connect(self._menu)
        self._pages = QStackedWidget(self)
        self._pages.addWidget(self._full())
        self._pages.addWidget(self._rail())
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 1, 0)  # the line at the right
        row.addWidget(self._pages)
        self._room = theme.px(4 * WIDTH)
        self.setFixedWidth(self._wanted)
        theme.signals.scaled.connect(self._take_width)

    @cached_property
    def _motion(self) -> QVariantAnimation:
        """The change of width, made when it is first folded."""
        from PySide6.QtCore import QEasingCurve, QVariantAnimation

        made = QVariantAnimation(self)
        made.setDuration(FOLD)
        made.setEasingCurve(QEasingCurve.Type.OutCubic)
        made.valueChanged.connect(self._moved)
        return made

    def _stop_motion(self) -> None:
        if "_motion" in vars(self):
            self._motion.stop()

    # --- parts

    def _full(self) -> QWidget:
        page = QWidget(self._pages)
        column = boxes.column(page)
        head = QHBoxLayout()
        head.setContentsMargins(theme.px(16), theme.px(6), theme.px(8), 0)
        head.setSpacing(theme.px(2))
        title = words(tr("Connections"), "column")
        head.addWidget(title)
        head.addStretch(1)
        head.addWidget(tool("arrows-clockwise", tr("Read the collections again"), self.refresh))
        head.addWidget(tool("plus", tr("New connection"), self.connect_asked.emit))
        column.addLayout(head)
        self.search = QLineEdit()
        self.search.setPlaceholderText(tr("Find a collection"))
        self.search.setAccessibleName(tr("Find a collection"))
        self.search.setProperty("small", True)
        self.search.textEdited.connect(self.looked_at)
        self.search.textChanged.connect(self._search)
        self.search.installEventFilter(self)
        edge = QHBoxLayout()
        edge.setContentsMargins(theme.px(12), theme.px(4), theme.px(11), theme.px(6))
        edge.addWidget(self.search)
        column.addLayout(edge)
        inset = QHBoxLayout()
        inset.setContentsMargins(theme.px(4), 0, 0, 0)
        self.unfound = words("", "second", wrap=True)
        self.unfound.setContentsMargins(theme.px(16), theme.px(4), theme.px(16), theme.px(4))
        self.unfound.hide()
        column.addWidget(self.unfound)
        inset.addWidget(self.tree)
        column.addLayout(inset, 1)
        self.things = ThingsBox()
        self.things.hide()
        self.things.asked.connect(self.thing_asked)
        self.things.left.connect(self._leave_things)
        column.addWidget(self.things)
        column.addWidget(hair())
        foot = QVBoxLayout()
        foot.setContentsMargins(0, theme.px(4), 0, theme.px(4))
        foot.setSpacing(0)
        for kind, entry in ENTRIES.items():
            made = EntryButton(entry, _icon(kind))
            made.clicked.connect(partial(self.entry_asked.emit, kind))
            self.entries[kind] = made
            foot.addWidget(made)
        column.addLayout(foot)
        return page

    def _rail(self) -> QWidget:
        page = QWidget(self._pages)
        column = QVBoxLayout(page)
        column.setContentsMargins(theme.px(8), theme.px(10), theme.px(8), theme.px(8))
        column.setSpacing(theme.px(8))
        self.rail_open = tool("hard-drives", tr("Show connections"), self.unfold_asked.emit, 32)
        column.addWidget(self.rail_open)
        self.rail_here = tool("table", tr("Show collections"), self.unfold_asked.emit, 32, token="acc")
        column.addWidget(self.rail_here)
        self._rail_entries = {
            kind: tool(_icon(kind), entry.text, partial(self.entry_asked.emit, kind), 32)
            for kind, entry in ENTRIES.items()
        }
        for made in self._rail_entries.values():
            column.addWidget(made)
        column.addStretch(1)
        return page

    # --- content

    def set_saved(self, saved: Sequence[SavedConnection]) -> None:
        """List these connections below the open ones."""
        self._saved = list(saved)
        self._rebuild()

    def add_session(self, session: Session) -> None:
        """Show an open connection, expanded, and read its collections."""
        if session not in self._sessions:
            self._sessions.append(session)
        self._show_things()
        self._rebuild()
        self.read(session)

    def show_source(self, session: Session) -> None:
        """Bring a connection into sight, above its collections."""
        if (node := self._root(session)) is not None and not self.model.needle:
            self.tree.scrollTo(self.model.index_of(node), QAbstractItemView.ScrollHint.PositionAtTop)

    def remove_session(self, session: Session) -> None:
        """Remove a closed connection; a saved one is still listed."""
        if session in self._sessions:
            self._sessions.remove(session)
            self.infos.pop(id(session), None)
            self._coming = [each for each in self._coming if each is not session]
            self._as_left = [each for each in self._as_left if each is not session]
            tasks.drop(self, f"read {id(session)}")
        self._show_things()
        self._rebuild()

    def _show_things(self) -> None:
        """Show the things to try while the sample is open, unless they were closed or the sidebar is low."""
        is_open = any(session.is_sample for session in self._sessions)
        wanted = is_open and self.height() >= theme.px(ROOMY) and not preferences.remembered(LEFT, False)
        self.things.setVisible(wanted)

    def _leave_things(self) -> None:
        preferences.remember(LEFT, True)
        self._show_things()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_things()

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.looked_at.emit()

    def touch(self, silent: Iterable[Session] = ()) -> None:
        """Redraw the sessions' lines if they changed; the servers of ``silent`` do not answer."""
        self.model.silent = {id(session) for session in silent}
        for told in self.model.silent & self._told.keys():
            line = self._told.pop(told)
            if line in messages.area(self).lines:
                line.leave()  # the line above the tabs says it now
        said = {id(session): (session.trust.read_only, id(session) in self.model.silent) for session in self._sessions}
        if said != self._said:
            self._said = said
            self.tree.viewport().update()

    def set_current(self, session: Session | None, ns: str) -> None:
        """Mark the current collection and scroll to it."""
        if self.model.current != (session, ns):
            self.tree.viewport().update()
        self.model.set_current(session, ns)
        node = None if session is None else self._root(session)
        found = None if node is None else node.find(ns)
        if found is not None and not self.model.needle:
            above = found.parent
            while above is not None:
                self.tree.expand(self.model.index_of(above))
                above = above.parent
            index = self.model.index_of(found)
            if found.children:
                self.tree.expand(index)
            if index != self.tree.currentIndex():
                self.tree.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.ClearAndSelect)

    def set_tool(self, kind: str) -> None:
        """Mark the kind of the current page on the rail: one of the entries, else the collections."""
        entry = (PAGES[kind].entry_of if kind in PAGES else "") or kind
        for name, made in self._rail_entries.items():
            made.setIcon(icons.icon(_icon(name), "acc" if name == entry else "text2"))
        self.rail_here.setIcon(icons.icon("table", "text2" if entry in ENTRIES else "acc"))

    def set_count(self, kind: str, count: int, counted: str) -> None:
        """Show a number beside an entry, and say what it counts."""
        self.entries[kind].set_count(count, counted)

    def _root(self, session: Session) -> SourceNode | None:
        return next((root for root in self.model.roots if root.session is session), None)

    def _rebuild(self) -> None:
        roots = []
        for session in self._sessions:
            old = self._root(session)
            roots.append(old or SourceNode("connection", session.name, session=session))
        open_now = {session.source for session in self._sessions}
        shown = [c for c in self._saved if c.uri not in open_now]
        if "sample:" not in open_now and all(c.uri != "sample:" for c in self._saved):
            shown.append(SavedConnection("sample:", "sample:"))
        roots += [SourceNode("connection", saved.name, saved=saved) for saved in shown]
        self.model.put_roots(roots)
        self._reopen()

    def refresh(self) -> None:
        """Read the collections of every open connection again."""
        for session in self._sessions:
            self.read(session)

    def read(self, session: Session) -> None:
        """Read one connection's collections; the listed ones stay until then."""
        root = self._root(session)
        # A dump is read before a person has read a name; what is listed has its names already.
        named_first = (session.is_sample or not session.is_local) and (root is None or not root.loaded)
        self._ask(session, named_first, tr("Reading the collections of {name}", name=wording.source(session.name)))

    def _recognise(self, session: Session) -> None:
        """Read collections that are shown as they were left, unless somebody asked for that meanwhile."""
        if session in self._as_left:
            self._ask(session, False, "")  # nobody waits for it, so it is not named

    def _ask(self, session: Session, named_first: bool, title: str) -> None:
        if session in self._as_left:
            self._as_left.remove(session)
        tasks.run(
            partial(_list_collections, session, named_first),
            done=self._read_done,
            failed=partial(self._read_failed, session),
            cancelled=partial(self._read_stopped, session),
            partial=self._read_part,
            owner=self,
            key=f"read {id(session)}",
            title=title,
        )

    def stop(self, session: Session) -> None:
        """Stop reading a connection's collections; their names stay, without layouts."""
        for task in tasks.tasks.running:
            if task.owner is self and task.key == f"read {id(session)}":
                task.cancel()

    def _read_part(self, found: _Found) -> None:
        session, names, infos = found
        root = self._root(session)
        if root is not None and (not root.loaded or session in self._coming):
            if session not in self._coming:
                self._coming.append(session)
            self._show(root, session, names, infos)

    def _read_stopped(self, session: Session) -> None:
        root = self._root(session)
        if root is not None and not root.loaded:
            self.model.put_children(root, [SourceNode("message", tr("Reading was stopped"), root)])
        self._came(session)

    def _came(self, session: Session) -> None:
        if session in self._coming:
            self._coming.remove(session)
            self._say_unfound()
        self.read_ended.emit(session)

    def _read_done(self, told: tuple[_Found, bool]) -> None:
        (session, names, infos), is_recognised = told
        root = self._root(session)
        if root is None:
            return
        self._show(root, session, names, infos)
        self._came(session)
        if is_recognised:
            self.recognised.emit(session)
        else:
            self._as_left.append(session)
            rest.later(self, partial(self._recognise, session))

    def _show(self, root: SourceNode, session: Session, names: list[str], infos: list[CollectionInfo]) -> None:
        """Show a connection's databases and collections; what is chosen, expanded and scrolled to stays."""
        root.trouble = ""
        self.infos[id(session)] = infos
        first = not any(child.children for child in root.children)
        lines = plan(infos, names, root)
        if session.catalogue.database:
            lines.append(SourceNode("others", tr("Other databases"), root, session, loaded=True))
        elif session.named_database and names == [session.named_database] and "" not in session.catalogue.unseen:
            lines.append(SourceNode("message", tr("No other database can be seen"), root))
        add_unseen(lines, session.catalogue.unseen, root)
        chosen, place = self.model.node(self.tree.currentIndex()), self.tree.verticalScrollBar().value()
        self.model.put_children(root, lines)
        self._opened.add(root.key)
        if first and len(infos) and not any(key.startswith(root.key + "\n") for key in self._opened):
            # A newcomer sees collections at once.
            self._opened.add(root.children[0].key)
        self._reopen()
        again = root.with_key(chosen.key) if chosen is not None and chosen is not root else None
        if again is not None:
            self.tree.selectionModel().setCurrentIndex(
                self.model.index_of(again), QItemSelectionModel.SelectionFlag.ClearAndSelect
            )
            self.tree.verticalScrollBar().setValue(place)
        elif self.model.needle:  # its name came after it was typed
            self._choose_found()
        elif self.model.current[0] is session and (chosen is None or chosen.key.startswith(root.key)):
            self.set_current(*self.model.current)
        self._say_unfound()
        self.listed.emit()

    def _read_failed(self, session: Session, error: BaseException) -> None:
        root = self._root(session)
        if root is not None:
            root.trouble = translated(str(error))
            if not root.loaded:
                self.model.put_children(
                    root, [SourceNode("message", tr("Could not be read; see the message below"), root)]
                )
        told_above = isinstance(error, Unreachable) and root is not None and root.loaded
        if not (told_above and self._is_silent(session)):
            line = messages.fail(self, error, [(tr("Try again"), partial(self.read, session))])
            if told_above:
                self._told[id(session)] = line
        self._came(session)

    def lacks(self, session: Session) -> bool:
        """Whether a connection's collections were never read, or could not be read again."""
        root = self._root(session)
        return not self.ns_known(session) or (root is not None and bool(root.trouble))

    def _is_silent(self, session: Session) -> bool:
        """Whether a connection's server is already known to be silent."""
        return id(session) in self.model.silent

    def ns_known(self, session: Session) -> list[CollectionInfo]:
        """The collections of a connection, as far as they were read."""
        return self.infos.get(id(session), [])

    # --- opening and searching

    def _expanded(self, index: QModelIndex) -> None:
        node = self.model.node(index)
        if node is None or self.model.needle:
            return
        self._opened.add(node.key)
        if node.kind == "connection" and node.session is None and node.saved is not None:
            self.tree.collapse(index)
            self.connection_asked.emit(node.saved)

    def _collapsed(self, index: QModelIndex) -> None:
        node = self.model.node(index)
        if node is not None and not self.model.needle:
            self._opened.discard(node.key)

    def _reopen(self) -> None:
        if self.model.needle:
            self.tree.expandAll()
            return

        def walk(nodes: list[SourceNode]) -> None:
            for node in nodes:
                if node.key in self._opened and (node.session is not None):
                    self.tree.expand(self.model.index_of(node))
                walk(node.children)

        walk(self.model.roots)

    def _search(self, text: str) -> None:
        self.model.search(text)
        self._reopen()
        self._say_unfound()
        if self.model.needle:
            self._choose_found()
        elif self.model.current[0] is not None:
            self.set_current(*self.model.current)

    def _choose_found(self) -> None:
        """Choose the first collection found, which Enter opens."""
        first = self._first_collection(QModelIndex(), by_name=True)
        self.tree.setCurrentIndex(first if first.isValid() else self._first_collection(QModelIndex(), by_name=False))

    def _say_unfound(self) -> None:
        """Say that the words above are in no name, or in none that is known yet."""
        self.unfound.setText(
            tr("No collection found so far; names are still coming")
            if self._coming
            else tr("No collection has this in its name")
        )
        self.unfound.setVisible(bool(self.model.needle) and not self.model.rowCount())

    def _first_collection(self, above: QModelIndex, by_name: bool) -> QModelIndex:
        """The first collection found; ``by_name``: without the help of its database's name."""
        for at in range(self.model.rowCount(above)):
            index = self.model.index(at, 0, above)
            node = self.model.node(index)
            if node is not None and self.model.finds(node) and (not by_name or self.model.needle in node.name.lower()):
                return index
            if (deeper := self._first_collection(index, by_name)).isValid():
                return deeper
        return QModelIndex()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.search and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._entered(self.tree.currentIndex(), False)
                return True
            if event.key() == Qt.Key.Key_Escape and self.search.text():
                self.search.clear()
                return True
            if event.key() == Qt.Key.Key_Down:
                self.tree.setFocus(Qt.FocusReason.TabFocusReason)
                return True
        return False

    def _entered(self, index: QModelIndex, anew: bool) -> None:
        node = self.model.node(index)
        if node is None:
            return
        if node.info is not None and node.session is not None:
            self.collection_asked.emit(node.session, node.info.ns, anew)
        elif node.kind == "others" and node.session is not None:
            self.look_at(node.session, "")
        elif node.kind == "connection" and node.session is None:
            self.connection_asked.emit(node.saved)
        elif self.model.hasChildren(index):
            self.tree.setExpanded(index, not self.tree.isExpanded(index))

    def _badge_clicked(self, index: QModelIndex) -> None:
        node = self.model.node(index)
        if node is not None and node.info is not None and node.session is not None:
            self.layout_asked.emit(node.session, node.info.ns)
        else:
            self._entered(index, False)

    # --- menu

    def _menu(self, at: QPoint) -> None:
        node = self.model.node(self.tree.indexAt(at))
        if node is None:
            return
        menu = self.menu_for(node)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.tree.viewport().mapToGlobal(at))

    def menu_for(self, node: SourceNode) -> QMenu:
        """The menu of a line."""
        menu = QMenu(self)
        if node.info is not None and node.session is not None:
            session, info = node.session, node.info
            menu.addAction(tr("Open"), partial(self.collection_asked.emit, session, info.ns, False))
            menu.addAction(tr("Open in a new tab"), partial(self.collection_asked.emit, session, info.ns, True))
            menu.addSeparator()
            menu.addAction(tr("Export…"), partial(self.sheet_asked.emit, session, info.ns, "export"))
            if info.belongs_to is None and not session.trust.read_only:
                menu.addAction(tr("Import documents…"), partial(self.sheet_asked.emit, session, info.ns, "import"))
            menu.addAction(tr("Indexes and their use…"), partial(self.sheet_asked.emit, session, info.ns, "indexes"))
            menu.addAction(tr("Activity"), partial(self.activity_asked.emit, session, info.ns))
            menu.addSeparator()
            menu.addAction(tr("Copy the name"), partial(copying.put, info.ns))
            if info.belongs_to is None and info.layout:
                self._add_layouts(menu.addMenu(tr("Layout")), session, info)
        elif node.session is not None and node.kind == "connection":
            menu.addAction(tr("Read the collections again"), partial(self.read, node.session))
            menu.addAction(tr("Activity"), partial(self.activity_asked.emit, node.session, ""))
            if named := node.session.named_database:
                only = menu.addAction(tr("Only the database {named}", named=wording.item(named)))
                only.setCheckable(True)
                only.setChecked(bool(node.session.catalogue.database))
                only.triggered.connect(
                    partial(self.look_at, node.session, "" if node.session.catalogue.database else named)
                )
            menu.addAction(tr("Disconnect"), partial(self.disconnect_asked.emit, node.session))
        elif node.saved is not None:
            menu.addAction(tr("Connect"), partial(self.connection_asked.emit, node.saved))
            if node.saved.uri != "sample:":
                if "://" in node.saved.uri:
                    menu.addAction(tr("Edit this connection…"), partial(self.edit_asked.emit, node.saved))
                menu.addAction(tr("Forget this connection"), partial(self.forget_asked.emit, node.saved))
        elif node.session is not None:
            if node.kind == "database":
                menu.addAction(tr("Activity"), partial(self.activity_asked.emit, node.session, node.name))
            menu.addAction(tr("Copy the name"), partial(copying.put, node.name))
        return menu

    def _add_layouts(self, layouts: QMenu, session: Session, info: CollectionInfo) -> None:
        """The layouts as which a collection can be read, the likely ones first."""
        layouts.addAction(tr("Layout and its grounds…"), partial(self.layout_asked.emit, session, info.ns))
        layouts.addSeparator()
        likely, known = [info.layout, *info.alternatives], session.statements.layouts
        for name in [*likely, *(name for name in known if name not in likely)]:
            said = f"{name}: {known[name]}"
            action = layouts.addAction(said, partial(self.set_layout, session, info.ns, name))
            action.setCheckable(True)
            action.setChecked(name == info.layout)
            if name == likely[-1] and len(known) > len(likely):
                layouts.addSeparator()

    def look_at(self, session: Session, database: str, _: bool = False) -> None:
        """List one database of a connection from now on; "" lists all."""
        session.catalogue.database = database
        self.read(session)
        self.databases_changed.emit(session)

    def set_layout(self, session: Session, ns: str, name: str) -> None:
        """Use another layout for a collection."""
        tasks.run(
            lambda _: session.catalogue.set_layout(ns, name),
            done=partial(self._layout_set, session),
            failed=partial(messages.fail, self),
            owner=self,
            title=tr("Reading {ns} as {name}", ns=ns, name=name),
        )

    def _layout_set(self, session: Session, info: CollectionInfo) -> None:
        self.layout_stated(session, info.ns)

    def layout_stated(self, session: Session, ns: str) -> None:
        """Read again: a collection's layout changed, and with it perhaps which one is its archive."""
        self.read(session)
        self.layout_changed.emit(session, ns)

    # --- folding

    def fold(self, folded: bool, at_once: bool = False) -> None:
        """Fold to the rail, or unfold."""
        if folded == self.folded and not at_once:
            return
        self.folded = folded
        width = self._wanted
        self._pages.setCurrentIndex(1 if folded else 0)
        if at_once or preferences.still() or not self.isVisible():
            self._stop_motion()
            self.setFixedWidth(width)
        else:
            self._motion.setStartValue(self.width())
            self._motion.setEndValue(width)
            self._motion.start()
        self.fold_changed.emit(folded)

    def fit(self, room: int) -> None:
        """Take no more than a share of a window's width."""
        self._room = room
        self._take_width()

    @property
    def _wanted(self) -> int:
        return theme.px(RAIL) if self.folded else min(theme.px(WIDTH), round(SHARE * self._room))

    def _moved(self, width: object) -> None:
        if isinstance(width, int):
            self.setFixedWidth(width)

    def _take_width(self) -> None:
        self._stop_motion()
        self.setFixedWidth(self._wanted)


def _icon(kind: str) -> str:
    return PAGES[kind].actions[0].icon  # does not import the page itself
