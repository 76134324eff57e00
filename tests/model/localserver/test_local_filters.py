"""Filters of the in-process server match as MongoDB's do, types included."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from typing import Any

import bson
import pymongo
import pytest
from bson import Code, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp
from pymongo.errors import OperationFailure

from model.mql.filters import compile_filter
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.localserver.local_client import Stored, stored


@pytest.fixture(scope="module")
def shared() -> Iterator[Stored]:
    with stored() as made:
        yield made


@pytest.fixture
def db(shared: Stored) -> Stored:
    """The collection, which is empty."""
    shared.plain.drop()
    return shared


NAN = float("nan")
ROWS: dict[str, Any] = {
    "int": 1,
    "double": 1.0,
    "long": Int64(1),
    "decimal": Decimal128("1.00"),
    "true": True,
    "false": False,
    "zero": 0,
    "text": "1",
    "null": None,
    "array": [1, 2],
    "nested": [[1, 2]],
    "empty": [],
    "document": {"a": 1, "b": 2},
    "swapped": {"b": 2, "a": 1},
    "nan": NAN,
    "date": dt.datetime(2020, 1, 1),
    "oid": ObjectId("5f0000000000000000000001"),
    "regex": Regex("^1", ""),
    "binary": b"1",
    "timestamp": Timestamp(1, 1),
    "min": MinKey(),
    "max": MaxKey(),
    "code": Code("1"),
}
NUMBERS = ["int", "double", "long", "decimal"]


@pytest.fixture
def rows(db: Stored) -> Stored:
    db.put(*({"_id": name, "f": value} for name, value in ROWS.items()), {"_id": "missing"})
    return db


def rest(*names: str) -> list[str]:
    return [name for name in [*ROWS, "missing"] if name not in names]


@support.table(
    "condition, found",
    [
        (1, [*NUMBERS, "array"]),
        (Int64(1), [*NUMBERS, "array"]),
        (True, ["true"]),
        (0, ["zero"]),
        ({"$eq": 1, "$type": 16}, ["int", "array"]),
        ({"$eq": 1, "$type": 16, "$not": {"$type": "array"}}, ["int"]),
        ({"$eq": 1, "$type": "long"}, ["long"]),
        ({"$eq": 1, "$type": "decimal"}, ["decimal"]),
        (None, ["null", "missing"]),
        ({"$eq": None, "$exists": True}, ["null"]),
        ({"$exists": False}, ["missing"]),
        ({"$type": "null"}, ["null"]),
        ({"$type": 10}, ["null"]),
        ({"$type": "number"}, [*NUMBERS, "zero", "array", "nan"]),
        ({"$type": "array"}, ["array", "nested", "empty"]),
        ({"$type": ["bool", "date"]}, ["true", "false", "date"]),
        ({"$type": -1}, ["min"]),
        ({"$type": 127}, ["max"]),
        ([1, 2], ["array", "nested"]),
        ([2, 1], []),
        ([], ["empty"]),
        ({"$size": 2}, ["array"]),
        ({"$size": 0}, ["empty"]),
        ({"a": 1, "b": 2}, ["document"]),
        ({"b": 2, "a": 1}, ["swapped"]),
        ({"a": 1}, []),
        ({"a": True, "b": 2}, []),
        ({"$eq": {"a": 1.0, "b": Int64(2)}}, ["document"]),
        ({"$in": [1, None]}, [*NUMBERS, "null", "array", "missing"]),
        ({"$in": ["1", Regex("^1", "")]}, ["text", "regex"]),
        ({"$nin": [1, None]}, rest(*NUMBERS, "null", "array", "missing")),
        ({"$ne": 1}, rest(*NUMBERS, "array")),
        ({"$ne": None}, rest("null", "missing")),
        ({"$gt": 0}, [*NUMBERS, "array"]),
        ({"$gte": 0, "$lt": 1}, ["zero"]),
        ({"$gt": 1, "$lt": 2}, ["array"]),
        ({"$lt": 1}, ["zero"]),
        ({"$gte": NAN}, ["nan"]),
        (NAN, ["nan"]),
        ({"$gte": ""}, ["text"]),
        ({"$gt": dt.datetime(2019, 1, 1)}, ["date"]),
        ({"$gte": None}, ["null", "missing"]),
        ({"$gt": None}, []),
        (ObjectId("5f0000000000000000000001"), ["oid"]),
        (b"1", ["binary"]),
        (Timestamp(1, 1), ["timestamp"]),
        (re.compile("^1$"), ["text"]),
        ({"$regex": "^1", "$options": "i"}, ["text"]),
        ({"$not": {"$regex": "^1"}}, rest("text")),
        ({"$not": {"$gte": 0}}, rest(*NUMBERS, "zero", "array")),
        ({"$elemMatch": {"$gt": 1}}, ["array"]),
        ({"$elemMatch": {"$eq": [1, 2]}}, ["nested"]),
        ({"$all": [1, 2]}, ["array"]),
        ({"$mod": [2, 1]}, [*NUMBERS, "array"]),
        ({"$bitsAllSet": 1}, [*NUMBERS, "array", "binary"]),
        ({"$eq": MinKey()}, ["min"]),
        (Code("1"), ["code"]),
    ],
    ids=repr,
)
def test_a_condition_on_a_field_finds_what_a_server_finds(rows: Stored, condition: Any, found: list[str]) -> None:
    expected = [name for name in [*ROWS, "missing"] if name in found]
    rows.plain.drop_indexes()
    assert rows.ids({"f": condition}) == expected
    rows.plain.create_index("f")
    assert rows.ids({"f": condition}) == expected, "with an index"
    either = [name for name in [*ROWS, "missing"] if name in {*found, "null", "missing"}]
    assert rows.ids({"$or": [{"f": condition}, {"f": None}]}) == either, "each branch with an index"


@support.table(
    "query, found",
    [
        ({"a.b": 1}, [1, 2, 3, 8]),
        ({"a.0.b": 1}, [2, 3]),
        ({"a.1.b": 2}, [3]),
        ({"a.b": None}, [4, 5, 6]),
        ({"a.b": {"$exists": False}}, [4, 5, 6, 7, 9]),
        ({"a.b": {"$ne": 1}}, [4, 5, 6, 7, 9]),
        ({"a": {"$elemMatch": {"b": 1}}}, [2, 3]),
        ({"a": {"$elemMatch": {"b": 1, "c": 3}}}, [3]),
        ({"a.b": 1, "a.c": 3}, [3]),
        ({"a.b.0": 1}, [8]),
        ({"$or": [{"a.b": 1}, {"a": 5}]}, [1, 2, 3, 4, 8]),
        ({"$nor": [{"a.b": 1}, {"a": 5}]}, [5, 6, 7, 9]),
        ({"$and": [{"a.b": 1}, {"_id": {"$gt": 1}}]}, [2, 3, 8]),
        ({"$expr": {"$eq": ["$a.b", 1]}}, [1]),
        ({"$expr": {"$eq": [{"$type": "$a.b"}, "missing"]}}, [4, 5, 6]),
        ({"$expr": {"$eq": [{"$type": "$a.b"}, "array"]}}, [2, 3, 7, 8, 9]),
        ({"$expr": {"$eq": ["$a", {"$literal": {"b": 1}}]}}, [1]),
        ({"$expr": {"$eq": [{"$toString": "$_id"}, "4"]}}, [4]),
        ({"$comment": "why", "_id": 1}, [1]),
        ({}, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ],
    ids=repr,
)
def test_paths_lead_through_documents_and_arrays(db: Stored, query: Any, found: list[int]) -> None:
    values: list[Any] = [
        {"b": 1},
        [{"b": 1}],
        [{"b": 1, "c": 3}, {"b": 2}],
        5,
        {},
        {"c": 1},
        [],
        {"b": [1, 2]},
        [1, "x"],
    ]
    db.only(*({"_id": i, "a": value} for i, value in enumerate(values, 1)))
    assert db.ids(query) == found


def test_decimals_differ_by_their_digits_where_strings_are_compared(db: Stored) -> None:
    for i, digits in enumerate(["1.0", "1.00", "1", "-0.0", "0", "NaN"]):
        db.put({"_id": i, "f": Decimal128(digits)})
    assert db.ids({"f": Decimal128("1")}) == [0, 1, 2]
    assert db.ids({"f": Decimal128("1"), "$expr": {"$eq": [{"$toString": "$f"}, "1.00"]}}) == [1]
    assert db.ids({"f": 0, "$expr": {"$eq": [{"$toString": "$f"}, "-0.0"]}}) == [3]


def test_deprecated_types_are_told_apart_by_type(db: Stored) -> None:
    odd = [
        Value(c.SYMBOL, b"\x02\x00\x00\x00a\x00"),
        Value(c.STRING, b"\x02\x00\x00\x00a\x00"),
        Value(c.UNDEFINED, b""),
        Value(c.DB_POINTER, b"\x02\x00\x00\x00a\x00" + bytes(12)),
    ]
    db.server.load("test.c", [c.document([("_id", Value.of(i)), ("f", v)]) for i, v in enumerate(odd)])
    assert db.ids({"f": "a"}) == [0, 1]
    assert db.ids({"f": {"$type": "symbol"}}) == [0]
    assert db.ids({"f": {"$eq": "a", "$type": "string"}}) == [1]
    assert db.ids({"f": {"$type": "undefined"}}) == [2]
    assert db.ids({"f": {"$type": "dbPointer"}}) == [3]
    assert db.ids({"f": None}) == [2]


@support.table(
    "query",
    [
        {"f": {"$nonsense": 1}},
        {"$nonsense": 1},
        {"$or": []},
        {"$and": [1]},
        {"f": {"$in": 1}},
        {"f": {"$type": "nonsense"}},
        {"f": {"$type": 99}},
        {"f": {"$regex": "("}},
        {"f": {"$mod": [0, 1]}},
        {"f": {"$elemMatch": 1}},
        {"f": {"$not": 1}},
        {"f": {"$size": "x"}},
        {"$where": "true"},
        {"$text": {"$search": "x"}},
    ],
    ids=repr,
)
def test_a_filter_that_makes_no_sense_is_refused(db: Stored, query: Any) -> None:
    db.only({"_id": 1, "f": 1})
    with pytest.raises(OperationFailure) as caught:
        db.ids(query)
    assert caught.value.code not in (None, 1)


def test_values_sort_as_servers_sort_them(db: Stored) -> None:
    order = [
        MinKey(), None, NAN, float("-inf"), -5, Decimal128("-0.5"), 0, Int64(1), 1.5, 2**40, "", "a", "b", {},
        {"a": 1}, {"b": 0}, b"", b"a", ObjectId(), False, True, dt.datetime(1960, 1, 1), dt.datetime(2020, 1, 1),
        Timestamp(1, 1), Regex("a"), MaxKey(),
    ]  # fmt: skip
    documents = [{"_id": i, "f": value} for i, value in enumerate(order)]
    db.put(*documents[::2], *documents[1::2])
    assert [d["_id"] for d in db.plain.find().sort("f", 1)] == list(range(len(order)))
    assert [d["_id"] for d in db.plain.find().sort("f", -1)] == list(range(len(order)))[::-1]
    db.plain.create_index([("f", 1)])
    assert [d["_id"] for d in db.plain.find().sort("f", 1)] == list(range(len(order))), "with an index"
    assert [d["_id"] for d in db.plain.find().sort("f", -1).limit(3)] == list(range(len(order)))[:-4:-1]


def test_sorting_by_two_fields_goes_each_way(db: Stored) -> None:
    db.put(*({"_id": i, "a": i % 2, "b": i} for i in range(6)))
    wanted = [4, 2, 0, 5, 3, 1]
    assert [d["_id"] for d in db.plain.find().sort([("a", 1), ("b", -1)])] == wanted
    db.plain.create_index([("a", 1), ("b", -1)])
    assert [d["_id"] for d in db.plain.find().sort([("a", 1), ("b", -1)])] == wanted
    assert [d["_id"] for d in db.plain.find({"a": 1}).sort("b", -1)] == [5, 3, 1]
    assert [d["_id"] for d in db.plain.find({"a": {"$in": [0, 1]}}).sort("b", -1)] == [5, 4, 3, 2, 1, 0]


@support.table(
    "projection, shown",
    [
        ({"a": 1}, {"_id": 1, "a": {"x": 1, "y": 2}}),
        ({"a": 1, "_id": 0}, {"a": {"x": 1, "y": 2}}),
        ({"_id": 1}, {"_id": 1}),
        ({"_id": 0, "l": 0}, {"a": {"x": 1, "y": 2}, "b": 5}),
        ({"a.x": 1}, {"_id": 1, "a": {"x": 1}}),
        ({"a": {"x": 1}}, {"_id": 1, "a": {"x": 1}}),
        ({"a.x": 0, "l": 0}, {"_id": 1, "a": {"y": 2}, "b": 5}),
        ({"l.p": 1}, {"_id": 1, "l": [{"p": 1}, {"p": 2}]}),
        ({"l.p": 0, "a": 0}, {"_id": 1, "b": 5, "l": [{"q": 3}, {}, 7]}),
        ({"l": {"$slice": 1}, "a": 0}, {"_id": 1, "b": 5, "l": [{"p": 1, "q": 3}]}),
        ({"l": {"$slice": -1}, "a": 1}, {"_id": 1, "a": {"x": 1, "y": 2}, "l": [7]}),
        ({"l": {"$elemMatch": {"p": 2}}}, {"_id": 1, "l": [{"p": 2}]}),
        ({"z": "$a.x"}, {"_id": 1, "z": 1}),
        ({"nothing": 1}, {"_id": 1}),
        ({}, {"_id": 1, "a": {"x": 1, "y": 2}, "b": 5, "l": [{"p": 1, "q": 3}, {"p": 2}, 7]}),
    ],
    ids=repr,
)
def test_projections_keep_what_was_asked_for_in_stored_order(db: Stored, projection: Any, shown: Any) -> None:
    db.only({"_id": 1, "a": {"x": 1, "y": 2}, "b": 5, "l": [{"p": 1, "q": 3}, {"p": 2}, 7]})
    assert db.all({}, projection=projection) == [bson.encode(shown)]


def test_inclusion_and_exclusion_do_not_mix(db: Stored) -> None:
    db.put({"_id": 1})
    with pytest.raises(OperationFailure) as caught:
        db.all({}, projection={"a": 1, "b": 0})
    assert caught.value.code == 31254


def test_look_ups_by_id_and_by_indexed_fields_do_not_scan(db: Stored) -> None:
    db.put(*({"_id": i, "docId": i // 10, "v": i % 10} for i in range(1000)))
    db.plain.create_index([("docId", pymongo.ASCENDING), ("v", pymongo.ASCENDING)], unique=True)

    def examined(query: Any, **options: Any) -> int:
        plan = db.plain.find(query, **options).explain()
        return int(plan["executionStats"]["totalDocsExamined"])

    assert examined({"_id": 5}) == 1
    assert examined({"_id": 5.0, "v": 3}) == 1
    assert examined({"_id": {"$in": [5, 6, Int64(6), 5000]}}) == 2
    assert examined({"docId": 7}) == 10
    assert examined({"docId": 7, "v": 3}) == 1
    assert examined({"docId": {"$in": [7, 8]}, "v": {"$eq": 3}}) == 2
    assert examined({"$and": [{"docId": 7}, {"v": {"$gt": 7}}]}) <= 3
    assert examined({"_id": {"$gt": 990}}) <= 10
    assert examined({"$or": [{"docId": {"$gte": 98}}, {"docId": None}, {"_id": 5}]}) == 21
    assert examined({"$or": [{"docId": 7}, {"v": 3}]}) == 1000
    assert examined({"v": 3}) == 1000


def test_what_is_looked_up_again_and_again_gets_an_index_that_nobody_sees(db: Stored) -> None:
    db.put(*({"_id": i, "docId": i // 10, "v": i % 10} for i in range(2000)))
    for descending in (False, True, False):
        found = [d["v"] for d in db.plain.find({"docId": 7}).sort("v", -1 if descending else 1)]
        assert found == list(range(10))[:: -1 if descending else 1]
    looked_at, _, _ = db.server.store.make("test", "c").find(compile_filter(bson.encode({"docId": 7})))
    assert len(list(looked_at)) == 10
    assert db.plain.find({"docId": 7}).explain()["executionStats"]["totalDocsExamined"] == 2000  # as elsewhere
    assert list(db.plain.index_information()) == ["_id_"]
    db.plain.update_one({"_id": 70}, {"$set": {"docId": -1}})
    db.plain.delete_one({"_id": 71})
    db.plain.insert_one({"_id": 5000, "docId": 7, "v": 50})
    assert [d["v"] for d in db.plain.find({"docId": 7}).sort("v", 1)] == [*range(2, 10), 50]
    assert [d["_id"] for d in db.plain.find().sort("v", 1).limit(2)] == [0, 10]
    for i in range(30):  # more kinds of question than are kept in mind
        assert [d["_id"] for d in db.plain.find({f"f{i}": None, "_id": {"$lt": 2}}).sort("v", -1)] == [1, 0]


def test_a_filter_finds_documents_with_damage_elsewhere(db: Stored) -> None:
    inner = b"\x02bad\x00\xff\x00\x00\x00x\x00"  # a string longer than its document
    body = b"\x10_id\x00\x01\x00\x00\x00" + inner
    damaged = (len(body) + 5).to_bytes(4, "little") + body + b"\x00"
    db.server.load("test.c", [damaged, bson.encode({"_id": 2, "bad": "x"})])
    assert db.all({"_id": 1}) == [damaged]
    assert db.all({}) == [damaged, bson.encode({"_id": 2, "bad": "x"})]
    assert db.ids({"bad": "x"}) == [2]
    assert db.all({}, sort=[("bad", 1)])[0] == damaged
    assert db.all({"_id": 1}, projection={"other": 0}) == [damaged], "nothing is cut out of it"
    assert db.all({"_id": 1}, projection={"bad": 1}) == [bson.encode({"_id": 1})]
    assert db.plain.distinct("bad") == ["x"]
    assert list(db.plain.aggregate([{"$group": {"_id": "$bad", "n": {"$sum": 1}}}])) == [
        {"_id": None, "n": 1},
        {"_id": "x", "n": 1},
    ]
    assert list(db.plain.aggregate([{"$unwind": "$bad"}, {"$project": {"_id": 1}}])) == [{"_id": 2}]
