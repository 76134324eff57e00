"""Collections in which every version is a document of its own: how histories are read, begun and deleted.

A version is written by inserting it; the unique index on id and version lets one writer have each number. Its ``_id``
is the write token, so that the write is found again even where the collection must gain no field.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import ClassVar

from bson import ObjectId

from model.errors import NotFound, Refused
from model.layouts import numbering, stored_form
from model.layouts.base import Layout, Stamp
from model.layouts.checks.chains import Chains, Part
from model.layouts.checks.facts import FactReader
from model.layouts.checks.own_documents import own_documents
from model.layouts.current import with_own
from model.layouts.gaps import loss, newest_first, with_gaps
from model.layouts.indexes import create_unique, is_unique
from model.layouts.newest_query import NewestQuery
from model.layouts.reserved_fields import legible, made_version, number_of, place_of, time_of, unreadable
from model.names import id_name, version_name
from model.records import Outcome, Row, Stored, Version
from model.server import guards
from model.server.retry import End, Terms, Write, run
from model.values import canonical as c
from model.values.canonical import Value

ON_ITS_WAY = "A delete that was in doubt may still arrive; look again in two minutes whether all of them are there."
TOGETHER = 50
"""Documents of a list that are read in one query."""


class OwnDocuments(Layout):
    """A layout whose versions are documents of their own."""

    own_documents = True
    stored: Stored = "document"
    newest_goes_first: ClassVar[bool] = False
    """Whether a delete begins at the newest version, because what is left would mean nothing without the oldest."""

    # --- reading

    def _of(self, id: Value, where: Terms | None = None) -> Iterator[bytes]:
        """The stored versions of exactly this document, the highest number first; only those that meet ``where``."""
        p = self.profile
        for raw in self.server.find(self.ns, {p.id: {"$eq": id}, **(where or {})}, sort={p.id: 1, p.version: -1}):
            if c.get(raw, (p.id,)) == id:
                yield raw

    def _made(self, raw: bytes, current: bool = False, contents: bool = True) -> Version:
        times = ("_id", self.profile.token)
        return made_version(raw, self.own, self.profile, self.stored, current, contents, times)

    def _newest(self, id: Value) -> bytes:
        """The stored newest version; one of a wrong type counts by its number. Raises ``NotFound``."""
        passed: list[bytes] = []
        best: bytes | None = None
        for raw in self._of(id):
            v = c.get(raw, (self.profile.version,))
            passed.append(raw)
            if v is not None and v.type in (c.INT32, c.INT64, c.DATE):
                break  # all that follow are lower
        for raw in passed:
            place = place_of(c.get(raw, (self.profile.version,)))
            if best is None or (place or 0) > (place_of(c.get(best, (self.profile.version,))) or 0):
                best = raw
        if best is None:
            raise NotFound(f"There is no document {id_name(id)} in {self.ns} any more; refresh the list.")
        return best

    def history(self, id: Value, contents: bool = False) -> Iterator[Version]:
        """The versions by number, and those that are missing."""
        found = False
        versions = self._marked(newest_first(map(self._made, self._of(id))))
        for version in with_gaps(versions, loss(self.profile), self.claim):
            found = True
            yield version if contents else replace(version, content=None, raw=None)
        if not found:
            raise NotFound(f"There is no document {id_name(id)} in {self.ns}; refresh the list.")

    def _marked(self, versions: Iterator[Version]) -> Iterator[Version]:
        """Which version is current, and which numbers are there twice."""
        first, before = True, None
        for version in versions:
            place = place_of(version.v)
            if place is not None and place == before:
                version = replace(version, state="damaged", detail="stored twice")
            yield replace(version, current=first)
            first, before = False, place

    def version(self, id: Value, v: Value | None = None) -> Version:
        """The newest version, or one by its number."""
        newest = self._newest(id)
        if v is None or _same(v, c.get(newest, (self.profile.version,))):
            return self._made(newest, current=True)
        for raw in self._of(id):
            if _same(v, c.get(raw, (self.profile.version,))):
                return self._made(raw)
        raise NotFound(f"{id_name(id)} has no version {version_name(v)} in {self.ns}.")

    @property
    def check(self) -> Chains:
        """The versions of each document, by id."""
        p = self.profile
        return Chains(self.server, p, (Part(self.ns, FactReader(self.own, p, p.id, claim=self.claim)),), own_documents)

    # --- lists

    def _row(self, raw: bytes) -> Row:
        p, readable = self.profile, not unreadable(raw)
        found = legible(raw)
        at = time_of(found.get(p.at)) or time_of(found.get("_id")) or time_of(found.get(p.token))
        return Row(found.get(p.id) or Value.of(None), found.get(p.version), at, len(raw), raw, readable)

    def page(
        self,
        filter: Terms | None = None,
        sort: Terms | None = None,
        projection: Terms | None = None,
        skip: int = 0,
        limit: int = 50,
        any_version: bool = False,
    ) -> Iterator[Row]:
        """The newest version of each document that matches; with ``any_version`` of each that ever did."""
        picked = NewestQuery(self.server, self.profile, self._newest).picked(filter, sort, any_version)
        keys = islice(picked, skip, skip + max(0, limit))
        while chunk := [c.get(raw, ("_id",)) for raw in islice(keys, TOGETHER)]:
            whole = self.server.find(self.ns, {"_id": {"$in": chunk}}, projection=with_own(projection, self.own))
            found = {c.get(raw, ("_id",)): raw for raw in whole}
            yield from (self._row(found[physical]) for physical in chunk if physical in found)

    def count(self, filter: Terms | None = None, any_version: bool = False, max_ms: int = 2000) -> int | None:
        """How many documents; grouped by the server, None where that takes too long."""
        p = self.profile
        stages: list[Terms] = []
        if filter and any_version:
            stages = [{"$match": filter}, {"$group": {"_id": f"${p.id}"}}]
        elif filter:
            stages = [
                {"$sort": {p.id: 1, p.version: -1}},
                {"$group": {"_id": f"${p.id}", "newest": {"$first": "$$ROOT"}}},
                {"$replaceRoot": {"newRoot": "$newest"}},
                {"$match": filter},
            ]
        else:
            stages = [{"$group": {"_id": f"${p.id}"}}]
        try:
            for raw in self.server.aggregate(self.ns, [*stages, {"$count": "n"}], max_ms):
                return number_of(c.get(raw, ("n",)))
        except Refused:
            return None
        return 0

    # --- writing

    def missing_index(self) -> str | None:
        """The unique index on id and version is what lets one writer have a version."""
        p = self.profile
        if is_unique(self.server, self.ns, (p.id, p.version)):
            return None
        return (
            f"{self.ns} has no unique index on {p.id} and {p.version}, so two writers could both insert the next "
            "version; create the index to write here."
        )

    def create_index(self) -> None:
        """The unique index, once duplicates are ruled out."""
        create_unique(self.server, self.ns, (self.profile.id, self.profile.version))

    def _next(self, id: Value, base: Version, stamp: Stamp) -> Value:
        p, proposed = self.profile, numbering.following(base.v, self.profile, stamp.at)
        if numbering.decides(p, base.v):
            return proposed
        if not self.claim:
            raise Refused(
                f"Numbers by {p.numbering.partition(':')[0]} do not keep two writers apart unless a version can be "
                "marked, and this collection must gain no field; number by next, or name a token in the profile."
            )
        assert base.raw is not None
        names = [name for name in (p.id, p.version) if name]
        return numbering.claimed(
            self.server, self.ns, base.raw, names, self.claim, lambda: numbering.draw(self.server, p, id, proposed)
        )

    def _foreseen_number(self, id: Value, base: Version, stamp: Stamp) -> tuple[Value | None, list[Write]]:
        raw, _ = self._check(base)
        if numbering.decides(self.profile, base.v) or not self.claim:
            return numbering.following(base.v, self.profile, stamp.at), []
        if (there := c.get(raw, (self.claim,))) is not None:
            return there, []
        v, writes = super()._foreseen_number(id, base, stamp)
        physical = c.get(raw, ("_id",))
        assert physical is not None
        where = guards.by_id(physical)
        for name in filter(None, (self.profile.id, self.profile.version)):
            where |= guards.exact(name, c.get(raw, (name,)))
        assert v is not None
        return v, [*writes, numbering.marking(self.ns, physical, where, self.claim, v)]

    @property
    def claim(self) -> str:
        """The field of a version that tells the number of the next one, where numbers alone do not decide."""
        return f"{self.profile.token}_next" if self.profile.token else ""

    def identity(self, version: Version) -> bytes:
        """Which version is the newest: whatever is changed in place, the next can be inserted behind it."""
        return c.only(version.raw or c.EMPTY, list(filter(None, ("_id", self.profile.version, self.profile.token))))

    def _overtaken(self, id: Value, base: Version) -> bool:
        """Whether the newest version is not the base any more, or was changed in place."""
        assert base.raw is not None
        try:
            newest = self._newest(id)
        except NotFound:
            return True
        return newest != base.raw and (self.version(id).content != base.content or not self._is(newest, base.raw))

    def _is(self, a: bytes, b: bytes) -> bool:
        names = filter(None, ("_id", self.profile.version, self.profile.token))
        return all(c.get(a, (name,)) == c.get(b, (name,)) for name in names)

    def landed(self, id: Value, token: ObjectId, base: Version | None = None) -> bool | None:
        """Whether a version of this write is there: it has the token as its ``_id``, or beside the version.

        None, nobody can tell, where a history has begun under an ``_id`` of its own and without a token.
        """
        if self._any(self.ns, {"_id": Value.of(token)}):
            return True
        p = self.profile
        if not self._begins():
            return False
        if p.token:
            return self._any(self.ns, guards.exact(p.id, id) | guards.exact(p.token, Value.of(token)))
        return None if self._any(self.ns, {"_id": {"$eq": _beginning(id)}}) else False

    def _begins(self) -> bool:
        """Whether a history begins under an ``_id`` of its own: where the number alone keeps no two of them apart."""
        return self.profile.numbering == "time"

    def _bears(self, raw: bytes, token: ObjectId) -> bool:
        return Value.of(token) in (c.get(raw, ("_id",)), c.get(raw, (self.profile.token or "_id",)))

    def _insert(self, id: Value, raw: bytes, stamp: Stamp, note: str) -> End:
        return run(self.server, Write(self.ns, "insert", {}, raw, note), lambda: self.landed(id, stamp.token))

    def _new_pairs(self, id: Value, stamp: Stamp, v: Value) -> list[tuple[str, Value]]:
        """The layout's own fields of a document that begins a history."""
        p = self.profile
        begins = _beginning(id) if self._begins() else Value.of(stamp.token)
        pairs = [("_id", begins), (p.id, id), (p.version, v)]
        if p.token:
            pairs.append((p.token, Value.of(stamp.token)))
        if p.at:
            pairs.append((p.at, Value.of(stamp.at)))
        return pairs

    def _own_values(self, stamp: Stamp, v: Value) -> dict[str, Value | None]:
        p = self.profile
        values: dict[str, Value | None] = {"_id": Value.of(stamp.token), p.version: v}
        if self.claim:
            values[self.claim] = None
        if p.token:
            values[p.token] = Value.of(stamp.token)
        if p.at:
            values[p.at] = Value.of(stamp.at)
        return values

    def create(self, content: bytes, id: Value | None = None, stamp: Stamp | None = None) -> Outcome:
        """Insert the first version; the unique index lets one creation win."""
        stamp = stamp or Stamp()
        id = id if id is not None else Value.of(ObjectId())
        if stamp.author and self.profile.author:
            content = c.put(content, (self.profile.author,), Value.of(stamp.author))
        try:
            if reason := self.missing_index():
                raise Refused(reason)
            if self.exists(id):
                return self._taken(id)
            v = numbering.first(self.profile, stamp.at)  # not drawn: the index must turn a second creation away
            raw = self._first_document(self._new_pairs(id, stamp, v), content)
        except Refused as error:
            return Outcome("refused", self.ns, id, str(error))
        return self._created(self._insert(id, raw, stamp, "the first version"), id, v, stamp)

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """A document for each version."""
        rows = []
        for version, v in zip(versions, stored_form.numbers(versions), strict=True):
            pairs = [("_id", stored_form.key(id, version, v)), (self.profile.id, id)]
            pairs += stored_form.stamps(self.profile, id, version, v) + self._marks(version is versions[-1])
            rows.append((self.ns, stored_form.made(pairs, stored_form.content_of(version, self.own.names))))
        return tuple(rows)

    def _marks(self, newest: bool) -> list[tuple[str, Value]]:
        """What else the layout keeps in a version, the newest or another."""
        return []

    def _first_document(self, own: list[tuple[str, Value]], content: bytes) -> bytes:
        return c.document([*own, *c.fields(content)])

    def removal(self, id: Value, base: Version) -> tuple[tuple[str, bytes], ...]:
        """Every version, oldest first."""
        return tuple((self.ns, raw) for raw in reversed(list(self._of(id))))

    def delete(
        self, id: Value, base: Version, stamp: Stamp | None = None, kept: Sequence[tuple[str, bytes]] | None = None
    ) -> Outcome:
        """Delete the versions one by one, the current one last, each guarded by its ``_id``, version and token.

        Where somebody has written another version by then, what is deleted already is put back, and where somebody
        else has deleted the rest, nothing is. One that dies on the way leaves the newest versions; deleting again goes
        on. A delete that was in doubt may still arrive after its version was put back: then the outcome is unknown.
        """
        try:
            if reason := self.writable(base):
                raise Refused(reason)
            doomed = self.removal(id, base)
            for _, raw in doomed:
                guards.physical_id(raw)  # said before anything is deleted, not half-way
            if kept is not None and set(kept) != set(doomed):
                said = f"The versions of {id_name(id)} changed while they were being kept; nothing was deleted."
                return Outcome("conflict", self.ns, id, said)
            if self._overtaken(id, base):  # after the versions were read, so that none of them is newer than the base
                return self._conflict(id, base)
            doomed = doomed[::-1] if self.newest_goes_first else doomed
        except Refused as error:
            return Outcome("refused", self.ns, id, str(error))
        gone: list[tuple[str, bytes]] = []
        on_its_way = False
        for row in doomed:
            try:
                overtaken = row is doomed[-1] and not self.newest_goes_first and self._overtaken(id, base)
            except Refused as error:
                return Outcome("unknown", self.ns, id, f"{error} {len(gone)} of {len(doomed)} versions are deleted.")
            end = End("conflict") if overtaken else self._delete_one(row[1])
            if end.kind == "applied":
                gone.append(row)
                # Gone, but perhaps by somebody else's delete, or by the second of two tries.
                on_its_way = on_its_way or end.retried or end.reply is None or end.reply.applied != "yes"
                continue
            if gone and end.kind == "conflict" and self._all_gone(id):  # what is put back now would stand alone
                said = f"{id_name(id)} is deleted; somebody else deleted it at the same time."
                return Outcome("applied", self.ns, id, said)
            back = self._restored(gone)
            if back is not None and back.kind != "applied":
                return Outcome("unknown", self.ns, id, f"{end.sentence} {len(gone)} versions are deleted.".strip())
            if gone and end.kind == "conflict" and self._alone(id, gone):
                said = f"Somebody deleted {id_name(id)} meanwhile, and only a part of it is there; delete it once more."
                return Outcome("unknown", self.ns, id, said)
            if on_its_way:
                return Outcome("unknown", self.ns, id, f"The versions of {id_name(id)} were put back. {ON_ITS_WAY}")
            return self._conflict(id, base) if end.kind == "conflict" else self._not_deleted(end, id)
        if self._still_there(id):
            back = self._restored(gone)
            said = f"Somebody wrote {id_name(id)} meanwhile; its versions were put back."
            if back is not None and back.kind != "applied":
                said = f"Somebody wrote {id_name(id)} meanwhile; {len(gone)} versions of it are deleted. {back.detail}"
            elif not on_its_way:
                return Outcome("conflict", self.ns, id, said)
            return Outcome("unknown", self.ns, id, f"{said} {ON_ITS_WAY}" if on_its_way else said)
        return Outcome("applied", self.ns, id, f"{id_name(id)} is deleted, all {len(doomed)} versions of it.")

    def _restored(self, gone: list[tuple[str, bytes]]) -> Outcome | None:
        if not gone:
            return None
        return self.put_back(gone[::-1] if self.newest_goes_first else gone)

    def _all_gone(self, id: Value) -> bool:
        try:
            return not self.exists(id)
        except Refused:
            return False

    def _alone(self, id: Value, back: list[tuple[str, bytes]]) -> bool:
        """Whether of a document only what was put back is there."""
        ours = [guards.physical_id(raw) for _, raw in back]
        try:
            return all(guards.physical_id(raw) in ours for raw in self._of(id))
        except Refused:
            return True  # nobody knows

    def _still_there(self, id: Value) -> bool:
        try:
            return self.exists(id)
        except Refused:
            return False

    def _delete_one(self, raw: bytes) -> End:
        physical = guards.physical_id(raw)
        where = guards.by_id(physical)
        for name in filter(None, (self.profile.id, self.profile.version, self.profile.token)):
            where |= guards.exact(name, c.get(raw, (name,)))
        note = f"{version_name(c.get(raw, (self.profile.version,)))} is deleted"
        # Its ``_id`` alone says nothing: where that is the beginning's, another history may have begun under it.
        return run(self.server, Write(self.ns, "delete", where, None, note), lambda: not self._any(self.ns, where))

    def _not_deleted(self, end: End, id: Value) -> Outcome:
        return Outcome(end.kind, self.ns, id, end.sentence)


def _beginning(id: Value) -> Value:
    """The ``_id`` of the version that begins a history, of which there is one whatever its number is."""
    return Value.document(c.document([("first", id)]))


def _same(a: Value, b: Value | None) -> bool:
    return a == b or (number_of(a) is not None and number_of(a) == number_of(b))
