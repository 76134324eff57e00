"""The pane beside the editor: the changes, and the exact write that saving would send."""

from __future__ import annotations

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetricsF,
    QKeyEvent,
    QPainter,
    QResizeEvent,
    QTextBlockFormat,
    QTextCursor,
    QTextOption,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)

from gui import copying
from gui.language import tr, translated
from gui.parts.fields.edit_changes import Change, EditChanges, around, path_text
from gui.style import boxes, preferences, symbols, theme
from gui.style.states import button, hair, tool, words
from gui.style.wording import size
from model import text
from model.foundation.records import Sending

CHANGE = int(Qt.ItemDataRole.UserRole) + 1
ROW = 52
MOST_CODE = 20_000  # characters of code that are laid out
Index = QModelIndex | QPersistentModelIndex


class ChangeModel(QAbstractListModel):
    """The changes of an edit, one per row."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._changes: tuple[Change, ...] = ()

    def show(self, changes: tuple[Change, ...]) -> None:
        """Show other changes."""
        same = len(changes) == len(self._changes)
        if same:
            self._changes = changes
            if changes:
                self.dataChanged.emit(self.index(0), self.index(len(changes) - 1))
            return
        self.beginResetModel()
        self._changes = changes
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's signature)
        return 0 if parent.isValid() else len(self._changes)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self._changes):
            return None
        change = self._changes[index.row()]
        if role == CHANGE:
            return change
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.ToolTipRole):
            before, after = sides(change, 200)
            said = f"{path_text(change)}, {symbols.CHANGES[change.op][3]}"
            return f"{said}: {before} → {after}" if before and after else f"{said}: {before or after}"
        return None


def sides(change: Change, limit: int) -> tuple[str, str]:
    """Both values as the list shows them; "" if there is none."""
    zone = preferences.zone()
    old = text.shown(change.old, zone, limit) if change.old is not None else ""
    new = text.shown(change.new, zone, limit) if change.new is not None else ""
    if change.op == "move":
        return f"[{change.old_path[-1]}]", f"[{change.path[-1]}]"
    if change.op == "reorder":
        return "", tr("fields in another order")
    return old, new


class _Painter(QStyledItemDelegate):
    """Paints a change in two lines: symbol and path, with a change of type at the right; below them old → new."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(theme.px(120), theme.px(ROW))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        change = index.data(CHANGE)
        if not isinstance(change, Change):
            return
        rect = QRectF(option.rect)
        state = option.state
        painter.save()
        painter.setClipRect(rect)
        if state & QStyle.StateFlag.State_Selected and state & QStyle.StateFlag.State_HasFocus:
            painter.fillRect(rect, theme.colour("sel"))
            painter.fillRect(QRectF(rect.left(), rect.top(), theme.px(3), rect.height()), theme.colour("acc"))
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, theme.colour("hover"))
        left, right = rect.left() + theme.px(40), rect.right() - theme.px(16)
        first = QRectF(left, rect.top() + theme.px(8), right - left, theme.px(18))
        second = QRectF(left, first.bottom() + theme.px(2), right - left, theme.px(18))
        symbols.change(
            painter, QRectF(rect.left() + theme.px(16), first.top(), theme.px(14), first.height()), change.op
        )
        right = self._types(painter, first, change)
        self._draw(
            painter,
            QRectF(first.left(), first.top(), right - first.left(), first.height()),
            path_text(change),
            middle=True,
        )
        self._values(painter, second, change)
        painter.restore()

    def _types(self, painter: QPainter, rect: QRectF, change: Change) -> float:
        if change.old is None or change.new is None or change.old.type == change.new.type:
            return rect.right()
        said = f"{change.old.kind} → {change.new.kind}"
        font = theme.font(11)
        width = QFontMetricsF(font).horizontalAdvance(said)
        painter.setFont(font)
        painter.setPen(theme.colour("text2"))
        painter.drawText(rect, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), said)
        return rect.right() - width - theme.px(12)

    def _values(self, painter: QPainter, rect: QRectF, change: Change) -> None:
        before, after = sides(change, 400)
        if before and after and change.op not in ("move", "reorder"):
            before, after = around(before, after), around(after, before)
        metrics = QFontMetricsF(theme.mono(12))
        if not before or not after:
            self._draw(painter, rect, before or after, "text2" if before else "text")
            return
        arrow = " → "
        room = rect.width() - metrics.horizontalAdvance(arrow)
        wide = metrics.horizontalAdvance(before), metrics.horizontalAdvance(after)
        share = room / 2
        first = wide[0] if sum(wide) <= room else min(wide[0], max(share, room - wide[1]))
        x = rect.left()
        self._draw(painter, QRectF(x, rect.top(), first, rect.height()), before, "text2")
        x += first
        self._draw(painter, QRectF(x, rect.top(), rect.width(), rect.height()), arrow, "text3")
        x += metrics.horizontalAdvance(arrow)
        self._draw(painter, QRectF(x, rect.top(), rect.right() - x, rect.height()), after)

    @staticmethod
    def _draw(painter: QPainter, rect: QRectF, said: str, token: str = "text", middle: bool = False) -> None:
        font = theme.mono(12)
        mode = Qt.TextElideMode.ElideMiddle if middle else Qt.TextElideMode.ElideRight
        painter.setFont(font)
        painter.setPen(theme.colour(token))
        shown = QFontMetricsF(font).elidedText(said, mode, rect.width() + 0.5)
        box = rect.adjusted(0, 0, 2, 0)
        painter.drawText(box, int(Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine), shown)


