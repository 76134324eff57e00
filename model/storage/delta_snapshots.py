"""Snapshots of a long history of deltas: states at some versions, from which states of nearby versions are folded.

Snapshots are valid only for exactly the stored versions that they were made from. Before each use a digest proves
that the versions just read are still these; a snapshot of other versions would give a state that never existed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from model.storage.delta_folding import newest_states, rebuilt
from model.values import canonical as c

LONG = 2000  # snapshots pay off from this many versions
STEP = 500  # versions between two snapshots
HELD = 32_000_000  # approximate bytes of all snapshots


class DeltaSnapshots(Struct, frozen=True):
    """The states after every ``step`` versions of one document; no version is in doubt or removes a field."""

    digest: bytes
    own: Collection[str]
    step: int
    states: list[bytes]  # after 0, step, 2 * step, … versions

    @classmethod
    def of(cls, stored: Sequence[bytes], own: Collection[str]) -> DeltaSnapshots:
        """Snapshots of a history, its stored versions given with the highest number first; raises ``Unreadable``."""
        step, states, held = STEP, [c.EMPTY], 0
        at = 0
        while at + step <= len(stored):
            states.append(rebuilt(_rows(stored, at, at + step), own, states[-1]))
            at += step
            held += len(states[-1])
            # Too large together: keep every second one, at twice the distance.
            if held > HELD and len(states) > 2:
                states, step = states[::2], step * 2
                at, held = (len(states) - 1) * step, sum(map(len, states))
        return cls(_digest(stored), own, step, states)

    def are_of(self, stored: Sequence[bytes]) -> bool:
        """Whether the snapshots were made from exactly these stored versions."""
        return _digest(stored) == self.digest

    def state(self, stored: Sequence[bytes], number: int) -> bytes:
        """The state after ``number`` versions."""
        nearest = min(number // self.step, len(self.states) - 1)
        return rebuilt(_rows(stored, nearest * self.step, number), self.own, self.states[nearest])

    def newest_states(self, stored: Sequence[bytes]) -> Iterator[bytes]:
        """The state after each version, newest first, each folded on request."""
        until = len(stored)
        for nearest in range(len(self.states) - 1, -1, -1):
            yield from newest_states(_rows(stored, nearest * self.step, until), self.own, self.states[nearest])
            until = nearest * self.step


def _rows(stored: Sequence[bytes], since: int, until: int) -> Sequence[bytes]:
    """The versions at these positions, counted from the oldest; oldest first."""
    count = len(stored)
    return stored[count - until : count - since][::-1]


def _digest(stored: Sequence[bytes]) -> bytes:
    digest = hashlib.sha256(usedforsecurity=False)
    for raw in stored:  # each starts with its own length, so the digest is unambiguous
        digest.update(raw)
    return digest.digest()
