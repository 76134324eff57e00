"""Numbers that count events are told from numbers that are handed out, whatever their fields are called."""

from __future__ import annotations

from typing import Any

import pytest
from bson import ObjectId

from model.server.retry import Server
from tests.model.catalogue.recognition_scenes import Db, known

DAYS = [f"2016-07-{day:02d}" for day in range(1, 13)]


def taken_for(server: Server, database: Db, name: str = "events") -> tuple[str, dict[str, str]]:
    info, _ = known(server, database.name)[name]
    return info.layout, dict(info.fields)


def counted(day: int, field: str = "counter", waiting: int = 0, **more: Any) -> dict[str, Any]:
    return {"_id": DAYS[day], field: 3 + day, "pending": [ObjectId() for _ in range(waiting)], **more}


@pytest.mark.parametrize("field", ["counter", "count", "hits", "seen today"])
@pytest.mark.parametrize("keeps", [False, True], ids=["pending alone", "with applied"])
def test_a_day_with_pending_tokens_is_counted_in_two_steps(
    server: Server, database: Db, field: str, keeps: bool
) -> None:
    for day in range(2):
        more: dict[str, Any] = {"applied": [ObjectId()]} if keeps else {}
        database["events"].insert_one(counted(day, field, 1 - day, **more))
    layout, fields = taken_for(server, database)
    assert layout == "pending"
    assert fields == {"id": "_id", "pending": "pending", "applied": "applied", "counter": field}


@pytest.mark.parametrize(
    ("made", "pending", "counter"),
    [
        ({"stats": {"hits": 3, "pending": [ObjectId()]}}, "stats.pending", "stats.hits"),
        ({"pending": [ObjectId()], "totals": {"count": 3, "of": "visits"}}, "pending", "totals.count"),
        ({"page": {"views": {"counter": 3, "inFlight": [ObjectId()]}}}, "page.views.inFlight", "page.views.counter"),
        ({"count": 7, "own": {"count": 3, "pending": [ObjectId()]}}, "own.pending", "own.count"),
    ],
)
def test_list_and_counter_may_stand_in_sub_documents(
    server: Server, database: Db, made: dict[str, Any], pending: str, counter: str
) -> None:
    database["events"].insert_one({"_id": "/home", **made})
    layout, fields = taken_for(server, database)
    assert (layout, fields["pending"], fields["counter"]) == ("pending", pending, counter)


def test_one_waiting_token_among_many_cleaned_days_is_enough(server: Server, database: Db) -> None:
    days = [{"_id": f"2016-{month:02d}-{day:02d}", "counter": 9} for month in range(1, 7) for day in range(1, 29)]
    database["events"].insert_many([*days, counted(0, waiting=1)])
    assert taken_for(server, database)[0] == "pending"


def test_a_calm_day_is_known_by_its_empty_list(server: Server, database: Db) -> None:
    database["events"].insert_many([counted(day) for day in range(3)])
    assert taken_for(server, database)[0] == "pending"


@pytest.mark.parametrize("name", ["events", "counters"])
@pytest.mark.parametrize("ids", [DAYS, ["2016-06", "2016-07"], ["2016-07-01T10", "2016-07-01T11"], ["20160701"]])
def test_counts_by_day_are_no_sequence(server: Server, database: Db, name: str, ids: list[str]) -> None:
    database[name].insert_many([{"_id": id, "counter": 5} for id in ids])
    assert taken_for(server, database, name)[0] == "plain"


def test_names_that_hold_a_year_are_still_those_of_sequences(server: Server, database: Db) -> None:
    database["counters"].insert_many([{"_id": f"invoice-{year}", "counter": 5} for year in (2015, 2016)])
    database["numbers"].insert_many([{"_id": day, "seq": 5} for day in DAYS])
    assert taken_for(server, database, "counters")[0] == "sequence"
    assert taken_for(server, database, "numbers")[0] == "sequence"


def test_events_may_be_counted_by_keys_of_their_own(server: Server, database: Db) -> None:
    database["events"].insert_many(
        [counted(0, waiting=1), {"_id": DAYS[1], "counter": 5, "applied": ["order-7"]}, counted(2, applied=["order-8"])]
    )
    assert taken_for(server, database)[0] == "pending"
    database["visits"].insert_many([{"_id": "/home", "hits": 2, "pending": [], "applied": ["order-7", "order-8"]}])
    assert taken_for(server, database, "visits")[0] == "pending"


# --- what only looks like it


def test_people_who_wait_or_have_confirmed_are_no_tokens(server: Server, database: Db) -> None:
    database["parties"].insert_many(
        [{"name": f"p{n}", "guests": n, "pending": ["Ann", "Bob"], "confirmed": ["Eve"]} for n in range(4)]
    )
    assert taken_for(server, database, "parties")[0] == "plain"


def test_a_list_of_ids_of_something_waits_for_nothing(server: Server, database: Db) -> None:
    people = [ObjectId() for _ in range(8)]
    database["people"].insert_many([{"_id": id, "name": f"P{n}"} for n, id in enumerate(people)])
    database["groups"].insert_many(
        [{"_id": f"g{n}", "members": n, "pending": people[2 * n : 2 * n + 2]} for n in range(4)]
    )
    info, _ = known(server, database.name)["groups"]
    assert info.layout == "plain"
    assert info.why.startswith("The list pending holds ids of people")


def test_a_balance_with_pending_transactions_is_no_count(server: Server, database: Db) -> None:
    database["accounts"].insert_many(
        [{"_id": name, "balance": 900, "pendingTransactions": [ObjectId()]} for name in ("A", "B")]
    )
    assert taken_for(server, database, "accounts")[0] == "plain"


def test_of_two_counts_it_is_not_guessed_which_one_a_token_stands_for(server: Server, database: Db) -> None:
    database["events"].insert_many([counted(day, waiting=1, hits=5) for day in range(3)])
    assert taken_for(server, database)[0] == "plain"


def test_an_empty_list_beside_other_things_says_nothing(server: Server, database: Db) -> None:
    database["events"].insert_many([counted(day, title="a shop's day") for day in range(3)])
    assert taken_for(server, database)[0] == "plain"
