"""Gives the application another style sheet without a silence.

If sizes stay, no widget has to be laid out again, and all get their colours in later turns: styling all widgets of a
window with some tabs at once would stop it for a fifth of a second. Those in sight come first, and nothing is drawn
until they have all of them.
"""

from __future__ import annotations

import time

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from gui.style import drawn_in_turns

SHARE = 0.008  # seconds of each later turn
DRAWN = 40  # milliseconds until a window is drawn; only then hidden widgets follow
_POLISHED, _OWN_STYLE = Qt.WidgetAttribute.WA_WState_Polished, Qt.WidgetAttribute.WA_SetStyle


class Restyling(QObject):
    """Sets the sheet; Qt then styles the widgets that have ``_POLISHED``, and tells those without ``_OWN_STYLE`` that
    their style changed, which would lay them out again.

    Widgets lose the former, and get it back with their style in a later turn, or when they are shown.
    """

    def __init__(self, application: QApplication) -> None:
        super().__init__(application)
        self._application = application
        self._seen: list[QWidget] = []
        self._hidden: list[QWidget] = []
        self._held: list[QWidget] = []  # windows that draw nothing meanwhile
        self._turns = QTimer(self)
        self._turns.timeout.connect(self._style_some)

    def put(self, sheet: str) -> None:
        """Set a sheet in which sizes may differ."""
        while self._seen or self._held or self._hidden:
            self._style_some()
        # If one sheet replaces another, Qt styles each widget once per widget around it; after no sheet, only once.
        self._application.setStyleSheet("")
        self._application.setStyleSheet(sheet)

    def put_colours(self, sheet: str) -> None:
        """Set a sheet in which nothing but colours differs."""
        every = self._application.allWidgets()
        for window in self._application.topLevelWidgets():
            if window.isVisible() and window.updatesEnabled():
                window.setUpdatesEnabled(False)
                self._held.append(window)
        polished = [widget for widget in every if widget.testAttribute(_POLISHED)]
        for widget in polished:
            widget.setAttribute(_POLISHED, False)
            (self._seen if widget.isVisible() else self._hidden).append(widget)
        told = [widget for widget in every if not widget.testAttribute(_OWN_STYLE)]
        for widget in told:
            widget.setAttribute(_OWN_STYLE, True)
        self._application.setStyleSheet("")
        self._application.setStyleSheet(sheet)
        for widget in told:
            widget.setAttribute(_OWN_STYLE, False)
        self._application.installEventFilter(self)
        self._turns.start(0)

    def _style_some(self) -> None:
        end = time.monotonic() + SHARE
        self._turns.setInterval(0)
        if not self._seen and self._held:
            self._draw()
            return
        left = self._seen or self._hidden
        while left:
            _style(left.pop())
            if time.monotonic() >= end:
                break
        if not (self._seen or self._held or self._hidden):
            self._turns.stop()
            self._application.removeEventFilter(self)

    def _draw(self) -> None:
        """Let the windows draw; that takes so long that nothing else is done in this turn and the next ones."""
        for window in self._held:
            if isValid(window):
                drawn_in_turns.draw(window)
        self._held.clear()
        self._turns.setInterval(DRAWN)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Style the widgets that are shown meanwhile."""
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget):
            _style(watched)
        return False


def _style(widget: QWidget) -> None:
    if isValid(widget) and not widget.testAttribute(_POLISHED):
        QCoreApplication.sendEvent(widget, QEvent(QEvent.Type.Polish))
