"""Rules by which a comparison leaves out differences that nobody means: for reading, never for a write.

The second document is adapted to the first one, by parts that the rules take for equal, and then compared exactly.
The paths and values of the operations are those of the two documents themselves.

A path names fields; positions in arrays do not count, so ``riders.seen`` means the field of every rider, and may be
written ``riders[].seen``. The empty path is the array at the top of a file.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from model.diff import (
    Add,
    Diff,
    Move,
    Operation,
    Remove,
    Reorder,
    Replace,
    Retype,
    TextEdit,
    diff_values,
    number_value,
    text_edits,
)
from model.errors import Refused, Unreadable
from model.text import name_text, path_from_text, scalars
from model.values import canonical as c
from model.values.canonical import Path, Value
from model.values.kinds import NUMBERS

Names: TypeAlias = tuple[str, ...]
"""A path without the positions in arrays."""

_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms"))
_MOST_PAIRS = 250_000  # elements of two arrays times each other; beyond, only equal ones are paired


class ComparisonRules(Struct, frozen=True):
    """What does not count as a difference; false if everything does."""

    ignored: tuple[Names, ...] = ()  # paths that are left out, with all inside
    unordered: tuple[Names, ...] = ()  # arrays whose order does not count
    numbers: bool = False  # whether equal numbers of different types or digits are the same
    dates: int = 0  # milliseconds by which two dates may differ
    by_words: bool = False  # whether texts are compared word by word, whatever white space is between them

    def __bool__(self) -> bool:
        return bool(self.ignored or self.unordered or self.numbers or self.dates or self.by_words)

    @property
    def words(self) -> str:
        """The rules in one sentence for the header of a comparison; "" if there are none."""
        said = [f"{written(names)} left out" for names in self.ignored]
        said += [f"{written(names)} in any order" for names in self.unordered]
        said += ["numbers by value"] * self.numbers
        said += [f"dates within {_span(self.dates)}"] * bool(self.dates)
        said += ["text by words"] * self.by_words
        return f"Compared by rules: {', '.join(said)}." if said else ""

    def leaves_out(self, names: Names) -> bool:
        """Whether a path, or one above it, is left out."""
        return any(names[: len(each)] == each for each in self.ignored)

    def with_unordered(self, paths: Iterable[Names]) -> ComparisonRules:
        """These rules, with further arrays whose order does not count."""
        return replace(self, unordered=tuple(dict.fromkeys((*self.unordered, *paths))))

    def compare(self, a: Value, b: Value, keys: Sequence[str] = ("_id",)) -> Diff:
        """The differences that count; their paths and values are those of the documents as they are."""
        if not self or a == b:
            return diff_values(a, b, keys)
        try:
            target = _Adapter(self, tuple(keys)).adapt(a, b, ())
        except RecursionError:
            raise Refused("These documents are nested too deep for rules; compare them exactly.") from None
        found = diff_values(a, target.value, keys)
        operations = [self._edited(_back(op, target, b)) for op in found if not self._is_left_out(op)]
        return Diff(tuple(operations), found.coarse)

    def same(self, a: Value, b: Value, keys: Sequence[str] = ("_id",)) -> bool:
        """Whether two values differ in nothing that counts."""
        return a == b or _Adapter(self, tuple(keys)).same(a, b, ())

    def _is_left_out(self, op: Operation) -> bool:
        names = names_of(op.path)
        if isinstance(op, Reorder):
            orders = ([n for n in each if not self.leaves_out((*names, n))] for each in (op.names_old, op.names_new))
            return self.leaves_out(names) or next(orders) == next(orders)
        if isinstance(op, Move) and names in self.unordered:
            return True
        return self.leaves_out(names)

    def _edited(self, op: Operation) -> Operation:
        """A change of a text as edits of whole words, if texts are compared by words."""
        if not self.by_words or not isinstance(op, Replace | TextEdit):
            return op
        old, new = _text(op.old), _text(op.new)
        if old is None or new is None:
            return op
        return TextEdit(op.path, op.to_path, op.old, op.new, tuple(text_edits(old, new)))


EXACT = ComparisonRules()


def names_of(path: Path) -> Names:
    """A path without its positions in arrays."""
    return tuple(step for step in path if isinstance(step, str))


def names_from_text(written: str) -> Names:
    """The path that a person wrote, as ``riders[].seen`` or ``riders.seen``; ``.`` is the array at the top.

    Raises ``Unreadable`` with the column.
    """
    bare = written.strip()
    if bare in (".", "[]"):
        return ()
    found = names_of(path_from_text(bare.replace("[]", "[0]")))
    if not found:
        raise Unreadable(f"The path {written!r} names no field; write it as in riders.seen.")
    return found


def written(names: Names) -> str:
    """A path for people."""
    return ".".join(map(name_text, names)) or "the array at the top"


class _Adapted(Struct):
    """A part of the second document as the first one would have it, and where its parts came from."""

    value: Value
    places: list[int] | None = None  # of an array: the position in the second document of each element
    inside: dict[str | int, _Adapted] = field(default_factory=dict)  # its fields or elements


class _Adapter(Struct, frozen=True):
    """One adaptation of a document."""

    rules: ComparisonRules
    keys: tuple[str, ...]

    # --- equality

    def same(self, a: Value, b: Value, names: Names) -> bool:
        """Whether two values at a path are equal by the rules."""
        if a == b:
            return True
        rules = self.rules
        if a.type in NUMBERS and b.type in NUMBERS:
            return rules.numbers and _number(a) == _number(b)
        if a.type != b.type:
            return False
        if a.type == c.DATE:
            return abs(_milliseconds(a) - _milliseconds(b)) <= rules.dates
        if a.type == c.STRING and rules.by_words:
            old, new = _text(a), _text(b)
            return old is not None and new is not None and old.split() == new.split()
        if a.type == c.OBJECT:
            left, right = self._counting(a, names), self._counting(b, names)
            return len(left) == len(right) and all(
                name == other and self.same(x, y, (*names, name))
                for (name, x), (other, y) in zip(left, right, strict=True)
            )
        if a.type == c.ARRAY:
            old_ones, new_ones = c.items(a), c.items(b)
            if len(old_ones) != len(new_ones):
                return False
            if names in rules.unordered:
                return len(self._equals(old_ones, new_ones, names)) == len(old_ones)
            return all(self.same(x, y, names) for x, y in zip(old_ones, new_ones, strict=True))
        return False

    def _counting(self, value: Value, names: Names) -> list[tuple[str, Value]]:
        return [(name, each) for name, each in c.fields(value.data) if not self.rules.leaves_out((*names, name))]

    def _bucket(self, value: Value, names: Names) -> object:
        """Something that is equal for all values that may be equal by the rules; made to be hashed."""
        rules = self.rules
        if value.type in NUMBERS and rules.numbers:
            return "number", _number(value)
        if value.type == c.DATE and rules.dates:
            return "date"
        if value.type == c.STRING and rules.by_words:
            return "text", tuple((_text(value) or "").split())
        if value.type == c.OBJECT:
            return tuple((name, self._bucket(each, (*names, name))) for name, each in self._counting(value, names))
        if value.type == c.ARRAY:
            inside = [self._bucket(each, names) for each in c.items(value)]
            return ("set", frozenset(Counter(inside).items())) if names in rules.unordered else ("list", *inside)
        return value

    def _equals(self, old: Sequence[Value], new: Sequence[Value], names: Names) -> dict[int, int]:
        """The new elements that equal an old one by the rules, each with its own, in any order."""
        waiting: dict[object, list[int]] = defaultdict(list)
        for i, each in enumerate(old):
            waiting[self._bucket(each, names)].append(i)
        wanted: dict[object, list[int]] = defaultdict(list)
        for j, each in enumerate(new):
            wanted[self._bucket(each, names)].append(j)
        found: dict[int, int] = {}
        for bucket, news in wanted.items():
            olds = waiting.get(bucket, [])
            if not self.rules.dates or len(olds) * len(news) > _MOST_PAIRS:
                found.update(zip(news, olds, strict=False))  # all of one bucket are equal
            else:
                found.update(_matched(news, olds, lambda j, i: self.same(old[i], new[j], names)))
        return found

    # --- adaptation

    def adapt(self, a: Value, b: Value, names: Names) -> _Adapted:
        """``b`` with the parts of ``a`` that are equal to its own by the rules."""
        if self.same(a, b, names):
            return _Adapted(a)
        if a.type == b.type == c.OBJECT:
            return self._document(a, b, names)
        if a.type == b.type == c.ARRAY:
            return self._array(a, b, names)
        return _Adapted(b)

    def _document(self, a: Value, b: Value, names: Names) -> _Adapted:
        before, after = c.fields(a.data), c.fields(b.data)
        old = dict(before)
        if len(old) < len(before) or len({name for name, _ in after}) < len(after):
            return _Adapted(b)  # of two fields of one name nobody can tell which is meant
        pairs: list[tuple[str, Value]] = []
        inside: dict[str | int, _Adapted] = {}
        for name, each in after:
            here = (*names, name)
            if self.rules.leaves_out(here):
                continue  # its fields are those of ``a``, which follow
            made = self.adapt(old[name], each, here) if name in old else _Adapted(each)
            inside[name] = made
            pairs.append((name, made.value))
        for at, (name, each) in enumerate(before):  # what is left out stands where ``a`` has it
            if self.rules.leaves_out((*names, name)):
                pairs.insert(at, (name, each))
        return _Adapted(Value.document(c.document(pairs)), None, inside)

    def _array(self, a: Value, b: Value, names: Names) -> _Adapted:
        old, new = c.items(a), c.items(b)
        equal = self._equals(old, new, names) if names in self.rules.unordered else self._in_order(old, new, names)
        pairs = {**self._alike(old, new, equal), **equal}
        order = list(range(len(new)))
        if names in self.rules.unordered:
            order.sort(key=lambda j: (j not in pairs, pairs.get(j, j)))
        inside: dict[str | int, _Adapted] = {}
        made = []
        for at, j in enumerate(order):
            part = self.adapt(old[pairs[j]], new[j], names) if j in pairs else _Adapted(new[j])
            inside[at] = part
            made.append(part.value)
        return _Adapted(c.array(made), order, inside)

    def _in_order(self, old: Sequence[Value], new: Sequence[Value], names: Names) -> dict[int, int]:
        """The new elements that equal an old one, each with the first that is left."""
        waiting: dict[object, list[int]] = defaultdict(list)
        for i in reversed(range(len(old))):
            waiting[self._bucket(old[i], names)].append(i)
        found = {}
        for j, each in enumerate(new):
            left = waiting.get(self._bucket(each, names), [])
            if left and self.same(old[left[-1]], each, names):
                found[j] = left.pop()
        return found

    def _alike(self, old: Sequence[Value], new: Sequence[Value], equal: dict[int, int]) -> dict[int, int]:
        """Of the other elements, those to compare with each other: by their key, else in their order."""
        olds, news = sorted(set(range(len(old))) - set(equal.values())), [j for j in range(len(new)) if j not in equal]
        by_key = {key: i for i in olds if (key := self._key(old[i])) is not None}
        found = {j: by_key.pop(key) for j in news if (key := self._key(new[j])) in by_key}
        rest = [i for i in olds if self._key(old[i]) is None]
        return found | dict(zip((j for j in news if j not in found and self._key(new[j]) is None), rest, strict=False))

    def _key(self, value: Value) -> tuple[str, Value] | None:
        if value.type != c.OBJECT:
            return None
        return next(((key, it) for key in self.keys if (it := c.get(value.data, (key,))) is not None), None)


def _matched(news: Sequence[int], olds: Sequence[int], fit: Callable[[int, int], bool]) -> dict[int, int]:
    """As many pairs as possible of new and old ones that fit (augmenting paths)."""
    of: dict[int, int] = {}

    def place(j: int, tried: set[int]) -> bool:
        for i in olds:
            if i not in tried and fit(j, i):
                tried.add(i)
                if i not in of or place(of[i], tried):
                    of[i] = j
                    return True
        return False

    for j in news:
        place(j, set())
    return {j: i for i, j in of.items()}


def _back(op: Operation, target: _Adapted, b: Value) -> Operation:
    """An operation whose place in the new document is the one that the document itself has."""
    there = _place(op.to_path, target)
    if isinstance(op, Remove):
        return op
    if isinstance(op, Reorder):
        return Reorder(op.path, there, op.names_old, op.names_new)
    new = _at(b, there) or op.new
    if isinstance(op, Add):
        last = there[-1] if there else 0
        return Add(there, new, last if isinstance(last, int) else op.at)
    if isinstance(op, TextEdit):
        return TextEdit(op.path, there, op.old, new, op.edits)
    kind: type[Replace | Retype | Move] = type(op)
    return kind(op.path, there, op.old, new)


def _place(path: Path, target: _Adapted) -> Path:
    steps: list[str | int] = []
    here: _Adapted | None = target
    for step in path:
        known = here is not None and here.places is not None and isinstance(step, int) and step < len(here.places)
        steps.append(here.places[step] if known else step)  # type: ignore[union-attr,index]
        here = here.inside.get(step) if here is not None else None
    return tuple(steps)


def _at(top: Value, path: Path) -> Value | None:
    if not path:
        return top
    return c.get(top.data, path) if top.type == c.OBJECT else _at(c.items(top)[path[0]], path[1:])  # type: ignore[index]


def _span(milliseconds: int) -> str:
    """A tolerance in the largest unit that divides it."""
    size, unit = next((size, unit) for size, unit in _UNITS if milliseconds % size == 0)
    return f"{milliseconds // size:,} {unit}"


def _number(value: Value) -> Decimal | str:
    found = number_value(value)
    return "NaN" if found.is_nan() else found


def _milliseconds(value: Value) -> int:
    return int.from_bytes(value.data, "little", signed=True)


def _text(value: Value) -> str | None:
    found = scalars.string_of(value.data) if value.type == c.STRING else None
    return None if found is None else found[0]
