"""The news from a feeder, for people and programs."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from model.values.canonical import Value


class Fed(Struct, frozen=True):
    """News: a version was archived or could not be, a document was deleted, or a note on the feed itself.

    ``conflict``: the archive holds this version with another content and keeps it. ``refused``: the version can never
    be archived. ``note`` with an ``id``: the document was deleted after version ``v``.
    """

    outcome: Literal["applied", "conflict", "refused", "note"]
    ns: str
    detail: str
    id: Value | None = None
    v: Value | None = None  # if it is about several versions, the last one
    lag: float | None = None  # seconds since the last event handled; 0 if none is waiting; None when polling
    taken_back: tuple[Value, ...] = ()  # archived versions that the document has lost
