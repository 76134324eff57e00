"""Differences found from bytes: the laws over every BSON type, and the operations that people expect."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given

from model import diff as module
from model import text
from model.diff import Add, Move, Remove, TextEdit, diff, matching, patch
from model.errors import Refused, Unreadable
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.laws.laws import of_a_diff
from tests.model.diff.bson_strategies import documents, related

CASES = json.loads((support.CASES / "diff.json").read_text())


@given(documents(), documents())
@support.examples(200)
def test_the_laws_hold_for_any_two_documents(a: bytes, b: bytes) -> None:
    of_a_diff(a, b)


@given(related())
@support.examples(150)
def test_the_laws_hold_for_a_document_and_its_changes(both: tuple[bytes, bytes]) -> None:
    of_a_diff(*both)


@given(documents())
@support.examples(50)
def test_equal_bytes_have_no_difference(a: bytes) -> None:
    assert not diff(a, bytes(bytearray(a)))


@support.table("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any]) -> None:
    a, b = text.loose(case["a"]), text.loose(case["b"])
    found = of_a_diff(a, b)
    rows = [[op.op, text.path_text(op.path), *_sides(op)] for op in found]
    assert rows == case["operations"]


def _sides(op: module.Operation) -> list[Any]:
    if isinstance(op, module.Reorder):
        return [",".join(op.names_old), ",".join(op.names_new)]
    if isinstance(op, Move):
        return [text.path_text(op.to_path)]
    return [text.shown(side) for side in (op.old, op.new) if side is not None]


def _of(python: Any) -> bytes:
    return c.encode({"a": python})


def _documents(count: int) -> list[dict[str, Any]]:
    chance = random.Random(5)
    return [{"_id": i, "name": f"n{i}", "tags": ["x", "y"], "n": chance.randrange(10**6)} for i in range(count)]


def test_one_insert_in_front_of_2000_is_one_operation() -> None:
    many = _documents(2000)
    found = of_a_diff(_of(many), _of([{"_id": -1, "name": "new"}, *many]))
    assert [(op.op, op.path) for op in found] == [("add", ("a", 0))]


def test_an_insert_and_five_edits_are_six_operations() -> None:
    many = _documents(2000)
    changed = [dict(one) for one in many]
    for i in (3, 500, 501, 1500, 1999):
        changed[i]["name"] = "other"
    found = of_a_diff(_of(many), _of([{"_id": -1}, *changed]))
    assert found.counts() == {"add": 1, "replace": 5}
    assert next(op.path for op in found if op.op == "replace") == ("a", 3, "name")


def test_four_moved_scalars_are_four_moves() -> None:
    numbers = list(range(2000))
    changed = [n for n in numbers if n not in (10, 500, 900, 1500)]
    for at, n in ((1800, 10), (5, 500), (1200, 900), (0, 1500)):
        changed.insert(at, n)
    found = of_a_diff(_of(numbers), _of(changed))
    assert found.counts() == {"move": 4}


def test_a_shuffle_keeps_the_longest_run() -> None:
    numbers = list(range(1000))
    shuffled = random.Random(1).sample(numbers, 1000)
    found = of_a_diff(_of(numbers), _of(shuffled))
    assert set(found.counts()) == {"move"}
    assert len(found) < 1000 - 50
    assert not found.coarse


def test_what_would_take_too_long_is_coarser_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("model.diff.alignment.LCS_BITS", 1000)
    monkeypatch.setattr("model.diff.alignment.MYERS_BOUND", 5)
    chance = random.Random(2)
    a = [chance.randrange(20) for _ in range(300)]
    b = [chance.randrange(20) for _ in range(300)]
    assert of_a_diff(_of(a), _of(b)).coarse


def test_elements_that_stay_in_place_are_matched_as_if_each_were_compared_with_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance = random.Random(8)
    pairs: list[tuple[bytes, bytes]] = []
    for _ in range(900):
        names = chance.sample("abcdef", chance.randrange(1, 6))
        old = [{name: chance.randrange(3) for name in names} for _ in range(chance.randrange(2, 7))]
        new = [{**one, chance.choice("abcxyz"): chance.randrange(9)} for one in old]
        if chance.random() < 0.4:  # then they do not
            new.append(new.pop(0))
        if chance.random() < 0.3:
            new[chance.randrange(len(new))] = dict.fromkeys(chance.sample("abc", chance.randrange(3)), 5)
        pairs.append((_of(old), _of(new)))
    straight, taken = matching._straight, 0

    def counted(olds: Any, news: Any) -> list[float] | None:
        nonlocal taken
        found = straight(olds, news)
        taken += found is not None
        return found

    monkeypatch.setattr(matching, "_straight", counted)
    found = [diff(*pair).operations for pair in pairs]
    assert taken > 50
    monkeypatch.setattr(matching, "_straight", lambda olds, news: None)
    assert found == [diff(*pair).operations for pair in pairs]


@support.table("wrap", support.every(2, ["document", "array"]))
def test_3000_levels_do_not_exhaust_the_stack(wrap: str) -> None:
    def deep(leaf: int) -> bytes:
        value = Value.of(leaf)
        for _ in range(3000):
            value = c.array([value]) if wrap == "array" else Value(c.OBJECT, c.document([("a", value)]))
        return c.document([("a", value)])

    a, b = deep(1), deep(2)
    found = diff(a, b)
    (op,) = found
    assert len(op.path) == 3001
    assert patch(a, found) == b
    assert patch(b, found.inverse()) == a
    added = diff(c.EMPTY, b)
    assert patch(c.EMPTY, added) == b
    assert list(added.row_texts())


def test_100000_names_are_compared_quickly_enough() -> None:
    a = {f"k{i}": i for i in range(100_000)}
    b = {**a, "k500": None, "new": 1}
    del b["k99999"]
    found = diff(c.encode(a), c.encode(b))
    assert found.counts() == {"replace": 1, "remove": 1, "add": 1}


def test_long_text_is_edited_in_places() -> None:
    lines = [f"Line {i} of a long text that people wrote." for i in range(50)]
    old = "\n".join(lines)
    lines[7] = "Line 7 of a long note that people wrote."
    del lines[30]
    found = of_a_diff(_of(old), _of("\n".join(lines)))
    (op,) = found
    assert isinstance(op, TextEdit)
    assert not found.coarse
    assert op.edits[0] == (old.index("text", old.index("Line 7")), "text", "note")
    assert len(op.edits) == 2


def test_short_or_rewritten_text_is_replaced() -> None:
    assert of_a_diff(_of("x" * 199), _of("x" * 198)).counts() == {"replace": 1}
    assert of_a_diff(_of("abc " * 100), _of("xyz, " * 100)).counts() == {"replace": 1}


@support.table(
    "old, new, edits",
    [
        ("yearly", "monthly", [(0, "yearly", "monthly")]),
        ("+49 40 555 0117", "+49 40 555 0192", [(13, "17", "92")]),
        ("Roof redone 2019. Call ahead.", "Roof redone 2024. Call ahead.", [(14, "19", "24")]),
        ("a b c", "a c", [(2, "b ", "")]),
        ("", "x", [(0, "", "x")]),
        ("same", "same", []),
        ("one\ntwo\nthree\n", "one\n2\nthree\nfour\n", [(4, "two", "2"), (14, "", "four\n")]),
        ("naïve café", "naïve cafés", [(10, "", "s")]),
    ],
)
def test_text_edits_mark_what_people_would(old: str, new: str, edits: list[tuple[int, str, str]]) -> None:
    assert module.text_edits(old, new) == edits


def test_a_diff_does_not_fit_another_document() -> None:
    a, b = text.loose("{a: 1, b: [1, 2, {c: 3}]}"), text.loose("{a: 2, b: [2, {c: 4}], d: 5}")
    found = diff(a, b)
    for other in ("{}", "{a: 3, b: [1, 2, {c: 3}]}", "{a: 1, b: []}", "{a: 1, b: {c: 1}}", "{a: 1, b: [1, 2, 3]}"):
        with pytest.raises(Refused, match="does not fit"):
            patch(text.loose(other), found)


def test_paths_are_in_the_new_document_for_additions_and_in_the_old_one_otherwise() -> None:
    a = text.loose("{a: [{_id: 1}, {_id: 2, x: 1, y: 1}]}")
    b = text.loose("{a: [{_id: 0}, {_id: 1}, {_id: 2, x: 2, z: 3}]}")
    found = of_a_diff(a, b)
    assert [(op.op, op.path, op.to_path) for op in found] == [
        ("add", ("a", 0), ("a", 0)),
        ("replace", ("a", 1, "x"), ("a", 2, "x")),
        ("remove", ("a", 1, "y"), ("a", 1, "y")),
        ("add", ("a", 2, "z"), ("a", 2, "z")),
    ]


def test_other_keys_than_id_recognise_elements() -> None:
    a = text.loose("{a: [{sku: 'x', n: 1}, {sku: 'y', n: 2}]}")
    b = text.loose("{a: [{sku: 'y', n: 3}, {sku: 'x', n: 1, m: 1}]}")
    assert diff(a, b, keys=("_id", "sku")).counts() == {"move": 1, "replace": 1, "add": 1}


def test_values_in_rows_are_canonical_extended_json() -> None:
    found = of_a_diff(text.loose("{a: 1}"), text.loose("{a: NumberLong(1), b: 1}"))
    assert found.rows() == [
        {"op": "retype", "path": ["a"], "from": {"$numberInt": "1"}, "to": {"$numberLong": "1"}},
        {"op": "add", "path": ["b"], "from": None, "to": {"$numberInt": "1"}},
    ]


@support.table("raw", [b"", b"\x05\x00\x00\x00", b"\x05\x00\x00\x00\x01", c.EMPTY + b"x", b"\xff" * 20])
def test_what_is_no_document_is_unreadable(raw: bytes) -> None:
    with pytest.raises(Unreadable):
        diff(raw, c.EMPTY)
    with pytest.raises(Unreadable):
        diff(_of(1), raw)


def test_operations_name_additions_and_removals() -> None:
    found = diff(text.loose("{a: 1}"), text.loose("{b: 1}"))
    assert [type(op) for op in found] == [Remove, Add]
