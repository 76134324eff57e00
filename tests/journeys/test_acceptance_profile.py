"""A team states its own names in a profile; plain PyMongo checks what each edit stored."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from pathlib import Path
from typing import Any

import bson
import pymongo.database
import pytest
from bson import ObjectId

from model import text
from model.commands import command_line
from model.values import canonical
from tests.journeys.command_support import Rows

Db = pymongo.database.Database[dict[str, Any]]
WHEN = dt.datetime(2024, 5, 17, 9, 30, tzinfo=dt.UTC)
PROFILE = """
[[collection]]
ns = "{db}.own"
layout = "versions"
id = "nr"
version = "rev"
token = "mark"
at = "when"
author = "who"

[[collection]]
ns = "{db}.marked"
layout = "flagged"
id = "nr"
version = "rev"
token = "mark"
current = "live"

[[collection]]
ns = "{db}.inside"
layout = "embedded"
id = "nr"
version = "rev"
token = "mark"
current = "now"
prev = "past"
at = "when"

[[collection]]
ns = "{db}.two"
layout = "archive"
archive = "{db}.second"
archive_id = "of"
id = "nr"
version = "rev"
token = "mark"
author = "who"

[[collection]]
ns = "{db}.parts"
layout = "deltas"
id = "nr"
version = "rev"
token = "mark"
removed = "gone"

[[collection]]
ns = "{db}.fed"
layout = "stream"
archive = "{db}.fed_all"
archive_id = "of"
version = "rev"
token = "mark"

[[collection]]
ns = "{db}.hash"
layout = "hashed"
hash = "print"
token = ""
hash_fields = {{ exclude = ["views"] }}

[[collection]]
ns = "{db}.bare"
layout = "plain"
id = "nr"
token = ""
"""


def state(v: int) -> dict[str, Any]:
    """The content of version ``v`` as the team put it there."""
    return {"name": "Eva", "steps": v, "deep": {"a": v, "b": "same"}, "list": [1, v]}


def numbered(v: int, **more: Any) -> dict[str, Any]:
    return {"rev": v, "mark": ObjectId(), **more, **state(v)}


def digest(content: dict[str, Any]) -> str:
    return hashlib.sha1(bson.encode(content)).hexdigest()


@pytest.fixture
def ground(server_uri: str, database: Db, tmp_path: Path) -> tuple[str, str]:
    """Document 7 in three versions in each collection (only one where there is one); the profile's path."""
    for name, keys in {"own": ("nr", "rev"), "marked": ("nr", "rev"), "parts": ("nr", "rev")}.items():
        database[name].create_index([(key, 1) for key in keys], unique=True)
    for name in ("second", "fed_all"):
        database[name].create_index([("of", 1), ("rev", 1)], unique=True)
    for v in (1, 2, 3):
        database["own"].insert_one({"nr": 7, **numbered(v, when=WHEN + dt.timedelta(days=v), who="Ada")})
        database["marked"].insert_one({"nr": 7, **numbered(v, live=v == 3)})
        database["fed_all"].insert_one({"of": 7, **numbered(v)})
    for v in (1, 2):
        database["second"].insert_one({"of": 7, **numbered(v)})
    database["two"].insert_one({"_id": ObjectId(), "nr": 7, **numbered(3)})
    past = [numbered(1, when=WHEN), numbered(2, when=WHEN)]
    database["inside"].insert_one({"_id": ObjectId(), "nr": 7, "now": numbered(3, when=WHEN), "past": past})
    database["parts"].insert_many(
        [
            {"nr": 7, **numbered(1), "extra": True},
            {"nr": 7, "rev": 2, "mark": ObjectId(), "steps": 2, "deep": {"a": 2, "b": "same"}, "list": [1, 2]},
            {"nr": 7, "rev": 3, "mark": ObjectId(), "steps": 3, "deep": {"a": 3, "b": "same"}, "list": [1, 3],
             "gone": ["extra"]},
        ]
    )  # fmt: skip
    database["fed"].insert_one({"_id": 7, **numbered(3)})
    database["hash"].insert_one({"_id": 7, **state(3), "views": 5, "print": digest(state(3))})
    database["bare"].insert_one({"_id": ObjectId(), "nr": 7, **state(3)})
    path = tmp_path / "team.toml"
    path.write_text(PROFILE.format(db=database.name), encoding="utf-8")
    return server_uri, str(path)


@pytest.fixture
def asked(rows: Rows, ground: tuple[str, str], database: Db) -> Rows:
    """``asked(command, collection, …)`` with the profile and --json; exit status and rows."""
    source, path = ground

    def called(command: str, collection: str, *argv: str) -> tuple[int, list[dict[str, Any]]]:
        return rows(command, source, f"{database.name}.{collection}", *argv, "--profile", path)

    return called


HISTORIES = ("own", "marked", "inside", "two", "parts", "fed")
EVERYWHERE = (*HISTORIES, "hash", "bare")


