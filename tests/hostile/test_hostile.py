"""A slice of the attacks: each on the product, and on the careless forms that it has to convict."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from gui import app
from gui.style import preferences
from tests.hostile import window_walk
from tests.hostile.attacks import ATTACKS, Attack
from tests.hostile.careless import Taken

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
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda each: each.name)
def test_nothing_hostile_comes_through(attack: Attack, tmp_path: Path) -> None:
    assert attack.run(tmp_path) == []


@pytest.mark.parametrize(("attack", "guard"), GUARDED)
def test_without_a_guard_the_attack_comes_through(attack: Attack, guard: Taken, tmp_path: Path) -> None:
    """The walk ends early: two pages are enough to be convicted."""
    with guard():
        assert window_walk.attack(tmp_path, most=2) if attack.name == "window" else attack.run(tmp_path)
