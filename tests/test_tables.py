"""A test with a table: all cases run, and failing ones are named."""

from __future__ import annotations

import inspect
import os
from pathlib import Path

import pytest

from tests import support


def test_every_case_runs_and_those_that_fail_are_named() -> None:
    seen = []

    @support.table("number, name", [(1, "one"), (2, "two"), pytest.param(3, "three", id="third"), (4, "four")])
    def over_numbers(number: int, name: str, seen: list[str]) -> None:
        seen.append(name)
        assert number < 2 or number == 4, "too many"

    assert list(inspect.signature(over_numbers).parameters) == ["seen"]
    with pytest.raises(AssertionError, match="too many") as failure:
        over_numbers(seen=seen)
    assert seen == ["one", "two", "three", "four"]
    assert failure.value.__notes__ == ["2 of 4 cases failed: 2-two, third"]


@pytest.mark.parametrize("deep", [True, False])
def test_a_case_that_is_deep_is_left_to_the_deep_run(deep: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support, "deep", deep)
    seen = []

    @support.table("case", support.every(2, "abcd"))
    def over_letters(case: str) -> None:
        seen.append(case)

    over_letters()
    assert seen == (list("abcd") if deep else ["a", "c"])


def test_cases_share_neither_what_is_patched_nor_their_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    @support.table("case", ["one", "two"])
    def over_names(case: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        assert "PALIMPSEST_CASE" not in os.environ
        monkeypatch.setenv("PALIMPSEST_CASE", case)
        (tmp_path / "file").mkdir()

    over_names(monkeypatch=monkeypatch, tmp_path=tmp_path)
    assert "PALIMPSEST_CASE" not in os.environ


def test_a_table_whose_cases_are_all_skipped_is_skipped() -> None:
    @support.table("case", [1, 2])
    def over_numbers(case: int) -> None:
        pytest.skip("Not here.")

    with pytest.raises(pytest.skip.Exception, match="Not here"):
        over_numbers()
