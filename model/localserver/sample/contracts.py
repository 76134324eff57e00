"""``insurance.contracts`` and its archive: 2,318 active contracts with premiums of 400 euros or more.

Everything is sound except the damage listed here: versions have no gaps, tokens and dates agree, and every hash in an
archive row is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from bson import ObjectId
from msgspec import Struct

from model.localserver.sample import contract_lives, k118240, k204117
from model.localserver.sample.building_blocks import (
    AT,
    AUTHOR,
    DAY,
    TOKEN,
    VERSION,
    Dice,
    archived,
    date,
    local,
    money,
    oid,
)
from model.localserver.sample.people import people
from model.values.canonical import Value, encode, get, put

SOUND_COUNT = 2318  # contracts that the filter in the pictures finds: active, gross premium of 400 or more
OTHERS_COUNT = 164  # lapsed, cancelled, or cheaper


class Told(Struct, frozen=True):
    """A contract with facts that the pictures show."""

    versions: int
    last: str  # time of the current version
    size: int  # bytes of the current version as stored
    missing: tuple[int, ...] = ()


TOLD = {
    "K-204109": Told(6, "2026-11-18 09:12", 2125),
    "K-204111": Told(3, "2026-11-17 16:40", 1822),
    "K-204112": Told(22, "2026-11-20 11:03", 4680, (8, 9)),
    "K-204115": Told(9, "2026-11-12 08:55", 2330),
    "K-204118": Told(1, "2026-11-03 10:00", 1622),
    "K-204120": Told(8, "2026-11-18 17:31", 2430),
    "K-204121": Told(31, "2026-11-20 13:58", 5300),
    "K-204133": Told(3, "2026-11-18 17:31", 1925),
    "K-204140": Told(11, "2026-11-18 02:09", 5096),
    "K-204151": Told(6, "2026-11-18 02:09", 2228),
    "K-204160": Told(1204, "2026-11-20 13:45", 2128),  # a fleet of hire bicycles, billed twice a week
    "K-204177": Told(1, "2026-11-17 22:47", 1620),
    "K-204198": Told(18, "2026-11-17 22:47", 3848),
    "K-204203": Told(4, "2026-11-18 15:12", 2030),
    "K-204219": Told(5, "2026-11-12 02:09", 2328),
    "K-204228": Told(2, "2026-11-12 02:09", 1822),
    "K-204236": Told(4, "2026-11-10 12:31", 2125),
    "K-204247": Told(7, "2026-11-12 02:09", 2430),
    "K-204251": Told(6, "2026-11-11 08:20", 2330),
    "K-204262": Told(5, "2026-11-12 18:05", 2228),
    "K-204280": Told(1, "2026-11-12 02:09", 1620),
    "K-204301": Told(10, "2026-11-12 02:09", 2835),
    "K-204344": Told(4, "2026-11-12 02:09", 2030),
    "K-204402": Told(2, "2026-11-12 02:09", 1722),
    "K-204467": Told(8, "2026-11-12 02:09", 2530),
}

# A3: an import wrote the next version to the archive first and died. Id -> time, in the row's ObjectId.
PHANTOMS = {
    "K-204120": "2026-11-18 17:32",
    "K-204133": "2026-11-18 17:32",
    "K-204140": "2026-11-18 02:10",
    "K-204151": "2026-11-18 02:10",
    "K-204177": "2026-11-17 22:48",
    "K-204198": "2026-11-17 22:48",
    "K-204203": "",  # young, by the clock of whoever opens the sample
    "K-204219": "2026-11-12 02:10",
    "K-204228": "2026-11-12 02:10",
    "K-204247": "2026-11-12 02:10",
    "K-204280": "2026-11-12 02:10",
    "K-204301": "2026-11-12 02:10",
    "K-204344": "2026-11-12 02:10",
    "K-204402": "2026-11-12 02:10",
    "K-204467": "2026-11-12 02:10",
}
EDITED_IN_PLACE = ("K-204236", "K-204251")  # A2: the archive has the current version, with another content
RESIDUE = "K-204262"  # A1: the archive has the current version, equal
ORPHAN = "K-204099"  # A5: four archived versions, no document
YOUNG = 11 * 60  # seconds


def stored_contracts(now: int) -> tuple[list[bytes], list[bytes]]:
    """The documents of both collections; one phantom's date depends on ``now``, in seconds.

    All others are made once per process, because that takes most of a second.
    """
    made = _made()
    history = list(made.history)
    at, current = made.young
    history[at] = archived(*_phantom(current, now - YOUNG, at + 1))
    return list(made.current), history


@cache
def _made() -> _Contracts:
    return _Contracts()


class _Contracts:
    """The documents of both collections, while they are made."""

    def __init__(self) -> None:
        self.current: list[bytes] = []
        self.history: list[bytes] = []
        self.young = (0, b"")  # the position of the young phantom, and the current document below it
        self._add(k118240.ID, k118240.versions(), k118240.MISSING)
        for number, id in enumerate(_ids()):
            if id == "K-204117":
                self._marta()
            elif id in TOLD:
                self._told(id, number)
            else:
                self._thrown(id, number)
        self._orphan()
        for number in range(OTHERS_COUNT):
            self._other(f"K-30{1000 + number * 3}", number)

    def _add(self, id: str, versions: list[tuple[int, bytes]], missing: tuple[int, ...] = ()) -> None:
        for number, (_, raw) in enumerate(versions[:-1], 1):
            if number not in missing:
                self._archive(raw, versions[number][0])
        self.current.append(versions[-1][1])

    def _archive(self, raw: bytes, seconds: int, sealed: str | None = "") -> None:
        self.history.append(archived(raw, _row(seconds, len(self.history) + 1), sealed))

    def _marta(self) -> None:
        versions = k204117.versions()
        for number, (_, raw) in enumerate(versions[:-1], 1):
            if number not in k204117.MISSING:
                sealed = k204117.original_hash() if number == k204117.DAMAGED else ""
                self._archive(raw, versions[number][0], sealed)
        self.current.append(versions[-1][1])

    def _told(self, id: str, number: int) -> None:
        told = TOLD[id]
        last = local(told.last)
        survey = 400
        for _ in range(2):
            when = contract_lives.times(Dice(number), told.versions, last)
            versions = list(zip(when, _life(id, number, when, survey), strict=True))
            survey += told.size - len(versions[-1][1])
        assert survey >= 0, id
        self._add(id, versions, told.missing)
        current = versions[-1][1]
        if id in PHANTOMS:
            if not PHANTOMS[id]:
                self.young = len(self.history), current
            seconds = local(PHANTOMS[id]) if PHANTOMS[id] else 0
            self.history.append(archived(*_phantom(current, seconds, len(self.history) + 1)))
        elif id in EDITED_IN_PLACE:
            before = put(put(current, ("notes",), Value.of("Call ahead.")), ("premium", "discount"), Value.of(0.1))
            self._archive(before, last + 40)
        elif id == RESIDUE:
            self._archive(current, last + 2)

    def _thrown(self, id: str, number: int) -> None:
        dice = Dice(50_000 + number)
        count = 1 + dice.below(3) if dice.chance(0.55) else 1 + dice.below(10)
        if dice.chance(0.01):
            count = 20 + dice.below(60)
        last = contract_lives.office(contract_lives.LATEST - (1 + dice.below(500)) * DAY - dice.below(DAY))
        when = contract_lives.times(dice, count, last)
        self._add(id, list(zip(when, _life(id, number, when, 300 + dice.below(900)), strict=True)))

    def _orphan(self) -> None:
        when = contract_lives.times(Dice(4099), 5, local("2026-09-30 12:00"))
        for seconds, raw in zip(when[1:], _life(ORPHAN, 4099, when[:4], 500), strict=True):
            self._archive(raw, seconds)

    def _other(self, id: str, number: int) -> None:
        dice = Dice(90_000 + number)
        when = contract_lives.times(dice, 1 + dice.below(4), local("2025-06-30 12:00") - dice.below(900) * DAY)
        document = contract_lives.first(dice, id, dice.pick(people()), when[0], 200 + dice.below(500))
        versions = list(zip(when, contract_lives.live(dice, document, when), strict=True))
        if number % 4:
            document["status"] = dice.pick(("lapsed", "cancelled", "cancelled", "offer"))
        else:
            document["premium"] = contract_lives.premium(9000 + dice.below(20000))
        self._add(id, [*versions[:-1], (when[-1], encode(document))])


def _row(seconds: int, number: int) -> ObjectId:
    return oid(seconds, 2, number)


def _phantom(current: bytes, seconds: int, row: int) -> tuple[bytes, ObjectId]:
    """A version above the current one that nobody ever saw, and its row's id."""
    version = get(current, (VERSION,))
    assert version is not None
    number = version.python() + 1
    raw = put(current, (VERSION,), Value.of(number))
    raw = put(raw, (TOKEN,), Value.of(oid(seconds, 1, number)))
    raw = put(raw, (AT,), Value.of(date(seconds)))
    raw = put(raw, (AUTHOR,), Value.of("import-7"))
    raw = put(raw, ("premium", "net"), Value.of(money(46110)))
    raw = put(raw, ("premium", "gross"), Value.of(money(54871)))
    return raw, _row(seconds, row)


def _ids() -> Iterator[str]:
    """The ids of the contracts that the filter in the pictures finds, in order."""
    dice = Dice(204)
    shown = ["K-204109", "K-204111", "K-204112", "K-204115", "K-204117", "K-204118", "K-204120", "K-204121"]
    yield from shown
    wanted, number = SOUND_COUNT - len(shown), 204_121
    while wanted:
        number += 1
        id = f"K-{number}"
        if id in TOLD or dice.chance(0.45):
            yield id
            wanted -= 1


def _life(id: str, number: int, when: list[int], survey: int) -> Iterator[bytes]:
    dice = Dice(10_000 + number)
    person = people()[1 + dice.below(len(people()) - 1)]
    document = contract_lives.first(dice, id, person, when[0], survey)
    if id == "K-204160":
        document["product"] = "Fleet Flex"
    for raw in contract_lives.live(dice, document, when, "rk-204" if id in TOLD else None):
        last = document[VERSION] == len(when)
        if last and id == "K-204120":
            document["premium"] |= {"net": money(43860), "tax": money(8333), "gross": money(52193)}
            raw = encode(document)
        yield raw
