"""The in-process server speaks MongoDB's wire protocol, and nothing that a client sends brings it down."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import stat
import struct
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bson
import pymongo
import pytest
from bson import Int64
from pymongo.errors import OperationFailure

from model.errors import Refused, Unreadable
from model.localserver import LocalServer, wire
from model.localserver.store import Collection
from model.mql.filters import Matcher
from model.values import canonical as c
from tests import support
from tests.model.localserver.local_client import Stored, stored


@pytest.fixture
def db() -> Iterator[Stored]:
    with stored() as made:
        yield made


def path_of(server: LocalServer) -> Path:
    return Path(urllib.parse.unquote(server.uri.removeprefix("mongodb://").partition("/?")[0]))


@contextlib.contextmanager
def connection(server: LocalServer) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as made:
        made.settimeout(10)
        made.connect(str(path_of(server)))
        yield made


def message(body: bytes, opcode: int = wire.OP_MSG, length: int | None = None) -> bytes:
    return struct.pack("<iiii", len(body) + 16 if length is None else length, 7, 0, opcode) + body


def command(flags: int = 0, **fields: Any) -> bytes:
    return struct.pack("<I", flags) + b"\x00" + bson.encode({**fields, "$db": "test"})


def answer(made: socket.socket) -> dict[str, Any]:
    head = made.recv(16, socket.MSG_WAITALL)
    length, _, request, opcode = struct.unpack("<iiii", head)
    body = made.recv(length - 16, socket.MSG_WAITALL)
    assert request == 7
    return bson.decode(body[5:] if opcode == wire.OP_MSG else body[20:])


unix = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="Unix sockets are not available here")


@unix
def test_the_socket_is_private_and_gone_afterwards() -> None:
    with LocalServer() as server:
        path = path_of(server)
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert path.parent.stat().st_uid == os.getuid()
        with pymongo.MongoClient(server.uri) as client:
            client.admin.command("ping")
    assert not path.parent.exists()


def test_without_unix_sockets_it_listens_on_the_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("model.localserver.local_server._UNIX", None)
    with LocalServer() as server:
        assert server.uri.startswith("mongodb://127.0.0.1:")
        with pymongo.MongoClient(server.uri) as client:
            assert client.admin.command("ping")["ok"] == 1


def test_closing_ends_threads_and_connections_and_may_be_repeated() -> None:
    before = set(threading.enumerate())  # other tests share a server that stays
    server = LocalServer()
    with pymongo.MongoClient(server.uri) as client:
        client.admin.command("ping")
        server.close()
    server.close()
    names = {thread.name for thread in set(threading.enumerate()) - before}
    assert not names & {"palimpsest-server", "palimpsest-connection"}
    LocalServer().close()


def test_it_says_that_it_is_a_standalone_server_without_sessions(db: Stored) -> None:
    hello = db.client.admin.command("hello")
    assert hello["isWritablePrimary"]
    assert hello["maxWireVersion"] >= 13
    assert "setName" not in hello
    assert "logicalSessionTimeoutMinutes" not in hello
    assert db.client.server_info()["version"]


@support.table(
    "asked",
    [
        "ping", "buildInfo", "hostInfo", "serverStatus", "connectionStatus", "getCmdLineOpts", "listCommands",
        {"getLog": "global"}, {"getParameter": 1, "featureCompatibilityVersion": 1}, {"endSessions": []}, "whatsmyuri",
    ],
    ids=str,
)  # fmt: skip
def test_commands_about_the_server_are_answered(db: Stored, asked: Any) -> None:
    assert db.client.admin.command(asked)["ok"] == 1


def test_databases_collections_and_indexes_are_listed(db: Stored) -> None:
    db.client.shop.create_collection("empty")
    db.put({"_id": 1, "a": 1})
    db.plain.create_index([("a", 1), ("b", -1)], name="mine", unique=True)
    assert db.client.list_database_names() == ["shop", "test"]
    assert [d["name"] for d in db.client.list_databases(filter={"name": "shop"})] == ["shop"]
    assert db.client.shop.list_collection_names() == ["empty"]
    assert [c["type"] for c in db.client.test.list_collections()] == ["collection"]
    assert db.plain.index_information() == {
        "_id_": {"v": 2, "key": [("_id", 1)]},
        "mine": {"v": 2, "key": [("a", 1), ("b", -1)], "unique": True},
    }
    assert db.client.test.command("collStats", "c")["count"] == 1
    assert db.client.test.command("dbStats")["objects"] == 1
    db.plain.drop_index("mine")
    with pytest.raises(OperationFailure) as caught:
        db.plain.drop_index("mine")
    assert caught.value.code == 27
    db.plain.drop()
    db.client.drop_database("shop")
    assert db.client.list_database_names() == []
    assert list(db.client.test.nothing.list_indexes()) == []


def test_an_unknown_command_is_refused_by_its_code(db: Stored) -> None:
    with pytest.raises(OperationFailure) as caught:
        db.client.admin.command("nonsense")
    assert caught.value.code == 59


@support.table(
    "asked, code",
    [
        ({"find": 1}, 73),
        ({"find": "c", "filter": 1}, 14),
        ({"find": "c", "filter": {}, "skip": -1}, 51024),
        ({"find": "c", "filter": {}, "collation": {"locale": "de"}}, 2),
        ({"getMore": Int64(5), "collection": "c"}, 43),
        ({"insert": "c"}, 40414),
        ({"insert": "c", "documents": []}, 16),
        ({"insert": "$odd", "documents": [{}]}, 73),
        ({"aggregate": "c", "pipeline": 1, "cursor": {}}, 14),
        ({"aggregate": "c", "pipeline": [{"$nonsense": 1}], "cursor": {}}, 40324),
        ({"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {}}, 238),
        ({"aggregate": 1, "pipeline": [{"$changeStream": {}}], "cursor": {}}, 40573),
        ({"createIndexes": "c", "indexes": [{"key": {}, "name": "x"}]}, 67),
        ({"dropIndexes": "nothing", "index": "*"}, 26),
        ({"create": "v", "viewOn": "c"}, 238),
        ({"find": "c", "filter": {}, "txnNumber": Int64(1)}, 20),
    ],
    ids=str,
)
def test_a_command_that_makes_no_sense_is_refused(db: Stored, asked: Any, code: int) -> None:
    with pytest.raises(OperationFailure) as caught:
        db.client.test.command(asked)
    assert caught.value.code == code


@unix
def test_only_documents_are_inserted(db: Stored) -> None:
    with connection(db.server) as made:
        made.sendall(message(command(insert="c", documents=[1])))
        assert answer(made)["code"] == 14


def test_a_read_only_server_takes_no_writes_but_loads() -> None:
    with stored(read_only=True) as db:
        db.server.load("test.c", [bson.encode({"_id": 1})])
        for write in (
            lambda: db.put({"_id": 2}),
            lambda: db.plain.update_one({}, {"$set": {"a": 1}}),
            lambda: db.plain.find_one_and_delete({}),
            lambda: db.plain.create_index("a"),
            lambda: db.plain.drop(),
            lambda: db.client.drop_database("test"),
        ):
            with pytest.raises(OperationFailure, match="read-only") as caught:
                write()
            assert caught.value.code == 13
        assert db.ids({}) == [1]


def test_documents_come_in_batches_by_number(db: Stored) -> None:
    db.put(*({"_id": i} for i in range(250)))
    batches = list(db.plain.find_raw_batches({}, batch_size=60))
    assert len(batches) == 5
    assert [d["_id"] for d in db.plain.find({}, batch_size=1).limit(5)] == list(range(5))
    assert [d["_id"] for d in db.plain.find({}).skip(248)] == [248, 249]
    assert len(list(db.plain.find().limit(-3))) == 3
    assert [d["_id"] for d in db.plain.aggregate([{"$skip": 245}], batchSize=2)] == list(range(245, 250))


@pytest.mark.deep
def test_no_reply_is_larger_than_a_driver_takes(db: Stored) -> None:
    big = [bson.encode({"_id": i, "s": "x" * 6_000_000}) for i in range(7)]
    db.server.load("test.c", big)
    batches = list(db.plain.find_raw_batches({}, batch_size=1000))
    assert max(map(len, batches)) <= 16 * 1024 * 1024
    assert b"".join(batches) == b"".join(big)
    assert len(list(db.plain.aggregate([{"$match": {}}]))) == 7
    whole = bson.encode({"_id": 9, "s": "x" * (16 * 1024 * 1024 - 22)})
    assert len(whole) == 16 * 1024 * 1024
    db.put(whole)
    assert db.one(9) == whole


def test_a_cursor_that_is_killed_is_gone(db: Stored) -> None:
    db.put(*({"_id": i} for i in range(250)))
    reply = db.client.test.command({"find": "c", "filter": {}, "batchSize": 2})
    number = reply["cursor"]["id"]
    assert number
    killed = db.client.test.command({"killCursors": "c", "cursors": [number, Int64(5)]})
    assert killed["cursorsKilled"] == [number]
    assert killed["cursorsNotFound"] == [5]
    with pytest.raises(OperationFailure) as caught:
        db.client.test.command({"getMore": number, "collection": "c"})
    assert caught.value.code == 43


def test_a_cursor_shows_its_collection_as_it_was(db: Stored) -> None:
    db.put(*({"_id": i, "n": 0} for i in range(10)))
    with db.plain.find({}, batch_size=2) as cursor:
        seen = [next(cursor)]
        db.plain.update_many({}, {"$set": {"n": 1}})
        db.plain.delete_many({})
        seen += list(cursor)
    assert [d["_id"] for d in seen] == list(range(10))


def test_the_first_documents_of_many_do_not_wait_for_all() -> None:
    held = Collection("shop.orders")
    held.load(bson.encode({"_id": n}) for n in range(1000))
    taken = len(held.docs)

    class Counted(dict[int, bytes]):
        """Counts the documents that are taken out."""

        def get(self, position: int, other: Any = None) -> Any:
            nonlocal taken
            taken += 1
            return super().get(position, other)

        def items(self) -> Any:
            raise AssertionError("all are taken")

        __iter__ = keys = values = copy = items

    held._docs = Counted(held._docs)
    taken = 0
    for reading in (held.find(Matcher(c.EMPTY))[0], held.backwards()):
        next(reading)
    assert taken == 2


def test_reading_all_goes_on_in_what_was_there_and_later_readers_see_what_was_written() -> None:
    held = Collection("shop.orders")
    held.load(bson.encode({"_id": n, "n": 0}) for n in range(4))
    forwards, backwards = held._natural(), held.backwards()
    seen = [next(forwards), next(backwards)]
    before = held._docs
    held.replace(1, bson.encode({"_id": 1, "n": 1}))
    held.remove([2])
    held.insert(bson.encode({"_id": 4, "n": 0}))
    seen += [*forwards, *backwards]
    assert [(at, bson.decode(raw)["n"]) for at, raw in seen] == [(at, 0) for at in (0, 3, 1, 2, 3, 2, 1, 0)]
    after = [(at, bson.decode(raw)["n"]) for at, raw in held._natural()]
    assert after == [(0, 0), (1, 1), (3, 0), (4, 0)]
    assert held._docs is not before
    del forwards, backwards
    now = held._docs
    held.replace(0, bson.encode({"_id": 0, "n": 2}))
    assert held._docs is now  # nobody reads: nothing is copied


def test_count_and_distinct_see_what_find_sees(db: Stored) -> None:
    db.put({"_id": 1, "a": [1, 2]}, {"_id": 2, "a": 1.0}, {"_id": 3, "a": True}, {"_id": 4})
    assert db.plain.estimated_document_count() == 4
    assert db.plain.count_documents({"a": 1}) == 2
    assert db.client.test.command({"count": "c", "query": {"a": 1}, "skip": 1})["n"] == 1
    assert db.plain.distinct("a") == [1, 2, True]
    assert db.client.test.command({"count": "nothing"})["n"] == 0


def test_a_search_that_takes_longer_than_allowed_says_so(db: Stored) -> None:
    db.server.load("test.c", [bson.encode({"_id": i, "t": "x" * 50}) for i in range(40_000)])
    for asked in (
        {"count": "c", "query": {"t": {"$regex": "^x+x+y$"}}},
        {"find": "c", "filter": {"t": "y"}, "sort": {"t": 1}},
        {"aggregate": "c", "pipeline": [{"$group": {"_id": "$t"}}], "cursor": {}},
        {"distinct": "c", "key": "t", "query": {"_id": {"$ne": 5}}},
    ):
        with pytest.raises(OperationFailure) as caught:
            db.client.test.command({**asked, "maxTimeMS": 1})
        assert caught.value.code == 50


@unix
def test_unacknowledged_writes_are_done_and_not_answered(db: Stored) -> None:
    with connection(db.server) as made:
        made.sendall(message(command(2, insert="c", documents=[{"_id": 1}])))
        made.sendall(message(command(ping=1)))
        assert answer(made) == {"ok": 1.0}
    assert db.ids({}) == [1]


@unix
def test_a_checksum_and_unknown_optional_flags_are_tolerated(db: Stored) -> None:
    with connection(db.server) as made:
        made.sendall(message(command(1, ping=1) + b"abcd"))
        assert answer(made)["ok"] == 1
        made.sendall(message(command(1 << 16, ping=1)))
        assert answer(made)["ok"] == 1


@unix
def test_documents_may_stand_beside_their_command(db: Stored) -> None:
    rows = b"".join(bson.encode({"_id": i}) for i in range(3))
    section = b"documents\x00" + rows
    with connection(db.server) as made:
        made.sendall(message(command(insert="c") + b"\x01" + struct.pack("<i", len(section) + 4) + section))
        assert answer(made)["n"] == 3


@unix
def test_old_drivers_may_say_hello_and_hear_what_is_wrong_else(db: Stored) -> None:
    def query(collection: bytes, document: dict[str, Any]) -> bytes:
        return message(
            struct.pack("<i", 0) + collection + b"\x00" + struct.pack("<ii", 0, -1) + bson.encode(document), 2004
        )

    with connection(db.server) as made:
        made.sendall(query(b"admin.$cmd", {"isMaster": 1}))
        assert answer(made)["ismaster"] is True
        made.sendall(query(b"admin.$cmd", {"$query": {"hello": 1}}))
        assert answer(made)["isWritablePrimary"] is True
        made.sendall(query(b"admin.$cmd", {"ping": 1}))
        assert answer(made)["code"] == 352
        made.sendall(query(b"test.c", {}))
        assert answer(made)["code"] == 352


GARBLED = {
    "text": b"GET / HTTP/1.1\r\n\r\n" + b"x" * 100,
    "a length of nothing": message(b"", length=0),
    "a negative length": message(b"", length=-5),
    "two gigabytes": message(b"x" * 100, length=2**31 - 1),
    "a little too long": message(b"", length=wire.MESSAGE_LIMIT + 1),
    "only a header": message(b"", length=16),
    "an unknown operation": message(b"\x00" * 40, opcode=77),
    "a legacy insert": message(b"\x00" * 40, opcode=2002),
    "compressed": message(b"\x00" * 40, opcode=2012),
    "unknown flags": message(command(4, ping=1)),
    "no section": message(b"\x00\x00\x00\x00"),
    "an unknown section": message(b"\x00\x00\x00\x00\x05" + bson.encode({"ping": 1})),
    "a command twice": message(command(ping=1) + b"\x00" + bson.encode({"ping": 1})),
    "a section too long": message(b"\x00\x00\x00\x00\x00" + struct.pack("<i", 500) + b"x" * 20),
    "a document too short": message(b"\x00\x00\x00\x00\x00" + struct.pack("<i", 2) + b"x" * 20),
    "no BSON": message(b"\x00\x00\x00\x00\x00" + struct.pack("<i", 24) + b"x" * 20),
    "an empty command": message(b"\x00\x00\x00\x00\x00" + bson.encode({})),
    "a sequence without a name": message(command(insert="c") + b"\x01" + struct.pack("<i", 9) + b"abcde"),
    "a sequence with half a document": message(
        command(insert="c") + b"\x01" + struct.pack("<i", 10) + b"d\x00\x09\x00\x00\x00"
    ),
    "a query cut short": message(b"\x00\x00\x00\x00admin.$cmd\x00", opcode=2004),
}


@unix
@pytest.mark.parametrize("sent", GARBLED.values(), ids=list(GARBLED))
def test_garbled_input_ends_its_own_connection_only(db: Stored, sent: bytes) -> None:
    with connection(db.server) as bystander, connection(db.server) as made:
        made.sendall(sent)
        with contextlib.suppress(ConnectionResetError):  # it may be closed before all was read
            assert made.recv(1) == b""
        bystander.sendall(message(command(ping=1)))
        assert answer(bystander)["ok"] == 1


@unix
def test_a_message_that_stops_half_way_harms_nobody(db: Stored) -> None:
    with connection(db.server) as made:
        made.sendall(message(b"", length=1000) + b"x" * 20)
    assert db.client.admin.command("ping")["ok"] == 1


@unix
def test_random_bytes_inside_well_framed_commands_are_survived(db: Stored) -> None:
    db.put({"_id": 1, "a": [1, {"b": 2}]})
    chance = random.Random(7)
    good = [
        command(find="c", filter={"a.b": {"$in": [1, 2]}}, sort={"a": 1}, projection={"a": 1}),
        command(update="c", updates=[{"q": {"_id": 1}, "u": {"$push": {"a": 1}}, "multi": False}]),
        command(aggregate="c", pipeline=[{"$match": {"a": 1}}, {"$group": {"_id": "$a"}}], cursor={}),
        command(insert="c", documents=[{"_id": 2, "x": [None, True]}]),
    ]
    for _ in range(300):
        body = bytearray(chance.choice(good))
        for _ in range(chance.randint(1, 4)):
            body[chance.randrange(9, len(body))] = chance.randrange(256)
        with connection(db.server) as made:
            made.sendall(message(bytes(body)))
            made.shutdown(socket.SHUT_WR)
            while made.recv(1 << 16):
                pass
    assert db.client.admin.command("ping")["ok"] == 1
    assert db.all({"_id": 1})


def test_deep_documents_get_an_answer(db: Stored) -> None:
    deep = b"\x05\x00\x00\x00\x00"
    for _ in range(3000):
        deep = struct.pack("<i", len(deep) + 8) + b"\x03a\x00" + deep + b"\x00"
    raw = struct.pack("<i", len(deep) + 10) + b"\x10_i\x00\x01\x00\x00\x00"[:0] + b"\x03_id\x00" + deep + b"\x00"
    with pytest.raises(OperationFailure):
        db.put(raw)
    db.server.load("test.c", [raw])
    assert db.all() == [raw]
    assert db.client.admin.command("ping")["ok"] == 1


def test_loading_keeps_what_came_and_refuses_what_is_no_document() -> None:
    with stored() as db:
        late = bson.encode({"a": 1, "_id": 1})
        db.server.load("test.c", [late, late])
        assert db.all() == [late, late], "an id that occurs twice is kept twice"
        assert db.all({"_id": 1}) == [late, late]
        for bad in (b"", b"\x05\x00\x00\x00", b"\x06\x00\x00\x00\x00", b"\x05\x00\x00\x00\x01"):
            with pytest.raises(Unreadable):
                db.server.load("test.c", [bad])
        for ns in ("", "a", ".b", "a."):
            with pytest.raises(Refused):
                db.server.load(ns, [])


def test_a_document_without_an_id_always_gets_the_same_one() -> None:
    def load() -> list[bytes]:
        with stored() as db:
            db.server.load("test.c", [bson.encode({"a": i}) for i in range(3)])
            return db.all()

    assert load() == load()
    assert len({bson.decode(raw)["_id"] for raw in load()}) == 3


def test_an_index_that_its_documents_contradict_is_refused() -> None:
    with LocalServer() as server:
        server.load("test.c", [bson.encode({"_id": i, "a": 1}) for i in range(2)])
        server.index("test.c", "a")
        with pytest.raises(Refused, match=r"test\.c"):
            server.index("test.c", [("a", 1)], unique=True)
