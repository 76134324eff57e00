"""The output of commands: JSON rows for programs, aligned columns for people, progress on a terminal.

A JSON row is one object on one line, with BSON values as canonical Extended JSON.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import sys
import time
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal

from model import text
from model.commands.standard_streams import say
from model.foundation.hidden_characters import plain
from model.foundation.records import Version
from model.text import scalars
from model.text.names import version_name
from model.text.pace import Pace
from model.text.sizes import size_text
from model.values.canonical import Value

_WIDTHS_FROM = 200  # rows that decide on the widths of columns; later rows are printed as they come
_WIDEST = 80
_MISSING = "·"


NEVER = {"note": "never landed"}
"""The further key of a version that is above the current one."""


def json_row(**fields: object) -> str:
    """One row; a ``Value`` or time becomes canonical Extended JSON, a container of plain values JSON."""
    return "{" + ", ".join(f"{json.dumps(name)}: {_json(value)}" for name, value in fields.items()) + "}"


def _json(value: object) -> str:
    if isinstance(value, dt.datetime):
        value = Value.of(value)
    if isinstance(value, Value):
        return text.value_text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_json, value))}]"
    if isinstance(value, dict):
        return json_row(**value)
    return scalars.quoted(value) if isinstance(value, str) else json.dumps(value)


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = (), progress: Progress | None = None
) -> int:
    """Print rows under a header, in columns as wide as needed; returns the number of rows.

    ``right`` are the indexes of columns with numbers.
    """
    coming = iter(rows)
    first = [[plain(cell) for cell in row] for row in itertools.islice(coming, _WIDTHS_FROM)]
    if progress is not None:
        progress.make_way()
    if not first:
        return 0
    widths = [min(_WIDEST, max(_width(cell) for cell in column)) for column in zip(header, *first, strict=True)]
    say(_line(header, widths, right))
    count = 0
    for row in itertools.chain(first, ([plain(cell) for cell in row] for row in coming)):
        say(_line(row, widths, right))
        count += 1
    return count


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    parts = []
    for i, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        blanks = " " * max(0, width - _width(cell))
        parts.append(blanks + cell if i in right else cell + blanks)
    return "  ".join(parts).rstrip()


def _width(cell: str) -> int:
    """The width of a text on a terminal: wide East Asian characters take two columns, combining characters none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in cell)


def moment(at: dt.datetime | None) -> str:
    """A time in UTC, for a column."""
    return _MISSING if at is None else at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M")


def tell_kept(*versions: Version) -> None:
    """Say beside the output which versions are made from kept states, and what reads the rest."""
    if kept := [each for each in versions if each.kept_on is not None]:
        names = " and ".join(version_name(each.v) for each in kept)
        since = f"{'are' if len(kept) > 1 else 'is'} as kept on {moment(kept[0].kept_on)} UTC"
        say(f"{names} {since}: no version before was read again; `palimpsest history` reads all.", file=sys.stderr)


def size(count: int | None) -> str:
    """A number of bytes, for a column."""
    return _MISSING if count is None else size_text(count)


def number(count: int | None) -> str:
    """A count, for a column."""
    return _MISSING if count is None else f"{count:,}"


class Progress:
    """A checkpoint that shows progress on standard error, if that is a terminal.

    It also shows rows or bytes per second, and the time left.
    """

    def __init__(self, doing: str, unit: Literal["rows", "bytes"] = "rows") -> None:
        self._doing, self._unit, self._shown, self._next = doing, unit, False, time.monotonic() + 0.5
        self._pace = Pace()
        self._active = sys.stderr.isatty()

    def __call__(self, done: int, total: int | None) -> None:
        now = time.monotonic()
        self._pace.reached(done, total, now)
        if not self._active or now < self._next:
            return
        self._next, self._shown = now + 0.1, True
        in_words = size_text if self._unit == "bytes" else "{:,}".format
        of = "" if total is None else f" of {in_words(total)}"
        said = "".join(f", {each}" for each in self._pace.words(self._unit))
        sys.stderr.write(f"\r\x1b[K{self._doing} {in_words(done)}{of}{said}")
        sys.stderr.flush()

    def make_way(self) -> None:
        """Clear the line before rows are printed; if they go to the same terminal, show no more progress."""
        self.__exit__()
        self._active = self._active and not sys.stdout.isatty()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False
