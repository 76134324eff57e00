"""The hash of a version's content: made, checked and proven by the one recipe of a profile.

If the profile states no recipe, the data decide: a stored hash is right if any known recipe produces it, and a new
one uses the recipe that the others prove. If no recipe is proven, no hash is made, because a hash by another recipe
would look wrong to every reader.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from itertools import islice, permutations
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from model.errors import Refused
from model.foundation.collection_profile import CollectionProfile
from model.foundation.hash_recipe import HashRecipe, recipes_like, shape_of
from model.text.names import id_name
from model.values import canonical as c
from model.values.canonical import Value

FEW = 7  # contents with at most this many fields are tried in every order
JSON_ORDERS = 720  # limit for JSON, where each order is serialised anew
STATE = "state hash_recipe, and hash_fields for what it leaves out, in a profile before anything is written here"


# --- which fields


def hashed_part(content: bytes, profile: CollectionProfile) -> bytes:
    """The part of a content that the hash covers, by the profile's included or excluded paths."""
    if profile.hash_include:
        return only_paths(content, profile.hash_include)
    return without_paths(content, profile.hash_exclude) if profile.hash_exclude else content


def without_paths(content: bytes, paths: Collection[str]) -> bytes:
    """A content without some fields; a path also leads through each document of an array."""
    if not any("." in path for path in paths):
        return c.without(content, paths)
    kept = []
    for name, value in c.fields(content):
        if name not in paths:
            below = _below(name, paths)
            kept.append((name, _inside(value, below, without_paths) if below else value))
    return c.document(kept)


def only_paths(content: bytes, paths: Collection[str]) -> bytes:
    """A content with only some fields, in stored order; a path also leads through each document of an array."""
    if not any("." in path for path in paths):
        return c.only(content, paths)
    kept = []
    for name, value in c.fields(content):
        if name in paths:
            kept.append((name, value))
        elif (below := _below(name, paths)) and value.is_container:
            kept.append((name, _inside(value, below, only_paths)))
    return c.document(kept)


def _below(name: str, paths: Collection[str]) -> list[str]:
    return [path[len(name) + 1 :] for path in paths if path.startswith(f"{name}.")]


def _inside(value: Value, paths: Collection[str], cut: Callable[[bytes, Collection[str]], bytes]) -> Value:
    if value.type == c.OBJECT:
        return Value(c.OBJECT, cut(value.data, paths))
    if value.type == c.ARRAY:
        return c.array(_inside(each, paths, cut) if each.type == c.OBJECT else each for each in c.items(value))
    return value


# --- one hash


def content_hash(
    content: bytes, profile: CollectionProfile, stored: Value | None = None, id: Value | None = None
) -> Value:
    """The hash of a content; ``stored`` is the hash that it replaces, ``id`` the document's ``_id``.

    Without a recipe: the published pattern's, with the algorithm that ``stored`` looks like. Raises ``Refused`` if no
    recipe is proven, or if several fit and differ on this content.
    """
    if profile.hash_doubt:
        raise Refused(profile.hash_doubt)
    if stored is not None and stored.type not in (c.STRING, c.BINARY):
        raise Refused(not_a_hash(profile.hash, stored))
    recipe, part = profile.hash_recipe or shape_of(stored) or HashRecipe(), hashed_part(content, profile)
    made = recipe.value(part, id, stored)
    for rival in profile.hash_rivals:
        if rival.value(part, id, stored) != made:
            raise Refused(f"{profile.hash} fits {recipe.said} as well as {rival.said}, which differ here; {STATE}.")
    return made


def hashes_any(profile: CollectionProfile, stored: Value | None) -> bool:
    """Whether :func:`content_hash` accepts every content, so that none has to be hashed to find out."""
    recipe = profile.hash_recipe
    told = stored is None or stored.type in (c.STRING, c.BINARY)
    sure = not profile.hash_doubt and not profile.hash_rivals
    return told and sure and recipe is not None and recipe.is_published


def next_hash(
    content: bytes, profile: CollectionProfile, base: bytes, stored: Value | None, id: Value | None = None
) -> Value:
    """The hash of the content that follows a version with the content ``base`` and the hash ``stored``.

    Raises ``Refused`` as :func:`content_hash` and :func:`recipe_after` do.
    """
    return content_hash(content, recipe_after(profile, base, stored, id), stored, id)


