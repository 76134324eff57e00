"""``hashed``: one document, whose version is the hash of its content.

Stored: the content and its hash in one document; no earlier versions. Index: the one on ``_id``. The hash is made by
the recipe that the profile states, else by the one that the collection's own hashes prove; where these prove none, or
contradict what is stated, nothing is written. The profile may leave fields out of the hash.

The swap, one write: an update whose filter holds ``_id`` (the hash alone would confuse documents with equal content),
the old hash, the old token, which tells a content that has come back from one that never left, and every field that the
hash covers; it sets changed fields, unsets removed ones, and sets the new hash. Then the stored bytes are read
and hashed again. Where this server stored the fields in another order, the hash is set once more to that of the bytes
that are there, guarded by our own token.

Crash points: before the write nothing has happened; after it everything has. A writer that dies before the second hash
on a server that reorders leaves a hash that differs in field order only; the next edit sets it right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from model.collection_profile import CollectionProfile
from model.errors import Refused, Unreadable
from model.layouts import update_operators
from model.layouts.base import Layout
from model.layouts.checks.facts import FactReader
from model.layouts.checks.single_documents import SingleDocuments
from model.layouts.content_hashes import Sealed, content_hash, next_hash, settled
from model.layouts.current_documents import CurrentDocuments
from model.layouts.current_writer import CurrentWriter, HashGuard
from model.layouts.recognition import find_embedded
from model.layouts.recognition.key_candidates import is_version_name, version_fields
from model.layouts.recognition.sampling import Proposal, Sample
from model.layouts.reserved_fields import Own
from model.layouts.stamp import Stamp
from model.layouts.swap_steps import SwapSteps
from model.names import version_name
from model.records import Outcome, Version
from model.server import guards
from model.server.retry import Port, Write, run
from model.values import canonical as c
from model.values.canonical import Value

SEALED, SEALED_BYTES = 12, 1 << 20  # documents, and bytes of them, that are asked for their recipe at either end


class Hashed(Layout):
    """Documents that carry the hash of their content."""

    name = "hashed"
    about = "the version is a hash of the content"
    where = "the version is the hash in {hash}"
    roles = ("id", "hash", "token")
    lacks = "no field looks like a hash."
    numbered = False

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        super().__init__(server, profile)
        p = profile
        self.own = Own(p.id, version=p.hash, token=p.token, hash=p.hash, at=p.at)  # the hash is the version
        self.reader = self._current = CurrentDocuments(server, profile, self.own, numbered=False)
        self.writer = self._writer = CurrentWriter(server, self._current, HashGuard(self._current))
        self._proven: CollectionProfile | None = None

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
    def check(self) -> SingleDocuments:
        """Each document by itself: its hash, and who else has it."""
        return SingleDocuments(
            self.server, self.profile, FactReader(self.own, self.profile, self.profile.id), shared=True
        )

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> SwapSteps:
        """The one guarded update."""
        raw, _ = self._check(base)
        values = self._writer.own_values(raw, content, stamp, v or self._number(id, base, content, stamp))
        return self._writer.swap(base, content, values)

    def explain(self, base: Version) -> str:
        """The guard of the swap."""
        token = f" and {self.profile.token}" if self.profile.token else ""
        return (
            f"The swap applies only if {self.profile.hash}{token} and the content are unchanged in this very document; "
            "the new hash is written with it."
        )

    # --- the recipe of the hash

    @property
    def sealing(self) -> CollectionProfile:
        """The profile with the recipe that the collection's hashes prove, or with the doubt that forbids to write.

        Asked of the data once they settle it, and again as long as they do not. Raises ``Refused``.
        """
        if self._proven is None:
            seals = self.seals()
            made = settled(self.profile, seals)
            if not seals or made.hash_doubt:
                return made
            self._proven = made
        return self._proven

    def seals(self) -> list[Sealed]:
        """Some contents with their hashes, of the first and the last documents by ``_id``."""
        found: dict[bytes, Sealed] = {}
        for way in (1, -1):
            left = SEALED_BYTES
            for raw in self.server.find(self.ns, sort={"_id": way}, limit=SEALED):
                left -= len(raw)
                try:
                    stored, id = c.get(raw, (self.profile.hash,)), c.get(raw, ("_id",))
                    if stored is not None and left > 0:
                        found.setdefault(raw, Sealed(self.own.content(raw), stored, id))
                except Unreadable:
                    continue
        return list(found.values())

    @property
    def standing(self) -> str:
        """Why nothing is written here, where the hashes contradict what is stated or prove no recipe."""
        return "" if self.profile.hash_doubt else self.sealing.hash_doubt

    def _doubt(self, version: Version) -> str:
        """Why no hash can take the place of this version's."""
        try:
            self._next(version, version.content or c.EMPTY)
        except Refused as error:
            return str(error)
        return ""

    def _next(self, base: Version, content: bytes) -> Value:
        raw = base.raw or c.EMPTY
        stored, physical = c.get(raw, (self.profile.hash,)), c.get(raw, ("_id",))
        return next_hash(content, self.sealing, base.content or c.EMPTY, stored, physical)

    def _number(self, id: Value, base: Version, content: bytes, stamp: Stamp) -> Value | None:
        """The new content's hash."""
        return self._next(base, content)

    def _first_number(self, id: Value, content: bytes, stamp: Stamp) -> Value | None:
        """The content's hash; the document gets an id of its own, as its content may well be there under another."""
        return content_hash(content, self.sealing, id=self._writer.new_ids(id, stamp)[0][1])

    def _swapped(self, outcome: Outcome, content: bytes, stamp: Stamp) -> Outcome:
        return self._rehashed(outcome, content, stamp)

    def _created(self, outcome: Outcome, content: bytes, stamp: Stamp) -> Outcome:
        return self._rehashed(outcome, content, stamp)

    def _rehashed(self, outcome: Outcome, content: bytes, stamp: Stamp) -> Outcome:
        """The outcome, once the hash is set to that of the order in which the server stored the content."""
        id = outcome.id
        if outcome.kind != "applied" or not self.profile.token or id is None:
            return outcome
        try:
            raw = self._current.raw(id)
            stored = c.get(raw, (self.profile.hash,))
            physical = guards.physical_id(raw)
            right = content_hash(self.content(raw), self.sealing, stored, physical)
            # Any other difference is someone else's change, whose hash is not ours to set.
            ours = self._current.bears(raw, stamp.token) and update_operators.reordered(content, self.content(raw))
            if not ours or stored == right:
                return outcome
            guard = guards.by_id(physical)
            for name in (self.profile.token, self.profile.hash):
                guard |= guards.exact(name, c.get(raw, (name,)))
            write = Write(self.ns, "update", guard, {"$set": {self.profile.hash: right}}, "the hash as stored")
            end = run(self.server, write, lambda: c.get(self._current.raw(id), (self.profile.hash,)) == right)
        except Refused as error:
            return replace(outcome, detail=f"{outcome.detail} What was stored could not be hashed again. {error}")
        if end.kind != "applied":
            return replace(outcome, detail=f"{outcome.detail} Its hash does not fit the order in which it was stored.")
        detail = (
            f"{outcome.detail} Its hash is that of the order in which this server stored it, {version_name(right)}."
        )
        return replace(outcome, version=right, detail=detail)

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """The newest version alone: there is no place for others."""
        return ((self.ns, self._writer.stored_alone(id, versions[-1])),)
