"""Reads that are refused or never answered, and the button that repeats them."""

from __future__ import annotations

from typing import NoReturn

from PySide6.QtWidgets import QPushButton

from gui import tasks
from gui.style.states import StateStack
from model.errors import Cancelled, NotAllowed, Unreachable


def denied(*_: object, **__: object) -> NoReturn:
    """Stands for any read."""
    raise NotAllowed("User eva may not find there; grant her read on the database.")


def silent(*_: object, **__: object) -> NoReturn:
    """Stands for any read from a server that does not answer."""
    raise Unreachable("The server did not answer in time; try again.")


def going_on(*given: object, **named: object) -> NoReturn:
    """Stands for any read that goes on until somebody stops it."""
    progress = named.get("checkpoint", given[-1])
    assert isinstance(progress, tasks.Progress)
    progress.stop.wait()
    raise Cancelled


def try_again(stack: StateStack) -> None:
    """Press the button of a state that says what could not be read."""
    assert stack.kind == "failed"
    press(stack, "Try again")


def press(stack: StateStack, said: str) -> None:
    """Press the button of a state that has these words."""
    (pressed,) = [each for each in stack.state.findChildren(QPushButton) if each.text() == said]
    pressed.click()
