"""Operators of expressions that are functions of their evaluated operands; None is a missing value."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from model.mql import arithmetic as a
from model.mql import order
from model.mql.command_error import CommandError
from model.mql.order import Element
from model.values import canonical as c
from model.values.decimals import digits
from model.values.kinds import KINDS

Function = Callable[..., "Element | None"]

ALIASES = {kind.alias: kind.code for kind in KINDS}
"""The type names of ``$type``; MinKey is -1 in queries and 255 in stored bytes."""
_NAMES = {number: name for name, number in ALIASES.items()}


def truth(element: Element | None) -> bool:
    """Whether a value counts as true; false, null, zero and a missing value do not."""
    if element is None or element[0] in (c.NULL, c.UNDEFINED):
        return False
    if element[0] == c.BOOLEAN:
        return element[1] != b"\x00"
    return element[0] not in order.NUMBERS or order.number(*element) != 0


def array_of(values: Any) -> Element:
    """An array of elements; none may be None."""
    return c.ARRAY, c.array(c.Value(*e) for e in values).data


def object_of(pairs: Any) -> Element:
    """A document of fields, without missing ones."""
    return c.OBJECT, c.document((name, c.Value(*e)) for name, e in pairs if e is not None)


def now() -> Element:
    """The present time as a date."""
    value = c.Value.of(dt.datetime.now(dt.UTC))
    return value.type, value.data


def array_input(value: Element | None, name: str) -> list[Element] | None:
    """The elements of an operand that must be an array; None if it is null or missing."""
    if value is None or value[0] in (c.NULL, c.UNDEFINED):
        return None
    if value[0] != c.ARRAY:
        raise CommandError(28651, f"input to {name} must be an array not {c.Value(*value).kind}")
    return order.items(value[1])


def _missing_key(e: Element | None) -> order.Key:
    return (-0.5,) if e is None else order.key(*e)  # in expressions, a missing value sorts below null and above MinKey


def _comparison(judge: Callable[[order.Key, order.Key], bool]) -> tuple[int, int, Function]:
    return 2, 2, lambda x, y: a.boolean(judge(_missing_key(x), _missing_key(y)))


def _compare(x: Element | None, y: Element | None) -> Element:
    p, q = _missing_key(x), _missing_key(y)
    return a.integer((p > q) - (p < q))


def type_name(e: Element | None) -> str:
    """The type name that ``$type`` returns."""
    return "missing" if e is None else _NAMES.get(e[0], "unknown")


def _nothing(e: Element | None) -> bool:
    return e is None or e[0] in (c.NULL, c.UNDEFINED)


def to_string(e: Element | None) -> Element | None:
    """``$toString``: a decimal with all its digits, a double as servers print it, dates in UTC to the millisecond."""
    if _nothing(e) or e is None:
        return a.NULL
    kind, data = e
    if kind in (c.STRING, c.SYMBOL):
        return c.STRING, data
    if kind in (c.INT32, c.INT64):
        return a.string(str(order.number(kind, data)))
    if kind == c.DECIMAL128:
        return a.string(digits(data))
    if kind == c.DOUBLE:
        value = order.number(kind, data)
        # A server prints a whole double without a point. NaN does not equal itself.
        whole = value == value and abs(value) < 1e15 and value == int(value)
        text = ("-" if str(value).startswith("-") else "") + str(abs(int(value))) if whole else repr(value)
        return a.string({"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text, text))
    if kind == c.BOOLEAN:
        return a.string("true" if truth(e) else "false")
    if kind == c.OBJECT_ID:
        return a.string(data.hex())
    if kind == c.DATE:
        return a.string(_moment(data).isoformat(timespec="milliseconds") + "Z")
    raise CommandError(241, f"Unsupported conversion from {type_name(e)} to string in $convert with no onError value")


def _moment(data: bytes) -> dt.datetime:
    """The date and time in UTC of a date's payload."""
    milliseconds: int = struct.unpack("<q", data)[0]
    try:
        return dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=milliseconds)
    except OverflowError:
        raise CommandError(241, "the date is outside of the years 1 to 9999") from None


def _date_part(part: Callable[[dt.datetime], int]) -> tuple[int, int, Function]:
    def function(e: Element | None) -> Element:
        if e is None or _nothing(e):
            return a.NULL
        kind, data = e
        if kind in (c.OBJECT_ID, c.TIMESTAMP):  # in an ObjectId the first four bytes, in a timestamp the last
            seconds = int.from_bytes(data[:4], "big") if kind == c.OBJECT_ID else int.from_bytes(data[4:], "little")
            kind, data = c.DATE, struct.pack("<q", seconds * 1000)
        if kind != c.DATE:
            raise CommandError(16006, f"can't convert from BSON type {type_name(e)} to Date")
        return a.integer(part(_moment(data)))

    return 1, 1, function


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
            except OverflowError:  # beyond 64 bits, a server goes on with doubles
                out = function(a.double(float(order.number(*out or part))), part)
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


def total(values: Iterable[Element | None]) -> Element:
    """The sum of the numbers among some values, as in ``$sum``."""
    out = a.integer(0)
    for value in values:
        if value is not None and a.is_number(value):
            try:
                out = a.add(out, value)
            except OverflowError:
                out = a.add(a.double(float(order.number(*out))), value)
    return out


def average(values: Iterable[Element | None]) -> Element:
    """The mean of the numbers among some values, as in ``$avg``; null if there is none."""
    numbers = [v for v in values if a.is_number(v)]
    return a.divide(total(numbers), a.integer(len(numbers))) if numbers else a.NULL


def _listed(parts: Sequence[Element | None]) -> Sequence[Element | None]:
    """The operands; if an array is the only one, its elements."""
    if len(parts) == 1 and parts[0] is not None and parts[0][0] == c.ARRAY:
        return order.items(parts[0][1])
    return parts


