"""Edits that create a missing document: once, whoever else creates it, and in every writable layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pymongo
import pytest

from model.errors import NotFound, Refused
from model.foundation.records import Outcome
from model.layouts.registry import WRITABLE
from model.server.retry import Reply, Server, Write
from model.session import Session
from model.values.canonical import Value
from model.writing.writer import Writer
from tests import support
from tests.model.layouts.layout_support import doc

DB, NS = "upserts", "upserts.things"


@pytest.fixture(params=support.some(WRITABLE, "archive", "versions", "embedded", "deltas", "hashed"))
def session(request: pytest.FixtureRequest, local_uri: str, tmp_path: Path) -> Iterator[Session]:
    name = str(request.param)
    archive = f'archive = "{DB}.things_past"' if "archive" in WRITABLE[name].roles else ""
    path = tmp_path / "p.toml"
    path.write_text(f'[[collection]]\nns = "{NS}"\nlayout = "{name}"\ntoken = "_w"\n{archive}\n', encoding="utf-8")
    with pymongo.MongoClient[dict[str, Any]](local_uri) as client:
        client.drop_database(DB)
        client[DB]["things"].insert_one({"_id": 0, "docId": "other", "v": 1, "version": 1, "a": 1})
        with Session.open(local_uri, path, home=tmp_path / "home") as made:
            if made.indexes.missing(NS):
                made.indexes.create(NS)
            yield made
        client.drop_database(DB)


def content(session: Session, id: object = "K-1") -> bytes | None:
    return session.history.version(NS, Value.of(id)).content


def test_a_document_that_is_not_there_is_made_of_what_is_set_and_changed_afterwards(session: Session) -> None:
    first = session.edit(NS, "K-1", {"a": 1, "deep.b": 2}, "gone", create=True)
    assert (first.kind, first.id) == ("applied", Value.of("K-1")), first
    assert content(session) == doc(a=1, deep={"b": 2})
    assert session.edit(NS, "K-1", {"a": 5}, create=True).kind == "applied"
    assert content(session) == doc(a=5, deep={"b": 2})
    assert session.edit(NS, "K-1", {"a": 5}, create=True).kind == "skipped"
    entry = session.edit(NS, 7, {"a": 1}, create=True).entry
    assert entry is not None
    assert session.way_back.undo(entry).kind == "applied"
    with pytest.raises(NotFound):
        session.history.version(NS, Value.of(7))


def test_without_being_told_to_an_edit_makes_nothing(session: Session) -> None:
    with pytest.raises(NotFound):
        session.edit(NS, "K-1", {"a": 1})
    with pytest.raises(Refused, match="has no base, only fields to set"):
        session.edit(NS, "K-1", {"a": 1}, base=1, create=True)
    with pytest.raises(Refused, match="has no base, only fields to set"):
        session.edit(NS, "K-1", unset="a", create=True)
    with pytest.raises(Refused, match="kept by the layout"):
        session.edit(NS, "K-1", {"_id": 1}, create=True)


def test_of_two_that_make_it_one_is_applied_and_the_other_a_conflict(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: Callable[..., Outcome] = Writer.create
    theirs: list[Outcome] = []

    def overtaken(self: Writer, *args: Any, **more: Any) -> Outcome:
        monkeypatch.undo()
        theirs.append(session.edit(NS, "K-1", {"theirs": 1}, create=True))
        return real(self, *args, **more)

    monkeypatch.setattr(Writer, "create", overtaken)
    mine = session.edit(NS, "K-1", {"mine": 1}, create=True)
    assert (theirs[0].kind, mine.kind) == ("applied", "conflict")
    assert "created by somebody else meanwhile; nothing was written" in mine.detail
    assert content(session) == doc(theirs=1)
    (entry,) = [each for each in session.journal.entries() if each.id == mine.entry]
    assert entry.kind == "conflict"


def test_however_many_make_it_it_is_made_once_and_no_field_is_lost(session: Session) -> None:
    def work(number: int) -> Outcome:
        return session.edit(NS, "K-1", {f"f{number}": number}, create=True)

    with ThreadPoolExecutor(8) as pool:
        ends = list(pool.map(work, range(8)))
    assert {end.kind for end in ends} <= {"applied", "conflict"}
    assert sum(end.detail.startswith("Created") for end in ends) == 1
    now = dict(Value.document(content(session) or b"").python())
    assert now == {f"f{at}": at for at, end in enumerate(ends) if end.kind == "applied"}


def test_a_creation_in_doubt_is_there_once(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[[Server, Write], Reply] = Server.send
    lost = Reply("unknown", retry=True, sentence="The connection was lost while the write was on its way.")

    def send(server: Server, write: Write) -> Reply:
        monkeypatch.undo()
        real(server, write)
        return lost

    monkeypatch.setattr(Server, "send", send)
    assert session.edit(NS, "K-1", {"a": 1}, create=True).kind == "applied"
    assert content(session) == doc(a=1)
