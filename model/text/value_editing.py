"""A single value as the text that a person edits, and the value that the text stands for.

``parsed(editable(value, zone), value.kind, zone) == value`` for every value.
"""

from __future__ import annotations

import json
import re

from model.errors import Refused, Unreadable
from model.text import scalars
from model.text.dates import date_text, milliseconds_from
from model.text.display import number_shown
from model.text.json_reader import read
from model.text.json_writer import Style, write
from model.values import canonical as c
from model.values.canonical import Value

KINDS: tuple[str, ...] = (
    "String",
    "Int32",
    "Int64",
    "Double",
    "Decimal128",
    "Boolean",
    "Date",
    "ObjectId",
    "Object",
    "Array",
    "Null",
    "Binary",
    "Regex",
    "Timestamp",
    "Code",
    "Code with scope",
    "MinKey",
    "MaxKey",
)
"""The types that a person can choose; the deprecated ones can be kept, not chosen."""

_NUMBERS = {name: kind for kind, name in c.TYPE_NAMES.items()}
_BLANKS = {
    "String": '""',
    "Int32": "0",
    "Int64": "0",
    "Double": "0.0",
    "Decimal128": "0",
    "Boolean": "false",
    "Date": "1970-01-01",
    "ObjectId": 'ObjectId("000000000000000000000000")',
    "Object": "{}",
    "Array": "[]",
    "Binary": 'BinData(0, "")',
    "Regex": "/(?:)/",
    "Timestamp": "Timestamp(0, 0)",
    "Code": 'Code("")',
    "Code with scope": 'Code("", {})',
    "Symbol": 'Symbol("")',
    "DBPointer": 'DBPointer("", ObjectId("000000000000000000000000"))',
}
_WORDS = {c.NULL: "null", c.UNDEFINED: "undefined", c.MIN_KEY: "MinKey", c.MAX_KEY: "MaxKey"}
_HINTS = {
    "Boolean": "write true or false",
    "Date": "write it as 2026-11-20 14:26, with seconds and zone if need be",
    "ObjectId": "write 24 hexadecimal digits",
    "Object": 'write it as {"name": "value"}',
    "Array": 'write it as ["value", "value"]',
    "Binary": 'write it as BinData(0, "SGVsbG8=") or UUID("…")',
    "Regex": "write it as /pattern/i",
    "Timestamp": "write it as Timestamp(1700000000, 1)",
    "Code": 'write it as Code("text")',
    "Code with scope": 'write it as Code("text", {})',
}


def blank(kind: str) -> Value:
    """The simplest value of a type, for a new field."""
    return parsed(_BLANKS.get(kind, ""), kind)


def editable(value: Value, zone: str = "UTC") -> str:
    """The text of a value in full; :func:`parsed` reads it back exactly."""
    kind, data = value.type, value.data
    if kind in (c.INT32, c.INT64):
        return str(int.from_bytes(data, "little", signed=True))
    if kind == c.DOUBLE and "(" not in number_shown(data):
        return number_shown(data)
    if kind == c.DECIMAL128:
        return scalars.decimal_text(data) or write(value)
    if kind == c.DATE:
        return date_text(scalars.int64.unpack(data)[0], zone)
    if kind == c.OBJECT_ID:
        return f'ObjectId("{data.hex()}")'
    if kind == c.REGEX:
        pattern, flags = scalars.regex_parts(data)
        text = f"/{pattern}/{flags}"
        return text if _reads_as(text, value) else write(value)
    if kind == c.TIMESTAMP:
        return "Timestamp({}, {})".format(*scalars.timestamp_parts(data))
    if kind == c.OBJECT or kind == c.ARRAY:
        return write(value, Style("exact", indent="  "))
    return _WORDS.get(kind) or write(value)


def _reads_as(text: str, value: Value) -> bool:
    try:
        return read(text, loose=True) == value
    except Unreadable:
        return False


def parsed(text: str, kind: str, zone: str = "UTC") -> Value:
    """The value of the type called ``kind`` that the text stands for; raises ``Refused`` with a hint.

    Text in double quotes is JSON for a String; without quotes it is taken as it stands. Other types also take
    a text in double quotes, so that changing a field's type keeps its text.
    """
    number = _NUMBERS.get(kind)
    if number is None:
        raise Refused(f"{kind!r} is no type; choose one of {', '.join(KINDS)}.")
    if number == c.STRING:
        return _string(text)
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = _unquoted(text).strip()
    if number in _WORDS:  # the type has only one value
        return Value(number, b"")
    if text[:1] == "{" and number != c.OBJECT:
        return _notation(text, number, kind)
    simple = _simple(text, number, zone)
    return simple if simple is not None else _notation(text, number, kind)


