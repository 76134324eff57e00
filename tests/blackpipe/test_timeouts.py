"""Time-outs are always set, and within a second after them a write in doubt is known to be in doubt."""

from __future__ import annotations

import time

import pytest

from model.errors import Refused, Unreachable
from model.server.retry import GRACE, Server, Write, run
from model.values.canonical import Value
from tests.blackpipe.pipe import ALWAYS, BlackPipe, Plan
from tests.blackpipe.scenes import NS

PATIENCE = 0.3
SLACK = 1.5  # seconds that a busy machine may take for what is not waiting
WRITE = Write(NS, "update", {"_id": Value.of("K-1")}, {"$set": {"a": Value.of(1)}})

ADDRESSES = [
    ("", 30.0),
    ("&socketTimeoutMS=0", 30.0),
    ("&SOCKETTIMEOUTMS=0&connectTimeoutMS=0&serverSelectionTimeoutMS=0", 30.0),
    ("&timeoutMS=0", 30.0),
    ("&timeoutMS=0&socketTimeoutMS=0", 30.0),
    ("&socketTimeoutMS=700", 0.7),
    ("&timeoutMS=900", 0.9),
    ("&connectTimeoutMS=0&socketTimeoutMS=500", 0.5),
]


@pytest.mark.parametrize(("options", "patience"), ADDRESSES)
def test_a_time_out_is_set_whatever_the_address_says(options: str, patience: float) -> None:
    with BlackPipe() as pipe, Server.connect(pipe.uri + options) as server:
        assert server.patience == patience
        chosen = server._client.options
        assert (chosen.timeout or chosen.pool_options.socket_timeout) > 0
        assert chosen.pool_options.connect_timeout > 0
        assert chosen.server_selection_timeout > 0
        assert chosen.pool_options.wait_queue_timeout > 0


@pytest.mark.parametrize("fault", ["stall", "apply then stall"])
@pytest.mark.parametrize("server", ["standalone", "replica set"])
def test_in_doubt_is_known_within_the_time_out_plus_one_second(server: str, fault: str) -> None:
    def look() -> bool:
        return any(b"\x10a\x00" in raw for raw in port.find(NS, {"_id": Value.of("K-1")}))

    options = {"replica_set": "rs0"} if server == "replica set" else {}
    with BlackPipe(**options) as pipe:
        pipe.load(NS, [b"\x12\x00\x00\x00\x02_id\x00\x04\x00\x00\x00K-1\x00\x00"])
        with Server.connect(f"{pipe.uri}&socketTimeoutMS={PATIENCE * 1000:.0f}") as port:
            pipe.plan = Plan(0, fault, ALWAYS)
            began = time.monotonic()
            end = run(port, WRITE, look)
            took = time.monotonic() - began
            pipe.plan = Plan()
    assert end.kind == "unknown"
    assert end.sentence
    assert PATIENCE <= took < PATIENCE + GRACE + SLACK


def test_a_server_that_is_gone_is_looked_for_as_long_as_ever_and_not_as_long_as_it_might_have_answered() -> None:
    with BlackPipe() as pipe:
        address = f"{pipe.uri}&socketTimeoutMS=20000&serverSelectionTimeoutMS=200&connectTimeoutMS=200"
        with Server.connect(address) as port:
            pipe.close()
            began = time.monotonic()
            end = run(port, WRITE, lambda: any(port.find(NS, {"_id": Value.of("K-1")})))
            assert time.monotonic() - began < 3 * 0.2 + SLACK
    assert end.kind == "unknown"


def test_a_read_from_a_server_that_says_nothing_ends_in_a_sentence() -> None:
    with BlackPipe() as pipe, Server.connect(f"{pipe.uri}&socketTimeoutMS={PATIENCE * 1000:.0f}") as port:
        pipe.plan = Plan(0, "stall", ALWAYS)
        began = time.monotonic()
        with pytest.raises(Unreachable, match="did not answer in time"):
            list(port.find(NS))
        assert time.monotonic() - began < 2 * PATIENCE + SLACK


@pytest.mark.parametrize("code", [13, 18])
def test_a_greeting_that_is_refused_for_who_asks_is_told_at_once(code: int) -> None:
    with BlackPipe() as pipe:
        pipe.plan = Plan(0, f"refuse {code}", ALWAYS, greetings=True)
        began = time.monotonic()
        with pytest.raises(Refused, match="user name and password"):
            Server.connect(f"{pipe.uri}&serverSelectionTimeoutMS=60000")
        assert time.monotonic() - began < 30
        assert set(pipe.plan.seen) <= {"hello", "ismaster", "isMaster"}
