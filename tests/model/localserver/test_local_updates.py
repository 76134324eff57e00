"""Updates in the in-process server: named fields change as in MongoDB, others keep their bytes."""

from __future__ import annotations

import datetime as dt
import json
import struct
import threading
from collections.abc import Iterator
from typing import Any

import bson
import pytest
from bson import Decimal128, Int64, ObjectId
from bson.raw_bson import RawBSONDocument
from hypothesis import given
from hypothesis import strategies as st
from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError, OperationFailure, WriteError

from model.localserver import LocalServer
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.diff.bson_strategies import leaves
from tests.model.localserver.local_client import RAW, Stored, stored

CORPUS = support.CASES / "bson-corpus"


def corpus() -> dict[str, bytes]:
    found = {}
    for file in sorted(CORPUS.glob("*.json")):
        for i, case in enumerate(json.loads(file.read_text()).get("valid", [])):
            found[f"{file.stem}-{i}"] = bytes.fromhex(case["canonical_bson"])
    return found


@pytest.fixture(scope="module")
def shared() -> Iterator[Stored]:
    with stored() as made:
        yield made


@pytest.fixture
def db(shared: Stored) -> Stored:
    """The collection, which is empty."""
    shared.plain.drop()
    return shared


@support.table("raw", support.every(6, corpus().values()), ids=corpus())
def test_every_type_survives_an_edit_of_another_field(shared: Stored, raw: bytes) -> None:
    _id = ObjectId()
    head = Value.of(_id)
    content = Value(c.OBJECT, raw)
    before = c.document([("_id", head), ("content", content), ("deep", c.array([content])), ("n", Value.of(1))])
    shared.put(before)
    assert shared.one(_id) == before
    shared.plain.update_one({"_id": _id}, {"$set": {"n": 2, "new": "x"}, "$inc": {"m": 1}})
    after = [("_id", head), ("content", content), ("deep", c.array([content])), ("n", Value.of(2))]
    assert shared.one(_id) == c.document([*after, ("m", Value.of(1)), ("new", Value.of("x"))])


@given(st.dictionaries(st.sampled_from("abcdef"), leaves, min_size=1))
@support.examples(60)
def test_values_of_every_kind_are_found_by_themselves_and_kept(fields: dict[str, Value]) -> None:
    server = LocalServer()
    raw = c.document([("_id", Value.of(1)), *fields.items()])
    server.load("test.c", [raw])
    collection = server.store.make("test", "c")
    from model.mql.filters import compile_filter

    for name, value in fields.items():
        if value.type in (c.REGEX, c.UNDEFINED):
            continue  # a pattern is searched for, and undefined is null
        clause = c.document([(name, Value(c.OBJECT, c.document([("$eq", value)])))])
        assert compile_filter(clause).matches(raw)
    assert list(collection.docs.values()) == [raw]


def test_an_int64_stays_one_when_its_document_is_changed(db: Stored) -> None:
    db.put({"_id": 1, "a": {"n": Int64(5), "d": Decimal128("1.00"), "x": 1}, "when": dt.datetime(2020, 1, 1)})
    db.plain.update_one({"_id": 1}, {"$set": {"a.x": 2}})
    assert db.field("a.n") == Value.of(Int64(5))
    assert db.field("a.d") == Value.of(Decimal128("1.00"))


@support.table(
    "before, amount, after",
    [
        (1, 1, 2),
        (2**31 - 1, 1, Int64(2**31)),
        (1, Int64(1), Int64(2)),
        (Int64(1), 1, Int64(2)),
        (1, 0.5, 1.5),
        (1.5, 1, 2.5),
        (1, Decimal128("0.10"), Decimal128("1.10")),
        (Decimal128("1.00"), 1, Decimal128("2.00")),
        (None, 3, 3),
        (None, Int64(3), Int64(3)),
    ],
)
def test_a_sum_has_the_type_that_a_server_gives_it(db: Stored, before: Any, amount: Any, after: Any) -> None:
    db.only({"_id": 1} if before is None else {"_id": 1, "n": before})
    db.plain.update_one({"_id": 1}, {"$inc": {"n": amount}})
    assert db.field("n") == Value.of(after)


