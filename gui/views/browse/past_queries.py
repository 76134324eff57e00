"""The queries that ran in one collection, newest first, and those that a person saved."""

from __future__ import annotations

from gui.style import preferences
from gui.views.browse.query import Query

REMEMBERED = 20


class PastQueries:
    """Remembers the queries of one collection."""

    def __init__(self, source: str, ns: str) -> None:
        self._ran, self._saved = f"queries/{source}/{ns}", f"saved queries/{source}/{ns}"

    def ran(self) -> list[Query]:
        """The queries that ran here, newest first."""
        kept = preferences.remembered(self._ran, [])
        found = [Query.remembered(each) for each in kept] if isinstance(kept, list) else []
        return [each for each in found if each is not None]

    def saved(self) -> dict[str, Query]:
        """The saved queries, by name."""
        kept = preferences.remembered_dict(self._saved)
        found = {name: Query.remembered(each) for name, each in kept.items()}
        return {name: each for name, each in sorted(found.items()) if each is not None}

    def note(self, query: Query) -> None:
        """Remember a query that ran, unless it lists everything."""
        if query != Query():
            others = [each for each in self.ran() if each != query]
            preferences.remember(self._ran, [each.kept() for each in [query, *others][:REMEMBERED]])

    def save(self, name: str, query: Query) -> None:
        """Save a query under a name, replacing an earlier one."""
        self._put(self.saved() | {name: query})

    def forget(self, name: str) -> None:
        """Forget a saved query."""
        self._put({each: query for each, query in self.saved().items() if each != name})

    def forget_ran(self) -> None:
        """Forget the queries that ran here; saved ones stay."""
        preferences.remember(self._ran, [])

    def _put(self, saved: dict[str, Query]) -> None:
        preferences.remember(self._saved, {name: query.kept() for name, query in saved.items()})
