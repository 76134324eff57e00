"""Calls that wait until the window rests."""

from __future__ import annotations

import threading

import pytest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from gui import rest, tasks


@pytest.fixture
def resting(monkeypatch: pytest.MonkeyPatch) -> rest.Rest:
    monkeypatch.setattr(rest, "REST", 0)
    return rest.Rest()


@pytest.fixture
def owner(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    return made


def test_a_call_waits_for_running_work_and_is_made_once(resting: rest.Rest, owner: QWidget, qtbot: QtBot) -> None:
    made: list[str] = []

    def call() -> None:
        made.append("made")

    go = threading.Event()
    tasks.run(lambda _: go.wait(), done=print, failed=print, owner=owner)
    resting.later(owner, call)
    resting.later(owner, call)
    for _ in range(3):
        QApplication.processEvents()
    assert not made
    go.set()
    qtbot.waitUntil(lambda: bool(made))
    assert made == ["made"]


def test_work_that_goes_on_and_on_is_waited_for_no_longer(
    resting: rest.Rest, owner: QWidget, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest, "LONGEST", 20)
    made: list[bool] = []
    go = threading.Event()
    tasks.run(lambda _: go.wait(), done=print, failed=print, owner=owner)
    resting.later(owner, lambda: made.append(go.is_set()))
    qtbot.waitUntil(lambda: made == [False])
    go.set()


def test_a_call_of_a_part_that_is_gone_is_not_made(resting: rest.Rest, owner: QWidget, qtbot: QtBot) -> None:
    made: list[str] = []
    gone = QWidget(owner)
    resting.later(gone, lambda: made.append("gone"))
    resting.later(owner, lambda: made.append("there"))
    gone.deleteLater()
    qtbot.waitUntil(lambda: bool(made))
    assert made == ["there"]
