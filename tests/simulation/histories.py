"""Stored versions, read without the code under test: plainly decoded for each layout, oldest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import bson
from bson import ObjectId

from model.profile import CollectionProfile
from tests.simulation.machine import Machine

Stored = dict[str, Any]
OWN_DOCUMENTS = ("versions", "flagged", "deltas")
UNNUMBERED = ("hashed", "plain")


@dataclass(frozen=True)
class Entry:
    """One version as it is stored."""

    v: Any
    token: ObjectId | None
    content: bytes


class Collections(Protocol):
    """Documents by the collections that hold them."""

    def documents(self, ns: str) -> list[bytes]:
        """What a collection holds."""


def history(machine: Machine, profile: CollectionProfile, id: str = "K-1") -> list[Entry]:
    """The versions of a document, by default of the one that every simulation writes to.

    Those that carry no token have that of the attempt whose write made them: the machine's log knows.
    """
    if profile.layout in UNNUMBERED:
        return _changes(machine, profile, id)
    entries = stored(machine, profile, id)
    if profile.token or profile.layout in OWN_DOCUMENTS:
        return entries
    wrote = _writers(machine, profile, id)
    return [replace(each, token=wrote.get((each.v, still(each.content)))) for each in entries]


def stored(collections: Collections, profile: CollectionProfile, id: str) -> list[Entry]:
    """The versions of a document as they are stored: without a token where neither a field nor an ``_id`` is one."""
    assert profile.layout in _READERS, f"_READERS in tests/simulation/histories.py lacks {profile.layout}"
    return _READERS[profile.layout](collections, profile, id)


def _writers(machine: Machine, p: CollectionProfile, id: str) -> dict[tuple[Any, bytes], ObjectId]:
    """Whose write made a version last, by its number and content."""
    wrote: dict[tuple[Any, bytes], ObjectId] = {}
    for change in machine.log:
        if change.ns != p.ns or change.after is None or change.by is None:
            continue
        for doc in _decoded([change.after], "_id", id):
            made = _current(doc, p)
            wrote[made.v, still(made.content)] = change.by
    return wrote


def _current(doc: Stored, p: CollectionProfile) -> Entry:
    part = doc[p.current] if p.layout == "embedded" else doc
    return _entry(part, p, *([p.prev] if p.layout == "nested" else []))


def holds(machine: Machine, p: CollectionProfile, stored: Iterable[tuple[str, bytes]], token: ObjectId) -> bool:
    """Whether the version that an attempt made is among (ns, stored document)."""
    if p.token or p.layout in OWN_DOCUMENTS:
        return any(token.binary in raw for _, raw in stored)
    mine = {key for change in machine.log if change.by == token and change.ns == p.ns for key in _keys(change.after, p)}
    return any(key in mine for ns, raw in stored for key in _keys(raw, p, ns))


def versions_in(raw: bytes, p: CollectionProfile, ns: str = "") -> Iterator[Entry]:
    """The versions in one stored document: of the collection, or of its archive."""
    doc = bson.decode(raw)
    if ns and ns == p.archive:
        yield _entry(doc, p, p.archive_id)
        return
    past = doc.get(p.prev, ()) if p.layout in ("embedded", "nested") else ()
    yield from (_entry(part, p, *([p.prev] if p.layout == "nested" else [])) for part in past)
    yield _current(doc, p)


def _keys(raw: bytes | None, p: CollectionProfile, ns: str = "") -> Iterator[tuple[Any, bytes]]:
    """The versions in a stored document, by number and content."""
    yield from ((each.v, still(each.content)) for each in (versions_in(raw, p, ns) if raw is not None else ()))


def flagged(machine: Machine, profile: CollectionProfile) -> list[Any]:
    """The numbers of the versions that carry the flag."""
    return [doc[profile.version] for doc in _decoded(machine.documents(profile.ns)) if doc.get(profile.current)]


def _decoded(raws: Iterable[bytes], name: str = "", id: str = "") -> list[Stored]:
    return [doc for raw in raws if (doc := bson.decode(raw)).get(name, id) == id]


def _entry(doc: Stored, p: CollectionProfile, *own: str) -> Entry:
    names = {"_id", p.version, p.token, p.hash, f"{p.token}_next", *own} - {""}
    content = {name: value for name, value in doc.items() if name not in names}
    token = doc.get(p.token) if p.token else doc.get("_id") if p.layout in ("versions", "flagged") else None
    return Entry(doc.get(p.version), token, bson.encode(content))


def _by_number(docs: Iterable[Stored], p: CollectionProfile) -> list[Stored]:
    return sorted(docs, key=lambda doc: doc[p.version])


def _own_documents(collections: Collections, p: CollectionProfile, id: str) -> list[Entry]:
    docs = _by_number(_decoded(collections.documents(p.ns), p.id, id), p)
    return [_entry(doc, p, p.id, *([p.current] if p.layout == "flagged" else [])) for doc in docs]


def _deltas(collections: Collections, p: CollectionProfile, id: str) -> list[Entry]:
    state: Stored = {}
    entries = []
    own = ("_id", p.id, p.version, p.token, p.hash, p.removed, f"{p.token}_next")
    for doc in _by_number(_decoded(collections.documents(p.ns), p.id, id), p):
        if doc.get(p.deleted) is True and not doc.keys() - {*own, p.deleted}:
            state = {}  # a tombstone: nothing is left of what was there before
            entries.append(Entry(doc[p.version], doc[p.token or "_id"], bson.encode({p.deleted: True})))
            continue
        for name in doc.get(p.removed, ()):
            state.pop(name, None)  # what it removes is gone already where a delete took the versions before
        state |= {name: value for name, value in doc.items() if name not in own}
        entries.append(Entry(doc[p.version], doc[p.token or "_id"], bson.encode(state)))
    return entries


def _embedded(collections: Collections, p: CollectionProfile, id: str) -> list[Entry]:
    docs = _decoded(collections.documents(p.ns), "_id", id)
    return [_entry(part, p) for doc in docs for part in (*doc[p.prev], doc[p.current])]


def _nested(collections: Collections, p: CollectionProfile, id: str) -> list[Entry]:
    docs = _decoded(collections.documents(p.ns), "_id", id)
    return [_entry(part, p, p.prev) for doc in docs for part in (*doc.get(p.prev, ()), doc)]


def _archive(collections: Collections, p: CollectionProfile, id: str) -> list[Entry]:
    current = [_entry(doc, p) for doc in _decoded(collections.documents(p.ns), "_id", id)]
    past = _by_number(_decoded(collections.documents(p.archive), p.archive_id, id), p)
    rows = [_entry(doc, p, p.archive_id) for doc in past]
    # A row like the current version is the residue of a writer that died before its swap, or a stream's, as it should;
    # what a stranger has changed in place since is not in it.
    return [*(row for row in rows if not any(_same(row, each) for each in current)), *current]


def still(content: bytes) -> bytes:
    """A content without what a stranger bumps."""
    if b"views" not in content:
        return content
    return bson.encode({name: value for name, value in bson.decode(content).items() if name != "views"})


def _same(a: Entry, b: Entry) -> bool:
    return (a.v, a.token, still(a.content)) == (b.v, b.token, still(b.content))


def _changes(machine: Machine, p: CollectionProfile, id: str) -> list[Entry]:
    """Where no history is kept: the states that the document went through."""
    entries: list[Entry] = []
    by: ObjectId | None = None
    for change in machine.log:
        for doc in _decoded([change.after], "_id", id) if change.ns == p.ns and change.after is not None else ():
            by = change.by or by  # a stranger's bump is a state of whoever wrote last
            entries.append(_entry(doc, p) if p.token else replace(_entry(doc, p), token=by))
    return entries


_READERS: dict[str, Callable[[Collections, CollectionProfile, str], list[Entry]]] = {
    "versions": _own_documents,
    "flagged": _own_documents,
    "embedded": _embedded,
    "nested": _nested,
    "archive": _archive,
    "deltas": _deltas,
    "stream": _archive,
}
