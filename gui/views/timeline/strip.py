"""A document's versions on one line, old to new: an item view that paints only its visible part.

It is a list view with its own layout, so that screen readers meet a list, newest first, and Qt's scrolling, tooltips
and current item work as everywhere. :mod:`gui.views.timeline.strip_geometry` decides the places.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QRegion,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QFrame, QListView, QWidget

from gui.language import tr
from gui.parts.versions_model import VersionsModel
from gui.style import theme
from gui.style.cells import CellDelegate
from gui.style.live_resize import StandsStill
from gui.style.scrolling import put_viewport
from gui.views.timeline import strip_geometry

HEIGHT = 104
_SLOP = 4  # pixels that a hand may shake during a click


class Strip(QListView, StandsStill):
    """The strip. ``a_asked``, ``b_asked`` and ``menu_asked`` carry a row of the model.

    A click makes a version older than B the new A, any other one the new B; with Ctrl or Shift the other way round.
    """

    a_asked = Signal(int)
    b_asked = Signal(int)
    menu_asked = Signal(int, QPoint)

    def __init__(self, model: VersionsModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        put_viewport(self)
        self._history = model
        self._layout = strip_geometry.StripGeometry(model)
        self._from_end = 0  # distance from the right edge to the new end, so that older versions arrive out of sight
        self._held: str = ""  # what the mouse drags: nothing (""), the "line", or flag "a" or "b"
        self._pressed = QPoint()
        self._value_then = 0
        self._moved = False
        self._over = -1  # the row under a dragged flag
        self._by_hand = False
        self.setItemDelegate(CellDelegate(self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setMinimumHeight(theme.px(HEIGHT))
        self.setMouseTracking(True)
        self.setAccessibleName(tr("Versions, newest first"))
        self.setModel(model)
        model.chosen.connect(self.viewport().update)
        model.modelReset.connect(self._began)
        self.horizontalScrollBar().valueChanged.connect(self._scrolled)
        theme.signals.changed.connect(self._restyle)

    # --- for the panel

    def set_by_time(self, on: bool) -> None:
        """Place the marks by time or side by side; the mark at the right edge stays there."""
        newest = self._layout.last_before(self._offset() + self.viewport().width())
        self._layout.set_by_time(on)
        self._remeasure()
        self._reveal(newest if newest >= 0 else 0, at_right=True)

    def zoom(self, factor: float, around: int | None = None) -> None:
        """Spread or compress the marks; the mark at ``around`` (pixels in the view) stays in place."""
        middle = self.viewport().width() // 2 if around is None else around
        row = self._layout.nearest(self._offset() + middle)
        before = self._layout.x(row) - self._offset() if row >= 0 else 0.0
        self._layout.zoom(factor)
        self._remeasure()
        if row >= 0:
            self.horizontalScrollBar().setValue(round(self._layout.x(row) - before))

    # --- layout, for Qt's item view

    def _offset(self) -> int:
        return self.horizontalScrollBar().value()

    def _began(self) -> None:
        self._from_end = 0
        self._layout.forget()
        self._remeasure()

    def _restyle(self) -> None:
        self.setMinimumHeight(theme.px(HEIGHT))
        self._layout.forget()
        self._remeasure()

    def _remeasure(self) -> None:
        self._layout.measure(self.viewport().width())
        self.updateGeometries()
        self.viewport().update()

    def _scrolled(self, value: int) -> None:
        if not self._by_hand:
            self._from_end = self.horizontalScrollBar().maximum() - value

    def updateGeometries(self) -> None:
        bar = self.horizontalScrollBar()
        room = self.viewport().width()
        most = max(0, round(self._layout.width) - room)
        self._by_hand = True
        bar.setPageStep(room)
        bar.setSingleStep(max(8, round(self._layout.pitch)))
        bar.setRange(0, most)
        bar.setValue(max(0, most - self._from_end))
        self._by_hand = False
        self.verticalScrollBar().setRange(0, 0)

    def doItemsLayout(self) -> None:
        self._layout.measure(self.viewport().width())
        QAbstractItemView.doItemsLayout(self)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._layout.measure(self.viewport().width())
        QAbstractItemView.resizeEvent(self, event)
        self.viewport().update()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()

    def horizontalOffset(self) -> int:
        return self._offset()

    def verticalOffset(self) -> int:
        return 0

    def isIndexHidden(self, index: QModelIndex) -> bool:  # type: ignore[override]
        return False

    def visualRect(self, index: QModelIndex) -> QRect:  # type: ignore[override]
        if not index.isValid() or index.row() >= len(self._history.marks):
            return QRect()
        return self._layout.box(index.row(), self.viewport().height()).translated(-self._offset(), 0).toAlignedRect()

    def visualRegionForSelection(self, selection: object) -> QRegion:
        return QRegion()

    def indexAt(self, point: QPoint) -> QModelIndex:
        row = self._layout.hit(self._offset() + point.x())
        return self._history.index(row, 0) if row >= 0 else QModelIndex()

    def scrollTo(  # type: ignore[override]
        self, index: QModelIndex, hint: QAbstractItemView.ScrollHint = QAbstractItemView.ScrollHint.EnsureVisible
    ) -> None:
        if index.isValid():
            self._reveal(index.row())

    def _reveal(self, row: int, at_right: bool = False) -> None:
        if not 0 <= row < len(self._history.marks):
            return
        self.executeDelayedItemsLayout()  # rows added a moment ago are otherwise measured after the pending events
        x, room, margin = round(self._layout.x(row)), self.viewport().width(), theme.px(strip_geometry.MARGIN)
        if at_right or x + margin > self._offset() + room:
            self.horizontalScrollBar().setValue(x + margin - room)
        elif x - margin < self._offset():
            self.horizontalScrollBar().setValue(x - margin)

    def currentChanged(self, current: QModelIndex, previous: QModelIndex) -> None:  # type: ignore[override]
        QAbstractItemView.currentChanged(self, current, previous)
        self.viewport().update()
        # Qt's own event gets the place in a list; here the child is the row.
        if not current.isValid() or not self.hasFocus():
            return
        from PySide6.QtGui import QAccessible, QAccessibleEvent  # large, and no start has the focus here

        if QAccessible.isActive():
            event = QAccessibleEvent(self, QAccessible.Event.Focus)
            event.setChild(current.row())
            QAccessible.updateAccessibility(event)

    def sizeHint(self) -> QSize:
        return QSize(theme.px(600), theme.px(HEIGHT))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme.px(120), theme.px(HEIGHT))

    # --- mouse

    def _flag_at(self, point: QPoint) -> str:
        for which in ("b", "a"):  # B is drawn last and lies on top
            box = self._layout.flag(which, self._offset(), self.viewport().size())
            if box is not None and box.contains(point):
                return which
        return ""

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed, self._moved, self._value_then = event.position().toPoint(), False, self._offset()
        if event.button() == Qt.MouseButton.LeftButton:
            self._held = self._flag_at(self._pressed) or "line"
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        here = event.position().toPoint()
        if not event.buttons() & Qt.MouseButton.LeftButton or not self._held:
            over_flag = bool(self._flag_at(here))
            row = self._layout.hit(self._offset() + here.x())
            choosable = self._history.version_at(row) is not None
            shape = Qt.CursorShape.PointingHandCursor if over_flag or choosable else Qt.CursorShape.ArrowCursor
            self.viewport().setCursor(shape)
            return
        self._moved = self._moved or (here - self._pressed).manhattanLength() > _SLOP
        if not self._moved:
            return
        if self._held == "line":
            self.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
            self.horizontalScrollBar().setValue(self._value_then - (here.x() - self._pressed.x()))
            return
        room, step = self.viewport().width(), theme.px(24)
        # A flag held at an edge scrolls the strip.
        if here.x() < step or here.x() > room - step:
            self.horizontalScrollBar().setValue(self._offset() + (step if here.x() > step else -step))
        row = self._layout.nearest(self._offset() + here.x())
        self._over = row if self._history.version_at(row) is not None else self._over
        self.viewport().update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        held, over, self._held, self._over = self._held, self._over, "", -1
        self.viewport().update()
        if event.button() != Qt.MouseButton.LeftButton or not held:
            return
        here = event.position().toPoint()
        if self._moved:
            if held in ("a", "b") and over >= 0:
                (self.a_asked if held == "a" else self.b_asked).emit(over)
            return
        if held in ("a", "b"):
            at = self._history.a if held == "a" else self._history.b
            if at is not None:
                self._reveal(at)
                self.setCurrentIndex(self._history.index(at, 0))
            return
        row = self._layout.hit(self._offset() + here.x())
        if row < 0:
            return
        self.setCurrentIndex(self._history.index(row, 0))
        if self._history.version_at(row) is not None:
            other = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
            self._take(row, bool(event.modifiers() & other))

    def _take(self, row: int, other: bool) -> None:
        (self.a_asked if self._history.is_a(row, other) else self.b_asked).emit(row)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.mousePressEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self.viewport().unsetCursor()
        super().leaveEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        delta = event.angleDelta()
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoom(1.2 if delta.y() > 0 else 1 / 1.2, round(event.position().x()))
        else:
            pixels = event.pixelDelta()
            by = pixels.x() or pixels.y() or round((delta.x() or delta.y()) / 120 * theme.px(96))
            self.horizontalScrollBar().setValue(self._offset() - by)
        event.accept()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == QContextMenuEvent.Reason.Mouse:
            row = self._layout.hit(self._offset() + event.pos().x())
            where = event.globalPos()
        else:
            row = self.currentIndex().row()
            where = self.viewport().mapToGlobal(self.visualRect(self.currentIndex()).center())
        if row >= 0:
            self.setCurrentIndex(self._history.index(row, 0))
            self.menu_asked.emit(row, where)

    # --- keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, last = event.key(), len(self._history.marks) - 1
        row = self.currentIndex().row() if self.currentIndex().isValid() else 0
        page = max(1, round(self.viewport().width() / self._layout.pitch) - 1)
        steps = {
            Qt.Key.Key_Left: row + 1, Qt.Key.Key_Right: row - 1, Qt.Key.Key_Home: last, Qt.Key.Key_End: 0,
            Qt.Key.Key_PageUp: row + page, Qt.Key.Key_PageDown: row - page,
        }  # fmt: skip
        other = event.modifiers() & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
        if last < 0:
            super().keyPressEvent(event)
        elif key in steps:
            self.setCurrentIndex(self._history.index(min(last, max(0, steps[Qt.Key(key)])), 0))
        elif key in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if self._history.version_at(row) is not None:
                self._take(row, bool(other))
        elif key in (Qt.Key.Key_A, Qt.Key.Key_B) and not event.modifiers():
            if self._history.version_at(row) is not None:
                (self.a_asked if key == Qt.Key.Key_A else self.b_asked).emit(row)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus):
            self.zoom(1 / 1.2 if key == Qt.Key.Key_Minus else 1.2)
        else:
            event.ignore()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if not self.currentIndex().isValid() and self._history.marks:
            self.setCurrentIndex(self._history.index(self._history.b or 0, 0))
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    # --- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.is_painted_still(event):
            return
        painter = QPainter(self.viewport())
        room = self.viewport().size()
        painter.fillRect(QRectF(self.viewport().rect()), theme.colour("surface"))
        focused = self.currentIndex().row() if self.hasFocus() and self.currentIndex().isValid() else -1
        dragged = {self._held: self._over} if self._moved and self._over >= 0 and self._held in ("a", "b") else {}
        strip_geometry.paint(painter, self._layout, self._offset(), room, focused, dragged)
        painter.end()
