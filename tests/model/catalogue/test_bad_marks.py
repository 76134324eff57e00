"""Marks of other programs that say something odd: one sentence, and nothing is written until a person states it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymongo
import pymongo.database
import pytest
from bson import Binary, Int64, ObjectId
from pymongo.errors import WriteError

from model.localserver.local_server import LocalServer
from model.server.driver_errors import BREAKS_RULES
from model.server.port import Reply, Write
from model.server.server import Server
from model.session import Session
from model.values.canonical import Value
from tests.support import table

Db = pymongo.database.Database[Any]
Row = dict[str, Any]
Made = Callable[[int], Row]


def plain(extra: Made) -> dict[str, list[Row]]:
    return {"items": [{"_id": f"s{n}", "name": f"n{n}", **extra(n)} for n in range(12)]}


def archived(lock: Callable[[int, int], Row]) -> dict[str, list[Row]]:
    """Documents with an archive; ``lock`` gets the document and the version."""
    rows: dict[str, list[Row]] = {"items": [], "items_history": []}
    for n in range(8):
        for v in (1, 2, 3):
            state = {"v": v, "name": f"n{n}", "city": "Bonn", "price": 10 * v + n, **lock(n, v)}
            if v == 3:
                rows["items"].append({"_id": f"s{n}", **state})
            else:
                at = ObjectId((1_600_000_000 + 100 * n + v).to_bytes(4, "big") + bytes(8))
                rows["items_history"].append({"_id": at, "docId": f"s{n}", **state})
    return rows


CLASS = {"_class": "shop.Item"}
BAD: dict[str, tuple[dict[str, list[Row]], str, str]] = {
    "half have a token": (
        plain(lambda n: {"_w": ObjectId()} if n % 2 else {}),
        "6 of 12 documents sampled in {ns} have _w, the name of a write token. So nothing is written there until a "
        'profile states token = "_w", or token = "" if it is none.',
        'token = ""',
    ),
    "a token that is text": (
        plain(lambda n: {"_w": f"w{n}"}),
        "_w in {ns}, the name of a write token, is of the type String there and not an ObjectId. So nothing is written",
        'token = ""',
    ),
    "a lock in an array": (
        plain(lambda n: {"lines": [{"sku": f"{n}.{k}", "rowVersion": n + k} for k in range(3)]}),
        "lines.rowVersion in {ns} looks like the lock of another program inside an array, which no edit from here can ",
        'guard = { field = "lines.rowVersion", how = "none" }',
    ),
    "two locks": (
        plain(lambda n: {"__v": n, "lockVersion": Int64(n)}),
        "__v and lockVersion in {ns} both look like locks of other programs, and an edit moves one; state it as guard ",
        'guard = { field = "__v", how = "inc" }',
    ),
    "two locks that nobody knows": (
        plain(lambda n: {"optLock": n, "meta": {"revision": n}}),
        "optLock and meta.revision in {ns} both look like locks of other programs, and an edit moves one; state it as ",
        'guard = { field = "optLock", how = "inc" }',
    ),
    "a lock that falls": (
        archived(lambda n, v: {"version": Int64(9 - v), **CLASS}),
        "version in {ns} looks like the lock of another program, and nothing states how it moves; state guard = ",
        'guard = { field = "version", how = "none" }',
    ),
    "a lock that stays": (
        archived(lambda n, v: {"revision_id": Binary(bytes([n + 1]) * 16, 4)}),
        "revision_id in {ns} looks like the lock of another program, and nothing states how it moves; state guard = ",
        'guard = { field = "revision_id", how = "none" }',
    ),
}


def written(database: Db, rows: dict[str, list[Row]]) -> dict[str, list[Row]]:
    for name in ("items", "items_history"):
        database.drop_collection(name)
    for name, each in rows.items():
        database[name].insert_many(each)
    if "items_history" in rows:
        database["items_history"].create_index([("docId", 1), ("v", 1)], unique=True)
    return {name: list(database[name].find()) for name in rows}


@table("name", BAD)
def test_a_mark_that_says_something_odd_is_asked_about_and_nothing_is_written(
    server_uri: str, database: Db, tmp_path: Path, name: str
) -> None:
    rows, said, stated = BAD[name]
    before, ns = written(database, rows), f"{database.name}.items"
    with Session.open(server_uri, home=tmp_path) as session:
        outcome = session.edit(ns, Value.of("s3"), {"name": "new"})
        assert outcome.kind == "refused"
        assert outcome.detail.startswith(said.format(ns=ns))
        assert session.writing.create(ns, b"\x05\0\0\0\0").kind == "refused"
        layout = session.catalogue.info(ns).layout
    assert {each: list(database[each].find()) for each in rows} == before
    archive = f'archive = "{ns}_history"\narchive_id = "docId"\n' if layout == "archive" else ""
    file = tmp_path / "profile.toml"
    file.write_text(f'[[collection]]\nns = "{ns}"\nlayout = "{layout}"\n{archive}{stated}\n')
    with Session.open(server_uri, profile=file, home=tmp_path) as session:
        outcome = session.edit(ns, Value.of("s3"), {"name": "new"})
        assert (outcome.kind, outcome.detail[:5]) == ("applied", "Saved")
    now = database["items"].find_one({"_id": "s3"})
    assert now is not None
    assert ({*now} ^ {*before["items"][3]}, now["name"]) == (set(), "new")


def test_a_lock_that_moves_as_its_name_says_takes_edits(server_uri: str, database: Db, tmp_path: Path) -> None:
    written(database, archived(lambda n, v: {"version": Int64(v + n), **CLASS}))
    with Session.open(server_uri, home=tmp_path) as session:
        assert session.edit(f"{database.name}.items", Value.of("s3"), {"name": "new"}).kind == "applied"
    now = database["items"].find_one({"_id": "s3"})
    assert now is not None
    assert (now["version"], now["v"]) == (7, 4)


def test_a_lock_of_mongoose_may_stay_over_many_versions(server_uri: str, database: Db, tmp_path: Path) -> None:
    written(database, archived(lambda n, v: {"__v": n}))
    with Session.open(server_uri, home=tmp_path) as session:
        assert session.edit(f"{database.name}.items", Value.of("s3"), {"name": "new"}).kind == "applied"
    assert (database["items"].find_one({"_id": "s3"}) or {})["__v"] == 4


STATED: dict[str, tuple[dict[str, list[Row]], str, str]] = {
    "a lock that falls": (
        archived(lambda n, v: {"tick": 9 - v}),
        'layout = "archive"\narchive = "{ns}_history"\nguard = {{ field = "tick", how = "inc" }}\n',
        "In {ns} tick goes from 7 to 6 in s0, which is not how a lock of its kind moves. So the profile does not fit",
    ),
    "a token that is text": (
        plain(lambda n: {"_w": f"w{n}"}),
        'token = "_w"\n',
        "In s0 of {ns}, _w is of the type String and not an ObjectId. So the profile does not fit",
    ),
    "a lock in an array": (
        plain(lambda n: {"lines": [{"rowVersion": n}]}),
        'guard = {{ field = "lines.rowVersion", how = "inc" }}\n',
        "No document sampled in {ns} has lines.rowVersion, which is stated as guard. So the profile does not fit",
    ),
}


@table("name", STATED)
def test_a_profile_that_states_such_a_mark_falsely_is_refused(
    server_uri: str, database: Db, tmp_path: Path, name: str
) -> None:
    rows, profile, said = STATED[name]
    before, ns = written(database, rows), f"{database.name}.items"
    file = tmp_path / "profile.toml"
    file.write_text(f'[[collection]]\nns = "{ns}"\n{profile.format(ns=ns)}')
    with Session.open(server_uri, profile=file, home=tmp_path) as session:
        outcome = session.edit(ns, Value.of("s3"), {"name": "new"})
        assert outcome.kind == "refused"
        assert outcome.detail.startswith(said.format(ns=ns))
    assert {each: list(database[each].find()) for each in rows} == before


def test_few_documents_with_a_token_that_an_earlier_edit_left_are_no_doubt(
    server_uri: str, database: Db, tmp_path: Path
) -> None:
    written(database, plain(lambda n: {"_w": ObjectId()} if n < 2 else {}))
    with Session.open(server_uri, home=tmp_path) as session:
        assert session.edit(f"{database.name}.items", Value.of("s3"), {"name": "new"}).kind == "applied"


def test_tags_of_files_in_an_array_are_no_locks(server_uri: str, database: Db, tmp_path: Path) -> None:
    written(database, plain(lambda n: {"files": [{"name": "a", "etag": f"{n:032x}"}], "at": dt.datetime(2024, 1, 1)}))
    with Session.open(server_uri, home=tmp_path) as session:
        assert session.edit(f"{database.name}.items", Value.of("s3"), {"name": "new"}).kind == "applied"


@pytest.mark.parametrize("kind", ["plain", "versions", "embedded"])
def test_a_validator_that_refuses_the_write_is_one_sentence_and_leaves_nothing(
    server_uri: str, database: Db, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = [{"v": v, "name": "n", "city": "Bonn"} for v in (1, 2, 3)]
    rows: dict[str, list[Row]] = {
        "plain": [{"_id": f"s{n}", "name": "n"} for n in range(5)],
        "versions": [{"_id": ObjectId(), "docId": f"s{n}", **each, "price": n} for n in range(5) for each in states],
        "embedded": [{"_id": f"s{n}", "current": states[-1], "prev": states[:-1]} for n in range(5)],
    }
    database["items"].insert_many(rows[kind])
    if kind == "versions":
        database["items"].create_index([("docId", 1), ("v", 1)], unique=True)

    def strict(self: Server, write: Write) -> Reply:
        raise WriteError("Document failed validation", 121)

    ns, before = f"{database.name}.items", list(database["items"].find())
    with Session.open(server_uri, home=tmp_path) as session:
        layout = session.catalogue.info(ns).layout
        monkeypatch.setattr(Server, "_send", strict)
        outcome = session.edit(ns, Value.of("s3"), {"name": "new"})
    assert layout == kind
    said = "The collection has rules for its documents, and this one does not meet them."
    assert (outcome.kind, outcome.detail) == ("refused", said)
    assert list(database["items"].find()) == before


Rules = Callable[[str], dict[str, Any]]
RULES: dict[str, Rules] = {
    "strict": lambda ns: {"validator": {"name": {"$type": "string"}}},
    "moderate": lambda ns: {"validator": {"name": {"$type": "string"}}, "validationLevel": "moderate"},
    "by an expression": lambda ns: {"validator": {"$expr": {"$lt": [{"$strLenCP": "$name"}, 3]}}},
}


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("stated", [False, True])
def test_an_edit_that_a_validator_beside_an_archive_rejects_leaves_nothing_there(
    tmp_path: Path, rules: str, stated: bool
) -> None:
    with LocalServer() as server, pymongo.MongoClient[Row](server.uri) as client:
        written(client["shop"], archived(lambda n, v: {}))
        client["shop"].command("collMod", "items", **RULES[rules]("shop.items"))
        file = tmp_path / "profile.toml"
        file.write_text('[[collection]]\nns = "shop.items"\nlayout = "archive"\narchive = "shop.items_history"\n')
        before = {name: list(client["shop"][name].find()) for name in ("items", "items_history")}
        with Session.open(server.uri, profile=file if stated else None, home=tmp_path) as session:
            assert session.catalogue.info("shop.items").layout == "archive"
            wrong: Any = 7 if rules != "by an expression" else "too long"
            outcome = session.edit("shop.items", Value.of("s3"), {"name": wrong})
            assert (outcome.kind, outcome.detail) == ("refused", BREAKS_RULES)
            assert {name: list(client["shop"][name].find()) for name in before} == before
            # Rules are remembered for a while, and looked at again before they refuse anything.
            client["shop"].command("collMod", "items", validator={})
            assert session.edit("shop.items", Value.of("s3"), {"name": wrong}).kind == "applied"


@pytest.mark.parametrize("off", [{"validationLevel": "off"}, {"validationAction": "warn"}], ids=repr)
def test_a_validator_that_rejects_nothing_refuses_nothing(tmp_path: Path, off: dict[str, Any]) -> None:
    with LocalServer() as server, pymongo.MongoClient[Row](server.uri) as client:
        written(client["shop"], archived(lambda n, v: {}))
        client["shop"].command("collMod", "items", **RULES["strict"](""), **off)
        with Session.open(server.uri, home=tmp_path) as session:
            assert session.edit("shop.items", Value.of("s3"), {"name": 7}).kind == "applied"


def test_a_document_that_broke_moderate_rules_before_may_go_on_doing_so(tmp_path: Path) -> None:
    with LocalServer() as server, pymongo.MongoClient[Row](server.uri) as client:
        written(client["shop"], archived(lambda n, v: {}))
        client["shop"]["items"].update_one({"_id": "s3"}, {"$set": {"name": 8}})
        client["shop"].command("collMod", "items", **RULES["moderate"](""))
        with Session.open(server.uri, home=tmp_path) as session:
            assert session.edit("shop.items", Value.of("s3"), {"name": 7}).kind == "applied"
            assert session.edit("shop.items", Value.of("s2"), {"name": 7}).kind == "refused"


def test_a_validator_that_came_since_leaves_the_copy_that_the_next_edit_uses_and_says_so(tmp_path: Path) -> None:
    with LocalServer() as server, pymongo.MongoClient[Row](server.uri) as client:
        shop = client["shop"]
        written(shop, archived(lambda n, v: {}))
        before = list(shop["items"].find())
        with Session.open(server.uri, home=tmp_path) as session:
            session.catalogue.info("shop.items")
            shop.command("collMod", "items", **RULES["strict"](""))
            outcome = session.edit("shop.items", Value.of("s3"), {"name": 7})
            said = "The copy of this version that was made first is in shop.items_history; the next edit uses it."
            assert (outcome.kind, outcome.detail.endswith(said)) == ("refused", True)
            assert list(shop["items"].find()) == before
            assert session.edit("shop.items", Value.of("s3"), {"name": "new"}).kind == "applied"
        assert [row["v"] for row in shop["items_history"].find({"docId": "s3"})] == [1, 2, 3]
