"""An edit in progress, as raw bytes: exact changes by position, each of them a step that can be undone.

A spot names a field by its positions from the top, ``(4, 0)`` for the first field inside the fifth. Names may repeat
in a BSON document; positions cannot. Only the bytes of a change are written; all others, even the names of array
elements, stay as they are stored.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import islice
from typing import TypeAlias, TypeVar

from msgspec import Struct

from model.values.canonical import ARRAY, OBJECT, Path, Value, array, document, elements, fields, name_bytes, name_of

Spot: TypeAlias = tuple[int, ...]

_length = struct.Struct("<i")


class _Place(Struct, frozen=True):
    """Where an element lies in a document: the starts of its containers, then its own bytes."""

    containers: tuple[int, ...]
    kind: int
    name: bytes
    start: int  # the element's type byte
    payload: int
    end: int


def _find(raw: bytes, spot: Spot) -> _Place:
    start, containers = 0, [0]
    for depth, position in enumerate(spot):
        found = next(islice(elements(raw, start), position, None), None)
        if found is None:
            raise LookupError(f"There is nothing at {spot}.")
        name, kind, a, b = found
        if depth == len(spot) - 1:
            return _Place(tuple(containers), kind, name, a - len(name) - 2, a, b)
        start = a
        containers.append(a)
    raise LookupError("The document itself has no element.")


def _splice(raw: bytes, containers: tuple[int, ...], start: int, end: int, new: bytes) -> bytes:
    """Replace a run of bytes, and correct the lengths of all containers around it."""
    made = bytearray(raw[:start] + new + raw[end:])
    grown = len(new) - (end - start)
    for at in containers:
        _length.pack_into(made, at, _length.unpack_from(raw, at)[0] + grown)
    return bytes(made)


def value_at(raw: bytes, spot: Spot) -> Value:
    """The value at a spot; ``()`` is the whole document. Raises ``LookupError``."""
    if not spot:
        return Value(OBJECT, raw)
    place = _find(raw, spot)
    return Value(place.kind, raw[place.payload : place.end])


def path_of(raw: bytes, spot: Spot) -> Path:
    """The path to a spot: names, and positions inside arrays."""
    path: list[str | int] = []
    here = Value(OBJECT, raw)
    for position in spot:
        place = _find(here.data, (position,))
        path.append(position if here.type == ARRAY else name_of(place.name))
        here = Value(place.kind, here.data[place.payload : place.end])
    return tuple(path)


def spot_of(raw: bytes, path: Path) -> Spot | None:
    """The first spot that a path leads to, or None."""
    spot: list[int] = []
    here = Value(OBJECT, raw)
    for step in path:
        if here.type != (ARRAY if isinstance(step, int) else OBJECT):
            return None
        for i, (name, kind, a, b) in enumerate(elements(here.data)):
            if i == step or (not isinstance(step, int) and name_of(name) == step):
                spot.append(i)
                here = Value(kind, here.data[a:b])
                break
        else:
            return None
    return tuple(spot)


def replaced(raw: bytes, spot: Spot, value: Value) -> bytes:
    """The document with another value at a spot, of any type; ``()`` takes a document."""
    if not spot:
        return value.data
    place = _find(raw, spot)
    element = bytes((value.type,)) + place.name + b"\x00" + value.data
    return _splice(raw, place.containers, place.start, place.end, element)


def renamed(raw: bytes, spot: Spot, name: str) -> bytes:
    """The document with the field at a spot renamed; it keeps its place."""
    place = _find(raw, spot)
    element = bytes((place.kind,)) + name_bytes(name) + b"\x00" + raw[place.payload : place.end]
    return _splice(raw, place.containers, place.start, place.end, element)


def inserted(raw: bytes, container: Spot, at: int, name: str, value: Value) -> bytes:
    """The document with a field or element inserted into a container; an element's name does not matter."""
    inside = value_at(raw, container)
    pairs = fields(inside.data)
    pairs.insert(at, (name, value))
    return _with_fields(raw, container, inside.type, pairs)


def removed(raw: bytes, spot: Spot) -> bytes:
    """The document without the field or element at a spot; in an array, later elements move up."""
    inside = value_at(raw, spot[:-1])
    pairs = fields(inside.data)
    del pairs[spot[-1]]
    return _with_fields(raw, spot[:-1], inside.type, pairs)


