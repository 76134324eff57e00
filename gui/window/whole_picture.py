"""A part of the window is not drawn anew before what it shows is whole."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QWidget

from gui import tasks, turns


class WholePicture(QObject):
    """Keeps the last picture of a part, while a new page in it is made and what it shows is read.

    ::

        whole.await_it(250)

    Else a page would be seen empty, then with rows, then with a history, each drawn for nothing. Keys reach the page
    all the same. What takes longer than the given time is seen as it comes. The lists of a page are drawn in turns;
    ``at_once`` draws all in one, for a window in which nothing was seen before.
    """

    def __init__(self, part: QWidget, at_once: bool = False) -> None:
        super().__init__(part)
        self._part, self._at_once = part, at_once
        self._most = QTimer(self)
        self._most.setSingleShot(True)
        self._most.timeout.connect(self.show_now)
        self._is_due = self._is_there = False

    @property
    def is_awaited(self) -> bool:
        """Whether the last picture is still shown."""
        return self._most.isActive()

    def await_it(self, milliseconds: int) -> None:
        """Keep the picture until no titled task of the part runs any more, for that long at most."""
        if not self.is_awaited:
            if not self._part.updatesEnabled():
                return  # it is seen with what it is a part of
            tasks.tasks.changed.connect(self._look_soon)
            self._part.setUpdatesEnabled(False)
        self._most.start(milliseconds)
        self._look_soon()

    def show_now(self) -> None:
        """Draw the part as it is."""
        self._most.stop()
        self._is_there = False
        tasks.tasks.changed.disconnect(self._look_soon)
        from gui.style import drawn_in_turns, one_pass  # not needed for the first frame

        (one_pass if self._at_once else drawn_in_turns).draw(self._part)

    def _look_soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            turns.later(self, self._look)

    def _look(self) -> bool:
        """Draw it once all is there; True: its parts still wait for their turns."""
        if self.is_awaited and turns.turns.waiting:
            return True
        self._is_due = False
        if not self.is_awaited or any(task.title for task in tasks.tasks.of(self._part)):
            self._is_there = False
        elif self._is_there:
            self.show_now()
        else:  # what came may still be fitted in
            self._is_there = True
            QTimer.singleShot(0, self, self._look_soon)
        return False
