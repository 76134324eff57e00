"""A slice of the sequences and a short walk, and faults made on purpose that they must convict."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from PySide6.QtCore import QTimer, qWarning
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from gui.pages.page_request import PageRequest
from gui.style import focus_keeper
from gui.window.window import Window
from model.values import canonical
from model.values.canonical import Value
from tests.support import by_depth
from tests.walking import walks
from tests.walking.sequences import PAIRS, Sequence
from tests.walking.walks import Walker
from tests.walking.world import World, living


@pytest.fixture(scope="module")
def world(qapp: QApplication) -> Iterator[World]:
    with living() as troubles:
        made = World(troubles)
        yield made
        made.close()


@pytest.mark.long
@pytest.mark.slice
@pytest.mark.deep
def test_no_view_is_stale_after_any_way_to_write(world: World, seed: int) -> None:
    for each in range(seed, seed + by_depth(1, 6, 3)):
        result = Sequence(world, each).run()
        assert not result.wrong, (each, result.views, result.done, result.wrong)


@pytest.mark.parametrize("cut", ["collection", "document"])
@pytest.mark.deep
@pytest.mark.slice
def test_a_view_that_hears_no_news_is_convicted(world: World, cut: str, seed: int) -> None:
    view = "edit" if cut == "document" else cut
    numbers = [number for number in range(len(PAIRS)) if view in PAIRS[number][:2]]
    random.Random(seed).shuffle(numbers)
    assert any(Sequence(world, number, cut).run().wrong for number in numbers[:6])


def _write_past_the_journal(walker: Walker) -> str:
    id = walker.session.documents.page("insurance.agents", limit=1).rows[0].id
    base = walker.session.history.version("insurance.agents", id)
    content = canonical.put(base.content or canonical.EMPTY, ("past",), Value.of(1))
    walker.session.catalogue.layout("insurance.agents").swap(id, base, content)
    return "a write that no journal knows of"


def _focus_the_switch(walker: Walker) -> str:
    next(each for each in walker.window.findChildren(QWidget) if each.property(focus_keeper.SWITCH)).setFocus()
    return "the focus on the switch"


def _keep_an_editor_from_news(walker: Walker) -> str:
    id = walker.session.documents.page("insurance.agents", limit=1).rows[0].id
    page = walker.window.workspace.open(walker.session, PageRequest("document", "insurance.agents", id))
    walker.world.settle()
    page.shows = lambda _: False  # type: ignore[method-assign]
    walker.session.colleague.change("insurance.agents", id)
    return "a write that an editor does not hear of"


@pytest.mark.parametrize(
    ("way", "sentence"),
    [
        (_write_past_the_journal, "a write to insurance.agents is not in the journal"),
        (_focus_the_switch, "the focus is on the switch"),
        (_keep_an_editor_from_news, "the clean editor stands on"),
    ],
)
@pytest.mark.deep
@pytest.mark.slice
def test_a_walk_convicts(
    world: World, way: Callable[[Walker], str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walks, "PATIENCE", 1.0)
    walker = Walker(world, 0)
    walker.ways = [(1, partial(way, walker))]
    assert any(sentence in each for each in walker.run(1).wrong)


def _push_down(window: Window, said: str) -> None:
    line = QLabel(said)
    line.setFixedHeight(80)
    window.centralWidget().layout().insertWidget(0, line)  # type: ignore[attr-defined]  # a QVBoxLayout
    window.messages.left.connect(line.deleteLater)


def _lie_over_everything(window: Window, said: str) -> None:
    window.messages.setGeometry(window.centralWidget().rect())
    window.messages.show()
    window.messages.raise_()
    window.messages.left.connect(window.messages.hide)


@pytest.mark.parametrize(
    ("careless", "sentence"), [(_push_down, "moved"), (_lie_over_everything, "lies over")], ids=["moves", "covers"]
)
@pytest.mark.deep
@pytest.mark.slice
def test_a_message_that_gets_under_the_pointer_is_convicted(
    world: World, careless: Callable[[Window, str], None], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walks.messages, "tell", careless)
    walker, window = Walker(world, 0), world.windows[0]
    within = [each for each in walker._pick(QAbstractButton) if window.workspace.tab_area.tabs.isAncestorOf(each)]
    monkeypatch.setattr(walker, "_pick", lambda _: within)
    walker._message()
    window.messages.left.emit()
    world.settle()
    assert [each for each in walker.walk.wrong if f"a message {sentence}" in each], walker.walk.wrong


@pytest.mark.slice
@pytest.mark.deep
def test_a_short_walk_finds_nothing(world: World, seed: int) -> None:
    result = Walker(world, seed).run(by_depth(10, 60, 40))
    assert not result.wrong, (seed, result.done, result.wrong)


def test_warnings_of_qt_and_errors_of_handlers_are_heard(qtbot: QtBot) -> None:
    with living() as troubles:
        qWarning("a warning")
        QTimer.singleShot(0, lambda: 1 // 0)
        qtbot.waitUntil(lambda: len(troubles) == 2)
    assert troubles[0] == "Qt: a warning"
    assert "ZeroDivisionError" in troubles[1]
