"""The question before a restore: a comparison with a tick per field; only ticked fields are restored."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.parts.differences.diff_model import FIELD
from gui.views.compare.restore_sheet import RestoreSheet, units
from gui.window.window import Window
from model import text
from model.diff import diff
from model.session import Session
from model.values import canonical
from model.values.canonical import Path, Value
from tests.gui.window.windows import ID, NS, collection, new_window, open_sample, sheet, told, wait_idle

KEY = Value.of(ID)


@pytest.fixture
def window(qtbot: QtBot) -> Window:
    made = new_window(qtbot)
    open_sample(qtbot, made)
    return made


def asked(window: Window, qtbot: QtBot, v: str, paths: list[Path] | None = None) -> RestoreSheet:
    session = window.sessions[0]
    collection(window).writes.restore(KEY, session.catalogue.reading.find_version(NS, KEY, v), paths)
    wait_idle(qtbot, lambda: bool(window.findChildren(RestoreSheet)))
    found = sheet(window)
    assert isinstance(found, RestoreSheet)
    return found


def row_of(made: RestoreSheet, name: str) -> int:
    return next(row for row in range(made.model.rowCount()) if made.model.index(row, FIELD).data() == name)


def content(session: Session, v: str = "") -> bytes:
    found = session.history.version(NS, KEY, session.catalogue.reading.find_version(NS, KEY, v) if v else None).content
    assert found is not None
    return found


def test_only_the_ticked_fields_come_back(window: Window, qtbot: QtBot) -> None:
    session = window.sessions[0]
    now, old = content(session), content(session, "11")
    made = asked(window, qtbot, "11")
    assert made.verb.text() == "Restore 7 changes"
    assert made.all.text() == "7 of 7 fields ticked"
    made.all.click()
    assert not made.verb.isEnabled()
    made.table.setFocus()
    for name in ("billing.interval", "riders"):
        index = made.model.index(row_of(made, name), FIELD)
        if name == "riders":
            index = made.model.index(0, FIELD, index.siblingAtColumn(0))
        made.table.setCurrentIndex(index)
        QTest.keyClick(made.table, Qt.Key.Key_Space)
        assert "ticked" in index.data(Qt.ItemDataRole.AccessibleTextRole)
    assert made.verb.text() == "Restore 2 changes"
    made.verb.click()
    wait_idle(qtbot, lambda: any("v15" in said for said in told(window)))
    after = content(session)
    assert canonical.get(after, ("billing", "interval")) == canonical.get(old, ("billing", "interval"))
    assert canonical.get(after, ("riders",)) == canonical.get(old, ("riders",))
    for path in (("premium",), ("deductible",), ("holder",)):
        assert canonical.get(after, path) == canonical.get(now, path)


@pytest.mark.deep
def test_with_every_tick_the_whole_version_comes_back(window: Window, qtbot: QtBot) -> None:
    session = window.sessions[0]
    old = content(session, "11")
    made = asked(window, qtbot, "11")
    made.all.click()
    made.all.click()
    made.verb.click()
    wait_idle(qtbot, lambda: any("v15" in said for said in told(window)))
    assert canonical.without(content(session), ("changedBy", "changedAt")) == canonical.without(
        old, ("changedBy", "changedAt")
    )


@pytest.mark.deep
def test_a_single_field_is_asked_for_without_ticks(window: Window, qtbot: QtBot) -> None:
    made = asked(window, qtbot, "11", [("billing", "interval")])
    assert not made.all.isVisible()
    assert made.verb.text() == "Restore 1 change"
    made.reject()


def test_what_can_only_come_back_together_has_one_tick() -> None:
    a = text.loose("{a: 1, l: [{x: 1}, {x: 2}], o: {p: 1, q: 2, r: 3}, gone: 1}")
    b = text.loose("{a: 2, l: [{x: 5}, {x: 6}], o: {r: 3, q: 9, p: 1}}")
    found = units(diff(a, b))
    assert set(found.values()) == {("a",), ("l",), ("o",), ("gone",)}
    assert units(diff(a, b), [("l", 0), ("l", 1)])[("l", 1, "x")] == ("l", 1)
