"""The operators of expressions that are functions of their evaluated operands; None is a missing value."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable
from typing import Any

from bson.decimal128 import Decimal128

from model.mql import arithmetic as a
from model.mql import order
from model.mql.command_error import CommandError
from model.mql.order import Element
from model.values import canonical as c

Function = Callable[..., "Element | None"]

# The names that ``$type`` knows; MinKey is -1 to those who ask and 255 as it is stored.
ALIASES = {
    "double": 1,
    "string": 2,
    "object": 3,
    "array": 4,
    "binData": 5,
    "undefined": 6,
    "objectId": 7,
    "bool": 8,
    "date": 9,
    "null": 10,
    "regex": 11,
    "dbPointer": 12,
    "javascript": 13,
    "symbol": 14,
    "javascriptWithScope": 15,
    "int": 16,
    "timestamp": 17,
    "long": 18,
    "decimal": 19,
    "minKey": 255,
    "maxKey": 127,
}
_NAMES = {number: name for name, number in ALIASES.items()}


def truth(element: Element | None) -> bool:
    """False, null, zero and what is missing are false."""
    if element is None or element[0] in (c.NULL, c.UNDEFINED):
        return False
    if element[0] == c.BOOLEAN:
        return element[1] != b"\x00"
    return element[0] not in order.NUMBERS or order.number(*element) != 0


def array_of(values: Any) -> Element:
    """An array of elements; none of them is None."""
    return c.ARRAY, c.array(c.Value(*e) for e in values).data


def object_of(pairs: Any) -> Element:
    """A document of fields, less those that are missing."""
    return c.OBJECT, c.document((name, c.Value(*e)) for name, e in pairs if e is not None)


def now() -> Element:
    """The time as a date."""
    value = c.Value.of(dt.datetime.now(dt.UTC))
    return value.type, value.data


def array_input(value: Element | None, name: str) -> list[Element] | None:
    """The elements of an operand that has to be an array; None where it is null or missing."""
    if value is None or value[0] in (c.NULL, c.UNDEFINED):
        return None
    if value[0] != c.ARRAY:
        raise CommandError(28651, f"input to {name} must be an array not {c.Value(*value).kind}")
    return order.items(value[1])


def _missing_key(e: Element | None) -> order.Key:
    return (-0.5,) if e is None else order.key(*e)  # in expressions missing sorts below null, above MinKey


def _comparison(judge: Callable[[order.Key, order.Key], bool]) -> tuple[int, int, Function]:
    return 2, 2, lambda x, y: a.boolean(judge(_missing_key(x), _missing_key(y)))


def _compare(x: Element | None, y: Element | None) -> Element:
    p, q = _missing_key(x), _missing_key(y)
    return a.integer((p > q) - (p < q))


def type_name(e: Element | None) -> str:
    """What ``$type`` answers."""
    return "missing" if e is None else _NAMES.get(e[0], "unknown")


def _nothing(e: Element | None) -> bool:
    return e is None or e[0] in (c.NULL, c.UNDEFINED)


def to_string(e: Element | None) -> Element | None:
    """``$toString``: Decimal128 with all its digits, a double as servers print it, dates in UTC to the millisecond."""
    if _nothing(e) or e is None:
        return a.NULL
    kind, data = e
    if kind in (c.STRING, c.SYMBOL):
        return c.STRING, data
    if kind in (c.INT32, c.INT64):
        return a.string(str(order.number(kind, data)))
    if kind == c.DECIMAL128:
        return a.string(str(Decimal128.from_bid(data)))
    if kind == c.DOUBLE:
        value = order.number(kind, data)
        whole = value == value and abs(value) < 1e15 and value == int(value)
        text = ("-" if str(value).startswith("-") else "") + str(abs(int(value))) if whole else repr(value)
        return a.string({"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text, text))
    if kind == c.BOOLEAN:
        return a.string("true" if truth(e) else "false")
    if kind == c.OBJECT_ID:
        return a.string(data.hex())
    if kind == c.DATE:
        try:
            moment = dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=order.key(kind, data)[1])
        except OverflowError:
            raise CommandError(241, "Could not convert date to string: year out of range") from None
        return a.string(moment.isoformat(timespec="milliseconds") + "Z")
    raise CommandError(241, f"Unsupported conversion from {type_name(e)} to string in $convert with no onError value")


def _numbers(name: str, function: Callable[[Element, Element], Element]) -> Function:
    def total(*parts: Element | None) -> Element | None:
        if any(_nothing(p) for p in parts):
            return a.NULL
        out: Element | None = None
        for part in parts:
            if part is None or not a.is_number(part):
                raise CommandError(16554, f"{name} only supports numeric types, not {type_name(part)}")
            try:
                out = part if out is None else function(out, part)
            except OverflowError:
                out = a.double(float(order.number(*out or part)))
        return out or a.integer(0)

    return total


def _dates(function: Callable[[Element, Element], Element], otherwise: Function) -> Function:
    """Sums and differences with dates, in milliseconds; two dates differ by an Int64."""

    def total(*parts: Element | None) -> Element | None:
        dates = [p for p in parts if p is not None and p[0] == c.DATE]
        if not dates or any(p is None or _nothing(p) for p in parts):
            return otherwise(*parts)
        result = otherwise(*((c.INT64, p[1]) if p is not None and p[0] == c.DATE else p for p in parts))
        if result is None or (function is a.subtract and len(dates) == 2):
            return result
        return c.DATE, struct.pack("<q", int(order.number(*result)))

    return total


def _characters(e: Element | None) -> Element:
    if e is None or e[0] != c.STRING:
        raise CommandError(34471, f"$strLenCP requires a string argument, found: {type_name(e)}")
    return a.integer(len(e[1][4:-1].decode("utf-8", "replace")))


def _concat(*parts: Element | None) -> Element:
    if any(_nothing(p) for p in parts):
        return a.NULL
    if any(p is not None and p[0] != c.STRING for p in parts):
        raise CommandError(16702, "$concat only supports strings")
    return a.string(b"".join(p[1][4:-1] for p in parts if p is not None).decode("utf-8", "surrogateescape"))


def _array_size(e: Element | None) -> Element:
    if e is None or e[0] != c.ARRAY:
        raise CommandError(17124, f"The argument to $size must be an array, but was of type: {type_name(e)}")
    return a.integer(len(order.items(e[1])))


def _at(e: Element | None, position: Element | None) -> Element | None:
    if e is None or _nothing(e) or position is None or not a.is_number(position):
        return a.NULL
    if e[0] != c.ARRAY:
        raise CommandError(28689, f"$arrayElemAt's first argument must be an array, but is {type_name(e)}")
    values, index = order.items(e[1]), int(order.number(*position))
    return values[index] if -len(values) <= index < len(values) else None


def _in(e: Element | None, array: Element | None) -> Element:
    if array is None or array[0] != c.ARRAY:
        raise CommandError(40081, f"$in requires an array as a second argument, found: {type_name(array)}")
    wanted = _missing_key(e)
    return a.boolean(any(order.key(*item) == wanted for item in order.items(array[1])))


def _concat_arrays(*parts: Element | None) -> Element:
    lists = [array_input(p, "$concatArrays") for p in parts]
    return a.NULL if any(part is None for part in lists) else array_of(e for part in lists for e in part or [])


def _merge_objects(*parts: Element | None) -> Element:
    if len(parts) == 1 and parts[0] is not None and parts[0][0] == c.ARRAY:
        parts = tuple(order.items(parts[0][1]))
    out: dict[str, Element] = {}
    for part in parts:
        if part is None or _nothing(part):
            continue
        if part[0] != c.OBJECT:
            raise CommandError(40400, f"$mergeObjects requires object inputs, but input is of type {type_name(part)}")
        out.update((name, (v.type, v.data)) for name, v in c.fields(part[1]))
    return object_of(out.items())


def _object_to_array(e: Element | None) -> Element:
    if e is None or _nothing(e):
        return a.NULL
    return array_of(object_of([("k", a.string(n)), ("v", (v.type, v.data))]) for n, v in c.fields(e[1]))


def _array_to_object(e: Element | None) -> Element:
    pairs = array_input(e, "$arrayToObject")
    if pairs is None:
        return a.NULL
    out: dict[str, Element] = {}
    for pair in pairs:
        k, v = order.items(pair[1])[:2] if len(order.items(pair[1])) == 2 else (a.NULL, a.NULL)
        if k[0] != c.STRING:
            raise CommandError(40386, "$arrayToObject requires an array of key-value pairs")
        out[k[1][4:-1].decode("utf-8", "surrogateescape")] = v
    return object_of(out.items())


def _extreme(pick: Callable[..., Element]) -> Function:
    def extreme(*parts: Element | None) -> Element:
        if len(parts) == 1 and parts[0] is not None and parts[0][0] == c.ARRAY:
            parts = tuple(order.items(parts[0][1]))
        kept = [p for p in parts if p is not None and not _nothing(p)]
        return pick(kept, key=lambda e: order.key(*e)) if kept else a.NULL

    return extreme


_MANY = 1000
FUNCTIONS: dict[str, tuple[int, int, Function]] = {
    "$eq": _comparison(lambda x, y: x == y),
    "$ne": _comparison(lambda x, y: x != y),
    "$gt": _comparison(lambda x, y: x > y),
    "$gte": _comparison(lambda x, y: x >= y),
    "$lt": _comparison(lambda x, y: x < y),
    "$lte": _comparison(lambda x, y: x <= y),
    "$cmp": (2, 2, _compare),
    "$not": (1, 1, lambda e: a.boolean(not truth(e))),
    "$type": (1, 1, lambda e: a.string(type_name(e))),
    "$isNumber": (1, 1, lambda e: a.boolean(a.is_number(e))),
    "$isArray": (1, 1, lambda e: a.boolean(e is not None and e[0] == c.ARRAY)),
    "$toString": (1, 1, to_string),
    "$add": (0, _MANY, _dates(a.add, _numbers("$add", a.add))),
    "$multiply": (0, _MANY, _numbers("$multiply", a.multiply)),
    "$subtract": (2, 2, _dates(a.subtract, _numbers("$subtract", a.subtract))),
    "$divide": (2, 2, _numbers("$divide", a.divide)),
    "$concat": (0, _MANY, _concat),
    "$strLenCP": (1, 1, _characters),
    "$size": (1, 1, _array_size),
    "$arrayElemAt": (2, 2, _at),
    "$first": (1, 1, lambda e: _at(e, a.integer(0))),
    "$last": (1, 1, lambda e: _at(e, a.integer(-1))),
    "$in": (2, 2, _in),
    "$concatArrays": (0, _MANY, _concat_arrays),
    "$mergeObjects": (0, _MANY, _merge_objects),
    "$objectToArray": (1, 1, _object_to_array),
    "$arrayToObject": (1, 1, _array_to_object),
    "$max": (1, _MANY, _extreme(max)),
    "$min": (1, _MANY, _extreme(min)),
    "$bsonSize": (1, 1, lambda e: a.NULL if e is None or e[0] != c.OBJECT else a.integer(len(e[1]))),
}
