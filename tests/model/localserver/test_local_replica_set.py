"""The in-process server as the primary of a replica set: sessions, repeated writes, change streams."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import bson
import pymongo
import pytest
from bson import Int64
from pymongo.client_session import ClientSession
from pymongo.errors import OperationFailure

from model.localserver import LocalServer, wire
from model.localserver.wire import Command


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer(replica_set="rs0", history=50) as made:
        yield made


@pytest.fixture
def client(server: LocalServer) -> Iterator[pymongo.MongoClient[Any]]:
    with pymongo.MongoClient[Any](server.uri) as made:
        yield made


@pytest.fixture
def coll(client: pymongo.MongoClient[Any]) -> pymongo.collection.Collection[Any]:
    return client.shop.things


@pytest.fixture
def mine(client: pymongo.MongoClient[Any]) -> Iterator[ClientSession]:
    with client.start_session() as session:
        yield session


def sent(session: ClientSession, number: int, **command: Any) -> dict[str, Any]:
    """A numbered command of a session, by hand: what a driver sends, and sends again.

    The driver numbers its own writes from 1 on, and may have used the session before.
    """
    return session.client.shop.command({**command, "txnNumber": Int64(number)}, session=session)


def caught(stream: Any) -> list[dict[str, Any]]:
    """The events that are there, without waiting for more."""
    out = []
    while (event := stream.try_next()) is not None:
        out.append(event)
    return out


# --- what it says of itself


def test_it_says_that_it_is_the_primary_of_a_set_with_sessions(client: pymongo.MongoClient[Any]) -> None:
    hello = client.admin.command("hello")
    assert hello["setName"] == "rs0"
    assert hello["me"] == hello["primary"] == hello["hosts"][0]
    assert hello["logicalSessionTimeoutMinutes"] == 30
    assert client.admin.command("replSetGetStatus")["myState"] == 1
    assert "operationTime" in client.admin.command("ping")


def test_a_client_that_looks_for_the_set_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("model.localserver.local_server._UNIX", None)
    with LocalServer(replica_set="rs0") as server:
        uri = server.uri.partition("?")[0] + "?replicaSet=rs0"
        with pymongo.MongoClient[Any](uri, serverSelectionTimeoutMS=5000) as client:
            client.shop.things.insert_one({"_id": 1})
            assert client.topology_description.topology_type_name == "ReplicaSetWithPrimary"


# --- repeated writes


def test_a_repeated_statement_answers_as_at_first_and_has_no_second_effect(coll: Any, mine: ClientSession) -> None:
    insert = {"insert": "things", "documents": [{"_id": 1, "n": 0}]}
    assert [sent(mine, 101, **insert)["n"] for _ in range(2)] == [1, 1]
    add = {"update": "things", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}}]}
    for _ in range(3):
        answer = sent(mine, 102, **add)
        assert (answer["n"], answer["nModified"]) == (1, 1)
    assert coll.find_one() == {"_id": 1, "n": 1}
    upsert = {"update": "things", "updates": [{"q": {"_id": 2}, "u": {"$inc": {"n": 1}}, "upsert": True}]}
    first, again = (sent(mine, 103, **upsert) for _ in range(2))
    assert first["upserted"] == again["upserted"] == [{"index": 0, "_id": 2}]
    change = {"findAndModify": "things", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "new": True}
    assert [sent(mine, 104, **change)["value"]["n"] for _ in range(2)] == [2, 2]
    delete = {"delete": "things", "deletes": [{"q": {}, "limit": 1}]}
    assert [sent(mine, 105, **delete)["n"] for _ in range(2)] == [1, 1]
    assert coll.count_documents({}) == 1


def test_of_a_batch_only_what_failed_is_tried_again(coll: Any, mine: ClientSession) -> None:
    coll.insert_one({"_id": 2})
    batch = {"insert": "things", "documents": [{"_id": 1}, {"_id": 2}], "ordered": True}
    failed = sent(mine, 101, **batch)
    assert (failed["n"], failed["writeErrors"][0]["index"]) == (1, 1)
    coll.delete_one({"_id": 2})
    assert sent(mine, 101, **batch)["n"] == 2
    assert coll.count_documents({}) == 2


def test_sessions_do_not_mix_and_an_older_number_is_refused(coll: Any, mine: ClientSession) -> None:
    client = coll.database.client
    coll.insert_one({"_id": 1, "n": 0})
    add = {"update": "things", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}}]}
    sent(mine, 107, **add)
    with client.start_session() as other:
        sent(other, 107, **add)
    assert coll.find_one()["n"] == 2
    with pytest.raises(OperationFailure) as error:
        sent(mine, 106, **add)
    assert error.value.code == 225
    client.admin.command({"endSessions": [mine.session_id]})
    sent(mine, 106, **add)
    assert coll.find_one()["n"] == 3


@pytest.mark.parametrize(
    "command",
    [
        {"update": "things", "updates": [{"q": {}, "u": {"$inc": {"n": 1}}, "multi": True}]},
        {"delete": "things", "deletes": [{"q": {}, "limit": 0}]},
    ],
)
def test_a_write_of_many_documents_takes_no_number(coll: Any, mine: ClientSession, command: dict[str, Any]) -> None:
    coll.insert_one({"_id": 1})
    answer = sent(mine, 101, **command)
    assert answer["writeErrors"][0]["code"] == 72
    assert coll.find_one() == {"_id": 1}


def test_transactions_are_refused_and_say_so(coll: Any) -> None:
    with coll.database.client.start_session() as session:
        session.start_transaction()
        with pytest.raises(OperationFailure, match="Transactions are not supported"):
            coll.insert_one({"_id": 1}, session=session)


def test_pymongo_sends_a_write_again_when_its_reply_is_lost(
    server: LocalServer, coll: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    coll.insert_one({"_id": 1, "n": 0})
    honest = wire.reply
    lost: list[Command] = []

    def losing(command: Command, document: bytes) -> bytes:
        if command.name == "update" and not lost:
            lost.append(command)
            raise OSError("the reply is lost")
        return honest(command, document)

    monkeypatch.setattr(wire, "reply", losing)
    assert coll.update_one({"_id": 1}, {"$inc": {"n": 1}}).modified_count == 1
    assert lost
    assert coll.find_one() == {"_id": 1, "n": 1}


def test_a_standalone_server_takes_no_numbers_and_has_no_streams() -> None:
    with LocalServer() as server, pymongo.MongoClient[Any](server.uri) as client:
        with pytest.raises(OperationFailure, match="only allowed on a replica set"):
            client.shop.command({"insert": "things", "documents": [{"_id": 1}], "txnNumber": Int64(1)})
        with pytest.raises(OperationFailure) as error:
            client.shop.things.watch()
        assert error.value.code == 40573


# --- change streams


def test_a_collections_stream_tells_each_change_in_order(coll: Any) -> None:
    with coll.watch(max_await_time_ms=1) as stream:
        coll.insert_one({"_id": 1, "a": 1, "in": {"x": 1, "y": 2}})
        coll.database.others.insert_one({"_id": 9})
        coll.update_one({"_id": 1}, {"$set": {"a": 2, "in.x": 5}, "$unset": {"in.y": 1}})
        coll.update_one({"_id": 1}, {"$set": {"a": 2}})  # changes nothing
        coll.replace_one({"_id": 1}, {"b": 1})
        coll.delete_one({"_id": 1})
        events = caught(stream)
    assert [event["operationType"] for event in events] == ["insert", "update", "replace", "delete"]
    assert all(event["ns"] == {"db": "shop", "coll": "things"} for event in events)
    assert all(event["documentKey"] == {"_id": 1} for event in events)
    insert, update, replace, delete = events
    assert insert["fullDocument"] == {"_id": 1, "a": 1, "in": {"x": 1, "y": 2}}
    assert update["updateDescription"]["updatedFields"] == {"a": 2, "in.x": 5}
    assert update["updateDescription"]["removedFields"] == ["in.y"]
    assert "fullDocument" not in update
    assert replace["fullDocument"] == {"_id": 1, "b": 1}
    assert "fullDocument" not in delete
    times = [event["clusterTime"] for event in events]
    assert times == sorted(set(times))


def test_a_looked_up_document_is_the_one_of_now(coll: Any) -> None:
    coll.insert_one({"_id": 1, "n": 0})
    with coll.watch(full_document="updateLookup", max_await_time_ms=1) as stream:
        coll.update_one({"_id": 1}, {"$inc": {"n": 1}})
        coll.update_one({"_id": 1}, {"$inc": {"n": 1}})
        assert [event["fullDocument"]["n"] for event in caught(stream)] == [2, 2]
        coll.update_one({"_id": 1}, {"$inc": {"n": 1}})
        coll.delete_one({"_id": 1})
        assert [event.get("fullDocument") for event in caught(stream)] == [None, None]


def test_images_are_given_where_the_collection_keeps_them(coll: Any) -> None:
    coll.insert_one({"_id": 1, "n": 0})
    wanted = {"full_document": "whenAvailable", "full_document_before_change": "whenAvailable", "max_await_time_ms": 1}
    with coll.watch(**wanted) as stream:
        coll.update_one({"_id": 1}, {"$inc": {"n": 1}})
        (event,) = caught(stream)
        assert event["fullDocument"] is None
        coll.database.command({"collMod": "things", "changeStreamPreAndPostImages": {"enabled": True}})
        coll.update_one({"_id": 1}, {"$inc": {"n": 1}})
        coll.delete_one({"_id": 1})
        update, delete = caught(stream)
        assert (update["fullDocumentBeforeChange"]["n"], update["fullDocument"]["n"]) == (1, 2)
        assert delete["fullDocumentBeforeChange"]["n"] == 2
    assert coll.database.list_collections().next()["options"] == {"changeStreamPreAndPostImages": {"enabled": True}}


def test_a_stream_waits_for_news_and_is_woken_by_them(coll: Any) -> None:
    found: list[Any] = []
    ready = threading.Event()

    def follow() -> None:
        with coll.watch(max_await_time_ms=60_000) as stream:
            ready.set()
            found.append(next(stream))

    follower = threading.Thread(target=follow)
    follower.start()
    assert ready.wait(60)
    coll.insert_one({"_id": 1})
    follower.join(60)
    assert found[0]["documentKey"] == {"_id": 1}


def test_closing_the_server_wakes_a_stream_that_waits() -> None:
    server = LocalServer(replica_set="rs0")
    with pymongo.MongoClient[Any](server.uri, retryReads=False, serverSelectionTimeoutMS=1000) as client:
        ready, ended = threading.Event(), threading.Event()

        def follow() -> None:
            try:
                with client.shop.things.watch(max_await_time_ms=60_000) as stream:
                    ready.set()
                    next(stream)
            except (pymongo.errors.PyMongoError, StopIteration):
                ended.set()

        follower = threading.Thread(target=follow)
        follower.start()
        assert ready.wait(60)
        server.close()
        follower.join(60)
        assert ended.is_set()


def test_a_stream_goes_on_behind_any_event_and_behind_a_time(coll: Any) -> None:
    start = coll.database.client.admin.command("ping")["operationTime"]
    with coll.watch(max_await_time_ms=1) as stream:
        coll.insert_many([{"_id": i} for i in range(5)])
        events = caught(stream)
        token = stream.resume_token
    for n, event in enumerate(events):
        for way in ("resume_after", "start_after"):
            with coll.watch(**{way: event["_id"]}, max_await_time_ms=1) as stream:
                assert [each["documentKey"]["_id"] for each in caught(stream)] == [0, 1, 2, 3, 4][n + 1 :]
    with coll.watch(start_at_operation_time=start, max_await_time_ms=1) as stream:
        assert len(caught(stream)) == 5
    coll.database.others.insert_one({})
    with coll.watch(resume_after=token, max_await_time_ms=1) as stream:
        coll.insert_one({"_id": 5})
        assert [each["documentKey"]["_id"] for each in caught(stream)] == [5]


def test_the_point_of_a_stream_moves_past_what_does_not_concern_it(coll: Any) -> None:
    with coll.watch(max_await_time_ms=1) as stream:
        before = stream.resume_token
        for _ in range(2):
            coll.database.others.insert_many([{} for _ in range(40)])  # together more than the history holds
            assert stream.try_next() is None
        after = stream.resume_token
    assert before != after
    with coll.watch(resume_after=after, max_await_time_ms=1) as stream:
        assert caught(stream) == []


def test_a_point_that_was_let_go_is_lost_and_so_is_one_of_another_server(coll: Any) -> None:
    with coll.watch(max_await_time_ms=1) as stream:
        token = stream.resume_token
        coll.insert_many([{"_id": i} for i in range(60)])
        with pytest.raises(OperationFailure) as error:  # a reader that fell behind
            stream.try_next()
        assert error.value.code == 286
    with pytest.raises(OperationFailure) as error:
        coll.watch(resume_after=token)
    assert error.value.code == 286
    with LocalServer(replica_set="rs0") as other, pymongo.MongoClient[Any](other.uri) as client:
        with pytest.raises(OperationFailure) as error:
            client.shop.things.watch(resume_after=token)
        assert error.value.code == 286


@pytest.mark.parametrize("token", [{}, {"_data": 1}, {"_data": "82"}, {"_data": "82" + "x" * 26}])
def test_what_is_no_token_is_refused(coll: Any, token: dict[str, Any]) -> None:
    with pytest.raises(OperationFailure):
        coll.database.command(
            {"aggregate": "things", "pipeline": [{"$changeStream": {"resumeAfter": token}}], "cursor": {}}
        )


def test_a_databases_stream_tells_all_its_collections_and_ends_with_it(coll: Any) -> None:
    db = coll.database
    with db.watch(max_await_time_ms=1) as stream:
        coll.insert_one({"_id": 1})
        db.others.insert_one({"_id": 2})
        db.client.elsewhere.things.insert_one({"_id": 3})
        coll.drop()
        db.client.drop_database("shop")
        kinds = [(event["operationType"], event.get("ns", {}).get("coll")) for event in caught(stream)]
        assert not stream.alive
    assert kinds == [
        ("insert", "things"), ("insert", "others"), ("drop", "things"), ("drop", "others"), ("dropDatabase", None),
        ("invalidate", None),
    ]  # fmt: skip


def test_a_dropped_collection_ends_its_stream_and_only_start_after_goes_on(coll: Any) -> None:
    coll.insert_one({"_id": 1})
    with coll.watch(max_await_time_ms=1) as stream:
        coll.drop()
        dropped, invalidate = caught(stream)
        assert (dropped["operationType"], invalidate["operationType"]) == ("drop", "invalidate")
        assert not stream.alive
    with coll.watch(max_await_time_ms=1) as stream:  # a new one knows nothing of that
        coll.insert_one({"_id": 2})
        assert [event["operationType"] for event in caught(stream)] == ["insert"]
    with pytest.raises(OperationFailure) as error:
        coll.watch(resume_after=invalidate["_id"])
    assert error.value.code == 260
    with coll.watch(start_after=invalidate["_id"], max_await_time_ms=1) as stream:
        assert [event["operationType"] for event in caught(stream)] == ["insert"]
    with coll.watch(resume_after=dropped["_id"], max_await_time_ms=1) as stream:
        assert [event["operationType"] for event in caught(stream)] == ["invalidate"]


def test_a_pipeline_chooses_events_but_may_not_touch_their_tokens(coll: Any) -> None:
    with coll.watch([{"$match": {"operationType": "delete"}}], max_await_time_ms=1) as stream:
        coll.insert_one({"_id": 1})
        coll.delete_one({"_id": 1})
        assert [event["operationType"] for event in caught(stream)] == ["delete"]
    with coll.watch([{"$project": {"_id": 0}}], max_await_time_ms=1) as stream:
        coll.insert_one({"_id": 1})
        with pytest.raises(OperationFailure) as error:
            stream.try_next()
        assert error.value.code == 280
    with pytest.raises(OperationFailure, match="not permitted"):
        coll.watch([{"$group": {"_id": 1}}])


def test_batches_hold_what_was_asked_for_and_nothing_is_skipped_between_them(coll: Any) -> None:
    with coll.watch(batch_size=3, max_await_time_ms=1) as stream:
        coll.insert_many([{"_id": i} for i in range(10)])
        assert [event["documentKey"]["_id"] for event in caught(stream)] == list(range(10))


def test_everything_can_be_watched_from_admin(coll: Any) -> None:
    with coll.database.client.watch(max_await_time_ms=1) as stream:
        coll.insert_one({"_id": 1})
        coll.database.client.elsewhere.things.insert_one({"_id": 2})
        assert [event["ns"]["db"] for event in caught(stream)] == ["shop", "elsewhere"]


def test_bytes_of_a_document_come_through_a_stream_as_they_are(server: LocalServer) -> None:
    from bson.raw_bson import RawBSONDocument

    with pymongo.MongoClient[Any](server.uri, document_class=RawBSONDocument) as client:
        raw = bson.encode({"_id": 1, "z": Int64(1), "a": 1.0})
        with client.shop.things.watch(max_await_time_ms=1) as stream:
            client.shop.things.insert_one(RawBSONDocument(raw))
            event = stream.try_next()
            assert event is not None
            assert event["fullDocument"].raw == raw
