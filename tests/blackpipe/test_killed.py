"""Processes killed at a message of an edit, a delete, an undo and a cleanup: what the next start knows is true."""

from __future__ import annotations

import itertools
import random
import signal

import pytest

from tests import support
from tests.blackpipe import killed

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system kills processes in another way")
LAYOUTS = ("pending", "archive", "versions", "flagged", "embedded")


@pytest.mark.slice
def test_the_next_start_knows_what_is_known_of_a_write_whose_process_was_killed(seed: int) -> None:
    rng = random.Random(seed)
    done, wrong = 0, []
    for layout in rng.sample(LAYOUTS, support.by_depth(1, 5, 3)):
        for bench in itertools.islice(killed.benches(layout), support.by_depth(1, 9, 3)):
            for death in rng.sample(bench.deaths(), 3):
                done += 1
                told, said = bench.run(death)
                wrong += [f"{death}: {told} {said}"] if said else []
    assert not wrong, "\n".join(wrong)
    assert done >= 3


def test_a_cleanup_that_was_killed_is_finished_by_the_next_one_and_nothing_is_counted_twice() -> None:
    for bench in killed.benches("pending/cleanup"):
        writes = [death for death in bench.deaths() if bench.messages[death.message] == "update"]
        assert len(writes) == 8
        assert [bench.run(death)[1] for death in writes] == [[]] * 8
