"""The fields of a collection, and its indexes with their use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pymongo
import pytest
from bson import Decimal128, Int64

from model.browsing.field_survey import FieldUse, survey
from model.browsing.indexes_in_use import NOT_COUNTED, indexes_in_use
from model.errors import Refused
from model.foundation.records import Row
from model.session import Session
from model.values import canonical
from model.values.canonical import Value


def row(document: dict[str, Any]) -> Row:
    raw = canonical.encode(document)
    return Row(Value.of(1), None, None, len(raw), raw)


def test_a_field_has_each_of_its_types_with_the_most_frequent_first() -> None:
    found = survey([row({"n": 1}), row({"n": Int64(2)}), row({"n": 3}), row({})])
    assert found.documents == 4
    assert found.fields == (FieldUse("n", (("Int32", 2), ("Int64", 1)), 3),)
    assert found.fields[0].kinds == "Int32, Int64"


def test_fields_inside_documents_and_inside_arrays_are_named_as_a_filter_names_them() -> None:
    found = survey([row({"a": {"b": {"c": Decimal128("1.0")}}, "l": [{"x": 1}, {"x": "s"}, 7]})])
    assert {each.path: each.kinds for each in found.fields} == {
        "a": "Object", "a.b": "Object", "a.b.c": "Decimal128", "l": "Array", "l.x": "Int32, String",
    }  # fmt: skip
    assert {each.documents for each in found.fields} == {1}


def test_a_document_that_does_not_decode_is_passed_over() -> None:
    broken = Row(Value.of(2), None, None, 9, b"\x09\x00\x00\x00\x02a\x00\xff\x00", readable=False)
    assert survey([broken, row({"n": 1})]).documents == 1


@pytest.fixture
def session(server_uri: str, database: pymongo.database.Database) -> Iterator[Session]:
    database.things.insert_many({"_id": i, "status": i % 3} for i in range(30))
    database.things.create_index([("status", 1), ("at", -1)], unique=False)
    database.things.create_index("n", sparse=True, unique=True)
    with Session.open(server_uri) as made:
        yield made


@pytest.mark.second_server
def test_indexes_are_listed_with_their_fields_and_traits(session: Session, database: Any) -> None:
    listed = session.indexes.listed(f"{database.name}.things")
    found = {each.name: each for each in listed.rows}
    assert found["status_1_at_-1"].keys == "{ status: 1, at: -1 }"
    assert found["_id_"].traits == ("unique",)
    assert found["n_1"].traits == ("unique", "sparse")
    assert all(each.uses is not None and each.since is not None for each in found.values()), listed.note


@pytest.mark.parametrize("server_name", ["local"])
def test_a_query_that_an_index_serves_is_counted(session: Session, database: Any) -> None:
    def uses() -> int | None:
        rows = session.indexes.listed(f"{database.name}.things").rows
        return next(each.uses for each in rows if each.name == "status_1_at_-1")

    before = uses()
    assert list(database.things.find({"status": 1}))
    assert before is not None
    assert uses() == before + 1


def test_a_server_that_does_not_count_uses_lists_the_indexes_and_says_so() -> None:
    class Uncounted:
        def indexes(self, ns: str) -> list[dict[str, Any]]:
            return [{"name": "_id_", "key": {"_id": 1}}, {"name": "ttl", "key": {"at": 1}, "expireAfterSeconds": 3600}]

        def aggregate(self, *_: object) -> Iterator[bytes]:
            raise Refused("Unrecognized pipeline stage name: '$indexStats'")

    found = indexes_in_use(Uncounted(), "shop.things")  # type: ignore[arg-type]
    assert found.note == NOT_COUNTED
    assert [(each.name, each.uses) for each in found.rows] == [("_id_", None), ("ttl", None)]
    assert found.rows[1].traits == ("documents expire after 3,600 s",)
