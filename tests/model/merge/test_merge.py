"""Two edits merged: nothing silently wrong, nothing needlessly refused, and every choice can be undone."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from bson import Int64
from hypothesis import given

from model import text
from model.diff import Add, Remove, diff, patch
from model.errors import Refused, Unreadable
from model.merge import Merge, merge
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.laws import wide
from tests.laws.laws import of_a_merge, takes_a_side
from tests.model.diff.bson_strategies import related

CASES = json.loads((support.CASES / "merge.json").read_text())


def _merge(base: str, mine: str, theirs: str) -> Merge:
    return merge(text.loose(base), text.loose(mine), text.loose(theirs))


@support.table("swapped", [False, True], ids=["mine first", "theirs first"])
@support.table("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any], swapped: bool) -> None:
    sides = (case["theirs"], case["mine"]) if swapped else (case["mine"], case["theirs"])
    found = _merge(case["base"], *sides)
    conflicts = [[text.path_text(decision.path), decision.kind] for decision in found.conflicts]
    assert conflicts == case.get("conflicts", [])
    assert found.unresolved == len(conflicts)
    if conflicts:
        with pytest.raises(Refused, match="choose first"):
            found.document()
        if "preview" in case:
            assert text.readable(found.preview()) == text.readable(text.loose(case["preview"]))
    else:
        wanted = case.get("merged_swapped", case["merged"]) if swapped else case["merged"]
        assert text.readable(found.document()) == text.readable(text.loose(wanted))
    hints = {text.path_text(d.path): d.hint for d in found.decisions if d.hint}
    assert hints == case.get("hints", {})


@support.table("case", CASES, ids=lambda case: case["name"])
def test_taking_one_side_everywhere_it_is_open_gives_that_side_back_there(case: dict[str, Any]) -> None:
    base, mine, theirs = (text.loose(case[side]) for side in ("base", "mine", "theirs"))
    takes_a_side(base, mine, theirs)


@given(related(3))
@support.examples(200)
def test_the_laws_hold(three: tuple[bytes, bytes, bytes]) -> None:
    of_a_merge(*three)


@support.table("number", support.every(10, range(60)))
def test_the_laws_hold_for_wide_documents(number: int) -> None:
    of_a_merge(*wide.related(random.Random(number), 3))


def _reordered(dice: random.Random, base: list[int], added: list[int]) -> list[int]:
    made = [x for x in base if dice.random() < 0.9]
    for _ in range(dice.randint(0, 2)):
        if made:
            made.insert(dice.randint(0, len(made) - 1), made.pop(dice.randrange(len(made))))
    for x in added:
        if dice.random() < 0.5:
            made.insert(dice.randint(0, len(made)), x)
    return made


@support.table("kind", ["keyed", "scalars", "fields"])
@support.table("seed", support.every(10, range(20)))
def test_the_laws_hold_where_both_sides_move_remove_and_add_the_same(seed: int, kind: str) -> None:
    dice = random.Random(seed)

    def document(things: list[int]) -> bytes:
        if kind == "fields":
            return c.document([(f"f{x}", Value.of(x)) for x in things])
        return c.document([("a", c.array(Value.of({"_id": x} if kind == "keyed" else f"s{x}") for x in things))])

    for _ in range(25):
        base = list(range(dice.randint(0, 5)))
        mine, theirs = _reordered(dice, base, [7, 6, 10]), _reordered(dice, base, [9, 6, 10])
        of_a_merge(document(base), document(mine), document(theirs))


def test_a_shuffle_by_one_side_merges_with_what_both_added() -> None:
    shuffled = random.Random(1).sample(range(2000), 2000)
    base, mine, theirs = (
        c.document([("a", c.array(Value.of({"_id": x}) for x in things))])
        for things in (range(2000), [*shuffled, 9999], [*range(2000), 9999])
    )
    assert merge(base, mine, theirs).document() == merge(base, theirs, mine).document() == mine


def test_a_conflict_is_chosen_reopened_and_chosen_otherwise() -> None:
    found = _merge("{a: 1, b: 1}", "{a: 2, b: 2}", "{a: 3, b: 1}")
    (conflict,) = found.conflicts
    assert (conflict.path, conflict.kind, conflict.who, conflict.action) == (("a",), "changed", "both", "base")
    chosen = found.choose(conflict, "theirs")
    assert chosen.unresolved == 0
    assert text.relaxed(chosen.document()) == '{"a": 3, "b": 2}'
    again = chosen.reopen(conflict)
    assert again.conflicts == (conflict,)
    own = again.choose(conflict, Value.of("own"))
    assert text.relaxed(own.document()) == '{"a": "own", "b": 2}'
    assert text.relaxed(again.choose(conflict, 7).document()) == '{"a": 7, "b": 2}'
    assert found.unresolved == 1


def test_what_merged_by_itself_can_be_overruled() -> None:
    found = _merge("{a: 1, b: 1}", "{a: 2, b: 1}", "{a: 1, b: 3}")
    taken = {text.path_text(d.path): (d.who, d.action) for d in found.decisions}
    assert taken == {"a": ("mine", "mine"), "b": ("theirs", "theirs")}
    assert text.relaxed(found.choose(found.decisions[1], "base").document()) == '{"a": 2, "b": 1}'


def test_both_is_mine_followed_by_theirs_where_it_can_be_had() -> None:
    found = _merge("{a: ['x']}", "{a: ['x', 'y']}", "{a: ['x', 'z']}")
    (conflict,) = found.conflicts
    assert text.relaxed(found.choose(conflict, "both").document()) == '{"a": ["x", "y", "z"]}'
    assert text.relaxed(found.choose(conflict, ["w"]).document()) == '{"a": ["x", "w"]}'
    with pytest.raises(Refused, match="array of elements"):
        found.choose(conflict, 5)
    lines = _merge("{t: 'a\\nb'}", "{t: 'a\\nx\\nb'}", "{t: 'a\\ny\\nb'}")
    assert text.relaxed(lines.choose(lines.conflicts[0], "both").document()) == '{"t": "a\\nx\\ny\\nb"}'
    values = _merge("{a: 1}", "{a: 2}", "{a: 3}")
    with pytest.raises(Refused, match="Both cannot be kept at a"):
        values.choose(values.conflicts[0], "both")
    for value in ("ours", 7, None, {"k": [1]}, Value.of("mine")):
        chosen = values.choose(values.conflicts[0], value).document()
        wanted = value if isinstance(value, Value) else Value.of(value)
        assert chosen == c.document([("a", wanted)])


def test_a_contradictory_order_takes_a_side_or_an_order_of_ones_own() -> None:
    found = _merge("{a: 1, b: 2, c: 3}", "{b: 2, a: 1, c: 3}", "{a: 1, c: 3, b: 2}")
    (conflict,) = found.conflicts
    assert list(c.fields(c.document([("", conflict.mine or Value.of(None))]))[0][1].python()) == ["b", "a", "c"]
    assert list(c.decode(found.choose(conflict, "theirs").document())) == ["a", "c", "b"]
    assert list(c.decode(found.choose(conflict, ["c", "b", "a"]).document())) == ["c", "b", "a"]
    with pytest.raises(Refused, match="the same 3 names"):
        found.choose(conflict, ["c", "b"])


def test_a_decision_of_another_merge_is_refused() -> None:
    found = _merge("{a: 1}", "{a: 2}", "{a: 3}")
    other = _merge("{b: 1}", "{b: 2}", "{b: 3}")
    with pytest.raises(Refused, match="another merge"):
        found.choose(other.conflicts[0], "mine")


def test_a_conflict_has_what_each_side_has() -> None:
    found = _merge("{a: 1}", "{}", "{a: NumberLong(2)}")
    (conflict,) = found.conflicts
    sides = (conflict.path, conflict.base, conflict.mine, conflict.theirs, conflict.kind)
    assert sides == (("a",), Value.of(1), None, Value.of(Int64(2)), "deleted")


@support.table("wrap", support.every(2, ["document", "array"]))
def test_3000_levels_do_not_exhaust_the_stack(wrap: str) -> None:
    def deep(leaf: int, other: int) -> bytes:
        value = c.array([Value.of(leaf), Value.of(other)])
        for _ in range(3000):
            value = c.array([value]) if wrap == "array" else Value(c.OBJECT, c.document([("a", value)]))
        return c.document([("a", value)])

    found = merge(deep(1, 1), deep(2, 1), deep(1, 3))
    assert found.document() == deep(2, 3)
    clash = merge(deep(1, 1), deep(2, 1), deep(4, 1))
    assert clash.choose(clash.conflicts[0], "mine").document() == deep(2, 1)
    assert len(clash.conflicts[0].path) == 3002


def test_a_large_array_merges_by_key() -> None:
    chance = random.Random(4)
    base = [{"_id": i, "n": i, "m": i} for i in range(2000)]
    mine, theirs = [dict(one) for one in base], [dict(one) for one in base]
    for i in chance.sample(range(2000), 50):
        mine[i]["n"] = -1
        theirs[i]["m"] = -2
    wanted = [{**x, "m": y["m"]} for x, y in zip(mine, theirs, strict=True)]
    mine.insert(7, {"_id": 5001})
    theirs.append({"_id": 5002})
    wanted.insert(7, {"_id": 5001})
    wanted.append({"_id": 5002})
    found = merge(c.encode({"a": base}), c.encode({"a": mine}), c.encode({"a": theirs}))
    assert found.document() == c.encode({"a": wanted})


def test_other_keys_than_id_recognise_elements() -> None:
    base, mine, theirs = "{a: [{k: 1, x: 1}]}", "{a: [{k: 2}, {k: 1, x: 1}]}", "{a: [{k: 3}, {k: 1, x: 2}]}"
    assert _merge(base, mine, theirs).unresolved
    found = merge(text.loose(base), text.loose(mine), text.loose(theirs), keys=("_id", "k"))
    assert text.relaxed(found.document()) == '{"a": [{"k": 2}, {"k": 3}, {"k": 1, "x": 2}]}'


@support.table("old, new", [("{a: [{}]}", "{a: [{'': 1}]}"), ("{a: [1, {}]}", "{a: [{'': 2}, 2]}")])
def test_an_empty_document_has_no_key_even_where_the_key_has_no_name(old: str, new: str) -> None:
    a, b = text.loose(old), text.loose(new)
    assert patch(a, diff(a, b, ("",))) == b
    assert merge(a, b, a, ("",)).document() == b


def test_what_is_no_document_is_unreadable() -> None:
    with pytest.raises(Unreadable):
        merge(b"", c.EMPTY, c.EMPTY)
    with pytest.raises(Unreadable):
        merge(c.EMPTY, c.EMPTY, c.EMPTY + b"x")


def test_a_document_with_one_name_twice_is_decided_as_a_whole() -> None:
    base = text.loose("{$fields: [['x', 1], ['x', 2]]}")
    mine, theirs = text.loose("{$fields: [['x', 1], ['x', 3]]}"), text.loose("{y: 1}")
    found = merge(base, mine, theirs)
    assert [d.path for d in found.conflicts] == [()]
    assert found.choose(found.conflicts[0], "theirs").document() == theirs
    with pytest.raises(Refused, match="not a document"):
        found.choose(found.conflicts[0], 5).document()


def test_a_merge_without_conflict_holds_every_one_sided_addition_and_removal() -> None:
    base = text.loose("{a: 1, b: {c: 2, d: 3}, e: [1, 2]}")
    mine, theirs = text.loose("{a: 1, b: {d: 3, f: 4}, e: [1, 2]}"), text.loose("{b: {c: 2, d: 3}, e: [1, 2, 3], g: 5}")
    merged = merge(base, mine, theirs).document()
    ops = [(type(op), op.path) for op in diff(base, merged)]
    assert sorted(ops, key=str) == sorted(
        [(Remove, ("a",)), (Remove, ("b", "c")), (Add, ("b", "f")), (Add, ("e", 2)), (Add, ("g",))], key=str
    )
