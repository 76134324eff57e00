"""The sidebar's own parts: its tree, and the entries at its foot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QStyle, QStyleOptionViewItem, QWidget

from gui.language import tr
from gui.style import icons, symbols, theme, wording
from gui.style.cells import CELL, Cell, CellTree, Index
from gui.window.source_model import SourceModel

if TYPE_CHECKING:
    from gui.pages.page_registry import SidebarEntry


class SidebarTree(CellTree):
    """Rows of 28 with a rounded selection, which is the current collection."""

    ground = "canvas"
    entered_anew = Signal(QModelIndex, bool)  # Enter or a click; whether a new tab is wanted
    badge_clicked = Signal(QModelIndex)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, row_height=28)
        self.setHeaderHidden(True)
        self.setExpandsOnDoubleClick(False)
        self.setAccessibleName(tr("Connections and collections"))
        self.setObjectName("sidebartree")

    def drawRow(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model = self.model()
        assert isinstance(model, SourceModel)
        node = model.node(index)
        chosen = node is not None and node.info is not None and model.current == (node.session, node.info.ns)
        picked = self.currentIndex() == index and self.hasFocus()
        pointed = self.pointed.isValid() and self.pointed == index
        if chosen or picked or pointed:
            row = QRect(0, option.rect.top(), self.viewport().width(), option.rect.height())
            box = QRectF(row).adjusted(theme.px(2), 0.5, -theme.px(6), -0.5)
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour("sel" if chosen else "hover"))
            painter.drawRoundedRect(box, theme.px(6), theme.px(6))
            painter.restore()
        bare = QStyleOptionViewItem(option)
        bare.state &= ~QStyle.StateFlag.State_Active  # the ring goes around the whole row, like its background
        super(CellTree, self).drawRow(painter, bare if picked else option, index)
        if picked and self.isActiveWindow():
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(theme.colour("acc"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(1, 0.5, -1, -0.5), theme.px(6), theme.px(6))
            painter.restore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            anew = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
            self.entered_anew.emit(self.currentIndex(), anew)
            return
        super().keyPressEvent(event)

    def _is_on_badge(self, index: QModelIndex, at: QPointF) -> bool:
        """Whether a point is on the layout badge of a collection."""
        model, cell = self.model(), index.data(CELL)
        node = model.node(index) if isinstance(model, SourceModel) else None
        if node is None or node.info is None or not isinstance(cell, Cell) or not cell.badges:
            return False
        right = self.visualRect(index).right() - theme.px(8)
        return right - symbols.badge_width(cell.badges[0].text) <= at.x() <= right

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        index = self.indexAt(event.position().toPoint())
        on_badge = index.isValid() and self._is_on_badge(index, event.position())
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if on_badge else Qt.CursorShape.ArrowCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        left = event.button() == Qt.MouseButton.LeftButton
        # The chevron's own column only expands and collapses the line.
        if not index.isValid() or event.position().x() < self.visualRect(index).left():
            return
        if left and self._is_on_badge(index, event.position()):
            self.badge_clicked.emit(index)
        elif left or event.button() == Qt.MouseButton.MiddleButton:
            anew = not left or bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
            self.entered_anew.emit(index, anew)


class EntryButton(QAbstractButton):
    """An entry of 30 with icon, text and a count."""

    def __init__(self, entry: SidebarEntry, icon: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._entry, self._icon = entry, icon
        self._count = 0
        self.setText(entry.text)
        self.setAccessibleName(entry.text)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        theme.signals.changed.connect(self.update)

    @property
    def count(self) -> int:
        """The number shown; 0 shows none."""
        return self._count

    def set_count(self, count: int, counted: str) -> None:
        """Show a number at the right, and say what it counts."""
        self.setAccessibleName(f"{self._entry.text}, {counted}" if count else self._entry.text)
        self.setToolTip(wording.tip(counted if count else ""))
        if count != self._count:
            self._count = count
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(theme.px(160), theme.px(30))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.underMouse() or self.isDown():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour("hover"))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(theme.px(6), 0, -theme.px(6), 0), 6, 6)
        middle = self.height() / 2
        side = theme.px(16)
        ink = "text2" if self.isEnabled() else "text3"
        icons.paint(painter, QRectF(theme.px(15), middle - side / 2, side, side), self._icon, ink)
        painter.setFont(theme.font(13))
        painter.setPen(theme.colour(ink))
        box = QRectF(theme.px(39), 0, self.width() - theme.px(90 if self._count else 51), self.height())
        said = painter.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, int(box.width()))
        painter.drawText(box, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), said)
        if self._count:
            text = str(self._count)
            left = self.width() - theme.px(15) - symbols.badge_width(text)
            symbols.badge(painter, left, middle, text, self._entry.ink, self._entry.ground)
