"""The journal: every write sent from this computer, its changes, its outcome, and its undo."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial

from PySide6.QtCore import QModelIndex, Signal
from PySide6.QtWidgets import QCheckBox, QHeaderView, QWidget

from gui import copying, messages, tasks
from gui.language import tr, translated
from gui.paging import RowsModel, refill
from gui.parts.differences import diff_grouping
from gui.parts.differences.diff_model import DiffModel
from gui.parts.differences.diff_table import DiffTable
from gui.parts.reading import Reading
from gui.style import boxes, states, theme, wording
from gui.style.cells import Badge, Cell, CellTree, Index, Span, plain, value
from gui.style.states import StateStack, button, words
from gui.style.wrapping_row import WrappingRow
from model import text
from model.diff import diff
from model.errors import Refused
from model.foundation.records import Entry, Outcome
from model.session import Session
from model.values.canonical import EMPTY

PAGE = 200
WIDTHS = (72, 154, 90, 190, 190, 130, 150)
NARROW = (48, 154, 72, 110, 150, 92, 160)  # at 1024 pixels, so that the last column is useful
WHEN = 1
COLLECTION, VERSION, DETAIL = 4, 5, 7  # dispensable; the detail of the chosen entry is shown below
_ENDS = {
    "applied": Badge(tr("Applied"), "text2", "typT"),
    "refused": Badge(tr("Refused"), "err", "errT", "conflict"),
    "conflict": Badge(tr("Conflict"), "warn", "warnT", "conflict"),
    "unknown": Badge(tr("Not known"), "warn", "warnT", "conflict"),
    "begun": Badge(tr("Not known"), "warn", "warnT", "conflict"),
    "skipped": Badge(tr("Skipped"), "typ", "typT"),
}


EARLIER = Badge(tr("Earlier data, gone"), "typ", "typT")
"""The outcome of a write to data in memory that are gone since."""


class EntriesModel(RowsModel[Entry]):
    """Entries, newest first; more are fetched when they are scrolled to."""

    headers = (
        tr("Entry"),
        tr("When"),
        tr("What"),
        tr("Document"),
        tr("Collection"),
        tr("Version"),
        tr("How it ended"),
        tr("Detail"),
    )

    def key(self, row: Entry) -> Hashable:
        return row.id

    def cell(self, index: Index) -> Cell:
        row = self.rows[index.row()]
        ink = "text3" if row.gone else "text"
        match index.column():
            case 0:
                return value(row.id, "text3" if row.gone else "text2", indent=8)
            case 1:
                return plain(wording.moment(row.at), ink)
            case 2:
                return plain(translated(row.action).capitalize(), ink)
            case 3:
                return value(_document(row), ink, middle=True, tip=f"{row.ns} / {_document(row)}")
            case 4:
                return plain(row.ns, "text3" if row.gone else "text2", middle=True)
            case 5:
                return value(_versions(row), ink)
            case 6:
                if row.gone:  # the present documents know nothing of it
                    return Cell(badges=(EARLIER,), tip=translated(row.why_not))
                undone = (
                    (Badge(tr("Undone by {undone_by}", undone_by=row.undone_by), "typ", "typT"),)
                    if row.undone_by
                    else ()
                )
                return Cell(badges=(_ENDS[row.kind], *undone))
        return Cell(spans=(Span(translated(row.detail), "text2"),))


class JournalPanel(QWidget):
    """The journal of one source, or of everything written from this computer."""

    conflict_found = Signal(object, object)  # Entry, Conflict: the undo has to be merged

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._on_show: Entry | None = None
        self._answers = True
        boxes.ground(self, "surface")
        self.model = EntriesModel()
        self.model.wanted.connect(self._more)
        self.list = CellTree(row_height=28)
        self.list.as_list(self.model, tr("Journal"))
        self.list.narrow_below(1080, NARROW, WIDTHS, dispensable=(COLLECTION, DETAIL, VERSION))
        self.list.header().setSectionResizeMode(WHEN, QHeaderView.ResizeMode.Fixed)  # never cut by longer texts
        self.list.selectionModel().currentRowChanged.connect(self._chosen)
        self.changes = DiffModel(self)
        self.tree = DiffTable(self.changes)
        self.tree.setAccessibleName(tr("What this write changed"))
        column = boxes.column(self)
        column.addLayout(self._title_row())
        column.addWidget(states.hair())
        self.states = StateStack()
        column.addWidget(self.states, 1)
        split = boxes.split(self.list, self._detail(), parent=self.states.place)
        boxes.share(split, 360, 300)
        self.states.put(split)
        self.reading = Reading(
            self,
            self.states,
            again=self.refresh,
            title=tr("The journal could not be read"),
            key="entries",
            stops="never",
        )
        self._comparing = Reading(
            self,
            self._inner,
            again=self._compare_again,
            failed=self._not_compared,
            stopped=self._comparing_stopped,
            key="compare",
        )
        self.setFocusProxy(self.list)
        self.refresh()

    def _title_row(self) -> WrappingRow:
        row, _ = boxes.titled(
            tr("Journal"), tr("Every write from this computer: noted before it is sent, with its outcome after.")
        )
        self.everywhere = QCheckBox(tr("All sources"))
        self.everywhere.setToolTip(
            wording.tip(
                tr("Also what was written to other sources than {name}", name=wording.source(self._session.name))
            )
        )
        self.everywhere.toggled.connect(self.refresh)
        row.addWidget(self.everywhere)
        row.addWidget(button(tr("Refresh"), self.refresh, "small", icon="arrows-clockwise"))
        return row

    def _detail(self) -> QWidget:
        made = QWidget()
        column = boxes.column(made)
        tools = boxes.ground(QWidget(), "toolrow")
        head = boxes.wrapping(tools, 16, 6)
        self._what = words("", "head")
        head.addWidget(self._what)
        self._detail_text = words("", "second", wrap=True)
        self._detail_text.setMinimumWidth(theme.px(boxes.BESIDE_BUTTONS))
        head.addWidget(self._detail_text, 1)
        self.copy = button(tr("Copy as JSON"), self._copy, "quiet", "small", icon="copy")
        head.addWidget(self.copy)
        self.check = button(tr("Check again"), self._look_again, "small")
        head.addWidget(self.check)
        self.undo = button(tr("Undo this write"), self._undo, "small", icon="arrow-counter-clockwise")
        head.addWidget(self.undo)
        self.undo_run = button(tr("Undo the whole run…"), self._ask_undo_run, "small")
        self.undo_run.setToolTip(tr("Take back every write that was asked for together with this one"))
        self.undo_run.hide()
        head.addWidget(self.undo_run)
        column.addWidget(tools)
        column.addWidget(states.hair())
        self._inner = StateStack(self.tree)
        column.addWidget(self._inner, 1)
        return made

    # --- reading

    @property
    def entry(self) -> Entry | None:
        """The chosen entry."""
        return self.model.at(self.list.currentIndex())

    def refresh(self, _: object = None) -> None:
        """Read the entries again, as many as are listed; the chosen one stays chosen."""
        source = None if self.everywhere.isChecked() else self._session.source
        limit, last = len(self.model.rows) + PAGE, self.model.rows[-1].id if self.model.rows else ""
        work = partial(_entries, self._session, source, limit, last)
        self.reading.ask(work, self._shown, tr("Reading the journal"))

    def _shown(self, read: tuple[list[Entry], bool]) -> None:
        entries, more = read
        refill(self.list, self.model, entries, more)
        if not entries:
            help = tr("What you save, restore, finish or undo is listed here, each with its way back.")
            choices = [] if self.everywhere.isChecked() else [(tr("Show all sources"), self.everywhere.toggle)]
            self.states.show_empty(
                tr("Nothing was written to {name} from here", name=wording.source(self._session.name)), help, choices
            )
            return
        self.states.show_content()
        if not self.list.selectionModel().hasSelection():
            self.list.setCurrentIndex(self.model.index(0, 0))
        else:
            self._chosen(self.list.currentIndex())

    def _more(self) -> None:
        session, source = self._session, None if self.everywhere.isChecked() else self._session.source
        last = self.model.rows[-1].id
        tasks.run(
            lambda _: session.journal.entries(PAGE, source, last),
            done=self._added,
            failed=self.reading.show_failed,
            owner=self,
            key="entries",
        )

    def _added(self, entries: list[Entry]) -> None:
        self.model.add(entries, more=len(entries) == PAGE)

    # --- the chosen entry

    def _chosen(self, now: QModelIndex) -> None:
        entry = self.model.at(now)
        self.copy.setEnabled(entry is not None)
        self.check.setVisible(entry is not None and entry.kind in ("begun", "unknown"))
        self.say_writable()
        if entry == self._on_show:  # its changes stay as shown, with open rows and scroll position
            return
        self._on_show = entry
        self._comparing.drop()  # of the former entry, whose rows would appear under this one's name
        if entry is None:
            return
        self._what.setText(
            tr("{action} of {document}", action=translated(entry.action).capitalize(), document=_document(entry))
        )
        self._detail_text.setText(translated(entry.detail))
        if not (entry.had_before or entry.has_after):
            self._inner.show_empty(tr("This write kept no content"), translated(entry.detail))
            return
        self._comparing.ask(partial(_plan, entry), self._compared, tr("Comparing"))

    def say_answering(self, answers: bool) -> None:
        """Offer undo and looking again only while the server answers."""
        self._answers = answers
        self.say_writable()

    def say_writable(self) -> None:
        """Offer undo if the entry and the connection allow it."""
        entry = self.entry
        why = "" if entry is None else self._why_not(entry)
        self.undo.setEnabled(entry is not None and not why)
        self.undo.setToolTip(wording.tip(why))
        self.undo_run.setVisible(entry is not None and bool(entry.run))
        mine = entry is not None and entry.source == self._session.source
        self.undo_run.setEnabled(mine and not self._session.trust.read_only and self._answers)
        self.check.setEnabled(self._answers)
        self.check.setToolTip(wording.tip("" if self._answers else wording.silent(self._session.name)))

    def _compared(self, plan: diff_grouping.Plan) -> None:
        entry = self.entry
        if entry is None:
            return
        before = tr("before") if entry.had_before else tr("was not there")
        after = tr("after") if entry.has_after else tr("not there any more")
        named = tuple(
            " ".join(filter(None, (word, _version(v))))
            for word, v in ((before, entry.version_before), (after, entry.version_after))
        )
        self.changes.show(plan, (named[0], named[1]), True)
        self._inner.show_content()

    def _comparing_stopped(self) -> None:
        self._on_show = None
        self._inner.show_empty(
            tr("The comparison was stopped"), "", [(tr("Compare again"), self._compare_again)], "hourglass"
        )

    def _not_compared(self, error: BaseException) -> None:
        self._on_show = None
        self._comparing.show_failed(error)

    def _compare_again(self) -> None:
        self._chosen(self.list.currentIndex())

    def _why_not(self, entry: Entry) -> str:
        if entry.why_not or not entry.undoable:
            return translated(entry.why_not)
        if entry.source != self._session.source:
            return tr("It was written to {source}; open that to undo it.", source=entry.source)
        if self._session.trust.read_only:
            return tr("{name} is open read-only.", name=wording.source(self._session.name, first=True))
        return "" if self._answers else wording.silent(self._session.name)

    def _copy(self) -> None:
        if self.entry is not None:
            copying.copy(self, None, partial(_copied, self.entry))

    # --- undo

    def _undo(self) -> None:
        entry = self.entry
        if entry is None:
            return
        session, id = self._session, entry.id
        tasks.run(
            lambda _: session.way_back.undo(id),
            done=partial(self._undo_ended, entry),  # another may be chosen by then
            failed=partial(messages.fail, self),
            owner=self,
            title=tr("Undoing"),
            key="undo",
        )

    def _undo_ended(self, entry: Entry, outcome: Outcome) -> None:
        if outcome.kind == "applied":
            messages.tell(
                self,
                translated(outcome.detail)
                if outcome.detail.startswith("Undone")
                else tr("Undone: {detail}", detail=translated(outcome.detail)),
            )
        elif outcome.kind == "unknown":
            self._say_doubt(outcome, outcome.entry or entry.id)  # the entry of the undo, not of the undone write
        elif outcome.kind == "conflict" and entry.had_before and entry.has_after:
            messages.note(self, translated(outcome.detail), [(tr("Review and merge"), partial(self._merge, entry))])
        else:
            messages.fail(self, translated(outcome.detail))
        self.refresh()

    def _ask_undo_run(self) -> None:
        entry = self.entry
        if entry is not None and entry.run:
            messages.confirm(
                self,
                tr("Undo the whole run?"),
                tr(
                    "Every write of {run} is taken back, the last one first. A document that changed since "
                    "the run is left alone.",
                    run=entry.run,
                ),
                tr("Undo the run"),
                partial(self._undo_run, entry.run),
            )

    def _undo_run(self, run: str) -> None:
        session = self._session
        tasks.run(
            lambda progress: list(session.way_back.undo_run(run, progress)),
            done=partial(self._run_undone, run),
            failed=partial(messages.fail, self),
            owner=self,
            title=tr("Undoing a run"),
            key="undo",
        )

    def _run_undone(self, run: str, outcomes: list[Outcome]) -> None:
        back = sum(outcome.kind == "applied" for outcome in outcomes)
        said = tr("{writes} of {run} taken back", writes=wording.many(back, "write"), run=run)
        left = [translated(outcome.detail) for outcome in outcomes if outcome.kind != "applied"]
        if left:
            messages.note(
                self,
                tr("{said}, {writes} not. {left}", said=said, writes=wording.many(len(left), "write"), left=left[0]),
            )
        else:
            messages.tell(self, said if outcomes else tr("Nothing of {run} is left to undo", run=run))
        self.refresh()

    def _merge(self, entry: Entry) -> None:
        session = self._session
        tasks.run(
            lambda _: session.way_back.conflict(entry.id),
            done=partial(self.conflict_found.emit, entry),
            failed=partial(messages.fail, self),
            owner=self,
            title=tr("Merging"),
            key="undo",
        )

    def _look_again(self) -> None:
        if self.entry is not None:
            self._look_again_at(self.entry.id)

    def _look_again_at(self, entry: str) -> None:
        session = self._session
        tasks.run(
            lambda _: session.way_back.look_again(entry),
            done=partial(self._looked, entry),
            failed=partial(messages.fail, self),
            owner=self,
            title=tr("Checking"),
        )

    def _say_doubt(self, outcome: Outcome, entry: str) -> None:
        messages.doubt(self, wording.about(outcome), partial(self._look_again_at, entry), outcome.token or "")

    def _looked(self, entry: str, outcome: Outcome) -> None:
        if outcome.kind == "unknown":
            self._say_doubt(outcome, entry)
        else:
            messages.tell(self, translated(outcome.detail))
        self.refresh()


def _entries(
    session: Session, source: str | None, limit: int, last: str, _: tasks.Progress
) -> tuple[list[Entry], bool]:
    """The newest entries, down to the ``last`` listed one, and whether there are older ones."""
    found = session.journal.entries(limit, source)
    down_to = next((at for at, entry in enumerate(found, 1) if entry.id == last), 0)
    shown = found[: max(down_to, PAGE)]
    return shown, len(shown) < len(found) or len(found) == limit


def _plan(entry: Entry, progress: tasks.Progress) -> diff_grouping.Plan:
    """The difference between the contents before and after a write."""
    before, after = entry.contents()
    a, b = before or EMPTY, after or EMPTY
    return diff_grouping.plan(a, b, diff(a, b), progress)


def _copied(entry: Entry) -> str:
    """The contents before and after a write, as JSON."""
    parts = ("null" if each is None else text.to_text(each) for each in entry.contents())
    return '{"before": %s, "after": %s}' % tuple(parts)  # noqa: UP031 (braces)


def _document(entry: Entry) -> str:
    if not entry.document:
        return tr("the collection")
    try:
        return wording.plain(text.value_from_text(entry.document))
    except Refused:
        return entry.document


def _version(shown: str | None) -> str:
    return "" if shown is None else wording.version(text.value_from_text(shown))


def _versions(entry: Entry) -> str:
    before, after = _version(entry.version_before), _version(entry.version_after)
    return f"{before} → {after}" if before and after else before or after
