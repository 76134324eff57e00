"""Work of the window's thread in turns of the event loop: between two of them the window draws and answers keys.

::

    turns.later(self, self._fill)

What comes together would otherwise be one turn: Qt handles all that was posted, with the layouts and the drawing that
follow from it, before it looks at a key. So a turn ends after ``SHARE`` seconds, and with a call that takes longer.
Qt makes the calls of timers before it handles keys, so the turn after that is left out: else two would pass.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer
from shiboken6 import isValid

SHARE = 0.008
"""Seconds; Qt needs as many for the layouts and the drawing that follow."""


class Turns(QObject):
    """The calls that wait for their turns, in the order in which they came."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[tuple[QObject, Callable[[], object]]] = deque()
        self._next = QTimer(self)
        self._next.setSingleShot(True)  # a timer that repeats would not fire in an event loop inside a call
        self._next.setInterval(0)
        self._next.timeout.connect(self._turn)
        self._gives_way = False

    @property
    def waiting(self) -> bool:
        """Whether a call waits for its turn."""
        return bool(self._waiting)

    def later(self, owner: QObject, call: Callable[[], object]) -> None:
        """Make a call in a later turn, unless its owner is gone by then; one that returns True is made again after."""
        self._waiting.append((owner, call))
        if not self._next.isActive():
            self._next.start()

    def _turn(self) -> None:
        if self._gives_way:
            self._gives_way = False
            self._next.start()
            return
        end = time.perf_counter() + SHARE
        while self._waiting:
            owner, call = self._waiting.popleft()
            if self._waiting:
                self._next.start()
            if isValid(owner) and call() is True:
                self.later(owner, call)
            if time.perf_counter() >= end:
                self._gives_way = bool(self._waiting)
                return
        self._next.stop()


turns = Turns()
later = turns.later
