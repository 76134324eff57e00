"""The nightly job: finishes pending tokens left by their writers, one run at a time, and reports."""

from __future__ import annotations

import argparse
import datetime as dt
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

from model.commands.arguments import open_session, tell_unseen
from model.commands.output import Progress, moment, table
from model.commands.standard_streams import say
from model.commands.write import outcome_json
from model.counting.pending import effect, token_name
from model.errors import Refused
from model.foundation.records import Outcome, PendingToken
from model.repair.running import new_run
from model.session import Session
from model.text.names import id_name
from model.userdata.lock import Held, Holder, held


def cleanup(args: argparse.Namespace) -> int:
    """Finish tokens that are old enough, or say how that would end; 1 if no collection keeps tokens."""
    if args.layout and not args.ns:
        raise Refused("Name the collections that --layout is for, as in `palimpsest cleanup SOURCE shop.stats`.")
    with open_session(args) as session:
        for ns in args.ns if args.layout else ():
            session.catalogue.set_layout(ns, args.layout)
        alone: Any = held("cleanup", session.source) if args.apply and not session.is_local else nullcontext()
        try:
            with alone as left_by:
                return _clean(session, args, left_by)
        except Held as other:
            # The other run does this work, so nothing is wrong.
            say(_json_note(other) if args.json else str(other))
            return 0


def _json_note(other: Held) -> str:
    return outcome_json(Outcome("skipped", "", None, str(other)))


def _clean(session: Session, args: argparse.Namespace, left_by: Holder | None) -> int:
    with Progress("Looking at token") as progress:
        places = list(args.ns) or [info.ns for info in session.catalogue.collections() if info.counts == "tokens"]
        if not args.ns:
            tell_unseen(session)
        if not places:
            return _nothing_looked_at(session, args)
        tokens, young = _chosen(session, places, args, progress)
        if not args.json:
            progress.make_way()
            for line in _head(session, args, left_by):
                say(line)
        # A person who states an age means it, even if it is shorter than the grace period.
        confirmed = args.older_than is not None
        run = new_run(lambda: dt.datetime.now(dt.UTC), uuid.uuid4().hex[:6]) if args.apply else ""
        why = args.reason or ""
        outcomes = session.tokens.finish(tokens, progress, confirmed, run, why) if args.apply else map(_planned, tokens)
        kinds = _print_outcomes(outcomes, args, progress, run)
    if not args.json:
        say(_summary(kinds, young, args.apply))
        if "unknown" in kinds:
            say("What is not known is settled by the next run: a token that is still pending then is finished then.")
    if "unknown" in kinds:
        return 3
    return 1 if any(kind != "applied" for kind in kinds) and (args.apply or "refused" in kinds) else 0


def _head(session: Session, args: argparse.Namespace, left_by: Holder | None) -> Iterator[str]:
    """The head of the report, so that it can be understood as a mail."""
    what = "Cleanup" if args.apply else "Dry run of the cleanup"
    yield f"{what} of {session.source} at {moment(dt.datetime.now(dt.UTC))} UTC"
    if left_by is not None:
        yield (
            f"The run that began at {moment(left_by.since)} UTC (process {left_by.pid} on {left_by.host}) did not end "
            "properly; what it left is done now."
        )


def _nothing_looked_at(session: Session, args: argparse.Namespace) -> int:
    """Say that no counters were found: such a nightly job most often looks in the wrong place."""
    said = (
        f"Nothing was looked at: no collection of {session.source} was recognised as one that keeps pending tokens. "
        "Name it with --layout pending, or state it in a profile."
    )
    say(outcome_json(Outcome("skipped", "", None, said)) if args.json else said)
    return 1


def _chosen(
    session: Session, places: Sequence[str], args: argparse.Namespace, progress: Progress
) -> tuple[list[PendingToken], int]:
    """The tokens to finish, and the number of those that are too young."""
    tokens: list[PendingToken] = []
    young = 0
    for ns in places:
        for token in session.tokens.pending(ns, checkpoint=progress):
            old = token.stale if args.older_than is None else session.tokens.is_older(token, args.older_than)
            if old or token.applied:
                tokens.append(token)
            else:
                young += 1
    return tokens, young


def _planned(token: PendingToken) -> Outcome:
    who = f"Token {token_name(token.token)} of {id_name(token.id)}"
    if token.problem:
        return Outcome("refused", token.ns, token.id, f"{who} cannot be finished: {token.problem}")
    return Outcome("skipped", token.ns, token.id, f"{who} {effect(token)}; nothing was written.")


def _print_outcomes(outcomes: Iterable[Outcome], args: argparse.Namespace, progress: Progress, run: str) -> list[str]:
    kinds: list[str] = []

    def noted() -> Iterator[Outcome]:
        for outcome in outcomes:
            kinds.append(outcome.kind)
            yield outcome

    if args.json:
        for outcome in noted():
            progress.make_way()
            say(outcome_json(outcome, run=run), flush=True)
    else:
        planned = "skipped" if args.apply else "would"
        rows = ((planned if o.kind == "skipped" else o.kind, o.ns, o.detail) for o in noted())
        table(("Outcome", "Collection", "Detail"), rows, progress=progress)
    return kinds


def _summary(kinds: Sequence[str], young: int, applied: bool) -> str:
    left = f" {young:,} younger {'was' if young == 1 else 'were'} left alone." if young else ""
    if not kinds:
        return f"No token is old enough to finish.{left}"
    if not applied:
        tokens = "stale token" if len(kinds) == 1 else "stale tokens"
        return f"{len(kinds):,} {tokens}; nothing was written, --apply finishes them.{left}"
    counts = ", ".join(f"{count:,} {kind}" for kind, count in Counter(kinds).items())
    return f"{counts}.{left}"
