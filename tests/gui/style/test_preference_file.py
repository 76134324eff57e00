"""The file of the window's state: a damaged or hostile one costs itself and runs nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings

from gui.style import preferences
from model.foundation import kept_files


class Hostile:
    """Unpickling it makes a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)

    def __reduce__(self) -> Any:
        return os.mkdir, (self._folder,)


@pytest.fixture(autouse=True)
def no_file(home: Path) -> None:
    """What the tests of the window begin with is forgotten."""
    preferences.forget()
    (home / "window.json").unlink()


def test_a_file_of_an_earlier_version_runs_nothing_and_its_choices_are_kept(home: Path) -> None:
    older = QSettings(str(home / "window.ini"), QSettings.Format.IniFormat)
    for name, value in (("theme", "dark"), ("zoom", 125), ("zone", "Asia/Tokyo"), ("x", Hostile(home / "run"))):
        older.setValue(name, value)
    older.sync()
    del older
    assert [preferences.get(name) for name in ("theme", "zoom", "zone")] == ["dark", 125, "Asia/Tokyo"]
    assert not (home / "run").exists()


@pytest.mark.parametrize(
    "settings",
    [{"zoom": 10**9}, {"zoom": "110"}, {"zoom": True}, {"zoom": None}, {"page_size": 0}, {"page_size": 10**9}, []],
    ids=str,
)
def test_a_setting_that_is_not_possible_is_the_default(settings: object, home: Path) -> None:
    (home / "window.json").write_text(json.dumps({"settings": settings}), "utf-8")
    assert (preferences.get("zoom"), preferences.get("page_size")) == (100, 50)


def test_what_two_programs_change_is_kept_of_both(home: Path) -> None:
    preferences.put("zoom", 110)
    preferences.write()
    other = preferences.PreferenceFile(home / "window.json")
    other.put("kept", "windows", 3)
    other.write()
    preferences.put("theme", "dark")
    preferences.forget()
    assert (preferences.get("zoom"), preferences.get("theme"), preferences.remembered("windows")) == (110, "dark", 3)


def test_a_damaged_file_is_set_aside_and_a_new_one_begins(home: Path) -> None:
    (home / "window.json").write_text('{"settings"', "utf-8")
    preferences.put("zoom", 110)
    preferences.forget()
    assert preferences.get("zoom") == 110
    assert (home / "window.json.damaged").read_text("utf-8") == '{"settings"'
    assert any("window.json.damaged" in sentence for sentence in kept_files.notices.told)
