"""The stamp that a write brings along beside its content."""

from __future__ import annotations

import datetime as dt
from functools import cached_property

from bson import ObjectId
from msgspec import Struct, field


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class Stamp(Struct, frozen=True, dict=True):
    """A write's token, time, author and reason (where the profile names fields for these)."""

    token: ObjectId = field(default_factory=ObjectId)
    author: str | None = None
    at: dt.datetime = field(default_factory=_now)
    reason: str | None = None

    @cached_property
    def row(self) -> ObjectId:
        """The `_id` of a further document that the write makes."""
        return ObjectId()
