"""BSON values as bytes: typed equality, hashes, and reading and changing a document without decoding it.

A document is ``bytes``. A value inside it is a :class:`Value`: its BSON type and its payload, exactly as
stored. Two values are equal when both are equal byte for byte, so 1, 1.0, Int64(1) and True differ, key order
counts, NaN equals itself, and ``-0.0`` differs from ``0.0``. Source: https://bsonspec.org/spec.html.

A path is a tuple of field names (``str``) and, for arrays, 0-based positions (``int``). Names are UTF-8;
bytes that are not survive as lone surrogates (``surrogateescape``).
"""

from __future__ import annotations

import hashlib
import importlib
import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import bson
from bson import ObjectId
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.errors import BSONError
from msgspec import Struct

from model.errors import Refused, Unreadable
from model.values.kinds import ARRAY as ARRAY
from model.values.kinds import BINARY as BINARY
from model.values.kinds import BOOLEAN as BOOLEAN
from model.values.kinds import BY_CODE, FIXED, PREFIXED, STRINGS
from model.values.kinds import CODE as CODE
from model.values.kinds import DATE as DATE
from model.values.kinds import DB_POINTER as DB_POINTER
from model.values.kinds import DECIMAL128 as DECIMAL128
from model.values.kinds import DOUBLE as DOUBLE
from model.values.kinds import INT32 as INT32
from model.values.kinds import INT64 as INT64
from model.values.kinds import MAX_KEY as MAX_KEY
from model.values.kinds import MIN_KEY as MIN_KEY
from model.values.kinds import NULL as NULL
from model.values.kinds import OBJECT as OBJECT
from model.values.kinds import OBJECT_ID as OBJECT_ID
from model.values.kinds import REGEX as REGEX
from model.values.kinds import SCOPED_CODE as SCOPED_CODE
from model.values.kinds import STRING as STRING
from model.values.kinds import SYMBOL as SYMBOL
from model.values.kinds import TIMESTAMP as TIMESTAMP
from model.values.kinds import UNDEFINED as UNDEFINED

Path: TypeAlias = tuple[str | int, ...]

Element: TypeAlias = tuple[bytes, int, int, int]
"""A field or element of a document: name, type, and start and end of its payload."""

EMPTY = b"\x05\x00\x00\x00\x00"
LONGEST_DOCUMENT = 16 * 1024 * 1024 + 16 * 1024  # the limit of servers, and room for their own additions
_TYPE_BYTES = [bytes((kind,)) for kind in range(256)]

# Dates outside 0001..9999 stay DatetimeMS; bad UTF-8 stays visible instead of losing the whole document.
FORGIVING: CodecOptions[dict[str, Any]] = CodecOptions(
    document_class=dict,
    tz_aware=True,
    uuid_representation=bson.binary.UuidRepresentation.UNSPECIFIED,
    unicode_decode_error_handler="surrogateescape",
    datetime_conversion=DatetimeConversion.DATETIME_AUTO,
)

_int32 = struct.Struct("<i").unpack_from
_pack_int32 = struct.Struct("<i").pack
_COUNTED = {code: length.extra for code, length in PREFIXED.items() if length.extra + length.least == 5}
"""The bytes to add to a payload's length prefix, for types whose payload has at least five bytes."""


