"""Writers that retry without asking what happened, as programs often do; the same faults must convict them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pymongo
from pymongo.errors import AutoReconnect, DuplicateKeyError, PyMongoError

from tests.blackpipe.cases import TIMES, in_a_hurry
from tests.blackpipe.pipe import FAULTS, PATIENCE, BlackPipe, Plan

Db = pymongo.database.Database[dict[str, Any]]


def increment(db: Db) -> None:
    """Count an event, and after a network error count it once more."""
    try:
        db.stats.update_one({"_id": "day"}, {"$inc": {"count": 1}})
    except AutoReconnect:
        db.stats.update_one({"_id": "day"}, {"$inc": {"count": 1}})


def push_and_bump(db: Db) -> None:
    """Layout 2 as published: move the current version to ``prev``; retry once."""
    for last in (False, True):
        now = db.stats.find_one({"_id": "day"})
        assert now is not None
        try:
            db.stats.update_one(
                {"_id": "day", "current.v": now["current"]["v"]},
                {"$push": {"prev": now["current"]}, "$set": {"current": {"v": now["current"]["v"] + 1}}},
            )
            return
        except AutoReconnect:
            if last:
                raise


def next_number(db: Db) -> None:
    """The optimistic loop: the highest number plus one, again until the insert goes through."""
    for _ in range(4):
        top = max((int(doc["_id"]) for doc in db.orders.find()), default=0)
        try:
            db.orders.insert_one({"_id": top + 1})
            return
        except (DuplicateKeyError, AutoReconnect):
            continue
    raise AutoReconnect("gave up")


def counted(db: Db) -> int:
    """How often an event was counted."""
    doc = db.stats.find_one({"_id": "day"})
    return 0 if doc is None else int(doc["count"]) - 41


def moved(db: Db) -> int:
    """How many versions were added."""
    doc = db.stats.find_one({"_id": "day"})
    return 0 if doc is None else int(doc["current"]["v"]) - 1


def inserted(db: Db) -> int:
    """How many documents were added."""
    return db.orders.count_documents({}) - 1


@dataclass(frozen=True)
class Blind:
    """A writer that nobody should copy."""

    name: str
    write: Callable[[Db], None]
    times: Callable[[Db], int]


BLIND = (
    Blind("$inc, retried", increment, counted),
    Blind("push and bump, retried", push_and_bump, moved),
    Blind("optimistic loop", next_number, inserted),
)


def convictions(server: str, seed: int, each: int = 10**6) -> Iterator[tuple[str, str, str]]:
    """Writer, case and what it did wrong, over every fault on its first three messages, or ``each`` times a writer."""
    limits = f"&socketTimeoutMS={PATIENCE * 1000:.0f}&serverSelectionTimeoutMS=300"
    options: dict[str, Any] = {"replica_set": "rs0"} if server == "replica set" else {}
    with in_a_hurry(), BlackPipe(**options) as pipe, pymongo.MongoClient[dict[str, Any]](pipe.uri) as eyes:
        for blind in BLIND:
            found = 0
            for point, fault, times in itertools.product(range(3), FAULTS, ("once", "twice")):
                case = f"{server}/{blind.name}/{point}/{fault}/{times}"
                plan = Plan(point, fault, TIMES[times], random.Random(f"{case} {seed}"))
                if wrong := _wrong(blind, pipe, pipe.uri + limits, eyes, plan):
                    yield blind.name, case, wrong
                    found += 1
                if found == each:
                    break


def _wrong(blind: Blind, pipe: BlackPipe, uri: str, eyes: pymongo.MongoClient[dict[str, Any]], plan: Plan) -> str:
    """What a writer does wrong under a plan; "" where it tells the truth."""
    eyes.drop_database("pipe")
    eyes.pipe.stats.insert_one({"_id": "day", "count": 41, "current": {"v": 1}, "prev": []})
    eyes.pipe.orders.insert_one({"_id": 1})
    with pymongo.MongoClient[dict[str, Any]](uri, appname="palimpsest") as client:
        pipe.plan = plan
        try:
            blind.write(client.pipe)
            acknowledged = True
        except PyMongoError:
            acknowledged = False
    pipe.plan = Plan()
    pipe.settle()
    done = blind.times(eyes.pipe)
    if done > 1:
        return f"was done {done} times"
    if done == acknowledged:
        return ""
    return "acknowledged and not done" if acknowledged else "told as failed and done"
