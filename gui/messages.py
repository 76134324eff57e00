"""Messages over the foot of the window, and the one kind of question.

A success is shown for ten seconds with its undo, longer while the pointer or the focus is on it. A failure is shown
for a minute in which its window is in front, an unknown outcome until it is settled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QCursor, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from gui import tasks
from gui.language import tr
from gui.style import boxes, focus_keeper, focus_ring, theme
from gui.style.sheet import Sheet
from gui.style.states import Choice, Glyph, PlainLabel, button, tool, words
from model.errors import Unreachable

SECONDS = 10
FAILED_SECONDS = 60  # as long as its window is in front
STEP = 5  # seconds in which it is looked whether the window is in front
WIDTH = 760
LEAST = 120  # u that the text keeps beside buttons, or half of a line narrower than two of these
EDGE, FROM_TOP = 16, 96  # the margin at the sides; a page's head stays free
FOOT, GAP = 72, 8  # where the buttons of a page's foot lie, and the room below a message
UNDER = 24  # the most room below the buttons of a foot; buttons with more below them belong to the page
LARGE = 120  # u; a widget that has the focus and is higher is no control
REPORT = "report"  # the property of text at a foot that messages must not cover, like the buttons
MOVES = frozenset((QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.LayoutRequest))
MOST = 3  # lines at once; the oldest removable one makes room

_LOOKS = {
    "done": ("check-circle", "acc"),
    "copied": ("check-circle", "acc"),
    "why not": ("warning", "warn"),
    "failed": ("warning-circle", "err"),
    "unknown": ("question", "warn"),
    "note": ("warning", "warn"),
    "past": ("clock-counter-clockwise", "acc"),
    "hint": ("flask", "acc"),
}


def _is_copy(name: str) -> bool:
    # Such a message stays while its text is copied.
    before, _, after = tr("Copy {what}").partition("{what}")
    return name.startswith(before) and name.endswith(after)


class MessageLine(QFrame):
    """One message with its buttons."""

    gone = Signal(object)

    def __init__(self, kind: str, text: str, choices: Sequence[Choice], speaker: QWidget | None = None) -> None:
        super().__init__()
        self.kind, self.text = kind, text
        self.speaker = speaker  # the widget whose buttons these are
        self.about: Sequence[QWidget] = ()  # the widgets that it speaks of
        self.passing = False  # whether it is about a connection that may come back
        self._left = 0  # seconds in front until it goes
        boxes.ground(self, "message")
        icon, token = _LOOKS[kind]
        self._said, self._ways = boxes.row(x=0, y=0), boxes.row(x=0, y=0)
        self._said.addWidget(Glyph(icon, token))
        self._words = words(text, wrap=True)
        self._words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._said.addWidget(self._words, 1)
        self._ways.addStretch(1)
        self.buttons: list[QPushButton] = []
        for at, (name, call) in enumerate(choices):
            made = button(name, None, "small", *(() if at == 0 else ("quiet",)))
            made.clicked.connect(_Choice(self, call, closes=not _is_copy(name)).take)
            # Beside the text, not at the edge: else a second click on a Save button that moved up would undo the
            # save.
            self._ways.addWidget(made)
            self.buttons.append(made)
        self.close_button = tool("x", tr("Close this message"), self.leave, token="text3")
        self._ways.addWidget(self.close_button)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(theme.px(16), theme.px(5), theme.px(8), theme.px(5))
        self._row.setSpacing(theme.px(8))
        self._row.addLayout(self._said, 1)
        self._row.addLayout(self._ways)
        self.setAccessibleName(self._words.text())
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._time_is_up)
        if kind in ("done", "copied", "why not"):
            self._timer.start(SECONDS * 1000)

    def leave_after(self, seconds: int) -> None:
        """Close the message after so many seconds in which its window is in front."""
        self._left = seconds
        self._timer.start(STEP * 1000)

    def fit(self, width: int) -> None:
        """Put the buttons below the text if the line gets lower so, or if beside them the text is too narrow."""
        edges, ways = self._row.contentsMargins(), self._ways.sizeHint()
        room = width - edges.left() - edges.right()
        left = room - self._row.spacing() - ways.width()
        beside = max(self._said.heightForWidth(left), ways.height())
        below = self._said.heightForWidth(room) + self._row.spacing() + ways.height()
        goes_below = below < beside or left < min(theme.px(LEAST), room // 2)
        way = QBoxLayout.Direction.TopToBottom if goes_below else QBoxLayout.Direction.LeftToRight
        if way != self._row.direction():
            self._row.setDirection(way)

    def minimumSizeHint(self) -> QSize:
        """The height for the current width: the splitters around it do not ask for a height for a width."""
        least = super().minimumSizeHint()
        return least.expandedTo(QSize(0, self.heightForWidth(self.width())))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit(self.width())
        if event.oldSize().width() != self.width():
            QTimer.singleShot(0, self, self.updateGeometry)  # a layout that is being arranged takes no other size

    def leave(self) -> None:
        """Close the message."""
        self._timer.stop()
        self.gone.emit(self)

    def _time_is_up(self) -> None:
        area = self.parentWidget()
        if self._left > 0:
            self._left -= STEP if self.isActiveWindow() else 0
            self._timer.start(STEP * 1000)
        elif self.underMouse() or (isinstance(area, MessageArea) and area.in_use):
            self._timer.start(1000)
        else:
            self.leave()


class _Choice(QObject):
    # Its line owns it, so that nothing is called once the line is gone.
    def __init__(self, line: MessageLine, call: Callable[[], object], closes: bool) -> None:
        super().__init__(line)
        self._line, self._call, self._closes = line, call, closes

    def take(self) -> None:
        if self._closes:
            self._line.leave()
        self._call()


class MessageArea(QWidget):
    """A window's messages, newest on top; they lie over the foot of ``host`` and move nothing.

    ``within`` names the part of ``host`` that they cover. The buttons and the report of a page's foot stay free. If
    the mouse or the focus is there, or a main button, the messages lie at the top, the newest lowest; if some of these
    are there too, they lie between them. What a message speaks of stays free as well, if there is such a place.
    """

    left = Signal()  # a message was closed

    def __init__(self, host: QWidget, within: Callable[[], QWidget] | None = None) -> None:
        super().__init__(host)
        boxes.ground(self, "messages")
        self._host, self._within = host, within or (lambda: host)
        self._at_top = self._settling = False
        self._lift = 0  # the height of the foot that stays free
        self._back: QWidget | None = None  # the widget that had the focus before a message got it
        self._heard: QWidget | None = None  # the widget outside of the messages whose keys are heard
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(1, 1, 1, 1)
        self._column.setSpacing(0)
        self.lines: list[MessageLine] = []
        host.installEventFilter(self)
        focus_ring.keep_below(self)
        app = QGuiApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._focus_moved)
        self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind in MOVES and getattr(self, "lines", None):  # its attributes may be gone while its window closes
            if watched is self._host and kind == QEvent.Type.Resize:
                self._place()
            else:
                self.settle()  # a page that changes causes many events; beside it, the sidebar may fold
        elif watched is getattr(self, "_heard", None) and kind == QEvent.Type.KeyRelease and self.lines:
            self.settle()  # the chosen row, or the text's cursor, may be below a message now
        return False

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest and self.lines:
            self._place()
        return done

    def _box(self) -> QRect:
        """The place at the foot, or at the top."""
        within = self._within()
        room = QRect(within.mapTo(self._host, QPoint()), within.size())
        width = min(room.width() - 2 * theme.px(EDGE), theme.px(WIDTH))
        left = room.left() + (room.width() - width) // 2
        if self._pointed and self._host.rect().contains(self.geometry()):
            left, width = self.x(), self.width()  # buttons must not move from under the mouse
        for line in self.lines:
            line.fit(width - 2)
        height = 2 + sum(line.heightForWidth(width - 2) for line in self.lines)
        if not self._pointed:
            self._lift = self._foot(QRect(left, room.bottom() + 1 - theme.px(FOOT), width, theme.px(FOOT)))
        low = room.bottom() + 1 - self._lift - theme.px(GAP)
        return QRect(left, theme.px(FROM_TOP) if self._at_top else max(0, low - height), width, height)

    def _foot(self, strip: QRect) -> int:
        """How much of the foot is taken by the buttons in a strip, and by the report above them."""
        low = strip.bottom() - theme.px(UNDER)
        parts = list(_shown(self._within()))
        buttons = self._boxes(each for each in parts if isinstance(each, QAbstractButton))
        tops = [box.top() for box in buttons if box.intersects(strip) and box.bottom() >= low]
        top = max(min(tops), strip.top()) if tops else strip.bottom() + 1
        reports = (each for each in parts if isinstance(each, QLabel) and each.property(REPORT))
        tops = [box.top() for box in self._boxes(reports) if box.bottom() >= top - theme.px(FOOT)]
        return strip.bottom() + 1 - min([top, *tops])

    def _boxes(self, parts: Iterable[QWidget]) -> Iterator[QRect]:
        """The places of parts of the page."""
        for each in parts:
            if not self.isAncestorOf(each):
                yield QRect(each.mapTo(self._host, QPoint()), each.size())

    def settle(self) -> None:
        """Move to the place that another page leaves free, once that page is laid out."""
        if not self._settling:
            self._settling = True
            QTimer.singleShot(0, self, self._settle)

    def _settle(self) -> None:
        self._settling = False
        if self.lines:
            self._place()

    def _place(self) -> None:
        box = self._box()
        if self._pointed:
            if self._host.rect().contains(self.geometry()):  # as it was put between what is needed
                box.moveTop(self.y() if self._at_top else self.geometry().bottom() + 1 - box.height())
        else:
            box = self._free(box)
        lowest = self.lines[-1 if self._at_top else 0]
        for line in self.lines:
            if line.property("lowest") is not (line is lowest):
                line.setProperty("lowest", line is lowest)
                # Qt evaluates the style sheet's property selectors only while polishing.
                line.style().unpolish(line)
                line.style().polish(line)
        self.setGeometry(box)
        self.raise_()

    def _free(self, box: QRect) -> QRect:
        """The nearest place that covers nothing that is needed, and nothing that is spoken of if that can be.

        A message that leaves the foot for what it speaks of does not go over the buttons of a page.
        """
        needed, spoken_of = self._needed(), list(self._spoken_of())
        buttons = (each for each in _shown(self._within()) if isinstance(each, QAbstractButton) and spoken_of)
        for kept in ([*needed, *spoken_of, *self._boxes(buttons)], [*needed, *spoken_of], needed):
            if not _covers(box, kept):
                return box
            self._turn()
            other = self._box()
            if not _covers(other, kept):
                return other
            self._turn()
            box = _between(box, other, kept)
        return box

    def _spoken_of(self) -> Iterator[QRect]:
        """What messages speak of, as far as it is in sight."""
        return self._boxes(each for line in self.lines for each in line.about if isValid(each) and each.isVisible())

    def _needed(self) -> list[QRect]:
        """What may not be covered: where the mouse is, what has the focus, and the main buttons of the page."""
        made = [QRect(self._host.mapFromGlobal(QCursor.pos()), QSize(1, 1))]
        focus = self.window().focusWidget()
        if not self.isAncestorOf(focus or self) and (rect := _focused(focus, self._host)) is not None:
            made.append(rect)
        buttons = (each for each in _shown(self._within()) if isinstance(each, QAbstractButton) and each.isEnabled())
        return [*made, *self._boxes(each for each in buttons if each.property("main") or each.property("danger"))]

    def _turn(self) -> None:
        """Switch between top and foot; the newest line is always nearest to the middle."""
        self._at_top = not self._at_top
        for line in self.lines if self._at_top else self.lines[::-1]:
            self._column.removeWidget(line)
            self._column.addWidget(line)

    @Slot(QWidget, QWidget)
    def _focus_moved(self, old: QWidget | None, now: QWidget | None) -> None:
        if getattr(self, "lines", None) is None:  # its attributes may be gone while its window closes
            return
        self._hear_keys()
        if now is not None and self.isAncestorOf(now) and old is not None and not self.isAncestorOf(old):
            self._back = old
        elif now is not None and self.lines:
            self.settle()  # the focus may be below a message now

    def _hear_keys(self) -> None:
        """Follow what the focused widget's keys choose, while there are messages."""
        focus = self.window().focusWidget() if self.lines else None
        own = focus is None or focus in (self._host, self._within()) or self.isAncestorOf(focus)
        now = None if own else focus
        if now is not self._heard:
            if self._heard is not None and isValid(self._heard):
                self._heard.removeEventFilter(self)
            self._heard = now
            if now is not None:
                now.installEventFilter(self)

    @property
    def in_use(self) -> bool:
        """Whether the pointer or the focus is on a message, so that none may move."""
        return self._pointed or self.isAncestorOf(self.window().focusWidget() or self.window())

    @property
    def _pointed(self) -> bool:
        return self.isVisible() and self.rect().contains(self.mapFromGlobal(QCursor.pos()))

    def of(self, page: QWidget) -> list[MessageLine]:
        """The messages whose buttons belong to a widget, or to one inside it."""
        spoken = [(line, line.speaker) for line in self.lines if line.buttons and line.speaker is not None]
        return [line for line, by in spoken if isValid(by) and (by is page or page.isAncestorOf(by))]

    def add(
        self,
        kind: str,
        text: str,
        choices: Sequence[Choice] = (),
        speaker: QWidget | None = None,
        about: Sequence[QWidget] = (),
    ) -> MessageLine:
        """Show a message ``about`` some widgets; its buttons call methods of ``speaker``.

        While the pointer is on a message no other one is removed: those above it would move.
        """
        for old in [] if self._pointed else list(self.lines):
            if (old.kind, old.text) == (kind, text) or old.kind == kind == "copied":  # the clipboard holds one thing
                self.remove(old)
        while len(self.lines) >= MOST and not self._pointed:
            # Unknown outcomes are the last to make room.
            self.remove(next((line for line in self.lines if line.kind != "unknown"), self.lines[0]))
        self._within().installEventFilter(self)
        line = MessageLine(kind, text, choices, speaker)
        line.about = about
        for each in about:
            each.installEventFilter(self)
        line.gone.connect(self.remove)
        if kind == "failed":
            line.leave_after(FAILED_SECONDS)
        # A first message always appears at the foot.
        self._at_top = self._at_top and bool(self.lines)
        self.lines.append(line)
        self._column.insertWidget(len(self.lines) - 1 if self._at_top else 0, line)
        line.show()  # a layout shows it later, and until then the others take its room
        self._place()
        self.show()
        self._hear_keys()
        return line

    @Slot(object)
    def remove(self, line: MessageLine) -> None:
        """Close a message; focus inside it returns to the page."""
        if line not in self.lines:
            return
        self.lines.remove(line)
        if line.isAncestorOf(self.window().focusWidget() or self.window()):
            focus_keeper.give(self._back, self)
        self._column.removeWidget(line)
        line.hide()
        line.deleteLater()
        self.setVisible(bool(self.lines))
        if self.lines:
            self._place()
        else:
            self._hear_keys()
        self.left.emit()


