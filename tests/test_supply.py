"""What is fetched from elsewhere: pinned by hash, bounded, and nothing else."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import support

PROJECT = tomllib.loads((support.ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = [*(support.ROOT / ".github").rglob("*.yml"), *(support.ROOT / ".github").rglob("*.yaml")]
BY_DATE = {"regex", "tzdata"}
"""Their versions are dates, which promise nothing about what breaks."""


def locked(name: str) -> list[tuple[Requirement, list[str]]]:
    """The requirements of a lock file, each with the hashes of its files."""
    text = (support.ROOT / ".ci" / name).read_text("utf-8").replace("\\\n", " ")
    rows = [line.split("--hash=") for line in text.splitlines() if line and not line.startswith("#")]
    return [(Requirement(head.strip()), [each.strip() for each in hashes]) for head, *hashes in rows]


@pytest.mark.parametrize("name", ["requirements.txt", "tools.txt"])
def test_what_ci_installs_is_one_version_each_with_its_hashes(name: str) -> None:
    for requirement, hashes in locked(name):
        assert re.fullmatch(r"==[^,*]+", str(requirement.specifier)), requirement
        assert hashes, requirement
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes), requirement


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_what_ci_installs_is_what_the_project_asks_for(python: str, system: str) -> None:
    here = {"python_version": python, "python_full_version": f"{python}.1", "sys_platform": system, "extra": ""}
    there = {
        canonicalize_name(each.name): str(each.specifier).removeprefix("==")
        for each, _ in locked("requirements.txt")
        if each.marker is None or each.marker.evaluate(here)
    }
    extras = PROJECT["optional-dependencies"]
    for asked in map(Requirement, [*PROJECT["dependencies"], *extras["test"], *extras["coverage"]]):
        if asked.marker is None or asked.marker.evaluate(here):
            name = canonicalize_name(asked.name)
            assert name in there, f"{asked} is not in .ci/requirements.txt; its first lines say how it is made"
            assert asked.specifier.contains(there[name]), f"{asked}, and .ci/requirements.txt has {there[name]}"


def test_a_version_that_may_break_something_is_not_taken_unseen() -> None:
    asked = [each for each in map(Requirement, PROJECT["dependencies"]) if each.name not in BY_DATE]
    assert not [str(each) for each in asked if not any(bound.operator == "<" for bound in each.specifier)]


def test_actions_are_pinned_by_the_hash_of_a_commit() -> None:
    used = [line for path in WORKFLOWS for line in re.findall(r"uses: *(.+)", path.read_text("utf-8"))]
    assert len(used) > 10
    assert not [each for each in used if not re.match(r"\./|[\w./-]+@[0-9a-f]{40} # v\d", each)]
