"""A document copied from another collection while two writers continue: all of it once, and nobody is overwritten.

Two people carry out the same plan, each with a journal of their own, beside two writers where it is copied to; the
document may move on where it comes from. Replies are lost, writes land late, some die. The oracle works out from the
stored documents which versions come, and in which order. A run that is killed at any of its writes is run again, and
undone.
"""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import bson

from model.errors import NotFound, Refused
from model.foundation.records import Outcome
from model.layouts.registry import bind
from model.operations.batches import Batches
from model.operations.copying_across import CopyAcross, CopyPlan
from model.operations.side_by_side import Change, Side, Standing, standing, versions_of
from model.profile import CollectionProfile
from model.server.retry import Write
from model.session.repairs import Repairs
from model.userdata.journal import Journal
from model.values import canonical as c
from model.writing.writer import Writer
from tests.simulation.hashes import RECIPES, misfits
from tests.simulation.histories import UNNUMBERED, Entry, history
from tests.simulation.machine import Machine
from tests.simulation.plan_runs import KINDS, WRITERS, edit_faults, edits_of_writers, everything, folder
from tests.simulation.run import Result
from tests.simulation.schedule import Crew, Dead, Odds, Schedule, SoundPort, WriterPort
from tests.simulation.taking_back import Killed, copied, edited
from tests.simulation.writers import (
    ID,
    MONGODB,
    NS,
    OTHER,
    PAST,
    Edit,
    Feeder,
    OneCollection,
    Variant,
    changed,
    stamp,
    work,
)

LAYOUTS = ("versions", "flagged", "embedded", "nested", "archive", "deltas", "stream", "hashed", "plain")
SUBJECT = "copying, {}"
SUBJECTS = {SUBJECT.format(layout): layout for layout in LAYOUTS}
COPIERS, PATIENCE = 2, 8
MOVES = 0.02
"""The chance at each step beside the writers that the document moves on where it comes from."""
SEALED = 0.5
"""The share of schedules in which versions carry hashes, by a recipe of its own on each side."""
APART = "w9"
"""A mark that only one of two diverged histories has."""


@dataclass(frozen=True)
class Scene:
    """What is on both sides: a document with some versions here, and there none, some of them, or others."""

    there: Variant
    here: Variant
    kinds: tuple[str, ...]
    common: int  # of these that both sides have; -1 if the document is not there at all
    apart: bool = False  # there is another version behind the common ones

    @property
    def machines(self) -> tuple[Machine, Machine]:
        """The servers here and there, to be used up."""
        here = copied(edited(self.here, self.kinds))
        if self.common < 0:
            return here, _emptied(edited(self.there, ()))
        there = copied(edited(self.there, self.kinds[: self.common]))
        if self.apart:
            layout = bind(SoundPort(there, MONGODB), self.there.profile)
            base = layout.version(ID)
            assert layout.swap(ID, base, changed(base.content or b"", "end", APART), stamp(50)).kind == "applied"
            if self.there.layout == "stream":
                Feeder(there, self.there.profile).drain()
        return here, there


def _emptied(machine: Machine) -> Machine:
    """A server with the same collections and indexes, and nothing in them."""
    twin = machine.copy()
    for collection in twin.collections.values():
        collection.remove(list(collection.docs))
    return twin


def _side(port: Any, of: Variant) -> Side:
    return Side(bind(port, of.profile), of.layout not in UNNUMBERED)


def _writer(port: Any, profile: CollectionProfile, home: Path) -> Writer:
    places: Any = OneCollection(port, profile)
    return Writer(places, port, Journal(home), "simulated", "tester")


def _copying(scene: Scene, here: Machine, port: Any, home: Path) -> CopyAcross:
    """The product's part, for one person with a journal of their own."""
    writer = _writer(port, scene.there.profile, home)
    sides = _side(SoundPort(here, MONGODB), scene.here), _side(port, scene.there)
    return CopyAcross(*sides, "other", writer, lambda _: None)


def _found(scene: Scene, here: Machine, there: Machine) -> Standing:
    """How the document differs, as a comparison finds it."""
    one, other = _side(SoundPort(here, MONGODB), scene.here), _side(SoundPort(there, MONGODB), scene.there)
    mine = one.layout.version(ID)
    v = mine.v if one.keeps_history else None
    try:
        theirs = other.layout.version(ID)
    except NotFound:
        return Standing(ID, "only here", ID, v=v, mark=c.hash_of(mine.content or b""))
    change, since = "changed", None
    if one.keeps_history and other.keeps_history:
        change, since = standing(versions_of(one.layout, ID), versions_of(other.layout, ID))
    w = theirs.v if other.keeps_history else None
    marks = (c.hash_of(each.content or b"") for each in (mine, theirs))
    return Standing(ID, change, ID, ID, v, w, since, *marks)


