"""The data for the operations: a document with three versions in each layout, and how plain PyMongo sees it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import bson
import pymongo
from bson import ObjectId

from model.errors import Unreachable
from model.session import Session
from model.values.canonical import Value
from tests.blackpipe.pipe import PATIENCE, BlackPipe, Plan

DB = "pipe"
NS, PAST, STATS = f"{DB}.things", f"{DB}.things_past", f"{DB}.stats"
ID, OTHER = Value.of("K-1"), Value.of("K-2")
HELD_APART = ("versions", "flagged", "deltas")  # a document for every version
BESIDE = ("vermongo", "mongoose-version-collection")  # programs with rows of their own, which go first or follow
OLD = [ObjectId(f"5f00000000000000000000{n:02x}") for n in range(4)]
NUMBERS = "numbers"  # what hands out numbers may be ahead of the versions
ONCE = {
    "counters": 'layout = "sequence"\ncounter = "seq"',
    "stats": 'layout = "pending"\ncounter = "count"',
    "teams": 'layout = "processed"\nid = "id"\ncounter = "wins"\nprocessed = "history"',
    "carts": 'layout = "hashed"',
    "users": 'layout = "plain"',
}
"""Collections for the writes that count once."""
State = list[tuple[str, str]]


def profile(layout: str, numbering: str, tokens: bool = False) -> str:
    """The profile of the one collection, as a team would state it; a number that is drawn is marked by a token."""
    if layout == "pending":
        return f'[[collection]]\nns = "{STATS}"\nlayout = "pending"\ncounter = "count"\n'
    if layout == "once":
        return "".join(f'[[collection]]\nns = "{DB}.{name}"\n{lines}\n' for name, lines in ONCE.items())
    if layout in BESIDE:
        return f'[[collection]]\nns = "{NS}"\nwriter = "{layout}"\narchive = "{PAST}"\n'
    lines = ["[[collection]]", f'ns = "{NS}"', f'layout = "{layout}"']
    if layout in HELD_APART:
        lines.append('id = "docId"')
    if layout in ("archive", "stream"):
        lines.append(f'archive = "{PAST}"')
    if layout == "deltas":
        lines.append('removed = "gone"')
    lines += [f'numbering = "{numbering}"'] if numbering else []
    lines += ['token = "_w"'] if numbering or tokens else []
    return "\n".join(lines) + "\n"


@dataclass
class Ground:
    """A pipe, a session of the product that goes through it, and eyes of their own."""

    pipe: BlackPipe
    session: Session
    eyes: pymongo.MongoClient[dict[str, Any]]
    home: Path
    layout: str
    numbering: str = ""
    tokens: bool = False
    uri: str = ""
    kept: dict[str, tuple[list[bytes], list[Any], UUID]] = field(default_factory=dict)

    @contextmanager
    def patiently(self) -> Iterator[None]:
        """Go through a session that waits for its answers: for what is done without a fault, on a busy machine too."""
        hurried = self.session
        with Session.open(self.uri, profile=self.home / "profile.toml", home=self.home) as self.session:
            try:
                yield
            finally:
                self.session = hurried

    def clear(self) -> None:
        """An empty database with the indexes that writing needs, and an empty journal."""
        self.pipe.plan = Plan()
        self.pipe.settle()
        self.pipe.store.drop(DB)
        for file in self.home.glob("journal.sqlite3*"):
            file.unlink()
        if self.layout in HELD_APART:
            self.pipe.index(NS, [("docId", 1), ("v", 1)], unique=True)
        if self.layout == "archive":
            self.pipe.index(PAST, [("docId", 1), ("v", 1)], unique=True)

    def keep(self) -> None:
        """Remember documents, indexes and journal as they are."""
        self.kept = {}
        for coll in self.pipe.store.collections(DB):
            indexes = [index for name, index in coll.indexes.items() if name != "_id_"]
            self.kept[coll.ns] = (list(coll.docs.values()), [(i.keys, i.unique) for i in indexes], coll.uuid)
        self.session.journal.close()  # which brings all that was noted into the one file
        journal = self.home / "journal.sqlite3"
        if journal.exists():
            shutil.copy(journal, self.home / "kept")

    def again(self) -> None:
        """All as it was kept."""
        self.pipe.store.drop(DB)
        for ns, (docs, indexes, id) in self.kept.items():
            self.pipe.load(ns, docs)
            for keys, unique in indexes:
                self.pipe.index(ns, keys, unique)
            made = self.pipe.store.get(*ns.split(".", 1))
            assert made is not None
            made.uuid = id  # else it is another collection for a plan that was made before
        for file in self.home.glob("journal.sqlite3*"):
            file.unlink()
        if (self.home / "kept").exists():
            shutil.copy(self.home / "kept", self.home / "journal.sqlite3")

    def state(self) -> State:
        """What plain PyMongo finds, without what differs from run to run or may stay behind."""
        database = self.eyes[DB]
        found: dict[str, list[dict[str, Any]]] = {
            name: list(database[name].find()) for name in database.list_collection_names() if name != NUMBERS
        }
        if self.layout == "archive":
            found["things_past"] = _without_residue(found.get("things", []), found.get("things_past", []))
        if any(doc.get("name") == "Jonas" and isinstance(doc["_id"], int) for doc in found.get("users", [])):
            found["users"] = [doc if doc["_id"] == 7 else doc | {"_id": "the next"} for doc in found["users"]]
        if self.layout == "flagged":
            found["things"] = _flagged_above(found.get("things", []))
        found = {name: docs for name, docs in found.items() if "quarantine" not in name}  # a copy does no harm
        marked = self.tokens or bool(self.numbering)  # else a token shows as another state each time
        rows = [(name, _plain(doc, self.numbering, marked)) for name, docs in found.items() for doc in docs]
        for name in found:
            for index in database[name].list_indexes():
                if index.get("unique"):
                    rows.append((name, f"unique {dict(index['key'])}"))
        return sorted(rows)


def _plain(doc: dict[str, Any], numbering: str, marked: bool) -> str:
    doc = {name: value for name, value in doc.items() if not (marked and name.startswith("_w"))}
    if isinstance(doc.get("_id"), ObjectId):
        del doc["_id"]
    for part in ("current", "prev"):
        inner = doc.get(part)
        if isinstance(inner, dict):
            doc[part] = _unmarked(inner, marked)
        if isinstance(inner, list):
            doc[part] = [_unmarked(each, marked) for each in inner]
    if numbering and isinstance(doc.get("v"), int):
        doc["v"] = min(doc["v"], 4)  # a number that was drawn and not used leaves a gap
    if "seq" in doc and doc["seq"] != 41:
        doc["seq"] = "the next"  # what was drawn in doubt is left out
    return repr(sorted(doc.items()))


def _unmarked(doc: dict[str, Any], marked: bool) -> dict[str, Any]:
    return {name: value for name, value in doc.items() if not (marked and name == "_w")}


def _content(doc: dict[str, Any]) -> bytes:
    return bson.encode({name: value for name, value in doc.items() if name not in ("_id", "docId", "v", "_w")})


def _without_residue(now: list[dict[str, Any]], past: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The archive without a copy of what is current still: the next edit absorbs it."""
    current = {(doc["_id"], doc["v"]): _content(doc) for doc in now}
    return [row for row in past if current.get((row["docId"], row["v"])) != _content(row)]


