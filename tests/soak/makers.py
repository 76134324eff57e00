"""Which entries of the journals made a version: what tells versions apart, with tokens and without.

A token tells a version's one entry, and so does its own ``_id`` where versions are documents of their own. Elsewhere
number and content tell it. An edit's content has a mark that no other edit has, so that this is as exact for edits.
Restores and undos repeat a content: two that were to make the same version of the same base, and were in doubt, are
both told that it is there, and it is; nobody can say whose it is.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import bson

from model.foundation.collection_profile import CollectionProfile
from model.userdata import packed_document
from tests.simulation.histories import OWN_DOCUMENTS, Entry

Row = dict[str, Any]
"""An entry of a journal, as SQLite has it."""
NOT_THERE = ("conflict", "refused")
PERHAPS = ("applied", "begun", "unknown")
"""How entries end whose version may be there."""
SOUGHT = " is not in the database"
"""A part of what is noted of a write in doubt that is looked for in vain."""
REPEATING = ("restore", "undo")
"""Entries of these make a content that was there before."""


def are_marked(p: CollectionProfile) -> bool:
    """Whether each version names the entry that made it."""
    return bool(p.token) or p.layout in OWN_DOCUMENTS


class Makers:
    """The entries of the journals about one collection, by the versions that they made or were to make."""

    def __init__(self, p: CollectionProfile, rows: Iterable[Row]) -> None:
        self._marked = are_marked(p)
        self._rows: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            self._rows[row["token"] if self._marked else _place(document_of(row), row["hash_after"])].append(row)

    def of(self, id: str, entry: Entry) -> Sequence[Row]:
        """The entries that a version can be of: those that say that it is not there only where no other one does."""
        if self._marked:
            return self._rows.get(str(entry.token), ())
        alike = [
            row for row in self._rows.get(_place(id, sha1(entry.content)), ()) if number_of(row) in (None, entry.v)
        ]
        return [row for row in alike if row["kind"] in PERHAPS] or alike

    def has_several(self, id: str, entry: Entry) -> bool:
        """Whether a version may have been made more than once, by restores and undos; an edit makes its own once."""
        found = self.of(id, entry)
        if all(row["action"] in REPEATING for row in found):
            return len(found) > 1
        return any(row["action"] in REPEATING and number_of(row) == entry.v for row in found)

    def name(self, id: str, entry: Entry) -> str:
        """What tells a version from all others."""
        return str(entry.token) if self._marked else _version(id, entry.v, sha1(entry.content))

    def made(self, row: Row) -> str:
        """The name of the version that an entry says it has made."""
        if self._marked:
            return str(row["token"])
        return _version(document_of(row), value(row["version_after"]), row["hash_after"])


def are_one(rows: Sequence[Row]) -> bool:
    """Whether a version has one entry, or several that come to the same: each repeats the content, none is an edit."""
    return len(rows) == 1 or (len(rows) > 1 and all(row["action"] in REPEATING for row in rows))


def stays_in_doubt(row: Row, versions: Iterable[Entry]) -> bool:
    """Whether nobody can tell, without a token, if the version behind an entry's base is the entry's own.

    It changed all that the write was to change, and some of it to the same: another edit did so, as where both count
    one more in a total, or it is the write's own and was changed in place since. The product says neither.
    """
    if row["kind"] != "unknown" or row["version_before"] is None:
        return False
    before, sent = (_fields(row, "before", None), _fields(row, "after", row["before"]))
    there = next((bson.decode(entry.content) for entry in versions if entry.v == number_of(row)), None)
    changed = [name for name in before | sent if before.get(name) != sent.get(name)]
    return (
        there is not None
        and all(there.get(name) != before.get(name) for name in changed)
        and any(there.get(name) == sent.get(name) for name in changed)
    )


def _fields(row: Row, name: str, other: bytes | None) -> dict[str, Any]:
    raw = packed_document.unpack(row[name], packed_document.unpack(other))
    assert raw is not None
    assert sha1(raw) == row[f"hash_{name}"], f"entry {row['id']} of {row['home']} keeps another document than it names"
    return bson.decode(raw)


def _place(id: str, hash: str | None) -> str:
    return f"{id} {hash}"


def _version(id: str, v: Any, hash: str | None) -> str:
    return f"{id} v{v} {hash}"


def number_of(row: Row) -> int | None:
    """The number of the version that an entry made or was to make; None if only the database could tell it.

    A new document is numbered above an earlier life of its id.
    """
    if row["kind"] == "applied":
        return value(row["version_after"])
    return None if row["version_before"] is None else value(row["version_before"]) + 1


def sha1(raw: bytes) -> str:
    """How journals name a content."""
    return hashlib.sha1(raw, usedforsecurity=False).hexdigest()


def document_of(row: Row) -> Any:
    """The id of the document that an entry is about."""
    return json.loads(row["document"]) if row["document"] else None


def value(kept: str | None) -> Any:
    """A number as journals keep it."""
    found = None if kept is None else json.loads(kept)
    return int(next(iter(found.values()))) if isinstance(found, dict) else found
