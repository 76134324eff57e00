"""Documents with each kind of damage, planted by plain PyMongo under two sets of field names.

Every case states what a scan must find, what a person answers if asked, and which contents count.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import bson
import pymongo.database
from bson import Int64, ObjectId

Doc = dict[str, Any]
Db = pymongo.database.Database[Doc]


@dataclass(frozen=True)
class Names:
    """What the fields are called."""

    id: str = "docId"
    v: str = "v"
    w: str = "_w"
    of: str = "docId"
    flag: str = "current"
    now: str = "current"
    prev: str = "prev"
    hash: str = "_versioned_id"
    pending: str = "pending"
    applied: str = "applied"
    count: str = "count"
    seen: str = "processed"
    seq: str = "seq"

    @property
    def own(self) -> set[str]:
        """What is no content."""
        return {"_id", self.id, self.v, self.w, self.of, self.flag, self.hash, f"{self.w}_next"}


NAMES = {
    "default": Names(),
    "other": Names(
        *("ref", "rev", "writeToken", "of", "newest", "now", "before", "digest", "open", "done", "hits", "seen", "last")
    ),
}


class Maker:
    """Makes documents: old ObjectIds that are the same for the same seed, and contents that are all different."""

    def __init__(self, names: Names, seed: int) -> None:
        self.names, self.rng = names, random.Random(seed)
        self.began = dt.datetime.now(dt.UTC) - dt.timedelta(days=9)
        self.made = 0

    def oid(self) -> ObjectId:
        """An ObjectId of nine days ago, each a second later than the one before."""
        self.made += 1
        at = int((self.began + dt.timedelta(seconds=self.made)).timestamp())
        return ObjectId(at.to_bytes(4, "big") + b"\x01\x02\x03\x04\x05" + self.made.to_bytes(3, "big"))

    def content(self, id: str, v: int) -> Doc:
        """What a user put into a version."""
        return {
            "title": f"{id} as of {v}",
            "premium": {"net": self.rng.randrange(100, 900), "gross": float(v) + 0.5},
            "riders": [{"code": "A", "sum": v}, {"code": "B", "sum": Int64(v * 10)}],
            "note": None if v % 2 else "changed",
        }

    def version(self, id: str, v: Any, content: Doc | None = None, **more: Any) -> Doc:
        """A version that is a document of its own."""
        n = self.names
        number = int(float(v))
        head = {"_id": self.oid(), n.id: id, n.v: v, n.w: self.oid()}
        return {**head, **(content or self.content(id, number)), **more}

    def row(self, id: str, v: Any, content: Doc | None = None) -> Doc:
        """A row of an archive."""
        n = self.names
        return {"_id": self.oid(), n.of: id, n.v: v, n.w: self.oid(), **(content or self.content(id, int(float(v))))}

    def current(self, id: str, v: Any, content: Doc | None = None) -> Doc:
        """A current document beside an archive."""
        n = self.names
        return {"_id": id, n.v: v, n.w: self.oid(), **(content or self.content(id, int(float(v))))}

    def part(self, id: str, v: Any, content: Doc | None = None) -> Doc:
        """A version inside a document."""
        n = self.names
        return {n.v: v, n.w: self.oid(), **(content or self.content(id, int(float(v))))}


Planted = dict[str, list[Doc]]
"""Documents by the name of their collection."""


@dataclass(frozen=True)
class Case:
    """One kind of damage."""

    name: str
    layout: str
    plant: Callable[[Maker, str], Planted]  # one damaged document, by its id
    finds: tuple[str, ...]  # classes that a scan must tell of it
    answers: dict[str, str] = field(default_factory=dict)  # by class
    unique: bool = False  # the layout's unique index is there
    counts: bool = False  # it is about counts: what changes is content itself
    most: int = 100  # documents that are planted at once; those that are large take their time
    rounds: int = 1  # how often all has to be scanned and repaired until nothing is left

    def profile(self, db: str, names: Names) -> str:
        """The TOML that states the collections."""
        n = names
        lines = ["[[collection]]", f'ns = "{db}.things"', f'layout = "{self.layout}"']
        if self.layout in ("archive", "stream"):
            lines += [
                f'archive = "{db}.things_past"',
                f'archive_id = "{n.of}"',
                f'version = "{n.v}"',
                f'token = "{n.w}"',
            ]
        elif self.layout in ("versions", "flagged", "deltas"):
            lines += [f'id = "{n.id}"', f'version = "{n.v}"', f'token = "{n.w}"']
            lines += [f'current = "{n.flag}"'] if self.layout == "flagged" else []
        elif self.layout == "embedded":
            lines += [f'current = "{n.now}"', f'prev = "{n.prev}"', f'version = "{n.v}"', f'token = "{n.w}"']
            lines += [f'archive = "{db}.things_past"', f'archive_id = "{n.of}"']
        elif self.layout == "hashed":
            lines += [f'token = "{n.w}"']
        elif self.layout == "pending":
            lines += [f'pending = "{n.pending}"', f'applied = "{n.applied}"', f'counter = "{n.count}"']
        elif self.layout == "processed":
            lines += [f'processed = "{n.seen}"']
        elif self.layout == "sequence":
            lines += [f'counter = "{n.seq}"', f'targets = {{ invoices = "{db}.invoices:number" }}']
        if self.layout not in ("pending", "processed", "sequence"):
            lines += [f'hash = "{n.hash}"']
        return "\n".join(lines) + "\n"

    def put(self, database: Db, names: Names, count: int, seed: int = 1) -> None:
        """Plant so many damaged documents, and as many sound ones beside them."""
        make = Maker(names, seed)
        for at in range(min(count, self.most)):
            for name, docs in self.plant(make, f"K-{at}").items():
                database[name].insert_many(docs)
            for name, docs in sound(self, make, f"S-{at}").items():
                database[name].insert_many(docs)
        if self.unique:
            n = names
            ns, id = ("things_past", n.of) if self.layout == "archive" else ("things", n.id)
            database[ns].create_index([(id, 1), (n.v, 1)], unique=True)


def sound(case: Case, make: Maker, id: str) -> Planted:
    """A document of the same layout with nothing wrong."""
    n = make.names
    match case.layout:
        case "versions":
            return {"things": [make.version(id, v) for v in (1, 2)]}
        case "flagged":
            return {"things": [make.version(id, 1), make.version(id, 2) | {n.flag: True}]}
        case "archive":
            return {"things": [make.current(id, 2)], "things_past": [make.row(id, 1)]}
        case "stream":
            current = make.current(id, 2)
            return {"things": [current], "things_past": [make.row(id, 1), copied(make, current)]}
        case "embedded":
            return {"things": [{"_id": id, n.now: make.part(id, 2), n.prev: [make.part(id, 1)]}]}
        case "hashed":
            content = make.content(id, 1)
            return {"things": [{"_id": id, **content, n.hash: hash_of(content), n.w: make.oid()}]}
        case "pending":
            return {"things": [{"_id": id, n.count: 3, n.pending: [], n.applied: []}]}
        case "processed":
            return {"things": [{"_id": id, "count": 3, n.seen: ["a", "b", "c"]}]}
    return {}


def copied(make: Maker, current: Doc) -> Doc:
    """The archive's row of a current document."""
    return {"_id": make.oid(), make.names.of: current["_id"]} | {k: v for k, v in current.items() if k != "_id"}


