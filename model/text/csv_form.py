"""Documents as CSV, with their types: one column per path; its head names the type if all its values have the same.

``premium.gross (Double)`` is a column whose cells are plain text of that type. The cells of a column without a type
are Extended JSON; one that is not, as in files of other programs, is read as a string. An empty cell means that the
field is missing. Sub-documents are spread over columns, arrays are not.

A row cannot store the order of a document's fields: they get the order of the columns.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TextIO

from msgspec import Struct

from model import text
from model.errors import Refused, Unreadable
from model.text.paths import path_from_text, path_text
from model.values import canonical as c
from model.values import kinds
from model.values.canonical import Value

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets take for the beginning of one
_NUMBERS = ("Int32", "Int64", "Double", "Decimal128")  # a minus makes none of these a formula
LONGEST_CELL = 17 << 20  # characters; the whole document may be one string
_HEAD = re.compile(r"(?P<path>.*?)\s*\((?P<kind>[A-Za-z0-9 ]+)\)\s*", re.DOTALL)
_SPREAD = re.compile(r"[A-Za-z_][\w-]*")


class Column(Struct, frozen=True):
    """One column: the path of its fields, and the type of all of them, "" if they differ."""

    path: tuple[str, ...]
    kind: str

    @property
    def head(self) -> str:
        """The words above it."""
        return f"{path_text(self.path)} ({self.kind})" if self.kind else path_text(self.path)


class ColumnPlan:
    """Collects the columns that documents need, and finds an order that suits as many of them as possible."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, ...], set[str]] = {}
        self._order: list[tuple[str, ...]] = []

    def note(self, raw: bytes) -> None:
        """Add the fields of one document."""
        before = -1
        for path, value in leaves(raw):
            if path not in self._kinds:
                self._kinds[path] = set()
                self._order.insert(before + 1, path)
            self._kinds[path].add(value.kind)
            before = self._order.index(path)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns in the order in which most documents have their fields."""
        kinds = {path: next(iter(found)) if len(found) == 1 else "" for path, found in self._kinds.items()}
        return tuple(Column(path, kinds[path] if kinds[path] in text.KINDS else "") for path in self._order)


def leaves(raw: bytes, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Value]]:
    """The fields of a document that get a column each; a sub-document with odd names stays whole."""
    for name, value in c.fields(raw):
        path = (*above, name)
        names = [inner for inner, _ in c.fields(value.data)] if value.type == c.OBJECT else []
        if names and len(names) == len(set(names)) and all(_SPREAD.fullmatch(inner) for inner in names):
            yield from leaves(value.data, path)
        else:
            yield path, value


def cells(raw: bytes, columns: Sequence[Column]) -> list[str]:
    """The cells of one document's row."""
    values = dict(leaves(raw))
    return [_cell(values.get(column.path), column.kind) for column in columns]


def _cell(value: Value | None, kind: str) -> str:
    if value is None:
        return ""
    if not kind:
        return text.value_text(value)
    made = _CELLS.get(value.type)
    plain = "" if made is None else made(value)
    if plain and _parsed(plain, kind) == value:
        return plain
    written = text.editable(value)
    return written if _parsed(written, kind) == value else text.value_text(value)


def hexadecimal_cell(value: Value) -> str:
    """The bytes as digits."""
    return value.data.hex()


def string_cell(value: Value) -> str:
    """The text without quotes."""
    return str(value.python())


_CELLS: dict[int, Callable[[Value], str]] = kinds.functions("cell")


def _parsed(written: str, kind: str) -> Value | None:
    try:
        return text.parsed(written, kind)
    except Refused:
        return None


