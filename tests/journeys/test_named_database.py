"""A URI that names a database: everything without a place looks there, and other databases can still be named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pymongo
import pytest

from model.errors import NotFound
from model.localserver import LocalServer
from model.localserver.command_table import CommandTable
from model.mql.command_error import CommandError
from model.session import Session
from model.userdata.connections import database_of
from tests.journeys.command_support import Rows, Run
from tests.support import naming


@pytest.mark.parametrize(
    ("uri", "named"),
    [
        ("mongodb://db.example", ""),
        ("mongodb://db.example/", ""),
        ("mongodb://db.example/?tls=true", ""),
        ("mongodb://a,b:27018,c/shop?replicaSet=rs0", "shop"),
        ("mongodb://ann:a%2Fb@db.example/my%20shop", "my shop"),
        ("mongodb+srv://ann@db.example/shop.orders", "shop"),
        ("mongodb://%2Ftmp%2Fmongo.sock/shop", "shop"),
        ("dumps/shop", ""),
        ("sample:", ""),
    ],
)
def test_the_database_stands_behind_the_hosts(uri: str, named: str) -> None:
    assert database_of(uri) == named


def test_commands_without_a_place_look_at_that_database_alone(
    rows: Rows, run: Run, server_uri: str, client: pymongo.MongoClient[Any], database_name: str
) -> None:
    other = f"{database_name}_other"
    try:
        for name in (database_name, other):
            client[name]["orders"].insert_many([{"docId": id, "v": v} for id in "ABCDE" for v in (1, 2, 3, 5)])
            client[name]["stats"].insert_one({"_id": 1, "count": 1, "pending": [], "applied": []})
        uri = naming(server_uri, database_name)
        status, found = rows("collections", uri)
        assert status == 0
        assert {row["ns"] for row in found} == {f"{database_name}.orders", f"{database_name}.stats"}
        _, found = rows("collections", server_uri)
        assert {row["ns"].partition(".")[0] for row in found} >= {database_name, other}
        _, found = rows("scan", uri)
        assert {row["ns"].partition(".")[0] for row in found} == {database_name}
        _, found = rows("scan", uri, other)
        assert {row["ns"].partition(".")[0] for row in found} == {other}
        assert rows("history", uri, f"{other}.orders", "A")[0] == 0
    finally:
        client.drop_database(other)


def test_a_database_that_is_not_there_is_one_sentence(run: Run, server_uri: str, database_name: str) -> None:
    status, out, err = run("collections", naming(server_uri, f"{database_name}_gone"))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"There is no database {database_name}_gone" in err


def test_one_of_the_servers_own_databases_is_named_to_log_in_and_not_to_look_at(
    server_uri: str, client: pymongo.MongoClient[Any], database_name: str
) -> None:
    client[database_name]["orders"].insert_one({})
    with Session.open(naming(server_uri, "admin")) as session:
        assert session.named_database == ""
        assert database_name in session.catalogue.databases()


@pytest.fixture
def close_mouthed(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server that lists its databases for nobody."""

    def refused(self: CommandTable, command: object) -> object:
        raise CommandError(13, "not authorized on admin to execute command { listDatabases: 1 }")

    monkeypatch.setattr(CommandTable, "_list_databases", refused)
    with LocalServer() as server:
        yield server.uri


def test_where_listing_databases_is_forbidden_the_named_one_is_read(close_mouthed: str) -> None:
    uri = naming(close_mouthed, "shop")
    with pymongo.MongoClient(close_mouthed) as client:
        client["shop"]["orders"].insert_one({"_id": 1})
        client["blog"]["posts"].insert_one({"_id": 1})
    with Session.open(uri) as session:
        assert session.catalogue.databases() == ["shop"]
        assert [info.ns for info in session.catalogue.collections()] == ["shop.orders"]
        assert [info.ns for info in session.catalogue.collections("blog")] == ["blog.posts"]
        session.catalogue.database = ""
        assert session.catalogue.databases() == ["shop"]
    with (
        Session.open(naming(close_mouthed, "gone")) as session,
        pytest.raises(NotFound, match="no database gone"),
    ):
        list(session.catalogue.collections())


def test_all_databases_are_looked_at_once_a_person_says_so(
    server_uri: str, client: pymongo.MongoClient[Any], database_name: str
) -> None:
    client[database_name]["orders"].insert_one({})
    with Session.open(naming(server_uri, database_name)) as session:
        assert session.catalogue.databases() == [database_name] == [session.named_database]
        session.catalogue.database = ""
        assert database_name in session.catalogue.databases()
        assert session.named_database == database_name
