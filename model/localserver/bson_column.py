"""BSON columns: the compressed values of one field in the bucket of a time series, binary data of subtype 7.

A column is a series of literals, which are values as a document has them without a name, and of words of 64 bits
(Simple-8b) with differences to the value before. A control byte stands before words: its high half is the scale of
doubles, its low half the number of words less one. Documents of equal shape are interleaved: behind a reference
document, each of its scalars has literals and words of its own, loaded whenever it has none left.

Source: the notes and sources of MongoDB's server, https://github.com/mongodb/mongo/tree/master/src/mongo/bson/column.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from model.errors import Unreadable
from model.values import canonical as c
from model.values.canonical import Value

MOST = 100_000
"""The most values of a column; servers put at most some thousands into one."""
MOST_BYTES = 64 << 20
"""The most bytes of the documents in a column."""
SUBTYPE = 7

_END = 0
_INTERLEAVED = {0xF0: (c.OBJECT, False), 0xF1: (c.OBJECT, True), 0xF2: (c.ARRAY, True)}
"""The type of interleaved values, and whether arrays are taken apart, too."""
_BITS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 60)  # of a value, by the selector of a word
_SEVEN = {at: (bits, 4, 1) for at, bits in enumerate((2, 3, 4, 5, 7, 10, 14, 24, 52), 1)}
_EIGHT = {
    **{at: (bits, 4, 4) for at, bits in enumerate((4, 5, 7, 10, 14, 24, 52), 1)},
    **{at: (bits, 5, 4) for at, bits in enumerate((4, 6, 9, 13, 23, 51), 8)},
}
"""The bits of a value, the bits of its count of zeros at the end, and how many zeros each counts."""
_REPEATED = 15  # the selector of a word that repeats the last value
_TIMES = 120  # and its unit
_AS_BYTES = 8  # the scale of doubles whose bytes are counted as an integer
_SCALES = {9: 1.0, 10: 10.0, 11: 100.0, 12: 10_000.0, 13: 100_000_000.0}
_TWICE = (c.OBJECT_ID, c.DATE, c.TIMESTAMP)  # differences of differences
_WIDE = (c.DECIMAL128, c.BINARY, c.STRING, c.CODE)  # integers of 128 bits
_SMALL = 16  # bytes of a text or binary value that can be counted
_COUNTER = (6, 5, 3, 1)  # the places of an ObjectId's time among the bytes of its integer
_LATTER = (4, 2, 0)  # and those of its counter
_double = struct.Struct("<d")
_BROKEN = "The column is damaged"
_ENDED = Value(0, b"")


def values(column: bytes, most: int = MOST) -> list[Value | None]:
    """The values of a column in order, None where there is none. Raises ``Unreadable``, also for more than ``most``."""
    found: list[Value | None] = []
    stream, at = _Stream(), 0
    try:
        while column[at] != _END:
            if column[at] in _INTERLEAVED:
                at, stream = _interleaved(column, at, found, most)
                continue
            at, more = stream.take(column, at)
            for value in more:
                _add(found, value, most)
    except (IndexError, struct.error, OverflowError):
        raise Unreadable(f"{_BROKEN}: it ends too early.") from None
    if at != len(column) - 1:
        raise Unreadable(f"{_BROKEN}: it goes on behind its end.")
    return found


def _add(found: list[Value | None], value: Value | None, most: int) -> None:
    if len(found) == most:
        raise Unreadable(f"The column has more than {most:,} values.")
    found.append(value)


class _Stream:
    """The values of one field as far as they are read, and the state that differences start from."""

    def __init__(self, last: Value | None = None) -> None:
        self.last = last
        self._word: int | None = 0  # the last entry of a word, which a later one may repeat
        self._count = _counted(last) if last is not None else 0
        self._speed = 0
        self._is_twice = last is not None and last.type in _TWICE

    def take(self, column: bytes, at: int) -> tuple[int, Iterator[Value | None]]:
        """The values of the literal or the words at an offset, and the offset behind them."""
        control = column[at]
        if control < 0x20 or control in (c.MIN_KEY, c.MAX_KEY):
            if column[at + 1]:
                raise Unreadable(f"{_BROKEN}: a literal has a name.")
            end = c.element_end(column, control, at + 2)
            if end >= len(column):
                raise Unreadable(f"{_BROKEN}: it ends too early.")
            value = Value(control, column[at + 2 : end])
            self.__init__(value)  # type: ignore[misc]
            return end, iter([value])
        end = at + 1 + 8 * ((control & 15) + 1)
        if end >= len(column):
            raise Unreadable(f"{_BROKEN}: it ends too early.")
        return end, self._words(control >> 4, column[at + 1 : end])

    def _words(self, scale: int, words: bytes) -> Iterator[Value | None]:
        if scale != _AS_BYTES and scale not in _SCALES:
            raise Unreadable(f"{_BROKEN}: there is no scale {scale}.")
        if self.last is not None and self.last.type == c.DOUBLE:
            self._count = _scaled(self.last, scale)
        for (word,) in struct.iter_unpack("<Q", words):
            for entry in _entries(word, self._word):
                self._word = entry
                yield None if entry is None else self._next(entry, scale)

    def _next(self, entry: int, scale: int) -> Value | None:
        """The value behind a difference; a difference of 0 repeats it, whatever it is."""
        if not entry and not self._is_twice:
            return self.last
        if self.last is None:
            raise Unreadable(f"{_BROKEN}: it begins with a difference.")
        bits = 128 if self.last.type in _WIDE else 64
        step = (entry >> 1) ^ -(entry & 1)
        if self._is_twice:
            self._speed = step = _wrapped(self._speed + step, bits)
        self._count = _wrapped(self._count + step, bits)
        self.last = _value(self.last, self._count, scale)
        return self.last


def _entries(word: int, last: int | None) -> Iterator[int | None]:
    """The entries of a word, None where a value is missing."""
    selector, further = word & 15, word >> 4 & 15
    if selector == _REPEATED:
        yield from [last] * (_TIMES * (further + 1))
        return
    extended = _SEVEN if selector == 7 else _EIGHT if selector == 8 else {}
    start = 8 if extended else 4
    if (further and extended and further not in extended) or not selector:
        raise Unreadable(f"{_BROKEN}: there is no selector {selector}, {further}.")
    bits, zeros, each = extended[further] if further in extended else (_BITS[selector], 0, 0)
    mask, width = (1 << (bits + zeros)) - 1, bits + zeros
    for place in range(start, 65 - width, width):
        entry = word >> place & mask
        yield None if entry == mask else (entry >> zeros) << (each * (entry & (1 << zeros) - 1))


def _wrapped(number: int, bits: int) -> int:
    """A signed integer of so many bits."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def _counted(value: Value) -> int:
    """The integer that differences are added to; 0 for a value without one."""
    kind, data = value.type, value.data
    if kind == c.OBJECT_ID:
        made = bytearray(8)
        for place, byte in zip(_COUNTER, data[:4], strict=True):
            made[place] = byte
        for place, byte in zip(_LATTER, data[9:], strict=True):
            made[place] = byte
        return int.from_bytes(made, "little")
    if kind in (c.STRING, c.CODE):
        text = data[4:-1]
        return _wrapped(int.from_bytes(text, "big"), 128) if len(text) <= _SMALL and text[:1] != b"\0" else 0
    if kind == c.BINARY:
        return _wrapped(int.from_bytes(data[5:], "little"), 128) if len(data) <= _SMALL + 5 else 0
    if kind in (c.INT32, c.INT64, c.DATE, c.TIMESTAMP, c.BOOLEAN, c.DECIMAL128):
        return int.from_bytes(data, "little", signed=kind != c.BOOLEAN)
    return 0


