"""Versions that outgrew their ``embedded`` document: rows of a second collection, and how they get there."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymongo
import pymongo.database
import pytest
from bson import ObjectId

from model.checks import embedded_chain
from model.errors import NotFound
from model.foundation.findings import Finding
from model.foundation.records import Outcome
from model.repair import outgrown_documents
from model.repair.plan import Plan
from model.server.retry import Reply, Server, Write
from model.session import Session
from model.values.canonical import Value
from tests.model.server.faulty_server import FaultyServer

Db = pymongo.database.Database[dict[str, Any]]
ID = Value.of("K-1")


@pytest.fixture
def database(server_uri: str) -> Iterator[Db]:
    with pymongo.MongoClient[dict[str, Any]](server_uri) as client:
        made = client[f"older_{uuid.uuid4().hex[:10]}"]
        yield made
        client.drop_database(made.name)


@pytest.fixture
def session(server_uri: str, database: Db, tmp_path: Path) -> Iterator[Session]:
    profile = tmp_path / "layouts.toml"
    profile.write_text(f'[[collection]]\nns = "{database.name}.things"\nlayout = "embedded"\n')
    with Session.open(server_uri, profile=profile, home=tmp_path) as made:
        yield made


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents count as nearly full from 3 KB on, and keep 700 bytes of earlier versions."""
    monkeypatch.setattr(embedded_chain, "NEAR_FULL", 3000)
    monkeypatch.setattr(outgrown_documents, "NEAR_FULL", 3000)
    monkeypatch.setattr(outgrown_documents, "SMALL", 700)


def part(v: int, size: int = 10) -> dict[str, Any]:
    return {"v": v, "_w": ObjectId(), "title": f"as of {v}", "scan": "x" * size}


def versions(session: Session, database: Db) -> list[tuple[Any, str, str]]:
    found = session.history.versions(f"{database.name}.things", ID)
    return [(each.v.python() if each.v else None, each.stored, each.state) for each in found]


def findings(session: Session, database: Db) -> list[Finding]:
    return [each for each in session.scans.scan([f"{database.name}.things"]) if isinstance(each, Finding)]


def plan(session: Session, database: Db) -> Plan:
    made = session.repairs.plan(findings(session, database))
    for item in made.items:
        if item.asks:
            made = made.with_answer(item.no, "move")
    return made


def outcomes(session: Session, made: Plan) -> list[Outcome]:
    return [outcome for _, outcome in session.repairs.apply(made)]


# --- reading


def test_versions_that_were_moved_out_are_read_where_they_are_now(session: Session, database: Db) -> None:
    database["things"].insert_one({"_id": "K-1", "current": part(5), "prev": [part(4)]})
    rows = [{"_id": ObjectId(), "docId": "K-1", **part(v)} for v in (1, 3)]
    database["things_history"].insert_many([*rows, {"docId": "K-2", **part(2)}])
    assert versions(session, database) == [
        (5, "document", "present"),
        (4, "prev", "present"),
        (3, "archive", "present"),
        (2, "none", "missing"),
        (1, "archive", "present"),
    ]
    ns = f"{database.name}.things"
    moved = session.history.version(ns, ID, Value.of(3))
    assert moved.content == Value.of({"title": "as of 3", "scan": "x" * 10}).data
    with pytest.raises(NotFound):
        session.history.version(ns, ID, Value.of(2))
    (outline,) = session.documents.outlines(ns, [ID])
    assert outline.health == "1 version missing"
    (gap,) = findings(session, database)
    assert (gap.code, [v.python() for v in gap.versions]) == ("E1", [2])


def test_a_history_that_is_whole_in_two_places_is_sound(session: Session, database: Db) -> None:
    database["things"].insert_one({"_id": "K-1", "current": part(3), "prev": []})
    database["things_history"].insert_many([{"docId": "K-1", **part(v)} for v in (1, 2)])
    assert findings(session, database) == []
    assert session.edit(f"{database.name}.things", ID, {"title": "next"}).kind == "applied"
    assert [v for v, _, _ in versions(session, database)] == [4, 3, 2, 1]


@pytest.mark.parametrize("profile", [True, False], ids=["stated", "recognised"])
def test_the_rows_belong_to_the_documents_and_are_scanned_with_them(
    session: Session, server_uri: str, database: Db, tmp_path: Path, profile: bool
) -> None:
    docs = [{"_id": f"K-{n}", "current": part(4), "prev": [part(v) for v in (2, 3)]} for n in range(5)]
    database["things"].insert_many(docs)
    database["things_history"].insert_many([{"docId": f"K-{n}", **part(1)} for n in range(5)])
    with session if profile else Session.open(server_uri, home=tmp_path) as opened:
        rows = opened.catalogue.info(f"{database.name}.things_history")
        assert (rows.belongs_to, opened.catalogue.info(f"{database.name}.things").layout) == (
            f"{database.name}.things",
            "embedded",
        )
        assert list(opened.scans.scan([database.name])) == []


