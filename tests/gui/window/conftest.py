"""A window over the sample that the tests of one file share: making a sample takes a second."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from gui.window.window import Window
from model.session import Session
from tests.gui.window.windows import adopt, new_window


@pytest.fixture(scope="module")
def sample(request: pytest.FixtureRequest, homes: Path) -> Iterator[Session]:
    """The sample of one file of tests; what one of them writes, the next one meets."""
    made = Session.open("sample:", home=homes / request.module.__name__)
    yield made
    Session.close(made)  # the windows that adopt it leave it open


@pytest.fixture
def window(qtbot: QtBot, sample: Session) -> Window:
    """A window of a test's own at the first page of the sample."""
    made = new_window(qtbot)
    adopt(qtbot, made, sample)
    return made
