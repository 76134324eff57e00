"""Aligns two sequences: finds pairs of equal elements in a common order.

The cheapest exact method is used. Equal ends are trimmed; few differences are found by Myers' method, unique elements
by their longest increasing subsequence, others by a bit-parallel longest common subsequence. If that would be too
large, elements that are unique on both sides serve as anchors (patience); the result is then correct, but not the
longest.

Sources: E. Myers, "An O(ND) Difference Algorithm and Its Variations", 1986; B. Cohen, patience diff.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import islice, pairwise

from msgspec import Struct

from model.diff.distances import are_few, distances, few_common

MYERS_BOUND = 256  # Myers' method gives up beyond this many differences
MYERS_STEPS = 2_000_000  # and beyond this many comparisons: equal elements make its walks long
BLOCKS = 60  # blocks of consecutive numbers; each is compared with every other
LCS_BITS = 10**8  # n·m of the bit-parallel method: its memory in bits
PIECES = 100_000  # with more lines or words no alignment is tried: single steps would block all threads


class Alignment(Struct, frozen=True):
    """Pairs of positions, increasing on both sides; ``coarse`` if a longer alignment may exist."""

    pairs: list[tuple[int, int]]
    coarse: bool = False


def align(a: Sequence[Hashable], b: Sequence[Hashable]) -> Alignment:
    """The longest common subsequence of two sequences, or an approximation that is marked as coarse."""
    head, n, m = 0, len(a), len(b)
    while head < n and head < m and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < n - head and tail < m - head and a[n - 1 - tail] == b[m - 1 - tail]:
        tail += 1
    pairs = [(i, i) for i in range(head)]
    coarse = False
    if n - tail > head and m - tail > head:
        middle, coarse = _middle(a[head : n - tail], b[head : m - tail])
        pairs += [(i + head, j + head) for i, j in middle]
    pairs += [(n - k, m - k) for k in range(tail, 0, -1)]
    return Alignment(pairs, coarse)


def _middle(a: Sequence[Hashable], b: Sequence[Hashable]) -> tuple[list[tuple[int, int]], bool]:
    """Align the elements between the equal ends."""
    where = {token: j for j, token in enumerate(b)}
    common = [i for i, token in enumerate(a) if token in where]
    if not common:
        return [], False
    # Without repetitions an alignment is a longest increasing run, which takes n log n instead of n times m.
    if len(where) == len(b) and len({a[i] for i in common}) == len(common):
        return increasing([(i, where[a[i]]) for i in common]), False
    # An element that only one side has cannot match: leaving it out saves work and changes nothing.
    left = set(a)
    ai, bj = common, [j for j, token in enumerate(b) if token in left]
    ta, tb = [a[i] for i in ai], [b[j] for j in bj]
    found = myers(ta, tb, MYERS_BOUND)
    coarse = False
    if found is None:
        found, coarse = _large(ta, tb)
    return [(ai[i], bj[j]) for i, j in found], coarse


def _large(a: list[Hashable], b: list[Hashable]) -> tuple[list[tuple[int, int]], bool]:
    if len(a) * len(b) <= LCS_BITS:
        return lcs(a, b), False
    anchors = unique_anchors(a, b)
    found: list[tuple[int, int]] = []
    i = j = 0
    for k, m in [*anchors, (len(a), len(b))]:
        found += [(i + x, j + y) for x, y in _gap(a[i:k], b[j:m])]
        if k < len(a):
            found.append((k, m))
        i, j = k + 1, m + 1
    return found, True


def _gap(a: list[Hashable], b: list[Hashable]) -> list[tuple[int, int]]:
    """Align the elements between two anchors: exactly if they are few, else only at their ends."""
    if not a or not b:
        return []
    if len(a) * len(b) <= LCS_BITS:
        return lcs(a, b)
    head = 0
    while head < len(a) and head < len(b) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    return [(i, i) for i in range(head)] + [(len(a) - k, len(b) - k) for k in range(tail, 0, -1)]


def lcs(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The longest common subsequence; memory is ``len(a) * len(b)`` bits."""
    if are_few(a, b):
        return few_common(a, b)
    # Numbered first: the library in C compares numbers by the million, and Python's objects one by one.
    numbers: dict[Hashable, int] = {}
    left = [numbers.setdefault(token, len(numbers)) for token in a]
    right = [numbers.setdefault(token, len(numbers)) for token in b]
    found: list[tuple[int, int]] = []
    for op in distances().LCSseq.opcodes(left, right):
        if op.tag == "equal":
            found += zip(range(op.src_start, op.src_end), range(op.dest_start, op.dest_end), strict=True)
    return found


