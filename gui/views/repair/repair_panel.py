"""The repair centre: scan, findings by class, the plan to tick, its dry run, and repairing with undo."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gui import messages, tasks
from gui.language import tr, translated
from gui.parts.later_part import LaterPart
from gui.parts.ticked_list import TickedList
from gui.parts.writes_in_doubt import WritesInDoubt
from gui.style import boxes, drawn_in_turns, icons, states, wording
from gui.style.front_layout import FrontLayout
from gui.style.stacking_split import StackingSplit
from gui.style.states import StateStack
from gui.views.repair.class_pane import ClassPane
from gui.views.repair.difference_bar import DifferenceBar
from gui.views.repair.item_preview import ItemPreview
from gui.views.repair.items_model import NARROW, SIZE, WIDTHS, WRITTEN, ItemsModel
from gui.views.repair.question_bar import QuestionBar
from gui.views.repair.repair_rows import NOTHING_YET, Foot, ReportRow, Rows, TicksRow, TitleRow
from gui.views.repair.repair_words import badge, not_checked, removes, verb
from gui.views.repair.scan_consent import ScanConsent, agreed
from gui.views.repair.scanner import Scanner
from model.errors import Refused
from model.foundation.findings import Finding
from model.foundation.records import Outcome
from model.session import Session
from model.session.repairs import DryItem, Item, Plan, class_of
from model.values.canonical import Value

MANY = 100  # from this number of items on, the number has to be typed
LEFT, STACKED = 305, 620  # u; in a narrower panel the classes are above their findings
GONE = Outcome("skipped", "", None, tr("It is not there any more."))
OWN = ("id", "archive_id", "version", "token", "hash", "current")


class RepairPanel(QWidget):
    """Looks for damage in some places of a source, or works on a plan that a person made."""

    closed = Signal()
    changed = Signal()
    place_changed = Signal()

    def __init__(
        self,
        session: Session,
        places: Sequence[str] = (),
        ids: Sequence[Value] | None = None,
        production: bool = False,
        plan: Plan | None = None,
        parent: QWidget | None = None,
        asks: bool = False,
    ) -> None:
        """With ``asks``, the first scan of such a place waits until scope and pace are agreed to."""
        super().__init__(parent)
        self._session, self.production = session, production
        self.place = places[0] if places else ""
        known = agreed(session, self.place)
        self.scanner = Scanner(session, places, ids, gently=production if known is None else known.gently)
        self.consent: ScanConsent | None = None
        self.plan: Plan | None = None
        self.run = ""
        self.dry_at: dt.datetime | None = None
        self._running = self._ended_so_far = 0  # findings that are being repaired
        self._task: tasks.Task | None = None
        self._written: dict[str, set[Value] | None] = {}  # documents written since the scan; None: all of a collection
        self._looking = False
        self._answers = True
        self._in_doubt = WritesInDoubt(
            self,
            session,
            lambda count: tr("It is not known whether {repairs} arrived.", repairs=wording.many(count, "repair")),
            lambda _: self.scan(),
        )
        self._codes: tuple[str, ...] = ()
        self._fields: dict[str, Mapping[str, str]] = {}  # per collection: role -> field name
        boxes.ground(self, "surface")
        self.model = ItemsModel()
        self.model.ticked_changed.connect(self._said)
        self.list = TickedList(self.model, self.model, tr("What was found"))
        self.list.fit(NARROW, WIDTHS, dispensable=(SIZE, WRITTEN))
        self.list.selectionModel().currentRowChanged.connect(self._chosen)
        self.question = QuestionBar()
        self.difference = DifferenceBar()
        self.difference.agreed_changed.connect(self._said)
        self.question.answered.connect(self._answered)
        self.pane = ClassPane(self.scanner)
        self.pane.tree.chosen.connect(self.choose)
        self.pane.scan_asked.connect(self.scan)
        self.pane.plan_opened.connect(self.put_plan)
        self._assemble()
        self._wire()
        if plan is not None:
            self.put_plan(plan)
        elif asks and known is None:
            self.ask_first()
        else:
            self.scan()

    # --- its parts

    @property
    def preview(self) -> ItemPreview:
        """The writes that the chosen finding needs."""
        return self._preview_part.get()

    def _make_preview(self, parent: QWidget) -> ItemPreview:
        made = ItemPreview(parent)
        made.stepped.connect(self._step)
        return made

    def _assemble(self) -> None:
        title, ticks, report = TitleRow(), TicksRow(self._tick_all), ReportRow(self._save_report)
        self._foot = foot = Foot(self._cancel, self.dry_run, self._ask)
        self._title, self._tag, self._meaning = title.title, title.tag, title.meaning
        self._all, self._guard = ticks.all, ticks.guard
        self._report_head, self._report_time, self.report, self.save = (
            report.head,
            report.time,
            report.report,
            report.save,
        )
        self._note, self.cancel, self.again, self.go = foot.note, foot.cancel, foot.again, foot.go
        self.reason = foot.reason
        fronts = QWidget(self)  # a layout without a widget of its own gives its front part no focus
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(fronts)
        self.states = StateStack()
        row = StackingSplit(self.pane, self.states, sizes=(LEFT, 1080), room=STACKED, parent=fronts)
        row.setStretchFactor(0, 0)
        row.setStretchFactor(1, 1)
        row.turned.connect(self.pane.stack)
        self._stack = FrontLayout(fronts)
        self._stack.addWidget(row)
        content = Rows(self.states.place)
        column = boxes.column(content)
        column.addLayout(title)
        column.addWidget(states.hair())
        split = boxes.split()
        column.addWidget(split, 1)
        upper = QWidget(split)
        inner = boxes.column(upper)
        inner.addWidget(self.list, 1)
        inner.addWidget(ticks)
        inner.addWidget(self.question)
        inner.addWidget(self.difference)
        self._preview_part = LaterPart(self._make_preview, split)
        boxes.share(split, 300, 330)
        column.addWidget(states.hair())
        column.addLayout(report)
        column.addWidget(foot)
        self.states.put(content)
        self.setFocusProxy(self.pane.tree)

    def _wire(self) -> None:
        self.scanner.found.connect(self._found)
        self.scanner.progressed.connect(self.states.progress)
        self.scanner.ended.connect(self._scanned)
        self.scanner.failed.connect(self._scan_failed)

    # --- scanning

    def ask_first(self) -> None:
        """Show the question about scope and pace in place of the findings."""
        self.consent = asked = ScanConsent(self._session, self.place, self.production)
        asked.given.connect(self._agreed)
        asked.declined.connect(self.closed)
        self._stack.addWidget(asked)
        self._stack.setCurrentWidget(asked)
        self.setFocusProxy(asked.scope)

    def _agreed(self, place: str, gently: bool) -> None:
        asked, self.consent = self.consent, None
        if asked is not None:
            self._stack.setCurrentIndex(0)
            self._stack.removeWidget(asked)
            asked.deleteLater()
        self.place = place
        self.scanner.put_places([place] if place else [])
        self.scanner.gently = gently
        self.setFocusProxy(self.pane.tree)
        self.place_changed.emit()
        self.scan()
        self.pane.tree.setFocus()

    def scan(self, go_on: bool = False) -> None:
        """Scan for damage again, or continue a stopped scan."""
        self.plan = None
        self.run = ""
        self._written = {}
        self.model.dry, self.model.ends = {}, {}
        self.model.put(None, ())
        self.scanner.begin(go_on)
        self.pane.begin()
        self.states.show_loading(tr("Looking for damage"))  # the buttons are below the classes
        self.changed.emit()

    def _found(self) -> None:
        self.pane.put(Counter(each.code for each in self.scanner.findings))

    def _scanned(self) -> None:
        session, scanner = self._session, self.scanner
        findings, unchecked = list(scanner.findings), list(scanner.unchecked)

        def plan(_: tasks.Progress) -> tuple[Plan, dict[str, Mapping[str, str]]]:
            known = {ns: session.catalogue.info(ns).fields for ns in {each.ns for each in findings}}
            return session.repairs.plan(findings, unchecked), known

        tasks.run(
            plan,
            done=self._planned,
            failed=self._scan_failed,
            owner=self,
            key="plan",
        )

    def _scan_failed(self, error: BaseException) -> None:
        self.pane.end()
        self.states.forget_content()
        self.states.show_failed(error, self.scan, tr("The scan did not come to its end"))
        self.changed.emit()

    def _planned(self, found: tuple[Plan, dict[str, Mapping[str, str]]]) -> None:
        plan, self._fields = found
        for item in plan.items:
            if item.ticked and item.finding.young:  # its writer may still be working: a person may tick it
                plan = plan.with_ticked(item.no, False)
        self.put_plan(plan)

    # --- the plan

    def put_plan(self, plan: Plan) -> None:
        """Work on a plan, from the scan or from a file."""
        self.plan = plan
        self.run = ""
        self._note.setText(NOTHING_YET)
        self.model.dry, self.model.ends = {}, {}
        self.difference.put(())
        counts = Counter(item.finding.code for item in plan.items)
        self._count(plan)
        self.pane.end(plan)
        self.changed.emit()
        if not plan.items:
            self.model.put(plan, ())
            self._show_sound()
            return
        there = [code for code in self._codes if counts[code]]
        self._codes = ()
        with drawn_in_turns.held(self.states):
            self.states.show_content()
            self.pane.tree.choose(tuple(there))
        if self.isAncestorOf(self.window().focusWidget() or self.window()):
            self.cancel.setFocus()  # before something final, the key at hand is the one that leaves
        self._look_again()

    def _count(self, plan: Plan) -> None:
        """Show how many findings of each class remain."""
        left = Counter({item.finding.code: 0 for item in plan.items})
        left.update(item.finding.code for item in plan.items if not self._is_over(item))
        self.pane.put(left)

    def _is_over(self, item: Item) -> bool:
        end = self.model.ends.get(item.no)
        return end is not None and (end.kind == "applied" or end is GONE)

    # --- writes meanwhile

    def follow(self, ns: str, id: Value | None) -> None:
        """Check again the findings of a written document or a whole collection, once nothing else runs.

        Not for a whole collection on a server: that would read all of it.
        """
        if id is not None:
            ids = self._written.setdefault(ns, set())
            if ids is not None:
                ids.add(id)
        elif self._session.is_local:
            self._written[ns] = None
        self._look_again()

    def _look_again(self) -> None:
        plan, written = self.plan, self._written
        if plan is None or self.busy or self._looking or self.scanner.running or not written:
            return
        self._written, self._looking = {}, True
        session = self._session

        def look(progress: tasks.Progress) -> set[Hashable]:
            found = set()
            for ns, ids in written.items():
                scan = session.scans.scan([ns], None if ids is None else list(ids), checkpoint=progress)
                found |= {_key(each) for each in scan if isinstance(each, Finding)}
            return found

        tasks.run(look, done=partial(self._looked_again, written), failed=self._not_looked, owner=self)

    def _looked_again(self, written: Mapping[str, set[Value] | None], found: set[Hashable]) -> None:
        plan, ends = self.plan, self.model.ends
        self._looking = False
        if plan is None:
            return
        for item in plan.items:
            ids = written.get(item.finding.ns, set())
            if ids is not None and item.finding.id not in ids:
                continue
            there = _key(item.finding) in found
            if there and self._is_over(item):
                del ends[item.no]  # undone, or damaged again
                self.model.dry.pop(item.no, None)
            elif not there and item.no not in ends:
                ends[item.no] = GONE
        more = len(found - {_key(item.finding) for item in plan.items})
        if more:
            self._note.setText(
                tr("{findings} new; scan again to see what.", findings=wording.many(more, "finding is", "findings are"))
            )
        self._count(plan)
        self.model.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, 5)
        self.model.change(plan)
        self._look()
        self.dry_run(anew=False)
        self._look_again()

    def _not_looked(self, error: BaseException) -> None:
        self._looking = False  # each item is checked again before its repair

    def _show_sound(self) -> None:
        """Say that nothing was found; the button to scan again is above the classes."""
        scanner = self.scanner
        if not scanner.whole:
            self.states.show_empty(
                tr("Nothing was found so far"),
                tr("The scan was stopped before its end."),
                [(tr("Go on"), partial(self.scan, True))],
            )
            return
        if scanner.in_vain:
            why = not_checked(scanner.unchecked)
            self.states.show_empty(tr("Nothing could be checked"), why, [(tr("Try again"), self.scan)])
            return
        self.states.show_empty(
            tr("Nothing is wrong here"),
            tr(
                "{documents_were} checked, and each is as its layout requires.",
                documents_were=wording.many(scanner.documents, "document was", "documents were"),
            ),
            icon="check-circle",
        )

    def choose(self, codes: tuple[str, ...]) -> None:
        """Show the items of some classes, and their dry run."""
        if self.plan is None or codes == self._codes:
            return
        self._codes = codes
        first = class_of(codes[0])
        one = len(codes) == 1
        self._title.setText(translated(first.title) if one else translated(first.group))
        self._tag.put(first.code if one else "", *badge(first))
        self._meaning.setText(
            f"{translated(first.meaning)} {translated(first.today)}"
            if one
            else tr("{classes} of findings.", classes=wording.many(len(codes), "class", "classes"))
        )
        self.list.clearSelection()
        self.list.setCurrentIndex(QModelIndex())
        self.model.put(self.plan, codes)
        if self.model.rows:
            self.list.setCurrentIndex(self.model.index(0, 0))
        self._said()
        self.dry_run(anew=False)

    def dry_run(self, anew: bool = True) -> None:
        """Prepare every shown item as applying it would, and write nothing."""
        plan = self.plan
        if plan is None or self.busy:
            return
        if anew:
            for item in self.model.rows:
                self.model.dry.pop(item.no, None)
        wanted = [
            i.no for i in self.model.rows if i.repair and i.no not in self.model.dry and i.no not in self.model.ends
        ]
        if not wanted:
            self._said()
            return
        session = self._session

        def prepare(progress: tasks.Progress) -> None:
            for dry in session.repairs.dry_run(plan, progress, only=wanted):
                progress.put(dry)

        self._task = tasks.run(
            prepare,
            done=self._dried,
            failed=self._dry_failed,
            cancelled=self._said,
            partial=self._one_dried,
            owner=self,
            key="dry",
            title=tr("Dry run"),
            reads=True,
        )

    def _one_dried(self, dry: DryItem) -> None:
        self.model.dry[dry.no] = dry
        at = self.model.row_of(dry.no)
        if at >= 0:
            self.model.touch(at)
            if at == self.list.currentIndex().row():
                self._look()

    def _dried(self, _: object = None) -> None:
        self.dry_at = dt.datetime.now(dt.UTC)
        self._said()

    def _dry_failed(self, error: BaseException) -> None:
        self._said()
        messages.fail(self, error)

    # --- one item

    @property
    def item(self) -> Item | None:
        """The current item."""
        return self.model.at(self.list.currentIndex())

    def _chosen(self, _: QModelIndex, __: QModelIndex) -> None:
        self._look()

    def _look(self) -> None:
        item = self.item
        dry = self.model.dry.get(item.no) if item is not None else None
        own = self._own(item.finding.ns) if item is not None else ()
        end = self.model.ends.get(item.no) if item is not None else None
        self.preview.put(item, dry, self.list.currentIndex().row(), len(self.model.rows), own, end)
        asks = item is not None and bool(item.question) and item.do != "no" and item.no not in self.model.ends
        self.question.put(item if asks else None, len(self._alike(item)) if item is not None else 0)

    def _own(self, ns: str) -> set[str]:
        """The reserved fields of a collection's layout."""
        fields = self._fields.get(ns, {})
        return {"_id", *(fields[role] for role in OWN if role in fields)}

    def _alike(self, item: Item) -> list[Item]:
        names = [choice.name for choice in item.choices]
        return [
            row
            for row in self.model.rows
            if row.repair == item.repair and row.asks and row.do != "no" and [c.name for c in row.choices] == names
        ]

    def _answered(self, answer: str | None, for_all: bool) -> None:
        item, plan = self.item, self.plan
        if item is None or plan is None:
            return
        try:
            for each in self._alike(item) if for_all else [item]:
                plan = plan.with_answer(each.no, answer)
                self.model.dry.pop(each.no, None)
        except Refused as refusal:
            self.question.refuse(refusal)
            return
        self.plan = plan
        self.model.change(plan)
        self._look()
        self.dry_run(anew=False)

    def _step(self, by: int) -> None:
        at = self.list.currentIndex().row() + by
        if 0 <= at < len(self.model.rows):
            self.list.setCurrentIndex(self.model.index(at, 0))

    # --- ticks and report

    def _name_go(self, repairs: Sequence[str]) -> None:
        """Name the button after its repairs; red if documents are removed."""
        removing = removes(repairs)
        self.go.setText(verb(repairs) if repairs else tr("Repair"))
        if self.go.property("danger") != removing:
            self.go.setProperty("danger", removing)
            self.go.setProperty("main", not removing)
            # Qt evaluates the style sheet's property selectors only while polishing.
            self.go.style().unpolish(self.go)
            self.go.style().polish(self.go)
        self.go.setIcon(icons.icon("trash", "accText") if removing else QIcon())

    def _tick_all(self) -> None:
        able = [row for row in self.model.rows if self.model.can_tick(row)]
        self.model.tick(able, on=any(row.do == "no" for row in able))

    def _said(self) -> None:
        self.plan = self.pane.plan = self.model.plan or self.plan
        rows, ticked = self.model.rows, self.model.ticked()
        able = [row for row in rows if self.model.can_tick(row)]
        self._all.setText(
            tr(
                "{ticked} of {findings} ticked",
                ticked=wording.count(len(ticked)),
                findings=wording.many(len(rows), "finding"),
            )
        )
        self._all.setIcon(icons.tick(len(ticked), len(rows)))
        self._all.setEnabled(bool(able))
        self._all.setToolTip(tr("Tick all that can be repaired") if len(ticked) < len(able) else tr("Untick all"))
        repairs = [str(row.repair) for row in ticked]
        places = dict.fromkeys(self._session.repairs.quarantine(row.finding.ns) for row in ticked)
        self._guard.setText(_guard(repairs, ", ".join(places)))
        self._report_head.setText(tr("Report") if self.model.ends or self.busy else tr("Dry run report"))
        at = self.dry_at if rows and (self.model.dry or self.model.ends) else None
        self._report_time.setText(wording.moment(at)[-5:])
        self.report.setText(self.model.counts())
        self.save.setEnabled(bool(rows))
        self.difference.put(self._differing())
        why = self._why_not(ticked)
        self._name_go(repairs)
        plan = self.model.plan
        self.reason.setVisible(plan is not None and any("reason" in each for each in plan.layouts.values()))
        self.go.setEnabled(not why and not self.busy)
        self.go.setToolTip(wording.tip(why))
        self._foot.offer_again(bool(rows) and not self.busy, self._unread)
        self.cancel.setText(tr("Stop") if self.busy else tr("Close") if self.model.ends else tr("Cancel"))
        self.changed.emit()

    def say_writable(self) -> None:
        """Update whether repairing is offered: the connection's permission changed."""
        self._said()

    def say_answering(self, answers: bool) -> None:
        """Offer scanning and repairing only while the server answers."""
        self._answers = answers
        self.pane.hold_back(self._unread)
        self._said()

    @property
    def _unread(self) -> str:
        """Why nothing can be scanned; "" if it can."""
        return "" if self._answers else wording.unread(self._session.name)

    def _why_not(self, ticked: Sequence[Item]) -> str:
        if self._session.trust.read_only:
            return tr(
                "{name} is open read-only; to repair, allow writes.",
                name=wording.source(self._session.name, first=True),
            )
        if not self._answers:
            return wording.silent(self._session.name)
        if not ticked:
            return tr("Nothing is ticked.")
        return "" if self.difference.agreed else tr("First agree to leave out what differs.")

    def _differing(self) -> list[DryItem]:
        """The shown items that the plan wants repaired, but that a scan would not propose today."""
        wanted = [row.no for row in self.model.rows if row.ticked and row.no not in self.model.ends]
        return [dry for no in wanted if (dry := self.model.dry.get(no)) is not None and dry.differs]

    def _save_report(self) -> None:
        plan = self.model.plan
        if plan is None:
            return
        results: list[tuple[int, str, str]] = []
        for item in plan.items:
            end, dry = self.model.ends.get(item.no), self.model.dry.get(item.no)
            if end is not None:
                results.append((item.no, end.kind, end.detail))
            elif dry is not None:
                results.append((item.no, dry.verdict, dry.text))
        self.pane.save_report(self._session, plan, results, bool(self.model.ends), self.run)

    # --- repairing

    @property
    def busy(self) -> bool:
        """Whether a repair is running."""
        return self._task is not None and self._task.running and self._task.key == "apply"

    def _ask(self) -> None:
        ticked = self.model.ticked()
        if not ticked:
            return
        repairs = [str(item.repair) for item in ticked]
        what = verb(repairs)
        typed = self._session.name if self.production else str(len(ticked)) if len(ticked) >= MANY else None
        if typed is None and not any(removes([each]) for each in repairs):
            self.apply()  # the list, its dry run and the undo are all in sight
            return
        marked = (
            tr("{name} is marked as production. ", name=wording.source(self._session.name, first=True))
            if self.production
            else ""
        )
        messages.confirm(
            self,
            f"{what}?",
            tr(
                "{marked}Each is one guarded write that first checks what the scan saw; what changed since "
                "is skipped. What is removed is saved first; undo it from the journal.",
                marked=marked,
            ),
            what,
            self.apply,
            danger=True,
            typed=typed,
        )

    def apply(self) -> None:
        """Repair the ticked items among those shown."""
        plan, session = self.model.plan, self._session
        if plan is None or self.busy:
            return
        mine = {item.no for item in self.model.ticked()}
        only = replace(plan, items=tuple(item if item.no in mine else replace(item, do="no") for item in plan.items))
        running, reason, agreed = session.repairs.apply, self.reason.take(), self.difference.box.isChecked()
        found: list[str] = []

        def write(progress: tasks.Progress) -> tuple[str, bool]:
            run = running(only, progress, confirmed=True, reason=reason, differing=agreed)
            found.append(run.id)
            for no, outcome in run:
                if no in mine:
                    progress.put((no, outcome))
            return session.way_back.lacking(run.id)

        self._task = tasks.run(
            write,
            done=partial(self._ended, found),
            failed=partial(self._broke, found),
            cancelled=partial(self._ended, found),
            partial=self._one_ended,
            owner=self,
            key="apply",
            title=verb([str(item.repair) for item in self.model.ticked()]),
        )
        self._task.finished.connect(self._said)
        self._running, self._ended_so_far = len(mine), 0
        self.model.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, 5)
        self._say_running(0)
        self._said()

    def _say_running(self, done: int) -> None:
        findings = wording.many(self._running, "finding")
        self._note.setText(tr("Repairing: {done} of {findings} so far.", done=wording.count(done), findings=findings))

    def _one_ended(self, part: tuple[int, Outcome]) -> None:
        no, outcome = part
        self.model.ends[no] = outcome
        self.model.dry.pop(no, None)
        at = self.model.row_of(no)
        if at >= 0:
            self.model.touch(at)
        self._ended_so_far += 1
        self._say_running(self._ended_so_far)
        self.report.setText(self.model.counts())
        if self.plan is not None:
            self._count(self.plan)
            self.changed.emit()

    def _ended(
        self, run: list[str], way_back: tuple[str, bool] = ("", True), error: BaseException | None = None
    ) -> None:
        lacking, way = way_back
        self.run = run[0] if run else self.run
        self.dry_at = dt.datetime.now(dt.UTC)
        self.model.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, 5)
        self._note.setText(tr("Each write is in the journal and can be undone there. Scan again to see what is left."))
        self._look()
        self._said()
        ends = [end for no, end in self.model.ends.items()]
        done = [end for end in ends if end.kind == "applied"]
        if done:
            undo = partial(self.undo, self.run) if way else None
            said = tr("{findings} repaired", findings=wording.many(len(done), "finding"))
            messages.tell_of_run(self, said, undo)
        if lacking:
            messages.note(self, translated(lacking))
        self._in_doubt.tell(ends, error)
        self._look_again()

    def _broke(self, run: list[str], error: BaseException) -> None:
        self._ended(run, error=error)

    def undo(self, run: str) -> None:
        """Undo the writes of a run."""
        session = self._session

        def undo(progress: tasks.Progress) -> list[Outcome]:
            return list(session.repairs.undo(run, progress))

        tasks.run(
            undo, done=self._undone, failed=partial(messages.fail, self), owner=self, title=tr("Undoing the repair")
        )

    def _undone(self, ends: list[Outcome]) -> None:
        back = sum(end.kind == "applied" for end in ends)
        messages.tell(self, tr("{writes} taken back", writes=wording.many(back, "write")))
        for end in ends:
            if end.kind != "applied":
                messages.fail(self, translated(end.detail))
        self.scan()

    def _cancel(self) -> None:
        if self.busy and self._task is not None:
            self._task.cancel()
        else:
            self.closed.emit()


def _key(finding: Finding) -> Hashable:
    """Identifies a finding across two scans."""
    return finding.code, finding.ns, finding.id, finding.versions


def _guard(repairs: Sequence[str], quarantine: str) -> str:
    """How the repairs are guarded, in a sentence; "" if there are none."""
    if removes(repairs):
        return tr(
            "Each is copied to {quarantine}, then removed only if it is still exactly what the scan saw.",
            quarantine=quarantine,
        )
    return tr("Each is one guarded write: only if everything is still exactly what the scan saw.") if repairs else ""
