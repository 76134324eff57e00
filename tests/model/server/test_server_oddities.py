"""What a writer must know about servers, one by one: field orders, odd names, large replies, lost races, lacks."""

from __future__ import annotations

import contextlib
import hashlib
import socket
from collections.abc import Iterator, Sequence
from typing import Any

import bson
import pymongo.database
import pymongo.monitoring
import pytest
from bson import Decimal128, ObjectId
from msgspec.structs import replace

from model.errors import Refused, Unreachable
from model.foundation.records import ServerFacts
from model.layouts.base import Layout
from model.layouts.registry import WRITABLE
from model.localserver import LocalServer
from model.localserver.wire import Command
from model.server.retry import Reply, Server, Terms, Write
from model.session import Session
from model.storage.swap_steps import Stamp
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.layouts.layout_support import doc, layout_of
from tests.model.server.faulty_server import FaultyServer

Db = pymongo.database.Database[dict[str, Any]]
ID = Value.of("K-1")
ALL = support.some(
    [name for name in WRITABLE if name not in ("deltas", "stream")], "archive", "versions", "embedded", "hashed"
)
ONE_DOCUMENT = ("archive", "embedded", "hashed", "plain")
OWN_DOCUMENTS = ("versions", "flagged")


def made(server: Any, database: Db, name: str, **fields: Any) -> Layout:
    """A layout with document K-1 in it."""
    layout = layout_of(server, database.name, name)
    if not list(server.find(layout.ns, limit=1)):
        assert layout.create(doc(**fields), ID).kind == "applied"
    return layout


def saved(layout: Layout, content: bytes) -> tuple[str, str]:
    """Outcome and detail of one edit."""
    outcome = layout.swap(ID, layout.version(ID), content)
    return outcome.kind, outcome.detail


# --- the order of fields


@pytest.mark.parametrize("name", ALL)
def test_a_server_that_keeps_the_old_order_is_found_out_and_said(server: Server, database: Db, name: str) -> None:
    layout = made(server, database, name, a=1, b=2, c=3)
    kind, detail = saved(layout, doc(c=3, b=2, a=1))
    now = layout.version(ID)
    assert kind == "applied"
    if now.content == doc(c=3, b=2, a=1):
        assert "order" not in detail
    else:  # mongo-java-server
        assert now.content == doc(a=1, b=2, c=3)
        assert "stored the fields in another order" in detail
    assert now.state == "present"


@pytest.mark.parametrize("name", ALL)
def test_new_fields_stand_in_the_order_that_was_asked_for_or_it_is_said(
    server: Server, database: Db, name: str
) -> None:
    layout = made(server, database, name, a=1)
    wanted = doc(a=1, zebra=1, ant=2, mouse=3)
    kind, detail = saved(layout, wanted)
    now = layout.version(ID)
    assert (kind, now.state) == ("applied", "present")
    assert now.content == wanted or "another order" in detail


class Sorting(FaultyServer):
    """A server that adds new fields by name, as MongoDB does since 5, and tells nobody."""

    def send(self, write: Write) -> Reply:
        if write.kind == "update" and isinstance(write.body, dict) and "$set" in write.body:
            body = {**write.body, "$set": dict(sorted(write.body["$set"].items()))}
            write = replace(write, body=body)
        return super().send(write)


@pytest.mark.parametrize("name", ALL)
def test_a_server_that_sorts_what_is_set_stores_what_was_asked_for(server: Server, database: Db, name: str) -> None:
    layout = made(Sorting(server), database, name, a=1)
    wanted = doc(a=2, zebra={"y": 1, "x": 2}, ant=2)
    kind, detail = saved(layout, wanted)
    now = layout.version(ID)
    assert (kind, now.state) == ("applied", "present")
    assert now.content == wanted or "another order" in detail


def test_a_stored_hash_is_that_of_the_bytes_that_are_there(server: Server, database: Db) -> None:
    layout = made(server, database, "hashed", a=1, b=2)
    for content in (doc(b=2, a=1), doc(z=1, b=2, a=1), doc(a=1, z=1, y=2, x=3), doc(x=3)):
        assert saved(layout, content)[0] == "applied"
        stored = database["things"].find_one({"_id": "K-1"})
        assert stored is not None
        kept = {name: value for name, value in stored.items() if name not in ("_id", "_versioned_id", "_w")}
        assert stored["_versioned_id"] == hashlib.sha1(bson.encode(kept)).hexdigest()


