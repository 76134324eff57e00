"""Random databases given to the recogniser, and its errors: wrong claims, and histories it did not see."""

from __future__ import annotations

import contextlib
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pymongo
from msgspec.structs import replace
from pymongo.errors import PyMongoError

from model.catalogue.recognise import recognise, recognise_one
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import CollectionInfo
from model.server.retry import Server
from tests.recognition.ordinary import Application, application
from tests.recognition.versioned import Collection, two, versioned

Client = pymongo.MongoClient[dict[str, Any]]
SHARE = 95
"""Of a hundred versioned collections, those that must be recognised."""
DOUBTED = 85
"""Of a hundred collections in which two programs keep versions, those that must be doubted."""


@dataclass
class Tally:
    """How many collections there were, how many were recognised, and every wrong claim."""

    collections: int = 0
    recognised: int = 0
    layouts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    def enough(self, share: int = SHARE) -> bool:
        """Whether nothing is wrong and enough was recognised, if anything was to be."""
        return not self.wrong and 100 * self.recognised >= share * (self.recognised + len(self.missed))


@contextlib.contextmanager
def database(client: Client) -> Iterator[pymongo.database.Database[dict[str, Any]]]:
    """A database of its own, gone afterwards."""
    name = f"random_{uuid.uuid4().hex[:12]}"
    try:
        yield client[name]
    finally:
        client.drop_database(name)


def ordinary(server: Server, client: Client, seeds: Iterator[int], collections: int) -> Tally:
    """Applications until there are so many collections; every claim but that of a log of changes is wrong."""
    tally = Tally()
    while tally.collections < collections:
        _ordinary(server, client, application(next(seeds)), tally)
    return tally


def _ordinary(server: Server, client: Client, it: Application, tally: Tally) -> None:
    with database(client) as db:
        for name, rows in it.collections.items():
            if rows:
                db[name].insert_many(rows)
        for name, fields, unique in it.indexes:
            with contextlib.suppress(PyMongoError):  # what is not unique gets no index
                db[name].create_index([(each, 1) for each in fields], unique=unique)
        for info, _ in recognise(server, db.name):
            name = info.ns.partition(".")[2]
            tally.collections += 1
            if info.doubt:
                tally.wrong.append(f"seed {it.seed}: {name} is doubted: {info.doubt}")
            elif info.layout == "plain" or (info.layout == "log" and name in it.logs):
                tally.layouts[info.layout] += 1
            else:
                tally.wrong.append(f"seed {it.seed}: {name} is taken for {info.layout}: {info.why}")


def histories(server: Server, client: Client, seeds: Iterator[int], collections: int) -> Tally:
    """Versioned collections; another layout than theirs, or another field in one of its roles, is a wrong claim."""
    tally = Tally()
    for _ in range(collections):
        _history(server, client, versioned(next(seeds)), tally)
    return tally


def _history(server: Server, client: Client, it: Collection, tally: Tally) -> None:
    with database(client) as db:
        for name, rows in it.rows.items():
            db[name].insert_many(rows)
        if it.index is not None:
            db[it.index[0]].create_index([(each, 1) for each in it.index[1]], unique=True)
        for info, profile in recognise(server, db.name):
            name = info.ns.partition(".")[2]
            tally.collections += 1
            said = f"seed {it.seed}: {name}, {it.layout} {it.about}"
            if info.doubt:
                tally.wrong.append(f"{said}: doubted: {info.doubt}")
            elif name != it.names["things"]:
                if info.layout != "plain" and info.belongs_to is None:
                    tally.wrong.append(f"{said}: its rows are taken for {info.layout}: {info.why}")
            elif info.layout == it.layout and all(getattr(profile, role) == x for role, x in it.fields.items()):
                tally.recognised += 1
                tally.layouts[info.layout] += 1
            elif info.layout == "plain":
                tally.missed.append(f"{said}: {info.why}")
            else:
                tally.wrong.append(f"{said}: taken for {info.layout} with {dict(info.fields)}: {info.why}")


def shared(server: Server, client: Client, seeds: Iterator[int], collections: int) -> Tally:
    """Collections in which two programs keep versions; one that is not doubted is missed."""
    tally = Tally()
    for _ in range(collections):
        first, second = two(next(seeds))
        with database(client) as db:
            for name, rows in _of_two(first, second).items():
                db[name].insert_many(rows)
            tally.collections += 1
            found = {info.ns.partition(".")[2]: info for info, _ in recognise(server, db.name)}["things"]
            said = f"seed {first.seed}: {first.layout} {first.about} and {second.layout} {second.about}"
            if found.doubt:
                tally.recognised += 1
                tally.layouts[found.layout] += 1
                if not all(any(word in found.doubt for word in _alike(it.layout)) for it in (first, second)):
                    tally.wrong.append(f"{said}: {found.doubt}")
            else:
                tally.missed.append(f"{said}: {found.layout}: {found.why}")
    return tally


def by_itself(server: Server, client: Client, seeds: Iterator[int], collections: int) -> Tally:
    """Collections of all these kinds; one is wrong that is told otherwise where it alone is asked for."""
    tally = Tally()
    while tally.collections < collections:
        seed = next(seeds)
        with database(client) as db:
            for name, rows in _some(seed).items():
                if rows:
                    db[name].insert_many(rows)
            for among in list(recognise(server, db.name)):
                ns = among[0].ns
                tally.collections += 1
                alone = recognise_one(server, ns)
                if alone is None:  # all are looked at then
                    tally.missed.append(f"seed {seed}: {ns}")
                elif not _is_same(alone, among) and (said := _told_otherwise(server, ns)):
                    tally.wrong.append(f"seed {seed}: {said}")
                else:
                    tally.recognised += 1
                    tally.layouts[among[0].layout] += 1
    return tally


def _is_same(a: tuple[CollectionInfo, CollectionProfile], b: tuple[CollectionInfo, CollectionProfile]) -> bool:
    return _told(*a) == _told(*b)


def _told(info: CollectionInfo, profile: CollectionProfile) -> tuple[object, ...]:
    """What is told of a collection; of a doubt only that there is one, as it counts the documents sampled."""
    return replace(profile, token_doubt=""), bool(profile.token_doubt), info.belongs_to, bool(info.doubt)


def _told_otherwise(server: Server, ns: str) -> str:
    """How a collection is told alone and among all; "" where some random sample of it makes them the same."""
    said = ""
    for _ in range(3):
        among = next(each for each in recognise(server, ns.partition(".")[0]) if each[0].ns == ns)
        alone = recognise_one(server, ns) or among
        if _is_same(alone, among):
            return ""
        said = f"{ns}: {alone[0].layout} ({alone[0].why}), not {among[0].layout} ({among[0].why})"
    return said


def _some(seed: int) -> dict[str, list[dict[str, Any]]]:
    """The rows of an ordinary application, a history, or two programs, by collection."""
    if seed % 3 == 0:
        return dict(application(seed).collections)
    if seed % 3 == 1:
        return dict(versioned(seed).rows)
    return _of_two(*two(seed))


def _of_two(first: Collection, second: Collection) -> dict[str, list[dict[str, Any]]]:
    """The rows of two programs that keep their documents in one collection."""
    found: dict[str, list[dict[str, Any]]] = {}
    for it in (first, second):
        for name, rows in it.rows.items():
            found.setdefault("things" if name == it.names["things"] else f"{name}_of_{it.layout}", []).extend(rows)
    return found


def _alike(layout: str) -> tuple[str, ...]:
    """What a layout may be told as, where nothing but its own half of the documents can tell."""
    return (layout, "stream", "shadow") if layout in ("stream", "shadow", "archive") else (layout,)
