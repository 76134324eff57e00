"""The recognition of documents that keep their own history or hash: ``embedded`` and ``hashed``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, product

from model.errors import Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.hash_recipe import HashRecipe
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
)
from model.recognition.key_candidates import is_version_name, names_a_part
from model.recognition.metadata_fields import (
    HASH,
    TOKEN,
    proven,
    reordered,
    roles_of,
    some,
    stamps,
)
from model.recognition.sampling import (
    Document,
    Proposal,
    Sample,
    SampledChain,
    chain_of,
    listed,
    of,
    read,
)
from model.recognition.version_order import Inside, judged_inside
from model.storage.content_hashes import Proof
from model.values import canonical as c
from model.values.canonical import Value
from model.values.kinds import NUMBERS

ELEMENTS = 60  # versions looked at inside one document, the latest ones
EXCLUDED, NOTED = 40, 6  # paths that a hash may leave out, one by one; and those of them that it may leave out together
TRIED, TRIED_BYTES = 2, 32 << 10  # documents that say which, and bytes of one


def inner(value: Value | None) -> list[Document]:
    """The documents in an array; [] where it is none or does not decode."""
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
    """``embedded``: a sub-document, and an array of sub-documents of its shape with lower versions."""
    shapes = sample.shapes
    parts = {
        name: [_sub(d.get(name)) for d in sample.documents] for name in shapes if shapes[name].share(c.OBJECT) >= 0.6
    }
    lists = {
        name: [inner(d.get(name)) for d in sample.documents] for name in shapes if shapes[name].share(c.ARRAY) >= 0.3
    }
    found = []
    for current, now in parts.items():
        for prev, past in lists.items():
            told = zip(sample.documents, now, past, strict=True)
            pairs = [Inside(d.get("_id"), b, a) for d, a, b in told if a is not None]
            if pairs and (any(past) or bare(prev) in BEFORE or wanted):
                made = _embedded(sample, current, prev, pairs, wanted)
                found += [made] if made is not None else []
    return max(found, key=lambda each: (each.profile.layout == "embedded", each.confidence)) if found else None


def _embedded(sample: Sample, current: str, prev: str, pairs: Sequence[Inside], wanted: bool) -> Proposal | None:
    numbers = (*NUMBERS, c.DATE)
    counts = Counter(name for each in pairs for name, value in each.now.fields.items() if value.type in numbers)
    best: Proposal | None = None
    for version, seen in counts.items():
        hinted = is_version_name(version)
        if seen < 0.7 * len(pairs) or (_dated(pairs, version) and not hinted):
            continue
        with_past = [each for each in pairs if each.past]
        named = bare(current) in NOW and bare(prev) in BEFORE
        if with_past:
            alike = sum(each.alike for each in with_past) / len(with_past)
            judged = judged_inside(with_past, version, prev)
            if alike < 0.5 or not (hinted or _dense(with_past, version)):
                continue
            if not judged.earned and not wanted:
                if hinted and judged.against and best is None:
                    but = f"{_shaped(current, prev)}, but {judged.against}."
                    best = Proposal(CollectionProfile(sample.ns), 0.7, but, ("embedded",))
                continue
            if not hinted and names_a_part(version):
                continue
            good = judged.good / max(1, judged.several)
            confidence = 0.7 + 0.15 * good + 0.1 * alike + (0.03 if named or hinted else 0)
            if len(with_past) < 2 and not named:
                confidence -= 0.15
            share = of(len(with_past), len(with_past), "document")
            have = "have" if len(with_past) > 1 else "has"
            why = f"{_shaped(current, prev)}, and a {version} above theirs in {share} that {have} any; {judged.said}"
        elif hinted and (named or wanted):
            confidence = 0.6
            empty = of(len(pairs), len(pairs), "document")
            why = f"The sub-document {current} holds {version}, and {prev} is an array that is empty in {empty}"
        else:
            continue
        chains = [chain_of([*each.past, each.now], version) for each in pairs]
        found = stamps([each for each in chains if len(each.documents) > 1], _flat(chains), {version})
        if found.said:
            why += f"; {found.said}"
        profile = CollectionProfile(
            sample.ns,
            "embedded",
            current=current,
            prev=prev,
            version=version,
            token=found.token,
            hash=found.hash,
            **found.sealing,
            at=found.at,
            author=found.author,
            numbering="time" if _dated(pairs, version) else "next",
        )
        made = Proposal(profile, round(min(confidence, 0.98), 2), f"{why}.")
        if best is None or best.profile.layout != "embedded" or made.confidence > best.confidence:
            best = made
    return best


def _flat(chains: Sequence[SampledChain]) -> list[Document]:
    return [document for each in chains for document in each.documents]


def _shaped(current: str, prev: str) -> str:
    return f"The sub-document {current} has the shape of the elements of {prev}"


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
    """``hashed``: a field with the hash of the rest, by any recipe that is known."""
    candidates = [name for name, shape in sample.shapes.items() if name != "_id" and shape.sealing >= 0.5]
    for name in sorted(candidates, key=lambda n: (n != HASH, bare(n) not in HASHES)):
        if (made := _hashed(sample, name, wanted)) is not None:
            return made
    return None


def _hashed(sample: Sample, name: str, wanted: bool) -> Proposal | None:
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
    twins = sum(d.get("_id") == d.get(name) for d in documents)
    known = "" if proof.recipe is None or proof.recipe == HashRecipe() else f" ({proof.recipe.said})"
    unproven = "; no recipe known gives it, so nothing is written here until a profile states hash_recipe"
    if 2 * proof.fits >= len(documents) > 0:
        confidence = 0.75 + 0.22 * proof.fits / proof.of if proof.holds else 0.6
        why = f"The field {name} is the hash of the content{known} in {of(proof.fits, proof.of, 'document')} computed"
        why += f", without {listed(excluded)}" if excluded else ""
        how = "; how the others got theirs is not proven, so nothing is written here until a profile states hash_recipe"
        why += "" if proof.holds else how
    elif (ordered := reordered(documents, name)).holds:
        proof, confidence = ordered, 0.8
        why = f"The field {name} is the hash of the content with its fields in another order than they are stored in"
    elif twins >= 0.3 * len(documents) > 0 and (name == HASH or wanted):
        confidence = 0.7
        same = of(twins, len(documents), "document")
        why = f"The field {name} looks like a hash and is the _id of {same}, but not that of the content as stored"
        why += unproven
    elif name == HASH or wanted:
        confidence = 0.5
        why = f"The field {name} looks like a hash, but is not that of the content as it is stored{unproven}"
    else:
        return None
    token, time = kept
    roles = roles_of(name, proof)
    profile = CollectionProfile(
        sample.ns, "hashed", hash=name, token=token, at=time, hash_exclude=tuple(excluded), **roles
    )
    return Proposal(profile, round(confidence, 2), f"{why}.", ("plain",) if confidence < 0.75 else ())


def _excluding(documents: Sequence[Document], name: str, proof: Proof) -> tuple[Proof, tuple[str, ...]]:
    """The proof of a hash that leaves some of the content out, and the paths of that; else the proof as it is."""
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
    """The dotted paths of a document's fields, those at the top first."""
    pairs = [(name, value) for name, value in c.fields(raw) if can_play_a_role(name)]
    yield from (prefix + name for name, _ in pairs)
    for name, value in pairs:
        if value.type == c.OBJECT and depth > 1:
            yield from _paths(value.data, f"{prefix}{name}.", depth - 1)
