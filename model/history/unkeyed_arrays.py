"""Follows the elements of an array without keys from version to version, as a diff aligns them.

An element without an identity has no name that is valid in all versions. The diff of two neighbouring versions
matches their elements; so each field in the current array is followed to its place in each older version, until a
version set it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from model.diff import Add, Remove, Retype, diff
from model.diff.positions import Positions
from model.errors import Unreadable
from model.values import canonical as c
from model.values.canonical import Path, Value

MOST = 1000  # fields of an array that are followed; a longer one is one field

SetBy = Literal["set", "add", "retype"]

_NAME = "array"  # the field that holds the array in the documents that are compared


class ElementSet(Struct, frozen=True):
    """The setting of a field in an array: how long ago, how, and how many versions before it are missing.

    ``before`` is its value until then; None if it did not exist, or is unknown because more was set than the field.
    """

    age: int
    op: SetBy
    gap: int
    before: Value | None = None


class UnkeyedArray:
    """The fields in one array of the current version, with the setting of each once it is known."""

    def __init__(self, array: Value, keys: Sequence[str]) -> None:
        self._keys = tuple(keys)
        self.now = dict(_leaves(array))
        self.set_by: dict[Path, ElementSet] = {}
        self._open = {path: path for path in self.now}  # places in the current version, and in the oldest one read

    @property
    def settled(self) -> bool:
        """Whether it is known when each field was set."""
        return not self._open

    def older(self, newer: Value, older: Value | None, age: int, op: SetBy, gap: int) -> None:
        """Record that the version of this age changed the array from ``older`` to ``newer`` by ``op``."""
        if older is None or older.type != c.ARRAY or newer.type != c.ARRAY:
            self.set_by |= {path: ElementSet(age, op, gap) for path in self._open}
            self._open = {}
            return
        before, after = (c.document([(_NAME, value)]) for value in (older, newer))
        try:
            changes = diff(before, after, self._keys)
        except Unreadable:
            self.set_by |= {path: ElementSet(age, "set", gap) for path in self._open}
            self._open = {}
            return
        ops = list(changes)
        touched: dict[Path, SetBy] = {
            one.to_path: "add" if isinstance(one, Add) else "retype" if isinstance(one, Retype) else "set"
            for one in ops
            if not isinstance(one, Remove) and one.op not in ("move", "reorder")
        }
        replaced = {one.to_path: one.old for one in ops if one.to_path in touched and one.op != "reorder"}
        back = Positions(changes.inverse())
        still = {}
        for path, place in self._open.items():
            there = (_NAME, *place)
            set_by = next((touched[there[:n]] for n in range(1, len(there) + 1) if there[:n] in touched), None)
            if set_by is None:
                still[path] = back.now(there)[1:]
            else:
                self.set_by[path] = ElementSet(age, set_by, gap, replaced.get(there))
        self._open = still


def followed(array: Value, keys: Sequence[str]) -> UnkeyedArray | None:
    """An array to follow by its fields; None if it is empty, too long, or cannot be split."""
    if array.type != c.ARRAY or len(array.data) <= len(c.EMPTY):
        return None
    try:
        made = UnkeyedArray(array, keys)
    except (Unreadable, OverflowError):
        return None
    return made if made.now else None


def _leaves(array: Value) -> Iterator[tuple[Path, Value]]:
    """The values in an array that hold no others, each with its path; raises ``OverflowError`` beyond the most."""
    found = 0
    stack: list[tuple[Path, Value]] = [((), array)]
    while stack:
        path, value = stack.pop()
        if not value.is_container or (path and len(value.data) <= len(c.EMPTY)):
            found += 1
            if found > MOST:
                raise OverflowError
            yield path, value
            continue
        inner = c.items(value) if value.type == c.ARRAY else None
        steps: list[tuple[str | int, Value]] = (
            list(enumerate(inner)) if inner is not None else list(c.fields(value.data))
        )
        if inner is None and len({step for step, _ in steps}) < len(steps):
            raise OverflowError
        stack += [((*path, step), one) for step, one in reversed(steps)]
