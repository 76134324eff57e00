"""The elements of an array as offsets; finding them is several times faster than finding fields.

An array's names are known, 0, 1, 2 …, so their lengths are known before they are read. All names are then checked at
once.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from model.diff.walk import EXTRA, SIZE, Pair, Span, document_end, field_at
from model.values import canonical as c
from model.values.canonical import Value

_int32 = struct.Struct("<i").unpack_from
_BLOCK = 512  # elements compared at once
_SMALL = 1024  # larger elements are compared without copying, in bytes
_names: list[bytes] = []


def names(low: int, high: int) -> list[bytes]:
    """The names of positions, each with its NUL byte."""
    # Not kept: the names of a million positions would hold 50 MB for the life of the program.
    if high > 200_000:
        return [b"%d\x00" % i for i in range(low, high)]
    if len(_names) < high:
        _names.extend(b"%d\x00" % i for i in range(len(_names), high))
    return _names[low:high]


def decades(low: int, high: int) -> Iterator[tuple[int, int, int]]:
    """Ranges of positions with equally many digits: first, end, and the offset of the payload from the type byte."""
    while low < high:
        digits = len(str(low))
        # Positions are stored as decimal digits, so the distance to the payload only changes at powers of ten.
        end = min(high, 10**digits)
        yield low, end, digits + 2
        low = end


class Elements(Sequence[Span]):
    """Consecutive elements of an array; each is a span with an empty name.

    ``kind`` is their common type if that has a fixed size; else 0.
    """

    __slots__ = ("first", "kept", "kind", "last", "raw", "starts")

    def __init__(self, raw: bytes, starts: list[int], first: int, last: int, kind: int = 0) -> None:
        self.raw, self.starts, self.first, self.last, self.kind = raw, starts, first, last, kind
        self.kept: list[bytes] | None = None  # the payloads of the whole array, kept for repeated use

    def __len__(self) -> int:
        return self.last - self.first

    def __getitem__(self, i: int) -> Span:  # type: ignore[override]
        """One element; 0 is the first of these."""
        i += self.first
        start = self.starts[i]
        return b"", self.raw[start], start + len(str(i)) + 2, self.starts[i + 1]

    def value(self, i: int) -> Value:
        """A copy of the element's value."""
        i += self.first
        start = self.starts[i]
        return Value(self.raw[start], self.raw[start + len(str(i)) + 2 : self.starts[i + 1]])

    def holds(self, data: bytes) -> bool:
        """Whether these bytes occur anywhere in the elements."""
        return self.raw.find(data, self.starts[self.first], self.starts[self.last]) >= 0

    def __iter__(self) -> Iterator[Span]:
        raw, starts = self.raw, self.starts
        for low, high, skip in decades(self.first, self.last):
            for start, end in pairwise(starts[low : high + 1]):
                yield b"", raw[start], start + skip, end

    def part(self, low: int, high: int) -> Elements:
        """The elements from ``low`` up to, but not including, ``high``."""
        some = Elements(self.raw, self.starts, self.first + low, self.first + high, self.kind)
        some.kept = self.kept
        return some

    def types(self) -> list[int]:
        """The type of each element."""
        if self.kind:
            return [self.kind] * len(self)
        raw = self.raw
        return [raw[start] for start in self.starts[self.first : self.last]]

    def payloads(self) -> list[bytes]:
        """The payload of each element, without its type."""
        if self.kept is not None:
            return self.kept[self.first : self.last]
        size = SIZE[self.kind]
        if size > 0:
            data = bytes(self._gathered(size))
            return [data[at : at + size] for at in range(0, len(data), size)]
        raw, starts = self.raw, self.starts
        found: list[bytes] = []
        for low, high, skip in decades(self.first, self.last):
            found += [raw[a + skip : b] for a, b in pairwise(starts[low : high + 1])]
        return found

    def words(self) -> list[int] | None:
        """A number for each element, equal for equal payloads; None unless all have one type of 4 or 8 bytes."""
        size = SIZE[self.kind]
        if size not in (4, 8):
            return None
        view = memoryview(self._gathered(size))
        return (view.cast("i") if size == 4 else view.cast("q")).tolist()

    def _gathered(self, size: int) -> bytearray:
        """The payloads of elements of one size, joined: the first byte of all is copied at once, then the second, and
        so on.
        """
        raw, starts, at = self.raw, self.starts, 0
        data = bytearray(size * len(self))
        for low, high, skip in decades(self.first, self.last):
            stride, end = skip + size, at + size * (high - low)
            first = starts[low] + skip
            last = first + stride * (high - low)
            for k in range(size):
                data[at + k : end : size] = raw[first + k : last - skip : stride]
            at = end
        return data


def elements(raw: bytes, at: int) -> Elements | None:
    """The elements of the array at ``at``; None if its positions are not 0, 1, 2 …

    Raises ``Unreadable`` if the bytes are not BSON.
    """
    if c.walker is not None and (found := c.walker.places(raw, at)) is not None:
        places, kind = found
        return Elements(raw, places, 0, len(places) - 1, kind if SIZE[kind] >= 0 else 0)
    end = document_end(raw, at)
    scan = _Places(raw, at + 4, end)
    starts = scan.starts
    if not scan.find():
        _check(raw, starts, end)
        return None
    starts.append(end)
    return Elements(raw, starts, 0, len(starts) - 1, scan.only) if _in_order(raw, starts) else None