def recipe_after(
    profile: CollectionProfile, base: bytes, stored: Value | None, id: Value | None = None
) -> CollectionProfile:
    """The profile with the recipe that made the hash ``stored`` of the content ``base``.

    Raises ``Refused`` if another recipe than the profile's made it, or, without a recipe in the profile, no known
    one.
    """
    if stored is None or profile.hash_doubt:
        return profile
    seal = [Sealed(base, stored, id)]
    if profile.hash_recipe is not None and _gives(profile.hash_recipe, hashed_part(base, profile), seal[0]):
        return profile
    if shape_of(stored) is None:
        return profile
    if not fits(seal[0], profile):
        own = prove(seal, profile)
        if own.recipe is not None and profile.hash_recipe is not None:
            raise Refused(
                f"The hash in {profile.hash} of this version is {own.recipe.said}, and {profile.hash_recipe.said} is "
                f"the recipe here, so no hash can take its place; {STATE}."
            )
    return settled(profile, seal) if profile.hash_recipe is None else profile


def hash_damage(raw: bytes, content: bytes, profile: CollectionProfile) -> str:
    """ "hash differs" if a stored hash does not match the content; "" if it does, or if nobody can tell."""
    stored = c.get(raw, (profile.hash,)) if profile.hash else None
    return "" if stored is None else hash_trouble(Sealed(content, stored, c.get(raw, ("_id",))), profile)


def not_a_hash(name: str, stored: Value) -> str:
    """Why a value in the hash field cannot be replaced by a hash, one sentence."""
    return f"{name} holds a value of type {stored.kind}, not a hash; name the field with the hash in a profile."


# --- hashes that are there


class Sealed(Struct, frozen=True):
    """A content with its stored hash and its document's ``_id``."""

    content: bytes
    stored: Value
    id: Value | None = None


def hash_trouble(seal: Sealed, profile: CollectionProfile) -> str:
    """What is wrong with a stored hash, in a few words; "" if it is right, or if nobody can tell."""
    if profile.hash_doubt:
        return ""
    if seal.stored.type not in (c.STRING, c.BINARY):
        return f"hash is a {seal.stored.kind}"
    return "" if fits(seal, profile) else "hash differs"


def fits(seal: Sealed, profile: CollectionProfile) -> bool:
    """Whether a stored hash matches its content: by the profile's recipe, or without one by any known recipe."""
    part = hashed_part(seal.content, profile)
    if profile.hash_recipe is not None:
        return any(_gives(each, part, seal) for each in (profile.hash_recipe, *profile.hash_rivals))
    return any(_gives(each, part, seal) for each in recipes_like(seal.stored))


def _gives(recipe: HashRecipe, part: bytes, seal: Sealed) -> bool:
    try:
        return recipe.value(part, seal.id, seal.stored) == seal.stored
    except Refused:
        return False


# --- other orders of fields


def in_another_order(seal: Sealed, profile: CollectionProfile) -> tuple[str, ...]:
    """The order of fields in which a content matches its stored hash; () if no order does, or there are too many
    fields.

    Servers store new fields in an order of their own, so a hash can be right for another order than the stored one.
    """
    recipe = profile.hash_recipe or shape_of(seal.stored)
    pairs = c.fields(hashed_part(seal.content, profile))
    if recipe is None or recipe.keys != "stored" or recipe.id or len(pairs) > FEW or len(pairs) < 2:
        return ()
    if recipe.over == "json":
        orders = islice(permutations(pairs), JSON_ORDERS)
        found = next((each for each in orders if _gives(recipe, c.document(each), seal)), ())
        return tuple(name for name, _ in found)
    parts = [bytes((v.type,)) + c.name_bytes(name) + b"\0" + v.data for name, v in pairs]
    begun = hashlib.new(recipe.algorithm, (sum(map(len, parts)) + 5).to_bytes(4, "little"), usedforsecurity=False)
    order = _arranged(begun, parts, tuple(range(len(parts))), lambda digest: recipe.stored(digest, seal.stored), seal)
    return tuple(pairs[at][0] for at in order or ())


def _arranged(
    begun: Any, parts: Sequence[bytes], left: tuple[int, ...], shown: Callable[[bytes], Value], seal: Sealed
) -> tuple[int, ...] | None:
    """The order of parts that gives the hash; the hash of a common prefix is computed only once."""
    if not left:
        whole = begun.copy()
        whole.update(b"\0")
        return () if shown(whole.digest()) == seal.stored else None
    for at in left:
        further = begun.copy()
        further.update(parts[at])
        rest = _arranged(further, parts, tuple(other for other in left if other != at), shown, seal)
        if rest is not None:
            return (at, *rest)
    return None


# --- proof