# --- names


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("field", support.some(["$price", "a.b", "$", "a.", "$a.b"], "$price", "a.b"))
def test_a_name_with_a_dollar_or_a_dot_is_written_exactly_or_refused_with_the_reason(
    server: Server, database: Db, name: str, field: str
) -> None:
    layout = made(server, database, name, a={"b": 1}, n=1)
    before = layout.version(ID)
    wanted = c.encode({"a": {"b": 1}, "n": 1, field: 2})
    kind, detail = saved(layout, wanted)
    now = layout.version(ID)
    if kind == "applied":
        assert now.content == wanted
        assert saved(layout, c.encode({"a": {"b": 1}, "n": 2, field: 2}))[0] in ("applied", "refused")
    else:
        assert kind == "refused"
        assert detail.endswith(".")
        assert now.content == before.content
    kind, _ = saved(layout, c.encode({"a": {"b": 5}, "n": 3}))  # and the rest goes on
    assert kind == "applied" or field in _names(layout)


def _names(layout: Layout) -> list[str]:
    return [name for name, _ in c.fields(layout.version(ID).content or c.EMPTY)]


@pytest.mark.parametrize("name", ["versions", "archive", "hashed", "plain"])
def test_a_stored_name_with_a_dollar_leaves_other_fields_editable_or_is_the_reason(
    server: Server, database: Db, name: str
) -> None:
    layout = made(server, database, name, n=1)
    database["things"].drop()
    stored = {"_id": ObjectId() if name == "versions" else "K-1", "n": 1, "$price": 5}
    if name == "versions":
        stored |= {"docId": "K-1"}
    if name == "hashed":
        stored["_versioned_id"] = hashlib.sha1(bson.encode({"n": 1, "$price": 5})).hexdigest()
    elif name != "plain":
        stored["v"] = 1
    try:
        database["things"].insert_one(stored)
    except pymongo.errors.PyMongoError:
        pytest.skip("this server stores no such names")
    layout = layout_of(server, database.name, name)
    kind, detail = saved(layout, c.encode({"n": 2, "$price": 5}))
    assert kind == "applied" or (kind == "refused" and "$price" in detail)
    assert layout.version(ID).content == c.encode({"n": 2 if kind == "applied" else 1, "$price": 5})


# --- replies


