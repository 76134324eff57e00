"""Filters, orders and projections for states that are folded here, so that no server can apply them.

They mean what they mean on a server, applied to a listed state with the layout's own fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from model.mql.filters import predicate
from model.mql.order import path_of, sort_key
from model.server.retry import Terms, bson_of
from model.storage.newest_query import truthy, with_own
from model.storage.reserved_fields import Own
from model.values import canonical as c
from model.values.canonical import Value


def matcher(filter: Terms | None) -> Callable[[bytes], bool]:
    """A test whether a state meets a filter; raises ``Refused`` if the filter cannot be evaluated here."""
    return predicate(bson_of(filter or {}), "This filter cannot be used on deltas, which are put together here")


def ordered(states: Iterable[bytes], sort: Terms | None, id_name: str) -> Iterator[bytes]:
    """States in the requested order; they arrive ordered by id."""
    terms = [(name, _direction(value)) for name, value in (sort or {}).items()]
    if not terms or terms == [(id_name, 1)]:
        yield from states
        return
    found = list(states)
    # From the last name to the first: sorting is stable, so the first decides and the others break ties.
    for name, direction in reversed(terms):
        path, down = path_of(name), direction < 0
        found.sort(key=lambda state: sort_key(state, path, down), reverse=down)
    yield from found


def _direction(value: Any) -> int:
    return int(value.python() if isinstance(value, Value) else value)


def projected(raw: bytes, projection: Terms | None, own: Own) -> bytes:
    """A state with the requested top-level fields, and those that a row needs."""
    terms = with_own(projection, own)
    if not terms:
        return raw
    names = {name.partition(".")[0] for name in terms}
    if any(map(truthy, terms.values())):
        return c.only(raw, names)
    return c.without(raw, [name for name in terms if "." not in name])
