"""The payload of one BSON scalar as Extended JSON, and back.

A payload that the notation cannot express exactly (a NaN with a payload, a decimal that is not in its normal form,
a boolean of 2, regex flags out of order, a string that does not end) is written as its bytes instead::

    {"$raw": {"type": "01", "hex": "010000000000f87f"}}

Source: https://github.com/mongodb/specifications, "Extended JSON".
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
import math
import re
import struct
from collections.abc import Callable
from decimal import DecimalException

from model.errors import Unreadable
from model.foundation.hidden_characters import escaped
from model.values import kinds
from model.values.decimals import decimal_data, digits

NAN = struct.pack("<Q", 0x7FF8 << 48)
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
_DAYS_OF_400_YEARS = 146097
YEAR_10000 = 253402300800000  # the first millisecond that relaxed notation cannot write as a date

# Possessive repeats: with others the engine remembers each character of a long text to backtrack to, at a hundred
# bytes apiece. The empty alternative is for Python 3.11.0 to 3.11.4, which continue after a partial match.
QUOTED = r'"(?:[^"\\]++|\\.|)*+"'
"""The pattern of a JSON string; needs re.DOTALL."""

double = struct.Struct("<d")
int32 = struct.Struct("<i")
int64 = struct.Struct("<q")
_timestamp = struct.Struct("<II")
_quote = json.JSONEncoder(ensure_ascii=False).encode
_quote_ascii = json.JSONEncoder(ensure_ascii=True).encode
_DIGITS = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?inf(?:inity)?|[+-]?nan", re.I)
_ISO = re.compile(
    r"([+-]\d{5,9}|\d{4})-(\d\d)-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(Z|z|UTC|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)


def quoted(text: str, ascii_only: bool = False) -> str:
    r"""A JSON string; characters beyond ASCII stay readable, invisible ones become codes like ``\\u202e``."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'  # the fast way, for nearly all
    return _quote_ascii(text) if ascii_only else escaped(_quote(text))


def string_of(data: bytes, start: int = 0) -> tuple[str, int] | None:
    """The length-prefixed string at ``start`` and the offset after it; None if it is malformed."""
    if start + 5 > len(data):
        return None
    length: int = int32.unpack_from(data, start)[0]
    end = start + 4 + length
    if length < 1 or end > len(data) or data[end - 1] != 0:
        return None
    return data[start + 4 : end - 1].decode("utf-8", "surrogateescape"), end


def string_data(text: str) -> bytes:
    """A string's payload; raises ``Unreadable`` if it holds half a character that stands for no byte."""
    try:
        body = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise Unreadable("The text holds half a character (a lone surrogate); retype it.") from None
    return int32.pack(len(body) + 1) + body + b"\x00"


def number_text(number: float) -> str:
    """The shortest text of a finite double that reads back equal, with an exponent as in ``1.5E+18``."""
    return repr(number).replace("e", "E")


def iso_text(milliseconds: int) -> str:
    """An ISO 8601 date in UTC, years 1 to 9999; milliseconds only if they are not 0."""
    when = EPOCH + dt.timedelta(milliseconds=milliseconds)
    fraction = f".{when.microsecond // 1000:03d}" if when.microsecond else ""
    return f"{when.year:04d}-{when:%m-%dT%H:%M:%S}{fraction}Z"


def iso_milliseconds(text: str) -> int | None:
    """Milliseconds since 1970 of an ISO 8601 date, in UTC if it has no offset; None if it is not one.

    Years outside 0 to 9999 have a sign and six digits, as JavaScript writes them. Digits beyond the milliseconds are
    dropped: BSON cannot store them.
    """
    found = _ISO.fullmatch(text.strip())
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, offset = found.groups()
    cycles = 0 if 1 <= int(year) <= 9999 else int(year) // 400 - 5  # the calendar repeats after 400 years
    numbers = (month, day, hour or 0, minute or 0, second or 0)
    try:
        when = dt.datetime(int(year) - 400 * cycles, *map(int, numbers), tzinfo=dt.UTC)  # type: ignore[misc, arg-type]
    except ValueError:
        return None
    total = (when - EPOCH) // dt.timedelta(milliseconds=1) + int((fraction or "0").ljust(3, "0")[:3])
    total += cycles * _DAYS_OF_400_YEARS * 86_400_000
    if offset and offset[0] in "+-":
        minutes = int(offset[1:3]) * 60 + int(offset[-2:] if len(offset) > 3 else 0)
        total -= minutes * 60_000 * (1 if offset[0] == "+" else -1)
    return total if INT64_MIN <= total <= INT64_MAX else None


