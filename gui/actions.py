"""The actions: everything a person can ask for, in one table of id, menu, text, keys and needs.

The page in front says in :meth:`~gui.pages.base.Page.handlers` what each action does, by its id, and the window's
commands say it of those that the page leaves out. An action that opens a page stands in that page's row of the
registry. ``needs`` are facts; both the page and the window state theirs, and an action is enabled while all of its
needs are among them. A write that is not possible says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Literal, TypeAlias

from msgspec import Struct
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from gui.language import tr
from gui.style import icons, wording

About = Literal["", "connection", "database", "collection", "document"]
Handlers: TypeAlias = "dict[str, Callable[[], object]]"
"""What is called for each action, by the action's id."""


class Item(Struct, frozen=True):
    """One line of the table; a line without an id is a separator, or the place for actions that open pages."""

    menu: str
    id: str = ""
    text: str = ""
    keys: tuple[str, ...] = ()
    needs: frozenset[str] = frozenset()
    icon: str = ""
    checked: str = ""  # the fact that ticks it
    about: About = ""  # which part of the place in front the opened page is about
    pages: bool = False
    listed: bool = True  # in the menus; the palette and the keys lead to every action
    choices: tuple[str, ...] = ()  # the actions among which it lets a person choose


def item(
    menu: str, id: str, text: str, keys: str = "", needs: str = "",
    *, icon: str = "", checked: str = "", about: About = "", listed: bool = True,
) -> Item:  # fmt: skip
    """An action, with keys and needs as words."""
    return Item(menu, id, text, tuple(keys.split()), frozenset(needs.split()), icon, checked, about, listed=listed)


unlisted = partial(item, listed=False)
"""An action that is not in the menus: the palette finds it, and its keys work."""


def choice(menu: str, id: str, text: str, among: str, *, icon: str = "") -> Item:
    """An action that asks which one of some unlisted actions is meant."""
    return Item(menu, id, text, icon=icon, choices=tuple(among.split()))


def line(menu: str) -> Item:
    """A separator."""
    return Item(menu)


def _pages(menu: str) -> Item:
    return Item(menu, pages=True)


MENUS = ("File", "Edit", "View", "Document", "Compare", "Repair", "Help")
"""The menus by name, in their order."""
TITLES = {
    "File": tr("&File"), "Edit": tr("&Edit"), "View": tr("&View"), "Document": tr("&Document"),
    "Compare": tr("&Compare"), "Repair": tr("&Repair"), "Help": tr("&Help"),
}  # fmt: skip
"""Their titles; Alt with the letter after the ``&`` opens a menu."""

LACKING = {
    "session": tr("No connection is open"),
    "page": tr("No tab is open"),
    "tabs": tr("No other tab is open"),
    "closed-tab": tr("No tab was closed so far"),
    "collection": tr("No collection is in front"),
    "list": tr("No list of documents is in front"),
    "versions": tr("No list of a collection that keeps earlier versions is in front"),
    "past": tr("The list already shows the present documents"),
    "document": tr("No document is chosen"),
    "readable": tr("No document that can be read is chosen"),
    "several": tr("Pick several documents first, with Ctrl or Shift held down"),
    "two-picked": tr("Pick two documents first, with Ctrl held down"),
    "remembered": tr("Remember a document, or a version of one, first"),
    "merge": tr("No merge is in front"),
    "diff": tr("No comparison is in front"),
    "pair": tr("No two versions are compared"),
    "restorable": tr("A is not an earlier version to restore from"),
    "undo": tr("There is nothing to undo here"),
    "redo": tr("There is nothing to redo here"),
    "find": tr("There is nothing to search here"),
    "find-next": tr("No document is open in the editor"),
    "replace": tr("No document is open in the editor"),
    "dirty": tr("Nothing is changed"),
    "numbers": tr("This collection holds no numbers that are counted up"),
    "tokens": tr("This collection has no counters that are raised in two steps"),
    "entries": tr("This collection has no lists of processed entries"),
    "sample": tr("Only documents of the sample have a colleague"),
    "index-missing": tr("No index is missing here"),
    "desktop": tr("On this system only installers add programs to the menus"),
    "settable": tr("Whether writes are allowed cannot be changed here"),
    "writable": tr("Writes are not allowed here"),
}
"""Why an action cannot be done, for each need. The first missing need is told, unless a page says it better."""

