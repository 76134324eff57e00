"""The actions that the window itself does, not the current page."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenuBar, QWidget
from shiboken6 import isValid

from gui import messages, tasks, turns
from gui.actions import TITLES, Actions, Handlers, Item, keys_text
from gui.language import tr
from gui.pages import page_registry
from gui.pages.page_request import CollectionsStart, PageRequest, PairStart
from gui.starting import desktop_entry
from gui.style import focus_keeper, preferences, theme, wording, zooming
from gui.window.hit import Hit
from resources import manual

if TYPE_CHECKING:
    from gui.help.help_window import HelpWindow
    from gui.parts.document_side import DocumentSide
    from gui.views.stating.layout_sheet import LayoutSheet
    from gui.window.connecting import Connecting
    from gui.window.open_sessions import OpenSessions
    from gui.window.palette import Palette
    from gui.window.workspace import Workspace
    from model.foundation.records import ServerFacts
    from model.session import Session


UNFOUND = ("palette", "menus", "next-pane", "previous-pane", "context-menu")
"""Actions that the palette does not list: it covers what they are about."""
COMMANDS = {
    "activity": "activity", "as-of": "asof", "bisect": "bisect", "blame": "blame", "change-many": "change",
    "count-once": "count", "migrate": "adopt migrate", "next-number": "next", "pending": "cleanup", "purge": "erase",
    "repairs": "scan repair", "repairs-collection": "scan repair", "repairs-document": "scan repair",
    "retain": "retain", "two-collections": "compare", "two-times": "asof",
}  # fmt: skip
"""The commands that do what an action does under another name; the palette finds the action by them, too."""


class WindowCommands(QObject):
    """Does what no page does; ``changed``: one of the :meth:`handlers` changed something."""

    changed = Signal()
    another_asked = Signal()
    quit_asked = Signal()

    def __init__(self, workspace: Workspace, sessions: OpenSessions, connecting: Connecting, actions: Actions) -> None:
        super().__init__(workspace)
        self._workspace, self._sessions = workspace, sessions
        self._connecting, self._actions = connecting, actions
        self.help: HelpWindow | None = None
        self._palette: Palette | None = None
        self._hits: Callable[[], list[Hit]] = list  # what the palette finds
        workspace.made.connect(self._watch_sidebar)

    # --- what an action does

    def call_for(self, item: Item) -> Callable[[], object] | None:
        """The call for an action now: from the current page, from the window, or opening a page."""
        if item.choices:
            return partial(self._choose, item)
        page = self._workspace.page
        of_page = page.handlers() if page is not None else {}
        return of_page.get(item.id) or self.handlers().get(item.id) or self._opening(item)

    def _opening(self, item: Item) -> Callable[[], object] | None:
        session = self._workspace.session
        request = page_registry.asked_by(item, self._workspace.tab_area.page)
        if session is None or request is None:
            return None
        return partial(self._workspace.open, session, request)

    def open_entry(self, kind: str) -> None:
        """Open the page of a sidebar entry, about the collection in front where it is about one."""
        row = page_registry.PAGES[kind]
        whole, *others = row.actions
        named = row.entry.of_front if row.entry is not None else ""
        of_front = [each for each in others if named and each.id == named]  # a line between actions has no id
        call = self._opening(of_front[0] if of_front and self._front_has_versions() else whole)
        if call is not None:
            call()

    def _front_has_versions(self) -> bool:
        page = self._workspace.tab_area.page
        if page is None:
            return False
        known = self._workspace.sidebar.ns_known(page.session)
        return any(info.ns == page.ns and bool(info.keeps_history or info.belongs_to) for info in known)

    def choose_other(self, there: DocumentSide, side: str) -> None:
        """Ask for a document of any open connection, and compare it with the given one, as A or B."""
        known = self._workspace.sidebar.ns_known
        places = {session: [info.ns for info in known(session)] for session in self._sessions.all}
        from gui.views.compare.other_document import OtherDocument

        asked = OtherDocument(self._workspace, there, places)
        asked.chosen.connect(partial(self._compare_with, there, side))
        asked.open()

    def _compare_with(self, there: DocumentSide, side: str, other: DocumentSide) -> None:
        start = PairStart(there, other) if side == "b" else PairStart(other, there)
        self._workspace.open(start.right.session, PageRequest("pair", start.right.ns, start.right.id, start))

    def do_two_collections(self) -> None:
        """Compare the collection in front with one of any open connection."""
        page = self._workspace.page
        if page is None or not page.ns:
            return
        known = self._workspace.sidebar.ns_known
        start = CollectionsStart({session: [info.ns for info in known(session)] for session in self._sessions.all})
        self._workspace.open(page.session, PageRequest("collections", page.ns, start=start))

    # --- file

    def handlers(self) -> Handlers:
        """What each action does here, by the action's id."""
        return {
            "connect": self._connecting.ask,
            "open-dump": self._connecting.pick_folder,
            "open-file": self._connecting.pick_file,
            "open-sample": self._connecting.open_sample,
            "new-tab": self.do_new_tab,
            "close-tab": self.do_close_tab,
            "reopen-tab": self.do_reopen_tab,
            "list-tabs": self.do_list_tabs,
            "next-tab": self.do_next_tab,
            "previous-tab": self.do_previous_tab,
            "tab-left": partial(self._shift, -1),
            "tab-right": partial(self._shift, 1),
            "sign-as": self.do_sign_as,
            "allow-writes": self.do_allow_writes,
            "disconnect": self.do_disconnect,
            "settings": self.do_settings,
            "two-collections": self.do_two_collections,
            "new-window": self.do_new_window,
            "close-window": self._workspace.window().close,
            "quit": self.quit_asked.emit,
            "context-menu": self.do_context_menu,
            "palette": self.do_palette,
            "refresh": self.do_refresh,
            "layout": self.do_layout,
            "toggle-sidebar": self._workspace.toggle_sidebar,
            "menus": self.do_menus,
            "next-pane": partial(self._pane, 1),
            "previous-pane": partial(self._pane, -1),
            "theme-light": partial(self._put_theme, "light"),
            "theme-dark": partial(self._put_theme, "dark"),
            "theme-system": partial(self._put_theme, "system"),
            "zoom-in": partial(self._zoom, 1),
            "zoom-out": partial(self._zoom, -1),
            "zoom-reset": partial(preferences.put, "zoom", 100),
            "help": self.do_help,
            "manual": self.do_manual,
            "welcome": self.do_welcome,
            "shortcuts": self.do_shortcuts,
            "about": self.do_about,
            "desktop-entry": self.do_desktop_entry,
        }

    def do_new_tab(self) -> None:
        """Find a collection and open it in a new tab."""
        collections = partial(self._collections, anew=True)
        self._workspace.show_work()
        self._find(collections, tr("Open a collection in a new tab"))

    def do_close_tab(self) -> None:
        self._workspace.tab_area.close_at(self._workspace.tab_area.tabs.bar.currentIndex())

    def do_reopen_tab(self) -> None:
        """Reopen the tab closed last, where it was."""
        self._workspace.tab_area.reopen()

    def do_list_tabs(self) -> None:
        """Find an open tab by its name."""
        self._find(self._tabs, tr("Go to a tab"))

    def _tabs(self) -> list[Hit]:
        area = self._workspace.tab_area
        return [
            Hit(page.title, partial(area.show_page, page), page.icon, page.tip, tr("not saved") if page.dirty else "")
            for page in area.pages
        ]

    def do_next_tab(self) -> None:
        self._step(1)

    def do_previous_tab(self) -> None:
        self._step(-1)

    def _step(self, by: int) -> None:
        bar = self._workspace.tab_area.tabs.bar
        if bar.count():
            bar.setCurrentIndex((bar.currentIndex() + by) % bar.count())

    def _shift(self, by: int) -> None:
        bar = self._workspace.tab_area.tabs.bar
        if 0 <= bar.currentIndex() + by < bar.count():
            bar.moveTab(bar.currentIndex(), bar.currentIndex() + by)

    def do_sign_as(self) -> None:
        """Ask for the author's name on the current connection, if a profile requires one."""
        if (session := self._workspace.session) is not None:
            from gui.parts.author_sheet import ask_author

            ask_author(self._workspace, session)

    def do_allow_writes(self) -> None:
        """Make the current connection read-only, or ask before allowing writes again."""
        session = self._workspace.session
        if session is None:
            return
        if not session.trust.read_only:
            session.trust.read_only = True
            self._writes_changed(session)
            messages.tell(
                self._workspace,
                tr("{name} is read-only now", name=wording.source(session.name, first=True)),
                choices=[(tr("Allow writes"), partial(self._allow, session))],
            )
            return
        if session.is_local and not session.is_sample:
            messages.confirm(
                self._workspace,
                tr("Open {name} into memory?", name=wording.source(session.name)),
                tr("A dump is never written to. In memory edits can be tried; they are thrown away with the window."),
                tr("Open into memory"),
                partial(self._connecting.reopen_into_memory, session),
            )
            return
        marked = tr(" It is marked as production.") if self._sessions.production(session) else ""
        messages.confirm(
            self._workspace,
            tr("Allow writes to {name}?", name=wording.source(session.name)),
            tr("Nothing is written until you save or apply, and every write is guarded.{marked}", marked=marked),
            tr("Allow writes"),
            partial(self._allow, session),
            danger=self._sessions.production(session),
        )

    def _allow(self, session: Session) -> None:
        if session in self._sessions.all:
            session.trust.read_only = False
            self._writes_changed(session)

    def _writes_changed(self, session: Session) -> None:
        for page in self._workspace.tab_area.pages_of(session):
            page.writes_changed()
        self.changed.emit()

    def do_disconnect(self) -> None:
        session = self._workspace.session
        if session is not None:
            self._connecting.disconnect_session(session)

    def do_settings(self) -> None:
        from gui.window.settings_dialog import SettingsDialog

        SettingsDialog(self._workspace).open()

    def do_new_window(self) -> None:
        """Open another window, with its own connections and tabs."""
        self.another_asked.emit()

    # --- edit and view

    def do_context_menu(self) -> None:
        """Open the menu of the focused cell or text: many keyboards lack a key for that."""
        here = QApplication.focusWidget()
        if here is not None:
            where = here.inputMethodQuery(Qt.InputMethodQuery.ImCursorRectangle).center()
            by_key = QContextMenuEvent.Reason.Keyboard
            QApplication.sendEvent(here, QContextMenuEvent(by_key, where, here.mapToGlobal(where)))

    def do_palette(self) -> None:
        """Find a command, a collection or a page of the manual by its name."""
        self._find(self._everything, tr("Find a command or collection"))

    def _everything(self) -> list[Hit]:
        return [*self._commands(), *self._collections(), *self._topics()]

    def _find(self, hits: Callable[[], list[Hit]], title: str) -> None:
        """Open the palette on these hits, and on those that come while it is open: collections are named bit by bit."""
        from gui.window.palette import Palette

        self._hits, self._palette = hits, Palette(self._workspace, hits(), title)
        self._palette.open()
        self._workspace.prepare()

    def _watch_sidebar(self) -> None:
        self._workspace.sidebar.listed.connect(self._renew)

    def _renew(self) -> None:
        if self._palette is not None and isValid(self._palette) and self._palette.isVisible():
            self._palette.renew(self._hits())

    def _choose(self, item: Item) -> None:
        """Ask which of an item's actions is meant, unless just one of them can be done."""
        possible = [id for id in item.choices if not self._actions.why(id)]
        if len(possible) == 1:
            self._actions.trigger(possible[0])
        else:
            self._find(partial(self._commands, item.choices), item.text.rstrip("…"))

    def _commands(self, among: Collection[str] = ()) -> list[Hit]:
        trigger = self._actions.trigger
        made = []
        for item, action in self._actions.all():
            if item.id in among if among else not item.choices and item.id not in UNFOUND:
                name, why = action.text().rstrip("…"), self._actions.why(item.id)
                menu = TITLES[item.menu].replace("&", "")
                call, command = partial(trigger, item.id), COMMANDS.get(item.id, "")
                made.append(Hit(name, call, item.icon, menu, keys_text(item), why, command))
        return made

    def _collections(self, anew: bool = False) -> list[Hit]:
        workspace = self._workspace
        hits = []
        for session in self._sessions.all:
            for info in workspace.sidebar.ns_known(session):
                db, _, name = info.ns.partition(".")
                call = partial(workspace.sidebar.collection_asked.emit, session, info.ns, anew)
                where = db if len(self._sessions.all) == 1 else f"{session.name} · {db}"
                hits.append(Hit(name, call, "table", where, info.layout if info.belongs_to is None else "archive"))
        return hits

    def do_refresh(self) -> None:
        """Read collections and facts again; pages read themselves."""
        self._workspace.sidebar.refresh()
        session = self._workspace.session
        if session is not None:
            tasks.run(
                lambda _: session.refresh_facts(),
                done=self._facts,
                failed=partial(messages.fail, self._workspace),
                owner=self,
                key="facts",
            )

    def _facts(self, _: ServerFacts) -> None:
        self.changed.emit()

    def do_layout(self) -> None:
        """Show why the current collection has its layout, and other ways to read it."""
        page = self._workspace.page
        if page is not None and page.ns:
            self.state_layout(page.session, page.ns)

    def state_layout(self, session: Session, ns: str) -> LayoutSheet:
        """Open the sheet in which a collection's layout is stated."""
        from gui.views.stating.layout_sheet import LayoutSheet

        sheet = LayoutSheet(self._workspace, session, ns)
        sheet.changed.connect(partial(self._workspace.sidebar.layout_stated, session))
        sheet.changed.connect(partial(self._connecting.keep_profile, session))
        sheet.changed.connect(self.changed)
        sheet.open()
        return sheet

    def do_menus(self) -> None:
        """Open the first menu; the arrow keys lead to the others."""
        bar = self._workspace.window().findChild(QMenuBar)
        if bar is not None:
            bar.setActiveAction(bar.actions()[0])

    def _pane(self, by: int) -> None:
        workspace = self._workspace
        if workspace.at_welcome:
            workspace.front.setFocus(Qt.FocusReason.ShortcutFocusReason)
            return
        page = workspace.tab_area.page
        panes: list[QWidget] = [] if workspace.sidebar.folded else [workspace.sidebar.tree]
        panes += list(page.panes()) if page is not None else []
        panes = [pane for pane in panes if pane.isVisible() and pane.isEnabled()]
        if not panes:
            return
        now = workspace.window().focusWidget()
        at = next(
            (at for at, pane in enumerate(panes) if now is not None and (pane is now or pane.isAncestorOf(now))), -by
        )
        focus_keeper.give(panes[(at + by) % len(panes)], reason=Qt.FocusReason.ShortcutFocusReason)

    def toggle_theme(self) -> None:
        self._put_theme("light" if theme.is_dark() else "dark")

    def _put_theme(self, name: str) -> None:
        # What chose the colours closes first: to style all that is in sight takes a turn.
        turns.later(self, partial(preferences.put, "theme", name))

    def _zoom(self, by: int) -> None:
        preferences.put("zoom", zooming.step(by))

    def show_tasks(self) -> None:
        """Show the running tasks."""
        from gui.window.activity_dialog import ActivityDialog

        ActivityDialog(self._workspace).open()

    # --- help

    def do_help(self) -> None:
        """Open the manual's page about the current page."""
        self.show_topic(page_registry.topic_of(self._workspace.page))

    def do_manual(self) -> None:
        """Open the manual where it was left; the first time, its first page."""
        self.show_topic("" if self.help is not None else manual.FIRST)

    def _topics(self) -> list[Hit]:
        return [
            Hit(topic.title, partial(self.show_topic, topic.name), "question", tr("Help")) for topic in manual.topics()
        ]

    def show_topic(self, topic: str) -> None:
        """Open a page of the manual; "" is where it was left."""
        if self.help is None:
            from gui.help.help_window import HelpWindow

            self.help = HelpWindow()
        if topic:
            self.help.open_topic(topic)
        self.help.show()
        self.help.raise_()
        self.help.activateWindow()

    def close_help(self) -> None:
        """Close the manual: it does not outlive the window that it explains."""
        if self.help is not None:
            self.help.close()
            self.help.deleteLater()
            self.help = None

    def do_welcome(self) -> None:
        self._connecting.refresh_saved()
        if self._workspace.at_welcome and self._sessions.all:
            self._workspace.show_work()
        else:
            self._workspace.show_welcome()

    def do_shortcuts(self) -> None:
        """List the keys."""
        from gui.window.key_sheet import KeySheet

        KeySheet(self._workspace, self._actions.table).open()

    def do_about(self) -> None:
        """Show the versions of the program and what it uses."""
        from gui.window.about_dialog import AboutDialog

        about = AboutDialog(self._workspace, self._workspace.session)
        about.notices_asked.connect(partial(self.show_topic, "notices"))
        about.open()

    def do_desktop_entry(self) -> None:
        """Add the program to the desktop's menus, or remove it."""
        if not desktop_entry.is_there():
            self._change_entry(desktop_entry.add, tr("Palimpsest is in the menus, and BSON files open with it"))
            return
        messages.confirm(
            self._workspace,
            tr("Remove Palimpsest from the desktop's menus?"),
            tr("Its entry, its icon and its link to BSON files are removed; the program stays."),
            tr("Remove from the menus"),
            partial(self._change_entry, desktop_entry.remove, tr("Palimpsest is removed from the menus")),
        )

    def _change_entry(self, change: Callable[[], object], said: str) -> None:
        tasks.run(
            lambda _: change(),
            done=partial(self._entry_changed, said),
            failed=partial(messages.fail, self._workspace),
            owner=self,
        )

    def _entry_changed(self, said: str, _: object) -> None:
        messages.tell(self._workspace, said)
