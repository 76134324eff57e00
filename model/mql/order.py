"""The order and equality of BSON values on a MongoDB server, over the stored bytes.

A key is a tuple that sorts as the server sorts, and equals the keys of all values that the server finds equal: 1,
1.0, Int64(1) and a decimal 1.00 share one key, but not True. Decoded Python values would not do: there 1 == True, and
the order of a document's fields does not count. Source: "Comparison/Sort Order" in the MongoDB manual.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias

from model.errors import Unreadable
from model.values import canonical as c
from model.values import kinds
from model.values.canonical import Value
from model.values.decimals import decimal_of

Element: TypeAlias = tuple[int, bytes]
"""A BSON type and a payload, as in :class:`model.values.canonical.Value`, but cheap to make by the hundred thousand."""
Key: TypeAlias = tuple[Any, ...]

RANK: dict[int, int] = {kind.code: kind.rank for kind in kinds.KINDS}
_UNKNOWN = 126
NUMBERS = kinds.NUMBERS
NULL_KEY: Key = (5,)
NAN_KEY: Key = (10, 0)
ABOVE_ALL: Key = (200,)
"""Sorts after the key of every value."""

_NAN = Decimal("NaN")
_int32 = struct.Struct("<i").unpack
_int64 = struct.Struct("<q").unpack
_uint64 = struct.Struct("<Q").unpack
_double = struct.Struct("<d").unpack
_length = struct.Struct("<i").unpack_from


def field(raw: bytes, name: bytes) -> Element | None:
    """The first top-level field with this name, or None; ``name`` ends with a NUL byte.

    It reads no further than that field, so it finds the ``_id`` of a document that is damaged after it.
    """
    at, end = 4, len(raw) - 1
    while at < end:
        kind = raw[at]
        found = raw.startswith(name, at + 1)
        start = at + 1 + len(name) if found else raw.find(b"\x00", at + 1) + 1
        if start <= 0:
            raise Unreadable(f"The field name at byte {at + 1} does not end.")
        size = kinds.FIXED.get(kind)
        stop = start + size if size is not None else c.element_end(raw, kind, start)
        if stop > end:
            raise Unreadable(f"The value at byte {start} extends beyond its document.")
        if found:
            return kind, raw[start:stop]
        at = stop
    return None


def number(kind: int, data: bytes) -> Any:
    """An int, float or Decimal for a numeric element."""
    if kind == c.INT32:
        return _int32(data)[0]
    if kind == c.INT64:
        return _int64(data)[0]
    if kind == c.DOUBLE:
        return _double(data)[0]
    value = decimal_of(data)
    return _NAN if value.is_nan() else value  # comparing a signalling NaN would raise an error


def key(kind: int, data: bytes) -> Key:
    """The key of one value."""
    made = _KEYS.get(kind)
    found: Key = (RANK.get(kind, _UNKNOWN),) if made is None else made(kind, data)
    return found


def value_key(value: Value) -> Key:
    """The key of one value."""
    return key(value.type, value.data)


def number_key(kind: int, data: bytes) -> Key:
    """Numbers of all types by value; NaN below all others."""
    value = number(kind, data)
    return (10, 1, value) if value == value else NAN_KEY


def text_key(kind: int, data: bytes) -> Key:
    """Strings by their bytes, without the length before them."""
    return RANK[kind], data[4:-1]


def bytes_key(kind: int, data: bytes) -> Key:
    """By the payload as it is stored."""
    return RANK[kind], data


def boolean_key(kind: int, data: bytes) -> Key:
    """False before true."""
    return RANK[kind], data[0]


def date_key(kind: int, data: bytes) -> Key:
    """By the milliseconds since 1970."""
    return RANK[kind], _int64(data)[0]


def timestamp_key(kind: int, data: bytes) -> Key:
    """By the seconds since 1970, then by the increment."""
    return RANK[kind], _uint64(data)[0]


def binary_key(kind: int, data: bytes) -> Key:
    """By the length, then the subtype, then the bytes."""
    return RANK[kind], _length(data)[0], data[4], data[5:]


def regex_key(kind: int, data: bytes) -> Key:
    """By the pattern, then the flags."""
    return RANK[kind], *data.split(b"\x00")[:2]


def object_key(kind: int, data: bytes) -> Key:
    """By the fields in their order: the rank of each type, the name, the value."""
    return RANK[kind], *((RANK.get(k, _UNKNOWN), name, key(k, data[a:b])) for name, k, a, b in c.elements(data))


def array_key(kind: int, data: bytes) -> Key:
    """By the elements in their order."""
    return RANK[kind], *(key(k, data[a:b]) for _, k, a, b in c.elements(data))


def scoped_code_key(kind: int, data: bytes) -> Key:
    """By the code, then its scope."""
    size = _length(data, 4)[0]
    return RANK[kind], data[8 : 7 + size], key(c.OBJECT, data[8 + size :])


_KEYS: dict[int, Callable[[int, bytes], Key]] = kinds.functions("order")


def key_of(element: Element | None) -> Key:
    """The key of a value; a missing field has that of null, as when a server sorts and indexes."""
    return NULL_KEY if element is None else key(*element)


def items(array: bytes) -> list[Element]:
    """The elements of an array's payload."""
    return [(kind, array[a:b]) for _, kind, a, b in c.elements(array)]


