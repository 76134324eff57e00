"""Each form of patch: its effect on a state, its inverse, and patches that do not fit."""

from __future__ import annotations

import datetime as dt
from typing import Any

import bson
import pytest
from bson import Int64, ObjectId

from model.patches import FORMS, DoesNotApply, document_of, tree_of
from model.patches.tree import Node, alike, node_of
from model.values.canonical import Value
from tests import support

WHEN = dt.datetime(2024, 5, 6, 7, 8, 9, 120_000, dt.UTC)
OWN = ObjectId("64f0a1c29b1e8a0012c4d7aa")


def tree(**fields: Any) -> Node:
    return tree_of(bson.encode(fields))


def patch(python: Any) -> Node:
    return node_of(Value.of(python))


def plain(node: Node) -> Any:
    return bson.decode(document_of(node))


STATE: dict[str, Any] = {"n": 1, "t": "one two", "a": [1, 2, 3], "o": {"x": 1}, "l": [{"_id": OWN, "q": 1}]}

BOTH_WAYS: list[tuple[str, Any, dict[str, Any]]] = [
    ("jsondiffpatch", {"n": [1, 2]}, {**STATE, "n": 2}),
    ("jsondiffpatch", {"k": ["new"]}, {**STATE, "k": "new"}),
    ("jsondiffpatch", {"n": [1, 0, 0]}, {k: v for k, v in STATE.items() if k != "n"}),
    ("jsondiffpatch", {"o": {"x": [1, 5], "y": [6]}}, {**STATE, "o": {"x": 5, "y": 6}}),
    ("jsondiffpatch", {"a": {"_t": "a", "_0": [1, 0, 0], "2": [9]}}, {**STATE, "a": [2, 3, 9]}),
    ("jsondiffpatch", {"a": {"_t": "a", "_0": ["", 2, 3]}}, {**STATE, "a": [2, 3, 1]}),
    ("jsondiffpatch", {"a": {"_t": "a", "_2": ["", 0, 3], "_0": [1, 0, 0], "1": [7]}}, {**STATE, "a": [3, 7, 2]}),
    ("jsondiffpatch", {"l": {"_t": "a", "0": {"q": [1, 2]}}}, {**STATE, "l": [{"_id": OWN, "q": 2}]}),
    ("jsondiffpatch", {"t": ["@@ -1,7 +1,7 @@\n-one\n+ONE\n  two\n", 0, 2]}, {**STATE, "t": "ONE two"}),
    ("json0", [{"p": ["n"], "na": 4}], {**STATE, "n": 5}),
    ("json0", [{"p": ["t", 4], "sd": "two"}, {"p": ["t", 4], "si": "2"}], {**STATE, "t": "one 2"}),
    ("json0", [{"p": ["t"], "t": "text0", "o": [{"p": 0, "d": "one"}, {"p": 0, "i": "1"}]}], {**STATE, "t": "1 two"}),
    ("json0", [{"p": ["a", 1], "ld": 2, "li": 8}], {**STATE, "a": [1, 8, 3]}),
    ("json0", [{"p": ["a", 0], "lm": 2}], {**STATE, "a": [2, 3, 1]}),
    ("json0", [{"p": ["o", "x"], "od": 1}, {"p": ["o", "z"], "oi": True}], {**STATE, "o": {"z": True}}),
    ("json0", [{"p": ["l", 0, "q"], "od": 1, "oi": 3}], {**STATE, "l": [{"_id": OWN, "q": 3}]}),
    ("fields", {"original": {"n": 1}, "modified": {"n": 2, "k": 3}}, {**STATE, "n": 2, "k": 3}),
    ("fields", {"original": {"o.x": 1}, "modified": {}}, {**STATE, "o": {}}),
    ("fields", {"before": {"n": 1}, "after": {"n": 2, "k": 3}}, {**STATE, "n": 2, "k": 3}),
    ("fields", {"n": {"from": 1, "to": 2}, "k": {"from": None, "to": 3}}, {**STATE, "n": 2, "k": 3}),
    (
        "fields",
        {"o": {"x": {"old": 1, "new": 2}}, "a": [{"old": 1, "new": 7}]},
        {**STATE, "o": {"x": 2}, "a": [7, 2, 3]},
    ),
    ("fields", {"a": {"2": {"from": 3}, "from": [1, 2, 3], "to": [1, 2]}}, {**STATE, "a": [1, 2]}),
    ("fields", [{"field": "n", "oldValue": 1, "newValue": 2}], {**STATE, "n": 2}),
    (
        "fields",
        [{"path": ["o", "x"], "lhs": 1, "rhs": 5}, {"path": "a.3", "rhs": 9}],
        {**STATE, "o": {"x": 5}, "a": [1, 2, 3, 9]},
    ),
]


