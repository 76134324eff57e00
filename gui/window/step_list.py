"""The steps of testing a connection, each with a symbol, its name and its result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from gui.language import translated
from gui.style import theme
from gui.style.states import Glyph, words

if TYPE_CHECKING:
    from model.foundation.records import ConnectionStep

_SIGNS = {"ok": ("check-circle", "acc"), "warning": ("warning", "warn"), "failed": ("warning-circle", "err")}


class StepList(QWidget):
    """Rows of steps; hidden while there are none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.steps: list[ConnectionStep] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(theme.px(8))
        self._grid.setVerticalSpacing(theme.px(4))
        self._grid.setColumnStretch(2, 1)
        self.hide()

    def clear(self) -> None:
        """Forget the steps."""
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self.steps = []
        self.hide()

    def add(self, step: ConnectionStep) -> None:
        """Append a step."""
        row = len(self.steps)
        self.steps.append(step)
        sign = Glyph(*_SIGNS[step.result])
        name = words(translated(step.name), "strong")
        said = words(translated(step.said), "second" if step.result == "ok" else "", wrap=True)
        said.setAccessibleName(f"{translated(step.name)}, {step.result}: {translated(step.said)}")
        said.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        top = Qt.AlignmentFlag.AlignTop
        for column, part in enumerate((sign, name)):
            self._grid.addWidget(part, row, column, top)
        self._grid.addWidget(said, row, 2)
        for part in (self, sign, name, said):
            part.show()  # at once: the caller asks for the list's height next
