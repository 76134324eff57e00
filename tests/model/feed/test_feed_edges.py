"""The feeder at its limits: ids that a server finds equal, streams that are lost, and very much news."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from bson import Int64

from model.errors import Refused
from model.feed.collection_feed import CollectionFeed
from model.localserver import change_streams
from model.localserver.change_log import LoggedChange
from model.server.change_stream import Changes, Take
from model.server.retry import Reply, Server, Write
from model.values import canonical as c
from model.values.canonical import Value
from tests.model.feed.feed_support import Ground, ground, outcomes
from tests.model.server.faulty_server import FaultyServer


@pytest.fixture
def here() -> Iterator[Ground]:
    with ground() as made:
        yield made


def test_a_row_of_an_id_that_the_server_finds_equal_is_told_and_the_feed_goes_on(here: Ground) -> None:
    here.feed()
    here.archive.insert_one({"docId": 1, "v": 1, "n": "of an earlier document"})
    here.orders.insert_one({"_id": Int64(1), "v": 1, "n": 1})
    here.orders.insert_one({"_id": "B", "v": 1, "n": 2})
    assert outcomes(here.feed()) == [("conflict", 1), ("applied", 1)]
    assert [(id, v) for id, v, _ in here.archived()] == [(1, 1), ("B", 1)]


def test_a_document_with_the_name_that_the_archive_needs_makes_no_row_with_two_of_it(here: Ground) -> None:
    here.orders.insert_one({"_id": "A", "v": 1, "docId": "mine"})
    assert outcomes(here.feed()) == [("refused", None)]
    here.orders.insert_one({"_id": "B", "v": 1, "docId": "mine"})
    here.orders.insert_one({"_id": "C", "v": 1})
    assert outcomes(here.feed()) == [("refused", 1), ("applied", 1)]
    assert [id for id, _, _ in here.archived()] == ["C"]


class Watched(FaultyServer):
    """A port that keeps every change stream that it opened, and takes nothing for the ledger."""

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self.opened: list[Changes] = []

    def send(self, write: Write) -> Reply:
        if write.ns.endswith("_feed"):
            return Reply("no", sentence="No room is left.", error=Refused("No room is left."))
        return super().send(write)

    def changes(
        self, ns: str, after: bytes | None = None, wait_ms: int = 1000, images: bool = False, take: Take = "many"
    ) -> Changes:
        self.opened.append(self.server.changes(ns, after, wait_ms, images, take))
        return self.opened[-1]


def test_no_change_stream_stays_open_where_the_feed_cannot_begin(here: Ground) -> None:
    port = Watched(here.server)
    with pytest.raises(Refused, match="No room"):
        here.feed(port)
    assert [stream.ended for stream in port.opened] == [True] * len(port.opened)
    assert port.opened


def test_what_could_not_be_archived_is_told_once_however_much_it_is(
    here: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("model.feed.collection_feed.TOLD", 2)
    here.orders.insert_many([{"_id": n, "v": 1, "n": 1} for n in range(5)])
    here.feed()
    layout = here.layout()
    with closing(CollectionFeed(here.server, layout, 1, once=True)) as feed:
        told: list[object] = []
        for _ in range(2):
            here.orders.update_many({}, {"$inc": {"n": 1}})
            feed.idle = False
            while not feed.idle:
                told += [fed.id.python() for fed in feed.step() if fed.outcome == "conflict" and fed.id]
        assert len(feed._told) == 2
    assert sorted(told) == [0, 1, 2, 3, 4]


def _without(event: bytes, name: str) -> bytes:
    return c.document([each for each in c.fields(event) if each[0] != name])


def _with(event: bytes, name: str, value: object) -> bytes:
    return c.document([(each, Value.of(value) if each == name else was) for each, was in c.fields(event)])


UNUSABLE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "no key": (lambda event: _without(event, "documentKey"), "but not which document"),
    "a key without an id": (lambda event: _with(event, "documentKey", {"shard": 1}), "but not which document"),
    "a key that is a text": (lambda event: _with(event, "documentKey", "A"), "but not which document"),
    "no document": (lambda event: _without(event, "fullDocument"), "but not with which content"),
    "no kind": (lambda event: _without(event, "operationType"), "in a form that cannot be read"),
}


@pytest.mark.parametrize("what", UNUSABLE)
def test_the_feed_stays_before_an_event_that_cannot_be_used_and_says_so(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, said = UNUSABLE[what]
    told = change_streams.ChangeStreams._event

    def event(self: object, stream: object, logged: LoggedChange) -> bytes:
        raw = told(self, stream, logged)  # type: ignore[arg-type]
        return change(raw) if logged.id == Value.of("B") else raw

    with ground() as here:
        here.feed()
        here.orders.insert_many([{"_id": id, "v": 1, "n": 1} for id in "ABC"])
        monkeypatch.setattr(change_streams.ChangeStreams, "_event", event)
        for _ in range(2):
            with pytest.raises(Refused, match=f"{said}.*the feed stays before it"):
                here.feed()
            assert [id for id, _, _ in here.archived()] == ["A"]
        monkeypatch.undo()
        assert outcomes(here.feed()) == [("applied", 1), ("applied", 1)]
        assert [id for id, _, _ in here.archived()] == ["A", "B", "C"]


def test_deleting_the_place_goes_on_behind_an_event_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with ground() as here:
        here.feed()
        here.orders.insert_one({"_id": "A", "v": 1})
        told = change_streams.ChangeStreams._event
        monkeypatch.setattr(change_streams.ChangeStreams, "_event", lambda *each: _without(told(*each), "documentKey"))
        with pytest.raises(Refused, match=r"Delete its place in shop\.orders_history_feed"):
            here.feed()
        here.ledger.delete_one({"_id": "shop.orders"})
        assert outcomes(here.feed()) == [("applied", 1)]
