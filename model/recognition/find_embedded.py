"""Recognises documents that contain their own history or hash: ``embedded`` and ``hashed``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations, product

from msgspec import Struct

from model.errors import Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.hash_recipe import HashRecipe
from model.recognition.evidence import Sign, fixed, unless, weighed, where
from model.recognition.field_names import (
    AUTHORS,
    BEFORE,
    CHANGE_TIMES,
    HASHES,
    NOW,
    TIMES,
    TOKENS,
    bare,
    can_play_a_role,
    is_version_name,
)
from model.recognition.key_candidates import names_a_part
from model.recognition.metadata_fields import (
    HASH,
    TOKEN,
    Stamps,
    proven,
    reordered,
    roles_of,
    some,
    stamps,
)
from model.recognition.row_ties import tie
from model.recognition.sampling import (
    SUREST,
    Document,
    Proposal,
    Sample,
    SampledChain,
    chain_of,
    listed,
    of,
    on_grounds,
    read,
)
from model.recognition.version_order import Inside, Judged, judged_inside
from model.storage.content_hashes import Proof
from model.values import canonical as c
from model.values.canonical import Value
from model.values.kinds import NUMBERS

ELEMENTS = 60  # versions examined in one document, the latest ones
EXCLUDED, NOTED = 40, 6  # paths that a hash may exclude, tried singly; and how many of them are tried together
TRIED, TRIED_BYTES = 2, 32 << 10  # documents from which excluded paths are derived, and bytes of one


def inner(value: Value | None) -> list[Document]:
    """The documents in an array; [] if it is not an array or cannot be decoded."""
    if value is None or value.type != c.ARRAY:
        return []
    try:
        items = c.items(value)[-ELEMENTS:]
    except Unreadable:
        return []
    return [d for item in items if item.type == c.OBJECT and (d := read(item.data)) is not None]


def _sub(value: Value | None) -> Document | None:
    return read(value.data) if value is not None and value.type == c.OBJECT else None


# --- embedded


def embedded(sample: Sample, wanted: bool = False) -> Proposal | None:
    """``embedded``: a sub-document, and an array of similar sub-documents with lower versions."""
    shapes = sample.shapes
    parts = {
        name: [_sub(d.get(name)) for d in sample.documents] for name in shapes if shapes[name].share(c.OBJECT) >= 0.6
    }
    lists = {
        name: [inner(d.get(name)) for d in sample.documents] for name in shapes if shapes[name].share(c.ARRAY) >= 0.3
    }
    found: list[Claim] = []
    for current, now in parts.items():
        for prev, past in lists.items():
            told = zip(sample.documents, now, past, strict=True)
            pairs = [Inside(d.get("_id"), b, a) for d, a, b in told if a is not None]
            if pairs and (any(past) or bare(prev) in BEFORE or wanted):
                found += _embedded(sample, current, prev, pairs, wanted)
    return max(found, key=lambda each: each.rank).proposal if found else None


class KeptInside(Struct, frozen=True, eq=False, dict=True):
    """A sub-document and an array, with the field that may number the versions in both."""

    current: str
    prev: str
    version: str
    pairs: Sequence[Inside]
    wanted: bool  # a person says that the array holds the past

    @property
    def hinted(self) -> bool:
        """Whether the version field is named like one."""
        return is_version_name(self.version)

    @property
    def named(self) -> bool:
        """Whether both places are named like those of a history."""
        return bare(self.current) in NOW and bare(self.prev) in BEFORE

    @cached_property
    def with_past(self) -> Sequence[Inside]:
        """The documents with earlier versions."""
        return [each for each in self.pairs if each.past]

    @cached_property
    def alike(self) -> float:
        """The share of fields that the latest earlier version has in common with the current one."""
        return sum(each.alike for each in self.with_past) / len(self.with_past)

    @cached_property
    def judged(self) -> Judged:
        """The evidence from the order of the versions."""
        return judged_inside(self.with_past, self.version, self.prev)

    @property
    def good(self) -> float:
        """The share of documents with several versions that are in order."""
        return self.judged.good / max(1, self.judged.several)

    @cached_property
    def dated(self) -> bool:
        """Whether versions are dates."""
        return _dated(self.pairs, self.version)

    @cached_property
    def stamps(self) -> Stamps:
        """The fields beside the content of all versions."""
        chains = [chain_of([*each.past, each.now], self.version) for each in self.pairs]
        return stamps([each for each in chains if len(each.documents) > 1], _flat(chains), {self.version})

    @cached_property
    def tie(self) -> str:
        """How a field other than the layout's own ties versions to one another, as a clause; "" if none does."""
        own = {self.version, *self.stamps.names}
        return tie([[*each.past, each.now] for each in self.with_past], own)

    @property
    def shaped(self) -> str:
        """What sub-document and array have in common, as a clause."""
        return f"The sub-document {self.current} has the shape of the elements of {self.prev}"

    @property
    def found(self) -> str:
        """The versions in documents with a past, as a clause."""
        several = len(self.with_past)
        have = "have" if several > 1 else "has"
        return f"{self.shaped}, and a {self.version} above theirs in {of(several, several, 'document')} that {have} any"

    @property
    def empty(self) -> str:
        """That the array is empty in every document, as a clause."""
        now, past, v = self.current, self.prev, self.version
        all_of_them = of(len(self.pairs), len(self.pairs), "document")
        return f"The sub-document {now} holds {v}, and {past} is an array that is empty in {all_of_them}"


