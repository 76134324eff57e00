"""A window started with a source: its first frame waits for no page, and opening can be stopped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QStackedWidget
from pytestqt.qtbot import QtBot

from gui.pages.collection_page import CollectionPage
from gui.window import opening, workspace
from gui.window.open_windows import OpenWindows
from gui.window.opening import OpeningPage
from gui.window.welcome_panel import WelcomePanel
from gui.window.window import Window
from tests.gui.window.windows import wait_idle

NOBODY = "mongodb://127.0.0.1:9/?serverSelectionTimeoutMS={patience}"


@pytest.fixture
def windows() -> Iterator[OpenWindows]:
    made = OpenWindows()
    yield made
    for window in list(made.all):
        window.close_quietly()


@pytest.fixture
def started(windows: OpenWindows, qtbot: QtBot) -> Window:
    window = windows.open(source_follows=True)
    with qtbot.waitSignal(window.drawn):
        window.activateWindow()
    return window


def in_front(window: Window) -> object:
    stack = window.workspace.findChild(QStackedWidget)
    return stack.currentWidget() if stack is not None else None


def stop_button(window: Window) -> QPushButton | None:
    seen = (each for each in window.findChildren(QPushButton) if each.text() == "Stop" and each.isVisible())
    return next(seen, None)


def test_a_window_that_gets_a_source_never_makes_the_welcome_page(
    started: Window, windows: OpenWindows, qtbot: QtBot
) -> None:
    assert isinstance(in_front(started), OpeningPage)
    windows.serve({"source": "sample:"})
    assert isinstance(in_front(started), OpeningPage)
    wait_idle(qtbot, lambda: started.workspace.page is not None)
    assert not started.findChildren(WelcomePanel)


def test_a_source_that_opens_soon_is_not_announced_and_its_first_page_is_drawn_whole(
    windows: OpenWindows, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "PATIENCE", 60_000)
    monkeypatch.setattr(workspace, "PATIENCE", 60_000)
    window = windows.open(source_follows=True)
    with qtbot.waitSignal(window.drawn):
        window.activateWindow()
    page = in_front(window)
    assert isinstance(page, OpeningPage)
    windows.serve({"source": "sample:"})
    assert not window.workspace.updatesEnabled()
    assert window.title.updatesEnabled()  # the frame is drawn all the same
    qtbot.waitUntil(window.workspace.updatesEnabled, timeout=30_000)
    assert page.state is None
    front = window.workspace.page
    assert isinstance(front, CollectionPage)
    assert front.browser.page is not None
    assert front.diff.comparison is not None


def test_a_source_that_takes_longer_is_announced(started: Window, windows: OpenWindows, qtbot: QtBot) -> None:
    windows.serve({"source": NOBODY.format(patience=5_000)})
    page = in_front(started)
    assert isinstance(page, OpeningPage)
    qtbot.waitUntil(lambda: page.state is not None and page.state.title.startswith("Connecting to "))
    assert started.workspace.updatesEnabled()


def test_stop_has_the_focus_and_leads_to_the_welcome_page(started: Window, windows: OpenWindows, qtbot: QtBot) -> None:
    windows.serve({"source": NOBODY.format(patience=5_000)})
    qtbot.waitUntil(lambda: stop_button(started) is not None and stop_button(started).hasFocus())
    qtbot.keyClick(started.focusWidget(), Qt.Key.Key_Space)
    assert in_front(started) is started.workspace.welcome
    assert started.focusWidget() is started.workspace.welcome.sample
    assert started.workspace.welcome.busy.isHidden()
    assert not started.sessions


@pytest.mark.deep
def test_a_source_that_cannot_be_opened_is_mended_at_the_welcome_page(
    started: Window, windows: OpenWindows, qtbot: QtBot, tmp_path: Path
) -> None:
    (tmp_path / "broken.bson").write_bytes(b"this is not BSON at all")
    windows.serve({"source": str(tmp_path / "broken.bson")})
    wait_idle(qtbot, lambda: not isinstance(in_front(started), OpeningPage))
    welcome = started.workspace.welcome
    assert welcome.trouble.isVisible()
    assert "broken.bson" in welcome.trouble.text()
    assert welcome.uri.text() == str(tmp_path / "broken.bson")


@pytest.mark.deep
def test_the_welcome_page_that_is_asked_for_meanwhile_says_what_is_being_opened(
    started: Window, windows: OpenWindows, qtbot: QtBot
) -> None:
    windows.serve({"source": NOBODY.format(patience=5_000)})
    started.actions_.trigger("welcome")
    welcome = started.workspace.welcome
    assert in_front(started) is welcome
    assert welcome.busy.isVisible()
    QTest.mouseClick(welcome.busy._stop, Qt.MouseButton.LeftButton)
    assert welcome.busy.isHidden()
    wait_idle(qtbot)


def test_only_the_window_that_gets_the_source_begins_without_the_welcome_page(
    windows: OpenWindows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gui.style.preferences.remembered", lambda key, default: 2 if key == "windows" else default)
    windows.restore(source_follows=True)
    assert [len(window.findChildren(WelcomePanel)) for window in windows.all] == [0, 1]
