"""The deleted documents of a collection, with who deleted them and when, if that was recorded.

A tombstone records both; in other layouts only the archive is left, and sometimes the feed saw when.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct, field

from model.errors import NotFound, Refused, Unreachable
from model.foundation.records import Row, Version
from model.layouts.base import Layout
from model.layouts.history_batches import together
from model.over_time.span import everyone
from model.storage.newest_query import PageQuery
from model.storage.reserved_fields import SAID
from model.values.canonical import Value

AT_ONCE = 200  # documents looked up together


class DeletedDocuments(Struct):
    """The documents that are deleted but have a history; iterate once."""

    layout: Layout
    condition: Callable[[bytes], bool] | None  # on the last version, as ``seen`` shows it
    seen: Callable[[Value, Version], bytes]
    from_here: Mapping[Value, dt.datetime] = field(default_factory=dict)  # when documents were deleted from here
    user: str | None = None  # who deletes from here
    untold: int = 0  # documents whose deletion nobody recorded
    unread: list[str] = field(default_factory=list)  # sentences on documents that could not be read

    def rows(self) -> Iterator[Row | None]:
        """Each as a row of a list, with its last version that has a content; None for every other document."""
        ids = everyone(self.layout)
        while some := list(islice(ids, AT_ONCE)):
            there = self._existing(some)
            yield from (None for _ in there)
            for id, layout in together(self.layout, (id for id in some if id not in there)):
                yield self._row(layout, id)

    def _existing(self, ids: Sequence[Value]) -> set[Value]:
        key = self.layout.profile.id
        query = PageQuery({key: {"$in": list(ids)}}, projection={key: 1}, limit=len(ids))
        return {row.id for row in self.layout.page(query)}

    def _row(self, layout: Layout, id: Value) -> Row | None:
        try:
            last, end = self._ends(layout, id)
            if self.condition is not None and not (last and last.v and self._matches(layout, id, last.v)):
                return None
        except NotFound:  # purged since it was listed
            return None
        except Unreachable:
            raise
        except Refused as error:
            self.unread.append(str(error))
            return None
        v = last.v if last is not None else None
        if end is not None:
            at, author, reason = end.at, end.author, end.reason
        else:
            at, author, reason = layout.ended_at(id, v) if v is not None else None, None, None
        here = self.from_here.get(id)
        if end is None and here is not None and (last is None or last.at is None or here >= last.at):
            at, author = at or here, self.user
        self.untold += at is None and author is None
        return Row(id, v, at, 0, b"", author=author, reason=reason)

    def _ends(self, layout: Layout, id: Value) -> tuple[Version | None, Version | None]:
        """The last version with a content, and the tombstone above it."""
        end: Version | None = None
        for version in layout.history(id):
            if version.deleted or version.detail.partition(";")[0] == SAID:
                end = end or version
            elif version.state == "present":
                return version, end
        return None, end

    def _matches(self, layout: Layout, id: Value, v: Value) -> bool:
        version = layout.version(id, v)
        assert self.condition is not None
        return version.content is not None and self.condition(self.seen(id, version))

    @property
    def notes(self) -> list[str]:
        """Notes for people beside the documents."""
        said = []
        if self.untold:
            several = f"For {self.untold:,} of them, it is not known who deleted them, or when."
            said.append("For one of them, it is not known who deleted it, or when." if self.untold == 1 else several)
        return [*said, *self.unread]
