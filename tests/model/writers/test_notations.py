"""Histories in another notation than their documents': dates and ids as text, one kind of number, drawn commit ids."""

from __future__ import annotations

import datetime as dt
import random
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import pymongo.database
from bson import Binary, Decimal128, Int64, ObjectId

from model.catalogue.recognise import recognise
from model.layouts.registry import bind
from model.server.retry import Server
from model.storage.newest_query import PageQuery
from model.values.canonical import Value
from tests import support
from tests.model.layouts.layout_support import doc

Db = pymongo.database.Database[dict[str, Any]]
DAY = dt.datetime(2024, 1, 17, 8, 30, tzinfo=dt.UTC)
UNLIKE = "differs from its newest row"


def committed(number: int) -> str:
    return f"2026-01-01T10:{number // 60:02d}:{number % 60:02d}.000001Z"


def stored(
    database: Db,
    ids: list[tuple[object, object]],
    fields: Callable[[int], Mapping[str, tuple[object, object]]],
    name: str = "Item",
    id_name: str = "id",
    order: Callable[[int], object] = lambda n: Decimal128(f"{n}.00"),
) -> list[list[bytes]]:
    """Five states of each document, as JaVers commits them; returns the true states, oldest first.

    An id and the value of a field are a pair: as the document has it, and as the rows have it.
    """
    told: list[list[bytes]] = [[] for _ in ids]
    commit = 0
    for n in range(1, 6):
        for at, (id, written) in enumerate(ids):
            commit += 1
            pairs = {"title": (f"t{at}-{n}", f"t{at}-{n}"), "qty": (n, n), **fields(n)}
            told[at].append(doc(**{name: here for name, (here, _) in pairs.items()}))
            instant = committed(commit)
            row = {
                "commitMetadata": {
                    "author": "ann",
                    "properties": [],
                    "commitDate": instant[:-1],
                    "commitDateInstant": instant,
                    "id": order(commit),
                },
                "globalId": {"entity": name, "cdoId": written},
                "state": {id_name: written, **{name: there for name, (_, there) in pairs.items()}},
                "changedProperties": ["title"],
                "type": "INITIAL" if n == 1 else "UPDATE",
                "version": Int64(n),
                "globalId_key": f"{name}/{written}",
            }
            database["jv_snapshots"].insert_one(row)
            if n == 5:
                database["items"].insert_one({"_id": id, **{name: here for name, (here, _) in pairs.items()}})
    return told


def plainly(count: int) -> list[tuple[object, object]]:
    return [(f"K-{n}", f"K-{n}") for n in range(count)]


def check(server: Server, database: Db, at: list[tuple[object, object]], told: list[list[bytes]]) -> None:
    """JaVers is recognised, every state is the true one, and nothing is found."""
    found = {info.ns.partition(".")[2]: (info, profile) for info, profile in recognise(server, database.name)}
    info, profile = found["items"]
    assert (info.writer, info.doubt) == ("JaVers", "")
    layout = bind(server, profile)
    for (id, written), states in zip(at, told, strict=True):
        versions = list(layout.history(Value.of(id), contents=True))
        assert [each.content for each in reversed(versions)] == states
        assert [each.current for each in versions] == [True] + [False] * 4
        assert [other for other in {id, written} if layout.exists(Value.of(other))] == [id]
    assert [row.id for row in layout.page(PageQuery(deleted=True))] == sorted(
        (Value.of(id) for id, _ in at), key=lambda id: id.data
    )
    assert not list(layout.findings())


def moved(n: int) -> dt.datetime:
    return DAY + dt.timedelta(days=n)


NOTATIONS: dict[str, Callable[[int], Mapping[str, tuple[object, object]]]] = {
    "a date without a zone": lambda n: {"due": (moved(n), f"{moved(n):%Y-%m-%dT%H:%M:%S}")},
    "a date with a zone": lambda n: {"due": (moved(n), f"{moved(n) + dt.timedelta(hours=1):%Y-%m-%dT%H:%M:%S}+01:00")},
    "a date as milliseconds": lambda n: {"due": (moved(n), Int64(moved(n).timestamp() * 1000))},
    "a Decimal beside a number": lambda n: {"price": (Decimal128(f"{n}.5"), n + 0.5)},
    "a Decimal beside a text": lambda n: {"price": (Decimal128(f"{n}.50"), f"{n}.50")},
    "a long number": lambda n: {"stock": (Int64(n), n)},
    "a number that the program writes as a double": lambda n: {"rate": (float(n), n)},
    "a UUID": lambda n: {"ref": (Binary(uuid.UUID(int=n).bytes, 4), str(uuid.UUID(int=n)))},
    "an ObjectId": lambda n: {"ref": (ObjectId(f"{n:024x}"), f"{n:024x}")},
    "arrays and documents": lambda n: {
        "lines": (
            [{"due": moved(n), "n": Int64(n)}, {"due": moved(9), "n": Int64(9)}],
            [{"due": f"{moved(n):%Y-%m-%dT%H:%M:%S}", "n": n}, {"due": f"{moved(9):%Y-%m-%dT%H:%M:%S}", "n": 9}],
        )
    },
}


@support.table("notation", list(NOTATIONS), ids=list(NOTATIONS))
def test_each_value_is_shown_as_the_document_has_it(notation: str, server: Server, database: Db) -> None:
    for name in database.list_collection_names():
        database.drop_collection(name)
    told = stored(database, plainly(6), NOTATIONS[notation])
    check(server, database, plainly(6), told)


IDS: dict[str, list[tuple[object, object]]] = {
    "an ObjectId as its digits": [(ObjectId(f"{n + 1:024x}"), f"{n + 1:024x}") for n in range(6)],
    "a UUID as its text": [(Binary(uuid.UUID(int=n + 1).bytes, 4), str(uuid.UUID(int=n + 1))) for n in range(6)],
    "a long number": [(Int64(n), n) for n in range(1, 7)],
}


@support.table("kind", list(IDS), ids=list(IDS))
def test_a_document_is_found_by_its_id_in_the_notation_of_rows(kind: str, server: Server, database: Db) -> None:
    for name in database.list_collection_names():
        database.drop_collection(name)
    told = stored(database, IDS[kind], lambda n: {})
    check(server, database, IDS[kind], told)


def test_an_id_under_the_name_that_the_program_gives_it_is_no_content(server: Server, database: Db) -> None:
    told = stored(database, plainly(6), lambda n: {}, name="com.shop.Item", id_name="itemId")
    check(server, database, plainly(6), told)


def test_commits_whose_ids_are_drawn_are_in_the_order_of_their_times(server: Server, database: Db) -> None:
    dice = random.Random(7)
    told = stored(database, plainly(6), lambda n: {}, order=lambda n: Decimal128(str(dice.randrange(10**15))))
    check(server, database, plainly(6), told)


def test_a_document_that_differs_in_meaning_is_told_once_and_still_has_its_history(
    server: Server, database: Db
) -> None:
    stored(database, plainly(6), lambda n: {})
    for n in range(6):
        database["items"].update_one({"_id": f"K-{n}"}, {"$set": {"qty": 99}})
    found = {info.ns.partition(".")[2]: (info, profile) for info, profile in recognise(server, database.name)}
    info, profile = found["items"]
    assert (info.writer, profile.edit) == ("JaVers", "no")
    assert UNLIKE in info.why
    versions = list(bind(server, profile).history(Value.of("K-1")))
    assert [each.detail for each in versions] == [UNLIKE, "", "", "", ""]
    assert bind(server, profile).version(Value.of("K-1"), Value.of(4)).content == doc(title="t1-4", qty=4)
