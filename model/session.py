"""The session, the model's one door: it owns the connection to one source, and everything else is reached from it.

A source is a MongoDB URI, a dump (a folder, a ``.bson`` file, a file of Extended JSON lines) or ``sample:``.
Every method may wait for the server, may be called from any thread, and raises ``Refused`` in one sentence where
a person can act. Methods that take a checkpoint call it between steps and stop where it raises ``Cancelled``.
A write never raises because of the document's state: it returns an ``Outcome``.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import importlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path as FilePath
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from model.errors import NotAllowed, NotFound, Refused, Unreadable
from model.foundation.checkpoints import Checkpoint, no_checkpoint

if TYPE_CHECKING:
    from bson import ObjectId

    from model import text
    from model.browsing.explanation import Explained
    from model.browsing.field_survey import FieldSurvey, FieldUse
    from model.browsing.indexes_in_use import Indexes, IndexUse
    from model.catalogue import sources
    from model.catalogue.catalogue import ALL, Catalogue, Comparison, filter_terms, sort_terms
    from model.catalogue.kept_recognition import KeptRecognition
    from model.catalogue.layout_statements import LayoutStatements
    from model.catalogue.sources import address_trouble, start_early, try_source
    from model.counting.pending import in_turn
    from model.exchange.history_files import ExportedDocument, ExportedHistory, Form
    from model.feed import Fed
    from model.foundation.address import DOTS, Address
    from model.foundation.news import News, tell
    from model.foundation.records import (
        CollectionInfo,
        Draft,
        Entry,
        Matches,
        Opened,
        Outcome,
        Outline,
        Page,
        PendingToken,
        Row,
        Sending,
        ServerFacts,
        Version,
    )
    from model.guarantees import Guarantee
    from model.guarantees.server_verdicts import Measured, ServerVerdicts
    from model.health import Health
    from model.history import following
    from model.history.chain import Bisection, Blame, Chain, Key, bisect, key_at
    from model.history.chain_reading import ChainReading
    from model.layouts import registry
    from model.layouts.base import Layout
    from model.layouts.log import Log
    from model.operations.batches import Batches, Deleted, DeletionPlan, InsertionPlan
    from model.operations.history_import import ArrivingDocument, HistoryImport, ImportPlan
    from model.operations.migration import Migration
    from model.operations.taking_back import TakingBack
    from model.over_time.activity import ActivityList
    from model.over_time.as_of import AsOf, Compared
    from model.over_time.document_history import DocumentHistory
    from model.over_time.history_list import HistoryList
    from model.over_time.tail import Tail
    from model.over_time.watched import Watched
    from model.profile import Profile
    from model.profile.profile_file import ProfileEdit
    from model.repair import Repairs
    from model.scan import Mark, Pace, Scan, ScanEstimate
    from model.server.connection_steps import ConnectionStep
    from model.storage import document_ids
    from model.storage.composite_ids import CompositeIds, as_sent, stored
    from model.storage.newest_query import PageQuery
    from model.storage.swap_steps import Stamp
    from model.text.moments import moment_from_text
    from model.text.names import id_name, version_name
    from model.text.paths import fitted
    from model.text.row_file import Written
    from model.things_to_try import Thing
    from model.userdata import folders
    from model.userdata.connections import (
        Connections,
        SavedConnection,
        label,
        needs_password,
        without_password,
    )
    from model.userdata.drafts import Drafts
    from model.userdata.journal import Journal, Record
    from model.values import canonical
    from model.values.canonical import Path, Value
    from model.writing import edit
    from model.writing.edit import Conflict
    from model.writing.exactly_once import Once, totals
    from model.writing.writer import Writer

MARKED_WHOLE = 256 * 1024
PULSE_MS = 2_000  # milliseconds in which a collection tells whether rows came or went
"""Bytes of documents up to which other programs' writes are looked for in all of their fields."""

__all__ = [
    "DOTS",
    "Address",
    "ArrivingDocument",
    "Batches",
    "Comparison",
    "Conflict",
    "ConnectionStep",
    "Connections",
    "Deleted",
    "DeletionPlan",
    "Draft",
    "Drafts",
    "Entry",
    "Explained",
    "ExportedDocument",
    "ExportedHistory",
    "FieldSurvey",
    "FieldUse",
    "Form",
    "Guarantee",
    "HistoryImport",
    "ImportPlan",
    "IndexUse",
    "Indexes",
    "InsertionPlan",
    "Journal",
    "Measured",
    "SavedConnection",
    "Session",
    "Thing",
    "address_trouble",
    "in_turn",
    "label",
    "needs_password",
    "start_early",
    "things",
    "totals",
    "try_source",
    "without_password",
]


NOT_READ = "N/A: the file is not read yet; these come first in it."
SURVEYED = 200  # documents that are looked at for the fields of a collection


_HANDED_ON = {
    "model.foundation.address": ("DOTS", "Address"),
    "model.operations.batches": ("Batches", "Deleted", "DeletionPlan", "InsertionPlan"),
    "model.browsing.explanation": ("Explained",),
    "model.browsing.field_survey": ("FieldSurvey", "FieldUse"),
    "model.browsing.indexes_in_use": ("Indexes", "IndexUse"),
    "model.catalogue.catalogue": ("Comparison",),
    "model.counting.pending": ("in_turn",),
    "model.exchange.history_files": ("ExportedDocument", "ExportedHistory", "Form"),
    "model.guarantees": ("Guarantee",),
    "model.guarantees.server_verdicts": ("Measured",),
    "model.operations.history_import": ("ArrivingDocument", "HistoryImport", "ImportPlan"),
    "model.foundation.records": ("Draft", "Entry"),
    "model.server.connection_steps": ("ConnectionStep",),
    "model.catalogue.sources": ("address_trouble", "start_early", "try_source"),
    "model.things_to_try": ("Thing",),
    "model.userdata.connections": ("Connections", "SavedConnection", "label", "needs_password", "without_password"),
    "model.userdata.drafts": ("Drafts",),
    "model.userdata.journal": ("Journal",),
    "model.writing.edit": ("Conflict",),
    "model.writing.exactly_once": ("totals",),
}
"""The names that are handed on, by the modules that have them; each is imported when somebody asks for it."""

_has_parts = False


def _bring_parts() -> None:
    """Import what every open session is made of, into this module: the first window comes before that."""
    global _has_parts
    if not _has_parts:
        from model import session_parts

        globals().update({name: getattr(session_parts, name) for name in session_parts.__all__})
        _has_parts = True


def __getattr__(name: str) -> object:
    """Import a name that is handed on when somebody asks for it."""
    for module, names in _HANDED_ON.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    if not name.startswith("_"):
        _bring_parts()
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def things() -> tuple[Thing, ...]:
    """The things that a newcomer can try in the sample, each with its place."""
    from model.things_to_try import THINGS

    return THINGS


