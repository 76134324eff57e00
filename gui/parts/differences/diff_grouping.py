"""The operations of a diff, grouped by the containers that they are in.

A task groups them; :mod:`gui.parts.differences.diff_node` makes rows from the groups. Only containers with changes
inside are walked, and each place remembers where its value lies in the two documents.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct, field

from model.diff import Add, Diff, Move, Operation, Remove, Reorder
from model.foundation.records import Checkpoint, no_checkpoint
from model.values import canonical
from model.values.canonical import ARRAY, OBJECT, Path

Slot: TypeAlias = tuple[bytes, int, int, int]
"""Where a value lies: the document, its type, the start and end of its payload."""


# Shared by all places with nothing inside, which can be hundreds of thousands; never written to.
_NO_PLACES: list[Place] = []
_NO_STEPS: dict[str | int, Place] = {}


class Place(Struct, eq=False):
    """A place that changed or has changes inside.

    ``first`` and ``count`` number the operations in it, in order; hidden ones have no number.
    """

    path_a: Path
    path_b: Path
    op: Operation | None = None
    also: Operation | None = None  # a further change of a moved element
    first: int = 0
    count: int = 0
    inside: list[Place] = field(default_factory=lambda: _NO_PLACES)
    a: Slot | None = None
    b: Slot | None = None
    at_a: int = -1  # its number among its siblings, in each document
    at_b: int = -1
    size_a: int = 0  # its number of fields or elements
    size_b: int = 0
    # The places inside, by name or position in each document.
    by_a: dict[str | int, Place] = field(default_factory=lambda: _NO_STEPS)
    by_b: dict[str | int, Place] = field(default_factory=lambda: _NO_STEPS)

    def hold(self) -> None:
        """Prepare to hold other places inside."""
        if self.inside is _NO_PLACES:
            self.inside, self.by_a, self.by_b = [], {}, {}

    @property
    def is_array(self) -> bool:
        """Whether it contains elements."""
        slot = self.b or self.a
        return slot is not None and slot[1] == ARRAY

    @property
    def reorder(self) -> Reorder | None:
        """The operation that reordered its fields."""
        return next((op for op in (self.op, self.also) if isinstance(op, Reorder)), None)

    @property
    def unchanged(self) -> int:
        """How many of its own fields or elements are equal in both documents."""
        return self.size_b - len(self.by_b)


class Plan(Struct, frozen=True):
    """A comparison ready to be shown; ``hidden`` operations are in the places, without numbers."""

    a: bytes
    b: bytes
    root: Place
    changes: tuple[Operation, ...]
    counts: dict[str, int]
    unchanged: int
    coarse: bool
    hidden: int = 0
    marks: tuple[tuple[str, float], ...] = ()  # each change's kind, and how far down it is, from 0 to 1


def _marks(root: Place, total: int) -> tuple[tuple[str, float], ...]:
    """Each numbered change's kind, and how far down its document it is."""
    found = [("replace", 0.0)] * total
    stack = [root]
    while stack:
        place = stack.pop()
        stack += place.inside
        if place.op is None or not place.count:
            continue
        slot = place.b or place.a
        down = slot[2] / max(1, len(slot[0])) if slot is not None else 0.0
        found[place.first] = place.op.op, down
        if place.also is not None and place.first + 1 < total:
            found[place.first + 1] = place.also.op, down
    return tuple(found)


class _Alignment:
    """Maps the elements of an array between both documents, from those removed, added and moved."""

    def __init__(self, removed: list[int], added: list[int], moved: dict[int, int]) -> None:
        self._gone = sorted({*removed, *moved})
        self._come = sorted({*added, *moved.values()})
        self._moved = moved
        self._back = {new: old for old, new in moved.items()}

    def to_b(self, at: int) -> int:
        """Where the old element ``at`` is now."""
        return self._moved[at] if at in self._moved else _beyond(self._come, at - bisect_left(self._gone, at))

    def to_a(self, at: int) -> int:
        """Where the new element ``at`` was."""
        return self._back[at] if at in self._back else _beyond(self._gone, at - bisect_left(self._come, at))


def _beyond(skipped: list[int], rank: int) -> int:
    """The position that has ``rank`` others before it that are not in ``skipped`` (sorted)."""
    low, high = 0, len(skipped)
    while low < high:
        middle = (low + high) // 2
        if skipped[middle] - middle <= rank:
            low = middle + 1
        else:
            high = middle
    return rank + low


def plan(
    a: bytes,
    b: bytes,
    diff: Diff,
    checkpoint: Checkpoint = no_checkpoint,
    hides: Callable[[Operation], bool] | None = None,
) -> Plan:
    """Group the operations of a diff by place. Takes time: run it in a task."""
    places = _Places(diff)
    shown: list[Operation] = []
    for done, op in enumerate(diff.operations):
        if done % 1000 == 0:
            checkpoint(done, len(diff.operations))
        if hides is not None and hides(op):
            places.take(-1, op)
        else:
            places.take(len(shown), op)
            shown.append(op)
    root = places.root
    unchanged = _locate(root, (a, OBJECT, 0, len(a)), (b, OBJECT, 0, len(b)), checkpoint)
    if root.op is not None and not isinstance(root.op, Reorder):
        unchanged = 0  # a document that differs as a whole has no unchanged parts
    hidden = len(diff.operations) - len(shown)
    counts = dict(Counter(op.op for op in shown))
    marks = _marks(root, len(shown))
    return Plan(a, b, root, tuple(shown), counts, unchanged, diff.coarse, hidden, marks)


