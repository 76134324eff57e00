"""A document that somebody else deleted is created again: its history continues as far as it is stored or was read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pymongo.database
import pytest
from msgspec.structs import replace

from model.foundation.records import Version
from model.profile import Profile
from model.session import Session
from model.values import canonical
from model.values.canonical import Value

Db = pymongo.database.Database[dict[str, Any]]
ID = Value.of("K-1")
MINE = canonical.encode({"n": "mine"})
KEPT = ("versions", "flagged", "deltas", "archive")
INSIDE = ("embedded", "nested")


def opened(database: Db, server_uri: str, layout: str) -> Session:
    """A session over a document at v3, whose layout is stated."""
    ns = f"{database.name}.things"
    stated = {"ns": ns, "layout": layout} | ({"archive": f"{ns}_past"} if layout == "archive" else {})
    session = Session.open(server_uri, Profile.read({"collection": [stated]}, "here"))
    if session.indexes.missing(ns):
        session.indexes.create(ns)
    assert session.writing.create(ns, canonical.encode({"n": 1}), ID).kind == "applied"
    for n in (2, 3):
        assert session.edit(ns, ID, {"n": n}).kind == "applied"
    return session


def numbers(session: Session, ns: str) -> list[tuple[object, str]]:
    """The versions, newest first, each with its state; without those that say that the document was deleted."""
    history = session.history.versions(ns, ID)
    return [(each.v.python() if each.v else None, each.state) for each in history if not each.deleted]


def from_here(session: Session, database: Db, base: Version) -> None:
    assert session.writing.delete(f"{database.name}.things", ID, base).kind == "applied"


def by_plain_pymongo(session: Session, database: Db, base: Version) -> None:
    database["things"].delete_one({"_id": "K-1"})


CASES = [
    *[pytest.param(name, from_here, id=f"{name}, by Palimpsest") for name in (*KEPT, *INSIDE, "hashed", "plain")],
    *[pytest.param(name, by_plain_pymongo, id=f"{name}, by PyMongo") for name in ("archive", *INSIDE, "plain")],
]


@pytest.mark.parametrize(("layout", "delete"), CASES)
def test_the_history_goes_on_where_it_is_stored_or_was_read(
    layout: str, delete: Callable[[Session, Db, Version], None], database: Db, server_uri: str
) -> None:
    ns = f"{database.name}.things"
    with opened(database, server_uri, layout) as session:
        base = session.history.version(ns, ID)
        delete(session, database, base)
        conflict = session.writing.conflict(ns, ID, base, MINE)
        assert conflict.kind == "deleted"
        assert conflict.remains is not None
        follows = conflict.remains.follows
        outcome = session.writing.create(ns, MINE, ID, known=conflict.known)
        assert outcome.kind == "applied", outcome
        assert session.history.version(ns, ID).content == MINE
        if layout in ("hashed", "plain"):
            assert (follows, conflict.remains.versions) == (None, 0)
            return
        ended = 1 if layout in ("versions", "flagged", "deltas") else 0  # the version that says so has a number
        assert numbers(session, ns) == [(n, "present") for n in (4 + ended, 3, 2, 1)]
        assert follows is not None
        assert follows.v == Value.of(3 + ended)
        assert conflict.remains.is_stored == (
            layout in KEPT and not (layout == "archive" and delete is by_plain_pymongo)
        )
        stored = {"archive": 3 - (delete is by_plain_pymongo)} | dict.fromkeys(INSIDE, 0)
        assert conflict.remains.versions == stored.get(layout, 3)
        assert not list(session.scans.scan([ns]))


@pytest.mark.parametrize("layout", INSIDE)
def test_a_history_that_nobody_has_any_more_begins_anew(layout: str, database: Db, server_uri: str) -> None:
    ns = f"{database.name}.things"
    with opened(database, server_uri, layout) as session:
        base = session.history.version(ns, ID)
        by_plain_pymongo(session, database, base)
        draft = base.but(raw=None)  # what a draft on disk knows
        conflict = session.writing.conflict(ns, ID, draft, MINE)
        assert conflict.remains is not None
        assert (conflict.remains.versions, conflict.remains.follows) == (0, None)
        assert session.writing.create(ns, MINE, ID, known=draft).kind == "applied"
        assert numbers(session, ns) == [(1, "present")]


def test_a_version_that_was_read_after_the_edit_began_is_not_lost(database: Db, server_uri: str) -> None:
    ns = f"{database.name}.things"
    with opened(database, server_uri, "embedded") as session:
        base = session.history.version(ns, ID)
        assert session.edit(ns, ID, {"n": 4}).kind == "applied"
        seen = session.history.version(ns, ID)
        by_plain_pymongo(session, database, seen)
        conflict = session.writing.conflict(ns, ID, base, MINE, known=seen)
        assert conflict.known is seen
        assert session.writing.create(ns, MINE, ID, known=seen).kind == "applied"
        assert numbers(session, ns) == [(n, "present") for n in (5, 4, 3, 2, 1)]


@pytest.mark.parametrize("layout", ["archive", "embedded"])
def test_what_was_created_meanwhile_is_left_alone(layout: str, database: Db, server_uri: str) -> None:
    ns = f"{database.name}.things"
    with opened(database, server_uri, layout) as session:
        base = session.history.version(ns, ID)
        by_plain_pymongo(session, database, base)
        assert session.writing.create(ns, canonical.encode({"n": "theirs"}), ID).kind == "applied"
        outcome = session.writing.create(ns, MINE, ID, known=base)
        assert outcome.kind == "refused"
        assert "already" in outcome.detail
        there = session.history.version(ns, ID)
        assert there.content == canonical.encode({"n": "theirs"})


def test_who_deleted_it_is_told_where_a_version_says_so(database: Db, server_uri: str) -> None:
    ns = f"{database.name}.things"
    stated = {"ns": ns, "layout": "versions", "at": "at", "author": "by"}
    with Session.open(server_uri, Profile.read({"collection": [stated]}, "here")) as session:
        session.indexes.create(ns)
        session.writing.create(ns, canonical.encode({"n": 1}), ID)
        base = session.history.version(ns, ID)
        session.writing.delete(ns, ID, base)
        remains = session.writing.conflict(ns, ID, base, MINE).remains
        assert remains is not None
        assert base.author
        assert remains.deleted_by == base.author
        assert remains.deleted_at is not None
        assert remains.last is not None
        assert remains.last.v == Value.of(1)
        assert replace(remains, versions=1) == remains
