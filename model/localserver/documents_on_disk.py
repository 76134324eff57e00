"""The documents of a ``.bson`` file by position, read from the file whenever one is needed."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

from model.errors import Unreadable
from model.localserver.disk_order import Entry, IndexEntries, Places, ReadAt
from model.localserver.physical_ids import identified
from model.mql import order
from model.mql.command_error import CommandError
from model.mql.order import NULL_KEY, Key

CHUNK = 4 << 20  # bytes read at once
_length = struct.Struct("<i").unpack_from


class DocumentsOnDisk(Mapping[int, bytes]):
    """The first ``count`` documents of a file; ``places`` has their offsets, and ``size`` is where they end."""

    def __init__(self, path: Path, places: Path, count: int, size: int) -> None:
        self._path, self.size = path, size
        self._file = ReadAt(path)
        self._places = Places(places, count)
        self._written = self._file.stat.st_mtime_ns

    def __len__(self) -> int:
        return self._places.count

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __getitem__(self, position: int) -> bytes:
        if not 0 <= position < len(self):
            raise KeyError(position)
        place, end = self._places.pair(position, self.size)
        return self._sound(self._file.read(place, end - place), end - place, position)

    def _sound(self, raw: bytes, size: int, position: int) -> bytes:
        if len(raw) != size or _length(raw)[0] != size:
            raise self._changed()
        return raw if raw.startswith(b"_id\x00", 5) else _identified(raw, position)

    def _changed(self) -> CommandError:
        return CommandError(2, f"{self._path} has changed since it was opened; open it again")

    def check(self) -> None:
        """Raise ``CommandError`` if the file has changed since it was opened."""
        now = self._file.stat
        if now.st_mtime_ns != self._written or now.st_size < self.size:
            raise self._changed()

    def stream(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Each position from ``start`` to before ``stop`` with its document, read in large pieces."""
        last = len(self) if stop is None else stop
        if start >= last:
            return
        position, (at, _) = start, self._places.pair(start, self.size)
        end = self._places.pair(last - 1, self.size)[1]
        rest = b""
        while at < end:
            data = rest + self._file.read(at + len(rest), min(CHUNK, end - at - len(rest)))
            begin, length = 0, len(data)
            while begin + 4 <= length:
                size = _length(data, begin)[0]
                if size < 5:
                    raise self._changed()
                if begin + size > length:
                    break
                yield position, self._sound(data[begin : begin + size], size, position)
                position, begin = position + 1, begin + size
            if len(data) == len(rest):
                raise self._changed()
            rest, at = data[begin:], at + begin

    def backwards(self) -> Iterator[tuple[int, bytes]]:
        """Each position with its document, last one first."""
        for position in range(len(self) - 1, -1, -1):
            yield position, self[position]

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._places.close()


class AscendingIds(IndexEntries):
    """The entries of the ``_id`` index for a file with ascending ids: its documents in file order."""

    def __init__(self, documents: DocumentsOnDisk) -> None:
        self._documents = documents

    def __len__(self) -> int:
        return len(self._documents)

    def _one(self, at: int) -> Entry:
        return (id_key(self._documents[at]),), at

    def _some(self, start: int, stop: int) -> list[Entry]:
        return [((id_key(raw),), n) for n, raw in self._documents.stream(start, stop)]


def id_key(raw: bytes) -> Key:
    """The key of a document's ``_id``; that of null if it cannot be read."""
    try:
        return order.key_of(order.field(raw, b"_id\x00"))
    except (Unreadable, RecursionError):
        return NULL_KEY


def _identified(raw: bytes, position: int) -> bytes:
    try:
        return identified(raw, position)
    except Unreadable:
        return raw
