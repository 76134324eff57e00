"""The base of every storage layout: its interface, and the parts that layouts share.

A layout is bound to a server and to the profile of one collection. It accesses the server only through
:class:`model.server.port.Port`, so that tests can interleave writers at every operation.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar, Protocol

from bson import ObjectId

from model.checks.ordered_reading import OrderedReading
from model.errors import OF_CIRCUMSTANCE, NotFound, Refused, Unreadable
from model.foundation.records import Checkpoint, Contents, Counting, Outcome, Outline, Row, Version, no_checkpoint
from model.server.driver_errors import BREAKS_RULES
from model.server.retry import Port, Terms, Write, run
from model.storage import document_ids, document_rules, indexes, numbering
from model.storage.content_hashes import Sealed
from model.storage.foreign_guard import ForeignGuard
from model.storage.foresight import Foreseen, Foresight
from model.storage.newest_query import PageQuery
from model.storage.numbering import VersionPlace
from model.storage.outcomes import Outcomes, put_back
from model.storage.reserved_fields import Own, says_deleted, unreadable, version_damage
from model.storage.swap_steps import Made, Stamp, SwapSteps
from model.values import canonical as c
from model.values.canonical import Path, Value

if TYPE_CHECKING:
    from model.checks.base import Check
    from model.foundation.collection_profile import CollectionProfile
    from model.foundation.findings import Finding, Unchecked
    from model.layouts.archive_reader import ArchiveReader
    from model.recognition.sampling import Proposal, Sample
    from model.storage.kept_states import StatesOf
    from model.writers.row_writer import RowWriter


class LayoutReader(Protocol):
    """Reads the versions of one collection's documents. Methods raise ``NotFound`` and other kinds of ``Refused``."""

    def page(self, query: PageQuery) -> Iterator[Row]:
        """Current documents in the requested order."""

    def count(self, filter: Terms | None = None, any_version: bool = False, max_ms: int = 2000) -> int | None:
        """The number of documents that :meth:`page` would list; None if counting takes too long."""

    def exists(self, *ids: Value) -> bool:
        """Whether there is a document, or a version of one, with exactly one of these ids."""

    def outline(self, ids: Sequence[Value]) -> Iterator[Outline]:
        """The history of each document in miniature, in the order of ``ids``, with few queries."""

    def history(self, id: Value, contents: Contents = False) -> Iterator[Version]:
        """The versions newest first, with an entry for each missing number; ``content`` only if requested.

        Raises ``NotFound`` if there is no version at all.
        """

    def version(self, id: Value, v: Value | None = None) -> Version:
        """One version with ``content`` and ``raw``; the current one if ``v`` is None. Raises ``NotFound``."""

    def identity(self, version: Version) -> bytes:
        """The bytes by which a version is recognised as unchanged."""


