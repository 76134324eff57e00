"""The fields by which people tell the documents of a list apart: short values, in most documents, that differ."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct, field

from model.errors import Unreadable
from model.values import canonical
from model.values.canonical import Path, Value

MOST = 4  # fields
LOOKED_AT = 50  # documents
LARGE = 64 * 1024  # bytes; a larger document is passed over, because reading it takes noticeable time
WIDEST = 200  # fields of one document that are looked at
PRESENT = 0.6  # the least share of the documents that have a field
SHORT, LONG = 24, 60  # characters of a text: from here on it counts less, and is no column

_NAMES: dict[str, float] = {
    **dict.fromkeys((
        "name", "title", "label", "subject", "headline", "username", "login"
    ), 1.0),
    **dict.fromkeys((
        "status", "state", "email", "mail", "phase"
    ), 0.9),
    **dict.fromkeys((
        "kind", "type", "category", "product", "model", "role", "amount", "price", "total", "cost",
        "gross", "balance"
    ), 0.8),
    **dict.fromkeys((
        "city", "country", "region", "date", "day", "month", "number", "code", "sku", "plan", "tier",
        "level", "priority", "brand", "currency", "score"
    ), 0.6),
    **dict.fromkeys((
        "id", "ids", "key", "hash", "token", "uuid", "guid", "ref", "checksum", "etag", "rev",
        "revision", "version", "password", "secret", "salt"
    ), -0.6),
    **dict.fromkeys((
        "updated", "created", "modified", "changed", "url", "uri", "link", "path", "description",
        "comment", "notes", "note", "text", "body"
    ), -0.4),
}  # fmt: skip
"""How much a word in a field's name speaks for it, above 0, or against it."""
_KINDS = {
    **dict.fromkeys((canonical.STRING, canonical.DECIMAL128), 0.5),
    **dict.fromkeys((canonical.DOUBLE, canonical.INT32, canonical.INT64), 0.35),
    canonical.DATE: 0.2,
    canonical.BOOLEAN: 0.1,
}
"""How much a type speaks for a field; of other types it is no column."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\WA-Z_]+")
_CODE = re.compile(r"[0-9a-fA-F-]{20,}")  # a hash, an ObjectId or a UUID as text


class _Seen(Struct):
    """The values of one field."""

    present: int = 0
    values: dict[Value, None] = field(default_factory=dict)
    kind: int = 0


def telling_fields(documents: Iterable[bytes], own: Collection[str] = (), inside: str = "") -> tuple[Path, ...]:
    """The fields that tell documents apart best, the best first; at most :data:`MOST`.

    ``own`` are top-level names that are no content. ``inside`` names the sub-document that is the content, if
    documents have one; paths begin within it.
    """
    seen: dict[Path, _Seen] = {}
    looked = 0
    for raw in islice(documents, LOOKED_AT):
        if len(raw) > LARGE:
            continue
        try:
            pairs = list(islice(_leaves(_content(raw, inside), own), WIDEST))
        except Unreadable:
            continue
        looked += 1
        for path, value in pairs:
            found = seen.setdefault(path, _Seen())
            found.present += 1
            found.values[value] = None
            found.kind = max(found.kind, value.type)
    scores = {path: _score(path, found, looked) for path, found in seen.items()}
    return tuple(sorted((path for path, score in scores.items() if score > 0), key=lambda path: -scores[path])[:MOST])


def occur(paths: Iterable[Path], documents: Sequence[bytes], inside: str = "") -> bool:
    """Whether some document has one of these fields; else another layout, or other names, are in use now."""
    wanted = list(paths)
    for raw in documents[:LOOKED_AT]:
        try:
            content = _content(raw, inside)
            if any(canonical.get(content, path) is not None for path in wanted):
                return True
        except Unreadable:
            continue
    return not wanted


def _content(raw: bytes, inside: str) -> bytes:
    part = canonical.get(raw, (inside,)) if inside else None
    return part.data if part is not None and part.type == canonical.OBJECT else raw


def _leaves(raw: bytes, own: Collection[str]) -> Iterator[tuple[Path, Value]]:
    """The scalars of a document and of its sub-documents, but not of those within them."""
    for name, value in canonical.fields(raw):
        if name in own or name.startswith("_") or "." in name:
            continue
        if value.type == canonical.OBJECT:
            for inner, leaf in canonical.fields(value.data):
                if leaf.type in _KINDS and not inner.startswith("_") and "." not in inner:
                    yield (name, inner), leaf
        elif value.type in _KINDS:
            yield (name,), value


def _score(path: Path, found: _Seen, looked: int) -> float:
    """How well a field tells documents apart; 0 or less: not at all."""
    if found.present < PRESENT * looked or (len(found.values) < 2 and looked > 1):
        return 0.0
    score = _KINDS[found.kind] + _name_score(path) - 0.25 * (len(path) - 1)
    variety = len(found.values) / found.present
    score += 0.3 if 0.05 <= variety < 0.95 else 0.1  # each its own, as a serial number is, or nearly all the same
    texts = _texts(found.values)
    if texts:
        length = sum(map(len, texts)) / len(texts)
        if length > LONG or any(_CODE.fullmatch(each) for each in texts[:3]):
            return 0.0
        score -= 0.4 * (length > SHORT)
    return score


def _texts(values: Iterable[Value]) -> Sequence[str]:
    return [each.data[4:-1].decode(errors="replace") for each in values if each.type == canonical.STRING]


def _name_score(path: Path) -> float:
    """What the words of a field's name say; the last one counts most: the hash of a name is none."""
    words = [word.lower() for word in _WORDS.findall(str(path[-1]))] or [""]
    last, others = _NAMES.get(words[-1], 0.0), [_NAMES.get(word, 0.0) for word in words[:-1]]
    return last + 0.3 * max(others, default=0.0)
