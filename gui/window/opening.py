"""Opens a source in a task: completes it from the keyring, connects, and saves the connection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from gui import tasks
from gui.language import tr, translated
from gui.style import boxes, wording
from gui.style.states import StateView
from model.errors import Refused
from model.foundation.address import unquoted
from model.session import Session
from model.userdata.connections import Connections, SavedConnection, label, needs_password, without_password

PATIENCE = 1000
"""Milliseconds for which a window that starts with a source is a mere frame, so that its first page comes whole."""
SAMPLE = "sample:"
SCHEMES = ("mongodb://", "mongodb+srv://")


def trouble_with(source: str) -> str:
    """Why a text cannot be a server's address, in one sentence; "" if it can."""
    typed = unquoted(source).strip()
    if not typed:
        return tr("Type the address of a server: mongodb://host:27017 or mongodb+srv://cluster.example.")
    if not typed.startswith(SCHEMES) and "://" in typed:
        return tr("An address begins with mongodb:// or mongodb+srv://.")
    source = completed(typed)
    from model.session.sources import address_trouble

    return address_trouble(source) if "://" in source else ""


def completed(typed: str) -> str:
    """A typed address as a URI: a host alone gets its scheme."""
    source = unquoted(typed).strip()
    if "://" in source or source == SAMPLE or "/" in source or "\\" in source:
        return source
    return f"mongodb://{source}"


@dataclass(frozen=True)
class Opening:
    """A source to open. ``source`` may contain a password; it is shown and saved without it."""

    source: str = field(repr=False)  # an error may quote an opening
    name: str = ""
    read_only: bool = False
    production: bool = False
    password: str | None = field(default=None, repr=False)
    keep_password: bool = True
    into_memory: bool = False
    profile: str = ""  # the file that states its layouts; "" leaves all to recognition
    replaces: str = ""  # the name of the saved connection that it was made from

    @classmethod
    def of(cls, saved: SavedConnection) -> Opening:
        """The opening of a saved connection."""
        return cls(saved.uri, saved.name, saved.read_only, saved.production, profile=saved.profile)

    @property
    def shown(self) -> str:
        """The source as it may be shown."""
        return without_password(self.source)

    @property
    def title(self) -> str:
        """The name of the connection."""
        return self.name or label(self.shown)


class Opened(Struct, frozen=True):
    """A session, and a sentence if its connection could not be saved."""

    session: Session
    opening: Opening
    note: str = ""

    def close(self) -> None:
        """Close the connection."""
        self.session.close()


class Opener(QObject):
    """Opens sources for one window; several can be opening at once."""

    began = Signal(object)  # Opening
    opened = Signal(object)  # Opened
    failed = Signal(object, object)  # Opening, error
    stopped = Signal(object)  # Opening
    password_wanted = Signal(object, str)  # Opening, and why the keyring does not have it, or ""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._running: dict[str, _Ends] = {}

    def open(self, opening: Opening) -> None:
        """Connect; one of the signals follows. A source that is already being opened is not opened twice."""
        key = opening.shown
        if key in self._running:
            return

        def open_source(progress: tasks.Progress) -> Opened | str:
            try:
                if opening.password is None and _lacks_password(opening):
                    return ""
            except Refused as refusal:
                return translated(str(refusal))
            session = Session.open(
                opening.source,
                profile=opening.profile or None,
                read_only=opening.read_only,
                into_memory=opening.into_memory,
                password=opening.password,
                apart=True,
                at_once=True,
            )
            try:
                progress(1, 1)  # stopped meanwhile: nobody waits for it
                session.name = opening.title
                session.trust.look_at_rights()
                return Opened(session, opening, keep(opening))
            except BaseException:
                session.close()
                raise

        self.began.emit(opening)
        ends = self._running[key] = _Ends(self, opening)
        ends.task = tasks.run(
            open_source,
            done=ends.done,
            failed=ends.failed,
            cancelled=ends.stopped,
            owner=self,
            title=tr("Connecting to {title}", title=opening.title)
            if "://" in opening.source
            else tr("Opening {title}", title=wording.source(opening.title)),
        )

    def stop(self, opening: Opening) -> None:
        """Give up at once; a session that arrives later is closed."""
        ends = self._running.pop(opening.shown, None)  # it may be opened again before the old try returns
        if ends is not None:
            ends.give_up()
            self.stopped.emit(opening)

    def ended(self, ends: _Ends) -> None:
        """Forget an opening that ended, however it went."""
        if self._running.get(ends.opening.shown) is ends:
            del self._running[ends.opening.shown]


