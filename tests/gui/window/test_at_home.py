"""Palimpsest as a desktop program: its entry, its icon, its files, and its About box."""

from __future__ import annotations

import configparser
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gui.starting import desktop_entry
from gui.style import logo, theme
from gui.window.about_dialog import AboutDialog
from model.errors import Refused
from tests.gui.window.windows import new_window, open_sample, sheet, told, wait_idle

pytestmark = pytest.mark.skipif(not desktop_entry.is_possible(), reason="the desktop has no such menus")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def entry(file: Path) -> configparser.ConfigParser:
    read = configparser.ConfigParser(interpolation=None)
    read.optionxform = str  # type: ignore[method-assign,assignment]
    read.read(file, "utf-8")
    return read


def test_the_program_is_added_to_the_menus_and_taken_out_again(qtbot: QtBot, data: Path) -> None:
    window = new_window(qtbot)
    window.actions_.trigger("desktop-entry")
    wait_idle(qtbot, desktop_entry.is_there)
    read = entry(data / "applications" / "palimpsest.desktop")
    assert read["Desktop Entry"]["MimeType"] == "application/bson;"
    assert read["Desktop Entry"]["Exec"].endswith(" %f")
    assert read["Desktop Action sample"]["Exec"].endswith(" sample:")
    globs = ElementTree.parse(data / "mime" / "packages" / "palimpsest-bson.xml").getroot().iter()
    assert "*.bson" in [part.get("pattern") for part in globs]
    assert (data / "icons" / "hicolor" / "scalable" / "apps" / "palimpsest.svg").exists()
    wait_idle(qtbot, lambda: any("in the menus" in said for said in told(window)))
    window.actions_.trigger("desktop-entry")
    sheet(window).verb.click()  # type: ignore[attr-defined]
    wait_idle(qtbot, lambda: not desktop_entry.is_there())
    assert not [path for path in data.rglob("palimpsest*") if path.is_file()]


@pytest.mark.parametrize("folder", ["plain", 'with blank, 100 % and "quotes" $x'])
def test_the_entry_starts_this_program_wherever_it_lies(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    (tmp_path / folder).mkdir()
    program = tmp_path / folder / "palimpsest"
    program.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "argv", [str(program)])
    file = desktop_entry.add()
    line = entry(file)["Desktop Entry"]["Exec"].removesuffix(" %f")
    # As a desktop reads it: the escapes of an entry's text, then the field codes, then quotes as a shell has them.
    line = line.replace("\\\\", "\\").replace("%%", "%")
    assert (
        subprocess.run(["sh", "-c", f"{line} a.bson"], capture_output=True, text=True, check=True).stdout == "a.bson|"
    )
    if checker := shutil.which("desktop-file-validate"):
        assert subprocess.run([checker, str(file)], check=False).returncode == 0


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_cannot_be_written_is_a_sentence(data: Path) -> None:
    data.mkdir()
    data.chmod(0o500)
    with pytest.raises(Refused, match="cannot be written"):
        desktop_entry.add()


def test_the_icon_of_the_desktop_is_the_one_of_the_window(qtbot: QtBot, data: Path) -> None:
    theme.apply("light", "normal")
    desktop_entry.add()
    drawn = QIcon(str(data / "icons" / "hicolor" / "scalable" / "apps" / "palimpsest.svg")).pixmap(QSize(112, 112))
    if drawn.isNull():
        pytest.skip("this Qt has no plugin for SVG")
    mine, theirs = logo.icon().pixmap(QSize(112, 112)).toImage(), drawn.toImage()
    for x, y in ((56, 8), (40, 28), (30, 84), (90, 64), (70, 48)):
        one, other = mine.pixelColor(x, y), theirs.pixelColor(x, y)
        assert all(abs(a - b) < 12 for a, b in zip(one.getRgb(), other.getRgb(), strict=True)), (x, y)


@pytest.mark.deep
def test_about_names_every_version_and_copies_them_without_an_address(qtbot: QtBot) -> None:
    window = new_window(qtbot)
    open_sample(qtbot, window)
    window.actions_.trigger("about")
    about = sheet(window)
    assert isinstance(about, AboutDialog)
    about.copy()
    copied = dict(line.split(": ", 1) for line in QApplication.clipboard().text().splitlines())
    assert {"Palimpsest", "Python", "Qt", "pymongo", "System", "Server"} <= set(copied)
    assert copied["Server"] == "MongoDB 7.0.0, standalone"
    about._notices()
    assert window.commands.help is not None
    assert window.commands.help.isVisible()
    assert not about.isVisible()
