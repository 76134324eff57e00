"""The feeder as a process: its rows and exit statuses, stopping and killing it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from model.commands import command_line
from model.localserver.wire import Command
from tests import support
from tests.model.feed.feed_support import NS, Ground, ground
from tests.model.feed.test_feed import STORY, act

ROOT = support.ROOT
PROFILE = """
[[collection]]
ns = "shop.orders"
layout = "stream"

[[collection]]
ns = "shop.notes"
layout = "stream"
archive = "shop.notes_past"

[[collection]]
ns = "shop.others"
layout = "plain"
"""


@pytest.fixture
def here() -> Iterator[Ground]:
    with ground() as made:
        yield made


@pytest.fixture
def profile(tmp_path: Path) -> str:
    path = tmp_path / "layouts.toml"
    path.write_text(PROFILE)
    return str(path)


@pytest.fixture
def feed(here: Ground, profile: str, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command here; exit status, standard output, standard error."""

    def called(*argv: str) -> tuple[int, str, str]:
        status = command_line.main(["feed", here.local.uri, *argv])
        return status, *capsys.readouterr()

    return called


def started(here: Ground, profile: str, *argv: str) -> subprocess.Popen[str]:
    """The command as a process of its own."""
    command = [sys.executable, "-m", "gui", "feed", here.local.uri, *argv, "--profile", profile]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def test_all_that_the_profile_states_as_stream_is_fed(here: Ground, feed: Any, profile: str) -> None:
    assert feed("--profile", profile, "--once")[0] == 0
    here.orders.insert_one({"_id": "A", "v": 1})
    here.client.shop.notes.insert_one({"_id": "N", "v": 1})
    status, out, err = feed("--profile", profile, "--once")
    assert (status, err) == (0, "")
    assert out.endswith("2 versions were archived.\n")
    assert here.archive.count_documents({}) == here.client.shop.notes_past.count_documents({}) == 1
    assert not [name for name in here.client.shop.list_collection_names() if name.startswith("others_")]


def test_rows_say_what_was_archived_and_what_was_not(here: Ground, feed: Any, profile: str) -> None:
    feed(NS, "--profile", profile, "--once")
    here.orders.insert_one({"_id": "A", "v": 1, "n": 1})
    feed(NS, "--profile", profile, "--once")
    here.edit("A", n=2)
    here.orders.update_one({"_id": "A"}, {"$set": {"n": 3}})
    status, out, _ = feed(NS, "--profile", profile, "--once", "--json")
    assert status == 1
    rows = [json.loads(line) for line in out.splitlines()]
    assert all(list(row) == ["outcome", "ns", "id", "v", "detail", "lag"] for row in rows)
    assert [(row["outcome"], row["id"], row["v"]) for row in rows] == [
        ("note", None, None),
        ("applied", "A", {"$numberInt": "2"}),
        ("conflict", "A", {"$numberInt": "2"}),
    ]


def test_what_cannot_be_fed_is_refused_in_one_sentence(here: Ground, feed: Any, profile: str) -> None:
    here.client.shop.others.insert_one({"_id": 1})
    for argv in (["--once"], ["shop.others", "--profile", profile, "--once"], ["--layout", "stream", "--once"]):
        status, out, err = feed(*argv)
        assert (status, out, err.count("\n")) == (2, "", 1)


def test_a_collection_can_be_fed_without_a_profile(here: Ground, feed: Any) -> None:
    here.orders.insert_many([{"_id": id, "v": 1, "n": 1} for id in "ABC"])
    here.archive.create_index([("docId", 1), ("v", 1)], unique=True)
    here.archive.insert_many([{"docId": id, "v": 1, "n": 1} for id in "AB"])
    assert feed(NS, "--layout", "stream", "--once")[0] == 0
    assert here.archive.count_documents({}) == 3


def test_a_dump_is_not_fed(tmp_path: Path, profile: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "orders.bson").write_bytes(b"")
    assert command_line.main(["feed", str(tmp_path), "--profile", profile, "--once"]) == 2
    assert "read-only" in capsys.readouterr().err


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_tidily_with_its_place_kept(here: Ground, profile: str, number: signal.Signals) -> None:
    with started(here, profile, NS, "--json") as feeder:
        assert feeder.stdout is not None
        while "change stream" not in feeder.stdout.readline():
            assert feeder.poll() is None
        here.orders.insert_one({"_id": "A", "v": 1})
        while json.loads(feeder.stdout.readline())["outcome"] != "applied":
            pass
        feeder.send_signal(number)
        _, err = feeder.communicate(timeout=60)
    assert (feeder.returncode, err) == (0, "")
    kept = here.ledger.find_one({"_id": NS})
    assert kept is not None
    with here.orders.watch(start_after=kept["token"], max_await_time_ms=1) as stream:
        assert stream.try_next() is None


@pytest.mark.deep
def test_killed_at_every_write_it_ends_with_each_version_once(here: Ground, profile: str) -> None:
    """Each run is killed at one write more than the one before it, in turn before that is done and behind it."""
    here.feed()
    act(here)
    victim: list[Any] = [None, 0, 0]  # the process, the write at which it is killed, those that it sent
    guard = threading.Lock()
    answer = here.local._commands.answer

    def killing(command: Command) -> bytes:
        writes = command.name in ("insert", "update") and command.database == "shop"
        with guard:
            victim[2] += writes
            now = writes and victim[2] == victim[1]
        behind = victim[1] % 2
        if now and not behind:
            os.kill(victim[0].pid, signal.SIGKILL)
            victim[0].wait()
            raise ConnectionError
        reply = answer(command)
        if now:
            os.kill(victim[0].pid, signal.SIGKILL)
            victim[0].wait()
        return reply

    here.local._commands.answer = killing  # type: ignore[method-assign]
    seen: dict[Any, Any] = {}
    while True:
        with guard:
            victim[1:] = [victim[1] + 1, 0]
            feeder = victim[0] = started(here, profile, NS, "--once")
        _, err = feeder.communicate(timeout=60)
        rows = {row["_id"]: row for row in here.archive.find()}
        assert seen.items() <= rows.items(), "history was rewritten"
        seen = rows
        if feeder.returncode != -signal.SIGKILL:
            break
    assert feeder.returncode in (0, 1)  # 1 where it tells once more what was changed in place
    assert err == ""
    here.local._commands.answer = answer  # type: ignore[method-assign]
    last = started(here, profile, NS, "--once")
    assert last.communicate(timeout=60)[1] == ""
    assert last.returncode == 0
    assert set(here.noted()) == {"changed in place", "deleted"}
    assert here.archived() == STORY
    assert victim[1] > len(STORY)
