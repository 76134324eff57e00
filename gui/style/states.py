"""States shown instead of missing content: empty, loading, failed.

A panel puts its content into a :class:`StateStack` and names its state. Content once shown stays while newer content
is read; it never goes blank.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import TypeAlias

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCursor, QGuiApplication, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QStyle,
    QStyleOptionComboBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui import tasks
from gui.language import tr
from gui.style import focus_ring, icons, theme, wording
from gui.style.front_layout import FrontLayout
from gui.style.scrolling import FromTop
from model.errors import Unreachable
from model.text import plain, visible

PATIENCE = 200  # milliseconds before loading is mentioned at all
KEPT = 112  # u of its text that a line keeps, unless it gives way entirely
MOST, EDGE = 560, 16  # u: the width of comfortably readable text, and its margin
LOW = 150  # a lower place has no room for an icon beside the text

Choice: TypeAlias = tuple[str, Callable[[], object]]


class Glyph(QWidget):
    """An icon as a widget, drawn as a vector in a token's colour."""

    def __init__(self, name: str = "", token: str = "text2", size: float = 16, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name, self._token, self._size = name, token, size
        self.setFixedSize(self.sizeHint())
        theme.signals.changed.connect(self._restyle)

    def set(self, name: str, token: str) -> None:
        """Draw another icon from now on."""
        self._name, self._token = name, token
        self.update()

    def _restyle(self) -> None:
        self.setFixedSize(self.sizeHint())
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(theme.px(self._size), theme.px(self._size))

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._name:
            icons.paint(QPainter(self), QRectF(self.rect()), self._name, self._token)


class PlainLabel(QLabel):
    """The only kind of label: its text is never markup, and hidden characters in it are shown."""

    def __init__(self, said: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(said)

    def setText(self, said: str) -> None:
        super().setText(visible(said))


def words(text: str, role: str = "", wrap: bool = False) -> PlainLabel:
    """A label in one of the style sheet's roles."""
    made = PlainLabel(text)
    if role:
        made.setProperty("role", role)
    made.setWordWrap(wrap)
    return made


def button(
    text: str, call: Callable[[], object] | None = None, *marks: str, icon: str = "", token: str = "text2"
) -> QPushButton:
    """A button with style-sheet marks such as ``main``, ``quiet``, ``small``; Return presses it like Space."""
    made = QPushButton(text)
    for mark in marks:
        made.setProperty(mark, True)
    if icon:
        made.setIcon(icons.icon(icon, token))
    made.setIconSize(QSize(theme.px(20), theme.px(16)))  # wider than the icon: a gap before the text
    made.setAutoDefault(True)
    if call is not None:
        made.clicked.connect(lambda: call())
    return made


def say(made: QPushButton, said: str) -> None:
    """Put text beside a button's icon; without text, the icon stands alone in a square."""
    if said == made.text() and made.property("alone") is not None:
        return
    made.setText(said)
    made.setProperty("alone", not said)
    made.setIconSize(QSize(theme.px(20 if said else 16), theme.px(16)))
    made.style().unpolish(made)
    made.style().polish(made)


def tool(
    icon: str, name: str, call: Callable[[], object] | None = None, side: float = 26, token: str = "text2"
) -> QToolButton:
    """A square button with only an icon; its name is the tooltip and the accessible name."""
    made = QToolButton()
    made.setIcon(icons.icon(icon, token))
    made.setIconSize(QSize(theme.px(16), theme.px(16)))
    made.setFixedSize(theme.px(side), theme.px(side))
    made.setToolTip(wording.tip(name))
    made.setAccessibleName(name)
    made.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    if call is not None:
        made.clicked.connect(lambda: call())
    return made


class OneLine(PlainLabel):
    """A label that gets cut instead of widening the window; its tooltip then shows the whole text."""

    def __init__(self, role: str, middle: bool = False) -> None:
        self._side = Qt.TextElideMode.ElideMiddle if middle else Qt.TextElideMode.ElideRight
        self._whole = self._brief = ""
        self._keeps_room = False
        super().__init__()
        self.setProperty("role", role)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def setText(self, said: str) -> None:
        self._whole = plain(said)
        self.setAccessibleName(self._whole)
        self.updateGeometry()
        self._cut()

    def come_first(self) -> None:
        """Take room for the whole text before other such labels get any."""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self.setMinimumWidth(1)

    def keep_room(self, brief: str = "") -> None:
        """Keep room for the text, or for a ``brief`` version if the whole does not fit."""
        self._brief, self._keeps_room = plain(brief), True
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self._cut()

    def minimumSizeHint(self) -> QSize:
        least = super().minimumSizeHint()
        if not self._keeps_room:
            return least
        wide = self.fontMetrics().horizontalAdvance(self._brief or self._whole) + 2
        return QSize(min(wide, theme.px(KEPT)), least.height())

    @property
    def wide(self) -> int:
        """The width of the whole text."""
        return self.fontMetrics().horizontalAdvance(self._whole) + 2

    def sizeHint(self) -> QSize:
        """The size of the whole text: a label that asks only for its cut text never gets more."""
        return QSize(self.wide, super().sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._cut()

    def _cut(self) -> None:
        text = self._whole if self.wide <= self.width() + 2 else self._brief or self._whole
        shown = self.fontMetrics().elidedText(text, self._side, self.width())
        self.setToolTip("" if shown == self._whole else wording.tip(self._whole))
        if shown != self.text():
            super().setText(shown)


class DropDown(QComboBox):
    """A choice among texts that may be wider than the widget: an ellipsis marks a cut one."""

    def initStyleOption(self, option: QStyleOptionComboBox) -> None:
        super().initStyleOption(option)
        part = QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, part, self).width()
        said: str = option.currentText
        option.currentText = self.fontMetrics().elidedText(said, Qt.TextElideMode.ElideRight, room - theme.px(2))


def hair() -> QWidget:
    """A line of one pixel between parts."""
    made = QWidget()
    made.setObjectName("hair")
    made.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
    made.setFixedHeight(1)
    return made


class StateView(QWidget):
    """One state: icon, sentence, help, at most two buttons, left-aligned at the top."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._low = False
        self._glyph = Glyph(size=20)
        self._title = words("", "head", wrap=True)
        self._help = words("", "second", wrap=True)
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(theme.px(8))
        self._buttons.setContentsMargins(0, theme.px(10), 0, 0)
        inner = QWidget()
        inner.setObjectName("bare")
        self._scroll = FromTop(self)  # texts are never squeezed into each other: in too little room they scroll
        self._scroll.setObjectName("bare")
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setWidget(inner)
        self._scroll.viewport().setObjectName("bare")
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self._scroll)
        self.column = column = QVBoxLayout(inner)
        column.setSpacing(theme.px(8))
        column.addWidget(self._glyph)
        column.addWidget(self._title)
        column.addWidget(self._help)
        column.addWidget(self._bar)
        column.addLayout(self._buttons)
        column.addStretch(1)
        for part in (self._title, self._help, self._bar):
            part.setMaximumWidth(theme.px(MOST))
        self._fit()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.hasFocus():
            focus_ring.frame(self, self.said_at())

    def said_at(self) -> QRect:
        """Where the words are, with a little room around them."""
        box = QRect()
        for part in (self._title, self._help):
            if not part.isHidden():
                box |= QRect(part.mapTo(self, QPoint()), part.size())
        room = theme.px(6)
        return box.adjusted(-room, -room, room, room) & self.rect()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """In a low place the icon gives way to the text."""
        self._low = self.height() < theme.px(LOW)
        self._glyph.setVisible(not self._low)
        edge = theme.px(8 if self._low else 24)
        self.column.setContentsMargins(theme.px(EDGE), edge, theme.px(EDGE), edge)
        self.updateGeometry()

    def minimumSizeHint(self) -> QSize:
        """The size of text and buttons without the icon, as far as a small window has room."""
        wide = min(max(self.width(), theme.px(200)), theme.px(MOST + 2 * EDGE))  # text wraps there
        needed = self.column.totalHeightForWidth(wide)
        needed -= 0 if self._low else theme.px(2 * (24 - 8) + 20 + 8)
        return QSize(theme.px(200), min(needed, theme.px(LOW)))

    def focus_choice(self) -> None:
        """Focus the first choice; without choices, the text."""
        item = self._buttons.itemAt(0)
        made = item.widget() if item is not None else None
        if made is not None and self.isVisible():
            made.show()  # else Qt shows it after the present events, and until then the focus is elsewhere
        (made or self).setFocus()

    def put(
        self, icon: str, token: str, title: str, help: str = "", choices: Sequence[Choice] = (), main: bool = False
    ) -> None:
        """Show a state; the first choice is a bordered (or the main) button, the second a quiet one."""
        self._glyph.set(icon, token)
        self._title.setText(title)
        self._help.setText(help)
        self._help.setVisible(bool(help))
        self._bar.hide()
        self.setAccessibleName(title)
        self.setAccessibleDescription(help)
        while (item := self._buttons.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        for at, (label, call) in enumerate(choices[:2]):
            marks = ("small", "main") if main and at == 0 else ("small",) if at == 0 else ("small", "quiet")
            self._buttons.addWidget(button(label, call, *marks))
        self._buttons.addStretch(1)
        self._scroll.begin()
        self.updateGeometry()

    def progress(self, done: int, total: int | None) -> None:
        """Show the progress of loading."""
        if total:
            self._bar.setRange(0, total)
            self._bar.setValue(min(done, total))
            # It hides the content, which cannot be used meanwhile; under a one-line notice it can be.
            self._help.setText(
                tr(
                    "{done} of about {total}. Everything else can be used meanwhile.",
                    done=wording.count(done),
                    total=wording.count(total),
                )
            )
        else:
            self._help.setText(tr("{done} so far.", done=wording.count(done)))
        self._help.setVisible(bool(done or total))
        self._bar.setVisible(bool(total))
        self.updateGeometry()  # the text scrolls, so the widgets around do not notice its height

    @property
    def title(self) -> str:
        """The sentence shown."""
        return self._title.text()

    @property
    def help(self) -> str:
        """The help below it."""
        return self._help.text()


class BusyLine(QFrame):
    """A line at outdated content: the progress of reading, or why it failed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sunken")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._text = OneLine("second")
        self._text.come_first()
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setMaximumWidth(theme.px(160))
        self._stop = button(tr("Stop"), None, "small", "quiet")
        row = QHBoxLayout(self)
        row.setContentsMargins(theme.px(16), theme.px(2), theme.px(8), theme.px(2))
        self._glyph = Glyph()
        row.addWidget(self._glyph)
        row.addWidget(self._text)
        row.addWidget(self._bar)
        row.addStretch(1)
        row.addWidget(self._stop)
        self._call: Callable[[], object] | None = None
        self._stop.clicked.connect(self._stopped)
        self._title = ""

    def begin(self, title: str, stop: Callable[[], object] | None) -> None:
        """Name the content that is being read; the button calls ``stop``."""
        self._title, self._call = title, stop
        self._glyph.set("hourglass", "text2")
        self._text.setText(title)
        self._bar.hide()
        self._stop.setText(tr("Stop"))
        self._stop.setVisible(stop is not None)

    def stale(self, text: str, retry: Callable[[], object] | None, said: str = tr("Try again")) -> None:
        """Say why the content is incomplete or outdated; the button says ``said`` and calls ``retry``."""
        self.begin(text, retry)
        self._glyph.set("warning", "warn")
        self._stop.setText(said)

    def progress(self, done: int, total: int | None) -> None:
        """Show the progress."""
        self._bar.setVisible(bool(total))
        if total:
            self._bar.setRange(0, total)
            self._bar.setValue(min(done, total))
        if done:
            of = tr(" of about {total}", total=wording.count(total)) if total else ""
            self._text.setText(f"{self._title}: {wording.count(done)}{of}")

    def _stopped(self) -> None:
        if self._call is not None:
            self._call()


class StateStack(QWidget):
    """A panel's content, or the state shown instead.

    A line over the content's foot says that newer content is being read, or below it that this failed: nothing moves.
    """

    turned = Signal()  # the kind of state changed

    def __init__(self, content: QWidget | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        pages = QWidget(self)  # a stacked layout without a widget would show its first page as a window
        self.place = pages
        """The parent for content with many parts: moved here later, Qt would style each part again."""
        self._state = StateView(pages)
        self._busy, self._reading = BusyLine(), BusyLine(self)  # the second follows the content in tab order
        self.foot: QWidget | None = None
        """The content's part with its buttons, which the reading line does not cover."""
        self._busy.hide()
        self._reading.hide()
        self._stack = FrontLayout(pages)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(pages, 1)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._loading_now)
        self._loading: tuple[str, Callable[[], object] | None] = ("", None)
        self._reached: tuple[int, int | None] = (0, None)
        self._had_content = False
        self._as_of: dt.datetime | None = None
        self.kind = "content"
        if content is not None:
            self.put(content)

    def put(self, content: QWidget) -> None:
        """Set the content, if it was not given at the start."""
        self._content = content
        self._stack.addWidget(content)
        self._stack.addWidget(self._state)
        self._column.addWidget(self._busy)

    @property
    def state(self) -> StateView:
        """The view of the present state, for tests and for more text."""
        return self._state

    @property
    def is_unread(self) -> bool:
        """Whether content is hidden because it could not be read or is still awaited: nothing is known of it now."""
        return self.kind in ("failed", "loading")

    def show_content(self) -> None:
        """Show the content, which is complete."""
        self._had_content = True
        self._as_of = dt.datetime.now(dt.UTC)
        self._settle("content")
        self._stack.setCurrentWidget(self._content)

    def forget_content(self) -> None:
        """Note that the content was given up: the next reading counts as the first."""
        self._had_content = False

    def show_part(self, why: str, read_on: Callable[[], object]) -> None:
        """Show incomplete content; a line says why, and offers to read the rest."""
        self.show_content()
        self._busy.stale(why, read_on, tr("Read on"))
        self._busy.show()

    def show_empty(self, title: str, help: str = "", choices: Sequence[Choice] = (), icon: str = "tray") -> None:
        """Say why there is no content, and what can be done."""
        self._put("empty", icon, "text2", title, help, choices)

    def show_loading(self, title: str, on_stop: Callable[[], object] | None = None) -> None:
        """Say what is being read, after 200 ms; content already shown stays."""
        self._loading = (title, on_stop)
        self._reached = (0, None)
        # Most readings end before anybody could read about them.
        self._timer.start(PATIENCE)

    def progress(self, done: int, total: int | None = None) -> None:
        """Show the progress of reading."""
        self._reached = (done, total)
        if self.kind == "loading":
            self._state.progress(done, total)
        if not self._reading.isHidden():
            self._reading.progress(done, total)

    def show_failed(
        self, error: BaseException, retry: Callable[[], object] | None = None, title: str = tr("This could not be read")
    ) -> None:
        """Say that reading failed, and what to do. Earlier content stays if only the server is unreachable."""
        sentence, details = tasks.describe(error)
        if isinstance(error, Unreachable) and self._had_content and self.kind == "content":
            self._settle("content")
            self._busy.stale(
                tr("As of {as_of}. {sentence}", as_of=wording.moment(self._as_of), sentence=sentence), retry
            )
            self._busy.show()
            return
        choices: list[Choice] = [(tr("Try again"), retry)] if retry is not None else []
        choices.append((tr("Copy details"), lambda: QGuiApplication.clipboard().setText(details)))
        self._put("failed", "warning-circle", "err", title, sentence, choices)

    def _loading_now(self) -> None:
        title, stop = self._loading
        if self._had_content and self.kind == "content":
            self._reading.begin(title, stop)
            self._reading.progress(*self._reached)
            self._place_reading()
            self._reading.show()
            self._reading.raise_()
            return
        self._had_content = False
        self.kind = "loading"
        self._state.put("hourglass", "text2", title, "", [(tr("Stop"), stop)] if stop is not None else [])
        self._state.progress(*self._reached)
        self._stack.setCurrentWidget(self._state)
        self.turned.emit()

    def _put(self, kind: str, icon: str, token: str, title: str, help: str, choices: Sequence[Choice]) -> None:
        self._settle(kind)
        here = self._content.hasFocus() or self._content.isAncestorOf(QApplication.focusWidget() or self)
        self._state.put(icon, token, title, help, choices)
        self._stack.setCurrentWidget(self._state)
        if here:  # Qt passes it to the next one, which may be far away, or leaves it where nobody sees it
            self._state.focus_choice()

    def _settle(self, kind: str) -> None:
        self._timer.stop()
        self._busy.hide()
        self._reading.hide()
        before, self.kind = self.kind, kind
        if before != kind:
            self.turned.emit()

    def _place_reading(self) -> None:
        """Put the line over the foot, or over the head while the mouse is at work at the foot.

        Buttons at the content's foot stay visible: the line lies above them.
        """
        high = self._reading.sizeHint().height()
        foot = self.foot
        end = self.height() if foot is None else foot.mapTo(self, QPoint()).y()
        box = QRect(0, end - high, self.width(), high)
        if box.contains(self.mapFromGlobal(QCursor.pos())):
            box.moveTop(0)
        self._reading.setGeometry(box)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if not self._reading.isHidden():
            self._place_reading()
