"""The first page."""

from __future__ import annotations

import datetime as dt
from functools import partial

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from gui import language
from gui.style import theme, wording
from gui.window.opening import Opening
from gui.window.sidebar import WIDTH
from gui.window.things_box import ThingsBox
from gui.window.welcome_panel import WelcomeLine, WelcomePanel
from gui.window.window import Window
from model.errors import Refused
from model.things_to_try import THINGS
from model.userdata.connections import SavedConnection
from tests.gui.window.windows import wait_idle

NOW = dt.datetime.now(dt.UTC)
SAVED = (
    SavedConnection("staging", "mongodb://stg-db-1/", last_used=NOW),
    SavedConnection("production", "mongodb+srv://claims.db.example/", True, True, NOW - dt.timedelta(days=1)),
    SavedConnection("dump", "/dumps/2026", last_used=NOW - dt.timedelta(days=2)),
)


@pytest.fixture
def panel(qtbot: QtBot) -> WelcomePanel:
    made = WelcomePanel()
    qtbot.addWidget(made)
    made.resize(1440, 830)
    made.show()
    return made


def test_with_no_recent_connection_the_left_begins_at_connect(panel: WelcomePanel) -> None:
    panel.set_recent([])
    assert not panel._recent_card.isVisible()
    assert panel.uri.isVisible()


def test_recent_connections_are_listed_with_what_matters(panel: WelcomePanel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wording, "recently", partial(wording.recently, now=NOW))  # midnight may come meanwhile
    panel.set_recent(SAVED)
    assert [line.text() for line in panel.recent] == ["staging", "production", "dump"]
    assert [line.badge[0] if line.badge else "" for line in panel.recent] == ["", "read-only", "file"]
    assert panel.recent[1].accessibleDescription() == "yesterday"


def test_a_recent_connection_opens_as_it_was_saved(panel: WelcomePanel, qtbot: QtBot) -> None:
    panel.set_recent(SAVED)
    with qtbot.waitSignal(panel.open_asked) as asked:
        panel.recent[1].click()
    assert asked.args == [Opening("mongodb+srv://claims.db.example/", "production", True, True)]


def test_five_things_lead_into_the_sample(panel: WelcomePanel, qtbot: QtBot) -> None:
    assert [line.text() for line in panel.things] == [thing.title for thing in THINGS]
    assert len(panel.things) == 5
    with qtbot.waitSignal(panel.thing_asked) as asked:
        panel.things[2].click()
    assert asked.args == [THINGS[2]]


def test_connect_waits_for_an_address(panel: WelcomePanel, qtbot: QtBot) -> None:
    assert not panel.connect_button.isEnabled()
    qtbot.keyClicks(panel.uri, "mongodb://localhost")
    assert panel.connect_button.isEnabled()
    with qtbot.waitSignal(panel.open_asked) as asked:
        qtbot.keyClick(panel.uri, Qt.Key.Key_Return)
    assert asked.args == [Opening("mongodb://localhost")]


def test_a_bare_host_is_an_address_too(panel: WelcomePanel, qtbot: QtBot) -> None:
    qtbot.keyClicks(panel.uri, "db.example:27018")
    with qtbot.waitSignal(panel.open_asked) as asked:
        panel.connect_button.click()
    assert asked.args == [Opening("mongodb://db.example:27018")]


def test_another_protocol_is_refused_below_the_line_and_stays_typed(panel: WelcomePanel, qtbot: QtBot) -> None:
    qtbot.keyClicks(panel.uri, "postgres://db")
    qtbot.keyClick(panel.uri, Qt.Key.Key_Return)
    assert panel.trouble.isVisible()
    assert panel.trouble.text() == "An address begins with mongodb:// or mongodb+srv://."
    assert panel.uri.text() == "postgres://db"
    qtbot.keyClicks(panel.uri, "x")
    assert not panel.trouble.isVisible()


def test_while_connecting_there_is_a_stop(panel: WelcomePanel, qtbot: QtBot) -> None:
    opening = Opening("mongodb://db")
    panel.begin(opening, "Connecting to db")
    assert panel.busy.isVisible()
    with qtbot.waitSignal(panel.stop_asked) as asked:
        panel.busy._stop.click()
    assert asked.args == [opening]
    panel.end()
    assert not panel.busy.isVisible()


@pytest.mark.parametrize("saved", [(), SAVED], ids=["no connections", "connections"])
def test_what_is_said_while_connecting_and_after_it_moves_nothing(
    panel: WelcomePanel, qtbot: QtBot, saved: tuple[SavedConnection, ...]
) -> None:
    panel.set_recent(saved)

    def places() -> list[QPoint]:
        panel.grab()  # lays out what is to be laid out
        return [part.mapTo(panel, QPoint()) for part in parts]

    parts = [panel.dump, panel.more, panel.uri, panel.sample, *panel.recent, *panel.things]
    parts += [] if saved else panel.read.findChildren(WelcomeLine)
    qtbot.waitUntil(lambda: all(part.isVisible() for part in parts))
    before = places()
    panel.begin(Opening("mongodb://db"), "Connecting to db")
    assert places() == before
    panel.fail(Opening("mongodb://db"), Refused("There is no server at db."))
    assert panel.trouble.isVisible()
    assert places() == before


