"""Documents copied from one collection to another, by a plan that a comparison wrote: guarded, journalled, undoable.

Only what is ticked is copied, and only while both sides are as the plan saw them, or as an interrupted run of it left
them. Contents are read again when they are copied. If both layouts keep versions, a document comes with them: all if
it is missing there, else the later ones, with their numbers, times, authors and hashes.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from model import text
from model.errors import NotAllowed, NotFound, Refused, Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.findings import Finding
from model.foundation.records import Checkpoint, Kind, Outcome, Version, no_checkpoint
from model.layouts.base import Layout
from model.layouts.registry import WRITABLE, within
from model.operations import history_import, plan_files
from model.operations.appended_versions import AppendedVersions, as_current
from model.operations.batches import Run
from model.operations.earlier_writes import earlier_writes, supersede
from model.operations.foreseen_rejections import can_reject, foreseen
from model.operations.history_rows import HistoryRows, Taken
from model.operations.side_by_side import Change, Side, Standing, number_key, versions_of
from model.repair.items import Item
from model.repair.plan import Plan
from model.repair.running import Running, new_run
from model.repair.steps import RepairContext, Step
from model.repair.undoing import is_repair
from model.storage.content_hashes import Sealed, content_hash, fits
from model.storage.foresight import Foreseen
from model.storage.swap_steps import Stamp
from model.text.names import id_name
from model.values import canonical as c
from model.values.canonical import Value
from model.writing.writer import Writer

FORMAT = "palimpsest compare"
ACTION = "copy"
TICKED: tuple[Change, ...] = ("only here", "changed", "ahead")
"""What a plan copies unless a person unticks it."""

_WHY_NOT: dict[Change, str] = {
    "behind": "The other side has all of these versions, and later ones.",
    "only there": "It is missing here, so there is nothing to copy.",
}


class CopyPlan(Struct, frozen=True):
    """The documents to copy; ``run`` is the name of their run in the journal."""

    items: tuple[Standing, ...]
    run: str
    rejected: tuple[Copied, ...] = ()  # of a plan just written: those that the rules or indexes there would reject


class Copied(Struct, frozen=True):
    """One document as it would be on the other side.

    ``kind`` is applied if it would be written; otherwise ``detail`` says why not.
    """

    standing: Standing
    id: Value  # of the document there
    kind: Kind
    detail: str
    base: Version | None = None  # what is there now
    content: bytes | None = None  # what would be its newest content
    versions: tuple[Version, ...] = ()  # those that come with their numbers, times and authors
    steps: tuple[Step, ...] = ()  # their writes
    done: bool = False  # it is so already


class _Before(Struct, frozen=True):
    """What earlier runs of a plan have done."""

    saved: Mapping[Value, Outcome]
    begun: frozenset[Value]  # the documents of which versions were stored


class CopyAcross(Struct, frozen=True, dict=True):
    """Copies from the collection here to the one there; ``source`` names where it reads."""

    here: Side
    there: Side
    source: str
    writer: Writer  # of the collection there
    allowed: Callable[[str], None]  # raises if a collection may not be written
    production: Callable[[], bool] = lambda: False

    # --- plans

    def planned(self, found: Iterable[Standing]) -> CopyPlan:
        """A plan for some documents."""
        return CopyPlan(tuple(found), new_copies())

    def why_not(self, each: Standing) -> str:
        """Why a document cannot be copied, one sentence; "" if it can."""
        return _WHY_NOT.get(each.change, "")

    def save(self, path: str, found: Iterable[Standing]) -> CopyPlan:
        """Write a plan of everything that differs; what would be rejected there is not ticked. Raises ``Refused``."""
        self._check_place()
        plan = self.planned(found)
        plan = replace(plan, rejected=tuple(self._rejected(plan)))
        reasons = {each.standing.key: each.detail for each in plan.rejected}
        items = [
            {
                "key": text.json_object(each.key),
                "change": each.change,
                "copy": each.change in TICKED and each.key not in reasons,
                "id": _json(each.here),
                "there": _json(each.there),
                "from": _json(each.v),
                "to": _json(each.w),
                "since": _json(each.since),
                "sha1": each.mark,
                "sha1 there": each.other_mark,
                **({"detail": why} if (why := self.why_not(each) or reasons.get(each.key, "")) else {}),
            }
            for each in plan.items
        ]
        ns = self.there.layout.ns
        plan_files.save(path, FORMAT, self.writer.source, ns, items, **{"from": self._from, "run": plan.run})
        return plan

    @property
    def _from(self) -> dict[str, str]:
        return {"source": self.source, "ns": self.here.layout.ns, "key": ".".join(self.here.key)}

    def load(self, path: str) -> CopyPlan:
        """What is ticked in a plan for these two collections. Raises ``NotFound``, ``Unreadable``, ``Refused``."""

        def made(plan: dict[str, Any]) -> CopyPlan:
            if plan["from"] != self._from:
                was, now = (" ".join(filter(None, each.values())) for each in (plan["from"], self._from))
                raise Refused(f"The plan {path} copies from {was}, and this is {now}; make a new one here.")
            return CopyPlan(tuple(_standing(each) for each in plan["items"] if _ticked(each)), str(plan["run"]))

        return plan_files.load(path, FORMAT, self.writer.source, self.there.layout.ns, made)

    # --- before, and doing it

    def drawn(self, plan: CopyPlan, step: Checkpoint = no_checkpoint) -> Iterator[Copied]:
        """Each document as it would be, and those that the rules or indexes there would reject; writes nothing.

        Raises ``Refused`` if nothing is ever written there.
        """
        self._check_place()
        layout = self.there.layout
        stamp = Stamp(author=self.writer.author_of(layout), reason=self.writer.reason)

        def makes(each: Copied) -> list[Foreseen]:
            if each.kind != "applied" or each.content is None:
                return []
            if each.steps:
                changes = [step.change for step in each.steps if step.change.ns == layout.ns]
                return [Foreseen(each.id, it.before, it.after) for it in changes if it.after is not None]
            return [layout.would_store(each.id, each.base, each.content, stamp)]

        def refused(each: Copied, why: str) -> Copied:
            return replace(each, kind="refused", detail=f"{id_name(each.standing.key)}: {why}", steps=())

        yield from foreseen(layout, self._each(plan, step), makes, refused)

    def _rejected(self, plan: CopyPlan) -> Iterator[Copied]:
        """What would be ticked and rejected; nothing is read if the collection there has no rules and indexes."""
        ticked = tuple(each for each in plan.items if each.change in TICKED)
        if ticked and can_reject(self.there.layout):
            yield from (each for each in self.drawn(replace(plan, items=ticked)) if each.kind == "refused")

    def _each(self, plan: CopyPlan, step: Checkpoint) -> Iterator[Copied]:
        """Each document as it would be."""
        before = self._before(plan)
        for at, each in enumerate(plan.items):
            step(at, len(plan.items))
            yield self._drawn(each, before)

    def apply(self, plan: CopyPlan, step: Checkpoint = no_checkpoint, confirmed: bool = False, reason: str = "") -> Run:
        """Copy the documents of a plan, each as far as it is still as the plan saw it; ``reason`` is stored with those
        that are saved as an edit, if the profile has a field for it.

        Raises ``NotAllowed`` and ``Refused`` if nothing may be written.
        """
        self.allowed(self.there.layout.ns)
        if not confirmed and self.production():
            raise NotAllowed("This connection is production; confirm the writes by the collection's name first.")
        self._check_place()
        return Run(plan.run, self._outcomes(plan, step, reason))

    def _check_place(self) -> None:
        """Raise ``Refused`` if nothing is ever written to the collection there."""
        ns = self.there.layout.ns
        if of := self.writer.catalogue.info(ns).belongs_to:
            raise Refused(f"{ns} holds the earlier versions of {of}; compare and copy the documents there.")
        if reason := self.there.layout.read_only or self.writer.catalogue.objection(ns):
            raise Refused(reason)

    def _outcomes(self, plan: CopyPlan, step: Checkpoint, reason: str) -> Iterator[Outcome]:
        writer = replace(self.writer, run=plan.run, reason=reason or self.writer.reason)
        sender = Running(
            self.writer, self._rows.ground, Plan(plan.run, self.writer.source, _now()), plan.run,
            action=history_import.ACTION,
        )  # fmt: skip
        sender.remember()
        before = self._before(plan)
        for no, each in enumerate(plan.items, 1):
            step(no - 1, len(plan.items))
            yield self._copied(writer, sender, no, self._drawn(each, before), before)
        step(len(plan.items), len(plan.items))

    def _before(self, plan: CopyPlan) -> _Before:
        stored = (
            each
            for each in self.writer.journal.records("run", plan.run)
            if is_repair(each) and not each.entry.undone_by
        )
        begun = frozenset(each.document for each in stored if each.document is not None)
        return _Before(earlier_writes(self.writer, plan.run, ACTION), begun)

    def _copied(self, writer: Writer, sender: Running, no: int, each: Copied, before: _Before) -> Outcome:
        ns = self.there.layout.ns
        if each.kind != "applied":
            return Outcome(each.kind, ns, each.id, each.detail, done=each.done)
        if each.steps:
            return self._sent(sender, no, each)
        assert each.content is not None
        if each.base is None:
            outcome = writer.create(ns, each.content, each.id, ACTION, unless_there=True)
        else:
            outcome = writer.save(ns, each.id, each.base, each.content, ACTION)
        if (earlier := before.saved.get(each.id)) is not None and outcome.kind == "applied":
            supersede(self.writer, earlier, outcome)
        return outcome

    # --- one document

    def _drawn(self, each: Standing, before: _Before) -> Copied:
        id = each.here if each.there is None else each.there
        assert id is not None
        found = Copied(each, id, "applied", "")
        earlier = before.saved.get(id)
        if earlier is not None and earlier.kind == "applied":
            return _so_already(found, f"{id_name(each.key)} was copied by this plan already.")
        if why := self.why_not(each):
            return replace(found, kind="refused", detail=f"{id_name(each.key)} was not copied. {why}")
        try:
            return self._read(found, id in before.begun)
        except Taken as error:
            return replace(found, kind="conflict", detail=str(error))
        except (NotFound, Refused) as error:
            return replace(found, kind="refused", detail=str(error))

    def _read(self, found: Copied, begun: bool) -> Copied:
        """A document from both sides as they are now; raises ``NotFound``, ``Refused`` and ``Taken``.

        Once it has ``begun``, it is carried on with the versions that the plan saw, whatever came here since.
        """
        each, who = found.standing, id_name(found.standing.key)
        assert each.here is not None
        mine = self.here.layout.version(each.here)
        if mine.content is None:
            return replace(found, kind="refused", detail=f"{who} cannot be read: {mine.detail}.")
        if not begun and (c.hash_of(mine.content) != each.mark or not _is(each.v, mine)):
            raise Taken(f"{who} moved on here since the plan.")
        found = replace(found, content=mine.content)
        if each.change == "only here":
            return self._missing(found)
        now = self.there.layout.version(found.id)
        found = replace(found, base=now)
        if now.content == mine.content and not self._keep_histories:
            return _so_already(found, f"{who} is the same on both sides.")
        if each.change == "ahead" and self._stores_histories:
            return self._later(found)
        if now.content is None or c.hash_of(now.content) != each.other_mark or not _is(each.w, now):
            if now.content == mine.content:
                return _so_already(found, f"{who} is the same on both sides.")
            raise Taken(f"{who} moved on there since the plan.")
        return self._judged(found)

    def _judged(self, found: Copied) -> Copied:
        """A document that would be saved or created, unless the layout there refuses it."""
        layout, content = self.there.layout, found.content or c.EMPTY
        why = layout.missing_index() if found.base is None else layout.writable(found.base)
        why = why or layout.unfit(content)
        return replace(found, kind="refused", detail=why) if why else found

    @property
    def _keep_histories(self) -> bool:
        return self.here.keeps_history and self.there.keeps_history

    @property
    def _stores_histories(self) -> bool:
        layout = self.there.layout
        return self._keep_histories and layout.numbered and layout.name in WRITABLE

    def _mine(self, found: Copied) -> dict[object, Version]:
        """The versions here up to the one that the plan saw; raises ``Taken`` if that is another one now."""
        each = found.standing
        assert each.here is not None
        mine = versions_of(self.here.layout, each.here)
        for number in reversed(list(mine)):
            if each.v is None or number == number_key(each.v):
                break
            del mine[number]
        mine = {number: version.but(seal=self._brought(version)) for number, version in mine.items()}
        last = next(reversed(mine.values()), None)
        if last is None or last.content is None or c.hash_of(last.content) != each.mark:
            raise Taken(f"{id_name(each.key)} moved on here since the plan.")
        return mine

    def _brought(self, version: Version) -> Value | None:
        """The hash with which a version comes there, if it has one here: by the recipe there if it fits its content,
        else as it is, so that a scan tells it there too.
        """
        here, there = self.here.layout.profile, self.there.layout.profile
        stored = _stored_hash(self.here.layout, version)
        if stored is None or not there.hash or _recipe(here) == _recipe(there):
            return stored
        fitted = fits(Sealed(version.content or c.EMPTY, stored), here)
        return content_hash(version.content or c.EMPTY, there, stored) if fitted else stored

    def _missing(self, found: Copied) -> Copied:
        """A document that is not there, with all of its versions if they can be stored."""
        layout, who, whence = self.there.layout, id_name(found.standing.key), self.here.layout.ns
        versions = tuple(self._mine(found).values()) if self._stores_histories else ()
        if versions:
            if reason := layout.missing_index():
                raise Refused(reason)
            steps = self._rows.steps(found.id, as_current(self._rows, found.id, versions), (), whence, "copied")
            if not steps:
                return replace(_so_already(found, f"{who} is the same on both sides."), versions=versions)
            return replace(found, versions=versions, steps=history_import.tied(steps, versions))
        try:
            there = layout.version(found.id)
        except NotFound:
            return self._judged(found)
        if there.content == found.content:
            return replace(_so_already(found, f"{who} is the same on both sides."), base=there)
        raise Taken(f"{who} came to be there meanwhile; compare again.")

    def _later(self, found: Copied) -> Copied:
        """The versions that only this side has, stored behind those that are there."""
        who, since = id_name(found.standing.key), number_key(found.standing.since)
        mine, theirs = self._mine(found), versions_of(self.there.layout, found.id)
        later, written = _behind(mine, since), _behind(theirs, since)
        if not later or written is None:
            raise Taken(f"{who} moved on there since the plan.")
        followed = any(number not in later for number in written)  # by others
        differs = any(number in later and later[number].content != each.content for number, each in written.items())
        layout = self.there.layout
        before = [
            version.but(seal=_stored_hash(layout, version))
            for number, version in theirs.items()
            if number not in written
        ]
        versions, last = tuple(later.values()), next(reversed(theirs.values()))
        whole = next(reversed(later)) in written
        kept = followed or (whole and not layout.own_documents)  # the document there is as it is to be
        appended = AppendedVersions(self._rows, found.id, before, versions, None if kept else last)
        # What is there of it without the newest one must come from a run of this plan that was stopped.
        if differs or (not whole and not appended.are_ours(list(written.values()))):
            raise Taken(f"{who} moved on there since the plan.")
        steps = appended.steps()
        if not steps:
            return _so_already(found, f"{who} has the same versions on both sides.")
        return replace(found, versions=versions, steps=steps)

    def _sent(self, sender: Running, no: int, each: Copied) -> Outcome:
        ns, steps = self.there.layout.ns, each.steps
        count = f"{len(each.versions):,} {'version' if len(each.versions) == 1 else 'versions'} copied."
        item = Item(no, Finding("", ns, each.id, (), count), history_import.ACTION, "yes")
        end: Outcome | None = None
        for done, one in enumerate(steps):
            end = sender.send(item, one)
            if end.kind != "applied":
                more = f" {done:,} of {len(steps):,} writes were done; carry the plan out again." if done else ""
                return replace(end, kind="unknown" if done else end.kind, detail=f"{end.detail}{more}")
        return Outcome("applied", ns, each.id, count, entry=end.entry if end is not None else None)

    @cached_property
    def _rows(self) -> HistoryRows:
        writer = self.writer
        ground = RepairContext(writer.port, writer.catalogue.layout, _now, writer.author or "palimpsest")
        target = self.there.layout
        return HistoryRows(ground, target, target.foreign.first(writer.port) if target.profile.counted_lock else {})


def _stored_hash(layout: Layout, version: Version) -> Value | None:
    """The hash that is stored with a version."""
    p, raw = layout.profile, version.raw
    if not p.hash or raw is None:
        return None
    stored, inside = c.get(raw, (p.hash,)), within(p)
    return c.get(raw, (inside, p.hash)) if stored is None and inside else stored


def _recipe(p: CollectionProfile) -> tuple[object, ...]:
    return p.hash_recipe, p.hash_include, p.hash_exclude


def new_copies() -> str:
    """The name of a run that copies."""
    return new_run(_now, uuid.uuid4().hex[:6])


def _so_already(found: Copied, said: str) -> Copied:
    """A document that is there already as it is to be."""
    return replace(found, kind="skipped", detail=said, done=True)


def _is(planned: Value | None, now: Version) -> bool:
    """Whether a document still has the version that a plan saw, if it saw one."""
    return planned is None or number_key(planned) == number_key(now.v)


def _behind(versions: Mapping[object, Version], number: object) -> dict[object, Version] | None:
    """The versions behind a number, oldest first; None if that is not among them."""
    numbers = list(versions)
    if number not in versions:
        return None
    return {each: versions[each] for each in numbers[numbers.index(number) + 1 :]}


def _ticked(item: dict[str, Any]) -> bool:
    if not isinstance(item["copy"], bool):
        raise Unreadable('"copy" is true or false')
    return item["copy"]


def _standing(item: dict[str, Any]) -> Standing:
    change = str(item["change"])
    if change not in get_args(Change):
        raise Unreadable(f"there is no change {change!r}")
    here, there, v, w, since = (_value(item[name]) for name in ("id", "there", "from", "to", "since"))
    if (here is None) != (change == "only there") or (there is None) != (change == "only here"):
        raise Unreadable(f"{change} has the ids of the wrong sides")
    marks = str(item["sha1"]), str(item["sha1 there"])
    return Standing(plan_files.value(item["key"]), change, here, there, v, w, since, *marks)  # type: ignore[arg-type]


def _json(value: Value | None) -> object:
    """A value in a plan; a missing one is no list, so that it is not taken for a null."""
    return None if value is None else [text.json_object(value)]


def _value(written: list[object] | None) -> Value | None:
    return None if written is None else plan_files.value(written[0])


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
