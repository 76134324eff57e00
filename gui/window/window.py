"""The window: title row, sidebar, tabs, messages, status line.

It wires parts and decides nothing about documents: what a page asks is the desk's, what is written is a page's.
"""

from __future__ import annotations

import os
import signal

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QMainWindow, QStackedWidget, QVBoxLayout, QWidget

from gui import app, messages, tasks
from gui.actions import Actions, Item, resolve
from gui.messages import MessageArea
from gui.pages.collection_page import CollectionPage
from gui.pages.repair_pages import RepairPage
from gui.pages.tool_pages import PendingPage
from gui.style import boxes, focus_ring, logo, preferences, theme, wording
from gui.window import window_commands
from gui.window.check_offer import CheckOffer
from gui.window.connecting import SAMPLE, Connecting
from gui.window.connection_watch import LostLine
from gui.window.opening import Opening
from gui.window.sample_guide import SampleGuide
from gui.window.sidebar import Sidebar
from gui.window.startup_recovery import StartupRecovery
from gui.window.status_line import StatusLine
from gui.window.tab_area import TabArea
from gui.window.title_bar import TitleBar
from gui.window.welcome_panel import WelcomePanel
from model.records import Outcome
from model.session import Session
from model.values.canonical import Value

FRAME = QSize(2, 38)  # what a desktop draws around a window, which is known only after it is shown
NARROW = 1160  # below it the sidebar folds by itself


class Window(QMainWindow):
    """See the module's docstring."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("page")
        self.setWindowTitle("Palimpsest")
        self.setWindowIcon(logo.icon())
        self.setMinimumSize(QSize(theme.px(720), theme.px(480)))
        self._fold_choice: bool | None = None
        self._closing = False
        self.actions_ = Actions(self)
        self.actions_.asked.connect(self._act)
        self.do = window_commands.WindowCommands(self)
        self.connecting = Connecting(self)
        self.trying = SampleGuide(self)
        self.checking = CheckOffer(self)
        self.title = TitleBar()
        self.actions_.fill(self.title.menus)
        self.title.fit_menus()
        self.setMenuWidget(self.title)
        self.welcome = WelcomePanel()
        self.sidebar = Sidebar()
        self.lost = LostLine()
        self.desk = TabArea()
        self.messages = MessageArea()
        self.status = StatusLine()
        self._assemble()
        self._wire()
        self.unsettled = StartupRecovery(self)
        self.unsettled.show_asked.connect(self._show_journal)
        self.unsettled.connect_asked.connect(self.connecting.open_source)
        self._counting = QTimer(self)
        self._counting.setSingleShot(True)
        self._counting.setInterval(400)
        self._counting.timeout.connect(self._count)
        self._fit_size()
        self.connecting.refresh_saved()
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
        column = boxes.column(centre)
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
        connecting = self.connecting
        self.welcome.open_asked.connect(connecting.opener.open)
        self.welcome.stop_asked.connect(connecting.opener.stop)
        self.welcome.sample_asked.connect(self.open_sample)
        self.welcome.thing_asked.connect(connecting.try_thing)
        self.welcome.dialog_asked.connect(connecting.ask)
        self.welcome.folder_asked.connect(connecting.pick_folder)
        self.welcome.file_asked.connect(connecting.pick_file)
        self.sidebar.collection_asked.connect(self._open_collection)
        self.sidebar.connection_asked.connect(connecting.open_saved)
        self.sidebar.connect_asked.connect(connecting.ask)
        self.sidebar.disconnect_asked.connect(connecting.disconnect_session)
        self.sidebar.forget_asked.connect(connecting.forget)
        self.sidebar.layout_changed.connect(self._layout_changed)
        self.sidebar.entry_asked.connect(self.open_tool)
        self.sidebar.fold_changed.connect(self.update_state)
        self.sidebar.read_ended.connect(self._collections_read)
        self.lost.disconnect_asked.connect(connecting.disconnect_session)
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
        watch = self.connecting.watch(session)
        answers = watch is None or watch.lost is None
        self.title.show_session(session, session is not None, answers)
        self.lost.put(watch)
        self.sidebar.touch(self.connecting.silent)
        looked = [each for each in self.desk.pages if isinstance(each, RepairPage) and each.session is session]
        self.sidebar.set_count("repair", max((each.waiting for each in looked), default=0))
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

    def focusNextPrevChild(self, forward: bool) -> bool:
        return focus_ring.step(self, forward)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        line = theme.px(NARROW)
        if (event.oldSize().width() < line) != (event.size().width() < line) or not self.isVisible():
            self._fold_choice = None
            self._fold(at_once=True)

    # --- connections

    @property
    def sessions(self) -> list[Session]:
        """The open connections, oldest first."""
        return self.connecting.sessions

    def open(self, opening: Opening) -> None:
        """Open a source; where it is open already, bring it to the front."""
        self.connecting.open(opening)

    def open_sample(self) -> None:
        """Open the sample."""
        self.open(Opening(SAMPLE, SAMPLE))

    def _collections_read(self, session: Session) -> None:
        self._count_soon()
        self.connecting.collections_read(session)

    # --- pages

    def _open_collection(self, session: Session, ns: str, anew: bool) -> None:
        self.show_work()
        page = self.desk.collection(session, ns, anew)
        page.writes.set_production(self.connecting.production(session))

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
            page.set_production(self.connecting.production(session))

    def _show_journal(self, session: Session) -> None:
        if session in self.sessions:
            self.show_work()
            self.desk.tool(session, "journal")

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

    # --- counts

    def _written(self, session: Session, outcome: Outcome) -> None:
        if outcome.kind == "applied":  # what was to be tried is done; a hint with a choice waits for its answer
            for line in [each for each in self.messages.lines if each.kind == "hint" and not each.buttons]:
                line.leave()
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
        self.connecting.close_all()
        super().closeEvent(event)

    def _close_anyway(self) -> None:
        self.close_quietly()

    def close_quietly(self) -> None:
        """Close without asking; drafts are kept all the same."""
        self._closing = True
        self.close()


def _nothing(_: object) -> None:
    pass


def run(source: str | None = None, read_only: bool = False, into_memory: bool = False) -> int:
    """Open the window, and a source in it; returns the exit status once it is closed."""
    application = app.application()
    if os.name == "posix":
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # drafts are on disk with every change
    window = Window()
    app.catch(window.show_error)
    window.show()
    if source is not None:
        window.open(Opening(source, SAMPLE if source == SAMPLE else "", read_only, into_memory=into_memory))
    return application.exec()


__all__ = ["Qt", "Window", "run"]
