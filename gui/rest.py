"""Work that waits until the window rests, so that it takes no time from what a person waits for.

::

    rest.later(self, self._look_for_index)
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer
from shiboken6 import isValid

from gui import tasks

REST = 300  # milliseconds in which no task runs
LONGEST = 2000  # milliseconds in which none begins or ends: what runs then, such as a scan, is waited for no longer


class Rest(QObject):
    """The calls that wait for the next rest."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[tuple[QObject, Callable[[], object]]] = []
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._over)

    def later(self, owner: QObject, call: Callable[[], object]) -> None:
        """Make a call at the next rest, unless its owner is gone by then; one that waits already is made once."""
        if not self._waiting:
            tasks.tasks.changed.connect(self._again)
        if (owner, call) not in self._waiting:
            self._waiting.append((owner, call))
        self._again()

    def _again(self) -> None:
        self._timer.start(REST)

    def _over(self) -> None:
        if tasks.tasks.running and self._timer.interval() < LONGEST:
            self._timer.start(LONGEST)
            return
        tasks.tasks.changed.disconnect(self._again)
        waiting, self._waiting = self._waiting, []
        for owner, call in waiting:
            if isValid(owner):
                call()


rest = Rest()
later = rest.later