def hash_of(content: Doc) -> str:
    """The hash that the seeds store: SHA-1 of the content's BSON."""
    return hashlib.sha1(bson.encode(content), usedforsecurity=False).hexdigest()


# --- versions as documents


def duplicates(make: Maker, id: str) -> Planted:
    content = make.content(id, 2)
    twice = [make.version(id, 2, content), make.version(id, 2, content)]
    return {"things": [make.version(id, 1), *twice, make.version(id, 3)]}


def three_equal(make: Maker, id: str) -> Planted:
    content = make.content(id, 2)
    return {"things": [make.version(id, 1), *(make.version(id, 2, content) for _ in range(3))]}


def text_version(make: Maker, id: str) -> Planted:
    return {"things": [make.version(id, 1), make.version(id, "2"), make.version(id, 3.0), make.version(id, 4)]}


def sealed(make: Maker, id: str) -> Planted:
    wrong = make.version(id, 2) | {make.names.hash: "0" * 40}
    return {"things": [make.version(id, 1), wrong]}


def none_flagged(make: Maker, id: str) -> Planted:
    return {"things": [make.version(id, v) for v in (1, 2, 3)]}


def several_flagged(make: Maker, id: str) -> Planted:
    f = make.names.flag
    return {
        "things": [make.version(id, 1) | {f: True}, make.version(id, 2) | {f: True}, make.version(id, 3) | {f: True}]
    }


def wrong_flagged(make: Maker, id: str) -> Planted:
    f = make.names.flag
    return {
        "things": [make.version(id, 1) | {f: False}, make.version(id, 2) | {f: True}, make.version(id, 3) | {f: False}]
    }


def flagged_twice(make: Maker, id: str) -> Planted:
    content, f = make.content(id, 2), make.names.flag
    newest = [make.version(id, 2, content) | {f: True} for _ in range(2)]
    return {"things": [make.version(id, 1) | {f: True}, *newest]}