_DATE: Sign[KeptInside] = Sign(
    "unnamed date",
    "a date that no name calls a version",
    leaves=unless(lambda it: it.dated and not it.hinted),
)
_END: tuple[Sign[KeptInside], ...] = (
    Sign(
        "ties",
        "fields that a new version would have to set in an earlier one",
        leaves=unless(lambda it: bool(it.tie), 0.7),
        says=lambda it: it.tie,
    ),
    Sign("stamps", "tokens and hashes beside the content", says=lambda it: it.stamps.said),
    Sign("sample", "some documents only", leaves=lambda it: SUREST),
)
INSIDE: tuple[Sign[KeptInside], ...] = (
    _DATE,
    Sign("shape", "a sub-document, and an array of its kind", weighs=fixed(0.7), says=lambda it: it.found),
    Sign(
        "likeness",
        "the fields of the latest earlier version",
        weighs=lambda it: 0.1 * it.alike,
        leaves=unless(lambda it: it.alike < 0.5),
    ),
    Sign(
        "gaps",
        "the number of the latest earlier version",
        leaves=unless(lambda it: not it.hinted and not _dense(it.with_past, it.version)),
    ),
    Sign(
        "order",
        "the versions of each document",
        weighs=lambda it: 0.15 * it.good,
        leaves=unless(lambda it: not it.judged.earned and not it.wanted),
        says=lambda it: it.judged.said,
    ),
    Sign(
        "a part's number",
        "names of lines, positions and measures",
        leaves=unless(lambda it: not it.hinted and names_a_part(it.version)),
    ),
    Sign(
        "names",
        "the names of the version and of both places",
        weighs=where(lambda it: it.named or it.hinted, 0.03),
    ),
    Sign(
        "single document",
        "documents with a past",
        weighs=where(lambda it: len(it.with_past) < 2 and not it.named, -0.15),
    ),
    *_END,
)
"""Signs for documents with a past inside."""
EMPTY_INSIDE: tuple[Sign[KeptInside], ...] = (
    _DATE,
    Sign(
        "names",
        "the names of the version and of both places",
        weighs=fixed(0.8),
        leaves=unless(lambda it: not (it.hinted and (it.named or it.wanted))),
        says=lambda it: it.empty,
    ),
    *_END,
)
"""Signs if no document has a past yet: only names count."""


class Claim(Struct, frozen=True):
    """The proposal for a sub-document, an array and a version, or ``plain`` with the contradiction."""

    proposal: Proposal
    contradicted: bool = False

    @property
    def rank(self) -> tuple[bool, float]:
        """For sorting: proposals before contradictions, then by confidence."""
        return not self.contradicted, self.proposal.confidence


