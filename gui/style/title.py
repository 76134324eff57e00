"""The title of a panel."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QWidget

from gui.style.states import words


class Title(QWidget):
    """Words, or in their place what leads to the other views of the tab."""

    def __init__(self, said: str) -> None:
        super().__init__()
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._words = words(said, "title")
        self._row.addWidget(self._words)
        self._row.addStretch(1)

    def put(self, instead: QWidget) -> None:
        """Show a widget in place of the words."""
        self._words.hide()
        self._row.insertWidget(0, instead)
