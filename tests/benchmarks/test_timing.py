"""What is reported of several runs."""

from __future__ import annotations

import gc
from itertools import count

import pytest

from tests.benchmarks import timing


def test_works_take_turns_and_the_run_in_the_middle_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    time, made = 0.0, ""
    steps = {"a": (5.0, 1.0, 3.0), "b": (0.5, 40.0, 20.0)}
    runs = {name: count() for name in steps}

    def work(name: str) -> None:
        nonlocal time, made
        made += name
        time += steps[name][next(runs[name])]

    monkeypatch.setitem(timing.CLOCKS, "cpu", lambda: time)
    assert timing.by_turns([lambda: work("a"), lambda: work("b")], "cpu", runs=3) == [3000, 20_000]
    assert made == "ababab"


def test_a_work_is_told_by_its_middle_run_beside_the_driver_with_the_least_and_the_most_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    time, steps = 0.0, iter((3.0, 1.0, 5.0, 1.0, 8.0, 2.0, 1.0, 1.0, 2.0, 4.0))  # ours and the driver's in turn

    def work() -> None:
        nonlocal time
        time += next(steps)

    monkeypatch.setitem(timing.CLOCKS, "cpu", lambda: time)
    assert timing.beside(work, [work], "cpu", runs=timing.RUNS) == [(3000, 1000, (0.5, 5.0))]
    assert next(steps, None) is None


def test_what_lives_before_a_work_begins_is_left_to_no_full_collection_in_its_time() -> None:
    frozen: list[int] = []
    timing.by_turns([lambda: frozen.append(gc.get_freeze_count())], runs=1)
    assert frozen[0] > 10_000
    assert gc.get_freeze_count() == 0
