"""A whole value, wrapped, to read and copy: below a list with Space, or in a dialog of its own.

Texts are made in a task. Two compared values stand side by side, with their differences marked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QMimeData, QPoint, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QImage,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QTextCursor,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QPlainTextEdit,
    QStackedLayout,
    QTextEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui import copying, tasks
from gui.language import tr
from gui.parts.values import value_text
from gui.parts.values.text_alignment import TextAlignment
from gui.style import boxes, icons, preferences, states, theme, wording
from model.values.canonical import Value

if TYPE_CHECKING:
    from gui.parts.values.value_text import ValueText

MARKS_SEEN = 2000  # marks that a text view gets at most
PIECE = 1 << 17  # characters put into a text view in one go


class ReadOnlyText(QPlainTextEdit):
    """Fixed-width text that wraps; long text is inserted piece by piece, so that the window stays responsive.

    ``filled``: the last piece is there.
    """

    filled = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setUndoRedoEnabled(False)
        self.setObjectName("value")
        self._whole = self._rest = ""
        self._at = 0
        self._marks: tuple[tuple[int, int], ...] = ()
        self._strong = "chgS"
        self._due = -1
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._piece)
        self._restyle()
        theme.signals.changed.connect(self._restyle)

    def _restyle(self) -> None:
        self.document().setDocumentMargin(theme.px(8))
        self._mark()

    def put(self, text: str, marks: tuple[tuple[int, int], ...] = (), strong: str = "chgS") -> None:
        """Show a text with stretches marked, each from one character to another."""
        marks = _places(text, marks[:MARKS_SEEN])
        self._marks, self._strong = marks, strong
        self._whole = self._rest = text
        self._at = _end_of_piece(text, 0)
        self.setPlainText(text[: self._at])
        self._mark()
        self._due = -1
        self.moveCursor(QTextCursor.MoveOperation.Start)
        if len(text) > self._at:
            self._timer.start()
        else:
            self._timer.stop()
        if marks:
            self.go(marks[0][0])

    def go(self, place: int) -> None:
        """Scroll to a place; one that was out of sight comes to the middle."""
        if place >= self.document().characterCount() and self._timer.isActive():
            self._due = place  # once it is there
            return
        self._due = -1
        cursor = self.textCursor()
        cursor.setPosition(min(place, max(0, self.document().characterCount() - 1)))
        self.setTextCursor(cursor)
        if not self.viewport().rect().contains(self.cursorRect()):
            self.centerCursor()

    @property
    def marks(self) -> tuple[tuple[int, int], ...]:
        """The marked stretches, as positions in the view."""
        return self._marks

    def line_of(self, place: int) -> int:
        """The line number of a place."""
        return self.document().findBlock(place).blockNumber()

    @property
    def top(self) -> int:
        """The place of the first character in sight."""
        return self.cursorForPosition(QPoint(0, 0)).position()

    def scroll_to(self, place: int) -> None:
        """Scroll so that a place's line is at the top."""
        block = self.document().findBlock(min(place, max(0, self.document().characterCount() - 1)))
        line = block.layout().lineForTextPosition(place - block.position())
        self.verticalScrollBar().setValue(block.firstLineNumber() + (line.lineNumber() if line.isValid() else 0))

    def _piece(self) -> None:
        if self._at >= len(self._rest):
            self._timer.stop()
            self._rest = ""
            self._mark()
            self.filled.emit()
            return
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        end = _end_of_piece(self._rest, self._at)
        cursor.insertText(self._rest[self._at : end])
        self._at = end
        if 0 <= self._due < self.document().characterCount() - 1:
            self.go(self._due)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._due = -1  # a person who scrolls is not moved elsewhere
        super().wheelEvent(event)

    def createMimeDataFromSelection(self) -> QMimeData:
        """The selected text, without the line breaks that only the view put into overlong lines."""
        cursor, made = self.textCursor(), QMimeData()
        places = self._whole.replace("\r\n", "\n").encode("utf-16-le", "surrogatepass")
        chosen = places[2 * cursor.selectionStart() : 2 * cursor.selectionEnd()]
        made.setText(chosen.decode("utf-16-le", "replace").replace(value_text.BREAK, ""))
        return made

    def _mark(self) -> None:
        if not hasattr(self, "_marks"):
            return
        from PySide6.QtGui import QTextCharFormat  # large, and few starts compare texts

        made = []
        last = self.document().characterCount() - 1
        look = QTextCharFormat()
        look.setBackground(theme.colour(self._strong))
        for start, end in self._marks:
            if start >= last:
                break
            one = QTextEdit.ExtraSelection()
            one.format = look
            cursor = QTextCursor(self.document())
            cursor.setPosition(start)
            cursor.setPosition(min(end, last), QTextCursor.MoveMode.KeepAnchor)
            one.cursor = cursor
            made.append(one)
        self.setExtraSelections(made)


