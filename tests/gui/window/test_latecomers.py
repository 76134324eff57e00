"""Answers that come late or never: what is shown, and what is done with it, stays with one document."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from gui.messages import area
from gui.pages.collection_page import CollectionPage
from gui.pages.history_pages import BlamePage, ChangeMapPage
from gui.style.states import BusyLine
from gui.tasks import tasks
from gui.views.compare.restore_sheet import RestoreSheet
from gui.views.history.change_map_panel import ChangeMapPanel
from model.errors import NotFound
from model.history.chain import Chain, Follower
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from tests.gui.fake_session import ID, UNREACHABLE, Told, number, story, told
from tests.gui.views.test_diff_panel import Shown
from tests.gui.views.test_timeline_panel import Watched

OTHER = Value.of("K-118240")


class Slowly:
    """A session whose reading waits until the gate is open."""

    def __init__(self, session: Any, gate: threading.Event | None = None) -> None:
        self._session, self.gate = session, gate or threading.Event()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._session, name)
        if name == "history":
            return Slowly(found, self.gate)
        if name not in ("versions", "compare", "version"):
            return found

        def wait(*args: Any, **more: Any) -> Any:
            assert self.gate.wait(60)
            return found(*args, **more)

        return wait

    def __enter__(self) -> Session:
        return cast(Session, self)

    def __exit__(self, *_: object) -> None:
        self.gate.set()


@pytest.fixture(scope="module")
def session(homes: Path) -> Iterator[Session]:
    with Session.open("sample:", home=homes / "late") as made:
        yield made


@pytest.fixture
def page(qtbot: QtBot, session: Session) -> CollectionPage:
    """The contracts, the first of them chosen and compared."""
    made = CollectionPage(session, "insurance.contracts")
    qtbot.addWidget(made)
    made.resize(1400, 900)
    made.show()
    made.show_document(ID)
    qtbot.waitUntil(lambda: not tasks.running and made.diff.comparison is not None)
    return made


@pytest.fixture
def shown(qtbot: QtBot) -> Shown:
    made = Shown(qtbot, {"a": 1, "b": 1}, {"a": 2, "b": 2})
    made.compare(1, 2)
    return made


def _nowhere(ns: str) -> object:
    raise NotFound(f"There is no {ns}.")


def _wait(gate: threading.Event) -> None:
    assert gate.wait(60)


def test_what_is_still_being_compared_is_not_shown_once_nothing_is_chosen_any_more(shown: Shown) -> None:
    gate = threading.Event()
    shown.source.on_compare = lambda: _wait(gate)
    shown.panel.compare(ID, shown.one(1), shown.one(2))
    shown.panel.clear()
    gate.set()
    shown.settle()
    assert shown.panel.comparison is None
    assert shown.panel.model.rowCount() == 0


@pytest.mark.parametrize("end", ["stopped", "unreachable"])
def test_hiding_a_field_after_another_document_did_not_come_leaves_the_rows_to_their_own(
    shown: Shown, end: str
) -> None:
    source, panel = shown.source, shown.panel
    source.histories[OTHER] = source.histories[ID]
    gate = threading.Event()
    source.on_compare = lambda: _wait(gate)
    source.fails = UNREACHABLE if end == "unreachable" else None
    panel.compare(OTHER, shown.one(2), shown.one(1))
    if end == "stopped":
        panel.reading.stop()
    gate.set()
    shown.settle()
    source.fails = None
    panel.hide_path(("b",))
    shown.settle()
    assert panel.comparison is not None
    assert [panel.comparison.a.v, panel.comparison.b.v] == [number(1), number(2)]
    assert panel.id == ID  # what "Restore from A" writes to


@pytest.mark.parametrize("read", [0, 5, 14])
def test_versions_that_are_still_being_read_are_not_shown_once_nothing_is_chosen(qtbot: QtBot, read: int) -> None:
    watched = Watched(qtbot, Told())
    source, panel = watched.source, watched.panel
    source.gate.clear()
    source.before_gate = read
    panel.show_document(ID)
    if read > 13:  # the worker ends, and its answers wait for the window
        assert tasks._pool.waitForDone(10_000)
    panel.show_document(None)
    source.gate.set()
    qtbot.waitUntil(lambda: not tasks.running)
    assert panel._note.title.text() == "No document is chosen"
    assert not panel.model.marks
    assert not watched.loaded


def test_stopping_leaves_no_versions_of_the_document_before(qtbot: QtBot) -> None:
    watched = Watched(qtbot, Told({ID: story(3), OTHER: story(5)}))
    watched.read()
    cleared: list[bool] = []
    watched.panel.cleared.connect(lambda: cleared.append(True))
    watched.source.gate.clear()
    watched.panel.show_document(OTHER)
    watched.panel._stopped()
    qtbot.waitUntil(lambda: not tasks.running)
    assert watched.panel._note.title.text() == "Reading was stopped"
    assert watched.panel._name.text == "K-118240"
    assert cleared  # so that the comparison of the one before goes too


def test_a_document_that_is_gone_takes_the_comparison_of_the_one_before_with_it(qtbot: QtBot) -> None:
    watched = Watched(qtbot, Told({ID: story(3), OTHER: []}))
    watched.read()
    with qtbot.waitSignal(watched.panel.cleared):
        watched.panel.show_document(OTHER)


@pytest.mark.deep
def test_flags_moved_while_another_document_is_read_compare_the_one_they_stand_on(
    qtbot: QtBot, page: CollectionPage
) -> None:
    with Slowly(page.timeline._session) as slow:
        page.timeline._session = slow
        page.browser.select(OTHER)
        assert page.id == OTHER
        page.timeline._set_b(2)
        at = page.timeline.chosen()[1]
        qtbot.waitUntil(lambda: page.diff.comparison is not None and page.diff.comparison.b.v == at.v)
        assert page.diff.id == ID
    qtbot.waitUntil(lambda: not tasks.running and page.diff.id == OTHER)


@pytest.mark.deep
def test_what_can_be_done_with_a_comparison_is_offered_when_it_comes_and_not_before(
    qtbot: QtBot, page: CollectionPage
) -> None:
    offered: list[set[str]] = []
    page.changed.connect(lambda: offered.append(page.facts() & {"diff", "pair", "restorable"}))
    page.diff.clear()
    assert offered[-1] == set()
    with Slowly(page.diff._source.session) as slow:
        page.diff._source.session = slow
        page.timeline.set_ab(page.timeline.model.versions[1].v, page.timeline.model.versions[-1].v)
        assert not page.diff.comparison
    qtbot.waitUntil(lambda: not tasks.running)
    assert offered[-1] == {"diff", "pair", "restorable"}
    page.diff.swap.click()
    page.timeline.set_ab(page.timeline.model.versions[0].v, page.timeline.model.versions[1].v)
    qtbot.waitUntil(lambda: not tasks.running)
    assert offered[-1] == {"diff", "pair"}  # A is the current version
    assert page.reasons()["restorable"] == "A is the current version; choose an earlier one."


def test_choosing_another_document_with_a_value_open_leaves_the_keys_in_the_list(
    qtbot: QtBot, page: CollectionPage
) -> None:
    page.activateWindow()
    qtbot.waitUntil(page.isActiveWindow)
    page.diff.toggle_value()
    assert page.diff.value.isVisible()
    page.browser.list.setFocus()
    page.diff.clear()
    assert page.browser.list.hasFocus()
    assert not page.diff.value.isVisible()


@pytest.mark.parametrize("then", ["go on", "close"])
def test_a_large_value_of_the_map_that_comes_late_is_not_shown_in_place_of_another(qtbot: QtBot, then: str) -> None:
    long = "word " * 20_000
    raw = canonical.encode({"long": long, "short": "s"})
    versions = [told(1, content=raw, current=True)]
    source = Told({ID: versions})
    source.contents[versions[0].v] = raw
    follower = Follower()
    follower.take(versions[0])
    source.chain = lambda *_: follower.chain(True)  # type: ignore[attr-defined]
    panel = ChangeMapPanel(source.as_session(), "insurance.contracts", ID)
    qtbot.addWidget(panel)
    panel.resize(1200, 700)
    panel.show()
    qtbot.waitUntil(lambda: not tasks.running and bool(panel.model.rows))
    names = [row.name for row in panel.model.rows]
    assert panel.model.rows[names.index("long")].seen(0) is not None
    panel.grid.go(names.index("short"), 0)
    panel._show_value()
    qtbot.waitUntil(lambda: not tasks.running)
    with Slowly(panel._session) as slow:
        panel._session = slow
        panel.grid.go(names.index("long"), 0)
        if then == "close":
            panel._close_value()
        else:
            panel.grid.go(names.index("short"), 0)
    qtbot.waitUntil(lambda: not tasks.running)
    if then == "close":
        assert panel.values.isHidden()
    else:
        assert panel.values.sides.title.text() == "short in v1"
        assert panel.values.sides.left.text.toPlainText() == "s"


@pytest.mark.parametrize("kind", [ChangeMapPage, BlamePage])
def test_a_document_is_not_followed_further_once_its_tab_is_closed(
    qtbot: QtBot, kind: type[ChangeMapPage | BlamePage]
) -> None:
    followed, gate = threading.Event(), threading.Event()

    def follow(ns: str, id: Value, progress: Callable[[int, int | None], None], *_: object) -> Chain:
        while not gate.wait(0.005):
            progress(1, None)
            followed.set()
        return Follower().chain(True)

    source = Told()
    source.chain = follow  # type: ignore[attr-defined]
    source.info = _nowhere  # type: ignore[attr-defined]
    made = kind(source.as_session(), "insurance.contracts", ID)
    qtbot.addWidget(made)
    qtbot.waitUntil(followed.is_set)
    made.leave()
    try:
        qtbot.waitUntil(lambda: not any(task.title for task in tasks.running))
    finally:
        gate.set()


def test_a_value_does_not_stay_open_beside_a_comparison_that_it_is_not_in(qtbot: QtBot) -> None:
    shown = Shown(qtbot, {"a": 1}, {"a": 2}, {"a": 2})
    shown.compare(1, 2)
    shown.panel.toggle_value()
    shown.settle()
    assert shown.panel.value.sides.left.text.toPlainText() == "1"
    shown.panel.only.setChecked(False)
    shown.compare(2, 3)
    assert not shown.panel.value.isVisible()


def test_a_map_whose_reading_was_stopped_can_be_read_on(qtbot: QtBot) -> None:
    whole = threading.Event()
    content = canonical.encode({"a": 1})
    versions = [told(2, content=content, current=True), told(1, content=content)]

    def follow(ns: str, id: Value, progress: Callable[[int, int | None], None], put: object = None) -> Chain:
        follower = Follower()
        follower.take(versions[0])
        if callable(put):
            put(follower.chain(False))
        while not whole.wait(0.005):
            progress(1, 2)
        follower.take(versions[1])
        return follower.chain(True)

    source = Told()
    source.chain = follow  # type: ignore[attr-defined]
    panel = ChangeMapPanel(source.as_session(), "insurance.contracts", ID)
    qtbot.addWidget(panel)
    panel.show()
    qtbot.waitUntil(lambda: panel.model.columnCount() == 1)
    panel.stop()
    buttons = [button for line in panel.stack.findChildren(BusyLine) for button in line.findChildren(QPushButton)]
    qtbot.waitUntil(lambda: any(one.isVisible() and one.text() == "Read on" for one in buttons))
    button = next(one for one in buttons if one.text() == "Read on")
    whole.set()
    button.click()
    qtbot.waitUntil(lambda: panel.model.columnCount() == 2)
    assert not any(one.isVisible() for one in buttons)


@pytest.mark.deep
def test_an_element_is_not_restored_by_its_place_once_somebody_has_written(qtbot: QtBot, home: Path) -> None:
    with Session.open("sample:", home=home) as own:
        page = CollectionPage(own, "insurance.contracts")
        qtbot.addWidget(page)
        page.resize(1400, 900)
        page.show()
        page.show_document(ID)
        qtbot.waitUntil(lambda: not tasks.running and page.diff.comparison is not None)
        assert own.edit("insurance.contracts", ID, set={"status": "suspended"}).kind == "applied"
        shown = page.diff.comparison
        assert shown is not None
        assert shown.a.v is not None
        page.diff.restore_asked.emit(ID, shown.a.v, [("riders", 1)])
        qtbot.waitUntil(lambda: not tasks.running)
        assert [line.text for line in area(page).lines] == [
            "K-204117 changed since it was compared; refresh, then restore."
        ]
        assert not page.findChildren(RestoreSheet)
        page.diff.restore_asked.emit(ID, shown.a.v, [("status",)])  # a field is found by its name
        qtbot.waitUntil(lambda: not tasks.running)
        assert page.findChildren(RestoreSheet)
