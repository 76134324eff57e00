"""The activity of a connection, a collection or a document: who changed what, newest first, shown while it is read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from functools import partial
from zoneinfo import ZoneInfo

from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QMenu, QWidget

from gui import copying, tasks, turns
from gui.language import tr, translated
from gui.parts.notices import Notices
from gui.parts.reading import Reading
from gui.style import boxes, drawn_in_turns, preferences, states, theme, wording
from gui.style.states import OneLine, StateStack, button, words
from gui.views.activity.activity_filter import RECENT, ActivityFilter, Asked
from gui.views.activity.activity_model import DAY, GROUPINGS, ActivityModel, day_said
from gui.views.activity.activity_words import MODES, compare_said
from gui.views.activity.change_menu import ChangeMenu
from gui.views.activity.change_tree import ChangeTree
from gui.views.activity.day_strip import DayStrip
from model.errors import Refused, Unreachable
from model.foundation.records import Checkpoint
from model.session import Session
from model.session.through_time import Activity, Newest, known, newest, updated
from model.text.paths import path_text
from model.values.canonical import Value

MOST = 5000  # changes shown
EARLY = 300  # changes shown while reading continues; each addition of more would hold up the window
ROOM = 1040  # a narrower page has no room for text beside the buttons
LITTLE = 600  # a still narrower one has smaller gaps


class ActivityPanel(QWidget):
    """The filter, the days, the changes, and the way to their comparison."""

    compare_asked = Signal(object)  # Activity
    open_asked = Signal(object)  # Activity: its document
    activity_asked = Signal(object)  # Activity: all changes of its document
    take_back_asked = Signal(object)  # a list of Activity, all from one collection
    read_ended = Signal()
    live_asked = Signal()
    wider_asked = Signal(str)  # the place around this one

    def __init__(
        self, session: Session, place: str = "", id: Value | None = None, parent: QWidget | None = None
    ) -> None:
        """``place`` is a collection, a database, or "" for all of them."""
        super().__init__(parent)
        self._session, self.place, self.id = session, place, id
        self._task: tasks.Task | None = None
        self._stopped = False
        self._answers = True
        self.asked = Asked()
        self.day: dt.date | None = None
        self.newest: Newest | None = None
        self._coming: Newest | None = None  # what is being read, as far as it arrived
        self._is_part_due = False  # turns are to come in which that is shown
        self._read: Asked | None = None  # the filter of a complete reading that is now shown
        self._again = False  # whether the same is being read again
        self._of_day: Newest | None = None  # read separately if not all changes are held
        self._written: set[tuple[str, Value]] = set()
        boxes.ground(self, "surface")
        self._assemble()
        preferences.signals.changed.connect(self._preferred)
        self._say()
        if id is None and "." in place:
            work = partial(_last_change, session, place)
            said = tr("Looking for the last change")
            self.reading.ask(work, self._begin, said, title=self._title, failed=self._begin_recent)
        else:
            self._begin(None)

    # --- its parts

    def _assemble(self) -> None:
        self.filter = ActivityFilter(self.id is None and "." in self.place)
        self.filter.looked.connect(self.look)
        self.strip = DayStrip()
        self.strip.chosen.connect(self.choose_day)
        self.model = ActivityModel()
        self.tree = ChangeTree(self.model)
        self.tree.opened.connect(self.compare)
        self.tree.picked_changed.connect(self._offer)
        self.tree.selectionModel().currentChanged.connect(self._offer)
        self.tree.customContextMenuRequested.connect(self._menu)
        self.notices = Notices()
        self.doubts = words("", "second", wrap=True)
        self.doubts.setContentsMargins(theme.px(16), theme.px(6), theme.px(16), theme.px(6))
        content = self._content = QWidget()
        inner = boxes.column(content)
        inner.addWidget(self.strip)
        inner.addWidget(states.hair())
        inner.addWidget(self.doubts)
        inner.addWidget(self.tree, 1)
        self.stack = StateStack(content)
        self.stack.turned.connect(self._say)
        self.reading = Reading(
            self,
            self.stack,
            again=self.refresh,
            failed=self._not_read,
            stopped=self._cancelled,
            title=tr("The activity could not be read"),
            key="activity",
        )
        column = boxes.column(self)
        column.addWidget(self._title_row())
        column.addWidget(states.hair())
        column.addWidget(self.filter)
        column.addWidget(states.hair())
        column.addWidget(self.notices)
        column.addWidget(self._days_row())
        column.addWidget(self.stack, 1)
        column.addWidget(self._foot())
        self.setFocusProxy(self.tree)

    def _title_row(self) -> QWidget:
        made = QWidget()
        row = self._title_parts = boxes.wrapping(made, 16, 8, gap=10, least=44)
        row.addWidget(words(tr("Activity"), "title"))
        self.wider_place = button("", self._widen_place, "small", "quiet")
        if (wider := self._wider_place) is not None:
            name = wording.label(wider or wording.source(self._session.name))
            self.wider_place.setText(tr("In all of {name}", name=name))
        row.addWidget(self.wider_place)
        self.wider_place.setVisible(wider is not None)
        row.addStretch(1)
        if self.id is None:
            beside, self.modes = boxes.segments(self, MODES, tr("Shown: {}"))
            self.modes.idClicked.connect(
                self._mode, Qt.ConnectionType.QueuedConnection
            )  # once the arrow key is handled
            row.addLayout(beside)
        segments, self.grouping = boxes.segments(self, GROUPINGS, tr("Grouped by {}"))
        self.grouping.idClicked.connect(self._group)
        self._grouped_by = words(tr("Grouped by"), "second")
        row.addWidget(self._grouped_by)
        row.addLayout(segments)
        self.compare_button = button(tr("Compare"), self.compare, "small", icon="git-diff")
        self.compare_button.setEnabled(False)
        row.addWidget(self.compare_button)
        self.take_back_button = button(tr("Take back…"), self.take_back, "small", icon="arrow-counter-clockwise")
        row.addWidget(self.take_back_button)
        return made

    @property
    def _wider_place(self) -> str | None:
        """The place around this one; None around a connection."""
        if self.id is not None:
            return self.place
        database, dot, _ = self.place.partition(".")
        return None if not self.place else database if dot else ""

    def _widen_place(self) -> None:
        self.wider_asked.emit(self._wider_place)

    def _mode(self, which: int) -> None:
        if which == 1:
            self.modes.button(0).setChecked(True)  # the right mode when it is shown again
            self.live_asked.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._grouped_by.setVisible(self.width() >= theme.px(ROOM))  # the buttons' accessible names say it as well
        self._title_parts.setSpacing(theme.px(8 if self.width() < theme.px(LITTLE) else 10))

    def _days_row(self) -> QWidget:
        made = QWidget()
        row = boxes.row(made, 16, 4)
        self.summary = OneLine("second")
        self.summary.come_first()
        row.addWidget(self.summary)
        self.filter.said.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.filter.said, 1)
        self.all_days = button(tr("All days"), partial(self.choose_day, None), "small", "quiet")
        self.all_days.setToolTip(tr("Show the changes of every day again"))
        row.addWidget(self.all_days)
        row.addStrut(self.all_days.sizeHint().height())  # nothing below moves when a day is chosen
        return made

    def _foot(self) -> QWidget:
        self.foot = boxes.ground(QWidget(), "toolrow")
        self.foot.hide()
        row = boxes.row(self.foot, 16, 4)
        self.shown = words("", "second")
        row.addWidget(self.shown, 1)
        self.pace = words("", "second")
        row.addWidget(self.pace)
        self.older = button(tr("Older ones"), self.show_older, "small")
        row.addWidget(self.older)
        return self.foot

    @property
    def place_said(self) -> str:
        """The place in words."""
        where = self.place or tr("all collections of {name}", name=wording.source(self._session.name))
        return where if self.id is None else f"{wording.plain(self.id)}   {where}"

    # --- reading

    @property
    def is_reading(self) -> bool:
        """Whether changes are being read."""
        return self.reading.is_on or self._is_part_due

    def _begin(self, last: dt.datetime | None) -> None:
        """Read the day of the last change, if that is known, or what can be read soon."""
        if not self.filter.since.text():  # else a person typed one meanwhile
            if last is not None:
                self.filter.begin_at(preferences.local(last).date())
            elif self.id is None and not self._session.is_local:
                self.filter.since.setText(RECENT)
        self.look()

    def _begin_recent(self, _: BaseException) -> None:
        self._begin(None)  # which says what is in the way, if it still is

    def look(self) -> None:
        """Read the changes that the filter asks for; the shown ones stay until the first of these are there."""
        try:
            asked = self.filter.asked()
        except Refused as error:
            self.filter.refuse(error)
            return
        self.asked = asked
        self.filter.say(asked)
        self.day, self._of_day = None, None
        self.strip.choose(None)
        self.refresh()

    def refresh(self) -> None:
        """Read with the same filter again."""
        self._written = set()
        self._stopped, self._coming = False, None
        self._again = self.newest is not None and self.asked == self._read
        zone = ZoneInfo(preferences.zone())
        self._ask(self._part, self._done, self.asked, zone)

    def _ask(self, part: Callable[[Newest], None], done: Callable[[None], None], asked: Asked, zone: dt.tzinfo) -> None:
        work = partial(_read, self._session, self.place, self.id, asked, zone)
        says = tr("Reading documents")
        task = self.reading.ask(work, done, says, title=self._title, partial=part, computes=True)
        self._task = task
        task.progressed.connect(self._say_pace)

    @property
    def _title(self) -> str:
        """The title of its tasks."""
        return tr("Reading the activity of {place}", place=self.place_said)

    def _say_pace(self) -> None:
        if self._task is not None:
            self.pace.setText(pace_said(self._task.pace.rate, self._task.pace.left))

    def stop(self) -> None:
        """Stop reading; what was read stays."""
        self.reading.stop()

    def _part(self, part: Newest) -> None:
        self._coming = part
        # What is shown again stays unchanged until all is read, with its selection and scroll position.
        if not self._again and not self._is_part_due:
            self._is_part_due = True
            turns.later(self, self._take_part)

    def _take_part(self) -> None:
        """Take the newest part, if it is seen; several may have come. The first bars have a turn, out of sight."""
        part = self._coming
        if part is None or self._again or not self.isVisible():
            self._is_part_due = False
            return
        self.newest = replace(part, rows=part.rows[:EARLY])
        self.filter.authors = part.authors
        if self.strip.isHidden():
            self._fill_strip()
        turns.later(self, self._show_part)

    def _show_part(self) -> None:
        self._is_part_due = False
        if self._coming is None or self.newest is None or not self.newest.rows:
            return
        with drawn_in_turns.held(self._content):
            self._fill()
            if self.stack.kind != "content":
                self.stack.show_content()
                self.reading.show_reading()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._coming is not None:
            self._part(self._coming)

    def _show_read(self, whole: bool = False) -> None:
        """Show what was read; if it was being read again, only when the ``whole`` of it was."""
        self._end()
        coming, self._coming = self._coming, None
        if coming is not None and (whole or not self._again):
            self.newest = coming
            self.filter.authors = self.newest.authors
            self._fill()

    def _done(self, _: object) -> None:
        if self._is_part_due:  # the end comes behind it, so as not to fill all of the page in one turn
            turns.later(self, partial(self._done_later, self.reading.task))
            return
        self._show_read(whole=True)
        self._read = self.asked
        part = self.newest
        if part is not None and part.rows:
            self.stack.show_content()
            if self.day is not None and not part.is_whole:
                self._read_day()
        else:
            self._show_empty()
        self.read_ended.emit()
        self.follow(set())

    def _done_later(self, task: tasks.Task | None) -> None:
        if self.reading.task is task:  # nothing else was asked meanwhile
            self._done(None)

    def _end(self) -> None:
        self.pace.setText("")

    def _cancelled(self) -> None:
        self._stopped = True
        self._show_read()
        if self._again:
            self.stack.show_part(tr("Reading was stopped; these changes were read before it."), self.refresh)
        elif self.newest is not None and self.newest.rows:
            self.stack.show_part(tr("Reading was stopped: these are not all changes."), self.refresh)
        else:
            self.stack.show_empty(tr("Reading was stopped"), "", [(tr("Read again"), self.refresh)], "hourglass")
        self.read_ended.emit()

    def _not_read(self, error: BaseException) -> None:
        self._show_read()
        if isinstance(error, Refused) and not isinstance(error, Unreachable):
            self.filter.refuse(error)
            self.newest = None
            self.strip.put(())
            self.stack.show_empty(tr("There is no activity to show"), translated(str(error)), icon="pulse")
        else:
            self.reading.show_failed(error)
        self._say()
        self.read_ended.emit()

    def _show_empty(self) -> None:
        asked = self.asked
        if not asked:
            self.stack.show_empty(
                tr("Nothing was changed here"),
                tr("{documents} with versions were read.", documents=wording.many(self._documents, "document")),
                icon="pulse",
            )
            return
        help = tr("{documents} were read.", documents=wording.many(self._documents, "document"))
        if asked.author is not None and (self.newest is None or asked.author not in self.newest.authors):
            help = tr("No author is called “{author}”; the name has to match as a whole.", author=asked.author)
        choices = [(tr("Clear the filter"), self.filter.clear)]
        if said := self.filter.wider_said:
            choices.insert(0, (said, self.filter.widen))
        self.stack.show_empty(tr("No change matches"), help, choices, icon="pulse")

    @property
    def _documents(self) -> int:
        return 0 if self.newest is None else self.newest.documents

    # --- one day

    def choose_day(self, day: dt.date | None) -> None:
        """Show the changes of one day, or of all."""
        self.day, self._of_day = day, None
        self.strip.choose(day)
        part = self.newest
        if day is not None and part is not None and not part.is_whole and not self.is_reading:
            self._read_day()
        self._fill()

    def _read_day(self) -> None:
        day = self.day
        assert day is not None
        zone = ZoneInfo(preferences.zone())
        since = dt.datetime.combine(day, dt.time(), zone).astimezone(dt.UTC)
        until = dt.datetime.combine(day, dt.time.max, zone).astimezone(dt.UTC)
        asked = self.asked
        self._again = False
        since = max(filter(None, (since, asked.since)))
        until = min(filter(None, (until, asked.until)))
        self._ask(self._day_part, self._day_done, Asked(since, until, asked.author, asked.path, asked.document), zone)

    def _day_part(self, part: Newest) -> None:
        self._of_day = part
        self._fill()

    def _day_done(self, _: object) -> None:
        self._end()
        self.stack.show_content()
        self._fill()
        self.read_ended.emit()
        self.follow(set())

    # --- writes meanwhile

    def follow(self, written: set[tuple[str, Value]]) -> None:
        """Read some written documents again, once nothing else is being read."""
        self._written |= written
        part = self.newest
        if self.is_reading or part is None or not self._written or self._stopped:
            return
        here, self._written = self._written, set()
        session, asked, zone = self._session, self.asked, ZoneInfo(preferences.zone())

        def bring_up_to_date(progress: tasks.Progress) -> Newest:
            now = part
            for ns, id in here:
                now = updated(now, ns, id, _changes_of(session, ns, id, asked, progress), MOST, zone)
            return now

        tasks.run(
            bring_up_to_date,
            done=partial(self._followed, part),
            failed=self.reading.show_failed,
            owner=self,
            key="follow",
        )

    def _followed(self, before: Newest, now: Newest) -> None:
        if self.newest is not before:  # everything was read again meanwhile
            return
        self.newest, self._of_day = now, None
        self.filter.authors = now.authors
        self._fill()
        if now.rows:
            self.stack.show_content()
        else:
            self._show_empty()
        self.follow(set())

    def _preferred(self, name: str) -> None:
        if name == "zone":
            self.look()

    # --- the shown changes

    @property
    def rows(self) -> Sequence[Activity]:
        """The changes shown."""
        if self._of_day is not None:
            return self._of_day.rows
        rows = self.newest.rows if self.newest is not None else ()
        if self.day is None:
            return rows
        return [row for row in rows if row.at is not None and preferences.local(row.at).date() == self.day]

    def _group(self, _: int) -> None:
        self._fill()

    def _fill(self) -> None:
        rows = self.rows
        several = len({row.ns for row in rows}) > 1
        self.tree.put(rows, self.grouping.checkedId(), several, any(row.reason for row in rows))
        if self.strip.isHidden():
            self._fill_strip()
        else:
            turns.later(self, self._fill_strip)  # thousands of bars take a turn of the window
        self._say()

    def _fill_strip(self) -> None:
        self.strip.put(self.newest.days if self.newest is not None else (), reading=self.is_reading and not self._again)

    def _say(self) -> None:
        part = self.newest or Newest()
        said = tr(
            "{changes} of {documents}",
            changes=wording.many(part.found, "change"),
            documents=wording.many(part.documents, "document"),
        )
        if self.day is not None:
            landed = sum(row.landed for row in self.rows)
            said = tr("{day}: {changes}", day=day_said(self.day), changes=wording.many(landed, "change"))
        some = part.found or part.never_landed
        known = self.newest is not None and not self.stack.is_unread and (some or not self.is_reading)
        self.summary.setText(said if known else "")
        self.all_days.setVisible(self.day is not None)
        self.strip.setVisible(bool(part.days))
        doubts = doubts_said(part)
        self.doubts.setText(doubts)
        self.doubts.setVisible(bool(doubts))
        if part.notes:
            self.notices.put("index", "note", " ".join(map(translated, part.notes)))
        else:
            self.notices.clear("index")
        shown = self._of_day if self._of_day is not None else part
        lacks = not shown.is_whole and (self._again or not self.is_reading)  # else the rest is still coming
        self.shown.setText(
            tr(
                "The newest {shown} of {found} are shown.",
                shown=wording.count(sum(row.landed for row in shown.rows)),
                found=wording.many(shown.found, "change"),
            )
            if lacks
            else ""
        )
        self.older.setVisible(lacks and shown.rows[-1].at is not None)
        self.foot.setVisible(self.is_reading or lacks)
        self._offer()

    def show_older(self) -> None:
        """Ask for the changes up to the oldest one shown."""
        rows = self.rows
        if rows and rows[-1].at is not None:
            self.filter.until.setText(preferences.local(rows[-1].at).isoformat(timespec="milliseconds"))
            self.look()

    # --- the selection

    def _offer(self, *_: object) -> None:
        row = None if self.stack.is_unread else self.tree.current
        pair = row is not None and row.v is not None and row.older is not None
        self.compare_button.setEnabled(row is not None)
        self.compare_button.setText(compare_said(row) if pair and row is not None else tr("Compare"))
        why = self._why_not()
        self.take_back_button.setEnabled(not why)
        self.take_back_button.setToolTip(wording.tip(why))

    def say_writable(self) -> None:
        """Update whether taking back is offered: the connection's permission changed."""
        self._offer()

    def say_answering(self, answers: bool) -> None:
        """Offer taking back only while the server answers."""
        self._answers = answers
        self._offer()

    def _why_not(self) -> str:
        """Why the selected changes cannot be taken back; "" if they can."""
        if self._session.trust.read_only:
            return tr(
                "{name} is open read-only; to take changes back, allow writes.",
                name=wording.source(self._session.name, first=True),
            )
        if not self._answers:
            return tr(
                "{name} does not answer now, so nothing can be taken back.",
                name=wording.source(self._session.name, first=True),
            )
        picked = [] if self.stack.is_unread else self.tree.picked()
        if not any(_is_change(row) for row in picked):
            return tr("Pick changes first, with Ctrl or Shift held down for several.")
        if len({row.ns for row in picked}) > 1:
            return tr("These changes are in several collections; pick those of one.")
        return ""

    def take_back(self) -> None:
        """Ask for a plan that takes the selected changes back."""
        if not self._why_not():
            self.take_back_asked.emit([row for row in self.tree.picked() if _is_change(row)])

    def compare(self) -> None:
        """Ask for a comparison of the current change with the version before it."""
        row = self.tree.current
        if row is not None:
            self.compare_asked.emit(row)

    def _menu(self, point: QPoint) -> None:
        row = self.model.at(self.tree.indexAt(point))
        if row is not None:
            self.menu(row).popup(self.tree.viewport().mapToGlobal(point))

    def menu(self, row: Activity) -> QMenu:
        """The menu of a change."""
        menu = ChangeMenu(row, self.compare_asked.emit, self.open_asked.emit, self.activity_asked.emit, self)
        only = menu.addMenu(tr("Show only"))
        if row.author is not None:
            by = tr("Only by {author}", author=wording.item(row.author))
            only.addAction(by, partial(self._only_by, row.author))
        for path in row.paths[:6]:
            said = tr("Only changes of {path}", path=wording.item(path_text(path)))
            only.addAction(said, partial(self._only_at, path_text(path)))
        only.setEnabled(not only.isEmpty())
        many = len(self.tree.picked())
        said = tr("Take back {changes}…", changes=wording.many(many, "change")) if many > 1 else tr("Take back…")
        menu.add(said, self.take_back, self._why_not())
        menu.addSeparator()
        menu.add_copying()
        menu.add(tr("Copy the rows"), lambda: copying.put(self.tree.copied()))
        return menu

    def _only_by(self, author: str) -> None:
        self.filter.author.setText(author)
        self.look()

    def _only_at(self, path: str) -> None:
        self.filter.path.setText(path)
        self.look()