def document(row: Sequence[str], columns: Sequence[Column], line: int = 0, name: str = "") -> bytes:
    """The document that a row stands for; raises ``Unreadable`` with the place and the column."""
    tree: dict[str, object] = {}
    for column, cell in zip(columns, row, strict=False):
        if cell == "":
            continue
        try:
            value = text.parsed(cell, column.kind) if column.kind else _untyped(cell)
        except Refused as error:
            raise Unreadable(f"Line {line} of {name}, column {path_text(column.path)}: {error}") from None
        inside = tree
        for step in column.path[:-1]:
            inner = inside.setdefault(step, {})
            if not isinstance(inner, dict):
                raise Unreadable(
                    f"Line {line} of {name}, column {path_text(column.path)}: {step} is a value and holds no fields."
                )
            inside = inner
        inside[column.path[-1]] = value
    return _built(tree)


def _untyped(cell: str) -> Value:
    try:
        return text.value_from_text(cell)
    except Unreadable:
        return Value.of(cell)


def _built(tree: dict[str, object]) -> bytes:
    return c.document(
        (name, part if isinstance(part, Value) else Value.document(_built(part)))  # type: ignore[arg-type]
        for name, part in tree.items()
    )


class TableCounts(Struct):
    """The result of :func:`write`: rows written, those whose fields change their order, documents left out, and cells
    that spreadsheets take for formulas.
    """

    written: int = 0
    rearranged: int = 0
    left_out: int = 0
    formulas: int = 0


def write(documents: Iterable[bytes], columns: Sequence[Column], file: TextIO) -> TableCounts:
    """Write the head and the rows. Each row is read back first; a document that would read differently is left out."""
    out = csv.writer(file, lineterminator="\n")
    out.writerow([column.head for column in columns])
    counts = TableCounts(formulas=sum(column.head.startswith(_FORMULA) for column in columns))
    texts = [at for at, column in enumerate(columns) if column.kind not in _NUMBERS]
    for raw in documents:
        row = cells(raw, columns)
        again = document(row, columns)
        if again != raw:
            if sorted(leaves(again), key=_place) != sorted(leaves(raw), key=_place):
                counts.left_out += 1
                continue
            counts.rearranged += 1
        out.writerow(row)
        counts.written += 1
        counts.formulas += sum(row[at].startswith(_FORMULA) for at in texts)
    return counts


def _place(leaf: tuple[tuple[str, ...], Value]) -> tuple[str, ...]:
    return leaf[0]


def read(file: TextIO, name: str) -> Iterator[bytes]:
    """The documents of a CSV file; raises ``Unreadable`` with the line and what to do."""
    csv.field_size_limit(LONGEST_CELL)
    rows = csv.reader(file, strict=True)
    columns: tuple[Column, ...] = ()
    try:
        for row in rows:
            if not row:
                continue
            if not columns:
                columns = heads(row, name)
                continue
            if len(row) > len(columns):
                raise Unreadable(
                    f"Line {rows.line_num} of {name}: there are {len(row)} cells under {len(columns)} heads; quote the "
                    "cell that holds a comma."
                )
            yield document(row, columns, rows.line_num, name)
    except csv.Error as error:
        raise Unreadable(f"Line {rows.line_num} of {name} is not CSV ({error}); mend the line.") from None
    except UnicodeDecodeError as error:
        raise Unreadable(f"{name} is not text in UTF-8 (byte {error.start}); save it as UTF-8.") from None


def heads(row: Sequence[str], name: str) -> tuple[Column, ...]:
    """The columns named by a head line."""
    made = []
    for head in row:
        found = _HEAD.fullmatch(head)
        kind = found["kind"] if found is not None and found["kind"] in text.KINDS else ""
        written = found["path"] if found is not None and kind else head
        try:
            path = path_from_text(written.strip())
        except Unreadable:
            path = (written.strip(),)
        made.append(Column(tuple(str(step) for step in path), kind))
    twice = next((column for at, column in enumerate(made) if column.path in {each.path for each in made[:at]}), None)
    if twice is not None:
        raise Unreadable(f"{name} has the column {path_text(twice.path)} twice; remove one of them.")
    return tuple(made)
