"""Two documents side by side as bytes: the places of their fields, and their equal stretches.

Values stay offsets into the documents; they are only copied if necessary.
"""

from __future__ import annotations

import re
import struct
from functools import cache
from typing import TypeAlias, cast

from model.diff.distances import common_prefix
from model.errors import Unreadable
from model.values import canonical as c
from model.values.canonical import Value
from model.values.kinds import FIXED

Span: TypeAlias = tuple[bytes, int, int, int]
"""A field: its name, its type, and start and end of its payload."""

_int32 = struct.Struct("<i").unpack_from
_CHUNK = 1 << 18  # bytes compared at once
_FIRST = 512  # bytes compared first, because a difference may come soon; so few are compared one by one
_COPIED = 4096  # bytes; copying a shorter stretch is faster than a view of it
_FEW = 64  # bytes; in fewer, each field is looked at
_SOME = 32  # small fields counted at once
_WORTH = 1 << 17  # bytes looked at field by field, about 5 ms, before the patterns are compiled, 20 ms each

# How to find a payload's end: its size, or what to add to the length that it begins with, or neither for a regex.
SIZE: list[int] = [FIXED.get(kind, -1) for kind in range(256)]
EXTRA: list[int] = [-1] * 256
for _kind, _size in ((c.STRING, 4), (c.CODE, 4), (c.SYMBOL, 4), (c.OBJECT, 0), (c.ARRAY, 0)):
    EXTRA[_kind] = _size


def spans(raw: bytes, start: int = 0) -> list[Span]:
    """The fields of the document at ``start``; raises ``Unreadable`` if the bytes are not BSON.

    It returns what :func:`model.values.canonical.elements` does, several times as fast.
    """
    if c.walker is not None and (walked := c.walker.spans(raw, start)) is not None:
        return cast("list[Span]", walked)
    if start + 5 > len(raw):
        raise Unreadable(f"There are fewer than the 5 bytes of an empty document at byte {start}.")
    end = start + _int32(raw, start)[0] - 1
    if end >= len(raw) or end < start + 4 or raw[end] != 0:
        raise Unreadable(f"The document at byte {start} is cut off or its length is wrong.")
    found: list[Span] = []
    add, find, size_of, extra_of, length_at = found.append, raw.find, SIZE, EXTRA, _int32
    at = start + 4
    while at < end:
        kind = raw[at]
        name_end = find(0, at + 1, end)
        begin = name_end + 1
        if not begin:
            raise Unreadable(f"The field name at byte {at + 1} does not end.")
        size = size_of[kind]
        if size >= 0:
            stop = begin + size
        else:
            extra = extra_of[kind]
            if extra < 0 or begin + 4 > end:
                stop = c.element_end(raw, kind, begin)
            else:
                stop = begin + extra + length_at(raw, begin)[0]
                if stop < begin + 5:
                    stop = c.element_end(raw, kind, begin)  # raises the error that says what is wrong
        if stop > end:
            raise Unreadable(f"The value at byte {begin} extends beyond its document.")
        add((raw[at + 1 : name_end], kind, begin, stop))
        at = stop
    return found


def checked(raw: bytes) -> bytes:
    """The bytes unchanged; raises ``Unreadable`` if length and end show that they are not one whole document."""
    if len(raw) < 5 or _int32(raw, 0)[0] != len(raw) or raw[-1] != 0:
        raise Unreadable(f"These {len(raw)} bytes are not a BSON document: their length says otherwise.")
    return raw


