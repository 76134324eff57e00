"""What one write reports if the driver itself tries twice, or never manages to send."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import bson
import pymongo
import pytest
from msgspec.structs import replace
from pymongo import monitoring
from pymongo.topology_description import TopologyDescription

from model.localserver.wire import Command
from model.server import driver
from model.server.driver import Attempts
from model.server.retry import Server, Write, run
from model.values.canonical import Value
from tests.blackpipe.pipe import ALWAYS, BlackPipe, Plan
from tests.blackpipe.scenes import NS
from tests.model.command_log import listening

SET = Write(NS, "update", {"_id": Value.of("K-1"), "v": Value.of(1)}, {"$set": {"v": Value.of(2)}})
BRINGS = replace(SET, returns=True)
STALE = Write(NS, "update", {"_id": Value.of("K-1"), "v": Value.of(0)}, {"$set": {"v": Value.of(2)}})


class Script(Plan):
    """What happens to the messages one after another."""

    def __init__(self, *faults: str) -> None:
        super().__init__()
        self.faults = list(faults)

    def next(self, command: Command) -> str:
        return self.faults.pop(0) if self.faults else ""


@pytest.fixture
def pipe() -> Iterator[BlackPipe]:
    with BlackPipe(replica_set="rs0") as made:
        made.load(NS, [bson.encode({"_id": "K-1", "v": 1})])
        yield made


@pytest.fixture
def server(pipe: BlackPipe) -> Iterator[Server]:
    with Server.connect(f"{pipe.uri}&socketTimeoutMS=2000&serverSelectionTimeoutMS=1000") as made:
        yield made


def stored(pipe: BlackPipe) -> int:
    pipe.settle()
    with pymongo.MongoClient[dict[str, Any]](pipe.uri) as client:
        doc = client["pipe"]["things"].find_one()
        assert doc is not None
        return int(doc["v"])


@pytest.mark.parametrize(("write", "code"), [*((SET, code) for code in (13, 121, 10334, 14031, 8000)), (BRINGS, 13)])
def test_a_refusal_of_the_second_attempt_is_not_taken_for_the_fate_of_the_first(
    pipe: BlackPipe, server: Server, write: Write, code: int
) -> None:
    pipe.plan = Script("land late", f"refuse {code}")
    reply = server.send(write)
    assert (reply.applied, reply.retry) == ("unknown", True)
    assert "connection was lost" in reply.sentence
    assert stored(pipe) == 2, "and it did arrive"


@pytest.mark.parametrize("write", [SET, BRINGS])
def test_a_first_attempt_that_was_applied_is_not_applied_again(pipe: BlackPipe, server: Server, write: Write) -> None:
    pipe.plan = Script("apply then cut")
    reply = server.send(write)
    assert reply.applied == "yes"
    assert reply.stored == (bson.encode({"_id": "K-1", "v": 2}) if write.returns else None)
    assert stored(pipe) == 2


@pytest.mark.parametrize("write", [STALE, replace(STALE, returns=True)])
def test_no_match_after_two_attempts_is_looked_into(pipe: BlackPipe, server: Server, write: Write) -> None:
    pipe.plan = Script("cut before")
    assert server.send(write).applied == "unknown"
    pipe.plan = Plan()
    assert server.send(write).applied == "no"


@pytest.mark.parametrize(("write", "applied", "matched"), [(SET, "yes", 1), (STALE, "no", 0)])
def test_what_could_not_be_confirmed_may_be_that_nothing_matched(
    pipe: BlackPipe, server: Server, write: Write, applied: str, matched: int
) -> None:
    pipe.plan = Script("write concern error", "write concern error")
    reply = server.send(write)
    assert (reply.applied, reply.matched) == (applied, matched) or reply.applied == "unknown"
    assert stored(pipe) == 1 + matched
    if applied == "no":
        assert reply.sentence == "" or reply.applied == "unknown", "a clean no match, for that is what it is"


def test_a_write_that_brings_the_document_and_is_not_confirmed_is_looked_for(pipe: BlackPipe, server: Server) -> None:
    for _ in range(6):  # the error differs each time: a time-out or a server on its way down, with labels and without
        server.send(replace(SET, filter={}, body={"$set": {"v": Value.of(1)}}))
        pipe.plan = Script("write concern error", "write concern error")
        end = run(server, BRINGS, lambda: stored(pipe) == 2)
        assert end.kind == "applied"
        assert end.reply is not None
        assert "unexpected" not in end.reply.sentence
        pipe.plan = Script("write concern error", "write concern error")
        assert run(server, replace(STALE, returns=True), lambda: False).kind in ("conflict", "unknown")
        assert stored(pipe) == 2


def test_what_could_not_even_be_sent_is_not_applied(pipe: BlackPipe, server: Server) -> None:
    pipe.plan = Plan(0, "cut before", ALWAYS)
    assert server.send(SET).applied == "unknown", "it went into a connection that was there"
    pipe.close()
    for _ in range(3):  # one that was opened in the last moment may have to be lost first
        reply = server.send(SET)
        if reply.applied != "unknown":
            break
    assert (reply.applied, reply.duplicate) == ("no", None)
    assert reply.sentence


@pytest.mark.parametrize("by_event", [False, True], ids=["told at once", "a driver that must make events"])
def test_the_driver_tells_of_what_is_sent_only_while_a_write_is(
    pipe: BlackPipe, monkeypatch: pytest.MonkeyPatch, by_event: bool
) -> None:
    told: list[str] = []
    if by_event:
        monkeypatch.setattr(driver, "_leads_with", lambda *_: False)
        monkeypatch.setattr(Attempts, "started", lambda attempts, event: told.append(event.command_name))
    else:
        monkeypatch.setattr(Attempts, "begun", lambda attempts, name: told.append(name))
        monkeypatch.setattr(Attempts, "started", None)
    alone = monitoring._LISTENERS._replace(command_listeners=[])
    monkeypatch.setattr(monitoring, "_LISTENERS", alone)  # other tests of this process may listen for good
    with Server.connect(pipe.uri) as server:
        server.count(NS)
        assert list(server.find(NS, limit=1))
        assert server.send(SET).applied == "yes"
        server.count(NS)
    assert told == ["update"]


def test_a_driver_that_keeps_its_listeners_otherwise_is_left_alone() -> None:
    other = SimpleNamespace(options=SimpleNamespace(pool_options=object(), event_listeners=[object()]))
    Attempts().heard_alone(by=cast("Any", other))
    assert vars(other.options).keys() == {"pool_options", "event_listeners"}


def test_who_listens_beside_it_is_told_of_all(pipe: BlackPipe) -> None:
    with listening() as log, Server.connect(pipe.uri) as server:
        assert list(server.find(NS, limit=1))
        assert server.send(SET).applied == "yes"
    assert log.names == ["find", "update"]


def test_who_takes_writes_is_looked_for_once_as_long_as_the_driver_sees_no_change(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[TopologyDescription] = []
    look = TopologyDescription.has_writable_server
    monkeypatch.setattr(TopologyDescription, "has_writable_server", lambda seen: (looked.append(seen), look(seen))[1])
    for _ in range(3):
        assert list(server.find(NS, limit=1))
    assert len(looked) == len(set(map(id, looked))), "each view of the driver was looked through once"
    assert looked
