"""Repairs beside living writers, under the scheduler of the simulation: replies are lost, writes land late, some die.

A schedule has two writers, and two repairers with one plan, which was made before they began. Whatever happens, no
acknowledged edit and no version may be lost, and a repair that is run again at the end reaches a sound state.
"""

from __future__ import annotations

import datetime as dt
import itertools
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import bson
from bson import ObjectId
from msgspec.structs import replace

from model.counting import pending
from model.errors import Refused
from model.foundation.collection_profile import CollectionProfile
from model.foundation.findings import Finding
from model.foundation.records import Outcome
from model.layouts.registry import bind, stated
from model.repair import quarantine
from model.repair.plan import Plan, planned
from model.repair.running import Running
from model.repair.steps import RepairContext
from model.scan.tokens import Tokens
from model.server import guards
from model.server.retry import Write
from model.userdata.journal import Journal
from model.values.canonical import Value
from model.writing.writer import Writer
from tests.repairing.careless import SCRIPTS
from tests.simulation.histories import Entry, flagged, history
from tests.simulation.machine import Machine
from tests.simulation.schedule import Crew, Odds, Schedule, SoundPort, WriterPort
from tests.simulation.writers import (
    ID,
    MONGODB,
    OTHER,
    PAST,
    Attempt,
    Edit,
    Feeder,
    OneCollection,
    Variant,
    changed,
    ground,
    stamp,
    work,
)

Job = Callable[[], None]
WRITERS, REPAIRERS = 2, 2
NOW = dt.datetime(2024, 6, 1, tzinfo=dt.UTC)  # a month behind the stamps of the simulation, so that all of it is old
COUNTS = "shop.stats"


@dataclass(frozen=True)
class Damage:
    """What is wrong with the one document of a schedule."""

    name: str
    layout: str
    plant: Callable[[Machine, CollectionProfile], None]
    answer: str = ""


@dataclass
class Result:
    """How one schedule ended."""

    seed: int
    subject: str
    wrong: list[str]
    steps: int = 0
    told: tuple[str, ...] = ()  # outcomes of repairs
    kept: int = 0  # versions that only the quarantine has in the end
    trace: tuple[str, ...] = ()


def _oid(number: int) -> ObjectId:
    return ObjectId(b"\x65" + number.to_bytes(11, "big"))


def _row(doc: dict[str, Any], p: CollectionProfile, v: int, number: int) -> dict[str, Any]:
    rest = {name: value for name, value in doc.items() if name != "_id"}
    return {"_id": _oid(number), p.archive_id: ID.python()} | rest | {p.version: v}


def _current(machine: Machine, p: CollectionProfile) -> dict[str, Any]:
    (raw,) = machine.documents(p.ns)
    return bson.decode(raw)


def phantom(machine: Machine, p: CollectionProfile) -> None:
    doc = _current(machine, p)
    row = _row(doc, p, doc[p.version] + 1, 1) | {"title": "phantom", p.token: _oid(2)}
    machine.collection(PAST).insert(bson.encode(row))


def residue(machine: Machine, p: CollectionProfile) -> None:
    doc = _current(machine, p)
    machine.collection(PAST).insert(bson.encode(_row(doc, p, doc[p.version], 3)))


def both(machine: Machine, p: CollectionProfile) -> None:
    residue(machine, p)
    phantom(machine, p)


def in_place(machine: Machine, p: CollectionProfile) -> None:
    residue(machine, p)
    ((at, raw),) = machine.collection(p.ns).docs.items()
    machine.collection(p.ns).replace(at, bson.encode(bson.decode(raw) | {"title": "in place"}))


def _reflag(machine: Machine, p: CollectionProfile, wanted: Callable[[int], bool]) -> None:
    for at, raw in list(machine.collection(p.ns).docs.items()):
        doc = bson.decode(raw)
        doc.pop(p.current, None)
        if wanted(doc[p.version]):
            doc[p.current] = True
        machine.collection(p.ns).replace(at, bson.encode(doc))


