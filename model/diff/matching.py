"""Matches the elements of two arrays: unchanged, changed in place, or moved.

First, elements that are equal, or have equal identity keys, are aligned. Each remaining element is paired with an
equal one elsewhere, then with the most similar one between the same neighbours.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence
from itertools import repeat
from typing import TypeAlias, cast

from msgspec import Struct, field

from model.diff.alignment import align, increasing, rising
from model.diff.array_elements import Elements
from model.diff.distances import distances
from model.diff.walk import Span, field_at, spans
from model.values import canonical as c

GAP_CELLS = 2500  # similarities computed between two neighbours; beyond that, elements are paired in order
_LONG = 2000  # bytes; the similarity of longer strings is not computed

Identity: TypeAlias = tuple[bytes, int, bytes]
"""The key's name, and the type and bytes of its value."""


class Matching(Struct):
    """The old element of each new one; ``coarse`` if an exact search might have matched more.

    ``changed``, ``moved`` and ``whole`` contain new elements: those that differ from the old one, those that have
    moved relative to their neighbours, and those that share nothing with the old one, so that they replace it.

    ``unsure`` contains old elements between two neighbours where different numbers of elements without key were
    removed and added: their matches are guesses, good enough to show but not to merge. ``apart`` contains old
    elements that have nothing in common with the new ones in their place.
    """

    source: dict[int, int] = field(default_factory=dict)
    coarse: bool = False
    changed: set[int] = field(default_factory=set)
    moved: set[int] = field(default_factory=set)
    whole: set[int] = field(default_factory=set)
    unsure: set[int] = field(default_factory=set)
    apart: set[int] = field(default_factory=set)


def identity(raw: bytes, span: Span, keys: Sequence[bytes]) -> Identity | None:
    """The identity of an element, from the first key field that it has; None without one."""
    if span[1] != c.OBJECT:
        return None
    inner: list[Span] | None = None
    for key in keys:
        first = span[2] + 5
        end = first + len(key) + 1
        if raw[first:end] == key + b"\x00" and end < span[3]:  # where it nearly always is
            kind = raw[first - 1]
            return key, kind, raw[end : c.element_end(raw, kind, end)]
        if inner is None:
            # Search for the name's bytes first: that is much faster than parsing, and they are mostly not there.
            if raw.find(key + b"\x00", first, span[3]) < 0:
                continue
            inner = spans(raw, span[2])
        for name, kind, a, b in inner:
            if name == key:
                return key, kind, raw[a:b]
    return None


def match(left: Elements, right: Elements, keys: Sequence[bytes]) -> Matching:
    """Match the elements of two arrays, whose equal ends must have been trimmed."""
    found = Matching()
    if not left or not right:
        return found
    keys = [key for key in keys if left.holds(key + b"\x00") or right.holds(key + b"\x00")]
    gaps = _Gaps(left, right, keys, found)
    if len(left) == len(right) == 1:
        gaps.pair([0], [0])
        return found
    old, new = _tokens(left, right)
    fixed: list[tuple[int, int]] = []
    if (run := _unique(old, new, left, right, keys, found)) is None:
        _keyed(old, new, left, right, keys, found)
        fixed = _aligned(old, new, found)
    if len(found.source) < min(len(old), len(new)):  # else all other elements are new, or all are gone
        if run:
            gaps.fill(list(map(found.source.__getitem__, run)), run)
        else:
            gaps.fill([i for i, _ in fixed], [j for _, j in fixed])
    return found


def _aligned(old: list[Hashable], new: list[Hashable], found: Matching) -> list[tuple[int, int]]:
    """Match equal tokens: first those in a common order, then the moved ones. Returns the pairs that stay, in order."""
    kept = align(old, new)
    found.coarse = kept.coarse
    found.source = {j: i for i, j in kept.pairs}
    if len(kept.pairs) == min(len(old), len(new)):
        return []
    gone = {i for i, _ in kept.pairs}
    pairs = _equal_pairs(old, _others(len(old), gone), new, _others(len(new), found.source))
    steady = _steady(kept.pairs, pairs)
    found.moved = {j for _, j in pairs}.difference(j for _, j in steady)
    found.source.update((j, i) for i, j in pairs)
    return sorted([*kept.pairs, *steady])


