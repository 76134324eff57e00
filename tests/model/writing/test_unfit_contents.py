"""Contents that cannot be stored as given: no document gets a name twice, and no driver error escapes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import bson
import pymongo
import pymongo.database
import pytest

from model.errors import Refused
from model.layouts.registry import WRITABLE, has_archive
from model.profile import Profile
from model.session import Session
from model.values import canonical as c
from model.values.canonical import Value

Db = pymongo.database.Database[dict[str, Any]]
OWN = ("versions", "flagged", "deltas")


@pytest.fixture
def db(local_uri: str) -> Iterator[Db]:
    """A database of this test's own, in the in-process server."""
    with pymongo.MongoClient[dict[str, Any]](local_uri) as client:
        name = f"unfit_{uuid.uuid4().hex[:8]}"
        yield client[name]
        client.drop_database(name)


def opened(db: Db, uri: str, layout: str) -> Session:
    stated: dict[str, Any] = {"ns": f"{db.name}.things", "layout": layout}
    stated |= {"id": "docId"} if layout in OWN else {"archive": f"{db.name}.past"} if has_archive(layout) else {}
    for name, wanted in (("things", layout in OWN), ("past", has_archive(layout))):
        if wanted:
            db[name].create_index([("docId", 1), ("v", 1)], unique=True)
    return Session.open(uri, Profile.read({"collection": [stated]}, "the profile"))


@pytest.mark.parametrize("layout", list(WRITABLE))
def test_a_content_with_a_name_that_the_layout_keeps_is_refused(db: Db, local_uri: str, layout: str) -> None:
    ns = f"{db.name}.things"
    with opened(db, local_uri, layout) as session:
        kept = session.catalogue.layout(ns).locked
        assert "_id" in kept
        for name in kept:
            assert session.writing.create(ns, bson.encode({"a": 1, name: 3}), Value.of("K")).kind == "refused"
        twice = c.document([("a", Value.of(1)), ("a", Value.of(2))])
        assert "holds the field a twice" in session.writing.create(ns, twice, Value.of("K")).detail
        assert session.once.insert(ns, {"_id": 3, "a": 1}).kind == "refused"
        assert db.things.count_documents({}) == 0
        assert session.writing.create(ns, bson.encode({"a": 1}), Value.of("K")).kind == "applied"
        base = session.history.version(ns, Value.of("K"))
        for name in kept:
            outcome = session.writing.save(ns, Value.of("K"), base, bson.encode({"a": 2, name: 3}))
            assert (outcome.kind, name in outcome.detail) == ("refused", True)
        assert session.history.version(ns, Value.of("K")).content == base.content


def test_a_document_with_the_name_that_the_archive_needs_is_not_said_to_be_edited_in_place(
    db: Db, local_uri: str
) -> None:
    db.things.insert_one({"_id": "K", "v": 1, "docId": "mine"})
    ns, id = f"{db.name}.things", Value.of("K")
    with opened(db, local_uri, "archive") as session:
        for outcome in (
            session.edit(ns, id, {"a": 1}),
            session.writing.delete(ns, id, session.history.version(ns, id)),
        ):
            assert outcome.kind == "refused"
            assert "name archive_id otherwise" in outcome.detail
    assert list(db.past.find()) == []
    assert list(db.things.find()) == [{"_id": "K", "v": 1, "docId": "mine"}]


def test_what_python_cannot_store_is_refused_in_a_sentence(db: Db, local_uri: str) -> None:
    ns = f"{db.name}.things"
    with opened(db, local_uri, "plain") as session:
        with pytest.raises(Refused, match="cannot be stored"):
            session.once.insert(ns, {"a": object()})
        db.things.insert_one({"_id": 2.0**53})
        assert "largest number" in session.once.insert_next(ns, {"a": 1}).detail
    db.things.drop()
    db.things.insert_one({"_id": "Spain", "count": 1, "processed": []})
    with opened(db, local_uri, "processed") as session:
        outcome = session.once.process(ns, "Spain", "cup", by=2**70)
        assert (outcome.kind, "cannot be stored" in outcome.detail) == ("refused", True)
