"""The desktop's setting for less motion."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gui.style import motion, preferences

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the desktops are those of Linux")


@pytest.fixture
def desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A computer without any desktop: its programs are in ``bin``, its settings in ``config``."""
    for name in ("bin", "config"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path / "config"))
    return tmp_path


def says(desktop: Path, does: str) -> None:
    program = desktop / "bin" / "gsettings"
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_without_a_desktop_nothing_is_asked_for(desktop: Path) -> None:
    assert not motion.system_reduces()


@pytest.mark.parametrize(
    ("does", "reduces"),
    [
        ('[ "$*" = "get org.gnome.desktop.interface enable-animations" ] && echo false', True),
        ("echo true", False),
        ("echo No such schema >&2; exit 1", False),
        ("printf '\\377'", False),
    ],
)
def test_gnome_is_asked_whether_animations_are_on(desktop: Path, does: str, reduces: bool) -> None:
    says(desktop, does)
    assert motion.system_reduces() == reduces


def test_a_desktop_that_does_not_answer_is_given_up(desktop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(motion, "PATIENCE", 0.05)
    says(desktop, "exec /bin/sleep 60")
    assert not motion.system_reduces()


@pytest.mark.parametrize(("factor", "reduces"), [("0", True), ("0.5", False), ("1", False)])
def test_plasma_keeps_the_length_of_animations_in_a_file(desktop: Path, factor: str, reduces: bool) -> None:
    (desktop / "config" / "kdeglobals").write_text(f"[General]\nx=1\n\n[KDE]\nAnimationDurationFactor={factor}\n")
    assert motion.system_reduces() == reduces


def test_the_answer_is_there_once_the_application_has_begun(
    desktop: Path, qapp: QApplication, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(desktop, "echo false")
    monkeypatch.setattr(preferences, "system_reduces_motion", False)
    preferences.put("motion", "system")
    for before in qapp.findChildren(motion._Asker):
        before.setParent(None)
    motion.install(qapp)
    motion.install(qapp)
    assert len(qapp.findChildren(motion._Asker)) == 1
    qtbot.waitUntil(preferences.still)
