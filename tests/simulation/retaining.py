"""Earlier versions removed by a rule while two writers continue: only what the rule names goes, and none is lost.

Two people carry out the same plan, each with a journal of their own, beside two writers; replies are lost, writes land
late, some die. The oracle works out from the stored documents what goes. Each removed version is looked for in the
quarantine, or in the journals where it was an element of an array. Hashes, by one of several recipes, fit what is left
and what is kept. A run that is killed at any of its writes is run again, and undone.
"""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import bson

from model.errors import Refused
from model.foundation.records import Outcome
from model.layouts.registry import bind
from model.operations.retaining import Retaining, RetentionPlan, Rule
from model.profile import CollectionProfile
from model.repair import quarantine
from model.server.retry import Write
from model.session.repairs import Repairs
from model.userdata.journal import Journal
from model.values import canonical as c
from model.values.canonical import Value
from model.writing.writer import Writer
from tests.simulation.hashes import drawn, misfits
from tests.simulation.histories import Entry, history, still
from tests.simulation.machine import Machine
from tests.simulation.plan_runs import KINDS, WRITERS, edit_faults, edits_of_writers, everything, folder, writing
from tests.simulation.run import Result
from tests.simulation.schedule import Crew, Dead, Odds, Schedule, SoundPort, WriterPort
from tests.simulation.taking_back import Killed, copied, edited
from tests.simulation.writers import ID, MONGODB, NS, OTHER, PAST, Feeder, OneCollection, Variant

LAYOUTS = ("versions", "flagged", "embedded", "nested", "archive", "deltas", "stream")
SUBJECT = "retaining, {}"
SUBJECTS = {SUBJECT.format(layout): layout for layout in LAYOUTS}
RETAINERS = 2
HOLD = "{t: 1}"


@dataclass(frozen=True)
class Chosen:
    """A rule for the oracle: how many stay, or the number that goes, and whether those with t = 1 stay."""

    keep: int = 0
    only: int = 0
    held: bool = False
    oldest: bool = False  # only the oldest can go, up to the first that stays: versions hold changes

    @property
    def rule(self) -> Rule:
        """The rule as the product is told it."""
        return Rule(self.keep or None, hold=HOLD if self.held else "", only=Value.of(self.only) if self.only else None)

    def going(self, entries: list[Entry]) -> set[int]:
        """The numbers of the versions that go."""
        if self.held and _is_held(entries[-1]):
            return set()
        old = entries[: -self.keep] if self.keep else [each for each in entries[:-1] if each.v == self.only]
        gone = {each.v for each in old if not (self.held and _is_held(each))}
        if not self.oldest:
            return gone
        return {each.v for each in itertools.takewhile(lambda each: each.v in gone, entries)}


def _is_held(entry: Entry) -> bool:
    return bool(bson.decode(entry.content)["t"] == 1)


Script = Callable[[WriterPort, Variant, set[int]], None]
"""Removes versions in place of the product, and is to be convicted."""


def forgetting(port: WriterPort, of: Variant, going: set[int]) -> None:
    """A script that deletes old versions for good."""
    for ns in (NS, PAST):
        for raw in port.find(ns):
            doc = bson.decode(raw)
            if doc.get(of.profile.version) in going:
                where = {"_id": doc["_id"], of.profile.version: doc[of.profile.version]}
                port.schedule.machine.apply(_write(ns, "delete", where, None))


def trimming(port: WriterPort, of: Variant, going: set[int]) -> None:
    """A script that reads an array of versions, leaves some out, and puts it back over what is there by then."""
    doc = bson.decode(next(port.find(NS)))
    left = [each for each in doc[of.profile.prev] if each[of.profile.version] not in going]
    port.send(_write(NS, "update", {"_id": doc["_id"]}, {"$set": {of.profile.prev: left}}))


def _write(ns: str, kind: Any, where: dict[str, Any], body: dict[str, Any] | None) -> Write:
    return Write(ns, kind, where, body, "a script")


def retaining(port: Any, profile: CollectionProfile, home: Path) -> Retaining:
    """The product's part, for one person with a journal of their own."""
    return Retaining(writer(port, profile, home), lambda ns, **_: None)


def writer(port: Any, profile: CollectionProfile, home: Path) -> Writer:
    places: Any = OneCollection(port, profile)
    return Writer(places, port, Journal(home), "simulated", "tester")


