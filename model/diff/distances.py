"""The library in C for distances of sequences, loaded on first use: many a command compares nothing that needs it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from types import ModuleType

_FEW = 200
"""The elements of two short sequences together."""
_by_hand = iter(range(200))
"""Common beginnings still to be found without the library: to load it takes as long as thousands of them."""
_aligned_by_hand = iter(range(200))
"""Pairs of short sequences still to be aligned without the library: to load it takes longer than all of these."""


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


def are_few(a: Sequence[Hashable], b: Sequence[Hashable]) -> bool:
    """Whether two sequences are short enough to be aligned without the library; the first hundreds of pairs are."""
    return len(a) + len(b) <= _FEW and next(_aligned_by_hand, None) is not None


def few_common(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The positions of the longest common subsequence of two short sequences: the one that the library finds, too."""
    head, tail, most = 0, 0, min(len(a), len(b))
    while head < most and a[head] == b[head]:
        head += 1
    while tail < most - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    end, stop = len(a) - tail, len(b) - tail
    found = [(end + at, stop + at) for at in reversed(range(tail))]  # backwards
    where: dict[Hashable, int] = {}  # for each element, a bit at each of its places in `a`
    for at, element in enumerate(a[head:end]):
        where[element] = where.get(element, 0) | 1 << at
    # In each row, of the elements of `b` so far, a bit is off where one more of `a` makes the subsequence longer.
    every = row = (1 << (end - head)) - 1
    rows = [row]
    for element in b[head:stop]:
        met = row & where.get(element, 0)
        row = (row + met | row - met) & every
        rows.append(row)
    i, j = end - head, stop - head
    while i and j:
        bit = 1 << i - 1
        if rows[j] & bit:
            i -= 1
            continue
        j -= 1
        if rows[j] & bit:
            i -= 1
            found.append((head + i, head + j))
    return [*((at, at) for at in range(head)), *reversed(found)]
