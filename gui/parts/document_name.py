"""The name of a document above its fields or its versions."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.style import theme, wording


class DocumentName(QWidget):
    """A document's id, cut in the middle if it does not fit."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        theme.signals.changed.connect(self.updateGeometry)

    def put(self, text: str) -> None:
        """Show an id."""
        self._text = text
        self.setToolTip(wording.tip(text))
        self.setAccessibleName(text)
        self.setVisible(bool(text))
        self.updateGeometry()
        self.update()

    @property
    def text(self) -> str:
        """The whole id."""
        return self._text

    def sizeHint(self) -> QSize:
        width = QFontMetricsF(theme.mono(12, 600)).horizontalAdvance(self._text) + 2
        return QSize(min(theme.px(320), round(width)), theme.px(26))

    def minimumSizeHint(self) -> QSize:
        return QSize(min(theme.px(90), self.sizeHint().width()), theme.px(26))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        font = theme.mono(12, 600)
        painter.setFont(font)
        painter.setPen(theme.colour("text"))
        shown = QFontMetricsF(font).elidedText(self._text, Qt.TextElideMode.ElideMiddle, self.width())
        painter.drawText(QRectF(self.rect()), int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), shown)
        painter.end()
