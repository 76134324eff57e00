"""What the window itself does for the actions' table; ``do_…`` methods that no page has."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QWidget

from gui import messages, tasks
from gui.actions import keys_text
from gui.pages.collection_page import CollectionPage, Request
from gui.style import preferences, theme
from gui.window.activity_dialog import ActivityDialog
from gui.window.key_sheet import KeySheet
from gui.window.palette import Hit, Palette
from gui.window.settings_dialog import SettingsDialog
from model.records import ServerFacts
from model.session import Session
from model.values.canonical import Value

if TYPE_CHECKING:
    from gui.window.window import Window


class WindowCommands(QObject):
    """Acts on the window."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._window = window

    # --- file

    def do_connect(self) -> None:
        self._window.connecting.ask()

    def do_open_dump(self) -> None:
        self._window.connecting.pick_folder()

    def do_open_file(self) -> None:
        self._window.connecting.pick_file()

    def do_open_sample(self) -> None:
        self._window.open_sample()

    def do_new_tab(self) -> None:
        """Find a collection and open it in a tab of its own."""
        hits = self._collections(anew=True)
        self._window.show_work()
        Palette(self._window, hits, "Open a collection in a new tab").open()

    def do_close_tab(self) -> None:
        self._window.desk.close_at(self._window.desk.tabs.bar.currentIndex())

    def do_next_tab(self) -> None:
        self._step(1)

    def do_previous_tab(self) -> None:
        self._step(-1)

    def _step(self, by: int) -> None:
        bar = self._window.desk.tabs.bar
        if bar.count():
            bar.setCurrentIndex((bar.currentIndex() + by) % bar.count())

    def do_tab_left(self) -> None:
        self._shift(-1)

    def do_tab_right(self) -> None:
        self._shift(1)

    def _shift(self, by: int) -> None:
        bar = self._window.desk.tabs.bar
        if 0 <= bar.currentIndex() + by < bar.count():
            bar.moveTab(bar.currentIndex(), bar.currentIndex() + by)

    def do_allow_writes(self) -> None:
        """Make the connection in front read-only, or ask before allowing writes again."""
        session = self._window.session
        if session is None:
            return
        if not session.read_only:
            session.read_only = True
            self._writes_changed(session)
            messages.tell(self._window, f"{session.name} is read-only now", partial(self._allow, session))
            return
        if session.is_local and not session.is_sample:
            messages.confirm(
                self._window,
                f"Open {session.name} into memory?",
                "A dump is never written to. In memory edits can be tried; they are thrown away with the window.",
                "Open into memory",
                partial(self._window.connecting.reopen_into_memory, session),
            )
            return
        marked = " It is marked as production." if self._window.connecting.production(session) else ""
        messages.confirm(
            self._window,
            f"Allow writes to {session.name}?",
            f"Nothing is written until you save or apply, and every write is guarded.{marked}",
            "Allow writes",
            partial(self._allow, session),
            danger=self._window.connecting.production(session),
        )

    def _allow(self, session: Session) -> None:
        if session in self._window.sessions:
            session.read_only = False
            self._writes_changed(session)

    def _writes_changed(self, session: Session) -> None:
        for page in self._window.desk.pages_of(session):
            page.writes_changed()
        self._window.update_state()

    def do_disconnect(self) -> None:
        session = self._window.session
        if session is not None:
            self._window.connecting.disconnect_session(session)

    def do_check(self) -> None:
        session = self._window.session
        if session is not None:
            self._window.checking.show(session)

    def do_settings(self) -> None:
        SettingsDialog(self._window).open()

    def do_quit(self) -> None:
        self._window.close()

    # --- edit and view

    def do_context_menu(self) -> None:
        """Open the menu of the focused cell or text: many keyboards have no key of its own for that."""
        here = QApplication.focusWidget()
        if here is not None:
            where = here.inputMethodQuery(Qt.InputMethodQuery.ImCursorRectangle).center()
            by_key = QContextMenuEvent.Reason.Keyboard
            QApplication.sendEvent(here, QContextMenuEvent(by_key, where, here.mapToGlobal(where)))

    def do_palette(self) -> None:
        """Find a command or a collection by its name."""
        Palette(self._window, [*self._commands(), *self._collections()], "Find a command or collection").open()

    def _commands(self) -> list[Hit]:
        trigger = self._window.actions_.trigger
        return [
            Hit(action.text().rstrip("…"), partial(trigger, item.id), item.icon, item.menu, keys_text(item))
            for item, action in self._window.actions_.enabled()
            if item.id not in ("palette", "next-pane", "previous-pane", "context-menu")
        ]

    def _collections(self, anew: bool = False) -> list[Hit]:
        window = self._window
        hits = []
        for session in window.sessions:
            for info in window.sidebar.ns_known(session):
                db, _, name = info.ns.partition(".")
                call = partial(window.sidebar.collection_asked.emit, session, info.ns, anew)
                where = db if len(window.sessions) == 1 else f"{session.name} · {db}"
                hits.append(Hit(name, call, "table", where, info.layout if info.belongs_to is None else "archive"))
        return hits

    def do_refresh(self) -> None:
        """Read collections and facts again; a page reads itself."""
        self._window.sidebar.refresh()
        session = self._window.session
        if session is not None:
            tasks.run(
                lambda _: session.refresh_facts(), done=self._facts, failed=self._facts_failed, owner=self, key="facts"
            )

    def _facts(self, _: ServerFacts) -> None:
        self._window.update_state()

    def _facts_failed(self, error: BaseException) -> None:
        messages.fail(self._window, error)

    def do_toggle_sidebar(self) -> None:
        self._window.toggle_sidebar()

    def do_next_pane(self) -> None:
        self._pane(1)

    def do_previous_pane(self) -> None:
        self._pane(-1)

    def _pane(self, by: int) -> None:
        window = self._window
        if window.at_welcome:
            window.welcome.sample.setFocus(Qt.FocusReason.ShortcutFocusReason)
            return
        page = window.desk.page
        panes: list[QWidget] = [] if window.sidebar.folded else [window.sidebar.tree]
        panes += list(page.panes()) if page is not None else []
        panes = [pane for pane in panes if pane.isVisible() and pane.isEnabled()]
        if not panes:
            return
        now = window.focusWidget()
        at = next(
            (at for at, pane in enumerate(panes) if now is not None and (pane is now or pane.isAncestorOf(now))), -by
        )
        panes[(at + by) % len(panes)].setFocus(Qt.FocusReason.ShortcutFocusReason)

    def do_drafts(self) -> None:
        self._window.open_tool("drafts")

    def do_journal(self) -> None:
        self._window.open_tool("journal")

    def do_repairs(self) -> None:
        """Look through the database in front, or through all of them."""
        page = self._window.desk.page
        self._repairs(page.ns.partition(".")[0] if page is not None else "")

    def do_repairs_collection(self) -> None:
        page = self._window.desk.page
        if page is not None:
            self._repairs(page.ns)

    def _repairs(self, place: str, id: Value | None = None) -> None:
        session = self._window.session
        if session is not None:
            self._window.show_work()
            self._window.desk.repairs(session, place, id, self._window.connecting.production(session))

    def do_health(self) -> None:
        """Show how the findings of the database in front went over time."""
        page, session = self._window.desk.page, self._window.session
        if session is not None:
            self.tend(session, Request("health", page.ns.partition(".")[0] if page is not None else ""))

    def tend(self, session: Session, request: Request) -> None:
        """Open the repair centre of a place, or its health."""
        desk = self._window.desk
        self._window.show_work()
        opened = desk.health if request.kind == "health" else desk.repairs
        opened(session, request.ns, request.id, self._window.connecting.production(session))

    def do_repairs_document(self) -> None:
        page = self._window.desk.page
        row = page.browser.row if isinstance(page, CollectionPage) else None
        id = row.id if row is not None else page.id if page is not None else None
        if page is not None and id is not None:
            self._repairs(page.ns, id)

    def do_migrate(self) -> None:
        """Move the collection in front to another layout."""
        page, session = self._window.desk.page, self._window.session
        if page is not None and session is not None:
            self._window.desk.tool(session, "migrate", page.ns)

    def do_pending(self) -> None:
        self._window.open_tool("pending")

    def do_theme_light(self) -> None:
        preferences.put("theme", "light")

    def do_theme_dark(self) -> None:
        preferences.put("theme", "dark")

    def do_theme_system(self) -> None:
        preferences.put("theme", "system")

    def do_theme_toggle(self) -> None:
        preferences.put("theme", "light" if theme.is_dark() else "dark")

    def do_tasks(self) -> None:
        """Show what is being done."""
        ActivityDialog(self._window).open()

    # --- help

    def do_welcome(self) -> None:
        self._window.connecting.refresh_saved()
        if self._window.at_welcome and self._window.sessions:
            self._window.show_work()
        else:
            self._window.show_welcome()

    def do_shortcuts(self) -> None:
        """List the keys."""
        KeySheet(self._window).open()

    def do_about(self) -> None:
        messages.confirm(
            self._window,
            "Palimpsest",
            "Reads, compares and mends every version of a MongoDB document. Every write is guarded, journalled and "
            "can be undone.",
            "Close",
            lambda: None,
        ).cancel.hide()
