"""The paths hidden in a collection's comparisons, each with how much it hides and a button to show it again."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from gui.language import tr
from gui.style import theme, wording
from gui.style.sheet import Sheet
from gui.style.states import button, words
from gui.views.compare.ignored_paths import IgnoredPaths, Pattern, pattern_text


class HiddenSheet(Sheet):
    """The sheet of hidden paths; ``shown`` carries the pattern to show again, or None for all."""

    shown = Signal(object)

    def __init__(self, parent: QWidget, ns: str, ignored: IgnoredPaths, counted: list[int]) -> None:
        super().__init__(parent, 520)
        self.setAccessibleName(tr("Hidden fields"))
        self.rows: dict[Pattern, QWidget] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        column.setSpacing(theme.px(8))
        column.addWidget(words(tr("Hidden fields"), "title"))
        column.addWidget(
            words(tr("Their changes are left out of every comparison in {ns}.", ns=ns), "second", wrap=True)
        )
        column.addSpacing(theme.px(8))
        self._listed = QWidget()
        self._listed.setObjectName("surface")
        self._listed.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        grid = QGridLayout(self._listed)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(theme.px(16))
        grid.setColumnStretch(0, 1)
        for row, (pattern, count) in enumerate(zip(ignored.patterns, counted, strict=True)):
            name = words(pattern_text(pattern))
            name.setFont(theme.mono(12))
            here = words(
                tr("{changes} here", changes=wording.many(count, "change")) if count else tr("nothing here"), "second"
            )
            again = button(tr("Show again"), partial(self._show, pattern), "small")
            again.setAccessibleName(tr("Show {pattern} again", pattern=pattern_text(pattern)))
            grid.addWidget(name, row, 0)
            grid.addWidget(here, row, 1)
            grid.addWidget(again, row, 2)
            self.rows[pattern] = again
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(self._listed)
        area.setMinimumHeight(min(theme.px(320), self._listed.sizeHint().height() + 2))
        column.addWidget(area, 1)
        column.addSpacing(theme.px(12))
        foot = QHBoxLayout()
        foot.setSpacing(theme.px(8))
        self.all = button(tr("Show all again"), lambda: self._show(None))
        self._close = button(tr("Close"), self.accept, "main")
        foot.addStretch(1)
        foot.addWidget(self.all)
        foot.addWidget(self._close)
        column.addLayout(foot)

    def first(self) -> QWidget | None:
        return self._close

    def _show(self, pattern: Pattern | None) -> None:
        self.accept()
        self.shown.emit(pattern)
