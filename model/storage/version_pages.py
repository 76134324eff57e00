"""Long histories read page by page: a limited first query, and a second one only for readers who go on.

Most readers look only at the newest versions. A limited query leaves no cursor open on the server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from model.mql.order import value_key
from model.server import guards
from model.server.retry import Port, Terms
from model.storage.field_reader import FieldReader
from model.storage.lazy_row import SMALL
from model.storage.newest_query import TypeNumbers, beyond
from model.storage.reserved_fields import legible_field, same_version
from model.values import canonical as c
from model.values.canonical import Value

PAGE = 104
"""Versions of the first query: a hundred to show, one to compare the last with, and those that decide whether one is
missing after it.
"""

SURE = (c.INT32, c.INT64, c.DATE)
"""Types of versions after which a query can continue: only mistakes are sorted below them."""


def first_between(server: Port, ns: str, id: str, version: str, value: Value, low: int, high: int) -> bytes | None:
    """The version of one document with the lowest number from ``low`` on, below ``high``; None if there is none."""
    where = {**guards.exact(id, value), version: {"$gte": low, "$lt": high}}
    return next(iter(server.find(ns, where, sort={id: 1, version: 1}, limit=1)), None)


def newest_down(server: Port, ns: str, where: Terms, id: str, version: str, whole: bool = False) -> Iterator[bytes]:
    """The versions of one document that ``where`` finds, highest first, each once; :func:`settled` puts those with
    equal numbers in order.

    ``whole``: the caller reads all of them, so a single query fetches them.
    """
    order = {id: 1, version: -1}
    if whole:
        yield from server.find(ns, where, sort=order)
        return
    first: list[bytes] = []
    for raw in server.find(ns, where, sort=order, limit=PAGE):
        # What was yielded is kept only to recognise it, so large documents are cut down to that.
        first.append(raw if len(raw) <= SMALL else c.only(raw, ("_id", version)))
        yield raw
    if len(first) < PAGE:
        return
    last, seen = c.get(first[-1], (version,)), {c.get(raw, ("_id",)) for raw in first}
    if last is None or last.type not in SURE:  # the place to continue at is unknown
        yield from (raw for raw in server.find(ns, where, sort=order) if c.get(raw, ("_id",)) not in seen)
        return
    key = value_key(last)
    # The second query begins at the last number, not behind it: versions stored twice have it too.
    again = sum((v := c.get(raw, (version,))) is not None and value_key(v) == key for raw in first)
    rows = server.find(ns, {**where, version: {"$lte": last}}, sort=order)
    for raw in rows:
        if c.get(raw, ("_id",)) not in seen:
            yield raw
            continue
        again -= 1
        if not again:
            break
    yield from rows
    lowest = next(server.find(ns, where, sort={id: 1, version: 1}, limit=1), None)
    least = c.get(lowest, (version,)) if lowest is not None else last
    # `$lte` compares within one type, so versions of lower types would be left out in silence.
    if least is None or least.type not in (SURE if last.type != c.DATE else (c.DATE,)):
        yield from server.find(ns, {**where, **_of_lower_types(server, ns, version, last)}, sort=order)


def settled(rows: Iterable[bytes], version: str) -> Iterator[bytes]:
    """Versions, highest first; of those with equal numbers, the one with the highest ``_id`` first.

    Servers promise no order for equal numbers, and it changes with the index that a query uses.
    """
    number = FieldReader(version)
    alike: list[bytes] = []
    last: Value | None = None
    for raw in rows:
        v = number.legible(raw)[0]
        if alike and not same_version(v, last):
            yield from sorted(alike, key=_by_id, reverse=True)
            alike.clear()
        alike.append(raw)
        last = v
    yield from sorted(alike, key=_by_id, reverse=True)


def _by_id(raw: bytes) -> tuple[Any, bytes]:
    id = legible_field(raw, "_id")
    return value_key(id if id is not None else Value(c.NULL, b"")), raw


def _of_lower_types(server: Port, ns: str, version: str, last: Value) -> Terms:
    """The filter for versions that a server sorts below all versions of ``last``'s type."""
    lower = beyond(version, last, True, lambda: TypeNumbers().known(server, ns))["$or"][1:]
    nan = [] if last.type == c.DATE else [{version: {"$eq": float("nan")}}]  # below all numbers and less than none
    return {"$or": [*nan, *lower]}
