"""The rows of a comparison: what they are, that they include every change, and that none is built too early."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from bson import Int64, ObjectId
from bson.decimal128 import Decimal128
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester

from gui.parts.differences.diff_grouping import plan
from gui.parts.differences.diff_model import FIELD, SYMBOL, TYPE, A, B, DiffModel
from gui.parts.differences.diff_node import CHUNK, DiffNode
from gui.style.cells import CELL, Cell
from gui.views.compare.ignored_paths import IgnoredPaths
from model.diff import Operation
from model.history.comparison import Comparison
from model.values import canonical
from model.values.canonical import Value
from tests import support
from tests.gui.fake_session import compared, compared_bytes

_alive: list[DiffModel] = []
"""An index points into its model and does not keep it."""


@pytest.fixture(autouse=True)
def _models() -> Iterator[None]:
    yield
    _alive.clear()


def rows_of(
    comparison: Comparison,
    only_changes: bool = True,
    watched: bool = False,
    hides: Callable[[Operation], bool] | None = None,
) -> DiffModel:
    """The rows; ``watched`` by Qt's own tester, which fetches all of them."""
    a, b = comparison.a.content or b"", comparison.b.content or b""
    model = DiffModel()
    _alive.append(model)
    model.show(plan(a, b, comparison.diff, hides=hides), ("v1", "v2"), only_changes)
    if watched:  # not before: the tester fetches rows while it is told of a reset, and holds that against the model
        QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal, model)
    return model


def differing(a: dict[str, Any], b: dict[str, Any], only_changes: bool = True) -> DiffModel:
    return rows_of(compared(a, b), only_changes)


def walk(model: DiffModel, parent: QModelIndex | None = None, folds: bool = False) -> Iterator[QModelIndex]:
    above = parent if parent is not None else QModelIndex()
    while model.canFetchMore(above):
        model.fetchMore(above)
    for row in range(model.rowCount(above)):
        index = model.index(row, 0, above)
        yield index
        node = model.node(index)
        if node is not None and model.hasChildren(index) and (folds or node.kind != "fold"):
            yield from walk(model, index, folds)


def cell(index: QModelIndex, column: int) -> Cell:
    found = index.siblingAtColumn(column).data(CELL)
    assert isinstance(found, Cell)
    return found


def table(model: DiffModel, folds: bool = False) -> list[tuple[str, str, str, str]]:
    """Operation, field, A, B of every row that is reached."""
    return [
        (cell(i, SYMBOL).change, cell(i, FIELD).text, cell(i, A).text, cell(i, B).text)
        for i in walk(model, folds=folds)
    ]


def marks(found: Cell) -> list[str]:
    return [span.text for span in found.spans if span.mark]


def test_the_story_in_the_pictures_is_told_row_by_row() -> None:
    rider = {"_id": ObjectId("65f0a1c29b1e8a0012c4e41c"), "code": "FLOOD", "premium": Decimal128("36.20")}
    a = {
        "status": "active",
        "premium": {
            "net": Decimal128("412.80"),
            "tax": 1,
            "gross": Decimal128("491.23"),
            "cur": "EUR",
            "discount": 0.05,
        },
        "deductible": 150.0,
        "billing": {"method": "sepa", "interval": "yearly"},
        "holder": {"name": "Marta", "phone": "+49 40 555 0117"},
        "riders": [{"_id": 1}, {"_id": 2}],
    }
    b = {
        "status": "active",
        "premium": {"net": Decimal128("438.60"), "tax": 1, "gross": Decimal128("521.93"), "cur": "EUR"},
        "deductible": Decimal128("150.00"),
        "billing": {"method": "sepa", "interval": "monthly"},
        "holder": {"name": "Marta", "phone": "+49 40 555 0192"},
        "riders": [{"_id": 1}, {"_id": 2}, rider],
    }
    model = differing(a, b)
    assert table(model)[:10] == [
        ("", "premium", "{ 5 fields }", "{ 4 fields }"),
        ("replace", "net", "412.80", "438.60"),
        ("replace", "gross", "491.23", "521.93"),
        ("remove", "discount", "0.05", ""),
        ("retype", "deductible", "150.0", "150.00"),
        ("replace", "billing.interval", '"yearly"', '"monthly"'),
        ("replace", "holder.phone", '"+49 40 555 0117"', '"+49 40 555 0192"'),
        ("", "riders", "[ 2 ]", "[ 3 ]"),
        ("add", "[2]", "", '{ _id: …e41c, code: "FLOOD", premium: 36.20 }'),
        ("", "_id", "", 'ObjectId("65f0a1c29b1e8a0012c4e41c")'),
    ]
    assert table(model)[-1] == ("", "7 unchanged fields", "", "")
    net, discount, deductible, phone = (list(walk(model))[n] for n in (1, 3, 4, 6))
    assert marks(cell(net, A)) == ["12.80"]
    assert marks(cell(net, B)) == ["38.60"]
    assert cell(net, A).ground == cell(net, B).ground == "chgT"
    assert cell(discount, B).hatch
    assert not cell(discount, A).hatch
    assert cell(deductible, TYPE).text == "Double  →  Decimal128"
    assert cell(deductible, TYPE).weight == 500
    assert (marks(cell(phone, A)), marks(cell(phone, B))) == (["17"], ["92"])


