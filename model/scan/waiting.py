"""Findings that wait until it is known whether they contradict the layout of their collection."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator

from model.foundation.findings import Finding, Unchecked

_IN_MEMORY = 4 << 20  # bytes of waiting findings; more of them wait on disk


class Waiting:
    """Findings that wait for the end of their collection, in order; on disk if there are many."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed by :meth:`close`
        self._count = 0

    def add(self, each: Finding | Unchecked) -> None:
        """Add a finding."""
        pickle.dump(each, self._file)
        self._count += 1

    def __iter__(self) -> Iterator[Finding | Unchecked]:
        self._file.seek(0)
        for _ in range(self._count):
            yield pickle.load(self._file)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
