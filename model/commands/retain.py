"""The command that removes earlier versions: ``palimpsest retain SOURCE NS … [--plan FILE] [--apply]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator

from model.commands.arguments import choose_layout, find_id, open_session
from model.commands.output import Progress, json_row, table
from model.commands.standard_streams import say
from model.errors import Refused
from model.foundation.records import Outcome
from model.operations.retaining import RetentionPlan, Rule, Thinned
from model.session import Session
from model.text.names import id_name
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
        kinds: list[str] = []
        run = work.apply(plan, progress, confirmed=True)
        _print(_noted(iter(run), kinds), args, plan, progress)
        if "applied" in kinds and not session.is_local:
            layout, place = session.catalogue.layout(args.ns), session.repairs.quarantine(args.ns)
            copies = f"; copies are in {place}" if layout.own_documents or layout.archive is not None else ""
            whole = f"All of it is undone with palimpsest undo {plan.run}{copies}."
            say(session.way_back.not_undoable(plan.run) or whole, file=sys.stderr)
        return _status(kinds)


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
        only = session.catalogue.find_version(args.ns, id, args.version_of)
    return session.retaining.listed(
        args.ns, Rule(args.keep, args.younger_than, args.daily, args.hold, only), id, progress
    )


def _noted(outcomes: Iterable[Outcome], kinds: list[str]) -> Iterator[Outcome]:
    for each in outcomes:
        kinds.append(each.kind)
        yield each


def _print(outcomes: Iterable[Outcome], args: argparse.Namespace, plan: RetentionPlan, progress: Progress) -> None:
    if args.json:
        for each in outcomes:
            progress.make_way()
            say(json_row(outcome=each.kind, ns=each.ns, id=each.id, detail=each.detail, run=plan.run), flush=True)
        return
    _table(((each.kind, each.id, each.detail) for each in outcomes), progress)


def _planned(args: argparse.Namespace, plan: RetentionPlan, drawn: list[Thinned], progress: Progress) -> int:
    going = [each for each in drawn if each.kind == "applied"]
    if args.json:
        progress.make_way()
        for each in drawn:
            would = each.kind == "applied"
            versions: list[object] = [gone.v for gone in each.gone]
            say(
                json_row(
                    outcome="skipped" if would else each.kind,
                    ns=plan.ns,
                    id=each.id,
                    detail=f"Would be written: {each.detail}" if would else each.detail,
                    versions=versions,
                    bytes=each.bytes,
                )
            )
    else:
        _table((("would" if each.kind == "applied" else each.kind, each.id, each.detail) for each in drawn), progress)
        count, won = sum(len(each.gone) for each in going), sum(each.bytes for each in going)
        say(f"{count:,} versions of {len(going):,} documents would go, {size_text(won)}; --apply does it.")
    return _status([each.kind for each in drawn])


def _table(rows: Iterable[tuple[str, Value | None, str]], progress: Progress) -> None:
    named = ((word, id_name(id) if id is not None else "", detail) for word, id, detail in rows)
    table(("Outcome", "Document", "Detail"), named, progress=progress)


def _status(kinds: list[str]) -> int:
    if "unknown" in kinds:
        return 3
    return 1 if any(kind != "applied" for kind in kinds) else 0
