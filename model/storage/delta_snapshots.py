"""DeltaSnapshots of a long history of deltas: states at some of its versions, from which those near them are folded.

They hold for the stored versions that they were made from, all of them, byte for byte. Whoever has read these again
knows by a digest that they are still the same; a snapshot of which less is known would tell a state that is none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from model.storage.delta_folding import newest_states, rebuilt
from model.values import canonical as c

LONG = 2000  # versions from which on snapshots are worth it
STEP = 500  # versions between two of them
HELD = 32_000_000  # bytes of all of them, about


class DeltaSnapshots(Struct, frozen=True):
    """The states after every so many versions of one document, none of which is in doubt or removes anything."""

    digest: bytes
    own: Collection[str]
    step: int
    states: list[bytes]  # after 0, step, 2 * step, … versions

    @classmethod
    def of(cls, stored: Sequence[bytes], own: Collection[str]) -> DeltaSnapshots:
        """Those of a history whose stored versions are given the highest number first; raises ``Unreadable``."""
        step, states, held = STEP, [c.EMPTY], 0
        at = 0
        while at + step <= len(stored):
            states.append(rebuilt(_rows(stored, at, at + step), own, states[-1]))
            at += step
            held += len(states[-1])
            if held > HELD and len(states) > 2:
                states, step = states[::2], step * 2
                at, held = (len(states) - 1) * step, sum(map(len, states))
        return cls(_digest(stored), own, step, states)

    def are_of(self, stored: Sequence[bytes]) -> bool:
        """Whether these are the stored versions that the snapshots were made from."""
        return _digest(stored) == self.digest

    def state(self, stored: Sequence[bytes], number: int) -> bytes:
        """The state after so many versions."""
        nearest = min(number // self.step, len(self.states) - 1)
        return rebuilt(_rows(stored, nearest * self.step, number), self.own, self.states[nearest])

    def newest_states(self, stored: Sequence[bytes]) -> Iterator[bytes]:
        """The state after each version, the newest first, each folded when it is asked for."""
        until = len(stored)
        for nearest in range(len(self.states) - 1, -1, -1):
            yield from newest_states(_rows(stored, nearest * self.step, until), self.own, self.states[nearest])
            until = nearest * self.step


def _rows(stored: Sequence[bytes], since: int, until: int) -> Sequence[bytes]:
    """Versions by their places from the oldest on, oldest first."""
    count = len(stored)
    return stored[count - until : count - since][::-1]


def _digest(stored: Sequence[bytes]) -> bytes:
    digest = hashlib.sha256(usedforsecurity=False)
    for raw in stored:  # each begins with its own length
        digest.update(raw)
    return digest.digest()
