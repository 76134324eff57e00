"""The rows of ``python -m tests.benchmarks`` on what grows: collections, documents, versions.

Each action is counted in commands and rows, which are equal on every machine, and timed next to the driver reading
what the action needs, on the in-process server. Its exponent of growth is fitted over the sizes; 0 means constant. An
action is reported if it misses its commands or time, or grows faster than the driver.
"""

from __future__ import annotations

import math
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

import bson
import pymongo
import pytest
from bson import ObjectId
from bson.raw_bson import RawBSONDocument

from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Outcome
from model.localserver import LocalServer
from model.profile import Profile, stated
from model.session import Session
from model.userdata.journal import Intent, Journal
from model.values import canonical
from model.values.canonical import Value
from tests.benchmarks.timing import beside
from tests.model.command_log import CommandLog, listening
from tests.servers.hosted_server import HostedServer, without_stages

Row = dict[str, Any]
NS, PAST, ID = "shop.things", "shop.things_past", Value.of("d000000")
RAW: bson.CodecOptions[RawBSONDocument] = bson.CodecOptions(RawBSONDocument)
CONTENT: Row = {"name": "n", "price": 1, "city": "Kiel", "text": "lorem ipsum " * 10}
OWN = ("versions", "flagged", "deltas")
"""Layouts with a document for each version."""
AFTER = pymongo.ReturnDocument.AFTER
DATABASES = 20
SWAPS = 300
"""The documents that are swapped, by each who is measured."""
FLAT = 0.25
"""The exponent up to which growth is taken for none: caches and trees cost a little."""


@dataclass(frozen=True)
class Cost:
    """What an action costs at one size."""

    size: int
    commands: int
    rows: int
    milliseconds: float
    bare: float
    spread: tuple[float, float]
    """The least and the largest of the ratios of several runs."""

    @property
    def times(self) -> float:
        """Its time in times of the driver's."""
        return self.milliseconds / self.bare


def rows(layout: str, documents: int, versions: int) -> dict[str, list[bytes]]:
    """Documents with their versions as a layout stores them, by collection."""
    things: list[bytes] = []
    past: list[bytes] = []
    for at in range(documents):
        id, each = f"d{at:06}", [{"v": v, "_w": ObjectId(), **CONTENT} for v in range(1, versions + 1)]
        if versions > 1:
            each[-1]["price"] = 2
        if layout == "flagged":
            each[-1]["current"] = True
        elif layout == "deltas":
            each[1:] = [{"v": version["v"], "_w": version["_w"], "price": version["v"]} for version in each[1:]]
        apart = [bson.encode({"_id": ObjectId(), "docId": id, **version}) for version in each]
        match layout:
            case "versions" | "flagged" | "deltas":
                things += apart
            case "hashed":
                hashed = canonical.hash_of(bson.encode(CONTENT))
                things.append(bson.encode({"_id": id, **CONTENT, "_versioned_id": hashed}))
            case "embedded":
                things.append(bson.encode({"_id": id, "current": each[-1], "prev": each[:-1]}))
            case _:
                things.append(bson.encode({"_id": id, **each[-1]}))
                past += apart[:-1]
    return {NS: things, PAST: past}


def profile(layout: str) -> CollectionProfile:
    """The statement of such a collection."""
    return stated(NS, layout, token="_w", **({"archive": PAST} if layout == "archive" else {}))


@dataclass(frozen=True)
class Ground:
    """A collection as a session sees it, as one sees it whose commands are counted, and as the driver alone does."""

    session: Session
    counted: Session
    log: CommandLog
    shop: Any
    clock: str
    twin: Any = None
    """Another database with the same collections."""

    def cost(self, size: int, ours: Callable[[Session], object], bare: Callable[[], object]) -> Cost:
        """The commands and rows of a second run, and the times of both; those who count take no time from others."""
        ours(self.counted)
        self.log.clear()
        ours(self.counted)
        commands, read = len(self.log.names), self.log.rows
        return Cost(size, commands, read, *beside(bare, [lambda: ours(self.session)], self.clock)[0])


