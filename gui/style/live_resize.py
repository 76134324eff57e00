"""A window while its size changes under a person's hand: its rows stand still, and are painted anew one list at a time.

Fitting columns and painting rows takes longer than the time between two sizes, so that the window would lag behind the
pointer. A list shows the picture that it had instead, until no other size comes and it is its turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, QTimer
from PySide6.QtGui import QImage, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QWidget
from shiboken6 import isValid

from gui.style import theme

if TYPE_CHECKING:
    _View = QAbstractItemView
else:
    _View = object

TURN = 60  # milliseconds without another size until the first list's turn, and then to that of each other


class StandsStill(_View):
    """Stands beside the class of a view that can show a picture of its rows in place of them."""

    still: QImage | None = None
    """The picture that is shown."""
    ground = "surface"
    """The colour around it."""

    def hold(self, picture: QImage) -> None:
        """Show a picture until :meth:`go_on`."""
        self.still = picture

    def go_on(self) -> None:
        """Show the rows again, at once."""
        self.still = None
        self.catch_up()
        self.viewport().repaint()

    def catch_up(self) -> None:
        """Do what waited for the rows to go on."""

    def is_painted_still(self, event: QPaintEvent) -> bool:
        """Paint the picture, where one is shown."""
        if self.still is None:
            return False
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), theme.colour(self.ground))
        painter.drawImage(QPoint(), self.still)
        painter.end()
        return True


class LiveResize(QObject):
    """Holds the lists of a shown window whenever the system gives it another size."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._held: list[StandsStill] = []
        self._turns = QTimer(self, interval=TURN)
        self._turns.timeout.connect(self._turn)
        window.windowHandle().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Hold the lists before the window itself hears of its size; one that the program chose it knows already."""
        if isinstance(event, QResizeEvent) and event.size() != self._window.size() and self._window.isVisible():
            self._hold()
            QTimer.singleShot(0, self, self._turns.start)  # from the beginning, once it is painted
        return False

    def _hold(self) -> None:
        store = self._window.backingStore()
        drawn = store.paintDevice() if store is not None else None
        if not isinstance(drawn, QImage) or drawn.isNull():
            return  # this platform keeps what it shows elsewhere
        ratio = drawn.devicePixelRatio()
        for view in self._window.findChildren(QAbstractItemView):
            if isinstance(view, StandsStill) and view.still is None and view.isVisible():
                port = view.viewport()
                at = port.mapTo(self._window, QPoint()).toPointF()
                view.hold(drawn.copy(QRectF(at * ratio, port.size().toSizeF() * ratio).toAlignedRect()))
                self._held.append(view)

    def _turn(self) -> None:
        """Let the list go on that was held first, with the header in it."""
        held = [view for view in self._held if isValid(view)]
        if held:
            now = [view for view in held if view is held[0] or held[0].isAncestorOf(view)]
            held = [view for view in held if view not in now]
            for view in now:
                view.go_on()
        self._held = held
        if not self._held:
            self._turns.stop()
