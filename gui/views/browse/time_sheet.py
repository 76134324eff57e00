"""The sheet for the time that a list shows."""

from __future__ import annotations

import datetime as dt
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gui.language import tr
from gui.parts.time_line import TimeLine
from gui.style import theme
from gui.style.sheet import Sheet
from gui.style.states import button, words

AGO = ((tr("An hour ago"), "1h"), (tr("Yesterday"), "1d"), (tr("A week ago"), "7d"), (tr("30 days ago"), "30d"))


class TimeSheet(Sheet):
    """Asks for a time; ``agreed`` carries it, or None for now."""

    agreed = Signal(object)

    def __init__(self, parent: QWidget, ns: str, at: dt.datetime | None) -> None:
        super().__init__(parent, 520)
        self.setAccessibleName(tr("As of a time"))
        self.line = TimeLine(tr("Time"))
        self.show_then = button(tr("Show"), self._agree, "main")
        self.line.meant.connect(self._typed)
        self.line.returnPressed.connect(self._agree)
        self.line.put(at)
        self.line.selectAll()
        ago = QHBoxLayout()
        ago.setSpacing(theme.px(8))
        for name, age in AGO:
            ago.addWidget(button(name, partial(self.line.setText, age), "small"))
        ago.addStretch(1)
        foot = QHBoxLayout()
        foot.setSpacing(theme.px(8))
        self.now = button(tr("Back to now"), self._to_now, "quiet")
        self.now.setVisible(at is not None)
        foot.addWidget(self.now)
        foot.addStretch(1)
        foot.addWidget(button(tr("Cancel"), self.reject))
        foot.addWidget(self.show_then)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        column.setSpacing(theme.px(12))
        column.addWidget(words(tr("As of a time"), "title"))
        about = tr("{ns} as it was then, from the versions that were kept; filter and order as usual.", ns=ns)
        column.addWidget(words(about, "second", wrap=True))
        column.addWidget(self.line)
        column.addWidget(self.line.said)
        column.addLayout(ago)
        column.addLayout(foot)
        self._typed()

    def first(self) -> QWidget | None:
        return self.line

    def _typed(self) -> None:
        self.show_then.setEnabled(self.line.is_fine)

    def _agree(self) -> None:
        if self.line.is_fine and (found := self.line.moment) is not None:
            self.accept()
            self.agreed.emit(found.at)

    def _to_now(self) -> None:
        self.accept()
        self.agreed.emit(None)