@contextmanager
def served(layout: str, documents: int, versions: int, clock: str, twins: bool = False) -> Iterator[Ground]:
    """Such a collection on the in-process server; with ``twins`` a second one like it."""
    with LocalServer() as server, tempfile.TemporaryDirectory() as home:
        for ns, each in rows(layout, documents, versions).items():
            for name in (ns, _twin(ns)) if twins else (ns,):
                server.load(name, each)
        indexed = NS if layout in OWN else PAST
        for name in (indexed, _twin(indexed)) if twins else (indexed,):
            server.index(name, [("docId", 1), ("v", 1)], unique=True)
        stated = Profile((profile(layout),))
        with pymongo.MongoClient[RawBSONDocument](server.uri) as client:
            with listening() as log:
                counted = Session.open(server.uri, stated, home=Path(home))
            with counted, Session.open(server.uri, stated, home=Path(home)) as session:
                shop, twin = (client.get_database(name, codec_options=RAW) for name in ("shop", "twin"))
                yield Ground(session, counted, log, shop, clock, twin)


def _twin(ns: str) -> str:
    return f"twin.{ns.partition('.')[2]}"


def page(layout: str, size: int, clock: str) -> Cost:
    """A page of 50 current documents among so many."""
    with served(layout, size, 4 if layout in OWN else 1, clock) as ground:
        things = ground.shop["things"]

        def newest() -> object:
            """The keys in the order of the index, of which the last of each document is its newest version."""
            found = list(things.find({}, {"docId": 1, "v": 1}).sort([("docId", 1), ("v", 1)]).limit(204))
            wanted = found if layout == "deltas" else found[3::4]
            return list(things.find({"_id": {"$in": [row["_id"] for row in wanted]}}))

        def current() -> object:
            return list(things.find({}, {"prev": 0} if layout == "embedded" else None).sort("_id", 1).limit(51))

        bare = newest if layout in OWN else current
        return ground.cost(size, lambda session: session.documents.page(NS, limit=50), bare)


def opening(layout: str, size: int, clock: str) -> Cost:
    """One version from the middle of so many."""
    middle = size // 2
    with served(layout, 1, size, clock) as ground:
        where = ground.shop["things_past" if layout == "archive" else "things"]
        wanted: Row = {"docId": "d000000", "v": middle}
        hidden = None
        if layout == "embedded":
            wanted, hidden = {"_id": "d000000"}, {"prev": {"$elemMatch": {"v": middle}}}
        v = Value.of(middle)

        def bare() -> object:
            """The row alone; of deltas all, as no one row tells that no other was lost or rewritten."""
            if layout == "deltas":
                return list(where.find({"docId": "d000000"}).sort("v", -1))
            return list(where.find(wanted, hidden).limit(1))

        return ground.cost(size, lambda session: session.history.version(NS, ID, v), bare)


def glancing(layout: str, size: int, clock: str) -> Cost:
    """One version to look at, from a state that is kept near it, beside its row alone."""
    middle = size // 2 - 3
    with served(layout, 1, size, clock) as ground:
        where, v = ground.shop["things"], Value.of(middle)

        def bare() -> object:
            return list(where.find({"docId": "d000000", "v": middle}).limit(1))

        return ground.cost(size, lambda session: session.history.seen(NS, ID, v), bare)


def beginning(layout: str, size: int, clock: str) -> Cost:
    """The first hundred of so many versions from a kept state, beside their rows alone."""
    with served(layout, 1, size, clock) as ground:
        where, keys = ground.shop["things"], [("docId", 1), ("v", -1)]

        def ours(session: Session) -> object:
            return list(islice(session.history.versions(NS, ID, early=True), 100))

        return ground.cost(size, ours, lambda: list(where.find({"docId": "d000000"}).sort(keys).limit(100)))


