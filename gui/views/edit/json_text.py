"""The text editor for JSON: line numbers, colours, and foldable containers."""

from __future__ import annotations

import re

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QSyntaxHighlighter,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextOption,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from gui.language import tr
from gui.parts.fields.edit_steps import alike_ends
from gui.style import symbols, theme
from gui.views.edit.outline import Outline, outline, parts
from model.values.canonical import Path

OUTLINED = 1024 * 1024  # characters; a longer text has no colours and no folds
_INKS = {"name": "text", "string": "acc", "word": "text", "wrapper": "text3", "sign": "text3"}


class _Colours(QSyntaxHighlighter):
    """Names bold, strings in the accent colour, wrappers and signs faint; colours of changes are elsewhere."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._formats: dict[str, QTextCharFormat] = {}
        self.restyle()

    def restyle(self) -> None:
        """Take the theme's colours."""
        for kind, token in _INKS.items():
            made = QTextCharFormat()
            made.setForeground(theme.colour(token))
            if kind == "name":
                made.setFontWeight(QFont.Weight.DemiBold)
            self._formats[kind] = made
        self.rehighlight()

    def highlightBlock(self, line: str) -> None:
        if self.document().characterCount() > OUTLINED:
            return
        for start, length, kind in parts(line):
            self.setFormat(start, length, self._formats[kind])


