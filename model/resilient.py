"""Talking to a server: reads in batches by size, and the one place where a write leaves.

A write is sent once by :meth:`Server.send`, which raises nothing and says what is known: applied, not applied, or
unknown. :func:`run` makes it resilient: one more try of the same guarded write, and the question "did mine land?".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from model.errors import Refused
from model.records import ServerFacts

Terms: TypeAlias = Mapping[str, Any]
"""A filter, sort, projection or update in order; its leaves are Python values or :class:`model.canonical.Value`."""

Applied: TypeAlias = Literal["yes", "no", "unknown", "partial"]


@dataclass(frozen=True)
class Write:
    """One write command: always one document, with its guard in the filter (an insert's guard is a unique index)."""

    ns: str
    kind: Literal["insert", "update", "replace", "upsert", "delete"]
    filter: Terms  # {} for an insert
    body: bytes | Terms | Sequence[Terms] | None = None  # raw document; operators; a pipeline; None for a delete
    note: str = ""  # what it is for, a clause for the preview


@dataclass(frozen=True)
class Reply:
    """What one attempt to write told us."""

    applied: Applied
    matched: int = 0  # documents that met the filter (1 for an insert that was applied)
    modified: int = 0
    upserted: bool = False
    duplicate: bool = False  # a unique index said no
    retry: bool = False  # worth another try
    sentence: str = ""  # what went wrong, for people
    error: Refused | None = None  # the same, to raise


@dataclass(frozen=True)
class Meaning:
    """What an error of the driver says about the write it came out of."""

    applied: Applied
    retry: bool
    sentence: str
    duplicate: bool = False


@dataclass(frozen=True)
class End:
    """How a resilient write ended; ``conflict`` and ``refused`` mean: not in the database, now or later."""

    kind: Literal["applied", "refused", "conflict", "unknown"]
    sentence: str = ""
    reply: Reply | None = None
    retried: bool = False


class Port(Protocol):
    """What layouts need of a server; tests put a scheduler or faults behind it. Each call is one operation."""

    def facts(self) -> ServerFacts:
        """What the server says of itself."""

    def find(
        self,
        ns: str,
        filter: Terms | None = None,
        sort: Terms | None = None,
        projection: Terms | None = None,
        skip: int = 0,
        limit: int = 0,
        max_ms: int | None = None,
    ) -> Iterator[bytes]:
        """The matching documents as stored, in batches by size; raises ``Unreachable``, ``NotAllowed``, ``Refused``."""

    def aggregate(self, ns: str, pipeline: Sequence[Terms], max_ms: int | None = None) -> Iterator[bytes]:
        """The results of a pipeline, as :meth:`find`."""

    def count(self, ns: str, filter: Terms | None = None, max_ms: int | None = 2000) -> int | None:
        """How many match; None where that takes longer than ``max_ms``."""

    def collections(self, db: str) -> list[tuple[str, str, dict[str, Any]]]:
        """Name, type ("collection", "view", …) and options of each collection of a database."""

    def indexes(self, ns: str) -> list[dict[str, Any]]:
        """The index descriptions; ``key`` is an ordered dict; [] where there is no such collection."""

    def create_index(self, ns: str, keys: Terms, unique: bool = False) -> None:
        """Create an index; raises ``Refused`` where duplicates stand in its way."""

    def send(self, write: Write) -> Reply:
        """Send a write once; raises nothing, the reply says what is known."""

    @property
    def read_only(self) -> bool:
        """Whether :meth:`send` refuses everything."""


@dataclass
class Server:
    """A connection through PyMongo; thread-safe. Made by :meth:`connect`."""

    read_only: bool = False
    _facts: ServerFacts | None = field(default=None, repr=False)

    @classmethod
    def connect(
        cls, uri: str, read_only: bool = False, connect_ms: int = 8000, socket_ms: int = 30000, name: str = ""
    ) -> Server:
        """Connect and ask who is there; raises ``Unreachable`` or ``Refused`` in one sentence without a password."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the connection; a second call does nothing."""
        raise NotImplementedError

    def facts(self, refresh: bool = False) -> ServerFacts:
        """What the server says of itself; asked once, or again with ``refresh``."""
        raise NotImplementedError

    def databases(self) -> list[str]:
        """The databases this user may see, without ``admin``, ``config`` and ``local``."""
        raise NotImplementedError

    def estimated_count(self, ns: str) -> int | None:
        """The number of documents by the collection's own bookkeeping; None where it is not told."""
        raise NotImplementedError


def bson_of(terms: Terms) -> bytes:
    """The BSON of a filter or update whose leaves are Python values or ``Value``; order is kept."""
    raise NotImplementedError


def meaning(error: BaseException) -> Meaning:
    """What an error of the driver says about the write it came out of."""
    raise NotImplementedError


def run(server: Port, write: Write, landed: Callable[[], bool | None] | None) -> End:
    """Send a guarded write; in doubt ask ``landed``, and try the same write once more.

    ``landed`` looks for the write's token: True it is there, False it is not, None nobody can tell. Without
    ``landed`` (no token) nothing is retried and doubt ends as unknown.
    """
    raise NotImplementedError