class Commands(pymongo.monitoring.CommandListener):
    """Every command that leaves."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def started(self, event: pymongo.monitoring.CommandStartedEvent) -> None:
        if command := dict(event.command):  # the driver shows no command that logs in
            self.sent.append(command)

    def succeeded(self, event: pymongo.monitoring.CommandSucceededEvent) -> None:
        """Nothing."""

    def failed(self, event: pymongo.monitoring.CommandFailedEvent) -> None:
        """Nothing."""


def test_every_read_asks_for_batches_by_size(server_uri: str, database: Db, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Commands()
    plain = pymongo.MongoClient

    def listened(*args: Any, event_listeners: Any = (), **options: Any) -> Any:
        return plain(*args, event_listeners=[*event_listeners, seen], **options)

    monkeypatch.setattr(pymongo, "MongoClient", listened)
    database["big"].insert_many([{"_id": n, "v": 1, "text": "x" * 900_000} for n in range(12)])
    database["small"].insert_many([{"_id": n, "v": 1} for n in range(3000)])
    with Session.open(server_uri) as session:
        for _ in session.catalogue.collections(database.name):
            pass
        for name in ("big", "small"):
            ns = f"{database.name}.{name}"
            session.documents.page(ns, limit=40)
            assert [v.current for v in session.history.versions(ns, Value.of(3))] == [True]
    with Server.connect(server_uri) as server:
        assert len(list(server.find(f"{database.name}.big"))) == 12
        assert len(list(server.aggregate(f"{database.name}.small", [{"$match": {}}]))) == 3000
    largest = 0
    for command in seen.sent:
        verb = next(iter(command))
        if verb in ("find", "getMore"):
            assert command.get("batchSize", 0) > 0, command
            if (command.get("find") or command.get("collection")) == "big" and not command.get("projection"):
                largest = max(largest, command["batchSize"])
        elif verb in ("aggregate", "listIndexes", "listCollections"):
            assert command["cursor"].get("batchSize", 0) > 0, command
    assert 0 < largest <= 20


@pytest.mark.deep
def test_documents_of_the_largest_size_are_read_one_after_the_other(server: Server, database: Db) -> None:
    for n in range(4):
        database["big"].insert_one({"_id": n, "text": "x" * (15 << 20)})
    assert [len(raw) > 15 << 20 for raw in server.find(f"{database.name}.big")] == [True] * 4


# --- races that the server loses


class Loose(FaultyServer):
    """A server that lets two writers win one swap: where a race is lost, it drops the guard instead of the write."""

    def send(self, write: Write) -> Reply:
        self._step()
        reply = self.server.send(write)
        if write.kind in ("update", "replace") and reply.applied == "no" and not reply.sentence:
            reply = self.server.send(replace(write, filter={"_id": write.filter["_id"]}))
        return reply


@pytest.mark.parametrize("name", WRITABLE)
def test_a_date_after_the_year_9999_loses_none_of_the_batch(server: Server, database: Db, name: str) -> None:
    layout = layout_of(server, database.name, name)
    far, ids = bson.DatetimeMS(253_402_300_800_000), ("K-1", "K-2", "K-3")  # the first moment of the year 10000
    for id in ids:
        assert layout.create(doc(at=far if id == "K-2" else 1), Value.of(id)).kind == "applied"
    assert {str(row.id) for row in layout.page()} == {str(Value.of(id)) for id in ids}
    read = c.get(layout.version(Value.of("K-2")).content or b"", ("at",))
    assert read is not None
    assert read.python() == far


def overtaken(server: Server, database: Db, name: str) -> tuple[Layout, str, str, list[ObjectId]]:
    """Two edits of one base on a loose server, the other one right before this one's last write."""
    layout = made(server, database, name, a=1, b=1)
    base = layout.version(ID)
    loose = Loose(server)
    first, second = ObjectId(), ObjectId()
    outcomes: list[str] = []
    mine = layout_of(loose, database.name, name, indexed=False)

    def other() -> None:
        outcomes.append(layout.swap(ID, base, doc(a=2, b=1), Stamp(first)).kind)

    armed = [True]

    def right_before(write: Write, send: Any = loose.send) -> Any:
        if write.ns == layout.ns and armed:
            armed.clear()
            other()
        return send(write)

    loose.send = right_before  # type: ignore[method-assign]
    outcomes.append(mine.swap(ID, base, doc(a=1, b=2), Stamp(second)).kind)
    return layout, outcomes[0], outcomes[1], [first, second]


@pytest.mark.parametrize("name", OWN_DOCUMENTS)
def test_where_a_unique_index_decides_a_loose_server_loses_no_edit(server: Server, database: Db, name: str) -> None:
    layout, first, second, _ = overtaken(server, database, name)
    assert (first, second) == ("applied", "conflict")
    assert layout.version(ID).content == doc(a=2, b=1)


@pytest.mark.parametrize("name", ONE_DOCUMENT)
def test_on_a_loose_server_an_overwritten_edit_is_known_by_its_token(server: Server, database: Db, name: str) -> None:
    """No writer can prevent that both win there; asked again, the product does not claim that the first is there."""
    layout, first, second, (lost, won) = overtaken(server, database, name)
    assert (first, second) == ("applied", "applied")
    now = layout.version(ID)
    assert (now.content or b"") in (doc(a=2, b=2), doc(a=1, b=2))  # operators touch what they name, no more
    assert layout.landed(ID, won) is True
    assert layout.landed(ID, lost) is not True or name == "embedded"


# --- what is not there


class Lacking(FaultyServer):
    """A server without Decimal128, expressions, pipelines in updates and sessions, which says so by errors."""

    def send(self, write: Write) -> Reply:
        if isinstance(write.body, list):
            return Reply("no", sentence="The server does not accept the write: pipelines are not supported.")
        body = c.encode({"x": 1}) if write.body is None else write.body
        if _holds(body, c.DECIMAL128):
            return Reply("no", sentence="The server does not accept the write: Decimal128 is not supported.")
        return super().send(write)

    def find(self, ns: str, filter: Terms | None = None, *more: Any, **named: Any) -> Iterator[bytes]:
        if "$expr" in (filter or {}):
            raise Refused("The server does not accept the query: unknown operator $expr.")
        return super().find(ns, filter, *more, **named)

    def facts(self) -> ServerFacts:
        return replace(self.server.facts(), sessions=False)


def _holds(body: Any, kind: int) -> bool:
    if isinstance(body, bytes):
        return any(v.type == kind or (v.is_container and _holds(v.data, kind)) for _, v in c.fields(body))
    if isinstance(body, Value):
        return body.type == kind or (body.is_container and _holds(body.data, kind))
    if isinstance(body, dict):
        return any(_holds(value, kind) for value in body.values())
    return isinstance(body, Sequence) and any(_holds(each, kind) for each in body)


