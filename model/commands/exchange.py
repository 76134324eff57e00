"""The commands export and import, for histories in files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from model.commands.arguments import choose_layout, document, open_session
from model.commands.output import Progress, json_row, number, table
from model.commands.standard_streams import say
from model.exchange.history_files import ExportedHistory, Form
from model.foundation.records import Outcome
from model.operations.history_import import ArrivingDocument
from model.text.names import id_name

SHOWN = 20  # names in one message


def export(args: argparse.Namespace) -> int:
    """Write histories to files; 1 if a version was left out, or differs from an earlier export."""
    form: Form = "git" if args.git else "folder" if args.folder else "jsonl"
    path = Path(args.git or args.folder or args.jsonl)
    with open_session(args) as session, Progress("Reading version") as progress:
        choose_layout(args, session)
        id = document(args, session) if args.id is not None else None
        made = session.exchange.export_history(args.ns, path, form, id, progress)
        if args.json:
            for each in made:
                progress.make_way()
                say(json_row(ns=args.ns, id=each.id, versions=each.versions, written=each.written))
        else:
            for _ in made:
                pass
    _say_exported(made)
    return 1 if made.left or made.other else 0


def _say_exported(made: ExportedHistory) -> None:
    for each in made.left[:SHOWN]:
        say(each, file=sys.stderr)
    if len(made.left) > SHOWN:
        say(f"{len(made.left) - SHOWN:,} further versions were left out.", file=sys.stderr)
    if made.other:
        more = f" and {len(made.other) - SHOWN:,} more" if len(made.other) > SHOWN else ""
        say(
            f"{', '.join(made.other[:SHOWN])}{more} stand otherwise in {made.path}, as they were changed in place "
            "since; they were left as they are there. Export into an empty place to have them as they are now.",
            file=sys.stderr,
        )
    old = made.versions - made.written - len(made.other)
    there = f"; {old:,} {'was' if old == 1 else 'were'} there" if old else ""
    new = f"{made.written:,} {'version' if made.written == 1 else 'versions'}"
    of = f"{made.documents:,} {'document' if made.documents == 1 else 'documents'}"
    say(f"{new} of {of} {'was' if made.written == 1 else 'were'} written to {made.path}{there}.", file=sys.stderr)


def import_history(args: argparse.Namespace) -> int:
    """Import a history, or say what that would do; exit status as for a repair."""
    with open_session(args) as session, Progress("Reading version") as progress:
        work = session.exchange.history_import(args.ns, args.place, args.layout or "")
        if not args.apply:
            status = _print(map(_planned, work.drawn(progress)), args, progress)
            for said in work.losses():
                say(said, file=sys.stderr)
        else:
            for said in work.foreseen():
                say(said, file=sys.stderr)
            run = work.apply(progress, confirmed=True)
            try:
                status = _print(iter(run), args, progress, run.id)
            except BaseException:
                if not session.is_local and any(each.kind == "applied" for each in run.done):
                    so_far = f"What was done so far is undone with palimpsest undo {run.id}."
                    say(session.way_back.not_undoable(run.id) or so_far, file=sys.stderr)
                raise
            if any(each.kind == "applied" for each in run.done) and not session.is_local:
                whole = f"All of it is undone with palimpsest undo {run.id}."
                say(session.way_back.not_undoable(run.id) or whole, file=sys.stderr)
        return status


def _planned(each: ArrivingDocument) -> Outcome:
    return Outcome(each.kind, "", each.id, each.detail)  # type: ignore[arg-type]


def _print(outcomes: Iterator[Outcome], args: argparse.Namespace, progress: Progress, run: str = "") -> int:
    kinds: list[str] = []

    def noted() -> Iterator[tuple[str, Outcome]]:
        for each in outcomes:
            kinds.append(each.kind)
            yield ("would" if not args.apply and each.kind == "applied" else each.kind), each

    if args.json:
        for word, each in noted():
            progress.make_way()
            would = word == "would"
            detail = f"Would be written: {each.detail}" if would else each.detail
            kind = "skipped" if would else each.kind
            say(json_row(outcome=kind, ns=args.ns, id=each.id, detail=detail, run=run or None), flush=True)
    else:
        rows = ((word, id_name(each.id) if each.id is not None else "", each.detail) for word, each in noted())
        table(("Outcome", "Document", "Detail"), rows, progress=progress)
        counts = ", ".join(f"{number(kinds.count(kind))} {kind}" for kind in dict.fromkeys(kinds))
        if args.apply:
            say(f"{counts}.")
        else:
            count = kinds.count("applied")
            left = f"; {len(kinds) - count:,} would not" if count < len(kinds) else ""
            say(f"{count:,} would be written, --apply does it{left}.")
    if "unknown" in kinds:
        return 3
    return 1 if any(kind != "applied" for kind in kinds) else 0
