"""A server that answers badly is told so in a sentence, and wastes its reader's time only up to a limit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import bson
import pymongo
import pytest

from model.checks.ordered_reading import OrderedReading, all_of
from model.errors import Refused
from model.server import server as product
from model.server.server import MOST_SHORT, Server
from tests.model import session_scenes
from tests.servers.lying import Lie, LyingServer, in_cursor, raw, rows, saying, without_end

NS = "shop.contracts"


@pytest.fixture
def lying() -> Iterator[LyingServer]:
    with LyingServer() as server:
        with pymongo.MongoClient[dict[str, Any]](server.uri) as client:
            session_scenes.archive(client["shop"])
        yield server


@pytest.fixture
def port(lying: LyingServer) -> Iterator[Server]:
    with Server.connect(f"{lying.uri}&serverSelectionTimeoutMS=500&socketTimeoutMS=5000") as made:
        yield made


NAMES = [7, None, {}, "", "a b", "a.b", "a/b", "a\0b", "$a", "x" * 70_000]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: repr(name)[:10])
def test_a_name_that_no_database_can_have_costs_itself_and_is_told(lying: LyingServer, port: Server, name: Any) -> None:
    lying.lies = {"listDatabases": saying(databases=[{"name": name}, {"name": "shop"}])}
    assert port.databases() == ["shop"]
    assert "names that no database can have: the server lists 1." in port.unseen[""]


@pytest.mark.parametrize("name", [7, None, {}, "", "a\0b", "x" * 70_000], ids=lambda name: repr(name)[:10])
def test_a_name_that_no_collection_can_have_costs_itself_and_is_told(
    lying: LyingServer, port: Server, name: Any
) -> None:
    lying.lies = {"listCollections": rows({"name": name}, {"name": "contracts"})}
    assert [each[0] for each in port.collections("shop")] == ["contracts"]
    assert "names that no collection can have: the server lists 1." in port.unseen["shop"]


@pytest.mark.parametrize("key", [7, "x", None, {"a": {}}, {"a": [1]}], ids=repr)
def test_an_index_whose_key_is_none_is_an_answer_that_cannot_be_read(
    lying: LyingServer, port: Server, key: Any
) -> None:
    lying.lies = {"listIndexes": rows({"name": "x", "key": key})}
    with pytest.raises(Refused, match="could not be read"):
        port.indexes(NS)


@pytest.mark.parametrize("number", [-1, 2.0**70, float("nan"), "three", {}], ids=repr)
def test_a_count_that_is_none_is_an_answer_that_cannot_be_read(lying: LyingServer, port: Server, number: Any) -> None:
    lying.lies = {"count": saying(n=number)}
    with pytest.raises(Refused, match="could not be read"):
        port.count(NS)


@pytest.mark.parametrize(
    "lie",
    [raw(b""), raw(bson.encode({"a": "text"}).replace(b"\2a", b"\x66a")), saying(ok={}), in_cursor(firstBatch=[1, 2])],
    ids=["nothing", "an unknown type", "neither well nor not", "rows that are numbers"],
)
def test_a_damaged_answer_is_one_sentence_and_the_next_one_is_read(lying: LyingServer, port: Server, lie: Lie) -> None:
    lying.lies = {"find": lie}
    with pytest.raises(Refused) as refusal:
        list(port.find(NS))
    assert str(refusal.value).endswith(".")
    assert "\n" not in str(refusal.value)
    lying.lies = {}
    assert len(list(port.find(NS))) == 2


@pytest.mark.parametrize("number", [0, 1, 300])
@pytest.mark.parametrize("command", ["find", "listCollections", "listIndexes"])
def test_a_cursor_without_end_ends(
    lying: LyingServer, port: Server, command: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("MOST_LISTED", 500), ("MOST_SECONDS", 0.2)):
        monkeypatch.setattr(product, name, value)
    monkeypatch.setattr(port, "patience", 0.1)
    lying.lies = dict.fromkeys((command, "getMore"), without_end(number))
    began = time.monotonic()
    ask = {"find": lambda: list(port.find(NS, max_ms=200)), "listIndexes": lambda: port.indexes(NS)}
    with pytest.raises(Refused, match=r"could not be read|took longer"):
        ask.get(command, lambda: port.collections("shop"))()
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("number", [0, 1, 300])
@pytest.mark.parametrize("command", ["find", "listCollections", "listIndexes"])
def test_a_cursor_that_repeats_itself_is_noticed_before_any_time_is_over(
    lying: LyingServer, port: Server, command: str, number: int
) -> None:
    lying.lies = dict.fromkeys((command, "getMore"), without_end(number))
    ask = {"find": lambda: list(port.find(NS)), "listIndexes": lambda: port.indexes(NS)}
    with pytest.raises(Refused, match="could not be read"):
        ask.get(command, lambda: port.collections("shop"))()
    assert lying.asked <= MOST_SHORT + 10


def test_a_scan_ends_though_each_new_cursor_repeats_what_was_read(lying: LyingServer, port: Server) -> None:
    lying.lies = dict.fromkeys(("find", "getMore"), without_end(1))
    with pytest.raises(Refused, match="could not be read"):
        list(all_of(OrderedReading(port), NS))


def test_no_more_rows_come_than_were_asked_for(lying: LyingServer, port: Server) -> None:
    lying.lies = {"find": rows(*({"_id": n} for n in range(100)))}
    for limit in (1, 2, 7, 30):
        assert len(list(port.find(NS, limit=limit))) == limit


def test_a_cursor_that_cannot_be_closed_is_left_to_its_server(
    lying: LyingServer, port: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    ignored: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", ignored.append)
    lying.lies = {"find": in_cursor(id=float("nan"))}
    found = port.find(NS)
    next(found)
    del found
    assert ignored == []


@pytest.mark.parametrize(
    "info",
    [7, {"authenticatedUsers": 7}, {"authenticatedUserPrivileges": [7, {"resource": 7, "actions": 7}]}],
    ids=repr,
)
def test_what_a_server_says_of_rights_is_only_taken_as_it_can_be(lying: LyingServer, port: Server, info: Any) -> None:
    lying.lies = {"connectionStatus": saying(authInfo=info)}
    assert not any(port.logged_in().values())


@pytest.mark.parametrize("version", [{}, 7, "x" * 10_000])
def test_a_version_that_is_none_is_unknown(lying: LyingServer, port: Server, version: Any) -> None:
    lying.lies = {"buildInfo": saying(version=version)}
    assert port.facts(refresh=True).version == "unknown version"
