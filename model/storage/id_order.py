"""The order in which a server sorts ids, so that two sorted reads can be joined.

Equal keys mean that the server finds two values equal: 1, 1.0 and Int64(1) share one. Source: "Comparison/Sort Order"
in the MongoDB manual.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, TypeAlias

from bson.decimal128 import Decimal128

from model.values import canonical as c
from model.values.canonical import Value

Key: TypeAlias = tuple[Any, ...]

_BRACKETS = (
    (c.MIN_KEY,), (c.UNDEFINED, c.NULL), (c.INT32, c.INT64, c.DOUBLE, c.DECIMAL128), (c.STRING, c.SYMBOL), (c.OBJECT,),
    (c.ARRAY,), (c.BINARY,), (c.OBJECT_ID,), (c.BOOLEAN,), (c.DATE,), (c.TIMESTAMP,), (c.REGEX,), (c.DB_POINTER,),
    (c.CODE,), (c.SCOPED_CODE,), (c.MAX_KEY,),
)  # fmt: skip
_RANK = {kind: rank for rank, kinds in enumerate(_BRACKETS) for kind in kinds}
_NUMBERS = (c.INT32, c.INT64, c.DOUBLE, c.DECIMAL128)
_SIGNED = (c.INT32, c.INT64, c.DATE)


def key_of(value: Value) -> Key:
    """The key that a value sorts by."""
    kind, data = value.type, value.data
    rank = _RANK.get(kind, len(_BRACKETS))
    if kind in (c.STRING, c.SYMBOL, c.CODE):
        return rank, data[4:-1]
    if kind in _SIGNED:
        return rank, 1, int.from_bytes(data, "little", signed=True)
    if kind in _NUMBERS:
        number = Decimal128.from_bid(data).to_decimal() if kind == c.DECIMAL128 else value.python()
        # A signalling NaN of Decimal128 cannot be compared, not even with itself.
        nan = number.is_nan() if isinstance(number, Decimal) else number != number
        return (rank, 0, 0) if nan else (rank, 1, number)
    if kind == c.TIMESTAMP:
        return rank, int.from_bytes(data, "little")
    if kind == c.BINARY:
        return rank, data[:4][::-1], data[4], data[5:]
    if kind == c.OBJECT:
        return rank, *((_RANK.get(v.type, 99), c.name_bytes(name), key_of(v)) for name, v in c.fields(data))
    return rank, data