def _unquoted(text: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        raise Unreadable(
            'Inside quotes a " is written \\", a backslash \\\\, a line break \\n; correct it or leave the quotes out.'
        ) from None
    return str(value)


def _string(text: str) -> Value:
    if text[:1] == "{" and '"$raw"' in text:
        try:
            value = read(text)
        except Unreadable:
            value = Value(c.NULL, b"")
        if value.type == c.STRING:
            return value
    quoted = len(text.strip()) > 1 and text.strip()[0] == text.strip()[-1] == '"'
    return Value(c.STRING, scalars.string_data(_unquoted(text.strip()) if quoted else text))


def _simple(text: str, number: int, zone: str) -> Value | None:
    """The value of a type whose text is no notation; None for other types."""
    if number in (c.INT32, c.INT64):
        return _integer(text, number)
    if number == c.DOUBLE:
        data = scalars.parse_double(text.removeprefix("+"))
        if data is None:
            raise Unreadable(_number_hint("Double", text, "write a number, Infinity or NaN"))
        return Value(c.DOUBLE, data)
    if number == c.DECIMAL128:
        data = scalars.parse_decimal(text)
        if data is None:
            raise Unreadable(_number_hint("Decimal128", text, "write a number of at most 34 digits"))
        return Value(c.DECIMAL128, data)
    if number == c.DATE and not re.match(r"(new\s|ISODate|Date)", text):
        return Value(c.DATE, scalars.int64.pack(milliseconds_from(text, zone)))
    if number == c.OBJECT_ID and (data := scalars.hex_bytes(text)) is not None and len(data) == 12:
        return Value(c.OBJECT_ID, data)
    if number == c.BOOLEAN and text.lower() in ("true", "false"):
        return Value(c.BOOLEAN, b"\x01" if text.lower() == "true" else b"\x00")
    return None


def _number_hint(kind: str, text: str, otherwise: str) -> str:
    if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", text):
        return f"Not a {kind}: use a point."
    if re.fullmatch(r"[+-]?[0-9]{1,3}([ ,.'’\u202f\xa0][0-9]{3})+([.,][0-9]+)?", text):
        return f"Not a {kind}: leave out the separators between thousands and use a point."
    return f"Not a {kind}: {otherwise}."


def _integer(text: str, number: int) -> Value:
    bits = 32 if number == c.INT32 else 64
    whole = re.fullmatch(r"([+-]?[0-9]{1,40})(?:\.0*)?", text)
    if whole is None:
        hint = "a whole number has no fraction; choose Double or Decimal128"
        if re.fullmatch(r"[+-]?[0-9]*[.,][0-9]+", text) is None:
            hint = "write a whole number"
        raise Unreadable(f"Not an Int{bits}: {hint}.")
    count = int(whole.group(1))
    if not -(2 ** (bits - 1)) <= count < 2 ** (bits - 1):
        instead = "Int64 or Decimal128" if bits == 32 else "Decimal128"
        raise Unreadable(f"Not an Int{bits}: {count} is too large; choose {instead}.")
    return Value(number, count.to_bytes(bits // 8, "little", signed=True))


def _notation(text: str, number: int, kind: str) -> Value:
    """The value of a text in Extended JSON or mongosh's notation, if it is of the type wanted."""
    article = "an" if kind[0] in "AIO" else "a"
    try:
        value = read(text)
    except Unreadable:
        try:
            value = read(text, loose=True)
        except Unreadable as error:
            if number in (c.OBJECT, c.ARRAY):
                raise Unreadable(f"Not {article} {kind}: {str(error)[0].lower()}{str(error)[1:]}") from None
            raise Unreadable(f"Not {article} {kind}: {_HINTS.get(kind, 'choose another type')}.") from None
    if value.type != number:
        raise Unreadable(f"Not {article} {kind}: {_HINTS.get(kind, f'this is of type {value.kind}')}.")
    return value
