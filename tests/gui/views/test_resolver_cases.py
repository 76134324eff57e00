"""The merge cases in the window: it shows exactly the decisions, and saves what the model computes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from gui.style.cells import CELL, Cell
from gui.views.merge.decision_table import BASE, DECISION, FIELD, MINE, SYMBOL, THEIRS
from gui.views.merge.resolution import Resolution, drawn
from gui.views.merge.resolver_panel import ResolverPanel
from model import text
from model.errors import Refused
from model.values import canonical
from model.values.canonical import Value
from model.writing.edit import Conflict
from tests import support
from tests.gui.document_scenes import ID, NS, Desk, shown

CALLED = {"base": "one", "mine": "my", "theirs": "their"}
CASES: list[dict[str, Any]] = json.loads((support.CASES / "merge.json").read_text("utf-8"))


def met(home: Path, case: dict[str, Any]) -> tuple[Desk, Conflict]:
    base, mine, theirs = (text.loose(case[side]) for side in ("base", "mine", "theirs"))
    desk = Desk(home, base)
    opened = desk.version(NS, ID)
    desk.move(lambda _: theirs)
    return desk, desk.conflict(NS, ID, opened, mine)


def named(name: str) -> dict[str, Any]:
    return next(case for case in CASES if case["name"] == name)


def panel_of(qtbot: QtBot, home: Path, case: dict[str, Any]) -> ResolverPanel:
    desk, conflict = met(home, case)
    made = ResolverPanel(desk.as_session(), NS, ID, conflict)
    shown(qtbot, made, 1392, 795)
    return made


def cell(panel: ResolverPanel, row: int, column: int) -> Cell:
    found = panel.rows.index(row, column).data(CELL)
    assert isinstance(found, Cell)
    return found


@pytest.mark.parametrize("case", support.every(20, CASES), ids=lambda case: str(case["name"]))
def test_each_decision_has_its_row_and_the_result_is_the_models(case: dict[str, Any], qtbot: QtBot, home: Path) -> None:
    _, conflict = met(home, case)
    if conflict.merge is None or not conflict.merge.decisions:
        return  # nothing to resolve: the window says so before it opens a merge
    panel = panel_of(qtbot, home, case)
    decisions = conflict.merge.decisions
    rows = panel.rows.rowCount() - 1  # the last one counts what is unchanged
    assert sorted(cell(panel, row, FIELD).text for row in range(rows)) == sorted(one.place for one in decisions)
    waiting = [row for row in range(rows) if cell(panel, row, SYMBOL).change == "conflict"]
    assert waiting == list(range(len(case.get("conflicts", []))))
    for row in range(rows):
        panel.table.go(row, MINE)
        assert panel.bar.said.accessibleName().startswith(cell(panel, row, FIELD).text)
    panel.show_json(True)
    if not waiting:
        assert text.from_text(panel.json.toPlainText()) == text.loose(case["merged"])
        return
    merge = conflict.merge
    for one in merge.conflicts:
        merge = merge.choose(one, "theirs")
    panel.choose_all("theirs")
    assert text.from_text(panel.json.toPlainText()) == merge.document()


@pytest.mark.parametrize(
    ("name", "symbol", "words"),
    [
        ("a type that one side changed", "retype", "Only you"),
        ("an order that one side changed", "reorder", "Only you"),
        ("a keyed element moved and changed", "move", "Only you"),
        ("moves that agree", "move", "Both: they fit together"),
        ("different lines of a text", "text", "Both: they fit together"),
        ("a rename beside another change", "remove", 'Only you; it may have become "x"'),
        ("contradictory orders", "conflict", "both reordered it"),
    ],
)
def test_what_was_done_is_shown_as_such(name: str, symbol: str, words: str, qtbot: QtBot, home: Path) -> None:
    panel = panel_of(qtbot, home, named(name))
    rows = range(panel.rows.rowCount() - 1)
    assert (symbol, words) in [(cell(panel, row, SYMBOL).change, cell(panel, row, DECISION).text) for row in rows]


def test_what_changed_places_is_marked_in_an_order(qtbot: QtBot, home: Path) -> None:
    panel = panel_of(qtbot, home, named("an order that one side changed"))
    spans = cell(panel, 0, MINE).spans
    assert 0 < sum(bool(span.mark) for span in spans) < len(spans)


def test_a_conflict_takes_one_key(qtbot: QtBot, home: Path) -> None:
    """Resolving is choosing: as many steps as the model has conflicts, however long the array is."""
    before = [{"_id": n, "v": n} for n in range(40)]
    sides = ([{**one, "v": one["v"] + by} if one["_id"] == 7 else one for one in before] for by in (100, 200))
    base, mine, theirs = (Value.of({"a": array}).data for array in (before, *sides))
    desk = Desk(home, base)
    opened = desk.version(NS, ID)
    desk.move(lambda _: theirs)
    resolution = Resolution(desk.conflict(NS, ID, opened, mine))
    assert [resolution.decision(row).place for row in range(len(resolution.rows))] == ["a[7].v"]
    resolution.choose(0, "mine")
    assert resolution.document() == mine


def test_fields_in_another_order_are_still_unchanged_ones(qtbot: QtBot, home: Path) -> None:
    case = {"base": "{a: 1, b: 2, c: 3, d: 4}", "mine": "{d: 4, a: 1, b: 2, c: 3}"}
    case["theirs"] = "{a: 9, b: 2, c: 3, d: 4}"
    panel = panel_of(qtbot, home, case)
    qtbot.waitUntil(lambda: panel.rows.unchanged is not None)
    assert panel.rows.index(panel.rows.rowCount() - 1, FIELD).data(CELL).text == "3 unchanged"
    model = panel.tree.model()
    origin = {}
    for row in range(model.rowCount()):
        told = [model.index(row, column).data(CELL) for column in range(model.columnCount())]
        origin[told[1].text] = told[-1].text
    assert origin == {"d": "unchanged", "a": "from the database", "b": "unchanged", "c": "unchanged"}


def tags(*elements: str) -> bytes:
    return canonical.encode({"tags": list(elements), "n": 1})


def two_inserts(home: Path) -> Resolution:
    """Mine and theirs put an element in front of the same array; the element behind it was typed anew meanwhile."""
    desk = Desk(home, tags("a", "b"))
    opened = desk.version(NS, ID)
    desk.move(lambda _: tags("y", "a", "b"))
    made = Resolution(desk.conflict(NS, ID, opened, tags("x", "a", "b")))
    assert made.preview() == tags("x", "a", "b")  # with one of both as a stand-in
    made.type_value(("tags", 1), Value.of("A"), None)
    return made


def test_a_typed_value_stays_with_its_element_when_a_choice_moves_it(home: Path) -> None:
    made = two_inserts(home)
    made.choose(0, "both")
    assert made.document() == tags("x", "y", "A", "b")
    made.choose(0, "base")
    assert made.document() == tags("A", "b")
    assert made.undo()
    assert made.document() == tags("x", "y", "A", "b")
    assert made.undo()
    assert made.preview() == tags("x", "A", "b")


def test_a_value_typed_while_the_result_of_a_choice_is_still_worked_out_stays_with_its_element(home: Path) -> None:
    made = two_inserts(home)
    made.undo()
    seen = drawn(made).merge
    made.choose(0, "both")
    made.type_value(("tags", 1), Value.of("A"), None, seen)  # where the a stood in what was still shown
    assert made.document() == tags("x", "y", "A", "b")
    made.choose(0, "mine")
    made.undo()
    seen = drawn(made).merge
    made.choose(0, "mine")
    with pytest.raises(Refused, match=r"tags\[1\] is gone after later choices"):
        made.type_value(("tags", 1), Value.of("Y"), None, seen)


@pytest.mark.parametrize(
    ("chosen", "made"),
    [
        ("", tags("Z", "A", "b")),
        ("mine", tags("Z", "A", "b")),
        ("both", tags("Z", "y", "A", "b")),
        ("base", tags("Z", "b")),
    ],
)
def test_an_element_that_both_inserted_differently_can_be_typed(home: Path, chosen: str, made: bytes) -> None:
    resolution = two_inserts(home)
    if chosen:
        resolution.choose(0, chosen)
    resolution.type_value(("tags", 0), Value.of("Z"), drawn(resolution).places.get(("tags", 0)))
    assert resolution.document() == made


def test_a_typed_value_goes_with_an_element_that_a_choice_takes_away_and_comes_back_with_undo(home: Path) -> None:
    made = two_inserts(home)
    made.choose(0, "both")
    made.type_value(("tags", 1), Value.of("Y"), None)
    made.choose(0, "mine")
    assert made.document() == tags("x", "A", "b")
    assert made.undo()
    assert made.document() == tags("x", "Y", "A", "b")


def test_a_typed_value_stays_with_its_element_when_the_database_moves_again(home: Path) -> None:
    made = two_inserts(home)
    desk = Desk(home, tags("a", "b"))
    opened = desk.version(NS, ID)
    desk.move(lambda _: tags("a", "b", "z"))
    after, _ = made.carried(desk.conflict(NS, ID, opened, tags("p", "q", "a", "b")))
    assert after.document() == tags("p", "q", "A", "b", "z")


@pytest.mark.deep
def test_an_order_of_thousands_of_elements_is_named_where_it_changed(qtbot: QtBot, home: Path) -> None:
    def ordered(first: int) -> bytes:
        numbers = list(range(10_000))
        numbers[first], numbers[6000] = numbers[6000], numbers[first]
        return canonical.encode({"a": [{"_id": n} for n in numbers]})

    desk = Desk(home, canonical.encode({"a": [{"_id": n} for n in range(10_000)]}))
    opened = desk.version(NS, ID)
    desk.move(lambda _: ordered(5001))
    panel = ResolverPanel(desk.as_session(), NS, ID, desk.conflict(NS, ID, opened, ordered(5000)))
    shown(qtbot, panel, 1392, 795)
    cell = panel.rows.index(0, MINE).data(CELL)
    assert cell.text.startswith("[ … 4999, 6000, 5001, 5002, ")
    assert cell.text.endswith("… 4,941 more ]")
    assert [span.text for span in cell.spans if span.mark] == ["6000"]
    begun = time.process_time()
    for _ in range(10):
        panel.table.viewport().grab()
    assert (time.process_time() - begun) / 10 < 0.05  # the window's beat; every name anew took 0.16 s


def test_long_values_are_cut_around_what_differs_or_the_sides_would_look_the_same(qtbot: QtBot, home: Path) -> None:
    same = "the same words over and over, " * 20
    case = {side: json.dumps({"said": f"{same}{word} way"}) for side, word in CALLED.items()}
    panel = panel_of(qtbot, home, case)
    seen = {side: cell(panel, 0, column).spans for side, column in (("mine", MINE), ("theirs", THEIRS))}
    assert [[span.text for span in spans if span.mark] for spans in seen.values()] == [["my"], ["their"]]
    for spans in (*seen.values(), cell(panel, 0, BASE).spans):
        assert "".join(span.text for span in spans).startswith('"…')
    assert CALLED["base"] in cell(panel, 0, BASE).text


def test_the_whole_values_of_a_row_open_below_and_follow_the_row(qtbot: QtBot, home: Path) -> None:
    case = {side: json.dumps({"said": f"{word} way", "too": f"{word} time"}) for side, word in CALLED.items()}
    panel = panel_of(qtbot, home, case)
    panel.table.go(0, FIELD)
    qtbot.keyClick(panel.table, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: panel.value.sides.left.text.toPlainText() == "my way")
    assert panel.value.sides.right.text.toPlainText() == "their way"
    assert panel.resolution.decision(0).open  # nothing is taken by looking
    panel.table.go(1, FIELD)
    qtbot.waitUntil(lambda: panel.value.sides.left.text.toPlainText() == "my time")
    qtbot.keyClick(panel.table, Qt.Key.Key_Escape)
    assert not panel.value.isVisible()


def test_elements_that_both_appended_are_told_apart(qtbot: QtBot, home: Path) -> None:
    case = {"base": "{a: []}", "mine": "{a: [{sku: 'lamp'}]}", "theirs": "{a: [{sku: 'lens'}]}"}
    panel = panel_of(qtbot, home, case)
    said = [cell(panel, 0, column).text for column in (MINE, THEIRS)]
    assert said == ['[{"sku": "lamp"}]', '[{"sku": "lens"}]']
    assert [span.text for span in cell(panel, 0, MINE).spans if span.mark] == ["amp"]


def test_a_move_against_a_removal_is_said(qtbot: QtBot, home: Path) -> None:
    panel = panel_of(qtbot, home, named("a moved element deleted by the other"))
    assert "the database removed it, you moved it" in cell(panel, 0, DECISION).text
    panel.table.go(0, MINE)
    assert panel.bar.said.accessibleName() == "a[0]: someone else removed it, you moved it."
