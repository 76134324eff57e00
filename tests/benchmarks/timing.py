"""How long something takes: the best of several runs, which other work disturbs least, or the median."""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

BUDGET = 1.0  # seconds after which no further run is begun
RUNS = 5
"""The runs of which the middle one is told, with their spread; a work is measured several times in each."""


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
"""Those that a person may choose; the scan in parts is measured by that of one thread."""


def best(work: Callable[[], object], clock: str = "wall", budget: float = BUDGET, runs: float = float("inf")) -> float:
    """Milliseconds of the fastest run; at least one is made, at least three where they fit in ten budgets.

    No more than ``runs`` are made.
    """
    (times,) = _taken([work], clock, budget, runs)
    return min(times) * 1000


def by_turns(
    works: Sequence[Callable[[], object]], clock: str = "wall", budget: float = BUDGET, runs: float = float("inf")
) -> list[float]:
    """Milliseconds of the middle one of several runs of each work, as often as :func:`best` would make them.

    They take turns: a slow moment of the machine is one for all of them, and a lucky one is not what is told.
    """
    return [statistics.median(times) * 1000 for times in _taken(works, clock, budget * len(works), runs)]


class Beside(NamedTuple):
    """Milliseconds of a work and of the driver, in the middle one of several runs."""

    milliseconds: float
    bare: float
    spread: tuple[float, float]
    """The least and the largest of the ratios of all runs."""


def beside(
    bare: Callable[[], object], works: Sequence[Callable[[], object]], clock: str, runs: float = float("inf")
) -> list[Beside]:
    """Each work beside the driver's own; no work is done more than ``runs`` times."""
    taken = [by_turns([*works, bare], clock, BUDGET / RUNS, runs // RUNS) for _ in range(RUNS)]
    found = []
    for at in range(len(works)):
        both = sorted(((times[at], times[-1]) for times in taken), key=lambda pair: pair[0] / pair[1])
        ratios = [mine / theirs for mine, theirs in both]
        found.append(Beside(*both[RUNS // 2], (ratios[0], ratios[-1])))
    return found


@contextmanager
def _only_its_own() -> Iterator[None]:
    """The collector passes over what lives already: looking through all of that at once would fall into one turn."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _taken(works: Sequence[Callable[[], object]], clock: str, budget: float, runs: float) -> list[list[float]]:
    """The seconds of each run of each work."""
    now = time.thread_time if clock == "thread" else CLOCKS[clock]
    taken: list[list[float]] = [[] for _ in works]
    with _only_its_own():
        began = time.perf_counter()
        while True:
            for work, times in zip(works, taken, strict=True):
                start = now()
                result = work()
                times.append(now() - start)
                del result
            made, spent = len(taken[0]), time.perf_counter() - began
            if made >= runs or (spent > budget and (made >= 3 or spent > 10 * budget)):
                return taken


def peak(work: Callable[[], object]) -> float:
    """Megabytes that Python has allocated at most during one run."""
    tracemalloc.start()
    try:
        result = work()
        del result
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
