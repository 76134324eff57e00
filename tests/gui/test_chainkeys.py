"""Change map and blame of elements that the profile says are recognised by another field than ``_id``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.chain.blameview import VALUE
from gui.chainpages import BlamePage, ChangeMapPage, restorable
from model import canonical
from model.canonical import Value
from model.local import LocalServer
from model.profile import Profile
from model.session import Session

NS, ID = "shop.orders", Value.of("A-1")
LONG = "x" * 5000  # too long to be kept with the chain
Idle = Callable[[], None]


@pytest.fixture
def session(homes: Path) -> Iterator[Session]:
    stated = {"ns": NS, "layout": "embedded", "keys": ["sku"]}
    with LocalServer() as server, Session.open(server.uri, Profile.read({"collection": [stated]}, "x")) as made:
        assert made.create(NS, canonical.encode({"lines": [{"sku": "ink", "text": LONG}]}), ID).kind == "applied"
        later = canonical.encode({"lines": [{"sku": "ink", "text": LONG + "y"}]})
        assert made.save(NS, ID, made.version(NS, ID), later).kind == "applied"
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
    old, now = session.version(NS, ID, Value.of(1)), session.version(NS, ID)
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
