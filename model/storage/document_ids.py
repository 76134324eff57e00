"""Finds the stored id that a typed text stands for."""

from __future__ import annotations

import contextlib
import datetime as dt
import math
import re
import uuid
from collections.abc import Callable, Sequence

from bson import Binary, Int64, ObjectId
from bson.binary import OLD_UUID_SUBTYPE, UUID_SUBTYPE

from model import text
from model.errors import OF_CIRCUMSTANCE, NotFound, Refused, Unreadable
from model.text import legacy_uuids
from model.values import canonical as c
from model.values.canonical import Value
from model.values.decimals import decimal_value

_INTEGER = re.compile(r"[+-]?\d{1,19}")
_SHOWN = 120  # characters of an id to repeat in a sentence
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


_LIKELIEST = (c.OBJECT_ID, c.BINARY, c.OBJECT, c.INT32, c.INT64)
"""Types of ids that people rarely store as text."""


def candidates(typed: str) -> list[Value]:
    """The ids that a text may stand for: the text itself, and every value that is written like it."""
    found: list[Value] = []
    # Half of a surrogate pair is no text that a server can store.
    if typed.encode("utf-8", "replace").decode() == typed:
        found.append(Value.of(typed))
    with contextlib.suppress(Unreadable):
        found.append(text.value_from_text(typed))
    if (called := _called(typed)) is not None:
        found.append(called)
    if _INTEGER.fullmatch(typed):
        number = int(typed)
        if -(2**31) <= number < 2**31:
            found.append(Value.of(number))
        if -(2**63) <= number < 2**63:
            # As both types: `exists` asks for exactly one of them, and programs store either.
            found.append(Value.of(Int64(number)))
    if _NUMBER.fullmatch(typed):
        # An exponent too large for a Double is read as infinity, which nobody typed.
        if math.isfinite(float(typed)):
            found.append(Value.of(float(typed)))
        with contextlib.suppress(ArithmeticError):
            found.append(decimal_value(typed))
    if ObjectId.is_valid(typed):
        found.append(Value.of(ObjectId(typed)))
    with contextlib.suppress(ValueError):
        found += _uuids(uuid.UUID(typed).bytes)
    with contextlib.suppress(ValueError):
        when = dt.datetime.fromisoformat(typed)
        # BSON dates have no zone and are UTC.
        found.append(Value.of(when if when.tzinfo else when.replace(tzinfo=dt.UTC)))
    return list(dict.fromkeys(found))


def _uuids(standard: bytes) -> list[Value]:
    """A UUID as drivers store it today, and in each order in which older ones did."""
    legacy = [Binary(order.rearranged(standard), OLD_UUID_SUBTYPE) for order in legacy_uuids.ORDERS]
    return [Value.of(each) for each in (Binary(standard, UUID_SUBTYPE), *legacy)]


def values_of(typed: str) -> list[Value]:
    """The ids that a text may stand for, with and without surrounding blanks."""
    bare = typed.strip()
    values = candidates(bare)
    if bare != typed:
        values += [value for value in candidates(typed) if value not in values]  # blanks may be part of an id
    return values


def likeliest_first(values: Sequence[Value]) -> list[Value]:
    """Ids that a text may stand for; those come first whose text is rarely an id itself."""
    ranks = {kind: rank for rank, kind in enumerate(_LIKELIEST)}
    return sorted(values, key=lambda value: ranks.get(value.type, len(ranks)))


def _called(typed: str) -> Value | None:
    """The value that a text stands for in the notation of shells, as ``ObjectId("…")``; a pattern is never an id."""
    if not typed.rstrip().endswith((")", "}")):  # a word alone, such as undefined, is a text
        return None
    with contextlib.suppress(Unreadable):
        found = text.loose_value(typed)
        return None if found.type == c.REGEX else found
    return None


def meant(typed: str) -> Value:
    """The value of a text if no such id is stored: Extended JSON or a shell's if it looks like one, else the text."""
    if (called := _called(typed)) is not None:
        return called
    if typed[:1] in ("{", '"') or re.fullmatch(r"-?\d+", typed):
        try:
            return text.value_from_text(typed)
        except Unreadable:
            if typed[:1] != "{":
                raise
    return Value.of(typed)


def pick(typed: str, ns: str, exists: Callable[[Value], bool]) -> Value:
    """The one stored id that a text stands for; raises ``NotFound``, or ``Refused`` if several match."""
    bare = typed.strip()
    found = [value for value in values_of(typed) if _is_there(value, exists)]
    if len(found) > 1:  # else there would be no way to name null beside "null"
        found = [value for value in found if text.value_text(value) == bare] or found
    if len(found) == 1:
        return found[0]
    shown = bare if len(bare) <= _SHOWN else f"{bare[:_SHOWN]}…"
    if not found:
        raise NotFound(f"No document in {ns} has the id {shown or 'of no characters'}; check it and its type.")
    ways = " or ".join(text.value_text(value) for value in found)
    raise Refused(f"Several ids in {ns} are written {shown}; say which: {ways}.")


def _is_there(value: Value, exists: Callable[[Value], bool]) -> bool:
    """Whether an id is stored; False if the server refuses its type in queries, as then it cannot store it."""
    try:
        return exists(value)
    except OF_CIRCUMSTANCE:
        raise
    except Refused:
        if value.type != c.DECIMAL128:
            raise
        return False


def id_of(raw: bytes, name: str) -> Value | None:
    """The id in a stored document; None if it is missing or unreadable."""
    try:
        return c.get(raw, (name,))
    except Unreadable:
        return None
