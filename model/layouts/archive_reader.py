"""The archive, a second collection of earlier versions, read together with the current documents.

An archive row is a version: its own ``_id``, the document's id, the version, the content. Rows at and above the
current version are told apart here; each layout decides what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from bson import ObjectId
from msgspec.structs import replace

from model.errors import NotFound
from model.foundation.records import Contents, Outcome, Outline, Row, State, Stored, Version
from model.server import guards
from model.storage import numbering, stored_form
from model.storage.content_hashes import hash_damage
from model.storage.field_reader import FieldReader
from model.storage.filter_rewriting import renamed
from model.storage.gaps import loss, newest_first, outlined, with_gaps
from model.storage.lazy_version import LazyVersions
from model.storage.newest_query import PageQuery, with_own
from model.storage.reserved_fields import (
    WHOLE_NUMBERS,
    Own,
    made_version,
    number_of,
    own_of,
    place_of,
    same_version,
    version_damage,
    whole_number,
)
from model.storage.version_pages import first_between, newest_down, settled
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value

if TYPE_CHECKING:
    from model.checks.chains import Chains
    from model.server.retry import Terms
    from model.storage.current_documents import CurrentDocuments
    from model.storage.swap_steps import Stamp

PHANTOM = "above the current version"
NEVER_LANDED = "never landed; above the current version"
BEHIND = "archive "
"""The start of a current version's detail if a fed archive does not hold it yet."""


