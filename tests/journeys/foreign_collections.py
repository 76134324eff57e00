"""Collections as other programs leave them: ordinary ones, ones with a lock, and versions as the seeds write them.

Each has an edit for the command line and, written by hand, what the database must then hold. ``ANY`` stands for a
value that must only be new: a new ``_id``, a renewed lock.
"""

from __future__ import annotations

import copy
import datetime as dt
import hashlib
import json
import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import bson
from bson import Binary, Code, DBRef, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp

Row = dict[str, Any]
Rows = dict[str, list[Row]]
ANY = "any new value"
MANY = 12
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "hazel", "iris", "juniper", "kelp", "larch")


@dataclass(frozen=True)
class Collection:
    """The first collection of ``rows`` takes an edit of the document ``id``."""

    name: str
    rows: Rows
    id: str
    set: Mapping[str, Any]
    after: Callable[[Rows], None] | None
    """Changes a copy of ``rows`` as the edit must; None if the edit is refused."""
    unset: tuple[str, ...] = ()
    unique: Mapping[str, Sequence[str]] = field(default_factory=dict)
    asked: str = ""  # words of the refusal
    versioned: bool = False

    @property
    def main(self) -> str:
        """The collection that is edited."""
        return next(iter(self.rows))

    def expected(self) -> Rows | None:
        """What is stored after the edit."""
        if self.after is None:
            return None
        rows = copy.deepcopy(self.rows)
        self.after(rows)
        return rows


# --- values as applications write them

_chance = random.Random(40)
_second = [1_500_000_000]


def _oid() -> ObjectId:
    """An id that is younger than the one before."""
    _second[0] += _chance.randrange(1, 900)
    return ObjectId(_second[0].to_bytes(4, "big") + _chance.randbytes(8))


def _day(number: int) -> dt.datetime:
    return dt.datetime(2023, 1, 1, number % 24, 30, 0, 137_000) + dt.timedelta(days=number)


def _word() -> str:
    return _chance.choice(WORDS)


def _uuid() -> uuid.UUID:
    return uuid.UUID(int=_chance.getrandbits(128), version=4)


def _written(value: Any) -> str:
    """An id as it is typed on the command line."""
    said = json.loads(bson.json_util.dumps(value, json_options=bson.json_util.CANONICAL_JSON_OPTIONS))
    return said if isinstance(said, str) else json.dumps(said)


def _put(document: Row, path: str, value: Any) -> None:
    *above, last = path.split(".")
    at: Any = document
    for part in above:
        at = at[int(part)] if isinstance(at, list) else at[part]
    at[int(last) if isinstance(at, list) else last] = value


# --- ordinary documents, and documents with a lock


def _plain(
    name: str,
    make: Callable[[int], Row],
    set: Mapping[str, Any],
    moved: Mapping[str, Callable[[Any], Any]] | None = None,
) -> Collection:
    rows = {name: [make(n) for n in range(MANY)]}

    def after(rows: Rows) -> None:
        document = rows[name][5]
        for path, value in set.items():
            _put(document, path, value)
        for path, move in (moved or {}).items():
            _put(document, path, move(document[path]))

    return Collection(name, rows, _written(rows[name][5]["_id"]), set, after)


def _refused(name: str, make: Callable[[int], Row], lock: str) -> Collection:
    rows = {name: [make(n) for n in range(MANY)]}
    return Collection(name, rows, _written(rows[name][5]["_id"]), {"name": "edited"}, None, asked=lock)


def _without_b() -> Collection:
    rows: Rows = {"thinner": [{"_id": n, "a": 1, "b": {"c": n}, "d": 3} for n in range(MANY)]}
    return Collection("thinner", rows, "5", {}, lambda rows: rows["thinner"][5].__delitem__("b"), unset=("b",))


