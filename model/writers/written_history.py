"""Documents whose history another program writes as rows of a second collection: listing and reading them.

Versions have the rows' numbers if there are any, else their positions from the oldest row: 1, 2, 3 …
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import chain, islice
from itertools import count as counting
from typing import Any, Literal

from model.checks.written_histories import DIFFERS
from model.errors import NotFound
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Contents, Outline, Row, State, Stored, Version
from model.mql.filters import predicate
from model.patches import tree_of
from model.patches.meaning import ids_of, same_meaning
from model.patches.tree import DoesNotApply, alike, equal
from model.server import guards
from model.server.retry import Port, Terms, bson_of
from model.storage.current_documents import CurrentDocuments
from model.storage.filter_rewriting import renamed
from model.storage.gaps import marks_of, outlined, with_gaps
from model.storage.newest_query import PageQuery
from model.storage.reserved_fields import Own, number_of, same_version
from model.storage.row_paths import value_at
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value
from model.writers.written_rows import WrittenRow, WrittenRows, moment, other_word
from model.writers.written_states import KeptStates, WrittenState, begun_before, state_at, states_of, stripped

DELETED = "deleted"
AT_ONCE = 500  # ids in one query
TOGETHER = dt.timedelta(seconds=5)  # between a document and its row, which a program writes one after the other
LOOKED_THROUGH = 20_000  # rows searched for documents that no longer exist


class WrittenHistory:
    """The versions of one collection's documents: ``current`` reads the documents, ``rows`` everything else."""

    def __init__(self, current: CurrentDocuments, rows: WrittenRows) -> None:
        self.current, self.rows, self.profile = current, rows, rows.profile
        self._kept = KeptStates()

    # --- one document

    def exists(self, *ids: Value) -> bool:
        """Whether there is a document with one of these ids, or a row about a deleted one."""
        return self.current.exists(*ids) or any(self.rows.any(id) for id in ids if not self._is_another(id))

    def _is_another(self, id: Value) -> bool:
        """Whether a text in rows of parts is the id of a document under its own type."""
        others = ids_of(id)[1:] if self.profile.is_in_other_types else []
        return bool(others) and self.current.exists(*others)

    def identity(self, version: Version) -> bytes:
        """The whole stored document."""
        return version.raw or c.EMPTY

    def history(self, id: Value, contents: Contents = False) -> Iterator[Version]:
        """The versions newest first, with entries for missing numbers."""
        found = False
        for version in with_gaps(self._versions(id)):
            found = True
            yield version if contents else version.but(content=None, raw=None)
        if not found:
            raise NotFound(f"There is no document {id_name(id)} in {self.current.ns}; refresh the list.")

    def version(self, id: Value, v: Value | None = None) -> Version:
        """One version; without ``v`` the current one, or the newest of a deleted document."""
        if v is not None and self.profile.patch and (found := self._earlier(id, v)) is not None:
            return found
        newest: Version | None = None
        for version in self.history(id, contents=True):
            newest = newest or version
            if version.current if v is None else same_version(v, version.v):
                return version
        if v is None and newest is not None:
            return newest
        raise NotFound(f"{id_name(id)} has no version {version_name(v)} in {self.current.ns}.")

    def _earlier(self, id: Value, v: Value) -> Version | None:
        """A version by its number from rows of patches, unless it is among the newest rows; else None."""
        rows = self.rows.of(id)
        before = self._before(rows)
        number = number_of(v)
        if self.profile.version:
            at = next((at for at in range(len(rows) - 1, -1, -1) if same_version(v, rows[at].v)), -1)
        else:
            at = -1 if number is None else number - before - 1
        if not 0 <= at < len(rows) - 1:
            return None
        try:
            now = self._document(id).content
        except NotFound:
            now = None
        return self._made(state_at(at, rows, self.profile, now, id, self._kept), at + before + 1)

    def _versions(self, id: Value) -> Iterator[Version]:
        """The versions from rows and document, newest first."""
        try:
            document: Version | None = self._document(id)
        except NotFound:
            document = None
        rows = self.rows.of(id)
        if self.profile.kept == "earlier" and document is not None:
            yield document
            document = None
        content = document.content if document is not None else None
        if content is None and self.profile.parts:  # all documents of a kind have the same fields
            content = next((row.content for row in map(self.current.made, self._any_document()) if row.content), None)
        states: Iterable[WrittenState] = states_of(rows, self.profile, content, id, self._kept)
        if self.profile.direction == "onward":
            standing: int | None = 0 if rows else -1
        elif document is None or self._can_be_current(document.raw or c.EMPTY):
            standing = _newest(rows, lambda row: not row.aside)
        else:
            states = list(states)
            standing = next(
                (len(rows) - 1 - n for n, each in enumerate(states) if self._is_draft(document, each)), None
            )
        before = self._before(rows)
        made = (
            (at, self._made(state, at + 1 + before))
            for at, state in zip(counting(len(rows) - 1, -1), states, strict=False)
        )
        yield from _with_document(document, made, standing, self._joined)

    def _before(self, rows: Sequence[WrittenRow]) -> int:
        """The number of versions before the first row: patches that are taken back lead to one."""
        if self.profile.patch and self.profile.direction == "backward":
            return 1 if rows else 0
        return 1 if begun_before(rows, self.profile) else 0

    def _is_draft(self, document: Version, state: WrittenState) -> bool:
        """Whether a row is a document that cannot be current itself, as a page that was never published.

        Both have the same content, and were written one right after the other.
        """
        row, content = state.row, state.content
        if row is None or content is None or document.content is None or not self.is_same(document.content, content):
            return False
        return row.at is None or document.at is None or abs(row.at - document.at) <= TOGETHER

    def _can_be_current(self, raw: bytes) -> bool:
        """Whether a document has the values that current rows must have, where rows keep them inside of the state."""
        inside = f"{self.profile.content}."
        wanted = self.profile.current_where.items()
        return not any(
            other_word(value_at(raw, path.removeprefix(inside)), word)
            for path, word in wanted
            if path.startswith(inside)
        )

    def _document(self, id: Value) -> Version:
        """The current document as a version, without fields that states ignore too."""
        return self._current(self.current.raw(id))

    def _current(self, raw: bytes) -> Version:
        made = self.current.made(raw)
        if made.content is None:
            return made
        content = stripped(made.content, self.profile)
        at = made.at or (moment(value_at(made.raw or c.EMPTY, self.profile.at)) if self.profile.at else None)
        return made.but(at=at, content=content, hash=c.hash_of(content), bytes=len(content))

    def _any_document(self) -> Iterator[bytes]:
        return self.current.server.find(self.current.ns, limit=1)

    def _made(self, state: WrittenState, place: int) -> Version:
        """A state as a version."""
        row, content = state.row or WrittenRow(c.EMPTY, _NOTHING), state.content
        said: State = "present" if content is not None else "unproven" if self.profile.patch else "damaged"
        return Version(
            v=row.v if row.v is not None else Value.of(place),
            at=row.at,
            author=row.author,
            reason=row.reason,
            operation=row.operation,
            stored="delta" if self.profile.patch else "archive",
            state=said,
            current=False,
            hash=c.hash_of(content) if content is not None else None,
            bytes=len(content) if content is not None else None,
            detail=state.unproven or (DELETED if row.removes else row.aside),
            content=content,
            raw=row.raw if state.row else None,
            deleted=row.removes,
            stored_bytes=len(row.raw) if state.row else None,
            aside=bool(state.row and row.aside),
        )

    def _joined(self, document: Version, row: Version) -> Version:
        """The current document combined with its newest row as one version."""
        told: dict[str, Any] = {name: getattr(row, name) for name in ("v", "at", "author", "reason", "operation")}
        detail = document.detail
        if row.detail == DELETED:  # the document stays, with a field that says so
            return document.but(**told, detail=DELETED)
        if document.state == "present" and row.content is not None and document.content is not None:
            detail = "" if self.is_same(document.content, row.content) else DIFFERS
        elif row.content is None:
            detail = row.detail
        return document.but(**told, detail=detail)

    def is_same(self, document: bytes, state: bytes) -> bool:
        """Whether both have the same names and values; patches compare as JSON, rows in other types by meaning."""
        try:
            mine, theirs = tree_of(document), tree_of(state)
        except DoesNotApply:
            return document == state
        if not self.profile.writer and not self.profile.patch:  # rows of an unknown program may omit fields
            mine = {name: node for name, node in mine.items() if name in theirs}
        by_meaning = self.profile.is_in_other_types or self.profile.patch == "fields"  # a null may stand for nothing
        compared = same_meaning if by_meaning else alike if self.profile.patch else equal
        return compared(mine, theirs)

    # --- lists

    def page(self, query: PageQuery) -> Iterator[Row]:
        """The matching documents; with ``any_version`` followed by those with another matching version.

        Deleted ones come last, if requested.
        """
        listed = 0
        for row in self.current.page(query):
            listed += 1
            yield self._dated(row)
        filter = query.filter if query.any_version else None
        if listed >= query.limit or not (filter or self._lists_deleted(query)):
            return
        skip = 0 if listed else max(0, query.skip - (self.current.count(query.filter, max_ms=60_000) or 0))
        for row in islice(self._matched_earlier(filter) if filter else self._gone(), skip, skip + query.limit - listed):
            yield row

    def _dated(self, row: Row) -> Row:
        """The row with version and time from the document, if the document stores them like its rows."""
        p = self.profile
        at = moment(value_at(row.raw, p.at)) if p.at else None
        v = value_at(row.raw, p.version) if p.version else None
        return row.but(at=row.at or at, version=row.version or v)

    @staticmethod
    def _lists_deleted(query: PageQuery) -> bool:
        return query.deleted and not query.filter and not query.sort

    def _matched_earlier(self, filter: Terms) -> Iterator[Row]:
        """The documents that do not match now, but have an earlier version that does."""
        p = self.profile
        if p.patch or p.is_in_other_types or p.elements or not p.archive_id:
            yield from self._folded(filter)  # no server can search states that are not stored
            return
        seen: set[Value] = set()
        path = self.profile.archive_id
        where = self.rows.where() | dict(renamed(filter, self._row_name))
        for raw in self.rows.server.find(self.rows.ns, where, projection={path: 1}):
            id = value_at(raw, path)
            if id is None or id in seen:
                continue
            seen.add(id)
            here = guards.exact(self.profile.id, id)
            if not self.current.any({"$and": [here, filter]}):
                yield from self.current.rows(here, PageQuery(limit=1), None)

    def _folded(self, filter: Terms) -> Iterator[Row]:
        """The documents with a matching earlier state, if states are built here."""
        matches = predicate(bson_of(filter), "This filter cannot be used on states that are put together here")
        key = self.profile.id
        for raw in self.current.server.find(self.current.ns, sort={key: 1}):
            id = c.get(raw, (key,))
            if id is None or self.current.any({"$and": [guards.exact(key, id), filter]}):
                continue
            if any(each.content is not None and matches(each.content) for each in self.history(id, contents=True)):
                yield self.current.row(raw)

    def _row_name(self, name: str) -> str:
        """The name of a document's field in the rows."""
        first, dot, rest = name.partition(".")
        if first == self.profile.id:
            return f"{self.profile.archive_id}{dot}{rest}"
        return f"{self.profile.content}.{name}" if self.profile.content else name

    def _gone(self) -> Iterator[Row]:
        """The documents that rows mention but that no longer exist."""
        waiting: list[Value] = []
        for id in self.rows.ids(LOOKED_THROUGH):
            waiting.append(id)
            if len(waiting) == AT_ONCE:
                yield from map(_gone_row, self._missing(waiting))
                waiting = []
        yield from map(_gone_row, self._missing(waiting))

    def _missing(self, ids: Sequence[Value]) -> Iterator[Value]:
        """The ids in rows that no document has, also under the type that rows cannot hold."""
        alike = {id: ids_of(id) if self.profile.is_in_other_types else [id] for id in ids}
        there = self._existing(list(dict.fromkeys(chain.from_iterable(alike.values()))))
        yield from (id for id in ids if not any(each in there for each in alike[id]))

    def count(self, filter: Terms | None = None, any_version: bool = False, max_ms: int = 2000) -> int | None:
        """The number of matching documents; with ``any_version`` it reads the rows. None if that takes too long."""
        return self.current.counted(filter, self._matched_earlier if any_version else None, max_ms)

    def outline(self, ids: Sequence[Value]) -> Iterator[Outline]:
        """The history of each document in miniature, without states; a few queries for all."""
        there = self._existing(ids)
        rows = self.rows.outlined(ids)
        drafts = self._drafts([id for id, raw in there.items() if rows[id] and not self._can_be_current(raw)])
        for id in ids:
            marks = self._marks(rows[id], there.get(id), drafts.get(id, lambda row: not row.aside))
            versions = list(with_gaps(marks))
            made = outlined(id, versions)
            if rows[id] and not any(version.current for version in versions):
                severity: Literal["sound"] = "sound"
                author, reason = rows[id][-1].author, rows[id][-1].reason
                made = Outline(id, marks_of(versions), "Deleted", severity, author=author, reason=reason)
            yield made

    def _existing(self, ids: Sequence[Value]) -> Mapping[Value, bytes]:
        """The existing documents, with the fields that outlines need."""
        p = self.profile
        inside = f"{p.content}."
        told = (
            p.id,
            p.version,
            p.at if p.current_where else "",
            *(path.removeprefix(inside) for path in p.current_where),
        )
        fields = {name: 1 for name in told if name}
        found = self.current.server.find(self.current.ns, {p.id: {"$in": list(ids)}}, projection=fields) if ids else ()
        return {id: raw for raw in found if (id := c.get(raw, (p.id,))) is not None}

    def _drafts(self, ids: Sequence[Value]) -> Mapping[Value, Callable[[WrittenRow], bool]]:
        """For documents that cannot be current themselves, which row is each; two queries for all."""
        p = self.profile
        documents = {}
        for raw in self.current.server.find(self.current.ns, {p.id: {"$in": list(ids)}}) if ids else ():
            if (id := c.get(raw, (p.id,))) is not None:
                documents[id] = self._current(raw)
        found: dict[Value, set[Value | None]] = {id: set() for id in ids}
        near = [
            {p.archive_id: {"$eq": id}, p.at: {"$gte": each.at - TOGETHER, "$lte": each.at + TOGETHER}}
            for id, each in documents.items()
            if each.at is not None and p.at
        ]
        for raw in self.rows.server.find(self.rows.ns, {"$and": [self.rows.where(), {"$or": near}]}) if near else ():
            id = value_at(raw, p.archive_id)
            for state in states_of([WrittenRow(raw, p)], p, None):
                if id in documents and self._is_draft(documents[id], state):
                    found[id].add(c.get(raw, ("_id",)))
        return {id: partial(_is_one_of, rows) for id, rows in found.items()}

    def _marks(
        self, rows: Sequence[WrittenRow], document: bytes | None, stands: Callable[[WrittenRow], bool]
    ) -> Iterator[Version]:
        p = self.profile
        current: Version | None = None
        if document is not None:
            current = _CURRENT.but(at=moment(value_at(document, p.at)) if p.at and p.current_where else None)
        if current is not None and (p.kept == "earlier" or not rows):
            v = value_at(document or c.EMPTY, p.version) if p.kept == "earlier" and p.version else None
            yield current.but(v=v, at=None)
            current = None
        if current is not None and p.direction == "onward":
            standing: int | None = 0 if rows else -1
        else:
            standing = _newest(rows, stands) if current is not None else None
        timed = current is not None and standing is None
        before = self._before(rows)
        marks = (
            (at, self._mark(rows[at], at + 1 + before, timed or at == standing)) for at in range(len(rows) - 1, -1, -1)
        )
        yield from _with_document(current, marks, standing, lambda _, row: row.but(stored="document", current=True))
        if before:
            yield self._mark(None, before, timed=False)

    def _mark(self, row: WrittenRow | None, place: int, timed: bool) -> Version:
        """A row's version without its state; without a row, the version that the first row changed."""
        stored: Stored = "delta" if self.profile.patch else "archive"
        v = row.v if row is not None else None
        made = Version(v if v is not None else Value.of(place), None, None, stored, "present", False, None, None)
        return made.but(at=row.at, author=row.author, reason=row.reason) if row is not None and timed else made