def _embedded(sample: Sample, current: str, prev: str, pairs: Sequence[Inside], wanted: bool) -> Iterator[Claim]:
    """A claim for each field that may number the versions."""
    numbers = (*NUMBERS, c.DATE)
    counts = Counter(name for each in pairs for name, value in each.now.fields.items() if value.type in numbers)
    for version, seen in counts.items():
        if seen >= 0.7 * len(pairs):
            made = _kept_inside(sample, KeptInside(current, prev, version, pairs, wanted))
            if made is not None:
                yield made


def _kept_inside(sample: Sample, it: KeptInside) -> Claim | None:
    """The claim for a version field; a contradiction is reported only for a telling name. None if there is no claim."""
    grounds = weighed(INSIDE if it.with_past else EMPTY_INSIDE, it)
    if grounds.ruled_out_by == "order" and it.hinted and it.judged.against:
        why = f"{it.shaped}, but {it.judged.against}."
        return Claim(Proposal(CollectionProfile(sample.ns), 0.7, why, ("embedded",)), contradicted=True)
    if not grounds.stands:
        return None
    profile = CollectionProfile(
        sample.ns,
        "embedded",
        current=it.current,
        prev=it.prev,
        version=it.version,
        token=it.stamps.token,
        hash=it.stamps.hash,
        **it.stamps.sealing,
        at=it.stamps.at,
        author=it.stamps.author,
        reason=it.stamps.reason,
        numbering="time" if it.dated else "next",
    )
    return Claim(on_grounds(profile, grounds))


def _flat(chains: Sequence[SampledChain]) -> list[Document]:
    return [document for each in chains for document in each.documents]


def _dense(pairs: Sequence[Inside], version: str) -> bool:
    follow = 0
    for each in pairs:
        top, below = each.now.place(version), each.past[-1].place(version)
        follow += top is not None and below is not None and top - below == 1
    return follow >= 0.8 * len(pairs)


def _dated(pairs: Sequence[Inside], version: str) -> bool:
    dates = sum((v := each.now.get(version)) is not None and v.type == c.DATE for each in pairs)
    return dates * 2 > len(pairs)


# --- hashed


def hashed(sample: Sample, wanted: bool = False) -> Proposal | None:
    """``hashed``: a field with the hash of the rest, by any known recipe."""
    candidates = [name for name, shape in sample.shapes.items() if name != "_id" and shape.sealing >= 0.5]
    for name in sorted(candidates, key=lambda n: (n != HASH, bare(n) not in HASHES)):
        if (made := _hashed(sample, name, wanted)) is not None:
            return made
    return None


class HashField(Struct, frozen=True, eq=False):
    """A field that looks like a hash, and how often it is the hash of the content."""

    name: str
    documents: Sequence[Document]
    proof: Proof
    token: str
    at: str
    excluded: tuple[str, ...]
    reordered: bool  # it is the hash of the fields in another order

    @property
    def twins(self) -> int:
        """The number of documents whose ``_id`` it is."""
        return sum(d.get("_id") == d.get(self.name) for d in self.documents)

    def case(self, wanted: bool) -> str:
        """The row that describes it; "" if it is not the content's hash and nobody says that it is."""
        total = len(self.documents)
        if self.reordered:
            return "reordered"
        if 2 * self.proof.fits >= total > 0:
            return "recipe"
        named = self.name == HASH or wanted
        if named and self.twins >= 0.3 * total > 0:
            return "_id"
        return "name" if named else ""

    @property
    def computed(self) -> str:
        """The recipe that made it, as a clause."""
        name, proof = self.name, self.proof
        known = "" if proof.recipe is None or proof.recipe == HashRecipe() else f" ({proof.recipe.said})"
        said = f"The field {name} is the hash of the content{known} in {of(proof.fits, proof.of, 'document')} computed"
        said += f", without {listed(self.excluded)}" if self.excluded else ""
        how = "; how the others got theirs is not proven, so nothing is written here until a profile states hash_recipe"
        return said if proof.holds else f"{said}{how}"


