"""Plans over the versions of documents in a window: from the sheet to what the database holds, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.pages.repair_pages import TakingBackPage
from gui.views.repair.erasing_sheet import ErasingSheet
from gui.views.repair.retention_sheet import RetentionSheet
from gui.views.repair.taking_back_panel import TakingBackPanel
from gui.window.window import Window
from model.session import Session
from model.values import canonical as c
from model.values.canonical import Value
from tests.gui.window.windows import sheet, wait_idle, window_over

LEFT = Qt.MouseButton.LeftButton
IDS = "A", "B", "C"


@pytest.fixture
def ns(database: Any) -> str:
    return f"{database.name}.products"


@pytest.fixture
def window(qtbot: QtBot, server_uri: str, database: Any, ns: str, tmp_path: Path) -> Window:
    """Three products in an archive, with three versions each; C is held."""
    profile = tmp_path / "profile.toml"
    profile.write_text(f'[[collection]]\nns = "{ns}"\nlayout = "archive"\narchive = "{ns}_past"\n')
    with Session.open(server_uri, profile, home=tmp_path / "other") as session:
        session.catalogue.layout(ns).create_index()
        for id in IDS:
            assert session.writing.create(ns, c.encode({"n": 1, "held": id == "C"}), Value.of(id)).kind == "applied"
            for n in (2, 3):
                assert session.edit(ns, id, set={"n": n}).kind == "applied"
    return window_over(qtbot, server_uri, ns, profile)


def past(database: Any) -> dict[str, list[int]]:
    """The numbers in the archive, for each product."""
    rows = list(database["products_past"].find())
    key = "docId" if rows and "docId" in rows[0] else "of"
    return {id: sorted(row["n"] for row in rows if row[key] == id) for id in IDS}


def plan_of(qtbot: QtBot, window: Window) -> TakingBackPanel:
    """The panel of the plan that has just opened, after its dry run."""
    wait_idle(qtbot, lambda: isinstance(window.workspace.page, TakingBackPage))
    page = window.workspace.page
    assert isinstance(page, TakingBackPage)
    wait_idle(qtbot, lambda: len(page.panel.model.drawn) == len(page.panel.model.rows))
    return page.panel


def said(panel: TakingBackPanel) -> dict[str, str]:
    """What stands at each document."""
    return {str(row.id.python()): panel.model.said(row)[2] for row in panel.model.rows}


def test_earlier_versions_go_by_a_rule_and_come_back(qtbot: QtBot, window: Window, database: Any) -> None:
    before = past(database)
    window.actions_.trigger("retain")
    asked = sheet(window)
    assert isinstance(asked, RetentionSheet)
    assert not asked.show_plan.isEnabled()
    QTest.keyClicks(asked.keep, "0")
    asked.show_plan.click()
    assert asked.trouble.text() == "0 is not a number of versions; at least the current one stays."
    asked.keep.setText("2")
    asked.hold.setText("{ held: true }")
    asked.show_plan.click()
    panel = plan_of(qtbot, window)
    assert said(panel) == {"A": "Would be removed", "B": "Would be removed", "C": "All versions stay"}
    assert panel.report.text().startswith("2 would lose versions     1 keep all versions     ")
    assert panel.report.text().endswith(" would be won")
    assert panel.changes.count == 1
    assert past(database) == before
    QTest.mouseClick(panel.go, LEFT)
    wait_idle(qtbot, lambda: len(panel.model.ends) == 2)
    assert past(database) == {"A": [2], "B": [2], "C": [1, 2]}
    panel.undo(panel.run)
    wait_idle(qtbot, lambda: not panel.model.ends)
    assert past(database) == before


def test_fields_are_erased_for_good_once_it_is_seen_where_they_lie(
    qtbot: QtBot, window: Window, database: Any, tmp_path: Path
) -> None:
    before = list(database["products"].find()) + list(database["products_past"].find())
    window.actions_.trigger("erase")
    asked = sheet(window)
    assert isinstance(asked, ErasingSheet)
    name = asked.proof.accessibleName().removeprefix("Type ")
    assert not asked.look.isEnabled()
    asked.paths.setText("_id")
    asked.look.click()
    wait_idle(qtbot)
    assert asked.trouble.isVisible()
    asked.paths.setText("nothing.here")
    asked.look.click()
    wait_idle(qtbot)
    assert asked.found.text() == f"{name} has none of these fields anywhere."
    QTest.keyClicks(asked.proof, name)
    assert not asked.erase.isEnabled(), "nothing is there to erase"
    asked.paths.setText("n")
    assert not asked.erase.isEnabled(), "nobody has seen where it lies"
    asked.look.click()
    wait_idle(qtbot)
    assert asked.found.text().splitlines() == [
        "Would be erased:",
        f"1 in {database.name}.products (the current document)",
        f"2 in {database.name}.products_past (archive)",
    ]
    assert list(database["products"].find()) + list(database["products_past"].find()) == before
    asked.proof.setText(name.lower())
    assert not asked.erase.isEnabled()
    asked.proof.setText(name)
    QTest.mouseClick(asked.erase, LEFT)
    wait_idle(qtbot, lambda: asked.certificate is not None)
    assert asked.found.text().splitlines()[0] == "Erased:"
    assert ": 0 found." in asked.found.text()
    assert "n" not in database["products"].find_one({"_id": name})
    assert database["products"].count_documents({"n": 3}) == len(IDS) - 1
    file = tmp_path / "certificate.json"
    asked.save_to(str(file))
    wait_idle(qtbot, file.exists)
    written = json.loads(file.read_text())
    assert (written["id"], written["paths"], written["found again"]) == (name, ["n"], 0)
    QTest.keyClick(asked, Qt.Key.Key_Escape)
    assert not asked.isVisible()


def test_a_hash_that_fits_nothing_is_told_before_and_after_an_erasure(
    qtbot: QtBot, server_uri: str, database: Any, ns: str, tmp_path: Path
) -> None:
    profile = tmp_path / "profile.toml"
    profile.write_text(f'[[collection]]\nns = "{ns}"\nlayout = "archive"\narchive = "{ns}_past"\nhash = "seal"\n')
    database["products_past"].create_index([("docId", 1), ("v", 1)], unique=True)
    database["products"].insert_one({"_id": "A", "v": 1, "n": 1, "seal": "0" * 40})
    window = window_over(qtbot, server_uri, ns, profile)
    window.actions_.trigger("erase")
    asked = sheet(window)
    assert isinstance(asked, ErasingSheet)
    asked.paths.setText("n")
    asked.look.click()
    wait_idle(qtbot)
    where = f"1 in {ns} (the current document)"
    misfit = "Hashes that do not fit their contents, and would stay as they are:"
    assert asked.found.text().splitlines() == ["Would be erased:", where, misfit, where]
    asked.proof.setText("A")
    QTest.mouseClick(asked.erase, LEFT)
    wait_idle(qtbot, lambda: asked.certificate is not None)
    assert asked.found.text().splitlines()[2:4] == [
        "Hashes that did not fit before, and stay for a scan to tell:",
        where,
    ]
    assert database["products"].find_one() == {"_id": "A", "v": 1, "seal": "0" * 40}
