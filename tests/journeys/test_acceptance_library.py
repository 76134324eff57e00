"""The model as a library: the names, forms and errors that other programs rely on."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import bson
import pymongo.database
import pytest
from bson import DBRef, Decimal128, Int64, ObjectId

from model.diff import diff, patch
from model.errors import Refused
from model.merge import merge
from model.session import Session
from model.text import from_text, to_text
from model.values.canonical import Value
from tests.model import session_scenes

Db = pymongo.database.Database[dict[str, Any]]
A = bson.encode({"x": 1, "list": [1, 2, 3], "gone": None, "deep": {"a": 1, "b": 2}, "text": "a\n" * 50})
B = bson.encode({"x": 1.0, "list": [2, 3, 1], "deep": {"b": 2, "a": 1}, "text": "a\n" * 49 + "b\n", "new": Int64(1)})


# --- differences


def test_a_difference_is_false_exactly_when_the_bytes_are_equal() -> None:
    assert not diff(A, A)
    for one, other in ((1, 1.0), (1, Int64(1)), (0.0, -0.0), (Decimal128("1.0"), Decimal128("1.00")), (1, True)):
        assert diff(bson.encode({"v": one}), bson.encode({"v": other}))
    assert diff(bson.encode({"a": 1, "b": 2}), bson.encode({"b": 2, "a": 1}))


def test_a_difference_applies_and_can_be_turned_round() -> None:
    changes = diff(A, B)
    assert patch(A, changes) == B
    assert patch(B, changes.inverse()) == A
    assert {change.op for change in changes} <= {"add", "remove", "replace", "retype", "move", "reorder", "text"}
    with pytest.raises(Refused):
        patch(bson.encode({"other": 1}), changes)


@pytest.mark.parametrize("raw", [b"", b"abc", A[:-2], A + b"\0", b"\xff\xff\xff\x7f\0"])
def test_what_is_no_document_is_refused_everywhere(raw: bytes) -> None:
    for call in (lambda: list(diff(raw, A)), lambda: list(diff(A, raw)), lambda: to_text(raw)):
        with pytest.raises(Refused):
            call()
    for sides in ((raw, A, B), (A, raw, B), (A, B, raw)):
        with pytest.raises(Refused):
            merge(*sides).document()


# --- merging


def sides(base: Any, mine: Any, theirs: Any) -> Any:
    return merge(bson.encode({"v": base, "k": 1}), bson.encode({"v": mine, "k": 1}), bson.encode({"v": theirs, "k": 2}))


def test_a_conflict_is_chosen_with_a_side_or_a_value_and_gives_a_new_merge() -> None:
    open_merge = sides(1, 2, 3)
    (conflict,) = open_merge.conflicts
    assert conflict.path == ("v",)
    with pytest.raises(Refused):
        open_merge.document()
    for action, value in (("base", 1), ("mine", 2), ("theirs", 3)):
        assert open_merge.choose(conflict, action).document() == bson.encode({"v": value, "k": 2})
    for value in (9, Int64(9), "yours", None, 1.5, {"a": [1]}, [1, {"b": 2}], Decimal128("1.50")):
        assert open_merge.choose(conflict, value).document() == bson.encode({"v": value, "k": 2})
    assert open_merge.choose(conflict, Value.of("mine")).document() == bson.encode({"v": "mine", "k": 2})
    assert len(open_merge.conflicts) == 1
    done = open_merge.choose(conflict, "mine")
    assert (done.conflicts, [decision.path for decision in done.decisions]) == ((), [("v",), ("k",)])
    for action in ("both", object()):
        with pytest.raises(Refused):
            open_merge.choose(conflict, action).document()


@pytest.mark.parametrize(
    ("base", "mine", "theirs"),
    [
        (1, 2, 3), (1, 2, 1), (1, 1, 2), ([1, 2], [1, 2, 3], [0, 1, 2]), ({"a": 1}, {"a": 2}, {"a": 1, "b": 1}),
        ({"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 2}), ("a\nb\n", "a\nc\n", "d\nb\n"), (1, 1.0, Int64(1)),
        ([{"_id": 1, "n": 1}], [{"_id": 1, "n": 2}], [{"_id": 0}, {"_id": 1, "n": 1}]), ([1], [2], [3]), ({}, [], 1),
    ],
)  # fmt: skip
def test_a_merge_is_symmetric_and_an_unchanged_side_decides_nothing(base: Any, mine: Any, theirs: Any) -> None:
    b, m, t = (bson.encode({"v": side}) for side in (base, mine, theirs))
    one, other = merge(b, m, t), merge(b, t, m)
    assert [c.path for c in one.conflicts] == [c.path for c in other.conflicts]
    assert [c.kind for c in one.conflicts] == [c.kind for c in other.conflicts]
    if not one.conflicts:
        assert one.document() == other.document()
    assert merge(b, m, b).document() == m
    assert merge(b, t, t).document() == t
    assert not merge(b, t, t).conflicts


# --- text


@pytest.mark.parametrize(
    "document",
    [
        {"$oid": "64f0a1c29b1e8a0012c4d7aa"}, {"$numberInt": "1"}, {"a": {"$date": 5}}, {"$fields": []},
        {"$ref": "x", "$id": 1}, {"r": DBRef("x", 1, "db")}, {"$id": 1, "$ref": "x"}, {"$unknown": 1}, {"": {"": 0}},
        {"a": {"$elements": [["0", 1]]}}, {"$raw": {"type": "01", "hex": ""}}, {"n": float("nan")},
        {"i": float("-inf")},
    ],
)  # fmt: skip
def test_text_is_exact_where_fields_look_like_types(document: dict[str, Any]) -> None:
    raw = bson.encode(document)
    assert from_text(to_text(raw)) == raw


@pytest.mark.parametrize("bits", [0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000001, 0x8000000000000000])
def test_text_keeps_each_bit_of_a_number(bits: int) -> None:
    raw = b"\x10\x00\x00\x00\x01a\x00" + struct.pack("<Q", bits) + b"\x00"
    assert from_text(to_text(raw)) == raw


def test_text_of_any_depth_is_exact() -> None:
    written = '{"a": ' * 5000 + "null" + "}" * 5000
    assert to_text(from_text(written)) == written


@pytest.mark.parametrize("written", ["", "{", '{"a":', "[1]", "1", '{"a": 1} x', '{"a": nan}', '{"a": {"$oid": "z"}}'])
def test_text_that_is_no_document_is_refused(written: str) -> None:
    with pytest.raises(Refused):
        from_text(written)


# --- a session


@pytest.fixture
def ns(server_uri: str, database: Db) -> str:
    session_scenes.archive(database)
    return f"{database.name}.contracts"


def test_an_edit_takes_plain_values_and_paths(server_uri: str, database: Db, ns: str) -> None:
    database["contracts"].insert_one({"_id": 7, "v": 1, "n": 1, "list": [{"a": 1}]})
    with Session.open(server_uri) as session:
        done = session.edit(ns, 7, set={"n": Int64(5), "list[0].a": "b", ("list", 0, "c"): None, "new.deep": 1.0})
        assert (done.kind, done.version) == ("applied", Value.of(2))
        assert session.edit(ns, Value.of(7), unset="new").kind == "applied"
        assert session.edit(ns, "7", unset=["list[0].c"], base=3).kind == "applied"
        assert session.edit(ns, 7, set={"n": 9}, base=3).kind == "conflict"
        assert session.edit(ns, 7).kind == "skipped"
        assert session.edit(ns, "K-1", {"steps": 9}).version == Value.of(5)
    after = database["contracts"].find_one({"_id": 7})
    assert after is not None
    assert (after["n"], type(after["n"]), after["list"], after["v"]) == (5, Int64, [{"a": "b"}], 4)
    assert "new" not in after


@pytest.mark.parametrize(
    "change",
    [
        {"set": {"a": object()}}, {"set": {"a": 2**70}}, {"set": {"a": "\ud800"}}, {"set": {"a\0b": 1}},
        {"set": {"": 1}},
        {"set": {(): 1}}, {"set": {"a..b": 1}}, {"set": {"_id": 1}}, {"set": {"v": 1}}, {"set": {"tags[9]": 1}},
        {"set": {"status.x": 1}}, {"set": {"a": 1, "a.b": 1}}, {"set": {"a": 1}, "unset": ["a"]},
        {"set": {"a": 1}, "base": object()},
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_refused_and_nothing_else_escapes(
    server_uri: str, database: Db, ns: str, change: dict[str, Any]
) -> None:
    before = database["contracts"].find_one({"_id": "K-1"})
    with Session.open(server_uri) as session, pytest.raises(Refused):
        session.edit(ns, "K-1", **change)
    assert database["contracts"].find_one({"_id": "K-1"}) == before


def test_a_session_that_cannot_be_or_is_no_more_is_refused(server_uri: str, ns: str, tmp_path: Path) -> None:
    for source in ("", "nowhere", "http://x/", tmp_path, "mongodb://"):
        with pytest.raises(Refused):
            Session.open(source)
    with Session.open(server_uri) as session:
        for id in ("K-9", 5, ObjectId(), None, 1.5):
            with pytest.raises(Refused):
                session.edit(ns, id, {"a": 1})
        for name in ("", "one", "no.where", "."):
            with pytest.raises(Refused):
                session.edit(name, "K-1", {"a": 1})
    session.close()
    with pytest.raises(Refused):
        session.edit(ns, "K-1", {"a": 1})
