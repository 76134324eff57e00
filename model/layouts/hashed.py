"""``hashed``: one document, whose version is the hash of its content.

Stored: the content and its hash, SHA-1 of the content's BSON (SHA-256 where that is what stands there), in one
document; no earlier versions. Index: the one on ``_id``. The profile may leave fields out of the hash.

The swap, one write: an update whose filter holds ``_id`` (the hash alone would confuse documents with equal content),
the old hash, the old token, which tells a content that has come back from one that never left, and every field that the
hash covers; it sets what changed, really unsets what was removed, and sets the new hash. Then the stored bytes are read
and hashed again. Where this server stored the fields in another order, the hash is set once more to that of the bytes
that are there, guarded by our own token.

Crash points: before the write nothing has happened; after it everything has. A writer that dies before the second hash
on a server that reorders leaves a hash that differs in field order only; the next edit sets it right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from model.errors import Refused
from model.layouts import update_operators
from model.layouts.base import Stamp
from model.layouts.checks.facts import FactReader
from model.layouts.checks.single_documents import SingleDocuments
from model.layouts.current import CurrentDocument
from model.layouts.gaps import outlined
from model.layouts.recognition import find_embedded
from model.layouts.recognition.key_candidates import is_version_name, version_fields
from model.layouts.recognition.sampling import Proposal, Sample
from model.layouts.reserved_fields import Own, content_hash
from model.names import version_name
from model.records import Outcome, Outline, Version
from model.server import guards
from model.server.guards import Abilities
from model.server.retry import Port, Terms, Write, run
from model.values import canonical as c
from model.values.canonical import Value
from model.values.leaves import addressable


class Hashed(CurrentDocument):
    """Documents that carry the hash of their content."""

    name = "hashed"
    about = "the version is a hash of the content"
    where = "the version is the hash in {hash}"
    roles = ("id", "hash", "token")
    lacks = "no field looks like a SHA-1 or SHA-256."
    numbered = False

    @classmethod
    def proposed(cls, server: Port, sample: Sample) -> Proposal | None:
        """A field with the hash of the rest; beside one that looks like a version it is less sure."""
        made = find_embedded.hashed(sample)
        if made is not None and any(map(is_version_name, version_fields(sample))):
            return replace(made, confidence=min(made.confidence, 0.6), alternatives=("versions",))
        return made

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The likeliest field with a hash."""
        return find_embedded.hashed(sample, wanted=True)

    @property
    def own(self) -> Own:
        """The hash is the version."""
        p = self.profile
        return Own(p.id, version=p.hash, token=p.token, hash=p.hash, at=p.at)

    def history(self, id: Value, contents: bool = False) -> Iterator[Version]:
        """The document as it is: its only version."""
        yield self._made(self._raw(id), contents)

    def outline(self, ids: Sequence[Value]) -> Iterator[Outline]:
        """One mark each; a hash can only be checked over the content, so that is read."""
        found: dict[Value, Version] = {}
        filter: Terms = {self.profile.id: {"$in": list(ids)}}
        for raw in self.server.find(self.ns, filter) if ids else ():
            id = c.get(raw, (self.profile.id,))
            if id is not None:
                found[id] = self._made(raw, contents=False)
        for id in ids:
            yield outlined(id, [found[id]] if id in found else [])

    @property
    def check(self) -> SingleDocuments:
        """Each document by itself: its hash, and who else has it."""
        return SingleDocuments(
            self.server, self.profile, FactReader(self.own, self.profile, self.profile.id), shared=True
        )

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> list[Write]:
        """The one guarded update."""
        values = self._own_values(base, content, stamp, v or self._next(id, base, content, stamp))
        return [self._swap_write(base, content, values, "the swap")]

    def explain(self, base: Version) -> str:
        """What the swap is guarded by."""
        token = f" and {self.profile.token}" if self.profile.token else ""
        return (
            f"The swap applies only if {self.profile.hash}{token} and the content are unchanged in this very document; "
            "the new hash is written with it."
        )

    def _next(self, id: Value, base: Version, content: bytes, stamp: Stamp) -> Value | None:
        stored = c.get(base.raw, (self.profile.hash,)) if base.raw else None
        return Value.of(content_hash(content, self.profile, stored))

    def _first(self, id: Value, content: bytes, stamp: Stamp) -> Value | None:
        return Value.of(content_hash(content, self.profile))

    def _guard(self, base: Version, beside: int = 0) -> dict[str, Any]:
        clauses = super()._guard(base)
        raw, profile = base.raw, self.profile
        assert raw is not None
        physical = guards.physical_id(raw)
        hashed = c.without(raw, [*self.own.names, *profile.hash_exclude])
        if profile.hash_include:
            hashed = c.only(hashed, profile.hash_include)
        able = self._abilities(physical) if guards.needs_expressions(hashed) else Abilities()
        if not able.fields and not all(addressable(name) for name, _ in c.fields(hashed)):
            hashed = raw  # only a comparison of the whole document reaches such names
        try:
            return guards.whole(hashed, able, beside=beside).filter | clauses
        except Refused:  # hash and token stand for the content
            return clauses

    def swap(self, id: Value, base: Version, content: bytes, stamp: Stamp | None = None) -> Outcome:
        """The swap, and the hash of what the server made of it."""
        stamp = stamp or Stamp()
        return self._settled(super().swap(id, base, content, stamp), id, content, stamp)

    def create(self, content: bytes, id: Value | None = None, stamp: Stamp | None = None) -> Outcome:
        """Insert the document under an id of its own: its content may well be there already, under another."""
        stamp = stamp or Stamp()
        outcome = super().create(content, id, stamp)
        return self._settled(outcome, outcome.id, content, stamp) if outcome.id is not None else outcome

    def _settled(self, outcome: Outcome, id: Value, content: bytes, stamp: Stamp) -> Outcome:
        if outcome.kind != "applied" or not self.profile.token:
            return outcome
        try:
            raw = self._raw(id)
            stored = c.get(raw, (self.profile.hash,))
            right = Value.of(content_hash(self.content(raw), self.profile, stored))
            # Anything but another order is someone else's change, whose hash is not ours to set.
            ours = self._bears(raw, stamp.token) and update_operators.reordered(
                self._signed(content, stamp), self.content(raw)
            )
            if not ours or stored == right:
                return outcome
            physical = guards.physical_id(raw)
            guard = guards.by_id(physical)
            for name in (self.profile.token, self.profile.hash):
                guard |= guards.exact(name, c.get(raw, (name,)))
            write = Write(self.ns, "update", guard, {"$set": {self.profile.hash: right}}, "the hash as stored")
            end = run(self.server, write, lambda: c.get(self._raw(id), (self.profile.hash,)) == right)
        except Refused as error:
            return replace(outcome, detail=f"{outcome.detail} What was stored could not be hashed again. {error}")
        if end.kind != "applied":
            return replace(outcome, detail=f"{outcome.detail} Its hash does not fit the order in which it was stored.")
        detail = (
            f"{outcome.detail} Its hash is that of the order in which this server stored it, {version_name(right)}."
        )
        return replace(outcome, version=right, detail=detail)
