"""The query of a list of documents: filter, order, the fields of each, and the stretch."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from model.layouts.reserved_fields import Own
from model.server.retry import Terms
from model.values.canonical import Value


class PageQuery(Struct, frozen=True):
    """Current documents in the order asked for; the filter looks at the newest version of each.

    With ``any_version`` a document is listed where any of its versions matches. With ``deleted``, and no filter and no
    order, those come last of which only the history is left. One row beyond the page tells whether there are more.
    """

    filter: Terms | None = None
    sort: Terms | None = None
    projection: Terms | None = None
    skip: int = 0
    limit: int = 50
    any_version: bool = False
    deleted: bool = False


def with_own(projection: Terms | None, own: Own, *more: str) -> Terms | None:
    """The fields to list as a person asked for, and always those that a row needs."""
    if not projection:
        return None
    names = (*own.names, *more)
    keeps = any(truthy(value) for name, value in projection.items() if name != "_id")
    if not keeps:
        return {name: value for name, value in projection.items() if name not in names} or None
    return {name: value for name, value in projection.items() if name not in names} | dict.fromkeys(sorted(names), 1)


def truthy(value: Any) -> bool:
    """Whether a projection asks for a field by this value."""
    return bool(value.python() if isinstance(value, Value) else value)
