"""A slice of malformed replies: some named shapes on some paths, and mutations."""

from __future__ import annotations

import itertools

import pytest

from tests import support
from tests.blackpipe import malformed


@pytest.mark.deep
@pytest.mark.slice
def test_whatever_a_server_answers_nothing_crashes_or_hangs_and_memory_is_bounded(seed: int) -> None:
    before, wrong = malformed.grown(), []
    for which, told, said in itertools.islice(malformed.run(120, seed, share=0.03), support.by_depth(40, 400, 160)):
        if said:
            wrong.append(f"{which}: {told} {said}")
    assert not wrong, "\n".join(wrong)
    assert malformed.grown() - before < malformed.ROOM


def test_there_is_a_path_for_every_operation_and_a_shape_for_every_part_of_a_reply() -> None:
    assert len(malformed.SHAPES) >= 18
    assert {path.layout for path in malformed.paths()} >= {"archive", "versions", "hashed", "plain", "pending"}
    assert len(malformed.paths()) > 100
