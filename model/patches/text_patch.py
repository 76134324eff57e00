"""The patches of diff-match-patch inside a text, applied strictly: each hunk must match exactly at its offset.

A hunk's head, ``@@ -start,length +start,length @@``, counts UTF-16 units from 1 (from 0 if its length is 0), in the
text as changed by the hunks before it. Its lines are percent-encoded. Source:
https://github.com/google/diff-match-patch/wiki/Unidiff
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from msgspec import Struct

from model.patches.tree import DoesNotApply

_HEAD = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class _Hunk(Struct, frozen=True):
    start: int
    before: str
    after: str


def apply(text: str, patch: str) -> str:
    """The text after the change."""
    for hunk in _hunks(patch):
        text = exchanged(text, hunk.start, hunk.before, hunk.after)
    return text


def unapply(text: str, patch: str) -> str:
    """The text before the change."""
    for hunk in reversed(list(_hunks(patch))):
        text = exchanged(text, hunk.start, hunk.after, hunk.before)
    return text


def exchanged(text: str, start: int, old: str, new: str) -> str:
    """The text with ``new`` in place of ``old``, which must stand at ``start``, counted in UTF-16 units."""
    units, out, into = _units(text), _units(old), _units(new)
    at = start * 2
    if at > len(units) or units[at : at + len(out)] != out:
        raise DoesNotApply(f"the text at {start} is not the one that was changed")
    return (units[:at] + into + units[at + len(out) :]).decode("utf-16-le", "surrogatepass")


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
        yield _Hunk(start if length == "0" else start - 1, "".join(before), "".join(after))


def _units(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")
