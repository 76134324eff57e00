"""The switch between the views that share a tab."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gui.pages.page_registry import PageKind
from gui.style import boxes


class ViewSwitch(QWidget):
    """A button for each view, the shown one chosen; ``asked`` carries the kind of another one."""

    asked = Signal(str)

    def __init__(self, views: list[PageKind], shown: str) -> None:
        super().__init__()
        self._kinds = [row.kind for row in views]
        self._shown = self._kinds.index(shown)
        segments, self._group = boxes.segments(self, [row.view for row in views])
        self._group.button(self._shown).setChecked(True)
        self._group.idClicked.connect(self._clicked)
        self.setLayout(segments)

    def button(self, kind: str) -> QWidget:
        """The button of a view."""
        return self._group.button(self._kinds.index(kind))

    def _clicked(self, at: int) -> None:
        if at != self._shown:
            self._group.button(self._shown).setChecked(True)  # this view stays as it is, if it is busy
            self.asked.emit(self._kinds[at])
