"""Documents copied from one collection to another, by a plan that a comparison wrote: guarded, journalled, undoable.

Only what is ticked is copied, and only while both sides are as the plan saw them, or as an interrupted run of it left
them. Contents are read again when they are copied. If both layouts keep versions, a document comes with them: all if
it is missing there, else the later ones, with their numbers, times and authors.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from model import text
from model.errors import NotAllowed, NotFound, Refused, Unreadable
from model.foundation.findings import Finding
from model.foundation.records import Checkpoint, Outcome, Version, no_checkpoint
from model.layouts.registry import WRITABLE
from model.operations import history_import, plan_files
from model.operations.history_rows import HistoryRows, Taken
from model.operations.side_by_side import Change, Side, Standing, number_key, standing, versions_of
from model.repair.items import Item
from model.repair.plan import Plan
from model.repair.running import Running, new_run
from model.repair.steps import RepairContext, Step, physical
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
    """The documents to copy; ``run`` names the saved versions in the journal, ``histories`` the whole histories."""

    items: tuple[Standing, ...]
    run: str
    histories: str


class CopyAcross(Struct, frozen=True, dict=True):
    """Copies from the collection here to the one there; ``source`` names where it reads."""

    here: Side
    there: Side
    source: str
    writer: Writer  # of the collection there
    allowed: Callable[[str], None]  # raises if a collection may not be written
    production: Callable[[], bool] = lambda: False

    # --- plans

    def why_not(self, each: Standing) -> str:
        """Why a document cannot be copied, one sentence; "" if it can."""
        return _WHY_NOT.get(each.change, "")

    def save(self, path: str, found: Iterable[Standing]) -> CopyPlan:
        """Write a plan of everything that differs. Raises ``Refused``."""
        ns = self.there.layout.ns
        if of := self.writer.catalogue.info(ns).belongs_to:
            raise Refused(f"{ns} holds the earlier versions of {of}; compare and copy the documents there.")
        plan = CopyPlan(tuple(found), new_run(_now, uuid.uuid4().hex[:6]), new_run(_now, uuid.uuid4().hex[:6]))
        items = [
            {
                "key": text.json_object(each.key),
                "change": each.change,
                "copy": each.change in TICKED,
                "id": _json(each.here),
                "there": _json(each.there),
                "from": _json(each.v),
                "to": _json(each.w),
                "since": _json(each.since),
                "sha1": each.mark,
                "sha1 there": each.other_mark,
                **({"detail": why} if (why := self.why_not(each)) else {}),
            }
            for each in plan.items
        ]
        more = {"from": self._from, "run": plan.run, "histories": plan.histories}
        plan_files.save(path, FORMAT, self.writer.source, ns, items, **more)
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
            items = tuple(_standing(each) for each in plan["items"] if _ticked(each))
            return CopyPlan(items, str(plan["run"]), str(plan["histories"]))

        return plan_files.load(path, FORMAT, self.writer.source, self.there.layout.ns, made)

    # --- doing it

    def apply(self, plan: CopyPlan, step: Checkpoint = no_checkpoint, confirmed: bool = False) -> Iterator[Outcome]:
        """Copy the documents of a plan, each as far as it is still as the plan saw it.

        Raises ``NotAllowed`` and ``Refused`` if nothing may be written.
        """
        layout = self.there.layout
        self.allowed(layout.ns)
        if not confirmed and self.production():
            raise NotAllowed("This connection is production; confirm the writes by the collection's name first.")
        if reason := layout.read_only or self.writer.catalogue.objection(layout.ns):
            raise Refused(reason)
        return self._outcomes(plan, step)

    def _outcomes(self, plan: CopyPlan, step: Checkpoint) -> Iterator[Outcome]:
        writer = replace(self.writer, run=plan.run)
        sender = Running(
            self.writer, self._rows.ground, Plan(f"import-{plan.histories}", self.writer.source, _now()),
            plan.histories, action=history_import.ACTION,
        )  # fmt: skip
        for done, each in enumerate(plan.items):
            step(done, len(plan.items))
            id = each.there or each.here
            try:
                yield self._copied(writer, sender, done + 1, each)
            except Taken:
                said = f"{id_name(each.key)} came to be there meanwhile; compare again."
                yield Outcome("conflict", self.there.layout.ns, id, said)
            except (NotFound, Refused) as error:
                yield Outcome("refused", self.there.layout.ns, id, str(error))
        step(len(plan.items), len(plan.items))

    def _copied(self, writer: Writer, sender: Running, no: int, each: Standing) -> Outcome:
        layout, ns = self.there.layout, self.there.layout.ns
        if why := self.why_not(each):
            return Outcome("refused", ns, each.there, f"{id_name(each.key)} was not copied. {why}")
        assert each.here is not None
        base = self.here.layout.version(each.here)
        if base.content is None:
            return Outcome("refused", ns, each.there, f"{id_name(each.key)} cannot be read: {base.detail}.")
        if c.hash_of(base.content) != each.mark:
            return Outcome("conflict", ns, each.there, f"{id_name(each.key)} moved on here since the plan.")
        if each.change == "only here":
            return self._missing(writer, sender, no, each, base)
        assert each.there is not None
        now = layout.version(each.there)
        if now.content == base.content and not self._keep_histories:
            return Outcome("skipped", ns, each.there, f"{id_name(each.key)} is the same on both sides.", now.v)
        if each.change == "ahead":
            return self._later(writer, sender, no, each.here, each.there)
        if now.content is None or c.hash_of(now.content) != each.other_mark:
            if now.content == base.content:
                return Outcome("skipped", ns, each.there, f"{id_name(each.key)} is the same on both sides.", now.v)
            return Outcome("conflict", ns, each.there, f"{id_name(each.key)} moved on there since the plan.")
        return writer.save(ns, each.there, now, base.content, ACTION)

    @property
    def _keep_histories(self) -> bool:
        return self.here.keeps_history and self.there.keeps_history

    def _later(self, writer: Writer, sender: Running, no: int, here: Value, there: Value) -> Outcome:
        """Store the versions that only this side has behind those that are there, with their numbers and authors."""
        layout, ns = self.there.layout, self.there.layout.ns
        mine, theirs = versions_of(self.here.layout, here), versions_of(layout, there)
        change, since = standing(mine, theirs)
        if change == "changed":
            return Outcome("skipped", ns, there, f"{id_name(there)} has the same versions on both sides.")
        if change != "ahead":
            return Outcome("conflict", ns, there, f"{id_name(there)} moved on there since the plan.")
        numbers = list(mine)
        later = [mine[number] for number in numbers[numbers.index(number_key(since)) + 1 :]]
        if not self._stores_histories:
            return writer.save(ns, there, layout.version(there), later[-1].content or c.EMPTY, ACTION)
        before = list(theirs.values())
        steps = self._appended(there, self._stored(there, before), self._stored(there, [*before, *later]))
        return self._sent(sender, no, there, steps, later)

    def _appended(self, id: Value, old: list[tuple[str, bytes]], new: list[tuple[str, bytes]]) -> list[Step]:
        """The writes that turn one history as it would be stored anew into another, on the documents that are there."""
        layout, ground = self.there.layout, self._rows.ground
        was, there = {(ns, physical(raw)): raw for ns, raw in old}, self._rows.there(id)
        steps = []
        for ns, raw in new:
            same = was.get((ns, physical(raw)))
            if same == raw:
                continue
            now = there.get((ns, physical(raw)))
            if same is None:
                if now is not None and now != raw:
                    raise Taken(f"{id_name(id)} was changed in {ns} by somebody else.")
                steps += [] if now == raw else [ground.inserted(ns, "copied", raw, "copied")]
                continue
            now = now or self._having(there, ns, c.get(same, (layout.profile.version,)))
            own = [pair for pair in c.fields(raw) if pair[0] != "_id"]
            kept = [pair for pair in c.fields(now) if pair[0] in layout.beside(now)]
            after = c.document([("_id", physical(now)), *own, *kept])
            if after != now:
                steps.append(ground.swapped(ns, "brought up to date", now, after, "brought up to date"))
        return steps

    def _having(self, there: dict[tuple[str, Value], bytes], ns: str, v: Value | None) -> bytes:
        """The stored document with a version; raises ``Taken`` if it is gone."""
        name = self.there.layout.profile.version
        found = next((raw for (of, _), raw in there.items() if of == ns and c.get(raw, (name,)) == v), None)
        if found is None:
            raise Taken(f"A version in {ns} was taken away by somebody else.")
        return found

    @property
    def _stores_histories(self) -> bool:
        layout = self.there.layout
        return self._keep_histories and layout.numbered and layout.name in WRITABLE

    def _stored(self, id: Value, versions: list[Version]) -> list[tuple[str, bytes]]:
        *earlier, last = (each.but(current=False) for each in versions)
        return self._rows.of(id, [*earlier, last.but(current=True)])

    def _sent(self, sender: Running, no: int, id: Value, steps: list[Step], versions: list[Version]) -> Outcome:
        ns = self.there.layout.ns
        if not steps:
            return Outcome("skipped", ns, id, f"{id_name(id)} is the same on both sides.")
        count = f"{len(versions):,} {'version' if len(versions) == 1 else 'versions'} copied."
        item = Item(no, Finding("", ns, id, (), count), history_import.ACTION, "yes")
        end: Outcome | None = None
        for done, one in enumerate(history_import.tied(steps, versions)):
            end = sender.send(item, one)
            if end.kind != "applied":
                more = f" {done:,} of {len(steps):,} writes were done; carry the plan out again." if done else ""
                return replace(end, kind="unknown" if done else end.kind, detail=f"{end.detail}{more}")
        return Outcome("applied", ns, id, count, entry=end.entry if end is not None else None)

    # --- documents that are missing there

    def _missing(self, writer: Writer, sender: Running, no: int, each: Standing, base: Version) -> Outcome:
        layout, id = self.there.layout, each.here
        assert id is not None
        assert base.content is not None
        if not self._stores_histories:
            return self._created(writer, id, base.content)
        if reason := layout.missing_index():
            raise Refused(reason)
        versions = list(versions_of(self.here.layout, id).values())
        if not versions:
            return self._created(writer, id, base.content)
        steps = self._rows.steps(id, self._stored(id, versions), (), self.here.layout.ns, "copied")
        return self._sent(sender, no, id, steps, versions)

    def _created(self, writer: Writer, id: Value, content: bytes) -> Outcome:
        ns = self.there.layout.ns
        try:
            there = self.there.layout.version(id)
        except NotFound:
            return writer.create(ns, content, id, ACTION, unless_there=True)
        if there.content == content:
            return Outcome("skipped", ns, id, f"{id_name(id)} is the same on both sides.", there.v)
        return Outcome("conflict", ns, id, f"{id_name(id)} came to be there meanwhile; compare again.")

    @cached_property
    def _rows(self) -> HistoryRows:
        writer = self.writer
        ground = RepairContext(writer.port, writer.catalogue.layout, _now, writer.author or "palimpsest")
        target = self.there.layout
        return HistoryRows(ground, target, target.foreign.first(writer.port) if target.profile.counted_lock else {})


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
