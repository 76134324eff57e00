"""What a comparison shows, as a tree: changed places from the operations, everything else fetched when it is looked at.

:func:`plan` runs in a task: it groups the operations by the containers that they are in, and walks only these.
:class:`Node` is one row. Its children come out of an iterator in chunks, so a container of a million elements costs
no more than what is scrolled through. Values stay slices of the two documents until they are drawn.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

from model import canonical, text
from model.canonical import ARRAY, OBJECT, Path, Value
from model.diff import Add, Diff, Move, Operation, Remove, Reorder
from model.records import Checkpoint, no_checkpoint

CHUNK = 256

Slot: TypeAlias = tuple[bytes, int, int, int]
"""A value where it lies: the document, its type, where its payload begins and ends."""


@dataclass(eq=False, slots=True)
class Place:
    """A place that changed or has changes inside. ``first`` and ``count`` number the operations in it, in order."""

    path_a: Path
    path_b: Path
    op: Operation | None = None
    also: Operation | None = None  # what else happened to an element that moved
    first: int = 0
    count: int = 0
    inside: list[Place] = field(default_factory=list)
    a: Slot | None = None
    b: Slot | None = None
    size_a: int = 0
    size_b: int = 0
    # Names or positions of the places inside, in each document.
    by_a: dict[str | int, Place] = field(default_factory=dict)
    by_b: dict[str | int, Place] = field(default_factory=dict)

    @property
    def is_array(self) -> bool:
        """Whether what is inside are elements."""
        slot = self.b or self.a
        return slot is not None and slot[1] == ARRAY

    @property
    def reorder(self) -> Reorder | None:
        """The operation that put its fields in another order."""
        return next((op for op in (self.op, self.also) if isinstance(op, Reorder)), None)

    @property
    def unchanged(self) -> int:
        """How many of its own fields or elements are the same in both documents."""
        return self.size_b - len(self.by_b)


@dataclass(frozen=True)
class Plan:
    """A comparison that is ready to be shown."""

    a: bytes
    b: bytes
    root: Place
    changes: tuple[Operation, ...]
    unchanged: int
    coarse: bool


class _Alignment:
    """Which element of an array became which, from what was removed, added and moved in it."""

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
    """The position with ``rank`` others before it that are not in ``skipped`` (in order)."""
    low, high = 0, len(skipped)
    while low < high:
        middle = (low + high) // 2
        if skipped[middle] - middle <= rank:
            low = middle + 1
        else:
            high = middle
    return rank + low


def plan(a: bytes, b: bytes, diff: Diff, checkpoint: Checkpoint = no_checkpoint) -> Plan:
    """Group the operations of a diff by where they are; takes time, so it is for a task."""
    places = _Places(diff)
    for number, op in enumerate(diff.operations):
        if number % 1000 == 0:
            checkpoint(number, len(diff.operations))
        places.take(number, op)
    root = places.root
    unchanged = _locate(root, (a, OBJECT, 0, len(a)), (b, OBJECT, 0, len(b)), checkpoint)
    return Plan(a, b, root, diff.operations, unchanged, diff.coarse)


class _Places:
    """Builds the places out of operations, which come in document order."""

    def __init__(self, diff: Diff) -> None:
        self.root = Place((), ())
        self._open = [self.root]  # from the root to the place of the last operation
        self._removed: dict[Path, list[int]] = defaultdict(list)  # by the array's path in the old document
        self._added: dict[Path, list[int]] = defaultdict(list)  # in the new one
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
        """Enter one operation at its place."""
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
        for place in self._open:
            if not place.count:
                place.first = number
            place.count += 1

    def _enter(self, here: Place, op: Operation, step: str | int, other: str | int | None, last: bool) -> Place:
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
        """The same field or element in both documents; ``step`` is of the new one or of the old one."""
        if isinstance(step, str):
            return step, step
        found = self._alignments.get(here.path_a)
        if found is None:
            found = self._alignments[here.path_a] = _Alignment(
                self._removed[here.path_a], self._added[here.path_b], self._moved[here.path_a]
            )
        return (found.to_a(step), step) if new else (step, found.to_b(step))


def _locate(root: Place, a: Slot, b: Slot, checkpoint: Checkpoint) -> int:
    """Find every container with changes inside in both documents; returns how many places in them are unchanged."""
    unchanged = 0
    root.a, root.b = a, b
    stack = [root]
    while stack:
        place = stack.pop()
        checkpoint(0, None)
        assert place.a is not None
        assert place.b is not None
        place.size_a = _walk(place.a, place.by_a, "a")
        place.size_b = _walk(place.b, place.by_b, "b")
        unchanged += place.unchanged
        stack.extend(inner for inner in place.inside if inner.inside or inner.reorder)
    return unchanged


def _walk(slot: Slot, wanted: dict[str | int, Place], side: str) -> int:
    """Count what a container holds, and give the places inside their slots."""
    raw, kind, start, _ = slot
    names: dict[bytes | int, Place]
    if kind == ARRAY:
        names = {step: place for step, place in wanted.items() if isinstance(step, int)}
    else:
        names = {canonical.name_bytes(step): place for step, place in wanted.items() if isinstance(step, str)}
    count = -1
    for count, (name, inner, begin, end) in enumerate(canonical.elements(raw, start)):
        place = names.get(count if kind == ARRAY else name)
        if place is not None:
            setattr(place, side, (raw, inner, begin, end))
    return count + 1


class Node:
    """One row.

    ``kind`` is ``change``, ``parent`` (changes inside), ``same``, ``inside`` (part of a changed value) or ``fold``.
    """

    def __init__(
        self,
        parent: Node | None,
        kind: str,
        label: str,
        path_a: Path | None,
        path_b: Path | None,
        a: Slot | None,
        b: Slot | None,
        place: Place | None = None,
        tint: str = "",
    ) -> None:
        self.parent, self.kind, self.label = parent, kind, label
        self.at = -1
        self.path_a, self.path_b = path_a, path_b
        self.a, self.b = a, b
        self.place = place
        self.tint = tint  # the operation that the whole value is part of
        self.kids: list[Node] = []
        self.cells: dict[int, object] = {}  # what was drawn last, by column
        self._more: Iterator[Node] | None = None

    @property
    def op(self) -> Operation | None:
        """The operation of this row."""
        return self.place.op if self.place is not None else None

    @property
    def path(self) -> Path:
        """Where it is in the new document, or was in the old one."""
        return self.path_b if self.path_b is not None else self.path_a or ()

    @property
    def has_kids(self) -> bool:
        """Whether there is something inside."""
        if self.kind == "fold":
            return True
        if self.place is not None and self.place.inside:
            return True
        if self.place is not None and self.place.reorder:
            return False
        sides = [slot for slot in (self.a, self.b) if slot is not None]
        return any(kind in (OBJECT, ARRAY) and end - start > 5 for _, kind, start, end in sides)

    @property
    def opens(self) -> bool:
        """Whether it is open from the start: changes stand inside."""
        return self.kind != "fold" and self.place is not None and bool(self.place.inside)

    @property
    def more(self) -> bool:
        """Whether children may still come."""
        return self._more is not None

    def begin(self, children: Iterator[Node]) -> None:
        """Set where the children come from."""
        self._more = children

    def peek(self, most: int = CHUNK) -> list[Node]:
        """The next children, not yet among ``kids``."""
        if self._more is None:
            return []
        found = list(islice(self._more, most))
        if len(found) < most:
            self._more = None
        return found

    def add(self, found: list[Node]) -> None:
        """Take in what :meth:`peek` gave."""
        for node in found:
            node.at = len(self.kids)
            self.kids.append(node)

    def value(self, side: str) -> Value | None:
        """The value in the old (``a``) or the new (``b``) document; None where it is absent."""
        slot = self.a if side == "a" else self.b
        if slot is None:
            return None
        raw, kind, start, end = slot
        return Value(kind, raw[start:end])


def open_root(ready: Plan, only_changes: bool) -> Node:
    """The invisible row above all others."""
    root = Node(None, "root", "", (), (), ready.root.a, ready.root.b, ready.root)
    root.begin(_root_rows(root, ready, only_changes))
    return root


def _root_rows(root: Node, ready: Plan, only_changes: bool) -> Iterator[Node]:
    if ready.root.op is not None:  # the document's own fields stand in another order
        order = Place((), (), ready.root.op, None, 0, 1)
        yield Node(root, "change", "", (), (), None, None, order)
    if only_changes:
        yield from _changed_rows(root, ready.root)
        if ready.unchanged:
            fold = Node(root, "fold", "", None, None, None, None)
            fold.begin(_unchanged_rows(fold, ready.root))
            yield fold
    else:
        yield from _all_rows(root)


def kids_of(node: Node, only_changes: bool) -> Iterator[Node]:
    """The children of any row but a fold."""
    if node.place is not None and node.place.inside:
        return _changed_rows(node, node.place) if only_changes else _all_rows(node)
    return _inner_rows(node)


def _changed_rows(parent: Node, place: Place) -> Iterator[Node]:
    """What changed inside a place; a lone change deep down is one row."""
    for kid in place.inside:
        end = kid
        while len(end.inside) == 1 and end.op is None and not _keeps_row(end):
            end = end.inside[0]
        yield _place_node(parent, end, len(place.path_b if end.path_b else place.path_a))


def _keeps_row(place: Place) -> bool:
    # An element that came, went or moved says more under its array, with how many there were and are.
    return place.is_array and isinstance(place.inside[0].op, Add | Remove | Move)


def _place_node(parent: Node, place: Place, depth: int) -> Node:
    op = place.op
    path = place.path_b or place.path_a
    a, b = place.a, place.b
    in_a = None if isinstance(op, Add) else place.path_a
    in_b = None if isinstance(op, Remove) else place.path_b
    kind = "change" if op is not None else "parent"
    tint = "" if op is None or place.inside or isinstance(op, Reorder) else op.op
    return Node(parent, kind, text.path_text(path[depth:]), in_a, in_b, a, b, place, tint)


def _unchanged_rows(fold: Node, place: Place) -> Iterator[Node]:
    """Everything that is the same in both, at the highest level at which it is."""
    stack = [place]
    while stack:
        here = stack.pop()
        assert here.b is not None
        for path_a, path_b, a, b, known in _pairs(here):
            if known is None:
                yield Node(fold, "same", text.path_text(path_b or ()), path_a, path_b, a, b)
        stack.extend(inner for inner in reversed(here.inside) if inner.inside or inner.reorder)


def _all_rows(parent: Node) -> Iterator[Node]:
    """All fields or elements of a place that has changes inside, in order."""
    place = parent.place
    assert place is not None
    depth = len(place.path_b)
    for path_a, path_b, a, b, known in _pairs(place):
        if known is not None:
            yield _place_node(parent, known, len(known.path_b or known.path_a) - 1)
        else:
            yield Node(parent, "same", text.path_text((path_b or ())[depth:]), path_a, path_b, a, b)


_Row: TypeAlias = tuple[Path | None, Path | None, Slot | None, Slot | None, Place | None]


def _pairs(place: Place) -> Iterator[_Row]:
    """The fields or elements of a place in both documents side by side, with what is known to have changed."""
    assert place.a is not None
    assert place.b is not None
    if place.reorder:
        yield from _reordered(place, place.a, place.b)
        return
    left, right = _steps(place.a), _steps(place.b)
    x, y = next(left, None), next(right, None)
    while x is not None or y is not None:
        if x is not None:
            gone = place.by_a.get(x[0])
            if gone is not None and isinstance(gone.op, Remove | Move):
                if isinstance(gone.op, Remove):
                    yield gone.path_a, None, x[1], None, gone
                x = next(left, None)
                continue
        if y is None:
            break
        known = place.by_b.get(y[0])
        if known is not None and isinstance(known.op, Add | Move):
            yield known.path_a, known.path_b, known.a, y[1], known
            y = next(right, None)
            continue
        if x is None:
            break
        yield (*place.path_a, x[0]), (*place.path_b, y[0]), x[1], y[1], known
        x, y = next(left, None), next(right, None)


def _reordered(place: Place, a: Slot, b: Slot) -> Iterator[_Row]:
    """As the new document has them; what was removed follows."""
    there = dict(_steps(a))
    for step, slot in _steps(b):
        known = place.by_b.get(step)
        yield (*place.path_a, step), (*place.path_b, step), there.get(step), slot, known
    for step, gone in place.by_a.items():
        if isinstance(gone.op, Remove):
            yield gone.path_a, None, there.get(step), None, gone


def _steps(slot: Slot) -> Iterator[tuple[str | int, Slot]]:
    raw, kind, start, _ = slot
    for at, (name, inner, begin, end) in enumerate(canonical.elements(raw, start)):
        yield (at if kind == ARRAY else canonical.name_of(name)), (raw, inner, begin, end)


def _inner_rows(node: Node) -> Iterator[Node]:
    """The fields of a value that was added, removed or replaced as a whole, or that is the same in both."""
    kind = "same" if node.kind == "same" else "inside"
    containers = [slot is not None and slot[1] in (OBJECT, ARRAY) for slot in (node.a, node.b)]
    label: Callable[[str | int], str] = lambda step: text.path_text((step,))  # noqa: E731
    if all(containers) and node.kind != "same" and not isinstance(node.op, Move):
        left = list(_steps(node.a)) if node.a is not None else []
        right = dict(_steps(node.b)) if node.b is not None else {}
        for step, slot in left:
            yield _inner(node, kind, label(step), step, slot, right.pop(step, None))
        for step, new in right.items():
            yield _inner(node, kind, label(step), step, None, new)
        return
    if all(containers) and node.a is not None and node.b is not None:
        for (step, x), (_, y) in zip(_steps(node.a), _steps(node.b), strict=False):
            yield _inner(node, kind, label(step), step, x, y)
        return
    for is_container, whole, side in zip(containers, (node.a, node.b), "ab", strict=True):
        if is_container and whole is not None:
            for step, inner in _steps(whole):
                yield _inner(node, kind, label(step), step, *((inner, None) if side == "a" else (None, inner)))


def _inner(node: Node, kind: str, label: str, step: str | int, a: Slot | None, b: Slot | None) -> Node:
    path_a = None if a is None or node.path_a is None else (*node.path_a, step)
    path_b = None if b is None or node.path_b is None else (*node.path_b, step)
    return Node(node, kind, label, path_a, path_b, a, b, None, node.tint)
