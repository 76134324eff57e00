"""A dialog inside the window, which it dims: the question stands beside its subject.

It is part of the window, so that it looks the same with every window manager and is in every picture of the window.
While it is open the window behind takes neither clicks nor keys.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from gui.style import focus_keeper, focus_ring, theme

DIM = 0.34
DIM_DARK = 0.55


class _Veil(QWidget):
    """Lies over the whole window and darkens it."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.setGeometry(window.rect())

    def paintEvent(self, event: QPaintEvent) -> None:
        ink = QColor(theme.colour("canvas" if theme.is_dark() else "text"))
        ink.setAlphaF(DIM_DARK if theme.is_dark() else DIM)
        QPainter(self).fillRect(self.rect(), ink)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        event.accept()


class Sheet(QDialog):
    """The base of in-window dialogs: subclasses fill it; ``QDialog.open`` shows it, Esc calls ``QDialog.reject``."""

    def __init__(self, parent: QWidget, width: float) -> None:
        self._host = parent.window()
        self._veil = _Veil(self._host)
        super().__init__(self._veil)
        self.setWindowFlags(Qt.WindowType.Widget)
        self.setObjectName("sheet")
        self._width = width
        self._back: QWidget | None = None
        self._host.installEventFilter(self)
        self.finished.connect(self._gone)
        self._veil.hide()

    def open(self) -> None:
        """Show the dialog, with the focus where :meth:`first` says; returns at once."""
        self._back = self._host.focusWidget() or QApplication.focusWidget()  # a menu that asks for it is gone by then
        self._place()
        self._veil.show()
        self._veil.raise_()
        self.show()
        app = QApplication.instance()
        assert app is not None
        app.installEventFilter(self)
        first = self.first()
        if first is not None:
            first.setFocus(Qt.FocusReason.PopupFocusReason)

    def fitting(self, height: float, beside: float) -> int:
        """Pixels for a part of this height, less in a window that is too low for it and what stands ``beside`` it."""
        return max(theme.px(96), min(theme.px(height), self._host.height() - theme.px(beside)))

    @property
    def room(self) -> int:
        """The width of the dialog, in pixels."""
        return min(theme.px(self._width), self._host.width() - theme.px(32))

    def first(self) -> QWidget | None:
        """The widget that has the focus when the dialog opens."""
        return None

    def _place(self) -> None:
        self._veil.setGeometry(self._host.rect())
        room, width = self._veil.size(), self.room
        self.setFixedWidth(width)
        wanted = self.heightForWidth(width) if self.hasHeightForWidth() else self.sizeHint().height()
        height = min(wanted, room.height() - theme.px(32))
        self.setFixedHeight(height)
        self.move((room.width() - width) // 2, max(theme.px(16), int((room.height() - height) * 0.45)))

    def _gone(self) -> None:
        app = QApplication.instance()
        if app is not None:
            app.removeEventFilter(self)
        self._host.removeEventFilter(self)
        self._veil.hide()
        focus_keeper.give(self._back, self._host)
        self._veil.deleteLater()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if watched is self._host and kind == QEvent.Type.Resize:
            self._place()
        elif kind == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._is_mine(watched):
            # Taken here, so that no shortcut of the window behind sees the key.
            event.accept()
            return True
        return False

    def _is_mine(self, watched: QObject) -> bool:
        return isinstance(watched, QWidget) and (watched is self or self.isAncestorOf(watched))

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Tab stays inside the dialog."""
        there = [w for w in self.findChildren(QWidget) if focus_ring.takes(w)]
        if not there:
            return True
        there.sort(
            key=lambda w: (w.mapTo(self, w.rect().topLeft()).y() // theme.px(12), w.mapTo(self, w.rect().topLeft()).x())
        )
        now = self.focusWidget()
        at = there.index(now) if now in there else -1
        reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
        there[(at + (1 if forward else -1)) % len(there)].setFocus(reason)
        return True

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.colour("btn" if theme.is_dark() else "border"), 1))
        painter.setBrush(theme.colour("surface"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme.px(10), theme.px(10))
