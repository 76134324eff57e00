"""Merges three texts by line: changes of one side are taken; if both changed a line differently, it is a conflict."""

from __future__ import annotations

from collections import deque

from msgspec import Struct

from model.diff.alignment import LCS_BITS, PIECES, align, lcs


class Hunk(Struct, frozen=True):
    """Lines ``start`` to ``end`` of the base became ``lines``."""

    start: int
    end: int
    lines: tuple[str, ...]

    @property
    def even(self) -> bool:
        """Whether it neither adds nor removes lines."""
        return len(self.lines) == self.end - self.start


def merge_lines(base: str, mine: str, theirs: str) -> tuple[str, bool]:
    """The merged text, and whether there is a conflict; conflicting lines are included from both, mine first."""
    # Not `str.splitlines`, which also splits at a form feed or U+2028: joined again, the text would be another one.
    lines = base.split("\n")
    left, right = deque(hunks(lines, mine.split("\n"))), deque(hunks(lines, theirs.split("\n")))
    result: list[str] = []
    at, conflict = 0, False
    while left or right:
        group_left, group_right = _group(left, right)
        start = min(h.start for h in group_left + group_right)
        end = max(h.end for h in group_left + group_right)
        result += lines[at:start]
        ours, others = _applied(lines, start, end, group_left), _applied(lines, start, end, group_right)
        if not group_right or ours == others:
            result += ours
        elif not group_left:
            result += others
        else:
            conflict = True
            result += ours + others
        at = end
    return "\n".join(result + lines[at:]), conflict


def hunks(old: list[str], new: list[str]) -> list[Hunk]:
    """The hunks in which two lists of lines differ."""
    head, most = 0, min(len(old), len(new))
    while head < most and old[head] == new[head]:
        head += 1
    tail, most = 0, most - head
    while tail < most and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    left, right = old[head : len(old) - tail], new[head : len(new) - tail]
    same: list[tuple[int, int]] = []
    if len(left) * len(right) <= LCS_BITS:
        same = lcs(left, right)
    # Beyond that, everything between the equal ends is one hunk: coarse, but never wrong.
    elif max(len(left), len(right)) <= PIECES:
        same = align(left, right).pairs
    found: list[Hunk] = []
    i = j = 0
    for k, m in [*same, (len(left), len(right))]:
        if i < k or j < m:
            found.append(Hunk(head + i, head + k, tuple(right[j:m])))
        i, j = k + 1, m + 1
    return found


def _group(left: deque[Hunk], right: deque[Hunk]) -> tuple[list[Hunk], list[Hunk]]:
    """Remove the next group of overlapping or touching hunks from both lists, and return it."""
    groups: tuple[list[Hunk], list[Hunk]] = ([], [])
    sides = (left, right)
    first = 0 if not right or (left and left[0].start <= right[0].start) else 1
    groups[first].append(sides[first].popleft())
    growing = True
    while growing:
        growing = False
        for side in (0, 1):
            # Hunks of one side never touch each other, so only the other side's last one can touch the next hunk.
            while sides[side] and groups[1 - side] and _clash(groups[1 - side][-1], sides[side][0]):
                groups[side].append(sides[side].popleft())
                growing = True
    return groups


def _clash(x: Hunk, y: Hunk) -> bool:
    """Whether hunks of two sides cannot both be taken: they overlap, or they touch and one adds or removes lines."""
    if x.start < y.end and y.start < x.end:
        return True
    # Where lines are added at the border of another change, nothing tells which of both comes first.
    return (x.end == y.start or y.end == x.start) and not (x.even and y.even)


def _applied(lines: list[str], start: int, end: int, group: list[Hunk]) -> list[str]:
    result: list[str] = []
    for hunk in group:
        result += lines[start : hunk.start]
        result += hunk.lines
        start = hunk.end
    return result + lines[start:end]
