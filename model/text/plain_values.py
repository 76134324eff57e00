"""Values as plain Python objects, for tables without BSON types."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

from model import text
from model.errors import Unreadable
from model.values import canonical as c
from model.values.canonical import Value

_AS_THEY_ARE = (c.DOUBLE, c.STRING, c.BOOLEAN, c.NULL)
_UUID = 4  # the subtype of a binary value


def plain_value(value: Value) -> Any:
    """A value as an int, float, str, bool, None, aware datetime, ``Decimal``, ``UUID``, bytes, list or dict.

    An ObjectId is its 24 hex digits. Values without a plain Python object become Extended JSON: a regular expression,
    a timestamp, a decimal or date beyond Python's range, a value that cannot be read.
    """
    if value.type == c.OBJECT:
        return plain_document(value.data)
    if value.type == c.ARRAY:
        return [plain_value(each) for _, each in c.fields(value.data)]
    try:
        found = value.python()
    except Unreadable:
        return text.value_text(value)
    if value.type in _AS_THEY_ARE:
        return found
    if value.type in (c.INT32, c.INT64):
        return int(found)
    if value.type == c.DATE and isinstance(found, dt.datetime):
        return plain_moment(found)
    if value.type == c.OBJECT_ID:
        return str(found)
    if value.type == c.DECIMAL128:
        made = found.to_decimal()
        return made if isinstance(made, Decimal) and made.is_finite() else text.value_text(value)
    if value.type == c.BINARY:
        if isinstance(found, uuid.UUID):
            return found
        return uuid.UUID(bytes=bytes(found)) if value.data[4] == _UUID and len(found) == 16 else bytes(found)
    return text.value_text(value)


def plain_document(raw: bytes) -> dict[str, Any]:
    """A document as a dict of plain values, in its order; if fields have the same name, the last one counts."""
    return {name: plain_value(value) for name, value in c.fields(raw)}


def plain_moment(at: dt.datetime | None) -> dt.datetime | None:
    """A time with Python's own UTC, whichever object stands for UTC in it."""
    return None if at is None else at.replace(tzinfo=dt.UTC) if at.tzinfo is None else at.astimezone(dt.UTC)
