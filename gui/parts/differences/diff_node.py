"""The rows of a comparison: changes are there at once, everything else is fetched when looked at.

:class:`DiffNode` is one row. Its children come from an iterator in chunks, so a container of a million elements costs
no more than the part that is scrolled through. Values stay slices of the two documents until they are drawn.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain, islice, zip_longest
from typing import TypeAlias

from gui.language import translated
from gui.parts.differences.diff_grouping import Place, Plan, Slot
from model import text
from model.diff import Add, Move, Operation, Remove, Reorder
from model.errors import Refused
from model.values import canonical
from model.values.canonical import ARRAY, OBJECT, Path, Value

CHUNK = 100
RUN = 400  # unchanged neighbours that are listed one by one when everything is shown


class DiffNode:
    """One row.

    ``kind`` is ``change``, ``hidden`` (a change that is not counted), ``parent`` (changes inside), ``same``, ``inside``
    (part of a changed value), ``fold`` or ``broken`` (nothing after it can be read).
    """

    def __init__(
        self,
        parent: DiffNode | None,
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
        self.count = 0  # the number of rows in a fold
        self.path_a, self.path_b = path_a, path_b
        self.a, self.b = a, b
        self.place = place
        self.tint = tint  # the operation that the value is a part of
        self.kids: list[DiffNode] = []
        self.cells: dict[int, object] = {}  # the cells drawn last, by column
        self._more: Iterator[DiffNode] | None = None

    @property
    def op(self) -> Operation | None:
        """The operation of this row."""
        return self.place.op if self.place is not None else None

    @property
    def is_hidden(self) -> bool:
        """Whether the change here is hidden."""
        return self.kind == "hidden" or (self.kind == "inside" and self.parent is not None and self.parent.is_hidden)

    @property
    def path(self) -> Path:
        """The path in the new document; for a removed field, in the old one."""
        return self.path_b if self.path_b is not None else self.path_a or ()

    @property
    def has_kids(self) -> bool:
        """Whether it has children."""
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
        """Whether it is expanded from the start: it has changes inside."""
        return self.kind != "fold" and self.place is not None and bool(self.place.inside) and bool(self.place.count)

    @property
    def more(self) -> bool:
        """Whether more children may come."""
        return self._more is not None

    def begin(self, children: Iterator[DiffNode]) -> None:
        """Set the source of the children."""
        self._more = children

    def peek(self, most: int = CHUNK) -> list[DiffNode]:
        """The next children, which are not in ``kids`` yet."""
        if self._more is None:
            return []
        found: list[DiffNode] = []
        try:
            found.extend(islice(self._more, most))
        except Refused as error:  # invalid BSON: the children before it stay, a last row says why
            found.append(DiffNode(self, "broken", translated(str(error)), None, None, None, None))
            self._more = None
        else:
            if len(found) < most:
                self._more = None
        return found

    def add(self, found: list[DiffNode]) -> None:
        """Add the children that :meth:`peek` returned."""
        for node in found:
            node.at = len(self.kids)
            self.kids.append(node)

    def value(self, side: str) -> Value | None:
        """The value in the old (``a``) or the new (``b``) document; None if it is absent."""
        slot = self.a if side == "a" else self.b
        if slot is None:
            return None
        raw, kind, start, end = slot
        return Value(kind, raw[start:end])


def open_root(ready: Plan, only_changes: bool) -> DiffNode:
    """The invisible row above all others."""
    root = DiffNode(None, "root", "", (), (), ready.root.a, ready.root.b, ready.root)
    root.begin(_root_rows(root, ready, only_changes))
    return root


def _root_rows(root: DiffNode, ready: Plan, only_changes: bool) -> Iterator[DiffNode]:
    if isinstance(ready.root.op, Reorder):  # the document's own fields were reordered; this is never hidden
        order = Place((), (), ready.root.op, None, 0, 1)
        yield DiffNode(root, "change", "", (), (), None, None, order)
    elif ready.root.op is not None:  # with a duplicate name nobody knows which field became which
        whole = Place((), (), ready.root.op, None, 0, 1, a=ready.root.a, b=ready.root.b)
        yield _place_node(root, whole, 0)
        return
    if only_changes:
        yield from _changed_rows(root, ready.root)
        if ready.unchanged:
            fold = DiffNode(root, "fold", "", None, None, None, None)
            fold.count = ready.unchanged
            fold.begin(_unchanged_rows(fold, ready.root))
            yield fold
    else:
        yield from _all_rows(root)


def kids_of(node: DiffNode, only_changes: bool) -> Iterator[DiffNode]:
    """The children of any row except a fold."""
    if node.place is not None and node.place.inside:
        return _changed_rows(node, node.place) if only_changes else _all_rows(node)
    return _inner_rows(node)


def _changed_rows(parent: DiffNode, place: Place) -> Iterator[DiffNode]:
    """The rows of the shown changes inside a place; a single change deep down is one row."""
    for kid in place.inside:
        if not kid.count:
            continue
        end = kid
        while end.op is None and (only := _lone(end)) is not None and not _keeps_row(end, only):
            end = only
        yield _place_node(parent, end, len(place.path_b if end.path_b else place.path_a))


def _lone(place: Place) -> Place | None:
    """The only place inside that has changes to show."""
    shown = list(islice((kid for kid in place.inside if kid.count), 2))
    return shown[0] if len(shown) == 1 else None


def _keeps_row(place: Place, only: Place) -> bool:
    # An added, removed or moved element says more below its array, which shows its old and new size.
    return place.is_array and isinstance(only.op, Add | Remove | Move)


def _place_node(parent: DiffNode, place: Place, depth: int) -> DiffNode:
    op = place.op
    path = place.path_b or place.path_a
    a, b = place.a, place.b
    in_a = None if isinstance(op, Add) else place.path_a
    in_b = None if isinstance(op, Remove) else place.path_b
    kind = "parent" if op is None else "change" if place.count else "hidden"
    tint = "" if op is None or place.inside or isinstance(op, Reorder) or not place.count else op.op
    return DiffNode(parent, kind, text.path_text(path[depth:]), in_a, in_b, a, b, place, tint)


def _unchanged_rows(fold: DiffNode, place: Place) -> Iterator[DiffNode]:
    """The rows of all that is equal in both documents, each at the highest possible level, in document order."""
    stack = [_pairs(place)]
    while stack:
        found = next(stack[-1], None)
        if found is None:
            stack.pop()
            continue
        path_a, path_b, a, b, known = found
        if known is None:
            yield DiffNode(fold, "same", text.path_text(path_b or ()), path_a, path_b, a, b)
        elif known.inside or known.reorder:
            stack.append(_pairs(known))


def _all_rows(parent: DiffNode) -> Iterator[DiffNode]:
    """All fields or elements of a place with changes inside, in order.

    Fields between two changes are counted by the positions of the changes; they are not walked, however many there
    are.
    """
    place = parent.place
    assert place is not None
    assert place.b is not None
    if place.reorder is not None:
        for path_a, path_b, a, b, known in _pairs(place):
            if known is not None:
                yield _place_node(parent, known, len(known.path_b or known.path_a) - 1)
            else:
                yield DiffNode(parent, "same", text.path_text((path_b or ())[-1:]), path_a, path_b, a, b)
        return
    left = sorted(inner.at_a for inner in place.inside if isinstance(inner.op, Move))
    cursor = _Cursor(place.b)
    stayed = gone = come = 0
    for inner in place.inside:
        removed, new = isinstance(inner.op, Remove), isinstance(inner.op, Add | Move)
        rank = inner.at_a - gone - bisect_left(left, inner.at_a) if removed else inner.at_b - come
        if rank > stayed:
            yield from _run(parent, cursor, rank - stayed)
            stayed = rank
        gone, come, stayed = gone + removed, come + new, stayed + (not removed and not new)
        if inner.b is not None:
            cursor.skip(inner.b)
        yield _place_node(parent, inner, len(inner.path_b or inner.path_a) - 1)
    yield from _run(parent, cursor, place.size_b - cursor.ordinal)


class _Cursor:
    """A position between two fields or elements of a container."""

    def __init__(self, slot: Slot, offset: int = 0, ordinal: int = 0) -> None:
        self.slot, self.offset, self.ordinal = slot, offset or slot[2] + 4, ordinal

    def skip(self, slot: Slot) -> None:
        """Move past a value."""
        self.offset, self.ordinal = slot[3], self.ordinal + 1

    def take(self, count: int) -> Iterator[tuple[str | int, Slot]]:
        """The next ``count`` values."""
        raw, kind, _, end = self.slot
        for _ in range(count):
            if self.offset >= end - 1:
                return
            name_end = raw.index(0, self.offset + 1)
            inner, stop = raw[self.offset], canonical.element_end(raw, raw[self.offset], name_end + 1)
            step = self.ordinal if kind == ARRAY else canonical.name_of(raw[self.offset + 1 : name_end])
            self.offset, self.ordinal = stop, self.ordinal + 1
            yield step, (raw, inner, name_end + 1, stop)


def _run(parent: DiffNode, cursor: _Cursor, count: int) -> Iterator[DiffNode]:
    """Unchanged neighbours; most of a long run is folded."""
    if count <= RUN:
        yield from _same(parent, parent, cursor, count)
        return
    yield from _same(parent, parent, cursor, RUN // 4)
    fold = DiffNode(parent, "fold", "", None, None, None, None)
    fold.count = count - RUN // 4
    fold.begin(_same(fold, parent, _Cursor(cursor.slot, cursor.offset, cursor.ordinal), fold.count))
    cursor.ordinal += fold.count  # its position in the document is known again at the next change
    yield fold


def _same(above: DiffNode, owner: DiffNode, cursor: _Cursor, count: int) -> Iterator[DiffNode]:
    place = owner.place
    assert place is not None
    for step, slot in cursor.take(count):
        path_a = (*place.path_a, step) if isinstance(step, str) else None
        yield DiffNode(above, "same", text.path_text((step,)), path_a, (*place.path_b, step), slot, slot)


_Row: TypeAlias = tuple[Path | None, Path | None, Slot | None, Slot | None, Place | None]
_Pair: TypeAlias = tuple[str | int, Slot | None, Slot | None]  # a step with its old and its new value


def _pairs(place: Place) -> Iterator[_Row]:
    """The fields or elements of a place in both documents, side by side, with the known changes."""
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
    """The fields in the order of the new document, followed by the removed ones."""
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


def _inner_rows(node: DiffNode) -> Iterator[DiffNode]:
    """The fields of a value that was added, removed or replaced as a whole, or is equal in both documents."""
    kind = "same" if node.kind == "same" else "inside"
    for step, a, b in _inner_pairs(node):
        yield _inner(node, kind, text.path_text((step,)), step, a, b)


def _inner_pairs(node: DiffNode) -> Iterator[_Pair]:
    a, b = (_container(slot) for slot in (node.a, node.b))
    if a is None or b is None or a[1] != b[1]:
        return chain(_alone(a), ((step, new, old) for step, old, new in _alone(b)))
    if node.kind == "same" or isinstance(node.op, Move):
        return ((step, x, y) for (step, x), (_, y) in zip(_steps(a), _steps(b), strict=False))
    return _by_position(a, b) if a[1] == ARRAY else _by_name(a, b)


def _container(slot: Slot | None) -> Slot | None:
    return slot if slot is not None and slot[1] in (OBJECT, ARRAY) else None


def _alone(slot: Slot | None) -> Iterator[_Pair]:
    """The fields of a container that has no counterpart."""
    if slot is not None:
        for step, inner in _steps(slot):
            yield step, inner, None


def _by_position(a: Slot, b: Slot) -> Iterator[_Pair]:
    for x, y in zip_longest(_steps(a), _steps(b)):
        yield (x or y)[0], x and x[1], y and y[1]


def _by_name(a: Slot, b: Slot) -> Iterator[_Pair]:
    """The fields of the old document, each beside the new one with its name, followed by the new ones."""
    right: dict[str | int, list[Slot]] = {}  # a name can occur more than once
    for step, slot in _steps(b):
        right.setdefault(step, []).append(slot)
    for step, slot in _steps(a):
        there = right.get(step)
        yield step, slot, there.pop(0) if there else None
    for step, rest in right.items():
        for new in rest:
            yield step, None, new


def _inner(node: DiffNode, kind: str, label: str, step: str | int, a: Slot | None, b: Slot | None) -> DiffNode:
    path_a = None if a is None or node.path_a is None else (*node.path_a, step)
    path_b = None if b is None or node.path_b is None else (*node.path_b, step)
    return DiffNode(node, kind, label, path_a, path_b, a, b, None, node.tint)
