"""Three arrays: which elements are the same, which are new, and whether that is certain enough to merge.

Elements become numbers: the base's are 0, 1, 2 …, new ones of mine and theirs follow, the same number where both
added the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from model import canonical as c
from model.canonical import Value
from model.differences.arrays import increasing
from model.differences.elements import Elements, trim
from model.differences.matching import Identity, identity, match
from model.merging.plan import Container, Key, Side, Stretch, Three
from model.notation.scalars import double, string_of


class Element(NamedTuple):
    """An element to merge, its step in a path, and what each side has."""

    key: Key
    step: int
    base: Side
    mine: Side
    theirs: Side
    whole: bool = False  # another element in the same place: not merged by what is inside


class Insertion(NamedTuple):
    """Different elements put at one place by both sides, as arrays; ``both`` is mine followed by theirs."""

    key: Key
    step: int
    mine: Value
    theirs: Value
    both: Value


@dataclass
class _Side:
    """One side's array: its elements as numbers."""

    numbers: list[int]
    unsure: set[int]  # of the base
    where: dict[int, int]  # base number -> position here
    apart: set[int]  # of the base: nothing in common with what is here

    def gaps(self, count: int) -> dict[int, list[int]]:
        """New elements by the base element that they stand behind (-1: in front), as positions here."""
        found: dict[int, list[int]] = {}
        after = -1
        for position, number in enumerate(self.numbers):
            if number < count:
                after = number
            else:
                found.setdefault(after, []).append(position)
        return found


