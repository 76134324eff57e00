"""Plausible lives of insurance contracts: a first state, and steps that change fields like real edits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from model.localserver.sample.building_blocks import AT, AUTHOR, DAY, TOKEN, VERSION, Dice, date, local, money, oid
from model.localserver.sample.long_texts import NOTES, SURVEY, TERMS
from model.localserver.sample.people import Person, holder, iban, phone, street
from model.values.canonical import encode

PRODUCTS = ("Household Plus", "Household", "Home Owner", "Liability Family", "Household Basic", "Bicycle Premium")
INTERVALS = ("yearly", "monthly", "quarterly", "half-yearly")
AUTHORS = ("rk-204", "ab-117", "import-7", "jt-031", "portal")
RIDER_CODES = tuple(TERMS)
EARLIEST = local("2019-01-07 08:00")
LATEST = local("2026-11-20 13:50")

Document = dict[str, Any]
Step = Callable[[Dice, Document, int], None]


def rider(dice: Dice, code: str, seconds: int, number: int) -> Document:
    """A rider with an identity of its own; the long ones include their terms."""
    made: Document = {"_id": oid(seconds, 5, number), "code": code, "premium": money(dice.below(3200) + 790)}
    if len(TERMS[code]) > 200:
        made["terms"] = TERMS[code][: 60 + dice.below(300)]
    return made


def first(dice: Dice, id: str, person: Person, seconds: int, survey: int) -> Document:
    """Version 1 of a contract; ``survey`` is the length of its survey report in characters."""
    net = 34000 + dice.below(52000)
    begins = seconds - seconds % DAY + 14 * DAY
    home = holder(person)
    home["address"]["survey"] = SURVEY[:survey]
    return {
        "_id": id,
        VERSION: 1,
        TOKEN: oid(seconds, 1, 0),
        "status": "active",
        "product": dice.pick(PRODUCTS),
        "holder": home,
        "period": {"from": date(begins), "to": date(begins + 1096 * DAY), "renews": dice.chance(0.9)},
        "premium": premium(net),
        "deductible": float(50 * dice.below(9)),
        "billing": {
            "method": "sepa",
            "iban": iban(dice),
            "interval": dice.pick(INTERVALS),
            "nextDue": date(local("2026-12-01")),
        },
        "riders": [rider(dice, RIDER_CODES[i], seconds, i) for i in range(dice.below(3))],
        "notes": dice.pick(NOTES),
        "tags": ["household", "paperless"] if dice.chance(0.6) else ["household"],
        AT: date(seconds),
        AUTHOR: dice.pick(AUTHORS),
    }


def premium(net: int) -> Document:
    """A premium with net, 19 % tax and gross, from cents."""
    tax = (net * 19 + 50) // 100
    return {"net": money(net), "tax": money(tax), "gross": money(net + tax), "currency": "EUR"}


def renew(dice: Dice, document: Document, seconds: int) -> None:
    """The contract is renewed for another term, with another premium."""
    document["premium"] = {**document["premium"], **premium(35000 + dice.below(56000))}
    document["period"]["to"] = date(seconds - seconds % DAY + 365 * DAY)


def new_phone(dice: Dice, document: Document, seconds: int) -> None:
    """The holder has a new phone number."""
    document["holder"]["phone"] = phone(dice)


def move(dice: Dice, document: Document, seconds: int) -> None:
    """The holder moves."""
    address = document["holder"]["address"]
    address["street"], address["zip"] = street(dice)


def new_interval(dice: Dice, document: Document, seconds: int) -> None:
    """The premium is paid at another interval, from another account."""
    others = [i for i in INTERVALS if i != document["billing"]["interval"]]
    document["billing"]["interval"] = dice.pick(others)
    document["billing"]["iban"] = iban(dice)


def new_note(dice: Dice, document: Document, seconds: int) -> None:
    """Somebody writes a note."""
    others = [n for n in NOTES if n != document["notes"]]
    document["notes"] = dice.pick(others)


def riders(dice: Dice, document: Document, seconds: int) -> None:
    """A rider is added, or the last one removed."""
    have = document["riders"]
    if len(have) < len(RIDER_CODES) and (not have or dice.chance(0.7)):
        taken = {r["code"] for r in have}
        code = dice.pick([c for c in RIDER_CODES if c not in taken])
        document["riders"] = [*have, rider(dice, code, seconds, len(have))]
    else:
        document["riders"] = have[:-1]


def new_deductible(dice: Dice, document: Document, seconds: int) -> None:
    """The deductible changes; the import and people take turns at writing it, as money and as a number."""
    amount = 50 * (1 + dice.below(12))
    was = document["deductible"]
    document["deductible"] = money(amount * 100) if isinstance(was, float) else float(amount)


def rebate(dice: Dice, document: Document, seconds: int) -> None:
    """A rebate is granted or revoked."""
    if document["premium"].pop("discount", None) is None:
        document["premium"]["discount"] = (1 + dice.below(4)) / 20


STEPS: tuple[Step, ...] = (
    renew, renew, renew, new_phone, new_phone, move, new_interval, new_note, new_note, riders, new_deductible, rebate,
)  # fmt: skip


def office(seconds: int) -> int:
    """A time on that day during office hours, 8 to 18 o'clock in winter."""
    return seconds - seconds % DAY + 7 * 3600 + seconds % 36_000


def times(dice: Dice, count: int, last: int, begins: int | None = None) -> list[int]:
    """The seconds at which ``count`` versions were written; the last one is given."""
    if count == 1:
        return [last]
    if begins is None:
        begins = max(EARLIEST, last - count * (60 + dice.below(240)) * DAY)
    pace = (last - begins) / (count - 1)
    thrown = [int(begins + pace * (i + (0.6 * dice.below(1000) / 1000 if i else 0))) for i in range(count - 1)]
    made: list[int] = []
    for seconds in map(office, thrown):
        made.append(max(seconds, made[-1] + 600) if made else seconds)
    return [*(made if made[-1] < last else thrown), last]


def live(dice: Dice, document: Document, when: Sequence[int], author: str | None = None) -> Iterator[bytes]:
    """The stored document at each version, version 1 first. ``author`` wrote the last one."""
    for number, seconds in enumerate(when, 1):
        if number > 1:
            dice.pick(STEPS)(dice, document, seconds)
            document[AUTHOR] = dice.pick(AUTHORS)
        if number == len(when) and author:
            document[AUTHOR] = author
        document[VERSION] = number
        document[TOKEN] = oid(seconds, 1, number)
        document[AT] = date(seconds)
        yield encode(document)
