"""The archive of a fed collection: its rows are inserted under id and version, and never changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from bson import ObjectId

from model.errors import Refused
from model.feed.ledger import trouble
from model.layouts.base import Layout
from model.server.guards import LARGEST
from model.server.retry import Port, Write, run
from model.storage.indexes import create_unique, is_unique
from model.storage.reserved_fields import number_of, place_of
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value

HIGHER = 1000
"""The most versions above the current ones that are read at once."""


class ArchiveRows:
    """The rows of one archive; ``layout`` makes them, and knows which of their fields are content."""

    def __init__(self, server: Port, layout: Layout) -> None:
        self.server, self.layout = server, layout
        self.archive = layout.needed_archive()
        self.ns = self.archive.ns
        self._profile = layout.profile

    def prepare(self) -> bool:
        """Ensure that the unique index exists, without which a version could be archived twice; returns whether it
        was created.

        It is created only in an empty archive; raises ``Refused`` if there are rows and no index.
        """
        names = (self._profile.archive_id, self._profile.version)
        if is_unique(self.server, self.ns, names):
            return False
        # Rows without it may hold duplicates, and building it loads the server: left to whoever runs that.
        if next(iter(self.server.find(self.ns, projection={"_id": 1}, limit=1)), None) is not None:
            db, _, name = self.ns.partition(".")
            keys = ", ".join(f"{field}: 1" for field in names)
            raise Refused(
                f"{self.ns} has no unique index on {names[0]} and {names[1]}, so a version could be archived twice; "
                f'create it: db.getSiblingDB("{db}")["{name}"].createIndex({{{keys}}}, {{unique: true}}).'
            )
        create_unique(self.server, self.ns, names)
        return True

    def unfit(self, id: Value, raw: bytes) -> str:
        """Why a document cannot have a row, which is slightly larger than itself, in a few words; "" if it can."""
        if self.archive.names_itself(raw):
            return f"has a field {self._profile.archive_id} of its own, in which {self.ns} keeps the document's id"
        size = len(raw) if len(raw) < LARGEST // 2 else len(self.archive.row_of(Value.of(ObjectId()), id, raw))
        return f"would be {size / (1 << 20):.2f} MB as a row, and a server takes 16 MB" if size > LARGEST else ""

    def document(self, row: bytes, key: Value) -> bytes:
        """The stored document of a row; its first fields may have moved, which does not matter for the next row."""
        p = self._profile
        rest = [(name, value) for name, value in c.fields(row) if name not in ("_id", p.archive_id)]
        id = c.get(row, (p.archive_id,))
        named = [(p.id, id)] if p.id != "_id" and id is not None else []
        return c.document([("_id", key), *named, *rest])

    def row(self, id: Value, v: Value) -> bytes | None:
        """The row of exactly this document and version."""
        p = self._profile
        for raw in self.server.find(self.ns, {p.archive_id: {"$eq": id}, p.version: {"$eq": v}}):
            if c.get(raw, (p.archive_id,)) == id:
                return raw
        return None

    def rows(self, pairs: Sequence[tuple[Value, Value]]) -> dict[tuple[Value, int | None], bytes]:
        """The rows of some documents and versions, by id and number."""
        p = self._profile
        wanted = {(id, place_of(v)) for id, v in pairs}
        filter = {
            p.archive_id: {"$in": list(dict.fromkeys(id for id, _ in pairs))},
            p.version: {"$in": list(dict.fromkeys(v for _, v in pairs))},
        }
        found: dict[tuple[Value, int | None], bytes] = {}
        for raw in self.server.find(self.ns, filter) if pairs else ():
            key = (c.get(raw, (p.archive_id,)) or Value.of(None), place_of(c.get(raw, (p.version,))))
            # Ids and numbers are asked for apart, so the answer also has pairs that nobody asked for.
            if key in wanted:
                found[key] = raw
        return found

    def below(self, id: Value, v: Value) -> int | None:
        """The highest version number in the archive below ``v``; None if there is none."""
        p = self._profile
        where = {p.archive_id: {"$eq": id}, p.version: {"$lt": v}}
        for raw in self.server.find(self.ns, where, sort={p.version: -1}, limit=1):
            return number_of(c.get(raw, (p.version,)))
        return None

    def newest(self, id: Value) -> Value | None:
        """The highest version in the archive."""
        return next(iter(self.versions(id, 1)), None)

    def above(self, pairs: Sequence[tuple[Value, Value]]) -> dict[Value, list[Value]]:
        """The archived versions above the given ones, by id; most documents have none."""
        p = self._profile
        higher = [{p.archive_id: {"$eq": id}, p.version: {"$gt": v}} for id, v in pairs]
        keys = {p.archive_id: 1, p.version: 1}
        found: dict[Value, list[Value]] = {}
        for raw in self.server.find(self.ns, {"$or": higher}, projection=keys, limit=HIGHER) if higher else ():
            id, v = c.get(raw, (p.archive_id,)), c.get(raw, (p.version,))
            if id is not None and v is not None:
                found.setdefault(id, []).append(v)
        return found

    def versions(self, id: Value, most: int) -> list[Value]:
        """The highest versions in the archive, highest first."""
        p = self._profile
        keys = {p.archive_id: 1, p.version: 1}
        rows = self.server.find(self.ns, {p.archive_id: {"$eq": id}}, {p.version: -1}, keys, limit=most)
        return [v for raw in rows if c.get(raw, (p.archive_id,)) == id and (v := c.get(raw, (p.version,))) is not None]

    def same(self, row: bytes, raw: bytes) -> bool:
        """Whether a row has the content of a stored document."""
        return self.archive.own.content(row) == self.layout.own.content(raw)

    def put(self, id: Value, v: Value, raw: bytes) -> Literal["new", "there", "other"]:
        """Archive a version: "new", "there" if an equal one was archived before, "other" if one with another content
        was.

        Raises ``Refused`` if the server rejects it, ``Unreachable`` if the result is unknown.
        """
        # A row carries no token: its own ``_id`` shows whether this very insert landed.
        own, p = ObjectId(), self._profile
        row = self.archive.row_of(Value.of(own), id, raw)
        end = run(
            self.server,
            Write(self.ns, "insert", {}, row, f"{version_name(v)} is archived", (p.archive_id, p.version)),
            lambda: (there := self.row(id, v)) is not None and c.get(there, ("_id",)) == Value.of(own),
        )
        if end.kind == "applied":
            return "new"
        # A duplicate of another index than that on id and version; the latter ends as a conflict.
        if end.kind == "refused" and end.reply is not None and end.reply.duplicate:
            raise Refused(
                f"{self.ns} does not take {version_name(v)} of {id_name(id)}: another unique index stands in its way; "
                f"drop that first. {end.sentence}"
            )
        if end.kind != "conflict":
            error = trouble(end)
            raise type(error)(f"{version_name(v)} of {id_name(id)} is not in {self.ns} for certain: {error}")
        there = self.row(id, v)
        if there is None:
            if any(
                True for _ in self.server.find(self.ns, {p.archive_id: {"$eq": id}, p.version: {"$eq": v}}, limit=1)
            ):
                return "other"  # the server takes another id for equal, such as 1.0 for 1
            raise Refused(f"{version_name(v)} of {id_name(id)} was in {self.ns} and is gone again; feed once more.")
        return "there" if self.same(there, raw) else "other"


def in_batches(documents: Iterator[bytes], most: int = 200, most_bytes: int = 8 << 20) -> Iterator[list[bytes]]:
    """The documents in batches, limited by number and size."""
    batch: list[bytes] = []
    size = 0
    for raw in documents:
        batch.append(raw)
        size += len(raw)
        if len(batch) >= most or size >= most_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