# --- archives


def phantom(make: Maker, id: str) -> Planted:
    return {"things": [make.current(id, 3)], "things_past": [make.row(id, v) for v in (1, 2, 4)]}


def two_phantoms(make: Maker, id: str) -> Planted:
    return {"things": [make.current(id, 2)], "things_past": [make.row(id, v) for v in (1, 3, 4)]}


def residue(make: Maker, id: str) -> Planted:
    current = make.current(id, 3)
    return {"things": [current], "things_past": [make.row(id, 1), make.row(id, 2), copied(make, current)]}


def phantom_and_residue(make: Maker, id: str) -> Planted:
    found = residue(make, id)
    return {"things": found["things"], "things_past": [*found["things_past"], make.row(id, 4)]}


def edited_in_place(make: Maker, id: str) -> Planted:
    current = make.current(id, 3)
    row = copied(make, current)
    return {"things": [current | {"title": "in place"}], "things_past": [make.row(id, 1), make.row(id, 2), row]}


def edited_below_phantom(make: Maker, id: str) -> Planted:
    found = edited_in_place(make, id)
    return {"things": found["things"], "things_past": [*found["things_past"], make.row(id, 4)]}


def orphans(make: Maker, id: str) -> Planted:
    return {"things_past": [make.row(id, v) for v in (1, 2, 3)]}


def archived_twice(make: Maker, id: str) -> Planted:
    content = make.content(id, 1)
    return {"things": [make.current(id, 2)], "things_past": [make.row(id, 1, content), make.row(id, 1, content)]}


def text_row(make: Maker, id: str) -> Planted:
    return {"things": [make.current(id, 3)], "things_past": [make.row(id, 1), make.row(id, "2")]}


def lagging(make: Maker, id: str) -> Planted:
    return {"things": [make.current(id, 3)], "things_past": [make.row(id, 1), make.row(id, 2)]}


def lagging_behind_a_gap(make: Maker, id: str) -> Planted:
    return {"things": [make.current(id, 4)], "things_past": [make.row(id, 1), make.row(id, 3)]}


# --- inside one document


def out_of_order(make: Maker, id: str) -> Planted:
    n = make.names
    parts = [make.part(id, v) for v in (3, 1, 2)]
    return {"things": [{"_id": id, n.now: make.part(id, 4), n.prev: parts}]}


def repeated(make: Maker, id: str) -> Planted:
    n, one = make.names, make.part(id, 1)
    return {"things": [{"_id": id, n.now: make.part(id, 3), n.prev: [one, make.part(id, 2), one], "beside": 1}]}


def text_inside(make: Maker, id: str) -> Planted:
    n = make.names
    return {"things": [{"_id": id, n.now: make.part(id, 3), n.prev: [make.part(id, "1"), make.part(id, 2.0)]}]}


def outgrown(make: Maker, id: str) -> Planted:
    n = make.names
    parts = [make.part(id, v, make.content(id, v) | {"scan": make.rng.randbytes(5 << 20)}) for v in (1, 2, 3)]
    return {"things": [{"_id": id, n.now: make.part(id, 5), n.prev: [*parts, make.part(id, 4)], "beside": 1}]}


def wrong_hash(make: Maker, id: str) -> Planted:
    content = make.content(id, 1)
    return {"things": [{"_id": id, **content, make.names.hash: hash_of({"a": 1}), make.names.w: make.oid()}]}


# --- counts


def behind(make: Maker, id: str) -> Planted:
    if id != "K-0":
        return {}
    return {
        "things": [{"_id": "invoices", make.names.seq: 3}],
        "invoices": [{"_id": make.oid(), "number": number} for number in (1, 2, 3, 4, 7)],
    }


def repeats(make: Maker, id: str) -> Planted:
    return {"things": [{"_id": id, "count": 5, make.names.seen: ["a", "b", "a", "c", "b", "a"], "note": "x"}]}


def old_tokens(make: Maker, id: str) -> Planted:
    n = make.names
    return {"things": [{"_id": id, n.count: 5, n.pending: [make.oid(), make.oid()], n.applied: [make.oid()]}]}


def null_count(make: Maker, id: str) -> Planted:
    n = make.names
    return {"things": [{"_id": id, n.count: None, n.pending: [make.oid(), make.oid()]}]}


def applied_too(make: Maker, id: str) -> Planted:
    n, token = make.names, make.oid()
    return {"things": [{"_id": id, n.count: 5, n.pending: [token], n.applied: [make.oid(), token]}]}


