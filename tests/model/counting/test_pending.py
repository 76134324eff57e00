"""Pending tokens: what is listed, what finishing one sends, and that a second attempt does nothing."""

from __future__ import annotations

import datetime as dt

import pymongo.database
import pytest
from bson import Binary, Decimal128, Int64, ObjectId

from model.counting import pending
from model.foundation.records import PendingToken
from model.profile import CollectionProfile
from model.server.retry import Server
from model.values.canonical import Value

NOW = dt.datetime(2026, 11, 20, 14, 0, tzinfo=dt.UTC)
OLD = ObjectId.from_datetime(NOW - dt.timedelta(days=3))
OLDER = ObjectId.from_datetime(NOW - dt.timedelta(days=9))
YOUNG = ObjectId.from_datetime(NOW - dt.timedelta(hours=2))


@pytest.fixture
def ns(database_name: str) -> str:
    return f"{database_name}.stats"


def listed(server: Server, ns: str, applied: str = "applied", counter: str = "count") -> list[PendingToken]:
    return list(pending.tokens(server, of(server, ns, applied, counter), NOW))


def of(server: Server, ns: str, applied: str = "applied", counter: str = "count") -> pending.TwoStepCounters:
    return pending.counters(server, CollectionProfile(ns=ns, layout="pending", counter=counter, applied=applied))


def finish(server: Server, ns: str, token: PendingToken) -> str:
    return pending.send(server, token, of(server, ns)).kind


def stored(database: pymongo.database.Database, id: object = "day") -> object:
    return database["stats"].find_one({"_id": id})


def test_every_token_is_listed_with_what_it_tells_of_itself(
    server: Server, ns: str, database: pymongo.database.Database
) -> None:
    described = {"t": OLDER, "owner": "billing-3", "amount": 5}
    database["stats"].insert_many(
        [
            {"_id": "2026-11-17", "count": 41, "pending": [OLD, YOUNG]},
            {"_id": "2026-11-18", "count": Int64(7), "pending": [described]},
            {"_id": "2026-11-19", "count": 3, "pending": []},
            {"_id": "2026-11-20", "count": 3},
        ]
    )
    first, young, third = listed(server, ns)
    assert (first.id, first.token, first.at) == (Value.of("2026-11-17"), Value.of(OLD), OLD.generation_time)
    assert (first.field, first.amount, first.counter, first.after) == ("count", 1, Value.of(41), Value.of(42))
    assert (first.stale, young.stale) == (True, False)
    assert (third.owner, third.amount, third.after) == ("billing-3", 5, Value.of(Int64(12)))


@pytest.mark.parametrize(
    ("counter", "after"),
    [
        (41, 42),
        (Int64(41), Int64(42)),
        (41.5, 42.5),
        (2**31 - 1, Int64(2**31)),
        (Decimal128("41.50"), Decimal128("42.50")),
    ],
)
def test_finishing_raises_the_counter_as_its_type_does_and_as_was_foretold(
    server: Server, ns: str, database: pymongo.database.Database, counter: object, after: object
) -> None:
    database["stats"].insert_one({"_id": "day", "count": counter, "pending": [OLD], "note": "kept"})
    (token,) = listed(server, ns)
    assert token.after == Value.of(after)
    assert finish(server, ns, token) == "applied"
    assert stored(database) == {"_id": "day", "count": after, "pending": [], "note": "kept"}


@pytest.mark.parametrize("counter", [{}, {"count": None}])
def test_a_missing_or_null_counter_counts_from_zero(
    server: Server, ns: str, database: pymongo.database.Database, counter: dict[str, object]
) -> None:
    database["stats"].insert_one({"_id": "day", **counter, "pending": [OLD, OLDER]})
    for _ in range(2):
        token = listed(server, ns)[0]
        assert not token.problem
        assert finish(server, ns, token) == "applied"
    assert stored(database) == {"_id": "day", "count": 2, "pending": []}


def test_a_null_counter_that_became_a_number_meanwhile_is_not_overwritten(
    server: Server, ns: str, database: pymongo.database.Database
) -> None:
    database["stats"].insert_one({"_id": "day", "count": None, "pending": [OLD]})
    (token,) = listed(server, ns)
    database["stats"].update_one({"_id": "day"}, {"$set": {"count": 500}})
    assert finish(server, ns, token) == "skipped"
    assert stored(database) == {"_id": "day", "count": 500, "pending": [OLD]}


@pytest.mark.parametrize("counter", ["41", [41], {"a": 41}, True])
def test_a_counter_that_is_no_number_is_a_problem_to_decide(
    server: Server, ns: str, database: pymongo.database.Database, counter: object
) -> None:
    database["stats"].insert_one({"_id": "day", "count": counter, "pending": [OLD]})
    (token,) = listed(server, ns)
    assert "not a number" in token.problem
    assert token.after is None


