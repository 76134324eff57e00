"""The session, the model's only entrance: it owns the connection to one source, and everything is reached from it.

A source is a MongoDB URI, a dump (a folder, a ``.bson`` file, a file of Extended JSON lines) or ``sample:``. Every
method of its parts may wait for the server, may be called from any thread, and raises ``Refused`` with one sentence
if a person can act on it. Methods that take a checkpoint call it between steps and stop when it raises ``Cancelled``.
A write never raises because of the document's state: it returns an ``Outcome``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path as FilePath
from types import TracebackType
from typing import TYPE_CHECKING, Self

from model.foundation.checkpoints import Checkpoint, no_checkpoint

if TYPE_CHECKING:  # imported late, so that a window appears before the parts of a session
    import socket

    from model.catalogue.catalogue import Catalogue
    from model.foundation.records import Outcome, ServerFacts, Version
    from model.profile import Profile
    from model.session.authorship import Authorship
    from model.session.batch_writing import Batches, Changing, Erasing, Retaining, TakingBack
    from model.session.collection_indexes import CollectionIndexes
    from model.session.data_exchange import DataExchange
    from model.session.document_lists import DocumentLists
    from model.session.exactly_once import Once
    from model.session.guarded_writing import GuardedWriting
    from model.session.health import Health
    from model.session.history_reading import HistoryReading
    from model.session.layout_statements import LayoutStatements
    from model.session.left_tokens import LeftTokens
    from model.session.query_help import QueryHelp
    from model.session.repairs import Repairs
    from model.session.sample_colleague import SampleColleague
    from model.session.scans import Scans
    from model.session.sources import Source
    from model.session.through_time import ThroughTime
    from model.session.trust import Trust
    from model.session.two_collections import TwoCollections
    from model.session.unread_dump import UnreadDump
    from model.session.way_back import WayBack
    from model.userdata.drafts import Drafts
    from model.userdata.journal import Journal
    from model.values.canonical import Path, Value

__all__ = ["Session"]


class Session:
    """An open source. Created by :meth:`open`; a context manager that closes what it opened."""

    source: str
    """As it was given, without a password."""
    named_database: str
    """The database that the URI names, ``mongodb://host/shop``; "" if none."""
    data: str
    """Identifies the written data in news: equal for all sessions on one server, different for every sample and dump.
    """
    is_local: bool
    """Whether the data live in this process (a dump or the sample) and are discarded at the end."""
    is_near: bool
    """Whether its server runs in this process or on this computer."""
    is_sample: bool
    catalogue: Catalogue
    """The databases and collections with their layouts."""
    trust: Trust
    """Measurements of the server, and whether anything may be written."""
    dump: UnreadDump
    """The part of a large dump that has not been read yet."""

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

        A large dump is read completely, with its bytes reported to the checkpoint, and cached so that it is read only
        once. ``at_once`` loads only its first documents; :attr:`dump` reads the rest.

        ``profile`` states layouts, usually a TOML file. A dump is read-only unless ``into_memory``. ``password`` is
        for a URI that names only a user. ``home`` is the folder of journal and drafts (default: the user's data
        folder, or ``PALIMPSEST_HOME``). ``apart`` serves in-memory data from a separate process. Raises
        ``Unreachable``, ``NotFound``, ``Unreadable`` or ``Refused``.
        """
        from model.session import sources

        stated = _stated(profile)
        opened = sources.connect(str(source), read_only, into_memory, password, home, apart)
        try:
            made = cls(opened, stated, read_only, home)
            if not at_once:
                made.dump.read_on(checkpoint)
            return made
        except BaseException:
            opened.close()
            raise

    def __init__(self, opened: Source, profile: Profile | None, read_only: bool, home: FilePath | None) -> None:
        """Use an open source; callers use :meth:`open`."""
        from model.foundation.address import Address
        from model.session.connection import Connection
        from model.text import legacy_uuids

        opened.server.facts()  # raises if the server does not answer
        self._connection = Connection(opened, profile, home)
        self.source, self.named_database = opened.text, opened.database
        self.is_local, self.is_sample = opened.is_local, self._connection.is_sample
        address = Address.parse(opened.text)
        legacy_uuids.state(self, "" if address is None else address.option("uuidRepresentation"))
        self.is_near = opened.is_local or (address is not None and address.is_near)
        self.data = self._connection.data
        self.catalogue = self._connection.catalogue
        self.trust, self.dump = self._connection.trust, self._connection.dump
        self.trust.read_only = read_only

    def close(self) -> None:
        """Close the connection and an in-process server; a second call does nothing."""
        from model.text import legacy_uuids

        legacy_uuids.forget(self)
        self._connection.close()

    def dial(self) -> socket.socket:
        """A new connection to the server for messages made elsewhere; raises ``OSError`` if it does not answer."""
        return self._connection.server.dial()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    @property
    def name(self) -> str:
        """A short name for people: the host, the dump's folder, ``sample:``; settable."""
        return self._connection.name

    @name.setter
    def name(self, name: str) -> None:
        self._connection.name = name

    @property
    def facts(self) -> ServerFacts:
        """The server's facts about itself, as last asked."""
        return self._connection.server.facts()

    def refresh_facts(self) -> ServerFacts:
        """Ask the server again for its facts and its response time."""
        return self._connection.server.facts(refresh=True)

    @cached_property
    def journal(self) -> Journal:
        """What was written from this computer."""
        return self._connection.journal

    @cached_property
    def drafts(self) -> Drafts:
        """Edits that are not saved yet."""
        from model.userdata.drafts import Drafts

        return Drafts(self._connection.home)

    @cached_property
    def health(self) -> Health:
        """The counts of earlier scans."""
        from model.session.health import Health

        opened = self._connection.opened
        return Health(opened.text, self._connection.home, kept=not opened.is_local or bool(opened.fixed))

    @cached_property
    def statements(self) -> LayoutStatements:
        """Layouts that a person states: try a statement, use it, and keep it in a file."""
        from model.session.layout_statements import LayoutStatements

        return LayoutStatements(self.catalogue, self._connection.port)

    @cached_property
    def documents(self) -> DocumentLists:
        """The current documents: pages, counts, and finding ids that people type."""
        from model.session.document_lists import DocumentLists

        return DocumentLists(self._connection)

    @cached_property
    def queries(self) -> QueryHelp:
        """The fields of a collection, and how the server finds documents."""
        from model.session.query_help import QueryHelp

        return QueryHelp(self._connection)

    @cached_property
    def history(self) -> HistoryReading:
        """The versions of one document: read, compared, blamed, bisected."""
        from model.session.history_reading import HistoryReading

        return HistoryReading(self._connection)

    @cached_property
    def time(self) -> ThroughTime:
        """Collections over time: activity, new versions as they come, and how a collection stood at a moment."""
        from model.session.through_time import ThroughTime

        return ThroughTime(self._connection)

    @cached_property
    def writing(self) -> GuardedWriting:
        """Writes: edits, restores and deletes; each is journalled and may end unknown."""
        from model.session.guarded_writing import GuardedWriting

        return GuardedWriting(self._connection)

    @cached_property
    def authorship(self) -> Authorship:
        """Who writes from here, and why."""
        from model.session.authorship import Authorship

        return Authorship(self._connection)

    @cached_property
    def colleague(self) -> SampleColleague:
        """Somebody else at work on the sample, so that conflicts can be tried."""
        from model.session.sample_colleague import SampleColleague

        return SampleColleague(self._connection)

    @cached_property
    def indexes(self) -> CollectionIndexes:
        """The indexes of a collection, and the one without which nothing is written."""
        from model.session.collection_indexes import CollectionIndexes

        return CollectionIndexes(self._connection)

    @property
    def batches(self) -> Batches:
        """Deletes or inserts several documents at once, with a preview and one undo for all."""
        from model.session.batch_writing import batches

        return batches(self._connection)

    @property
    def changing(self) -> Changing:
        """Makes one change in many documents, with a preview and one undo for all."""
        from model.session.batch_writing import changing

        return changing(self._connection)

    @property
    def retaining(self) -> Retaining:
        """Removes earlier versions by a rule, with a preview and one undo for all."""
        from model.session.batch_writing import retaining

        return retaining(self._connection)

    @property
    def erasing(self) -> Erasing:
        """Takes fields of one document out of all its versions and everything kept here; there is no way back."""
        from model.session.batch_writing import erasing

        return erasing(self._connection)

    @property
    def taking_back(self) -> TakingBack:
        """Removes past changes from several documents, with a preview and one undo for all."""
        from model.session.batch_writing import taking_back

        return taking_back(self._connection)

    @cached_property
    def way_back(self) -> WayBack:
        """Writes from here: look again for those in doubt, and undo."""
        from model.session.way_back import WayBack

        return WayBack(self._connection)

    @cached_property
    def tokens(self) -> LeftTokens:
        """Tokens that two-step counters left between the steps."""
        from model.session.left_tokens import LeftTokens

        return LeftTokens(self._connection)

    @property
    def once(self) -> Once:
        """Numbers, counts, apply-once entries and hashed documents: writes that may be repeated and count once."""
        from model.session.exactly_once import Once

        return Once(self._connection.writer, partial(self.trust.check_server, writes={"change"}))

    @cached_property
    def scans(self) -> Scans:
        """The search for damage."""
        from model.session.scans import Scans

        return Scans(self._connection)

    @property
    def repairs(self) -> Repairs:
        """The repair centre: findings become a plan, which is previewed, executed and undone."""
        from model.session.repairs import Repairs

        return Repairs(self._connection.writer, self.trust.check_server, self.trust.is_production)

    def beside(self, ns: str, other: Session, other_ns: str, key: str = "", filter: str = "") -> TwoCollections:
        """A collection of this session beside one of another session, paired by ``key`` or else by id.

        ``filter`` is typed: only what matches it, on either side, is compared.
        """
        from model.session.two_collections import TwoCollections

        return TwoCollections(self._connection, ns, other._connection, other_ns, key, filter)

    @cached_property
    def exchange(self) -> DataExchange:
        """Files of documents and of histories, other layouts, and the feed of an archive."""
        from model.session.data_exchange import DataExchange

        return DataExchange(self._connection)

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
        current: Version | None = None,
        read_at: float = 0.0,
    ) -> Outcome:
        """Change some fields of a document in one guarded write, as :meth:`.GuardedWriting.edit` says."""
        return self.writing.edit(ns, id, set, unset, base, tries, create, reason, current, read_at)


def _stated(profile: str | FilePath | Profile | None) -> Profile | None:
    """A profile that is given, or read from a file."""
    if profile is None:
        return None
    from model.profile import Profile

    return profile if isinstance(profile, Profile) else Profile.load(profile)