def _end_of_piece(text: str, start: int) -> int:
    """The end of a piece, never between the two characters of one line break."""
    end = start + PIECE
    return end + 1 if text[end - 1 : end + 1] == "\r\n" else end


def _places(text: str, marks: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Marks, in order, as positions in Qt: a character beyond U+FFFF counts twice, a CRLF once."""
    if text.isascii() and "\r\n" not in text:
        return marks
    made = []
    at = place = 0
    for mark in marks:
        both = []
        for to in mark:
            place += len(text[at:to].encode("utf-16-le", "surrogatepass")) // 2
            place -= text.count("\r\n", max(0, at - 1), to)
            at = to
            both.append(place)
        made.append((both[0], both[1]))
    return tuple(made)


class Picture(QWidget):
    """An image, scaled down to fit, sharp on every screen."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._image = QImage()

    def put(self, image: QImage) -> None:
        """Show an image."""
        self._image = image
        self.setAccessibleName(tr("Picture, {width} by {height} pixels", width=image.width(), height=image.height()))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(theme.px(200), theme.px(120))

    @property
    def wanted_height(self) -> int:
        """The height at which it has its own size."""
        return self._image.height() + theme.px(16)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._image.isNull():
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        room = self.rect().adjusted(theme.px(8), theme.px(8), -theme.px(8), -theme.px(8)).size()
        size = self._image.size()
        if size.width() > room.width() or size.height() > room.height():
            size.scale(room, Qt.AspectRatioMode.KeepAspectRatio)
        box = QRectF(theme.px(8), theme.px(8), size.width(), size.height())
        painter.drawImage(box, self._image)
        painter.setPen(theme.colour("border"))
        painter.drawRect(box.adjusted(-0.5, -0.5, 0.5, 0.5))
        painter.end()


class _Side(QWidget):
    """One value: its type and size, the ways to show it, and a copy button."""

    load_asked = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.value: Value | None = None
        self.caption = states.words("", "second")
        self.copy = states.button(tr("Copy"), self._copy, "small", "quiet", icon="copy")
        self.as_hex = states.button(tr("Show bytes"), self._other_form, "small", "quiet")
        head = QHBoxLayout()
        head.setContentsMargins(theme.px(8), 0, theme.px(4), 0)
        head.setSpacing(theme.px(4))
        head.addWidget(self.caption, 1)
        head.addWidget(self.as_hex)
        head.addWidget(self.copy)
        pages = QWidget()  # a stacked layout without a widget would show its first page as a window
        whole = boxes.column(self)
        whole.addLayout(head)
        whole.addWidget(pages, 1)
        self.text, self.picture, self._large = ReadOnlyText(pages), Picture(pages), QWidget(pages)
        column = QVBoxLayout(self._large)
        column.setContentsMargins(theme.px(8), theme.px(8), theme.px(16), theme.px(8))
        self.large_words = states.words("", "second", wrap=True)
        self.load = states.button(tr("Load anyway"), self.load_asked.emit, "small")
        column.addWidget(self.large_words)
        column.addWidget(self.load, 0, Qt.AlignmentFlag.AlignLeft)
        column.addStretch(1)
        self._stack = QStackedLayout(pages)
        for page in (self.text, self.picture, self._large):
            self._stack.addWidget(page)

    def put(self, name: str, value: Value | None, reading: ValueText | None, strong: str) -> None:
        """Show a value that was read; without one, say that it is absent."""
        self.value = value
        self.as_hex.setVisible(reading is not None and reading.picture is not None)
        self.copy.setVisible(value is not None and reading is not None and not reading.broken)
        lead = f"{name}   " if name else ""
        if value is None or reading is None:
            self.caption.setText(tr("{lead}absent", lead=lead))
            self.text.put("")
            self._stack.setCurrentWidget(self.text)
            return
        note = reading.note
        if reading.picture is not None:
            note += tr(
                ", picture of {width} × {height}", width=reading.picture.width(), height=reading.picture.height()
            )
            self.picture.put(reading.picture)
        self.caption.setText(f"{lead}{note}")
        self.text.setAccessibleName(f"{lead}{note}")
        if reading.large:
            self.large_words.setText(tr("{note}. Showing it takes a moment.", note=note))
            self._stack.setCurrentWidget(self._large)
            return
        self.text.put(reading.text, reading.marks, strong)
        self._stack.setCurrentWidget(self.text if reading.picture is None else self.picture)
        self.as_hex.setText(tr("Show bytes"))

    @property
    def wanted_height(self) -> int:
        """The height at which all of it is visible."""
        head = self.copy.sizeHint().height()
        if self._stack.currentWidget() is self.picture:
            return head + self.picture.wanted_height
        if self._stack.currentWidget() is self._large:
            return head + self._large.sizeHint().height()
        lines = self.text.document().size().height()  # of a plain text: its number of wrapped lines
        return head + round(lines * self.text.fontMetrics().lineSpacing()) + theme.px(24)

    @property
    def is_text(self) -> bool:
        """Whether it is shown as text, not as an image."""
        return self._stack.currentWidget() is self.text

    def _other_form(self) -> None:
        pictured = self._stack.currentWidget() is self.picture
        self._stack.setCurrentWidget(self.text if pictured else self.picture)
        self.as_hex.setText(tr("Show picture") if pictured else tr("Show bytes"))

    def _copy(self) -> None:
        value = self.value
        if value is not None:
            copying.copy(self, len(value.data), lambda: value_text.copied(value))


class ValuePane(QWidget):
    """One value, or two side by side. ``closed``: Escape, Space or the cross; ``filled``: a value is there.

    Most panes of a page are never opened, so its parts are made when it is first shown.
    """

    closed = Signal()
    filled = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        boxes.ground(self, "surface")
        self._column = boxes.column(self)

    @cached_property
    def sides(self) -> ValueSides:
        """What is in the pane."""
        made = ValueSides(self)
        made.closed.connect(self.closed)
        made.filled.connect(self.filled)
        self._column.addWidget(made)
        return made

    @property
    def wanted_height(self) -> int:
        """The height at which all of the value is visible."""
        return self.sides.wanted_height

    def show_value(self, title: str, value: Value | None, note: str = "") -> None:
        """Show one value; a ``note`` replaces type and size, which our own texts do not need."""
        self.sides.show_value(title, value, note)

    def show_pair(
        self, title: str, a: Value | None, b: Value | None, strong: str = "chgS", names: tuple[str, str] = ("A", "B")
    ) -> None:
        """Show two values side by side, their differences in the colour ``strong``."""
        self.sides.show_pair(title, a, b, strong, names)

    def setVisible(self, visible: bool) -> None:
        if visible:
            _ = self.sides  # a splitter asks a part that appears for its size
        super().setVisible(visible)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Escape, Qt.Key.Key_Space):
            self.closed.emit()
        else:
            super().keyPressEvent(event)


