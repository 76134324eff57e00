"""The command that removes earlier versions: ``palimpsest retain SOURCE NS … [--plan FILE] [--apply]``."""

from __future__ import annotations

import argparse

from model.commands.arguments import choose_layout, find_id, open_session
from model.commands.output import Progress, json_row
from model.commands.printed_outcomes import (
    DONE,
    exit_status,
    outcome_table,
    planned_row,
    print_outcomes,
    say_if_done,
    say_way_back,
    word_of,
)
from model.commands.standard_streams import say
from model.errors import Refused
from model.operations.retaining import RetentionPlan, Rule, Thinned
from model.session import Session
from model.text.sizes import size_text
from model.values.canonical import Value


def retain(args: argparse.Namespace) -> int:
    """Remove earlier versions, or say what that would do; exit status as for a repair."""
    carried = _is_plan_carried_out(args)
    with open_session(args) as session, Progress("Looking at document") as progress:
        choose_layout(args, session)
        work = session.retaining
        plan = work.load(args.plan, args.ns) if carried else _listed(session, args, progress)
        if not args.apply:
            drawn = [*work.drawn(plan, progress)]
            if args.plan:
                work.save(args.plan, plan, drawn)
            return _planned(args, plan, drawn, progress)
        kinds = print_outcomes(work.apply(plan, progress, confirmed=True), args.json, progress, run=plan.run)
        if "applied" in kinds:
            layout, place = session.catalogue.layout(args.ns), session.repairs.quarantine(args.ns)
            copies = f"; copies are in {place}" if layout.own_documents or layout.archive is not None else ""
            say_way_back(session, plan.run, copies)
        say_if_done(kinds)
        return exit_status(kinds)


def _is_plan_carried_out(args: argparse.Namespace) -> bool:
    """Whether a plan is carried out, rather than a rule; raises ``Refused`` for neither and for both."""
    rule = args.keep is not None or args.younger_than is not None or args.daily or bool(args.version_of)
    if args.version_of and (not args.id or args.keep is not None or args.younger_than is not None or args.daily):
        raise Refused("--version removes one version of one document: say --id ID with it, and no rule.")
    if args.apply and args.plan:
        if rule or args.hold or args.id:
            raise Refused("--apply carries out what --plan holds, or a rule: leave one of them out.")
        return True
    if not rule:
        raise Refused("Say what stays: --keep K, --younger-than AGE or --daily; or --id ID --version V goes alone.")
    if args.keep is not None and args.keep < 1:
        raise Refused("--keep K keeps at least 1: the current version never goes.")
    return False


def _listed(session: Session, args: argparse.Namespace, progress: Progress) -> RetentionPlan:
    id = find_id(session, args.ns, args.id, create=False) if args.id else None
    only: Value | None = None
    if id is not None and args.version_of:
        only = session.catalogue.reading.find_version(args.ns, id, args.version_of)
    return session.retaining.listed(
        args.ns, Rule(args.keep, args.younger_than, args.daily, args.hold, only), id, progress
    )


def _planned(args: argparse.Namespace, plan: RetentionPlan, drawn: list[Thinned], progress: Progress) -> int:
    going = [each for each in drawn if each.kind == "applied"]
    if args.json:
        progress.make_way()
        for each in drawn:
            told = planned_row(each.kind, each.detail)
            versions: list[object] = [gone.v for gone in each.gone]
            say(
                json_row(
                    outcome=told["outcome"],
                    ns=plan.ns,
                    id=each.id,
                    detail=told["detail"],
                    versions=versions,
                    bytes=each.bytes,
                )
            )
    else:
        outcome_table(((word_of(each.kind), each.id, each.detail) for each in drawn), progress)
        count, won = sum(len(each.gone) for each in going), sum(each.bytes for each in going)
        say(f"{count:,} versions of {len(going):,} documents would go, {size_text(won)}; --apply does it.")
    return exit_status([DONE if each.done else each.kind for each in drawn])
