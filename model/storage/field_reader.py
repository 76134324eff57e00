"""A few fields of many documents, found at once in those that are built like one before.

Documents of one collection mostly have the same fields in front, of the same types and lengths. Where these bytes are
equal, what follows them stands at the same place, so nothing is walked twice; a document that is built otherwise is
walked as ever. Both ways find the same, whatever the documents hold.
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
"""The type of a value, and where its payload begins and ends."""
Spans: TypeAlias = tuple[Span | None, ...]

_Built: TypeAlias = tuple[Callable[[bytes], object], object, Spans, int]
"""Takes some bytes out of a document, what these must be, where the fields are then, and the end of the last one."""

LENGTHS = {c.STRING: 4, c.OBJECT: 4, c.ARRAY: 4, c.CODE: 4, c.SYMBOL: 4, c.BINARY: 4}
"""Types that begin with their length, and how many bytes that takes."""
FREE = (c.REGEX, c.DB_POINTER, c.SCOPED_CODE)
"""Types whose length their first bytes do not tell; they are rare, and documents with them are walked."""
NUMBER_AT = {c.INT32: struct.Struct("<i").unpack_from, c.INT64: struct.Struct("<q").unpack_from}
"""Whole numbers, read where they stand."""
KEPT = 256
"""Ways to be built that are remembered; one that has more is walked."""
DEEP = 24
"""Fields in front of the last wanted one from which on walking costs less than comparing."""


class FieldReader:
    """Where some fields at the top of whole documents are; the first of a name counts.

    What it remembers are frozen values, each put in its place at once, so several threads may read by one.
    """

    def __init__(self, *names: str) -> None:
        self._names = tuple(c.name_bytes(name) if name else None for name in names)
        self._last: _Built | None = None
        self._by_length: dict[int, _Built] = {}

    def spans(self, raw: bytes) -> Spans:
        """The place of each field, None where it is not there. Raises ``Unreadable`` where the bytes are no BSON."""
        built = self._last
        if built is not None and built[0](raw) == built[1] and built[3] < len(raw):
            return built[2]
        built = self._by_length.get(len(raw))
        if built is not None and built[0](raw) == built[1] and built[3] < len(raw):
            self._last = built
            return built[2]
        return self._walked(raw)

    def values(self, raw: bytes) -> list[Value | None]:
        """The fields themselves; raises ``Unreadable`` where the bytes are no BSON."""
        return [None if at is None else Value(at[0], raw[at[1] : at[2]]) for at in self.spans(raw)]

    def has(self, raw: bytes, value: Value) -> bool:
        """Whether the first of the fields is exactly this value."""
        at = self.spans(raw)[0]
        return at is not None and raw[at[1] : at[2]] == value.data and at[0] == value.type

    def legible(self, raw: bytes) -> list[Value | None]:
        """The fields, of a document that is damaged as far as it can be read."""
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
                told = start + LENGTHS.get(kind, 0)  # a text of another length is another way to be built
                ahead.append(slice(begun, told))
                begun = end
            if name in wanted:
                found.setdefault(name, (kind, start, end))
                if len(found) == len(wanted):
                    break
        else:
            simple = False  # a field that is missing may come in the next document, behind all that is alike
        spans = tuple(None if name is None else found.get(name) for name in self._names)
        if simple:
            taken = itemgetter(*ahead)
            built = (taken, taken(raw), spans, begun)
            self._last = built
            if len(self._by_length) >= KEPT:
                self._by_length = {}
            self._by_length[len(raw)] = built
        return spans
