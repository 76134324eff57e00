"""The indexes of a collection."""

from __future__ import annotations

from model.browsing.indexes_in_use import Indexes, IndexUse, indexes_in_use
from model.foundation.records import Outcome
from model.session.connection import Connection

__all__ = ["CollectionIndexes", "IndexUse", "Indexes"]


class CollectionIndexes:
    """The indexes that a collection has, and the unique one without which nothing is written."""

    def __init__(self, connection: Connection) -> None:
        """Reached from a session; ``connection`` is what its parts share."""
        self._connection = connection
        self._catalogue, self._trust = connection.catalogue, connection.trust

    def listed(self, ns: str) -> Indexes:
        """The indexes of a collection, each with its number of uses, if the server reports it."""
        return indexes_in_use(self._connection.server, ns)

    def missing(self, ns: str) -> str | None:
        """Why writing is refused without a unique index, one sentence; None if no index is missing.

        Also None if the layout that asks for the index is in doubt.
        """
        return None if self._catalogue.doubt(ns) else self._catalogue.layout(ns).missing_index()

    def create(self, ns: str) -> Outcome:
        """Create the index that :meth:`missing` speaks of, once duplicates are ruled out."""
        self._trust.check_server(ns)
        return self._connection.writer.create_index(ns)
