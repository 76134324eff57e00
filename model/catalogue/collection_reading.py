"""Documents and versions of the collections, read through their layouts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeVar

from model import text
from model.diff import changed_fields
from model.errors import NotFound, Refused
from model.foundation.records import Checkpoint, CollectionInfo, Page, Row, Version, no_checkpoint
from model.storage.newest_query import PageQuery
from model.storage.reserved_fields import time_of
from model.text.names import id_name, version_name
from model.text.typed_terms import field_terms, filter_terms, sort_terms, versions_meant
from model.values import canonical
from model.values.canonical import Value

if TYPE_CHECKING:
    from model.foundation.collection_profile import CollectionProfile
    from model.layouts.base import Layout

T = TypeVar("T")
ALL = 2**31 - 1
"""A limit above any number of rows."""


def changed(ns: str) -> str:
    """The sentence for a collection that does not bear out its layout any more."""
    return f"{ns} is not stored any more as it was when its layout was recognised; read it again."


class KnownLayouts(Protocol):
    """What a reader asks of a catalogue; each method says there what it does."""

    def layout(self, ns: str) -> Layout: ...
    def known(self, ns: str) -> tuple[CollectionInfo, CollectionProfile]: ...
    def is_supposed(self, ns: str) -> bool: ...
    def is_borne_out(self, ns: str) -> bool: ...
    def fits_rows(self, ns: str, rows: Iterable[Row]) -> bool: ...
    def agrees(self, ns: str, version: Version) -> bool: ...
    def look_again(self, ns: str) -> None: ...


class CollectionReading:
    """Reads by the layouts of a catalogue; a layout of an earlier run is held against what is read."""

    def __init__(self, catalogue: KnownLayouts) -> None:
        self._catalogue = catalogue

    def read(self, ns: str, ask: Callable[[Layout], T], versions: Callable[[T], Iterable[Version]]) -> T:
        """What is read of a document through its collection's layout, which may be that of an earlier run.

        ``versions`` are those in the answer: if one has another shape than the documents by which the layout was
        earned, or nothing is found, the layout is recognised anew and asked again.
        """
        if not self._catalogue.is_supposed(ns):
            return ask(self._catalogue.layout(ns))
        try:
            found = ask(self._catalogue.layout(ns))
        except Refused:
            if self._catalogue.is_borne_out(ns):  # a document was there as expected, and only this version of it is not
                raise
            self._catalogue.look_again(ns)
            return ask(self._catalogue.layout(ns))
        agrees = all(self._catalogue.agrees(ns, each) for each in versions(found))
        return found if agrees else ask(self._catalogue.layout(ns))

    def page(
        self, ns: str, filter: str, sort: str, fields: str, skip: int, limit: int, any_version: bool, step: Checkpoint
    ) -> Page:
        """A page of current documents; with a total only if the page reaches the end of the list.

        If it does not bear out the layout of an earlier run, it is read again by the one recognised then.
        """
        found = self._page(ns, filter, sort, fields, skip, limit, any_version, step)
        if self._catalogue.fits_rows(ns, found.rows):
            return found
        self._catalogue.look_again(ns)
        return self._page(ns, filter, sort, fields, skip, limit, any_version, step)

    def _page(
        self, ns: str, filter: str, sort: str, fields: str, skip: int, limit: int, any_version: bool, step: Checkpoint
    ) -> Page:
        started = time.monotonic()
        layout, (info, _) = self._catalogue.layout(ns), self._catalogue.known(ns)
        # One row more than the page shows whether there is a next page, without counting.
        query = PageQuery(
            filter_terms(filter), sort_terms(sort), field_terms(fields), skip, limit + 1, any_version, deleted=True
        )
        found = islice(layout.page(query), limit + 1)
        rows = list(found if step is no_checkpoint else _watched(found, limit, step))
        more = len(rows) > limit
        del rows[limit:]
        if info.belongs_to is not None:
            rows = [_as_version(row, info) for row in rows]
        # An empty page behind the end says nothing about how many there are before it.
        known = not more and (bool(rows) or not skip)
        total, note = (skip + len(rows), "") if known else (None, "N/A: the documents are counted after the page.")
        taken = round((time.monotonic() - started) * 1000)
        return Page(tuple(rows), skip, total, note, more, taken)

    def rows(
        self, ns: str, filter: str, sort: str, any_version: bool, skip: int = 0, limit: int = ALL, fields: str = ""
    ) -> Iterator[Row]:
        """The matching current documents as they arrive, complete unless only some ``fields`` are wanted."""
        terms = filter_terms(filter), sort_terms(sort), field_terms(fields)
        return self._catalogue.layout(ns).page(PageQuery(*terms, skip, limit, any_version))

    def count(self, ns: str, filter: str, any_version: bool, max_ms: int) -> tuple[int | None, str]:
        """The number of matching documents, or None and the reason."""
        try:
            total = self._catalogue.layout(ns).count(filter_terms(filter), any_version, max_ms)
        except Refused as error:
            return None, f"N/A: {error}"
        return total, "" if total is not None else f"N/A: counting takes longer than {max_ms / 1000:g} s."

    def version(self, ns: str, id: Value, v: Value | None = None) -> Version:
        """One version, the current one if ``v`` is None; raises ``NotFound``."""
        return self.read(ns, lambda layout: layout.version(id, v), lambda found: (found,))

    def seen(self, ns: str, id: Value, v: Value | None = None) -> Version:
        """One version to look at, as :meth:`.Layout.seen` returns it; raises ``NotFound``."""
        return self.read(ns, lambda layout: layout.seen(id, v), lambda found: (found,))

    def history(self, ns: str, id: Value, changed: bool, step: Checkpoint, early: bool = False) -> Iterator[Version]:
        """The versions newest first, each without content; with ``changed`` compared with the version before.

        They are to be looked at; ``early`` as for :meth:`.Layout.seen_history`.
        """
        layout = self._catalogue.layout(ns)
        if not changed:
            for done, version in enumerate(self._borne_out(ns, layout.seen_history(id, early=early)), 1):
                step(done, None)
                yield version
            return
        count = partial(changed_fields, keys=layout.profile.keys)
        newer: Version | None = None
        for done, version in enumerate(self._borne_out(ns, layout.seen_history(id, True, early)), 1):
            step(done, None)
            # Held back by one: how many fields differ is only known once the version below has come.
            if newer is not None:
                yield newer.compared_with(version, count)
            newer = version
        if newer is not None:
            yield newer.compared_with(None, count)

    def _borne_out(self, ns: str, versions: Iterator[Version]) -> Iterator[Version]:
        """Versions as they are read, each held against the verdict by which it is; raises ``Refused`` if it fails."""
        for version in versions:
            if not self._catalogue.agrees(ns, version):
                raise Refused(changed(ns))
            yield version

    def find_version(self, ns: str, id: Value, meant: object) -> Value:
        """The version of a document that a text, number or stored value means; raises ``NotFound``."""
        v = self.version_meant(ns, id, meant).v
        assert v is not None
        return v

    def version_meant(self, ns: str, id: Value, meant: object) -> Version:
        """The version that :meth:`find_version` finds, to look at, as :meth:`seen` returns it."""
        if not isinstance(meant, str):
            meant = meant if isinstance(meant, Value) else Value.of(meant)
        for candidate in versions_meant(meant) if isinstance(meant, str) else [meant]:
            try:
                found = self.seen(ns, id, candidate)
            except NotFound:
                continue
            if found.v is not None:
                return found
        shown = meant if isinstance(meant, str) else version_name(meant)
        raise NotFound(f"{id_name(id)} has no version {shown}; `palimpsest history` lists its versions.")


def _watched(rows: Iterator[Row], wanted: int, step: Checkpoint) -> Iterator[Row]:
    """Rows, with a checkpoint after each."""
    for done, row in enumerate(rows, 1):
        step(done, wanted)
        yield row


def _as_version(row: Row, info: CollectionInfo) -> Row:
    """An archive's row with the document and version that it stores; an unreadable row is returned unchanged."""
    if not row.readable:
        return row
    of, v, at = (_at(row.raw, info.fields.get(role, "")) for role in ("archive_id", "version", "at"))
    return row.but(of=of, version=v, at=time_of(at) or row.at)


def _at(raw: bytes, path: str) -> Value | None:
    try:
        return canonical.get(raw, text.path_from_text(path)) if path else None
    except Refused:
        return None
