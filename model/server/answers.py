"""Server answers as bytes: a page of rows is cut out without creating an object for each row."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping
from itertools import pairwise
from typing import Any

from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument

from model.errors import Unreadable
from model.values import canonical as c


class RawAnswer(RawBSONDocument):
    """A document of an answer as bytes; it is decoded only if the driver looks into it.

    Creating one takes a quarter of the time of the driver's own class, and there is one for each row. The driver adds
    labels to an error in an answer, as to a dictionary.
    """

    __slots__ = ("_inside", "raw")
    raw: bytes | memoryview

    def __init__(self, raw: bytes | memoryview, codec_options: CodecOptions[RawBSONDocument] | None = None) -> None:
        self.raw = raw
        self._inside: Mapping[str, Any] | None = None

    def _fields(self) -> Mapping[str, Any]:
        if self._inside is None:
            found = dict(self._inflate_bson(self.raw, ROWS))
            if "writeConcernError" in found:
                found["writeConcernError"] = dict(found["writeConcernError"])
            self._inside = found
        return self._inside

    def __repr__(self) -> str:
        return f"{type(self).__name__}({bytes(self.raw)!r})"

    def __reduce__(self) -> tuple[type[RawAnswer], tuple[bytes]]:
        return type(self), (bytes(self.raw),)

    def items(self) -> ItemsView[str, Any]:
        return (self._inside or self._fields()).items()

    def get(self, item: str, default: Any = None) -> Any:
        return (self._inside or self._fields()).get(item, default)

    def __contains__(self, item: object) -> bool:
        return item in (self._inside or self._fields())

    def __getitem__(self, item: str) -> Any:
        return (self._inside or self._fields())[item]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields())

    def __len__(self) -> int:
        return len(self._fields())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RawBSONDocument) and self.raw == other.raw

    __hash__ = None


ROWS: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawAnswer)


def first_batch(answer: RawBSONDocument) -> tuple[list[bytes], int]:
    """The rows of a command's answer, and the number of the cursor with more rows, or 0.

    Raises the driver's errors if the answer is malformed.
    """
    found = _cut_out(bytes(answer.raw))
    if found is not None:
        return found
    cursor = answer["cursor"]
    return [bytes(row.raw) for row in cursor["firstBatch"]], cursor["id"]


def _cut_out(raw: bytes) -> tuple[list[bytes], int] | None:
    """Rows and cursor, cut out of an answer's bytes; None in doubt, or without the C walker."""
    if c.walker is None:
        return None
    try:
        told = {name: (kind, at) for name, kind, at, _ in c.walker.elements(raw, 0)}
        kind, at = told.get(b"cursor", (0, 0))
        if kind != c.OBJECT:
            return None
        told = {name: (kind, at) for name, kind, at, _ in c.walker.elements(raw, at)}
        kind, at = told.get(b"firstBatch", (0, 0))
        kind_of_id, id_at = told.get(b"id", (0, 0))
        if kind != c.ARRAY or kind_of_id != c.INT64 or (walked := c.walker.places(raw, at)) is None:
            return None
    except Unreadable:
        return None
    places, kind = walked
    if kind != c.OBJECT and len(places) > 1:
        return None
    rows: list[bytes] = []
    low, high, before = 0, 10, len(b"\x030\x00")  # each row is preceded by its type and number
    while low < len(places) - 1:
        rows += [raw[start + before : end] for start, end in pairwise(places[low : high + 1])]
        low, high, before = high, high * 10, before + 1
    return rows, int.from_bytes(raw[id_at : id_at + 8], "little", signed=True)
