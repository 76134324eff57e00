"""The diff of two documents, worked out from their bytes: operations out of a closed set.

Both sides are walked together without decoding. Stretches that are equal byte for byte are skipped, and each difference
becomes an operation, so a diff is empty exactly when the bytes are equal. Laws::

    patch(a, diff(a, b)) == b          bool(diff(a, b)) == (a != b)          patch(b, diff(a, b).inverse()) == a

A string of which both sides have at least ``LONG_TEXT`` characters, and that keeps at least a third of them, is a
text edit; a shorter or wholly rewritten one is replaced. Numbers that are equal but of another type, and text that
became a symbol or code, are a retype. Documents with two fields of one name, and arrays whose stored positions are
not 0, 1, 2 …, are compared as a whole where they differ there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
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
    "leaf_operation",
    "patch",
    "same_value",
    "text_edits",
]

LONG_TEXT = 200
MANY = 100  # elements moved, from which on all are taken out of the bytes at once

_Link: TypeAlias = "tuple[_Link, str | int] | None"
"""A path from its end: the step, and the link to its parent. Deep paths share their beginnings."""

_CONTAINERS = (c.OBJECT, c.ARRAY)


def diff(a: bytes, b: bytes, keys: Sequence[str] = ("_id",)) -> Diff:
    """The operations that lead from document ``a`` to document ``b``.

    ``keys`` name the fields by which elements of an array that moved or changed are recognised; of several, the first
    that an element has. Raises ``Unreadable`` where one of them is no BSON.
    """
    if len(a) == len(b) and a == b:
        return Diff(())
    return _Differ(Pair(a, b), _encoded(tuple(keys))).run()


@lru_cache(maxsize=16)
def _encoded(keys: tuple[str, ...]) -> list[bytes]:
    return [c.name_bytes(key) for key in keys]


def changed_fields(a: bytes, b: bytes, keys: Sequence[str] = ("_id",)) -> int:
    """How many operations lead from one document to the other; ``keys`` as in :func:`diff`."""
    return len(diff(a, b, keys))


def _path(link: _Link) -> Path:
    steps: list[str | int] = []
    while link is not None:
        link, step = link
        steps.append(step)
    steps.reverse()
    return tuple(steps)


_Task: TypeAlias = tuple[int, int, int, int, _Link, _Link]
"""Two containers to compare: their type, offsets in a and b, whether they start a stretch of known shape, links."""


class _Differ:
    """One comparison. Work waits on a stack, last first, so the operations come out in document order."""

    def __init__(self, pair: Pair, keys: Sequence[bytes]) -> None:
        self.pair = pair
        self.keys = keys
        self.out: list[Operation] = []
        self.coarse = False
        self.below = False  # whether the value found last has differences inside

    def run(self) -> Diff:
        self.out.clear()
        stack: list[Operation | _Task] = [(c.OBJECT, 0, 0, 0, None, None)]
        while stack:
            task = stack.pop()
            if not isinstance(task, tuple):
                self.out.append(task)
                continue
            kind, at, to, _, old, new = task
            self.below = False
            found = self.document(at, to, old, new) if kind == c.OBJECT else self.array(at, to, old, new)
            if self.below:
                found.reverse()
                stack += found
            else:
                self.out += cast(list[Operation], found)
        return Diff(tuple(self.out), self.coarse)

    def whole(self, kind: int, at: int, to: int, old: _Link, new: _Link) -> list[Operation | _Task]:
        """Compare two containers that can only be told apart as wholes."""
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
        equal, a = self.pair.equal, self.pair.a
        where = {x[0]: x for x in left}
        there = {y[0]: j for j, y in enumerate(right)}
        if len(where) < len(left) or len(there) < len(right):
            return self.whole(c.OBJECT, at, to, old, new)
        if where.keys() == there.keys():
            self.reordered(left, [right[there[x[0]]] for x in left], right, old, new, found)
            return found
        stay = [x[0] for x in left if x[0] in there]
        if stay != [y[0] for y in right if y[0] in where]:
            names = tuple(c.name_of(x[0]) for x in left), tuple(c.name_of(y[0]) for y in right)
            found.append(Reorder(_path(old), _path(new), *names))
        done = 0  # fields of the new document that were handled: additions appear where they stand
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
        return found

    def reordered(
        self, left: list[Span], same: list[Span], right: list[Span],
        old: _Link, new: _Link, found: list[Operation | _Task],
    ) -> None:  # fmt: skip
        """Compare documents with one set of names in two orders; the fields are given pair by pair."""
        if same != right:
            path = _path(old)
            names = tuple([c.name_of(x[0]) for x in left]), tuple([c.name_of(y[0]) for y in right])
            found.append(Reorder(path, path if old is new else _path(new), *names))
        equal = self.pair.equal
        for x, y in zip(left, same, strict=True):
            if x[1] != y[1] or not equal(x[2], x[3], y[2], y[3]):
                step = (old, c.name_of(x[0]))
                self.value(x, y, step, step if old is new else (new, step[1]), found)

    def fields(
        self, differing: list[Difference], at: int, to: int, old: _Link, new: _Link, found: list[Operation | _Task]
    ) -> None:  # fmt: skip
        """Compare fields in an order that both documents share."""
        a, b = self.pair.a, self.pair.b
        i = j = 0  # places among siblings, of the fields that begin there
        at, to = at + 4, to + 4
        base: Path | None = None  # the paths of both documents, from when they are needed
        base_new: Path = ()
        for x, y in differing:
            if x is not None and y is not None and x[1] == y[1] and x[1] in _CONTAINERS:
                step = (old, c.name_of(x[0]))
                found.append((x[1], x[2], y[2], 0, step, step if old is new else (new, step[1])))
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
        """Compare two values at one place that differ."""
        if x[1] == y[1] and x[1] in _CONTAINERS:
            found.append((x[1], x[2], y[2], 0, old, new))
            self.below = True
            return
        path = _path(old)
        found.append(self.leaf(x, y, path, path if old is new else _path(new)))

    def leaf(self, x: Span, y: Span, path: Path, to_path: Path) -> Operation:
        """Note the operation for two values that differ and are not both documents or both arrays."""
        _, kind, begin, end = x
        old, new = Value(kind, self.pair.a[begin:end]), Value(y[1], self.pair.b[y[2] : y[3]])
        if kind == y[1] and (kind != c.STRING or end - begin <= LONG_TEXT):
            return Replace(path, to_path, old, new)
        op, coarse = leaf_operation(path, to_path, old, new)
        self.coarse = self.coarse or coarse
        return op

    def array(self, at: int, to: int, old: _Link, new: _Link) -> list[Operation | _Task]:
        a, b = self.pair.a, self.pair.b
        left, right = elements(a, at), elements(b, to)
        if left is None or right is None:
            return self.whole(c.ARRAY, at, to, old, new)
        found: list[Operation | _Task] = []
        head, tail = trim(self.pair, left, right)
        n, m = len(left), len(right)
        middle = left.part(head, n - tail)
        matching = match(middle, right.part(head, m - tail), self.keys)
        self.coarse = self.coarse or matching.coarse
        source, changed, moved = matching.source, matching.changed, matching.moved
        gone: deque[int] = deque()
        if len(source) < n - tail - head:
            taken = set(source.values())
            gone.extend(i for i in range(n - tail - head) if i not in taken)
        base, base_new = _path(old), _path(new)
        at_old = 0  # the old element behind the last that stayed
        places: Sequence[int] = range(m - tail - head)
        if not gone:  # then elements that stayed as they are need no operation
            added = [j for j in places if j not in source] if len(source) < m - tail - head else ()
            places = sorted({*changed, *moved, *added})
        ready: dict[int, Move] = {}
        if len(moved) > MANY:
            plain = sorted(moved - changed if changed else moved)
            made = self.moves(middle, list(map(source.__getitem__, plain)), plain, head, base, base_new)
            if len(made) == len(places) and not gone:
                return cast(list[Operation | _Task], made)
            ready = dict(zip(plain, made, strict=True))
        for j in places:
            i = source.get(j)
            if i is None:
                while gone and gone[0] == at_old:  # the elements removed here come before those added
                    found.append(self.removed(left, head + gone.popleft(), base))
                    at_old += 1
                found.append(Add((*base_new, head + j), value_at(b, right[head + j]), head + j))
                continue
            if j not in moved:
                while gone and gone[0] < i:
                    found.append(self.removed(left, head + gone.popleft(), base))
                at_old = i + 1
                if j not in changed:
                    continue
            if j not in changed:
                if (move := ready.get(j)) is None:
                    value = left.value(head + i)
                    move = Move((*base, head + i), (*base_new, head + j), value, value)
                found.append(move)
                continue
            x, y = left[head + i], right[head + j]
            if x[1] in _CONTAINERS and j in matching.whole:
                found.append(Replace((*base, head + i), (*base_new, head + j), value_at(a, x), value_at(b, y)))
                continue
            if j in moved:
                found.append(Move((*base, head + i), (*base_new, head + j), value_at(a, x), value_at(b, y)))
            step = (old, head + i)
            self.value(x, y, step, step if old is new and i == j else (new, head + j), found)
        found += [self.removed(left, head + i, base) for i in gone]
        return found

    def moves(
        self, middle: Elements, olds: list[int], news: list[int], head: int, base: Path, base_new: Path
    ) -> list[Move]:
        """The moves of many unchanged elements, by their places behind the first ``head``."""
        starts, ends = ([head + i for i in olds], [head + j for j in news]) if head else (olds, news)
        types = repeat(middle.kind) if middle.kind else map(middle.types().__getitem__, olds)
        return moves(base, base_new, starts, ends, types, map(middle.payloads().__getitem__, olds))

    def removed(self, left: Elements, i: int, base: Path) -> Remove:
        return Remove((*base, i), value_at(self.pair.a, left[i]), i)


def leaf_operation(path: Path, to_path: Path, old: Value, new: Value) -> tuple[Operation, bool]:
    """The operation for two different values at one place, and whether it is coarse."""
    if old.type != new.type:
        if same_value(old, new):
            return Retype(path, to_path, old, new), False
    elif old.type == c.STRING and min(len(old.data), len(new.data)) > LONG_TEXT + 4:
        before, after = _text(old), _text(new)
        if before is not None and after is not None and min(len(before), len(after)) >= LONG_TEXT:
            edits, coarse = compare(before, after)
            if sum(len(gone) for _, gone, _ in edits) * 3 <= len(before) * 2:
                return TextEdit(path, to_path, old, new, tuple(edits)), coarse
            return Replace(path, to_path, old, new), coarse
    return Replace(path, to_path, old, new), False


def _text(value: Value) -> str | None:
    """A string's text where its bytes are UTF-8 in order."""
    found = scalars.string_of(value.data)
    if found is None:
        return None
    try:
        found[0].encode()
    except UnicodeEncodeError:
        return None
    return found[0]


def same_value(old: Value, new: Value) -> bool:
    """Whether two values of different types mean one thing: an equal number, or an equal text of another kind.

    A double counts as the decimal that it is written as: 0.1 and the decimal 0.1 are equal. Zero and -0.0 are not.
    """
    if old.type in NUMBERS and new.type in NUMBERS:
        left, right = _number(old), _number(new)
        if left.is_nan() or right.is_nan():
            return left.is_nan() and right.is_nan()
        return left == right and left.is_signed() == right.is_signed()
    return old.type in TEXTS and new.type in TEXTS and old.data == new.data


def _number(value: Value) -> Decimal:
    if value.type == c.DOUBLE:
        return Decimal(repr(scalars.double.unpack(value.data)[0]))
    if value.type == c.DECIMAL128:
        return decimal_of(value.data)
    return Decimal(int.from_bytes(value.data, "little", signed=True))