def _planned(port: Any, profile: CollectionProfile, chosen: Chosen, home: Path) -> RetentionPlan:
    """The plan for the document as it is, through its file."""
    work = retaining(port, profile, home)
    home.mkdir(exist_ok=True)
    plan, path = work.listed(NS, chosen.rule), str(home / "plan.json")
    work.save(path, plan, work.drawn(plan))
    return work.load(path, NS)


def run_retaining(subject: str, seed: int, crew: Crew, script: Script | None = None) -> Result:
    """Remove versions under one seed; by a ``script`` if one is given, which is to be convicted."""
    with folder("retaining") as home:
        return _run(SUBJECTS[subject], seed, crew, home, script)


def _run(layout: str, seed: int, crew: Crew, home: Path, script: Script | None) -> Result:
    rng = random.Random(f"retaining {layout} {seed}")
    deltas = layout == "deltas"
    of = Variant(layout, rng.random() < 0.5, "next", True, rng.random() < 0.75, checkpoints=deltas)
    if script is None:
        of = drawn(of, f"retaining {layout} {seed}")
    kinds = tuple(rng.choice((*KINDS, *(["front"] if deltas else []))) for _ in range(rng.randint(1, 3)))
    count = 2 + len(kinds)
    chosen = Chosen(only=rng.randint(1, count - 1)) if rng.random() < 0.3 else Chosen(rng.randint(1, count - 1))
    chosen = Chosen(chosen.keep, chosen.only, rng.random() < 0.3, deltas)
    first = edited(of, kinds)
    machine, before = copied(first), everything(first)
    machine.strict = script is None
    facts = MONGODB if of.mongodb else OTHER
    going = chosen.going(history(first, of.profile))
    plan = _planned(SoundPort(machine, facts), of.profile, chosen, home / "plan")
    schedule = Schedule(crew, machine, rng, Odds())
    feeder = Feeder(machine, of.profile, len(machine.log)) if layout == "stream" else None
    schedule.background = feeder.step if feeder is not None else None
    todo = edits_of_writers(rng)
    told: list[Outcome] = []

    def retainer(number: int) -> None:
        port = WriterPort(schedule, WRITERS + number, facts)
        if script is not None:
            script(port, of, going)
            return
        with contextlib.suppress(Refused):  # a read that failed
            told.extend(retaining(port, of.profile, home / f"r{number}").apply(plan))

    schedule.run([*writing(schedule, of.profile, todo, facts), *(partial(retainer, n) for n in range(RETAINERS))])
    wrong = [f"the code failed: {type(error).__name__}: {error}" for error in schedule.crashed]
    homes = [home / f"r{number}" for number in range(RETAINERS)]

    def faults() -> list[str]:
        if feeder is not None:
            feeder.drain()
        entries = history(machine, of.profile)
        said = [*edit_faults(entries, todo), *_faults(entries, going)]
        said += [*_changed(history(first, of.profile), entries), *_unproven(machine, of), *misfits(machine, of)]
        if not chosen.held and any(each.kind == "applied" for each in told):
            said += [f"somebody was told that it went, and v{v} is there" for v in going & {e.v for e in entries}]
        return said + _lost(machine, of, before, plan.run, homes)

    wrong += faults()
    if script is not None:
        return Result(seed, SUBJECT.format(layout), wrong, steps=schedule.steps)
    for number in range(RETAINERS):
        told.extend(retaining(SoundPort(machine, facts), of.profile, home / f"r{number}").apply(plan))
    wrong += faults()
    entries = history(machine, of.profile)
    if not (chosen.held and _is_held(entries[-1])) and (left := going & {each.v for each in entries}):
        wrong.append(f"undisturbed it leaves {sorted(left)}: {[each.detail for each in told]}")
    written = len(machine.log)
    for number in range(RETAINERS):
        list(retaining(SoundPort(machine, facts), of.profile, home / f"r{number}").apply(plan))
    if len(machine.log) != written:
        wrong.append("run again it writes")
    wrong += _killed(of, kinds, chosen)
    return Result(seed, SUBJECT.format(layout), wrong, steps=schedule.steps, outcomes=tuple(e.kind for e in told))


def _faults(entries: list[Entry], going: set[int]) -> list[str]:
    """Which versions are missing that were not to go, or are there twice."""
    numbers = [entry.v for entry in entries]
    rest = [v for v in numbers if v not in going]
    if rest != [v for v in range(1, numbers[-1] + 1) if v not in going] or len(set(numbers)) != len(numbers):
        return [f"versions are missing or doubled: {numbers}, and {sorted(going)} may go"]
    return []


