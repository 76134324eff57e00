"""The published ways of versioning and counting, written by plain PyMongo, take turns with the product.

Each program here follows its recipe and knows nothing of the product; the product gets no profile. They write the
same documents in turn, and each must find what the other one wrote.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import bson
import pymongo
import pymongo.database
import pytest
from bson import ObjectId
from pymongo.errors import DuplicateKeyError

from model.foundation.findings import Finding
from model.foundation.records import Outcome
from model.session import Session
from model.values.canonical import Value

Db = pymongo.database.Database
Doc = dict[str, Any]
pytestmark = pytest.mark.second_server
DAY = "2016-06-28"


class Late(Exception):
    """Somebody else was faster, so this program has to read again."""


@dataclass(frozen=True)
class Recipe:
    """A way of keeping versions: how it begins, how it reads, and how it saves what it has read and changed."""

    layout: str
    where: str
    key: str
    begin: Callable[[Db], object]
    read: Callable[[Db, Any], Doc]
    save: Callable[[Db, Any, Doc, int], object]
    """Saves a document that was read with ``price`` set to another value; raises :class:`Late`."""
    keeps: bool = True  # earlier versions


# --- a document for every version


def begin_versions(db: Db) -> None:
    db["goods"].create_index([("docId", 1), ("v", 1)], unique=True)
    db["goods"].insert_many([{"docId": n, "v": v, "price": n + v, "name": f"N{n}"} for n in range(4) for v in (1, 2)])


def newest(db: Db, id: Any) -> Doc:
    return next(db["goods"].find({"docId": id}).sort("v", -1).limit(-1))


def save_version(db: Db, id: Any, read: Doc, price: int) -> None:
    made = {name: value for name, value in read.items() if name != "_id"}
    try:
        db["goods"].insert_one(made | {"v": read["v"] + 1, "price": price})
    except DuplicateKeyError:
        raise Late from None


# --- the same, where the newest carries a flag


def begin_flagged(db: Db) -> None:
    begin_versions(db)
    db["goods"].update_many({"v": 2}, {"$set": {"current": True}})


def flagged(db: Db, id: Any) -> Doc:
    (found,) = db["goods"].find({"docId": id, "current": True})
    return dict(found)


def save_flagged(db: Db, id: Any, read: Doc, price: int) -> None:
    save_version(db, id, read, price)
    db["goods"].update_one({"_id": read["_id"]}, {"$unset": {"current": 1}})


# --- all versions in one document


def begin_embedded(db: Db) -> None:
    for n in range(4):
        db["goods"].insert_one({"_id": n, "current": {"v": 2, "price": n}, "prev": [{"v": 1, "price": n - 1}]})


def embedded(db: Db, id: Any) -> Doc:
    found = db["goods"].find_one({"_id": id})
    assert found is not None
    return found["current"] | {"whole": found}


def save_embedded(db: Db, id: Any, read: Doc, price: int) -> None:
    whole = dict(read["whole"])
    before = whole["current"]
    whole["prev"] = [*whole["prev"], before]
    whole["current"] = {"v": before["v"] + 1, "price": price}
    if db["goods"].update_one({"_id": id, "current.v": before["v"]}, {"$set": whole}).modified_count != 1:
        raise Late


# --- earlier versions in a second collection


def begin_archive(db: Db) -> None:
    db["goods_before"].create_index([("docId", 1), ("v", 1)], unique=True)
    for n in range(5):
        db["goods"].insert_one({"docId": n, "v": 2, "price": n})
        db["goods_before"].insert_one({"docId": n, "v": 1, "price": n - 1})


def current(db: Db, id: Any) -> Doc:
    found = db["goods"].find_one({"docId": id})
    assert found is not None
    return dict(found)


def save_archive(db: Db, id: Any, read: Doc, price: int) -> None:
    past = {name: value for name, value in read.items() if name != "_id"}
    try:
        db["goods_before"].insert_one(past)
    except DuplicateKeyError:
        raise Late from None
    changes = {"v": read["v"] + 1, "price": price}
    if db["goods"].update_one({"_id": read["_id"], "v": read["v"]}, {"$set": changes}).modified_count != 1:
        raise Late


# --- only what changed


def begin_deltas(db: Db) -> None:
    db["goods"].create_index([("docId", 1), ("v", 1)], unique=True)
    for n in range(4):
        base = {"docId": n, "v": 1, "name": f"N{n}", "price": n, "size": 7}
        db["goods"].insert_many([base, {"docId": n, "v": 2, "price": n + 1}, {"docId": n, "v": 3, "size": n}])


def merged(db: Db, id: Any) -> Doc:
    state: Doc = {}
    for each in db["goods"].find({"docId": id}).sort("v", 1):
        state |= each
    return state


def save_delta(db: Db, id: Any, read: Doc, price: int) -> None:
    try:
        db["goods"].insert_one({"docId": id, "v": read["v"] + 1, "price": price})
    except DuplicateKeyError:
        raise Late from None


# --- the version is a hash of the content


def digest(doc: Doc) -> str:
    content = {name: value for name, value in doc.items() if name not in ("_id", "_versioned_id")}
    return hashlib.sha1(bson.encode(content)).hexdigest()


def begin_hashed(db: Db) -> None:
    for n in range(6):
        made = {"name": f"N{n}", "count": n, "price": n}
        hashed = digest(made)
        key = {"_id": n if n == 1 else hashed, "_versioned_id": hashed}
        db["goods"].find_one_and_update(key, {"$set": made}, upsert=True)


def save_hashed(db: Db, id: Any, read: Doc, price: int) -> None:
    made = {name: value for name, value in read.items() if name != "_id"} | {"price": price}
    made["_versioned_id"] = digest(made)
    if db["goods"].find_one_and_update({"_versioned_id": read["_versioned_id"]}, {"$set": made}) is None:
        raise Late


def by_id(db: Db, id: Any) -> Doc:
    found = db["goods"].find_one({"_id": id})
    assert found is not None
    return dict(found)


RECIPES = {
    "a document for every version": Recipe("versions", "goods", "docId", begin_versions, newest, save_version),
    "with a flag on the newest": Recipe("flagged", "goods", "docId", begin_flagged, flagged, save_flagged),
    "all in one document": Recipe("embedded", "goods", "_id", begin_embedded, embedded, save_embedded),
    "a second collection": Recipe("archive", "goods", "docId", begin_archive, current, save_archive),
    "only what changed": Recipe("deltas", "goods", "docId", begin_deltas, merged, save_delta),
    "a hash of the content": Recipe("hashed", "goods", "_id", begin_hashed, by_id, save_hashed, keeps=False),
}


@pytest.fixture(params=list(RECIPES))
def recipe(request: pytest.FixtureRequest, database: Db) -> Recipe:
    found = RECIPES[request.param]
    found.begin(database)
    return found


def edit(uri: str, database: Db, recipe: Recipe, price: int, base: object = None) -> Outcome:
    with Session.open(uri) as session:
        return session.edit(f"{database.name}.{recipe.where}", Value.of(1), {"price": price}, base=base)


def test_what_the_recipe_writes_is_recognised(server_uri: str, database: Db, recipe: Recipe) -> None:
    with Session.open(server_uri) as session:
        info = session.catalogue.info(f"{database.name}.{recipe.where}")
    assert (info.layout, info.fields["id"]) == (recipe.layout, recipe.key)
    assert info.confidence >= 0.8


@pytest.mark.deep
@pytest.mark.slice
def test_each_program_goes_on_from_what_the_other_one_wrote(server_uri: str, database: Db, recipe: Recipe) -> None:
    ns = f"{database.name}.{recipe.where}"
    for turn in range(1, 4):
        recipe.save(database, 1, recipe.read(database, 1), 100 * turn)
        with Session.open(server_uri) as session:
            version = session.history.version(ns, Value.of(1))
            assert version.content is not None
            assert bson.decode(version.content)["price"] == 100 * turn
        outcome = edit(server_uri, database, recipe, 100 * turn + 50)
        assert outcome.kind == "applied", outcome.detail
        assert recipe.read(database, 1)["price"] == 100 * turn + 50
    with Session.open(server_uri) as session:
        assert session.catalogue.info(ns).layout == recipe.layout
        history = list(session.history.versions(ns, Value.of(1), changed=False))
        found = [each for each in session.scans.scan([database.name]) if isinstance(each, Finding)]
        assert not [each for each in found if each.doubt or each.detail != "hash differs in field order only"]
        if not recipe.keeps:
            return
        prices = [
            bson.decode(session.history.version(ns, Value.of(1), each.v).content or b"")["price"] for each in history
        ]
    assert prices[:6] == [350, 300, 250, 200, 150, 100]
    assert {each.state for each in history} == {"present"}
    assert [each.v and each.v.python() for each in history] == list(range(len(history), 0, -1))


def test_a_program_that_read_before_an_edit_is_late(server_uri: str, database: Db, recipe: Recipe) -> None:
    before = recipe.read(database, 1)
    assert edit(server_uri, database, recipe, 300).kind == "applied"
    with pytest.raises(Late):
        recipe.save(database, 1, before, 999)
    assert recipe.read(database, 1)["price"] == 300


def test_an_edit_that_began_before_another_program_wrote_is_a_conflict(
    server_uri: str, database: Db, recipe: Recipe
) -> None:
    with Session.open(server_uri) as session:
        base = session.history.version(f"{database.name}.{recipe.where}", Value.of(1)).v
    recipe.save(database, 1, recipe.read(database, 1), 300)
    assert edit(server_uri, database, recipe, 999, base=base).kind == "conflict"
    assert recipe.read(database, 1)["price"] == 300


# --- numbers handed out


def next_number(db: Db, name: str, create: bool = False) -> Any:
    after = pymongo.ReturnDocument.AFTER
    found = db["counters"].find_one_and_update(
        {"_id": name}, {"$inc": {"seq": 1}}, return_document=after, upsert=create
    )
    return found["seq"]


@pytest.mark.parametrize("zero", [0, 0.0], ids=["whole", "as the shell writes it"])
def test_no_number_of_a_counter_goes_to_two(server_uri: str, database: Db, zero: float) -> None:
    database["counters"].insert_one({"_id": "userid", "seq": zero})
    given = []
    with Session.open(server_uri) as session:
        for _ in range(3):
            given.append(next_number(database, "userid"))
            number = session.once.next(f"{database.name}.counters", "userid").value
            given.append(number and number.python())
            given.append(next_number(database, "userid", create=True))
    assert given == list(range(1, 10))


def insert_next(db: Db, doc: Doc) -> None:
    while True:
        highest = next(db["users"].find({}, {"_id": 1}).sort("_id", -1).limit(1), {"_id": 0})
        try:
            db["users"].insert_one({"_id": highest["_id"] + 1, **doc})
            return
        except DuplicateKeyError:
            continue


def test_two_loops_over_the_highest_number_take_turns(server_uri: str, database: Db) -> None:
    for turn in range(3):
        insert_next(database, {"name": f"theirs {turn}"})
        with Session.open(server_uri) as session:
            assert session.once.insert_next(f"{database.name}.users", {"name": f"ours {turn}"}).kind == "applied"
    assert [(doc["_id"], doc["name"].split()[0]) for doc in database["users"].find().sort("_id", 1)] == [
        (n, "ours" if n % 2 == 0 else "theirs") for n in range(1, 7)
    ]


# --- counted once


def process(db: Db, id: int, entry: str) -> None:
    guard = {"id": id, "processedHistory": {"$nin": [entry]}}
    db["teams"].update_one(guard, {"$inc": {"wins": 1}, "$addToSet": {"processedHistory": entry}})


def test_an_entry_counts_once_whoever_deals_with_it(server_uri: str, database: Db) -> None:
    database["teams"].insert_many([{"id": n, "wins": 0, "processedHistory": [f"cup-{n}"]} for n in range(4)])
    ns = f"{database.name}.teams"
    for year in range(2000, 2004):
        process(database, 2, f"theirs-{year}")
        with Session.open(server_uri) as session:
            assert session.catalogue.info(ns).layout == "processed"
            assert session.once.process(ns, 2, f"theirs-{year}", field="wins").kind == "skipped"
            assert session.once.process(ns, 2, f"ours-{year}", field="wins").kind == "applied"
        process(database, 2, f"ours-{year}")
    team = database["teams"].find_one({"id": 2})
    assert team is not None
    assert (team["wins"], len(team["processedHistory"])) == (8, 9)


# --- counted in two steps


def note(db: Db, token: ObjectId) -> None:
    db["events"].update_one({"_id": DAY}, {"$addToSet": {"pending": token}}, upsert=True)


def settle(db: Db, token: ObjectId) -> None:
    guard = {"_id": DAY, "pending": token}
    db["events"].update_one(guard, {"$pull": {"pending": token}, "$inc": {"counter": 1}})


def clean_up(db: Db) -> None:
    total = {"$add": ["$counter", {"$size": "$pending"}]}
    for each in db["events"].aggregate(
        [{"$match": {"pending.0": {"$exists": True}}}, {"$project": {"counter": total}}]
    ):
        db["events"].update_one({"_id": each["_id"]}, {"$set": {"counter": each["counter"]}, "$unset": {"pending": 1}})


@pytest.mark.deep
@pytest.mark.slice
def test_events_are_counted_once_by_either_program_and_either_cleanup(server_uri: str, database: Db) -> None:
    ns, old = f"{database.name}.events", iter(ObjectId(f"5772a0c0{n:016x}") for n in range(9))
    for _ in range(2):
        token = next(old)
        note(database, token)
        settle(database, token)
    left, late = next(old), next(old)
    note(database, left)
    note(database, late)
    with Session.open(server_uri) as session:
        assert session.catalogue.info(ns).layout == "pending"
        assert session.once.count(ns, DAY, "order-7").kind == "applied"
        assert [each.kind for each in session.tokens.finish(list(session.tokens.pending(ns)))] == ["applied", "applied"]
    settle(database, late)  # by a writer that was thought dead: its token is gone, so nothing happens
    assert database["events"].find_one({"_id": DAY}, {"counter": 1}) == {"_id": DAY, "counter": 5}
    note(database, next(old))
    clean_up(database)
    assert database["events"].find_one({"_id": DAY}, {"counter": 1, "pending": 1}) == {"_id": DAY, "counter": 6}
    token = next(old)
    note(database, token)
    with Session.open(server_uri) as session:
        assert session.once.count(ns, DAY, "order-7").kind == "skipped"
        assert session.once.count(ns, DAY, "order-8").kind == "applied"
        mine = [each for each in session.tokens.pending() if each.ns == ns]  # the server is not this test's alone
        assert [each.kind for each in session.tokens.finish(mine)] == ["applied"]
    assert database["events"].find_one({"_id": DAY}, {"counter": 1, "pending": 1}) == {
        "_id": DAY,
        "counter": 8,
        "pending": [],
    }


# --- composed by several writers


def test_fields_that_several_writers_set_stay_as_each_has_set_them(server_uri: str, database: Db) -> None:
    ns, matches = f"{database.name}.matches", database["matches"]
    for turn in range(3):
        home = {"$set": {"id": 7, "teams.home.roster": [turn]}}
        matches.update_one({"id": 7}, home, upsert=True)
        id = Value.of(by_key(database)["_id"])
        with Session.open(server_uri) as session:
            assert session.edit(ns, id, {"status": f"s{turn}", "teams.away": {"score": turn}}).kind == "applied"
        matches.update_one({"id": 7}, home, upsert=True)
        found = by_key(database)
        assert (found["status"], found["teams"]) == (f"s{turn}", {"home": {"roster": [turn]}, "away": {"score": turn}})
    assert matches.count_documents({}) == 1


def by_key(db: Db) -> Doc:
    found = db["matches"].find_one({"id": 7})
    assert found is not None
    return dict(found)
