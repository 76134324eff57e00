"""``archive``: the current version in one collection, earlier ones in a second.

Stored: ``{_id, v, …}`` in the collection; ``{_id: <own>, docId, v, …}`` in the archive, which holds the versions
below the current one. Indexes: ``_id``, and in the archive a unique one on the document's id and version, without
which nothing is written.

The swap, step by step:

1. The current document was read; it is read again, so that an overtaken edit leaves nothing behind. If the collection
   has a validator, the server is asked whether the new document meets it, for the same reason.
2. It is inserted into the archive with its id and version. If that place is taken, the row there is read. Equal
   content is what a dead or concurrent writer left, and serves as well; other content is never overwritten, the edit
   is refused. (An insert, not an upsert with ``$setOnInsert``: servers add those fields in an order of their own, and
   the archived version would differ from the original.)
3. A row above the current version would later be in the way of a version with that number: refused.
4. The current document is swapped: filter ``_id``, version and token, by type; operators name only the changes.
5. In doubt the token is searched in the current document and in the archive. If it is nowhere and the next version
   has another one: not applied. Else the swap is sent once more; if doubt remains, the outcome is unknown.

Crash points: after 2 the archive holds the current version too (A1), and the next edit absorbs that in its own step
2; after 4 everything has happened. An edit in place between the two makes the row differ (A2): a person decides.

Creating inserts the current document, numbered above archived rows of an earlier life of its id, then looks there
again: if somebody created and deleted this id in between, the new document is renumbered above that life too.
Deleting archives the document first, then deletes it with the same guard; the archive stays. A deleted document is
put back unless its id has been used and deleted again since: below those rows nobody could edit it, and above them
the history would be another document's. A purge deletes the document like this, then removes the archive's rows,
oldest first. One that dies half-way leaves a deleted document with its newest versions; another purge continues.
Undoing a purge puts the rows back below a document created meanwhile, unless that document started from number 1.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from model.errors import NotFound, Refused
from model.foundation.records import Outcome, Version
from model.layouts.archive_reader import ArchiveReader
from model.layouts.base import Layout
from model.server import guards
from model.server.retry import End, Port, Terms, Write, run
from model.storage import document_ids, numbering, update_operators
from model.storage.current_documents import CurrentDocuments
from model.storage.current_writer import CurrentWriter, Landing, VersionGuard, guarded_besides
from model.storage.indexes import create_unique, is_unique
from model.storage.outcomes import put_back
from model.storage.reserved_fields import number_of, own_of, place_of
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value

if TYPE_CHECKING:
    from model.checks.chains import Chains
    from model.foundation.collection_profile import CollectionProfile
    from model.recognition.sampling import Proposal, Sample
    from model.storage.swap_steps import Stamp, SwapSteps

GONE = ("applied", "conflict")
"""The outcomes of removing a row after which it is gone, removed by this writer or by somebody else."""


JUST_READ = 0.5
"""Seconds for which a base that was read for this very write is not looked at again before it is archived."""


class Archive(Layout):
    """Current documents, with an archive that this layout writes itself."""

    name = "archive"
    about = "earlier versions in a second collection"
    where = "earlier versions in {archive}"
    roles = ("id", "version", "token", "archive", "archive_id")
    defaults: ClassVar[Mapping[str, str]] = {"archive": "{ns}_history"}
    lacks = "no field with a whole number was found in it."

    archive: ArchiveReader

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        super().__init__(server, profile)
        self.own = own_of(profile)
        self._current = CurrentDocuments(server, profile, self.own)
        self.reader = self.archive = ArchiveReader(self._current, self.holds_current)
        landing = Landing(self.archive.landed_before, history=self.archive.history, lags=self.holds_current)
        self._guard = VersionGuard(self._current)
        self.writer = self._writer = CurrentWriter(server, self._current, self._guard, landing)

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The likeliest second collection, else one that the first edit will create."""
        from model.recognition import find_archives

        return find_archives.picked(server, sample, others, find_archives.EARLIER) or find_archives.to_be_made(
            sample, cls.name, cls.defaults
        )

    @property
    def check(self) -> Chains:
        """Checks current documents and archive rows, joined by id."""
        return self.archive.check

    def missing_index(self, remembered: bool = False) -> str | None:
        """Why writing needs the archive's unique index first, one sentence; None if it exists."""
        p = self.profile
        if is_unique(self.server, self.archive.ns, (p.archive_id, p.version), remembered):
            return None
        return (
            f"{self.archive.ns} has no unique index on {p.archive_id} and {p.version}, so two writers could archive "
            "one version twice; create the index to write here."
        )

    def create_index(self) -> None:
        """Create the unique index on the archive, unless there are duplicates."""
        create_unique(self.server, self.archive.ns, (self.profile.archive_id, self.profile.version))

    # --- writing

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> SwapSteps:
        """The insert into the archive, then the swap."""
        raw, _ = self._check(base)
        v = v or numbering.following(base.v, self.profile, stamp.at)
        values = self._writer.own_values(raw, content, stamp, v)
        row = self._row_for(id, raw, stamp)
        copy = self._archiving(row, f"{version_name(base.v)} is archived")
        # Replaced values are compared before the archiving: a swap that failed because of them would leave a row that
        # differs from the document.
        return replace(self._writer.swap(base, content, values, replaced=False), before=(copy,), read_at=stamp.read_at)

    def explain(self, base: Version) -> str:
        """The order of the two writes, and the guard."""
        also = guarded_besides(self.profile)
        archive = self.archive.ns.partition(".")[2] or self.archive.ns
        return (
            f"First {version_name(base.v)} is copied to {archive}. "
            f"The swap then applies only if {self.profile.version} is still {_plain(base.v)}{also}."
        )

    def _row_for(self, id: Value, raw: bytes, stamp: Stamp) -> bytes:
        if self.archive.names_itself(raw):
            raise Refused(
                f"{id_name(id)} has a field {self.profile.archive_id} of its own, in which {self.archive.ns} keeps the "
                "document's id, so no version of it can be archived; name archive_id otherwise in a profile."
            )
        return self.archive.row_of(Value.of(stamp.row), id, raw)

    def _archiving(self, row: bytes, note: str) -> Write:
        return Write(self.archive.ns, "insert", {}, row, note, (self.profile.archive_id, self.profile.version))

    def _prepared(self, steps: SwapSteps, id: Value, base: Version, content: bytes) -> Outcome | None:
        """Archive the base, unless it is no longer current."""
        (copy,) = steps.before
        # Most lost races end at this look, before anything is written; the others end at the guard of the swap.
        if time.monotonic() - steps.read_at > JUST_READ and (met := self._overtaken(id, base, content)):
            return met
        return self._archived(copy, id, base)

    def _swapped(self, outcome: Outcome, content: bytes, stamp: Stamp) -> Outcome:
        """The outcome, with the copy that a rejected swap leaves: to remove it could take it from another writer."""
        if outcome.kind != "refused":
            return outcome
        left = f"The copy of this version that was made first is in {self.archive.ns}; the next edit uses it."
        return replace(outcome, detail=f"{outcome.detail} {left}")

    def _moved(self, now: bytes, base: Version) -> bool:
        assert base.raw is not None
        if not self.own.token and self.content(now) != base.content:
            return True
        # A token changes with every write of ours, so the content is only compared where there is none.
        names = filter(None, (self.own.version, self.own.token, self.own.hash, *self.profile.lock_names))
        return any(c.get(now, (name,)) != c.get(base.raw, (name,)) for name in names)

    def _touched(self, now: bytes, base: Version, content: bytes) -> bool:
        """Whether a value that the edit replaces was changed in place since it was read."""
        if now == base.raw:
            return False
        edit = update_operators.operators(base.content or c.EMPTY, content)
        if edit is None:
            return True
        here = self.content(now)
        # Other fields may have changed in place: operators leave them alone, and the guard names only what they
        # replace.
        return any(c.get(here, tuple(path.split("."))) != value for path, value in edit.before.items())

    def _archived(self, write: Write, id: Value, base: Version) -> Outcome | None:
        """Insert the base into the archive; None once it is there and nothing stands above it."""
        # With dates or a counter, a new document may be about to be renumbered above an earlier life of its id. With
        # other numbering, its own number is taken there.
        if not numbering.decides(self.profile, base.v) and (stopped := self._phantom(id, base)):
            return stopped
        end = run(self.server, write, lambda: self._row_of(id, base) is not None)
        if end.kind in ("refused", "unknown"):
            sure = "nothing was changed" if end.kind == "refused" else "at most a copy is in the archive"
            raise Refused(f"{version_name(base.v)} could not be archived, so {sure}. {end.sentence}".strip())
        # After a retry, the row that is there may be somebody else's, so it is read again.
        new = end.kind == "applied" and not end.retried and end.reply is not None and end.reply.applied == "yes"
        row = write.body if new and isinstance(write.body, bytes) else self._row_of(id, base)
        if row is None:
            raise Refused(f"{version_name(base.v)} could not be found in {self.archive.ns}, so nothing was changed.")
        if self.archive.own.content(row) != base.content:
            return self._overtaken(id, base) or self.writer.outcomes.refused(
                id,
                f"{self.archive.ns} already holds another {version_name(base.v)} of {id_name(id)}, and history is "
                "never overwritten: the document was edited in place. Save it as a new document, or settle it in "
                "Repairs.",
            )
        return self._phantom(id, base)

    def _phantom(self, id: Value, base: Version) -> Outcome | None:
        """The refusal if the archive holds a version above the base, else None."""
        p = self.profile
        # Numbers of all types compare with each other, but not with dates: a row with another kind of version is not
        # found.
        above = guards.exact(p.archive_id, id) | {p.version: {"$gt": base.v}}
        phantom = next(iter(self.server.find(self.archive.ns, above, projection={p.version: 1}, limit=1)), None)
        if phantom is None:
            return None
        number = version_name(c.get(phantom, (p.version,)))
        return self._overtaken(id, base) or self.writer.outcomes.refused(
            id,
            f"{self.archive.ns} holds {number}, above the current {version_name(base.v)}: a phantom that an edit must "
            "not overwrite. Settle it in Repairs first.",
        )

    def _overtaken(self, id: Value, base: Version, content: bytes | None = None) -> Outcome | None:
        """The conflict if somebody else's write was applied; None if the base is still current.

        With ``content`` also if a value that it replaces was changed in place.
        """
        try:
            now = self._current.raw(id)
            overtaken = self._moved(now, base) or (content is not None and self._touched(now, base, content))
        except NotFound:
            # Deleted since: the conflict that follows says so.
            overtaken = True
        return self.writer.outcomes.conflict(id, base) if overtaken else None

    def _row_of(self, id: Value, base: Version) -> bytes | None:
        """The archive's row of the base's version."""
        p = self.profile
        for raw in self.server.find(self.archive.ns, {p.archive_id: {"$eq": id}, p.version: {"$eq": base.v}}):
            # A server finds 1, 1.0 and a Decimal128 of 1 equal; the row has to be of exactly this id.
            if c.get(raw, (p.archive_id,)) == id:
                return raw
        return None

    # --- creating and deleting

    def _first_number(self, id: Value, content: bytes, stamp: Stamp) -> Value | None:
        return numbering.draw(self.server, self.profile, id, self.archive.above_archive(id, stamp))

    def follows(self, id: Value, base: Version) -> Version | None:
        """The newest archived version; the base if it is newer and was read."""
        archived = self.archive.newest(id)
        if base.raw is None or base.content is None or base.v is None:
            return archived
        # A document deleted by another program was not archived first, so its last version is only known to who read
        # it.
        newer = archived is None or (place_of(base.v) or 0) > (place_of(archived.v) or 0)
        return base if newer else archived

    def _resumed(self, steps: SwapSteps, id: Value, base: Version) -> Outcome | None:
        (copy,) = steps.before
        return self._archived(copy, id, base)

    def _created(self, outcome: Outcome, content: bytes, stamp: Stamp) -> Outcome:
        """Renumber the new document above a life of its id that ended in the archive meanwhile."""
        if outcome.kind != "applied" or outcome.id is None or outcome.version is None:
            return outcome
        try:
            try:
                return self._raised(outcome, outcome.id, outcome.version, stamp)
            except Refused:  # tried again, because a failed read rarely fails twice
                return self._raised(outcome, outcome.id, outcome.version, stamp)
        except Refused as error:
            said = f"{outcome.detail} {self.archive.ns} could not be looked at again: {error}"
            return replace(outcome, detail=said)

    def _raised(self, created: Outcome, id: Value, v: Value, stamp: Stamp) -> Outcome:
        """The outcome of a creation, with the document renumbered above every archive row unless it changed since."""
        try:
            raw = self._current.raw(id)
        except NotFound:
            return created
        # Somebody has edited it already, and each edit looks at the archive itself.
        if c.get(raw, (self.profile.version,)) != v or (
            self.profile.token and not self._current.bears(raw, stamp.token)
        ):
            return created
        if not self._later_life(id, raw):
            return created
        higher = numbering.draw(self.server, self.profile, id, self.archive.above_archive(id, stamp))
        write = Write(
            self.ns,
            "update",
            guards.by_id(guards.physical_id(raw)) | self._guard.clauses(self._current.made(raw)),
            {"$set": {self.profile.version: higher, **self.foreign.moved(raw)}},
            "the new document is numbered above an earlier life",
        )
        end = run(self.server, write, lambda: c.get(self._current.raw(id), (self.profile.version,)) == higher)
        if end.kind == "applied":
            return replace(created, version=higher, detail=f"Created as {version_name(higher)}. {end.sentence}".strip())
        if end.kind == "conflict":
            return created
        said = f"{self.archive.ns} holds a {version_name(v)} of an earlier life; settle that in Repairs."
        return replace(created, detail=f"{created.detail} {said}")

    def _later_life(self, id: Value, raw: bytes) -> bool:
        """Whether the archive has another version at this current document's number or above.

        Its own row does not count: the one with its token, or without tokens with its content.
        """
        p = self.profile
        above = guards.exact(p.archive_id, id) | {p.version: {"$gte": c.get(raw, (p.version,))}}
        # Two are enough: the unique index allows one row with the number, and it may be this document's own.
        rows = self.server.find(self.archive.ns, above, sort={p.version: 1}, limit=2)
        return not all(self.archive.is_copy(row, raw) for row in rows)

    def _another_life(self, id: Value, raw: bytes, removed: Sequence[tuple[str, bytes]]) -> bool:
        """Whether archive rows below a document that is to be put back belong to another life of its id.

        Its own archive holds the copy that the delete made, or after a purge only rows that are put back too.
        """
        # Compared byte by byte: a row that was rewritten since is not the one that was removed.
        ours = {row for _, row in removed}
        for row in self.archive.rows_of(id, {self.profile.version: {"$lte": c.get(raw, (self.profile.version,))}}):
            if self.archive.is_copy(row, raw):
                return False
            if row not in ours:
                return True
        return False

    def is_purged(self, id: Value) -> bool:
        """Whether even the copy is gone that a delete makes of the last version."""
        return next(self.archive.rows_of(id), None) is None

    def put_back(self, removed: Sequence[tuple[str, bytes]]) -> Outcome:
        """Insert the document again, then the archive rows that a purge removed with it.

        ``conflict`` if another life of its id has ended in the archive since.
        """
        (ns, raw) = removed[0]
        if ns == self.archive.ns:
            id = c.get(raw, (self.profile.archive_id,))
            assert id is not None
            return self._restored(id, removed)
        physical = guards.physical_id(raw)
        id = document_ids.id_of(raw, self.profile.id) or physical
        later = self.archive.lived_again(id)
        try:
            if self._later_life(id, raw) or self._another_life(id, raw, removed):
                return later
        except Refused as error:
            return Outcome("refused", self.ns, id, str(error))
        back = super().put_back(removed)
        if back.kind not in ("applied", "unknown"):
            return back
        try:
            # Looked at again: another life of the id may have ended in the archive since the first look.
            if not self._later_life(id, raw) and not self._another_life(id, raw, removed):
                return back
            there = self._current.made(raw)
            where = guards.by_id(physical) | self._guard.clauses(there)
            write = Write(self.ns, "delete", where, None, "what was put back below a later life")
            # The rows go first: left behind without their document, they would pass for rows of the later life.
            left = self._taken_out([row for _, row in removed[1:]])
            end = left or run(self.server, write, lambda: self._writer.gone(id, there))
        except Refused as error:
            return replace(back, detail=f"{back.detail} {self.archive.ns} could not be looked at again: {error}")
        if end.kind == "applied":
            return later
        said = f"{self.archive.ns} holds a later life, below which nobody can edit it; settle that in Repairs."
        return replace(back, detail=f"{back.detail} {said}")

    def _restored(self, id: Value, removed: Sequence[tuple[str, bytes]]) -> Outcome:
        """Insert a purge's rows again, unless the id is in use again."""
        try:
            if self._current.exists(id):
                return self._begun_again(id)
            return self._rows_back(id, [raw for _, raw in removed])
        except Refused as error:
            return Outcome("refused", self.ns, id, str(error))

    def _begun_again(self, id: Value) -> Outcome:
        said = f"{id_name(id)} was created again since; none of its versions were put back."
        return Outcome("conflict", self.ns, id, said)

    def _rows_back(self, id: Value, rows: Sequence[bytes]) -> Outcome:
        """Insert removed rows again; ``conflict``, with none of them inserted, if the id is in use again.

        A document created while they were gone starts from number 1, so the rows would be in its way.
        """
        p = self.profile
        # They may come in any order, and only the newest says below which number nobody may have begun.
        newest = max(rows, key=lambda raw: place_of(c.get(raw, (p.version,))) or 0)
        ours = set(rows)
        below = self.archive.rows_of(id, {p.version: {"$lte": c.get(newest, (p.version,))}})
        if self._is_begun_beside(id, newest) or any(row not in ours for row in below):
            return self._begun_again(id)
        removed = [(self.archive.ns, raw) for raw in rows]
        back = put_back(self.server, p, removed, (p.archive_id, p.version))
        # Looked at again: somebody may have created the document while its rows were inserted.
        if not self._is_begun_beside(id, newest):
            return back
        if (left := self._taken_out(rows)) is not None:
            return replace(back, kind="unknown", detail=f"{back.detail} {left.sentence}".strip())
        return self._begun_again(id)

    def _taken_out(self, rows: Sequence[bytes]) -> End | None:
        """Remove rows that were put back; the outcome of the first that may remain, None if none does."""
        # In the reverse of the order in which they were inserted, so that what stays after a failure has no gap in it.
        ends = (self._remove_row(raw) for raw in reversed(rows))
        return next((end for end in ends if end.kind not in GONE), None)

    def _is_begun_beside(self, id: Value, newest: bytes) -> bool:
        """Whether there is a current document that is neither the version of this row nor numbered above it."""
        try:
            raw = self._current.raw(id)
        except NotFound:
            return False
        here, there = (place_of(c.get(each, (self.profile.version,))) or 0 for each in (raw, newest))
        return here <= there and not self.archive.is_copy(newest, raw)

    def _delete(self, id: Value, base: Version, stamp: Stamp) -> Outcome:
        raw, _ = self._check(base)
        # Made first, because it refuses a document that no filter can guard: nothing may be archived then.
        deletion = self._writer.deletion(base)
        row = self._row_for(id, raw, stamp)
        copy = self._archiving(row, "the last version is archived")
        stopped = self._overtaken(id, base) or self._archived(copy, id, base)
        return stopped or self._writer.send_deletion(deletion, id, base, stamp)

    # --- purging

    def purgeable(self, version: Version) -> str:
        """Why a document may not be purged; a deleted one is purged from the newest version in the archive."""
        return super().purgeable(version) if version.current else self.missing_index() or ""

    def all_stored(self, id: Value, base: Version) -> tuple[tuple[str, bytes], ...]:
        """The current document, if there is one, and all its archive rows, oldest first."""
        rows = [(self.archive.ns, raw) for raw in self.archive.rows_of(id)]
        return (*(self.writer.removal(id, base) if base.current else ()), *reversed(rows))

    def _purge(self, id: Value, base: Version, stamp: Stamp, kept: Sequence[tuple[str, bytes]] | None) -> Outcome:
        doomed = self.all_stored(id, base)
        # What is not in the journal could not be undone.
        if kept is not None and set(kept) != set(doomed):
            said = f"The versions of {id_name(id)} changed while they were being kept; nothing was removed."
            return Outcome("conflict", self.ns, id, said)
        if not doomed:
            return Outcome("conflict", self.ns, id, f"{id_name(id)} was purged meanwhile; nothing was removed.")
        if base.current:
            outcome = self._delete(id, base, stamp)
            if outcome.kind != "applied":
                return outcome
        # There was no current document when the purge was confirmed: this one has another history.
        elif self._current.exists(id):
            said = f"{id_name(id)} was created again; nothing was removed."
            return Outcome("conflict", self.ns, id, said)
        try:
            return self._without_rows(id, base, [raw for ns, raw in doomed if ns == self.archive.ns])
        except Refused as error:
            return Outcome("unknown", self.ns, id, f"{id_name(id)} is deleted, some of its versions are left. {error}")

    def _without_rows(self, id: Value, base: Version, kept: Sequence[bytes]) -> Outcome:
        """Remove the rows in ``kept``, and the copy of the base that a delete has made."""
        gone: list[bytes] = []
        again = "purge it once more"
        # The oldest goes first: as long as the newest is there, a purge that stopped can be run again.
        for raw in reversed(list(self.archive.rows_of(id))):
            copy = c.get(raw, (self.profile.version,)) == base.v and self.archive.own.content(raw) == base.content
            if raw not in kept and not copy:
                said = f"{id_name(id)} is deleted, and somebody archived another version of it meanwhile; {again}."
                return Outcome("unknown", self.ns, id, said)
            end = self._remove_row(raw)
            if end.kind not in GONE:
                said = f"{id_name(id)} is deleted, and some of its versions are left; {again}. {end.sentence}"
                return Outcome("unknown", self.ns, id, said.strip())
            gone.append(raw)
        if self._current.exists(id):
            # A creation that found the rows is numbered above them and needs them; one that found none has begun from
            # number 1.
            back = self._rows_back(id, gone) if gone else self._begun_again(id)
            if back.kind == "conflict":
                return Outcome("applied", self.ns, id, f"{id_name(id)} is purged, and created anew since.")
            said = f"Somebody created {id_name(id)} again meanwhile; its versions were put back."
            return Outcome("unknown", self.ns, id, said if back.kind == "applied" else f"{said} {back.detail}")
        if left := sum(1 for _ in self.archive.rows_of(id)):
            said = f"{id_name(id)} is deleted, and {left} of its versions are there; {again}."
            return Outcome("unknown", self.ns, id, said)
        return Outcome("applied", self.ns, id, f"{id_name(id)} is purged, with all its versions in {self.archive.ns}.")

    def stands(self, ns: str, raw: bytes) -> bool | None:
        """Whether a stored document exists; an archive row can never be mistaken for another."""
        return self.archive.any(self._just(raw)) if ns == self.archive.ns else super().stands(ns, raw)

    def _just(self, raw: bytes) -> Terms:
        """The filter for exactly one archive row, by its ``_id``, document, version and token."""
        p = self.profile
        return guards.unchanged(raw, (p.archive_id, p.version, p.token))

    def _remove_row(self, raw: bytes) -> End:
        where = self._just(raw)
        note = f"{version_name(c.get(raw, (self.profile.version,)))} is removed from the archive"
        return run(
            self.server, Write(self.archive.ns, "delete", where, None, note), lambda: not self.archive.any(where)
        )

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """The archive's rows first, so that a document never appears without its history."""
        return self.archive.as_stored(id, versions)


def _plain(v: Value | None) -> str:
    number = number_of(v)
    return str(number) if number is not None else version_name(v)
