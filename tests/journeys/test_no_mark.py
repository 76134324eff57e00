"""An edit changes just what was edited: collections of other programs, checked with plain PyMongo."""

from __future__ import annotations

from typing import Any

import bson
import pymongo.database
import pytest
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo.errors import AutoReconnect

from tests.journeys.command_support import Rows as Asked
from tests.journeys.command_support import Run
from tests.journeys.foreign_collections import ANY, COLLECTIONS, Collection, Row, Rows
from tests.support import every, table

Db = pymongo.database.Database[Any]
RAW: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawBSONDocument)
LOCKS = frozenset(("__v", "version", "revision_id"))


def stored(database: Db) -> dict[str, list[bytes]]:
    """The bytes of every document."""
    names = sorted(database.list_collection_names())
    return {name: [each.raw for each in database.get_collection(name, RAW).find()] for name in names}


def deviations(expected: Rows, there: dict[str, list[bytes]], before: dict[str, list[bytes]]) -> list[str]:
    """The documents that are otherwise than expected, and what is there instead."""
    wrong = [f"a collection {name}" for name in {*there} - {*expected}]
    for name, rows in expected.items():
        found = there.get(name, [])
        wrong += [f"{name}: {len(found)} documents for {len(rows)}"] if len(found) != len(rows) else []
        for row, raw in zip(rows, found, strict=False):
            was = next((old for old in before[name] if bson.decode(old)["_id"] == row["_id"]), b"")
            if bson.encode(filled(row, bson.decode(raw), bson.decode(was) if was else {})) != raw:
                wrong.append(f"{name}: {bson.decode(raw)} for {row}")
    return wrong


def filled(row: Row, found: Row, before: Row) -> Row:
    """A document with the new values that it has in the database, where any new value will do."""
    return {
        name: found.get(name) if value == ANY and found.get(name) not in (None, before.get(name)) else value
        for name, value in row.items()
    }


def argument(value: Any) -> str:
    return bson.json_util.dumps(value, json_options=bson.json_util.CANONICAL_JSON_OPTIONS)


def written(database: Db, it: Collection) -> None:
    for name, rows in it.rows.items():
        try:
            database[name].insert_many(rows)
        except AutoReconnect:
            pytest.skip("This server ends the connection over one of these values.")
    for name, fields in it.unique.items():
        database[name].create_index([(each, 1) for each in fields], unique=True)


@table("it", every(4, COLLECTIONS, in_slice=True), ids=lambda it: it.name)
def test_an_edit_and_its_way_back_leave_nothing_of_their_own(
    run: Run,
    rows: Asked,
    server_uri: str,
    server_name: str,
    client: pymongo.MongoClient[Any],
    database_name: str,
    it: Collection,
) -> None:
    database = client[f"{database_name}_{it.name[:20]}"]
    try:
        written(database, it)
        before, ns = stored(database), f"{database.name}.{it.main}"
        change = [part for path, value in it.set.items() for part in ("--set", f"{path}={argument(value)}")]
        change += [part for path in it.unset for part in ("--unset", path)]
        status, out, err = run("edit", server_uri, ns, it.id, *change)
        expected = it.expected()
        if expected is None:
            assert (status, out) == (2, "")
            assert f"{it.asked} in {ns} looks like the lock" in err
            assert stored(database) == before
            return
        assert (status, err) == (0, "")
        assert deviations(expected, stored(database), before) == []
        entry = rows("journal")[1][0]["entry"]
        assert run("undo", entry, "--source", server_uri)[0] == 0
        if it.versioned:
            run("restore", server_uri, ns, it.id, "1")
            run("revert", server_uri, ns, "--id", it.id, "--version", "2", "--apply")
            there = {name: list(database[name].find()) for name in database.list_collection_names()}
            assert names(there) <= {*names(it.rows), *names(expected)}
        else:
            back, first = unlocked(stored(database)), unlocked(before)
            if it.unset and server_name != "local":  # other servers may put a field that comes back at the end
                back, first = (
                    {name: [*map(bson.decode, raws)] for name, raws in each.items()} for each in (back, first)
                )
            assert back == first
    finally:
        client.drop_database(database.name)


@table(
    "it",
    every(5, [it for it in COLLECTIONS if it.after is not None and not it.versioned], in_slice=True),
    ids=lambda it: it.name,
)
def test_a_new_document_is_what_was_given_and_the_lock_alone(
    run: Run, server_uri: str, client: pymongo.MongoClient[Any], database_name: str, it: Collection
) -> None:
    database = client[f"{database_name}_{it.name[:20]}"]
    try:
        written(database, it)
        status, _, err = run(
            "insert", server_uri, f"{database.name}.{it.main}", '{"zz": 1, "a": {"b": []}}', "--id", "x-1"
        )
        assert (status, err) == (0, "")
        (made,) = database[it.main].find({"zz": 1})
        locks = LOCKS & {*it.rows[it.main][0]}
        id = {name: "x-1" for name in ("_id", "id") if made.get(name) == "x-1"}
        assert {name: value for name, value in made.items() if name not in ("_id", *locks)} == {
            **{name: value for name, value in id.items() if name != "_id"}, "zz": 1, "a": {"b": []},
        }  # fmt: skip
    finally:
        client.drop_database(database.name)


def names(rows: Rows) -> set[str]:
    """The names of all fields at the top."""
    return {name for documents in rows.values() for each in documents for name in each}


def unlocked(there: dict[str, list[bytes]]) -> dict[str, list[bytes]]:
    """The bytes of every document without its lock."""
    told: dict[str, list[bytes]] = {}
    for name, raws in there.items():
        documents = (bson.decode(raw).items() for raw in raws)
        told[name] = [bson.encode({key: value for key, value in each if key not in LOCKS}) for each in documents]
    return told


def test_a_document_that_takes_a_mark_would_be_seen() -> None:
    row = {"_id": 1, "a": 1}
    marked = {"c": [bson.encode({"_id": 1, "a": 1, "_w": 2})]}
    assert deviations({"c": [row]}, {"c": [bson.encode(row)]}, {"c": []}) == []
    assert len(deviations({"c": [row]}, marked, {"c": []})) == 1
    assert len(deviations({"c": [row | {"a": ANY}]}, {"c": [bson.encode(row)]}, {"c": [bson.encode(row)]})) == 1
