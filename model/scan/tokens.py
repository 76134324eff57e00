"""Checks ``pending``: old tokens (T1), tokens both pending and applied (T2), counters that are not numbers (T3)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence

from msgspec import Struct

from model import text
from model.checks.chains import finding
from model.checks.ordered_reading import OrderedReading
from model.checks.rules import DamageDraft, listed
from model.counting.pending import TwoStepCounters, named, token_name, tokens_of
from model.foundation.collection_profile import CollectionProfile
from model.foundation.findings import Evidence, Finding, Unchecked
from model.foundation.records import PendingToken
from model.scan.pattern_documents import PatternDocuments
from model.server.retry import Port
from model.values import canonical as c
from model.values.canonical import Value
from model.values.kinds import NUMBERS


class Tokens(Struct):
    """The check of a collection of two-step counters."""

    server: Port
    profile: CollectionProfile

    def findings(
        self, ids: Sequence[Value] | None, now: dt.datetime, reading: OrderedReading
    ) -> Iterator[Finding | Unchecked]:
        """The damage of some or all counters."""
        ns, of = self.profile.ns, named(self.profile)
        documents = PatternDocuments(self.server, ns, self.profile.id, reading)
        for id, raw in documents.read(ids):
            yield from documents.drained()
            for draft in judged(id, raw, of, now):
                yield finding(ns, draft, draft.detail, (Evidence(ns, "in the document", raw),))
        yield from documents.drained()
        yield from documents.unchecked


def judged(id: Value, raw: bytes, of: TwoStepCounters, now: dt.datetime) -> list[DamageDraft]:
    """The damage of one counter's document."""
    tokens = list(tokens_of(raw, of, now))
    waiting = [token for token in tokens if not token.applied]
    old = [token for token in waiting if token.stale]
    counter = c.get(raw, tuple(of.counter.split(".")))
    nothing = counter is None or counter.type == c.NULL
    kept = any(c.get(raw, tuple(name.split("."))) is not None for name in (of.pending, of.applied))
    # A sum over nothing stores null and removes the lists, so only null identifies a counter; a document without the
    # field need not be one.
    wrong = kept if counter is None else counter.type not in NUMBERS
    drafts: list[DamageDraft] = []
    counts_from_zero = nothing and bool(old)  # finishing an old token sets such a counter
    if wrong and not counts_from_zero:
        drafts.append(_no_number(id, of, counter, waiting))
    if waiting and not (wrong and nothing and not old):
        drafts.append(_waiting(id, waiting, old))
    if twice := [token for token in tokens if token.applied]:
        drafts.append(_applied(id, twice))
    return drafts


def _applied(id: Value, twice: Sequence[PendingToken]) -> DamageDraft:
    said = f"{_some(twice)} {'is' if len(twice) == 1 else 'are'} pending and applied"
    repair = "take-out-token" if not all(token.problem for token in twice) else None
    return DamageDraft("T2", id, (), said, repair, (), _first(twice))


def _no_number(id: Value, of: TwoStepCounters, counter: Value | None, waiting: Sequence[PendingToken]) -> DamageDraft:
    young = any(not token.stale for token in waiting)
    what = "missing" if counter is None else "null" if counter.type == c.NULL else f"{text.shown(counter)}, no number"
    said = f"{of.counter} is {what}"
    if young:
        said += f", and {_some([token for token in waiting if not token.stale])} may still be on the way"
    return DamageDraft("T3", id, (), said, None if young else "set-counter", (), _first(waiting), young)


def _waiting(id: Value, waiting: Sequence[PendingToken], old: Sequence[PendingToken]) -> DamageDraft:
    young = len(waiting) - len(old)
    if not old:
        age = "younger than the grace period" if any(token.at for token in waiting) else "of unknown age"
        return DamageDraft("T1", id, (), f"{_some(waiting)} pending, {age}", None, (), _first(waiting), True)
    said = f"{_some(old)} pending since {_time_shown(_first(old))}"
    if young:
        said += f", and {young:,} younger"
    problem = next((token.problem for token in old if token.problem), "")
    if problem and all(token.problem for token in old):
        return DamageDraft("T1", id, (), f"{said}. {problem}", None, (), _first(old))
    return DamageDraft("T1", id, (), said, "finish-token", (), _first(old))


def _some(tokens: Sequence[PendingToken]) -> str:
    names = listed([token_name(token.token) for token in tokens], 2)
    return f"token {names}" if len(tokens) == 1 else f"{len(tokens):,} tokens ({names})"


def _first(tokens: Sequence[PendingToken]) -> dt.datetime | None:
    return min((token.at for token in tokens if token.at is not None), default=None)


def _time_shown(at: dt.datetime | None) -> str:
    return "an unknown time" if at is None else f"{at:%Y-%m-%d %H:%M}"