TESTED: list[tuple[list[dict[str, Any]], dict[str, Any]]] = [
    ([{"op": "test", "path": "/n", "value": 1}, {"op": "replace", "path": "/n", "value": 2}], {**STATE, "n": 2}),
    ([{"op": "test", "path": "/a/2", "value": 3}, {"op": "remove", "path": "/a/2"}], {**STATE, "a": [1, 2]}),
    ([{"op": "test", "path": "/o/x", "value": 1}, {"op": "remove", "path": "/o/x"}], {**STATE, "o": {}}),
    (
        [{"op": "add", "path": "/a/-", "value": 9}, {"op": "add", "path": "/k", "value": {}}],
        {**STATE, "a": [1, 2, 3, 9], "k": {}},
    ),
    ([{"op": "move", "from": "/a/0", "path": "/a/2"}], {**STATE, "a": [2, 3, 1]}),
    ([{"op": "copy", "from": "/n", "path": "/o/n"}], {**STATE, "o": {"x": 1, "n": 1}}),
]


@support.table("operations, after", TESTED)
def test_a_json_patch_that_says_what_it_replaced_is_taken_back(
    operations: list[dict[str, Any]], after: dict[str, Any]
) -> None:
    form = FORMS["rfc6902"]
    assert plain(form.apply(tree(**STATE), patch(operations))) == after
    assert plain(form.unapply(tree(**after), patch(operations))) == STATE


@support.table(
    "operations, said",
    [
        ([{"op": "replace", "path": "/n", "value": 1}], "does not say what was at /n"),
        ([{"op": "test", "path": "/t", "value": "x"}, {"op": "remove", "path": "/k"}], "does not say what was at /k"),
        (
            [{"op": "test", "path": "/n", "value": 7}, {"op": "replace", "path": "/n", "value": 2}],
            "/n is 1 and should be 2",
        ),
        ([{"op": "add", "path": "/n", "value": 5}], "/n is 1 and should be 5"),
    ],
)
def test_a_json_patch_that_does_not_lead_to_a_state_is_not_taken_back(
    operations: list[dict[str, Any]], said: str
) -> None:
    with pytest.raises(DoesNotApply, match=said):
        FORMS["rfc6902"].unapply(tree(**STATE), patch(operations))


LEFT = {"n", "o"}
PARTS: list[tuple[str, Any, Any]] = [
    ("rfc6902", [{"op": "remove", "path": "/n"}, {"op": "remove", "path": "/t"}], [{"op": "remove", "path": "/t"}]),
    ("jsondiffpatch", {"n": [1, 2], "t": ["x"]}, {"t": ["x"]}),
    ("json0", [{"p": ["o", "x"], "od": 1}, {"p": ["t"], "od": 1}], [{"p": ["t"], "od": 1}]),
    ("fields", {"original": {"o.x": 1}, "modified": {"n": 1, "t": 2}}, {"original": {}, "modified": {"t": 2}}),
]


@support.table("form, change, rest", PARTS)
def test_a_change_without_some_fields_is_the_rest(form: str, change: Any, rest: Any) -> None:
    assert FORMS[form].without(patch(change), LEFT) == patch(rest)


def test_what_is_missing_above_an_added_field_is_made() -> None:
    change = {"p": {"q": {"to": 1}, "r": [{"s": {"to": 2}}]}}
    assert plain(FORMS["fields"].apply(tree(), patch(change))) == {"p": {"q": 1, "r": [{"s": 2}]}}


