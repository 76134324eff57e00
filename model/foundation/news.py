"""News of writes: every view hears of each write to the documents that it shows, from any window or page.

The gateway tells of its writes, in the thread that sent them; whoever notices another program's write tells of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from model.foundation.records import Outcome


class News(Struct, frozen=True):
    """The end of a write. ``data`` is ``Session.data`` of every session that reads the written collection."""

    data: str
    outcome: Outcome  # without an entry if another program wrote

    @property
    def moved(self) -> bool:
        """Whether stored documents may have changed.

        True for a conflict, because somebody else wrote, and for a refused write, which may have left a copy in an
        archive.
        """
        return self.outcome.kind != "skipped"


Listener: TypeAlias = Callable[[News], None]
_listeners: list[Listener] = []


def listen(listener: Listener) -> None:
    """Call ``listener`` with all news until the program ends, in the thread that tells them."""
    _listeners.append(listener)


def tell(news: News) -> None:
    """Tell news to all listeners."""
    for listener in _listeners:
        listener(news)