TABLE: tuple[Item, ...] = (
    item("File", "connect", tr("New connection…"), "Ctrl+N", icon="plus"),
    item("File", "open-dump", tr("Open a dump's folder…"), "Ctrl+O", icon="folder-open"),
    item("File", "open-file", tr("Open a dump file…"), "Ctrl+Shift+O"),
    item("File", "open-sample", tr("Open the sample"), icon="flask"),
    line("File"),
    item("File", "new-tab", tr("New tab…"), "Ctrl+T", "session"),
    item("File", "close-tab", tr("Close tab"), "Ctrl+W", "page"),
    unlisted("File", "reopen-tab", tr("Open the closed tab again"), "Ctrl+Shift+T", "closed-tab"),
    unlisted("File", "list-tabs", tr("List of tabs…"), "Ctrl+Shift+A", "page"),
    unlisted("File", "next-tab", tr("Next tab"), "Ctrl+Tab", "tabs"),
    unlisted("File", "previous-tab", tr("Previous tab"), "Ctrl+Shift+Tab", "tabs"),
    unlisted("File", "tab-left", tr("Move tab to the left"), "Ctrl+Shift+PgUp", "tabs"),
    unlisted("File", "tab-right", tr("Move tab to the right"), "Ctrl+Shift+PgDown", "tabs"),
    line("File"),
    item("File", "allow-writes", tr("Allow writes"), "", "session settable", checked="writes"),
    unlisted("File", "sign-as", tr("Sign as…"), "", "session"),
    _pages("File"),
    item("File", "disconnect", tr("Disconnect"), "", "session"),
    line("File"),
    item("File", "settings", tr("Settings…"), "Ctrl+,", icon="gear"),
    item("File", "new-window", tr("New window"), "Ctrl+Alt+N"),
    unlisted("File", "close-window", tr("Close window"), "Ctrl+Shift+W"),
    item("File", "quit", tr("Quit"), "Ctrl+Q"),
    item("Edit", "undo", tr("Undo"), "Ctrl+Z", "undo"),
    item("Edit", "redo", tr("Redo"), "Ctrl+Shift+Z", "redo"),
    line("Edit"),
    item("Edit", "find", tr("Find…"), "Ctrl+F", "find"),
    unlisted("Edit", "find-next", tr("Find next"), "F3", "find-next"),
    unlisted("Edit", "find-previous", tr("Find previous"), "Shift+F3", "find-next"),
    unlisted("Edit", "replace", tr("Replace…"), "Ctrl+H", "replace"),
    line("Edit"),
    item("Edit", "copy-id", tr("Copy the id"), "Ctrl+Shift+I", "document"),
    item("Edit", "copy-document", tr("Copy as Extended JSON"), "Ctrl+Shift+C", "document readable"),
    unlisted("Edit", "paste", tr("Paste documents…"), "Ctrl+V", "list collection writable"),
    line("Edit"),
    item("Edit", "palette", tr("Find a command or collection…"), "Ctrl+K", icon="magnifying-glass"),
    item("View", "refresh", tr("Refresh"), "Ctrl+R F5", "session", icon="arrows-clockwise"),
    item("View", "as-json", tr("Documents as JSON"), "Ctrl+J", "list", checked="json"),
    unlisted("View", "only-list", tr("Only the list"), "", "list", checked="only-list"),
    item("View", "explain", tr("Explain the query and the indexes…"), "Ctrl+Shift+X", "list", icon="chart-bar"),
    item("View", "query-options", tr("Order, columns and limits…"), "Ctrl+Shift+L", "list", icon="sliders-horizontal"),
    item("View", "layout", tr("Layout and its grounds…"), "", "collection", icon="info"),
    item("View", "as-of", tr("As of a time…"), "Ctrl+Shift+Y", "versions", icon="clock-counter-clockwise"),
    item("View", "deleted", tr("Deleted documents"), "", "versions", checked="deleted"),
    unlisted("View", "back-to-now", tr("Back to now"), "", "past"),
    line("View"),
    item("View", "toggle-sidebar", tr("Sidebar"), "F9", "session", checked="sidebar"),
    unlisted("View", "menus", tr("Menus"), "F10"),
    unlisted("View", "next-pane", tr("Next pane"), "F6"),
    unlisted("View", "previous-pane", tr("Previous pane"), "Shift+F6"),
    unlisted("View", "context-menu", tr("Menu of what has the focus"), "Shift+F10"),
    line("View"),
    _pages("View"),
    line("View"),
    choice("View", "choose-activity", tr("Activity…"), "activity activity-collection activity-document", icon="pulse"),
    line("View"),
    item("View", "zoom-in", tr("Larger text"), "Ctrl++ Ctrl+=", icon="magnifying-glass-plus"),
    item("View", "zoom-out", tr("Smaller text"), "Ctrl+-", icon="magnifying-glass-minus"),
    unlisted("View", "zoom-reset", tr("Text as large as the system's"), "Ctrl+0"),
    line("View"),
    unlisted("View", "theme-light", tr("Light colours"), checked="light"),
    unlisted("View", "theme-dark", tr("Dark colours"), checked="dark"),
    unlisted("View", "theme-system", tr("Colours as the system says"), checked="system"),
    unlisted("Document", "open-document", tr("Open"), "", "document list"),
    item("Document", "new-document", tr("New document…"), "Ctrl+Shift+N", "collection writable", icon="plus"),
    unlisted("Document", "insert-next", tr("New document under the next number…"), "", "collection writable"),
    item("Document", "duplicate", tr("Duplicate…"), "", "document readable writable"),
    unlisted("Document", "next-number", tr("Take the next number…"), "", "document numbers writable"),
    unlisted("Document", "count-once", tr("Count once…"), "", "tokens writable"),
    unlisted("Document", "process-entry", tr("Process an entry…"), "", "entries writable"),
    choice(
        "Document",
        "choose-export",
        tr("Export…"),
        "export export-picked export-history export-document-history",
        icon="export",
    ),
    choice("Document", "choose-import", tr("Import…"), "import import-history"),
    unlisted("Document", "export", tr("Export the list…"), "", "list", icon="export"),
    unlisted("Document", "export-picked", tr("Export the picked documents…"), "", "several"),
    unlisted("Document", "import", tr("Import documents…"), "", "list collection writable"),
    unlisted("Document", "export-history", tr("Export the history of the collection…"), "", "versions"),
    unlisted("Document", "export-document-history", tr("Export the history of the document…"), "", "document"),
    unlisted("Document", "import-history", tr("Import history…"), "", "list collection writable"),
    item("Document", "save", tr("Save"), "Ctrl+S", "dirty"),
    item("Document", "discard", tr("Discard the changes…"), "", "dirty"),
    line("Document"),
    item("Document", "history", tr("History"), "Ctrl+Shift+H", "document", icon="clock-counter-clockwise"),
    item("Document", "delete", tr("Delete…"), "", "document writable", icon="trash"),
    unlisted(
        "Document", "change-many", tr("Change several documents…"), "", "list collection writable", icon="pencil-simple"
    ),
    unlisted("Document", "delete-picked", tr("Delete the picked documents…"), "", "several writable"),
    unlisted("Document", "remove-version", tr("Remove version A…"), "", "diff restorable"),
    unlisted("Document", "purge", tr("Purge with all versions…"), "", "document writable"),
    unlisted("Document", "erase", tr("Erase fields for good…"), "", "document writable"),
    line("Document"),
    unlisted(
        "Document", "colleague", tr("Edit as a colleague"), "Ctrl+Shift+E", "document sample readable", icon="users"
    ),
    item("Compare", "compare-other", tr("Compare with another document…"), "", "document"),
    unlisted("Compare", "remember", tr("Remember for a comparison"), "", "document"),
    unlisted("Compare", "compare-remembered", tr("Compare with what is remembered"), "", "document remembered"),
    unlisted("Compare", "compare-picked", tr("Compare the two picked documents"), "", "two-picked"),
    item("Compare", "compare", tr("Compare two versions"), "Ctrl+D", "document", icon="git-diff"),
    _pages("Compare"),
    line("Compare"),
    unlisted("Compare", "swap", tr("Swap A and B"), "", "diff pair"),
    item("Compare", "restore", tr("Restore from A…"), "", "diff restorable", icon="arrow-counter-clockwise"),
    line("Compare"),
    item("Compare", "previous-change", tr("Previous change"), "Ctrl+Up", "diff"),
    item("Compare", "next-change", tr("Next change"), "Ctrl+Down", "diff"),
    item("Compare", "inline", tr("Both values in one column"), "Ctrl+I", "diff", checked="inline"),
    unlisted("Compare", "hidden-fields", tr("Hidden fields…"), "", "diff", icon="eye-slash"),
    line("Compare"),
    unlisted("Compare", "previous-conflict", tr("Previous conflict"), "Ctrl+PgUp", "merge"),
    unlisted("Compare", "next-conflict", tr("Next conflict"), "Ctrl+PgDown", "merge"),
    item("Compare", "take-opened", tr("Keep what was opened"), "Ctrl+1", "merge"),
    item("Compare", "take-mine", tr("Use mine"), "Ctrl+2", "merge"),
    item("Compare", "take-database", tr("Use the database's"), "Ctrl+3", "merge"),
    unlisted("Compare", "take-opened-all", tr("Keep what was opened, for all unresolved"), "Ctrl+Shift+1", "merge"),
    unlisted("Compare", "take-mine-all", tr("Use mine, for all unresolved"), "Ctrl+Shift+2", "merge"),
    unlisted("Compare", "take-database-all", tr("Use the database's, for all unresolved"), "Ctrl+Shift+3", "merge"),
    choice(
        "Repair", "choose-repairs", tr("Look for damage…"), "repairs-collection repairs-document repairs", icon="wrench"
    ),
    _pages("Repair"),
    item("Repair", "retain", tr("Remove earlier versions…"), "", "list collection versions writable"),
    item("Repair", "create-index", tr("Create the unique index that writing needs…"), "", "collection index-missing"),
    item("Help", "help", tr("Help for this view"), "F1", icon="question"),
    item("Help", "manual", tr("The manual"), icon="file-text"),
    item("Help", "shortcuts", tr("Keyboard"), "Ctrl+F1", icon="keyboard"),
    line("Help"),
    item("Help", "welcome", tr("Five things to try")),
    line("Help"),
    unlisted("Help", "desktop-entry", tr("In the desktop's menus…"), "", "desktop"),
    item("Help", "about", tr("About Palimpsest")),
)