class LayoutWriter(Protocol):
    """Numbers, begins and ends a collection's documents, finds writes in doubt, and describes their outcomes.

    Methods raise ``Refused`` only before they write anything.
    """

    @property
    def outcomes(self) -> Outcomes:
        """The outcomes that the sender of a write is told."""

    @property
    def unique(self) -> tuple[str, ...]:
        """The fields of the unique index that accepts only one of several inserts."""

    def missing_index(self, remembered: bool = False) -> str | None:
        """Why writing is refused without a unique index, one sentence; None if no index is missing.

        ``remembered`` trusts an index seen some minutes ago.
        """

    def create_index(self) -> None:
        """Create the index that :meth:`missing_index` asks for; raises ``Refused`` that names duplicates in its way."""

    def written_since(self, removed: Sequence[tuple[str, bytes]]) -> Outcome | None:
        """Why removed documents cannot be put back after writes made since; None if nothing prevents it."""

    def hindrance(self, base: Version) -> str:
        """Why no version can follow ``base``, with any content, one sentence; "" if one can."""

    def number(self, id: Value, base: Version, stamp: Stamp) -> Value | None:
        """The number of the version that follows ``base``; None without numbers."""

    def foreseen_number(self, id: Value, base: Version, stamp: Stamp) -> tuple[Value | None, list[Write]]:
        """The number that the next version would get now, and the writes that assign it."""

    def first_number(self, id: Value, stamp: Stamp) -> Value | None:
        """The number of a new document; None without numbers."""

    def prepared(self, id: Value, base: Version) -> Outcome | None:
        """The conflict if ``base`` is no longer current and the write itself would not detect it."""

    def occupied(self, id: Value) -> bool:
        """Whether no new document can have this id."""

    def ended(self, id: Value) -> Version | None:
        """The tombstone that a new document with this id would follow; None if there is none."""

    def new_document(self, id: Value, content: bytes, stamp: Stamp, v: Value | None) -> bytes:
        """The stored document of a first version."""

    def removal(self, id: Value, base: Version) -> tuple[tuple[str, bytes], ...]:
        """Every (ns, stored document) that :meth:`delete` would remove."""

    def undeletable(self, base: Version) -> str:
        """Why a document that may be purged may not be deleted, one sentence; "" if it may."""

    def delete(self, id: Value, base: Version, stamp: Stamp) -> Outcome:
        """Delete the document if ``base`` is still its current version, as :meth:`Layout.delete` says."""

    def all_stored(self, id: Value, base: Version) -> tuple[tuple[str, bytes], ...]:
        """Every (ns, stored document) that :meth:`purge` would remove."""

    def purge(self, id: Value, base: Version, stamp: Stamp, kept: Sequence[tuple[str, bytes]] | None = None) -> Outcome:
        """Remove the document and its versions if ``base`` is still the newest, as :meth:`Layout.purge` says."""

    def stands(self, raw: bytes) -> bool | None:
        """Whether a stored document, or a later state of it, exists; None if its id may belong to another one."""

    def asks(
        self, id: Value, stamp: Stamp, made: Made, base: Version | None = None
    ) -> Callable[[], bool | None] | None:
        """The question whether a write in doubt landed; None if no token could tell."""

    def landed(
        self, id: Value, token: ObjectId, base: Version | None = None, content: bytes | None = None
    ) -> bool | None:
        """Whether the write with this token is in the current document or its history; None if nobody can tell.

        False is certain if ``base``, the version that the write started from, is given and the history is complete.
        If documents carry no token, the ``content`` that the write was to make of the base tells.
        """


