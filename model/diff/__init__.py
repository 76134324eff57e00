"""The diff of two documents, computed from their bytes: a list of operations of fixed kinds.

Both sides are compared without decoding. Stretches of equal bytes are skipped, and each difference becomes an
operation, so a diff is empty exactly if the bytes are equal. Laws::

    patch(a, diff(a, b)) == b          bool(diff(a, b)) == (a != b)          patch(b, diff(a, b).inverse()) == a

If both sides have at least ``LONG_TEXT`` characters and at least a third stays, a changed string is a text edit; else
it is replaced. A number that stays equal in another type, or a text that becomes a symbol or code, is a retype.
Documents with two fields of one name, and arrays whose stored positions are not 0, 1, 2 …, are replaced whole if they
differ there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import repeat
from typing import TypeAlias, cast

from model.diff.array_elements import Elements, elements, trim
from model.diff.field_changes import Difference, differences
from model.diff.matching import match
from model.diff.operations import Add, Diff, Move, Operation, Remove, Reorder, Replace, Retype, TextEdit, moves
from model.diff.patching import patch
from model.diff.text_comparison import compare, text_edits
from model.diff.walk import Pair, Span, count_of, spans, value_at
from model.text import scalars
from model.values import canonical as c
from model.values.canonical import Path, Value
from model.values.decimals import decimal_of
from model.values.kinds import NUMBERS, TEXTS

__all__ = [
    "LONG_TEXT",
    "Add",
    "Diff",
    "Move",
    "Operation",
    "Remove",
    "Reorder",
    "Replace",
    "Retype",
    "TextEdit",
    "changed_fields",
    "diff",
    "diff_values",
    "leaf_operation",
    "number_value",
    "patch",
    "same_value",
    "text_edits",
]

LONG_TEXT = 200
MANY = 100  # this many moved elements are cut out of the bytes all at once

_Link: TypeAlias = "tuple[_Link, str | int] | None"
"""A path in reverse: the last step, and a link to its parent. Deep paths share their beginnings."""

_CONTAINERS = (c.OBJECT, c.ARRAY)


def diff(a: bytes, b: bytes, keys: Sequence[str] = ("_id",)) -> Diff:
    """The operations that turn document ``a`` into document ``b``.

    ``keys`` name the fields that identify an array element that moved or changed; if there are several, the first one
    that the element has. Raises ``Unreadable`` if one document is not BSON.
    """
    if len(a) == len(b) and a == b:
        return Diff(())
    return _Differ(Pair(a, b), _encoded(tuple(keys))).run(c.OBJECT)


def diff_values(a: Value, b: Value, keys: Sequence[str] = ("_id",)) -> Diff:
    """:func:`diff` for two documents or two arrays; paths in arrays begin with a position.

    A document compared with an array is one replacement.
    """
    if a == b:
        return Diff(())
    if a.type != b.type or not a.is_container:
        return Diff((Replace((), (), a, b),))
    return _Differ(Pair(a.data, b.data), _encoded(tuple(keys))).run(a.type)


@lru_cache(maxsize=16)
def _encoded(keys: tuple[str, ...]) -> list[bytes]:
    return [c.name_bytes(key) for key in keys]


def changed_fields(a: bytes, b: bytes, keys: Sequence[str] = ("_id",)) -> int:
    """The number of operations between two documents; ``keys`` as in :func:`diff`."""
    return len(diff(a, b, keys))


def _path(link: _Link) -> Path:
    steps: list[str | int] = []
    while link is not None:
        link, step = link
        steps.append(step)
    steps.reverse()
    return tuple(steps)


_Task: TypeAlias = tuple[int, int, int, _Link, _Link]
"""Two containers to compare: their type, their offsets in both documents, their paths."""


class _Differ:
    """One comparison. Work waits on a stack, last first, so that operations come in document order."""

    def __init__(self, pair: Pair, keys: Sequence[bytes]) -> None:
        self.pair = pair
        self.keys = keys
        self.out: list[Operation] = []
        self.coarse = False
        self.below = False  # whether the last container has differences inside inner containers

    def run(self, kind: int) -> Diff:
        self.out.clear()
        # A stack instead of recursion: BSON may be nested deeper than Python calls functions.
        stack: list[Operation | _Task] = [(kind, 0, 0, None, None)]
        while stack:
            task = stack.pop()
            if not isinstance(task, tuple):
                self.out.append(task)
                continue
            kind, at, to, old, new = task
            self.below = False
            found = self.document(at, to, old, new) if kind == c.OBJECT else self.array(at, to, old, new)
            if self.below:
                # The stack gives its last item first; reversed, the operations come in document order.
                found.reverse()
                stack += found
            else:
                self.out += cast(list[Operation], found)
        return Diff(tuple(self.out), self.coarse)

    def whole(self, kind: int, at: int, to: int, old: _Link, new: _Link) -> list[Operation | _Task]:
        """Replace one container by another, if they cannot be compared in parts."""
        a, b = self.pair.a, self.pair.b
        return [
            Replace(
                _path(old),
                _path(new),
                Value(kind, a[at : c.element_end(a, kind, at)]),
                Value(kind, b[to : c.element_end(b, kind, to)]),
            )
        ]

    def document(self, at: int, to: int, old: _Link, new: _Link) -> list[Operation | _Task]:
        found: list[Operation | _Task] = []
        differing = differences(self.pair, at, to)
        if differing is not None:
            self.fields(differing, at, to, old, new, found)
            return found
        left, right = spans(self.pair.a, at), spans(self.pair.b, to)
        where = {x[0]: x for x in left}
        there = {y[0]: j for j, y in enumerate(right)}
        # With a name twice, no path says which of both is meant.
        if len(where) < len(left) or len(there) < len(right):
            return self.whole(c.OBJECT, at, to, old, new)
        if where.keys() == there.keys():
            self.reordered(left, [right[there[x[0]]] for x in left], right, old, new, found)
            return found
        self.scattered(left, right, where, there, old, new, found)
        return found

    def reordered(
        self, left: list[Span], same: list[Span], right: list[Span],
        old: _Link, new: _Link, found: list[Operation | _Task],
    ) -> None:  # fmt: skip
        """Compare documents with equal names in different orders; ``left`` and ``same`` pair the fields by name."""
        if same != right:
            path = _path(old)
            names = tuple([c.name_of(x[0]) for x in left]), tuple([c.name_of(y[0]) for y in right])
            found.append(Reorder(path, path if old is new else _path(new), *names))
        equal = self.pair.equal
        for x, y in zip(left, same, strict=True):
            if x[1] != y[1] or not equal(x[2], x[3], y[2], y[3]):
                step = (old, c.name_of(x[0]))
                self.value(x, y, step, step if old is new else (new, step[1]), found)

    def scattered(
        self, left: list[Span], right: list[Span], where: Mapping[bytes, Span], there: Mapping[bytes, int],
        old: _Link, new: _Link, found: list[Operation | _Task],
    ) -> None:  # fmt: skip
        """Compare documents with different names, whose common names may be in different orders."""
        equal, a = self.pair.equal, self.pair.a
        stay = [x[0] for x in left if x[0] in there]
        if stay != [y[0] for y in right if y[0] in where]:
            names = tuple(c.name_of(x[0]) for x in left), tuple(c.name_of(y[0]) for y in right)
            found.append(Reorder(_path(old), _path(new), *names))
        done = 0  # handled fields of the new document: additions are listed in their place
        for i, x in enumerate(left):
            j = there.get(x[0])
            if j is None:
                found.append(Remove(_path((old, c.name_of(x[0]))), value_at(a, x), i))
                continue
            while done < len(right) and right[done][0] not in where:
                self.added(right[done], done, new, found)
                done += 1
            done += j == done
            y = right[j]
            if x[1] != y[1] or not equal(x[2], x[3], y[2], y[3]):
                step = (old, c.name_of(x[0]))
                self.value(x, y, step, step if old is new else (new, step[1]), found)
        for j in range(done, len(right)):
            if right[j][0] not in where:
                self.added(right[j], j, new, found)

    def fields(
        self, differing: list[Difference], at: int, to: int, old: _Link, new: _Link, found: list[Operation | _Task]
    ) -> None:  # fmt: skip
        """Compare documents whose common fields have one order."""
        a, b = self.pair.a, self.pair.b
        i = j = 0  # the number of siblings before ``at`` and ``to``
        at, to = at + 4, to + 4
        base: Path | None = None  # both documents' paths, computed only if needed
        base_new: Path = ()
        for x, y in differing:
            if x is not None and y is not None and x[1] == y[1] and x[1] in _CONTAINERS:
                step = (old, c.name_of(x[0]))
                found.append((x[1], x[2], y[2], step, step if old is new else (new, step[1])))
                self.below = True
                continue
            if base is None:
                base = _path(old)
                base_new = base if old is new else _path(new)
            if x is not None and y is not None:
                path = (*base, c.name_of(x[0]))
                found.append(self.leaf(x, y, path, path if base is base_new else (*base_new, path[-1])))
            elif x is not None:
                begin = x[2] - len(x[0]) - 2
                i += count_of(a, at, begin)
                at = begin
                found.append(Remove((*base, c.name_of(x[0])), value_at(a, x), i))
            elif y is not None:
                begin = y[2] - len(y[0]) - 2
                j += count_of(b, to, begin)
                to = begin
                found.append(Add((*base_new, c.name_of(y[0])), value_at(b, y), j))

    def added(self, y: Span, at: int, new: _Link, found: list[Operation | _Task]) -> None:
        found.append(Add(_path((new, c.name_of(y[0]))), value_at(self.pair.b, y), at))

    def value(self, x: Span, y: Span, old: _Link, new: _Link, found: list[Operation | _Task]) -> None:
        """Compare two different values in one place."""
        if x[1] == y[1] and x[1] in _CONTAINERS:
            found.append((x[1], x[2], y[2], old, new))
            self.below = True
            return
        path = _path(old)
        found.append(self.leaf(x, y, path, path if old is new else _path(new)))

    def leaf(self, x: Span, y: Span, path: Path, to_path: Path) -> Operation:
        """The operation for two different values that are not both documents or both arrays."""
        _, kind, begin, end = x
        old, new = Value(kind, self.pair.a[begin:end]), Value(y[1], self.pair.b[y[2] : y[3]])
        # The quick way out: values of one type are replaced, and only long texts are worth a closer look.
        if kind == y[1] and (kind != c.STRING or end - begin <= LONG_TEXT):
            return Replace(path, to_path, old, new)
        op, coarse = leaf_operation(path, to_path, old, new)
        self.coarse = self.coarse or coarse
        return op

    def array(self, at: int, to: int, old: _Link, new: _Link) -> list[Operation | _Task]:
        left, right = elements(self.pair.a, at), elements(self.pair.b, to)
        if left is None or right is None:
            return self.whole(c.ARRAY, at, to, old, new)
        return _ArrayComparison(self, left, right, old, new).operations()


class _ArrayComparison:
    """The comparison of two arrays: equal ends are skipped, and the elements in between are matched.

    Positions count from the first element after the equal beginning, which is at ``head``.
    """

    def __init__(self, differ: _Differ, left: Elements, right: Elements, old: _Link, new: _Link) -> None:
        self.differ, self.left, self.right, self.old, self.new = differ, left, right, old, new
        n, m = len(left), len(right)
        self.head, tail = trim(differ.pair, left, right)
        self.middle = left.part(self.head, n - tail)
        self.matching = match(self.middle, right.part(self.head, m - tail), differ.keys)
        differ.coarse = differ.coarse or self.matching.coarse
        self.before, self.after = n - tail - self.head, m - tail - self.head  # the numbers of elements to compare
        self.base, self.base_new = _path(old), _path(new)
        self.gone = self.unmatched()
        self.found: list[Operation | _Task] = []

    def unmatched(self) -> deque[int]:
        """The old elements without a match, in order."""
        source = self.matching.source
        if len(source) == self.before:
            return deque()
        taken = set(source.values())
        return deque(i for i in range(self.before) if i not in taken)

    def operations(self) -> list[Operation | _Task]:
        """The operations between two arrays, in the new order; removals are listed where the elements were."""
        matching, gone, found = self.matching, self.gone, self.found
        source, changed, moved = matching.source, matching.changed, matching.moved
        places = self.places()
        plain = sorted(moved - changed if changed else moved) if len(moved) > MANY else []
        made = self.moves(plain)
        if plain and len(made) == len(places) and not gone:
            return cast(list[Operation | _Task], made)
        ready = dict(zip(plain, made, strict=True))
        at_old = 0  # the old element after the last one that stayed
        for j in places:
            i = source.get(j)
            if i is None:
                at_old = self.removed_from(at_old)  # list elements removed here before those added here
                self.add(j)
                continue
            if j not in moved:
                if gone and gone[0] < i:
                    self.removed_before(i)
                at_old = i + 1
            if j in changed:
                self.change(i, j)
            elif j in moved:
                found.append(ready[j] if ready else self.move(i, j))
        self.removed_before(self.before)
        return found

    def places(self) -> Sequence[int]:
        """The new elements to look at: if nothing was removed, unchanged elements in place can be skipped."""
        if self.gone:
            return range(self.after)
        source = self.matching.source
        added = [j for j in range(self.after) if j not in source] if len(source) < self.after else ()
        return sorted({*self.matching.changed, *self.matching.moved, *added})

    def removed_from(self, at: int) -> int:
        """Add removals for consecutive elements from ``at`` on; returns the position after them."""
        while self.gone and self.gone[0] == at:
            self.remove(self.gone.popleft())
            at += 1
        return at

    def removed_before(self, i: int) -> None:
        """Add removals for all remaining elements before ``i``."""
        while self.gone and self.gone[0] < i:
            self.remove(self.gone.popleft())

    def remove(self, i: int) -> None:
        i += self.head
        self.found.append(Remove((*self.base, i), value_at(self.left.raw, self.left[i]), i))

    def add(self, j: int) -> None:
        j += self.head
        self.found.append(Add((*self.base_new, j), value_at(self.right.raw, self.right[j]), j))

    def move(self, i: int, j: int) -> Move:
        value = self.left.value(self.head + i)
        return Move((*self.base, self.head + i), (*self.base_new, self.head + j), value, value)

    def moves(self, news: list[int]) -> list[Move]:
        """The moves of many unchanged elements, whose payloads are cut out of the bytes all at once."""
        if not news:
            return []
        head, middle = self.head, self.middle
        olds = list(map(self.matching.source.__getitem__, news))
        starts, ends = ([head + i for i in olds], [head + j for j in news]) if head else (olds, news)
        types = repeat(middle.kind) if middle.kind else map(middle.types().__getitem__, olds)
        return moves(self.base, self.base_new, starts, ends, types, map(middle.payloads().__getitem__, olds))

    def change(self, i: int, j: int) -> None:
        """Add the operations for an element that differs: replaced whole, or changed inside and perhaps moved."""
        at, to = self.head + i, self.head + j
        x, y = self.left[at], self.right[to]
        whole = x[1] in _CONTAINERS and j in self.matching.whole
        if whole or j in self.matching.moved:
            kind = Replace if whole else Move
            values = value_at(self.left.raw, x), value_at(self.right.raw, y)
            self.found.append(kind((*self.base, at), (*self.base_new, to), *values))
        if not whole:
            step = (self.old, at)
            to_step = step if self.old is self.new and i == j else (self.new, to)
            self.differ.value(x, y, step, to_step, self.found)


def leaf_operation(path: Path, to_path: Path, old: Value, new: Value) -> tuple[Operation, bool]:
    """The operation for two different values in one place, and whether it is coarse."""
    if old.type != new.type:
        if same_value(old, new):
            return Retype(path, to_path, old, new), False
    elif old.type == c.STRING and min(len(old.data), len(new.data)) > LONG_TEXT + 4:
        before, after = _text(old), _text(new)
        if before is not None and after is not None and min(len(before), len(after)) >= LONG_TEXT:
            edits, coarse = compare(before, after)
            # If most of a text is gone, the few letters that stayed by chance only make the edit harder to read.
            if sum(len(gone) for _, gone, _ in edits) * 3 <= len(before) * 2:
                return TextEdit(path, to_path, old, new, tuple(edits)), coarse
            return Replace(path, to_path, old, new), coarse
    return Replace(path, to_path, old, new), False


def _text(value: Value) -> str | None:
    """A string's text; None if it is not valid UTF-8."""
    found = scalars.string_of(value.data)
    if found is None:
        return None
    try:
        found[0].encode()
    except UnicodeEncodeError:
        return None
    return found[0]


def same_value(old: Value, new: Value) -> bool:
    """Whether values of two types have one meaning: equal numbers, or equal texts of different types.

    A double counts as the decimal that it is written as: 0.1 equals the decimal 0.1. But 0.0 and -0.0 differ.
    """
    if old.type in NUMBERS and new.type in NUMBERS:
        left, right = number_value(old), number_value(new)
        # A NaN equals nothing, itself included, but its type can change all the same.
        if left.is_nan() or right.is_nan():
            return left.is_nan() and right.is_nan()
        return left == right and left.is_signed() == right.is_signed()
    return old.type in TEXTS and new.type in TEXTS and old.data == new.data


def number_value(value: Value) -> Decimal:
    """A number of any type; a double as the decimal that it is written as."""
    if value.type == c.DOUBLE:
        # The shortest digits that give this double: exactly, 0.1 would be 0.1000000000000000055.
        return Decimal(repr(scalars.double.unpack(value.data)[0]))
    if value.type == c.DECIMAL128:
        return decimal_of(value.data)
    return Decimal(int.from_bytes(value.data, "little", signed=True))
