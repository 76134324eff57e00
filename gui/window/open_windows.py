"""The windows of the program: opened, restored, asked by later starts, closed together."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QFileOpenEvent

from gui import app, messages
from gui.language import translated
from gui.starting.early_imports import EarlyImports
from gui.starting.running_instance import RunningInstance
from gui.style import preferences
from gui.window.window import Window
from model.foundation import kept_files

MOST = 8  # windows that are restored
_KEPT = "windows"


class OpenWindows(QObject):
    """All windows of this process, in the order in which they were opened. ``told`` carries a notice of any thread."""

    told = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.told.connect(self._show_notice)
        self.all: list[Window] = []
        self._leaving = False

    def open(self, source_follows: bool = False) -> Window:
        """Open another window; it gets the lowest free number, and with it that number's place and tabs."""
        taken = {window.number for window in self.all}
        number = next(n for n in range(1, len(taken) + 2) if n not in taken)
        window = Window(number, source_follows)
        self.all.append(window)
        window.another_asked.connect(self.open)
        window.quit_asked.connect(self.quit)
        window.closed.connect(partial(self._closed, window))
        window.stays.connect(self._stay)
        window.show()
        return window

    def restore(self, source_follows: bool = False) -> Window:
        """Restore the windows of the last run; returns the first, which may get a source."""
        number = preferences.remembered(_KEPT, 1)
        first = self.open(source_follows)
        first.drawn.connect(self._listen)
        for _ in range(1, min(number, MOST) if isinstance(number, int) else 1):
            self.open()
        first.raise_()
        first.activateWindow()
        return first

    @property
    def in_front(self) -> Window:
        """The active window, else the one opened last."""
        return next((window for window in self.all if window.isActiveWindow()), self.all[-1])

    def serve(self, request: Mapping[str, Any]) -> None:
        """Open what a later start asks for, in the active window."""
        window = self.in_front if self.all else self.open()
        window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
        window.show()
        window.raise_()
        window.activateWindow()
        if source := str(request.get("source") or ""):
            window.connecting.open_source(
                source,
                bool(request.get("read_only")),
                bool(request.get("into_memory")),
                str(request.get("profile") or ""),
            )

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Open a file that the system passes to the application; macOS does so when one is double-clicked."""
        if isinstance(event, QFileOpenEvent) and event.file():
            self.serve({"source": event.file()})
            return True
        return False

    def quit(self) -> None:
        """Close one window after the other; if one asks a question, the rest wait for the answer."""
        preferences.remember(_KEPT, len(self.all))
        self._leaving = True
        self._close_next()

    def _close_next(self) -> None:
        if self.all:
            self.all[0].close()
        else:
            self._leaving = False

    def _stay(self) -> None:
        self._leaving = False
        preferences.remember(_KEPT, len(self.all))

    def show_error(self, error: BaseException) -> None:
        """Show an uncaught error."""
        if self.all:
            self.in_front.show_error(error)

    def _listen(self) -> None:
        """Show what was told of damaged files before there was a window, and what will be."""
        kept_files.notices.listen(self.told.emit)

    def _show_notice(self, sentence: str) -> None:
        if self.all:
            messages.note(self.in_front, translated(sentence))

    def _closed(self, window: Window) -> None:
        if window in self.all:
            was_next = window is self.all[0]
            self.all.remove(window)
            window.deleteLater()
            if not self._leaving:
                preferences.remember(_KEPT, max(1, len(self.all)))
            elif was_next:
                self._close_next()


def run(request: Mapping[str, Any], apart: bool = False) -> int:
    """Open windows and the source of a request, as :meth:`OpenWindows.serve` takes it; returns the exit status.

    With ``apart``, later starts do not come to this program.
    """
    application = app.application()
    app.start_undisturbed()
    if os.name == "posix":
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # drafts are on disk after every change
    windows = OpenWindows()
    if sys.platform == "darwin":  # elsewhere a file is passed as an argument
        application.installEventFilter(windows)
    app.catch(windows.show_error)
    instance = RunningInstance()
    instance.asked.connect(windows.serve)
    imports = EarlyImports()
    source = request.get("source")
    first = windows.restore(bool(source))
    first.drawn.connect(imports.begin if source else imports.await_person)
    instance.asked.connect(imports.begin)
    first.actions_.asked.connect(imports.act)
    if not apart:
        first.drawn.connect(instance.listen)
    if source:
        first.drawn.connect(partial(windows.serve, request))
    gc.freeze()  # all of this stays, so the sweeper need not look through it
    status = application.exec()
    imports.end()
    if not apart:
        instance.close()
    return status
