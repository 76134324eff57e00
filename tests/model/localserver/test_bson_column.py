"""Compressed columns of time series: as servers wrote them, of every type, damaged, and far too long."""

from __future__ import annotations

import base64
import datetime as dt
import random
import struct
from typing import Any

import bson
import pytest
from bson import Code, Decimal128, Int64, ObjectId, Regex, Timestamp

from model.errors import Unreadable
from model.localserver.bson_column import MOST, values
from model.localserver.time_buckets import Series, measurements
from model.values.canonical import Value
from tests import support

WHEN = dt.datetime(2022, 6, 8, 5, 49, 17, tzinfo=dt.UTC)
WRITTEN = {
    "letters": ("AgACAAAAYQCBLAAAAgAgAADOPwwAAAAAAAA=", ["a", "b", "c", "d", "bb"]),
    "ids": (
        "BwBpaQ5kKmiNEQMoTQyAK2AAEPwXANQA",
        [ObjectId(f"69690e{second}2a688d1103284d{n}") for second, n in
         [("64", "0c"), ("67", "0d"), ("6b", "0e"), ("6c", "0f"), ("a2", "10")]],
    ),
    "doubles": ("AQAAAAAAAAAAAJAuAAAAAAAAAAA=", [0.0, 1.0]),
    "text": ("AgALAAAAcHJlVXBncmFkZQAA", ["preUpgrade"]),
    "repeated": ("AQAAAAAAAAAAQJN/AAAAAAAAAAIAAAAAAAAABwAAAAAAAAAOAAAAAAAAAAA=", [2.0] * 1000),
}  # fmt: skip
"""Columns that servers wrote, from MongoDB's own tests."""
LONG = (
    "0900482bdc4181010000870a7d0000000000001f0000000000000004000000000000000a00000000d0f77c01000000000000001f00000000"
)
LONG += "00000006000000000000000e0000000000000000"
"""The times of a bucket with 577 measurements, which ends 577 seconds after it begins."""


def shown(column: bytes) -> list[Any]:
    return [None if value is None else value.python() for value in values(column)]


@pytest.mark.parametrize(("column", "known"), WRITTEN.values(), ids=WRITTEN)
def test_a_column_of_a_server_is_read_as_it_was_written(column: str, known: list[Any]) -> None:
    assert shown(base64.b64decode(column)) == known


def test_the_times_of_a_long_bucket_are_read() -> None:
    times = shown(bytes.fromhex(LONG))
    assert (len(times), times[0], times[-1]) == (577, WHEN, WHEN + dt.timedelta(seconds=577))
    assert times == sorted(times)


# --- columns made here, word by word


def literal(value: Any) -> bytes:
    """A value as a column holds it: type, empty name, payload."""
    raw = bson.encode({"": value})
    return raw[4:-1]


def zigzag(step: int) -> int:
    return step << 1 if step >= 0 else ((-step) << 1) - 1


def words(entries: list[int | None], control: int = 8) -> bytes:
    """Control bytes and words of one entry each, None for a missing value."""
    made = b""
    for entry in entries:
        word = 14 | ((1 << 60) - 1 if entry is None else entry) << 4
        if entry is not None and entry >= (1 << 60) - 1:  # a number of zeros at the end, in fours
            fours = next(n for n in range(15, 0, -1) if entry % (1 << 4 * n) == 0)
            word = 8 | 7 << 4 | ((entry >> 4 * fours) << 4 | fours) << 8
        made += bytes((control << 4,)) + struct.pack("<Q", word)
    return made


STEPS: dict[str, tuple[Any, list[int | None], list[Any], int]] = {
    "int32": (5, [zigzag(2), None, zigzag(-9)], [5, 7, None, -2], 8),
    "int64": (Int64(2**40), [zigzag(-1), 0], [Int64(2**40), Int64(2**40 - 1), Int64(2**40 - 1)], 8),
    "boolean": (True, [zigzag(-1), zigzag(1)], [True, False, True], 8),
    "date": (WHEN, [zigzag(1000), 0], [WHEN, *(WHEN + dt.timedelta(seconds=n) for n in (1, 2))], 8),
    "timestamp": (Timestamp(9, 1), [zigzag(1), zigzag(1)], [Timestamp(9, 1), Timestamp(9, 2), Timestamp(9, 4)], 8),
    "double": (1.5, [zigzag(1), zigzag(-20)], [1.5, 1.6, -0.4], 10),
    "double in cents": (-1.25, [zigzag(5)], [-1.25, -1.2], 11),
    "double as bytes": (1.0, [zigzag(1)], [1.0, struct.unpack("<d", struct.pack("<q", 0x3FF0000000000001))[0]], 8),
    "decimal": (Decimal128("1.5"), [zigzag(2)], [Decimal128("1.5"), Decimal128("1.7")], 8),
    "binary": (bson.Binary(b"\1\2\3", 0), [zigzag(1)], [b"\1\2\3", b"\2\2\3"], 8),
    "code": (Code("a"), [zigzag(1)], [Code("a"), Code("b")], 8),
    "regex": (Regex("a"), [0, None], [Regex("a"), Regex("a"), None], 8),
    "document": ({"a": 1}, [0], [{"a": 1}, {"a": 1}], 8),
    "long text": ("x" * 40, [0, zigzag(ord("b"))], ["x" * 40, "x" * 40, "b"], 8),
}


