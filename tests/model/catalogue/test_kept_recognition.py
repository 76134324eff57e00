"""The recognition kept from an earlier start: equal to a new one, reads no document, ends with the first write."""

from __future__ import annotations

import datetime as dt
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import bson
import pymongo
import pytest
from bson import Int64
from msgspec.structs import replace

from model.catalogue import kept_recognition, recognise
from model.catalogue.catalogue import Catalogue
from model.catalogue.kept_recognition import KeptRecognition, Recognised
from model.catalogue.kept_verdicts import KeptVerdict
from model.foundation.collection_profile import CollectionProfile, LockField, Operation, Watch
from model.foundation.hash_recipe import HashRecipe
from model.layouts.registry import info_of
from model.localserver import LocalServer
from model.profile import Profile
from model.server.retry import Server
from model.session import Session
from tests.model.command_log import CommandLog, listening

COLLECTIONS = ("notes", "parts", "parts_history")


@pytest.fixture
def local() -> Iterator[LocalServer]:
    """A server that was loaded with something that has a name."""
    with LocalServer() as server:
        server.load("db.notes", [bson.encode({"_id": 1, "text": "a note"})])
        now = [{"_id": n, "v": 2, "_w": f"w{n}", "name": "new"} for n in range(9)]
        earlier = [{"_id": 9 + n, "docId": n, "v": 1, "_w": f"o{n}", "name": "old"} for n in range(9)]
        server.load("db.parts", map(bson.encode, now))
        server.load("db.parts_history", map(bson.encode, earlier))
        server.loaded = "one"
        yield server


@pytest.fixture
def db(local: LocalServer) -> Iterator[Any]:
    """Somebody else's connection to it."""
    client: pymongo.MongoClient[dict[str, Any]]
    with pymongo.MongoClient(local.uri) as client:
        yield client.db


@pytest.fixture
def log(db: Any) -> Iterator[CommandLog]:
    with listening() as found:
        yield found


@pytest.fixture
def start(local: LocalServer, log: CommandLog, tmp_path: Path) -> Iterator[Callable[..., Catalogue]]:
    """A catalogue as each start of the program has one."""
    with ExitStack() as closing:

        def made(profile: Profile | None = None, folder: Path = tmp_path) -> Catalogue:
            server = closing.enter_context(Server.connect(local.uri))
            log.clear()
            return Catalogue(server, server, profile, "sample:", kept=KeptRecognition(folder, server.loaded))

        yield made


def found(catalogue: Catalogue) -> list[Recognised]:
    return [(info, catalogue.known(info.ns)[1]) for info in catalogue.collections("db")]


def files(folder: Path) -> list[Path]:
    return [*folder.glob("recognised-*")]


def test_a_second_start_finds_the_same_and_asks_for_no_document(
    start: Callable[..., Catalogue], log: CommandLog
) -> None:
    first = found(start())
    assert [info.ns for info, _ in first] == [f"db.{name}" for name in COLLECTIONS]
    assert "aggregate" in log.names
    assert found(start()) == first
    assert {*log.names} == {"palimpsestLoaded"}
    assert start().known("db.parts") == first[1]
    assert {*log.names} == {"palimpsestLoaded"}


def test_one_collection_alone_is_found_again_without_asking_for_a_document(
    start: Callable[..., Catalogue], local: LocalServer, log: CommandLog, db: Any, tmp_path: Path
) -> None:
    first = start().known("db.parts")
    assert "aggregate" in log.names
    assert start().known("db.parts") == first
    assert {*log.names} == {"palimpsestLoaded"}
    start().known("db.parts_history")
    assert "aggregate" in log.names, "another one was not looked at yet"
    assert [info.ns for info, _ in found(start())] == [f"db.{name}" for name in COLLECTIONS]
    kept = {path.name for path in files(tmp_path)}
    db.parts.delete_one({"_id": 8})
    assert start().known("db.parts")[1] == first[1]
    assert "aggregate" in log.names, "somebody has written"
    assert {path.name for path in files(tmp_path)} == kept


def test_documents_that_were_not_counted_are_counted_once_they_are_shown(
    start: Callable[..., Catalogue], local: LocalServer
) -> None:
    local.load("db.many", (bson.encode({"_id": n, "v": 1}) for n in range(5000)))
    local.loaded = "many"
    assert start().known("db.many")[0].documents is None
    again = start()
    assert again.known("db.many")[0].documents is None
    assert again.info("db.many").documents == 5000


def test_what_was_written_to_is_recognised_anew_and_kept_for_nobody(
    start: Callable[..., Catalogue], db: Any, tmp_path: Path
) -> None:
    catalogue = start()
    before = found(catalogue)
    kept = [path.read_bytes() for path in files(tmp_path)]
    db.later.insert_one({"_id": 1})
    assert [info.ns for info, _ in found(catalogue)] == ["db.later", *(info.ns for info, _ in before)]
    assert start().known("db.later")[0].documents == 1
    assert [path.read_bytes() for path in files(tmp_path)] == kept


def test_what_is_written_to_while_it_is_recognised_is_not_kept(
    start: Callable[..., Catalogue], db: Any, tmp_path: Path
) -> None:
    listed = start().collections("db")
    next(listed)
    db.notes.delete_many({})
    assert len([*listed]) == len(COLLECTIONS) - 1
    assert not files(tmp_path)


