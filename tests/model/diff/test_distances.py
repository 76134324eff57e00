"""Common beginnings and subsequences are the same whether the library finds them or not."""

from __future__ import annotations

import random

import pytest
from rapidfuzz.distance import Prefix

from model.diff import distances
from model.diff.alignment import lcs


@pytest.mark.parametrize("by_hand", [True, False])
def test_a_common_beginning_is_as_long_with_the_library_as_without_it(
    by_hand: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distances, "_by_hand", iter(range(10_000 if by_hand else 0)))
    r = random.Random(1)
    pairs = [(b"", b""), (b"a", b""), (b"a\0", b"a"), (b"\0\0", b"\0\0\0"), (b"abc", b"abd")]
    for _ in range(300):
        some = r.randbytes(r.randrange(600))
        other = bytearray(some[: r.randrange(len(some) + 1)] + r.randbytes(r.randrange(4)))
        pairs.append((some, bytes(other)))
    for a, b in pairs:
        assert distances.common_prefix(a, b) == Prefix.similarity(a, b)


@pytest.mark.parametrize("kinds", [1, 2, 3, 20])
def test_a_common_subsequence_is_the_one_of_the_library(kinds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    r = random.Random(kinds)

    def some(most: int) -> list[int]:
        return [r.randrange(kinds) for _ in range(r.randrange(most))]

    sequences = [(some(most), some(100)) for most in (1, 3, 30, 100) for _ in range(60)]
    monkeypatch.setattr(distances, "_aligned_by_hand", iter(range(len(sequences))))
    by_hand = [lcs(a, b) for a, b in sequences]
    assert by_hand == [distances.few_common(a, b) for a, b in sequences]
    assert by_hand == [lcs(a, b) for a, b in sequences], "as the library says: no more pairs are aligned by hand"


def test_only_so_many_short_sequences_are_aligned_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances, "_aligned_by_hand", iter(range(2)))
    assert [distances.are_few("ab", other) for other in ("ab" * 100, "ba", "ba", "ba")] == [False, True, True, False]
