"""Collections with one document per version: finding, listing and comparing versions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import chain, groupby, islice

from model.errors import NotFound, Refused
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Contents, Outline, Row, Stored, Version
from model.mql.order import value_key
from model.server import guards
from model.server.retry import Port, Terms
from model.storage.field_reader import FieldReader
from model.storage.gaps import loss, newest_first, with_gaps
from model.storage.lazy_row import RowReader
from model.storage.lazy_version import LazyVersions
from model.storage.newest_query import TOGETHER, NewestQuery, PageQuery, with_own
from model.storage.outlines import outlines
from model.storage.reserved_fields import (
    MARK,
    SAID,
    Own,
    is_marked,
    is_tombstone,
    made_version,
    number_of,
    place_of,
    same_version,
)
from model.storage.version_pages import first_between, newest_down, settled
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value

WHOLE = (c.INT32, c.INT64, c.DATE)
"""Types of versions that a server sorts by number or time."""


def claim_of(profile: CollectionProfile) -> str:
    """The field that marks a version with the next one's number, if numbers alone do not decide; "" without tokens."""
    return f"{profile.token}_next" if profile.token else ""


class VersionDocuments:
    """The stored versions of a collection; ``flag`` is the field by which applications find the newest."""

    def __init__(
        self, server: Port, profile: CollectionProfile, own: Own, stored: Stored = "document", flag: str = ""
    ) -> None:
        self.server, self.profile, self.own, self.stored, self.flag = server, profile, own, stored, flag
        self.ns, self.claim = profile.ns, claim_of(profile)
        self.heads = NewestQuery(server, profile, self.newest)
        self._keys, self._ids = FieldReader("_id"), FieldReader(profile.id)
        self._lazily = LazyVersions(profile, profile.id, own, self.made)
        self.row = RowReader(profile.id, profile.version, (profile.at, "_id", profile.token)).row

    def of(self, id: Value, where: Terms | None = None, whole: bool = False) -> Iterator[bytes]:
        """The stored versions of exactly this document that match ``where``, highest number first.

        ``whole`` says that the caller will read all of them.
        """
        rows = (raw for raw in self._of(id, where, whole) if self._ids.has(raw, id))
        return settled(rows, self.profile.version)

    def _of(self, id: Value, where: Terms | None = None, whole: bool = False) -> Iterator[bytes]:
        """The stored versions of this document and of all whose ids the server finds equal, such as 1 and 1.0."""
        p = self.profile
        return newest_down(self.server, self.ns, {p.id: {"$eq": id}, **(where or {})}, p.id, p.version, whole)

    def of_each(self, ids: Sequence[Value]) -> Iterator[list[bytes]]:
        """The stored versions of each of these documents, highest number first, in the order of the ids."""
        p, wanted = self.profile, set(ids)
        found = self.server.find(self.ns, {p.id: {"$in": list(ids)}}, sort={p.id: 1, p.version: 1})
        named = ((id, raw) for raw in found if (id := c.get(raw, (p.id,))) in wanted and id is not None)
        # By the server's own key: it sorts equal ids of different types side by side.
        for _, group in groupby(named, key=lambda each: value_key(each[0])):
            alike: dict[Value, list[bytes]] = {}  # 1 and 1.0 arrive interleaved
            for id, raw in group:
                alike.setdefault(id, []).append(raw)
            yield from (list(settled(rows[::-1], p.version)) for rows in alike.values())

    def made(self, raw: bytes, current: bool = False, contents: bool = True) -> Version:
        """A stored version."""
        times = ("_id", self.profile.token)
        version = made_version(raw, self.own, self.profile, self.stored, current, contents, times)
        if not self.ends(raw):
            return version
        content = c.EMPTY if contents else None
        said = f"{version.detail}; {SAID}" if version.detail else SAID
        return version.but(
            current=False,
            hash=c.hash_of(c.EMPTY),
            bytes=len(c.EMPTY),
            detail=said,
            content=content,
            deleted=True,
        )

    def ends(self, raw: bytes) -> bool:
        """Whether a stored version is a tombstone."""
        return is_tombstone(raw, self.own, self.profile)

    def newest(self, id: Value) -> bytes:
        """The newest stored version; a number of a wrong type counts by its value. Raises ``NotFound``."""
        passed: list[bytes] = []
        best: bytes | None = None
        # Nearly always the first row ends this; all others are read only if numbers are of wrong types.
        for raw in chain(self._highest(id), self.of(id)):
            v = c.get(raw, (self.profile.version,))
            passed.append(raw)
            if v is not None and v.type in WHOLE:
                break  # all that follow are lower
        for raw in passed:
            place = place_of(c.get(raw, (self.profile.version,)))
            if best is None or (place or 0) > (place_of(c.get(best, (self.profile.version,))) or 0):
                best = raw
        if best is None:
            raise NotFound(f"There is no document {id_name(id)} in {self.ns} any more; refresh the list.")
        return best

    def _highest(self, id: Value) -> Iterator[bytes]:
        """The version with the highest number, if its type proves that it is the newest, and no other has this
        number.
        """
        p = self.profile
        found = list(self.server.find(self.ns, {p.id: {"$eq": id}}, sort={p.id: 1, p.version: -1}, limit=2))
        v, *others = (c.get(raw, (p.version,)) for raw in found or [c.EMPTY])
        if (
            v is not None
            and v.type in WHOLE
            and c.get(found[0], (p.id,)) == id
            and not any(same_version(v, each) for each in others)
        ):
            yield found[0]

    def history(self, id: Value, contents: Contents = False) -> Iterator[Version]:
        """The versions by number, with entries for missing ones."""
        rest, found = yield from self._lazily.stretch(self._of(id, whole=contents == "all"), id, bool(contents))
        rest = settled((raw for raw in rest if self._ids.has(raw, id)), self.profile.version)
        versions = self._marked(newest_first(map(self.made, rest)), not found)
        for version in with_gaps(versions, loss(self.profile), self.claim):
            found = True
            yield version if contents else version.without_content()
        if not found:
            raise NotFound(f"There is no document {id_name(id)} in {self.ns}; refresh the list.")

    def _marked(self, versions: Iterator[Version], first: bool) -> Iterator[Version]:
        """Mark the current version, which is the first if ``first`` is set, and duplicate numbers."""
        before = None
        for version in versions:
            place = place_of(version.v)
            if place is not None and place == before:
                version = version.but(state="damaged", detail="stored twice")
            current = first and not version.deleted
            yield version if current == version.current else version.but(current=current)
            first, before = False, place

    def version(self, id: Value, v: Value | None = None) -> Version:
        """The newest version, or one by its number."""
        if v is not None and (below := self._below_newest(id, v)) is not None:
            return self.made(below)
        newest = self.newest(id)
        if v is None and self.ends(newest):
            raise self.gone(id, newest)
        if v is None or same_version(v, c.get(newest, (self.profile.version,))):
            return self.made(newest, current=True)
        for raw in self.of(id):
            if same_version(v, c.get(raw, (self.profile.version,))):
                return self.made(raw)
        raise NotFound(f"{id_name(id)} has no version {version_name(v)} in {self.ns}.")

    def _below_newest(self, id: Value, v: Value) -> bytes | None:
        """The stored version with this number, if another stands above it; None if that is uncertain."""
        p = self.profile
        if v.type not in WHOLE:
            return None
        where = {p.id: {"$eq": id}, p.version: {"$gte": v}}
        # The second row proves that a version stands above, and that this number is not stored twice.
        found = list(self.server.find(self.ns, where, sort={p.id: 1, p.version: 1}, limit=2))
        sure = len(found) == 2 and all(c.get(raw, (p.id,)) == id for raw in found)
        numbers = [c.get(raw, (p.version,)) for raw in found]
        return found[0] if sure and same_version(v, numbers[0]) and not same_version(v, numbers[1]) else None

    def first_between(self, id: Value, low: int, high: int) -> Version | None:
        """The lowest version numbered ``low`` or more, below ``high``; None if there is none."""
        raw = first_between(self.server, self.ns, self.profile.id, self.profile.version, id, low, high)
        return None if raw is None else self.made(raw)

    def gone(self, id: Value, tombstone: bytes) -> NotFound:
        """The error for asking for the current version of a deleted document."""
        at = version_name(c.get(tombstone, (self.profile.version,)))
        return NotFound(
            f"{id_name(id)} was deleted as {at} in {self.ns}, and its versions are kept; restore one of them to bring "
            "it back."
        )

    def exists(self, *ids: Value) -> bool:
        """Whether there is a version of a document with exactly one of these ids."""
        return self.any(guards.exact_in(self.profile.id, ids))

    def any(self, filter: Terms) -> bool:
        """Whether a stored version matches."""
        return next(iter(self.server.find(self.ns, filter, projection={"_id": 1}, limit=1)), None) is not None

    def identity(self, version: Version) -> bytes:
        """The number of the newest version: the next one can be inserted after it, even if it changes in place."""
        return c.only(version.raw or c.EMPTY, list(filter(None, ("_id", self.profile.version, self.profile.token))))

    def outline(self, ids: Sequence[Value]) -> Iterator[Outline]:
        """The numbers of each document's versions, and whether only the newest has the flag, if there is a flag."""
        return outlines(self.server, self.profile, self.own, ids, "document", self.flag, claim=self.claim)

    def overtaken(self, id: Value, base: Version) -> bool:
        """Whether the newest version is no longer the base, or was changed in place."""
        try:
            newest = self.newest(id)
        except NotFound:
            return True
        now = self.made(newest)
        # Equal bytes are compared first, because nearly always nothing has changed.
        return newest != base.raw and (now.content != base.content or not self.is_same(newest, base.raw))

    def is_same(self, raw: bytes | None, base: bytes | None) -> bool:
        """Whether two stored documents are one version, judged by ``_id``, number and token."""
        names = filter(None, ("_id", self.profile.version, self.profile.token))
        return raw is not None and base is not None and all(c.get(raw, (n,)) == c.get(base, (n,)) for n in names)

    # --- lists

    def page(self, query: PageQuery) -> Iterator[Row]:
        """The newest version of each matching document; with ``any_version``, of each that ever matched.

        A deleted document is listed, by its tombstone, only with ``any_version``.
        """
        together = max(1, min(query.limit, TOGETHER))
        picked = self.heads.picked(query.filter, query.sort, query.any_version, together)
        if not query.any_version:
            # Tombstones are left out before the page is cut, so that pages are full and do not overlap.
            picked = (key for key in picked if not self._is_over(key))
        keys = islice(picked, query.skip, query.skip + max(0, query.limit))
        while chunk := list(map(self._physical, islice(keys, together))):
            fields = with_own(query.projection, self.own)
            # `$in` returns documents in the order of the index, so they are put back into that of the list.
            whole = self.server.find(self.ns, {"_id": {"$in": chunk}}, projection=fields, batch=len(chunk))
            found = {self._physical(raw): raw for raw in whole}
            yield from (self.row(found[physical]) for physical in chunk if physical in found)

    def count(self, filter: Terms | None = None, any_version: bool = False, max_ms: int = 2000) -> int | None:
        """The number of matching documents, grouped by the server; None if that takes too long."""
        p, until = self.profile, time.monotonic() + max_ms / 1000
        stages: list[Terms] = []
        if filter and any_version:
            stages = [{"$match": filter}, {"$group": {"_id": f"${p.id}"}}]
        elif filter:
            stages = [
                # Before the filter: the newest version decides whether a document matches, not any that matches.
                {"$sort": {p.id: 1, p.version: -1}},
                {"$group": {"_id": f"${p.id}", "newest": {"$first": "$$ROOT"}}},
                {"$replaceRoot": {"newRoot": "$newest"}},
                {"$match": filter},
            ]
        else:
            stages = [{"$group": {"_id": f"${p.id}"}}]
        try:
            for raw in self.server.aggregate(self.ns, [*stages, {"$count": "n"}], max_ms):
                total = number_of(c.get(raw, ("n",)))
                # A tombstone is a version too, so the server has counted the deleted documents.
                return total if any_version or not total else total - self._deleted(filter, until)
        except Refused:
            return self._counted(filter, any_version, until)
        return 0

    def _counted(self, filter: Terms | None, any_version: bool, until: float) -> int | None:
        """The number of matching documents, counted one by one for servers that cannot group; None if time runs out."""
        total = 0
        try:
            for key in self.heads.picked(filter, None, any_version, TOGETHER):
                total += any_version or not self._is_over(key)
                if time.monotonic() > until:
                    return None
        except Refused:
            return None
        return total

    def _deleted(self, filter: Terms | None, until: float) -> int:
        """The number of documents that end with a matching tombstone; raises ``Refused`` if that takes too long."""
        p = self.profile
        if not p.deleted:
            return 0
        found = 0
        where: Terms = {p.deleted: {"$eq": MARK}}
        keys = {p.id: 1, p.deleted: 1}
        for key in self.server.find(self.ns, {"$and": [filter, where]} if filter else where, projection=keys):
            id = c.get(key, (p.id,))
            newest = self.newest(id) if id is not None else None
            same = newest is not None and c.get(newest, ("_id",)) == c.get(key, ("_id",))
            found += same and newest is not None and self.ends(newest)
            if time.monotonic() > until:
                raise Refused("Counting the deleted documents takes too long.")
        return found

    def _physical(self, raw: bytes) -> Value | None:
        """The ``_id`` of a stored version."""
        return self._keys.values(raw)[0]

    def _is_over(self, key: bytes) -> bool:
        """Whether the newest version with this key is a tombstone; only one with the marker is read completely."""
        if not is_marked(key, self.profile) or (physical := self._physical(key)) is None:
            return False
        return any(self.ends(raw) for raw in self.server.find(self.ns, guards.by_id(physical), limit=1))
