"""The unique indexes of a collection: those that layouts depend on, and others that may reject a write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from model import text
from model.errors import Refused, Unreachable, Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.mql import order
from model.mql.command_error import CommandError
from model.mql.filters import compile_filter
from model.server.duplicate_key import DuplicateKey, shown
from model.server.guards import physical_id
from model.server.retry import Port, bson_of
from model.storage.swap_steps import Made
from model.text.names import id_name
from model.values import canonical as c
from model.values.canonical import Value

LOOK_MS = 1500
"""Milliseconds for one check whether a value is in use; on a slower server the write itself will tell."""
_ODD = (c.REGEX, c.UNDEFINED)  # an equality filter does not find these


def is_unique(server: Port, ns: str, names: Sequence[str], remembered: bool = False) -> bool:
    """Whether an index, or ``_id`` itself, makes these fields unique.

    ``remembered`` trusts an index seen some minutes ago; if none was seen, the server is asked again.
    """
    if remembered and _is_unique(_remembered(server, ns), names):
        return True
    return _is_unique(_remembered(server, ns, again=True), names)


def _is_unique(found: Sequence[Mapping[str, Any]], names: Sequence[str]) -> bool:
    for index in found:
        keys = set(index.get("key") or ())
        whole = not index.get("partialFilterExpression") and not index.get("hidden")
        # An index on fewer of the fields is stricter, and does as well.
        if keys and keys <= set(names) and (index.get("unique") or keys == {"_id"}) and whole:
            return True
    return False


def _remembered(server: Port, ns: str, again: bool = False) -> list[dict[str, Any]]:
    """The index descriptions that a port remembers, if it does; ``again`` asks the server."""
    known: Callable[..., list[dict[str, Any]]] | None = getattr(server, "remembered_indexes", None)
    return known(ns, again) if known is not None else server.indexes(ns)


def create_unique(server: Port, ns: str, names: Sequence[str]) -> None:
    """Create a unique index on these fields; raises ``Refused`` that names duplicates in its way."""
    group = {name.replace("$", "_"): f"${name}" for name in names}
    pipeline: list[dict[str, Any]] = [
        {"$group": {"_id": group, "n": {"$sum": 1}}},
        {"$match": {"n": {"$gt": 1}}},
        {"$limit": 4},
    ]
    found = []
    for raw in server.aggregate(ns, pipeline):
        key = c.get(raw, ("_id",))
        if key is not None:
            found.append(" ".join(text.shown(value) for value in c.items(key)))
    if found:
        more = " and others" if len(found) > 3 else ""
        raise Refused(
            f"{ns} holds several documents with the same {' and '.join(names)}: {', '.join(found[:3])}{more}. "
            "Settle these duplicates first, then create the index."
        )
    server.create_index(ns, dict.fromkeys(names, 1), unique=True)


# --- other unique indexes


class UniqueIndex(Struct, frozen=True):
    """A unique index other than the one on ``_id``."""

    name: str
    paths: tuple[str, ...]
    sparse: bool
    partial: Mapping[str, Any] | None

    def covers(self, raw: bytes) -> bool:
        """Whether the index contains a document; raises ``CommandError`` if its condition is not understood."""
        if self.partial is not None and not compile_filter(bson_of(self.partial)).matches(raw):
            return False
        return not self.sparse or any(value is not None for path in self.paths for value in _reached(raw, path))

    def keys(self, raw: bytes) -> tuple[frozenset[order.Key], ...]:
        """The document's keys for each field, comparable as on the server."""
        return tuple(frozenset(map(order.key_of, _reached(raw, path))) for path in self.paths)

    def told(self, raw: bytes) -> DuplicateKey:
        """The document's key, for people."""
        values = (c.get(raw, tuple(path.split("."))) for path in self.paths)
        return DuplicateKey(self.name, self.paths, tuple(map(shown, values)))

    def holder(self, server: Port, ns: str, raw: bytes) -> bytes | None:
        """The stored document whose key makes this index reject a new or changed one; None if there is none."""
        if (terms := self._terms(raw)) is None:
            return None
        where = {"_id": {"$ne": c.get(raw, ("_id",))}, "$and": [terms, self.partial or {}]}
        return next(iter(server.find(ns, where, limit=1, max_ms=LOOK_MS)), None)

    def holders(self, server: Port, ns: str, raws: Sequence[bytes]) -> list[bytes]:
        """The stored documents that have a key of one of these, these included."""
        if not (each := [terms for raw in raws if (terms := self._terms(raw)) is not None]):
            return []
        if len(self.paths) == 1:  # one list of values is found by the index at once
            path = self.paths[0]
            any_of: dict[str, Any] = {path: {"$in": [value for terms in each for value in terms[path]["$in"]]}}
        else:
            any_of = {"$or": each}
        return list(server.find(ns, {"$and": [any_of, self.partial or {}]}, max_ms=LOOK_MS))

    def _terms(self, raw: bytes) -> dict[str, Any] | None:
        """The clauses that a document has a key of this one; None if no query can say that."""
        terms: dict[str, Any] = {}
        for path in self.paths:
            found = {order.key_of(each): each for each in _reached(raw, path)}
            if not found or any(each is not None and each[0] in _ODD for each in found.values()):
                return None
            terms[path] = {"$in": [Value.of(None) if each is None else Value(*each) for each in found.values()]}
        return terms


