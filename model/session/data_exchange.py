"""Histories and lists that leave a collection or come into one."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path as FilePath

from model.catalogue.collection_reading import ALL
from model.errors import Refused
from model.exchange.history_files import ExportedHistory, Form
from model.feed import EVERY, Fed, fed_layouts, feed
from model.foundation.checkpoints import Checkpoint, no_checkpoint
from model.foundation.records import Destination, Row
from model.layouts import registry
from model.layouts.layout_names import ADOPTED_LAYOUTS
from model.operations.adoption import Adoption, adoption, free_names, measured, proposed
from model.operations.history_import import ArrivingDocument, HistoryImport, ImportPlan
from model.operations.migration import Checked, Migration
from model.over_time.history_list import HistoryList
from model.over_time.span import everyone
from model.session.connection import Connection
from model.storage.composite_ids import stored
from model.storage.newest_query import PageQuery
from model.text.row_file import Written, write_rows
from model.values.canonical import Value

__all__ = [
    "ADOPTED_LAYOUTS",
    "Adoption",
    "ArrivingDocument",
    "Checked",
    "DataExchange",
    "ExportedHistory",
    "Form",
    "ImportPlan",
    "Migration",
]

COUNT_MS = 5000  # milliseconds to count documents for the progress of an export


class DataExchange:
    """Files of documents and of histories, other layouts, and the feed of an archive."""

    def __init__(self, connection: Connection) -> None:
        """Created by a session; ``connection`` holds what the parts share."""
        self._connection = connection
        self._catalogue, self._port, self._server = connection.catalogue, connection.port, connection.server
        self._trust, self._dump = connection.trust, connection.dump

    def export(
        self, ns: str, path: str, filter: str = "", sort: str = "", any_version: bool = False,
        checkpoint: Checkpoint = no_checkpoint, skip: int = 0, limit: int = 0,
    ) -> Written:  # fmt: skip
        """Write every document that :meth:`.DocumentLists.page` would list to a file.

        The file name's ending decides the format, as ``model.text.row_file.write_rows`` lists them.
        """
        self._dump.need(ns)
        total, _ = self._catalogue.reading.count(ns, filter, any_version, COUNT_MS)
        if total is not None:
            total = min(max(0, total - skip), limit or total)
        found = self._catalogue.reading.rows(ns, filter, sort, any_version, skip, limit or ALL)
        rows = (row.but(raw=stored(self._port, ns, row.raw)) for row in found)
        return write_rows(rows, FilePath(path), total, checkpoint)

    def export_rows(self, ns: str, path: str, rows: Sequence[Row], checkpoint: Checkpoint = no_checkpoint) -> Written:
        """Write listed documents to a file, completely; those deleted meanwhile are left out."""
        return write_rows(self.whole(ns, rows), FilePath(path), len(rows), checkpoint)

    def whole(self, ns: str, rows: Iterable[Row]) -> Iterator[Row]:
        """Listed documents as they are stored now, completely; not readable are those deleted meanwhile."""
        layout = self._catalogue.layout(ns)
        for row in rows:
            try:
                found = next(layout.page(PageQuery({layout.profile.id: row.id}, limit=1)), None)
            except Refused:
                found = None
            found = found or row.but(readable=False)
            yield found.but(raw=stored(self._port, ns, found.raw)) if found.readable else found

    def export_list(
        self, listed: HistoryList, path: str, skip: int = 0, limit: int = 0, checkpoint: Checkpoint = no_checkpoint
    ) -> Written:
        """Write the proven documents of such a list to a file."""
        return write_rows(listed.proven(skip, limit, checkpoint), FilePath(path), None, checkpoint)

    def export_history(
        self, ns: str, path: str | FilePath, form: Form, id: Value | None = None, checkpoint: Checkpoint = no_checkpoint
    ) -> ExportedHistory:
        """Write every version of a document, or of all, into a git repository, a folder, or a file of JSON lines.

        Yields for each document. Raises ``Refused`` if the collection keeps no versions, or if the target contains
        something that no such export wrote.
        """
        self._dump.need_histories(ns)
        (ns,) = self._catalogue.with_versions([ns])
        layout = self._catalogue.layout(ns)
        ids = everyone(layout) if id is None else iter([id])
        return ExportedHistory(layout, ids, FilePath(path), form, checkpoint)

    def history_import(self, ns: str, path: str | FilePath, layout: str = "") -> HistoryImport:
        """The import of an :meth:`export_history` into an existing or new collection."""
        writer, trust = self._connection.writer, self._trust
        return HistoryImport(writer, trust.check_allowed, ns, FilePath(path), layout, trust.is_production)

    @property
    def layouts(self) -> dict[str, Destination]:
        """The layouts to which a collection can be migrated."""
        return registry.destinations()

    def migration(
        self, ns: str, to: str, target: str = "", fields: Mapping[str, str] | None = None, newest_only: bool = False
    ) -> Migration:
        """The migration of a collection to another layout. Reading and comparing need no permission to write."""
        allowed = partial(self._trust.check_allowed, ns)
        return Migration.of(self._connection.writer, allowed, ns, to, target, fields or {}, newest_only)

    def adoption(self, ns: str, past: str = "seldom", to: str = "", target: str = "") -> Adoption:
        """A layout for a plain collection, with its reasons, its profile and the code that writes it.

        ``past`` is "often" where earlier versions are read as often as the current one, ``to`` a layout that is chosen
        already, ``target`` the new collection. Raises ``NotFound``, or ``Refused`` where there is nothing to adopt.
        """
        info = self._catalogue.info(ns)
        if not info.unversioned:
            raise Refused(f"{ns} keeps versions already ({info.layout}); adopting is for plain collections.")
        found = measured(self._port, ns)
        chosen = proposed(found, past, to)
        return adoption(ns, found, chosen, self.migration(ns, chosen[0], target, free_names(found)))

    def feed(
        self, ns: str | None = None, once: bool = False, every: float | None = None, stop: threading.Event | None = None
    ) -> Iterator[Fed]:
        """Feed the archive of a ``stream`` collection, or of all that the profile states, as ``model.feed`` does."""
        names = [ns] if ns is not None else self._catalogue.fed()
        self._trust.check_allowed(*names, writes={"version"})
        often = EVERY if every is None else every
        return feed(self._server, fed_layouts(map(self._catalogue.layout, names)), once, often, stop)
