"""A document for every BSON type and its extremes, including deprecated types, and documents that are hard to show.

They are built from bytes: Python objects and drivers would refuse half of them.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from bson.binary import Binary
from bson.objectid import ObjectId
from bson.regex import Regex
from bson.timestamp import Timestamp

from model.localserver.sample.long_texts import SURVEY
from model.values.canonical import (
    ARRAY,
    BINARY,
    CODE,
    DATE,
    DB_POINTER,
    DECIMAL128,
    DOUBLE,
    EMPTY,
    INT64,
    MAX_KEY,
    MIN_KEY,
    NULL,
    OBJECT,
    REGEX,
    SCOPED_CODE,
    STRING,
    SYMBOL,
    UNDEFINED,
    Value,
    array,
    document,
)

_CUT = Value(OBJECT, struct.pack("<i", 20) + b"\x02name\0\x63\0\0\0Voss\0\0")  # a string longer than its document
_OID = ObjectId("65f0a1c29b1e8a0012c4d7aa")


def text(value: str, kind: int = STRING) -> Value:
    """A string, or code or a symbol, with its length."""
    return Value(kind, _text(value.encode("utf-8", "surrogatepass")))


def bson_types() -> Iterator[bytes]:
    """A document for each type: ``_id`` is the type's name, the other fields its extremes. The last one is broken."""
    for name, corners in _corners().items():
        yield document([("_id", text(name)), *corners.items()])
    yield document([("_id", text("broken")), ("before", Value.of(1)), ("inside", _CUT), ("after", Value.of(2))])


