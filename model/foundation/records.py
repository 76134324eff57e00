"""The values that the model returns for display; all frozen.

Documents are raw BSON (``bytes``), single values are :class:`model.values.canonical.Value`, times are UTC.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from msgspec import Struct, structs

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
"""Whether versions include their contents; "all" if each one will be read, so that one query fetches them."""

Raw: TypeAlias = bytes
"""A document as BSON. Classes below have a field ``bytes`` (a length), which hides the type ``bytes``."""

Count: TypeAlias = Callable[[bytes, bytes], int]
"""The number of fields that differ between two contents."""


class CollectionInfo(Struct, frozen=True):
    """A collection with its layout, recognised or stated, and the reasons for it."""

    ns: str
    layout: str  # versions, flagged, embedded, archive, deltas, stream, hashed, plain, sequence, processed, pending
    fields: Mapping[str, str]  # role -> field name, as in a profile
    documents: int | None  # None: not counted within the time limit
    confidence: float  # 0 to 1; 1 where a profile states it
    why: str
    belongs_to: str | None = None  # an archive's ns names the ns of the current documents
    alternatives: tuple[str, ...] = ()  # other layouts that fit as well
    about: str = ""  # the layout, in a few words
    where: str = ""  # the place of this collection's versions, in a few words
    numbering: str = ""  # how versions are numbered, and what that guarantees; "" if there are no numbers
    writer: str = ""  # the program that writes the history, by its usual name; "" for the users' own
    read_only: bool = False  # nothing is ever written to it from here, whatever the connection allows
    hashing: str = ""  # how the hash that serves as version is made, or why it is unknown; "" if there is none
    unversioned: bool = False  # its documents are plain documents without versions
    about_others: bool = False  # its documents describe documents of other collections
    counts: Counting = ""  # what is counted in it
    doubt: str = ""  # how the data contradict its profile, one sentence; then nothing is written
    against: str = ""  # what leaves the confidence low, as a clause
    signed_beside: bool = False  # its authors stand in rows beside the documents, which another program writes

    @property
    def keeps_history(self) -> bool:
        """Whether its documents have distinguishable versions."""
        return ("version" in self.fields or bool(self.writer)) and self.belongs_to is None

    def reads_as(self, other: CollectionInfo) -> bool:
        """Whether both say the same of how documents are read and written; grounds and counts may differ."""
        grounds: dict[str, Any] = {"documents": None, "confidence": 0.0, "why": "", "alternatives": (), "against": ""}
        return structs.replace(self, **grounds) == structs.replace(other, **grounds)


class Destination(Struct, frozen=True):
    """A layout that a collection can be migrated to."""

    about: str  # in a few words
    newest_alone: bool  # whether it can store only the newest version


class Condition(Struct, frozen=True):
    """A test of contents; ``fields`` are the top-level fields that it reads, None if it may read all."""

    test: Callable[[bytes], bool]
    fields: tuple[str, ...] | None = None

    def __call__(self, content: bytes) -> bool:
        return self.test(content)


@dataclass(frozen=True)
class Version:
    """One version of one document in any layout, or a version that is missing."""

    v: Value | None  # a hash for hashed documents; None for plain ones
    at: dt.datetime | None
    author: str | None
    stored: Stored
    state: State
    current: bool
    hash: str | None  # SHA-1 of the content, hex
    bytes: int | None  # length of the content
    detail: str = ""  # the damage, or why the version is unproven, in a few words
    content: Raw | None = None  # without _id and the layout's own fields; None if not requested or not stored
    raw: Raw | None = None  # the document as it is stored
    changed: int | None = None  # fields that differ from the previous version; None if unknown
    reason: str | None = None  # why it was made; None if the profile names no field for that
    signed: tuple[Value | None, Value | None] = (None, None)  # author and reason as stored, beside the content
    operation: str | None = None  # the operation in the writing program's own word; None if it has none
    seal: Value | None = None  # the stored hash of its content, if an import brings one
    deleted: bool = False  # it says that the document was deleted; its content is then what was deleted
    stored_bytes: int | None = None  # length of the stored document or row; None if nothing is stored
    aside: bool = False  # kept beside the current document, as a draft is: it never stood in its place
    landed: bool = True  # False for an archive row above the current version: its edit never reached the document
    kept_on: dt.datetime | None = None  # when all that it is made from was last read, if that is not now

    def but(self, **changes: Any) -> Version:
        """A copy with some fields changed; ``dataclasses.replace`` takes five times as long."""
        made = object.__new__(type(self))
        object.__setattr__(made, "__dict__", self.__dict__ | changes)
        return made

    def without_content(self) -> Version:
        """A copy for long lists, without content and stored document."""
        return self.but(content=None, raw=None)

    def slimmed(self) -> Version:
        """A copy to keep once its content is no longer needed; may be this very object."""
        return self.without_content()

    def compared_with(self, older: Version | None, count: Count) -> Version:
        """A copy without content, with the number of fields that differ from ``older``; may be this very object."""
        before = None if older is None else older.content
        differ = None if before is None or self.content is None else count(before, self.content)
        return self.but(content=None, raw=None, changed=differ)

    @property
    def is_missing(self) -> bool:
        """Whether nothing of it is stored."""
        return self.state == "missing"

    def meets(self, condition: Condition) -> bool | None:
        """Whether its content meets a condition; None if it has no content. Errors of the condition pass through."""
        return None if self.content is None else condition(self.content)


class WatchTurn(Struct, frozen=True):
    """A version at which a watched condition starts or stops to hold.

    ``before`` is the previous readable version. ``missing`` counts the versions between them that are gone: the
    change may have happened in any of these, so author and reason are then unknown.
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
        """Whether it changed in this very version."""
        return not self.missing


