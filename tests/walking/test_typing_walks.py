"""A few walks that type into an editor beside another program, and two editors that they are to convict."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication

from tests.support import by_depth
from tests.walking.typing_walks import Typist, type_all, typing_desk
from tests.walking.world import living


@pytest.mark.slice
def test_no_text_goes_astray_while_another_program_writes(qapp: QApplication, seed: int) -> None:
    walks = type_all((list(range(seed, seed + by_depth(3, 200, 12))), ""))
    assert not [(walk.seed, walk.done, walk.wrong) for walk in walks if walk.wrong]


@pytest.mark.parametrize(
    ("fault", "seeds", "sentence"),
    [("rows", (10, 14, 7), ", is at "), ("below", (11, 4, 13), "below the cursor of an edit")],
    ids=["by row", "below the cursor"],
)
@pytest.mark.deep
@pytest.mark.slice
def test_an_editor_that_loses_its_place_is_convicted(
    qapp: QApplication, fault: str, seeds: tuple[int, ...], sentence: str
) -> None:
    with living() as troubles, typing_desk(troubles, fault) as desk:
        assert any(sentence in each for seed in seeds for each in Typist(desk, seed, troubles).run().wrong)
