"""Answers reads of small collections from samples that hold them completely.

Recognition compares every collection with all others of its database. Most are small, so that a sample holds the
whole collection and nothing must be queried twice.
"""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from model.errors import NotAllowed, Unreadable
from model.foundation.records import ServerFacts
from model.localserver import pipelines
from model.localserver.projections import compile_projection
from model.localserver.store import Collection, Store
from model.mql import order
from model.mql.command_error import CommandError
from model.mql.filters import compile_filter
from model.server.retry import Port, Reply, Terms, Write, bson_of
from model.values import canonical as c
from model.values.canonical import Value

if TYPE_CHECKING:
    from model.recognition.sampling import Sample


_READS = "Nothing is written while layouts are recognised."
_PLAIN = (c.STRING, c.OBJECT_ID, c.BINARY, c.INT32, c.INT64, c.DOUBLE, c.DECIMAL128, c.DATE, c.OBJECT)
"""Types of ids that a filter compares literally; a regex would search, and null also matches missing fields."""


class SmallCollections:
    """A server that does not query completely sampled collections again; for reading only."""

    def __init__(self, server: Port, db: str = "", there: Container[str] = ()) -> None:
        """``there`` are all collections of ``db``, so that no others are queried; "" if unknown."""
        self._server = server
        self._db, self._there = db, there
        self._store = Store()
        self._held: dict[str, Sequence[bytes]] = {}
        self._loaded: dict[str, Collection] = {}
        self._by_id: dict[str, dict[order.Key, list[tuple[int, bytes]]]] = {}

    @property
    def read_only(self) -> bool:
        """True: :meth:`send` refuses everything."""
        return True

    def hold(self, sample: Sample) -> None:
        """From now on answer reads of a collection from its sample, if that is complete."""
        if sample.whole is not None:
            self._held.setdefault(sample.ns, sample.whole)

    def _ids_of(self, ns: str) -> Mapping[order.Key, list[tuple[int, bytes]]]:
        if ns not in self._by_id:
            self._by_id[ns] = _by_id(self._held[ns])
        return self._by_id[ns]

    def _collection(self, ns: str) -> Collection:
        if ns not in self._loaded:
            db, _, name = ns.partition(".")
            self._loaded[ns] = collection = self._store.make(db, name, strict=False)
            collection.load(self._held[ns])
        return self._loaded[ns]

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
        """The matching documents, as :meth:`.Port.find` returns them."""
        # A collection that is not there is empty, and servers would be asked for it by every guess at a name.
        if ns not in self._there and ns.partition(".")[0] == self._db:
            return iter(())
        if ns not in self._held:
            return self._server.find(ns, filter, sort, projection, skip, limit, max_ms, batch)
        try:
            ids = None if sort else _ids(filter)
            documents: Iterator[bytes]
            if ids is not None:
                met = self._ids_of(ns)
                documents = (raw for _, raw in sorted(row for id in ids if id in met for row in met[id]))
            else:
                documents = pipelines.matching(
                    self._collection(ns),
                    compile_filter(bson_of(filter or {})),
                    pipelines.parse_sort(bson_of(sort or {})),
                )
            found = list(islice(documents, skip, skip + limit if limit else None))
            if not found:
                return iter(())
            project = compile_projection(bson_of(projection or {}))
            return iter(found if project is None else [project(raw) for raw in found])
        except (CommandError, Unreadable, RecursionError):
            return self._server.find(ns, filter, sort, projection, skip, limit, max_ms, batch)

    def aggregate(
        self, ns: str, pipeline: Sequence[Terms], max_ms: int | None = None, batch: int = 0
    ) -> Iterator[bytes]:
        """The results of a pipeline."""
        if ns not in self._held or any(_reads_others(ns, stage) for stage in pipeline):
            return self._server.aggregate(ns, pipeline, max_ms, batch)
        try:
            stages = c.array([Value.document(bson_of(stage)) for stage in pipeline])
            db = ns.partition(".")[0]
            return iter(list(pipelines.aggregate(self._store, db, self._collection(ns), (stages.type, stages.data))))
        except (CommandError, Unreadable, RecursionError):
            return self._server.aggregate(ns, pipeline, max_ms, batch)

    def count(self, ns: str, filter: Terms | None = None, max_ms: int | None = 2000) -> int | None:
        """The number of matching documents."""
        if ns not in self._held:
            return self._server.count(ns, filter, max_ms)
        return sum(1 for _ in self.find(ns, filter))

    def facts(self) -> ServerFacts:
        """The server's facts about itself."""
        return self._server.facts()

    def collections(self, db: str) -> list[tuple[str, str, dict[str, Any]]]:
        """Name, type and options of each collection of a database."""
        return self._server.collections(db)

    def collection_ids(self, db: str) -> dict[str, str]:
        """The ids of the collections of a database, by name."""
        return self._server.collection_ids(db)

    def indexes(self, ns: str) -> list[dict[str, Any]]:
        """The index descriptions."""
        return self._server.indexes(ns)

    def create_index(self, ns: str, keys: Terms, unique: bool = False) -> None:
        """Raise ``NotAllowed``: recognition only reads."""
        raise NotAllowed(_READS)

    def send(self, write: Write) -> Reply:
        """Refuse: recognition only reads."""
        return Reply("no", sentence=_READS, error=NotAllowed(_READS))


def _reads_others(ns: str, stage: Terms) -> bool:
    """Whether a stage reads a further collection, which need not be held."""
    union: Any = stage.get("$unionWith")
    return "$lookup" in stage or (union is not None and union["coll"] != ns.partition(".")[2])


def _by_id(documents: Sequence[bytes]) -> dict[order.Key, list[tuple[int, bytes]]]:
    """The documents and their positions by id, if the id can be read."""
    found: dict[order.Key, list[tuple[int, bytes]]] = {}
    for place, raw in enumerate(documents):
        with contextlib.suppress(Unreadable):
            if (id := order.field(raw, b"_id\0")) is not None:
                found.setdefault(order.key(*id), []).append((place, raw))
    return found


def _ids(filter: Terms | None) -> set[order.Key] | None:
    """The ids in a filter that only selects ids, if these are compared literally; else None."""
    wanted = filter["_id"] if filter is not None and list(filter) == ["_id"] else None
    ids = wanted["$in"] if isinstance(wanted, dict) and list(wanted) == ["$in"] else None
    if ids is None or not all(isinstance(id, Value) and id.type in _PLAIN for id in ids):
        return None
    return {order.key(id.type, id.data) for id in ids}