def test_other_documents_other_code_and_a_profile_are_recognised_by_themselves(
    start: Callable[..., Catalogue],
    local: LocalServer,
    log: CommandLog,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = found(start())
    stated = found(start(Profile((CollectionProfile("db.notes", "hashed"),))))
    assert [info.layout for info, _ in stated] == ["hashed", *(info.layout for info, _ in first[1:])]
    assert len(files(tmp_path)) == 1
    monkeypatch.setattr(kept_recognition, "_state_of_code", lambda: "other code")
    assert found(start()) == first
    assert "aggregate" in log.names
    local.loaded = "two"
    assert found(start()) == first
    assert "aggregate" in log.names
    assert len(files(tmp_path)) == 3
    local.loaded = ""
    assert found(start()) == first
    assert len(files(tmp_path)) == 3


def test_a_damaged_file_is_not_read_and_is_written_anew(start: Callable[..., Catalogue], tmp_path: Path) -> None:
    first = found(start())
    (path,) = files(tmp_path)
    sound = path.read_bytes()
    for damaged in (b"", sound[:-1], sound.replace(b"archive", b"Archive")):
        path.write_bytes(damaged)
        assert found(start()) == first
        assert path.read_bytes() == sound


def test_a_start_without_a_folder_that_can_be_written_recognises(
    start: Callable[..., Catalogue], tmp_path: Path
) -> None:
    (tmp_path / "a file").write_text("")
    assert found(start(folder=tmp_path / "a file")) == found(start())


def test_files_that_nobody_wrote_for_a_month_go(start: Callable[..., Catalogue], tmp_path: Path) -> None:
    old, young = tmp_path / "recognised-old", tmp_path / "recognised-young"
    for path in (old, young):
        path.write_text("")
    os.utime(old, (0, 0))
    found(start())
    assert not old.exists()
    assert young.exists()


def test_files_are_looked_through_once_an_hour_however_many_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, old = 0.0, tmp_path / "recognised-old"
    monkeypatch.setattr(time, "monotonic", lambda: now)
    gone = []
    for now in (0.0, 10.0, 3599.0, 3600.0):
        old.write_text("")
        os.utime(old, (0, 0))
        kept_recognition.write(tmp_path / f"recognised-{now}", [], Recognised)
        gone.append(not old.exists())
    assert gone == [True, False, False, True]


def test_everything_that_a_profile_can_say_comes_back_equal(tmp_path: Path) -> None:
    profile = CollectionProfile(
        "db.c",
        hash_recipe=HashRecipe("sha256", "json"),
        hash_rivals=(HashRecipe(), HashRecipe("md5")),
        grace=dt.timedelta(hours=1.5),
        targets={"count": ("db.d", "n")},
        guard=LockField("__v", "inc"),
        watches=(Watch("high", '{"n": {"$gt": 5}}'),),
        operation=Operation("op", ("i", "u"), ("d",)),
        row={"a": [1, 2.0, True, None, {"b": "$content"}]},
    )
    info = replace(info_of(profile, 3, 0.5, "why"), alternatives=("plain",))
    kept_recognition.write(tmp_path / "kept", [(info, profile)], Recognised)
    assert repr(kept_recognition.read(tmp_path / "kept", Recognised)) == repr([(info, profile)])


def test_what_would_come_back_as_something_else_is_not_kept(tmp_path: Path) -> None:
    kept, info = tmp_path / "kept", info_of(CollectionProfile("db.c"), 3, 0.5, "why")
    for value in (dt.datetime(2026, 1, 1), b"bytes", (1, 2), re.compile("a"), "\udc80"):
        verdict = KeptVerdict(info, CollectionProfile("db.c"), indexes={"db.c": (0.0, [{"since": value}])})
        kept_recognition.write(kept, [verdict], KeptVerdict)
        assert not kept.exists()
    verdict = KeptVerdict(info, CollectionProfile("db.c"), indexes={"db.c": (0.0, [{"expireAfterSeconds": Int64(60)}])})
    kept_recognition.write(kept, [verdict], KeptVerdict)
    assert kept_recognition.read(kept, KeptVerdict) == [verdict]


@pytest.mark.deep
@pytest.mark.slice
def test_the_sample_is_shown_as_it_would_be_recognised_now() -> None:
    with Session.open("sample:") as first:
        [*first.catalogue.collections()]
    with listening() as log, Session.open("sample:") as session:
        shown = {info.ns: (info, session.catalogue.known(info.ns)[1]) for info in session.catalogue.collections()}
        assert not {"listCollections", "listIndexes", "aggregate"} & {*log.names}
        now = [
            each
            for db in session.catalogue.databases()
            for each in recognise.recognise(session._connection.opened.server, db)
        ]
    assert len(now) == len(shown)
    for info, profile in now:
        as_shown = replace(shown[info.ns][0], why=info.why)  # its numbers tell what was drawn at random
        assert (as_shown, shown[info.ns][1]) == (info, profile)


def test_the_next_run_names_the_collections_with_what_is_kept_of_them(
    log: CommandLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_CACHE", str(tmp_path))  # without what other tests have kept
    with Session.open("sample:") as session:
        assert {info.layout for info in session.catalogue.named("insurance")} == {""}
        found = {info.ns: info for info in session.catalogue.collections("insurance")}
    with Session.open("sample:") as session:
        log.clear()
        left = {info.ns: info for info in session.catalogue.named("insurance")}
        assert {ns: info.layout for ns, info in left.items()} == {ns: info.layout for ns, info in found.items()}
        assert log.rows == 0  # no index and no archive is asked how far it has come
        assert found["insurance.policy_feed"].why.startswith(left["insurance.policy_feed"].why)
        log.clear()
        assert session.catalogue.info("insurance.claims").documents == found["insurance.claims"].documents
        assert not log.names  # not even the file is looked for again
