"""Which element of one array became which of another: unchanged, changed in place, or moved.

Elements that are equal, or changed and have the same identity key, are aligned first. What is left over pairs with
an equal one elsewhere, then, between the same neighbours, with whatever resembles it most.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from rapidfuzz.distance import Indel

from model import canonical as c
from model.differences.arrays import align, increasing
from model.differences.walk import Pair, Span, spans

GAP_CELLS = 2500  # resemblances computed between two neighbours; beyond, elements pair in order
_LONG = 2000  # bytes of strings beyond which their resemblance is not computed

Identity: TypeAlias = tuple[bytes, int, bytes]
"""The key's name, and the type and bytes of its value."""


@dataclass(frozen=True, slots=True)
class Match:
    """Element ``i`` of the old array is element ``j`` of the new one."""

    i: int
    j: int
    moved: bool = False
    whole: bool = False  # nothing inside them is shared: one replaces the other


@dataclass
class Matching:
    """All matches; ``coarse`` where more may exist.

    ``unsure`` are old elements between two neighbours where a different number of elements without key went and
    came: which became which is a guess, good enough to show and not to merge by. ``apart`` are old elements that have
    nothing in common with the new ones in their place.
    """

    matches: list[Match] = field(default_factory=list)
    coarse: bool = False
    unsure: set[int] = field(default_factory=set)
    apart: set[int] = field(default_factory=set)


def identity(raw: bytes, span: Span, keys: Sequence[bytes]) -> Identity | None:
    """By what an element is recognised: the first of the key fields that it has; None for other values."""
    if span[1] != c.OBJECT:
        return None
    inner: list[Span] | None = None
    for key in keys:
        first = span[2] + 5
        end = first + len(key) + 1
        if raw[first:end] == key + b"\x00":  # where it nearly always is
            kind = raw[first - 1]
            return key, kind, raw[end : c.element_end(raw, kind, end)]
        if inner is None:
            inner = spans(raw, span[2])
        for name, kind, a, b in inner:
            if name == key:
                return key, kind, raw[a:b]
    return None


def match(a: bytes, left: Sequence[Span], b: bytes, right: Sequence[Span], keys: Sequence[bytes]) -> Matching:
    """Match the elements ``left`` of one array in ``a`` with the elements ``right`` of another in ``b``.

    Equal ends are best trimmed before.
    """
    if not left or not right:
        return Matching()
    if len(left) == len(right) == 1:
        single = _Gaps(a, left, b, right, keys)
        return Matching(single.paired([0], [0]), apart=single.apart)
    old, new = _tokens(a, left, b, right, keys)
    kept = align(old, new)
    found = Matching([Match(i, j) for i, j in kept.pairs], kept.coarse)
    rest_old, rest_new = _others(len(old), {i for i, _ in kept.pairs}), _others(len(new), {j for _, j in kept.pairs})
    if not rest_old or not rest_new:
        return found
    pairs = _equal_pairs(old, rest_old, new, rest_new)
    steady = _steady(kept.pairs, pairs)
    found.matches += [Match(i, j, moved=(i, j) not in steady) for i, j in pairs]
    gone, come = {i for i, _ in pairs}, {j for _, j in pairs}
    gaps = _Gaps(a, left, b, right, keys)
    fixed = sorted([*kept.pairs, *steady])
    between: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    edges_old, edges_new = [i for i, _ in fixed], [j for _, j in fixed]
    for i in rest_old:
        if i not in gone:
            between[bisect_left(edges_old, i)][0].append(i)
    for j in rest_new:
        if j not in come:
            between[bisect_left(edges_new, j)][1].append(j)
    for some, others in between.values():
        if some and others:
            found.matches += gaps.paired(some, others)
            nameless = [i for i in some if identity(a, left[i], keys) is None]
            if len(nameless) != sum(1 for j in others if identity(b, right[j], keys) is None):
                found.unsure.update(nameless)
    found.coarse = found.coarse or gaps.coarse
    found.apart = gaps.apart
    return found


def trim(pair: Pair, left: Sequence[Span], right: Sequence[Span]) -> tuple[int, int]:
    """How many elements are equal at the beginning, and, apart from these, at the end."""
    equal = pair.equal
    head, n, m = 0, len(left), len(right)
    while head < n and head < m:
        x, y = left[head], right[head]
        if x[1] != y[1] or not equal(x[2], x[3], y[2], y[3]):
            break
        head += 1
    tail, most = 0, min(n, m) - head
    while tail < most:
        x, y = left[n - 1 - tail], right[m - 1 - tail]
        if x[1] != y[1] or not equal(x[2], x[3], y[2], y[3]):
            break
        tail += 1
    return head, tail


_POSITIONS: list[bytes] = []


def counted(found: Sequence[Span]) -> bool:
    """Whether an array's stored positions are 0, 1, 2 …"""
    if len(_POSITIONS) < len(found) and len(found) <= 100_000:
        _POSITIONS.extend(b"%d" % i for i in range(len(_POSITIONS), len(found)))
    if len(found) <= len(_POSITIONS):
        return [x[0] for x in found] == _POSITIONS[: len(found)]
    return all(x[0] == b"%d" % i for i, x in enumerate(found))


def _others(count: int, taken: set[int]) -> list[int]:
    return [i for i in range(count) if i not in taken]