def _covers(box: QRect, needed: Iterable[QRect]) -> bool:
    return any(box.intersects(each) for each in needed)


def _between(box: QRect, other: QRect, needed: Sequence[QRect]) -> QRect:
    """The place nearest to ``box``, from there to ``other``, that covers nothing of what is needed; else ``box``."""
    gap, ends = theme.px(GAP), sorted((box.top(), other.top()))
    tops = [top for each in needed for top in (each.top() - gap - box.height(), each.bottom() + 1 + gap)]
    for top in sorted(tops, key=lambda top: abs(top - box.top())):
        moved = QRect(QPoint(box.left(), top), box.size())
        if ends[0] <= top <= ends[1] and not _covers(moved, needed):
            return moved
    return box


def _focused(widget: QWidget | None, host: QWidget) -> QRect | None:
    """Where the focus is, as a part of ``host``: a list's row, a text's cursor, else the whole widget."""
    if widget is None or not widget.isVisible() or not host.isAncestorOf(widget):
        return None
    if isinstance(widget, QAbstractItemView):
        rect = widget.visualRect(widget.currentIndex()) if widget.currentIndex().isValid() else QRect()
        widget = widget.viewport()
        rect = rect & widget.rect()
    elif isinstance(widget, QPlainTextEdit):
        rect, widget = widget.cursorRect(), widget.viewport()
    else:
        rect = widget.rect()
        if rect.height() > theme.px(LARGE):
            return None  # a panel that takes keys
    return QRect(widget.mapTo(host, rect.topLeft()), rect.size()) if rect.isValid() else None


