"""The first row of the window: the menus, then the current connection, whether it may write, and three tools."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QHBoxLayout, QMenu, QMenuBar, QSizePolicy, QWidget

from gui.language import tr, translated
from gui.style import boxes, focus_keeper, icons, symbols, theme, wording
from gui.style.states import button, tool, words

if TYPE_CHECKING:
    from model.session import Session

MEMORY = tr("Open into memory")
ROOM = 900  # a narrower bar shows only the icon
HEIGHT = 40
DIVIDER = " · "  # between the facts of a server
TOOLS, DOT = 110, 24  # u of the three tools, and of the dot before the name, with the room around them


class _Dot(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.answers = True
        self.setFixedSize(theme.px(8), theme.px(8))
        theme.signals.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.answers:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour("acc"))
            painter.drawEllipse(QRectF(self.rect()))
            return
        painter.setPen(QPen(theme.colour("warn"), 1.5))  # a ring: its shape tells it as well
        painter.drawEllipse(QRectF(self.rect()).adjusted(1, 1, -1, -1))


class WriteBadge(QAbstractButton):
    """``Writes allowed`` or ``read-only``; a click changes it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.read_only = False
        self.is_short = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setProperty(focus_keeper.SWITCH, True)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        theme.signals.changed.connect(self.update)
        self._put: tuple[bool, bool, str] | None = None
        self.put(False, True)

    def put(self, read_only: bool, settable: bool, barred: str = "") -> None:
        """Show whether writes are allowed, whether that can be changed here, and why this user may not write."""
        if self._put == (read_only, settable, barred):
            return
        self._put = read_only, settable, barred
        self.read_only = read_only
        self.setText(tr("read-only") if read_only else tr("Writes allowed"))
        self.setEnabled(settable)
        does = tr("Press to allow writes") if read_only else tr("Press to make this connection read-only")
        fixed = translated(barred) or tr("A dump is opened read-only; open it into memory to try edits")
        said = does if settable else fixed
        self.setToolTip(wording.tip(said))
        self.setAccessibleName(f"{self.text()}. {said}")
        self.updateGeometry()
        self.update()

    def shorten(self, is_short: bool) -> None:
        """Show only the symbol, or the text as well."""
        if is_short != self.is_short:
            self.is_short = is_short
            self.updateGeometry()
            self.update()

    def _look(self) -> tuple[str, str, str]:
        return ("warn", "warnT", "lock-simple") if self.read_only else ("typ", "typT", "pencil-simple-line")

    def sizeHint(self) -> QSize:
        return QSize(self.width_with("" if self.is_short else self.text()), theme.px(20))

    def width_with(self, said: str) -> int:
        """Its width with this text."""
        return round(symbols.badge_width(said, self._look()[2])) + 1

    def paintEvent(self, event: QPaintEvent) -> None:
        ink, ground, icon = self._look()
        if ground == "typT" and self.underMouse() and self.isEnabled():
            ground = "border"
        said = "" if self.is_short else self.text()
        symbols.badge(QPainter(self), 0, self.height() / 2, said, ink, ground, icon)


