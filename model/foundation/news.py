"""News of writes: whoever shows stored documents hears of each write to them, whichever window or page sent it.

Writes are told by the gateway, from the thread that sent them; those of other programs by whoever notices them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from model.foundation.records import Outcome


class News(Struct, frozen=True):
    """The end of a write. ``data`` is ``Session.data`` of every session that reads what was written."""

    data: str
    outcome: Outcome  # without an entry where the write was somebody else's

    @property
    def moved(self) -> bool:
        """Whether stored documents may be others now.

        A conflict tells that somebody else was faster, and even a refused write may have left a copy in an archive.
        """
        return self.outcome.kind != "skipped"


Listener: TypeAlias = Callable[[News], None]
_listeners: list[Listener] = []


def listen(listener: Listener) -> None:
    """Have each news told to ``listener``, in the thread of whoever tells it, for as long as the program runs."""
    _listeners.append(listener)


def tell(news: News) -> None:
    """Tell news to all who listen."""
    for listener in _listeners:
        listener(news)
