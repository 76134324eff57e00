"""Documents that nobody should write: compared and merged without a crash, in bounded time, and correctly."""

from __future__ import annotations

import random
import struct
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from model import text
from model.diff import Diff, diff, patch
from model.merge import merge
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.laws.laws import of_a_diff, of_a_merge

pytestmark = pytest.mark.usefixtures("each_walk")

SECONDS = 60  # by far more than needed, so that a busy machine passes, and by far less than a quadratic walk takes


@contextmanager
def bounded() -> Iterator[None]:
    """Time stays below what no honest method needs; the processor's, so that others at work do not count."""
    start = time.process_time()
    yield
    assert time.process_time() - start < SECONDS


LARGE = 1_000_000  # bytes of a document that is merged one way only, for each takes seconds


def _laws(a: bytes, b: bytes) -> Diff:
    with bounded():
        found = diff(a, b)
    assert patch(a, found) == b
    assert patch(b, found.inverse()) == a
    sides = [(b, a), (a, b), (b, b)]
    with bounded():
        for mine, theirs in sides if len(a) < LARGE else sides[:1]:
            assert merge(a, mine, theirs).document() == b
    return found


def _deep(levels: int, leaf: Value, wrap: Callable[[Value], Value]) -> bytes:
    for _ in range(levels):
        leaf = wrap(leaf)
    return c.document([("a", leaf)])


WRAPS: dict[str, Callable[[Value], Value]] = {
    "documents of one name": lambda v: Value(c.OBJECT, c.document([("a", v)])),
    "arrays": lambda v: c.array([v]),
    "documents that gain a name": lambda v: Value(
        c.OBJECT, c.document([("a", v), (f"b{len(v.data) % 7}", Value.of(1))])
    ),
    "records": lambda v: c.array([Value(c.OBJECT, c.document([("_id", Value.of(1)), ("a", v)])), Value.of(0)]),
}


@support.table("wrap", support.every(len(WRAPS), WRAPS.values()), ids=WRAPS)
def test_a_change_below_1000_levels_is_found_there(wrap: Callable[[Value], Value]) -> None:
    a, b = _deep(1000, Value.of(1), wrap), _deep(1000, Value.of("two"), wrap)
    found = _laws(a, b)
    assert max(len(op.path) for op in found) > 1000
    assert list(found.row_texts())
    assert text.from_text(text.to_text(b)) == b


@pytest.mark.deep
def test_the_memory_for_a_deep_document_does_not_grow_with_its_depth_squared() -> None:
    one = WRAPS["documents of one name"]
    a, b = _deep(5000, Value.of(1), one), _deep(5000, Value.of("two"), one)
    tracemalloc.start()
    try:
        assert patch(a, diff(a, b)) == b
        assert text.from_text(text.to_text(a)) == a
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 30_000_000


@pytest.mark.deep
def test_a_change_at_each_of_1000_levels_is_found() -> None:
    def wrap(count: int) -> Callable[[Value], Value]:
        return lambda v: Value(c.OBJECT, c.document([("n", Value.of("x" * count)), ("a", v)]))

    found = _laws(_deep(1000, Value.of(1), wrap(1)), _deep(1000, Value.of(1), wrap(2)))
    assert len(found) == 1000


def _keys(count: int) -> list[tuple[str, Value]]:
    return [(f"key{i}", Value.of(i)) for i in range(count)]


@pytest.mark.deep
def test_100000_names_changed_added_removed_and_reordered() -> None:
    pairs = _keys(100_000)
    a = c.document(pairs)
    assert _laws(a, c.document([(name, Value.of(str(name))) for name, _ in pairs])).counts() == {"replace": 100_000}
    found = _laws(a, c.document([("new", Value.of(1)), *pairs[:500], *pairs[501:]]))
    assert found.counts() == {"add": 1, "remove": 1}
    shuffled = list(pairs)
    random.Random(1).shuffle(shuffled)
    assert _laws(a, c.document(shuffled)).counts() == {"reorder": 1}


@pytest.mark.deep
def test_100000_names_of_which_one_comes_twice_are_one_thing() -> None:
    pairs = _keys(100_000)
    a, b = c.document([*pairs, pairs[7]]), c.document([*pairs, ("key7", Value.of(-1))])
    (op,) = _laws(a, b)
    assert op.path == ()


def test_names_that_occur_inside_values_are_no_second_field() -> None:
    inside = Value.of({"key1": 1, "b": "key1\0key1\0"})
    a = c.document([*_keys(2000), ("z", inside)])
    b = c.document([(name, Value.of("new") if name == "key1" else value) for name, value in c.fields(a)])
    (op,) = _laws(a, b)
    assert op.path == ("key1",)


def _numbers(kind: str, seed: int) -> Value:
    """An array of about 16 MB, or of as many elements as make the worst case."""
    chance = random.Random(seed)
    if kind == "few values":
        return c.array([Value.of(chance.randrange(3)) for _ in range(60_000)])
    if kind == "one value":
        return c.array([Value.of(1)] * (60_000 + seed))
    if kind == "large records":
        return c.array([Value.of({"_id": i, "x": "x" * 16_000, "n": chance.randrange(3)}) for i in range(1000)])
    if kind == "records without key":
        return c.array([Value.of({"x": chance.randrange(50), "y": chance.randrange(50)}) for _ in range(5_000)])
    values = list(range(1_200_000))
    values.insert(seed * 1000, -1)
    return c.array([Value(c.INT32, struct.pack("<i", n)) for n in values])