OPERATORS: list[tuple[Any, Any, Any]] = [
    ({"a": 1, "b": 2}, {"$set": {"a": 3}}, {"a": 3, "b": 2}),
    ({"a": 1}, {"$set": {"z": 1, "m": 2, "b": 3}}, {"a": 1, "b": 3, "m": 2, "z": 1}),
    ({"a": 1}, {"$set": {"x.y.z": 1}}, {"a": 1, "x": {"y": {"z": 1}}}),
    ({"a": [1, 2]}, {"$set": {"a.0": 9, "a.3": 4}}, {"a": [9, 2, None, 4]}),
    ({"a": [{"x": 1}]}, {"$set": {"a.0.y": 2}}, {"a": [{"x": 1, "y": 2}]}),
    ({"a": 1, "b": 2}, {"$unset": {"a": ""}}, {"b": 2}),
    ({"a": {"b": 1, "c": 2}}, {"$unset": {"a.b": "", "q.r": ""}}, {"a": {"c": 2}}),
    ({"a": [1, 2]}, {"$unset": {"a.0": ""}}, {"a": [None, 2]}),
    ({"a": 1}, {"$unset": {"a.b": ""}}, {"a": 1}),
    ({"a": 3}, {"$mul": {"a": 2, "b": 5}}, {"a": 6, "b": 0}),
    ({"a": 3}, {"$min": {"a": 2, "b": 1}}, {"a": 2, "b": 1}),
    ({"a": 3}, {"$max": {"a": 2}}, {"a": 3}),
    ({"a": 3}, {"$max": {"a": "x"}}, {"a": "x"}),
    ({"a": 1, "b": 2}, {"$rename": {"a": "c"}}, {"b": 2, "c": 1}),
    ({"a": 1, "b": 2}, {"$rename": {"q": "c"}}, {"a": 1, "b": 2}),
    ({"a": [1]}, {"$push": {"a": 2, "b": 3}}, {"a": [1, 2], "b": [3]}),
    ({"a": [1]}, {"$push": {"a": {"$each": [5, 4], "$sort": 1, "$slice": -2}}}, {"a": [4, 5]}),
    ({"a": [1, 2]}, {"$push": {"a": {"$each": [9], "$position": 1}}}, {"a": [1, 9, 2]}),
    ({"a": [{"n": 2}]}, {"$push": {"a": {"$each": [{"n": 1}], "$sort": {"n": 1}}}}, {"a": [{"n": 1}, {"n": 2}]}),
    ({"a": [1, 2]}, {"$addToSet": {"a": 1.0}}, {"a": [1, 2]}),
    ({"a": [1]}, {"$addToSet": {"a": {"$each": [1, 2, 2]}}}, {"a": [1, 2]}),
    ({"a": [1, 2, 1.0, True]}, {"$pull": {"a": 1}}, {"a": [2, True]}),
    ({"a": [1, 5, 9]}, {"$pull": {"a": {"$gt": 4}}}, {"a": [1]}),
    ({"a": [{"n": 1, "m": 1}, {"n": 2}]}, {"$pull": {"a": {"n": 1}}}, {"a": [{"n": 2}]}),
    ({"b": 1}, {"$pull": {"a": 1}}, {"b": 1}),
    ({"a": [1, 2, 3]}, {"$pullAll": {"a": [1, 3]}}, {"a": [2]}),
    ({"a": [1, 2, 3]}, {"$pop": {"a": 1}}, {"a": [1, 2]}),
    ({"a": [1, 2, 3]}, {"$pop": {"a": -1}}, {"a": [2, 3]}),
    ({"a": 5}, {"$bit": {"a": {"and": 4}}}, {"a": 4}),
    ({"a": 1}, {"$setOnInsert": {"b": 1}}, {"a": 1}),
    ({"a": 1, "b": 2}, {"$set": {"a": 2}, "$unset": {"b": ""}, "$inc": {"n": 1}}, {"a": 2, "n": 1}),
    ({"a": 1, "b": 2}, [{"$set": {"c": {"$add": ["$a", "$b"]}}}, {"$unset": "a"}], {"b": 2, "c": 3}),
    ({"a": 1}, [{"$replaceWith": {"$literal": {"$odd": 1, "x.y": 2}}}], {"$odd": 1, "x.y": 2}),
    ({"a": 1}, [{"$replaceWith": {"$mergeObjects": ["$$ROOT", {"b": 2}]}}], {"a": 1, "b": 2}),
]


@support.table("before, update, after", OPERATORS, ids=lambda value: json.dumps(value))
def test_an_operator_does_what_a_server_does(db: Stored, before: Any, update: Any, after: Any) -> None:
    db.only({"_id": 1, **before})
    result = db.plain.update_one({"_id": 1}, update)
    assert (result.matched_count, result.modified_count) == (1, int(before != after))
    assert db.one() == bson.encode({"_id": 1, **after})


