"""How long something takes: the best of several runs, which other work on the machine disturbs least."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

BUDGET = 1.0  # seconds after which no further run is begun


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def best(work: Callable[[], object], clock: str = "wall", budget: float = BUDGET, runs: float = float("inf")) -> float:
    """Milliseconds of the fastest run; at least one is made, at least three where they fit in ten budgets.

    No more than ``runs`` are made.
    """
    now = CLOCKS[clock]
    began = time.perf_counter()
    fastest, made = float("inf"), 0
    while True:
        start = now()
        result = work()
        took = now() - start
        del result
        fastest, made = min(fastest, took), made + 1
        end = time.perf_counter()
        if made >= runs or (end - began > budget and (made >= 3 or end - began > 10 * budget)):
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
