"""A slice of the plans that are killed at their writes; ``python -m tests.killed_plans`` runs all."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from tests import support
from tests.killed_plans.careless import SUBJECTS
from tests.killed_plans.proving import convicted, proved
from tests.killed_plans.scenes import KINDS

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system kills processes in another way")
ALL = [(kind, layout) for kind, layouts in KINDS.items() for layout in layouts]


@pytest.mark.slice
def test_a_plan_that_is_killed_at_a_write_is_run_again_and_nothing_is_lost_or_doubled(
    seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    for kind, layout in rng.sample(ALL, support.by_depth(1, len(ALL), 3)):
        deaths = [rng.randrange(1000) for _ in range(support.by_depth(1, 4))]
        done, wrong = proved(kind, layout, tmp_path / f"{kind}-{layout}", deaths)
        assert (done, wrong) == (len(deaths), [])


@pytest.mark.parametrize(
    "kind",
    [pytest.param(each, marks=[pytest.mark.deep, *([pytest.mark.slice] * (each == "erase"))]) for each in SUBJECTS],
)
def test_a_careless_plan_is_convicted(kind: str, tmp_path: Path) -> None:
    assert convicted(kind, SUBJECTS[kind], tmp_path / kind)
