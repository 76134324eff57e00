"""The writes that turn one version into the next."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import cached_property
from typing import TypeAlias

from bson import ObjectId
from msgspec import Struct, field

from model.server.retry import Write

Made: TypeAlias = Callable[[], bytes]
"""Makes the stored document that a write produces; called only if somebody needs it."""


class SwapSteps(Struct, frozen=True, dict=True):
    """The writes of a swap in order: one decides, some precede it, some clean up after it."""

    decides: Write
    made: Made
    before: tuple[Write, ...] = ()
    after: tuple[Write, ...] = ()
    read_at: float = 0.0
    """When the base was read for this write, by the monotonic clock; 0.0 if it was read for anything else."""
    repeatable: bool = True
    """Whether the deciding write may be repeated in doubt: its guard distinguishes a base that was replaced and put
    back from one that never changed.
    """

    @cached_property
    def makes(self) -> bytes:
        """The stored document that the deciding write produces."""
        return self.made()

    @property
    def all(self) -> list[Write]:
        """All writes, in order."""
        return [*self.before, self.decides, *self.after]


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class Stamp(Struct, frozen=True, dict=True):
    """A write's token, time, author and reason (if the profile names fields for these)."""

    token: ObjectId = field(default_factory=ObjectId)
    author: str | None = None
    at: dt.datetime = field(default_factory=_now)
    reason: str | None = None
    read_at: float = 0.0  # when the base was read for this write, by the monotonic clock; 0.0 if for anything else

    @cached_property
    def row(self) -> ObjectId:
        """The `_id` of a second document that the write inserts."""
        return ObjectId()
