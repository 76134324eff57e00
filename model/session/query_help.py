"""Helps people write a query for a collection."""

from __future__ import annotations

import re

from model import text
from model.browsing.explanation import Explained, explain
from model.browsing.field_survey import FieldSurvey, FieldUse, survey
from model.catalogue.collection_reading import ALL
from model.errors import Unreadable
from model.foundation.records import Row
from model.session.connection import Connection
from model.storage import document_ids
from model.storage.newest_query import PageQuery
from model.storage.reserved_fields import WHOLE_NUMBERS
from model.text.typed_terms import filter_terms, sort_terms
from model.values import canonical
from model.values.canonical import Value
from model.values.kinds import NUMBERS

__all__ = ["Explained", "FieldSurvey", "FieldUse", "QueryHelp", "filter_by_id"]

_FIELD = re.compile(r"""["']?[\w.$]+["']?\s*:\s""")  # a filter without its bracket
_TYPED = re.compile(r"""[{["']|\w+\(.*\)$""")

SURVEYED = 200  # documents examined for the fields of a collection


def filter_by_id(typed: str, field: str) -> str:
    """The filter by ``field`` for an id that was typed in place of a filter; "" if the text looks like no id.

    A text finds the ids of all types that are written so, unless it names its type, as ``ObjectId("…")`` does.
    """
    bare = typed.strip()
    if not bare or "\n" in bare or _FIELD.match(bare):
        return ""
    if _TYPED.match(bare):
        try:
            values = [text.loose_value(bare)]
        except Unreadable:
            return ""
    else:
        values = document_ids.likeliest_first(document_ids.values_of(bare))
        whole = [value for value in values if value.type in WHOLE_NUMBERS]
        # Equal numbers are equal ids, whatever their types.
        values = [value for value in values if value.type not in NUMBERS or value in whole[:1] or not whole]
    if any(value.type in (canonical.OBJECT, canonical.ARRAY, canonical.REGEX) for value in values):
        return ""
    found = (
        values[0]
        if len(values) == 1
        else canonical.Value.document(canonical.document([("$in", canonical.array(values))]))
    )
    return text.readable(canonical.document([(field, found)]), None)


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