def _others(count: int, taken: Collection[int]) -> list[int]:
    return [] if len(taken) == count else sorted(set(range(count)).difference(taken))


def _tokens(left: Elements, right: Elements) -> tuple[list[Hashable], list[Hashable]]:
    """Hashable tokens that are equal exactly if the elements are."""
    if left.kind and left.kind == right.kind:
        words, others = left.words(), right.words()
        if words is not None and others is not None:
            return cast(list[Hashable], words), cast(list[Hashable], others)
    old: list[Hashable] = [*left.payloads()]
    new: list[Hashable] = [*right.payloads()]
    types, kinds = left.types(), right.types()
    if len({*types, *kinds}) > 1:  # with one type, the payload is enough
        old, new = list(zip(types, old, strict=True)), list(zip(kinds, new, strict=True))
    return old, new


def _keyed(
    old: list[Hashable], new: list[Hashable], left: Elements, right: Elements, keys: Sequence[bytes], found: Matching
) -> None:
    """Give changed elements equal tokens if each side has one with their identity."""
    if not keys:
        return
    both = set(old).intersection(new)
    rest = [i for i, token in enumerate(old) if token not in both]
    others = [j for j, token in enumerate(new) if token not in both]
    for i, j, key in _same_identity(left, rest, right, others, keys):
        old[i] = new[j] = key
        found.changed.add(j)


def _same_identity(
    left: Elements, rest: list[int], right: Elements, others: list[int], keys: Sequence[bytes]
) -> list[tuple[int, int, Identity]]:
    """The elements whose identity occurs once on each side."""
    here = _identities(left.raw, left, rest, keys) if keys and others else {}
    there = _identities(right.raw, right, others, keys) if here else {}
    return [(i, j, key) for key, i in here.items() if i >= 0 and (j := there.get(key, -1)) >= 0]


def _unique(
    old: list[Hashable], new: list[Hashable], left: Elements, right: Elements, keys: Sequence[bytes], found: Matching
) -> list[int] | None:
    """Match tokens if all are unique; those outside the longest increasing run have moved. Returns the run, or None."""
    where = dict(zip(new, range(len(new)), strict=True))
    if len(where) < len(new):
        return None
    to = list(map(where.get, old, repeat(-1)))
    source = dict(zip(to, range(len(to)), strict=True))  # -1, no partner, collapses into one entry
    if source.pop(-1, None) is not None:
        rest = [i for i, j in enumerate(to) if j < 0]
        if len(source) + len(rest) < len(to) or len({old[i] for i in rest}) < len(rest):
            return None
        for i, j, _ in _same_identity(left, rest, right, _others(len(new), source), keys):
            to[i] = j
            found.changed.add(j)
        source = dict(zip(to, range(len(to)), strict=True))
        source.pop(-1, None)
        to = list(source)
    elif len(source) < len(to):
        return None
    found.source = source
    run = rising(to)
    if len(run) < len(source):
        found.moved = set(to).difference(run)
    return run


def _equal_pairs(
    old: list[Hashable], rest_old: list[int], new: list[Hashable], rest_new: list[int]
) -> list[tuple[int, int]]:
    """The pairs of equal elements among those not yet matched, in order."""
    where: dict[Hashable, list[int]] = defaultdict(list)
    for j in reversed(rest_new):
        where[new[j]].append(j)
    return [(i, where[old[i]].pop()) for i in rest_old if where.get(old[i])]


def _identities(raw: bytes, elements: Sequence[Span], rest: list[int], keys: Sequence[bytes]) -> dict[Identity, int]:
    """The place of each identity; -1 if it is repeated."""
    found: dict[Identity, int] = {}
    for i in rest:
        key = identity(raw, elements[i], keys)
        if key is not None:
            found[key] = -1 if key in found else i
    return found


