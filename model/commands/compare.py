"""The command that compares two collections: ``palimpsest compare SOURCE NS SOURCE NS [--key PATH]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from model.commands.arguments import open_session
from model.commands.comparing import rules_of
from model.commands.output import Progress, json_row, table
from model.commands.printed_outcomes import counted, exit_status, print_outcomes, say_if_done, say_way_back
from model.commands.standard_streams import say
from model.errors import Refused
from model.session import Session
from model.session.two_collections import CopyAcross, SideBySide, Standing, TwoCollections
from model.text.names import id_name, version_name
from model.values.canonical import Value

HEADER = ("Document", "What", "Here", "There", "Since")


def compare(args: argparse.Namespace) -> int:
    """Print what differs between two collections; 1 if anything does."""
    given = rules_of(args)
    if args.apply and not args.plan:
        raise Refused("--apply carries out what --plan FILE holds: write the plan first, without --apply.")
    if args.apply and (given or args.filter):
        raise Refused("--apply copies what the plan holds, exactly: give rules and filter when the plan is made.")
    reading = argparse.Namespace(**{**vars(args), "read_only": True, "into_memory": False})
    with open_session(reading) as here, open_session(args, args.other_source) as there:
        with Progress("Comparing document") as progress:
            if args.reason:
                there.authorship.because(args.other_ns, args.reason)
            two = here.beside(args.ns, there, args.other_ns, args.key, args.filter)
            if args.apply:
                return _applied(two.copying, there, args, progress)
            rules = given.with_unordered(two.unordered.unordered)
            if two.filter:
                said = f"Compared where {two.filter} matches on either side."
                say(said, file=sys.stderr if args.json else sys.stdout)
            if rules:
                say(rules.words, file=sys.stderr if args.json else sys.stdout)
            _say_setup(two, args.json, progress)
            found = two.compare(rules, progress)
            differing: list[Standing] | None = [] if args.plan else None
            _print(found, differing, args.json, progress)
            rejected = two.copying.save(args.plan, differing).rejected if differing is not None else ()
        if rejected:
            how_many = f"{len(rejected):,} documents" if len(rejected) > 1 else "1 document"
            why = rejected[0].detail
            say(f"{how_many} would be refused there and not ticked in the plan, the first: {why}", file=sys.stderr)
        say(_summed(found), file=sys.stderr if args.json else sys.stdout)
    return 1 if found.counts else 0


def _say_setup(two: TwoCollections, as_json: bool, progress: Progress) -> None:
    """Print how the collections are set up differently, a line each."""
    differing, note = two.setup()
    progress.make_way()
    if note:
        say(note, file=sys.stderr)
    for each in differing:
        row = {"setup": each.what, "name": each.name, "here": each.here, "there": each.there}
        say(json_row(**row) if as_json else each.said)


def _print(found: SideBySide, kept: list[Standing] | None, as_json: bool, progress: Progress) -> None:
    """Print what differs as it is found, and keep it for a plan."""

    def noted() -> Iterator[Standing]:
        for each in found:
            progress.make_way()
            if kept is not None:
                kept.append(each)
            yield each

    if as_json:
        for each in noted():
            say(_row(each))
    else:
        table(HEADER, map(_cells, noted()), progress=progress)


def _applied(work: CopyAcross, there: Session, args: argparse.Namespace, progress: Progress) -> int:
    """Carry a plan out and print how each document ended; exit status as for a repair."""
    plan = work.load(args.plan)
    run = work.apply(plan, progress, confirmed=True)
    kinds = print_outcomes(run, args.json, progress, run=plan.run)
    if not args.json:
        say(counted(kinds) if kinds else "Nothing is ticked.")
    if next(there.journal.records("run", plan.run), None) is not None:
        say_way_back(there, plan.run)
    if kinds:
        say_if_done(kinds)
    return exit_status(kinds)


def _row(each: Standing) -> str:
    sides = {"id": each.here if each.here is not None else each.there, "other_id": each.there}
    return json_row(key=each.key, **sides, change=each.change, **{"from": each.v, "to": each.w}, since=each.since)


def _cells(each: Standing) -> tuple[str, ...]:
    return (id_name(each.key), each.change, _named(each.v), _named(each.w), _named(each.since))


def _named(v: Value | None) -> str:
    return version_name(v) if v is not None else ""


def _summed(found: SideBySide) -> str:
    """How many documents are the same, and how many differ in each way."""
    said = ", ".join(f"{count:,} {what}" for what, count in (("same", found.same), *found.counts.items())) + "."
    return f"{said} {found.half:,} of these match the filter on one side only." if found.half else said
