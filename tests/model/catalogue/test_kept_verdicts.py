"""What a run recognised on a server, as the next one finds it, and what is held against it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bson
import pytest

from model.localserver import LocalServer
from model.session import Session
from tests.model.command_log import CommandLog, listening

NS = "shop.orders"


def embedded(n: int) -> dict[str, Any]:
    past = [{"v": v, "total": v} for v in range(1, 4)]
    return {"_id": n, "current": {"v": 4, "total": n}, "prev": past}


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer() as made:
        made.load(NS, [bson.encode(embedded(n)) for n in range(20)])
        made.load("shop.notes", [bson.encode({"_id": n, "text": "x"}) for n in range(20)])
        yield made


@pytest.fixture
def log() -> Iterator[CommandLog]:
    with listening() as made:
        yield made


def recognised(server: LocalServer) -> None:
    with Session.open(server.uri) as session:
        assert {info.ns: info.layout for info in session.catalogue.collections()} == {
            NS: "embedded",
            "shop.notes": "plain",
        }


def test_the_next_run_lists_collections_as_they_were_left_and_counts_nothing(server: LocalServer) -> None:
    with Session.open(server.uri) as session:
        assert [info.layout for info in session.catalogue.named("shop")] == ["", ""]
    recognised(server)
    with Session.open(server.uri) as session:
        left = session.catalogue.named("shop")
        assert [(info.ns, info.layout, info.documents) for info in left] == [
            ("shop.notes", "plain", None),
            (NS, "embedded", None),
        ]


def test_another_collection_beside_them_leaves_only_names(server: LocalServer) -> None:
    recognised(server)
    server.load("shop.more", [bson.encode({"_id": 1})])
    with Session.open(server.uri) as session:
        assert {info.layout for info in session.catalogue.named("shop")} == {""}


def test_a_collection_of_the_same_name_made_anew_leaves_only_names(server: LocalServer) -> None:
    recognised(server)
    with Session.open(server.uri) as session:
        session._connection.server._client["shop"].drop_collection("notes")
    server.load("shop.notes", [bson.encode({"_id": 1})])
    with Session.open(server.uri) as session:
        assert {info.layout for info in session.catalogue.named("shop")} == {""}


def test_a_page_is_read_by_the_layout_of_an_earlier_run_without_a_sample(server: LocalServer, log: CommandLog) -> None:
    recognised(server)
    with Session.open(server.uri) as session:
        log.clear()
        info, _ = session.documents.opened(NS)
        assert (info.layout, info.documents) == ("embedded", 20)
        page = session.documents.page(NS)
        assert len(page.rows) == 20
        assert session.catalogue.is_supposed(NS)
        assert log.rows <= 21
        assert {one.layout for one in session.catalogue.collections() if one.ns == NS} == {"embedded"}
        assert not session.catalogue.is_supposed(NS)


def test_a_page_that_does_not_bear_out_that_layout_is_read_by_the_one_of_now(server: LocalServer) -> None:
    recognised(server)
    with Session.open(server.uri) as session:
        orders = session._connection.server._client["shop"]["orders"]
        orders.delete_many({})
        orders.insert_many([{"_id": n, "current": [1, 2], "text": "none of it"} for n in range(20)])
    with Session.open(server.uri) as session:
        assert session.documents.opened(NS)[0].layout == "embedded"
        assert len(session.documents.page(NS).rows) == 20
        assert not session.catalogue.is_supposed(NS)
        assert session.catalogue.info(NS).layout == "plain"


def test_a_page_of_some_fields_bears_it_out_as_far_as_it_was_read(server: LocalServer) -> None:
    recognised(server)
    with Session.open(server.uri) as session:
        session.documents.opened(NS)
        assert len(session.documents.page(NS, fields="current.total").rows) == 20
        assert session.catalogue.is_supposed(NS)


def test_nothing_is_written_by_that_layout_before_the_data_bear_it_out(server: LocalServer) -> None:
    recognised(server)
    with Session.open(server.uri) as session:
        session.documents.opened(NS)
        assert session.catalogue.is_supposed(NS)
        assert session.catalogue.objection(NS) == ""
        assert not session.catalogue.is_supposed(NS)


def test_a_field_name_that_is_no_utf8_is_listed_and_its_verdict_is_not_kept(tmp_path: Path) -> None:
    raws = [bson.encode({"_id": n, "name": n}).replace(b"name", b"n\xffme") for n in range(2)]
    with LocalServer() as local:
        local.load("shop.things", raws)
        for _ in range(2):
            with Session.open(local.uri, home=tmp_path) as session:
                assert [each.layout for each in session.catalogue.collections()] == ["plain"]
                assert len(session.documents.page("shop.things").rows) == 2
