"""Two documents walked side by side: differences are found, whatever precedes them."""

from __future__ import annotations

import contextlib
import random

import pytest

from model.diff import diff, patch
from model.diff.walk import Pair, count_of, field_around, spans
from model.errors import Unreadable
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.laws.laws import of_a_diff
from tests.laws.wide import many_fields, related

pytestmark = pytest.mark.usefixtures("each_walk")


@pytest.mark.usefixtures("each_search")
@pytest.mark.deep
def test_a_byte_is_found_in_its_field_however_many_there_are() -> None:
    chance = random.Random(5)
    for count in (1, 10, 300):
        for _ in range(20):
            raw = many_fields(chance, count)
            fields = spans(raw)
            starts = [x[2] - len(x[0]) - 2 for x in fields]
            end = len(raw) - 1
            for start, field in zip(starts, fields, strict=True):
                for place in (start, field[3] - 1, chance.randrange(start, field[3])):
                    assert field_around(raw, 4, place, end) == field
                    assert field_around(raw, chance.choice([s for s in starts if s <= start]), place, end) == field
            assert field_around(raw, 4, end, end) is None


@pytest.mark.usefixtures("each_search")
@support.table("count", [0, 1, 31, 32, 33, 64, 300])
def test_fields_are_counted_however_many_and_of_whatever_size_they_are(count: int) -> None:
    chance = random.Random(count)
    for raw in (many_fields(chance, count), c.encode({str(i): "y" for i in range(count)})):
        fields = spans(raw)
        starts = [x[2] - len(x[0]) - 2 for x in fields] + [len(raw) - 1]
        assert count_of(raw, 4, len(raw) - 1) == len(fields)
        for low in chance.sample(range(len(starts)), min(len(starts), 20)):
            high = chance.randrange(low, len(starts))
            assert count_of(raw, starts[low], starts[high]) == high - low


@support.table("size", [1, 511, 512, 513, 4096, 4097, 5000, 16_897, 40_000, 600_000])
def test_the_first_difference_of_two_stretches_is_found_wherever_it_is(size: int) -> None:
    chance = random.Random(size)
    a = c.encode({"a": chance.randbytes(size)})
    for place in {12, len(a) - 2, *(chance.randrange(12, len(a) - 1) for _ in range(30))}:
        b = a[:place] + bytes((a[place] ^ chance.randrange(1, 256),)) + a[place + 1 :]
        for most in (len(a) - 8, max(place - 8, 1), place - 7):
            assert Pair(a, b).common(8, 8, most) == min(place - 8, most)


@pytest.mark.usefixtures("each_search")
@support.table("number", range(support.by_depth(30, 150)))
def test_the_laws_hold_for_wide_documents(number: int) -> None:
    of_a_diff(*related(random.Random(number), 2))


def test_positions_that_are_not_counted_make_an_array_one_thing() -> None:
    one = c.array([Value.of(i) for i in range(120)])
    odd = Value(c.ARRAY, one.data.replace(b"\x10115\x00", b"\x10911\x00"))
    other = Value(c.ARRAY, one.data.replace(b"\x10115\x00", b"\x10811\x00"))
    for old, new in ((one, odd), (odd, one), (odd, other)):
        (op,) = of_a_diff(c.document([("a", old)]), c.document([("a", new)]))
        assert op.path == ("a",)


def test_damage_inside_an_array_is_unreadable_or_one_more_difference() -> None:
    whole = c.document([("a", c.array([Value.of(i) for i in range(30)])), ("b", Value.of(1))])
    for at in range(11, len(whole) - 8):
        damaged = whole[:at] + bytes((whole[at] ^ 0x55,)) + whole[at + 1 :]
        with contextlib.suppress(Unreadable):
            of_a_diff(whole, damaged)


def test_of_two_fields_of_one_name_neither_is_named() -> None:
    value = Value.of("x" * 100)
    fields = [(f"name{i}", value) for i in range(400)]
    for other in (5, 399):
        a = c.document([*fields[:-1], (f"name{other}", value), *fields[-1:]])
        b = c.document([*fields[:5], ("name5", Value.of(1)), *fields[6:-1], (f"name{other}", value), *fields[-1:]])
        (op,) = diff(a, b)
        assert patch(a, diff(a, b)) == b
        assert op.path == (() if other == 5 else ("name5",))


def test_the_ends_of_two_documents_are_found_wherever_they_differ() -> None:
    chance = random.Random(3)
    for size in (1, 50, 32_768, 70_000):
        for _ in range(40):
            a = c.encode({"a": bytes(size)})
            b = bytearray(a)
            spots = sorted(chance.randrange(12, len(a) - 1) for _ in range(2)) if size > 1 else [12, 12]
            for spot in spots:
                b[spot] = 7
            pair = Pair(a, bytes(b))
            prefix, suffix = pair.ends
            assert (prefix, len(a) - suffix) == (spots[0], spots[-1] + 1)
            assert pair.equal(0, spots[0], 0, spots[0])
            assert not pair.equal(0, len(a), 0, len(a))
            assert pair.equal(spots[0] + 1, spots[-1], spots[0] + 1, spots[-1])