def _corners() -> dict[str, dict[str, Value]]:
    scope = document([("limit", Value.of(3))])
    code = _text(b"function () { return limit; }")
    return {
        "Double": {
            "one": Value.of(1.0),
            "tenth": Value.of(0.1),
            "negative zero": Value.of(-0.0),
            "NaN": Value(DOUBLE, bytes.fromhex("000000000000f87f")),
            "NaN with a payload": Value(DOUBLE, bytes.fromhex("120000000000f87f")),
            "infinity": Value.of(float("inf")),
            "minus infinity": Value.of(float("-inf")),
            "smallest": Value.of(5e-324),
            "largest": Value.of(1.7976931348623157e308),
        },
        "String": {
            "empty": text(""),
            "German": text("Grüße aus Övelgönne"),
            "lines": text("first line\nsecond line\ttabbed\r\nthird"),
            "emoji": text("🧾 paid 👍🏽"),
            "right to left": text("שלום, مرحبا"),
            "NUL inside": text("a\0b"),
            "é in two ways": text("\u00e9 e\u0301"),
            "looks like a number": text("1.0"),
        },
        "Object": {"empty": Value(OBJECT, EMPTY), "one field": Value.of({"a": 1}), "order": Value.of({"b": 1, "a": 2})},
        "Array": {
            "empty": Value(ARRAY, EMPTY),
            "mixed": array([Value.of(1), Value.of(1.0), text("1"), Value(NULL, b""), Value.of(True)]),
            "nested": Value.of([[1, 2], [3, [4, []]]]),
        },
        "Binary": {
            "picture": Value.of(Binary(png(48, 32))),
            "empty": Value.of(Binary(b"")),
            "function": Value.of(Binary(b"\x01\x02", 1)),
            "old binary": Value(BINARY, struct.pack("<iBi", 8, 2, 4) + b"\xde\xad\xbe\xef"),
            "old UUID": Value.of(Binary(bytes(range(16)), 3)),
            "UUID": Value.of(Binary(bytes.fromhex("73ffd26444b34c6990e8e7d1dfc035d4"), 4)),
            "MD5": Value.of(Binary(bytes.fromhex("d41d8cd98f00b204e9800998ecf8427e"), 5)),
            "encrypted": Value.of(Binary(b"\x01" + bytes(16), 6)),
            "column": Value.of(Binary(b"\x00" * 9, 7)),
            "sensitive": Value.of(Binary(b"hidden", 8)),
            "vector": Value.of(Binary(b"\x27\x00" + struct.pack("<3f", 0.5, -1.0, 2.0), 9)),
            "user's own": Value.of(Binary(b"\xff\x00\xff", 128)),
        },
        "Undefined": {"value": Value(UNDEFINED, b"")},
        "ObjectId": {"value": Value.of(_OID), "zero": Value.of(ObjectId(bytes(12)))},
        "Boolean": {"true": Value.of(True), "false": Value.of(False)},
        "Date": {
            "the last day of the story": Value(DATE, struct.pack("<q", 1_795_181_160_000)),
            "1970": Value(DATE, bytes(8)),
            "a millisecond before": Value(DATE, struct.pack("<q", -1)),
            "before year 1": Value(DATE, struct.pack("<q", -62_135_596_800_001)),
            "year 10000": Value(DATE, struct.pack("<q", 253_402_300_800_000)),
            "largest": Value(DATE, struct.pack("<q", 2**63 - 1)),
            "smallest": Value(DATE, struct.pack("<q", -(2**63))),
        },
        "Null": {"value": Value(NULL, b"")},
        "Regex": {
            "plain": Value.of(Regex("^K-20", "i")),
            "all flags": Value(REGEX, b"a+\0ilmsux\0"),
            "flags out of order": Value(REGEX, b"a+\0xi\0"),
        },
        "DBPointer": {"value": Value(DB_POINTER, _text(b"insurance.agents") + _OID.binary)},
        "DBRef": {"value": Value.of({"$ref": "customers", "$id": _OID, "$db": "insurance"})},
        "Code": {"value": text("function (x) { return x + 1; }", CODE)},
        "Symbol": {"value": text("active", SYMBOL)},
        "Code with scope": {"value": Value(SCOPED_CODE, struct.pack("<i", 4 + len(code) + len(scope)) + code + scope)},
        "Int32": {"zero": Value.of(0), "largest": Value.of(2**31 - 1), "smallest": Value.of(-(2**31))},
        "Timestamp": {"value": Value.of(Timestamp(1_795_181_160, 7)), "zero": Value.of(Timestamp(0, 0))},
        "Int64": {
            "one": Value(INT64, struct.pack("<q", 1)),
            "beyond Double": Value(INT64, struct.pack("<q", 2**53 + 1)),
            "largest": Value(INT64, struct.pack("<q", 2**63 - 1)),
            "smallest": Value(INT64, struct.pack("<q", -(2**63))),
        },
        "Decimal128": {
            "1.0": _decimal(10, -1),
            "1.00": _decimal(100, -2),
            "negative zero": Value(DECIMAL128, struct.pack("<QQ", 0, 0xB040 << 48)),
            "34 digits": _decimal(10**34 - 1, 0),
            "tiny": _decimal(1, -6176),
            "huge": _decimal(10**34 - 1, 6111),
            "NaN": Value(DECIMAL128, struct.pack("<QQ", 0, 0x7C << 56)),
            "signalling NaN": Value(DECIMAL128, struct.pack("<QQ", 0, 0x7E << 56)),
            "infinity": Value(DECIMAL128, struct.pack("<QQ", 0, 0x78 << 56)),
        },
        "MinKey": {"value": Value(MIN_KEY, b"")},
        "MaxKey": {"value": Value(MAX_KEY, b"")},
        "Field names": {
            "with.dots": Value.of({"a.b": 1, "a": {"b": 2}}),
            "$price": Value.of(12),
            "": text("an empty name"),
            "inner": document_value([("$set", Value.of(1)), ("", Value.of({"": 0}))]),
            "with spaces ": Value.of(True),
            "12": text("a number"),
            "__proto__": Value.of({}),
            "ключ": text("Cyrillic"),
            "long " + "name " * 40: Value.of(1),
        },
        "Typed by name": {
            "oid": Value.of({"$oid": "65f0a1c29b1e8a0012c4d7aa"}),
            "number": Value.of({"$numberInt": "7"}),
            "date": Value.of({"$date": {"$numberLong": "not a number"}}),
            "binary": Value.of({"$binary": {"base64": "", "subType": "00"}, "extra": 1}),
        },
        "Deep": {"nested": _deep(90)},
    }


