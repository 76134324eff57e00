"""The fields beside a version's content: a write token, a hash, the time and the author of the change.

They are found in documents whose order is known. A hash, where there is one, tells whether a time belongs to the
content: a time that is named here is no part of the content that people edit and compare.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, permutations
from typing import Any

from model.layouts.recognition.field_names import (
    AUTHORS,
    CHANGE_TIMES,
    HASHES,
    REFERENCES,
    TERMS,
    TIMES,
    TOKENS,
    bare,
    can_play_a_role,
    words,
)
from model.layouts.recognition.sampling import Document, SampledChain, is_hash
from model.layouts.reserved_fields import time_of
from model.values import canonical as c
from model.values.canonical import Value

TOKEN, HASH = "_w", "_versioned_id"  # the default names, used where nothing else is found
CHECKED = 12  # documents whose hash is computed
CHECKED_BYTES = 1 << 20
PERMUTED = 6  # fields of which every order is tried


@dataclass(frozen=True)
class Stamps:
    """Names of fields; "" where there is none, or where the default name is taken by something else."""

    token: str = TOKEN
    token_seen: bool = False
    hash: str = HASH
    verified: float = 0.0  # the share of the computed hashes that were right
    at: str = ""
    author: str = ""

    @property
    def said(self) -> str:
        """The evidence, as a clause; "" where there is none."""
        seen = [f"{self.token} is a write token"] if self.token_seen else []
        seen += [f"{self.hash} is the hash of the content"] if self.verified else []
        return " and ".join(seen)


def stamps(chains: Sequence[SampledChain], documents: Sequence[Document], own: Collection[str]) -> Stamps:
    """The stamps of versions; ``own`` names the layout's other fields, ``chains`` tells the versions' order."""
    everything = _once(chain(documents, *(each.documents for each in chains)))
    token = token_of(chains, everything, own)
    at = time_field(chains, everything, own, token)
    author = author_field(everything, own, at)
    taken = {"_id", *own, token, at} - {""}
    name, verified, timed = hash_field(everything, taken, at)
    if verified and not timed:
        at = ""
    return Stamps(token or free(TOKEN, everything, c.OBJECT_ID), bool(token), name, verified, at, author)


def _once(documents: Iterable[Document]) -> list[Document]:
    return list({document.raw: document for document in documents}.values())


def free(name: str, documents: Iterable[Document], kind: int) -> str:
    """A default name, or "" where documents hold something of another type under it."""
    return "" if any((v := d.get(name)) is not None and v.type != kind for d in documents) else name


def _names(documents: Sequence[Document], own: Collection[str], kinds: Collection[int], share: float) -> list[str]:
    """Fields that at least this share of the documents has with one of these types."""
    counts: dict[str, int] = {}
    for document in documents:
        for name, value in document.fields.items():
            if value.type in kinds:
                counts[name] = counts.get(name, 0) + 1
    least = share * len(documents)
    return [n for n, seen in counts.items() if seen >= least and n != "_id" and n not in own and can_play_a_role(n)]


def token_of(chains: Sequence[SampledChain], documents: Sequence[Document], own: Collection[str]) -> str:
    """The ObjectId that every write renews and that names no other row; "" where there is none."""
    found: list[tuple[Any, ...]] = []
    rows = {id: d for d in documents if (id := d.get("_id")) is not None}
    for name in _names(documents, own, (c.OBJECT_ID,), 0.8):
        values = [v for d in documents if (v := d.get(name)) is not None]
        steps = [(d.get(name), e.get(name)) for each in chains for d, e in each.steps]
        renewed = sum(a != b for a, b in steps)
        hinted = bare(name) in TOKENS or not {"token", "nonce"}.isdisjoint(words(name))
        if len(set(values)) < 0.9 * len(values) or renewed < 0.8 * len(steps) or names_rows(name, values, rows):
            continue
        if hinted or (len(steps) >= 3 and REFERENCES.isdisjoint(words(name))):
            found.append((name != TOKEN, not hinted, len(found), name))
    return min(found)[-1] if found else ""


def names_rows(name: str, values: Iterable[Value], rows: Mapping[Value, Document]) -> bool:
    """Whether a field names rows: it equals the ``_id`` of one that does not carry that value itself."""
    return any(v in rows and rows[v].get(name) != v for v in values)


def time_field(chains: Sequence[SampledChain], documents: Sequence[Document], own: Collection[str], token: str) -> str:
    """The date that says when a version was made: it rises with them, and its name or an ObjectId bears it out."""
    found: list[tuple[Any, ...]] = []
    for name in _names(documents, own, (c.DATE,), 0.9):
        steps = [(d.place(name), e.place(name)) for each in chains for d, e in each.steps]
        rising = sum(1 for a, b in steps if a is not None and b is not None and a < b)
        if rising < 0.9 * len(steps) or not TERMS.isdisjoint(words(name)):
            continue
        known = bare(name) in (TIMES if steps else CHANGE_TIMES)
        near = len(steps) >= 3 and _beside_an_id(documents, name, token)
        if known or near:
            found.append((not (known and near), not known, bare(name) not in CHANGE_TIMES, len(found), name))
    return min(found)[-1] if found else ""


def _beside_an_id(documents: Sequence[Document], name: str, token: str) -> bool:
    """Whether it is the time at which the document's token, or its own ObjectId, was made."""
    near = 0
    for document in documents:
        times = [time_of(document.get(id)) for id in (token, "_id") if id]
        at = time_of(document.get(name))
        near += at is not None and any(t is not None and abs((at - t).total_seconds()) <= 5 for t in times)
    return near >= 0.9 * len(documents)


