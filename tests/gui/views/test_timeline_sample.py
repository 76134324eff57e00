"""Timeline and diff view over the sample data, as the pictures tell them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from gui.parts.differences.diff_model import FIELD, TYPE, A, B
from gui.parts.values.value_pane import StoredDialog
from gui.tasks import tasks
from gui.views.compare.diff_panel import DiffPanel
from gui.views.timeline.timeline_panel import TimelinePanel
from model.session import Session
from model.values.canonical import Value

MARTA = Value.of("K-204117")


@pytest.fixture(scope="module")
def sample() -> Iterator[Session]:
    with Session.open("sample:") as session:
        yield session


class Both:
    """Timeline and diff view, wired as a collection's page wires them."""

    def __init__(self, qtbot: QtBot, session: Session, ns: str) -> None:
        self.qtbot = qtbot
        self.timeline, self.diff = TimelinePanel(session, ns), DiffPanel(session, ns)
        for panel in (self.timeline, self.diff):
            qtbot.addWidget(panel)
            panel.resize(1167, 320)
            panel.show()
        self.timeline.compared.connect(self._compare)
        self.timeline.loaded.connect(self.diff.set_ab_choices)
        self.diff.ab_chosen.connect(self.timeline.set_ab)

    def _compare(self, a: object, b: object) -> None:
        assert self.timeline.id is not None
        self.diff.compare(self.timeline.id, a, b)  # type: ignore[arg-type]

    def show(self, id: Value) -> None:
        """Show a document and wait for all of it."""
        with self.qtbot.waitSignal(self.timeline.loaded):
            self.timeline.show_document(id)
        self.settle()

    def settle(self) -> None:
        """Wait until nothing runs."""
        self.qtbot.waitUntil(lambda: not tasks.running)

    def rows(self) -> list[tuple[str, ...]]:
        """Field, A, B and type of the rows that are open."""
        table, model = self.diff.table, self.diff.model
        found, index = [], model.index(0, 0)
        while index.isValid():
            found.append(tuple(str(index.siblingAtColumn(n).data()) for n in (FIELD, A, B, TYPE)))
            index = table.indexBelow(index)
        return found


def test_the_contract_in_the_pictures_looks_as_in_the_pictures(qtbot: QtBot, sample: Session) -> None:
    both = Both(qtbot, sample, "insurance.contracts")
    both.show(MARTA)
    model = both.timeline.model
    assert model.summary() == "14 versions, 11 kept, 3 missing"
    assert [(mark.name, mark.under) for mark in reversed(model.marks)] == [
        ("v1", "12 Mar 24"), ("v2", "28 Mar 24"), ("v3", "02 Jul 24"), ("v4–v6 missing", "retention or loss"),
        ("v7", "09 Jan 25"), ("v8", "14 Feb 25"), ("v9", "hash differs"), ("v10", "22 Aug 25"), ("v11", "03 Nov 26"),
        ("v12", "14 Nov 26"), ("v13", "19 Nov 26"), ("v14", "current"),
    ]  # fmt: skip
    assert [mark.newest.changed for mark in model.marks[:3]] == [2, 2, 3]
    both.timeline.set_ab(Value.of(11), Value.of(14))
    both.settle()
    assert both.diff.counts.words == ["1 added", "1 removed", "4 changed", "1 retyped"]
    headers = [both.diff.model.headerData(n, Qt.Orientation.Horizontal) for n in (A, B)]
    assert headers == ["A   v11, 03 Nov 2026 10:14, by rk-204", "B   v14, current, 20 Nov 2026 14:26, by rk-204"]
    rows = both.rows()
    assert rows[:-1] == [
        ("holder.phone", '"+49 40 555 0117"', '"+49 40 555 0192"', "String"),
        ("premium", "{ 5 fields }", "{ 4 fields }", "Object"),
        ("net", "412.80", "438.60", "Decimal128"),
        ("gross", "491.23", "521.93", "Decimal128"),
        ("discount", "0.05", "", "Double"),
        ("deductible", "150.0", "150.00", "Double  →  Decimal128"),
        ("billing.interval", '"yearly"', '"monthly"', "String"),
        ("riders", "[ 2 ]", "[ 3 ]", "Array"),
        ("[2]", "", '{ _id: …e41c, code: "FLOOD", premium: 36.20 }', "Object"),
    ]
    assert rows[-1][0].endswith("unchanged fields")


@pytest.mark.parametrize(
    "ns",
    [
        *("claims", "contracts", "stats"),
        *(
            pytest.param(name, marks=pytest.mark.deep)
            for name in ("customers", "invoices", "partners", "policy_feed", "tariffs", "agents")
        ),
    ],
)
def test_every_layout_can_be_looked_at(qtbot: QtBot, sample: Session, ns: str) -> None:
    both = Both(qtbot, sample, f"insurance.{ns}")
    rows = sample.documents.page(f"insurance.{ns}", limit=3).rows
    assert rows
    for row in rows:
        both.show(row.id)
        assert both.timeline.model.marks
        assert both.diff._stack.kind in ("content", "empty")
        both.timeline.by_time.click()
        both.timeline.grab()
        both.timeline.as_list.setChecked(True)
        both.timeline.grab()
        both.diff.only.setChecked(False)
        both.diff.grab()
        both.diff.only.setChecked(True)
        both.timeline.as_list.setChecked(False)
        both.timeline.by_version.click()


@pytest.mark.deep
def test_every_type_of_bson_can_be_shown(qtbot: QtBot, sample: Session) -> None:
    both = Both(qtbot, sample, "reporting.bson_types")
    for row in sample.documents.page("reporting.bson_types", limit=50).rows:
        both.show(row.id)
        both.diff.only.setChecked(False)
        for n in range(both.diff.model.rowCount()):
            both.diff.table.setCurrentIndex(both.diff.model.index(n, FIELD))
            both.diff._open_value()
            both.settle()
        both.diff.grab()


def test_the_boxes_move_the_flags(qtbot: QtBot, sample: Session) -> None:
    both = Both(qtbot, sample, "insurance.contracts")
    both.show(MARTA)
    both.diff.box_a.activated.emit(both.diff.choices.row_of(Value.of(8)))
    both.settle()
    a, b = both.timeline.chosen()
    assert a is not None
    assert b is not None
    assert (a.v, b.v) == (Value.of(8), Value.of(14))
    both.diff.swap.click()
    both.settle()
    assert both.diff.model.titles[0].startswith("v14, current")


def test_a_stored_version_opens_in_a_dialog(qtbot: QtBot, sample: Session) -> None:
    both = Both(qtbot, sample, "insurance.contracts")
    both.show(MARTA)
    row = both.timeline.model.row_of(Value.of(11))
    assert row is not None
    menu = both.timeline.menu(row)
    assert menu is not None
    next(action for action in menu.actions() if action.text() == "Show as stored…").trigger()
    dialog = both.timeline.findChild(StoredDialog)
    assert dialog is not None
    qtbot.waitUntil(lambda: '"docId"' in dialog.pane.sides.left.text.toPlainText())
    dialog.reject()
    menu.deleteLater()
