"""A single value as text for a person to edit, and the value that a text stands for.

``parsed(editable(value, zone), value.kind, zone) == value`` for every value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from model.errors import Refused, Unreadable
from model.text import legacy_uuids, scalars
from model.text.dates import date_text, milliseconds_from
from model.text.display import number_shown
from model.text.json_reader import read
from model.text.json_writer import Style, write
from model.values import canonical as c
from model.values import kinds
from model.values.canonical import Value
from model.values.kinds import Kind

KINDS = kinds.OFFERED
"""The types that a person can choose."""


def blank(kind: str) -> Value:
    """The default value of a type, for a new field."""
    return parsed(kinds.BY_NAME[kind].blank if kind in kinds.BY_NAME else "", kind)


def editable(value: Value, zone: str = "UTC") -> str:
    """The full text of a value; :func:`parsed` reads it back exactly."""
    made = _EDITABLE.get(value.type)
    return _WORDS.get(value.type) or write(value) if made is None else made(value, zone)


def integer_editable(value: Value, zone: str) -> str:
    """An Int32 or Int64."""
    return scalars.integer_digits(value.data)


def double_editable(value: Value, zone: str) -> str:
    """A double; a NaN with a payload as Extended JSON."""
    return write(value) if "(" in number_shown(value.data) else number_shown(value.data)


def decimal_editable(value: Value, zone: str) -> str:
    """A decimal; as Extended JSON if it is not in normal form."""
    return scalars.decimal_text(value.data) or write(value)


def date_editable(value: Value, zone: str) -> str:
    """A date in a zone."""
    return date_text(scalars.int64.unpack(value.data)[0], zone)


def object_id_editable(value: Value, zone: str) -> str:
    """An ObjectId as shells write it."""
    return f'ObjectId("{value.data.hex()}")'


def binary_editable(value: Value, zone: str) -> str:
    """A UUID as shells write it, others as Extended JSON."""
    parts = scalars.binary_parts(value.data)
    return (None if parts is None else legacy_uuids.written(*parts)) or write(value)


def regex_editable(value: Value, zone: str) -> str:
    """A regular expression between slashes; as Extended JSON if that would read differently."""
    text = "/{}/{}".format(*scalars.regex_parts(value.data))
    return text if _reads_as(text, value) else write(value)


def timestamp_editable(value: Value, zone: str) -> str:
    """A timestamp as shells write it."""
    return "Timestamp({}, {})".format(*scalars.timestamp_parts(value.data))


def container_editable(value: Value, zone: str) -> str:
    """A document or an array, with each field or element on its own line."""
    return write(value, Style("exact", indent="  "))


def _reads_as(text: str, value: Value) -> bool:
    try:
        return read(text, loose=True) == value
    except Unreadable:
        return False


def parsed(text: str, kind: str, zone: str = "UTC") -> Value:
    """The value of type ``kind`` that a text stands for; raises ``Refused`` with a hint.

    For a String, text in double quotes is JSON, and text without quotes is taken literally. Other types also accept
    text in double quotes, so that changing a field's type keeps its text.
    """
    row = kinds.BY_NAME.get(kind)
    if row is None:
        raise Refused(f"{kind!r} is not a type; choose one of {', '.join(KINDS)}.")
    if row.code == c.STRING:
        return _string(text)
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = _unquoted(text).strip()
    if row.word:  # the type has only one value
        return Value(row.code, b"")
    typed = None if text[:1] == "{" else _TYPED.get(row.code)
    simple = None if typed is None else typed(text, row, zone)
    return simple if simple is not None else _notation(text, row)


def _unquoted(text: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        raise Unreadable(
            'Inside quotes a " is written \\", a backslash \\\\, a line break \\n; correct it or leave the quotes out.'
        ) from None
    return str(value)


def _string(text: str) -> Value:
    # A String that is not UTF-8 can only be written as its bytes.
    if text[:1] == "{" and '"$raw"' in text:
        try:
            value = read(text)
        except Unreadable:
            value = Value(c.NULL, b"")
        if value.type == c.STRING:
            return value
    quoted = len(text.strip()) > 1 and text.strip()[0] == text.strip()[-1] == '"'
    return Value(c.STRING, scalars.string_data(_unquoted(text.strip()) if quoted else text))


def double_typed(text: str, kind: Kind, zone: str) -> Value:
    """A number, Infinity or NaN."""
    data = scalars.parse_double(text.removeprefix("+"))
    if data is None:
        raise Unreadable(_number_hint(text, kind))
    return Value(kind.code, data)


def decimal_typed(text: str, kind: Kind, zone: str) -> Value:
    """A number of at most 34 digits."""
    data = scalars.parse_decimal(text)
    if data is None:
        raise Unreadable(_number_hint(text, kind))
    return Value(kind.code, data)


def date_typed(text: str, kind: Kind, zone: str) -> Value | None:
    """A date in a zone."""
    # A call in the notation of shells is read by _notation.
    if re.match(r"(new\s|ISODate|Date)", text):
        return None
    return Value(kind.code, scalars.int64.pack(milliseconds_from(text, zone)))


def object_id_typed(text: str, kind: Kind, zone: str) -> Value | None:
    """The hexadecimal digits alone."""
    data = scalars.hex_bytes(text)
    return Value(kind.code, data) if data is not None and len(data) == kind.length else None


def boolean_typed(text: str, kind: Kind, zone: str) -> Value | None:
    """True or false, in any case."""
    data = {"false": b"\x00", "true": b"\x01"}.get(text.lower())
    return None if data is None else Value(kind.code, data)


def _number_hint(text: str, kind: Kind) -> str:
    if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", text):
        return f"Not a {kind.name}: use a point."
    if re.fullmatch(r"[+-]?[0-9]{1,3}([ ,.'’\u202f\xa0][0-9]{3})+([.,][0-9]+)?", text):
        return f"Not a {kind.name}: leave out the separators between thousands and use a point."
    return f"Not a {kind.name}: {kind.hint}."


def integer_typed(text: str, kind: Kind, zone: str) -> Value:
    """A whole number; a point followed only by zeros is allowed."""
    bits = 32 if kind.code == c.INT32 else 64
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
    return Value(kind.code, count.to_bytes(bits // 8, "little", signed=True))


def _notation(text: str, kind: Kind) -> Value:
    """The value of a text in Extended JSON or mongosh's notation; raises an error if it is of another type."""
    article = "an" if kind.name[0] in "AIO" else "a"
    try:
        value = read(text)
    except Unreadable:
        try:
            value = read(text, loose=True)
        except Unreadable as error:
            if kind.code in (c.OBJECT, c.ARRAY):
                raise Unreadable(f"Not {article} {kind.name}: {str(error)[0].lower()}{str(error)[1:]}") from None
            raise Unreadable(f"Not {article} {kind.name}: {kind.hint or 'choose another type'}.") from None
    if value.type != kind.code:
        raise Unreadable(f"Not {article} {kind.name}: {kind.hint or f'this is of type {value.kind}'}.")
    return value


_EDITABLE: dict[int, Callable[[Value, str], str]] = kinds.functions("editable")
_TYPED: dict[int, Callable[[str, Kind, str], Value | None]] = kinds.functions("typed")
_WORDS = {kind.code: kind.word for kind in kinds.KINDS if kind.word}
