"""The closed set of operations that a diff consists of, and the diff as a value.

Every operation has ``op``, its name in rows; ``path``, in the new document for an addition and in the old one
otherwise; ``to_path``, where the same place is in the other document; ``old`` and ``new``, None where there is no
value. Positions in paths of the two documents differ where array elements were added, removed or moved.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from operator import add
from typing import Any, ClassVar, TypeAlias

from model.diff.text_comparison import Edit, inverse_edits
from model.text import json_object, value_text
from model.text.scalars import quoted
from model.values import canonical as c
from model.values.canonical import Path, Value


def _setters(kind: type, *names: str) -> list[Callable[[object, object], None]]:
    """Setters for the fields of a frozen class under construction, twice as fast as the constructor of dataclasses."""
    return [kind.__dict__[name].__set__ for name in names]


@dataclass(frozen=True, slots=True, init=False)
class Add:
    """A field or an element that only the new document has; ``at`` is its place among its new siblings."""

    op: ClassVar[str] = "add"
    path: Path
    new: Value
    at: int

    def __init__(self, path: Path, new: Value, at: int) -> None:
        _add_path(self, path)
        _add_new(self, new)
        _add_at(self, at)

    @property
    def old(self) -> None:
        """There is none."""
        return None

    @property
    def to_path(self) -> Path:
        """``path`` too: an operation of this kind has one place."""
        return self.path

    def inverse(self) -> Remove:
        """The removal that undoes it."""
        return Remove(self.path, self.new, self.at)


_add_path, _add_new, _add_at = _setters(Add, "path", "new", "at")


@dataclass(frozen=True, slots=True, init=False)
class Remove:
    """A field or an element that only the old document has; ``at`` is its place among its old siblings."""

    op: ClassVar[str] = "remove"
    path: Path
    old: Value
    at: int

    def __init__(self, path: Path, old: Value, at: int) -> None:
        _remove_path(self, path)
        _remove_old(self, old)
        _remove_at(self, at)

    @property
    def new(self) -> None:
        """There is none."""
        return None

    @property
    def to_path(self) -> Path:
        """``path`` too: an operation of this kind has one place."""
        return self.path

    def inverse(self) -> Add:
        """The addition that undoes it."""
        return Add(self.path, self.old, self.at)


_remove_path, _remove_old, _remove_at = _setters(Remove, "path", "old", "at")


@dataclass(frozen=True, slots=True, init=False)
class Replace:
    """Another value at one place."""

    op: ClassVar[str] = "replace"
    path: Path
    to_path: Path
    old: Value
    new: Value

    def __init__(self, path: Path, to_path: Path, old: Value, new: Value) -> None:
        _replace_path(self, path)
        _replace_to_path(self, to_path)
        _replace_old(self, old)
        _replace_new(self, new)

    def inverse(self) -> Replace:
        """The replacement that undoes it."""
        return Replace(self.to_path, self.path, self.new, self.old)


_replace_path, _replace_to_path, _replace_old, _replace_new = _setters(Replace, "path", "to_path", "old", "new")


@dataclass(frozen=True, slots=True)
class Retype:
    """A number or text that became another BSON type without another value."""

    op: ClassVar[str] = "retype"
    path: Path
    to_path: Path
    old: Value
    new: Value

    def inverse(self) -> Retype:
        """The change of type that undoes it."""
        return Retype(self.to_path, self.path, self.new, self.old)


@dataclass(frozen=True, slots=True, init=False)
class Move:
    """An array element at another place among its siblings; changes inside it are operations of their own."""

    op: ClassVar[str] = "move"
    path: Path
    to_path: Path
    old: Value
    new: Value

    def __init__(self, path: Path, to_path: Path, old: Value, new: Value) -> None:
        _move_path(self, path)
        _move_to_path(self, to_path)
        _move_old(self, old)
        _move_new(self, new)

    def inverse(self) -> Move:
        """The move back."""
        return Move(self.to_path, self.path, self.new, self.old)


_move_path, _move_to_path, _move_old, _move_new = _setters(Move, "path", "to_path", "old", "new")


def moves(
    base: Path, to_base: Path, starts: Sequence[int], ends: Sequence[int], types: Iterable[int], data: Iterable[bytes]
) -> list[Move]:
    """The moves of unchanged elements of one array, made all at once, which is faster than one by one."""
    found = list(map(object.__new__, repeat(Move, len(starts))))
    values = c.values(types, data)
    for setter, given in (
        (_move_path, map(add, repeat(base), zip(starts))),
        (_move_to_path, map(add, repeat(to_base), zip(ends))),
        (_move_old, values),
        (_move_new, values),
    ):
        deque(map(setter, found, given), maxlen=0)
    return found


@dataclass(frozen=True, slots=True, init=False)
class Reorder:
    """The fields of a document in another order; ``path`` is the document's. The lists name all its fields."""

    op: ClassVar[str] = "reorder"
    path: Path
    to_path: Path
    names_old: tuple[str, ...]
    names_new: tuple[str, ...]

    def __init__(self, path: Path, to_path: Path, names_old: tuple[str, ...], names_new: tuple[str, ...]) -> None:
        _reorder_path(self, path)
        _reorder_to_path(self, to_path)
        _reorder_old(self, names_old)
        _reorder_new(self, names_new)

    @property
    def old(self) -> None:
        """None: the order is in ``names_old``."""
        return None

    @property
    def new(self) -> None:
        """None: the order is in ``names_new``."""
        return None

    def inverse(self) -> Reorder:
        """The reorder that brings the old order back."""
        return Reorder(self.to_path, self.path, self.names_new, self.names_old)


_reorder_path, _reorder_to_path, _reorder_old, _reorder_new = _setters(
    Reorder, "path", "to_path", "names_old", "names_new"
)


@dataclass(frozen=True, slots=True)
class TextEdit:
    """A long string changed in places: ``edits`` are (at, removed, inserted), in characters of the old text."""

    op: ClassVar[str] = "text"
    path: Path
    to_path: Path
    old: Value
    new: Value
    edits: tuple[Edit, ...]

    def inverse(self) -> TextEdit:
        """The edit that brings the old text back."""
        return TextEdit(self.to_path, self.path, self.new, self.old, tuple(inverse_edits(list(self.edits))))


Operation: TypeAlias = Add | Remove | Replace | Retype | Move | Reorder | TextEdit


@dataclass(frozen=True)
class Diff:
    """The operations that lead from one document to another; false exactly when their bytes are equal.

    ``coarse``: they are right but not the fewest, because the exact answer would have taken too long.
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
        """The diff that leads back."""
        return replace(self, operations=tuple(op.inverse() for op in self.operations))

    def counts(self) -> dict[str, int]:
        """How many operations there are of each name; those that do not occur are left out."""
        return dict(Counter(op.op for op in self.operations))

    def rows(self) -> list[dict[str, Any]]:
        """The operations as JSON rows, values as canonical Extended JSON."""
        return [_row(op) for op in self.operations]

    def row_texts(self) -> Iterator[str]:
        """The rows as lines of JSON; unlike ``json.dumps`` of :meth:`rows`, at any depth."""
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