def _is_change(row: Activity) -> bool:
    """Whether there is something to be taken back."""
    return row.v is not None and row.landed


def doubts_said(part: Newest) -> str:
    """What is uncertain, with counts; "" if nothing is."""
    said = []
    if part.never_landed:
        versions = wording.many(part.never_landed, "version")
        said.append(tr("not counted: {versions} above the current one, which never landed", versions=versions))
    if part.unknown:
        said.append(
            wording.many(
                part.unknown,
                "change after a gap, so what it set is not known",
                "changes after gaps, so what they set is not known",
            )
        )
    if part.astray:
        said.append(
            tr("{changes} with a time before that of an earlier version: a clock was wrong",
               changes=wording.many(part.astray, "change"))
        )  # fmt: skip
    if part.left_out:
        said.append(tr("{changes} without a time left out", changes=wording.many(part.left_out, "change")))
    elif part.undated:
        said.append(tr("{changes} without a time at the end", changes=wording.many(part.undated, "change")))
    return "; ".join(said) + "." if said else ""


def pace_said(rate: float | None, left: float | None) -> str:
    """How many documents are read a second, and the remaining seconds; "" in the first moments.

    These are the numbers of the task, so that its line in the list of tasks says the same.
    """
    if rate is None:
        return ""
    said = tr("{documents} a second", documents=wording.many(max(1, round(rate)), "document"))
    return said if left is None else tr("{said}, about {after} left", said=said, after=wording.duration(left))


