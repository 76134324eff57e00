"""Two times of a collection: the documents added, removed or changed in between, counted and listed."""

from __future__ import annotations

import datetime as dt
import time
from collections import Counter
from collections.abc import Hashable
from functools import partial

from PySide6.QtCore import QModelIndex, QSize, Signal
from PySide6.QtWidgets import QWidget

from gui import tasks
from gui.language import tr
from gui.paging import RowsModel, refill
from gui.parts.reading import Reading
from gui.parts.time_line import TimeLine
from gui.parts.writes_in_doubt import DOUBTS
from gui.style import boxes, preferences, states, theme, wording
from gui.style.cells import Badge, Cell, CellTree, Index, Span, plain, value
from gui.style.states import StateStack, button, words
from model.errors import Unreachable
from model.foundation.records import Version
from model.session import Session
from model.session.through_time import Compared, Difference, StateAt

BEFORE, AFTER, AT, PROOF = range(2, 6)
CHUNK, PAUSE = 400, 0.2  # documents, or seconds, after which a part is passed on
LOOKS: dict[Difference, Badge] = {
    "added": Badge(tr("added"), "add", "addT", "add"),
    "removed": Badge(tr("removed"), "rem", "remT", "remove"),
    "changed": Badge(tr("changed"), "chg", "chgT", "replace"),
    "unproven": Badge(tr("not proven"), "warn", "warnT", "conflict"),
}
"""What happened to a document: a word with its colours and symbol."""


def version_of(state: StateAt | None) -> Version | None:
    """A document's version, for a comparison; None if the document was missing, or the version is unknown."""
    if state is None or state.v is None:
        return None
    return Version(state.v, state.at, None, "document", "present", False, None, None)


class ComparedModel(RowsModel[Compared]):
    """The documents that differ between two times."""

    headers = (tr("Document"), tr("What"), tr("First"), tr("Then"), tr("Changed on"), tr("Proof"))

    def key(self, row: Compared) -> Hashable:
        return row.id

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        if index.column() == 0:
            return value(wording.plain(row.id), middle=True, indent=8)
        if index.column() == 1:
            return Cell(badges=(LOOKS[row.change],), accessible=LOOKS[row.change].text)
        if index.column() == PROOF:
            doubts = [side.doubt for side in (row.before, row.after) if side is not None and side.doubt is not None]
            return plain(", ".join(dict.fromkeys(DOUBTS[each] for each in doubts)), "text2")
        if index.column() == AT:
            return plain(wording.moment(row.after.at if row.after is not None else None), "text2")
        side = row.before if index.column() == BEFORE else row.after
        if side is None:
            return Cell(spans=(Span(tr("not there"), "text3"),), size=12)
        if side.v is None:
            return Cell(spans=(Span(tr("not known"), "text3"),), size=12)
        return value(wording.version(side.v) + ("" if side.proven else " ?"))


