"""Files dropped on a window: dumps and their folders open, and profiles say how a connection is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from gui.messages import Question
from gui.pages.page_request import PageRequest
from gui.window.connect_dialog import ConnectDialog
from gui.window.opening import Opening
from gui.window.window import Window
from model.values import canonical
from tests.gui.dragging import drop_files
from tests.gui.window.windows import collection, new_window, open_source, sheet, told, wait_idle


@pytest.fixture
def window(qtbot: QtBot) -> Window:
    return new_window(qtbot)


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    (tmp_path / "dump" / "shop").mkdir(parents=True)
    (tmp_path / "dump" / "shop" / "orders.bson").write_bytes(canonical.encode({"_id": 1, "digest": "x"}))
    return tmp_path / "dump"


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    file = tmp_path / "layouts.toml"
    file.write_text('[[collection]]\nns = "shop.orders"\nlayout = "hashed"\nhash = "digest"\n')
    return file


def names(window: Window) -> list[str]:
    return [info.ns for session in window.sessions for info in session.catalogue.collections()]


def test_a_file_and_a_folder_dropped_on_the_first_page_open(qtbot: QtBot, window: Window, dump: Path) -> None:
    target = window.workspace.welcome.recent[0] if window.workspace.welcome.recent else window.workspace.welcome
    assert drop_files(target, [dump / "shop" / "orders.bson", dump])
    wait_idle(qtbot, lambda: len(window.sessions) == 2)
    assert sorted(session.source for session in window.sessions) == [str(dump), str(dump / "shop" / "orders.bson")]


def test_a_dropped_file_shows_its_documents(qtbot: QtBot, window: Window, dump: Path) -> None:
    assert drop_files(window.workspace.welcome, [dump / "shop" / "orders.bson"])
    wait_idle(qtbot, lambda: window.workspace.page is not None)
    assert len(collection(window).browser.model.rows) == 1


def test_a_folder_of_several_collections_dropped_beside_others_is_in_sight(
    qtbot: QtBot, window: Window, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        folder = tmp_path / name / "shop"
        folder.mkdir(parents=True)
        for at in range(40):
            (folder / f"orders_{at:02d}.bson").write_bytes(canonical.encode({"_id": 1}))
    open_source(qtbot, window, Opening(str(tmp_path / "first")))
    assert drop_files(window.workspace.tab_area, [tmp_path / "second"])
    wait_idle(qtbot, lambda: len(window.sessions) == 2)
    tree, model = window.workspace.sidebar.tree, window.workspace.sidebar.model
    place = tree.visualRect(model.index(1, 0))
    assert model.roots[1].name == "second"
    assert place.top() >= 0
    assert place.bottom() < tree.viewport().height()


@pytest.mark.deep
def test_a_profile_dropped_on_a_connection_opens_it_again_by_that_with_its_tabs(
    qtbot: QtBot, window: Window, dump: Path, profile: Path
) -> None:
    session = open_source(qtbot, window, Opening(str(dump)))
    window.workspace.open(session, PageRequest("collection", "shop.orders"))
    wait_idle(qtbot)
    assert session.catalogue.info("shop.orders").layout == "plain"
    assert drop_files(collection(window).browser.list.viewport(), [profile])
    wait_idle(qtbot)
    question = sheet(window)
    assert isinstance(question, Question)
    question.verb.click()
    wait_idle(qtbot, lambda: bool(window.sessions) and window.workspace.page is not None)
    (again,) = window.sessions
    assert again is not session
    assert again.catalogue.info("shop.orders").layout == "hashed"
    assert collection(window).ns == "shop.orders"


def test_a_profile_dropped_on_the_first_page_asks_for_the_source_that_it_is_for(
    qtbot: QtBot, window: Window, profile: Path
) -> None:
    assert drop_files(window.workspace.welcome, [profile])
    wait_idle(qtbot)
    dialog = sheet(window)
    assert isinstance(dialog, ConnectDialog)
    assert dialog.profile.text() == str(profile)
    dialog.reject()


def test_a_dropped_profile_that_is_wrong_is_told_and_the_connection_stays(
    qtbot: QtBot, window: Window, dump: Path, profile: Path
) -> None:
    session = open_source(qtbot, window, Opening(str(dump)))
    profile.write_text('[[collection]]\nns = "shop.orders"\nlayout = "hashde"\n')
    drop_files(window, [profile])
    wait_idle(qtbot)
    assert window.sessions == [session]
    assert "there is no layout 'hashde'" in told(window)[-1]


def test_text_that_is_dragged_over_the_window_is_not_taken(window: Window) -> None:
    assert not drop_files(window, [])
