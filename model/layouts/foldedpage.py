"""Filters, orders and projections over states that no server holds, because they are folded here.

mongomock evaluates the filters on decoded copies. Decimal128 counts by its value, and so compares with other numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any

from bson import Decimal128
from bson.regex import Regex
from mongomock import filtering

from model import canonical as c
from model.canonical import Value
from model.errors import Refused
from model.layouts.current import truthy, with_own
from model.layouts.fields import Own
from model.resilient import Terms, bson_of

Matcher = Callable[[bytes, Value, str], bool]

# The order of types in a server's sort.
_RANKS = {
    kind: rank
    for rank, kinds in enumerate(
        (
            (c.MIN_KEY,),
            (c.UNDEFINED, c.NULL),
            (c.INT32, c.INT64, c.DOUBLE, c.DECIMAL128),
            (c.STRING, c.SYMBOL),
            (c.OBJECT,),
            (c.ARRAY,),
            (c.BINARY,),
            (c.OBJECT_ID,),
            (c.BOOLEAN,),
            (c.DATE,),
            (c.TIMESTAMP,),
            (c.REGEX,),
            (c.DB_POINTER, c.CODE, c.SCOPED_CODE, c.MAX_KEY),
        )
    )
    for kind in kinds
}


def matcher(filter: Terms | None) -> Matcher:
    """Whether a content with an id meets a filter; raises ``Refused`` where it cannot be evaluated here."""
    if not filter:
        return lambda content, id, name: True
    terms = _plain(c.decode(bson_of(filter)))

    def matches(content: bytes, id: Value, name: str) -> bool:
        state = _plain(c.decode(content))
        state.setdefault(name, _plain(id.python()))
        try:
            return bool(filtering.filter_applies(terms, state))  # type: ignore[no-untyped-call]
        except Exception as error:
            said = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise Refused(f"This filter cannot be used on deltas, which are put together here: {said}.") from None

    return matches


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, Decimal128):
        return value.to_decimal()
    if isinstance(value, Regex):
        return value.try_compile()
    return value


def ordered(states: Iterable[tuple[Value, bytes]], sort: Terms | None, id_name: str) -> Iterator[tuple[Value, bytes]]:
    """States in an order of fields; by id they come as they are."""
    terms = [(name, _direction(value)) for name, value in (sort or {}).items()]
    if not terms or terms == [(id_name, 1)]:
        yield from states
        return
    found = list(states)
    for name, direction in reversed(terms):
        path = tuple(name.split("."))
        found.sort(key=lambda state: sort_key(c.get(state[1], path)), reverse=direction < 0)
    yield from found


def _direction(value: Any) -> int:
    return int(value.python() if isinstance(value, Value) else value)


def sort_key(value: Value | None) -> tuple[int, Any]:
    """Where a value stands in a server's order of types and values."""
    if value is None:
        return (1, 0)
    rank = _RANKS.get(value.type, 99)
    if value.type in (c.INT32, c.INT64, c.DOUBLE, c.DECIMAL128):
        number = Decimal(str(value.python()))
        return (rank, Decimal("-Infinity") if number.is_nan() else number)
    if value.type == c.STRING:
        return (rank, value.data[4:])
    if value.type == c.DATE:
        return (rank, int.from_bytes(value.data, "little", signed=True))
    if value.type == c.TIMESTAMP:
        return (rank, int.from_bytes(value.data, "little"))
    return (rank, 0 if value.type in (c.NULL, c.UNDEFINED) else value.data)


def projected(raw: bytes, projection: Terms | None, own: Own) -> bytes:
    """A state with the top-level fields asked for, and those that a row is made of."""
    terms = with_own(projection, own)
    if not terms:
        return raw
    names = {name.partition(".")[0] for name in terms}
    if any(map(truthy, terms.values())):
        return c.only(raw, names)
    return c.without(raw, [name for name in terms if "." not in name])
