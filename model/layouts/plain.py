"""``plain``: no versions are kept; documents are browsed, and edited by swap on the whole content.

Stored: one document each, nothing else. Index: the one on ``_id``.

The swap, one write: an update whose filter holds ``_id`` and every field that was read, by type and exactly; its
operators name only what changed, and set the write token. A change that operators cannot say replaces the document; the
filter then also fails where somebody added a field.

Crash points: before the write nothing has happened, after it everything has. A reply that is lost is settled by the
token; one that another edit has replaced since leaves the outcome unknown, as there is no history to look in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from model.collection_profile import CollectionProfile
from model.layouts.base import Stamp
from model.layouts.checks.facts import FactReader
from model.layouts.checks.single_documents import SingleDocuments
from model.layouts.current import CurrentDocument
from model.layouts.gaps import outlined
from model.layouts.recognition.metadata_fields import TOKEN, free
from model.layouts.recognition.sampling import Proposal, Sample
from model.layouts.reserved_fields import Own
from model.records import Outline, Version
from model.server import guards
from model.server.guards import Abilities
from model.server.retry import Port, Write
from model.values import canonical as c
from model.values.canonical import Value


class Plain(CurrentDocument):
    """Documents without versions."""

    name = "plain"
    about = "no versions recognised"
    roles = ("id", "token")
    numbered = False

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """Every collection can be read so."""
        token = free(TOKEN, sample.documents, c.OBJECT_ID)
        return Proposal(CollectionProfile(sample.ns, token=token), 1.0, "")

    @property
    def own(self) -> Own:
        """Only the token, and the time where the profile names it."""
        return Own(self.profile.id, token=self.profile.token, at=self.profile.at)

    def history(self, id: Value, contents: bool = False) -> Iterator[Version]:
        """The document as it is: its only version."""
        yield self._made(self._raw(id), contents)

    def outline(self, ids: Sequence[Value]) -> Iterator[Outline]:
        """One mark each, for documents that are there; contents are not read."""
        for id in ids:
            yield outlined(id, [Version(None, None, None, "document", "present", True, None, None)])

    @property
    def check(self) -> SingleDocuments:
        """Each document by itself: whether it can be read."""
        return SingleDocuments(self.server, self.profile, FactReader(self.own, self.profile, self.profile.id))

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> list[Write]:
        """The one guarded update."""
        values = self._own_values(base, content, stamp, None)
        return [self._swap_write(base, content, values, "the swap")]

    def explain(self, base: Version) -> str:
        """What the swap is guarded by."""
        said = "The swap applies only if every field is still exactly as it was read."
        if base.raw is not None and guards.needs_expressions(base.raw) and base.current:
            notes = self._whole(base, 0).notes
            if notes:
                said += f" This server cannot tell 1.0 from 1.00, or 0.0 from -0.0, in {', '.join(notes[:3])}."
        return said

    def _guard(self, base: Version, beside: int = 0) -> dict[str, Any]:
        return self._whole(base, beside).filter

    def _whole(self, base: Version, beside: int) -> guards.Guard:
        assert base.raw is not None
        physical = guards.physical_id(base.raw)
        able = self._abilities(physical) if guards.needs_expressions(base.raw) else Abilities()
        return guards.whole(base.raw, able, beside=beside)
