"""A slice of the soak; and programs that are wrong in one respect, which the audit must convict even there."""

from __future__ import annotations

import sys

import pytest

from tests.soak.conductor import Soak, Told, lines, run
from tests.soak.departures import Item, Move, Passage, _gone
from tests.soak.ground import Book, profiles

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of a process's files are Linux's")

FREQUENT = ("believing", "unjournalled", "discarding")
CLEARING = ("copyless", "hasty", "forgetting")  # these are wrong at what most faults keep from being done at all
RARE = ("retrying", "unguarded", "sweeping")  # these do harm where two meet, which not every small soak has
ROUNDS = 10  # the first mostly convicts


def _move(kind: str, began: float, *items: Item) -> Move:
    return Move("entry 1 of home0", "1-1", kind, Book({}), frozenset(items), began, began + 1)


@pytest.mark.parametrize(("returned", "is_wrong"), [("aa", False), ("bb", True)])
def test_a_purged_version_may_be_in_the_archive_where_it_was_brought_back_and_edited(
    returned: str, is_wrong: bool
) -> None:
    p = profiles("soak")["left_archive"]
    purge = _move("applied", 1.0, (p.archive, "aa"), (p.archive, "bb"))
    passage = Passage([purge], [_move("applied", 3.0, (p.ns, returned))])
    assert bool(list(_gone(p, {(p.archive, "aa"), (p.ns, "cc")}, passage, [], []))) is is_wrong


def soaked(soak: Soak) -> Told:
    told = run(soak)
    print(*lines(soak, told), sep="\n")
    return told


def small(seed: int, writes: int, doubt: float, careless: str = "") -> Soak:
    return Soak(seed, 0.0, 2, writes, pause=0.4, doubt=doubt, documents=1, careless=careless, mounted=False)


@pytest.mark.deep
def test_a_slice_of_the_soak_loses_nothing_and_doubles_nothing(seed: int) -> None:
    told = soaked(small(seed, 60, doubt=0.2))
    assert not told.wrong, told.wrong
    assert told.did["entries in journals"] > 50


@pytest.mark.deep
@pytest.mark.parametrize("careless", [*FREQUENT, *CLEARING, *RARE])
def test_a_soak_convicts_whoever_is_careless(careless: str, seed: int) -> None:
    writes = 80 if careless in RARE else 30
    doubt = 0.2 if careless in CLEARING else 0.6
    assert any(soaked(small(seed + each, writes, doubt, careless)).wrong for each in range(ROUNDS))
