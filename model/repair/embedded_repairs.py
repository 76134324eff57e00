"""Repairs within one document: the array of earlier versions, the stored hash, a list with duplicates."""

from __future__ import annotations

from collections.abc import Iterator

from model.errors import Refused
from model.foundation.collection_profile import CollectionProfile
from model.layouts.base import Layout
from model.repair.field_repairs import holding, put_right
from model.repair.items import Item
from model.repair.steps import Prepared, RepairContext, Step, nothing, refused
from model.storage.content_hashes import Sealed, content_hash, fits, settled
from model.storage.reserved_fields import place_of
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Path, Value


def rebuild_prev(ground: RepairContext, item: Item) -> Prepared:
    """Sort the array by version, each version once; only equal duplicates are dropped."""
    here = holding(ground, item)
    if isinstance(here, Prepared):
        return here
    layout, id, raw = here
    p = layout.profile
    prev, now = c.get(raw, (p.prev,)), c.get(raw, (p.current,))
    if prev is None or prev.type != c.ARRAY or now is None or now.type != c.OBJECT:
        return refused(f"{p.prev} of {id_name(id)} is not an array, or {p.current} is not a document; mend that first.")
    top = place_of(c.get(now.data, (p.version,)))
    kept: dict[int, Value] = {}
    repeats = 0
    if top is not None:
        kept[top] = now
    for each in c.items(prev):
        place = place_of(c.get(each.data, (p.version,))) if each.type == c.OBJECT else None
        if place is None or top is None or place > top:
            return refused(
                f"{p.prev} holds what is not an earlier version of {id_name(id)}; a person has to look at it."
            )
        there = kept.setdefault(place, each)
        if there is not each:
            repeats += 1
            if layout.own.content(there.data) != layout.own.content(each.data):
                v = version_name(c.get(each.data, (p.version,)))
                return refused(f"{v} is in {p.prev} with different contents; a person has to decide which is right.")
    kept.pop(top if top is not None else 0, None)
    after = c.put(raw, (p.prev,), c.array(kept[place] for place in sorted(kept)))
    if after == raw:
        return nothing(f"{p.prev} is in order now.")
    said = "in the order of versions" + (f", without {repeats} repeated" if repeats else "")
    return Prepared(
        "would",
        f"{p.prev} {said}",
        f"{p.prev} is {said} now.",
        (ground.swapped(layout.ns, "the document", raw, after, f"{p.prev} is put in order"),),
        f"One update of {p.prev}, which applies only if every byte of the document, {p.prev} included, is as it was "
        "seen. The journal keeps what was there.",
    )


# --- H1


def rebuild_hash(ground: RepairContext, item: Item) -> Prepared:
    """Store the hash of the content, after a person has said that the content is right."""
    layout = ground.layouts(item.finding.ns)

    def right(ns: str, raw: bytes) -> Iterator[tuple[Path, Value, str]]:
        inside = layout.hashed_parts(ns, raw, item.finding.id)
        profile = _sealing(layout, item, [(c.get(raw, path), content) for path, content in inside])
        for path, content in inside:
            stored = c.get(raw, path)
            if stored is None:
                continue
            wanted = content_hash(content, profile, stored, c.get(raw, ("_id",)))
            if stored != wanted:
                was = version_name(stored) if stored.type == c.STRING else stored.kind
                yield path, wanted, f"{was} becomes {version_name(wanted)}"

    steps, said = put_right(ground, item, "the hash of the content", right)
    if not steps:
        return nothing("The hash is that of the content now.")
    return Prepared(
        "would",
        said,
        f"The hash {said.replace(' becomes ', ' is now ')}.",
        steps,
        "One update of the hash, which applies only if the old hash and every byte of the content are as they were "
        "seen. The content is not touched.",
    )


def _sealing(layout: Layout, item: Item, here: list[tuple[Value | None, bytes]]) -> CollectionProfile:
    """The profile with its recipe, else the recipe that the neighbouring hashes match.

    If they match none, the published pattern's recipe: a person has said that the hashes are wrong, not their recipe.
    """
    p = layout.profile
    if p.hash_recipe is not None or p.hash_doubt:
        return p
    seals = [Sealed(content, stored) for stored, content in here if stored is not None]
    return settled(p, [seal for seal in layout.sealed(item.finding.id, seals) if fits(seal, p)])


# --- P2


def remove_repeats(ground: RepairContext, item: Item) -> Prepared:
    """Keep each entry of a list once, at its first position; totals are not recomputed."""
    layout = ground.layouts(item.finding.ns)
    path: Path = tuple(layout.profile.processed.split("."))
    steps: list[Step] = []
    gone = 0
    for each in item.seen:
        raw = ground.at(each.ns, each.id)
        entries = c.get(raw, path) if raw is not None else None
        if raw is None or entries is None:
            continue
        if entries.type != c.ARRAY:
            raise Refused(f"{layout.profile.processed} is a value of type {entries.kind}, not a list; mend that first.")
        found = c.items(entries)
        once = list(dict.fromkeys(found))
        gone += len(found) - len(once)
        if len(once) < len(found):
            after = c.put(raw, path, c.array(once))
            steps.append(ground.swapped(each.ns, "the document", raw, after, "each entry is listed once"))
    if not steps:
        return nothing("Every entry is listed once now.")
    return Prepared(
        "would",
        f"{layout.profile.processed} without {gone} repeated {'entry' if gone == 1 else 'entries'}",
        f"{layout.profile.processed} lists each entry once now.",
        tuple(steps),
        "One update of the list, which applies only if every byte of the document is as it was seen. What was counted "
        "from it is left as it is.",
    )