class Session:
    """An open source. Made by :meth:`open`; a context manager that closes what it opened."""

    source: str
    """As it was given, without a password."""
    name: str
    """A short name for people: the host, the dump's folder, ``sample:``."""
    facts: ServerFacts
    journal: Journal
    drafts: Drafts
    health: Health
    named_database: str
    """The database that the URI names, ``mongodb://host/shop``; "" where it names none."""
    is_sample: bool
    data: str
    """What the news of writes name: of all sessions on the same server, and of no other sample or dump."""
    is_local: bool
    is_near: bool
    """Whether its server runs in this process or on this computer."""
    """Whether the data live in this process (a dump or the sample) and are thrown away at the end."""

    @classmethod
    def open(
        cls,
        source: str | FilePath,
        profile: str | FilePath | Profile | None = None,
        read_only: bool = False,
        into_memory: bool = False,
        password: str | None = None,
        home: FilePath | None = None,
        at_once: bool = False,
        checkpoint: Checkpoint = no_checkpoint,
        apart: bool = False,
    ) -> Session:
        """Connect, and ask the server for its facts.

        A large dump is read to its end, with the checkpoint told the bytes of it; it is kept in a cache, so that it is
        read once. With ``at_once`` only its first documents are there, until :meth:`read_on` has read it.

        ``profile`` states layouts, most often a TOML file. A dump is read-only unless ``into_memory``. ``password``
        is for a URI that names a user only. ``home`` is the folder of journal and drafts (default: the user's
        data folder, or ``PALIMPSEST_HOME``). ``apart`` serves what is held in memory from a process of its own.
        Raises ``Unreachable``, ``NotFound``, ``Unreadable`` or ``Refused``.
        """
        _bring_parts()
        stated = profile if profile is None or isinstance(profile, Profile) else Profile.load(profile)
        opened = sources.connect(str(source), read_only, into_memory, password, home, apart)
        try:
            made = cls(opened, stated, read_only, home)
            if not at_once:
                made.read_on(checkpoint)
            return made
        except BaseException:
            opened.close()
            raise

    def __init__(self, opened: sources.Source, profile: Profile | None, read_only: bool, home: FilePath | None) -> None:
        """Hold a source that is open; callers use :meth:`open`."""
        _bring_parts()
        self._opened = opened
        self.source, self.name = opened.text, opened.name
        self.is_local, self.is_sample = opened.is_local, opened.text == sources.SAMPLE
        address = Address.parse(opened.text)
        self.is_near = opened.is_local or (address is not None and address.is_near)
        self.facts = opened.server.facts()
        import uuid

        lifetime = uuid.uuid4().hex if opened.is_local else ""
        self.journal = Journal(home, lifetime)
        self.data = f"{opened.text} {lifetime}".rstrip()
        self.drafts = Drafts(home)
        self.health = Health(opened.text, home, kept=not opened.is_local or bool(opened.fixed))
        self._home = home
        self.named_database = opened.database
        self._port = CompositeIds(opened.server, lambda ns: self._catalogue.id_parts(ns))
        kept = KeptRecognition(folders.kept_again(home), opened.server.loaded) if self.is_sample else None
        self._catalogue = Catalogue(opened.server, self._port, profile, opened.text, opened.database, kept)
        self._writer = Writer(self._catalogue, self._port, self.journal, opened.text, _user(), self.data)
        self.read_only = read_only
        self._unread: tuple[str, ...] = ()
        self._troubles: tuple[str, ...] = ()
        self._look_at_dump()

    @property
    def read_only(self) -> bool:
        """Whether writing raises ``NotAllowed``; it can be set, but a dump stays read-only all the same."""
        return self._opened.server.read_only

    @read_only.setter
    def read_only(self, value: bool) -> None:
        self._opened.server.read_only = value or bool(self._opened.fixed)

    def close(self) -> None:
        """Let go of the connection and of an in-process server; a second call does nothing."""
        self._opened.close()
        self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    @property
    def unread(self) -> tuple[str, ...]:
        """The collections of a dump of which only the first documents are there; see :meth:`read_on`."""
        return self._unread

    @property
    def troubles(self) -> tuple[str, ...]:
        """Why some files of a dump could not be read to their ends, a sentence each; what comes before is there."""
        return self._troubles

    def _look_at_dump(self) -> None:
        if self.is_local and not self.is_sample:
            state = self._opened.server.dump("look")
            self._unread, self._troubles = tuple(state["unread"]), tuple(state["troubles"])

    def read_on(self, checkpoint: Checkpoint = no_checkpoint) -> None:
        """Read a large dump to its end, and recognise its collections anew; where it was stopped, it goes on there.

        The checkpoint is told bytes done and of how many.
        """
        if not self.unread:
            return
        # The first documents mostly tell the layout, and with it the fields by which versions are looked up.
        for ns, paths in self._catalogue.lookups():
            if ns in self.unread:
                self._opened.server.dump("learn", ns=ns, paths=list(paths))
        try:
            self._opened.read_on(checkpoint)
        finally:
            self._look_at_dump()
        self._catalogue.look_anew()

    def _all_read(self, *places: str) -> None:
        """Raise ``Refused`` where not all documents of these places are there yet, of all where none is named."""
        wanted = [ns for ns in self.unread if not places or ns in places or ns.partition(".")[0] in places]
        if wanted:
            raise Refused(_part_read(wanted[0]))

    def _unread_beside(self, ns: str) -> str | None:
        """A collection of the same database that is not read to its end, where versions may be; None for none."""
        db = ns.partition(".")[0]
        return next((each for each in self.unread if each.partition(".")[0] == db), None)

    def _histories_read(self, ns: str) -> None:
        """Raise ``Refused`` where versions may not be read yet: they would be told as missing."""
        if (unread := self._unread_beside(ns)) is not None:
            raise Refused(_part_read(unread))

    def refresh_facts(self) -> ServerFacts:
        """Ask the server again for its facts and the time it takes to answer."""
        self.facts = self._opened.server.facts(refresh=True)
        return self.facts

    # --- reading: the collections, their documents, and these over all their versions

    @property
    def database(self) -> str:
        """The only database that is looked at where none is named, at first the URI's own; settable, "" is all."""
        return self._catalogue.database

    @database.setter
    def database(self, name: str) -> None:
        self._catalogue.database = name

    def databases(self) -> list[str]:
        """The databases this user may see, without the server's own; :attr:`database` alone where there is one."""
        return self._catalogue.databases()

    def collections(self, db: str | None = None, checkpoint: Checkpoint = no_checkpoint) -> Iterator[CollectionInfo]:
        """Each collection of one database, or of all, with the layout recognised or stated for it."""
        return self._catalogue.collections(db, checkpoint)

    @property
    def unseen(self) -> Mapping[str, str]:
        """What this user may not see, as far as it was looked for; each sentence names the privilege that is missing.

        Under "" databases that may not be listed, under a database its collections, under a collection its documents.
        """
        return self._catalogue.unseen

    def info(self, ns: str) -> CollectionInfo:
        """One collection, as it was recognised before where possible; raises ``NotFound``."""
        return self._catalogue.info(ns)

    @property
    def profile_file(self) -> FilePath | None:
        """The file whose profile is in use, by its whole path; None where there is none or it came as a value."""
        return self._catalogue.profile_file

    @property
    def statements(self) -> LayoutStatements:
        """Layouts that a person states: how a collection would be read, reading it so, and the file to keep it in."""
        from model.catalogue.layout_statements import LayoutStatements

        return LayoutStatements(self._catalogue, self._port)

    def contradictions(self, ns: str) -> tuple[str, ...]:
        """What the data of a collection say against the layout that it is read by, sentences with an example each."""
        return self.statements.against(ns)

    def keep_profile(self, edit: ProfileEdit, ns: str) -> bool:
        """Write a profile in which ``ns`` was stated; whether it is the one in use now.

        It is where none was in use, or this one; with another in use the collection alone is read by it. Raises
        ``Refused``.
        """
        edit.write()
        written = Profile.load(edit.path)
        if self.profile_file in (None, edit.path):
            self._catalogue.adopt(written, ns)
            return True
        stated = written.get(ns)
        if stated is not None:
            self._catalogue.state(stated)
        return False

    @property
    def layouts(self) -> dict[str, str]:
        """The layouts and patterns that a collection can be read as, each in a few words."""
        return {name: registry.declared(name).about for name in registry.NAMES}

    @property
    def histories(self) -> dict[str, str]:
        """The layouts that a collection can be moved to, each in a few words."""
        return {name: each.about for name, each in registry.WRITABLE.items()}

    def set_layout(self, ns: str, name: str) -> CollectionInfo:
        """Use another layout for a collection from now on, as ``--layout`` does; an unknown one is ``Refused``."""
        return self._catalogue.set_layout(ns, name)

    def accept_layout(self, ns: str = "") -> None:
        """Write by the profile of a collection, or of all, although its data refute it; see ``Opened.doubt``."""
        self._catalogue.accept(ns)

    def state_guard(self, ns: str, how: str) -> CollectionInfo:
        """Say how the field that looks like another program's lock moves, as :attr:`.Opened.lock` asks, from now on.

        ``how`` is "inc" for one higher with each write, "uuid" for a new one, "none" where it is an ordinary field.
        """
        return self._catalogue.state_guard(ns, how)

    def documents(
        self,
        ns: str,
        filter: str = "",
        sort: str = "",
        fields: str = "",
        skip: int = 0,
        limit: int = 50,
        any_version: bool = False,
        checkpoint: Checkpoint = no_checkpoint,
    ) -> Page:
        """A page of current documents; filter, sort and fields as people type them (``model.text.loose`` reads them).

        The filter looks at current versions, or with ``any_version`` at earlier ones too.
        """
        found = self._catalogue.page(ns, filter, sort, fields, skip, limit, any_version, checkpoint)
        if ns in self.unread:
            return replace(found, total=None, total_note=NOT_READ)
        return found

    def marks(self, ns: str, ids: Sequence[Value], size: int = 0) -> dict[Value, bytes]:
        """A mark of each current document that is there, which is another once the document was written.

        ``size`` are their bytes, as far as known. Small documents are read whole; of large ones only what a layout
        keeps for itself, by which a write without a new version or token is not noticed.
        """
        layout = self._catalogue.layout(ns)
        named = {layout.profile.id: 1} if self._marked_in_part(ns, size) else None
        query = PageQuery({layout.profile.id: {"$in": list(ids)}}, projection=named, limit=len(ids))
        return {row.id: _mark(row.raw) for row in layout.page(query)}

    def mark(self, ns: str, raw: bytes, size: int = 0) -> bytes | None:
        """The mark that a document has in :meth:`marks` as it was read; None where that one is not of the whole."""
        return None if self._marked_in_part(ns, size) else _mark(raw)

    def _marked_in_part(self, ns: str, size: int) -> bool:
        profile = self._catalogue.layout(ns).profile
        return bool(profile.version or profile.token) and size > MARKED_WHOLE

    def pulse(self, ns: str) -> tuple[int | None, bytes | None]:
        """How many rows a collection has by the server's own count, and the greatest ``_id``; both without a scan.

        They are others once rows came or went, whatever a page of its documents shows.
        """
        server = self._opened.server
        last = next(iter(server.find(ns, sort={"_id": -1}, projection={"_id": 1}, limit=1, max_ms=PULSE_MS)), None)
        return server.count(ns, max_ms=PULSE_MS), last

    def count(self, ns: str, filter: str = "", any_version: bool = False, max_ms: int = 5000) -> tuple[int | None, str]:
        """How many documents match, given more time than a page gives it; else None and why it is not known."""
        if ns in self.unread:
            return None, NOT_READ
        return self._catalogue.count(ns, filter, any_version, max_ms)

    def fields(self, ns: str) -> FieldSurvey:
        """The fields of a collection with their types, as the first documents of a list have them.

        They are named as a filter names them, wherever the layout keeps the content.
        """
        from model.browsing.field_survey import survey

        layout = self._catalogue.layout(ns)
        rows = layout.page(PageQuery(limit=SURVEYED))
        return survey(row.but(raw=layout.document(row.raw)) if row.readable else row for row in rows)

    def indexes(self, ns: str) -> Indexes:
        """The indexes of a collection, each with how often the server has used it, where it tells."""
        from model.browsing.indexes_in_use import indexes_in_use

        return indexes_in_use(self._opened.server, ns)

    def explain(
        self, ns: str, filter: str = "", sort: str = "", any_version: bool = False, max_ms: int = 20_000
    ) -> tuple[Explained, ...]:
        """How the server finds the documents that :meth:`documents` would list, in words; it does it for that.

        Raises ``Refused`` where it knows no explain or needs longer than ``max_ms``.
        """
        from model.browsing.explanation import explain

        query = PageQuery(filter_terms(filter), sort_terms(sort), None, 0, ALL, any_version)
        return explain(self._opened.server, self._catalogue, ns, query, max_ms)

    def export(
        self, ns: str, path: str, filter: str = "", sort: str = "", any_version: bool = False,
        checkpoint: Checkpoint = no_checkpoint, skip: int = 0, limit: int = 0,
    ) -> Written:  # fmt: skip
        """Write every document that :meth:`documents` would list to a file, by ``model.text.row_file.write_rows``."""
        from model.text.row_file import write_rows

        self._all_read(ns)
        total, _ = self.count(ns, filter, any_version)
        if total is not None:
            total = min(max(0, total - skip), limit or total)
        found = self._catalogue.rows(ns, filter, sort, any_version, skip, limit or ALL)
        rows = (row.but(raw=self.stored(ns, row.raw)) for row in found)
        return write_rows(rows, FilePath(path), total, checkpoint)

    def export_rows(self, ns: str, path: str, rows: Sequence[Row], checkpoint: Checkpoint = no_checkpoint) -> Written:
        """Write some documents of a list to a file, as they were listed but whole: those that are gone are left out."""
        from model.text.row_file import write_rows

        layout = self._catalogue.layout(ns)

        def whole() -> Iterator[Row]:
            for row in rows:
                try:
                    found = next(layout.page(PageQuery({layout.profile.id: row.id}, limit=1)), None)
                except Refused:
                    found = None
                found = found or row.but(readable=False)
                yield found.but(raw=self.stored(ns, found.raw)) if found.readable else found

        return write_rows(whole(), FilePath(path), len(rows), checkpoint)

    def outlines(self, ns: str, ids: Sequence[Value], checkpoint: Checkpoint = no_checkpoint) -> Iterator[Outline]:
        """The histories in miniature of some documents, as they become known."""
        if self._unread_beside(ns):
            return  # a version that is not read yet would be told as missing
        for done, outline in enumerate(self._catalogue.layout(ns).outline(ids), 1):
            checkpoint(done, len(ids))
            yield outline

    def content_fields(self, ns: str, id: Value) -> FieldSurvey:
        """The fields in the content of a document's newest version with their types, as :meth:`bisect` judges it."""
        from model.browsing.field_survey import survey

        newest = self.last(ns, id)
        content = self.version(ns, id, newest.v).content or canonical.EMPTY
        return survey([Row(id, newest.v, newest.at, len(content), content)])

    def matching(
        self, ns: str, ids: Sequence[Value], filter: str, checkpoint: Checkpoint = no_checkpoint
    ) -> Iterator[Matches]:
        """The versions that a filter finds, of some documents of a list that any version was asked for, one by one."""
        layout, holds = self._catalogue.layout(ns), following.condition(filter)
        for done, id in enumerate(ids, 1):
            judged = []
            for version in layout.history(id, contents="all"):
                checkpoint(done, len(ids))
                judged.append((version, version.content is not None and holds(self._seen(layout, id, version))))
            yield following.matches(id, judged)

    def _seen(self, layout: Layout, id: Value, version: Version) -> bytes:
        """A version as a filter sees it: with the document's id and what else the layout keeps beside the content."""
        key = layout.profile.id
        own = [pair for pair in canonical.fields(self._document(layout, version)) if pair[0] not in (key, "_id")]
        return canonical.document([(key, id), *own])

    def find_id(self, ns: str, text: str) -> Value:
        """The stored id that a person means by a text: plain where only one matches, else Extended JSON.

        Raises ``NotFound``, or ``Refused`` with the ids that match.
        """
        return self._catalogue.layout(ns).find_id(text)

    def find_current(self, ns: str, text: str) -> tuple[Value, Version]:
        """The stored id that a person means by a text, and its current version; raises as :meth:`find_id` does."""
        return self._catalogue.layout(ns).find_current(text)

    def history(
        self, ns: str, id: Value | object, checkpoint: Checkpoint = no_checkpoint, changed: bool = True
    ) -> DocumentHistory:
        """The versions of a document, newest first, one for each missing number too, and as plain rows.

        An ``id`` is text as :meth:`find_id` takes it, else a ``Value`` or a Python object. With ``changed`` each
        version says how many fields differ from the one before it. Raises ``NotFound``, once versions are read.
        """
        self._histories_read(ns)
        stored_id = self.find_id(ns, id) if isinstance(id, str) else _value(id)
        versions = self._catalogue.history(ns, stored_id, changed, checkpoint)
        return DocumentHistory(ns, stored_id, versions, lambda: self._contents(ns, stored_id, checkpoint))

    def find_version(self, ns: str, id: Value, text: str) -> Value:
        """The version of a document that a person means: ``7``, ``v7``, a hash, Extended JSON. Raises ``NotFound``."""
        return self._catalogue.find_version(ns, id, text)

    def version(self, ns: str, id: Value, v: Value | None = None) -> Version:
        """One version with content and stored document; the current one where ``v`` is None. Raises ``NotFound``."""
        return self._catalogue.layout(ns).version(id, v)

    def stored(self, ns: str, raw: bytes) -> bytes:
        """A version's ``raw`` as the database has it: without the field that stands for an id of several fields."""
        return stored(self._port, ns, raw)

    def compare(self, ns: str, id: Value, v: Value | None, w: Value | None) -> Comparison:
        """Two versions and the difference from the first to the second; None is the current one."""
        return self._catalogue.compare(ns, id, v, w)

    def chain(
        self,
        ns: str,
        id: Value,
        checkpoint: Checkpoint = no_checkpoint,
        partial: Callable[[Chain], None] | None = None,
        keys: Sequence[str] | None = None,
    ) -> Chain:
        """Each field of a document over all its versions: which of them set it, when, and by whom.

        ``partial`` is given now and then the chain so far, newest versions first. ``keys`` are the fields by which
        elements of arrays are recognised, the profile's where they are left out. Raises ``NotFound``.
        """
        return self.chain_reading(ns, id, keys).read(checkpoint, partial)

    def chain_reading(self, ns: str, id: Value, keys: Sequence[str] | None = None) -> ChainReading:
        """The reading of :meth:`chain`, which can be stopped, and goes on where it was; asks nothing yet."""
        from model.history.chain_reading import ChainReading

        def versions() -> Iterator[Version]:
            self._histories_read(ns)
            return self._aside(ns).history(id, contents="all")

        return ChainReading(versions, lambda: self._aside(ns).last(id), lambda: self._keys(ns, keys))

    def field_key(self, ns: str, id: Value, path: Path, v: Value | None = None) -> Key:
        """The key, in a chain, of the field at a path of a version, the current one where ``v`` is None."""
        content = self.version(ns, id, v).content or canonical.EMPTY
        return key_at(content, path, self._keys(ns, None))

    def blame(
        self,
        ns: str,
        id: Value,
        checkpoint: Checkpoint = no_checkpoint,
        keys: Sequence[str] | None = None,
        inside: bool = False,
    ) -> tuple[Blame, ...]:
        """Each field of the current version with the version that last set it.

        An array whose elements have no keys is one field; with ``inside`` its elements are followed as well. Reading
        stops as soon as all of these are known. Raises ``NotFound``, and ``Unreadable`` where the current version has
        no fields that could be followed.
        """
        steps = following.RepeatedCheckpoint(checkpoint)
        return following.blamed(self._contents(ns, id, steps), self._keys(ns, keys), steps.again, inside)

    def bisect(self, ns: str, id: Value, filter: str, checkpoint: Checkpoint = no_checkpoint) -> Bisection:
        """The versions at which a condition turns: a filter as typed, judged on the content of each version.

        Raises ``NotFound``, ``Unreadable`` for a filter that is no document and ``Refused`` for one not understood.
        """
        self._histories_read(ns)
        return bisect(self._contents(ns, id, checkpoint), following.condition(filter))

    def _keys(self, ns: str, keys: Sequence[str] | None) -> Sequence[str]:
        return self._catalogue.layout(ns).profile.keys if keys is None else keys

    def _aside(self, ns: str) -> Layout:
        """A collection's layout for long reads, from other members where the address of the server asks for that."""
        return self._catalogue.layout_over(ns, self._port.aside())

    def _contents(self, ns: str, id: Value, checkpoint: Checkpoint) -> Iterator[Version]:
        """The versions newest first, with their contents, one at a time."""
        total = 0
        for done, version in enumerate(self._aside(ns).history(id, contents="all"), 1):
            if done == 1 and version.v is not None and version.v.type in (canonical.INT32, canonical.INT64):
                total = int(version.v.python())
            checkpoint(done, total if total >= done else None)
            yield version

    # --- over time

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
        """Who changed what in some collections or databases, in all where none is named, newest first.

        Both times are included; each may be a text, as ``36h`` or ``2026-11-01``, and is in UTC where it names no
        zone. ``path`` takes changes at it, below and above. An ``id`` is text as :meth:`find_id` takes it, else a
        ``Value`` or a Python object, of the one collection that is named. Raises ``Refused`` where a collection that
        is named keeps no versions, and for a time that is none.
        """
        from model.over_time.activity import ActivityList
        from model.over_time.span import Span

        places = (places,) if isinstance(places, str) else places
        span = Span(*(None if each is None else _moment(each) for each in (since, until)))
        path = text.path_from_text(path) if isinstance(path, str) else path
        if id is not None:
            if len(places) != 1 or "." not in places[0]:
                raise Refused("An id is one of a collection; name just that one.")
            id = self.find_id(places[0], id) if isinstance(id, str) else _value(id)
        self._all_read(*places)
        layouts = [self._aside(ns) for ns in self.with_versions(places)]
        return ActivityList(layouts, span, author, path, id, checkpoint)

    def tail(self, places: Sequence[str] = ()) -> Tail:
        """The new versions of some collections or databases, or of all, from the moment that they are asked for.

        Raises ``Refused`` where a collection that is named keeps no versions, or where none of them does.
        """
        from model.over_time.tail import Tail

        self._all_read(*places)
        names = self.with_versions(places)
        if not names:
            raise Refused(f"No collection of {', '.join(places) or self.name} keeps versions that could be followed.")
        return Tail(self._opened.server, [self._catalogue.layout(ns) for ns in names])

    def merges(self) -> set[tuple[str, Value, Value]]:
        """The versions that somebody merged here: collection, document and version; the journal alone knows them."""
        with suppress(Refused):  # it is a word more, and nothing is lost without it
            return self.journal.merges(self.source)
        return set()

    def as_of(
        self,
        ns: str,
        moment: dt.datetime | str,
        filter: str = "",
        contents: bool = False,
        checkpoint: Checkpoint = no_checkpoint,
    ) -> AsOf:
        """A collection as it stood at a moment; the filter judges documents as they were then.

        The moment may be a text, as ``36h`` or ``2026-11-01``, and is in UTC where it names no zone. Raises ``Refused``
        where the collection keeps no versions, for a filter that is not understood and for a time that is none.
        """
        from model.over_time.as_of import AsOf, named_fields

        self._histories_read(ns)
        at = _moment(moment)
        (ns,) = self.with_versions([ns])
        condition = following.condition(filter) if filter.strip() else None
        layout = self._catalogue.layout(ns)
        fields = named_fields(text.loose(filter))
        return AsOf(layout, at, condition, contents, checkpoint, partial(_as_listed, layout), fields)

    def past(self, ns: str, moment: dt.datetime, filter: str = "", sort: str = "") -> HistoryList:
        """The list of a collection as it stood at a moment; filter and sort as people type them.

        Raises as :meth:`as_of` does.
        """
        from model.over_time.history_list import HistoryList

        found = self.as_of(ns, moment, filter)
        seen = partial(_as_listed, found.layout)
        return HistoryList(found.layout, found.rows(), seen, sort_terms(sort), lambda: found.notes)

    def deleted(self, ns: str, filter: str = "", sort: str = "") -> HistoryList:
        """The list of a collection's documents that are gone, with who deleted them and when, as far as that is known.

        The filter judges the last version of each. What its layout does not tell, the journal of this computer may.
        Raises as :meth:`as_of` does.
        """
        from model.over_time.deleted_documents import DeletedDocuments
        from model.over_time.history_list import HistoryList

        self._histories_read(ns)
        (ns,) = self.with_versions([ns])
        layout = self._catalogue.layout(ns)
        condition = following.condition(filter) if filter.strip() else None
        seen = partial(_as_listed, layout)
        from_here: dict[Value, dt.datetime] = {}
        with suppress(Refused):  # the journal tells more, and nothing is lost without it
            from_here = self.journal.deletions(self.source, ns)
        found = DeletedDocuments(layout, condition, seen, from_here, self._writer.author)
        return HistoryList(layout, found.rows(), seen, sort_terms(sort), lambda: found.notes)

    def export_list(
        self, listed: HistoryList, path: str, skip: int = 0, limit: int = 0, checkpoint: Checkpoint = no_checkpoint
    ) -> Written:
        """Write the documents of such a list that can be proven to a file."""
        from model.text.row_file import write_rows

        return write_rows(listed.proven(skip, limit, checkpoint), FilePath(path), None, checkpoint)

    def asof(
        self, ns: str, moment: dt.datetime | str, filter: str = "", checkpoint: Checkpoint = no_checkpoint
    ) -> AsOf:
        """As :meth:`as_of`, with contents, for a notebook: ``session.asof(ns, "2026-11-01").frame()``."""
        return self.as_of(ns, moment, filter, True, checkpoint)

    def as_of_both(
        self, ns: str, first: dt.datetime, then: dt.datetime, checkpoint: Checkpoint = no_checkpoint
    ) -> Iterator[Compared]:
        """Each document that differs between two moments. Raises ``Refused`` where the collection keeps no versions."""
        from model.over_time.as_of import compared

        self._histories_read(ns)
        (ns,) = self.with_versions([ns])
        return compared(self._catalogue.layout(ns), _moment(first), _moment(then), checkpoint)

    def is_watched(self, ns: str) -> bool:
        """Whether the profile states conditions to watch for a collection; asks no server."""
        return bool(self._catalogue.watched([ns]))

    def watched(
        self,
        places: Sequence[str] = (),
        ids: Sequence[Value] | None = None,
        checkpoint: Checkpoint = no_checkpoint,
        gentle: bool = False,
    ) -> Watched:
        """Where the conditions that the profile watches turned, in some collections or databases, or in all.

        ``ids`` are the documents to look at, where one collection is named. A collection that is not there has none.
        """
        from model.over_time.watched import Watched

        layouts = []
        for ns in self._catalogue.watched(places):
            with suppress(NotFound):
                layouts.append(self._catalogue.layout(ns))
        return Watched(layouts, ids, checkpoint, gentle)

    def report(self, ns: str, id: Value, checkpoint: Checkpoint = no_checkpoint) -> str:
        """Every version of a document, with its changes, as a page that needs nothing beside itself."""
        from model.over_time.report import report

        self._histories_read(ns)
        return report(self._catalogue.layout(ns), id, self.source, dt.datetime.now(dt.UTC), checkpoint)

    def report_of_span(
        self,
        ns: str,
        since: dt.datetime | None = None,
        until: dt.datetime | None = None,
        author: str | None = None,
        checkpoint: Checkpoint = no_checkpoint,
    ) -> str:
        """The versions of a collection's documents in a span of time, by one author or all, as one page.

        Both times are included. Raises ``Refused`` where the collection keeps no versions.
        """
        from model.over_time.report import report_of_span
        from model.over_time.span import Span

        self._histories_read(ns)
        (ns,) = self.with_versions([ns])
        now = dt.datetime.now(dt.UTC)
        return report_of_span(self._catalogue.layout(ns), Span(since, until), author, self.source, now, checkpoint)

    def with_versions(self, places: Sequence[str]) -> list[str]:
        """The collections that keep earlier versions, among those named or in the databases named, or in all.

        Raises ``Refused`` for a collection that is named and keeps none.
        """
        found: list[str] = []
        for place in places or self.databases():
            if "." not in place:
                found += [info.ns for info in self._catalogue.collections(place) if _keeps_versions(info)]
            elif _keeps_versions(info := self.info(place)):
                found.append(place)
            elif info.belongs_to:
                raise Refused(f"{place} holds versions of {info.belongs_to}; name that collection.")
            else:
                raise Refused(f"{place} is taken for {info.layout}, which keeps no earlier versions.")
        return found

    # --- the server's guarantees

    def check(self, quick: bool = False, checkpoint: Checkpoint = no_checkpoint) -> Iterator[Guarantee]:
        """Measure the server's guarantees in a scratch database by ``model.guarantees``, and keep the verdict.

        A check that is stopped after an unsafe finding is kept too. Raises ``NotAllowed`` in a read-only session
        and for a user who may not write to a database of its own.
        """
        from model.guarantees import check

        found: list[Guarantee] = []
        try:
            for each in check(self._opened.server, quick, checkpoint):
                found.append(each)
                yield each
        except BaseException:
            if not self.is_local and any(each.verdict == "unsafe" for each in found):
                with suppress(Refused):  # the error that ended the check is told
                    self._trust.keep(self.source, self.facts.version, found)
            raise
        if not self.is_local:
            self._trust.keep(self.source, self.facts.version, found)

    @cached_property
    def _trust(self) -> ServerVerdicts:
        from model.guarantees.server_verdicts import ServerVerdicts

        return ServerVerdicts(self._home)

    @property
    def measured(self) -> Measured | None:
        """The findings of the last check of this source; None without one, or if the server is another version now."""
        return None if self.is_local else self._trust.measured(self.source, self.facts.version)

    def allow_unsafe(self, allowed: bool) -> None:
        """Edit on this connection although its server is unsafe, or refuse it again."""
        self._trust.allow(self.source, self.facts.version, allowed)

    # --- writing: every one of these is journalled, guarded and may end unknown

    def open_document(self, ns: str, id: Value) -> Opened:
        """The current version for editing, and whether it may be written; raises ``NotFound``."""
        layout = self._catalogue.layout(ns)
        base, profile = layout.version(id), layout.profile
        doubt = self._catalogue.known(ns)[0].doubt if self._catalogue.objection(ns) else ""
        reason = self._why_read_only() or doubt or layout.writable(base)
        asks = profile.guard.field if profile.guard is not None and not profile.guard.how else ""
        document = self._document(layout, base)
        opened = Opened(ns, id, base, layout.locked, not reason, reason, document, asks, doubt)
        return replace(opened, takes_reason=layout.takes_reason, asks_author=profile.asks_author)

    def open_version(self, ns: str, id: Value, v: Value | None = None) -> Opened:
        """One version for reading, the current one where ``v`` is None; raises ``NotFound``."""
        layout = self._catalogue.layout(ns)
        base = layout.version(id, v)
        return Opened(ns, id, base, layout.locked, False, "It is shown to be read.", self._document(layout, base))

    def _document(self, layout: Layout, version: Version) -> bytes:
        """A version with the layout's own fields, as people see it; of a damaged one the bytes that are stored."""
        raw, content = version.raw, version.content
        if raw is None:
            return content or b""
        try:
            if version.current or content is None:
                return self.stored(layout.ns, layout.document(raw))
            # Where older versions are kept, the content may be a field of its own among others.
            names = {name for name, _ in canonical.fields(content)}
            own = [
                (name, value)
                for name, value in canonical.fields(raw)
                if name in layout.locked and name not in names and (name == "_id" or not value.is_container)
            ]
            return self.stored(layout.ns, canonical.document([*own, *canonical.fields(content)]))
        except Unreadable:
            return raw

    def preview(self, ns: str, id: Value, base: Version, content: bytes, reason: str = "") -> Sending:
        """The exact write that :meth:`save` would send; nothing is written."""
        from model.server.code_preview import sending

        layout = self._catalogue.layout(ns)
        stamp = Stamp(ObjectId(), self._writer.author_of(layout), reason=reason or None)
        writes = layout.foreseen(id, base, layout.signed(content, stamp.author, stamp.reason), stamp)
        return sending(as_sent(self._port, writes), layout.explained(base))

    def save(
        self, ns: str, id: Value, base: Version, content: bytes, action: str = "edit", reason: str = ""
    ) -> Outcome:
        """Swap the current version ``base`` for a new one with this content, and the reason for it.

        ``conflict``: the document is not the base any more, and nothing was written; :meth:`conflict` tells more.
        """
        self._check_allowed()
        return self._because(reason).save(ns, id, base, content, action)

    def conflict(self, ns: str, id: Value, base: Version, mine: bytes) -> Conflict:
        """The changes of a document since ``base``, merged with an edit that began there."""
        return edit.conflict(self._catalogue.layout(ns), id, base, mine)

    def edit(
        self,
        ns: str,
        id: Value | object,
        set: Mapping[str | Path, Value | object] | None = None,
        unset: str | Sequence[str | Path] = (),
        base: Value | object | None = None,
        tries: int = 20,
        create: bool = False,
        reason: str = "",
    ) -> Outcome:
        """Change some fields of the current version in one guarded write.

        An ``id`` is text as :meth:`find_id` takes it, else a ``Value`` or a Python object, as values are. Paths
        are text (``premium.gross``, ``riders[2]``) or tuples.
        With ``base``, a version number or hash, anything but that version being current is a ``conflict``. A
        change that changes nothing is ``skipped`` and writes nothing. Without ``base`` the document is read and the
        edit tried again, so many times at most, where somebody was faster and left its fields alone, or in any case
        where the collection is numbered by ``loop``. With ``create`` a document that is not there is made of the fields
        that are set; it is a ``conflict`` where somebody else makes it at the same time.
        """
        self._check_allowed()
        if create and (base is not None or not set):
            raise Refused("A document that is to be created has no base, and is made of fields to set; say which.")
        layout, writer = self._catalogue.layout(ns), self._because(reason)
        try:
            stored_id = layout.find_id(id) if isinstance(id, str) else _value(id)
            current = layout.version(stored_id)
        except NotFound:
            if not create:
                raise
            content, _ = _edited(None, set, unset, layout.locked)
            made = document_ids.meant(id) if isinstance(id, str) else _value(id)
            return writer.create(ns, content, made, unless_there=True)
        if base is not None and not self._is_at(ns, stored_id, current, base):
            detail = (
                f"{id_name(stored_id)} is at {version_name(current.v)}, not at the base of this edit; "
                "nothing was written."
            )
            return Outcome("conflict", ns, stored_id, detail)
        content, paths = _edited(current.content, set, unset, layout.locked)
        outcome, tried = writer.save(ns, stored_id, current, content), 1
        while outcome.kind == "conflict" and base is None and tried < tries:
            try:
                newer = layout.version(stored_id)
                if layout.profile.numbering != "loop" and not _left_alone(paths, current, newer):
                    break
                content, paths = _edited(newer.content, set, unset, layout.locked)
            except Refused:  # it is gone, or has no place for these fields any more
                break
            current, tried = newer, tried + 1
            outcome = writer.save(ns, stored_id, current, content)
        if tried == 1:
            return outcome
        said = f"Others wrote {id_name(stored_id)} meanwhile, so this was tried {tried} times."
        return replace(outcome, detail=f"{outcome.detail} {said}")

    def _is_at(self, ns: str, id: Value, current: Version, base: Value | object) -> bool:
        """Whether ``base`` means the current version; one that is not stored any more, or never was, does not."""
        if current.v is None:
            raise Refused(f"Documents of {ns} have no versions, so an edit cannot name its base; leave it out.")
        try:
            return current.v == self._catalogue.find_version(ns, id, base)
        except NotFound:
            return False

    def create(self, ns: str, content: bytes, id: Value | None = None, reason: str = "") -> Outcome:
        """Insert a document as version 1; refused where the id exists. Without ``id`` it gets an ObjectId."""
        self._check_allowed()
        return self._because(reason).create(ns, content, id)

    def delete(self, ns: str, id: Value, base: Version, reason: str = "") -> Outcome:
        """Delete a document if ``base`` is still its current version.

        Versions that are documents of their own, or rows of an archive, stay, and :meth:`restore` brings the document
        back. The journal keeps what goes.
        """
        self._check_allowed()
        return self._because(reason).delete(ns, id, base)

    def kept_by_delete(self, ns: str) -> str:
        """The fate of a deleted document's versions and the way to bring it back, a sentence for whoever is asked."""
        return self._catalogue.layout(ns).kept_by_delete

    def purge(self, ns: str, id: Value, base: Version) -> Outcome:
        """Remove a document and all its versions if ``base`` is still the newest, by :meth:`last`.

        The journal keeps what goes, and can put it back.
        """
        self._check_allowed()
        return self._writer.purge(ns, id, base)

    def last(self, ns: str, id: Value) -> Version:
        """The newest version, of a document that is deleted too; raises ``NotFound`` where no version is left."""
        return self._catalogue.layout(ns).last(id)

    def restore(
        self,
        ns: str,
        id: Value,
        v: Value,
        fields: Sequence[Path] | None = None,
        base: Version | None = None,
        reason: str = "",
    ) -> Outcome:
        """Make an earlier state, or some of its fields, the content of a new version.

        The state of a document that is deleted brings it back; so where ``base`` is given, but is no current version.
        """
        self._check_allowed()
        if base is None:
            base = self.last(ns, id)
        if not base.current:
            if fields is not None:
                raise Refused(f"{id_name(id)} is deleted; restore a whole version of it first, then single fields.")
            return self._because(reason).create(ns, self.restored(ns, id, v, None, base), id, "restore")
        return self._because(reason).save(ns, id, base, self.restored(ns, id, v, fields, base), "restore")

    @staticmethod
    def taken_over(other: bytes, content: bytes, paths: Sequence[Path] | None) -> bytes:
        """A content with some fields as they are in another one, with all of them where ``paths`` is None."""
        return edit.restored(other, content, paths)

    def read_only_reason(self, ns: str) -> str:
        """Why nothing is written to this collection, whatever the connection allows; "" where writing is possible."""
        return self._catalogue.layout(ns).read_only

    @staticmethod
    def spelled(before: bytes, after: bytes) -> str:
        """The values by which a content becomes another, one text for whoever makes the change elsewhere."""
        return edit.spelled(before, after)

    def restored(self, ns: str, id: Value, v: Value, fields: Sequence[Path] | None, base: Version) -> bytes:
        """The content that :meth:`restore` would save over ``base``; for a preview."""
        old = self.version(ns, id, v)
        if old.content is None:
            raise Refused(f"{version_name(v)} cannot be restored: {old.detail or old.state}.")
        if old.deleted:
            raise Refused(f"{version_name(v)} says that {id_name(id)} is deleted; restore a version before it.")
        now = base.content or canonical.EMPTY
        return edit.restored(self._catalogue.layout(ns).retyped(old.content, now), now, fields)

    def settle(self, outcome: Outcome) -> Outcome:
        """Look again for the write of an unknown outcome: applied, conflict (it is not there), or still unknown."""
        if outcome.entry is None:
            raise Refused("This write has no entry in the journal, so it cannot be looked for.")
        return self.look_again(outcome.entry)

    def colleague(self, ns: str, id: Value) -> Outcome:
        """Change a document of the sample as someone else would; refused elsewhere."""
        if not self.is_sample:
            raise NotAllowed("Only documents of the sample are changed as a colleague would.")
        self._check_allowed()
        from model.localserver import sample

        layout = self._catalogue.layout(ns)
        base = layout.version(id)
        content = self.colleague_content(ns, id, base)
        # Not journalled: for the person at the window it is someone else's write.
        outcome = layout.swap(id, base, content, Stamp(ObjectId(), sample.COLLEAGUE))
        tell(News(self.data, outcome))
        if owner := self.info(ns).belongs_to:  # a row of an archive: some document has another history now
            tell(News(self.data, replace(outcome, ns=owner, id=None)))
        return outcome

    def colleague_content(self, ns: str, id: Value, base: Version | None = None) -> bytes:
        """The content that :meth:`colleague` would make of a document, or of one version of it."""
        from model.localserver import sample

        base = base or self.version(ns, id)
        return sample.colleague_change(ns, id, base.content or canonical.EMPTY)

    def missing_index(self, ns: str) -> str | None:
        """Why writing is refused for want of a unique index, one sentence; None where nothing is missing."""
        return self._catalogue.layout(ns).missing_index()

    def create_index(self, ns: str) -> Outcome:
        """Create the index that :meth:`missing_index` speaks of, once duplicates are ruled out."""
        self._check_allowed()
        return self._writer.create_index(ns)

    # --- out of the house, and in again

    def export_history(
        self, ns: str, path: str | FilePath, form: Form, id: Value | None = None, checkpoint: Checkpoint = no_checkpoint
    ) -> ExportedHistory:
        """Write every version of a document, or of all, into a git repository, a folder, or a file of JSON lines.

        Iterate over it for each document. Raises ``Refused`` where the collection keeps no versions, or where
        something is there that no export of it wrote.
        """
        from model.exchange.history_files import ExportedHistory
        from model.over_time.span import everyone

        self._histories_read(ns)
        (ns,) = self.with_versions([ns])
        layout = self._catalogue.layout(ns)
        ids = everyone(layout) if id is None else iter([id])
        return ExportedHistory(layout, ids, FilePath(path), form, checkpoint)

    def history_import(self, ns: str, path: str | FilePath, layout: str = "") -> HistoryImport:
        """The import of what :meth:`export_history` wrote, into a collection that is there or not."""
        from model.operations.history_import import HistoryImport

        allowed = lambda ns: self._check_allowed(ns)  # noqa: E731
        return HistoryImport(self._writer, allowed, ns, FilePath(path), layout, self._is_production)

    # --- damage

    def scan(
        self,
        places: Sequence[str] = (),
        ids: Sequence[Value] | None = None,
        pace: Pace = "fast",
        checkpoint: Checkpoint = no_checkpoint,
        now: dt.datetime | None = None,
        mark: Mark | None = None,
    ) -> Scan:
        """Look for damage in some collections or databases, in all, or in some documents of one collection.

        Iterate over it for each ``Finding`` and each ``Unchecked``: as it becomes known where a profile states the
        layout, else at the end of its collection, when all of them tell whether the layout is in doubt. Its
        ``summary`` counts the work done, its ``mark`` tells where another scan may go on. "gentle" is the pace for
        production.
        """
        from model.scan import Scan

        port = self._port.gentle() if pace == "gentle" else self._port.aside()
        primary = self._port if port.reads_aside else None
        self._all_read(*places)
        return Scan(self._catalogue, port, places, ids, pace, checkpoint, now, mark, primary)

    def scan_estimate(self, places: Sequence[str] = (), checkpoint: Checkpoint = no_checkpoint) -> ScanEstimate:
        """How much a scan of these places would have to read, and about how long that takes."""
        from model.scan import Scan

        checkpoint(0, None)
        return Scan(self._catalogue, self._port, places).estimate()

    # --- counters in two steps

    def pending(
        self, ns: str | None = None, older_than: dt.timedelta | None = None, checkpoint: Checkpoint = no_checkpoint
    ) -> Iterator[PendingToken]:
        """Tokens left between step one and step two, of one collection or of all; only older ones on request."""
        from model.counting import pending_tokens as tokens

        return tokens.listed(self._opened.server, self._catalogue, ns, older_than, checkpoint)

    @staticmethod
    def is_older(token: PendingToken, age: dt.timedelta) -> bool:
        """Whether a token is at least so old; one of unknown age counts as young."""
        from model.counting import pending_tokens as tokens

        return tokens.is_older(token, age)

    def preview_finish(self, token: PendingToken, drop: bool = False) -> Sending:
        """The exact write that finishes this token, or drops it."""
        from model.counting import pending_tokens as tokens

        return tokens.preview(self._opened.server, self._catalogue, token, drop)

    def finish(
        self,
        tokens: Sequence[PendingToken],
        checkpoint: Checkpoint = no_checkpoint,
        confirmed: bool = False,
        run: str = "",
        reason: str = "",
    ) -> Iterator[Outcome]:
        """Send step two for each token, one guarded write a token, an outcome for each.

        Tokens inside the grace period are skipped unless ``confirmed`` by a person; ``run`` is a name for all of them.
        """
        self._check_allowed()
        return replace(self._because(reason), run=run).tokens(tokens, "finish", confirmed, checkpoint)

    def drop(
        self, tokens: Sequence[PendingToken], checkpoint: Checkpoint = no_checkpoint, confirmed: bool = False
    ) -> Iterator[Outcome]:
        """Take tokens out uncounted, in one guarded write each; one that was counted already is only taken out.

        Tokens inside the grace period are skipped unless ``confirmed`` by a person.
        """
        self._check_allowed()
        return self._writer.tokens(tokens, "drop", confirmed, checkpoint)

    @property
    def batches(self) -> Batches:
        """Several documents deleted or inserted at once, with a plan before and a way back for all of them."""
        from model.operations.batches import Batches

        return Batches(self._writer, lambda ns: self._check_allowed(ns), self._is_production)

    @property
    def taking_back(self) -> TakingBack:
        """Changes taken back out of several documents, with a plan before and a way back for all of them."""
        from model.operations.taking_back import TakingBack

        return TakingBack(self._writer, lambda ns: self._check_allowed(ns), self._is_production)

    def because(self, ns: str, reason: str) -> None:
        """Give the reason for what is written from now on; raises ``Refused`` where no field is named for it.

        Where ``ns`` is "", as a run may write to several collections, those without such a field leave it to the
        journal.
        """
        if ns and not self.takes_reason(ns):
            raise Refused(f'No field of {ns} is stated to hold a reason; name it in a profile, as in reason = "why".')
        self._writer = self._because(reason)

    def _because(self, reason: str) -> Writer:
        return replace(self._writer, reason=reason.strip()) if reason.strip() else self._writer

    def takes_reason(self, ns: str) -> bool:
        """Whether a version made from here can say why: its profile, or its writer, has a field for that."""
        return self._catalogue.layout(ns).takes_reason

    def asks_author(self, ns: str) -> bool:
        """Whether a person has to give a name before anything is written there, which :attr:`author` keeps."""
        return self._catalogue.layout(ns).profile.asks_author and not self.author

    @property
    def author(self) -> str:
        """The name that a person gave for collections that ask for one; settable, "" while nobody has."""
        return self._writer.named or ""

    @author.setter
    def author(self, name: str) -> None:
        self._writer = replace(self._writer, named=name.strip() or None)

    @property
    def repairs(self) -> Repairs:
        """The repair centre: findings become a plan, which is drawn, done and taken back."""
        from model.repair import Repairs

        return Repairs(self._writer, self._check_allowed, self._is_production)

    def _is_production(self) -> bool:
        if self.is_local:
            return False
        from model.userdata.connections import Connections

        return any(saved.production and saved.uri == self.source for saved in Connections(self._home).all())

    def migration(
        self, ns: str, to: str, target: str = "", fields: Mapping[str, str] | None = None, newest_only: bool = False
    ) -> Migration:
        """The move of a collection to another layout. Reading and comparing need no permission to write."""
        from model.operations.migration import Migration

        return Migration.of(self._writer, partial(self._check_allowed, ns), ns, to, target, fields or {}, newest_only)

    @property
    def once(self) -> Once:
        """Numbers, counts, apply-once entries and hashed documents: writes that may be repeated and count once."""
        from model.writing.exactly_once import Once

        return Once(self._writer, self._check_allowed)

    def feed(
        self, ns: str | None = None, once: bool = False, every: float | None = None, stop: threading.Event | None = None
    ) -> Iterator[Fed]:
        """Feed the archive of a ``stream`` collection, or of all that the profile states, as ``model.feed`` says."""
        from model.feed import EVERY, fed_layouts, feed

        names = [ns] if ns is not None else self._catalogue.stated("stream")
        self._check_allowed(*names)
        often = EVERY if every is None else every
        return feed(self._opened.server, fed_layouts(map(self._catalogue.layout, names)), once, often, stop)

    # --- the way back

    def undo(self, entry: str, elsewhere: bool = False) -> Outcome:
        """Write the inverse of a journal entry, guarded by the state that the entry left; itself journalled.

        ``elsewhere``: the person says that this source is the one of the entry, although it is written otherwise.
        """
        self._check_allowed()
        if self.repairs.is_repair(entry):
            return self.repairs.undo_entry(entry, elsewhere)
        return self._writer.undo(entry, elsewhere)

    def undo_run(self, run: str, checkpoint: Checkpoint = no_checkpoint, elsewhere: bool = False) -> Iterator[Outcome]:
        """Take back the writes of a run, whether it repaired, deleted or inserted documents, the last write first.

        Raises ``NotFound`` where the journal has none of them.
        """
        first = next(self.journal.records("run", run), None)
        of_repairs = first is not None and self.repairs.is_repair(first.entry.id)
        undo = self.repairs.undo if of_repairs else self.batches.undo
        return undo(run, checkpoint, elsewhere=elsewhere)

    def not_undoable(self, run: str) -> str:
        """Which writes of a run cannot be undone, and how the others are; "" where all of them can be."""
        lacking, others = self.way_back(run)
        rest = f" What else was written is undone with palimpsest undo {run}." if others else ""
        return f"{lacking}{rest}" if lacking else ""

    def way_back(self, run: str) -> tuple[str, bool]:
        """Why writes of a run cannot be undone, "" where all can be, and whether any other is left to be undone.

        No journal has them, or this server cannot guard what would take them back.
        """
        from model.repair.undoing import hindered

        lost, there = self.journal.lost, []
        with suppress(Refused):
            there = list(self.journal.records("run", run))
        said = []
        if count := max(len(lost), self.journal.begun[run] - len(there)):
            why = lost[0] if lost else f"The journal {self.journal.path} was moved away or begun anew in the meantime."
            said.append(f"{count:,} {'write' if count == 1 else 'writes'} of this cannot be undone from here. {why}")
        undoable = [record for record in there if record.entry.undoable]
        reasons = self._hindrances(undoable)
        return " ".join(filter(None, (*said, hindered(reasons)))), len(undoable) > len(reasons)

    def hindrance(self, entry: str) -> str:
        """Why this server cannot take back what an entry of the journal wrote, one sentence; "" where it can."""
        from model.repair.undoing import reason

        return "".join(map(reason, self._hindrances([self.journal.record(entry)])))

    def _hindrances(self, records: Sequence[Record]) -> list[str]:
        """Why this server cannot take back some writes, a sentence for each that it cannot."""
        if records and self.repairs.is_repair(records[0].entry.id):
            return self.repairs.hindrances(records)
        from model.repair.undoing import asked

        return asked(self._writer.hindrance, records)

    def undo_conflict(self, entry: str) -> Conflict:
        """The undo of an edit as a merge, for a document that has moved on since."""
        if self.repairs.is_repair(entry):
            raise Refused("A repair is undone as a whole, or not at all; edit the document instead.")
        return self._writer.undo_conflict(entry)

    def look_again(self, entry: str) -> Outcome:
        """Look again for the write of a journal entry that began and never ended."""
        if self.repairs.is_repair(entry):
            return self.repairs.look_again(entry)
        return self._writer.look_again(entry)

    def _why_read_only(self) -> str:
        if self._opened.fixed:
            return self._opened.fixed
        known = None if self.is_local else self._trust.lately(self.source, self.facts.version)
        if known is not None and known.unsafe and not known.allowed:
            return (
                f"Editing on {self.name} is refused, as its server is unsafe: {known.unsafe[0]} To edit all the same, "
                "allow it for this connection (palimpsest check SOURCE --allow-edits)."
            )
        return f"{self.name} is open read-only; to edit, reconnect and allow writes." if self.read_only else ""

    def _check_allowed(self, *names: str) -> None:
        """Raise where nothing may be written at all, or nothing to these collections by their profiles."""
        if reason := self._why_read_only():
            raise NotAllowed(reason)
        for ns in names:
            if reason := self._catalogue.objection(ns):
                raise Refused(reason)


