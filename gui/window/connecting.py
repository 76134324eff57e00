"""Connections open and close here: asking for one, what follows once it is there, whether its server answers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog

from gui import messages, tasks
from gui.style import wording
from gui.window import tab_area
from gui.window.connect_dialog import ConnectDialog, PasswordPrompt
from gui.window.connection_watch import ConnectionWatch
from gui.window.opening import Opened, Opener, Opening
from model.errors import Refused
from model.session import Connections, SavedConnection, Session

if TYPE_CHECKING:
    from gui.window.window import Window
    from model.session import Thing

SAMPLE = "sample:"


class Connecting(QObject):
    """The window's open connections, oldest first in :attr:`sessions`; acts on its sidebar, pages and messages."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._window = window
        self.sessions: list[Session] = []
        self._openings: dict[int, Opening] = {}
        self._watches: dict[int, ConnectionWatch] = {}
        self._fresh: list[Session] = []  # open, and their collections are not read yet
        self._dialog: ConnectDialog | None = None
        self._waiting_thing: Thing | None = None
        self.opener = Opener(self)
        self.opener.began.connect(self._began)
        self.opener.opened.connect(self._opened)
        self.opener.failed.connect(self._failed)
        self.opener.stopped.connect(self._stopped)
        self.opener.password_wanted.connect(self._ask_password)

    # --- asking for one

    def open(self, opening: Opening) -> None:
        """Open a source; where it is open already, bring it to the front."""
        for session in self.sessions:
            if session.source == opening.shown:
                self._bring(session)
                return
        self.opener.open(opening)

    def _bring(self, session: Session) -> None:
        self._window.show_work()
        page = next(self._window.desk.pages_of(session), None)
        if page is not None:
            self._window.desk.show_page(page)

    def open_saved(self, saved: SavedConnection) -> None:
        """Open one of the saved connections."""
        self.open(Opening.of(saved))

    def open_source(self, source: str) -> None:
        """Open a source as it is saved, with its marks, or by its address alone."""
        saved = next((one for one in Connections().all() if Opening.of(one).shown == source), None)
        self.open(Opening.of(saved) if saved is not None else Opening(source))

    def reopen_into_memory(self, session: Session) -> None:
        """Open a dump again so that edits can be tried."""
        opening = self._openings.get(id(session), Opening(session.source))
        self.disconnect_session(session)
        self.open(Opening(opening.source, opening.name, into_memory=True))

    def try_thing(self, thing: Thing) -> None:
        """Begin one of the five things, in the sample."""
        session = next((s for s in self.sessions if s.is_sample), None)
        if session is not None and session not in self._fresh:
            self._window.trying.begin(session, thing)
            return
        self._waiting_thing = thing
        if session is None:
            self.open(Opening(SAMPLE, SAMPLE))

    def ask(self, opening: Opening | None = None) -> None:
        """Show the connection dialog."""
        self._dialog = ConnectDialog(self._window, opening)
        self._dialog.agreed.connect(self.open)
        self._dialog.stop_asked.connect(self.opener.stop)
        self._dialog.finished.connect(self._dialog_gone)
        self._dialog.open()

    def _dialog_gone(self, *_: object) -> None:
        self._dialog = None

    def pick_folder(self, into_memory: bool = False) -> None:
        """Choose a dump's folder and open it."""
        path = QFileDialog.getExistingDirectory(self._window, "Open a dump's folder")
        if path:
            self.open(Opening(path, into_memory=into_memory))

    def pick_file(self, into_memory: bool = False) -> None:
        """Choose a dump's file and open it."""
        kinds = "Dumps (*.bson *.bson.gz *.json *.jsonl *.ndjson *.json.gz);;All files (*)"
        path, _ = QFileDialog.getOpenFileName(self._window, "Open a dump file", "", kinds)
        if path:
            self.open(Opening(path, into_memory=into_memory))

    # --- what becomes of that

    def _began(self, opening: Opening) -> None:
        verb = "Connecting to" if "://" in opening.source else "Opening"
        if self._window.at_welcome and self._dialog is None:
            self._window.welcome.begin(opening, f"{verb} {opening.title}")
        self._window.update_state()

    def _opened(self, opened: Opened) -> None:
        session, window = opened.session, self._window
        window.welcome.end()
        window.welcome.clear()
        if self._dialog is not None:
            self._dialog.accept()
        self.sessions.append(session)
        self._openings[id(session)] = opened.opening
        self.refresh_saved()
        window.sidebar.add_session(session)
        window.show_work()
        if opened.note:
            messages.note(window, opened.note)
        window.unsettled.opened(session)
        if not session.is_local:
            watch = self._watches[id(session)] = ConnectionWatch(session, self)
            watch.changed.connect(window.update_state)
            watch.found.connect(self._found_again)
        window.checking.begin(session)
        # Pages follow once the collections are known: each of them would recognise the layouts anew.
        self._fresh.append(session)
        window.desk.say_reading(session.name)
        window.update_state()

    def collections_read(self, session: Session) -> None:
        """Show the pages of a connection whose collections are known now."""
        if session not in self._fresh or session not in self.sessions:
            return
        window = self._window
        self._fresh.remove(session)
        window.desk.say_empty()
        restored = window.desk.restore(session, tab_area.remembered(session))
        if self._waiting_thing is not None and session.is_sample:
            window.trying.begin(session, self._waiting_thing)
        elif not restored and session.is_sample:
            window.trying.first(session)
        elif not restored:
            window.sidebar.search.setFocus()
        self._waiting_thing = None
        window.update_state()

    def _failed(self, opening: Opening, error: BaseException) -> None:
        self._waiting_thing = None
        if self._dialog is not None:
            self._dialog.fail(error)
        elif self._window.at_welcome:
            self._window.welcome.end(error)
        else:
            messages.fail(self._window, error, [("Try again", partial(self.open, opening))])
        self._window.update_state()

    def _stopped(self, _: Opening) -> None:
        self._window.welcome.end()
        if self._dialog is not None:
            self._dialog.idle()
        self._window.update_state()

    def _ask_password(self, opening: Opening) -> None:
        self._window.welcome.end()
        if self._dialog is not None:
            self._dialog.fail(Refused(f"{opening.shown} names a user; type the password."))
            self._dialog.password.setFocus()
            return
        prompt = PasswordPrompt(self._window, opening)
        prompt.agreed.connect(partial(self._with_password, opening))
        prompt.open()

    def _with_password(self, opening: Opening, password: str, keep: bool) -> None:
        self.opener.open(Opening(opening.source, opening.name, opening.read_only, opening.production, password, keep))

    # --- while it is open

    def production(self, session: Session) -> bool:
        """Whether a connection is marked as one where mistakes are dear."""
        opening = self._openings.get(id(session))
        return opening is not None and opening.production

    def watch(self, session: Session | None) -> ConnectionWatch | None:
        """What watches a connection's server; None for what lives in this process."""
        return self._watches.get(id(session))

    @property
    def silent(self) -> list[Session]:
        """The connections whose server does not answer."""
        return [watch.session for watch in self._watches.values() if watch.lost is not None]

    def _found_again(self, session: Session) -> None:
        window = self._window
        for line in [each for each in window.messages.lines if each.passing]:
            line.leave()
        messages.tell(window, f"{session.name} is connected again")
        for page in window.desk.pages_of(session):
            if not page.dirty and page.kind != "check":
                page.do_refresh()
        if not window.sidebar.ns_known(session):
            window.sidebar.read(session)

    # --- its end, and what is kept of it

    def disconnect_session(self, session: Session) -> None:
        """Close a connection and its tabs; edits in them are kept as drafts."""
        window = self._window
        unsaved = [page for page in window.desk.pages_of(session) if page.dirty]
        tab_area.remember(window.desk, session)
        window.desk.close_session(session)
        self.sessions.remove(session)
        self._openings.pop(id(session), None)
        if (watch := self._watches.pop(id(session), None)) is not None:
            watch.deleteLater()
        window.sidebar.remove_session(session)
        tasks.run(lambda _: session.close(), done=_nothing, failed=window.show_error, owner=self)
        if unsaved:
            kept = wording.many(len(unsaved), "edit is", "edits are")
            messages.tell(window, f"{session.name} is closed; {kept} kept as drafts")
        if not self.sessions:
            self.refresh_saved()
            window.show_welcome()
        window.update_state()

    def close_all(self) -> None:
        """The window closes: let go of every connection."""
        for session in self.sessions:
            tab_area.remember(self._window.desk, session)
        tasks.tasks.stop_all()
        for session in self.sessions:
            session.close()
        self.sessions.clear()

    def refresh_saved(self) -> None:
        """Read the saved connections again."""
        try:
            saved = Connections().all()
        except Refused as refusal:
            messages.fail(self._window, refusal)
            saved = []
        self._window.sidebar.set_saved(saved)
        self._window.welcome.set_recent(saved)

    def forget(self, saved: SavedConnection) -> None:
        """Take a connection, and its password, out of those that are saved."""
        Connections().remove(saved.name)
        self.refresh_saved()
        messages.tell(self._window, f"{saved.name} is forgotten, its password too")


def _nothing(_: object) -> None:
    pass
