"""Histories exported and imported again: equal in every layout, guarded, undoable, and nothing twice."""

from __future__ import annotations

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pymongo
import pymongo.database
import pytest
from bson import ObjectId

from model.errors import Cancelled, NotFound, Refused
from model.exchange.history_files import Form
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Outcome, Version
from model.layouts.registry import WRITABLE, bind, stated
from model.localserver.sample.corners import bson_types
from model.operations.batches import Run
from model.profile import Profile
from model.server.retry import Server, Write
from model.session import Session
from model.values import canonical as c
from model.values.canonical import Value
from tests import support

FORMS: tuple[Form, ...] = ("git", "folder", "jsonl")
NUMBERED = [name for name, layout in WRITABLE.items() if layout.numbered]
DAY = dt.datetime(2026, 3, 1, 12, 30, 15, 250_000, dt.UTC)
PEOPLE = ["ann", "Jürgen <j@example.org>", "ann"]


def profile_of(ns: str, layout: str) -> CollectionProfile:
    own = {"id": "docId"} if WRITABLE[layout].own_documents else {}
    return stated(ns, layout, at="changedAt", author="changedBy", reason="why", **own)


def life(contents: Sequence[bytes], numbers: Sequence[int]) -> list[Version]:
    """Versions with these contents and numbers, oldest first."""
    found = []
    for at, (content, v) in enumerate(zip(contents, numbers, strict=True)):
        author, reason = Value.of(PEOPLE[at % 3]), Value.of(f"reason {at}\nwith lines") if at % 2 else None
        when = DAY + dt.timedelta(days=v)
        empty = Version(Value.of(v), when, None, "document", "present", False, None, None)
        found.append(empty.but(content=content, signed=(author, reason)))
    return found


def plant(server: Server, profile: CollectionProfile, lives: dict[Value, list[Version]]) -> None:
    layout = bind(server, profile)
    if layout.missing_index():
        layout.create_index()
    for id, versions in lives.items():
        for ns, raw in layout.as_stored(id, versions):
            server.send(Write(ns, "insert", {}, raw, ""))


def told(session: Session, ns: str) -> dict[tuple[Value, Value | None], tuple[object, ...]]:
    """All that is known of each version, gaps included."""
    found: dict[tuple[Value, Value | None], tuple[object, ...]] = {}
    for row in session.documents.page(ns, limit=1000, any_version=True).rows:
        for each in session.history.versions(ns, row.id):
            content = session.history.version(ns, row.id, each.v).content if each.state != "missing" else None
            known = (each.at, each.author, each.reason, each.state, each.current, each.deleted)
            found[row.id, each.v] = (content, *known)
    return found


def kinds(run: Iterator[Outcome] | Run) -> dict[str, int]:
    return dict(Counter(each.kind for each in run))


@pytest.fixture
def database(local_uri: str) -> Iterator[pymongo.database.Database[dict[str, Any]]]:
    with pymongo.MongoClient(local_uri) as client:
        name = f"exchange_{uuid.uuid4().hex[:12]}"
        yield client[name]
        client.drop_database(name)


@pytest.mark.parametrize("layout", support.some(NUMBERED, "archive"))
def test_a_history_of_all_types_comes_back_equal_in_every_layout(
    layout: str, local_uri: str, database: Any, tmp_path: Path
) -> None:
    corners = [dict(c.fields(raw)) for raw in bson_types()][:-1]
    contents = [
        c.document([("kind", d.pop("_id")), ("corners", Value.document(c.document(d.items())))]) for d in corners
    ]
    third = len(contents) // 3
    lives = {
        Value.of("K-1"): life(contents[:third], [1, 2, *range(5, third + 3)]),  # v3 and v4 are missing
        Value.of(ObjectId("5f0000000000000000000001")): life(contents[third : 2 * third], range(1, third + 1)),
        Value.of({"of": "two", "parts": 7}): life(contents[2 * third :], range(1, len(contents) - 2 * third + 1)),
    }
    ns = f"{database.name}.orders"
    with Server.connect(local_uri) as server:
        plant(server, profile_of(ns, layout), lives)
    targets = {form: f"{database.name}.{form}_orders" for form in FORMS}
    stated_ones = Profile(tuple(profile_of(each, layout) for each in (ns, *targets.values())))
    with Session.open(local_uri, stated_ones) as session:
        wanted = told(session, ns)
        assert len(wanted) >= len(contents)
        for form, target in targets.items():
            path = tmp_path / form
            made = session.exchange.export_history(ns, path, form)
            assert [each.versions for each in made]
            assert (made.written, made.left, made.other) == (len(contents), (), ())
            run = session.exchange.history_import(target, path).apply()
            assert kinds(run) == {"applied": len(lives)}
            assert told(session, target) == wanted, form
            assert kinds(session.exchange.history_import(target, path).apply()) == {"skipped": len(lives)}
            assert kinds(session.exchange.history_import(ns, path).apply()) == {"skipped": len(lives)}, (
                "where it came from too"
            )
        assert set(kinds(session.way_back.undo_run(run.id))) == {"applied"}
        assert not session.documents.count(target)[0]