def _reached(raw: bytes, path: str) -> list[order.Element | None]:
    """The values that an index stores for a path: array elements one by one, None for a missing value."""
    out: list[order.Element | None] = []
    for found in order.reach(raw, order.path_of(path)):
        out += order.items(found[1]) if found is not None and found[0] == c.ARRAY else [found]
    return out


def others(server: Port, ns: str, deciding: Sequence[str] = (), again: bool = False) -> Iterator[UniqueIndex]:
    """The unique indexes of a collection, except those on ``_id`` and on exactly the ``deciding`` fields.

    They may be some minutes old; whoever refuses a write because of one reads them ``again`` first.
    """
    for index in _remembered(server, ns, again):
        keys = dict(index.get("key") or {})
        if not index.get("unique") or set(keys) in ({"_id"}, set(deciding)):
            continue
        # Keys of other kinds, such as hashed or text, are not compared by value here.
        if all(way in (1, -1) for way in keys.values()):
            partial = index.get("partialFilterExpression")
            yield UniqueIndex(str(index.get("name", "")), tuple(keys), bool(index.get("sparse")), partial)


def covered(index: UniqueIndex, raw: bytes) -> bool:
    """Whether an index contains a document; False if its condition is not understood."""
    try:
        return index.covers(raw)
    except (Unreadable, CommandError, RecursionError):
        return False


def in_the_way(
    server: Port,
    ns: str,
    made: Made,
    before: bytes | None = None,
    deciding: Sequence[str] = (),
    again: bool = False,
) -> tuple[UniqueIndex, bytes] | None:
    """The first unique index that would reject a document, and the document that holds the key.

    ``before`` is the document's earlier state, if it replaces itself. None guarantees nothing: a server compares by
    collation, and another writer may take the key meanwhile.
    """
    try:
        for index in others(server, ns, deciding, again):
            raw = made()
            # A key that the document already has is held by itself.
            if index.covers(raw) and (before is None or index.keys(raw) != index.keys(before)):
                there = index.holder(server, ns, raw)
                if there is not None:
                    return (index, there) if again else in_the_way(server, ns, made, before, deciding, again=True)
    except Unreachable:
        raise
    except (Refused, Unreadable, CommandError, RecursionError):
        pass
    return None


def held(
    server: Port,
    profile: CollectionProfile,
    id: Value,
    made: Made,
    before: bytes | None,
    deciding: Sequence[str],
    several: bool,
) -> str:
    """Why a unique index other than the layout's own will reject a document, one sentence; "" if none will.

    ``several``: each version is a document, so another version of this document may hold the key.
    """
    found = in_the_way(server, profile.ns, made, before, deciding)
    if found is None:
        return ""
    index, there = found
    other = c.get(there, (profile.id,))
    if several and other == id:
        return (
            f"The unique index {index.name} lets one version of a document have {index.told(made()).key}, so no "
            "further version can be inserted; drop this index, or change the value."
        )
    return (
        f"{id_name(other or physical_id(there))} holds {index.told(made()).key} already, and the unique index "
        f"{index.name} lets no other document have it; choose another value."
    )
