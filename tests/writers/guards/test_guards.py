"""The judge of locks, on imitations of the libraries' rules: the product loses nothing, the careless editor does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymongo
import pytest

from model.localserver import LocalServer
from model.session import Session
from tests import support
from tests.writers.guards.interleaving import Told, judged
from tests.writers.guards.lockers import IMITATED, imitated


def told(name: str, seed: int, home: Path, careless: bool) -> Told:
    number = 30 if careless else support.by_depth(30, 200)
    with (
        LocalServer() as server,
        imitated(name, server.uri) as locker,
        pymongo.MongoClient[dict[str, Any]](server.uri) as client,
        Session.open(server.uri, home=home) as session,
    ):
        return judged(name, locker, session, client["shop"]["items"], seed, number, careless)


@pytest.mark.parametrize("name", IMITATED)
def test_no_update_is_lost_between_a_program_that_locks_and_the_product(name: str, tmp_path: Path) -> None:
    found = told(name, 7, tmp_path, careless=False)
    assert found.wrong == []
    assert found.between > 10
    assert found.turned_away >= found.between
    assert found.conflicts


@pytest.mark.parametrize("name", IMITATED)
@pytest.mark.deep
@pytest.mark.slice
def test_an_editor_that_leaves_the_lock_alone_is_convicted(name: str, tmp_path: Path) -> None:
    found = told(name, 7, tmp_path, careless=True)
    assert any("the lines count" in each or "the title is" in each for each in found.wrong)