class ChangeList(QListView):
    """The list of changes; Enter or a click goes to the field, Delete reverts it."""

    opened = Signal(object)  # Change
    revert_asked = Signal(object)  # Change

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows = ChangeModel(self)
        self.setModel(self.rows)
        self.setItemDelegate(_Painter(self))
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(tr("Your changes"))
        self.clicked.connect(self._chosen)
        theme.signals.changed.connect(self.viewport().update)

    def _chosen(self, index: QModelIndex) -> None:
        change = index.data(CHANGE)
        if isinstance(change, Change):
            self.opened.emit(change)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if not self.selectionModel().hasSelection():  # else nothing shows the focus
            self.setCurrentIndex(self.rows.index(0))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        change = self.currentIndex().data(CHANGE)
        if isinstance(change, Change) and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.opened.emit(change)
        elif isinstance(change, Change) and event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.revert_asked.emit(change)
        else:
            super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        return QSize(theme.px(240), theme.px(ROW) * max(1, self.rows.rowCount()) + 2)

    def minimumSizeHint(self) -> QSize:
        return QSize(theme.px(120), theme.px(ROW) * min(2, max(1, self.rows.rowCount())))


class CodeText(QTextEdit):
    """Code to read and copy: long lines continue indented, and the box is as high as its lines."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.whole = self._short = ""
        self.setReadOnly(True)
        self.setObjectName("code")
        self.setAccessibleName(tr("The write that saving sends"))
        self.setTabChangesFocus(True)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        theme.signals.changed.connect(self._anew)

    def put(self, whole: str, short: str) -> None:
        """Show code with its long values elided; ``whole`` is what is copied."""
        if (whole, short) != (self.whole, self._short):
            self.whole, self._short = whole, short
            self._anew()

    def _anew(self) -> None:
        said = self._short
        if len(said) > MOST_CODE:
            said = tr(
                "{said}\n… {whole} more; Copy gives everything",
                said=said[:MOST_CODE],
                whole=size(len(self.whole) - MOST_CODE),
            )
        font = theme.mono(11)
        self.setFont(font)
        self.clear()
        step = QFontMetricsF(font).horizontalAdvance(" ")
        cursor = self.textCursor()
        cursor.beginEditBlock()
        for at, line in enumerate(said.split("\n")):
            words = line.lstrip(" ")
            into = (len(line) - len(words)) * step
            shape = QTextBlockFormat()
            shape.setLeftMargin(into + 4 * step)
            shape.setTextIndent(-4 * step)
            if at:
                cursor.insertBlock(shape)
            else:
                cursor.setBlockFormat(shape)
            cursor.insertText(words)
        cursor.endEditBlock()
        self._fit()
        self._show_last_write()

    def _show_last_write(self) -> None:
        """Begin at the write that decides if the code is too high for its place; what prepares it is above."""
        self.moveCursor(QTextCursor.MoveOperation.Start)
        block, last = self.document().begin(), None
        while block.isValid():
            if block.text().startswith(("# ", "// ")):  # the note above a write
                last = block
            block = block.next()
        if last is not None:
            top = self.document().documentLayout().blockBoundingRect(last).top()
            self.verticalScrollBar().setValue(round(top))

    def _fit(self) -> None:
        height = self.document().size().height() + 2 * self.frameWidth() + theme.px(10)
        self.setMaximumHeight(max(theme.px(48), int(height)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()
        self._show_last_write()


class PreviewPane(QWidget):
    """The foldable pane at the editor's right."""

    revert_all_asked = Signal()
    revert_asked = Signal(object)  # Change
    change_opened = Signal(object)  # Change
    fold_asked = Signal()
    copied = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        boxes.ground(self, "surface")
        self._sending: Sending | None = None
        self._reason = ""
        column = boxes.column(self)
        column.addLayout(self._head())
        column.addWidget(hair())
        self._nothing = words(tr("Nothing is changed yet. What you change is listed here."), "hint", wrap=True)
        self._nothing.setContentsMargins(theme.px(16), theme.px(14), theme.px(16), theme.px(14))
        self.list = ChangeList()
        self.list.opened.connect(self.change_opened)
        self.list.revert_asked.connect(self.revert_asked)
        column.addWidget(self._nothing)
        column.addSpacing(theme.px(6))
        column.addWidget(self.list)
        column.addSpacing(theme.px(6))
        column.addWidget(hair())
        column.addLayout(self._code(), 1)
        self.setMinimumWidth(theme.px(260))
        self._still = QTimer(self)
        self._still.setSingleShot(True)
        self._still.timeout.connect(self._copy_again)
        self.show_changes(None)

    def _head(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setContentsMargins(theme.px(16), theme.px(7), theme.px(8), theme.px(7))
        row.setSpacing(theme.px(4))
        row.addWidget(words(tr("Your changes"), "head"))
        row.addStretch(1)
        self.revert_all = button(tr("Revert all"), self.revert_all_asked.emit, "quiet", "small")
        row.addWidget(self.revert_all)
        self.fold = tool("caret-right", tr("Hide this pane (Ctrl+B)"), self.fold_asked.emit)
        row.addWidget(self.fold)
        return row

    def _code(self) -> QVBoxLayout:
        column = QVBoxLayout()
        column.setContentsMargins(theme.px(16), theme.px(10), theme.px(16), theme.px(16))
        column.setSpacing(theme.px(8))
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(words(tr("What saving sends"), "head"))
        row.addStretch(1)
        choice, self.languages = boxes.segments(self, ("PyMongo", "mongosh"), tr("Show it as {}"))
        row.addLayout(choice)
        self.languages.idToggled.connect(self._language)
        column.addLayout(row)
        self.code = CodeText()
        column.addWidget(self.code, 1000)  # all the room that its lines need
        self.explanation = words("", "second", wrap=True)
        column.addWidget(self.explanation)
        column.addStretch(1)
        # At the foot, where it does not move: the write appears a moment after an edit, when the mouse may be there
        # already.
        self.copy = button(tr("Copy"), self._copy, "small", icon="copy")
        row = QHBoxLayout()
        row.addWidget(self.copy)
        row.addStretch(1)
        column.addLayout(row)
        return column

    # --- content

    def show_changes(self, changes: EditChanges | None) -> None:
        """List these changes."""
        every = changes.all if changes is not None else ()
        self.list.rows.show(every)
        self.list.setVisible(bool(every))
        self._nothing.setVisible(not every)
        self.revert_all.setEnabled(bool(every))
        self.list.updateGeometry()
        self.list.setMaximumHeight(self.list.sizeHint().height())

    def show_sending(self, sending: Sending | None, reason: str = "") -> None:
        """Show a write; without one, the reason why."""
        self._sending, self._reason = sending, reason
        self._language()

    def _language(self) -> None:
        sending = self._sending
        mongosh = self.languages.checkedId() == 1
        said = "" if sending is None else sending.mongosh if mongosh else sending.pymongo
        short = "" if sending is None else sending.short_mongosh if mongosh else sending.short_pymongo
        self.code.put(said, short or said)
        self.code.setVisible(bool(said))
        self.copy.setVisible(bool(said))
        self.explanation.setText(translated(sending.explanation) if sending is not None else self._reason)

    def _copy(self) -> None:
        if self._sending is not None:
            copying.put(self.code.whole)
            self.copy.setText(tr("Copied"))
            self.copied.emit(self.code.whole)
            self._still.start(2000)

    def _copy_again(self) -> None:
        self.copy.setText(tr("Copy"))
