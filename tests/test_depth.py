"""Deep tests are left out, and the summary says so, unless all are asked for, or as many as there is time for."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from tests import depth, support

ONE_OF_NINE = "tests/processes/test_processes.py"
"""Eight cases of one test, and a deep one."""
MANY = "tests/model/storage/test_tombstones.py"
"""Tests of which many are deep."""
SECOND_SERVER = "tests/model/browsing/test_explanation.py"
"""Tests of which some are on the second server in any run."""


def summary(*options: str, file: str = ONE_OF_NINE) -> str:
    """What pytest says at the end of a file of tests."""
    command = [sys.executable, "-m", "pytest", "-q", *options, file]
    done = subprocess.run(command, cwd=support.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.deep
@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_deep_tests_are_left_out_and_counted_unless_they_are_asked_for(
    workers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    said = summary("-n", workers)
    assert "8 passed" in said
    assert "1 deeper test was left out; `python -m pytest --deep` runs it too." in said
    everything = summary("-n", "0", "--collect-only", "--deep")
    assert "9 tests collected" in everything
    assert "left out" not in everything


@pytest.mark.deep
@pytest.mark.parametrize("workers", ["0", "2"])
def test_deep_tests_are_run_as_long_as_there_is_time_in_an_order_that_a_printed_seed_draws(
    workers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    said = summary("-n", workers, "-v", "--deep-until", str(time.time() + 3600), "--deep-seed", "5")
    assert "9 passed" in said
    assert "drawn with --deep-seed 5" in said
    said = summary("-n", workers, "-v", "--deep-until", str(time.time() - 1))
    assert "3 passed, 6 skipped" in said
    assert "the time for deeper tests is over" in said
    said = summary("-n", workers, "--deep-until", str(time.time() - 1), file=MANY)  # all workers draw the same order
    assert re.search(r"\d\d passed, \d\d skipped", said)


@pytest.mark.deep
def test_much_too_late_only_what_is_always_run_is_run_and_the_rest_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    said = summary("-n", "0", "--deep-until", str(time.time() - depth.REST - 1))
    assert "9 skipped" in said
    assert "another run begins at another file" in said
    said = summary("-n", "0", "--deep-until", str(time.time() - depth.REST - 1), file=SECOND_SERVER)
    assert re.search(r"\b\d+ passed, \d+ skipped", said)


class Named:
    """A test that has no more than a name."""

    def __init__(self, nodeid: str, *marks: str, server: str = "") -> None:
        self.nodeid = nodeid
        self.marks = marks
        self.callspec = SimpleNamespace(params={"server_name": server})

    def __repr__(self) -> str:
        return self.nodeid

    def get_closest_marker(self, name: str) -> object:
        return name if name in self.marks else None


def names(items: Iterable[object]) -> list[str]:
    """What they are called."""
    return [str(item) for item in items]


def test_the_cases_of_one_deep_test_stay_together_in_every_order() -> None:
    deep: Any = [Named(f"{test}[{case}]") for case in range(3) for test in "abcdefgh"]
    drawn = names(depth.shuffled(deep, random.Random(1)))
    assert sorted(drawn) == sorted(names(deep))
    assert [name[0] for name in drawn[::3]] == [name[0] for name in drawn[2::3]]
    assert drawn != names(depth.shuffled(deep, random.Random(2)))


def test_each_test_has_a_few_cases_before_any_has_more_and_none_is_lost() -> None:
    long, second = Named("c::long", "long"), Named("d::second", "second_server", server="java")
    deep = [Named("a::deep", "deep"), Named("a::second", server="java")]
    quick = [Named(f"{file}::{test}[{case}]") for file in "abcd" for test in "xy" for case in range(10)]
    everything: Any = [*deep, second, *quick, long]
    order = depth.drawn(everything, 1)
    assert names(order.always) == ["c::long", "d::second"]
    assert Counter(name.partition("[")[0] for name in names(order.slice)) == {
        f"{f}::{t}": 3 for f in "abcd" for t in "xy"
    }
    assert {"a::deep", "a::second"} < {*names(order.deeper)}
    assert sorted(names([*order.always, *order.slice, *order.deeper])) == sorted(names(everything))
    assert {end for end, _ in order.ends(5).values()} == {5, 5 + depth.REST}
    assert order.ends(5).keys() == {*names(everything)} - {*names(order.always)}


def test_a_run_begins_at_a_file_that_is_drawn_and_goes_round_with_each_file_whole() -> None:
    tests: Any = [Named(f"{file}::{test}") for file in "abcdefgh" for test in "xyz"]
    begins = set()
    for seed in range(100):
        round = names(depth.gone_round(tests, random.Random(seed)))
        at = names(tests).index(round[0])
        assert at % 3 == 0
        assert round == names(tests[at:] + tests[:at])
        begins.add(at)
    assert len(begins) == 8
    assert depth.gone_round([], random.Random(1)) == []