class _Ends(QObject):
    def __init__(self, opener: Opener, opening: Opening) -> None:
        super().__init__(opener)
        self._opener, self.opening = opener, opening
        self.task: tasks.Task | None = None
        self._given_up = False

    def give_up(self) -> None:
        """Give up: nobody waits for a server that may take long to fail."""
        self._given_up = True
        if self.task is not None:
            self.task.cancel()

    def _over(self) -> bool:
        self._opener.ended(self)
        self.deleteLater()
        return self._given_up

    def done(self, opened: Opened | str) -> None:
        if self._over():
            if not isinstance(opened, str):
                session = opened.session
                tasks.run(lambda _: session.close(), done=_nothing, failed=_nothing, owner=self._opener)
        elif isinstance(opened, str):
            self._opener.password_wanted.emit(self.opening, opened)
        else:
            self._opener.opened.emit(opened)

    def failed(self, error: BaseException) -> None:
        if not self._over():
            self._opener.failed.emit(self.opening, error)

    def stopped(self) -> None:
        if not self._over():  # stopped in the list of tasks
            self._opener.stopped.emit(self.opening)


def _nothing(_: object) -> None:
    pass


def _lacks_password(opening: Opening) -> bool:
    from model.userdata.given_password import given_password

    if given_password():
        return False
    return needs_password(opening.source) and needs_password(Connections().complete(opening.source))


def keep(opening: Opening) -> str:
    """Save an opened source as a connection; returns why that failed, in one sentence, or ""."""
    if opening.source == SAMPLE:
        return ""
    connections = Connections()
    try:
        known = connections.all()
        same = next((c for c in known if c.uri == opening.shown), None)
        if same is None:
            same = next((c for c in known if opening.replaces and c.name == opening.replaces), None)
        name = opening.name or (same.name if same is not None else label(opening.shown))
        taken = {c.name for c in known if c is not same}
        free, at = name, 2
        while free in taken:
            free, at = f"{name} ({at})", at + 1
        saved = SavedConnection(free, opening.source, opening.read_only, opening.production, profile=opening.profile)
        if same is not None and (same.name != free or same.uri != opening.shown):
            connections.remove(same.name)
        try:
            if opening.keep_password:
                connections.save(saved, opening.password)
            else:
                connections.save(replace(saved, uri=opening.shown), with_secrets=False)
        finally:
            connections.used(free)
    except Refused as refusal:
        return translated(str(refusal))
    return ""


class OpeningPage(QWidget):
    """Contains nothing that the first frame would wait for, and nothing at all if its source opens soon."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        boxes.ground(self, "surface")
        self.state: StateView | None = None
        self._say: Callable[[], object] | None = None
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(PATIENCE)
        self._later.timeout.connect(self._say_now)

    def say(self, title: str, stop: Callable[[], object]) -> None:
        """Name what is being opened, once that has taken a moment; the button calls ``stop``."""
        self._say = partial(self._put, title, stop)
        self._later.start()

    def _say_now(self) -> None:
        if self._say is not None and not self.isHidden():
            self._say()

    def _put(self, title: str, stop: Callable[[], object]) -> None:
        if self.state is None:
            self.state = StateView(self)
            boxes.column(self).addWidget(self.state)
        self.state.put("hourglass", "text2", title, "", [(tr("Stop"), stop)])
        QTimer.singleShot(0, self.state, self.state.focus_choice)  # the button is not shown before
