"""The cross at the end of a line edit, which clears it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QToolButton

from gui.language import tr
from gui.style import icons, theme, wording

SIDE, EDGE, ICON = 22, 4, 14


class ClearCross(QToolButton):
    """Shown while text is typed, in the size of the text. Qt's own has a fixed size and colours."""

    def __init__(self, line: QLineEdit) -> None:
        super().__init__(line)
        self._line = line
        self.setObjectName("cross")
        self.setIcon(icons.icon("x"))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # keys clear the line as in any other
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setToolTip(wording.tip(tr("Clear")))
        self.setAccessibleName(tr("Clear"))
        self.clicked.connect(line.clear)
        row = QHBoxLayout(line)
        row.addStretch(1)
        row.addWidget(self)
        line.textChanged.connect(self._typed)
        theme.signals.changed.connect(self._fit)
        self._fit()
        self._typed(line.text())

    def _fit(self) -> None:
        self.setFixedSize(theme.px(SIDE), theme.px(SIDE))
        self.setIconSize(QSize(theme.px(ICON), theme.px(ICON)))
        layout = self._line.layout()
        assert layout is not None
        layout.setContentsMargins(0, 0, theme.px(EDGE), 0)
        self._typed(self._line.text())

    def _typed(self, text: str) -> None:
        self.setVisible(bool(text))
        self._line.setTextMargins(0, 0, theme.px(SIDE) if text else 0, 0)
