"""The basis of all parts of the sample: a fixed clock, fixed dice, and the bytes of ids, money and archive rows.

The story ends on 20 November 2026 in Hamburg; times are written in local time and stored in UTC. Nothing here uses
the machine's time, random numbers or hash seed, so the build gives equal bytes on every platform.
"""

from __future__ import annotations

import datetime as dt
import random
import struct
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from bson.decimal128 import Decimal128
from bson.objectid import ObjectId

from model.values.canonical import encode, hash_of, without

T = TypeVar("T")

ZONE = ZoneInfo("Europe/Berlin")
EPOCH = dt.datetime(1970, 1, 1)
DAY = 86_400

ID, VERSION, TOKEN, AT, AUTHOR, HASH = "docId", "v", "_w", "changedAt", "changedBy", "_versioned_id"
UNIQUE_ID_VERSION = (((ID, 1), (VERSION, 1)), True)
BY_TIME = (((AT, 1),), False)

_length = struct.Struct("<i")
_seconds = struct.Struct(">I")


def local(text: str) -> int:
    """Seconds since 1970 for a time in Hamburg, ``2026-11-20 14:26`` or ``2026-11-20``."""
    return int(dt.datetime.fromisoformat(text).replace(tzinfo=ZONE).timestamp())


def date(seconds: float) -> dt.datetime:
    """A BSON date; naive, which PyMongo stores as UTC."""
    return EPOCH + dt.timedelta(seconds=seconds)


def midnight(text: str) -> dt.datetime:
    """A date without a time of day: midnight UTC."""
    return dt.datetime.fromisoformat(text)


def in_2019(number: int, v: int) -> int:
    """The second at which a version of a document of insurance_2019 was written."""
    return local("2019-01-14 08:30") + number * 3 * DAY + v * 11 * DAY + number * 613 % 7000


def oid(seconds: int, line: int, number: int) -> ObjectId:
    """An ObjectId of a given second; ``line`` is the kind of thing it is for, ``number`` counts within the kind."""
    return ObjectId(_seconds.pack(seconds) + struct.pack(">IBBH", 0x9B1E8A00 ^ line, line & 255, 0xC4, number & 0xFFFF))


def money(cents: int) -> Decimal128:
    """An amount with two decimals, ``438.60``."""
    return Decimal128.from_bid(struct.pack("<QQ", cents, 0x303C << 48))


class Dice:
    """Random numbers that are equal in every Python: only for a seeded ``random()`` is that promised."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def below(self, n: int) -> int:
        """A number from 0 to n - 1."""
        return int(self._random() * n)

    def pick(self, several: Sequence[T]) -> T:
        """One of several."""
        return several[int(self._random() * len(several))]

    def chance(self, p: float) -> bool:
        """True with probability p."""
        return self._random() < p


def content_of(raw: bytes) -> bytes:
    """The users' part of a version: without ids, version, token, hash and time of change."""
    return without(raw, ("_id", ID, VERSION, TOKEN, AT, HASH))


def archived(raw: bytes, row: ObjectId, sealed: str | None = "") -> bytes:
    """The archive row for a stored document: an ``_id`` of its own, ``docId``, and the hash of the content.

    ``sealed`` is a hash to store instead of the right one; None stores none.
    """
    end_of_id: int = 13 + _length.unpack_from(raw, 9)[0]  # after length, type, "_id" and a string's own length
    identity = raw[9:end_of_id]
    parts = [b"\x07_id\x00", row.binary, b"\x02docId\x00", identity, raw[end_of_id:-1]]
    if sealed is not None:
        parts.append(b"\x02" + HASH.encode() + b"\x00\x29\x00\x00\x00")
        parts.append((sealed or hash_of(content_of(raw))).encode() + b"\x00")
    body = b"".join(parts)
    return _length.pack(len(body) + 5) + body + b"\x00"


def own_document(id: Any, v: Any, seconds: int, line: int, row: int, *parts: Mapping[str, Any]) -> bytes:
    """A version that is a document of its own, created and stamped at one second."""
    made = {"_id": oid(seconds, line, row), ID: id, VERSION: v, TOKEN: oid(seconds, line + 1, row)}
    for part in parts:
        made |= part
    return encode(made)


def stamp(seconds: int, author: str) -> dict[str, Any]:
    """The fields with time and author that every edit of this insurer sets."""
    return {AT: date(seconds), AUTHOR: author}
