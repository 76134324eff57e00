"""Two collections side by side: asks for the other one, lists what differs, and ticks what is to be copied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import partial

from PySide6.QtCore import QModelIndex, Signal
from PySide6.QtWidgets import QLineEdit, QMenu, QWidget

from gui import tasks
from gui.language import tr, translated
from gui.paging import RowsModel
from gui.parts.completing_line import CompletingLine
from gui.parts.completion import Completion, Offer
from gui.parts.document_side import DocumentSide
from gui.parts.reading import Reading
from gui.parts.ticked_list import TICK, TickedList, tick_cell
from gui.style import boxes, icons, states, theme, wording
from gui.style.cells import Badge, Cell, Index, plain, value
from gui.style.states import DropDown, OneLine, StateStack, button, words
from gui.views.compare import kept_rules
from model import text
from model.session import Session
from model.session.two_collections import SideBySide, Standing, flipped
from model.values.canonical import Value

NAME, WHAT, HERE, THERE, SINCE = range(1, 6)
PAUSE = 0.2  # seconds after which the documents found so far are passed on
WIDE, NARROW = (44, 240, 130, 100, 100, 100), (44, 180, 120, 80, 80, 80)
LINES = 6  # indexes and options named above the list
MOST = 20_000  # documents listed; the others are only counted
FEW = 20_000  # documents that are compared again by themselves after a write
LOOKS: dict[str, Badge] = {
    "changed": Badge(tr("changed"), "chg", "chgT", "replace"),
    "ahead": Badge(tr("ahead"), "add", "addT", "add"),
    "behind": Badge(tr("behind"), "warn", "warnT", "remove"),
    "diverged": Badge(tr("diverged"), "rem", "remT", "conflict"),
    "only here": Badge(tr("only here"), "add", "addT", "add"),
    "only there": Badge(tr("only there"), "rem", "remT", "remove"),
}
"""How a document stands on both sides: words with their colours and symbol."""


class StandingsModel(RowsModel[Standing]):
    """The documents that differ between two collections, each with a tick."""

    headers = ("", tr("Document"), tr("What"), tr("Here"), tr("There"), tr("Since"))
    spoken_at = NAME
    ticked_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._ticked: set[Value] = set()

    def key(self, row: Standing) -> Hashable:
        return row.key

    def clear(self) -> None:
        """Forget all rows and ticks."""
        self._ticked = set()
        self.fill([])
        self.ticked_changed.emit()

    @property
    def ticked(self) -> list[Standing]:
        """The documents that are to be copied."""
        return [row for row in self.rows if row.key in self._ticked]

    def can_tick(self, row: Standing) -> bool:
        """Every document can be copied one way or the other."""
        return True

    def is_on(self, row: Standing) -> bool:
        """Whether it is to be copied."""
        return row.key in self._ticked

    def tick(self, rows: Sequence[Standing], on: bool) -> None:
        """Tick or untick."""
        keys = {row.key for row in rows}
        self._ticked = self._ticked | keys if on else self._ticked - keys
        if self.rows:
            self.dataChanged.emit(self.index(0, TICK), self.index(len(self.rows) - 1, TICK))
        self.ticked_changed.emit()

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        match index.column():
            case 0:
                return tick_cell(True, self.is_on(row))
            case 1:
                return value(wording.plain(row.key), middle=True)
            case 2:
                return Cell(badges=(LOOKS[row.change],), accessible=LOOKS[row.change].text)
        v = {HERE: row.v, THERE: row.w, SINCE: row.since}[index.column()]
        return plain(wording.version(v) if v is not None else "")


class CollectionsPanel(QWidget):
    """Compares a collection with another one. ``pair_asked`` carries both sides of a document, of which one may be
    None; ``copy_asked`` the collections from and to which the documents go, each with its connection, the key, and how
    the documents stand.
    """

    pair_asked = Signal(object, object)
    copy_asked = Signal(object, object, str, object)
    compared = Signal()

    def __init__(
        self, session: Session, ns: str, places: Mapping[Session, Sequence[str]], parent: QWidget | None = None
    ) -> None:
        """Offer the connections in ``places``, each with its collections."""
        super().__init__(parent)
        self._session, self._ns = session, ns
        self._places = dict(places) or {session: []}
        self._sessions = list(self._places)
        self._other: tuple[Session, str] | None = None
        self._paired_by = self._filter = ""
        self._silent: list[Session] = []
        self._looked = 0  # documents of the last comparison; 0 before it has ended
        self._kept: set[Value] = set()  # ticks that stay when it is read again
        self._current: Value | None = None
        self.counts: Counter[str] = Counter()
        self.connection = DropDown()
        self.connection.setProperty("tall", True)
        self.connection.addItems([text.plain(each.name) for each in self._sessions])
        self.connection.setCurrentIndex(self._sessions.index(session) if session in self._sessions else 0)
        self.connection.currentIndexChanged.connect(self._fit)
        self.collection = CompletingLine(self._names)
        self.collection.setText(self._namesake())
        self.key = QLineEdit()
        self.key.setProperty("mono", True)
        self.key.setPlaceholderText(tr("left empty: the ids"))
        self.filter = QLineEdit()
        self.filter.setProperty("mono", True)
        self.filter.setPlaceholderText(tr("left empty: all documents"))
        about = tr("A filter, such as { status: 'open' }; compared is what matches on either side")
        self.filter.setToolTip(wording.tip(about))
        self.run = button(tr("Compare"), self.compare, "main")
        self.said = words("", "second", wrap=True)
        self.model = StandingsModel()
        self.model.ticked_changed.connect(self._say_ticks)
        self.list = TickedList(self.model, self.model, tr("Documents of {ns} that differ", ns=ns))
        self.list.fit(NARROW, WIDE, dispensable=(HERE, THERE, SINCE))
        self.list.activated.connect(self._activated)
        self.states = StateStack(self.list)
        self.reading = Reading(
            self,
            self.states,
            again=self.compare,
            stopped=self._stopped,
            title=tr("{ns} could not be compared", ns=ns),
        )
        head = QWidget()
        boxes.ground(head, "surface")
        row = boxes.wrapping(head, 16, 10, gap=16)
        for name, field, width in (
            (tr("Connection"), self.connection, 180),
            (tr("Collection"), self.collection, 280),
            (tr("Pair by"), self.key, 208),
            (tr("Only what matches"), self.filter, 240),
            ("", self.run, 0),  # level with the fields
        ):
            if name:
                field.setAccessibleName(name)
            field.setMinimumWidth(theme.px(width))
            field.setFixedHeight(theme.px(32))
            row.addLayout(boxes.named(name, field))
        counted = QWidget()
        boxes.ground(counted, "surface")
        self.setup = words("", "second", wrap=True)
        self.setup.hide()
        lines = boxes.column(counted)
        lines.setContentsMargins(theme.px(16), theme.px(6), theme.px(16), theme.px(6))
        lines.addWidget(self.setup)
        lines.addWidget(self.said)
        self._counted = counted
        counted.hide()
        column = boxes.column(self)
        for part in (head, states.hair(), counted):
            column.addWidget(part)
        column.addWidget(self.states, 1)
        self._foot = self._copying()
        column.addWidget(self._foot)
        self.setFocusProxy(self.collection)
        for line in (self.collection, self.key, self.filter):
            line.textChanged.connect(self._fit)
            line.returnPressed.connect(self.compare)
        self._fit()
        self.states.show_empty(
            tr("Which other collection?"),
            tr("What differs between {ns} and the other collection is listed here.", ns=ns),
            icon="git-diff",
        )

    def _copying(self) -> QWidget:
        """The row below the list: how many are ticked, and the way to copy them."""
        foot = QWidget()
        boxes.ground(foot, "toolrow")
        row = boxes.row(foot, 4, 6)
        row.setContentsMargins(theme.px(4), theme.px(6), theme.px(16), theme.px(6))  # aligned with the rows' ticks
        self.all = button("", self._tick_all, "quiet", "small")
        self.copy = button(tr("Copy across"), None, "small", icon="copy")
        self.ways = QMenu(self.copy)
        self.copy.setMenu(self.ways)
        self.ways.aboutToShow.connect(self._fill_ways)
        row.addWidget(self.all)
        row.addWidget(OneLine("second"), 1)
        row.addWidget(self.copy)
        foot.hide()
        return foot

    def _fill_ways(self) -> None:
        """One entry for each direction."""
        self.ways.clear()
        if self._other is None:
            return
        here, there = (self._session, self._ns), self._other
        for whence, whither in ((here, there), (there, here)):
            name = wording.source(whither[0].name)
            said = tr("To {ns} of {name}…", ns=text.plain(whither[1]), name=name)
            self.ways.addAction(said.replace("&", "&&"), partial(self._copy, whence, whither))

    def _copy(self, whence: tuple[Session, str], whither: tuple[Session, str]) -> None:
        forth = whence == (self._session, self._ns)
        rows = [row if forth else flipped(row) for row in self.model.ticked]
        self.copy_asked.emit(whence, whither, self._paired_by, rows)

    def _tick_all(self) -> None:
        self.model.tick(self.model.rows, on=len(self.model.ticked) < len(self.model.rows))

    def _say_ticks(self) -> None:
        ticked, rows = len(self.model.ticked), len(self.model.rows)
        self.all.setText(
            tr("{ticked} of {documents} ticked", ticked=wording.count(ticked), documents=wording.many(rows, "document"))
        )
        self.all.setIcon(icons.tick(ticked, rows))
        why = "" if ticked else tr("Nothing is ticked.")
        why = self._unread(self._other[0] if self._other is not None else self._session) or why
        self.copy.setEnabled(not why)
        self.copy.setToolTip(wording.tip(why or tr("Shows first what would be written; nothing is written yet")))
        self._foot.setVisible(bool(rows) and not self.reading.is_on)

    @property
    def sides(self) -> list[tuple[Session, str]]:
        """The collections that were compared last, each with its connection."""
        return [(self._session, self._ns), *([self._other] if self._other is not None else [])]

    @property
    def is_read(self) -> bool:
        """Whether a comparison is on show."""
        return self._looked > 0

    def say_silent(self, silent: Collection[Session]) -> None:
        """Offer reading only while the servers of both sides answer."""
        self._silent = list(silent)
        self._fit()
        self._say_ticks()

    def _unread(self, other: Session) -> str:
        """Why the two collections cannot be read now; "" if both servers answer."""
        lost = next((each for each in (self._session, other) if each in self._silent), None)
        return "" if lost is None else wording.unread(lost.name)

    def _namesake(self) -> str:
        """The one collection of this name in another database; "" if there is none, or several."""
        _, _, name = self._ns.partition(".")
        found = [ns for ns in self._places.get(self._session, ()) if ns != self._ns and ns.partition(".")[2] == name]
        return found[0] if len(found) == 1 else ""

    def _names(self, typed: str, at: int, asked: bool) -> Offer | None:
        known = self._places[self._sessions[self.connection.currentIndex()]]
        names = [name for name in known if asked or (typed.lower() in name.lower() != typed)]
        if not names or names == [typed]:
            return None
        return Offer(0, len(typed), tuple(Completion(name, "", name) for name in names))

    def _fit(self, *_: object) -> None:
        why = self._unread(self._sessions[self.connection.currentIndex()])
        self.run.setEnabled(bool(self.collection.text().strip()) and not why)
        self.run.setToolTip(wording.tip(why))

    def compare(self) -> None:
        """Compare with the collection entered above."""
        if not self.run.isEnabled():
            return
        other, ns = self._sessions[self.connection.currentIndex()], self.collection.text().strip()
        self._other, self._paired_by = (other, ns), self.key.text().strip()
        self._filter = self.filter.text().strip()
        self._kept, self._current = set(), None
        self._read(other, ns)

    def follow(self) -> None:
        """Compare once more what was compared last, after a write; of many documents, only say that there was one."""
        if self._other is None or self._unread(self._other[0]):
            return
        if self._looked > FEW:
            self._say(tr("Documents were written since; Compare reads them again."))
            return
        if self.model.rows:  # else it is read again already
            row = self.model.at(self.list.currentIndex())
            self._kept, self._current = {row.key for row in self.model.ticked}, None if row is None else row.key
        self._read(*self._other)

    def _read(self, other: Session, ns: str) -> None:
        self.counts = Counter()
        self.model.clear()
        self._counted.hide()
        self.setup.hide()
        rules, key, filter = kept_rules.kept(self._session.source, self._ns), self._paired_by, self._filter

        def work(progress: tasks.Progress) -> tuple[SideBySide, list[str]]:
            two = self._session.beside(self._ns, other, ns, key, filter)
            found = two.compare(rules.with_unordered(two.unordered.unordered), progress)
            for some in tasks.portions(found, PAUSE):
                progress.put(some)
            differing, note = two.setup()
            return found, [note] if note else [each.said for each in differing]

        said = tr("Comparing {ns} with {ns2}", ns=self._ns, ns2=ns)
        self.reading.ask(work, self._done, said, title=said, partial=self._arrived)
        self._say_ticks()

    def stop(self) -> None:
        """Stop reading."""
        self.reading.stop()

    def _arrived(self, some: list[Standing]) -> None:
        self.counts.update(each.change for each in some)
        self.model.add(some[: max(0, MOST - len(self.model.rows))])
        if some and not self.list.currentIndex().isValid():
            self.list.setCurrentIndex(self.model.index(0, NAME))

    def _done(self, read: tuple[SideBySide, list[str]]) -> None:
        found, setup = read
        same = wording.count(found.same)
        self._looked = max(1, found.same + sum(self.counts.values()))
        self.model.tick([row for row in self.model.rows if row.key in self._kept], on=True)
        at = next((n for n, row in enumerate(self.model.rows) if row.key == self._current), None)
        if at is not None:
            self.list.setCurrentIndex(self.model.index(at, NAME))
        if self.model.rows:
            self.states.show_content()
        else:
            self.states.show_empty(
                tr("Nothing differs"), tr("{same} documents are the same.", same=same), icon="check-circle"
            )
        half = tr("{count} of these match the filter on one side only.", count=wording.count(found.half))
        self._say(tr("{same} the same", same=same), half if found.half else "", translated(found.rules.words))
        self._say_setup(setup)
        self.compared.emit()

    def _say_setup(self, setup: Sequence[str]) -> None:
        """Tell how the collections are set up differently, a line each."""
        lines = [*map(translated, setup[:LINES])]
        if len(setup) > LINES:
            lines.append(tr("and {count} more", count=wording.count(len(setup) - LINES)))
        self.setup.setText("\n".join(lines))
        self.setup.setToolTip(wording.tip("\n".join(map(translated, setup))) if len(setup) > LINES else "")
        self.setup.setVisible(bool(setup))

    def _stopped(self) -> None:
        if self.model.rows:
            self.states.show_content()
            self._say(tr("Reading was stopped, so there may be more."))
        else:
            self.states.show_empty(tr("Stopped"), tr("Nothing was read."), [(tr("Read again"), self.compare)])

    def _say(self, first: str, half: str = "", rules: str = "") -> None:
        each = [f"{wording.count(count)} {LOOKS[kind].text}" for kind, count in self.counts.items()]
        more = sum(self.counts.values()) - len(self.model.rows)
        left = tr("The first {listed} are listed.", listed=wording.count(len(self.model.rows))) if more > 0 else ""
        where = tr("Compared where {filter} matches on either side.", filter=self._filter) if self._filter else ""
        parts = (f"{', '.join((first.rstrip('.'), *each))}.", left, half, where, rules)
        self.said.setText(" ".join(filter(None, parts)))
        self._counted.show()
        self._say_ticks()

    def _activated(self, index: QModelIndex) -> None:
        row = self.model.at(index)
        if row is None or self._other is None:
            return
        here = None if row.here is None else DocumentSide(self._session, self._ns, row.here)
        there = None if row.there is None else DocumentSide(*self._other, row.there)
        self.pair_asked.emit(here, there)
