"""Two windows over one sample in one process, and waiting until what they show has settled."""

from __future__ import annotations

import os
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pymongo.monitoring
from PySide6.QtCore import (
    QAbstractAnimation,
    QCoreApplication,
    QEvent,
    QEventLoop,
    Qt,
    QtMsgType,
    qInstallMessageHandler,
)
from PySide6.QtWidgets import QApplication, QFileDialog
from shiboken6 import isValid

from gui import app, tasks
from gui.pages.base import Page
from gui.style import preferences
from gui.style.sheet import Sheet, _Veil
from gui.window import remote_watch
from gui.window.opening import Opened, Opening
from gui.window.window import Window
from model.foundation.records import Outcome
from model.localserver import open_sample
from model.session import Session
from model.values.canonical import Value
from tests.walking.other_program import OtherProgram

WRITES = frozenset(("insert", "update", "delete", "findAndModify", "bulkWrite"))
PATIENCE = 60.0
"""Seconds in which what is shown must settle on a busy machine."""
ROUNDS = 5
"""Rounds without work: what came last is arranged in one, has its height in the next, and moves others in a third."""


class SentWrites(pymongo.monitoring.CommandListener):
    """The collections that any client of this process sent a write to, since they were taken last."""

    def __init__(self) -> None:
        self._sent: list[str] = []

    def take(self) -> set[str]:
        """The collections, which are forgotten."""
        sent, self._sent = self._sent, []
        return set(sent)

    def started(self, event: pymongo.monitoring.CommandStartedEvent) -> None:
        if event.command_name in WRITES:
            self._sent.append(f"{event.database_name}.{event.command[event.command_name]}")

    def succeeded(self, event: pymongo.monitoring.CommandSucceededEvent) -> None:
        """Nothing more is to be noted."""

    def failed(self, event: pymongo.monitoring.CommandFailedEvent) -> None:
        """Nothing more is to be noted: the write was sent."""


sent_writes = SentWrites()
pymongo.monitoring.register(sent_writes)


