"""Entries about other documents, read as versions of the document that each names.

The id may be in a sub-document, under a dotted path. The order is the profile's ``at``, then (or without it) the
rows' ``_id``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from msgspec.structs import replace

from model.errors import NotFound, Refused, Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Contents, Outline, Row, Version
from model.server import guards
from model.server.retry import Port, Terms
from model.storage.gaps import outlined
from model.storage.newest_query import PageQuery, truthy, with_own
from model.storage.reserved_fields import Own, legible, made_version, number_of, time_of, unreadable
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value


class LogReader:
    """The entries of one collection by the document they name; the newest counts as its current version."""

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        self.server, self.ns, self.id = server, profile.ns, profile.id
        self.profile = replace(profile, version="", token="", hash="")
        self.own = Own("" if "." in profile.id else profile.id, at=profile.at)
        self._path = tuple(profile.id.split("."))
        self._newest: dict[str, int] = {profile.at: -1, "_id": -1} if profile.at else {"_id": -1}
        self._highest = {profile.order: -1} | self._newest if profile.order else self._newest

    # --- one document

    def _of(self, id: Value, fields: Terms | None = None) -> Iterator[bytes]:
        """The entries of exactly this document, newest first."""
        for raw in self.server.find(self.ns, {self.id: {"$eq": id}}, sort=self._highest, projection=fields):
            if self._named(raw) == id:
                yield raw

    def _named(self, raw: bytes) -> Value | None:
        try:
            return c.get(raw, self._path)
        except Unreadable:
            return None

    def _made(self, raw: bytes, number: int, newest: bool) -> Version:
        v = Value.of(number)
        return made_version(raw, self.own, self.profile, "document", newest, True, ("_id",), v, counted=False)

    def history(self, id: Value, contents: Contents = False) -> Iterator[Version]:
        """The entries newest first; the oldest is 1."""
        keys = [c.get(raw, ("_id",)) for raw in self._of(id, {self.id: 1})]
        if not keys:
            raise NotFound(f"Nothing in {self.ns} is about {id_name(id)}; check the id and its type.")
        numbers = {key: len(keys) - at for at, key in enumerate(keys)}
        for raw in self._of(id):
            if (number := numbers.get(c.get(raw, ("_id",)))) is not None:  # entries added meanwhile have none
                made = self._made(raw, number, number == len(keys))
                yield made if contents else made.but(content=None, raw=None)

    def version(self, id: Value, v: Value | None = None) -> Version:
        """The newest entry, or one by its number."""
        number = None if v is None else number_of(v)
        for made in self.history(id, contents=True):
            if (v is None and made.current) or (number is not None and number_of(made.v) == number):
                return made
        raise NotFound(f"{id_name(id)} has no entry {version_name(v)} in {self.ns}.")

    def exists(self, *ids: Value) -> bool:
        """Whether there is an entry about a document with exactly one of these ids."""
        return self._any(guards.exact_in(self.id, ids))

    def _any(self, filter: Terms) -> bool:
        return next(iter(self.server.find(self.ns, filter, projection={"_id": 1}, limit=1)), None) is not None

    def identity(self, version: Version) -> bytes:
        """The entry's ``_id``: records do not change."""
        return c.only(version.raw or c.EMPTY, ["_id"])

    def outline(self, ids: Sequence[Value]) -> Iterator[Outline]:
        """A mark for each entry."""
        counts: dict[Value, int] = {}
        wanted: dict[str, Any] = {self.id: {"$in": list(ids)}}
        for raw in self.server.find(self.ns, wanted, projection={self.id: 1}) if ids else ():
            if (id := self._named(raw)) is not None:
                counts[id] = counts.get(id, 0) + 1
        for id in ids:
            one = Version(None, None, None, "document", "present", False, None, None)
            several = [one.but(current=at == 0) for at in range(counts.get(id, 0))]
            yield outlined(id, several)

    # --- lists

    def page(self, query: PageQuery) -> Iterator[Row]:
        """The newest entry of each matching document, latest first; with ``any_version`` of each that ever matched."""
        fields = with_own(query.projection, self.own)
        if fields and any(map(truthy, fields.values())):
            fields = {**fields, self.id: 1}
        found = self._heads(query.filter, query.sort or self._newest, fields, query.any_version)
        yield from islice(found, query.skip, query.skip + max(0, query.limit))

    def _heads(self, filter: Terms | None, order: Terms, fields: Terms | None, any_version: bool) -> Iterator[Row]:
        listed: set[Value] = set()
        newest: dict[Value, Value | None] = {}
        by_time = dict(order) == self._newest and not filter
        for raw in self.server.find(self.ns, filter, sort=order, projection=fields):
            id = self._named(raw)
            if id is None or id in listed:
                continue
            if not by_time and not any_version:
                if id not in newest:
                    newest[id] = self._newest_of(id)
                if newest[id] != c.get(raw, ("_id",)):
                    continue
            listed.add(id)
            yield self._row(raw, id)

    def _row(self, raw: bytes, id: Value) -> Row:
        found = legible(raw)
        at = time_of(found.get(self.profile.at)) or time_of(found.get("_id"))
        return Row(id, None, at, len(raw), raw, not unreadable(raw))

    def count(self, filter: Terms | None = None, any_version: bool = False, max_ms: int = 2000) -> int | None:
        """The number of documents named by entries, grouped by the server; None if that takes too long."""
        until = time.monotonic() + max_ms / 1000
        stages: list[Terms] = [{"$group": {"_id": f"${self.id}"}}]
        if filter and any_version:
            stages = [{"$match": filter}, *stages]
        elif filter:
            newest = {"$group": {"_id": f"${self.id}", "newest": {"$first": "$$ROOT"}}}
            back = {"$replaceRoot": {"newRoot": "$newest"}}
            stages = [{"$sort": self._newest}, newest, back, {"$match": filter}]
        if not filter:
            stages = [{"$match": {self.id: {"$exists": True}}}, *stages]
        try:
            for raw in self.server.aggregate(self.ns, [*stages, {"$count": "n"}], max_ms):
                return number_of(c.get(raw, ("n",)))
        except Refused:
            return self._counted(filter, any_version, until)
        return 0

    def _counted(self, filter: Terms | None, any_version: bool, until: float) -> int | None:
        """The number of documents named by entries, counted one by one for servers that cannot group."""
        total, met = 0, set[Value]()
        try:
            for raw in self.server.find(self.ns, filter, sort=self._newest, projection={self.id: 1}):
                if time.monotonic() > until:
                    return None
                id = self._named(raw)
                if id is None or id in met:
                    continue
                met.add(id)
                total += not filter or any_version or self._newest_of(id) == c.get(raw, ("_id",))
        except Refused:
            return None
        return total

    def _newest_of(self, id: Value) -> Value | None:
        """The ``_id`` of a document's newest entry."""
        return next((c.get(each, ("_id",)) for each in self._of(id, {self.id: 1})), None)
