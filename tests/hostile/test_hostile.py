"""A slice of the attacks: each on the product, and on the careless forms that it must convict."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QFileDialog

from gui import app
from gui.pages.collection_page import CollectionPage
from gui.pages.history_pages import ChangeMapPage
from gui.pages.page_request import PageRequest
from gui.pages.repair_pages import RepairPage
from gui.style import preferences, wording
from gui.tour.tour_views import settle
from gui.views.browse.query import Query
from gui.window.window import Window
from model.values.canonical import Value
from tests import support
from tests.hostile import bad_files, damaged_homes, lying_answers, window_walk
from tests.hostile.attacks import ATTACKS, Attack
from tests.hostile.careless import Taken
from tests.hostile.planted import CURRENT, ID, MARK, SECRET, raw_in

GUARDED = [pytest.param(attack, guard, id=guard.__name__) for attack in ATTACKS for guard in attack.guards]
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support|No file name specified", extend=True)


@pytest.fixture(autouse=True)
def look(qapp: QApplication, home: Path) -> Iterator[None]:
    """The application as it starts."""
    preferences.forget()
    app.application()
    yield
    preferences.forget()


@pytest.mark.long
@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(each, marks=pytest.mark.deep) if each.name in ("window", "files") else each
        for each in ATTACKS
        if each.name not in ("homes", "inputs", "answers")
    ],
    ids=lambda each: each.name,
)
def test_nothing_hostile_comes_through(attack: Attack, tmp_path: Path) -> None:
    assert attack.run(tmp_path) == []


@pytest.mark.parametrize(("attack", "guard"), GUARDED)
@pytest.mark.deep
@pytest.mark.slice
def test_without_a_guard_the_attack_comes_through(attack: Attack, guard: Taken, tmp_path: Path) -> None:
    with guard():
        assert attack.short(tmp_path)


@pytest.mark.deep
@pytest.mark.slice
def test_a_damaged_file_of_a_home_costs_itself_and_never_the_start(tmp_path: Path, seed: int) -> None:
    assert damaged_homes.attack(tmp_path, support.by_depth(10, 100, 15), seed) == []


@pytest.mark.deep
@pytest.mark.slice
def test_a_file_that_never_ends_or_is_none_is_one_sentence(tmp_path: Path, seed: int) -> None:
    assert bad_files.attack(tmp_path, support.by_depth(2, 40, 6), seed) == []


@pytest.mark.deep
@pytest.mark.slice
def test_a_server_that_answers_badly_is_one_sentence(tmp_path: Path, seed: int) -> None:
    assert lying_answers.attack(tmp_path, support.by_depth(5, 300, 12), seed) == []


UNSAFE = frozenset('/\\:*?"<>|')
"""What a file's name cannot hold on one system or another."""


def given_to_dialogs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[object, ...]]]:
    """What every dialog for files is given that a hostile place leads to: title, proposed name, kinds of files."""
    asked: list[tuple[str, tuple[object, ...]]] = []

    def taken(name: str, nothing: object) -> None:
        def ask(*given: object, **options: object) -> object:
            asked.append((name, (*given[1:], *options.values())))
            return nothing

        monkeypatch.setattr(QFileDialog, name, staticmethod(ask))

    taken("getSaveFileName", ("", ""))
    taken("getOpenFileName", ("", ""))
    taken("getExistingDirectory", "")
    for _, window in window_walk.walked(folder, 1, []):
        if not isinstance(window, Window):
            continue  # the dialog for a connection
        session, id = window.sessions[0], Value.of(ID)
        page = window.workspace.open(session, PageRequest("collection", CURRENT, id))
        assert isinstance(page, CollectionPage)
        settle()
        page.exporter.ask(Query())
        page.batches.pick_file()
        for form in ("report", "jsonl", "folder", "git"):
            page.histories.ask(id).chosen.emit(form)
        for is_folder in (False, True):
            page.batches.pick_history().chosen.emit(CURRENT, is_folder)
        map_page = window.workspace.open(session, PageRequest("map", CURRENT, id))
        assert isinstance(map_page, ChangeMapPage)
        settle()
        map_page.panel._save_picture()
        repairs = window.workspace.open(session, PageRequest("repair", CURRENT, id))
        assert isinstance(repairs, RepairPage)
        settle()
        repairs.panel.pane._save()
        repairs.panel.pane._open()
        repairs.panel._save_report()
        window.connecting.pick_folder()
        window.connecting.pick_file()
    return asked


def unsafe(asked: list[tuple[str, tuple[object, ...]]]) -> Iterator[str]:
    """What is wrong with that."""
    for name, given in asked:
        said = [each for each in given if isinstance(each, str)]
        if name == "getSaveFileName":
            proposed = said[1]
            if UNSAFE & set(proposed) or len(proposed.encode()) > 255 or proposed.startswith("."):
                yield f"proposed {proposed!a}"
        yield from (f"{name}: {each!a}" for each in said if raw_in(each) or SECRET in each)
        yield from (f"{name}: kinds of files {each!a}" for each in said[2:] if MARK in each)


@pytest.mark.deep
@pytest.mark.slice
def test_what_file_dialogs_are_given_is_plain_and_safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = given_to_dialogs(tmp_path, monkeypatch)
    proposed = [str(given[1]) for name, given in asked if name == "getSaveFileName"]
    assert (len(asked), sum(MARK in each for each in proposed)) == (14, 4)  # the list, the report, the history, the map
    assert not [*unsafe(asked)]


@pytest.mark.deep
@pytest.mark.slice
def test_names_that_are_proposed_as_they_stand_in_a_database_are_convicted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wording, "file_name", lambda said, ending: said + ending)
    assert [*unsafe(given_to_dialogs(tmp_path, monkeypatch))]
