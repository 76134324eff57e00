"""The writer of layouts with one document per version: it writes a version by inserting it.

The unique index on id and version gives each number to one writer. A version's ``_id`` is the write token, so the
write can be found again even if no field may be added. A delete inserts a tombstone: a version without content that
says so. Only a purge removes versions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from bson import ObjectId

from model.errors import NotFound, Refused
from model.foundation.records import Outcome, Version
from model.server import guards
from model.server.retry import End, Port, Terms, Write, run
from model.storage import indexes, numbering, stored_form
from model.storage.content_hashes import next_hash
from model.storage.foreign_guard import ForeignGuard
from model.storage.indexes import create_unique, is_unique
from model.storage.outcomes import Outcomes, put_back
from model.storage.outlines import is_flagged
from model.storage.reserved_fields import MARK, compose, says_deleted
from model.storage.swap_steps import Made, Stamp, SwapSteps
from model.storage.update_operators import check_size
from model.storage.version_documents import VersionDocuments
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value

ON_ITS_WAY = "A delete that was in doubt may still arrive; look again in two minutes whether all of them are there."


class States(Protocol):
    """The states of stored versions: the documents themselves, or what deltas lead to."""

    def version(self, id: Value, v: Value | None = None) -> Version:
        """One version; the newest if ``v`` is None."""

    def overtaken(self, id: Value, base: Version) -> bool:
        """Whether the newest version is no longer the base, or was changed in place."""


class VersionWriter:
    """Numbers, begins, ends and purges the versions of one collection's documents, and finds inserts in doubt.

    ``flag`` is the field that marks the newest version. A purge removes the oldest version first, or with
    ``newest_first`` the newest, for layouts whose later versions mean nothing without the oldest.
    """

    def __init__(
        self,
        server: Port,
        documents: VersionDocuments,
        states: States,
        flag: str = "",
        newest_first: bool = False,
    ) -> None:
        self._server, self._documents, self._states = server, documents, states
        self._profile, self._ns, self._claim = documents.profile, documents.ns, documents.claim
        self._flag, self._newest_first = flag, newest_first
        self.outcomes = Outcomes(self._ns, states.version, self.bears, behind=self._behind)
        self.unique = (self._profile.id, self._profile.version)

    # --- the unique index

    def missing_index(self, remembered: bool = False) -> str | None:
        """Why writing needs a unique index on id and version first, one sentence; None if it exists."""
        p = self._profile
        if is_unique(self._server, self._ns, self.unique, remembered):
            return None
        return (
            f"{self._ns} has no unique index on {p.id} and {p.version}, so two writers could both insert the next "
            "version; create the index to write here."
        )

    def create_index(self) -> None:
        """Create the unique index, unless there are duplicates."""
        create_unique(self._server, self._ns, self.unique)

    def hindrance(self, base: Version) -> str:
        """Why a unique index rejects every further version, because it allows one (or one flagged) per document."""
        # The index may be one that was dropped since it was remembered, so nothing is refused before a second look.
        return self._one_alone(base) and self._one_alone(base, again=True)

    def _one_alone(self, base: Version, again: bool = False) -> str:
        for index in indexes.others(self._server, self._ns, self.unique, again):
            same = set(index.paths) <= {self._profile.id, self._flag}
            if same and base.raw is not None and indexes.covered(index, base.raw):
                flagged = self._flag and (index.partial or self._flag in index.paths)
                one = f"version of a document have {self._flag}" if flagged else "version of a document in"
                order = f" before the old one loses {self._flag}" if flagged else ""
                return (
                    f"The unique index {index.name} lets only one {one}, and an edit inserts the new version{order}, "
                    "so no edit can be written here; drop this index."
                )
        return ""

    # --- numbers

    def number(self, id: Value, base: Version, stamp: Stamp) -> Value | None:
        """The number of the version that follows ``base``; a counter's number is then marked in the base."""
        p, proposed = self._profile, numbering.following(base.v, self._profile, stamp.at)
        if numbering.decides(p, base.v):
            return proposed
        if not self._claim:
            raise Refused(
                f"Numbers by {p.numbering.partition(':')[0]} do not keep two writers apart unless a version can be "
                "marked, and this collection must gain no field; number by next, or name a token in the profile."
            )
        assert base.raw is not None
        names = [name for name in (p.id, p.version) if name]
        return numbering.claimed(
            self._server, self._ns, base.raw, names, self._claim, lambda: numbering.draw(self._server, p, id, proposed)
        )

    def foreseen_number(self, id: Value, base: Version, stamp: Stamp) -> tuple[Value | None, list[Write]]:
        """The number that the next version would get now, and the writes that assign it."""
        p, raw = self._profile, base.raw or c.EMPTY
        proposed = numbering.following(base.v, p, stamp.at)
        if numbering.decides(p, base.v) or not self._claim:
            return proposed, []
        if (there := c.get(raw, (self._claim,))) is not None:
            return there, []
        v, drawing = numbering.drawing(self._server, p, id, proposed)
        where = guards.unchanged(raw, (p.id, p.version))
        marking = numbering.marking(self._ns, guards.physical_id(raw), where, self._claim, v)
        return v, [*([drawing] if drawing is not None else []), marking]

    def first_number(self, id: Value, stamp: Stamp) -> Value | None:
        """The number of a new document's first version: never drawn, as the index must reject a second creation."""
        return numbering.first(self._profile, stamp.at)

    # --- a version to come

    def prepared(self, id: Value, base: Version) -> Outcome | None:
        """The conflict if the base is no longer the newest version; None if it is."""
        return self.outcomes.conflict(id, base) if self._states.overtaken(id, base) else None

    def own_values(self, stamp: Stamp, v: Value) -> dict[str, Value | None]:
        """The values of the layout's own fields for a version that follows another."""
        p = self._profile
        values: dict[str, Value | None] = {"_id": Value.of(stamp.token), p.version: v}
        if self._claim:
            # The mark in the base is about this very version, which begins without one.
            values[self._claim] = None
        return values | self._documents.own.stamped(stamp)

    def insertion(self, base: bytes, content: bytes, values: Mapping[str, Value | None], v: Value) -> SwapSteps:
        """The insert of the version that follows the stored ``base``, with these own values."""
        sets, name = dict(values), self._profile.hash
        if name and (stored := c.get(base, (name,))) is not None:
            sets[name] = next_hash(content, self._profile, self._documents.own.content(base), stored)
        new = compose(base, self._documents.own.names, content, sets)
        return self.inserted(new, f"{version_name(v)} is inserted")

    def _behind(self, base: Version) -> str:
        """That the version before an inserted one was removed meanwhile, one sentence; "" if it stands.

        An insert cannot be guarded by another document. The new version stays: a retention that saw it may have been
        what removed the base, and then nothing else is left of the document.
        """
        with contextlib.suppress(Refused):
            if base.raw is not None and not self.stands(base.raw):
                return (
                    f"{version_name(base.v)}, which it follows, was removed meanwhile; if {self._ns} is being moved "
                    "to another layout, move it once more."
                )
        return ""

    def inserted(self, new: bytes, note: str) -> SwapSteps:
        """The insert of a stored version; raises ``Refused`` if it is too large."""
        check_size(new)
        return SwapSteps(Write(self._ns, "insert", {}, new, note, self.unique), lambda: new)

    # --- a new document

    def occupied(self, id: Value) -> bool:
        """Whether there is a document with this id that is not deleted."""
        return self._documents.exists(id) and self.ended(id) is None

    def ended(self, id: Value) -> Version | None:
        """The newest version if it is a tombstone, else None."""
        try:
            last = self._documents.made(self._documents.newest(id))
        except NotFound:
            return None
        return last if last.deleted else None

    def new_document(self, id: Value, content: bytes, stamp: Stamp, v: Value | None) -> bytes:
        """The stored document of a first version."""
        p = self._profile
        begins = _beginning(id) if self._derives_first_id() else Value.of(stamp.token)
        assert v is not None
        pairs = [("_id", begins), (p.id, id), (p.version, v)]
        pairs += [(name, value) for name, value in self._documents.own.stamped(stamp).items() if value is not None]
        pairs += ForeignGuard(p).first(self._server).items()
        flag = [(self._flag, Value.of(True))] if self._flag else []
        return c.document([*pairs, *c.fields(content), *flag])

    def _derives_first_id(self) -> bool:
        """Whether first versions get a derived ``_id``, because the number alone does not prevent two beginnings."""
        return self._profile.numbering == "time"

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """A document for each version, oldest first, as it is stored in a collection of this layout."""
        rows = []
        for version, v in zip(versions, stored_form.numbers(versions), strict=True):
            pairs = [("_id", stored_form.key(id, version, v)), (self._profile.id, id)]
            pairs += stored_form.stamps(self._profile, id, version, v)
            if self._flag and version is versions[-1]:
                pairs.append((self._flag, Value.of(True)))
            rows.append((self._ns, stored_form.made(pairs, self.content_as_stored(version))))
        return tuple(rows)

    def content_as_stored(self, version: Version) -> bytes:
        """The content of a version that is moved here; a tombstone's is its marker."""
        p = self._profile
        if version.deleted and p.deleted:
            return c.document([(p.deleted, MARK)])
        content = stored_form.content_of(version, self._documents.own.names)
        if says_deleted(content, p):
            raise Refused(
                f"{version_name(version.v)} holds nothing but {p.deleted}, which would say that it is deleted."
            )
        return content

    # --- did mine land?

    def asks(
        self, id: Value, stamp: Stamp, made: Made, base: Version | None = None
    ) -> Callable[[], bool | None] | None:
        """The question whether an insert in doubt landed."""
        return lambda: self.landed(id, stamp.token)

    def landed(
        self, id: Value, token: ObjectId, base: Version | None = None, content: bytes | None = None
    ) -> bool | None:
        """Whether a version of this write is there: it has the token as its ``_id``, or beside the version.

        None if nobody can tell: a history without tokens began with a derived ``_id``, or the base is gone and may
        have been purged together with its successor.
        """
        p, any = self._profile, self._documents.any
        if any({"_id": Value.of(token)}):
            return True
        if (
            self._derives_first_id()
            and p.token
            # Together with the document's id, which has an index; tokens have none.
            and any(guards.exact(p.id, id) | guards.exact(p.token, Value.of(token)))
        ):
            return True
        if self._derives_first_id() and not p.token and any({"_id": {"$eq": _beginning(id)}}):
            return None
        purged = base is not None and not any(guards.exact(p.id, id) | guards.exact(p.version, base.v))
        return None if purged else False

    def bears(self, raw: bytes, token: ObjectId) -> bool:
        """Whether a stored version has this token."""
        return Value.of(token) in (c.get(raw, ("_id",)), c.get(raw, (self._profile.token or "_id",)))

    # --- deleting

    def undeletable(self, base: Version) -> str:
        """Why no tombstone can follow ``base``, one sentence; "" if one can."""
        if base.deleted:
            return f"It is deleted already, as {version_name(base.v)}; only a purge removes its versions too."
        if not self._profile.deleted:
            return (
                f"A delete keeps all versions and inserts one that says so, and the profile has no marker for that in "
                f"{self._ns}; name one (deleted), or purge the document."
            )
        return self.hindrance(base)

    def tombstone(self, base: Version, stamp: Stamp, v: Value | None) -> SwapSteps:
        """The insert of version ``v``, which says that the document was deleted after ``base``, and by whom."""
        p, raw = self._profile, base.raw
        assert raw is not None
        v = v or numbering.following(base.v, p, stamp.at)
        # A tombstone has no content: neither a hash of it nor removed paths.
        values: dict[str, Value | None] = {name: None for name in (p.hash, p.removed) if name}
        values |= self.own_values(stamp, v)
        if self._flag:
            flag = c.get(raw, (self._flag,))
            values[self._flag] = flag if is_flagged(flag) else MARK
        new = compose(raw, self._documents.own.names, c.EMPTY, values | {p.deleted: MARK})
        return self.inserted(new, f"{version_name(v)} is inserted, which says that the document is deleted")

    def removal(self, id: Value, base: Version) -> tuple[tuple[str, bytes], ...]:
        """Empty: a delete keeps every version."""
        return ()

    def delete(self, id: Value, base: Version, stamp: Stamp) -> Outcome:
        """Insert a tombstone after ``base``, as a swap inserts a version; nothing is removed."""
        v = self.number(id, base, stamp)
        steps = self.tombstone(base, stamp, v)
        if held := indexes.held(self._server, self._profile, id, steps.made, None, self.unique, several=True):
            return self.outcomes.hindered(id, base, held)
        if stopped := self.prepared(id, base):
            return stopped
        end = run(self._server, steps.decides, self.asks(id, stamp, steps.made, base))
        return self.outcomes.buried(end, id, base, stamp, v)

    # --- purging

    def all_stored(self, id: Value, base: Version) -> tuple[tuple[str, bytes], ...]:
        """Every (ns, stored version), oldest first."""
        return tuple((self._ns, raw) for raw in reversed(list(self._documents.of(id))))

    def purge(self, id: Value, base: Version, stamp: Stamp, kept: Sequence[tuple[str, bytes]] | None = None) -> Outcome:
        """Remove the versions one by one, the newest last, each guarded by its ``_id``, version and token.

        If somebody has written another version meanwhile, removed versions are put back; not if somebody else has
        removed the others. A purge that dies half-way leaves the newest versions; another purge continues. A removal
        in doubt may still arrive after its version was put back: then the outcome is unknown.
        """
        doomed = self.all_stored(id, base)
        for _, raw in doomed:
            guards.physical_id(raw)  # raises now, not after half of the versions are deleted
        if kept is not None and set(kept) != set(doomed):
            said = f"The versions of {id_name(id)} changed while they were being kept; nothing was removed."
            return Outcome("conflict", self._ns, id, said)
        if stopped := self.prepared(id, base):  # checked after reading the versions, so none is newer than the base
            return stopped
        doomed = doomed[::-1] if self._newest_first else doomed
        gone: list[tuple[str, bytes]] = []
        on_its_way = False
        for row in doomed:
            try:
                # One more look before the newest goes: until then, all can be put back below what somebody wrote
                # meanwhile.
                overtaken = row is doomed[-1] and not self._newest_first and self._states.overtaken(id, base)
            except Refused as error:
                return Outcome("unknown", self._ns, id, f"{error} {len(gone)} of {len(doomed)} versions are deleted.")
            end = End("conflict") if overtaken else self._delete_one(row[1])
            if end.kind == "applied":
                gone.append(row)
                # It is gone, but perhaps by somebody else's delete, or by the second of two tries.
                on_its_way = on_its_way or end.retried or end.reply is None or end.reply.applied != "yes"
                continue
            return self._purge_stopped(id, base, end, gone, on_its_way)
        if self._still_there(id):
            return self._followed(id, gone, on_its_way)
        return Outcome("applied", self._ns, id, f"{id_name(id)} is purged, all {len(doomed)} versions of it.")

    def _purge_stopped(
        self, id: Value, base: Version, end: End, gone: list[tuple[str, bytes]], on_its_way: bool
    ) -> Outcome:
        """The end of a purge that could not remove a version: tries to put back those ``gone`` by then."""
        lost = bool(gone) and end.kind == "conflict"
        if lost and self._all_gone(id):  # versions that are put back now would be alone
            said = f"{id_name(id)} is deleted; somebody else deleted it at the same time."
            return Outcome("applied", self._ns, id, said)
        back = self._restored(gone)
        if back is not None and back.kind != "applied":
            return Outcome("unknown", self._ns, id, f"{end.sentence} {len(gone)} versions are deleted.".strip())
        if lost and self._is_complete(id, gone):
            said = f"Somebody deleted {id_name(id)} meanwhile, and only a part of it is there; delete it once more."
            return Outcome("unknown", self._ns, id, said)
        if on_its_way:
            return Outcome("unknown", self._ns, id, f"The versions of {id_name(id)} were put back. {ON_ITS_WAY}")
        if end.kind == "conflict":
            return self.outcomes.conflict(id, base)
        return Outcome(end.kind, self._ns, id, end.sentence)

    def _followed(self, id: Value, gone: list[tuple[str, bytes]], on_its_way: bool) -> Outcome:
        """The end of a purge after which another version exists: puts back those gone below it."""
        back = self._restored(gone)
        said = f"Somebody wrote {id_name(id)} meanwhile; its versions were put back."
        if back is not None and back.kind != "applied":
            said = f"Somebody wrote {id_name(id)} meanwhile; {len(gone)} versions of it are deleted. {back.detail}"
        elif not on_its_way:
            return Outcome("conflict", self._ns, id, said)
        return Outcome("unknown", self._ns, id, f"{said} {ON_ITS_WAY}" if on_its_way else said)

    def written_since(self, removed: Sequence[tuple[str, bytes]]) -> Outcome | None:
        """The conflict if a purged document has a version that it did not have then; None if it has none.

        Either its id was used again, or somebody continued a part that was already put back: the removed versions
        would end up among versions that do not follow them.
        """
        (_, first) = removed[0]
        id = c.get(first, (self._profile.id,))
        assert id is not None
        names = [name for name in ("_id", self._profile.version, self._profile.token) if name]

        def key(raw: bytes) -> tuple[Value | None, ...]:
            return tuple(c.get(raw, (name,)) for name in names)

        ours = {key(raw) for _, raw in removed}
        try:
            if all(key(raw) in ours for raw in self._documents.of(id)):
                return None
        except Refused as error:
            return Outcome("refused", self._ns, id, str(error))
        return Outcome("conflict", self._ns, id, f"{id_name(id)} was written again since; nothing more was put back.")

    def _restored(self, gone: list[tuple[str, bytes]]) -> Outcome | None:
        if not gone:
            return None
        return put_back(self._server, self._profile, gone[::-1] if self._newest_first else gone, self.unique)

    def _all_gone(self, id: Value) -> bool:
        try:
            return not self._documents.exists(id)
        except Refused:
            return False

    def _is_complete(self, id: Value, back: list[tuple[str, bytes]]) -> bool:
        """Whether a document has only the versions that were put back."""
        ours = [guards.physical_id(raw) for _, raw in back]
        try:
            return all(guards.physical_id(raw) in ours for raw in self._documents.of(id))
        except Refused:
            return True  # unknown

    def _still_there(self, id: Value) -> bool:
        try:
            return self._documents.exists(id)
        except Refused:
            return False

    def stands(self, raw: bytes) -> bool:
        """Whether a stored version exists.

        Its ``_id`` alone proves nothing: if it was derived for a first version, another history may have begun with
        it.
        """
        return self._documents.any(self._just(raw))

    def _just(self, raw: bytes) -> Terms:
        """The filter for exactly one stored version, by its ``_id``, document, version and token."""
        return guards.unchanged(raw, (self._profile.id, self._profile.version, self._profile.token))

    def _delete_one(self, raw: bytes) -> End:
        where = self._just(raw)
        note = f"{version_name(c.get(raw, (self._profile.version,)))} is deleted"
        return run(self._server, Write(self._ns, "delete", where, None, note), lambda: not self._documents.any(where))


def _beginning(id: Value) -> Value:
    """The ``_id`` of the first version of a history; there is one per document, whatever its number."""
    return Value.document(c.document([("first", id)]))
