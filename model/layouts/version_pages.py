"""Long histories read page by page: a first query that ends by itself, and a second one only where somebody goes on.

Most readers look at the newest versions and leave; a query that has ended needs nothing more from the server.
"""

from __future__ import annotations

from collections.abc import Iterator

from model.layouts.checks.id_order import key_of
from model.layouts.lazy_row import SMALL
from model.layouts.newest_query import beyond
from model.server.retry import Port, Terms
from model.values import canonical as c
from model.values.canonical import Value

PAGE = 104
"""Versions of the first query: a hundred that are shown, the one that the last is compared with, and what decides
whether any is missing behind that."""

SURE = (c.INT32, c.INT64, c.DATE)
"""Types of versions behind which a query can go on without leaving any out."""


def newest_down(server: Port, ns: str, where: Terms, id: str, version: str) -> Iterator[bytes]:
    """The versions of one document that ``where`` finds, the highest first; none comes twice."""
    order = {id: 1, version: -1}
    first: list[bytes] = []
    for raw in server.find(ns, where, sort=order, limit=PAGE):
        first.append(raw if len(raw) <= SMALL else c.only(raw, ("_id", version)))
        yield raw
    if len(first) < PAGE:
        return
    last, seen = c.get(first[-1], (version,)), {c.get(raw, ("_id",)) for raw in first}
    below: Terms = {}
    again = len(first)  # how many of them the second query finds as well
    if last is not None and last.type in SURE:
        below, key = _from(server, version, last), key_of(last)
        again = sum((v := c.get(raw, (version,))) is not None and key_of(v) == key for raw in first)
    rows = server.find(ns, {**where, **below}, sort=order)
    for raw in rows:
        if c.get(raw, ("_id",)) not in seen:
            yield raw
            continue
        again -= 1
        if not again:
            break
    yield from rows


def _from(server: Port, version: str, last: Value) -> Terms:
    """The filter for versions that a server sorts behind one, or beside it."""
    behind = beyond(version, last, True, "gitVersion" in server.facts().extra)["$or"][1:]
    nan = (
        [] if last.type == c.DATE else [{version: {"$eq": float("nan")}}]
    )  # it is below all numbers and less than none
    return {"$or": [{version: {"$lte": last}}, *nan, *behind]}
