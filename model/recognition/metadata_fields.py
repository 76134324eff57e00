"""The fields beside a version's content: a write token, a hash, the time and the author of the change.

They are found in documents whose order is known, and so is the reason of the change. A hash, if there is one, tells
whether a time belongs to the content: a time named in the profile is not part of the content that people edit and
compare.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, combinations
from operator import attrgetter
from typing import Any

from msgspec import Struct

from model.errors import Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.hash_recipe import HashRecipe, shape_of
from model.recognition.field_names import (
    AUTHORS,
    CHANGE_REASONS,
    CHANGE_TIMES,
    CHANGERS,
    HASHES,
    REASONS,
    REFERENCES,
    TERMS,
    TIMES,
    TOKENS,
    bare,
    can_play_a_role,
    words,
)
from model.recognition.sampling import Document, SampledChain, is_hash
from model.storage.content_hashes import Proof, Sealed, doubt_of, fits, in_another_order, prove
from model.storage.reserved_fields import time_of
from model.values import canonical as c
from model.values.canonical import Value

_FIELDS = attrgetter("fields")
TOKEN = "_w"  # the usual name of a write token, which is used only where documents have one
HASH = "_versioned_id"  # the default name, used where nothing else is found
CARRIED = 0.9  # the share of documents that carry a write token where one is kept
ODD, FEWEST_ODD = 0.2, 2  # the share of documents, and the number, from which on a field of that name is no remainder
SEEN_ODD = 10  # documents, before a share of them with a token is odd: of two or three any share is
CHECKED = 12  # documents whose hash is computed
CHECKED_BYTES = 1 << 20
FEWEST_EXPLAINED, EXPLAINED = 3, 0.8  # steps between versions, and the share of them with another text and content
REORDERED = 4  # of these, documents whose fields are tried in every order


NOTHING = Proof(None, (), 0, 0)


class Stamps(Struct, frozen=True):
    """Names of fields; "" if there is none, or if another field has the default name."""

    token: str = ""
    token_seen: bool = False
    hash: str = HASH
    proof: Proof = NOTHING  # of the hash
    at: str = ""
    author: str = ""
    seals_author: bool = False  # whether the hash covers author and reason
    reason: str = ""

    @property
    def names(self) -> frozenset[str]:
        """The fields that it names, and perhaps ""."""
        return frozenset((self.token, self.hash, self.at, self.author, self.reason))

    @property
    def said(self) -> str:
        """The evidence, as a clause; "" if there is none."""
        seen = [f"{self.token} is a write token"] if self.token_seen else []
        if self.proof.recipe is not None:
            how = "" if self.proof.recipe == HashRecipe() else f" ({self.proof.recipe.said})"
            seen.append(f"{self.hash} is the hash of the content{how}")
        return " and ".join(seen)

    @property
    def sealing(self) -> dict[str, Any]:
        """The roles of a profile that say how the hash is made."""
        return roles_of(self.hash, self.proof) | ({"seals_author": True} if self.seals_author else {})


def stamps(chains: Sequence[SampledChain], documents: Sequence[Document], own: Collection[str]) -> Stamps:
    """The stamps of versions; ``own`` names the layout's other fields, ``chains`` gives the versions' order."""
    everything = _without_repeats(chain(documents, *(each.documents for each in chains)))
    token = token_of(chains, everything, own)
    at = time_field(chains, everything, own, token)
    author = author_field(chains, everything, own, at)
    reason = reason_field(chains, everything, own, Stamps(token, at=at, author=author))
    for about in ([at, author, reason], [at, author]):
        name, proof, beside = hash_field(everything, {"_id", *own, token} - {""}, [each for each in about if each])
        sealed = bool(proof.fits and author and author not in beside)
        if not proof.fits or not reason or (reason in beside) != sealed:
            break
        # A hash that covers only one of author and reason says that the reason is content.
        reason = ""
    # A hash that holds with the time in it says that the time is content.
    if proof.fits and at not in beside:
        at = ""
    return Stamps(token, bool(token), name, proof, at, author, sealed, reason)


def roles_of(name: str, proof: Proof) -> dict[str, Any]:
    """The roles of a profile for a field's hash; without proof they say that it is in doubt."""
    if proof.holds:
        return {"hash_recipe": proof.recipe, "hash_rivals": proof.rivals}
    return {"hash_doubt": doubt_of(name, proof)} if proof.of else {}


def _without_repeats(documents: Iterable[Document]) -> list[Document]:
    return list({document.raw: document for document in documents}.values())


def usual_token(documents: Sequence[Document]) -> str:
    """The usual write token, where nearly all of these documents carry it; else "", as nobody's documents gain one."""
    carrying = sum(value.type == c.OBJECT_ID for value in _tokens_in(documents))
    return TOKEN if documents and carrying >= CARRIED * len(documents) else ""