class Proof(Struct, frozen=True):
    """The recipe that gives most of some stored hashes, and how many; ``rivals`` give all of these as well."""

    recipe: HashRecipe | None
    rivals: tuple[HashRecipe, ...]
    fits: int
    of: int

    @property
    def holds(self) -> bool:
        """Whether the recipe is proven: it fits most hashes, and at most one in five, or one alone, contradicts it."""
        return self.fits > self.of - self.fits and _few(self.of - self.fits, self.of)


def _few(odd: int, of: int) -> bool:
    return odd <= max(1, of // 5)


def prove(seals: Sequence[Sealed], profile: CollectionProfile) -> Proof:
    """The recipe that gives most of the hashes, over the fields that the profile includes or does not exclude.

    The published pattern's recipe wins a tie.
    """
    parts = [(hashed_part(seal.content, profile), seal) for seal in seals]
    given: dict[HashRecipe, set[int]] = {}
    for at, (part, seal) in enumerate(parts):
        shape = shape_of(seal.stored)
        if shape is not None and _gives(shape, part, seal):
            given.setdefault(shape, set()).add(at)
    # Other recipes cost much more to try, and are only tried if the published one leaves a hash unexplained.
    if sum(map(len, given.values())) < len(parts):
        for at, (part, seal) in enumerate(parts):
            for recipe in recipes_like(seal.stored):
                if not recipe.is_published and _gives(recipe, part, seal):
                    given.setdefault(recipe, set()).add(at)
    if not given:
        return Proof(None, (), 0, len(parts))
    best = max(given, key=lambda recipe: (len(given[recipe]), recipe.is_published))
    rivals = () if best.is_published else tuple(r for r in given if r != best and given[r] == given[best])
    return Proof(best, rivals, len(given[best]), len(parts))


def settled(profile: CollectionProfile, seals: Sequence[Sealed]) -> CollectionProfile:
    """The profile with the recipe that some hashes prove, or with a doubt that forbids new hashes.

    A recipe in the profile stays unless the hashes contradict it.
    """
    if not seals or profile.hash_doubt:
        return profile
    odd = next((seal.stored for seal in seals if seal.stored.type not in (c.STRING, c.BINARY)), None)
    if odd is not None:
        return replace(profile, hash_doubt=not_a_hash(profile.hash, odd))
    if profile.hash_recipe is not None:
        return replace(profile, hash_doubt=_contradiction(profile, profile.hash_recipe, seals))
    proof = prove(seals, profile)
    if not proof.holds and (likely := proof.recipe or shape_of(seals[0].stored)) is not None:
        tried = replace(profile, hash_recipe=likely)
        ordered = sum(fits(seal, tried) or bool(in_another_order(seal, tried)) for seal in seals)
        proof = Proof(likely, proof.rivals, ordered, len(seals))
    if proof.holds:
        return replace(profile, hash_recipe=proof.recipe, hash_rivals=proof.rivals)
    return replace(profile, hash_doubt=doubt_of(profile.hash, proof))


def _contradiction(profile: CollectionProfile, recipe: HashRecipe, seals: Sequence[Sealed]) -> str:
    """Why a stated recipe cannot be right, one sentence; "" if it can."""
    wrong = [seal for seal in seals if not fits(seal, profile) and not _unordered(seal, profile)]
    if _few(len(wrong), len(seals)):
        return ""
    right = f"{len(seals) - len(wrong)} of {len(seals)}" if len(wrong) < len(seals) else f"none of {len(seals)}"
    example = f" (not in {id_name(wrong[0].id)}, for one)" if wrong[0].id is not None else ""
    return (
        f"hash_recipe says {recipe.said}, which {profile.hash} holds in {right} documents looked at{example}; correct "
        "it, or hash_fields, before anything is written here."
    )


def doubt_of(name: str, proof: Proof) -> str:
    """Why no hash may be made, one sentence."""
    if not proof.fits or proof.recipe is None:
        return f"How the hash in {name} is made is not proven: no recipe known gives it; {STATE}."
    return (
        f"How the hash in {name} is made is not proven: {proof.recipe.said} fits in {proof.fits} of {proof.of} "
        f"documents looked at, and not in the others; {STATE}."
    )


def _unordered(seal: Sealed, profile: CollectionProfile) -> bool:
    """Whether field order may explain a hash that differs: another order fits, or there are too many to try."""
    if in_another_order(seal, profile):
        return True
    names = [name for name, _ in c.fields(hashed_part(seal.content, profile))]
    assert profile.hash_recipe is not None
    return profile.hash_recipe.keys == "stored" and len(names) > FEW and names == sorted(names)
