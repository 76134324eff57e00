"""What three strangers need for their first question, in clicks and keys: a newcomer, a DBA, a support engineer."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from gui.pages.history_pages import BlamePage, FieldPage
from gui.pages.repair_pages import TakingBackPage
from gui.style.cells import CELL
from gui.views.history.blame_panel import BEFORE, BY
from gui.window.window import Window
from model.values import canonical
from model.values.canonical import Value
from tests.gui.menus import choose
from tests.gui.window import hands
from tests.gui.window.windows import ID, NS, collection, press, wait_idle

NET = ("premium", "net")


class Hands:
    """A person's hands, which count what they do."""

    def __init__(self) -> None:
        self.done = 0

    def click(self, widget: QWidget, at: QPoint | None = None) -> None:
        hands.click(widget, at)
        self.done += 1

    def press(self, window: Window, keys: str) -> None:
        press(window, keys)
        self.done += 1


@pytest.mark.deep
def test_a_newcomer_sees_two_versions_compared_with_no_click(window: Window, qtbot: QtBot) -> None:
    page = collection(window)
    wait_idle(qtbot, lambda: page.diff.comparison is not None)
    assert page.diff.isVisible()
    assert page.timeline.strip.isVisible()
    heads = [str(page.diff.model.headerData(at, Qt.Orientation.Horizontal)) for at in range(5)]
    assert all(any(head.startswith(f"{side}   v") and ", by " in head for head in heads) for side in "AB")
    rows = [page.diff.model.index(row, 0) for row in range(page.diff.model.rowCount())]
    assert any(page.diff.table.visualRect(row).bottom() < page.diff.table.viewport().height() for row in rows)


@pytest.mark.deep
@pytest.mark.parametrize("by_key", [True, False])
def test_a_dba_sees_who_changed_each_field_after_one_click_or_key(window: Window, qtbot: QtBot, by_key: bool) -> None:
    page, person = collection(window), Hands()
    wait_idle(qtbot, lambda: page.diff.comparison is not None)
    if by_key:
        person.press(window, "Ctrl+Shift+B")
    else:
        person.click(hands.button(page.timeline, "Blame"))
    wait_idle(qtbot, lambda: isinstance(window.workspace.page, BlamePage))
    blame = window.workspace.page
    assert isinstance(blame, BlamePage)
    model = blame.panel.model
    (net,) = [at for at, row in enumerate(model.rows) if row.path == NET]
    assert model.index(net, BY).data(CELL).text == "rk-204"
    assert model.index(net, BEFORE).data(CELL).text
    assert person.done == 1


@pytest.mark.deep
def test_a_support_engineer_takes_back_what_somebody_did_to_the_price_in_six_steps(
    window: Window, qtbot: QtBot
) -> None:
    """Who changed the price, when, from which value, and back with it."""
    session, page, person = window.sessions[-1], collection(window), Hands()
    wait_idle(qtbot, lambda: page.diff.comparison is not None)
    before = session.history.version(NS, Value.of(ID))
    model = page.diff.model
    nodes = (model.node(model.go(number)) for number in range(model.count))
    node = next(each for each in nodes if each is not None and each.path == NET)
    choose(page.diff.menu(node), "History of premium.net")
    person.done += 2  # the menu and its entry
    wait_idle(qtbot, lambda: isinstance(window.workspace.page, FieldPage))
    field = window.workspace.page
    assert isinstance(field, FieldPage)
    wait_idle(qtbot, lambda: bool(field.panel.model.rows))
    newest = field.panel.model.rows[0].made
    assert newest.version.author
    assert newest.version.at
    assert newest.before is not None
    person.click(field.panel.take_back_button)  # the newest change is chosen
    wait_idle(qtbot, lambda: isinstance(window.workspace.page, TakingBackPage))
    taking = window.workspace.page
    assert isinstance(taking, TakingBackPage)
    wait_idle(qtbot, taking.panel.go.isEnabled)
    assert taking.panel.fields.text() == "premium.net"
    person.click(taking.panel.go)
    wait_idle(qtbot, lambda: len(taking.panel.model.ends) == 1)
    after = session.history.version(NS, Value.of(ID))
    assert after.v != before.v
    assert canonical.get(after.content or b"", NET) == newest.before.value
    assert person.done <= 6
