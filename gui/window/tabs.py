"""The tabs above the pages: icon, title, a dot for unsaved changes or a cross, and a plus at the end.

A tab's text stays in place whether the tab is chosen, unsaved or hovered.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QApplication, QHBoxLayout, QTabBar, QWidget

from gui.language import tr
from gui.style import icons, theme, wording
from gui.style.states import tool
from model import text

HEIGHT = 36
WIDEST = 260
FADE = 32  # u at the left of a scrolled row
NARROWEST = 160  # before the row scrolls: half a dozen letters per tab would say too little


def shortened(title: str, metrics: QFontMetrics, room: int) -> str:
    """A title shortened in the middle to as many characters as fit; Qt would leave out more."""
    if metrics.horizontalAdvance(title) <= room:
        return title
    made = metrics.elidedText(title, Qt.TextElideMode.ElideMiddle, room)
    for kept in range(len(made), len(title)):
        head = (kept + 1) // 2
        wider = f"{title[:head]}…{title[len(title) - kept + head :]}"
        if metrics.horizontalAdvance(wider) > room:
            break
        made = wider
    return made


class _Bar(QTabBar):
    close_asked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.icons: list[str] = []
        self.dirty: list[bool] = []
        self._pressed = self._dragged = -1
        self._from = QPoint()
        self.tabMoved.connect(self._moved)
        self.setObjectName("pagetabs")
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setUsesScrollButtons(True)
        self.setElideMode(Qt.TextElideMode.ElideMiddle)
        self.setMouseTracking(True)
        self.setAccessibleName(tr("Tabs"))
        theme.signals.changed.connect(self._restyle)

    def _restyle(self) -> None:
        self.setFixedHeight(theme.px(HEIGHT) + 1)
        self.updateGeometry()
        self.update()

    def tabSizeHint(self, index: int) -> QSize:
        text = QFontMetrics(theme.font(13)).horizontalAdvance(self.tabText(index))
        return QSize(min(theme.px(WIDEST), text + theme.px(81)), theme.px(HEIGHT) + 1)

    def minimumTabSizeHint(self, index: int) -> QSize:
        wide = [min(self.tabSizeHint(at).width(), theme.px(NARROWEST)) for at in range(self.count())]
        # If it is too long by one pixel, Qt does not scroll the row, and the last tab would lose its cross.
        spare = 1 if index == self.count() - 1 and sum(wide) == self.width() + 1 else 0
        return QSize(wide[index] - spare, theme.px(HEIGHT) + 1)

    def cross(self, index: int) -> QRect:
        """The box of a tab's cross."""
        box = self.tabRect(index)
        side = theme.px(20)
        return QRect(box.right() - side - theme.px(2), box.top() + (box.height() - side) // 2, side, side)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.colour("canvas"))
        line = theme.colour("border")
        painter.fillRect(QRect(0, self.height() - 1, self.width(), 1), line)
        pointer = self.mapFromGlobal(self.cursor().pos())
        for at in range(self.count()):
            box = self.tabRect(at)
            if box.intersects(event.rect()):
                self._paint(painter, at, box, pointer)
        if self.count() and self.tabRect(0).left() < 0:
            self._paint_more(painter)

    def _paint_more(self, painter: QPainter) -> None:
        """Let a partly scrolled-out tab fade away, so that the rest of its title does not look like a title."""
        from PySide6.QtGui import QLinearGradient  # few starts have so many tabs

        wide, there, gone = theme.px(FADE), theme.colour("canvas"), theme.colour("canvas")
        gone.setAlpha(0)
        fade = QLinearGradient(0, 0, wide, 0)
        fade.setColorAt(0.25, there)
        fade.setColorAt(1, gone)
        painter.fillRect(QRect(0, 0, wide, self.height() - 1), fade)

    def _paint(self, painter: QPainter, at: int, box: QRect, pointer: QPoint) -> None:
        chosen = at == self.currentIndex()
        pointed = self.underMouse() and box.contains(pointer)
        bottom = box.adjusted(0, 0, 0, 0 if chosen else -1)
        if chosen or pointed:
            painter.fillRect(bottom, theme.colour("surface" if chosen else "hover"))
        painter.fillRect(QRect(box.right(), box.top(), 1, box.height()), theme.colour("border"))
        if chosen:
            painter.fillRect(QRect(box.left(), box.top(), box.width() - 1, theme.px(2)), theme.colour("acc"))
        middle = box.top() + theme.px(HEIGHT) / 2 + 0.5
        side = theme.px(16)
        name = self.icons[at] if at < len(self.icons) else ""
        if name:
            spot = QRectF(box.left() + theme.px(15), middle - side / 2, side, side)
            icons.paint(painter, spot, name, "acc" if chosen else "text2")
        font = theme.font(13)
        painter.setFont(font)
        painter.setPen(theme.colour("text" if chosen else "text2"))
        left = box.left() + theme.px(40)
        room = self.cross(at).left() - left - theme.px(4)
        text = shortened(self.tabText(at), QFontMetrics(font), room)
        painter.drawText(
            QRect(left, box.top(), room + 4, theme.px(HEIGHT) + 1), int(Qt.AlignmentFlag.AlignVCenter), text
        )
        self._paint_end(painter, at, pointed and self.cross(at).contains(pointer), pointed)
        if chosen and self.hasFocus():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(theme.colour("acc"), 2))
            painter.drawRoundedRect(QRectF(box).adjusted(2, 4, -3, -3), theme.px(4), theme.px(4))

    def _paint_end(self, painter: QPainter, at: int, on_cross: bool, pointed: bool) -> None:
        spot = QRectF(self.cross(at))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        if on_cross:
            painter.setBrush(theme.colour("border"))
            painter.drawRoundedRect(spot, theme.px(4), theme.px(4))
        if at < len(self.dirty) and self.dirty[at] and not on_cross:
            painter.setBrush(theme.colour("acc"))
            painter.drawEllipse(spot.center(), theme.px(3.2), theme.px(3.2))
        else:
            side = theme.px(12)
            inner = QRectF(spot.center().x() - side / 2, spot.center().y() - side / 2, side, side)
            icons.paint(painter, inner, "x", "text2" if pointed else "text3")

    def _crossed(self, at: QPoint) -> int:
        index = self.tabAt(at)
        return index if index >= 0 and self.cross(index).contains(at) else -1

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = self._crossed(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and self._pressed >= 0:
            return
        if event.button() == Qt.MouseButton.LeftButton:
            self._from = event.position().toPoint()
            self._dragged = self.tabAt(self._from)
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._dragged = -1
        at = event.position().toPoint()
        middle = event.button() == Qt.MouseButton.MiddleButton
        index = self.tabAt(at) if middle else self._crossed(at)
        if index >= 0 and (middle or index == self._pressed):
            self._pressed = -1
            self.close_asked.emit(index)
            return
        super().mouseReleaseEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if self._dragged >= 0 and event.buttons() & Qt.MouseButton.LeftButton:
            self._drag(event.position().toPoint())
        self.update()

    def _drag(self, at: QPoint) -> None:
        """Move the held tab to the pointer; Qt's own way would draw it differently meanwhile."""
        if (at - self._from).manhattanLength() < QApplication.startDragDistance():
            return
        x = max(0, min(at.x(), self.tabRect(self.count() - 1).right()))
        over = self.tabAt(QPoint(x, self.height() // 2))
        if over < 0 or over == self._dragged:
            return
        # Only when the pointer is where the held tab will be: over a wider tab the two would swap at every move.
        here, there = self.tabRect(self._dragged), self.tabRect(over)
        if x > there.right() - here.width() if over > self._dragged else x < there.left() + here.width():
            self.moveTab(self._dragged, over)
            self._dragged = over

    def _moved(self, start: int, end: int) -> None:
        for kept in (self.icons, self.dirty):
            kept.insert(end, kept.pop(start))  # type: ignore[arg-type]

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Leave, QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.update()
        return super().event(event)


class Tabs(QWidget):
    """The row of tabs. Its owner holds the pages."""

    chosen = Signal(int)
    close_asked = Signal(int)
    new_asked = Signal()
    list_asked = Signal()
    moved = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("tabrow")
        self.bar = _Bar()
        self.bar.tabMoved.connect(self.moved)
        self.bar.currentChanged.connect(self.chosen)
        self.bar.close_asked.connect(self.close_asked)
        self.plus = tool("plus", tr("New tab (Ctrl+T)"), self.new_asked.emit)
        self.all = tool("caret-down", tr("List of tabs (Ctrl+Shift+A)"), self.list_asked.emit)
        self.all.hide()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, theme.px(8), 0)
        row.setSpacing(theme.px(4))
        row.addWidget(self.bar, 1)
        row.addWidget(self.all)
        row.addWidget(self.plus)
        self._restyle()
        theme.signals.changed.connect(self._restyle)

    def _restyle(self) -> None:
        self.setFixedHeight(theme.px(HEIGHT) + 1)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.colour("canvas"))
        painter.fillRect(QRect(0, self.height() - 1, self.width(), 1), theme.colour("border"))

    def insert(self, at: int, title: str, icon: str) -> None:
        """Insert a tab."""
        self.bar.icons.insert(at, icon)
        self.bar.dirty.insert(at, False)
        self.bar.insertTab(at, wording.label(title))
        self.all.setVisible(self.bar.count() > 1)

    def put(self, at: int, title: str, icon: str, dirty: bool, tip: str = "") -> None:
        """Set a tab's title, icon, dot and tooltip."""
        if (icon, dirty) != (self.bar.icons[at], self.bar.dirty[at]):
            self.bar.icons[at], self.bar.dirty[at] = icon, dirty
            self.bar.update()
        if self.bar.tabText(at) != (shown := wording.label(title)):
            self.bar.setTabText(at, shown)
        self.bar.setTabToolTip(at, wording.tip(tr("{tip}, not saved yet", tip=tip) if dirty else tip))
        self.bar.setAccessibleTabName(at, tr("{title}, not saved yet", title=title) if dirty else text.plain(title))

    def remove(self, at: int) -> None:
        """Remove a tab."""
        del self.bar.icons[at], self.bar.dirty[at]
        self.bar.removeTab(at)
        self.all.setVisible(self.bar.count() > 1)
