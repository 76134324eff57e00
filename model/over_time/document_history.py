"""The versions of one document, one by one or as plain rows for a pandas data frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from model.foundation.records import Version
from model.text.plain_values import plain_document, plain_moment, plain_value

if TYPE_CHECKING:
    from model.values.canonical import Value


class DocumentHistory(Iterator[Version]):
    """The versions of one document, newest first, each read on request and only once."""

    def __init__(self, ns: str, id: Value, versions: Iterator[Version], whole: Callable[[], Iterator[Version]]) -> None:
        """``whole`` reads them with their contents."""
        self._ns, self._id, self._versions, self._whole = ns, id, versions, whole

    def __iter__(self) -> Iterator[Version]:
        return self._versions

    def __next__(self) -> Version:
        return next(self._versions)

    def frame(self, contents: bool = False) -> list[dict[str, Any]]:
        """One row per version, newest first, including missing ones; a history that was begun continues.

        Columns: ns, id, v, at, author, reason, stored, state, current, deleted, changed (fields that differ from the
        previous version, None if unknown), bytes, hash. With ``contents`` all versions are read anew, without
        counting changes, and ``content`` is the document's fields as a dict, None if missing. Raises ``NotFound``.
        """
        return [self._row(each, contents) for each in (self._whole() if contents else self)]

    def _row(self, version: Version, contents: bool) -> dict[str, Any]:
        row = {
            "ns": self._ns,
            "id": plain_value(self._id),
            "v": None if version.v is None else plain_value(version.v),
            "at": plain_moment(version.at),
            "author": version.author,
            "reason": version.reason,
            "stored": version.stored,
            "state": version.state,
            "current": version.current,
            "deleted": version.deleted,
            "changed": version.changed,
            "bytes": version.bytes,
            "hash": version.hash,
        }
        if contents:
            del row["changed"]
            row["content"] = None if version.content is None else plain_document(version.content)
        return row
