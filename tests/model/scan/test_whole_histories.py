"""A history that is whole is told at a glance, and never where the rules would find something."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from typing import Any

import bson
import pytest

from model.layouts.checks import archives, embedded_chain, own_documents
from model.layouts.checks.facts import Fact, FactReader
from model.layouts.checks.rules import CheckContext
from model.layouts.reserved_fields import own_of
from model.profile import stated
from model.values import canonical as c
from model.values.canonical import Value

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
ID = Value.of("K-1")
MODULES = (own_documents, archives, embedded_chain)


def facts(r: random.Random) -> list[Fact]:
    """A history of a few versions, mostly whole."""
    count = r.randrange(1, 6)
    found = []
    for n in range(1, count + 1):
        v: Any = n if r.random() < 0.95 else r.choice((n + 1, 1, 0, -1, float(n), str(n), bson.Int64(n), None))
        at = n * 1000 if r.random() < 0.9 else r.choice((None, 0))
        sealed = "" if r.random() < 0.97 else "hash differs"
        archived = n < count if r.random() < 0.95 else r.random() < 0.5
        flagged = n == count if r.random() < 0.9 else r.random() < 0.5
        value = None if v is None else Value.of(v)
        digest = bytes((r.randrange(2),))
        announced = n + 1 if r.random() < 0.2 else None
        found.append(Fact(ID, Value.of(n), archived, value, digest, sealed, bool(sealed), flagged, at, b"", announced))
    found.sort(key=lambda fact: fact.archived)
    if r.random() < 0.2:
        r.shuffle(found)
    return found


def ground(r: random.Random) -> CheckContext:
    profile = stated("shop.things", "versions", token="_w")
    return CheckContext(profile, NOW, r.random() < 0.1, "V2", r.random() < 0.9, r.random() < 0.2)


def drawn() -> random.Random:
    """Draws of a fresh seed, which is printed."""
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    return random.Random(seed)


@pytest.mark.parametrize("judge", [own_documents.own_documents, own_documents.flagged, archives.with_archive])
def test_a_glance_finds_what_all_rules_find(judge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    r = drawn()
    cases = [(facts(r), ground(r)) for _ in range(1500)]
    at_a_glance = [judge(*case) for case in cases]
    for module in MODULES:
        monkeypatch.setattr(module, "are_whole", _never)
    assert at_a_glance == [judge(*case) for case in cases]
    assert 200 < sum(not found for found in at_a_glance) < 1400


def test_a_glance_at_an_embedded_history_finds_what_all_rules_find(monkeypatch: pytest.MonkeyPatch) -> None:
    r = drawn()
    profile = stated("shop.things", "embedded", token="_w")
    reader = FactReader(own_of(profile), profile, "")
    cases = [(_document(r), ground(r)) for _ in range(1500)]
    at_a_glance = [embedded_chain.embedded_chain(reader, raw, ID, each) for raw, each in cases]
    monkeypatch.setattr(embedded_chain, "are_whole", _never)
    assert at_a_glance == [embedded_chain.embedded_chain(reader, raw, ID, each) for raw, each in cases]
    assert 200 < sum(not found for found in at_a_glance) < 1400


def _document(r: random.Random) -> bytes:
    versions = [Value.document(c.document([("v", fact.v), ("a", Value.of(1))])) for fact in facts(r) if fact.v]
    if not versions:
        return bson.encode({"_id": "K-1"})
    past = versions[:-1] if r.random() < 0.95 else [*versions[:-1], Value.of("no version")]
    named = [("_id", ID), ("current", versions[-1])]
    return c.document(named if r.random() < 0.05 else [*named, ("prev", c.array(past))])


def _never(facts: Sequence[Fact]) -> bool:
    return False
