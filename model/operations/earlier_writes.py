"""What earlier runs of one plan have saved, as the journal knows it, so that nothing is saved twice."""

from __future__ import annotations

from msgspec.structs import replace

from model.foundation.records import Outcome
from model.values.canonical import Value
from model.writing.writer import Writer


def earlier_writes(writer: Writer, run: str, action: str) -> dict[Value, Outcome]:
    """The writes of earlier runs of a plan, settled as far as possible: those applied, and those in doubt."""
    found: dict[Value, Outcome] = {}
    # The newest first: a write that was sent again looks like the one before it, and only one of them is there.
    for record in reversed(list(writer.journal.records("run", run))):
        entry = record.entry
        if record.document is None or entry.action != action or entry.undone_by is not None:
            continue
        kind = "unknown" if entry.kind == "begun" else entry.kind
        ended = Outcome(kind, entry.ns, record.document, entry.detail, entry=entry.id)
        newer = found.get(record.document)
        if kind == "unknown":
            if newer is not None and newer.kind == "applied":
                supersede(writer, ended, newer)
                continue
            ended = writer.look_again(entry.id)
        if newer is None and ended.kind in ("applied", "unknown"):
            found[record.document] = ended
    return found


def supersede(writer: Writer, earlier: Outcome, newer: Outcome) -> None:
    """Journal that a write in doubt is not there: both began at one state, and the newer one was applied."""
    if earlier.entry is not None:
        said = f"It was sent again by entry {newer.entry}."
        writer.end(earlier.entry, replace(earlier, kind="conflict", detail=said))
