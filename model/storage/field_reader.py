"""Reads a few fields of many documents quickly, by comparing each with one read before.

Documents of one collection mostly begin with the same fields, of the same types and lengths. If these bytes are
equal, the wanted fields are at the same offsets and no walk is needed. Any other document is walked as usual. Both
ways return the same fields for every document.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import suppress
from operator import itemgetter
from typing import TypeAlias

from model.errors import Unreadable
from model.values import canonical as c
from model.values.canonical import Value

Span: TypeAlias = tuple[int, int, int]
"""The type of a value, and start and end of its payload."""
Spans: TypeAlias = tuple[Span | None, ...]

_Built: TypeAlias = tuple[Callable[[bytes], object], object, Spans, int]
"""A way to be built: a getter for some bytes, their expected value, the places of the fields, the end of the last."""

LENGTHS = {c.STRING: 4, c.OBJECT: 4, c.ARRAY: 4, c.CODE: 4, c.SYMBOL: 4, c.BINARY: 4}
"""Types that start with their length, and the bytes of that length."""
FREE = (c.REGEX, c.DB_POINTER, c.SCOPED_CODE)
"""Rare types whose length is not at their start; documents with them are walked."""
NUMBER_AT = {c.INT32: struct.Struct("<i").unpack_from, c.INT64: struct.Struct("<q").unpack_from}
"""Reads whole numbers at an offset."""
KEPT = 256
"""The number of known ways to be built; documents that are built in further ways are walked."""
DEEP = 24
"""With this many fields before the last wanted one, walking is cheaper than comparing."""


class FieldReader:
    """Finds some top-level fields of whole documents; the first of a name counts.

    Its memory consists of frozen values that are each replaced in one step, so threads can share a reader.
    """

    def __init__(self, *names: str) -> None:
        self._names = tuple(c.name_bytes(name) if name else None for name in names)
        self._last: _Built | None = None
        self._by_length: dict[int, _Built] = {}

    def spans(self, raw: bytes) -> Spans:
        """The place of each field, None if it is missing. Raises ``Unreadable`` if the bytes are not BSON."""
        built = self._last
        if built is not None and built[0](raw) == built[1] and built[3] < len(raw):
            return built[2]
        built = self._by_length.get(len(raw))
        if built is not None and built[0](raw) == built[1] and built[3] < len(raw):
            self._last = built
            return built[2]
        return self._walked(raw)

    def values(self, raw: bytes) -> list[Value | None]:
        """The fields' values, None if missing; raises ``Unreadable`` if the bytes are not BSON."""
        return [None if at is None else Value(at[0], raw[at[1] : at[2]]) for at in self.spans(raw)]

    def has(self, raw: bytes, value: Value) -> bool:
        """Whether the first of the fields is exactly this value."""
        at = self.spans(raw)[0]
        return at is not None and raw[at[1] : at[2]] == value.data and at[0] == value.type

    def legible(self, raw: bytes) -> list[Value | None]:
        """The fields' values; of a damaged document those that can still be read."""
        try:
            return self.values(raw)
        except Unreadable:
            found: dict[bytes, Value] = {}
            with suppress(Unreadable):
                for name, kind, start, end in c.elements(raw):
                    found.setdefault(name, Value(kind, raw[start:end]))
            return [None if name is None else found.get(name) for name in self._names]

    def _walked(self, raw: bytes) -> Spans:
        found: dict[bytes, Span] = {}
        wanted = {name for name in self._names if name is not None}
        ahead: list[slice] = []
        simple, begun = True, 4
        for name, kind, start, end in c.elements(raw):
            if simple:
                simple = kind not in FREE and len(ahead) < DEEP
                told = start + LENGTHS.get(kind, 0)  # other lengths move what follows
                ahead.append(slice(begun, told))
                begun = end
            if name in wanted:
                found.setdefault(name, (kind, start, end))
                if len(found) == len(wanted):
                    break
        else:
            simple = False  # the next document may have the missing field anywhere behind
        spans = tuple(None if name is None else found.get(name) for name in self._names)
        if simple:
            taken = itemgetter(*ahead)
            built = (taken, taken(raw), spans, begun)
            self._last = built
            if len(self._by_length) >= KEPT:
                self._by_length = {}
            self._by_length[len(raw)] = built
        return spans