def parse_double(text: str) -> bytes | None:
    """A double's payload from ``1.5``, ``-0.0``, ``NaN``, ``Infinity``; None if it is not a number or too large."""
    if text == "NaN":
        return NAN
    if text in ("Infinity", "-Infinity"):
        return double.pack(math.inf if text[0] == "I" else -math.inf)
    if _DIGITS.fullmatch(text) is None:
        return None
    number = float(text)
    return None if math.isinf(number) else double.pack(number)


def parse_decimal(text: str) -> bytes | None:
    """A decimal's payload; None if it is not a number or has more than 34 significant digits."""
    if _DECIMAL.fullmatch(text) is None:
        return None
    try:
        return decimal_data(text)
    except (ValueError, DecimalException):
        return None


def decimal_text(data: bytes) -> str | None:
    """A decimal as text; None if that text would read back as other bytes."""
    text = digits(data)
    return text if parse_decimal(text) == data else None


def old_binary(data: bytes) -> bool:
    """Whether the payload of a binary of subtype 2 has its length twice, as it must."""
    return len(data) >= 9 and int32.unpack_from(data, 0)[0] == int32.unpack_from(data, 5)[0] + 4 == len(data) - 5


def binary_parts(data: bytes) -> tuple[int, bytes] | None:
    """Subtype and bytes of a binary's payload; None for an old one whose two lengths differ."""
    subtype = data[4]
    if subtype != 2:
        return subtype, data[5:]
    return (2, data[9:]) if old_binary(data) else None


def binary_data(subtype: int, content: bytes) -> bytes:
    """A binary's payload; subtype 2 has its length twice."""
    if subtype == 2:
        content = int32.pack(len(content)) + content
    return int32.pack(len(content)) + bytes((subtype,)) + content


def regex_parts(data: bytes) -> tuple[str, str]:
    """Pattern and flags as stored."""
    pattern, flags = data[:-1].split(b"\x00", 1)
    return pattern.decode("utf-8", "surrogateescape"), flags.decode("utf-8", "surrogateescape")


def scope_parts(data: bytes) -> tuple[str, bytes] | None:
    """Code and scope of code with scope; None if its lengths contradict each other."""
    code = string_of(data, 4)
    if code is None or int32.unpack_from(data, 0)[0] != len(data) or len(data) - code[1] < 5:
        return None
    scope = data[code[1] :]
    if int32.unpack_from(scope, 0)[0] != len(scope) or scope[-1] != 0:
        return None
    return code[0], scope


def raw_text(kind: int, data: bytes) -> str:
    """The escape form for a payload that the notation cannot express."""
    return f'{{"$raw": {{"type": "{kind:02x}", "hex": "{data.hex()}"}}}}'


def timestamp_data(seconds: int, increment: int) -> bytes | None:
    """A timestamp's payload; None if a part does not fit 32 unsigned bits."""
    if not (0 <= seconds < 2**32 and 0 <= increment < 2**32):
        return None
    return _timestamp.pack(increment, seconds)


def timestamp_parts(data: bytes) -> tuple[int, int]:
    """Seconds since 1970 and increment."""
    increment, seconds = _timestamp.unpack(data)
    return seconds, increment


def base64_bytes(text: str) -> bytes | None:
    """The bytes of padded base64, standard or URL alphabet; None if it is not base64."""
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return None


def hex_bytes(text: str) -> bytes | None:
    """The bytes of hexadecimal digits without blanks; None if it is not hexadecimal."""
    if len(text) % 2 or re.fullmatch(r"[0-9a-fA-F]*", text) is None:
        return None
    return bytes.fromhex(text)


# --- the columns of the table of kinds


def integer_digits(data: bytes) -> str:
    """Int32 and Int64 in relaxed notation."""
    return str(int.from_bytes(data, "little", signed=True))


def double_digits(data: bytes) -> str | None:
    """A double in relaxed notation; None if it is not finite."""
    number: float = double.unpack(data)[0]
    return number_text(number) if math.isfinite(number) else None


def date_relaxed(data: bytes) -> str | None:
    """A date in relaxed notation; None outside 1970 to 9999."""
    milliseconds: int = int64.unpack(data)[0]
    return f'{{"$date": "{iso_text(milliseconds)}"}}' if 0 <= milliseconds < YEAR_10000 else None


