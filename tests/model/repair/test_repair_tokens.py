"""Repairs of tokens while others count in the same document: what is reported is what was done."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pymongo
import pymongo.database
import pytest
from bson import ObjectId

from model.catalogue.catalogue import Catalogue
from model.errors import Unreachable
from model.foundation.findings import Finding
from model.foundation.records import Outcome
from model.profile import Profile
from model.server.retry import Reply, Server, Write
from model.session import Session
from model.session.repairs import Repairs
from model.writing.writer import Writer
from tests.model.server.faulty_server import FaultyServer

Db = pymongo.database.Database[dict[str, Any]]
Act = Callable[[], object]


@pytest.fixture
def db(server_uri: str) -> Iterator[Db]:
    """A database of this test's own."""
    with pymongo.MongoClient[dict[str, Any]](server_uri) as client:
        name = f"tokens_{uuid.uuid4().hex[:8]}"
        yield client[name]
        client.drop_database(name)


def tokens(count: int) -> list[ObjectId]:
    return [ObjectId(f"5f0000000000000000{n:06x}") for n in range(1, count + 1)]


class Behind(FaultyServer):
    """A port behind whose first write others act; a silent one sends it, and does not answer any more."""

    def __init__(self, server: Server, act: Act = lambda: None, silent: bool = False) -> None:
        super().__init__(server)
        self.act, self.silent, self.gone = act, silent, False

    def _step(self) -> None:
        if self.gone:
            raise Unreachable("The connection was lost; try again.")
        super()._step()

    def send(self, write: Write) -> Reply:
        if self.silent:
            self.server.send(write)
            self.gone = True
            return Reply("unknown", sentence="The server met an error of its own.")
        reply = super().send(write)
        if len(self.sent) == 1:
            self.act()
        return reply


@contextmanager
def session(db: Db, uri: str) -> Iterator[Session]:
    stated = Profile.read({"collection": [{"ns": f"{db.name}.days", "layout": "pending"}]}, "the profile")
    with Session.open(uri, stated) as opened:
        yield opened


def repaired(here: Session, db: Db, act: Act = lambda: None, silent: bool = False) -> list[Outcome]:
    found = [each for each in here.scans.scan([f"{db.name}.days"]) if isinstance(each, Finding)]
    server = here._connection.opened.server
    port = Behind(server, act, silent)
    catalogue = Catalogue(server, port, here.catalogue._profile, here.source)
    repairs = Repairs(Writer(catalogue, port, here.journal, here.source, "tester"), lambda *_: None)
    return [outcome for _, outcome in repairs.apply(repairs.plan(found))]


def test_a_token_that_somebody_else_finishes_does_not_leave_the_others_behind(db: Db, server_uri: str) -> None:
    first, second, third = tokens(3)
    db.days.insert_one({"_id": "a", "count": 1, "pending": [first, second, third], "applied": []})
    theirs = {"$pull": {"pending": second}, "$inc": {"count": 1}, "$push": {"applied": second}}
    with session(db, server_uri) as here:
        (outcome,) = repaired(here, db, lambda: db.days.update_one({"_id": "a"}, theirs))
    assert outcome.kind == "applied"
    now = db.days.find_one({}) or {}
    assert (now["count"], now["pending"], set(now["applied"])) == (4, [], {first, second, third})


def test_tokens_that_are_documents_are_all_finished_although_others_count(db: Db, server_uri: str) -> None:
    some = [{"t": token, "amount": 2} for token in tokens(25)]
    db.days.insert_one({"_id": "a", "count": 0, "pending": some, "applied": []})
    with session(db, server_uri) as here:
        (outcome,) = repaired(here, db, lambda: db.days.update_one({"_id": "a"}, {"$inc": {"count": 100}}))
    assert outcome.kind == "applied", outcome.detail
    now = db.days.find_one({}) or {}
    assert (now["count"], now["pending"], len(now["applied"])) == (150, [], 25)


def test_a_token_in_doubt_is_looked_for_by_itself_although_others_have_counted(db: Db, server_uri: str) -> None:
    (token,) = tokens(1)
    db.days.insert_one({"_id": "a", "count": 1, "pending": [token], "applied": []})
    with session(db, server_uri) as here:
        (outcome,) = repaired(here, db, silent=True)
        assert outcome.kind == "unknown"
        db.days.update_one({"_id": "a"}, {"$inc": {"count": 1}})
        assert here.way_back.look_again(outcome.entry or "").kind == "applied"
