"""The people who hold the contracts: invented, with addresses in Hamburg and numbers that nobody has."""

from __future__ import annotations

import functools
from typing import Any

from bson.objectid import ObjectId
from msgspec import Struct

from model.localserver.sample.building_blocks import DAY, Dice, local, midnight, oid

GIVEN = (
    "Marta", "Jonas", "Edda", "Piet", "Swantje", "Malik", "Ragna", "Tomasz", "Ilse", "Noor", "Henrik", "Alva", "Cem",
    "Frauke", "Lars", "Yara", "Bente", "Oskar", "Dilan", "Wiebke", "Anton", "Mila", "Karim", "Thea", "Rune", "Zofia",
)  # fmt: skip
FAMILY = (
    "Lindqvist", "Brandt", "Petersen", "Okafor", "Jansen", "Yilmaz", "Nowak", "Hansen", "Behrens", "Thomsen", "Kröger",
    "Santos", "Möller", "Dierks", "Voss", "Aydin", "Lorenz", "Claasen", "Ferrari", "Wulf", "Sievers", "Haddad", "Timm",
)  # fmt: skip
STREETS = (
    "Elbchaussee", "Große Bergstraße", "Eppendorfer Weg", "Osterstraße", "Wexstraße", "Fuhlsbüttler Straße",
    "Langenhorner Chaussee", "Reeperbahn", "Lehmweg", "Veddeler Damm", "Sierichstraße", "Hoheluftchaussee",
)  # fmt: skip
ZIPS = ("22763", "22767", "20259", "20255", "20355", "22309", "22415", "20359", "20251", "20457", "22299", "20253")
COUNT = 480


class Person(Struct, frozen=True):
    """A holder of contracts."""

    id: ObjectId
    name: str
    birth: str
    phone: str
    email: str
    street: str
    zip: str


MARTA = Person(
    ObjectId("65f0a1c29b1e8a0012c4d7aa"),
    "Marta Lindqvist",
    "1984-06-02",
    "+49 40 555 0117",
    "m.lindqvist@example.org",
    "Elbchaussee 96",
    "22763",
)


def phone(dice: Dice) -> str:
    """A number in a range that is not assigned."""
    return f"+49 40 555 {dice.below(9000) + 200:04d}"


def street(dice: Dice) -> tuple[str, str]:
    """A street with house number, and the post code."""
    which = dice.below(len(STREETS))
    return f"{STREETS[which]} {dice.below(140) + 1}", ZIPS[which]


def iban(dice: Dice) -> str:
    """An account number that is valid only in form."""
    return f"DE{dice.below(80) + 10} 1203 0000 {dice.below(10000):04d} {dice.below(10000):04d} {dice.below(90) + 10}"


@functools.cache
def people() -> tuple[Person, ...]:
    """All holders, Marta Lindqvist first."""
    dice = Dice(1984)
    made = [MARTA]
    since = local("2014-02-03 09:00")
    for i in range(1, COUNT):
        given, family = dice.pick(GIVEN[1:]), dice.pick(FAMILY)  # there is only one Marta
        plain = family.lower().replace("ö", "oe")
        where, code = street(dice)
        made.append(
            Person(
                oid(since + i * 9 * DAY + dice.below(DAY), 7, i),
                f"{given} {family}",
                f"{1938 + dice.below(66)}-{1 + dice.below(12):02d}-{1 + dice.below(28):02d}",
                phone(dice),
                f"{given[0].lower()}.{plain}{i}@example.org",
                where,
                code,
            )
        )
    return tuple(made)


def holder(person: Person) -> dict[str, Any]:
    """The holder as stored in a contract."""
    return {
        "customerId": person.id,
        "name": person.name,
        "birth": midnight(person.birth),
        "phone": person.phone,
        "email": person.email,
        "address": {"street": person.street, "zip": person.zip, "city": "Hamburg", "country": "DE"},
    }