class Pair:
    """Two documents, and fast answers on where they differ next and whether two stretches are equal."""

    __slots__ = ("_ends", "_from", "_shift", "_until", "_view", "a", "b", "shift")

    def __init__(self, a: bytes, b: bytes) -> None:
        self.a, self.b = checked(a), checked(b)
        self.shift = len(b) - len(a)
        self._view = memoryview(a)
        self._ends: tuple[int, int] | None = None
        # The last search: the documents are equal from one place up to a difference at another, at this distance.
        self._from, self._until, self._shift = 0, -1, 0

    @property
    def ends(self) -> tuple[int, int]:
        """The lengths of the common beginning and, without overlap, of the common end."""
        if self._ends is None:
            most = min(len(self.a), len(self.b))
            prefix = self.common(0, 0, most)
            self._ends = prefix, self._common_end(most - prefix)
        return self._ends

    def common(self, i: int, j: int, most: int) -> int:
        """The number of equal bytes from ``a[i]`` and ``b[j]`` on, at most ``most``."""
        shift = j - i
        if shift == self._shift and self._from <= i <= self._until:
            return min(self._until - i, most)
        a, b = self.a, self.b
        done, high = 0, most if most < _FIRST else _FIRST  # equal before done, different before high
        some, others = a[i : i + high], b[j : j + high]
        if some == others:
            if most > _COPIED:
                done, high = self._stretch(i, j, high, most)
            else:
                done, high = high, most
            if done == most or (most <= _COPIED and a[i + done : i + most] == b[j + done : j + most]):
                return most
            while high - done > _FIRST:
                middle = (done + high) // 2
                if a[i + done : i + middle] == b[j + done : j + middle]:
                    done = middle
                else:
                    high = middle
            some, others = a[i + done : i + high], b[j + done : j + high]
        done += common_prefix(some, others)
        self._from, self._until, self._shift = i, i + done, shift
        return done

    def _stretch(self, i: int, j: int, done: int, most: int) -> tuple[int, int]:
        """Bounds of the first difference after ``done`` equal bytes of a stretch, found without copying it."""
        b, view, step = self.b, self._view, _FIRST
        while done < most:
            if step < _CHUNK:
                step *= 4
            high = min(most, done + step)
            if not b.startswith(view[i + done : i + high], j + done):
                return done, high
            done = high
        return most, most

    def _common_end(self, most: int) -> int:
        """The length of the common end, at most ``most``."""
        b, view, end, shift = self.b, self._view, len(self.a), self.shift
        done, step = 0, 64
        while done < most:
            size = min(step, most - done)
            low = end - done - size
            if not b.startswith(view[low : low + size], low + shift):
                break
            done += size
            step = min(step * 4, _CHUNK)
        else:
            return most
        high = done + size
        while high - done > 1:
            middle = (done + high) // 2
            if b.startswith(view[end - middle : end - done], end - middle + shift):
                done = middle
            else:
                high = middle
        return done

    def equal(self, a0: int, a1: int, b0: int, b1: int) -> bool:
        """Whether ``a[a0:a1] == b[b0:b1]``, without copying if the answer is known or the stretch is long."""
        size = a1 - a0
        if size != b1 - b0:
            return False
        if size <= _COPIED:
            return self.a[a0:a1] == self.b[b0:b1]
        prefix, suffix = self.ends
        if a0 == b0:
            if a1 <= prefix:
                return True
            if a0 <= prefix:
                return False
        if b0 - a0 == self.shift:
            edge = len(self.a) - suffix
            if a0 >= edge:
                return True
            if a1 >= edge:
                return False
        return self.b.startswith(self._view[a0:a1], b0)


def value_at(raw: bytes, span: Span) -> Value:
    """A copy of a span's value."""
    return Value(span[1], raw[span[2] : span[3]])


# --- single fields, found without looking at those before them


def document_end(raw: bytes, start: int) -> int:
    """The offset of the NUL byte that ends the document at ``start``; raises ``Unreadable`` if there is none."""
    if start + 5 > len(raw):
        raise Unreadable(f"There are fewer than the 5 bytes of an empty document at byte {start}.")
    end: int = start + _int32(raw, start)[0] - 1
    if end >= len(raw) or end < start + 4 or raw[end] != 0:
        raise Unreadable(f"The document at byte {start} is cut off or its length is wrong.")
    return end


def field_at(raw: bytes, at: int, end: int) -> Span:
    """The field that begins at ``at``, in a document that ends at ``end``."""
    kind = raw[at]
    name_end = raw.find(0, at + 1, end)
    begin = name_end + 1
    if not begin:
        raise Unreadable(f"The field name at byte {at + 1} does not end.")
    stop = begin + SIZE[kind]
    if stop < begin:
        extra = EXTRA[kind]
        stop = begin + extra + _int32(raw, begin)[0] if extra >= 0 and begin + 4 <= end else 0
        if stop < begin + 5:
            stop = c.element_end(raw, kind, begin)  # other types, or raises the error that says what is wrong
    if stop > end:
        raise Unreadable(f"The value at byte {begin} extends beyond its document.")
    return raw[at + 1 : name_end], kind, begin, stop