@support.table("form, change, after", BOTH_WAYS)
def test_a_change_is_made_and_taken_back(form: str, change: Any, after: dict[str, Any]) -> None:
    way = FORMS[form]
    assert plain(way.apply(tree(**STATE), patch(change))) == after
    assert plain(way.unapply(tree(**after), patch(change))) == STATE


@support.table(
    "operations, after",
    [
        ([{"op": "add", "path": "/k", "value": [1]}], {**STATE, "k": [1]}),
        ([{"op": "add", "path": "/a/1", "value": 9}], {**STATE, "a": [1, 9, 2, 3]}),
        ([{"op": "add", "path": "/a/-", "value": 9}], {**STATE, "a": [1, 2, 3, 9]}),
        ([{"op": "remove", "path": "/o/x"}], {**STATE, "o": {}}),
        ([{"op": "replace", "path": "/l/0/q", "value": 4}], {**STATE, "l": [{"_id": OWN, "q": 4}]}),
        ([{"op": "move", "from": "/a/0", "path": "/a/2"}], {**STATE, "a": [2, 3, 1]}),
        ([{"op": "copy", "from": "/n", "path": "/o/n"}], {**STATE, "o": {"x": 1, "n": 1}}),
        ([{"op": "test", "path": "/n", "value": 1.0}, {"op": "replace", "path": "/n", "value": 2}], {**STATE, "n": 2}),
        ([{"op": "test", "path": "/l/0/_id", "value": str(OWN)}], STATE),
        ([{"op": "add", "path": "/a~1b~0c", "value": 1}], {**STATE, "a/b~c": 1}),
        ([{"op": "replace", "path": "", "value": {"all": "new"}}], {"all": "new"}),
    ],
)
def test_a_json_patch_is_applied(operations: Any, after: dict[str, Any]) -> None:
    assert plain(FORMS["rfc6902"].apply(tree(**STATE), patch(operations))) == after


@support.table(
    "form, change, said",
    [
        ("rfc6902", [{"op": "test", "path": "/n", "value": 2}], "/n is 1 and should be 2"),
        ("rfc6902", [{"op": "remove", "path": "/none"}], "there is no /none"),
        ("rfc6902", [{"op": "add", "path": "/a/9", "value": 1}], "there is no place /a/9"),
        ("rfc6902", [{"op": "add", "path": "/n/x", "value": 1}], "/n/x is inside of 1"),
        ("rfc6902", [{"op": "frob", "path": "/n"}], "no operation frob"),
        ("rfc6902", [{"path": "/n"}], "no op"),
        ("rfc6902", {"op": "add"}, "not a list"),
        ("rfc6902", [{"op": "add", "path": "n", "value": 1}], "n is not a pointer"),
        ("jsondiffpatch", {"n": [7, 2]}, "n is 1 and should be 7"),
        ("jsondiffpatch", {"n": [2]}, "there is already a n"),
        ("jsondiffpatch", {"k": [1, 0, 0]}, "there is no k"),
        ("jsondiffpatch", {"a": {"_t": "a", "_9": [1, 0, 0]}}, "a has no element 9"),
        ("jsondiffpatch", {"a": {"_t": "a", "x": [1]}}, "a has no place x"),
        ("jsondiffpatch", {"n": {"x": [1]}}, "n is not an object"),
        ("jsondiffpatch", {"t": ["@@ -1,3 +1,3 @@\n-uno\n+one\n", 0, 2]}, "t: the text at 0"),
        ("jsondiffpatch", {"t": ["nonsense", 0, 2]}, "written in an unknown way"),
        ("jsondiffpatch", {"n": [1, 2, 3, 4]}, "unknown way"),
        ("json0", [{"p": ["a", 5], "ld": 1}], "there is no element 5"),
        ("json0", [{"p": ["a", 0], "ld": 7}], "should be 7"),
        ("json0", [{"p": ["t", 0], "sd": "two"}], "the text at 0"),
        ("json0", [{"p": ["t", 9], "si": "far"}], "the text at 9"),
        ("jsondiffpatch", {"t": ["@@ -9,0 +10,3 @@\n+far\n", 0, 2]}, "t: the text at 9"),
        ("json0", [{"p": ["n"], "t": "rich", "o": []}], "is not known"),
        ("json0", [{"p": ["n", "x"], "oi": 1}], "n is not an object"),
        ("json0", {"p": []}, "not one of the type json0"),
        ("fields", {"original": {"n": 5}, "modified": {}}, "n is 1 and should be 5"),
        ("fields", {"original": {}, "modified": {"n": 1}}, "there is already a n"),
        ("fields", "text", "no original and modified"),
        ("fields", [{"field": "n"}], "a change of the list is an object of 1 field"),
        ("fields", {"n": 2}, "the change of n does not say its values"),
        ("fields", {"a.0": {"from": 1, "to": None}}, "an element leaves an array of 3 at 0"),
        ("fields", {"t.0": {"from": None, "to": 1}}, "t.0 is inside of"),
    ],
)
def test_what_does_not_fit_says_where_and_why(form: str, change: Any, said: str) -> None:
    with pytest.raises(DoesNotApply) as reason:
        FORMS[form].apply(tree(**STATE), patch(change))
    assert said in str(reason.value)