class Value(Struct, frozen=True, gc=False):
    """One BSON value: ``type`` is the element type byte (MinKey is 255), ``data`` its payload as stored."""

    type: int
    data: bytes

    @classmethod
    def of(cls, python: Any) -> Value:
        """The BSON value that PyMongo stores for a Python object; raises ``Refused`` if it cannot store it."""
        # The common types at once: a driver's whole document for each value takes many times as long.
        kind = type(python)
        if kind is ObjectId:
            return cls(OBJECT_ID, python.binary)
        if kind is str and python.isascii():
            return cls(STRING, _pack_int32(len(python) + 1) + python.encode() + b"\x00")
        if kind is bool:
            return cls(BOOLEAN, b"\x01" if python else b"\x00")
        if kind is int and -(2**31) <= python < 2**31:
            return cls(INT32, _pack_int32(python))
        try:
            raw = bson.encode({"": python}, codec_options=FORGIVING)
        except (BSONError, OverflowError, ValueError, TypeError, RecursionError) as error:
            said = str(error).rstrip(".")
            raise Refused(f"A value of Python's type {kind.__name__} cannot be stored: {said}.") from None
        # Before the payload stand the length, the type and the empty name; after it, the end of the document.
        return cls(raw[4], raw[6:-1])

    @classmethod
    def document(cls, raw: bytes) -> Value:
        """A whole document as a value."""
        return cls(OBJECT, raw)

    def python(self) -> Any:
        """The Python object that PyMongo decodes; raises ``Unreadable`` if it cannot."""
        if self.type == INT32:
            return int.from_bytes(self.data, "little", signed=True)
        # The usual types at once: the driver decodes only whole documents, which takes many times as long.
        if self.type == STRING and (text := self.data[4:]).isascii() and text[-1:] == b"\x00":
            return text[:-1].decode()
        # A document with this one value under the empty name: type, NUL of the name, payload, NUL of the end.
        body = bytes((self.type, 0)) + self.data + b"\x00"
        return decode(_pack_int32(len(body) + 4) + body)[""]

    @property
    def kind(self) -> str:
        """The type's name as people know it: ``Int32``, ``Boolean``, ``Object``."""
        row = BY_CODE.get(self.type)
        return f"type {self.type}" if row is None else row.name

    @property
    def is_container(self) -> bool:
        """Whether it is a document or an array."""
        return self.type in (OBJECT, ARRAY)


Parted: TypeAlias = tuple[dict[str, Value], bytes]
"""Some fields of a document by name, and the document without them."""


def element_end(raw: bytes, kind: int, start: int) -> int:
    """The offset after a payload of type ``kind`` that starts at ``start``."""
    size = FIXED.get(kind)
    if size is not None:
        return start + size
    try:
        if (prefixed := PREFIXED.get(kind)) is not None:
            return start + prefixed.extra + _length(raw, start, prefixed.least)
        if kind in STRINGS:
            end = start
            for _ in range(STRINGS[kind]):
                end = raw.index(0, end) + 1
            return end
    except (struct.error, ValueError):
        raise Unreadable(f"The document ends in the middle of a value at byte {start}.") from None
    raise Unreadable(f"Byte {start} belongs to a value of the unknown BSON type {kind}.")


def _length(raw: bytes, at: int, least: int) -> int:
    length: int = _int32(raw, at)[0]
    if length < least or at + length > len(raw):
        raise Unreadable(f"The length at byte {at} is {length}, which extends beyond the document.")
    return length


def elements(raw: bytes, start: int = 0) -> Iterator[Element]:
    """Walk the document at ``start``: name as bytes, type, and start and end of the payload.

    Raises ``Unreadable`` if the bytes are not BSON: at once, or after the fields before the damage.
    """
    found: Iterator[Element] = walked(raw, start) if walker is None else walker.elements(raw, start)
    return found


def walked(raw: bytes, start: int = 0) -> Iterator[Element]:
    try:
        end = start + _int32(raw, start)[0] - 1
    except struct.error:
        raise Unreadable("There are fewer than the 5 bytes of an empty document.") from None
    if end >= len(raw) or end < start + 4 or raw[end] != 0:
        raise Unreadable(f"The document at byte {start} is cut off or its length is wrong.")
    yield from walked_from(raw, start + 4, end)


def walked_from(raw: bytes, at: int, end: int) -> Iterator[Element]:
    """Continue the walk at the field that starts at ``at``, in a document that ends at ``end``."""
    find, fixed, counted, length_at = raw.find, FIXED.get, _COUNTED.get, _int32
    while at < end:
        kind = raw[at]
        begin = find(0, at + 1, end) + 1
        if not begin:
            raise Unreadable(f"The field name at byte {at + 1} does not end.")
        size = fixed(kind)
        if size is None and (extra := counted(kind)) is not None and begin + 4 <= end:
            size = length_at(raw, begin)[0] + extra
        stop = begin + size if size is not None else 0
        if stop > end or size is None or (size < 5 and kind in _COUNTED):
            stop = element_end(raw, kind, begin)  # the other types; raises what is wrong
            if stop > end:
                raise Unreadable(f"The value at byte {begin} extends beyond its document.")
        yield raw[at + 1 : begin - 1], kind, begin, stop
        at = stop


