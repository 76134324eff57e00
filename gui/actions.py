"""Everything a person can ask for, in one table: id, menu, text, keys, the method that does it, when it can be done.

``method`` is looked up on the page in front, then on the window. ``needs`` are facts; both the page and the window
state theirs, and an action is enabled while all of its needs are among them. A write that is not possible says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from gui.style import icons


@dataclass(frozen=True)
class Item:
    """One line of the table; a line without id is a separator."""

    menu: str
    id: str = ""
    text: str = ""
    keys: tuple[str, ...] = ()
    method: str = ""
    needs: frozenset[str] = frozenset()
    icon: str = ""
    checked: str = ""  # the fact that ticks it


def _item(menu: str, id: str, text: str, keys: str = "", needs: str = "", method: str = "", **more: str) -> Item:
    return Item(
        menu,
        id,
        text,
        tuple(keys.split()),
        method or id.replace("-", "_"),
        frozenset(needs.split()),
        more.get("icon", ""),
        more.get("checked", ""),
    )


def _line(menu: str) -> Item:
    return Item(menu)


MENUS = ("File", "Edit", "View", "Document", "Compare", "Repair", "Help")

TABLE: tuple[Item, ...] = (
    _item("File", "connect", "New connection…", "Ctrl+N", icon="plus"),
    _item("File", "open-dump", "Open a dump's folder…", "Ctrl+O", icon="folder-open"),
    _item("File", "open-file", "Open a dump file…", "Ctrl+Shift+O"),
    _item("File", "open-sample", "Open the sample", icon="flask"),
    _line("File"),
    _item("File", "new-tab", "New tab…", "Ctrl+T", "session"),
    _item("File", "close-tab", "Close tab", "Ctrl+W", "page"),
    _item("File", "next-tab", "Next tab", "Ctrl+Tab", "tabs"),
    _item("File", "previous-tab", "Previous tab", "Ctrl+Shift+Tab", "tabs"),
    _item("File", "tab-left", "Move tab to the left", "Ctrl+Shift+PgUp", "tabs"),
    _item("File", "tab-right", "Move tab to the right", "Ctrl+Shift+PgDown", "tabs"),
    _line("File"),
    _item("File", "allow-writes", "Allow writes", "", "session settable", checked="writes"),
    _item("File", "check", "Check this server…", "", "session", icon="hard-drives"),
    _item("File", "disconnect", "Disconnect", "", "session"),
    _line("File"),
    _item("File", "settings", "Settings…", "Ctrl+,", icon="gear"),
    _item("File", "quit", "Quit", "Ctrl+Q"),
    _item("Edit", "undo", "Undo", "Ctrl+Z", "undo"),
    _item("Edit", "redo", "Redo", "Ctrl+Shift+Z", "redo"),
    _line("Edit"),
    _item("Edit", "find", "Find…", "Ctrl+F", "find"),
    _item("Edit", "find-next", "Find next", "F3", "find-next"),
    _item("Edit", "find-previous", "Find previous", "Shift+F3", "find-next"),
    _line("Edit"),
    _item("Edit", "copy-id", "Copy the id", "Ctrl+Shift+I", "document"),
    _item("Edit", "copy-document", "Copy as Extended JSON", "Ctrl+Shift+C", "document readable"),
    _line("Edit"),
    _item("Edit", "palette", "Find a command or collection…", "Ctrl+K", icon="magnifying-glass"),
    _item("View", "refresh", "Refresh", "Ctrl+R F5", "session", icon="arrows-clockwise"),
    _item("View", "as-json", "Documents as JSON", "Ctrl+J", "list", checked="json"),
    _line("View"),
    _item("View", "toggle-sidebar", "Sidebar", "F9", "session", checked="sidebar"),
    _item("View", "next-pane", "Next pane", "F6"),
    _item("View", "previous-pane", "Previous pane", "Shift+F6"),
    _item("View", "context-menu", "Menu of what has the focus", "Shift+F10"),
    _line("View"),
    _item("View", "drafts", "Drafts", "", "session", icon="note-pencil"),
    _item("View", "journal", "Journal", "", "session", icon="notebook"),
    _line("View"),
    _item("View", "theme-light", "Light colours", checked="light"),
    _item("View", "theme-dark", "Dark colours", checked="dark"),
    _item("View", "theme-system", "Colours as the system says", checked="system"),
    _item("Document", "open-document", "Open", "", "document list"),
    _item("Document", "new-document", "New document…", "Ctrl+Shift+N", "collection writable", icon="plus"),
    _item("Document", "insert-next", "New document under the next number…", "", "collection writable"),
    _item("Document", "duplicate", "Duplicate…", "", "document readable writable"),
    _item("Document", "next-number", "Take the next number…", "", "document sequence writable"),
    _item("Document", "count-once", "Count once…", "", "pending writable"),
    _item("Document", "process-entry", "Process an entry…", "", "processed writable"),
    _item("Document", "export", "Export the list…", "", "list", icon="export"),
    _item("Document", "save", "Save", "Ctrl+S", "dirty"),
    _item("Document", "discard", "Discard the changes…", "", "dirty"),
    _line("Document"),
    _item("Document", "history", "History", "Ctrl+Shift+H", "document", icon="clock-counter-clockwise"),
    _item("Document", "delete", "Delete…", "", "document writable", icon="trash"),
    _line("Document"),
    _item("Document", "colleague", "Edit as a colleague", "Ctrl+Shift+E", "document sample readable", icon="users"),
    _item("Compare", "compare", "Compare two versions", "Ctrl+D", "document", icon="git-diff"),
    _item("Compare", "change-map", "Change map", "", "document", icon="grid-four"),
    _item("Compare", "blame", "Blame", "Ctrl+Shift+B", "document", icon="user-list"),
    _line("Compare"),
    _item("Compare", "swap", "Swap A and B", "", "diff pair"),
    _item("Compare", "restore", "Restore from A…", "", "diff restorable writable", icon="arrow-counter-clockwise"),
    _line("Compare"),
    _item("Compare", "previous-change", "Previous change", "Ctrl+Up", "diff"),
    _item("Compare", "next-change", "Next change", "Ctrl+Down", "diff"),
    _item("Compare", "inline", "Both values in one column", "Ctrl+I", "diff", checked="inline"),
    _item("Compare", "hidden-fields", "Hidden fields…", "", "diff", icon="eye-slash"),
    _line("Compare"),
    _item("Compare", "previous-conflict", "Previous conflict", "Ctrl+PgUp", "merge"),
    _item("Compare", "next-conflict", "Next conflict", "Ctrl+PgDown", "merge"),
    _item("Compare", "take-opened", "Keep what was opened", "Ctrl+1", "merge"),
    _item("Compare", "take-mine", "Use mine", "Ctrl+2", "merge"),
    _item("Compare", "take-database", "Use the database's", "Ctrl+3", "merge"),
    _item("Compare", "take-opened-all", "Keep what was opened, for all unresolved", "Ctrl+Shift+1", "merge"),
    _item("Compare", "take-mine-all", "Use mine, for all unresolved", "Ctrl+Shift+2", "merge"),
    _item("Compare", "take-database-all", "Use the database's, for all unresolved", "Ctrl+Shift+3", "merge"),
    _item("Repair", "repairs", "Look for damage", "Ctrl+Shift+R", "session", icon="wrench"),
    _item("Repair", "repairs-collection", "Look for damage in this collection", "", "collection"),
    _item("Repair", "repairs-document", "Look for damage in this document", "", "document"),
    _line("Repair"),
    _item("Repair", "health", "Health: findings over time", "", "session", icon="chart-bar"),
    _item("Repair", "pending", "Pending tokens", "", "session", icon="hourglass"),
    _item("Repair", "migrate", "Move to another layout…", "", "collection", icon="swap"),
    _item("Repair", "create-index", "Create the unique index that writing needs…", "", "collection index-missing"),
    _item("Help", "welcome", "Five things to try"),
    _item("Help", "shortcuts", "Keyboard", "F1", icon="keyboard"),
    _line("Help"),
    _item("Help", "about", "About Palimpsest"),
)


class Actions(QObject):
    """The table as menus; ``asked`` carries the item whose method should be called."""

    asked = Signal(object)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.by_id: dict[str, QAction] = {}
        self._items: dict[str, Item] = {}
        for item in TABLE:
            if not item.id:
                continue
            action = QAction(item.text, window)
            action.setObjectName(item.id)
            action.setShortcuts([QKeySequence(key) for key in item.keys])
            if item.icon:
                action.setIcon(icons.icon(item.icon))
                action.setIconVisibleInMenu(False)
            action.setCheckable(bool(item.checked))
            action.triggered.connect(_Asker(self, item).ask)
            window.addAction(action)
            self.by_id[item.id] = action
            self._items[item.id] = item

    def fill(self, bar: QMenuBar) -> None:
        """Put the menus into a menu bar."""
        menus: dict[str, QMenu] = {}
        for name in MENUS:
            menus[name] = bar.addMenu(name)
            menus[name].setToolTipsVisible(True)
        for item in TABLE:
            if item.id:
                menus[item.menu].addAction(self.by_id[item.id])
            else:
                menus[item.menu].addSeparator()

    def update(self, facts: Iterable[str], reasons: Mapping[str, str]) -> None:
        """Enable what can be done; ``reasons`` says for a fact that is missing why it is."""
        there = frozenset(facts)
        for id, action in self.by_id.items():
            item = self._items[id]
            lacking = [need for need in sorted(item.needs) if need not in there]
            action.setEnabled(not lacking)
            action.setToolTip(next((reasons[need] for need in lacking if reasons.get(need)), ""))
            if item.checked:
                action.setChecked(item.checked in there)

    def enabled(self) -> list[tuple[Item, QAction]]:
        """What can be done now, in the table's order."""
        return [(self._items[id], action) for id, action in self.by_id.items() if action.isEnabled()]

    def trigger(self, id: str) -> None:
        """Do one thing, if it can be done."""
        self.by_id[id].trigger()


class _Asker(QObject):
    def __init__(self, actions: Actions, item: Item) -> None:
        super().__init__(actions)
        self._actions, self._item = actions, item

    def ask(self) -> None:
        self._actions.asked.emit(self._item)


def keys_text(item: Item) -> str:
    """The keys of an action as people read them."""
    return ", ".join(QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText) for key in item.keys)


def resolve(item: Item, places: Iterable[object]) -> Callable[[], object] | None:
    """The method that does it: the first place's that has one."""
    for place in places:
        found = getattr(place, f"do_{item.method}", None)
        if callable(found):
            return found  # type: ignore[no-any-return]
    return None
