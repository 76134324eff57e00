"""``versions``: a document for every version; the one with the highest number is current.

Stored: ``{_id: <own>, docId, v, …}`` for each version. Index: a unique one on id and version, without which nothing
is written, because it gives each number to one writer.

The swap, step by step:

1. The newest version is read again; if it is not the base, or the base was changed in place, it is a conflict.
2. The new version is inserted with the next number; the write token is its ``_id`` and its token field.
3. A duplicate key means that another writer has that number. In doubt the token is searched; if it is missing, the
   insert is repeated. The index rejects the repetition if the first one has arrived, or the first if it arrives
   later.

Crash points: before the insert nothing has happened, after it everything has.

A delete inserts a tombstone in this way: a version that says so and has no content. A new document with that id
follows it with the next number. A purge removes the versions, the newest last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from model.checks.chains import Chains, Part
from model.checks.facts import FactReader
from model.checks.own_documents import own_documents
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Version
from model.layouts.base import Layout
from model.server.retry import Port
from model.storage import numbering
from model.storage.composite_ids import IN_ID
from model.storage.read_only_writer import ReadOnlyWriter
from model.storage.reserved_fields import own_of
from model.storage.swap_steps import Stamp, SwapSteps
from model.storage.version_documents import VersionDocuments, claim_of
from model.storage.version_writer import VersionWriter
from model.text.names import version_name
from model.values.canonical import Value

if TYPE_CHECKING:
    from model.recognition.sampling import Proposal, Sample


class Versions(Layout):
    """Documents with one stored document per version."""

    name = "versions"
    about = "a document for every version"
    roles = ("id", "version", "token")
    defaults: ClassVar[Mapping[str, str]] = {"id": "docId"}
    lacks = "no field with a whole number and one with an id were found in it."
    own_documents = True

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        super().__init__(server, profile)
        self.own = own_of(profile, claim_of(profile))
        self.reader = self._documents = VersionDocuments(server, profile, self.own)
        self.writer = self._writer = VersionWriter(server, self._documents, self._documents)
        if profile.key_in_id:
            self.read_only = IN_ID
            self.writer = ReadOnlyWriter(self.ns, IN_ID, self.reader.version)

    @classmethod
    def proposed(cls, server: Port, sample: Sample) -> Proposal | None:
        """Proposes documents that share an id and number their versions; perhaps as ``flagged`` or ``deltas``."""
        from model.recognition import find_version_documents

        return find_version_documents.own_documents(server, sample)

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The likeliest id and version."""
        from model.recognition import find_version_documents

        return find_version_documents.wanted(server, sample, find_version_documents.STATES)

    @property
    def check(self) -> Chains:
        """Checks the versions of each document, by id."""
        p = self.profile
        reader = FactReader(self.own, p, p.id, claim=self._documents.claim)
        return Chains(self.server, p, (Part(self.ns, reader),), own_documents)

    def first_between(self, id: Value, low: int, high: int) -> Version | None:
        """The lowest version numbered ``low`` or more, below ``high``."""
        return self._documents.first_between(id, low, high)

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> SwapSteps:
        """A single insert."""
        raw, _ = self._check(base)
        v = v or numbering.following(base.v, self.profile, stamp.at)
        return self._writer.insertion(raw, content, self._writer.own_values(stamp, v), v)

    def explain(self, base: Version) -> str:
        """The guard of the insert."""
        p = self.profile
        return (
            f"The new version is inserted beside {version_name(base.v)}. The unique index on {p.id} and {p.version} "
            "lets one writer have its number."
        )

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """A document for each version."""
        return self._writer.as_stored(id, versions)
