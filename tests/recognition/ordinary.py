"""Ordinary applications in which nobody keeps versions: a seed makes a database of a few collections.

Entities have prices, sizes, counters, addresses, lock counters and dates. Rows name them: orders and their lines,
bookings, messages, readings, stock, instalments, prices by day, comments, events and audit logs. Numbers in these
rows rise by themselves, within what they name, or not at all; some have a unique index.
"""

from __future__ import annotations

import datetime as dt
import itertools
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from bson import Decimal128, Int64, ObjectId

Row = dict[str, Any]
BEGAN = dt.datetime(2023, 2, 1, 8, tzinfo=dt.UTC)
WORDS = (
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven", "inlet", "jetty", "knoll", "larch",
    "maple", "north", "ocean", "pearl", "quartz", "ridge", "slate", "thorn", "umber", "vale", "willow", "zenith",
)  # fmt: skip
CITIES = ("Kiel", "Bremen", "Lübeck", "Husum")
NOUNS = ("customer", "product", "account", "room", "sensor", "project", "vehicle", "article", "ticket", "student")
LOGS = ("audit", "events by state")
"""Rows that do record changes of other documents: taken for a log, they are taken for what they are."""


class Dice(random.Random):
    """A generator that keeps time: each ObjectId is made a little after the one before."""

    def __init__(self, seed: object) -> None:
        super().__init__(str(seed))
        self.now = BEGAN + dt.timedelta(days=self.randrange(300))
        self._maker = self.randbytes(5)
        self._made = itertools.count(self.randrange(1 << 20))

    def oid(self) -> ObjectId:
        """An ObjectId of this moment."""
        seconds = struct.pack(">I", int(self.now.timestamp()))
        return ObjectId(seconds + self._maker + struct.pack(">I", next(self._made))[1:])

    def later(self, most: float = 90_000) -> dt.datetime:
        """A moment later than any before."""
        self.now += dt.timedelta(seconds=self.uniform(0.01, most))
        return self.now

    def chance(self, share: float) -> bool:
        """Whether it happens."""
        return self.random() < share

    def text(self) -> str:
        """A few words."""
        return " ".join(self.choice(WORDS) for _ in range(self.randrange(1, 5)))


@dataclass
class Application:
    """A database: rows by collection, unique indexes, and the collections that may be taken for a log."""

    seed: int
    collections: dict[str, list[Row]] = field(default_factory=dict)
    indexes: list[tuple[str, tuple[str, ...], bool]] = field(default_factory=list)
    logs: set[str] = field(default_factory=set)


def application(seed: int) -> Application:
    """The application of a seed."""
    dice = Dice(f"ordinary {seed}")
    made = Application(seed)
    noun = dice.choice(NOUNS)
    entities = _entities(dice, made, noun)
    for kind in dice.sample(list(_ROWS), dice.randrange(2, 5)):
        _rows(dice, made, kind, noun, entities)
    return made


# --- entities


def _entities(dice: Dice, made: Application, noun: str) -> list[Row]:
    name = f"{noun}s"
    makers = dict(dice.sample(list(_FIELDS.items()), dice.randrange(3, 9)))
    key = dice.choice(("oid", "oid", "text", "number"))
    rows = []
    for n in range(dice.choice((3, 12, 25, 40, 90, 150))):
        dice.later()
        id: Any = {"oid": dice.oid(), "text": f"{noun[:2].upper()}-{n:04d}", "number": n + 1}[key]
        row: Row = {"_id": id, "name": dice.text()}
        for label, make in makers.items():
            if not (label in ("nickname", "archivedAt", "stats") and dice.chance(0.5)):
                row[label] = make(dice, n)
        rows.append(row)
    made.collections[name] = rows
    if dice.chance(0.3):  # those that were moved away, whole
        away = [row for row in rows if dice.chance(0.2)]
        label = dice.choice((f"{name}_archive", f"old_{name}", f"{name}_history", f"deleted_{name}"))
        gone = {str(row["_id"]) for row in away}
        made.collections[name] = [row for row in rows if str(row["_id"]) not in gone]
        made.collections[label] = [{**row, "archivedAt": dice.later()} for row in away]
    return made.collections[name]


