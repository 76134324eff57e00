"""The feeder: what it archives, what it cannot, and that it may be killed at any moment."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import bson
import pymongo
import pytest
from bson import Int64

from model.errors import Refused, Unreachable
from model.foundation.findings import Finding
from model.server.change_stream import Changes, TooLarge
from model.values.canonical import Value
from tests import support
from tests.model.feed.feed_scenes import story
from tests.model.feed.feed_support import NS, Ground, Killed, ground, notes, outcomes
from tests.model.server.faulty_server import Dead, FaultyServer
from tests.simulation.machine import check


@pytest.fixture
def here() -> Iterator[Ground]:
    with ground() as made:
        yield made


# --- what it archives


def test_every_version_is_archived_once_in_the_order_they_were_made(here: Ground) -> None:
    assert outcomes(here.feed()) == []
    here.orders.insert_one({"_id": "A", "v": 1, "total": 10})
    assert outcomes(here.feed()) == [("applied", 1)]
    for total in (20, 30):
        here.edit("A", total=total)
        assert outcomes(here.feed()) == [("applied", total // 10)]
    here.orders.replace_one({"_id": "A"}, {"v": 4, "sum": 1})
    assert outcomes(here.feed()) == [("applied", 4)]
    assert outcomes(here.feed()) == []
    assert here.archived() == [
        ("A", 1, {"total": 10}),
        ("A", 2, {"total": 20}),
        ("A", 3, {"total": 30}),
        ("A", 4, {"sum": 1}),
    ]


def test_a_version_that_was_overwritten_before_it_was_read_is_rebuilt_from_its_event(here: Ground) -> None:
    here.feed()
    here.orders.insert_one({"_id": "A", "v": 1, "lines": [{"n": 1}, {"n": 2}], "to": {"city": "Kiel", "zip": 1}})
    here.orders.update_one({"_id": "A"}, {"$set": {"lines.1.n": 7, "to.city": "Ulm", "zeta": 1}, "$inc": {"v": 1}})
    here.orders.update_one({"_id": "A"}, {"$unset": {"to.zip": 1}, "$pop": {"lines": -1}, "$inc": {"v": 1}})
    here.edit("A", last=Int64(1))
    here.orders.delete_one({"_id": "A"})
    assert outcomes(here.feed()) == [("applied", number) for number in (1, 2, 3, 4)]
    assert [content for _, _, content in here.archived()] == [
        {"lines": [{"n": 1}, {"n": 2}], "to": {"city": "Kiel", "zip": 1}},
        {"lines": [{"n": 1}, {"n": 7}], "to": {"city": "Ulm", "zip": 1}, "zeta": 1},
        {"lines": [{"n": 7}], "to": {"city": "Ulm"}, "zeta": 1},
        {"lines": [{"n": 7}], "to": {"city": "Ulm"}, "zeta": 1, "last": 1},
    ]


def test_rebuilding_goes_on_from_the_archive_after_a_restart(here: Ground) -> None:
    here.feed()
    here.orders.insert_one({"_id": "A", "v": 1, "n": 1})
    assert outcomes(here.feed()) == [("applied", 1)]
    here.edit("A", n=2)
    here.edit("A", n=3)
    assert outcomes(here.feed()) == [("applied", 2), ("applied", 3)]
    assert [content["n"] for _, _, content in here.archived()] == [1, 2, 3]


def test_nothing_is_rebuilt_from_a_version_that_was_changed_in_place(here: Ground) -> None:
    here.feed()
    here.orders.insert_one({"_id": "A", "v": 1, "n": 1})
    here.feed()
    here.orders.update_one({"_id": "A"}, {"$set": {"m": 5}})
    assert outcomes(here.feed()) == [("conflict", 1)]
    here.edit("A", n=2)
    here.edit("A", n=3)
    fed = here.feed()
    assert outcomes(fed) == [("refused", 2), ("applied", 3)]
    assert "v2 of A was overwritten before it could be read" in fed[-2].detail
    assert [(v, content) for _, v, content in here.archived()] == [(1, {"n": 1}), (3, {"n": 3, "m": 5})]


def test_with_the_images_that_a_collection_keeps_every_version_is_read_as_it_was(here: Ground) -> None:
    here.client.shop.create_collection("orders", changeStreamPreAndPostImages={"enabled": True})
    here.feed()
    here.orders.insert_one({"_id": "A", "v": 1, "n": 1})
    here.feed()
    here.orders.update_one({"_id": "A"}, {"$set": {"m": 5}})
    here.edit("A", n=2)
    here.edit("A", n=3)
    assert outcomes(here.feed()) == [("conflict", 1), ("applied", 2), ("applied", 3)]
    assert [content for _, _, content in here.archived()] == [{"n": 1}, {"n": 2, "m": 5}, {"n": 3, "m": 5}]


def test_documents_with_an_id_of_their_own_are_archived_under_it(here: Ground) -> None:
    here.fields = {"id": "no", "archive_id": "of", "version": "rev", "token": ""}
    here.feed()
    here.orders.insert_one({"_id": 1, "no": "A", "rev": 1, "n": 1})
    for n in (2, 3):
        here.orders.update_one({"_id": 1}, {"$set": {"n": n}, "$inc": {"rev": 1}})
    assert outcomes(here.feed()) == [("applied", 1), ("applied", 2), ("applied", 3)]
    rows = list(here.archive.find({}, {"_id": 0}, sort=[("rev", 1)]))
    assert rows == [{"of": "A", "rev": n, "n": n} for n in (1, 2, 3)]


# --- what it does not


def test_what_changed_without_a_new_version_is_told_and_not_written_over(here: Ground) -> None:
    here.feed()
    here.orders.insert_one({"_id": "A", "v": 1, "n": 1})
    here.feed()
    here.orders.update_one({"_id": "A"}, {"$set": {"n": 2}})
    fed = here.feed()
    assert outcomes(fed) == [("conflict", 1)]
    assert "changed in place (n) without a new version" in fed[-1].detail
    here.orders.replace_one({"_id": "A"}, {"v": 1, "n": 3})
    fed = here.feed()
    assert outcomes(fed) == [("conflict", 1)]
    assert "holds another v1 of A" in fed[-1].detail
    assert here.archived() == [("A", 1, {"n": 1})]
    assert here.noted() == ["another content", "changed in place", "changed in place"]


def test_a_write_to_the_layouts_own_fields_alone_is_no_change_of_the_content(here: Ground) -> None:
    here.feed()
    here.orders.insert_one({"_id": "A", "v": 1, "n": 1})
    here.orders.update_one({"_id": "A"}, {"$set": {"_w": "another"}})
    assert outcomes(here.feed()) == [("applied", 1)]


@pytest.mark.parametrize("v", ["1", 1.0, None])
def test_a_document_without_a_version_is_told_and_passed_over(here: Ground, v: Any) -> None:
    here.feed()
    here.orders.insert_one({"_id": "A", "v": v})
    here.orders.insert_one({"_id": "B", "v": 1})
    assert [outcome for outcome, _ in outcomes(here.feed())] == ["refused", "applied"]
    assert [id for id, _, _ in here.archived()] == ["B"]


def test_an_archive_with_rows_and_no_unique_index_is_refused(here: Ground) -> None:
    here.archive.insert_one({"docId": "A", "v": 1})
    with pytest.raises(Refused, match=r"createIndex\(\{docId: 1, v: 1\}, \{unique: true\}\)"):
        here.feed()
    assert here.ledger.count_documents({}) == 0


def test_an_archived_version_with_the_same_content_is_done_already(here: Ground) -> None:
    here.feed()
    here.orders.insert_one({"_id": "A", "v": 1, "n": 1})
    here.archive.insert_one({"docId": "A", "v": 1, "n": 1, "_w": "somebody else's"})
    assert outcomes(here.feed()) == []
    assert len(here.archived()) == 1


# --- where it begins, and what it missed


def test_the_first_run_archives_what_is_current_and_says_what_was_before(here: Ground) -> None:
    here.orders.insert_many([{"_id": "A", "v": 1}, {"_id": "B", "v": 7}, {"_id": "C", "v": 3}])
    here.archive.create_index([("docId", 1), ("v", 1)], unique=True)
    here.archive.insert_one({"docId": "C", "v": 1})
    fed = here.feed()
    assert sorted(outcomes(fed)) == [("applied", 1), ("applied", 3), ("applied", 7), ("refused", 2)]
    assert "Earlier versions of one document were there before the archive was fed." in notes(fed)


def test_a_lost_resume_point_is_told_and_made_up_for_by_comparing() -> None:
    with ground(history=20) as here:
        here.feed()
        here.orders.insert_many([{"_id": "A", "v": 1, "n": 1}, {"_id": "B", "v": 1}])
        here.feed()
        for n in range(2, 30):
            here.edit("A", n=n)
        here.orders.insert_one({"_id": "C", "v": 1})
        fed = here.feed()
        assert "does not go back to where the feed stood" in notes(fed)
        assert outcomes(fed) == [("refused", 28), ("applied", 29), ("applied", 1)]
        assert "v2 to v28 of A were overwritten while nobody watched" in fed[1].detail
        here.edit("A", n=30)
        assert outcomes(here.feed()) == [("applied", 30)]


def test_a_feeder_that_falls_behind_while_it_runs_goes_on_by_comparing() -> None:
    with ground(history=20) as here:
        here.feed()
        stop, seen = threading.Event(), []
        for fed in here.feeding(once=False, stop=stop):
            seen.append(fed)
            if "is fed from the change stream" in fed.detail:
                here.orders.insert_one({"_id": "A", "v": 1})
                here.client.shop.others.insert_many([{} for _ in range(40)])
            if fed.outcome == "applied":
                stop.set()
        assert "Comparing instead" in notes(seen)
        assert outcomes(seen) == [("applied", 1)]


def test_a_collection_that_is_dropped_keeps_its_archive_and_is_followed_on(here: Ground) -> None:
    here.feed()
    here.orders.insert_one({"_id": "A", "v": 1, "n": 1})
    here.orders.drop()
    here.orders.insert_one({"_id": "B", "v": 1})
    here.orders.insert_one({"_id": "A", "v": 1, "n": 2})
    first, second = here.feed(), here.feed()
    assert outcomes(first) == [("applied", 1)]
    assert "was dropped" in notes(first)
    assert outcomes(second) == [("applied", 1), ("conflict", 1)]
    assert here.archived() == [("A", 1, {"n": 1}), ("B", 1, {})]


def large(letter: str) -> str:
    return letter * (9 << 20)


@pytest.mark.deep
@support.table("images", [False, True])
def test_a_change_that_is_too_large_for_an_event_is_read_without_the_document_in_it(images: bool) -> None:
    with ground() as here:
        here.client.shop.create_collection("orders", changeStreamPreAndPostImages={"enabled": images})
        here.feed()
        here.orders.insert_one({"_id": "A", "v": 1, "text": large("a")})
        here.orders.insert_many([{"_id": n, "v": 1} for n in range(20)])
        here.edit("A", text=large("b"))  # 9 MB of document, and as much of what changed
        here.edit("A", n=3)
        here.edit("A", text=large("d"))
        here.edit(7, n=2)
        fed = here.feed()
        assert outcomes(fed) == [("applied", v) for v in (1, *[1] * 20, 2, 3, 4, 2)]
        texts = [(v, content["text"][0], content.get("n")) for id, v, content in here.archived() if id == "A"]
        assert texts == [(1, "a", None), (2, "b", None), (3, "b", 3), (4, "d", 3)]
        assert here.noted() == []
        assert outcomes(here.feed()) == []


def test_a_large_change_of_a_document_that_is_gone_is_rebuilt_too(here: Ground) -> None:
    here.feed()
    here.orders.insert_one({"_id": "A", "v": 1, "text": large("a")})
    here.feed()
    here.edit("A", text=large("b"))
    here.orders.delete_one({"_id": "A"})
    here.feed()
    assert [content["text"][0] for _, _, content in here.archived()] == ["a", "b"]


@pytest.mark.deep
def test_a_document_that_has_no_room_for_a_row_is_told_and_passed_over(here: Ground) -> None:
    here.feed()
    body = (16 << 20) - len(bson.encode({"_id": 1, "v": 1, "t": ""}))
    here.orders.insert_one({"_id": 1, "v": 1, "t": "x" * body})
    here.orders.insert_one({"_id": 2, "v": 1})
    fed = here.feed()
    assert outcomes(fed) == [("refused", 1), ("applied", 1)]
    assert "cannot be archived: it would be 16.00 MB as a row" in fed[-2].detail
    assert here.noted() == ["lost"]


@pytest.mark.parametrize("behind", [False, True])
def test_a_new_document_whose_event_came_without_it_is_archived_as_it_is_by_then(here: Ground, behind: bool) -> None:
    class Tight(FaultyServer):
        """Its inserts of A are too large for an event, however little is in them."""

        def changes(self, ns: str, after: Any = None, wait_ms: int = 1, images: bool = False, *take: Any) -> Any:
            stream = here.server.changes(ns, after, wait_ms, images, *take)
            following = stream.next

            def next() -> bytes | None:
                raw = following()
                event = bson.decode(raw) if raw else {}
                if (
                    not take[:1] == ("bare",)
                    and event.get("operationType") == "insert"
                    and event["documentKey"]["_id"] == "A"
                ):
                    raise TooLarge("too large")
                return raw

            stream.next = next  # type: ignore[method-assign]
            return stream

    here.feed()
    here.orders.insert_one({"_id": "B", "v": 1})
    here.orders.insert_one({"_id": "A", "v": 1, "n": 1})
    if behind:
        here.edit("A", n=2)
    here.edit("B", n=2)
    fed = here.feed(Tight(here.server))
    lost: list[tuple[str, int | None]] = [("refused", 1)] if behind else []
    assert outcomes(fed) == [("applied", 1), *lost, ("applied", 2 if behind else 1), ("applied", 2)]
    assert here.noted() == ["lost"] * behind
    assert [row for row in here.archived() if row[0] == "A"] == [("A", 2, {"n": 2}) if behind else ("A", 1, {"n": 1})]


def test_a_quiet_collection_does_not_lose_its_place_while_others_change() -> None:
    with ground(history=20) as here:
        here.feed()
        for _ in range(3):
            here.client.shop.others.insert_many([{} for _ in range(15)])
            assert "Comparing" not in notes(here.feed())


# --- polling


def test_without_change_streams_it_polls_and_says_what_that_misses() -> None:
    with ground(replica_set="") as here:
        here.orders.insert_one({"_id": "A", "v": 1, "n": 1})
        fed = here.feed()
        assert "has no change streams" in notes(fed)
        assert "come and go between two looks are missed" in notes(fed)
        assert outcomes(fed) == [("applied", 1)]
        here.edit("A", n=2)
        assert outcomes(here.feed()) == [("applied", 2)]
        here.edit("A", n=3)
        here.edit("A", n=4)
        fed = here.feed()
        assert outcomes(fed) == [("refused", 3), ("applied", 4)]
        assert all(each.lag is None for each in fed)
        here.orders.update_one({"_id": "A"}, {"$set": {"n": 5}})
        assert outcomes(here.feed()) == [("conflict", 4)]
        assert here.archived() == [("A", 1, {"n": 1}), ("A", 2, {"n": 2}), ("A", 4, {"n": 4})]


@support.table("way", ["by polling", "from a stream whose history is lost"])
def test_after_a_rollback_it_says_so_and_marks_the_versions_that_were_taken_back(way: str) -> None:
    with ground(replica_set="" if way == "by polling" else "rs0", history=20) as here:
        here.orders.insert_many([{"_id": id, "v": 1, "n": 1} for id in "AB"])
        here.feed()
        for n in (2, 3):
            here.edit("A", n=n)
            here.edit("B", n=n)
            here.feed()
        before = here.archived()
        here.orders.replace_one({"_id": "A"}, {"v": 1, "n": 1})  # as a restored backup has it
        here.client.shop.others.insert_many([{} for _ in range(40)])
        fed = here.feed()
        assert outcomes(fed) == [("conflict", 3)]
        assert [each.id for each in fed if each.outcome == "conflict"] == [Value.of("A")]
        (said,) = [each.detail for each in fed if each.outcome == "conflict"]
        assert said.startswith("A stands at v1 again, and shop.orders_history holds v2 to v3 of it: a failover or")
        assert here.noted() == ["taken back"] * 2
        assert here.archived() == before
        shown = {(each.v.python() if each.v else None): each.detail for each in here.layout().history(Value.of("A"))}
        assert ["taken back by a failover" in shown[v] for v in (3, 2, 1)] == [True, True, False]
        assert not any("taken back" in each.detail for each in here.layout().history(Value.of("B")))
        here.edit("A", n=9)
        again = [each.detail for each in here.feed() if each.v == Value.of(2)]
        assert ["had been taken back" in each for each in again] == [True]
        assert here.archived() == before


class Overtaken(FaultyServer):
    """A port between whose operations others write."""

    def changes(self, *asked: Any) -> Changes:
        return self.server.changes(*asked)


@support.table("place", range(2, 14, 2))
def test_an_edit_that_another_feeder_archives_between_two_reads_is_no_rollback(place: int) -> None:
    with ground(replica_set="") as here:
        here.orders.insert_one({"_id": "A", "v": 1, "n": 1})
        here.feed()

        def overtake() -> None:
            here.edit("A", n=2)
            here.archive.insert_one({"docId": "A", "v": 2, "n": 2})

        port = Overtaken(here.server)
        port.between = {place: overtake, place + 1: lambda: here.edit("A", n=3)}
        assert "conflict" not in [kind for kind, _ in outcomes(here.feed(port))]
        assert "taken back" not in here.noted()


def test_a_document_that_was_deleted_and_made_anew_is_no_rollback() -> None:
    with ground(history=20) as here:
        here.orders.insert_one({"_id": "A", "v": 1, "n": 1})
        here.edit("A", n=2)
        here.feed()
        here.orders.delete_one({"_id": "A"})
        here.feed()
        here.orders.insert_one({"_id": "A", "v": 1, "n": 1})
        here.client.shop.others.insert_many([{} for _ in range(40)])
        here.feed()
        assert "taken back" not in here.noted()


@pytest.mark.deep
def test_the_java_server_is_fed_by_polling(java_uri: str) -> None:
    from model.feed import feed
    from model.layouts.stream import Stream
    from model.profile import stated
    from model.server.retry import Server

    with Server.connect(java_uri) as server, pymongo.MongoClient[Any](java_uri) as client:
        client.drop_database("palimpsest_feed")
        things = client.palimpsest_feed.things
        profile = stated("palimpsest_feed.things", "stream", archive="palimpsest_feed.past")
        try:
            for number in (1, 2):
                things.replace_one({"_id": "A"}, {"v": number, "n": number}, upsert=True)
                fed = list(feed(server, [Stream(server, profile)], once=True))
                assert outcomes(fed) == [("applied", number)]
                assert outcomes(list(feed(server, [Stream(server, profile)], once=True))) == []
        finally:
            client.drop_database("palimpsest_feed")


# --- dying, and doubt


def act(here: Ground) -> None:
    """A story with everything in it: new, edited, overtaken, changed in place, deleted, dropped documents."""
    here.orders.insert_many([{"_id": id, "v": 1, "n": 1} for id in "AB"])
    for n in (2, 3, 4):
        here.edit("A", n=n)
    here.orders.replace_one({"_id": "B"}, {"v": 2, "n": 2})
    here.orders.update_one({"_id": "B"}, {"$set": {"m": 1}})
    here.orders.delete_one({"_id": "B"})
    here.orders.insert_one({"_id": "C", "v": 1})


STORY = [("A", 1, {"n": 1}), ("A", 2, {"n": 2}), ("A", 3, {"n": 3}), ("A", 4, {"n": 4})]
STORY += [("B", 1, {"n": 1}), ("B", 2, {"n": 2}), ("C", 1, {})]


@support.table("behind", support.every(2, [True, False]))
def test_a_feeder_that_dies_at_any_write_is_made_up_for_by_the_next(behind: bool) -> None:
    write = 0
    while True:
        write += 1
        with ground() as here:
            here.feed()
            act(here)
            port = Killed(here.server, write, behind)
            try:
                here.feed(port)
            except Dead:
                pass
            else:
                break
            rows = {row["_id"]: row for row in here.archive.find()}
            here.feed()
            assert here.archived() == STORY, f"killed at write {write}"
            assert all(here.archive.find_one(id) == row for id, row in rows.items()), "history was rewritten"
            assert set(here.noted()) == {"changed in place", "deleted"}
    assert write == len(STORY) + 4  # the rows, two notes and the place


@support.table("behind", support.every(2, [True, False]))
def test_dying_while_a_lost_place_is_made_up_for_forgets_no_gap(behind: bool) -> None:
    write = 0
    while True:
        write += 1
        with ground(history=5) as here:
            here.feed()
            here.orders.insert_one({"_id": "A", "v": 1, "n": 1})
            here.feed()
            for n in range(2, 12):
                here.edit("A", n=n)
            here.orders.insert_one({"_id": "B", "v": 1})
            try:
                here.feed(Killed(here.server, write, behind))
            except Dead:
                pass
            else:
                break
            here.feed()
            assert [(id, v) for id, v, _ in here.archived()] == [("A", 1), ("A", 11), ("B", 1)]
            (note,) = here.ledger.find({"_id": {"$type": "object"}})
            assert (note["_id"]["id"], note["_id"]["v"], note["_id"]["what"]) == ("A", 10, "lost")
    assert write > 4


def test_the_place_never_passes_an_event_that_is_not_archived(here: Ground) -> None:
    """Behind each write the place that is kept has only events before it that are in the archive or noted."""
    here.feed()
    act(here)
    port = Killed(here.server, 10_000, False)
    list(here.feeding(port))
    order = [write.ns for write in port.sent]
    assert order[-1] == here.ledger.full_name
    assert order.count(here.archive.full_name) == len(STORY)


def test_every_write_of_a_feeder_is_guarded_and_says_what_it_is_for(here: Ground) -> None:
    port = Killed(here.server, 10_000, False)
    here.feed(port)
    act(here)
    here.feed(port)
    for write in port.sent:
        check(write)
        assert write.note
    assert {write.ns for write in port.sent} == {here.archive.full_name, here.ledger.full_name}


@pytest.mark.parametrize("fault", ["never", "lost"])
def test_a_write_in_doubt_is_looked_for_and_not_done_twice(here: Ground, fault: Any) -> None:
    class Doubtful(FaultyServer):
        def changes(self, *given: Any) -> Any:
            return self.server.changes(*given)

    here.feed()
    act(here)
    port = Doubtful(here.server, [fault, "none"] * 40)
    here.feed(port)
    assert here.archived() == STORY


def test_two_feeders_at_once_archive_each_version_once(here: Ground) -> None:
    here.feed()
    act(here)
    feeders = [here.feeding(), here.feeding()]
    said = []
    while feeders:
        for feeder in list(feeders):
            fed = next(feeder, None)
            said.append(fed)
            if fed is None:
                feeders.remove(feeder)
    assert here.archived() == STORY
    assert sum(fed is not None and fed.outcome == "applied" for fed in said) == len(STORY)
    assert outcomes(here.feed()) == []


def test_a_server_that_is_away_is_waited_for_unless_it_is_fed_once(here: Ground, monkeypatch: Any) -> None:
    monkeypatch.setattr("model.feed._PAUSES", (0.0,))
    here.feed()

    class Away(FaultyServer):
        """Cannot be reached for a while, three writes and two openings long."""

        opened = 0

        def changes(self, *given: Any) -> Any:
            self.opened += 1
            if self.opened in (1, 3):
                raise Unreachable("The server cannot be reached.")
            return self.server.changes(*given)

    act(here)
    port, stop, said = Away(here.server, ["never"] * 6), threading.Event(), []
    for fed in here.feeding(port, once=False, stop=stop):
        said.append(fed)
        if len(here.archived()) == len(STORY) and fed.outcome == "applied":
            stop.set()
    assert "The server cannot be reached. Trying again." in notes(said)
    assert here.archived() == STORY
    with pytest.raises(Unreachable):
        here.feed(Away(here.server))


def test_a_stopped_feeder_keeps_its_place(here: Ground) -> None:
    here.feed()
    act(here)
    stop = threading.Event()
    for fed in here.feeding(once=False, stop=stop):
        if fed.outcome == "applied" and len(here.archived()) == 4:
            stop.set()
    assert here.archived() == [*STORY[:3], STORY[4]]
    kept = here.ledger.find_one({"_id": NS})
    assert kept is not None
    with here.orders.watch(start_after=kept["token"], max_await_time_ms=1) as stream:
        first = stream.try_next()
    assert first is not None
    assert first["documentKey"]["_id"] == "A"
    here.feed()
    assert here.archived() == STORY


def test_once_ends_although_there_is_always_something_new(here: Ground) -> None:
    here.feed()
    here.orders.insert_one({"_id": 0, "v": 1})
    made = 0
    for fed in here.feeding():
        if fed.outcome == "applied":
            made += 1
            here.orders.insert_many([{"_id": f"{made}-{n}", "v": 1} for n in range(3)])
    assert made < 5
    assert len(outcomes(here.feed())) == 3 * made + 1 - made


def test_a_feeder_can_be_stopped_while_it_compares(here: Ground) -> None:
    here.archive.create_index([("docId", 1), ("v", 1)], unique=True)
    here.orders.insert_many([{"_id": n, "v": 1} for n in range(500)])
    here.archive.insert_many([{"docId": n, "v": 1} for n in range(500)])
    stop = threading.Event()

    class Watched(FaultyServer):
        def changes(self, *given: Any) -> Any:
            return self.server.changes(*given)

        def find(self, ns: str, *given: Any, **named: Any) -> Any:
            if ns == here.archive.full_name:
                stop.set()
            return super().find(ns, *given, **named)

    port = Watched(here.server)
    assert outcomes(list(here.feeding(port, once=False, stop=stop))) == []
    assert here.ledger.count_documents({}) == 0
    assert port.operations < 6


def test_a_version_that_the_server_refuses_stops_the_feed_in_front_of_it(here: Ground) -> None:
    here.feed()
    here.orders.insert_many([{"_id": id, "v": 1, "n": 1} for id in "AB"])
    here.archive.create_index("n", unique=True)
    with pytest.raises(Refused, match=r"does not take v1 of B: another unique index stands in its way.*n 1 already"):
        here.feed()
    here.archive.drop_index("n_1")
    assert outcomes(here.feed()) == [("applied", 1)]


def test_the_lag_is_that_of_the_last_event_and_none_once_nothing_waits(here: Ground) -> None:
    here.feed()
    act(here)
    fed = here.feed()
    assert fed
    assert all(each.lag is not None and 0 <= each.lag < 60 for each in fed)
    assert here.feed()[-1].lag is not None


@pytest.mark.deep
def test_random_applications_and_deaths_end_in_an_archive_of_what_was(seed: int) -> None:
    for number in range(seed, seed + 10):
        story(number)


# --- how far the archive is, for those who look


def seen(here: Ground, id: str = "A") -> list[tuple[int, str, str]]:
    """Number, state and detail of each version of a document."""
    return [(one.v.python() if one.v else 0, one.state, one.detail) for one in here.layout().history(Value.of(id))]


def test_a_history_says_how_far_its_archive_is_behind(here: Ground) -> None:
    here.feed()
    here.orders.insert_one({"_id": "A", "v": 1, "n": 1})
    assert seen(here) == [
        (1, "present", "archive 1 version behind; its feed has seen no change so far"),
    ]
    here.feed()
    assert seen(here) == [(1, "present", "")]
    for n in (2, 3):
        here.edit("A", n=n)
    (current, waiting, archived) = seen(here)
    assert current[:2] == (3, "present")
    assert re.match(r"archive 2 versions behind; its feed has reached 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC", current[2])
    assert waiting == (2, "missing", "not in the archive yet")
    assert archived == (1, "present", "")
    (outline,) = here.layout().outline([Value.of("A")])
    assert (outline.health, outline.severity) == ("Archive 2 versions behind", "warn")
    assert [state for _, state, _ in outline.marks] == ["present", "missing", "present"]
    here.feed()
    (outline,) = here.layout().outline([Value.of("A")])
    assert outline.health == "Sound"


def test_a_history_says_what_was_lost_to_its_archive_and_what_was_changed_in_place() -> None:
    with ground(replica_set="") as here:
        here.orders.insert_one({"_id": "A", "v": 1, "n": 1})
        here.feed()
        for n in (2, 3, 4):
            here.edit("A", n=n)
        here.feed()
        lost = "lost: overwritten before it could be archived"
        assert seen(here) == [(4, "present", ""), (3, "missing", lost), (2, "missing", lost), (1, "present", "")]
    with ground() as here:
        here.feed()
        here.orders.insert_one({"_id": "A", "v": 1, "n": 1})
        here.feed()
        here.orders.update_one({"_id": "A"}, {"$set": {"n": 5}})
        here.edit("A", m=1)
        here.feed()
        assert seen(here) == [(2, "present", ""), (1, "present", "changed in place later, before the next version")]


# --- documents that are deleted

GONE = re.compile(r"the document was deleted after it, 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC")


def deletes(here: Ground) -> list[tuple[Any, Any]]:
    """Id and version of the deletes that are noted."""
    return [
        (note["_id"]["id"], note["_id"]["v"]) for note in here.ledger.find({"_id.what": "deleted"}, sort=[("at", 1)])
    ]


def test_a_document_that_is_deleted_keeps_its_history_which_says_when_it_ended(here: Ground) -> None:
    here.feed()
    here.orders.insert_one({"_id": "A", "v": 1, "n": 1})
    here.edit("A", n=2)
    here.feed()
    here.orders.delete_one({"_id": "A"})
    (fed,) = [each for each in here.feed() if each.id is not None]
    assert (fed.outcome, fed.id, fed.v) == ("note", Value.of("A"), Value.of(2))
    assert [row[:2] for row in here.archived()] == [("A", 1), ("A", 2)]
    (last, first) = seen(here)
    assert last[:2] == (2, "present")
    assert GONE.fullmatch(last[2])
    assert first == (1, "present", "")
    (found,) = here.layout().findings()
    assert isinstance(found, Finding)
    assert found.code == "A5"
    said = (
        r"2 versions of a document that is gone, up to v2, deleted 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC as its feed saw"
    )
    assert re.fullmatch(said, found.detail)
    assert [each.id for each in here.feed()] == [None], "it is told once"
    assert deletes(here) == [("A", 2)]


@pytest.mark.parametrize("compares", [True, False])
def test_of_thousands_of_deletes_a_history_reads_those_of_its_document_alone(here: Ground, compares: bool) -> None:
    class Looked(FaultyServer):
        def find(self, ns: str, filter: Any = None, *args: Any, **more: Any) -> Any:
            if ns.endswith("_feed") and "_id.ns" in (filter or {}):
                asked.append(filter)
                if "_id" in filter and not compares:
                    raise Refused("documents are not compared here")
            return super().find(ns, filter, *args, **more)

    asked: list[Any] = []
    here.feed()
    ids = ["A", "AA", "", 1, Int64(2), 1.5, {"x": 1}, None]
    for id in ids:
        here.orders.insert_one({"_id": id, "v": 1})
        here.orders.delete_one({"_id": id})
    here.feed()
    for id in ids:
        asked.clear()
        (version,) = here.layout(Looked(here.server)).history(Value.of(id))
        assert GONE.fullmatch(version.detail), id
        assert asked
        if compares:
            (by_index,) = asked
            assert here.ledger.count_documents({"_id": _decoded(by_index["_id"])}) == 1


def _decoded(terms: dict[str, Value]) -> dict[str, Any]:
    return {name: value.python() for name, value in terms.items()}


def test_an_id_that_is_used_again_shows_where_its_lives_ended(here: Ground) -> None:
    here.feed()
    for life in (1, 2):
        here.orders.insert_one({"_id": "A", "v": 2 * life - 1, "n": life})
        here.edit("A", n=2)
        here.orders.delete_one({"_id": "A"})
    here.orders.insert_one({"_id": "A", "v": 5})
    here.feed()
    assert deletes(here) == [("A", 2), ("A", 4)]
    assert [(v, bool(GONE.fullmatch(said))) for v, _, said in seen(here)] == [
        (5, False), (4, True), (3, False), (2, True), (1, False)
    ]  # fmt: skip


@support.table("behind", [False, True])
def test_a_feeder_that_dies_around_a_delete_notes_it_once_and_at_its_version(behind: bool) -> None:
    for write in range(1, 30):
        with ground() as here:
            here.feed()
            here.orders.insert_one({"_id": "A", "v": 1})
            here.edit("A", n=2)
            here.feed()  # from here on nothing remembers the document but the archive
            here.orders.delete_one({"_id": "A"})
            here.orders.insert_one({"_id": "A", "v": 3})
            here.edit("A", n=4)
            port = Killed(here.server, write, behind)
            with suppress(Dead):
                here.feed(port)
            here.feed()
            assert deletes(here) == [("A", 2)], f"at write {write}"
            if not port.dead:
                assert write > 3
                return
    raise AssertionError("a run of more than thirty writes")


def test_a_last_version_that_was_deleted_before_it_could_be_read_is_in_the_history_as_lost(here: Ground) -> None:
    here.feed()
    here.orders.insert_one({"_id": "A", "v": 1, "n": 1})
    here.feed()
    here.orders.update_one({"_id": "A"}, {"$set": {"n": 5}})
    here.edit("A", m=1)
    here.orders.delete_one({"_id": "A"})
    assert ("refused", 2) in outcomes(here.feed())
    (lost, last) = seen(here)
    assert lost == (2, "missing", "lost: deleted before it could be archived")
    assert last[0] == 1
    assert "changed in place later" in last[2]
    assert GONE.search(last[2])


def test_a_delete_whose_document_cannot_be_told_is_said_so_once(here: Ground) -> None:
    here.fields = {"id": "number"}
    here.feed()
    here.orders.insert_many([{"_id": n, "number": f"N-{n}", "v": 1} for n in range(3)])
    here.feed()
    here.orders.delete_many({"_id": {"$lt": 2}})
    assert notes(here.feed()).count("whose number the server does not tell") == 1
    assert deletes(here) == []
    here.orders.insert_one({"_id": 7, "number": "N-7", "v": 1})
    here.orders.delete_one({"_id": 7})
    here.feed()  # it has seen the document in this run
    assert deletes(here) == [("N-7", 1)]


def test_a_collection_says_how_far_its_feed_has_come(here: Ground) -> None:
    assert here.layout().standing == ""
    here.feed()
    here.orders.insert_one({"_id": "A", "v": 1})
    here.feed()
    assert re.fullmatch(r"Its feed has reached 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC\.", here.layout().standing)
    with ground(replica_set="") as polled:
        polled.feed()
        assert polled.layout().standing.endswith(" UTC, by polling.")