class TitleBar(QWidget):
    """The bar of menus and tools at the top."""

    writes_asked = Signal()
    memory_asked = Signal(object)  # a session over a dump
    palette_asked = Signal()
    tasks_asked = Signal()
    theme_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        boxes.ground(self, "titlebar")
        self.menus = QMenuBar()
        self.menus.setNativeMenuBar(False)
        self._widths: list[int] = []  # in pixels, with no menu shown, with one, with two …
        self._names = QMenu(self)  # the menus that are not in the row
        self.more = tool("dots-three", tr("More menus"), self._open_rest, 28)
        self.more.hide()
        self._dot = _Dot()
        self._name = words("", "strong")
        self._facts = words("", "second")
        self.badge = WriteBadge()
        self.badge.clicked.connect(self.writes_asked)
        self.memory = button(MEMORY, self._ask_memory, "small", "quiet", icon="flask")
        self.memory.setAccessibleName(MEMORY)
        self.memory.setToolTip(tr("Try edits there; they are thrown away with the window, and the dump stays as it is"))
        self.search = tool("magnifying-glass", tr("Find a command or collection (Ctrl+K)"), self.palette_asked.emit, 28)
        self.tasks = tool("list-bullets", tr("Tasks"), self.tasks_asked.emit, 28)
        self.theme = tool("moon", tr("Dark colours"), self.theme_asked.emit, 28)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, theme.px(8), 1)
        row.setSpacing(theme.px(8))
        row.addWidget(self.menus)
        row.addWidget(self.more)
        row.addStretch(1)
        for part in (self._dot, self._name, self._facts, self.badge, self.memory):
            row.addWidget(part)
        row.addSpacing(theme.px(6))
        tools = QHBoxLayout()
        tools.setSpacing(theme.px(4))
        for one in (self.search, self.tasks, self.theme):
            tools.addWidget(one)
        row.addLayout(tools)
        self._session: Session | None = None
        self._rescale()
        self._restyle()
        theme.signals.scaled.connect(self._rescale)
        theme.signals.changed.connect(self._restyle)
        self.show_session(None, False)

    def _rescale(self) -> None:
        self.setFixedHeight(theme.px(HEIGHT))
        self.fit_menus()

    def _restyle(self) -> None:
        self.theme.setIcon(icons.icon("sun" if theme.is_dark() else "moon"))
        said = tr("Light colours") if theme.is_dark() else tr("Dark colours")
        self.theme.setToolTip(wording.tip(said))
        self.theme.setAccessibleName(said)

    def fit_menus(self) -> None:
        """Measure the menus, once they are filled."""
        self._widths = []
        for many in range(len(self.menus.actions()) + 1):
            self._show_menus(many)
            self._widths.append(self.menus.sizeHint().width())
        self._fit()

    def _show_menus(self, many: int) -> None:
        """Show the first ``many`` menus in the row; a menu after them contains the others."""
        for at, action in enumerate(self.menus.actions()):
            action.setVisible(at < many)
        self.more.setVisible(many < len(self.menus.actions()))

    def rest(self) -> list[QMenu]:
        """The menus that do not fit into the row."""
        hidden = (action.menu() for action in self.menus.actions() if not action.isVisible())
        return [menu for menu in hidden if isinstance(menu, QMenu)]

    def _open_rest(self) -> None:
        at = self.more.mapToGlobal(QPoint(0, self.more.height()))
        self._names.clear()
        for menu in self.rest():
            self._names.addAction(menu.title()).triggered.connect(partial(self._open_menu, menu, at))
        self._names.popup(at)

    def _open_menu(self, menu: QMenu, at: QPoint) -> None:
        menu.popup(at)

    def show_session(self, session: Session | None, settable: bool, answers: bool = True) -> None:
        """Show the current connection, whether it answers, and its server's facts."""
        if answers != self._dot.answers:
            self._dot.answers = answers
            self._dot.update()
        self._session = session
        self.badge.setVisible(session is not None)
        dump = session is not None and session.is_local and not session.is_sample and session.trust.read_only
        self.memory.setVisible(dump)
        if session is None:
            self._fit()
            return
        facts = session.facts
        self._name.setText(session.name)
        if session.is_local:
            said = [tr("in memory") if session.is_sample or not session.trust.read_only else tr("a dump")]
        else:
            said = [facts.called, short_version(facts.program)]
        said.append(f"{facts.milliseconds} ms" if answers else tr("not connected"))
        self._all_facts = DIVIDER.join(part for part in said if part)
        self._facts.setText(self._all_facts)
        self._facts.setToolTip(
            wording.tip(f"{session.source}\n{', '.join(filter(None, (facts.program, facts.called)))}")
        )
        self.badge.put(session.trust.read_only, settable, session.trust.barred)
        self._fit()

    def _ask_memory(self) -> None:
        if self._session is not None:
            self.memory_asked.emit(self._session)

    def _fit(self) -> None:
        # First the facts give way, then the name, then the badge's text; the last menus go into a menu.
        if not self._widths:
            return
        session, menus = self._session, self._widths[-1]
        wide, others = 0, menus + theme.px(TOOLS)
        if session is not None:
            if not self.memory.isHidden():
                self.memory.setText(MEMORY if self.width() >= theme.px(ROOM) else "")
                others += self.memory.sizeHint().width() + theme.px(8)
            words_fit = self.width() >= others + self.badge.width_with(self.badge.text()) + theme.px(8)
            self.badge.shorten(not words_fit)
            others += self.badge.sizeHint().width() + theme.px(8)
            metrics = QFontMetrics(theme.font(12, 600))
            room = self.width() - others - theme.px(DOT)
            wide = min(metrics.horizontalAdvance(session.name) + theme.px(2), room)
            self._name.setText(metrics.elidedText(session.name, Qt.TextElideMode.ElideMiddle, max(0, wide)))
            self._name.setToolTip(wording.tip("" if self._name.text() == session.name else session.name))
            metrics, room = QFontMetrics(self._facts.font()), room - wide - theme.px(16)
            self._facts.setText(self._fitting(metrics, room))
        for part in (self._dot, self._name, self._facts):
            part.setVisible(wide >= theme.px(24))
        room = self.width() - others + menus
        if room < menus:
            room -= self.more.width() + theme.px(8)
        many = max((at for at, width in enumerate(self._widths) if width <= room), default=0)
        if many != sum(action.isVisible() for action in self.menus.actions()):
            self._show_menus(many)
        self.menus.setFixedWidth(self._widths[many])

    def _fitting(self, metrics: QFontMetrics, room: int) -> str:
        """As many facts as fit, each whole; for a lost connection, that it is lost is kept longest."""
        facts = self._all_facts.split(DIVIDER)
        while facts and metrics.horizontalAdvance(DIVIDER.join(facts)) > room:
            del facts[-1 if self._dot.answers else 0]
        return DIVIDER.join(facts)

    def resizeEvent(self, event: object) -> None:
        self._fit()


def short_version(program: str) -> str:
    """``MongoDB 7.0`` of ``MongoDB 7.0.14``."""
    return ".".join(program.split(".")[:2])
