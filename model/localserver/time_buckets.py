"""The buckets in which a server stores a time series, turned back into its measurements."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, cast

from msgspec import Struct

from model.errors import Refused, Unreadable
from model.foundation import kept_files
from model.foundation.input_files import whole_text
from model.localserver import bson_column
from model.localserver.large_file import LargeFile
from model.text.file_documents import bson_documents
from model.values import canonical as c
from model.values.canonical import Value

MOST_BYTES = 64 << 20
"""The most bytes of the measurements of one bucket: servers close a bucket at some hundred kilobytes."""


class Series(Struct, frozen=True):
    """The fields of a time series: its time, and the metadata that a bucket's measurements have in common."""

    time: str = ""
    meta: str = ""

    @classmethod
    def of(cls, options: bytes) -> Series:
        """The fields that the options of its collection name."""
        found = dict(c.fields(options)).get("timeseries")
        if found is None or found.type != c.OBJECT:
            return cls()
        told = {name: str(value.python()) for name, value in c.fields(found.data) if value.type == c.STRING}
        return cls(told.get("timeField", ""), told.get("metaField", ""))


def measurements(bucket: bytes, series: Series) -> list[bytes]:
    """The measurements of a bucket, in order: first the time, then the common metadata, then the other fields.

    A measurement without a field has no entry in that field's column. Raises ``Unreadable`` if it is not a bucket, or
    too large for one.
    """
    fields = dict(c.fields(bucket))
    data, meta = fields.get("data"), fields.get("meta")
    if data is None or data.type != c.OBJECT:
        raise Unreadable("A bucket has its columns under data.")
    columns = dict(c.fields(data.data))
    names = sorted(columns, key=lambda name: name != series.time)  # all others keep their order
    shared = [(series.meta, meta)] if meta is not None and series.meta else []
    rows: dict[int, list[tuple[str, Value]]] = {}
    left = MOST_BYTES
    for name in names:
        for position, value in _column(columns[name]):
            row = rows.setdefault(position, [])
            row.append((name, value))
            left -= len(name) + len(value.data)
            if name == series.time:
                row += shared
                left -= sum(len(each.data) for _, each in shared)
            if left < 0:
                raise Unreadable("The bucket has more measurements than a bucket holds.")
    return [c.document(row) for _, row in sorted(rows.items())]


def _column(column: Value) -> Iterator[tuple[int, Value]]:
    """The values of a column, each with the position of its measurement."""
    if column.type == c.BINARY and column.data[4:5] == bytes((bson_column.SUBTYPE,)):
        yield from ((at, value) for at, value in enumerate(bson_column.values(column.data[5:])) if value is not None)
        return
    if column.type != c.OBJECT:
        raise Unreadable("A column is neither a document nor compressed.")
    for position, value in c.fields(column.data):
        if not position.isdecimal() or len(position) > 9:
            raise Unreadable(f"{position} is not a position in a column.")
        yield int(position), value


class MeasurementsFile(LargeFile):
    """The measurements of a file of buckets too large for memory, unpacked into its cache folder as they are read.

    An unreadable bucket is left out, and counted.
    """

    def __init__(self, path: Path, cache: Path | None, series: Series, said: Callable[[int], str]) -> None:
        """``said`` makes the sentence on a number of unreadable buckets."""
        self._series, self._said = series, said
        self._reading: _Measured | None = None
        super().__init__(path, cache)
        self._are_packed, self._packed = self._packed, True  # from here on: into the cache folder
        self._noted = self._read_note()
        self._kept_count = self._read_count()

    @property
    def trouble(self) -> str:
        """Why not all of it can be read, one sentence; "" if all can."""
        return super().trouble or (self._said(self._left_out) if self._left_out else "")

    @property
    def _left_out(self) -> int:
        """The unreadable buckets, as far as they are read."""
        return self._reading.left_out if self._reading is not None else self._kept_count

    def _unpacked(self, plain: IO[bytes]) -> IO[bytes]:
        self._reading = self._measured(plain)
        return cast("IO[bytes]", self._reading)

    def _opened(self) -> IO[bytes]:
        return cast("IO[bytes]", self._measured(self.path.open("rb")))

    def _measured(self, plain: IO[bytes]) -> _Measured:
        stream = cast("IO[bytes]", gzip.GzipFile(fileobj=plain)) if self._are_packed else plain
        return _Measured(plain, bson_documents(stream, self.path), self._series)

    def _note(self) -> None:
        super()._note()
        self._write("left_out.json", {"buckets": self._left_out})

    def _read_count(self) -> int:
        try:
            found: Any = json.loads(whole_text(self._cache.path / "left_out.json"))
            return int(found["buckets"])
        except (OSError, Refused, KeyError, TypeError, *kept_files.DAMAGE):
            return 0


class _Measured(io.RawIOBase):
    """The measurements in buckets as a stream that can be read and skipped; it ends where the buckets are damaged."""

    def __init__(self, plain: IO[bytes], buckets: Iterator[bytes], series: Series) -> None:
        self._plain, self._buckets, self._series = plain, buckets, series
        self._rest = memoryview(b"")
        self.left_out = 0

    def readable(self) -> bool:
        """True."""
        return True

    def read1(self, size: int = -1) -> bytes:
        """The next bytes, at most those of one bucket; empty at the end."""
        while not self._rest:
            try:
                raw = next(self._buckets, None)
            except Unreadable:  # what is wrong with the file is said of the buckets
                raw = None
            if raw is None:
                return b""
            try:
                self._rest = memoryview(b"".join(measurements(raw, self._series)))
            except Unreadable:
                self.left_out += 1
        size = len(self._rest) if size < 0 else size
        part, self._rest = self._rest[:size], self._rest[size:]
        return bytes(part)

    def read(self, size: int = -1) -> bytes:
        """The next bytes, fewer only at the end."""
        parts = []
        while size and (part := self.read1(size)):
            parts.append(part)
            size = size - len(part) if size > 0 else size
        return b"".join(parts)

    def seek(self, offset: int, whence: int = 0) -> int:
        """Skip bytes from the beginning."""
        left = offset
        while left > 0 and (part := self.read1(left)):
            left -= len(part)
        return offset - left

    def close(self) -> None:
        """Close the file of buckets."""
        self._plain.close()
        super().close()
