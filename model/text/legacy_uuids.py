"""UUIDs in Binary subtype 3, whose bytes stand in the order of the driver that wrote them.

The old drivers for Java and .NET rearranged the sixteen bytes, the one for Python did not. The notation names the
order: ``JUUID("…")``, ``CSUUID("…")``, ``PYUUID("…")``, so that it reads back as the same bytes even if the order was
guessed wrong.

The order is the one that an open connection states (``uuidRepresentation`` in its address), else the only one in which
the bytes are a UUID by RFC 9562; of several, the one in which most of the UUIDs read so far are.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

LENGTH = 16
SUBTYPE = 3
_HEAD = b"\x10\x00\x00\x00\x03"  # the length and subtype in front of such bytes in a document
_LEARNT = 200  # at most so many of one document: they tell no more than the first ones


class Order(Struct, frozen=True):
    """An order of bytes: the call that names it, its word in addresses, and the position of each byte of a UUID."""

    call: str
    word: str
    places: tuple[int, ...]

    def rearranged(self, content: bytes) -> bytes:
        """The bytes of the UUID that stored bytes stand for; the other way round it is the same."""
        return bytes([content[place] for place in self.places])

    def text(self, content: bytes) -> str:
        """The call that reads back as these stored bytes."""
        return f'{self.call}("{uuid.UUID(bytes=self.rearranged(content))}")'

    def fits(self, content: bytes) -> bool:
        """Whether stored bytes are a UUID of a known variant and version in this order."""
        return content[self.places[8]] & 0xC0 == 0x80 and 1 <= content[self.places[6]] >> 4 <= 8


JAVA = Order("JUUID", "javaLegacy", (7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8))
NET = Order("CSUUID", "csharpLegacy", (3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15))
PYTHON = Order("PYUUID", "pythonLegacy", tuple(range(LENGTH)))
ORDERS = (JAVA, NET, PYTHON)

_stated: dict[object, Order] = {}
_seen: Counter[Order] = Counter()


def state(connection: object, word: str) -> None:
    """Use the order that an open connection's address names; another word, or "", states nothing."""
    found = next((order for order in ORDERS if order.word.lower() == word.lower()), None)
    if found is not None:
        _stated[connection] = found


def forget(connection: object) -> None:
    """Drop what a closed connection stated."""
    _stated.pop(connection, None)


def learn(documents: Iterable[bytes]) -> None:
    """Count the orders of the UUIDs in documents that were read; the bytes are searched, and nothing is decoded."""
    for raw in documents:
        at, left = raw.find(_HEAD), _LEARNT
        while at >= 0 and left:
            content = raw[at + len(_HEAD) : at + len(_HEAD) + LENGTH]
            fitting = _fitting(content) if len(content) == LENGTH else []
            if len(fitting) == 1:
                _seen[fitting[0]] += 1
            at, left = raw.find(_HEAD, at + len(_HEAD)), left - 1


def order_of(content: bytes) -> Order | None:
    """The order of the sixteen stored bytes of a UUID; None if nobody can tell."""
    stated = set(_stated.values())
    if len(stated) == 1:
        return next(iter(stated))
    found = _fitting(content)
    usual = _seen.most_common(1)
    if not found:
        return usual[0][0] if usual else None
    # Nearly all UUIDs are of version 4.
    return max(found, key=lambda order: (_seen[order], content[order.places[6]] >> 4 == 4))


def written(subtype: int, content: bytes) -> str | None:
    """Binary content as the call that writes its UUID, of either subtype; None for other bytes."""
    if len(content) != LENGTH:
        return None
    if subtype == 4:
        return f'UUID("{uuid.UUID(bytes=content)}")'
    order = order_of(content) if subtype == SUBTYPE else None
    return None if order is None else order.text(content)


def _fitting(content: bytes) -> list[Order]:
    return [order for order in ORDERS if order.fits(content)]
