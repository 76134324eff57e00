"""K-118240: a contract of twelve years and 60 versions, 57 of them kept, for the change map.

:data:`CHANGES` lists for 30 fields the versions that set them; the changes of v18 are in the gap. Two more fields,
the author and the letter sent, are set in every version.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bson.int64 import Int64

from model.localserver.sample.building_blocks import AT, AUTHOR, DAY, TOKEN, VERSION, date, local, money, oid
from model.localserver.sample.long_texts import REMARKS
from model.values.canonical import encode

ID = "K-118240"
MISSING = (17, 18, 19)
COUNT = 60

FIRST_OF_YEAR = (1, 4, 8, 13, 17, 22, 26, 31, 37, 42, 47, 52, 57)  # of 2014, 2015, …
AUTHORS = ("portal", "rk-204", "ab-117")  # in turn, so that v43 is by rk-204
_RENEWALS = (4, 8, 13, 18, 22, 26, 31, 37, 42, 47, 52, 57)
_GROSS = {
    1: 31240, 4: 31875, 8: 32710, 13: 33995, 18: 35260, 22: 36115, 25: 38920, 26: 40275, 31: 42130, 37: 44405,
    42: 46810, 43: 49123, 47: 51266, 52: 54890, 56: 56137, 57: 58702,
}  # fmt: skip
_NET = {v: (gross * 100 + 59) // 119 for v, gross in _GROSS.items()}
# The approximate length of the whole document after its notes are rewritten.
_SIZES = {1: 1500, 2: 1440, 8: 1960, 18: 2290, 21: 2420, 29: 2900, 35: 3000, 42: 3060, 48: 3330, 54: 3640, 60: 3560}

CHANGES: dict[str, dict[int, Any]] = {
    "status": {1: "active", 5: "overdue", 6: "reminded", 7: "active", 46: "cancelled", 47: "reinstated"},
    "product": {1: "Household", 25: "Household Plus"},
    "tariffVersion": {1: "2013-2", 31: "2021-1", 37: "2022-1", 47: "2024-1", 52: "2025-2"},
    "holder.name": {1: "Edda Voss", 36: "Edda Voss-Brandt"},
    "holder.phone": {1: "+49 40 555 0130", 14: "+49 40 555 0131", 38: "+49 40 555 0177", 58: "+49 40 555 0178"},
    "holder.email": {3: "edda.voss@example.org", 12: "e.voss@example.com", 36: "edda.voss-brandt@example.com"},
    "holder.address.street": {1: "Lehmweg 12", 9: "Osterstraße 141", 31: "Osterstraße 88", 47: "Veddeler Damm 3"},
    "holder.address.zip": {1: "20251", 9: "20255", 31: "20259", 47: "20457"},
    "holder.address.city": {1: "Hamburg", 9: "Hamburg-Eimsbüttel", 47: "Hamburg"},
    "period.from": {1: date(local("2014-04-01"))},
    "period.to": {v: date(local(f"{year}-04-01")) for v, year in zip((1, *_RENEWALS), range(2015, 2028), strict=True)},
    "period.renews": {1: True, 23: False, 55: True},
    "premium.net": {v: money(net) for v, net in _NET.items()},
    "premium.tax": {v: money(gross - _NET[v]) for v, gross in _GROSS.items()},
    "premium.gross": {v: money(gross) for v, gross in _GROSS.items()},
    "premium.discount": {6: 0.03, 13: 0.05, 26: 0.08, 40: None, 49: 0.05, 57: None},
    "insured.sum": {1: 48000, 25: 65000, 34: Int64(65000), 43: Int64(72000), 56: Int64(80000)},
    "insured.areaM2": {1: 61.5, 9: 74.0, 31: 88.0, 47: 112.5},
    "insured.zone": {1: "B2", 9: "B1", 31: "A2", 47: "C1"},
    "deductible": {1: 300.0, 25: 150.0, 56: money(15000)},
    "billing.method": {1: "transfer", 10: "sepa"},
    "billing.interval": {1: "yearly", 15: "half-yearly", 59: "quarterly"},
    "billing.iban": {
        1: "DE44 1203 0000 0000 4117 20",
        22: "DE91 1203 0000 0000 4117 88",
        44: "DE68 1203 0000 0000 5520 14",
    },
    "billing.mandate": {10: "M-2016-11824-1", 22: "M-2019-11824-2", 44: "M-2023-11824-3"},
    "riders.GLASS": {4: 1490, 13: 1570, 18: 1610, 26: 1680, 47: 1740, 52: 1790, 57: 1840},
    "riders.BIKE": {24: 1990, 26: 2130, 42: 2270, 47: 2490, 50: None},
    "riders.FLOOD": {52: 3620},
    "agent": {1: "A-07", 11: "A-19", 27: "A-31", 41: "A-22", 53: "A-40"},
    "tags": {28: ["household"], 32: ["household", "paperless"], 45: ["paperless"], 60: ["paperless", "loyal"]},
    "notes": dict(_SIZES),
}


def versions() -> list[tuple[int, bytes]]:
    """(seconds, stored document) of all 60 versions, including the missing ones."""
    return list(_told())


def _told() -> Iterator[tuple[int, bytes]]:
    state: dict[str, Any] = {}
    log: list[str] = []
    for v in range(1, COUNT + 1):
        seconds = _when(v)
        state |= {path: values[v] for path, values in CHANGES.items() if v in values}
        if v in _SIZES:
            state["notes"] = ""
            _write(log, _SIZES[v] - len(encode(_document(v, seconds, state))), date(seconds).year)
            state["notes"] = "\n".join(log)
        yield seconds, encode(_document(v, seconds, state))


def _when(v: int) -> int:
    if v == 43:
        return local("2023-03-21 09:12")
    year = max(i for i, first in enumerate(FIRST_OF_YEAR) if first <= v)
    first = FIRST_OF_YEAR[year]
    count = (*FIRST_OF_YEAR, COUNT + 1)[year + 1] - first
    begins = local(f"{2014 + year}-02-12 09:12")
    return begins + (v - first) * (270 // count) * DAY + (v * 37 % 400) * 60


def _write(log: list[str], length: int, year: int) -> None:
    """Add remarks to the log, or remove the last ones, until it has about ``length`` bytes."""
    while log and len("\n".join(log)) > length:
        log.pop()
    while True:
        line = f"{year}: {REMARKS[len(log) * 7 % len(REMARKS)]}"
        if len("\n".join([*log, line])) > length:
            return
        log.append(line)


def _document(v: int, seconds: int, state: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"_id": ID, VERSION: v, TOKEN: oid(seconds, 1, v)}
    for path in CHANGES:
        value = state.get(path)
        if value is None:
            continue
        if path.startswith("riders."):
            made.setdefault("riders", []).append({"_id": path[7:], "premium": money(value)})
            continue
        *parents, name = path.split(".")
        here = made
        for parent in parents:
            here = here.setdefault(parent, {})
        here[name] = value
    made["letter"] = f"L-{date(seconds).year}-{v:04d}"
    return made | {AT: date(seconds), AUTHOR: AUTHORS[v % len(AUTHORS)]}
