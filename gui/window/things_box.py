"""The five things to try as a box of the sidebar, beside what is open in the sample."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gui.language import tr, translated
from gui.pages.page_registry import SidebarEntry
from gui.style import boxes, theme, wording
from gui.style.states import hair, tool, words
from gui.window.sidebar_parts import EntryButton
from model.things_to_try import THINGS, Thing

ICONS = {
    "compare": "git-diff",
    "map": "grid-four",
    "race": "git-merge",
    "restore": "arrow-counter-clockwise",
    "repair": "wrench",
}


class ThingsBox(QWidget):
    """A line for each thing; a click begins it. The cross closes the box."""

    asked = Signal(object)  # Thing
    left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lines: list[EntryButton] = []
        column = boxes.column(self)
        column.addWidget(hair())
        head = QHBoxLayout()
        head.setContentsMargins(theme.px(16), theme.px(4), theme.px(8), 0)
        head.addWidget(words(tr("Five things to try"), "column"))
        head.addStretch(1)
        self.close_button = tool("x", tr("Close; the menu Help opens them again"), self.left.emit)
        head.addWidget(self.close_button)
        column.addLayout(head)
        for thing in THINGS:
            line = EntryButton(SidebarEntry(translated(thing.title), "text2", "canvas"), ICONS[thing.action])
            line.setToolTip(wording.tip(translated(thing.subtitle)))
            line.setAccessibleDescription(translated(thing.subtitle))
            line.clicked.connect(partial(self._asked, thing))
            self.lines.append(line)
            column.addWidget(line)
        column.addSpacing(theme.px(4))

    def _asked(self, thing: Thing) -> None:
        self.asked.emit(thing)
