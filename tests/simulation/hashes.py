"""Hashes of versions, made without the code under test: put into what is stored, and held against it."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import bson
from bson import ObjectId

from model.foundation.hash_recipe import HashRecipe
from model.profile import CollectionProfile
from model.repair import quarantine
from tests.simulation.histories import Collections, Stored, history, stored
from tests.simulation.machine import Machine
from tests.simulation.writers import ID, NS, Variant

RECIPES: Mapping[HashRecipe, Callable[[bytes], object]] = {
    HashRecipe(): lambda content: hashlib.sha1(content).hexdigest(),
    HashRecipe("sha256", encoding="binary"): lambda content: hashlib.sha256(content).digest(),
    HashRecipe("md5", over="json", keys="sorted"): lambda content: hashlib.md5(_as_json(content)).hexdigest(),
}
"""What some recipes make of a content."""


def drawn(of: Variant, about: str) -> Variant:
    """A variant without hashes, or with those of some recipe, by the dice of a schedule's name."""
    if of.layout == "plain":
        return of
    return replace(of, recipe=random.Random(f"{about} hashes").choice((None, *RECIPES)))


@dataclass(frozen=True)
class _Only:
    """One document as all that is stored."""

    ns: str
    raw: bytes

    def documents(self, ns: str) -> list[bytes]:
        return [self.raw] if ns == self.ns else []


@dataclass(frozen=True)
class _WithRemoved:
    """All that is stored or was, with the copies in the quarantine."""

    machine: Machine

    def documents(self, ns: str) -> list[bytes]:
        kept = map(bson.decode, self.machine.documents(quarantine.place(ns)))
        return [*(bson.encode(row["doc"]) for row in kept if row["from"] == ns), *self.machine.documents(ns)]


def seal(machine: Machine, of: Variant) -> None:
    """Put a hash into each stored version, unless their hashes are their numbers."""
    if of.recipe is None or of.layout == "hashed":
        return
    p, made = of.profile, RECIPES[of.recipe]
    hashes = {entry.v: made(entry.content) for entry in history(machine, p)}
    for collection in machine.collections.values():
        for at, raw in list(collection.docs.items()):
            doc = _each(bson.decode(raw), p, lambda part: part | {p.hash: hashes[part[p.version]]})
            collection.replace(at, bson.encode(doc))


def misfits(machine: Machine, of: Variant, saved: Mapping[ObjectId, bytes] | None = None) -> list[str]:
    """The stored versions with another hash than that of their content, or of what was ``saved`` with their token."""
    saved = saved or {}
    if of.recipe is None:
        return []
    p, made, said = of.profile, RECIPES[of.recipe], []
    for ns, where, raw in _documents(machine):
        # What is removed follows on what was removed before it; what is left, on nothing but what is left.
        beside = machine if where == ns else _WithRemoved(machine)
        contents = _contents(beside if of.layout == "deltas" else _Only(ns, raw), p, raw)

        def judged(part: Stored, where: str = where, contents: Mapping[Any, bytes] = contents) -> Stored:
            right = [contents[part.get(p.version)], *filter(None, [saved.get(part.get(p.token))])]
            if part.get(p.hash) not in map(made, right):
                said.append(f"the hash of version {part.get(p.version)} in {where} does not fit")
            return part

        _each(bson.decode(raw), p, judged)
    return said


def _documents(machine: Machine) -> Iterator[tuple[str, str, bytes]]:
    """Each stored document or copy of one: the collection that it is of, the one that has it, and its bytes."""
    for ns in sorted(machine.collections):
        for raw in machine.documents(ns):
            if ns == quarantine.place(NS):
                row = bson.decode(raw)
                yield row["from"], ns, bson.encode(row["doc"])
            else:
                yield ns, ns, raw


def _contents(stored_as: Collections, p: CollectionProfile, raw: bytes) -> dict[Any, bytes]:
    """The contents of the versions by their numbers; of one document without numbers, by None."""
    if p.layout == "hashed":
        own = ("_id", p.hash, p.token)
        return {None: bson.encode({name: value for name, value in bson.decode(raw).items() if name not in own})}
    return {entry.v: entry.content for entry in stored(stored_as, p, str(ID.python()))}


def _each(doc: Stored, p: CollectionProfile, do: Callable[[Stored], Stored]) -> Stored:
    """A document with what ``do`` makes of each version in it."""
    if p.layout not in ("embedded", "nested"):
        return do(doc)
    past = {p.prev: [do(part) for part in doc[p.prev]]} if p.prev in doc else {}
    return doc | {p.current: do(doc[p.current])} | past if p.layout == "embedded" else do(doc | past)


def _as_json(content: bytes) -> bytes:
    return json.dumps(bson.decode(content), sort_keys=True).encode()
