"""What commands ask that start anew each time: of a server that joins collections, one that cannot, and few rights."""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bson
import pytest
from bson import ObjectId
from pymongo.mongo_client import MongoClient

from model.commands import command_line
from model.errors import Refused
from model.localserver import LocalServer
from model.profile import stated
from model.profile.profile_file import block
from model.server import server
from model.server.privileges import may_read
from model.server.retry import Server
from model.session import Session
from model.storage import composite_ids
from model.values.canonical import Value
from tests import support
from tests.guarded_server import GuardedServer
from tests.model.command_log import CommandLog, listening
from tests.model.test_command_counts import named, stored
from tests.privileges import Need, may
from tests.servers.hosted_server import PROFILES, HostedServer, without_stages

JOINS = PROFILES["standalone"]
CANNOT_JOIN = without_stages("$unionWith")
SERVERS = ("joins", "cannot join", "few rights")
FEW = ("find", "insert", "update", "remove", "listIndexes")


@pytest.fixture
def log() -> Iterator[CommandLog]:
    with listening() as made:
        yield made


@contextlib.contextmanager
def serving(server: str) -> Iterator[tuple[LocalServer, str]]:
    """A server to load, and the address under which the user of the commands meets it."""
    if server != "few rights":
        with HostedServer({"joins": JOINS, "cannot join": CANNOT_JOIN}.get(server) or PROFILES[server]) as made:
            yield made, made.uri
        return
    rights = {"eva": [may("db", *FEW, collection=name) for name in ("things", "things_history")]}
    with GuardedServer({"eva": "p"}, rights) as guarded:
        yield guarded.store, f"mongodb://eva:p@{guarded.host}/?serverSelectionTimeoutMS=60000"


def connected(uri: str) -> MongoClient[dict[str, Any]]:
    """A client whose commands no log has."""
    return MongoClient[dict[str, Any]](uri)


def load(server: LocalServer, layout: str, others: int = 0, documents: int = 420) -> None:
    for n in range(others):
        server.load(f"db.c{n}", [bson.encode(named(n, at)) for at in range(8)])
    for name, rows in stored(layout, documents).items():
        server.load(f"db.{name}", map(bson.encode, rows))
        if "docId" in rows[0]:
            server.index(f"db.{name}", [("docId", 1), ("v", 1)], unique=True)


def run(*arguments: str) -> int:
    return command_line.main([*map(str, arguments)])


