"""Imports modules in threads before they are needed: those of the first page once its source is asked for, then others.

A window at rest holds only what its first page needs, and what one key may ask for: further pages are imported once
a person is at the window, and those that few starts need once that person acts.

No module here makes a Qt object during its import; the object would belong to that thread.
"""

from __future__ import annotations

import gc
import importlib
import threading
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication, QEvent, QObject

from gui import rest

SOON = (
    "model.session.connection",
    "model.session.document_lists",
    "gui.window.work_area",
    "gui.pages.collection_page",
)
LATER = ("gui.window.palette",)
TOUCHED = (
    "gui.pages.document_writes",
    "model.session.history_reading",
    "gui.pages.document_pages",
    "gui.pages.history_pages",
)
AT_WORK = ("gui.pages.activity_page", "gui.pages.repair_pages")
_HANDS = frozenset({QEvent.Type.KeyPress, QEvent.Type.MouseMove, QEvent.Type.MouseButtonPress, QEvent.Type.DragEnter})


class EarlyImports(QObject):
    """Imports once; :meth:`begin` or :meth:`await_person` is called when a window was drawn, and :meth:`act` later."""

    def __init__(self) -> None:
        super().__init__()
        self._soon, self._later, self._touched, self._at_work = (
            threading.Thread(target=bring, args=(names,), name="palimpsest-imports")
            for names in (SOON, LATER, TOUCHED, AT_WORK)
        )
        self._ended = self._begun = self._came = self._acted = False

    def await_person(self) -> None:
        """Begin once a person is at the window: one that nobody touches holds a fifth less."""
        if not self._begun:
            self._listen(True)

    def _listen(self, on: bool) -> None:
        """Start or stop watching all input; it takes time to see every event."""
        application = QCoreApplication.instance()
        if application is not None:
            (application.installEventFilter if on else application.removeEventFilter)(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _HANDS:
            self._came = True
            self._listen(False)
            if self._begun:
                self._start(self._touched)
            else:
                self.begin()
        return False

    def begin(self, *_: object) -> None:
        """Import what the first source and its page need; when nothing is running, what one key may ask for.

        Further pages follow once a person is at the window.
        """
        if self._begun:
            return
        self._begun = True
        self._listen(False)
        self._soon.start()
        rest.later(self, self._rested)

    def _rested(self) -> None:
        self._start(self._later)
        if self._came:
            self._start(self._touched)
        else:
            self._listen(True)

    def act(self, *_: object) -> None:
        """Import at the next rest what the pages need to which a person may go on."""
        if not self._acted:
            self._acted = True
            rest.later(self, partial(self._start, self._at_work))

    def _start(self, thread: threading.Thread) -> None:
        if not self._ended:
            thread.start()

    def end(self) -> None:
        """Begin no further imports, and wait for the running ones."""
        self._ended = True
        for thread in (self._soon, self._later, self._touched, self._at_work):
            if thread.is_alive():
                thread.join()


def bring(names: Sequence[str]) -> None:
    """Import modules."""
    for name in names:
        importlib.import_module(name)
    gc.freeze()  # all of this stays, so the collector need not look through it again