def token_doubt(documents: Sequence[Document], ns: str) -> str:
    """Why nobody can tell whether documents carry the usual write token, one sentence; "" if that is plain."""
    found = _tokens_in(documents)
    if len(found) < max(FEWEST_ODD, ODD * len(documents)):
        return ""
    other = next((value for value in found if value.type != c.OBJECT_ID), None)
    if other is not None:
        return f"{TOKEN} in {ns}, the name of a write token, is of the type {other.kind} there and not an ObjectId."
    if len(found) >= CARRIED * len(documents) or len(documents) < SEEN_ODD:
        return ""
    return f"{len(found)} of {len(documents)} documents sampled in {ns} have {TOKEN}, the name of a write token."


def _tokens_in(documents: Sequence[Document]) -> list[Value]:
    """The usual write tokens of those of some documents that have one."""
    try:
        fields = [*map(_FIELDS, documents)]
        return [each[TOKEN] for each in fields if TOKEN in each]
    except Unreadable:
        return [value for each in documents if (value := _token_in(each)) is not None]


def _token_in(document: Document) -> Value | None:
    try:
        return document.get(TOKEN)
    except Unreadable:
        return None


def _names(documents: Sequence[Document], own: Collection[str], kinds: Collection[int], share: float) -> list[str]:
    """Fields that at least this share of documents has with one of these types."""
    counts: dict[str, int] = {}
    for document in documents:
        for name, value in document.fields.items():
            if value.type in kinds:
                counts[name] = counts.get(name, 0) + 1
    least = share * len(documents)
    return [n for n, seen in counts.items() if seen >= least and n != "_id" and n not in own and can_play_a_role(n)]


def token_of(chains: Sequence[SampledChain], documents: Sequence[Document], own: Collection[str]) -> str:
    """The ObjectId that every write renews and that names no other row; "" if there is none."""
    found: list[tuple[Any, ...]] = []
    rows = {id: d for d in documents if (id := d.get("_id")) is not None}
    for name in _names(documents, own, (c.OBJECT_ID,), CARRIED):
        values = [v for d in documents if (v := d.get(name)) is not None]
        steps = [(d.get(name), e.get(name)) for each in chains for d, e in each.steps]
        renewed = sum(a != b for a, b in steps)
        hinted = bare(name) in TOKENS or not {"token", "nonce"}.isdisjoint(words(name))
        # Not all of them: rows stored twice and edits in place repeat a token without being wrong about it.
        if len(set(values)) < 0.9 * len(values) or renewed < 0.8 * len(steps) or names_rows(name, values, rows):
            continue
        if hinted or (len(steps) >= 3 and REFERENCES.isdisjoint(words(name))):
            found.append((name != TOKEN, not hinted, len(found), name))
    return min(found)[-1] if found else ""


def names_rows(name: str, values: Iterable[Value], rows: Mapping[Value, Document]) -> bool:
    """Whether a field refers to rows: it equals the ``_id`` of a row with another value in this field."""
    # A write token may well be the `_id` of its own row, where each version is a document.
    return any(v in rows and rows[v].get(name) != v for v in values)


def time_field(chains: Sequence[SampledChain], documents: Sequence[Document], own: Collection[str], token: str) -> str:
    """The date of a version's creation: it rises with versions, and its name or an ObjectId confirms it."""
    found: list[tuple[Any, ...]] = []
    for name in _names(documents, own, (c.DATE,), 0.9):
        steps = [(d.place(name), e.place(name)) for each in chains for d, e in each.steps]
        rising = sum(1 for a, b in steps if a is not None and b is not None and a < b)
        # A term such as "valid until" rises with versions too, and says nothing about when they were written.
        if rising < 0.9 * len(steps) or not TERMS.isdisjoint(words(name)):
            continue
        known = bare(name) in (TIMES if steps else CHANGE_TIMES)
        near = len(steps) >= 3 and _beside_an_id(documents, name, token)
        if known or near:
            found.append((not (known and near), not known, bare(name) not in CHANGE_TIMES, len(found), name))
    return min(found)[-1] if found else ""


def _beside_an_id(documents: Sequence[Document], name: str, token: str) -> bool:
    """Whether it equals the time in the document's token or ObjectId."""
    near = 0
    for document in documents:
        times = [time_of(document.get(id)) for id in (token, "_id") if id]
        at = time_of(document.get(name))
        near += at is not None and any(t is not None and abs((at - t).total_seconds()) <= 5 for t in times)
    return near >= 0.9 * len(documents)


def author_field(
    chains: Sequence[SampledChain] | None, documents: Sequence[Document], own: Collection[str], at: str
) -> str:
    """The text with a version's author, found by its name; first choice is a name like that of the time.

    Names that can also mean a book's author or an account's user count only if the text changes between versions.
    ``chains`` is None for rows that are not versions.
    """
    stem = words(at)[:-1]
    found: list[tuple[Any, ...]] = []
    for name in _names(documents, [*own, at], (c.STRING,), 0.8):
        known = bare(name) in CHANGERS or (bare(name) in AUTHORS and (chains is None or _changes(chains, name)))
        if known:
            found.append((not (stem and words(name)[: len(stem)] == stem), len(found), name))
    return min(found)[-1] if found else ""