@dataclass(frozen=True)
class Row:
    """A line of the document list."""

    id: Value
    version: Value | None
    at: dt.datetime | None
    bytes: int  # of ``raw``; of the stored document if it is the whole one
    raw: Raw  # as stored, without histories left out by the projection
    readable: bool = True  # False: it cannot be decoded (class B1); shown, never written
    of: Value | None = None  # in an archive: the id of the document whose version this is
    doubt: Doubt | None = None  # in a list of the past: why this row cannot be proven
    author: str | None = None  # in a list of deleted documents: who deleted it
    reason: str | None = None  # and why
    whole: bool = True  # whether ``raw`` is all of the stored document

    def but(self, **changes: Any) -> Row:
        """A copy with some fields changed."""
        return replace(self, **changes)


class Page(Struct, frozen=True):
    """Some documents, in the requested order."""

    rows: tuple[Row, ...]
    skip: int
    total: int | None  # None: not counted within the time limit
    total_note: str  # why total is None, else ""
    more: bool
    milliseconds: int


class Outline(Struct, frozen=True):
    """One document's history in miniature: a mark for each version and gap, old to new."""

    id: Value
    marks: tuple[tuple[Stored, State, bool], ...]  # (stored, state, current)
    health: str  # "Sound", or the damage in a few words
    severity: Literal["sound", "warn", "error"]
    at: dt.datetime | None = None  # when the current version was written, if rows beside the document say so
    author: str | None = None  # who wrote the current version, if rows beside the document say so
    reason: str | None = None  # and why


