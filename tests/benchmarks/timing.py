"""How long something takes: the best of several runs, which other work on the machine disturbs least."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

BUDGET = 1.0  # seconds after which no further run is begun


def best(work: Callable[[], object], budget: float = BUDGET) -> float:
    """Milliseconds of the fastest run; at least one is made, at least three where they fit in ten budgets."""
    began = time.perf_counter()
    fastest, runs = float("inf"), 0
    while True:
        start = time.perf_counter()
        result = work()
        end = time.perf_counter()
        del result
        fastest, runs = min(fastest, end - start), runs + 1
        if end - began > budget and (runs >= 3 or end - began > 10 * budget):
            return fastest * 1000


def peak(work: Callable[[], object]) -> float:
    """Megabytes that Python has allocated at most during one run."""
    tracemalloc.start()
    try:
        result = work()
        del result
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
