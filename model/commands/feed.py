"""The feeder as a command: it runs until it is stopped, or with ``--once`` until nothing is left to feed."""

from __future__ import annotations

import argparse

from model.commands.arguments import choose_layout, open_session
from model.commands.output import Progress, json_row
from model.commands.standard_streams import say
from model.commands.stop_signals import until_stopped
from model.errors import Refused
from model.feed import Fed


def feed(args: argparse.Namespace) -> int:
    """Feed the archives; 1 if a version could not be archived."""
    if args.layout and not args.ns:
        raise Refused("--layout is about one collection: name it behind the source.")
    archived = left = 0
    with until_stopped() as stop, open_session(args) as session, Progress("Archived version") as progress:
        if args.ns:
            choose_layout(args, session)
        for fed in session.exchange.feed(args.ns, args.once, args.every.total_seconds(), stop):
            archived += fed.outcome == "applied"
            left += fed.outcome in ("conflict", "refused")
            if args.json:
                progress.make_way()
                say(_json(fed), flush=True)
            elif fed.outcome == "applied":
                progress(archived, None)
            elif fed.outcome == "note" and fed.id is not None:
                continue  # a delete, which is as common as a version
            else:
                progress.make_way()
                say(f"{fed.ns}: {fed.detail}", flush=True)
        progress.make_way()
    if not args.json:
        could_not = f"; {left:,} could not be, see above" if left else ""
        say(f"{archived:,} {'version was' if archived == 1 else 'versions were'} archived{could_not}.")
    return 1 if left else 0


def _json(fed: Fed) -> str:
    lag = None if fed.lag is None else round(fed.lag, 1)
    return json_row(outcome=fed.outcome, ns=fed.ns, id=fed.id, v=fed.v, detail=fed.detail, lag=lag)