def unflagged(machine: Machine, p: CollectionProfile) -> None:
    _reflag(machine, p, lambda v: False)


def all_flagged(machine: Machine, p: CollectionProfile) -> None:
    _reflag(machine, p, lambda v: True)


def old_flagged(machine: Machine, p: CollectionProfile) -> None:
    _reflag(machine, p, lambda v: v == 1)


def shuffled(machine: Machine, p: CollectionProfile) -> None:
    ((at, raw),) = machine.collection(p.ns).docs.items()
    doc = bson.decode(raw)
    (first,) = doc[p.prev]
    machine.collection(p.ns).replace(at, bson.encode(doc | {p.prev: [first, first]}))


def lagging(machine: Machine, p: CollectionProfile) -> None:
    """The feed has not brought the newest version."""
    top = _current(machine, p)[p.version]
    for at, raw in list(machine.collection(PAST).docs.items()):
        if bson.decode(raw)[p.version] == top:
            machine.collection(PAST).remove([at])


def unsealed(machine: Machine, p: CollectionProfile) -> None:
    ((at, raw),) = machine.collection(p.ns).docs.items()
    machine.collection(p.ns).replace(at, bson.encode(bson.decode(raw) | {p.hash: "0" * 40}))


def stored_twice(machine: Machine, p: CollectionProfile) -> None:
    """The second version is stored three times; a collection with duplicates has no unique index."""
    machine.collection(p.ns).indexes = {
        name: index for name, index in machine.collection(p.ns).indexes.items() if not index.unique or name == "_id_"
    }
    second = next(doc for raw in machine.documents(p.ns) if (doc := bson.decode(raw))[p.version] == 2)
    for number in (3, 4):
        machine.collection(p.ns).insert(bson.encode(second | {"_id": _oid(number), p.token: _oid(10 + number)}))


def tokens(machine: Machine, p: CollectionProfile) -> None:
    doc = {"_id": ID.python(), p.counter: 5, p.pending: [_oid(1), _oid(2)], p.applied: [_oid(9)]}
    machine.collection(COUNTS).insert(bson.encode(doc))


def counted(machine: Machine, p: CollectionProfile) -> None:
    doc = {"_id": ID.python(), p.counter: 5, p.pending: [_oid(9), _oid(2)], p.applied: [_oid(9)]}
    machine.collection(COUNTS).insert(bson.encode(doc))


DAMAGES: dict[str, Damage] = {
    each.name: each
    for each in (
        Damage("phantom", "archive", phantom),
        Damage("residue", "archive", residue),
        Damage("phantom and residue", "archive", both),
        Damage("edited in place", "archive", in_place),
        Damage("none flagged", "flagged", unflagged),
        Damage("all flagged", "flagged", all_flagged),
        Damage("old flagged", "flagged", old_flagged),
        Damage("prev repeated", "embedded", shuffled),
        Damage("feed behind", "stream", lagging),
        Damage("wrong hash", "hashed", unsealed, "rebuild"),
        Damage("stored twice", "versions", stored_twice),
        Damage("old tokens", "pending", tokens),
        Damage("counted tokens", "pending", counted),
    )
}


@lru_cache(maxsize=64)
def planted(name: str, of: Variant) -> Machine:
    """A machine with the damage in it; to be copied."""
    damage = DAMAGES[name]
    if damage.layout == "pending":
        machine = Machine()
    else:
        first = ground(of)
        machine = first.copy()
        machine.log += first.log
    damage.plant(machine, profile_of(damage, of))
    return machine


def profile_of(damage: Damage, of: Variant) -> CollectionProfile:
    """The profile of the one collection."""
    if damage.layout != "pending":
        return of.profile
    names = {"pending": "open", "applied": "done", "counter": "hits"} if of.names else {}
    return stated(COUNTS, "pending", **names)


