"""Without ``--deep`` the deep tests are left out, and the summary says so; with it all are run."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests import support

ONE_OF_NINE = "tests/processes/test_processes.py"


def summary(*options: str) -> str:
    """What pytest says at the end, about a file of nine tests of which one is deep."""
    command = [sys.executable, "-m", "pytest", "-q", *options, ONE_OF_NINE]
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