def _shown(part: QWidget) -> Iterator[QWidget]:
    """The visible widgets inside a part; pages behind the front one are skipped."""
    for each in part.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly):
        if each.isVisible():
            yield each
            yield from _shown(each)


def report(said: str = "") -> PlainLabel:
    """A line of text at a page's foot that no message covers, such as how many were written."""
    made = words(said, wrap=True)
    made.setProperty(REPORT, True)
    return made


def area(parent: QWidget) -> MessageArea:
    """The message area of a widget's window; a panel shown alone gets its own at its foot."""
    window = parent.window()
    found = window.findChild(MessageArea)
    if found is None:
        found = MessageArea(window)
    return found


def tell(
    parent: QWidget, text: str, undo: Callable[[], object] | None = None, choices: Sequence[Choice] = ()
) -> MessageLine:
    """Say what was done; ``undo`` takes the one write back. What the undo of typing is called must not be here."""
    back: list[Choice] = [(tr("Undo this write"), undo)] if undo is not None else []
    return area(parent).add("done", text, [*back, *choices], parent)


def tell_of_run(parent: QWidget, text: str, undo: Callable[[], object] | None = None) -> MessageLine:
    """Say what several writes did; ``undo`` takes all of them back."""
    return area(parent).add("done", text, run_choices(undo), parent)