def reach(raw: bytes, path: tuple[bytes, ...]) -> list[Element | None]:
    """The values at the end of a dotted path, through arrays of documents; None stands for a missing field.

    The names in ``path`` end with a NUL byte. An array at the end of the path stays whole; :func:`expanded` opens it.
    """
    found = field(raw, path[0])
    if len(path) == 1:
        return [found]
    out: list[Element | None] = []
    _descend(found, path, 1, out)
    return out


def _descend(found: Element | None, path: tuple[bytes, ...], depth: int, out: list[Element | None]) -> None:
    if depth == len(path):
        out.append(found)
    elif found is not None and found[0] == c.OBJECT:
        _descend(field(found[1], path[depth]), path, depth + 1, out)
    elif found is not None and found[0] == c.ARRAY:
        step = path[depth][:-1]
        for name, kind, a, b in c.elements(found[1]):
            inner = found[1][a:b]
            if kind == c.OBJECT:
                _descend(field(inner, path[depth]), path, depth + 1, out)
            # A number in a path also selects an element, which has that number as its name.
            if name == step:
                _descend((kind, inner), path, depth + 1, out)
    else:
        out.append(None)


def expanded(found: list[Element | None]) -> list[Element | None]:
    """The values to compare an equality filter with: for an array, its elements and the array itself."""
    if not any(e is not None and e[0] == c.ARRAY for e in found):
        return found
    out: list[Element | None] = []
    for element in found:
        if element is not None and element[0] == c.ARRAY:
            out.extend(items(element[1]))
        out.append(element)
    return out


def path_of(dotted: str) -> tuple[bytes, ...]:
    """A dotted path as the names that :func:`field` takes."""
    return tuple(c.name_bytes(step) + b"\x00" for step in dotted.split("."))


def sort_key(raw: bytes, path: tuple[bytes, ...], descending: bool) -> Key:
    """The key by which a document is sorted: in an array, the lowest element, or if descending the highest."""
    try:
        found = reach(raw, path)
        if len(found) == 1 and (found[0] is None or found[0][0] != c.ARRAY):
            return key_of(found[0])
        keys = []
        for element in found:
            inner = items(element[1]) if element is not None and element[0] == c.ARRAY else [element]
            # An empty array sorts below null.
            keys.extend([key_of(e) for e in inner] or [(0,)])
        return (max if descending else min)(keys, default=NULL_KEY)
    except (Unreadable, RecursionError):
        return NULL_KEY
