"""Common beginnings are the same whether the library finds them or not, and a history needs it for none."""

from __future__ import annotations

import random

import pytest
from rapidfuzz.distance import Prefix

from model.diff import distances


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
