"""The collections of a soak, one of each layout and those that move, with the profile that states them.

As by default no write leaves a token in a document; with tokens all do whose layout has a place for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import bson
import pymongo.database
from bson.raw_bson import RawBSONDocument

from model.foundation.collection_profile import CollectionProfile
from model.layouts.registry import declared, has_archive, stated

Db = pymongo.database.Database[dict[str, Any]]
Profiles: TypeAlias = Mapping[str, CollectionProfile]
"""What is stated of collections, by their names."""

PLACES = {
    "archive": "archive",
    "damaged": "archive",  # others plant rows in its archive, and repairs take them out
    "versions": "versions",
    "flagged": "flagged",
    "embedded": "embedded",
    "nested": "nested",
    "deltas": "deltas",
    "stream": "stream",  # its archive is fed
    "moving": "versions",
    "shifting": "embedded",
    "hashed": "hashed",
    "plain": "plain",
}
"""The layouts of the collections that are edited."""
MOVES = {"moving": ("moved", "archive"), "shifting": ("shifted", "versions")}
"""Where a collection is moved, and to which layout."""
LEFT = {
    "left_archive": "archive",
    "left_versions": "versions",
    "left_flagged": "flagged",
    "left_embedded": "embedded",
    "left_nested": "nested",
    "left_plain": "plain",
}
"""The layouts of the collections out of which documents are deleted and purged as well."""
VACATED = {
    "vacated_versions": ("versions", "vacated_versions_new", "archive"),
    "vacated_archive": ("archive", "vacated_archive_new", "versions"),
    "vacated_embedded": ("embedded", "vacated_embedded_new", "flagged"),
}
"""The collections that are moved and then removed: their layouts, where they are moved, and to which layout."""
QUARANTINE = "quarantine"
COUNTS = "counts"
COUNTERS = tuple(f"c{number}" for number in range(3))


def profiles(database: str, tokens: bool = False) -> Profiles:
    """What is stated of each collection."""
    layouts = PLACES | LEFT | dict(MOVES.values())
    for place, (layout, target, to) in VACATED.items():
        layouts |= {place: layout, target: to}
    layouts |= {COUNTS: "pending"}
    marked = {place for place, layout in layouts.items() if tokens and "token" in declared(layout).roles}
    return {
        place: stated(f"{database}.{place}", layout, **({"token": "_w"} if place in marked else {}))
        for place, layout in layouts.items()
    }


def state(collections: Profiles, path: Path) -> None:
    """Write the profile."""
    tables = []
    for p in collections.values():
        lines = ["[[collection]]", f'ns = "{p.ns}"', f'layout = "{p.layout}"']
        lines += [f'archive = "{p.archive}"'] if has_archive(p.layout) else []
        tables.append("\n".join([*lines, *([f'token = "{p.token}"'] if p.token else [])]))
    path.write_text("\n\n".join(tables) + "\n", encoding="utf-8")


def prepare(database: Db, collections: Profiles) -> None:
    """Make the indexes that safety rests on, and the counters."""
    for p in collections.values():
        if has_archive(p.layout):
            _named(database, p.archive).create_index([(p.archive_id, 1), (p.version, 1)], unique=True)
        elif p.id != "_id":
            _named(database, p.ns).create_index([(p.id, 1), (p.version, 1)], unique=True)
    database[COUNTS].insert_many([{"_id": name, "count": 0, "pending": [], "applied": []} for name in COUNTERS])


def _named(database: Db, ns: str) -> Any:
    return database[ns.partition(".")[2]]


class Shelf:
    """The stored documents of one collection, its archive among them, by the documents that they belong to."""

    def __init__(self, database: Db, p: CollectionProfile) -> None:
        self._rows: dict[str, dict[str, list[bytes]]] = {}
        for ns, key in ((p.ns, p.id), (p.archive, p.archive_id)) if has_archive(p.layout) else ((p.ns, p.id),):
            raws = database.with_options(codec_options=bson.CodecOptions(document_class=RawBSONDocument))
            for raw in raws[ns.partition(".")[2]].find().sort("_id", 1):
                self._rows.setdefault(raw[key], {}).setdefault(ns, []).append(raw.raw)

    @property
    def ids(self) -> Iterable[str]:
        """The documents."""
        return self._rows.keys()

    def of(self, id: str) -> Book:
        """What is stored of one document."""
        return Book(self._rows.get(id, {}))


class Book:
    """The stored documents of one document, by their collections."""

    def __init__(self, rows: dict[str, list[bytes]]) -> None:
        self._rows = rows

    def documents(self, ns: str) -> list[bytes]:
        """Those in one collection."""
        return self._rows.get(ns, [])


def copies(database: Db) -> Iterator[tuple[str, str, bytes]]:
    """The copies that repairs keep of what they remove: each one's ``_id``, where it stood, and its bytes."""
    raws = database.with_options(codec_options=bson.CodecOptions(document_class=RawBSONDocument))
    for row in raws[QUARANTINE].find():
        yield row["_id"], row["from"], row["doc"].raw
