"""The documents of a collection in a compressed file, unpacked only as far as needed."""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from model.localserver.disk_order import Entry, IndexEntries
from model.mql.order import Key
from model.values import canonical as c

Order: TypeAlias = tuple[Sequence[int], Sequence[int]]
"""The positions of documents in an index's order, and those with dated keys, which are yet to be sorted in."""

_length = struct.Struct("<i").unpack_from


class Dated(NamedTuple):
    """A time inside a document: seconds at the start of an ObjectId, or milliseconds of a date."""

    position: int
    offset: int
    kind: int
    earlier: int  # seconds before the opening


class KeptDocuments(Mapping[int, bytes]):
    """Documents by position; a block is unpacked when its first document is needed."""

    def __init__(self, blocks: Sequence[tuple[int, bytes]], count: int, dated: Iterable[Dated], now: int) -> None:
        """``blocks`` have the position of their first document and their bytes; ``dated`` are times before ``now``."""
        self._firsts = [first for first, _ in blocks]
        self._packed: list[bytes | None] = [packed for _, packed in blocks]
        self._unpacked: list[Sequence[bytes]] = [()] * len(blocks)
        self._count, self._dated, self._now = count, tuple(dated), now

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._count))

    def __getitem__(self, position: int) -> bytes:
        if not 0 <= position < self._count:
            raise KeyError(position)
        number = bisect_right(self._firsts, position) - 1
        return self._block(number)[position - self._firsts[number]]

    def _block(self, number: int) -> Sequence[bytes]:
        packed = self._packed[number]
        if packed is not None:  # if two threads come at once, both unpack the same
            self._unpacked[number] = self._documents(packed, self._firsts[number])
            self._packed[number] = None
        return self._unpacked[number]

    def _documents(self, packed: bytes, first: int) -> Sequence[bytes]:
        data = zlib.decompress(packed)
        found, at = [], 0
        while at < len(data):
            end = at + _length(data, at)[0]
            found.append(data[at:end])
            at = end
        for position, offset, kind, earlier in self._dated:
            if first <= position < first + len(found):
                seconds = self._now - earlier
                written = struct.pack(">I", seconds) if kind == c.OBJECT_ID else struct.pack("<q", seconds * 1000)
                raw = found[position - first]
                found[position - first] = raw[:offset] + written + raw[offset + len(written) :]
        return found


class KeptOrder(IndexEntries):
    """The entries of an index whose order is known; each key is made when it is needed.

    It is valid until a document in the index is written.
    """

    def __init__(self, order: Order, key: Callable[[int], tuple[Key, ...]]) -> None:
        """``key`` makes the only key of a document from its position."""
        self._order, self._key = list(order[0]), key
        self._known: dict[int, tuple[Key, ...]] = {}
        for position in order[1]:
            insort(self._order, position, key=lambda at: (key(at), at))

    def __len__(self) -> int:
        return len(self._order)

    def _one(self, at: int) -> Entry:
        position = self._order[at]
        key = self._known.get(position)
        if key is None:
            key = self._known[position] = self._key(position)
        return key, position

    def _some(self, start: int, stop: int) -> list[Entry]:
        return [self._one(at) for at in range(start, stop)]
