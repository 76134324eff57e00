"""The repair centre: findings become a plan, which is previewed or applied, and its writes can be undone.

A repair is a series of guarded writes. Each is guarded by every byte of the document that it changes, a document to
be removed is first copied to the quarantine of its database, and every write is journalled. Nothing is done that a
person has not ticked, or answered if the plan asks.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import asdict, replace

from model.checks.damage_tally import UNTIL_STATED, DamageTally
from model.errors import NotAllowed, NotFound, Refused, Unreachable
from model.foundation.findings import Finding, Unchecked
from model.foundation.records import Checkpoint, Kind, Outcome, no_checkpoint
from model.profile import Profile, as_stated, table
from model.repair import quarantine, reports, running, undoing
from model.repair.damage_classes import BLOCKS, CLASSES, DOUBT, GROUPS, REPAIRS, DamageClass, Repair, class_of, waits
from model.repair.items import Item
from model.repair.plan import Plan, planned
from model.repair.running import DryItem, Running
from model.repair.steps import RepairContext, Verdict
from model.repair.today import Today
from model.scan import Scan
from model.text.names import version_name
from model.userdata import folders
from model.userdata.connections import without_password
from model.userdata.journal import Record
from model.values.canonical import Value
from model.writing.writer import Writer, not_there

COUNT_MS = 10_000  # the time for counting a collection before its repair

__all__ = [
    "BLOCKS",
    "CLASSES",
    "DOUBT",
    "GROUPS",
    "REPAIRS",
    "DamageClass",
    "DryItem",
    "Item",
    "Plan",
    "Repair",
    "Repairs",
    "class_of",
    "waits",
]


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class Repairs:
    """The repairs of a session; reached as ``session.repairs``."""

    def __init__(
        self,
        writer: Writer,
        allowed: Callable[..., None],
        production: Callable[[], bool] = lambda: False,
        now: Callable[[], dt.datetime] = _now,
    ) -> None:
        """``allowed`` raises if collections may not be written; with ``production``, a plan must be ``confirmed``."""
        self._writer, self._allowed, self._production, self._now = writer, allowed, production, now

    @staticmethod
    def quarantine(ns: str) -> str:
        """The collection to which repairs of a collection copy what they remove; they create it if it is missing."""
        return quarantine.place(ns)

    # --- plans

    def plan(
        self, findings: Iterable[Finding], unchecked: Sequence[Unchecked] = (), now: dt.datetime | None = None
    ) -> Plan:
        """The plan for findings: safe repairs are ticked, some ask a person, other findings have advice."""
        stated = self._writer.catalogue.is_stated
        plan = planned(self._writer.source, findings, unchecked, now or self._now(), self._stated, stated)
        plan = replace(plan, collections=self._collection_ids(_places(plan)))
        gaps = [item for item in plan.items if item.repair is None and class_of(item.finding.code).is_gap]
        places = dict.fromkeys(quarantine.place(item.finding.ns) for item in gaps)
        used = [place for place in places if any(True for _ in self._writer.port.find(place, limit=1))]
        return replace(plan, items=tuple(self._with_copies(item, used) for item in plan.items)) if used else plan

    def _with_copies(self, item: Item, used: Collection[str]) -> Item:
        """Note on a gap that the quarantine can fill it: a removal may have been applied after an edit that relied on
        the row.
        """
        finding = item.finding
        place = quarantine.place(finding.ns)
        if (
            item.repair is not None
            or finding.doubt
            or not class_of(finding.code).is_gap
            or finding.id is None
            or place not in used
        ):
            return item
        try:
            profile = self._writer.catalogue.layout(finding.ns).profile
            kept = quarantine.versions(self._writer.port, profile, finding.id)
        except Refused:
            return item
        there = [version_name(v) for v in finding.versions if v in kept]
        if not there:
            return item
        said = f"{place} holds {', '.join(there)}, which a repair took out; undo that repair to put it back."
        return replace(item, advice=said)

    def _stated(self, ns: str) -> dict[str, Any]:
        """The profile table for the layout of a collection here; {} if no profile can state it."""
        profile = self._writer.catalogue.layout(ns).profile
        said = table(profile)
        try:
            again = Profile.read({"collection": [{"ns": ns, **said}]}, "").collections
        except Refused:  # a name that was recognised inside a field
            return {}
        return said if again == (as_stated(profile),) else {}

    def load(self, path: str | Path) -> Plan:
        """Read a plan for this source; raises ``NotFound``, ``Unreadable`` or ``Refused``."""
        plan = Plan.load(path)
        self._check_source(plan)
        return plan

    def _check_source(self, plan: Plan) -> None:
        made_for = without_password(plan.source)  # somebody may have added one
        if made_for != self._writer.source:
            name = f"The plan {plan.note}" if plan.note else "This plan"
            raise Refused(f"{name} was made for {made_for}, and this is {self._writer.source}; scan here first.")

    def _collection_ids(self, places: Iterable[str]) -> dict[str, str]:
        """The server's ids of some collections, if it has any."""
        by_name: dict[str, dict[str, str]] = {}
        for db in dict.fromkeys(ns.partition(".")[0] for ns in places):
            try:
                by_name[db] = self._writer.port.collection_ids(db)
            except Unreachable:
                by_name[db] = {}
        asked = ((ns, *ns.partition(".")[::2]) for ns in places)
        return {ns: by_name[db][name] for ns, db, name in asked if name in by_name[db]}

    def _check_collections(self, plan: Plan) -> None:
        """Refuse a plan for other collections than those with their names here.

        An address may lead to another server tomorrow, and a collection may be dropped and created again.
        """
        here = self._collection_ids(tuple(plan.collections))
        for ns, id in plan.collections.items():
            if ns in here and here[ns] != id:
                raise Refused(
                    f"{ns} is another collection than the one that was scanned: it was created again since, or this "
                    "address leads to another server now; scan again."
                )

    def _check_layouts(self, plan: Plan) -> None:
        """Refuse a plan whose findings were made with another layout than the one in use.

        Anybody may have written a plan file: only a person's profile or recognition says what a collection is.
        """
        tables = [{"ns": ns, **table} for ns, table in plan.layouts.items()]
        name = f"The plan {plan.note}" if plan.note else "The plan"
        for scanned in Profile.read({"collection": tables}, name).collections:
            try:
                here = as_stated(self._writer.catalogue.layout(scanned.ns).profile)
            except NotFound as error:
                raise Refused(f"{error} The plan has repairs for it; scan again.") from None
            if here != scanned:
                differ = next(name for name, value in asdict(scanned).items() if getattr(here, name) != value)
                raise Refused(
                    f"{scanned.ns} was scanned as another layout than it is taken for here ({differ}: "
                    f"{getattr(scanned, differ)}, here {getattr(here, differ)}); give the profile that was scanned "
                    "with, or scan again."
                )

    # --- drawing and doing

    def dry_run(
        self, plan: Plan, checkpoint: Checkpoint = no_checkpoint, only: Collection[int] | None = None
    ) -> Iterator[DryItem]:
        """The effect of each item with a repair, made from the writes that :meth:`apply` would send; none is sent.

        ``only`` selects items by number, also those without a repair.
        """
        self._check_source(plan)
        self._check_collections(plan)
        self._check_layouts(plan)
        asked = [item for item in plan.items if only is None or item.no in only]
        return running.dry(self._ground(self._today(plan, asked, checkpoint)), plan, checkpoint, only)

    def apply(
        self,
        plan: Plan,
        checkpoint: Checkpoint = no_checkpoint,
        confirmed: bool = False,
        reason: str = "",
        differing: bool = False,
    ) -> Running:
        """Do every ticked item, one guarded write after another; yields (item number, outcome).

        An item comes a second time if the final check of all items put back a removed document. The result's
        ``Running.id`` names the run for :meth:`undo`; afterwards ``Running.offers`` says what a person may want to do
        next. The checkpoint can cancel between items. Raises ``NotAllowed`` if writing is not allowed, if the
        connection is production and nobody has ``confirmed``, or if the plan differs from what a scan today would
        propose and nobody accepted a partial run (``differing``).
        """
        self._allowed(*dict.fromkeys(item.finding.ns for item in plan.items if item.ticked))
        self._check_source(plan)
        self._check_collections(plan)
        self._check_layouts(plan)
        if not confirmed and self._production():
            raise NotAllowed("This connection is production; confirm the repair by its name first.")
        run = self._running(plan, checkpoint, reason)
        if not differing and (items := run.differing()):
            raise NotAllowed(running.differences(plan, items))
        return run

    def _running(self, plan: Plan, checkpoint: Checkpoint, reason: str = "") -> Running:
        name = running.new_run(self._now, uuid.uuid4().hex[:6])
        today = self._today(plan, [item for item in plan.items if item.ticked], checkpoint)
        writer = replace(self._writer, reason=reason.strip() or self._writer.reason)
        return Running(writer, self._ground(today), plan, name, checkpoint)

    def _ground(self, today: Today | None = None) -> RepairContext:
        by = self._writer.author or "palimpsest"
        return RepairContext(self._writer.port, self._writer.catalogue.layout, self._now, by, today=today)

    def _today(self, plan: Plan, items: Iterable[Item], checkpoint: Checkpoint) -> Today:
        """What a scan finds now in the documents of some items, because a plan may be old, or written by anybody."""
        today = Today(doubts=self._doubts(plan))
        asked: dict[str, list[Value]] = {}
        for item in items:
            if item.repair is not None and item.finding.id is not None:
                asked.setdefault(item.finding.ns, []).append(item.finding.id)
        port, catalogue = self._writer.port, self._writer.catalogue
        try:
            for ns, ids in asked.items():
                some = list(dict.fromkeys(ids))
                today.note(Scan(catalogue, port, class_of, [ns], some, checkpoint=checkpoint, now=self._now()))
        except Unreachable as error:
            today.note(Unchecked(ns, str(error)) for ns in asked)
        return today

    def _doubts(self, plan: Plan) -> dict[str, str]:
        """The collections of a plan whose layout its own findings contradict; old plans do not record that."""
        catalogue, found = self._writer.catalogue, dict(plan.doubts)
        for ns in dict.fromkeys(item.finding.ns for item in plan.items if item.repair is not None):
            if catalogue.is_stated(ns):
                found.pop(ns, None)
            if why := catalogue.objection(ns):
                found[ns] = why
            if why or catalogue.is_stated(ns):
                continue
            tally = DamageTally(ns, class_of)
            for item in plan.items:
                tally.note(item.finding)
            documents = catalogue.layout(ns).count(max_ms=COUNT_MS) if ns not in found and tally else None
            if documents is not None and (why := tally.speaks_against(catalogue.info(ns).layout, documents)):
                found[ns] = f"{why} {UNTIL_STATED}"
        return found

    # --- the way back

    def undo(
        self,
        run: str,
        checkpoint: Checkpoint = no_checkpoint,
        only: int | None = None,
        elsewhere: bool = False,
        damaged: bool = True,
    ) -> Iterator[Outcome]:
        """Undo the writes of a run, or of one item, the last first, each guarded by the state that it left.

        Yields an outcome for each write; those already undone are left out, and ``damaged`` entries are told first.
        ``elsewhere``: a person says that this source is the run's, although its address differs. Raises ``NotFound``
        and ``Refused``.
        """
        records = self._to_undo(run, only)
        self._allowed(*dict.fromkeys(record.entry.ns for record in records))
        for record in records[:1]:
            self._check_entry(record, elsewhere)
        again = self._running(Plan("", self._writer.source, self._now()), checkpoint)
        unread = self._writer.journal.damaged("run", run) if only is None and damaged else []

        def undone() -> Iterator[Outcome]:
            yield from unread
            for done, record in enumerate(records):
                checkpoint(done, len(records))
                yield self._undone(again, record)
            checkpoint(len(records), len(records))

        return undone()

    def _to_undo(self, run: str, only: int | None) -> list[Record]:
        records = [each for each in self._writer.journal.records("run", run) if undoing.is_repair(each)]
        if not records:
            raise NotFound(f"The journal has no run {run}; `palimpsest journal` lists what was written.")
        mine = [r for r in records if only is None or r.extra["item"] == str(only)]
        # A document that a second look has put back was needed: it stays, and its removal counts as undone.
        return [record for record in reversed(mine) if record.entry.undoable and not record.extra.get("second")]

    def is_repair(self, entry: str) -> bool:
        """Whether an entry of the journal is a write of a repair."""
        return undoing.is_repair(self._writer.journal.record(entry))

    def hindrances(self, records: Iterable[Record]) -> list[str]:
        """Why this server cannot undo writes of repairs, one sentence each; only for those it cannot."""
        ground = self._ground()
        return undoing.asked(partial(undoing.hindrance, ground), records)

    def undo_entry(self, entry: str, elsewhere: bool = False) -> Outcome:
        """Take back one write of a repair."""
        self._allowed(self._writer.journal.record(entry).entry.ns)
        record = self._writer.journal.record(entry)
        self._check_entry(record, elsewhere)
        if not record.entry.undoable:
            raise Refused(f"Entry {entry} cannot be undone. {record.entry.why_not}")
        return self._undone(self._running(Plan("", self._writer.source, self._now()), no_checkpoint), record)

    def _check_entry(self, record: Record, elsewhere: bool) -> None:
        entry = record.entry
        if entry.source != self._writer.source and not elsewhere:
            raise Refused(f"Entry {entry.id} was written to {entry.source}; open that source to undo it.")

    def _undone(self, again: Running, record: Record) -> Outcome:
        prepared = undoing.back(again.ground, record)
        if prepared.verdict != "would":
            kinds: dict[Verdict, Kind] = {"refused": "refused", "changed": "conflict"}
            said = prepared.text if prepared.text.endswith(".") else f"{prepared.text}; nothing was written."
            kind = kinds.get(prepared.verdict, "skipped")
            return Outcome(kind, record.entry.ns, record.document, said, done=prepared.verdict == "nothing")
        return again.send(undoing.item_of(record), prepared.steps[0], undoes=record.entry.id)

    def look_again(self, entry: str) -> Outcome:
        """Look for a repair's write with an unknown outcome, and journal how it ended."""
        record = self._writer.journal.record(entry)
        e = record.entry
        kind = e.kind
        if e.source != self._writer.source:
            raise Refused(f"Entry {entry} was written to {e.source}; open that source to look for it.")
        if kind != "begun" and kind != "unknown":
            return Outcome(kind, e.ns, record.document, e.detail, entry=entry)
        outcome = replace(self._found(record), entry=entry)
        self._writer.end(entry, outcome)
        return outcome

    def _found(self, record: Record) -> Outcome:
        ns, id = record.entry.ns, record.document
        if (landed := undoing.token_landed(self._writer.port, record)) is not None:
            state = "after" if landed else "before"
        else:
            state = undoing.state(self._ground(), record)
        if state == "after":
            return Outcome("applied", ns, id, "It arrived.")
        if state == "before":
            return not_there(record, id)
        said = "The document has changed since, and it is not known whether this write was among the changes."
        return Outcome("unknown", ns, id, said)

    # --- reports

    def report_html(self, plan: Plan, results: Iterable[tuple[int, str, str]], applied: bool, run: str = "") -> str:
        """A page about a plan and its results, which are (item number, outcome or verdict, detail)."""
        undoable = [r for r in self._writer.journal.records("run", run) if r.entry.undoable] if run and applied else []
        reasons = self.hindrances(undoable)
        way = len(reasons) < len(undoable) or not reasons
        return reports.html(plan, list(results), applied, run, self._now(), undoing.hindered(reasons), way)

    def report_json(self, plan: Plan, results: Iterable[tuple[int, str, str]], applied: bool, run: str = "") -> str:
        """The report of a plan and its results as one JSON object."""
        return reports.json_text(plan, list(results), applied, run, self._now())

    def keep_report(self, path: str | Path, report: str) -> None:
        """Write a report to a file, completely or not at all; raises ``Refused`` if that fails."""
        folders.write(Path(path), report)


def _places(plan: Plan) -> tuple[str, ...]:
    """The collections that items with a repair depend on."""
    items = [item for item in plan.items if item.repair is not None]
    return tuple(dict.fromkeys(ns for item in items for ns in (item.finding.ns, *(seen.ns for seen in item.seen))))