# --- moving


@pytest.mark.usefixtures("small")
def test_a_document_that_is_out_of_order_moves_each_of_its_versions_once(session: Session, database: Db) -> None:
    one = part(1, 800)
    prev = [part(3, 800), one, part(2, 800), part(4, 100), one, part(5, 100)]
    database["things"].insert_one({"_id": "K-1", "current": part(6), "prev": prev})
    before = _contents(session, database)
    assert sorted(before) == [1, 2, 3, 4, 5, 6]
    (e1, e2) = outcomes(session, plan(session, database))
    assert (e1.kind, e2.kind) == ("applied", "applied"), (e1, e2)
    assert findings(session, database) == []
    assert [row["v"] for row in database["things_history"].find(sort=[("v", 1)])] == [1, 2, 3]
    doc = database["things"].find_one({"_id": "K-1"})
    assert doc is not None
    assert [each["v"] for each in doc["prev"]] == [4, 5]
    assert _contents(session, database) == before


def _contents(session: Session, database: Db) -> dict[Any, bytes | None]:
    ns = f"{database.name}.things"
    found = [each.v for each in session.history.versions(ns, ID) if each.state == "present"]
    return {v.python(): session.history.version(ns, ID, v).content for v in found if v is not None}


@pytest.mark.usefixtures("small")
def test_another_row_under_the_same_number_is_for_a_person(session: Session, database: Db) -> None:
    database["things"].insert_one({"_id": "K-1", "current": part(3), "prev": [part(1, 2000), part(2, 2000)]})
    row = {"_id": ObjectId(), "docId": "K-1", **part(1)}
    database["things_history"].insert_one(row)
    (outcome,) = outcomes(session, plan(session, database))
    assert outcome.kind == "refused"
    assert "which is right" in outcome.detail
    assert list(database["things_history"].find()) == [row]


@pytest.mark.usefixtures("small")
def test_a_current_version_that_is_too_large_by_itself_is_not_helped(session: Session, database: Db) -> None:
    database["things"].insert_one({"_id": "K-1", "current": part(2, 4000), "prev": [part(1, 800)]})
    (outcome,) = outcomes(session, plan(session, database))
    assert outcome.kind == "refused"
    assert "does not help" in outcome.detail
    assert "things_history" not in database.list_collection_names()


class Between(FaultyServer):
    """A port behind which somebody edits just before the document is written."""

    def __init__(self, server: Server, act: Callable[[], object]) -> None:
        super().__init__(server)
        self.act = act

    def send(self, write: Write) -> Reply:
        if write.kind == "update":
            self.act()
        return super().send(write)


@pytest.mark.usefixtures("small")
def test_an_edit_that_comes_between_leaves_the_document_whole_and_the_next_scan_goes_on(
    session: Session, database: Db
) -> None:
    database["things"].insert_one({"_id": "K-1", "current": part(3), "prev": [part(1, 2000), part(2, 2000)]})
    made = plan(session, database)
    from model.catalogue.catalogue import Catalogue
    from model.profile import Profile
    from model.session.repairs import Repairs
    from model.writing.writer import Writer

    server = session._connection.opened.server
    act = lambda: database["things"].update_one({"_id": "K-1"}, {"$set": {"current.title": "late"}})  # noqa: E731
    port = Between(server, act)
    stated = Profile.load(session.journal.path.parent / "layouts.toml")
    catalogue = Catalogue(server, port, stated, session.source)
    repairs = Repairs(Writer(catalogue, port, session.journal, session.source, "tester"), lambda *_: None)
    ((_, outcome),) = list(repairs.apply(made))
    assert outcome.kind == "conflict", outcome
    doc = database["things"].find_one({"_id": "K-1"})
    assert doc is not None
    assert [each["v"] for each in doc["prev"]] == [1, 2]
    assert [each.kind for each in outcomes(session, plan(session, database))] == ["applied"]
    assert database["things_history"].count_documents({}) == 2
    assert [(v, where) for v, where, _ in versions(session, database)] == [
        (3, "document"),
        (2, "archive"),
        (1, "archive"),
    ]


@pytest.mark.usefixtures("small")
def test_undo_keeps_a_row_that_the_document_does_not_hold(session: Session, database: Db) -> None:
    database["things"].insert_one({"_id": "K-1", "current": part(3), "prev": [part(1, 2000), part(2, 2000)]})
    run = session.repairs.apply(plan(session, database))
    assert [outcome.kind for _, outcome in run] == ["applied"]
    assert "unique index on docId and v" in " ".join(run.offers)
    database["things"].update_one({"_id": "K-1"}, {"$set": {"current.title": "edited since"}})
    assert {outcome.kind for outcome in session.repairs.undo(run.id)} == {"conflict"}
    assert [v for v, _, _ in versions(session, database)] == [3, 2, 1]
