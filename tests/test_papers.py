"""The papers at the top of the repository say what is so, and their links lead somewhere."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests import support, test_house
from tests.resources.manual_text import blocks, leads_nowhere, prose, rows

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


# --- the guide for whoever changes the code

GUIDE = (ROOT / ".github" / "CONTRIBUTING.md").read_text("utf-8")
TOLD = prose(GUIDE)
PROGRAMS = re.compile(r"(?:python -m|ruff|mypy|pre-commit|palimpsest)\b.*")
EXAMPLES = {
    "python -m",  # heads a column
    "1 == 1.0 == True",
    "==",
    'command("name", "module:function", "help")',
}


@cache
def code() -> test_house.Names:
    """The names of all code, the tests' too."""
    names = test_house.Names()
    names.take(test_house.house())
    for path in (ROOT / "tests").rglob("*.py"):
        names.take(test_house.names_of(path.read_text("utf-8")))
    return names


def quoted(text: str) -> list[str]:
    """What stands in back quotes."""
    return re.findall(r"`([^`]+)`", text)


def test_every_name_in_the_guide_is_one_of_a_file_or_of_something_in_the_code() -> None:
    named = [each for each in quoted(TOLD) if each not in EXAMPLES and not PROGRAMS.fullmatch(each)]
    named = [each for each in named if not each.startswith(("PALIMPSEST_", "tests."))]
    assert len(named) > 100
    unknown = [each for each in named if not (ROOT / each).exists() and not known(each)]
    assert not unknown


def known(name: str) -> bool:
    return re.fullmatch(r"[\w.]+", name) is not None and test_house.is_known(name, None, code())


def test_what_the_guide_says_is_in_a_file_is_in_that_file() -> None:
    pairs = re.findall(r"`([\w.]+)`(?: and `([\w.]+)`)?\s+in\s+`([\w/.]+\.py)`", TOLD)
    assert len(pairs) > 20
    for *names, path in pairs:
        there = test_house.names_of((ROOT / path).read_text("utf-8"))
        for name in filter(None, names):
            owner, _, last = name.rpartition(".")
            defined = there.classes[owner] if owner else there.functions | there.used | set(there.classes)
            assert last in defined, f"{name} is not in {path}"


def test_every_long_run_is_one_that_can_be_started() -> None:
    runs = [name.split()[0] for name, _ in rows(GUIDE, "`python -m`", "what it does")]
    assert len(runs) > 10
    for name in runs:
        path = ROOT.joinpath(*name.split("."))
        assert (path / "__main__.py").exists() or "__main__" in path.with_suffix(".py").read_text("utf-8"), name
    started = {path.parent.name for path in (ROOT / "tests").glob("*/__main__.py")}
    assert started == {name.split(".")[1] for name in runs}


def test_the_map_names_every_room_once() -> None:
    rooms = [room for where, _ in rows(GUIDE, "room", "holds") for room in re.findall(r"[\w/.]+", where)]
    assert len(rooms) == len(set(rooms))
    there = {f"{top}/{path.name}" for top in ("model", "gui") for path in (ROOT / top).iterdir() if is_room(path)}
    assert {room for room in rooms if (ROOT / room).is_dir() and "/" in room} == there


def is_room(path: Path) -> bool:
    return (path / "__init__.py").exists()
