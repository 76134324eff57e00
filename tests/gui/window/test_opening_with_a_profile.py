"""A source opened with a profile: it is read accordingly, the window names it, and an error is one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from gui.pages.page_request import PageRequest
from gui.window.connect_dialog import ConnectDialog
from gui.window.opening import Opening
from gui.window.window import Window
from model.userdata.connections import Connections, SavedConnection
from tests.gui.window.windows import new_window, open_source, wait_idle

PROFILE = """
[[collection]]
ns = "insurance.agents"
layout = "hashed"
hash = "digest"
"""


@pytest.fixture
def window(qtbot: QtBot) -> Window:
    return new_window(qtbot)


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    file = tmp_path / "team-layouts.toml"
    file.write_text(PROFILE)
    return file


@pytest.mark.deep
def test_the_window_reads_a_source_by_the_profile_it_was_opened_with_and_names_it(
    qtbot: QtBot, window: Window, profile: Path
) -> None:
    window.connecting.open_source("sample:", profile=str(profile))
    wait_idle(qtbot, lambda: bool(window.sessions))
    session = window.sessions[-1]
    assert session.catalogue.info("insurance.agents").layout == "hashed"
    assert session.catalogue.profile_file == profile
    window.workspace.open(session, PageRequest("collection", "insurance.agents"))
    wait_idle(qtbot)
    assert window.status.profile.isVisible()
    assert window.status.profile.text() == "Profile team-layouts.toml"
    assert str(profile) in window.status.profile.toolTip()


@pytest.mark.deep
def test_without_a_profile_the_status_line_names_none(qtbot: QtBot, window: Window) -> None:
    open_source(qtbot, window, Opening("sample:", "sample:"))
    assert not window.status.profile.isVisible()


def test_a_profile_that_went_wrong_is_said_in_one_sentence_and_nothing_is_opened(
    qtbot: QtBot, window: Window, profile: Path
) -> None:
    profile.write_text('[[collection]]\nns = "insurance.agents"\nlayout = "hashde"\n')
    window.connecting.open_source("sample:", profile=str(profile))
    wait_idle(qtbot)
    assert not window.sessions
    said = window.workspace.welcome.trouble.text()
    assert "there is no layout 'hashde'" in said
    assert "\n" not in said


def test_a_saved_connection_opens_again_with_its_profile_and_its_marks(
    qtbot: QtBot, window: Window, profile: Path, tmp_path: Path, home: Path
) -> None:
    dump = tmp_path / "orders.jsonl"
    dump.write_text('{"_id": 1, "digest": "x"}\n')
    open_source(qtbot, window, Opening(str(dump), "orders", production=True, profile=str(profile)))
    (saved,) = Connections(home).all()
    assert (saved.name, saved.profile, saved.production) == ("orders", str(profile), True)
    window.connecting.disconnect_session(window.sessions[-1])
    wait_idle(qtbot)
    window.connecting.open_source(str(dump))
    wait_idle(qtbot, lambda: bool(window.sessions))
    assert window.sessions[-1].catalogue.profile_file == profile
    assert Connections(home).all() == [
        SavedConnection("orders", str(dump), False, True, Connections(home).all()[0].last_used, str(profile))
    ]


def test_the_connection_dialog_takes_a_profile(qtbot: QtBot, window: Window, profile: Path) -> None:
    dialog = ConnectDialog(window, Opening("mongodb://db.example/", profile=str(profile)))
    assert dialog.profile.text() == str(profile)
    dialog.profile.setText("")
    assert dialog.opening().profile == ""
    dialog.profile.setText("layouts.toml")
    assert dialog.opening().profile == str(Path("layouts.toml").absolute())
    dialog.reject()
