"""The versions of an earlier export, as digests on disk, so that any number of them needs little memory."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager


class KnownVersions:
    """Versions by identity and by everything known of them, both as bytes of any length."""

    def __init__(self, spool: sqlite3.Connection) -> None:
        self._spool = spool
        spool.execute("CREATE TABLE known (name BLOB, whole BLOB, PRIMARY KEY (name, whole)) WITHOUT ROWID")

    def note(self, name: bytes, whole: bytes) -> None:
        """Remember a version."""
        self._spool.execute("INSERT OR IGNORE INTO known VALUES (?, ?)", (_digest(name), _digest(whole)))

    def stands(self, name: bytes, whole: bytes) -> bool | None:
        """Whether a version is known and equal in everything; None if its identity is unknown."""
        found = self._spool.execute("SELECT whole FROM known WHERE name = ?", (_digest(name),)).fetchall()
        return (_digest(whole),) in found if found else None


@contextmanager
def known_versions() -> Iterator[KnownVersions]:
    """An empty collection of known versions, which is deleted at the end."""
    with closing(sqlite3.connect("")) as spool:  # a temporary file, once it grows
        yield KnownVersions(spool)


def _digest(said: bytes) -> bytes:
    return hashlib.sha256(said).digest()
