"""Writes as code: the code shown is what would be sent, and can be run."""

from __future__ import annotations

import datetime
from base64 import b64decode
from typing import Any

import bson
import pymongo
from bson import Binary, Code, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp
from bson.datetime_ms import DatetimeMS

from model.server.code_preview import sending
from model.server.retry import Write
from model.values.canonical import Value, encode
from tests import support

TOKEN = ObjectId("691f0a1c29b1e8a0012c07c2")
EVERYTHING: dict[str, Any] = {
    "double": 1.5, "whole": 2.0, "minus": -0.0, "inf": float("-inf"), "text": 'a "quoted" line\nand ← more',
    "object": {"a": [1, {"b": None}], "empty": {}}, "array": [], "binary": Binary(b"\x00\xff", 128),
    "id": TOKEN, "yes": True, "when": datetime.datetime(2026, 11, 20, 14, 26, tzinfo=datetime.UTC),
    "ms": datetime.datetime(2026, 11, 20, 14, 26, 1, 5000, tzinfo=datetime.UTC), "far": DatetimeMS(2**60),
    "regex": Regex("^a\\d", "im"), "code": Code("x"), "scoped": Code("x", {"y": 1}), "int": 12, "long": Int64(12),
    "stamp": Timestamp(7, 3), "decimal": Decimal128("150.00"), "max": MaxKey(), "min": MinKey(),
}  # fmt: skip


class Recorder:
    """Stands for client, database and collection, and keeps what is called."""

    def __init__(self, path: tuple[str, ...], calls: list[tuple[Any, ...]]) -> None:
        self._path, self._calls = path, calls

    def __getitem__(self, name: str) -> Recorder:
        return Recorder((*self._path, name), self._calls)

    __getattr__ = __getitem__

    def __call__(self, *args: Any, **more: Any) -> None:
        self._calls.append((self._path, args, more))


def run(code: str) -> list[tuple[Any, ...]]:
    calls: list[tuple[Any, ...]] = []
    names = {
        "client": Recorder((), calls), "datetime": datetime.datetime, "timezone": datetime.timezone,
        "b64decode": b64decode, "Binary": Binary, "Code": Code, "Decimal128": Decimal128, "Int64": Int64,
        "MaxKey": MaxKey, "MinKey": MinKey, "ObjectId": ObjectId, "Regex": Regex, "Timestamp": Timestamp,
        "DatetimeMS": DatetimeMS,
    }  # fmt: skip
    exec(code, names)
    return calls


def test_the_pymongo_code_sends_every_type_byte_for_byte() -> None:
    write = Write("shop.contracts", "update", {"_id": 1, "_w": TOKEN}, {"$set": EVERYTHING})
    (path, (filter, update), more), *rest = run(sending([write], "").pymongo)
    assert path == ("shop", "contracts", "update_one")
    assert filter == {"_id": 1, "_w": TOKEN}
    assert bson.encode(update["$set"]) == bson.encode(EVERYTHING)
    assert not more
    assert not rest


def test_each_kind_of_write_is_the_call_that_a_driver_has_for_it() -> None:
    raw = encode({"_id": 1, "a": Int64(1)})
    writes = [
        Write("a.b-c.d", "insert", {}, raw, "first"),
        Write("a.b", "upsert", {"_id": 1}, {"$setOnInsert": {"x": 1}}),
        Write("a.b", "replace", {"_id": 1}, raw),
        Write("other.b", "delete", {"_id": Value.of(1)}),
        Write("a.b", "update", {"_id": 1}, [{"$replaceWith": {"$literal": {"a": 1}}}]),
    ]
    said = sending(writes, "In this order.")
    calls = run(said.pymongo)
    assert [path for path, _, _ in calls] == [
        ("a", "b-c.d", "insert_one"), ("a", "b", "update_one"), ("a", "b", "replace_one"),
        ("other", "b", "delete_one"), ("a", "b", "update_one"),
    ]  # fmt: skip
    assert calls[1][2] == {"upsert": True}
    assert calls[4][1][1] == [{"$replaceWith": {"$literal": {"a": 1}}}]
    assert said.explanation == "In this order."
    for name in ("insertOne(", "replaceOne(", "deleteOne(", "{upsert: true}", 'Long("1")', 'getSiblingDB("other")'):
        assert name in said.mongosh
    assert "# first" in said.pymongo


def test_a_write_that_brings_what_it_stored_is_the_call_that_returns_it() -> None:
    writes = [
        Write("a.b", "update", {"_id": 1}, {"$set": {"a": 1}}, returns=True),
        Write("a.b", "replace", {"_id": 1}, encode({"_id": 1}), returns=True),
    ]
    said = sending(writes, "")
    calls = run(said.pymongo)
    assert [path[-1] for path, _, _ in calls] == ["find_one_and_update", "find_one_and_replace"]
    assert all(more == {"return_document": pymongo.ReturnDocument.AFTER} for _, _, more in calls)
    for part in ("findOneAndUpdate(", "findOneAndReplace(", '{returnDocument: "after"})'):
        assert part in said.mongosh


def test_long_values_are_elided_for_display_and_spelt_out_for_the_copy() -> None:
    write = Write("a.b", "update", {"_id": 1}, {"$set": {"text": "x" * 500, "many": list(range(100))}})
    assert "x" * 500 in sending([write], "").pymongo
    assert len(sending([write], "").short_pymongo) < 300


@support.table("kind", ["Symbol", "DBPointer", "Undefined"])
def test_what_pymongo_cannot_send_is_said_in_place(kind: str) -> None:
    data = {
        "Symbol": (14, b"\x02\x00\x00\x00a\x00"),
        "DBPointer": (12, b"\x02\x00\x00\x00a\x00" + bytes(12)),
        "Undefined": (6, b""),
    }
    write = Write("a.b", "update", {"_id": 1}, {"$set": {"old": Value(*data[kind])}})
    assert f"<{kind}: PyMongo cannot send it>" in sending([write], "").pymongo


def test_a_copy_made_before_the_write_that_decides_takes_few_lines_on_display() -> None:
    document = encode({"_id": 1, "docId": "K-1", "v": 14, "status": "active", "note": "x" * 90})
    writes = [
        Write("a.history", "insert", {}, document, "v14 is archived"),
        Write("a.b", "update", {"_id": 1, "v": 14}, {"$set": {"note": "y", "v": 15}}, "the swap"),
    ]
    said = sending(writes, "")
    before, _, deciding = said.short_pymongo.partition("# the swap")
    assert len(before.splitlines()) <= 4
    assert '"v": 14' in deciding
    assert '"status": "active"' in said.pymongo