class _Places:
    """Builds places from operations in document order."""

    def __init__(self, diff: Diff) -> None:
        self.root = Place((), ())
        self._open = [self.root]  # the places from the root down to the last operation's
        self._removed: dict[Path, list[int]] = defaultdict(list)  # by the array's path in the old document
        self._added: dict[Path, list[int]] = defaultdict(list)  # by the array's path in the new document
        self._moved: dict[Path, dict[int, int]] = defaultdict(dict)
        self._alignments: dict[Path, _Alignment] = {}
        for op in diff.operations:
            last = op.path[-1] if op.path else ""
            if not isinstance(last, int):
                continue
            if isinstance(op, Remove):
                self._removed[op.path[:-1]].append(last)
            elif isinstance(op, Add):
                self._added[op.path[:-1]].append(last)
            elif isinstance(op, Move):
                to = op.to_path[-1]
                assert isinstance(to, int)
                self._moved[op.path[:-1]][last] = to

    def take(self, number: int, op: Operation) -> None:
        """Add an operation at its place; the number -1 marks it as hidden."""
        steps = op.path
        both = None if isinstance(op, Add | Remove) else op.to_path
        depth = 0
        while depth < len(steps):
            here = self._open[depth]
            step, last = steps[depth], depth == len(steps) - 1
            known = (here.by_b if isinstance(op, Add) else here.by_a).get(step)
            if known is None or (last and isinstance(op, Add | Remove)):
                known = self._enter(here, op, step, None if both is None else both[depth], last)
            if len(self._open) <= depth + 1 or self._open[depth + 1] is not known:
                del self._open[depth + 1 :]
                self._open.append(known)
            depth += 1
        del self._open[depth + 1 :]
        if self._open[depth].op is None:
            self._open[depth].op = op
        else:
            self._open[depth].also = op
        if number < 0:
            return
        for place in self._open:
            if not place.count:
                place.first = number
            place.count += 1

    def _enter(self, here: Place, op: Operation, step: str | int, other: str | int | None, last: bool) -> Place:
        here.hold()
        if last and isinstance(op, Remove):
            made = Place((*here.path_a, step), ())
            here.by_a[step] = made
        elif last and isinstance(op, Add):
            made = Place((), (*here.path_b, step))
            here.by_b[step] = made
        else:
            in_a, in_b = step, other
            if in_b is None:
                in_a, in_b = self._paired(here, step, isinstance(op, Add))
            made = Place((*here.path_a, in_a), (*here.path_b, in_b))
            here.by_a[in_a] = here.by_b[in_b] = made
        here.inside.append(made)
        return made

    def _paired(self, here: Place, step: str | int, new: bool) -> tuple[str | int, str | int]:
        """The position of a field or element in each document; ``step`` is its position in the new or the old one."""
        if isinstance(step, str):
            return step, step
        found = self._alignments.get(here.path_a)
        if found is None:
            found = self._alignments[here.path_a] = _Alignment(
                self._removed[here.path_a], self._added[here.path_b], self._moved[here.path_a]
            )
        return (found.to_a(step), step) if new else (step, found.to_b(step))


def _locate(root: Place, a: Slot, b: Slot, checkpoint: Checkpoint) -> int:
    """Find all containers with changes inside in both documents; returns the number of unchanged places in them."""
    unchanged = seen = 0
    root.a, root.b = a, b
    stack = [root]
    while stack:
        place = stack.pop()
        seen += 1
        if seen % 1000 == 0:
            checkpoint(seen, None)
        assert place.a is not None
        assert place.b is not None
        place.size_a = _walk(place.a, place.by_a, False)
        place.size_b = _walk(place.b, place.by_b, True)
        unchanged += place.unchanged
        stack.extend(inner for inner in place.inside if inner.inside or inner.reorder)
    return unchanged


def _walk(slot: Slot, wanted: dict[str | int, Place], new: bool) -> int:
    """Count the fields or elements of a container, and set the slots of the places inside."""
    raw, kind, start, _ = slot
    names: dict[bytes | int, Place]
    if kind == ARRAY:
        names = {step: place for step, place in wanted.items() if isinstance(step, int)}
    else:
        names = {canonical.name_bytes(step): place for step, place in wanted.items() if isinstance(step, str)}
    count = -1
    for count, (name, inner, begin, end) in enumerate(canonical.elements(raw, start)):
        place = names.get(count if kind == ARRAY else name)
        if place is None:
            continue
        if new:
            place.b, place.at_b = (raw, inner, begin, end), count
        else:
            place.a, place.at_a = (raw, inner, begin, end), count
    return count + 1
