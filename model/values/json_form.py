"""A document as the JSON text that a program's own library makes of it, byte for byte.

JSON has no dates, ids or number types, and no meaningful order of fields, so each library has its own conventions.
Known are those of Python (its JSON module with ``default=str`` or with ISO dates; PyMongo's relaxed Extended JSON)
and of JavaScript (what it makes of the Node driver's documents). A document that no such program could write
identically every time is refused.
"""

from __future__ import annotations

import datetime as dt
import json
from base64 import b64encode
from typing import Any, Literal

from bson import json_util
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.errors import BSONError
from msgspec import Struct

from model.errors import Refused, Unreadable
from model.values import canonical as c
from model.values.canonical import Value

Dialect = Literal["python", "iso", "extended", "javascript"]

_NAIVE: CodecOptions[dict[str, Any]] = CodecOptions(  # PyMongo's default way of reading a document
    document_class=dict, tz_aware=False, datetime_conversion=DatetimeConversion.DATETIME
)
_SAFE = 2**53 - 1  # the largest integer that JavaScript represents exactly
_EPOCH = dt.datetime(1970, 1, 1)


class JsonForm(Struct, frozen=True):
    """How a program writes JSON: substitutes for values that JSON lacks, order of names, spaces."""

    dialect: Dialect = "python"
    is_sorted: bool = False  # names sorted, at every depth
    spaced: bool = True  # ", " and ": " rather than "," and ":"
    ascii: bool = True  # other characters as \\uXXXX

    def text(self, raw: bytes) -> bytes:
        """The text in UTF-8; raises ``Refused`` if the program could not write the document like this."""
        try:
            if self.dialect == "javascript":
                return _javascript(Value.document(raw), self.is_sorted).encode("utf-8")
            how: dict[str, Any] = {
                "sort_keys": self.is_sorted,
                "separators": (", ", ": ") if self.spaced else (",", ":"),
                "ensure_ascii": self.ascii,
            }
            decoded = c.decode(raw, _NAIVE)
            if self.dialect == "extended":
                return json_util.dumps(decoded, json_options=json_util.RELAXED_JSON_OPTIONS, **how).encode("utf-8")
            return json.dumps(decoded, default=_iso if self.dialect == "iso" else str, **how).encode("utf-8")
        except (BSONError, Unreadable, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise Refused(f"The content cannot be written as JSON: {str(error).rstrip('.')}.") from None


def _iso(value: object) -> str:
    return value.isoformat() if isinstance(value, dt.datetime) else str(value)


# --- JavaScript


def _javascript(value: Value, is_sorted: bool) -> str:
    if value.type == c.OBJECT:
        pairs = dict(c.fields(value.data))  # of a duplicate name the last value counts, at the first place
        names = sorted(pairs, key=lambda name: name.encode("utf-16-be", "surrogatepass")) if is_sorted else _own(pairs)
        inner = (
            f"{_quoted(name)}:{_javascript(pairs[name], is_sorted)}"
            for name in names
            if pairs[name].type != c.UNDEFINED
        )
        return "{" + ",".join(inner) + "}"
    if value.type == c.ARRAY:
        elements = ("null" if each.type == c.UNDEFINED else _javascript(each, is_sorted) for each in c.items(value))
        return "[" + ",".join(elements) + "]"
    return _scalar(value)


def _own(names: Any) -> list[str]:
    """Names in JavaScript's order: array indexes first, ascending, then the others as inserted."""
    numbers = [name for name in names if name.isascii() and name.isdigit() and str(int(name)) == name]
    numbers = [name for name in numbers if int(name) < 2**32 - 1]
    return [*sorted(numbers, key=int), *(name for name in names if name not in numbers)]


def _scalar(value: Value) -> str:
    if value.type == c.DATE:
        return _quoted(_date(int.from_bytes(value.data, "little", signed=True)))
    if value.type == c.BINARY and value.data[4] == 0:
        return _quoted(b64encode(value.data[5:]).decode())
    found = value.python()
    if value.type in (c.STRING, c.OBJECT_ID):
        return _quoted(str(found))
    if value.type == c.DOUBLE:
        return _number(found)
    if value.type in (c.INT32, c.INT64) and abs(found) <= _SAFE:
        return str(int(found))
    if value.type == c.DECIMAL128:
        return '{"$numberDecimal":' + _quoted(str(found)) + "}"
    if value.type in (c.NULL, c.BOOLEAN):
        return json.dumps(found)
    raise Unreadable(f"JavaScript has no one word for a value of type {value.kind}")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _date(milliseconds: int) -> str:
    try:
        when = _EPOCH + dt.timedelta(milliseconds=milliseconds)
    except OverflowError:
        raise Unreadable("a date is outside of the years 1 to 9999") from None
    return f"{when:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z".rjust(24, "0")


def _number(number: float) -> str:
    """A Double as JavaScript writes it: the shortest exact digits, an exponent only for very large or small ones."""
    if number != number or number in (float("inf"), float("-inf")):
        return "null"
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = f"{abs(number)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))  # digits before the point
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        shown = digits.ljust(point, "0") if len(digits) <= point else f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        shown = f"0.{'0' * -point}{digits}"
    else:
        shown = f"{digits[0]}{'.' if len(digits) > 1 else ''}{digits[1:]}e{point - 1:+d}"
    return sign + shown
