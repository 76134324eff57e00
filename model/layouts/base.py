"""What every storage layout offers, and what they share.

A layout is bound to a server and to the profile of one collection. It speaks to the server through
:class:`model.resilient.Port` alone, so that tests can interleave writers at every operation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from bson import ObjectId

from model.canonical import Value
from model.profile import CollectionProfile
from model.records import Outcome, Outline, Row, Version
from model.resilient import Port, Terms, Write


@dataclass(frozen=True)
class Stamp:
    """What a write brings along: its token, and who made it (kept where the profile names a field for it)."""

    token: ObjectId
    author: str | None = None


class Layout(ABC):
    """One collection's documents and their versions. Reads raise ``NotFound`` and the other ``Refused`` errors."""

    name: ClassVar[str]

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        self.server = server
        self.profile = profile

    # --- reading

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

    @abstractmethod
    def find_id(self, text: str) -> Value:
        """The stored id meant by a text: plain where one matches, else Extended JSON.

        Raises ``NotFound`` where none matches, ``Refused`` with the ids where several do.
        """

    @abstractmethod
    def outline(self, ids: Sequence[Value]) -> Iterator[Outline]:
        """The history of each document in miniature, in the order of ``ids``, with few queries."""

    @abstractmethod
    def history(self, id: Value, contents: bool = False) -> Iterator[Version]:
        """The versions newest first, one for each missing number too; ``content`` only where asked for."""

    @abstractmethod
    def version(self, id: Value, v: Value | None = None) -> Version:
        """One version with ``content`` and ``raw``; the current one where ``v`` is None. Raises ``NotFound``."""

    @abstractmethod
    def content(self, raw: bytes) -> bytes:
        """What the users put there: a stored document without ``_id`` and the layout's own fields, in stored order."""

    @abstractmethod
    def document(self, raw: bytes) -> bytes:
        """A stored document as people see it: locked fields and content, in stored order, without histories."""

    @property
    @abstractmethod
    def locked(self) -> tuple[str, ...]:
        """The top-level names of :meth:`document` that nobody edits: ``_id`` and the layout's own."""

    def writable(self, version: Version) -> str:
        """Why this current version may not be written, one sentence; "" where it may."""
        raise NotImplementedError

    # --- writing

    @abstractmethod
    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp) -> list[Write]:
        """The writes that :meth:`swap` sends, in order; raises ``Refused`` where the edit cannot be said."""

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

    @abstractmethod
    def delete(self, id: Value, base: Version, stamp: Stamp | None = None) -> Outcome:
        """Delete the document if ``base`` is still its current version."""

    @abstractmethod
    def removal(self, id: Value, base: Version) -> tuple[tuple[str, bytes], ...]:
        """Every (ns, stored document) that :meth:`delete` would remove, to be kept first."""

    @abstractmethod
    def put_back(self, removed: Sequence[tuple[str, bytes]]) -> Outcome:
        """Insert again what a delete removed; ``conflict`` where the id is taken by now."""

    @abstractmethod
    def landed(self, id: Value, token: ObjectId) -> bool | None:
        """Whether the write with this token is in the current document or its history; None where nobody can tell."""

    def missing_index(self) -> str | None:
        """Why writing is refused for want of a unique index, one sentence; None where nothing is missing."""
        return None

    def create_index(self) -> None:
        """Create what :meth:`missing_index` speaks of; raises ``Refused`` naming the duplicates in its way."""