def unique_anchors(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The elements that occur once on each side, as many as have a common order."""
    many_a, many_b = Counter(a), Counter(b)
    where = {token: j for j, token in enumerate(b) if many_b[token] == 1}
    return increasing([(i, where[token]) for i, token in enumerate(a) if many_a[token] == 1 and token in where])


def increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs whose second numbers increase; the first ones must increase already."""
    seconds = [j for _, j in pairs]
    run = set(rising(seconds))
    return list(pairs) if len(run) == len(pairs) else [pair for pair in pairs if pair[1] in run]


def rising(numbers: list[int]) -> list[int]:
    """The longest increasing run of numbers; all must be different."""
    breaks = (k for k, (n, following) in enumerate(pairwise(numbers), 1) if following != n + 1)
    cuts = list(islice(breaks, BLOCKS + 1))
    if len(cuts) <= BLOCKS:
        return _rising_blocks(numbers, [0, *cuts, len(numbers)]) if cuts else numbers
    if numbers == sorted(numbers):
        return numbers
    tails: list[int] = []  # the smallest end of a run, for each length
    lengths: list[int] = []  # for each number, the length of the longest run that ends with it, minus one
    note, search = lengths.append, bisect_left
    highest, last = -1, 0
    for n in numbers:
        if n > highest:  # the usual case if little moved
            last = len(tails)
            note(last)
            tails.append(n)
            highest = n
        else:
            length = search(tails, n)
            note(length)
            tails[length] = n
            if length == last:
                highest = n
    run: list[int] = []
    numbers, at = numbers[::-1], -1
    lengths.reverse()
    # Walk backwards from the end of a longest run: the number before has a length one less, and is smaller.
    for wanted in range(len(tails) - 1, -1, -1):
        at = lengths.index(wanted, at + 1)
        while run and numbers[at] > run[-1]:
            at = lengths.index(wanted, at + 1)
        run.append(numbers[at])
    run.reverse()
    return run


def _rising_blocks(numbers: list[int], edges: list[int]) -> list[int]:
    """A longest increasing run of numbers in few blocks of consecutive ones; a block is kept whole or not at all."""
    blocks = [numbers[start:end] for start, end in pairwise(edges)]
    sizes: list[int] = []  # for each block, the length of the longest run that ends with it
    before: list[int] = []  # the block before it in that run; -1 for none
    for i, block in enumerate(blocks):
        k = max((j for j in range(i - 1, -1, -1) if blocks[j][0] < block[0]), key=sizes.__getitem__, default=-1)
        before.append(k)
        sizes.append(len(block) + (sizes[k] if k >= 0 else 0))
    run: list[list[int]] = []
    i = max(range(len(blocks) - 1, -1, -1), key=sizes.__getitem__)  # of several the last, as in rising
    while i >= 0:
        run.append(blocks[i])
        i = before[i]
    return [n for block in reversed(run) for n in block]


def myers(a: Sequence[Hashable], b: Sequence[Hashable], bound: int) -> list[tuple[int, int]] | None:
    """The longest common subsequence if at most ``bound`` elements have no partner; else None."""
    n, m, steps = len(a), len(b), 0
    if abs(n - m) > bound:
        return None
    # reach[k] is the furthest place in a on the diagonal k = x - y, after d differences.
    # The place before the first step, from which both of Myers' first moves lead to the diagonal 0.
    reach = {1: 0}
    history: list[dict[int, int]] = []
    for d in range(bound + 1):
        history.append(dict(reach))
        for k in range(-d, d + 1, 2):
            x = reach[k + 1] if k == -d or (k != d and reach[k - 1] < reach[k + 1]) else reach[k - 1] + 1
            y = x - k
            from_x = x
            while x < n and y < m and a[x] == b[y]:
                x += 1
                y += 1
            reach[k] = x
            if x >= n and y >= m:
                return _backtrack(history, n, m)
            steps += x - from_x
        if steps > MYERS_STEPS:
            return None
    return None


def _backtrack(history: list[dict[int, int]], n: int, m: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    x, y = n, m
    for d in range(len(history) - 1, -1, -1):
        reach, k = history[d], x - y
        down = k == -d or (k != d and reach[k - 1] < reach[k + 1])
        before = k + 1 if down else k - 1
        start = reach[before] if d else 0
        left = start if down or not d else start + 1
        while x > left and y > left - k:
            x -= 1
            y -= 1
            pairs.append((x, y))
        x, y = start, start - before
    pairs.reverse()
    return pairs