def _planned(scene: Scene, here: Machine, there: Machine, home: Path) -> CopyPlan:
    """The plan for the document as it is, through its file."""
    home.mkdir(exist_ok=True)
    work, path = _copying(scene, here, SoundPort(there, MONGODB), home), home / "plan.json"
    work.save(str(path), [_found(scene, here, there)])
    path.write_text(path.read_text().replace('"copy": false', '"copy": true'))
    return work.load(str(path))


Script = Callable[[WriterPort, Machine, Scene], None]
"""Copies in place of the product, and is to be convicted."""


def overwriting(port: WriterPort, here: Machine, scene: Scene) -> None:
    """A script that puts every stored document over what is there, as a restore of a dump does."""
    for ns in (PAST, NS):
        for raw in here.documents(ns):
            where = {"_id": bson.decode(raw)["_id"]}
            there = next(iter(port.find(ns, where)), None)
            port.send(Write(ns, "update" if there else "insert", where if there else {}, raw, "a script"))


def renumbering(port: WriterPort, here: Machine, scene: Scene) -> None:
    """A script that adds the versions that are new behind the newest one there, under the numbers that follow it."""
    p = scene.there.profile
    since = max((bson.decode(raw)[p.version] for raw in port.find(NS)), default=0)
    for raw in here.documents(NS):
        doc = bson.decode(raw)
        if doc[p.version] > 2 + scene.common:
            since += 1
            row = {**doc, "_id": bson.ObjectId(), p.version: since}
            port.send(Write(NS, "insert", {}, bson.encode(row), "a script"))


def run_copying(subject: str, seed: int, crew: Crew, script: Script | None = None) -> Result:
    """Copy under one seed; by a ``script`` if one is given, which is to be convicted."""
    with folder("copying") as home:
        return _run(SUBJECTS[subject], seed, crew, home, script)


def _scene(layout: str, rng: random.Random, plainly: bool) -> Scene:
    there = Variant(layout, rng.random() < 0.5, "next", True, rng.random() < 0.75)
    here = there
    if not plainly:
        whence = rng.choice([each for each in LAYOUTS if each not in UNNUMBERED])
        here = Variant(whence if rng.random() < 0.3 else layout, rng.random() < 0.5)
    kinds = tuple(rng.choice(KINDS) for _ in range(rng.randint(1, 3)))
    common = rng.randint(0 if plainly or rng.random() < 0.7 else -1, len(kinds) - 1)
    return Scene(there, here, kinds, common, common >= 0 and not plainly and rng.random() < 0.25)


def _run(layout: str, seed: int, crew: Crew, home: Path, script: Script | None) -> Result:
    rng = random.Random(f"copying {layout} {seed}")
    scene = _scene(layout, rng, script is not None)
    hashes = random.Random(f"copying {layout} {seed} hashes")
    if script is None and layout != "plain" and hashes.random() < SEALED:
        here, there = (replace(each, recipe=hashes.choice([*RECIPES])) for each in (scene.here, scene.there))
        scene = replace(scene, here=here, there=there)
    of, facts = scene.there, MONGODB if scene.there.mongodb else OTHER
    here, machine = scene.machines
    oracle = _Oracle(scene, here, machine)
    plan = _planned(scene, here, machine, home / "plan")
    machine.strict = script is None
    schedule = Schedule(crew, machine, rng, Odds())
    feeder = Feeder(machine, of.profile, len(machine.log)) if layout == "stream" else None
    source, own = _Source(scene, here), random.Random(f"copying {layout} {seed} beside")

    def beside() -> str:
        if script is None and own.random() < MOVES:
            return source.step()
        return feeder.step() if feeder is not None else ""

    schedule.background = beside
    todo = edits_of_writers(rng)
    told: list[Outcome] = []

    def copier(number: int) -> None:
        port = WriterPort(schedule, WRITERS + number, facts)
        if script is not None:
            script(port, here, scene)
            return
        with contextlib.suppress(Refused):  # a read that failed
            told.extend(_copying(scene, here, port, home / f"c{number}").apply(plan))

    schedule.run([*_writing(schedule, of, todo), *(partial(copier, n) for n in range(COPIERS))])
    wrong = [f"the code failed: {type(error).__name__}: {error}" for error in schedule.crashed]

    def again() -> list[Outcome]:
        ends = []
        for number in range(COPIERS):
            ends += _copying(scene, here, SoundPort(machine, facts), home / f"c{number}").apply(plan)
        if feeder is not None:
            feeder.drain()
        return ends

    if feeder is not None:
        feeder.drain()
    wrong += oracle.faults(machine, todo, told, ended=script is not None)
    if script is not None:
        return Result(seed, SUBJECT.format(layout), wrong, steps=schedule.steps)
    ends = again()
    told += ends
    wrong += [*oracle.faults(machine, todo, ends, ended=True), *misfits(machine, of)]
    written = len(machine.log)
    again()
    if len(machine.log) != written:
        wrong.append("run again it writes")
    wrong += _killed(_plain(scene))
    kinds = tuple(each.kind for each in told)
    return Result(seed, SUBJECT.format(layout), wrong, steps=schedule.steps, outcomes=kinds, about=str(scene))


