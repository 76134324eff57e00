"""The insurer's other versioned collections: one for each layout besides the contracts' archive.

Damage in here: claim C-2026-00112 lacks v3 (V2). Of the tariffs, HH-BASIC has two equal v3 and BIKE two different v5
(V1), which is possible because the collection has no unique index, and LIAB-FAM has two current versions (C1). Two
invoices do not match their hash (H1): one was edited by a script, the other only has its fields in another order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from model.localserver.sample.building_blocks import (
    AT,
    DAY,
    HASH,
    TOKEN,
    VERSION,
    Dice,
    archived,
    date,
    in_2019,
    local,
    money,
    oid,
    own_document,
    stamp,
)
from model.localserver.sample.contract_lives import AUTHORS, LATEST, office, times
from model.localserver.sample.long_texts import REMARKS, SURVEY, TERMS
from model.localserver.sample.people import FAMILY, holder, iban, people, phone, street
from model.values.canonical import encode, hash_of

GAP_IN_CLAIM = ("C-2026-00112", 3)
CLAIMS = 430
INVOICES, FIRST_INVOICE = 700, 202_600_000
PARTNERS_OF_2019, VERSIONS_OF_2019 = 14, 5
Document = dict[str, Any]


def claims() -> Iterator[bytes]:
    """``versions``: a document for every version."""
    for number in range(1, CLAIMS + 1):
        dice = Dice(200_000 + number)
        id = f"C-2026-{number:05d}"
        count = 6 if id == GAP_IN_CLAIM[0] else 140 if number == 7 else 1 + dice.below(7)
        begins = local("2026-01-02 08:00") + number * 64_000
        when = times(dice, count, min(LATEST, begins + (count - 1) * (2 + dice.below(9)) * DAY // 2), begins)
        claim: Document = {
            "number": number,
            "contract": f"K-{204109 + dice.below(5000)}",
            "kind": dice.pick(("water", "theft", "glass", "storm", "fire", "liability")),
            "status": "reported",
            "reported": date(begins - dice.below(9) * DAY),
            "reserve": money(20000 + dice.below(900000)),
            "paid": money(0),
            "adjuster": dice.pick(AUTHORS[:4]),
            "parties": [{"role": "holder", "name": dice.pick(people()).name, "phone": phone(dice)}],
            "description": SURVEY[: 80 + dice.below(200)],
        }
        log: list[Document] = []
        for v, seconds in enumerate(when, 1):
            if v > 1:
                log.append({"at": date(seconds), "text": dice.pick(REMARKS)})
                claim["log"] = log[-12:]
                _settle(dice, claim, v, count)
            if (id, v) != GAP_IN_CLAIM:
                yield own_document(id, v, seconds, 10, number, claim, stamp(seconds, dice.pick(AUTHORS)))


def _settle(dice: Dice, claim: Document, v: int, count: int) -> None:
    claim["status"] = "closed" if v == count else ("checked", "paid in part", "waiting")[v % 3]
    if v % 2 == 0:
        claim["paid"] = money(v * 9000 + dice.below(9000))
    if v == 4:
        claim["parties"] = [*claim["parties"], {"role": "craftsman", "name": "Thiel & Sons", "phone": phone(dice)}]


TARIFFS = (
    ("HH-PLUS", "Household Plus", 14),
    ("HH-BASIC", "Household Basic", 6),
    ("HH", "Household", 11),
    ("HOME", "Home Owner", 9),
    ("BIKE", "Bicycle Premium", 8),
    ("LIAB-FAM", "Liability Family", 7),
    ("LIAB", "Liability", 5),
    ("FLEET", "Fleet Flex", 24),
    ("GLASS", "Glass", 3),
    ("TRAVEL", "Travel", 4),
    ("STORM", "Storm and Hail", 5),
    ("LEGAL", "Legal Costs", 2),
)
FORGOTTEN_FLAG, TWICE_EQUAL, TWICE_DIFFERENT = ("LIAB-FAM", 6), ("HH-BASIC", 3), ("BIKE", 5)
ZONES = ("A1", "A2", "B1", "B2", "C1")


def tariffs() -> Iterator[bytes]:
    """``flagged``: a document for every version; the newest has ``current``."""
    for row, (id, name, count) in enumerate(TARIFFS):
        dice = Dice(300_000 + row)
        when = times(dice, count, local("2026-10-01 08:00") - row * 3 * DAY)
        rates = {zone: _rate(dice) for zone in ZONES}
        tariff: Document = {
            "name": name,
            "valid": {"from": date(when[0]), "to": None},
            "minimum": money(4900),
            "rates": rates,
            "steps": [[0, 40, 1.0], [41, 80, 0.97], [81, 160, 0.93]],
            "terms": TERMS["GLASS"] + TERMS["BIKE"],
        }
        for v, seconds in enumerate(when, 1):
            if v > 1:
                rates[dice.pick(ZONES)] = _rate(dice)
                rates[dice.pick(ZONES)] = _rate(dice)
                tariff["valid"] = {"from": date(seconds), "to": None}
            flag = {"current": True} if v == count or (id, v) == FORGOTTEN_FLAG else {}
            parts = (tariff, flag, stamp(seconds, "ab-117"))
            yield own_document(id, v, seconds, 12, row, *parts)
            if (id, v) == TWICE_EQUAL:
                yield own_document(id, v, seconds + 1, 12, row, *parts)
            if (id, v) == TWICE_DIFFERENT:
                yield own_document(id, v, seconds + 2, 12, row, *parts, {"minimum": money(5400)})


def _rate(dice: Dice) -> Document:
    return {"base": money(3000 + dice.below(4000)), "factor": (100 + dice.below(40)) / 100}


def customers() -> Iterator[bytes]:
    """``embedded``: current and earlier versions in one document."""
    for number, person in enumerate(people()):
        dice = Dice(400_000 + number)
        count = 7 if not number else 64 if number == 20 else 1 + dice.below(5)
        when = times(dice, count, office(LATEST - (1 + dice.below(400)) * DAY - dice.below(DAY)))
        data = holder(person)
        del data["customerId"]
        if number:
            data["phone"] = phone(dice)
        data |= {
            "consent": {"letters": True, "phone": dice.chance(0.5), "email": dice.chance(0.8)},
            "score": 1 + dice.below(99),
            "language": "de",
        }
        told = []
        for v, seconds in enumerate(when, 1):
            if v > 1:
                _change_customer(dice, data, v)
            if v == count:
                data["phone"] = person.phone
            told.append({VERSION: v, TOKEN: oid(seconds, 14, v), **data, **stamp(seconds, dice.pick(AUTHORS))})
        yield encode({"_id": person.id, "current": told[-1], "prev": told[:-1]})


def _change_customer(dice: Dice, data: Document, v: int) -> None:
    which = dice.below(4)
    if which == 0:
        data["phone"] = phone(dice)
    elif which == 1:
        where, code = street(dice)
        data["address"] = {**data["address"], "street": where, "zip": code}
    elif which == 2:
        data["consent"] = {**data["consent"], "email": not data["consent"]["email"]}
    data["score"] = 1 + (data["score"] + 1 + dice.below(90)) % 99


def invoices() -> Iterator[bytes]:
    """``hashed``: ``_id`` is the hash of a document's first content, its version the hash of its current content."""
    for number in range(1, INVOICES + 1):
        dice = Dice(500_000 + number)
        person = dice.pick(people())
        sent = office(local("2026-01-02 07:00") + number * 11 * 3600)
        parts = ("Premium", "Rider GLASS", "Rider BIKE")[: 1 + dice.below(3)]
        amounts = [900 + dice.below(40000) for _ in parts]
        invoice: Document = {
            "number": FIRST_INVOICE + number,
            "contract": f"K-{204109 + dice.below(5000)}",
            "customer": person.id,
            "sent": date(sent),
            "due": date(sent + 14 * DAY),
            "lines": [{"text": text, "amount": money(cents)} for text, cents in zip(parts, amounts, strict=True)],
            "total": money(sum(amounts)),
            "iban": iban(dice),
            "status": "open",
        }
        made_with = hash_of(encode(invoice))
        if number % 3:
            invoice |= {"status": "paid", "paidAt": date(sent + (2 + dice.below(20)) * DAY)}
        now = hash_of(encode(invoice))
        if number == 417:
            invoice["total"] = money(100)  # edited by a script that does not know the hash
        if number == 583:
            invoice = {name: invoice[name] for name in sorted(invoice)}  # the order that an upsert with $set stores
        yield encode({"_id": made_with, **invoice, HASH: now})


