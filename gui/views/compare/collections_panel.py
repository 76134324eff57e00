"""Two collections side by side: asks for the other one, counts what differs, and lists it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from PySide6.QtCore import QModelIndex, Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from gui import tasks
from gui.language import tr, translated
from gui.paging import RowsModel
from gui.parts.completing_line import CompletingLine
from gui.parts.completion import Completion, Offer
from gui.parts.document_side import DocumentSide
from gui.parts.reading import Reading
from gui.style import boxes, states, theme, wording
from gui.style.cells import Badge, Cell, CellTree, Index, plain, value
from gui.style.states import DropDown, StateStack, button, words
from gui.views.compare import kept_rules
from model import text
from model.session import Session
from model.session.two_collections import SideBySide, Standing

HERE, THERE, SINCE = range(2, 5)
PAUSE = 0.2  # seconds after which the documents found so far are passed on
MOST = 20_000  # documents listed; the others are only counted
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
    """The documents that differ between two collections."""

    headers = (tr("Document"), tr("What"), tr("Here"), tr("There"), tr("Since"))

    def key(self, row: Standing) -> Hashable:
        return row.key

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        if index.column() == 0:
            return value(wording.plain(row.key), middle=True, indent=8)
        if index.column() == 1:
            return Cell(badges=(LOOKS[row.change],), accessible=LOOKS[row.change].text)
        v = {HERE: row.v, THERE: row.w, SINCE: row.since}[index.column()]
        return plain(wording.version(v) if v is not None else "")


class CollectionsPanel(QWidget):
    """Compares a collection with another one. ``pair_asked`` carries both sides of a document, of which one may be
    None.
    """

    pair_asked = Signal(object, object)
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
        self.counts: Counter[str] = Counter()
        self.connection = DropDown()
        self.connection.setProperty("tall", True)
        self.connection.addItems([text.plain(each.name) for each in self._sessions])
        self.connection.setCurrentIndex(self._sessions.index(session) if session in self._sessions else 0)
        self.collection = CompletingLine(self._names)
        self.key = QLineEdit()
        self.key.setProperty("mono", True)
        self.key.setPlaceholderText(tr("left empty: the ids"))
        self.run = button(tr("Compare"), self.compare, "main")
        self.said = words("", "second", wrap=True)
        self.model = StandingsModel()
        self.list = CellTree(row_height=28)
        self.list.as_list(self.model, tr("Documents of {ns} that differ", ns=ns))
        self.list.resize_columns((240, 130, 100, 100, 100), dispensable=(HERE, THERE, SINCE))
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
            (tr("Pair by"), self.key, 220),
            ("", self.run, 0),  # level with the fields
        ):
            if name:
                field.setAccessibleName(name)
            field.setMinimumWidth(theme.px(width))
            field.setFixedHeight(theme.px(32))
            row.addLayout(boxes.named(name, field))
        counted = QWidget()
        boxes.ground(counted, "surface")
        boxes.row(counted, 16, 6).addWidget(self.said)
        self._counted = counted
        counted.hide()
        column = boxes.column(self)
        for part in (head, states.hair(), counted):
            column.addWidget(part)
        column.addWidget(self.states, 1)
        self.setFocusProxy(self.collection)
        for line in (self.collection, self.key):
            line.textChanged.connect(self._fit)
            line.returnPressed.connect(self.compare)
        self._fit()
        self.states.show_empty(
            tr("Which other collection?"),
            tr("What differs between {ns} and the other collection is listed here.", ns=ns),
            icon="git-diff",
        )

    def _names(self, typed: str, at: int, asked: bool) -> Offer | None:
        known = self._places[self._sessions[self.connection.currentIndex()]]
        names = [name for name in known if asked or (typed.lower() in name.lower() != typed)]
        if not names or names == [typed]:
            return None
        return Offer(0, len(typed), tuple(Completion(name, "", name) for name in names))

    def _fit(self) -> None:
        self.run.setEnabled(bool(self.collection.text().strip()))

    def compare(self) -> None:
        """Compare with the collection entered above."""
        if not self.run.isEnabled():
            return
        other, ns = self._sessions[self.connection.currentIndex()], self.collection.text().strip()
        self._other = other, ns
        self.counts = Counter()
        self.model.fill([])
        self._counted.hide()
        rules = kept_rules.kept(self._session.source, self._ns)

        def work(progress: tasks.Progress) -> SideBySide:
            two = self._session.beside(self._ns, other, ns, self.key.text().strip())
            found = two.compare(rules.with_unordered(two.unordered.unordered), progress)
            for some in tasks.portions(found, PAUSE):
                progress.put(some)
            return found

        said = tr("Comparing {ns} with {ns2}", ns=self._ns, ns2=ns)
        self.reading.ask(work, self._done, said, title=said, partial=self._arrived)

    def stop(self) -> None:
        """Stop reading."""
        self.reading.stop()

    def _arrived(self, some: list[Standing]) -> None:
        self.counts.update(each.change for each in some)
        self.model.add(some[: max(0, MOST - len(self.model.rows))])
        if some and not self.list.currentIndex().isValid():
            self.list.setCurrentIndex(self.model.index(0, 0))

    def _done(self, found: SideBySide) -> None:
        same = wording.count(found.same)
        if self.model.rows:
            self.states.show_content()
        else:
            self.states.show_empty(
                tr("Nothing differs"), tr("{same} documents are the same.", same=same), icon="check-circle"
            )
        self._say(tr("{same} the same", same=same), translated(found.rules.words))
        self.compared.emit()

    def _stopped(self) -> None:
        if self.model.rows:
            self.states.show_content()
            self._say(tr("Reading was stopped, so there may be more."), "")
        else:
            self.states.show_empty(tr("Stopped"), tr("Nothing was read."), [(tr("Read again"), self.compare)])

    def _say(self, first: str, rules: str) -> None:
        each = [f"{wording.count(count)} {LOOKS[kind].text}" for kind, count in self.counts.items()]
        more = sum(self.counts.values()) - len(self.model.rows)
        left = tr("The first {listed} are listed.", listed=wording.count(len(self.model.rows))) if more > 0 else ""
        self.said.setText(" ".join(filter(None, (f"{', '.join((first.rstrip('.'), *each))}.", left, rules))))
        self._counted.show()

    def _activated(self, index: QModelIndex) -> None:
        row = self.model.at(index)
        if row is None or self._other is None:
            return
        here = None if row.here is None else DocumentSide(self._session, self._ns, row.here)
        there = None if row.there is None else DocumentSide(*self._other, row.there)
        self.pair_asked.emit(here, there)