class _Gutter(QWidget):
    """The line numbers, with a chevron at each foldable container."""

    def __init__(self, text: JsonText) -> None:
        super().__init__(text)
        self._text = text
        self.setObjectName("gutter")
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setAccessibleName(tr("Line numbers"))

    def sizeHint(self) -> QSize:
        return QSize(self._text.gutter_width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        self._text.paint_gutter(QPainter(self), event.rect())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._text.toggle_at(round(event.position().y()))


class JsonText(QPlainTextEdit):
    """The text editor. ``moved`` carries the path of the field at the cursor."""

    moved = Signal(object)  # Path

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("json")
        self.setAccessibleName(tr("The document as Extended JSON"))
        self.setWordWrapMode(QTextOption.WrapMode.NoWrap)
        self.setTabChangesFocus(True)
        self.outline = Outline()
        self._error: list[QTextEdit.ExtraSelection] = []
        self._path: Path = ()
        self._colours = _Colours(self.document())
        self._gutter = _Gutter(self)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(150)
        self._later.timeout.connect(self.read_outline)
        self._later.timeout.connect(self._moved)  # the cursor may have moved meanwhile
        self.textChanged.connect(self._later.start)
        self.blockCountChanged.connect(self._fit_gutter)
        self.updateRequest.connect(self._scrolled)
        self.cursorPositionChanged.connect(self._moved)
        self._restyle()
        theme.signals.changed.connect(self._restyle)

    def _restyle(self) -> None:
        self.setFont(theme.mono(12))
        self.setTabStopDistance(theme.px(14))
        with QSignalBlocker(self):  # new colours are not new text
            self._colours.restyle()
        self._fit_gutter()

    def typed(self) -> str:
        """The text exactly; ``QPlainTextEdit.toPlainText`` would turn no-break spaces into blanks."""
        return self.document().toRawText().replace("\u2029", "\n")

    def change_to(self, made: str) -> None:
        """Change the text as one step that can be undone; equal parts stay, with their folds."""
        had = self.typed()
        head, tail = alike_ends(had, made)
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        cursor.setPosition(_units(had[:head]))
        cursor.setPosition(_units(had[: len(had) - tail]), QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(made[head : len(made) - tail])
        cursor.endEditBlock()

    def begin_with(self, made: str) -> None:
        """Put another text in place of this one, which no undo brings back; the cursor stays in its field.

        Where that field has gone it goes to the beginning: what is typed there is no document, and lands in no field.
        """
        bar, before = self.verticalScrollBar(), self.textCursor()
        top, had, place = bar.value() - before.blockNumber(), self.typed(), before.position()
        self.read_outline()
        path = self.outline.path_at(place)
        start = self.outline.place_of(path)
        self.setPlainText(made)
        self.read_outline()
        now = self.outline.place_of(path)
        cursor = self.textCursor()
        if start is not None and now is not None and self.outline.path_at(now) == path:
            within = place - start
            cursor.setPosition(now + within if made[now : now + within] == had[start:place] else now)
        with QSignalBlocker(self):
            self.setTextCursor(cursor)
        self._path = self.path
        bar.setValue(top + cursor.blockNumber())
        self._mark()

    # --- keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not held:
            line = self.textCursor().block().text()
            before = line[: self.textCursor().positionInBlock()]
            indent = re.match(r" *", line)
            deeper = "  " if before.rstrip().endswith(("{", "[")) else ""
            self.textCursor().insertText("\n" + (indent.group() if indent else "") + deeper)
        elif held == both and event.key() in (Qt.Key.Key_BracketLeft, Qt.Key.Key_BraceLeft):
            self.fold_here(True)
        elif held == both and event.key() in (Qt.Key.Key_BracketRight, Qt.Key.Key_BraceRight):
            self.fold_here(False)
        else:
            super().keyPressEvent(event)

    # --- the outline, and going to a field

    def read_outline(self) -> None:
        """Find out again where the fields are."""
        self._later.stop()
        typed = self.typed()
        self.outline = outline(typed) if len(typed) <= OUTLINED else Outline()
        self._gutter.update()

    @property
    def path(self) -> Path:
        """The path of the field at the cursor."""
        return self.outline.path_at(self.textCursor().position())

    def _moved(self) -> None:
        block = self.textCursor().block()
        if not block.isVisible():
            self._show_line(block)
        path = self.path
        if path != self._path and not self._later.isActive():
            self._path = path
            if self.hasFocus():
                self.moved.emit(path)
        self._mark()

    def go_to(self, path: Path) -> None:
        """Put the cursor at a field that was chosen elsewhere."""
        if self._later.isActive():
            self.read_outline()
        place = self.outline.place_of(path)
        if place is None or path == self.path:
            return
        self._path = path
        cursor = self.textCursor()
        cursor.setPosition(min(place, self.document().characterCount() - 1))
        self.setTextCursor(cursor)
        self.ensureCursorVisible()

    def set_error(self, marks: list[QTextEdit.ExtraSelection]) -> None:
        """Underline the part that is wrong."""
        self._error = marks
        self._mark()

    @property
    def error_marks(self) -> list[QTextEdit.ExtraSelection]:
        """The marks under the part that is wrong."""
        return self._error

    def _mark(self) -> None:
        here = QTextEdit.ExtraSelection()
        here.cursor = self.textCursor()
        here.cursor.clearSelection()
        look = QTextCharFormat()
        look.setBackground(theme.colour("hover"))
        look.setProperty(QTextCharFormat.Property.FullWidthSelection, True)
        here.format = look
        self.setExtraSelections([here, *self._error])

    # --- folding

    def fold_here(self, away: bool) -> None:
        """Fold or unfold the innermost container around the cursor."""
        if self._later.isActive():
            self.read_outline()
        line = self.textCursor().blockNumber()
        around = [first for first, last in self.outline.folds.items() if first <= line <= last]
        wanted = [first for first in around if self.is_folded(first) != away]
        if wanted:
            self.fold(max(wanted), away)

    def is_folded(self, line: int) -> bool:
        """Whether the container that starts on a line is folded."""
        inside = self.document().findBlockByNumber(line + 1)
        return line in self.outline.folds and inside.isValid() and not inside.isVisible()

    def fold(self, line: int, away: bool) -> None:
        """Fold or unfold the container that starts on a line; its last line stays visible."""
        last = self.outline.folds.get(line)
        if last is None or last - line < 2:
            return
        if away and line < self.textCursor().blockNumber() < last:
            cursor = self.textCursor()
            cursor.setPosition(self.document().findBlockByNumber(line).position())
            self.setTextCursor(cursor)
        for number in range(line + 1, last):
            self.document().findBlockByNumber(number).setVisible(not away)
        first = self.document().findBlockByNumber(line)
        end = self.document().findBlockByNumber(last)
        self.document().markContentsDirty(first.position(), end.position() + end.length() - first.position())
        self.viewport().update()
        self._gutter.update()

    def _show_line(self, block: QTextBlock) -> None:
        number = block.blockNumber()
        for first, last in sorted(self.outline.folds.items()):
            if first < number < last and self.is_folded(first):
                self.fold(first, False)

    def toggle_at(self, y: int) -> None:
        """Fold or unfold the container that starts on the line at a height."""
        block = self.cursorForPosition(QPoint(0, y)).block()
        self.fold(block.blockNumber(), not self.is_folded(block.blockNumber()))

    # --- the gutter

    def gutter_width(self) -> int:
        """The width that the numbers and chevrons need."""
        digits = max(2, len(str(self.blockCount())))
        return theme.px(34) + round(QFontMetricsF(theme.mono(11)).horizontalAdvance("0") * digits)

    def _fit_gutter(self, _: int = 0) -> None:
        self.setViewportMargins(self.gutter_width(), 0, 0, 0)
        self._place_gutter()

    def _place_gutter(self) -> None:
        box = self.contentsRect()  # the scroll bar at its foot stays free
        self._gutter.setGeometry(QRect(box.left(), box.top(), self.gutter_width(), self.viewport().height()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_gutter()

    def _scrolled(self, rect: QRect, dy: int) -> None:
        if dy:
            self._gutter.scroll(0, dy)
        else:
            self._gutter.update(0, rect.y(), self._gutter.width(), rect.height())

    def paint_gutter(self, painter: QPainter, rect: QRect) -> None:
        """Draw the line numbers in a rectangle, and the chevrons."""
        painter.fillRect(rect, theme.colour("sunken"))
        painter.setFont(theme.mono(11))
        width, chevron = self._gutter.width(), theme.px(18)
        here = self.textCursor().blockNumber()
        block, offset = self.firstVisibleBlock(), self.contentOffset()
        while block.isValid():
            box = self.blockBoundingGeometry(block).translated(offset)
            if box.top() > rect.bottom():
                break
            number = block.blockNumber()
            if block.isVisible():
                painter.setPen(theme.colour("text" if number == here else "text3"))
                place = QRectF(0, box.top(), width - chevron, box.height())
                painter.drawText(
                    place, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), str(number + 1)
                )
                if self.outline.folds.get(number, number) - number > 1:
                    middle = QRectF(width - chevron, box.top(), chevron, box.height()).center()
                    symbols.chevron(painter, middle, not self.is_folded(number))
            block = block.next()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FontChange:
            self._fit_gutter()
        return super().event(event)


def _units(words: str) -> int:
    """How many positions of a text document some text takes: Qt counts in UTF-16."""
    return len(words.encode("utf-16-le", "surrogatepass")) // 2