def texts() -> Iterator[bytes]:
    """Long strings and many fields: 5 KB, 1.5 MB, 3,000 fields, 8,000 elements, pictures."""
    line = SURVEY[:70]
    lines = "\n".join(f"{number:06d} {line}" for number in range(19_300))
    yield document([("_id", text("letter")), ("subject", text("Survey report")), ("body", text((SURVEY * 2)[:5000]))])
    yield document([("_id", text("log")), ("lines", Value.of(19_300)), ("text", text(lines))])
    yield document([("_id", text("many fields")), *((f"field{n:04d}", Value.of(n)) for n in range(3000))])
    yield document([("_id", text("readings")), ("kWh", array(Value.of(n * 37 % 991 / 10) for n in range(8000)))])
    pictures = ((f"{n} px", Value.of({"png": Binary(png(n, n)), "alt": "a slope"})) for n in (8, 32, 96))
    yield document([("_id", text("pictures")), *pictures])


def undecodable() -> Iterator[bytes]:
    """Documents of class B1: each is complete on the wire, but does not survive decoding and encoding."""
    fine = Value.of("fine")

    def made(id: str, *pairs: tuple[str, Value]) -> bytes:
        return document([("_id", text(id)), ("before", fine), *pairs, ("after", fine)])

    yield made("bad UTF-8", ("name", Value(STRING, _text(b"M\xf6ller"))))
    yield made("name in Latin-1", ("stra\udcdfe", Value.of("Lehmweg 12")))
    yield made("two of one name", ("status", text("open")), ("status", text("closed")))
    yield made("length leads out", ("scan", Value(STRING, struct.pack("<i", 4096) + b"cut off\0")))
    yield made("cut inside", ("holder", _CUT))
    yield made("array out of order", ("riders", Value(ARRAY, document([("1", text("BIKE")), ("0", text("GLASS"))]))))
    yield made("unknown type", ("value", Value(0x2A, b"\x01\x02\x03\x04")))
    yield made("boolean of 2", ("paid", Value(8, b"\x02")))
    yield made("symbol", ("status", text("active", SYMBOL)))
    yield made("pointer", ("agent", Value(DB_POINTER, _text(b"insurance_2019.agents") + _OID.binary)))
    yield made("undefined", ("deductible", Value(UNDEFINED, b"")))
    yield made("odd flags", ("match", Value(REGEX, b"^K\0zi\0")))
    yield made("year 10000", ("until", Value(DATE, struct.pack("<q", 253_402_300_800_000))))


def document_value(pairs: list[tuple[str, Value]]) -> Value:
    """A sub-document from fields."""
    return Value(OBJECT, document(pairs))


def png(width: int, height: int) -> bytes:
    """A small picture, a teal gradient; not compressed, so that every zlib version makes equal bytes."""
    rows = b"".join(
        b"\0" + b"".join(bytes((11 + x * 120 // width, 110 + y * 90 // height, 105)) for x in range(width))
        for y in range(height)
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    blocks = [rows[i : i + 65535] for i in range(0, len(rows), 65535)]
    packed = b"\x78\x01" + b"".join(
        struct.pack("<BHH", block is blocks[-1], len(block), len(block) ^ 0xFFFF) + block for block in blocks
    )
    packed += struct.pack(">I", zlib.adler32(rows))
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _text(data: bytes) -> bytes:
    return struct.pack("<i", len(data) + 1) + data + b"\0"


def _decimal(digits: int, exponent: int) -> Value:
    bits = (exponent + 6176) << 113 | digits
    return Value(DECIMAL128, bits.to_bytes(16, "little"))


def _deep(levels: int) -> Value:
    value = Value.of({"level": levels})
    for level in range(levels - 1, 0, -1):
        value = document_value([("level", Value.of(level)), ("in", value)])
    return value
