"""The writes that make one version of the one before it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import cached_property
from typing import TypeAlias

from bson import ObjectId
from msgspec import Struct, field

from model.server.retry import Write

Made: TypeAlias = Callable[[], bytes]
"""The stored document that a write makes, put together for whoever asks: few do."""


class SwapSteps(Struct, frozen=True, dict=True):
    """The writes of a swap in order: one of them decides, the others go before it or clean up behind it."""

    decides: Write
    made: Made
    before: tuple[Write, ...] = ()
    after: tuple[Write, ...] = ()
    repeatable: bool = True
    """Whether the deciding write may be sent again in doubt: its guard tells a base that has come back from one that
    never left."""

    @cached_property
    def makes(self) -> bytes:
        """The stored document that the deciding write makes."""
        return self.made()

    @property
    def all(self) -> list[Write]:
        """All writes, in order."""
        return [*self.before, self.decides, *self.after]


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
