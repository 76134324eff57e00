"""An edit under way, as raw bytes: exact changes by position, and every step undoable.

A spot names a field by its positions from the top, ``(4, 0)`` for the first field inside the fifth. Names may
repeat in a BSON document; positions cannot. Only the bytes of what changes are written anew; all others, names of
array elements included, stay as they are stored.
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
    """Where an element lies in a document: its containers' first bytes, then itself."""

    containers: tuple[int, ...]
    kind: int
    name: bytes
    start: int  # of the element, its type byte
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
    """Replace a run of bytes and correct the length of every container around it."""
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
    """The names on the way to a spot; positions inside arrays."""
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
    """The document with the field at a spot called otherwise; it keeps its place."""
    place = _find(raw, spot)
    element = bytes((place.kind,)) + name_bytes(name) + b"\x00" + raw[place.payload : place.end]
    return _splice(raw, place.containers, place.start, place.end, element)


def inserted(raw: bytes, container: Spot, at: int, name: str, value: Value) -> bytes:
    """The document with a field, or with an element whose name does not matter, at a position in a container."""
    inside = value_at(raw, container)
    pairs = fields(inside.data)
    pairs.insert(at, (name, value))
    return _with_fields(raw, container, inside.type, pairs)


def removed(raw: bytes, spot: Spot) -> bytes:
    """The document without the field or element at a spot; the elements behind it in an array move up."""
    inside = value_at(raw, spot[:-1])
    pairs = fields(inside.data)
    del pairs[spot[-1]]
    return _with_fields(raw, spot[:-1], inside.type, pairs)


def moved(raw: bytes, spot: Spot, to: int) -> bytes:
    """The document with the field or element at a spot at another position of the same container."""
    inside = value_at(raw, spot[:-1])
    pairs = fields(inside.data)
    pairs.insert(to, pairs.pop(spot[-1]))
    return _with_fields(raw, spot[:-1], inside.type, pairs)


def reordered(raw: bytes, container: Spot, names: tuple[str, ...]) -> bytes:
    """The document with the fields of a container in the order of ``names``; names not among them come last."""
    inside = value_at(raw, container)
    rank = {name: i for i, name in enumerate(names)}
    pairs = sorted(fields(inside.data), key=lambda pair: rank.get(pair[0], len(rank)))
    return _with_fields(raw, container, inside.type, pairs)


def _with_fields(raw: bytes, container: Spot, kind: int, pairs: list[tuple[str, Value]]) -> bytes:
    made = array(value for _, value in pairs) if kind == ARRAY else Value(OBJECT, document(pairs))
    return replaced(raw, container, made)


def free_name(raw: bytes, container: Spot, wanted: str) -> str:
    """``wanted``, or with the first number behind it that makes it the only one of its name there."""
    taken = {name for name, _ in fields(value_at(raw, container).data)}
    name, count = wanted, 2
    while name in taken:
        name, count = f"{wanted}{count}", count + 1
    return name


Run = TypeVar("Run", bytes, str)


class Step(Struct, frozen=True):
    """One change that can be taken back: a run of bytes that became another, and where the eye was."""

    title: str
    at: int
    old: bytes
    new: bytes
    spot: Spot | None
    join: str = ""


def _step(before: bytes, after: bytes, title: str, spot: Spot | None, join: str) -> Step:
    # The four bytes of the document's length are left out: they differ wherever anything was added.
    a, b = before[4:], after[4:]
    head, tail = alike_ends(a, b)
    return Step(title, head + 4, a[head : len(a) - tail], b[head : len(b) - tail], spot, join)


def alike_ends(a: Run, b: Run) -> tuple[int, int]:
    """How long the beginning is that two runs share, and behind it the end."""
    shorter = min(len(a), len(b))
    head = _largest(shorter, lambda n: a[:n] == b[:n])
    return head, _largest(shorter - head, lambda n: a[len(a) - n :] == b[len(b) - n :])


def _largest(limit: int, holds: Callable[[int], bool]) -> int:
    """The largest n up to ``limit`` for which it holds, by halving: comparing bytes is fast, a loop over them not."""
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
    """The content that began as ``base``, and the steps to and fro. Content is never changed but through a step."""

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
        """What undo would take back, or ""."""
        return self._done[-1].title if self._done else ""

    @property
    def can_redo(self) -> bool:
        """Whether a step was taken back that can be done again."""
        return bool(self._undone)

    def apply(self, content: bytes, title: str, spot: Spot | None = None, join: str = "") -> bool:
        """Make ``content`` the content, as one step; false where it is that already.

        Steps in a row with the same ``join`` are one step.
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
        """Take the last step back, exactly; None where there is none."""
        if not self._done:
            return None
        step = self._done.pop()
        self.content = _swapped(self.content, step, back=True)
        self._undone.append(step)
        return step

    def redo(self) -> Step | None:
        """Do the step again that was taken back last; None where there is none."""
        if not self._undone:
            return None
        step = self._undone.pop()
        self.content = _swapped(self.content, step, back=False)
        self._done.append(step)
        return step
