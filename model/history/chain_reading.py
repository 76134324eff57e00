"""The chain of a document, read at once or in several steps: after a stop it continues where it was."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial as bound
from typing import TypeAlias

from model.foundation.records import Checkpoint, Version, no_checkpoint
from model.history.chain import Chain, Follower
from model.values import canonical
from model.values.canonical import Value

_FIRST, _PARTIAL = 0.1, 0.5  # seconds until the first partial chain, and between two of them
_Mark: TypeAlias = tuple[object, ...]


class ChainReading:
    """Reads the versions of one document for its chain.

    ``versions`` starts to read them, newest first and with contents. ``newest`` returns the current newest version: a
    stopped reading resumes only if that is unchanged. ``keys`` returns the keys for a :class:`.Follower`.
    """

    def __init__(
        self,
        versions: Callable[[], Iterator[Version]],
        newest: Callable[[], Version],
        keys: Callable[[], Sequence[str]],
    ) -> None:
        self._begin, self._newest, self._keys = versions, newest, keys
        self._versions: Iterator[Version] | None = None
        self._next: Version | None = None  # that is read, and not taken yet
        self._first: _Mark = ()
        self._step: Callable[[], None] = lambda: None

    def read(self, checkpoint: Checkpoint = no_checkpoint, partial: Callable[[Chain], None] | None = None) -> Chain:
        """The whole chain. ``partial`` is called from time to time with the chain so far, newest versions first.

        Raises ``NotFound``, and what the checkpoint raises; the next call resumes with the version of that
        checkpoint.
        """
        if self._versions is None or _mark(self._newest()) != self._first:
            self._versions, self._next, self._first, self._done = self._begin(), None, (), 0
            self._follower = Follower(self._keys(), lambda: self._step())
        versions, self._versions = self._versions, None  # after an error there is nothing to resume
        due = time.monotonic() + _FIRST
        while (version := self._next or next(versions, None)) is not None:
            self._next = version
            self._first = self._first or _mark(version)
            self._step = bound(checkpoint, self._done + 1, self._total())
            try:
                self._step()
            except BaseException:
                self._versions = versions
                raise
            self._follower.take(version.but())  # read as a whole: a window draws what comes of it
            self._next, self._done = None, self._done + 1
            if partial is not None and time.monotonic() > due:
                partial(self._follower.chain(complete=False))
                due = time.monotonic() + _PARTIAL
        return self._follower.chain()

    def _total(self) -> int | None:
        """The number of versions according to the newest one's number; None if that is too low or unknown."""
        v = self._first[0]
        if not isinstance(v, Value) or v.type not in (canonical.INT32, canonical.INT64):
            return None
        total = int.from_bytes(v.data, "little", signed=True)
        return total if total > self._done else None


def _mark(version: Version) -> _Mark:
    return version.v, version.hash, version.at, version.author, version.state