class ArrayMerge:
    """``unclear``: both changed it so that it cannot be told what became of what; then nothing else holds."""

    def __init__(self, three: Three, lists: Sequence[Elements], keys: Sequence[bytes]) -> None:
        self.three, self.lists, self.keys = three, lists, keys
        self.base, self.mine, self.theirs = (
            [Stretch(top.raw, top.side, kind, a, b) for _, kind, a, b in found]
            for top, found in zip(three.tops, lists, strict=True)
        )
        self.elements: list[Element] = []
        self.insertions: list[Insertion] = []
        self.conflicts: list[tuple[int, list[int], list[int]]] = []
        self.shown: dict[str, Value] = {}
        self.reordered = False
        count = len(self.base)
        same = len(self.mine) == len(self.theirs) and all(map(three.same, self.mine, self.theirs))
        self.left = self.side(1)
        self.right = self.left if same else self.side(2)
        self.unclear = not same and self.clashing()
        self.container = Container(c.ARRAY)
        if self.unclear:
            return
        self.unify(count, same)
        self.number(count)
        self.orders(count)

    def side(self, which: int) -> _Side:
        """Number the elements of mine (1) or theirs (2)."""
        left, right = self.lists[0], self.lists[which]
        head, tail = trim(self.three.pairs[0, which], left, right)
        found = match(left.part(head, len(left) - tail), right.part(head, len(right) - tail), self.keys)
        numbers = [-1] * len(right)
        numbers[:head] = range(head)
        for k in range(1, tail + 1):
            numbers[-k] = len(left) - k
        for j, i in found.source.items():
            numbers[head + j] = head + i
        new = len(left) + (0 if which == 1 else len(self.mine))
        for position, number in enumerate(numbers):
            if number < 0:
                numbers[position] = new + position
        where = {number: position for position, number in enumerate(numbers) if number < len(left)}
        return _Side(numbers, {head + i for i in found.unsure}, where, {head + i for i in found.apart})

    def clashing(self) -> bool:
        """Whether one side changed what the other has a guess about only."""
        for side, other, elements in ((self.left, self.right, self.theirs), (self.right, self.left, self.mine)):
            if not side.unsure:
                continue
            for i in side.unsure:
                position = other.where.get(i)
                if position is None or not self.three.same(self.base[i], elements[position]):
                    return True
            kept = [n for n in other.numbers if n < len(self.base)]
            if any(n in side.unsure for n in set(kept) - set(_steady(kept))):
                return True
            if any(after in side.unsure or after + 1 in side.unsure for after in other.gaps(len(self.base))):
                return True
        return self.doubling(self.left, self.mine, self.right, self.theirs) or self.doubling(
            self.right, self.theirs, self.left, self.mine
        )

    def doubling(self, one: _Side, mine: list[Stretch], other: _Side, theirs: list[Stretch]) -> bool:
        """Whether one side inserted what the other made of a neighbour: it would be there twice."""
        for after, inserted in one.gaps(len(self.base)).items():
            for neighbour in (after, after + 1):
                position = other.where.get(neighbour)
                if position is None or self.three.same(self.base[neighbour], theirs[position]):
                    continue
                value = theirs[position].value()
                if any(mine[p].value() == value for p in inserted):
                    return True
        return False

    def unify(self, count: int, same: bool) -> None:
        """Give what both sides added one number; note first what they put at one place and cannot both have."""
        if same:
            return
        left, right = self.left.gaps(count), self.right.gaps(count)
        for after in sorted(left.keys() & right.keys()):
            ours, others = left[after], right[after]
            pairs = list(zip(ours, others, strict=False))
            if len(ours) == len(others) and all(self.three.same(self.mine[p], self.theirs[q]) for p, q in pairs):
                for p, q in pairs:
                    self.right.numbers[q] = self.left.numbers[p]
                del left[after], right[after]
            elif not all(self.identity(1, p) for p in ours) or not all(self.identity(2, q) for q in others):
                self.conflicts.append((after, ours, others))
                del left[after], right[after]
        mine = {key: p for found in left.values() for p in found if (key := self.identity(1, p)) is not None}
        for position in [q for found in right.values() for q in found]:
            key = self.identity(2, position)
            if key in mine:
                self.right.numbers[position] = self.left.numbers[mine.pop(key)]

    def identity(self, which: int, position: int) -> Identity | None:
        side = (self.base, self.mine, self.theirs)[which]
        return identity(side[position].raw, self.lists[which][position], self.keys)

    def number(self, count: int) -> None:
        """List the elements that are merged one by one, and the insertions that wait for a person."""
        for i in range(count):
            p, q = self.left.where.get(i), self.right.where.get(i)
            mine, theirs = None if p is None else self.mine[p], None if q is None else self.theirs[q]
            whole = i in self.left.apart or i in self.right.apart
            self.elements.append(Element(i, i, self.base[i], mine, theirs, whole))
        new: dict[int, Element] = {}
        waiting = {p for _, ours, _ in self.conflicts for p in ours}
        for p, number in enumerate(self.left.numbers):
            if number >= count and p not in waiting:
                new[number] = Element(number, p, None, self.mine[p], None)
        waiting = {q for _, _, others in self.conflicts for q in others}
        for q, number in enumerate(self.right.numbers):
            if number >= count and q not in waiting:
                first = new.get(number, Element(number, q, None, None, None))
                new[number] = first._replace(theirs=self.theirs[q])
        self.elements += new.values()
        for after, ours, others in self.conflicts:
            mine_in = [self.mine[p].value() for p in ours]
            theirs_in = [self.theirs[q].value() for q in others]
            values = c.array(mine_in), c.array(theirs_in), c.array(mine_in + theirs_in)
            self.insertions.append(Insertion(("inserted", after), ours[0], *values))

    def orders(self, count: int) -> None:
        """Say in which orders the sides have the elements."""
        left, right = self.order_of(self.left.numbers, 1), self.order_of(self.right.numbers, 2)
        base = list(range(count))
        container = self.container
        container.sides = (left, right, base)
        container.rank = {i: i for i in base}
        container.weight = self.weight
        common = self.left.where.keys() & self.right.where.keys()
        container.orders = {
            name: [key for key in order if key in common]
            for name, order in (("base", base), ("mine", left), ("theirs", right))
        }
        lists = list(container.orders.values())
        self.reordered = not lists[0] == lists[1] == lists[2]
        if self.reordered:
            names = {key: self.name(int(key)) for key in common}
            self.shown = {
                side: c.array(names[key] for key in order if isinstance(key, int))
                for side, order in container.orders.items()
            }

    def order_of(self, numbers: list[int], which: int) -> list[Key]:
        """A side's order, what waits for a person as one thing."""
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
        """What an element of the base is recognised by."""
        element = self.base[number]
        key = identity(element.raw, self.lists[0][number], self.keys)
        return element.value() if key is None else Value(key[1], key[2])

    def weight(self, key: Key) -> Any:
        """Something to sort new elements at one place by that does not depend on whose they are."""
        if not isinstance(key, int):
            return (0, 0.0, b"")
        mine = key < len(self.base) + len(self.mine)
        position = key - len(self.base) - (0 if mine else len(self.mine))
        if position < 0:
            return (0, 0.0, b"")
        element = (self.mine if mine else self.theirs)[position]
        found = identity(element.raw, self.lists[1 if mine else 2][position], self.keys)
        kind, data = (element.kind, element.value().data) if found is None else found[1:]
        if kind in (c.INT32, c.INT64, c.DATE):
            return (1, float(int.from_bytes(data, "little", signed=True)), data)
        if kind == c.DOUBLE:
            return (1, double.unpack(data)[0], data)
        text = string_of(data) if kind == c.STRING else None
        return (kind + 1, 0.0, data if text is None else data[4:])


def _steady(numbers: list[int]) -> list[int]:
    """The numbers that keep their order."""
    return [j for _, j in increasing(list(enumerate(numbers)))]
