"""One schedule from its seed: the machine, four writers, and what the audit says."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from model.layouts.base import Layout
from model.layouts.registry import WRITABLE
from tests.simulation import creations_and_deletions
from tests.simulation.audit import faults
from tests.simulation.published import Published, Stopped, verdict
from tests.simulation.published import ground as ground_of
from tests.simulation.schedule import Crew, Odds, Schedule, SoundPort, WriterPort
from tests.simulation.writers import (
    BUMPED,
    KINDS,
    MONGODB,
    OTHER,
    Edit,
    Feeder,
    Stamp,
    Stranger,
    Variant,
    ground,
    layout_of,
    stamp,
    variant,
    work,
)

WRITERS = 4
BUMPS = 0.15
"""The share of schedules in which a stranger bumps a number in place."""
LIVES = 0.25
"""The share of schedules in which documents begin and end; in the others one document is edited."""


def subjects() -> list[str]:
    """The layouts that are simulated."""
    return list(WRITABLE)


@dataclass
class Result:
    """How one schedule ended."""

    seed: int
    subject: str
    wrong: list[str]
    repaired: bool = False
    steps: int = 0
    outcomes: tuple[str, ...] = ()
    trace: tuple[str, ...] = ()
    about: str = ""


def run(layout: str, seed: int, crew: Crew, shown: bool = False, odds: Odds | None = None) -> Result:
    """Run a layout under one seed."""
    rng = random.Random(f"{layout} {seed}")
    of = variant(layout, rng, seed)
    if rng.random() < LIVES:
        return _run_lives(layout, seed, of, rng, crew, shown, odds)
    own = random.Random(f"{layout} {seed} beside")
    bumps = layout not in BUMPED and own.random() < BUMPS
    if bumps and layout == "hashed":
        of = replace(of, excludes=own.random() < 0.5)
    first = ground(of)
    machine = first.copy()
    machine.log += first.log
    facts = MONGODB if of.mongodb else OTHER
    feeder = Feeder(machine, of.profile, len(machine.log) - 1) if layout == "stream" else None
    schedule = Schedule(crew, machine, rng, odds or Odds(), [] if shown else None)
    bumps = bumps or (layout in BUMPED and rng.random() < BUMPS)
    stranger = Stranger(machine, of.profile) if bumps else None
    beside = [each.step for each in (feeder, stranger) if each is not None]
    schedule.background = (lambda: own.choice(beside)()) if beside else None
    numbers = itertools.count(10)

    def stamps() -> Stamp:
        return stamp(next(numbers))

    todo = [_edits(writer, of, rng) for writer in range(WRITERS)]
    fresh = seed % 10 == 0
    bound = [layout_of(WriterPort(schedule, writer, facts), of, fresh) for writer in range(WRITERS)]
    jobs = [_job(schedule, writer, todo[writer], bound[writer], stamps) for writer in range(WRITERS)]
    schedule.run(jobs)
    edits = list(itertools.chain(*todo))
    wrong = [f"the code failed: {type(error).__name__}: {error}" for error in schedule.crashed]
    if feeder is not None:
        feeder.drain()
    sound = layout_of(SoundPort(machine, facts), of, False)
    said, repaired = faults(machine, sound, of, edits, stranger, schedule.came_late)
    kinds = [a.outcome.kind if a.outcome is not None else "died" for e in edits for a in e.attempts]
    return Result(
        seed,
        layout,
        wrong + said,
        repaired,
        schedule.steps,
        tuple(kinds),
        tuple(schedule.trace or ()),
        _about(of, todo),
    )


def _run_lives(
    layout: str, seed: int, of: Variant, rng: random.Random, crew: Crew, shown: bool, odds: Odds | None
) -> Result:
    """Run a layout where documents begin and end."""
    first = ground(of, beside=True)
    machine = first.copy()
    machine.log += first.log
    began = len(machine.log)
    facts = MONGODB if of.mongodb else OTHER
    feeder = Feeder(machine, of.profile, began - 1) if layout == "stream" else None
    schedule = Schedule(crew, machine, rng, odds or Odds(), [] if shown else None)
    schedule.background = feeder.step if feeder is not None else None
    numbers = itertools.count(10)
    told = [creations_and_deletions.story(writer, rng) for writer in range(WRITERS)]

    def job(writer: int) -> Callable[[], None]:
        bound = layout_of(WriterPort(schedule, writer, facts), of, seed % 10 == 0)

        def act() -> None:
            creations_and_deletions.live(bound, told[writer], rng, lambda: stamp(next(numbers)))
            for each in (*told[writer].writes, *told[writer].removals):
                kind = each.outcome.kind if each.outcome is not None else "-"
                schedule.say(f"writer {writer}", f"was told {kind} for {each.mark}")

        return act

    schedule.run([job(writer) for writer in range(WRITERS)])
    wrong = [f"the code failed: {type(error).__name__}: {error}" for error in schedule.crashed]
    if feeder is not None:
        feeder.drain()
    wrong += creations_and_deletions.faults(
        machine, first, layout_of(SoundPort(machine, facts), of, False), of, told, began, schedule.arrived
    )
    acts = [act for each in told for act in (*each.writes, *each.removals)]
    kinds = tuple(act.outcome.kind if act.outcome is not None else "died" for act in acts)
    plans = "; ".join(", ".join(f"{kind} {id.python()}" for kind, id in each.plan) for each in told)
    return Result(
        seed, layout, wrong, False, schedule.steps, kinds, tuple(schedule.trace or ()), f"{of}\nwriters: {plans}"
    )


def run_published(of: Published, seed: int, crew: Crew, shown: bool = False) -> Result:
    """Run a published protocol under one seed: four writers with one edit each."""
    rng = random.Random(f"{of.name} {seed}")
    machine = ground_of(of)
    schedule = Schedule(crew, machine, rng, Odds(read_fails=0), [] if shown else None)
    acknowledged: list[str] = []
    given_up: list[str] = []

    def job(number: int) -> Callable[[], None]:
        port, mark = WriterPort(schedule, number, OTHER), f"w{number}"

        def edit() -> None:
            try:
                of.edit(port, mark)
                acknowledged.append(mark)
                schedule.say(port.name, "tells its user that it is saved")
            except Stopped:
                given_up.append(mark)

        return edit

    schedule.run([job(number) for number in range(WRITERS)])
    blocked = False
    try:
        of.edit(SoundPort(machine.copy(), OTHER), "last")
    except Stopped:
        blocked = True
    said = verdict(machine, of, acknowledged, blocked)
    wrong = [f"the code failed: {type(error).__name__}: {error}" for error in schedule.crashed] + said
    told = ("applied",) * len(acknowledged) + ("conflict",) * len(given_up)
    return Result(seed, of.name, wrong, False, schedule.steps, told, tuple(schedule.trace or ()), of.name)


def _edits(writer: int, of: Variant, rng: random.Random) -> list[Edit]:
    kinds = [kind for kind in KINDS if kind != "front" or of.layout != "deltas" or of.removes]
    return [Edit(f"w{writer}e{number}", rng.choice(kinds)) for number in range(rng.choice((1, 1, 2)))]


def _job(
    schedule: Schedule, writer: int, edits: list[Edit], layout: Layout, stamps: Callable[[], Stamp]
) -> Callable[[], None]:
    def job() -> None:
        work(layout, edits, stamps)
        for edit in edits:
            for attempt in edit.attempts:
                kind = attempt.outcome.kind if attempt.outcome is not None else "-"
                schedule.say(f"writer {writer}", f"was told {kind} for {edit.mark} ({edit.kind}) {attempt.token}")

    return job


def _about(of: Variant, todo: list[list[Edit]]) -> str:
    plans = "; ".join(", ".join(f"{edit.mark} {edit.kind}" for edit in edits) for edits in todo)
    return f"{of}\nwriters: {plans}"
