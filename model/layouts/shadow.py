"""``shadow``: the current version in one collection; snapshots in a second one, which the application writes itself.

Stored: the current document, and a row for each version, with the state at its root or in a field. Rows exist for all
versions, or for all but the current one. No feed copies what is written: the application writes both, so a writer of
only one of them would falsify the history. Indexes: the application's.

The swap, step by step: if a preset or profile states how the application writes a row, :class:`.RowWriter` writes
document and row in that way. Otherwise edits are refused; creations and deletes are left to the application.

Crash points: those of the :class:`.RowWriter`. An application that died between its two writes leaves a snapshot
above the document, or a document without a snapshot; both are shown as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from model.checks.written_histories import WrittenHistories
from model.foundation.collection_profile import CollectionProfile
from model.layouts.base import Layout
from model.layouts.history_batches import together
from model.server.retry import Port
from model.storage.numbering import VersionPlace
from model.storage.read_only_writer import ReadOnlyWriter
from model.writers.row_writer import written_back
from model.writers.written_history import history_by_rows

if TYPE_CHECKING:
    from model.recognition.sampling import Proposal, Sample


class Shadow(Layout):
    """Current documents, with snapshots that an application keeps."""

    name = "shadow"
    about = "snapshots of every version, which an application writes itself"
    where = "a snapshot of every version in {archive}"
    roles = ("id", "version", "archive", "archive_id")
    defaults: ClassVar[Mapping[str, str]] = {"archive": "{ns}_history", "token": "", "hash": ""}
    lacks = "no second collection with versions of its documents was found."
    holds_current = True
    written_by_others = True
    further_keys = frozenset({"content", "kept", "elements", "parts", "notation", "current_where", "holder"})
    read_only = (
        "An application writes these documents together with a snapshot of each, and an edit from here would leave the "
        "snapshots behind; edit with that application, or state another layout in a profile."
    )

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        super().__init__(server, profile)
        self.reader = self.written = history_by_rows(server, profile)
        self.own = self.written.current.own
        self.read_only, self.rows = written_back(server, self.written, self.read_only)
        self.writer = self.rows or ReadOnlyWriter(self.ns, self.read_only, self.reader.version)

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The likeliest second collection."""
        from model.recognition import find_archives

        return find_archives.picked(server, sample, others, find_archives.SNAPSHOTS)

    @property
    def places(self) -> tuple[VersionPlace, ...]:
        """The documents, and the rows about them."""
        return (*super().places, *self.written.rows.places)

    @property
    def check(self) -> WrittenHistories:
        """Checks each history: whether rows are missing, and whether the newest row equals the document."""
        return WrittenHistories(self.profile, partial(together, self))
