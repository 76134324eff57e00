"""What a window shows while a source is open: the sidebar, the tabs, and above them the line about a lost server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gui.window.connection_watch import LostLine
from gui.window.sidebar import Sidebar
from gui.window.tab_area import TabArea

if TYPE_CHECKING:
    from model.session import Session


class WorkArea(QWidget):
    """Holds these three; ``production`` is passed to the tabs."""

    def __init__(self, production: Callable[[Session], bool], parent: QWidget) -> None:
        super().__init__(parent)
        self.sidebar = Sidebar(self)
        self.lost = LostLine(self)
        self.tab_area = TabArea(production, self)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.sidebar)
        right = QVBoxLayout()
        right.setSpacing(0)
        right.addWidget(self.lost)
        right.addWidget(self.tab_area, 1)
        row.addLayout(right, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.sidebar.fit(self.width())
