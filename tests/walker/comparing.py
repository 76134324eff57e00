"""Bytes of all kinds, and the product's results for them with and without the walker in C."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from model.checks import bson_damage
from model.checks.facts import FactReader
from model.diff import array_elements, diff, field_changes, walk
from model.profile import stated
from model.server import port
from model.storage import reserved_fields
from model.text import json_writer
from model.values import canonical, kinds
from tests.walker.building import using

Outcome = tuple[Any, ...]
NAMES = (b"_id", b"v", b"a", b"", b"name", b"0", b"1", b"$ref", b"na\xc3\xafve", b"\xff", b"a" * 40)
TEXTS = (
    *(
        b"",
        b"lorem ipsum",
        b'"quoted"',
        b"a\\b\r\n\t\x7f",
        b"a\0b",
        b"\x1b[0m",
        b"\xc2\xa0\xc2",
        b"\xc2\xad\xcd\x8f\xd8\x9c",
    ),
    *(
        b"\xc3\xa9",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xe2\x80\xae",
        b"\xe2\x80",
        b"\xe2\x80\x9c\xe2\x82\xac\xe3\x82\xab",
        b"\xe0\x80\xa2",
    ),
    *(b"\xf0\x9f\x98\x80", b"\xf0\x9f\x98", b"\xf4\x90\x80\x80", b"\xf3\xa0\x80\x81", b"\xe3\x85\xa4", b"\xc0\xa2"),
)
SIZES = kinds.FIXED
KINDS = tuple(kinds.BY_CODE)


def document(r: random.Random, depth: int = 0, array: bool = False) -> bytes:
    """A document of any types, mostly sound."""
    count = r.choice((0, 1, 2, 3, 5, 12, 30)) if depth < 3 else 0
    names = list(NAMES) if r.random() < 0.1 else [b"f%d" % i for i in range(count)]
    body = b""
    for at in range(count):
        kind = r.choice(KINDS if r.random() < 0.3 else (1, 2, 3, 4, 7, 8, 9, 16, 18))
        name = b"%d" % at if array else names[at] if at < len(names) and r.random() < 0.95 else r.choice(NAMES)
        body += bytes((kind,)) + name + b"\0" + payload(r, kind, depth)
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def payload(r: random.Random, kind: int, depth: int) -> bytes:
    """A payload of a type."""
    if kind == 1:
        odd = (0.0, -0.0, 1.5, 1e16, 1e-7, 5e-324, float("inf"), float("nan"), r.random())
        return struct.pack("<d", r.choice(odd)) if r.random() < 0.8 else r.randbytes(8)
    if kind == 8:
        return bytes((r.choice((0, 1, 1, 0, 2)),))
    if kind == 9:
        edges = (0, -1, bson_damage.FIRST_DATE, bson_damage.LAST_DATE, bson_damage.LAST_DATE + 1)
        return struct.pack("<q", r.choice((*edges, r.randrange(10**12), r.randrange(bson_damage.LAST_DATE))))
    if kind == 18:
        return struct.pack("<q", r.choice((0, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, r.randrange(-(2**63), 2**63))))
    if kind in SIZES:
        return r.randbytes(SIZES[kind])
    if kind in (3, 4):
        return document(r, depth + 1, kind == 4 and r.random() < 0.9)
    if kind == 5:
        data = r.randbytes(r.choice((0, 16, 3)))
        return struct.pack("<i", len(data)) + bytes((r.choice((0, 0, 2, 3, 4, 5, 128)),)) + data
    if kind == 11:
        return r.choice((b"a\0i\0", b"\0\0", b"\xff\0im\0", b"a\0mi\0"))
    if kind == 15:
        code = string(b"f()") + document(r, depth + 1)
        return struct.pack("<i", len(code) + 4) + code
    return string(r.choice(TEXTS) if r.random() < 0.3 else b"text") + (r.randbytes(12) if kind == 12 else b"")


def string(data: bytes) -> bytes:
    """A string with its length."""
    return struct.pack("<i", len(data) + 1) + data + b"\0"


def damaged(r: random.Random, raw: bytes) -> bytes:
    """Bytes changed somewhere, cut off, grown, or with a length that leads astray."""
    data = bytearray(raw)
    for _ in range(r.choice((1, 1, 2, 5))):
        at = r.randrange(len(data)) if data else 0
        how = r.randrange(6)
        if how == 0 and data:
            data[at] = r.randrange(256)
        elif how == 1:
            del data[at:]
        elif how == 2:
            data[at:at] = r.randbytes(r.randrange(1, 6))
        elif how == 3 and len(data) >= at + 4:
            data[at : at + 4] = struct.pack("<i", r.choice((0, -1, 4, 2**31 - 1, -(2**31), len(data), r.randrange(40))))
        elif how == 4:
            del data[at : at + r.randrange(1, 8)]
        elif len(data) >= 4 and r.random() < 0.8:
            data[:4] = struct.pack("<i", len(data))
    if len(data) >= 5 and r.random() < 0.5:
        data[:4], data[-1:] = struct.pack("<i", len(data)), b"\0"
    return bytes(data)


def texts(r: random.Random) -> bytes:
    """A document in which at most the letters of its texts are wrong."""
    parts = [b"\x02f%d\0" % at + string(r.choice(TEXTS)) for at in range(r.randrange(1, 4))]
    body = b"".join(parts)
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def nested(depth: int, kind: int) -> bytes:
    """Documents, or arrays, one inside the other."""
    raw = canonical.EMPTY
    for _ in range(depth):
        raw = struct.pack("<i", len(raw) + 8) + bytes((kind,)) + b"0\0" + raw + b"\0"
    return raw


def wide(r: random.Random) -> bytes:
    """A document of many fields, as many as the walker compares the names of and more, perhaps one of them twice."""
    names = [b"f%d" % at for at in range(r.choice((15, 16, 17, 40, 255, 256, 257, 300)))]
    if r.random() < 0.5:
        names[r.choice((-1, r.randrange(len(names))))] = r.choice(names)
    body = b"".join(b"\x10%b\0\x01\0\0\0" % name for name in names)
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def inputs(seed: int, count: int) -> Iterator[tuple[bytes, bytes]]:
    """Pairs of documents: sound ones, changed copies, odd texts, mere bytes, and some that are nested too deep."""
    r = random.Random(seed)
    for number in range(count):
        if number % 50 == 0:
            raw = nested(r.choice((30, 41, 42, 99, 101, 400)), r.choice((3, 4)))
        elif number % 20 == 0:
            raw = r.randbytes(r.randrange(60))
        elif number % 17 == 0:
            raw = wide(r)
        elif number % 13 == 0:
            raw = texts(r)
        else:
            raw = document(r)
        if r.random() < 0.6:
            raw = damaged(r, raw)
        other = r.choice((raw, damaged(r, raw), document(r), changed(r, raw)))
        yield raw, other


def changed(r: random.Random, raw: bytes) -> bytes:
    """The document with some values changed, and its names and their order kept; the bytes, where they are none."""
    with using(None):
        try:
            fields = canonical.fields(raw)
            for at in range(len(fields)):
                if r.random() < 0.2:
                    fields[at] = fields[at][0], canonical.Value(16, r.randbytes(4))
            return canonical.document(fields)
        except canonical.Unreadable:
            return raw


# --- what is made of them


def outcome(work: Callable[[], Any]) -> Outcome:
    """The result, or the error with its words."""
    try:
        return "gave", work()
    except Exception as error:
        return "raised", type(error), str(error)


def walked(raw: bytes, start: int) -> list[Any]:
    """The fields as they come, and the error that ends them."""
    found: list[Any] = []
    try:
        found.extend(canonical.elements(raw, start))
    except Exception as error:
        found.append((type(error), str(error)))
    return found


def array(raw: bytes, start: int) -> Any:
    """The elements of an array as the diff sees them."""
    found = array_elements.elements(raw, start)
    return None if found is None else (found.starts, found.first, found.last, found.kind)


def terms(raw: bytes) -> dict[str, Any]:
    """A document as a filter is written: dictionaries, lists, and as leaves Python's own objects and values."""
    found: dict[str, Any] = {}
    for at, (name, value) in enumerate(canonical.fields(raw)):
        if value.type == canonical.OBJECT:
            found[name] = terms(value.data)
        elif value.type == canonical.ARRAY:
            found[name] = list(terms(value.data).values())
        else:
            found[name] = value if at % 2 else value.python()
    return found


