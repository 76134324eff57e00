"""K-204117, the contract at the centre of the sample's story, version by version.

v4 to v6 are missing. v9 was edited in place after its hash was stored (its deductible had been 300.0). Between v11
and v14 exactly seven fields change; a person who opened v12 finds four of them changed when saving.
"""

from __future__ import annotations

from typing import Any

from bson.objectid import ObjectId

from model.localserver.sample.building_blocks import AT, AUTHOR, TOKEN, VERSION, content_of, date, local, money, oid
from model.localserver.sample.long_texts import SURVEY, TERMS
from model.localserver.sample.people import MARTA, holder
from model.values.canonical import Path, Value, drop, encode, hash_of, put

MISSING = (4, 5, 6)
DAMAGED = 9
SIZE = 2934  # bytes of the current version: 2.9 KB, with 1000 or 1024 bytes per kilobyte

_GLASS, _BIKE, _FLOOD = (ObjectId("65f0a1c29b1e8a0012c4" + end) for end in ("e3f0", "e3f8", "e41c"))
_OLDER_TOKENS = {12: 0x07C2}  # so that the guard of an edit based on v12 reads as in the pictures

_FIRST: dict[str, Any] = {
    "status": "active",
    "product": "Household Plus",
    "holder": holder(MARTA) | {"phone": "+49 40 555 0142", "email": "marta.l@example.org"},
    "period": {"from": date(local("2024-04-01")), "to": date(local("2026-04-01")), "renews": True},
    "premium": {"net": money(37500), "tax": money(7125), "gross": money(44625), "currency": "EUR"},
    "deductible": 300.0,
    "billing": {
        "method": "sepa",
        "iban": "DE21 1203 0000 0000 2031 40",
        "interval": "yearly",
        "nextDue": date(local("2025-04-01")),
    },
    "riders": [{"_id": _GLASS, "code": "GLASS", "premium": money(1690), "terms": TERMS["GLASS"]}],
    "notes": "",
    "tags": ["household"],
}

_STEPS: tuple[tuple[str, dict[Path, Any]], ...] = (
    (
        "2024-03-28 11:20",
        {("holder", "email"): "m.lindqvist@example.org", ("billing", "iban"): "DE02 1203 0000 0000 2020 51"},
    ),
    ("2024-07-02 15:41", {("notes",): "Call ahead."}),
    (
        "2024-09-16 10:02",
        {
            ("riders", 1): {"_id": _BIKE, "code": "BIKE", "premium": money(2490), "terms": TERMS["BIKE"]},
            ("riders", 0, "premium"): money(1840),
        },
    ),
    (
        "2024-10-01 06:00",
        {
            ("premium", "net"): money(39800),
            ("premium", "tax"): money(8333),
            ("premium", "gross"): money(48133),
            ("premium", "discount"): 0.03,
        },
    ),
    ("2024-11-22 13:37", {("billing", "nextDue"): date(local("2026-04-01"))}),
    ("2025-01-09 09:15", {("holder", "address", "city"): "Hamburg-Ottensen"}),
    ("2025-02-14 16:08", {("tags", 1): "paperless"}),
    ("2025-06-03 11:52", {("holder", "phone"): "+49 40 555 0117", ("deductible",): 150.0}),
    (
        "2025-08-22 14:30",
        {
            ("notes",): "Roof redone 2019. Call ahead.",
            ("holder", "address", "city"): "Hamburg",
            ("holder", "address", "floor"): 3,
        },
    ),
    (
        "2026-11-03 10:14",
        {
            ("period", "to"): date(local("2027-04-01")),
            ("premium", "net"): money(41280),
            ("premium", "gross"): money(49123),
            ("premium", "discount"): 0.05,
            ("billing", "nextDue"): date(local("2026-12-01")),
        },
    ),
    (
        "2026-11-14 08:47",
        {("premium", "net"): money(43860), ("premium", "gross"): money(52193), ("premium", "discount"): None},
    ),
    ("2026-11-19 17:20", {("billing", "interval"): "monthly", ("holder", "phone"): "+49 40 555 0192"}),
    (
        "2026-11-20 14:26",
        {("deductible",): money(15000), ("riders", 2): {"_id": _FLOOD, "code": "FLOOD", "premium": money(3620)}},
    ),
)


def versions() -> list[tuple[int, bytes]]:
    """(seconds, stored document) of all 14 versions, including the missing ones, with v9 as stored today."""
    short = _told(0)
    return _told(SIZE - len(short[-1][1]))


def original_hash() -> str:
    """The hash stored with v9."""
    _, raw = versions()[DAMAGED - 1]
    return hash_of(content_of(put(raw, ("deductible",), Value.of(300.0))))


def _told(survey: int) -> list[tuple[int, bytes]]:
    began = local("2024-03-12 09:41")
    document = {"_id": "K-204117", VERSION: 1, TOKEN: oid(began, 1, 0x07B0), **_FIRST}
    raw = encode({**document, AT: date(began), AUTHOR: "rk-204"})
    raw = put(raw, ("holder", "address", "survey"), Value.of(SURVEY[:survey]))
    told = [(began, raw)]
    for number, (text, steps) in enumerate(_STEPS, 2):
        seconds = local(text)
        for path, value in steps.items():
            raw = drop(raw, path) if value is None else put(raw, path, Value.of(value))
        raw = put(raw, (VERSION,), Value.of(number))
        raw = put(raw, (TOKEN,), Value.of(oid(seconds, 1, _OLDER_TOKENS.get(number, 0x07B0 + number))))
        raw = put(raw, (AT,), Value.of(date(seconds)))
        told.append((seconds, raw))
    return told