def name_of(name: bytes) -> str:
    """A field name as text; invalid UTF-8 becomes lone surrogates."""
    return name.decode("utf-8", "surrogateescape")


def name_bytes(name: str) -> bytes:
    """The inverse of :func:`name_of`; raises ``Unreadable`` for a name that contains NUL or is not text."""
    if name.isascii() and "\x00" not in name:
        return name.encode()
    try:
        data = name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise Unreadable(f"The field name {name!r} holds half a character; retype it.") from None
    if b"\x00" in data:
        raise Unreadable(f"The field name {name!r} holds a NUL character; remove it.")
    return data


def fields(raw: bytes) -> list[tuple[str, Value]]:
    """The fields of a document in stored order, duplicates included."""
    if walker is not None:
        found: list[tuple[str, Value]] | None = walker.fields(raw)
        if found is not None:
            return found
    return [(name_of(name), Value(kind, raw[a:b])) for name, kind, a, b in elements(raw)]


def items(value: Value) -> list[Value]:
    """The elements of an array (or of a document, without their names)."""
    return [Value(kind, value.data[a:b]) for _, kind, a, b in elements(value.data)]


def element(name: str, value: Value) -> bytes:
    """A field as bytes of a document."""
    return b"".join((_TYPE_BYTES[value.type], name_bytes(name), b"\x00", value.data))


def joined(fields: Iterable[bytes]) -> bytes:
    """Build a document from fields made by :func:`element`."""
    body = b"".join(fields)
    return _pack_int32(len(body) + 5) + body + b"\x00"


def document(pairs: Iterable[tuple[str, Value]]) -> bytes:
    """Build a document from fields, in the given order."""
    parts: list[bytes] = []
    for name, value in pairs:
        parts += (_TYPE_BYTES[value.type], name_bytes(name), b"\x00", value.data)
    body = b"".join(parts)
    return _enclosed(body)


def _enclosed(body: bytes) -> bytes:
    """The document that consists of these bytes of fields."""
    return _pack_int32(len(body) + 5) + body + b"\x00"


def array(values: Iterable[Value]) -> Value:
    """Build an array; its positions are the field names."""
    return Value(ARRAY, document((str(i), v) for i, v in enumerate(values)))


def appended(array: Value, value: Value) -> Value:
    """The array with one more element; the others keep their bytes."""
    # Counted, not read from the last name: damaged arrays are named otherwise than 0, 1, 2 …
    count = len(list(elements(array.data)))
    head = b"".join((_TYPE_BYTES[value.type], str(count).encode(), b"\x00"))
    return Value(ARRAY, _enclosed(b"".join((array.data[4:-1], head, value.data))))


def get(raw: bytes, path: Path) -> Value | None:
    """The value at a path; None if there is none. Of duplicate names the first counts."""
    if len(path) == 1:
        return _child(raw, path[0]) if isinstance(path[0], str) else None
    kind, found = OBJECT, None
    for step in path:
        if kind != (ARRAY if isinstance(step, int) else OBJECT) or (found := _child(raw, step)) is None:
            return None
        kind, raw = found.type, found.data
    return Value(OBJECT, raw) if found is None else found


def column(raws: Sequence[bytes], name: str) -> list[bytes] | None:
    """The payloads of a top-level field of many documents; None unless all have it with one fixed-length type.

    Similar documents have it at the same distance from their start or end, so it is looked for there.
    """
    element = _element(raws[0], name) if raws else None
    if element is None or (size := FIXED.get(element[0])) is None:
        return None
    kind, start = element
    head = bytes((kind,)) + name_bytes(name) + b"\x00"
    length = len(head) + size
    start -= len(head)
    for first in (start, start - len(raws[0])):
        cut = slice(first, first + length or None)
        parts = [raw[cut] for raw in raws]
        if all(part.startswith(head) for part in parts):
            return [part[len(head) :] for part in parts]
    return [raw[at[1] : at[1] + size] for raw in raws if (at := _element(raw, name)) is not None and at[0] == kind]


def _element(raw: bytes, name: str) -> tuple[int, int] | None:
    """The type of a top-level field, and the start of its payload."""
    wanted = name_bytes(name)
    return next(((kind, start) for found, kind, start, _ in elements(raw) if found == wanted), None)


