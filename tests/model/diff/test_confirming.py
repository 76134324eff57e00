"""The comparison that checks a diff: it accepts what is right, and convicts what is wrong."""

from __future__ import annotations

from typing import Any

import bson
from msgspec.structs import replace

from model.diff import Replace, diff
from model.values.canonical import Value
from tests import support
from tests.laws.confirming import confirm

LARGE = 2**53 - 1


@support.table(
    "old, new",
    [
        ({"a": {"maximum": LARGE}}, {"a": {"maximum": LARGE // 2}}),
        ({"a": 1}, {"a": 1, "new": {"list": [{"maximum": LARGE}, 1.5, True, None]}}),
        ({"a": [LARGE, 1, 2]}, {"a": [1, 2]}),
        ({"a": 1, "b": 1}, {"b": 1.0, "a": True}),
    ],
)
def test_a_right_diff_is_confirmed_however_large_its_numbers_are(old: dict[str, Any], new: dict[str, Any]) -> None:
    found = diff(bson.encode(old), bson.encode(new)).operations
    assert confirm(old, new, found) == []
    for left_out in range(len(found)):
        assert confirm(old, new, found[:left_out] + found[left_out + 1 :])


@support.table("wrong", [LARGE - 1, float(LARGE), str(LARGE), True, None])
def test_another_value_is_convicted_whatever_it_resembles(wrong: object) -> None:
    old, new = {"a": 1}, {"a": LARGE}
    (op,) = diff(bson.encode(old), bson.encode(new))
    assert isinstance(op, Replace)
    assert confirm(old, new, [op]) == []
    assert confirm(old, new, [replace(op, new=Value.of(wrong))])
    inside = {"in": [LARGE]}
    (op,) = diff(bson.encode(old), bson.encode({"a": inside}))
    assert isinstance(op, Replace)
    assert confirm(old, {"a": inside}, [op]) == []
    assert confirm(old, {"a": inside}, [replace(op, new=Value.of({"in": [wrong]}))])
