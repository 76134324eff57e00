"""Values of two programs compared by meaning, where one of them keeps its history in another notation.

A history in JSON has dates, ids and long numbers as text, and one kind of number. 1 means 1.0 and ``"1.00"``, a date
its text or its milliseconds, an ObjectId its digits, a UUID its text. Only what differs in meaning is a difference.
"""

from __future__ import annotations

import datetime as dt
import re
import uuid
from decimal import Decimal, InvalidOperation

from bson import Binary, Int64, ObjectId

from model.patches.tree import Node, written_as_text
from model.values import canonical as c
from model.values.canonical import Value
from model.values.decimals import decimal_of, decimal_value

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_HEX = re.compile(r"[0-9a-f]{24}", re.IGNORECASE)
_DIGITS = re.compile(r"-?[1-9][0-9]{0,17}|0")
_UUIDS = (3, 4)  # subtypes of Binary
_ZONE = 15 * 60_000  # milliseconds: zones of the earth differ by whole quarters of an hour
_FARTHEST = 14 * 3_600_000
_WHOLE = {c.INT32: 31, c.INT64: 63}


def same_meaning(a: Node, b: Node) -> bool:
    """Whether both mean the same; fields that are null in one may be missing in the other."""
    if isinstance(a, dict) and isinstance(b, dict):
        both = dict.fromkeys((*a, *b))
        # Serialisers drop fields that are null, or add them: neither is a change.
        return all(same_meaning(a.get(name, _NULL), b.get(name, _NULL)) for name in both)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_meaning, a, b))
    if isinstance(a, Value) and isinstance(b, Value):
        return a == b or _is_same(a, b) or _is_same(b, a)
    return False


def in_form_of(node: Node, like: Node | None) -> Node:
    """A state in the types of another one, usually the current document; what cannot be of these types stays."""
    if isinstance(node, dict) and isinstance(like, dict):
        return {name: in_form_of(each, like.get(name)) for name, each in node.items()}
    if isinstance(node, list) and isinstance(like, list):
        # Elements beyond those of the other array are taken to be like its last one.
        return [in_form_of(each, like[min(at, len(like) - 1)] if like else None) for at, each in enumerate(node)]
    if not isinstance(node, Value) or not isinstance(like, Value) or node == like:
        return node
    return like if same_meaning(node, like) else _converted(node, like)


def text_of(id: Value) -> str | None:
    """An id as text, as a history in JSON names its document; None for ids of other types."""
    if id.type == c.BINARY:
        return _uuid(id)
    if id.type in (c.STRING, c.INT32, c.INT64):
        return str(id.python())
    return written_as_text(id) if id.type == c.OBJECT_ID else None


def iso_time(text: str) -> dt.datetime | None:
    """The time in an ISO 8601 text, without a zone if it names none; None for other texts."""
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        return None


def ids_of(written: Value) -> list[Value]:
    """The ids that a text or a number may stand for, the likeliest first."""
    found = [written]
    if written.type == c.STRING:
        text = str(written.python())
        if _HEX.fullmatch(text):
            found.append(Value.of(ObjectId(text)))
        if (known := _as_uuid(text)) is not None:
            found += [Value.of(Binary(known.bytes, subtype)) for subtype in _UUIDS]
        if _DIGITS.fullmatch(text):
            found += _whole_numbers(int(text))
    elif written.type in _WHOLE:
        found += _whole_numbers(int(written.python()))
    return list(dict.fromkeys(found))


def _whole_numbers(number: int) -> list[Value]:
    """A number in the types that hold it."""
    return [Value.of(Int64(number))] + [Value.of(number)] * (abs(number) < 1 << 31)


_NULL = Value.of(None)


def _is_same(a: Value, b: Value) -> bool:
    """Whether a value means what one of a richer type does."""
    if a.type in (c.NULL, c.UNDEFINED):
        return b.type in (c.NULL, c.UNDEFINED)
    if (number := _number(b)) is not None:
        return _number(a, text=True) == number
    if b.type == c.DATE:
        return _is_moment(a, int.from_bytes(b.data, "little", signed=True))
    if a.type != c.STRING:
        return False
    text = str(a.python())
    if b.type == c.BINARY:
        return text.casefold() in (_uuid(b), (written_as_text(b) or "").casefold())
    return b.type == c.OBJECT_ID and text.casefold() == written_as_text(b)


def _number(value: Value, text: bool = False) -> Decimal | None:
    """A finite number exactly; a Double is the shortest number that it stands for."""
    try:
        if value.type == c.DECIMAL128:
            found = decimal_of(value.data)
        elif value.type in (c.INT32, c.INT64, c.DOUBLE) or (text and value.type == c.STRING):
            found = Decimal(str(value.python()))
        else:
            return None
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def _is_moment(value: Value, milliseconds: int) -> bool:
    """Whether a text or a number is a date; a text without a zone may be in any."""
    if value.type in (c.INT64, c.DOUBLE):
        return bool(value.python() == milliseconds)
    said = iso_time(str(value.python())) if value.type == c.STRING else None
    if said is None:
        return False
    apart = (_in_utc(said) - _EPOCH) // dt.timedelta(milliseconds=1) - milliseconds
    # A program in another zone has written its local time, which is off by that zone's whole quarters of an hour.
    return not apart or (said.tzinfo is None and abs(apart) <= _FARTHEST and not apart % _ZONE)


def _in_utc(time: dt.datetime) -> dt.datetime:
    """A time with its zone; UTC if it names none."""
    return time if time.tzinfo else time.replace(tzinfo=dt.UTC)


def _uuid(value: Value) -> str | None:
    """The text of a UUID in a Binary; None for other bytes."""
    data = value.data[5:]
    return str(uuid.UUID(bytes=data)) if value.data[4] in _UUIDS and len(data) == 16 else None


def _as_uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text) if len(text) == 36 else None
    except ValueError:
        return None


def _converted(value: Value, like: Value) -> Value:
    """A value as one of another's type, if it can be one without loss."""
    if like.type == c.DATE:
        return _date(value, like)
    if like.type in (c.OBJECT_ID, c.BINARY):
        alike = (each for each in ids_of(value) if each.type == like.type)
        # Of the subtype that the other document has: subtype 3 keeps a UUID's bytes in an order of its driver's own.
        return next((each for each in alike if each.type == c.OBJECT_ID or each.data[4] == like.data[4]), value)
    number = _number(value, text=like.type in (c.DECIMAL128, c.INT64))
    if number is None:
        return value
    if like.type == c.DECIMAL128:
        return _decimal(number, value)
    # Only without loss: a number with more digits than a Double holds stays as it was written.
    if like.type == c.DOUBLE and Decimal(str(float(number))) == number:
        return Value.of(float(number))
    if like.type in _WHOLE and number == int(number) and abs(int(number)) < 1 << _WHOLE[like.type]:
        return Value.of(Int64(int(number)) if like.type == c.INT64 else int(number))
    return value


def _decimal(number: Decimal, value: Value) -> Value:
    try:
        return decimal_value(number)
    except (ArithmeticError, ValueError):
        return value


def _date(value: Value, like: Value) -> Value:
    if value.type in (c.INT64, c.DOUBLE) and value.python() == int(value.python()):
        return Value(c.DATE, int(value.python()).to_bytes(8, "little", signed=True))
    said = iso_time(str(value.python())) if value.type == c.STRING else None
    return value if said is None else Value.of(_in_utc(said))