def author_field(documents: Sequence[Document], own: Collection[str], at: str) -> str:
    """The text that says who made a version, by its name; first the one that is named like the time."""
    stem = words(at)[:-1]
    found: list[tuple[Any, ...]] = []
    for name in _names(documents, [*own, at], (c.STRING,), 0.8):
        if bare(name) in AUTHORS:
            found.append((not (stem and words(name)[: len(stem)] == stem), len(found), name))
    return min(found)[-1] if found else ""


# --- hashes


def hash_field(documents: Sequence[Document], own: Collection[str], at: str) -> tuple[str, float, bool]:
    """The field with the hash of the content, the share of right hashes, and whether ``at`` is left out of it.

    A field of the default name that holds something else gives "".
    """
    candidates = [name for name in _names(documents, own, (c.STRING,), 0.0) if _holds_hashes(documents, name)]
    for name in sorted(candidates, key=lambda n: (n != HASH, bare(n) not in HASHES)):
        sealed = some(documents, name)
        for timed in (True, False) if at else (True,):
            right = verified(sealed, name, [*own, name] if timed else [n for n in own if n != at] + [name])
            if right >= 0.5:
                return name, right, timed
    if any(document.get(HASH) is not None for document in documents):
        return "", 0.0, True
    return HASH, 0.0, True


def _holds_hashes(documents: Sequence[Document], name: str) -> bool:
    values = [v for d in documents if (v := d.get(name)) is not None]
    return bool(values) and sum(map(is_hash, values)) >= 0.8 * len(values)


def some(documents: Iterable[Document], name: str) -> list[Document]:
    """A few documents with a hash, not too many bytes of them."""
    found, left = [], CHECKED_BYTES
    for document in documents:
        if is_hash(document.get(name)) and left > 0:
            found.append(document)
            left -= len(document.raw)
        if len(found) == CHECKED:
            break
    return found


def verified(documents: Sequence[Document], name: str, without: Collection[str]) -> float:
    """The share of documents whose hash is that of their fields without some."""
    if not documents:
        return 0.0
    return sum(_said(d, name) == _digest(c.without(d.raw, without), d, name) for d in documents) / len(documents)


def reordered(documents: Sequence[Document], name: str, without: Collection[str]) -> float:
    """The share of documents whose hash is that of their fields in any other order; only small ones are tried."""
    tried = right = 0
    for document in documents[:4]:
        pairs = c.fields(c.without(document.raw, without))
        if len(pairs) > PERMUTED:
            continue
        tried += 1
        said = _said(document, name)
        orders = islice(permutations(pairs), 720)
        right += any(_digest(c.document(order), document, name) == said for order in orders)
    return right / tried if tried else 0.0


def _said(document: Document, name: str) -> str:
    stored = document.get(name)
    return "" if stored is None else stored.data[4:-1].decode("ascii", "replace")


def _digest(content: bytes, document: Document, name: str) -> str:
    stored: Value | None = document.get(name)
    long = stored is not None and len(stored.data) == 4 + 64 + 1
    return c.hash_of(content, "sha256" if long else "sha1")
