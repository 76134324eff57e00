"""The patches of diff-match-patch inside a text, applied strictly: each hunk must stand exactly where it says.

A hunk's head, ``@@ -start,length +start,length @@``, counts UTF-16 units from 1 in the text as the hunks before it left
it (from 0 where its length is 0); its lines are percent-encoded. Source: https://github.com/google/diff-match-patch/wiki/Unidiff
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from model.patches.tree import DoesNotApply

_HEAD = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class _Hunk:
    start: int
    before: bytes  # UTF-16
    after: bytes


def apply(text: str, patch: str) -> str:
    """The text behind the change."""
    units = _units(text)
    for hunk in _hunks(patch):
        units = _replaced(units, hunk.start, hunk.before, hunk.after)
    return _text(units)


def unapply(text: str, patch: str) -> str:
    """The text before the change."""
    units = _units(text)
    for hunk in reversed(list(_hunks(patch))):
        units = _replaced(units, hunk.start, hunk.after, hunk.before)
    return _text(units)


def _replaced(units: bytes, start: int, old: bytes, new: bytes) -> bytes:
    at = start * 2
    if units[at : at + len(old)] != old:
        raise DoesNotApply(f"the text at {start} is not the one that was changed")
    return units[:at] + new + units[at + len(old) :]


def _hunks(patch: str) -> Iterator[_Hunk]:
    lines = iter(patch.split("\n"))
    head = next(lines, "")
    while head:
        found = _HEAD.fullmatch(head)
        if found is None:
            raise DoesNotApply("the change of a text is written in an unknown way")
        start, length = int(found[1]), found[2]
        before, after = [], []
        head = ""
        for line in lines:
            if line.startswith("@@"):
                head = line
                break
            sign, said = line[:1], unquote(line[1:])
            if sign in (" ", "-"):
                before.append(said)
            if sign in (" ", "+"):
                after.append(said)
            if sign not in ("", " ", "-", "+"):
                raise DoesNotApply("the change of a text is written in an unknown way")
        yield _Hunk(start if length == "0" else start - 1, _units("".join(before)), _units("".join(after)))


def _units(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


def _text(units: bytes) -> str:
    return units.decode("utf-16-le", "surrogatepass")