def test_types_that_a_patch_does_not_touch_survive() -> None:
    before = {"i": Int64(5), "d": bson.Decimal128("1.10"), "when": WHEN, "b": bson.Binary(b"x", 4), "n": 1}
    after = FORMS["rfc6902"].apply(tree(**before), patch([{"op": "replace", "path": "/n", "value": 2}]))
    assert document_of(after) == bson.encode({**before, "n": 2})


def test_offsets_in_texts_count_as_javascript_counts() -> None:
    before, after = {"t": "😀😀ab"}, {"t": "😀😀aXb"}
    json0 = [{"p": ["t", 5], "si": "X"}]
    delta = {"t": ["@@ -1,6 +1,7 @@\n %F0%9F%98%80%F0%9F%98%80a\n+X\n b\n", 0, 2]}
    assert plain(FORMS["json0"].apply(tree(**before), patch(json0))) == after
    assert plain(FORMS["jsondiffpatch"].apply(tree(**before), patch(delta))) == after


@support.table(
    "one, other, same",
    [
        (1, 1.0, True), (1, Int64(1), True), (1, True, False), ("1", 1, False), (None, 0, False),
        (WHEN, "2024-05-06T07:08:09.120Z", True), (WHEN, "2024-05-06T07:08:09.121Z", False),
        (OWN, str(OWN), True), ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True), ([1, 2], [2, 1], False),
        (float("nan"), None, True), ({"a": 1}, {"a": 1, "b": None}, False),
    ],
)  # fmt: skip
def test_what_json_cannot_tell_apart_is_alike(one: Any, other: Any, same: bool) -> None:
    assert alike(patch(one), patch(other)) is same


def test_changes_that_do_not_say_what_they_replace_lead_forwards_alone() -> None:
    form = FORMS["fields"]
    letters = patch({"A": {"c": 3}, "U": {"a": 9}, "R": ["b"]})
    joined = patch({"changes": [{"field": "a", "changedTo": 5}, {"field": "d", "changedTo": "new"}]})
    assert plain(form.apply(tree(a=1, b=2), letters)) == {"a": 9, "c": 3}
    assert plain(form.apply(tree(a=1, b=2), patch({"I": None}))) == {"a": 1, "b": 2}
    assert plain(form.apply(tree(a=1, b=2), joined)) == {"a": 5, "b": 2, "d": "new"}
    for each in (letters, joined):
        with pytest.raises(DoesNotApply, match="does not say what it replaced"):
            form.unapply(tree(a=9, c=3), each)
    for wrong in ({"A": {}, "U": {"z": 1}, "R": []}, {"A": {"a": 1}, "U": {}}, {"U": {}, "R": ["z"]}):
        with pytest.raises(DoesNotApply):
            form.apply(tree(a=1, b=2), patch(wrong))