ORDINARY = (
    _plain(
        "customers",
        lambda n: {
            "_id": _oid(),
            "name": _word(),
            "email": f"{n}@example.org",
            "age": 20 + n,
            "address": {"city": _word(), "zip": str(10_000 + n)},
            "createdAt": _day(n),
        },
        {"address.city": "Wien"},
    ),
    _plain(
        "orders",
        lambda n: {
            "_id": n,
            "total": Decimal128("12.50"),
            "status": _word(),
            "lines": [{"sku": _word(), "qty": q, "price": Decimal128(f"{q}.90")} for q in range(3)],
        },
        {"lines.1.qty": 70},
    ),
    _plain(
        "wide_numbers", lambda n: {"_id": Int64(2**40 + n), "n": Int64(n), "d": float(n), "i": n, "b": True}, {"i": 77}
    ),
    _plain(
        "countries",
        lambda n: {"_id": f"C{n:02}", "name": {"en": _word(), "de": _word()}, "area": 1.5},
        {"name.de": "x"},
    ),
    _plain(
        "devices",
        lambda n: {
            "_id": Binary(_uuid().bytes, 4),
            "serial": _word(),
            "key": Binary(b"\0\1" * 8),
            "md5": Binary(b"1" * 16, 5),
            "old": Binary(b"2" * 16, 3),
            "own": Binary(b"zz", 128),
        },
        {"serial": "z"},
    ),
    _plain(
        "hits",
        lambda n: {"_id": {"d": _day(n), "u": n}, "hits": n * 3, "ms": [1, [2, {"x": [{"y": 1}]}]]},
        {"hits": 99},
    ),
    _plain(
        "every_type",
        lambda n: {
            "_id": n,
            "min": MinKey(),
            "max": MaxKey(),
            "re": Regex("^a.*b$", "im"),
            "code": Code("function(){}"),
            "scoped": Code("f", {"a": 1}),
            "ts": Timestamp(100 + n, 1),
            "ref": DBRef("users", _oid(), "db"),
            "nan": float("nan"),
            "inf": float("-inf"),
            "nz": -0.0,
            "dn": Decimal128("NaN"),
            "name": _word(),
        },
        {"name": "edited"},
    ),
    _plain("order_of_fields", lambda n: {"z": n, "name": _word(), "_id": n, "a": {"z": 1, "b": 2, "a": 3}}, {"a.b": 9}),
    _plain(
        "empty_parts",
        lambda n: {"_id": n, "e": {}, "l": [], "s": "", "ll": [[], [[]], {}], "name": _word()},
        {"e.new": 1},
    ),
    _plain("unicode", lambda n: {"_id": f"ä{n}", "größe": n, "名前": _word(), "a name": 1}, {"größe": 50}),
    _plain(
        "ragged",
        lambda n: {"_id": _oid(), **dict.fromkeys(_chance.sample(WORDS, 4), n), "kind": _word()},
        {"kind": "q"},
    ),
    _plain(
        "places",
        lambda n: {"_id": _oid(), "loc": {"type": "Point", "coordinates": [16.3 + n, 48.2]}},
        {"loc.coordinates.0": 1.5},
    ),
    _plain(
        "sessions",
        lambda n: {
            "_id": hashlib.sha1(str(n).encode()).hexdigest(),
            "expires": _day(800 + n),
            "session": f'{{"a":{n}}}',
        },
        {"session": "{}"},
    ),
    _plain(
        "nodes",
        lambda n: {"_id": n, "parent": n // 2, "path": f",{n // 2},{n},", "kids": [2 * n, 2 * n + 1]},
        {"kids": [1]},
    ),
    _plain("three_hundred_fields", lambda n: {"_id": n, **{f"f{k}": k for k in range(300)}}, {"f150": 7}),
    _plain("matrix", lambda n: {"_id": _oid(), "items": [[1, 2], [3, 4]], "tags": ["a"]}, {"items.0.1": 9}),
    _plain("grows", lambda n: {"_id": n, "m": 1, "z": 2}, {"b": 3}),
    _plain(
        "editions", lambda n: {"_id": _oid(), "version": f"{n}.0", "title": _word(), "deletedAt": None}, {"title": "t"}
    ),
    _plain("bookings", lambda n: {"_id": _oid(), "at": _day(n), "kind": _word(), "by": {"k": _word()}}, {"by.k": "w"}),
    _without_b(),
    _plain(
        "matches",  # as the talk on asynchronous writes has them
        lambda n: {
            "_id": _oid(),
            "id": 9990 + n,
            "status": _word(),
            "startDate": "2014-06-13T18:00Z",
            "teams": {"home": {"roster": ["a", "b"]}, "away": {"roster": ["c"]}},
        },
        {"teams.home.roster.0": "z"},
    ),
)

LOCKED = (
    _plain(
        "posts",
        lambda n: {"_id": _oid(), "title": _word(), "tags": ["a"], "__v": n % 4},
        {"title": "t"},
        {"__v": lambda v: v + 1},
    ),
    _plain("users", lambda n: {"_id": _oid(), "name": _word(), "__v": 0}, {"name": "t"}, {"__v": lambda v: v + 1}),
    _plain(
        "long_lock",
        lambda n: {"_id": _oid(), "name": _word(), "__v": Int64(n)},
        {"name": "t"},
        {"__v": lambda v: Int64(v + 1)},
    ),
    _plain(
        "accounts",
        lambda n: {"_id": _oid(), "owner": _word(), "version": Int64(n % 5), "_class": "com.example.Account"},
        {"owner": "t"},
        {"version": lambda v: Int64(v + 1)},
    ),
    _plain(
        "items",
        lambda n: {"_id": _oid(), "revision_id": Binary(_uuid().bytes, 4), "name": _word(), "price": n},
        {"price": 999},
        {"revision_id": lambda v: ANY},
    ),
    _refused("opt_lock", lambda n: {"_id": n, "name": _word(), "optLockVersion": n % 4 + 1}, "optLockVersion"),
    _refused(
        "row_bytes", lambda n: {"_id": n, "name": _word(), "rowVersion": Binary(bytes([0] * 7 + [n]))}, "rowVersion"
    ),
    _refused("row_date", lambda n: {"_id": n, "name": _word(), "rowVersion": _day(n)}, "rowVersion"),
    _refused("quoted_tag", lambda n: {"_id": n, "name": _word(), "etag": f'W/"{n}"'}, "etag"),
    _refused("revisions", lambda n: {"_id": n, "name": _word(), "revisionId": _uuid().hex}, "revisionId"),
    _refused("below_meta", lambda n: {"_id": n, "name": _word(), "meta": {"revision": n + 1}}, "meta.revision"),
    _refused(
        "spring_entity",
        lambda n: {"_id": n, "name": _word(), "entityVersion": Int64(n), "_class": "a.B"},
        "entityVersion",
    ),
    _refused("couch", lambda n: {"_id": n, "name": _word(), "_rev": f"{n + 1}-{_uuid().hex}"}, "_rev"),
    _refused("stamped", lambda n: {"_id": n, "name": _word(), "concurrencyStamp": str(_uuid())}, "concurrencyStamp"),
)


# --- versions as the seeds write them

_IDS = range(170, 180)
_KEY = ("docId", "v")


def _states(id: int) -> list[Row]:
    """Three states of one document, of which each keeps something of the one before."""
    return [{"attr1": 165 + id}, {"attr1": 165 + id, "attr2": "A-1"}, {"attr1": 184 + id, "attr2": "A-1"}]


def _numbered(id: int, key: str = "docId") -> list[Row]:
    return [{"_id": _oid(), key: id, "v": v, **state} for v, state in enumerate(_states(id), 1)]


def _seed(name: str, rows: Rows, after: Callable[[Rows], None], **keys: Any) -> Collection:
    return Collection(name, rows, "174", {"attr1": 999}, after, versioned=True, **keys)


def _choice_1() -> Collection:
    rows: Rows = {"choice_1": [row for id in _IDS for row in _numbered(id)]}

    def after(rows: Rows) -> None:
        rows["choice_1"].append({"_id": ANY, "docId": 174, "v": 4, "attr1": 999, "attr2": "A-1"})

    return _seed("choice_1", rows, after, unique={"choice_1": _KEY})


def _choice_1a() -> Collection:
    rows: Rows = {"choice_1a": [row for id in _IDS for row in _numbered(id)]}
    for at in range(2, len(rows["choice_1a"]), 3):
        rows["choice_1a"][at]["current"] = True

    def after(rows: Rows) -> None:
        del rows["choice_1a"][3 * 4 + 2]["current"]
        rows["choice_1a"].append({"_id": ANY, "docId": 174, "v": 4, "attr1": 999, "attr2": "A-1", "current": True})

    return _seed("choice_1a", rows, after, unique={"choice_1a": _KEY})


def _choice_2() -> Collection:
    rows: Rows = {"choice_2": []}
    for id in _IDS:
        *prev, now = [{"v": v, **state} for v, state in enumerate(_states(id), 1)]
        rows["choice_2"].append({"_id": id, "current": now, "prev": prev})

    def after(rows: Rows) -> None:
        document = rows["choice_2"][4]
        document["prev"].append(document["current"])
        document["current"] = {"v": 4, "attr1": 999, "attr2": "A-1"}

    return _seed("choice_2", rows, after)


def _choice_3() -> Collection:
    rows: Rows = {"CurrentCollection": [], "CollectionOfPrevious": []}
    for id in _IDS:
        *past, now = _numbered(id)
        rows["CollectionOfPrevious"] += past
        rows["CurrentCollection"].append(now)

    def after(rows: Rows) -> None:
        now = rows["CurrentCollection"][4]
        rows["CollectionOfPrevious"].append(now | {"_id": ANY})
        rows["CurrentCollection"][4] = now | {"v": 4, "attr1": 999}

    return _seed("choice_3", rows, after, unique={"CollectionOfPrevious": _KEY})


def _choice_4() -> Collection:
    rows: Rows = {"choice_4": []}
    for id in _IDS:
        changes: list[Row] = [{"attr1": 165 + id}, {"attr2": "A-1"}, {"attr1": 184 + id}]
        rows["choice_4"] += [{"_id": _oid(), "documentId": id, "v": v, **each} for v, each in enumerate(changes, 1)]

    def after(rows: Rows) -> None:
        rows["choice_4"].append({"_id": ANY, "documentId": 174, "v": 4, "attr1": 999})

    return _seed("choice_4", rows, after, unique={"choice_4": ("documentId", "v")})


def _hash(content: Row) -> str:
    return hashlib.sha1(bson.encode(content)).hexdigest()


def _idempotent() -> Collection:
    """Its ``_id`` is the hash of the first content, and the hash of the content now stands beside it."""
    rows: Rows = {"idempotent": []}
    for n in range(MANY):
        content = {"n": n, "title": f"{_word()} {n}"}
        rows["idempotent"].append(
            {"_id": _hash(content | {"title": _word()}), **content, "_versioned_id": _hash(content)}
        )

    def after(rows: Rows) -> None:
        rows["idempotent"][5] |= {"title": "t", "_versioned_id": _hash({"n": 5, "title": "t"})}

    return Collection("idempotent", rows, rows["idempotent"][5]["_id"], {"title": "t"}, after, versioned=True)


def _counters() -> Collection:
    rows: Rows = {
        "counters": [{"_id": "userid", "seq": 5}, {"_id": "orderid", "seq": 9}],
        "users": [{"_id": n, "name": _word()} for n in range(1, 6)],
    }
    return Collection("counters", rows, "userid", {"seq": 7}, lambda rows: rows["counters"][0].update(seq=7))


def _days() -> Collection:
    rows: Rows = {
        "days": [
            {"_id": f"2016-06-{n + 1:02}", "counter": n, "pending": [_oid()] if n % 3 else []} for n in range(MANY)
        ]
    }
    return Collection("days", rows, "2016-06-04", {"note": "x"}, lambda rows: rows["days"][3].update(note="x"))


def _teams() -> Collection:
    rows: Rows = {
        "teams": [
            {
                "_id": _oid(),
                "id": 9990 + n,
                "name": _word(),
                "championshipWins": n % 4,
                "processedHistory": [f"cup-{k}" for k in range(n % 4)],
            }
            for n in range(MANY)
        ]
    }
    return Collection("teams", rows, "9995", {"name": "Spain"}, lambda rows: rows["teams"][5].update(name="Spain"))


SEEDS = (
    _choice_1(),
    _choice_1a(),
    _choice_2(),
    _choice_3(),
    _choice_4(),
    _idempotent(),
    _counters(),
    _days(),
    _teams(),
)
COLLECTIONS = (*ORDINARY, *LOCKED, *SEEDS)
