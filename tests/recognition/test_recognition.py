"""A slice of the random databases: nothing ordinary is claimed, histories are; a lax recogniser is convicted."""

from __future__ import annotations

import itertools

import pymongo
import pytest

from model.catalogue import near_collections, recognise
from model.recognition import find_archives, key_candidates
from model.recognition.version_order import Judged
from model.server.retry import Server
from tests import support
from tests.recognition import harness
from tests.recognition.harness import Client
from tests.servers.hosted_server import HostedServer, without_stages


@pytest.mark.slice
def test_no_collection_of_an_ordinary_application_is_claimed(server: Server, client: Client, seed: int) -> None:
    tally = harness.ordinary(server, client, itertools.count(seed), support.by_depth(40, 200, 120))
    assert not tally.wrong


@pytest.mark.slice
def test_versioned_collections_are_recognised_whatever_their_names(server: Server, client: Client, seed: int) -> None:
    tally = harness.histories(server, client, itertools.count(seed), support.by_depth(18, 120, 54))
    assert not tally.wrong
    allowed = support.by_depth(3, 12, 5)  # a slice may meet more than its share of those that are not seen
    assert len(tally.missed) <= allowed, tally.missed


@pytest.mark.long
@pytest.mark.slice
@pytest.mark.deep
def test_a_collection_is_told_alone_as_it_is_among_all_others(server: Server, client: Client, seed: int) -> None:
    tally = harness.by_itself(server, client, itertools.count(seed), support.by_depth(40, 150))
    assert not tally.wrong
    assert len(tally.missed) <= tally.collections // 4


@pytest.mark.slice
def test_where_a_server_only_looks_collections_up_one_is_told_alone_as_it_is_among_all_others(seed: int) -> None:
    with (
        HostedServer(without_stages("$unionWith")) as hosted,
        Server.connect(hosted.uri) as server,
        pymongo.MongoClient[dict[str, object]](hosted.uri) as client,
    ):
        tally = harness.by_itself(server, client, itertools.count(seed), support.by_depth(20, 90, 40))
    assert not tally.wrong
    assert len(tally.missed) <= tally.collections // 4


@pytest.mark.deep
@pytest.mark.slice
def test_whoever_looks_only_at_what_was_asked_for_is_found_out(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near_collections, "related", lambda *_: [])
    assert harness.by_itself(server, client, itertools.count(40), 30).wrong


@pytest.mark.deep
@pytest.mark.slice
def test_a_recogniser_that_hears_no_contradiction_is_found_out(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Judged, "earned", property(lambda self: True))
    for module in (key_candidates, find_archives):
        monkeypatch.setattr(module, "names_a_part", lambda name: False)
    for name in ("RARE", "RARER", "RAREST"):
        monkeypatch.setattr(key_candidates, name, 1.0)
    tally = harness.ordinary(server, client, itertools.count(40), 150)
    assert tally.wrong
    assert not tally.enough()


@pytest.mark.deep
@pytest.mark.slice
def test_a_collection_in_which_two_programs_keep_versions_is_doubted(server: Server, client: Client, seed: int) -> None:
    tally = harness.shared(server, client, itertools.count(seed), support.by_depth(6, 40, 12))
    assert not tally.wrong
    assert len(tally.missed) <= support.by_depth(3, 15, 5), tally.missed  # a slice may meet more than its share of them


@pytest.mark.deep
@pytest.mark.slice
def test_whoever_does_not_look_at_parts_doubts_none(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognise, "several_writers", lambda *_: ("", ()))
    assert not harness.shared(server, client, itertools.count(40), 6).enough(harness.DOUBTED)
