"""What rows leave out of a document: cut from states, and put back where it belongs."""

from __future__ import annotations

from typing import Any

import bson
import pytest
from bson import ObjectId

from model.errors import Refused
from model.values.canonical import Value
from model.writers.ignored_fields import Ignored, holds, ignored
from tests import support

OWN, OTHER = ObjectId(), ObjectId()
STORED: dict[str, Any] = {
    "_id": 1,
    "note": "top",
    "address": {"city": "Wien", "street": "Ring"},
    "lines": [{"_id": OWN, "sku": "a", "note": "first"}, {"_id": OTHER, "sku": "b", "note": "second"}],
}


def cut(*names: str) -> dict[str, Any]:
    return bson.decode(ignored(names).cut(Value.of(STORED)).data)


@support.table(
    "names, left",
    [
        (("note",), {k: v for k, v in STORED.items() if k not in ("_id", "note")}),
        (("address.city",), {**{k: v for k, v in STORED.items() if k != "_id"}, "address": {"street": "Ring"}}),
        (
            ("**.note", "lines._id", "address"),
            {"lines": [{"sku": "a"}, {"sku": "b"}]},
        ),
        (("lines.note", "lines.sku", "note", "address"), {"lines": [{"_id": OWN}, {"_id": OTHER}]}),
    ],
)
def test_a_name_a_path_and_a_name_at_any_depth_are_cut(names: tuple[str, ...], left: dict[str, Any]) -> None:
    assert cut(*names) == left


def refilled(lines: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    below: Ignored = ignored(names).below_top()
    return bson.decode(below.refilled(Value.of({"lines": lines}), Value.of(STORED)).data)["lines"]


def test_what_was_cut_comes_back_into_the_element_that_it_was_in() -> None:
    a, b = ({k: v for k, v in each.items() if k != "note"} for each in STORED["lines"])
    assert refilled([b, a], "lines.note") == [{"note": "second", **b}, {"note": "first", **a}]
    assert refilled([{**b, "sku": "c"}], "lines.note") == [{"note": "second", **b, "sku": "c"}]


def test_nothing_that_was_cut_comes_into_another_element() -> None:
    with pytest.raises(Refused, match="which one has changed cannot be told"):
        refilled([{"sku": "c"}], "lines.note", "lines._id")


def test_an_object_id_that_was_cut_stays_at_its_place_and_a_new_element_gets_one() -> None:
    rows = refilled([{"sku": "c", "note": "x"}, {"sku": "b", "note": "second"}, {"sku": "d"}], "lines._id")
    assert [row["_id"] for row in rows[:2]] == [OWN, OTHER]
    assert isinstance(rows[2]["_id"], ObjectId)
    assert len({row["_id"] for row in rows}) == 3


def test_a_path_is_found_in_any_element() -> None:
    document = bson.encode(STORED)
    assert holds(document, "lines.note")
    assert not holds(document, "lines.price")
