"""The insurer's counts: agents (plain), a counter collection, two-step counters, apply-once lists.

Five tokens in ``stats`` were never finished (T1): three of one day, and two of another day whose first event never
completed, so that it has no count yet. Next to the three there is one that is minutes old: a call that is booked
late.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

from bson.int64 import Int64

from model.localserver.sample.building_blocks import Dice, local, midnight, money, oid
from model.localserver.sample.layout_samples import CLAIMS, FIRST_INVOICE, INVOICES
from model.localserver.sample.people import FAMILY, GIVEN, phone
from model.values.canonical import encode

STALE = {"2025-10-31 calls": 3, "2025-12-31 portal": 2}
NEVER_COUNTED = "2025-12-31 portal"
BOOKED_LATE = "2025-10-31 calls"
REGIONS = ("Altona", "Eimsbüttel", "Nord", "Wandsbek", "Harburg", "Mitte")
YOUNG = 4 * 60  # seconds
Document = dict[str, Any]


def agents() -> Iterator[bytes]:
    """``plain``: no versions at all."""
    for number in range(1, 49):
        dice = Dice(800_000 + number)
        yield encode(
            {
                "_id": f"A-{number:02d}",
                "name": f"{dice.pick(GIVEN)} {dice.pick(FAMILY)}",
                "region": dice.pick(REGIONS),
                "phone": phone(dice),
                "since": midnight(f"{2001 + dice.below(25)}-{1 + dice.below(12):02d}-01"),
                "contracts": dice.below(190),
                "commission": (20 + dice.below(60)) / 1000,
                "active": dice.chance(0.9),
                "languages": ["de", *(["en"] if dice.chance(0.5) else []), *(["tr"] if dice.chance(0.2) else [])],
            }
        )


def counters() -> Iterator[bytes]:
    """``sequence``: the last number handed out, by name."""
    yield encode({"_id": "invoices", "seq": FIRST_INVOICE + INVOICES})
    yield encode({"_id": "claims", "seq": CLAIMS})
    yield encode({"_id": "letters", "seq": 118_240})


def stats(now: int) -> Iterator[bytes]:
    """``pending``: a document for each day and kind; a token is pending until its event was counted."""
    made: dict[str, Document] = {}
    for row, day in enumerate(_days()):
        for column, kind in enumerate(("calls", "claims", "portal")):
            dice = Dice(900_000 + row * 3 + column)
            noon = local(f"{day} 12:00")
            made[f"{day} {kind}"] = {
                "day": midnight(day),
                "kind": kind,
                "count": 40 + dice.below(300),
                "pending": [],
                "applied": [oid(noon + i * 731, 20 + column, i) for i in range(2 + dice.below(6))],
            }
    for id, tokens in STALE.items():
        begins = local(f"{id[:10]} 18:40")
        made[id]["pending"] = [oid(begins + i * 397, 30, i) for i in range(tokens)]
    del made[NEVER_COUNTED]["count"], made[NEVER_COUNTED]["applied"]
    made[BOOKED_LATE]["pending"].append(oid(now - YOUNG, 30, 9))
    for id in sorted(made):
        yield encode({"_id": id, **made[id]})


def _days() -> Iterator[str]:
    """The last day of each month since 2025, and each day of the story's November."""
    month = dt.date(2025, 2, 1)
    while month <= dt.date(2026, 11, 1):
        yield (month - dt.timedelta(days=1)).isoformat()
        month = (month + dt.timedelta(days=31)).replace(day=1)
    for day in range(1, 21):
        yield f"2026-11-{day:02d}"


def campaigns() -> Iterator[bytes]:
    """``processed``: a list of the entries that have raised a total."""
    months = [f"2026-{m:02d}" for m in range(1, 11)]
    for number, name in enumerate(
        ("Spring letter", "Bicycle week", "Flood check", "Moving house", "Switch to portal"), 1
    ):
        dice = Dice(950_000 + number)
        done = months[dice.below(4) : 5 + dice.below(6)]
        yield encode({"_id": number, "name": name, "answers": 12 * len(done) + dice.below(9), "processed": done})


def kpi() -> Iterator[bytes]:
    """``plain``: key figures by month and region."""
    for number, region in enumerate(REGIONS):
        for month in range(22):
            dice = Dice(970_000 + number * 100 + month)
            name = f"{2025 + month // 12}-{1 + month % 12:02d}"
            yield encode(
                {
                    "_id": f"{name} {region}",
                    "month": midnight(f"{name}-01"),
                    "region": region,
                    "contracts": Int64(300 + dice.below(400)),
                    "premium": money(12_000_000 + dice.below(9_000_000)),
                    "lossRatio": dice.below(9000) / 10_000,
                    "claimsByWeek": [dice.below(30) for _ in range(5)],
                    "final": month < 20,
                }
            )
