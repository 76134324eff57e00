"""Sorts more rows than fit into memory: sorted runs in temporary files, merged at the end."""

from __future__ import annotations

import heapq
import marshal
import tempfile
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from types import TracebackType
from typing import IO, Any, Self, TypeAlias

from model.errors import Refused

Row: TypeAlias = tuple[Any, ...]

TOGETHER = 50_000
"""Rows to sort in memory; also the size of a run on disk."""


class ExternalSort:
    """Rows with byte keys, returned grouped by key; a context manager that deletes its files."""

    def __init__(self, together: int = TOGETHER) -> None:
        self._together = together
        self._rows: list[tuple[bytes, Row]] = []
        self._runs: list[IO[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for run in self._runs:
            run.close()
        self._rows, self._runs = [], []

    def add(self, key: bytes, row: Row) -> None:
        """Add a row of plain values; raises ``Refused`` if the disk is full."""
        self._rows.append((key, row))
        if len(self._rows) >= self._together:
            self._put_down()

    def _put_down(self) -> None:
        self._rows.sort(key=itemgetter(0))
        try:
            run = tempfile.TemporaryFile(prefix="palimpsest-")  # noqa: SIM115 - closed with the spool
            self._runs.append(run)
            for pair in self._rows:
                marshal.dump(pair, run)
            run.seek(0)
        except OSError as error:
            raise Refused(
                f"What was read cannot be sorted on disk ({error.strerror or error}); make room for temporary files, "
                "set TMPDIR to a folder that has it, or create an index on the id."
            ) from None
        self._rows = []

    def groups(self) -> Iterator[tuple[bytes, Iterator[Row]]]:
        """Each key with its rows, in order of arrival; read a group before taking the next."""
        self._rows.sort(key=itemgetter(0))
        parts = [*map(_back, self._runs), iter(self._rows)]
        for key, pairs in groupby(heapq.merge(*parts, key=itemgetter(0)), key=itemgetter(0)):
            yield key, (row for _, row in pairs)


def _back(run: IO[bytes]) -> Iterator[tuple[bytes, Row]]:
    while True:
        try:
            yield marshal.load(run)
        except EOFError:
            return
