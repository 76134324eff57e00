"""A layout is claimed if nothing contradicts it, and not if one document in twelve does."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from bson import ObjectId

from model.catalogue import verdict
from model.commands import command_line
from model.foundation.findings import Finding
from model.foundation.records import CollectionInfo
from model.server.retry import Server
from model.session import Session
from tests import support
from tests.model.catalogue.recognition_scenes import SEEDS, Db, content, known, stamped, token

Row = dict[str, Any]
Rows = list[Row]
ODD = 7  # the one document in twelve


def lives(number: int) -> Rows:
    """The versions of one document, each as a row of its own."""
    return [
        {"_id": token(number, v, 3), "docId": f"K-{number}", **stamped(SEEDS, number, v), **content(number, v)}
        for v in range(1, 3 + number % 4)
    ]


def numbered(rows: Rows, *numbers: Any) -> Rows:
    """The rows under other numbers."""
    return [{**row, "v": v} for row, v in zip(rows, numbers, strict=True)]


def put(database: Db, change: Callable[[Rows], Rows], index: bool = False) -> None:
    """Twelve documents of which one is changed."""
    things = database["things"]
    if index:
        things.create_index([("docId", 1), ("v", 1)], unique=True)
    for number in range(1, 13):
        rows = lives(number)
        things.insert_many(change(rows) if number == ODD else rows)


def things(server: Server, database: Db) -> CollectionInfo:
    return known(server, database.name)["things"][0]


def one_clock(rows: Rows, *numbers: int) -> Rows:
    """The rows under other numbers, with no other time than that in their own ``_id``."""
    return [{k: x for k, x in row.items() if k != "changedAt"} for row in numbered(rows, *numbers)]


SOUND: dict[str, Callable[[Rows], Rows]] = {
    "as the others": lambda rows: rows,
    "a number that two writers took": lambda rows: [*rows, {**rows[1], "_id": ObjectId(), "status": "other"}],
    "one row, stored twice": lambda rows: [rows[0], {**rows[0], "_id": ObjectId()}],
    "a version that is lost": lambda rows: [*rows[:1], *rows[2:]],
    "versions that retention removed": lambda rows: rows[3:],
    "a number as text": lambda rows: [{**rows[0], "v": "1"}, *rows[1:]],
    "a version without its number": lambda rows: [{k: x for k, x in rows[0].items() if k != "v"}, *rows[1:]],
    "rows that were copied in another order": lambda rows: [
        {**row, "_id": token(ODD, 50 - n, 3)} for n, row in enumerate(rows)
    ],
    "one version only": lambda rows: rows[:1],
}
WRONG: dict[str, tuple[Callable[[Rows], Rows], str]] = {
    "a constant": (lambda rows: numbered(rows, 0, 0, 0, 0, 0), "K-7 has v 0 in all of its 5 rows"),
    "a constant in two rows": (lambda rows: numbered(rows[:2], 3, 3), "K-7 has v 3 in all of its 2 rows"),
    "numbers that repeat": (lambda rows: numbered(rows, 1, 1, 2, 2, 3), "K-7 has only 3 different v in 5 rows"),
    "numbers that fall": (lambda rows: one_clock(rows, 5, 4, 3, 2, 1), "K-7 has a v that falls as time goes on"),
    "two numbers that are swapped": (
        lambda rows: one_clock(rows, 1, 2, 4, 3, 5),
        "K-7 has a v that falls as time goes on",
    ),
    "numbers against the dates": (
        lambda rows: [{**row, "_id": f"{n}", "changedAt": dt.datetime(2024, 5, 9 - n)} for n, row in enumerate(rows)],
        "K-7 has a v that falls as time goes on",
    ),
    "mostly no numbers": (
        lambda rows: [*rows[:2], *({k: x for k, x in row.items() if k != "v"} for row in rows[2:])],
        "K-7 has no v in 3 of 5 rows",
    ),
}


UNIQUE = ("numbers that fall", "two numbers that are swapped", "numbers against the dates")
"""Those that a unique index on id and version does not rule out."""


@pytest.mark.parametrize("which", SOUND)
def test_a_version_that_nothing_contradicts_is_claimed(server: Server, database: Db, which: str) -> None:
    put(database, SOUND[which])
    info = things(server, database)
    assert info.layout == "versions", info.why
    assert "v rises with time in " in info.why


@pytest.mark.parametrize(
    ("which", "index"), [(which, index) for which in WRONG for index in (True, False) if not index or which in UNIQUE]
)
def test_a_version_that_one_document_in_twelve_contradicts_is_not_claimed(
    server: Server, database: Db, which: str, index: bool
) -> None:
    change, why = WRONG[which]
    put(database, change, index)
    info = things(server, database)
    assert (info.layout, info.alternatives) == ("plain", ("versions",))
    assert f"The field v looks like a version by docId, but {why}." in info.why


def test_damage_in_too_many_documents_is_no_damage(server: Server, database: Db) -> None:
    for number in range(1, 13):
        rows = lives(number)
        database["things"].insert_many(SOUND["a version without its number"](rows) if number % 3 == 0 else rows)
    assert things(server, database).layout == "plain"


def doubled(database: Db, doubled: int, documents: int = 30, layout: str = "versions") -> None:
    """Documents of which the first so many have a version twice, as two writers store it without a unique index."""
    rows = [row for number in range(1, documents + 1) for row in lives(number)]
    for row in rows if layout == "flagged" else ():
        row["current"] = row["v"] == 2 + int(row["docId"][2:]) % 4
    again = [
        {**row, "_id": token(number, row["v"], 4), "status": "other"}
        for number in range(1, doubled + 1)
        for row in rows
        if row["docId"] == f"K-{number}" and row["v"] == 1 + number % 2
    ]
    rows = [*rows, *again]
    if layout == "archive":
        newest = {row["docId"]: row for row in rows}
        newest = {id: max((row for row in rows if row["docId"] == id), key=lambda row: row["v"]) for id in newest}
        now = [{**{k: x for k, x in row.items() if k != "docId"}, "_id": id} for id, row in newest.items()]
        database["things"].insert_many(now)
        database["things_history"].insert_many([row for row in rows if row["v"] < newest[row["docId"]]["v"]])
    else:
        database["things"].insert_many(rows)


@pytest.mark.parametrize("layout", ["versions", "flagged", "archive"])
@pytest.mark.parametrize("often", [6, 15])
def test_up_to_half_of_the_documents_may_have_a_version_twice(
    server: Server, database: Db, layout: str, often: int
) -> None:
    doubled(database, often, layout=layout)
    info = things(server, database)
    assert (info.layout, info.doubt) == (layout, ""), info.why
    assert info.confidence >= verdict.SURE


def test_a_version_twice_in_more_documents_is_said_and_offered(
    server_uri: str, database: Db, capsys: pytest.CaptureFixture[str]
) -> None:
    doubled(database, 16)
    said = "for 16 of 30 ids one v is in several documents"
    with Session.open(server_uri) as session:
        info = session.catalogue.info(f"{database.name}.things")
        assert (info.layout, info.alternatives) == ("plain", ("versions",))
        assert said in info.doubt
        (offer,) = session.catalogue.offers([info.ns])
    assert (offer.profile.layout, offer.profile.id, offer.profile.version) == ("versions", "docId", "v")
    assert offer.right == offer.looked >= 5
    assert command_line.main(["scan", server_uri, database.name]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("often", [6, 15])
def test_a_scan_finds_each_version_that_is_stored_twice(server_uri: str, database: Db, often: int) -> None:
    doubled(database, often)
    with Session.open(server_uri) as session:
        found = [each for each in session.scans.scan([f"{database.name}.things"]) if isinstance(each, Finding)]
        assert [(each.code, each.doubt) for each in found] == [("V1", "")] * often
        assert not session.catalogue.doubt(f"{database.name}.things")


# --- documents that keep their past inside


def inside(rows: Rows) -> Rows:
    """The versions without ids."""
    return [{name: value for name, value in row.items() if name not in ("_id", "docId")} for row in rows]


def put_inside(database: Db, layout: str, change: Callable[[Rows], Rows]) -> None:
    """Twelve documents with their past inside, of which one is changed."""
    for number in range(1, 13):
        rows = inside(lives(number))
        told = change(rows) if number == ODD else rows
        if layout == "embedded":
            database["things"].insert_one({"_id": f"K-{number}", "current": told[-1], "prev": told[:-1]})
        else:
            database["things"].insert_one({"_id": f"K-{number}", **told[-1], "versions": told[:-1]})


SOUND_INSIDE: dict[str, Callable[[Rows], Rows]] = {
    "as the others": lambda rows: rows,
    "one that is lost": lambda rows: [*rows[:1], *rows[2:]],
    "two in another order": lambda rows: [rows[0], rows[2], rows[1], *rows[3:]],
    "one twice": lambda rows: [rows[0], rows[1], *rows[1:]],
    "no past": lambda rows: rows[-1:],
}
WRONG_INSIDE: dict[str, tuple[Callable[[Rows], Rows], str]] = {
    "a constant": (lambda rows: numbered(rows, 2, 2, 2, 2, 2), "K-7 has v 2 in all of its 5 versions"),
    "numbers that fall": (lambda rows: numbered(rows, 4, 3, 2, 1, 5), "K-7 has a v that falls or repeats in"),
    "a current one below": (lambda rows: numbered(rows, 1, 2, 3, 4, 1), "K-7 has a v that is not above all in"),
    "no numbers": (
        lambda rows: [*({k: x for k, x in row.items() if k != "v"} for row in rows[:-1]), rows[-1]],
        "K-7 has no v in 4 of 5 versions",
    ),
    "other things": (
        lambda rows: [{"v": n, "street": "x", "city": "y"} for n in range(1, 5)] + rows[-1:],
        "K-7 has little in",
    ),
}
INSIDE = ["embedded", "nested"]


@pytest.mark.parametrize("layout", INSIDE)
@pytest.mark.parametrize("which", SOUND_INSIDE)
def test_a_past_inside_that_nothing_contradicts_is_claimed(
    server: Server, database: Db, layout: str, which: str
) -> None:
    put_inside(database, layout, SOUND_INSIDE[which])
    info = things(server, database)
    assert info.layout == layout, info.why
    assert "v rises with time in " in info.why


@pytest.mark.parametrize("layout", INSIDE)
@pytest.mark.parametrize("which", WRONG_INSIDE)
def test_a_past_inside_that_one_document_in_twelve_contradicts_is_not_claimed(
    server: Server, database: Db, layout: str, which: str
) -> None:
    change, why = WRONG_INSIDE[which]
    put_inside(database, layout, change)
    info = things(server, database)
    assert (info.layout, info.alternatives) == ("plain", (layout,))
    assert why in info.why


# --- which documents are looked at


def test_a_large_document_among_the_first_hides_no_others(server: Server, database: Db) -> None:
    for number in range(2, 31):
        told = inside(lives(number))
        big = {"scan": "x" * 6_000_000} if number == 3 else {}
        database["things"].insert_one({"_id": number, "current": {**told[-1], **big}, "prev": told[:-1]})
    why = things(server, database).why
    assert "above theirs in all 29 documents that have any" in why


def test_a_flag_on_the_newest_of_long_histories_is_seen(server: Server, database: Db) -> None:
    database["things"].create_index([("docId", 1), ("v", 1)], unique=True)
    for id, most in (("A", 1500), ("B", 360), ("C", 200)):
        rows = [{"docId": id, "v": v, "name": id, "n": v // 3} for v in range(1, most + 1)]
        rows[-1]["current"] = True
        database["things"].insert_many(rows)
    info = things(server, database)
    assert (info.layout, info.fields.get("current")) == ("flagged", "current"), info.why


def test_a_short_history_among_long_ones_is_looked_at(server: Server, database: Db) -> None:
    for number in range(1, 10):
        rows = [{"docId": f"K-{number}", "v": v, "name": f"Name {number}", "n": v // 3} for v in range(1, 301)]
        database["things"].insert_many(rows)
        if number == 5:
            database["things"].insert_many([{"docId": "short", "v": 4, "name": "short", "n": n} for n in range(3)])
    info = things(server, database)
    assert info.layout == "plain"
    assert "short has v 4 in all of its 3 rows" in info.why


@pytest.mark.parametrize("where", support.some(["oldest", "between", "newest"], "between"))
def test_a_long_history_that_goes_wrong_somewhere_is_seen_there(server: Server, database: Db, where: str) -> None:
    began, ended = {"oldest": (0, 12), "between": (470, 530), "newest": (960, 1000)}[where]
    for number in range(1, 4):
        rows = [{"docId": number, "v": v, "name": f"Name {number}", "n": v // 3} for v in range(1, 1001)]
        if number == 2:
            rows[began:ended] = rows[began:ended][::-1]
        database["things"].insert_many(rows)
    info = things(server, database)
    assert info.layout == "plain"
    assert "2 has a v that falls as time goes on" in info.why


@pytest.mark.parametrize("index", [True, False], ids=["with its index", "without an index"])
@pytest.mark.parametrize("lost", [1, 4, 8, 11])
def test_a_history_that_lacks_some_documents_is_not_passed_over(
    lost: int, index: bool, server: Server, database: Db
) -> None:
    things, past = database["things"], database["things_history"]
    if index:
        past.create_index([("docId", 1), ("v", 1)], unique=True)
    for number in range(12):
        states = [{"price": 100 * number + v, "city": "Kiel", "v": v} for v in range(1, 5)]
        things.insert_one({"_id": f"K-{number}", **states[-1]})
        if number >= lost:
            past.insert_many([{"docId": f"K-{number}", **each} for each in states[:-1]])
    (found,) = known(server, database.name)["things"][:1]
    assert found.layout == "archive"
    assert (found.confidence >= verdict.SURE) == (lost == 1), found.why
    assert lost == 1 or f"only {12 - lost} of 12 documents" in found.why


@pytest.mark.parametrize("documents", [2, 3])
def test_one_damaged_document_among_a_few_does_not_hide_the_history_of_the_others(
    documents: int, server: Server, database: Db
) -> None:
    things, past = database["things"], database["things_history"]
    past.create_index([("docId", 1), ("v", 1)], unique=True)
    for number in range(documents):
        states = [{"price": 100 * number + v, "city": "Kiel", "v": v} for v in range(1, 5)]
        things.insert_one({"_id": f"K-{number}", **states[-1]})
        past.insert_many([{"docId": f"K-{number}", **each} for each in states[: -1 if number else -2]])
    (found,) = known(server, database.name)["things"][:1]
    assert (found.layout, found.confidence >= verdict.SURE) == ("archive", True), found.why
