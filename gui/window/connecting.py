"""The life of connections: asking for one, showing it once it is open, watching its server, closing it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog

from gui import messages, tasks
from gui.language import tr
from gui.pages.page_request import PageRequest
from gui.parts.document_side import remembered
from gui.style import wording
from gui.window.connection_watch import ConnectionWatch
from gui.window.large_dumps import LargeDumps
from gui.window.open_sessions import OpenSessions, close_each
from gui.window.opening import SAMPLE, Opened, Opener, Opening, keep
from model.errors import Refused
from model.session import Session
from model.userdata.connections import Connections, SavedConnection

if TYPE_CHECKING:
    from gui.window.check_offer import CheckOffer
    from gui.window.connect_dialog import ConnectDialog
    from gui.window.sample_guide import SampleGuide
    from gui.window.startup_recovery import StartupRecovery
    from gui.window.workspace import Workspace
    from model.things_to_try import Thing


class Connecting(QObject):
    """Opens and closes the sessions, and shows each in the workspace; ``changed`` is emitted afterwards."""

    changed = Signal()

    def __init__(
        self,
        workspace: Workspace,
        sessions: OpenSessions,
        guide: SampleGuide,
        check_offer: CheckOffer,
        recovery: StartupRecovery,
        dumps: LargeDumps,
    ) -> None:
        super().__init__(workspace)
        self._workspace, self._sessions = workspace, sessions
        self._guide, self._check_offer, self._recovery = guide, check_offer, recovery
        self._dumps = dumps
        dumps.read.connect(self._read)
        self._fresh: list[Session] = []  # open, but their collections are not read yet
        self._dialog: ConnectDialog | None = None
        self._waiting_thing: Thing | None = None
        self.opener = Opener(self)
        self.opener.began.connect(self._began)
        self.opener.opened.connect(self._opened)
        self.opener.failed.connect(self._failed)
        self.opener.stopped.connect(self._stopped)
        self.opener.password_wanted.connect(self._ask_password)

    # --- opening

    def open(self, opening: Opening) -> None:
        """Open a source; if it is already open, bring it to the front."""
        for session in self._sessions.all:
            if session.source == opening.shown:
                self._bring(session)
                return
        self.opener.open(opening)

    def _bring(self, session: Session) -> None:
        self._workspace.show_work()
        page = next(self._workspace.tab_area.pages_of(session), None)
        if page is not None:
            self._workspace.tab_area.show_page(page)

    def open_saved(self, saved: SavedConnection) -> None:
        """Open a saved connection."""
        self.open(Opening.of(saved))

    def open_source(self, source: str, read_only: bool = False, into_memory: bool = False, profile: str = "") -> None:
        """Open a source with its saved settings, or by its address alone; given arguments take precedence."""
        asked = Opening(source)
        try:
            saved = next((one for one in Connections().all() if Opening.of(one).shown == asked.shown), None)
        except Refused:
            saved = None  # told already where they are listed
        if saved is not None:
            asked = replace(Opening.of(saved), source=source)
        elif source == SAMPLE:
            asked = replace(asked, name=SAMPLE)
        self.open(
            replace(
                asked,
                read_only=read_only or asked.read_only,
                into_memory=into_memory,
                profile=profile or asked.profile,
            )
        )

    def open_sample(self) -> None:
        """Open the sample."""
        self.open(Opening(SAMPLE, SAMPLE))

    def reopen_into_memory(self, session: Session) -> None:
        """Open a dump again, so that edits can be tried."""
        opening = self._sessions.opening(session)
        self.disconnect_session(session)
        self.open(Opening(opening.source, opening.name, into_memory=True, profile=opening.profile))

    def try_thing(self, thing: Thing) -> None:
        """Start one of the five things to try, in the sample."""
        session = next((s for s in self._sessions.all if s.is_sample), None)
        if session is not None and session not in self._fresh:
            self._guide.begin(session, thing)
            return
        self._waiting_thing = thing
        if session is None:
            self.open_sample()

    def ask(self, opening: Opening | None = None) -> None:
        """Show the connection dialog."""
        from gui.window.connect_dialog import ConnectDialog

        self._dialog = ConnectDialog(self._workspace, opening)
        self._dialog.agreed.connect(self.open)
        self._dialog.stop_asked.connect(self.opener.stop)
        self._dialog.finished.connect(self._dialog_gone)
        self._dialog.open()

    def edit_saved(self, saved: SavedConnection) -> None:
        """Show a saved connection in the dialog, with its secrets from the keyring."""
        opening = replace(Opening.of(saved), replaces=saved.name)
        tasks.run(
            lambda _: replace(opening, source=Connections().complete(saved.uri)),
            done=self.ask,
            failed=partial(self._edit_without_secrets, opening),
            owner=self,
            title=tr("Asking the keyring for {name}", name=saved.name),
        )

    def _edit_without_secrets(self, opening: Opening, error: BaseException) -> None:
        self.ask(opening)
        if self._dialog is not None:
            self._dialog.fail(error)

    def _dialog_gone(self, *_: object) -> None:
        self._dialog = None

    def pick_folder(self, into_memory: bool = False) -> None:
        """Choose a dump's folder and open it."""
        path = QFileDialog.getExistingDirectory(self._workspace.window(), tr("Open a dump's folder"))
        if path:
            self.open(Opening(path, into_memory=into_memory))

    def pick_file(self, into_memory: bool = False) -> None:
        """Choose a dump's file and open it."""
        kinds = tr("Dumps (*.bson *.bson.gz *.json *.jsonl *.ndjson *.json.gz);;All files (*)")
        path, _ = QFileDialog.getOpenFileName(self._workspace.window(), tr("Open a dump file"), "", kinds)
        if path:
            self.open(Opening(path, into_memory=into_memory))

    # --- results

    def _began(self, opening: Opening) -> None:
        verb = tr("Connecting to") if "://" in opening.source else tr("Opening")
        if self._workspace.at_welcome and self._dialog is None:
            self._workspace.begin(opening, f"{verb} {wording.source(opening.title)}")
        self.changed.emit()

    def _opened(self, opened: Opened) -> None:
        session, workspace = opened.session, self._workspace
        workspace.opened()
        if self._dialog is not None:
            self._dialog.accept()
        self._sessions.add(session, opened.opening, self._watch(session))
        self.refresh_saved()
        workspace.sidebar.add_session(session)
        workspace.show_work()
        if opened.note:
            messages.note(workspace, opened.note)
        self._recovery.opened(session)
        self._check_offer.begin(session)
        # Pages follow once the collections are known: each page would recognise the layouts again.
        self._fresh.append(session)
        workspace.tab_area.say_reading(session.name, partial(workspace.sidebar.stop, session))
        if workspace.page is None:
            workspace.focus_search()
        self.changed.emit()

    def _watch(self, session: Session) -> ConnectionWatch | None:
        if session.is_local:
            return None
        watch = ConnectionWatch(session, self)
        watch.changed.connect(self.changed)
        watch.found.connect(self._found_again)
        return watch

    def collections_read(self, session: Session) -> None:
        """Show the pages of a connection whose collections are now known."""
        if session not in self._fresh or session not in self._sessions.all:
            return
        workspace = self._workspace
        is_searching = workspace.is_searching
        self._fresh.remove(session)
        workspace.await_page()
        workspace.tab_area.say_empty()
        front = next((page for page in workspace.tab_area.pages_of(session) if page is workspace.page), None)
        restored = workspace.tab_area.bring_back(session)
        if front is not None and front in workspace.tab_area.pages:  # opened by its name while they were read
            workspace.tab_area.show_page(front)
            restored = True
        if self._waiting_thing is not None and session.is_sample:
            self._guide.begin(session, self._waiting_thing)
        elif not restored and session.is_sample:
            self._guide.first(session)
        elif not restored and len(infos := workspace.sidebar.infos.get(id(session), [])) == 1:
            workspace.open(session, PageRequest("collection", infos[0].ns))  # as of a file that was dropped
        elif not restored:
            workspace.sidebar.show_source(session)
            workspace.focus_search()
        if is_searching:
            workspace.focus_search()
        self._waiting_thing = None
        self._dumps.begin(session)
        self.changed.emit()

    def _read(self, session: Session) -> None:
        """Show a dump again that so far had only its first documents."""
        if session in self._sessions.all:
            self._workspace.sidebar.read(session)
            for page in self._workspace.tab_area.pages_of(session):
                page.do_refresh()

    def _failed(self, opening: Opening, error: BaseException) -> None:
        self._waiting_thing = None
        if self._dialog is not None:
            self._dialog.fail(error)
        elif self._workspace.at_welcome:
            self._workspace.end(opening, error)
        else:
            messages.fail(self._workspace, error, [(tr("Try again"), partial(self.open, opening))])
        self.changed.emit()

    def _stopped(self, _: Opening) -> None:
        self._workspace.end()
        if self._dialog is not None:
            self._dialog.idle()
        self.changed.emit()

    def _ask_password(self, opening: Opening, why: str) -> None:
        self._workspace.end()
        if self._dialog is not None:
            self._dialog.fail(Refused(why or tr("{shown} names a user; type the password.", shown=opening.shown)))
            self._dialog.show_part(tr("Login"))
            self._dialog.login.password.setFocus()
            return
        from gui.window.connect_dialog import PasswordPrompt

        prompt = PasswordPrompt(self._workspace, opening, why)
        prompt.agreed.connect(partial(self._with_password, opening))
        prompt.open()

    def _with_password(self, opening: Opening, password: str, keep: bool) -> None:
        self.opener.open(replace(opening, password=password, keep_password=keep))

    # --- while it is open

    def _found_again(self, session: Session) -> None:
        workspace = self._workspace
        for line in [each for each in messages.area(workspace).lines if each.passing]:
            line.leave()
        messages.tell(workspace, tr("{name} is connected again", name=wording.source(session.name, first=True)))
        for page in workspace.tab_area.pages_of(session):
            page.after_silence()
        if workspace.sidebar.lacks(session):
            workspace.sidebar.read(session)

    # --- closing, and what is remembered

    def disconnect_session(self, session: Session) -> None:
        """Close a connection and its tabs; their edits are kept as drafts."""
        workspace = self._workspace
        unsaved = [page for page in workspace.tab_area.pages_of(session) if page.dirty]
        workspace.tab_area.keep(session)
        workspace.tab_area.close_session(session)
        self._sessions.remove(session)
        workspace.sidebar.remove_session(session)
        remembered.forget(session)
        tasks.run(lambda _: session.close(), done=_nothing, failed=partial(messages.fail, self._workspace), owner=self)
        if unsaved:
            kept = wording.many(len(unsaved), "edit is", "edits are")
            name = wording.source(session.name, first=True)
            messages.tell(
                workspace,
                tr("{name} is closed; {kept} kept as a draft", name=name, kept=kept)
                if len(unsaved) == 1
                else tr("{name} is closed; {kept} kept as drafts", name=name, kept=kept),
            )
        if not self._sessions.all:
            self.refresh_saved()
            workspace.show_welcome()
        self.changed.emit()

    def close_all(self, last: bool = True) -> None:
        """Close every connection, because the window closes; ``last``: no other window is left."""
        for session in self._sessions.all:
            self._workspace.tab_area.keep(session)
        if last:
            tasks.tasks.stop_all()
        else:
            tasks.tasks.stop_of(self._workspace.window())
        close_each(self._sessions.all)

    def refresh_saved(self) -> None:
        """Read the saved connections again."""
        try:
            saved = Connections().all()
        except Refused as refusal:
            messages.fail(self._workspace, refusal)
            saved = []
        self._workspace.set_saved(saved)

    def keep_profile(self, session: Session, _: str = "") -> None:
        """Remember with a connection the profile that it now uses."""
        opening, file = self._sessions.opening(session), session.catalogue.profile_file
        if file is not None and str(file) != opening.profile:
            opening = replace(opening, profile=str(file))
            self._sessions.put_opening(session, opening)
            if note := keep(opening):
                messages.note(self._workspace, note)
            self.refresh_saved()

    def forget(self, saved: SavedConnection) -> None:
        """Remove a saved connection, and its password from the keyring."""
        tasks.run(
            lambda _: Connections().remove(saved.name),
            done=partial(self._forgotten, saved),
            failed=self._not_forgotten,
            owner=self,
        )

    def _forgotten(self, saved: SavedConnection, _: object) -> None:
        self.refresh_saved()
        messages.tell(self._workspace, tr("{name} is forgotten, its password too", name=saved.name))

    def _not_forgotten(self, error: BaseException) -> None:
        self.refresh_saved()
        messages.fail(self._workspace, error)


def _nothing(_: object) -> None:
    pass