def history(layout: str, size: int, clock: str) -> Cost:
    """The first hundred of so many versions."""
    with served(layout, 1, size, clock) as ground:
        where = ground.shop["things_past" if layout == "archive" else "things"]
        keys = [("docId", 1), ("v", -1)]

        def bare() -> object:
            current = list(ground.shop["things"].find({"_id": "d000000"})) if layout == "archive" else []
            most = 0 if layout == "deltas" else 100 - len(current)  # of deltas all lead to the newest state
            return current + list(where.find({"docId": "d000000"}).sort(keys).limit(most))

        return ground.cost(size, lambda session: list(islice(session.history.versions(NS, ID), 100)), bare)


def bisecting(layout: str, size: int, clock: str) -> Cost:
    """Where a condition turns among so many versions, beside reading all of them raw."""
    with served(layout, 1, size, clock) as ground:
        where = ground.shop["things_past" if layout == "archive" else "things"]
        keys = [("docId", 1), ("v", -1)]
        return ground.cost(
            size,
            lambda session: session.history.bisect(NS, ID, "{price: {$gt: 1}}"),
            lambda: list(where.find({"docId": "d000000"}).sort(keys)),
        )


def halving(layout: str, size: int, clock: str) -> Cost:
    """Where a condition turned once among so many versions, beside as many reads of one version as it halves."""
    with served(layout, 1, size, clock) as ground:
        where = ground.shop["things_past" if layout == "archive" else "things"]

        def bare() -> object:
            low, high = 1, size
            while high - low > 1:
                low = (low + high) // 2
                where.find_one({"docId": "d000000", "v": low})
            return low

        return ground.cost(size, lambda session: session.history.bisect(NS, ID, "{price: {$gt: 1}}", whole=False), bare)


def swap(layout: str, size: int, clock: str) -> Cost:
    """A guarded swap among so many documents, its journal apart, beside just these commands sent by the driver alone.

    The driver sends them to collections that stand as the first ones stood, so that each guard holds there too. Each
    swap meets a document that none has met.
    """
    with served(layout, size, 1, clock, twins=True) as ground, unjournalled():
        ids = (Value.of(f"d{at:06}") for at in range(size))

        def ours(session: Session) -> object:
            base = session.history.version(NS, id := next(ids))
            outcome = session.writing.save(NS, id, base, canonical.put(base.content or b"", ("price",), Value.of(2)))
            if outcome.kind != "applied":
                raise RuntimeError(outcome.detail)
            return outcome

        ours(ground.counted)  # asks for the indexes
        swaps: list[list[Callable[[], object]]] = []
        for _ in range(SWAPS):
            ground.log.clear()
            ours(ground.counted)
            swaps.append([alone(ground.twin, sent) for sent in ground.log.sent])
        commands, read = len(ground.log.names) - 1, ground.log.rows - 1  # the base had been read
        ours(ground.session)
        left = iter(swaps)
        (times,) = beside(lambda: [do() for do in next(left)], [lambda: ours(ground.session)], clock, SWAPS)
        return Cost(size, commands, read, *times)


def alone(db: Any, command: Mapping[str, Any]) -> Callable[[], object]:
    """A command as the driver alone is asked for it, with dictionaries; raises where it finds no document to change."""
    name, things = next(iter(command)), db[command[next(iter(command))]]
    given = {part: _decoded(value) for part, value in command.items()}
    match name:
        case "find":
            return lambda: list(things.find(given["filter"], given.get("projection")).limit(given.get("limit", 0)))
        case "insert":
            return lambda: things.insert_one(given["documents"][0])
        case "findAndModify":

            def change() -> object:
                found = things.find_one_and_update(given["query"], given["update"], return_document=AFTER)
                if found is None:
                    raise RuntimeError(f"The twin of {things.name} is another one.")
                return found

            return change
    raise ValueError(name)


def _decoded(part: Any) -> Any:
    if isinstance(part, RawBSONDocument):
        return bson.decode(bytes(part.raw))
    return [_decoded(each) for each in part] if isinstance(part, list) else part


