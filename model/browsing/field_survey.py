"""The fields of a collection with their types, as some of its documents have them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from msgspec import Struct

from model.errors import Unreadable
from model.foundation.records import Row
from model.values import canonical
from model.values.canonical import Value

DEEPEST = 8  # levels of fields that are listed
MOST_BYTES = 8 << 20  # of documents that are looked at
MOST_FIELDS = 2000


class FieldUse(Struct, frozen=True):
    """One field: its dotted path as a filter names it, and in how many documents it has which type."""

    path: str
    types: tuple[tuple[str, int], ...]  # most frequent first
    documents: int

    @property
    def kinds(self) -> str:
        """The types in words: ``Int32, Double``."""
        return ", ".join(name for name, _ in self.types)


class FieldSurvey(Struct, frozen=True):
    """The fields in the order in which they were met, and the number of documents that were looked at."""

    fields: tuple[FieldUse, ...] = ()
    documents: int = 0


def survey(rows: Iterable[Row]) -> FieldSurvey:
    """Look at documents until they are many bytes; those that do not decode are passed over.

    Elements of arrays count as fields of the array, as in a filter: ``riders.code``.
    """
    types: dict[str, Counter[str]] = defaultdict(Counter)
    seen: Counter[str] = Counter()
    documents = size = 0
    for row in rows:
        try:
            found = dict.fromkeys(_fields(row.raw, "", 0))
        except Unreadable:
            continue
        documents, size = documents + 1, size + len(row.raw)
        for path, kind in found:
            if path in types or len(types) < MOST_FIELDS:
                types[path][kind] += 1
        seen.update({path for path, _ in found})
        if size > MOST_BYTES:
            break
    fields = (FieldUse(path, tuple(kinds.most_common()), seen[path]) for path, kinds in types.items())
    return FieldSurvey(tuple(sorted(fields, key=lambda each: each.path.split("."))), documents)


def _fields(raw: bytes, above: str, depth: int) -> Iterator[tuple[str, str]]:
    for name, value in canonical.fields(raw):
        path = f"{above}{name}"
        yield path, value.kind
        yield from _inner(value, path, depth + 1)


def _inner(value: Value, path: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth >= DEEPEST:
        return
    if value.type == canonical.OBJECT:
        yield from _fields(value.data, f"{path}.", depth)
    elif value.type == canonical.ARRAY:
        for item in canonical.items(value):
            if item.type == canonical.OBJECT:
                yield from _fields(item.data, f"{path}.", depth)
