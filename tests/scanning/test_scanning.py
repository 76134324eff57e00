"""A slice of the scenes; ``python -m tests.scanning`` runs all by the hundred."""

from __future__ import annotations

import random
from collections.abc import Callable

import pymongo
import pytest

from model.foundation.findings import Finding
from model.repair.damage_classes import CLASSES
from tests import support
from tests.scanning import clean, scenes
from tests.scanning.support import SETS, Scene, scanned
from tests.scanning.troubles import SCENES

SEED = support.seed_of("scanning")
PLANTS = 12
CLEAN = 250
WHICH = random.Random(SEED).choice(list(SETS))


@pytest.fixture
def judged(server_uri: str, client: pymongo.MongoClient) -> Callable[[Scene], list[str]]:
    """What a scan misses in a scene, or tells although it is not so."""

    def judge(it: Scene) -> list[str]:
        print(f"{it.name}, {WHICH} names: --seed {SEED}")
        it.fill(client)
        return it.wrong(scanned(server_uri, it))

    return judge


@pytest.mark.parametrize("name", support.every(4, SCENES, in_slice=True))
def test_what_is_planted_is_found_with_its_id_versions_and_repair_and_nothing_else(
    name: str, judged: Callable[[Scene], list[str]], database_name: str
) -> None:
    it = scenes.made(name, database_name, SETS[WHICH], SEED, 2 if name.startswith("E2") else PLANTS)
    assert it.expected
    assert not judged(it)


@pytest.mark.parametrize("layout", support.every(3, clean.LAYOUTS, in_slice=True))
def test_nothing_is_found_in_clean_documents(
    layout: str, judged: Callable[[Scene], list[str]], database_name: str
) -> None:
    assert not judged(clean.clean(layout, database_name, SETS[WHICH], SEED, CLEAN))


@pytest.mark.parametrize("state", clean.LEGAL)
def test_what_is_legal_is_told_without_a_repair(
    state: str, judged: Callable[[Scene], list[str]], database_name: str
) -> None:
    assert not judged(clean.legal(state, database_name, SETS[WHICH], SEED, PLANTS))


def test_every_class_has_a_scene() -> None:
    planted = [code for name in SCENES for code in name.split() if code in CLASSES]
    assert support.all_named(CLASSES, planted, "The names of scenes in tests/scanning/scenes.py")


def test_the_harness_notices_a_miss_and_a_finding_too_many(
    server_uri: str, database_name: str, client: pymongo.MongoClient
) -> None:
    it = scenes.made("A3 archive", database_name, SETS["default"], SEED, 4)
    it.fill(client)
    findings = [each for each in scanned(server_uri, it) if isinstance(each, Finding)]
    assert not it.wrong(findings)
    assert it.wrong(findings[1:])
    assert it.wrong([*findings, findings[0]])
