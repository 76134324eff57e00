"""What recognition counts in a sample, beside the same counted document by document."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, cast

import bson
import pytest
from bson import Decimal128, Int64

from model.recognition.key_candidates import KEYS, _repeats, occurs_twice
from model.recognition.sampling import ID_TYPES, Document, Sample, is_hash, together
from model.server.retry import Port
from model.storage.reserved_fields import number_of, place_of, places_of
from model.values import canonical as c
from model.values.canonical import Value

VALUES: tuple[Any, ...] = (1, 2, Int64(3), -4, 2.5, 3.0, "3", "a" * 64, "k1", "k2", None, {"a": 1}, Decimal128("1.5"))


def sampled(seed: int) -> Sample:
    """Documents with all fields in one order, with some missing, or in any order."""
    draw = random.Random(seed)
    some = draw.sample(VALUES, draw.choice((1, 2, len(VALUES))))
    documents = []
    for at in range(draw.randrange(1, 12)):
        names = [name for name in ("id", "v", "seal") if seed % 3 == 0 or draw.random() < 0.8]
        if seed % 3 == 2:
            draw.shuffle(names)
        documents.append(Document(bson.encode({"_id": at, **{name: draw.choice(some) for name in names}})))
    return Sample("db.things", lambda: None, tuple(documents), 0, lambda: (), tuple(each.raw for each in documents))


@pytest.mark.parametrize("seed", range(60))
def test_the_fields_of_a_sample_are_those_of_its_documents(seed: int) -> None:
    sample = sampled(seed)
    fields = [document.fields for document in sample.documents]
    assert list(sample.names) == list(dict.fromkeys(name for each in fields for name in each))
    assert sample.ids == {each["_id"] for each in fields}
    for name, shape in sample.shapes.items():
        values = [each[name] for each in fields if name in each]
        assert [*shape.values] == values
        assert shape.types == {kind: sum(v.type == kind for v in values) for kind in {v.type for v in values}}
        assert [*shape.of_types(ID_TYPES)] == [v for v in values if v.type in ID_TYPES]
        assert shape.share(c.INT32, c.STRING) == sum(v.type in (c.INT32, c.STRING) for v in values) / len(fields)
        assert shape.sealing == sum(map(is_hash, values)) / len(fields)
        amounts = [v for v in values if v.type in (c.DOUBLE, c.DECIMAL128) and number_of(v) is None]
        assert shape.broken == len(amounts) / len(fields)
    for name in ("_id", "v", "missing"):
        column = [each.get(name) for each in fields]
        assert [*sample.column(name)] == column
        assert [*sample.places(name)] == places_of(column) == [*map(place_of, column)]


@pytest.mark.parametrize("seed", range(60))
def test_versions_that_repeat_are_counted_for_each_id(seed: int) -> None:
    sample = sampled(seed)
    by_id: dict[Value, list[int]] = {}
    for document in sample.documents:
        id, place = document.get("id"), document.place("v")
        if id is not None and id.type in KEYS and place is not None:
            by_id.setdefault(id, []).append(place)
    several = [places for places in by_id.values() if len(places) > 1]
    repeated = bool(several) and sum(len({*each}) for each in several) < 0.5 * sum(map(len, several))
    if "id" in sample.shapes:
        assert _repeats(sample, "id", "v") == repeated
    pairs = [pair for d in sample.documents if None not in (pair := (d.get("id"), d.get("v")))]
    assert occurs_twice(sample, "id", "v") == (len({*pairs}) < len(pairs))


def test_rows_that_stand_otherwise_than_asked_for_are_told_by_their_number() -> None:
    row = {"_id": 1}
    answer = (
        {"at": 0, "row": row},
        {"at": 0, "row": row},
        {"at": Int64(1), "row": row},
        {"at": 2, "row": row},
        {"at": 2, "row": {"_id": 2}},
        {"at": Int64(0), "row": row},
        {"at": 2, "row": row},
    )

    class Answering:
        def aggregate(self, *asked: object, **more: object) -> Iterator[bytes]:
            yield from map(bson.encode, answer)

    found = list(together(cast(Port, Answering()), [(f"db.c{at}", []) for at in range(3)]))
    assert found == [(each["at"], bson.encode(cast(dict[str, Any], each["row"]))) for each in answer]
