"""The typed values of Extended JSON: their reserved names, and the forms inside.

Each function takes the fields of a JSON object, already read, and returns the value that they stand for.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import TypeAlias

from model.errors import Unreadable
from model.text import scalars
from model.values import canonical as c
from model.values import kinds
from model.values.canonical import Value

_Pairs: TypeAlias = list[tuple[str, Value]]


def _text(value: Value | None, name: str, example: str) -> str:
    found = scalars.string_of(value.data) if value is not None and value.type == c.STRING else None
    if found is None:
        raise Unreadable(f"{name} takes text, as in {example}.")
    return found[0]


def _only_value(pairs: _Pairs, example: str) -> Value:
    if len(pairs) != 1:
        typed = example.split('"')[1]
        other = next(name for name, _ in pairs if name != typed)
        raise Unreadable(f"{scalars.quoted(other)} cannot stand beside a typed value; it is written {example}.")
    return pairs[0][1]


def _inner(value: Value, names: set[str], example: str) -> dict[str, Value]:
    found = dict(c.fields(value.data)) if value.type == c.OBJECT else {}
    if set(found) != names:
        raise Unreadable(f"This is not complete, or says too much; it is written {example}.")
    return found


def _whole(text: str, least: int, most: int, name: str) -> int:
    if re.fullmatch(r"[+-]?[0-9]{1,20}", text) is None or not least <= int(text) <= most:
        raise Unreadable(f"{name} takes a whole number from {least} to {most}; {text[:40]!r} is not one.")
    return int(text)


def object_id(pairs: _Pairs) -> Value:
    """``{"$oid": …}``."""
    example = '{"$oid": "64f0a1c29b1e8a0012c4d7aa"}'
    data = scalars.hex_bytes(_text(_only_value(pairs, example), "$oid", example))
    if data is None or len(data) != 12:
        raise Unreadable("An ObjectId has 24 hexadecimal digits.")
    return Value(c.OBJECT_ID, data)


def symbol(pairs: _Pairs) -> Value:
    """``{"$symbol": …}``."""
    example = '{"$symbol": "text"}'
    return Value(c.SYMBOL, scalars.string_data(_text(_only_value(pairs, example), "$symbol", example)))


def int32(pairs: _Pairs) -> Value:
    """``{"$numberInt": …}``."""
    example = '{"$numberInt": "42"}'
    text = _text(_only_value(pairs, example), "$numberInt", example)
    return Value(c.INT32, scalars.int32.pack(_whole(text, scalars.INT32_MIN, scalars.INT32_MAX, "$numberInt")))


def int64(pairs: _Pairs) -> Value:
    """``{"$numberLong": …}``."""
    example = '{"$numberLong": "42"}'
    text = _text(_only_value(pairs, example), "$numberLong", example)
    return Value(c.INT64, scalars.int64.pack(_whole(text, scalars.INT64_MIN, scalars.INT64_MAX, "$numberLong")))


def double(pairs: _Pairs) -> Value:
    """``{"$numberDouble": …}``."""
    example = '{"$numberDouble": "1.5"}'
    data = scalars.parse_double(_text(_only_value(pairs, example), "$numberDouble", example))
    if data is None:
        raise Unreadable("$numberDouble takes a number, Infinity, -Infinity or NaN, in the range of a double.")
    return Value(c.DOUBLE, data)


def decimal(pairs: _Pairs) -> Value:
    """``{"$numberDecimal": …}``."""
    example = '{"$numberDecimal": "412.80"}'
    data = scalars.parse_decimal(_text(_only_value(pairs, example), "$numberDecimal", example))
    if data is None:
        raise Unreadable("$numberDecimal takes a number of at most 34 digits with a point, Infinity or NaN.")
    return Value(c.DECIMAL128, data)


def binary(pairs: _Pairs) -> Value:
    """``{"$binary": …}``, in today's form and the first one."""
    example = '{"$binary": {"base64": "SGVsbG8=", "subType": "00"}}'
    if len(pairs) == 2 and {name for name, _ in pairs} == {"$binary", "$type"}:  # the first edition of Extended JSON
        old = dict(pairs)
        encoded, kind = _text(old["$binary"], "$binary", example), _text(old["$type"], "$type", example)
    else:
        inner = _inner(_only_value(pairs, example), {"base64", "subType"}, example)
        encoded, kind = _text(inner["base64"], "base64", example), _text(inner["subType"], "subType", example)
    content = scalars.base64_bytes(encoded)
    if content is None:
        raise Unreadable("The bytes of $binary are base64, padded with = to a multiple of four characters.")
    if re.fullmatch(r"[0-9a-fA-F]{1,2}", kind) is None:
        raise Unreadable("subType takes two hexadecimal digits, as in 00.")
    return Value(c.BINARY, scalars.binary_data(int(kind, 16), content))


