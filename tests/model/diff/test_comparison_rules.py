"""Comparison by rules: what they name does not count, everything else does, and places are the documents' own."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pytest
from bson import Decimal128, Int64
from hypothesis import given, settings
from hypothesis import strategies as st

from model.diff import diff, diff_values
from model.diff.comparison_rules import ComparisonRules, names_from_text
from model.errors import Unreadable
from model.values.canonical import Value

DAY = dt.datetime(2026, 1, 1)


def compared(a: Any, b: Any, keys: tuple[str, ...] = ("_id",), **rules: Any) -> list[tuple[str, str]]:
    """The operations by name, each with its place in the new document, or in the old one if it is a removal."""
    found = ComparisonRules(**rules).compare(Value.of(a), Value.of(b), keys)
    return [(op.op, ".".join(map(str, op.to_path))) for op in found]


@pytest.mark.parametrize(
    ("a", "b", "rules", "left"),
    [
        ({"n": 1, "m": 2}, {"n": 1.0, "m": 3}, {"numbers": True}, [("replace", "m")]),
        ({"n": Decimal128("1.0")}, {"n": Decimal128("1.00")}, {"numbers": True}, []),
        ({"n": [1, "x", Int64(2)]}, {"n": ["x", 2.0]}, {"numbers": True}, [("remove", "n.0")]),
        ({"at": DAY}, {"at": DAY + dt.timedelta(seconds=2)}, {"dates": 2000}, []),
        ({"at": DAY}, {"at": DAY + dt.timedelta(seconds=3)}, {"dates": 2000}, [("replace", "at")]),
        ({"t": "one  two\n"}, {"t": "one two"}, {"by_words": True}, []),
        ({"t": "one two"}, {"t": "one three"}, {"by_words": True}, [("text", "t")]),
        ({"a": 1, "b": 2}, {"b": 3}, {"ignored": (("a",),)}, [("replace", "b")]),
        ({"b": 2}, {"a": {"x": 1}, "b": 2}, {"ignored": (("a",),)}, []),
        ({"l": [{"k": 1, "s": 1}, {"k": 2}]}, {"l": [{"k": 1, "s": 2}, {"k": 3}]}, {"ignored": (("l", "s"),)},
         [("replace", "l.1.k")]),
        ({"l": [1, 2, 3]}, {"l": [3, 1, 2]}, {"unordered": (("l",),)}, []),
        ({"l": [1, 2, 2]}, {"l": [2, 1, 1]}, {"unordered": (("l",),)}, [("replace", "l.2")]),
        ({"l": [1, 2]}, {"l": [2, 9, 1.0]}, {"unordered": (("l",),), "numbers": True}, [("add", "l.1")]),
        ([1, 2], [2, 1], {"unordered": ((),)}, []),
        ({"l": [{"_id": 1, "n": 1}, {"_id": 2, "n": 2}]}, {"l": [{"_id": 2, "n": 7}, {"_id": 1, "n": 1}]},
         {"unordered": (("l",),)}, [("replace", "l.0.n")]),
        ({"l": [[1, 2], [3]]}, {"l": [[3], [2, 1]]}, {"unordered": (("l",),)}, []),
        # The nearest date is not always the right partner: each must have one.
        ({"l": [DAY, DAY + dt.timedelta(seconds=2)]}, {"l": [DAY + dt.timedelta(seconds=1), DAY]},
         {"unordered": (("l",),), "dates": 1000}, []),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"numbers": True}, [("reorder", "")]),
    ],
)  # fmt: skip
def test_what_a_rule_names_does_not_count(a: Any, b: Any, rules: Any, left: list[tuple[str, str]]) -> None:
    assert compared(a, b, **rules) == left
    assert ComparisonRules(**rules).same(Value.of(a), Value.of(b)) == (not left)


def test_values_are_those_of_the_documents_themselves() -> None:
    a, b = Value.of({"l": [{"n": 1, "x": 1}]}), Value.of({"l": [{"n": 1.0, "y": {"n": 1.0}}]})
    found = ComparisonRules(numbers=True).compare(a, b)
    assert all(op.new in (None, Value.of({"n": 1.0, "y": {"n": 1.0}}), Value.of({"n": 1.0})) for op in found)
    assert ComparisonRules(numbers=True).words == "Compared by rules: numbers by value."
    every = ComparisonRules((("a", "b"),), (("t",),), True, 90_000, True)
    assert every.words == (
        "Compared by rules: a.b left out, t in any order, numbers by value, dates within 90 s, text by words."
    )


def test_paths_are_read_as_people_write_them() -> None:
    assert names_from_text("riders[].seen") == names_from_text("riders.seen") == ("riders", "seen")
    assert names_from_text(".") == ()
    with pytest.raises(Unreadable):
        names_from_text("a..b")


LEAVES = st.one_of(st.integers(-3, 3), st.sampled_from(["a", "b c", "b  c", ""]), st.sampled_from([1.0, 0.5]))
TREES = st.recursive(
    LEAVES, lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.sampled_from("abl"), inside, max_size=3)
)
DOCUMENTS = st.dictionaries(st.sampled_from("abl"), TREES, max_size=3)


@settings(max_examples=60, deadline=None)
@given(DOCUMENTS, DOCUMENTS, st.randoms(use_true_random=False))
def test_rules_only_leave_out(a: dict[str, Any], b: dict[str, Any], chance: random.Random) -> None:
    x, y = Value.of(a), Value.of(b)
    assert ComparisonRules().compare(x, y) == diff_values(x, y) == diff(x.data, y.data)
    rules = ComparisonRules((("a",),), (("l",),), True, 0, True)
    assert bool(rules.compare(x, y)) == (not rules.same(x, y))
    shuffled = {name: chance.sample(each, len(each)) if isinstance(each, list) else each for name, each in a.items()}
    anywhere = ComparisonRules(unordered=(("a",), ("b",), ("l",)))
    assert not anywhere.compare(x, Value.of(shuffled))
