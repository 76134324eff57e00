"""The command that changes many documents: ``palimpsest change SOURCE NS FILTER … [--plan FILE] [--apply]``."""

from __future__ import annotations

import argparse
import sys

from model.commands.arguments import choose_layout, open_session
from model.commands.output import Progress, json_row
from model.commands.printed_outcomes import (
    counted,
    exit_status,
    outcome_table,
    planned_row,
    print_outcomes,
    say_if_done,
    say_way_back,
    word_of,
    would_be_written,
)
from model.commands.standard_streams import say
from model.commands.write import assignment
from model.errors import Refused
from model.operations import update
from model.operations.changing import Changed, ChangePlan
from model.operations.update import Update
from model.text.paths import path_from_text
from model.values.canonical import Path, Value

NOTHING = "Nothing to change: say --set PATH=EJSON, --unset PATH, --rename A=B or --update UPDATE."


def change(args: argparse.Namespace) -> int:
    """Change documents, or say what that would do; exit status as for a repair."""
    made = _update(args)
    with open_session(args) as session, Progress("Looking at document") as progress:
        choose_layout(args, session)
        if args.reason:
            session.authorship.because(args.ns, args.reason)
        work = session.changing
        plan = work.load(args.plan, args.ns) if made is None else work.listed(args.ns, args.filter, made, progress)
        for note in work.missed(plan):
            say(note, file=sys.stderr)
        if not plan.items:
            say("No document is left to change: nothing matches the filter, or the plan has nothing.", file=sys.stderr)
        if not args.apply:
            drawn = [*work.drawn(plan, progress)]
            if args.plan:
                work.save(args.plan, plan, drawn)
            return _planned(args, plan, drawn, progress)
        run = work.apply(plan, progress, confirmed=True)
        kinds = print_outcomes(run, args.json, progress, run=plan.run)
        if kinds and not args.json:
            say(counted(kinds))
        if "applied" in kinds:
            say_way_back(session, plan.run)
        if kinds:
            say_if_done(kinds)
        return exit_status(kinds)


def _update(args: argparse.Namespace) -> Update | None:
    """The change that is asked for; None if a plan is carried out. Raises ``Refused``."""
    stated = bool(args.set_fields or args.unset_fields or args.renamed)
    if args.filter is None:
        if not (args.plan and args.apply) or stated or args.update:
            raise Refused("Say which documents: a FILTER such as '{\"status\": \"open\"}', or '{}' for all.")
        return None
    if not args.filter.strip():
        raise Refused("An empty filter is not taken for all documents; write '{}' for these.")
    if args.apply and args.plan:
        raise Refused("--apply carries out what --plan holds, or what FILTER finds: leave one of them out.")
    if stated and args.update:
        raise Refused("Say the change by --update, or by --set, --unset and --rename; leave one of them out.")
    if not stated and not args.update:
        raise Refused(NOTHING)
    found = update.written(args.update) if args.update else _stated(args)
    if found.counts and args.apply:
        raise Refused(
            "Done twice, this would change more than once: write a plan first (--plan FILE), which knows what is done, "
            "and carry it out (--plan FILE --apply)."
        )
    return found


def _stated(args: argparse.Namespace) -> Update:
    values: dict[Path, Value] = {}
    for said in args.set_fields:
        written, value = assignment(said)
        if (path := path_from_text(written)) in values:
            raise Refused(f"{written} is set twice; say it once.")
        values[path] = value
    return update.stated(values, map(path_from_text, args.unset_fields), map(_renamed, args.renamed))


def _renamed(said: str) -> tuple[Path, Path]:
    """Both paths of A=B."""
    source, equals, target = said.partition("=")
    if not equals or not source or not target:
        raise Refused(f"{said} is no rename; write A=B, as in premium.total=premium.gross.")
    return path_from_text(source), path_from_text(target)


def _planned(args: argparse.Namespace, plan: ChangePlan, drawn: list[Changed], progress: Progress) -> int:
    kinds = [each.kind for each in drawn]
    if args.json:
        progress.make_way()
        for each in drawn:
            changes: list[object] = [_values(path, before, after) for path, before, after in each.values]
            told = planned_row(each.kind, each.detail)
            say(json_row(outcome=told["outcome"], ns=plan.ns, id=each.id, detail=told["detail"], changes=changes))
    else:
        outcome_table(((word_of(each.kind), each.id, each.detail) for each in drawn), progress)
        if drawn:
            say(would_be_written(kinds))
    return exit_status(kinds)


def _values(path: str, before: Value | None, after: Value | None) -> dict[str, object]:
    """A changed field of a row; a missing value has no key."""
    sides = {"before": before, "after": after}
    return {"path": path, **{name: value for name, value in sides.items() if value is not None}}
