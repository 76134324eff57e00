"""The port between a layout and a server: reads, writes of one document, and their outcomes.

:class:`Port` is the server's interface for layouts. :mod:`model.server.server` implements it; tests substitute
others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from model.errors import Refused
from model.foundation.records import ServerFacts
from model.server.driver_errors import Applied
from model.server.duplicate_key import DuplicateKey
from model.values import canonical
from model.values.canonical import OBJECT, Value, array, element, joined, name_bytes

Terms: TypeAlias = Mapping[str, Any]
"""An ordered filter, sort, projection or update; its leaves are Python values or :class:`.Value`."""


class Write(Struct, frozen=True):
    """A write command for exactly one document, with its guard in the filter (an insert's guard is a unique index)."""

    ns: str
    kind: Literal["insert", "update", "replace", "upsert", "delete"]
    filter: Terms  # {} for an insert
    body: bytes | Terms | Sequence[Terms] | None = None  # raw document; operators; a pipeline; None for a delete
    note: str = ""  # its purpose, a clause for the preview
    unique: tuple[str, ...] | None = None
    """For an insert: the fields of the unique index, besides ``_id``, that accepts one of several; None: any."""
    returns: bool = False
    """For an update or replacement: whether the reply should contain the document after the write."""

    def is_lost_to(self, duplicate: DuplicateKey) -> bool:
        """Whether this duplicate key means that a similar write was first, rather than that a value is in use.

        A key whose fields nobody knows proves nothing about other writers.
        """
        if self.kind not in ("insert", "upsert") or not duplicate.fields:
            return False  # the document exists, so a new value of the write is in use
        return self.unique is None or set(duplicate.fields) in ({"_id"}, set(self.unique))

    def value(self, path: str) -> Value | None:
        """The value that it stores in a field; None if its body does not say. Raises ``Unreadable``."""
        if isinstance(self.body, bytes):
            return canonical.get(self.body, tuple(path.split(".")))
        fields = self.body.get("$set") if isinstance(self.body, Mapping) else None
        found = fields.get(path) if isinstance(fields, Mapping) else None
        return None if found is None else _value(found)


class Reply(Struct, frozen=True):
    """The outcome of one attempt to write, as far as known."""

    applied: Applied
    matched: int = 0  # documents that matched the filter (1 for an applied insert)
    modified: int = 0
    upserted: bool = False
    duplicate: DuplicateKey | None = None  # a unique index rejected it
    retry: bool = False  # worth another try
    sentence: str = ""  # the error, for people
    error: Refused | None = None  # that sentence as an error to raise
    stored: bytes | None = None  # the document after the write, if the reply contains it
    lasting: str = ""  # a remark that stays true even if the write turns out to be applied


class End(Struct, frozen=True):
    """The outcome of a write with its retry; ``conflict`` and ``refused`` mean: not in the database, now or later."""

    kind: Literal["applied", "refused", "conflict", "unknown"]
    sentence: str = ""
    reply: Reply | None = None
    retried: bool = False


Listed: TypeAlias = Sequence[tuple[str, str, dict[str, Any]]]
"""Name, type and options of each collection of a database."""


class Port(Protocol):
    """The server's interface for layouts. Each call is one operation."""

    @property
    def read_only(self) -> bool:
        """Whether :meth:`send` refuses everything."""

    def facts(self) -> ServerFacts:
        """The server's facts about itself."""

    def find(
        self,
        ns: str,
        filter: Terms | None = None,
        sort: Terms | None = None,
        projection: Terms | None = None,
        skip: int = 0,
        limit: int = 0,
        max_ms: int | None = None,
        batch: int = 0,
    ) -> Iterator[bytes]:
        """The matching documents as stored, in batches by size; raises ``Unreachable``, ``NotAllowed``, ``Refused``.

        ``batch`` limits the first batch, for callers that may read only a few. If ``batch`` is at least ``limit``,
        all documents are requested in one answer, whatever their size.
        """

    def aggregate(
        self, ns: str, pipeline: Sequence[Terms], max_ms: int | None = None, batch: int = 0
    ) -> Iterator[bytes]:
        """The results of a pipeline, in batches by size; raises the errors of :meth:`find`.

        The first answer contains up to ``batch`` results, whatever their size.
        """

    def count(self, ns: str, filter: Terms | None = None, max_ms: int | None = 2000) -> int | None:
        """The number of matching documents; None if counting takes longer than ``max_ms``."""

    def collections(self, db: str) -> list[tuple[str, str, dict[str, Any]]]:
        """Name, type ("collection", "view", …) and options of each collection of a database."""

    def collection_ids(self, db: str) -> dict[str, str]:
        """The ids that the server gave a database's collections at creation, by name; {} if it reports none."""

    def indexes(self, ns: str) -> list[dict[str, Any]]:
        """The index descriptions; ``key`` is an ordered dict; [] if there is no such collection."""

    def create_index(self, ns: str, keys: Terms, unique: bool = False) -> None:
        """Create an index; raises ``Refused`` if duplicates prevent it."""

    def send(self, write: Write) -> Reply:
        """Send a write once; never raises, because the reply holds the outcome."""


def bson_of(terms: Terms) -> bytes:
    """The BSON of a filter or update whose leaves are Python values or ``Value``, in its order."""
    if canonical.walker is not None:
        made: bytes | None = canonical.walker.terms(terms, _value)
        if made is not None:
            return made
    parts: list[bytes] = []
    for name, part in terms.items():
        if type(part) is dict:  # most filters are dicts
            parts += (_OBJECT, name_bytes(name), b"\x00", bson_of(part))
        else:
            parts.append(element(name, part if type(part) is Value else _value(part)))
    return joined(parts)


def _value(part: Any) -> Value:
    if type(part) in _PLAIN:  # testing for Mapping would take as long as everything else
        return Value.of(part)
    if isinstance(part, Value):
        return part
    if isinstance(part, Mapping):
        return Value(OBJECT, bson_of(part))
    if isinstance(part, list | tuple):
        return array(map(_value, part))
    return Value.of(part)


_OBJECT = bytes((OBJECT,))
_PLAIN = (bool, int, str)