def both_tokens(make: Maker, id: str) -> Planted:
    n, token = make.names, make.oid()
    return {"things": [{"_id": id, n.count: Int64(5), n.pending: [token, make.oid()], n.applied: [token]}]}


def no_number(make: Maker, id: str) -> Planted:
    n = make.names
    return {"things": [{"_id": id, n.count: "5", n.pending: [make.oid()], n.applied: []}]}


def summed_over_nothing(make: Maker, id: str) -> Planted:
    return {"things": [{"_id": id, make.names.count: None}]}


CASES = (
    Case("V1", "versions", duplicates, ("V1",)),
    Case("V1 three", "versions", three_equal, ("V1",)),
    Case("V1 archive", "archive", archived_twice, ("V1",)),
    Case("V3", "versions", text_version, ("V3",), {"V3": "convert"}),
    Case("V3 archive", "archive", text_row, ("V3",), {"V3": "convert"}, unique=True),
    Case("V3 embedded", "embedded", text_inside, ("V3",), {"V3": "convert"}),
    Case("C1 none", "flagged", none_flagged, ("C1",), unique=True),
    Case("C1 several", "flagged", several_flagged, ("C1",), unique=True),
    Case("C1 wrong", "flagged", wrong_flagged, ("C1",), unique=True),
    Case("C1 and V1", "flagged", flagged_twice, ("C1", "V1")),
    Case("A1", "archive", residue, ("A1",), unique=True),
    Case("A2", "archive", edited_in_place, ("A2",), unique=True),
    Case("A3", "archive", phantom, ("A3",), unique=True),
    Case("A3 two", "archive", two_phantoms, ("A3",), unique=True),
    Case("A3 and A1", "archive", phantom_and_residue, ("A1", "A3"), unique=True),
    Case("A3 and A2", "archive", edited_below_phantom, ("A2", "A3"), unique=True),
    Case("A5", "archive", orphans, ("A5",), {"A5": "restore"}, unique=True),
    Case("R1", "stream", lagging, ("R1",)),
    Case("R1 behind a gap", "stream", lagging_behind_a_gap, ("R1",)),
    Case("E1 order", "embedded", out_of_order, ("E1",)),
    Case("E1 repeated", "embedded", repeated, ("E1",)),
    Case("E2", "embedded", outgrown, ("E2",), {"E2": "move"}, most=1),
    Case("H1", "hashed", wrong_hash, ("H1",), {"H1": "rebuild"}),
    Case("H1 versions", "versions", sealed, ("H1",), {"H1": "rebuild"}, unique=True),
    Case("S1", "sequence", behind, ("S1",), counts=True),
    Case("P2", "processed", repeats, ("P2",), counts=True),
    Case("T1", "pending", old_tokens, ("T1",), counts=True),
    Case("T1 null", "pending", null_count, ("T1",), counts=True),
    Case("T2", "pending", applied_too, ("T2",), counts=True),
    Case("T1 and T2", "pending", both_tokens, ("T1", "T2"), counts=True),
    Case("T3 null", "pending", summed_over_nothing, ("T3",), {"T3": "5"}, counts=True),
    Case("T3 and T1", "pending", no_number, ("T3",), {"T3": "5"}, counts=True, rounds=2),
)


def contents(database: Db, names: Names) -> set[tuple[str, str]]:
    """Each document's id with the digest of each content that it has anywhere, the quarantine included."""
    found: set[tuple[str, str]] = set()
    for collection in database.list_collection_names():
        for doc in database[collection].find():
            if collection == "quarantine":
                doc = doc["doc"]
            found |= set(_parts(doc, names))
    return found


def _parts(doc: Doc, n: Names) -> Iterator[tuple[str, str]]:
    id = str(doc.get(n.of, doc.get(n.id, doc["_id"])))
    inner = doc.get(n.now)
    if isinstance(inner, dict):
        for part in (inner, *doc.get(n.prev, ())):
            yield id, _digest(part, n)
        return
    yield id, _digest(doc, n)


def _digest(doc: Doc, n: Names) -> str:
    content = {name: value for name, value in doc.items() if name not in n.own}
    return hashlib.sha256(bson.encode(content)).hexdigest()


def snapshot(database: Db) -> dict[str, list[bytes]]:
    """Every byte of a database: raw documents by collection, in the order of their ids; what is empty left out."""
    found: dict[str, list[bytes]] = {}
    for name in sorted(database.list_collection_names()):
        raws = database.get_collection(name, codec_options=_RAW).find()
        if rows := sorted(bytes(each.raw) for each in raws):
            found[name] = rows
    return found


_RAW = bson.codec_options.CodecOptions(document_class=bson.raw_bson.RawBSONDocument)
