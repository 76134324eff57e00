"""The news of a feeder for people and programs."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from model.values.canonical import Value


class Fed(Struct, frozen=True):
    """A version that was archived, one that could not be, a document that was deleted, or a word on the feed itself.

    ``conflict``: the archive holds another content under this version, and it was left alone. ``refused``: the version
    cannot be archived, now or later. ``note`` with an ``id``: it was deleted after version ``v``.
    """

    outcome: Literal["applied", "conflict", "refused", "note"]
    ns: str
    detail: str
    id: Value | None = None
    v: Value | None = None  # where several versions are meant, the last of them
    lag: float | None = None  # seconds between the last event dealt with and now; 0 once none waits; None by polling
    taken_back: tuple[Value, ...] = ()  # archived versions that the document does not have any more
