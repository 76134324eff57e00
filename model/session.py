"""The one door: a session owns the connection to one source, and everything else is reached from it.

A source is a MongoDB URI, a dump (a folder, a ``.bson`` file, a file of Extended JSON lines) or ``sample:``.
Every method may wait for the server, may be called from any thread, and raises ``Refused`` in one sentence where
a person can act. Methods that take a checkpoint call it between steps and stop where it raises ``Cancelled``.
A write never raises for what happened to the document: it returns an ``Outcome``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from types import TracebackType
from typing import Self

from model.canonical import Path, Value
from model.connections import Connections, SavedConnection
from model.diff import Diff
from model.drafts import Drafts
from model.edit import Conflict
from model.journal import Journal
from model.records import (
    Checkpoint,
    CollectionInfo,
    Draft,
    Entry,
    Opened,
    Outcome,
    Outline,
    Page,
    PendingToken,
    Sending,
    ServerFacts,
    Version,
    no_checkpoint,
)

__all__ = [
    "Comparison",
    "Conflict",
    "Connections",
    "Draft",
    "Drafts",
    "Entry",
    "Journal",
    "SavedConnection",
    "Session",
]


@dataclass(frozen=True)
class Comparison:
    """Two versions of one document and what differs between their contents."""

    a: Version
    b: Version
    diff: Diff


class Session:
    """An open source. Made by :meth:`open`; a context manager that closes what it opened."""

    source: str
    """As it was given, without a password."""
    name: str
    """A short name for people: the host, the dump's folder, ``sample:``."""
    facts: ServerFacts
    journal: Journal
    drafts: Drafts
    read_only: bool
    """Settable. Writing in a read-only session raises ``NotAllowed``."""
    is_sample: bool
    is_local: bool
    """Whether the data live in this process (a dump or the sample) and are thrown away at the end."""

    @classmethod
    def open(
        cls,
        source: str,
        profile: str | FilePath | None = None,
        read_only: bool = False,
        into_memory: bool = False,
        password: str | None = None,
        home: FilePath | None = None,
    ) -> Session:
        """Connect, and ask the server what it is.

        ``profile`` is a TOML file that states layouts. A dump is read-only unless ``into_memory``. ``password``
        is for a URI that names a user only. ``home`` is the folder of journal and drafts (default: the user's
        data folder, or ``PALIMPSEST_HOME``). Raises ``Unreachable``, ``NotFound``, ``Unreadable`` or ``Refused``.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the connection and of an in-process server; a second call does nothing."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def refresh_facts(self) -> ServerFacts:
        """Ask the server again what it is and how long it takes to answer."""
        raise NotImplementedError

    # --- what is there

    def databases(self) -> list[str]:
        """The databases this user may see, without the server's own."""
        raise NotImplementedError

    def collections(self, db: str | None = None, checkpoint: Checkpoint = no_checkpoint) -> Iterator[CollectionInfo]:
        """Each collection of one database, or of all, with the layout recognised or stated for it."""
        raise NotImplementedError

    def info(self, ns: str) -> CollectionInfo:
        """One collection, from what is already known where possible; raises ``NotFound``."""
        raise NotImplementedError

    def set_layout(self, ns: str, name: str) -> CollectionInfo:
        """Use another layout for a collection from now on, as ``--layout`` does; raises ``Refused`` for an unknown name."""
        raise NotImplementedError

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
        """A page of current documents; filter, sort and fields as people type them (see ``model.text.loose``).

        The filter looks at current versions, or with ``any_version`` at earlier ones too.
        """
        raise NotImplementedError

    def outlines(self, ns: str, ids: Sequence[Value], checkpoint: Checkpoint = no_checkpoint) -> Iterator[Outline]:
        """The histories in miniature of some documents, as they become known."""
        raise NotImplementedError

    def find_id(self, ns: str, text: str) -> Value:
        """The stored id that a person means by a text: plain where only one matches, else Extended JSON.

        Raises ``NotFound``, or ``Refused`` with the ids that match.
        """
        raise NotImplementedError

    def history(
        self, ns: str, id: Value, checkpoint: Checkpoint = no_checkpoint, changed: bool = True
    ) -> Iterator[Version]:
        """The versions of a document, newest first, one for each missing number too.

        With ``changed`` each version says how many fields differ from the one before it. Raises ``NotFound``.
        """
        raise NotImplementedError

    def version(self, ns: str, id: Value, v: Value | None = None) -> Version:
        """One version with content and stored document; the current one where ``v`` is None. Raises ``NotFound``."""
        raise NotImplementedError

    def compare(self, ns: str, id: Value, v: Value | None, w: Value | None) -> Comparison:
        """Two versions and the difference from the first to the second; None is the current one."""
        raise NotImplementedError

    # --- writing: every one of these is journalled, guarded and may end unknown

    def open_document(self, ns: str, id: Value) -> Opened:
        """The current version for editing, and whether it may be written; raises ``NotFound``."""
        raise NotImplementedError

    def preview(self, ns: str, id: Value, base: Version, content: bytes) -> Sending:
        """Exactly what :meth:`save` would send; nothing is written."""
        raise NotImplementedError

    def save(self, ns: str, id: Value, base: Version, content: bytes, action: str = "edit") -> Outcome:
        """Swap the current version ``base`` for a new one with this content.

        ``conflict``: the document is not the base any more, nothing was written, see :meth:`conflict`.
        """
        raise NotImplementedError

    def conflict(self, ns: str, id: Value, base: Version, mine: bytes) -> Conflict:
        """What happened to a document since ``base``, and how it merges with an edit that began there."""
        raise NotImplementedError

    def edit(
        self,
        ns: str,
        id: Value | str,
        set: Mapping[str | Path, Value | object] | None = None,
        unset: Sequence[str | Path] = (),
        base: Value | object | None = None,
    ) -> Outcome:
        """Change some fields of the current version in one guarded write.

        Paths are text (``premium.gross``, ``riders[2]``) or tuples; values are ``Value`` or what PyMongo encodes.
        With ``base``, a version number or hash, anything but that version being current is a ``conflict``. A
        change that changes nothing is ``skipped`` and writes nothing.
        """
        raise NotImplementedError

    def create(self, ns: str, content: bytes, id: Value | None = None) -> Outcome:
        """A new document as version 1; refused where the id exists. Without ``id`` it gets an ObjectId."""
        raise NotImplementedError

    def delete(self, ns: str, id: Value, base: Version) -> Outcome:
        """Delete a document if ``base`` is still its current version; what goes is kept in the journal."""
        raise NotImplementedError

    def restore(
        self, ns: str, id: Value, v: Value, fields: Sequence[Path] | None = None, base: Version | None = None
    ) -> Outcome:
        """Make an earlier state, or some of its fields, the content of a new version."""
        raise NotImplementedError

    def restored(self, ns: str, id: Value, v: Value, fields: Sequence[Path] | None, base: Version) -> bytes:
        """The content that :meth:`restore` would save over ``base``; for a preview."""
        raise NotImplementedError

    def settle(self, outcome: Outcome) -> Outcome:
        """Look again for the write of an unknown outcome: applied, conflict (it is not there), or still unknown."""
        raise NotImplementedError

    def colleague(self, ns: str, id: Value) -> Outcome:
        """Change a document of the sample as someone else would; refused elsewhere."""
        raise NotImplementedError

    def missing_index(self, ns: str) -> str | None:
        """Why writing is refused for want of a unique index, one sentence; None where nothing is missing."""
        raise NotImplementedError

    def create_index(self, ns: str) -> Outcome:
        """Create the index that :meth:`missing_index` speaks of, once duplicates are ruled out."""
        raise NotImplementedError

    # --- counters in two steps

    def pending(
        self, ns: str | None = None, older_than: dt.timedelta | None = None, checkpoint: Checkpoint = no_checkpoint
    ) -> Iterator[PendingToken]:
        """Tokens left between step one and step two, of one collection or of all; only older ones on request."""
        raise NotImplementedError

    def preview_finish(self, token: PendingToken) -> Sending:
        """Exactly what finishing this token would send."""
        raise NotImplementedError

    def finish(
        self, tokens: Sequence[PendingToken], checkpoint: Checkpoint = no_checkpoint, confirmed: bool = False
    ) -> Iterator[Outcome]:
        """Send step two for each token, one guarded write a token, an outcome for each.

        Tokens inside the grace period are skipped unless ``confirmed`` by a person.
        """
        raise NotImplementedError

    # --- the way back

    def undo(self, entry: str) -> Outcome:
        """Write the inverse of a journal entry, guarded by what that entry left; itself journalled."""
        raise NotImplementedError

    def undo_conflict(self, entry: str) -> Conflict:
        """For an edit that cannot simply be undone because the document moved on: the same as a merge."""
        raise NotImplementedError