def _child(raw: bytes, step: str | int) -> Value | None:
    if isinstance(step, int):
        for i, (_, kind, a, b) in enumerate(elements(raw)):
            if i == step:
                return Value(kind, raw[a:b])
        return None
    if walker is not None:
        found: Value | Literal[False] | None = walker.field(raw, step)
        if found is not False:
            return found
    wanted = name_bytes(step)
    for name, kind, a, b in elements(raw):
        if name == wanted:
            return Value(kind, raw[a:b])
    return None


def put(raw: bytes, path: Path, value: Value) -> bytes:
    """Set the value at a path, in place if it exists, else at the end.

    Creates missing parents as documents. Raises ``Unreadable`` if a parent is neither document nor array.
    """
    if len(path) == 1 and isinstance(path[0], str):
        return _spliced(raw, path[0], value)
    return _change(Value(OBJECT, raw), path, value).data


def _spliced(raw: bytes, name: str, value: Value) -> bytes:
    """Set one field without touching the bytes around it: the first of this name, or a new last field."""
    wanted, last, place = name_bytes(name), 4, None
    for found, _, begin, stop in elements(raw):
        if place is None and found == wanted:
            place = begin - len(wanted) - 2, stop
        last = stop
    start, stop = place or (last, last)
    return _enclosed(b"".join((raw[4:start], element(name, value), raw[stop:last])))


def drop(raw: bytes, path: Path) -> bytes:
    """Remove the value at a path; later elements of an array move up."""
    return _change(Value(OBJECT, raw), path, None).data


def _change(top: Value, path: Path, value: Value | None) -> Value:
    """Set the value at a path, or remove it if ``value`` is None."""
    frames: list[tuple[int, list[tuple[str, Value]], int]] = []  # from the outermost: type, fields, which of them
    here = top
    for depth, step in enumerate(path):
        if here.type != (ARRAY if isinstance(step, int) else OBJECT):
            where = ".".join(map(str, path[:depth])) or "the document"
            raise Unreadable(f"{where} is a value of type {here.kind} and has no {step!r} inside.")
        pairs = fields(here.data)
        at = step if isinstance(step, int) else next((i for i, p in enumerate(pairs) if p[0] == step), len(pairs))
        _check_position(at, len(pairs))
        frames.append((here.type, pairs, at))
        if at == len(pairs):
            if value is None:
                return top
            break
        here = pairs[at][1]
    inner = None if value is None else _inside(path[len(frames) :], value)
    for (kind, pairs, at), step in zip(reversed(frames), reversed(path[: len(frames)]), strict=True):
        name = pairs[at][0] if at < len(pairs) else str(step)
        pairs[at : at + 1] = [(name, inner)] if inner is not None else []
        inner = array(v for _, v in pairs) if kind == ARRAY else Value(OBJECT, document(pairs))
    return inner or top


def _inside(path: Path, value: Value) -> Value:
    """The value inside of new containers, which a path names from the outermost."""
    for step in path:
        if isinstance(step, int):
            _check_position(step, 0)
    for step in reversed(path):
        value = Value(ARRAY if isinstance(step, int) else OBJECT, document([(str(step), value)]))
    return value


def _check_position(at: int, count: int) -> None:
    if at > count or at < 0:
        many = f"{count} element{'' if count == 1 else 's'}"
        raise Unreadable(f"The array has {many}, so there is no position {at} to set.")


def without(raw: bytes, names: Collection[str]) -> bytes:
    """The document without some top-level fields; the other bytes stay."""
    return parted(raw, tuple(names), values=False)[1]


def parted(raw: bytes, names: tuple[str, ...], values: bool = True) -> Parted:
    """Some top-level fields by name (the first of each), and the document without any of them; in one walk.

    ``values=False`` returns only the document.
    """
    if walker is not None:
        found: Parted | None = walker.parted(raw, names, values)
        if found is not None:
            return found
    kept: dict[str, Value] = {}
    parts, kept_from = [], 4
    for at, begin, stop in _named(raw, _stored(names)):
        parts.append(raw[kept_from:at])
        kept_from = stop
        if values and (told := name_of(raw[at + 1 : begin - 1])) not in kept:
            kept[told] = Value(raw[at], raw[begin:stop])
    if not parts:
        return kept, raw
    parts.append(raw[kept_from:-1])
    return kept, _enclosed(b"".join(parts))