@contextmanager
def unjournalled() -> Iterator[None]:
    """Writes of which the journal notes nothing: what it costs is a row by itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Journal, "begin", lambda self, intent: "1")
        patch.setattr(Journal, "end", lambda self, entry, outcome, stored_content=None: None)
        yield


def journalling(layout: str, size: int, clock: str) -> Cost:
    """The journal of a swap in a file of so many entries, beside SQLite that keeps the same as durably: one sync."""
    content = bson.encode(CONTENT)
    changed = canonical.put(content, ("price",), Value.of(2))
    intent = Intent("mongodb://host", NS, ID, "edit", "plain", content, changed, token=str(ObjectId()))
    applied = Outcome("applied", NS, ID, "Saved as version 2.", Value.of(2))
    with tempfile.TemporaryDirectory() as home:
        journal = Journal(Path(home))

        def ours() -> None:
            journal.end(journal.begin(intent), applied)

        ours()
        shared = sqlite3.connect(journal.path)
        columns = [row[1] for row in shared.execute("PRAGMA table_info(entries)") if row[1] != "id"]
        named, marks = ", ".join(columns), ", ".join("?" * len(columns))
        (kept,) = shared.execute(f"SELECT {named} FROM entries")
        with shared:
            shared.executemany(f"INSERT INTO entries ({named}) VALUES ({marks})", [kept] * (size - 1))

        def bare() -> None:
            shared.execute("PRAGMA synchronous = FULL")
            with shared:
                entry = shared.execute(f"INSERT INTO entries ({named}) VALUES ({marks})", kept).lastrowid
            shared.execute("PRAGMA synchronous = NORMAL")
            with shared:
                shared.execute("UPDATE entries SET kind = 'applied', ended = at WHERE id = ?", (entry,))

        with closing(shared), closing(journal):
            (times,) = beside(bare, [ours], clock, SWAPS)
            return Cost(size, 0, 0, *times)


def load_many(server: LocalServer, size: int) -> None:
    """So many collections in twenty databases, each with a number that may be a version."""
    for n in range(size):
        things = ({"_id": f"c{n}-{at}", "owner": f"o{at % 5}", "v": 1 + at % 3} for at in range(40))
        server.load(f"shop{n % DATABASES}.c{n}", map(bson.encode, things))


def showing(layout: str, size: int, clock: str) -> Cost:
    """One document, by a session that has seen none of so many collections, beside a connection that reads it.

    ``kept``: an earlier session has seen it; ``stated``: a profile states its layout; ``looked up``: the server lacks
    ``$unionWith``.
    """
    ns, id = "shop0.c0", "c0-3"
    said = Profile((stated(ns, "plain"),)) if layout == "stated" else None

    def ours(uri: str, home: Path) -> object:
        with Session.open(uri, said, home=home) as session:
            return session.documents.find_current(ns, id)

    def bare(uri: str, home: Path) -> object:
        with pymongo.MongoClient[Row](uri) as client:
            return client["shop0"]["c0"].find_one({"_id": id})

    def cold(uri: str, home: Path) -> object:
        with tempfile.TemporaryDirectory() as empty, pytest.MonkeyPatch.context() as patch:
            patch.setenv("PALIMPSEST_CACHE", empty)
            return ours(uri, home)

    made = HostedServer(without_stages("$unionWith")) if layout == "looked up" else LocalServer()
    with made as server, tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PALIMPSEST_CACHE", folder)
        load_many(server, size)
        act = ours if layout in ("kept", "stated") else cold
        if layout == "kept":
            ours(server.uri, Path(folder))
        with listening() as log:
            act(server.uri, Path(folder))
        (times,) = beside(lambda: bare(server.uri, Path(folder)), [lambda: act(server.uri, Path(folder))], clock)
        return Cost(size, len(log.names), log.rows, *times)


def editing(layout: str, size: int, clock: str) -> Cost:
    """An edit of one of so many documents by a session of its own, its journal included, beside the driver's swap.

    The third of a day: the first looks for damage, and the second keeps what it found.
    """
    prices = count(50)

    def ours(uri: str, home: Path) -> object:
        with Session.open(uri, home=home) as session:
            id, current = session.documents.find_current(NS, "d000000")
            now = time.monotonic()
            made = session.edit(NS, id, {"price": next(prices)}, current=current, read_at=now)
            assert made.kind == "applied", made
            return made

    def bare(uri: str, home: Path) -> object:
        with pymongo.MongoClient[Row](uri) as client:
            things = client["shop"]["things"]
            things.find_one({"_id": "d000000"})
            return things.find_one_and_update({"_id": "d000000"}, {"$set": {"beside": next(prices)}})

    with LocalServer() as server, tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PALIMPSEST_CACHE", folder)
        for ns, each in rows(layout, size, 3).items():
            server.load(ns, each)
        server.index(PAST, [("docId", 1), ("v", 1)], unique=True)
        for _ in range(2):
            ours(server.uri, Path(folder))
        with listening() as log:
            ours(server.uri, Path(folder))
        (times,) = beside(lambda: bare(server.uri, Path(folder)), [lambda: ours(server.uri, Path(folder))], clock)
        return Cost(size, len(log.names), log.rows, *times)


def listing(layout: str, size: int, clock: str) -> Cost:
    """So many collections in twenty databases, recognised, beside reading one document of each."""
    with LocalServer() as server, pymongo.MongoClient[Row](server.uri) as client:
        load_many(server, size)
        with listening() as log:
            counted = Session.open(server.uri)
        with counted, Session.open(server.uri) as session:
            return Ground(session, counted, log, None, clock).cost(
                size,
                lambda session: list(session.catalogue.collections()),
                lambda: [client[f"shop{n % DATABASES}"][f"c{n}"].find_one() for n in range(size)],
            )


def _twice_halved(size: int) -> int:
    return int(2 * math.log2(size))


Action = Callable[[str, int, str], Cost]
ACTIONS: tuple[tuple[str, Action, str, tuple[int, ...], Callable[[int], int], float], ...] = (
    ("a page of 50 documents, plain", page, "plain", (1000, 30_000, 1_000_000), lambda _: 1, 1.2),
    ("a page of 50 documents, hashed", page, "hashed", (1000, 30_000, 1_000_000), lambda _: 1, 1.2),
    ("a page of 50 documents, archive", page, "archive", (1000, 30_000, 1_000_000), lambda _: 1, 1.2),
    ("a page of 50 documents, embedded", page, "embedded", (1000, 30_000, 1_000_000), lambda _: 1, 1.2),
    ("a page of 50 documents, versions", page, "versions", (250, 7500, 250_000), lambda _: 2, 1.2),
    ("a page of 50 documents, flagged", page, "flagged", (250, 7500, 250_000), lambda _: 2, 1.2),
    ("a page of 50 documents, deltas", page, "deltas", (250, 7500, 250_000), lambda _: 2, 1.2),
    ("one of many versions, versions", opening, "versions", (100, 3000, 100_000), lambda _: 1, 1.5),
    ("one of many versions, flagged", opening, "flagged", (100, 3000, 100_000), lambda _: 1, 1.5),
    ("one of many versions, archive", opening, "archive", (100, 3000, 100_000), lambda _: 1, 1.5),
    ("one of many versions, deltas", opening, "deltas", (100, 3000, 100_000), lambda size: 3 + size // 1000, 2.5),
    ("one from a kept state, deltas", glancing, "deltas", (3000, 10_000, 100_000), lambda _: 1, 60.0),
    ("one of many versions, embedded", opening, "embedded", (100, 1000, 10_000), lambda _: 1, 1.5),
    ("the first 100 of a history, versions", history, "versions", (1000, 10_000, 100_000), lambda _: 1, 1.2),
    ("the first 100 of a history, archive", history, "archive", (1000, 10_000, 100_000), lambda _: 2, 1.2),
    ("the first 100 of a history, deltas", history, "deltas", (100, 3000, 100_000), lambda size: 3 + size // 1000, 3.0),
    ("the first 100 from a kept state, deltas", beginning, "deltas", (3000, 10_000, 100_000), lambda _: 1, 10.0),
    ("a bisection, versions", bisecting, "versions", (1000, 10_000, 100_000), lambda size: 4 + size // 1000, 2.0),
    ("a bisection, archive", bisecting, "archive", (1000, 10_000, 100_000), lambda size: 4 + size // 1000, 2.0),
    ("a turn found by halving, versions", halving, "versions", (2000, 10_000, 100_000), _twice_halved, 2.0),
    ("a turn found by halving, archive", halving, "archive", (2000, 10_000, 100_000), _twice_halved, 2.0),
    ("a guarded swap, plain", swap, "plain", (1000, 10_000), lambda _: 1, 1.3),
    ("a guarded swap, hashed", swap, "hashed", (1000, 10_000), lambda _: 1, 1.3),
    ("a guarded swap, embedded", swap, "embedded", (1000, 10_000), lambda _: 1, 1.3),
    ("a guarded swap, archive", swap, "archive", (1000, 10_000), lambda _: 4, 1.3),
    ("the journal of a swap", journalling, "", (1000, 10_000), lambda _: 0, 3.0),
    ("a list of collections", listing, "", (20, 80, 200), lambda _: 3 * DATABASES + 1, 4.0),
    ("a document of many collections", showing, "", (20, 80, 200), lambda _: 6, 20.0),
    ("the same by look-ups", showing, "looked up", (20, 80, 200), lambda _: 12, 20.0),
    ("the same again", showing, "kept", (20, 80, 200), lambda _: 3, 5.0),
    ("the same with the layout stated", showing, "stated", (20, 80, 200), lambda _: 3, 5.0),
    ("an edit by a command, archive", editing, "archive", (1000, 10_000), lambda _: 5, 6.0),
    ("an edit by a command, hashed", editing, "hashed", (1000, 10_000), lambda _: 3, 6.0),
    ("an edit by a command, embedded", editing, "embedded", (1000, 10_000), lambda _: 3, 6.0),
)
"""What is measured: the layout, the sizes, the commands that it may send, and its time in times of the driver's."""