def plan_of(machine: Machine, damage: Damage, profile: CollectionProfile) -> Plan:
    """The plan for what a scan finds."""
    port: Any = SoundPort(machine, MONGODB)
    if profile.layout == "pending":
        from model.checks.ordered_reading import OrderedReading

        said = list(Tokens(port, profile).findings([ID], NOW, OrderedReading(port)))
    else:
        said = list(bind(port, profile).findings([ID], NOW))
    plan = planned("simulated", [each for each in said if isinstance(each, Finding) and each.repair], now=NOW)
    for item in plan.items:
        if item.asks:
            plan = plan.with_answer(item.no, damage.answer or "leave")
    return plan


def running(port: Any, profile: CollectionProfile, plan: Plan, home: Path, name: str) -> Running:
    """One repairer at the plan, with a journal of its own."""
    places: Any = OneCollection(port, profile)
    writer = Writer(places, port, Journal(home), "simulated", "tester")
    able = guards.Abilities(True, True, True, True, True, True)
    stands = RepairContext(port, places.layout, lambda: NOW, "tester")
    for ns in (profile.ns, profile.archive, quarantine.place(profile.ns)):
        stands.ables[ns] = able
    return Running(writer, stands, plan, name)


@contextmanager
def homes() -> Iterator[Path]:
    """A folder in memory where that is to be had."""
    base = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(dir=base, prefix="repairing-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(name: str, seed: int, crew: Crew, home: Path, shown: bool = False, careless: bool = False) -> Result:
    """Run one kind of damage under one seed."""
    damage, rng = DAMAGES[name], random.Random(f"{name} {seed}")
    of = Variant(damage.layout, rng.random() < 0.5, "next", True, rng.random() < 0.75)
    profile = profile_of(damage, of)
    first = planted(name, of)
    machine = first.copy()
    machine.log += first.log
    machine.strict = not careless
    plan = plan_of(machine, damage, profile)
    facts = MONGODB if of.mongodb else OTHER
    schedule = Schedule(crew, machine, rng, Odds(), [] if shown else None)
    feeder = Feeder(machine, profile, len(machine.log)) if damage.layout == "stream" else None
    schedule.background = feeder.step if feeder is not None else None
    wrong: list[str] = [] if plan.items else ["nothing was found to repair"]
    told: list[Outcome] = []
    numbers = itertools.count(10)
    worlds: dict[str, World] = {"pending": Counts(machine, profile), "versions": InPlace(machine, profile)}
    world = worlds.get(damage.layout) or Versions(machine, profile, of)
    world.before()

    def repairer(number: int) -> Callable[[], None]:
        port = WriterPort(schedule, WRITERS + number, facts)
        if careless:
            return lambda: SCRIPTS[name](port, profile)
        mine = running(port, profile, plan, home / f"r{number}", f"run-{number}")

        def job() -> None:
            try:
                for no, outcome in mine:
                    told.append(outcome)
                    schedule.say(port.name, f"item {no} ended {outcome.kind}: {outcome.detail}")
            except Refused as error:  # a read that failed
                schedule.say(port.name, f"gives up: {error}")

        return job

    for number in range(REPAIRERS):
        folder = home / f"r{number}"
        folder.mkdir(exist_ok=True)
        for file in folder.glob("journal*"):
            file.unlink()
    jobs = [world.writer(schedule, number, rng, numbers) for number in range(WRITERS)]
    schedule.run([*jobs, *(repairer(number) for number in range(REPAIRERS))])
    failed = [error for error in schedule.crashed if not (careless and isinstance(error, Refused))]
    wrong += [f"the code failed: {type(error).__name__}: {error}" for error in failed]
    if feeder is not None:
        feeder.drain()
    wrong += world.audit("after the schedule")
    if careless:
        return Result(seed, name, wrong, schedule.steps, trace=tuple(schedule.trace or ()))
    sound: Any = SoundPort(machine, facts)
    for number in range(REPAIRERS):
        list(running(sound, profile, plan, home / f"r{number}", f"again-{number}"))
    for _ in range(4):
        left = plan_of(machine, damage, profile)
        if not left.items:
            break
        list(running(sound, profile, left, home / "r0", "anew"))
    else:
        wrong.append(f"it does not converge: {[(i.finding.code, i.finding.detail) for i in left.items]}")
    wrong += world.audit("in the end")
    wrong += world.goes_on()
    return Result(
        seed, name, wrong, schedule.steps, tuple(o.kind for o in told), world.kept, tuple(schedule.trace or ())
    )


class World:
    """What writers do beside the repairers, and what must hold."""

    kept = 0

    def before(self) -> None:
        raise NotImplementedError

    def writer(self, schedule: Schedule, number: int, rng: random.Random, numbers: Any) -> Job:
        raise NotImplementedError

    def audit(self, when: str) -> list[str]:
        raise NotImplementedError

    def goes_on(self) -> list[str]:
        return []


@dataclass
class Versions(World):
    """Documents with a history."""

    machine: Machine
    profile: CollectionProfile
    of: Variant
    edits: list[Edit] = field(default_factory=list)
    contents: set[bytes] = field(default_factory=set)

    def before(self) -> None:
        self.contents = {entry.content for entry in self._entries() if b"phantom" not in entry.content}
        if self.of.layout == "stream":  # what its feed has left out is gone with the next edit, whoever repairs
            self.contents -= {self._entries()[-1].content}

    def _entries(self) -> list[Entry]:
        return history(self.machine, self.profile)

    def _all(self) -> set[bytes]:
        """Every content that there is anywhere; what a phantom or a residue holds counts too."""
        return {entry.content for entry in self._entries()}

    def _quarantined(self) -> set[bytes]:
        p, found = self.profile, set()
        for raw in self.machine.documents(quarantine.place(p.ns)):
            doc = bson.decode(raw)["doc"]
            own = {"_id", p.version, p.token, p.hash, f"{p.token}_next", p.archive_id}
            found.add(bson.encode({name: value for name, value in doc.items() if name not in own}))
        return found

    def writer(self, schedule: Schedule, number: int, rng: random.Random, numbers: Any) -> Job:
        kinds = ("end", "log", "nested", "toggle")
        todo = [Edit(f"w{number}e{at}", rng.choice(kinds)) for at in range(rng.choice((1, 2, 2)))]
        self.edits += todo
        facts = MONGODB if self.of.mongodb else OTHER
        layout = bind(WriterPort(schedule, number, facts), self.profile)

        def job() -> None:
            work(layout, todo, lambda: stamp(next(numbers)))

        return job

    def audit(self, when: str) -> list[str]:
        entries = self._entries()
        said = []
        here, aside = {entry.content for entry in entries}, self._quarantined()
        gone = [*(self.contents - here - aside)]
        if gone and self.of.layout != "hashed":
            said.append(f"{len(gone)} contents of the beginning are lost: {bson.decode(gone[0])}")
        attempts: list[tuple[Edit, Attempt]] = [(edit, a) for edit in self.edits for a in edit.attempts]
        for edit, attempt in attempts:
            times = sum(entry.token == attempt.token for entry in entries)
            kind = attempt.outcome.kind if attempt.outcome is not None else "died"
            if kind == "applied" and times != 1 and not self._overwritten_token(attempt, entries):
                said.append(f"{edit.mark} was acknowledged and is there {times} times")
            if kind in ("conflict", "refused") and times:
                said.append(f"{edit.mark} was told {kind} and is there")
        if when == "in the end" and (alone := (self.contents & aside) - here):
            said.append(f"{len(alone)} contents are in the quarantine alone")
        self.kept = len((self.contents & aside) - here)
        return [f"{when}: {each}" for each in said]

    def _overwritten_token(self, attempt: Attempt, entries: list[Entry]) -> bool:
        """Whether the content is there under the token of a repair that gave it a number of its own."""
        return any(entry.content == attempt.content for entry in entries)

    def goes_on(self) -> list[str]:
        if self.of.layout == "flagged" and flagged(self.machine, self.profile) != [self._entries()[-1].v]:
            return [f"{flagged(self.machine, self.profile)} are flagged in the end"]
        layout = bind(SoundPort(self.machine, MONGODB), self.profile)
        base = layout.version(ID)
        assert base.content is not None
        outcome = layout.swap(ID, base, changed(base.content, "end", "last"), stamp(10**9))
        return [] if outcome.kind == "applied" else [f"the next edit ends {outcome.kind}: {outcome.detail}"]


@dataclass
class InPlace(World):
    """Versions that others change in place, as they have no index that would let anybody add one safely."""

    machine: Machine
    profile: CollectionProfile
    acked: list[str] = field(default_factory=list)

    def before(self) -> None:
        self.numbers = {bson.decode(raw)[self.profile.version] for raw in self.machine.documents(self.profile.ns)}

    def writer(self, schedule: Schedule, number: int, rng: random.Random, numbers: Any) -> Job:
        port, p = WriterPort(schedule, number, MONGODB), self.profile
        marks = [f"w{number}m{at}" for at in range(rng.choice((0, 0, 1)))]
        order = rng.random()

        def job() -> None:
            for mark in marks:
                try:
                    found = [bson.decode(raw) for raw in port.find(p.ns)]
                except Refused:
                    continue
                same = [doc for doc in found if doc[p.version] == 2]
                doc = same[int(order * len(same))]
                where = {"_id": doc["_id"], p.id: doc[p.id]}
                if port.send(Write(p.ns, "update", where, {"$set": {mark: 1}}, "in place")).applied == "yes":
                    self.acked.append(mark)

        return job

    def audit(self, when: str) -> list[str]:
        docs = [bson.decode(raw) for raw in self.machine.documents(self.profile.ns)]
        said = [f"version {v} is gone" for v in self.numbers - {doc[self.profile.version] for doc in docs}]
        said += [f"{mark} was acknowledged and is gone" for mark in self.acked if not any(mark in doc for doc in docs)]
        return [f"{when}: {each}" for each in said]


@dataclass
class Counts(World):
    """A counter in two steps, whose writers go on counting."""

    machine: Machine
    profile: CollectionProfile
    acked: list[ObjectId] = field(default_factory=list)

    def before(self) -> None:
        (raw,) = self.machine.documents(COUNTS)
        self.first = bson.decode(raw)

    def writer(self, schedule: Schedule, number: int, rng: random.Random, numbers: Any) -> Job:
        port: Any = WriterPort(schedule, number, MONGODB)
        mine = [_oid(100 + 10 * number + at) for at in range(2)]

        def job() -> None:
            for token in mine:
                try:
                    self._count(port, token)
                except Refused:
                    continue

        return job

    def _count(self, port: Any, token: ObjectId) -> None:
        of = replace(pending.counters(port, self.profile), keeps_applied=True)
        for what in ("add", "finish"):
            named = pending.token_at(of, ID, Value.of(token))
            outcome = pending.send(port, named, of, what)  # type: ignore[arg-type]
            if outcome.kind not in ("applied", "skipped"):
                return
        self.acked.append(token)

    def audit(self, when: str) -> list[str]:
        p = self.profile
        (raw,) = self.machine.documents(COUNTS)
        doc = bson.decode(raw)
        said = []
        done = doc[p.applied]
        if len(set(done)) != len(done):
            said.append("a token is applied twice")
        if doc[p.counter] != self.first[p.counter] + len(set(done) - set(self.first[p.applied])):
            said.append(f"the counter is {doc[p.counter]}, and {len(done)} tokens are applied")
        if lost := [token for token in self.acked if token not in done]:
            said.append(f"{len(lost)} acknowledged counts are lost")
        if gone := set(self.first[p.pending]) - set(doc[p.pending]) - set(done):
            said.append(f"{len(gone)} tokens vanished uncounted")
        return [f"{when}: {each}" for each in said]


# --- many of them

Chunk = tuple[str, range, bool]
"""A kind of damage, seeds, and whether careless scripts are tried."""


def chunk(job: Chunk) -> tuple[str, bool, list[Result]]:
    """Run some seeds; for a process of its own."""
    name, seeds, careless = job
    crew = Crew(4)
    try:
        with homes() as home:
            return name, careless, [run(name, seed, crew, home, careless=careless) for seed in seeds]
    finally:
        crew.close()