def run_choices(undo: Callable[[], object] | None) -> list[Choice]:
    """The button that takes all writes of a run back; none without a way back."""
    return [(tr("Undo the whole run"), undo)] if undo is not None else []


def copied(parent: QWidget, text: str) -> MessageLine:
    """Say what was copied, in place of the message before."""
    return area(parent).add("copied", text)


def why_not(parent: QWidget, text: str) -> MessageLine:
    """Say why a request cannot be met now; the message disappears by itself."""
    return area(parent).add("why not", text)


def note(parent: QWidget, text: str, choices: Sequence[Choice] = ()) -> MessageLine:
    """Tell something that a person can act on; the message stays until it is closed."""
    return area(parent).add("note", text, choices, parent)


def hint(parent: QWidget, text: str, choices: Sequence[Choice] = (), about: Sequence[QWidget] = ()) -> MessageLine:
    """Suggest something to try, with some widgets; the message stays until it is closed."""
    return area(parent).add("hint", text, choices, parent, about)


def fail(parent: QWidget, error: BaseException | str, choices: Sequence[Choice] = ()) -> MessageLine:
    """Say what failed; a bug's traceback can be copied."""
    if isinstance(error, str):
        return area(parent).add("failed", error, choices, parent)
    sentence, details = tasks.describe(error)
    copy: Choice = (tr("Copy details"), lambda: QGuiApplication.clipboard().setText(details))
    line = area(parent).add("failed", sentence, [*choices, copy], parent)
    line.passing = isinstance(error, Unreachable)
    return line


