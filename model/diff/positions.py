"""Where elements of a document's arrays are in another document, according to the diff."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from model.diff.operations import Move, Operation
from model.values.canonical import Path


class _Shifts:
    """The positions in one array that elements left, moved between and came to."""

    def __init__(self) -> None:
        self.gone: list[int] = []  # old positions
        self.come: list[int] = []  # new positions
        self.moves: dict[int, int] = {}

    def ready(self) -> None:
        self.gone.sort()
        self.come.sort()
        self._free = [position - i for i, position in enumerate(self.come)]

    def now(self, position: int) -> int:
        """The new position of the element at an old position; for a removed one, where it would be."""
        if position in self.moves:
            return self.moves[position]
        rank = position - bisect_left(self.gone, position)
        return rank + bisect_right(self._free, rank)


class Positions:
    """Maps paths in the old document to the new one; with an inverse diff, the other way round."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._shifts = _shifts(operations)

    def now(self, path: Path) -> Path:
        """The path in the new document of the value that was at ``path`` in the old one."""
        made: list[str | int] = []
        for depth, step in enumerate(path):
            shifts = self._shifts.get(path[:depth]) if isinstance(step, int) else None
            made.append(shifts.now(step) if shifts is not None and isinstance(step, int) else step)
        return tuple(made)


def _shifts(operations: Iterable[Operation]) -> dict[Path, _Shifts]:
    """The shifts by old path, for each array that has any."""
    found: dict[Path, _Shifts] = {}
    added: list[Path] = []
    for op in operations:
        step = op.path[-1] if op.path else ""
        if not isinstance(step, int):
            continue
        if op.op == "add":
            added.append(op.path)
            continue
        shifts = found.setdefault(op.path[:-1], _Shifts()) if op.op in ("remove", "move") else None
        if shifts is not None:
            shifts.gone.append(step)
        if isinstance(op, Move) and shifts is not None:
            to = op.to_path[-1]
            if isinstance(to, int) and op.to_path[:-1] == op.path[:-1]:
                shifts.come.append(to)
                shifts.moves[step] = to
    # An addition's path is in the new document; start with shallow ones, because deeper paths depend on them.
    for shifts in found.values():
        shifts.ready()
    for path in sorted(added, key=len):
        parent = _before(path[:-1], found)
        shifts = found.setdefault(parent, _Shifts())
        position = path[-1]
        assert isinstance(position, int)
        shifts.come.append(position)
        shifts.ready()
    return found


def _before(path: Path, shifts: dict[Path, _Shifts]) -> Path:
    """The old path of an array that is now at ``path``."""
    made: list[str | int] = []
    for step in path:
        here = shifts.get(tuple(made))
        if isinstance(step, int) and here is not None:
            back = {now: old for old, now in here.moves.items()}
            if step in back:
                made.append(back[step])
                continue
            rank = step - bisect_left(here.come, step)
            made.append(_nth_kept(here.gone, rank))
        else:
            made.append(step)
    return tuple(made)


def _nth_kept(gone: list[int], rank: int) -> int:
    free = [position - i for i, position in enumerate(gone)]
    return rank + bisect_right(free, rank)
