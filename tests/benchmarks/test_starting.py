"""What is measured of starts, as far as it needs no display."""

from __future__ import annotations

import shutil

import pytest

from tests.benchmarks import starting


def test_without_a_display_server_windows_are_left_out_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    found = starting.measured(only="windows")
    assert (found.commands, found.starts, found.missed) == ((), {}, [])
    assert capsys.readouterr().out.strip() == "windows are left out: Xvfb is not installed"


def test_a_command_is_told_by_its_run_in_the_middle_and_misses_what_it_is_to_reach(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    took = iter((9.0, 0.1, 0.3, 0.2) * len(starting.COMMANDS))  # each first run is left out
    monkeypatch.setattr(starting, "processor_seconds", lambda words, environment: next(took))
    found = starting.measured(runs=3, only="commands")
    assert [each.seconds for each in found.commands] == [(0.1, 0.2, 0.3)] * len(starting.COMMANDS)
    assert found.missed == ["--version"]
