"""The result of many schedules, counted by subject in processes of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.counting.published import PUBLISHED
from tests.counting.schedule_support import Result
from tests.counting.subjects import SUBJECTS
from tests.simulation.memory import remember
from tests.simulation.schedule import Crew

CREW = 6  # four writers and two runs of the cleanup
CHUNK = 100
CONVICTED = 3.0
"""Percent of the seeds on which a published form must be found wrong."""
ALL = {**SUBJECTS, **PUBLISHED}
_crew: Crew | None = None


@dataclass
class Tally:
    """What many schedules of one subject came to."""

    seeds: int = 0
    convicted: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    wrong: list[Result] = field(default_factory=list)

    def add(self, each: Result) -> None:
        """Count one schedule."""
        self.seeds += 1
        self.convicted += bool(each.wrong)
        self.kinds.update(each.kinds)
        self.wrong += [each] if each.wrong and len(self.wrong) < 3 else []

    def join(self, other: Tally) -> None:
        """Count what another process counted."""
        self.seeds += other.seeds
        self.convicted += other.convicted
        self.kinds.update(other.kinds)
        self.wrong = sorted(self.wrong + other.wrong, key=lambda each: each.seed)[:3]


def begin() -> None:
    global _crew
    remember()
    _crew = Crew(CREW)


def work(job: tuple[str, range]) -> tuple[str, Tally]:
    made = Tally()
    for seed in job[1]:
        made.add(ALL[job[0]](seed, _crew))
    return job[0], made


def jobs(names: list[str], first: int, seeds: int) -> Iterator[tuple[str, range]]:
    for start in range(first, first + seeds, CHUNK):
        for name in names:
            if name in SUBJECTS or len(names) == 1 or start - first < max(500, seeds // 10):
                yield name, range(start, min(start + CHUNK, first + seeds))
