"""The pending tokens of all collections that keep some, and previews of their steps."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from model.catalogue.catalogue import Catalogue
from model.counting import pending
from model.errors import Refused
from model.foundation.records import Checkpoint, PendingToken, Sending
from model.server.code_preview import sending
from model.server.retry import Port


def listed(
    server: Port, catalogue: Catalogue, ns: str | None, older_than: dt.timedelta | None, checkpoint: Checkpoint
) -> Iterator[PendingToken]:
    """The tokens of one collection or of all, on request only older ones. Raises ``Refused`` if ``ns`` keeps none."""
    now = dt.datetime.now(dt.UTC)  # one moment for all tokens
    places = [catalogue.info(ns)] if ns is not None else list(catalogue.collections())
    for place in places:
        if place.counts != "tokens":
            if ns is not None:
                # Never guess: a list that only looks like tokens would be taken apart.
                why = "say --layout pending, or state its fields in a profile"
                raise Refused(f"No pending tokens were recognised in {ns}; {why}.")
            continue
        of = pending.counters(server, catalogue.known(place.ns)[1])
        for token in pending.tokens(server, of, now, checkpoint):
            if older_than is None or is_older(token, older_than):
                yield token


def is_older(token: PendingToken, age: dt.timedelta) -> bool:
    """Whether a token has at least this age; one of unknown age counts as young."""
    return token.at is not None and dt.datetime.now(dt.UTC) - token.at >= age


def preview(server: Port, catalogue: Catalogue, token: PendingToken, drop: bool) -> Sending:
    """The exact write that finishes or drops a token; raises ``Refused`` if that is impossible."""
    what: pending.Step = "drop" if drop and not token.applied else "finish"
    of = pending.counters(server, catalogue.known(token.ns)[1])
    if token.problem:
        raise Refused(token.problem)
    return sending([pending.step(server, token, of, what)], pending.explain(token, what))
