"""What every storage layout offers, and what they share.

A layout is bound to a server and to the profile of one collection. It speaks to the server through
:class:`model.server.port.Port` alone, so that tests can interleave writers at every operation.
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from bson import ObjectId

from model.collection_profile import CollectionProfile
from model.errors import NotFound, Refused
from model.findings import Finding, Unchecked
from model.layouts import document_ids as ids
from model.layouts import numbering, update_operators
from model.layouts.checks.base import Check
from model.layouts.checks.ordered_reading import OrderedReading
from model.layouts.recognition.sampling import Proposal, Sample
from model.layouts.reserved_fields import Own, unreadable, version_damage
from model.names import id_name, version_name
from model.records import Checkpoint, Outcome, Outline, Row, Version, no_checkpoint
from model.server import guards
from model.server.guards import Abilities
from model.server.retry import End, Port, Terms, Write, run
from model.values import canonical as c
from model.values.canonical import Value


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


@dataclass(frozen=True)
class Stamp:
    """What a write brings along: its token, when, and who made it (where the profile names fields for these)."""

    token: ObjectId = field(default_factory=ObjectId)
    author: str | None = None
    at: dt.datetime = field(default_factory=_now)
    row: ObjectId = field(default_factory=ObjectId)  # the `_id` of a further document that the write makes


class Layout(ABC):
    """One collection's documents and their versions. Reads raise ``NotFound`` and the other ``Refused`` errors.

    What a layout declares of itself is all that others know of it: profiles, recognition, the command line, the window.
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
    holds_current: ClassVar[bool] = False
    """Whether a second collection, where there is one, is meant to hold the current version too."""
    own_documents: ClassVar[bool] = False
    """Whether every version is a document of its own, so that an insert makes one."""
    numbered: ClassVar[bool] = True
    """Whether versions are numbers or dates."""

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        self.server = server
        self.profile = profile
        self.ns = profile.ns
        self._able: Abilities | None = None

    # --- being recognised

    @classmethod
    def proposed(cls, server: Port, sample: Sample) -> Proposal | None:
        """What a collection taken by itself says for this layout; None where nothing does."""
        return None

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The fields to use where a person picks this layout; None where they cannot be told.

        ``others`` are the names of the collections beside it.
        """
        return None

    # --- reading

    @property
    def standing(self) -> str:
        """How far something that follows the collection has come, a sentence; "" where nothing follows it."""
        return ""

    @abstractmethod
    def page(
        self,
        filter: Terms | None = None,
        sort: Terms | None = None,
        projection: Terms | None = None,
        skip: int = 0,
        limit: int = 50,
        any_version: bool = False,
    ) -> Iterator[Row]:
        """Current documents in the order asked for; the filter is applied after the newest version is picked.

        With ``any_version`` a document is listed where any of its versions matches. Ask for one row more than
        wanted to know whether there are more.
        """

    @abstractmethod
    def count(self, filter: Terms | None = None, any_version: bool = False, max_ms: int = 2000) -> int | None:
        """How many documents :meth:`page` would list; None where that takes too long."""

    def find_id(self, text: str) -> Value:
        """The stored id meant by a text: plain where one matches, else Extended JSON.

        Raises ``NotFound`` where none matches, ``Refused`` with the ids where several do.
        """
        return ids.pick(text, self.ns, self.exists)

    def exists(self, id: Value) -> bool:
        """Whether there is a document, or a version of one, with exactly this id."""
        return self._any(self.ns, guards.exact(self.profile.id, id))

    def _any(self, ns: str, filter: Terms) -> bool:
        return next(iter(self.server.find(ns, filter, projection={"_id": 1}, limit=1)), None) is not None

    @abstractmethod
    def outline(self, ids: Sequence[Value]) -> Iterator[Outline]:
        """The history of each document in miniature, in the order of ``ids``, with few queries."""

    @abstractmethod
    def history(self, id: Value, contents: bool = False) -> Iterator[Version]:
        """The versions newest first, one for each missing number too; ``content`` only where asked for.

        Raises ``NotFound`` where there is no version at all.
        """

    @abstractmethod
    def version(self, id: Value, v: Value | None = None) -> Version:
        """One version with ``content`` and ``raw``; the current one where ``v`` is None. Raises ``NotFound``."""

    @property
    @abstractmethod
    def own(self) -> Own:
        """The names that the layout keeps for itself where versions or current documents are stored."""

    def content(self, raw: bytes) -> bytes:
        """What the users put there: a stored document without ``_id`` and the layout's own fields, in stored order."""
        return self.own.content(raw)

    def document(self, raw: bytes) -> bytes:
        """A stored document as people see it: locked fields and content, in stored order, without histories."""
        return raw

    def beside(self, raw: bytes) -> tuple[str, ...]:
        """The top-level fields of a stored document that belong to none of its versions."""
        return ()

    @property
    def locked(self) -> tuple[str, ...]:
        """The top-level names of :meth:`document` that nobody edits: ``_id`` and the layout's own."""
        return tuple(sorted(self.own.names))

    def writable(self, version: Version) -> str:
        """Why this version may not be written over, one sentence; "" where it may."""
        return self._objection(version) or self.missing_index() or ""

    def unfit(self, content: bytes) -> str:
        """Why a content cannot be stored here, one sentence: a name in it would stand there twice. "" where it can."""
        names = [name for name, _ in c.fields(content)]
        kept = next((name for name in names if name in self.locked), None)
        if kept is not None:
            return f"The field {kept} is kept by the layout itself, so a content cannot hold it; leave it out."
        twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
        return "" if twice is None else f"The content holds the field {twice} twice; take one of them out."

    def _objection(self, version: Version) -> str:
        """The same as far as the version itself is concerned."""
        if not version.current:
            return "Only the current version can be edited; restore this one to work from it."
        if version.raw is None or version.content is None:
            return "This document cannot be read, so it can be shown and not written."
        if damage := unreadable(version.raw):
            return f"This document {damage}, so it can be shown and not written."
        if self.numbered and version.v is not None and version_damage(version.v):
            return f"The version of this document is a {version.v.kind} and no whole number; mend that before editing."
        return ""

    # --- looking for what should not be

    @property
    @abstractmethod
    def check(self) -> Check:
        """What looks for this layout's kinds of damage."""

    def findings(
        self,
        ids: Sequence[Value] | None = None,
        now: dt.datetime | None = None,
        checkpoint: Checkpoint = no_checkpoint,
        reading: OrderedReading | None = None,
    ) -> Iterator[Finding | Unchecked]:
        """What is wrong with some documents, or with all of them, and what was not looked at.

        Streaming, in memory that does not grow with the collection. ``now`` decides what is inside the grace period;
        ``reading`` says from where and how hard a scan reads, and is told how far it is.
        """
        reading = reading or OrderedReading(self.server, checkpoint)
        return self.check.findings(ids, now or _now(), reading)

    # --- writing

    @abstractmethod
    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> list[Write]:
        """The writes that :meth:`swap` sends, in order; raises ``Refused`` where the edit cannot be said.

        ``v`` is the number that the new version gets, where it has been drawn already.
        """

    def foreseen(self, id: Value, base: Version, content: bytes, stamp: Stamp) -> list[Write]:
        """All that a swap would send now, in order: what draws a number first, where one is drawn."""
        v, writes = self._foreseen_number(id, base, stamp)
        return [*writes, *self.steps(id, base, content, stamp, v)]

    def _foreseen_number(self, id: Value, base: Version, stamp: Stamp) -> tuple[Value | None, list[Write]]:
        """The number that the next version would get now, and the writes that give it."""
        if not self.numbered:
            return None, []
        proposed = numbering.following(base.v, self.profile, stamp.at)
        v, write = numbering.drawing(self.server, self.profile, id, proposed)
        return v, [write] if write is not None else []

    @abstractmethod
    def explain(self, base: Version) -> str:
        """The order of the writes and the guard, in one or two sentences."""

    @abstractmethod
    def swap(self, id: Value, base: Version, content: bytes, stamp: Stamp | None = None) -> Outcome:
        """Make ``content`` the next version if ``base`` is still the current one. Raises nothing that a write can meet.

        The token of the stamp is how the write is found again (:meth:`landed`); note it before calling.
        """

    @abstractmethod
    def create(self, content: bytes, id: Value | None = None, stamp: Stamp | None = None) -> Outcome:
        """A new document as its first version; ``refused`` where the id exists."""

    def _taken(self, id: Value) -> Outcome:
        return Outcome("refused", self.ns, id, f"There is a document {id_name(id)} already; choose another id.")

    def _created(self, end: End, id: Value, v: Value | None, stamp: Stamp) -> Outcome:
        """What a creation is told of the insert that decided.

        One that found its id taken only when it was tried again may have been there and be deleted by now, or may still
        arrive once the other document is deleted: that is unknown.
        """
        if end.kind == "applied":
            said = f"Created as {version_name(v)}." if v is not None else "Created."
            return Outcome("applied", self.ns, id, _joined(said, end.sentence), v)
        if end.kind == "conflict" and not end.retried:
            return self._taken(id)
        if end.kind in ("conflict", "unknown"):
            other = f"Another document has the id {id_name(id)}; whether yours was there before it nobody can tell."
            detail = other if end.kind == "conflict" else end.sentence
            return Outcome("unknown", self.ns, id, detail, token=str(stamp.token))
        return Outcome(end.kind, self.ns, id, end.sentence)

    @abstractmethod
    def delete(
        self, id: Value, base: Version, stamp: Stamp | None = None, kept: Sequence[tuple[str, bytes]] | None = None
    ) -> Outcome:
        """Delete the document if ``base`` is still its current version.

        With ``kept``, what :meth:`removal` gave and somebody has put away, nothing else is deleted: where there is more
        by now, or less, it is a conflict.
        """

    @abstractmethod
    def removal(self, id: Value, base: Version) -> tuple[tuple[str, bytes], ...]:
        """Every (ns, stored document) that :meth:`delete` would remove, to be kept first."""

    @abstractmethod
    def landed(self, id: Value, token: ObjectId, base: Version | None = None) -> bool | None:
        """Whether the write with this token is in the current document or its history; None where nobody can tell.

        False is certain where ``base``, the version that the write began from, is given and no history is missing.
        """

    def identity(self, version: Version) -> bytes:
        """The bytes that tell whether a document still is the version that was read."""
        return version.raw or c.EMPTY

    def missing_index(self) -> str | None:
        """Why writing is refused for want of a unique index, one sentence; None where nothing is missing."""
        return None

    def create_index(self) -> None:
        """Create what :meth:`missing_index` speaks of; raises ``Refused`` naming the duplicates in its way."""
        raise Refused(f"{self.ns} needs no further index.")

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """The (ns, document) that keep these versions, oldest first and with contents, the current document last.

        Reads nothing, and gives the same bytes for the same versions: what moving a collection here writes. Raises
        ``Refused`` for what this layout cannot hold.
        """
        raise Refused(f"Nothing can be moved into the layout {self.name}.")

    def put_back(self, removed: Sequence[tuple[str, bytes]]) -> Outcome:
        """Insert again what a delete removed; ``conflict`` where the id is taken by now.

        In doubt a document that is there with just these bytes counts as ours. What is there already is left alone.
        Where only some of several documents could be put back, that is ``unknown``, and doing it again goes on.
        """
        key: Value | None = None
        for done, (ns, raw) in enumerate(removed):
            physical = guards.physical_id(raw)
            key = key or ids.id_of(raw, self.profile.id) or physical

            def there(ns: str = ns, raw: bytes = raw, physical: Value = physical) -> bool:
                return next(iter(self.server.find(ns, guards.by_id(physical), limit=1)), None) == raw

            try:
                if there():
                    continue
                end = run(self.server, Write(ns, "insert", {}, raw, "put back what was deleted"), there)
            except Refused as error:
                end = End("refused", str(error))
            if end.kind == "applied":
                continue
            sentence = end.sentence
            if end.kind == "conflict":
                sentence = "Its place is taken by another document; nothing was put back."
            if not done or end.kind == "unknown":
                return Outcome(end.kind, self.ns, key, sentence)
            return Outcome(
                "unknown", self.ns, key, f"{done} of {len(removed)} documents are there again, the next one is not."
            )
        return Outcome("applied", self.ns, key, "What was deleted is there again.")

    # --- what layouts share

    def signed(self, content: bytes, author: str | None) -> bytes:
        """The content with who made it, where the profile names a field for that; writing it again changes nothing."""
        if author and self.profile.author:
            return c.put(content, (self.profile.author,), Value.of(author))
        return content

    def _abilities(self, physical: Value) -> Abilities:
        """What this server's expressions can tell apart, found out once over a document that exists."""
        if self._able is None:
            self._able = guards.abilities(self.server, self.ns, physical)
        return self._able

    def _is_mongodb(self) -> bool:
        """Whether the server is MongoDB's own, or the one in this process.

        Others may take 1.0 over 1 for no change at all, and stumble over dots in names.
        """
        return "gitVersion" in self.server.facts().extra

    def _check(self, base: Version) -> tuple[bytes, bytes]:
        """The stored document and the content of a base that may be written over; else raises ``Refused``."""
        if reason := self._objection(base):
            raise Refused(reason)
        assert base.raw is not None
        assert base.content is not None
        return base.raw, base.content

    def _ended(self, end: End, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None) -> Outcome:
        """The outcome of the write that decides a swap."""
        if end.kind == "applied":
            said = f"Saved as {version_name(v)}." if v is not None else "Saved."
            return Outcome(
                "applied", self.ns, id, _joined(said, end.sentence, self._read_back(id, base, content, stamp)), v
            )
        if end.kind == "conflict":
            met = self._conflict(id, base)
            if met.kind == "conflict" or not end.retried:
                return met
            # What was deleted before the second try is put back by now, to the byte: the first try may still arrive.
            end = replace(end, kind="unknown", sentence=f"{id_name(id)} is as it was read, and the edit may arrive.")
        if end.kind == "unknown":
            detail = _joined("It is not known whether the edit was applied.", end.sentence)
            return Outcome("unknown", self.ns, id, detail, token=str(stamp.token))
        return Outcome("refused", self.ns, id, end.sentence)

    def _read_back(self, id: Value, base: Version, content: bytes, stamp: Stamp) -> str:
        """What the server made of the content just written, one sentence or none."""
        try:
            now = self.version(id)
        except Refused:
            return ""
        if now.raw is None or now.content is None or not self._bears(now.raw, stamp.token):
            return ""  # overtaken already, which is no matter of this write
        return update_operators.differences(content, now.content, base.content or c.EMPTY)

    def _bears(self, raw: bytes, token: ObjectId) -> bool:
        """Whether a stored document carries this token."""
        return bool(self.profile.token) and c.get(raw, (self.profile.token,)) == Value.of(token)

    def _conflict(self, id: Value, base: Version) -> Outcome:
        """Why a swap met another state than ``base``: a conflict, or a server that cannot evaluate the guard."""
        try:
            now = self.version(id)
        except NotFound:
            return Outcome(
                "conflict", self.ns, id, f"{id_name(id)} was deleted since it was opened; nothing was written."
            )
        except Refused as error:
            return Outcome(
                "conflict", self.ns, id, f"{id_name(id)} is not as it was opened; nothing was written. {error}"
            )
        if now.raw == base.raw:
            return Outcome(
                "refused",
                self.ns,
                id,
                "This server finds the document changed although it is not: it cannot compare all values exactly, so "
                "this edit cannot be guarded; nothing was written.",
            )
        if now.v == base.v:
            return Outcome("conflict", self.ns, id, f"{id_name(id)} was changed in place since; nothing was written.")
        moved = f"{id_name(id)} changed since ({version_name(base.v)} → {version_name(now.v)}); nothing was written."
        return Outcome("conflict", self.ns, id, moved)


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))
