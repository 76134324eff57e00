"""Compares two texts: first by lines, then by words within changed lines, then at the ends of changed words.

An edit is ``(at, removed, inserted)``, with ``at`` in characters of the old text; edits are in order and never touch.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TypeAlias

from model.diff.alignment import LCS_BITS, PIECES, align, lcs

Edit: TypeAlias = tuple[int, str, str]

# Characters that are not letters to Python, but part of one: accents, vowels of India and Thailand, emoji joiners.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963"
    "\u0966-\u0df3\u0e31-\u0e4e\u0eb1-\u0ece\u1000-\u109f\u1780-\u17d3\u1ab0-\u1aff\u1dc0-\u1dff\u200d\u20d0-\u20f0"
    "\u302a-\u302f\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f\U0001f3fb-\U0001f3ff"
)
_JOINER = "\u200d"
_BREAK = re.compile(r"(?<=\S)(?=\s)")  # no word crosses it
_NEAR = 4096  # characters searched for such a break
_MOST_BITS = 2 * 10**9  # n·m for the words of all lines together: about a second
_AT_ONCE = 1 << 17  # characters split in one call, during which no other thread runs


@cache
def _word() -> re.Pattern[str]:
    """Made on first use: few commands compare texts."""
    return re.compile(rf"[\w.,+{_MARKS}-]+|\s+|[^\w\s]")


@cache
def _mark() -> re.Pattern[str]:
    return re.compile(rf"[{_MARKS}]")


def text_edits(old: str, new: str) -> list[Edit]:
    """The edits that turn one text into the other, few and readable."""
    return compare(old, new)[0]


def compare(old: str, new: str) -> tuple[list[Edit], bool]:
    """The edits, and whether they are coarse because the texts are very large."""
    if old == new:
        return [], False
    found, coarse, _ = _blocks(_lines(old), _lines(new), _MOST_BITS)
    if coarse:
        return found, True  # the words are still too many
    edits: list[Edit] = []
    spare = _MOST_BITS
    for at, removed, inserted in found:
        inner, bound, spent = _words(removed, inserted, spare)
        spare -= spent
        coarse = coarse or bound
        edits += [(at + x, gone, come) for x, gone, come in inner]
    return _joined(_whole(old, _joined(edits))), coarse


def apply_edits(old: str, edits: list[Edit]) -> str | None:
    """The new text; None if the edits do not fit this text."""
    parts, at = [], 0
    for start, removed, inserted in edits:
        if start < at or old[start : start + len(removed)] != removed:
            return None
        parts += [old[at:start], inserted]
        at = start + len(removed)
    return "".join([*parts, old[at:]])


def inverse_edits(edits: list[Edit]) -> list[Edit]:
    """The edits in the other direction, in characters of the new text."""
    shift, found = 0, []
    for at, removed, inserted in edits:
        found.append((at + shift, inserted, removed))
        shift += len(inserted) - len(removed)
    return found


def _ends(old: str, new: str) -> tuple[int, int]:
    """The lengths of the common beginning and, without overlap, of the common end."""
    most = min(len(old), len(new))
    head = _common(old, new, most)
    return head, _common(old[head:][::-1], new[head:][::-1], most - head)


def _common(a: str, b: str, most: int) -> int:
    low, high = 0, most + 1  # equal up to low, not up to high
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


def _blocks(left: list[str], right: list[str], spare: int) -> tuple[list[Edit], bool, int]:
    """The differences between two lists of pieces, as edits of the joined text; whether coarse; and the bits used.

    ``spare`` is the number of bits that may be used.
    """
    head, most = 0, min(len(left), len(right))
    while head < most and left[head] == right[head]:
        head += 1
    tail, most = 0, most - head
    while tail < most and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    at = sum(map(len, left[:head]))
    left, right = left[head : len(left) - tail], right[head : len(right) - tail]
    bits = len(left) * len(right)
    if not bits or max(len(left), len(right)) > PIECES or min(bits, LCS_BITS) > spare:
        return [(at, "".join(left), "".join(right))], bool(bits), 0
    if bits <= LCS_BITS:
        same, coarse = lcs(left, right), False
    else:
        aligned = align(left, right)
        same, coarse = aligned.pairs, aligned.coarse
    found: list[Edit] = []
    i = j = 0
    for k, m in [*same, (len(left), len(right))]:
        gone = "".join(left[i:k])
        if gone or j < m:
            found.append((at, gone, "".join(right[j:m])))
        at += len(gone)
        if k < len(left):
            at += len(left[k])
        i, j = k + 1, m + 1
    return found, coarse, min(bits, LCS_BITS)


def _lines(text: str) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(text):
        end = text.find("\n", at + _AT_ONCE) + 1 or len(text)
        found += text[at:end].splitlines(keepends=True)
        at = end
    return found


def _words_of(text: str) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(text):
        gap = _BREAK.search(text, at + _AT_ONCE)
        end = gap.start() if gap else len(text)
        found += _word().findall(text, at, end)
        at = end
    return found


def _shared_words(old: str, new: str) -> tuple[int, int]:
    """The lengths of the whole words with which both texts certainly begin and end."""
    head, tail = _ends(old, new)
    last = max(0, head - _NEAR)
    breaks = [last + found.start() for found in _BREAK.finditer(old[last:head])]
    behind = len(old) - tail + 1  # a break counts only if both texts share the characters on both sides of it
    first = _BREAK.search(old, behind, behind + _NEAR)
    return breaks[-1] if breaks else 0, len(old) - first.start() if first else 0


def _words(removed: str, inserted: str, spare: int) -> tuple[list[Edit], bool, int]:
    """Refine a changed stretch by words; returns what :func:`_blocks` does."""
    if not removed or not inserted:
        return [(0, removed, inserted)], False, 0
    start, end = _shared_words(removed, inserted) if len(removed) > _AT_ONCE else (0, 0)
    left, right = removed[start : len(removed) - end], inserted[start : len(inserted) - end]
    found, coarse, spent = _blocks(_words_of(left), _words_of(right), spare)
    edits: list[Edit] = []
    for at, gone, come in found:
        at += start
        head, tail = _ends(gone, come)
        # Words that share less than half are different words, rather than one word with changed letters.
        if (head + tail) * 2 < max(len(gone), len(come)):
            head = tail = 0
        edits.append((at + head, gone[head : len(gone) - tail], come[head : len(come) - tail]))
    return edits, coarse, spent


def _whole(old: str, edits: list[Edit]) -> list[Edit]:
    """The edits, widened wherever one would split a group that people see as one character."""
    found: list[Edit] = []
    ahead = [at for at, _, _ in edits[1:]]
    low = 0
    for (at, gone, come), high in zip(edits, [*ahead, len(old)], strict=True):
        end = at + len(gone)
        while at > low and (_one(old, at) or _one(old[at - 1] + (come or old[end : end + 1]), 1)):
            at -= 1
            come = old[at] + come
        while end < high and (_one(old, end) or _one((come or old[at - 1 : at])[-1:] + old[end], 1)):
            come += old[end]
            end += 1
        found.append((at, old[at:end], come))
        low = end
    return found


def _one(text: str, at: int) -> bool:
    """Whether the characters on both sides of ``at`` belong together."""
    if not 0 < at < len(text):
        return False
    behind = text[at]
    if behind < "\u0300":  # nearly always
        return text[at - 1] == _JOINER
    return text[at - 1] == _JOINER or (_mark().match(behind) is not None and not behind.isalnum())


def _joined(edits: list[Edit]) -> list[Edit]:
    """The edits with touching neighbours joined."""
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