def _newest(rows: Sequence[WrittenRow], stands: Callable[[WrittenRow], bool]) -> int | None:
    """The place of the newest row that the current document is; None if none is, and -1 if there are no rows."""
    return next((at for at in range(len(rows) - 1, -1, -1) if stands(rows[at])), None if rows else -1)


def _with_document(
    document: Version | None,
    versions: Iterator[tuple[int, Version]],
    standing: int | None,
    joined: Callable[[Version, Version], Version],
) -> Iterator[Version]:
    """The versions newest first, each with its place, and the current document among them.

    It is joined with the row at ``standing``; if it has none, it stands before the first row that is not later.
    """
    for at, version in versions:
        if document is not None and at == standing:
            version, document = joined(document, version), None
        elif document is not None and standing is None and _is_before(version.at, document.at):
            yield document
            document = None
        yield version
    if document is not None:
        yield document


def _is_one_of(rows: Set[Value | None], row: WrittenRow) -> bool:
    return c.get(row.raw, ("_id",)) in rows


_CURRENT = Version(None, None, None, "document", "present", True, None, None)


def _is_before(row: dt.datetime | None, document: dt.datetime | None) -> bool:
    """Whether a row was written by the time of a document that no row stands for."""
    return row is not None and document is not None and row <= document


def _gone_row(id: Value) -> Row:
    return Row(id, None, None, 0, c.document([("_id", id)]))


_NOTHING = CollectionProfile("")


def history_by_rows(server: Port, profile: CollectionProfile) -> WrittenHistory:
    """The history of a collection's documents, by the rows that its profile names."""
    version = "" if "." in profile.version else profile.version
    # A row has it beside the id in its `_id`, a document under the same name at the top.
    at_top = profile.version.removeprefix("_id.")
    if profile.kept == "earlier" and at_top in profile.ignored:
        version = at_top
    own = Own(profile.id, version, others=tuple(name for name in profile.ignored if "." not in name))
    return WrittenHistory(CurrentDocuments(server, profile, own, numbered=False), WrittenRows(server, profile))