@support.table(
    "update, code",
    [
        ({"$set": {"a.b": 1}}, 28),
        ({"$set": {"_id": 2}}, 66),
        ({"$unset": {"_id": ""}}, 66),
        ({"$inc": {"s": 1}}, 14),
        ({"$inc": {"a": "x"}}, 14),
        ({"$inc": {"big": Int64(2**62)}}, 2),
        ({"$push": {"a": 1}}, 2),
        ({"$set": {"a": 1}, "$inc": {"a": 1}}, 40),
        ({"$set": {"x": 1, "x.y": 1}}, 40),
        ({"$set": {"": 1}}, 56),
        ({"$set": {"$x": 1}}, 52),
        ({"$nonsense": {"a": 1}}, 9),
        ([{"$group": {"_id": 1}}], 72),
        ([{"$set": {"_id": 2}}], 66),
    ],
    ids=repr,
)
def test_an_update_that_makes_no_sense_changes_nothing(db: Stored, update: Any, code: int) -> None:
    db.only({"_id": 1, "a": 1, "s": "x", "big": Int64(2**62)})
    before = db.one()
    with pytest.raises(WriteError) as caught:
        db.plain.update_one({"_id": 1}, update)
    assert caught.value.code == code
    assert db.one() == before


def test_a_replacement_keeps_the_id_and_puts_it_in_front(db: Stored) -> None:
    db.put({"_id": 1, "a": 1})
    new = bson.encode({"b": Int64(2), "a": {"z": 1, "y": 2}})
    assert db.raw.replace_one({"_id": 1}, RawBSONDocument(new)).modified_count == 1
    assert db.one() == bson.encode({"_id": 1, "b": Int64(2), "a": {"z": 1, "y": 2}})
    db.raw.replace_one({"_id": 1}, RawBSONDocument(bson.encode({"c": 1, "_id": 1})))
    assert db.one() == bson.encode({"_id": 1, "c": 1})
    with pytest.raises(WriteError) as caught:
        db.raw.replace_one({"_id": 1}, RawBSONDocument(bson.encode({"_id": 2})))
    assert caught.value.code == 66
    reply = db.plain.database.command({"update": "c", "updates": [{"q": {}, "u": {"a": 1, "$b": 2}}]}, check=False)
    assert reply["writeErrors"][0]["code"] == 52


def test_an_insert_gets_an_id_in_front(db: Stored) -> None:
    db.put(bson.encode({"a": 1, "_id": 1, "b": 2}), bson.encode({"a": 1}))
    first, second = db.all()
    assert first == bson.encode({"_id": 1, "a": 1, "b": 2})
    assert [name for name, _ in c.fields(second)] == ["_id", "a"]


def test_names_that_updates_cannot_say_can_be_inserted(db: Stored) -> None:
    raw = bson.encode({"_id": 1, "$top": 1, "with.dot": {"$in": 2}, "": 3})
    db.put(raw)
    assert db.one() == raw


def test_the_first_matching_element_and_array_filters_are_updated(db: Stored) -> None:
    db.put({"_id": 1, "l": [{"k": 1, "n": 0}, {"k": 2, "n": 0}, {"k": 2, "n": 0}], "m": [1, 2, 3]})
    db.plain.update_one({"_id": 1, "l.k": 2}, {"$set": {"l.$.n": 5}})
    db.plain.update_one({"_id": 1, "m": {"$gt": 1}}, {"$inc": {"m.$": 10}})
    assert db.plain.find_one() == {
        "_id": 1, "l": [{"k": 1, "n": 0}, {"k": 2, "n": 5}, {"k": 2, "n": 0}], "m": [1, 12, 3],
    }  # fmt: skip
    db.plain.update_one({"_id": 1}, {"$set": {"l.$[e].n": 7}, "$inc": {"m.$[]": 1}}, array_filters=[{"e.k": 2}])
    found = db.plain.find_one()
    assert found is not None
    assert [e["n"] for e in found["l"]] == [0, 7, 7]
    assert found["m"] == [2, 13, 4]