def _writing(schedule: Schedule, of: Variant, todo: list[list[Edit]]) -> list[Callable[[], None]]:
    """The writers where it is copied to, who wait for a document that is not there yet."""
    numbers = itertools.count(100)
    facts = MONGODB if of.mongodb else OTHER

    def job(number: int) -> None:
        layout = bind(WriterPort(schedule, number, facts), of.profile)
        for _ in range(PATIENCE):
            try:
                layout.version(ID)
                break
            except Refused:  # not there, or a read that failed
                continue
        else:
            return
        work(layout, todo[number], lambda: stamp(next(numbers)))

    return [partial(job, number) for number in range(len(todo))]


@dataclass
class _Source:
    """The document moves on where it comes from, once."""

    scene: Scene
    machine: Machine
    moved: bool = False

    def step(self) -> str:
        """Edit it, unless it has been; what was done."""
        if self.moved:
            return ""
        self.moved = True
        layout = bind(SoundPort(self.machine, MONGODB), self.scene.here.profile)
        base = layout.version(ID)
        assert layout.swap(ID, base, changed(base.content or b"", "end", "moved"), stamp(60)).kind == "applied"
        return "the document moves on where it comes from"


class _Oracle:
    """Knows from the stored documents what comes, and behind what."""

    def __init__(self, scene: Scene, here: Machine, there: Machine) -> None:
        self.scene = scene
        self.before = history(there, scene.there.profile)
        mine = history(here, scene.here.profile)
        since = sum(1 for _ in itertools.takewhile(_are_equal, zip(mine, self.before, strict=False)))
        histories = not {scene.here.layout, scene.there.layout} & set(UNNUMBERED)
        whole = histories and since == len(self.before)
        self.coming = [entry.content for entry in (mine[since:] if whole else mine[-1:])]
        self.stored = whole  # with its history, in several writes
        if scene.there.layout in UNNUMBERED and self.before and self.before[-1].content == self.coming[-1]:
            self.coming = []

    def faults(
        self,
        machine: Machine,
        edits: Sequence[list[Edit]],
        told: Sequence[Outcome],
        ended: bool,
        undisturbed: bool = False,
    ) -> list[str]:
        """What is wrong there; a run that has ``ended`` left nothing half-done."""
        of = self.scene.there
        entries = history(machine, of.profile)
        if not entries:
            return ["it was told to be there, and is not"] if any(e.kind == "applied" for e in told) else []
        said = edit_faults(entries, list(edits)) if edits else []
        first = entries[: len(self.before)]
        if [each.content for each in first] != [each.content for each in self.before]:
            said.append("what was there before is not any more")
        tokens = {attempt.token for edit in itertools.chain(*edits) for attempt in edit.attempts}
        rest = entries[len(self.before) :]
        theirs = [each for each in rest if each.token in tokens]
        came = [each for each in rest if each.token not in tokens]
        if self._is_behind_an_edit(rest, came):
            said.append("what was copied stands behind an edit")
        said += self._numbers(entries, came, ended)
        contents = [each.content for each in came]
        if of.layout in UNNUMBERED:
            contents = list(dict.fromkeys(contents))  # the other one copies it again, where an edit has brought it back
        if not _is_part(contents, self.coming):
            said.append(f"{len(came)} versions came, which are not those that were to come")
        elif contents != self.coming:
            if any(each.kind == "applied" for each in told) or undisturbed:
                said.append(f"it was told to be copied, and {len(came)} of {len(self.coming)} versions are there")
            # Versions that are documents of their own come one by one: a writer may follow any of them.
            several = of.layout in ("versions", "flagged", "deltas")
            if ended and came and not (several and theirs and contents == self.coming[: len(came)]):
                said.append(f"run again it leaves {len(came)} of {len(self.coming)} versions")
        return said

    def _is_behind_an_edit(self, rest: list[Entry], came: list[Entry]) -> bool:
        """Whether an edit comes before what was copied.

        Without numbers the content is all that the plan saw, and edits may have brought that back by then.
        """
        if self.scene.there.layout in UNNUMBERED:
            seen = self.before[-1].content if self.before else b""
            return any(at and rest[at - 1].content != seen for at, each in enumerate(rest) if each in came)
        at = rest.index(came[0]) if came else 0
        return at > 0 or rest[: len(came)] != came

    def _numbers(self, entries: list[Entry], came: list[Entry], ended: bool) -> list[str]:
        if self.scene.there.layout in UNNUMBERED:
            return []
        numbers = [each.v for each in entries]
        whole = list(range(1, numbers[-1] + 1))
        if numbers == whole or (not ended and numbers == sorted(set(numbers)) and self.stored):
            return []
        return [f"versions are missing or doubled: {numbers}, of which {[each.v for each in came]} came"]


