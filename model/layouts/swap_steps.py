"""The writes that make one version of the one before it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TypeAlias

from msgspec import Struct

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
