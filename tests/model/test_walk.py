"""Two documents walked side by side: what differs is found, whatever lies before it."""

from __future__ import annotations

import random

from model import canonical as c
from model.canonical import Value
from model.diff import diff, patch
from model.differences.walk import Pair, reach, spans

SMALL = [
    Value(kind, bytes.fromhex(data))
    for kind, data in (
        (c.DOUBLE, "010000000000f87f"), (c.STRING, "020000006100"), (c.STRING, "0100000000"),
        (c.OBJECT, "0500000000"), (c.ARRAY, "0c0000001030000000000000"), (c.BINARY, "010000008061"),
        (c.UNDEFINED, ""), (c.OBJECT_ID, "00" * 12),
        (c.BOOLEAN, "02"), (c.DATE, "ff" * 8), (c.NULL, ""), (c.REGEX, "61006900"),
        (c.DB_POINTER, "0200000061" + "00" * 13),
        (c.CODE, "020000006100"), (c.SYMBOL, "020000000000"),
        (c.SCOPED_CODE, "0f0000000200000061000500000000"),
        (c.INT32, "00000000"), (c.TIMESTAMP, "00" * 8), (c.INT64, "01" * 8), (c.DECIMAL128, "ff" * 16), (c.MAX_KEY, ""),
        (c.MIN_KEY, ""),
    )
]  # fmt: skip


def _many_fields(chance: random.Random, count: int) -> bytes:
    """A document with fields of every type, many of them, small and large."""
    large = [Value.of("x" * size) for size in (0, 1, 100, 250, 251, 254, 255, 256, 300, 70_000)]
    large += [Value.of({"a": "x" * size}) for size in (200, 243, 244, 300)] + [Value.of([]), Value.of({})]
    names = [f"{'n' * chance.randrange(3)}{i}" for i in range(count)]
    return c.document((name, chance.choice(SMALL if chance.random() < 0.8 else large)) for name in names)


def test_a_byte_is_found_in_its_field_however_many_there_are() -> None:
    chance = random.Random(5)
    for count in (1, 10, 300):
        for _ in range(20):
            raw = _many_fields(chance, count)
            fields = spans(raw)
            starts = [x[2] - len(x[0]) - 2 for x in fields]
            for start, (_, _, _, stop) in zip(starts, fields, strict=True):
                for place in (start, stop - 1, chance.randrange(start, stop)):
                    assert reach(raw, 4, place, len(raw) - 1) == start
                    assert reach(raw, chance.choice([s for s in starts if s <= start]), place, len(raw) - 1) == start
            assert reach(raw, 4, len(raw) - 1, len(raw) - 1) == len(raw) - 1


def test_the_laws_hold_for_documents_with_many_fields() -> None:
    chance = random.Random(6)
    for round_number in range(60):
        a = _many_fields(chance, 300)
        pairs = c.fields(a)
        others = c.fields(_many_fields(chance, 300))
        for _ in range(chance.randrange(1, 12)):
            pairs[chance.randrange(len(pairs))] = (pairs[i := chance.randrange(len(pairs))][0], others[i][1])
        if round_number % 3 == 0:
            del pairs[chance.randrange(len(pairs))]
        b = c.document(pairs)
        assert patch(a, diff(a, b)) == b
        assert bool(diff(a, b)) == (a != b)


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