class _Places:
    """Finds where the elements of an array start, if its positions are 0, 1, 2 …

    It goes by ranges of positions with equally many digits: first over elements of one size, then of one type, then
    others. Until the names are checked these may not be elements at all, so their bytes raise no error.
    """

    def __init__(self, raw: bytes, at: int, end: int) -> None:
        self.raw, self.at, self.end = raw, at, end
        self.starts: list[int] = []
        self.only: int = raw[at]  # the type of all elements so far, if it is one type of fixed size

    def find(self) -> bool:
        """Find them all; False if the bytes cannot be elements with such positions."""
        while self.at < self.end:
            low = len(self.starts)
            digits = len(str(low))
            high, skip, kind = 10**digits, digits + 2, self.raw[self.at]
            self._of_one_size(kind, skip, high - low)
            if self.at < self.end and len(self.starts) < high:
                self.only = 0
            self._of_one_type(kind, skip, high - len(self.starts))
            if not self._of_any_type(skip, high - len(self.starts)):
                return False
        return self.at == self.end

    def _of_one_size(self, kind: int, skip: int, most: int) -> None:
        """Skip the rest of a range, if all its elements have one type of fixed size."""
        raw, at, stride = self.raw, self.at, skip + SIZE[kind]
        count = min(most, (self.end - at) // stride)
        if SIZE[kind] >= 0 and count and raw[at : at + count * stride : stride] == bytes((kind,)) * count:
            self.starts += range(at, at + count * stride, stride)
            self.at += count * stride
            if kind != self.only:
                self.only = 0

    def _of_one_type(self, kind: int, skip: int, most: int) -> None:
        """Skip elements of one type that begin with their length; often all do."""
        extra = EXTRA[kind]
        if extra < 0:
            return
        raw, at, add, length_at = self.raw, self.at, self.starts.append, _int32
        last, least, more = self.end - skip - 4, 5 - extra, extra + skip
        for _ in range(most):
            if at > last or raw[at] != kind:
                break
            size = length_at(raw, at + skip)[0]
            if size < least:
                break
            add(at)
            at += size + more
        self.at = at

    def _of_any_type(self, skip: int, most: int) -> bool:
        """Skip elements of any type; False if one cannot be an element with its position."""
        raw, at, end, starts = self.raw, self.at, self.end, self.starts
        for _ in range(most):
            if at >= end:
                break
            starts.append(at)
            kind = raw[at]
            if SIZE[kind] >= 0:
                at += skip + SIZE[kind]
            elif EXTRA[kind] >= 0 and at + skip + 4 <= end:
                size = _int32(raw, at + skip)[0] + EXTRA[kind]
                if size < 5:
                    return False
                at += skip + size
            elif raw[at + 1 : at + skip] == b"%d\x00" % (len(starts) - 1):
                at = field_at(raw, at, end)[3]
            else:
                return False
        self.at = at
        return True


def _in_order(raw: bytes, starts: list[int]) -> bool:
    """Whether the names of the elements at these places are 0, 1, 2 …"""
    for low, high, skip in decades(0, len(starts) - 1):
        first, stride = starts[low], starts[low + 1] - starts[low]
        last = first + stride * (high - low)
        if starts[high - 1] == last - stride and starts[low:high] == list(range(first, last, stride)):
            # For elements of one size, compare the positions digit by digit, each digit for all elements at once.
            joined, size = b"".join(names(low, high)), skip - 1
            if any(raw[first + 1 + k : last : stride] != joined[k::size] for k in range(size)):
                return False
        elif [raw[start + 1 : start + skip] for start in starts[low:high]] != names(low, high):
            return False
    return True


def _check(raw: bytes, starts: list[int], end: int) -> None:
    """Raise ``Unreadable`` if an array's bytes are damaged; other positions are not damage."""
    at = starts[0]
    while at < end:
        at = field_at(raw, at, end)[3]


def trim(pair: Pair, left: Elements, right: Elements) -> tuple[int, int]:
    """The number of equal elements at the start of two whole arrays, and at the end without counting those again."""
    n, m = len(left), len(right)
    a, b = left.starts, right.starts
    common = pair.common(a[0], b[0], min(a[n] - a[0], b[m] - b[0]))
    # The names are equal there, so equal bytes mean equal elements.
    head = min(bisect_right(a, a[0] + common) - 1, bisect_right(b, b[0] + common) - 1)
    tail, most = 0, min(n, m) - head
    while tail < most:
        size = min(_BLOCK, most - tail)
        some, others = left.part(n - tail - size, n - tail), right.part(m - tail - size, m - tail)
        if some.starts[some.last] - some.starts[some.first] > size * _SMALL or not _same(some, others):
            break
        tail += size
    while tail < most:
        x, y = left[n - 1 - tail], right[m - 1 - tail]
        if x[1] != y[1] or not pair.equal(x[2], x[3], y[2], y[3]):
            break
        tail += 1
    return head, tail


def _same(some: Elements, others: Elements) -> bool:
    return some.payloads() == others.payloads() and some.types() == others.types()
