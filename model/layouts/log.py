"""``log``: rows that record changes or events of other documents; each names the document that it is about.

Stored: ``{_id, <id>: of the document, …}`` for each entry, in the order of ``at`` or of the rows' own ``_id``. An
entry counts as a version of the document that it names, starting with 1. Index: none is needed; one on the id helps.

The swap, step by step: there is none. Records are not changed, so edits, creations and deletes are refused.

Crash points: none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from model.checks.facts import FactReader
from model.checks.single_documents import SingleDocuments
from model.foundation.collection_profile import CollectionProfile
from model.layouts.base import Layout
from model.server.retry import Port
from model.storage.numbering import VersionPlace
from model.storage.read_only_writer import ReadOnlyWriter
from model.storage.reserved_fields import Own
from model.writers.log_reader import LogReader

if TYPE_CHECKING:
    from model.recognition.sampling import Proposal, Sample


class Log(Layout):
    """Entries about other documents."""

    name = "log"
    about = "a record of changes to other documents"
    where = "entries by time for the document in {id}"
    roles = ("id",)
    defaults: ClassVar[Mapping[str, str]] = {"id": "docId", "version": "", "token": "", "hash": ""}
    lacks = "no field with the ids of documents in another collection was found in it."
    about_others = True
    numbered = False
    read_only = "These are records of what happened to other documents, and records are not changed from here."

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        super().__init__(server, profile)
        self.reader = LogReader(server, profile)
        self.own = self.reader.own
        self.writer = ReadOnlyWriter(self.ns, self.read_only, self.reader.version)

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The likeliest field with the ids of other documents."""
        from model.recognition import find_logs

        return find_logs.picked(server, sample, others)

    @property
    def places(self) -> tuple[VersionPlace, ...]:
        """Empty: a history is read in its own order, page by page."""
        return ()

    @property
    def check(self) -> SingleDocuments:
        """Checks each entry by itself: whether it can be read."""
        return SingleDocuments(self.server, self.profile, FactReader(Own("_id"), self.profile, "_id"))
