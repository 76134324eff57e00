"""``shadow``: the current version in one collection; snapshots in a second one, which the application writes itself.

Stored: as in ``stream``, but no feeder copies what is written: the application writes the document and its snapshot, so
the newest snapshot is the current state. Who wrote only one of the two would leave the application's history false.

The swap, step by step: there is none. Nothing writes both yet, so edits, creations and deletes are refused.

Crash points: none here. An application that died between its two writes leaves a snapshot above the document, or a
document without a snapshot; both are shown as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from model.collection_profile import CollectionProfile
from model.layouts.archive_reader import ArchiveReader
from model.layouts.base import Layout
from model.layouts.checks.facts import FactReader
from model.layouts.checks.single_documents import SingleDocuments
from model.layouts.current_documents import CurrentDocuments
from model.layouts.read_only_writer import ReadOnlyWriter
from model.layouts.recognition import find_archives
from model.layouts.recognition.sampling import Proposal, Sample
from model.layouts.reserved_fields import own_of
from model.layouts.stamp import Stamp
from model.layouts.swap_steps import SwapSteps
from model.records import Version
from model.server.retry import Port
from model.values.canonical import Value


class Shadow(Layout):
    """Current documents with snapshots that an application keeps of them."""

    name = "shadow"
    about = "snapshots of every version, which an application writes itself"
    where = "a snapshot of every version in {archive}"
    roles = ("id", "version", "archive", "archive_id")
    defaults: ClassVar[Mapping[str, str]] = {"archive": "{ns}_history", "token": "", "hash": ""}
    lacks = "no second collection with versions of its documents was found."
    holds_current = True
    read_only = (
        "An application writes these documents together with a snapshot of each, and an edit from here would leave the "
        "snapshots behind; edit with that application, or state another layout in a profile."
    )

    archive: ArchiveReader

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        super().__init__(server, profile)
        self.own = own_of(profile)
        current = CurrentDocuments(server, profile, self.own)
        self.reader = self.archive = ArchiveReader(current, self.holds_current, compared=False)
        self.writer = self._writer = ReadOnlyWriter(self.ns, self.read_only, current.version)

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The likeliest second collection."""
        return find_archives.picked(server, sample, others, cls.name)

    @property
    def check(self) -> SingleDocuments:
        """Each document by itself, whether it can be read: what its snapshots should be is the application's matter."""
        return SingleDocuments(self.server, self.profile, FactReader(self.own, self.profile, self.profile.id))

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> SwapSteps:
        """Refused."""
        self._writer.refuse()

    def explain(self, base: Version) -> str:
        """Why nothing is written."""
        return self.read_only

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """Refused."""
        self._writer.refuse()
