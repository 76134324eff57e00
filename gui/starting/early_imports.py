"""Imports modules in threads before they are needed: those of the first page once a window is drawn, then others.

What few starts need is not held by a window at rest: it is imported once a person acts.

No module here makes a Qt object during its import; the object would belong to that thread.
"""

from __future__ import annotations

import gc
import importlib
import threading
from collections.abc import Sequence

from PySide6.QtCore import QObject, QTimer

from gui import tasks

SOON = (
    "model.session.connection",
    "model.session.document_lists",
    "gui.window.work_area",
    "gui.pages.collection_page",
)
LATER = ("model.session.history_reading", "gui.pages.document_pages", "gui.window.palette", "gui.pages.history_pages")
AT_WORK = ("gui.pages.activity_page", "gui.pages.repair_pages")
REST = 300  # milliseconds without work; after that, imports delay no first page


class EarlyImports(QObject):
    """Imports once; :meth:`begin` is called when a window was drawn, and :meth:`act` for what a person does."""

    def __init__(self) -> None:
        super().__init__()
        self._soon, self._later, self._at_work = (
            threading.Thread(target=bring, args=(names,), name="palimpsest-imports") for names in (SOON, LATER, AT_WORK)
        )
        self._due: list[threading.Thread] = []  # at the next rest
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(REST)
        self._rest.timeout.connect(self._at_rest)

    def begin(self) -> None:
        """Import what the first source and its page need, and the rest when nothing is running."""
        self._soon.start()
        self._await_rest(self._later)

    def act(self, *_: object) -> None:
        """Import at the next rest what the pages need to which a person may go on."""
        if self._at_work.ident is None and self._at_work not in self._due:
            self._await_rest(self._at_work)

    def _await_rest(self, thread: threading.Thread) -> None:
        if not self._due:
            tasks.tasks.changed.connect(self._rest.start)
        self._due.append(thread)
        self._rest.start()

    def _at_rest(self) -> None:
        if self._due and not tasks.tasks.running:
            tasks.tasks.changed.disconnect(self._rest.start)
            for thread in self._due:
                thread.start()
            self._due.clear()

    def end(self) -> None:
        """Wait for the running imports."""
        self._rest.stop()
        for thread in (self._soon, self._later, self._at_work):
            if thread.is_alive():
                thread.join()


def bring(names: Sequence[str]) -> None:
    """Import modules."""
    for name in names:
        importlib.import_module(name)
    gc.freeze()  # all of this stays, so the collector need not look through it again