def _changed(before: list[Entry], entries: list[Entry]) -> Iterator[str]:
    """The versions that are there and have another content than they had."""
    had = {each.v: still(each.content) for each in before}
    for each in entries:
        if still(each.content) != had.get(each.v, still(each.content)):
            yield f"v{each.v} has another content: {bson.decode(had[each.v])} before, {bson.decode(each.content)} now"


def _unproven(machine: Machine, of: Variant) -> Iterator[str]:
    """The versions that the product cannot prove any more."""
    if of.layout == "deltas":
        for each in bind(SoundPort(machine, MONGODB), of.profile).history(ID):
            if each.state not in ("present", "missing"):
                yield f"{each.v} is {each.state}: {each.detail}"


def _lost(machine: Machine, of: Variant, before: dict[str, list[bytes]], run: str, homes: list[Path]) -> list[str]:
    """The versions that went and are neither in the quarantine nor, as elements of arrays, in a journal."""
    if of.profile.layout in ("embedded", "nested"):
        kept = [record.before or b"" for home in homes for record in Journal(home).records("run", run)]
        now = b"".join(machine.documents(NS))
        past = bson.decode(before[NS][0])[of.profile.prev]
        gone = [raw for each in past if (raw := bson.encode(each)) not in now]
        return [f"{bson.decode(raw)} went, and no journal has it" for raw in gone if not any(raw in k for k in kept)]
    rows = map(bson.decode, machine.documents(quarantine.place(NS)))
    copies = {(row["from"], row["doc"][of.profile.version]) for row in rows}
    said = []
    for ns, raw in ((ns, raw) for ns, raws in before.items() for raw in raws if ns in (NS, PAST)):
        doc = bson.decode(raw)
        if any(c.get(raw, ("_id",)) == c.get(each, ("_id",)) for each in machine.documents(ns)):
            continue
        if (ns, doc[of.profile.version]) not in copies:
            said.append(f"v{doc[of.profile.version]} went from {ns}, and no copy is kept")
    return said


@lru_cache(maxsize=4096)
def _killed(of: Variant, kinds: tuple[str, ...], chosen: Chosen) -> tuple[str, ...]:
    """Kill a run at each of its writes, run it again, and undo it; what is wrong. Each rule is tried once."""
    said: list[str] = []
    first = edited(of, kinds)
    before = everything(first)
    going = chosen.going(history(first, of.profile))
    with folder("retaining-killed") as home:
        for at, behind in ((n // 2, n % 2 == 1) for n in itertools.count()):
            machine, where = copied(first), home / f"{at}{behind}"
            plan = _planned(SoundPort(machine, MONGODB), of.profile, chosen, where)
            ended = False
            try:
                list(retaining(Killed(machine, at, behind), of.profile, where).apply(plan))
                ended = True  # it has fewer writes than that
            except Dead:
                list(retaining(SoundPort(machine, MONGODB), of.profile, where).apply(plan))
            said += [
                f"killed at write {at} ({behind=}), {each}" for each in _ended(machine, of, kinds, going, plan, where)
            ]
            if everything(machine) != before:
                said.append(f"killed at write {at} ({behind=}) and undone, it is not what it was")
            if ended:
                return tuple(said)
    raise AssertionError("a run has an end")


def _ended(
    machine: Machine, of: Variant, kinds: tuple[str, ...], going: set[int], plan: RetentionPlan, home: Path
) -> Iterator[str]:
    """What is wrong behind a run that has ended; undoes it."""
    port, written = SoundPort(machine, MONGODB), len(machine.log)
    yield from _changed(history(edited(of, kinds), of.profile), history(machine, of.profile))
    if left := going & {each.v for each in history(machine, of.profile)}:
        yield f"run again it leaves {sorted(left)}"
    list(retaining(port, of.profile, home).apply(plan))
    if len(machine.log) != written:
        yield "the third run writes"
    yield from [*_unproven(machine, of), *misfits(machine, of)]
    if going:
        undone = [each.kind for each in Repairs(writer(port, of.profile, home), lambda *_: None).undo(plan.run)]
        if set(undone) - {"applied", "skipped"}:
            yield f"its undo ends {undone}"
