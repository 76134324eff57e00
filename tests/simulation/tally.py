"""The result of many schedules: counted by subject, as a table, and judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.simulation.memory import remember
from tests.simulation.plans import PLANS
from tests.simulation.published import PROTOCOLS
from tests.simulation.run import Result, run, run_published
from tests.simulation.schedule import Crew

CONVICTED = 5.0
"""Percent of the seeds on which a published protocol must be found wrong; else the harness proves nothing."""


@dataclass
class Tally:
    """What many schedules of one subject came to."""

    seeds: int = 0
    steps: int = 0
    repaired: int = 0
    wrong: list[Result] = field(default_factory=list)
    convicted: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, result: Result) -> None:
        """Count one schedule."""
        self.seeds += 1
        self.steps += result.steps
        self.repaired += result.repaired
        self.outcomes.update(result.outcomes)
        if result.wrong:
            self.convicted += 1
            self.kinds.update({_kind(wrong) for wrong in result.wrong})
            if len(self.wrong) < 5:
                self.wrong.append(result)

    def join(self, other: Tally) -> None:
        """Count what another process counted."""
        self.seeds += other.seeds
        self.steps += other.steps
        self.repaired += other.repaired
        self.convicted += other.convicted
        self.outcomes.update(other.outcomes)
        self.kinds.update(other.kinds)
        self.wrong = sorted(self.wrong + other.wrong, key=lambda result: result.seed)[:5]


def _kind(wrong: str) -> str:
    for word in ("lost a version", "lost", "twice", "current are", "blocked"):
        if word in wrong:
            return word
    return "wrong"


def tally(subject: str, seeds: range, crew: Crew | None = None) -> Tally:
    """Run some seeds of one subject."""
    crew = crew or Crew(4)
    made = Tally()
    published = {of.name: of for of in PROTOCOLS}
    for seed in seeds:
        if subject in published:
            made.add(run_published(published[subject], seed, crew))
        else:
            made.add(PLANS.get(subject, run)(subject, seed, crew))
    return made


_crew: Crew | None = None


def begin() -> None:
    global _crew
    remember()
    _crew = Crew(4)


def work(job: tuple[str, range]) -> tuple[str, Tally]:
    return job[0], tally(job[0], job[1], _crew)


def table(tallies: dict[str, Tally]) -> Iterator[str]:
    """The tallies as lines of text."""
    published = {of.name: of for of in PROTOCOLS}
    yield f"{'subject':32} {'seeds':>8} {'wrong':>7} {'%':>6}  {'steps':>5}  what"
    for name, made in tallies.items():
        rate = 100 * made.convicted / made.seeds if made.seeds else 0.0
        what = ", ".join(f"{kind} {count}" for kind, count in made.kinds.most_common())
        if name not in published:
            told = ", ".join(f"{kind} {count}" for kind, count in made.outcomes.most_common())
            what = ", ".join(filter(None, (what, told, f"repaired {made.repaired}" if made.repaired else "")))
        else:
            what += f" (reported elsewhere: {published[name].reported} %)"
        steps = made.steps / made.seeds if made.seeds else 0
        yield f"{name:32} {made.seeds:8} {made.convicted:7} {rate:6.2f}  {steps:5.1f}  {what}"


def verdict(tallies: dict[str, Tally]) -> list[str]:
    """What is not as it must be."""
    published = {of.name for of in PROTOCOLS}
    said = []
    for name, made in tallies.items():
        if name in published:
            if 100 * made.convicted < CONVICTED * made.seeds:
                said.append(
                    f"{name} is wrong on {made.convicted} of {made.seeds} seeds only: the harness sees too little"
                )
        else:
            said += [f"{name}, seed {result.seed}: {'; '.join(result.wrong)}" for result in made.wrong]
    return said
