"""The black pipe in small: some cases of a fresh seed, and the blind writers, who must be convicted."""

from __future__ import annotations

import random
import time

import pytest

from tests import support
from tests.blackpipe.__main__ import EVERY, chosen, shown
from tests.blackpipe.blind import BLIND, convictions
from tests.blackpipe.cases import SERVERS, benches
from tests.blackpipe.operations import operations

SLICE, SECONDS = 400, support.by_depth(1.5, 6.0)
LAYOUTS = sorted({operation.layout for operation in operations()})


@pytest.mark.parametrize("server", SERVERS)
def test_acknowledged_means_once_failed_means_not_at_all_and_unknown_is_said(server: str) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"python -m tests.blackpipe --cases {SLICE} --seed {seed}")
    wrong: list[str] = []
    until, done = time.monotonic() + SECONDS, 0
    for layout in random.Random(seed).sample(LAYOUTS, len(LAYOUTS)):
        with benches(server, layout) as each:
            for bench in each:
                if time.monotonic() > until and done:
                    break
                for case in bench.cases():
                    if chosen(case, seed, SLICE / EVERY) and (time.monotonic() < until or not done):
                        done += 1
                        result = bench.run(case, seed)
                        wrong += [shown(result, seed)] if result.wrong else []
        if time.monotonic() > until and done:
            break
    assert done
    assert not wrong, "\n".join(wrong)


def test_writers_that_try_again_blindly_are_convicted_by_the_same_faults() -> None:
    assert {name for name, _, _ in convictions("standalone", 1, each=1)} == {blind.name for blind in BLIND}
