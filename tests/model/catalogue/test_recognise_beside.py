"""The role of a second collection, and what one document in twelve changes about it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from bson import ObjectId

from model.catalogue.near_collections import glimpses
from model.catalogue.recognise import bind, recognise_one
from model.foundation.records import CollectionInfo
from model.recognition.sampling import SAMPLE_BYTES, take
from model.server.retry import Server
from model.storage.feed_state import SUFFIX
from tests.model.catalogue import recognition_scenes as ground
from tests.model.catalogue.recognition_scenes import OTHERS, SEEDS, Db, Names, content, known, stamped, token

Row = dict[str, Any]
Rows = list[Row]
ODD = 7
DAY = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)


def day(v: int) -> dt.datetime:
    """The day on which a version was made."""
    return DAY + dt.timedelta(days=v)


def lives(number: int) -> Rows:
    """The states of one document, without ids."""
    return [{**stamped(SEEDS, number, v), **content(number, v)} for v in range(1, 3 + number % 4)]


def put(
    database: Db, snapshots: bool, change: Callable[[Rows], Rows] = lambda rows: rows, token_kept: bool = True
) -> None:
    """Twelve documents with their past, of one of which the rows are changed."""
    database["past"].create_index([("docId", 1), ("v", 1)], unique=True)
    for number in range(1, 13):
        told = lives(number)
        database["things"].insert_one({"_id": f"K-{number}", **told[-1]})
        rows = [
            {"_id": token(number, n, 3), "docId": f"K-{number}", **each}
            for n, each in enumerate(told if snapshots else told[:-1])
        ]
        if not token_kept:
            rows = [{k: x for k, x in row.items() if k != "_w"} for row in rows]
        database["past"].insert_many(change(rows) if number == ODD else rows)


def found(server: Server, database: Db) -> dict[str, CollectionInfo]:
    return {name: info for name, (info, _) in known(server, database.name).items()}


def otherwise(rows: Rows) -> Rows:
    """The rows as payments of the document, with a number of their own."""
    return [
        {"_id": row["_id"], "docId": row["docId"], "v": row["v"], "cents": 5, "paid": DAY, "iban": "x"} for row in rows
    ]


WRONG: dict[str, Callable[[Rows], Rows]] = {
    "numbers far above the document's": lambda rows: [{**row, "v": 90 + n} for n, row in enumerate(rows)],
    "numbers that fall": lambda rows: [
        {k: x for k, x in {**row, "v": len(rows) - n}.items() if k != "changedAt"} for n, row in enumerate(rows)
    ],
    "rows of other things": otherwise,
}


@pytest.mark.parametrize("snapshots", [False, True], ids=["earlier ones", "all"])
def test_rows_that_look_like_their_documents_are_their_past(server: Server, database: Db, snapshots: bool) -> None:
    put(database, snapshots)
    info = found(server, database)["things"]
    assert info.layout == ("stream" if snapshots else "archive"), info.why
    assert "v rises with time in " in info.why


@pytest.mark.parametrize("snapshots", [False, True], ids=["earlier ones", "all"])
@pytest.mark.parametrize("which", WRONG)
def test_rows_of_one_document_in_twelve_that_contradict_make_it_none(
    server: Server, database: Db, which: str, snapshots: bool
) -> None:
    put(database, snapshots, WRONG[which])
    layouts = {name: info.layout for name, info in found(server, database).items()}
    assert layouts["things"] == "plain"


# --- who wrote the current version beside


@pytest.mark.parametrize("names", [SEEDS, OTHERS], ids=["seeds", "others"])
def test_snapshots_that_no_feeder_wrote_are_a_shadow(server: Server, database: Db, names: Names) -> None:
    ground.archive(database, names, fed=True)
    database[names.past].update_many({}, {"$unset": {names.token: 1}})
    infos = known(server, database.name)
    info, profile = infos[names.things]
    expected = {"id": "_id", "version": names.version, "archive": f"{database.name}.{names.past}",
                "archive_id": names.id, "at": names.at, "author": names.author}  # fmt: skip
    assert (info.layout, dict(info.fields)) == ("shadow", expected)
    assert "no feeder of it is known" in info.why
    assert (infos[names.past][0].layout, infos[names.past][0].belongs_to) == ("shadow", info.ns)
    layout = bind(server, profile)
    id = layout.find_id("K-4")
    assert [(v.v and v.v.python(), v.state, v.detail) for v in layout.history(id)] == [
        (n, "present", "") for n in (5, 4, 3, 2, 1)
    ]


def test_one_row_with_another_token_than_its_document_speaks_against_a_feeder(server: Server, database: Db) -> None:
    put(database, True, lambda rows: [{**row, "_w": ObjectId()} for row in rows])
    assert found(server, database)["things"].layout == "shadow"


def test_a_feeders_place_beside_the_archive_makes_it_a_streams(server: Server, database: Db) -> None:
    put(database, True, token_kept=False)
    assert found(server, database)["things"].layout == "shadow"
    place = {"_id": f"{database.name}.things", "at": DAY, "saved": DAY, "way": "polling", "whole": True}
    database[f"past{SUFFIX}"].insert_one(place)
    info = found(server, database)["things"]
    assert info.layout == "stream"
    assert f"its feeder keeps its place in past{SUFFIX}" in info.why


def test_an_archive_with_half_of_the_current_versions_is_neither(server: Server, database: Db) -> None:
    put(database, True, token_kept=False)
    for number in range(1, 13, 2):
        database["past"].delete_one({"docId": f"K-{number}", "v": len(lives(number))})
    assert found(server, database)["things"].layout == "plain"


# --- logs


def changes(number: int, v: int) -> Row:
    """What one edit changed, field by field."""
    before, after = content(number, v), content(number, v + 1)
    return {name: [before[name], after[name]] for name in after if before[name] != after[name]}


def patch(number: int, v: int) -> list[Row]:
    """The same as operations with paths."""
    return [{"op": "replace", "path": f"/{name}", "value": new} for name, (_, new) in changes(number, v).items()]


def listed(number: int, v: int) -> list[Row]:
    """The fields that an edit changed, one by one."""
    return [
        {"field_name": name, "from_value": str(old), "to_value": str(new)}
        for name, (old, new) in changes(number, v).items()
    ]


def states(number: int, v: int) -> tuple[Row, Row]:
    return content(number, v), content(number, v + 1)


LOGS: dict[str, Callable[[int, int], Row]] = {
    "a diff": lambda n, v: {"of": f"K-{n}", "diff": changes(n, v), "user": "Marta"},
    "a numbered diff": lambda n, v: {"of": f"K-{n}", "diff": changes(n, v), "version": v},
    "a patch": lambda n, v: {"ref": f"K-{n}", "ops": patch(n, v), "date": DAY},
    "a list of changes": lambda n, v: {"model": "x", "ref": f"K-{n}", "logs": listed(n, v), "change_type": "update"},
    "before and after": lambda n, v: {"doc": f"K-{n}", **dict(zip(("before", "after"), states(n, v), strict=True))},
    "one field from and to": lambda n, v: {"contract": f"K-{n}", "field": "status", "from": "a", "to": "b", "at": DAY},
    "an operation on a path": lambda n, v: {"id": f"K-{n}", "op": "set", "path": "notes", "value": f"note {v}"},
    "an event with what it set": lambda n, v: {"of": f"K-{n}", "seq": v, "type": "Changed", "payload": content(n, v)},
    "a state in one field": lambda n, v: {"t": day(v), "kind": "u", "d": {"_id": f"K-{n}", **content(n, v)}},
    "a state and no number": lambda n, v: {"refId": f"K-{n}", "savedAt": day(v), **content(n, v)},
}  # fmt: skip
NAMED = {"a state in one field": "d._id", "a list of changes": "ref"}
WHOLE = ("an event with what it set", "a state in one field", "a state and no number")


@pytest.mark.parametrize("which", LOGS)
def test_rows_that_record_changes_of_other_documents_are_a_log(server: Server, database: Db, which: str) -> None:
    for number in range(1, 13):
        database["contracts"].insert_one({"_id": f"K-{number}", **content(number, 5)})
        last = 6 if which in WHOLE else 5
        database["trail"].insert_many([LOGS[which](number, v) for v in range(1, last)])
    infos = known(server, database.name)
    info, profile = infos["trail"]
    assert infos["contracts"][0].layout == "plain"
    assert info.layout == "log", info.why
    assert profile.id == NAMED.get(which, next(iter(LOGS[which](1, 1))))
    layout = bind(server, profile)
    assert len(list(layout.history(layout.find_id("K-7")))) == (5 if which in WHOLE else 4)


NO_LOGS: dict[str, Callable[[int, int], Row]] = {
    "bookings": lambda n, v: {"room": f"K-{n}", "from": DAY, "to": DAY + dt.timedelta(days=v), "guests": v},
    "transfers": lambda n, v: {"account": f"K-{n}", "from": "a", "to": "b", "amount": v, "at": DAY},
    "orders": lambda n, v: {"customer": f"K-{n}", "total": v, "status": "paid", "at": DAY},
    "messages": lambda n, v: {"to": f"K-{n}", "type": "mail", "body": {"text": "x", "subject": "y"}, "at": DAY},
    "lines with a copy": lambda n, v: {"product": f"K-{n}", "copy": content(n, v), "order": v, "qty": v, "price": 3},
    "changes of other fields": lambda n, v: {"of": f"K-{n}", "diff": {"height": [v, v + 1], "width": [1, 2]}},
    "opening hours": lambda n, v: {"shop": f"K-{n}", "hours": [{"name": "Monday", "from": "8", "to": str(v)}]},
    "clicks": lambda n, v: {"item": f"K-{n}", "event": "click", "data": {"x": v, "y": n}, "at": DAY},
}


@pytest.mark.parametrize("which", NO_LOGS)
def test_rows_that_only_name_other_documents_are_no_log(server: Server, database: Db, which: str) -> None:
    for number in range(1, 13):
        database["contracts"].insert_one({"_id": f"K-{number}", **content(number, 5)})
        database["trail"].insert_many([NO_LOGS[which](number, v) for v in range(1, 5)])
    assert {name: info.layout for name, info in found(server, database).items()} == {
        "contracts": "plain",
        "trail": "plain",
    }


@pytest.mark.parametrize(("documents", "layout"), [(4, "plain"), (5, "log")])
def test_a_log_is_claimed_from_five_documents_on(server: Server, database: Db, documents: int, layout: str) -> None:
    for number in range(1, documents + 1):
        database["contracts"].insert_one({"_id": number, **content(number, 5)})
        database["trail"].insert_many([{**LOGS["a diff"](number, v), "of": number} for v in range(1, 5)])
    assert found(server, database)["trail"].layout == layout


@pytest.mark.parametrize("of_nothing", ["ids", "names"])
def test_a_log_of_documents_that_are_not_here_is_plain(server: Server, database: Db, of_nothing: str) -> None:
    for number in range(1, 13):
        made = {"x": 1} if of_nothing == "names" else content(number, 5)
        database["contracts"].insert_one({"_id": number if of_nothing == "ids" else f"K-{number}", **made})
        database["trail"].insert_many([LOGS["a diff"](number, v) for v in range(1, 5)])
    assert found(server, database)["trail"].layout == "plain"


def test_numbered_operations_are_no_versions_of_what_they_change(server: Server, database: Db) -> None:
    database["operations"].create_index([("d", 1), ("v", 1)], unique=True)
    for number in range(1, 13):
        rows = [{"d": f"K-{number}", "v": v, "op": [{"p": ["status"], "oi": "x"}], "m": {"ts": v}} for v in range(5)]
        database["operations"].insert_many(rows)
    info = found(server, database)["operations"]
    assert (info.layout, info.alternatives) == ("plain", ("log",))
    assert "record changes" in info.why


def test_a_shared_log_names_documents_of_several_collections(server: Server, database: Db) -> None:
    for number in range(1, 13):
        name = ("contracts", "offers")[number % 2]
        database[name].insert_one({"_id": f"K-{number}", **content(number, 5)})
        rows = [
            {"collectionName": name, "collectionId": f"K-{number}", "diff": changes(number, v)} for v in range(1, 5)
        ]
        database["histories"].insert_many(rows)
    info = found(server, database)["histories"]
    assert (info.layout, dict(info.fields)) == ("log", {"id": "collectionId"})
    assert "contracts and offers" in info.why


def test_a_log_may_write_the_ids_of_documents_as_text(server: Server, database: Db) -> None:
    for number in range(1, 13):
        id = ObjectId()
        database["contracts"].insert_one({"_id": id, **content(number, 5)})
        rows = [{"of": str(id), "diff": changes(number, v), "__v": 0} for v in range(1, 5)]
        database["trail"].insert_many(rows)
    info = found(server, database)["trail"]
    assert "lock" not in info.why
    assert (info.layout, dict(info.fields)) == ("log", {"id": "of"})


# --- tokens


def test_an_id_that_names_another_row_is_no_token(server: Server, database: Db) -> None:
    for number in range(1, 13):
        before = None
        for v in range(1, 5):
            row = {"_id": token(number, v, 3), "docId": f"K-{number}", "v": v, "o": before, **content(number, v)}
            if before is None:
                row["o"] = token(number, 99, 9)
            database["things"].insert_one(row)
            before = row["_id"]
    info, profile = known(server, database.name)["things"]
    assert (info.layout, profile.token) == ("versions", "")


def test_an_id_that_names_a_document_elsewhere_is_no_token(server: Server, database: Db) -> None:
    ground.versions(database, replace(SEEDS, token="opId"))
    assert known(server, database.name)["contracts"][1].token == "opId"
    database["requests"].insert_many([{"_id": row["opId"], "path": "/"} for row in database["contracts"].find()])
    info, profile = known(server, database.name)["contracts"]
    assert (info.layout, profile.token) == ("versions", "")
    assert "opId is a write token" not in info.why


def test_a_token_that_is_the_rows_own_id_too_is_one(server: Server, database: Db) -> None:
    names = replace(SEEDS, token="nonceOf")
    ground.versions(database, names)
    rows = list(database[names.things].find())
    database[names.things].delete_many({})
    database[names.things].insert_many([{**row, "_id": row["nonceOf"]} for row in rows])
    assert known(server, database.name)[names.things][1].token == "nonceOf"


def test_a_copy_of_a_history_is_told_alone_as_it_is_beside_the_history_itself(server: Server, database: Db) -> None:
    for number in range(6):
        told = [{"v": v, "price": 10 * v, "holder": f"person {number}", "updatedAt": day(v)} for v in range(1, 6)]
        rows = [{"_id": f"K{number}:{each['v']}", "docId": f"K{number}", **each} for each in told]
        database["contracts"].insert_one({"_id": f"K{number}", **told[-1]})
        database["contracts_history"].insert_many(rows[:-1])
        database["claims"].insert_many(rows)
    database["claims"].create_index([("docId", 1), ("v", 1)], unique=True)
    among = found(server, database)["claims"]
    alone = recognise_one(server, f"{database.name}.claims")
    assert among.layout == "versions"
    assert alone is None or alone[0].layout == "versions"  # None: all are looked at


@pytest.mark.parametrize("records", [True, False], ids=["changes", "states"])
def test_a_log_that_names_documents_by_a_number_like_a_parts_is_told_alone_too(
    records: bool, server: Server, database: Db
) -> None:
    rooms = [{"_id": n, "name": f"room {n}", "wing": "NESW"[n % 4], "seats": 100 + n * 37 % 90} for n in range(1, 41)]
    database["rooms"].insert_many(rooms)
    for room in rooms[10:30]:  # of none that stands first or last
        for v in range(3):
            named, seats = {"room": room["_id"], "at": day(v)}, int(room["seats"])
            state = {**room, "seats": seats + v - 2}
            del state["_id"]
            change = {"field": "seats", "from": f"{seats + v} seats", "to": f"{seats + v + 1} seats"}
            database["trail"].insert_one(named | (change if records else state))
    alone = recognise_one(server, f"{database.name}.trail")
    assert found(server, database)["trail"].layout == "log"
    assert alone is not None
    assert alone[0].layout == "log"


@pytest.mark.parametrize(("size", "whole"), [(100, True), (3000, False)])
def test_a_collection_is_read_as_far_alone_as_among_all(size: int, whole: bool, server: Server, database: Db) -> None:
    database["things"].insert_many([{"_id": n, "text": "x" * size} for n in range(100)])
    ns = f"{database.name}.things"
    seen = glimpses(server, [ns], [], SAMPLE_BYTES)
    assert seen is not None
    assert (take(server, ns).whole is not None, seen.begun[ns].whole) == (whole, whole)
