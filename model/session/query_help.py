"""Helps people write a query for a collection."""

from __future__ import annotations

from model.browsing.explanation import Explained, explain
from model.browsing.field_survey import FieldSurvey, FieldUse, survey
from model.catalogue.catalogue import ALL, filter_terms, sort_terms
from model.foundation.records import Row
from model.session.connection import Connection
from model.storage.newest_query import PageQuery
from model.values import canonical
from model.values.canonical import Value

__all__ = ["Explained", "FieldSurvey", "FieldUse", "QueryHelp"]

SURVEYED = 200  # documents examined for the fields of a collection


class QueryHelp:
    """The fields of a collection, and how the server finds documents."""

    def __init__(self, connection: Connection) -> None:
        """Created by a session; ``connection`` holds what the parts share."""
        self._catalogue, self._server = connection.catalogue, connection.server

    def fields(self, ns: str) -> FieldSurvey:
        """The fields of a collection with their types, from the first documents of its list.

        They have the names that a filter uses, wherever the layout stores the content.
        """
        layout = self._catalogue.layout(ns)
        rows = layout.page(PageQuery(limit=SURVEYED))
        return survey(row.but(raw=layout.document(row.raw)) if row.readable else row for row in rows)

    def content_fields(self, ns: str, id: Value) -> FieldSurvey:
        """The fields in a document's newest content with their types, for the condition of a bisect."""
        layout = self._catalogue.layout(ns)
        newest = layout.last(id)
        content = layout.version(id, newest.v).content or canonical.EMPTY
        return survey([Row(id, newest.v, newest.at, len(content), content)])

    def explain(
        self, ns: str, filter: str = "", sort: str = "", any_version: bool = False, max_ms: int = 20_000
    ) -> tuple[Explained, ...]:
        """How the server finds the documents of a page, in words; runs the query.

        Raises ``Refused`` if the server has no explain or needs longer than ``max_ms``.
        """
        query = PageQuery(filter_terms(filter), sort_terms(sort), None, 0, ALL, any_version)
        return explain(self._server, self._catalogue, ns, query, max_ms)
