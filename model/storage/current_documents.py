"""Collections with one document for each current version: reading it, listing it, identifying it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from bson import ObjectId

from model.errors import NotFound
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Contents, Outline, Row, Stored, Version
from model.server import guards
from model.server.guards import Abilities
from model.server.retry import Port, Terms
from model.storage.foreign_guard import ForeignGuard
from model.storage.gaps import outlined
from model.storage.lazy_row import RowReader
from model.storage.lazy_version import LazyVersions
from model.storage.newest_query import PageQuery, with_own
from model.storage.reserved_fields import Own, legible_field, made_version, unreadable
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value

REPEATED = "the first of several documents with this _id"


class CurrentDocuments:
    """The current versions of a collection: whole documents, or a sub-document ``inside`` of each.

    ``own`` names the layout's own fields in the current version. A layout that stores only current versions reads its
    collection with this class alone.
    """

    def __init__(
        self, server: Port, profile: CollectionProfile, own: Own, inside: str = "", numbered: bool = True
    ) -> None:
        self.server, self.profile, self.own, self.inside, self.numbered = server, profile, own, inside, numbered
        self.ns = profile.ns
        self.foreign = ForeignGuard(profile)
        self._lazily = LazyVersions(profile, profile.id, own, self._read)
        self.row = RowReader(profile.id if inside else own.id, own.version, (own.at, own.token), inside).row
        self.known_abilities: Abilities | None = None
        """What this server's expressions can distinguish; None until asked for."""

    # --- one stored document

    def raw(self, id: Value) -> bytes:
        """The stored document with exactly this id; raises ``NotFound``."""
        return self._first(id)[0]

    def _first(self, id: Value) -> tuple[bytes, bool]:
        """The first stored document with exactly this id, and whether there are others, as dumps may have."""
        where = {self.profile.id: {"$eq": id}}
        found = list(self.server.find(self.ns, where, limit=2))
        exact = [raw for raw in found if c.get(raw, (self.profile.id,)) == id]
        if found and not exact:  # a server finds 1 and 1.0 equal
            exact = [raw for raw in self.server.find(self.ns, where) if c.get(raw, (self.profile.id,)) == id]
        if not exact:
            raise NotFound(f"There is no document {id_name(id)} in {self.ns} any more; refresh the list.")
        return exact[0], len(exact) > 1

    def _told(self, id: Value, contents: bool) -> Version:
        raw, is_repeated = self._first(id)
        made = self.made(raw, contents)
        return made.but(detail=made.detail or REPEATED) if is_repeated else made

    def part(self, raw: bytes) -> bytes:
        """The current version in a stored document; empty if there is none."""
        if not self.inside:
            return raw
        found = legible_field(raw, self.inside)
        return found.data if found is not None and found.type == c.OBJECT else c.EMPTY

    def path(self, name: str) -> str:
        """The path of a field of the current version in the stored document."""
        return f"{self.inside}.{name}" if self.inside else name

    def content(self, raw: bytes) -> bytes:
        """The users' part of the current version."""
        return self.own.content(self.part(raw))

    def made(self, raw: bytes, contents: bool = True) -> Version:
        """The current version out of its stored document."""
        return (contents and self._lazily.current(raw, self.part(raw))) or self._read(raw, contents)

    def _read(self, raw: bytes, contents: bool = True) -> Version:
        """The current version, decoded at once."""
        part = self.part(raw)
        version = self.version_of(part, "document", contents, current=True)
        if not self.inside:
            return version
        found: dict[str, Any] = {"raw": raw if contents else None, "stored_bytes": len(raw)}
        if version.state == "present" and (damage := unreadable(raw)):
            found |= {"state": "damaged", "detail": damage}
        elif part == c.EMPTY and legible_field(raw, self.inside) is None:
            found |= {"state": "damaged", "detail": f"has no {self.inside}"}
        return version.but(**found)

    def version_of(self, part: bytes, stored: Stored, contents: bool = True, current: bool = False) -> Version:
        """A version from the bytes that hold its fields."""
        times = (self.own.token,)
        return made_version(part, self.own, self.profile, stored, current, contents, times, counted=self.numbered)

    def token(self, raw: bytes) -> Value | None:
        """The token of a stored document's current version."""
        return c.get(self.part(raw), (self.own.token,)) if self.own.token else None

    def bears(self, raw: bytes, token: ObjectId) -> bool:
        """Whether a stored document's current version has this token."""
        return self.token(raw) == Value.of(token)

    def identity(self, version: Version) -> bytes:
        """The bytes that guard a swap: version and token, or the whole document if it has no token."""
        raw, own = version.raw or c.EMPTY, self.own
        if not own.token:
            return raw
        kept, _ = c.parted(self.part(raw), ("_id", own.version or "_id", own.token))
        return c.document(kept.items()) if own.token in kept else raw

    def abilities_over(self, raw: bytes) -> Abilities:
        """What this server's expressions can distinguish, tested once on an existing document."""
        if self.known_abilities is None:
            self.known_abilities = guards.abilities(self.server, self.ns, guards.physical_id(raw))
        return self.known_abilities

    # --- lists

    def exists(self, *ids: Value) -> bool:
        """Whether there is a document with exactly one of these ids."""
        return self.any(guards.exact_in(self.profile.id, ids))

    def any(self, filter: Terms) -> bool:
        """Whether a document of the collection matches."""
        return next(iter(self.server.find(self.ns, filter, projection={"_id": 1}, limit=1)), None) is not None

    def page(self, query: PageQuery) -> Iterator[Row]:
        """The documents that match, straight from the collection."""
        return self.rows(query.filter, query, with_own(query.projection, self.own))

    def rows(
        self, filter: Terms | None, query: PageQuery, fields: Terms | None, sort: Terms | None = None
    ) -> Iterator[Row]:
        """The rows of a query; filter, fields and order go to the server unchanged."""
        # Never without an order: a server may return documents in another one for each page, and pages would overlap.
        order = sort or query.sort or {self.profile.id: 1}
        found = self.server.find(self.ns, filter, order, fields, query.skip, query.limit)
        return map(partial(self.row, whole=False) if fields else self.row, found)

    def count(self, filter: Terms | None = None, any_version: bool = False, max_ms: int = 2000) -> int | None:
        """The number of matching documents; None if counting takes too long."""
        return self.server.count(self.ns, filter, max_ms)

    def counted(
        self, filter: Terms | None, once: Callable[[Terms], Iterable[object]] | None, max_ms: int
    ) -> int | None:
        """The number of documents that match, plus those that ``once`` lists; None if that takes too long."""
        total = self.count(filter, max_ms=max_ms)
        if total is None or not filter or once is None:
            return total
        # The server has limited the first count itself; this limits the second.
        until = time.monotonic() + max_ms / 1000
        for _ in once(filter):
            total += 1
            if time.monotonic() > until:
                return None
        return total

    # --- as the only versions there are

    def version(self, id: Value, v: Value | None = None) -> Version:
        """The current version; raises ``NotFound`` for any other."""
        current = self._told(id, contents=True)
        if v is not None and v != current.v:
            raise NotFound(f"{id_name(id)} has no version {version_name(v)}; {self.ns} keeps the current one alone.")
        return current

    def history(self, id: Value, contents: Contents = False) -> Iterator[Version]:
        """The document itself, as its only version."""
        yield self._told(id, bool(contents))

    def outline(self, ids: Sequence[Value]) -> Iterator[Outline]:
        """One mark per document; contents are read only if there is a hash to check."""
        if not self.own.hash:
            for id in ids:
                yield outlined(id, [Version(None, None, None, "document", "present", True, None, None)])
            return
        found: dict[Value, Version] = {}
        filter: dict[str, Any] = {self.profile.id: {"$in": list(ids)}}
        for raw in self.server.find(self.ns, filter) if ids else ():
            key = c.get(raw, (self.profile.id,))
            if key is not None:
                found[key] = self.made(raw, contents=False)
        for id in ids:
            yield outlined(id, [found[id]] if id in found else [])