def _tokens(
    a: bytes, left: Sequence[Span], b: bytes, right: Sequence[Span], keys: Sequence[bytes]
) -> tuple[list[Hashable], list[Hashable]]:
    """Tokens that are equal where elements are: by their bytes, or else by an identity that is clear on both sides."""
    old: list[Hashable] = [(x[1], a[x[2] : x[3]]) for x in left]
    new: list[Hashable] = [(y[1], b[y[2] : y[3]]) for y in right]
    both = set(old).intersection(new)
    here = _identities(a, left, [i for i, token in enumerate(old) if token not in both], keys)
    there = _identities(b, right, [j for j, token in enumerate(new) if token not in both], keys) if here else {}
    for key, i in here.items():
        j = there.get(key, -1)
        if i >= 0 and j >= 0:
            old[i] = new[j] = key
    return old, new


def _equal_pairs(
    old: list[Hashable], rest_old: list[int], new: list[Hashable], rest_new: list[int]
) -> list[tuple[int, int]]:
    """Left-overs that are equal, in order."""
    where: dict[Hashable, list[int]] = defaultdict(list)
    for j in reversed(rest_new):
        where[new[j]].append(j)
    return [(i, where[old[i]].pop()) for i in rest_old if where.get(old[i])]


def _identities(raw: bytes, elements: Sequence[Span], rest: list[int], keys: Sequence[bytes]) -> dict[Identity, int]:
    """Where each identity stands; -1 where it stands more than once."""
    found: dict[Identity, int] = {}
    for i in rest:
        key = identity(raw, elements[i], keys)
        if key is not None:
            found[key] = -1 if key in found else i
    return found


def _steady(kept: list[tuple[int, int]], pairs: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """The pairs that keep their order among those kept; the others moved."""
    edges_old, edges_new = [i for i, _ in kept], [j for _, j in kept]
    gaps: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for i, j in sorted(pairs):
        gap = bisect_left(edges_old, i)
        if gap == bisect_left(edges_new, j):
            gaps[gap].append((i, j))
    return {pair for inside in gaps.values() for pair in increasing(inside)}


class _Gaps:
    """Pairs by resemblance what lies between the same neighbours."""

    def __init__(self, a: bytes, left: Sequence[Span], b: bytes, right: Sequence[Span], keys: Sequence[bytes]) -> None:
        self.a, self.left, self.b, self.right, self.keys = a, left, b, right, keys
        self.coarse = False
        self.apart: set[int] = set()
        self.parts: dict[tuple[bool, int], tuple[set[bytes], set[bytes]]] = {}

    def paired(self, some: list[int], others: list[int]) -> list[Match]:
        """The matches with the greatest sum of resemblances, in order on both sides."""
        if len(some) * len(others) > GAP_CELLS:
            self.coarse = True
            return [
                self.found(i, j, score) for i, j in zip(some, others, strict=False) if (score := self.score(i, j)) > 0
            ]
        scores = [[self.score(i, j) for j in others] for i in some]
        best = [[0.0] * (len(others) + 1) for _ in range(len(some) + 1)]
        for x in range(len(some) - 1, -1, -1):
            for y in range(len(others) - 1, -1, -1):
                best[x][y] = max(best[x + 1][y], best[x][y + 1], best[x + 1][y + 1] + scores[x][y])
        matches, x, y = [], 0, 0
        while x < len(some) and y < len(others):
            score = scores[x][y]
            if score > 0 and best[x][y] == best[x + 1][y + 1] + score:
                matches.append(self.found(some[x], others[y], score))
                x, y = x + 1, y + 1
            elif best[x][y] == best[x + 1][y]:
                x += 1
            else:
                y += 1
        return matches

    def found(self, i: int, j: int, score: float) -> Match:
        """A match; notes where nothing is shared."""
        if score <= 1:
            self.apart.add(i)
        return Match(i, j, whole=score < 1)

    def score(self, i: int, j: int) -> float:
        """Above 1 where something inside is shared, 1 where only names are, 0 where they are known to be different."""
        x, y = self.left[i], self.right[j]
        if x[1] != y[1]:
            return 0.5
        if x[1] in (c.OBJECT, c.ARRAY):
            if x[1] == c.OBJECT:
                key, other = identity(self.a, x, self.keys), identity(self.b, y, self.keys)
                if key is not None and other is not None and key != other:
                    return 0.0
            return self.inner(i, j)
        if x[1] == c.STRING and x[3] - x[2] < _LONG and y[3] - y[2] < _LONG:
            # Bytes, not characters: enough for a resemblance, and always possible.
            return 0.6 + 0.3 * Indel.normalized_similarity(self.a[x[2] + 4 : x[3]], self.b[y[2] + 4 : y[3]])
        return 0.6

    def inner(self, i: int, j: int) -> float:
        names, fields = self.part(True, i)
        other_names, other_fields = self.part(False, j)
        size = max(len(names), len(other_names))
        if size < 2 or not other_names or not names:
            return 1.5 + bool(fields & other_fields)
        if names.isdisjoint(other_names):
            return 0.5
        return 1.0 + 10 * len(fields & other_fields) / size

    def part(self, old: bool, i: int) -> tuple[set[bytes], set[bytes]]:
        """The names (an array's: the values) and the whole fields of a container."""
        found = self.parts.get((old, i))
        if found is None:
            raw, span = (self.a, self.left[i]) if old else (self.b, self.right[i])
            inner = spans(raw, span[2])
            if span[1] == c.ARRAY:
                fields = {bytes((kind,)) + raw[a:b] for _, kind, a, b in inner}
                found = fields, fields
            else:
                found = {x[0] for x in inner}, {raw[x[2] - len(x[0]) - 2 : x[3]] for x in inner}
            self.parts[old, i] = found
        return found
