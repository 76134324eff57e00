"""A plan over many documents: ticks, a dry run, the comparison, and writing with undo; see :mod:`plan_kind`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from gui import messages, tasks
from gui.language import tr, translated
from gui.parts.differences import diff_grouping
from gui.parts.differences.diff_model import DiffModel
from gui.parts.differences.diff_table import DiffTable
from gui.parts.reading import Reading
from gui.parts.ticked_list import TickedList
from gui.style import boxes, icons, states, theme, wording
from gui.style.clear_cross import ClearCross
from gui.style.states import OneLine, StateStack, button, words
from gui.views.repair.plan_kind import TAKING_BACK, Drawn, PlanKind
from gui.views.repair.repair_rows import Foot, TicksRow
from gui.views.repair.taking_back_model import TakingBackModel
from model.diff import diff
from model.errors import Refused
from model.foundation.records import Outcome
from model.session import Session
from model.session.batch_writing import Chosen, TakenBack
from model.session.guarded_writing import Conflict
from model.values.canonical import Value

MANY = 100  # from this number of documents on, the number has to be typed
FIELDS = 200  # u, the least width of the line with the fields


class TakingBackPanel(QWidget):
    """What a person wants to do to documents of one collection, such as taking changes back."""

    closed = Signal()
    changed = Signal()
    conflict_found = Signal(object, object)  # the document's id, and the Conflict for a person to decide

    def __init__(
        self,
        session: Session,
        ns: str,
        chosen: Sequence[Chosen],
        production: bool = False,
        parent: QWidget | None = None,
        kind: PlanKind = TAKING_BACK,
    ) -> None:
        super().__init__(parent)
        self.kind = kind
        self._session, self._ns, self.production = session, ns, production
        self.run = ""
        self._writing: tasks.Task | None = None
        self._answers = True
        self._again: set[Value] = set()  # documents written since their dry run
        self._limited = ""  # the fields in the line that the dry run was limited to
        boxes.ground(self, "surface")
        self.model = TakingBackModel(kind)
        self.model.ticked_changed.connect(self._say)
        self._assemble()
        tasks.run(
            lambda _: session.catalogue.info(ns).fields, done=self._known, failed=self._unknown, owner=self, key="info"
        )
        self.put(chosen)

    # --- its parts

    def _assemble(self) -> None:
        self.list = TickedList(self.model, self.model, self.kind.list_name)
        self.list.fit(*self.model.fitting)
        self.list.selectionModel().currentRowChanged.connect(self._chosen)
        ticks = TicksRow(self._tick_all)
        self._all, self._guard = ticks.all, ticks.guard
        self.states = StateStack()
        self.states.turned.connect(self._say)
        self.reading = Reading(
            self,
            self.states,
            again=self.dry_run,
            stopped=self._stopped,
            title=tr("The dry run did not come to its end"),
            key="dry",
        )
        self._foot = foot = Foot(self._cancel, self.dry_run, self._ask)
        self._note, self.cancel, self.again, self.go = foot.note, foot.cancel, foot.again, foot.go
        self.reason = foot.reason
        column = boxes.column(self)
        title, self._line = boxes.titled(self.kind.title)
        self.fields = QLineEdit(self)
        self.fields.setVisible(bool(self.kind.label))
        self.fields.setProperty("small", True)
        self.fields.setPlaceholderText(self.kind.placeholder)
        self.fields.setAccessibleName(self.kind.label)
        self.fields.setToolTip(wording.tip(self.kind.tip))
        self.fields.setMinimumWidth(theme.px(FIELDS))
        ClearCross(self.fields)
        self.fields.editingFinished.connect(self._limit)
        if self.kind.label:
            only = words(self.kind.label, "second")
            only.setBuddy(self.fields)
            title.addWidget(only)
            title.addWidget(self.fields)
        column.addLayout(title)
        self.trouble = words("", "error", wrap=True)
        self.trouble.setContentsMargins(theme.px(16), 0, theme.px(16), theme.px(6))
        self.trouble.hide()
        column.addWidget(self.trouble)
        column.addWidget(states.hair())
        column.addWidget(self.states, 1)
        split = boxes.split(parent=self.states.place)
        upper = QWidget(split)
        inner = boxes.column(upper)
        inner.addWidget(self.list, 1)
        inner.addWidget(ticks)
        split.addWidget(self._preview())
        boxes.share(split, 260, 330)
        self.states.put(split)
        column.addWidget(states.hair())
        self._report_row = self._report_line()
        column.addWidget(self._report_row)
        column.addWidget(foot)
        self.setFocusProxy(self.list)

    def _preview(self) -> QWidget:
        made = QWidget()
        column = boxes.column(made)
        tools = boxes.ground(QWidget(), "toolrow")
        head = boxes.row(tools, 16, 6)
        self.which = words("", "head")
        self.detail = OneLine("second")
        self.decide = button(tr("Decide by hand…"), self._decide, "small", icon="git-merge")
        head.addWidget(self.which)
        head.addWidget(self.detail, 1)
        head.addWidget(self.decide)
        self.changes = DiffModel(self)
        self.table = DiffTable(self.changes)
        self.table.setAccessibleName(tr("The document now, and as it would be"))
        self._inner = StateStack(self.table)
        column.addWidget(tools)
        column.addWidget(states.hair())
        column.addWidget(self._inner, 1)
        return made

    def _report_line(self) -> QWidget:
        made = QWidget()
        row = boxes.row(made, 16, 6)
        self._report_head = words(tr("Dry run report"), "head")
        self.report = messages.report()
        row.addWidget(self._report_head)
        row.addSpacing(theme.px(8))
        row.addWidget(self.report, 1)
        return made

    def _known(self, fields: dict[str, str]) -> None:
        self.reason.setVisible(self.kind.takes_reason and "reason" in fields)

    def _unknown(self, error: BaseException) -> None:
        pass  # the dry run says why nothing can be read

    # --- the plan and its dry run

    def put(self, chosen: Sequence[Chosen]) -> None:
        """Work on other changes."""
        self.run = ""
        if shown := self.kind.shown(chosen):
            self.fields.setText(shown)
        self._limited = self.fields.text()
        self.model.put(chosen)
        if chosen:
            self.list.setCurrentIndex(self.model.index(0, 1))
        self.dry_run()

    def _limit(self) -> None:
        """Try the documents by what was typed into the line."""
        said = self.fields.text()
        if said == self._limited or not self._is_idle or self.model.ends:
            return
        try:
            rows = self.kind.typed(self.model.rows, said)
        except Refused as error:
            self.trouble.setText(translated(str(error)))
            self.trouble.show()
            return
        self.trouble.hide()
        self.put(rows)

    def dry_run(self, ids: set[Value] | None = None) -> None:
        """Try every document, or some of them, and write nothing."""
        if self.busy:
            return
        if self._is_untold:
            self._look()
            self._say()
            return
        if ids is None:  # what somebody else changed meanwhile was not written, and can be tried again
            self.model.ends = {id: end for id, end in self.model.ends.items() if end.kind != "conflict"}
        wanted = [row for row in self.model.rows if (ids is None or row.id in ids) and row.id not in self.model.ends]
        if ids is None:
            self.model.drawn = {}
            self._again = set()
            self.states.show_content()  # the documents are known, and each gets its answer there
        self.reading.ask(
            partial(_draw, self.kind, self._session, self._ns, wanted, self._limited),
            self._dried,
            tr("Dry run"),
            title=tr("Dry run"),
            partial=self._one_dried,
            failed=partial(self._dry_failed, ids is None),
        )
        if ids is None:
            self._look()
        self._say()

    def _one_dried(self, drawn: Drawn) -> None:
        self.model.drawn[drawn.id] = drawn
        at = self.model.row_of(drawn.id)
        self.model.touch(at)
        if at == self.list.currentIndex().row():
            self._look()
        self._say()

    def _dried(self, _: object) -> None:
        self.states.show_content()
        self._say()
        self._follow_on()

    def _stopped(self) -> None:
        self.states.show_content()
        self._look()
        self._say()

    def _dry_failed(self, anew: bool, error: BaseException) -> None:
        if anew:
            self.states.forget_content()
        self.reading.show_failed(error)
        self._say()

    def follow(self, ids: set[Value]) -> None:
        """Try written documents again, once nothing else runs."""
        self._again |= ids & {row.id for row in self.model.rows if row.id not in self.model.ends}
        self._follow_on()

    def _follow_on(self) -> None:
        if self._again and self._is_idle:
            again, self._again = self._again, set()
            self.dry_run(again)

    # --- one document

    @property
    def row(self) -> Chosen | None:
        """The current document."""
        return self.model.at(self.list.currentIndex())

    def _chosen(self, _: QModelIndex, __: QModelIndex) -> None:
        self._look()

    def _look(self) -> None:
        row = self.row
        drawn = None if row is None else self.model.drawn.get(row.id)
        name = "" if row is None else wording.plain(row.id)
        self.which.setText(name)
        self.detail.setText("" if row is None else self.model.detail(row).removeprefix(name).lstrip(": "))
        open_question = drawn is not None and bool(drawn.at_odds) and row is not None and row.id not in self.model.ends
        self.decide.setVisible(open_question)
        why = self._why_not()
        self.decide.setEnabled(not why)
        self.decide.setToolTip(wording.tip(why))
        tasks.drop(self, "compare")  # of the former document, whose rows would appear under this one's name
        self._inner.show_content()
        shown = None if drawn is None else self.kind.compared(drawn)
        if drawn is None or shown is None:
            self.changes.show(None, ("", ""), True)
            if drawn is None:
                self._say_untried(row)
            else:
                self._inner.show_empty(
                    tr("Nothing would be written to {name}", name=wording.plain(drawn.id)),
                    tr("Decide by hand: both edits are shown side by side, and what you save is one separate write.")
                    if open_question
                    else "",
                )
            return
        a, b = shown.before, shown.after
        tasks.run(
            lambda progress: (diff_grouping.plan(a, b, diff(a, b), progress), shown.titles),
            done=self._compared,
            failed=self._not_compared,
            owner=self,
            key="compare",
        )

    def _say_untried(self, row: Chosen | None) -> None:
        """Say why nothing is compared for a document that the dry run has not reached."""
        if row is None or row.id in self.model.ends:
            return
        if self._is_untold:
            self._inner.show_empty(self.kind.wants_line)
        elif self.reading.is_on or self.busy:
            self._inner.forget_content()
            self._inner.show_loading(tr("Trying it without writing"))
        else:
            self._inner.show_empty(tr("Not tried"), tr("Another dry run shows what would be written."), icon="play")

    def _compared(self, found: tuple[diff_grouping.Plan, tuple[str, str]]) -> None:
        self.changes.show(*found, True)

    def _not_compared(self, error: BaseException) -> None:
        self._inner.show_failed(error, self._look)

    def _decide(self) -> None:
        row = self.row
        drawn = None if row is None else self.model.drawn.get(row.id)
        if not isinstance(drawn, TakenBack):
            return
        session, ns = self._session, self._ns
        tasks.run(
            lambda _: session.taking_back.conflict(ns, drawn),
            done=partial(self._to_decide, drawn.id),
            failed=partial(messages.fail, self),
            owner=self,
            key="conflict",
            title=tr("Merging"),
        )

    def _to_decide(self, id: Value, conflict: Conflict) -> None:
        self.conflict_found.emit(id, conflict)

    # --- ticks and texts

    def _tick_all(self) -> None:
        able = [row for row in self.model.rows if self.model.can_tick(row)]
        self.model.tick(able, on=not all(self.model.is_ticked(row) for row in able))

    def _say(self) -> None:
        rows, ticked = self.model.rows, [] if self.states.is_unread else self.model.ticked()
        self._line.setText(self.kind.about(rows))
        self._all.setText(
            tr("{ticked} of {documents} ticked", ticked=wording.count(len(ticked)),
               documents=wording.many(len(rows), "document"))
        )  # fmt: skip
        self._all.setIcon(icons.tick(len(ticked), len(rows)))
        self._all.setEnabled(any(self.model.can_tick(row) for row in rows))
        self._guard.setText(tr("Each is one guarded write: only if the document is still as the dry run saw it."))
        self._report_head.setText(tr("Report") if self.model.ends else tr("Dry run report"))
        self.report.setText("" if self.states.is_unread else self.model.counts() or tr("No answer so far"))
        self._report_row.setVisible(not self.states.is_unread)
        why = self._why_not() or ("" if ticked else tr("Nothing is ticked."))
        self.go.setText(self.kind.some(len(ticked)) if ticked else self.kind.title)
        self.go.setEnabled(not why and self._is_idle)
        self.go.setToolTip(wording.tip(why))
        unread = "" if self._answers else wording.unread(self._session.name)
        self._foot.offer_again(bool(rows) and self._is_idle, unread)
        self.fields.setEnabled(self._is_idle and not self.model.ends)
        self.cancel.setText(tr("Stop") if self.busy else tr("Close") if self.model.ends else tr("Cancel"))
        self.changed.emit()

    def say_writable(self) -> None:
        """Update whether taking back is offered: the connection's permission changed."""
        self._say()
        self._look()

    def say_answering(self, answers: bool) -> None:
        """Offer taking back only while the server answers."""
        self._answers = answers
        self.say_writable()

    def _why_not(self) -> str:
        """Why nothing can be written, whatever is ticked; "" if it can."""
        if self._session.trust.read_only:
            return self.kind.read_only(wording.source(self._session.name, first=True))
        return "" if self._answers else wording.silent(self._session.name)

    # --- writing

    @property
    def busy(self) -> bool:
        """Whether documents are being written."""
        return self._writing is not None and self._writing.running

    @property
    def _is_idle(self) -> bool:
        return not self.busy and not self.reading.is_on

    @property
    def _is_untold(self) -> bool:
        """Whether nothing can be tried before something is typed into the line."""
        return bool(self.kind.wants_line) and not self._limited.strip()

    def _ask(self) -> None:
        ticked = self.model.ticked()
        if not ticked:
            return
        typed = self._session.name if self.production else str(len(ticked)) if len(ticked) >= MANY else None
        if typed is None:
            self.apply()  # the list, its dry run and the undo are all in sight
            return
        messages.confirm(
            self,
            f"{self.go.text()}?",
            tr("Each is one guarded write; a document that changed since the dry run is left alone. Undo "
               "from the journal."),
            self.go.text(),
            self.apply,
            danger=True,
            typed=typed,
        )  # fmt: skip

    def apply(self) -> None:
        """Write the ticked documents."""
        if not self._is_idle:
            return
        ticked, session, ns = self.model.ticked(), self._session, self._ns
        reason = self.reason.take()
        found: list[str] = []
        kind, said, drawn = self.kind, self._limited, dict(self.model.drawn)

        def write(progress: tasks.Progress) -> None:
            done = kind.apply(session, ns, ticked, said, drawn, progress, reason)
            found.append(done.id)
            for outcome in done:
                progress.put(outcome)

        self._writing = tasks.run(
            write,
            done=partial(self._ended, found),
            failed=partial(self._broke, found),
            cancelled=partial(self._ended, found),
            partial=self._one_ended,
            owner=self,
            key="apply",
            title=self.kind.working,
        )
        self._say()

    def _one_ended(self, outcome: Outcome) -> None:
        if outcome.id is None or (outcome.kind == "skipped" and outcome.version is not None):
            return  # a version that cannot be taken back, beside others that can
        self.model.ends[outcome.id] = outcome
        self.model.touch(self.model.row_of(outcome.id))
        self.report.setText(self.model.counts())

    def _ended(self, run: list[str], _: object = None, error: BaseException | None = None) -> None:
        self.run = run[0] if run else self.run
        self.model.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, self.model.columnCount() - 1)
        self._note.setText(tr("Each write is in the journal; the whole run can be undone there."))
        self._look()
        self._say()
        ends = list(self.model.ends.values())
        done = sum(end.kind == "applied" for end in ends)
        if done:
            messages.tell_of_run(self, self.kind.ended(done), partial(self.undo, self.run))
        self._doubt(error)
        self._follow_on()

    def _doubt(self, error: BaseException | None = None) -> None:
        """Say for which write it is unknown whether it arrived, with a button that looks for all of them."""
        unknown = [end for end in self.model.ends.values() if end.kind == "unknown"]
        if unknown:
            first = unknown[0]
            messages.doubt(self, wording.about(first), partial(self._check, unknown), first.token or "", error)
        elif error is not None:
            messages.fail(self, error)

    def _check(self, unknown: Sequence[Outcome]) -> None:
        session = self._session
        tasks.run(
            lambda _: [
                (each.id, session.way_back.look_again(each.entry)) for each in unknown if each.entry is not None
            ],
            done=self._checked,
            failed=self._doubt,
            owner=self,
            key="check",
            title=tr("Checking"),
        )

    def _checked(self, found: list[tuple[Value, Outcome]]) -> None:
        lost = {id for id, end in found if end.kind not in ("applied", "unknown")}
        for id, end in found:
            self.model.ends[id] = end
        for id in lost:
            del self.model.ends[id]
        self.model.redraw()
        self._look()
        self._say()
        self._doubt()
        if lost:
            self.dry_run(lost)

    def _broke(self, run: list[str], error: BaseException) -> None:
        self._ended(run, error=error)

    def undo(self, run: str) -> None:
        """Undo all writes of a run."""
        session = self._session
        tasks.run(
            lambda progress: list(session.way_back.undo_run(run, progress)),
            done=self._undone,
            failed=partial(messages.fail, self),
            owner=self,
            title=tr("Undoing a run"),
            key="undo",
        )

    def _undone(self, outcomes: list[Outcome]) -> None:
        back = sum(outcome.kind == "applied" for outcome in outcomes)
        messages.tell(self, tr("{writes} taken back", writes=wording.many(back, "write")))
        for outcome in outcomes:
            if outcome.kind != "applied":
                messages.fail(self, translated(outcome.detail))
        self.model.ends = {}
        self.dry_run()

    def _cancel(self) -> None:
        if self.busy and self._writing is not None:
            self._writing.cancel()
        else:
            self.closed.emit()


def _draw(
    kind: PlanKind, session: Session, ns: str, wanted: Sequence[Chosen], said: str, progress: tasks.Progress
) -> None:
    """Report how each document would end."""
    for drawn in kind.draw(session, ns, wanted, said, lambda done, _: progress(done, len(wanted))):
        progress.put(drawn)
