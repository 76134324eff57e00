"""Added, removed and moved fields are found correctly, without reading the whole document."""

from __future__ import annotations

import random

import pytest

from model.diff import Add, Remove, Reorder, Replace, diff
from model.diff.field_changes import changes, differences
from model.diff.walk import Pair, names_of, spans
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.laws.laws import of_a_diff
from tests.laws.wide import any_value, many_fields

pytestmark = pytest.mark.usefixtures("each_walk")

Pairs = list[tuple[str, Value]]


def _edited(chance: random.Random, pairs: Pairs) -> Pairs:
    """Some fields removed, added, changed, put elsewhere or given another's name."""
    pairs = list(pairs)
    for _ in range(chance.randrange(1, 7)):
        at, action = chance.randrange(len(pairs) + 1), chance.randrange(8)
        if action < 3 or not pairs:
            pairs.insert(at, (f"new{chance.randrange(40)}", any_value(chance)))
        elif action < 5:
            del pairs[at - 1]
        elif action < 7:
            pairs[at - 1] = pairs[at - 1][0], any_value(chance)
        elif chance.random() < 0.5:
            pairs.insert(chance.randrange(len(pairs)), pairs.pop(at - 1))
        else:
            pairs[at - 1] = pairs[chance.randrange(len(pairs))][0], pairs[at - 1][1]
    return pairs


@support.table("number", range(support.by_depth(40, 250)))
def test_the_laws_hold_for_fields_that_come_and_go(number: int) -> None:
    chance = random.Random(number)
    inner = c.fields(many_fields(chance, chance.choice((0, 1, 3, 12, 60))))
    other = _edited(chance, inner)
    of_a_diff(c.document(inner), c.document(other))
    wrapped = [("before", any_value(chance)), ("d", Value(c.OBJECT, c.document(inner))), ("n1", any_value(chance))]
    changed = [*wrapped[:1], ("d", Value(c.OBJECT, c.document(other))), *wrapped[2:]]
    of_a_diff(c.document(wrapped), c.document(_edited(chance, changed)))


def test_one_field_more_is_found_without_listing_the_others() -> None:
    pairs = [(f"field{i}", Value.of(i)) for i in range(1000)]
    a, b = c.document(pairs), c.document([*pairs[:600], ("new", Value.of(1)), *pairs[600:]])
    ((none, new),) = differences(Pair(a, b), 0, 0) or []
    assert none is None
    assert new is not None
    assert new[0] == b"new"
    (op,) = diff(a, b)
    assert op == Add(("new",), Value.of(1), 600)
    assert tuple(diff(b, a)) == (Remove(("new",), Value.of(1), 600),)
    assert changes(Pair(a, b), 0, 0) is None


def test_what_went_and_what_came_at_one_place_is_told_in_that_order() -> None:
    pairs = [(f"field{i}", Value.of("x" * 30)) for i in range(20)]
    a = c.document([*pairs[:7], ("old", Value.of(1)), *pairs[7:]])
    b = c.document([*pairs[:7], ("new", Value.of(2)), ("newer", Value.of(3)), *pairs[7:-1], ("field19", Value.of(4))])
    assert [(op.op, op.path[-1]) for op in diff(a, b)] == [
        ("remove", "old"), ("add", "new"), ("add", "newer"), ("replace", "field19")
    ]  # fmt: skip


def test_a_field_put_elsewhere_is_another_order_and_no_removal() -> None:
    pairs = [(f"field{i}", Value.of("x" * 30)) for i in range(20)]
    moved = [*pairs[:3], *pairs[4:15], pairs[3], *pairs[15:]]
    (op,) = diff(c.document(pairs), c.document(moved))
    assert isinstance(op, Reorder)
    (first, second) = diff(c.document(pairs), c.document([*moved[:-1], ("field19", Value.of(1))]))
    assert isinstance(first, Reorder)
    assert isinstance(second, Replace)


def test_a_name_that_is_found_inside_other_fields_is_still_alone() -> None:
    inside = Value.of({"name": "name\x00", "deep": {"name": 1}})
    pairs = [("a", inside), ("surname", Value.of("name")), ("name", Value.of(1)), ("z", inside), ("x" * 300, inside)]
    a = c.document(pairs)
    for new in (Value.of(2), None):
        other = [(name, value if name != "name" else new) for name, value in pairs]
        b = c.document((name, value) for name, value in other if value is not None)
        assert differences(Pair(a, b), 0, 0)
        (op,) = of_a_diff(a, b)
        assert op.path == ("name",)


@pytest.mark.usefixtures("each_search")
@support.table("number", range(30))
def test_fields_are_named_in_order_however_large_they_are(number: int) -> None:
    chance = random.Random(number)
    raw = many_fields(chance, chance.randrange(1, 120))
    fields = spans(raw)
    starts = [x[2] - len(x[0]) - 2 for x in fields] + [len(raw) - 1]
    low, high = sorted((chance.randrange(len(starts)), chance.randrange(len(starts))))
    assert names_of(raw, starts[low], starts[high]) == [x[0] for x in fields[low:high]]


@pytest.mark.usefixtures("each_search")
@support.table("count", [1, 16, 17, 40])
def test_a_name_that_is_there_twice_is_noticed_however_many_fields_differ(count: int) -> None:
    pairs = [(f"field{i}", Value.of("x" * (i % 40))) for i in range(60)]
    other = [(name, Value.of(i) if i < count else value) for i, (name, value) in enumerate(pairs)]
    for fields, changed in ((pairs, other), ([*pairs, pairs[0]], [*other, pairs[0]])):
        a, b = c.document(fields), c.document(changed)
        assert (differences(Pair(a, b), 0, 0) is None) == (len(fields) > len(pairs))
        assert len(of_a_diff(a, b)) == (1 if len(fields) > len(pairs) else count)


def test_many_elements_without_a_key_are_recognised_by_the_field_they_begin_with() -> None:
    chance = random.Random(1)
    base = [{"code": f"c{i}", "n": i, "list": [i]} for i in range(300)]
    other = [{**one, "n": chance.random(), "more": True} for one in base]
    other.insert(0, {"code": "first", "n": 0.5, "list": [0]})
    found = of_a_diff(c.encode({"a": base}), c.encode({"a": other}))
    assert not found.coarse
    assert len(found) == 601
    assert isinstance(found.operations[0], Add)
    shuffled = sorted(other, key=lambda one: str(one["n"]))
    of_a_diff(c.encode({"a": base}), c.encode({"a": shuffled}))
