"""Gives the application another style sheet without a silence.

If sizes stay, no widget has to be laid out again, and hidden ones get their colours in later turns: styling all
widgets of a window with some tabs would stop it for a fifth of a second.
"""

from __future__ import annotations

import time

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

SHARE = 0.008  # seconds of each later turn
_POLISHED = Qt.WidgetAttribute.WA_WState_Polished


class Restyling(QObject):
    """Sets the sheet; Qt then styles the widgets that have ``_POLISHED``, and tells every widget by a ``StyleChange``.

    Hidden widgets lose the attribute, and get it back with their style in a later turn, or when they are shown.
    """

    def __init__(self, application: QApplication) -> None:
        super().__init__(application)
        self._application = application
        self._later: list[QWidget] = []
        self._is_setting = False
        self._turns = QTimer(self)
        self._turns.setInterval(0)
        self._turns.timeout.connect(self._style_some)

    def put(self, sheet: str) -> None:
        """Set a sheet in which sizes may differ."""
        while self._later:
            self._style_some()
        # If one sheet replaces another, Qt styles each widget once per widget around it; after no sheet, only once.
        self._application.setStyleSheet("")
        self._application.setStyleSheet(sheet)

    def put_colours(self, sheet: str) -> None:
        """Set a sheet in which nothing but colours differs."""
        hidden = [w for w in self._application.allWidgets() if not w.isVisible() and w.testAttribute(_POLISHED)]
        for widget in hidden:
            widget.setAttribute(_POLISHED, False)
        self._later += hidden
        self._application.installEventFilter(self)
        self._is_setting = True
        self._application.setStyleSheet("")
        self._application.setStyleSheet(sheet)
        self._is_setting = False
        self._turns.start()

    def _style_some(self) -> None:
        end = time.monotonic() + SHARE
        while self._later and time.monotonic() < end:
            _style(self._later.pop())
        if not self._later:
            self._turns.stop()
            self._application.removeEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep ``StyleChange`` from widgets, which would be laid out, and style those that are shown meanwhile."""
        if self._is_setting:
            return event.type() == QEvent.Type.StyleChange
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget):
            _style(watched)
        return False


def _style(widget: QWidget) -> None:
    if isValid(widget) and not widget.testAttribute(_POLISHED):
        QCoreApplication.sendEvent(widget, QEvent(QEvent.Type.Polish))
