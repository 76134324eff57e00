"""Orders of more documents than memory should hold: keys sorted by runs in temporary files, and stored sorted on
disk.

A key is a tuple of :mod:`model.mql.order`, stored as marshalled bytes behind a checksum, because damaged ones could
end the process. Decimal numbers cannot be marshalled; they become their text under a tag that no key has, and a third
part of the entry says so.
"""

from __future__ import annotations

import heapq
import marshal
import os
import struct
import sys
import tempfile
import threading
import zlib
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, TypeAlias, overload

from model.foundation.input_files import opened
from model.mql.command_error import CommandError
from model.mql.order import Key

Entry: TypeAlias = tuple[tuple[Key, ...], int]
"""The keys of a document, one for each path of its index, and its position."""

TOGETHER, TOGETHER_BYTES = 40_000, 8 << 20
"""A run, which is sorted in memory: at most this many entries, and about this many bytes."""

_DECIMAL = "decimal"
_BLOCK = 512  # entries written or read at once
_WEIGHED = 128  # 1 in _WEIGHED entries is measured
_PIECE = 1 << 20  # bytes read at once
_place = struct.Struct("<Q")
_crc = struct.Struct("<I")


class ReadAt:
    """A file that several threads read at different offsets."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self._lock = threading.Lock()

    def read(self, at: int, size: int) -> bytes:
        """Bytes from an offset; fewer at the end of the file."""
        if hasattr(os, "pread"):
            return os.pread(self._file.fileno(), size, at)
        with self._lock:
            self._file.seek(at)
            return self._file.read(size)

    @property
    def stat(self) -> os.stat_result:
        """The current size and time of the open file."""
        return os.fstat(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def checksum(path: Path, size: int) -> int:
    """The checksum of the first bytes of a file; raises ``OSError`` if it has fewer."""
    found = 0
    with opened(path) as file:
        while size > 0:
            if not (data := file.read(min(size, _PIECE))):
                raise OSError(f"{path} is cut off")
            found, size = zlib.crc32(data, found), size - len(data)
    return found


class Places:
    """Offsets in another file, as numbers of eight bytes on disk."""

    def __init__(self, path: Path, count: int) -> None:
        self._file, self.count = ReadAt(path), count

    def pair(self, at: int, end: int) -> tuple[int, int]:
        """An offset and the next one; after the last one, ``end``."""
        found = self._file.read(8 * at, 16)
        return _place.unpack_from(found)[0], _place.unpack_from(found, 8)[0] if at + 1 < self.count else end

    def some(self, start: int, stop: int, end: int) -> list[int]:
        """Consecutive offsets, and the one after them."""
        found = array("Q", self._file.read(8 * start, 8 * (min(stop + 1, self.count) - start)))
        if sys.byteorder == "big":
            found.byteswap()
        return [*found, end] if stop >= self.count else list(found)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class IndexEntries(Sequence[Entry], ABC):
    """The entries of one index in order, read from where they are stored; a slice is read at once."""

    @abstractmethod
    def _one(self, at: int) -> Entry:
        """The entry at an existing position."""

    @abstractmethod
    def _some(self, start: int, stop: int) -> list[Entry]:
        """The entries from ``start`` to before ``stop``."""

    @overload
    def __getitem__(self, at: int) -> Entry: ...
    @overload
    def __getitem__(self, at: slice) -> list[Entry]: ...
    def __getitem__(self, at: int | slice) -> Entry | list[Entry]:
        places = range(len(self))[at]
        if isinstance(places, int):
            return self._one(places)
        if not places:
            return []
        ends = places[0], places[-1]
        return self._some(min(ends), max(ends) + 1)[:: places.step]


class _Damaged(Exception):
    """An entry does not have its checksum."""


class DiskEntries(IndexEntries):
    """The entries of an index that is stored sorted on disk."""

    def __init__(self, path: Path, places: Path, count: int) -> None:
        self._file, self._places = ReadAt(path), Places(places, count)
        self._end, self._count, self._paths = path.stat().st_size, count, (path, places)

    def __len__(self) -> int:
        return self._count

    def _one(self, at: int) -> Entry:
        return self._some(at, at + 1)[0]

    def _some(self, start: int, stop: int) -> list[Entry]:
        places = self._places.some(start, stop, self._end)
        data = self._file.read(places[0], places[-1] - places[0])
        first = places[0]
        try:
            return [_entry(data[a - first : b - first]) for a, b in pairwise(places)]
        except _Damaged:
            for path in self._paths:
                path.unlink(missing_ok=True)
            said = f"the index in {self._paths[0]} is damaged and was removed; open the dump again"
            raise CommandError(2, said) from None

    def __iter__(self) -> Iterator[Entry]:
        for start in range(0, self._count, _BLOCK):
            yield from self._some(start, min(self._count, start + _BLOCK))

    def close(self) -> None:
        """Close the files."""
        self._file.close()
        self._places.close()


def write_entries(entries: Iterable[Entry], path: Path, places: Path) -> tuple[int, bool]:
    """Write entries in their order; returns how many there were, and whether all keys differ."""
    count, unique, at = 0, True, 0
    before: tuple[Key, ...] | None = None
    with path.open("wb") as file, places.open("wb") as beside:
        for entry in entries:
            data = _packed(entry)
            file.write(data)
            beside.write(_place.pack(at))
            at += len(data)
            count += 1
            unique = unique and entry[0] != before
            before = entry[0]
    return count, unique


def sorted_on_disk(
    rows: Iterable[Entry], descending: Sequence[bool] = (), folder: Path | None = None, together: int | None = None
) -> Iterator[Entry]:
    """Entries sorted by their keys, each ascending or descending, then by position. Only one run is in memory."""
    most = together or TOGETHER
    by = _ordering(descending)
    runs: list[IO[bytes]] = []
    held: list[Entry] = []
    weight = 0
    try:
        for row in rows:
            if not len(held) % _WEIGHED:
                weight += _WEIGHED * len(_packed(row))
            held.append(row)
            if len(held) >= most or weight > TOGETHER_BYTES:
                runs.append(_put_down(sorted(held, key=by), folder))
                held, weight = [], 0
        held.sort(key=by)
        yield from heapq.merge(*map(_back, runs), held, key=by)
    finally:
        for run in runs:
            run.close()


def _ordering(descending: Sequence[bool]) -> Callable[[Entry], Any] | None:
    if not any(descending):
        return None
    return lambda row: (
        [_Down(key) if down else key for key, down in zip(row[0], descending, strict=True)],
        row[1],
    )


class _Down:
    # Reverses the order of a key.
    def __init__(self, key: Key) -> None:
        self.key = key

    def __lt__(self, other: _Down) -> bool:
        return other.key < self.key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Down) and self.key == other.key

    __hash__ = None  # type: ignore[assignment]


def _put_down(rows: list[Entry], folder: Path | None) -> IO[bytes]:
    run = tempfile.TemporaryFile(prefix="palimpsest-", dir=folder)  # noqa: SIM115 - closed with the sorting
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        try:
            data = marshal.dumps(block)
        except ValueError:
            data = marshal.dumps([(_plain(keys), at, True) for keys, at in block])
        run.write(_place.pack(len(data)) + data)
    run.seek(0)
    return run


def _back(run: IO[bytes]) -> Iterator[Entry]:
    while head := run.read(8):
        for row in marshal.loads(run.read(_place.unpack(head)[0])):
            yield row if len(row) == 2 else (_whole(row[0]), row[1])


def _packed(entry: Entry) -> bytes:
    try:
        data = marshal.dumps(entry)
    except ValueError:
        data = marshal.dumps((_plain(entry[0]), entry[1], True))
    return _crc.pack(zlib.crc32(data)) + data


def _entry(data: bytes) -> Entry:
    """The entry in its bytes; raises :class:`_Damaged`."""
    inner = data[_crc.size :]
    if not inner or _crc.unpack_from(data)[0] != zlib.crc32(inner):
        raise _Damaged
    found = marshal.loads(inner)
    return found if len(found) == 2 else (_whole(found[0]), found[1])


def _plain(value: Any) -> Any:
    """A key without decimal numbers."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return (_DECIMAL, str(value)) if isinstance(value, Decimal) else value


def _whole(value: Any) -> Any:
    """The inverse of :func:`_plain`."""
    if not isinstance(value, tuple):
        return value
    if len(value) == 2 and value[0] == _DECIMAL:
        return Decimal(value[1])
    return tuple(map(_whole, value))
