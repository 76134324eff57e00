"""Pipelines and expressions in the in-process server."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import bson
import pytest
from bson import Decimal128, Int64, ObjectId
from pymongo.errors import OperationFailure

from tests import support
from tests.model.localserver.local_client import Stored, split, stored


@pytest.fixture(scope="module")
def db() -> Iterator[Stored]:
    with stored() as made:
        made.put(
            {"_id": 1, "k": "a", "n": 1, "l": [1, 2], "d": {"x": Decimal128("1.50")}},
            {"_id": 2, "k": "b", "n": Int64(2), "l": [], "d": {"x": Decimal128("2.50")}},
            {"_id": 3, "k": "a", "n": 3.5, "l": None},
            {"_id": 4, "k": True, "n": 4},
            {"_id": 5, "k": 1, "n": 5},
            {"_id": 6, "k": 1.0, "n": 6},
        )
        made.client.test.other.insert_many([{"_id": i, "ref": i % 2, "z": "z" * i} for i in range(4)])
        yield made


PIPELINES: list[tuple[list[Any], list[Any]]] = [
    ([{"$match": {"k": "a"}}, {"$count": "n"}], [{"n": 2}]),
    ([{"$match": {"k": "none"}}, {"$count": "n"}], []),
    ([{"$sort": {"_id": -1}}, {"$skip": 1}, {"$limit": 1}, {"$project": {"n": 1}}], [{"_id": 5, "n": 5}]),
    (
        [{"$group": {"_id": "$k", "n": {"$sum": "$n"}, "c": {"$sum": 1}}}],
        [
            {"_id": "a", "n": 4.5, "c": 2},
            {"_id": "b", "n": Int64(2), "c": 1},
            {"_id": True, "n": 4, "c": 1},
            {"_id": 1, "n": 11, "c": 2},
        ],
    ),
    (
        [
            {"$match": {"_id": {"$lte": 2}}},
            {"$group": {"_id": None, "x": {"$sum": "$d.x"}, "m": {"$max": "$n"}, "a": {"$avg": "$_id"}}},
        ],
        [{"_id": None, "x": Decimal128("4.00"), "m": Int64(2), "a": 1.5}],
    ),
    (
        [
            {"$sort": {"_id": 1}},
            {"$group": {"_id": {"k": "$k"}, "f": {"$first": "$_id"}, "l": {"$last": "$_id"}, "p": {"$push": "$_id"}}},
            {"$match": {"_id": {"k": "a"}}},
        ],
        [{"_id": {"k": "a"}, "f": 1, "l": 3, "p": [1, 3]}],
    ),
    ([{"$sortByCount": "$k"}, {"$limit": 1}], [{"_id": "a", "count": 2}]),
    (
        [{"$match": {"_id": {"$lte": 3}}}, {"$unwind": "$l"}, {"$project": {"l": 1}}],
        [{"_id": 1, "l": 1}, {"_id": 1, "l": 2}],
    ),
    (
        [
            {"$match": {"_id": {"$lte": 2}}},
            {"$unwind": {"path": "$l", "includeArrayIndex": "i", "preserveNullAndEmptyArrays": True}},
            {"$project": {"l": 1, "i": 1}},
        ],
        [{"_id": 1, "l": 1, "i": Int64(0)}, {"_id": 1, "l": 2, "i": Int64(1)}, {"_id": 2, "i": None}],
    ),
    (
        [
            {"$match": {"_id": 1}},
            {"$lookup": {"from": "other", "localField": "n", "foreignField": "ref", "as": "o"}},
            {"$project": {"o": 1}},
        ],
        [{"_id": 1, "o": [{"_id": 1, "ref": 1, "z": "z"}, {"_id": 3, "ref": 1, "z": "zzz"}]}],
    ),
    (
        [
            {"$match": {"_id": 1}},
            {"$lookup": {"from": "other", "pipeline": [{"$match": {"_id": 2}}, {"$unset": "z"}], "as": "o"}},
            {"$project": {"o": 1}},
        ],
        [{"_id": 1, "o": [{"_id": 2, "ref": 0}]}],
    ),
    (
        [
            {"$match": {"_id": {"$lte": 2}}},
            {
                "$lookup": {
                    "from": "other",
                    "let": {"n": "$n", "none": "$nothing"},
                    "pipeline": [
                        {"$match": {"$expr": {"$and": [{"$eq": ["$_id", "$$n"]}, {"$ne": ["$_id", "$$none"]}]}}},
                        {"$project": {"z": 1}},
                    ],
                    "as": "o",
                }
            },
            {"$project": {"o": 1}},
        ],
        [{"_id": 1, "o": [{"_id": 1, "z": "z"}]}, {"_id": 2, "o": [{"_id": 2, "z": "zz"}]}],
    ),
    (
        [{"$facet": {"n": [{"$count": "c"}], "first": [{"$limit": 1}, {"$project": {"_id": 1}}]}}],
        [{"n": [{"c": 6}], "first": [{"_id": 1}]}],
    ),
    ([{"$match": {"_id": 1}}, {"$addFields": {"d.y": "$n", "k": "z"}}, {"$unset": ["l", "n"]}],
     [{"_id": 1, "k": "z", "d": {"x": Decimal128("1.50"), "y": 1}}]),
    ([{"$match": {"_id": 1}}, {"$replaceRoot": {"newRoot": "$d"}}], [{"x": Decimal128("1.50")}]),
    ([{"$match": {"_id": 1}}, {"$project": {"_id": 0, "d": 0, "l": 0}}], [{"k": "a", "n": 1}]),
    ([{"$match": {"_id": 4}}, {"$unionWith": {"coll": "other", "pipeline": [{"$match": {"_id": 0}}]}}],
     [{"_id": 4, "k": True, "n": 4}, {"_id": 0, "ref": 0, "z": ""}]),
    ([{"$match": {"_id": {"$gt": 3}}}, {"$group": {"_id": None, "n": {"$sum": Int64(2**62)}, "a": {"$avg": "$k"}}}],
     [{"_id": None, "n": 3.0 * 2**62, "a": 1.0}]),
    ([{"$match": {"$expr": {"$eq": [{"$mod": ["$n", 2]}, 0]}}}, {"$project": {"_id": 1}}],
     [{"_id": 2}, {"_id": 4}, {"_id": 6}]),
]  # fmt: skip


@support.table("pipeline, rows", PIPELINES, ids=str)
def test_a_pipeline_gives_what_a_server_gives(db: Stored, pipeline: list[Any], rows: list[Any]) -> None:
    found = [raw for batch in db.plain.aggregate_raw_batches(pipeline) for raw in split(batch)]
    assert [bson.decode(raw) for raw in found] == rows
    assert found == [bson.encode(row) for row in rows], "types and order as well"


EXPRESSIONS: list[tuple[Any, Any]] = [
    ("$n", 1),
    ("$d.x", Decimal128("1.50")),
    ({"$literal": "$n"}, "$n"),
    ({"$type": "$d.x"}, "decimal"),
    ({"$type": "$nothing"}, "missing"),
    ({"$toString": "$d.x"}, "1.50"),
    ({"$toString": 1.0}, "1"),
    ({"$toString": -0.0}, "-0"),
    ({"$toString": 0.5}, "0.5"),
    ({"$toString": True}, "true"),
    ({"$toString": dt.datetime(2020, 1, 2, 3, 4, 5, 6000)}, "2020-01-02T03:04:05.006Z"),
    ({"$toString": ObjectId("5f0000000000000000000001")}, "5f0000000000000000000001"),
    ({"$add": ["$n", 1]}, 2),
    ({"$add": ["$n", Int64(1)]}, Int64(2)),
    ({"$add": ["$n", None]}, None),
    ({"$subtract": [dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 1)]}, Int64(86_400_000)),
    ({"$subtract": [dt.datetime(2020, 1, 2), 1000]}, dt.datetime(2020, 1, 1, 23, 59, 59)),
    ({"$add": [dt.datetime(2020, 1, 2), 1000]}, dt.datetime(2020, 1, 2, 0, 0, 1)),
    ({"$multiply": ["$d.x", 2]}, Decimal128("3.00")),
    ({"$divide": [1, 2]}, 0.5),
    ({"$concat": ["$k", "b"]}, "ab"),
    ({"$cond": [{"$gt": ["$n", 0]}, "yes", "no"]}, "yes"),
    ({"$cond": {"if": False, "then": 1, "else": 2}}, 2),
    ({"$ifNull": ["$nothing", 7]}, 7),
    ({"$switch": {"branches": [{"case": {"$eq": ["$n", 2]}, "then": 1}], "default": 3}}, 3),
    ({"$and": [True, 0]}, False),
    ({"$or": [None, 1]}, True),
    ({"$not": ["$n"]}, False),
    ({"$eq": ["$n", 1.0]}, True),
    ({"$eq": ["$n", True]}, False),
    ({"$ne": ["$nothing", None]}, True),
    ({"$lt": ["$n", "x"]}, True),
    ({"$cmp": ["$n", 2]}, -1),
    ({"$size": "$l"}, 2),
    ({"$arrayElemAt": ["$l", -1]}, 2),
    ({"$first": "$l"}, 1),
    ({"$in": [2, "$l"]}, True),
    ({"$isArray": "$l"}, True),
    ({"$concatArrays": ["$l", [3]]}, [1, 2, 3]),
    ({"$map": {"input": "$l", "as": "e", "in": {"$add": ["$$e", "$n"]}}}, [2, 3]),
    ({"$filter": {"input": "$l", "cond": {"$gt": ["$$this", 1]}}}, [2]),
    ({"$reduce": {"input": "$l", "initialValue": 0, "in": {"$add": ["$$value", "$$this"]}}}, 3),
    ({"$let": {"vars": {"v": 5}, "in": {"$add": ["$$v", 1]}}}, 6),
    ({"$mergeObjects": ["$d", {"y": 1}]}, {"x": Decimal128("1.50"), "y": 1}),
    ({"$objectToArray": {"a": 1}}, [{"k": "a", "v": 1}]),
    ({"$arrayToObject": [[{"k": "a", "v": 1}]]}, {"a": 1}),
    ({"$max": ["$n", 5, None]}, 5),
    ({"$min": "$l"}, 1),
    ({"$getField": "k"}, "a"),
    ({"$isNumber": "$n"}, True),
    ({"a": "$n", "b": ["$k", "$nothing"]}, {"a": 1, "b": ["a", None]}),
    ({"$strLenCP": "$k"}, 1),
    ({"$toUpper": "$k"}, "A"),
    ({"$year": dt.datetime(2020, 1, 2)}, 2020),
    ({"$abs": -5}, 5),
]


@support.table("expression, value", EXPRESSIONS, ids=str)
def test_an_expression_gives_what_a_server_gives(db: Stored, expression: Any, value: Any) -> None:
    pipeline = [{"$match": {"_id": 1}}, {"$project": {"_id": 0, "r": expression}}]
    (raw,) = [raw for batch in db.plain.aggregate_raw_batches(pipeline) for raw in split(batch)]
    assert raw == bson.encode({"r": value})


def test_a_missing_value_leaves_no_field(db: Stored) -> None:
    assert list(db.plain.aggregate([{"$match": {"_id": 1}}, {"$project": {"r": "$nothing"}}])) == [{"_id": 1}]
    remove = {"$addFields": {"k": "$$REMOVE"}}
    assert "k" not in next(iter(db.plain.aggregate([{"$match": {"_id": 1}}, remove])))


@support.table(
    "pipeline",
    [
        [{"$match": 1}],
        [{"$match": {}, "$sort": {}}],
        [{"$limit": 0}],
        [{"$group": {"n": {"$sum": 1}}}],
        [{"$project": {"r": {"$add": ["$k", 1]}}}],
        [{"$project": {"r": {"$size": "$n"}}}],
        [{"$project": {"r": "$$nothing"}}],
        [{"$unwind": "l"}],
        [{"$replaceRoot": {"newRoot": "$n"}}],
        [{"$merge": {"into": "d"}}],
        [{"$project": {"r": {"$year": "$k"}}}],
        [{"$project": {"r": {"$year": {"date": "$$NOW", "timezone": "Europe/Vienna"}}}}],
    ],
    ids=str,
)
def test_a_pipeline_that_makes_no_sense_is_refused(db: Stored, pipeline: list[Any]) -> None:
    with pytest.raises(OperationFailure) as caught:
        list(db.plain.aggregate(pipeline))
    assert caught.value.code not in (None, 1)


@support.table(
    "stage, code, name, text",
    [
        ({"$nonsense": 1}, 40324, None, "Unrecognized pipeline stage name: '$nonsense'"),
        (
            {"$bucket": {"groupBy": "$n", "boundaries": [0, 5, 9]}},
            40324,
            None,
            "Unrecognized pipeline stage name: '$bucket'",
        ),
        ({"$geoNear": {}}, 40324, None, "Unrecognized pipeline stage name: '$geoNear'"),
        ({"$group": {"_id": 1, "n": {"$stdDevPop": "$n"}}}, 15952, None, "unknown group operator '$stdDevPop'"),
        ({"$project": {"r": {"$nonsense": 1}}}, 168, "InvalidPipelineOperator", "Unrecognized expression '$nonsense'"),
        (
            {"$match": {"$expr": {"$gt": [{"$zip": {}}, 1]}}},
            168,
            "InvalidPipelineOperator",
            "Unrecognized expression '$zip'",
        ),
    ],
    ids=str,
)
def test_an_operator_that_is_not_here_is_refused_by_its_name(
    db: Stored, stage: dict[str, Any], code: int, name: str | None, text: str
) -> None:
    with pytest.raises(OperationFailure) as caught:
        list(db.plain.aggregate([stage]))
    assert caught.value.code == code
    assert caught.value.details is not None
    assert caught.value.details["codeName"] == (name or f"Location{code}")
    assert caught.value.details["errmsg"] == text


def test_a_random_sample_has_no_document_twice(db: Stored) -> None:
    found = [d["_id"] for d in db.plain.aggregate([{"$sample": {"size": 4}}])]
    assert len(set(found)) == 4


def test_statistics_and_indexes_are_told_as_stages(db: Stored) -> None:
    (stats,) = db.plain.aggregate([{"$collStats": {"storageStats": {}, "count": {}}}])
    assert stats["count"] == 6
    assert [i["name"] for i in db.plain.aggregate([{"$indexStats": {}}])] == ["_id_"]
