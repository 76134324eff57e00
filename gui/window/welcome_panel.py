"""The first page: recent connections and a line to connect, and five things to try in the sample."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QKeySequence, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QFrame,
    QHBoxLayout,
    QMenu,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from gui import tasks
from gui.language import tr, translated
from gui.style import boxes, icons, symbols, theme, wording
from gui.style.logo import Logo
from gui.style.scrolling import FromTop
from gui.style.states import BusyLine, button, hair, words
from gui.window.address_field import AddressField
from gui.window.opening import Opening, trouble_with
from gui.window.things_box import ICONS
from model import text
from model.things_to_try import THINGS, Thing
from model.userdata.connections import SavedConnection, without_password
from resources import manual

RECENT = 5
COMMANDS = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
TOPICS = (
    ("start", "play", tr("A first tour, in five minutes")),
    ("sources", "folder-open", tr("Servers, dumps, and files of BSON or JSON")),
    ("layouts", "rows", tr("Where versions are kept, and how that is recognised")),
)


class WelcomeLine(QAbstractButton):
    """A line of a card: icon, two lines of text, a remark at the right, and perhaps a chevron."""

    def __init__(self, icon: str, token: str, title: str, below: str, remark: str, mono: bool, chevron: bool) -> None:
        super().__init__()
        title, below, remark = map(text.plain, (title, below, remark))
        self._icon, self._token, self._below, self._remark = icon, token, below, remark
        self._mono, self._chevron = mono, chevron
        self.badge: tuple[str, str, str, str] | None = None
        self.setText(title)
        self.setAccessibleName(f"{title}. {below}")
        self.setAccessibleDescription(remark)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.signals.changed.connect(self.update)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        return QSize(theme.px(340), theme.px(64))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.underMouse() or self.isDown():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour("hover"))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), theme.px(7), theme.px(7))
        middle = self.height() / 2
        side = theme.px(18)
        icons.paint(painter, QRectF(theme.px(17), middle - side / 2, side, side), self._icon, self._token)
        right = self.width() - theme.px(16)
        if self._chevron:
            arrow = theme.px(14)
            icons.paint(painter, QRectF(right - arrow, middle - arrow / 2, arrow, arrow), "caret-right", "text3")
            right -= theme.px(28)
        painter.setFont(theme.font(12))
        painter.setPen(theme.colour("text2"))
        wide = QFontMetricsF(painter.font()).horizontalAdvance(self._remark)
        flags = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        painter.drawText(QRectF(right - wide, 0, wide + 2, self.height()), flags, self._remark)
        left = theme.px(50)
        room = right - wide - theme.px(12) - left
        self._words(painter, left, room, middle, flags)

    def _words(self, painter: QPainter, left: float, room: float, middle: float, flags: int) -> None:
        painter.setFont(theme.font(13, 500))
        painter.setPen(theme.colour("text"))
        metrics = QFontMetricsF(painter.font())
        more = 0.0 if self.badge is None else symbols.badge_width(self.badge[0], self.badge[3]) + theme.px(10)
        title = metrics.elidedText(self.text(), Qt.TextElideMode.ElideRight, room - more)
        upper = QRectF(left, middle - theme.px(19), room, theme.px(20))
        painter.drawText(upper, flags, title)
        if self.badge is not None:
            said, ink, ground, symbol = self.badge
            symbols.badge(
                painter,
                left + metrics.horizontalAdvance(title) + theme.px(10),
                upper.center().y(),
                said,
                ink,
                ground,
                symbol,
            )
        painter.setFont(theme.mono(12) if self._mono else theme.font(12))
        painter.setPen(theme.colour("text2"))
        below = QFontMetricsF(painter.font()).elidedText(
            self._below, Qt.TextElideMode.ElideMiddle if self._mono else Qt.TextElideMode.ElideRight, room
        )
        self.setToolTip(wording.tip("" if below == self._below else self._below))
        painter.drawText(QRectF(left, middle, room, theme.px(20)), flags, below)


class WelcomePanel(QWidget):
    """Shown while no connection is open, and on request; Esc returns to what is open."""

    open_asked = Signal(object)  # Opening
    stop_asked = Signal(object)  # Opening
    sample_asked = Signal()
    thing_asked = Signal(object)  # Thing
    dialog_asked = Signal(object)  # Opening
    folder_asked = Signal(bool)  # into memory
    file_asked = Signal(bool)
    topic_asked = Signal(str)  # a page of the manual
    left = Signal()  # back to what is open

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        boxes.ground(self, "page")
        self._opening: Opening | None = None
        self.recent: list[WelcomeLine] = []
        self.things: list[WelcomeLine] = []
        area = FromTop(self)
        area.setObjectName("page")
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        upright = QWidget()
        upright.setObjectName("page")
        area.setWidget(upright)
        page = QWidget(upright)
        page.setObjectName("page")
        inner = QWidget(page)
        inner.setObjectName("page")
        inner.setMaximumWidth(theme.px(1120))
        column = boxes.column(inner)
        column.addLayout(self._head())
        column.addSpacing(theme.px(38))
        columns = boxes.wrapping(x=0, y=0, gap=48)
        columns.addLayout(self._left(), 1)
        columns.addLayout(self._right(), 1)
        column.addLayout(columns)
        centred = QHBoxLayout(page)
        centred.setContentsMargins(theme.px(32), theme.px(24), theme.px(32), theme.px(24))
        centred.addStretch(1)
        centred.addWidget(inner, 1000)
        centred.addStretch(1)
        whole = QVBoxLayout(upright)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addStretch(20)
        whole.addWidget(page)
        whole.addStretch(32)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(area)
        self._area = area  # its Python half: without it, Qt's half may be collected once the focus is moved inside it
        self.setFocusProxy(self.first)
        self._typed("")

    # --- parts

    def _head(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(theme.px(20))
        row.addWidget(Logo())
        said = QVBoxLayout()
        said.setSpacing(theme.px(2))
        said.addStretch(1)
        said.addWidget(words("Palimpsest", "big"))
        said.addWidget(words(tr("Read, compare and mend every version of a MongoDB document."), "body2", wrap=True))
        said.addStretch(1)
        row.addLayout(said, 1)
        self.back = button("", self.left.emit)
        self.back.setToolTip(tr("Back to the tabs (Esc)"))
        self.back.hide()
        row.addWidget(self.back)
        return row

    def _left(self) -> QVBoxLayout:
        column = QVBoxLayout()
        column.setSpacing(0)
        self._recent_head = words(tr("Recent connections"), "head")
        column.addWidget(self._recent_head)
        self._recent_gap = QWidget()
        self._recent_gap.setFixedHeight(theme.px(12))
        column.addWidget(self._recent_gap)
        self._recent_card, self._recent_lines = _card()
        column.addWidget(self._recent_card)
        self._connect_gap = QWidget()
        self._connect_gap.setFixedHeight(theme.px(21))
        column.addWidget(self._connect_gap)
        column.addWidget(words(tr("Connect"), "head"))
        column.addSpacing(theme.px(12))
        row = QHBoxLayout()
        row.setSpacing(theme.px(8))
        self.uri = AddressField(tr("Address of a server"))
        self.uri.setPlaceholderText(tr("mongodb://  or  mongodb+srv://"))
        self.uri.textChanged.connect(self._typed)
        self.uri.returnPressed.connect(self._connect)
        self.connect_button = button(tr("Connect"), self._connect)
        row.addWidget(self.uri, 1)
        row.addWidget(self.connect_button)
        column.addLayout(row)
        self.trouble = words("", "error", wrap=True)
        self.trouble.setContentsMargins(0, theme.px(6), 0, 0)
        self.trouble.hide()
        self.busy = BusyLine()
        self.busy.hide()
        said = QWidget()
        said.setMinimumHeight(self.busy.sizeHint().height())  # messages come and go without moving the buttons
        lines = boxes.column(said)
        lines.addWidget(self.trouble)
        lines.addWidget(self.busy)
        lines.addStretch(1)
        column.addWidget(said)
        column.addSpacing(theme.px(4))
        below = boxes.wrapping(x=0, y=0)
        self.dump = button(tr("Open a dump or file…"), self._dump_menu, icon="folder-open")
        self.more = button(tr("TLS, user, read-only…"), self._dialog, "quiet", icon="sliders-horizontal")
        below.addWidget(self.dump)
        below.addStretch(1)
        below.addWidget(self.more)
        column.addLayout(below)
        column.addWidget(self._first_read())
        column.addStretch(1)
        return column

    def _first_read(self) -> QWidget:
        """Pages of the manual for people who have not opened anything yet."""
        self.read = QWidget()
        column = boxes.column(self.read)
        column.addSpacing(theme.px(24))
        column.addWidget(words(tr("In the manual"), "head"))
        column.addSpacing(theme.px(12))
        card, lines = _card()
        titles = {topic.name: topic.title for topic in manual.topics()}
        for name, icon, below in TOPICS:
            line = WelcomeLine(icon, "text2", titles[name], below, "", False, True)
            line.clicked.connect(partial(self.topic_asked.emit, name))
            if lines.count():
                lines.addWidget(hair())
            lines.addWidget(line)
        column.addWidget(card)
        return self.read

    def _right(self) -> QVBoxLayout:
        column = QVBoxLayout()
        column.setSpacing(0)
        head = boxes.wrapping(x=0, y=0)
        head.addWidget(words(tr("Five things to try"), "head"))
        head.addStretch(1)
        head.addWidget(words(tr("all in the sample, nothing to install"), "second"))
        column.addLayout(head)
        column.addSpacing(theme.px(12))
        card, lines = _card()
        for thing in THINGS:
            line = WelcomeLine(
                ICONS[thing.action],
                "acc",
                translated(thing.title),
                translated(thing.subtitle),
                wording.keys(thing.key),
                False,
                False,
            )
            line.clicked.connect(partial(self._thing, thing))
            self.things.append(line)
            if lines.count():
                lines.addWidget(hair())
            lines.addWidget(line)
        column.addWidget(card)
        column.addSpacing(theme.px(16))
        row = boxes.wrapping(x=0, y=0)
        row.setContentsMargins(theme.px(4), 0, 0, theme.px(4))  # room for its focus ring
        self.sample = button(tr("Open the sample"), self.sample_asked.emit, "main", icon="flask", token="accText")
        row.addWidget(self.sample)
        row.addStretch(1)
        row.addWidget(words(tr("In memory; closed with the window"), "second"))
        column.addLayout(row)
        column.addStretch(1)
        return column

    def set_open(self, name: str) -> None:
        """Offer to go back to the connection with that name; "" if none is open."""
        self.back.setText(tr("Back to {name}", name=name))
        self.back.setVisible(bool(name))

    @property
    def first(self) -> QAbstractButton:
        """What Enter opens as the page appears: the connection used last, else the sample."""
        return self.recent[0] if self.recent else self.sample

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc leads back; what is typed is an address, wherever the focus is."""
        if event.key() == Qt.Key.Key_Escape and not self.back.isHidden():
            self.left.emit()
        elif _is_text(event) and not self.uri.hasFocus():
            self.uri.setFocus()
            self.uri.end(False)
            QApplication.sendEvent(self.uri, event)
        else:
            super().keyPressEvent(event)

    # --- recent connections

    def set_recent(self, saved: Sequence[SavedConnection]) -> None:
        """Show the recent connections; without any, the left begins with Connect."""
        had_focus = self.first.hasFocus()
        while (item := self._recent_lines.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self.recent = []
        for connection in saved[:RECENT]:
            server = "://" in connection.uri
            line = WelcomeLine("hard-drives" if server else "folder", "text2", connection.name, connection.uri,
                        wording.recently(connection.last_used), True, True)  # fmt: skip
            if connection.read_only:
                line.badge = (tr("read-only"), "warn", "warnT", "lock-simple")
            elif not server:
                line.badge = (tr("file"), "typ", "typT", "")
            line.clicked.connect(partial(self._reopen, connection))
            if self.recent:
                self._recent_lines.addWidget(hair())
            self._recent_lines.addWidget(line)
            self.recent.append(line)
        for part in (self._recent_head, self._recent_gap, self._recent_card, self._connect_gap):
            part.setVisible(bool(self.recent))
        self.read.setVisible(not self.recent)
        self.setFocusProxy(self.first)
        if had_focus:
            self.first.show()  # a layout shows it later, and what is hidden gets no focus
            self.first.setFocus()

    def _reopen(self, connection: SavedConnection) -> None:
        self.open_asked.emit(Opening.of(connection))

    def _thing(self, thing: Thing) -> None:
        self.thing_asked.emit(thing)

    # --- connecting

    def _typed(self, text: str) -> None:
        self.trouble.hide()
        self.connect_button.setEnabled(bool(text.strip()) and self.busy.isHidden())

    def _connect(self) -> None:
        self.uri.cover()
        if trouble := trouble_with(self.uri.source):
            self._say(trouble)
            return
        self.open_asked.emit(Opening(self.uri.source))

    def _say(self, sentence: str) -> None:
        self.trouble.setText(sentence)
        self.trouble.show()

    def begin(self, opening: Opening, title: str) -> None:
        """Show that a connection is being opened."""
        self._opening = opening
        self.trouble.hide()
        self.busy.begin(title, self._stop)
        self.busy.show()
        self.connect_button.setEnabled(False)

    def end(self) -> None:
        """Show that the opening ended; the typed address stays."""
        self.busy.hide()
        self._typed(self.uri.text())

    def fail(self, opening: Opening, error: BaseException) -> None:
        """Say why a source could not be opened."""
        self.end()
        if not self.uri.text() and not opening.name:
            self.uri.put(opening.source)  # from the command line: to be corrected here
        self._say(tasks.describe(error)[0])
        if opening.shown == without_password(self.uri.source):
            self.uri.setFocus()

    def clear(self) -> None:
        """Forget the typed address once it worked: it may contain a password."""
        self.uri.put("")

    def _stop(self) -> None:
        if self._opening is not None:
            self.stop_asked.emit(self._opening)

    def _dialog(self) -> None:
        self.dialog_asked.emit(Opening(self.uri.source))

    def _dump_menu(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("A dump's folder…"), partial(self.folder_asked.emit, False))
        menu.addAction(tr("A file of BSON or Extended JSON…"), partial(self.file_asked.emit, False))
        menu.addSeparator()
        menu.addAction(tr("A dump's folder, into memory to try edits…"), partial(self.folder_asked.emit, True))
        menu.addAction(tr("A file, into memory to try edits…"), partial(self.file_asked.emit, True))
        menu.popup(self.dump.mapToGlobal(self.dump.rect().bottomLeft()))


def _is_text(event: QKeyEvent) -> bool:
    """Whether a key is a character of an address, or pastes one."""
    if event.matches(QKeySequence.StandardKey.Paste):
        return True
    return event.text().isprintable() and bool(event.text().strip()) and not event.modifiers() & COMMANDS


def _card() -> tuple[QFrame, QVBoxLayout]:
    card = QFrame()
    card.setProperty("card", True)
    lines = QVBoxLayout(card)
    lines.setContentsMargins(1, 1, 1, 1)
    lines.setSpacing(0)
    return card, lines
