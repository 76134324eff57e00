"""The focus ring of buttons and ticks: 2 px wide, 2 px outside the control, where a style sheet cannot draw."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakSet

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QPoint, QRect, QRectF, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QPen, QRegion
from PySide6.QtWidgets import QAbstractButton, QApplication, QCheckBox, QRadioButton, QScrollArea, QWidget
from shiboken6 import isValid

from gui.style import theme
from gui.style.scrolling import FromTop

GAP = 2
WIDTH = 2
SOON = 50  # milliseconds until it is looked again whether a button is drawn
_MOVES = frozenset(
    (QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.LayoutRequest)
)
_KEYS = frozenset((QEvent.Type.KeyPress, QEvent.Type.ShortcutOverride))
_MODIFIERS = frozenset((Qt.Key.Key_Shift, Qt.Key.Key_Control, Qt.Key.Key_Alt, Qt.Key.Key_AltGr, Qt.Key.Key_Meta))
_ring: _Rings | None = None
_overlays: WeakSet[QWidget] = WeakSet()  # widgets that lie over controls, and over their rings


class _Rings(QObject):
    """Keeps one ring on the application's focused button, and the focused control in sight."""

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._ring: _Ring | None = None
        self._by_key = False  # whether a key caused what happens now
        app.focusChanged.connect(self._moved)

    @Slot(QWidget, QWidget)
    def _moved(self, before: QWidget | None, now: QWidget | None) -> None:
        if self._ring is not None and isValid(self._ring):
            self._ring.leave()
        self._ring = None
        if before is not None and isValid(before):
            before.removeEventFilter(self)
        if now is not None:
            now.installEventFilter(self)
            by_mouse = QApplication.mouseButtons() != Qt.MouseButton.NoButton
            if self._by_key or by_mouse:
                _touch(now)
            # A pressed control is in sight already, and must not move from under the pointer.
            if not by_mouse:
                _into_sight(now)
        if isinstance(now, QAbstractButton) and now.isVisible():
            self._ring = _Ring(now)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _KEYS and isinstance(event, QKeyEvent) and event.key() not in _MODIFIERS:
            if not self._by_key:
                self._by_key = True
                QCoreApplication.postEvent(self, QEvent(QEvent.Type.User))  # arrives after the key was handled
            if event.type() == QEvent.Type.KeyPress and isinstance(watched, QWidget) and _touch(watched):
                _into_sight(watched)
        return False

    def watch(self, overlay: QWidget) -> None:
        """Let the present ring give way to an overlay."""
        if self._ring is not None and isValid(self._ring):
            self._ring.watch(overlay)

    def customEvent(self, event: QEvent) -> None:
        self._by_key = False


def _touch(widget: QWidget) -> bool:
    """Let the scroll areas around a control follow the focus, because a person acts in it; whether that is new."""
    areas = [above for above in _above(widget) if isinstance(above, FromTop) and above.untouched]
    for area in areas:
        area.untouched = False
    return bool(areas)


def _above(widget: QWidget) -> Iterator[QWidget]:
    while (above := widget.parentWidget()) is not None:
        yield above
        widget = above


def _into_sight(widget: QWidget) -> None:
    """Scroll to a control that got the focus by key and is not fully visible."""
    for above in _above(widget):
        if not isinstance(above, QScrollArea) or (isinstance(above, FromTop) and above.untouched):
            continue
        if widget.visibleRegion().boundingRect() != widget.rect():
            _scroll_to(above, widget)


def _scroll_to(area: QScrollArea, widget: QWidget) -> None:
    """Scroll to a control; if it is larger than the area, to its beginning."""
    x, y = theme.px(8), theme.px(24)
    room = area.viewport().size() - QSize(2 * x, 2 * y)
    board = area.widget()
    if board is None:
        return
    box = QRect(widget.mapTo(board, QPoint()), widget.size().boundedTo(room))
    # The beginning comes last: if not both fit, it is what stays in sight.
    for corner in (box.bottomRight(), box.topLeft()):
        area.ensureVisible(corner.x(), corner.y(), x, y)


