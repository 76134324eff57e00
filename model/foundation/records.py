"""The values that the model hands to those who draw or print them; all frozen.

Documents are raw BSON (``bytes``), single values are :class:`model.values.canonical.Value`, times are UTC.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from model.foundation.checkpoints import Checkpoint as Checkpoint
from model.foundation.checkpoints import no_checkpoint as no_checkpoint
from model.values.canonical import Value

Kind: TypeAlias = Literal["applied", "refused", "conflict", "unknown", "skipped"]
Counting: TypeAlias = Literal["", "numbers", "tokens", "entries"]
"""What a collection counts: numbers handed out one by one, tokens in two steps, or entries of a list, each once."""
Stored: TypeAlias = Literal["document", "prev", "archive", "delta", "none"]
State: TypeAlias = Literal["present", "missing", "unproven", "damaged"]
Doubt: TypeAlias = Literal["gap", "undated", "clock", "content", "above", "deleted"]

Contents: TypeAlias = Literal[False, True, "all"]
"""Whether versions come with their contents; "all" where every one of them is going to be read: by one query then."""

Raw: TypeAlias = bytes
"""A document as BSON; the classes below have a length called ``bytes``, which hides the type of that name."""

Count: TypeAlias = Callable[[bytes, bytes], int]
"""How many fields differ between two contents."""


class CollectionInfo(Struct, frozen=True):
    """A collection, with its recognised or stated layout and the grounds for that."""

    ns: str
    layout: str  # versions, flagged, embedded, archive, deltas, stream, hashed, plain, sequence, processed, pending
    fields: Mapping[str, str]  # role -> field name, as in a profile
    documents: int | None  # None: not counted in the time allowed
    confidence: float  # 0 to 1; 1 where a profile states it
    why: str
    belongs_to: str | None = None  # an archive's ns names the ns of the current documents
    alternatives: tuple[str, ...] = ()  # other layouts that fit as well
    about: str = ""  # the layout, in a few words
    where: str = ""  # the place of this collection's versions, in a few words
    numbering: str = ""  # how versions get their numbers, with the promises of that; "" where they have none
    writer: str = ""  # the program that writes the history, as people know it; "" where it is the users' own
    read_only: bool = False  # nothing is written to it from here, whatever the connection allows
    hashing: str = ""  # how the hash that is the version is made, or why nobody knows; "" where there is none
    unversioned: bool = False  # its documents are just documents, of which nothing tells versions apart
    about_others: bool = False  # its documents are entries about documents of other collections
    counts: Counting = ""  # what is counted in it
    doubt: str = ""  # what all the data say against its profile, one sentence; nothing is written by it then

    @property
    def keeps_history(self) -> bool:
        """Whether its documents have versions that can be told apart."""
        return ("version" in self.fields or bool(self.writer)) and self.belongs_to is None


class Destination(Struct, frozen=True):
    """A layout that a collection can be moved to."""

    about: str  # in a few words
    newest_alone: bool  # whether it has a place for the newest version alone


class Condition(Struct, frozen=True):
    """A test of contents; ``fields`` at their top decide it alone, or None where it may look at all of a content."""

    test: Callable[[bytes], bool]
    fields: tuple[str, ...] | None = None

    def __call__(self, content: bytes) -> bool:
        return self.test(content)


@dataclass(frozen=True)
class Version:
    """One version of one document, wherever its layout keeps it; also a missing one."""

    v: Value | None  # a hashed document's is its hash; plain ones have none
    at: dt.datetime | None
    author: str | None
    stored: Stored
    state: State
    current: bool
    hash: str | None  # SHA-1 of the content, hex
    bytes: int | None  # length of the content
    detail: str = ""  # the damage, or why it is unproven, in a few words
    content: Raw | None = None  # without _id and the layout's own fields; None where not asked for or not there
    raw: Raw | None = None  # the document as it is stored
    changed: int | None = None  # fields that differ from the version before; None where unknown
    reason: str | None = None  # why it was made, where the profile names a field for that
    signed: tuple[Value | None, Value | None] = (None, None)  # author and reason as they are stored, beside the content
    operation: str | None = None  # what was done, in the word of the program that wrote it; None where it has none
    seal: Value | None = None  # the hash of its content as it is stored, where an import brings it along
    deleted: bool = False  # it says that the document was deleted after the version before it; a content is what went
    stored_bytes: int | None = None  # length of the document or row as it is stored; None where nothing is

    def but(self, **changes: Any) -> Version:
        """The version with some fields changed; ``dataclasses.replace`` takes five times as long."""
        made = object.__new__(type(self))
        object.__setattr__(made, "__dict__", self.__dict__ | changes)
        return made

    def without_content(self) -> Version:
        """The version as lists of many hold it."""
        return self.but(content=None, raw=None)

    def slimmed(self) -> Version:
        """The version for whoever keeps it and needs its content no more; it may be this one."""
        return self.without_content()

    def compared_with(self, older: Version | None, count: Count) -> Version:
        """The version without its content, with the number of fields that differ from ``older``; it may be this one."""
        before = None if older is None else older.content
        differ = None if before is None or self.content is None else count(before, self.content)
        return self.but(content=None, raw=None, changed=differ)

    @property
    def is_missing(self) -> bool:
        """Whether nothing is stored of it."""
        return self.state == "missing"

    def meets(self, condition: Condition) -> bool | None:
        """Whether its content meets a condition; None where it has none. Raises what the condition does."""
        return None if self.content is None else condition(self.content)


class WatchTurn(Struct, frozen=True):
    """A version at which a watched condition begins or ceases to hold.

    ``before`` is the newest version before it that could be read. With ``missing`` so many between them are not there:
    it may have turned in any of these, so that author and reason are not known.
    """

    ns: str
    id: Value
    watch: str  # the name of the condition
    holds: bool
    v: Value | None
    at: dt.datetime | None
    author: str | None
    reason: str | None
    before: Value | None
    missing: int = 0

    @property
    def proven(self) -> bool:
        """Whether it turned in this very version."""
        return not self.missing


@dataclass(frozen=True)
class Row:
    """A line of the document list."""

    id: Value
    version: Value | None
    at: dt.datetime | None
    bytes: int  # of the stored document
    raw: Raw  # as stored, less histories that are projected out
    readable: bool = True  # False: it does not decode (class B1); shown, never written
    of: Value | None = None  # in an archive: the id of the document that this is a version of
    doubt: Doubt | None = None  # in a list of the past: why nobody can prove that it was so
    author: str | None = None  # in a list of deleted documents: who deleted it
    reason: str | None = None  # and why

    def but(self, **changes: Any) -> Row:
        """The row with some fields changed."""
        return replace(self, **changes)


class Page(Struct, frozen=True):
    """Some documents, in the order asked for."""

    rows: tuple[Row, ...]
    skip: int
    total: int | None  # None: not counted within the time allowed
    total_note: str  # why total is None, else ""
    more: bool
    milliseconds: int


class Outline(Struct, frozen=True):
    """One document's history in miniature: (kind of place, state) from old to new, gaps included."""

    id: Value
    marks: tuple[tuple[Stored, State, bool], ...]  # (stored, state, current)
    health: str  # "Sound", or the damage in a few words
    severity: Literal["sound", "warn", "error"]
    at: dt.datetime | None = None  # when the current version was written, where the rows beside the document tell it


