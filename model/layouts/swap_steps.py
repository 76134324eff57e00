"""The writes that make one version of the one before it."""

from __future__ import annotations

from dataclasses import dataclass

from model.server.retry import Write


@dataclass(frozen=True)
class SwapSteps:
    """The writes of a swap in order: one of them decides, the others go before it or clean up behind it."""

    decides: Write
    makes: bytes
    """The stored document that the deciding write makes."""
    before: tuple[Write, ...] = ()
    after: tuple[Write, ...] = ()
    repeatable: bool = True
    """Whether the deciding write may be sent again in doubt: its guard tells a base that has come back from one that
    never left."""

    @property
    def all(self) -> list[Write]:
        """All writes, in order."""
        return [*self.before, self.decides, *self.after]