class _Ring(QWidget):
    """Lies over the window of one button and follows it."""

    def __init__(self, button: QAbstractButton) -> None:
        super().__init__(button.window())
        self._button = button
        self._watched: list[QWidget] = []
        self._free = QRegion()  # where nothing covers the ring
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        # A scrolled or resized ancestor moves the button without telling it.
        above: QWidget | None = button
        while above is not None:
            self.watch(above)
            above = above.parentWidget()
        for overlay in _overlays:
            self.watch(overlay)
        button.destroyed.connect(self.hide)  # Qt's own slot: Python's part of a window may be gone first
        button.destroyed.connect(self.deleteLater)
        theme.signals.changed.connect(self.update)
        self._follow()

    def watch(self, widget: QWidget) -> None:
        """Follow the button whenever a widget moves, appears or disappears."""
        if isValid(widget):
            widget.installEventFilter(self)
            self._watched.append(widget)

    def leave(self) -> None:
        """Stop following and disappear."""
        for widget in self._watched:
            if isValid(widget):
                widget.removeEventFilter(self)
        self._watched = []
        self.hide()
        self.deleteLater()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _MOVES:
            self._follow()
        return False

    def _follow(self) -> None:
        button = self._button
        if not self._watched or not isValid(button):
            return
        if not button.isVisible() or (button.isVisible() and button.visibleRegion().isEmpty()):
            self.hide()
            return
        if not button.updatesEnabled():  # it is not drawn yet, and the ring would lie over nothing
            self.hide()
            QTimer.singleShot(SOON, self, self._follow)
            return
        box = button.rect()
        # These may be wider than their text, and the ring should not be.
        if isinstance(button, QCheckBox | QRadioButton):
            box = QRect(0, 0, min(box.width(), button.sizeHint().width()), box.height())
        box.moveTopLeft(button.mapTo(button.window(), QPoint(box.x(), box.y())))
        out = theme.px(GAP + WIDTH)
        self.setGeometry(box.adjusted(-out, -out, out, out))
        self._free = QRegion(self.rect()) & self._shown()
        for overlay in _overlays:
            if isValid(overlay) and overlay.isVisible() and overlay.window() is button.window():
                corner = overlay.mapTo(button.window(), QPoint()) - self.pos()
                # An overlay's own buttons keep their rings.
                self._free -= QRect() if overlay.isAncestorOf(button) else QRect(corner, overlay.size())
        self.raise_()
        self.show()
        self.update()

    def _shown(self) -> QRect:
        """The visible part of a button that is half scrolled away."""
        shown, button = self.rect(), self._button
        if button.visibleRegion().boundingRect() != button.rect():
            for area in _above(button):
                if isinstance(area, QScrollArea):
                    place = area.viewport()
                    shown &= QRect(place.mapTo(button.window(), QPoint()) - self.pos(), place.size())
        return shown

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setClipRegion(self._free)
        paint(painter, QRectF(self.rect()))


def paint(painter: QPainter, box: QRectF) -> None:
    """Draw the ring just inside a rectangle."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    width = theme.px(WIDTH)
    painter.setPen(QPen(theme.colour("acc"), width))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    radius = theme.px(8)
    painter.drawRoundedRect(box.adjusted(width / 2, width / 2, -width / 2, -width / 2), radius, radius)


def frame(part: QWidget, box: QRect | None = None) -> None:
    """Draw the focus around a whole part, or around a ``box`` in it, if nothing inside shows it."""
    painter = QPainter(part)
    width = theme.px(WIDTH)
    painter.setPen(QPen(theme.colour("acc"), width))
    painter.drawRect(QRectF(box or part.rect()).adjusted(width / 2, width / 2, -width / 2, -width / 2))


def step(window: QWidget, forward: bool) -> bool:
    """Focus the next control of a window; False if there is none.

    Qt's own way enters a panel at the control that takes its focus, and skips everything before that.
    """
    now = window.focusWidget() or window
    here: QWidget | None = now
    while here is not None:
        here = here.nextInFocusChain() if forward else here.previousInFocusChain()
        if here is None or here == now:
            break
        if here.window() == window and takes(here) and here.focusProxy() is None:
            here.setFocus(Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason)
            return True
    return False


def takes(widget: QWidget) -> bool:
    """Whether Tab stops at a widget; not at an area that only scrolls to others: nothing would show the focus."""
    if isinstance(widget, QScrollArea) and any(takes(inside) for inside in widget.viewport().findChildren(QWidget)):
        return False
    return widget.isVisible() and widget.isEnabled() and bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)


def keep_below(overlay: QWidget) -> None:
    """Draw no ring over a widget that covers controls, such as a message, except for its own buttons."""
    _overlays.add(overlay)
    if _ring is not None and isValid(_ring):
        _ring.watch(overlay)


def install(app: QApplication) -> None:
    """Draw the ring in every window of the application."""
    global _ring
    if _ring is None or not isValid(_ring):
        _ring = _Rings(app)
