"""Validators of the in-process server: which writes they reject."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pymongo
import pymongo.database
import pytest
from pymongo.errors import OperationFailure, WriteError

from model.localserver.local_server import LocalServer

Db = pymongo.database.Database[dict[str, Any]]
TEXT = {"name": {"$type": "string"}}


@pytest.fixture
def db() -> Iterator[Db]:
    with LocalServer() as server, pymongo.MongoClient[dict[str, Any]](server.uri) as client:
        yield client["shop"]


def test_a_document_that_breaks_the_rules_is_neither_inserted_nor_made(db: Db) -> None:
    items = db.create_collection("items", validator=TEXT)
    items.insert_one({"_id": 1, "name": "a"})
    for write in (
        lambda: items.insert_one({"_id": 2, "name": 7}),
        lambda: items.update_one({"_id": 1}, {"$unset": {"name": ""}}),
        lambda: items.replace_one({"_id": 1}, {"name": 7}),
        lambda: items.update_one({"_id": 3}, {"$set": {"name": 7}}, upsert=True),
        lambda: items.find_one_and_update({"_id": 1}, {"$set": {"name": 7}}),
    ):
        with pytest.raises((WriteError, OperationFailure)) as failure:
            write()
        assert failure.value.code == 121
    assert list(items.find()) == [{"_id": 1, "name": "a"}]
    options = next(iter(db.list_collections()))["options"]
    assert options == {"validator": TEXT}


@pytest.mark.parametrize(
    ("options", "new", "old"),
    [
        ({"validationLevel": "moderate"}, 121, None),
        ({"validationLevel": "strict"}, 121, 121),
        ({"validationLevel": "off"}, None, None),
        ({"validationAction": "warn"}, None, None),
    ],
    ids=repr,
)
def test_level_and_action_say_what_is_rejected(
    db: Db, options: dict[str, str], new: int | None, old: int | None
) -> None:
    items = db["items"]
    items.insert_one({"_id": "old", "name": 7})
    db.command("collMod", "items", validator=TEXT, **options)

    def code(write: Any) -> int | None:
        try:
            write()
        except WriteError as error:
            return error.code
        return None

    assert code(lambda: items.insert_one({"_id": "new", "name": 8})) == new
    assert code(lambda: items.update_one({"_id": "old"}, {"$set": {"name": 8}})) == old


def test_rules_that_are_not_understood_make_no_collection(db: Db) -> None:
    with pytest.raises(OperationFailure):
        db.create_collection("items", validator={"name": {"$looks": "good"}})
    assert db.list_collection_names() == []
