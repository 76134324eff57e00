"""The window: title row, workspace, messages, status line.

It connects its parts and decides nothing about documents: the tab area opens what a page asks for, and pages write.
"""

from __future__ import annotations

import weakref
from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import QMetaMethod, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QKeyEvent, QKeySequence, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QMainWindow, QWidget

from gui import messages, rest, subscriptions, tasks, turns
from gui.actions import Actions, Item
from gui.language import tr
from gui.messages import MessageArea
from gui.pages.page_registry import ACTIONS
from gui.pages.page_request import PageRequest
from gui.starting import desktop_entry
from gui.style import boxes, logo, preferences, theme, wording
from gui.style.focus_keeper import FocusKeeper
from gui.window.check_offer import CheckOffer
from gui.window.connecting import Connecting
from gui.window.large_dumps import LargeDumps
from gui.window.open_sessions import OpenSessions, close_each
from gui.window.remote_watch import RemoteWatch
from gui.window.sample_guide import SampleGuide
from gui.window.startup_recovery import StartupRecovery
from gui.window.status_line import StatusLine
from gui.window.title_bar import TitleBar
from gui.window.window_commands import WindowCommands
from gui.window.workspace import Workspace

if TYPE_CHECKING:
    from gui.pages.base import Page
    from gui.window.dropped_files import DroppedFiles
    from gui.window.opening import Opening
    from model.foundation.news import News
    from model.session import Session

FRAME = QSize(2, 38)  # a desktop's window frame, which is known only after the window is shown
UNSEEN = 200  # milliseconds to wait for the first frame of a window that nobody sees, such as a minimised one
SMALLEST = QSize(960, 560)  # fits every screen, even with the largest text; what does not fit scrolls


