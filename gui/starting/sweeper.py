"""When Python collects garbage and returns the memory of finished tasks: while nobody waits for the window."""

from __future__ import annotations

import gc

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QTimer
from PySide6.QtGui import QCursor

from gui import tasks
from gui.starting import footprint

MANY = 50_000  # objects; collecting so many takes milliseconds
IDLE = 20  # sweeps without a task or a mouse move; after these a long sweep disturbs nobody
RESTED = 4  # of those sweeps; then the memory of finished tasks is returned to the system
LISTENED = 6  # sweeps before the long one without keys or wheel
_HANDS = frozenset(
    {
        QEvent.Type.KeyPress,
        QEvent.Type.MouseButtonPress,
        QEvent.Type.Wheel,
        QEvent.Type.TouchBegin,
        QEvent.Type.Resize,
    }
)


class Sweeper(QObject):
    """Collects Python's garbage on the UI thread alone.

    Python collects in whatever thread happens to allocate; a cycle with a widget in it that is found by a worker dies
    there, and Qt with it. So the collector is switched off and run by a timer, by its own thresholds. A task can make
    a million objects, and a look through them would stop the window for a tenth of a second: such heaps are set aside
    unseen, which costs nothing, and looked through when nobody is at the window.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._quiet = 0
        self._pointer = QCursor.pos()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.sweep)
        self._timer.start(500)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _HANDS:
            self._begin_again()
        return False

    def _begin_again(self) -> None:
        self._quiet = 0
        self._listen(False)

    def _listen(self, on: bool) -> None:
        """Start or stop watching all input; it takes time to see every event."""
        application = QCoreApplication.instance()
        if application is not None:
            (application.installEventFilter if on else application.removeEventFilter)(self)

    def sweep(self) -> None:
        """Collect small heaps that are due, and all heaps once nothing has happened for a while."""
        pointer = QCursor.pos()
        moved, self._pointer = pointer != self._pointer, pointer
        self._quiet += 1
        if moved or tasks.tasks.running:
            self._begin_again()
        if self._quiet == RESTED:
            footprint.give_back()
        if self._quiet == IDLE - LISTENED:
            # Only the last sweeps before the long one listen to keys and wheel: the pointer is checked for free.
            self._listen(True)
        elif self._quiet == IDLE:
            self._listen(False)
        young = gc.get_count()[0]
        # Set them aside unseen: collecting so many would stop the window.
        if young > MANY:
            gc.freeze()
        elif self._quiet == IDLE:
            # Nobody is at the window: now look through what was set aside as well.
            gc.unfreeze()
            gc.collect()
            gc.freeze()
        elif young > gc.get_threshold()[0]:
            gc.collect(0 if gc.get_count()[1] <= gc.get_threshold()[1] else 1)
