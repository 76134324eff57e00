"""The documents of a collection, as lists show them."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from model.catalogue.collection_reading import ALL
from model.errors import NotFound, Refused
from model.foundation.checkpoints import Checkpoint, no_checkpoint
from model.history import following
from model.storage.composite_ids import stored
from model.storage.newest_query import PageQuery
from model.text import legacy_uuids
from model.values import canonical

if TYPE_CHECKING:
    from model.foundation.records import CollectionInfo, Matches, Outline, Page, Row, Version
    from model.layouts.base import Layout
    from model.session.connection import Connection
    from model.values.canonical import Path, Value

NOT_READ = "N/A: the file is not read yet; these come first in it."
MARKED_WHOLE = 256 * 1024
"""Up to this many bytes of documents, all fields are compared to find other programs' writes."""
PULSE_MS = 2_000  # milliseconds for a collection to show whether rows were added or removed


class DocumentLists:
    """The current documents of the collections: pages, counts, and finding ids that people type."""

    def __init__(self, connection: Connection) -> None:
        """Created by a session; ``connection`` holds what the parts share."""
        self._connection = connection
        self._catalogue, self._server, self._dump = connection.catalogue, connection.server, connection.dump

    def opened(self, ns: str) -> tuple[CollectionInfo, frozenset[str]]:
        """A collection whose documents are about to be listed, and its :meth:`own_fields`.

        Its layout may be that of an earlier run, which each :meth:`page` is held against. Raises ``NotFound``.
        """
        self._catalogue.suppose(ns)
        return self._catalogue.info(ns), self.own_fields(ns)

    def page(
        self,
        ns: str,
        filter: str = "",
        sort: str = "",
        fields: str = "",
        skip: int = 0,
        limit: int = 50,
        any_version: bool = False,
        checkpoint: Checkpoint = no_checkpoint,
    ) -> Page:
        """A page of current documents; filter, sort and fields are typed text, read by ``model.text.loose``.

        The filter tests current versions; with ``any_version`` earlier ones too.
        """
        found = self._catalogue.reading.page(ns, filter, sort, fields, skip, limit, any_version, checkpoint)
        legacy_uuids.learn(row.raw for row in found.rows)
        if ns in self._dump.unread:
            return replace(found, total=None, total_note=NOT_READ)
        return found

    def matching_now(
        self, ns: str, filter: str = "", sort: str = "", fields: str = "", limit: int = 0
    ) -> Iterator[Row]:
        """The current documents that match, as people see them, as they arrive; ``limit`` 0 means all.

        Filter, sort and fields are as in :meth:`page`. A document has the id and the other fields of its layout, its
        content, and no histories. Raises ``Refused``.
        """
        self._dump.need(ns)
        layout = self._catalogue.layout(ns)
        for row in self._catalogue.reading.rows(ns, filter, sort, False, limit=limit or ALL, fields=fields):
            yield row.but(raw=layout.document(stored(self._connection.port, ns, row.raw))) if row.readable else row

    def own_fields(self, ns: str) -> frozenset[str]:
        """The top-level names in listed documents that belong to the layout and are no content; asks nothing."""
        info = self._catalogue.info(ns)
        own = set(self._catalogue.layout(info.belongs_to or ns).locked)
        return frozenset(own | ({info.fields.get("archive_id", "_id")} if info.belongs_to else set()))

    def telling(self, ns: str, rows: Sequence[Row], known: tuple[Path, ...] | None = None) -> tuple[Path, ...]:
        """The fields by which people tell listed documents apart, the best first; asks nothing.

        ``known`` ones stay as long as a row has one of them.
        """
        from model.browsing.telling_fields import occur, telling_fields  # only lists need it, and not every start

        raws, inside = [row.raw for row in rows if row.readable], self._catalogue.info(ns).fields.get("current", "")
        if known is not None and (not raws or occur(known, raws, inside)):
            return known
        return telling_fields(raws, self.own_fields(ns), inside)

    def count(self, ns: str, filter: str = "", any_version: bool = False, max_ms: int = 5000) -> tuple[int | None, str]:
        """The number of matching documents, with more time than a page allows; else None and the reason."""
        if ns in self._dump.unread:
            return None, NOT_READ
        return self._catalogue.reading.count(ns, filter, any_version, max_ms)

    def marks(self, ns: str, ids: Sequence[Value], size: int = 0) -> dict[Value, bytes]:
        """A mark for each existing current document, which differs after the document was written.

        ``size`` is their bytes, if known. Small documents are compared completely; of large ones only the layout's
        own fields, so a write that changes neither version nor token goes unnoticed.
        """
        layout = self._catalogue.layout(ns)
        named = {layout.profile.id: 1} if self._marked_in_part(ns, size) else None
        query = PageQuery({layout.profile.id: {"$in": list(ids)}}, projection=named, limit=len(ids))
        return {row.id: _mark(row.raw) for row in layout.page(query)}

    def mark(self, ns: str, raw: bytes, size: int = 0) -> bytes | None:
        """The mark of a document already read; None if :meth:`marks` does not compare complete documents."""
        return None if self._marked_in_part(ns, size) else _mark(raw)

    def _marked_in_part(self, ns: str, size: int) -> bool:
        profile = self._catalogue.layout(ns).profile
        return bool(profile.version or profile.token) and size > MARKED_WHOLE

    def pulse(self, ns: str) -> tuple[int | None, bytes | None]:
        """The number of rows in a collection by the server's count, and the greatest ``_id``; both without a scan.

        They change when rows are added or removed, wherever these are.
        """
        server = self._server
        last = next(iter(server.find(ns, sort={"_id": -1}, projection={"_id": 1}, limit=1, max_ms=PULSE_MS)), None)
        return server.count(ns, max_ms=PULSE_MS), last

    def sizes(self, ns: str, rows: Sequence[Row]) -> dict[Value, int]:
        """The length of each stored document of which a list has read only a part; empty if the server cannot tell."""
        ids = {id: row.id for row in rows if (id := canonical.get(row.raw, ("_id",))) is not None}
        measured = {"_id": 1, "bytes": {"$bsonSize": "$$ROOT"}}
        found: dict[Value, int] = {}
        try:
            for raw in self._server.aggregate(
                ns, [{"$match": {"_id": {"$in": list(ids)}}}, {"$project": measured}], PULSE_MS
            ):
                id, size = (canonical.get(raw, (name,)) for name in ("_id", "bytes"))
                if id in ids and size is not None:
                    found[ids[id]] = int(size.python())
        except Refused:
            return {}
        return found

    def outlines(self, ns: str, ids: Sequence[Value], checkpoint: Checkpoint = no_checkpoint) -> Iterator[Outline]:
        """The histories of some documents in miniature, as they become known."""
        if self._dump.unread_beside(ns):
            return  # unread versions would be reported as missing
        for done, outline in enumerate(self._catalogue.layout(ns).outline(ids), 1):
            checkpoint(done, len(ids))
            yield outline

    def matching(
        self, ns: str, ids: Sequence[Value], filter: str, checkpoint: Checkpoint = no_checkpoint
    ) -> Iterator[Matches]:
        """For each listed document, the versions that match a filter; for lists with ``any_version``."""
        layout, holds = self._catalogue.layout(ns), following.condition(filter)
        for done, id in enumerate(ids, 1):
            judged = []
            for version in layout.history(id, contents="all"):
                checkpoint(done, len(ids))
                judged.append((version, version.content is not None and holds(self._seen(layout, id, version))))
            yield following.matches(id, judged)

    def _seen(self, layout: Layout, id: Value, version: Version) -> bytes:
        """A version as a filter sees it: content plus the document's id and other fields that the layout keeps."""
        key = layout.profile.id
        document = self._connection.shown(layout, version)
        own = [pair for pair in canonical.fields(document) if pair[0] not in (key, "_id")]
        return canonical.document([(key, id), *own])

    def holds(self, ns: str, key: Value) -> bool:
        """Whether a collection has a stored document with this ``_id``."""
        return next(self._connection.port.find(ns, {"_id": key}, projection={"_id": 1}, limit=1), None) is not None

    def find_id(self, ns: str, text: str) -> Value:
        """The stored id that a text means: plain text if only one matches, else Extended JSON.

        Raises ``NotFound``, or ``Refused`` with the ids that match.
        """
        if not self._catalogue.is_supposed(ns):
            return self._catalogue.layout(ns).find_id(text)
        with contextlib.suppress(NotFound):  # a deleted document has an id, and no current version
            return self.find_current(ns, text, seen=True)[0]
        self._catalogue.look_again(ns)
        return self._catalogue.layout(ns).find_id(text)

    def find_current(self, ns: str, text: str, seen: bool = False) -> tuple[Value, Version]:
        """The stored id that a text means, and its current version; raises as :meth:`find_id` does.

        A version that is only ``seen`` may be made from a kept state, and nothing is written from it.
        """
        return self._catalogue.reading.read(
            ns, lambda layout: layout.find_current(text, seen), lambda found: (found[1],)
        )


def _mark(raw: bytes) -> bytes:
    return hashlib.sha1(raw).digest()