_UNPROVEN = "; no recipe known gives it, so nothing is written here until a profile states hash_recipe"
HASHED: dict[str, Sign[HashField]] = {
    "recipe": Sign(
        "recipe",
        "the hash of the content, computed anew",
        weighs=lambda it: 0.75 + 0.22 * it.proof.fits / it.proof.of if it.proof.holds else 0.6,
        says=lambda it: it.computed,
    ),
    "reordered": Sign(
        "reordered",
        "the hash of the content with its fields in any order",
        weighs=fixed(0.8),
        says=lambda it: (
            f"The field {it.name} is the hash of the content with its fields in another order than they are stored in"
        ),
    ),
    "_id": Sign(
        "_id",
        "documents that are stored under the hash",
        weighs=fixed(0.7),
        says=lambda it: (
            f"The field {it.name} looks like a hash and is the _id of {of(it.twins, len(it.documents), 'document')}, "
            "but not that of the content as stored" + _UNPROVEN
        ),
    ),
    "name": Sign(
        "name",
        "the field's name, or what a person says",
        weighs=fixed(0.5),
        says=lambda it: (
            f"The field {it.name} looks like a hash, but is not that of the content as it is stored{_UNPROVEN}"
        ),
    ),
}
"""What a field that looks like a hash can be, by the result of :meth:`HashField.case`."""


def _hashed(sample: Sample, name: str, wanted: bool) -> Proposal | None:
    it = _hash_field(sample, name)
    if not (case := it.case(wanted)):
        return None
    grounds = weighed((HASHED[case],), it)
    profile = CollectionProfile(
        sample.ns, "hashed", hash=name, token=it.token, at=it.at, hash_exclude=it.excluded, **roles_of(name, it.proof)
    )
    return on_grounds(profile, grounds, ("plain",) if grounds.confidence < 0.75 else ())


def _hash_field(sample: Sample, name: str) -> HashField:
    """A field with the recipe that fits best, and the fields that are excluded from the hash."""
    documents, shapes = some(sample.documents, name), sample.shapes
    tokens = [n for n, s in shapes.items() if s.share(c.OBJECT_ID) and (n == TOKEN or bare(n) in TOKENS)]
    times = [n for n, s in shapes.items() if s.share(c.DATE) and bare(n) in CHANGE_TIMES]
    proof, kept = Proof(None, (), 0, len(documents)), ("", "")
    excluded: tuple[str, ...] = ()
    for token, time in product(("", *tokens), ("", *times)):
        if proof.fits < len(documents):
            made = proven(documents, name, {"_id", name, token, time}, ids=True)
            proof, kept = (made, (token, time)) if made.fits > proof.fits else (proof, kept)
    if 2 * proof.fits < len(documents):
        proof, excluded = _excluding(documents, name, proof)
    if not 2 * proof.fits >= len(documents) > 0 and (ordered := reordered(documents, name)).holds:
        return HashField(name, documents, ordered, *kept, excluded, True)
    return HashField(name, documents, proof, *kept, excluded, False)


def _excluding(documents: Sequence[Document], name: str, proof: Proof) -> tuple[Proof, tuple[str, ...]]:
    """The proof of a hash that excludes some paths, and these paths; else ``proof`` unchanged."""
    first = [document for document in documents[:TRIED] if len(document.raw) <= TRIED_BYTES]
    paths = list(dict.fromkeys(path for d in first for path in _paths(c.without(d.raw, {"_id", name}))))[:EXCLUDED]
    noted = [path for path in paths if path.startswith("_") or bare(path) in (TIMES | AUTHORS | TOKENS)][:NOTED]
    sets = [*((path,) for path in paths), *combinations(noted, 2), *([tuple(noted)] if len(noted) > 2 else [])]
    for exclude in sets:
        if any(proven([document], name, {"_id", name}, exclude).fits for document in first):
            made = proven(documents, name, {"_id", name}, exclude)
            if made.fits > proof.fits and 2 * made.fits >= made.of:
                return made, exclude
    return proof, ()


def _paths(raw: bytes, prefix: str = "", depth: int = 3) -> Iterator[str]:
    """The dotted paths of a document's fields, top level first."""
    pairs = [(name, value) for name, value in c.fields(raw) if can_play_a_role(name)]
    yield from (prefix + name for name, _ in pairs)
    for name, value in pairs:
        if value.type == c.OBJECT and depth > 1:
            yield from _paths(value.data, f"{prefix}{name}.", depth - 1)
