"""The base of every storage layout: its interface, and the parts that layouts share.

A layout is bound to a server and to the profile of one collection. It speaks to the server through
:class:`model.server.port.Port` alone, so that tests can interleave writers at every operation.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import ClassVar, Protocol

from bson import ObjectId

from model.checks.base import Check
from model.checks.ordered_reading import OrderedReading
from model.errors import OF_CIRCUMSTANCE, NotFound, Refused, Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.findings import Finding, Unchecked
from model.foundation.records import Checkpoint, Contents, Counting, Outcome, Outline, Row, Version, no_checkpoint
from model.layouts.archive_reader import ArchiveReader
from model.recognition.sampling import Proposal, Sample
from model.server.retry import Port, Terms, Write, run
from model.storage import document_ids, indexes
from model.storage.content_hashes import Sealed
from model.storage.foreign_guard import ForeignGuard
from model.storage.newest_query import PageQuery
from model.storage.numbering import VersionPlace
from model.storage.outcomes import Outcomes, put_back
from model.storage.reserved_fields import Own, says_deleted, unreadable, version_damage
from model.storage.swap_steps import Made, Stamp, SwapSteps
from model.values import canonical as c
from model.values.canonical import Path, Value
from model.writers.row_writer import RowWriter


class LayoutReader(Protocol):
    """Reads the versions of one collection's documents. Methods raise ``NotFound`` and the other ``Refused``."""

    def page(self, query: PageQuery) -> Iterator[Row]:
        """Current documents in the order asked for."""

    def count(self, filter: Terms | None = None, any_version: bool = False, max_ms: int = 2000) -> int | None:
        """How many documents :meth:`page` would list; None where that takes too long."""

    def exists(self, *ids: Value) -> bool:
        """Whether there is a document, or a version of one, with exactly one of these ids."""

    def outline(self, ids: Sequence[Value]) -> Iterator[Outline]:
        """The history of each document in miniature, in the order of ``ids``, with few queries."""

    def history(self, id: Value, contents: Contents = False) -> Iterator[Version]:
        """The versions newest first, one for each missing number too; ``content`` only where asked for.

        Raises ``NotFound`` where there is no version at all.
        """

    def version(self, id: Value, v: Value | None = None) -> Version:
        """One version with ``content`` and ``raw``; the current one where ``v`` is None. Raises ``NotFound``."""

    def identity(self, version: Version) -> bytes:
        """The bytes that tell whether a document still is the version that was read."""


class LayoutWriter(Protocol):
    """Numbers, begins and ends a collection's documents, looks for writes in doubt, and words their outcomes.

    Methods raise ``Refused`` only before anything of the document is written.
    """

    @property
    def outcomes(self) -> Outcomes:
        """The outcomes that the sender of a write is told."""

    @property
    def unique(self) -> tuple[str, ...]:
        """The fields of the unique index that lets one of several inserts in."""

    def missing_index(self, remembered: bool = False) -> str | None:
        """Why writing is refused for want of a unique index, one sentence; None where nothing is missing.

        With ``remembered`` an index that was there some minutes ago is taken to be there.
        """

    def create_index(self) -> None:
        """Create what :meth:`missing_index` speaks of; raises ``Refused`` naming the duplicates in its way."""

    def written_since(self, removed: Sequence[tuple[str, bytes]]) -> Outcome | None:
        """Why removed documents cannot be put back beside what has been written since; None where nothing is known."""

    def hindrance(self, base: Version) -> str:
        """Why no version can follow ``base``, whatever its content is, one sentence; "" where one can."""

    def number(self, id: Value, base: Version, stamp: Stamp) -> Value | None:
        """The number of the version that follows ``base``; None where there are none."""

    def foreseen_number(self, id: Value, base: Version, stamp: Stamp) -> tuple[Value | None, list[Write]]:
        """The number that the next version would get now, and the writes that give it."""

    def first_number(self, id: Value, stamp: Stamp) -> Value | None:
        """The number of a new document; None where there are none."""

    def prepared(self, id: Value, base: Version) -> Outcome | None:
        """The conflict where ``base`` is not current any more and the write itself would not tell."""

    def occupied(self, id: Value) -> bool:
        """Whether no new document can have this id."""

    def ended(self, id: Value) -> Version | None:
        """The tombstone that a new document with this id follows; None where there is none."""

    def new_document(self, id: Value, content: bytes, stamp: Stamp, v: Value | None) -> bytes:
        """The stored document of a first version."""

    def removal(self, id: Value, base: Version) -> tuple[tuple[str, bytes], ...]:
        """Every (ns, stored document) that :meth:`delete` would remove."""

    def undeletable(self, base: Version) -> str:
        """Why a document that may be purged may not be deleted, one sentence; "" where it may."""

    def delete(self, id: Value, base: Version, stamp: Stamp) -> Outcome:
        """Delete the document if ``base`` is still its current version, by the rules of :meth:`Layout.delete`."""

    def all_stored(self, id: Value, base: Version) -> tuple[tuple[str, bytes], ...]:
        """Every (ns, stored document) that :meth:`purge` would remove."""

    def purge(self, id: Value, base: Version, stamp: Stamp, kept: Sequence[tuple[str, bytes]] | None = None) -> Outcome:
        """Remove the document and its versions if ``base`` is still the newest, by :meth:`Layout.purge`."""

    def stands(self, raw: bytes) -> bool | None:
        """Whether a stored document is there, or a later state of it; None where another one may have its id."""

    def asks(
        self, id: Value, stamp: Stamp, made: Made, base: Version | None = None
    ) -> Callable[[], bool | None] | None:
        """The question of a write in doubt, whether it landed; None where no token could tell."""

    def landed(self, id: Value, token: ObjectId, base: Version | None = None) -> bool | None:
        """Whether the write with this token is in the current document or its history; None where nobody can tell.

        False is certain where ``base``, the version that the write began from, is given and no history is missing.
        """