def uuid_binary(pairs: _Pairs) -> Value:
    """``{"$uuid": …}``."""
    example = '{"$uuid": "73ffd264-44b3-4c69-90e8-e7d1dfc035d4"}'
    text = _text(_only_value(pairs, example), "$uuid", example)
    if re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text) is None:
        raise Unreadable(f"A UUID is written {example}.")
    return Value(c.BINARY, scalars.binary_data(4, uuid.UUID(text).bytes))


def code(pairs: _Pairs) -> Value:
    """``{"$code": …}``, with or without a scope."""
    example = '{"$code": "text", "$scope": {}}'
    fields = dict(pairs)
    code = _text(fields.get("$code"), "$code", example)
    if len(pairs) == 1:
        return Value(c.CODE, scalars.string_data(code))
    scope = fields.get("$scope")
    if len(pairs) != 2 or scope is None or scope.type != c.OBJECT:
        raise Unreadable(f"Beside $code only a $scope is allowed, a document: {example}.")
    body = scalars.string_data(code) + scope.data
    return Value(c.SCOPED_CODE, scalars.int32.pack(len(body) + 4) + body)


def timestamp(pairs: _Pairs) -> Value:
    """``{"$timestamp": …}``."""
    example = '{"$timestamp": {"t": 1700000000, "i": 1}}'
    inner = _inner(_only_value(pairs, example), {"t", "i"}, example)
    numbers = []
    for name in ("t", "i"):
        value = inner[name]
        if value.type not in (c.INT32, c.INT64):
            raise Unreadable(f"t and i are whole numbers: {example}.")
        numbers.append(int.from_bytes(value.data, "little", signed=True))
    data = scalars.timestamp_data(*numbers)
    if data is None:
        raise Unreadable("t and i of a timestamp are from 0 to 4294967295.")
    return Value(c.TIMESTAMP, data)


def regex(pairs: _Pairs) -> Value:
    """``{"$regularExpression": …}``."""
    example = '{"$regularExpression": {"pattern": "^a", "options": "i"}}'
    inner = _inner(_only_value(pairs, example), {"pattern", "options"}, example)
    pattern, options = _text(inner["pattern"], "pattern", example), _text(inner["options"], "options", example)
    if "\x00" in pattern or "\x00" in options:
        raise Unreadable("A regular expression cannot hold a NUL character; remove it.")
    parts = (pattern, "".join(sorted(options)))
    return Value(c.REGEX, b"".join(part.encode("utf-8", "surrogateescape") + b"\x00" for part in parts))


def pointer(pairs: _Pairs) -> Value:
    """``{"$dbPointer": …}``."""
    example = '{"$dbPointer": {"$ref": "db.name", "$id": {"$oid": "64f0a1c29b1e8a0012c4d7aa"}}}'
    inner = _inner(_only_value(pairs, example), {"$ref", "$id"}, example)
    if inner["$id"].type != c.OBJECT_ID:
        raise Unreadable(f"The $id of a DBPointer is an ObjectId: {example}.")
    return Value(c.DB_POINTER, scalars.string_data(_text(inner["$ref"], "$ref", example)) + inner["$id"].data)