def readable_without(raw: bytes, names: tuple[str, ...]) -> bytes:
    """The document without some top-level fields; raises ``Unreadable`` unless it decodes completely."""
    if walker is None or not walker.survives(raw):
        decode(raw)
    return parted(raw, names, values=False)[1]


@lru_cache(maxsize=256)
def _stored(names: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(map(name_bytes, names))


def _named(raw: bytes, names: Collection[bytes]) -> list[tuple[int, int, int]]:
    """For each field with one of the names: the start of the field, the start of its payload, and its end."""
    found, at, size = [], 4, len(raw)
    find, fixed, counted, length_at = raw.find, FIXED.get, _COUNTED.get, _int32
    end = -1 if size < 5 or length_at(raw, 0)[0] != size or raw[-1] else size - 1
    while at < end:
        kind = raw[at]
        begin = find(0, at + 1, end) + 1
        length = fixed(kind)
        if length is None and (extra := counted(kind)) is not None and begin + 4 <= end:
            length = length_at(raw, begin)[0] + extra
            length = None if length < 5 else length
        if not begin or length is None or begin + length > end:
            break
        stop = begin + length
        if raw[at + 1 : begin - 1] in names:
            found.append((at, begin, stop))
        at = stop
    if at == end:
        return found
    # Rare types and damage: the complete walk knows all types and says what is wrong.
    walk = elements(raw)
    return [(a - len(name) - 2, a, b) for name, _, a, b in walk if name in names]


def only(raw: bytes, names: Collection[str]) -> bytes:
    """The document with only some of its top-level fields, in stored order."""
    wanted = {name_bytes(name) for name in names}
    parts = [raw[a - len(name) - 2 : b] for name, _, a, b in elements(raw) if name in wanted]
    body = b"".join(parts)
    return _enclosed(body)


def hash_of(raw: bytes, algorithm: str = "sha1") -> str:
    """The hexadecimal digest of a document's bytes; the hash-versioned pattern stores SHA-1."""
    if algorithm == "sha1":
        return hashlib.sha1(raw, usedforsecurity=False).hexdigest()
    return hashlib.new(algorithm, raw, usedforsecurity=False).hexdigest()


def decode(raw: bytes, options: CodecOptions[dict[str, Any]] = FORGIVING) -> dict[str, Any]:
    """Decode, with forgiving options by default; raises ``Unreadable`` if that fails."""
    try:
        # Such a byte may also be part of anything else; it only decides whether to look closer.
        if DB_POINTER in raw:
            _bounded(raw)
        elif ARRAY in raw and (OBJECT_ID in raw or DECIMAL128 in raw):
            return bson.decode(memoryview(raw + _READ_BEHIND)[: len(raw)], options)
        return bson.decode(raw, options)
    except (bson.errors.BSONError, struct.error, ValueError, OverflowError, RecursionError, TypeError) as error:
        raise Unreadable(f"The document does not decode: {error}.") from None


_READ_BEHIND = bytes(16)
"""Sixteen bytes after a document: PyMongo reads that far past a truncated ObjectId or decimal in an array before it
reports the damage, so these bytes must be ours.
"""


def _bounded(raw: bytes) -> None:
    """Raise ``Unreadable`` if a value extends past its document: PyMongo reads on after a truncated DBPointer."""
    inside = [(0, len(raw))]
    while inside:
        start, stop = inside.pop()
        if start + _length(raw, start, 5) > stop:
            raise Unreadable(f"The document at byte {start} extends beyond the one around it.")
        for _, kind, begin, end in elements(raw, start):
            if kind in (OBJECT, ARRAY):
                inside.append((begin, end))
            elif kind == SCOPED_CODE:
                inside.append((begin + 8 + _length(raw, begin + 4, 1), end))


def encode(python: dict[str, Any]) -> bytes:
    """Encode as PyMongo does, keeping the order of keys."""
    return bson.encode(python, codec_options=FORGIVING)


try:
    walker: Any = importlib.import_module("model.values._walker")
except ImportError:  # not built at installation; the Python code does it all, but slower
    walker = None
else:
    if hasattr(walker, "text"):
        walker.begin(walked, walked_from, Value)
    else:
        walker = None  # built from older source code; the installation was not repeated
