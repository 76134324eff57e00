"""A small repository of JSON is exported and imported with all its versions; differences are detected."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.exchanging.run import LAYOUTS, exchanged, lives_of
from tests.support import every

STATES = ({"name": "a", "n": 1}, {"name": "a", "n": 2.5, "tags": ["x"]}, {"n": None, "tags": []}, {"n": 2**40})


@pytest.mark.parametrize("layout", every(4, LAYOUTS))
def test_the_versions_of_a_file_go_out_and_come_back_in(layout: str, local_uri: str, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    git = ["git", "-C", str(repository), "-c", "user.name=Jürgen", "-c", "user.email=j@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    for state in STATES:
        (repository / "a.json").write_text(json.dumps(state))
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", f"n is {state['n']}"], check=True)
    lives = lives_of(repository, ["a.json"], 10)
    assert [len(versions) for versions in lives.values()] == [len(STATES)]
    assert exchanged(local_uri, layout, lives, tmp_path) == ([], len(STATES), False)