class World:
    """The application with its windows; what goes wrong in it, warnings of Qt and errors, is kept in ``troubles``.

    The windows share the sample. With ``served`` it lies on a server, to which each window has a connection of its own
    and another program has one as well; what that one writes is asked for more often than people need. ``database`` is
    the only one that is shown; "" stands for all.
    """

    def __init__(self, troubles: list[str], windows: int = 2, served: bool = False, database: str = "") -> None:
        self._server = open_sample() if served else None
        self._every = remote_watch.EVERY
        self.other: OtherProgram | None = None
        if self._server is None:
            self.sessions = [Session.open("sample:")] * windows
        else:
            remote_watch.EVERY = 100
            self.other = OtherProgram(self._server.uri)
            self.sessions = [Session.open(self._server.uri) for _ in range(windows)]
        self.session = self.sessions[0]
        self.session.catalogue.database = database
        self.troubles = troubles
        self.others: set[str] = set()  # collections that were written as a colleague would, which no journal notes
        self._as_colleague, self.session.colleague.change = self.session.colleague.change, self._colleague  # type: ignore[method-assign]
        self.windows = [self._window(session) for session in self.sessions]
        self.settle()

    def _window(self, session: Session) -> Window:
        window = Window()
        window.resize(1440, 900)
        window.show()
        window.connecting.opener.opened.emit(Opened(session, Opening(session.source, session.name)))
        return window

    def session_of(self, window: Window) -> Session:
        """The connection of one of the windows."""
        return self.sessions[self.windows.index(window)]

    def _colleague(self, ns: str, id: Value) -> Outcome:
        self.others.add(ns)
        return self._as_colleague(ns, id)

    @property
    def pages(self) -> list[tuple[int, Page]]:
        """The open pages, each with the number of its window."""
        return [(at, page) for at, window in enumerate(self.windows) for page in window.workspace.tab_area.pages]

    @property
    def is_watched(self) -> bool:
        """Whether another program's write to what is on show would be noticed.

        Of what no page has as it was read, it is noticed once the server was asked for the first time.
        """
        return self.other is None or all(
            raw is not None or each in self.windows[at].remote.known(page.session).get(ns, {})
            for at, page in self.pages
            for ns, shown, _ in page.on_show_of(page.session)
            for each, raw in shown.items()
        )

    def settle(self, until: Callable[[], bool] = lambda: True, seconds: float = PATIENCE) -> bool:
        """Let the windows work until nothing is under way and something holds; False where that does not come."""
        end, rounds = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
            behind = any(page.is_behind for _, page in self.pages)
            rounds = 0 if tasks.tasks.running or behind or self._moving else rounds + 1
            if rounds >= ROUNDS:
                if until():
                    return True
                time.sleep(0.05)  # looking takes long, and nothing is under way
            time.sleep(0.001)
        return False

    @property
    def _moving(self) -> bool:
        """Whether a sidebar is still on its way, where a walk has allowed motion."""
        motions = [window.workspace.sidebar._motion for window in self.windows if isValid(window)]
        return any(motion.state() == QAbstractAnimation.State.Running for motion in motions)

    @property
    def is_left(self) -> bool:
        """Whether a window was closed, or its connection."""
        return any(
            not isValid(window) or not window.isVisible() or session not in window.sessions
            for window, session in zip(self.windows, self.sessions, strict=True)
        )

    def close_others(self) -> None:
        """Close the windows that were opened since."""
        for each in QApplication.topLevelWidgets():
            if isinstance(each, Window) and each not in self.windows and each.isVisible():
                each.close_quietly()
                each.deleteLater()
                self.windows[0].activateWindow()

    def sheet(self, window: Window) -> Sheet | None:
        """The dialog that is open in a window."""
        veils = window.findChildren(_Veil, options=Qt.FindChildOption.FindDirectChildrenOnly)
        return next((found for veil in veils for found in veil.findChildren(Sheet) if found.isVisible()), None)

    def clear(self) -> None:
        """Close every dialog, tab and message, and forget the drafts."""
        for window in self.windows:
            while (asked := self.sheet(window)) is not None:
                asked.reject()
            for page in list(window.workspace.tab_area.pages):
                window.workspace.tab_area._drop(page)
            for line in list(window.messages.lines):
                line.leave()
        self.settle()
        for draft in self.session.drafts.all():
            self.session.drafts.discard(draft.source, draft.ns, draft.id)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)

    def close(self) -> None:
        """Close the windows and the session."""
        for window in filter(isValid, self.windows):
            window._sessions.all.clear()  # the session is the world's to close
            window.close_quietly()
            window.deleteLater()
        tasks.tasks.stop_all()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        for session in self.sessions:
            session.close()
        remote_watch.EVERY = self._every
        if self._server is not None and self.other is not None:
            self.other.close()
            self._server.close()


def where(error: BaseException) -> str:
    """The innermost three places that an error came through."""
    return " ".join(f"{Path(at.filename).name}:{at.lineno}" for at in traceback.extract_tb(error.__traceback__)[-3:])


@contextmanager
def living() -> Iterator[list[str]]:
    """An application and a home of its own; yields the list of what goes wrong: warnings of Qt, errors of handlers."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    wrong: list[str] = []

    def heard(kind: QtMsgType, _: object, said: str) -> None:
        if kind != QtMsgType.QtInfoMsg and "This plugin does not support" not in said:
            wrong.append(f"Qt: {said}")

    before = os.environ.get("PALIMPSEST_HOME")
    with tempfile.TemporaryDirectory() as home, suppress(KeyboardInterrupt):
        os.environ["PALIMPSEST_HOME"] = str(Path(home))
        preferences.forget()
        application = app.application()
        assert isinstance(application, QApplication)
        preferences.put("motion", "less")
        app.catch(lambda error: wrong.append(f"{type(error).__name__}: {error} {where(error)}"))
        for name in ("getOpenFileName", "getSaveFileName", "getOpenFileNames"):
            setattr(QFileDialog, name, staticmethod(lambda *_, **__: ("", "")))  # the system's own would wait for ever
        QFileDialog.getExistingDirectory = staticmethod(lambda *_, **__: "")  # type: ignore[method-assign]
        old = qInstallMessageHandler(heard)
        try:
            yield wrong
        finally:
            qInstallMessageHandler(old)
            preferences.forget()
            if before is None:
                del os.environ["PALIMPSEST_HOME"]
            else:
                os.environ["PALIMPSEST_HOME"] = before
