"""The versions at which a condition turns: a filter is checked on every version of one document."""

from __future__ import annotations

from collections.abc import Hashable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHeaderView, QWidget

from gui import tasks
from gui.language import tr, translated
from gui.paging import RowsModel, refill
from gui.parts.completing_line import CompletingLine
from gui.parts.completion import Offer, in_filter
from gui.parts.reading import Reading
from gui.style import boxes, preferences, states, theme, wording
from gui.style.cells import Badge, Cell, Index, plain, value
from gui.style.states import StateStack, button, words
from gui.style.title import Title
from gui.views.history.blame_panel import FieldList, by_cell, when_cell
from model.errors import NotAllowed, NotFound, Refused, Unreachable
from model.session import Session
from model.session.history_reading import Bisection, Turn
from model.session.query_help import FieldSurvey
from model.values.canonical import Value

VERSION, WHEN, BY, SAYS, BEFORE = range(5)
WIDTHS = (120, 150, 160, 240, 320)
HINT = tr('For example { "status": "active" } or { "premium.gross": { $gte: 500 } }, as in the filter of a collection.')


class TurnsModel(RowsModel[Turn]):
    """The turns, newest first."""

    headers = (tr("Version"), tr("When"), tr("By"), tr("From here on"), tr("Before"))

    def key(self, row: Turn) -> Hashable:
        return row.version.v

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        version, column = row.version, index.column()
        if column == VERSION:
            return value(wording.version(version.v) or "current", indent=8)
        if column == WHEN:
            return when_cell(version)
        if column == BY:
            return by_cell(version)
        if column == SAYS:
            if row.holds:
                return Cell(badges=(Badge(tr("it holds"), "acc", "accTint"),), accessible=tr("it holds from here on"))
            return Cell(
                badges=(Badge(tr("it does not hold"), "typ", "typT"),), accessible=tr("it does not hold from here on")
            )
        before = wording.version(row.before.v)
        if not row.gap:
            return plain(before, "text2", size=12)
        missing = wording.many(row.gap, "missing version is", "missing versions are")
        return plain(
            tr("{before}; {missing} between, it may be one of those", before=before, missing=missing), "text2", size=12
        )


