"""Rows of a list whose fields are read on first use, because people scroll past most of a page."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from model.foundation.records import Row
from model.storage.field_reader import FieldReader
from model.storage.reserved_fields import time_of, unreadable
from model.values import canonical as c
from model.values.canonical import Value

SMALL = 16 * 1024
"""Bytes; reading a document up to this size takes no noticeable time."""


class RowReader:
    """Makes rows from stored documents; the current version is the document or its sub-document ``inside``.

    ``times`` are fields of the current version; the first that holds a time tells when it was written.
    """

    def __init__(self, id: str, version: str, times: Sequence[str], inside: str = "") -> None:
        self._inside = inside
        self._outer = FieldReader(id, inside)
        self._own = FieldReader(version, *times)

    def row(self, raw: bytes, whole: bool = True) -> Row:
        """A stored document, or a part of one, as a row of the list."""
        # Past the constructor of the frozen class, which would ask for every field.
        row, size = object.__new__(LazyRow), len(raw)
        fields = row.__dict__
        fields["raw"], fields["bytes"], fields["reader"] = raw, size, self
        if not whole:
            fields["whole"] = False
        if size > SMALL:  # read now: later a window would wait for it
            _ = row.id, row.version, row.at, row.readable
        return row

    def id(self, raw: bytes) -> Value:
        """The id of a stored document; Null if it has none."""
        return self._outer.legible(raw)[0] or Value.of(None)

    def own(self, raw: bytes) -> list[Value | None]:
        """The number of the current version, and the fields that may tell when it was written."""
        if not self._inside:
            return self._own.legible(raw)
        inner = self._outer.legible(raw)[1]
        return self._own.legible(inner.data if inner is not None and inner.type == c.OBJECT else c.EMPTY)


class LazyRow(Row):
    """A row that reads its fields from the stored document on first use.

    ``dataclasses.replace`` makes an ordinary row of it. It equals any row with equal fields.
    """

    reader: RowReader

    def __new__(cls, *values: Any, **fields: Any) -> Row:  # type: ignore[misc]
        return Row(*values, **fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and replace(self) == (replace(other) if isinstance(other, LazyRow) else other)

    __hash__ = Row.__hash__

    @cached_property
    def id(self) -> Value:
        """The id of the document."""
        return self.reader.id(self.raw)

    @cached_property
    def _own(self) -> list[Value | None]:
        return self.reader.own(self.raw)

    @cached_property
    def version(self) -> Value | None:
        """Its version."""
        return self._own[0]

    @cached_property
    def at(self) -> dt.datetime | None:
        """When it was written."""
        return next((at for value in self._own[1:] if (at := time_of(value)) is not None), None)

    @cached_property
    def readable(self) -> bool:
        """Whether it decodes."""
        return not unreadable(self.raw)
