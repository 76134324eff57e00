"""Checks whether a document comes back as it was stored: every type, the order of fields, odd names."""

from __future__ import annotations

import struct

from bson import ObjectId
from msgspec import Struct

from model.errors import NotAllowed, Refused, Unreachable
from model.guarantees.scratch import Scratch
from model.server.guards import by_id
from model.server.retry import Write, run
from model.values import canonical as c
from model.values.canonical import Value


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<i", len(encoded) + 1) + encoded + b"\x00"


def _binary(subtype: int, data: bytes) -> Value:
    return Value(c.BINARY, struct.pack("<iB", len(data), subtype) + data)


def _decimal(high: int, low: int) -> Value:
    return Value(c.DECIMAL128, struct.pack("<QQ", low, high))


COMMON: dict[str, Value] = {
    "double": Value(c.DOUBLE, struct.pack("<d", 0.1)),
    "whole double": Value(c.DOUBLE, struct.pack("<d", 1.0)),
    "string": Value.of("grün 😀"),
    "document": Value.document(c.document([("b", Value.of(1)), ("a", Value.of(2))])),
    "array": c.array([Value.of(1), Value.of("x"), Value.of(None)]),
    "binary": _binary(0, b"\x00\xff"),
    "UUID": _binary(4, bytes(range(16))),
    "ObjectId": Value.of(ObjectId("6553f1000000000000000001")),
    "boolean": Value.of(True),
    "date": Value(c.DATE, struct.pack("<q", 1_700_000_000_123)),
    "null": Value.of(None),
    "Int32": Value.of(1),
    "Int64": Value(c.INT64, struct.pack("<q", 1)),
    "regular expression": Value(c.REGEX, b"^a.b$\x00im\x00"),
    "timestamp": Value(c.TIMESTAMP, struct.pack("<II", 1, 1_700_000_000)),
    "Decimal128": _decimal(0x303C000000000000, 100),  # 1.00
}
"""Everyday values: if a server changes one of these silently, it is not safe to edit through."""

RARE: dict[str, Value] = {
    "negative zero": Value(c.DOUBLE, struct.pack("<d", -0.0)),
    "NaN": Value(c.DOUBLE, struct.pack("<d", float("nan"))),
    "infinity": Value(c.DOUBLE, struct.pack("<d", float("inf"))),
    "date before year 1": Value(c.DATE, struct.pack("<q", -70_000_000_000_000)),
    "date after year 9999": Value(c.DATE, struct.pack("<q", 300_000_000_000_000)),
    "binary of subtype 128": _binary(128, b"own"),
    "Decimal128 NaN": _decimal(0x7C00000000000000, 0),
    "JavaScript": Value(c.CODE, _text("return 1")),
    "JavaScript with scope": Value(c.SCOPED_CODE, struct.pack("<i", 22) + _text("return 1") + c.EMPTY),
    "symbol": Value(c.SYMBOL, _text("sym")),
    "undefined": Value(c.UNDEFINED, b""),
    "DBPointer": Value(c.DB_POINTER, _text("db.c") + bytes(12)),
    "MinKey": Value(c.MIN_KEY, b""),
    "MaxKey": Value(c.MAX_KEY, b""),
}


class Kept(Struct, frozen=True):
    """The names of the values that came back unchanged, were refused, or came back changed."""

    same: tuple[str, ...]
    refused: tuple[str, ...]
    changed: tuple[str, ...]


def types(scratch: Scratch, values: dict[str, Value]) -> Kept:
    """Store each value in a document of its own, and read back its bytes."""
    ends: dict[str, list[str]] = {"same": [], "refused": [], "changed": []}
    for name, value in values.items():
        sent = c.document([("value", value)])
        try:
            back = scratch.read("types", scratch.insert("types", sent))
        except (NotAllowed, Unreachable):
            raise  # if this user has no right, or the server is silent, nothing is known
        except Refused:
            ends["refused"].append(name)
            continue
        ends["same" if back == sent else "changed"].append(name)
    return Kept(tuple(ends["same"]), tuple(ends["refused"]), tuple(ends["changed"]))


class KeptOrders(Struct, frozen=True):
    """Whether fields come back in their order."""

    inserted: bool  # in the order in which they were sent
    replaced: bool
    added: bool  # by $set, in the order in which they were named; MongoDB sorts them by name since version 5
    trouble: str = ""


def orders(scratch: Scratch) -> KeptOrders:
    """Store fields in unsorted order, replace them in another order, and add some by ``$set``."""

    def of(*names: str) -> bytes:
        return c.document((name, Value.of(1)) for name in names)

    ns = scratch.ns("orders")
    first, second = of("v", "b", "c", "a"), of("v", "a", "c", "b")
    id = scratch.insert("orders", first)
    inserted = scratch.read("orders", id) == first
    guard = by_id(id) | {"v": 1}
    end = run(scratch.server, Write(ns, "replace", guard, c.document([("_id", id), *c.fields(second)])), None)
    replaced = end.kind == "applied" and scratch.read("orders", id) == second
    also = run(scratch.server, Write(ns, "update", guard, {"$set": {"z": 1, "y": 1}}), None)
    names = [name for name, _ in c.fields(scratch.read("orders", id) or c.EMPTY)]
    return KeptOrders(inserted, replaced, names[-2:] == ["z", "y"], end.sentence or also.sentence)


def names(scratch: Scratch) -> tuple[str, ...]:
    """The kinds of odd field names that cannot be stored here."""
    refused = []
    for what, name in (("dots", "a.b"), ("a dollar in front", "$a"), ("nothing in them", "")):
        sent = c.document([("in", Value.document(c.document([(name, Value.of(1))])))])
        try:
            if scratch.read("names", scratch.insert("names", sent)) == sent:
                continue
        except (NotAllowed, Unreachable):
            raise
        except Refused:
            pass
        refused.append(what)
    return tuple(refused)


def damages_dots(scratch: Scratch) -> bool:
    """Whether an edit of another field damages a document with a dotted name; False if such names cannot be stored."""
    before, after = (c.document([("a.b", Value.of(1)), ("n", Value.of(n))]) for n in (1, 2))
    try:
        id = scratch.insert("dots", before)
    except Unreachable:
        raise
    except Refused:
        return False
    end = run(scratch.server, Write(scratch.ns("dots"), "update", by_id(id) | {"n": 1}, {"$set": {"n": 2}}), None)
    return scratch.read("dots", id) != (after if end.kind == "applied" else before)


def doubles_the_id(scratch: Scratch) -> bool:
    """Whether a pipeline that replaces a document stores a second ``_id``; False if pipelines are refused."""
    ns, id = scratch.ns("whole"), scratch.insert("whole", c.document([("v", Value.of(1))]))
    body = c.document([("_id", id), ("v", Value.of(2))])
    write = Write(ns, "update", by_id(id) | {"v": 1}, [{"$replaceWith": {"$literal": Value.document(body)}}])
    run(scratch.server, write, None)
    stored = next(iter(scratch.server.find(ns, {"v": {"$gt": 0}}, limit=1)), c.EMPTY)
    return [name for name, _ in c.fields(stored)].count("_id") > 1