@pytest.mark.parametrize("collection", HISTORIES)
def test_a_history_under_other_names_has_every_version(asked: Rows, collection: str) -> None:
    status, rows = asked("history", collection, "7")
    assert status == 0
    assert [(row["v"], row["state"], row["current"]) for row in rows] == [
        ({"$numberInt": str(v)}, "present", v == 3) for v in (3, 2, 1)
    ]
    for v, row in zip((3, 2, 1), rows, strict=True):
        content = state(v) | ({"extra": True} if collection == "parts" and v < 3 else {})
        raw = bson.encode(content)
        assert (row["hash"], row["bytes"]) == (hashlib.sha1(raw).hexdigest(), len(raw)), f"v{v}"
    if collection in ("own", "inside"):
        days = 3 if collection == "own" else 0
        stamp = int((WHEN + dt.timedelta(days=days)).timestamp() * 1000)
        assert rows[0]["at"] == {"$date": {"$numberLong": str(stamp)}}


@pytest.mark.parametrize("collection", EVERYWHERE)
def test_the_content_under_other_names_is_what_the_team_put_there(asked: Rows, collection: str) -> None:
    status, (row,) = asked("show", collection, "7")
    shown = canonical.decode(text.from_text(json.dumps(row)))
    if collection == "hash":
        assert shown.pop("views") == 5
    assert (status, list(shown.items())) == (0, list(state(3).items()))


def stored(database: Db, collection: str) -> dict[str, Any]:
    """The current document 7 as it is stored, found without the product."""
    key = "_id" if collection in ("fed", "hash") else "nr"
    found = list(database[collection].find({key: 7}).sort("rev", -1).limit(1))
    return dict(found[0])


@pytest.mark.parametrize("collection", EVERYWHERE)
def test_an_edit_under_other_names_changes_one_field_and_what_the_layout_keeps(
    asked: Rows, database: Db, collection: str
) -> None:
    before = stored(database, collection)
    status, (row,) = asked("edit", collection, "7", "--set", "steps=99")
    assert (status, row["outcome"], row["id"]) == (0, "applied", {"$numberInt": "7"}), row
    after = stored(database, collection)
    if collection == "inside":
        assert after["past"] == [*before["past"], before["now"]]
        before, after = before["now"], after["now"]
    assert after["steps"] == 99
    assert "v" not in after
    assert "_w" not in after
    assert "docId" not in after
    for name in ("name", "deep", "list"):
        if collection != "parts":
            assert after[name] == before[name]
        else:
            assert name not in after  # a delta holds what changed
    if collection in HISTORIES:
        assert after["rev"] == 4
        assert isinstance(after["mark"], ObjectId)
        assert after["mark"] != before["mark"]
    if collection == "own":
        assert after["who"] != "Ada"
        assert after["when"] > before["when"]
        assert database["own"].count_documents({"nr": 7}) == 4
    elif collection == "marked":
        assert [d["rev"] for d in database["marked"].find({"nr": 7, "live": True})] == [4]
    elif collection == "two":
        row_3 = database["second"].find_one({"of": 7, "rev": 3})
        assert row_3 is not None
        assert {k: w for k, w in row_3.items() if k not in ("_id", "of")} == {
            k: w for k, w in before.items() if k not in ("_id", "nr")
        }
    elif collection == "hash":
        content = {**state(3), "steps": 99}
        assert after["print"] == digest({k: after[k] for k in content})
        assert (after["views"], set(after)) == (5, {"_id", *content, "views", "print"})
    elif collection == "bare":
        assert set(after) == {"_id", "nr", *state(3)}


@pytest.mark.parametrize("collection", EVERYWHERE)
def test_removing_and_restoring_under_other_names(asked: Rows, database: Db, collection: str) -> None:
    status, (row,) = asked("edit", collection, "7", "--unset", "deep.a", "name")
    assert (status, row["outcome"]) == (0, "applied"), row
    _, (shown,) = asked("show", collection, "7")
    assert "name" not in shown
    assert shown["deep"] == {"b": "same"}
    if collection not in HISTORIES:
        return
    assert asked("diff", collection, "7", "3", "4")[0] == 1
    status, (row,) = asked("restore", collection, "7", "2")
    assert (status, row["outcome"]) == (0, "applied"), row
    _, rows = asked("history", collection, "7")
    assert [row["v"]["$numberInt"] for row in rows] == ["5", "4", "3", "2", "1"]
    _, differences = asked("diff", collection, "7", "2", "5")
    # Who saved it is content where the profile names a field for that; some servers keep a field order of their own.
    assert [d for d in differences if d["op"] != "reorder" and d["path"] != ["who"]] == []


def test_collections_state_what_the_profile_says(
    capsys: pytest.CaptureFixture[str], ground: tuple[str, str], database: Db
) -> None:
    source, path = ground
    assert command_line.main(["collections", source, "--profile", path, "--json"]) == 0
    rows = {row["ns"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    two = rows[f"{database.name}.two"]
    assert (two["layout"], two["confidence"]) == ("archive", 1)
    assert two["fields"]["archive"] == f"{database.name}.second"
    assert (two["fields"]["version"], two["fields"]["token"], two["fields"]["id"]) == ("rev", "mark", "nr")
    assert rows[f"{database.name}.hash"]["fields"].get("token") in (None, "")