def _scaled(value: Value, scale: int) -> int:
    """A double as an integer; raises ``Unreadable`` if it is none at this scale."""
    if scale == _AS_BYTES:
        return int.from_bytes(value.data, "little", signed=True)
    number: float = _double.unpack(value.data)[0]
    made = number * _SCALES[scale]
    if not abs(made) <= 2**53:
        raise Unreadable(f"{_BROKEN}: {number} cannot be counted.")
    return int(made + 0.5) if made >= 0 else -int(0.5 - made)


def _value(last: Value, count: int, scale: int) -> Value:
    """A value of the type of the one before it, from its integer."""
    kind = last.type
    if kind == c.DOUBLE:
        if scale == _AS_BYTES:
            return Value(kind, count.to_bytes(8, "little", signed=True))
        return Value(kind, _double.pack(count / _SCALES[scale]))
    if kind == c.BOOLEAN:
        return Value(kind, b"\1" if count else b"\0")
    if kind == c.INT32:
        return Value(kind, _wrapped(count, 32).to_bytes(4, "little", signed=True))
    if kind in (c.INT64, c.DATE, c.TIMESTAMP):
        return Value(kind, count.to_bytes(8, "little", signed=True))
    if kind == c.OBJECT_ID:
        made = (count & (1 << 64) - 1).to_bytes(8, "little")
        time, counter = (bytes(made[place] for place in places) for places in (_COUNTER, _LATTER))
        return Value(kind, time + last.data[4:9] + counter)
    whole = (count & (1 << 128) - 1).to_bytes(16, "little")
    if kind == c.DECIMAL128:
        return Value(kind, whole)
    if kind == c.BINARY and len(last.data) <= _SMALL + 5:
        return Value(kind, last.data[:5] + whole[: len(last.data) - 5])
    if kind in (c.STRING, c.CODE):
        text = whole[::-1].lstrip(b"\0")
        return Value(kind, struct.pack("<i", len(text) + 1) + text + b"\0")
    raise Unreadable(f"{_BROKEN}: a value of the type {last.kind} has no differences.")


