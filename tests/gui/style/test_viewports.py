"""Viewports that are made here: no start makes the classes of widgets that it does not show."""

from __future__ import annotations

import subprocess
import sys

import pytest
from PySide6.QtWidgets import QTreeView
from pytestqt.qtbot import QtBot

from gui.style.scrolling import put_viewport
from tests.support import ROOT

MADE = """
import enum

made, begun = [], enum.EnumType.__new__

def new(metaclass, name, *given, **named):
    made.append(name)
    return begun(metaclass, name, *given, **named)

enum.EnumType.__new__ = new
from gui import app

application = app.application()
from gui.style.cells import CellTree
from gui.style.scrolling import FromTop
from gui.parts.versions_model import VersionsModel
from gui.views.timeline.strip import Strip

parts = [CellTree(), FromTop(), Strip(VersionsModel())]
assert [part.viewport().parent() for part in parts] == parts
print("WizardButton" in made, "SliderAction" in made)
"""


def test_lists_and_areas_do_not_make_the_classes_of_all_widgets() -> None:
    run = subprocess.run([sys.executable, "-c", MADE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.stdout.split() == ["False", "True"], run.stderr


@pytest.mark.parametrize("name", ["objectName", "backgroundRole", "autoFillBackground", "focusPolicy", "isEnabled"])
def test_a_viewport_of_our_own_is_like_the_one_that_it_replaces(qtbot: QtBot, name: str) -> None:
    plain, ours = QTreeView(), QTreeView()
    put_viewport(ours)
    for view in (plain, ours):
        qtbot.addWidget(view)
        view.setMouseTracking(True)
        view.show()
    assert getattr(ours.viewport(), name)() == getattr(plain.viewport(), name)()
    assert ours.viewport().hasMouseTracking()
    assert ours.viewport().geometry() == plain.viewport().geometry()
