"""Sums and products of BSON numbers with the result types of a server.

Int32 and Int64 keep their type until they overflow to the next wider integer; a double makes the result a double, a
decimal makes it a decimal.
"""

from __future__ import annotations

import decimal
import math
import struct
from collections.abc import Callable
from typing import Any

from model.mql import order
from model.mql.command_error import CommandError
from model.mql.order import Element
from model.values import canonical as c
from model.values.decimals import CONTEXT, decimal_data


def boolean(value: bool) -> Element:
    """A Boolean."""
    return c.BOOLEAN, b"\x01" if value else b"\x00"


def double(value: float) -> Element:
    """A double."""
    return c.DOUBLE, struct.pack("<d", value)


def integer(value: int, wide: bool = False) -> Element:
    """An Int32 if it fits and ``wide`` is not set, else an Int64; OverflowError if neither fits."""
    if not wide and -(2**31) <= value < 2**31:
        return c.INT32, struct.pack("<i", value)
    if -(2**63) <= value < 2**63:
        return c.INT64, struct.pack("<q", value)
    raise OverflowError(value)


def string(value: str) -> Element:
    """A string."""
    data = value.encode("utf-8", "surrogateescape")
    return c.STRING, struct.pack("<i", len(data) + 1) + data + b"\x00"


def exact(value: decimal.Decimal) -> Element:
    """A decimal, rounded to its 34 digits."""
    return c.DECIMAL128, decimal_data(CONTEXT.create_decimal(value))


NULL: Element = (c.NULL, b"")


def widen(value: Any) -> decimal.Decimal:
    """A number as Decimal; a double by its 15 digits, as servers convert it."""
    if isinstance(value, float):
        return CONTEXT.create_decimal(f"{value:.14e}" if value == value and abs(value) != float("inf") else str(value))
    return decimal.Decimal(value)


def combine(
    a: Element, b: Element, plain: Callable[[Any, Any], Any], wide: Callable[[decimal.Decimal, decimal.Decimal], Any]
) -> Element:
    """One operation on two numbers; ``wide`` computes it if one is a decimal."""
    x, y = order.number(*a), order.number(*b)
    if c.DECIMAL128 in (a[0], b[0]):
        return exact(wide(widen(x), widen(y)))
    if c.DOUBLE in (a[0], b[0]):
        try:
            return double(plain(float(x), float(y)))
        except OverflowError:
            return double(float("inf"))
    return integer(plain(x, y), wide=c.INT64 in (a[0], b[0]))


def add(a: Element, b: Element) -> Element:
    """The sum."""
    return combine(a, b, lambda x, y: x + y, CONTEXT.add)


def subtract(a: Element, b: Element) -> Element:
    """The difference."""
    return combine(a, b, lambda x, y: x - y, CONTEXT.subtract)


def multiply(a: Element, b: Element) -> Element:
    """The product."""
    return combine(a, b, lambda x, y: x * y, CONTEXT.multiply)


def divide(a: Element, b: Element) -> Element:
    """The quotient: a double, or a decimal."""
    if order.number(*b) == 0:
        raise CommandError(2, "can't $divide by zero")
    if c.DECIMAL128 in (a[0], b[0]):
        return combine(a, b, lambda x, y: x / y, CONTEXT.divide)
    return double(order.number(*a) / order.number(*b))


def remainder(a: Element, b: Element) -> Element:
    """The remainder of a division, with the sign of the dividend."""
    if order.number(*b) == 0:
        raise CommandError(16610, "can't $mod by zero")
    return combine(a, b, _rest, CONTEXT.remainder)


def _rest(x: Any, y: Any) -> Any:
    if isinstance(x, float):
        return math.fmod(x, y) if math.isfinite(x) else math.nan
    return abs(x) % abs(y) * (-1 if x < 0 else 1)


def is_number(element: Element | None) -> bool:
    """Whether it is an Int32, Int64, double or decimal."""
    return element is not None and element[0] in order.NUMBERS
