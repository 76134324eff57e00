"""The window through names, roles and actions alone, as a screen reader sees it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QAbstractItemView
from pytestqt.qtbot import QtBot

from gui.pages.page_request import CollectionStart, PageRequest
from gui.style import focus_ring
from gui.style.sheet import Sheet
from gui.window.window import Window
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from tests.gui.screen_reader import ScreenReader, name
from tests.gui.window.windows import ID, NS, each_kind, filled_page, new_window, wait_idle, with_traces


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Somebody listens, as long as these tests go."""
    QAccessible.setActive(True)
    yield
    QAccessible.setActive(False)


@pytest.mark.deep
def test_a_conflict_is_met_and_resolved_by_a_screen_reader_alone(qtbot: QtBot) -> None:
    window = new_window(qtbot)
    reader = ScreenReader(window)

    reader.press("Lose a race, and keep your edit")
    wait_idle(qtbot, lambda: reader.hears("another value (type it"))
    hint = reader.find("another value (type it")
    field = re.search(r"Give (\S+) another", name(hint))
    assert field is not None

    reader.set(f"{field[1]}, ", "Value", "weekly")
    wait_idle(qtbot, lambda: reader.hears("Unsaved: 1 field") and reader.hears("v15 in the database"))
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

    content = window.sessions[0].history.version(NS, Value.of(ID)).content
    assert content is not None
    assert canonical.get(content, tuple(field[1].split("."))) == Value.of("weekly")


@pytest.fixture(scope="module")
def traced(sample: Session) -> Session:
    """The sample with an entry of the journal and a draft."""
    with_traces(sample)
    return sample


@pytest.mark.deep
@pytest.mark.parametrize("kind", each_kind("document"))
def test_every_control_of_a_page_says_what_it_is_and_what_it_is_called(
    traced: Session, window: Window, qtbot: QtBot, kind: str
) -> None:
    assert filled_page(qtbot, window, traced, kind).kind == kind
    assert ScreenReader(window).nameless() == []


# What is heard where Tab comes to the list that a page is about.
FIRST_HEARD = {
    "collection": (
        "Differences",
        r'holder\.phone, changed, v11, .*: "\+49 40 555 0117", v14, current, .*: "\+49 40 555 0192", String',
    ),
    "document": ("Fields", 'status, "active", String'),
    "merge": ("What both sides changed", "deductible, your edit: 250  Int32, not decided"),
    "map": ("Change map", "deductible, v14, type only, in force now"),
    "blame": (
        "Fields and the versions that last set them",
        r'status, from the start, Last set: v1, When: 12 Mar 2024 09:41, By: rk-204, Value: "active"',
    ),
    "field": (
        "Versions that set the field",
        r"v12, changed, When: 14 Nov 2026 08:47, By: rk-204, Before: 491\.23, After: 521\.93",
    ),
    "bisect": (
        "Versions at which the condition turns",
        r"v\d+, When: .*, By: rk-204, it holds from here on, Before: v3; 3 missing .*",
    ),
    "pair": (
        "Differences",
        'status, changed, K-204117 v14, current, .*: "active", K-204111 v4, current, .*: "lapsed", String',
    ),
    "times": ("", ""),
    "collections": ("", ""),
    "drafts": ("Drafts", r"K-204\d+, Collection: insurance\.contracts, From: v\d+, Changes: 1 field, Kept: .*"),
    "activity": (
        "Changes, newest first",
        "13:50, By: import-7, Document: C-2026-00007, Collection: insurance.claims, Version: v140, edited, Fields: .*",
    ),
    "repair": (
        "What was found",
        "ticked, Document: K-204120, What was found: v9 above current v8, Written: .*, Dry run: Would be removed",
    ),
    "taking-back": ("Documents of which changes", "K-204117, ticked, Versions: v14, Dry run: Can be taken back"),
    "health": ("Scans, newest first", r".*, Documents: 17,\d+, Took: .*, Findings: 31, A3 15, V1 2, .*"),
    "pending": ("Pending tokens", ".*, Database: .*|ticked, .*"),
    "migrate": ("", ""),
    "journal": ("Journal", "1, When: .*, What: Edit, Document: K-204111, .*, How it ended: Applied, .*"),
    "check": ("", ""),
}


@pytest.mark.parametrize("kind", each_kind())
def test_a_row_is_heard_as_a_whole_where_tab_comes_to_it(
    traced: Session, window: Window, qtbot: QtBot, kind: str
) -> None:
    called, words = FIRST_HEARD[kind]
    page = filled_page(qtbot, window, traced, kind)
    lists = [one for one in page.findChildren(QAbstractItemView) if one.isVisible() and focus_ring.takes(one)]
    if not called:
        assert not any(one.model().rowCount() for one in lists)
        return
    found = next(one for one in lists if one.accessibleName().startswith(called))
    found.setFocus(Qt.FocusReason.TabFocusReason)
    spoken = QAccessible.queryAccessibleInterface(found).focusChild()
    assert re.fullmatch(words, name(spoken)), name(spoken)


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
    id = session.documents.find_id(NS, ID)
    a, b = (session.catalogue.reading.find_version(NS, id, v) for v in ("11", "14"))
    window.resize(1440, 1300)  # the rows in sight are read
    window.workspace.open(session, PageRequest("collection", NS, id, CollectionStart(a=a, b=b)))
    wait_idle(qtbot)
    reader = ScreenReader(window)
    qtbot.waitUntil(lambda: reader.hears("billing.interval, changed"))
    assert reader.hears('billing.interval, v11, 03 Nov 2026 10:14, by rk-204: "yearly"')
    assert reader.hears('billing.interval, v14, current, 20 Nov 2026 14:26, by rk-204: "monthly"')
    assert reader.hears("net, changed")
    assert reader.hears("type changed") or reader.hears("deductible, ")