def reason_field(
    chains: Sequence[SampledChain], documents: Sequence[Document], own: Collection[str], stamps: Stamps
) -> str:
    """The text that says why a version was made, found by its name; "" if there is none.

    Names that ordinary texts have too count only beside a time and an author, where the text is another in nearly
    every version, and so is some other content: a message that people edit explains no change.
    """
    found: list[tuple[Any, ...]] = []
    for name in _names(documents, [*own, *stamps.names], (c.STRING,), 0.5):
        plain = bare(name) in CHANGE_REASONS
        if plain or (bare(name) in REASONS and stamps.at and stamps.author and _explains(chains, name, own, stamps)):
            found.append((not plain, len(found), name))
    return min(found)[-1] if found else ""


def _explains(chains: Sequence[SampledChain], name: str, own: Collection[str], stamps: Stamps) -> bool:
    """Whether a text differs between nearly all neighbouring versions, and something else in the content too."""
    steps = [(a, b) for each in chains for a, b in each.steps]
    if len(steps) < FEWEST_EXPLAINED:
        return False
    beside = {"_id", name, *own, *stamps.names}
    new = sum(a.get(name) != b.get(name) for a, b in steps)
    other = sum(c.without(a.raw, beside) != c.without(b.raw, beside) for a, b in steps)
    return min(new, other) >= EXPLAINED * len(steps)


def _changes(chains: Sequence[SampledChain], name: str) -> bool:
    """Whether a text differs between neighbouring versions often enough."""
    steps = [(a.get(name), b.get(name)) for each in chains for a, b in each.steps]
    return 5 * sum(a != b for a, b in steps) >= len(steps) > 0


# --- hashes


def hash_field(
    documents: Sequence[Document], own: Collection[str], about: Sequence[str]
) -> tuple[str, Proof, Collection[str]]:
    """The field with the content's hash, its proof, and which fields about the version the hash excludes.

    "" for a field of the default name that holds something else.
    """
    others = [*own, *about]
    candidates = [n for n in _names(documents, others, (c.STRING, c.BINARY), 0.0) if _holds_hashes(documents, n)]
    for name in sorted(candidates, key=lambda n: (n != HASH, bare(n) not in HASHES)):
        sealed = some(documents, name)
        for count in range(len(about), -1, -1):
            for beside in combinations(about, count):
                most = sealed[: len(sealed) // 2 + 1]  # if none of these fits, fewer than half of all can
                if not proven(most, name, [*own, *beside, name]).fits:
                    continue
                proof = proven(sealed, name, [*own, *beside, name])
                if 2 * proof.fits >= proof.of:
                    return name, proof, beside
    if any(document.get(HASH) is not None for document in documents):
        return "", NOTHING, about
    return HASH, NOTHING, about


def _holds_hashes(documents: Sequence[Document], name: str) -> bool:
    values = [v for d in documents if (v := d.get(name)) is not None]
    return bool(values) and sum(map(is_hash, values)) >= 0.8 * len(values)


def some(documents: Iterable[Document], name: str) -> list[Document]:
    """A few documents with a hash, limited in bytes."""
    found, left = [], CHECKED_BYTES
    for document in documents:
        if is_hash(document.get(name)) and left > 0:
            found.append(document)
            left -= len(document.raw)
        if len(found) == CHECKED:
            break
    return found


def proven(
    documents: Sequence[Document], name: str, without: Collection[str], exclude: Sequence[str] = (), ids: bool = False
) -> Proof:
    """The recipe by which a field is the hash of the remaining content; ``ids``: the hash may cover ``_id``."""
    profile = CollectionProfile("", hash=name, hash_exclude=tuple(exclude))
    return prove([sealed(document, name, without, ids) for document in documents], profile)


def reordered(documents: Sequence[Document], name: str) -> Proof:
    """The proof of a hash over the fields in another order; only few and small documents are tried."""
    seals = [sealed(document, name, {"_id", name}) for document in documents[:REORDERED]]
    shape = shape_of(seals[0].stored) if seals else None
    profile = CollectionProfile("", hash=name, hash_recipe=shape)
    right = sum(fits(seal, profile) or bool(in_another_order(seal, profile)) for seal in seals) if shape else 0
    return Proof(shape, (), right, len(seals))


def sealed(document: Document, name: str, without: Collection[str], ids: bool = False) -> Sealed:
    """A document's content without some fields, and its hash."""
    stored = document.get(name)
    return Sealed(c.without(document.raw, without), stored or Value.of(""), document.get("_id") if ids else None)
