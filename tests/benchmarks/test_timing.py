"""What is reported of several runs."""

from __future__ import annotations

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
