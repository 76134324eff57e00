"""``hashed``: one document, whose version is the hash of its content.

Stored: the content and its hash in one document; no earlier versions. Index: the one on ``_id``. The recipe of the
hash is stated in the profile, or proven by the collection's own hashes. If these prove none, or contradict the
profile, nothing is written. The profile may exclude fields from the hash.

The swap, one write: an update whose filter holds ``_id`` (the hash alone would confuse documents with equal content),
the old hash, the old token, and every field that the hash covers; it sets changed fields, unsets removed ones, and
sets the new hash. Then the stored bytes are read and hashed again. If this server stored the fields in another order,
the hash is set once more, to that of the stored bytes, guarded by all of them.

Programs that hash all fields would treat a token as content, so there is a token only if the profile names one, or if
documents have one that their hash excludes. Without it, nobody can distinguish a content that was changed and
restored from one that never changed: a swap in doubt is not repeated, and counts as applied if the intended content
and hash are stored.

Crash points: before the write nothing has happened; after it everything has. A writer that dies before the second
hash, on a server that reorders, leaves a hash that differs only in field order; the next edit corrects it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from model.checks.facts import FactReader
from model.checks.single_documents import SingleDocuments
from model.errors import NotFound, Refused, Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Outcome, Version
from model.layouts.base import Layout
from model.server import guards
from model.server.retry import Port, Write, run
from model.storage import update_operators
from model.storage.content_hashes import Sealed, content_hash, fits, hashed_part, hashes_any, recipe_after, settled
from model.storage.current_documents import CurrentDocuments
from model.storage.current_writer import CurrentWriter, HashGuard
from model.storage.reserved_fields import own_of
from model.storage.swap_steps import Made, Stamp, SwapSteps
from model.text.names import version_name
from model.values import canonical as c
from model.values.canonical import Value

if TYPE_CHECKING:
    from model.recognition.sampling import Proposal, Sample

SEALED, SEALED_BYTES = 12, 1 << 20  # documents, and their bytes, that are read at either end to prove the recipe


class HashWriter(CurrentWriter):
    """The writes of documents with a hash. Without a token, a write in doubt is found by its content and hash."""

    def asks(
        self, id: Value, stamp: Stamp, made: Made, base: Version | None = None
    ) -> Callable[[], bool | None] | None:
        """The question of a write in doubt: whether the document has the content and hash that the write produces.

        False if it is as it was read, or missing; None if somebody may have edited after us.
        """
        if self._profile.token:
            return super().asks(id, stamp, made, base)

        def there() -> bool | None:
            try:
                raw = self.current.raw(id)
            except NotFound:
                return False if base is None else None
            if self.is_made(raw, made()):
                return True
            # Byte for byte: anything else may be an edit that followed ours, and then nobody can tell.
            return False if base is not None and raw == base.raw else None

        return there

    def is_made(self, raw: bytes, makes: bytes) -> bool:
        """Whether a stored document has the content and hash of ``makes``, in any order of fields."""
        name, content = (self._profile.hash,), self.current.content
        parts = [hashed_part(content(each), self._profile) for each in (raw, makes)]
        return c.get(raw, name) == c.get(makes, name) and (parts[0] == parts[1] or update_operators.reordered(*parts))


class Hashed(Layout):
    """Documents with the hash of their content."""

    name = "hashed"
    about = "the version is a hash of the content"
    where = "the version is the hash in {hash}"
    roles = ("id", "hash", "token")
    defaults: ClassVar[Mapping[str, str]] = {"token": ""}  # to other programs it would be content that they hash
    lacks = "no field looks like a hash."
    newest_alone = True
    numbered = False

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        super().__init__(server, profile)
        p = profile
        # The hash is the version.
        self.own = own_of(p, version=p.hash)
        self.reader = self._current = CurrentDocuments(server, profile, self.own, numbered=False)
        self._guard = HashGuard(self._current)
        self.writer = self._writer = HashWriter(server, self._current, self._guard)
        self._judged: tuple[Version, tuple[CollectionProfile, Value | None, Value | None]] | None = None

    @classmethod
    def proposed(cls, server: Port, sample: Sample) -> Proposal | None:
        """Proposes a field with the hash of the rest; less certain if another field looks like a version."""
        from model.recognition import find_embedded
        from model.recognition.field_names import is_version_name
        from model.recognition.key_candidates import version_fields

        made = find_embedded.hashed(sample)
        if made is not None and any(map(is_version_name, version_fields(sample))):
            return replace(made, confidence=min(made.confidence, 0.6), alternatives=("versions",))
        return made

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The likeliest field with a hash."""
        from model.recognition import find_embedded

        return find_embedded.hashed(sample, wanted=True)

    @property
    def check(self) -> SingleDocuments:
        """Checks each document by itself: its hash, and whether others share it."""
        return SingleDocuments(
            self.server, self.profile, FactReader(self.own, self.profile, self.profile.id), shared=True
        )

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> SwapSteps:
        """A single guarded update."""
        raw, _ = self._check(base)
        values = self._writer.own_values(raw, content, stamp, v or self._number(id, base, content, stamp))
        steps = self._writer.swap(base, content, values)
        # Without a token, the filter also fits a document that was changed and changed back, so a second try could undo
        # that.
        return steps if self.profile.token else replace(steps, repeatable=False)

    def guards_any(self, size: int) -> bool:
        """Whether this server is known to distinguish all values and to count fields, in one command."""
        return self._writer.guards_any(size)

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
        """The profile with the recipe that the collection's hashes prove, or with the doubt that forbids writing.

        The data are read until they settle it, then never again. Raises ``Refused``.
        """
        return self.proven or self._settled(self.seals())

    def _settled(self, seals: Sequence[Sealed]) -> CollectionProfile:
        made = settled(self.profile, seals)
        # Only a proof is remembered: a doubt may be gone after the next edit by the program that writes the hashes.
        if seals and not made.hash_doubt:
            self.proven = made
        return made

    def seals(self) -> list[Sealed]:
        """Some contents with their hashes, from the first and the last documents by ``_id``."""
        found: dict[bytes, Sealed] = {}
        # From both ends: a program that changed its recipe has old hashes at one of them.
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

    def sealed(self, id: Value | None, here: list[Sealed]) -> list[Sealed]:
        """The hashes of the first and the last documents: a document has no other version for comparison."""
        return self.seals()

    @property
    def standing(self) -> str:
        """Why nothing is written here, if the hashes contradict the profile or prove no recipe."""
        return "" if self.profile.hash_doubt else self.sealing.hash_doubt

    def _doubt(self, version: Version) -> str:
        """Why no hash can replace this version's; "" if one can."""
        try:
            profile, stored, physical = self._recipe_after(version)
            if not hashes_any(profile, stored):
                content_hash(version.content or c.EMPTY, profile, stored, physical)
        except Refused as error:
            return str(error)
        return ""

    def _next(self, base: Version, content: bytes) -> Value:
        profile, stored, physical = self._recipe_after(base)
        return content_hash(content, profile, stored, physical)

    def _recipe_after(self, base: Version) -> tuple[CollectionProfile, Value | None, Value | None]:
        """The profile with the recipe for the hash after a version's, the version's hash, and the document's ``_id``.

        The result is kept for this version object until it is written, because proving a recipe hashes the whole
        content.
        """
        if self._judged is not None and self._judged[0] is base:
            return self._judged[1]
        raw, old = base.raw or c.EMPTY, base.content or c.EMPTY
        stored, physical = c.get(raw, (self.profile.hash,)), c.get(raw, ("_id",))
        own = [Sealed(old, stored, physical)] if stored is not None else []
        if self.proven_before is not None and own and fits(own[0], self.proven_before):
            self.proven = self.proven or self.proven_before
        profile = self.proven
        if profile is None:  # judged as read: if it has changed since, the swap detects that
            # The document itself counts as it was read, not as it is now: the new hash has to follow the one that is
            # replaced.
            profile = self._settled([*(seal for seal in self.seals() if seal.id != physical), *own])
        found = recipe_after(profile, old, stored, physical), stored, physical
        if self.proven is not None:
            self._judged = base, found
        return found

    def _number(self, id: Value, base: Version, content: bytes, stamp: Stamp) -> Value | None:
        """The new content's hash."""
        return self._next(base, content)

    def _first_number(self, id: Value, content: bytes, stamp: Stamp) -> Value | None:
        """The content's hash; the document gets a new id, because another document may have this content."""
        return content_hash(content, self.sealing, id=self._writer.new_ids(id, stamp)[0][1])

    def _swapped(self, outcome: Outcome, content: bytes, stamp: Stamp) -> Outcome:
        return self._rehashed(outcome, content, stamp)

    def _created(self, outcome: Outcome, content: bytes, stamp: Stamp) -> Outcome:
        return self._rehashed(outcome, content, stamp)

    def _rehashed(self, outcome: Outcome, content: bytes, stamp: Stamp) -> Outcome:
        """The outcome, after the hash is corrected for the order in which the server stored the fields."""
        id, found = outcome.id, outcome.found
        if outcome.kind != "applied" or id is None or (found is not None and found.content == content):
            return outcome
        try:
            raw = found.raw if found is not None else None
            raw = raw if raw is not None else self._current.raw(id)
            stored = c.get(raw, (self.profile.hash,))
            ours = self._current.bears(raw, stamp.token) if self.profile.token else stored == outcome.version
            # Any other difference is somebody else's change, whose hash we must not set.
            if not ours or not update_operators.reordered(content, self.content(raw)):
                return outcome
            physical = guards.physical_id(raw)
            right = content_hash(self.content(raw), self.sealing, stored, physical)
            if stored == right:
                return outcome
            guard = guards.by_id(physical) | self._guard.clauses(self._current.made(raw))
            body = {"$set": {self.profile.hash: right, **self.foreign.moved(raw)}}
            write = Write(self.ns, "update", guard, body, "the hash as stored")
            end = run(self.server, write, lambda: c.get(self._current.raw(id), (self.profile.hash,)) == right)
        except Refused as error:
            return replace(outcome, detail=f"{outcome.detail} What was stored could not be hashed again. {error}")
        if end.kind != "applied":
            return replace(outcome, detail=f"{outcome.detail} Its hash does not fit the order in which it was stored.")
        detail = (
            f"{outcome.detail} Its hash is that of the order in which this server stored it, {version_name(right)}."
        )
        # What was found has the hash that is replaced now.
        return replace(outcome, version=right, detail=detail, found=None)

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """Only the newest version: there is no place for others."""
        return ((self.ns, self._writer.stored_alone(id, versions[-1])),)
