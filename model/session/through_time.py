"""Collections over time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial

from model import text
from model.errors import NotFound, Refused
from model.foundation.checkpoints import Checkpoint, no_checkpoint
from model.foundation.records import Version
from model.history import following
from model.layouts.base import Layout
from model.over_time.activity import Activity, ActivityList, ChangedValue
from model.over_time.as_of import AsOf, Compared, Difference, StateAt, compared, ids_in, named_fields
from model.over_time.deleted_documents import DeletedDocuments
from model.over_time.history_list import HistoryList
from model.over_time.newest import Newest, known, newest, updated
from model.over_time.report import report, report_of_span
from model.over_time.span import Span, last_change
from model.over_time.tail import Tail, TailBatch
from model.over_time.watched import Watched
from model.session.connection import Connection
from model.text.moments import moment_from_text
from model.text.typed_terms import sort_terms
from model.values import canonical
from model.values.canonical import Path, Value

__all__ = [
    "Activity",
    "AsOf",
    "ChangedValue",
    "Compared",
    "Difference",
    "HistoryList",
    "Newest",
    "StateAt",
    "Tail",
    "TailBatch",
    "ThroughTime",
    "known",
    "newest",
    "updated",
]


class ThroughTime:
    """Who changed what, new versions as they arrive, and how a collection stood at a moment."""

    def __init__(self, connection: Connection) -> None:
        """Created by a session; ``connection`` holds what the parts share."""
        self._connection = connection
        self._catalogue, self._server = connection.catalogue, connection.server
        self._dump = connection.dump

    def activity(
        self,
        places: Sequence[str] | str = (),
        since: dt.datetime | str | None = None,
        until: dt.datetime | str | None = None,
        author: str | None = None,
        path: Path | str = (),
        id: Value | object | None = None,
        checkpoint: Checkpoint = no_checkpoint,
    ) -> ActivityList:
        """Who changed what in some collections or databases (default: all), newest first.

        Both times are included. Each may be text such as ``36h`` or ``2026-11-01``, in UTC if it has no zone.
        ``path`` selects changes at, below and above it. An ``id`` of the single named collection is text for
        :meth:`.DocumentLists.find_id`, a ``Value`` or a Python object. Raises ``Refused`` if a named collection keeps
        no versions, and for an invalid time.
        """
        places = (places,) if isinstance(places, str) else places
        span = Span(*(None if each is None else _moment(each) for each in (since, until)))
        path = text.path_from_text(path) if isinstance(path, str) else path
        if id is not None:
            if len(places) != 1 or "." not in places[0]:
                raise Refused("An id belongs to one collection; name just that one.")
            id = self._connection.id_of(places[0], id)
        self._dump.need(*places)
        layouts = [self._connection.aside(ns) for ns in self._catalogue.with_versions(places)]
        return ActivityList(layouts, span, author, path, id, checkpoint)

    def last_change(self, ns: str) -> dt.datetime | None:
        """The newest time of a current version of a collection, in UTC; None if no index leads to it.

        Raises ``Refused`` if the collection keeps no versions.
        """
        self._dump.need(ns)
        times = (last_change(self._connection.aside(each)) for each in self._catalogue.with_versions([ns]))
        return max(filter(None, times), default=None)

    def tail(self, places: Sequence[str] = ()) -> Tail:
        """The new versions of some collections or databases (default: all), starting now.

        Raises ``Refused`` if a named collection keeps no versions, or if none does.
        """
        self._dump.need(*places)
        names = self._catalogue.with_versions(places)
        if not names:
            raise Refused(
                f"No collection of {', '.join(places) or self._connection.name} keeps versions that could be followed."
            )
        return Tail(self._server, [self._catalogue.layout(ns) for ns in names])

    def as_of(
        self,
        ns: str,
        moment: dt.datetime | str,
        filter: str = "",
        contents: bool = False,
        checkpoint: Checkpoint = no_checkpoint,
    ) -> AsOf:
        """A collection as it stood at a moment; the filter tests documents as they were then.

        The moment may be text such as ``36h`` or ``2026-11-01``, in UTC if it has no zone. Raises ``Refused`` if the
        collection keeps no versions, for a filter that is not understood and for an invalid time.
        """
        self._dump.need_histories(ns)
        at = _moment(moment)
        (ns,) = self._catalogue.with_versions([ns])
        condition = following.condition(filter) if filter.strip() else None
        layout = self._catalogue.layout(ns)
        asked = text.loose(filter)
        seen, fields, ids = partial(_as_listed, layout), named_fields(asked), ids_in(asked, layout)
        return AsOf(layout, at, condition, contents, checkpoint, seen, fields, ids)

    def asof(
        self, ns: str, moment: dt.datetime | str, filter: str = "", checkpoint: Checkpoint = no_checkpoint
    ) -> AsOf:
        """Read as :meth:`as_of` does, with contents, for a notebook: ``….asof(ns, "2026-11-01").frame()``."""
        return self.as_of(ns, moment, filter, True, checkpoint)

    def past(self, ns: str, moment: dt.datetime, filter: str = "", sort: str = "") -> HistoryList:
        """The list of a collection as it stood at a moment; filter and sort are typed text.

        Raises as :meth:`as_of` does.
        """
        found = self.as_of(ns, moment, filter)
        seen = partial(_as_listed, found.layout)
        return HistoryList(found.layout, found.rows(), seen, sort_terms(sort), lambda: found.notes)

    def deleted(self, ns: str, filter: str = "", sort: str = "") -> HistoryList:
        """The list of a collection's deleted documents, with who deleted them and when, if known.

        The filter tests the last version of each. If the layout does not record a delete, this computer's journal
        may. Raises as :meth:`as_of` does.
        """
        self._dump.need_histories(ns)
        (ns,) = self._catalogue.with_versions([ns])
        layout = self._catalogue.layout(ns)
        condition = following.condition(filter) if filter.strip() else None
        seen = partial(_as_listed, layout)
        from_here: dict[Value, dt.datetime] = {}
        with suppress(Refused):  # only additional facts: nothing is lost without them
            from_here = self._connection.journal.deletions(self._connection.source, ns)
        found = DeletedDocuments(layout, condition, seen, from_here, self._connection.writer.author)
        return HistoryList(layout, found.rows(), seen, sort_terms(sort), lambda: found.notes)

    def as_of_both(
        self, ns: str, first: dt.datetime, then: dt.datetime, checkpoint: Checkpoint = no_checkpoint
    ) -> Iterator[Compared]:
        """Each document that differs between two moments. Raises ``Refused`` if the collection keeps no versions."""
        self._dump.need_histories(ns)
        (ns,) = self._catalogue.with_versions([ns])
        return compared(self._catalogue.layout(ns), _moment(first), _moment(then), checkpoint)

    def watched(
        self,
        places: Sequence[str] = (),
        ids: Sequence[Value] | None = None,
        checkpoint: Checkpoint = no_checkpoint,
        gentle: bool = False,
    ) -> Watched:
        """The turns of watched conditions in some collections or databases (default: all).

        ``ids`` selects documents of a single named collection. A missing collection has none.
        """
        layouts = []
        for ns in self._catalogue.watched(places):
            with suppress(NotFound):
                layouts.append(self._catalogue.layout(ns))
        return Watched(layouts, ids, checkpoint, gentle)

    def report(self, ns: str, id: Value, checkpoint: Checkpoint = no_checkpoint) -> str:
        """Every version of a document with its changes, as a self-contained page."""
        self._dump.need_histories(ns)
        return report(self._catalogue.layout(ns), id, self._connection.source, dt.datetime.now(dt.UTC), checkpoint)

    def report_of_span(
        self,
        ns: str,
        since: dt.datetime | None = None,
        until: dt.datetime | None = None,
        author: str | None = None,
        checkpoint: Checkpoint = no_checkpoint,
    ) -> str:
        """The versions of a collection's documents within a time span, by one author or all, as one page.

        Both times are included. Raises ``Refused`` if the collection keeps no versions.
        """
        self._dump.need_histories(ns)
        (ns,) = self._catalogue.with_versions([ns])
        now = dt.datetime.now(dt.UTC)
        return report_of_span(
            self._catalogue.layout(ns), Span(since, until), author, self._connection.source, now, checkpoint
        )


def _as_listed(layout: Layout, id: Value, version: Version) -> bytes:
    """An earlier version as a list shows it: its id, the layout's other fields, and the content."""
    content = list(canonical.fields(version.content or canonical.EMPTY))
    names = {name for name, _ in content}
    ids = dict.fromkeys(("_id", layout.profile.id), id)
    own = [
        (name, value)
        for name, value in canonical.fields(version.raw or canonical.EMPTY)
        if name in layout.locked and name not in names and name not in ids and not value.is_container
    ]
    return canonical.document([*((name, value) for name, value in ids.items() if name not in names), *own, *content])


def _moment(given: dt.datetime | str) -> dt.datetime:
    """A moment with its time zone, by default UTC."""
    if isinstance(given, str):
        return moment_from_text(given).at
    return given.replace(tzinfo=dt.UTC) if given.tzinfo is None else given