def field_around(raw: bytes, at: int, place: int, end: int) -> Span | None:
    """The field that contains the byte at ``place``; None if that is after the last field, which ends at ``end``.

    ``at`` is the start of any field that is not after it.
    """
    by_pattern = place - at > _FEW and _is_worth_patterns(place - at)
    small = True  # whether small fields may follow
    while at < end:
        if by_pattern and small and place - at > _FEW:
            at = _small_fields().match(raw, at, place).end()  # type: ignore[union-attr]  # it matches nothing, too
            if at == end:
                break
        kind = raw[at]
        begin = raw.find(0, at + 1, end) + 1
        stop = begin + SIZE[kind]
        if stop < begin or not begin:
            extra = EXTRA[kind]
            stop = begin + extra + _int32(raw, begin)[0] if extra >= 0 and begin and begin + 4 <= end else 0
            if stop < begin + 5:
                stop = field_at(raw, at, end)[3]  # other types, or raises the error that says what is wrong
        if stop > place:
            if stop > end:
                raise Unreadable(f"The value at byte {begin} extends beyond its document.")
            return raw[at + 1 : begin - 1], kind, begin, stop
        small = stop - at < 256
        at = stop
    return None


def names_of(raw: bytes, at: int, end: int) -> list[bytes]:
    """The names of the fields between ``at`` and ``end``."""
    found: list[bytes] = []
    by_pattern = _is_worth_patterns(end - at)
    while at < end:
        if by_pattern:
            stop = _small_fields().match(raw, at, end).end()  # type: ignore[union-attr]  # it matches nothing, too
            if stop > at:
                found += _small_name().findall(raw, at, stop)
                at = stop
        if at < end:
            name, _, _, at = field_at(raw, at, end)
            found.append(name)
    return found


def count_of(raw: bytes, at: int, end: int) -> int:
    """The number of fields between ``at`` and ``end``."""
    found = 0
    if _is_worth_patterns(end - at):
        while block := _some_small_fields().match(raw, at, end):
            found += _SOME
            at = block.end()
    return found + len(names_of(raw, at, end))


_looked_at = 0  # bytes looked at so far; counted until the patterns pay


def _is_worth_patterns(size: int) -> bool:
    """Whether to search this many bytes by patterns; a start or a short command never compiles them."""
    global _looked_at
    if _looked_at < _WORTH:
        _looked_at += size
    return _looked_at >= _WORTH


@cache
def _small_fields() -> re.Pattern[bytes]:
    """Matches consecutive fields whose size fits one byte: several times as fast as a loop."""
    # The empty alternative is for Python 3.11.0 to 3.11.4, which continue after a partially matched field.
    return re.compile(b"(?s:%s|)*+" % _small_field_pattern())


@cache
def _some_small_fields() -> re.Pattern[bytes]:
    """Matches a fixed number of such fields, to count them."""
    return re.compile(b"(?s:%s){%d}+" % (_small_field_pattern(), _SOME))


@cache
def _small_name() -> re.Pattern[bytes]:
    """Matches one of them, and captures its name."""
    return re.compile(rb"(?s:(?=.([^\0]*+))(?:%s))" % _small_field_pattern())


def _small_field_pattern() -> bytes:

    def sized(extra: int, least: int) -> bytes:
        # The sizes are tried one by one, so sizes above 31 are first narrowed down to a range of 32.
        groups = []
        for low in range(0, 256, 32):
            inner = b"|".join(b"\\x%02x\\0\\0\\0.{%d}+" % (n, n + extra) for n in range(max(low, least), low + 32))
            groups.append(b"(?=[\\x%02x-\\x%02x])(?:%s)" % (low, low + 31, inner) if low else inner)
        return b"(?:%s)" % b"|".join(groups)

    name = rb"[^\0]*+\0"
    of_size: dict[int, bytes] = {}
    for code, size in FIXED.items():
        of_size[size] = of_size.get(size, b"") + b"\\x%02x" % code
    kinds = (
        rb"[\x02\x0d\x0e]" + name + sized(0, 1),
        *(b"[%s]" % codes + name + (b".{%d}+" % size if size else b"") for size, codes in of_size.items()),
        rb"[\x03\x04]" + name + sized(-4, 5),
    )
    return b"|".join(kinds)