def test_every_line_and_button_can_be_reached_and_has_a_name(panel: WelcomePanel) -> None:
    panel.set_recent(SAVED)
    for part in [*panel.recent, *panel.things, panel.sample, panel.dump, panel.more, panel.uri]:
        assert part.focusPolicy() & Qt.FocusPolicy.TabFocus
        assert part.accessibleName() or part.text()


def test_with_no_recent_connection_there_is_something_to_read(panel: WelcomePanel, qtbot: QtBot) -> None:
    panel.set_recent([])
    lines = panel.read.findChildren(WelcomeLine)
    assert [line.text() for line in lines] == ["Start here", "What can be opened", "Layouts"]
    with qtbot.waitSignal(panel.topic_asked) as asked:
        lines[1].click()
    assert asked.args == ["sources"]
    panel.set_recent(SAVED)
    assert not panel.read.isVisible()


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space])
def test_enter_opens_the_connection_used_last(panel: WelcomePanel, qtbot: QtBot, key: Qt.Key) -> None:
    panel.setFocus()
    panel.set_recent(SAVED)  # as they are read a moment later
    with qtbot.waitSignal(panel.open_asked) as asked:
        qtbot.keyClick(focused(panel), key)
    assert asked.args == [Opening("mongodb://stg-db-1/", "staging")]
    panel.set_recent([])  # as after it was forgotten
    assert focused(panel) is panel.sample


def test_what_is_typed_anywhere_on_the_page_is_an_address(panel: WelcomePanel, qtbot: QtBot) -> None:
    panel.set_recent(SAVED)
    for begin in (panel.recent[1], panel.sample, panel.things[0]):
        panel.clear()
        begin.setFocus()
        for letter in "db:2":
            qtbot.keyClick(focused(panel), letter)
        assert panel.uri.text() == "db:2"
        assert panel.uri.hasFocus()
    panel.sample.setFocus()
    QApplication.clipboard().setText("7017")
    qtbot.keyClick(panel.sample, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert panel.uri.text() == "db:27017"
    with qtbot.waitSignal(panel.open_asked) as asked:
        qtbot.keyClick(focused(panel), Qt.Key.Key_Return)
    assert asked.args == [Opening("mongodb://db:27017")]


def focused(panel: WelcomePanel) -> QWidget:
    """The widget that keys go to."""
    found = panel.window().focusWidget()
    assert found is not None
    return found


def test_the_sample_begins_with_the_things_to_try_beside_what_is_open_until_they_are_closed(
    window: Window, qtbot: QtBot
) -> None:
    things = window.workspace.sidebar.things
    assert [line.text() for line in things.lines] == [thing.title for thing in THINGS]
    assert things.isVisible()
    things.lines[1].click()
    wait_idle(qtbot, lambda: window.workspace.page is not None and window.workspace.page.kind == "map")
    window.resize(1440, 640)
    qtbot.waitUntil(lambda: not things.isVisible())  # the collections need the room
    window.resize(1440, 900)
    qtbot.waitUntil(things.isVisible)
    things.close_button.click()
    assert not things.isVisible()
    window.workspace.sidebar.remove_session(window.sessions[-1])
    window.workspace.sidebar.add_session(window.sessions[-1])
    assert not things.isVisible()


@pytest.mark.parametrize("code", ["en", "de"])
def test_no_thing_to_try_is_cut_in_a_small_window_or_in_the_sidebar(qtbot: QtBot, code: str) -> None:
    language.choose(code)
    try:
        panel, box = WelcomePanel(), ThingsBox()
        panel.resize(1024, 700)
        box.resize(theme.px(WIDTH) - 1, 300)
        for part in (panel, box):
            qtbot.addWidget(part)
            part.show()
        panel.grab()
        lines = panel.findChildren(WelcomeLine)
        assert len(lines) >= len(THINGS)
        assert not [line.text() for line in lines if line.toolTip()]  # with the words that were cut
        metrics = QFontMetricsF(theme.font(13))
        assert not [line.text() for line in box.lines if metrics.horizontalAdvance(line.text()) > line.width() - 51]
    finally:
        language.choose("en")


def test_keys_are_named_as_in_the_menus_of_the_language(qtbot: QtBot) -> None:
    language.choose("de")
    language.install()
    try:
        panel = WelcomePanel()
        qtbot.addWidget(panel)
        assert [line._remark for line in panel.things[:3]] == ["Strg+D", "Strg+Umschalt+B", "Strg+S"]
    finally:
        language.choose("en")
        language.install()