@pytest.mark.parametrize("odd", [None, 1, 1.0, True, [1]])
def test_a_token_that_no_filter_finds_exactly_is_a_problem(
    server: Server, ns: str, database: pymongo.database.Database, odd: object
) -> None:
    database["stats"].insert_one({"_id": "day", "count": 1, "pending": [odd]})
    (token,) = listed(server, ns)
    assert "exactly" in token.problem


@pytest.mark.parametrize("kind", ["t-1", Binary(b"\x01" * 16, 4), OLD, {"t": OLD, "owner": "a"}])
def test_tokens_of_other_types_are_finished_and_their_neighbours_stay(
    server: Server, ns: str, database: pymongo.database.Database, kind: object
) -> None:
    neighbours = ["t-2", {"t": OLD}, {"owner": "a", "t": OLD}, YOUNG]
    database["stats"].insert_one({"_id": "day", "count": 1, "pending": [kind, *neighbours]})
    token = listed(server, ns)[0]
    assert finish(server, ns, token) == "applied"
    assert stored(database) == {"_id": "day", "count": 2, "pending": neighbours}


def test_finished_tokens_are_noted_where_the_collection_keeps_them_and_only_there(
    server: Server, ns: str, database: pymongo.database.Database
) -> None:
    database["stats"].insert_one({"_id": "day", "count": 1, "pending": [OLD]})
    assert not of(server, ns).keeps_applied
    database["stats"].insert_one({"_id": "other", "count": 1, "pending": [], "applied": [OLDER]})
    assert finish(server, ns, listed(server, ns)[0]) == "applied"
    assert stored(database) == {"_id": "day", "count": 2, "pending": [], "applied": [OLD]}


def test_a_token_both_pending_and_applied_is_taken_out_and_not_counted_again(
    server: Server, ns: str, database: pymongo.database.Database
) -> None:
    database["stats"].insert_one({"_id": "day", "count": 9, "pending": [OLD, YOUNG], "applied": [OLD]})
    token = listed(server, ns)[0]
    assert (token.applied, token.amount, token.after) == (True, 0, Value.of(9))
    assert finish(server, ns, token) == "applied"
    assert stored(database) == {"_id": "day", "count": 9, "pending": [YOUNG], "applied": [OLD]}


def test_the_second_who_comes_changes_nothing(server: Server, ns: str, database: pymongo.database.Database) -> None:
    database["stats"].insert_one({"_id": "day", "count": 1, "pending": [OLD]})
    (token,) = listed(server, ns)
    assert [finish(server, ns, token) for _ in range(3)] == ["applied", "skipped", "skipped"]
    assert stored(database) == {"_id": "day", "count": 2, "pending": []}


def test_a_token_that_its_writer_finished_meanwhile_is_not_counted_twice(
    server: Server, ns: str, database: pymongo.database.Database
) -> None:
    database["stats"].insert_one({"_id": "day", "count": 1, "pending": [OLD], "applied": []})
    (token,) = listed(server, ns)
    writers = {"$pull": {"pending": OLD}, "$inc": {"count": 1}, "$push": {"applied": OLD}}
    database["stats"].update_one({"_id": "day", "pending": OLD}, writers)
    # The late duplicate of step one: pending again, although applied.
    database["stats"].update_one({"_id": "day"}, {"$addToSet": {"pending": OLD}})
    assert finish(server, ns, token) == "skipped"
    assert stored(database) == {"_id": "day", "count": 2, "pending": [OLD], "applied": [OLD]}


@pytest.mark.parametrize("applied", [{}, {"applied": []}])
def test_finishing_can_be_taken_back_once(
    server: Server, ns: str, database: pymongo.database.Database, applied: dict[str, object]
) -> None:
    before = {"_id": "day", "count": 1, "pending": [OLD], **applied}
    database["stats"].insert_one(before)
    (token,) = listed(server, ns)
    assert finish(server, ns, token) == "applied"
    kept = pending.to_fields(token, of(server, ns))
    again, counters = pending.from_fields(ns, token.id, kept, dt.timedelta(0))
    assert [pending.send(server, again, counters, "back").kind for _ in range(2)] == ["applied", "conflict"]
    assert stored(database) == before


def test_names_of_fields_come_from_the_profile(server: Server, ns: str, database: pymongo.database.Database) -> None:
    database["stats"].insert_one({"_id": "day", "hits": 1, "open": [OLD], "done": []})
    profile = CollectionProfile(ns=ns, layout="pending", counter="hits", pending="open", applied="done")
    counters = pending.counters(server, profile)
    (token,) = pending.tokens(server, counters, NOW)
    assert pending.send(server, token, counters).kind == "applied"
    assert stored(database) == {"_id": "day", "hits": 2, "open": [], "done": [OLD]}


def test_a_document_that_is_gone_is_skipped(server: Server, ns: str, database: pymongo.database.Database) -> None:
    database["stats"].insert_one({"_id": "day", "count": 1, "pending": [OLD]})
    (token,) = listed(server, ns)
    database["stats"].delete_one({"_id": "day"})
    assert finish(server, ns, token) == "skipped"
