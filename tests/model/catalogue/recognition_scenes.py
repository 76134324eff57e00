"""The data for tests of recognition: one story told in each layout, under two sets of names."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import bson
import pymongo.database
from bson import ObjectId

from model.catalogue.recognise import recognise
from model.foundation.records import CollectionInfo
from model.profile import CollectionProfile, Profile
from model.server.retry import Server

Db = pymongo.database.Database[dict[str, Any]]
Document = dict[str, Any]
BEGAN = dt.datetime(2024, 3, 1, 9, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Names:
    """The names that one team gives to what every layout needs."""

    id: str = "docId"
    version: str = "v"
    token: str = "_w"
    current: str = "current"
    prev: str = "prev"
    flag: str = "current"
    hash: str = "_versioned_id"
    at: str = "changedAt"
    author: str = "changedBy"
    things: str = "contracts"
    past: str = "contracts_history"
    counters: str = "counters"
    counter: str = "seq"
    pending: str = "pending"
    applied: str = "applied"
    count: str = "count"
    processed: str = "processed"


SEEDS = Names()
OTHERS = Names(
    id="entity",
    version="revision",
    token="opId",
    current="head",
    prev="past",
    flag="isLatest",
    hash="digest",
    at="modified",
    author="editor",
    things="policies",
    past="archive.policies",
    counters="sequences",
    counter="next",
    pending="inFlight",
    applied="settled",
    count="hits",
    processed="seenEvents",
)
NAMES = {"seeds": SEEDS, "others": OTHERS}


def when(number: int, v: int) -> dt.datetime:
    """When a version was made."""
    return BEGAN + dt.timedelta(days=3 * number + v, seconds=17 * v)


def token(number: int, v: int, line: int = 0) -> ObjectId:
    """A write token of that time."""
    seconds = int(when(number, v).timestamp())
    return ObjectId(seconds.to_bytes(4, "big") + bytes((line, 1, 2, 3, 4)) + (number * 100 + v).to_bytes(3, "big"))


def content(number: int, v: int) -> Document:
    """What people put into one version: some fields change, most stay."""
    return {
        "status": ("offer", "active", "ended")[v % 3],
        "premium": {"net": 400 + number, "gross": 476 + number},
        "holder": f"Person {number}",
        "tags": ["household"],
        "notes": f"note {v // 2}",
        "open": v % 2 == 0,
    }


def stamped(names: Names, number: int, v: int) -> Document:
    """Version, token, time and author."""
    return {
        names.version: v,
        names.token: token(number, v),
        names.at: when(number, v),
        names.author: ("Marta", "Jonas")[v % 2],
    }


def story(count: int = 24) -> Iterator[tuple[int, int]]:
    """Documents by number, with how many versions each has."""
    for number in range(1, count + 1):
        yield number, 1 + number % 5


def sha1(document: Document, algorithm: str = "sha1") -> str:
    """The hash of a document's bytes."""
    return hashlib.new(algorithm, bson.encode(document)).hexdigest()


# --- the layouts


def versions(database: Db, names: Names, index: bool = True) -> None:
    """A document for every version."""
    things = database[names.things]
    if index:
        things.create_index([(names.id, 1), (names.version, 1)], unique=True)
    things.insert_many(
        [
            {names.id: f"K-{n}", **stamped(names, n, v), **content(n, v)}
            for n, most in story()
            for v in range(1, most + 1)
        ]
    )


def flagged(database: Db, names: Names, index: bool = True, lowered: bool = False) -> None:
    """The same, the newest flagged; the others carry False where it is ``lowered``."""
    versions(database, names, index)
    things = database[names.things]
    for number, most in story():
        things.update_one({names.id: f"K-{number}", names.version: most}, {"$set": {names.flag: True}})
        if lowered:
            older = {names.id: f"K-{number}", names.version: {"$lt": most}}
            things.update_many(older, {"$set": {names.flag: False}})


def deltas(database: Db, names: Names, index: bool = True) -> None:
    """The first version whole, later ones only what changed."""
    things = database[names.things]
    if index:
        things.create_index([(names.id, 1), (names.version, 1)], unique=True)
    for number, most in story():
        for v in range(1, most + 1):
            whole = content(number, v)
            before = content(number, v - 1) if v > 1 else {}
            changed = {name: value for name, value in whole.items() if before.get(name) != value}
            things.insert_one({names.id: f"K-{number}", **stamped(names, number, v), **changed})


def embedded(database: Db, names: Names) -> None:
    """All versions in one document."""
    for number, most in story():
        told = [{**stamped(names, number, v), **content(number, v)} for v in range(1, most + 1)]
        database[names.things].insert_one({"_id": f"K-{number}", names.current: told[-1], names.prev: told[:-1]})


def nested(database: Db, names: Names) -> None:
    """Documents that hold what they were, as Mongoid::Versioning writes them: with a null for the earlier ones' _id."""
    for number, most in story():
        told = [{**stamped(names, number, v), **content(number, v)} for v in range(1, most + 1)]
        past = [{"_id": None, **each} for each in told[:-1]]
        database[names.things].insert_one({"_id": f"K-{number}", **told[-1], **({names.prev: past} if past else {})})


def archive(database: Db, names: Names, fed: bool = False, index: bool = True) -> None:
    """Current documents and their past in two collections; the current version too where a stream feeds it."""
    things, past = database[names.things], database[names.past]
    if index:
        past.create_index([(names.id, 1), (names.version, 1)], unique=True)
    for number, most in story():
        for v in range(1, most + 1):
            made = {**stamped(names, number, v), **content(number, v)}
            if v == most:
                things.insert_one({"_id": f"K-{number}", **made})
            if v < most or fed:
                past.insert_one({names.id: f"K-{number}", **made})


def hashed(database: Db, names: Names, algorithm: str = "sha1") -> None:
    """Documents with the hash of their content; one was changed behind it."""
    for number, most in story():
        made = content(number, most)
        digest = sha1(made, algorithm)
        database[names.things].insert_one({**made, names.hash: digest, **({"holder": "?"} if number == 7 else {})})


def sequence(database: Db, names: Names) -> None:
    """Counters by name."""
    database[names.counters].insert_many([{"_id": name, names.counter: 40} for name in ("invoices", "letters")])


def pending(database: Db, names: Names) -> None:
    """Two-step counters, with tokens under way in a few."""
    for day in range(1, 12):
        tokens = [token(day, v, 9) for v in range(1, 6)]
        waiting = tokens[3:] if day % 4 == 0 else []
        made = {"_id": f"2024-03-{day:02d}", names.count: 3, names.pending: waiting, names.applied: tokens[:3]}
        database["stats"].insert_one(made)


def processed(database: Db, names: Names) -> None:
    """Totals with the list of what is in them."""
    for number in range(1, 9):
        keys = [f"event-{number}-{n}" for n in range(number)]
        database["totals"].insert_one({"_id": f"team {number}", "goals": 2 * number, names.processed: keys})


# --- asking


Known = dict[str, tuple[CollectionInfo, CollectionProfile]]


def known(server: Server, database: str, profile: Profile | None = None) -> Known:
    """What is recognised, by the collection's name."""
    return {info.ns.partition(".")[2]: (info, made) for info, made in recognise(server, database, profile)}