def test_unchanged_fields_are_one_counted_row_that_opens_in_document_order() -> None:
    model = differing(
        {"a": 1, "in": {"x": 1, "y": 2}, "list": [1, 2], "z": 0},
        {"a": 1, "in": {"x": 1, "y": 3}, "list": [1, 2], "z": 0},
    )
    assert [row[1] for row in table(model, folds=True)] == [
        "in.y", "4 unchanged fields", "a", "in.x", "list", "[0]", "[1]", "z",
    ]  # fmt: skip


def test_with_all_fields_shown_changes_stand_in_their_places() -> None:
    model = differing(
        {"a": 1, "gone": 1, "b": {"c": 1, "d": 2}}, {"a": 1, "b": {"c": 1, "d": 3}, "new": 0}, only_changes=False
    )
    assert [row[:2] for row in table(model)] == [
        ("", "a"), ("remove", "gone"), ("", "b"), ("", "c"), ("replace", "d"), ("add", "new"),
    ]  # fmt: skip


def test_a_move_is_one_row_that_says_where_it_was() -> None:
    model = differing({"r": [{"_id": i} for i in range(4)]}, {"r": [{"_id": i} for i in (3, 0, 1, 2)]})
    moved = next(i for i in walk(model) if cell(i, SYMBOL).change == "move")
    assert cell(moved, FIELD).text == "[0] was [3]"
    assert cell(moved, A).text == cell(moved, B).text == "{ _id: 3 }"


def test_an_element_that_moved_and_changed_shows_both() -> None:
    before = [{"_id": i, "n": i} for i in range(5)]
    after = [{"_id": 4, "n": 44}, *before[:4]]
    model = differing({"r": before}, {"r": after})
    found = [row[:2] for row in table(model)]
    assert ("move", "[0] was [4]") in found
    assert ("replace", "n") in found


def test_a_reorder_shows_both_orders_and_marks_what_changed_places() -> None:
    model = differing({"o": {"a": 1, "b": 2, "c": 3, "d": 4}}, {"o": {"d": 4, "a": 1, "b": 2, "c": 3}})
    row = next(walk(model))
    assert cell(row, SYMBOL).change == "reorder"
    assert (cell(row, A).text, cell(row, B).text) == ("a, b, c, d", "d, a, b, c")
    assert marks(cell(row, A)) == marks(cell(row, B)) == ["d"]


