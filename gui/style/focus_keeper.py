"""Where the focus goes when its control disappears: to the nearest panel around it, never to a switch that allows
writes.

Qt passes the focus of a hidden or disabled control to the next one in the window, wherever that is, and drops it when
a control is deleted.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator

from PySide6.QtCore import QObject, Qt, QTimer, Slot
from PySide6.QtWidgets import QApplication, QMainWindow, QWidget
from shiboken6 import isValid

from gui.style import focus_ring

_Reason = Qt.FocusReason
SWITCH = "switchesWrites"
"""The property of controls that only a person's own click or Tab may focus."""


def can_have(widget: QWidget | None) -> bool:
    """Whether a control could have the focus now."""
    if widget is None or not isValid(widget):
        return False
    end = _end(widget)
    return end.isVisible() and end.isEnabled() and end.focusPolicy() != Qt.FocusPolicy.NoFocus


def give(widget: QWidget | None, lost: QWidget | None = None, reason: _Reason = _Reason.OtherFocusReason) -> None:
    """Focus a control or panel if possible, else something inside it, else the nearest panel around it; never a
    switch.

    If it no longer exists, the panels around ``lost`` are tried.
    """
    wanted = widget if widget is not None and isValid(widget) else lost
    if wanted is None or not isValid(wanted):
        return
    if _serves(_end(wanted)):
        wanted.setFocus(reason)
    elif (inner := _first_in(wanted, wanted)) is not None:
        inner.setFocus(reason)
    else:
        put_back(wanted)


def put_back(lost: QWidget) -> bool:
    """Focus the control that takes the focus for the nearest panel around a lost one; False if there is none."""
    window = lost.window()
    panels = [above for above in _above(lost, window) if above.focusProxy() is not None]
    for around in (*panels, _centre(window), window):
        found = _first_in(around, lost)
        if found is not None:
            found.setFocus(Qt.FocusReason.OtherFocusReason)
            return True
    return False


def _first_in(around: QWidget, lost: QWidget) -> QWidget | None:
    """The control that takes the focus for a panel, else its first one that can have it."""
    if not around.isVisible():
        return None
    within = [widget for widget in around.findChildren(QWidget) if focus_ring.takes(widget)]
    gone = lost if lost is not around else None
    others = [_end(around), *(each for each in within if gone is None or not gone.isAncestorOf(each))]
    return next((each for each in others if each is not lost and _serves(each)), None)


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
    """Keeps the focus within one window: it returns to what was focused last."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._last: list[weakref.ref[QWidget]] = []  # the control focused last, and the panels around it
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self._mind)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._moved)

    @property
    def _window(self) -> QWidget:
        window = self.parent()  # kept as an attribute, the window would never be freed
        assert isinstance(window, QWidget)
        return window

    def step(self, forward: bool) -> bool:
        """Move on by Tab; or, if the present control can no longer have the focus, to the panel around it."""
        now = self._window.focusWidget()
        if now is not None and not can_have(now):
            return put_back(now)
        return focus_ring.step(self._window, forward)

    @Slot(QWidget, QWidget)
    def _moved(self, _: QWidget | None, now: QWidget | None) -> None:
        if not hasattr(self, "_soon"):  # the collector emptied this object, and Qt still calls it
            return
        if now is None:
            # Between two controls there is no focus either: look once the event is over.
            self._soon.start(0)
        elif now.window() is self._window:
            self._last = [weakref.ref(each) for each in (now, now.parentWidget()) if each is not None]

    def _mind(self) -> None:
        """Act when nothing in an active window has the focus: its control was deleted, or its panel disabled."""
        if not self._window.isActiveWindow() or QApplication.focusWidget() is not None:
            return
        if QApplication.activePopupWidget() is None and QApplication.activeModalWidget() is None:
            known = [each for ref in self._last if (each := ref()) is not None and isValid(each)]
            give(known[0] if known else _centre(self._window))