def _flagged_above(docs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the flags below the newest version: the next edit takes them away."""
    top = {doc["docId"]: max(d["v"] for d in docs if d["docId"] == doc["docId"]) for doc in docs}
    return [
        {name: value for name, value in doc.items() if name != "current" or doc["v"] == top[doc["docId"]]}
        for doc in docs
    ]


@contextmanager
def ground(
    layout: str, numbering: str = "", replica_set: bool = False, patience: float = PATIENCE, tokens: bool = False
) -> Iterator[Ground]:
    """Everything for one layout on one kind of server; its session gives a message up after ``patience`` seconds.

    Writes leave a token in documents only with ``tokens``, or where numbers are drawn.
    """
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(dir=shared) as folder,
        BlackPipe(**({"replica_set": "rs0"} if replica_set else {})) as pipe,
        pymongo.MongoClient[dict[str, Any]](pipe.uri) as eyes,
    ):
        home = Path(folder)
        stated = home / "profile.toml"
        stated.write_text(profile(layout, numbering, tokens), "utf-8")
        wait = int(patience * 1000)
        limits = f"&socketTimeoutMS={wait}&connectTimeoutMS={2 * wait}&serverSelectionTimeoutMS={2 * wait}"
        for name in ONCE if layout == "once" else ("stats" if layout == "pending" else "things",):
            pipe.load(f"{DB}.{name}", [])
        with _opened(pipe.uri + limits, stated, home) as session:
            yield Ground(pipe, session, eyes, home, layout, numbering, tokens, pipe.uri)


def _opened(uri: str, profile: Path, home: Path) -> Session:
    """A session, opened again where a busy machine let it wait too long for its short limits."""
    for tries_left in (4, 3, 2, 1, 0):
        try:
            return Session.open(uri, profile=profile, home=home)
        except Unreachable:
            if not tries_left:
                raise
    raise AssertionError