def orders(local_uri: str, database: Any, layout: str = "versions", versions: int = 3) -> tuple[str, Profile]:
    """One order with some versions in a layout, as ``shop`` states it for every collection that the tests import to."""
    ns = f"{database.name}.orders"
    contents = [c.document([("total", Value.of(v))]) for v in range(1, versions + 1)]
    with Server.connect(local_uri) as server:
        plant(server, profile_of(ns, layout), {Value.of("A"): life(contents, range(1, versions + 1))})
    return ns, Profile((profile_of(ns, layout),))


@pytest.mark.parametrize("layout", support.some(["versions", "archive", "embedded", "deltas"], "versions", "embedded"))
def test_versions_that_came_later_are_brought_behind_those_that_are_there(
    layout: str, local_uri: str, database: Any, tmp_path: Path
) -> None:
    ns, shop = orders(local_uri, database, layout, 2)
    target = f"{database.name}.again"
    with Session.open(local_uri, shop) as session:
        list(session.exchange.export_history(ns, tmp_path / "g", "git"))
        first = session.exchange.history_import(target, tmp_path / "g").apply()
        assert kinds(first) == {"applied": 1}
        assert session.edit(ns, "A", {"total": 9}).kind == "applied"
        assert session.edit(ns, "A", {"more": True}).kind == "applied"
        list(session.exchange.export_history(ns, tmp_path / "g", "git"))
        second = session.exchange.history_import(target, tmp_path / "g").apply()
        assert kinds(second) == {"applied": 1}
        assert told(session, target) == told(session, ns)
        assert set(kinds(session.way_back.undo_run(second.id))) == {"applied"}
        assert [v.python() for _, v in told(session, target) if v] == [2, 1], "what the first run brought is left"


@pytest.mark.parametrize("layout", ["versions", "archive"])
def test_what_others_wrote_is_never_overwritten_nor_undone_from_under_them(
    layout: str, local_uri: str, database: Any, tmp_path: Path
) -> None:
    ns, shop = orders(local_uri, database, layout)
    target = f"{database.name}.again"
    with Session.open(local_uri, shop) as session:
        list(session.exchange.export_history(ns, tmp_path / "f.jsonl", "jsonl"))
        run = session.exchange.history_import(target, tmp_path / "f.jsonl").apply()
        assert kinds(run) == {"applied": 1}
        assert session.edit(target, "A", {"total": 100}).kind == "applied"
        assert kinds(session.exchange.history_import(target, tmp_path / "f.jsonl").apply()) == {"skipped": 1}
        before = told(session, target)
        assert set(kinds(session.way_back.undo_run(run.id))) == {"conflict"}, "the new version rests on these"
        assert told(session, target) == before
        name = "again" if layout == "versions" else "again_history"
        database[name].update_one({"v": 2}, {"$set": {"total": 7}})
        (drawn,) = session.exchange.history_import(target, tmp_path / "f.jsonl").drawn()
        assert drawn.kind == "conflict"
        assert drawn.detail == "v2 of A is there with other contents; nothing was written."
        database[name].delete_one({"v": 2})
        (drawn,) = session.exchange.history_import(target, tmp_path / "f.jsonl").drawn()
        assert drawn.kind == "conflict", "somebody has gone on behind the gap"


def test_a_deletion_comes_back_as_one(local_uri: str, database: Any, tmp_path: Path) -> None:
    ns, shop = orders(local_uri, database)
    target = f"{database.name}.again"
    with Session.open(local_uri, shop) as session:
        assert session.writing.delete(ns, Value.of("A"), session.history.last(ns, Value.of("A"))).kind == "applied"
        list(session.exchange.export_history(ns, tmp_path / "g", "git"))
        assert kinds(session.exchange.history_import(target, tmp_path / "g").apply()) == {"applied": 1}
        assert told(session, target) == told(session, ns)
        assert session.history.last(target, Value.of("A")).deleted
        past = f"{database.name}.past"
        work = session.exchange.history_import(past, tmp_path / "g", "archive")
        assert kinds(work.apply()) == {"applied": 1}
        assert work.losses() == ["Who deleted a document, and when, is not kept (1 version)."]
        with pytest.raises(NotFound):
            session.history.version(past, Value.of("A"))
        assert [each.v.python() for each in session.history.versions(past, Value.of("A")) if each.v] == [3, 2, 1]
        list(session.exchange.export_history(past, tmp_path / "p", "folder"))
        assert kinds(session.exchange.history_import(past, tmp_path / "p").apply()) == {"skipped": 1}
        inside = session.exchange.history_import(f"{database.name}.inside", tmp_path / "g", "embedded")
        (drawn,) = inside.drawn()
        assert (drawn.kind, "embedded keeps nothing of deleted documents" in drawn.detail) == ("refused", True)


