"""While a person resizes a window, its rows stand still; afterwards the lists are painted again one by one.

Fitting columns and painting rows takes longer than the time between two sizes, so the window would lag behind the
pointer. Each list shows a picture of itself until resizing pauses and its turn comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, QTimer
from PySide6.QtGui import QGuiApplication, QImage, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QWidget
from shiboken6 import isValid

from gui.style import theme

if TYPE_CHECKING:
    _View = QAbstractItemView
else:
    _View = object

TURN = 60  # milliseconds after the last size until the first list's turn, and between turns


class StandsStill(_View):
    """A mixin for a view that can show a picture instead of its rows."""

    still: QImage | None = None
    """The picture shown."""
    ground = "surface"
    """The colour around the picture."""

    def hold(self, picture: QImage) -> None:
        """Show a picture until :meth:`go_on`."""
        self.still = picture

    def go_on(self) -> None:
        """Show the rows again, at once."""
        self.still = None
        self.catch_up()
        self.viewport().repaint()

    def catch_up(self) -> None:
        """Do what was put off while the rows stood still."""

    def is_painted_still(self, event: QPaintEvent) -> bool:
        """Paint the picture, if one is shown."""
        if self.still is None:
            return False
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), theme.colour(self.ground))
        painter.drawImage(QPoint(), self.still)
        painter.end()
        return True


def drawn(window: QWidget) -> QImage | None:
    """What a window shows; None if nothing was drawn at this size, or the platform keeps its pixels elsewhere.

    It changes with the window: keep a copy. macOS lends its pixels for as long as a window draws, and no longer.
    """
    if QGuiApplication.platformName() == "cocoa":
        return None
    store = window.backingStore()
    picture = store.paintDevice() if store is not None else None
    if not isinstance(picture, QImage) or not window.windowHandle().isExposed():
        return None
    return picture if picture.size() == window.size() * picture.devicePixelRatio() else None


class LiveResize(QObject):
    """Holds the lists of a visible window whenever the system resizes it."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._held: list[StandsStill] = []
        self._turns = QTimer(self, interval=TURN)
        self._turns.timeout.connect(self._turn)
        window.windowHandle().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Hold the lists before the window handles its new size; a size set by the program is already known to it."""
        if isinstance(event, QResizeEvent) and event.size() != self._window.size() and self._window.isVisible():
            self._hold()
            QTimer.singleShot(0, self, self._turns.start)  # start again, once it is painted
        return False

    def _hold(self) -> None:
        picture = drawn(self._window)
        if picture is None:
            return
        ratio = picture.devicePixelRatio()
        for view in self._window.findChildren(QAbstractItemView):
            if isinstance(view, StandsStill) and view.still is None and view.isVisible():
                port = view.viewport()
                at = port.mapTo(self._window, QPoint()).toPointF()
                view.hold(picture.copy(QRectF(at * ratio, port.size().toSizeF() * ratio).toAlignedRect()))
                self._held.append(view)

    def _turn(self) -> None:
        """Release the list that was held first, with its header."""
        held = [view for view in self._held if isValid(view)]
        if held:
            now = [view for view in held if view is held[0] or held[0].isAncestorOf(view)]
            held = [view for view in held if view not in now]
            for view in now:
                view.go_on()
        self._held = held
        if not self._held:
            self._turns.stop()
