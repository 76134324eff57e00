"""Watches a connection: a silent server is a state of the window, never an error box.

A :class:`ConnectionWatch` asks a server now and then; if it does not answer, it asks again by itself, after longer
and longer pauses. The :class:`LostLine` above the tabs says so, and how old the shown documents are.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QWidget

from gui import tasks
from gui.language import tr
from gui.style import boxes, theme, wording
from gui.style.states import Glyph, button, words

if TYPE_CHECKING:
    from model.foundation.records import ServerFacts
    from model.session import Session

EVERY = 10_000  # milliseconds between two requests to a server that answers
PAUSES = (1, 2, 4, 8, 15)  # seconds before each further try; then always the last one
SECOND = 1000  # milliseconds, for the countdown
ONE_LINE = 720  # from this width on, text and buttons are side by side


class ConnectionWatch(QObject):
    """Watches one connection; lives as long as it is open."""

    changed = Signal(object)  # Session: lost, found again, or another second has passed
    found = Signal(object)  # Session: it answers again

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.seen = dt.datetime.now(dt.UTC)
        """When the server last answered."""
        self.lost: dt.datetime | None = None
        """Since when it has not answered; None while it does."""
        self.reason = ""
        self.left = 0
        """Seconds until the next try; 0 during a try."""
        self._tries = 0
        self._asking = False
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._tick)
        self._timer.start(EVERY)
        tasks.tasks.unreachable.connect(self._look)

    def ask(self) -> None:
        """Ask the server now, unless that is already happening."""
        if self._asking:
            return
        self._asking = True
        self.left = 0
        session = self.session
        tasks.run(lambda _: session.refresh_facts(), done=self._answered, failed=self._silent, owner=self)
        if self.lost is not None:
            self.changed.emit(session)

    def _look(self) -> None:
        """Ask because some server did not answer; one that is known to be lost is asked in its own time.

        Else two that are lost would ask each other's servers without a pause.
        """
        if self.lost is None:
            self.ask()

    def _tick(self) -> None:
        if self.lost is None:
            self.ask()
        elif self.left > 1:
            self.left -= 1
            self.changed.emit(self.session)
        elif not self._asking:
            self.ask()

    def _answered(self, facts: ServerFacts) -> None:
        self._asking = False
        self.seen = dt.datetime.now(dt.UTC)
        was, self.lost = self.lost, None
        self._tries = 0
        if was is not None:
            self._timer.start(EVERY)
            self.changed.emit(self.session)
            self.found.emit(self.session)

    def _silent(self, error: BaseException) -> None:
        self._asking = False
        self.reason = tasks.describe(error)[0]
        if self.lost is None:
            self.lost = dt.datetime.now(dt.UTC)
            self._timer.start(SECOND)
        self.left = PAUSES[min(self._tries, len(PAUSES) - 1)]
        self._tries += 1
        self.changed.emit(self.session)


class LostLine(QFrame):
    """The line above the tabs while the current connection does not answer."""

    disconnect_asked = Signal(object)  # Session

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        boxes.ground(self, "lostline")
        self._watch: ConnectionWatch | None = None
        self._text = words("", wrap=True)
        self._next = words("", "second")
        self.now = button(tr("Try now"), self._try, "small")
        self.leave = button(tr("Disconnect"), self._leave, "small", "quiet")
        said, ways = QHBoxLayout(), QHBoxLayout()
        said.addWidget(Glyph("plugs", "warn"))
        said.addWidget(self._text, 1)
        ways.addStretch(1)
        for part in (self._next, self.now, self.leave):
            ways.addWidget(part)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(theme.px(16), theme.px(5), theme.px(8), theme.px(5))
        self._row.addLayout(said, 1)
        self._row.addLayout(ways)
        for each in (self._row, said, ways):
            each.setSpacing(theme.px(8))
        self.hide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        low = self.width() < theme.px(ONE_LINE)
        self._row.setDirection(QBoxLayout.Direction.TopToBottom if low else QBoxLayout.Direction.LeftToRight)

    @property
    def text(self) -> str:
        """The words of the line."""
        return self._text.text()

    def put(self, watch: ConnectionWatch | None) -> None:
        """Say that the current connection is lost; hide if it answers."""
        self._watch = watch
        if watch is None or watch.lost is None:
            self.hide()
            return
        said = tr(
            "{name} is not connected: its server does not answer. What is shown is as of {seen}; edits "
            "are kept as drafts.",
            name=wording.source(watch.session.name, first=True),
            seen=wording.moment(watch.seen),
        )
        self._text.setToolTip(wording.tip(watch.reason))
        if said != self._text.text():
            self._text.setText(said)
            self.setAccessibleName(said)
        self._next.setText(tr("Trying again in {left} s", left=watch.left) if watch.left else tr("Trying again…"))
        self.now.setEnabled(watch.left > 0)
        self.show()

    def _try(self) -> None:
        if self._watch is not None:
            self._watch.ask()

    def _leave(self) -> None:
        if self._watch is not None:
            self.disconnect_asked.emit(self._watch.session)