class Window(QMainWindow):
    """The main window: its parts, and how they are connected."""

    another_asked = Signal()
    quit_asked = Signal()
    drawn = Signal()  # once, after its first frame, or soon if nobody sees it
    closed = Signal()
    stays = Signal()  # it was to be closed, and a person refused

    def __init__(self, number: int = 1, source_follows: bool = False) -> None:
        """``number`` identifies windows that are open together: each has its own place and tabs.

        With ``source_follows`` it starts without the welcome page: a source is opened once the first frame is drawn.
        """
        super().__init__()
        self.number = number
        self.setObjectName("page")
        self.setWindowTitle("Palimpsest")
        self.setWindowIcon(logo.icon())
        self.setMinimumSize(QSize(theme.px(720), theme.px(480)).boundedTo(SMALLEST))
        self._closing = self._shown = self._is_state_due = False
        self._stated: Page | None = None  # the page whose state is shown
        self._sessions = OpenSessions()
        weakref.finalize(self, close_each, self._sessions.all)  # a window may be dropped without being closed
        self.actions_ = Actions(self, ACTIONS)
        self.title = TitleBar(self)
        self.actions_.fill(self.title.menus)
        self.title.fit_menus()
        self.setMenuWidget(self.title)
        centre = QWidget(self)
        self.workspace = Workspace(self._sessions, centre)
        self.status = StatusLine(centre)
        column = boxes.column(centre)
        column.addWidget(self.workspace, 1)
        column.addWidget(self.status)
        centre.setFocusProxy(self.workspace)
        self.setCentralWidget(centre)
        self.messages = MessageArea(centre, lambda: self.workspace.front)
        self._focus = FocusKeeper(self)
        self.check_offer = CheckOffer(self.workspace)
        self.recovery = StartupRecovery(self.workspace)
        guide = SampleGuide(self.workspace)
        self.connecting = Connecting(
            self.workspace, self._sessions, guide, self.check_offer, self.recovery, LargeDumps(self.workspace)
        )
        self.setAcceptDrops(True)
        self.remote = RemoteWatch(self.workspace, self._sessions)
        self.commands = WindowCommands(self.workspace, self._sessions, self.connecting, self.actions_)
        self._wire()
        self._fit_size()
        self.connecting.refresh_saved()
        if source_follows:
            self.workspace.await_source()
        else:
            self.workspace.show_welcome()
        self._drawn = QTimer(self)
        self._drawn.setSingleShot(True)
        self._drawn.setInterval(UNSEEN)
        self._drawn.timeout.connect(self.drawn)
        self.drawn.connect(self._recover_soon)
        self.drawn.connect(self._resize_smoothly)

    def _recover_soon(self) -> None:
        rest.later(self, self.recovery.look)

    def _resize_smoothly(self) -> None:
        from gui.style.live_resize import LiveResize  # needed only once there are lists

        LiveResize(self)

    def _wire(self) -> None:
        commands, connecting, workspace = self.commands, self.connecting, self.workspace
        self.actions_.asked.connect(self._act)
        commands.another_asked.connect(self.another_asked)
        commands.quit_asked.connect(self._quit)
        workspace.made.connect(self._wire_work)
        workspace.changed.connect(self.messages.settle)
        self.title.writes_asked.connect(commands.do_allow_writes)
        self.title.memory_asked.connect(connecting.reopen_into_memory)
        self.title.palette_asked.connect(commands.do_palette)
        self.title.tasks_asked.connect(commands.show_tasks)
        self.title.theme_asked.connect(commands.toggle_theme)
        self.status.tasks_asked.connect(commands.show_tasks)
        self.status.advice_asked.connect(self._offer)
        workspace.welcome_made.connect(self._wire_welcome)
        workspace.stop_asked.connect(connecting.opener.stop)
        subscriptions.signals.written.connect(self._written)
        self.recovery.show_asked.connect(self._show_journal)
        self.recovery.connect_asked.connect(connecting.open_source)
        for part in (workspace, connecting, commands, self.check_offer, preferences.signals, theme.signals):
            part.changed.connect(self.update_state)

    def _wire_welcome(self) -> None:
        commands, connecting, welcome = self.commands, self.connecting, self.workspace.welcome
        welcome.open_asked.connect(connecting.opener.open)
        welcome.stop_asked.connect(connecting.opener.stop)
        welcome.sample_asked.connect(connecting.open_sample)
        welcome.thing_asked.connect(connecting.try_thing)
        welcome.dialog_asked.connect(connecting.ask)
        welcome.folder_asked.connect(connecting.pick_folder)
        welcome.file_asked.connect(connecting.pick_file)
        welcome.topic_asked.connect(commands.show_topic)

    def _wire_work(self) -> None:
        commands, connecting, workspace = self.commands, self.connecting, self.workspace
        sidebar, tab_area = workspace.sidebar, workspace.tab_area
        sidebar.connection_asked.connect(connecting.open_saved)
        sidebar.connect_asked.connect(connecting.ask)
        sidebar.disconnect_asked.connect(connecting.disconnect_session)
        sidebar.edit_asked.connect(connecting.edit_saved)
        sidebar.forget_asked.connect(connecting.forget)
        sidebar.thing_asked.connect(connecting.try_thing)
        sidebar.entry_asked.connect(commands.open_entry)
        sidebar.layout_asked.connect(commands.state_layout)
        sidebar.read_ended.connect(self._collections_read)
        workspace.lost.disconnect_asked.connect(connecting.disconnect_session)
        tab_area.number = self.number
        tab_area.new_asked.connect(commands.do_new_tab)
        tab_area.list_asked.connect(commands.do_list_tabs)
        tab_area.layout_asked.connect(commands.state_layout)
        tab_area.other_asked.connect(commands.choose_other)
        self.messages.left.connect(tab_area.let_go_soon)

    def _fit_size(self) -> None:
        screen = QApplication.primaryScreen().availableGeometry()
        room, step = screen.size() - FRAME, theme.px(32) * (self.number - 1)
        fits = (room - QSize(step, step)).expandedTo(self.minimumSize()).boundedTo(room)
        self.resize(QSize(theme.px(1440), theme.px(900)).boundedTo(fits))
        if (kept := preferences.shape(self._shape)) is not None:
            self.restoreGeometry(kept)
        elif step:  # below the first window and beside it, wholly on the screen
            left = room - self.size()
            self.move(screen.topLeft() + QPoint(min(step, left.width()), min(step, left.height())))

    @property
    def _shape(self) -> str:
        return "window" if self.number == 1 else f"window-{self.number}"

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not event.spontaneous() and not self._shown:
            self._shown = True
            self._drawn.start()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._drawn.isActive():
            self._drawn.start(0)  # the rest of the start has waited for this frame

    # --- the current page

    def update_state(self, *_: object) -> None:
        """Fit title row, status line and actions to the current page; to one that is being opened, once it is."""
        workspace = self.workspace
        if workspace.is_opening:
            return
        # A page that opens is told at once, for the keys that follow; what it reads is told before it is seen.
        if workspace.is_awaited or (workspace.is_page_awaited and workspace.page is self._stated):
            if not self._is_state_due:
                self._is_state_due = True
                turns.later(self, self._put_state)
            return
        self._put_state()

    def _put_state(self) -> None:
        workspace, self._is_state_due = self.workspace, False
        session, page = None if workspace.at_welcome else workspace.session, workspace.page
        self._stated = page
        watch = self._sessions.watch(session)
        facts = self._facts(session)
        self.title.show_session(session, "settable" in facts, watch is None or watch.lost is None)
        workspace.show_state()
        self.status.show_advice(self.check_offer.advice(session))
        self.status.show_profile(session.catalogue.profile_file if session is not None else None)
        if page is not None:
            self.status.put(*page.status())
        elif session is not None:
            self.status.put([wording.source(session.source, first=True)], [preferences.zone()])
        else:
            self._show_welcome_status()
        reasons = {"closed-tab": tr("No tab was closed so far")} | (page.reasons() if page is not None else {})
        self.actions_.update(facts | (page.facts() | page.side_facts() if page is not None else set()), reasons)
        what = page.tip if page is not None else session.name if session is not None else ""
        self.setWindowTitle(wording.title(tr("{what} – Palimpsest", what=what)) if what else "Palimpsest")

    def _show_welcome_status(self) -> None:
        running = any(task.title for task in tasks.tasks.running)
        open_here = [wording.source(session.name, first=not at) for at, session in enumerate(self._sessions.all)]
        said = tr(
            "{open_here} {how} open; Esc leads back",
            open_here=", ".join(open_here),
            how=tr("is") if len(open_here) == 1 else tr("are"),
        )
        self.status.put(
            [said if open_here else tr("Not connected")],
            [tr("Nothing is written until you save or apply")],
            running,
        )

    def _facts(self, session: Session | None) -> set[str]:
        """What is true of the window, whatever page is current, for the actions."""
        workspace = self.workspace
        true = {
            "desktop": desktop_entry.is_possible(),
            "session": session is not None,
            "settable": session is not None and not session.trust.barred,
            "writes": session is not None and not session.trust.read_only,
            "tabs": workspace.is_made and len(workspace.tab_area.pages) > 1,
            "closed-tab": workspace.is_made and bool(workspace.tab_area.closed),
            "sidebar": not workspace.folded,
        }
        return {str(preferences.get("theme")), *(name for name, holds in true.items() if holds)}

    def _act(self, item: Item) -> None:
        call = self.commands.call_for(item)
        if call is not None:
            call()
            self.update_state()

    def focusNextPrevChild(self, forward: bool) -> bool:
        return self._focus.step(forward)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Say why keys do nothing if their action is disabled; keys of enabled actions never arrive here."""
        why = self.actions_.why_not(QKeySequence(event.keyCombination()))
        if why:
            messages.why_not(self, why)
        else:
            super().keyPressEvent(event)

    # --- connections

    @property
    def sessions(self) -> list[Session]:
        """The open connections, oldest first."""
        return self._sessions.all

    def open(self, opening: Opening) -> None:
        """Open a source; if it is already open, bring it to the front."""
        self.connecting.open(opening)

    @cached_property
    def _dropped(self) -> DroppedFiles:
        from gui.window.dropped_files import DroppedFiles

        return DroppedFiles(self.workspace, self._sessions, self.connecting)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        from gui.window.dropped_files import files_in

        if files_in(event.mimeData()):
            event.setDropAction(Qt.DropAction.CopyAction)  # the file stays where it is
            event.accept()

    def dropEvent(self, event: QDropEvent) -> None:
        from gui.window.dropped_files import files_in

        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        self._dropped.open(files_in(event.mimeData()))
        self.activateWindow()

    def _collections_read(self, session: Session) -> None:
        self.workspace.count()
        self.connecting.collections_read(session)

    def _offer(self) -> None:
        if (session := self.workspace.session) is not None:
            self.check_offer.offer(session)

    def _show_journal(self, session: Session) -> None:
        if session in self.sessions:
            self.workspace.open(session, PageRequest("journal"))

    def _written(self, item: News) -> None:
        if item.outcome.kind != "applied" or item.outcome.entry is None:
            return
        if any(
            session.data == item.data for session in self.sessions
        ):  # the thing to try is done; a hint with choices waits for its answer
            for line in [each for each in self.messages.lines if each.kind == "hint" and not each.buttons]:
                line.leave()

    # --- closing

    def _quit(self) -> None:
        if self.isSignalConnected(QMetaMethod.fromSignal(self.quit_asked)):
            self.quit_asked.emit()
        else:
            self.close()

    def show_error(self, error: BaseException) -> None:
        """Show an uncaught error."""
        messages.fail(self, error)

    def closeEvent(self, event: QCloseEvent) -> None:
        unsaved = self.workspace.tab_area.unsaved() if self.workspace.is_made else []
        if unsaved and not self._closing:
            event.ignore()
            kept = wording.many(len(unsaved), "edit is", "edits are")
            said = {"kept": kept, "title": ", ".join(page.title for page in unsaved[:5])}
            question = messages.confirm(
                self,
                tr("Close the window?"),
                (
                    tr("{kept} not saved: {title}. It is kept as a draft and opens again with the connection.", **said)
                    if len(unsaved) == 1
                    else tr(
                        "{kept} not saved: {title}. They are kept as drafts and open again with the connection.", **said
                    )
                ),
                tr("Close and keep the draft") if len(unsaved) == 1 else tr("Close and keep the drafts"),
                self._close_anyway,
            )
            question.rejected.connect(self.stays)
            return
        if self.workspace.is_made:
            self.workspace.tab_area.leave()
        preferences.keep_shape(self._shape, self.saveGeometry())
        tops = QApplication.topLevelWidgets()
        others = any(isinstance(top, Window) and top is not self and top.isVisible() for top in tops)
        if not others:
            self.recovery.leave()
        self.hide()  # whoever closes it should not watch it wait for a server
        self.connecting.close_all(last=not others)
        self.commands.close_help()
        super().closeEvent(event)
        self.closed.emit()

    def _close_anyway(self) -> None:
        self.close_quietly()

    def close_quietly(self) -> None:
        """Close without asking; drafts are still kept."""
        self._closing = True
        self.close()