def test_an_upsert_starts_from_the_equalities_of_its_filter(db: Stored) -> None:
    query = {"docId": "x", "v": {"$eq": Int64(3)}, "a.b": 1, "n": {"$gt": 5}}
    result = db.plain.update_one(query, {"$setOnInsert": {"z": 1}, "$set": {"y": 2}}, upsert=True)
    assert isinstance(result.upserted_id, ObjectId)
    raw = db.one(result.upserted_id)
    assert raw == bson.encode({"_id": result.upserted_id, "docId": "x", "v": Int64(3), "a": {"b": 1}, "y": 2, "z": 1})
    again = db.plain.update_one({"_id": 7}, {"$set": {"a": 1}}, upsert=True)
    assert again.upserted_id == 7
    assert db.plain.replace_one({"_id": 8}, {"a": 1}, upsert=True).upserted_id == 8
    assert db.one(8) == bson.encode({"_id": 8, "a": 1})


def test_many_are_updated_or_only_the_first(db: Stored) -> None:
    db.put(*({"_id": i, "a": i % 2} for i in range(6)))
    assert db.plain.update_one({"a": 1}, {"$set": {"b": 1}}).modified_count == 1
    assert db.ids({"b": 1}) == [1]
    assert db.plain.update_many({"a": 1}, {"$set": {"b": 1}}).raw_result["nModified"] == 2
    assert db.plain.delete_one({"b": 1}).deleted_count == 1
    assert db.plain.delete_many({"b": 1}).deleted_count == 2


def test_find_and_modify_gives_the_old_or_the_new_document(db: Stored) -> None:
    db.put(*({"_id": i, "n": 0, "s": -i} for i in range(3)))
    first = db.plain.find_one_and_update({}, {"$inc": {"n": 1}}, sort=[("s", 1)])
    assert first == {"_id": 2, "n": 0, "s": -2}
    after = ReturnDocument.AFTER
    assert db.plain.find_one_and_update({"_id": 2}, {"$inc": {"n": 1}}, {"n": 1}, return_document=after) == {
        "_id": 2, "n": 2,
    }  # fmt: skip
    assert db.plain.find_one_and_replace({"_id": 1}, {"x": 1}, return_document=after) == {"_id": 1, "x": 1}
    assert db.plain.find_one_and_delete({"_id": 0}) == {"_id": 0, "n": 0, "s": 0}
    assert db.plain.find_one_and_delete({"_id": 0}) is None
    assert db.plain.find_one_and_update({"_id": 9}, {"$set": {"a": 1}}) is None
    assert db.plain.find_one_and_update({"_id": 9}, {"$set": {"a": 1}}, upsert=True) is None
    assert db.plain.find_one_and_update({"_id": 8}, {"$set": {"a": 1}}, upsert=True, return_document=after) == {
        "_id": 8, "a": 1,
    }  # fmt: skip


def test_unique_indexes_hold_against_every_kind_of_write(db: Stored) -> None:
    db.put({"_id": 1, "docId": "a", "v": 1}, {"_id": 2, "docId": "a", "v": 2})
    db.plain.create_index([("docId", 1), ("v", 1)], unique=True)
    with pytest.raises(DuplicateKeyError) as caught:
        db.plain.insert_one({"_id": 3, "docId": "a", "v": 2.0})
    assert caught.value.details is not None
    assert caught.value.details["keyPattern"] == {"docId": 1, "v": 1}
    assert caught.value.details["keyValue"] == {"docId": "a", "v": 2.0}
    with pytest.raises(DuplicateKeyError):
        db.plain.update_one({"_id": 1}, {"$inc": {"v": 1}})
    with pytest.raises(DuplicateKeyError):
        db.plain.replace_one({"_id": 1}, {"docId": "a", "v": Int64(2)})
    with pytest.raises(DuplicateKeyError):
        db.plain.find_one_and_update({"_id": 1}, {"$set": {"v": 2}})
    with pytest.raises(DuplicateKeyError):
        db.plain.update_one({"_id": 5}, {"$set": {"docId": "a", "v": 1}}, upsert=True)
    with pytest.raises(DuplicateKeyError):
        db.plain.insert_one({"_id": 1})
    assert db.ids({}) == [1, 2]
    db.plain.delete_one({"_id": 2})
    db.plain.update_one({"_id": 1}, {"$inc": {"v": 1}})
    db.plain.insert_one({"_id": 2, "docId": "a", "v": 1})


def test_a_unique_index_is_refused_over_duplicates(db: Stored) -> None:
    db.put({"_id": 1, "a": 1}, {"_id": 2, "a": 1.0})
    with pytest.raises(OperationFailure) as caught:
        db.plain.create_index("a", unique=True)
    assert caught.value.code == 11000
    assert list(db.plain.index_information()) == ["_id_"]


