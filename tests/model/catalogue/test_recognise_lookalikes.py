"""Collections that look a little like a layout or pattern, but are not."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from bson import Decimal128, ObjectId

from model.server.retry import Server
from tests.model.catalogue import recognition_scenes as ground
from tests.model.catalogue.recognition_scenes import SEEDS, Db, known

Make = Callable[[random.Random], Iterator[dict[str, Any]]]
DAY = dt.datetime(2024, 5, 1)


def oids(dice: random.Random, most: int) -> list[ObjectId]:
    return [ObjectId(dice.randbytes(12)) for _ in range(dice.randint(0, most))]


def mongoose(dice: random.Random) -> Iterator[dict[str, Any]]:
    for n in range(40):
        yield {"email": f"{n}@example.com", "__v": dice.randint(0, 5), "createdAt": DAY, "updatedAt": DAY}


def software(dice: random.Random) -> Iterator[dict[str, Any]]:
    for n in range(40):
        yield {"name": f"app {n % 9}", "version": f"1.{n}.0", "size": n}


def one_schema_version(dice: random.Random) -> Iterator[dict[str, Any]]:
    for n in range(40):
        yield {"customerId": n % 9, "version": 2, "total": n}


def schema_versions(dice: random.Random) -> Iterator[dict[str, Any]]:
    for n in range(60):
        yield {"customerId": dice.randint(1, 15), "schemaVersion": dice.randint(1, 3), "total": n}


def locked_optimistically(dice: random.Random) -> Iterator[dict[str, Any]]:
    for _ in range(120):
        yield {"customerId": dice.randint(1, 40), "v": dice.randint(1, 6), "total": dice.randint(5, 90), "city": "Kiel"}


def voltages(dice: random.Random) -> Iterator[dict[str, Any]]:
    for n in range(120):
        yield {"sensor": f"s{n % 6}", "v": dice.randint(210, 240), "at": DAY + dt.timedelta(hours=n)}


def readings(dice: random.Random) -> Iterator[dict[str, Any]]:
    for n in range(120):
        yield {"sensor": f"s{n % 6}", "ts": DAY + dt.timedelta(hours=n), "unit": "V", "value": dice.random()}


def lines(dice: random.Random) -> Iterator[dict[str, Any]]:
    for n in range(90):
        product = f"p{dice.randint(1, 500)}"
        yield {"orderId": n // 3, "line": 1 + n % 3, "product": product, "pieces": dice.randint(1, 99), "cents": n * 37}


def people(dice: random.Random) -> Iterator[dict[str, Any]]:
    for n in range(40):
        yield {"name": f"Name {n}", "age": n, "languages": ["de", "en"][: n % 3], "children": n % 4}


def teams(dice: random.Random) -> Iterator[dict[str, Any]]:
    staff = oids(dice, 5) + [ObjectId() for _ in range(5)]
    for n in range(30):
        yield {"name": f"team {n}", "members": dice.sample(staff, 3), "count": 3}


def boards(dice: random.Random) -> Iterator[dict[str, Any]]:
    for n in range(30):
        yield {"name": f"board {n}", "open": oids(dice, 3), "done": oids(dice, 9), "count": n}


def settings(dice: random.Random) -> Iterator[dict[str, Any]]:
    for name in ("width", "height", "zoom"):
        yield {"_id": name, "value": dice.randint(1, 900)}


def populations(dice: random.Random) -> Iterator[dict[str, Any]]:
    for name in ("DE", "FR", "DK"):
        yield {"_id": name, "population": dice.randint(1, 90)}


def files(dice: random.Random) -> Iterator[dict[str, Any]]:
    for n in range(30):
        yield {"path": f"/f{n}", "sha1": dice.randbytes(20).hex(), "bytes": n}


def blobs(dice: random.Random) -> Iterator[dict[str, Any]]:
    for n in range(30):
        digest = dice.randbytes(20).hex()
        yield {"_id": digest, "sha1": digest, "bytes": n, "type": "image/png"}


def addresses(dice: random.Random) -> Iterator[dict[str, Any]]:
    for n in range(30):
        old = [{"street": f"Old {m}", "number": m} for m in range(n % 3)]
        yield {"address": {"street": f"New {n}", "number": dice.randint(1, 90)}, "previous": old}


def weather(dice: random.Random) -> Iterator[dict[str, Any]]:
    for _ in range(30):
        past = [{"temperature": dice.randint(1, 20), "wind": 3} for _ in range(3)]
        yield {"current": {"temperature": dice.randint(1, 20), "wind": 2}, "history": past}


def mixed(dice: random.Random) -> Iterator[dict[str, Any]]:
    for n in range(40):
        kinds: list[dict[str, Any]] = [{"kind": "a", "x": n}, {"kind": "b", "list": [n]}, {"kind": 3, "v": "n"}, {}]
        yield kinds[n % 4]


LOOK_ALIKES: dict[str, Make] = {
    each.__name__: each
    for each in (
        mongoose, software, one_schema_version, schema_versions, locked_optimistically, voltages, readings, lines,
        people, teams, boards, settings, populations, files, blobs, addresses, weather, mixed,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_what_only_looks_like_a_layout_is_plain(server: Server, database: Db, name: str) -> None:
    database[name].insert_many(list(LOOK_ALIKES[name](random.Random(7))))
    info, profile = known(server, database.name)[name]
    assert info.layout == "plain", info.why
    assert (profile.id, profile.at) == ("_id", "")


@pytest.mark.parametrize("seed", range(12))
def test_a_lock_counter_beside_a_customer_is_no_version(database: Db, seed: int, server: Server) -> None:
    database["orders"].insert_many(list(locked_optimistically(random.Random(seed))))
    assert known(server, database.name)["orders"][0].layout == "plain"


def test_lines_of_an_order_are_named_as_the_other_thing_they_could_be(server: Server, database: Db) -> None:
    database["lines"].create_index([("orderId", 1), ("line", 1)], unique=True)
    database["lines"].insert_many(list(lines(random.Random(1))))
    info, _ = known(server, database.name)["lines"]
    assert (info.layout, info.alternatives) == ("plain", ("versions",))
    assert "orderId and line" in info.why
    assert info.confidence < 0.8


def test_a_lock_counter_alone_is_plain_and_says_so(server: Server, database: Db) -> None:
    database["orders"].insert_many([{"_id": n, "v": n % 7, "total": Decimal128("1.20")} for n in range(40)])
    info, _ = known(server, database.name)["orders"]
    assert info.layout == "plain"
    assert "v looks like a version, but no earlier versions were found" in info.why


def test_what_belongs_to_a_document_is_not_its_past(server: Server, database: Db) -> None:
    ground.archive(database, SEEDS)
    database["contracts_history"].drop()
    payments = database["payments"]
    payments.create_index([("contract", 1)])
    payments.insert_many([{"contract": f"K-{n}", "v": 1, "cents": 100 * n, "paid": DAY} for n in range(1, 25)])
    found = {name: info.layout for name, (info, _) in known(server, database.name).items()}
    assert found == {"contracts": "plain", "payments": "plain"}


def test_a_log_named_history_that_holds_other_things_is_no_archive(server: Server, database: Db) -> None:
    ground.archive(database, SEEDS)
    database["contracts_history"].drop()
    rows = [{"contract": f"K-{n}", "action": "read", "when": DAY} for n in range(1, 25)]
    database["contracts_history"].insert_many(rows)
    found = known(server, database.name)
    assert {name: info.layout for name, (info, _) in found.items()} == {
        "contracts": "plain",
        "contracts_history": "plain",
    }


def test_versions_of_other_things_under_the_same_ids_are_not_a_documents_past(server: Server, database: Db) -> None:
    for n in range(1, 25):
        database["carts"].insert_one({"_id": n, "v": 3, "title": f"cart {n}", "total": n, "place": "shop"})
        for v in range(1, 4):
            database["parts"].insert_one({"docId": n, "v": v, "title": f"part {n}", "total": 100 + v, "place": "wall"})
    found = {name: info.layout for name, (info, _) in known(server, database.name).items()}
    assert found == {"carts": "plain", "parts": "versions"}


@pytest.mark.parametrize("unlike", ["other content", "deltas"])
def test_of_several_collections_that_hold_the_versions_the_one_with_the_content_is_the_archive(
    server: Server, database: Db, unlike: str
) -> None:
    for n in range(1, 25):
        told = [{"title": f"cart {n}", "place": "shop", "total": v * n} for v in range(1, 4)]
        database["carts"].insert_one({"_id": n, "v": 3, **told[2]})
        for v in range(1, 4):
            other = {"title": f"part {n}", "place": "shop", "total": 0} if unlike == "other content" else None
            database["a_claims"].insert_one({"docId": n, "v": v, **(other or ({} if v > 1 else told[0]))})
            if not other and v > 1:
                database["a_claims"].update_one({"docId": n, "v": v}, {"$set": {"total": v * n}})
        database["trail"].insert_many([{"docId": n, "v": v, **told[v - 1]} for v in (1, 2)])
    found = known(server, database.name)
    assert (found["carts"][0].layout, found["carts"][1].archive) == ("archive", f"{database.name}.trail")
    assert found["a_claims"][0].layout == ("versions" if unlike == "other content" else "deltas")


def test_a_status_that_only_the_last_version_tends_to_have_is_no_flag(server: Server, database: Db) -> None:
    for number, most in ground.story():
        for v in range(1, most + 1):
            ended = v == most and number % 4 > 0
            made = {"docId": number, "v": v, "ended": ended, **ground.content(number, v)}
            database["claims"].insert_one(made)
    info, _ = known(server, database.name)["claims"]
    assert info.layout == "versions"


def test_versions_that_gain_fields_are_no_deltas(server: Server, database: Db) -> None:
    for number, most in ground.story():
        for v in range(1, most + 1):
            grown = {f"step{n}": f"done {n}" for n in range(v)}
            database["claims"].insert_one({"docId": number, "v": v, **grown, "holder": number})
    info, _ = known(server, database.name)["claims"]
    assert (info.layout, info.alternatives) == ("versions", ())


def test_rows_that_name_documents_by_small_integers_alone_are_no_history_of_them(server: Server, database: Db) -> None:
    database["items"].insert_many([{"_id": n, "name": f"n{n}", "price": n * 7 % 100} for n in range(60)])
    sold = [{"line": n * 13 % 60, "item": {"name": f"x{n}", "price": n * 31 % 100}, "at": hour(n)} for n in range(200)]
    database["orders"].insert_many(sold)
    both = [
        {"_id": n, "current": {"name": f"n{n}", "price": 3, "v": 2}, "prev": [{"name": f"n{n}", "price": 2, "v": 1}]}
        for n in range(40)
    ]
    database["seeds"].insert_many(both)
    found = known(server, database.name)
    assert {name: found[name][0].layout for name in found} == {"items": "plain", "orders": "plain", "seeds": "embedded"}


def hour(n: int) -> dt.datetime:
    """A time, some hours later for a larger number."""
    return dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=n)