def date(pairs: _Pairs) -> Value:
    """``{"$date": …}`` with a text or milliseconds."""
    example = '{"$date": "2026-11-20T14:26:00Z"}'
    value = _only_value(pairs, example)
    milliseconds: int | None
    if value.type in (c.INT32, c.INT64):  # the old form, a bare number: mongoexport 2.4, JavaScript, Debezium
        milliseconds = int.from_bytes(value.data, "little", signed=True)
    elif value.type == c.DOUBLE:
        number = scalars.double.unpack(value.data)[0]
        milliseconds = int(number) if number.is_integer() and abs(number) < 2**63 else None
    else:
        milliseconds = scalars.iso_milliseconds(_text(value, "$date", example))
    if milliseconds is None:
        raise Unreadable(f'$date takes {example} or {{"$date": {{"$numberLong": "milliseconds"}}}}.')
    return Value(c.DATE, scalars.int64.pack(milliseconds))


def least(pairs: _Pairs) -> Value:
    """``{"$minKey": 1}``."""
    if _only_value(pairs, '{"$minKey": 1}') != Value(c.INT32, scalars.int32.pack(1)):
        raise Unreadable('MinKey is written {"$minKey": 1}.')
    return Value(c.MIN_KEY, b"")


def greatest(pairs: _Pairs) -> Value:
    """``{"$maxKey": 1}``."""
    if _only_value(pairs, '{"$maxKey": 1}') != Value(c.INT32, scalars.int32.pack(1)):
        raise Unreadable('MaxKey is written {"$maxKey": 1}.')
    return Value(c.MAX_KEY, b"")


def undefined(pairs: _Pairs) -> Value:
    """``{"$undefined": true}``."""
    if _only_value(pairs, '{"$undefined": true}') != Value(c.BOOLEAN, b"\x01"):
        raise Unreadable('Undefined is written {"$undefined": true}.')
    return Value(c.UNDEFINED, b"")


def _listed(pairs: _Pairs, example: str) -> _Pairs:
    value = _only_value(pairs, example)
    found: _Pairs = []
    for pair in c.items(value) if value.type == c.ARRAY else [value]:
        parts = c.items(pair) if pair.type == c.ARRAY else []
        if len(parts) != 2:
            raise Unreadable(f"This takes a list of pairs of a name and a value: {example}.")
        found.append((_text(parts[0], "A name", example), parts[1]))
    return found


def fields(pairs: _Pairs) -> Value:
    """``{"$fields": …}``, a document as the list of its fields."""
    return Value(c.OBJECT, c.document(_listed(pairs, '{"$fields": [["name", "value"]]}')))


def elements(pairs: _Pairs) -> Value:
    """``{"$elements": …}``, an array as the list of its elements."""
    return Value(c.ARRAY, c.document(_listed(pairs, '{"$elements": [["0", "value"]]}')))


def _raw(pairs: _Pairs) -> Value:
    example = '{"$raw": {"type": "01", "hex": "010000000000f87f"}}'
    inner = _inner(_only_value(pairs, example), {"type", "hex"}, example)
    kind = scalars.hex_bytes(_text(inner["type"], "type", example))
    data = scalars.hex_bytes(_text(inner["hex"], "hex", example))
    if kind is None or data is None or len(kind) != 1 or kind[0] not in kinds.BY_CODE:
        raise Unreadable(f"$raw takes a BSON type and bytes, both as hexadecimal digits: {example}.")
    if c.element_end(data, kind[0], 0) != len(data):
        raise Unreadable(f"These {len(data)} bytes are not of type {kinds.BY_CODE[kind[0]].name}.")
    return Value(kind[0], data)


WRAPPERS: dict[str, Callable[[_Pairs], Value]] = {
    **{wrapper.name: kinds.function(wrapper.read) for kind in kinds.KINDS for wrapper in kind.wrappers},
    "$raw": _raw,
}


def unwrap(name: str, pairs: _Pairs) -> Value:
    """The value of an object with the reserved ``name``; raises ``Unreadable`` with its correct form."""
    return WRAPPERS[name](pairs)
