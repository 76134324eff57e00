"""New versions as they come: each shown once, in bounded memory, by change streams or polling; no work at rest."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pymongo
import pytest
from bson import ObjectId

from model.errors import Refused, Unreachable
from model.layouts.base import Layout
from model.localserver import LocalServer, change_streams
from model.localserver.change_log import LoggedChange
from model.over_time import tail as tails
from model.over_time import version_poll
from model.over_time.activity import Activity
from model.over_time.tail import Tail
from model.server.retry import Server, Write
from model.storage.swap_steps import Stamp
from model.values import canonical as c
from model.values.canonical import Value
from tests.guarded_server import GuardedServer
from tests.model.command_log import listening
from tests.model.layouts.layout_support import layout_of
from tests.privileges import Privilege

AT = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
FOLLOWED = ("versions", "flagged", "embedded", "nested", "archive", "deltas", "stream")
Client = pymongo.MongoClient[dict[str, Any]]


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tails, "WAIT_MS", 20)


@pytest.fixture
def local() -> Iterator[LocalServer]:
    with LocalServer(replica_set="rs0", history=50_000) as made:
        yield made


@pytest.fixture
def writer(local: LocalServer) -> Iterator[Client]:
    with pymongo.MongoClient(local.uri) as made:
        yield made


@pytest.fixture
def server(local: LocalServer) -> Iterator[Server]:
    with Server.connect(local.uri) as made:
        yield made


def all_of(tail: Tail) -> list[Activity]:
    """What has come by now, and nothing more is on its way."""
    found: list[Activity] = []
    while batch := tail.more():
        assert not batch.left_out
        found += batch.rows
        if not batch.came:
            return found
    raise AssertionError


def told(rows: list[Activity]) -> list[tuple[object, object, str]]:
    return [(row.id.python(), None if row.v is None else row.v.python(), row.kind) for row in rows]


def edit(layout: Layout, id: str, n: int, by: str) -> None:
    """A version more, an hour after the one before it."""
    key, content = Value.of(id), c.encode({"n": n, "to": {"city": "Bonn", "no": n}, "tags": [n]})
    stamp = Stamp(at=AT + dt.timedelta(hours=n), author=by)
    made = layout.swap(key, layout.version(key), content, stamp) if n > 1 else layout.create(content, key, stamp)
    assert made.kind == "applied", made.detail


@pytest.mark.parametrize("name", FOLLOWED)
def test_each_new_version_is_told_once_with_its_author_and_time_whatever_the_layout(server: Server, name: str) -> None:
    layout = layout_of(server, "shop", name, at="changedAt", author="changedBy")
    edit(layout, "before", 1, "ann")
    tail = Tail(server, [layout])
    assert all_of(tail) == []
    for n in (1, 2, 3):
        edit(layout, "A", n, "ann")
        edit(layout, "B", n, "ben")
    found = all_of(tail)
    assert told(found) == [(id, n, "created" if n == 1 else "edited") for n in (1, 2, 3) for id in ("A", "B")]
    assert [(row.author, row.at) for row in found[-2:]] == [("ann", AT + dt.timedelta(hours=3)),
                                                            ("ben", AT + dt.timedelta(hours=3))]  # fmt: skip
    if name in ("embedded", "nested", "archive", "stream", "deltas"):
        deep = {("to",)} if name == "deltas" else {("to", "no")}
        assert set(found[-1].paths) == {("n",), ("tags",)} | deep
    assert all_of(tail) == []
    if name in ("versions", "archive", "embedded"):
        key = Value.of("A")
        assert layout.delete(key, layout.version(key), Stamp(at=AT)).kind == "applied"
        assert [(row[0], row[2]) for row in told(all_of(tail))] == [("A", "deleted")]
    tail.rest()


def test_an_author_whom_an_event_leaves_out_is_told_as_far_as_that_is_certain(server: Server, writer: Client) -> None:
    layout = layout_of(server, "shop", "archive", author="by", reason="why")
    things = writer["shop"]["things"]
    things.insert_one({"_id": "A", "v": 1, "by": "ann", "why": "new"})
    tail = Tail(server, [layout])
    tail.more()
    for v, more in enumerate(({}, {"by": "ben"}, {"by": "cat", "why": "moved"}, {}, {"by": "ann"}, {}), 2):
        things.update_one({"_id": "A"}, {"$set": {"v": v, **more}})
    assert [(row.author, row.reason) for row in all_of(tail)] == [
        (None, None), ("ben", None), ("cat", "moved"), ("cat", "moved"), ("ann", "moved"), ("ann", "moved"),
    ]  # fmt: skip
    things.update_one({"_id": "A"}, {"$set": {"v": 8}})
    things.update_one({"_id": "A"}, {"$unset": {"by": ""}, "$set": {"v": 9}})
    assert [(row.author, row.reason) for row in all_of(tail)] == [(None, "moved")] * 2


def test_a_change_that_makes_no_version_is_not_told_as_one(server: Server, writer: Client) -> None:
    layout = layout_of(server, "shop", "archive", at="changedAt")
    edit(layout, "A", 1, "ann")
    tail = Tail(server, [layout])
    tail.more()
    writer["shop"]["things"].update_one({"_id": "A"}, {"$set": {"n": 7}})
    writer["shop"]["things"].update_one({"_id": "A"}, {"$set": {"n": 8}, "$inc": {"v": 1}})
    assert told(all_of(tail)) == [("A", 2, "edited")]


def test_several_collections_are_followed_by_one_stream_without_the_events_of_others(
    local: LocalServer, server: Server, writer: Client
) -> None:
    layouts = [layout_of(server, db, "archive") for db in ("one", "two")]
    with listening() as log, Server.connect(local.uri) as listened:
        tail = Tail(listened, layouts)
        tail.more()
        assert log.names.count("aggregate") == 1
        edit(layouts[0], "A", 1, "ann")
        writer["two"]["elsewhere"].insert_many([{"v": n} for n in range(50)])
        edit(layouts[1], "B", 1, "ann")
        log.rows = 0
        found = all_of(tail)
        assert [(row.ns, row.id.python()) for row in found] == [("one.things", "A"), ("two.things", "B")]
        assert log.rows == 2
        tail.rest()


def test_documents_are_named_by_their_own_id_where_the_stored_one_is_another(server: Server, writer: Client) -> None:
    layout = layout_of(server, "shop", "archive", id="number")
    things = writer["shop"]["things"]
    things.insert_one({"_id": 1, "number": "K-1", "v": 1, "n": 1})
    tail = Tail(server, [layout])
    tail.more()
    things.update_one({"_id": 1}, {"$set": {"n": 2, "v": 2}})
    things.insert_one({"_id": 2, "number": "K-2", "v": 1, "n": 1})
    assert told(all_of(tail)) == [("K-1", 2, "edited"), ("K-2", 1, "created")]


@pytest.mark.deep
def test_thousands_at_once_are_counted_and_only_the_newest_are_held(server: Server, writer: Client) -> None:
    layout = layout_of(server, "shop", "versions", at="changedAt")
    tail = Tail(server, [layout], most=100)
    tail.more()
    rows = [{"docId": f"K-{n % 50}", "v": 1 + n // 50, "n": n, "filler": "x" * 500} for n in range(3000)]
    writer["shop"]["things"].insert_many(rows)
    came, last, largest = 0, None, 0
    while batch := tail.more():
        came += batch.came
        assert len(batch.rows) == min(batch.came, 100)
        assert batch.left_out == batch.came - len(batch.rows)
        last = batch.rows[-1] if batch.rows else last
        largest = max(largest, *(len(repr(row)) for row in batch.rows), 0)
        if not batch.came:
            break
    assert (came, last and told([last])) == (3000, [("K-49", 60, "edited")])
    assert largest < 500  # no content is held


def test_at_rest_nothing_is_asked_and_afterwards_it_goes_on_where_it_was(local: LocalServer, server: Server) -> None:
    layout = layout_of(server, "shop", "versions")
    with listening() as log, Server.connect(local.uri) as listened:
        tail = Tail(listened, [layout])
        tail.more()
        tail.rest()
        log.clear()
        for n in (1, 2, 3):
            edit(layout, "A", n, "ann")
        tail.rest()
        assert log.names == []
        assert [row[1] for row in told(all_of(tail))] == [1, 2, 3]


def test_after_a_long_rest_it_begins_anew_and_says_which_time_is_missing(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = layout_of(server, "shop", "versions")
    tail = Tail(server, [layout])
    tail.more()
    tail.rest()
    edit(layout, "A", 1, "ann")
    monkeypatch.setattr(tails, "REST", 0.0)
    batch = tail.more()
    assert batch.rows == ()
    assert "are not shown here" in batch.notes[0]
    edit(layout, "A", 2, "ann")
    assert told(all_of(tail)) == [("A", 2, "edited")]


def test_where_the_servers_history_is_too_short_the_gap_is_said_and_it_goes_on() -> None:
    with LocalServer(replica_set="rs0", history=10) as short, Server.connect(short.uri) as server:
        layout = layout_of(server, "shop", "versions")
        tail = Tail(server, [layout])
        tail.more()
        for _ in range(2):  # while nothing is asked, and while a stream is open
            with pymongo.MongoClient[dict[str, Any]](short.uri) as client:
                client["shop"]["things"].insert_many([{"docId": str(ObjectId()), "v": 1} for _ in range(30)])
            notes, came = [], 0
            while batch := tail.more():
                notes += batch.notes
                came += batch.came
                if not batch.came and not batch.notes:
                    break
            assert (came, len(notes)) == (0, 1)
            assert "are not shown here" in notes[0]
            edit(layout, str(ObjectId()), 1, "ann")
            assert len(all_of(tail)) == 1
            tail.rest()


def test_a_collection_that_is_dropped_is_said_and_followed_again_once_it_is_there(
    server: Server, writer: Client
) -> None:
    layout = layout_of(server, "shop", "versions")
    tail = Tail(server, [layout])
    tail.more()
    edit(layout, "A", 1, "ann")
    writer["shop"]["things"].drop()
    notes, rows = [], []
    while batch := tail.more():
        notes += batch.notes
        rows += batch.rows
        if not batch.came and not batch.notes:
            break
    assert (notes, told(rows)) == (["shop.things was dropped."], [("A", 1, "created")])
    writer["shop"]["things"].insert_one({"docId": "B", "v": 1})
    assert told(all_of(tail)) == [("B", 1, "created")]


def test_an_event_that_does_not_say_which_document_is_said_and_the_others_are_told(
    server: Server, writer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = layout_of(server, "shop", "archive")
    tail = Tail(server, [layout])
    tail.more()
    event = change_streams.ChangeStreams._event

    def changed(self: object, stream: object, logged: LoggedChange) -> bytes:
        raw = event(self, stream, logged)  # type: ignore[arg-type]
        gone = {Value.of("B"): ("documentKey",), Value.of("C"): ("operationType",)}.get(logged.id or Value.of(""), ())
        return c.document([each for each in c.fields(raw) if each[0] not in gone])

    monkeypatch.setattr(change_streams.ChangeStreams, "_event", changed)
    writer["shop"]["things"].insert_many([{"_id": id, "v": 1} for id in "ABCD"])
    batch = tail.more()
    assert told(list(batch.rows)) == [("A", 1, "created"), ("D", 1, "created")]
    assert batch.notes[0] == "The server tells of a change in shop.things (insert), but not which document."
    assert "in a form that cannot be read" in batch.notes[1]
    assert len(batch.notes) == 2


# --- a server that says no, or hangs up


def guarded(*rights: Privilege) -> GuardedServer:
    return GuardedServer({"ann": "pw"}, {"ann": rights} if rights else None, replica_set="rs0")


def connected(door: GuardedServer) -> Server:
    return Server.connect(f"mongodb://ann:pw@{door.host}/?directConnection=true&retryReads=false", connect_ms=5000)


def test_a_stream_that_is_cut_is_taken_up_behind_what_was_told() -> None:
    with guarded() as door, Server.connect(door.store.uri) as own, connected(door) as server:
        layout = layout_of(own, "shop", "versions")
        tail = Tail(server, [layout])
        edit(layout, "A", 1, "ann")
        tail.more()
        edit(layout, "A", 2, "ann")
        door.hangs_up_on["getMore"] = door.hangs_up_on["aggregate"] = 2
        rows: list[Activity] = []
        failed = 0
        while len(rows) < 2:
            try:
                rows += tail.more().rows
            except Unreachable:
                failed += 1
                edit(layout, "A", 3, "ann") if failed == 1 else None
        assert failed
        assert told(rows) == [("A", 2, "edited"), ("A", 3, "edited")]
        tail.rest()


def test_who_may_follow_no_database_follows_the_collections_that_are_allowed_one_by_one() -> None:
    allowed = (("shop", ("find", "changeStream")), ("other", ("find",)))
    rights = [{"resource": {"db": db, "collection": "things"}, "actions": list(each)} for db, each in allowed]
    with guarded(*rights) as door, Server.connect(door.store.uri) as own, connected(door) as server:
        layouts = [layout_of(own, "shop", "versions"), layout_of(own, "other", "versions")]
        tail = Tail(server, layouts)
        batch = tail.more()
        assert any("other.things" in note for note in batch.notes)
        edit(layouts[0], "A", 1, "ann")
        edit(layouts[1], "B", 1, "ann")
        found = all_of(tail)
        assert [(row.ns, row.id.python()) for row in found] == [("shop.things", "A")]
        tail.rest()


# --- polling


@pytest.fixture
def alone() -> Iterator[Server]:
    """A server without change streams."""
    with LocalServer() as made, Server.connect(made.uri) as connected:
        yield connected


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tails, "EVERY", 0.0)
    monkeypatch.setattr(tails, "SHARE", 0)


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("name", ["versions", "deltas", "embedded", "archive"])
def test_without_change_streams_new_versions_are_looked_for_and_that_is_said(alone: Server, name: str) -> None:
    layout = layout_of(alone, "shop", name, author="changedBy")
    edit(layout, "before", 1, "ann")
    tail = Tail(alone, [layout])
    first = tail.more()
    assert first.rows == ()
    assert first.notes == ("This server has no change streams.", tails.POLLED)
    assert all_of(tail) == []
    edit(layout, "A", 1, "ann")
    edit(layout, "before", 2, "ben")
    found = all_of(tail)
    assert sorted(told(found)) == [("A", 1, "created"), ("before", 2, "edited")]
    assert {row.author for row in found} == {"ann", "ben"}
    edit(layout, "A", 2, "ann")
    assert told(all_of(tail)) == [("A", 2, "edited")]
    if name == "archive":
        assert layout.delete(Value.of("A"), layout.version(Value.of("A"))).kind == "applied"
        assert told(all_of(tail)) == [("A", None, "deleted")]


@pytest.mark.usefixtures("_at_once")
def test_rows_whose_ids_were_made_a_moment_earlier_elsewhere_are_told_too(alone: Server) -> None:
    layout = layout_of(alone, "shop", "versions")
    edit(layout, "A", 1, "ann")
    tail = Tail(alone, [layout])
    tail.more()
    now = int(dt.datetime.now(dt.UTC).timestamp())
    for n, seconds in enumerate((0, -2, 0, -3), 1):
        physical = ObjectId((now + seconds).to_bytes(4, "big") + bytes(7) + bytes([n]))
        raw = c.encode({"_id": physical, "docId": f"B-{n}", "v": 1, "_w": ObjectId()})
        assert alone.send(Write("shop.things", "insert", {}, raw)).applied == "yes"
        assert told(all_of(tail)) == [(f"B-{n}", 1, "created")]


@pytest.mark.usefixtures("_at_once")
def test_a_collection_too_large_to_be_compared_is_named_and_left_alone(
    alone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(version_poll, "FEW", 3)
    layout = layout_of(alone, "shop", "archive")
    for n in range(5):
        edit(layout, f"K-{n}", 1, "ann")
    tail = Tail(alone, [layout])
    assert "shop.things is not followed: with over 3 documents" in tail.more().notes[-1]
    edit(layout, "A", 1, "ann")
    assert tail.more().rows == ()


def test_polling_asks_rarely_and_a_few_commands_at_a_time(local: LocalServer) -> None:
    with LocalServer() as standalone, Server.connect(standalone.uri) as plain:
        layout = layout_of(plain, "shop", "versions")
        edit(layout, "A", 1, "ann")
        with listening() as log, Server.connect(standalone.uri) as listened:
            tail = Tail(listened, [layout_of(listened, "shop", "versions", indexed=False)])
            assert tail.more().pause > 1
            log.clear()
            for _ in range(20):
                tail.more()
            assert log.names == []


def test_an_error_of_the_server_is_raised_and_the_next_time_tried_again() -> None:
    with LocalServer(replica_set="rs0") as gone:
        server = Server.connect(gone.uri, connect_ms=300)
        layout = layout_of(server, "shop", "versions")
        tail = Tail(server, [layout])
        tail.more()
    for _ in range(2):
        with pytest.raises(Refused):
            tail.more()
    tail.rest()
    server.close()