def _keeps_versions(info: CollectionInfo) -> bool:
    return info.keeps_history and info.layout != Log.name


def _edited(
    content: bytes | None,
    set: Mapping[str | Path, Value | object] | None,
    unset: str | Sequence[str | Path],
    locked: Sequence[str],
) -> tuple[bytes, list[Path]]:
    """A content with some fields set and others taken out, and the paths of all of them."""
    before = content or canonical.EMPTY
    changes = [(_path(before, path), _value(value)) for path, value in (set or {}).items()]
    gone = [_path(before, path) for path in ((unset,) if isinstance(unset, str) else unset)]
    paths = [*(path for path, _ in changes), *gone]
    edit.check_paths(paths, locked)
    return edit.changed(before, changes, gone), paths


def _as_listed(layout: Layout, id: Value, version: Version) -> bytes:
    """An earlier version as a list has it: its id, what the layout keeps beside the content, and the content."""
    content = list(canonical.fields(version.content or canonical.EMPTY))
    names = {name for name, _ in content}
    ids = dict.fromkeys(("_id", layout.profile.id), id)
    own = [
        (name, value)
        for name, value in canonical.fields(version.raw or canonical.EMPTY)
        if name in layout.locked and name not in names and name not in ids and not value.is_container
    ]
    return canonical.document([*((name, value) for name, value in ids.items() if name not in names), *own, *content])


def _left_alone(paths: Sequence[Path], a: Version, b: Version) -> bool:
    """Whether two versions have the same at some paths."""
    if a.content is None or b.content is None:
        return False
    return all(canonical.get(a.content, path) == canonical.get(b.content, path) for path in paths)


def _path(raw: bytes, path: str | Path) -> Path:
    return fitted(raw, text.path_from_text(path)) if isinstance(path, str) else tuple(path)


def _moment(given: dt.datetime | str) -> dt.datetime:
    """A moment with its zone: UTC where none is named."""
    if isinstance(given, str):
        return moment_from_text(given).at
    return given.replace(tzinfo=dt.UTC) if given.tzinfo is None else given


def _value(value: object) -> Value:
    return value if isinstance(value, Value) else Value.of(value)


def _mark(raw: bytes) -> bytes:
    return hashlib.sha1(raw).digest()


def _user() -> str | None:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return None


def _part_read(ns: str) -> str:
    return f"Only the first documents of {ns} have been read; this has to wait for the others."
