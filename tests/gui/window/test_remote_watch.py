"""Other programs' writes appear in open views without a click."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymongo
import pytest
from pytestqt.qtbot import QtBot

from gui import tasks
from gui.pages.collection_page import CollectionPage
from gui.pages.document_pages import DocumentPage
from gui.pages.page_request import PageRequest
from gui.pages.tool_pages import JournalPage
from gui.window import remote_watch
from gui.window.opening import Opening
from gui.window.window import Window
from model.foundation.news import News
from model.localserver import open_sample
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from tests.gui.window.windows import new_window, open_source
from tests.support import ROOT, naming


@pytest.fixture
def client(local_uri: str) -> Iterator[pymongo.MongoClient[dict[str, Any]]]:
    with pymongo.MongoClient[dict[str, Any]](local_uri) as made:
        yield made
        made.drop_database("remote_watch")


@pytest.fixture
def window(
    qtbot: QtBot, client: pymongo.MongoClient[dict[str, Any]], local_uri: str, monkeypatch: pytest.MonkeyPatch
) -> Window:
    client.remote_watch.people.insert_many([{"_id": n, "name": f"n{n}", "big": "x" * n} for n in range(5)])
    client.remote_watch.places.insert_one({"_id": 1})  # a collection that is alone would be opened by itself
    made = new_window(qtbot)
    open_source(qtbot, made, Opening(naming(local_uri, "remote_watch")))
    monkeypatch.setattr(remote_watch, "EVERY", 100)
    return made


def test_a_list_and_an_editor_follow_another_program(
    window: Window, client: pymongo.MongoClient[dict[str, Any]], qtbot: QtBot
) -> None:
    people, session = client.remote_watch.people, window.sessions[0]
    listed = window.workspace.open(session, PageRequest("collection", "remote_watch.people"))
    page = window.workspace.open(session, PageRequest("document", "remote_watch.people", Value.of(3)))
    assert isinstance(listed, CollectionPage)
    assert isinstance(page, DocumentPage)
    qtbot.waitUntil(lambda: page.editor.is_loaded and len(window.remote.known(session)) > 0)
    people.update_one({"_id": 3}, {"$set": {"name": "by another program"}})
    wanted = Value.of("by another program")
    qtbot.waitUntil(lambda: canonical.get(page.editor.content, ("name",)) == wanted)
    qtbot.waitUntil(lambda: canonical.get(listed.browser.model.rows[3].raw, ("name",)) == wanted)
    people.delete_one({"_id": 3})
    qtbot.waitUntil(lambda: page.editor.states.kind == "failed")
    qtbot.waitUntil(lambda: len(listed.browser.model.rows) == 4)
    qtbot.waitUntil(lambda: not tasks.tasks.running)


def test_a_list_takes_in_what_another_program_inserts(
    window: Window, client: pymongo.MongoClient[dict[str, Any]], qtbot: QtBot
) -> None:
    people, session = client.remote_watch.people, window.sessions[0]
    page = window.workspace.open(session, PageRequest("collection", "remote_watch.people"))
    assert isinstance(page, CollectionPage)
    qtbot.waitUntil(lambda: len(page.browser.model.rows) == 5 and page in window.remote.pulses)
    page.browser.select(Value.of(3))
    qtbot.waitUntil(lambda: page.browser.row is not None)
    people.insert_one({"_id": 2.5, "name": "new"})
    qtbot.waitUntil(lambda: len(page.browser.model.rows) == 6)
    chosen = page.browser.row
    assert chosen is not None
    assert chosen.id == Value.of(3)
    people.delete_one({"_id": 0})
    people.insert_one({"_id": -1, "name": "in its place"})
    qtbot.waitUntil(lambda: page.browser.model.row_of(Value.of(-1)) >= 0)
    qtbot.waitUntil(lambda: not tasks.tasks.running)


def test_the_journal_takes_in_what_another_process_wrote(window: Window, qtbot: QtBot) -> None:
    session = window.sessions[0]
    page = window.workspace.open(session, PageRequest("journal"))
    assert isinstance(page, JournalPage)
    qtbot.waitUntil(lambda: page in window.remote.pulses and not tasks.tasks.running)
    command = ["edit", session.source, "remote_watch.people", "3", "--set", 'name="from a shell"']
    assert subprocess.run([sys.executable, "-m", "gui", *command], check=False, cwd=ROOT).returncode == 0
    qtbot.waitUntil(lambda: [entry.ns for entry in page.panel.model.rows] == ["remote_watch.people"])
    qtbot.waitUntil(lambda: not tasks.tasks.running)


@pytest.mark.parametrize("kind", ["collection", pytest.param("document", marks=pytest.mark.deep)])
def test_a_write_before_the_first_question_is_noticed(
    window: Window,
    client: pymongo.MongoClient[dict[str, Any]],
    qtbot: QtBot,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("EVERY", "SOON"):
        monkeypatch.setattr(remote_watch, name, 10**6)
    session, wanted = window.sessions[0], Value.of("by another program")
    page = window.workspace.open(session, PageRequest(kind, "remote_watch.people", Value.of(3)))
    qtbot.waitUntil(lambda: bool(page.on_show()) and not tasks.tasks.running)
    assert not window.remote.known(session)
    client.remote_watch.people.update_one({"_id": 3}, {"$set": {"name": "by another program"}})
    window.remote.ask()

    def shown() -> Value | None:
        if isinstance(page, CollectionPage):
            return canonical.get(page.browser.model.rows[3].raw, ("name",))
        assert isinstance(page, DocumentPage)
        return canonical.get(page.editor.content, ("name",))

    qtbot.waitUntil(lambda: shown() == wanted and not tasks.tasks.running)


@pytest.mark.parametrize("took", [0.01, 0.25, 0.5, 1.0, 1.5, 1.66])
def test_a_write_is_seen_in_front_within_five_seconds_by_a_slow_server_too(took: float) -> None:
    assert took + remote_watch.rest(took) / 1000 + took <= 5


def test_a_server_is_asked_for_half_of_the_time_at_most() -> None:
    assert all(remote_watch.rest(took) >= took * 1000 for took in (0.0, 0.5, 1.0, 2.0, 3.0))


@pytest.mark.deep
def test_the_page_in_front_does_not_wait_for_the_tabs_behind_it(
    window: Window, client: pymongo.MongoClient[dict[str, Any]], qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, answers = window.sessions[0], threading.Event()
    behind = window.workspace.open(session, PageRequest("collection", "remote_watch.people"))
    page = window.workspace.open(session, PageRequest("document", "remote_watch.people", Value.of(3)))
    assert isinstance(page, DocumentPage)
    asked: list[object] = []
    monkeypatch.setattr(behind, "pulse_of", lambda _: lambda: asked.append(answers.wait(60)))
    qtbot.waitUntil(lambda: page.editor.is_loaded and page.ns in window.remote.known(session))
    try:
        client.remote_watch.people.update_one({"_id": 3}, {"$set": {"name": "by another program"}})
        wanted = Value.of("by another program")
        qtbot.waitUntil(lambda: canonical.get(page.editor.content, ("name",)) == wanted)
        assert not asked
    finally:
        answers.set()
    qtbot.waitUntil(lambda: bool(asked) and not tasks.tasks.running)


@pytest.mark.deep
def test_what_is_shown_as_it_is_stored_is_not_read_again(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[News] = []
    monkeypatch.setattr(remote_watch.news, "tell", told.append)
    with open_sample() as server:
        made = new_window(qtbot)
        open_source(qtbot, made, Opening(server.uri))
        session = made.sessions[0]
        namespaces = [info.ns for info in session.catalogue.collections() if info.ns.startswith("insurance.")]
        for ns in namespaces:
            row = next(row for row in session.documents.page(ns, limit=5).rows if row.readable)
            for kind in ("collection", "document"):
                made.workspace.open(session, PageRequest(kind, ns, row.id))
        pages = made.workspace.tab_area.pages
        qtbot.waitUntil(lambda: all(page.on_show() for page in pages) and not tasks.tasks.running)
        made.remote.ask()
        qtbot.waitUntil(lambda: set(made.remote.known(session)) == set(namespaces) and not tasks.tasks.running)
        assert not told


def test_a_mark_is_another_once_its_document_was_written(
    window: Window, client: pymongo.MongoClient[dict[str, Any]], qtbot: QtBot
) -> None:
    session = window.sessions[0]
    ids = [Value.of(n) for n in range(5)]
    small = session.documents.marks("remote_watch.people", ids)
    assert set(small) == set(ids)
    client.remote_watch.people.update_one({"_id": 1}, {"$set": {"name": "changed"}})
    again = session.documents.marks("remote_watch.people", ids)
    assert [id for id in ids if small[id] != again[id]] == [Value.of(1)]
    client.remote_watch.people.delete_one({"_id": 2})
    assert Value.of(2) not in session.documents.marks("remote_watch.people", ids)


def test_large_documents_are_told_by_version_and_token_alone(homes: Path) -> None:
    with Session.open("sample:", home=homes / "marks") as session:
        for ns in ("insurance.claims", "insurance.contracts"):
            ids = [row.id for row in session.documents.page(ns, limit=5).rows]
            before = session.documents.marks(ns, ids, 10**8)
            session.colleague.change(ns, ids[1])
            after = session.documents.marks(ns, ids, 10**8)
            assert [id for id in ids if before[id] != after[id]] == [ids[1]]
