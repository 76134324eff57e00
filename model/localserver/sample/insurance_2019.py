"""A sample database that was moved twice and never looked after, with damage of every other kind.

Its collections, with their damage by the classes of the repair centre:

- claims (``versions``, no unique index): V1 equal and different, V2 in the middle and at the start, V3 text and double
- endorsements (``versions``, no unique index, nothing else wrong)
- quotes (``versions``, numbered by time): M1 equal and running backwards
- tariffs (``flagged``): C1 none, several, and the wrong one
- customers (``embedded``): E1 missing, out of order, twice equal, twice different; E2 a document of 15 MiB
- contracts (``archive``): A1 old and young, A2, A3, A4 in the middle and at the start, A5
- partners (``deltas``, begun as those of ``insurance``): D1 a gap, and no base
- policy_feed (``stream``): R1 the current version not archived, and a gap
- invoices (``hashed``): H1 another content and another order, H2; S2 a number twice, and one that is text
- counters (``sequence``): S1 behind the invoices
- campaigns (``processed``): P1 two documents for one key, P2 an entry twice
- stats (``pending``): T2, T3 null, text and missing
- scans (plain): B1 in a dozen ways
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bson.binary import Binary

from model.localserver.sample.building_blocks import (
    DAY,
    HASH,
    TOKEN,
    VERSION,
    Dice,
    archived,
    date,
    in_2019,
    midnight,
    money,
    oid,
    own_document,
    stamp,
)
from model.localserver.sample.layout_samples import PARTNERS_OF_2019, partner
from model.localserver.sample.long_texts import REMARKS, TERMS
from model.localserver.sample.people import people
from model.values.canonical import Value, encode, hash_of, put

Document = dict[str, Any]
BIG = 15 * 1024 * 1024 + 200_000  # bytes of the largest customer


def claims() -> Iterator[bytes]:
    """The versions of 30 claims."""
    for number in range(1, 31):
        dice = Dice(19_000 + number)
        claim: Document = {"kind": dice.pick(("water", "theft", "storm")), "status": "reported", "paid": money(0)}
        for v in range(1, 3 + number % 4):
            seconds = in_2019(number, v)
            claim |= {"status": ("paid in part", "checked")[v % 2], "paid": money(v * 7000)}
            stored: Any = v
            if (number, v) in ((9, 2), (10, 1), (11, 1)):
                continue  # V2
            if (number, v) in ((12, 2), (13, 3)):
                stored = str(v) if number == 12 else float(v)  # V3
            parts = (claim, stamp(seconds, dice.pick(("rk-204", "hb-009"))))
            yield own_document(f"C-2019-{number:04d}", stored, seconds, 40, number, *parts)
            if (number, v) in ((5, 2), (6, 1)):  # V1, equal
                yield own_document(f"C-2019-{number:04d}", v, seconds + 9, 40, number, *parts)
            if (number, v) == (7, 2):  # V1, different
                yield own_document(f"C-2019-{number:04d}", v, seconds + 9, 40, number, *parts, {"paid": money(99)})


def endorsements() -> Iterator[bytes]:
    """Sound endorsements, in a collection without the unique index."""
    for number in range(1, 25):
        for v in range(1, 2 + number % 5):
            seconds = in_2019(number, v)
            text = {"contract": f"K-10{number:04d}", "text": REMARKS[(number + v) % len(REMARKS)]}
            yield own_document(f"E-{number:03d}", v, seconds, 42, number, text, stamp(seconds, "hb-009"))


def quotes() -> Iterator[bytes]:
    """Quotes whose versions are times; one clock was wrong."""
    for number in range(1, 17):
        for v in range(1, 5):
            seconds = in_2019(number, v)
            told = seconds
            if (number, v) in ((4, 3), (5, 4)):
                told = in_2019(number, v - 1) if number == 4 else seconds - 30 * DAY  # M1
            quote = {"product": "Household", "net": money(30000 + number * 500 + v * 70)}
            yield own_document(f"Q-{number:03d}", date(told), seconds, 44, number, quote)


def tariffs() -> Iterator[bytes]:
    """Tariffs, some of which have lost the mark of the current version."""
    flags = {"OLD-A": (), "OLD-B": (2, 3, 4), "OLD-C": (2,), "OLD-D": (4,), "OLD-E": (4,), "OLD-F": (4,)}
    for row, (id, flagged) in enumerate(flags.items()):
        for v in range(1, 5):
            seconds = in_2019(row, v)
            flag = {"current": True} if v in flagged else {}
            tariff = {"name": id, "base": money(3000 + v * 100), **flag}
            yield own_document(id, v, seconds, 46, row, tariff, stamp(seconds, "hb-009"))


def customers() -> Iterator[bytes]:
    """Customers with current version and ``prev`` in one document; four of the chains are broken."""
    for number, person in enumerate(people()[100:126]):
        chain: Sequence[int] = {
            3: (1, 2, 4), 4: (1, 3, 2, 4), 5: (1, 2, 2, 3, 4), 6: (1, 2, 3, 3, 4), 7: (2, 3, 4),
        }.get(number, tuple(range(1, 1 + number % 4)))  # fmt: skip
        prev = [_customer(number, v) for v in chain]
        if number == 6:
            prev[3]["score"] = 99
        if number == 8:
            prev = [_customer(number, v) | {"scan": Binary(bytes(BIG // 15))} for v in range(1, 16)]
        current = _customer(number, prev[-1][VERSION] + 1 if prev else 1)
        yield encode({"_id": person.id, "current": {**current, "name": person.name}, "prev": prev})


def _customer(number: int, v: int) -> Document:
    seconds = in_2019(number, v)
    return {VERSION: v, TOKEN: oid(seconds, 48, v), "name": "", "score": v * 3, **stamp(seconds, "hb-009")}


def contracts(now: int) -> tuple[list[bytes], list[bytes]]:
    """Current contracts, and their archive."""
    current: list[bytes] = []
    history: list[bytes] = []
    for number in range(1, 41):
        count = 1 + number % 6
        raws = [_contract(number, v) for v in range(1, count + 1)]
        rows = list(enumerate(raws[:-1], 1))
        if number in (10, 11):  # A4
            rows = [row for row in rows if row[0] != (2 if number == 10 else 1)]
        history += [archived(raw, oid(in_2019(number, v + 1), 50, number), None) for v, raw in rows]
        if number in (4, 5):  # A1, old and young
            history.append(archived(raws[-1], oid(in_2019(number, 9) if number == 4 else now - 300, 50, number), None))
        elif number == 15:  # A2
            before = put(raws[-1], ("net",), Value.of(money(1)))
            history.append(archived(before, oid(in_2019(number, 9), 50, number), None))
        elif number in (16, 17):  # A3
            history.append(archived(_contract(number, count + 1), oid(in_2019(number, 9), 50, number), None))
        if number not in (22, 23):  # A5
            current.append(raws[-1])
    return current, history


def _contract(number: int, v: int) -> bytes:
    seconds = in_2019(number, v)
    kept = {"_id": f"K-10{number:04d}", VERSION: v, TOKEN: oid(seconds, 51, v)}
    data = {"status": "active", "net": money(30000 + v * 410), "riders": ["GLASS", "BIKE"][: v % 3]}
    return encode({**kept, **data, "terms": TERMS["BIKE"], **stamp(seconds, "hb-009")})


def partners() -> Iterator[bytes]:
    """Partners as deltas, begun as those of today; two of the chains cannot be rebuilt with certainty."""
    for number in range(1, PARTNERS_OF_2019 + 1):
        for v, seconds, delta in partner(number, here=False):
            if (number, v) not in ((3, 3), (4, 1)):  # D1
                yield own_document(f"P-{number:03d}", v, seconds, 52, number, delta)


def policy_feed() -> tuple[list[bytes], list[bytes]]:
    """An archive fed by a change stream, which was down for a while."""
    current: list[bytes] = []
    history: list[bytes] = []
    for number in range(1, 31):
        count = 2 + number % 4
        raws = []
        for v in range(1, count + 1):
            seconds = in_2019(number, v)
            kept = {"_id": f"PF-{number:04d}", VERSION: v, TOKEN: oid(seconds, 54, v)}
            raws.append(encode({**kept, "state": ("signed", "in force")[v % 2], "score": v / 8}))
        current.append(raws[-1])
        lost = {7: (count,), 8: (count - 1, count), 9: (2,)}.get(number, ())  # R1
        for v, raw in enumerate(raws, 1):
            if v not in lost:
                history.append(archived(raw, oid(in_2019(number, v) + 1, 55, number), None))
    return current, history


def invoices() -> Iterator[bytes]:
    """Hashed documents, numbered by a counter that fell behind."""
    for number in range(1, 41):
        invoice: Document = {
            "number": 201_900_000 + (12 if number == 13 else number),  # S2
            "customer": people()[number].id,
            "total": money(4100 + number * 317),
            "status": "paid",
        }
        if number == 20:
            invoice["number"] = "201900020"  # S2
        made_with = hash_of(encode(invoice))
        if number == 30:
            invoice["total"] = money(1)  # H1
        if number == 31:
            invoice = {name: invoice[name] for name in sorted(invoice)}  # H1, order only
        if number == 32:  # H2: equal content twice is allowed
            yield encode({"_id": "twin-of-" + made_with[:8], **invoice, HASH: made_with})
        yield encode({"_id": made_with, **invoice, HASH: made_with})


def counters() -> Iterator[bytes]:
    """The counter with damage S1: 40 invoices were numbered, 36 are known."""
    yield encode({"_id": "invoices", "seq": 201_900_036})
    yield encode({"_id": "letters", "seq": 5150})


def campaigns() -> Iterator[bytes]:
    """Apply-once lists: one key has two documents, one list an entry twice."""
    for number, key in enumerate(("hail", "letters", "letters", "portal", "moving"), 1):
        done = ["2019-02", "2019-03", "2019-04", "2019-03"] if key == "portal" else ["2019-02", "2019-03"]
        yield encode({"_id": oid(in_2019(number, 1), 56, number), "id": key, "answers": 20 * number, "processed": done})


def stats() -> Iterator[bytes]:
    """Two-step counters in odd states, with UUIDs as tokens, which do not tell their age."""
    for number in range(1, 13):
        tokens = [Binary(bytes.fromhex(f"5d0a{number:02x}0{i}81f04c6a9c1e2f6b7a90d4e3"), 4) for i in range(2)]
        day = f"2019-06-{number:02d}"
        made: Document = {"day": midnight(day), "count": 30 + number, "pending": [], "applied": tokens}
        if number == 4:
            made["pending"] = tokens[1:]  # T2
        elif number == 5:
            made["count"] = None  # T3
        elif number == 6:
            made["count"] = "36"
        elif number == 7:
            del made["count"]
        yield encode({"_id": f"{day} calls", **made})
