"""Garbage is collected, and memory returned, while nobody waits for the window."""

from __future__ import annotations

import gc
import weakref

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from gui.starting import footprint
from gui.starting import sweeper as sweeper_module
from gui.starting.sweeper import Sweeper


class _Knot:
    def __init__(self) -> None:
        self.own = self


def test_a_heap_that_a_task_made_is_not_looked_through_while_somebody_works(qapp: object) -> None:
    sweeper = next(iter(QApplication.instance().findChildren(Sweeper)))  # type: ignore[union-attr]
    gc.collect()
    heap = [[n] for n in range(sweeper_module.MANY * 2)]
    before = gc.get_freeze_count()
    sweeper.sweep()
    assert gc.get_freeze_count() - before > sweeper_module.MANY
    assert len(heap) == sweeper_module.MANY * 2


def test_memory_is_returned_once_between_a_task_and_the_next(qapp: object, monkeypatch: pytest.MonkeyPatch) -> None:
    sweeper = next(iter(QApplication.instance().findChildren(Sweeper)))  # type: ignore[union-attr]
    returned: list[int] = []
    monkeypatch.setattr(footprint, "give_back", lambda: returned.append(sweeper._quiet))
    monkeypatch.setattr(sweeper_module, "IDLE", 1000)
    sweeper._quiet = 0
    for _ in range(3 * sweeper_module.RESTED):
        sweeper.sweep()
    assert returned == [sweeper_module.RESTED]


def test_nothing_long_is_swept_while_somebody_types(qapp: object, qtbot: QtBot) -> None:
    sweeper = next(iter(QApplication.instance().findChildren(Sweeper)))  # type: ignore[union-attr]
    line = QLineEdit()
    qtbot.addWidget(line)
    sweeper._quiet = 0
    for _ in range(sweeper_module.IDLE - 1):
        sweeper.sweep()
    qtbot.keyClick(line, Qt.Key.Key_A)
    sweeper.sweep()
    assert sweeper._quiet == 1
    for _ in range(sweeper_module.IDLE):
        sweeper.sweep()
    qtbot.keyClick(line, Qt.Key.Key_A)
    assert sweeper._quiet > sweeper_module.IDLE  # told of no more, as there is nothing to be put off


def test_nothing_long_is_swept_while_a_window_is_resized(qapp: object, qtbot: QtBot) -> None:
    sweeper = next(iter(QApplication.instance().findChildren(Sweeper)))  # type: ignore[union-attr]
    line = QLineEdit()
    qtbot.addWidget(line)
    line.show()
    sweeper._quiet = 0
    for _ in range(sweeper_module.IDLE - 1):
        sweeper.sweep()
    line.resize(line.width() + 20, line.height())
    sweeper.sweep()
    assert sweeper._quiet == 1


def test_garbage_is_collected_once_nobody_is_at_the_window(qapp: object) -> None:
    sweeper = next(iter(QApplication.instance().findChildren(Sweeper)))  # type: ignore[union-attr]
    knot = weakref.ref(_Knot())
    gc.freeze()
    sweeper._quiet = sweeper_module.IDLE - 1
    sweeper.sweep()
    assert knot() is None