SHAPES = ((None, False, False), ("  ", False, False), ("", True, False), (None, True, True))
STYLES = tuple(json_writer.Style(mode, *shape) for mode in ("canonical", "relaxed", "exact") for shape in SHAPES)  # type: ignore[arg-type]
READERS = tuple(
    FactReader(reserved_fields.own_of(each), each, each.id)
    for each in (
        stated("db.c", "versions", id="f0", version="f1", at="f2", hash="f3", token="_w"),
        stated("db.c", "versions", id="_id", version="v", at="naïve", hash="name", token="a"),
        stated("db.c", "versions", id="f1", version="f0", at="f0", hash="f4", token=""),
    )
)


def fact(reader: FactReader, raw: bytes) -> Any:
    """The fact of a version, read at a glance where it may be, with what was told of it then."""
    damage, id, found = reader.read(raw, lazily=True)
    return damage, id, found and (found.counted, found.at, found.sealed, found.damaged, found.carries_hash, found.whole)


def operations(a: bytes, b: bytes) -> dict[str, Callable[[], Any]]:
    """All that the product does by the walker, on two documents."""
    starts = (0, 4, 7, len(a) // 2, len(a) - 5, len(a), len(a) + 3)
    works: dict[str, Callable[[], Any]] = {
        "fields one by one": lambda: [walked(a, max(start, 0)) for start in starts],
        "all fields with their names": lambda: canonical.fields(a),
        "fields apart": lambda: canonical.parted(a, ("_id", "v", "a", "", "naïve")),
        "fields left out": lambda: canonical.without(a, ["v", "a", "f1", "\udcff"]),
        "names that none can have": lambda: canonical.without(a, ["a\0", "v"]) + canonical.without(a, ["\ud800"]),
        "a filter": lambda: port.bson_of(terms(a)),
        "damage": lambda: bson_damage.damage_of(a),
        "text in UTF-8": lambda: json_writer.encoded(canonical.Value(canonical.ARRAY, a), STYLES[len(b) % len(STYLES)]),
        "text": lambda: json_writer.write(canonical.Value(canonical.OBJECT, a), STYLES[len(a) % len(STYLES)]),
        "round trip": lambda: reserved_fields.unreadable(a),
        "the fields that differ": lambda: field_changes.differences(walk.Pair(a, b), 0, 0),
        "diff": lambda: (list(diff(a, b)), diff(a, b).coarse),
    }
    for number, reader in enumerate(READERS):
        works[f"fact {number}"] = lambda reader=reader: fact(reader, a)
    for wanted in ("v", "a", "", "naïve", "f1", "\udcff", "a\0", "\ud800"):
        works[f"the field {wanted!r}"] = lambda wanted=wanted: canonical.get(a, (wanted,))
    for start in starts:
        works[f"all fields at {start}"] = lambda start=start: walk.spans(a, max(start, 0))
        works[f"the array at {start}"] = lambda start=start: array(a, max(start, 0))
    return works


def compare(walker: ModuleType, a: bytes, b: bytes) -> list[str]:
    """The operations whose result, or whose error, is not the one that Python's walk leads to."""
    wrong = []
    for name, work in operations(a, b).items():
        with using(walker):
            fast = outcome(work)
        with using(None):
            slow = outcome(work)
        if fast != slow:
            wrong.append(f"{name}: {fast!r:.300} instead of {slow!r:.300}, of {a.hex()} and {b.hex()}")
    return wrong