PLACES = {
    "archive": {"archive": "db.things_history", "archive_id": "docId"},
    "versions": {"id": "docId"},
    "nested": {"version": "v", "prev": "versions"},
}


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("layout", support.every(2, ["archive", "versions", "plain", "embedded", "nested"]))
def test_a_stated_layout_is_read_without_a_sample_and_edited_with_one_a_day(
    server: str, layout: str, log: CommandLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = tmp_path / "team.toml"
    profile.write_text(block(stated("db.things", layout, token_unsaid=True, **PLACES.get(layout, {}))), "utf-8")
    with serving(server) as (local, uri):
        load(local, layout)
        told = ("--profile", str(profile))
        # A newest version is read with the row below it, by which it is known for the newest.
        each = 2 if layout == "versions" else 1
        assert run("show", uri, "db.things", "d3", *told) == 0
        assert log.rows <= each + 2
        log.clear()
        assert run("history", uri, "db.things", "d3", *told) == 0
        assert log.rows <= 2 * each + 2
        log.clear()
        assert run("diff", uri, "db.things", "d3", "1", "2", *told) == (2 if layout in ("plain", "hashed") else 1)
        assert log.rows <= 4 * each + 2
        for price in (2, 3):
            log.clear()
            assert run("edit", uri, "db.things", "d3", "--set", f"price={price}", *told) == 0
        # Without the right to list collections nobody can tell that a collection is still the same.
        assert server == "few rights" or log.rows <= 3 * each + 2
        capsys.readouterr()
        assert run("show", uri, "db.things", "d3", *told) == 0
        assert json.loads(capsys.readouterr().out)["price"] == {"$numberInt": "3"}


@pytest.mark.parametrize(
    ("server", "others", "layouts"),
    [
        ("cannot join", 16, ["versions"]),
        ("few rights", 16, ["versions"]),
        pytest.param("joins", 200, ["hashed", "archive"], marks=[pytest.mark.deep, pytest.mark.slice]),
        pytest.param("cannot join", 200, ["embedded"], marks=[pytest.mark.deep, pytest.mark.slice]),
        pytest.param("cannot join", 60, ["hashed", "archive"], marks=pytest.mark.deep),
    ],
)
def test_a_layout_that_was_recognised_is_used_again_and_costs_a_dozen_commands(
    server: str, others: int, layouts: list[str], log: CommandLog
) -> None:
    for layout in layouts:
        with serving(server) as (local, uri):
            load(local, layout, others, 8)
            assert run("show", uri, "db.things", "d3") == 0
            assert (
                run("edit", uri, "db.things", "d3", "--set", "more=1") == 0
            )  # damage is looked for once a day as well
            commands = [
                ("show", uri, "db.things", "d2"),
                ("history", uri, "db.things", "d3"),
                ("edit", uri, "db.things", "d3", "--set", "price=7"),
            ]
            for command in commands:
                log.clear()
                assert run(*command) == 0
                assert server == "few rights" or len(log.names) <= 12
                assert log.rows <= (24 if layout == "hashed" else 12) or server == "few rights"
            if server != "few rights":
                assert run("show", uri, "db.c0", "c0-3") == 0
                log.clear()
                assert run("show", uri, "db.c1", "c1-3") == 0
                assert server == "joins" or len(log.names) <= 12  # all were recognised together


@pytest.mark.parametrize(
    ("server", "others", "layouts"),
    [
        *((server, 16, ["versions", "plain"]) for server in (*SERVERS, "documentdb-5")),
        pytest.param("joins", 200, ["archive", "hashed"], marks=[pytest.mark.deep, pytest.mark.slice]),
        pytest.param("cannot join", 200, ["versions", "embedded"], marks=[pytest.mark.deep, pytest.mark.slice]),
        pytest.param("few rights", 200, ["archive"], marks=pytest.mark.deep),
    ],
)
def test_a_document_among_many_collections_is_shown_in_a_dozen_commands_the_first_time_too(
    server: str, others: int, layouts: list[str], log: CommandLog
) -> None:
    for layout in layouts:
        with serving(server) as (local, uri):
            load(local, layout, others, 8)
            log.clear()
            assert run("show", uri, "db.things", "d3") == 0
            assert len(log.names) <= 12
            with Session.open(uri) as session:
                assert session.catalogue.known("db.things")[0].layout == layout


LISTS_ALL = [may("db", "listCollections"), *(may("db", *FEW, collection=name) for name in ("things", "things_history"))]


@pytest.mark.parametrize("layout", ["versions", pytest.param("hashed", marks=[pytest.mark.deep, pytest.mark.slice])])
def test_what_a_user_may_not_read_is_learnt_from_the_first_refusal(
    layout: str, log: CommandLog, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with GuardedServer({"eva": "p"}, {"eva": LISTS_ALL}) as guarded:
        uri = f"mongodb://eva:p@{guarded.host}/?serverSelectionTimeoutMS=60000"
        load(guarded.store, layout, support.by_depth(24, 200), 8)
        assert run("show", uri, "db.things", "d3") == 0
        assert len(log.names) <= 12
        log.clear()
        capsys.readouterr()
        assert run("collections", uri, "--json") == 0
        assert len(log.names) <= 12
        told = capsys.readouterr().out
        with Session.open(uri) as session:
            with pytest.raises(Refused, match=r"lacks the privilege find on db\.c0"):
                session.documents.page("db.c0")
            guarded.allow("eva", [*LISTS_ALL, may("db", *FEW, collection="c0")])
            monkeypatch.setattr(server, "RIGHTS_LAST", 0.0)
            session.catalogue.look_anew()
            assert len(session.documents.page("db.c0").rows) == 8
        guarded.allow("eva", LISTS_ALL)
        assert run("collections", uri, "--json") == 0
        assert capsys.readouterr().out == told, "it is the same as where each is asked"


def test_privileges_forbid_no_read_that_the_server_allows(seed: int) -> None:
    rng, forbidden = random.Random(seed), 0
    resources = [{"anyResource": True}, {"cluster": True}, {"db": "db", "system_buckets": "a"}]
    resources += [{"db": db, "collection": name} for db in ("", "db", "other") for name in ("", "a", "b")]
    for _ in range(500):
        drawn = [{"resource": rng.choice(resources), "actions": rng.sample(["find", "insert", "listCollections"], 2)}]
        drawn += [{"resource": rng.choice(resources), "actions": ["find"]} for _ in range(rng.randint(0, 2))]
        for name in ("a", "b", "system.views"):
            allowed = may_read(f"db.{name}", drawn)
            known = [each for each in drawn if "system_buckets" not in each["resource"]]
            assert allowed or not Need("find", "db", name).met_by(known)
            forbidden += not allowed
    assert forbidden > 100
    assert may_read("db.a", [])


@pytest.mark.parametrize(
    ("server", "collections", "commands"), [("joins", 10, 24), ("cannot join", 10, 25), ("few rights", 2, 18)]
)
def test_all_collections_are_told_alike_whether_or_not_their_first_documents_are_read_together(
    server: str, collections: int, commands: int, log: CommandLog, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(server) as (local, uri):
        load(local, "archive", 8)
        assert run("collections", uri, "--json") == 0
        told = {row["ns"]: row["layout"] for row in map(json.loads, capsys.readouterr().out.splitlines())}
        assert told["db.things"] == "archive"
        assert len(told) == collections
        assert len(log.names) <= commands


def test_a_kept_layout_that_a_document_contradicts_is_recognised_anew(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with serving("joins") as (local, uri), connected(uri) as client:
        load(local, "plain", 0, 30)
        assert run("show", uri, "db.things", "d3") == 0
        client.db.things.delete_many({})
        client.db.things.insert_many(stored("versions", 30)["things"])
        capsys.readouterr()
        assert run("history", uri, "db.things", "d3", "--json") == 0
        assert len(capsys.readouterr().out.splitlines()) == 2


def test_a_new_collection_beside_it_and_another_one_of_its_name_are_recognised_anew() -> None:
    with serving("joins") as (_, uri), connected(uri) as client:
        things, past = (stored("archive", 30)[name] for name in ("things", "things_history"))
        client.db.things.insert_many(things)
        assert run("show", uri, "db.things", "d2") == 0
        client.db.things_history.insert_many(past)
        with Session.open(uri) as session:
            session.documents.find_current("db.things", "d2")
            assert session.catalogue.known("db.things")[0].layout == "archive"
        client.db.things.drop()
        client.db.things_history.drop()
        client.db.things.insert_many(stored("plain", 30)["things"])
        with Session.open(uri) as session:
            session.documents.find_current("db.things", "d2")
            assert session.catalogue.known("db.things")[0].layout == "plain"


def test_nothing_is_written_by_a_kept_layout_where_documents_may_have_become_versions_meanwhile() -> None:
    with serving("joins") as (_, uri), connected(uri) as client:
        firsts = [{"_id": ObjectId(), "docId": f"d{at}", "v": 1, "name": f"n{at}"} for at in range(30)]
        client.db.things.insert_many(firsts)
        with Session.open(uri) as session:
            session.documents.find_current("db.things", str(firsts[3]["_id"]))
            session.catalogue.known("db.things")
        with Session.open(uri) as session:
            _, base = session.documents.find_current("db.things", str(firsts[3]["_id"]))
            found = session.catalogue.known("db.things")[0].layout
            client.db.things.insert_many([{**each, "_id": ObjectId(), "v": v} for each in firsts for v in (2, 3, 4)])
            content = bson.encode({"docId": "d3", "v": 1, "name": "changed"})
            outcome = session.writing.save("db.things", Value.of(firsts[3]["_id"]), base, content)
        assert (found, outcome.kind) == ("plain", "refused")
        assert "not stored any more as it was" in outcome.detail
        assert not client.db.things.find_one({"name": "changed"})


def test_what_is_written_without_a_document_read_is_written_by_a_layout_recognised_now(log: CommandLog) -> None:
    with serving("joins") as (local, uri):
        load(local, "versions", 0, 30)
        assert run("show", uri, "db.things", "d3") == 0
        log.clear()
        assert run("show", uri, "db.things", "d3") == 0
        assert "aggregate" not in log.names
        log.clear()
        assert run("edit", uri, "db.things", "new", "--create", "--set", 'name="n"', "--set", "price=1") == 0
        assert "aggregate" in log.names


def test_where_a_server_reports_no_uuids_a_layout_is_kept_by_name_and_held_against_what_is_read(
    log: CommandLog, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server, "_uuid_in", lambda row: "")  # as mongo-java-server, which tells everything else
    with serving("cannot join") as (local, uri), connected(uri) as client:
        load(local, "versions", 6, 30)
        assert run("show", uri, "db.things", "d3") == 0
        log.clear()
        assert run("show", uri, "db.things", "d2") == 0
        assert log.names == ["listCollections", "find"]
        client.db.things.drop()
        client.db.things.insert_many(stored("embedded", 30)["things"])
        capsys.readouterr()
        assert run("history", uri, "db.things", "d3", "--json") == 0
        assert [json.loads(line)["stored"] for line in capsys.readouterr().out.splitlines()] == ["document", "prev"]


@pytest.mark.parametrize("name", ["standalone", "documentdb-5", "ferretdb-1"])
def test_a_stage_that_a_server_does_not_know_is_not_sent_again(name: str, log: CommandLog) -> None:
    profile = CANNOT_JOIN if name == "standalone" else PROFILES[name]
    with HostedServer(profile) as hosted, Server.connect(hosted.uri) as server:
        hosted.load("db.things", [bson.encode({"_id": 1})])
        union = {"$unionWith": {"coll": "more", "pipeline": []}}
        log.clear()
        said = []
        for _ in range(2):
            with pytest.raises(Refused, match="unionWith") as refused:
                list(server.aggregate("db.things", [{"$match": {}}, union]))
            said.append(str(refused.value))
        assert said[0] == said[1]
        assert len(list(server.aggregate("db.things", [{"$match": {}}]))) == 1
        assert log.names == ["aggregate", "aggregate"]


def test_who_only_reads_is_given_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PALIMPSEST_CACHE")
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "none"))
    with serving("joins") as (local, uri):
        load(local, "versions", 0, 30)
        assert run("show", uri, "db.things", "d3") == 0
    assert not (tmp_path / "none").exists()


def test_a_damaged_file_of_kept_layouts_is_never_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_CACHE", str(tmp_path))
    with serving("joins") as (local, uri):
        load(local, "versions", 0, 30)
        assert run("show", uri, "db.things", "d3") == 0
        (kept,) = tmp_path.glob("verdicts-*")
        kept.write_bytes(kept.read_bytes().replace(b"versions", b"flagged "))
        with Session.open(uri) as session:
            session.documents.find_current("db.things", "d3")
            assert session.catalogue.known("db.things")[0].layout == "versions"


def test_a_profile_that_does_not_fit_is_refused_for_writing_although_a_document_was_read_by_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = tmp_path / "team.toml"
    profile.write_text(block(stated("db.things", "archive", archive="db.other", token_unsaid=True)), "utf-8")
    with serving("joins") as (local, uri):
        load(local, "archive", 0, 30)
        local.load("db.other", [bson.encode({"_id": n, "docId": f"x{n}", "v": 1}) for n in range(30)])
        assert run("show", uri, "db.things", "d3", "--profile", str(profile)) == 0
        assert run("edit", uri, "db.things", "d3", "--set", "price=1", "--profile", str(profile)) == 2
        assert "None of the rows sampled in db.other" in capsys.readouterr().err
        assert run("show", uri, "db.things", "d3", "--profile", str(profile)) == 0
        assert "None of the rows sampled in db.other" in capsys.readouterr().err, "it is told once it is known"
        with connected(uri) as client:
            client.db.other.update_many({}, {"$set": {"docId": "d3"}})
        run("edit", uri, "db.things", "d2", "--set", "price=1", "--profile", str(profile))
        assert "None of the rows" not in capsys.readouterr().err, "what is to be written is judged anew"


@pytest.mark.parametrize(("layout", "commands"), [("archive", 4), ("hashed", 2), ("embedded", 2), ("plain", 2)])
def test_an_edit_takes_few_commands_beyond_those_that_tell_its_layout(
    layout: str, commands: int, log: CommandLog
) -> None:
    with serving("cannot join") as (local, uri):
        load(local, layout, 2, 30)
        for price in (50, 51, 52):
            log.clear()
            assert run("edit", uri, "db.things", "d3", "--set", f"price={price}") == 0
        assert log.names[0] == "listCollections"
        assert len(log.names) <= 1 + commands, log.names


def test_a_recipe_that_was_proven_before_is_used_only_after_a_hash_that_fits_it(
    log: CommandLog,
) -> None:
    with serving("joins") as (local, uri), connected(uri) as client:
        load(local, "hashed", 0, 30)
        for price in (50, 51, 52):
            log.clear()
            assert run("edit", uri, "db.things", "d3", "--set", f"price={price}") == 0
        assert log.names.count("find") == 1
        client.db.things.update_one({"_id": "d3"}, {"$set": {"_versioned_id": 40 * "0"}})
        log.clear()
        run("edit", uri, "db.things", "d3", "--set", "price=53")
        assert log.names.count("find") == 3  # the hashes at both ends of the collection are read for a proof


def test_indexes_listed_by_another_run_are_believed_for_minutes_and_no_longer(
    log: CommandLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving("joins") as (local, uri), connected(uri) as client:
        load(local, "archive", 0, 30)
        for price in (50, 51, 52):
            log.clear()
            assert run("edit", uri, "db.things", "d3", "--set", f"price={price}") == 0
        assert "listIndexes" not in log.names
        client.db.things_history.drop_index([("docId", 1), ("v", 1)])
        later = time.time() + composite_ids.REMEMBERED + 1
        monkeypatch.setattr(time, "time", lambda: later)
        assert run("edit", uri, "db.things", "d3", "--set", "price=53") == 2
        assert client.db.things.count_documents({"_id": "d3", "price": 52}) == 1


def test_a_swap_that_another_index_prevents_is_refused_in_the_same_words_without_a_look_before(
    log: CommandLog,
) -> None:
    with serving("joins") as (local, uri):
        load(local, "plain", 0, 3)
        local.load("db.few", [bson.encode({"_id": at, "name": f"n{at}"}) for at in range(3)])
        local.index("db.few", [("name", 1)], unique=True)
        with Session.open(uri) as session:
            _, base = session.documents.find_current("db.few", "1")
            log.clear()
            outcome = session.writing.save("db.few", Value.of(1), base, bson.encode({"name": "n2"}))
        assert (outcome.kind, "name" in outcome.detail, "2" in outcome.detail) == ("refused", True, True)
        assert log.names.index("findAndModify") < log.names.index("listIndexes")