class ValueSides(QWidget):
    """The parts of a :class:`ValuePane`.

    A button shows the value in a window of its own, which can be as large as the screen.

    It reads without a :class:`.Reading`: it is as low as its value, and says in the line above it why one failed.
    """

    closed = Signal()
    filled = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._asked: tuple[str, Value | None, Value | None] = ("", None, None)
        self._note = ""  # shown for one value instead of its type and size
        self._names = ("", "")
        self._strong = "chgS"
        self.title = states.words("", "head")
        self.title.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        close = states.tool("x", tr("Close the value"), self.closed.emit)
        close.setToolTip(tr("Close (Esc)"))
        head = QHBoxLayout()
        head.setContentsMargins(theme.px(16), theme.px(2), theme.px(8), theme.px(2))
        head.setSpacing(theme.px(8))
        self.count = states.words("", "second")
        self.up = _arrow("arrow-up", tr("Previous difference"), partial(self._step, -1))
        self.down = _arrow("arrow-down", tr("Next difference"), partial(self._step, 1))
        head.addWidget(self.title, 1)
        for part in (self.count, self.up, self.down):
            head.addWidget(part)
            part.hide()
        head.addSpacing(theme.px(8))
        self.larger = states.tool("magnifying-glass-plus", tr("Show in a window of its own"), self.enlarge)
        head.addWidget(self.larger)
        head.addWidget(close)
        self._alignment, self._at = TextAlignment(), 0
        self._stops: tuple[tuple[int, int], ...] = ()
        self._leading = False
        column = boxes.column(self)
        column.addLayout(head)
        self.left, self.right = self._both = _Side(self), _Side(self)
        line = QWidget(self)
        line.setFixedWidth(1)
        line.setObjectName("rule")
        line.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        body = QHBoxLayout()
        body.setContentsMargins(theme.px(8), 0, 0, 0)
        body.setSpacing(0)
        body.addWidget(self.left, 1)
        body.addWidget(line)
        body.addWidget(self.right, 1)
        self._rule = line
        column.addLayout(body, 1)
        for side in (self.left, self.right):
            side.load_asked.connect(self._whole)
            side.text.filled.connect(self._align)
            side.as_hex.clicked.connect(self._say)
            side.text.verticalScrollBar().valueChanged.connect(partial(self._lead, side))

    @property
    def wanted_height(self) -> int:
        """The height at which all of the value is visible."""
        sides = [side for side in self._both if not side.isHidden()]
        return self.title.sizeHint().height() + theme.px(16) + max(side.wanted_height for side in sides)

    def enlarge(self) -> None:
        """Show the same in a window of its own."""
        title, a, b = self._asked
        dialog = ValueDialog(title, self.window())
        if self.right.isHidden():
            dialog.pane.show_value(title, a, self._note)
        else:
            dialog.pane.show_pair(title, a, b, self._strong, (self._names[0], self._names[1]))
        dialog.open()

    def show_value(self, title: str, value: Value | None, note: str = "") -> None:
        """Show one value; a ``note`` replaces type and size, which our own texts do not need."""
        self._names, self._note = ("", ""), note
        self.right.hide()
        self._rule.hide()
        self._show(title, value, None, False)

    def show_pair(
        self, title: str, a: Value | None, b: Value | None, strong: str = "chgS", names: tuple[str, str] = ("A", "B")
    ) -> None:
        """Show two values side by side, their differences in the colour ``strong``."""
        self._names, self._strong, self._note = names, strong, ""
        self.right.show()
        self._rule.show()
        self._show(title, a, b, False)

    def _show(self, title: str, a: Value | None, b: Value | None, whole: bool) -> None:
        self._asked = (title, a, b)
        zone, pair, note = preferences.zone(), not self.right.isHidden(), self._note

        def read_both(progress: tasks.Progress) -> tuple[ValueText | None, ValueText | None]:
            if pair:
                return value_text.read_pair(a, b, zone, whole)
            read = value_text.read(a, zone, whole) if a is not None else None
            return (replace(read, note=note) if read is not None and note else read), None

        tasks.run(read_both, done=self._put, failed=self._failed, owner=self, key="value")

    def _whole(self) -> None:
        self._show(*self._asked, True)

    def _put(self, readings: tuple[ValueText | None, ValueText | None]) -> None:
        # Title and values change together: no value is ever read, or copied, under another field's name.
        title, *values = self._asked
        self.title.setText(title)
        self.setAccessibleName(tr("Value of {title}", title=title))
        self._leading = True  # each scrolls to its first difference; until both are there, neither leads the other
        for side, name, value, reading in zip((self.left, self.right), self._names, values, readings, strict=True):
            side.put(name, value, reading, self._strong)
        self._at = 0
        self._align()
        self._leading = False
        if self._stops:
            self._step(0)  # also if only the other side has marks
        self.filled.emit()

    # --- both sides together

    def _align(self) -> None:
        """Find out which places correspond; for a long text once more when all of it is there."""
        self._alignment = TextAlignment(self.left.text.marks, self.right.text.marks)
        lines: dict[tuple[int, ...], tuple[int, int]] = {}  # all differences of one line are one step
        for stop in self._alignment.stops:
            lines.setdefault(tuple(side.text.line_of(at) for side, at in zip(self._both, stop, strict=True)), stop)
        self._stops = tuple(lines.values())
        self._say()

    def _lead(self, side: _Side, _: int = 0) -> None:
        """Scroll the other text to the place that corresponds to the top of this one."""
        if self._leading or self.right.isHidden():
            return
        other = self.right if side is self.left else self.left
        bar, its = side.text.verticalScrollBar(), other.text.verticalScrollBar()
        self._leading = True
        if bar.value() == bar.maximum():
            its.setValue(its.maximum())
        else:
            other.text.scroll_to(self._alignment.across(side.text.top, side is self.left))
        self._leading = False

    def _step(self, by: int) -> None:
        stops = self._stops
        self._at = max(0, min(len(stops) - 1, self._at + by))
        self._leading = True
        for side, place in zip(self._both, stops[self._at], strict=True):
            side.text.go(place)
        self._leading = False
        self._say()

    def _say(self) -> None:
        total = len(self._stops)
        self.count.setText(tr("Difference {at:,} of {total:,}", at=self._at + 1, total=total))
        for part in (self.count, self.up, self.down):
            part.setVisible(total > 1 and self.left.is_text and self.right.is_text)
        self.up.setEnabled(self._at > 0)
        self.down.setEnabled(self._at < total - 1)

    def _failed(self, error: BaseException) -> None:
        self._asked = (self._asked[0], None, None)
        self._put((None, None))
        self.left.caption.setText(tasks.describe(error)[0])


