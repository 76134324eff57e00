"""The base of panels that read: what they show while waiting, with an answer, after a stop and after a failure."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from gui import tasks
from gui.parts.reading import Reading
from gui.style.states import StateStack
from model.errors import Unreachable
from tests.gui.refusals import press


class Panel:
    """A label that shows what was read, word by word."""

    def __init__(self, qtbot: QtBot) -> None:
        self.label = QLabel()
        self.states = StateStack(self.label)
        qtbot.addWidget(self.states)
        self.states.show()
        self.reading = Reading(self.states, self.states, has=lambda: bool(self.label.text()), title="No words")

    def show(self, said: str) -> None:
        """Show an answer."""
        self.label.setText(said)
        self.states.show_content()

    def ask(self, work: Callable[[tasks.Progress], str]) -> None:
        """Read something."""
        self.reading.ask(work, self.show, "Reading words")


@pytest.fixture
def panel(qtbot: QtBot) -> Panel:
    return Panel(qtbot)


class Held:
    """Work that waits for a word, and hears of a stop."""

    def __init__(self, said: str) -> None:
        self.said, self.go = said, threading.Event()

    def __call__(self, progress: tasks.Progress) -> str:
        while not self.go.wait(0.01):
            progress(0)
        return self.said


@pytest.fixture
def held() -> Iterator[Held]:
    made = Held("late")
    yield made
    made.go.set()


def test_an_answer_is_shown_and_what_is_on_show_stays_until_then(qtbot: QtBot, panel: Panel, held: Held) -> None:
    panel.ask(lambda _: "first")
    qtbot.waitUntil(lambda: panel.label.text() == "first")
    panel.ask(held)
    assert panel.reading.is_on
    assert (panel.states.kind, panel.label.text()) == ("content", "first")
    held.go.set()
    qtbot.waitUntil(lambda: panel.label.text() == "late")
    assert not panel.reading.is_on


def test_a_failure_says_what_to_do_and_the_question_is_asked_again_as_it_was(qtbot: QtBot, panel: Panel) -> None:
    answers = [Unreachable("db:27017 does not answer."), "second"]

    def work(_: tasks.Progress) -> str:
        answer = answers.pop(0)
        if isinstance(answer, Unreachable):
            raise answer
        return answer

    panel.ask(work)
    qtbot.waitUntil(lambda: panel.states.kind == "failed")
    assert (panel.states.state.title, panel.states.state.help) == ("No words", "db:27017 does not answer.")
    press(panel.states, "Try again")
    qtbot.waitUntil(lambda: panel.label.text() == "second")
    assert panel.states.kind == "content"


def test_stopped_it_keeps_what_was_read_or_offers_to_read_again(qtbot: QtBot, panel: Panel, held: Held) -> None:
    panel.ask(held)
    panel.reading.stop()
    qtbot.waitUntil(lambda: panel.states.kind == "empty")
    assert panel.states.state.title == "Reading was stopped"
    held.go.set()
    press(panel.states, "Read again")
    qtbot.waitUntil(lambda: panel.label.text() == "late")
    held.go.clear()
    panel.ask(held)
    panel.reading.stop()
    qtbot.waitUntil(lambda: not panel.reading.is_on)
    assert (panel.states.kind, panel.label.text()) == ("content", "late")


def test_a_later_question_makes_an_earlier_answer_void(qtbot: QtBot, panel: Panel, held: Held) -> None:
    panel.ask(held)
    panel.ask(lambda _: "newer")
    held.go.set()
    qtbot.waitUntil(lambda: panel.label.text() == "newer" and not tasks.tasks.of(panel.states))
    assert (panel.states.kind, panel.label.text()) == ("content", "newer")


def test_nothing_comes_of_a_question_that_was_given_up(qtbot: QtBot, panel: Panel, held: Held) -> None:
    panel.ask(held)
    panel.reading.drop()
    assert not panel.reading.is_on
    held.go.set()
    qtbot.waitUntil(lambda: not tasks.tasks.of(panel.states))
    assert panel.label.text() == ""
