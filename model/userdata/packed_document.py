"""Documents as the journal stores them: BSON, compressed if that pays, without the parts that another document
shares.

The first byte is the form: 0 plain, 1 compressed; 2 and 3 likewise, but only the middle between a beginning and an
end that the other document also has. Older journals have Extended JSON as text, or as bytes if it contains half a
character; both begin with a brace.
"""

from __future__ import annotations

import struct
import zlib

from model import text
from model.errors import Unreadable

_PLAIN, _COMPRESSED, _BETWEEN = 0, 1, 2
_SMALL = 4096  # bytes; smaller documents are not worth the work
_TRIED = 64 << 10  # bytes of a sample that shows whether compressing pays
_PAYS = 0.8
_STEP = 64 << 10
_SHARED = struct.Struct("<II")  # the lengths of the shared beginning and end
_LARGEST = 64 << 20  # bytes; four times what servers take
_DAMAGED = "The journal's copy of the document is damaged, so nothing is known of it; the entry cannot be undone."


def pack(raw: bytes | None, other: bytes | None = None) -> bytes | None:
    """A document for the file; reading it needs ``other`` again. None stays None."""
    if raw is None:
        return None
    if other is None or len(raw) <= _SMALL:
        return _compressed(raw, 0)
    # An edit changes little, so both states share nearly all their bytes at the beginning and the end.
    head = _common(raw, other)
    tail = _common(raw[head:][::-1], other[head:][::-1])
    if head + tail < len(raw) // 2:
        return _compressed(raw, 0)
    packed = _compressed(raw[head : len(raw) - tail], _BETWEEN)
    return packed[:1] + _SHARED.pack(head, tail) + packed[1:]


def unpack(kept: bytes | str | None, other: bytes | None = None) -> bytes | None:
    """The document, from any version of the program; raises ``Unreadable`` if it is damaged."""
    if kept is None:
        return None
    if isinstance(kept, str):
        return text.from_text(kept)
    how = kept[0] if kept else 0
    try:
        if how > _BETWEEN + _COMPRESSED:
            return text.from_text(kept.decode("utf-8", "surrogatepass"))
        if how < _BETWEEN:
            return _whole(_unpacked(kept[1:], how))
        head, tail = _SHARED.unpack_from(kept, 1)
        between = _unpacked(kept[1 + _SHARED.size :], how)
    except (zlib.error, struct.error, UnicodeDecodeError):
        raise Unreadable(_DAMAGED) from None
    if other is None or head + tail > len(other):
        raise Unreadable(_DAMAGED)
    return _whole(other[:head] + between + other[len(other) - tail :])


def _unpacked(data: bytes, how: int) -> bytes:
    """The unpacked bytes, at most as many as a document may have: a few bytes of zlib can stand for any number."""
    if not how & _COMPRESSED:
        return data
    unpacking = zlib.decompressobj()
    found = unpacking.decompress(data, _LARGEST)
    if not unpacking.eof:
        raise Unreadable(_DAMAGED)
    return found


def _whole(raw: bytes) -> bytes:
    if len(raw) < 5 or int.from_bytes(raw[:4], "little") != len(raw):
        raise Unreadable(_DAMAGED)
    return raw


def _compressed(raw: bytes, how: int) -> bytes:
    if len(raw) > _SMALL:
        middle = raw[len(raw) // 2 :][:_TRIED]
        # From the middle, because documents often begin with ids and dates, which say little about the rest.
        if len(zlib.compress(middle, 1)) < _PAYS * len(middle):
            return bytes((how | _COMPRESSED,)) + zlib.compress(raw, 1)
    return bytes((how,)) + raw


def _common(a: bytes, b: bytes) -> int:
    """The length of the beginning that two byte strings share."""
    at, most = 0, min(len(a), len(b))
    # By blocks, then by halves: a loop over the single bytes of 16 MB would take a second.
    while at < most and a[at : at + _STEP] == b[at : at + _STEP]:
        at += _STEP
    if at >= most:
        return most
    low, high = at, min(at + _STEP, most)
    while low < high:
        middle = (low + high + 1) // 2
        if a[at:middle] == b[at:middle]:
            low = middle
        else:
            high = middle - 1
    return low
