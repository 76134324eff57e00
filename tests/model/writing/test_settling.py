"""Looking again for a write in doubt: it arrived, it did not, it still may, or nobody can tell; on every layout."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bson
import pymongo
import pytest
from bson import ObjectId

from model.errors import Unreachable
from model.foundation.records import Outcome, Version
from model.layouts.base import Layout
from model.layouts.registry import WRITABLE
from model.server.retry import Reply, Server, Write
from model.session import Session
from model.values.canonical import Value
from tests import support
from tests.model.layouts.layout_support import doc, layout_of

ID = Value.of("K-1")
NEWEST_ALONE = [name for name, kind in WRITABLE.items() if kind.newest_alone]
KEEP_NO_HISTORY = [*NEWEST_ALONE, *(name for name, kind in WRITABLE.items() if kind.fed)]
"""Those that are fed as well: nobody feeds an archive here."""
DB = "settling"


@pytest.fixture(params=support.some(WRITABLE, "archive", "versions", "embedded", "deltas", "hashed"))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Ground:
    """A document of two versions, a session over it whose writes wait, and a hand that lets them arrive."""

    def __init__(self, session: Session, server: Server, ns: str) -> None:
        self.session = session
        self.server = server
        self.ns = ns
        self.waiting: list[Write] = []

    def save(self) -> Outcome:
        opened = self.session.writing.open(self.ns, ID)
        outcome = self.session.writing.save(self.ns, ID, opened.base, doc(a=2, b=1, mine=1))
        assert outcome.kind == "unknown", outcome
        return outcome

    def land(self) -> None:
        """The first of what is on its way arrives; the second is the same once more."""
        assert REAL(self.server, self.waiting[0]).applied == "yes"
        for write in self.waiting[1:]:
            assert REAL(self.server, write).applied == "no"

    def overtake(self, **values: object) -> None:
        """Somebody else edits what is there now."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Server, "send", REAL)
            outcome = self.session.edit(self.ns, ID, values or {"b": 9})
        assert outcome.kind == "applied", outcome


REAL: Callable[[Server, Write], Reply] = Server.send


@pytest.fixture
def token() -> str:
    """The field of the write token; "" for none."""
    return "_w"


