"""The content that an edit or restore makes, without any server."""

from __future__ import annotations

from typing import Any

import pytest

from model.errors import Refused
from model.text import path_from_text
from model.values import canonical
from model.values.canonical import Path, Value
from model.writing import edit
from tests import support

OLD = canonical.encode({"a": 1, "gone": "x", "list": [1, 2, 3, 4], "deep": {"b": 1, "c": 2}})
NOW = canonical.encode({"a": 2, "list": [1, 9, 3], "deep": {"b": 5, "new": True}, "later": 0})


def paths(*written: str) -> list[Path]:
    return [path_from_text(w) for w in written]


def test_fields_are_set_in_place_and_taken_out() -> None:
    content = edit.changed(OLD, [(("a",), Value.of(9)), (("deep", "d"), Value.of(3))], [("gone",), ("none",)])
    assert content == canonical.encode({"a": 9, "list": [1, 2, 3, 4], "deep": {"b": 1, "c": 2, "d": 3}})


@support.table(
    "fields, expected",
    [
        (["a"], {"a": 1, "list": [1, 9, 3], "deep": {"b": 5, "new": True}, "later": 0}),
        (["deep.b", "deep.new"], {"a": 2, "list": [1, 9, 3], "deep": {"b": 1}, "later": 0}),
        (["list[1]", "list[3]"], {"a": 2, "list": [1, 2, 3, 4], "deep": {"b": 5, "new": True}, "later": 0}),
        (["gone", "later"], {"a": 2, "list": [1, 9, 3], "deep": {"b": 5, "new": True}, "gone": "x"}),
    ],
)
def test_chosen_fields_are_as_they_were_and_the_others_stay(fields: list[str], expected: dict[str, Any]) -> None:
    assert edit.taken_over(OLD, NOW, paths(*fields)) == canonical.encode(expected)


def test_elements_that_were_not_there_are_taken_out_from_the_end_and_added_in_order() -> None:
    now = canonical.encode({"list": [1, 2, 3, 4, 5]})
    old = canonical.encode({"list": [1, 2]})
    assert edit.taken_over(old, now, paths("list[2]", "list[3]", "list[4]")) == old
    assert edit.taken_over(now, old, paths("list[4]", "list[2]", "list[3]")) == now


def test_a_whole_version_is_restored_byte_for_byte() -> None:
    assert edit.taken_over(OLD, NOW, None) == OLD


def test_a_field_that_neither_version_has_is_refused() -> None:
    with pytest.raises(Refused, match="Neither version has a field nmae"):
        edit.taken_over(OLD, NOW, paths("nmae"))


@support.table(
    "wrong, said",
    [
        ([("_id",)], "kept by the layout"),
        ([("v", "x")], "kept by the layout"),
        ([()], "names a field"),
        ([(0,)], "names a field"),
        ([("a",), ("a",)], "a is named twice"),
        ([("a",), ("a", "b")], "one place twice"),
    ],
)
def test_paths_that_cannot_be_edited_are_refused(wrong: list[Path], said: str) -> None:
    with pytest.raises(Refused, match=said):
        edit.check_paths(wrong, ("_id", "v"))
