"""Two collections side by side in the window: from the palette's action to the comparison of one pair."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QStyle, QStyleOptionFrame
from pytestqt.qtbot import QtBot

from gui.pages.collections_page import CollectionsPage
from gui.pages.page_request import PageRequest
from gui.pages.pair_page import PairPage
from gui.pages.repair_pages import TakingBackPage
from gui.style import theme
from gui.views.compare.collections_panel import CollectionsPanel
from gui.views.repair.taking_back_panel import TakingBackPanel
from gui.window.opening import Opening
from gui.window.window import Window
from model.session import Session
from model.values import canonical as c
from model.values.canonical import Value
from tests.gui.window.windows import new_window, open_source, wait_idle, window_over

LEFT = Qt.MouseButton.LeftButton


@pytest.mark.deep
def test_two_collections_are_compared_and_a_pair_opens(qtbot: QtBot, database: Any, server_uri: str) -> None:
    database["l"].insert_many([{"_id": n, "n": n} for n in (1, 2, 3)])
    database["r"].insert_many([{"_id": n, "n": n if n != 2 else 7} for n in (2, 3, 4)])
    database["l"].create_index("n", sparse=True)
    here, there = f"{database.name}.l", f"{database.name}.r"
    window = new_window(qtbot)
    session = open_source(qtbot, window, Opening(server_uri))
    window.workspace.open(session, PageRequest("collection", here))
    wait_idle(qtbot, lambda: window.workspace.page is not None)
    window.actions_.trigger("two-collections")
    page = window.workspace.page
    assert isinstance(page, CollectionsPage)
    panel = page.panel
    panel.collection.setText("")
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
    assert panel.setup.text() == "Index { n: 1 }, sparse is only here."
    assert panel.setup.isVisible()
    panel.list.activated.emit(panel.model.index(1, 0))
    wait_idle(qtbot, lambda: isinstance(window.workspace.page, PairPage))
    pair = window.workspace.page
    assert isinstance(pair, PairPage)
    wait_idle(qtbot, lambda: pair.panel.diff.comparison is not None)
    assert (pair.panel.left.ns, pair.panel.right.ns) == (here, there)


@pytest.fixture
def contracts(qtbot: QtBot, database: Any, server_uri: str, tmp_path: Path) -> tuple[Window, str, str]:
    """A window over two archives: A is only in the first, B is ahead there, C diverged, D is only in the second."""
    here, there = f"{database.name}.l", f"{database.name}.r"
    profile = tmp_path / "profile.toml"
    profile.write_text(
        "".join(f'[[collection]]\nns = "{ns}"\nlayout = "archive"\narchive = "{ns}_past"\n' for ns in (here, there))
    )
    with Session.open(server_uri, profile, home=tmp_path / "other") as session:
        for ns in (here, there):
            session.catalogue.layout(ns).create_index()
        for ns, id, values in (
            (here, "A", (1, 2)), (here, "B", (1, 2, 3)), (there, "B", (1, 2)), (here, "C", (1, 2)),
            (there, "C", (1, 9)), (there, "D", (1,)),
        ):  # fmt: skip
            assert session.writing.create(ns, c.encode({"n": values[0]}), Value.of(id)).kind == "applied"
            for n in values[1:]:
                assert session.edit(ns, Value.of(id), {"n": n}).kind == "applied"
    return window_over(qtbot, server_uri, here, profile), here, there


def compared(qtbot: QtBot, window: Window, other: str) -> CollectionsPanel:
    """The panel of the comparison with another collection, once all is read."""
    window.actions_.trigger("two-collections")
    page = window.workspace.page
    assert isinstance(page, CollectionsPage)
    page.panel.collection.setText(other)
    page.panel.run.click()
    wait_idle(qtbot, lambda: bool(page.panel.model.rows) and not page.panel.reading.is_on)
    return page.panel


def copied(qtbot: QtBot, window: Window, panel: CollectionsPanel, way: int) -> TakingBackPanel:
    """The plan that copies what is ticked, after its dry run."""
    panel.ways.aboutToShow.emit()
    panel.ways.actions()[way].trigger()
    wait_idle(qtbot, lambda: isinstance(window.workspace.page, TakingBackPage))
    page = window.workspace.page
    assert isinstance(page, TakingBackPage)
    wait_idle(qtbot, lambda: len(page.panel.model.drawn) == len(page.panel.model.rows))
    return page.panel


def test_what_an_empty_field_means_is_read_whole(qtbot: QtBot, contracts: tuple[Window, str, str]) -> None:
    window, _, _ = contracts
    theme.apply("light", "normal")
    window.actions_.trigger("two-collections")
    page = window.workspace.page
    assert isinstance(page, CollectionsPage)
    for field in (page.panel.key, page.panel.filter):
        inside = QStyleOptionFrame()
        field.initStyleOption(inside)
        room = field.style().subElementRect(QStyle.SubElement.SE_LineEditContents, inside, field).width()
        said = field.fontMetrics().horizontalAdvance(field.placeholderText())
        assert said + 4 <= room, field.placeholderText()  # Qt keeps two pixels free at either end


def test_a_filter_compares_what_matches_and_is_named(
    qtbot: QtBot, database: Any, contracts: tuple[Window, str, str]
) -> None:
    window, _, there = contracts
    window.actions_.trigger("two-collections")
    page = window.workspace.page
    assert isinstance(page, CollectionsPage)
    panel = page.panel
    panel.collection.setText(there)
    panel.filter.setText("{n: {$gte: 3")
    panel.run.click()
    wait_idle(qtbot, lambda: not panel.reading.is_on)
    assert panel.states.kind != "content"
    panel.filter.setText("{n: {$gte: 3}}")
    QTest.keyClick(panel.filter, Qt.Key.Key_Return)
    wait_idle(qtbot, lambda: len(panel.model.rows) == 2 and not panel.reading.is_on)
    assert [(row.key.python(), row.change) for row in panel.model.rows] == [("B", "ahead"), ("C", "diverged")]
    assert panel.said.text() == (
        "0 the same, 1 ahead, 1 diverged. 2 of these match the filter on one side only. "
        "Compared where {n: {$gte: 3}} matches on either side."
    )


def stored(database: Any) -> dict[str, list[dict[str, Any]]]:
    """All documents, without their ids, by collection."""
    names = ("l", "l_past", "r", "r_past")
    return {name: sorted(database[name].find(), key=lambda doc: str(doc)) for name in names}


def test_what_is_ticked_is_copied_with_its_history_and_undone(
    qtbot: QtBot, database: Any, contracts: tuple[Window, str, str]
) -> None:
    window, here, there = contracts
    panel = compared(qtbot, window, there)
    before = stored(database)
    assert panel.all.text() == "0 of 4 documents ticked"
    assert not panel.copy.isEnabled()
    QTest.mouseClick(panel.all, LEFT)
    assert panel.all.text() == "4 of 4 documents ticked"
    panel.ways.aboutToShow.emit()
    assert [each.text().partition(" of ")[0] for each in panel.ways.actions()] == [f"To {there}", f"To {here}"]
    plan = copied(qtbot, window, panel, 0)
    said = {row.id.python(): plan.model.said(row)[2] for row in plan.model.rows}
    assert said == {"A": "Would be copied", "B": "Would be copied", "C": "Would be copied", "D": "Cannot be copied"}
    cells = {row.id.python(): plan.kind.cells(row, plan.model.drawn.get(row.id))[0] for row in plan.model.rows}
    assert cells == {"A": "Its history: v1, v2", "B": "Its history: v3", "C": "Its content, as an edit", "D": ""}
    assert plan.model.detail(plan.model.rows[3]) == "D was not copied. It is missing here, so there is nothing to copy."
    assert stored(database) == before
    database["r"].update_one({"_id": "C"}, {"$set": {"n": 10}})  # by a program that keeps no history
    QTest.mouseClick(plan.go, LEFT)
    wait_idle(qtbot, lambda: len(plan.model.ends) == 3)
    ends = {id.python(): end for id, end in plan.model.ends.items()}
    assert {id: end.kind for id, end in ends.items()} == {"A": "applied", "B": "applied", "C": "conflict"}
    assert ends["C"].detail == "C moved on there since the plan."
    assert {doc["_id"]: doc["n"] for doc in database["r"].find()} == {"A": 2, "B": 3, "C": 10, "D": 1}
    assert sorted((doc["docId"], doc["n"]) for doc in database["r_past"].find()) == [
        ("A", 1), ("B", 1), ("B", 2), ("C", 1)
    ]  # fmt: skip
    database["r"].update_one({"_id": "C"}, {"$set": {"n": 9}})
    plan.undo(plan.run)
    wait_idle(qtbot, lambda: not plan.model.ends and not plan.reading.is_on)
    assert stored(database) == before


@pytest.mark.deep
def test_what_only_the_other_side_has_is_copied_back(
    qtbot: QtBot, database: Any, contracts: tuple[Window, str, str]
) -> None:
    window, here, there = contracts
    panel = compared(qtbot, window, there)
    panel.model.tick([row for row in panel.model.rows if row.change == "only there"], on=True)
    plan = copied(qtbot, window, panel, 1)
    assert window.workspace.page is not None
    assert window.workspace.page.ns == here
    QTest.mouseClick(plan.go, LEFT)
    wait_idle(qtbot, lambda: len(plan.model.ends) == 1)
    assert database["l"].find_one({"_id": "D"})["n"] == 1


def test_nothing_is_compared_while_either_server_is_silent(
    qtbot: QtBot, contracts: tuple[Window, str, str], tmp_path: Path
) -> None:
    window, here, there = contracts
    own, dump = window.sessions[0], tmp_path / "shop" / "r.bson"
    dump.parent.mkdir()
    dump.write_bytes(c.encode({"_id": 1, "n": 1}))
    other = open_source(qtbot, window, Opening(str(dump)))
    window.workspace.open(own, PageRequest("collection", here))
    wait_idle(qtbot)
    panel = compared(qtbot, window, there)
    QTest.mouseClick(panel.all, LEFT)
    page = window.workspace.page
    assert isinstance(page, CollectionsPage)
    page.hear_silence([own])
    assert not panel.run.isEnabled()
    assert not panel.copy.isEnabled()
    assert panel.run.toolTip().endswith("does not answer now, so nothing can be read.")
    page.hear_silence([other])
    assert panel.run.isEnabled(), "that one is not compared"
    assert panel.copy.isEnabled()
    panel.connection.setCurrentIndex(window.sessions.index(other))
    assert not panel.run.isEnabled()
    assert other.name in panel.run.toolTip()
    assert panel.copy.isEnabled(), "what is on show comes from elsewhere"
    page.hear_silence([])
    panel.collection.setText("shop.r")
    panel.run.click()
    wait_idle(qtbot, lambda: bool(panel.model.rows) and not panel.reading.is_on)
    assert page.sessions == (own, other)
    QTest.mouseClick(panel.all, LEFT)
    page.hear_silence([other])
    assert not panel.copy.isEnabled()


def test_the_list_is_read_again_once_documents_were_copied(
    qtbot: QtBot, database: Any, contracts: tuple[Window, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    window, _, there = contracts
    panel = compared(qtbot, window, there)
    page = window.workspace.page
    assert page is not None
    panel.model.tick([row for row in panel.model.rows if row.key in (Value.of("A"), Value.of("D"))], on=True)
    panel.list.setCurrentIndex(panel.model.index(1, 1))
    panel.collection.setText("what is typed stays")
    plan = copied(qtbot, window, panel, 0)
    QTest.mouseClick(plan.go, LEFT)
    wait_idle(qtbot, lambda: bool(plan.model.ends) and not page.is_behind and not panel.reading.is_on)
    qtbot.waitUntil(lambda: [row.key.python() for row in panel.model.rows] == ["B", "C", "D"] and not page.is_behind)
    assert [row.key.python() for row in panel.model.ticked] == ["D"], "what was not copied stays ticked"
    assert panel.model.rows[panel.list.currentIndex().row()].key == Value.of("B")
    assert panel.said.text() == "1 the same, 1 ahead, 1 diverged, 1 only there."
    monkeypatch.setattr("gui.views.compare.collections_panel.FEW", 0)
    rows = list(panel.model.rows)
    plan.undo(plan.run)
    wait_idle(qtbot, lambda: not plan.model.ends and not plan.reading.is_on and "written since" in panel.said.text())
    assert panel.model.rows == rows, "of many documents, it is only said"
