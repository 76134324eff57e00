"""A time span, and the documents of a collection that may have changed in it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from msgspec import Struct

from model.errors import Refused
from model.layouts.base import Layout
from model.storage.newest_query import PageQuery
from model.values import canonical as c
from model.values.canonical import Value

ALL = 2**31 - 1
LOOK_MS = 2000


class Span(Struct, frozen=True):
    """From one moment to another, both included; None means open."""

    since: dt.datetime | None = None
    until: dt.datetime | None = None

    def __bool__(self) -> bool:
        return self.since is not None or self.until is not None

    def __contains__(self, at: dt.datetime) -> bool:
        return (self.since is None or at >= self.since) and (self.until is None or at <= self.until)


def everyone(layout: Layout, ids: Sequence[Value] | None = None) -> Iterator[Value]:
    """The ids of all documents, including deleted ones with a history; with ``ids``, those that equal one of these.

    Equal numbers of other types count, as in any query, and ids are yielded as they are stored.
    """
    seen: set[bytes] = set()
    named = None if ids is None else {"$in": list(ids)}
    query = PageQuery(
        None if named is None else {layout.profile.id: named},
        projection={"_id": 1},
        limit=ALL,
        any_version=layout.own_documents,
        deleted=True,
    )
    for id in chain((row.id for row in layout.page(query)), _archived(layout, named)):
        if (key := _key(id)) not in seen:
            seen.add(key)
            yield id


def _archived(layout: Layout, named: dict[str, list[Value]] | None = None) -> Iterator[Value]:
    if layout.archive is None or layout.written_by_others:
        return
    name = layout.profile.archive_id
    filter = None if named is None else {name: named}
    for raw in layout.server.find(layout.archive.ns, filter, projection={name: 1}):
        if (id := c.get(raw, (name,))) is not None:
            yield id


def _key(id: Value) -> bytes:
    return bytes((id.type,)) + id.data


def candidates(layout: Layout, span: Span, notes: list[str]) -> Iterator[Value]:
    """The ids of documents that may have a version in a span; all ids if times are not fields of rows."""
    return dated_in(layout, span, notes) if narrows(layout, span) else everyone(layout)


def dated_in(layout: Layout, span: Span, notes: list[str]) -> Iterator[Value]:
    """The ids of documents that may have a version in a span that :func:`narrows` which are read.

    If no index covers the times, a sentence in ``notes`` names it.
    """
    at = layout.profile.at
    bounds: dict[str, Any] = {}
    if span.since is not None:
        bounds["$gte"] = Value.of(span.since)
    if span.until is not None:
        bounds["$lte"] = Value.of(span.until + dt.timedelta(milliseconds=1))
    seen: set[bytes] = set()
    for ns, name, _ in layout.places:
        if _indexed(layout, ns, at) is False:
            notes.append(f"No index of {ns} leads to {at}, so all of it was read; create one on {{{at}: 1}}.")
        for raw in layout.server.find(ns, {"$or": [{at: bounds}, {at: None}]}, projection={name: 1}):
            id = c.get(raw, tuple(name.split(".")))
            if id is not None and (key := _key(id)) not in seen:
                seen.add(key)
                yield id


def last_change(layout: Layout) -> dt.datetime | None:
    """The newest time of a current version, in UTC; None if no index leads to it, or times are not fields of rows.

    What an archive holds beyond it may never have landed.
    """
    at, ns = layout.profile.at, layout.profile.ns
    if not _are_rows(layout) or not _indexed(layout, ns, at):
        return None
    for raw in layout.server.find(ns, sort={at: -1}, projection={at: 1}, limit=1, max_ms=LOOK_MS):
        found = c.get(raw, (at,))
        return found.python() if found is not None and found.type == c.DATE else None
    return None


def narrows(layout: Layout, span: Span) -> bool:
    """Whether a span limits which documents must be read, because times are fields of rows."""
    return bool(span) and _dated(layout)


def _dated(layout: Layout) -> bool:
    """Whether each version is a row with its time as a top-level date, judged by the first and last row."""
    p = layout.profile
    if not _are_rows(layout):
        return False
    try:
        for ns, _, _ in layout.places:
            for way in (1, -1):
                found = next(layout.server.find(ns, sort={"_id": way}, limit=1, max_ms=LOOK_MS), None)
                at = c.get(found, (p.at,)) if found is not None else None
                if found is not None and (at is None or at.type != c.DATE):
                    return False
    except Refused:
        return False
    return True


def _are_rows(layout: Layout) -> bool:
    """Whether each version is a row that may have its time as a field."""
    p = layout.profile
    return (
        bool(p.at)
        and not layout.written_by_others
        and not p.id_parts
        and (layout.own_documents or layout.archive is not None)
    )


def _indexed(layout: Layout, ns: str, at: str) -> bool | None:
    """Whether an index leads to the times; None if this user may not see the indexes."""
    try:
        return any(next(iter(each.get("key", {})), "") == at for each in layout.server.indexes(ns))
    except Refused:
        return None
