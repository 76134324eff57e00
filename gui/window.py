"""The window: title row, sidebar, tabs, messages, status line; connections open and close here.

It wires parts and decides nothing about documents: what a page asks is the desk's, what is written is a page's.
"""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QHBoxLayout, QMainWindow, QStackedWidget, QVBoxLayout, QWidget

from gui import app, desk, doing, messages, tasks
from gui.actions import Actions, Item, resolve
from gui.checking import Checking
from gui.desk import Desk
from gui.frame.connect import ConnectDialog, PasswordPrompt
from gui.frame.opening import Opened, Opener, Opening
from gui.frame.sidebar import Sidebar
from gui.frame.statusline import StatusLine
from gui.frame.titlebar import TitleBar
from gui.frame.watching import LostLine, Watch
from gui.frame.welcome import WelcomePanel
from gui.look import logo, preferences, theme, wording
from gui.messages import MessageArea
from gui.pages import CollectionPage
from gui.toolpages import PendingPage
from gui.trying import Trying
from gui.unsettled import Unsettled
from model.canonical import Value
from model.errors import Refused
from model.records import Outcome
from model.session import Connections, SavedConnection, Session

if TYPE_CHECKING:
    from model.session import Thing

FRAME = QSize(2, 38)  # what a desktop draws around a window, which is known only after it is shown
NARROW = 1160  # below it the sidebar folds by itself
SAMPLE = "sample:"


