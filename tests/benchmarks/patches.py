"""``python -m tests.benchmarks.patches``: the first page of a long history that another program wrote.

It may take 1.5 times as long as reading the history's rows raw with PyMongo, in the same run. ``--clock wall`` counts
time instead of processor time, ``--patches N`` makes shorter histories. Ends with 1 if a target was missed.
"""

from __future__ import annotations

import argparse
import datetime as dt
import random
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pymongo
from bson import ObjectId

from model.localserver import LocalServer
from model.session import Session
from model.values.canonical import Value
from tests.benchmarks.timing import CLOCKS, best

PAGE = 100
TARGET = 1.5
BEGAN = dt.datetime(2024, 1, 1)
FIRST: dict[str, Any] = {
    "title": "t",
    "price": 1.5,
    "stock": 1,
    "tags": ["a", "b"],
    "address": {"city": "Kiel"},
    "text": "lorem ipsum " * 20,
}
Row = dict[str, Any]


def mongoose_patch_history(id: ObjectId, n: int, name: str, old: Any, new: Any) -> Row:
    """A JSON Patch that says nothing of what it replaces."""
    ops = [{"op": "replace", "path": f"/{name}", "value": new}]
    first = [{"op": "add", "path": f"/{name}", "value": value} for name, value in FIRST.items()]
    return {"ref": id, "ops": ops if n else first, "date": BEGAN + dt.timedelta(seconds=n)}


def ts_patch_mongoose(id: ObjectId, n: int, name: str, old: Any, new: Any) -> Row:
    """A JSON Patch that tests what it replaces; the first row has the whole document."""
    ops = [{"op": op, "path": f"/{name}", "value": v} for op, v in (("test", old), ("replace", new))]
    done = {"op": "update", "patch": ops} if n else {"op": "create", "doc": {"_id": id, **FIRST}, "patch": []}
    beside = {"modelName": "Item", "collectionName": "items", "collectionId": id, "version": n}
    return {**beside, **done, "createdAt": BEGAN + dt.timedelta(seconds=n)}


def mongoose_history_plugin(id: ObjectId, n: int, name: str, old: Any, new: Any) -> Row:
    """A delta of jsondiffpatch, from nothing on."""
    diff = {name: [old, new]} if n else {name: [value] for name, value in FIRST.items()}
    beside = {"collectionName": "items", "collectionId": id, "version": "1.0.0", "method": "updated"}
    return {**beside, "diff": diff, "timestamp": BEGAN + dt.timedelta(seconds=n)}


def mongoose_diff_history(id: ObjectId, n: int, name: str, old: Any, new: Any) -> Row:
    """A delta of jsondiffpatch, back from the current document."""
    diff = {name: [old, new]} if n else {}
    beside = {"collectionName": "items", "collectionId": id, "version": n}
    return {**beside, "diff": diff, "createdAt": BEGAN + dt.timedelta(seconds=n)}


WRITERS: dict[str, tuple[Callable[[ObjectId, int, str, Any, Any], Row], str]] = {
    "items_patches": (mongoose_patch_history, "ref"),
    "history": (ts_patch_mongoose, "collectionId"),
    "__histories": (mongoose_history_plugin, "collectionId"),
    "histories": (mongoose_diff_history, "collectionId"),
}
"""The collection of the rows, what makes one, and the field with the document's id."""


def rows(id: ObjectId, count: int, make: Callable[[ObjectId, int, str, Any, Any], Row]) -> Iterator[tuple[Row, Row]]:
    """The rows of a document, each with the state behind it."""
    dice, state = random.Random(7), dict(FIRST)
    for n in range(count):
        name = dice.choice(("title", "price", "stock")) if n else "title"
        new = {"title": f"t{n}", "price": n / 4, "stock": n + 2}[name] if n else state[name]
        yield make(id, n, name, state[name], new), state
        state[name] = new


def measure(collection: str, count: int, clock: str) -> float:
    """Print how long both take, and return how many times as long ours does."""
    make, key = WRITERS[collection]
    id = ObjectId()
    with LocalServer() as server, pymongo.MongoClient[dict[str, Any]](server.uri) as client:
        made = list(rows(id, count, make))
        client["shop"][collection].insert_many(row for row, _ in made)
        client["shop"][collection].create_index(key)
        client["shop"]["items"].insert_one({"_id": id, **made[-1][1]})
        raw = best(lambda: list(client["shop"][collection].find({key: id})), clock)
        with Session.open(server.uri) as session:
            list(session.catalogue.collections())
            page = list(islice(session.history.versions("shop.items", Value.of(id)), PAGE))
            if len(page) < PAGE or any(version.state != "present" or version.detail for version in page):
                raise RuntimeError(f"the history in {collection} is not read as it was written")
            ours = best(lambda: list(islice(session.history.versions("shop.items", Value.of(id)), PAGE)), clock)
    word = "met" if ours <= TARGET * raw else "MISSED"
    print(
        f"{make.__name__:<26} raw {raw:,.0f} ms, first page {ours:,.0f} ms, {ours / raw:.2f} times ({word})", flush=True
    )
    return ours / raw


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.patches", description=__doc__)
    parser.add_argument("--clock", choices=list(CLOCKS), default="cpu")
    parser.add_argument("--patches", type=int, default=10_000)
    asked = parser.parse_args()
    return 1 if any([measure(name, asked.patches, asked.clock) > TARGET for name in WRITERS]) else 0  # noqa: C419


if __name__ == "__main__":
    sys.exit(main())