_FIELDS: dict[str, Callable[[Dice, int], Any]] = {
    "price": lambda dice, n: Decimal128(f"{dice.randrange(9900) / 100:.2f}"),
    "cents": lambda dice, n: dice.randrange(90_000),
    "stock": lambda dice, n: dice.randrange(40),
    "number": lambda dice, n: 1000 + n,
    "size": lambda dice, n: dice.choice((36, 38, 40, 42)),
    "views": lambda dice, n: Int64(dice.randrange(10**6)),
    "__v": lambda dice, n: 0,
    "version": lambda dice, n: dice.randrange(6),
    "v": lambda dice, n: dice.choice((1, 1, 1, 2, 3)),
    "rev": lambda dice, n: f"{dice.randrange(9)}-{dice.randbytes(8).hex()}",
    "schemaVersion": lambda dice, n: dice.choice((1, 2)),
    "revision": lambda dice, n: Int64(dice.randrange(12)),
    "_class": lambda dice, n: "com.example.shop.Entity",
    "active": lambda dice, n: dice.chance(0.8),
    "current": lambda dice, n: dice.chance(0.5),
    "email": lambda dice, n: f"{dice.choice(WORDS)}{n}@example.com",
    "city": lambda dice, n: dice.choice(CITIES),
    "status": lambda dice, n: dice.choice(("new", "open", "closed")),
    "tags": lambda dice, n: dice.sample(WORDS, dice.randrange(4)),
    "address": lambda dice, n: {"street": dice.text(), "zip": dice.randrange(10_000, 99_999)},
    "createdAt": lambda dice, n: dice.now,
    "updatedAt": lambda dice, n: dice.now + dt.timedelta(days=dice.randrange(60)),
    "nickname": lambda dice, n: dice.choice(WORDS),
    "archivedAt": lambda dice, n: dice.now,
    "sha1": lambda dice, n: dice.randbytes(20).hex(),
    "checksum": lambda dice, n: dice.randbytes(32).hex(),
    "owner": lambda dice, n: ObjectId(dice.randbytes(12)),
    "parent": lambda dice, n: dice.oid(),
    "lastRequest": lambda dice, n: ObjectId(dice.randbytes(12)),
    "members": lambda dice, n: [ObjectId(dice.randbytes(12)) for _ in range(dice.randrange(4))],
    "stats": lambda dice, n: {"visits": dice.randrange(900), "likes": dice.randrange(90)},
    "lines": lambda dice, n: [
        {"line": at, "article": dice.choice(WORDS), "qty": dice.randrange(9)} for at in range(1, dice.randrange(2, 6))
    ],
    "ratings": lambda dice, n: [dice.randrange(1, 6) for _ in range(dice.randrange(6))],
    "previous": lambda dice, n: [
        {"street": dice.text(), "zip": dice.randrange(99_999)} for _ in range(dice.randrange(3))
    ],
    "history": lambda dice, n: [
        {"status": dice.choice(("new", "open")), "at": dice.now, "by": "Eva"} for _ in range(dice.randrange(4))
    ],
    "location": lambda dice, n: {"type": "Point", "coordinates": [dice.random(), dice.random()]},
    "score": lambda dice, n: dice.random(),
}  # fmt: skip


# --- rows that name them


def _rows(dice: Dice, made: Application, kind: str, noun: str, entities: list[Row]) -> None:
    ids = [row["_id"] for row in entities] or [dice.oid()]
    by = dice.choice((f"{noun}Id", noun, f"{noun}_id", "ref", "parent"))
    name = kind.replace(" ", "_")
    rows = list(_ROWS[kind](dice, by, ids, entities))
    if dice.chance(0.6):
        rows = [{**row, "__v": 0} for row in rows]
    if dice.chance(0.3):
        dice.shuffle(rows)
    if dice.chance(0.2):
        rows = [{**row, "version": dice.randrange(3)} for row in rows]  # locked optimistically
    made.collections[name] = [row if "_id" in row else {"_id": dice.oid(), **row} for row in rows]
    if kind in LOGS:
        made.logs.add(name)
    number = _PARTS.get(kind)
    if number and dice.chance(0.5):
        made.indexes.append((name, (by, number), True))
    elif dice.chance(0.5):
        made.indexes.append((name, (by,), False))