class TimesPanel(QWidget):
    """Asks for two times, and lists what differs. ``open_asked`` carries the document whose history to open."""

    chosen = Signal(object)  # Compared, or None
    open_asked = Signal(object)
    compared = Signal()

    def __init__(self, session: Session, ns: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self._ns = session, ns
        self._between: tuple[dt.datetime, dt.datetime] | None = None
        self._is_whole = self._again = False  # whether a complete comparison is listed, and is being read again
        self._coming: list[Compared] = []
        self._told: Compared | None = None
        self.is_of_now = False
        self.counts: Counter[Difference] = Counter()
        self.first = TimeLine(tr("First time"), low=True)
        self.then = TimeLine(tr("Second time"), tr("now"), low=True)
        self.run = button(tr("Compare"), self.compare, "main")
        self.said = words("", "second", wrap=True)
        self.model = ComparedModel()
        self.list = CellTree(row_height=28)
        self.list.as_list(self.model, tr("Documents of {ns} that differ", ns=ns))
        self.list.resize_columns((200, 110, 100, 100, 170), dispensable=(BEFORE, AFTER, PROOF))
        self.list.setMinimumHeight(theme.px(84))
        self.list.activated.connect(self._activated)
        self.list.selectionModel().currentRowChanged.connect(self._current_changed)
        self.states = StateStack(self.list)
        self.reading = Reading(
            self,
            self.states,
            again=self.refresh,
            failed=self._not_compared,
            stopped=self._stopped,
            title=tr("{ns} could not be compared", ns=ns),
        )
        for line in (self.first, self.then):
            line.meant.connect(self._typed)
            line.returnPressed.connect(self.compare)
        head = QWidget()
        boxes.ground(head, "surface")
        row = boxes.row(head, 16, 10, gap=16)
        for name, line in ((tr("First"), self.first), (tr("Then"), self.then)):
            beside = boxes.named(name, line, line.said)
            beside.addStretch(1)
            for limited in (line, line.said):
                limited.setMaximumWidth(theme.px(480))
            row.addLayout(beside, 1)
        run = boxes.named("", self.run)
        run.addStretch(1)
        row.addLayout(run)
        row.addStretch(0)
        counted = QWidget()
        boxes.ground(counted, "surface")
        boxes.row(counted, 16, 6).addWidget(self.said)
        self._counted = counted
        counted.hide()
        column = boxes.column(self)
        for part in (head, states.hair(), counted):
            column.addWidget(part)
        column.addWidget(self.states, 1)
        self.setFocusProxy(self.first)
        preferences.signals.changed.connect(self._preference)
        self._typed()
        self.states.show_empty(
            tr("Which two times?"),
            tr("What was added, removed and changed between them is listed here."),
            icon="clock-counter-clockwise",
        )

    def minimumSizeHint(self) -> QSize:
        """As high as its text at its width: a splitter around it does not ask for a height for a width."""
        least, layout = super().minimumSizeHint(), self.layout()
        assert layout is not None
        return least.expandedTo(QSize(0, layout.minimumHeightForWidth(self.width())))

    @property
    def row(self) -> Compared | None:
        """The chosen document."""
        return self.model.at(self.list.currentIndex())

    def compare(self) -> None:
        """Compare the two times entered above."""
        if not self.run.isEnabled():
            return
        first, then = self.first.moment, self.then.moment
        assert first is not None
        now = dt.datetime.now(dt.UTC)
        self.is_of_now = then is None or then.at >= now
        between = sorted((first.at, then.at if then is not None else now))
        self._between = (between[0], between[1])
        self._is_whole = False
        self._read(*self._between)

    def refresh(self) -> None:
        """Read again; a complete comparison stays until all is there, with its selection and scroll position."""
        if self._between is not None:
            first, then = self._between
            self._read(first, dt.datetime.now(dt.UTC) if self.is_of_now else then)

    def stop(self) -> None:
        """Stop reading."""
        self.reading.stop()

    def _forget(self) -> None:
        """Clear the list."""
        self.counts, self._is_whole = Counter(), False
        self.model.fill([])
        self._tell()
        self._counted.hide()

    def _tell(self) -> None:
        """Emit ``chosen`` if another document was chosen, or its state at either time changed."""
        if self._told != self.row:
            self._told = self.row
            self.chosen.emit(self.row)

    def _read(self, first: dt.datetime, then: dt.datetime) -> None:
        self._again, self._coming = self._is_whole, []
        if not self._again:
            self._forget()
        said = tr("Comparing {ns} at two times", ns=self._ns)
        work = partial(_compare, self._session, self._ns, first, then)
        self.reading.ask(work, self._done, said, title=said, partial=self._arrived)

    def _arrived(self, some: list[Compared]) -> None:
        if self._again or not some:
            self._coming += some
            return
        self.model.add(some)
        self.counts.update(each.change for each in some)
        self._say()
        if not self.list.currentIndex().isValid():
            self.list.setCurrentIndex(self.model.index(0, 0))

    def _done(self, _: None) -> None:
        if self._again:
            self.counts = Counter(each.change for each in self._coming)
            refill(self.list, self.model, self._coming)
        self._is_whole = True
        if self.model.rows:
            self.states.show_content()
            if not self.list.currentIndex().isValid():
                self.list.setCurrentIndex(self.model.index(0, 0))
        else:
            self.states.show_empty(
                tr("Nothing differs"),
                tr("Every document of {ns} was the same at both times.", ns=self._ns),
                icon="check-circle",
            )
        self._tell()
        self._say()
        self.compared.emit()

    def _stopped(self) -> None:
        if self._again:
            self.states.show_part(tr("Reading was stopped; this was read before it."), self.refresh)
        elif self.model.rows:
            self.states.show_content()
            self._say(tr("Reading was stopped, so there may be more."))
        else:
            self.states.show_empty(tr("Stopped"), tr("Nothing was read."), [(tr("Read again"), self.refresh)])

    def _not_compared(self, error: BaseException) -> None:
        if not self._again or not isinstance(error, Unreachable):
            self._forget()
            self.states.forget_content()
        self.reading.show_failed(error)

    def _say(self, more: str = "") -> None:
        first, then = self._between or (None, None)
        each = [f"{wording.count(self.counts[kind])} {badge.text}" for kind, badge in LOOKS.items()]
        span = tr(
            "From {first} to {then} ({zone}): {counts}.",
            first=wording.moment(first, exact=True),
            then=tr("now") if self.is_of_now else wording.moment(then, exact=True),
            zone=preferences.zone(),
            counts=", ".join(each),
        )
        self.said.setText(f"{span} {more}".rstrip())
        self._counted.show()

    def _typed(self) -> None:
        fine = self.first.is_fine and self.then.is_fine
        first, then = (line.moment if fine else None for line in (self.first, self.then))
        same = first is not None and then is not None and first.at == then.at
        self.run.setEnabled(fine and not same)
        self.run.setToolTip(tr("Both are the same time; choose another one.") if same else "")

    def _current_changed(self, now: QModelIndex, _: QModelIndex) -> None:
        if now.isValid():
            self._tell()

    def _activated(self, index: QModelIndex) -> None:
        if (row := self.model.at(index)) is not None:
            self.open_asked.emit(row)

    def _preference(self, name: str) -> None:
        if name == "zone":
            self.list.viewport().update()
            if self._between is not None:
                self._say()


def _compare(session: Session, ns: str, first: dt.datetime, then: dt.datetime, progress: tasks.Progress) -> None:
    """Pass on what differs, some documents at a time."""
    some: list[Compared] = []
    due = time.monotonic() + PAUSE
    for each in session.time.as_of_both(ns, first, then, progress):
        some.append(each)
        if len(some) >= CHUNK or time.monotonic() > due:
            progress.put(some)
            some, due = [], time.monotonic() + PAUSE
    progress.put(some)