# --- documents of equal shape


def _interleaved(column: bytes, at: int, found: list[Value | None], most: int) -> tuple[int, _Stream]:
    """Add the documents that are interleaved at an offset; returns the offset behind them, and the state there."""
    kind, takes_arrays = _INTERLEAVED[column[at]]
    end = c.element_end(column, c.OBJECT, at + 1)
    reference = column[at + 1 : end]
    streams = [_Stream(leaf) for leaf in _leaves(reference, takes_arrays)]
    if not streams:
        raise Unreadable(f"{_BROKEN}: the documents in it have no fields.")
    waiting: list[Iterator[Value | None]] = [iter(()) for _ in streams]
    at, last, left = end, None, MOST_BYTES
    while True:
        row: list[Value | None] = []
        for number, stream in enumerate(streams):
            entry = next(waiting[number], _ENDED)
            if entry is _ENDED:
                if column[at] == _END:
                    break
                at, waiting[number] = stream.take(column, at)
                entry = next(waiting[number], None)
            row.append(entry)
        if len(row) < len(streams):
            break
        made = _filled(reference, takes_arrays, iter(row))
        last = None if made is None else Value(kind, made)
        left -= 0 if made is None else len(made)
        if left < 0:
            raise Unreadable(f"The column has more than {MOST_BYTES >> 20:,} MB of documents.")
        _add(found, last, most)
    if row or any(next(each, _ENDED) is not _ENDED for each in waiting):
        raise Unreadable(f"{_BROKEN}: a document in it is not whole.")
    return at + 1, _Stream(last)


def _is_inside(value: Value, takes_arrays: bool) -> bool:
    return value.type == c.OBJECT or (takes_arrays and value.type == c.ARRAY)


def _leaves(raw: bytes, takes_arrays: bool) -> Iterator[Value]:
    for _, value in c.fields(raw):
        if _is_inside(value, takes_arrays):
            yield from _leaves(value.data, takes_arrays)
        else:
            yield value


def _filled(raw: bytes, takes_arrays: bool, leaves: Iterator[Value | None]) -> bytes | None:
    """The reference document with other scalars; None if nothing is left of one that was not empty."""
    pairs: list[tuple[str, Value]] = []
    fields = c.fields(raw)
    for name, value in fields:
        if _is_inside(value, takes_arrays):
            inner = _filled(value.data, takes_arrays, leaves)
            leaf = None if inner is None else Value(value.type, inner)
        else:
            leaf = next(leaves)
        if leaf is not None:
            pairs.append((name, leaf))
    return c.document(pairs) if pairs or not fields else None
