"""The merge of three arrays: their equal elements, their new ones, and whether the matches are certain enough to
merge.

Elements become numbers: the base's are 0, 1, 2 …, then come the new ones of mine and theirs. An element that both
added has one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import filterfalse
from typing import Any, NamedTuple

from model.diff.alignment import increasing
from model.diff.array_elements import Elements, trim
from model.diff.common_order import in_some_run
from model.diff.matching import Identity, Matching, identity, match
from model.diff.walk import value_at
from model.merge.merged_form import Container, Key, Side, Stretch, Three, settled
from model.text.scalars import double, string_of
from model.values import canonical as c
from model.values.canonical import Value


class MergedElement(NamedTuple):
    """An element to merge, its step in a path, and its value on each side."""

    key: Key
    step: int
    base: Side
    mine: Side
    theirs: Side
    whole: bool = False  # one side replaced it by an unrelated one: not merged field by field
    moved: bool = False  # one side removed it, the other moved it and changed nothing in it


class Insertion(NamedTuple):
    """Different elements that both sides inserted in one place, as arrays; ``both`` is mine followed by theirs."""

    key: Key
    step: int
    mine: Value
    theirs: Value
    both: Value


class _Side:
    """One side's array: its elements as numbers.

    ``where`` maps base elements to positions on this side. ``changed``, ``unsure`` and ``apart`` (nothing in common
    with this side's element) contain base elements.
    """

    def __init__(self, numbers: list[int], count: int, matching: Matching, head: int, new: list[int]) -> None:
        self.numbers, self.count = numbers, count
        self.changed = {head + matching.source[j] for j in matching.changed}
        self.unsure = {head + i for i in matching.unsure}
        self.apart = {head + i for i in matching.apart}
        self.where = dict(zip(numbers, range(len(numbers)), strict=True))
        self._gaps: dict[int, list[int]] = {}
        before, after = -1, -1
        for position in new:
            del self.where[numbers[position]]
            if position > before + 1:
                after = numbers[position - 1]
            self._gaps.setdefault(after, []).append(position)
            before = position

    def gaps(self) -> dict[int, list[int]]:
        """Positions of the new elements, by the base element before them (-1: at the start)."""
        return dict(self._gaps)


class ArrayMerge:
    """The merge of an array. If ``unclear``, elements cannot be matched after both sides' changes; all else is then
    invalid.

    ``elements`` are those that are not equal on all sides.
    """

    def __init__(self, three: Three, lists: Sequence[Elements], keys: Sequence[bytes]) -> None:
        self.three, self.lists, self.keys = three, lists, keys
        self.elements: list[MergedElement] = []
        self.insertions: list[Insertion] = []
        self.conflicts: list[tuple[int, list[int], list[int]]] = []
        self.shown: dict[str, Value] = {}
        self.reordered = False
        count = len(lists[0])
        lists[0].kept = None if lists[0].kind else lists[0].payloads()  # compared with both sides
        mine, theirs = (side.starts for side in lists[1:])
        same = three.pairs[1, 2].equal(mine[0], mine[-1], theirs[0], theirs[-1])
        self.left = self.side(1)
        # Both sides made one array: matching it twice could match it in two ways, and look like a conflict.
        self.right = self.left if same else self.side(2)
        lists[0].kept = None
        self.unclear = not same and self.clashing()
        self.container = Container(c.ARRAY, rest=lists[0])
        if self.unclear:
            return
        self.unify(same)
        self.number(count)
        self.orders(count)

    def at(self, which: int, position: int | None) -> Side:
        """An element of base (0), mine (1) or theirs (2)."""
        if position is None:
            return None
        _, kind, start, end = self.lists[which][position]
        return Stretch(self.lists[which].raw, which, kind, start, end)

    def value(self, which: int, position: int) -> Value:
        """The value of an element."""
        return value_at(self.lists[which].raw, self.lists[which][position])

    def side(self, which: int) -> _Side:
        """Number the elements of mine (1) or theirs (2)."""
        left, right = self.lists[0], self.lists[which]
        count = len(left)
        # What is equal at both ends is cut off first, because matching costs the product of the lengths.
        head, tail = trim(self.three.pairs[0, which], left, right)
        found = match(left.part(head, count - tail), right.part(head, len(right) - tail), self.keys)
        # The new elements of mine are numbered after the base's, those of theirs after mine.
        new = count + (0 if which == 1 else len(self.lists[1])) + head
        source, size = found.source, len(right) - tail - head
        added = [j for j in range(size) if j not in source] if len(source) < size else []
        middle = list(map(source.get, range(size), range(new - head, new - head + size)))
        if head:
            middle = [head + i for i in middle]
        numbers = [*range(head), *middle, *range(count - tail, count)]
        return _Side(numbers, count, found, head, [head + j for j in added])

    def clashing(self) -> bool:
        """Whether one side changed elements that the other side can only match by guessing."""
        count = len(self.lists[0])
        for side, other in ((self.left, self.right), (self.right, self.left)):
            place = other.where
            if any(place.get(i, -1) > place.get(i + 1, count) for i in side.apart if i + 1 in side.apart):
                return True  # the other side swapped the two replaced elements: matching them would be a guess
            if not side.unsure:
                continue
            if any(i in other.changed or i not in other.where for i in side.unsure):
                return True  # the other side changed or removed one of them
            kept = [n for n in other.numbers if n < count]
            if any(n in side.unsure for n in set(kept) - set(_steady(kept))):
                return True  # it moved one of them
            if any(after in side.unsure or after + 1 in side.unsure for after in other.gaps()):
                return True  # it inserted something beside one of them
        return self.doubling(1, self.left, 2, self.right) or self.doubling(2, self.right, 1, self.left)

    def doubling(self, mine: int, one: _Side, theirs: int, other: _Side) -> bool:
        """Whether one side inserted an element that the other made of a neighbour: the merge would have it twice."""
        for after, inserted in one.gaps().items():
            for neighbour in (after, after + 1):
                if neighbour in other.changed:
                    value = self.value(theirs, other.where[neighbour])
                    # One side moved text into a new element, the other rewrote the old one to it: a text diff sees two
                    # changes there.
                    if any(self.value(mine, p) == value for p in inserted):
                        return True
        return False

    def unify(self, same: bool) -> None:
        """Give an element that both sides added one number; first note insertions in one place that conflict."""
        if same:
            return
        left, right = self.left.gaps(), self.right.gaps()
        for after in sorted(left.keys() & right.keys()):
            ours, others = left[after], right[after]
            pairs = list(zip(ours, others, strict=False))
            if len(ours) == len(others) and all(self.value(1, p) == self.value(2, q) for p, q in pairs):
                for p, q in pairs:
                    self.right.numbers[q] = self.left.numbers[p]
                del left[after], right[after]
            # Without a key, nothing tells which of them belong together.
            elif not all(self.identity(1, p) for p in ours) or not all(self.identity(2, q) for q in others):
                self.conflicts.append((after, ours, others))
                del left[after], right[after]
        mine = {key: p for found in left.values() for p in found if (key := self.identity(1, p)) is not None}
        for position in [q for found in right.values() for q in found]:
            key = self.identity(2, position)
            if key in mine:
                # With an equal key they are one element, even where their other fields differ: those are merged field
                # by field.
                self.right.numbers[position] = self.left.numbers[mine.pop(key)]

    def identity(self, which: int, position: int) -> Identity | None:
        return identity(self.lists[which].raw, self.lists[which][position], self.keys)

    def number(self, count: int) -> None:
        """List the elements to merge one by one, and the insertions that need a person."""
        left, right = self.left, self.right
        touched = left.changed | right.changed
        if len(left.where) < count or len(right.where) < count:
            touched |= self.missing(count)
        moved = _moved_from(left, right) | _moved_from(right, left)
        for i in sorted(touched):
            mine, theirs = self.at(1, left.where.get(i)), self.at(2, right.where.get(i))
            whole = i in left.apart or i in right.apart
            self.elements.append(MergedElement(i, i, self.at(0, i), mine, theirs, whole, i in moved))
        new: dict[int, MergedElement] = {}
        waiting = {p for _, ours, _ in self.conflicts for p in ours}
        for p in [p for inside in left.gaps().values() for p in inside if p not in waiting]:
            number = left.numbers[p]
            new[number] = MergedElement(number, p, None, self.at(1, p), None)
        waiting = {q for _, _, others in self.conflicts for q in others}
        for q in [q for inside in right.gaps().values() for q in inside if q not in waiting]:
            number = right.numbers[q]
            first = new.get(number, MergedElement(number, q, None, None, None))
            new[number] = first._replace(theirs=self.at(2, q))
        self.elements += new.values()
        for after, ours, others in self.conflicts:
            mine_in = [self.value(1, p) for p in ours]
            theirs_in = [self.value(2, q) for q in others]
            values = c.array(mine_in), c.array(theirs_in), c.array(mine_in + theirs_in)
            self.insertions.append(Insertion(("inserted", after), ours[0], *values))

    def orders(self, count: int) -> None:
        """Compute the sides' orders of elements."""
        left, right = self.order_of(self.left.numbers, 1), self.order_of(self.right.numbers, 2)
        base: list[Key] = list(range(count))
        container = self.container
        container.sides = (left, right, base)
        container.rank = dict(zip(base, range(count), strict=True))
        container.weight = self.weight
        missing = self.missing(count)
        alone: set[Key] = {("inserted", after) for after, _, _ in self.conflicts}.union(
            missing,
            *([side.numbers[p] for p in inside] for side in (self.left, self.right) for inside in side.gaps().values()),
        )
        shared = self.shared() if alone else set()
        # Both sides agree on these, so they count for the order like elements of the base.
        alone -= shared
        container.orders = {
            name: list(filterfalse(alone.__contains__, order)) if alone else list(order)
            for name, order in (("base", base), ("mine", left), ("theirs", right))
        }
        self.reordered = not settled(container.orders)
        if self.reordered:
            names = {number: self.name(number) for number in (*range(count), *shared) if number not in missing}
            self.shown = {
                side: c.array(names[key] for key in order if isinstance(key, int))
                for side, order in container.orders.items()
            }

    def shared(self) -> set[int]:
        """The elements that both sides added and that are equal."""
        left = {self.left.numbers[p]: p for inside in self.left.gaps().values() for p in inside}
        right = ((self.right.numbers[q], q) for inside in self.right.gaps().values() for q in inside)
        return {number for number, q in right if number in left and self.same(left[number], q)}

    def same(self, position: int, other: int) -> bool:
        """Whether an element of mine equals one of theirs."""
        return self.three.same(self.at(1, position), self.at(2, other))

    def missing(self, count: int) -> set[int]:
        """The base's elements that a side lacks."""
        sides = [side.where for side in (self.left, self.right) if len(side.where) < count]
        return {key for where in sides for key in set(range(count)).difference(where)}

    def order_of(self, numbers: list[int], which: int) -> list[Key]:
        """A side's order, with each insertion that needs a person as one unit."""
        if not self.conflicts:
            return list(numbers)
        waiting = [(after, ours if which == 1 else others) for after, ours, others in self.conflicts]
        groups = {inside[0]: ("inserted", after) for after, inside in waiting}
        inside = {p for _, group in waiting for p in group}
        found: list[Key] = []
        for position, number in enumerate(numbers):
            if position in groups:
                found.append(groups[position])
            elif position not in inside:
                found.append(number)
        return found

    def name(self, number: int) -> Value:
        """The value that identifies an element, either of the base or a new one of mine."""
        count = len(self.lists[0])
        which, position = (0, number) if number < count else (1, number - count)
        key = self.identity(which, position)
        return self.value(which, position) if key is None else Value(key[1], key[2])

    def weight(self, key: Key) -> Any:
        """A sort key for new elements in one place, independent of their side."""
        if not isinstance(key, int):
            return (0, 0.0, b"")
        count, many = len(self.lists[0]), len(self.lists[1])
        if key < count:
            return (0, 0.0, b"")
        which, position = (1, key - count) if key < count + many else (2, key - count - many)
        found = self.identity(which, position)
        if found is None:
            value = self.value(which, position)
            kind, data = value.type, value.data
        else:
            kind, data = found[1:]
        # Numbers and dates sort by value, all else by type and bytes: only that both sides sort alike matters.
        if kind in (c.INT32, c.INT64, c.DATE):
            return (1, float(int.from_bytes(data, "little", signed=True)), data)
        if kind == c.DOUBLE:
            return (1, double.unpack(data)[0], data)
        text = string_of(data) if kind == c.STRING else None
        return (kind + 1, 0.0, data if text is None else data[4:])


def _moved_from(side: _Side, other: _Side) -> set[int]:
    """The base's elements that one side certainly moved and did not change, and that the other side lacks."""
    lacking = {i for i in side.where if i < side.count and i not in other.where} - side.changed
    if not lacking:
        return set()
    old = [number for number in side.numbers if number < side.count]
    return lacking - in_some_run(old)


def _steady(numbers: list[int]) -> list[int]:
    """The numbers that keep their order relative to each other."""
    return [j for _, j in increasing(list(enumerate(numbers)))]
