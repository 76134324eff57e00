"""The place of the focus once its control is gone: the nearest panel around that, never a switch that allows writes.

Qt hands the focus of a control that is hidden or disabled to the next one in the window, wherever that stands, and
drops it where a control is deleted.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QMainWindow, QWidget
from shiboken6 import isValid

from gui.style import focus_ring

SWITCH = "switchesWrites"
"""The property of controls that only a person's own click or Tab may focus."""


def can_have(widget: QWidget | None) -> bool:
    """Whether a control could have the focus now."""
    if widget is None or not isValid(widget):
        return False
    end = _end(widget)
    return end.isVisible() and end.isEnabled() and end.focusPolicy() != Qt.FocusPolicy.NoFocus


def give(widget: QWidget | None, lost: QWidget | None = None) -> None:
    """Focus a control where it can be, else the nearest panel around it, or around the one that is ``lost``."""
    if widget is not None and can_have(widget):
        widget.setFocus(Qt.FocusReason.OtherFocusReason)
    elif widget is not None and isValid(widget):
        put_back(widget)
    elif lost is not None and isValid(lost):
        put_back(lost)


def put_back(lost: QWidget) -> bool:
    """Focus what has the focus for the nearest panel around a control that cannot have it; False for none."""
    window = lost.window()
    around = [*_above(lost, window), _centre(window)]
    for end in map(_end, around):
        if end is not lost and _serves(end):
            end.setFocus(Qt.FocusReason.OtherFocusReason)
            return True
    within = (widget for widget in window.findChildren(QWidget) if widget is not lost)
    inner = next((widget for widget in within if focus_ring.takes(widget) and _serves(widget)), None)
    if inner is not None:
        inner.setFocus(Qt.FocusReason.OtherFocusReason)
    return inner is not None


def _above(widget: QWidget, window: QWidget) -> Iterator[QWidget]:
    while widget is not window and (above := widget.parentWidget()) is not None:
        yield above
        widget = above


def _centre(window: QWidget) -> QWidget:
    inner = window.centralWidget() if isinstance(window, QMainWindow) else None
    return inner or window


def _end(widget: QWidget) -> QWidget:
    proxy: QWidget | None = widget
    while proxy is not None:
        widget, proxy = proxy, proxy.focusProxy()
    return widget


def _serves(widget: QWidget) -> bool:
    return can_have(widget) and not widget.property(SWITCH)


class FocusKeeper(QObject):
    """Keeps a focus in one window: what was focused last is where it comes back to."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._last: list[weakref.ref[QWidget]] = []  # the control focused last, and the panel around it
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self._mind)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._moved)

    @property
    def _window(self) -> QWidget:
        window = self.parent()  # kept as an attribute, a window that is dropped would never go
        assert isinstance(window, QWidget)
        return window

    def step(self, forward: bool) -> bool:
        """Go on by Tab; or back to the panel around a control that can have the focus no longer."""
        now = self._window.focusWidget()
        if now is not None and not can_have(now):
            return put_back(now)
        return focus_ring.step(self._window, forward)

    def _moved(self, _: QWidget | None, now: QWidget | None) -> None:
        if now is None:
            self._soon.start(0)
        elif now.window() is self._window:
            self._last = [weakref.ref(each) for each in (now, now.parentWidget()) if each is not None]

    def _mind(self) -> None:
        """Nobody has the focus in a window that is active: the control was deleted, or its panel disabled."""
        if not self._window.isActiveWindow() or QApplication.focusWidget() is not None:
            return
        if QApplication.activePopupWidget() is None and QApplication.activeModalWidget() is None:
            known = [each for ref in self._last if (each := ref()) is not None and isValid(each)]
            give(known[0] if known else _centre(self._window))
