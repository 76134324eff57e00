"""The place of the focus once its control is gone: the nearest panel around that, never a switch that allows writes.

Qt hands the focus of a control that is hidden or disabled to the next one in the window, wherever that stands, and
drops it where a control is deleted.
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
    """Focus a control or panel where it can be, else what can be in it, else the nearest panel around it; no switch.

    Where it is gone, that is around the one that is ``lost``.
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
    """Focus what has the focus for the nearest panel around a control that cannot have it; False for none."""
    window = lost.window()
    panels = [above for above in _above(lost, window) if above.focusProxy() is not None]
    for around in (*panels, _centre(window), window):
        found = _first_in(around, lost)
        if found is not None:
            found.setFocus(Qt.FocusReason.OtherFocusReason)
            return True
    return False


def _first_in(around: QWidget, lost: QWidget) -> QWidget | None:
    """What has the focus for a panel, else its first control that can."""
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

    @Slot(QWidget, QWidget)
    def _moved(self, _: QWidget | None, now: QWidget | None) -> None:
        if not hasattr(self, "_soon"):  # the collector has emptied it, and Qt has not let go of it so far
            return
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
