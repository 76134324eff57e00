"""Change map, blame and merge of elements that the profile identifies by another field than ``_id``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.pages.history_pages import BlamePage, ChangeMapPage, restorable
from gui.views.history.blame_panel import VALUE
from gui.views.merge.conflict_prompt import clashes
from gui.views.merge.resolution import Resolution, drawn
from model.localserver import LocalServer
from model.profile import Profile
from model.session import Session
from model.values import canonical
from model.values.canonical import Value

NS, ID = "shop.orders", Value.of("A-1")
LONG = "x" * 5000  # too long to be kept with the chain
Idle = Callable[[], None]


@pytest.fixture
def session(homes: Path) -> Iterator[Session]:
    stated = {"ns": NS, "layout": "embedded", "keys": ["sku"]}
    with LocalServer() as server, Session.open(server.uri, Profile.read({"collection": [stated]}, "x")) as made:
        assert (
            made.writing.create(NS, canonical.encode({"lines": [{"sku": "ink", "text": LONG}]}), ID).kind == "applied"
        )
        later = canonical.encode({"lines": [{"sku": "ink", "text": LONG + "y"}]})
        assert made.writing.save(NS, ID, made.history.version(NS, ID), later).kind == "applied"
        yield made


def test_a_long_value_in_the_map_is_read_again_by_the_same_key(session: Session, qtbot: QtBot, idle: Idle) -> None:
    page = ChangeMapPage(session, NS, ID)
    qtbot.addWidget(page)
    page.show()
    qtbot.waitUntil(lambda: page.panel.model.chain.complete)
    rows = page.panel.model.rows
    row = next(at for at, row in enumerate(rows) if row.name.endswith("text"))
    shown: list[Value | None] = []
    page.panel.values.show_value = lambda title, value: shown.append(value)  # type: ignore[method-assign]
    page.panel.grid.go(row, 1)
    QTest.keyClick(page.panel.grid, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: bool(shown))
    assert shown == [Value.of(LONG + "y")]
    key, keys = rows[row].track.key, page.panel.model.chain.keys
    old, now = session.history.version(NS, ID, Value.of(1)), session.history.version(NS, ID)
    assert restorable(old, now, key, keys) == ("lines", 0, "text")


def test_a_long_value_in_the_blame_is_copied_whole(session: Session, qtbot: QtBot, idle: Idle) -> None:
    page = BlamePage(session, NS, ID)
    qtbot.addWidget(page)
    page.show()
    idle()
    panel = page.panel
    qtbot.waitUntil(lambda: bool(panel.model.rows))
    row = next(at for at, row in enumerate(panel.model.rows) if row.now.value is None)
    panel.list.setCurrentIndex(panel.model.index(row, VALUE))
    panel._copy()
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text() == LONG + "y")


def test_the_prompt_and_the_result_of_a_merge_know_elements_by_the_key_that_merged_them(session: Session) -> None:
    def lines(*each: tuple[str, int, str]) -> bytes:
        return canonical.encode({"lines": [{"sku": sku, "count": n, "unit": unit} for sku, n, unit in each]})

    at = Value.of("B-1")
    assert session.writing.create(NS, lines(("ink", 1, "a"), ("pen", 2, "b"), ("pad", 3, "c")), at).kind == "applied"
    base = session.history.version(NS, at)
    theirs = lines(("pad", 9, "c"), ("ink", 1, "a"), ("pen", 2, "b"))
    assert session.writing.save(NS, at, base, theirs).kind == "applied"
    conflict = session.writing.conflict(NS, at, base, lines(("ink", 1, "a"), ("pen", 2, "b"), ("pad", 3, "z")))
    assert {clash.theirs.op for clash in clashes(conflict)} == {"move", "replace"}
    assert not any(clash.needs_choice for clash in clashes(conflict))
    result = drawn(Resolution(conflict))
    assert result.content == lines(("pad", 9, "z"), ("ink", 1, "a"), ("pen", 2, "b"))
    assert {change.op for change in result.changes.all} == {"move", "replace"}
    assert [change.path for change in result.from_theirs.all] == [("lines", 0, "unit")]
