"""Rows that read their fields on first use equal rows that are read at once."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import bson
from bson import ObjectId

from model.foundation.records import Row
from model.storage.lazy_row import SMALL, LazyRow, RowReader
from model.values.canonical import Value
from tests import support

WHEN = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
READER = RowReader("_id", "v", ("at", "_w"))


def test_a_row_has_id_version_and_time_of_its_document() -> None:
    raw = bson.encode({"_id": "d", "v": 3, "at": WHEN})
    row = READER.row(raw)
    wanted = Row(Value.of("d"), Value.of(3), WHEN, len(raw), raw)
    assert row == wanted
    assert wanted == row
    assert hash(row) == hash(wanted)
    assert row == READER.row(raw)
    assert row != READER.row(bson.encode({"_id": "d", "v": 4, "at": WHEN}))


def test_a_row_inside_a_document_has_the_version_of_the_sub_document() -> None:
    token = ObjectId()
    row = RowReader("_id", "v", ("", "_w"), "current").row(bson.encode({"_id": 1, "current": {"v": 9, "_w": token}}))
    assert (row.id, row.version, row.at) == (Value.of(1), Value.of(9), token.generation_time)
    bare = RowReader("_id", "v", ("", "_w"), "current").row(bson.encode({"_id": 1, "current": 5}))
    assert (bare.id, bare.version, bare.at) == (Value.of(1), None, None)


def test_a_row_that_is_changed_is_an_ordinary_one() -> None:
    row = replace(READER.row(bson.encode({"_id": 1, "v": 2})), version=Value.of(8))
    assert type(row) is Row
    assert (row.id, row.version) == (Value.of(1), Value.of(8))


@support.table("document, readable", [({"_id": 1, "v": 2, "n": 3}, True), ({"_id": 1, "n": "ä"}, False)])
def test_a_document_that_does_not_decode_still_has_its_id(document: dict[str, Any], readable: bool) -> None:
    raw = bson.encode(document).replace("ä".encode(), b"\xff\xff")
    row = READER.row(raw)
    assert (row.id, row.readable) == (Value.of(1), readable)


def test_a_large_document_is_read_at_once_and_a_small_one_is_not() -> None:
    small, large = READER.row(bson.encode({"_id": 1})), READER.row(bson.encode({"_id": 1, "text": "x" * SMALL}))
    assert isinstance(small, LazyRow)
    assert "readable" not in vars(small)
    assert "readable" in vars(large)
