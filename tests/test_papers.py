"""The papers at the top of the repository say what is so, and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import support
from tests.resources.manual_text import blocks, leads_nowhere

ROOT = support.ROOT
README = (ROOT / "README.md").read_text("utf-8")
PAPERS = sorted([*ROOT.glob("*.md"), *(ROOT / ".github").rglob("*.md")])


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.name)
def test_every_link_of_a_paper_leads_to_a_file_and_to_a_heading_that_are_there(path: Path) -> None:
    assert not leads_nowhere(path.read_text("utf-8"), path.parent)


def test_the_readme_is_short_and_its_pictures_are_there() -> None:
    assert len(README.splitlines()) <= 150
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert pictures
    assert all((ROOT / path).is_file() for path in pictures)


def test_the_readme_begins_with_the_two_commands_of_which_one_is_what_ci_runs() -> None:
    window, tests, *_ = blocks(README, "sh")
    assert window.rstrip().endswith("-e . && .venv/bin/palimpsest sample:")
    assert re.fullmatch(r"python3 .*-m pytest\n", tests)