def with_pages(opening: Iterable[Item]) -> tuple[Item, ...]:
    """The whole table: actions that open a page are put where their menu keeps room for them."""
    made: list[Item] = []
    left = list(opening)
    for one in TABLE:
        made += [each for each in left if each.menu == one.menu] if one.pages else [one]
    kept = {one.menu for one in TABLE if one.pages}
    return (*made, *(each for each in left if each.menu not in kept))


class Actions(QObject):
    """The table of actions as menus; ``asked`` carries the item to be done."""

    asked = Signal(object)

    def __init__(self, window: QWidget, table: Sequence[Item]) -> None:
        super().__init__(window)
        self.table = table
        self.by_id: dict[str, QAction] = {}
        self._items: dict[str, Item] = {}
        self._why: dict[str, str] = {}  # why an action cannot be done now
        self._told: tuple[frozenset[str], dict[str, str]] | None = None
        for item in table:
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
            menus[name] = bar.addMenu(TITLES[name])
            if QKeySequence.mnemonic(TITLES[name]).isEmpty():  # macOS has no such keys of its own
                opens = QShortcut(QKeySequence(f"Alt+{TITLES[name].partition('&')[2][0]}"), bar.window())
                opens.activated.connect(partial(_open_menu, bar, menus[name]))
            menus[name].setToolTipsVisible(True)
        for item in self.table:
            if not item.id:
                menus[item.menu].addSeparator()  # Qt shows one of several in a row
            elif item.listed:
                menus[item.menu].addAction(self.by_id[item.id])

    def update(self, facts: Iterable[str], reasons: Mapping[str, str]) -> None:
        """Enable the actions that can be done; ``reasons`` says why a fact is missing."""
        there = frozenset(facts)
        for id, action in self.by_id.items():
            if self._items[id].checked:
                action.setChecked(self._items[id].checked in there)
        if self._told == (told := (there, dict(reasons))):
            return
        self._told = told
        for item in sorted(self._items.values(), key=lambda each: bool(each.choices)):  # a choice is as its actions are
            id, action = item.id, self.by_id[item.id]
            lacking = [need for need in LACKING if need in item.needs and need not in there]
            if item.choices:
                self._choice(item)
                continue
            action.setEnabled(not lacking)
            said = [reasons[need] for need in lacking if reasons.get(need)] + [LACKING[need] for need in lacking]
            self._why[id] = said[0] if said else ""
            action.setToolTip(wording.tip(self._why[id]))

    def _choice(self, item: Item) -> None:
        """Enable a choice if one of its actions can be done; else say why the first one cannot."""
        possible = any(self.by_id[id].isEnabled() for id in item.choices)
        self.by_id[item.id].setEnabled(possible)
        self._why[item.id] = "" if possible else self._why[item.choices[0]]
        self.by_id[item.id].setToolTip(wording.tip(self._why[item.id]))

    def all(self) -> list[tuple[Item, QAction]]:
        """All actions in the table's order; the tooltip of a disabled one says why."""
        return [(self._items[id], action) for id, action in self.by_id.items()]

    def why_not(self, keys: QKeySequence) -> str:
        """Why the action with these keys cannot be done now; "" if there is none, or it can be done."""
        disabled = (id for id, a in self.by_id.items() if not a.isEnabled() and keys in a.shortcuts())
        return next((self.why(id) for id in disabled), "")

    def why(self, id: str) -> str:
        """Why an action cannot be done now; "" if it can."""
        return "" if self.by_id[id].isEnabled() else self._why.get(id, "")

    def trigger(self, id: str) -> None:
        """Do one action, if it can be done."""
        self.by_id[id].trigger()


def _open_menu(bar: QMenuBar, menu: QMenu) -> None:
    bar.setActiveAction(menu.menuAction())


class _Asker(QObject):
    def __init__(self, actions: Actions, item: Item) -> None:
        super().__init__(actions)
        self._actions, self._item = actions, item

    def ask(self) -> None:
        self._actions.asked.emit(self._item)


def keys_text(item: Item) -> str:
    """The keys of an action as people read them."""
    return ", ".join(wording.keys(key) for key in item.keys)
