"""The helpers by which mongosh writes values: ``ObjectId("…")``, ``ISODate("…")``, ``NumberLong(…)`` and their kin."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable

from model.text import scalars
from model.values import canonical as c
from model.values.canonical import Value

CONSTANTS: dict[str, Value] = {
    "undefined": Value(c.UNDEFINED, b""),
    "NaN": Value(c.DOUBLE, scalars.NAN),
    "Infinity": Value(c.DOUBLE, scalars.parse_double("Infinity") or b""),
    "MinKey": Value(c.MIN_KEY, b""),
    "MaxKey": Value(c.MAX_KEY, b""),
    "True": Value(c.BOOLEAN, b"\x01"),
    "False": Value(c.BOOLEAN, b"\x00"),
    "None": Value(c.NULL, b""),
}

HELPERS: dict[str, str] = {
    "ObjectId": 'ObjectId("64f0a1c29b1e8a0012c4d7aa")',
    "ISODate": 'ISODate("2026-11-20T14:26:00Z")',
    "Date": 'Date("2026-11-20T14:26:00Z")',
    "NumberInt": "NumberInt(42)",
    "Int32": "Int32(42)",
    "NumberLong": 'NumberLong("42")',
    "Long": 'Long("42")',
    "Int64": 'Int64("42")',
    "NumberDecimal": 'NumberDecimal("412.80")',
    "Decimal128": 'Decimal128("412.80")',
    "Double": "Double(1.5)",
    "UUID": 'UUID("73ffd264-44b3-4c69-90e8-e7d1dfc035d4")',
    "BinData": 'BinData(0, "SGVsbG8=")',
    "HexData": 'HexData(0, "48656c6c6f")',
    "Timestamp": "Timestamp(1700000000, 1)",
    "RegExp": 'RegExp("^a", "i")',
    "Code": 'Code("text", {})',
    "Symbol": 'Symbol("text")',
    "BSONSymbol": 'BSONSymbol("text")',
    "DBRef": 'DBRef("collection", ObjectId("64f0a1c29b1e8a0012c4d7aa"))',
    "DBPointer": 'DBPointer("db.name", ObjectId("64f0a1c29b1e8a0012c4d7aa"))',
    "MinKey": "MinKey()",
    "MaxKey": "MaxKey()",
}


class NotThat(Exception):
    """A helper was called with arguments that it does not take; ``str()`` says which it takes."""


def _string(args: list[Value], i: int = 0) -> str | None:
    found = scalars.string_of(args[i].data) if i < len(args) and args[i].type == c.STRING else None
    return None if found is None else found[0]


def _number(args: list[Value], i: int = 0) -> int | None:
    if i < len(args) and args[i].type in (c.INT32, c.INT64):
        return int.from_bytes(args[i].data, "little", signed=True)
    text = _string(args, i)
    return int(text) if text is not None and re.fullmatch(r"[+-]?[0-9]{1,20}", text) else None


def _object_id(args: list[Value]) -> Value | None:
    data = scalars.hex_bytes(_string(args) or "")
    return Value(c.OBJECT_ID, data) if data is not None and len(data) == 12 else None


def _date(args: list[Value]) -> Value | None:
    text = _string(args)
    milliseconds = _number(args) if text is None else scalars.iso_milliseconds(text)
    if milliseconds is None or not scalars.INT64_MIN <= milliseconds <= scalars.INT64_MAX:
        return None
    return Value(c.DATE, scalars.int64.pack(milliseconds))


def _int32(args: list[Value]) -> Value | None:
    number = _number(args)
    fits = number is not None and scalars.INT32_MIN <= number <= scalars.INT32_MAX
    return Value(c.INT32, scalars.int32.pack(number)) if fits else None


def _int64(args: list[Value]) -> Value | None:
    number = _number(args)
    fits = number is not None and scalars.INT64_MIN <= number <= scalars.INT64_MAX
    return Value(c.INT64, scalars.int64.pack(number)) if fits else None


def _any_number(args: list[Value]) -> str | None:
    if args and args[0].type == c.DOUBLE:
        return scalars.number_text(scalars.double.unpack(args[0].data)[0])
    number = _number(args)
    return _string(args) if number is None else str(number)


def _decimal(args: list[Value]) -> Value | None:
    data = scalars.parse_decimal(_any_number(args) or "")
    return None if data is None else Value(c.DECIMAL128, data)


def _double(args: list[Value]) -> Value | None:
    if args and args[0].type == c.DOUBLE:
        return args[0]
    data = scalars.parse_double(_any_number(args) or "")
    return None if data is None else Value(c.DOUBLE, data)


def _uuid(args: list[Value]) -> Value | None:
    text = _string(args)
    if text is None or re.fullmatch(r"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}", text) is None:
        return None
    return Value(c.BINARY, scalars.binary_data(4, uuid.UUID(text).bytes))


def _binary(args: list[Value], decode: Callable[[str], bytes | None]) -> Value | None:
    subtype, text = _number(args), _string(args, 1)
    content = None if text is None else decode(text)
    if subtype is None or content is None or not 0 <= subtype <= 255:
        return None
    return Value(c.BINARY, scalars.binary_data(subtype, content))


def _timestamp(args: list[Value]) -> Value | None:
    if len(args) == 1 and args[0].type == c.OBJECT:
        inner = dict(c.fields(args[0].data))
        args = [inner[name] for name in ("t", "i") if name in inner]
    seconds, increment = _number(args), _number(args, 1)
    data = None if seconds is None or increment is None else scalars.timestamp_data(seconds, increment)
    return None if data is None else Value(c.TIMESTAMP, data)


def _regex(args: list[Value]) -> Value | None:
    pattern, flags = _string(args), _string(args, 1) if len(args) > 1 else ""
    if pattern is None or flags is None or set(flags) - set("ilmsux") or "\x00" in pattern:
        return None
    return Value(c.REGEX, pattern.encode() + b"\x00" + "".join(sorted(flags)).encode() + b"\x00")


def _code(args: list[Value]) -> Value | None:
    code = _string(args)
    if code is None or len(args) > 2 or (len(args) == 2 and args[1].type != c.OBJECT):
        return None
    body = scalars.string_data(code)
    if len(args) == 1:
        return Value(c.CODE, body)
    body += args[1].data
    return Value(c.SCOPED_CODE, scalars.int32.pack(len(body) + 4) + body)


def _symbol(args: list[Value]) -> Value | None:
    text = _string(args)
    return None if text is None else Value(c.SYMBOL, scalars.string_data(text))


def _reference(args: list[Value]) -> Value | None:
    if _string(args) is None or not 2 <= len(args) <= 3 or (len(args) == 3 and _string(args, 2) is None):
        return None
    return Value(c.OBJECT, c.document(zip(("$ref", "$id", "$db"), args, strict=False)))


def _pointer(args: list[Value]) -> Value | None:
    text = _string(args)
    if text is None or len(args) != 2 or args[1].type != c.OBJECT_ID:
        return None
    return Value(c.DB_POINTER, scalars.string_data(text) + args[1].data)


_MOST_ARGUMENTS = {"BinData": 2, "HexData": 2, "Timestamp": 2, "RegExp": 2, "Code": 2, "DBRef": 3, "DBPointer": 2}
_MAKE: dict[str, Callable[[list[Value]], Value | None]] = {
    "ObjectId": _object_id,
    "ISODate": _date,
    "Date": _date,
    "NumberInt": _int32,
    "Int32": _int32,
    "NumberLong": _int64,
    "Long": _int64,
    "Int64": _int64,
    "NumberDecimal": _decimal,
    "Decimal128": _decimal,
    "Double": _double,
    "UUID": _uuid,
    "BinData": lambda args: _binary(args, scalars.base64_bytes),
    "HexData": lambda args: _binary(args, scalars.hex_bytes),
    "Timestamp": _timestamp,
    "RegExp": _regex,
    "Code": _code,
    "Symbol": _symbol,
    "BSONSymbol": _symbol,
    "DBRef": _reference,
    "DBPointer": _pointer,
    "MinKey": lambda args: CONSTANTS["MinKey"] if not args else None,
    "MaxKey": lambda args: CONSTANTS["MaxKey"] if not args else None,
}


def call(word: str, args: list[Value]) -> Value:
    """The value that a helper makes of its arguments; raises ``NotThat`` with an example where it makes none."""
    value = _MAKE[word](args) if len(args) <= _MOST_ARGUMENTS.get(word, 1) else None
    if value is None:
        raise NotThat(f"{word} does not take this; write it as in {HELPERS[word]}.")
    return value
