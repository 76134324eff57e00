"""Splits two neighbouring versions into fields that can be followed, skipping equal stretches.

A leaf is a field that is not split further; its key names it in all versions alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from model.diff import same_value
from model.errors import Unreadable
from model.values import canonical as c
from model.values.canonical import Path, Value

MANY = 1000  # elements of an array between two pauses


class TrackedElement(Struct, frozen=True):
    """An array element, identified by the value ``id`` of its field ``by``."""

    by: str
    id: Value


Key: TypeAlias = tuple["str | int | TrackedElement", ...]
"""A field's place in all versions; the empty key means the order of fields and elements.

A number is a position in the current version, in an array whose elements have no identity.
"""

Leaf: TypeAlias = tuple[int, bytes, int, int]
"""Type, the document's bytes, and start and end of the payload."""

Pause: TypeAlias = Callable[[], None]
"""Called from time to time while a version is split; its error stops that."""

_Span: TypeAlias = tuple[int, int, int]
_Child: TypeAlias = "tuple[str | TrackedElement, _Span]"
_Task: TypeAlias = tuple[Key, _Span, _Span]


class FieldEvent(NamedTuple):
    """The change of a field in the newer of two versions."""

    key: Key
    op: Literal["set", "add", "remove", "retype", "reorder"]
    older: Leaf | None = None


class ChildOrders:
    """The order of each container's children, over all versions seen."""

    def __init__(self) -> None:
        self._steps: dict[Key, list[str | TrackedElement]] = {}
        self._places: dict[Key, dict[str | int | TrackedElement, int]] = {}

    def note(self, key: Key, steps: Sequence[str | TrackedElement]) -> None:
        """Record the children of a container; unknown ones follow the child that they follow here."""
        known = self._steps.get(key)
        if known is None:
            self._steps[key] = list(steps)
            return
        there = set(known)
        unknown = [step for step in steps if step not in there]
        if not unknown:
            return
        self._places.pop(key, None)
        after: dict[str | TrackedElement | None, list[str | TrackedElement]] = {}
        before: str | TrackedElement | None = None
        for step in steps:
            if step in there:
                before = step
            else:
                after.setdefault(before, []).append(step)
        self._steps[key] = [
            *after.get(None, ()),
            *(one for step in known for one in (step, *after.get(step, ()))),
        ]

    def sorted(self, keys: Iterable[Key]) -> list[Key]:
        """The keys in document order; the order of fields comes last."""
        places: dict[Key, tuple[int, ...]] = {(): ()}

        def place(key: Key) -> tuple[int, ...]:
            above = len(key)
            while key[:above] not in places:
                above -= 1
            for i in range(above, len(key)):
                places[key[: i + 1]] = (*places[key[:i]], self._at(key[:i])[key[i]])
            return places[key]

        return sorted(keys, key=lambda key: place(key) if key else (1 << 62,))

    def _at(self, key: Key) -> dict[str | int | TrackedElement, int]:
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = {step: i for i, step in enumerate(self._steps[key])}
        return found


def born(raw: bytes, keys: Sequence[str], orders: ChildOrders, pause: Pause) -> Iterator[tuple[Key, Path, Leaf]]:
    """The leaves of a document, each with its path. Raises ``Unreadable``."""
    stack: list[tuple[Key, Path, _Span]] = [((), (), (c.OBJECT, 0, len(raw)))]
    while stack:
        key, path, span = stack.pop()
        inside = _children(raw, span, keys, pause)
        if not key:
            inside = _top(inside, span)
        if inside is None:
            yield key, path, (span[0], raw, span[1], span[2])
            continue
        orders.note(key, [step for step, _ in inside])
        positions = span[0] == c.ARRAY
        for i, (step, child) in reversed(list(enumerate(inside))):
            stack.append(((*key, step), (*path, i if positions else str(step)), child))


def compare(new: bytes, old: bytes, keys: Sequence[str], orders: ChildOrders, pause: Pause) -> list[FieldEvent]:
    """The events that lead from the older document to the newer one. Raises ``Unreadable``."""
    found: list[FieldEvent] = []
    stack: list[_Task] = [((), (c.OBJECT, 0, len(new)), (c.OBJECT, 0, len(old)))]
    while stack:
        key, x, y = stack.pop()
        if x[0] == y[0] and new[x[1] : x[2]] == old[y[1] : y[2]]:
            continue
        if x[0] == y[0] == c.OBJECT and c.walker is not None:
            differing = c.walker.changed(new, x[1], old, y[1])
            # Equal names in equal order, each once: only the fields that differ are looked at.
            if differing is not None and differing[1] and differing[0]:
                stack += [((*key, c.name_of(one[0])), one[1:], other[1:]) for one, other in differing[0]]
                continue
        left, right = _children(new, x, keys, pause), _children(old, y, keys, pause)
        if not key:  # the document itself is not a field
            left, right = _top(left, x), _top(right, y)
        if left is None and right is None:
            older = (y[0], old, y[1], y[2])
            retyped = x[0] != y[0] and same_value(Value(x[0], new[x[1] : x[2]]), Value(y[0], old[y[1] : y[2]]))
            found.append(FieldEvent(key, "retype" if retyped else "set", older))
        elif left is None or right is None:
            found += _gone(new, key, x, keys, orders, "add", pause)
            found += _gone(old, key, y, keys, orders, "remove", pause)
        else:
            _both(new, old, key, left, right, keys, orders, stack, found, pause)
    return found


