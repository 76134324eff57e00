"""The window through names, roles and actions alone, as a screen reader has it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from PySide6.QtGui import QAccessible
from pytestqt.qtbot import QtBot

from gui.pages.page_request import CollectionStart, PageRequest
from gui.style.sheet import Sheet
from gui.window.window import Window
from model.values import canonical
from model.values.canonical import Value
from tests.gui.screen_reader import ScreenReader, name
from tests.gui.window.windows import ID, NS, new_window, wait_idle


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Somebody listens, as long as these tests go."""
    QAccessible.setActive(True)
    yield
    QAccessible.setActive(False)


def test_a_conflict_is_met_and_resolved_by_a_screen_reader_alone(qtbot: QtBot) -> None:
    window = new_window(qtbot)
    reader = ScreenReader(window)

    reader.press("Lose a race, and keep your edit")
    wait_idle(qtbot, lambda: reader.hears("another value (type it"))
    hint = reader.find("another value (type it")
    field = re.search(r"Give (\S+) another", name(hint))
    assert field is not None

    reader.set(f"{field[1]}, ", "Value", "weekly")
    qtbot.waitUntil(lambda: reader.hears("Unsaved: 1 field"))
    reader.press("Save")
    wait_idle(qtbot, lambda: reader.hears("This document changed since you opened it"))
    assert reader.hears(f"{field[1]}")
    reader.press("Review and merge")
    wait_idle(qtbot, lambda: reader.hears("conflict, not decided"))
    assert reader.hears("1 unresolved")
    assert reader.hears(f'{field[1]}, your edit: "weekly"')

    reader.press("Use mine")
    wait_idle(qtbot, lambda: not reader.hears("conflict, not decided"))
    reader.press("Save as v16")
    wait_idle(qtbot, lambda: reader.hears("Saved as v16"))

    content = window.sessions[0].version(NS, Value.of(ID)).content
    assert content is not None
    assert canonical.get(content, tuple(field[1].split("."))) == Value.of("weekly")


QUICK = ("collection", "document", "repair")
FURTHER = ("map", "blame", "pending", "journal", "drafts", "health", "check", "migrate")


@pytest.mark.parametrize("kind", [*QUICK, *(pytest.param(kind, marks=pytest.mark.deep) for kind in FURTHER)])
def test_every_control_of_a_page_says_what_it_is_and_what_it_is_called(window: Window, qtbot: QtBot, kind: str) -> None:
    session = window.sessions[0]
    ns = "insurance" if kind in ("repair", "health") else NS
    id = session.find_id(NS, ID) if kind in ("collection", "document", "map", "blame") else None
    window.workspace.open(session, PageRequest(kind, ns, id))
    wait_idle(qtbot)
    assert ScreenReader(window).nameless() == []


def test_every_control_of_the_first_page_and_of_the_sheets_has_a_name(window: Window, qtbot: QtBot) -> None:
    reader = ScreenReader(window)
    for id in ("welcome", "settings", "palette", "shortcuts", "connect", "about"):
        window.actions_.trigger(id)
        wait_idle(qtbot)
        assert (id, reader.nameless()) == (id, [])
        for one in window.findChildren(Sheet):
            one.reject()


def test_a_comparison_is_read_aloud_row_by_row(window: Window, qtbot: QtBot) -> None:
    session = window.sessions[0]
    id = session.find_id(NS, ID)
    a, b = (session.find_version(NS, id, v) for v in ("11", "14"))
    window.workspace.open(session, PageRequest("collection", NS, id, CollectionStart(a=a, b=b)))
    wait_idle(qtbot)
    reader = ScreenReader(window)
    qtbot.waitUntil(lambda: reader.hears("billing.interval, changed"))
    assert reader.hears('billing.interval, v11, 3 Nov 2026 10:14: "yearly"')
    assert reader.hears('billing.interval, v14, current, 20 Nov 2026 14:26: "monthly"')
    assert reader.hears("net, changed")
    assert reader.hears("type changed") or reader.hears("deductible, ")
