"""The conditions that a team watches: the versions at which they changed, and by whom.

A condition is tested on the content of each version. If versions between two that differ are missing or unreadable,
it may have changed in any of them: then the turn is unproven and names nobody.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from model.errors import NotFound, Refused, Unreachable
from model.foundation.records import Checkpoint, WatchTurn, no_checkpoint
from model.history.chain import Bisector
from model.history.following import condition
from model.layouts.base import Layout
from model.over_time.span import everyone
from model.text.names import id_name
from model.values.canonical import Value

LONGEST_REST = 2.0  # seconds


class Watched(Struct):
    """The turns of some collections' conditions, document by document, oldest first; iterate over it once."""

    layouts: Sequence[Layout]
    ids: Sequence[Value] | None = None  # None: all
    checkpoint: Checkpoint = no_checkpoint
    gentle: bool = False  # rests as long as it worked, after each document
    documents: int = 0  # that were read
    holding: dict[str, dict[str, int]] = field(default_factory=dict)
    """By collection and condition: in how many documents it holds now; only for completely read collections."""
    unread: list[str] = field(default_factory=list)  # sentences on documents that could not be judged

    def __iter__(self) -> Iterator[WatchTurn]:
        """Each turn; raises ``Unreachable`` and the checkpoint's errors."""
        for layout in self.layouts:
            holding = {each.name: 0 for each in layout.profile.watches}
            for id in everyone(layout) if self.ids is None else self.ids:
                self.documents += 1
                self.checkpoint(self.documents, None)
                began = time.monotonic()
                try:
                    turns, holds = judged(layout, id)
                except NotFound:  # deleted since it was listed
                    continue
                except Unreachable:
                    raise
                except Refused as error:
                    self.unread.append(f"The watched conditions of {layout.ns} {id_name(id)} are not known: {error}")
                    continue
                for name in holds:
                    holding[name] += 1
                yield from turns
                if self.gentle:
                    time.sleep(min(LONGEST_REST, time.monotonic() - began))
            self.holding[layout.ns] = holding


def judged(layout: Layout, id: Value) -> tuple[list[WatchTurn], list[str]]:
    """The turns of each condition in a document, oldest first, and the names of those that hold now.

    None holds in a deleted document. Raises ``NotFound`` and ``Refused``.
    """
    watches = [(each.name, Bisector(condition(each.filter))) for each in layout.profile.watches]
    there = False
    for version in layout.history(id, contents="all"):
        there = there or version.current
        for _, bisector in watches if version.landed else ():
            bisector.take(version)
    turns: list[WatchTurn] = []
    holds: list[str] = []
    for name, bisector in watches:
        found = bisector.found()
        if found.holds and there:
            holds.append(name)
        for turn in found.turns:
            of = turn.version
            by = (of.author, of.reason) if not turn.gap else (None, None)
            turns.append(WatchTurn(layout.ns, id, name, turn.holds, of.v, of.at, *by, turn.before.v, turn.gap))
    return turns, holds