class Matches(Struct, frozen=True):
    """The versions of one document that match a filter, newest first and without contents, and how many were tested.

    ``runs`` groups them into stretches of consecutive versions, each as its oldest and newest.
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
    short_pymongo: str = ""  # with long values shortened, for display
    short_mongosh: str = ""


class Opened(Struct, frozen=True):
    """A document opened for editing."""

    ns: str
    id: Value
    base: Version  # with content and raw
    locked: tuple[str, ...]  # top-level names of `raw` that the layout maintains, and _id
    writable: bool
    reason: str = ""  # why it is not writable, one sentence
    document: bytes = b""  # raw as people see it: locked fields and content, in stored order
    lock: str = ""  # a field that looks like another program's lock; the user must say how it changes
    doubt: str = ""  # how the data contradict its layout, one sentence; nothing is written until the user insists
    takes_reason: bool = False  # whether a version can record why it was made
    asks_author: bool = False  # whether the user is asked once for an author name
    kept_by_delete: str = ""  # what becomes of its versions if it is deleted, and how to restore it, one sentence


EDIT_IN_DOUBT = "It is not known whether the edit was applied."
UNDO_IN_DOUBT = "It is not known whether the undo was applied."
"""The beginning of an edit's detail if its outcome is unknown; the reason follows."""


class Outcome(Struct, frozen=True):
    """How a write ended. ``conflict`` and ``refused`` mean that it is not in the database."""

    kind: Kind
    ns: str
    id: Value | None
    detail: str  # one sentence
    version: Value | None = None  # the version that is now current, if applied
    entry: str | None = None  # its id in the journal
    token: str | None = None  # the write token in hex, if the outcome is unknown
    value: Value | None = None  # the number handed out, or the counter's new value
    found: Version | None = None
    """The current version as read after a swap that was applied, if it still is that swap's version."""
    unsent: bool = False  # refused before anything was sent: the server was unreachable
    done: bool = False  # skipped since it is so already: nothing is left to do


class PendingToken(Struct, frozen=True):
    """A token of a two-step counter that has passed step one but not step two."""

    ns: str
    id: Value  # of the document
    token: Value
    owner: str | None
    at: dt.datetime | None  # the time in the ObjectId; None: unknown, counts as young
    field: str  # the counter it will be added to
    amount: int
    counter: Value | None  # the counter now
    after: Value | None  # the counter after finishing only this token
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
    kind: Kind | Literal["begun"]  # begun: the process died before it knew the outcome
    detail: str
    had_before: bool  # the document existed before
    has_after: bool
    contents: Callable[[], tuple[bytes | None, bytes | None]] = field(compare=False, repr=False)
    """Reads the contents before and after, None if absent; slow if they are large."""
    hash_before: str | None
    hash_after: str | None
    undoable: bool
    why_not: str = ""
    undone_by: str | None = None
    version_before: str | None = None
    version_after: str | None = None
    run: str = ""  # the name of its run, if several writes were requested at once
    gone: bool = False  # the data were in memory and are gone
    reason: str = ""  # why it was written, if the user said so


class Draft(Struct, frozen=True):
    """An unsaved edit, and the version that it started from."""

    source: str
    ns: str
    id: Value
    base_v: Value | None
    base_content: bytes
    content: bytes
    kept_at: dt.datetime


class ServerFacts(Struct, frozen=True):
    """What the server says about itself."""

    name: str  # the connection's name, or host
    version: str
    topology: str  # "standalone", a replica set's name, "sharded", "in memory"
    milliseconds: int
    wire: int
    sessions: bool
    engine: str = "MongoDB"  # the program behind the protocol
    engine_version: str = ""  # its own; "" if it has none but that of MongoDB
    lacks: frozenset[int] = frozenset()  # types of values that it cannot take at all
    called: str = ""  # the topology as people call it; "" if there is nothing to say

    @property
    def program(self) -> str:
        """The program with its version, as in "MongoDB 7.0.14", "FerretDB 1.24.0" or "DocumentDB"."""
        own = self.engine in ("MongoDB", "Amazon DocumentDB")  # others only repeat the version that they imitate
        return f"{self.engine} {self.engine_version or (self.version if own else '')}".strip()


class ConnectionStep(Struct, frozen=True):
    """A step of testing a connection: name, result and findings; contains no secrets."""

    name: str
    result: Literal["ok", "warning", "failed"]
    said: str
