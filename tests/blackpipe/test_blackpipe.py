"""A slice of the black pipe: some cases, and the blind writers, who must be convicted."""

from __future__ import annotations

import random

import pytest

from tests import support
from tests.blackpipe.__main__ import EVERY, chosen, shown
from tests.blackpipe.blind import BLIND, convictions
from tests.blackpipe.cases import SERVERS, benches
from tests.blackpipe.operations import operations

SHARE = support.by_depth(60, 3000, 600) / EVERY
LAYOUTS = sorted({operation.layout for operation in operations()})
SOME = support.by_depth(2, len(LAYOUTS), len(LAYOUTS))
"""Layouts of which cases are run."""


TOKENS = [
    pytest.param(False, id="by default", marks=pytest.mark.slice),
    pytest.param(True, id="with tokens", marks=pytest.mark.deep),
]


@pytest.mark.parametrize("tokens", TOKENS)
@pytest.mark.parametrize("server", SERVERS)
def test_acknowledged_means_once_failed_means_not_at_all_and_unknown_is_said(
    server: str, tokens: bool, seed: int
) -> None:
    wrong: list[str] = []
    done = 0
    for layout in random.Random(seed).sample(LAYOUTS, SOME):
        with benches(server, layout, tokens) as each:
            for bench in each:
                for case in bench.cases():
                    if chosen(case, seed, SHARE):
                        done += 1
                        result = bench.run(case, seed)
                        wrong += [shown(result, seed, tokens)] if result.wrong else []
    print(f"{done} cases")
    assert done
    assert not wrong, "\n".join(wrong)


def test_writers_that_try_again_blindly_are_convicted_by_the_same_faults() -> None:
    assert {name for name, _, _ in convictions("standalone", 1, each=1)} == {blind.name for blind in BLIND}
