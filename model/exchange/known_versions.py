"""The versions that an earlier export wrote, as digests on disk, so that memory stays flat however many they are."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager


class KnownVersions:
    """Versions by their names, and by all that they are; both as bytes of any length."""

    def __init__(self, spool: sqlite3.Connection) -> None:
        self._spool = spool
        spool.execute("CREATE TABLE known (name BLOB, whole BLOB, PRIMARY KEY (name, whole)) WITHOUT ROWID")

    def note(self, name: bytes, whole: bytes) -> None:
        """Take a version for known."""
        self._spool.execute("INSERT OR IGNORE INTO known VALUES (?, ?)", (_digest(name), _digest(whole)))

    def stands(self, name: bytes, whole: bytes) -> bool | None:
        """Whether a version is there as it is; None if it is not there at all."""
        found = self._spool.execute("SELECT whole FROM known WHERE name = ?", (_digest(name),)).fetchall()
        return (_digest(whole),) in found if found else None


@contextmanager
def known_versions() -> Iterator[KnownVersions]:
    """No version at first; forgotten at the end."""
    with closing(sqlite3.connect("")) as spool:  # a file without a name, as soon as it grows
        yield KnownVersions(spool)


def _digest(said: bytes) -> bytes:
    return hashlib.sha256(said).digest()
