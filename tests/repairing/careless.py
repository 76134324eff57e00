"""Repairs as hand-written scripts do them: read, think, write by ``_id`` alone. The harness must convict them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bson

from model.foundation.collection_profile import CollectionProfile
from model.server.retry import Write

Script = Callable[[Any, CollectionProfile], None]


def _read(port: Any, ns: str) -> list[dict[str, Any]]:
    return [bson.decode(raw) for raw in port.find(ns)]


def _set(port: Any, ns: str, doc: dict[str, Any], body: dict[str, Any]) -> None:
    port.send(Write(ns, "update", {"_id": doc["_id"]}, body, "a script"))


def clear_archive(port: Any, p: CollectionProfile) -> None:
    """Delete from the archive whatever is not below the current version, as it was read some time ago."""
    top = _read(port, p.ns)[0][p.version]
    for row in _read(port, p.archive):
        if row[p.version] >= top:
            port.send(Write(p.archive, "delete", {"_id": row["_id"]}, None, "a script"))


def overwrite_archive(port: Any, p: CollectionProfile) -> None:
    """Make the archive's copy what the current document is."""
    doc = _read(port, p.ns)[0]
    for row in _read(port, p.archive):
        if row[p.version] == doc[p.version]:
            _set(port, p.archive, row, {"$set": {name: value for name, value in doc.items() if name != "_id"}})


def delete_second(port: Any, p: CollectionProfile) -> None:
    """Keep the first of each version, delete the others."""
    seen: set[Any] = set()
    for doc in _read(port, p.ns):
        if doc[p.version] in seen:
            port.send(Write(p.ns, "delete", {"_id": doc["_id"]}, None, "a script"))
        seen.add(doc[p.version])


def sort_prev(port: Any, p: CollectionProfile) -> None:
    """Sort the array that was read, and write it back."""
    doc = _read(port, p.ns)[0]
    once = {part[p.version]: part for part in doc[p.prev]}
    _set(port, p.ns, doc, {"$set": {p.prev: [once[v] for v in sorted(once)]}})


def archive_now(port: Any, p: CollectionProfile) -> None:
    """Set the archive's row of the current version, whatever stands there."""
    doc = _read(port, p.ns)[0]
    rows = [row for row in _read(port, p.archive) if row[p.version] <= doc[p.version]]
    row = {p.archive_id: doc["_id"]} | {name: value for name, value in doc.items() if name != "_id"}
    _set(port, p.archive, rows[-1], {"$set": row})


def count_pending(port: Any, p: CollectionProfile) -> None:
    """The cleanup as it was published: add up what is pending, and empty the list."""
    doc = _read(port, p.ns)[0]
    tokens = doc.get(p.pending, [])
    total = doc[p.counter] + len(tokens)
    _set(port, p.ns, doc, {"$set": {p.counter: total, p.pending: []}, "$push": {p.applied: {"$each": tokens}}})


SCRIPTS: dict[str, Script] = {
    "phantom": clear_archive,
    "residue": clear_archive,
    "edited in place": overwrite_archive,
    "stored twice": delete_second,
    "prev repeated": sort_prev,
    "feed behind": archive_now,
    "old tokens": count_pending,
    "counted tokens": count_pending,
}
"""A script for each damage that can be careless about anything."""