class Matches(Struct, frozen=True):
    """The versions of one document that a filter finds, newest first and without contents, of how many it looked at.

    ``runs`` are these as stretches of versions that follow one another, oldest and newest of each.
    """

    id: Value
    versions: tuple[Version, ...]
    runs: tuple[tuple[Version, Version], ...]
    looked: int


class Sending(Struct, frozen=True):
    """The exact write of a save, before it is sent."""

    pymongo: str
    mongosh: str
    explanation: str  # one or two sentences: the order of the writes, and the guard
    short_pymongo: str = ""  # with long values elided, to look at
    short_mongosh: str = ""


class Opened(Struct, frozen=True):
    """A document opened for editing."""

    ns: str
    id: Value
    base: Version  # with content and raw
    locked: tuple[str, ...]  # top-level names of `raw` that the layout keeps for itself, and _id
    writable: bool
    reason: str = ""  # why it is not writable, one sentence
    document: bytes = b""  # raw as people see it: locked fields and content, in stored order
    lock: str = ""  # a field that looks like another program's lock, of which a person must say how it moves
    doubt: str = ""  # what the data say against its layout, one sentence; nothing is written until a person insists
    takes_reason: bool = False  # whether a version can say why it was made
    asks_author: bool = False  # whether a person is asked once for the name that versions bear


