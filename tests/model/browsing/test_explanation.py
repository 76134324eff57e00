"""A query in words: which documents the server looks at, and which index would help."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymongo
import pytest

from model import text
from model.browsing.explanation import Explained, Read, explained, missing_index
from model.errors import Refused
from model.session import Session
from model.text.typed_terms import filter_terms, sort_terms
from tests import support


@pytest.fixture
def session(server_uri: str, database: pymongo.database.Database) -> Iterator[Session]:
    database.things.insert_many({"_id": i, "status": "open" if i < 30 else "done", "n": i} for i in range(300))
    with Session.open(server_uri) as made:
        yield made


def words(session: Session, database: Any, filter: str, sort: str = "") -> Explained:
    (only,) = session.queries.explain(f"{database.name}.things", filter, sort)
    return only


@pytest.mark.parametrize("server_name", ["local"])
def test_a_scan_says_how_many_documents_it_looks_at_and_which_index_is_missing(session: Session, database: Any) -> None:
    found = words(session, database, "{ status: 'open' }")
    assert found.missing == "{ status: 1 }"
    assert found.sentence == (
        "Scans 300 documents in the order of the index _id_ and finds 30. Index missing: { status: 1 }."
    )
    assert "winningPlan" in json.loads(found.plan)["queryPlanner"]


@pytest.mark.parametrize("server_name", ["local"])
def test_a_query_that_an_index_serves_misses_none(session: Session, database: Any) -> None:
    database.things.create_index([("status", 1)])
    found = words(session, database, "{ status: 'open' }")
    assert found.sentence.startswith("Uses the index status_1: looks at 30 documents and finds 30.")
    assert found.missing == ""


@pytest.mark.parametrize("server_name", ["local"])
def test_a_page_without_a_filter_reads_all_and_no_index_would_help(session: Session, database: Any) -> None:
    found = words(session, database, "")
    assert found.missing == ""
    assert "300 documents" in found.sentence


@pytest.mark.parametrize("server_name", ["local"])
def test_the_filter_that_the_layout_sends_is_explained_and_not_the_one_that_was_typed(
    session: Session, database: Any
) -> None:
    database.people.insert_many(
        {"_id": i, "current": {"v": 2, "_w": None, "name": "Ada"}, "prev": [{"v": 1, "name": "A"}]} for i in range(120)
    )
    ns = f"{database.name}.people"
    assert session.catalogue.set_layout(ns, "embedded").layout == "embedded"
    (found,) = session.queries.explain(ns, "{ name: 'Bob' }")
    assert found.missing == '{ "current.name": 1 }'


@pytest.mark.second_server
def test_a_server_that_does_not_explain_says_so_in_one_sentence(
    session: Session, database: Any, server_name: str
) -> None:
    if server_name == "java":
        with pytest.raises(Refused, match=r"^This server does not explain queries\.$"):
            words(session, database, "{ status: 'open' }")
    else:
        assert words(session, database, "{ status: 'open' }").sentence.endswith(".")


# --- what MongoDB itself answers, which no server here can


def read(filter: str, sort: str = "") -> Read:
    terms, order = filter_terms(filter) or {}, sort_terms(sort) or {}
    return Read("shop.things", {"find": "things", "filter": terms}, terms, order)


def answer(plan: dict[str, Any], docs: int, keys: int, returned: int) -> dict[str, Any]:
    stats = {"nReturned": returned, "totalKeysExamined": keys, "totalDocsExamined": docs}
    return {"queryPlanner": {"winningPlan": plan}, "executionStats": stats, "ok": 1.0}


ID = {"name": "_id_", "key": {"_id": 1}}
STATUS = {"name": "status_1", "key": {"status": 1}}
SCAN = {"stage": "COLLSCAN"}
FETCH = {"stage": "FETCH", "inputStage": {"stage": "IXSCAN", "indexName": "status_1"}}


@support.table(
    "asked, said, sentence",
    [
        (read("{kind: 1}"), answer(SCAN, 2483, 0, 3),
         "Scans 2,483 documents and finds 3. Index missing: { kind: 1 }."),
        (read("{_id: 1}"), answer({"stage": "IDHACK"}, 1, 1, 1),
         "Goes straight to the document by its _id, and finds 1."),
        (read("{_id: 1}"), answer({"stage": "EXPRESS_IXSCAN", "indexName": "_id_"}, 1, 1, 1),
         "Goes straight to the document by its _id, and finds 1."),
        (read("{status: 1}"), answer({"stage": "PROJECTION_COVERED", "inputStage": FETCH["inputStage"]}, 0, 9, 9),
         "Answers from the index status_1 alone, and finds 9."),
        (read("{status: 1, n: {$gt: 5}}"), answer(FETCH, 5000, 5000, 2),
         "Uses the index status_1: looks at 5,000 documents and finds 2. Index missing: { status: 1, n: 1 }."),
        (read("{status: 1}", "at descending"), answer({"stage": "SORT", "inputStage": FETCH}, 900, 900, 900),
         "Uses the index status_1: looks at 900 documents and finds 900. 900 documents are then sorted in memory. "
         "Index missing: { status: 1, at: -1 }."),
        (read(""), answer(SCAN, 1, 0, 1), "Reads 1 document, all there are, because no filter narrows them."),
    ],
)  # fmt: skip
def test_an_answer_becomes_a_sentence(asked: Read, said: dict[str, Any], sentence: str) -> None:
    assert explained(asked, said, [ID, STATUS]).sentence == sentence


def test_an_answer_is_understood_in_every_shape_that_servers_give_it() -> None:
    plain = answer(SCAN, 2483, 0, 3)
    newer = answer({"queryPlan": SCAN, "slotBasedPlan": {"stages": "…"}}, 2483, 0, 3)
    pipeline = {"stages": [{"$cursor": plain}, {"$group": {"_id": None}}], "ok": 1.0}
    cluster = {"shards": {"a": answer(SCAN, 2000, 0, 1), "b": answer(SCAN, 483, 0, 2)}, "ok": 1.0}
    said = {explained(read("{status: 1}"), each, [ID]).sentence for each in (plain, newer, pipeline, cluster)}
    assert said == {"Scans 2,483 documents and finds 3. Index missing: { status: 1 }."}


@support.table(
    "filter, sort, index",
    [
        ("{a: 1}", "", "{ a: 1 }"),
        ("{b: {$gt: 1}, a: 1}", "", "{ a: 1, b: 1 }"),
        ("{b: {$gt: 1}, a: 1}", "c descending", "{ a: 1, c: -1, b: 1 }"),
        ("{a: {$eq: 1}}", "a", "{ a: 1 }"),
        ("{$and: [{a: 1}, {b: {$lt: 2}}]}", "", "{ a: 1, b: 1 }"),
        ("{a: {x: 1}}", "", "{ a: 1 }"),
        ("{a: /^x/}", "", "{ a: 1 }"),
        ("{'holder.name': 'x'}", "", '{ "holder.name": 1 }'),
        ("{$or: [{a: 1}, {b: 1}]}", "", ""),
        ("", "a", ""),
    ],
)
def test_the_missing_index_has_equal_fields_first_then_the_order_then_a_range(
    filter: str, sort: str, index: str
) -> None:
    asked = read(filter, sort)
    assert missing_index(asked) == index


def test_no_index_is_called_missing_that_another_one_begins_with() -> None:
    assert missing_index(read("{a: 1}"), [{"name": "x", "key": {"a": 1, "b": 1}}]) == ""


def test_the_sample_is_explained_without_the_indexes_that_its_server_makes_for_itself(tmp_path: Path) -> None:
    with Session.open("sample:", home=tmp_path) as sample:
        (found,) = sample.queries.explain("insurance.contracts", '{ "status": "active" }')
        assert text.loose(found.missing)
        assert found.sentence.startswith("Scans 2,483 documents")
