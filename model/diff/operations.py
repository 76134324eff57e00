"""The kinds of operations in a diff, and the diff as a value.

Every operation has ``op``, its name in rows; ``path``, in the new document for an addition, else in the old one;
``to_path``, the place in the other document; ``old`` and ``new``, None if there is no value. Positions in paths of
the two documents differ if array elements were added, removed or moved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from operator import add
from typing import Any, ClassVar, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from model.diff.text_comparison import Edit, inverse_edits
from model.text import json_object, value_text
from model.text.scalars import quoted
from model.values.canonical import Path, Value


class Add(Struct, frozen=True):
    """A field or element that only the new document has; ``at`` is its index among its new siblings."""

    op: ClassVar[str] = "add"
    path: Path
    new: Value
    at: int

    @property
    def old(self) -> None:
        """Always None."""
        return None

    @property
    def to_path(self) -> Path:
        """Equal to ``path``: a removal has only one place."""
        return self.path

    def inverse(self) -> Remove:
        """The removal that undoes it."""
        return Remove(self.path, self.new, self.at)


class Remove(Struct, frozen=True):
    """A field or element that only the old document has; ``at`` is its index among its old siblings."""

    op: ClassVar[str] = "remove"
    path: Path
    old: Value
    at: int

    @property
    def new(self) -> None:
        """Always None."""
        return None

    @property
    def to_path(self) -> Path:
        """Equal to ``path``: an addition has only one place."""
        return self.path

    def inverse(self) -> Add:
        """The addition that undoes it."""
        return Add(self.path, self.old, self.at)


class Replace(Struct, frozen=True):
    """Another value in one place."""

    op: ClassVar[str] = "replace"
    path: Path
    to_path: Path
    old: Value
    new: Value

    def inverse(self) -> Replace:
        """The replacement that undoes it."""
        return Replace(self.to_path, self.path, self.new, self.old)


class Retype(Struct, frozen=True):
    """A number or text with another BSON type, but an equal value."""

    op: ClassVar[str] = "retype"
    path: Path
    to_path: Path
    old: Value
    new: Value

    def inverse(self) -> Retype:
        """The change of type that undoes it."""
        return Retype(self.to_path, self.path, self.new, self.old)


class Move(Struct, frozen=True):
    """An array element at another place among its siblings; changes inside it are separate operations."""

    op: ClassVar[str] = "move"
    path: Path
    to_path: Path
    old: Value
    new: Value

    def inverse(self) -> Move:
        """The move back."""
        return Move(self.to_path, self.path, self.new, self.old)


def moves(
    base: Path, to_base: Path, starts: Sequence[int], ends: Sequence[int], types: Iterable[int], data: Iterable[bytes]
) -> list[Move]:
    """The moves of unchanged elements in one array, created together, which is faster."""
    values = list(map(Value, types, data))
    paths, to_paths = map(add, repeat(base), zip(starts)), map(add, repeat(to_base), zip(ends))
    return list(map(Move, paths, to_paths, values, values))


class Reorder(Struct, frozen=True):
    """The fields of the document at ``path`` in another order; both lists contain all its field names."""

    op: ClassVar[str] = "reorder"
    path: Path
    to_path: Path
    names_old: tuple[str, ...]
    names_new: tuple[str, ...]

    @property
    def old(self) -> None:
        """None: ``names_old`` has the order."""
        return None

    @property
    def new(self) -> None:
        """None: ``names_new`` has the order."""
        return None

    def inverse(self) -> Reorder:
        """The reorder that restores the old order."""
        return Reorder(self.to_path, self.path, self.names_new, self.names_old)


class TextEdit(Struct, frozen=True):
    """Changes inside a long string: ``edits`` are (at, removed, inserted), counted in characters of the old text."""

    op: ClassVar[str] = "text"
    path: Path
    to_path: Path
    old: Value
    new: Value
    edits: tuple[Edit, ...]

    def inverse(self) -> TextEdit:
        """The edit that restores the old text."""
        return TextEdit(self.to_path, self.path, self.new, self.old, tuple(inverse_edits(list(self.edits))))


Operation: TypeAlias = Add | Remove | Replace | Retype | Move | Reorder | TextEdit


class Diff(Struct, frozen=True):
    """The operations that turn one document into another; false exactly if their bytes are equal.

    ``coarse``: they are correct, but not the fewest, because an exact result would have taken too long.
    """

    operations: tuple[Operation, ...]
    coarse: bool = False

    def __iter__(self) -> Iterator[Operation]:
        return iter(self.operations)

    def __len__(self) -> int:
        return len(self.operations)

    def __bool__(self) -> bool:
        return bool(self.operations)

    def inverse(self) -> Diff:
        """The diff in the other direction."""
        return replace(self, operations=tuple(op.inverse() for op in self.operations))

    def counts(self) -> dict[str, int]:
        """The number of operations by name, without zeros."""
        return dict(Counter(op.op for op in self.operations))

    def rows(self) -> list[dict[str, Any]]:
        """The operations as JSON rows, with values as canonical Extended JSON."""
        return [_row(op) for op in self.operations]

    def row_texts(self) -> Iterator[str]:
        """The rows as lines of JSON, at any depth, which ``json.dumps`` cannot write."""
        for op in self.operations:
            yield _row_text(op)


def _row(op: Operation) -> dict[str, Any]:
    row: dict[str, Any] = {"op": op.op, "path": list(op.path)}
    if isinstance(op, Reorder):
        return {**row, "from": list(op.names_old), "to": list(op.names_new)}
    row["from"] = None if op.old is None else json_object(op.old)
    row["to"] = None if op.new is None else json_object(op.new)
    if isinstance(op, Move):
        row["to_path"] = list(op.to_path)
    if isinstance(op, TextEdit):
        row["edits"] = [list(edit) for edit in op.edits]
    return row


def _row_text(op: Operation) -> str:
    if isinstance(op, Reorder):
        old, new = _names(op.names_old), _names(op.names_new)
    else:
        old = "null" if op.old is None else value_text(op.old)
        new = "null" if op.new is None else value_text(op.new)
    text = f'{{"op": "{op.op}", "path": {_names(op.path)}, "from": {old}, "to": {new}'
    if isinstance(op, Move):
        text += f', "to_path": {_names(op.to_path)}'
    if isinstance(op, TextEdit):
        edits = ", ".join(f"[{at}, {quoted(gone)}, {quoted(come)}]" for at, gone, come in op.edits)
        text += f', "edits": [{edits}]'
    return text + "}"


def _names(steps: tuple[str | int, ...]) -> str:
    return "[" + ", ".join(str(step) if isinstance(step, int) else quoted(step) for step in steps) + "]"
