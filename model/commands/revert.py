"""The command that takes changes back: ``palimpsest revert SOURCE NS … [--plan FILE] [--apply]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from model.commands.arguments import choose_layout, open_session
from model.commands.output import Progress, json_row, table
from model.commands.over_time import moment_given
from model.commands.standard_streams import say
from model.errors import Refused
from model.foundation.records import Kind, Outcome
from model.operations.taking_back import Chosen, TakenBack
from model.session import Session
from model.text.names import id_name
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
            return _print(_planned(args.ns, drawn), args, progress)
        run = work.apply(args.ns, chosen, progress, confirmed=True)
        status = _print(iter(run), args, progress, run.id)
        if any(each.kind == "applied" for each in run.done) and not session.is_local:
            whole = f"All of it is undone with palimpsest undo {run.id}."
            say(session.way_back.not_undoable(run.id) or whole, file=sys.stderr)
        return status


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
        return [Chosen(id, (session.catalogue.find_version(args.ns, id, args.version_of),), paths=paths)]
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


def _print(outcomes: Iterator[Outcome], args: argparse.Namespace, progress: Progress, run: str = "") -> int:
    kinds: list[str] = []

    def noted() -> Iterator[tuple[Kind, str, Outcome]]:
        for each in outcomes:
            kinds.append(each.kind)
            would = not args.apply and each.kind == "applied"
            yield ("skipped" if would else each.kind), ("would" if would else each.kind), each

    if args.json:
        for kind, word, each in noted():
            progress.make_way()
            detail = f"Would be written: {each.detail}" if word == "would" else each.detail
            say(json_row(outcome=kind, ns=each.ns, id=each.id, detail=detail, run=run or None), flush=True)
    else:
        rows = ((word, id_name(each.id) if each.id is not None else "", each.detail) for _, word, each in noted())
        table(("Outcome", "Document", "Detail"), rows, progress=progress)
        counts = ", ".join(f"{kinds.count(kind):,} {kind}" for kind in dict.fromkeys(kinds))
        if not args.apply and kinds:
            would = kinds.count("applied")
            left = f"; {len(kinds) - would:,} cannot be" if would < len(kinds) else ""
            say(f"{would:,} would be written, --apply does it{left}.")
        elif kinds:
            say(f"{counts}.")
    if "unknown" in kinds:
        return 3
    return 1 if any(kind != "applied" for kind in kinds) else 0
