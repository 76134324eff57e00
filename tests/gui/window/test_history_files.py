"""Histories exported to files from the window, and imported again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from gui.pages.collection_page import CollectionPage
from gui.pages.page_request import PageRequest
from gui.views.browse.history_in_sheet import HistoryInSheet, HistoryPlaceSheet
from gui.views.browse.history_out_sheet import HistoryOutSheet
from gui.window.window import Window
from model.server import guards
from tests.gui.window.test_batches import message, undo
from tests.gui.window.windows import collection, new_window, open_sample, sheet, wait_idle

NS = "insurance.partners"


@pytest.fixture
def window(qtbot: QtBot) -> Window:
    made = new_window(qtbot)
    open_sample(qtbot, made)
    made.workspace.open(collection(made).session, PageRequest("collection", NS))
    wait_idle(qtbot)
    return made


def history(page: CollectionPage, ns: str) -> list[tuple[object, ...]]:
    """The versions of the chosen document, in one collection or another."""
    assert page.id is not None
    return [(each.v, each.at, each.hash, each.author) for each in page.session.history.versions(ns, page.id)]


@pytest.mark.deep
def test_a_history_goes_out_to_git_and_comes_back_into_another_collection(
    window: Window, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, folder = collection(window), tmp_path / "g"
    folder.mkdir()
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    page.browser.list.setCurrentIndex(page.browser.model.index(0, 0))
    wait_idle(qtbot)
    window.actions_.by_id["export-document-history"].trigger()
    out = sheet(window)
    assert isinstance(out, HistoryOutSheet)
    out.forms["git"].click()
    message(window, f"{len(history(page, NS))} versions of 1 document written to {folder}", qtbot)
    done = subprocess.run(["git", "-C", str(folder), "log", "--format=%s"], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == len(history(page, NS))

    window.actions_.by_id["import-history"].trigger()
    place = sheet(window)
    assert isinstance(place, HistoryPlaceSheet)
    place.place.setText("nowhere")
    assert not place.folder.isEnabled(), "that is not a collection"
    place.place.setText("insurance.again")
    place.folder.click()
    asked = sheet(window)
    assert isinstance(asked, HistoryInSheet)
    qtbot.waitUntil(lambda: asked.go.isEnabled())
    assert asked.report.text().startswith("1 document of 1 would be imported")
    asked.go.click()
    line = message(window, "1 document imported", qtbot)
    assert history(page, "insurance.again") == history(page, NS)
    undo(line)
    message(window, "Undone", qtbot)
    assert page.session.documents.count("insurance.again")[0] == 0


@pytest.mark.deep
def test_a_report_on_a_span_is_written_and_a_wrong_time_is_not_taken(
    window: Window, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "r.html"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(file), ""))
    window.actions_.by_id["export-history"].trigger()
    asked = sheet(window)
    assert isinstance(asked, HistoryOutSheet)
    asked.since.setText("some day")
    assert not asked.forms["report"].isEnabled()
    asked.since.setText("2020-01-01")
    asked.forms["report"].click()
    message(window, "The report is in", qtbot)
    assert "since 20" in file.read_text(encoding="utf-8")


@pytest.mark.deep
def test_an_export_that_is_stopped_leaves_no_file(window: Window, qtbot: QtBot, tmp_path: Path) -> None:
    page, file = collection(window), tmp_path / "all.jsonl"
    page.histories.write(str(file), "jsonl")
    (line,) = [line for line in window.messages.lines if line.text.startswith("Exporting the history of ")]
    (stop,) = [each for each in line.buttons if each.text() == "Stop"]
    stop.click()
    message(window, "The export of the history", qtbot)
    assert not file.exists()
    (tmp_path / "letter.txt").write_text("dear")
    page.histories.write(str(tmp_path), "folder")
    message(window, f"{tmp_path} is not empty", qtbot)


@pytest.mark.deep
def test_an_import_that_the_server_cannot_take_back_says_so_and_offers_no_undo(
    window: Window, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, path = collection(window), tmp_path / "h.jsonl"
    page.browser.list.setCurrentIndex(page.browser.model.index(0, 0))
    wait_idle(qtbot)
    for _ in page.session.exchange.export_history(NS, path, "jsonl", page.id):
        pass
    monkeypatch.setattr(guards, "abilities", lambda *_: guards.Abilities())  # as of a server without $expr
    asked = page.batches.read_history("insurance.again", str(path))
    qtbot.waitUntil(lambda: asked.go.isEnabled())
    asked.go.click()
    line = message(window, "1 document imported", qtbot)
    assert "of this cannot be undone on this server. This server cannot count fields" in line.text
    assert not [made for made in line.buttons if made.text().startswith("Undo")]
