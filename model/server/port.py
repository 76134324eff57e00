"""The port between a layout and a server: reads, writes of one document, and how each ended.

:class:`Port` is the interface of a server for layouts. The real one is in :mod:`model.server.server`; tests put others
in its place.
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
"""A filter, sort, projection or update in order; its leaves are Python values or :class:`.Value`."""


class Write(Struct, frozen=True):
    """One write command: always one document, with its guard in the filter (an insert's guard is a unique index)."""

    ns: str
    kind: Literal["insert", "update", "replace", "upsert", "delete"]
    filter: Terms  # {} for an insert
    body: bytes | Terms | Sequence[Terms] | None = None  # raw document; operators; a pipeline; None for a delete
    note: str = ""  # what it is for, a clause for the preview
    unique: tuple[str, ...] | None = None
    """Of an insert: the fields of the unique index that, beside ``_id``, lets one of several in; None: any index."""
    returns: bool = False
    """Of an update or a replacement: whether the answer is to bring the document as the write left it."""

    def is_lost_to(self, duplicate: DuplicateKey) -> bool:
        """Whether this duplicate key says that another such write was first, and not that a value is in use."""
        if self.kind not in ("insert", "upsert"):
            return False  # the document is there, so it is about a value that the write would give it
        return self.unique is None or not duplicate.fields or set(duplicate.fields) in ({"_id"}, set(self.unique))


class Reply(Struct, frozen=True):
    """The outcome of one attempt to write, as far as it is known."""

    applied: Applied
    matched: int = 0  # documents that met the filter (1 for an insert that was applied)
    modified: int = 0
    upserted: bool = False
    duplicate: DuplicateKey | None = None  # a unique index said no
    retry: bool = False  # worth another try
    sentence: str = ""  # the error, for people
    error: Refused | None = None  # that sentence as an error to raise
    stored: bytes | None = None  # the document as the write left it, where the answer brought it
    lasting: str = ""  # what is to be said even of a write that is found to be there


class End(Struct, frozen=True):
    """The end of a write with its retry; ``conflict`` and ``refused`` mean: not in the database, now or later."""

    kind: Literal["applied", "refused", "conflict", "unknown"]
    sentence: str = ""
    reply: Reply | None = None
    retried: bool = False


class Port(Protocol):
    """The interface of a server for layouts. Each call is one operation."""

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

        The first batch has ``batch`` documents at most, where few of them may be read. Where ``batch`` is not below
        ``limit``, all are asked for in one answer, however large they may be.
        """

    def aggregate(
        self, ns: str, pipeline: Sequence[Terms], max_ms: int | None = None, batch: int = 0
    ) -> Iterator[bytes]:
        """The results of a pipeline, in batches by size; raises the errors of :meth:`find`.

        ``batch`` results are asked for in the first answer, however large they may be.
        """

    def count(self, ns: str, filter: Terms | None = None, max_ms: int | None = 2000) -> int | None:
        """How many match; None where that takes longer than ``max_ms``."""

    def collections(self, db: str) -> list[tuple[str, str, dict[str, Any]]]:
        """Name, type ("collection", "view", …) and options of each collection of a database."""

    def collection_ids(self, db: str) -> dict[str, str]:
        """The id that a server gave each collection of a database when it was made, by name; {} where it tells none."""

    def indexes(self, ns: str) -> list[dict[str, Any]]:
        """The index descriptions; ``key`` is an ordered dict; [] where there is no such collection."""

    def create_index(self, ns: str, keys: Terms, unique: bool = False) -> None:
        """Create an index; raises ``Refused`` where duplicates stand in its way."""

    def send(self, write: Write) -> Reply:
        """Send a write once; raises nothing, as the reply says how it ended."""


def bson_of(terms: Terms) -> bytes:
    """The BSON of a filter or update whose leaves are Python values or ``Value``; order is kept."""
    if canonical.walker is not None:
        made: bytes | None = canonical.walker.terms(terms, _value)
        if made is not None:
            return made
    parts: list[bytes] = []
    for name, part in terms.items():
        if type(part) is dict:  # filters are mostly these
            parts += (_OBJECT, name_bytes(name), b"\x00", bson_of(part))
        else:
            parts.append(element(name, part if type(part) is Value else _value(part)))
    return joined(parts)


def _value(part: Any) -> Value:
    if type(part) in _PLAIN:  # whether it is a Mapping takes as long to find out as all the rest
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
