"""The next start of a program that died: what was edited is named, and the tabs come back as after a quit."""

from __future__ import annotations

import datetime as dt

import pytest
from pytestqt.qtbot import QtBot

from gui.pages.page_request import PageRequest
from gui.style import preferences
from gui.window.startup_recovery import LEFT
from gui.window.window import Window
from model.foundation.records import Draft
from model.userdata.drafts import Drafts
from model.values import canonical
from model.values.canonical import Value
from tests.gui.window.windows import ID, NS, new_window, open_sample, told, wait_idle

TABS = "tabs/sample:"


def keep_draft(id: str) -> None:
    content = canonical.encode({"status": "edited"})
    Drafts().keep(Draft("sample:", NS, Value.of(id), None, canonical.EMPTY, content, dt.datetime.now(dt.UTC)))


def test_kept_edits_are_named_at_the_next_start_until_their_source_is_open(qtbot: QtBot) -> None:
    keep_draft(ID)
    keep_draft("K-204118")
    window = new_window(qtbot)
    wait_idle(qtbot, lambda: bool(window.messages.lines))
    assert window.workspace.at_welcome
    assert told(window) == ["2 edits were kept; open the sample to go on."]
    window.messages.lines[0].buttons[0].click()
    wait_idle(qtbot, lambda: bool(window.sessions))
    assert "2 edits were kept; open the sample to go on." not in told(window)
    window.close_quietly()
    again = new_window(qtbot)  # a person who closed the window knows of them
    wait_idle(qtbot)
    assert not told(again)


def test_kept_edits_are_named_where_the_time_of_leaving_lost_its_zone(qtbot: QtBot) -> None:
    keep_draft(ID)
    preferences.remember(LEFT, "2020-01-01T00:00:00")
    window = new_window(qtbot)
    wait_idle(qtbot, lambda: bool(window.messages.lines))
    assert told(window) == ["1 edit was kept; open the sample to go on."]


@pytest.mark.deep
def test_tabs_are_remembered_while_they_change_and_not_only_when_the_window_closes(
    qtbot: QtBot, window: Window
) -> None:
    session = window.sessions[-1]
    window.workspace.open(session, PageRequest("document", NS, Value.of(ID)))
    wait_idle(qtbot)

    def kinds() -> list[object]:
        return [each["kind"] for each in preferences.remembered(TABS, [])]

    qtbot.waitUntil(lambda: kinds() == ["collection", "document"])
    window.workspace.tab_area.close_at(0)
    qtbot.waitUntil(lambda: kinds() == ["document"])
    other = new_window(qtbot)  # the next start
    open_sample(qtbot, other)
    assert [page.kind for page in other.workspace.tab_area.pages] == ["document"]
    window.connecting.disconnect_session(session)
    assert kinds() == ["document"]
    assert not window.workspace.tab_area._touched
