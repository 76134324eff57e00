"""Two texts compared: lines first, then words within the lines that changed, then the differing ends of a word.

An edit is ``(at, removed, inserted)``, ``at`` in characters of the old text; edits are in order and do not touch.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from model.differences.arrays import LCS_BITS, lcs

Edit: TypeAlias = tuple[int, str, str]

_WORD = re.compile(r"[\w.,+-]+|\s+|[^\w\s]")


def text_edits(old: str, new: str) -> list[Edit]:
    """The edits that turn one text into the other, few and readable; none where they are equal."""
    return compare(old, new)[0]


def compare(old: str, new: str) -> tuple[list[Edit], bool]:
    """The edits, and whether they are coarser than they could be because the texts are very large."""
    if old == new:
        return [], False
    found, coarse = _blocks(old.splitlines(keepends=True), new.splitlines(keepends=True))
    edits: list[Edit] = []
    for at, removed, inserted in found:
        inner, bound = _words(removed, inserted)
        coarse = coarse or bound
        edits += [(at + x, gone, come) for x, gone, come in inner]
    return _joined(edits), coarse


def apply_edits(old: str, edits: list[Edit]) -> str | None:
    """The new text; None where the edits are not of this text."""
    parts, at = [], 0
    for start, removed, inserted in edits:
        if start < at or old[start : start + len(removed)] != removed:
            return None
        parts += [old[at:start], inserted]
        at = start + len(removed)
    return "".join([*parts, old[at:]])


def inverse_edits(edits: list[Edit]) -> list[Edit]:
    """The edits that lead back, in characters of the new text."""
    shift, found = 0, []
    for at, removed, inserted in edits:
        found.append((at + shift, inserted, removed))
        shift += len(inserted) - len(removed)
    return found


def _ends(old: str, new: str) -> tuple[int, int]:
    """How many characters both begin and, apart from these, end with."""
    most = min(len(old), len(new))
    head = _common(old, new, most)
    return head, _common(old[head:][::-1], new[head:][::-1], most - head)


def _common(a: str, b: str, most: int) -> int:
    low, high = 0, most + 1  # equal up to low, and not up to high
    step = 64
    while low + step < high:
        if a[low : low + step] != b[low : low + step]:
            high = low + step
            break
        low += step
        step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _blocks(left: list[str], right: list[str]) -> tuple[list[Edit], bool]:
    """What differs between two lists of pieces, as edits of the joined text."""
    head, most = 0, min(len(left), len(right))
    while head < most and left[head] == right[head]:
        head += 1
    tail, most = 0, most - head
    while tail < most and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    at = sum(map(len, left[:head]))
    left, right = left[head : len(left) - tail], right[head : len(right) - tail]
    if not left or not right or len(left) * len(right) > LCS_BITS:
        return [(at, "".join(left), "".join(right))], bool(left and right)
    found: list[Edit] = []
    i = j = 0
    for k, m in [*lcs(left, right), (len(left), len(right))]:
        gone = "".join(left[i:k])
        if gone or j < m:
            found.append((at, gone, "".join(right[j:m])))
        at += len(gone)
        if k < len(left):
            at += len(left[k])
        i, j = k + 1, m + 1
    return found, False


def _words(removed: str, inserted: str) -> tuple[list[Edit], bool]:
    """Refine a changed stretch by words."""
    if not removed or not inserted:
        return [(0, removed, inserted)], False
    found, coarse = _blocks(_WORD.findall(removed), _WORD.findall(inserted))
    edits: list[Edit] = []
    for at, gone, come in found:
        head, tail = _ends(gone, come)
        # A word that shares less than half with the other is another word, not the same one with a letter changed.
        if (head + tail) * 2 < max(len(gone), len(come)):
            head = tail = 0
        edits.append((at + head, gone[head : len(gone) - tail], come[head : len(come) - tail]))
    return edits, coarse


def _joined(edits: list[Edit]) -> list[Edit]:
    """Neighbours that touch become one."""
    found: list[Edit] = []
    for at, removed, inserted in edits:
        if not removed and not inserted:
            continue
        if found and found[-1][0] + len(found[-1][1]) == at:
            before = found.pop()
            found.append((before[0], before[1] + removed, before[2] + inserted))
        else:
            found.append((at, removed, inserted))
    return found