def _each(dice: Dice, ids: list[Any], most: int = 120) -> Iterator[tuple[Any, int]]:
    """Moments of some of the documents in turns, each with its number there."""
    counts: dict[str, int] = {}
    some = dice.sample(ids, min(len(ids), dice.choice((3, 8, 20))))
    for _ in range(dice.randrange(most // 3, most)):
        id = dice.choice(some)
        counts[str(id)] = counts.get(str(id), 0) + 1
        dice.later()
        yield id, counts[str(id)]


def _orders(dice: Dice, by: str, ids: list[Any], entities: list[Row]) -> Iterator[Row]:
    for n, (id, _) in enumerate(_each(dice, ids), 1):
        yield {"_id": dice.oid(), by: id, "number": n, "qty": dice.randrange(1, 9), "total": dice.randrange(9000),
               "status": dice.choice(("open", "paid")), "date": dice.now, "city": dice.choice(CITIES)}  # fmt: skip


def _rising_orders(dice: Dice, by: str, ids: list[Any], entities: list[Row]) -> Iterator[Row]:
    for id, nth in _each(dice, ids):  # who orders more each time
        yield {"_id": dice.oid(), by: id, "qty": nth + dice.randrange(2), "city": "Kiel", "date": dice.now}


def _lines(dice: Dice, by: str, ids: list[Any], entities: list[Row]) -> Iterator[Row]:
    for id in ids[:40]:
        for line in range(1, dice.randrange(2, 7)):
            yield {"_id": dice.oid(), by: id, "line": line, "article": dice.text(), "qty": dice.randrange(1, 9),
                   "cents": dice.randrange(9000)}  # fmt: skip


def _alike_parts(number: str) -> Callable[[Dice, str, list[Any], list[Row]], Iterator[Row]]:
    def parts(dice: Dice, by: str, ids: list[Any], entities: list[Row]) -> Iterator[Row]:
        for id in ids[:40]:
            rate, zone = dice.randrange(90), dice.choice(CITIES)
            for at in range(1, dice.randrange(2, 9)):
                dice.later()
                yield {"_id": dice.oid(), by: id, number: at, "rate": rate, "zone": zone,
                       "state": dice.choice(("open", "done"))}  # fmt: skip

    return parts


def _bookings(dice: Dice, by: str, ids: list[Any], entities: list[Row]) -> Iterator[Row]:
    for id, _ in _each(dice, ids):
        yield {
            "_id": dice.oid(),
            by: id,
            "from": dice.now,
            "to": dice.now + dt.timedelta(days=2),
            "guests": dice.randrange(5),
        }


def _messages(dice: Dice, by: str, ids: list[Any], entities: list[Row]) -> Iterator[Row]:
    for id, nth in _each(dice, ids):
        yield {"_id": dice.oid(), by: id, "seq": nth, "sender": dice.choice(WORDS), "text": dice.text(), "at": dice.now}


def _readings(dice: Dice, by: str, ids: list[Any], entities: list[Row]) -> Iterator[Row]:
    total = 0
    for id, _ in _each(dice, ids):
        total += dice.randrange(50)
        yield {"_id": dice.oid(), by: id, "value": total, "unit": "kWh", "at": dice.now, "v": dice.randrange(210, 240)}


def _odometers(dice: Dice, by: str, ids: list[Any], entities: list[Row]) -> Iterator[Row]:
    at: dict[str, int] = {}
    for id, _ in _each(dice, ids):
        at[str(id)] = at.get(str(id), 0) + dice.randrange(1, 50)
        yield {"_id": dice.oid(), by: id, "mileage": at[str(id)], "unit": "km", "ts": dice.now}


def _prices(dice: Dice, by: str, ids: list[Any], entities: list[Row]) -> Iterator[Row]:
    for id, nth in _each(dice, ids):
        yield {
            "_id": dice.oid(),
            by: id,
            "day": nth,
            "price": dice.randrange(90),
            "currency": "EUR",
            "validFrom": dice.now,
        }


def _comments(dice: Dice, by: str, ids: list[Any], entities: list[Row]) -> Iterator[Row]:
    for id, _ in _each(dice, ids):
        yield {"_id": dice.oid(), by: id, "author": dice.choice(WORDS), "text": dice.text(), "likes": dice.randrange(9),
               "createdAt": dice.now}  # fmt: skip


def _clicks(dice: Dice, by: str, ids: list[Any], entities: list[Row]) -> Iterator[Row]:
    for id, _ in _each(dice, ids):
        yield {"_id": dice.oid(), by: id, "event": "click", "data": {"x": dice.randrange(900)}, "at": dice.now}


def _audit(dice: Dice, by: str, ids: list[Any], entities: list[Row]) -> Iterator[Row]:
    known = [name for name in entities[0] if name != "_id"] if entities else ["name"]
    for id, _ in _each(dice, ids):
        yield {"_id": dice.oid(), by: id, "field": dice.choice(known), "from": dice.text(), "to": dice.text(),
               "user": dice.choice(WORDS), "at": dice.now}  # fmt: skip


def _events_by_state(dice: Dice, by: str, ids: list[Any], entities: list[Row]) -> Iterator[Row]:
    for id, nth in _each(dice, ids):
        data = {"name": dice.text()} if dice.chance(0.5) else {}
        yield {"_id": dice.oid(), by: id, "version": nth, "type": dice.choice(("Named", "Moved")), "payload": data}


def _copies(dice: Dice, by: str, ids: list[Any], entities: list[Row]) -> Iterator[Row]:
    for at, _ in _each(dice, list(range(len(entities)))) if entities else ():
        row = entities[at]
        yield {"_id": dice.oid(), by: row["_id"], "item": {k: x for k, x in row.items() if k != "_id"},
               "qty": dice.randrange(1, 5), "cents": dice.randrange(900), "basket": dice.oid()}  # fmt: skip


def _sessions(dice: Dice, by: str, ids: list[Any], entities: list[Row]) -> Iterator[Row]:
    for id, _ in _each(dice, ids):
        yield {
            "_id": dice.oid(),
            by: id,
            "token": ObjectId(dice.randbytes(12)),
            "expires": dice.now,
            "hits": dice.randrange(90),
        }


def _stock(dice: Dice, by: str, ids: list[Any], entities: list[Row]) -> Iterator[Row]:
    left: dict[str, int] = {}
    for id, _ in _each(dice, ids):
        left[str(id)] = left.get(str(id), 100) + dice.randrange(-9, 10)
        yield {"_id": dice.oid(), by: id, "stock": left[str(id)], "store": dice.choice(CITIES), "counted": dice.now}


def _constant(dice: Dice, by: str, ids: list[Any], entities: list[Row]) -> Iterator[Row]:
    for id, _ in _each(dice, ids):
        yield {"_id": dice.oid(), by: id, "version": 1, "amount": dice.randrange(900), "city": dice.choice(CITIES)}


_ROWS: dict[str, Callable[[Dice, str, list[Any], list[Row]], Iterator[Row]]] = {
    "orders": _orders,
    "rising orders": _rising_orders,
    "lines": _lines,
    "instalments": _alike_parts("instalment"),
    "rounds": _alike_parts("round"),
    "months": _alike_parts("month"),
    "levels": _alike_parts("level"),
    "pages": _alike_parts("page"),
    "positions": _alike_parts("pos"),
    "bookings": _bookings,
    "messages": _messages,
    "readings": _readings,
    "odometers": _odometers,
    "prices": _prices,
    "comments": _comments,
    "clicks": _clicks,
    "audit": _audit,
    "events by state": _events_by_state,
    "copies": _copies,
    "sessions": _sessions,
    "stock": _stock,
    "one schema": _constant,
}
_PARTS = {
    "lines": "line",
    "instalments": "instalment",
    "rounds": "round",
    "months": "month",
    "levels": "level",
    "pages": "page",
    "positions": "pos",
    "messages": "seq",
    "prices": "day",
    "events by state": "version",
}
"""The field that a unique index holds together with what the rows name."""
