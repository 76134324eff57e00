"""``patches``: the current version in one collection; in a second, the changes as another program records them.

Stored: the current document, and a row for each change: RFC 6902, deltas of jsondiffpatch, operations of json0, or
lists of fields (:mod:`model.patches`). Indexes: the program's.

Read: patches are applied from the first one upwards, or from the current document downwards, as the profile says.
Each is checked against the state to which it is applied; states beyond one that does not fit are unproven.

The swap, step by step: if a preset or profile states how the program writes a row, :class:`.RowWriter` writes
document and row in that way. Otherwise edits are refused: a change without a row would falsify every state computed
from the rows.

Crash points: those of the :class:`.RowWriter`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from model.checks.written_histories import WrittenHistories
from model.foundation.collection_profile import CollectionProfile
from model.layouts.base import Layout
from model.layouts.history_batches import together
from model.server.retry import Port
from model.storage.numbering import VersionPlace
from model.storage.read_only_writer import ReadOnlyWriter
from model.writers.row_writer import written_back
from model.writers.written_history import history_by_rows


class Patches(Layout):
    """Current documents whose changes another program records."""

    name = "patches"
    about = "what each change did, written down by another program"
    where = "what each change did, in {archive}"
    roles = ("id", "version", "archive", "archive_id")
    defaults: ClassVar[Mapping[str, str]] = {"archive": "{ns}_patches", "version": "", "token": "", "hash": ""}
    lacks = "its rows can be written in many ways."
    written_by_others = True
    further_keys = frozenset({"content", "elements", "kept", "patch", "changes", "direction", "notation"})
    read_only = (
        "The program that writes this history would not know of an edit from here, and its patches would not lead to "
        "it; edit with that program."
    )

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        super().__init__(server, profile)
        self.reader = self.written = history_by_rows(server, profile)
        self.own = self.written.current.own
        self.read_only, self.rows = written_back(server, self.written, self.read_only)
        self.writer = self.rows or ReadOnlyWriter(self.ns, self.read_only, self.reader.version)

    @property
    def places(self) -> tuple[VersionPlace, ...]:
        """The documents, and the rows about them."""
        return (*super().places, *self.written.rows.places)

    @property
    def check(self) -> WrittenHistories:
        """Checks each history: whether its patches apply, and lead to the document."""
        return WrittenHistories(self.profile, partial(together, self))