def _arrow(icon: str, words: str, call: Callable[[], object]) -> QToolButton:
    made = QToolButton()
    made.setIcon(icons.icon(icon))
    made.setIconSize(QSize(theme.px(14), theme.px(14)))
    made.setFixedSize(theme.px(26), theme.px(26))
    made.setProperty("boxed", True)
    made.setToolTip(wording.tip(words))
    made.setAccessibleName(words)
    made.clicked.connect(call)
    return made


class ValueDialog(QDialog):
    """A value in a window of its own, nearly as large as the window behind it."""

    def __init__(self, title: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(wording.title(title))
        boxes.ground(self, "surface")
        room = parent.size()
        self.resize(round(room.width() * 0.86), round(room.height() * 0.86))
        self.pane = ValuePane()
        self.pane.sides.larger.hide()
        self.pane.closed.connect(self.reject)
        column = boxes.column(self)
        column.setContentsMargins(0, theme.px(8), 0, 0)
        column.addWidget(self.pane)


class StoredDialog(QDialog):
    """A document exactly as it is stored, as canonical Extended JSON."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(wording.title(title))
        self.resize(theme.px(760), theme.px(560))
        self.pane = ValuePane()
        self.pane.sides.larger.hide()
        self.stack = states.StateStack(self.pane)
        self.pane.closed.connect(self.reject)
        self._title = title
        foot = QHBoxLayout()
        foot.setContentsMargins(theme.px(24), theme.px(12), theme.px(24), theme.px(16))
        foot.addStretch(1)
        close = states.button(tr("Close"), self.reject)
        foot.addWidget(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, theme.px(12), 0, 0)
        column.setSpacing(0)
        column.addWidget(self.stack, 1)
        column.addLayout(foot)
        self.stack.show_loading(tr("Reading {title}", title=title), self.reject)

    def show_raw(self, raw: bytes | None) -> None:
        """Show the stored bytes of the document."""
        if raw is None:
            self.stack.show_empty(tr("Nothing is stored here"))
            return
        self.pane.show_value(f"{self._title}, {wording.size(len(raw))}", Value.document(raw))
        self.stack.show_content()

    def show_error(self, error: BaseException) -> None:
        """Say why it could not be read."""
        self.stack.show_failed(error)