def _steady(kept: list[tuple[int, int]], pairs: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """The pairs that keep their order relative to ``kept``; the others have moved."""
    if not kept or not pairs:
        return set(increasing(sorted(pairs)))
    edges_old, edges_new = [i for i, _ in kept], [j for _, j in kept]
    gaps: dict[int, list[tuple[int, int]]] = defaultdict(list)
    # The pairs are in the old side's order, so the gap there only increases.
    gap, edge = 0, edges_old[0]
    for i, j in pairs:
        if i > edge:
            gap = bisect_left(edges_old, i, gap)
            edge = edges_old[gap] if gap < len(edges_old) else i + len(pairs)
        if (not gap or edges_new[gap - 1] < j) and (gap == len(edges_new) or j < edges_new[gap]):
            gaps[gap].append((i, j))
    return {pair for inside in gaps.values() for pair in increasing(inside)}


class _Gaps:
    """Pairs elements between the same neighbours by similarity."""

    def __init__(self, left: Elements, right: Elements, keys: Sequence[bytes], found: Matching) -> None:
        self.left, self.right, self.found = left, right, found
        self.old, self.new = _AllLooks(left, keys), _AllLooks(right, keys)

    def fill(self, edges_old: list[int], edges_new: list[int]) -> None:
        """Pair unmatched elements that are between the same two elements that stay."""
        between: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        source = self.found.source
        for i in _others(len(self.left), set(source.values())):
            between[bisect_left(edges_old, i)][0].append(i)
        for j in _others(len(self.right), source):
            between[bisect_left(edges_new, j)][1].append(j)
        for some, others in between.values():
            if some and others:
                self.pair(some, others)
                nameless = [i for i in some if self.old[i].key is None]
                if len(nameless) != sum(1 for j in others if self.new[j].key is None):
                    self.found.unsure.update(nameless)

    def pair(self, some: list[int], others: list[int]) -> None:
        """Add the matches with the greatest sum of similarities, in order on both sides."""
        if len(some) * len(others) > GAP_CELLS:
            self.many(some, others)
            return
        olds, news = [self.old[i] for i in some], [self.new[j] for j in others]
        if (straight := _straight(olds, news)) is not None:
            for i, j, score in zip(some, others, straight, strict=True):
                self.note(i, j, score)
            return
        scores = [[resemblance(old, new) for new in news] for old in olds]
        # best[x][y] is the greatest sum for the elements from x and y on.
        best = [[0.0] * (len(others) + 1) for _ in range(len(some) + 1)]
        for x in range(len(some) - 1, -1, -1):
            for y in range(len(others) - 1, -1, -1):
                best[x][y] = max(best[x + 1][y], best[x][y + 1], best[x + 1][y + 1] + scores[x][y])
        x = y = 0
        while x < len(some) and y < len(others):
            score = scores[x][y]
            if score > 0 and best[x][y] == best[x + 1][y + 1] + score:
                self.note(some[x], others[y], score)
                x, y = x + 1, y + 1
            elif best[x][y] == best[x + 1][y]:
                x += 1
            else:
                y += 1

    def many(self, some: list[int], others: list[int]) -> None:
        """Match very many elements by their first field, and the others in order."""
        old, new = self.beginnings(self.left, some), self.beginnings(self.right, others)
        kept = increasing(sorted((i, new[field]) for field, i in old.items() if i >= 0 and new.get(field, -1) >= 0))
        for i, j in kept:
            self.note(i, j, 2.0)
        at = to = 0
        for i, j in [*kept, (some[-1] + 1, others[-1] + 1)]:
            end, stop = bisect_left(some, i, at), bisect_left(others, j, to)
            for x, y in zip(some[at:end], others[to:stop], strict=False):
                self.found.coarse = True
                if (score := resemblance(self.old[x], self.new[y])) > 0:
                    self.note(x, y, score)
            at, to = end + 1, stop + 1

    def beginnings(self, elements: Elements, some: list[int]) -> dict[bytes, int]:
        """The document with each first field, by its bytes; -1 if several begin with it."""
        found: dict[bytes, int] = {}
        for i in some:
            _, kind, start, end = elements[i]
            if kind == c.OBJECT and end - start > 5:
                stop = field_at(elements.raw, start + 4, end - 1)[3]
                field = elements.raw[start + 4 : stop]
                found[field] = -1 if field in found else i
        return found

    def note(self, i: int, j: int, score: float) -> None:
        """Add a match; its score says whether the two share anything."""
        self.found.source[j] = i
        self.found.changed.add(j)
        if score <= 1:
            self.found.apart.add(i)
        if score < 1:
            self.found.whole.add(j)


class _Looks:
    """The features of an element, read once to compute its similarity to many others."""

    __slots__ = ("_parts", "key", "kind", "raw", "span")

    def __init__(self, raw: bytes, span: Span, keys: Sequence[bytes]) -> None:
        self.raw, self.span, self.kind = raw, span, span[1]
        self.key = identity(raw, span, keys)
        self._parts: tuple[set[bytes], set[bytes]] | None = None

    def text(self) -> bytes | None:
        """A string's bytes, which always exist and are good enough for similarity; None if it is long."""
        _, _, start, end = self.span
        return self.raw[start + 4 : end] if end - start < _LONG else None

    def parts(self) -> tuple[set[bytes], set[bytes]]:
        """The names (for an array: the values) and the whole fields of a container."""
        if self._parts is None:
            raw, inner = self.raw, spans(self.raw, self.span[2])
            if self.kind == c.ARRAY:
                fields = {bytes((kind,)) + raw[a:b] for _, kind, a, b in inner}
                self._parts = fields, fields
            else:
                self._parts = {x[0] for x in inner}, {raw[x[2] - len(x[0]) - 2 : x[3]] for x in inner}
        return self._parts


class _AllLooks(dict[int, _Looks]):
    """The features of an array's elements by position, read on first use."""

    def __init__(self, elements: Elements, keys: Sequence[bytes]) -> None:
        super().__init__()
        self._elements, self._keys = elements, keys

    def __missing__(self, i: int) -> _Looks:
        look = self[i] = _Looks(self._elements.raw, self._elements[i], self._keys)
        return look


def resemblance(old: _Looks, new: _Looks) -> float:
    """How similar two elements are: above 1 if they share a field or value, 1 if only names, 0 if identities differ."""
    if old.kind != new.kind:
        return 0.5
    if old.kind in (c.OBJECT, c.ARRAY):
        if old.key != new.key and old.key is not None and new.key is not None:
            return 0.0
        names, fields = old.parts()
        other_names, other_fields = new.parts()
        size = max(len(names), len(other_names))
        if size < 2 or not other_names or not names:
            return 1.5 + (not fields.isdisjoint(other_fields))
        if names.isdisjoint(other_names):
            return 0.5
        return 1.0 + 10 * len(fields & other_fields) / size
    if old.kind == c.STRING and (text := old.text()) is not None and (other := new.text()) is not None:
        return 0.6 + 0.3 * float(distances().Indel.normalized_similarity(text, other))
    return 0.6


def _straight(olds: list[_Looks], news: list[_Looks]) -> list[float] | None:
    """The similarity of each document to the one at its position, if no other is more similar; else None.

    It saves comparing every pair. A document shares with any other one at most those of its fields that occur
    somewhere on the other side.
    """
    if len(olds) != len(news) or len(olds) < 3 or not all(look.kind == c.OBJECT for look in (*olds, *news)):
        return None
    there: set[bytes] = set()
    for new in news:
        there |= new.parts()[1]
    least = min(len(new.parts()[0]) for new in news)
    if not least:  # an empty document is slightly similar to all
        return None
    found: list[float] = []
    for old, new in zip(olds, news, strict=True):
        names, fields = old.parts()
        score = resemblance(old, new)
        if score <= 1 or score < 1 + 10 * len(fields & there) / max(len(names), least, 2):
            return None
        found.append(score)
    return found
