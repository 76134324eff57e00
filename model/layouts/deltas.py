"""``deltas``: a document for every version, which holds only the changes of that version.

Stored: ``{_id: <own>, docId, v, …changed fields whole…}``; the first version is the base. Later fields replace
earlier ones in place, new ones are appended, null is a value. A removal can be stored only if the profile names a
field for removed paths. Index: a unique one on id and version, without which nothing is written.

The swap, step by step:

1. The versions are read and folded again; if the newest version or its state is not the base's, it is a conflict.
2. The delta is computed, and folded to prove that it gives the new content byte for byte. If none does (a field is
   removed or moved, and there is no field for removed paths), the edit is refused.
3. The delta is inserted with the next number, and with the write token as its ``_id``; the unique index decides.

Crash points: before the insert nothing has happened, after it everything has. After a gap, or without a base, every
state is unproven: it is shown and marked as such, unless its hash proves it, or a profile says that versions after
missing numbers are whole (``after_gap``) and the state before the gap does not contradict. Such a checkpoint is a
stored version with its whole state in place of its changes: whoever folds finds the same states, with the older
versions and without them. A delete inserts a tombstone, which ends the state: the version after it is a base again.
A purge starts with the newest version, so that the others can still be folded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from model.checks.chains import Chains, Part
from model.checks.facts import FactReader
from model.checks.own_documents import own_documents
from model.errors import NotFound, Refused
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Contents, Version
from model.layouts.base import Layout
from model.server.retry import Port
from model.storage import numbering, stored_form
from model.storage.content_hashes import next_hash
from model.storage.delta_folding import Delta, delta_between
from model.storage.delta_states import STATE_WHOLE, DeltaStates
from model.storage.gaps import are_times
from model.storage.reserved_fields import compose, number_of, own_of, says_deleted
from model.storage.swap_steps import Stamp, SwapSteps
from model.storage.version_documents import VersionDocuments, claim_of
from model.storage.version_writer import VersionWriter
from model.text.names import version_name
from model.values import canonical as c
from model.values.canonical import Path, Value

if TYPE_CHECKING:
    from model.recognition.sampling import Proposal, Sample


class Deltas(Layout):
    """Documents whose versions hold changes."""

    name = "deltas"
    about = "each version holds only what changed"
    roles = ("id", "version", "token", "removed")
    defaults: ClassVar[Mapping[str, str]] = {"id": "docId"}
    lacks = "no field with a whole number and one with an id were found in it."
    further_keys = frozenset({"after_gap"})
    holds_changes = True
    own_documents = True

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        super().__init__(server, profile)
        self.own = own_of(profile, profile.removed, claim_of(profile))
        documents = VersionDocuments(server, profile, self.own, stored="delta")
        self.reader = self._states = DeltaStates(documents)
        self.writer = self._writer = VersionWriter(server, documents, self._states, newest_first=True)

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The likeliest id and version."""
        from model.recognition import find_version_documents

        return find_version_documents.wanted(server, sample, find_version_documents.CHANGES)

    def seen(self, id: Value, v: Value | None = None) -> Version:
        """A version to look at, from a kept state near it if there is one."""
        return self.version(id, v) if self.kept_states is None else self._states.seen(id, v, self.kept_states)

    def seen_history(self, id: Value, contents: Contents = False, early: bool = False) -> Iterator[Version]:
        """The versions to look at; ``early``, the newest from a kept state if there is one."""
        kept = self.kept_states
        return self.history(id, contents) if kept is None else self._states.seen_history(id, contents, kept, early)

    def content(self, raw: bytes) -> bytes:
        """The state of a stored version."""
        id, v = c.get(raw, (self.profile.id,)), c.get(raw, (self.profile.version,))
        found = self.version(id, v).content if id is not None and v is not None else None
        return found if found is not None else self.own.content(raw)

    def document(self, raw: bytes) -> bytes:
        """The layout's own fields of a stored version, and its state."""
        removed = self.profile.removed
        return compose(raw, self.own.names, self.content(raw), {removed: None} if removed else {})

    def comparable(self, ns: str, raw: bytes) -> bytes:
        """The changes in a stored version, regardless of its state."""
        return c.without(raw, [name for name in ("_id", self.profile.token) if name])

    def hashed_parts(self, ns: str, raw: bytes, id: Value | None) -> list[tuple[Path, bytes]]:
        """The hash of a stored version, which covers its state; empty if the state is unknown."""
        v = c.get(raw, (self.profile.version,))
        content = self.version(id, v).content if id is not None else None
        return [] if content is None else [((self.profile.hash,), content)]

    @property
    def check(self) -> Chains:
        """Checks the deltas of each document, by id, and their hashes against the states."""
        p = self.profile
        # The hash covers the state, which one stored version does not hold: it is checked below, from the folded
        # history.
        reader = FactReader(self.own, replace(p, hash=""), p.id, claim=self._states.documents.claim, beside=p.removed)
        # Where a version after missing ones is whole, those missing prove nothing: they are a gap as in other layouts.
        gap = "V2" if p.after_gap else "D1"
        return Chains(self.server, p, (Part(self.ns, reader),), own_documents, gap, beyond=self._wrong_hashes)

    def _wrong_hashes(self, id: Value) -> dict[Value, str]:
        try:
            wrong = [each for each in self.history(id) if each.detail.startswith("hash")]
        except NotFound:  # deleted during the check
            return {}
        return {each.v: each.detail for each in wrong if each.v is not None}

    # --- writing

    def checkpoint(self, versions: Sequence[Version], kept: int) -> bytes:
        """The stored version with its whole state."""
        return self._states.checkpoint(versions, kept)

    def needs_for_checkpoint(self) -> str:
        """What shows that the first version left is whole: a statement, its number if that is a time, or a hash."""
        p = self.profile
        raw = next(iter(self.server.find(self.ns, limit=1)), None)
        v = c.get(raw, (p.version,)) if raw is not None else None
        number = number_of(v)
        told = p.after_gap or raw is None or (v is not None and number is None) or are_times(0, number or 0)
        return "" if told or (p.hash and raw is not None and c.get(raw, (p.hash,)) is not None) else STATE_WHOLE

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> SwapSteps:
        """A single insert of the changes."""
        raw, old = self._check(base)
        p = self.profile
        v = v or numbering.following(base.v, p, stamp.at)
        delta = delta_between(old, content, bool(p.removed))
        # A removed path with a dot in it could be one field or a field inside another; readers disagree on which.
        if delta is None or any("." in name for name in delta.removed):
            raise Refused(_inexpressible(old, content, p.removed))
        self._refuse_marker(base.deleted, delta)
        values = self._writer.own_values(stamp, v)
        if p.removed:
            values[p.removed] = c.array(Value.of(name) for name in delta.removed) if delta.removed else None
        if p.hash and (sealed := c.get(raw, (p.hash,))) is not None:
            values[p.hash] = next_hash(content, p, old, sealed)
        new = compose(raw, self.own.names, c.document(delta.fields), values)
        return self._writer.inserted(new, f"{version_name(v)} is inserted, with what changed")

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """The first version completely, then the changes of each further one."""
        p, before, ended = self.profile, c.EMPTY, False
        rows = []
        for version, v in zip(versions, stored_form.numbers(versions), strict=True):
            if version.deleted and p.deleted:
                pairs = [("_id", stored_form.key(id, version, v)), (p.id, id), *stored_form.stamps(p, id, version, v)]
                rows.append((self.ns, stored_form.made(pairs, self._writer.content_as_stored(version))))
                # A tombstone ends the state, so the next version is complete again.
                before, ended = c.EMPTY, True
                continue
            content = stored_form.content_of(version, self.own.names)
            delta = delta_between(before, content, bool(p.removed))
            if delta is None or any("." in name for name in delta.removed):
                raise Refused(f"{version_name(v)}: {_inexpressible(before, content, p.removed)}")
            self._refuse_marker(ended, delta)
            pairs = [("_id", stored_form.key(id, version, v)), (p.id, id), *stored_form.stamps(p, id, version, v)]
            if delta.removed:
                pairs.append((p.removed, c.array(Value.of(name) for name in delta.removed)))
            rows.append((self.ns, stored_form.made(pairs, c.document(delta.fields))))
            before, ended = content, False
        return tuple(rows)

    def _refuse_marker(self, ended: bool, delta: Delta) -> None:
        """Raise ``Refused`` for changes that would be read as a tombstone, or as revoking the previous one."""
        name = self.profile.deleted
        names = [each for each, _ in delta.fields]
        if name in names if ended else not delta.removed and says_deleted(c.document(delta.fields), self.profile):
            how = "behind a tombstone" if ended else "all by itself"
            raise Refused(
                f"A delta with {name} {how} would say whether the document is deleted; name the marker otherwise in a "
                "profile (deleted), or leave the field as it is."
            )

    def explain(self, base: Version) -> str:
        """What is inserted, and its guard."""
        p = self.profile
        return (
            f"Only what differs from {version_name(base.v)} is inserted. The unique index on {p.id} and {p.version} "
            "lets one writer have the next number."
        )


def _inexpressible(old: bytes, new: bytes, removed: str) -> str:
    names = {name for name, _ in c.fields(new)}
    gone = [name for name, _ in c.fields(old) if name not in names]
    if gone and not removed:
        return (
            f"A delta cannot say that {gone[0]} is removed, as this collection has no field for removed paths; name "
            "one in a profile (removed), or set the field to null."
        )
    if gone:
        return f"The list of removed paths cannot name {gone[0]!r} without ambiguity; nothing was written."
    return "A delta cannot say that fields have moved: later versions only replace in place or add at the end."
