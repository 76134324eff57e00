"""A slice of the proof; ``python -m tests.repairing`` runs all.

Subjects that are wrong on purpose are convicted with fixed seeds: others would leave that to chance.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from model.repair.damage_classes import CLASSES
from tests import support
from tests.repairing.careless import SCRIPTS
from tests.repairing.killing import killed, writes_of
from tests.repairing.living import DAMAGES, homes, run
from tests.repairing.planting import CASES, NAMES, Case
from tests.repairing.proving import prove
from tests.simulation.schedule import Crew

SEEDS = support.by_depth(2, 12, 6)
"""Schedules for each kind of damage."""
SMALL = [case for case in CASES if case.name != "E2"]
LARGE = [pytest.param(case, marks=pytest.mark.deep) for case in CASES if case.name == "E2"]
"""E2 is of documents that are as large as they may be."""


@pytest.fixture(scope="module")
def crew() -> Iterator[Crew]:
    made = Crew(4)
    yield made
    made.close()


@pytest.fixture(scope="module")
def shared_home() -> Iterator[Path]:
    with homes() as home:
        yield home


@pytest.mark.parametrize("names", support.every(len(NAMES), NAMES))
@pytest.mark.parametrize("case", [*support.every(8, SMALL, in_slice=True), *LARGE], ids=lambda case: case.name)
def test_damage_is_found_repaired_once_and_undone_to_the_byte(
    case: Case, names: str, server_uri: str, server_name: str, shared_home: Path
) -> None:
    wrong = prove(case, server_uri, names, 2, shared_home)
    if server_name == "java":  # it keeps the order of fields that a document has, whatever a replacement says
        wrong = [each for each in wrong if ": order: " not in each]
    assert not wrong


def test_every_class_with_a_repair_has_a_case() -> None:
    repaired = [code for code, each in CLASSES.items() if each.repair is not None]
    planted = [code for case in CASES for code in case.finds]
    assert support.all_named(repaired, planted, "CASES in tests/repairing/planting.py")


@pytest.mark.parametrize("case", [*support.every(10, SMALL), *LARGE], ids=lambda case: case.name)
def test_a_repair_that_is_killed_at_a_write_converges_when_it_is_run_again(
    case: Case, local_uri: str, shared_home: Path, seed: int
) -> None:
    rng = random.Random(seed)
    at = rng.randrange(writes_of(case, local_uri, "default", shared_home))
    behind, names = rng.random() < 0.5, rng.choice(list(NAMES))
    print(f"seed {seed}: killed {'behind' if behind else 'before'} write {at}, {names} names")
    assert not killed(case, local_uri, names, shared_home, at, behind)


@pytest.mark.deep
def test_a_repair_that_is_killed_for_good_converges_when_it_is_run_again(local_uri: str, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == "A3 and A1")
    assert not killed(case, local_uri, "default", tmp_path, 1, behind=True, really=True)


@pytest.mark.slice
@pytest.mark.parametrize("name", list(DAMAGES))
def test_no_edit_and_no_version_is_lost_while_two_repair_beside_two_writers(
    name: str, crew: Crew, shared_home: Path, seed: int
) -> None:
    for each in range(seed, seed + SEEDS):
        wrong = run(name, each, crew, shared_home).wrong
        assert not wrong, f"python -m tests.repairing --damage {name!r} --seed {each}: {wrong}"


@pytest.mark.parametrize("name", list(SCRIPTS))
def test_the_harness_convicts_a_careless_script(name: str, crew: Crew, shared_home: Path) -> None:
    harmed = (seed for seed in range(120) if run(name, seed, crew, shared_home, careless=True).wrong)
    assert len(list(itertools.islice(harmed, 3))) == 3
