"""Writes from here: looked for again, and undone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain

from model.errors import NotFound, Refused
from model.foundation.checkpoints import Checkpoint, no_checkpoint
from model.foundation.records import Outcome, Version
from model.repair.undoing import asked, hindered, is_repair, reason
from model.session.batch_writing import batches
from model.session.connection import Connection
from model.session.repairs import Repairs
from model.userdata.journal import Record
from model.writing.edit import Conflict


class WayBack:
    """Undoes writes in the journal, and looks again for those in doubt."""

    def __init__(self, connection: Connection) -> None:
        """Created by a session; ``connection`` holds what the parts share."""
        self._connection = connection
        self._trust, self._journal = connection.trust, connection.journal

    @property
    def _repairs(self) -> Repairs:
        return Repairs(self._connection.writer, self._trust.check_server, self._trust.is_production)

    def undo(self, entry: str, elsewhere: bool = False) -> Outcome:
        """Write the inverse of a journal entry, guarded by the state that the entry left; itself journalled.

        ``elsewhere``: the person says that this source is the entry's, although its address differs.
        """
        names: list[str] = []
        with suppress(NotFound):  # said below, unless nothing may be written at all
            names.append(self._journal.record(entry).entry.ns)
        self._trust.check_server(*names)
        if self._repairs.is_repair(entry):
            return self._repairs.undo_entry(entry, elsewhere)
        return self._connection.writer.undo(entry, elsewhere)

    def undo_run(self, run: str, checkpoint: Checkpoint = no_checkpoint, elsewhere: bool = False) -> Iterator[Outcome]:
        """Undo the writes of a run (repairs, copies, deletes or inserts), the last write first.

        Raises ``NotFound`` if the journal has none of them.
        """
        kinds = {is_repair(record) for record in self._journal.records("run", run)}
        saved = batches(self._connection).undo
        if kinds == {True}:
            return self._repairs.undo(run, checkpoint, elsewhere=elsewhere)
        if kinds == {True, False}:  # one document is either saved or stored, so the order between both is free
            stored = self._repairs.undo(run, checkpoint, elsewhere=elsewhere, damaged=False)
            return chain(stored, saved(run, checkpoint, elsewhere=elsewhere))
        return saved(run, checkpoint, elsewhere=elsewhere)

    def conflict(self, entry: str) -> Conflict:
        """The undo of an edit as a merge, for a document that has changed since."""
        if self._repairs.is_repair(entry):
            raise Refused("A repair is undone as a whole, or not at all; edit the document instead.")
        return self._connection.writer.undo_conflict(entry)

    def look_again(self, entry: str) -> Outcome:
        """Look again for the write of a journal entry that began and never ended."""
        if self._repairs.is_repair(entry):
            return self._repairs.look_again(entry)
        return self._connection.writer.look_again(entry)

    def settle(self, outcome: Outcome) -> Outcome:
        """Look again for a write with an unknown outcome: applied, conflict (it is not there), or still unknown."""
        if outcome.entry is None:
            raise Refused("This write has no entry in the journal, so it cannot be looked for.")
        return self.look_again(outcome.entry)

    def lacking(self, run: str) -> tuple[str, bool]:
        """Why writes of a run cannot be undone ("" if all can), and whether others can still be undone.

        The reason is that no journal has them, or that this server cannot guard their undo.
        """
        lost, there = self._journal.lost, []
        with suppress(Refused):
            there = list(self._journal.records("run", run))
        said = []
        if count := max(len(lost), self._journal.begun[run] - len(there)):
            why = (
                lost[0]
                if lost
                else f"The journal {self._journal.path} was moved away or started again in the meantime."
            )
            said.append(f"{count:,} {'write' if count == 1 else 'writes'} of this cannot be undone from here. {why}")
        undoable = [record for record in there if record.entry.undoable]
        reasons = self._hindrances(undoable)
        return " ".join(filter(None, (*said, hindered(reasons)))), len(undoable) > len(reasons)

    def not_undoable(self, run: str) -> str:
        """Which writes of a run cannot be undone, and how to undo the others; "" if all can be."""
        lacking, others = self.lacking(run)
        rest = f" What else was written is undone with palimpsest undo {run}." if others else ""
        return f"{lacking}{rest}" if lacking else ""

    def hindrance(self, entry: str, found: Version | None = None) -> str:
        """Why this server cannot undo a journal entry, one sentence; "" if it can.

        ``found`` is what the write left, if its answer brought it.
        """
        record = self._journal.record(entry)
        if found is None or found.raw is None:
            return "".join(map(reason, self._hindrances([record])))
        return "".join(map(reason, asked(partial(self._connection.writer.hindrance, found=found), [record])))

    def _hindrances(self, records: Sequence[Record]) -> list[str]:
        """Why this server cannot undo some writes, one sentence each; only for those it cannot."""
        stored = [record for record in records if is_repair(record)]
        saved = [record for record in records if not is_repair(record)]
        return self._repairs.hindrances(stored) + asked(self._connection.writer.hindrance, saved)