def _rounded(name: str, whole: Callable[[Any], int], mode: str) -> tuple[int, int, Function]:
    """``$ceil`` and ``$floor``: a whole number in the operand's own type."""

    def function(e: Element | None) -> Element:
        if e is None or _nothing(e):
            return a.NULL
        value = _number(name, e)
        if e[0] == c.DECIMAL128:
            return a.exact(value.to_integral_value(mode))
        if e[0] == c.DOUBLE and math.isfinite(value):
            return a.double(math.copysign(whole(value), value))
        return e

    return 1, 1, function


def _absolute(e: Element | None) -> Element:
    if e is None or _nothing(e):
        return a.NULL
    value = _number("$abs", e)
    if e[0] == c.DECIMAL128:
        return a.exact(value.copy_abs())  # abs() would round to 28 digits
    if e[0] == c.DOUBLE:
        return a.double(abs(value))
    try:
        return a.integer(abs(value), wide=e[0] == c.INT64)
    except OverflowError:
        raise CommandError(28680, "can't take $abs of long long min") from None


def _number(name: str, e: Element) -> Any:
    if not a.is_number(e):
        raise CommandError(28765, f"{name} only supports numeric types, not {type_name(e)}")
    return order.number(*e)


def _modulo(x: Element | None, y: Element | None) -> Element:
    if x is None or y is None or _nothing(x) or _nothing(y):
        return a.NULL
    if not a.is_number(x) or not a.is_number(y):
        raise CommandError(16611, f"$mod only supports numeric types, not {type_name(x)} and {type_name(y)}")
    return a.remainder(x, y)


def _text(e: Element | None) -> bytes:
    """An operand of a string function: numbers and dates count as their text."""
    if e is None or _nothing(e):
        return b""
    if e[0] not in (*order.NUMBERS, c.STRING, c.SYMBOL, c.CODE, c.DATE):
        raise CommandError(16007, f"can't convert from BSON type {type_name(e)} to String")
    text = (c.STRING, e[1]) if e[0] == c.CODE else to_string(e)
    return text[1][4:-1] if text is not None else b""


def _part_of_text(e: Element | None, start: Element | None, length: Element | None) -> Element:
    first = _not_negative(start, "starting index", 34450, 34455)
    count = _not_negative(length, "length", 34452, 34454)
    return a.string(_text(e).decode("utf-8", "surrogateescape")[first : first + count])


def _not_negative(e: Element | None, what: str, no_number: int, negative: int) -> int:
    if e is None or not a.is_number(e):
        raise CommandError(no_number, f"$substrCP: {what} must be a numeric type (is BSON type {type_name(e)})")
    value = _whole(e, f"$substrCP: {what}")
    if value < 0:
        raise CommandError(negative, f"$substrCP: {what} must be a nonnegative integer.")
    return value


def _whole(e: Element, what: str) -> int:
    value = order.number(*e)
    if value != value or not -(2**31) <= value < 2**31 or value != int(value):
        raise CommandError(34451, f"{what} cannot be represented as a 32-bit integral value: {value}")
    return int(value)


def sliced(values: list[Element], first: int, count: int | None = None) -> Element:
    """The first elements, the last ones if ``first`` is negative, or ``count`` of them from a position."""
    if count is None:
        return array_of(values[:first] if first >= 0 else values[first:])
    skip = first if first >= 0 else max(0, len(values) + first)
    return array_of(values[skip : skip + count])


def _slice(e: Element | None, *numbers: Element | None) -> Element:
    if e is None or _nothing(e) or any(_nothing(n) for n in numbers):
        return a.NULL
    if e[0] != c.ARRAY:
        raise CommandError(28724, f"First argument to $slice must be an array, but is of type: {type_name(e)}")
    bounds = []
    for n in numbers:
        if n is None or not a.is_number(n):
            raise CommandError(28725, f"Argument to $slice must be numeric, but is of type: {type_name(n)}")
        bounds.append(_whole(n, "$slice: its argument"))
    if len(bounds) == 2 and bounds[1] <= 0:
        raise CommandError(28729, f"Third argument to $slice must be positive: {bounds[1]}")
    return sliced(order.items(e[1]), *bounds)


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
    out: dict[str, Element] = {}
    for part in _listed(parts):
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
        kept = [p for p in _listed(parts) if p is not None and not _nothing(p)]
        return pick(kept, key=lambda e: order.key(*e)) if kept else a.NULL

    return extreme


_MANY = 1000
DATE_PARTS: dict[str, tuple[int, int, Function]] = {
    "$year": _date_part(lambda moment: moment.year),
    "$month": _date_part(lambda moment: moment.month),
    "$dayOfMonth": _date_part(lambda moment: moment.day),
}
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
    "$mod": (2, 2, _modulo),
    "$abs": (1, 1, _absolute),
    "$ceil": _rounded("$ceil", math.ceil, decimal.ROUND_CEILING),
    "$floor": _rounded("$floor", math.floor, decimal.ROUND_FLOOR),
    "$sum": (0, _MANY, lambda *parts: total(_listed(parts))),
    "$avg": (0, _MANY, lambda *parts: average(_listed(parts))),
    **DATE_PARTS,
    "$toLower": (1, 1, lambda e: a.string(_text(e).lower().decode("utf-8", "surrogateescape"))),
    "$toUpper": (1, 1, lambda e: a.string(_text(e).upper().decode("utf-8", "surrogateescape"))),
    "$substrCP": (3, 3, _part_of_text),
    "$concat": (0, _MANY, _concat),
    "$strLenCP": (1, 1, _characters),
    "$size": (1, 1, _array_size),
    "$arrayElemAt": (2, 2, _at),
    "$slice": (2, 3, _slice),
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