def _top(inside: list[_Child] | None, span: _Span) -> list[_Child]:
    """The fields of the document itself, which may be empty; two of one name cannot be followed."""
    if inside is None and span[2] > len(c.EMPTY):
        raise Unreadable("The document has two fields of one name, so its fields cannot be followed.")
    return inside or []


def _both(
    new: bytes,
    old: bytes,
    key: Key,
    left: list[_Child],
    right: list[_Child],
    keys: Sequence[str],
    orders: ChildOrders,
    stack: list[_Task],
    found: list[FieldEvent],
    pause: Pause,
) -> None:
    """Compare two containers that are both taken apart."""
    here = [step for step, _ in left]
    if here != [step for step, _ in right]:
        pause()
        orders.note(key, [step for step, _ in right])
        pause()
        before, after = dict(right), dict(left)
        pause()
        if [step for step in here if step in before] != [step for step, _ in right if step in after]:
            found.append(FieldEvent((), "reorder"))
        for step, span in left:
            if step not in before:
                found += _gone(new, (*key, step), span, keys, orders, "add", pause)
        for step, span in right:
            if step not in after:
                found += _gone(old, (*key, step), span, keys, orders, "remove", pause)
        stack += [((*key, step), span, before[step]) for step, span in left if step in before]
        return
    for (step, x), (_, y) in zip(left, right, strict=True):
        if x[0] != y[0] or new[x[1] : x[2]] != old[y[1] : y[2]]:
            stack.append(((*key, step), x, y))


def _gone(
    raw: bytes,
    key: Key,
    span: _Span,
    keys: Sequence[str],
    orders: ChildOrders,
    op: Literal["add", "remove"],
    pause: Pause,
) -> Iterator[FieldEvent]:
    """Note the leaves of a field that only one of the two versions has."""
    stack = [(key, span)]
    while stack:
        key, span = stack.pop()
        inside = _children(raw, span, keys, pause)
        if inside is None:
            yield FieldEvent(key, op, (span[0], raw, span[1], span[2]) if op == "remove" else None)
            continue
        orders.note(key, [step for step, _ in inside])
        stack += [((*key, step), child) for step, child in reversed(inside)]


def _children(raw: bytes, span: _Span, keys: Sequence[str], pause: Pause) -> list[_Child] | None:
    """The children into which a value is split; None for a leaf."""
    pause()
    kind, start, _ = span
    if kind == c.OBJECT:
        inside: list[_Child] = [(c.name_of(name), (k, a, b)) for name, k, a, b in c.elements(raw, start)]
        return inside if inside and len({step for step, _ in inside}) == len(inside) else None
    if kind != c.ARRAY:
        return None
    elements: list[_Child] = []
    for _, k, a, b in c.elements(raw, start):
        element = _identity(raw, k, a, keys)
        if element is None:
            return None
        elements.append((element, (k, a, b)))
        if not len(elements) % MANY:
            pause()
    return elements if elements and len({step for step, _ in elements}) == len(elements) else None


def _identity(raw: bytes, kind: int, start: int, keys: Sequence[str]) -> TrackedElement | None:
    if kind != c.OBJECT:
        return None
    names = _names_of(tuple(keys))
    best: tuple[int, TrackedElement] | None = None
    for name, k, a, b in c.elements(raw, start):
        if name in names:
            rank = names.index(name)
            if best is None or rank < best[0]:
                best = rank, TrackedElement(keys[rank], Value(k, raw[a:b]))
            if rank == 0:
                break
    return best[1] if best else None


@lru_cache(maxsize=16)
def _names_of(keys: tuple[str, ...]) -> list[bytes]:
    return [c.name_bytes(key) for key in keys]


def places(raw: bytes, keys: Sequence[str]) -> dict[Key, tuple[Path, int, int]]:
    """The place of every field of a document, with its type and length in bytes. Raises ``Unreadable``."""
    found: dict[Key, tuple[Path, int, int]] = {}
    stack: list[tuple[Key, Path, _Span]] = [((), (), (c.OBJECT, 0, len(raw)))]
    while stack:
        key, path, span = stack.pop()
        found[key] = path, span[0], span[2] - span[1]
        for i, (step, child) in enumerate(_children(raw, span, keys, lambda: None) or ()):
            stack.append(((*key, step), (*path, step if isinstance(step, str) else i), child))
    return found


def locate(raw: bytes, key: Key, keys: Sequence[str]) -> Path | None:
    """The place of a field in a document, ``keys`` those of its chain; None if it is not there."""
    span: _Span = (c.OBJECT, 0, len(raw))
    path: list[str | int] = []
    for step in key:
        inside = _children(raw, span, keys, lambda: None)
        for i, (name, child) in enumerate(inside or ()):
            if name == step:
                path.append(step if isinstance(step, str) else i)
                span = child
                break
        else:
            return None
    return tuple(path)


def key_at(raw: bytes, path: Path, keys: Sequence[str]) -> Key:
    """The key of the field at a path of a document; it ends at an array whose elements have no identity."""
    span: _Span = (c.OBJECT, 0, len(raw))
    key: list[str | int | TrackedElement] = []
    for step in path:
        inside = _children(raw, span, keys, lambda: None)
        places = enumerate(inside or ())
        found = next((child for i, child in places if (i if span[0] == c.ARRAY else child[0]) == step), None)
        if found is None:
            break
        key.append(found[0])
        span = found[1]
    return tuple(key)
