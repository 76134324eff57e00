"""For the scenes: two sets of field names, a database in the making, and the findings that a scan should have."""

from __future__ import annotations

import contextlib
import datetime as dt
import random
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import bson
import pymongo
from bson import Int64, ObjectId
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo.errors import PyMongoError

from model.foundation.findings import Finding, Unchecked
from model.profile import Profile
from model.session import Session
from model.values import canonical as c
from model.values.canonical import Value

NOW = dt.datetime(2026, 11, 20, 14, 31, tzinfo=dt.UTC)
RAW: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawBSONDocument)


@dataclass(frozen=True)
class Names:
    """What the fields are called."""

    id: str = "docId"
    v: str = "v"
    token: str = "_w"
    archive_id: str = "docId"
    current: str = "current"
    sub: str = "current"
    prev: str = "prev"
    hash: str = "_versioned_id"
    at: str = "changedAt"
    removed: str = "gone"
    pending: str = "pending"
    applied: str = "applied"
    count: str = "count"
    processed: str = "processed"
    key: str = "key"
    seq: str = "seq"


SEEDS = Names()
OTHERS = Names(
    "contract", "revision", "writer", "of", "live", "now", "before", "digest", "stamp", "taken", "waiting", "done",
    "total", "seen", "name", "last",
)  # fmt: skip
SETS = {"default": SEEDS, "other": OTHERS}

Row = tuple[str, str, bytes, tuple[bytes, ...] | None, str | None]
"""class, ns, id, versions (None: any), repair; ids and versions as type and payload."""


class Dice(random.Random):
    """A generator with what scenes throw for."""

    def oid(self, at: dt.datetime = NOW - dt.timedelta(days=90)) -> ObjectId:
        """An ObjectId made at a time, by a maker that no other has."""
        return ObjectId(struct.pack(">I", int(at.timestamp())) + self.randbytes(8))

    def content(self) -> dict[str, Any]:
        """What users put into a version."""
        made: dict[str, Any] = {
            "status": self.choice(("active", "lapsed", "offer")),
            "net": self.randrange(10**6) / 100,
        }
        for name in self.sample(("zone", "agent", "riders", "period", "notes", "größe", "sum"), self.randrange(1, 6)):
            made[name] = self.choice(
                (
                    self.randrange(2**31), Int64(self.randrange(2**40)), self.random(), None, True, "Övelgönne",
                    [1, "2", 3.0], {"from": NOW, "to": None}, bson.Decimal128("438.60"), self.oid(), [{"_id": "GLASS"}],
                )
            )  # fmt: skip
        return made


def value_bytes(value: Any) -> bytes:
    """A value as its type and payload."""
    of = value if isinstance(value, Value) else Value.of(value)
    return bytes((of.type,)) + of.data