def test_what_has_no_place_is_said_before(local_uri: str, database: Any, tmp_path: Path) -> None:
    ns, shop = orders(local_uri, database)
    bare = f"{database.name}.bare"
    profile = Profile((*shop.collections, stated(bare, "archive")))
    with Session.open(local_uri, profile) as session:
        list(session.exchange.export_history(ns, tmp_path / "f.jsonl", "jsonl"))
        work = session.exchange.history_import(bare, tmp_path / "f.jsonl")
        assert [said.partition(" (")[0] for said in work.foreseen()] == [
            "No field is stated for times",
            "No field is stated for authors",
            "No field is stated for reasons",
        ]
        assert [each.kind for each in work.drawn()] == ["applied"]
        assert [said.rpartition(" (")[2] for said in work.losses()] == ["3 versions).", "3 versions).", "1 version)."]
        assert kinds(work.apply()) == {"applied": 1}
        newest, *earlier = [each.at for each in session.history.versions(bare, Value.of("A"))]
        assert newest is None, "the document's own id says nothing of the time, and it carries no token"
        assert earlier == [
            each.at and each.at.replace(microsecond=0) for each in list(session.history.versions(ns, Value.of("A")))[1:]
        ]
        assert kinds(session.exchange.history_import(bare, tmp_path / "f.jsonl").apply()) == {"skipped": 1}


def test_a_collection_that_cannot_take_a_history_is_refused(local_uri: str, database: Any, tmp_path: Path) -> None:
    ns, shop = orders(local_uri, database)
    database["people"].insert_many([{"_id": each, "name": "x"} for each in range(3)])
    with Session.open(local_uri, shop) as session:
        list(session.exchange.export_history(ns, tmp_path / "f.jsonl", "jsonl"))
        for place, layout, why in (
            ("people", "", "keeps only the newest"),
            ("hashes", "hashed", "keeps only the newest"),
        ):
            with pytest.raises(Refused, match=why):
                list(session.exchange.history_import(f"{database.name}.{place}", tmp_path / "f.jsonl", layout).drawn())
        with pytest.raises(Refused, match="no history that an export wrote"):
            list(session.exchange.history_import(ns, Path(__file__)).drawn())
        with pytest.raises(NotFound):
            list(session.exchange.history_import(ns, tmp_path / "nothing").drawn())
        session.trust.read_only = True
        with pytest.raises(Refused, match="read-only"):
            session.exchange.history_import(f"{database.name}.again", tmp_path / "f.jsonl").apply()


def test_an_import_that_died_goes_on_where_it_ended(local_uri: str, database: Any, tmp_path: Path) -> None:
    ns, shop = orders(local_uri, database, "archive", 5)
    with Session.open(local_uri, shop) as session:
        list(session.exchange.export_history(ns, tmp_path / "f.jsonl", "jsonl"))
        for left in range(5):
            target = f"{database.name}.again{left}"
            drawn = list(session.exchange.history_import(target, tmp_path / "f.jsonl").drawn())
            database[f"again{left}_history"].create_index([("docId", 1), ("v", 1)], unique=True)
            with Server.connect(local_uri) as server:
                for step in drawn[0].steps[:left]:
                    server.send(step.write)
            assert kinds(session.exchange.history_import(target, tmp_path / "f.jsonl").apply()) == {"applied": 1}
            assert told(session, target) == told(session, ns)


def test_an_import_that_is_stopped_says_what_it_did_and_is_undone(
    local_uri: str, database: Any, tmp_path: Path
) -> None:
    ns, target = f"{database.name}.orders", f"{database.name}.again"
    profile = profile_of(ns, "versions")
    lives = {Value.of(id): life([c.document([("n", Value.of(id))])], [1]) for id in "ABC"}
    with Server.connect(local_uri) as server:
        plant(server, profile, lives)

    def stop(done: int, total: int | None) -> None:
        if run is not None and len(run.done) == 2:
            raise Cancelled

    with Session.open(local_uri, Profile((profile,))) as session:
        list(session.exchange.export_history(ns, tmp_path / "f.jsonl", "jsonl"))
        run: Run | None = None
        run = session.exchange.history_import(target, tmp_path / "f.jsonl").apply(stop)
        with pytest.raises(Cancelled):
            list(run)
        assert [each.kind for each in run.done] == ["applied", "applied"]
        assert session.documents.count(target)[0] == 2
        assert kinds(session.way_back.undo_run(run.id)) == {"applied": 2}
        assert session.documents.count(target)[0] == 0
