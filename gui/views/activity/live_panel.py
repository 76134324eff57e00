"""New versions as they come, newest first. Nothing is read while it is paused, or while nobody can see it."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections import deque
from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QMenu, QWidget

from gui import tasks
from gui.language import tr, translated
from gui.parts.notices import Notices
from gui.style import boxes, preferences, states, theme, wording
from gui.style.states import OneLine, StateStack, button, words
from gui.views.activity.activity_words import MODES
from gui.views.activity.change_menu import ChangeMenu
from gui.views.activity.live_model import KEPT, LiveModel
from gui.views.activity.live_view import LiveView
from model.errors import Refused, Unreachable
from model.session import Session
from model.session.through_time import Activity, Tail, TailBatch

OFTEN = 100  # milliseconds between an answer and the next request: rows are inserted at most ten times a second
TRIES = (1, 2, 5, 10, 30)  # seconds between attempts to reach a server
PACE = 4.0  # seconds over which the rate of versions is measured
LAGS = 2.0  # seconds behind the writers that are mentioned


class LivePanel(QWidget):
    """The new versions of a collection, of a database, or of a whole connection.

    It reads without a :class:`.Reading`: it asks again and again by itself, also after a failure, and what it has under
    way must release its stream.
    """

    open_asked = Signal(object)  # Activity: the version in its timeline
    document_asked = Signal(object)  # Activity: its document
    activity_asked = Signal(object)  # Activity: all changes of its document
    past_asked = Signal()

    def __init__(self, session: Session, place: str, place_said: str, parent: QWidget | None = None) -> None:
        """``place`` is a collection, a database, or "" for all of them."""
        super().__init__(parent)
        self._session, self.place, self.place_said = session, place, place_said
        self._tail: Tail | None = None
        self._reading = False
        self._shown = False
        self._stale = False  # the present reading uses an earlier layout of the collections
        self._ended = False  # nothing here can be followed
        self._resting = threading.Event()  # seen by the work, which then releases the stream
        self._resting.set()
        self._tried = 0
        self._answers = True
        self.paused_at: dt.datetime | None = None
        self.since: dt.datetime | None = None
        self.came = 0
        self._recent: deque[tuple[float, int]] = deque()
        self._behind = 0.0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._ask)
        boxes.ground(self, "surface")
        self._assemble()
        preferences.signals.changed.connect(self._preferred)
        self._say()

    # --- its parts

    def _assemble(self) -> None:
        self.model = LiveModel()
        self.view = LiveView(self.model)
        self.view.begin(False)
        self.view.opened.connect(self.open)
        self.view.freed.connect(self._take_in)
        self.view.customContextMenuRequested.connect(self._menu)
        self.notices = Notices()
        self.stack = StateStack(self.view)
        column = boxes.column(self)
        column.addWidget(self._title_row())
        column.addWidget(states.hair())
        column.addWidget(self._tools())
        column.addWidget(states.hair())
        column.addWidget(self.notices)
        column.addWidget(self.stack, 1)
        self.foot = boxes.ground(QWidget(), "toolrow")
        row = boxes.row(self.foot, 16, 4)
        self.fell_out = words("", "second")
        row.addWidget(self.fell_out, 1)
        column.addWidget(self.foot)
        self.setFocusProxy(self.view)

    def _title_row(self) -> QWidget:
        made = QWidget()
        row = boxes.wrapping(made, 16, 8, gap=10, least=44)
        row.addWidget(words(tr("Activity"), "title"))
        row.addStretch(1)
        segments, self.modes = boxes.segments(self, MODES, tr("Shown: {}"))
        self.modes.button(1).setChecked(True)
        self.modes.idClicked.connect(self._mode, Qt.ConnectionType.QueuedConnection)  # once the arrow key is handled
        row.addLayout(segments)
        return made

    def _tools(self) -> QWidget:
        made = boxes.ground(QWidget(), "toolrow")
        row = boxes.row(made, 16, 8)
        self.pause_button = button(tr("Pause"), self.toggle, "small")
        self.pause_button.setMinimumWidth(
            max(self.pause_button.fontMetrics().horizontalAdvance(said) for said in (tr("Pause"), tr("Go on")))
            + theme.px(26)
        )
        row.addWidget(self.pause_button)
        self.new_button = button("", self.show_newest, "small", icon="arrow-up")
        kept = self.new_button.sizePolicy()
        kept.setRetainSizeWhenHidden(True)  # nothing moves when it appears
        self.new_button.setSizePolicy(kept)
        self.summary = OneLine("second")
        row.addWidget(self.summary, 1)
        row.addWidget(self.new_button)
        return made

    def _mode(self, which: int) -> None:
        if which == 0:
            self.modes.button(1).setChecked(True)  # the right mode when it is shown again
            self.past_asked.emit()

    # --- when it reads

    @property
    def is_paused(self) -> bool:
        """Whether a person paused it."""
        return self.paused_at is not None

    @property
    def is_reading(self) -> bool:
        """Whether something is being read, or released."""
        return self._reading

    @property
    def is_due(self) -> bool:
        """Whether it will read without being asked."""
        return self._timer.isActive()

    @property
    def _wanted(self) -> bool:
        return self._shown and not self.is_paused and not self._ended

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._shown = True
        self._wake()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._shown = False  # a minimised window, too, which Qt still calls visible
        self.rest()

    def toggle(self) -> None:
        """Pause, or resume."""
        if self.is_paused:
            self.paused_at = None
            self._wake()
        else:
            self.paused_at = dt.datetime.now(dt.UTC)
            self.rest()
        self._say()

    def restart(self) -> None:
        """Follow the collections in their present layouts."""
        self.rest()
        self._tail, self._stale, self._ended = None, self._reading, False
        self._wake()

    def _wake(self) -> None:
        if self._wanted:
            self._resting.clear()
            self._recent.clear()
            self._ask()

    def rest(self) -> None:
        """Stop reading, and release the stream, until it is shown again or resumes."""
        self._timer.stop()
        if self._resting.is_set():
            return
        self._resting.set()
        self._let_go()

    def _let_go(self) -> None:
        tail = self._tail
        if tail is not None and not self._reading:
            self._reading = True
            tasks.run(lambda _: tail.rest(), done=self._rested, failed=self._rested, owner=self)

    def _rested(self, _: object) -> None:
        self._reading = False
        if self._wanted:
            self._wake()

    # --- reading

    def _ask(self) -> None:
        if self._reading or not self._wanted:
            return
        self._reading = True
        session, place, tail, resting = self._session, self.place, self._tail, self._resting

        def follow(_: tasks.Progress) -> tuple[Tail, TailBatch]:
            followed = tail
            if followed is None:
                name = place
                if "." in place:
                    name = session.catalogue.info(place).belongs_to or place
                followed = session.time.tail([name] if name else [])
            try:
                return followed, followed.more()
            finally:
                if resting.is_set():
                    followed.rest()

        tasks.run(follow, done=self._got, failed=self._failed, owner=self)
        if self.since is None:
            self.stack.show_loading(tr("Reading collections"))

    def _got(self, answer: tuple[Tail, TailBatch]) -> None:
        self._reading = False
        if self._stale:
            self._stale = False
            self._wake()
            return
        tail, batch = answer
        if tail is not self._tail:
            self._begin(tail)
        if self._tried:
            self._tried = 0
            self.notices.clear("cut")
            self._say_cut()
        if batch.notes:
            self.notices.put("notes", "note", " ".join(map(translated, batch.notes)))
        self._behind = batch.behind
        self.take(batch.rows, batch.left_out)
        if self._wanted:
            self._timer.start(max(round(batch.pause * 1000), OFTEN))
        else:
            self._let_go()

    def take(self, rows: Sequence[Activity], left_out: int = 0) -> None:
        """Show new versions, oldest first, which follow ``left_out`` older ones; or let them wait."""
        came = len(rows) + left_out
        self.came += came
        self._recent.append((time.monotonic(), came))
        self.model.wait(rows, came)
        if not self.view.is_held:
            self._take_in()
        self._say()

    def _begin(self, tail: Tail) -> None:
        self._tail = tail
        self.since, self.came = dt.datetime.now(dt.UTC), 0
        self.view.begin(len(tail.places) > 1)
        self._show_none()

    def _show_none(self) -> None:
        if self._is_cut:
            self.stack.show_empty(
                tr("New versions cannot be read now"),
                tr("New versions of {place} appear here when the server answers again.", place=self.place_said),
                icon="pulse",
            )
        else:
            self.stack.show_empty(
                tr("Nothing was written yet"),
                tr("New versions of {place} appear here as they come.", place=self.place_said),
                icon="pulse",
            )

    @property
    def _is_cut(self) -> bool:
        return self._tried > 0 or not self._answers

    def say_answering(self, answers: bool) -> None:
        """Promise new versions only while the server answers."""
        self._answers = answers
        self._say_cut()

    def _say_cut(self) -> None:
        """While no versions can be found, hide how they are found, and say so in an empty list."""
        self.notices.hide_one("notes", self._is_cut)
        if self.since is not None and self.stack.kind == "empty" and not self._ended:
            self._show_none()

    def _take_in(self) -> None:
        if not self.model.waiting:
            return
        self.view.take_in()
        self.stack.show_content()
        self._say()

    def show_newest(self) -> None:
        """Show the waiting rows, wherever the pointer is."""
        self.view.to_newest()
        self._take_in()

    def _failed(self, error: BaseException) -> None:
        self._reading = False
        if self._stale:
            self._stale = False
            self._wake()
        elif isinstance(error, Unreachable):
            rest = TRIES[min(self._tried, len(TRIES) - 1)]
            self._tried += 1
            self.notices.put("cut", "note", tr("{error} It is tried again.", error=translated(str(error))))
            self._say_cut()
            if self._wanted:
                self._timer.start(rest * 1000)
        elif isinstance(error, Refused) and self._tail is None:
            self._ended = True
            self.stack.show_empty(tr("There is nothing to follow"), translated(str(error)), icon="pulse")
        else:
            self._ended = True
            self.stack.show_failed(error, self.restart, tr("New versions could not be read"))

    # --- texts

    def _preferred(self, name: str) -> None:
        if name == "zone":
            self.view.viewport().update()
            self._say()

    def _say(self) -> None:
        self.pause_button.setText(tr("Go on") if self.is_paused else tr("Pause"))
        self.summary.setText(self._said())
        waited = self.model.waited
        held = bool(waited) and self.view.is_held
        self.new_button.setVisible(held)
        if held:
            self.new_button.setText(tr("{number} new", number=wording.count(waited)))
            self.new_button.setToolTip(
                tr(
                    "The list waits while the pointer is on it, a row is chosen or it is scrolled. Show the "
                    "new rows now"
                )
            )
        fell = self.model.fell_out
        self.foot.setVisible(fell > 0)
        if fell:
            self.fell_out.setText(
                tr(
                    "The newest {kept} are kept; {versions} before them were dropped.",
                    kept=wording.count(KEPT),
                    versions=wording.many(fell, "version"),
                )
            )

    def _said(self) -> str:
        if self.since is None:
            return ""
        versions = wording.many(self.came, "version")
        said = tr("{versions} since {moment}", versions=versions, moment=wording.second(self.since))
        if self.paused_at is not None:
            return tr("{said}; paused at {moment}", said=said, moment=wording.second(self.paused_at))
        now = time.monotonic()
        while self._recent and now - self._recent[0][0] > PACE:
            self._recent.popleft()
        pace = round(sum(came for _, came in self._recent) / PACE)
        if pace:
            said = tr("{said}; {number} a second", said=said, number=wording.count(pace))
        if self._behind >= LAGS:
            said = tr("{said}; {seconds} s behind the writers", said=said, seconds=round(self._behind))
        return said

    # --- the chosen row

    def open(self) -> None:
        """Ask to show the chosen version in its timeline."""
        row = self.view.current
        if row is not None:
            self.open_asked.emit(row)

    def _menu(self, point: QPoint) -> None:
        row = self.model.at(self.view.indexAt(point))
        if row is not None:
            self.menu(row).popup(self.view.viewport().mapToGlobal(point))

    def menu(self, row: Activity) -> QMenu:
        """The menu of a version."""
        menu = ChangeMenu(row, self.open_asked.emit, self.document_asked.emit, self.activity_asked.emit, self)
        menu.add_copying()
        return menu
