"""Malformed replies in small: some named shapes on some paths, and mutations of a fresh seed."""

from __future__ import annotations

import random
import time

from tests import support
from tests.blackpipe import malformed


def test_whatever_a_server_answers_nothing_crashes_or_hangs_and_memory_is_bounded() -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"python -m tests.blackpipe --malformed 120 --seed {seed}")
    before, until, wrong = malformed.grown(), time.monotonic() + support.by_depth(2, 8), []
    for which, told, said in malformed.run(120, seed, share=0.03):
        if said:
            wrong.append(f"{which}: {told} {said}")
        if time.monotonic() > until:
            break
    assert not wrong, "\n".join(wrong)
    assert malformed.grown() - before < malformed.ROOM


def test_there_is_a_path_for_every_operation_and_a_shape_for_every_part_of_a_reply() -> None:
    assert len(malformed.SHAPES) >= 18
    assert {path.layout for path in malformed.paths()} >= {"archive", "versions", "hashed", "plain", "pending"}
    assert len(malformed.paths()) > 100