@pytest.fixture
def ground(name: str, token: str, local_uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    profile = tmp_path / "profile.toml"
    id = 'id = "docId"' if name in ("versions", "flagged", "deltas") else ""
    archive = f'archive = "{DB}.things_past"' if name in ("archive", "stream") else ""
    ns = f"{DB}.things"
    mark = f'token = "{token}"' if token else ""
    profile.write_text(f'[[collection]]\nns = "{ns}"\nlayout = "{name}"\n{mark}\n{id}\n{archive}\n')
    with Server.connect(local_uri) as server, pymongo.MongoClient[dict[str, Any]](local_uri) as client:
        client.drop_database(DB)
        layout = layout_of(server, DB, name, token=token)
        assert layout.create(doc(a=1, b=1), ID).kind == "applied"
        assert layout.swap(ID, layout.version(ID), doc(a=2, b=1)).kind == "applied"
        with Session.open(local_uri, profile=profile) as session:
            here = Ground(session, server, ns)

            def send(self: Server, write: Write) -> Reply:
                if write.ns != ns:
                    return REAL(self, write)
                here.waiting.append(write)
                return Reply("unknown", retry=True, sentence="The connection was lost.")

            monkeypatch.setattr(Server, "send", send)
            yield here
        client.drop_database(DB)


def test_a_write_that_is_on_its_way_may_still_arrive_and_then_has(ground: Ground) -> None:
    outcome = ground.save()
    assert ground.session.way_back.settle(outcome).kind == "unknown"
    ground.land()
    settled = ground.session.way_back.settle(outcome)
    assert settled.kind == "applied"
    assert settled.version == ground.session.writing.open(ground.ns, ID).base.v


def test_where_no_token_tells_a_version_with_just_what_was_sent_has_arrived(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = ground.save()
    ground.land()
    monkeypatch.setattr(Layout, "landed", lambda *_: None)
    has_versions = ground.session.writing.open(ground.ns, ID).base.v is not None
    assert ground.session.way_back.settle(outcome).kind == ("applied" if has_versions else "unknown")


def test_a_write_that_never_arrives_is_given_up_once_it_cannot_be_on_its_way(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = ground.save()
    monkeypatch.setattr("model.writing.writer.SETTLED_AFTER", dt.timedelta(0))
    assert ground.session.way_back.settle(outcome).kind == "conflict"


@pytest.mark.parametrize("wrong", [dt.timedelta(days=-1), dt.timedelta(days=1)])
@pytest.mark.parametrize("name", ["embedded", "versions"], indirect=True)
def test_a_clock_that_is_set_meanwhile_gives_no_write_up(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, wrong: dt.timedelta
) -> None:
    with monkeypatch.context() as patch:
        noted = (dt.datetime.now(dt.UTC) + wrong).isoformat(timespec="milliseconds")
        patch.setattr("model.userdata.journal._now", lambda: noted)
        outcome = ground.save()
    assert ground.session.way_back.settle(outcome).kind == "unknown", "it is a moment old, whatever the clocks say"
    up = time.monotonic() + 121
    monkeypatch.setattr("model.userdata.journal._uptime", lambda: up)
    assert ground.session.way_back.settle(outcome).kind == "conflict"


@pytest.mark.parametrize("name", ["versions"], indirect=True)
def test_a_computer_that_was_started_anew_waits_as_long_for_a_write(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = ground.save()
    monkeypatch.setattr("model.userdata.journal._uptime", lambda: 5.0)
    assert ground.session.way_back.settle(outcome).kind == "unknown"
    monkeypatch.setattr("model.userdata.journal._uptime", lambda: 121.0)
    assert ground.session.way_back.settle(outcome).kind == "conflict"


def test_a_write_that_arrived_and_was_overtaken_is_found_in_the_history_or_unknown(ground: Ground, name: str) -> None:
    outcome = ground.save()
    ground.land()
    ground.overtake()
    settled = ground.session.way_back.settle(outcome)
    assert settled.kind == ("unknown" if name in KEEP_NO_HISTORY else "applied")
    if settled.kind == "applied":
        v = settled.version
        assert v is not None
        assert v != ground.session.history.version(ground.ns, ID).v, "that is whoever overtook it"
        assert ground.session.history.version(ground.ns, ID, v).content == doc(a=2, b=1, mine=1)
        assert outcome.entry is not None
        assert ground.session.journal.record(outcome.entry).version_after == v


@pytest.mark.parametrize("name", ["stream"], indirect=True)
def test_a_write_that_is_overtaken_while_it_is_found_is_told_as_its_own_version(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = ground.save()
    ground.land()
    landed = Layout.landed

    def then_overtaken(
        self: Layout, id: Value, token: ObjectId, base: Version | None = None, content: bytes | None = None
    ) -> bool | None:
        found = landed(self, id, token, base, content)
        monkeypatch.setattr(Layout, "landed", landed)
        ground.overtake()
        return found

    monkeypatch.setattr(Layout, "landed", then_overtaken)
    settled = ground.session.way_back.settle(outcome)
    assert ground.session.history.version(ground.ns, ID).v == Value.of(4)
    assert (settled.kind, settled.version) == ("applied", Value.of(3)), "it is not in the archive, and will be"


@pytest.mark.parametrize("name", ["versions", "embedded", "archive"], indirect=True)
def test_a_write_whose_version_cannot_be_read_is_looked_for_again_and_not_told_as_another(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = ground.save()
    ground.land()
    ground.overtake()
    assert outcome.entry is not None

    def cut(*_: object, **__: object) -> Iterator[Version]:
        raise Unreachable("The connection was lost; try again.")

    with monkeypatch.context() as patch:
        patch.setattr(Layout, "history", cut)
        with pytest.raises(Unreachable):
            ground.session.way_back.look_again(outcome.entry)
    found = ground.session.way_back.look_again(outcome.entry)
    assert (found.kind, found.version) == ("applied", Value.of(3))


def test_a_write_that_was_overtaken_before_it_arrived_is_not_there_or_unknown(ground: Ground, name: str) -> None:
    outcome = ground.save()
    ground.overtake()
    for write in ground.waiting:
        assert REAL(ground.server, write).applied == "no"
    settled = ground.session.way_back.settle(outcome)
    assert settled.kind == ("unknown" if name in NEWEST_ALONE else "conflict"), settled


@pytest.mark.parametrize("token", ["_w", ""], ids=["by its token", "by what is stored"])
@pytest.mark.parametrize("name", ["archive", "embedded", "nested"], indirect=True)
@pytest.mark.parametrize("sent", [doc(a=3, b=1, mine=1), doc(mine=1, b=1, a=3)], ids=["operators", "moved fields"])
def test_a_write_that_was_overtaken_by_one_that_shares_a_value_is_not_there(ground: Ground, sent: bytes) -> None:
    opened = ground.session.writing.open(ground.ns, ID)
    outcome = ground.session.writing.save(ground.ns, ID, opened.base, sent)
    ground.overtake(a=3, theirs=1)
    ground.overtake(b=5)
    settled = ground.session.way_back.settle(outcome)
    assert settled.kind == "conflict", settled


@pytest.mark.parametrize("token", [""], ids=["by what is stored"])
@pytest.mark.parametrize("name", ["archive", "embedded", "nested"], indirect=True)
def test_a_version_that_holds_all_that_was_sent_and_more_may_be_the_writes_own(ground: Ground) -> None:
    outcome = ground.save()
    ground.overtake(mine=1, theirs=1)
    assert ground.session.way_back.settle(outcome).kind == "unknown"


def test_a_bump_in_place_does_not_make_a_write_look_lost(ground: Ground, name: str) -> None:
    outcome = ground.save()
    stored = next(ground.server.find(ground.ns, {}, sort={"_id": -1}, limit=1))
    bumped = "current.views" if name == "embedded" else "views"
    where = {"_id": bson.decode(stored)["_id"]}
    assert REAL(ground.server, Write(ground.ns, "update", where, {"$set": {bumped: 1}})).applied == "yes"
    assert ground.session.way_back.settle(outcome).kind == "unknown"
    arrived = REAL(ground.server, ground.waiting[0]).applied == "yes"
    settled = ground.session.way_back.settle(outcome)
    assert settled.kind == ("applied" if arrived else "unknown"), settled
