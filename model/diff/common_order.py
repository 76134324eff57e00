"""Combines three sequences of equal members into one order, including the members that each side added."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from itertools import pairwise
from typing import Any, TypeVar

from msgspec import Struct, field

BLOCKS = 1000  # blocks that all three keep together; with more of them, two new orders are not combined

T = TypeVar("T", bound=Hashable)


def agreed(base: Sequence[T], mine: Sequence[T], theirs: Sequence[T]) -> list[T] | None:
    """The order in which each pair is as one side changed it; None if the changes contradict each other.

    All three contain equal members, each once, except those that both sides added. A pair that one side reversed is
    reversed; a pair with an added member must have one order on both sides.
    """
    if mine == theirs:
        return list(mine)
    left, right = mine, theirs
    if len(base) < len(mine):
        if not _added_alike(base, mine, theirs):
            return None
        old = set(base)
        left, right = [x for x in mine if x in old], [x for x in theirs if x in old]
    if right == base:
        return list(mine)
    if left == base:
        return list(theirs)
    blocks = _blocks(base, mine, theirs)
    if len(blocks) > BLOCKS:
        return None
    followers = _followers(blocks, mine, theirs)
    # The pairs make one order exactly if no two blocks have equally many followers; else they go round in a circle.
    if sorted(followers) != list(range(len(blocks))):
        return None
    ranked = sorted(range(len(blocks)), key=lambda i: -followers[i])
    return [x for i in ranked for x in blocks[i]]


def _followers(blocks: Sequence[Sequence[T]], mine: Sequence[T], theirs: Sequence[T]) -> list[int]:
    """For each block, the number of blocks after it in the combined order of pairs."""
    first = {block[0]: i for i, block in enumerate(blocks)}
    in_mine = {first[x]: k for k, x in enumerate(x for x in mine if x in first)}
    in_theirs = {first[x]: k for k, x in enumerate(x for x in theirs if x in first)}
    count = len(blocks)
    followers = [0] * count
    for i in range(count):
        for j in range(i + 1, count):
            # If one side reversed a pair, it is reversed; a pair with an added member is alike on both sides.
            before = in_mine[i] < in_mine[j] and in_theirs[i] < in_theirs[j]
            followers[i if before else j] += 1
    return followers


def _added_alike(base: Sequence[T], mine: Sequence[T], theirs: Sequence[T]) -> bool:
    """Whether both sides have the added members in one order, each after just as many of the base's first members."""
    old = set(base)
    rank: dict[T, int] = {}
    places: list[tuple[T, int]] = []
    for x in theirs:
        if x in old:
            rank[x] = len(rank)
        else:
            places.append((x, len(rank)))
    waiting = iter(places)
    last, seen = -1, 0
    for x in mine:
        if x in rank:
            last, seen = max(last, rank[x]), seen + 1
        elif next(waiting, None) != (x, seen) or last != seen - 1:
            return False
    return True


def diverging(base: Sequence[T], mine: Sequence[T], theirs: Sequence[T]) -> bool:
    """Whether both sides moved one member, but to different places among the members that neither moved."""
    if mine == theirs or base in (mine, theirs):
        return False
    at = {x: i for i, x in enumerate(base)}
    moved = [set(base) - {base[i] for i in in_every_run([at[x] for x in side])} for side in (mine, theirs)]
    both = moved[0] & moved[1]
    if not both:
        return False
    places: list[dict[T, int]] = []
    for side in (mine, theirs):
        count, place = 0, {}
        for x in side:
            if x in both:
                place[x] = count
            elif x not in moved[0] and x not in moved[1]:
                count += 1
        places.append(place)
    return places[0] != places[1]


def in_every_run(numbers: Sequence[int]) -> set[int]:
    """The numbers in every longest increasing run: only these have certainly not moved."""
    some = _in_runs(numbers)
    alone = Counter(length for length, _ in some)
    return {n for length, n in some if alone[length] == 1}


def in_some_run(numbers: Sequence[int]) -> set[int]:
    """The numbers in at least one longest increasing run: all others have certainly moved."""
    return {n for _, n in _in_runs(numbers)}


def _in_runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """(place in its run, number) of the numbers in at least one longest increasing run."""
    ending = _lengths(numbers)
    starting = _lengths([-n for n in reversed(numbers)])[::-1]
    longest = max(ending, default=0)
    return [
        (length, n) for n, length, rest in zip(numbers, ending, starting, strict=True) if length + rest == longest + 1
    ]


def _lengths(numbers: Sequence[int]) -> list[int]:
    """For each number, the length of the longest increasing run that ends with it."""
    tails: list[int] = []
    found: list[int] = []
    for n in numbers:
        k = bisect_left(tails, n)
        if k == len(tails):
            tails.append(n)
        else:
            tails[k] = n
        found.append(k + 1)
    return found