def partners() -> Iterator[bytes]:
    """``deltas``: each version holds only its changes, including nulls."""
    for number in range(1, 41):
        for v, seconds, delta in partner(number):
            yield own_document(f"P-{number:03d}", v, seconds, 15, number, delta)


def partner(number: int, here: bool = True) -> Iterator[tuple[int, int, Document]]:
    """The versions of a partner: number, second and changes; with ``here`` False those in insurance_2019.

    The first ones are the same there. Today's partners were put back from an older copy once, so of some the last of
    2019 are only there.
    """
    dice = Dice(600_000 + number)
    count = 48 if number == 12 else 1 + dice.below(8)
    when = times(dice, count, office(LATEST - (1 + dice.below(200)) * DAY - dice.below(DAY)))
    where, code = street(dice)
    delta: Document = {
        "name": f"{dice.pick(FAMILY)} {dice.pick(('Glass', 'Roofs', 'Heating', 'Bicycles', 'Assessors'))}",
        "kind": dice.pick(("craftsman", "assessor", "broker")),
        "address": {"street": where, "zip": code, "city": "Hamburg"},
        "phone": phone(dice),
        "fax": phone(dice),
        "rate": money(4500 + dice.below(6000)),
        "rating": 3.5,
        "tags": ["approved"],
    }
    for v in range(1, 1 + (count if here else VERSIONS_OF_2019)):
        if v > 1:
            where, code = street(dice)
            delta = dict(
                [
                    ("phone", phone(dice)),
                    ("rate", money(4500 + dice.below(6000))),
                    ("rating", (20 + dice.below(31)) / 10),
                    ("address", {"street": where, "zip": code, "city": "Hamburg"}),
                    ("fax", None),
                    ("note", dice.pick(REMARKS)),
                ][v % 3 : v % 3 + 1 + dice.below(3)]
            )
        shared = number <= PARTNERS_OF_2019 and v <= VERSIONS_OF_2019
        seconds = in_2019(number, v) if shared else when[v - 1]
        yield v, seconds, delta | stamp(seconds, dice.pick(AUTHORS))


def policy_feed() -> tuple[list[bytes], list[bytes]]:
    """``stream``: documents, and an archive fed by a change stream, which also holds the current version."""
    current, history = [], []
    for number in range(1, 91):
        dice = Dice(700_000 + number)
        when = times(dice, 1 + dice.below(9), office(LATEST - (1 + dice.below(60)) * DAY - dice.below(DAY)))
        policy: Document = {
            "contract": f"K-{204109 + number * 7}",
            "state": "offered",
            "channel": dice.pick(("portal", "broker", "phone")),
            "limits": {"single": 5_000_000, "year": 10_000_000},
            "score": 0.5,
        }
        for v, seconds in enumerate(when, 1):
            if v > 1:
                policy["state"] = ("accepted", "signed", "in force", "amended")[v % 4]
                policy["score"] = dice.below(1000) / 1000
            raw = encode(
                {"_id": f"PF-{number:05d}", VERSION: v, TOKEN: oid(seconds, 17, v), **policy, AT: date(seconds)}
            )
            history.append(archived(raw, oid(seconds + 1, 18, number), None))
        current.append(raw)
    return current, history
