"""The 16 bytes of a Decimal128 as a number and as digits; only this file names the driver's class for them."""

from __future__ import annotations

from decimal import Decimal

from bson.decimal128 import Decimal128, create_decimal128_context

from model.values.canonical import DECIMAL128, Value

CONTEXT = create_decimal128_context()
"""The arithmetic of servers: 34 digits."""


def decimal_of(data: bytes) -> Decimal:
    """The number; it may be a signalling NaN, which cannot even be compared with itself."""
    return Decimal128.from_bid(data).to_decimal()


def digits(data: bytes) -> str:
    """All digits: ``1.00`` stays ``1.00``."""
    return str(Decimal128.from_bid(data))


def decimal_data(number: Decimal | str) -> bytes:
    """The payload; raises ``ArithmeticError`` or ``ValueError`` for more than 34 digits."""
    return Decimal128(number).bid


def decimal_value(number: Decimal | str) -> Value:
    """The value of a number or of its digits; raises as :func:`decimal_data`."""
    return Value(DECIMAL128, decimal_data(number))
