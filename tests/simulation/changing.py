"""One change in a document, by a plan, while two writers continue: it is done once, and nothing else is lost.

The change counts (``$inc`` and ``$push``), so doing it twice shows. Two people carry out the same plan, each with a
journal of their own, beside two writers; replies are lost, writes land late, some die. Whoever comes second finds the
document moved on. Hashes, by one of several recipes, fit what is stored. A run that is killed at any of its writes is
run again with the same plan.
"""

from __future__ import annotations

import contextlib
import itertools
import random
from functools import partial
from pathlib import Path
from typing import Any

import bson
from msgspec.structs import replace

from model.errors import Refused
from model.foundation.records import Outcome
from model.operations.batches import Batches
from model.operations.changing import ChangePlan, Changing
from model.operations.update import written
from model.profile import CollectionProfile
from model.userdata.journal import Journal
from model.writing.writer import Writer
from tests.simulation.hashes import drawn, misfits
from tests.simulation.histories import UNNUMBERED, history
from tests.simulation.machine import Machine
from tests.simulation.plan_runs import KINDS, WRITERS, edit_faults, edits_of_writers, folder, writing
from tests.simulation.run import Result
from tests.simulation.schedule import Crew, Dead, Odds, Schedule, SoundPort, WriterPort
from tests.simulation.taking_back import LAYOUTS, Killed, copied, edited
from tests.simulation.writers import ID, MONGODB, NS, OTHER, Edit, Feeder, OneCollection, Variant

SUBJECT = "changing, {}"
SUBJECTS = {SUBJECT.format(layout): layout for layout in (*LAYOUTS, *UNNUMBERED)}
CHANGERS = 2
MARK = "changed"
UPDATE = f'{{$inc: {{{MARK}: 1}}, $push: {{log: "{MARK}"}}}}'


def _changing(port: Any, profile: CollectionProfile, home: Path) -> Changing:
    places: Any = OneCollection(port, profile)
    return Changing(Writer(places, port, Journal(home), "simulated", "tester"), lambda ns: None)


def _planned(port: Any, profile: CollectionProfile, home: Path) -> ChangePlan:
    """The plan for the document as it is, as it would be read from a file."""
    work = _changing(port, profile, home)
    update = written(UPDATE)
    return work.seen(NS, list(work.drawn(work.chosen(NS, [ID], update))), update)


def run_changing(subject: str, seed: int, crew: Crew, careless: bool = False) -> Result:
    """Change the document under one seed; ``careless`` forgets what the plan saw and did, and is to be convicted."""
    with folder("changing") as home:
        return _run(SUBJECTS[subject], seed, crew, home, careless)


def _run(layout: str, seed: int, crew: Crew, home: Path, careless: bool) -> Result:
    rng = random.Random(f"changing {layout} {seed}")
    of = Variant(layout, rng.random() < 0.5, "next", True, rng.random() < 0.75)
    of = drawn(of, f"changing {layout} {seed}")
    first = edited(of, (rng.choice(KINDS), rng.choice(KINDS)))
    machine = copied(first)
    facts = MONGODB if of.mongodb else OTHER
    plan = _planned(SoundPort(machine, facts), of.profile, home / "plan")
    plan = replace(plan, kept=not careless)
    schedule = Schedule(crew, machine, rng, Odds())
    feeder = Feeder(machine, of.profile, len(machine.log)) if layout == "stream" else None
    schedule.background = feeder.step if feeder is not None else None
    todo = edits_of_writers(rng)
    told: list[Outcome] = []

    def changer(number: int) -> None:
        port = WriterPort(schedule, WRITERS + number, facts)
        with contextlib.suppress(Refused):  # a read that failed
            told.extend(_changing(port, of.profile, home / f"c{number}").apply(plan))

    schedule.run([*writing(schedule, of.profile, todo, facts), *(partial(changer, n) for n in range(CHANGERS))])
    wrong = [f"the code failed: {type(error).__name__}: {error}" for error in schedule.crashed]
    if feeder is not None:
        feeder.drain()
    wrong += _faults(machine, of, todo, told)
    for number in range(CHANGERS):
        with contextlib.suppress(Refused):
            told.extend(_changing(SoundPort(machine, facts), of.profile, home / f"c{number}").apply(plan))
    if feeder is not None:
        feeder.drain()
    wrong += _faults(machine, of, todo, told)
    if not wrong:
        wrong += [*_killed(first, of, home / "killed"), *_undone(first, of, home / "undo")]
    return Result(seed, SUBJECT.format(layout), wrong, steps=schedule.steps, outcomes=tuple(e.kind for e in told))


def _count(machine: Machine, of: Variant) -> tuple[int, int]:
    """How often the change is in the newest content, by its number and by its list."""
    now = bson.decode(history(machine, of.profile)[-1].content)
    return int(now.get(MARK, 0)), now["log"].count(MARK)


def _faults(machine: Machine, of: Variant, edits: list[list[Edit]], told: list[Outcome]) -> list[str]:
    entries = history(machine, of.profile)
    said, (number, listed) = edit_faults(entries, edits), _count(machine, of)
    if number != listed or number > 1:
        said.append(f"the change was made {number} times by its number, {listed} times by its list")
    if number == 0 and any(each.kind == "applied" for each in told):
        said.append("somebody was told that it is changed, and it is not")
    numbers = [entry.v for entry in entries]
    if of.layout not in UNNUMBERED and numbers != list(range(1, len(numbers) + 1)):
        said.append(f"versions are missing or doubled: {numbers}")
    return said + misfits(machine, of)


def _killed(first: Machine, of: Variant, home: Path) -> list[str]:
    """Kill a run at each of its writes, before and behind it, and run its plan again; what is wrong."""
    said: list[str] = []
    for at in itertools.count():
        for behind in (False, True):
            machine, where = copied(first), home.with_name(f"{home.name}{at}{behind}")
            plan = _planned(SoundPort(machine, MONGODB), of.profile, where)
            try:
                list(_changing(Killed(machine, at, behind), of.profile, where).apply(plan))
                return said  # it has fewer writes than that
            except Dead:
                pass
            again = [*_changing(SoundPort(machine, MONGODB), of.profile, where).apply(plan)]
            if _count(machine, of) != (1, 1):
                said.append(
                    f"killed at write {at} ({behind=}) and run again, it is there {_count(machine, of)}: {again}"
                )
            said += [f"killed at write {at} ({behind=}) and run again, {each}" for each in misfits(machine, of)]
            before = len(machine.log)
            list(_changing(SoundPort(machine, MONGODB), of.profile, where).apply(plan))
            if len(machine.log) != before:
                said.append(f"killed at write {at} ({behind=}), the third run writes")
    return said


def _undone(first: Machine, of: Variant, home: Path) -> list[str]:
    """Change, and undo the run: the content is what it was, to the byte."""
    machine = copied(first)
    before = history(machine, of.profile)[-1].content
    changing = _changing(SoundPort(machine, MONGODB), of.profile, home)
    plan = _planned(SoundPort(machine, MONGODB), of.profile, home)
    list(changing.apply(plan))
    if of.layout == "stream":
        Feeder(machine, of.profile, len(first.log)).drain()
    undone = [each.kind for each in Batches(changing.writer, changing.allowed).undo(plan.run)]
    after = history(machine, of.profile)[-1].content
    if undone != ["applied"] or after != before:
        return [f"undone ({undone}) it is {bson.decode(after)}"]
    return [f"undone, {each}" for each in misfits(machine, of)]