def string_text(data: bytes, ascii_only: bool) -> str | None:
    """A string; None if it is malformed."""
    text = string_of(data)
    return None if text is None else quoted(text[0], ascii_only)


def int32_text(data: bytes, ascii_only: bool) -> str:
    """An Int32."""
    return f'{{"$numberInt": "{int32.unpack(data)[0]}"}}'


def int64_text(data: bytes, ascii_only: bool) -> str:
    """An Int64."""
    return f'{{"$numberLong": "{int64.unpack(data)[0]}"}}'


def object_id_text(data: bytes, ascii_only: bool) -> str:
    """An ObjectId."""
    return f'{{"$oid": "{data.hex()}"}}'


def date_notation(data: bytes, ascii_only: bool) -> str:
    """A date as its milliseconds."""
    return f'{{"$date": {{"$numberLong": "{int64.unpack(data)[0]}"}}}}'


def boolean_text(data: bytes, ascii_only: bool) -> str | None:
    """A boolean; None if its byte is neither 0 nor 1."""
    return {b"\x00": "false", b"\x01": "true"}.get(data)


def double_text(data: bytes, ascii_only: bool) -> str | None:
    """A double; None for a NaN with a payload."""
    number: float = double.unpack(data)[0]
    if math.isfinite(number):
        return f'{{"$numberDouble": "{number_text(number)}"}}'
    if math.isinf(number):
        return '{"$numberDouble": "Infinity"}' if number > 0 else '{"$numberDouble": "-Infinity"}'
    return '{"$numberDouble": "NaN"}' if data == NAN else None


def decimal_notation(data: bytes, ascii_only: bool) -> str | None:
    """A decimal; None if it is not in normal form."""
    text = decimal_text(data)
    return None if text is None else f'{{"$numberDecimal": "{text}"}}'


def binary_text(data: bytes, ascii_only: bool) -> str | None:
    """A binary; None for an old one whose two lengths differ."""
    parts = binary_parts(data)
    if parts is None:
        return None
    encoded = base64.b64encode(parts[1]).decode()
    return f'{{"$binary": {{"base64": "{encoded}", "subType": "{parts[0]:02x}"}}}}'


def timestamp_text(data: bytes, ascii_only: bool) -> str:
    """A timestamp."""
    seconds, increment = timestamp_parts(data)
    return f'{{"$timestamp": {{"t": {seconds}, "i": {increment}}}}}'


def regex_text(data: bytes, ascii_only: bool) -> str | None:
    """A regular expression; None if its flags are out of order."""
    pattern, flags = regex_parts(data)
    if list(flags) != sorted(flags):
        return None
    return (
        f'{{"$regularExpression": {{"pattern": {quoted(pattern, ascii_only)}, '
        f'"options": {quoted(flags, ascii_only)}}}}}'
    )


def code_text(data: bytes, ascii_only: bool) -> str | None:
    """Code without a scope; None if its text is malformed."""
    body = string_text(data, ascii_only)
    return None if body is None else f'{{"$code": {body}}}'


def symbol_text(data: bytes, ascii_only: bool) -> str | None:
    """A symbol; None if its text is malformed."""
    body = string_text(data, ascii_only)
    return None if body is None else f'{{"$symbol": {body}}}'


def pointer_text(data: bytes, ascii_only: bool) -> str | None:
    """A DBPointer; None if its text is malformed."""
    string = string_of(data)
    if string is None:
        return None
    body = quoted(string[0], ascii_only)
    return f'{{"$dbPointer": {{"$ref": {body}, "$id": {{"$oid": "{data[string[1] :].hex()}"}}}}}}'


_TEXTS: dict[int, Callable[[bytes, bool], str | None]] = kinds.functions("text")
_RELAXED: dict[int, Callable[[bytes], str | None]] = kinds.functions("relaxed")
_NOTATIONS = {kind.code: kind.notation for kind in kinds.KINDS if kind.notation}


def relaxed_text(kind: int, data: bytes) -> str | None:
    """A number or date in relaxed notation; None if that is the canonical one."""
    made = _RELAXED.get(kind)
    return None if made is None else made(data)


def scalar_text(kind: int, data: bytes, ascii_only: bool = False) -> str:
    """Canonical Extended JSON of a value that holds no other values; the caller writes the scope of code."""
    made = _TEXTS.get(kind)
    text = _NOTATIONS.get(kind) if made is None else made(data, ascii_only)
    return raw_text(kind, data) if text is None else text
