"""Two windows over one sample in one process, and waiting until what they show has settled."""

from __future__ import annotations

import os
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication, QFileDialog

from gui import app, tasks
from gui.pages.base import Page
from gui.style import preferences
from gui.style.sheet import Sheet
from gui.window.opening import Opened, Opening
from gui.window.window import Window
from model.session import Session

PATIENCE = 60.0
"""Seconds in which what is shown must settle on a busy machine."""


class World:
    """The application with its windows; what goes wrong in it, warnings of Qt and errors, is kept in ``troubles``."""

    def __init__(self, troubles: list[str], windows: int = 2) -> None:
        self.session = Session.open("sample:")
        self.troubles = troubles
        self.windows = [self._window() for _ in range(windows)]
        self.settle()

    def _window(self) -> Window:
        window = Window()
        window.resize(1440, 900)
        window.show()
        window.connecting.opener.opened.emit(Opened(self.session, Opening("sample:", "sample:")))
        return window

    @property
    def pages(self) -> list[tuple[int, Page]]:
        """The open pages, each with the number of its window."""
        return [(at, page) for at, window in enumerate(self.windows) for page in window.workspace.tab_area.pages]

    def settle(self, until: Callable[[], bool] = lambda: True, seconds: float = PATIENCE) -> bool:
        """Let the windows work until nothing is under way and something holds; False where that does not come."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
            if not tasks.tasks.running and not any(page.is_behind for _, page in self.pages) and until():
                return True
            time.sleep(0.001)
        return False

    def sheet(self, window: Window) -> Sheet | None:
        """The dialog that is open in a window."""
        return next((found for found in window.findChildren(Sheet) if found.isVisible()), None)

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
        for window in self.windows:
            window._sessions.all.clear()  # the session is the world's to close
            window.close_quietly()
            window.deleteLater()
        tasks.tasks.stop_all()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        self.session.close()


def _where(error: BaseException) -> str:
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
        preferences.put("reduce_motion", True)
        app.catch(lambda error: wrong.append(f"{type(error).__name__}: {error} {_where(error)}"))
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