class BisectPanel(QWidget):
    """A line for the condition, and the versions at which it turns; ``compare_asked`` carries two versions."""

    compare_asked = Signal(object, object)

    def __init__(self, session: Session, ns: str, id: Value, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self.ns, self.id = session, ns, id
        self.found: Bisection | None = None
        self.ran = self._running = self._wanted = ""  # the conditions checked last, checked now, and asked for last
        self._is_asked = False  # by a person, who continues in the list
        boxes.ground(self, "surface")
        self._survey = FieldSurvey()
        self.input = CompletingLine(self._words)
        self.input.setPlaceholderText(tr('Condition, for example { "status": "active" }'))
        self.input.setAccessibleName(tr("Condition"))
        self.input.returnPressed.connect(self.run)
        self.find_button = button(tr("Find"), self.run, "main")
        self.trouble = words("", "error", wrap=True)
        self.trouble.hide()
        self.summary = words("", "second")
        self.compare_button = button(tr("Compare"), self.compare, "small", icon="git-diff")
        self.compare_button.setEnabled(False)
        self.model = TurnsModel()
        self.list = FieldList(row_height=28)
        self.list.as_list(self.model, tr("Versions at which the condition turns, newest first"), WIDTHS)
        self.list.header().setStretchLastSection(False)
        self.list.header().setSectionResizeMode(BEFORE, QHeaderView.ResizeMode.Stretch)
        self.list.opened.connect(self.compare)
        self.list.doubleClicked.connect(lambda _: self.compare())
        self.list.selectionModel().currentRowChanged.connect(self._offer)
        self.stack = StateStack(self.list)
        self.stack.turned.connect(self._say_known)
        self.reading = Reading(
            self,
            self.stack,
            has=lambda: self.found is not None,
            again=lambda: self._judge(self._wanted),
            keep=self._fill,
            failed=self._not_judged,
            stopped=self._stopped,
            title=tr("The versions of {id} could not be looked at", id=wording.plain(id)),
        )
        self._build()
        self.setFocusProxy(self.input)
        preferences.signals.changed.connect(self._fill)
        self._read_fields()
        self.stack.show_empty(tr("When did it become true?"), HINT, icon="magnifying-glass")

    def _build(self) -> None:
        head = QWidget()
        row = boxes.wrapping(head, 16, 8, gap=10, least=44)
        row.addWidget(Title(tr("Find when this became true")))
        row.addStretch(1)
        row.addWidget(self.compare_button)
        asking = boxes.row(x=16, y=8)
        asking.addWidget(self.input, 1)
        asking.addWidget(self.find_button)
        said = boxes.row(x=16, y=0)
        said.setContentsMargins(theme.px(16), 0, theme.px(16), theme.px(8))
        said.addWidget(self.trouble, 1)
        said.addWidget(self.summary, 1)
        column = boxes.column(self)
        column.addWidget(head)
        column.addWidget(states.hair())
        column.addLayout(asking)
        column.addLayout(said)
        column.addWidget(states.hair())
        column.addWidget(self.stack, 1)

    # --- field names, below the line

    def _words(self, typed: str, at: int, asked: bool) -> Offer | None:
        return in_filter(typed, at, self._survey.fields, asked)

    def _read_fields(self) -> None:
        session, ns, id = self._session, self.ns, self.id
        tasks.run(
            lambda _: session.queries.content_fields(ns, id),
            done=self._fields_known,
            failed=self._no_fields,
            owner=self,
            key="fields",
            title=tr("Reading the fields of {id}", id=wording.plain(id)),
        )

    def _fields_known(self, survey: FieldSurvey) -> None:
        self._survey = survey

    def _no_fields(self, error: BaseException) -> None:
        pass  # operators are still offered, and errors are told when it is looked for

    # --- finding

    def ask(self, filter: str) -> None:
        """Put a condition into the line, focus it, and find its turns."""
        self.input.setText(filter)
        self.input.setFocus()
        self.run()

    def run(self) -> None:
        """Check every version against the condition in the line."""
        filter = self.input.text().strip()
        if not filter:
            self._say_trouble(tr("Type a condition first."))
            return
        self._say_trouble("")
        self._is_asked = True
        self._judge(filter)

    def refresh(self) -> None:
        """Check again, because the document has new versions; typed text and the focus stay."""
        if filter := self._running or self.ran:
            self._judge(filter)

    def _judge(self, filter: str) -> None:
        session, ns, id = self._session, self.ns, self.id
        self._running = self._wanted = filter
        self.reading.ask(
            lambda progress: (filter, session.history.bisect(ns, id, filter, progress)),
            self._done,
            tr("Looking at the versions of {id}", id=wording.plain(id)),
            title=tr("Looking through {id}", id=wording.plain(id)),
        )

    def stop(self) -> None:
        """Stop looking."""
        self.reading.stop()

    def _say_trouble(self, said: str) -> None:
        self.trouble.setText(said)
        self.trouble.setVisible(bool(said))
        self._say_known()

    def _say_known(self) -> None:
        """Show the result of a search, and the compare button, only while that result is visible."""
        self.summary.setVisible(not self.trouble.text() and not self.stack.is_unread)
        self._offer()

    def _done(self, answer: tuple[str, Bisection]) -> None:
        self.ran, self.found = answer
        self._fill()
        if self._is_asked and self.model.rows and self.input.hasFocus():
            self.list.setFocus()
        self._end()

    def _end(self) -> None:
        self._running, self._is_asked = "", False

    def _not_judged(self, error: BaseException) -> None:
        self._end()
        if isinstance(error, Refused) and not isinstance(error, Unreachable | NotAllowed | NotFound):
            self._say_trouble(translated(str(error)))  # the condition is wrong: the former result stays
            if self.found is not None:
                self._fill()
            else:
                self.stack.show_empty(tr("The condition did not run"), HINT, icon="magnifying-glass")
            return
        self.reading.show_failed(error)

    def _stopped(self) -> None:
        self._end()
        self.reading.show_stopped(tr("Looking was stopped"), tr("Look again"), self.run)

    def _fill(self, *_: object) -> None:
        found = self.found
        if found is None:
            return
        refill(self.list, self.model, list(reversed(found.turns)))
        now = tr("It holds now") if found.holds else tr("It does not hold now")
        turned = wording.many(len(found.turns), "turn")
        self.summary.setText(
            tr(
                "{now}; {turned} in {versions} that can be read",
                now=now,
                turned=turned,
                versions=wording.many(found.looked, "version"),
            )
        )
        if found.turns:
            self.stack.show_content()
            if not self.list.currentIndex().isValid():
                self.list.setCurrentIndex(self.model.index(0, VERSION))
        elif not found.looked:
            self.stack.show_empty(tr("No version could be read"), "", icon="magnifying-glass")
        else:
            says = tr("holds in each") if found.holds else tr("does not hold in any")
            help = tr(
                "The condition {says} of the {versions} that can be read.",
                says=says,
                versions=wording.many(found.looked, "version"),
            )
            self.stack.show_empty(tr("It never turns"), help, icon="magnifying-glass")
        self._offer()

    # --- the chosen turn

    def _offer(self, *_: object) -> None:
        row = None if self.stack.is_unread else self.model.at(self.list.currentIndex())
        self.compare_button.setEnabled(row is not None)
        names = () if row is None else (wording.version(row.before.v), wording.version(row.version.v))
        self.compare_button.setText(tr("Compare {names}", names=tr(" and ").join(names)) if names else tr("Compare"))

    def compare(self) -> None:
        """Ask to compare the version of the chosen turn with the one before it."""
        row = self.model.at(self.list.currentIndex())
        if row is not None:
            self.compare_asked.emit(row.before, row.version)
