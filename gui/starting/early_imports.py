"""Imports modules in threads before they are needed: those of the first page once a window is drawn, then others.

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
LATER = ("model.session.history_reading", "gui.pages.document_pages", "gui.window.palette")
REST = 300  # milliseconds without work; after that, imports delay no first page


class EarlyImports(QObject):
    """Imports once; :meth:`begin` is called when a window was drawn."""

    def __init__(self) -> None:
        super().__init__()
        self._soon, self._later = (
            threading.Thread(target=bring, args=(names,), name="palimpsest-imports") for names in (SOON, LATER)
        )
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(REST)
        self._rest.timeout.connect(self._at_rest)

    def begin(self) -> None:
        """Import what the first source and its page need, and the rest when nothing is running."""
        self._soon.start()
        tasks.tasks.changed.connect(self._rest.start)
        self._rest.start()

    def _at_rest(self) -> None:
        if not tasks.tasks.running:
            tasks.tasks.changed.disconnect(self._rest.start)
            self._later.start()

    def end(self) -> None:
        """Wait for the running imports."""
        self._rest.stop()
        for thread in (self._soon, self._later):
            if thread.is_alive():
                thread.join()


def bring(names: Sequence[str]) -> None:
    """Import modules."""
    for name in names:
        importlib.import_module(name)
    gc.freeze()  # all of this stays, so the collector need not look through it again
