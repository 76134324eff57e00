"""What is left of a document that was deleted, for whoever edited it meanwhile."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from msgspec import Struct

from model.errors import NotFound
from model.foundation.records import Version

if TYPE_CHECKING:
    from model.layouts.base import Layout
    from model.values.canonical import Value


class Remains(Struct, frozen=True):
    """The stored versions of a deleted document, who deleted it, and how it goes on if it is created again."""

    versions: int  # that are stored and readable
    last: Version | None  # the newest of them, without content
    deleted_at: dt.datetime | None  # None if nothing recorded it
    deleted_by: str | None
    reason: str | None
    follows: Version | None  # the version that it follows when created again; None if its history begins again
    is_stored: bool  # whether ``follows`` is stored; else it comes back with the new version


def remains(layout: Layout, id: Value, known: Version) -> Remains:
    """Look for what is left of a deleted document; ``known`` is the last version that somebody has read of it."""
    count, last, end = 0, None, None
    try:
        for version in layout.history(id):
            if version.deleted:
                # The history comes newest first, so the first tombstone is that of the latest delete.
                end = end or version
            elif not version.is_missing:
                last, count = last or version, count + 1
    except NotFound:
        pass
    at, by, reason = (end.at, end.author, end.reason) if end is not None else (None, None, None)
    if at is None and last is not None and last.v is not None:
        at = layout.ended_at(id, last.v)
    follows = None if layout.read_only else layout.follows(id, known)
    return Remains(count, last, at, by, reason, follows, follows is not known)