def test_a_unique_index_counts_missing_as_null_and_may_be_partial_or_sparse(db: Stored) -> None:
    db.plain.create_index("a", unique=True)
    db.put({"_id": 1})
    with pytest.raises(DuplicateKeyError):
        db.plain.insert_one({"_id": 2, "a": None})
    db.plain.drop_indexes()
    db.plain.create_index("a", unique=True, sparse=True)
    db.plain.create_index("b", unique=True, partialFilterExpression={"live": True})
    db.put({"_id": 2, "b": 1}, {"_id": 3, "b": 1}, {"_id": 4, "b": 1, "live": True})
    with pytest.raises(DuplicateKeyError):
        db.plain.update_one({"_id": 3}, {"$set": {"live": True}})


def test_what_stands_behind_an_error_is_written_unless_ordered(db: Stored) -> None:
    from pymongo.errors import BulkWriteError

    rows = [{"_id": 1}, {"_id": 1}, {"_id": 2}]
    with pytest.raises(BulkWriteError) as caught:
        db.plain.insert_many(rows)
    assert caught.value.details["nInserted"] == 1
    assert [e["index"] for e in caught.value.details["writeErrors"]] == [1]
    with pytest.raises(BulkWriteError) as caught:
        db.plain.insert_many(rows, ordered=False)
    assert caught.value.details["nInserted"] == 1
    assert db.ids({}) == [1, 2]


WRITES: dict[str, Any] = {
    "update": lambda collection, query: collection.update_one(query, {"$set": {"n": 1}}),
    "replace": lambda collection, query: collection.replace_one(query, {"n": 1}),
    "delete": lambda collection, query: collection.delete_one(query),
    "find and delete": lambda collection, query: collection.find_one_and_delete(query),
}


@support.table("write", WRITES)
def test_a_damaged_document_is_never_written(db: Stored, write: str) -> None:
    damaged = {
        "bad text": c.document([("_id", Value.of(1)), ("s", Value(c.STRING, b"\x03\x00\x00\x00\xc3\x28\x00"))]),
        "twice": c.document([("_id", Value.of(2)), ("a", Value.of(1)), ("a", Value.of(2))]),
        "short": c.document([("_id", Value.of(3)), ("s", Value(c.STRING, b"\x20\x00\x00\x00a\x00"))]),
        "deep": c.document([("_id", Value.of(4)), ("d", Value(c.OBJECT, bson.encode({"x": 1})[:-1] + b"\x07"))]),
    }
    db.plain.drop()
    db.server.load("test.c", damaged.values())
    for i in range(1, 5):
        with pytest.raises(OperationFailure) as caught:
            WRITES[write](db.plain, {"_id": i})
        assert caught.value.code == 22
    assert db.all() == list(damaged.values())


def test_a_document_that_is_too_large_is_refused(db: Stored) -> None:
    db.put({"_id": 1, "s": "x" * (16 * 1024 * 1024 - 200)})
    with pytest.raises(WriteError) as caught:
        db.plain.update_one({"_id": 1}, {"$set": {"t": "x" * 400}})
    assert caught.value.code == 10334
    assert len(db.one()) < 16 * 1024 * 1024


@pytest.mark.deep
def test_eight_writers_lose_no_increment(db: Stored) -> None:
    db.put({"_id": 1, "n": 0, "swaps": 0})
    won = []

    def work() -> None:
        mine = 0
        for _ in range(25):
            db.plain.update_one({"_id": 1}, {"$inc": {"n": 1}})
            while True:
                seen = db.plain.find_one({"_id": 1})
                assert seen is not None
                swap = {"_id": 1, "swaps": seen["swaps"]}
                if db.plain.update_one(swap, {"$set": {"swaps": seen["swaps"] + 1}}).modified_count:
                    mine += 1
                    break
        won.append(mine)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(won) == 200
    assert db.plain.find_one() == {"_id": 1, "n": 200, "swaps": 200}


def test_nan_payloads_and_odd_booleans_survive(db: Stored) -> None:
    odd = [Value(c.DOUBLE, struct.pack("<Q", 0x7FF8000000000123)), Value(c.BOOLEAN, b"\x02")]
    db.put(c.document([("_id", Value.of(1)), ("a", odd[0]), ("b", odd[1])]))
    db.raw.with_options(codec_options=RAW).update_one({"_id": 1}, {"$set": {"c": 1}})
    assert [db.field("a"), db.field("b")] == odd