class Layout(ABC):
    """One collection's documents and their versions. Reads raise ``NotFound`` and other kinds of ``Refused``.

    The attributes that a layout declares are all that other rooms know of it: profiles, recognition, command line,
    window. It has a ``reader`` and a ``writer``, which do most of the work. This class runs a swap, a creation and a
    delete. It calls down only to ``steps``, which all but read-only layouts define, and to ``_number``,
    ``_first_number``, ``_doubt``, ``_prepared``, ``_swapped``, ``_created``, ``_new_document``, ``_delete`` and
    ``_purge``.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    """What it is, in a few words, for a menu."""
    where: ClassVar[str] = ""
    """Where the versions are, with roles in braces; if "", :attr:`about` says it."""
    roles: ClassVar[tuple[str, ...]]
    """The keys of a profile that name the fields it uses."""
    defaults: ClassVar[Mapping[str, str]] = {}
    """The values of these keys if the profile has none; ``{ns}`` is the collection's name."""
    inside: ClassVar[tuple[str, ...]] = ()
    """Roles whose fields are inside a sub-document, so that their names cannot clash with others."""
    lacks: ClassVar[str] = ""
    """Why a collection cannot have this layout, one sentence: what :meth:`picked` did not find."""
    further_keys: ClassVar[frozenset[str]] = frozenset()
    """Further keys of a profile that it accepts, besides its roles and the keys of all similar layouts."""
    within: ClassVar[str] = ""
    """The role of the sub-document with the current version; "" if the document itself is the current version."""
    unversioned: ClassVar[bool] = False
    """Whether its documents are plain documents, without any sign of a version."""
    about_others: ClassVar[bool] = False
    """Whether its documents describe documents of other collections."""
    newest_alone: ClassVar[bool] = False
    """Whether it can store only the newest version."""
    holds_changes: ClassVar[bool] = False
    """Whether a stored version holds only its changes."""
    flags_newest: ClassVar[bool] = False
    """Whether the newest version has a mark (role ``current``) by which applications find it."""
    overflows: ClassVar[bool] = False
    """Whether the oldest versions of a document that grew too long may move to an overflow archive."""
    fed: ClassVar[bool] = False
    """Whether a feed writes the versions into the second collection."""
    counts: ClassVar[Counting] = ""
    """What the documents count: "" in every layout, because only patterns count."""
    holds_current: ClassVar[bool] = False
    """Whether the second collection, if there is one, should also hold the current version."""
    keyed_in_id: ClassVar[bool] = False
    """Whether id and version may stand inside of ``_id``."""
    own_documents: ClassVar[bool] = False
    """Whether every version is a document, created by an insert."""
    numbered: ClassVar[bool] = True
    """Whether versions are numbers or dates."""
    written_by_others: ClassVar[bool] = False
    """Whether another program writes the versions as rows; a profile's keys are then paths in these rows."""
    read_only: str = ""
    """Why nothing is written here and what to do instead, one sentence; "" if writing is possible. A layout that is
    writable for some collections sets it for each; its class attribute then says why none can be created from here.
    """

    own: Own
    """The names that belong to the layout in stored versions or current documents."""
    reader: LayoutReader
    writer: LayoutWriter
    archive: ArchiveReader | None = None
    """The second collection with earlier versions; None if there is none."""
    rows: RowWriter | None = None
    """The rows in which another program keeps each version, if an edit may write them."""

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        self.server = server
        self.profile = profile
        self.ns = profile.ns
        self.foreign = ForeignGuard(profile)

    # --- being recognised

    @classmethod
    def proposed(cls, server: Port, sample: Sample) -> Proposal | None:
        """The proposal of this layout for a single collection; None if nothing suggests it."""
        return None

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The fields to use if a person picks this layout; None if they cannot be found.

        ``others`` are the names of the other collections in the database.
        """
        return None

    # --- reading

    @property
    def places(self) -> tuple[VersionPlace, ...]:
        """Where the versions are stored, current ones first; () if a document's id alone does not lead to them."""
        p = self.profile
        if p.id_parts:
            return ()
        return (
            VersionPlace(p.ns, p.id),
            *([VersionPlace(self.archive.ns, p.archive_id)] if self.archive is not None else []),
        )

    @property
    def standing(self) -> str:
        """How far a feed that follows the collection has come, one sentence; "" if none follows it."""
        return ""

    def page(self, query: PageQuery | None = None) -> Iterator[Row]:
        """Current documents in the order of a :class:`.PageQuery`."""
        return self.reader.page(query or PageQuery())

    def count(self, filter: Terms | None = None, any_version: bool = False, max_ms: int = 2000) -> int | None:
        """The number of documents that :meth:`page` would list; None if counting takes too long."""
        return self.reader.count(filter, any_version, max_ms)

    def find_id(self, text: str) -> Value:
        """The stored id that a text means: plain text if such an id exists, else Extended JSON.

        Raises ``NotFound`` if none matches, ``Refused`` with the ids if several match.
        """
        id = document_ids.pick(text, self.ns, self.reader.exists)
        if not self.profile.id_parts or id.type != c.OBJECT:
            return id
        parts = dict(c.fields(id.data))  # people need not know the order of the parts
        return Value.document(c.document((part, parts[part]) for part in self.profile.id_parts))

    def find_current(self, text: str, seen: bool = False) -> tuple[Value, Version]:
        """The id that :meth:`find_id` returns, and the document's current version; raises as both do.

        The likeliest meaning is read at once. It stands if no other id is stored that is written like this text. The
        version is to be looked at alone if only ``seen``, as :meth:`seen` returns it.
        """
        read = self.seen if seen else self.version
        values = document_ids.likeliest_first(document_ids.values_of(text))
        if values and not self.profile.id_parts:
            likeliest, *others = values
            # If the likeliest id fails, find_id below tries all others.
            with contextlib.suppress(NotFound, Unreadable):
                version = read(likeliest)
                if not (others and self._may_exist(others)):
                    return likeliest, version
        id = self.find_id(text)
        return id, read(id)

    def _may_exist(self, ids: Sequence[Value]) -> bool:
        """Whether one of these ids may be stored: one is, or the server refuses its type in queries."""
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
        """The versions newest first, with an entry for each missing number; ``content`` only if requested.

        Raises ``NotFound`` if there is no version at all.
        """
        return self.reader.history(id, contents)

    def version(self, id: Value, v: Value | None = None) -> Version:
        """One version with ``content`` and ``raw``; the current one if ``v`` is None. Raises ``NotFound``."""
        return self.reader.version(id, v)

    kept_states: StatesOf | None = None
    """States of long histories that are kept on this computer; None if none may be."""

    def seen(self, id: Value, v: Value | None = None) -> Version:
        """A version to look at, as :meth:`version` returns it; it may be made from a kept state, and then says so.

        Nothing is written from it.
        """
        return self.version(id, v)

    def seen_history(self, id: Value, contents: Contents = False, early: bool = False) -> Iterator[Version]:
        """The versions to look at, as :meth:`history` returns them; ``early``, the newest from a kept state.

        Raises ``Refused`` if that state turns out not to be what is stored, once the others are read.
        """
        return self.history(id, contents)

    def ended_at(self, id: Value, v: Value) -> dt.datetime | None:
        """When a document was deleted after its version ``v``; None if nothing recorded that."""
        return None

    def first_between(self, id: Value, low: int, high: int) -> Version | None:
        """The lowest version with its content that is numbered ``low`` or more, below ``high``; None if there is none.

        None too in a layout that reads one version no faster than all.
        """
        return self.archive.first_between(id, low, high) if self.archive is not None else None

    def identity(self, version: Version) -> bytes:
        """The bytes by which a version is recognised as unchanged."""
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
        """The paths of the versions inside a stored document, current one first; () is the document itself."""
        return [()]

    def comparable(self, ns: str, raw: bytes) -> bytes:
        """The part of a stored version that must equal a second copy with its number.

        ``ns`` is the collection that stores it: this one, or the archive.
        """
        return self.archive.own.content(raw) if self.archive is not None and ns != self.ns else self.content(raw)

    def hashed_parts(self, ns: str, raw: bytes, id: Value | None) -> list[tuple[Path, bytes]]:
        """The paths of the hashes in a stored document, each with the content that it covers.

        ``ns`` is the collection that stores it, ``id`` the id of the document whose version it is.
        """
        return [((self.profile.hash,), self.comparable(ns, raw))]

    def sealed(self, id: Value | None, here: list[Sealed]) -> list[Sealed]:
        """Contents with their hashes, by which the recipe of a wrong hash is judged: the versions of its document.

        ``here`` are the hashes in the stored document itself, used if ``id`` is None.
        """
        if id is None:
            return here
        name, found = (self.profile.hash,), self.history(id, contents=True)
        pairs = [(c.get(each.raw, name), each.content) for each in found if each.raw and each.content]
        return [Sealed(content, stored) for stored, content in pairs if stored is not None]

    def needed_archive(self) -> ArchiveReader:
        """The second collection with earlier versions; raises ``Refused`` if there is none."""
        if self.archive is None:
            raise Refused(f"{self.ns} is taken for {self.name} here, which has no archive; state its layout.")
        return self.archive

    @property
    def kept_by_delete(self) -> str:
        """What happens to a deleted document's versions and how to restore it, one sentence for the confirmation."""
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
            return "All its versions go with it and are kept in the journal, and can be brought back from there."
        return "What is removed is kept in the journal and can be brought back from there."

    @cached_property
    def locked(self) -> tuple[str, ...]:
        """The top-level names of :meth:`document` that nobody may edit: ``_id`` and the layout's own."""
        return tuple(sorted({"_id", self.profile.id} | self.own.names))

    def writable(self, version: Version) -> str:
        """Why this version may not be overwritten, one sentence; "" if it may."""
        reason = self._barred(version) or self.foreign.objection(version.raw or c.EMPTY)
        return reason or self.writer.hindrance(version)

    proven: CollectionProfile | None = None
    """The profile with the recipe that the collection's hashes prove; None if nothing is proven yet, or needed."""
    proven_before: CollectionProfile | None = None
    """What :attr:`proven` was in another run; it serves only if the hash that is replaced fits it."""

    def guards_any(self, size: int) -> bool:
        """Whether writes over any document of this size are certainly guarded."""
        return self.numbered

    def removable(self, version: Version) -> str:
        """Why the document with this current version may not be deleted, one sentence; "" if it may."""
        return self._barred(version) or self.writer.undeletable(version)

    def purgeable(self, version: Version) -> str:
        """Why the document with this newest version may not be purged, one sentence; "" if it may."""
        return self._barred(version)

    def _barred(self, version: Version) -> str:
        """Why nothing at all may be written over this version, one sentence; "" if something may."""
        # In order of cost: the last two may ask the server, these never do.
        reason = self.read_only or self._objection(version) or self.foreign.closed()
        return reason or self._doubt(version) or self.missing_index(remembered=True) or ""

    def _doubt(self, version: Version) -> str:
        """What a person must state before this version may be overwritten, one sentence; "" if nothing."""
        return ""

    def unfit(self, content: bytes) -> str:
        """Why a content cannot be stored here, one sentence: a name is repeated or reserved. "" if it can."""
        names, locked = [name for name, _ in c.fields(content)], self.locked
        # BSON allows a name twice, and drivers then silently keep one of the two values.
        distinct = set(names)
        if not distinct.isdisjoint(locked):
            kept = next(name for name in names if name in locked)
            return f"The field {kept} is kept by the layout itself, so a content cannot hold it; leave it out."
        if len(distinct) < len(names):
            twice = next(name for at, name in enumerate(names) if name in names[:at])
            return f"The content holds the field {twice} twice; remove one of them."
        # Where every version is a document, a tombstone is told from a version only by its marker and its lack of
        # content.
        if self.own_documents and says_deleted(content, self.profile):
            mark = self.profile.deleted
            return f"A version with nothing but {mark} says that its document is deleted; delete it, or add a field."
        return ""

    def _objection(self, version: Version) -> str:
        """Why the version itself cannot be overwritten, one sentence; "" if it can."""
        if not version.current and not version.deleted:
            return "Only the current version can be edited; restore this one to work from it."
        if version.raw is None or version.content is None:
            return "This document cannot be read, so it can be shown and not written."
        if version.kept_on is not None:
            return "This version is told from a state that was kept, so it is only shown; read it again to edit it."
        if damage := unreadable(version.raw):
            return f"This document {damage}, so it can be shown and not written."
        if self.numbered and version.v is not None and version_damage(version.v):
            return f"The version of this document is a {version.v.kind}, not a whole number; mend that before editing."
        return ""

    @property
    def sealing(self) -> CollectionProfile:
        """The profile with the recipe of its hashes, if one is stated or proven."""
        return self.profile

    # --- looking for damage

    @property
    @abstractmethod
    def check(self) -> Check:
        """The check for this layout's kinds of damage."""

    def findings(
        self,
        ids: Sequence[Value] | None = None,
        now: dt.datetime | None = None,
        checkpoint: Checkpoint = no_checkpoint,
        reading: OrderedReading | None = None,
    ) -> Iterator[Finding | Unchecked]:
        """The damage of some or all documents, and the documents that were not checked.

        Streams: memory does not grow with the collection. ``now`` decides what is inside the grace period;
        ``reading`` says where and how fast a scan reads, and is told of its progress.
        """
        reading = reading or OrderedReading(self.server, checkpoint)
        return self.check.findings(ids, now or dt.datetime.now(dt.UTC), reading)

    # --- the parts of a swap

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> SwapSteps:
        """The writes that :meth:`swap` sends; raises ``Refused`` for an edit that no write can express.

        ``v`` is the new version's number, if already drawn.
        """
        if self.rows is None:
            raise Refused(self.read_only)
        return self.rows.steps(id, base, content, stamp)

    def checkpoint(self, versions: Sequence[Version], kept: int) -> bytes:
        """The stored document of ``versions[kept]`` (newest first) that needs none of the older ones.

        Raises ``Refused`` if there is none.
        """
        return versions[kept].raw or c.EMPTY

    def needs_for_checkpoint(self) -> str:
        """What shows that a version needs none of the older ones, an advice; "" if nothing has to be done."""
        return ""

    def explain(self, base: Version) -> str:
        """The order of the writes and the guard, in one or two sentences."""
        return self.rows.explain(base) if self.rows is not None else self.read_only

    def explained(self, base: Version, stamp: Stamp | None = None) -> str:
        """The order of the writes, their guards with the lock of another program, and the fields written beside."""
        parts = [self.explain(base), self.foreign.explain(base.raw or c.EMPTY)]
        if stamp is not None and (names := self.written_beside(base.raw or c.EMPTY, stamp)):
            *others, last = names
            one = f"Beside the edited fields it writes {last}."
            parts.append(f"Beside the edited fields it writes {', '.join(others)} and {last}." if others else one)
        return " ".join(filter(None, parts))

    def written_beside(self, raw: bytes, stamp: Stamp) -> tuple[str, ...]:
        """The fields that a write over a stored document changes beside those that were edited."""
        if self.rows is not None or self.read_only:
            return tuple(self.foreign.moved(raw))
        p, inside = self.profile, ""
        part = raw
        if self.within:
            inside = getattr(p, self.within)
            current = c.get(raw, (inside,))
            part = current.data if current is not None and current.type == c.OBJECT else c.EMPTY
        names = [p.version] if self.numbered else []
        if p.hash and c.get(part, (p.hash,)) is not None:
            names.append(p.hash)
        stamped = self.own.stamped(stamp).items()
        names += [name for name, value in stamped if value is not None or c.get(part, (name,)) is not None]
        return (*(f"{inside}.{name}" if inside else name for name in names), *self.foreign.moved(raw))

    def foreseen(self, id: Value, base: Version, content: bytes, stamp: Stamp) -> list[Write]:
        """All writes that a swap would send now, in order; drawing a number comes first."""
        self._check(base)
        v, writes = self.writer.foreseen_number(id, base, stamp)
        return [*writes, *self.steps(id, base, content, stamp, v).all]

    def foresight(self) -> Foresight | None:
        """Looks ahead for rules and unique indexes that would reject writes; None if the collection has none."""
        found = Foresight(self.server, self.profile, self.writer.unique, self.own_documents)
        return found if found.is_needed() else None

    def would_store(self, id: Value, base: Version | None, content: bytes, stamp: Stamp) -> Foreseen:
        """What the deciding write of a swap, or of a creation without a ``base``, would store now."""
        content = self.signed(content, stamp.author, stamp.reason)
        if base is None:
            first = numbering.first(self.profile, stamp.at) if self.numbered else None
            return Foreseen(id, None, self._new_document(id, content, stamp, first))
        v, _ = self.writer.foreseen_number(id, base, stamp)
        steps = self.steps(id, base, content, stamp, v)
        return Foreseen(id, None if steps.decides.kind == "insert" else base.raw, steps.makes)

    def _number(self, id: Value, base: Version, content: bytes, stamp: Stamp) -> Value | None:
        """The number of the version with the new content; None without numbers."""
        return self.writer.number(id, base, stamp)

    def _prepared(self, steps: SwapSteps, id: Value, base: Version, content: bytes) -> Outcome | None:
        """Send the writes before the deciding one; returns an outcome if the deciding one must not follow."""
        if self.rows is not None:
            return self.rows.prepare(steps, id, base, content)
        return self.writer.prepared(id, base)

    def _swapped(self, outcome: Outcome, content: bytes, stamp: Stamp) -> Outcome:
        """Clean up after a swap; returns the outcome, with a note on any write that failed."""
        return outcome

    def retyped(self, content: bytes, base: bytes) -> bytes:
        """An earlier state to restore over a content: lost types are recovered as far as possible."""
        return self.rows.retyped(content, base) if self.rows is not None else content

    def settle(self, id: Value, base: bytes, stamp: Stamp, arrived: bool) -> str:
        """Finish a swap that turned out to have arrived, or clean up after one that did not, if necessary.

        ``base`` is the stored document that it started from. Returns why that failed, one sentence, or "".
        """
        return self.rows.settle(id, base, stamp, arrived) if self.rows is not None else ""

    def _created(self, outcome: Outcome, content: bytes, stamp: Stamp) -> Outcome:
        """Look again after a creation; returns the outcome, with a note on any write that failed."""
        return outcome

    # --- writing; no state that a write can meet raises an error

    def swap(self, id: Value, base: Version, content: bytes, stamp: Stamp | None = None) -> Outcome:
        """Make ``content`` the next version if ``base`` is still current and :meth:`writable`.

        The write can be found again by the stamp's token (:meth:`landed`); record the token before calling.
        """
        try:
            if reason := self.writable(base):
                raise Refused(reason)
        except Refused as error:
            return self.writer.outcomes.refused(id, str(error))
        return self.swap_writable(id, base, content, stamp or Stamp())

    def swap_writable(self, id: Value, base: Version, content: bytes, stamp: Stamp) -> Outcome:
        """Do :meth:`swap`, after :meth:`writable` has found no objection."""
        content = self.signed(content, stamp.author)
        try:
            # Before the steps, which hold it. A number whose swap then fails stays a gap; it is given to nobody else.
            v = self._number(id, base, content, stamp)
            steps = self.steps(id, base, content, stamp, v)
            held_by = partial(self._held, id, steps.made, None if self.own_documents else base.raw)
            # Before anything is sent: after the preparing writes, a rejected swap would leave rows that no version
            # follows. A swap alone leaves nothing.
            looks_first = bool(steps.before) or self.own_documents or self.rows is not None
            if looks_first and (held := held_by()):
                return self.writer.outcomes.hindered(id, base, held)
            if steps.before and base.raw and document_rules.are_broken(self.server, self.ns, base.raw, steps.makes):
                return self.writer.outcomes.hindered(id, base, BREAKS_RULES)
            if stopped := self._prepared(steps, id, base, content):
                return stopped
        except Refused as error:
            return self.writer.outcomes.refused(id, str(error))
        end = run(self.server, steps.decides, self.writer.asks(id, stamp, steps.made, base), steps.repeatable)
        outcome = self.writer.outcomes.swapped(end, id, base, content, stamp, v)
        if outcome.kind == "refused" and not looks_first and (held := held_by()):
            return self.writer.outcomes.hindered(id, base, held)
        if self.rows is not None:
            # Another program's rows are completed also if the swap failed: a row written before it has to go again.
            return self.rows.finish(outcome, steps, id, base, stamp)
        return self._swapped(outcome, content, stamp)

    def create(self, content: bytes, id: Value | None = None, stamp: Stamp | None = None) -> Outcome:
        """Insert a document as its first version; ``refused`` if the id exists, which a unique index detects.

        After a tombstone with this id, the new version follows the tombstone.
        """
        stamp = stamp or Stamp()
        content = self.signed(content, stamp.author)
        id = id if id is not None else Value.of(ObjectId())
        try:
            if reason := self.read_only or self.missing_index(remembered=True):
                raise Refused(reason)
            # Not left to the unique index: where the first versions are gone, it lets the document begin again below.
            if self.writer.occupied(id):
                return self.writer.outcomes.taken(id)
            # A tombstone is the newest version, so the new document follows it like an edit.
            if (ended := self.writer.ended(id)) is not None:
                return self.swap(id, ended, content, stamp)
            v = self._first_number(id, content, stamp)
            raw = self._new_document(id, content, stamp, v)
            if held := self._held(id, lambda: raw):
                raise Refused(held)
        except Refused as error:
            return self.writer.outcomes.refused(id, str(error))
        return self._inserted(id, v, raw, content, stamp)

    def create_again(self, id: Value, base: Version, content: bytes, stamp: Stamp | None = None) -> Outcome:
        """Insert a deleted document as the version that follows what is left of it; ``base`` is the last one known.

        Where ``base`` itself is what it :meth:`follows`, it becomes a part of the history, as by a swap.
        """
        stamp = stamp or Stamp()
        signed = self.signed(content, stamp.author)
        try:
            if reason := self.read_only or self.missing_index(remembered=True):
                raise Refused(reason)
            if self.follows(id, base) is not base:
                return self.create(content, id, stamp)
            if self.writer.occupied(id):
                return self.writer.outcomes.taken(id)
            v = self._number(id, base, signed, stamp)
            steps = self.steps(id, base, signed, stamp, v)
            raw = steps.made()
            if held := self._held(id, lambda: raw):
                raise Refused(held)
            if stopped := self._resumed(steps, id, base):
                return stopped
        except Refused as error:
            return self.writer.outcomes.refused(id, str(error))
        return self._inserted(id, v, raw, signed, stamp)

    def follows(self, id: Value, base: Version) -> Version | None:
        """The version that a deleted document follows if it is created again; None if its history begins again.

        ``base`` is the last version known, which may be stored no more.
        """
        return self.writer.ended(id) if self.own_documents else None

    def _resumed(self, steps: SwapSteps, id: Value, base: Version) -> Outcome | None:
        """Send the writes before the insert of :meth:`create_again`; returns an outcome if it must not follow."""
        return None

    def _inserted(self, id: Value, v: Value | None, raw: bytes, content: bytes, stamp: Stamp) -> Outcome:
        """Insert a document that was composed for a creation."""
        write = Write(self.ns, "insert", {}, raw, "the new document", self.writer.unique)
        end = run(self.server, write, self.writer.asks(id, stamp, lambda: raw))
        return self._created(self.writer.outcomes.created(end, id, v, stamp), content, stamp)

    def _held(self, id: Value, made: Made, before: bytes | None = None) -> str:
        """Why a unique index other than the layout's own will reject a document, one sentence; "" if none will.

        ``before`` is the document's earlier state, if it replaces itself.
        """
        unique = self.writer.unique
        return indexes.held(self.server, self.profile, id, made, before, unique, self.own_documents)

    def _first_number(self, id: Value, content: bytes, stamp: Stamp) -> Value | None:
        """The version of a new document; None without numbers."""
        return self.writer.first_number(id, stamp)

    def _new_document(self, id: Value, content: bytes, stamp: Stamp, v: Value | None) -> bytes:
        """The stored document of a first version; raises ``Refused`` if it would be too large."""
        return self.writer.new_document(id, content, stamp, v)

    def delete(self, id: Value, base: Version, stamp: Stamp | None = None) -> Outcome:
        """Delete the document if ``base`` is still its current version.

        Versions stored as documents of their own, or as archive rows, stay.
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
        """Every (ns, stored document) that :meth:`delete` would remove, for safekeeping before."""
        return self.writer.removal(id, base)

    def last(self, id: Value) -> Version:
        """The newest version, also of a deleted document; raises ``NotFound`` if no version is left."""
        try:
            return self.version(id)
        except NotFound:
            # A deleted document has no current version, and its history may begin with a gap.
            return next(version for version in self.history(id, contents=True) if version.state != "missing")

    def purge(
        self, id: Value, base: Version, stamp: Stamp | None = None, kept: Sequence[tuple[str, bytes]] | None = None
    ) -> Outcome:
        """Remove the document and all its versions, if ``base`` is still the newest one, as :meth:`last` returns it.

        ``kept`` are the documents of :meth:`all_stored` that were saved before. No other is removed; if there are
        more or fewer by now, it is a conflict.
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
        """Every (ns, stored document) that :meth:`purge` would remove, for safekeeping before."""
        return self.writer.all_stored(id, base)

    def stands(self, ns: str, raw: bytes) -> bool | None:
        """Whether a document named by :meth:`all_stored`, or a later state of it, exists.

        None if its id may belong to another document and nobody can tell.
        """
        return self.writer.stands(raw)

    def landed(
        self, id: Value, token: ObjectId, base: Version | None = None, content: bytes | None = None
    ) -> bool | None:
        """Whether the write with this token is in the current document or its history; None if nobody can tell.

        False is certain if ``base``, the version that the write started from, is given and the history is complete.
        If documents carry no token, the ``content`` that the write was to make of the base tells.
        """
        return self.writer.landed(id, token, base, content)

    def missing_index(self, remembered: bool = False) -> str | None:
        """Why writing is refused without a unique index, one sentence; None if no index is missing.

        ``remembered`` trusts an index seen some minutes ago.
        """
        return self.writer.missing_index(remembered)

    def create_index(self) -> None:
        """Create the index that :meth:`missing_index` asks for; raises ``Refused`` that names duplicates in its way."""
        self.writer.create_index()

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """The (ns, document) pairs that store these versions, oldest first, the current document last.

        A migration to this layout writes them. Reads nothing; equal versions give equal bytes. Raises ``Refused`` for
        versions that this layout cannot store.
        """
        raise Refused(type(self).read_only)

    def is_purged(self, id: Value) -> bool:
        """Whether the versions that a delete leaves were removed since; False if it leaves none, as nobody can tell."""
        return False

    def put_back(self, removed: Sequence[tuple[str, bytes]]) -> Outcome:
        """Insert removed documents again, by :func:`.put_back`; ``conflict`` if the id is taken."""
        if self.read_only:
            return Outcome("refused", self.ns, None, self.read_only)
        return self.writer.written_since(removed) or put_back(self.server, self.profile, removed, self.writer.unique)

    def signed(self, content: bytes, author: str | None, reason: str | None = None) -> bytes:
        """The content with author and reason, if they belong to the content; repeating it changes nothing."""
        if self.profile.seals_author:
            # Nothing is written for an author who is unknown: a null would be content, and hashed.
            for name, said in ((self.profile.author, author), (self.profile.reason, reason)):
                content = c.put(content, (name,), Value.of(said)) if name and said else content
        return content

    @property
    def takes_reason(self) -> bool:
        """Whether a version written from here can record why it was made."""
        if self.read_only or not self.profile.reason:
            return False
        return not self.written_by_others or "$reason" in self.profile.row.values()

    def _check(self, base: Version) -> tuple[bytes, bytes]:
        """The stored document and the content of a base that may be overwritten; else raises ``Refused``."""
        if reason := self.read_only or self._objection(base):
            raise Refused(reason)
        assert base.raw is not None
        assert base.content is not None
        return base.raw, base.content