def test_the_documents_own_order_has_a_row_too() -> None:
    model = differing({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert table(model)[0] == ("reorder", "order of the fields", "a, b", "b, a")


def test_long_texts_are_cut_around_the_first_difference() -> None:
    a, b = "x" * 5000 + " old " + "y" * 5000, "x" * 5000 + " new " + "y" * 5000
    row = next(walk(differing({"t": a}, {"t": b})))
    assert cell(row, A).text.startswith('"…xxx')
    assert marks(cell(row, A)) == ["old"]
    assert marks(cell(row, B)) == ["new"]
    assert cell(row, A).text.endswith("9.8 KB")
    assert len(cell(row, A).text) < 230


def test_texts_above_a_megabyte_are_named_by_their_size_only() -> None:
    row = next(walk(differing({"t": "a" * 1_100_000}, {"t": "b" * 1_100_000})))
    assert cell(row, A).text.startswith("String of 1.0 MB")


def test_line_breaks_show_as_arrows() -> None:
    row = next(walk(differing({"t": "one\ntwo"}, {"t": "one\n2"})))
    assert cell(row, A).text == '"one↵two"'


def test_binaries_show_the_bytes_that_differ() -> None:
    row = next(walk(differing({"t": bytes(200)}, {"t": bytes(150) + b"\x07" + bytes(49)})))
    assert marks(cell(row, B)) == ["07"]


def test_another_type_is_said_in_the_type_column() -> None:
    row = next(walk(differing({"n": 5}, {"n": Int64(5)})))
    assert cell(row, TYPE).text == "Int32  →  Int64"
    assert not marks(cell(row, A))


def test_added_containers_open_and_keep_their_tint() -> None:
    rows = list(walk(differing({}, {"new": {"deep": {"x": 1}}})))
    assert [cell(i, FIELD).text for i in rows] == ["new", "deep", "x"]
    assert {cell(i, B).ground for i in rows} == {"addT"}
    assert all(cell(i, A).hatch for i in rows)


def test_every_cell_says_what_happened_in_words() -> None:
    row = next(walk(differing({"n": 1}, {"n": 2})))
    words = [row.siblingAtColumn(n).data(0x0B) for n in (SYMBOL, FIELD, A, B)]  # AccessibleTextRole
    assert words == ["changed", "n, changed, v1: 1, v2: 2, Int32", "n, v1: 1", "n, v2: 2"]


def test_going_to_a_change_fetches_only_what_is_needed_and_marks_one_row() -> None:
    model = differing({"f": {str(i): i for i in range(3000)}}, {"f": {str(i): -i - 1 for i in range(3000)}})
    index = model.go(450)
    assert cell(index, FIELD).text == '"450"'
    assert cell(index, SYMBOL).bar == "acc"
    parent = index.parent()
    assert 450 < model.rowCount(parent) <= 450 + 2 * CHUNK
    later = model.go(451)
    assert cell(later, SYMBOL).bar == "acc"
    assert cell(index, SYMBOL).bar == ""


def test_a_long_run_of_equal_neighbours_is_folded_where_everything_is_shown() -> None:
    a = {f"f{i}": i for i in range(10_000)}
    model = differing(a, {**a, "f9000": -1}, only_changes=False)
    shown = [cell(i, FIELD).text for i in walk(model)]
    assert "8,900 unchanged fields" in shown
    assert "f9000" in shown
    assert len(shown) < 1000
    fold = next(i for i in walk(model) if cell(i, FIELD).text == "8,900 unchanged fields")
    inside = [cell(i, FIELD).text for i in walk(model, fold)]
    assert inside == [f"f{i}" for i in range(100, 9000)]


def test_bytes_that_are_no_bson_are_shown_as_far_as_they_go() -> None:
    broken = canonical.document([("ok", Value.of(1)), ("bad", Value(canonical.STRING, b"\x63\x00\x00\x00x\x00"))])
    a = canonical.document([("n", Value.of(1)), ("in", Value(canonical.OBJECT, broken))])
    b = canonical.document([("n", Value.of(2)), ("in", Value(canonical.OBJECT, broken))])
    model = rows_of(compared_bytes(a, b), only_changes=False)
    found = table(model)
    assert found[1] == ("", "in", "unreadable Object, 24 B", "unreadable Object, 24 B")
    assert found[2] == ("", "ok", "1", "1")
    assert found[3][1].startswith("The length at byte")


def random_value(dice: random.Random, depth: int) -> Any:
    kind = dice.randrange(8 if depth else 5)
    if kind == 5:
        return [random_value(dice, depth - 1) for _ in range(dice.randrange(5))]
    if kind == 6:
        return [{"_id": n, "v": dice.randrange(3)} for n in dice.sample(range(8), dice.randrange(7))]
    if kind == 7:
        return {name: random_value(dice, depth - 1) for name in dice.sample("abcdef", dice.randrange(6))}
    return [dice.randrange(4), "text", None, Int64(2), 1.5][kind]


@pytest.mark.parametrize("only_changes", [True, False])
@pytest.mark.parametrize("seed", support.every(10, range(60)))
def test_every_operation_has_its_row_and_every_field_its_place(seed: int, only_changes: bool) -> None:
    dice = random.Random(seed)
    a = {name: random_value(dice, 3) for name in dice.sample("uvwxyz", 5)}
    b = {
        name: a[name] if name in a and dice.random() < 0.4 else random_value(dice, 3)
        for name in dice.sample("uvwxyz", 5)
    }
    if a == b:
        return
    comparison = compared(a, b)
    model = rows_of(comparison, only_changes, watched=True)
    operations = comparison.diff.operations
    for n, op in enumerate(operations):
        node = model.node(model.go(n))
        assert node is not None
        assert node.place is not None
        assert op in (node.place.op, node.place.also)
    seen = {id(op) for i in walk(model) if (node := model.node(i)) is not None for op in ops_of(node)}
    assert len(seen) == len(operations)
    for index in walk(model, folds=True):
        node = model.node(index)
        assert node is not None
        check_place(node, comparison)


@pytest.mark.parametrize("only_changes", [True, False])
@pytest.mark.parametrize("seed", support.every(10, range(40)))
def test_whatever_is_hidden_the_other_rows_stay_as_they_are(seed: int, only_changes: bool) -> None:
    dice = random.Random(seed)
    a = {name: random_value(dice, 3) for name in dice.sample("uvwxyz", 5)}
    b = {name: random_value(dice, 3) for name in dice.sample("uvwxyz", 5)}
    comparison = compared(a, b)
    operations = comparison.diff.operations
    if not operations:
        return
    hidden = IgnoredPaths().with_path(dice.choice(operations).path)
    model = rows_of(comparison, only_changes, watched=True, hides=hidden.hides)
    shown = [op for op in operations if not hidden.hides(op)]
    assert model.plan is not None
    assert list(model.plan.changes) == shown
    assert model.plan.hidden == len(operations) - len(shown)
    for n, op in enumerate(shown):
        node = model.node(model.go(n))
        assert node is not None
        assert op in ops_of(node)
    for index in walk(model, folds=True):
        node = model.node(index)
        assert node is not None
        check_place(node, comparison)
        assert node.kind != "change" or any(op in shown for op in ops_of(node))
        assert node.kind != "hidden" or not only_changes


def ops_of(node: DiffNode) -> list[object]:
    return [op for op in (node.place.op, node.place.also) if op is not None] if node.place is not None else []


def check_place(node: DiffNode, comparison: Comparison) -> None:
    """The paths of a row lead to its values; an unchanged row is the same in both."""
    if node.kind == "fold" or not node.path:
        return
    if node.kind == "same":
        assert node.value("a") == node.value("b")
    for side, path, raw in (("a", node.path_a, comparison.a.content), ("b", node.path_b, comparison.b.content)):
        if path is not None and raw is not None:
            assert canonical.get(raw, path) == node.value(side)


def test_the_columns_are_named_after_the_versions() -> None:
    model = differing({"n": 1}, {"n": 2})
    titles = [model.headerData(n, Qt.Orientation.Horizontal) for n in range(5)]
    assert titles == ["", "Field", "A   v1", "B   v2", "Type"]


def twice(*pairs: tuple[str, object]) -> bytes:
    return canonical.document([(name, each if isinstance(each, Value) else Value.of(each)) for name, each in pairs])


@pytest.mark.parametrize("only", [True, False])
def test_a_document_with_a_name_twice_is_shown_as_a_whole_and_no_field_of_it_as_unchanged(only: bool) -> None:
    model = rows_of(compared_bytes(twice(("x", 1)), twice(("x", 1), ("x", 2))), only, watched=True)
    shown = [[str(index.siblingAtColumn(column).data()) for column in (FIELD, A, B)] for index in walk(model)]
    assert shown[0] == ["the whole document", "{ x: 1 }", "{ x: 1, x: 2 }"]
    assert shown[1:] == [["x", "1", "1"], ["x", "", "2"]]
    assert model.node(model.go(0)) is model.node(model.index(0, 0))


def test_each_field_of_a_name_that_stands_twice_is_listed() -> None:
    a, b = (Value.document(twice(("x", 1), ("x", last), ("y", 0))) for last in (5, 2))
    model = rows_of(compared_bytes(twice(("o", a)), twice(("o", b))))
    shown = [[str(index.siblingAtColumn(column).data()) for column in (FIELD, A, B)] for index in walk(model)]
    assert shown[1:] == [["x", "1", "1"], ["x", "5", "2"], ["y", "0", "0"]]


def test_a_large_array_that_became_a_document_opens_without_a_walk_to_its_end() -> None:
    many = 300_000
    model = differing({"a": list(range(many))}, {"a": {"x": many}})
    top = model.index(0, 0)
    begun = time.process_time()
    model.fetchMore(top)
    assert model.rowCount(top) == CHUNK
    assert time.process_time() - begun < 0.05


def test_a_view_is_given_no_further_rows_while_it_takes_some_in() -> None:
    many = CHUNK * 8
    model = differing({f"f{n}": 1 for n in range(many)}, {f"f{n}": 2 for n in range(many)})
    asked: list[bool] = []

    def look(parent: QModelIndex) -> None:
        asked.append(model.canFetchMore(parent))
        if asked[-1]:
            model.fetchMore(parent)  # as a view does, and within that again

    model.rowsInserted.connect(look)
    before = model.rowCount()
    assert model.canFetchMore(QModelIndex())
    model.fetchMore(QModelIndex())
    assert asked == [False]
    assert model.rowCount() > before
    assert model.canFetchMore(QModelIndex()), "it asks again later"