class Layout(ABC):
    """One collection's documents and their versions. Reads raise ``NotFound`` and the other ``Refused`` errors.

    What a layout declares of itself is all that others know of it: profiles, recognition, the command line, the window.
    It holds a ``reader`` and a ``writer``, which do most of the work. A swap, a creation and a delete run here; where
    layouts differ, these call down to ``steps``, which all state but those that are only read, ``_number``,
    ``_first_number``, ``_doubt``, ``_prepared``, ``_swapped``, ``_created``, ``_new_document``, ``_delete`` and
    ``_purge``, and to nothing else.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    """What it is, in a few words, where one is picked."""
    where: ClassVar[str] = ""
    """Where the versions are, with roles in braces; :attr:`about` says it where this is ""."""
    roles: ClassVar[tuple[str, ...]]
    """The keys of a profile that name what it uses."""
    defaults: ClassVar[Mapping[str, str]] = {}
    """What these keys are where a profile does not say; ``{ns}`` is the collection's own."""
    inside: ClassVar[tuple[str, ...]] = ()
    """Roles whose fields are inside another one, where they meet no others."""
    lacks: ClassVar[str] = ""
    """Why a collection cannot be read so: what :meth:`picked` did not find, a sentence."""
    further_keys: ClassVar[frozenset[str]] = frozenset()
    """Keys of a profile that it takes beside its roles and beside those that all such layouts take."""
    within: ClassVar[str] = ""
    """The role of the sub-document that holds the current version; "" where that is the document itself."""
    unversioned: ClassVar[bool] = False
    """Whether documents are just documents, of which nothing tells one version from another."""
    about_others: ClassVar[bool] = False
    """Whether documents are entries about documents of other collections."""
    newest_alone: ClassVar[bool] = False
    """Whether there is a place for the newest version alone."""
    holds_changes: ClassVar[bool] = False
    """Whether a stored version holds only what it changed."""
    flags_newest: ClassVar[bool] = False
    """Whether the newest version carries a mark, the role ``current``, by which applications find it."""
    overflows: ClassVar[bool] = False
    """Whether the oldest versions of a document that grew too long may stand in an overflow archive."""
    fed: ClassVar[bool] = False
    """Whether a feed brings the versions into the second collection."""
    counts: ClassVar[Counting] = ""
    """What is counted in the documents: nothing in a layout, as only patterns count."""
    holds_current: ClassVar[bool] = False
    """Whether a second collection, where there is one, is meant to hold the current version too."""
    own_documents: ClassVar[bool] = False
    """Whether every version is a document of its own, so that an insert makes one."""
    numbered: ClassVar[bool] = True
    """Whether versions are numbers or dates."""
    written_by_others: ClassVar[bool] = False
    """Whether another program writes rows of its own, which a profile's keys are paths into."""
    read_only: str = ""
    """Why nothing is written here and what to do instead, one sentence; "" where writing is possible. A layout of which
    some collections can be written to has it for each collection, and as a class says why none is made from here."""

    own: Own
    """The names that the layout keeps for itself where versions or current documents are stored."""
    reader: LayoutReader
    writer: LayoutWriter
    archive: ArchiveReader | None = None
    """The second collection with earlier versions, where there is one."""
    rows: RowWriter | None = None
    """The rows that another program keeps of each version, where an edit may write them."""

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        self.server = server
        self.profile = profile
        self.ns = profile.ns
        self.foreign = ForeignGuard(profile)

    # --- being recognised

    @classmethod
    def proposed(cls, server: Port, sample: Sample) -> Proposal | None:
        """The proposal of this layout for a collection taken by itself; None where nothing speaks for it."""
        return None

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The fields to use where a person picks this layout; None where they cannot be told.

        ``others`` are the names of the collections beside it.
        """
        return None

    # --- reading

    @property
    def places(self) -> tuple[VersionPlace, ...]:
        """Where the versions are stored, current ones first; () where a document's name alone does not lead to them."""
        p = self.profile
        if p.id_parts:
            return ()
        return (
            VersionPlace(p.ns, p.id),
            *([VersionPlace(self.archive.ns, p.archive_id)] if self.archive is not None else []),
        )

    @property
    def standing(self) -> str:
        """A sentence on how far a feed that follows the collection has come; "" where none follows it."""
        return ""

    def page(self, query: PageQuery | None = None) -> Iterator[Row]:
        """Current documents in the order of a :class:`.PageQuery`."""
        return self.reader.page(query or PageQuery())

    def count(self, filter: Terms | None = None, any_version: bool = False, max_ms: int = 2000) -> int | None:
        """How many documents :meth:`page` would list; None where that takes too long."""
        return self.reader.count(filter, any_version, max_ms)

    def find_id(self, text: str) -> Value:
        """The stored id meant by a text: plain where one matches, else Extended JSON.

        Raises ``NotFound`` where none matches, ``Refused`` with the ids where several do.
        """
        id = document_ids.pick(text, self.ns, self.reader.exists)
        if not self.profile.id_parts or id.type != c.OBJECT:
            return id
        parts = dict(c.fields(id.data))  # whoever types it need not know their order
        return Value.document(c.document((part, parts[part]) for part in self.profile.id_parts))

    def find_current(self, text: str) -> tuple[Value, Version]:
        """The id that :meth:`find_id` tells, and the document's current version; raises as both do.

        What is most likely meant is read at once, and stands where none of the other values is stored that people write
        like that.
        """
        values = document_ids.likeliest_first(document_ids.values_of(text))
        if values and not self.profile.id_parts:
            likeliest, *others = values
            with contextlib.suppress(NotFound, Unreadable):
                version = self.version(likeliest)
                if not (others and self._may_exist(others)):
                    return likeliest, version
        id = self.find_id(text)
        return id, self.version(id)

    def _may_exist(self, ids: Sequence[Value]) -> bool:
        """Whether one of these ids is stored, or is of a type that the server takes in no query."""
        try:
            return self.reader.exists(*ids)
        except OF_CIRCUMSTANCE:
            raise
        except Refused:
            return True

    def exists(self, id: Value) -> bool:
        """Whether there is a document, or a version of one, with exactly this id."""
        return self.reader.exists(id)

    def outline(self, ids: Sequence[Value]) -> Iterator[Outline]:
        """The history of each document in miniature, in the order of ``ids``, with few queries."""
        return self.reader.outline(ids)

    def history(self, id: Value, contents: Contents = False) -> Iterator[Version]:
        """The versions newest first, one for each missing number too; ``content`` only where asked for.

        Raises ``NotFound`` where there is no version at all.
        """
        return self.reader.history(id, contents)

    def version(self, id: Value, v: Value | None = None) -> Version:
        """One version with ``content`` and ``raw``; the current one where ``v`` is None. Raises ``NotFound``."""
        return self.reader.version(id, v)

    def ended_at(self, id: Value, v: Value) -> dt.datetime | None:
        """The time at which a document was deleted after its version ``v``, where something beside it kept that."""
        return None

    def identity(self, version: Version) -> bytes:
        """The bytes that tell whether a document still is the version that was read."""
        return self.reader.identity(version)

    def content(self, raw: bytes) -> bytes:
        """The users' part of a stored document: without ``_id`` and the layout's own fields, in stored order."""
        return self.own.content(raw)

    def document(self, raw: bytes) -> bytes:
        """A stored document as people see it: locked fields and content, in stored order, without histories."""
        return raw

    def beside(self, raw: bytes) -> tuple[str, ...]:
        """The top-level fields of a stored document that belong to none of its versions."""
        return ()

    def parts(self, raw: bytes) -> list[Path]:
        """The paths of the versions inside a stored document, the current one first; () is the document itself."""
        return [()]

    def comparable(self, ns: str, raw: bytes) -> bytes:
        """The part of a stored version that another one of its number repeats, where both say the same.

        ``ns`` is the collection that it stands in: this one, or the archive.
        """
        return self.archive.own.content(raw) if self.archive is not None and ns != self.ns else self.content(raw)

    def hashed_parts(self, ns: str, raw: bytes, id: Value | None) -> list[tuple[Path, bytes]]:
        """The paths of the hashes in a stored document, each with the content that it is of.

        ``ns`` is the collection that it stands in, ``id`` the id of the document whose version it is.
        """
        return [((self.profile.hash,), self.comparable(ns, raw))]

    def sealed(self, id: Value | None, here: list[Sealed]) -> list[Sealed]:
        """Contents with their hashes, by which the recipe of a wrong hash is judged: the versions of one document.

        ``here`` are those of the stored document with the wrong one, which count where no ``id`` is known.
        """
        if id is None:
            return here
        name, found = (self.profile.hash,), self.history(id, contents=True)
        pairs = [(c.get(each.raw, name), each.content) for each in found if each.raw and each.content]
        return [Sealed(content, stored) for stored, content in pairs if stored is not None]

    def needed_archive(self) -> ArchiveReader:
        """The second collection with earlier versions; raises ``Refused`` where there is none."""
        if self.archive is None:
            raise Refused(f"{self.ns} is taken for {self.name} here, which has no archive; state its layout.")
        return self.archive

    @property
    def kept_by_delete(self) -> str:
        """The fate of a deleted document's versions and the way to bring it back, a sentence for whoever is asked."""
        if reason := self.read_only or (self.rows.reason if self.rows is not None else ""):
            return reason
        if self.own_documents:
            return (
                "All its versions stay; one that says that it is deleted follows them, and restoring an earlier one "
                "brings it back."
            )
        if self.archive is not None:
            return f"Its versions stay in {self.archive.ns}, and restoring one of them brings it back."
        if self.numbered:
            return "All its versions go with it and are kept in the journal, from where it can be brought back."
        return "What goes is kept in the journal, from where it can be brought back."

    @cached_property
    def locked(self) -> tuple[str, ...]:
        """The top-level names of :meth:`document` that nobody edits: ``_id`` and the layout's own."""
        return tuple(sorted({"_id", self.profile.id} | self.own.names))

    def writable(self, version: Version) -> str:
        """Why this version may not be written over, one sentence; "" where it may."""
        reason = self._barred(version) or self.foreign.objection(version.raw or c.EMPTY)
        return reason or self.writer.hindrance(version)

    def guards_any(self, size: int) -> bool:
        """Whether writes over a document of this many bytes are known to be guarded here, whatever is in it."""
        return self.numbered

    def removable(self, version: Version) -> str:
        """Why the document with this current version may not be deleted, one sentence; "" where it may."""
        return self._barred(version) or self.writer.undeletable(version)

    def purgeable(self, version: Version) -> str:
        """Why the document with this newest version may not be purged, one sentence; "" where it may."""
        return self._barred(version)

    def _barred(self, version: Version) -> str:
        """Why nothing at all may be written over this version, one sentence; "" where something may."""
        reason = self.read_only or self._objection(version) or self.foreign.closed()
        return reason or self._doubt(version) or self.missing_index(remembered=True) or ""

    def _doubt(self, version: Version) -> str:
        """What has to be stated before this version may be written over, one sentence; "" where nothing has."""
        return ""

    def unfit(self, content: bytes) -> str:
        """Why a content cannot be stored here, one sentence: a name in it would stand there twice. "" where it can."""
        names, locked = [name for name, _ in c.fields(content)], self.locked
        distinct = set(names)
        if not distinct.isdisjoint(locked):
            kept = next(name for name in names if name in locked)
            return f"The field {kept} is kept by the layout itself, so a content cannot hold it; leave it out."
        if len(distinct) < len(names):
            twice = next(name for at, name in enumerate(names) if name in names[:at])
            return f"The content holds the field {twice} twice; take one of them out."
        if self.own_documents and says_deleted(content, self.profile):
            mark = self.profile.deleted
            return f"A version with nothing but {mark} says that its document is deleted; delete it, or add a field."
        return ""

    def _objection(self, version: Version) -> str:
        """Why the version itself cannot be written over."""
        if not version.current and not version.deleted:
            return "Only the current version can be edited; restore this one to work from it."
        if version.raw is None or version.content is None:
            return "This document cannot be read, so it can be shown and not written."
        if damage := unreadable(version.raw):
            return f"This document {damage}, so it can be shown and not written."
        if self.numbered and version.v is not None and version_damage(version.v):
            return f"The version of this document is a {version.v.kind} and no whole number; mend that before editing."
        return ""

    @property
    def sealing(self) -> CollectionProfile:
        """The profile with the recipe of its hashes, as far as one is stated or proven."""
        return self.profile

    # --- looking for damage

    @property
    @abstractmethod
    def check(self) -> Check:
        """The search for this layout's kinds of damage."""

    def findings(
        self,
        ids: Sequence[Value] | None = None,
        now: dt.datetime | None = None,
        checkpoint: Checkpoint = no_checkpoint,
        reading: OrderedReading | None = None,
    ) -> Iterator[Finding | Unchecked]:
        """The damage of some documents, or of all of them, and the documents that were not looked at.

        Streaming, in memory that does not grow with the collection. ``now`` decides what is inside the grace period;
        ``reading`` says from where and how fast a scan reads, and is told how far it is.
        """
        reading = reading or OrderedReading(self.server, checkpoint)
        return self.check.findings(ids, now or dt.datetime.now(dt.UTC), reading)

    # --- the parts of a swap

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> SwapSteps:
        """The writes that :meth:`swap` sends; raises ``Refused`` for an edit that no write can express.

        ``v`` is the number that the new version gets, where it has been drawn already.
        """
        if self.rows is None:
            raise Refused(self.read_only)
        return self.rows.steps(id, base, content, stamp)

    def explain(self, base: Version) -> str:
        """The order of the writes and the guard, in one or two sentences."""
        return self.rows.explain(base) if self.rows is not None else self.read_only

    def explained(self, base: Version) -> str:
        """The order of the writes and the guards, that of another program among them."""
        return f"{self.explain(base)} {self.foreign.explain(base.raw or c.EMPTY)}".strip()

    def foreseen(self, id: Value, base: Version, content: bytes, stamp: Stamp) -> list[Write]:
        """All writes that a swap would send now, in order; where a number is drawn, that comes first."""
        self._check(base)
        v, writes = self.writer.foreseen_number(id, base, stamp)
        return [*writes, *self.steps(id, base, content, stamp, v).all]

    def _number(self, id: Value, base: Version, content: bytes, stamp: Stamp) -> Value | None:
        """The version that the new content gets; None where there are none."""
        return self.writer.number(id, base, stamp)

    def _prepared(self, steps: SwapSteps, id: Value, base: Version, content: bytes) -> Outcome | None:
        """Send the writes before the one that decides; an outcome where that must not follow."""
        if self.rows is not None:
            return self.rows.prepare(steps, id, base, content)
        return self.writer.prepared(id, base)

    def _swapped(self, outcome: Outcome, content: bytes, stamp: Stamp) -> Outcome:
        """Clean up behind a swap; the outcome, with a word on any write that failed."""
        return outcome

    def retyped(self, content: bytes, base: bytes) -> bytes:
        """An earlier state as it is restored over a content: with types that the history has lost, as far as known."""
        return self.rows.retyped(content, base) if self.rows is not None else content

    def settle(self, id: Value, base: bytes, stamp: Stamp, arrived: bool) -> str:
        """Finish a swap that was found to have arrived, or clean up behind one that was not, as far as that needs it.

        ``base`` is the stored document that it began from. Returns why that failed, one sentence, or "".
        """
        return self.rows.settle(id, base, stamp, arrived) if self.rows is not None else ""

    def _created(self, outcome: Outcome, content: bytes, stamp: Stamp) -> Outcome:
        """Look again behind a creation; the outcome, with a word on any write that failed."""
        return outcome

    # --- writing; no state that a write can meet raises an error

    def swap(self, id: Value, base: Version, content: bytes, stamp: Stamp | None = None) -> Outcome:
        """Make ``content`` the next version if ``base`` is still the current one, and :meth:`writable`.

        The write is found again by the token of the stamp (:meth:`landed`); note that before calling.
        """
        try:
            if reason := self.writable(base):
                raise Refused(reason)
        except Refused as error:
            return self.writer.outcomes.refused(id, str(error))
        return self.swap_writable(id, base, content, stamp or Stamp())

    def swap_writable(self, id: Value, base: Version, content: bytes, stamp: Stamp) -> Outcome:
        """Do :meth:`swap`, once :meth:`writable` has no objection."""
        content = self.signed(content, stamp.author)
        try:
            v = self._number(id, base, content, stamp)
            steps = self.steps(id, base, content, stamp, v)
            if held := self._held(id, steps.made, None if self.own_documents else base.raw):
                return self.writer.outcomes.hindered(id, base, held)
            if stopped := self._prepared(steps, id, base, content):
                return stopped
        except Refused as error:
            return self.writer.outcomes.refused(id, str(error))
        end = run(self.server, steps.decides, self.writer.asks(id, stamp, steps.made, base), steps.repeatable)
        outcome = self.writer.outcomes.swapped(end, id, base, content, stamp, v)
        if self.rows is not None:
            return self.rows.finish(outcome, steps, id, base, stamp)
        return self._swapped(outcome, content, stamp)

    def create(self, content: bytes, id: Value | None = None, stamp: Stamp | None = None) -> Outcome:
        """Insert a document as its first version; ``refused`` where the id exists, as a unique index tells.

        Where a tombstone says that the document with this id is deleted, the new version follows that.
        """
        stamp = stamp or Stamp()
        content = self.signed(content, stamp.author)
        id = id if id is not None else Value.of(ObjectId())
        try:
            if reason := self.read_only or self.missing_index(remembered=True):
                raise Refused(reason)
            if self.writer.occupied(id):
                return self.writer.outcomes.taken(id)
            if (ended := self.writer.ended(id)) is not None:
                return self.swap(id, ended, content, stamp)
            v = self._first_number(id, content, stamp)
            raw = self._new_document(id, content, stamp, v)
            if held := self._held(id, lambda: raw):
                raise Refused(held)
        except Refused as error:
            return self.writer.outcomes.refused(id, str(error))
        write = Write(self.ns, "insert", {}, raw, "the new document", self.writer.unique)
        end = run(self.server, write, self.writer.asks(id, stamp, lambda: raw))
        return self._created(self.writer.outcomes.created(end, id, v, stamp), content, stamp)

    def _held(self, id: Value, made: Made, before: bytes | None = None) -> str:
        """Why a unique index beside the layout's own will turn a document away, one sentence; "" where none will.

        ``before`` is the document's earlier state, where it takes its own place.
        """
        unique = self.writer.unique
        return indexes.held(self.server, self.profile, id, made, before, unique, self.own_documents)

    def _first_number(self, id: Value, content: bytes, stamp: Stamp) -> Value | None:
        """The version of a new document; None where there are none."""
        return self.writer.first_number(id, stamp)

    def _new_document(self, id: Value, content: bytes, stamp: Stamp, v: Value | None) -> bytes:
        """The stored document of a first version; raises ``Refused`` where it would be too large."""
        return self.writer.new_document(id, content, stamp, v)

    def delete(self, id: Value, base: Version, stamp: Stamp | None = None) -> Outcome:
        """Delete the document if ``base`` is still its current version.

        Versions that are documents of their own, or rows of an archive, stay.
        """
        try:
            if reason := self.removable(base):
                raise Refused(reason)
            return self._delete(id, base, stamp or Stamp())
        except Refused as error:
            return self.writer.outcomes.refused(id, str(error))

    def _delete(self, id: Value, base: Version, stamp: Stamp) -> Outcome:
        """Do :meth:`delete`; raises ``Refused`` only before anything is deleted."""
        return self.writer.delete(id, base, stamp)

    def removal(self, id: Value, base: Version) -> tuple[tuple[str, bytes], ...]:
        """Every (ns, stored document) that :meth:`delete` would remove, to be kept first."""
        return self.writer.removal(id, base)

    def last(self, id: Value) -> Version:
        """The newest version, of a document that is deleted too; raises ``NotFound`` where no version is left."""
        try:
            return self.version(id)
        except NotFound:
            return next(version for version in self.history(id, contents=True) if version.state != "missing")

    def purge(
        self, id: Value, base: Version, stamp: Stamp | None = None, kept: Sequence[tuple[str, bytes]] | None = None
    ) -> Outcome:
        """Remove the document and every version of it, if ``base`` is still the newest one, by :meth:`last`.

        ``kept`` are the documents of :meth:`all_stored`, once somebody has put them away: no other is removed then, and
        where there are more by now, or fewer, it is a conflict.
        """
        try:
            if reason := self.purgeable(base):
                raise Refused(reason)
            return self._purge(id, base, stamp or Stamp(), kept)
        except Refused as error:
            return self.writer.outcomes.refused(id, str(error))

    def _purge(self, id: Value, base: Version, stamp: Stamp, kept: Sequence[tuple[str, bytes]] | None) -> Outcome:
        """Do :meth:`purge`; raises ``Refused`` only before anything is removed."""
        return self.writer.purge(id, base, stamp, kept)

    def all_stored(self, id: Value, base: Version) -> tuple[tuple[str, bytes], ...]:
        """Every (ns, stored document) that :meth:`purge` would remove, to be kept first."""
        return self.writer.all_stored(id, base)

    def stands(self, ns: str, raw: bytes) -> bool | None:
        """Whether a document that :meth:`all_stored` named is there, or a later state of it.

        None where another document may have taken its id, and nobody can tell.
        """
        return self.writer.stands(raw)

    def landed(self, id: Value, token: ObjectId, base: Version | None = None) -> bool | None:
        """Whether the write with this token is in the current document or its history; None where nobody can tell.

        False is certain where ``base``, the version that the write began from, is given and no history is missing.
        """
        return self.writer.landed(id, token, base)

    def missing_index(self, remembered: bool = False) -> str | None:
        """Why writing is refused for want of a unique index, one sentence; None where nothing is missing.

        With ``remembered`` an index that was there some minutes ago is taken to be there.
        """
        return self.writer.missing_index(remembered)

    def create_index(self) -> None:
        """Create what :meth:`missing_index` speaks of; raises ``Refused`` naming the duplicates in its way."""
        self.writer.create_index()

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """The (ns, document) that keep these versions, oldest first and with contents, the current document last.

        A migration to this layout writes them. Reads nothing, and gives equal bytes for equal versions. Raises
        ``Refused`` for versions that this layout cannot hold.
        """
        raise Refused(type(self).read_only)

    def is_purged(self, id: Value) -> bool:
        """Whether the versions that a delete leaves behind were removed since; where it leaves none nobody can tell."""
        return False

    def put_back(self, removed: Sequence[tuple[str, bytes]]) -> Outcome:
        """Insert removed documents again, by :func:`.put_back`; ``conflict`` where the id is taken by now."""
        if self.read_only:
            return Outcome("refused", self.ns, None, self.read_only)
        return self.writer.written_since(removed) or put_back(self.server, self.profile, removed, self.writer.unique)

    def signed(self, content: bytes, author: str | None, reason: str | None = None) -> bytes:
        """The content with its author and reason, where these are content; doing it twice changes nothing."""
        if self.profile.seals_author:
            for name, said in ((self.profile.author, author), (self.profile.reason, reason)):
                content = c.put(content, (name,), Value.of(said)) if name and said else content
        return content

    @property
    def takes_reason(self) -> bool:
        """Whether a version made from here can say why it was made."""
        if self.read_only or not self.profile.reason:
            return False
        return not self.written_by_others or "$reason" in self.profile.row.values()

    def _check(self, base: Version) -> tuple[bytes, bytes]:
        """The stored document and the content of a base that may be written over; else raises ``Refused``."""
        if reason := self.read_only or self._objection(base):
            raise Refused(reason)
        assert base.raw is not None
        assert base.content is not None
        return base.raw, base.content
