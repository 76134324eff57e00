"""The sheet that asks for the format of an exported history."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from gui.language import tr
from gui.parts.time_line import TimeLine
from gui.style import theme
from gui.style.sheet import Sheet
from gui.style.states import button, words

FORMS = (
    ("git", tr("Git repository…"), tr("A commit for each version, with its time, author and reason")),
    ("folder", tr("Folder…"), tr("A file for each version")),
    ("jsonl", tr("JSON lines…"), tr("One file, a line for each version")),
    ("report", tr("Report…"), tr("A page to print or to send: who changed what and why, gaps, hashes")),
)


class HistoryOutSheet(Sheet):
    """Asks for a format; ``chosen`` carries its name. The report of a collection has a span of time."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget, what: str, spans: bool) -> None:
        super().__init__(parent, 560)
        self.setAccessibleName(tr("Export history"))
        self.since = TimeLine(tr("Since"), tr("The report begins with the first version."))
        self.until = TimeLine(tr("Until"), tr("It ends with the last one."))
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        column.setSpacing(theme.px(12))
        column.addWidget(words(tr("Export history"), "title"))
        about = tr("{what} Git, folder and JSON lines can be imported again, byte for byte.", what=what)
        column.addWidget(words(about, "second", wrap=True))
        grid = QGridLayout()
        grid.setSpacing(theme.px(8))
        grid.setColumnStretch(1, 1)
        self.forms = {}
        for row, (form, name, said) in enumerate(FORMS):
            made = self.forms[form] = button(name, partial(self._choose, form), "small")
            made.setAccessibleDescription(said)
            grid.addWidget(made, row, 0)
            grid.addWidget(words(said, "second", wrap=True), row, 1)
        column.addLayout(grid)
        if spans:
            for line, name in ((self.since, tr("Since")), (self.until, tr("Until"))):
                row_of_line = QHBoxLayout()
                row_of_line.addWidget(words(name, "second"))
                row_of_line.addWidget(line, 1)
                column.addLayout(row_of_line)
                column.addWidget(line.said)
                line.meant.connect(self._fit)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(button(tr("Cancel"), self.reject))
        column.addLayout(foot)

    def first(self) -> QWidget | None:
        return self.forms["git"]

    def _fit(self) -> None:
        self.forms["report"].setEnabled(self.since.is_fine and self.until.is_fine)

    def _choose(self, form: str) -> None:
        self.accept()
        self.chosen.emit(form)