def _last_change(session: Session, place: str, _: tasks.Progress) -> dt.datetime | None:
    return session.time.last_change(session.catalogue.info(place).belongs_to or place)


def _read(
    session: Session, place: str, id: Value | None, asked: Asked, zone: dt.tzinfo, progress: tasks.Progress
) -> None:
    """Pass on the newest changes, each time more of them."""
    ns = place
    if "." in place:
        ns = session.catalogue.info(place).belongs_to or place
    if asked.document:
        id = session.documents.find_id(ns, asked.document)
    listed = session.time.activity([ns] if ns else [], asked.since, asked.until, asked.author, asked.path, id)
    listed.checkpoint = _with_total(progress, listed.expected())
    for each in newest(listed, MOST, zone, session.history.merges()):
        progress.put(each)


def _with_total(progress: tasks.Progress, total: int | None) -> Checkpoint:
    return lambda done, _: progress(done, total)


def _changes_of(session: Session, ns: str, id: Value, asked: Asked, progress: tasks.Progress) -> list[Activity]:
    """The changes of one document that match; none if its collection keeps no versions."""
    progress(0, None)
    try:
        if asked.document and session.documents.find_id(ns, asked.document) != id:
            return []
        listed = session.time.activity([ns], asked.since, asked.until, asked.author, asked.path, id)
        merges = session.history.merges()
        return [known(each, merges) for several in listed.as_read() for each in several]
    except Unreachable:
        raise
    except Refused:
        return []


__all__ = ["DAY", "MOST", "ActivityPanel", "doubts_said", "pace_said"]
