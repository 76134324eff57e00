"""Answers that come late, or not at all: what is shown, and what is done with it, stay of one document."""

from __future__ import annotations

import threading

import pytest
from pytestqt.qtbot import QtBot

from model.canonical import Value
from tests.gui.test_diffview import Shown
from tests.gui.told import ID, UNREACHABLE, number

OTHER = Value.of("K-118240")


@pytest.fixture
def shown(qtbot: QtBot) -> Shown:
    made = Shown(qtbot, {"a": 1, "b": 1}, {"a": 2, "b": 2})
    made.compare(1, 2)
    return made


def _wait(gate: threading.Event) -> None:
    assert gate.wait(10)


def test_what_is_still_being_compared_is_not_shown_once_nothing_is_chosen_any_more(shown: Shown) -> None:
    gate = threading.Event()
    shown.source.on_compare = lambda: _wait(gate)
    shown.panel.compare(ID, shown.one(1), shown.one(2))
    shown.panel.clear()
    gate.set()
    shown.settle()
    assert shown.panel.comparison is None
    assert shown.panel.model.rowCount() == 0


@pytest.mark.parametrize("end", ["stopped", "unreachable"])
def test_hiding_a_field_after_another_document_did_not_come_leaves_the_rows_to_their_own(
    shown: Shown, end: str
) -> None:
    source, panel = shown.source, shown.panel
    source.histories[OTHER] = source.histories[ID]
    gate = threading.Event()
    source.on_compare = lambda: _wait(gate)
    source.fails = UNREACHABLE if end == "unreachable" else None
    panel.compare(OTHER, shown.one(2), shown.one(1))
    if end == "stopped":
        panel._stop()
    gate.set()
    shown.settle()
    source.fails = None
    panel.hide_path(("b",))
    shown.settle()
    assert panel.comparison is not None
    assert [panel.comparison.a.v, panel.comparison.b.v] == [number(1), number(2)]
    assert panel.id == ID  # what "Restore from A" writes to