def moved(raw: bytes, spot: Spot, to: int) -> bytes:
    """The document with the field or element at a spot moved within its container."""
    inside = value_at(raw, spot[:-1])
    pairs = fields(inside.data)
    pairs.insert(to, pairs.pop(spot[-1]))
    return _with_fields(raw, spot[:-1], inside.type, pairs)


def reordered(raw: bytes, container: Spot, names: tuple[str, ...]) -> bytes:
    """The document with the fields of a container in the order of ``names``; other names come last."""
    inside = value_at(raw, container)
    rank = {name: i for i, name in enumerate(names)}
    pairs = sorted(fields(inside.data), key=lambda pair: rank.get(pair[0], len(rank)))
    return _with_fields(raw, container, inside.type, pairs)


def _with_fields(raw: bytes, container: Spot, kind: int, pairs: list[tuple[str, Value]]) -> bytes:
    made = array(value for _, value in pairs) if kind == ARRAY else Value(OBJECT, document(pairs))
    return replaced(raw, container, made)


def free_name(raw: bytes, container: Spot, wanted: str) -> str:
    """``wanted``, or if that is taken, with the first number that makes it unique."""
    taken = {name for name, _ in fields(value_at(raw, container).data)}
    name, count = wanted, 2
    while name in taken:
        name, count = f"{wanted}{count}", count + 1
    return name


Run = TypeVar("Run", bytes, str)


class Step(Struct, frozen=True):
    """A change that can be undone: a run of bytes that became another one, and the spot it was made at."""

    title: str
    at: int
    old: bytes
    new: bytes
    spot: Spot | None
    join: str = ""


def _step(before: bytes, after: bytes, title: str, spot: Spot | None, join: str) -> Step:
    # The document's four length bytes are left out: they differ after every insertion.
    a, b = before[4:], after[4:]
    head, tail = alike_ends(a, b)
    return Step(title, head + 4, a[head : len(a) - tail], b[head : len(b) - tail], spot, join)


def alike_ends(a: Run, b: Run) -> tuple[int, int]:
    """The lengths of the beginning and of the end that two runs share."""
    shorter = min(len(a), len(b))
    head = _largest(shorter, lambda n: a[:n] == b[:n])
    return head, _largest(shorter - head, lambda n: a[len(a) - n :] == b[len(b) - n :])


def _largest(limit: int, holds: Callable[[int], bool]) -> int:
    """The largest n up to ``limit`` that ``holds``, by halving: comparing bytes is fast, looping over them is not."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _swapped(raw: bytes, step: Step, back: bool) -> bytes:
    there, instead = (step.new, step.old) if back else (step.old, step.new)
    made = raw[: step.at] + instead + raw[step.at + len(there) :]
    return _length.pack(len(made)) + made[4:]


class Edit:
    """The content that began as ``base``, and its steps back and forth. Only steps change the content."""

    def __init__(self, base: bytes, content: bytes | None = None) -> None:
        self.base = base
        self.content = base if content is None else content
        self._done: list[Step] = []
        self._undone: list[Step] = []

    @property
    def is_dirty(self) -> bool:
        """Whether it differs from the base in any byte."""
        return self.content != self.base

    @property
    def undo_title(self) -> str:
        """What undo would undo, or ""."""
        return self._done[-1].title if self._done else ""

    @property
    def can_redo(self) -> bool:
        """Whether an undone step can be redone."""
        return bool(self._undone)

    def apply(self, content: bytes, title: str, spot: Spot | None = None, join: str = "") -> bool:
        """Make ``content`` the content, as one step; False if it already is.

        Consecutive steps with the same ``join`` are one step.
        """
        if content == self.content:
            return False
        before = self.content
        if join and self._done and self._done[-1].join == join:
            before = _swapped(before, self._done.pop(), back=True)
        if content != before:
            self._done.append(_step(before, content, title, spot, join))
        self._undone.clear()
        self.content = content
        return True

    def undo(self) -> Step | None:
        """Undo the last step exactly; None if there is none."""
        if not self._done:
            return None
        step = self._done.pop()
        self.content = _swapped(self.content, step, back=True)
        self._undone.append(step)
        return step

    def redo(self) -> Step | None:
        """Redo the step that was undone last; None if there is none."""
        if not self._undone:
            return None
        step = self._undone.pop()
        self.content = _swapped(self.content, step, back=False)
        self._done.append(step)
        return step
