"""The pipe: what goes wrong on cue, what the client and the server see of it, and what the audit says."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymongo
import pytest
from pymongo.errors import AutoReconnect, OperationFailure, PyMongoError

from model.errors import NotFound, Refused
from model.localserver import LocalServer
from model.pipe import Audit, Drawn, FaultPlan, Pipe, Wrong
from model.pipe.faults import FAULTS
from model.pipe.fixture import palimpsest_pipe as palimpsest_pipe
from model.pipe.proxy import PASSED
from model.profile import Profile
from model.session import Session
from resources import manual
from tests import support
from tests.journeys.command_support import rows_of
from tests.resources.manual_text import blocks

PROFILE = """
[[collection]]
ns = "shop.docs"
layout = "versions"
id = "docId"

[[collection]]
ns = "shop.carts"
layout = "archive"
archive = "shop.carts_past"

[[collection]]
ns = "shop.stats"
layout = "pending"
"""
Cue = Callable[..., pymongo.MongoClient[dict[str, Any]]]


class Ground:
    """A server, a session on it, and pipes before it."""

    def __init__(self, session: Session, folder: Path) -> None:
        self.session, self.folder = session, folder
        self.profile = Profile.load(folder / "layouts.toml")
        self.clients: list[pymongo.MongoClient[dict[str, Any]]] = []
        self.said: list[str] = []
        self.pipe: Pipe
        self.audit: Audit

    def through(self, *faults: dict[str, Any]) -> pymongo.MongoClient[dict[str, Any]]:
        """A client whose messages meet these faults."""
        plan = self.folder / "plan.jsonl"
        plan.write_text("\n".join(map(json.dumps, faults or [{"do": "cut", "nth": 10**6}])))
        self.audit = Audit(self.session, self.profile)
        self.pipe = Pipe(self.session.dial, FaultPlan.load(plan), witness=self.audit, say=self.said.append)
        self.pipe.__enter__()
        client: pymongo.MongoClient[dict[str, Any]] = pymongo.MongoClient(self.pipe.uri, retryWrites=False)
        self.clients.append(client)
        return client

    def wrong(self) -> list[Wrong]:
        """What the audit says when everything has ended."""
        self.close()
        return self.audit.wrong()

    def close(self) -> None:
        """End what is open."""
        for client in self.clients:
            client.close()
        if hasattr(self, "pipe"):
            self.pipe.close()


@pytest.fixture
def local() -> Iterator[LocalServer]:
    with LocalServer() as made:
        yield made


@pytest.fixture
def ground(local: LocalServer, tmp_path: Path) -> Iterator[Ground]:
    (tmp_path / "layouts.toml").write_text(PROFILE)
    with Session.open(local.uri, profile=tmp_path / "layouts.toml") as session:
        made = Ground(session, tmp_path)
        yield made
        made.close()


@pytest.mark.parametrize(
    ("fault", "fails", "stored"),
    [
        ("lose-request", True, 0),
        ("lose-reply", True, 1),
        ("late", True, 1),
        ("cut", True, 1),
        ("stall", True, 1),
        ("delay", False, 1),
        ("repeat", False, 2),
    ],
)
def test_each_fault_does_what_it_is_called_to_one_message(
    ground: Ground, local: LocalServer, fault: str, fails: bool, stored: int
) -> None:
    client = ground.through({"do": fault, "command": "update", "seconds": 0.01})
    client.shop.stats.insert_one({"_id": "a", "count": 0})
    failed = False
    try:
        client.shop.stats.update_one({"_id": "a"}, {"$inc": {"count": 1}})
    except AutoReconnect:
        failed = True
    assert failed == fails
    ground.close()
    with pymongo.MongoClient[dict[str, Any]](local.uri) as plain:
        assert plain.shop.stats.find_one() == {"_id": "a", "count": stored}
    assert ground.pipe.did == {fault: 1, PASSED: 1}


def test_every_fault_is_described() -> None:
    assert {"lose-request", "lose-reply", "late", "cut", "stall", "delay", "repeat"} == set(FAULTS)


def test_a_cue_waits_for_its_message(ground: Ground) -> None:
    client = ground.through({"do": "lose-request", "ns": "shop.docs", "nth": 2, "times": 2})
    ended = []
    for ns in ("docs", "stats", "docs", "stats", "docs", "docs"):
        try:
            client.shop[ns].insert_one({})
            ended.append(True)
        except AutoReconnect:
            ended.append(False)
    assert ended == [True, True, False, True, False, True]


def test_equal_seeds_draw_alike(ground: Ground) -> None:
    client = ground.through()
    drawn = []
    for _ in range(2):
        ground.pipe.faults = Drawn(5, kinds=("lose-request", "repeat"))
        ended = ""
        for _ in range(30):
            try:
                client.shop.docs.insert_one({})
                ended += "+"
            except AutoReconnect:
                ended += "-"
        drawn.append(ended)
    assert drawn[0] == drawn[1]
    assert "-" in drawn[0]


def test_a_driver_stays_on_the_pipe_of_a_replica_set(local: LocalServer, ground: Ground) -> None:
    ground.through()
    for options in ("directConnection=true", "directConnection=false"):
        with pymongo.MongoClient[dict[str, Any]](
            f"mongodb://{ground.pipe.host}/?{options}&compressors=zlib&retryWrites=false"
        ) as client:
            said = client.admin.command("hello")
            client.shop.docs.insert_one({})
            assert client.address == ("127.0.0.1", int(ground.pipe.host.split(":")[1]))
            assert not {"compression", "topologyVersion"} & {*said}
    assert ground.pipe.did[PASSED] == 2


def test_the_addresses_of_a_set_give_way_to_the_pipes_own() -> None:
    from model.localserver import wire
    from model.pipe import carried_messages as messages
    from model.values import canonical

    command = wire.Command(7, False, False, "hello", "admin", {})
    told = {"setName": "rs", "hosts": ["a:1", "b:2"], "primary": "a:1", "me": "b:2", "passives": ["c:3"], "ok": 1.0}
    found = canonical.decode(messages.staying(wire.reply(command, wire.pack(**told)), "here:5")[21:])
    assert found == {
        "setName": "rs",
        "hosts": ["here:5"],
        "primary": "here:5",
        "me": "here:5",
        "ok": 1.0,
    }


def test_the_address_for_clients_has_the_user_and_not_the_way(ground: Ground) -> None:
    ground.through()
    host, user = ground.pipe.host, "eva:p%40ss"
    assert ground.pipe.uri_like(f"mongodb://{user}@a:1,b:2/shop?replicaSet=rs&tls=true&tlsCAFile=/x&appName=t") == (
        f"mongodb://{user}@{host}/shop?appName=t&directConnection=true"
    )
    assert ground.pipe.uri_like(f"mongodb+srv://{user}@cluster.example.net/?retryWrites=true") == (
        f"mongodb://{user}@{host}/?retryWrites=true&directConnection=true&authSource=admin"
    )


def test_a_client_that_speaks_tls_is_told_once(ground: Ground) -> None:
    ground.through()
    for _ in range(2):
        with socket.create_connection(("127.0.0.1", int(ground.pipe.host.split(":")[1]))) as client:
            client.sendall(b"\x16\x03\x01\x00\x05hello")
            assert client.recv(1) == b""
    with socket.create_connection(("127.0.0.1", int(ground.pipe.host.split(":")[1]))) as client:
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert client.recv(1) == b""
    assert [each[:30] for each in ground.said] == ["A client speaks TLS to the pip", "A client says what is no messa"]


@pytest.mark.deep
def test_a_dead_server_is_told_and_ends_the_clients_connection(local: LocalServer, tmp_path: Path) -> None:
    (tmp_path / "layouts.toml").write_text(PROFILE)
    with Session.open(f"{local.uri}&serverSelectionTimeoutMS=2000", profile=tmp_path / "layouts.toml") as session:
        ground = Ground(session, tmp_path)
        client = ground.through()
        client.shop.docs.insert_one({"docId": "K", "v": 1})
        local.close()
        for _ in range(2):
            with pytest.raises(PyMongoError), pymongo.timeout(5):
                client.shop.docs.insert_one({"docId": "K", "v": 2})
        assert "The server does not take connections any more" in ground.said[0]
        with pytest.raises(Refused):
            ground.wrong()


# --- the audit


def kinds(found: list[Wrong]) -> list[str]:
    return sorted({each.kind for each in found})


def test_nothing_is_wrong_with_what_is_there(ground: Ground) -> None:
    client = ground.through({"do": "lose-reply", "nth": 3})
    docs = client.shop.docs
    docs.insert_one({"docId": "K", "v": 1, "n": 0})
    docs.insert_one({"docId": "K", "v": 2, "n": 1})
    with pytest.raises(AutoReconnect):
        docs.insert_one({"docId": "K", "v": 3, "n": 2})
    told(client, "unknown", "shop.docs", "K", inc={"n": 1})
    told(client, "applied", "shop.docs", "K", inc={"n": 1})
    assert ground.wrong() == []
    assert (ground.audit.seen.acknowledged, ground.audit.seen.in_doubt) == (2, 1)


def told(client: pymongo.MongoClient[dict[str, Any]], how: str, ns: str, id: Any, **what: Any) -> None:
    client.shop.command({"ping": 1, "comment": {"told": how, "ns": ns, "id": id, **what}})


def test_an_acknowledged_document_that_is_gone_is_lost_unless_deleted(ground: Ground, local: LocalServer) -> None:
    client = ground.through()
    client.shop.docs.insert_many([{"docId": id, "v": 1} for id in "KLM"])
    client.shop.docs.delete_many({"docId": "L"})
    with pymongo.MongoClient[dict[str, Any]](local.uri) as other:
        other.shop.docs.delete_many({"docId": "M"})
    assert [(each.kind, each.id and each.id.python()) for each in ground.wrong()] == [("lost", "M")]


def test_a_version_that_was_acknowledged_and_never_archived_is_lost(ground: Ground) -> None:
    client = ground.through()
    carts = client.shop.carts
    carts.insert_one({"_id": 1, "v": 1})
    for v in (1, 2):
        carts.update_one({"_id": 1, "v": v}, {"$inc": {"v": 1}})
    found = ground.wrong()
    assert kinds(found) == ["lost"]
    assert any("v2 was acknowledged" in each.detail for each in found)


def test_a_version_that_is_changed_in_the_archive_is_lost(ground: Ground) -> None:
    client = ground.through()
    client.shop.carts.insert_one({"_id": 1, "v": 2, "n": 5})
    past = client.shop.carts_past
    past.update_one({"docId": 1, "v": 1}, {"$set": {"n": 3}}, upsert=True)
    past.update_one({"docId": 1, "v": 1}, {"$set": {"n": 4}}, upsert=True)
    (wrong,) = ground.wrong()
    assert "changed in the archive" in wrong.detail


def test_two_documents_of_one_version_are_a_fork_and_old_ones_are_not_counted(
    ground: Ground, local: LocalServer
) -> None:
    with pymongo.MongoClient[dict[str, Any]](local.uri) as other:
        other.shop.docs.insert_many([{"docId": "old", "v": 1, "n": n} for n in range(2)])
    client = ground.through({"do": "lose-reply"})
    with pytest.raises(AutoReconnect):
        client.shop.docs.insert_one({"docId": "K", "v": 1, "n": 0})
    client.shop.docs.insert_one({"docId": "K", "v": 1, "n": 0})
    assert [(each.kind, each.id and each.id.python()) for each in ground.wrong()] == [("fork", "K")]


def test_a_token_that_is_left_is_told_whatever_its_age(ground: Ground) -> None:
    from bson import ObjectId

    client = ground.through()
    client.shop.stats.insert_one({"_id": "a", "count": 0})
    client.shop.stats.update_one({"_id": "a"}, {"$addToSet": {"pending": ObjectId()}})
    assert kinds(ground.wrong()) == ["token"]


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ([("applied", {"inc": {"n": 2}})], []),
        ([("applied", {"inc": {"n": 3}})], ["lost"]),
        ([("applied", {"inc": {"n": 1}})], ["doubled"]),
        ([("applied", {"inc": {"n": 1}}), ("unknown", {"inc": {"n": 1}})], []),
        ([("refused", {"inc": {"n": 2}})], ["doubled"]),
        ([("applied", {"push": {"list": "a"}})], ["doubled"]),
        ([("applied", {"push": {"list": "b"}})], []),
        ([("applied", {"push": {"list": "c"}})], ["lost"]),
        ([("refused", {"push": {"list": "b"}})], ["refused"]),
        ([("applied", {"set": {"in.side": 7}})], []),
        ([("applied", {"set": {"in.side": 8}})], ["lost"]),
        ([("applied", {"set": {"in.side": 6}})], ["lost"]),
        ([("applied", {"set": {"in.side": 6}}), ("applied", {"set": {"in.side": 7}})], []),
        ([("refused", {"set": {"in.side": 7}})], ["refused"]),
        ([("refused", {"set": {"in.side": 7}}), ("unknown", {"set": {"in.side": 7}})], []),
    ],
)
def test_what_the_program_told_is_held_against_the_history(
    ground: Ground, said: list[tuple[str, dict[str, Any]]], wrong: list[str]
) -> None:
    client = ground.through()
    client.shop.docs.insert_one({"docId": "K", "v": 1, "in": {"side": 6}, "n": 1, "list": ["a"]})
    client.shop.docs.insert_one({"docId": "K", "v": 2, "in": {"side": 7}, "n": 2, "list": ["a", "b", "a"]})
    for how, what in said:
        told(client, how, "shop.docs", "K", **what)
    assert kinds(ground.wrong()) == wrong


@pytest.mark.parametrize(
    ("comment", "why"),
    [
        ({"told": "done"}, "told is one of"),
        ({"told": "applied", "ns": "shop.others"}, "ns names a collection of the profile"),
        ({"told": "applied", "ns": "shop.docs"}, "id is missing"),
        ({"told": "applied", "ns": "shop.docs", "id": 1}, "name what was changed"),
        ({"told": "applied", "ns": "shop.docs", "id": 1, "inc": {"n": "x"}}, "inc takes numbers"),
    ],
)
def test_what_is_told_wrongly_is_refused(ground: Ground, comment: dict[str, Any], why: str) -> None:
    client = ground.through()
    with pytest.raises(OperationFailure, match=why):
        client.shop.command({"ping": 1, "comment": comment})


# --- plans and places


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "has no fault"),
        ("[[faults]]\n", "no key 'faults'"),
        ("[fault]\n", "two brackets"),
        ('[[fault]]\ndo = "burn"\n', "fault 1: do is one of lose-request"),
        ('[[fault]]\ndo = "cut"\nwhen = 1\n', "no key 'when'"),
        ('[[fault]]\ndo = "cut"\ncommand = "hello"\n', "hello always passes"),
        ('[[fault]]\ndo = "cut"\nnth = 0\n', "nth is a whole number from 1 on"),
        ('[[fault]]\ndo = "cut"\nns = "docs"\n', "ns is database.collection"),
        ('[[fault]]\ndo = "delay"\nseconds = -1\n', "seconds is a number"),
        ("[[fault", "cannot be read"),
        ('{"do": "cut"}\n{', "cannot be read"),
        ('{"do": "cut"}\n7\n', "fault 2: each fault is an object"),
    ],
)
def test_a_plan_that_cannot_be_read_is_told_in_one_sentence(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "plan"
    path.write_text(text)
    with pytest.raises(Refused, match=why) as refusal:
        FaultPlan.load(path)
    assert str(refusal.value).count("\n") == 0
    with pytest.raises(NotFound):
        FaultPlan.load(tmp_path / "none")


def test_the_plan_in_the_manual_can_be_read(tmp_path: Path) -> None:
    (plan,) = blocks(manual.page("pipe"), "ini")
    (tmp_path / "plan.toml").write_text(plan)
    assert FaultPlan.load(tmp_path / "plan.toml")
    listed = re.findall(r"^\| `([\w-]+)` \| (.+) \|$", manual.page("pipe"), re.MULTILINE)
    assert dict(listed) == FAULTS


def test_a_place_that_is_none_or_taken_is_told_in_one_sentence(ground: Ground) -> None:
    ground.through()
    for listen, why in ((ground.pipe.host, "in use by another program"), ("there", "is no place to listen")):
        with pytest.raises(Refused, match=why):
            Pipe(ground.session.dial, Drawn(1), listen)


# --- the command and the fixture


def test_the_command_runs_a_program_through_it_and_audits(
    local: LocalServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from model.commands import command_line

    profile, program = tmp_path / "layouts.toml", tmp_path / "program.sh"
    profile.write_text(PROFILE)
    program.write_text('test -n "$PALIMPSEST_PIPE"')
    argv = ["pipe", "127.0.0.1:0", local.uri, "--seed", "3", "--audit", str(profile)]
    assert command_line.main([*argv, "--json", "--run", "sh", str(program)]) == 0
    listening, end = rows_of(capfd.readouterr().out)
    assert listening["faults"] == "faults drawn with --seed 3"
    assert end == {"passed": 0, "did": {}, "acknowledged": 0, "in_doubt": 0}
    program.write_text("exit 7")
    assert command_line.main([*argv, "--run", "sh", str(program)]) == 2
    assert "ended with status 7" in capfd.readouterr().err
    assert command_line.main([*argv, "--run", str(tmp_path / "none")]) == 2
    assert "cannot be started" in capfd.readouterr().err
    assert command_line.main([*argv, "--fault", "fire"]) == 2
    assert "fire is no fault" in capfd.readouterr().err


def test_a_pipe_that_is_stopped_audits(
    local: LocalServer, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from model.commands import command_line, pipe

    profile = tmp_path / "layouts.toml"
    profile.write_text(PROFILE)

    def act(args: Any, made: Pipe, stop: threading.Event) -> int:
        with pymongo.MongoClient[dict[str, Any]](made.uri) as client:
            client.shop.carts.insert_many([{"_id": 1, "v": 3}])
        return 0

    monkeypatch.setattr(pipe, "_until_the_end", act)
    argv = ["pipe", "127.0.0.1:0", local.uri, "--rate", "0", "--audit", str(profile)]
    assert command_line.main(argv) == 1
    out = capfd.readouterr().out
    assert "lost: shop.carts 1: A4" in out
    assert out.endswith("1 wrong.\n")


def test_the_fixture_audits_nothing_where_nothing_is_asked(palimpsest_pipe: Any, local: LocalServer) -> None:
    pipe = palimpsest_pipe(local.uri, rate=0.0)
    with pymongo.MongoClient[dict[str, Any]](pipe.uri) as client:
        client.shop.docs.insert_one({})
    assert pipe.did[PASSED] == 1


@pytest.mark.deep
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_pipe_and_begins_the_audit(local: LocalServer, tmp_path: Path, number: int) -> None:
    profile = tmp_path / "layouts.toml"
    profile.write_text(PROFILE)
    words = [sys.executable, "-m", "gui", "pipe", "127.0.0.1:0", local.uri, "--rate", "0", "--audit", str(profile)]
    with subprocess.Popen([*words, "--json"], stdout=subprocess.PIPE, text=True, cwd=support.ROOT) as running:
        assert running.stdout is not None
        uri = json.loads(running.stdout.readline())["listening"]
        with pymongo.MongoClient[dict[str, Any]](uri) as client:
            client.shop.docs.insert_many([{"docId": "K", "v": v} for v in (1, 3)])
        running.send_signal(number)
        rows = rows_of(running.stdout.read())
        assert running.wait() == 1
    assert rows[0]["acknowledged"] == 1
    assert [(row["wrong"], row["id"]) for row in rows[1:]] == [("lost", "K")]


@pytest.mark.deep
def test_the_fixture_fails_the_test_of_a_program_that_loses(
    pytester: pytest.Pytester, local: LocalServer, tmp_path: Path
) -> None:
    profile = tmp_path / "layouts.toml"
    profile.write_text(PROFILE)
    pytester.makeconftest("from model.pipe.fixture import palimpsest_pipe")
    pytester.makepyfile(
        f"""
        import pymongo

        def test_it(palimpsest_pipe):
            pipe = palimpsest_pipe({local.uri!r}, audit={str(profile)!r}, rate=0.0, seed=9)
            with pymongo.MongoClient(pipe.uri) as client:
                client.shop.carts.insert_one({{"_id": 1, "v": 3}})
        """
    )
    said = pytester.runpytest_subprocess("-p", "no:cacheprovider").stdout.str()
    assert "lost: A4" in said
    assert "(seed 9)" in said


pytest_plugins = ["pytester"]
