"""Opening a source in a task: complete it from the keyring, connect, and keep it among the saved connections."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, Signal

from gui import tasks
from model.errors import Refused
from model.session import Connections, SavedConnection, Session, label, needs_password, without_password

SCHEMES = ("mongodb://", "mongodb+srv://")


def trouble_with(source: str) -> str:
    """Why a text cannot be the address of a server, one sentence; "" where it can."""
    typed = source.strip()
    if not typed:
        return "Type the address of a server: mongodb://host:27017 or mongodb+srv://cluster.example."
    if not typed.startswith(SCHEMES) and "://" in typed:
        return "An address begins with mongodb:// or mongodb+srv://."
    return ""


def completed(typed: str) -> str:
    """What was typed as a URI: a bare host gets its scheme."""
    source = typed.strip()
    if "://" in source or source == "sample:" or "/" in source or "\\" in source:
        return source
    return f"mongodb://{source}"


@dataclass(frozen=True)
class Opening:
    """What is to be opened. ``source`` may hold a password; it is shown and kept without it."""

    source: str
    name: str = ""
    read_only: bool = False
    production: bool = False
    password: str | None = None
    keep_password: bool = True
    into_memory: bool = False

    @classmethod
    def of(cls, saved: SavedConnection) -> Opening:
        """A saved connection again."""
        return cls(saved.uri, saved.name, saved.read_only, saved.production)

    @property
    def shown(self) -> str:
        """The source as it may be shown."""
        return without_password(self.source)

    @property
    def title(self) -> str:
        """What it is called."""
        return self.name or label(self.shown)


@dataclass(frozen=True)
class Opened:
    """A session, and what could not be kept of it."""

    session: Session
    opening: Opening
    note: str = ""


class Opener(QObject):
    """One for a window; several sources may be opening at once."""

    began = Signal(object)  # Opening
    opened = Signal(object)  # Opened
    failed = Signal(object, object)  # Opening, error
    stopped = Signal(object)  # Opening
    password_wanted = Signal(object)  # Opening

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._running: dict[str, tasks.Task] = {}

    def open(self, opening: Opening) -> None:
        """Connect; one of the signals follows. A source that is being opened is not opened once more beside that."""
        key = opening.shown
        if key in self._running:
            return

        def work(progress: tasks.Progress) -> Opened | None:
            if opening.password is None and _lacks_password(opening):
                return None
            session = Session.open(
                opening.source,
                read_only=opening.read_only,
                into_memory=opening.into_memory,
                password=opening.password,
            )
            try:
                progress(1, 1)  # stopped meanwhile: nobody waits for it any more
                session.name = opening.title
                return Opened(session, opening, keep(opening))
            except BaseException:
                session.close()
                raise

        self.began.emit(opening)
        ends = _Ends(self, opening)
        self._running[key] = ends.task = tasks.run(
            work,
            done=ends.done,
            failed=ends.failed,
            cancelled=ends.stopped,
            owner=self,
            title=f"Connecting to {opening.title}" if "://" in opening.source else f"Opening {opening.title}",
        )

    def stop(self, opening: Opening) -> None:
        """Give up; what arrives later is closed."""
        task = self._running.pop(opening.shown, None)  # it may be opened again before the old try has come back
        if task is not None:
            task.cancel()

    def ended(self, opening: Opening, task: tasks.Task | None) -> None:
        """An opening is over, however it went."""
        if task is not None and self._running.get(opening.shown) is task:
            del self._running[opening.shown]


class _Ends(QObject):
    def __init__(self, opener: Opener, opening: Opening) -> None:
        super().__init__(opener)
        self._opener, self._opening = opener, opening
        self.task: tasks.Task | None = None

    def _over(self) -> None:
        self._opener.ended(self._opening, self.task)
        self.deleteLater()

    def done(self, opened: Opened | None) -> None:
        self._over()
        if opened is None:
            self._opener.password_wanted.emit(self._opening)
        else:
            self._opener.opened.emit(opened)

    def failed(self, error: BaseException) -> None:
        self._over()
        self._opener.failed.emit(self._opening, error)

    def stopped(self) -> None:
        self._over()
        self._opener.stopped.emit(self._opening)


def _lacks_password(opening: Opening) -> bool:
    if os.environ.get("PALIMPSEST_PASSWORD"):
        return False
    return needs_password(opening.source) and needs_password(Connections().complete(opening.source))


def keep(opening: Opening) -> str:
    """Remember a source that was opened; returns what could not be kept, one sentence, or ""."""
    if opening.source == "sample:":
        return ""
    connections = Connections()
    try:
        known = connections.all()
        same = next((c for c in known if c.uri == opening.shown), None)
        name = opening.name or (same.name if same is not None else label(opening.shown))
        taken = {c.name for c in known if c is not same}
        free, at = name, 2
        while free in taken:
            free, at = f"{name} ({at})", at + 1
        saved = SavedConnection(free, opening.source, opening.read_only, opening.production)
        if same is not None and same.name != free:
            connections.remove(same.name)
        try:
            if opening.keep_password:
                connections.save(saved, opening.password)
            else:
                connections.save(replace(saved, uri=opening.shown))
        finally:
            connections.used(free)
    except Refused as refusal:
        return str(refusal)
    return ""