@pytest.mark.deep
@support.table("kind", ["few values", "one value", "large records", "records without key", "many numbers"])
def test_large_arrays_are_compared_in_bounded_time(kind: str) -> None:
    a, b = (c.document([("a", _numbers(kind, seed))]) for seed in (1, 2))
    with bounded():
        found = diff(a, b)
    assert patch(a, found) == b
    if kind == "few values":
        assert found.coarse
    if kind in ("one value", "many numbers"):
        assert len(found) <= 2
    if kind != "many numbers":
        with bounded():
            assert merge(a, b, a).document() == b


def test_one_change_in_16_megabytes_of_records_takes_little_memory() -> None:
    a = c.document([("a", _numbers("large records", 1))])
    b = a.replace(b"x" * 100 + b"\0", b"x" * 99 + b"y\0", 501).replace(b"x" * 99 + b"y\0", b"x" * 100 + b"\0", 500)
    assert a != b
    tracemalloc.start()
    try:
        found = diff(a, b)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    (op,) = found
    assert op.path == ("a", 500, "x")
    assert peak < 1_000_000


@pytest.mark.deep
def test_both_sides_changing_a_large_array_beyond_recognition_is_one_conflict() -> None:
    base, mine, theirs = (c.document([("a", _numbers("records without key", seed))]) for seed in (1, 2, 3))
    with bounded():
        found = merge(base, mine, theirs)
    assert found.conflicts
    assert merge(base, mine, theirs).choose(found.conflicts[0], "mine").preview()


@pytest.mark.deep
def test_large_texts_without_a_common_line_are_compared_in_bounded_time() -> None:
    chance = random.Random(4)
    texts = ["\n".join(str(chance.randrange(50)) for _ in range(400_000)) for _ in range(2)]
    found = _laws(*(c.encode({"a": one}) for one in texts))
    assert found.counts() in ({"text": 1}, {"replace": 1})
    assert found.coarse or found.counts() == {"replace": 1}


NAN, QUIET, NEGATIVE = (bytes.fromhex(h) for h in ("000000000000f87f", "010000000000f87f", "000000000000f8ff"))
ODD = {
    "payloads of NaN": (Value(c.DOUBLE, NAN), Value(c.DOUBLE, QUIET)),
    "signs of NaN": (Value(c.DOUBLE, NAN), Value(c.DOUBLE, NEGATIVE)),
    "signs of zero": (Value(c.DOUBLE, struct.pack("<d", 0.0)), Value(c.DOUBLE, struct.pack("<d", -0.0))),
    "zero and integer zero": (Value(c.DOUBLE, struct.pack("<d", -0.0)), Value(c.INT32, bytes(4))),
    "dates before year 1": (Value(c.DATE, struct.pack("<q", -(2**62))), Value(c.DATE, struct.pack("<q", -(2**63)))),
    "bytes that are not UTF-8": (Value(c.STRING, b"\x03\0\0\0\xc3\x28\0"), Value(c.STRING, b"\x03\0\0\0\xc3\xff\0")),
    "half a character": (Value(c.STRING, b"\x04\0\0\0\xed\xa0\x80\0"), Value(c.STRING, b"\x04\0\0\0\xed\xa0\x81\0")),
    "booleans of 1 and 2": (Value(c.BOOLEAN, b"\x01"), Value(c.BOOLEAN, b"\x02")),
    "decimals written otherwise": (Value(c.DECIMAL128, bytes(16)), Value(c.DECIMAL128, bytes(15) + b"\x30")),
    "NULs in a text": (Value(c.STRING, b"\x04\0\0\0a\0b\0"), Value(c.STRING, b"\x04\0\0\0a\0c\0")),
}


@support.table("values", ODD.values(), ids=ODD)
@support.table("around", [0, support.by_depth(100, 500)], ids=["alone", "among many"])
def test_values_that_look_alike_differ(values: tuple[Value, Value], around: int) -> None:
    a, b = (c.document([*_keys(around), ("x", value), ("y", c.array([value] * 12))]) for value in values)
    found = of_a_diff(a, b)
    assert {op.path[0] for op in found} == {"x", "y"}
    of_a_merge(a, b, c.document([*_keys(around), ("x", values[0])]))
    assert list(found.row_texts())
    assert text.from_text(text.to_text(b)) == b


def test_names_that_are_no_utf8_are_names() -> None:
    name = b"\xff\xfe".decode("utf-8", "surrogateescape")
    a, b = (c.document([*_keys(300), (name, Value.of(n)), ("a", c.array([Value.of(n)]))]) for n in (1, 2))
    found = of_a_diff(a, b)
    assert (name,) in {op.path for op in found}
    of_a_merge(a, b, a)