def _blocks(base: Sequence[T], mine: Sequence[T], theirs: Sequence[T]) -> list[list[T]]:
    """The base, then the added members, cut into blocks that are consecutive on both sides."""
    next_mine = dict(pairwise(mine))
    next_theirs = dict(pairwise(theirs))
    old = set(base) if len(base) < len(mine) else set(mine)
    blocks: list[list[T]] = []
    for things in (base, [x for x in mine if x not in old]):
        for i, x in enumerate(things):
            before = things[i - 1]
            if i and next_mine.get(before) == x and next_theirs.get(before) == x:
                blocks[-1].append(x)
            else:
                blocks.append([x])
    return blocks


class OrderedRun(Struct):
    """Consecutive members that one side added, and the rank of the base's member before them (-1: none)."""

    after: int
    inside: list[Any] = field(default_factory=list)


_START, _END = object(), object()


def arranged(
    skeleton: Sequence[T],
    sides: Sequence[Sequence[T]],
    extra: Mapping[T, int],
    rank: Mapping[T, int],
    weight: Callable[[T], Any] = lambda _: 0,
) -> list[T]:
    """The skeleton with all of ``extra`` inserted, each member where its side has it.

    That is after all members of the skeleton that precede it on its side, if the skeleton has such a place, else
    after the nearest of them. A side's last members stay last. ``rank`` is a member's place in the base. If two sides
    insert in one place, ``weight`` of the first member of each decides, then the order of the sides.
    """
    if not extra:
        return list(skeleton)
    kept = set(skeleton)
    at: dict[object, list[OrderedRun]] = {}
    for number, side in enumerate(sides):
        wanted = {x for x, given in extra.items() if given == number and x not in kept}
        places = [i for i, x in enumerate(side) if x in wanted] if wanted else []
        for key, found in _anchored(skeleton, kept, side, places, rank).items():
            at[key] = _merged(at[key], found, weight) if key in at else found
    result: list[T] = _flat(at.get(_START))
    done = 0
    for i in [i for i, x in enumerate(skeleton, 1) if x in at]:
        result += skeleton[done:i]
        result += _flat(at[skeleton[i - 1]])
        done = i
    result += skeleton[done:]
    return result + _flat(at.get(_END))


def _anchored(
    skeleton: Sequence[T], kept: Set[T], side: Sequence[T], places: Sequence[int], rank: Mapping[T, int]
) -> dict[object, list[OrderedRun]]:
    """The members at some places of a side, by the member of the skeleton after which they are inserted."""
    if not places:
        return {}
    last = next((i for i in range(len(side) - 1, -1, -1) if side[i] in kept), -1)
    anchor: object = _START
    after, seen = -1, 0
    runs: dict[object, list[OrderedRun]] = {}
    clear = _clear(skeleton, side, places)
    for i in places:
        # Between two such places, only the nearest member counts.
        before = range(i - 1, seen - 1, -1)
        anchor = next((side[k] for k in before if side[k] in kept), anchor)
        after = next((rank[side[k]] for k in before if side[k] in rank), after)
        seen = i
        here = runs.setdefault(_END if i > last else clear.get(i, anchor), [])
        if not here or here[-1].after != after:
            here.append(OrderedRun(after))
        here[-1].inside.append(side[i])
    return runs


def _clear(skeleton: Sequence[T], side: Sequence[T], places: Sequence[int]) -> dict[int, T]:
    """For each place preceded by exactly the skeleton's first members, the last of these in the skeleton."""
    order = {x: k for k, x in enumerate(skeleton)}
    kept = [order[x] for x in side if x in order]
    if len(kept) < len(order) or kept == list(range(len(kept))):
        return {}
    found: dict[int, T] = {}
    last, seen, done = -1, 0, 0
    for i in places:
        for x in side[done:i]:
            if x in order:
                last, seen = max(last, order[x]), seen + 1
        done = i
        if 0 < seen == last + 1:
            found[i] = skeleton[last]
    return found


def _flat(runs: list[OrderedRun] | None) -> list[Any]:
    return [x for run in runs or () for x in run.inside]


def _merged(left: list[OrderedRun], right: list[OrderedRun], weight: Callable[[Any], Any]) -> list[OrderedRun]:
    """Two lists of runs as one; each keeps its order."""
    result: list[OrderedRun] = []
    i = j = 0
    while i < len(left) and j < len(right):
        x, y = left[i], right[j]
        if (x.after, weight(x.inside[0])) <= (y.after, weight(y.inside[0])):
            result.append(x)
            i += 1
        else:
            result.append(y)
            j += 1
    return result + left[i:] + right[j:]