def exponent(sizes: list[int], milliseconds: list[float]) -> float:
    """The slope of time over size, both in logarithms, by least squares."""
    xs, ys = [math.log(size) for size in sizes], [math.log(max(each, 0.01)) for each in milliseconds]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


@dataclass(frozen=True)
class Growth:
    """An action at each of its sizes, with what it may cost: commands for a size, and times of the driver's time."""

    name: str
    costs: tuple[Cost, ...]
    most: Callable[[int], int]
    target: float

    @property
    def power(self) -> float:
        """The exponent with which its time grows."""
        return exponent([each.size for each in self.costs], [each.milliseconds for each in self.costs])

    @property
    def driver(self) -> float:
        """The exponent with which the driver's time grows."""
        return exponent([each.size for each in self.costs], [each.bare for each in self.costs])

    @property
    def missed(self) -> list[str]:
        """What it does not reach, a sentence each."""
        found = [
            f"{self.name}: {each.commands} commands at {each.size:,}, target {self.most(each.size)}"
            for each in self.costs
            if each.commands > self.most(each.size)
        ]
        if self.power > max(0.0, self.driver) + FLAT:
            found.append(f"{self.name}: grows with the power {self.power:.2f}, target {max(0, self.driver) + FLAT:.2f}")
        if (times := self.costs[-1].times) > self.target:
            found.append(f"{self.name}: {times:.1f} times the driver's time, target {self.target}")
        return found


def measured(clock: str) -> Iterator[Growth]:
    """Measure all actions, and print each."""
    for name, action, layout, sizes, most, target in ACTIONS:
        found = Growth(name, tuple(action(layout, size, clock) for size in sizes), most, target)
        print(f"\n{name}")
        for each in found.costs:
            sent = f"{each.size:>9,}  {each.commands:>4,} commands  {each.rows:>6,} rows"
            took = f"{each.milliseconds:>9,.2f} ms  bare {each.bare:,.2f} ms  {each.times:,.1f} times"
            print(f"    {sent}  {took}  ({each.spread[0]:,.1f} to {each.spread[1]:,.1f})")
        print(f"    grows with the power {found.power:.2f}, the driver's own with {found.driver:.2f}", flush=True)
        yield found