class Window(QMainWindow):
    """See the module's docstring."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("page")
        self.setWindowTitle("Palimpsest")
        self.setWindowIcon(logo.icon())
        self.setMinimumSize(QSize(theme.px(720), theme.px(480)))
        self.sessions: list[Session] = []
        self._openings: dict[int, Opening] = {}
        self._watches: dict[int, Watch] = {}
        self._fresh: list[Session] = []  # open, and their collections are not read yet
        self._dialog: ConnectDialog | None = None
        self._waiting_thing: Thing | None = None
        self._fold_choice: bool | None = None
        self._closing = False
        self.actions_ = Actions(self)
        self.actions_.asked.connect(self._act)
        self.do = doing.Doing(self)
        self.opener = Opener(self)
        self.trying = Trying(self)
        self.checking = Checking(self)
        self.title = TitleBar()
        self.actions_.fill(self.title.menus)
        self.title.fit_menus()
        self.setMenuWidget(self.title)
        self.welcome = WelcomePanel()
        self.sidebar = Sidebar()
        self.lost = LostLine()
        self.desk = Desk()
        self.messages = MessageArea()
        self.status = StatusLine()
        self._assemble()
        self._wire()
        self.unsettled = Unsettled(self)
        self.unsettled.show_asked.connect(self._show_journal)
        self.unsettled.connect_asked.connect(self._connect_to)
        self._counting = QTimer(self)
        self._counting.setSingleShot(True)
        self._counting.setInterval(400)
        self._counting.timeout.connect(self._count)
        self._fit_size()
        self.refresh_saved()
        self.show_welcome()
        self.update_state()
        self.unsettled.look()

    def _assemble(self) -> None:
        self._work = QWidget()
        row = QHBoxLayout(self._work)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.sidebar)
        right = QVBoxLayout()
        right.setSpacing(0)
        right.addWidget(self.lost)
        right.addWidget(self.desk, 1)
        row.addLayout(right, 1)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.welcome)
        self._stack.addWidget(self._work)
        centre = QWidget()
        column = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._stack, 1)
        column.addWidget(self.messages)
        column.addWidget(self.status)
        self.setCentralWidget(centre)

    def _wire(self) -> None:
        self.title.writes_asked.connect(self.do.do_allow_writes)
        self.title.palette_asked.connect(self.do.do_palette)
        self.title.tasks_asked.connect(self.do.do_tasks)
        self.title.theme_asked.connect(self.do.do_theme_toggle)
        self.status.tasks_asked.connect(self.do.do_tasks)
        self.opener.began.connect(self._opening_began)
        self.opener.opened.connect(self._opened)
        self.opener.failed.connect(self._open_failed)
        self.opener.stopped.connect(self._open_stopped)
        self.opener.password_wanted.connect(self._ask_password)
        self.welcome.open_asked.connect(self.opener.open)
        self.welcome.stop_asked.connect(self.opener.stop)
        self.welcome.sample_asked.connect(self.open_sample)
        self.welcome.thing_asked.connect(self.try_thing)
        self.welcome.dialog_asked.connect(self.ask_connection)
        self.welcome.folder_asked.connect(self.pick_folder)
        self.welcome.file_asked.connect(self.pick_file)
        self.sidebar.collection_asked.connect(self._open_collection)
        self.sidebar.connection_asked.connect(self._open_saved)
        self.sidebar.connect_asked.connect(self.ask_connection)
        self.sidebar.disconnect_asked.connect(self.disconnect_session)
        self.sidebar.forget_asked.connect(self._forget)
        self.sidebar.layout_changed.connect(self._layout_changed)
        self.sidebar.entry_asked.connect(self.open_tool)
        self.sidebar.fold_changed.connect(self.update_state)
        self.sidebar.read_ended.connect(self._collections_read)
        self.lost.disconnect_asked.connect(self.disconnect_session)
        self.desk.current_changed.connect(self._page_in_front)
        self.desk.page_changed.connect(self.update_state)
        self.desk.new_asked.connect(self.do.do_new_tab)
        self.desk.written.connect(self._written)
        self.desk.tended.connect(self.do.tend)
        self.desk.drafts_touched.connect(self._count_soon)
        preferences.signals.changed.connect(self.update_state)
        theme.signals.changed.connect(self.update_state)

    def _fit_size(self) -> None:
        room = QApplication.primaryScreen().availableGeometry().size() - FRAME
        self.resize(min(theme.px(1440), room.width()), min(theme.px(900), room.height()))
        if (kept := preferences.shape("window")) is not None:
            self.restoreGeometry(kept)

    # --- what is in front

    @property
    def session(self) -> Session | None:
        """The connection of the page in front, else the one opened last."""
        page = self.desk.page
        if page is not None:
            return page.session
        return self.sessions[-1] if self.sessions else None

    @property
    def at_welcome(self) -> bool:
        """Whether the welcome page fills the window."""
        return self._stack.currentWidget() is self.welcome

    def show_welcome(self) -> None:
        """Show the welcome page."""
        self._stack.setCurrentWidget(self.welcome)
        self.welcome.sample.setFocus()
        self.update_state()

    def show_work(self) -> None:
        """Show connections and tabs."""
        self._stack.setCurrentWidget(self._work)
        self.update_state()

    def _page_in_front(self) -> None:
        page = self.desk.page
        self.sidebar.set_current(self.session, page.ns if page is not None else "")
        self.sidebar.set_tool(page.kind if page is not None else "")
        self._fold_choice = None
        self._fold()
        self.update_state()

    def update_state(self, *_: object) -> None:
        """Fit title row, status line and actions to what is in front."""
        session = None if self.at_welcome else self.session
        page = None if self.at_welcome else self.desk.page
        watch = self._watches.get(id(session))
        answers = watch is None or watch.lost is None
        self.title.show_session(session, session is not None, answers)
        self.lost.put(watch)
        self.sidebar.touch()
        if page is not None:
            left, right, with_tasks = page.status()
            self.status.put(left, right, with_tasks)
        elif session is not None:
            self.status.put([session.source], [preferences.zone()])
        else:
            running = any(task.title for task in tasks.tasks.running)
            self.status.put(["Not connected"], ["Nothing is written until you save or apply"], running)
        facts = {str(preferences.get("theme"))}
        if session is not None:
            facts |= {"session", "settable"} | (set() if session.read_only else {"writes"})
        if len(self.desk.pages) > 1:
            facts.add("tabs")
        if not self.sidebar.folded:
            facts.add("sidebar")
        self.actions_.update(facts | (page.facts() if page is not None else set()), page.reasons() if page else {})
        what = page.tip if page is not None else session.name if session is not None else ""
        self.setWindowTitle(f"{what} – Palimpsest" if what else "Palimpsest")

    def _act(self, item: Item) -> None:
        page = None if self.at_welcome else self.desk.page
        call = resolve(item, [part for part in (page, self.do) if part is not None])
        if call is not None:
            call()
            self.update_state()

    # --- folding

    def toggle_sidebar(self) -> None:
        """Fold or unfold; that holds until another page is in front or the window's width decides anew."""
        self._fold_choice = not self.sidebar.folded
        self._fold()

    def _fold(self, at_once: bool = False) -> None:
        page = self.desk.page
        wanted = self.width() < theme.px(NARROW) or (page is not None and page.wants_rail)
        self.sidebar.fold(wanted if self._fold_choice is None else self._fold_choice, at_once)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        line = theme.px(NARROW)
        if (event.oldSize().width() < line) != (event.size().width() < line) or not self.isVisible():
            self._fold_choice = None
            self._fold(at_once=True)

    # --- connections

    def open(self, opening: Opening) -> None:
        """Open a source; where it is open already, bring it to the front."""
        for session in self.sessions:
            if session.source == opening.shown:
                self._bring(session)
                return
        self.opener.open(opening)

    def open_sample(self) -> None:
        """Open the sample."""
        self.open(Opening(SAMPLE, SAMPLE))

    def _bring(self, session: Session) -> None:
        self.show_work()
        page = next(self.desk.pages_of(session), None)
        if page is not None:
            self.desk.show_page(page)

    def _open_saved(self, saved: SavedConnection) -> None:
        self.open(Opening.of(saved))

    def ask_connection(self, opening: Opening | None = None) -> None:
        """Show the connection dialog."""
        self._dialog = ConnectDialog(self, opening)
        self._dialog.agreed.connect(self.open)
        self._dialog.stop_asked.connect(self.opener.stop)
        self._dialog.finished.connect(self._dialog_gone)
        self._dialog.open()

    def _dialog_gone(self, *_: object) -> None:
        self._dialog = None

    def pick_folder(self, into_memory: bool = False) -> None:
        """Choose a dump's folder and open it."""
        path = QFileDialog.getExistingDirectory(self, "Open a dump's folder")
        if path:
            self.open(Opening(path, into_memory=into_memory))

    def pick_file(self, into_memory: bool = False) -> None:
        """Choose a dump's file and open it."""
        kinds = "Dumps (*.bson *.bson.gz *.json *.jsonl *.ndjson *.json.gz);;All files (*)"
        path, _ = QFileDialog.getOpenFileName(self, "Open a dump file", "", kinds)
        if path:
            self.open(Opening(path, into_memory=into_memory))

    def _opening_began(self, opening: Opening) -> None:
        verb = "Connecting to" if "://" in opening.source else "Opening"
        if self.at_welcome and self._dialog is None:
            self.welcome.begin(opening, f"{verb} {opening.title}")
        self.update_state()

    def _opened(self, opened: Opened) -> None:
        session = opened.session
        self.welcome.end()
        self.welcome.clear()
        if self._dialog is not None:
            self._dialog.accept()
        self.sessions.append(session)
        self._openings[id(session)] = opened.opening
        self.refresh_saved()
        self.sidebar.add_session(session)
        self.show_work()
        if opened.note:
            messages.note(self, opened.note)
        self.unsettled.opened(session)
        if not session.is_local:
            watch = self._watches[id(session)] = Watch(session, self)
            watch.changed.connect(self.update_state)
            watch.found.connect(self._found_again)
        self.checking.begin(session)
        # Pages follow once the collections are known: each of them would recognise the layouts anew.
        self._fresh.append(session)
        self.desk.say_reading(session.name)
        self.update_state()

    def _collections_read(self, session: Session) -> None:
        self._count_soon()
        if session not in self._fresh or session not in self.sessions:
            return
        self._fresh.remove(session)
        self.desk.say_empty()
        restored = self.desk.restore(session, desk.remembered(session))
        if self._waiting_thing is not None and session.is_sample:
            self.trying.begin(session, self._waiting_thing)
        elif not restored and session.is_sample:
            self.trying.first(session)
        elif not restored:
            self.sidebar.search.setFocus()
        self._waiting_thing = None
        self.update_state()

    def _open_failed(self, opening: Opening, error: BaseException) -> None:
        self._waiting_thing = None
        if self._dialog is not None:
            self._dialog.fail(error)
        elif self.at_welcome:
            self.welcome.end(error)
        else:
            messages.fail(self, error, [("Try again", partial(self.open, opening))])
        self.update_state()

    def _open_stopped(self, _: Opening) -> None:
        self.welcome.end()
        if self._dialog is not None:
            self._dialog.idle()
        self.update_state()

    def _ask_password(self, opening: Opening) -> None:
        self.welcome.end()
        if self._dialog is not None:
            self._dialog.fail(Refused(f"{opening.shown} names a user; type the password."))
            self._dialog.password.setFocus()
            return
        prompt = PasswordPrompt(self, opening)
        prompt.agreed.connect(partial(self._with_password, opening))
        prompt.open()

    def _with_password(self, opening: Opening, password: str, keep: bool) -> None:
        self.opener.open(Opening(opening.source, opening.name, opening.read_only, opening.production, password, keep))

    def disconnect_session(self, session: Session) -> None:
        """Close a connection and its tabs; edits in them are kept as drafts."""
        unsaved = [page for page in self.desk.pages_of(session) if page.dirty]
        desk.remember(self.desk, session)
        self.desk.close_session(session)
        self.sessions.remove(session)
        self._openings.pop(id(session), None)
        if (watch := self._watches.pop(id(session), None)) is not None:
            watch.deleteLater()
        self.sidebar.remove_session(session)
        tasks.run(lambda _: session.close(), done=_nothing, failed=self._close_failed, owner=self)
        if unsaved:
            kept = wording.many(len(unsaved), "edit is", "edits are")
            messages.tell(self, f"{session.name} is closed; {kept} kept as drafts")
        if not self.sessions:
            self.refresh_saved()
            self.show_welcome()
        self.update_state()

    def _found_again(self, session: Session) -> None:
        for line in [each for each in self.messages.lines if each.passing]:
            line.leave()
        messages.tell(self, f"{session.name} is connected again")
        for page in self.desk.pages_of(session):
            if not page.dirty and page.kind != "check":
                page.do_refresh()
        if not self.sidebar.ns_known(session):
            self.sidebar.read(session)

    def _close_failed(self, error: BaseException) -> None:
        messages.fail(self, error)

    def refresh_saved(self) -> None:
        """Read the saved connections again."""
        try:
            saved = Connections().all()
        except Refused as refusal:
            messages.fail(self, refusal)
            saved = []
        self.sidebar.set_saved(saved)
        self.welcome.set_recent(saved)

    def _forget(self, saved: SavedConnection) -> None:
        Connections().remove(saved.name)
        self.refresh_saved()
        messages.tell(self, f"{saved.name} is forgotten, its password too")

    def production(self, session: Session) -> bool:
        """Whether a connection is marked as one where mistakes are dear."""
        opening = self._openings.get(id(session))
        return opening is not None and opening.production

    def reopen_into_memory(self, session: Session) -> None:
        """Open a dump again so that edits can be tried."""
        opening = self._openings.get(id(session), Opening(session.source))
        self.disconnect_session(session)
        self.open(Opening(opening.source, opening.name, into_memory=True))

    # --- pages

    def _open_collection(self, session: Session, ns: str, anew: bool) -> None:
        self.show_work()
        page = self.desk.collection(session, ns, anew)
        page.writes.set_production(self.production(session))

    def open_tool(self, kind: str) -> None:
        """Open pending tokens, journal or drafts of the connection in front."""
        session = self.session
        if session is None:
            return
        self.show_work()
        if kind == "repair":
            self.do.do_repairs()
            return
        page = self.desk.tool(session, kind)
        if isinstance(page, PendingPage):
            page.set_production(self.production(session))

    def _show_journal(self, session: Session) -> None:
        if session in self.sessions:
            self.show_work()
            self.desk.tool(session, "journal")

    def _connect_to(self, source: str) -> None:
        saved = next((one for one in Connections().all() if Opening.of(one).shown == source), None)
        self.open(Opening.of(saved) if saved is not None else Opening(source))

    def _layout_changed(self, session: Session, ns: str) -> None:
        for page in self.desk.pages_of(session):
            if isinstance(page, CollectionPage) and page.ns == ns:
                page.browser.reread_info()

    def show_document(self, session: Session, ns: str, id: Value, a: Value | None, b: Value | None) -> CollectionPage:
        """Bring a document's history to the front, with two versions compared."""
        self.show_work()
        page = self.desk.collection(session, ns)
        page.show_document(id, a, b)
        return page

    def try_thing(self, thing: Thing) -> None:
        """Begin one of the five things, in the sample."""
        session = next((s for s in self.sessions if s.is_sample), None)
        if session is not None and session not in self._fresh:
            self.trying.begin(session, thing)
            return
        self._waiting_thing = thing
        if session is None:
            self.open_sample()

    # --- counts

    def _written(self, session: Session, outcome: Outcome) -> None:
        self._count_soon()

    def _count_soon(self) -> None:
        self._counting.start()

    def _count(self) -> None:
        session = self.session
        if session is None:
            return

        # On a server, looking for tokens reads whole collections: that is done on request only.
        known = self.sidebar.ns_known(session) if session.is_local else []
        places = [info.ns for info in known if info.layout == "pending"]

        def work(_: tasks.Progress) -> tuple[int, int]:
            stale = sum(1 for ns in places for token in session.pending(ns) if token.stale)
            return len(session.drafts.all()), stale

        tasks.run(work, done=self._counted, failed=_nothing, owner=self, key="counts")

    def _counted(self, counts: tuple[int, int]) -> None:
        self.sidebar.set_count("drafts", counts[0])
        self.sidebar.set_count("pending", counts[1])

    # --- the end

    def show_error(self, error: BaseException) -> None:
        """Show what nobody caught."""
        messages.fail(self, error)

    def closeEvent(self, event: QCloseEvent) -> None:
        unsaved = self.desk.unsaved()
        if unsaved and not self._closing:
            event.ignore()
            kept = wording.many(len(unsaved), "edit is", "edits are")
            messages.confirm(
                self,
                "Close the window?",
                f"{kept} not saved: {', '.join(page.title for page in unsaved[:5])}. "
                "They are kept as drafts and open again with the connection.",
                "Close and keep the drafts",
                self._close_anyway,
            )
            return
        self.desk.leave()
        preferences.keep_shape("window", self.saveGeometry())
        for session in self.sessions:
            desk.remember(self.desk, session)
        tasks.tasks.stop_all()
        for session in self.sessions:
            session.close()
        self.sessions.clear()
        super().closeEvent(event)

    def _close_anyway(self) -> None:
        self.close_quietly()

    def close_quietly(self) -> None:
        """Close without asking; drafts are kept all the same."""
        self._closing = True
        self.close()


def _nothing(_: object) -> None:
    pass


def run(source: str | None = None, read_only: bool = False) -> int:
    """Open the window, and a source in it; returns the exit status once it is closed."""
    application = app.application()
    if os.name == "posix":
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # drafts are on disk with every change
    window = Window()
    app.catch(window.show_error)
    window.show()
    if source is not None:
        window.open(Opening(source, SAMPLE if source == SAMPLE else "", read_only))
    return application.exec()


__all__ = ["Qt", "Window", "run"]
