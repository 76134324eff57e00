"""``plain``: no versions; documents are browsed, and edited by a swap that compares the whole content.

Stored: one document each, nothing else. Index: the one on ``_id``.

The swap, one write: an update whose filter holds ``_id`` and every field that was read, by type and exactly; its
operators name only the changes. A change that operators cannot express replaces the document;
the filter then also fails where somebody added a field.

Crash points: before the write nothing has happened, after it everything has. A reply that is lost is settled by the
state that is there: where it is the one that was read, nothing was applied; where it has all that was set, that is in
the database; where it has nothing of it, it is not. Where it has some of it the outcome is unknown, as there is no
history to look in. Documents that carry a write token are settled by that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from model.checks.facts import FactReader
from model.checks.single_documents import SingleDocuments
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Version
from model.layouts.base import Layout
from model.server.retry import Port
from model.storage.current_documents import CurrentDocuments
from model.storage.current_writer import CurrentWriter, WholeGuard
from model.storage.reserved_fields import Own
from model.storage.swap_steps import Stamp, SwapSteps
from model.values.canonical import Value

if TYPE_CHECKING:
    from model.recognition.sampling import Proposal, Sample


class Plain(Layout):
    """Documents without versions."""

    name = "plain"
    about = "no versions recognised"
    roles = ("id", "token")
    unversioned = True
    newest_alone = True
    numbered = False

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        super().__init__(server, profile)
        self.own = Own(
            profile.id,
            token=profile.token,
            at=profile.at,
            author=profile.author,
            reason=profile.reason,
            others=profile.lock_names,
        )
        current = CurrentDocuments(server, profile, self.own, numbered=False)
        self._guard = WholeGuard(current)
        self.reader = current
        self.writer = self._writer = CurrentWriter(server, current, self._guard)

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """A proposal for any collection: each can be read like this."""
        from model.recognition.metadata_fields import usual_token
        from model.recognition.sampling import Proposal

        # A token that other layouts left is used on, so that a write in doubt can still be settled.
        return Proposal(CollectionProfile(sample.ns, token=usual_token(sample.documents)), 1.0, "")

    @property
    def check(self) -> SingleDocuments:
        """Checks each document by itself: whether it can be read."""
        return SingleDocuments(self.server, self.profile, FactReader(self.own, self.profile, self.profile.id))

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> SwapSteps:
        """A single guarded update."""
        raw, _ = self._check(base)
        return self._writer.swap(base, content, self._writer.own_values(raw, content, stamp, None))

    def guards_any(self, size: int) -> bool:
        """Whether this server is known to distinguish all values and to count fields, in one command."""
        return self._writer.guards_any(size)

    def explain(self, base: Version) -> str:
        """The guard of the swap."""
        said = "The swap applies only if every field is still exactly as it was read."
        if base.raw is not None and base.current:
            notes = self._guard.whole(base, 0).notes
            if notes:
                said += f" This server cannot tell 1.0 from 1.00, or 0.0 from -0.0, in {', '.join(notes[:3])}."
        return said

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """Only the newest version: there is no place for others."""
        return ((self.ns, self._writer.stored_alone(id, versions[-1])),)
