"""The sample is recognised as intended, damaged or not, and whatever a random sample of it contains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache

import bson
import pytest

from model.catalogue.recognise import recognise, recognise_one
from model.errors import Refused
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import CollectionInfo
from model.localserver import LocalServer, open_sample
from model.recognition.sampling import JOINED, together
from model.server.retry import Server, Terms
from tests import support
from tests.servers.hosted_server import HostedServer, without_stages

EXPECTED = {
    "insurance": {
        "agents": "plain",
        "claims": "versions",
        "contracts": "archive",
        "contracts_history": "archive",
        "counters": "sequence",
        "customers": "embedded",
        "invoices": "hashed",
        "partners": "deltas",
        "policy_feed": "stream",
        "policy_feed_history": "stream",
        "stats": "pending",
        "tariffs": "flagged",
    },
    "insurance_2019": {
        "campaigns": "processed",
        "claims": "versions",
        "contracts": "archive",
        "contracts_history": "archive",
        "counters": "sequence",
        "customers": "embedded",
        "endorsements": "versions",
        "invoices": "hashed",
        "partners": "deltas",
        "policy_feed": "stream",
        "policy_feed_history": "stream",
        "quotes": "versions",
        "scans": "plain",
        "stats": "pending",
        "tariffs": "flagged",
    },
    "reporting": {"bson_types": "plain", "campaigns": "processed", "kpi": "plain", "texts": "plain"},
}
STAMPED = {"version": "v", "token": "_w", "at": "changedAt", "author": "changedBy"}
OWN = {"id": "docId", **STAMPED}
FIELDS = {
    "insurance.agents": {"id": "_id"},
    "insurance.claims": OWN,
    "insurance.contracts": {
        "id": "_id", **STAMPED, "archive": "insurance.contracts_history", "archive_id": "docId",
    },
    "insurance.counters": {"id": "_id", "counter": "seq"},
    "insurance.customers": {"id": "_id", **STAMPED, "current": "current", "prev": "prev"},
    "insurance.invoices": {"id": "_id", "hash": "_versioned_id"},
    "insurance.partners": OWN,
    "insurance.stats": {"id": "_id", "pending": "pending", "applied": "applied", "counter": "count"},
    "insurance.tariffs": {**OWN, "current": "current"},
    "insurance_2019.campaigns": {"id": "id", "processed": "processed"},
    "insurance_2019.quotes": {"id": "docId", "version": "v", "token": "_w"},
    "reporting.campaigns": {"id": "_id", "processed": "processed"},
}  # fmt: skip


@pytest.fixture(scope="module")
def sample() -> Iterator[LocalServer]:
    with open_sample() as made:
        yield made


@pytest.fixture(scope="module")
def server(sample: LocalServer) -> Iterator[Server]:
    with Server.connect(sample.uri) as made:
        yield made


@cache
def read(server: Server, db: str, time: int = 0) -> list[tuple[CollectionInfo, CollectionProfile]]:
    """What a database is recognised as, once for all tests, and once more for each other ``time``."""
    return list(recognise(server, db))


def recognised(server: Server, db: str, time: int = 0) -> dict[str, CollectionInfo]:
    return {info.ns.partition(".")[2]: info for info, _ in read(server, db, time)}


@pytest.mark.parametrize("db", EXPECTED)
@support.table("time", range(support.by_depth(1, 3)))
def test_every_collection_is_recognised_as_it_is_meant(server: Server, db: str, time: int) -> None:
    found = recognised(server, db, time)
    assert {name: info.layout for name, info in found.items()} == EXPECTED[db]
    for ns, fields in FIELDS.items():
        if ns.startswith(f"{db}."):
            assert dict(found[ns.partition(".")[2]].fields) == fields, ns


def test_archives_belong_to_their_current_documents(server: Server) -> None:
    for db in ("insurance", "insurance_2019"):
        belongs = {name: info.belongs_to for name, info in recognised(server, db).items() if info.belongs_to}
        assert belongs == {
            "contracts_history": f"{db}.contracts",
            "policy_feed_history": f"{db}.policy_feed",
        }


@pytest.mark.parametrize("db", support.some(EXPECTED, "reporting"))
def test_each_collection_is_told_alone_as_it_is_among_all_others(server: Server, db: str) -> None:
    all_others = read(server, db)
    told = [(info, profile, alone) for info, profile in all_others if (alone := recognise_one(server, info.ns))]
    assert len(told) > len(all_others) // 2  # what leaves a doubt, by what was drawn, is looked at among all others
    for info, profile, alone in told:
        assert alone[1] == profile
        assert (alone[0].layout, alone[0].belongs_to, bool(alone[0].doubt)) == (info.layout, info.belongs_to, False)


@pytest.mark.deep
def test_every_why_is_a_sentence_with_the_evidence(server: Server) -> None:
    for db in EXPECTED:
        for name, info in recognised(server, db).items():
            assert info.why[0].isupper() or info.why[0].isdigit(), info.why
            assert info.why.endswith("."), info.why
            assert 0.6 <= info.confidence <= 1.0, (name, info)
    contracts = recognised(server, "insurance")["contracts"].why
    assert "contracts_history holds the earlier version of all 12 documents" in contracts
    assert "_versioned_id is the hash of the content" in contracts


def test_documents_that_do_not_decode_are_spoken_of(server: Server) -> None:
    assert "do not decode" in recognised(server, "insurance_2019")["scans"].why


@pytest.mark.parametrize("lacks", [(), ("$unionWith",), ("$unionWith", "$lookup")])
def test_rows_of_many_collections_are_read_together_by_what_a_server_knows(lacks: tuple[str, ...]) -> None:
    parts: list[tuple[str, list[Terms]]] = [
        (f"db.c{at}", [{"$sort": {"_id": -1}}, {"$limit": 2}]) for at in range(JOINED + 20)
    ]
    with HostedServer(without_stages(*lacks)) as hosted, Server.connect(hosted.uri) as server:
        hosted.load("db.c0", [])
        for at in range(1, len(parts)):
            hosted.load(f"db.c{at}", [bson.encode({"_id": n, "of": at}) for n in range(at % 4)])
        with pytest.raises(Refused) if len(lacks) > 1 else nullcontext():
            rows = [(at, bson.decode(row)) for at, row in together(server, parts)]
            last = [(at, n) for at in range(len(parts)) for n in reversed(range(at % 4)) if n >= at % 4 - 2]
            assert rows == [(at, {"_id": n, "of": at}) for at, n in last]