def doubt(
    parent: QWidget, text: str, check: Callable[[], object], token: str = "", error: BaseException | None = None
) -> MessageLine:
    """Say that it is not known whether a write arrived; ``check`` looks again. Never called a failure.

    ``error`` is what looking again met: a server's silence is told in the same message, anything else in one of its
    own.
    """
    if isinstance(error, Unreachable):
        text = f"{text} {tasks.describe(error)[0]}"
    elif error is not None:
        fail(parent, error)
    choices: list[Choice] = [(tr("Check again"), check)]
    if token:
        choices.append((tr("Copy the write token"), lambda: QGuiApplication.clipboard().setText(token)))
    return area(parent).add("unknown", text, choices, parent)


class Question(Sheet):
    """Asks before an action that cannot simply be undone: the verb on the button, Cancel beside it."""

    agreed = Signal()

    def __init__(
        self, parent: QWidget, title: str, text: str, verb: str, danger: bool, typed: str | None, more: QWidget | None,
        icon: str = "",
    ) -> None:  # fmt: skip
        super().__init__(parent, 520)
        self._typed = typed
        self._danger = danger
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        column.setSpacing(theme.px(8))
        self.title, self.text = title, text
        column.addWidget(words(title, "title", wrap=True))
        column.addWidget(words(text, wrap=True))
        if more is not None:
            column.addSpacing(theme.px(4))
            column.addWidget(more, 1)
        self.field: QLineEdit | None = None
        if typed is not None:
            column.addSpacing(theme.px(8))
            ask = PlainLabel(tr("Type {typed} to go on", typed=typed))
            self.field = QLineEdit()
            self.field.setAccessibleName(ask.text())
            ask.setBuddy(self.field)
            column.addWidget(ask)
            column.addWidget(self.field)
            self.field.textChanged.connect(self._typing)
            self.field.returnPressed.connect(self._typed_all)
        column.addSpacing(theme.px(16))
        row = QHBoxLayout()
        row.setSpacing(theme.px(8))
        row.addStretch(1)
        self.cancel = button(tr("Cancel"), self.reject)
        self.verb = button(verb, None, "danger" if danger else "main", icon=icon, token="surface")
        self.verb.clicked.connect(self._yes)
        row.addWidget(self.cancel)
        row.addWidget(self.verb)
        column.addLayout(row)
        self.verb.setEnabled(typed is None)
        self.setAccessibleName(title)
        self.setAccessibleDescription(text)

    def first(self) -> QWidget | None:
        return self.field or (self.cancel if self._danger else self.verb)

    def _typing(self, text: str) -> None:
        self.verb.setEnabled(text.strip() == self._typed)

    def _typed_all(self) -> None:
        if self.verb.isEnabled():
            self._yes()

    def _yes(self) -> None:
        self.accept()
        self.agreed.emit()


def confirm(
    parent: QWidget,
    title: str,
    text: str,
    verb: str,
    agreed: Callable[[], object],
    *,
    danger: bool = False,
    typed: str | None = None,
    more: QWidget | None = None,
    icon: str = "",
) -> Question:
    """Ask; ``agreed`` is called on yes, nothing on no. ``typed``: words that must be typed first. Returns at once."""
    made = Question(parent, title, text, verb, danger, typed, more, icon)
    made.agreed.connect(agreed)
    made.open()
    return made
