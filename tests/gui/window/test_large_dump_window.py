"""The window on a dump too large for memory: the first documents at once, the others after reading."""

from __future__ import annotations

import threading
from pathlib import Path

import bson
import pytest
from pytestqt.qtbot import QtBot

from gui import tasks
from gui.pages.collection_page import CollectionPage
from gui.pages.page_request import PageRequest
from gui.window.opening import Opening
from gui.window.window import Window
from model.localserver import dumps, large_file
from tests.gui.window.windows import new_window, open_source, wait_idle

PATIENCE = 20_000


@pytest.fixture
def window(qtbot: QtBot) -> Window:
    return new_window(qtbot)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(dumps, "IN_MEMORY", 0)
    monkeypatch.setattr(large_file, "HEAD_MOST", 20)
    monkeypatch.setattr(large_file, "CHUNK", 500)
    path = tmp_path / "shop" / "things.bson"
    path.parent.mkdir()
    path.write_bytes(b"".join(bson.encode({"_id": n, "name": f"thing {n}"}) for n in range(300)))
    return path


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Holds the reading back until it is set."""
    opened = threading.Event()
    go_on = large_file.LargeFile.go_on

    def held(self: large_file.LargeFile, step: large_file.Step) -> object:
        def checked(done: int, total: int) -> None:
            while not opened.wait(0.01):
                step(done, total)  # may stop it
            step(done, total)

        return go_on(self, checked)

    monkeypatch.setattr(large_file.LargeFile, "go_on", held)
    return opened


def texts(window: Window) -> list[str]:
    return [line.text for line in window.messages.lines]


def press(window: Window, name: str) -> None:
    button = next(b for line in window.messages.lines for b in line.buttons if b.text() == name)
    button.click()


def page_of(qtbot: QtBot, window: Window) -> CollectionPage:
    window.workspace.open(window.sessions[-1], PageRequest("collection", "shop.things"))
    page = window.workspace.page
    assert isinstance(page, CollectionPage)
    qtbot.waitUntil(lambda: page.browser.model.rowCount() > 0, timeout=PATIENCE)
    return page


def opened(qtbot: QtBot, window: Window, file: Path) -> None:
    window.open(Opening(str(file)))
    qtbot.waitUntil(lambda: any("is being read" in said for said in texts(window)), timeout=PATIENCE)


def test_the_first_documents_are_shown_while_a_large_dump_is_read(
    qtbot: QtBot, window: Window, file: Path, gate: threading.Event
) -> None:
    opened(qtbot, window, file)
    page = page_of(qtbot, window)
    assert page.browser.model.rowCount() == 20
    gate.set()
    qtbot.waitUntil(lambda: not window.sessions[-1].dump.unread, timeout=PATIENCE)
    wait_idle(qtbot, lambda: page.browser.model.rowCount() > 20)
    assert not any("is being read" in said for said in texts(window))


def test_the_reading_can_be_stopped_and_gone_on_with(
    qtbot: QtBot, window: Window, file: Path, gate: threading.Event
) -> None:
    opened(qtbot, window, file)
    press(window, "Stop reading")
    qtbot.waitUntil(lambda: any("was stopped" in said for said in texts(window)), timeout=PATIENCE)
    wait_idle(qtbot, lambda: not tasks.tasks.running)
    assert window.sessions[-1].dump.unread
    gate.set()
    press(window, "Read on")
    qtbot.waitUntil(lambda: not window.sessions[-1].dump.unread, timeout=PATIENCE)
    wait_idle(qtbot, lambda: not tasks.tasks.running)
    assert texts(window) == []


def test_a_dump_that_is_cut_off_says_so_in_the_window(qtbot: QtBot, window: Window, file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-3])
    open_source(qtbot, window, Opening(str(file)))
    qtbot.waitUntil(lambda: any("is cut off: document 300," in said for said in texts(window)), timeout=PATIENCE)
    page = page_of(qtbot, window)
    qtbot.waitUntil(lambda: page.browser.model.rowCount() > 20, timeout=PATIENCE)
