"""What commands that write to many documents print: a row for each outcome, a line on all, and the exit status."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence

from model.commands.output import Progress, json_row, table
from model.commands.standard_streams import say
from model.foundation.records import Outcome
from model.session import Session
from model.text.names import id_name
from model.values.canonical import Value

DONE = "so already"
"""The kind of an outcome that was skipped since nothing is left to do."""


def exit_status(kinds: Sequence[str]) -> int:
    """3 if an outcome is unknown, 1 if any other one is neither "applied" nor ``DONE``, else 0."""
    if "unknown" in kinds:
        return 3
    return 1 if any(kind not in ("applied", DONE) for kind in kinds) else 0


def outcome_table(rows: Iterable[tuple[str, Value | None, str]], progress: Progress | None = None) -> None:
    """Print rows of a word for the outcome, the document's id if there is one, and details."""
    named = ((word, id_name(id) if id is not None else "", detail) for word, id, detail in rows)
    table(("Outcome", "Document", "Detail"), named, progress=progress)


def word_of(kind: str, planned: bool = True) -> str:
    """The word for an outcome; what is only planned ``would`` be applied."""
    return "would" if planned and kind == "applied" else kind


def planned_row(kind: str, detail: str) -> dict[str, str]:
    """Outcome and detail, as keys of a JSON row, of what is only planned: nothing is applied yet."""
    if kind == "applied":
        return {"outcome": "skipped", "detail": f"Would be written: {detail}"}
    return {"outcome": kind, "detail": detail}


def print_outcomes(
    outcomes: Iterable[Outcome], as_json: bool, progress: Progress, planned: bool = False, **more: object
) -> list[str]:
    """Print each outcome as it arrives; returns their kinds, or ``DONE``. ``more`` are further keys of a JSON row."""
    kinds: list[str] = []

    def noted() -> Iterator[Outcome]:
        for each in outcomes:
            kinds.append(DONE if each.done else each.kind)
            yield each

    if as_json:
        for each in noted():
            progress.make_way()
            told = planned_row(each.kind, each.detail) if planned else {"outcome": each.kind, "detail": each.detail}
            row = {"outcome": told["outcome"], "ns": each.ns, "id": each.id, "detail": told["detail"]}
            say(json_row(**row | more), flush=True)
    else:
        outcome_table(((word_of(each.kind, planned), each.id, each.detail) for each in noted()), progress)
    return kinds


def say_if_done(kinds: Sequence[str]) -> None:
    """Say on standard error that everything was done before, if it was."""
    if set(kinds) <= {DONE}:
        say("Nothing is left to do; nothing was written.", file=sys.stderr)


def counted(kinds: Sequence[str]) -> str:
    """``12 applied, 1 refused.``"""
    return f"{', '.join(f'{kinds.count(kind):,} {kind}' for kind in dict.fromkeys(kinds))}."


def would_be_written(kinds: Sequence[str], others: str = "would not") -> str:
    """``12 would be written, --apply does it; 1 would not.``"""
    would = kinds.count("applied")
    left = f"; {len(kinds) - would:,} {others}" if would < len(kinds) else ""
    return f"{would:,} would be written, --apply does it{left}."


def say_way_back(session: Session, run: str, note: str = "", so_far: bool = False) -> None:
    """Say on standard error how a run is undone, or why it is not; nothing for a source that is thrown away."""
    if session.is_local:
        return
    what = "What was done so far is" if so_far else "All of it is"
    how = f"{what} undone with palimpsest undo {run}{note}."
    say(session.way_back.not_undoable(run) or how, file=sys.stderr)
