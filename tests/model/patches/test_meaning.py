"""What two notations of one value are, and what differs in meaning."""

from __future__ import annotations

import datetime as dt
import uuid

from bson import Binary, Decimal128, Int64, ObjectId

from model.patches.meaning import ids_of, in_form_of, same_meaning
from model.patches.tree import node_of
from model.values.canonical import Value
from tests import support

DAY = dt.datetime(2024, 1, 17, 8, 30, tzinfo=dt.UTC)
LATER = DAY + dt.timedelta(milliseconds=1)
FIVE = uuid.UUID(int=5)
ID = "66f000000000000000000001"

SAME: list[tuple[object, object]] = [
    (1, 1.0),
    (Int64(1), 1),
    (Decimal128("1.50"), 1.5),
    (Decimal128("0.1"), 0.1),
    (Decimal128("1.50"), "1.5"),
    (Int64(2**60), str(2**60)),
    (DAY, "2024-01-17T08:30:00Z"),
    (DAY, "2024-01-17T09:30:00+01:00"),
    (DAY, "2024-01-17T08:30:00.000999Z"),
    (DAY, "2024-01-17T10:30:00"),  # no zone: it may be that of any place
    (DAY, "2024-01-17"),
    (DAY, Int64(DAY.timestamp() * 1000)),
    (ObjectId(ID), ID.upper()),
    (Binary(FIVE.bytes, 4), str(FIVE)),
    (Binary(b"abc"), "YWJj"),
    (None, None),
    ({"a": 1, "b": None}, {"a": 1.0}),
    ([1, DAY], [1.0, "2024-01-17T08:30:00Z"]),
]
OTHER: list[tuple[object, object]] = [
    (1, True),
    (1, 2),
    ("1", "1.0"),
    (0, None),
    (0, ""),
    (Decimal128("NaN"), "NaN"),
    (Decimal128("1.50"), "1.5 EUR"),
    (Int64(2**60), float(2**60 + 1024)),
    (DAY, "2024-01-17T09:30:00Z"),
    (LATER, "2024-01-17T08:30:00"),
    (DAY, "2024-01-18T08:30:00"),
    (DAY, "today"),
    (ObjectId(ID), ID[:-1] + "2"),
    (Binary(FIVE.bytes, 4), str(uuid.UUID(int=6))),
    ({"a": 1}, {"b": 1}),
    ([1], [1, 1]),
    ({"a": 1}, [1]),
]


@support.table("a, b", SAME, ids=[f"{a} and {b}" for a, b in SAME])
def test_another_notation_is_the_same(a: object, b: object) -> None:
    mine, theirs = node_of(Value.of(a)), node_of(Value.of(b))
    assert same_meaning(mine, theirs)
    assert same_meaning(theirs, mine)
    assert in_form_of(theirs, mine) == (mine if not isinstance(a, dict) else {"a": Value.of(1)})


@support.table("a, b", OTHER, ids=[f"{a} and {b}" for a, b in OTHER])
def test_another_meaning_is_not(a: object, b: object) -> None:
    mine, theirs = node_of(Value.of(a)), node_of(Value.of(b))
    assert not same_meaning(mine, theirs)
    assert not same_meaning(theirs, mine)


@support.table(
    "written, like, told",
    [
        ("2023-02-03T04:05:06Z", DAY, dt.datetime(2023, 2, 3, 4, 5, 6, tzinfo=dt.UTC)),
        ("never", DAY, "never"),
        (7, Int64(1), Int64(7)),
        (7.5, Int64(1), 7.5),
        (7.5, Decimal128("1"), Decimal128("7.5")),
        ("7.50", Decimal128("1"), Decimal128("7.50")),
        (7, 1.5, 7.0),
        (2**40, 1, Int64(2**40)),
        (str(FIVE), Binary(uuid.UUID(int=9).bytes, 4), Binary(FIVE.bytes, 4)),
        (ID, ObjectId(), ObjectId(ID)),
        ("text", ObjectId(), "text"),
        (5, "text", 5),
    ],
)
def test_an_older_value_gets_the_type_that_the_document_has_now(written: object, like: object, told: object) -> None:
    assert in_form_of(Value.of(written), Value.of(like)) == Value.of(told)


def test_a_text_may_be_the_id_of_several_types() -> None:
    assert ids_of(Value.of(ID)) == [Value.of(ID), Value.of(ObjectId(ID))]
    assert Value.of(Binary(FIVE.bytes, 4)) in ids_of(Value.of(str(FIVE)))
    assert ids_of(Value.of("K-1")) == [Value.of("K-1")]
    assert ids_of(Value.of(3)) == [Value.of(3), Value.of(Int64(3))]