EDIT_IN_DOUBT = "It is not known whether the edit was applied."
UNDO_IN_DOUBT = "It is not known whether the undo was applied."
"""How the detail of an edit with an unknown outcome begins; behind it stands why."""


class Outcome(Struct, frozen=True):
    """How a write ended. ``conflict`` and ``refused`` mean: not in the database."""

    kind: Kind
    ns: str
    id: Value | None
    detail: str  # one sentence
    version: Value | None = None  # the version that is now current, where applied
    entry: str | None = None  # the journal's id for it
    token: str | None = None  # the write token, hex, for an unknown one
    value: Value | None = None  # the number that was handed out, or the counter as it is now
    found: Version | None = None
    """The current version as it was read behind a swap that was applied, where it is still its version."""
    unsent: bool = False  # refused before anything was sent: the server was out of reach


class PendingToken(Struct, frozen=True):
    """A token between step one and step two of a two-step counter."""

    ns: str
    id: Value  # of the document
    token: Value
    owner: str | None
    at: dt.datetime | None  # the ObjectId's own time; None: age unknown, counts as young
    field: str  # the counter it will be added to
    amount: int
    counter: Value | None  # the counter now
    after: Value | None  # the counter after finishing this token alone
    stale: bool  # older than the grace period
    applied: bool  # in the applied list as well (T2)
    problem: str = ""  # why it cannot be finished, else ""


@dataclass(frozen=True)
class Entry:
    """One line of the journal."""

    id: str
    at: dt.datetime
    source: str  # without password
    ns: str
    document: str  # the id as Extended JSON
    action: str  # edit, create, delete, restore, finish, undo, …
    kind: Kind | Literal["begun"]  # begun: the process died before the outcome was known
    detail: str
    had_before: bool  # there was a document before it
    has_after: bool
    contents: Callable[[], tuple[bytes | None, bytes | None]] = field(compare=False, repr=False)
    """Reads the contents before and after it, None where it was not there; slow where they are large."""
    hash_before: str | None
    hash_after: str | None
    undoable: bool
    why_not: str = ""
    undone_by: str | None = None
    version_before: str | None = None
    version_after: str | None = None
    run: str = ""  # the name of the run that it belongs to, where several writes were asked for at once
    gone: bool = False  # the data were in memory, and are there no more
    reason: str = ""  # why it was written, where a person said so


class Draft(Struct, frozen=True):
    """An edit that is not saved yet, tied to the version it began from."""

    source: str
    ns: str
    id: Value
    base_v: Value | None
    base_content: bytes
    content: bytes
    kept_at: dt.datetime


class ServerFacts(Struct, frozen=True):
    """The server's facts about itself."""

    name: str  # the connection's name, or host
    version: str
    topology: str  # "standalone", a replica set's name, "sharded", "in memory"
    milliseconds: int
    wire: int
    sessions: bool


class ConnectionStep(Struct, frozen=True):
    """A step of trying a connection: its name, how it ended, and what was found; nothing in it is secret."""

    name: str
    result: Literal["ok", "warning", "failed"]
    said: str
