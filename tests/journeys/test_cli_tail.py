"""New versions on the command line: a line for each, until it is stopped, which counts as success."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pymongo
import pytest

from model.commands import command_line
from model.localserver import LocalServer
from tests import support


@pytest.fixture
def local() -> Iterator[LocalServer]:
    with LocalServer(replica_set="rs0") as made:
        yield made


@pytest.fixture
def orders(local: LocalServer) -> Iterator[Any]:
    with pymongo.MongoClient[dict[str, Any]](local.uri) as client:
        orders = client["shop"]["orders"]
        orders.create_index([("docId", 1), ("v", 1)], unique=True)
        orders.insert_many([{"docId": f"K-{n}", "v": v, "total": n} for n in range(5) for v in (1, 2)])
        yield orders


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_row_comes_for_each_new_version_and_a_signal_ends_it_in_order(
    local: LocalServer, orders: Any, number: signal.Signals
) -> None:
    command = [sys.executable, "-m", "gui", "tail", local.uri, "shop.orders", "--json"]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, cwd=support.ROOT, **pipes) as tail:
        try:
            assert tail.stderr is not None
            assert tail.stdout is not None
            assert tail.stderr.readline() == "New versions of shop.orders follow as they come; Ctrl+C ends it.\n"
            orders.insert_many([{"docId": "K-1", "v": v, "total": v} for v in (3, 4)])
            found = [json.loads(tail.stdout.readline()) for _ in range(2)]
            tail.send_signal(number)
            rest, err = tail.communicate(timeout=60)
        finally:
            tail.kill()
    assert (tail.returncode, rest, err) == (0, "", "")
    assert [(row["ns"], row["id"], row["v"]["$numberInt"], row["kind"]) for row in found] == [
        ("shop.orders", "K-1", "3", "edited"),
        ("shop.orders", "K-1", "4", "edited"),
    ]
    assert list(found[0]) == ["at", "author", "reason", "ns", "id", "v", "kind", "paths", "values"]


def test_a_collection_without_versions_is_refused_in_one_sentence(
    local: LocalServer, orders: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    orders.database["notes"].insert_many([{"_id": n, "text": "x"} for n in range(5)])
    for argv in (["shop.notes"], ["--layout", "versions"], ["nowhere.at_all"]):
        assert command_line.main(["tail", local.uri, *argv]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
