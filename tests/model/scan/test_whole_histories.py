"""A complete history is recognised at a glance, but never one in which the rules would find something."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from typing import Any

import bson
import pytest
from msgspec.structs import replace

from model.checks import archives, chains, embedded_chain, own_documents
from model.checks.bson_damage import damage_of
from model.checks.facts import Fact, FactReader, LazyFact, SomeFact
from model.checks.rules import CheckContext
from model.foundation.findings import Finding
from model.localserver import LocalServer
from model.profile import Profile, stated
from model.session import Session
from model.storage.reserved_fields import own_of
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.support import by_depth

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
    if r.random() < 0.25:  # its archive holds the current version too
        found.append(found[-1]._replace(archived=True, digest=bytes((r.randrange(2),))))
    found.sort(key=lambda fact: fact.archived)
    if r.random() < 0.2:
        r.shuffle(found)
    return found


def ground(r: random.Random) -> CheckContext:
    profile = stated("shop.things", "versions", token="_w")
    return CheckContext(profile, NOW, r.random() < 0.1, "V2", r.random() < 0.9, r.random() < 0.2)


@pytest.mark.parametrize("judge", [own_documents.own_documents, own_documents.flagged, archives.with_archive])
def test_a_glance_finds_what_all_rules_find(judge: Any, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    r = random.Random(seed)
    cases = [(facts(r), ground(r)) for _ in range(1500)]
    at_a_glance = [judge(*case) for case in cases]
    for module in MODULES:
        monkeypatch.setattr(module, "are_whole", _never)
    assert at_a_glance == [judge(*case) for case in cases]
    assert 200 < sum(not found for found in at_a_glance) < 1400


def test_a_glance_at_an_embedded_history_finds_what_all_rules_find(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    r = random.Random(seed)
    profile = stated("shop.things", "embedded", token="_w")
    reader = FactReader(own_of(profile), profile, "")
    cases = [(_document(r), ground(r)) for _ in range(1500)]
    at_a_glance = [embedded_chain.embedded_chain(reader, raw, ID, each) for raw, each in cases]
    monkeypatch.setattr(embedded_chain, "are_whole", _never)
    assert at_a_glance == [embedded_chain.embedded_chain(reader, raw, ID, each) for raw, each in cases]
    assert 200 < sum(not found for found in at_a_glance) < 1400


def rows(r: random.Random) -> list[bytes]:
    """The stored versions of one document, mostly whole and sound."""
    found = []
    for fact in facts(r):
        row = {
            "_id": bson.ObjectId(),
            "docId": "K-1",
            "a": fact.flagged or r.choice((0, False)),
            "text": "text" * r.randrange(40),
        }
        row |= {} if fact.v is None else {"v": fact.v.python()}
        row |= {"at": NOW if fact.at is None else NOW + dt.timedelta(milliseconds=fact.at)} if r.random() < 0.9 else {}
        row |= {"_versioned_id": "0" * 40} if r.random() < 0.03 else {}
        row |= {"inner": {"_versioned_id": 1}} if r.random() < 0.03 else {}
        raw = bson.encode(row)
        found.append(raw.replace(b"text", b"te\xfft") if r.random() < 0.03 else raw)
    return found


@pytest.mark.usefixtures("each_walk")
@support.table("flag", ["", "a"])
def test_a_history_is_judged_alike_whether_its_facts_are_read_at_once_or_later(flag: str, seed: int) -> None:
    r, later, found, sound = random.Random(seed), 0, 0, 0
    profile = stated("shop.things", "versions", token="_w", at="at")
    reader = FactReader(own_of(profile, flag), profile, "docId", flag=flag)
    rounds = by_depth(60, 2000)
    for _ in range(rounds):
        stored, case = rows(r), ground(r)
        for archived in (False, True):
            readers = [replace(reader, archived=archived and at > 0) for at in range(len(stored))]
            seen = [each.read(raw, lazily=True) for each, raw in zip(readers, stored, strict=True)]
            read = [each.read(raw) for each, raw in zip(readers, stored, strict=True)]
            assert [each[:2] for each in seen] == [each[:2] for each in read]
            glanced, whole = ([each[2] for each in some if each[2] is not None] for some in (seen, read))
            later += sum(isinstance(each, LazyFact) for each in glanced)
            for judge in (own_documents.own_documents, own_documents.flagged, archives.with_archive):
                assert judge(glanced, case) == judge(whole, case)
                found += bool(judge(whole, case))
                sound += not judge(whole, case) and not case.dated
    assert later > rounds
    assert found > rounds / 2
    assert sound > rounds / 3


@pytest.mark.usefixtures("each_walk")
def test_an_embedded_history_is_judged_alike_whether_it_is_known_to_be_sound(seed: int) -> None:
    r = random.Random(seed)
    profile = stated("shop.things", "embedded", token="_w", at="at")
    reader = FactReader(own_of(profile), profile, "")
    cases: list[tuple[bytes, CheckContext]] = []
    rounds = by_depth(60, 2000)
    while len(cases) < rounds:
        versions = list(map(Value.document, rows(r)))
        past = versions[:-1] if r.random() < 0.95 else [*versions[:-1], Value.of("no version")]
        cases.append((c.document([("_id", ID), ("current", versions[-1]), ("prev", c.array(past))]), ground(r)))
    sound = [embedded_chain.embedded_chain(reader, raw, ID, each, not damage_of(raw)) for raw, each in cases]
    assert sound == [embedded_chain.embedded_chain(reader, raw, ID, each) for raw, each in cases]
    assert 0.05 < sum(not found for found in sound) / rounds < 0.9


def test_few_bytes_of_a_long_history_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "HELD", 2000)
    held: list[SomeFact | None] = []
    with LocalServer() as local:
        stored = [{"docId": id, "v": v, "text": "x" * 60} for id in ("K-1", "K-2") for v in range(1, 101) if v != 50]
        local.load("db.things", map(bson.encode, stored))
        local.index("db.things", [("docId", 1), ("v", 1)], unique=True)
        with Session.open(local.uri, Profile((stated("db.things", "versions"),))) as session:
            taking = chains.Chains._take

            def noted(self: chains.Chains, part: chains.Part, lazily: bool = False) -> Any:
                take = taking(self, part, lazily)

                def one(raw: bytes) -> Any:
                    held.append(None if (taken := take(raw)) is None else taken[1])
                    return taken

                return one

            monkeypatch.setattr(chains.Chains, "_take", noted)
            found = list(session.scans.scan(["db.things"]))
    assert [(each.id, each.detail) for each in found if isinstance(each, Finding)] == [
        (Value.of("K-1"), "v50 missing: retention or loss"),
        (Value.of("K-2"), "v50 missing: retention or loss"),
    ]
    for some in (held[:99], held[99:198]):
        assert 10 < sum(isinstance(each, LazyFact) for each in some) < 30


def _document(r: random.Random) -> bytes:
    versions = [Value.document(c.document([("v", fact.v), ("a", Value.of(1))])) for fact in facts(r) if fact.v]
    if not versions:
        return bson.encode({"_id": "K-1"})
    past = versions[:-1] if r.random() < 0.95 else [*versions[:-1], Value.of("no version")]
    named = [("_id", ID), ("current", versions[-1])]
    return c.document(named if r.random() < 0.05 else [*named, ("prev", c.array(past))])


def _never(facts: Sequence[Fact]) -> bool:
    return False
