"""The command that takes changes back: ``palimpsest revert SOURCE NS … [--plan FILE] [--apply]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator

from model.commands.arguments import choose_layout, open_session
from model.commands.output import Progress
from model.commands.over_time import moment_given
from model.commands.printed_outcomes import counted, exit_status, print_outcomes, say_way_back, would_be_written
from model.commands.standard_streams import say
from model.errors import Refused
from model.foundation.records import Outcome
from model.operations.taking_back import Chosen, TakenBack
from model.session import Session
from model.text.paths import path_from_text
from model.values.canonical import Path
from model.writing.edit import check_paths

ALL = 2**31 - 2


def revert(args: argparse.Namespace) -> int:
    """Take versions back, or say what that would do; exit status as for a repair."""
    carried = _is_plan_carried_out(args)
    with open_session(args) as session, Progress("Looking at document") as progress:
        choose_layout(args, session)
        work = session.taking_back
        if args.reason:
            session.authorship.because(args.ns, args.reason)
            work = session.taking_back
        chosen = work.load(args.plan, args.ns) if carried else _chosen(session, args, _paths(session, args), progress)
        if not args.apply:
            drawn = [*work.drawn(args.ns, chosen, progress)]
            if args.plan:
                work.save(args.plan, args.ns, drawn)
            return exit_status(_print(_planned(args.ns, drawn), args, progress))
        run = work.apply(args.ns, chosen, progress, confirmed=True)
        kinds = _print(run, args, progress, run.id)
        if "applied" in kinds:
            say_way_back(session, run.id)
        return exit_status(kinds)


def _is_plan_carried_out(args: argparse.Namespace) -> bool:
    """Whether a plan is carried out, rather than what is selected; raises ``Refused`` for neither and for both."""
    by = [args.author, args.since, args.until, args.filter]
    if args.version_of and not args.id:
        raise Refused("--version is of one document: say --id ID with it.")
    selected = bool(args.id or any(by))
    carried = bool(args.apply and args.plan and not selected)
    if not selected and not carried:
        raise Refused("Say what to take back: --id ID --version V, --author A, --since T, --until T or --filter F.")
    if carried and args.paths:
        raise Refused("--path goes with the choice that --plan wrote down; say it when the plan is made.")
    if selected and args.apply and args.plan:
        raise Refused("--apply carries out what --plan holds, or what is chosen: leave one of them out.")
    return carried


def _paths(session: Session, args: argparse.Namespace) -> tuple[Path, ...]:
    """The fields that alone are taken back. Raises ``Refused`` for one of the layout's."""
    paths = tuple(path_from_text(path) for path in args.paths)
    check_paths(paths, session.catalogue.layout(args.ns).locked if paths else ())
    return paths


def _chosen(session: Session, args: argparse.Namespace, paths: tuple[Path, ...], progress: Progress) -> list[Chosen]:
    """The selected documents and versions, in the order of their latest change."""
    id = session.documents.find_id(args.ns, args.id) if args.id else None
    if id is not None and args.version_of:
        return [Chosen(id, (session.catalogue.reading.find_version(args.ns, id, args.version_of),), paths=paths)]
    since, until = moment_given(args.since), moment_given(args.until)
    matching = {row.id for row in session.documents.page(args.ns, args.filter, limit=ALL).rows} if args.filter else None
    found = session.time.activity([args.ns], since, until, args.author, id=id, checkpoint=progress)
    several: dict[object, list[object]] = {}
    for each in found:
        if each.v is None or (matching is not None and each.id not in matching) or not each.touches(paths):
            continue
        versions = several.setdefault(each.id, [])
        if versions and not (since or until or args.author):
            continue  # with only a filter: the latest change of each document
        versions.append(each.v)
    for note in found.notes:
        say(note, file=sys.stderr)
    if not several:
        who = f" by {args.author}" if args.author else ""
        say(f"Nothing{who} was found there to take back.", file=sys.stderr)
    return [Chosen(each, tuple(versions), paths=paths) for each, versions in several.items()]  # type: ignore[arg-type]


def _planned(ns: str, drawn: list[TakenBack]) -> Iterator[Outcome]:
    for each in drawn:
        yield from (Outcome("skipped", ns, each.id, why, v) for v, why in each.left)
        if each.kind == "applied":
            yield Outcome("applied", ns, each.id, f"{each.detail} {each.warning}".strip())
        elif each.versions or not each.left:
            yield Outcome(each.kind, ns, each.id, each.detail)  # type: ignore[arg-type]


def _print(outcomes: Iterable[Outcome], args: argparse.Namespace, progress: Progress, run: str = "") -> list[str]:
    kinds = print_outcomes(outcomes, args.json, progress, planned=not args.apply, run=run or None)
    if kinds and not args.json:
        say(counted(kinds) if args.apply else would_be_written(kinds, "cannot be"))
    return kinds