def _are_equal(pair: tuple[Entry, Entry]) -> bool:
    return pair[0].content == pair[1].content


def _is_part(some: list[bytes], all_of_it: list[bytes]) -> bool:
    """Whether some contents are among others, in their order."""
    rest = iter(all_of_it)
    return all(any(each == other for other in rest) for each in some)


def _plain(scene: Scene) -> Scene:
    """The scene without what makes no difference to a run that nobody disturbs."""
    here, there = (replace(each, mongodb=True) for each in (scene.here, scene.there))
    return replace(scene, here=replace(there, recipe=here.recipe) if here.layout == there.layout else here, there=there)


@lru_cache(maxsize=4096)
def _killed(scene: Scene) -> tuple[str, ...]:
    """Kill a run at each of its writes, run it again, and undo it; what is wrong. Each scene is tried once."""
    said: list[str] = []
    with folder("copying-killed") as home:
        for at, behind in ((n // 2, n % 2 == 1) for n in itertools.count()):
            (here, machine), where = scene.machines, home / f"{at}{behind}"
            before, oracle = everything(machine), _Oracle(scene, here, machine)
            plan = _planned(scene, here, machine, where)
            ended = False
            try:
                list(_copying(scene, here, Killed(machine, at, behind), where).apply(plan))
                ended = True  # it has fewer writes than that
            except Dead:
                list(_copying(scene, here, SoundPort(machine, MONGODB), where).apply(plan))
            for each in _ended(scene, oracle, here, machine, plan, where):
                said.append(f"killed at write {at} ({behind=}), {each}")
            stored = plan.items[0].change in _STORED and scene.there.layout not in UNNUMBERED
            entries = history(machine, scene.there.profile)
            if stored and everything(machine) != before:
                said.append(f"killed at write {at} ({behind=}) and undone, it is not what it was")
            if not stored and oracle.before and entries[-1].content != oracle.before[-1].content:
                said.append(f"killed at write {at} ({behind=}) and undone, its content is not what it was")
            if ended:
                return tuple(said)
    raise AssertionError("a run has an end")


_STORED: tuple[Change, ...] = ("only here", "ahead")


def _ended(scene: Scene, oracle: _Oracle, here: Machine, machine: Machine, plan: CopyPlan, home: Path) -> Iterator[str]:
    """What is wrong behind a run that has ended; undoes it."""
    port, of = SoundPort(machine, MONGODB), scene.there
    yield from oracle.faults(machine, [], [], ended=True, undisturbed=True)
    yield from misfits(machine, of)
    written = len(machine.log)
    list(_copying(scene, here, port, home).apply(plan))
    if len(machine.log) != written:
        yield "the third run writes"
    if not oracle.coming:
        return
    if of.layout == "stream" and plan.items[0].change not in _STORED:
        Feeder(machine, of.profile).drain()
    writer = _writer(port, of.profile, home)
    undone: list[Outcome] = []
    for undo in (Repairs(writer, lambda *_: None).undo, Batches(writer, lambda *_: None).undo):
        with contextlib.suppress(NotFound):
            undone += undo(plan.run)
    if not undone or {each.kind for each in undone} - {"applied", "skipped"}:
        yield f"its undo ends {[(each.kind, each.detail) for each in undone]}"
