"""Deep tests are left out, and the summary says so, unless all are asked for, or as many as there is time for."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from typing import Any

import pytest

from tests import conftest, support

ONE_OF_NINE = "tests/processes/test_processes.py"
"""Nine tests, of which one is deep."""
MANY = "tests/model/layouts/test_tombstones.py"
"""Tests of which many are deep."""


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
    assert "8 passed, 1 skipped" in said
    assert "the time for deeper tests is over" in said
    said = summary("-n", workers, "--deep-until", str(time.time() - 1), file=MANY)  # all workers draw the same order
    assert re.search(r"\d\d passed, \d\d skipped", said)


def test_the_cases_of_one_deep_test_stay_together_in_every_order() -> None:
    class Named:
        def __init__(self, nodeid: str) -> None:
            self.nodeid = nodeid

    deep: Any = [Named(f"{test}[{case}]") for case in range(3) for test in "abcdefgh"]
    drawn = [each.nodeid for each in conftest._drawn(deep, 1)]
    assert sorted(drawn) == sorted(each.nodeid for each in deep)
    assert [name[0] for name in drawn[::3]] == [name[0] for name in drawn[2::3]]
    assert drawn != [each.nodeid for each in conftest._drawn(deep, 2)]
