"""Two collections side by side in the window: from the palette's action to the comparison of one pair."""

from __future__ import annotations

from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from gui.pages.collections_page import CollectionsPage
from gui.pages.page_request import PageRequest
from gui.pages.pair_page import PairPage
from gui.window.opening import Opening
from tests.gui.window.windows import new_window, open_source, wait_idle


@pytest.mark.deep
def test_two_collections_are_compared_and_a_pair_opens(qtbot: QtBot, database: Any, server_uri: str) -> None:
    database["l"].insert_many([{"_id": n, "n": n} for n in (1, 2, 3)])
    database["r"].insert_many([{"_id": n, "n": n if n != 2 else 7} for n in (2, 3, 4)])
    here, there = f"{database.name}.l", f"{database.name}.r"
    window = new_window(qtbot)
    session = open_source(qtbot, window, Opening(server_uri))
    window.workspace.open(session, PageRequest("collection", here))
    wait_idle(qtbot, lambda: window.workspace.page is not None)
    window.actions_.trigger("two-collections")
    page = window.workspace.page
    assert isinstance(page, CollectionsPage)
    panel = page.panel
    assert not panel.run.isEnabled()
    panel.collection.setText(f"{there}_not")
    panel.run.click()
    wait_idle(qtbot, lambda: not panel.reading.is_on)
    assert panel.states.kind != "content"  # there is no such collection
    panel.collection.setText(there)
    panel.run.click()
    wait_idle(qtbot, lambda: len(panel.model.rows) == 3 and not panel.reading.is_on)
    found = [(row.key.python(), row.change) for row in panel.model.rows]
    assert found == [(1, "only here"), (2, "changed"), (4, "only there")]
    assert panel.said.text() == "1 the same, 1 only here, 1 changed, 1 only there."
    panel.list.activated.emit(panel.model.index(1, 0))
    wait_idle(qtbot, lambda: isinstance(window.workspace.page, PairPage))
    pair = window.workspace.page
    assert isinstance(pair, PairPage)
    wait_idle(qtbot, lambda: pair.panel.diff.comparison is not None)
    assert (pair.panel.left.ns, pair.panel.right.ns) == (here, there)
