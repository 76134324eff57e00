"""Fields found at the place where another document has them are those that a walk finds."""

from __future__ import annotations

import random
from typing import Any

import bson
import pytest
from bson import Binary, Int64, ObjectId, Regex

from model.errors import Unreadable
from model.storage.field_reader import FieldReader
from model.values import canonical as c

NAMES = ("_id", "docId", "v", "absent")


def walked(raw: bytes) -> list[c.Value | None]:
    return [c.get(raw, (name,)) for name in NAMES]


def some_document(chance: random.Random) -> dict[str, Any]:
    """A document whose fields are of some types and lengths, and now and then look like others."""
    v: Any = chance.choice([1, 2, Int64(3), "4", 5.0, None, {"v": 1}, b"\x10v\x00\x07\x00\x00\x00"])
    pairs: list[tuple[str, Any]] = [
        ("_id", ObjectId()),
        ("docId", chance.choice(["a", "b", "long", 7, b"\x10v\x00\x01\x00\x00\x00"])),
        ("v", v),
        ("text", chance.choice(["x", "y" * chance.randrange(9), "\x10v", Binary(b"\x10v\x00\x09\x00\x00\x00", 0)])),
        ("tags", [chance.randrange(3)]),
        ("like", Regex(chance.choice(["a", "ab"]))),
    ]
    if chance.random() < 0.5:
        chance.shuffle(pairs)
    return dict(pairs[: chance.randrange(len(pairs) + 1)])


def test_fields_of_any_documents_in_a_row_are_those_that_a_walk_finds(seed: int) -> None:
    chance = random.Random(seed)
    reader = FieldReader(*NAMES)
    for _ in range(3000):
        raw = bson.encode(some_document(chance))
        assert reader.values(raw) == walked(raw)


def test_the_first_of_a_name_counts_and_no_name_is_no_field() -> None:
    raw = c.document([("v", c.Value.of(1)), ("v", c.Value.of(2)), ("", c.Value.of(3))])
    reader = FieldReader("v", "")
    for _ in range(3):
        assert reader.values(raw) == [c.Value.of(1), None]


def test_bytes_inside_a_value_are_taken_for_no_field() -> None:
    reader = FieldReader("v")
    honest = bson.encode({"name": "1234", "v": 5})
    assert reader.values(honest) == [c.Value.of(5)]
    hidden = bson.encode({"nam": b"xxxxx\x10v\x00\x05\x00\x00\x00\x00"})
    at = honest.index(b"\x10v\x00")
    assert hidden[at : at + 7] == honest[at : at + 7], "the same bytes stand at the same place"
    assert reader.values(hidden) == [None]


def test_a_damaged_document_is_told_or_read_as_far_as_it_goes() -> None:
    reader = FieldReader("_id", "v")
    raw = bson.encode({"_id": 1, "v": 2})
    assert reader.values(raw) == [c.Value.of(1), c.Value.of(2)]
    broken = bytearray(raw)
    broken[raw.index(b"\x10v\x00")] = 99
    with pytest.raises(Unreadable):
        reader.values(bytes(broken))
    assert reader.legible(bytes(broken)) == [c.Value.of(1), None]
    with pytest.raises(Unreadable):
        reader.values(raw[:12])
