"""A server that loses writes, replies and time: every write may be never sent, answered by silence, or land late."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

from model.foundation.records import ServerFacts
from model.server.retry import Reply, Server, Terms, Write

Fault: TypeAlias = Literal["none", "never", "lost", "late", "dead"]


class Dead(Exception):
    """The writer died in the middle of a swap."""


class FaultyServer:
    """A port over a real server; ``faults`` are for the writes in order, ``between`` runs before an operation."""

    read_only = False

    def __init__(self, server: Server, faults: Sequence[Fault] = ()) -> None:
        self.server = server
        self.faults = list(faults)
        self.between: dict[int, Callable[[], object]] = {}
        self.operations = 0
        self.sent: list[Write] = []
        self.late: list[Write] = []

    def _step(self) -> None:
        act = self.between.pop(self.operations, None)
        self.operations += 1
        if act is not None:
            act()

    def land(self) -> None:
        """What was on its way arrives now."""
        late, self.late = self.late, []
        for write in late:
            self.server.send(write)

    def send(self, write: Write) -> Reply:
        self._step()
        self.sent.append(write)
        fault = self.faults.pop(0) if self.faults else "none"
        if fault == "none":
            return self.server.send(write)
        if fault == "lost":
            self.server.send(write)
        elif fault == "late":
            self.late.append(write)
        elif fault == "dead":
            raise Dead
        return Reply("unknown", retry=True, sentence="The connection was lost while the write was on its way.")

    def facts(self) -> ServerFacts:
        return self.server.facts()

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
        self._step()
        return iter(list(self.server.find(ns, filter, sort, projection, skip, limit, max_ms, batch)))

    def aggregate(
        self, ns: str, pipeline: Sequence[Terms], max_ms: int | None = None, batch: int = 0
    ) -> Iterator[bytes]:
        self._step()
        return self.server.aggregate(ns, pipeline, max_ms, batch)

    def count(self, ns: str, filter: Terms | None = None, max_ms: int | None = 2000) -> int | None:
        self._step()
        return self.server.count(ns, filter, max_ms)

    def collections(self, db: str) -> list[tuple[str, str, dict[str, Any]]]:
        return self.server.collections(db)

    def collection_ids(self, db: str) -> dict[str, str]:
        return self.server.collection_ids(db)

    def indexes(self, ns: str) -> list[dict[str, Any]]:
        return self.server.indexes(ns)

    def create_index(self, ns: str, keys: Terms, unique: bool = False) -> None:
        self.server.create_index(ns, keys, unique)
