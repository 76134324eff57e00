"""What fills a window that is started with a source, until that is open: blank, then what is being opened."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget

from gui.language import tr
from gui.style import boxes
from gui.style.states import StateView


class OpeningPage(QWidget):
    """Holds nothing that the first frame would wait for."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        boxes.ground(self, "surface")
        self.state: StateView | None = None

    def say(self, title: str, stop: Callable[[], object]) -> None:
        """Name what is being opened; the button calls ``stop``."""
        if self.state is None:
            self.state = StateView(self)
            boxes.column(self).addWidget(self.state)
        self.state.put("hourglass", "text2", title, "", [(tr("Stop"), stop)])
        QTimer.singleShot(0, self.state, self.state.focus_choice)  # the button is not shown before
