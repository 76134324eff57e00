"""The commands export and import, for histories in files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from model.commands.arguments import choose_layout, document, open_session
from model.commands.output import Progress, json_row
from model.commands.printed_outcomes import counted, exit_status, print_outcomes, say_way_back, would_be_written
from model.commands.standard_streams import say
from model.exchange.history_files import ExportedHistory, Form
from model.foundation.records import Outcome
from model.operations.history_import import ArrivingDocument

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
            kinds = _print(map(_planned, work.drawn(progress)), args, progress)
            for said in work.losses():
                say(said, file=sys.stderr)
        else:
            for said in work.foreseen():
                say(said, file=sys.stderr)
            run = work.apply(progress, confirmed=True)
            try:
                kinds = _print(run, args, progress, run.id)
            except BaseException:
                if any(each.kind == "applied" for each in run.done):
                    say_way_back(session, run.id, so_far=True)
                raise
            if "applied" in kinds:
                say_way_back(session, run.id)
        return exit_status(kinds)


def _planned(each: ArrivingDocument) -> Outcome:
    return Outcome(each.kind, "", each.id, each.detail)  # type: ignore[arg-type]


def _print(outcomes: Iterable[Outcome], args: argparse.Namespace, progress: Progress, run: str = "") -> list[str]:
    kinds = print_outcomes(outcomes, args.json, progress, planned=not args.apply, ns=args.ns, run=run or None)
    if not args.json:
        say(counted(kinds) if args.apply else would_be_written(kinds))
    return kinds
