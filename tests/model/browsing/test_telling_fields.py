"""The fields that tell documents apart: those that people name things by, and never a layout's own."""

from __future__ import annotations

import datetime as dt
from typing import Any

import bson
import pytest
from bson import Decimal128, ObjectId

from model.browsing.telling_fields import LARGE, occur, telling_fields


def told(documents: list[dict[str, Any]], *own: str, inside: str = "") -> list[str]:
    found = telling_fields(map(bson.encode, documents), own, inside)
    return [".".join(map(str, path)) for path in found]


def order(n: int) -> dict[str, Any]:
    return {
        "_id": ObjectId(),
        "v": n,
        "customerName": f"Customer {n % 7}",
        "status": ("open", "paid", "sent")[n % 3],
        "total": Decimal128(f"{n * 3}.50"),
        "etag": f"{n:032x}",
        "tenant": "one",
        "text": "A long text that tells of something at length. " * 3 + str(n),
        "lines": [{"sku": n}],
        "address": {"city": ("Kiel", "Bern")[n % 2], "geo": {"lat": n}},
        "changedAt": dt.datetime(2026, 1, 1 + n, tzinfo=dt.UTC),
    }


def test_names_and_states_come_first_and_long_or_equal_values_are_left_out() -> None:
    assert told([order(n) for n in range(12)], "v", "changedAt") == ["customerName", "status", "total", "address.city"]


def test_the_fields_of_the_layout_are_no_content() -> None:
    documents = [{"_id": n, "docId": f"D-{n}", "name": f"n{n}", "state": n % 2} for n in range(4)]
    assert told(documents, "docId", "name") == ["state"]


def test_the_content_may_be_in_a_sub_document() -> None:
    documents = [{"_id": n, "name": f"outside {n}", "current": {"name": f"n{n}", "v": n}} for n in range(4)]
    assert told(documents, "v", inside="current") == ["name"]


def test_a_field_that_few_documents_have_is_no_column() -> None:
    documents: list[dict[str, Any]] = [{"_id": n, "kind": n % 2} for n in range(9)]
    documents[0]["nickname"] = "Al"
    assert told(documents) == ["kind"]


@pytest.mark.parametrize("documents", [[], [{"_id": 1}], [{"_id": 1, "blob": b"\x00"}, {"_id": 2, "blob": b"\x01"}]])
def test_nothing_is_found_where_nothing_is_short_and_named(documents: list[dict[str, Any]]) -> None:
    assert told(documents) == []


def test_one_document_is_shown_by_what_usually_tells_documents_apart() -> None:
    assert told([order(3)], "v", "changedAt")[:2] == ["customerName", "status"]


def test_what_cannot_be_read_and_what_is_large_is_passed_over() -> None:
    large = bson.encode({"_id": 1, "heading": "one", "text": "x" * LARGE})
    small = [bson.encode({"_id": n, "title": f"T{n}"}) for n in range(3)]
    assert telling_fields([large, b"\x07\x00\x00\x00\x03\x00\x00", *small]) == (("title",),)


def test_fields_are_looked_for_again_when_no_document_has_one_of_them() -> None:
    documents = [bson.encode({"_id": n, "current": {"title": "t"}}) for n in range(3)]
    assert occur([("name",), ("title",)], documents, "current")
    assert not occur([("name",)], documents, "current")
    assert occur([], documents)
