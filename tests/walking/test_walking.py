"""A slice of the sequences with fresh seeds, and a view that hears no news, which they convict."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication

from tests.support import by_depth
from tests.walking.sequences import PAIRS, Sequence
from tests.walking.world import World, living


@pytest.fixture(scope="module")
def world(qapp: QApplication) -> Iterator[World]:
    with living() as troubles:
        made = World(troubles)
        yield made
        made.close()


def test_no_view_is_stale_after_any_way_to_write(world: World) -> None:
    first = random.randrange(10**6)
    print(f"seeds from {first}")
    for seed in range(first, first + by_depth(4, 12)):
        result = Sequence(world, seed).run()
        assert not result.wrong, (seed, result.views, result.done, result.wrong)


@pytest.mark.parametrize("cut", ["collection", "document"])
def test_a_view_that_hears_no_news_is_convicted(world: World, cut: str) -> None:
    view = "edit" if cut == "document" else cut
    seeds = [seed for seed in range(len(PAIRS)) if view in PAIRS[seed][:2]]
    random.shuffle(seeds)
    assert any(Sequence(world, seed, cut).run().wrong for seed in seeds[:6])
