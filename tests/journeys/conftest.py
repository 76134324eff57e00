"""Runs a command for journeys: in this process, with the arguments that a shell would pass."""

from __future__ import annotations

import pytest

from model.commands import command_line
from tests.journeys.command_support import Rows, Run, rows_of


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command here; exit status, standard output, standard error, which never holds a traceback."""

    def called(*argv: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = command_line.main(list(argv))
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return status, out, err

    return called


@pytest.fixture
def rows(run: Run) -> Rows:
    """Run a command with ``--json``; exit status and rows."""

    def called(*argv: str) -> tuple[int, list[dict[str, object]]]:
        status, out, _ = run(*argv, "--json")
        return status, rows_of(out)

    return called