@pytest.mark.parametrize(("first", "entries", "known", "control"), STEPS.values(), ids=STEPS)
def test_differences_are_added_in_every_type(first: Any, entries: list[int | None], known: Any, control: int) -> None:
    assert shown(literal(first) + words(entries, control) + b"\0") == known


def test_every_selector_of_a_word_is_read() -> None:
    for selector, bits in enumerate((1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 60), 1):
        start = 8 if selector in (7, 8) else 4
        count = (64 - start) // bits
        word = selector | sum(2 << bits * n + start for n in range(count)) if bits > 1 else selector
        column = literal(0) + b"\x80" + struct.pack("<Q", word & (1 << 64) - 1) + b"\0"
        assert shown(column) == ([*range(count + 1)] if bits > 1 else [0] * (count + 1))


def test_a_field_that_begins_late_has_no_values_before() -> None:
    assert shown(words([None, None]) + literal(3) + b"\0") == [None, None, 3]


@pytest.mark.parametrize("control", [0xF0, 0xF1, 0xF2])
def test_documents_of_equal_shape_are_read_field_by_field(control: int) -> None:
    reference = {"a": 1, "b": {"c": "x", "d": {}}, "e": [5]}
    kind = list if control == 0xF2 else dict
    known = reference if control != 0xF2 else {"0": 1, "1": {"c": "x"}, "2": [5]}
    first = [literal(1), literal("x"), literal([5]) if control == 0xF0 else literal(5)]
    second = words([zigzag(2)]) + words([None]) + words([0])
    column = bytes((control,)) + bson.encode(known) + b"".join(first) + second + b"\0\0"
    one, two = shown(column)
    assert isinstance(one, kind)
    if control == 0xF2:
        assert (one, two) == ([1, {"c": "x"}, [5]], [3, [5]])
    else:
        assert one == reference
        assert two == {"a": 3, "b": {"d": {}}, "e": [5]}


# --- damage


def test_damage_anywhere_costs_the_column_and_nothing_else(seed: int) -> None:
    dice = random.Random(seed)
    columns = [base64.b64decode(column) for column, _ in WRITTEN.values()] + [bytes.fromhex(LONG)]
    columns += [b"\xf1" + bson.encode({"a": 1, "b": {"c": 2}}) + literal(1) + literal(2) + b"\0\0"]
    for _ in range(support.by_depth(300, 20_000, 3000)):
        damaged = bytearray(dice.choice(columns))
        for _ in range(dice.randrange(1, 4)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        try:
            found = values(bytes(damaged[: dice.randrange(1, len(damaged) + 1)]))
        except Unreadable:
            continue
        assert len(found) <= MOST


def test_each_end_of_a_column_but_its_own_is_damage() -> None:
    whole = bytes.fromhex(LONG)
    for end in range(len(whole)):
        with pytest.raises(Unreadable):
            values(whole[:end])
    with pytest.raises(Unreadable, match="goes on"):
        values(whole + b"\0")


def test_far_too_many_values_are_refused() -> None:
    repeating = struct.pack("<Q", 15 | 15 << 4)
    column = literal(1) + (b"\x8f" + 16 * repeating) * 20 + b"\0"
    with pytest.raises(Unreadable, match="more than 100,000 values"):
        values(column)
    large = b"\xf1" + bson.encode({"a": "x" * 1_000_000}) + (b"\x8f" + 16 * repeating) * 3 + b"\0\0"
    with pytest.raises(Unreadable, match="MB of documents"):
        values(large)
    text = literal("x" * 1_000_000) + b"\x8f" + 16 * repeating + b"\0"
    bucket = bson.encode({"data": {"a": bson.Binary(text, 7)}})
    with pytest.raises(Unreadable, match="more measurements than a bucket holds"):
        measurements(bucket, Series("ts", "meta"))


def test_a_value_has_the_bytes_that_a_driver_writes() -> None:
    (value,) = values(literal({"a": [1, None]}) + b"\0")
    assert value == Value.of({"a": [1, None]})
