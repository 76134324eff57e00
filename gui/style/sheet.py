"""A dialog inside the window, which it dims: the question stays beside its subject.

It is part of the window, so that it looks the same under every window manager and is in every picture of the window.
While it is open, the window behind takes neither clicks nor keys.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QColor, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QApplication, QDialog, QFrame, QWidget
from shiboken6 import isValid

from gui.style import focus_keeper, focus_ring, theme
from gui.style.scrolling import FromTop

SMALL = 560  # u; in a narrower window the dialog has smaller margins
DIM = 0.34
DIM_DARK = 0.55


class _Veil(QWidget):
    """Covers and darkens the whole window; a dialog that does not fit scrolls on it.

    It first darkens the picture that the window shows. To draw all parts of the window again takes longer than the
    dialog itself, so that follows, part by part.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self._picture: QImage | None = None
        self.setGeometry(window.rect())
        self.board = QWidget()
        """Carries the dialog: as large as the window, or as the dialog with its margins."""
        self._area = FromTop(self)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.setWidget(self.board)
        self.board.setAutoFillBackground(False)  # the line above turns it on
        for part in (self._area, self._area.viewport(), self.board):
            part.setObjectName("bare")

    def lay_out(self, dialog: QSize, edge: int) -> None:
        """Fit everything to the window and to a dialog, with ``edge`` pixels free above and below it."""
        self.setGeometry(self.window().rect())
        self._area.setGeometry(self.rect())
        bar = self.bar
        wide, high = dialog.width() + edge, dialog.height() + 2 * edge
        across = wide > self.width()
        down = high > self.height() - bar * across
        across = wide > self.width() - bar * down
        self.board.resize(max(wide, self.width() - bar * down), max(high, self.height() - bar * across))

    @property
    def bar(self) -> int:
        """The width of a scroll bar, in pixels."""
        return self._area.verticalScrollBar().sizeHint().width()

    def cover(self) -> None:
        """Show itself above everything else in the window."""
        from gui.style import live_resize  # not needed for the first frame

        shown = live_resize.drawn(self.window())
        self._picture = None if shown is None else shown.copy()
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent, self._picture is not None)
        self.show()
        self.raise_()

    def _go_on(self) -> None:
        """Draw what is below it, which may have changed meanwhile."""
        from gui.style import drawn_in_turns

        if self._picture is None:
            return
        self._picture = None
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent, False)
        drawn_in_turns.draw_below(self)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self._picture is not None:
            painter.drawImage(QPoint(), self._picture)
            QTimer.singleShot(0, self, self._go_on)
        ink = QColor(theme.colour("canvas" if theme.is_dark() else "text"))
        ink.setAlphaF(DIM_DARK if theme.is_dark() else DIM)
        painter.fillRect(self.rect(), ink)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        event.accept()


class Sheet(QDialog):
    """Base of the dialogs in a window: subclasses fill it; ``QDialog.open`` shows it, Esc calls ``QDialog.reject``."""

    def __init__(self, parent: QWidget, width: float) -> None:
        self._host = parent.window()
        self._veil = _Veil(self._host)
        super().__init__(self._veil.board)
        # A dialog with a parent is a window of its own otherwise.
        self.setWindowFlags(Qt.WindowType.Widget)
        self.setObjectName("sheet")
        self._width = width
        self._back: QWidget | None = None
        self._host.installEventFilter(self)
        self._veil.hide()
        self.finished.connect(self._gone)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._focus_moved)

    def open(self) -> None:
        """Show the dialog, with the focus where :meth:`first` says; returns at once."""
        self._back = self._host.focusWidget() or QApplication.focusWidget()  # a menu that opened it is gone by then
        self._place()
        self._veil.cover()
        self.show()
        self._place()  # only now do parts with wrapping text have their widths
        app = QApplication.instance()
        assert app is not None
        app.installEventFilter(self)
        first = self.first()
        if first is not None:
            first.setFocus(Qt.FocusReason.PopupFocusReason)

    def fitting(self, height: float, beside: float) -> int:
        """Pixels for a part of this height; less if the window is too low for it and ``beside``."""
        return max(theme.px(96), min(theme.px(height), self._host.height() - theme.px(beside)))

    @property
    def room(self) -> int:
        """The width of the dialog, in pixels."""
        return min(theme.px(self._width), self._host.width() - 2 * self._edge)

    @property
    def inset(self) -> int:
        """The pixels between the dialog's edges and its parts: fewer if the dialog is as wide as it can be."""
        return theme.px(24 if self.room == theme.px(self._width) else 16)

    @property
    def _edge(self) -> int:
        """The pixels free around the dialog."""
        return theme.px(16 if self._host.width() >= theme.px(SMALL) else 8)

    @property
    def is_scrolled(self) -> bool:
        """Whether the window is too low for the dialog."""
        return self.height() + 2 * self._edge > self._host.height()

    def first(self) -> QWidget | None:
        """The widget that gets the focus when the dialog opens."""
        return None

    def _place(self) -> None:
        edge = self._edge
        self._take_width(self.room)
        if self.is_scrolled:
            # The scroll bar takes some of the width.
            self._take_width(min(self.room, self._host.width() - 2 * edge - self._veil.bar))
        self._veil.lay_out(self.size(), edge)
        free = self._veil.board.size() - self.size()
        self.move(free.width() // 2, max(edge, int(free.height() * 0.45)))

    def _take_width(self, room: int) -> None:
        """Take a width, or the minimum if that is larger, and the matching height."""
        width = max(room, self._least(room).width())
        self.setFixedWidth(width)
        wanted = self.heightForWidth(width) if self.hasHeightForWidth() else self.sizeHint().height()
        self.setFixedHeight(max(self._least(width).height(), min(wanted, self._host.height() - 2 * self._edge)))

    def _least(self, width: int) -> QSize:
        """The size below which parts would overlap, at a given width."""
        layout = self.layout()
        if layout is None:
            return QSize()
        lowest = layout.totalMinimumHeightForWidth(width) if layout.hasHeightForWidth() else 0
        return layout.totalMinimumSize().expandedTo(QSize(0, lowest))

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest and self.isVisible():
            least = self._least(self.width())
            if least.width() > self.width() or least.height() > self.height():
                self._place()  # what came later needs more room
        return done

    def done(self, result: int) -> None:
        """Close; if a choice in the dialog moved the focus, it stays there."""
        now = self._host.focusWidget()
        if now is not None and not self._is_mine(now):
            self._back = now
        super().done(result)

    @Slot(QWidget, QWidget)
    def _focus_moved(self, old: QWidget | None, now: QWidget | None) -> None:
        """Keep the focus in the dialog: what becomes ready behind it gets the focus once the dialog is closed."""
        if (
            now is None
            or not hasattr(self, "_host")
            or not self.isVisible()
            or now.window() is not self._host
            or self._is_mine(now)
        ):
            return
        if any(veil.isVisible() and veil.isAncestorOf(now) for veil in self._host.findChildren(_Veil)):
            return  # another dialog above this one
        self._back = now
        wanted = old if old is not None and isValid(old) and self._is_mine(old) and old.isVisible() else self.first()
        if wanted is not None:
            wanted.setFocus(Qt.FocusReason.OtherFocusReason)

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
            # Accepted here, so that no shortcut of the window behind sees the key.
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
        # In reading order; fields in one line may differ by a few pixels in height.
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
