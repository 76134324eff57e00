"""Two stored rows with one version: every way of reading takes the same one, in whatever order a server has them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import bson
import pymongo
import pytest
from bson import Int64, ObjectId

from model.layouts.base import Layout
from model.layouts.history_batches import together
from model.layouts.registry import bind, stated
from model.localserver import LocalServer
from model.server.retry import Server
from model.storage.newest_query import PageQuery
from model.values.canonical import Value
from tests import support

Db = pymongo.database.Database[dict[str, Any]]
IDS = [Value.of(id) for id in "ABC"]
LOW, HIGH = ObjectId("5f" + "0" * 22), ObjectId("6f" + "0" * 22)
FIELDS = {"versions": "docId", "flagged": "docId", "deltas": "docId", "archive": "_id"}


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Server, Db]]:
    with LocalServer() as local, pymongo.MongoClient(local.uri) as client, Server.connect(local.uri) as made:
        yield made, client["twice"]


def rows_of(id: str, at: int, twice: int, above: int) -> list[dict[str, Any]]:
    """The versions of a document, of which one is stored twice: ``x`` tells the rows apart."""
    rows = [{"_id": ObjectId(), "docId": id, "v": v, "x": str(v)} for v in range(1, twice + above + 1) if v != twice]
    for physical, x in ((LOW, "low"), (HIGH, "high")):
        rows.append({"_id": ObjectId(physical.binary[:-1] + bytes([at])), "docId": id, "v": twice, "x": x})
    return rows


def read(layout: Layout, twice: int) -> dict[str, list[Any]]:
    """The content of the version that is stored twice, of each document, by each way of reading."""
    v = Value.of(twice)

    def told(raw: bytes | None) -> Any:
        return None if raw is None else bson.decode(raw).get("x")

    def first(layout: Layout, id: Value) -> Any:
        return next(told(each.content) for each in layout.history(id, contents="all") if each.v == v)

    found = {
        "alone": [first(layout, id) for id in IDS],
        "lazily": [next(told(e.content) for e in layout.history(id, contents=True) if e.v == v) for id in IDS],
        "together": [first(bound, id) for id, bound in together(layout, IDS)],
        "by number": [told(layout.version(id, v).content) for id in IDS],
    }
    if layout.version(IDS[0]).v == v:
        found["newest"] = [told(layout.version(id).content) for id in IDS]
        for limit, sort in itertools.product((1, 2, 100), (None, {"docId": 1}, {"docId": -1}, {"x": 1})):
            if layout.name == "archive":
                continue
            skipped = (PageQuery(limit=limit, skip=skip, sort=sort) for skip in range(0, 3, limit))
            found[f"page of {limit} by {sort}"] = [told(row.raw) for each in skipped for row in layout.page(each)]
    return found


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize("above", support.every(2, [0, 1]))
def test_every_way_of_reading_takes_the_same_row(server: tuple[Server, Db], name: str, index: bool, above: int) -> None:
    port, db = server
    for order, twice in itertools.product((1, -1), (2, 3)):
        db.drop_collection("things")
        db.drop_collection("things_history")
        rows = [row for at, id in enumerate("ABC") for row in rows_of(id, at, twice, above)][::order]
        rows.sort(key=lambda row: (row["v"] == twice, row["_id"]), reverse=order == -1)
        fields = {"id": FIELDS[name]}
        if name == "archive":
            db["things"].insert_many([{"_id": id, "v": twice + above + 1, "x": "now"} for id in "ABC"])
        kept = db["things_history" if name == "archive" else "things"]
        kept.insert_many(rows)
        if index:
            kept.create_index([("docId", 1), ("v", 1)])
        layout = bind(port, stated("twice.things", name, **fields))
        found = read(layout, twice)
        assert {way: set(each) for way, each in found.items()} == {way: {"high"} for way in found}, (order, twice)
        assert {len(each) for each in found.values()} == {3}


def test_a_number_of_another_type_is_the_same_version(server: tuple[Server, Db]) -> None:
    port, db = server
    for order in (1, -1):
        db.drop_collection("things")
        two = [{"_id": LOW, "docId": "A", "v": 2, "x": "low"}, {"_id": HIGH, "docId": "A", "v": Int64(2), "x": "high"}]
        db["things"].insert_many([{"docId": "A", "v": 1, "x": "first"}, *two[::order]])
        layout = bind(port, stated("twice.things", "versions", id="docId"))
        assert [bson.decode(each.content or b"")["x"] for each in layout.history(IDS[0], contents="all")] == [
            "high", "low", "first",
        ]  # fmt: skip
        assert bson.decode(layout.version(IDS[0]).content or b"")["x"] == "high"


def test_rows_on_both_sides_of_the_end_of_a_page_are_put_in_order(server: tuple[Server, Db]) -> None:
    port, db = server
    for order in (1, -1):
        db.drop_collection("things")
        rows = rows_of("A", 0, 7, 103)  # the second of them is the first row after the first page
        db["things"].insert_many(rows[::order])
        layout = bind(port, stated("twice.things", "versions", id="docId"))
        for contents in (True, "all"):
            found = [each for each in layout.history(IDS[0], contents=contents) if each.v == Value.of(7)]  # type: ignore[arg-type]
            assert [bson.decode(each.content or b"")["x"] for each in found] == ["high", "low"]