@pytest.mark.parametrize("name", ALL)
def test_a_type_that_the_server_lacks_is_said_and_other_edits_go_on(server: Server, database: Db, name: str) -> None:
    layout = made(Lacking(server), database, name, a=1)
    kind, detail = saved(layout, doc(a=1, price=Decimal128("1.50")))
    assert (kind, "Decimal128 is not supported" in detail) == ("refused", True)
    assert layout.version(ID).content == doc(a=1)
    assert saved(layout, doc(a=2))[0] == "applied"
    assert layout.version(ID).content == doc(a=2)


@pytest.mark.parametrize("name", ALL)
def test_what_no_operator_can_say_is_exact_or_refused_where_servers_lack_expressions(
    server: Server, database: Db, name: str
) -> None:
    layout = made(Lacking(server), database, name, a=1, b=2)
    for wanted in (doc(b=2, a=1), c.encode({"$a": 1}), doc(a=-0.0, b=1.0), doc(b=[{"0": 1}, 2])):
        before = layout.version(ID).content
        kind, detail = saved(layout, wanted)
        now = layout.version(ID).content
        assert kind in ("applied", "refused")
        assert now == (wanted if kind == "applied" else before) or "another order" in detail


def test_a_partial_index_is_no_unique_index_and_none_is_asked_for(server: Server, database: Db) -> None:
    layout = layout_of(server, database.name, "versions", indexed=False)
    database["things"].insert_one({"docId": "K-0", "v": 1})
    with contextlib.suppress(pymongo.errors.PyMongoError):  # some servers have none
        database["things"].create_index(
            [("docId", 1), ("v", 1)], unique=True, name="some", partialFilterExpression={"v": {"$gt": 5}}
        )
    if "partialFilterExpression" in database["things"].index_information().get("some", {}):
        assert layout.missing_index()
        database["things"].drop_index("some")
    else:  # it took the index and forgot the condition, or refused it
        database["things"].drop_indexes()
    layout.create_index()
    assert layout.missing_index() is None
    assert not any("partialFilterExpression" in index for index in database["things"].list_indexes())


def test_neither_sessions_nor_streams_are_needed(
    server_uri: str, database: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = Commands()
    plain = pymongo.MongoClient

    def listened(*args: Any, event_listeners: Any = (), **options: Any) -> Any:
        return plain(*args, event_listeners=[*event_listeners, seen], **options)

    monkeypatch.setattr(pymongo, "MongoClient", listened)
    database["none"].insert_one({"_id": "K-2", "a": 1})
    with Session.open(server_uri) as session:
        assert session.writing.create(f"{database.name}.none", doc(a=1), ID).kind == "applied"
        assert session.edit(f"{database.name}.none", "K-2", {"a": 2}).kind == "applied"
        assert isinstance(session.facts.sessions, bool)
    verbs = {next(iter(command)) for command in seen.sent}
    assert not verbs & {"startTransaction", "commitTransaction", "abortTransaction"}
    assert not any("$changeStream" in str(command.get("pipeline")) for command in seen.sent)
    assert not any("startTransaction" in command for command in seen.sent)


class Closing(LocalServer):
    """Closes the connection instead of answering the next reads, so many of them."""

    def __init__(self, closed: int) -> None:
        super().__init__()
        self.closed, self.asked = closed, 0

    def _reply(self, connection: socket.socket, command: Command) -> None:
        if command.name == "find":
            self.asked += 1
            if self.asked <= self.closed:
                connection.shutdown(socket.SHUT_RDWR)
                return
        super()._reply(connection, command)


@pytest.mark.parametrize(("closed", "options", "told"), [(1, "", 2), (2, "", 2), (1, "&retryReads=false", 1)])
def test_a_read_whose_connection_was_closed_is_sent_once_more(closed: int, options: str, told: int) -> None:
    """As by a server without sessions, where the driver does not do it."""
    with Closing(closed) as server:
        server.load("db.things", [bson.encode({"_id": n}) for n in range(3)])
        with Server.connect(f"{server.uri}{options}") as port:
            if closed < told:
                assert len(list(port.find("db.things"))) == 3
            else:
                with pytest.raises(Unreachable, match="was lost; try again"):
                    list(port.find("db.things"))
        assert server.asked == told
