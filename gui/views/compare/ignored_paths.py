"""Paths whose changes are hidden in comparisons: stored per collection, counted wherever they hide something.

A path hides the changes at and below it. Positions in arrays do not count, so ``riders[2].seen`` hides the field of
every rider; it is shown as ``riders[].seen``.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from gui.style import preferences
from model import text
from model.diff import Operation
from model.values.canonical import Path

Pattern: TypeAlias = tuple[str | None, ...]
"""Names, and None for any position in an array."""


def pattern_of(path: Path) -> Pattern:
    """The pattern that hides a path."""
    return tuple(None if isinstance(step, int) else step for step in path)


def pattern_text(pattern: Pattern) -> str:
    """A pattern for people: ``riders[].seen``."""
    words = ""
    for step in pattern:
        words += "[]" if step is None else ("." if words else "") + text.name_text(step)
    return words


class IgnoredPaths(Struct, frozen=True):
    """The patterns of one collection, in the order in which they were added."""

    patterns: tuple[Pattern, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def hides(self, op: Operation) -> bool:
        """Whether an operation is hidden."""
        return self.hides_path(op.path)

    def hides_path(self, path: Path) -> bool:
        """Whether changes at a path are hidden."""
        return any(_covers(pattern, path) for pattern in self.patterns)

    def counted(self, operations: tuple[Operation, ...]) -> list[int]:
        """How many operations each pattern hides."""
        return [sum(_covers(pattern, op.path) for op in operations) for pattern in self.patterns]

    def with_path(self, path: Path) -> IgnoredPaths:
        """These patterns and the path's one; the whole document cannot be hidden."""
        made = pattern_of(path)
        return self if not made or made in self.patterns else IgnoredPaths((*self.patterns, made))

    def without(self, pattern: Pattern) -> IgnoredPaths:
        """These patterns without one."""
        return IgnoredPaths(tuple(one for one in self.patterns if one != pattern))


def _covers(pattern: Pattern, path: Path) -> bool:
    if len(path) < len(pattern):
        return False
    return all(
        isinstance(step, int) if wanted is None else wanted == step for wanted, step in zip(pattern, path, strict=False)
    )


def kept(source: str, ns: str) -> IgnoredPaths:
    """The hidden patterns of a collection."""
    found = preferences.remembered(_key(source, ns), [])
    patterns = []
    for one in found if isinstance(found, list) else []:
        if isinstance(one, list) and one and all(step is None or isinstance(step, str) for step in one):
            patterns.append(tuple(one))
    return IgnoredPaths(tuple(patterns))


def keep(source: str, ns: str, ignored: IgnoredPaths) -> None:
    """Store the hidden patterns of a collection."""
    preferences.remember(_key(source, ns), [list(pattern) for pattern in ignored.patterns])


def _key(source: str, ns: str) -> str:
    return f"ignored/{source}/{ns}"
