"""The documents at the top of the repository are true, and their links lead somewhere."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest

import model
from model.commands import command_line
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
    *("--deep", "--slice", "--seed", "@example"),
    'command("name", "module:function", "help")',
    'tr("Saved as {version}.", version=…)',
    'wording.many(n, "field")',
    "partial(messages.fail, self)",
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


@pytest.mark.deep
@pytest.mark.slice
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


# --- what machines read


def libraries(path: str) -> set[str]:
    """The libraries of the system that a file names."""
    return set(re.findall(r"\blib[a-z]+[\w.-]*\b", (ROOT / path).read_text("utf-8"))) - {"libraries", "library"}


def test_the_libraries_that_qt_needs_are_the_same_wherever_they_are_installed() -> None:
    told = libraries("resources/help/troubleshooting.md")
    assert len(told) == 13
    assert libraries(".github/actions/prepare/action.yml") == told
    assert libraries(".ci/run") - {"libxkbcommon0", "libglib2.0-0"} == told


def test_ci_lints_in_one_job_and_measures_in_one() -> None:
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    runs = [run for path in files for run in re.findall(r"- run: (.+)", path.read_text("utf-8"))]
    assert [run for run in runs if run.startswith(("ruff", "mypy", "lint-imports"))]
    suites = [run for run in runs if "pytest" in run]
    assert all('-m "not lint"' in run for run in suites)
    assert len([run for run in suites if "--cov" in run]) == 1


def test_all_tests_run_each_night_and_before_a_release() -> None:
    deep, release = ((ROOT / ".github/workflows" / f"{name}.yml").read_text("utf-8") for name in ("deep", "release"))
    assert all("--deep" in run for run in re.findall(r"- run: (python -m pytest.+)", deep))
    assert "\n  schedule:\n" in deep
    assert "uses: ./.github/workflows/deep.yml" in release
    assert all("deep" in needed for needed in re.findall(r"needs: \[(.+)\]", release))


def test_ci_runs_what_a_newcomer_is_told_to_and_then_the_slice() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    assert re.search(r"grep .* README\.md", script)
    assert re.findall(r"-m pytest (--\w+)", script) == ["--slice"]
    assert not re.search(r"\bdate\b", script)  # nothing is left out by the clock


@pytest.mark.skipif(os.name == "nt", reason="a script of the shell")
def test_the_scripts_of_ci_can_be_run_and_read() -> None:
    scripts = [path for path in (ROOT / ".ci").iterdir() if path.is_file() and path.suffix != ".txt"]
    assert {path.name for path in scripts} == {"bundle", "run", "wheel"}
    for path in scripts:
        assert os.access(path, os.X_OK)
        subprocess.run(["bash", "-n", str(path)], check=True)


def test_the_distribution_and_the_command_are_called_as_they_are_told() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["name"] == "palimpsest-inspector"
    assert project["scripts"] == {"palimpsest": "gui.__main__:main"}
    assert f"## [{model.__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_program_says_the_version_of_its_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["--version"]) == 0
    assert capsys.readouterr().out == f"palimpsest {importlib.metadata.version('palimpsest-inspector')}\n"
