"""Git merges and compares Extended JSON with the two commands, set up as in the manual."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from resources import manual
from tests import support
from tests.resources.manual_text import blocks

ROOT = support.ROOT
GIT = shutil.which("git")
pytestmark = [
    pytest.mark.skipif(GIT is None, reason="git is not here"),
    pytest.mark.skipif(os.name == "nt", reason="the program stands in for a script of the shell"),
]
BASE = """{
  "_id": {"$oid": "65a1b2c3d4e5f60718293a4b"},
  "premium": {"$numberDecimal": "412.80"},
  "riders": [
    {
      "_id": 1,
      "name": "glass"
    },
    {
      "_id": 2,
      "name": "theft"
    }
  ],
  "holder": "Marta"
}
"""

Git = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Git in a repository with one document, set up by the lines of the manual; ``palimpsest`` is on its path."""
    programs, work = tmp_path / "bin", tmp_path / "work"
    programs.mkdir()
    work.mkdir()
    program = programs / "palimpsest"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m gui "$@"\n')
    program.chmod(0o755)
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "GIT_CONFIG_NOSYSTEM": "1",
    }

    def run(*argv: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(["git", *argv], cwd=work, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done

    run("init", "-q", "-b", "main")
    run("config", "user.name", "A")
    run("config", "user.email", "a@example.org")
    (said,) = blocks(manual.page("git"), "sh")
    lines = said.splitlines()
    assert len(lines) == 3
    subprocess.run(["sh", "-e", "-c", "\n".join(lines)], cwd=work, env=env, check=True)
    (work / "contract.ejson").write_text(BASE)
    run("add", ".")
    run("commit", "-qm", "base")
    return run


def _change(git: Git, branch: str, *changes: tuple[str, str]) -> Path:
    """Commit the document with some text replaced, on a branch of its own."""
    git("checkout", "-q", "-b", branch, "main")
    path = Path(git("rev-parse", "--show-toplevel").stdout.strip()) / "contract.ejson"
    text = BASE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    git("commit", "-qam", branch)
    return path


def test_git_merges_two_branches_field_by_field_and_keeps_types_and_form(git: Git) -> None:
    _change(git, "theirs", ('"theft"', '"hail"'), ('"Marta"', '"Marta K."'))
    path = _change(git, "mine", ('"glass"', '"glazing"'), ("412.80", "420.00"))
    git("merge", "-q", "--no-edit", "theirs")
    expected = BASE.replace("412.80", "420.00").replace("glass", "glazing").replace("theft", "hail")
    assert path.read_text() == expected.replace('"Marta"', '"Marta K."')


@pytest.mark.deep
def test_git_stops_at_a_conflict_and_names_the_field(git: Git) -> None:
    _change(git, "theirs", ("412.80", "430.00"))
    path = _change(git, "mine", ("412.80", "420.00"))
    done = git("merge", "--no-edit", "theirs", status=1)
    assert "premium" in done.stdout + done.stderr
    assert git("status", "--short").stdout.startswith("UU")
    assert "420.00" in path.read_text()


@pytest.mark.deep
def test_git_shows_what_changed_as_operations(git: Git) -> None:
    _change(git, "mine", ("412.80", "420.00"), ('"_id": 2', '"_id": {"$numberLong": "2"}'))
    shown = git("diff", "--ext-diff", "main", "mine").stdout
    assert "premium" in shown
    assert "420.00" in shown
    assert "_id" in shown
    assert not git("diff", "--ext-diff", "mine", "mine").stdout


@pytest.mark.deep
def test_git_names_each_file_that_it_compares_and_goes_on_where_one_cannot_be_read(git: Git) -> None:
    path = _change(git, "mine", ("412.80", "420.00"))
    for name, written in (("an other.ejson", '{"a": 1}'), ("broken.ejson", "{")):
        (path.parent / name).write_text(written)
    git("add", ".")
    done = git("diff", "--cached", "--ext-diff", "main")
    assert [line for line in done.stdout.splitlines() if ".ejson:" in line] == [
        "an other.ejson:", "broken.ejson:", "contract.ejson:",
    ]  # fmt: skip
    assert done.stdout.index("+ a: 1") < done.stdout.index("broken.ejson:")
    assert "420.00" in done.stdout
    assert "broken.ejson: Line 1" in done.stderr


@pytest.mark.deep
def test_git_shows_a_document_that_is_new_or_gone(git: Git) -> None:
    git("checkout", "-q", "-b", "gone")
    git("rm", "-q", "contract.ejson")
    git("commit", "-qm", "gone")
    assert "holder" in git("diff", "--ext-diff", "main", "gone").stdout
    assert "holder" in git("diff", "--ext-diff", "gone", "main").stdout