class ArchiveReader:
    """The current documents of a collection, joined with the rows of its archive.

    ``holds_current``: the archive should also hold the current version; ``compared``: with the document's own
    content.
    """

    def __init__(self, current: CurrentDocuments, holds_current: bool, compared: bool = True) -> None:
        p = current.profile
        self.compared = compared
        self.current, self.holds_current = current, holds_current
        self.server, self.profile = current.server, p
        self.ns = p.archive
        # A row has an `_id` of its own, so the document's stands in another field, and one named as in the document is
        # kept.
        self.own = own_of(p, p.id if p.id != "_id" else "", id=p.archive_id)
        self._ids = FieldReader(p.archive_id)
        self._latest: tuple[Value | None, int] = None, 0  # id and number of the current version read last
        self._lazily = LazyVersions(p, p.archive_id, self.own, self.version_of)

    def exists(self, *ids: Value) -> bool:
        """Whether there is a current document with one of these ids, or an archived version of a deleted one."""
        return self.current.exists(*ids) or self.any(guards.exact_in(self.profile.archive_id, ids))

    def any(self, filter: Terms) -> bool:
        """Whether a row of the archive matches."""
        return next(iter(self.server.find(self.ns, filter, projection={"_id": 1}, limit=1)), None) is not None

    def identity(self, version: Version) -> bytes:
        """The bytes by which a current document is recognised as unchanged."""
        return self.current.identity(version)

    def rows_of(self, id: Value, filter: Terms | None = None) -> Iterator[bytes]:
        """The rows of exactly this document that match ``filter``, newest first."""
        rows = (raw for raw in self._alike(id, filter) if self._ids.has(raw, id))
        return settled(rows, self.profile.version)

    def _alike(self, id: Value, filter: Terms | None = None, whole: bool = False) -> Iterator[bytes]:
        """The rows of all documents whose ids a server finds equal to this one."""
        p = self.profile
        where = {p.archive_id: {"$eq": id}} | dict(filter or {})
        return newest_down(self.server, self.ns, where, p.archive_id, p.version, whole)

    def newest(self, id: Value) -> Version | None:
        """The newest archived version of a document; None if there is none."""
        raw = next(self.rows_of(id), None)
        return self.version_of(raw) if raw is not None else None

    def first_between(self, id: Value, low: int, high: int) -> Version | None:
        """The lowest archived version numbered ``low`` or more, below ``high``; None if there is none."""
        p = self.profile
        raw = first_between(self.server, self.ns, p.archive_id, p.version, id, low, high)
        return None if raw is None else self.version_of(raw)

    def version_of(self, raw: bytes) -> Version:
        """An archive row as a version."""
        times = (self.profile.token, "_id")
        return made_version(raw, self.own, self.profile, "archive", contents=True, times=times)

    def history(self, id: Value, contents: Contents = False) -> Iterator[Version]:
        """Current and archived versions, with entries for missing ones."""
        try:
            current: Version | None = self.current.made(self.current.raw(id))
        except NotFound:
            current = None
        rows, found = self._alike(id, whole=contents == "all"), False
        if current is not None:
            above, rows = self._above(current, id, rows)
            if above is not None:
                yield above if contents else above.but(content=None, raw=None)
                rows, _ = yield from self._lazily.stretch(rows, id, bool(contents), number_of(current.v))
                current, found = None, True
        mine = settled((raw for raw in rows if self._ids.has(raw, id)), self.profile.version)
        versions = newest_first(map(self.version_of, mine))
        for version in with_gaps(self._joined(current, versions), loss(self.profile)):
            found = True
            yield version if contents else version.without_content()
        if not found:
            raise NotFound(f"There is no document {id_name(id)} in {self.current.ns}; refresh the list.")

    def _above(self, current: Version, id: Value, rows: Iterator[bytes]) -> tuple[Version | None, Iterator[bytes]]:
        """The current version and the rows below it, if nothing is missing between and no row is above; None if that
        takes reading more rows.
        """
        # Two rows are enough to know that the archive begins right below the document, which is so in nearly every
        # history.
        first = list(islice(rows, 2))
        rows = chain(first, rows)
        top = number_of(current.v)
        values = [c.get(raw, (self.profile.version,)) for raw in first]
        numbers = [number_of(v) if v is not None and v.type in WHOLE_NUMBERS else None for v in values]
        if top is None or len(first) < 2 or not all(self._ids.has(raw, id) for raw in first):
            return None, rows
        if not self.holds_current and numbers[0] == top - 1:
            return current, rows
        if self.holds_current and numbers == [top, top - 1]:
            next(rows)
            return self._beside_archive(current, self.version_of(first[0])), rows
        return None, rows

    def _joined(self, current: Version | None, rows: Iterator[Version]) -> Iterator[Version]:
        """The current version merged into the archive's rows, which may include it, or versions above it."""
        first = next(rows, None)
        rows = rows if first is None else chain([first], rows)
        if current is not None and current.state == "present" and (behind := self._lag_of(current, first)):
            current = current.but(detail=behind)
        top = place_of(current.v) if current is not None else None
        before: int | None = None
        for row in rows:
            place = place_of(row.v)
            # A version without a number has no place among the rows; as the current one it comes first.
            if current is not None and (top is None or (place is not None and place < top)):
                yield current
                current = None
            # Not a second version: a crash between archiving and swapping, or a feed, leaves a copy of the current one.
            if current is not None and top is not None and place == top:
                current = self._beside_archive(current, row)
                continue
            if current is not None and place is not None:
                # A feed archives what was the current version once; of an edit, this is what it left behind.
                detail = PHANTOM if self.holds_current else NEVER_LANDED
                row = row.but(state="damaged", detail=detail, landed=self.holds_current)
            elif place is not None and place == before:
                row = row.but(state="damaged", detail="stored twice")
            before = place
            yield row
        if current is not None:
            yield current

    def _beside_archive(self, current: Version, row: Version) -> Version:
        """The current version, with a note on the archive row that has its number."""
        if not self.compared or current.state != "present" or row.content == current.content:
            detail = current.detail or ("" if self.holds_current else "also in the archive")
        else:
            detail = f"the archive holds another {version_name(current.v)}"
        return current.but(detail=detail)

    def version(self, id: Value, v: Value | None = None) -> Version:
        """A version from the collection or from the archive.

        The current document need not be read for a version below the current one read last, if the archive still has
        another row above it. Without that row it might be a copy of the current version, or a phantom.
        """
        rows: list[bytes] = []
        if v is not None and self._was_earlier(id, v):
            # A row above proves that this one is no copy of the current version, so one query is enough.
            rows = self._at_and_above(id, v)
            if len(rows) == 2:
                return self.version_of(rows[0])
        try:
            current: Version | None = self.current.made(self.current.raw(id))
        except NotFound:
            if v is None:
                raise
            current = None
        if current is not None and (number := number_of(current.v)) is not None:
            self._latest = id, number
        if current is not None and (v is None or same_version(v, current.v)):
            return current
        for raw in rows or self.rows_of(id, {self.profile.version: {"$eq": v}}):
            return self.version_of(raw)
        raise NotFound(f"{id_name(id)} has no version {version_name(v)} in {self.current.ns} or {self.ns}.")

    def _was_earlier(self, id: Value, v: Value) -> bool:
        """Whether a version was below the current version of its document, as last read."""
        of, number = self._latest
        return of == id and v.type in WHOLE_NUMBERS and (number_of(v) or 0) < number

    def _at_and_above(self, id: Value, v: Value) -> list[bytes]:
        """The archive's row of a version and the row above; [] unless the first certainly is this version."""
        p = self.profile
        where = {p.archive_id: {"$eq": id}, p.version: {"$gte": v}}
        rows = list(self.server.find(self.ns, where, sort={p.archive_id: 1, p.version: 1}, limit=2))
        numbers = [c.get(raw, (p.version,)) for raw in rows]
        # Among rows of ids that a server finds equal, such as 1 and 1.0, the first two need not be of one document.
        if not rows or not all(self._ids.has(raw, id) for raw in rows) or not same_version(v, numbers[0]):
            return []
        return rows if len(rows) == 1 or not same_version(v, numbers[1]) else []

    @property
    def check(self) -> Chains:
        """Checks current documents and archive rows, joined by id."""
        from model.checks.archives import with_archive
        from model.checks.chains import Chains, Part
        from model.checks.facts import FactReader

        p = self.profile
        parts = (
            Part(self.current.ns, FactReader(self.current.own, p, p.id)),
            Part(self.ns, FactReader(self.own, p, p.archive_id, archived=True)),
        )
        gap = "R1" if self.holds_current else "A4"
        return Chains(self.server, p, parts, with_archive, gap, self.holds_current)

    # --- in miniature

    def outline(self, ids: Sequence[Value]) -> Iterator[Outline]:
        """Current and archived versions by their numbers; contents are read only if there is a hash to check."""
        if not ids:
            return
        p = self.profile
        currents: dict[Value, list[Version]] = {}
        rows: dict[Value, list[Version]] = {}
        wanted = list(ids)
        keys = {name: 1 for name in (p.version, p.hash) if name}
        for raw in self.server.find(self.current.ns, {p.id: {"$in": wanted}}, projection={p.id: 1, **keys}):
            if p.hash and c.get(raw, (p.hash,)) is not None:
                # The projection left the content out, and a hash can only be checked against all of it.
                raw = next(iter(self.server.find(self.current.ns, guards.by_id(_physical(raw)), limit=1)), raw)
            self._sort_in(currents, raw, p.id, self.current.own, current=True)
        sealed: list[Value] = []
        for raw in self.server.find(self.ns, {p.archive_id: {"$in": wanted}}, projection={p.archive_id: 1, **keys}):
            if p.hash and c.get(raw, (p.hash,)) is not None:
                sealed.append(c.get(raw, (p.archive_id,)) or Value.of(None))
            else:
                self._sort_in(rows, raw, p.archive_id, self.own)
        if sealed:
            filter: dict[str, Any] = {p.archive_id: {"$in": list(dict.fromkeys(sealed))}, p.hash: {"$exists": True}}
            for raw in self.server.find(self.ns, filter):
                self._sort_in(rows, raw, p.archive_id, self.own)
        for id in ids:
            yield self._outlined(id, currents.get(id, []), rows.get(id, []))

    def _sort_in(
        self, into: dict[Value, list[Version]], raw: bytes, name: str, own: Own, current: bool = False
    ) -> None:
        id = c.get(raw, (name,))
        if id is not None:
            v = c.get(raw, (own.version,))
            damage = version_damage(v) or hash_damage(raw, own.content(raw), self.profile)
            state: State = "damaged" if damage else "present"
            stored: Stored = "document" if current else "archive"
            into.setdefault(id, []).append(Version(v, None, None, stored, state, current, None, None, damage))

    def _outlined(self, id: Value, currents: list[Version], rows: list[Version]) -> Outline:
        # Sorted here, not by the server: the rows of all documents come in one query, in any order.
        rows.sort(key=lambda row: -(place_of(row.v) or 0))
        current = currents[0] if currents else None
        versions = self._with_gaps(id, current, rows)
        phantoms = [number_of(each.v) or 0 for each in versions if each.detail in (PHANTOM, NEVER_LANDED)]
        made = outlined(id, versions, phantoms)
        newest = next(iter(rows), None)
        if current is None or current.state != "present" or not self._lag_of(current, newest):
            return made
        # What a feed has not delivered yet is no damage, but the marks show where it will be.
        return replace(outlined(id, self._arrived(current, rows, newest)), marks=made.marks)

    def _with_gaps(self, id: Value, current: Version | None, rows: list[Version]) -> list[Version]:
        """The versions of a document with its gaps; a current one that the archive holds too is compared with that."""
        versions = list(with_gaps(self._joined(current, iter(rows)), loss(self.profile)))
        versions = [each.but(detail="") if each.current and each.state == "present" else each for each in versions]
        if current is None or self.holds_current or all(place_of(row.v) != place_of(current.v) for row in rows):
            return versions
        return [self._compared(id, each) if each.current else each for each in versions]

    def _arrived(self, current: Version, rows: list[Version], newest: Version | None) -> list[Version]:
        """The versions without those between the archive and the current one, which the feed has not delivered yet."""
        top = (place_of(newest.v) if newest is not None else None) or 0
        joined = with_gaps(self._joined(current, iter(rows)))
        return [one for one in joined if one.state != "missing" or (number_of(one.v) or 0) < top]

    def _lag_of(self, current: Version, newest: Version | None) -> str:
        """How far a fed archive is behind, in a few words; "" if it holds the current version, or more."""
        here, there = place_of(current.v), place_of(newest.v) if newest is not None else None
        if not self.holds_current or here is None or (there is not None and there >= here):
            return ""
        number = number_of(current.v)
        if number is None:
            return "archive behind"
        lag = number - (there or 0)
        return "archive 1 version behind" if lag == 1 else f"archive {lag:,} versions behind"

    def _compared(self, id: Value, current: Version) -> Version:
        """The current version if the archive has its number too, with the result of comparing both contents."""
        try:
            whole = self.current.made(self.current.raw(id))
        except NotFound:
            return current
        for raw in self.rows_of(id, {self.profile.version: {"$eq": current.v}}):
            return current.but(detail=self._beside_archive(whole, self.version_of(raw)).detail)
        return current

    # --- rows

    def is_copy(self, row: bytes, raw: bytes) -> bool:
        """Whether a row is the copy of this current document: by number and token, or without tokens by content."""
        p = self.profile
        if c.get(row, (p.version,)) != c.get(raw, (p.version,)):
            return False
        token = c.get(raw, (p.token,)) if p.token else None
        if token is not None:
            return c.get(row, (p.token,)) == token
        return self.own.content(row) == self.current.own.content(raw)

    def lived_again(self, id: Value) -> Outcome:
        """The conflict if a deleted document is not put back because the archive has another life of its id."""
        return Outcome(
            "conflict",
            self.current.ns,
            id,
            f"{id_name(id)} was created and deleted again since, as {self.ns} shows; nothing was put back. "
            "Create it again and restore one of its versions.",
        )

    def names_itself(self, raw: bytes) -> bool:
        """Whether a stored document itself has a field with the name that archive rows use for the document's id."""
        p = self.profile
        return p.archive_id not in ("_id", p.id) and c.get(raw, (p.archive_id,)) is not None

    def row_of(self, key: Value, id: Value, raw: bytes) -> bytes:
        """The archive row for a stored current document: ``key`` as its ``_id``, the id, the other fields unchanged."""
        p = self.profile
        rest = [(name, value) for name, value in c.fields(raw) if name not in ("_id", p.id)]
        return c.document([("_id", key), (p.archive_id, id), *rest])

    # --- lists

    def page(self, query: PageQuery) -> Iterator[Row]:
        """The current documents that match; with ``any_version``, followed by those that once matched."""
        listed = 0
        for row in self.current.page(query):
            listed += 1
            yield row
        if not query.any_version or not query.filter or listed >= query.limit:
            return
        # A page behind all current matches has to know how many those are; a page with one of them begins right after.
        skip = max(0, query.skip - (self.current.count(query.filter, max_ms=60_000) or 0)) if not listed else 0
        fields = with_own(query.projection, self.current.own)
        for id in self._matched_earlier(query.filter):
            if skip:
                skip -= 1
                continue
            if listed >= query.limit:
                return
            for row in self.current.rows(guards.exact(self.profile.id, id), PageQuery(limit=1), fields):
                listed += 1
                yield row

    def _matched_earlier(self, filter: Terms) -> Iterator[Value]:
        """The ids of current documents that do not match, but have an earlier version that does."""
        p = self.profile
        last: Value | None = None
        keys = {p.archive_id: 1}
        for raw in self.server.find(self.ns, renamed(filter, self._row_name), sort=keys, projection=keys):
            id = c.get(raw, (p.archive_id,))
            if id is None or id == last:
                continue
            last = id
            here = guards.exact(p.id, id)
            # A document that matches now was listed already, and one that is deleted has no row to show.
            if not self.current.any({"$and": [here, filter]}) and self.current.any(here):
                yield id

    def _row_name(self, name: str) -> str:
        """The name that the archive's rows use for a field of the current document."""
        first, dot, rest = name.partition(".")
        return f"{self.profile.archive_id}{dot}{rest}" if first == self.profile.id else name

    def count(self, filter: Terms | None = None, any_version: bool = False, max_ms: int = 2000) -> int | None:
        """The number of matching documents; with ``any_version`` it reads the archive. None if that takes too long."""
        return self.current.counted(filter, self._matched_earlier if any_version else None, max_ms)

    # --- writing

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """The archive's rows first, so that a document never appears without its history."""
        p = self.profile
        rows = []
        for version, v in zip(versions, stored_form.numbers(versions), strict=True):
            stamps = stored_form.stamps(p, id, version, v)
            if version is not versions[-1] or self.holds_current:
                pairs = [("_id", stored_form.key(id, version, v)), (p.archive_id, id), *stamps]
                rows.append((self.ns, stored_form.made(pairs, stored_form.content_of(version, self.own.names))))
            if version is versions[-1]:
                pairs = [("_id", id)] if p.id == "_id" else [("_id", stored_form.lasting_key(id)), (p.id, id)]
                content = stored_form.content_of(version, self.current.own.names)
                rows.append((self.current.ns, stored_form.made([*pairs, *stamps], content)))
        return tuple(rows)

    def above_archive(self, id: Value, stamp: Stamp) -> Value:
        """The version of a new document: above every archive row of an earlier life of its id."""
        first = numbering.first(self.profile, stamp.at)
        highest = self._highest(id, first)
        if highest is None or (place_of(highest) or 0) < (place_of(first) or 0):
            return first
        if highest.type == c.DATE:
            return numbering.following(highest, self.profile, stamp.at)
        return whole_number((number_of(highest) or 0) + 1, first)

    def _highest(self, id: Value, like: Value) -> Value | None:
        """The highest version of this document in the archive: a date if ``like`` is one, else a number."""
        for raw in self.rows_of(id):
            v = c.get(raw, (self.profile.version,))
            if v is not None and place_of(v) is not None and (v.type == c.DATE) == (like.type == c.DATE):
                return v
        return None

    def landed_before(self, id: Value, token: ObjectId, base: Version | None, now: bytes | None) -> bool | None:
        """Whether the archive contains a write that the current document, ``now``, lacks; answers :class:`.Landing`."""
        p, mine = self.profile, Value.of(token)
        rows = guards.exact(p.archive_id, id)
        number = number_of(base.v) if base is not None else None
        if base is not None and number is not None:
            here = c.get(now, (p.version,)) if now is not None else None
            was = c.get(base.raw, (p.token,)) if base.raw is not None else None
            if here == base.v and now is not None and (base.raw is None or c.get(now, (p.token,)) == was):
                return False  # still the base, but changed in place
            if number_of(here) == number + 1:
                return False  # the next version was written with another token
            # Version and token in one query: between two queries the archive may receive a missing row.
            for row in self.server.find(self.ns, rows | {p.version: {"$eq": whole_number(number + 1)}}):
                return c.get(row, (p.token,)) == mine
        if self.any(rows | guards.exact(p.token, mine)):
            return True
        if base is None and now is not None and self._is_whole(id, now):
            return False  # it would be among the versions since the first
        # Without a number, or if its row is missing, only an archive that is written before the swap can answer.
        return None if self.holds_current or number is not None else False

    def _is_whole(self, id: Value, now: bytes) -> bool:
        """Whether archive and current document (``now``) together hold every version from number 1."""
        name = self.profile.version
        rows = self.server.find(self.ns, guards.exact(self.profile.archive_id, id), projection={name: 1})
        numbers = {number_of(c.get(row, (name,))) for row in (now, *rows)}
        return numbers == set(range(1, len(numbers) + 1))


def _physical(raw: bytes) -> Value:
    found = c.get(raw, ("_id",))
    assert found is not None
    return found
