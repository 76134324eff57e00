"""Edits, restores and undos through the product, over a program's data; and what that program then reads."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pymongo
from bson import json_util

from model.foundation.records import Outcome, Version
from model.patches.tree import Node, alike, tree_of
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from tests.writers.libraries import Told

NS = "shop.items"
FEWEST, MOST = 1, 4  # edits of one document


class Edits:
    """Edits of all documents of a collection, with a journal in the folder ``home``."""

    def __init__(self, home: Path, seed: int) -> None:
        self.home, self._chance, self.done = home, random.Random(seed), 0

    def __call__(self, uri: str) -> list[Told]:
        """What each document is behind every edit."""
        said: list[Told] = []
        with Session.open(uri, home=self.home) as session, pymongo.MongoClient[dict[str, Any]](uri) as client:
            db, _, name = NS.partition(".")
            stored = client[db][name]
            for id in [each["_id"] for each in stored.find({}, {"_id": 1}).sort("_id")]:
                if session.history.version(NS, Value.of(id)).v is None:
                    continue  # all of its rows have expired
                for _ in range(self._chance.randint(FEWEST, MOST)):
                    for outcome in edited(session, Value.of(id), self._chance):
                        assert outcome.kind in ("applied", "skipped"), outcome
                        if outcome.kind == "applied":
                            said.append(Told(NS, id, "saved", stored.find_one({"_id": id})))
        self.done = len(said)
        return said


def edited(session: Session, id: Value, chance: random.Random) -> Iterator[Outcome]:
    """Writes to a document: some fields, an element, an earlier state, or a write and its way back."""
    now = canonical.decode(session.history.version(NS, id).content or canonical.EMPTY)
    versions = [session.history.version(NS, id, each.v) for each in session.history.versions(NS, id)]
    versions = [each for each in versions if canonical.decode(each.content or canonical.EMPTY) != now] or versions
    old = chance.choice(versions)
    lines = [*now["lines"]]
    chance.shuffle(lines)

    ways = [
        lambda: session.edit(NS, id, {"title": f"edited {chance.randrange(10**6)}", "active": not now["active"]}),
        lambda: session.edit(NS, id, {"stock": now["stock"] + 1, f"address.{[*now['address']][-1]}": "Wien"}),
        lambda: session.edit(NS, id, {"tags": [*now["tags"], "edited"]}),
        lambda: session.edit(NS, id, {"lines": lines[: chance.randint(min(1, len(lines)), len(lines))]}),
        lambda: session.edit(NS, id, {"price": now["price"] + 0.25, **({"lines.0.qty": 17} if lines else {})}),
        lambda: session.writing.restore(NS, id, old.v or Value.of(None)),
    ]
    outcome = chance.choice(ways)()
    yield outcome
    if outcome.entry is not None and outcome.kind == "applied" and chance.random() < 0.3:
        yield session.way_back.undo(outcome.entry)


def misread(dump: Path, lines: Sequence[str]) -> list[str]:
    """What the program reads otherwise than the product shows it, a sentence each."""
    wrong: list[str] = []
    with Session.open(str(dump)) as session:
        for line in lines:
            row = json_util.loads(line, json_options=json_util.CANONICAL_JSON_OPTIONS)
            if row["kind"] == "read":
                wrong += _compared(row, _states(session, Value.of(row["id"]), len(row["state"])))
    return wrong


def _states(session: Session, id: Value, many: int) -> list[Version]:
    """The oldest versions of a document, from the oldest on."""
    return [session.history.version(NS, id, each.v) for each in session.history.versions(NS, id)][::-1][:many]


def _compared(row: Mapping[str, Any], shown: Sequence[Version]) -> list[str]:
    if len(shown) != len(row["state"]):
        return [f"{row['id']}: {len(row['state'])} states read, {len(shown)} shown"]
    wrong = []
    for number, (theirs, ours) in enumerate(zip(row["state"], shown, strict=True), 1):
        read = _without_ids(tree_of(canonical.encode(theirs)))
        mine: Node = _without_ids(tree_of(ours.content or canonical.EMPTY))
        assert isinstance(read, dict)
        assert isinstance(mine, dict)
        names = {name for name in {*read, *mine} if not alike(read.get(name), mine.get(name))}
        if names:
            wrong.append(f"{row['id']} {number}: {', '.join(sorted(names))} read otherwise")
    return wrong


def _without_ids(node: Node) -> Node:
    if isinstance(node, dict):
        return {name: _without_ids(each) for name, each in node.items() if name != "_id"}
    return [_without_ids(each) for each in node] if isinstance(node, list) else node
