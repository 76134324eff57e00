"""Deleting, purging and restoring through the one door: nothing of a history is lost that can be kept."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pymongo.database
import pytest
from bson import ObjectId

from model.errors import NotFound, Refused
from model.foundation.records import Outcome
from model.profile import Profile
from model.session import Session
from model.values import canonical
from model.values.canonical import Value

Db = pymongo.database.Database[dict[str, Any]]
ID = Value.of("K-1")
KEEPING = ("versions", "flagged", "deltas", "archive", "stream")


@pytest.fixture(params=KEEPING)
def layout(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ns(database: Db) -> str:
    return f"{database.name}.things"


@pytest.fixture
def session(layout: str, ns: str, database: Db, server_uri: str) -> Iterator[Session]:
    """A document at v2, whose layout is stated."""
    stated = {"ns": ns, "layout": layout} | ({"archive": f"{ns}_past"} if layout in ("archive", "stream") else {})
    with Session.open(server_uri, Profile.read({"collection": [stated]}, "here")) as made:
        if made.indexes.missing(ns):
            made.indexes.create(ns)
        assert made.writing.create(ns, canonical.encode({"n": 1}), ID).kind == "applied"
        feed(database, layout)
        assert made.edit(ns, ID, {"n": 2}).kind == "applied"
        feed(database, layout)
        yield made


def feed(database: Db, layout: str) -> None:
    """What feeds the archive of a stream."""
    for doc in database["things"].find() if layout == "stream" else ():
        row = {"docId": doc.pop("_id")} | doc
        database["things_past"].replace_one({"docId": row["docId"], "v": row["v"]}, row, upsert=True)


def stored(database: Db) -> list[dict[str, Any]]:
    return [doc for name in ("things", "things_past") for doc in database[name].find(sort=[("v", 1)])]


def deleted(session: Session, ns: str) -> Outcome:
    outcome = session.writing.delete(ns, ID, session.history.version(ns, ID))
    assert outcome.kind == "applied", outcome
    return outcome


def numbers(session: Session, ns: str) -> list[object]:
    return [each.v.python() if each.v is not None else None for each in session.history.versions(ns, ID)]


def content(session: Session, ns: str) -> bytes | None:
    return session.history.version(ns, ID).content


def test_a_deleted_document_keeps_its_versions_and_is_restored(session: Session, ns: str, layout: str) -> None:
    deleted(session, ns)
    with pytest.raises(NotFound):
        session.history.version(ns, ID)
    assert session.documents.page(ns).rows == ()
    kept = [each.v.python() for each in session.history.versions(ns, ID) if each.v is not None and not each.deleted]
    assert kept == [2, 1]
    assert session.history.last(ns, ID).v is not None
    back = session.writing.restore(ns, ID, Value.of(1))
    assert back.kind == "applied", back
    assert content(session, ns) == canonical.encode({"n": 1})
    assert numbers(session, ns) == ([3, 2, 1] if layout in ("archive", "stream") else [4, 3, 2, 1])
    assert [row.id for row in session.documents.page(ns).rows] == [ID]
    assert session.journal.entries(limit=1)[0].action == "restore"
    assert not list(session.scans.scan([ns])) or layout == "stream", "a stream's feeder has not come by yet"


def test_some_fields_of_a_deleted_document_are_not_restored_alone(session: Session, ns: str, database: Db) -> None:
    deleted(session, ns)
    before = stored(database)
    with pytest.raises(Refused, match="is deleted; restore a whole version"):
        session.writing.restore(ns, ID, Value.of(1), [("n",)])
    assert stored(database) == before


def test_a_delete_is_undone_and_so_is_its_undo(session: Session, ns: str) -> None:
    done = deleted(session, ns)
    assert done.entry is not None
    back = session.way_back.undo(done.entry)
    assert back.kind == "applied", back
    assert content(session, ns) == canonical.encode({"n": 2})
    assert back.entry is not None
    again = session.way_back.undo(back.entry)
    assert again.kind == "applied", again
    with pytest.raises(NotFound):
        session.history.version(ns, ID)
    assert again.entry is not None
    assert session.way_back.undo(again.entry).kind == "applied"
    assert content(session, ns) == canonical.encode({"n": 2})


def test_a_delete_is_not_undone_over_a_document_that_came_since(session: Session, ns: str, database: Db) -> None:
    done = deleted(session, ns)
    assert done.entry is not None
    assert session.writing.create(ns, canonical.encode({"n": 9}), ID).kind == "applied"
    before = stored(database)
    assert session.way_back.undo(done.entry).kind == "conflict"
    assert stored(database) == before


def test_a_delete_is_not_undone_after_a_purge_until_that_is_undone(
    session: Session, ns: str, layout: str, database: Db
) -> None:
    if layout == "stream":
        return  # its archive belongs to the feed, and is not purged from here
    done = deleted(session, ns)
    purged = session.writing.purge(ns, ID, session.history.last(ns, ID))
    assert done.entry is not None
    assert purged.entry is not None
    back = session.way_back.undo(done.entry)
    assert (back.kind, back.detail) == ("conflict", "K-1 was purged since; nothing was written.")
    assert stored(database) == []
    assert session.way_back.undo(purged.entry).kind == "applied"
    assert session.way_back.undo(done.entry).kind == "applied"


def test_a_purge_leaves_nothing_and_is_undone_whole(session: Session, ns: str, layout: str, database: Db) -> None:
    if layout == "stream":
        outcome = session.writing.purge(ns, ID, session.history.version(ns, ID))
        assert (outcome.kind, "feed" in outcome.detail) == ("refused", True)
        return
    for first in (False, True):
        if first:
            deleted(session, ns)
        before = stored(database)
        done = session.writing.purge(ns, ID, session.history.last(ns, ID))
        assert done.kind == "applied", done
        assert stored(database) == []
        with pytest.raises(NotFound):
            session.history.last(ns, ID)
        assert done.entry is not None
        assert session.journal.record(done.entry).entry.action == "purge"
        assert session.way_back.undo(done.entry).kind == "applied"
        assert stored(database) == before


def test_a_delete_without_an_answer_is_found_again(session: Session, ns: str) -> None:
    done = deleted(session, ns)
    assert done.entry is not None
    session.journal.end(done.entry, Outcome("unknown", ns, ID, "The connection was lost."))
    found = session.way_back.look_again(done.entry)
    assert found.kind == "applied", found
    back = session.way_back.undo(done.entry)
    assert back.entry is not None
    session.journal.end(back.entry, Outcome("unknown", ns, ID, "The connection was lost."))
    assert session.way_back.look_again(back.entry).kind == "applied"


def in_doubt(session: Session, ns: str, entry: str | None) -> Outcome:
    """What is found where the outcome of a write was not told."""
    assert entry is not None
    session.journal.end(entry, Outcome("unknown", ns, ID, "The connection was lost."))
    return session.way_back.look_again(entry)


@pytest.mark.parametrize("layout", ["versions", "flagged", "deltas", "archive"])
@pytest.mark.parametrize("first", [False, True], ids=["there", "deleted"])
def test_a_purge_in_doubt_is_told_by_the_versions_that_are_left(
    session: Session, ns: str, layout: str, first: bool, database: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    if first:
        deleted(session, ns)
    before = stored(database)
    done = session.writing.purge(ns, ID, session.history.last(ns, ID))
    home = database["things_past" if layout == "archive" else "things"]
    home.insert_one(before[-1])
    assert in_doubt(session, ns, done.entry).kind == "unknown"  # it ended half-way
    assert session.writing.purge(ns, ID, session.history.last(ns, ID)).kind == "applied"
    assert in_doubt(session, ns, done.entry).kind == "applied"  # so that what it took can be put back
    assert done.entry is not None
    assert session.way_back.undo(done.entry).kind == "applied"
    assert stored(database) == before
    assert in_doubt(session, ns, done.entry).kind == "unknown"  # all is there, and it may still arrive
    monkeypatch.setattr("model.writing.writer.SETTLED_AFTER", dt.timedelta(0))
    assert session.way_back.look_again(done.entry).kind == "conflict"


@pytest.mark.parametrize("layout", ["archive"])
def test_a_purge_that_left_a_copy_of_the_last_version_is_not_told_as_done(
    session: Session, ns: str, database: Db
) -> None:
    done = session.writing.purge(ns, ID, session.history.version(ns, ID))
    database["things_past"].insert_one({"docId": "K-1", "v": 2, "n": 2})  # as its delete archives it first
    assert in_doubt(session, ns, done.entry).kind == "unknown"
    assert session.writing.purge(ns, ID, session.history.last(ns, ID)).kind == "applied"
    assert in_doubt(session, ns, done.entry).kind == "applied"


@pytest.mark.parametrize("layout", ["embedded", "nested", "archive", "hashed", "plain"])
def test_a_delete_in_doubt_is_not_denied_where_another_document_took_the_place(session: Session, ns: str) -> None:
    done = deleted(session, ns)
    assert session.writing.create(ns, canonical.encode({"n": 9}), ID).kind == "applied"
    assert in_doubt(session, ns, done.entry).kind == "unknown"


@pytest.mark.parametrize("layout", ["embedded", "nested", "archive", "hashed", "plain"])
def test_an_undo_in_doubt_does_not_take_another_document_for_the_one_that_was_deleted(
    session: Session, ns: str, database: Db
) -> None:
    done = deleted(session, ns)
    assert done.entry is not None
    back = session.way_back.undo(done.entry)
    database["things"].delete_many({})
    database["things_past"].delete_many({})
    assert session.writing.create(ns, canonical.encode({"n": 9}), ID).kind == "applied"
    assert in_doubt(session, ns, back.entry).kind == "unknown"


@pytest.mark.parametrize("layout", ["versions", "flagged", "deltas"])
def test_an_edit_in_doubt_that_was_purged_is_not_denied(session: Session, ns: str) -> None:
    made = session.edit(ns, ID, {"n": 3})
    assert session.writing.purge(ns, ID, session.history.last(ns, ID)).kind == "applied"
    assert session.writing.create(ns, canonical.encode({"n": 9}), ID).kind == "applied"
    assert in_doubt(session, ns, made.entry).kind == "unknown"


@pytest.mark.parametrize("layout", ["stream"])
def test_a_creation_in_doubt_is_settled_where_the_archive_has_every_version_of_another_document(
    session: Session, ns: str, layout: str, database: Db
) -> None:
    made = session.writing.create(ns, canonical.encode({"n": 1}), Value.of("K-2"))
    for v in (1, 2):  # as somebody else creates it and edits it
        database["things"].replace_one({"_id": "K-2"}, {"v": v, "n": 9, "_w": ObjectId()})
        if v == 2:
            assert in_doubt(session, ns, made.entry).kind == "unknown"  # the archive lacks a version yet
            database["things_past"].insert_one({"docId": "K-2", "v": 1, "n": 9, "_w": ObjectId()})
    assert in_doubt(session, ns, made.entry).kind == "conflict"


@pytest.mark.parametrize("layout", ["versions", "flagged", "deltas"])
def test_a_delete_that_an_earlier_release_journalled_is_undone(session: Session, ns: str, database: Db) -> None:
    writer, base, before = session._connection.writer, session.history.version(ns, ID), stored(database)
    at = writer.catalogue.layout(ns)
    kept = at.all_stored(ID, base)
    intent = writer._removing(at, ID, base, "delete", kept)  # it removed all versions, and kept them in its entry
    done = writer.send(intent, lambda stamp: at.purge(ID, base, stamp, kept))
    assert stored(database) == []
    assert done.entry is not None
    assert session.way_back.undo(done.entry).kind == "applied"
    assert stored(database) == before


@pytest.mark.parametrize("layout", ["versions", "flagged", "deltas"])
def test_following_a_history_goes_through_a_deletion(session: Session, ns: str) -> None:
    deleted(session, ns)
    assert session.history.blame(ns, ID) == ()
    assert [each.changed for each in session.history.versions(ns, ID)] == [1, 1, None]
    assert session.history.compare(ns, ID, Value.of(2), Value.of(3)).b.content == canonical.EMPTY
    assert session.writing.create(ns, canonical.encode({"n": 2, "m": 1}), ID).kind == "applied"
    assert {each.version.v for each in session.history.blame(ns, ID)} == {Value.of(4)}
    assert session.history.chain(ns, ID)


@pytest.mark.parametrize("layout", ["versions", "flagged", "deltas"])
def test_a_migration_takes_a_deletion_along_or_says_that_it_cannot(session: Session, ns: str, layout: str) -> None:
    assert session.writing.create(ns, canonical.encode({"n": 7}), Value.of("K-2")).kind == "applied"
    deleted(session, ns)
    for to in ("versions", "flagged", "deltas"):
        if to != layout:
            moving = session.exchange.migration(ns, to, f"{ns}_{to}")
            assert {each.kind for each in moving.run()} <= {"applied", "skipped"}
            assert [each.wrong for each in moving.verify() if each.wrong] == []
            assert [(each.v, each.deleted) for each in moving.target.history(ID)] == [
                (each.v, each.deleted) for each in session.history.versions(ns, ID)
            ]
    moving = session.exchange.migration(ns, "embedded", f"{ns}_embedded")
    ends = {each.id: each for each in moving.run()}
    assert (ends[Value.of("K-2")].kind, ends[ID].kind) == ("applied", "refused")
    assert "says that the document is deleted" in ends[ID].detail
    assert [each.id for each in moving.verify() if each.wrong] == [ID]
