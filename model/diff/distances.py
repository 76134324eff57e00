"""The library in C for distances of sequences, loaded on first use: many a command compares nothing that needs it."""

from __future__ import annotations

from functools import cache
from types import ModuleType

_by_hand = iter(range(200))
"""Common beginnings still to be found without the library: to load it takes as long as thousands of them."""


@cache
def distances() -> ModuleType:
    """The module ``rapidfuzz.distance``."""
    from rapidfuzz import distance

    return distance


def common_prefix(a: bytes, b: bytes) -> int:
    """The number of equal bytes at the beginning of two short stretches."""
    if next(_by_hand, None) is None:
        return int(distances().Prefix.similarity(a, b))
    shorter = min(len(a), len(b))
    differing = int.from_bytes(a, "little") ^ int.from_bytes(b, "little")
    lowest = differing & -differing  # the first bit that differs
    return min(shorter, (lowest.bit_length() - 1) // 8) if differing else shorter
