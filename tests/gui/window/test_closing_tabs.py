"""What a closed tab was reading ends with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from gui import tasks
from gui.pages.page_request import PageRequest, TakingBackStart
from gui.window.window import Window
from model.operations.taking_back import Chosen, TakingBack
from model.session import Session
from model.session.repairs import Repairs
from tests.gui.window.windows import ID, NS, wait_idle


def taking_back(session: Session) -> PageRequest:
    id = session.documents.find_id(NS, ID)
    return PageRequest(
        "taking-back", NS, start=TakingBackStart((Chosen(id, (session.catalogue.reading.find_version(NS, id, "14"),)),))
    )


def repairs(session: Session) -> PageRequest:
    return PageRequest("repair", "insurance.tariffs")


@pytest.mark.parametrize(
    ("kind", "name", "asked"),
    [(TakingBack, "drawn", taking_back), (Repairs, "dry_run", repairs)],
    ids=["taking back", "repairs"],
)
def test_a_dry_run_stops_as_its_tab_is_closed(
    window: Window,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
    kind: type,
    name: str,
    asked: Callable[[Session], PageRequest],
) -> None:
    begun, closed = Event(), Event()

    def endless(_: Any, place: Any, *given: Any, **named: Any) -> Iterator[Any]:
        progress = given[-1]
        begun.set()
        assert closed.wait(60)
        for done in range(10**9):
            progress(done, None)
        yield

    monkeypatch.setattr(kind, name, endless)
    page = window.workspace.open(window.sessions[0], asked(window.sessions[0]))
    qtbot.waitUntil(begun.is_set)
    window.workspace.tab_area.close_page(page)
    closed.set()
    wait_idle(qtbot)
    assert not tasks.tasks.running
