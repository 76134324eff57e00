"""The quarantine: a collection in each database with a copy of every document that repairs removed there.

A row is ``{_id, from, at, by, doc}``. Its ``_id`` is the SHA-256 of the document's collection and bytes, so that a
removal that died and is repeated keeps only one copy.
"""

from __future__ import annotations

import datetime as dt
import hashlib

from model.foundation.collection_profile import CollectionProfile
from model.server import guards
from model.server.retry import Port, Write
from model.storage.update_operators import check_size
from model.values import canonical as c
from model.values.canonical import Value

NAME = "quarantine"


def place(ns: str) -> str:
    """The quarantine of a collection's database."""
    return f"{ns.partition('.')[0]}.{NAME}"


def key(ns: str, raw: bytes) -> Value:
    """The ``_id`` of the row for a document."""
    # Of place and bytes, so that a repair that is run again finds its copy instead of making another.
    return Value.of(hashlib.sha256(ns.encode() + b"\x00" + raw).hexdigest())


def keeping(ns: str, raw: bytes, at: dt.datetime, by: str) -> Write:
    """The write that stores a copy of a document; raises ``Refused`` if the copy would be too large."""
    row = c.document(
        [
            ("_id", key(ns, raw)),
            ("from", Value.of(ns)),
            ("at", Value.of(at)),
            ("by", Value.of(by)),
            ("doc", Value.document(raw)),
        ]
    )
    check_size(row)
    return Write(place(ns), "insert", {}, row, "a copy is kept in the quarantine")


def kept(server: Port, ns: str, raw: bytes) -> bytes | None:
    """The row with exactly this document; None if there is none."""
    wanted = key(ns, raw)
    for row in server.find(place(ns), guards.by_id(wanted), limit=1):
        # Compared although the key is a digest of it: the row may have been changed by hand.
        if c.get(row, ("doc",)) == Value.document(raw) and c.get(row, ("from",)) == Value.of(ns):
            return row
    return None


def find(server: Port, ns: str, id: Value, sha256: str) -> tuple[bytes, bytes] | None:
    """The row for a document known only by ``_id`` and digest, and the document."""
    for row in server.find(place(ns), {"from": ns, "doc._id": {"$eq": id}}):
        doc = c.get(row, ("doc",))
        if doc is not None and doc.type == c.OBJECT and hashlib.sha256(doc.data).hexdigest() == sha256:
            return row, doc.data
    return None


def versions(server: Port, profile: CollectionProfile, id: Value) -> list[Value]:
    """The versions of a document in the quarantine, from its own collection or its archive."""
    found = []
    for ns, name in ((profile.ns, profile.id), (profile.archive, profile.archive_id)):
        if ns:
            for row in server.find(place(ns), {"from": ns, f"doc.{name}": {"$eq": id}}):
                found.append(c.get(row, ("doc", profile.version)))
    return [v for v in found if v is not None]


def clearing(ns: str, row: bytes) -> Write:
    """The write that removes a row after its document is back in its place."""
    wanted = c.get(row, ("_id",))
    assert wanted is not None
    # Guarded like any delete: another run may have removed the document again and kept a new copy under this key.
    where = guards.by_id(wanted) | {"from": Value.of(ns)}
    for name in ("at", "by"):
        where |= guards.exact(name, c.get(row, (name,)))
    return Write(place(ns), "delete", where, None, "the copy in the quarantine is cleared")