@dataclass
class Scene:
    """A database with one collection, what belongs to it, and what a scan should find."""

    name: str
    db: str
    names: Names
    dice: Dice
    layout: str
    fields: dict[str, Any] = field(default_factory=dict)
    indexes: list[tuple[str, list[tuple[str, int]]]] = field(default_factory=list)
    stored: dict[str, list[bytes]] = field(default_factory=dict)
    expected: Counter[Row] = field(default_factory=Counter)
    others: list[dict[str, Any]] = field(default_factory=list)  # further collections of the profile
    first: int = 0  # the number of its first id
    sound: dict[bytes, tuple[Row, Row]] = field(default_factory=dict)  # what a document that cannot be damaged changes
    broken: dict[bytes, Row] = field(default_factory=dict)  # what a stored document is told for, by its `_id`

    @property
    def ns(self) -> str:
        """The collection that is scanned."""
        return f"{self.db}.things"

    @property
    def past(self) -> str:
        """Its archive."""
        return f"{self.db}.things_past"

    def put(self, document: dict[str, Any] | bytes, ns: str = "") -> bytes:
        """One more stored document."""
        raw = document if isinstance(document, bytes) else bson.encode(document)
        self.stored.setdefault(ns or self.ns, []).append(raw)
        return raw

    def expect(
        self, code: str, id: Any, versions: Sequence[Any] | None = (), repair: str | None = None, ns: str = ""
    ) -> None:
        """A finding that a scan must tell."""
        told = None if versions is None else tuple(map(value_bytes, versions))
        self.expected[(code, ns or self.ns, value_bytes(id), told, repair)] += 1

    def expect_broken(self, id: Any, v: Any, physical: Any) -> None:
        """A version that cannot be read, in a stored document of its own."""
        self.expect("B1", id, [v])
        self.broken[value_bytes(physical)] = ("B1", self.ns, value_bytes(id), (value_bytes(v),), None)

    def expect_for_damage(self, code: str, id: Any, versions: Sequence[Any], damaged: Any, repair: str) -> None:
        """A finding without a repair, for it rests on a damaged document; with one where a server mended that."""
        self.expect(code, id, versions)
        row = (code, self.ns, value_bytes(id), tuple(map(value_bytes, versions)))
        self.sound[value_bytes(damaged)] = ((*row, None), (*row, repair))

    def profile(self) -> Profile:
        """The profile that states all names."""
        table: dict[str, Any] = {"ns": self.ns, "layout": self.layout, **self.fields}
        return Profile.read({"collection": [table, *self.others]}, "the scene")

    def fill(self, client: pymongo.MongoClient[Any]) -> None:
        """Store everything. What a server refuses, or stores as something else, is not expected any more."""
        for ns, raws in self.stored.items():
            self.dice.shuffle(raws)
            db, _, name = ns.partition(".")
            collection = client[db].get_collection(name, codec_options=RAW)
            if self.name.startswith("B1"):
                for raw in raws:
                    self._try(collection, raw)
                continue
            for at in range(0, len(raws), 500):
                collection.insert_many([RawBSONDocument(raw, RAW) for raw in raws[at : at + 500]])
        for ns, keys in self.indexes:
            db, _, name = ns.partition(".")
            client[db][name].create_index(keys)

    def _try(self, collection: Any, raw: bytes) -> None:
        id = c.get(raw, ("_id",))
        assert id is not None
        where = RawBSONDocument(c.document([("_id", id)]), RAW)
        back = b""
        with contextlib.suppress(PyMongoError):
            collection.insert_one(RawBSONDocument(raw, RAW))
            back = bytes(collection.find_one(where).raw)
        if back == raw:
            return
        with contextlib.suppress(PyMongoError):
            collection.delete_one(where)
        for row in [row for row in self.expected if row[2] == value_bytes(id)]:
            del self.expected[row]
        if value_bytes(id) in self.broken:
            del self.expected[self.broken[value_bytes(id)]]
        if value_bytes(id) in self.sound:
            told, instead = self.sound[value_bytes(id)]
            self.expected[told] -= 1
            self.expected[instead] += 1
        collection.insert_one(RawBSONDocument(c.without(raw, ("a", "x")), RAW))  # so that nothing else is missing

    def wrong(self, found: Sequence[Finding | Unchecked]) -> list[str]:
        """What a scan missed, or told although it is not so."""
        left = Counter(self.expected)
        loose = {(row[:3], row[4]): row for row in left if row[3] is None}
        extra: list[str] = []
        for each in found:
            if isinstance(each, Unchecked):
                continue
            id = b"" if each.id is None else value_bytes(each.id)
            row: Row = (each.code, each.ns, id, tuple(map(value_bytes, each.versions)), each.repair)
            row = row if left[row] else loose.get((row[:3], row[4]), row)
            if left[row]:
                left[row] -= 1
            else:
                numbers = [v.python() for v in each.versions]
                extra.append(f"told: {each.code} {each.id and each.id.python()} {numbers} {each.detail} {each.repair}")
        return [*extra, *(f"missed: {row} × {count}" for row, count in left.items() if count > 0)]


def scanned(uri: str, scene: Scene, gentle: bool = False) -> list[Finding | Unchecked]:
    """What a scan of the scene's database tells."""
    with opened(uri, scene) as session:
        return list(session.scans.scan([scene.db], pace="gentle" if gentle else "fast", now=NOW))


def opened(uri: str, scene: Scene) -> Session:
    """A session with the scene's profile."""
    session = Session.open(uri)
    session.catalogue._profile = scene.profile()  # a file would say the same
    return session


def numbered(first: int = 0) -> Iterator[int]:
    """0, 1, 2 …"""
    while True:
        yield first
        first += 1


def content_hash(content: dict[str, Any]) -> str:
    """The hash that the seed stores."""
    return c.hash_of(bson.encode(content))
