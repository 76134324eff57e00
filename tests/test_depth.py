"""Which tests run, quickly, with ``--slice`` and with ``--deep``, and which data they draw."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import conftest, support

MARKED = """
import pytest
from tests import support

def test_quick(seed):
    print("drew", seed)

@pytest.mark.deep
def test_deep():
    pass

@pytest.mark.slice
@pytest.mark.parametrize("server_name", ["local", "java"])
def test_sliced(server_name, seed):
    print("drew", seed, "of", support.by_depth("few", "all", "some"))

@pytest.mark.second_server
@pytest.mark.parametrize("server_name", ["local", "java"])
def test_second(server_name):
    pass

@support.table("case", support.every(2, ["first", "second"], in_slice=True))
def test_table(case):
    print("case", case)
"""


def told(folder: Path, *options: str) -> str:
    """What pytest says of one file with a test of each kind."""
    path = folder / "test_marked.py"
    path.write_text(MARKED, "utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-rP", "-v", *options, str(path)]
    done = subprocess.run(command, cwd=support.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def passed(said: str) -> set[str]:
    """The tests that were run."""
    return set(re.findall(r"::(test_\S+) PASSED", said)) | set(re.findall(r"PASSED \S+::(test_\S+)", said))


QUICK = {"test_quick[drawn]", "test_sliced[drawn-local]", "test_second[local]", "test_table"}
SLICED = {"test_sliced[drawn-local]", "test_second[java]", "test_table"}


@pytest.mark.deep
@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_has_the_tests_that_were_asked_for_and_says_what_it_left_out(
    workers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    quick = told(tmp_path, "-n", workers)
    assert passed(quick) == QUICK
    assert "3 deeper tests were left out; `python -m pytest --deep` runs them too." in quick
    sliced = told(tmp_path, "-n", workers, "--slice")
    assert passed(sliced) == SLICED
    assert "left out" not in sliced
    assert ("case second" in quick, "case second" in sliced) == (False, True)
    assert passed(told(tmp_path, "-n", workers, "--deep")) == QUICK | SLICED | {"test_deep", "test_sliced[drawn-java]"}


@pytest.mark.deep
def test_a_quick_run_draws_alike_each_time_and_others_anew_unless_they_are_told_the_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)

    def drawn(*options: str) -> tuple[list[str], str]:
        said = told(tmp_path, *options)
        (seed,) = re.findall(r"drawn with (--seed \d+)", said) or [""]
        return sorted(re.findall(r"drew .+", said)), seed

    quick, unsaid = drawn("-n", "2")
    assert (quick, unsaid) == drawn("-n", "0")
    assert unsaid == ""
    assert any(" of few" in each for each in quick)
    first, seed = drawn("-n", "2", "--slice")
    assert all(each.endswith("of some") for each in first)
    assert seed
    assert drawn("-n", "0", "--slice")[0] != first
    assert drawn("-n", "0", "--slice", *seed.split()) == (first, seed)


def test_the_slice_is_looked_for_where_there_is_some() -> None:
    marked = {
        next((folder for folder in conftest.SLICE if path.is_relative_to(support.ROOT / folder)), path)
        for path in (support.ROOT / "tests").rglob("*.py")
        if path.name not in ("support.py", "test_depth.py")
        and re.search(r"mark\.(slice|second_server)\b|in_slice=True", path.read_text("utf-8"))
    }
    assert marked == set(conftest.SLICE)


def test_every_seed_that_was_red_is_of_a_test_that_draws() -> None:
    for name in support.red_seeds():
        path, _, test = name.partition("::")
        assert re.search(rf"def {test}\((?:[^)]*\W)?seed: int\W", (support.ROOT / path).read_text("utf-8")), name
